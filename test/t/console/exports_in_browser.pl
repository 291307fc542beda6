# exports_in_browser.pl: exports and saved queries in Chromium (test/browser/exports.mjs).
# Takes long.
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new;
my $org = $t->organization('acme', plan => 'pro', email => 'ann@example.org');
$t->sql("SELECT logsvc.create_user('member\@example.org');"
	  . "SELECT logsvc.add_member('acme', 'member\@example.org', 'member')");
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => [
			map { { event => "event $_ \x{202e}<script>alert($_)</script>", level => $_ % 2 ? 'error' : 'info' } } 1 .. 40 ] })->{json}{data}{accepted},
	40, 'events');

LogsvcBrowser::run($t, 'exports.mjs', calls => {
	session => sub { return $t->session($_[0]); },
	limit => sub { $t->sql("SELECT logsvc.set_limit('acme', '$_[0][0]', $_[0][1])"); return; },
	token => sub { return $org->{token}; } });

$t->stop;
done_testing();
