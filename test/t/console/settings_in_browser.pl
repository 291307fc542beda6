# settings_in_browser.pl: access tokens, API keys and the team in Chromium
# (test/browser/settings.mjs).
use strict;
use warnings;

use LogsvcBrowser;
use LogsvcTest;
use Test::More;

LogsvcBrowser::needed();

my $t = LogsvcTest->new;
my $mails = LogsvcBrowser::mails($t);

# ann owns it; an admin and a viewer.
$t->organization('acme', plan => 'pro', email => 'ann@example.org');
foreach my $role (qw(admin viewer))
{
	$t->sql("SELECT logsvc.create_user('$role\@example.org');"
		  . "SELECT logsvc.add_member('acme', '$role\@example.org', '$role')");
}
$t->sql(q{SELECT logsvc.create_user('dora@example.org')});

LogsvcBrowser::run($t, 'settings.mjs', env => { LOGSVC_MAILS => $mails }, calls => {
	session => sub { return $t->session($_[0]); },
	limit => sub { $t->sql("SELECT logsvc.set_limit('acme', '$_[0][0]', $_[0][1])"); return; },
	role => sub { return $t->sql("SELECT m.role FROM logsvc_internal.member m JOIN logsvc_internal.user_account u"
			  . " ON u.id = m.user_id WHERE u.email = '$_[0]'"); } });

$t->stop;
done_testing();
