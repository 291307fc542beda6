# accounts_in_browser.pl: accounts, links of mails, invitations and sessions in Chromium
# (test/browser/accounts.mjs).
# Takes long.
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new;

sub limits
{
	$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = $_[0] WHERE class IN ('auth', 'sign_in')");
	return;
}

limits(1000000);
my $mails = LogsvcBrowser::mails($t);
LogsvcBrowser::run($t, 'accounts.mjs', env => { LOGSVC_MAILS => $mails }, calls => {
	stop => sub { $t->node->stop('fast'); return; },
	start => sub { $t->node->start; $t->wait_ready; return; },
	limits => sub { return limits(@_); },
	plan => sub { $t->sql("SELECT logsvc.set_plan('acme', '$_[0]')"); return; } });

$t->stop;
done_testing();
