# FirstFailure: a test file ends at its first failed assertion.
#
#	PERL5OPT=-MFirstFailure test/run FILE...
#
# For mutation/access.pl: one failure is what it wants to see, and some files take minutes after it.
package FirstFailure;

use strict;
use warnings;

use Test2::API qw(test2_add_callback_post_load test2_stack);

# Subtests too.  END blocks run, so servers are stopped.
test2_add_callback_post_load(
	sub {
		test2_stack()->top->listen(
			sub {
				my (undef, $event) = @_;
				exit 1 if $event->causes_fail;
			},
			inherit => 1);
	});

1;
