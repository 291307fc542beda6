# loading_in_browser.pl: what the console loads when, and what it says when files are gone, in
# Chromium (test/browser/loading.mjs).
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcTest;
use Test::More;

# Without it the console is not bundled.
LogsvcBrowser::needed('esbuild');

my $t = LogsvcTest->new;
my $org = $t->organization('acme');
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => [ map { { event => "request $_" } } 1 .. 20 ] })->{status}, 202, 'events');
ok(wait_until(sub { $t->http(GET => '/api/v1/search', token => $org->{token}, query => { q => '* | stats count' })->{json}{data}{rows}[0][0] == 20 }),
	'which a search finds');
LogsvcBrowser::run($t, 'loading.mjs', env => { LOGSVC_COOKIE => $t->session($org->{email}) });
$t->stop;
done_testing();
