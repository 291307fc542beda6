# loggers.pl: the loggers pino, winston and bunyan with their transports for Loki, Elasticsearch,
# OpenTelemetry and HTTP, and Python's logging, send logs: each configured by its block of code in
# docs/sending-logs.md.
use strict;
use warnings;

use LogsvcClients;
use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');

sub search
{
	my ($q) = @_;
	return $t->http(GET => '/api/v1/search', token => $org->{token},
		query => { q => $q, earliest => '-1h' })->{json}{data}{rows};
}

# What each logs is a warning with a number and a nested object, "first payment refused by NAME".
my @names = grep { /^(pino|winston|bunyan|python|splunk)/ } LogsvcClients::names();
my %client = map { $_ => LogsvcClients->start($_, $t->http_port, $org->{ingest_key}) } @names;
$_->warn_once('first') foreach values %client;
foreach my $name (@names)
{
	my $client = $client{$name};
	ok(wait_until(sub { $client->done && @{ search("\"refused by $name\"") } }), "$name: found")
		or diag $client->said;
	ok($client->close, "$name: it ends");
	unlike($client->said, qr/error|lost|refused/i, "$name: without a complaint")
		unless $name eq 'winston-http';
}

my %meta = (order => 4711, cart => { items => 2 });

sub one
{
	my ($name) = @_;
	my $rows = search("\"refused by $name\"");
	is(scalar @$rows, 1, "$name: once");
	my $e = $rows->[0] // {};
	my %a = %{ $e->{attributes} // {} };
	delete @a{ grep { /^(scope|resource)\./ } keys %a };
	return { map({ $_ => $e->{$_} } qw(event level service)), attributes => \%a };
}

sub is_event
{
	my ($name, $attributes, %other) = @_;
	return is_deeply(one($name), { event => "first payment refused by $name", level => 'warn',
		service => 'checkout', %other, attributes => $attributes },
		"$name: text, level, service and attributes");
}

is_event('pino-opentelemetry', \%meta);
is_event('pino-elasticsearch', \%meta, service => undef);
is_event('winston-opentelemetry', \%meta);
is_event('winston-elasticsearch', { fields => \%meta,
	_index => 'logs-' . POSIX::strftime('%Y.%m.%d', gmtime) }, service => undef);
is_event('winston-http', \%meta, service => undef);
is_event('bunyan-opentelemetry', { %meta, name => 'checkout' });
is_event('python', \%meta);
is_event('splunk-logging', \%meta, service => undef);
is_event('pino-loki', { %meta, app => 'checkout' });
my $e = one('winston-loki');
like($e->{event}, qr/^first payment refused by winston-loki \{"order":4711,/,
	'winston-loki, as snappy: its line');
is_deeply([ $e->{level}, $e->{attributes} ], [ 'warn', { app => 'checkout' } ], 'its labels');

# What pino and winston write by themselves, as files of it are sent.
# The whole second before this one: an event of later this second would lie after the range.
my $now = time - 1;
my $iso = POSIX::strftime('%Y-%m-%dT%H:%M:%S', gmtime $now) . '.125Z';
my ($plain) = map { s/T/ /r =~ s/Z//r } $iso;
my $lines = join '', map { json_encode($_) . "\n" }
  { level => 30, time => $now * 1000 + 125, pid => 7, hostname => 'h1', msg => 'pino',
  req => { id => 1 } },
  { name => 'app', hostname => 'h1', pid => 7, level => 50, msg => 'bunyan', time => $iso, v => 0 },
  { level => 'info', message => 'winston', timestamp => $plain, order => 4711 };
my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, body => $lines,
	headers => { 'Content-Type' => 'application/x-ndjson' });
is($r->{json}{data}{accepted}, 3, 'lines of pino, bunyan and winston') or diag $r->{content};
is($r->{headers}{'x-ignored-fields'}, undef, 'nothing of them is ignored');
my %found = map { $_->{event} => $_ } @{ $t->http(GET => '/api/v1/search', token => $org->{token},
	query => { q => '(pino OR bunyan OR winston) NOT refused', earliest => '-1h' })->{json}{data}{rows} };
is_deeply([ map { my $f = $found{$_}; [ $f->{level}, $f->{timestamp}, $f->{attributes} ] } qw(pino
	bunyan winston) ], [
	[ 'info', $iso, { pid => 7, hostname => 'h1', req => { id => 1 } } ],
	[ 'error', $iso, { name => 'app', hostname => 'h1', pid => 7, v => 0 } ],
	[ 'info', $iso, { order => 4711 } ] ], 'with level, time and all that they say');

# pino's transport says nothing of a wrong key, but for what the page says.
append_to_file('build/npm/otel-errors.mjs', LogsvcClients::block('otel-errors'));
{
	local $ENV{NODE_OPTIONS} = '--import ./build/npm/otel-errors.mjs';
	my $client = LogsvcClients->start('pino-opentelemetry', $t->http_port, 'ing_live_wrong');
	$client->warn_once('wrong');
	ok(wait_until(sub { $client->said =~ /INVALID_API_KEY: this credential is not known/ }),
		'pino-opentelemetry: a wrong key is seen') or diag $client->said;
	$client->close(1);
}

# Every configuration of the page that names a program is that of a program which is tested.
is(join(' ', sort(LogsvcClients::blocks())),
	join(' ', sort 'otel-errors', grep { $_ ne 'opentelemetry-http' } LogsvcClients::names()),
	'every block of the page that has a name is that of a client');

$t->stop;
done_testing;
