/*-------------------------------------------------------------------------
 *
 * password.c
 *	  Hashing passwords, how many at once, and whether one is known from a
 *	  breach.
 *
 * A hash takes tens of megabytes and tens of milliseconds of a processor, and
 * an executor can do nothing else meanwhile.  So that guessing passwords from
 * many addresses does not keep searches from running, only half of the
 * executors hash at a time, some more may wait for their turn, and at least one
 * (of two or more) is left for everything else; who comes beyond that gets 503
 * at once.  One of these places (of two or more) is for users in browsers of
 * theirs, whose turn is also the next one: or strangers with many addresses could
 * keep everybody from signing in.  SQL sessions have a process of their own and
 * need no place.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "src/identity/breach.h"
#include "src/server/curl.h"

PG_FUNCTION_INFO_V1(logsvc_password_hash);
PG_FUNCTION_INFO_V1(logsvc_password_hash_like);
PG_FUNCTION_INFO_V1(logsvc_password_matches);
PG_FUNCTION_INFO_V1(logsvc_password_outdated);
PG_FUNCTION_INFO_V1(logsvc_prefer_password);
PG_FUNCTION_INFO_V1(logsvc_password_breached);
PG_FUNCTION_INFO_V1(logsvc_breach_checks);

#define WAIT_MS 2000

/* ---- places ---- */

typedef struct places
{
	pg_atomic_uint32 inside;  /* hashing or waiting to */
	pg_atomic_uint32 hashing; /* at most half of the executors */
	pg_atomic_uint32 first;   /* waiting to hash before all others */
	ConditionVariable left;
} places;

static places *shared = NULL;
static bool inside = false;
static bool hashing = false;
static bool first = false;
static uint64 preferred = 0; /* id of the request that logsvc_prefer_password was called in */

static void
init_shared(void)
{
	pg_atomic_init_u32(&shared->inside, 0);
	pg_atomic_init_u32(&shared->hashing, 0);
	pg_atomic_init_u32(&shared->first, 0);
	ConditionVariableInit(&shared->left);
}

static const ls_shmem_item item = {"logsvc password hashing", sizeof(places), (void **) &shared,
								   init_shared};

void
ls_password_register(bool preloaded)
{
	if (preloaded)
		ls_shmem_add(&item);
}

static void
stop_waiting(void)
{
	if (first)
	{
		pg_atomic_fetch_sub_u32(&shared->first, 1);
		first = false;
		ConditionVariableBroadcast(&shared->left);
	}
}

static void
leave(void)
{
	stop_waiting();
	if (hashing)
	{
		pg_atomic_fetch_sub_u32(&shared->hashing, 1);
		hashing = false;
		ConditionVariableBroadcast(&shared->left);
	}
	if (inside)
	{
		pg_atomic_fetch_sub_u32(&shared->inside, 1);
		inside = false;
	}
}

static void
leave_at_exit(int code, Datum arg)
{
	leave();
}

/* Is it this one's turn to hash? */
static bool
start_hashing(void)
{
	if (!first && pg_atomic_read_u32(&shared->first) > 0)
		return false;
	return ls_place_take(&shared->hashing, (uint32) Max(ls_executors / 2, 1));
}

static void
enter(void)
{
	bool known = ls_request_current()->id == preferred;
	uint32 most = (uint32) Max(ls_executors - (known ? 1 : 2), 1);
	ls_time end = ls_now() + WAIT_MS * INT64_C(1000);

	if (!ls_place_take(&shared->inside, most))
		ls_raise(LS_ERROR_SERVICE_UNAVAILABLE);
	inside = true;
	if (known)
	{
		pg_atomic_fetch_add_u32(&shared->first, 1);
		first = true;
	}
	while (!(hashing = start_hashing()))
	{
		long left = (long) ((end - ls_now()) / 1000);

		if (left <= 0 ||
			ConditionVariableTimedSleep(&shared->left, left, ls_wait_event("LogsvcPassword")))
			break;
	}
	ConditionVariableCancelSleep();
	stop_waiting();
	if (!hashing)
		ls_raise(LS_ERROR_SERVICE_UNAVAILABLE);
}

/* Runs one of the operations below in a place of its own. */
typedef struct operation
{
	ls_str password;
	const char *stored; /* may be NULL */
	bool verify;
	bool matches;
	char *hash;
} operation;

static void
run_operation(operation *o)
{
	if (o->verify)
		o->matches = ls_password_verify(o->password, o->stored);
	else if (o->stored != NULL)
		o->hash = ls_password_hash_like(o->password, o->stored);
	else
		o->hash = ls_password_hash(o->password);
}

static void
run_in_place(operation *o)
{
	static bool registered = false;

	if (shared == NULL || ls_request_current() == NULL)
	{
		run_operation(o);
		return;
	}
	/* A FATAL while waiting passes by PG_FINALLY. */
	if (!registered)
		before_shmem_exit(leave_at_exit, 0);
	registered = true;
	PG_TRY();
	{
		enter();
		run_operation(o);
	}
	PG_FINALLY();
	{
		leave();
	}
	PG_END_TRY();
}

/*
 * In normal form C: keyboards differ in how they type one and the same letter.
 * What is beyond 256 characters does not count: nobody's is that long.
 */
static ls_str
password_of(ls_str given)
{
	text *cut =
		ls_text_of_str(ls_str_make(given.data, ls_utf8_prefix_chars(given.data, given.len, 256)));

	return ls_str_of_text(DatumGetTextPP(DirectFunctionCall2(
		unicode_normalize_func, PointerGetDatum(cut), CStringGetTextDatum("NFC"))));
}

static ls_str
password_argument(FunctionCallInfo fcinfo)
{
	return password_of(ls_str_of_text(PG_GETARG_TEXT_PP(0)));
}

/* password_hash(password text) returns text: scrypt with a new salt. */
Datum
logsvc_password_hash(PG_FUNCTION_ARGS)
{
	operation o = {password_argument(fcinfo)};

	run_in_place(&o);
	PG_RETURN_TEXT_P(cstring_to_text(o.hash));
}

/* password_hash_like(password text, hash text) returns text: with its salt and cost. */
Datum
logsvc_password_hash_like(PG_FUNCTION_ARGS)
{
	operation o = {password_argument(fcinfo), text_to_cstring(PG_GETARG_TEXT_PP(1))};

	run_in_place(&o);
	PG_RETURN_TEXT_P(cstring_to_text(o.hash));
}

/*
 * password_matches(password text, hash text) returns boolean.  Without a hash:
 * false, after the same work as with one.
 */
Datum
logsvc_password_matches(PG_FUNCTION_ARGS)
{
	operation o = {.verify = true};

	o.password = PG_ARGISNULL(0) ? LS_STR("") : password_argument(fcinfo);
	if (!PG_ARGISNULL(1))
		o.stored = text_to_cstring(PG_GETARG_TEXT_PP(1));
	run_in_place(&o);
	PG_RETURN_BOOL(o.matches);
}

/* prefer_password() returns void: this request may take the place that strangers cannot have. */
Datum
logsvc_prefer_password(PG_FUNCTION_ARGS)
{
	if (ls_request_current() != NULL)
		preferred = ls_request_current()->id;
	PG_RETURN_VOID();
}

/* password_outdated(hash text) returns boolean */
Datum
logsvc_password_outdated(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ls_password_outdated(text_to_cstring(PG_GETARG_TEXT_PP(0))));
}

/* ---- breaches ---- */

/* At most one line a minute: a broken file is no reason to fill the log. */
static void
complain(const char *what, const char *why)
{
	static ls_time last = 0;
	ls_time now = ls_now();

	if (now - last < INT64_C(60) * LS_USECS_PER_SEC)
		return;
	last = now;
	ereport(LOG, errmsg("logsvc could not look for a password in %s: %s", what, why),
			errdetail("Passwords are accepted without this check."));
}

static int64_t
read_at(void *context, uint64_t offset, char *buffer, size_t size)
{
	return pread(*(int *) context, buffer, size, (off_t) offset);
}

/* Opens logsvc.breached_passwords_file; -1 without one that can be read. */
static int
open_file(struct stat *status)
{
	const char *what = "logsvc.breached_passwords_file";
	int fd;

	if (!ls_is_set(ls_breached_passwords_file))
		return -1;
	/* Not blocking: or a pipe would hold the executor for ever. */
	fd = open(ls_breached_passwords_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
	{
		complain(what, strerror(errno));
		return -1;
	}
	if (fstat(fd, status) != 0 || !S_ISREG(status->st_mode))
	{
		complain(what, "it is not an ordinary file");
		close(fd);
		return -1;
	}
	return fd;
}

static ls_breach_result
search_file(const char hash[2 * LS_SHA1_LENGTH + 1])
{
	struct stat status;
	int fd = open_file(&status);
	ls_breach_result result = LS_BREACH_UNREADABLE;

	if (fd < 0)
		return result;
	result = ls_breach_search(read_at, &fd, (uint64_t) status.st_size, hash);
	if (result == LS_BREACH_UNREADABLE)
		complain("logsvc.breached_passwords_file",
				 "it is damaged, or not a sorted list of SHA1:count");
	close(fd);
	return result;
}

/* What the range service said about the password with this hash. */
static uint8 asked_hash[LS_SHA1_LENGTH];
static bool asked_found = false;

static void
ask(const char hash[2 * LS_SHA1_LENGTH + 1])
{
	static const ls_header padding = {LS_STR("Add-Padding"), LS_STR("true")};
	const char *what = "logsvc.breached_passwords_url";
	size_t len = strlen(ls_breached_passwords_url);
	bool slash = len > 0 && ls_breached_passwords_url[len - 1] == '/';
	ls_curl_request request = {
		.protocols = LS_CURL_HTTP | LS_CURL_HTTPS,
		.url = ls_str_of_cstring(
			psprintf("%s%s%.5s", ls_breached_passwords_url, slash ? "" : "/", hash)),
		.connect_timeout = 1000,
		.timeout = 2000,
		.reply_limit = 256 * 1024,
		.headers = &padding,
		.header_count = 1,
	};
	ls_curl_reply reply;

	ls_curl_perform(&request, &reply);
	if (reply.outcome != LS_CURL_OK)
		complain(what, reply.reason);
	else if (reply.status != 200)
		complain(what, psprintf("the service answered %d", reply.status));
	else
	{
		switch (ls_breach_in_range(reply.body, hash + 5))
		{
			case LS_BREACH_FOUND:
				asked_found = true;
				break;
			case LS_BREACH_ABSENT:
				break;
			case LS_BREACH_UNREADABLE:
				complain(what, "the answer is not a list of SUFFIX:count");
				break;
		}
	}
}

void
ls_password_ask(ls_str given)
{
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext context;
	ls_caught caught;

	Assert(!IsTransactionState());
	asked_found = false;
	if (!ls_is_set(ls_breached_passwords_url))
		return;
	context = AllocSetContextCreate(outer, "logsvc password", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		ls_str password = password_of(given);
		char hex[2 * LS_SHA1_LENGTH + 1];

		ls_sha1(password.data, password.len, asked_hash);
		ls_hex(asked_hash, sizeof(asked_hash), hex);
		if (!ls_breach_is_common(password))
			ask(hex);
	}
	PG_CATCH();
	{
		ls_catch_error(context, &caught);
		complain("logsvc.breached_passwords_url", caught.format);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

/* password_breached(password text) returns boolean */
Datum
logsvc_password_breached(PG_FUNCTION_ARGS)
{
	ls_str password = password_argument(fcinfo);
	uint8 hash[LS_SHA1_LENGTH];
	char hex[2 * LS_SHA1_LENGTH + 1];

	if (ls_breach_is_common(password))
		PG_RETURN_BOOL(true);
	ls_sha1(password.data, password.len, hash);
	ls_hex(hash, sizeof(hash), hex);
	PG_RETURN_BOOL(search_file(hex) == LS_BREACH_FOUND ||
				   (asked_found && memcmp(hash, asked_hash, LS_SHA1_LENGTH) == 0));
}

/*
 * breach_checks() returns text[]: which checks look at a password now.  The file
 * counts when it can be searched, the service when there is one: whether it
 * answers is known when it is asked.
 */
Datum
logsvc_breach_checks(PG_FUNCTION_ARGS)
{
	static const char any[] = "0000000000000000000000000000000000000000";
	Datum names[3];
	int n = 0;

	names[n++] = CStringGetTextDatum("bundled");
	if (ls_is_set(ls_breached_passwords_file) && search_file(any) != LS_BREACH_UNREADABLE)
		names[n++] = CStringGetTextDatum("file");
	if (ls_is_set(ls_breached_passwords_url))
		names[n++] = CStringGetTextDatum("url");
	PG_RETURN_ARRAYTYPE_P(construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT));
}
