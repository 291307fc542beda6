/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  All settings, in one table each way: docs/settings.md is checked
 *	  against pg_settings by a test.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include <limits.h>

#include "utils/guc.h"

#include "src/base/listener.h"

char *ls_database = NULL;
char *ls_listen_addresses = NULL;
int ls_port = 8080;
char *ls_syslog_listeners = NULL;
char *ls_tls_certificate = NULL;
char *ls_tls_key = NULL;
int ls_acceptors = 1;
int ls_executors = 4;
int ls_evaluators = 1;
int ls_writers = 4;
int ls_compactors = 1;
int ls_health_workers = 1;
int ls_exporters = 1;
int ls_alert_workers = 1;
int ls_max_pool_workers = 16;
int ls_max_active_organizations = 8192;
int ls_queue_limit = 100000;
int ls_deferred_limit = 10240;
int ls_export_space = 1024;
int ls_flush_interval = 1000;
int ls_search_memory = -1;
int ls_search_rows = 10000000;
int ls_search_temp_limit = 10 * 1024 * 1024;
#ifdef LS_STOP_POINTS
int ls_debug_groups = -1;
#endif
int ls_search_workers = -1;
int ls_search_workers_after = 10;
int ls_store_timeout = 300000;
int ls_snapshot_timeout = 30000;
int ls_reservation_timeout = 10000;
int ls_queue_wait = 2000;
int ls_batch_events = LS_BATCH_EVENTS;
int ls_model_provider = LS_MODEL_BUILTIN;
char *ls_model_endpoint = NULL;
char *ls_model_region = NULL;
char *ls_model_endpoint_region = NULL;
char *ls_model_key_file = NULL;
char *ls_ca_file = NULL;
char *ls_smtp_url = NULL;
char *ls_smtp_from = NULL;
char *ls_smtp_user = NULL;
char *ls_smtp_password_file = NULL;
int ls_smtp_tls = LS_SMTP_TLS_AUTO;
char *ls_public_url = NULL;
bool ls_serve_console = true;
char *ls_console_directory = NULL;
char *ls_operator_email = NULL;
int ls_plan_changes = LS_PLANS_REQUESTED;
int ls_limits = LS_LIMITS_SPECIFICATION;
bool ls_builtin_needs_credits = true;
char *ls_trusted_proxies = NULL;
char *ls_webhook_networks = NULL;
char *ls_operator_networks = NULL;
char *ls_metrics_token_file = NULL;
int ls_password_cost = LS_PASSWORD_COST_MIN;
char *ls_breached_passwords_file = NULL;
char *ls_breached_passwords_url = NULL;
char *ls_allowed_origins = NULL;
char *ls_ingest_origins = NULL;
bool ls_sign_up = true;
bool ls_shared_links = true;
bool ls_status_probe = true;
bool ls_use_day_filters = false;
int ls_mode = LS_MODE_NORMAL;
char *ls_oauth_google_issuer = NULL;
char *ls_oauth_google_client_id = NULL;
char *ls_oauth_google_secret_file = NULL;
char *ls_oauth_google_authority_domains = NULL;
char *ls_oauth_github_authorize_url = NULL;
char *ls_oauth_github_token_url = NULL;
char *ls_oauth_github_user_url = NULL;
char *ls_oauth_github_client_id = NULL;
char *ls_oauth_github_secret_file = NULL;
char *ls_oauth_github_authority_domains = NULL;
int ls_connection_limit = 1000;
int ls_header_timeout = 10000;
int ls_body_timeout = 60000;
int ls_idle_timeout = 75000;
int ls_query_timeout = 30000;
int ls_lock_timeout = 1000;
int ls_standby_max_lag = 60000;

static const struct config_enum_entry providers[] = {{"builtin", LS_MODEL_BUILTIN, false},
													 {"anthropic", LS_MODEL_ANTHROPIC, false},
													 {"bedrock", LS_MODEL_BEDROCK, false},
													 {"openai", LS_MODEL_OPENAI, false},
													 {NULL, 0, false}};

static const struct config_enum_entry smtp_tls[] = {{"auto", LS_SMTP_TLS_AUTO, false},
													{"required", LS_SMTP_TLS_REQUIRED, false},
													{"never", LS_SMTP_TLS_NEVER, false},
													{NULL, 0, false}};

static const struct config_enum_entry plan_changes[] = {
	{"request", LS_PLANS_REQUESTED, false}, {"self", LS_PLANS_SELF, false}, {NULL, 0, false}};

static const struct config_enum_entry limits[] = {{"specification", LS_LIMITS_SPECIFICATION, false},
												  {"generous", LS_LIMITS_GENEROUS, false},
												  {NULL, 0, false}};

static const struct config_enum_entry modes[] = {
	{"normal", LS_MODE_NORMAL, false}, {"restored", LS_MODE_RESTORED, false}, {NULL, 0, false}};

/* Without user and password: settings can be seen. */
static bool
check_smtp_url(char **value, void **extra, GucSource source)
{
	if (strchr(*value, '@') == NULL)
		return true;
	GUC_check_errdetail("The URL must not name a user or a password.");
	GUC_check_errhint("Use logsvc.smtp_user and logsvc.smtp_password_file.");
	return false;
}

/* Roughly: what no mail server would take is a mistake in the file. */
static bool
check_addresses(char **value, void **extra, GucSource source)
{
	ls_str rest = ls_str_of_cstring(*value);

	while (rest.len > 0)
	{
		const char *comma = memchr(rest.data, ',', rest.len);
		size_t len = comma != NULL ? (size_t) (comma - rest.data) : rest.len;
		const char *at;
		size_t end = len;
		size_t start = 0;

		while (start < end && rest.data[start] == ' ')
			start++;
		while (end > start && rest.data[end - 1] == ' ')
			end--;
		at = end > start ? memchr(rest.data + start, '@', end - start) : NULL;
		if (at == NULL || at == rest.data + start || at == rest.data + end - 1)
		{
			GUC_check_errdetail("Addresses are written as name@example.org, comma-separated.");
			return false;
		}
		len += comma != NULL;
		rest = ls_str_make(rest.data + len, rest.len - len);
	}
	return true;
}

static void
string_setting(const char *name, const char *what, char **variable, const char *value,
			   GucContext context, int flags)
{
	DefineCustomStringVariable(name, what, NULL, variable, value, context, flags, NULL, NULL, NULL);
}

static void
int_setting(const char *name, const char *what, int *variable, int value, int min, int max,
			GucContext context, int flags)
{
	DefineCustomIntVariable(name, what, NULL, variable, value, min, max, context, flags, NULL, NULL,
							NULL);
}

static bool
check_networks(char **value, void **extra, GucSource source)
{
	if (*value == NULL || ls_networks_valid(ls_str_of_cstring(*value)))
		return true;
	GUC_check_errdetail("Networks are written as 10.0.0.0/8 or 2001:db8::/32.");
	return false;
}

static bool
check_listeners(char **value, void **extra, GucSource source)
{
	ls_str list = ls_str_of_cstring(*value);
	ls_listener_entry entry;
	const char *error = NULL;
	int n = 0;

	while (ls_listener_next(&list, &entry, &error))
		n++;
	if (error == NULL && n <= LS_LISTENERS)
		return true;
	if (error == NULL)
		GUC_check_errdetail("There may be at most %d entries.", LS_LISTENERS);
	else
		GUC_check_errdetail("%s", error);
	GUC_check_errhint("An entry is written as tcp:5514=acme or tls:10.0.0.5:6514=acme/web.");
	return false;
}

/*
 * Settings of the workers.  PGC_POSTMASTER ones exist only when logsvc is
 * preloaded: defining them later is an error of the server.
 */
static void
register_start_settings(void)
{
	string_setting("logsvc.database", "Database in which logsvc runs.", &ls_database, "postgres",
				   PGC_POSTMASTER, 0);
	string_setting("logsvc.listen_addresses", "Addresses that the HTTP gateway listens on.",
				   &ls_listen_addresses, "127.0.0.1", PGC_POSTMASTER, GUC_LIST_INPUT);
	int_setting("logsvc.port", "Port of the HTTP gateway.", &ls_port, 8080, 1, 65535,
				PGC_POSTMASTER, 0);
	int_setting("logsvc.max_pool_workers", "Largest size that a reload may give to a worker pool.",
				&ls_max_pool_workers, 16, 1, 64, PGC_POSTMASTER, 0);
	int_setting("logsvc.max_active_organizations",
				"Organizations that may be active at a time without delay; tables in shared memory "
				"have room for them.",
				&ls_max_active_organizations, 8192, 128, 1048576, PGC_POSTMASTER, 0);
}

/* Identity providers: one of OpenID Connect, one of plain OAuth 2. */
static void
register_oauth_settings(void)
{
	string_setting("logsvc.oauth_google_issuer", "Issuer of the OpenID Connect provider.",
				   &ls_oauth_google_issuer, "https://accounts.google.com", PGC_SIGHUP, 0);
	string_setting("logsvc.oauth_google_client_id",
				   "Client id at the OpenID Connect provider; empty disables it.",
				   &ls_oauth_google_client_id, "", PGC_SIGHUP, 0);
	string_setting(
		"logsvc.oauth_google_authority_domains",
		"Mail domains for which the OpenID Connect provider is the authority on addresses.",
		&ls_oauth_google_authority_domains, "", PGC_SIGHUP, 0);
	string_setting("logsvc.oauth_github_authority_domains",
				   "Mail domains for which the OAuth 2 provider is the authority on addresses.",
				   &ls_oauth_github_authority_domains, "", PGC_SIGHUP, 0);
	string_setting("logsvc.oauth_google_client_secret_file",
				   "File with the client secret at the OpenID Connect provider.",
				   &ls_oauth_google_secret_file, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	string_setting(
		"logsvc.oauth_github_authorize_url", "Authorization endpoint of the OAuth 2 provider.",
		&ls_oauth_github_authorize_url, "https://github.com/login/oauth/authorize", PGC_SIGHUP, 0);
	string_setting("logsvc.oauth_github_token_url", "Token endpoint of the OAuth 2 provider.",
				   &ls_oauth_github_token_url, "https://github.com/login/oauth/access_token",
				   PGC_SIGHUP, 0);
	string_setting("logsvc.oauth_github_user_url", "User endpoint of the OAuth 2 provider.",
				   &ls_oauth_github_user_url, "https://api.github.com/user", PGC_SIGHUP, 0);
	string_setting("logsvc.oauth_github_client_id",
				   "Client id at the OAuth 2 provider; empty disables it.",
				   &ls_oauth_github_client_id, "", PGC_SIGHUP, 0);
	string_setting("logsvc.oauth_github_client_secret_file",
				   "File with the client secret at the OAuth 2 provider.",
				   &ls_oauth_github_secret_file, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);
}

void
ls_guc_register(bool preloaded)
{
	if (preloaded)
		register_start_settings();

	string_setting("logsvc.tls_certificate", "PEM file with the gateway's certificate chain.",
				   &ls_tls_certificate, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	string_setting("logsvc.tls_key", "PEM file with the gateway's private key.", &ls_tls_key, "",
				   PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	DefineCustomStringVariable("logsvc.syslog_listeners",
							   "Ports on which syslog and GELF are taken, and for whom.", NULL,
							   &ls_syslog_listeners, "", PGC_SIGHUP,
							   GUC_SUPERUSER_ONLY | GUC_LIST_INPUT, check_listeners, NULL, NULL);
	int_setting("logsvc.connection_limit", "Largest number of open HTTP connections.",
				&ls_connection_limit, 1000, 16, 65536, PGC_SIGHUP, 0);
	int_setting("logsvc.header_timeout", "Time for the headers of a request to arrive.",
				&ls_header_timeout, 10000, 100, 600000, PGC_SIGHUP, GUC_UNIT_MS);
	int_setting("logsvc.body_timeout", "Time for the body of a request to arrive.",
				&ls_body_timeout, 60000, 100, 3600000, PGC_SIGHUP, GUC_UNIT_MS);
	int_setting("logsvc.idle_timeout", "Time after which an idle HTTP connection is closed.",
				&ls_idle_timeout, 75000, 100, 3600000, PGC_SIGHUP, GUC_UNIT_MS);

	int_setting("logsvc.acceptors", "Workers that decode events and put them into the queue.",
				&ls_acceptors, 1, 1, 64, PGC_SIGHUP, 0);
	int_setting("logsvc.executors", "Workers that run searches and management requests.",
				&ls_executors, 4, 1, 64, PGC_SIGHUP, 0);
	int_setting("logsvc.evaluators", "Workers that run evaluations.", &ls_evaluators, 1, 1, 64,
				PGC_SIGHUP, 0);
	int_setting("logsvc.writers", "Workers that write queued events to the store.", &ls_writers, 4,
				1, 64, PGC_SIGHUP, 0);
	int_setting("logsvc.compactors",
				"Workers that merge small parts of the store and remove expired events.",
				&ls_compactors, 1, 0, 64, PGC_SIGHUP, 0);
	int_setting("logsvc.alert_workers", "Workers that evaluate alert rules.", &ls_alert_workers, 1,
				0, 16, PGC_SIGHUP, 0);
	int_setting("logsvc.health_workers", "Workers that compute services and KPIs.",
				&ls_health_workers, 1, 0, 64, PGC_SIGHUP, 0);

	int_setting("logsvc.exporters", "Workers that run scheduled exports.", &ls_exporters, 1, 0, 64,
				PGC_SIGHUP, 0);
	int_setting("logsvc.export_space",
				"Size that the files of scheduled exports of one organization may have together.",
				&ls_export_space, 1024, 1, INT_MAX, PGC_SIGHUP, GUC_UNIT_MB);

	int_setting("logsvc.queue_limit", "Largest number of events waiting in the queue.",
				&ls_queue_limit, 100000, 1000, INT_MAX / 2, PGC_SIGHUP, 0);
	int_setting("logsvc.reservation_timeout",
				"Time for which an open transaction keeps its room in the queue reserved.",
				&ls_reservation_timeout, 10000, 100, 3600000, PGC_SIGHUP, GUC_UNIT_MS);
	int_setting("logsvc.queue_wait", "Time that a request waits for room in the queue.",
				&ls_queue_wait, 2000, 0, 10000, PGC_SIGHUP, GUC_UNIT_MS);
	int_setting("logsvc.batch_events",
				"Number of waiting events at which writers begin to store them.", &ls_batch_events,
				LS_BATCH_EVENTS, 100, 65536, PGC_SIGHUP, 0);
	int_setting("logsvc.deferred_limit",
				"Amount of JSON that may wait in the deferred store, over all organizations.",
				&ls_deferred_limit, 10240, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MB);
	int_setting("logsvc.flush_interval", "Longest time that an event waits for its batch to fill.",
				&ls_flush_interval, 1000, 10, 5000, PGC_SIGHUP, GUC_UNIT_MS);
	int_setting("logsvc.store_timeout",
				"Time for which the store may fail before events move to the dead letters.",
				&ls_store_timeout, 300000, 1000, 86400000, PGC_SIGHUP, GUC_UNIT_MS);
	int_setting(
		"logsvc.search_memory",
		"Memory that one search may use; -1: a third of the machine's, shared by all executors.",
		&ls_search_memory, -1, -1, 1024 * 1024 * 1024, PGC_SUSET, GUC_UNIT_KB);
	int_setting("logsvc.search_rows", "Rows that one search may scan, in thousands.",
				&ls_search_rows, 10000000, 1, INT_MAX / 2, PGC_SUSET, 0);
	int_setting("logsvc.search_temp_limit",
				"Temporary files that one search may use; -1: only temp_file_limit counts.",
				&ls_search_temp_limit, 10 * 1024 * 1024, -1, INT_MAX, PGC_SUSET, GUC_UNIT_KB);
#ifdef LS_STOP_POINTS
	int_setting("logsvc.debug_groups", "Memory of groups that a search does not spill; -1: half.",
				&ls_debug_groups, -1, -1, INT_MAX, PGC_SUSET,
				GUC_UNIT_KB | GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE);
#endif
	int_setting("logsvc.search_workers",
				"Parallel workers that all searches together may use; -1: half of the CPUs.",
				&ls_search_workers, -1, -1, 64, PGC_SUSET, 0);
	int_setting("logsvc.search_workers_after",
				"Time that a search runs alone before it starts parallel workers.",
				&ls_search_workers_after, 10, 0, 60000, PGC_SUSET, GUC_UNIT_MS);
	int_setting("logsvc.snapshot_timeout",
				"Time for which the queue keeps stored events for snapshots that see them there.",
				&ls_snapshot_timeout, 30000, 1000, 3600000, PGC_SIGHUP, GUC_UNIT_MS);
	int_setting("logsvc.query_timeout", "Time limit of a request that an executor runs.",
				&ls_query_timeout, 30000, 100, 600000, PGC_SIGHUP, GUC_UNIT_MS);
	int_setting("logsvc.lock_timeout",
				"Time for which a request that does not read events waits for a lock.",
				&ls_lock_timeout, 1000, 10, 600000, PGC_SIGHUP, GUC_UNIT_MS);
	int_setting(
		"logsvc.standby_max_lag",
		"Age of what a standby knows of its primary beyond which it answers nothing; 0: any.",
		&ls_standby_max_lag, 60000, 0, 86400000, PGC_SIGHUP, GUC_UNIT_MS);

	DefineCustomEnumVariable("logsvc.model_provider", "Who runs evaluations.", NULL,
							 &ls_model_provider, LS_MODEL_BUILTIN, providers, PGC_SIGHUP, 0, NULL,
							 NULL, NULL);
	string_setting("logsvc.model_endpoint", "Base URL of the model provider.", &ls_model_endpoint,
				   "", PGC_SIGHUP, 0);
	string_setting("logsvc.model_region",
				   "Region in which evaluations run; must be in the European Union.",
				   &ls_model_region, "", PGC_SIGHUP, 0);
	string_setting("logsvc.model_endpoint_region",
				   "Region in the European Union that the operator declares logsvc.model_endpoint "
				   "to be in.",
				   &ls_model_endpoint_region, "", PGC_SIGHUP, 0);
	string_setting("logsvc.model_key_file", "File with the model provider's key.",
				   &ls_model_key_file, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	string_setting("logsvc.ca_file",
				   "PEM file with the certificate authorities that calls to other services trust, "
				   "instead of the system's.",
				   &ls_ca_file, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	DefineCustomStringVariable(
		"logsvc.smtp_url", "Mail server, as smtp://host:port or smtps://host:port.", NULL,
		&ls_smtp_url, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY, check_smtp_url, NULL, NULL);
	string_setting("logsvc.smtp_from", "Sender of mail, as address or Name <address>.",
				   &ls_smtp_from, "", PGC_SIGHUP, 0);
	string_setting("logsvc.smtp_user", "User name at the mail server.", &ls_smtp_user, "",
				   PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	string_setting("logsvc.smtp_password_file", "File with the password at the mail server.",
				   &ls_smtp_password_file, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	DefineCustomEnumVariable("logsvc.smtp_tls", "Whether an smtp:// connection must use STARTTLS.",
							 NULL, &ls_smtp_tls, LS_SMTP_TLS_AUTO, smtp_tls, PGC_SIGHUP, 0, NULL,
							 NULL, NULL);
	DefineCustomEnumVariable(
		"logsvc.plan_changes", "Who decides about larger plans of organizations.", NULL,
		&ls_plan_changes, LS_PLANS_REQUESTED, plan_changes, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("logsvc.limits",
							 "Rate limits: those of the specification, or those for a server of "
							 "one's own.",
							 NULL, &ls_limits, LS_LIMITS_SPECIFICATION, limits, PGC_SIGHUP, 0, NULL,
							 NULL, NULL);
	DefineCustomStringVariable(
		"logsvc.operator_email", "Mail addresses of operators, comma-separated.", NULL,
		&ls_operator_email, "", PGC_SIGHUP, GUC_LIST_INPUT, check_addresses, NULL, NULL);
	DefineCustomBoolVariable(
		"logsvc.builtin_needs_credits",
		"Refuses the built-in evaluator when an organization's AI credits are used up.", NULL,
		&ls_builtin_needs_credits, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	string_setting("logsvc.public_url", "URL at which users reach the service.", &ls_public_url, "",
				   PGC_SIGHUP, 0);
	DefineCustomBoolVariable("logsvc.console", "Serves the web console.", NULL, &ls_serve_console,
							 true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	string_setting("logsvc.console_directory",
				   "Folder with the files of the web console; empty: where they are installed.",
				   &ls_console_directory, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	DefineCustomStringVariable(
		"logsvc.trusted_proxies",
		"Networks of proxies whose X-Forwarded-For is trusted, comma-separated.", NULL,
		&ls_trusted_proxies, "", PGC_SIGHUP, GUC_LIST_INPUT, check_networks, NULL, NULL);
	DefineCustomStringVariable(
		"logsvc.webhook_networks",
		"Networks that webhooks and uploads may reach although private, comma-separated.", NULL,
		&ls_webhook_networks, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY | GUC_LIST_INPUT, check_networks,
		NULL, NULL);

	DefineCustomStringVariable("logsvc.operator_networks",
							   "Networks from which GET /metrics may be read, comma-separated.",
							   NULL, &ls_operator_networks, "127.0.0.0/8, ::1/128", PGC_SIGHUP,
							   GUC_SUPERUSER_ONLY | GUC_LIST_INPUT, check_networks, NULL, NULL);
	string_setting("logsvc.metrics_token_file",
				   "File with a token that GET /metrics requires; empty: none is required.",
				   &ls_metrics_token_file, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);

	int_setting("logsvc.password_cost", "Memory of password hashes: scrypt with N = 2^this.",
				&ls_password_cost, LS_PASSWORD_COST_MIN, LS_PASSWORD_COST_MIN, LS_PASSWORD_COST_MAX,
				PGC_SIGHUP, 0);
	string_setting("logsvc.breached_passwords_file",
				   "File with the SHA-1 of breached passwords, sorted.",
				   &ls_breached_passwords_file, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	string_setting("logsvc.breached_passwords_url",
				   "Service that is asked for breached passwords by the first 5 digits of a SHA-1.",
				   &ls_breached_passwords_url, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY);
	string_setting(
		"logsvc.allowed_origins",
		"Further origins whose pages may use sessions, in addition to that of logsvc.public_url.",
		&ls_allowed_origins, "", PGC_SIGHUP, GUC_LIST_INPUT);
	string_setting("logsvc.ingest_origins",
				   "Origins whose pages may send events with an ingest-only key; * for all.",
				   &ls_ingest_origins, "", PGC_SIGHUP, GUC_LIST_INPUT);
	DefineCustomBoolVariable("logsvc.sign_up", "Lets users create accounts for themselves.", NULL,
							 &ls_sign_up, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("logsvc.shared_links",
							 "Lets dashboards be read by whoever has a link to them.", NULL,
							 &ls_shared_links, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("logsvc.status_probe",
							 "Sends an event each minute and searches for it, for the status.",
							 NULL, &ls_status_probe, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("logsvc.day_filters",
							 "Makes filters of past days, which searches for rare values ask.",
							 NULL, &ls_use_day_filters, false, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("logsvc.mode",
							 "Whether this server is a restored copy, which sends nothing.", NULL,
							 &ls_mode, LS_MODE_NORMAL, modes, PGC_SIGHUP, 0, NULL, NULL, NULL);
	register_oauth_settings();

	MarkGUCPrefixReserved("logsvc");
}
