# rsyslog.pl: rsyslog sends what it gets over the network with its module for
# Elasticsearch.  While the queue is full it keeps nothing to send again, but
# writes what was refused into its error file (docs/sending-logs.md).
use strict;
use warnings;

use IO::Socket::INET;
use IPC::Run qw(start finish);
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.queue_limit = 1000\nlogsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $dir = PostgreSQL::Test::Utils::tempdir;
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $http = $t->http_port;

append_to_file("$dir/rsyslog.conf", <<"CONF");
global(workDirectory="$dir")
module(load="imtcp")
module(load="omelasticsearch")
input(type="imtcp" port="$port" address="127.0.0.1")
template(name="document" type="list" option.jsonf="on") {
	property(outname="\@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf")
	property(outname="message" name="msg" format="jsonf")
	property(outname="severity" name="syslogseverity-text" format="jsonf")
	property(outname="source" name="hostname" format="jsonf")
	property(outname="service" name="programname" format="jsonf")
	property(outname="tag" name="syslogtag" format="jsonf")
}
if \$inputname == "imtcp" then action(type="omelasticsearch" server="127.0.0.1" serverport="$http" uid="rsyslog" pwd="$org->{ingest_key}"
	template="document" searchIndex="main" searchType="" bulkmode="on" errorFile="$dir/errors"
	queue.type="LinkedList" queue.dequeueBatchSize="100" action.resumeRetryCount="-1" action.resumeInterval="1")
action(type="omfile" file="$dir/own")
CONF
my $rsyslog = start([ 'rsyslogd', '-n', '-f', "$dir/rsyslog.conf", '-i', "$dir/pid" ], '>',
	"$dir/out", '2>', "$dir/err");
my $socket = wait_until(sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port,
	Proto => 'tcp') }, 20)
  or die 'rsyslog does not listen: ' . slurp_file("$dir/err");

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
ok(wait_until(sub { @{ events('"disk almost full"') } }, 20), 'a message is found')
  or diag map { -f "$dir/$_" ? slurp_file("$dir/$_") : () } qw(own err errors);
my ($e) = @{ events('"disk almost full"') };
is_deeply({ map { $_ => $e->{$_} } qw(level source service attributes index) },
	{ level => 'warn', source => 'h1', service => 'app', attributes => { tag => 'app[7]' },
		index => 'main' }, 'with its fields');

# The writers stop, others fill the queue, and rsyslog goes on.
wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth()') == 0 }, 20);
$t->stop_at('write_before_commit');
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ map { "filler $_" } 1 .. 1000 ])->{status}, 202,
	'the queue is full');
$t->wait_held('write_before_commit');
say_syslog(3, "kept $_") foreach 1 .. 20;
ok(wait_until(sub { $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
	json => [ ('x') x 3 ])->{status} == 429 }, 10),
	'it is full');
ok(wait_until(sub { -f "$dir/errors" && (() = slurp_file("$dir/errors") =~ /kept \d+\\"/g) >= 20 },
	20),
	'what was refused is in the error file');
is(scalar @{ events('kept') }, 0, 'and nothing of it is stored');
$t->let_go('write_before_commit');
ok(wait_until(sub { say_syslog(3, 'after'); @{ events('after') } }, 30),
	'when there is room it goes on')
  or diag map { -f "$dir/$_" ? slurp_file("$dir/$_") : () } qw(own err errors);

$rsyslog->signal('TERM');
finish $rsyslog;
$t->stop;
done_testing;
