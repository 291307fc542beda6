#!/usr/bin/perl
# access.pl: do the tests see it when a check of access is missing?
#
#	make mutation          all; T=regex: those whose name matches
#	test/mutation/access.pl --stale    only those whose text or test is not there any more
#
# Each mutation takes one check out of a copy of the tree, builds it and runs the
# tests that should notice, until one fails.  All must be killed.  Environment:
#	FROM     the name of the first one, to go on where a run has ended
#	JOBS     2: copies at once
#	CHECKED  1: these tests have just passed in this tree, so they are not run
#	         without a mutation first
use strict;
use warnings;

use Cwd qw(getcwd);
use File::Temp qw(tempdir);
use Time::HiRes qw(time);

my $pattern = qr/${\($ENV{T} || '.')}/;
my $jobs = $ENV{JOBS} || 2;
my $top = getcwd();

my @matrix = ('test/t/access/route_matrix.pl');
my @management = ('test/t/management/routes_with_tokens.pl', 'test/t/management/routes_with_sessions.pl');
my @at_once = ('test/t/access/changes_at_once.pl');
my @addresses = ('test/t/access/ip_allowlist.pl');
my @providers = ('test/t/accounts/oauth.pl');
my @made = ('test/t/access/made_rights.pl');
my @rights = ('test/t/access/code_rights.pl');
my @revoking = ('test/t/access/revocation_wins.pl');
my @in_sql = ('test/t/access/sql_matrix.pl');
my @changes = ('test/t/access/change_rates.pl');
my @plans = ('test/t/access/hidden_plans.pl');
my @foreign = ('test/t/access/foreign_organizations.pl');
my @sessions = ('test/pgtap/access_session.sql', 'test/t/access/other_sessions.pl');
my @rows = ('test/pgtap/row_security.sql', 'test/pgtap/access_isolation.sql');
my @functions = ('test/pgtap/access_functions.sql', 'test/pgtap/access_tenancy.sql', 'test/pgtap/operators.sql',
	'test/pgtap/access_session.sql');

# name, file, what is there, what is put in its place, tests; among the tests
# [file, what is there, what is put in its place] where two checks do the same
my @mutations = (
	# ---- files of the console ----
	['console: links', 'src/gateway/gateway_console.c', 'O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK',
		'O_RDONLY | O_CLOEXEC | O_NONBLOCK', 'test/t/gateway/console_files.pl'],
	['console: names that leave the folder', 'src/gateway/console_files.c', 'if (!is_relative_name(file->file))',
		'if (file->file.len == 0)', 'test/t/gateway/console_files.pl'],
	['console: paths of routes', 'src/gateway/console_files.c', '!starts_with(file->path, LS_STR(ASSETS)) ||',
		'false ||', 'test/t/gateway/console_files.pl'],
	['console: checksums', 'src/gateway/console_files.c', 'if (variant == LS_VARIANT_PLAIN && memcmp(digits, file->sum.data, 32) != 0)',
		'if (variant == LS_VARIANTS)', 'test/t/gateway/console_files.pl'],
	['console: the page for those who ask for it', 'src/gateway/gateway_console.c', '(ls_console_is_screen(path) && wants_page(c))',
		'ls_console_is_screen(path)', 'test/t/gateway/console_files.pl'],
	['console: rate', 'src/gateway/gateway_console.c', 'else if (!may_ask(c))', 'else if (c->route == 9999 && !may_ask(c))',
		'test/t/gateway/console_files.pl'],
	# ---- where requests are admitted ----
	['admission: scope and role', 'src/api/admit.c',
		"ls_authorize(principal, route->credentials, route->permission, route->scope);",
		"LS_ALLOWED;", @matrix],
	['tests of rules: who', 'sql/api/rule_tests.sql', "PERFORM logsvc_internal.require_permission('alerts:write');",
		'PERFORM 1;', @in_sql],
	['backtests: who', 'sql/api/rule_backtest.sql', "PERFORM logsvc_internal.require_permission('alerts:write');",
		'PERFORM 1;', @in_sql],
	['admission: address', 'src/api/admit.c',
		'error = ls_check_request_address(request, principal, &caught);', 'error = LS_ALLOWED;', @matrix],
	['admission: origin', 'src/api/admit.c', '!from_our_pages(request, principal)',
		'request->id == 0 && !from_our_pages(request, principal)', 'test/t/accounts/accounts.pl'],
	['admission: origin of a session', 'src/api/admit.c', 'return ls_origin_allowed(request->origin);',
		'return true;', 'test/t/accounts/accounts.pl'],
	['admission: origin of a WebSocket', 'src/api/admit.c', 'bool socket = request->route == LS_ROUTE_LOKI_TAIL;',
		'bool socket = false;', 'test/t/search/loki_tail.pl'],
	['admission: origin of a sign-in', 'src/api/admit.c',
		"route->credentials[0] != '\\0' || request->origin.len == 0 ||", 'true ||', 'test/t/accounts/accounts.pl'],
	['admission: which keys pages of others may use', 'src/api/admit.c',
		'!may_be_in_page(request, principal)', 'request->id == 0 && !may_be_in_page(request, principal)',
		'test/t/ingest/browser_origins.pl'],
	['admission: rate', 'src/api/admit.c', 'within = ls_rate_limit_take(route->rate_class, key, of.per_minute, &state);',
		'ls_rate_limit_take(route->rate_class, key, of.per_minute, &state);', 'test/t/accounts/accounts.pl', 'test/t/evaluation/run_adhoc.pl'],
	['admission: a look before the body counts nothing', 'src/api/admit.c',
		'if (refused || counted || (request->flags & LS_REQUEST_CHECK) != 0)', 'if (refused || counted)', 'test/t/gateway/flood_beside_ingest.pl'],
	['admission: a look before a large body', 'src/gateway/gateway_request.c', 'if (c->checked)', 'if (true)',
		'test/t/gateway/flood_beside_ingest.pl'],
	# ---- webhooks ----
	['webhooks: each address that is connected to', 'src/server/curl.c', '!t->may_connect(t->context, &address))',
		'false)', 'test/t/notify/webhooks.pl'],
	['webhooks: what is public', 'src/notify/webhook.c', '(secure && ls_address_is_public(address))', 'secure',
		'test/t/notify/webhooks.pl'],
	['webhooks: who reads their log', 'sql/api/deliveries.sql', 'PERFORM logsvc_internal.require_reading(kind);', '', @in_sql],
	['webhooks: who sends a test', 'sql/api/deliveries.sql', 'PERFORM logsvc_internal.require_permission(k.writes);', '', @in_sql],
	['webhooks: secrets stay out of contents', 'sql/api/channels.sql', "kept := kept || (channel - 'secret' - 'secretAccessKey');",
		'kept := kept || channel;', 'test/pgtap/deliveries.sql'],
	['object stores: a secret belongs to endpoint, bucket and key', 'sql/api/channels.sql',
		"concat_ws(' ', channel ->> 'endpoint', channel ->> 'bucket', channel ->> 'accessKeyId')", "''", 'test/t/workspace/object_store.pl'],
	['object stores: private addresses', 'src/notify/upload_send.c', 'return ls_webhook_may_connect(address, f->secure, ls_str_of_cstring(ls_webhook_networks));',
		'return f != NULL;', 'test/t/workspace/object_store.pl'],
	['object stores: an author who may no longer read the audit log', 'sql/api/exports.sql', 'RETURN NOT u.audit OR EXISTS',
		'RETURN true OR EXISTS', 'test/t/workspace/object_store.pl'],
	['exports: who changes one whose run has the audit log', 'sql/api/exports.sql', 'u.audit AND u.finished_at IS NULL', 'false',
		'test/t/workspace/object_store.pl'],
	['mails of alerts: to members', 'sql/api/channels.sql', 'AND m.organization_id = organization);', ');',
		'test/pgtap/deliveries.sql'],
	['pipelines: a change acts on the next request', 'src/ingest/pipelines.c', 'entry->epoch != epoch_of(entry)',
		'false', 'test/t/ingest/pipelines.pl'],
	['pipelines: masks that are not certain replace all', 'src/pipeline/pipeline_mask.c', "if (closed || !mask_whole(m, event->field[field], cut, &masked))\n\t\tmasked = m->p->replacement;",
		"(void) mask_whole(m, event->field[field], cut, &masked);", 'test/t/ingest/pipelines.pl'],
	['pipelines: no answer is kept with what was masked', 'src/decode/bulk_decode.c', '*options->sink.fate != LS_FATE_KEPT', 'false',
		'test/t/ingest/pipelines.pl'],
	['listeners: the address of each message', 'src/decode/line_decode.c', 'if (allowed == LS_PEER_REFUSED)',
		'if (false)', 'test/t/senders/syslog.pl'],
	['listeners: an organization that is deleted or unknown', 'src/access/lookup_cache.c',
		'if (memcmp(organization, &none, sizeof(none)) == 0)', 'if (false)', 'test/t/senders/syslog.pl'],
	['listeners: only superusers see whose they are', 'src/server/guc.c', 'GUC_SUPERUSER_ONLY | GUC_LIST_INPUT, check_listeners',
		'GUC_LIST_INPUT, check_listeners', 'test/t/senders/syslog.pl'],
	['credential: Splunk\'s way where only events are sent', 'src/access/authenticate.c',
		"if (text != NULL && header.len > 7 &&\n\t\tls_str_eq_nocase(ls_str_make(header.data, 7), LS_STR(\"splunk \")))",
		"if (header.len > 7 &&\n\t\tls_str_eq_nocase(ls_str_make(header.data, 7), LS_STR(\"splunk \")))",
		'test/t/senders/splunk.pl'],
	['sent again: whose key it is', 'src/ingest/accept_key.c',
		'ls_str_make((const char *) sender->caller, sizeof(sender->caller))', 'LS_STR("")',
		'test/t/ingest/sent_again.pl'],
	['places: one sender loses before any address', 'src/gateway/gateway_place.c',
		'yield_largest(gateway, for_whom, SHARE_SENDER, limit / SENDER_PART)', 'false', 'test/t/gateway/client_limits.pl'],
	['places: several senders', 'src/gateway/gateway_place.c', 'yield_largest(gateway, for_whom, SHARE_SENDER, 1)', 'false',
		'test/t/gateway/client_limits.pl'],
	['places: the keys of one owner', 'src/gateway/gateway.c', 'ls_share_set_sender(c, response->tenant);', '(void) 0;',
		'test/t/gateway/client_limits.pl'],
	['memory: the heaviest sender first', 'src/gateway/gateway_share.c', 'if (is_more && sends_most->bytes > part)', 'if (false)',
		'test/t/gateway/client_limits.pl'],
	['memory: who has its part gets none of others', 'src/gateway/gateway_share.c', 'return c->in_share[SHARE_SENDER].share != NULL && c->in_share[SHARE_SENDER].share != sender;', 'return false;',
		'test/t/gateway/client_limits.pl'],
	['queue: the organizations of one owner together', 'src/ingest/queue.c', 'Max(ls_account_held_by(&share->owner), ls_account_held(ls_account_find(organization)))',
		'ls_account_held(ls_account_find(organization))', 'test/t/ingest/queue_share.pl'],
	['executors: short waits while many are held up', 'src/workers/executor.c', 'return held_up > 0 && held_up * 2 >= running;',
		'return false;', 'test/t/service/lock_waits.pl'],
	['sessions: by https of this host only', 'src/access/user_session.c', 'is_https() ? "__Host-" : ""', 'is_https() ? "" : ""',
		'test/t/accounts/accounts.pl'],
	['admission: 401s and 403s count', 'src/api/admit.c', 'if (!ls_rate_limit_take(class_name, key, of.per_minute, &state))',
		'if (false)', 'test/t/access/rate_limits.pl'],
	['admission: time of executors', 'src/api/admit.c', 'if (state.remaining > 0)', 'if (true)', 'test/t/access/rate_limits.pl'],
	['admission: time of executors is charged', 'src/api/handlers.c',
		'	ls_http_charge_time(request, principal, begun);', '	(void) begun;', 'test/t/access/rate_limits.pl'],
	['admission: a rate by user, not by organization', 'src/access/lookup_cache.c', 'memcpy(key, &person, 16);',
		'memcpy(key, principal->caller, 16);', 'test/t/access/rate_limits.pl'],
	['rates: generous limits are not for guessing', 'src/access/lookup_cache.c', 'return scope != LS_RATE_ADDRESS &&',
		'return', 'test/t/access/rate_limits.pl'],
	['answers: none that may hold a secret is compressed', 'src/api/represent.c',
		'return request->route == LS_ROUTE_SESSION || request->route == LS_ROUTE_SESSIONS;', 'return false;',
		'test/t/api/route_conventions.pl'],
	['rates: an operator decides about one class', 'src/access/lookup_cache.c',
		'of->by_setting = of->by_setting && follows_setting', 'of->by_setting = follows_setting', 'test/t/access/rate_limits.pl'],

	# ---- changes ----
	['changes: of a request on its route', 'src/gateway/routes.def', '"org:write", "changes", LS_POOL_EXECUTOR, "logsvc.update_organization"',
		'"org:write", "", LS_POOL_EXECUTOR, "logsvc.update_organization"', @changes],
	['changes: by credential', 'src/access/lookup_cache.c', 'memcpy(key, &principal->credential, 16);', 'memcpy(key, principal->caller, 16);', @changes],
	['changes: a request is not counted twice', 'src/access/change_rate.c', 'if (ls_request_current() == NULL)', 'if (true)', @changes],
	['changes: of a user in all', 'src/access/change_rate.c', 'take_try(principal, USER_CHANGES);', '(void) 0;', @changes],
	['changes: what takes away goes on', 'src/access/change_rate.c', 'if (PG_GETARG_BOOL(0))', 'if (false)', @changes],
	['changes: operators', 'src/access/change_rate.c', 'return ls_is_operator() ? NULL : ls_principal_current();', 'return ls_principal_current();', @changes],
	['changes: of an organization', 'src/access/change_rate.c', 'take_changes(key, &of, amount);', '(void) 0;', @changes],
	['changes: one who is no owner', 'src/access/change_rate.c', 'take_changes(hash, &share, amount);', '(void) share;', @changes],
	['changes: the last quarter', 'src/access/change_rate.c', 'of.per_minute -= of.per_minute / SHARE;', '', @changes],
	['changes: what is rolled back', 'src/access/change_rate.c', 'if (event == XACT_EVENT_ABORT)', 'if (false)', @changes],
	['changes: rolled back to a savepoint', 'src/access/change_rate.c', 't->subtransaction == own && event == SUBXACT_EVENT_ABORT_SUB', 'false', @changes],
	['changes: keys count for their maker', 'src/access/lookup_cache.c', 'if (principal->kind != LS_PRINCIPAL_KEY)', 'if (true)', @changes],
	['changes: a key of a key', 'sql/api/credentials.sql', 'logsvc_internal.find_key_maker(logsvc_internal.current_credential())', 'NULL', @changes],
	['changes: the first owner stays', 'sql/api/table_functions.sql', 'id = NEW.organization_id AND first_owner IS NULL', 'id = NEW.organization_id', @changes],
	['changes: large entries', 'sql/api/audit.sql', "1 + octet_length(details::text) / 1024", '1', @changes],

	# ---- plans ----
	['plans: a larger one is a request', 'sql/api/plans.sql', 'AND logsvc_internal.plans_are_requested() THEN', 'AND false THEN', 'test/t/management/plans.pl'],
	['plans: the setting', 'sql/api/plans.sql', "<> 'self'", "= ''", 'test/t/management/plans.pl'],
	['plans: what is approved is what was looked at', 'sql/api/plans.sql', 'ELSIF requested IS DISTINCT FROM plan THEN',
		'ELSIF false THEN', 'test/t/management/plans.pl'],
	['plans: one mail an hour', 'sql/api/plans.sql', "asking.id AND m.template = 'plan_request'", "asking.id AND false", 'test/t/management/plans.pl'],
	['credits: the operator\'s limit', 'sql/api/evaluation.sql', "logsvc_internal.plan_limit_of(o.id, 'ai_credits_per_month')",
		"SELECT amount FROM logsvc_internal.plan_limit WHERE plan = o.plan AND resource = 'ai_credits_per_month'", 'test/pgtap/limits.sql'],
	['evaluations: the right to search for rows', 'src/api/evaluation_route.c', 'if (!ls_http_authorize(request, principal, arena, response))', 'if (false)',
		['src/query/search_prepare.c', 'ls_require_permission("logs:read");', ''], 'test/t/evaluation/rows_from_search.pl'],
	['evaluations: the right to evaluate what is searched for', 'src/api/evaluation_route.c', 'whole.route = LS_ROUTE_EVALUATE;', '', 'test/t/evaluation/rows_from_search.pl'],
	['evaluations: executor time of searches for rows', 'src/api/evaluation_route.c', 'if (!ls_http_within_time(request, principal, arena, response))', 'if (false)', 'test/t/evaluation/rows_from_search.pl'],
	['dashboards: private ones', 'sql/api/workspace.sql', 'RETURN NOT logsvc_internal.is_private(r.content)', 'RETURN true', 'test/t/workspace/dashboards.pl'],
	['dashboards: tokens of a value', 'src/query/bind.c', "if (value.data[i] == '\"' || value.data[i] == '\\\\')", 'if (false)',
		['src/query/bind.c', 'if (!is_as_expected(&b))', 'if (!is_as_expected(&b) && false)'], 'test/t/workspace/dashboards.pl'],
	['exports: who reads events', 'sql/api/exports.sql', "PERFORM logsvc_internal.require_permission('logs:read');", 'NULL;', 'test/t/workspace/scheduled_exports.pl'],
	['saved queries: who changes what is shown', 'sql/api/saved_queries.sql', "PERFORM logsvc_internal.require_permission('logs:read');\n\t\twhy := NULL;", 'why := NULL;', 'test/t/workspace/saved_queries.pl'],
	['links: variables of lists only', 'sql/api/dashboard_data.sql', 'IF declared AND given ? name', 'IF false AND given ? name', 'test/t/workspace/shared_dashboards.pl'],
	['links: shared as a link now', 'sql/api/dashboard_data.sql', "AND d.content -> 'shared' ->> 'kind' = 'link' AND logsvc_internal.shared_links()", '', 'test/t/workspace/shared_dashboards.pl'],
	['links: allowed addresses', 'src/access/act_for.c', 'error = ls_check_request_address(request, &principal, &caught);', 'error = LS_ALLOWED;', 'test/t/workspace/shared_dashboards.pl'],
	['links: one load at a time', 'sql/api/dashboard_data.sql', "shared IS NOT NULL AND logsvc_internal.hold_load(\n\t\tlogsvc_internal.load_place(", "coalesce(true, NULL IS DISTINCT FROM\n\t\tlogsvc_internal.load_place(", 'test/t/workspace/shared_dashboards.pl'],
	['links: only in requests', 'src/access/act_for.c', '!is_reading_worker() || request == NULL || ls_principal_current() != NULL)', 'false)', 'test/t/workspace/shared_dashboards.pl'],
	['evaluations: a region that nobody tells', 'src/evaluation/evaluation_run.c', 'if (region.len == 0)', 'if (false)', 'test/t/evaluation/providers.pl'],
	['evaluations: the providers\' own endpoints', 'src/evaluation/provider.c', 'if (ls_str_eq_nocase(url.name', 'if (i > 9 && ls_str_eq_nocase(url.name', 'test/t/evaluation/providers.pl'],
	['sign-in: tries for each account', 'sql/api/sign_in.sql', '	PERFORM logsvc_internal.check_sign_in_rate(email);', '',
		'test/t/accounts/accounts.pl'],
	['sign-in: a known browser is of one account', 'sql/api/sign_in.sql', 'AND u.email = known_device.email', '',
		'test/t/accounts/accounts.pl'],

	# ---- identity providers ----
	['identity provider: authority for the address', 'sql/api/oauth.sql',
		'ELSIF NOT authority AND', 'ELSIF false AND', @providers],
	['identity provider: whose session proves the account', 'sql/api/oauth.sql',
		'signed_in = known.id IS NOT TRUE', 'signed_in IS NULL', @providers],
	['identity provider: a sign-in that a page of another site has begun', 'sql/api/oauth.sql',
		"NOT (facts ->> 'foreign')::boolean", 'true', @providers],
	['identity provider: where its document sends browsers', 'src/access/oauth.c',
		'if (!browser_may_go(a, p->authorize_url))', 'if (false && !browser_may_go(a, p->authorize_url))', @providers],
	['identity provider: a session that is over', 'sql/api/oauth.sql', 'AND s.expires_at > now()', '', @providers],
	['identity provider: the state of the browser', 'src/access/oauth_state.c',
		'ls_equal_constant_time(s->state.data, a->query->state.data, RANDOM_LENGTH)', 'true', @providers],
	['identity provider: a state is used once', 'src/access/oauth.c', 'if (!claim.yes)', 'if (!claim.found)', @providers],
	['identity provider: where browsers are sent', 'src/access/oauth_state.c', '|| !ls_url_allowed(*out)', '|| false', @providers],
	['identity provider: verified addresses', 'src/access/oauth.c', '|| !person.email_verified)', '|| false)', @providers],
	['identity provider: the nonce', 'src/identity/id_token.c', '!ls_str_eq(ls_node_member_string(claims, "nonce"), expected->nonce)',
		'false', @providers],
	['identity provider: how many at once', 'src/access/oauth_call.c', 
		'ls_place_take(places, (uint32) Max(ls_executors / 2, 1))', 'ls_place_take(places, 1000)', @providers],
	['identity provider: an account that waits', 'sql/api/oauth.sql', 'password_hash = NULL, ', '', @providers],
	['identity provider: the switch of an organization', 'sql/api/access.sql',
		'RETURN provider IS NULL OR provider = ANY (providers);', 'RETURN true;', @providers],

	# ---- credentials ----
	['credential: expiry', 'src/access/lookup.c', 'principal->expires_at == 0 ||', 'principal->expires_at >= 0 ||', @matrix],
	['credential: revocation', 'src/access/lookup.c', 'if (f.revoked)', 'if (f.revoked && f.principal == NULL)', @matrix],
	['credential: a key where only tokens are good', 'src/access/authenticate.c',
		'begins(*secret, "ing_") && !tokens_only', 'begins(*secret, "ing_")', @matrix],
	['credential: a key on routes that take none', 'src/access/authenticate.c',
		'bool tokens_only = strcmp(credentials, "T") == 0;', 'bool tokens_only = strpbrk(credentials, "IRF") == NULL;', @matrix],
	['credential: two different secrets', 'src/access/authenticate.c', 'key.len > 0 && !ls_str_eq(key, *secret)',
		'key.len > 0 && false', 'test/t/api/route_conventions.pl', 'test/t/ingest/events_over_http.pl', 'test/pgtap/access_c.sql'],
	['credential: the organization of a session', 'src/access/authenticate.c',
		"if (strchr(credentials, 'U') != NULL || memcmp(&out->organization, &none, sizeof(none)) != 0)",
		'if (memcmp(&none, &none, sizeof(none)) == 0)', @matrix],
	['credential: caches that end with the epoch', 'src/access/access_cache.c', 'entry->epoch == ls_access_epoch(entry->watch)',
		'entry->epoch != 0', @at_once],
	['credential: unknown ones that are made', 'src/access/access_cache.c', 'absent->epoch == ls_access_epoch(absent->watch)',
		'absent->epoch != 0', @at_once],
	['credential: what a row was before', 'src/access/epoch.c', 'note_row(data->tg_trigger, data->tg_trigtuple, desc);', '', @at_once],
	['credential: what a row is now', 'src/access/epoch.c', 'note_row(data->tg_trigger, data->tg_newtuple, desc);', '(void) desc;', @at_once],
	['credential: changes while it is looked up', 'src/access/epoch.c', 'mark != 0 && mark == ls_access_mark() ? epoch : 0',
		'mark != 0 ? epoch : 0', 'test/t/access/lookup_race.pl'],
	['credential: sessions only of members', 'sql/api/access.sql',
		"ON m.user_id = s.user_id\n\t\t\tAND (o.slug", "ON (o.slug", @matrix],
	['credential: tokens of former members', 'sql/api/access.sql',
		"t.revoked_at IS NOT NULL OR m.id IS NULL OR o.deleted_at IS NOT NULL\n\tFROM logsvc_internal.access_token t\n\tJOIN logsvc_internal.organization o ON o.id = t.organization_id\n\tLEFT JOIN logsvc_internal.member m\n\t\tON m.organization_id = t.organization_id AND m.user_id = t.user_id\n\tWHERE t.token_hash",
		"t.revoked_at IS NOT NULL OR o.deleted_at IS NOT NULL\n\tFROM logsvc_internal.access_token t\n\tJOIN logsvc_internal.organization o ON o.id = t.organization_id\n\tLEFT JOIN logsvc_internal.member m\n\t\tON m.organization_id = t.organization_id AND m.user_id = t.user_id\n\tWHERE t.token_hash",
		'test/pgtap/access_functions.sql', 'test/pgtap/access_session.sql', 'test/pgtap/operators.sql'],

	# ---- the decision ----
	['decision: scope of a key', 'src/access/permission.c', 'return has_letter(credentials, principal->key_scope) &&',
		'return', @matrix],
	['decision: routes of a test key', 'src/access/permission.c', "(!principal->test_key ||\n\t\t\t\t\t\t\t(principal",
		"(true ||\n\t\t\t\t\t\t\t(principal", @matrix],
	['decision: permissions of a test key', 'src/access/permission.c', "(!principal->test_key || has_letter(p->keys, 't'))",
		'true', @matrix],
	['decision: indexes of a test key', 'src/access/session.c', '!ls_principal_require()->test_key ||', 'true ||', @made],
	['rights: members of logsvc_reader', 'src/workers/guard_role.c', 'if (makes_member(statement))', 'if (makes_member(statement) && false)', @rights],
	['rights: logsvc_reader by CREATEROLE', 'src/workers/guard_role.c', 'changes_reader(statement) && !superuser()', 'changes_reader(statement) && false', @rights],
	['rights: what logsvc_reader changes', 'src/workers/guard_role.c', 'GetCommandLogLevel(statement) == LOGSTMT_DDL &&', 'false &&', @rights],
	['rights: what only rewrites the catalogs', 'src/workers/guard.c', 'ls_guard_tenant(statement->utilityStmt);', '', 'test/t/access/tenant_roles.pl'],
	['rights: who owns nothing', 'src/workers/guard_tenant.c', 'has_privs_of_role(user, entry->refobjid)', 'OidIsValid(entry->refobjid)', 'test/t/access/tenant_roles.pl'],
	['locks: rights before them', 'src/workers/guard.c', 'ls_guard_locks(statement->utilityStmt);', '', 'test/t/access/other_sessions.pl'],
	['locks: what an index depends on', 'src/workers/guard_locks.c', 'require_right(((AlterObjectDependsStmt *) statement)->relation, ACL_NO_RIGHTS);', ';', 'test/t/access/other_sessions.pl'],
	['locks: another partition', 'src/workers/guard_locks.c', 'require_owner_of_partition((AlterTableStmt *) statement);', '(void) require_owner_of_partition;',
		'test/t/access/other_sessions.pl'],
	['copies: retention', 'src/workers/compactor.c', 'bool removes = ls_mode != LS_MODE_RESTORED;', 'bool removes = true;', 'test/t/store/retention.pl'],
	['copies: erasure and purges', 'sql/api/schedule.sql', "current_setting('logsvc.mode', true) = 'restored'", 'false', 'test/t/store/retention.pl'],
	['log: plans of the service', 'src/workers/worker_start.c', '{"auto_explain.log_min_duration", "-1"},', '', 'test/t/service/unusual_settings.pl'],
	['rights: the password of a bound role', 'src/workers/guard_tenant.c', "\trefuse_own_role(statement);", '(void) refuse_own_role;', 'test/t/access/bound_roles.pl'],
	['rights: the password of a bound role, in another database', 'src/workers/guard_tenant.c', ': ls_is_tenant(user);', ': false;', 'test/t/access/bound_roles.pl'],
	['rights: the password of a bound role, by a member', 'src/workers/guard_tenant.c', '!may_be_bound(GetSessionUserId()) && !may_be_bound(GetUserId())',
		'!may_be_bound(GetSessionUserId())', 'test/t/access/bound_roles.pl'],
	['metrics: what a proxy has passed on', 'src/gateway/gateway_fields.c', 'c->proxied |= is_of_proxy(name);', '(void) is_of_proxy(name);',
		'test/t/service/metrics.pl'],
	['accounts: the password of a sign-up', 'sql/api/accounts.sql', 'password_hash = CASE WHEN NOT removed THEN u.password_hash END', 'password_hash = u.password_hash',
		'test/pgtap/accounts.sql'],
	['import: values that no server writes', 'sql/api/moves.sql', 'PERFORM logsvc_internal.check_stream_values(mine, import_organization.name IS NOT NULL);', '',
		'test/t/service/move_organization.pl'],
	['plans: what a function of the service is planned as', 'src/workers/guard_plans.c', 'hide(&Debug_print_plan, &hidden_plan);', '', @plans],
	['plans: what it is analyzed as', 'src/workers/guard_plans.c', 'hide(&Debug_print_parse, &hidden_parse);', '', @plans],
	['plans: what it is rewritten to', 'src/workers/guard_plans.c', 'hide(&Debug_print_rewritten, &hidden_rewritten);', '', @plans],
	['plans: of who calls', 'src/workers/guard_plans.c', 'bring_back(&Debug_print_plan, &hidden_plan);', '', @plans],
	['tail: bytes of a client', 'src/gateway/gateway_socket.c', 'if (s->said > SAID_LIMIT)', 'if (false)', 'test/t/gateway/sockets.pl'],
	['ingest: a commit that no standby confirmed', 'src/ingest/accept.c', 'i < accept->n_requests && !ProcDiePending; i++',
		'i < accept->n_requests; i++', 'test/t/ingest/unconfirmed_commit.pl'],
	['nodes: lookups refuse what may be revoked', 'src/access/lookup.c', '(ls_standby_behind() || ls_follower_behind())', 'ls_standby_behind()',
		'test/t/service/unheard_node.pl'],
	['nodes: nothing kept is used', 'src/access/epoch.c', ' && !RecoveryInProgress() && !ls_follower_behind();', ' && !RecoveryInProgress();',
		'test/t/service/unheard_node.pl'],
	['nodes: nothing was heard', 'src/server/follower.c', 'return age < 0 || age > ls_standby_max_lag;', 'return age > ls_standby_max_lag;',
		'test/t/service/unheard_node.pl'],
	['nodes: a heartbeat of a session', 'src/server/follower.c', '!IsLogicalWorker() || ', '', 'test/t/service/unheard_node.pl'],
	['nodes: a heartbeat of the future', 'src/server/follower.c', 'if (sent > now)', 'if (sent == 0)', 'test/t/service/unheard_node.pl'],
	['nodes: what was missed', 'sql/api/table_functions.sql', 'NEW.previous = OLD.id', 'true', 'test/t/service/restored_node.pl'],
	['nodes: another slot', 'sql/api/table_functions.sql', 'NEW.slots[node] = OLD.slots[node]', 'true', 'test/t/service/restored_node.pl'],
	['nodes: the age of what was followed before', 'sql/api/sharing.sql', 'PERFORM logsvc_internal.forget_heartbeats();', 'NULL;', 'test/t/service/unheard_node.pl'],
	['nodes: what is not known yet', 'src/access/lookup.c', '(kind == LS_PRINCIPAL_KEY || kind == LS_PRINCIPAL_TOKEN) && ls_follower_behind()', 'false',
		'test/t/service/unheard_node.pl'],
	['nodes: a clock that is set back', 'src/server/follower.c', 'Max(Max(GetCurrentTimestamp() - time, steady), 0)', 'Max(GetCurrentTimestamp() - time, 0 * steady)',
		'test/t/service/node_clocks.pl'],
	['nodes: a machine that has slept', 'src/server/follower.c', 'Max(Max(GetCurrentTimestamp() - time, steady), 0)', 'Max(steady, 0)',
		'test/t/service/node_clocks.pl'],
	['nodes: tenants in the way', 'src/workers/watcher.c', 'found->follows = OidIsValid(subscription);', 'found->follows = false;',
		'test/t/service/unheard_node.pl'],
	['nodes: tables that are still copied', 'sql/api/table_functions.sql', "r.srsubstate NOT IN ('r', 's')", "r.srsubstate = 'x'",
		'test/t/service/unheard_node.pl'],
	['revoking: a route', 'src/api/handlers.c', 'case LS_ROUTE_TOKEN_REVOKE:', '', @revoking],
	['revoking: superusers stay', 'src/workers/watcher.c', '!superuser_arg(user) && ', '', @revoking],
	['revoking: operators stay', 'src/workers/watcher.c', 'is_member_of_role_nosuper(user, admin))', 'superuser_arg(admin))', @revoking],
	['revoking: whose waits are followed', 'src/workers/watcher.c', 'if (is_worker(blocker))', 'if (is_worker(blocker) || !is_only_tenant(user))', @revoking],
	['revoking: prepared transactions', 'src/workers/guard_tenant.c', '->kind == TRANS_STMT_PREPARE &&', '->kind == TRANS_STMT_ROLLBACK_PREPARED &&', @revoking],
	['rights: an owner that is granted', 'sql/api/rights.sql', 'OWNER TO logsvc_reader', 'OWNER TO logsvc_tenant', @rights],
	['rights: connections as logsvc_reader', 'sql/schema/roles.sql', 'CONNECTION LIMIT 0 ', '', @rights],
	['rights: members of a logsvc_reader that was there', 'sql/schema/roles.sql',
		"found_role.members IS NOT NULL AND wanted.name = 'logsvc_reader'", 'false', @rights],
	['rights: members of roles that were there', 'sql/schema/roles.sql', "NOT starts_with(coalesce(found_role.comment, ''), 'logsvc: ')", 'false', @rights],
	['rights: tables for tenants', 'sql/schema/roles.sql', 'GRANT USAGE ON SCHEMA logsvc_internal TO logsvc_reader;',
		'GRANT USAGE ON SCHEMA logsvc_internal TO logsvc_reader, logsvc_tenant;', @in_sql],
	['rights: the view of events', 'src/query/search_prepare.c', 'ls_require_permission("logs:read");', '', @in_sql],
	['rights: an organization for keys', 'sql/api/organizations.sql',
		"PERFORM logsvc_internal.require_access(target, 'org:manage');\n\tEND IF;\n\tSELECT", "END IF;\n\tSELECT", @in_sql],
	['rights: who invitations are for', 'sql/api/invitations.sql', "current_role_name() IN ('member', 'viewer')", "current_role_name() IN ('nobody')", @in_sql],
	['made: rights of a key', 'sql/api/access.sql', "logsvc_internal.rights_beyond(NULL, scope, kind = 'test')", "'{}'", @made],
	['made: life of a key', 'sql/api/access.sql', 'until IS NOT NULL AND', 'false AND', @made],
	['made: rights of a member', 'sql/api/access.sql', 'logsvc_internal.rights_beyond(role, NULL, NULL)', "'{}'", @made],
	['made: admins by a key', 'sql/api/access.sql', "current_kind() = 'key' AND", "current_kind() = 'x' AND", @made],
	['made: rights by an invitation sent again', 'sql/api/invitations.sql',
		'PERFORM logsvc_internal.check_made_role(target.role);', '', @made],
	['decision: routes that take no token', 'src/access/permission.c', "!has_letter(credentials, 'T') ||", '', @matrix],
	['decision: scope of a token', 'src/access/permission.c', "scope[0] != '\\0' && !has_scope(principal, scope)",
		"scope[0] == 1 && !has_scope(principal, scope)", @matrix],
	['decision: role', 'src/access/permission.c', "permission[0] != '\\0' && (principal", "permission[0] == 1 && (principal", @matrix],
	['decision: a token has no more than its role', 'src/access/permission.c', 'allowed = by_role && has_scope(',
		'allowed = has_scope(', @matrix, 'test/sql/access.sql'],
	['decision: a token has no more than its scopes', 'src/access/permission.c',
		'allowed = by_role && has_scope(principal, p->scope);', 'allowed = by_role;', @matrix],
	['decision: a key has no more than its scope', 'src/access/permission.c',
		'allowed = key_has(principal, p);', 'allowed = key_has(principal, p) || true;', @matrix],
	['decision: functions ask for the permission', 'src/access/principal.c', 'if (p->permissions & bit)',
		'if (p->permissions | bit)', @matrix],
	['decision: SQL sessions look again', 'src/access/principal.c',
		'!ls_access_cacheable() || current.epoch != epoch', '!ls_access_cacheable()', @sessions],
	['decision: SQL sessions end with their credential', 'src/access/principal.c', "\t\terror = ls_principal_expired(&current);",
		"\t\terror = LS_ALLOWED;", @sessions],
	# Either would do: a request runs as logsvc_reader, and asks whether it is one.
	['decision: nobody is an operator in a request', 'src/access/principal.c',
		'if (ls_request_current() != NULL || is_of_request() || ls_role_binding(&error) != NULL)',
		'if (false && (ls_request_current() != NULL || is_of_request() || ls_role_binding(&error) != NULL))',
		['src/workers/worker_start.c', 'service->database, user, 0)', 'service->database, InvalidOid, 0)'], 'test/t/api/route_conventions.pl', @management],
	['decision: who is an operator', 'src/access/principal.c', 'has_privs_of_role(GetOuterUserId(), role)',
		'superuser_arg(10)', @functions, @matrix],
	['decision: who sets the principal', 'src/access/principal.c', '(permitted || InitializingParallelWorker) && parse',
		'parse', @sessions],
	['decision: act_as is for operators', 'src/access/session.c', "\tls_require_operator();\n\tif (PG_ARGISNULL(0))",
		"\tif (PG_ARGISNULL(0))", ['sql/api/session.sql', "\tPERFORM logsvc_internal.require_operator();\n\tIF organization IS NULL THEN",
		"\tIF organization IS NULL THEN"], @rows, @functions],
	['requests run as logsvc_reader', 'src/workers/worker_start.c', 'service->database, user, 0)', 'service->database, InvalidOid, 0)', 'test/t/api/route_conventions.pl'],

	# ---- addresses ----
	['address: forged X-Forwarded-For', 'src/base/address.c', 'forwarded_for.len > 0 && ls_networks_contain(trusted, out)',
		'forwarded_for.len > 0', @addresses],
	['address: use_token', 'src/access/session.c', 'error = ls_check_session_address(&principal, &caught);', '', @addresses],
	['address: SQL sessions look again', 'src/access/principal.c', 'error = ls_check_session_address(&fresh, &caught);', '',
		@addresses],
	['address: prefixes are compared to the bit', 'src/base/address.c', '(rest == 0 || ', '(true || ', @addresses],
	['address: nobody locks himself out', 'sql/api/ip_allowlist.sql', 'cardinality(networks) > 0 AND', 'false AND', @addresses],
	['address: a change is seen at once', 'sql/schema/ip_allowlist.sql',
		"EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');",
		"WHEN (false) EXECUTE FUNCTION logsvc_internal.access_changed('organization_id');", @addresses],

	# ---- tables of rights ----
	(map { my ($name, $from, $to) = @$_; ["route: $name", 'src/gateway/routes.def', $from, $to, @matrix] }
		['ingest with a read key', '"POST", "/api/v1/logs", "TSIF"', '"POST", "/api/v1/logs", "TSIRF"'],
		['keys with a read key', '"GET", "/api/v1/api-keys", "TSF"', '"GET", "/api/v1/api-keys", "TSRF"'],
		['billing with a token', '"/api/v1/billing", "S"', '"/api/v1/billing", "TS"'],
		['evaluation with a session', '"/api/v1/evaluations/run-adhoc", "T"', '"/api/v1/evaluations/run-adhoc", "TS"'],
		['audit log with a key', '"/api/v1/audit", "TS"', '"/api/v1/audit", "TSF"'],
		['role of a member by everybody', '"/api/v1/members/{id}", "TSF", "members:role"', '"/api/v1/members/{id}", "TSF", ""'],
		['index without the scope', '"POST", "/api/v1/indexes", "TSF", "org:manage", "org:write"',
			'"POST", "/api/v1/indexes", "TSF", "org:manage", ""'],
		['search for everybody', '"GET", "/api/v1/search", "TSRF", "logs:read", "logs:read"', '"GET", "/api/v1/search", "", "", ""'],
		['allow-list by everybody', '"PUT", "/api/v1/ip-allowlist", "TSF", "org:manage", "org:write"',
			'"PUT", "/api/v1/ip-allowlist", "TSF", "", ""']),
	(map { my ($name, $from, $to) = @$_; ["permission: $name", 'src/access/permissions.def', $from, $to, @matrix] }
		['members manage keys', "\"keys:manage\",\t\t\"OA\"", "\"keys:manage\",\t\t\"OAM\""],
		['viewers write logs', "\"logs:write\",\t\t\"OAM\"", "\"logs:write\",\t\t\"OAMV\""],
		['admins bill', "\"billing:manage\",\t\"O\"", "\"billing:manage\",\t\"OA\""],
		['viewers evaluate', "\"evaluations:run\",\t\"OAM\"", "\"evaluations:run\",\t\"OAMV\""],
		['members read the audit log', "\"audit:read\",\t\t\"OA\"", "\"audit:read\",\t\t\"OAM\""]),

	# ---- row security ----
	['rows: organization', 'sql/schema/tenancy.sql', 'USING (id = logsvc_internal.current_organization())', 'USING (true)', @rows],
	['rows: members, tokens, keys, indexes', 'sql/schema/tenancy.sql',
		"' USING (organization_id = logsvc_internal.current_organization())'", "' USING (true)'", @rows],
	['rows: users', 'sql/schema/tenancy.sql', "m.user_id = user_account.id\n\t\t\tAND m.organization_id",
		"true OR m.organization_id", @rows],
	['rows: queue', 'sql/schema/store.sql', "logsvc_internal.queue FOR SELECT TO logsvc_reader\n  USING (organization_id = logsvc_internal.current_organization()",
		"logsvc_internal.queue FOR SELECT TO logsvc_reader\n  USING (true", @rows],
	['rows: parts', 'sql/schema/store.sql', "logsvc_internal.part FOR SELECT TO logsvc_reader\n  USING (organization_id = logsvc_internal.current_organization()",
		"logsvc_internal.part FOR SELECT TO logsvc_reader\n  USING (true", @rows],
	['rows: allow-lists', 'sql/schema/ip_allowlist.sql', 'USING (organization_id = logsvc_internal.current_organization())', 'USING (true)', @rows],
	['rows: lookup tables', 'sql/schema/lookups.sql', 'USING (organization_id = logsvc_internal.current_organization())', 'USING (true)', @rows],
	['lookup table by everybody', 'src/gateway/routes.def', '"PUT", "/api/v1/lookups/{name}", "TSF", "pipelines:manage", "pipelines:write"',
		'"PUT", "/api/v1/lookups/{name}", "TSF", "", ""', @matrix],
	['function: lookup table by everybody', 'sql/api/lookups.sql', "PERFORM logsvc_internal.require_permission('pipelines:manage');\n\tPERFORM logsvc_internal.check_change_rate();\n\ttarget := logsvc_internal.current_organization();\n\tIF name", "target := logsvc_internal.current_organization();\n\tIF name", @in_sql],
	['function: a lookup table of others', 'sql/api/lookups.sql', 'l.organization_id = logsvc_internal.current_organization() AND l.name = get_lookup.name', 'l.name = get_lookup.name', 'test/pgtap/search_lookups.sql'],
	['lookup: a table of test keys', 'src/query/plan_lookup.c', 'principal->test_key ||', 'false ||', 'test/pgtap/search_lookups.sql'],
	['rows: audit entries in the queue', 'sql/schema/store.sql', "NOT audit OR logsvc", "true OR logsvc", 'test/pgtap/row_security.sql', 'test/pgtap/audit_read.sql', 'test/t/management/audit.pl'],
	['rows: audit entries in parts', 'sql/schema/store.sql', "index_name <> '_audit' OR", "true OR", 'test/pgtap/row_security.sql', 'test/pgtap/audit_read.sql', 'test/t/management/audit.pl'],
	['function: the size of the audit log', 'sql/api/indexes.sql', "i.name <> '_audit' OR logsvc_internal.may_read_audit()", 'true', 'test/pgtap/audit_read.sql'],
	['function: usage of deleted organizations', 'sql/api/organizations.sql', 'PERFORM logsvc_internal.carry_usage(account.id, created.id);', '', 'test/pgtap/past_usage.sql'],
	['rows: hashes of tokens', 'sql/schema/tenancy.sql', 'GRANT SELECT (id, organization_id, user_id, name, scopes, prefix,',
		'GRANT SELECT (id, organization_id, user_id, name, scopes, prefix, token_hash,', @rows],
	['rows: nothing for PUBLIC', 'sql/api/rights.sql', 'REVOKE ALL ON ALL ROUTINES', 'GRANT EXECUTE ON FUNCTION logsvc.usage() TO PUBLIC; REVOKE ALL ON PROCEDURE', 'test/pgtap/hygiene.sql'],

	# ---- functions ----
	['function: _audit is asked for', 'src/query/scope.c', 'ls_require_permission("audit:read");', '(void) 0;', 'test/pgtap/search_rights.sql'],
	['function: search', 'src/query/search_prepare.c', 'ls_require_permission("logs:read");', '', 'test/pgtap/search_rights.sql'],
	['function: ingest', 'src/ingest/ingest_function.c', 'ls_require_permission("logs:write");', '', 'test/pgtap/search_rights.sql', 'test/t/ingest/events_in_transactions.pl'],
	['function: evaluate', 'src/evaluation/evaluation_function.c', 'ls_require_permission("evaluations:run");', '', 'test/pgtap/evaluate.sql', 'test/pgtap/credits.sql', 'test/pgtap/operators.sql'],
	['function: a foreign organization', 'sql/api/access.sql', "OR found_id = logsvc_internal.current_organization() IS TRUE",
		'OR true', @functions, @management],
	# Two look at it: what finds the member, and what asks for the permission.
	['function: a foreign member', 'sql/api/members.sql', "(m.organization_id = logsvc_internal.current_organization()\n\t\t\tOR",
		'(true OR', ['sql/api/access.sql', 'IF organization <> logsvc_internal.current_organization() IS NOT FALSE THEN', 'IF false THEN'],
		@foreign],
	['function: a foreign token', 'sql/api/credentials.sql', 'OR t.organization_id = logsvc_internal.current_organization()', 'OR true', @functions, @management],
	['function: a token of somebody else', 'sql/api/credentials.sql', 'OR t.user_id = logsvc_internal.current_user_id()', 'OR true',
		'test/t/evaluation/credit_caps.pl'],
	['function: the own cap of AI credits', 'sql/api/members.sql', "OR changed.user_id = coalesce(", "OR NULL = coalesce(",
		'test/t/evaluation/credit_caps.pl'],
	['function: a foreign key', 'sql/api/credentials.sql', 'OR k.organization_id = logsvc_internal.current_organization()', 'OR true', @functions, @management],
	['function: a foreign index', 'sql/api/indexes.sql',
		'i.organization_id = logsvc_internal.current_organization() AND i.name = index_by_name.name', 'i.name = index_by_name.name', @foreign],
	['function: a session of somebody else', 'sql/api/sign_in.sql', "auth_end_session.id)\n\t\tAND s.user_id = account;",
		"auth_end_session.id);", @foreign],
	['function: the keys of an organization', 'sql/api/credentials.sql',
		'WHERE organization_id = target AND (after IS NULL OR id > after)', 'WHERE (after IS NULL OR id > after)', 'test/pgtap/row_security.sql'],
	['function: the members of an organization', 'sql/api/members.sql',
		'WHERE organization_id = target AND (after IS NULL OR id > after)', 'WHERE (after IS NULL OR id > after)', 'test/pgtap/row_security.sql'],
	['function: the tokens of a user', 'sql/api/credentials.sql', 'WHERE organization_id = target AND user_id = account AND',
		'WHERE organization_id = target AND', @management],
	['function: who touches owners', 'sql/api/members.sql', "IF 'owner' = ANY (roles) AND", 'IF false AND', @functions, @management],
	['function: the last owner', 'sql/api/members.sql', "IF m.role = 'owner' AND NOT EXISTS", 'IF false AND NOT EXISTS', @functions, @management],
	['function: tokens of others', 'sql/api/credentials.sql', 'ELSIF owner.user_id <> logsvc_internal.current_user_id() THEN', 'ELSIF false THEN', 'test/pgtap/operators.sql'],
	['function: tokens by tokens', 'sql/api/credentials.sql', "IF logsvc_internal.current_kind() <> 'user' THEN\n\t\t\tPERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE', 'a token cannot create tokens');\n\t\tELSIF",
		'IF', @functions, @matrix],
	['function: how often one invites', 'sql/api/invitations.sql', 'IF used >= allowed THEN', 'IF false THEN', @management],
	['function: the mail of an invitation that is revoked', 'sql/api/invitations.sql',
		'PERFORM logsvc_internal.cancel_mail(target.mail);', '', @management],
	['mail: names are no links', 'sql/api/mail.sql',
		"WHEN key IN ('organization', 'inviter', 'title') THEN logsvc_internal.quoted_name(value)",
		"WHEN key IN ('organization', 'inviter', 'title') THEN left(value, 100)", 'test/pgtap/mail.sql'],
	['mail: addresses are no links', 'sql/api/mail.sql', "THEN '\"' || logsvc_internal.quoted_address(value) || '\"'", 'THEN value', 'test/pgtap/mail.sql'],
	['mail: addresses are cut', 'sql/api/mail.sql', 'length(a) > 64', 'length(a) > 640', 'test/pgtap/mail.sql'],
	['mail: links are in no dump', 'sql/schema/mail.sql', "'WHERE coalesce(position(''#t='' IN link), 0) = 0'", "''",
		'test/t/notify/mail.pl'],
	['mail: who reads a link is audited', 'sql/api/mail.sql',
		"PERFORM logsvc_internal.audit_user(account, NULL, 'mail.link_read',", "PERFORM jsonb_build_array(account, NULL, 'mail.link_read',", 'test/t/notify/mail.pl'],
	['function: the address of an invitation', 'sql/api/invitations.sql', 'ELSIF account.email <> target.email THEN', 'ELSIF false THEN', @management],
	['function: deletion by an owner', 'sql/api/organizations.sql', "logsvc_internal.current_role_name() = 'owner' IS NOT TRUE THEN", 'false THEN', 'test/pgtap/operators.sql'],
	['function: deletion by a person', 'sql/api/organizations.sql', "IF logsvc_internal.current_kind() <> 'user' THEN\n\t\t\tPERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE',\n\t\t\t\t'only a person can delete",
		"IF false THEN\n\t\t\tPERFORM logsvc_internal.raise_error('INSUFFICIENT_SCOPE',\n\t\t\t\t'only a person can delete", @matrix],
);

# Each function that asks for a permission or an operator, or counts a change, without that.
foreach my $file (sort glob 'sql/api/*.sql')
{
	my $text = slurp($file);
	my $function = '';
	while ($text =~ /^CREATE (?:OR REPLACE )?FUNCTION ([\w.]+)|^[ \t]*(PERFORM logsvc_internal\.(require_(?:access|permission|operator)|check_change_rate)\([^;]*\);)/mg)
	{
		if (defined $1) { $function = $1; next; }
		next if $function =~ /\.require_/;
		my ($from, $kind, $at) = ($2, $3, $-[2]);
		push @mutations, [ "$function: $kind", $file, $from, 'NULL;', $kind eq 'check_change_rate' ? @changes : (
			$kind eq 'require_operator' || $function =~ /\.(audit_head|verify_audit|export_audit)$/ ? 'test/pgtap/operators.sql' : (),
			@functions, @in_sql, @management, $file =~ /exports/ ? 'test/t/workspace/scheduled_exports.pl' : (),
			$function =~ /credit/ ? 'test/t/evaluation/credit_caps.pl' : (), @matrix) ];
		# Two look at it: the function, and what plans the deletion.
		push @{ $mutations[-1] }, [ 'src/query/deletion.c', 'ls_require_permission("logs:export");', '(void) 0;' ] if $function eq 'logsvc.delete_logs' && $kind eq 'require_permission';
		# The place and not the text: a file has it more than once.
		$mutations[-1][2] = [ $at, length $from ];
	}
}

sub slurp
{
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!\n";
	local $/;
	return <$in>;
}

sub write_file
{
	my ($file, $text) = @_;
	open my $out, '>', $file or die "$file: $!\n";
	print $out $text;
	close $out;
}

sub run
{
	my ($log, @command) = @_;
	my $pid = fork // die "fork: $!\n";
	if ($pid == 0)
	{
		open STDOUT, '>>', $log;
		open STDERR, '>&', \*STDOUT;
		exec @command or exit 127;
	}
	waitpid $pid, 0;
	return $?;
}

# A place in the text is there once.
sub times_there
{
	my ($text, $there) = @_;
	return ref $there ? 1 : scalar(() = $text =~ /\Q$there\E/g);
}

# One mutation in the copy of the tree that is the working directory.
sub try_one
{
	my ($log, $name, $file, $from, $to, @rest) = @_;
	my @tests = grep { !ref } @rest;
	my %before;

	foreach my $edit ([ $file, $from, $to ], grep { ref } @rest)
	{
		my ($where, $there, $instead) = @$edit;
		my $text = slurp($where);
		my $n = times_there($text, $there);
		$before{$where} //= $text;
		if ($n != 1)
		{
			write_file($_, $before{$_}) foreach keys %before;
			return "stale: its text is $n times in $where";
		}
		if (ref $there)
		{
			substr($text, $there->[0], $there->[1]) = $instead;
		}
		else
		{
			$text =~ s/\Q$there\E/$instead/;
		}
		write_file($where, $text);
	}
	# Programs that tests run: all of t/ one, tests of the gateway alone another.
	my @targets = ('tmp-install', (grep { m{/t/} } @tests) ? 'build/unit/openapi' : (),
		(grep { m{/gateway/} } @tests) ? 'build/unit/gateway_host_checked' : (),
		(grep { m{/node_clocks} } @tests) ? 'build/unit/clock.so' : ());
	my $result = run($log, 'make', '-s', 'DEBUG=1', @targets) == 0 ? 'SURVIVED' : 'does not build';
	if ($result eq 'SURVIVED')
	{
		foreach my $test (@tests)
		{
			next if run($log, 'env', 'PERL5OPT=-MFirstFailure', 'timeout', '300', 'test/run', $test) == 0;
			$result = 'killed by ' . $test =~ s{.*/}{}r;
			last;
		}
	}
	write_file($_, $before{$_}) foreach keys %before;
	return $result;
}

if (defined $ENV{FROM})
{
	shift @mutations while @mutations && $mutations[0][0] ne $ENV{FROM};
	die "there is no mutation '$ENV{FROM}'\n" if !@mutations;
}
@mutations = grep { $_->[0] =~ $pattern } @mutations;
if (@ARGV && $ARGV[0] eq '--stale')
{
	foreach my $m (@mutations)
	{
		my ($name, $file, $from, undef, @rest) = @$m;
		foreach my $edit ([ $file, $from ], grep { ref } @rest)
		{
			print "$edit->[0]: mutation '$name' is stale\n" if times_there(slurp($edit->[0]), $edit->[1]) != 1;
		}
		print "$_: mutation '$name' names a test that is not there\n" foreach grep { !ref && !-e } @rest;
	}
	exit 0;
}
# Without a mutation all of them must pass.
my %tests = map { $_ => 1 } grep { !ref } map { @$_[ 4 .. $#$_ ] } @mutations;
$ENV{CHECKED} || system('test/run', sort keys %tests) == 0 or die "the tests fail as they are\n";
my $folder = tempdir('logsvc-mutation.XXXXXX', TMPDIR => 1, CLEANUP => 1);
$jobs = @mutations if $jobs > @mutations;
my @children;
foreach my $job (0 .. $jobs - 1)
{
	my $pid = fork // die "fork: $!\n";
	push @children, $pid;
	next if $pid;
	$SIG{$_} = sub { exit 1 } foreach qw(INT TERM HUP);
	my $tree = "$folder/tree$job";
	mkdir $tree;
	# With the object files: only what is mutated is compiled.
	system("cd '$top' && tar -c --exclude=./.git --exclude=./build . | tar -x -C '$tree'"
		  . " && mkdir -p '$tree/build' && cp -a build/flags '$tree/build/'") == 0 or die "copy failed\n";
	chdir $tree or die "$tree: $!\n";
	for (my $i = $job; $i < @mutations; $i += $jobs)
	{
		my $since = time;
		my $result = try_one("$folder/log$job", @{ $mutations[$i] });
		write_file("$folder/result$i", $result);
		printf "%-60s %s (%d s)\n", $mutations[$i][0], $result, time - $since;
	}
	exit 0;
}
$SIG{$_} = sub { kill TERM => @children; exit 1 } foreach qw(INT TERM HUP);
$| = 1;
waitpid $_, 0 foreach @children;

my %count;
my @bad;
foreach my $i (0 .. $#mutations)
{
	my $result = -e "$folder/result$i" ? slurp("$folder/result$i") : 'not run';
	my $killed = $result =~ /^killed/;
	$count{ $killed ? 'killed' : 'not killed' }++;
	push @bad, "$mutations[$i][0] ($mutations[$i][1]): $result" unless $killed;
}
printf "%d mutations, %d killed\n", scalar @mutations, $count{killed} // 0;
print "not killed: $_\n" foreach @bad;
exit(@bad ? 1 : 0);
