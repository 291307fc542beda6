/*-------------------------------------------------------------------------
 *
 * prober.c
 *	  The loop of the prober: each minute it sends an event over HTTP and searches for it, and
 *	  shows the status.
 *
 * It asks as a client does, through the gateway's own port, with keys of an organization that
 * nobody is a member of.  The keys are made when the prober starts and each day, and are in its
 * memory only.  No transaction is open while it waits for an answer.
 *
 * On a standby it sends nothing and notes nothing, but shows what the primary has noted, and looks
 * up the figures, which the scheduler does elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/pmsignal.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/server/curl.h"
#include "src/server/metrics.h"
#include "src/workers/metrics_answer.h"
#include "src/workers/status_board.h"

#define ANSWER_TIME 10000 /* ms, for each answer */
#define FIND_TIME 10000   /* ms from the acceptance of the event until it is found */
#define FIND_AGAIN 250    /* ms between two searches */
#define START_TIME 15000  /* ms that the other workers have to come up */
#define KEY_LIFE (24 * USECS_PER_HOUR)
#define RETRY_WAIT 5000 /* ms, after a transaction that failed */
#define REPLY_LIMIT 65536
#define URL_SIZE 512
#define SECRET_SIZE 128
#define EVENT_ID_LENGTH 30

typedef struct probe
{
	bool write_ended;
	bool evaluation_ended;
	bool search_ended;
	bool evaluation_ok;
	int write_ms;      /* -1: the event was not accepted */
	int searchable_ms; /* -1: it was not found */
	TimestampTz begun;
	TimestampTz accepted;
	TimestampTz search_again; /* 0: a search is under way, or none is wanted */
	char word[33];
	char event_id[EVENT_ID_LENGTH + 1];
} probe;

static probe current;
static char base[URL_SIZE];
static char ingest_key[SECRET_SIZE];
static char read_key[SECRET_SIZE];
static TimestampTz keys_made = 0;
static char said[256];

static void
complain(const char *what)
{
	if (strcmp(said, what) == 0)
		return;
	strlcpy(said, what, sizeof(said));
	ereport(LOG, errmsg("logsvc cannot tell its status: %s", what));
}

/* ---- where the gateway listens ---- */

/* The first address of logsvc.listen_addresses; one for all addresses is that of this machine. */
static void
find_gateway(void)
{
	const char *p = ls_listen_addresses + strspn(ls_listen_addresses, " ");
	char host[256];

	strlcpy(host, p, Min(strcspn(p, ", ") + 1, sizeof(host)));
	if (strcmp(host, "*") == 0 || strcmp(host, "0.0.0.0") == 0 || host[0] == '\0')
		strlcpy(host, "127.0.0.1", sizeof(host));
	else if (strcmp(host, "::") == 0)
		strlcpy(host, "::1", sizeof(host));
	snprintf(base, sizeof(base), strchr(host, ':') != NULL ? "%s://[%s]:%d" : "%s://%s:%d",
			 ls_is_set(ls_tls_certificate) ? "https" : "http", host, ls_port);
}

/* ---- requests ---- */

static void
ask(const char *path, const char *key, const char *body,
	void (*done)(void *context, const ls_curl_reply *reply))
{
	char url[URL_SIZE + 256];
	char authorization[SECRET_SIZE + 8];
	ls_header headers[2] = {{LS_STR("Authorization"), LS_STR("")},
							{LS_STR("Content-Type"), LS_STR("application/json")}};
	ls_curl_request request = {.protocols = LS_CURL_HTTP | LS_CURL_HTTPS,
							   .connect_timeout = ANSWER_TIME,
							   .timeout = ANSWER_TIME,
							   .reply_limit = REPLY_LIMIT,
							   .own_server = true,
							   .headers = headers,
							   .header_count = body[0] == '\0' ? 1 : 2};

	snprintf(url, sizeof(url), "%s%s", base, path);
	snprintf(authorization, sizeof(authorization), "Bearer %s", key);
	headers[0].value = ls_str_of_cstring(authorization);
	request.url = ls_str_of_cstring(url);
	request.body = ls_str_of_cstring(body);
	ls_curl_start(ls_curl_client(), &request, done, NULL);
}

static int
milliseconds_since(TimestampTz t)
{
	return (int) TimestampDifferenceMilliseconds(t, GetCurrentTimestamp());
}

/* An evaluator answers, and says that a key is no token: so it works up to that. */
static void
evaluation_answered(void *context, const ls_curl_reply *reply)
{
	current.evaluation_ended = true;
	current.evaluation_ok =
		reply->outcome == LS_CURL_OK && (reply->status == 401 || reply->status == 429);
}

static bool
contains(ls_str text, const char *part)
{
	return text.len > 0 && memmem(text.data, text.len, part, strlen(part)) != NULL;
}

static void search(void);

static void
search_answered(void *context, const ls_curl_reply *reply)
{
	if (reply->outcome == LS_CURL_OK && reply->status == 200 &&
		contains(reply->body, current.event_id))
		current.searchable_ms = milliseconds_since(current.accepted);
	else if (milliseconds_since(current.accepted) + FIND_AGAIN < FIND_TIME)
	{
		current.search_again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), FIND_AGAIN);
		return;
	}
	current.search_ended = true;
}

static void
search(void)
{
	char path[128];

	current.search_again = 0;
	snprintf(path, sizeof(path), "/api/v1/search?q=%s&earliest=-15m", current.word);
	ask(path, read_key, "", search_answered);
}

static void
write_answered(void *context, const ls_curl_reply *reply)
{
	const char *id = NULL;

	current.write_ended = true;
	if (reply->outcome == LS_CURL_OK && reply->status == 202 && reply->body.len > EVENT_ID_LENGTH)
		id = memmem(reply->body.data, reply->body.len - EVENT_ID_LENGTH, "evt_", 4);
	if (id == NULL)
	{
		current.search_ended = true;
		/* Somebody has taken the keys away: others will do. */
		if (reply->status == 401 || reply->status == 403)
			keys_made = 0;
		return;
	}
	current.accepted = GetCurrentTimestamp();
	current.write_ms = milliseconds_since(current.begun);
	memcpy(current.event_id, id, EVENT_ID_LENGTH);
	search();
}

static void
start_probe(void)
{
	uint8 random[16];
	char body[256];

	find_gateway();
	current = (probe){.write_ms = -1, .searchable_ms = -1, .begun = GetCurrentTimestamp()};
	ls_random_bytes(random, sizeof(random));
	ls_hex(random, sizeof(random), current.word);
	snprintf(body, sizeof(body), "{\"event\":\"probe %s\",\"level\":\"info\",\"source\":\"probe\"}",
			 current.word);
	ask("/api/v1/logs", ingest_key, body, write_answered);
	ask("/api/v1/evaluations/run-adhoc", ingest_key, "{}", evaluation_answered);
}

/* ---- transactions ---- */

static void
copy_result(int column, char *out, size_t size)
{
	bool isnull;
	Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);

	strlcpy(out, isnull ? "" : TextDatumGetCString(value), size);
}

static void
make_keys(void *context)
{
	if (SPI_execute("SELECT k.ingest_key, k.read_key FROM logsvc_internal.begin_probe() AS k",
					false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not make the keys of the probe");
	copy_result(1, ingest_key, sizeof(ingest_key));
	copy_result(2, read_key, sizeof(read_key));
}

static ls_str
result_text(int column)
{
	bool isnull;
	Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);

	return isnull ? LS_STR("") : ls_str_of_text(DatumGetTextPP(value));
}

static bool
is_running(ls_worker_kind kind)
{
	for (int i = 0; i < LS_MAX_POOL; i++)
	{
		if (ls_slot_get(kind, i)->state == LS_SLOT_RUNNING)
			return true;
	}
	return false;
}

typedef struct finding
{
	bool looked; /* is there anything to note? */
	bool probed;
	int n_failed;
	Datum failed[8];
} finding;

static void
add_failed(finding *f, bool failed, const char *component)
{
	if (failed)
		f->failed[f->n_failed++] = CStringGetTextDatum(component);
}

/* The figures of the last probe; without one they are gone. */
static void
show_probe(bool probed)
{
	ls_metric_unset(LS_M_PROBE_SEARCHABLE);
	if (!probed)
	{
		ls_metric_unset(LS_M_PROBE_SUCCESS);
		return;
	}
	ls_metric_set(LS_M_PROBE_SUCCESS, current.searchable_ms >= 0);
	if (current.searchable_ms >= 0)
		ls_metric_set(LS_M_PROBE_SEARCHABLE, current.searchable_ms / 1000.0);
}

/* Notes what was found, and shows the documents. */
static void
note(void *context)
{
	finding *f = context;
	Oid types[] = {TEXTARRAYOID, BOOLOID, INT4OID, INT4OID};
	Datum values[4];
	char nulls[4] = {' ', ' ', ' ', ' '};

	f->n_failed = 0;
	add_failed(f, f->probed ? current.write_ms < 0 : !is_running(LS_WORKER_ACCEPTOR), "ingest");
	add_failed(f, f->probed ? current.searchable_ms < 0 : !is_running(LS_WORKER_EXECUTOR),
			   "search");
	add_failed(f, f->probed ? !current.evaluation_ok : !is_running(LS_WORKER_EVALUATOR),
			   "evaluation");
	add_failed(f, ls_workers_wanted(LS_WORKER_ALERTER) > 0 && !is_running(LS_WORKER_ALERTER),
			   "alerts");
	add_failed(f, ls_workers_wanted(LS_WORKER_NOTIFIER) > 0 && !is_running(LS_WORKER_NOTIFIER),
			   "mail");
	values[0] =
		PointerGetDatum(construct_array(f->failed, f->n_failed, TEXTOID, -1, false, TYPALIGN_INT));
	values[1] = BoolGetDatum(f->probed);
	values[2] = Int32GetDatum(current.write_ms);
	values[3] = Int32GetDatum(current.searchable_ms);
	if (!f->looked)
		nulls[0] = 'n';
	show_probe(f->probed);
	if (!f->probed || current.write_ms < 0)
		nulls[2] = 'n';
	if (!f->probed || current.searchable_ms < 0)
		nulls[3] = 'n';
	if (SPI_execute_with_args("SELECT s.json, s.page, s.policy"
							  " FROM logsvc_internal.note_status($1, $2, $3, $4) AS s",
							  4, types, values, nulls, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not note the status");
	if (!ls_status_board_show(result_text(1), result_text(2), result_text(3)))
		elog(ERROR, "the status is too large to be shown");
}

static bool
tell(bool looked, bool probed)
{
	finding f = {.looked = looked, .probed = probed};
	ls_caught caught;

	LS_STOP_POINT("prober_note");
	if (ls_transaction(note, &f, &caught))
	{
		said[0] = '\0';
		return true;
	}
	complain(caught.format);
	return false;
}

/* ---- the loop ---- */

/* Waits for transfers too.  False: the worker should exit. */
static bool
wait_for(long timeout)
{
	ls_curl_wait(ls_curl_client(), timeout);
	ls_curl_step(ls_curl_client());
	return ls_worker_interrupts() && PostmasterIsAlive();
}

/* A server that has just started is not down because its gateway is not there yet. */
static bool
await_service(void)
{
	TimestampTz start = GetCurrentTimestamp();

	while (!(ls_service_get()->listening && is_running(LS_WORKER_ACCEPTOR) &&
			 is_running(LS_WORKER_EXECUTOR) && is_running(LS_WORKER_EVALUATOR)) &&
		   milliseconds_since(start) < START_TIME)
	{
		if (!wait_for(100))
			return false;
	}
	return true;
}

static bool
run_probe(void)
{
	start_probe();
	while (!current.write_ended || !current.evaluation_ended || !current.search_ended)
	{
		TimestampTz now = GetCurrentTimestamp();

		if (current.search_again != 0 && current.search_again <= now)
			search();
		if (!wait_for(current.search_again == 0
						  ? 1000
						  : milliseconds_since(now) +
								TimestampDifferenceMilliseconds(now, current.search_again) + 1))
			return false;
	}
	return true;
}

/* Keys that are good for this probe; false: there are none. */
static bool
have_keys(void)
{
	ls_caught caught;

	if (keys_made != 0 && GetCurrentTimestamp() - keys_made < KEY_LIFE)
		return true;
	if (!ls_transaction(make_keys, NULL, &caught))
	{
		complain(caught.format);
		return false;
	}
	keys_made = GetCurrentTimestamp();
	return true;
}

/* Probes once; with other keys if somebody has taken these away.  False: the worker should exit. */
static bool
probe_and_tell(void)
{
	bool probed = false;

	for (int i = 0; i < 2 && ls_status_probe && (i == 0 || keys_made == 0) && have_keys(); i++)
	{
		if (!run_probe())
			return false;
		probed = true;
	}
	tell(probed || !ls_status_probe, probed);
	return true;
}

/* False: the worker should exit. */
static bool
await_next_minute(void)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz next = now + USECS_PER_MINUTE - now % USECS_PER_MINUTE;
	bool setting = ls_status_probe;
	bool standby = RecoveryInProgress();

	while ((now = GetCurrentTimestamp()) < next && setting == ls_status_probe &&
		   standby == RecoveryInProgress())
	{
		long left = TimestampDifferenceMilliseconds(now, next) + 1;

		if (!wait_for(standby ? Min(left, 1000) : left))
			return false;
	}
	return true;
}

void
ls_prober_loop(ls_slot *slot)
{
	/* There is something to show before the first probe has ended. */
	while (!tell(false, false))
	{
		if (!wait_for(RETRY_WAIT))
			return;
	}
	while (RecoveryInProgress())
	{
		ls_metrics_look_up();
		tell(false, false);
		if (!await_next_minute())
			return;
	}
	if (!await_service())
		return;
	while (probe_and_tell() && await_next_minute())
		;
}
