# acceptor_memory.pl: what an acceptor keeps after large groups of many organizations
# is bounded, however the groups are made; and requests that wait for room have one
# limit of memory too.
use strict;
use warnings;

use IO::Select;
use LogsvcAsync;
use LogsvcTest;
use Test::More;
use Time::HiRes qw(time);

my $ORGS = 36;
my $t = LogsvcTest->new(conf => join "\n", "logsvc.flush_interval = '50ms'", 'logsvc.acceptors = 1',
	'logsvc.writers = 1', 'logsvc.compactors = 0',
	"logsvc.queue_wait = '10s'");
my @orgs = map { $t->organization("org$_") } 1 .. $ORGS;
my ($pid) = $t->workers('^logsvc acceptor$');

# Megabytes that the acceptor has allocated.
sub memory
{
	my $from = $t->log_position;
	my $mb;
	$t->sql("SELECT pg_log_backend_memory_contexts($pid)");
	wait_until(sub { ($mb) = $t->log_text($from) =~ /Grand total: (\d+) bytes/; defined $mb });
	return $mb / 1024 / 1024;
}

# Texts that have nothing in common.
my $seed = 1;
sub noise { return join '', map { $seed = ($seed * 1103515245 + 12345) % 2147483648; sprintf '%08x',
	$seed } 1 .. 40 }
my $large = json_encode([ map { noise() } 1 .. 4500 ]);

# Group after group, in each another builder becomes large.
my $before = memory();
foreach my $big (0 .. $ORGS - 1)
{
	$t->stop_at('accept_before_commit');
	my @requests = begin_request($t, POST => '/api/v1/logs', token => $orgs[0]{ingest_key},
		json => { event => 'first' });
	$t->wait_held('accept_before_commit');
	push @requests, begin_request($t, POST => '/api/v1/logs/batch', token => $orgs[$_]{ingest_key},
		$_ == $big ? (body => $large) : (json => ['small']))
	  foreach 0 .. $ORGS - 1;
	is($t->http(GET => '/healthz')->{status}, 200, 'all have been sent');
	$t->let_go('accept_before_commit');
	my %status;
	$status{ end_request($_)->{status} }++ foreach @requests;
	is_deeply(\%status, { 202 => $ORGS + 1 }, "a group with a large batch of organization $big")
		or diag explain \%status;
}
my $after = memory();
note sprintf '%.1f MB before, %.1f MB after', $before, $after;
cmp_ok($after - $before, '<', 100, 'what is kept is bounded');

# ---- requests that wait ----

# Debug builds let 8 MB wait.
$t->set('logsvc.queue_limit', 1000);
ok(wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth()') == 0 }), 'all is stored');
$t->stop_at('write_before_commit');
is($t->http(POST => '/api/v1/logs/batch', token => $orgs[0]{ingest_key},
	json => [ ('x') x 750 ])->{status}, 202, 'the share of an organization is full');
my $three = json_encode([ 'y' x (250 * 1024), map { 'z' x (250 * 1024) } 1 .. 11 ]);
my $begin = time;
my @waiting = map { begin_request($t, POST => '/api/v1/logs/batch', token => $orgs[0]{ingest_key},
	body => $three) } 1 .. 4;
# Which of them come first is chance; two are answered long before the other two.
my $early = sub { scalar grep { IO::Select->new($_->{socket})->can_read(0) } @waiting };
ok(wait_until(sub { $early->() == 2 }), 'beyond the limit of memory a request does not wait');
foreach (@waiting) { my $r = end_request($_); is("$r->{status} $r->{json}{code}",
	'429 QUEUE_FULL', 'refused'); }
cmp_ok(time - $begin, '>=', 9.9, 'within it, it waits for logsvc.queue_wait');

# What waits is taken as soon as there is room, in its order, and nobody else waits.
my @late = map { begin_request($t, POST => '/api/v1/logs/batch', token => $orgs[0]{ingest_key},
	json => [ ("late $_") x 300 ]) } 1, 2;
is($t->http(POST => '/api/v1/logs', token => $orgs[1]{ingest_key}, json => { event => 'other' })
	->{status}, 202, 'another organization is answered meanwhile');
$t->let_go('write_before_commit');
is(join(' ', map { end_request($_)->{status} } @late), '202 202', 'with room there is no 429');

# A wait of 0 is none.
$t->set('logsvc.queue_wait', '0');
ok(wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth()') == 0 }), 'all is stored');
$t->stop_at('write_before_commit');
is($t->http(POST => '/api/v1/logs/batch', token => $orgs[0]{ingest_key},
	json => [ ('x') x 750 ])->{status}, 202, 'full again');
$begin = time;
is($t->http(POST => '/api/v1/logs', token => $orgs[0]{ingest_key},
	json => { event => 'no room' })->{status}, 429, 'refused');
cmp_ok(time - $begin, '<', 8, '... at once');
$t->let_go('write_before_commit');

# ---- logsvc.batch_events ----

$t->set('logsvc.queue_limit', 100000);
$t->set('logsvc.batch_events', 500);
$t->set('logsvc.flush_interval', '5s');
ok(wait_until(sub { $t->sql('SELECT logsvc_internal.queue_depth()') == 0 }), 'all is stored');
my $last = $t->sql('SELECT coalesce(max(id), 0) FROM logsvc_internal.part');
# A busy machine may delay one try.
my $took;
foreach my $try (1 .. 5)
{
	$begin = time;
	$t->http(POST => '/api/v1/logs/batch', token => $orgs[2]{ingest_key}, json => [ ('x') x 100 ])
		foreach 1 .. 9;
	$t->http(POST => '/api/v1/logs/batch', token => $orgs[2]{ingest_key}, json => [ ('x') x 1200 ]);
	ok(wait_until(sub { $t->sql("SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE id > "
		. "$last AND index_name = 'main'") == 2100 * $try }), 'stored');
	$took = time - $begin;
	last if $took < 4.5;
}
cmp_ok($t->sql("SELECT max(rows) FROM logsvc_internal.part WHERE id > $last"), '<=', 500,
	'no insert has more than logsvc.batch_events');
cmp_ok($took, '<', 4.5, '... and 500 events do not wait for the flush interval');

$t->stop;
done_testing;
