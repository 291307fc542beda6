# short_differential.pl: searches against a slow reference; the short form of
# `make differential` (test/differential).
#
# Takes long.
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/../../differential";
use LogsvcDifferential;
use Test::More;

# Fixed seeds, so that a failure tells of the change that it comes with; `make differential` takes
# others.
my $d = LogsvcDifferential->new(seed => 1, events => 1500);
my $how = 'make differential SEED=1 EVENTS=1500';
ok($d->run(200, seed => 1), "queries: $how QUERY_SEED=1");
# The same way with parallel workers for all that is grouped.
$d->with_workers(2);
ok($d->run(200, seed => 882451), "with workers: $how QUERY_SEED=882451 WORKERS=2");
cmp_ok($d->t->sql('SELECT started FROM logsvc_internal.search_workers()'), '>', 20,
	'there were workers');
ok($d->run_logs(100, seed => 1), 'lists of events by simple conditions');
$d->give_rows;
ok($d->run(100, seed => 7), "searches over rows: $how QUERY_SEED=7");
note "$d->{asked} queries, $d->{rows} rows";
$d->stop;
done_testing;
