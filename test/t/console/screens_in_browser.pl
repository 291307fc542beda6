# screens_in_browser.pl: every screen of the console, in an organization in which every name is
# hostile: nothing of them runs, nothing sticks out at 320 px and at 200%; an editor keeps its text
# when the session ends or the server starts again (test/browser/screens.mjs).
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new(conf => "logsvc.limits = 'generous'");
my $org = $t->organization('acme', plan => 'business', email => 'owner@example.org');
my $password = 'Correct-horse-battery-7';
my $hostile = q{<img src=x onerror=alert(1)>"'`</script>${1}{{1}} } . 'looooooooooooooooooooooooooooooooooooooooooooooooooong';
my ($short, $made) = ('<img src=x onerror=alert(1)>');

# A call as its owner; its answer.
sub make
{
	my ($path, $body) = @_;
	my $answer = $t->http(POST => "/api/v1/$path", token => $org->{token}, json => $body);
	is($answer->{status} =~ /^20[012]$/ ? 1 : $answer->{content}, 1, "$path");
	return $answer->{json}{data}{id};
}

$t->sql(q{SELECT logsvc.set_password('owner@example.org', '} . $password . q{')});
(my $quoted = $hostile) =~ s/'/''/g;
$t->sql("UPDATE logsvc_internal.user_account SET name = '$quoted'");
is($t->http(PATCH => "/api/v1/organizations/$org->{id}", token => $org->{token}, json => { name => $hostile })->{status}, 200, 'the organization');
$t->sql("SELECT logsvc.create_user('eve\@example.org', '$quoted'); SELECT logsvc.add_member('acme', 'eve\@example.org', 'viewer')");
make('invitations', { email => 'img-src-x-onerror-alert-1-looooooooooooooooooooooooong@example.org', role => 'viewer' });
make('api-keys', { name => $hostile, scope => 'ingest-only' });
$t->sql("SELECT logsvc.create_token('acme', 'owner\@example.org', '$quoted', ARRAY['logs:read'])");
make('indexes', { name => 'other', description => $hostile });
make('logs/batch', [ map { { event => "$hostile $_", level => 'error', service => $hostile, source => $hostile,
			traceId => 'a' x 32, attributes => { $hostile => $hostile, url => 'javascript:alert(1)' } } } 1 .. 30 ]);
my $query = 'level=error';
$made->{saved} = make('saved-queries', { name => $hostile, q => $query, folder => $hostile, description => $hostile });
$made->{dashboards} = make('dashboards', { name => $hostile, description => $hostile, tags => [$short], timeRange => { earliest => '-1h' },
		variables => [ { name => 'service', label => $short, kind => 'query', query => '* | stats count by service', default => '*' } ],
		panels => [ (map { { title => $hostile, kind => $_, query => $_ eq 'timeseries' ? '* | timechart count by service' : $_ =~ /logs|patterns/ ? '*'
					: '* | stats count by service' } } qw(timeseries table stat bar pie logs patterns)),
			{ title => $hostile, kind => 'markdown', options => { text => "# $hostile\n[x](javascript:alert(1)) $hostile" } } ] });
$made->{'alert-rules'} = make('alert-rules', { name => $hostile, query => $query, description => $hostile, labels => { team => $hostile },
		schedule => { everySeconds => 10, lookback => '1h' }, condition => { kind => 'count', op => '>', threshold => 0 }, groupBy => ['service'],
		tests => [ { name => $hostile, rows => [ { event => $hostile } ],
				expect => { firing => JSON::PP::false } } ] });
$made->{pipelines} = make('pipelines', { name => $hostile, match => 'service=never', processors => [ { type => 'set', field => 'x', value => $hostile } ] });
$made->{exports} = make('scheduled-exports', { name => $hostile, q => $query, cron => '@daily', delivery => { kind => 'download' } });
make("scheduled-exports/$made->{exports}/run", {});
my $service = make('services', { name => $hostile, match => '*', owner => $hostile, tier => $short, description => $hostile,
		links => [ { title => $hostile, url => 'https://example.org/?q=%3Cscript%3E' } ] });
make('kpis', { name => $hostile, serviceId => $service, q => '* | stats count', unit => '<b>x</b>', direction => 'lowerIsBetter', warn => 1, critical => 100 });
my $part = q{FROM logsvc_internal.part p WHERE p.index_name = 'main' AND p.rows = 30};
ok(wait_until(sub { $t->sql("SELECT count(*) $part") == 1 }), 'events are stored');
$t->sql(qq{INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit,
		reason, attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body)
	SELECT p.organization_id, 1, p.rows, p.min_time, p.max_time, 0, false, 'rejected', 3, now(), now(), 'LS803', 'x', p.header, p.body $part});
ok(wait_until(sub { $t->sql("SELECT count(*) FROM logsvc_internal.alert WHERE status = 'firing'") > 0 }), 'an alert fires');

LogsvcBrowser::run($t, 'screens.mjs', env => { LOGSVC_COOKIE => $t->session('owner@example.org'), LOGSVC_PASSWORD => $password,
		LOGSVC_HOSTILE => $hostile, LOGSVC_MADE => json_encode($made) }, calls => {
	end => sub { $t->sql("SELECT logsvc.end_sessions('owner\@example.org')"); return; },
	rule => sub { return $t->http(GET => "/api/v1/alert-rules/$made->{'alert-rules'}", token => $org->{token})->{json}{data}; },
	stop => sub { $t->node->stop('fast'); return; },
	start => sub { $t->node->start; $t->wait_ready; return; } });

$t->stop;
done_testing();
