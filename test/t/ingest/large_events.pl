# large_events.pl: more large events in the queue than a writer may have in
# memory at once are written all the same, in several parts.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $bodies = 115;
my $t = LogsvcTest->new(conf => "logsvc.flush_interval = '50ms'\nmax_wal_size = '8GB'");
my $org = $t->organization('acme');

sub queued { return $t->sql('SELECT coalesce(sum(rows), 0) FROM logsvc_internal.queue'); }
sub stored { return $t->sql(q{SELECT coalesce(sum(rows), 0) FROM logsvc_internal.part WHERE }
	. q{index_name <> '_audit'}); }

$t->stop_at('write_after_delete');
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
	json => { event => 'x' })->{status}, 202, 'an event for a writer to hold');
$t->wait_held('write_after_delete');

# 39 events of 250 KB, all different, that compress well.
my $events = 1;
my $bad = 0;
foreach my $body (1 .. $bodies)
{
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key},
		headers => { 'Content-Type' => 'application/x-ndjson' },
		body => join("\n", map { "\"$body $_ " . "abcdefghi $body.$_ " x 15000 . '"' } 1 .. 39));
	$bad++ if $r->{status} != 202;
	$events += 39;
}
is($bad, 0, sprintf '%d events, %.1f GB, wait in the queue', $events,
	$bodies * 39 * 15000 * 17 / 1e9);
my $position = $t->log_position;
$t->let_go('write_after_delete');
ok(wait_until(sub { queued() == 0 }), 'all are written');
is(stored(), $events, 'each once');
note 'parts: ', $t->sql('SELECT count(*) || \', largest \' || pg_size_pretty(max(raw_bytes)) FROM '
	. 'logsvc_internal.part');
unlike($t->log_text($position), qr/could not write/, 'at the first attempt');
is($t->http(POST => '/api/v1/logs', token => $org->{ingest_key},
	json => { event => 'x' })->{status}, 202, 'and the next one');
ok(wait_until(sub { stored() == $events + 1 }), 'too');

$t->stop;
done_testing;
