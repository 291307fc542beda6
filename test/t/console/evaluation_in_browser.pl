# evaluation_in_browser.pl: the evaluation playground in Chromium (test/browser/evaluation.mjs).
# Takes long.
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcDouble;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new(conf => "logsvc.model_region = 'eu-central-1'");
my $org = $t->organization('acme', plan => 'pro');
my $double = LogsvcDouble->new(answer => sub {
	return { status => 200, headers => { 'Content-Type' => 'application/json' }, body => json_encode({ model => 'm',
			choices => [ { finish_reason => 'stop', message => { role => 'assistant', content => 'no verdict' } } ],
			usage => { prompt_tokens => 10, completion_tokens => 10 } }) };
});
$t->set('logsvc.model_endpoint', $double->url . '/v1');
$t->set('logsvc.model_endpoint_region', 'eu-central-1');

sub rate { return $t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = $_[0] WHERE class = 'evaluation'"); }

rate(1000);
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => [
		map { { event => $_, source => 'shop', level => 'error' } } 'payment refused', "two\nlines", "<script>alert(1)</script>" ] })->{status}, 202,
	'events');
ok(wait_until(sub { $t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => '* | stats count' })->{json}{data}{rows}[0][0] == 3 }),
	'which a search finds');

LogsvcBrowser::run($t, 'evaluation.mjs', env => { LOGSVC_COOKIE => $t->session($org->{email}) }, calls => {
	rate => sub { rate(@_); return; },
	# The tokens of the page that still work, and whether all end within 15 minutes.
	tokens => sub { return $t->sql_json("SELECT jsonb_build_object('live', count(*) FILTER (WHERE revoked_at IS NULL), 'made', count(*), "
			. "'short', bool_and(expires_at <= created_at + interval '15 minutes 5 seconds'), 'scopes', jsonb_agg(DISTINCT scopes)) "
			. "FROM logsvc_internal.access_token WHERE name = 'Console playground'"); },
	revoke => sub { $t->http(DELETE => "/api/v1/tokens/$_->{id}", session => $_[0], organization => 'acme')
			foreach grep { $_->{name} eq 'Console playground' && !$_->{revokedAt} }
			@{ $t->http(GET => '/api/v1/tokens', session => $_[0], organization => 'acme')->{json}{data} }; return; },
	spent => sub { return $t->sql('SELECT coalesce(sum(micro_credits), 0) FROM logsvc_internal.ai_credit_entry WHERE micro_credits > 0'); },
	set => sub { $t->set("logsvc.$_[0][0]", $_[0][1]); return; },
	credits => sub { $t->sql("SELECT logsvc.adjust_ai_credits('acme', $_[0], 'test')"); return; },
	role => sub { $t->sql("UPDATE logsvc_internal.member SET role = '$_[0]' WHERE user_id = (SELECT id FROM logsvc_internal.user_account "
			. "WHERE email = '$org->{email}')"); return; } });

$double->stop;
$t->stop;
done_testing();
