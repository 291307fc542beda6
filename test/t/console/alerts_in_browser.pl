# alerts_in_browser.pl: alerts and alert rules in Chromium (test/browser/alerts.mjs).
# Takes long.
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcDouble;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new;
$t->set('logsvc.webhook_networks', '127.0.0.0/8');
my $receiver = LogsvcDouble->new(answer => sub { return { body => "{}" }; });
my $org = $t->organization('acme', plan => 'pro', email => 'ann@example.org');
$t->sql("SELECT logsvc.create_user('viewer\@example.org');"
	  . "SELECT logsvc.add_member('acme', 'viewer\@example.org', 'viewer')");

# Errors of the last two hours, four in the last minute.
my $now = time;
my @events = map { { event => "payment $_ refused", level => 'error', service => $_ % 2 ? 'checkout' : 'shop',
		attributes => { ms => $_ }, timestamp => ($now - 7200 + $_ * 60) * 1000 } } 1 .. 115;
push @events, map { { event => "payment refused <script>alert($_)</script>", level => 'error', service => 'checkout' } } 1 .. 4;
is($t->http(POST => '/api/v1/logs/batch', token => $org->{ingest_key}, json => { events => \@events })->{json}{data}{accepted},
	scalar @events, 'events');

# One that fires at its first tick.
is($t->http(POST => '/api/v1/alert-rules', token => $org->{token}, json => { name => 'errors <b>everywhere</b>',
		query => 'level=error', schedule => { everySeconds => 10, lookback => '3h' }, groupBy => ['service'],
		condition => { kind => 'count', op => '>', threshold => 3 }, severity => 'critical',
		notify => [ { kind => 'webhook', target => $receiver->url } ] })->{status}, 201, 'a rule that fires');

LogsvcBrowser::run($t, 'alerts.mjs', calls => {
	session => sub { return $t->session($_[0]); },
	limit => sub { $t->sql("SELECT logsvc.set_limit('acme', '$_[0][0]', $_[0][1])"); return; },
	hook => sub { return $receiver->url; },
	token => sub { return $org->{token}; } });

$t->stop;
done_testing();
