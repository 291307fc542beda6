# dashboards_in_browser.pl: dashboards, their editor, links, services in Chromium
# (test/browser/dashboards.mjs).
# Takes long.
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new;
my $org = $t->organization('acme', plan => 'pro');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
$t->sql("SELECT logsvc.create_user('eve\@example.org', 'eve'); SELECT logsvc.add_member('acme', 'eve\@example.org', 'viewer')");
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => [ map { {
			event => "request $_ <script>alert(1)</script> \x{202e}txt", service => $_ % 3 ? 'api' : 'web "x"', level => $_ % 5 ? 'info' : 'error',
			attributes => { ms => $_ } } } 1 .. 60 ] })->{status}, 202, 'events');
ok(wait_until(sub { $t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => '* | stats count' })->{json}{data}{rows}[0][0] == 60 }),
	'which a search finds');
my $hostile = '<img src=x onerror=alert(1)> "q" | ' . "\x{5e9}\x{5dc}\x{5d5}\x{5dd}";
my $made = $t->http(POST => '/api/v1/dashboards', token => $org->{token}, json => { name => "wall $hostile", timeRange => { earliest => '-1h' }, tags => ['web'],
		variables => [ { name => 'service', kind => 'query', query => '* | stats count by service', default => '*' },
			{ name => 'level', kind => 'list', values => [ 'info', 'error' ], default => 'error' } ],
		panels => [
			{ id => 'lines', title => 'events', kind => 'timeseries', query => 'service=$service | timechart span=5m count by level', layout => { x => 0, y => 0, w => 12, h => 8 } },
			{ id => 'count', title => 'count', kind => 'stat', query => 'service=$service | stats count', layout => { x => 12, y => 0, w => 6, h => 4 },
				options => { unit => 'req', thresholds => [ { value => 50, color => 'red' } ] } },
			{ id => 'parts', title => 'parts', kind => 'pie', query => '* | stats count by level', layout => { x => 18, y => 0, w => 6, h => 8 } },
			{ id => 'bars', title => "bars $hostile", kind => 'bar', query => '* | stats count by service', layout => { x => 12, y => 4, w => 6, h => 4 } },
			{ id => 'table', title => 'table', kind => 'table', query => 'level=$level | stats count by service', layout => { x => 0, y => 8, w => 12, h => 6 } },
			{ id => 'rows', title => 'rows', kind => 'logs', query => 'level=$level', layout => { x => 12, y => 8, w => 12, h => 6 } },
			{ id => 'note', title => 'note', kind => 'markdown', options => { text => "# Run book\n\nSee **this** [page](https://example.org/x) or [that](javascript:alert(1)).\n\n- <b>one</b>\n- two" },
				layout => { x => 0, y => 14, w => 12, h => 4 } },
			{ id => 'legend', title => 'legend', kind => 'timeseries', layout => { x => 0, y => 18, w => 8, h => 6 }, options => { stack => \1 },
				query => '* | eval size=case(ms<30, "the largest of all", ms<45, "the second of them", ms<55, "the third of them", ms<59, "the fourth of them", "smallest") | timechart span=5m count by size' },
			{ id => 'broken', title => 'broken', kind => 'stat', query => 'index=nowhere | stats count', layout => { x => 12, y => 14, w => 12, h => 4 } } ] });
is($made->{status}, 201, 'a dashboard') or diag $made->{content};
my $id = $made->{json}{data}{id};

LogsvcBrowser::run($t, 'dashboards.mjs', env => { LOGSVC_COOKIE => $t->session($org->{email}), LOGSVC_VIEWER => $t->session('eve@example.org'), LOGSVC_DASHBOARD => $id }, calls => {
	saved => sub { return $t->http(GET => "/api/v1/dashboards/" . ($_[0] // $id), token => $org->{token})->{json}{data}; },
	limit => sub { $t->sql("SELECT logsvc.set_limit('acme', 'dashboards', $_[0])"); return; } });

$t->stop;
done_testing();
