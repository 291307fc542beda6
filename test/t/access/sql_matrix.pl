# Every table, view and function of both schemas with every kind of credential, from SQL
# as a database user with logsvc_tenant: what is read and done must be what the tables
# below say.  They are compared with the catalogue, so a new function or view without a
# line fails; and they are not read from permissions.def, or a wrong line there would
# make itself right.
use strict;
use warnings;

use LogsvcTest;
use Test::More;

# Without alert workers, whose ticks would resolve the alert that is made below.
my $t = LogsvcTest->new(conf => "logsvc.model_region = 'eu-central-1'\nlogsvc.alert_workers = 0");
$t->sql('UPDATE logsvc_internal.rate_limit SET per_minute = 1000000');
my $org = $t->organization('acme');
my $other = $t->organization('other');
$t->sql('CREATE ROLE app LOGIN; GRANT logsvc_tenant TO app');

# ---- what must come out ----

# Who may call a function of schema logsvc, as its route says (route_matrix.pl):
#	roles	O owner, A admin, M member, V viewer: what a token's user must be
#	keys	I ingest-only, R read-only, F full-access, t test keys of these too; - none
#	scope	of a token; * any; several with a comma: all of them, which is what it hands on
# open: with no credential too; operator, person: not by any token or key
my %who;
foreach (split /\n/, <<'TABLE')
accept_invitation	person
acknowledge_alert	OAM F alerts:write
act_as	operator
add_member	operator
add_node	operator
after_restore	operator
adjust_ai_credits	operator
announce_maintenance	operator
approve_plan_request	operator
assert_verdict	OAM - evaluations:run
audit_head	OA - audit:read
audit_log	OA - audit:read
bind_role	operator
backtest_alert_rule	OAM F alerts:write,logs:read
cancel_maintenance	operator
create_alert_rule	OAM F alerts:write
create_api_key	OA F keys:write,logs:read
create_dashboard	OAM F dashboards:write
create_index	OA F org:write
create_kpi	OAM F dashboards:write
create_organization	operator
create_own_organization	person
create_own_token	person
create_dashboard_from_template	OAM F dashboards:write,logs:read
create_pipeline	OAM F pipelines:write
create_saved_query	OAM F dashboards:write
create_scheduled_export	OA F logs:export,logs:read
create_service	OAM F dashboards:write
create_token	person
create_user	operator
dashboard_data	OAMV F dashboards:read,logs:read
decline_plan_request	operator
delete_alert_rule	OA F alerts:write
delete_dashboard	OA F dashboards:write
delete_index	OA F org:write
delete_kpi	OA F dashboards:write
delete_logs	OA Ft logs:export,logs:read
delete_lookup	OAM F pipelines:write
delete_member	OA F members:write
delete_organization	person
delete_pipeline	OAM F pipelines:write
delete_saved_query	OA F dashboards:write
delete_scheduled_export	OA F logs:export,logs:read
delete_service	OA F dashboards:write
delete_user	operator
disable_alert_rule	OAM F alerts:write
discard_dead_letters	OA F logs:export
distribute	operator
enable_alert_rule	OAM F alerts:write
end_sessions	operator
evaluate	OAM - evaluations:run
events	OAMV RFt logs:read
explain_query	OAMV RFt logs:read
export_dashboard	OAMV F dashboards:read
export_organization	operator
follow	operator
get_alert	OAMV RF logs:read
get_alert_rule	OAMV F logs:read
get_billing	person
get_dashboard	OAMV F dashboards:read
get_dead_letter	OAM F pipelines:write
get_deletion	OA Ft logs:export
get_index	OAMV RFt logs:read
get_ip_allowlist	OA F org:write
get_kpi	OAMV RF dashboards:read
get_log	OAMV RFt logs:read
get_log_context	OAMV RFt logs:read
get_lookup	OAMV F pipelines:read
get_member	OAMV F members:read
get_organization	OAMV F *
get_pipeline	OAMV F pipelines:read
get_saved_query	OAMV RF dashboards:read
get_scheduled_export	OA F logs:export,logs:read
get_service	OAMV RF dashboards:read
get_service_health	OAMV RF dashboards:read
get_template	OAMV RFt logs:read
help	open
import_dashboard	OAM F dashboards:write
import_organization	operator
ingest	OAM IFt logs:write
invite	OA F members:write,members:read,logs:read,dashboards:read,pipelines:read
kpi_series	OAMV RF dashboards:read
list_alert_rule_deliveries	OAMV F logs:read
list_alert_rules	OAMV F logs:read
list_alerts	OAMV RF logs:read
list_api_keys	OA F keys:write
list_dashboards	OAMV F dashboards:read
list_dead_letters	OAM F pipelines:write
list_deletions	OA Ft logs:export
list_export_runs	OA F logs:export,logs:read
list_indexes	OAMV RFt logs:read
list_invitations	OA F members:read
list_kpis	OAMV RF dashboards:read
list_lookups	OAMV F pipelines:read
list_members	OAMV F members:read
list_organizations	OAMV - *
list_pipelines	OAMV F pipelines:read
list_saved_queries	OAMV RF dashboards:read
list_scheduled_exports	OA F logs:export,logs:read
list_services	OAMV RF dashboards:read
list_templates	OAMV RFt logs:read
list_tokens	person
log	OAM IFt logs:write
logs	OAMV RFt logs:read
mail_link	operator
node_status	operator
pattern_of	open
patterns	open
query_logs	OAMV RFt logs:read
remove_member	OA F members:write
remove_node	operator
reorder_pipelines	OAM F pipelines:write
replay_dead_letters	OAM F pipelines:write
resend_invitation	OA F members:write,members:read,logs:read,dashboards:read,pipelines:read
resolve_alert	OAM F alerts:write
restore_organization	operator
retry_mail	operator
revoke_api_key	OA F keys:write
revoke_invitation	OA F members:write
revoke_token	OA - members:write
roles	OAMV F members:read
run_adhoc	OAM - evaluations:run
run_scheduled_export	OA F logs:export,logs:read
search	OAMV RFt logs:read
search_field_values	OAMV RFt logs:read
search_fields	OAMV RFt logs:read
search_rows	OAMV RFt logs:read
role_bindings	operator
share_accounts	operator
set_ip_allowlist	OA F org:write
set_limit	operator
set_lookup	OAM F pipelines:write
set_organization_state	operator
set_member_role	OA F members:write,members:read,logs:read,dashboards:read,pipelines:read
set_password	operator
set_plan	person
setup	operator
doctor	operator
share_dashboard	OAM F dashboards:write
test_alert_rule	OAM F alerts:write,logs:read
test_alert_rule_channels	OAM F alerts:write
test_pipeline	OAM F pipelines:write
unbind_role	operator
undistribute	operator
unfollow	operator
unshare_accounts	operator
update_alert_rule	OAM F alerts:write
update_dashboard	OAM F dashboards:write
update_index	OA F org:write
update_kpi	OAM F dashboards:write
update_token	person
update_member	OA F members:write,members:read,logs:read,dashboards:read,pipelines:read
update_organization	OA F org:write
update_pipeline	OAM F pipelines:write
update_saved_query	OAM F dashboards:write
update_scheduled_export	OA F logs:export,logs:read
update_service	OAM F dashboards:write
usage	OAMV RF logs:read
usage_history	OAMV RF logs:read
use_token	open
validate_query	OAMV RFt logs:read
verify_audit	OA - audit:read
verify_parts	operator
verify_user	operator
whoami	open
TABLE
{
	my ($name, $roles, $keys, $scopes) = split ' ';
	$who{$name} = defined $scopes ? { roles => $roles, keys => $keys, scopes => $scopes }
		: { kind => $roles };
}
# Views that are for operators; logs is above.
my %operators = map { $_ => 1 } qw(dead_letters metrics operator_log
	organization_stream outbox parts plan_requests);

# ---- what there is ----

my @functions = split /\n/, $t->sql(q{SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = }
	. q{'logsvc'::regnamespace ORDER BY 1});
my @views = split /\n/, $t->sql(q{SELECT relname FROM pg_class WHERE relnamespace = }
	. q{'logsvc'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1});
my %there = map { $_ => 1 } @functions, @views;
is(join(' ', grep { !$who{$_} && !$operators{$_} } sort keys %there), '',
	'every function and view has a line in the table of this test');
is(join(' ', grep { !$there{$_} } sort keys %who, keys %operators), '', 'and every line has one');
is($t->sql(q{SELECT string_agg(relname, ' ') FROM pg_class WHERE relnamespace = }
	. q{'logsvc'::regnamespace AND relkind IN ('r', 'p', 'm', 'f', 'S')}), '',
	'the API has no tables');

# ---- the credentials ----

my @scopes = $t->scopes;
my %letter = (owner => 'O', admin => 'A', member => 'M', viewer => 'V');
my %email = (owner => $org->{email});
foreach my $role (qw(admin member viewer))
{
	$email{$role} = "$role\@acme.org";
	$t->sql("SELECT logsvc.create_user('$email{$role}'); SELECT "
		. "logsvc.add_member('acme', '$email{$role}', '$role')");
}
my @principals = ({ name => 'no credential', kind => 'none' });
sub token
{
	my ($email, @scopes) = @_;
	my $list = join ',', map { "'$_'" } @scopes;
	return $t->sql_json("SELECT logsvc.create_token('acme', '$email', 't', ARRAY[$list]::text[])");
}
foreach my $role (sort keys %email)
{
	# What a role does not permit has no token; the row may be there all the same, from better days.
	my @sets = ([@scopes], (map { [$_] } @scopes), []);
	my $all = token($email{$role}, @{ $sets[0] }) if $role eq 'owner';
	foreach my $set (@sets)
	{
		my $made = token($email{$role}, 'logs:read');
		my $list = join ',', @$set;
		$t->sql("UPDATE logsvc_internal.access_token SET scopes = '{$list}' WHERE token_hash = "
			. "sha256('$made->{token}')");
		push @principals, { name => "token of $role with " . (@$set == @scopes ? 'all' : $list
			|| 'no') . ' scopes', kind => 'token', role => $role,
			scopes => $set, token => $made->{token} };
	}
}
foreach my $kind (qw(live test))
{
	push @principals, map { { name => "$kind $_ key", kind => 'key', letter => uc substr($_, 0, 1),
		test => $kind eq 'test',
		token => $t->sql_json("SELECT logsvc.create_api_key('acme', "
			. "'$kind $_', '$_', '$kind')")->{key} } } qw(ingest-only read-only full-access);
}
# A database role that is bound to the organization may do what a read-only key may.
$t->sql("CREATE ROLE bound LOGIN; GRANT logsvc_tenant TO bound; SELECT logsvc.bind_role('bound', 'acme')");
push @principals, { name => 'a bound role', kind => 'key', letter => 'R', test => '', user => 'bound' };
my $dead = token($email{owner}, @scopes);
$t->sql("SELECT logsvc.revoke_token('$dead->{id}')");

sub allowed
{
	my ($w, $p) = @_;
	return 1 if ($w->{kind} // '') eq 'open';
	return 0 if $w->{kind} || $p->{kind} eq 'none';
	return index($w->{keys}, $p->{letter}) >= 0 && (!$p->{test} || $w->{keys} =~ /t/)
		if $p->{kind} eq 'key';
	return 0 if index($w->{roles}, $letter{ $p->{role} }) < 0;
	my %has = map { $_ => 1 } @{ $p->{scopes} };
	return $w->{scopes} eq '*' || !grep { !$has{$_} } split /,/, $w->{scopes};
}

# ---- arguments with which somebody who may would succeed; all is rolled back ----

$t->sql("SELECT logsvc.create_user('target\@acme.org'); SELECT "
	. "logsvc.add_member('acme', 'target\@acme.org', 'viewer')");
my $target = token('target@acme.org', 'logs:read')->{id};
my ($member) = map { $_->{id} } grep { $_->{email} eq 'target@acme.org' }
	@{ $t->http(GET => '/api/v1/members', token => $org->{token})->{json}{data} };
my $invitation = $t->http(POST => '/api/v1/invitations', token => $org->{token},
	json => { email => 'invited@example.org', role => 'viewer' })->{json}{data}{id};
my $key = $t->sql_json("SELECT logsvc.create_api_key('acme', 'k', 'read-only')")->{id};
$t->http(POST => '/api/v1/indexes', token => $org->{token}, json => { name => 'web' });
$t->http(PUT => '/api/v1/lookups/kept', token => $org->{token}, json => { csv => "a\n1" });
my $event = $t->http(POST => '/api/v1/logs', token => $org->{token},
	json => { event => 'hello', index => 'web' })->{json}{data}{id};
$t->http(POST => '/api/v1/logs', token => $other->{token}, json => { event => 'foreign' });
my $deletion = $t->http(DELETE => '/api/v1/logs', token => $org->{token},
	json => { q => 'index=_test earliest=-1h', reason => 'x' })->{json}{data}{runId};
my $letter = $t->sql(q{
	INSERT INTO logsvc_internal.dead_letter (organization_id, batch, rows, min_time, max_time, level_mask, audit,
		reason, attempts, first_failed_at, last_failed_at, sqlstate, last_error, header, body)
	SELECT id, 1, 1, now(), now(), 0, false, 'corrupt', 1, now(), now(), 'LS803', 'x', '', ''
	FROM logsvc_internal.organization WHERE slug = 'acme'
	RETURNING logsvc_internal.public_id('dl_', id)});
($letter) = $letter =~ /(dl_\w+)/;
my $dashboard = $t->http(POST => '/api/v1/dashboards', token => $org->{token},
	json => { name => 'x' })->{json}{data}{id};
# Of the owner: another member may not delete it.
my $saved = $t->http(POST => '/api/v1/saved-queries', token => $org->{token},
	json => { name => 'errors', q => 'level=error' })->{json}{data}{id};
my $service = $t->http(POST => '/api/v1/services', token => $org->{token},
	json => { name => 'web', match => 'service=web' })->{json}{data}{id};
my %kpi = (name => 'x', serviceId => $service, q => 'service=web | stats count', direction => 'lowerIsBetter',
	warn => 1, critical => 2);
my $kpi = $t->http(POST => '/api/v1/kpis', token => $org->{token}, json => \%kpi)->{json}{data}{id};
my $unused = $t->http(POST => '/api/v1/services', token => $org->{token},
	json => { name => 'unused', match => 'service=unused' })->{json}{data}{id};
my $rule = $t->http(POST => '/api/v1/alert-rules', token => $org->{token}, json => { name => 'errors', query => '*',
	condition => { kind => 'count', op => '>', threshold => 5 } })->{json}{data}{id};
my ($alert) = $t->sql(q{
	INSERT INTO logsvc_internal.alert (organization_id, rule_id, rule_name, severity, key, group_key, search, started_at, last_seen_at)
	SELECT organization_id, id, name, 'info', '', '{}', '{}', now(), now() FROM logsvc_internal.resource WHERE kind = 'alert_rule'
	RETURNING logsvc_internal.public_id('alr_', id)}) =~ /(alr_\w+)/;
my $exported = $t->http(POST => '/api/v1/scheduled-exports', token => $org->{token},
	json => { name => 'errors', q => '*', cron => '@yearly', delivery => { kind => 'download' } })->{json}{data}{id};
my $pipeline = $t->http(POST => '/api/v1/pipelines', token => $org->{token},
	json => { name => 'kept', processors => [] })->{json}{data}{id};
my %arguments = (
	announce_maintenance => "now() + interval '3 days', now() + interval '4 days', 'x'",
		cancel_maintenance => "'mnt_00000000000000000000000000'",
	create_service => q{'{"name": "x", "match": "x"}'}, delete_service => "'$unused'",
		get_service => "'$service'", get_service_health => "'$service', '1h'",
		update_service => qq{'$service', '{"name": "y"}'},
	create_kpi => "'" . json_encode(\%kpi) . "'", delete_kpi => "'$kpi'", get_kpi => "'$kpi'",
		kpi_series => "'$kpi'", update_kpi => qq{'$kpi', '{"name": "y"}'},
	bind_role => "'app', 'other'", unbind_role => "'bound'",
	follow => "1, 'host=x'", remove_node => '1',
	accept_invitation => "'x'", act_as => "'other'", add_member => "'acme', 'x\@x.org', 'owner'",
		adjust_ai_credits => "'acme', 1, 'x'",
	approve_plan_request => "'acme', 'pro'", decline_plan_request => "'acme', 'x'",
		mail_link => "'00000000-0000-0000-0000-000000000000'",
	after_restore => "kinds => '{}'", export_organization => "'acme'", set_organization_state => "'acme', 'read_only'",
	assert_verdict => "'{ok}', 'x', '{\"a\": \"ok\"}', '{passed,failed,not_found,skipped}'",
		create_api_key => "'acme', 'k', 'read-only'", create_index => "'x'",
	setup => "'x', 'x\@example.org'", create_organization => "'x'", create_own_organization => "'x'",
		create_own_token => "'x', '{logs:read}'",
	create_token => "'acme', '$email{owner}', 'x', '{logs:read}'", create_user => "'y\@x.org'",
		delete_index => "'web'", delete_lookup => "'kept'", get_lookup => "'kept'",
		set_lookup => "'x', E'a\\n1'",
	delete_logs => "'index=_test earliest=-1h', 'x', true", delete_member => "'$member'",
		delete_organization => "'acme', 'acme'", delete_user => "'$email{viewer}'",
	discard_dead_letters => "'x', filter => '{}'", end_sessions => "'$email{owner}'",
		evaluate => "'{ok}', 'x', '{\"a\": \"ok\"}'", events => "'*', 1",
	explain_query => "'*'", get_dead_letter => "'$letter'", get_deletion => "'$deletion'",
		get_index => "'_test'", get_log => "'$event'", get_log_context => "'$event'",
	get_member => "'$member'", get_organization => "'acme'", get_template => "'x'",
		ingest => "'[{\"event\": \"x\"}]'", invite => "'acme', 'z\@x.org', 'viewer'",
	log => "'x'", pattern_of => "'{x}'", patterns => "'{x}'",
		remove_member => "'acme', 'target\@acme.org'", replay_dead_letters => "filter => '{}'",
	resend_invitation => "'$invitation'", restore_organization => "'$org->{id}'",
		retry_mail => "'00000000-0000-0000-0000-000000000000'", revoke_api_key => "'$key'",
	revoke_invitation => "'$invitation'", revoke_token => "'$target'",
		run_adhoc => "rows => '{ok}', criteria => 'x', expected_items => '[{\"id\": \"a\", \"description\": \"ok\"}]'",
	search => "'*'", search_rows => q('[{"event": "x"}]'), search_field_values => "'level'", set_ip_allowlist => "'[]'",
		set_limit => "'acme', 'kpis', 1", set_member_role => "'acme', 'target\@acme.org', 'viewer'",
	set_password => "'$email{owner}', 'x'", set_plan => "'acme', 'free'",
		update_index => "'web', description => 'x'", update_member => "'$member', 'viewer'",
		update_token => "'$target', 1",
	update_organization => "'acme', 'x'", use_token => 'NULL', validate_query => "'*'",
		verify_user => "'$email{owner}'",
	create_dashboard_from_template => "'usage'", create_dashboard => q{'{"name": "x"}'}, import_dashboard => q{'{"format": "logsvc.dashboard.1", "name": "x"}'},
		map({ $_ => "'$dashboard'" } qw(get_dashboard delete_dashboard dashboard_data export_dashboard)),
		update_dashboard => qq{'$dashboard', '{"name": "y"}'}, share_dashboard => "'$dashboard', 'org'",
	create_scheduled_export => q{'{"name": "x", "q": "*", "cron": "@yearly", "delivery": {"kind": "download"}}'},
		update_scheduled_export => qq{'$exported', '{"name": "y"}'},
		map({ $_ => "'$exported'" } qw(delete_scheduled_export get_scheduled_export list_export_runs
			run_scheduled_export)),
	create_pipeline => q{'{"name": "x", "processors": []}'}, delete_pipeline => "'$pipeline'",
		get_pipeline => "'$pipeline'", reorder_pipelines => "ARRAY['$pipeline']",
		test_pipeline => q{'{"events": ["x"]}'}, update_pipeline => qq{'$pipeline', '{"name": "y"}'},
	create_saved_query => q{'{"name": "x", "q": "*"}'}, delete_saved_query => "'$saved'",
		get_saved_query => "'$saved'", update_saved_query => qq{'$saved', '{"name": "y"}'},
	create_alert_rule => q{'{"name": "x", "query": "*", "condition": {"kind": "absence"}}'},
		update_alert_rule => qq{'$rule', '{"name": "y"}'},
		list_alert_rule_deliveries => "'$rule'", test_alert_rule_channels => "'$rule'",
		map({ ("${_}_alert_rule" => "'$rule'") } qw(get delete enable disable backtest)),
		test_alert_rule => q('{"query": "*", "condition": {"kind": "absence"}}', '[{"name": "x", "rows": [], "expect": {"firing": true}}]'),
		map({ ("${_}_alert" => "'$alert'") } qw(get acknowledge resolve)));

my %calls = map { ("logsvc.$_" => "SELECT count(r::text) FROM logsvc.$_(" . ($arguments{$_} // '')
	. ') AS r') } grep { $_ ne 'logs' } @functions;
$calls{'logsvc.run_adhoc with a body'} =
	q{SELECT logsvc.run_adhoc('{"rows": ["ok"], "criteria": "x", "expectedItems": [{"id": "a", "description": "ok"}]}')};
$calls{'logsvc.run_adhoc with a query'} =
	q{SELECT logsvc.run_adhoc(query => '*', criteria => 'x', expected_items => }
		. q{'[{"id": "a", "description": "ok"}]', preview => true)};
$calls{"logsvc.$_"} = "SELECT count(r::text) FROM logsvc.$_ r" foreach @views;
# Whatever has a name in the other schema.
$calls{$_} = "SELECT count(*) FROM $_" foreach split /\n/,
	$t->sql(q{SELECT oid::regclass FROM pg_class WHERE relnamespace = }
		. q{'logsvc_internal'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f', }
			. q{'S') ORDER BY 1});
my @hidden = split /\n/,
	$t->sql(q{SELECT format('%s(%s)', p.oid::regproc, (SELECT string_agg('NULL::' || format_type(a, NULL), ', ' ORDER BY n) FROM unnest(proargtypes) WITH ORDINALITY AS u (a, n)))
	FROM pg_proc p WHERE pronamespace = 'logsvc_internal'::regnamespace AND prokind IN ('f', 'a') AND NOT 'internal'::regtype::oid = ANY (proargtypes::oid[])
	AND prorettype NOT IN ('trigger'::regtype, 'internal'::regtype, 'fdw_handler'::regtype)});
cmp_ok(@hidden, '>', 100, @hidden . ' functions of logsvc_internal');

# ---- all of them ----

my $quote = sub { my $s = shift; $s =~ s/'/''/g; return "'$s'" };
my ($tried, $good) = (0, 0);
my @wrong;
foreach my $p (@principals)
{
	# The functions without a name for tenants are refused by the schema, whoever it is: one asks
	# for all.
	my %all = (%calls, $p->{name} =~ /^(?:token of owner with all scopes|a bound role)$/
		? map { ($_ => "SELECT $_") } @hidden : ());
	my $list = join ', ', map { '(' . $quote->($_) . ', ' . $quote->($all{$_}) . ')' }
		sort keys %all;
	my $use = $p->{kind} eq 'none' || $p->{user} ? '' :
		"SELECT FROM (SELECT logsvc.use_token('$p->{token}')) AS u;";
	my $result = $t->sql(qq{
		SET client_min_messages = error;
		CREATE TEMP TABLE call AS SELECT * FROM (VALUES $list) AS v (name, statement);
		$use
		DO \$\$
		DECLARE
			c record;
			result text := '';
		BEGIN
			FOR c IN SELECT * FROM pg_temp.call LOOP
				BEGIN
					EXECUTE c.statement;
					RAISE EXCEPTION 'done' USING ERRCODE = 'XX999';
				EXCEPTION WHEN OTHERS THEN
					result := result || '\@' || SQLSTATE || ' ' || c.name || E'\\n';
				END;
			END LOOP;
			PERFORM set_config('test.result', result, false);
		END
		\$\$;
		SELECT current_setting('test.result')}, user => $p->{user} // 'app');
	my %state = map { /^@(\w{5}) (.*)$/ ? ($2 => $1) : () } split /\n/, $result;
	foreach my $name (sort keys %all)
	{
		my $state = $state{$name} // 'nothing';
		my ($plain) = $name =~ /^logsvc\.(\w+)/;
		my $ok;

		$tried++;
		if (!defined $plain || $operators{$plain})
		{
			$ok = $state eq '42501';
		}
		else
		{
			my $w = $who{$plain};
			my $may = allowed($w, $p);
			# A query takes rows, so it needs logs:read too.
			$may &&= allowed($who{search}, $p) if $name =~ /with a query/;
			# What may be done is done, or fails for another reason than whose credential it is.
			$ok = $may ? $state =~ /^(XX999|LS301)$/ : $p->{kind} eq 'none'
				? $state =~ /^(LS802|LS301|LS101|LS201|LS202)$/ : $state =~ /^LS20[12]$/;
			$good++ if $may && $ok;
		}
		push @wrong, "$name by $p->{name}: $state" if !$ok;
	}
}
is(scalar(@wrong), 0, "$tried calls by " . @principals . " credentials, of which $good are good")
	or diag join "\n", @wrong[ 0 .. ($#wrong < 60 ? $#wrong : 60) ];
cmp_ok($good, '>', 500, 'many are');

# ---- what a key that only ingests finds out ----

my ($ingest) = map { $_->{token} } grep { $_->{name} eq 'live ingest-only key' } @principals;
my $whoami = $t->sql_json("SELECT FROM (SELECT logsvc.use_token('$ingest')) AS u; SELECT "
	. "logsvc.whoami()", user => 'app');
is(join(' ', sort keys %{ $whoami->{organization} }), 'id name slug',
	'whose it is, and nothing of its settings');
is(join(' ', @{ $whoami->{permissions} }), 'logs:write', 'and what it may do');

# ---- and those who act for no one any more ----

my (undef, $state) = $t->sql_error("SELECT logsvc.use_token('$dead->{token}')", user => 'app');
is($state, 'LS103', 'a revoked token is nobody');
foreach my $call ('logsvc.search(\'*\')', 'logsvc.whoami()', 'count(*) FROM logsvc.logs')
{
	my $token = token($email{owner}, @scopes);
	my $session = $t->node->background_psql('postgres', on_error_stop => 0,
		extra_params => [ '-U', 'app' ]);
	$session->query_safe("SELECT logsvc.use_token('$token->{token}')");
	isnt($session->query("SELECT $call"), '', "$call with a token");
	$t->sql("SELECT logsvc.revoke_token('$token->{id}')");
	$session->query("SELECT $call");
	like($session->{stderr}, qr/the token has been revoked/, '... and not when it is revoked');
	$session->{stderr} = '';
	$session->quit;
}

# ---- operators ----

$t->sql('CREATE ROLE ops LOGIN; GRANT logsvc_admin TO ops');
(undef, $state) = $t->sql_error("SELECT count(v::text) FROM logsvc.$_ v", user => 'ops')
	and is($state, '', "an operator reads logsvc.$_") foreach grep { $_ ne 'organization_stream' } sort keys %operators;
(undef, $state) = $t->sql_error('SELECT count(*) FROM logsvc.organization_stream', user => 'ops');
is($state, '42501', 'rows of a stream are only put in');
(undef, $state) = $t->sql_error('SELECT count(*) FROM logsvc_internal.member', user => 'ops');
is($state, '42501', 'an operator has no tables either');
(undef, $state) = $t->sql_error("SELECT logsvc.act_as('acme'); SELECT logsvc.list_members(); "
	. "SELECT logsvc.search('*'); SELECT count(*) FROM logsvc.logs; SELECT logsvc.usage()",
		user => 'ops');
is($state, '', 'and acts for everybody');

$t->stop;
done_testing;
