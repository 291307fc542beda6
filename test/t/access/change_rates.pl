# Changes of what is managed: how often a credential and a user may try them, and how many one
# organization may have, over HTTP and in SQL.  Each is an audit entry, which no quota counts.

use strict;
use warnings;

use LogsvcTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Without alert workers, whose ticks would resolve the alert that is made below.
my $t = LogsvcTest->new(limits => 1, name => 'change_rates', conf => 'logsvc.alert_workers = 0');

sub set_rate
{
	my ($class, $n) = @_;
	$t->sql("UPDATE logsvc_internal.rate_limit SET per_minute = $n WHERE class = '$class'");
	return;
}

# ---- every route and function that changes something ----

my $routes = slurp_file('src/gateway/routes.def');
my @routes;
while ($routes
	=~ /^LS_ROUTE\((\w+),\s*"(\w+)",\s*"([^"]*)",\s*"([^"]*)",\s*"[^"]*",\s*"[^"]*",\s*"([^"]*)",\s*LS_POOL_(\w+),\s*"([\w.]*)"/mg)
{
	push @routes, { name => $1, method => $2, path => $3, credentials => $4, class => $5,
		pool => $6, handler => $7 };
}
is(scalar @routes, scalar(() = $routes =~ /^LS_ROUTE\(/mg), @routes . ' routes were read');
# Listeners of syslog have no requests to be counted.
is(join(' ', map { $_->{name} } grep { $_->{method} ne 'GET' && $_->{class} eq ''
	&& $_->{name} !~ /^(SYSLOG|GELF)$/ } @routes), '',
	'every route that writes has a rate class');
my %classes = map { $_ => 1 } split /\n/, $t->sql('SELECT class FROM logsvc_internal.rate_limit');
is(join(' ', grep { $_ ne '' && !$classes{$_} } map { $_->{class} } @routes), '',
	'every class has a limit');

# What a function calls, and what that calls, and so on.
my %body = map { my ($name, $source) = split /\|/, $_, 2; ($name => $source // '') } split /\n/,
  $t->sql(q{SELECT n.nspname || '.' || p.proname || '|' || string_agg(replace(replace(
	coalesce(nullif(p.prosrc, ''), pg_get_function_sqlbody(p.oid)), E'\n', ' '), '|', ' '), ' ')
	FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
	WHERE n.nspname IN ('logsvc', 'logsvc_internal') GROUP BY n.nspname, p.proname});
# A sentence of a message names functions and calls none.
s/'[A-Z][^']*\.'/''/g foreach values %body;
sub reaches
{
	my ($name, $re, $seen) = @_;
	return 0 if !exists $body{$name} || $seen->{$name}++;
	return 1 if $body{$name} =~ $re;
	return scalar grep { reaches($_, $re, $seen) } $body{$name} =~ /\b(logsvc(?:_internal)?\.\w+)/g;
}
# What tenants may call and what writes audit entries, but not what operators and superusers do.
my %handlers = map { $_->{handler} => 1 } grep { $_->{handler} ne ''
	&& $_->{credentials} ne '' } @routes;
# logsvc.help only names functions, in its texts.
my @changing = grep { ($handlers{$_} || /^logsvc\./) && $_ ne 'logsvc.help'
	&& reaches($_, qr/\blogsvc_internal\.audit\(/, {})
		&& $body{$_} !~ /PERFORM logsvc_internal\.require_(?:operator|superuser)\(\)/ }
	sort keys %body;
cmp_ok(scalar @changing, '>=', 24, @changing . ' functions of tenants write audit entries');
# The route of passwords has a class of its own, of five a minute.
is(join(' ', grep { $_ ne 'logsvc_internal.auth_change_password'
	&& !reaches($_, qr/\blogsvc_internal\.check_change_rate\(/, {}) } @changing), '',
	'each of them counts the change');

# ---- a credential ----

my $org = $t->organization('acme');
my $other = $t->organization('other');
my $next = $t->sql_json("SELECT logsvc.create_api_key('acme', 'next', 'full-access')")->{key};
my $session = $t->session($org->{email});
sub change { my ($token, %opt) = @_; return $t->http(PATCH => "/api/v1/organizations/$opt{of}{id}",
	token => $token, json => { name => $opt{name} }); }
sub left { my ($r) = @_; return join ' ', $r->{status},
	@{ $r->{headers} }{qw(x-ratelimit-limit x-ratelimit-remaining)}; }
set_rate('changes', 3);
is(left(change($org->{full_key}, of => $org, name => "acme $_")), '200 3 ' . (3 - $_),
	"change $_ of 3") foreach 1 .. 3;
my $r = $t->http(PUT => '/api/v1/ip-allowlist', token => $org->{full_key},
	json => { entries => [] });
is(left($r), '429 3 0', 'no fourth, by another route');
is($r->{json}{code}, 'RATE_LIMIT_EXCEEDED', 'as a rate limit');
like($r->{json}{error}, qr/: 3 changes a minute for this credential; .*\(class changes\)/,
	'which says of what');
like($r->{headers}{'retry-after'} // '', qr/^([1-9]|[1-5]\d|60)$/, 'and when to come again');
is($t->http(GET => "/api/v1/organizations/$org->{id}", token => $org->{full_key})->{status}, 200,
	'reading goes on');
is(left(change($next, of => $org, name => 'acme')), '200 3 2', 'another key has its own');
is(left(change($org->{token}, of => $org, name => 'acme 2')), '200 3 2', 'a token too');
is(left($t->http(PATCH => "/api/v1/organizations/$org->{id}", session => $session,
	organization => $org->{id}, json => { name => 'acme 3' })),
	'200 3 2', 'and a session');
is(left(change($org->{full_key}, of => $other, name => 'x')), '429 3 0',
	'a foreign organization is refused by the rate as well');
is($t->sql("SELECT count(*) FROM logsvc_internal.audit_entry WHERE action = "
	. "'organization.settings_updated'"), 6, 'what was refused is in no audit log');

# ---- in SQL ----

$t->sql('CREATE ROLE app LOGIN; GRANT logsvc_tenant TO app');
set_rate('changes', 5);
my $made = $t->sql_json("SELECT logsvc.create_token('other', "
	. "'$other->{email}', 't', ARRAY['org:write', 'logs:read'])")->{token};
my ($out, $state, $message) = $t->sql_error("SELECT logsvc.use_token('$made') IS NULL;"
	. "SELECT count(logsvc.update_organization(name => 'other ' || n)) FROM "
		. "generate_series(1, 5) AS n;"
	. "SELECT logsvc.update_organization(name => 'more')", user => 'app');
is($state, 'LS601', 'in SQL there are as many');
like($message,
	qr/^too many changes: 5 changes a minute for this credential; try again in (?:1 second|(?!1 )\d+ seconds)/, 'and the same words');
(undef, $state) = $t->sql_error("SELECT logsvc.use_token('$made') IS NULL; BEGIN; SAVEPOINT s; "
	. "SELECT logsvc.update_organization(name => 'more')", user => 'app');
is($state, 'LS601', 'another session has no more of it');
is(left(change($made, of => $other, name => 'more')), '429 5 0', 'nor a request with that token');
set_rate($_, 0) foreach qw(changes user_changes all_changes);
is($t->sql("SELECT logsvc.act_as('other') IS NULL; SELECT logsvc.update_organization(name => 'of "
	. "the operator') ->> 'name'"), "f\nof the operator",
	'operators have no limit');

# ---- what a user tries, with all credentials ----

sub rates { my (%rate) = (changes => 1_000_000, user_changes => 1_000_000, all_changes => 1_000_000,
	@_); set_rate($_, $rate{$_}) foreach keys %rate; return; }
sub json_change { my ($session, $in, $method, $path, $body) = @_;
	return $t->http($method => $path, session => $session, organization => $in->{id},
		json => $body); }
sub join_as { my ($in, $email, $role) = @_; $t->sql("SELECT logsvc.create_user('$email')")
	if !$t->sql("SELECT count(*) FROM logsvc_internal.user_account WHERE email = '$email'");
	$t->sql("SELECT logsvc.add_member('$in->{slug}', '$email', '$role')");
		return $t->session($email); }
my $team = $t->organization('team');
my $second = $t->sql_json("SELECT logsvc.create_organization('second', 'pro')");
$t->sql("SELECT logsvc.add_member('second', '$team->{email}', 'owner')");
my $owner = $t->session($team->{email});
my $own_token = $team->{token};
# A database role that can act as the user, which operators do not count.
sub as_token { my ($token, $statement) = @_;
	return $t->sql_error("SELECT logsvc.use_token('$token') IS NULL; $statement", user => 'app'); }

my @sessions = map { $_ == 1 ? join_as($team, 'eve@team.example', 'viewer')
	: $t->session('eve@team.example') } 1 .. 5;
rates(user_changes => 5);
is(json_change($_, $team, POST => '/api/v1/tokens',
	{ name => '', scopes => ['logs:read'] })->{status}, 400,
		'a viewer tries a change that is refused') foreach @sessions;
$r = json_change($sessions[0], $team, POST => '/api/v1/tokens',
	{ name => '', scopes => ['logs:read'] });
is($r->{status}, 429, 'five sessions of one user count together');
like($r->{json}{error}, qr/: 5 changes a minute for this user; .*\(class user_changes\)/,
	'which says of what');
is($r->{json}{details}[0]{path}, 'user_changes', 'for programs too');
like($r->{headers}{'retry-after'} // '', qr/^([1-9]|[1-5]\d|60)$/, 'and when to come again');
is(change($own_token, of => $team, name => 'team 1')->{status}, 200, 'the owner is not concerned');
is(json_change($owner, $second, PATCH => "/api/v1/organizations/$second->{id}",
	{ name => 'second 1' })->{status}, 200, 'one more by a session in another organization');
is(change($own_token, of => $team, name => "team $_")->{status}, 200, "and change $_")
	foreach 2 .. 4;
like(json_change($owner, $second, PATCH => "/api/v1/organizations/$second->{id}",
	{ name => 'second 2' })->{json}{error}, qr/class user_changes/,
	'all organizations of a user count together');
is($t->http(POST => '/api/v1/organizations', session => $owner,
	json => { name => 'fresh' })->{status}, 429, 'a new one makes no room');
is($t->sql("SELECT logsvc.act_as('team') IS NULL; SELECT logsvc.update_organization(name => 'team "
	. "2') ->> 'name'"), "f\nteam 2", 'operators have no limit');
# The keys that a user has made, and those that they have made, count together, but not for the
# user.
my $keeper = join_as($team, 'keeper@team.example', 'admin');
rates();
my $made_key = json_change($keeper, $team, POST => '/api/v1/api-keys',
	{ name => 'k', scope => 'full-access' })->{json}{data}{key};
my $child_key = $t->http(POST => '/api/v1/api-keys', token => $made_key,
	json => { name => 'k2', scope => 'full-access' })->{json}{data}{key};
rates(user_changes => 3); # one of them made the second key
is(change($made_key, of => $team, name => 'by a key')->{status}, 200, 'a key of an admin');
is(change($child_key, of => $team, name => 'by its key')->{status}, 200, 'the key that it made');
is(change($made_key, of => $team, name => 'again')->{status}, 429, 'count together');

# ---- what was changed in an organization ----

sub fresh { my ($name) = @_; my $made = $t->organization($name);
	$made->{session} = $t->session($made->{email}); return $made; }
sub rename_by { my ($session, $of, $name) = @_;
	return json_change($session, $of, PATCH => "/api/v1/organizations/$of->{id}",
		{ name => $name })->{status}; }
rates(all_changes => 8);
my $house = fresh('house');
my %of_house = map { $_ => join_as($house, "$_\@house.example", 'admin') } qw(a b c d);
is(join(' ', map { rename_by($of_house{a}, $house, "a $_") } 1 .. 3), '200 200 429',
	'one who is not an owner has a quarter');
$r = json_change($of_house{a}, $house, PATCH => "/api/v1/organizations/$house->{id}",
	{ name => 'a' });
like($r->{json}{error}, qr/: 2 changes a minute for this user or key; .*\(class all_changes\)/,
	'which says of what');
like($r->{headers}{'retry-after'} // '', qr/^([1-9]|[1-5]\d|60)$/, 'and when to come again');
is(join(' ', map { rename_by($of_house{b}, $house, "b $_") } 1 .. 3), '200 200 429',
	'another one too');
is(rename_by($house->{session}, $house, $_), 200, 'the owner changes something')
	foreach qw(same same);
is(join(' ', map { rename_by($of_house{c}, $house, "c $_") } 1 .. 2), '200 429',
	'all of them together have three quarters, of which the owner has used one, by one change');
is(join(' ', map { rename_by($house->{session}, $house, "o $_") } 1 .. 3), '200 200 429',
	'the last quarter is for owners');
like(json_change($house->{session}, $house, PATCH => "/api/v1/organizations/$house->{id}",
	{ name => 'o' })->{json}{error},
	qr/: 8 changes a minute for this organization; .*\(class all_changes\)/,
		'which is refused with the whole limit');
is($t->http(POST => '/api/v1/indexes', token => $house->{token},
	json => { name => 'web' })->{status}, 429, 'routes with a class of their own draw on it too');
is($t->http(POST => '/api/v1/organizations', session => $house->{session},
	json => { name => 'fresh' })->{status}, 201, 'a new organization does not');

# Whoever is left with an organization that others change.
my $victim = fresh('victim');
my $trap = fresh('trap');
my @trap_keys = map { json_change($trap->{session}, $trap, POST => '/api/v1/api-keys',
	{ name => "k$_", scope => 'full-access' })->{json}{data}{key} } 1 .. 2;
$t->sql("SELECT logsvc.add_member('trap', '$victim->{email}', 'owner'); SELECT "
	. "logsvc.set_member_role('trap', '$trap->{email}', 'admin')");
rates(all_changes => 8, user_changes => 12);
is(join(' ', map { change($trap_keys[ $_ % 2 ], of => $trap, name => "trap $_")->{status} } 1 ..
	12), '200 200' . ' 429' x 10, 'its keys use up what they have');
is(rename_by($victim->{session}, $victim, 'victim 1'), 200,
	'and its owner can change another organization');
is($t->sql("SELECT logsvc_internal.find_owner(logsvc_internal.parse_public_id('org_', "
	. "'$trap->{id}')) = id FROM logsvc_internal.user_account WHERE email = '$trap->{email}'"),
	't', 'which counts for the one who owned it first, where organizations of one owner '
		. 'count together');

# What was rolled back was not changed.
my $undone = $t->organization('undone');
rates(all_changes => 4);
my $set = sub { my ($n) = @_; return "SELECT logsvc.update_organization(name => '$n') IS NULL;"; };
is((as_token($undone->{token}, join '', map { 'BEGIN; ' . $set->("x$_") . 'ROLLBACK;' } 1 .. 6))[1],
	'', 'changes that are rolled back');
is((as_token($undone->{token}, 'BEGIN; '
	. join('', map { 'SAVEPOINT s; ' . $set->("y$_") . 'ROLLBACK TO s; RELEASE s;' } 1 .. 6)
		. 'COMMIT'))[1], '', 'also to a savepoint');
is((as_token($undone->{token}, 'BEGIN; SAVEPOINT a; ' . $set->('z1') . 'SAVEPOINT b; '
	. $set->('z2') . 'RELEASE b; ROLLBACK TO a; '
	. $set->('z3') . 'COMMIT;' . join '', map { $set->("z$_") } 4 .. 6))[1], '',
		'do not count, others do');
is((as_token($undone->{token}, $set->('z7')))[1], 'LS601', 'up to the limit');

# Whoever uses it up is thrown out all the same.
rates(user_changes => 0, all_changes => 0);
$session = $t->session($org->{email});
my ($key) = grep { $_->{name} eq 'next' } @{ $t->http(GET => '/api/v1/api-keys',
	token => $org->{token})->{json}{data} };
is($t->http(DELETE => "/api/v1/api-keys/$key->{id}", token => $org->{token})->{status}, 204,
	'a key can be revoked');
is(change($next, of => $org, name => 'x')->{status}, 401, 'and is');
$t->sql("SELECT logsvc.create_user('bob\@acme.example'); SELECT "
	. "logsvc.add_member('acme', 'bob\@acme.example', 'admin')");
my ($bob) = grep { $_->{email} eq 'bob@acme.example' } @{ $t->http(GET => '/api/v1/members',
	token => $org->{token})->{json}{data} };
is($t->http(DELETE => "/api/v1/members/$bob->{id}", token => $org->{token})->{status}, 204,
	'a member removed');

# ---- a large entry is as many changes as it has kilobytes ----

my @networks = map { { network => sprintf('2001:db8:1111:2222:3333:4444:5555:%x/128', 0x1000 + $_) }
	} 0 .. 98;
my %wide = (all_changes => $other, user_changes => $t->organization('wide'));
sub allow { my ($class, $n) = @_; return $t->http(PUT => '/api/v1/ip-allowlist',
	token => $wide{$class}{token},
	json => { entries => [ { network => '0.0.0.0/0' }, @networks[ 0 .. $n ] ] })->{status}; }
my $sizes = 'SELECT octet_length(details::text) / 1024 FROM logsvc_internal.audit_entry ORDER BY '
	. 'id DESC LIMIT 1';
foreach my $class (qw(all_changes user_changes))
{
	rates($class => 60);
	is(allow($class, 98), 200, "$class: a long list of networks");
	cmp_ok($t->sql($sizes), '>=', 3, 'is an entry of some kilobytes');
	my $changes = 1;
	$changes++ while $changes < 60 && allow($class, 98 - $changes) == 200;
	cmp_ok($changes, '<', 20, "after $changes of them the sixty are used up");
}

# ---- each of them ----

$t->sql("SELECT logsvc.create_user('eve\@acme.example'); SELECT "
	. "logsvc.add_member('acme', 'eve\@acme.example', 'viewer')");
my ($eve) = grep { $_->{email} eq 'eve@acme.example' } @{ $t->http(GET => '/api/v1/members',
	token => $org->{token})->{json}{data} };
$t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT logsvc.create_index('web') IS NULL; "
	. "SELECT logsvc.set_lookup('kept', E'a\\n1') IS NULL");
my $invited = $t->sql_json("SELECT logsvc.invite('acme', 'ida\@acme.example', 'viewer')")->{id};
my $read_key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'k', 'read-only')")->{id};
my $token_id = $t->sql_json("SELECT logsvc.create_token('acme', "
	. "'$org->{email}', 'x', '{logs:read}')")->{id};
my ($saved) = $t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT "
	. q{logsvc.create_saved_query('{"name": "kept", "q": "x", "visibility": "org"}') ->> 'id'})
  =~ /(\w+)\z/;
my $service = $t->http(POST => '/api/v1/services', token => $org->{token},
	json => { name => 'web', match => 'service=web' })->{json}{data}{id};
my %kpi = (name => 'x', serviceId => $service, q => 'x | stats count', direction => 'lowerIsBetter', warn => 1,
	critical => 2);
my $kpi = $t->http(POST => '/api/v1/kpis', token => $org->{token}, json => \%kpi)->{json}{data}{id};
my $unused = $t->http(POST => '/api/v1/services', token => $org->{token},
	json => { name => 'unused', match => 'service=unused' })->{json}{data}{id};
my ($rule) = $t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT "
	. q{logsvc.create_alert_rule('{"name": "kept", "query": "x", "condition": {"kind": "absence"}}') ->> 'id'})
  =~ /(\w+)\z/;
my ($alert) = $t->sql(q{
	INSERT INTO logsvc_internal.alert (organization_id, rule_id, rule_name, severity, key, group_key, search, started_at, last_seen_at)
	SELECT organization_id, id, name, 'info', '', '{}', '{}', now(), now() FROM logsvc_internal.resource WHERE kind = 'alert_rule'
	RETURNING logsvc_internal.public_id('alr_', id)}) =~ /(alr_\w+)/;
my ($dashboard) = $t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT "
	. q{logsvc.create_dashboard('{"name": "kept"}') ->> 'id'}) =~ /(\w+)\z/;
my ($exported) = $t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT "
	. q{logsvc.create_scheduled_export('{"name": "kept", "q": "x", "cron": "@yearly", "delivery": {"kind": "download"}}') ->> 'id'})
  =~ /(\w+)\z/;
my ($pipeline) = $t->sql("SELECT logsvc.act_as('acme') IS NULL; SELECT "
	. q{logsvc.create_pipeline('{"name": "kept", "processors": []}') ->> 'id'}) =~ /(\w+)\z/;
# Name, arguments in SQL, does it only take away?
my @in_sql = (
	[ 'create_api_key', "'acme', 'k', 'read-only'" ], [ 'create_index', "'x'" ],
		[ 'delete_index', "'web'" ], [ 'update_index', "'web', description => 'x'" ],
	[ 'delete_logs', "'index=_test earliest=-1h', 'x'" ],
		[ 'discard_dead_letters', "'x', filter => '{}'" ],
			[ 'replay_dead_letters', "filter => '{}'" ],
	[ 'invite', "'acme', 'z\@x.example', 'viewer'" ], [ 'resend_invitation', "'$invited'" ],
		[ 'revoke_invitation', "'$invited'", 1 ],
	[ 'create_saved_query', q{'{"name": "more", "q": "x"}'} ],
	[ 'update_saved_query', qq{'$saved', '{"name": "another"}'} ], [ 'delete_saved_query', "'$saved'" ],
	[ 'create_service', q{'{"name": "more", "match": "x"}'} ],
	[ 'update_service', qq{'$service', '{"name": "another"}'} ], [ 'delete_service', "'$unused'" ],
	[ 'create_kpi', "'" . json_encode(\%kpi) . "'" ], [ 'update_kpi', qq{'$kpi', '{"name": "another"}'} ],
		[ 'delete_kpi', "'$kpi'" ],
	[ 'create_alert_rule', q{'{"name": "more", "query": "x", "condition": {"kind": "absence"}}'} ],
	[ 'update_alert_rule', qq{'$rule', '{"name": "another"}'} ], [ 'delete_alert_rule', "'$rule'" ],
	[ 'test_alert_rule_channels', "'$rule'" ], [ 'disable_alert_rule', "'$rule'" ], [ 'enable_alert_rule', "'$rule'" ],
	[ 'acknowledge_alert', "'$alert'" ], [ 'resolve_alert', "'$alert'" ],
	[ 'create_dashboard', q{'{"name": "more"}'} ], [ 'import_dashboard', q{'{"format": "logsvc.dashboard.1", "name": "x"}'} ],
	[ 'create_dashboard_from_template', "'usage'" ],
	[ 'update_dashboard', qq{'$dashboard', '{"name": "another"}'} ], [ 'share_dashboard', "'$dashboard', 'org'" ],
	[ 'delete_dashboard', "'$dashboard'" ],
	[ 'create_scheduled_export',
		q{'{"name": "more", "q": "x", "cron": "@yearly", "delivery": {"kind": "download"}}'} ],
	[ 'update_scheduled_export', qq{'$exported', '{"name": "another"}'} ],
		[ 'run_scheduled_export', "'$exported'" ], [ 'delete_scheduled_export', "'$exported'" ],
	[ 'create_pipeline', q{'{"name": "more", "processors": []}'} ],
	[ 'update_pipeline', qq{'$pipeline', '{"name": "another"}'} ], [ 'delete_pipeline', "'$pipeline'" ],
	[ 'reorder_pipelines', "ARRAY['$pipeline']" ],
	[ 'set_lookup', q{'x', E'a\n1'} ], [ 'delete_lookup', "'kept'" ],
	[ 'set_ip_allowlist', q{'[{"network": "0.0.0.0/0"}, {"network": "::/0"}]'} ],
		[ 'set_member_role', "'acme', 'eve\@acme.example', 'member'" ],
			[ 'update_member', "'$eve->{id}', 'member'" ],
		[ 'update_member', "'$eve->{id}', ai_credit_limit => 5" ],
	[ 'remove_member', "'acme', 'eve\@acme.example'", 1 ], [ 'delete_member', "'$eve->{id}'", 1 ],
		[ 'revoke_api_key', "'$read_key'", 1 ],
	[ 'revoke_token', "'$token_id'", 1 ], [ 'update_organization', "name => 'x'" ]);
# There are no dead letters, the rule is enabled, and one pipeline is in order.
my %changes_nothing = map { $_ => 1 } qw(discard_dead_letters replay_dead_letters
	enable_alert_rule reorder_pipelines);
foreach my $call (@in_sql)
{
	my ($name, $arguments, $takes_away) = @$call;
	my $statement = "SELECT logsvc.use_token('$org->{token}') IS NULL; BEGIN; SELECT "
		. "logsvc.$name($arguments) IS NULL; ROLLBACK";
	rates(changes => 0);
	is(($t->sql_error($statement, user => 'app'))[1], 'LS601', "$name counts by the credential");
	rates(user_changes => 0);
	is(($t->sql_error($statement, user => 'app'))[1], $takes_away ? '' : 'LS601', $takes_away
		? "$name may be done all the same" : "$name counts by the user");
	rates(all_changes => 0);
	my $state = ($t->sql_error($statement, user => 'app'))[1];
	is($state, $takes_away || $changes_nothing{$name} ? '' : 'LS601', $state eq ''
		? "$name of nothing does not count in the organization"
			: "$name counts in the organization");
}
# What only people do, by sessions; the arguments are good ones, or of a kind that is looked at
# later.
my @by_people = (
	[ 'create_own_organization', POST => '/api/v1/organizations', { name => 'x' } ],
		[ 'create_own_token', POST => '/api/v1/tokens', { name => 'x', scopes => ['logs:read'] } ],
		[ 'update_token', PATCH => "/api/v1/tokens/$token_id", { aiCreditLimit => 1 } ],
	[ 'delete_organization', DELETE => "/api/v1/organizations/$org->{id}", { confirm => 'x' } ],
		[ 'accept_invitation', POST => '/api/v1/invitations/accept', { token => 'x' } ],
	[ 'set_plan_json', POST => '/api/v1/billing/plan', { plan => 'pro' } ]);
foreach my $call (@by_people)
{
	my ($name, $method, $path, $body) = @$call;
	rates(changes => 0);
	my @request = ($method => $path, session => $session, organization => $org->{id},
		json => $body);
	like($t->http(@request)->{json}{error}, qr/\(class changes\)/,
		"$name counts by the credential");
	rates(user_changes => 0);
	like($t->http(@request)->{json}{error}, qr/\(class user_changes\)/,
		"$name counts by the user");
}
# create_token and set_plan are what create_own_token and set_plan_json call.
my %tried = map { $_ => 1 } qw(create_token set_plan auth_change_password),
	map { $_->[0] } @in_sql, @by_people;
is(join(' ', grep { my ($name) = /\.(\w+)$/; !$tried{$name} } @changing), '', 'none was forgotten');

$t->stop;
done_testing;
