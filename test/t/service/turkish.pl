# turkish.pl: a database whose locale has a lower case of its own. What the service compares without
# case, e-mail addresses above all, does not depend on it; what people search does.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

# ICU comes with the server, a locale of the system may be missing.
my $t = LogsvcTest->new(initdb => [ '--locale-provider=icu', '--icu-locale=tr' ],
	conf => "logsvc.flush_interval = '10ms'");
is($t->sql("SELECT lower('INFO') = 'info'"), 'f', 'this is such a database');
$t->sql("SELECT logsvc.create_user('IRIS\@ACME.TEST', 'Iris', password => 'Kestrel-harbor-4917')");
is($t->sql('SELECT email FROM logsvc_internal.user_account'), 'iris@acme.test', 'an address');
my $org = $t->sql_json(
	"SELECT logsvc.create_organization('ISTANBUL Limited', owner => 'Iris\@Acme.Test')");
is($org->{slug}, 'istanbul-limited', 'so is a slug');
my $r = $t->http(POST => '/api/v1/auth/sign-in',
	json => { email => 'IRIS@acme.TEST', password => 'Kestrel-harbor-4917' });
is($r->{status}, 200, 'signed in') or diag $r->{body};
$t->sql("SELECT logsvc.create_user('ilk\@acme.test', 'Ilk');"
	  . "SELECT logsvc.add_member('istanbul-limited', 'ILK\@ACME.TEST', 'viewer')");
$t->sql("SELECT logsvc.set_member_role('istanbul-limited', 'ILK\@acme.test', 'admin')");
is($t->sql("SELECT string_agg(email || ' ' || role, ', ' ORDER BY email) FROM"
	  . ' logsvc_internal.member JOIN logsvc_internal.user_account u ON u.id = user_id'),
	'ilk@acme.test admin, iris@acme.test owner', 'a member is found, and has another role');
$t->stop;
done_testing();
