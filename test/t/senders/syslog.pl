# syslog.pl: listeners of logsvc.syslog_listeners with real senders: logger, and rsyslog over TCP,
# UDP and TLS; syslog-ng over TCP and UDP; GELF.  Whose events they are, what holds for them as for
# HTTP (queue, IP allow-list), and what happens when the server stops or the operator changes the
# setting.
use strict;
use warnings;

use Cwd qw(getcwd);
use IO::Socket::INET;
use IPC::Run qw(start finish);
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $dir = PostgreSQL::Test::Utils::tempdir;
my %port = map { $_ => PostgreSQL::Test::Cluster::get_free_port() }
	qw(tcp udp tls gelf other later);
my $set = "tcp:$port{tcp}=acme, udp:127.0.0.1:$port{udp}=acme/web, gelf:$port{gelf}=acme";
my $t = LogsvcTest->new(streaming => 1, conf => "logsvc.flush_interval = '50ms'\n"
	. "logsvc.syslog_listeners = '$set, tcp:$port{other}=other/nope, udp:$port{later} = later/web'");
my $org = $t->organization('acme');
my $other = $t->organization('other');
$t->http(POST => '/api/v1/indexes', token => $org->{token}, json => { name => 'web' });

sub events
{
	my ($q, $token) = @_;
	my $r = $t->http(GET => '/api/v1/search', token => $token // $org->{token},
		query => { q => $q, earliest => '-1h', limit => 1000 });
	return $r->{json}{data}{rows} // die "$r->{status} $r->{content}\n";
}

sub found
{
	my ($q, $n, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $rows;
	ok(wait_until(sub { @{ $rows = events($q) } >= $n }), $name);
	is(scalar @$rows, $n, '... once') if @$rows != $n;
	return $rows->[0] // {};
}

sub part
{
	my ($e) = @_;
	return { map { $_ => $e->{$_} } grep { exists $e->{$_} } qw(index level service source) };
}

sub connect_to
{
	my ($name, $proto) = @_;
	return wait_until(sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port{$name},
		Proto => $proto // 'tcp') }) || die "cannot connect to $name: $!";
}

sub log_has
{
	my ($like) = @_;
	return wait_until(sub { slurp_file($t->node->logfile) =~ $like });
}

# ---- names that the setting has and nobody else ----

# Somebody else must not get what is sent to an organization that is gone, or not there yet.
$t->sql("SELECT logsvc.create_user('mallory\@example.org')");
my $mallory = $t->session('mallory@example.org');
my $taken = $t->http(POST => '/api/v1/organizations', session => $mallory, json => { name => 'Later' });
is($taken->{json}{data}{slug}, 'later-2', 'its slug is not given to users') or diag $taken->{content};
is($t->sql("SELECT logsvc.create_organization('Later') ->> 'slug'"), 'later', 'an operator may take it');

# ---- logger ----

my $host = `hostname`;
chomp $host;
my @logger = ('logger', '-n', '127.0.0.1', '-t', 'deploy', '-p', 'local3.warning', '-i');
system(@logger, '-P', $port{tcp}, '-T', '--octet-count', '--sd-id', 'zoo@123', '--sd-param',
	'tiger="hungry"', 'logger by tcp') == 0 or die;
system(@logger, '-P', $port{tcp}, '-T', 'logger by lines') == 0 or die;
system(@logger, '-P', $port{udp}, '-d', 'logger by udp') == 0 or die;
system(@logger, '-P', $port{tcp}, '-T', '--rfc3164', 'logger by 3164') == 0 or die;
my $e = found('"logger by tcp"', 1, 'logger, RFC 5424 with octet counting');
is_deeply(part($e), { index => 'main', level => 'warn', service => 'deploy', source => $host },
	'its fields');
is($e->{attributes}{'zoo@123.tiger'}, 'hungry', 'structured data');
is($e->{attributes}{facility}, 'local3', 'its facility');
is($e->{attributes}{peer}, '127.0.0.1', 'its address');
is(found('"logger by lines"', 1, 'by lines')->{service}, 'deploy', '... with its fields');
is(found('"logger by udp"', 1, 'by UDP')->{index}, 'web', '... into the index of its port');
is_deeply(part(found('"logger by 3164"', 1, 'RFC 3164')), { index => 'main', level => 'warn',
	service => 'deploy', source => $host }, '... with its fields');

# ---- GELF ----

print { connect_to('gelf') } qq({"version":"1.1","host":"node1","short_message":"by gelf","level":3,"_tag":"t"}\0);
is_deeply(part(found('"by gelf"', 1, 'GELF')), { index => 'main', level => 'error', source => 'node1' },
	'its fields');

# ---- syslog-ng ----

# Debian's is unpacked there, because it cannot be installed next to rsyslog.
my $ng = getcwd() . '/build/syslog-ng';
my ($modules) = glob "$ng/usr/lib/syslog-ng/[0-9]*" or die "no syslog-ng in $ng\n";
my ($version) = $modules =~ m{([^/]+)$};
my $to_ng = PostgreSQL::Test::Cluster::get_free_port();
append_to_file("$dir/syslog-ng.conf", <<"CONF");
\@version: $version
options { keep-hostname(yes); use-dns(no); };
source s { network(transport(tcp) ip(127.0.0.1) port($to_ng)); };
destination d { syslog("127.0.0.1" transport("tcp") port($port{tcp})); };
destination u { network("127.0.0.1" transport("udp") port($port{udp})); };
log { source(s); destination(d); destination(u); };
CONF
my $syslog_ng;
{
	local $ENV{LD_LIBRARY_PATH} = join ':', "$ng/usr/lib/syslog-ng", glob("$ng/usr/lib/*-linux-gnu"),
		glob("$ng/lib/*-linux-gnu");
	$syslog_ng = start([ "$ng/usr/sbin/syslog-ng", '-F', '--no-caps', '-e', "--module-path=$modules",
		'-f', "$dir/syslog-ng.conf", '-R', "$dir/persist", '-p', "$dir/ng.pid", '-c', "$dir/control" ],
		'>', "$dir/ng.out", '2>', "$dir/ng.err");
}
my $feed = wait_until(sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $to_ng,
	Proto => 'tcp') }) || die 'syslog-ng does not listen: ' . slurp_file("$dir/ng.err");
my $when = POSIX::strftime('%b %e %H:%M:%S', localtime);
$feed->print("<27>$when h2 app[8]: syslog-ng says $_\n") foreach 1 .. 50;
$feed->flush;
foreach my $index (qw(main web))
{
	$e = found("index=$index \"syslog ng says\"", 50, "syslog-ng, index $index");
	is_deeply(part($e), { index => $index, level => 'error', service => 'app', source => 'h2' },
		'with its fields') or diag(slurp_file("$dir/ng.err"));
	is($e->{attributes}{procid}, 8, 'its process');
}
$syslog_ng->signal('TERM');
finish $syslog_ng;

# ---- rsyslog; the setting is changed while it sends ----

system("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "
	. "subjectAltName=DNS:localhost -keyout $dir/key.pem -out $dir/cert.pem 2> $dir/log") == 0 or die;
chmod 0600, "$dir/key.pem";
my $in = PostgreSQL::Test::Cluster::get_free_port();
my $send = 'action.resumeRetryCount="-1" action.resumeInterval="1" queue.type="LinkedList"';
append_to_file("$dir/rsyslog.conf", <<"CONF");
global(workDirectory="$dir" DefaultNetstreamDriverCAFile="$dir/cert.pem")
module(load="imtcp")
input(type="imtcp" port="$in" address="127.0.0.1")
if \$inputname == "imtcp" then {
	action(type="omfwd" target="127.0.0.1" port="$port{tcp}" protocol="tcp" TCP_Framing="octet-counted"
		template="RSYSLOG_SyslogProtocol23Format" $send)
	action(type="omfwd" target="127.0.0.1" port="$port{udp}" protocol="udp" template="RSYSLOG_TraditionalForwardFormat")
	action(type="omfwd" target="127.0.0.1" port="$port{tls}" protocol="tcp" template="RSYSLOG_ForwardFormat"
		StreamDriver="gtls" StreamDriverMode="1" StreamDriverAuthMode="x509/name"
		StreamDriverPermittedPeers="localhost" $send)
}
CONF
my $rsyslog = start([ 'rsyslogd', '-n', '-f', "$dir/rsyslog.conf", '-i', "$dir/pid" ], '>',
	"$dir/out", '2>', "$dir/err");
my $to_rsyslog = wait_until(sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $in,
	Proto => 'tcp') })
  or die 'rsyslog does not listen: ' . slurp_file("$dir/err");
my $time = POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime);
$to_rsyslog->print("<27>1 $time h1 app 7 - - rsyslog says $_\n") foreach 1 .. 100;
$to_rsyslog->flush;
is_deeply(part(found('index=main "rsyslog says"', 100, 'rsyslog by TCP')), { index => 'main',
	level => 'error', service => 'app', source => 'h1' }, 'with its fields');
is_deeply(part(found('index=web "rsyslog says"', 100, 'by UDP')), { index => 'web',
	level => 'error', service => 'app', source => 'h1' }, 'with its fields');

$t->sql("ALTER SYSTEM SET logsvc.tls_certificate = '$dir/cert.pem'");
$t->sql("ALTER SYSTEM SET logsvc.tls_key = '$dir/key.pem'");
$t->set('logsvc.syslog_listeners', "tls:$port{tls}=other");
my $curl = "curl -sS -m 20 --cacert $dir/cert.pem -H 'Authorization: Bearer $other->{token}' "
  . "'https://localhost:" . $t->http_port . "/api/v1/search?q=%22rsyslog+says%22&earliest=-1h&limit=1000'";
my $rows = [];
ok(wait_until(sub { my $r = eval { json_decode(scalar `$curl 2> $dir/curl`) };
	$rows = $r->{data}{rows} // []; @$rows >= 100 }), 'rsyslog by TLS, as soon as there is a port')
  or diag(slurp_file("$dir/err"), slurp_file("$dir/curl"));
is_deeply(part($rows->[0] // {}), { index => 'main', level => 'error', service => 'app',
	source => 'h1' }, 'with its fields');
$rsyslog->signal('TERM');
finish $rsyslog;
$t->sql("ALTER SYSTEM RESET $_") foreach qw(logsvc.tls_certificate logsvc.tls_key);
$t->set('logsvc.syslog_listeners', "$set, tcp:$port{other}=gone");
ok(wait_until(sub { eval { events('*') } }), 'plain again');

# ---- what holds for them as for HTTP ----

my $s = connect_to('other');
print $s "<13>for nobody yet\n";
ok(log_has(qr/listener tcp:$port{other}: messages wait, because they are refused: 404 NOT_FOUND/),
	'no such organization: the log says so');
my $gone = $t->organization('gone');
is(scalar(@{ wait_until(sub { my $r = events('*', $gone->{token}); @$r ? $r : undef }) || [] }),
	1, 'when there is one its messages arrive');
is_deeply(events('"for nobody yet"', $other->{token}), [], 'no other organization has them');

$t->sql("SELECT logsvc.set_ip_allowlist('[{\"network\": \"127.0.0.2/32\"}]', organization => 'gone')");
print $s "<13>from a wrong address\n";
ok(log_has(qr/listener tcp:$port{other}: 1 message was rejected: IP_NOT_ALLOWED/),
	'an address that the allow-list lacks');
my $allowed = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port{other},
	LocalAddr => '127.0.0.2');
print $allowed "<13>from a good address\n";
$t->sql("SELECT logsvc.set_ip_allowlist('[]', organization => 'gone')")
	if ok(wait_until(sub { $t->sql("SELECT logsvc.act_as('gone'); SELECT count(*) FROM logsvc.events('*')")
		=~ /\b2\b/ }), 'one that it has');
is_deeply([ sort map { $_->{event} } @{ events('*', $gone->{token}) } ],
	[ 'for nobody yet', 'from a good address' ], 'nothing else is stored');

# A full queue: TCP waits.
wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth()') == 0 });
$t->set('logsvc.queue_limit', 1000);
$t->stop_at('write_before_commit');
$t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => [ map { "filler $_" } 1 .. 700 ]);
$t->wait_held('write_before_commit');
$s = connect_to('tcp');
print $s map { "<13>1 - h a - - - waits $_\n" } 1 .. 900;
ok(log_has(qr/listener tcp:$port{tcp}: messages wait, because they are refused: 429 QUEUE_FULL/),
	'a full queue: the log says so');
$t->let_go('write_before_commit');
found('waits', 900, 'then all arrive');

# ---- a stop of the server: what has come is stored first ----

foreach my $round (1 .. 5)
{
	$s = connect_to('tcp');
	print $s "<13>1 - h a - - - round $round begins\n";
	found("\"round $round begins\"", 1, "round $round: a connection");
	print $s map { "<13>1 - h a - - - round $round, line $_\n" } 1 .. 100;
	$t->stop;
	$t->start;
	$t->wait_ready;
	found("\"round $round line\"", 100, '... and what came just before a stop');
}

# A commit that waits for a standby that is not there does not keep the server from stopping.
foreach my $pause (0, 0.5)
{
	$s = connect_to('tcp');
	print $s "<13>1 - h a - - - before pause $pause\n";
	found("\"before pause $pause\"", 1, 'a connection');
	$t->set('synchronous_standby_names', 'nobody');
	print $s "<13>1 - h a - - - nobody confirms this\n";
	usleep($pause * 1e6);
	my $begun = time;
	$t->stop;
	cmp_ok(time - $begun, '<', 10, "a stop ends that comes $pause s later than the line");
	$t->start;
	$t->set('synchronous_standby_names', '');
	$t->wait_ready;
}

# Nor do messages that are refused, and wait: nobody has the organization.
my $position = $t->log_position;
$t->set('logsvc.syslog_listeners', "$set, tcp:$port{other}=nobody-has-it");
# Who has connected before the gateway read the setting sends to the former organization.
my @senders;
ok(wait_until(sub {
	push @senders, connect_to('other');
	print { $senders[-1] } map { "<13>refused $_\n" } 1 .. 1000;
	return $t->log_text($position)
		=~ /listener tcp:$port{other}: messages wait, because they are refused: 404 NOT_FOUND/;
}), 'messages that are refused wait');
my $begun = time;
$t->stop;
cmp_ok(time - $begun, '<', 10, '... and do not hold up a stop');
$t->start;
$t->wait_ready;

# ---- the setting ----

foreach my $bad ('http:1=a', 'tcp:1', join ',', map { "tcp:$_=a" } 1 .. 17)
{
	my ($status, undef, $error) = $t->node->psql('postgres', "ALTER SYSTEM SET logsvc.syslog_listeners = '$bad'");
	isnt($status, 0, "'" . substr($bad, 0, 10) . "' is refused");
	like($error, qr/DETAIL:/, '... with a reason');
}
$t->sql('CREATE ROLE app LOGIN IN ROLE logsvc_tenant');
my (undef, undef, $why) = $t->node->psql('postgres', 'SHOW logsvc.syslog_listeners',
	extra_params => [ '-U', 'app' ]);
like($why, qr/must be superuser|permission denied/, 'tenants do not see who else there is');
foreach my $path ('/', '', '//', '/?')
{
	my $r = $t->http(POST => $path, headers => { 'X-Organization-Id' => 'acme',
		'X-Logsvc-Index' => 'main' }, body => "\0\0\1\0\0\0x");
	cmp_ok($r->{status}, '>=', 400, "no HTTP request has the route of listeners: POST '$path'");
}

$t->stop;
done_testing;
