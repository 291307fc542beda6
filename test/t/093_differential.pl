# 093_differential.pl: searches against a slow reference; the short form of
# `make differential` (test/differential).
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/../differential";
use LogsvcDifferential;
use Test::More;

my $seed = 1 + int rand 1_000_000;
my $d = LogsvcDifferential->new(seed => 1, events => 1500);
ok($d->run(200), 'queries of a fixed seed');
ok($d->run(200, seed => $seed), "queries of a random seed: make differential SEED=1 QUERY_SEED=$seed EVENTS=1500");
note "$d->{asked} queries, $d->{rows} rows";
$d->stop;
done_testing;
