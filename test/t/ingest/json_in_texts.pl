# json_in_texts.pl: JSON in the text of an event becomes attributes where the request, the index
# or the organization says so, in every format.
use strict;
use warnings;

use JSON::PP ();
use LogsvcTest;
use POSIX qw(strftime);
use Test::More;

my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'");
my $org = $t->organization('acme');
my $other = $t->organization('other');
my $n = 0;
my $at = int(time) - 60;
my $iso = strftime('%Y-%m-%dT%H:%M:%S', gmtime $at) . '.500Z';

# What a logger writes; the word finds it in whichever form it is stored.
sub line { $n++; return json_encode({ level => 40, levelno => 40, time => $at + 0.5,
	msg => "it broke word$n", order => { id => 4711 } }); }

sub patch
{
	my ($path, $value) = @_;
	my $r = $t->http(PATCH => $path, token => $org->{full_key}, json => { parseJson => $value });
	return $r->{status} == 200 ? $r->{json}{data}{parseJson} ? 1 : 0 : $r->{json}{code};
}

# The stored event of the last line: taken apart, or as it was.
sub found
{
	my ($who) = @_;
	my $r = $t->http(GET => '/api/v1/logs', token => ($who // $org)->{token},
		query => { q => "word$n" });
	my @events = @{ $r->{json}{data} // [] };
	return 'found ' . @events if @events != 1;
	my $e = $events[0];
	return 'text' if $e->{event} =~ /^\{/ && !exists $e->{attributes}{order};
	return $e if ($e->{level} // '') ne 'error' || $e->{timestamp} ne $iso
	  || $e->{attributes}{order}{id} != 4711;
	return $e->{event} =~ s/ word\d+//r;
}

sub post
{
	my ($path, $parse, %opt) = @_;
	$opt{headers}{'X-Logsvc-Parse'} = $parse if defined $parse;
	my $r = $t->http(POST => $path, token => $org->{ingest_key}, %opt);
	return $r;
}

sub batch { my ($parse, %more) = @_; return post('/api/v1/logs', $parse,
	json => { event => line(), %more })->{status}; }

# ---- every format ----

sub loki { return (json => { streams => [ { stream => { app => 'shop' },
	values => [ [ $at . '000000000', line() ] ] } ] }); }

my %doors = (
	'/api/v1/logs' => sub { (json => { event => line() }) },
	'/api/v1/logs/batch' => sub { (json => { events => [ line() ] }) },
	'/loki/api/v1/push' => \&loki,
	# Fluent Bit without a parser
	'/_bulk' => sub { (headers => { 'Content-Type' => 'application/x-ndjson' },
		body => qq({"create": {}}\n) . json_encode({ '@timestamp' => $at - 5, stream => 'stdout',
			log => line() . "\n" }) . "\n") },
	'/v1/logs' => sub { (json => { resourceLogs => [ { scopeLogs => [ { logRecords => [ {
		severityNumber => 9, body => { stringValue => line() } } ] } ] } ] }) });
foreach my $path (sort keys %doors)
{
	cmp_ok(post($path, undef, $doors{$path}->())->{status}, '<', 300, $path);
	is(found(), 'text', "$path: a text by default");
	cmp_ok(post($path, 'json', $doors{$path}->())->{status}, '<', 300, "$path: with the header");
	is_deeply(found(), 'it broke', "$path: taken apart");
}

# ---- who says so ----

is(patch('/api/v1/indexes/main', JSON::PP::true()), 1, 'an index takes JSON apart');
is(batch(), 202, 'without a header');
is_deeply(found(), 'it broke', 'as the index says');
is(batch('none'), 202, 'a request says no');
is(found(), 'text', 'and counts before the index');
is(patch('/api/v1/indexes/main', undef), 0, 'null: as the organization says');
is(batch(), 202, 'again');
is(found(), 'text', 'it does not');
is(patch("/api/v1/organizations/$org->{id}", JSON::PP::true()), 1, 'the organization takes it apart');
is($t->http(GET => '/api/v1/indexes/main', token => $org->{read_key})->{json}{data}{parseJson} ? 1 : 0,
	1, 'and so does its index');
is(batch(), 202, 'again');
is_deeply(found(), 'it broke', 'as the organization says');
is(patch('/api/v1/indexes/main', JSON::PP::false()), 0, 'but not this index');
is(batch(), 202, 'again');
is(found(), 'text', 'which counts before the organization');
is($t->http(POST => '/api/v1/indexes', token => $org->{full_key},
	json => { name => 'web', parseJson => JSON::PP::true() })->{json}{data}{parseJson} ? 1 : 0, 1,
	'an index made so');
is(batch(undef, index => 'web'), 202, 'an event of another index');
is_deeply(found(), 'it broke', 'as its own index says');
is($t->http(POST => '/api/v1/logs', token => $other->{ingest_key}, json => { event => line() })
	->{status}, 202, 'another organization');
is(found($other), 'text', 'is not meant');
line();
my $row = json_encode({ event => line(), index => 'web' }) =~ s/'/''/gr;
$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.ingest('$row')");
is_deeply(found(), 'it broke', 'from SQL too');

# ---- what is refused ----

my $r = post('/api/v1/logs', 'yaml', json => { event => 'x' });
is("$r->{status} $r->{json}{code}", '400 VALIDATION_ERROR', 'another value of the header');
like($r->{json}{error}, qr/X-Logsvc-Parse: expected json or none/, 'says what is expected');
is(patch("/api/v1/organizations/$org->{id}", undef), 'VALIDATION_ERROR', 'an organization says yes or no');
is(patch('/api/v1/indexes/main', 'yes'), 'VALIDATION_ERROR', 'an index too');
is($t->http(PATCH => '/api/v1/indexes/main', token => $org->{ingest_key},
	json => { parseJson => JSON::PP::true() })->{json}{code}, 'INSUFFICIENT_SCOPE',
	'and not to everybody');

$t->stop;
done_testing;
