# make doctor: the rows as lines, and its status.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => 'fsync = off');
my $db = 'host=' . $t->node->host . ' port=' . $t->node->port . ' dbname=postgres';
my $lines = `PG_CONFIG=\${PG_CONFIG:-pg_config} DB='$db' docker/doctor.sh 2>&1`;
is($? >> 8, 1, 'an error gives status 1');
like($lines, qr/^error   durability            fsync = off.*\n {30}-> postgresql\.conf: fsync = on/m, 'a check that fails, and what to change');
like($lines, qr/^ok      version               library 0\.2, extension 0\.2$/m, 'one that does not');
like($lines, qr/^ok      active organizations  logsvc\.max/m, '... with a name as long as any');
$t->set(fsync => 'on');
$t->set('full_page_writes' => 'on');
$lines = `PG_CONFIG=\${PG_CONFIG:-pg_config} DB='$db' docker/doctor.sh 2>&1`;
is($?, 0, 'warnings give status 0') or diag $lines;
$lines = `PG_CONFIG=\${PG_CONFIG:-pg_config} DB='$db user=nobody_here' docker/doctor.sh 2>&1`;
cmp_ok($? >> 8, '>=', 2, 'no connection gives another status');
like($lines, qr/nobody_here.*^make doctor could not ask DB='.*sudo -u postgres make doctor DB=/ms, 'and says who may');
$t->stop;
done_testing;
