# search_in_browser.pl: the search screen in Chromium, from an organization without events to
# tens of thousands (test/browser/search.mjs).
# Takes long.
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new;
my $owner = $t->organization('acme');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
$t->sql("SELECT logsvc.create_user('eve\@example.org', 'Eve'); SELECT logsvc.add_member('acme', 'eve\@example.org', 'viewer')");

# Events of the last 50 minutes, the newest first: n 1 is the newest.
sub load
{
	my ($n) = @_;
	$t->sql(qq{SELECT logsvc.act_as('acme');
		SELECT sum((logsvc.ingest(events) ->> 'accepted')::int) FROM (
			SELECT jsonb_agg(jsonb_build_object('event', 'request ' || n || ' was ' || (ARRAY['served', 'refused'])[n % 2 + 1],
				'level', (ARRAY['info', 'info', 'warn', 'error', 'debug'])[n % 5 + 1], 'service', (ARRAY['checkout', 'cart api', 'search'])[n % 3 + 1],
				'timestamp', now() - n * interval '3000 s' / $n,
				'attributes', jsonb_build_object('n', n, 'user', jsonb_build_object('id', n % 20), 'path', '/api/' || n % 7))) AS events
			FROM generate_series(1, $n) n GROUP BY n / 5000) e});
	return;
}

sub send_events
{
	my ($events) = @_;
	my $r = $t->http(POST => '/api/v1/logs/batch', token => $owner->{ingest_key}, json => $events);
	return $r->{json}{data}{accepted};
}

# The line that the screen shows, as somebody would paste it.
sub shell
{
	my ($line) = @_;
	system('sh', '-c', "$line -sS -o /dev/null") == 0 or return JSON::PP::false();
	return JSON::PP::true();
}

LogsvcBrowser::run($t, 'search.mjs',
	env => { OWNER => $t->session('acme@example.org'), VIEWER => $t->session('eve@example.org') },
	calls => { load => \&load, send => \&send_events, shell => \&shell,
		restart => sub { $t->restart; return } });

$t->stop;
done_testing();
