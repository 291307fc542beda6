# ingest_turns.pl: an organization that keeps an acceptor busy with small packed bodies,
# by many keys and connections, does not keep others waiting; and a body of which nothing
# can come is not read to its end.
#
# Runs alone: it measures times.
use strict;
use warnings;

use Compress::Zlib qw(memGzip);
use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time sleep);

my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '50ms'", 'logsvc.acceptors = 1',
	'logsvc.compactors = 0');
my $hostile = $t->organization('hostile');
my $victim = $t->organization('victim');
my @keys = ($hostile->{ingest_key}, map {
	$t->sql_json("SELECT logsvc.create_token('$hostile->{slug}', '$hostile->{email}',"
	  . " 'key $_', ARRAY['logs:write'])")->{token} } 1 .. 9);
my $UNPACKED = 10 * 1024 * 1024 - 64;

sub fill { my ($what, $separator, $open, $close) = @_; return $open
	. join($separator, ($what) x int($UNPACKED / length "$what$separator")) . $close; }

sub send_packed
{
	my ($key, $type, $packed) = @_;
	return begin_request($t, POST => '/api/v1/logs/batch', token => $key, body => $packed,
		headers => { 'Content-Encoding' => 'gzip', 'Content-Type' => $type });
}

# Sixty of them at once; meanwhile the victim sends one event after the other.
sub attack
{
	my ($name, $type, $plain, $status) = @_;
	my $packed = memGzip($plain);
	# How fast the machine is just now.
	my $alone = time;
	end_request(send_packed($keys[0], $type, $packed), 120);
	$alone = time - $alone;
	my $limit = $alone > 0.25 ? 4 * $alone : 1;
	my @requests = map { send_packed($keys[ $_ % @keys ], $type, $packed) } 1 .. 60;
	my @seconds;
	my $bad = 0;
	sleep 0.1;    # they come first
	foreach (1 .. 10)
	{
		my $r = request($t, POST => '/api/v1/logs', token => $victim->{ingest_key},
			json => { event => 'x' });
		$bad++ if $r->{status} != 202;
		push @seconds, $r->{seconds};
	}
	is($bad, 0, "$name: events of another are accepted");
	@seconds = sort { $a <=> $b } @seconds;
	note sprintf '%s: %d bytes packed; another waited %.0f ms at most, %.0f in the middle', $name,
		length $packed, $seconds[-1] * 1000,
	  $seconds[5] * 1000;
	cmp_ok($seconds[-1], '<', $ENV{TURN_LIMIT} // $limit,
		"$name: within a second, or the time of few such bodies");
	# The first one has its answer; those that nobody has looked at go when their clients do.
	my $answer = end_request($requests[0], 120);
	like($answer->{status}, $status, "$name: and the sender has its answer")
		or diag $answer->{content};
	close $_->{socket} foreach @requests;
	return $answer;
}

my $r = attack('empty events', 'application/json', fill('{}', ',', '[', ']'), qr/^400$/);
like($r->{json}{error}, qr/^1000 of the first 1000 events were rejected; the rest was not read/,
	'and the answer says why');
attack('empty events, in lines', 'application/x-ndjson', fill('{}', "\n", '', ''), qr/^400$/);
attack('too many events', 'application/x-ndjson', fill('"x"', "\n", '', ''), qr/^413$/);
attack('blank lines', 'application/x-ndjson', "\n" x $UNPACKED, qr/^400$/);
attack('many attributes', 'application/x-ndjson',
	fill('{"event":"x","attributes":{' . join(',', map { "\"a$_\":1" } 1 .. 128) . '}}', "\n", '',
		''), qr/^(202|429)$/);
my $n = 0;
attack("many columns", "application/x-ndjson",
	join('', map { my $e = $_; '{"event":"x","attributes":{'
		. join(',', map { '"' . ($e * 128 + $_) . '":1' } 0 .. 127) . "}}\n" } 1 .. 1950),
			qr/^(202|429)$/);
attack('tiny events', 'application/x-ndjson', "\"x\"\n" x 74_000, qr/^(202|429)$/);
$t->stop;
done_testing;
