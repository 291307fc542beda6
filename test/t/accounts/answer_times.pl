# answer_times.pl: the time of an answer does not tell whether an address has an
# account.  (make bench B=access does it 1,000 times.)  It compares ranks of times in random
# order: what else runs makes it less sharp, never wrong.
#
# Takes long.
use strict;
use warnings;

use LogsvcTest;
use LogsvcTiming;
use Test::More;

my $t = LogsvcTest->new;
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
$t->organization('Acme');
$t->sql(q{
	SELECT logsvc.create_user('known@example.org', 'Known', 'Blue-kettle-and-7-spoons');
	SELECT logsvc.add_member('acme', 'known@example.org', 'member')});

my $client = timing_client($t);
my $n = 0;
sub post
{
	my ($what, $json, $status) = @_;
	my $got = $client->("/api/v1/auth/$what", $json);
	die "$what: $got\n" unless $got == $status;
	return;
}
sub unknown { $n++; return "known$n\@example.org"; }

sub same_time
{
	my ($tries, $name, $known, $unknown) = @_;
	$_->() foreach ($known, $unknown) x 2;
	my $r = compare_times($tries, $known, $unknown);
	note sprintf '%s: known %.2f ms, unknown %.2f ms, z %.1f', $name, @$r{qw(a b z)};
	cmp_ok(abs $r->{z}, '<', $tries < 20 ? 3.8 : 4.5,
		sprintf '%s: the same time for %d known and unknown addresses', $name, $tries)
	  or diag sprintf 'known %.2f ms, unknown %.2f ms', @$r{qw(a b)};
	return $r;
}

same_time(60, 'sign-in',
	sub { post('sign-in', { email => 'known@example.org', password => 'wrong' }, 401) },
	sub { post('sign-in', { email => unknown(), password => 'wrong' }, 401) });
same_time(150, 'forgot-password',
	sub { post('forgot-password', { email => 'known@example.org' }, 202) },
	sub { post('forgot-password', { email => unknown() }, 202) });
same_time(150, 'resend-verification',
	sub { post('resend-verification', { email => 'known@example.org' }, 202) },
	sub { post('resend-verification', { email => unknown() }, 202) });
same_time(20, 'sign-up',
	sub { post('sign-up', { email => 'known@example.org', password => 'Blue-kettle-and-7-spoons' },
		202) },
	sub { post('sign-up', { email => unknown(), password => 'Blue-kettle-and-7-spoons' }, 202) });

# An account whose hash is of an older cost is as slow as none.
$t->set('logsvc.password_cost', '16');
same_time(12, 'sign-in, older cost',
	sub { post('sign-in', { email => 'known@example.org', password => 'wrong' }, 401) },
	sub { post('sign-in', { email => unknown(), password => 'wrong' }, 401) });
$t->set('logsvc.password_cost', '15');

# The comparison sees a difference when there is one.
my $r = compare_times(20,
	sub { post('sign-in', { email => 'known@example.org', password => 'wrong' }, 401) },
	sub { post('sign-in', { email => 'no address', password => 'wrong' }, 400) });
cmp_ok(abs $r->{z}, '>', 4.5, 'a difference is seen');

$t->stop;
done_testing();
