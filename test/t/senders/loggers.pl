# loggers.pl: the loggers pino and winston with their transports for Loki,
# Elasticsearch and OpenTelemetry send logs (test/npm/loggers.js).
use strict;
use warnings;

use IPC::Run qw(start timeout);
use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');

sub search
{
	my ($q) = @_;
	return $t->http(GET => '/api/v1/search', token => $org->{token},
		query => { q => $q, earliest => '-1h' })->{json}{data}{rows};
}

# It ends when its input does, which is when all six have sent.
my $node = start [ 'node', 'build/npm/loggers.js', $t->url, $org->{ingest_key} ], '<pipe', \*INPUT,
	'>', \my $out, '2>', \my $err,
  timeout(120);
wait_until(sub { @{ search('*') } >= 6 }, 60);
close INPUT;
$node->finish;
is($? . $err, '0', 'all sent without a complaint');

my %meta = (order => 4711, cart => { items => 2 });
sub one
{
	my ($q) = @_;
	my $rows = search($q);
	is(scalar @$rows, 1, "$q: once");
	my $e = $rows->[0] // {};
	my %a = %{ $e->{attributes} // {} };
	delete @a{ grep { /^(scope|resource)\./ } keys %a };
	return { map({ $_ => $e->{$_} } qw(event level)), attributes => \%a };
}

my $refused = 'payment refused';
is_deeply(one('service="pino-elasticsearch"'),
	{ event => $refused, level => 'warn', attributes => { %meta, _index => 'pino' } },
		'pino to Elasticsearch');
my $e = one('service="pino-loki"');
my $line = json_decode($e->{event});
is_deeply([ $e->{level}, $line->{msg}, $line->{level}, $line->{order}, $e->{attributes} ],
	[ 'warn', $refused, 40, 4711, { app => 'pino-loki' } ], 'pino to Loki: the line is its JSON');
is_deeply(one('service="pino-opentelemetry"'), { event => $refused, level => 'warn',
	attributes => \%meta },
	'pino to OpenTelemetry');
is_deeply(one('attributes.fields.service="winston-elasticsearch"'),
	{ event => $refused, level => 'warn', attributes => {
			fields => { %meta, service => 'winston-elasticsearch' },
			_index => 'logs-' . POSIX::strftime('%Y.%m.%d', gmtime) } },
				'winston to Elasticsearch');
$e = one('service="winston-loki"');
like($e->{event}, qr/^payment refused \{"order":4711,/, 'winston to Loki, as snappy: its line');
is_deeply([ $e->{level}, $e->{attributes} ], [ 'warn', { app => 'winston-loki' } ], 'its labels');
is_deeply(one('service="winston-opentelemetry"'), { event => $refused, level => 'warn',
		attributes => { %meta, service => 'winston-opentelemetry' } }, 'winston to OpenTelemetry');

# What pino and winston write by themselves, as files of it are sent.
my $now = int(time);
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
	query => { q => 'pino OR bunyan OR winston', earliest => '-1h' })->{json}{data}{rows} };
is_deeply([ map { my $f = $found{$_}; [ $f->{level}, $f->{timestamp}, $f->{attributes} ] } qw(pino
	bunyan winston) ], [
	[ 'info', $iso, { pid => 7, hostname => 'h1', req => { id => 1 } } ],
	[ 'error', $iso, { name => 'app', hostname => 'h1', pid => 7, v => 0 } ],
	[ 'info', $iso, { order => 4711 } ] ], 'with level, time and all that they say');

$t->stop;
done_testing;
