# The harness itself: a cluster with logsvc preloaded, restarts, stop points.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(ready => 0);

is($t->sql("SELECT setting FROM pg_settings WHERE name = 'logsvc.port'"), $t->http_port,
	'logsvc is preloaded');
is($t->sql("SELECT count(*) FROM pg_extension WHERE extname = 'logsvc'"), 1,
	'the extension is there');

my ($out, $state, $message) = $t->sql_error('SELECT 1/0');
is($state, '22012', 'sql_error gives the SQLSTATE');
like($message, qr/division/, 'and the message');

$t->stop_at('harness');
eval { $t->wait_held('harness', 1) };
like($@, qr/no process reached/, 'nobody is held at a stop point that nobody passes');
$t->let_go('harness');

$t->set('logsvc.flush_interval', '2s');
is($t->sql('SHOW logsvc.flush_interval'), '2s', 'a setting is changed by a reload');

$t->stop;
$t->start;
is($t->sql('SHOW logsvc.flush_interval'), '2s', 'and survives a restart');
$t->crash;
$t->start;
is($t->sql('SELECT 1'), 1, 'the server recovers from a crash');
$t->stop;

done_testing;
