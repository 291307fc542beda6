# pipelines_in_browser.pl: pipelines in Chromium (test/browser/pipelines.mjs).
# Takes long.
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new;
my $org = $t->organization('acme', plan => 'pro', email => 'ann@example.org');
$t->sql("SELECT logsvc.create_user('viewer\@example.org');"
	  . "SELECT logsvc.add_member('acme', 'viewer\@example.org', 'viewer')");
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => [
			map { { event => "login of user$_\@example.org <script>alert($_)</script>", level => 'info', service => 'shop' } } 1 .. 3 ] })->{json}{data}{accepted},
	3, 'events');
for my $pipeline ({ name => 'tag <i>shop</i>', match => 'service=shop', processors => [ { type => 'set', field => 'team', value => 'shop' } ] },
	{ name => 'mask mails', processors => [ { type => 'mask', field => '*', preset => 'email' } ] })
{
	is($t->http(POST => '/api/v1/pipelines', token => $org->{token}, json => $pipeline)->{status}, 201, $pipeline->{name});
}

LogsvcBrowser::run($t, 'pipelines.mjs', calls => {
	session => sub { return $t->session($_[0]); },
	token => sub { return $org->{token}; },
	stored => sub { return $t->sql(q{SELECT string_agg(name, ',' ORDER BY (content -> 'order')::int) FROM logsvc_internal.resource WHERE kind = 'pipeline'}); },
	send => sub { return $t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => $_[0])->{status}; } });

$t->stop;
done_testing();
