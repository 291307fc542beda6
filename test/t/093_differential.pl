# 093_differential.pl: searches against a slow reference; the short form of
# `make differential` (test/differential).
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/../differential";
use LogsvcDifferential;
use Test::More;

# Fixed seeds, so that a failure tells of the change that it comes with; `make differential` takes others.
my $d = LogsvcDifferential->new(seed => 1, events => 1500);
ok($d->run(200, seed => $_), "queries: make differential SEED=1 QUERY_SEED=$_ EVENTS=1500") foreach 1, 882451;
note "$d->{asked} queries, $d->{rows} rows";
$d->stop;
done_testing;
