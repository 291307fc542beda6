# rsyslog.pl: rsyslog, configured as docs/sending-logs.md says, sends what it gets over the network
# with its module for Elasticsearch.  While the queue is full it keeps nothing to send again, but
# writes what was refused into its error file.
use strict;
use warnings;

use LogsvcClients;
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.queue_limit = 1000\nlogsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $client = LogsvcClients->start('rsyslog-elasticsearch', $t->http_port, $org->{ingest_key});
my $socket = $client->{socket};

sub say_syslog
{
	my ($severity, $text) = @_;
	$socket->print('<' . (8 + $severity) . '>1 ' . POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime)
		. " h1 app 7 - - $text\n");
	$socket->flush;
	return;
}

sub events
{
	my $rows = $t->http(GET => '/api/v1/search', token => $org->{token},
		query => { q => shift, earliest => '-1h', limit => 1000 })->{json}{data}{rows};
	return $rows;
}

say_syslog(4, 'disk almost full');
ok(wait_until(sub { @{ events('"disk almost full"') } }), 'a message is found')
  or diag $client->said;
my ($e) = @{ events('"disk almost full"') };
is_deeply({ map { $_ => $e->{$_} } qw(level source service attributes index) },
	{ level => 'warn', source => 'h1', service => 'app', attributes => { tag => 'app[7]' },
		index => 'main' }, 'with its fields');

# The writers stop, others fill the queue, and rsyslog goes on.
wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth()') == 0 });
$t->stop_at('write_before_commit');
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { "filler $_" } 1 .. 1000 ])->{status}, 202,
	'the queue is full');
$t->wait_held('write_before_commit');
say_syslog(3, "kept $_") foreach 1 .. 20;
ok(wait_until(sub { $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ ('x') x 3 ])->{status} == 429 }),
	'it is full');
ok(wait_until(sub { (() = $client->said =~ /kept \d+\\"/g) >= 20 }, 20),
	'what was refused is in the error file');
is(scalar @{ events('kept') }, 0, 'and nothing of it is stored');
$t->let_go('write_before_commit');
ok(wait_until(sub { say_syslog(3, 'after'); @{ events('after') } }),
	'when there is room it goes on')
  or diag $client->said;

ok($client->close, 'it ends');
$t->stop;
done_testing;
