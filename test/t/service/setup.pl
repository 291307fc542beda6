# logsvc.setup: what a newcomer gets from one call, and that nobody gets it twice or by accident.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new(limits => 1);
$t->sql('CREATE ROLE tenant LOGIN IN ROLE logsvc_tenant; CREATE ROLE operator LOGIN IN ROLE logsvc_admin');
sub organizations { return $t->sql('SELECT count(*) FROM logsvc_internal.organization') }

is(($t->sql_error("SELECT logsvc.setup('acme', 'ann\@acme.example')", user => 'tenant'))[1], 'LS202',
	'not for a tenant');
is(($t->sql_error("SELECT logsvc.setup('acme', $_)"))[1], 'LS001', "the address $_") foreach 'NULL', "'ann'";
is(($t->sql_error("SELECT logsvc.setup(NULL, 'ann\@acme.example')"))[1], 'LS001', 'without a name');
is(organizations(), 0, 'nothing is left of what was refused');

my ($line, $said);
$t->node->psql('postgres', "SELECT logsvc.setup('Acme Corp', 'ann\@acme.example')", stdout => \$line,
	stderr => \$said, extra_params => [ '-U', 'operator' ]);
like($said, qr/organization "acme-corp" has the owner ann\@acme\.example.*set_password/s, 'it says what comes next');
like(`$line -sS`, qr/^\{"data":\{"id":"evt_\w+","status":"queued"\}\}/, 'its line sends an event');
my $key = $t->sql_json("SELECT logsvc.create_api_key('acme-corp', 'reader', 'read-only')")->{key};
is($t->http(GET => '/api/v1/search', token => $key, query => { q => 'hello' })->{json}{data}{rows}[0]{event}, 'hello',
	'which a search finds');
is($t->sql("SELECT m.role FROM logsvc_internal.member m JOIN logsvc_internal.user_account u "
	. "ON u.id = m.user_id WHERE u.email = 'ann\@acme.example'"), 'owner', 'the owner');
is($t->http(GET => '/api/v1/search', token => ($line =~ /Bearer (\w+)/)[0], query => { q => 'hello' })->{status}, 403,
	'the key only sends');

my (undef, $state, $message) = $t->sql_error("SELECT logsvc.setup('other', 'bob\@acme.example')");
is($state, 'LS401', 'a second call');
like($message, qr/create_organization/, '... says what makes others');
is(organizations(), 1, '... and makes nothing');

$t->stop;
done_testing;
