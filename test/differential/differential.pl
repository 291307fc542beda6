# differential.pl: the long form; README.md says what it does.
# Environment: SEED, QUERY_SEED, EVENTS, QUERIES, FIRST, WORKERS.
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin", "$FindBin::Bin/../lib";
use LogsvcDifferential;
use Test::More;

my $seed = $ENV{SEED} || 1 + int rand 1_000_000;
my $d = LogsvcDifferential->new(seed => $seed, events => $ENV{EVENTS} || 6000);
diag "SEED=$seed, zone $d->{zone}";
$d->with_workers($ENV{WORKERS}) if $ENV{WORKERS};
$d->with_spilling($ENV{SPILL}) if defined $ENV{SPILL};
ok($d->run($ENV{QUERIES} || 5000, seed => $ENV{QUERY_SEED} || $seed, first => $ENV{FIRST}),
	'all answers are those of the reference');
ok($d->run(($ENV{QUERIES} || 5000) / 5, seed => $ENV{QUERY_SEED} || $seed, first => $ENV{FIRST},
	in_statement => 1), 'so are those of stages that the statement runs');
ok($d->run_logs($ENV{FIRST} ? 0 : ($ENV{QUERIES} || 5000) / 10, seed => $ENV{QUERY_SEED} || $seed),
	'so are lists of events');
$d->give_rows;    # at most 10,000
ok($d->run(($ENV{QUERIES} || 5000) / 5, seed => $ENV{QUERY_SEED} || $seed, first => $ENV{FIRST}),
	'so are searches over rows');
diag "$d->{asked} queries, $d->{rows} rows";
$d->stop;
done_testing;
