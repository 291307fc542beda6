# Saved queries over HTTP: versions and If-Match, Idempotency-Key, pages, who sees private ones;
# what all resources of the workspace do in the same way.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

my $t = LogsvcTest->new;
my $org = $t->organization('acme', plan => 'pro');
my $other = $t->organization('other', plan => 'pro');
my $path = '/api/v1/saved-queries';

sub ask
{
	my ($method, $where, $expected, $name, %options) = @_;
	my $r = $t->http($method => $path . $where, token => $org->{token}, %options);
	is($r->{status} . ($r->{json}{code} ? " $r->{json}{code}" : ''), $expected, $name) or diag $r->{content};
	return $r;
}

# ---- create ----

my $r = ask(POST => '', 201, 'a query is saved', json => { name => 'errors', q => 'level=error', folder => 'web' });
my $made = $r->{json}{data};
like($made->{id}, qr/^sq_\w{26}$/, 'its id');
is($made->{version}, 1, 'its first version');
like($made->{createdBy}, qr/^usr_/, 'who made it');
is($made->{updatedAt}, $made->{createdAt}, 'never changed');
$r = ask(POST => '', '400 VALIDATION_ERROR', 'all that is wrong is said',
	json => { q => 'level=error | stat count', visibilty => 'org' });
is_deeply([ sort map { "$_->{path} $_->{code}" } @{ $r->{json}{details} } ],
	[ 'name required', 'q invalid', 'visibilty unknown' ], 'with paths');
ask(POST => '', '400 VALIDATION_ERROR', 'no document', json => []);
ask(POST => '', '400 VALIDATION_ERROR', 'no body');
my %again = (json => { name => 'once', q => '*' }, headers => { 'Idempotency-Key' => 'k1' });
my $first = ask(POST => '', 201, 'with an Idempotency-Key', %again)->{json}{data}{id};
is(ask(POST => '', 201, 'and again', %again)->{json}{data}{id}, $first, 'one query');

# ---- warnings ----

$t->http(POST => '/api/v1/logs', token => $org->{ingest_key}, json => { event => 'one', attributes => { status => 500 } });
$r = ask(POST => '', 201, 'a slip', json => { name => 'slip', q => 'sttus=500' });
is($r->{json}{data}{warnings}[0]{message}, 'no event has the field sttus: did you mean status?', 'is said');
my $slip = "/$r->{json}{data}{id}";
is_deeply(ask(GET => $slip, 200, 'it is read')->{json}{data}{warnings}, $r->{json}{data}{warnings}, 'with its warning');
is_deeply(ask(PATCH => $slip, 200, 'it is mended', json => { q => 'status=500' })->{json}{data}{warnings}, [], 'and there is none');
ask(DELETE => $slip, 204, 'it is deleted');
{
	# A look that takes too long is none.
	$t->stop_at('query_warnings');
	my $slow = $t->http(POST => $path, token => $org->{token}, json => { name => 'slow', q => 'sttus=500' });
	$t->let_go('query_warnings');
	is($slow->{status}, 201, 'a look that takes too long fails nothing');
	is_deeply($slow->{json}{data}{warnings}, [], 'and says nothing');
	ask(DELETE => "/$slow->{json}{data}{id}", 204, 'it is deleted');
}

# ---- versions ----

my $one = "/$made->{id}";
$r = ask(PATCH => $one, 200, 'a member is changed', json => { q => 'level=warn' }, headers => { 'If-Match' => '1' });
is_deeply([ @{ $r->{json}{data} }{qw(q folder version)} ], [ 'level=warn', 'web', 2 ], 'and the version');
$r = ask(PATCH => $one, '412 VERSION_CONFLICT', 'an old version', json => { q => '*' }, headers => { 'If-Match' => $_ })
	foreach '1', '"1"', 'W/"1"', 'x', '"2';
is($r->{json}{details}[0]{path}, 'version', 'what was stale');
ask(PATCH => $one, '412 VERSION_CONFLICT', 'an old version in the body', json => { q => '*', version => 1 }, headers => { 'If-Match' => '2' });
ask(PATCH => $one, '400 VALIDATION_ERROR', 'an index that is not there', json => { q => 'index=nowhere' });
ask(PATCH => $one, 200, "If-Match: $_->[0]", json => { q => "level=$_->[1]" }, headers => { 'If-Match' => $_->[0] })
	foreach [ '"2"', 'info' ], [ '3', 'debug' ], [ '*', 'trace' ];
ask(PATCH => $one, '412 VERSION_CONFLICT', 'what was read is sent back, but it is old',
	json => { %$made, name => 'x' });
$r = ask(PATCH => $one, 200, 'null removes', json => { folder => undef });
is($r->{json}{data}{folder}, undef, 'the folder');
ask(PATCH => $one, '400 VALIDATION_ERROR', 'what is required stays', json => { q => undef });
ask(DELETE => $one, '412 VERSION_CONFLICT', 'an old version is not deleted', headers => { 'If-Match' => '"1"' });

# ---- who ----

is($t->http(GET => "$path$one", token => $other->{token})->{status}, 404, 'another organization');
is($t->http(GET => "$path$one", token => $org->{read_key})->{status}, 200, 'a read-only key reads');
is($t->http(POST => $path, token => $org->{read_key}, json => { name => 'x', q => '*' })->{status}, 403,
	'and saves nothing');
is($t->http(POST => $path, token => $org->{full_key}, json => { name => 'x', q => '*' })->{status}, 201,
	'a full-access key does');
my $own = ask(POST => '', 201, 'a private one', json => { name => 'own', q => '*', visibility => 'private' })->{json}{data}{id};
is($t->http(GET => "$path/$own", token => $org->{read_key})->{status}, 404, 'is not seen by keys');
is(ask(GET => "/$own", 200, 'only by its author')->{json}{data}{visibility}, 'private', 'as it is');

# ---- pages ----

ask(POST => '', 201, "query $_", json => { name => sprintf('q%02d', $_), q => '*', folder => 'many' }) foreach 1 .. 7;
my (@names, $cursor);
do
{
	$r = ask(GET => '?folder=many&limit=3' . ($cursor ? "&cursor=$cursor" : ''), 200, 'a page');
	push @names, map { $_->{name} } @{ $r->{json}{data} };
	$cursor = $r->{json}{page}{nextCursor};
} while ($cursor);
is_deeply(\@names, [ map { sprintf 'q%02d', $_ } 1 .. 7 ], 'each once, by name');
$cursor = ask(GET => '?limit=1', 200, 'a page of all')->{json}{page}{nextCursor};
is($t->http(GET => "$path?limit=1&cursor=$cursor", token => $org->{read_key})->{status}, 400,
	'a cursor is for who got it');
ask(GET => '?folde=x', '400 VALIDATION_ERROR', 'a parameter that is not known');

# ---- what uses it ----

my $used = ask(POST => '', 201, 'one that others use', json => { name => 'used', q => 'level=error' })->{json}{data}{id};
my $blind = $t->sql_json("SELECT logsvc.create_token('acme', '$org->{email}', 'blind', '{dashboards:read,dashboards:write}')")->{token};
# Changes it, as the owner or without logs:read.
sub change
{
	my ($token, $q, $expected, $name) = @_;
	my $c = $t->http(PATCH => "$path/$used", token => $token, json => { q => $q });
	is($c->{status} . ($c->{json}{code} ? " $c->{json}{code}" : ''), $expected, $name) or diag $c->{content};
	return join ' ', map { $_->{message} =~ /^(\w+ \w+)/ } @{ $c->{json}{details} // [] };
}
sub make
{
	my ($kind, %document) = @_;
	my $m = $t->http(POST => "/api/v1/$kind", token => $org->{token}, json => \%document);
	is($m->{status}, 201, "one of $kind uses it") or diag $m->{content};
	return "/api/v1/$kind/$m->{json}{data}{id}";
}
my $dashboard = make('dashboards', name => 'd', panels => [ { title => 'p', kind => 'table', savedQueryId => $used } ]);
change($blind, 'level=fatal', 200, 'a panel shows nothing to who changes its query');
$t->http(POST => "$dashboard/share", token => $org->{token}, json => { kind => 'link' });
change($blind, 'level=warn', '403 INSUFFICIENT_SCOPE', 'a link does, to everybody: that needs logs:read');
is($t->http(PATCH => "$path/$used", token => $blind, json => { folder => 'x' })->{status}, 200, 'but not another name or folder');
change($org->{token}, 'level=warn', 200, 'who may read events decides what a link shows');
$t->http(POST => "$dashboard/share", token => $org->{token}, json => { kind => 'org' });
my $rule = make('alert-rules', name => 'r', savedQueryId => $used, condition => { kind => 'count', op => '>', threshold => 5 });
change($blind, 'level=error', '403 INSUFFICIENT_SCOPE', 'a rule sends what it finds');
is(change($org->{token}, 'level=error earliest=-1h', '409 IN_USE', 'with this query the rule would fail'), 'alert rule', 'which is named');
my $export = make('scheduled-exports', name => 'e', savedQueryId => $used, cron => '@yearly', delivery => { kind => 'download' });
is(change($org->{token}, 'index=_audit', '409 IN_USE', 'with this one both would'), 'scheduled export alert rule', 'and both are named');
is(ask(GET => "/$used", 200, 'it')->{json}{data}{q}, 'level=warn', 'is as it was');
change($org->{token}, 'level=error', 200, 'a query with which both work');
$t->http(POST => "$rule/disable", token => $org->{token});
change($org->{token}, 'level=error earliest=-1h', 200, 'a disabled rule does not fail');
change($org->{token}, 'index=_audit', '409 IN_USE', 'an export does');
is($t->http(DELETE => $export, token => $org->{token})->{status}, 204, 'without it');
change($org->{token}, 'index=_audit', 200, 'nothing fails');

# ---- delete ----

ask(DELETE => $one, 204, 'it is deleted');
ask(GET => $one, '404 NOT_FOUND', 'and gone');
ask(DELETE => $one, '404 NOT_FOUND', 'once');
is($t->sql("SELECT string_agg(action, ' ' ORDER BY number) FROM logsvc_internal.audit_entry a JOIN "
	. "logsvc_internal.organization o ON o.id = a.organization_id AND o.slug = 'acme' WHERE a.resource = '$made->{id}'"),
	'saved_query.created' . ' saved_query.updated' x 5 . ' saved_query.deleted', 'the audit log has it all');

# ---- what a removed member leaves ----

$t->sql("SELECT logsvc.create_user('gone\@acme.example', 'gone'), logsvc.create_organization('left', 'pro', 'first\@left.example')");
foreach my $way ("logsvc.remove_member('left', 'gone\@acme.example')", "logsvc.delete_user('gone\@acme.example')")
{
	$t->sql("SELECT logsvc.add_member('left', 'gone\@acme.example', 'member'); SELECT logsvc.act_as('left', 'gone\@acme.example') IS NULL; "
		. q{SELECT logsvc.create_saved_query('{"name": "mine", "q": "*", "visibility": "private"}'), }
		. q{logsvc.create_saved_query('{"name": "ours", "q": "*"}'), }
		. q{logsvc.create_dashboard('{"name": "my board", "shared": {"kind": "private"}}')});
	$t->sql("SELECT logsvc.act_as(NULL) IS NULL; SELECT $way");
}
my $left = "organization_id = (SELECT id FROM logsvc_internal.organization WHERE slug = 'left')";
is($t->sql("SELECT string_agg(name, ' ' ORDER BY name) FROM logsvc_internal.resource WHERE $left"), 'ours ours',
	'what only a removed member saw is gone, and nothing else');
is($t->sql("SELECT string_agg(action || ' ' || (details ->> 'private'), ', ' ORDER BY action, number) FROM logsvc_internal.audit_entry "
	. "WHERE $left AND action LIKE '%.deleted'"), 'dashboard.deleted true, dashboard.deleted true, '
	. 'saved_query.deleted true, saved_query.deleted true', 'which the audit log has, without their names');

$t->stop;
done_testing();
