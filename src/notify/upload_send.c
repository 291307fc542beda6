/*-------------------------------------------------------------------------
 *
 * upload_send.c
 *	  Uploads in flight: which request comes next, and what its answer means.
 *
 * A file of one part is sent with one request.  A larger one is a multipart upload: it is begun,
 * gets its parts one after the other, and is completed; each answer is written down before the
 * next request.  So a notifier that is killed goes on with the part that it was sending, and the
 * object appears once, as a whole.  A try that fails aborts its multipart upload.
 *
 * The table says that one is begun before it is, since its id is known only afterwards.  When the
 * id was lost the store is asked for unfinished uploads of this key, which nobody else uses.
 *
 *-------------------------------------------------------------------------
 */
#include "src/notify/uploads.h"

#include "utils/memutils.h"

#include "src/notify/object_store.h"
#include "src/notify/webhook.h"

#define CONNECT_TIMEOUT 5000 /* ms */
#define SHORT_TIMEOUT 30000
#define LONG_TIMEOUT 120000 /* of a part: 0.6 Mbit/s; and until large objects are put together */
#define ANSWER_LIMIT ((size_t) 256 * 1024)
#define REQUEST_MEMORY ((size_t) 64 * 1024)
#define LOOK_AGAIN (LS_USECS_PER_SEC) /* no more often than that without a reason */
#define UNFINISHED 20                 /* uploads whose ids were lost: aborted at most, in one try */
#define LONGEST_RETRY (60 * LS_USECS_PER_SEC) /* of a transaction; then the try has failed */
#define TURN (180 * LS_USECS_PER_SEC)         /* then it is the turn of another file */

typedef enum step
{
	STEP_LIST,  /* uploads of this key whose id was lost */
	STEP_CLEAR, /* aborts one of them, or that of an earlier try */
	STEP_PUT,   /* the whole file */
	STEP_BEGIN,
	STEP_PART,
	STEP_COMPLETE,
	STEP_ABORT /* the try has failed */
} step;

typedef enum phase
{
	PHASE_UNUSED,
	PHASE_TO_SEND,
	PHASE_IN_FLIGHT,
	PHASE_ANSWERED /* the answer is still to be written down */
} phase;

typedef struct flight
{
	phase phase;
	step step;
	MemoryContext memory; /* of the texts of `upload` */
	ls_upload upload;
	ls_time taken; /* when */
	bool resumed;  /* an earlier turn has begun it */
	bool gone;     /* the run, while it was uploaded */
	bool remake;   /* the file is not there as a whole */
	int cleared;
	bool secure;
	bool is_address;       /* the endpoint is no name */
	const char *refusal;   /* when it may not connect */
	ls_time failing_since; /* its transactions fail since then; 0: the last one did not */
	char clear_id[LS_OBJECT_TOKEN + 1];

	/* The answer. */
	bool done;
	int status;
	bool lost;                       /* the store does not know the multipart upload */
	char token[LS_OBJECT_TOKEN + 1]; /* an upload id or an entity tag */

	/* Why the try has failed. */
	bool permanent;
	char error[400];
} flight;

static flight flights[LS_UPLOADS_IN_FLIGHT];

static int
parts_of(const ls_upload *upload)
{
	return (int) ((upload->bytes + LS_OBJECT_PART - 1) / LS_OBJECT_PART);
}

static bool
has_id(const flight *f)
{
	return f->upload.upload_id.len > 0;
}

static void
send_next(flight *f, step step)
{
	f->step = step;
	f->phase = PHASE_TO_SEND;
}

static step
next_part(const flight *f)
{
	return f->upload.parts < parts_of(&f->upload) ? STEP_PART : STEP_COMPLETE;
}

static step
first_step(flight *f)
{
	if (has_id(f) && f->upload.stale)
	{
		strlcpy(f->clear_id, f->upload.upload_id.data, sizeof(f->clear_id));
		return STEP_CLEAR;
	}
	if (has_id(f))
		return next_part(f);
	if (f->upload.begun)
		return STEP_LIST;
	return f->upload.bytes <= LS_OBJECT_PART ? STEP_PUT : STEP_BEGIN;
}

static void
end_flight(flight *f)
{
	MemoryContextDelete(f->memory);
	memset(f, 0, sizeof(*f));
}

/* ---- answers ---- */

static bool
may_connect(void *context, const ls_address *address)
{
	const flight *f = context;

	return ls_webhook_may_connect(address, f->secure, ls_str_of_cstring(ls_webhook_networks));
}

static void
keep_token(flight *f, ls_str token)
{
	f->done = ls_object_token_valid(token);
	if (f->done)
	{
		memcpy(f->token, token.data, token.len);
		f->token[token.len] = '\0';
	}
	else
		strlcpy(f->error, "the answer is not that of an object store", sizeof(f->error));
}

static void
explain(flight *f, const ls_curl_reply *reply)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, REQUEST_MEMORY);
	ls_buf words;

	ls_buf_init(&words, arena);
	ls_object_explain(&words, reply->status, reply->body);
	snprintf(f->error, sizeof(f->error), "%.*s", (int) words.len, words.failed ? "" : words.data);
	ls_arena_destroy(arena);
}

static void
read_answer(flight *f, const ls_curl_reply *reply)
{
	size_t at = 0;
	ls_str found;

	f->lost = ls_str_eq(ls_object_error_code(reply->body), LS_STR("NoSuchUpload"));
	f->done = !ls_object_failed(reply->status, reply->body);
	/* What is not there need not be aborted. */
	if (f->step == STEP_CLEAR || f->step == STEP_ABORT)
		f->done = f->done || reply->status == 404;
	if (!f->done)
	{
		explain(f, reply);
		return;
	}
	switch (f->step)
	{
		case STEP_LIST:
			found = ls_object_unfinished(reply->body, f->upload.key);
			snprintf(f->token, sizeof(f->token), "%.*s", (int) found.len, found.data);
			break;
		case STEP_BEGIN:
			keep_token(f, ls_object_element(reply->body, "UploadId", &at));
			break;
		case STEP_PART:
			keep_token(f, ls_curl_reply_header(reply, "ETag"));
			break;
		case STEP_COMPLETE:
			/* A long wait begins with status 200, so it says nothing yet. */
			f->done = ls_object_element(reply->body, "ETag", &at).len > 0;
			if (!f->done)
				strlcpy(f->error, "the object store did not say that it has the object",
						sizeof(f->error));
			break;
		default:
			break;
	}
}

static void
answered(void *context, const ls_curl_reply *reply)
{
	flight *f = context;
	/* An abort that fails is not why the try has. */
	char before[sizeof(f->error)];

	strlcpy(before, f->error, sizeof(before));
	f->phase = PHASE_ANSWERED;
	f->done = false;
	f->lost = false;
	f->status = reply->status;
	f->token[0] = '\0';
	switch (reply->outcome)
	{
		case LS_CURL_OK:
			read_answer(f, reply);
			break;
		case LS_CURL_FORBIDDEN:
			f->permanent = f->is_address;
			strlcpy(f->error, f->refusal, sizeof(f->error));
			break;
		case LS_CURL_TIMEOUT:
			strlcpy(f->error, "the object store did not answer in time", sizeof(f->error));
			break;
		default:
			snprintf(f->error, sizeof(f->error), "the object store could not be reached: %s: %s",
					 ls_curl_outcome_name(reply->outcome), reply->reason);
			break;
	}
	if (f->step == STEP_ABORT)
		strlcpy(f->error, before, sizeof(f->error));
}

/* ---- requests ---- */

static ls_str
query_with(ls_arena *arena, const char *before, const char *id)
{
	ls_buf query;

	ls_buf_init(&query, arena);
	ls_buf_printf(&query, "%suploadId=", before);
	ls_buf_url(&query, ls_str_of_cstring(id), false);
	return ls_str_make(query.data, query.len);
}

static ls_str
query_of(const flight *f, ls_arena *arena)
{
	char part[32] = "";
	ls_buf query;

	switch (f->step)
	{
		case STEP_LIST:
			ls_buf_init(&query, arena);
			ls_buf_lit(&query, "prefix=");
			ls_buf_url(&query, f->upload.key, false);
			ls_buf_lit(&query, "&uploads=");
			return ls_str_make(query.data, query.len);
		case STEP_CLEAR:
			return query_with(arena, "", f->clear_id);
		case STEP_PUT:
			return LS_STR("");
		case STEP_BEGIN:
			return LS_STR("uploads=");
		case STEP_PART:
			snprintf(part, sizeof(part), "partNumber=%d&", f->upload.parts + 1);
			break;
		default:
			break;
	}
	return query_with(arena, part, f->upload.upload_id.data);
}

/* What a request has besides its address.  Nothing when the run is gone, or its file. */
static bool
read_body(flight *f, MemoryContext memory, ls_object_call *call, ls_caught *caught)
{
	int64 offset = f->step == STEP_PART ? f->upload.parts * LS_OBJECT_PART : 0;
	int64 wanted = Min(f->upload.bytes - offset, LS_OBJECT_PART);

	switch (f->step)
	{
		case STEP_PUT:
		case STEP_PART:
			if (!ls_uploads_read(&f->upload, offset, wanted, memory, &call->body, &f->gone, caught))
				return false;
			f->remake = !f->gone && (int64) call->body.len != wanted;
			call->method = LS_STR("PUT");
			if (f->step == STEP_PUT)
				call->content_type = f->upload.content_type;
			return true;
		case STEP_BEGIN:
			call->method = LS_STR("POST");
			call->content_type = f->upload.content_type;
			return true;
		case STEP_COMPLETE:
			call->method = LS_STR("POST");
			call->content_type = LS_STR("application/xml");
			return ls_uploads_list(&f->upload, memory, &call->body, &f->gone, caught);
		case STEP_LIST:
			call->method = LS_STR("GET");
			call->of_bucket = true;
			return true;
		default:
			call->method = LS_STR("DELETE");
			return true;
	}
}

/* Sends the next request; false: a transaction failed. */
static bool
send_request(ls_curl *client, flight *f, MemoryContext memory, ls_caught *caught)
{
	ls_arena *arena = ls_context_arena(memory, REQUEST_MEMORY);
	bool is_long = f->step == STEP_PUT || f->step == STEP_PART || f->step == STEP_COMPLETE;
	ls_object object = {.endpoint = f->upload.endpoint,
						.region = f->upload.region,
						.bucket = f->upload.bucket,
						.key = f->upload.key,
						.virtual_host = f->upload.virtual_host,
						.access_key = f->upload.access_key,
						.secret = f->upload.secret};
	ls_object_call call = {.query = query_of(f, arena), .now = ls_now()};
	ls_object_request written;
	ls_webhook_url url;
	ls_curl_request request = {.protocols = LS_CURL_HTTP | LS_CURL_HTTPS,
							   .connect_timeout = CONNECT_TIMEOUT,
							   .timeout = is_long ? LONG_TIMEOUT : SHORT_TIMEOUT,
							   .reply_limit = ANSWER_LIMIT,
							   .cut_reply = true,
							   .may_connect = may_connect};
	const char *wrong;

	if (!read_body(f, memory, &call, caught))
		return false;
	if (f->step != STEP_ABORT && (f->gone || f->remake))
	{
		f->done = false;
		f->phase = PHASE_ANSWERED;
		return true;
	}
	wrong = ls_object_request_write(&object, &call, arena, &written);
	if (wrong == NULL)
		wrong = ls_webhook_url_read(f->upload.endpoint, &url);
	if (wrong != NULL)
	{
		snprintf(f->error, sizeof(f->error), "invalid: %s", wrong);
		f->permanent = true;
		f->done = false;
		f->phase = PHASE_ANSWERED;
		return true;
	}
	f->secure = url.secure;
	f->is_address = url.is_address;
	f->refusal = ls_webhook_refusal(&url);
	request.method = call.method;
	request.body = call.body;
	request.url = written.url;
	request.headers = written.headers;
	request.header_count = written.header_count;
	ls_curl_start(client, &request, answered, f);
	f->phase = PHASE_IN_FLIGHT;
	LS_STOP_POINT("upload_sending");
	return true;
}

/* ---- what comes next ---- */

/* The try has failed: what the store has of it is aborted, then the run is told. */
static bool
give_up(flight *f, ls_caught *caught)
{
	bool aborted;

	if (f->step != STEP_ABORT && f->step != STEP_CLEAR && has_id(f))
	{
		send_next(f, STEP_ABORT);
		return true;
	}
	/* One that was begun without an answer may be there, and is looked for in the next try. */
	aborted = f->step == STEP_PUT || (f->step == STEP_ABORT && f->done) ||
			  (f->step == STEP_BEGIN && f->status >= 400 && f->status < 500);
	if (f->remake ? !ls_uploads_remake(&f->upload, caught)
				  : !ls_uploads_fail(&f->upload, f->error, f->permanent, aborted, caught))
		return false;
	end_flight(f);
	return true;
}

/* The store has begun a multipart upload; an empty id: it has forgotten it, or aborted it. */
static bool
set_id(flight *f, const char *id, ls_caught *caught)
{
	if (!ls_uploads_begin(&f->upload, ls_str_of_cstring(id), &f->gone, caught))
		return false;
	f->upload.upload_id = ls_str_of_cstring(MemoryContextStrdup(f->memory, id));
	f->upload.parts = 0;
	f->upload.stale = false;
	return true;
}

/* A file of hundreds of parts, or a slow store, keeps no place from others for longer than a turn. */
static bool
give_back(flight *f, ls_caught *caught)
{
	/* If that fails it goes on with the next part, and nothing is lost. */
	if (!ls_uploads_release(&f->upload, caught))
		return false;
	end_flight(f);
	return true;
}

static bool
write_down_success(flight *f, ls_caught *caught)
{
	switch (f->step)
	{
		case STEP_LIST:
			if (f->token[0] != '\0' && f->cleared++ < UNFINISHED)
			{
				strlcpy(f->clear_id, f->token, sizeof(f->clear_id));
				send_next(f, STEP_CLEAR);
			}
			else
				send_next(f, f->upload.bytes <= LS_OBJECT_PART ? STEP_PUT : STEP_BEGIN);
			return true;
		case STEP_CLEAR:
			if (has_id(f) && !set_id(f, "", caught))
				return false;
			if (!f->gone)
				send_next(f, STEP_LIST);
			break;
		case STEP_BEGIN:
			LS_STOP_POINT("upload_begun");
			if (!set_id(f, f->token, caught))
				return false;
			send_next(f, STEP_PART);
			break;
		case STEP_PART:
			LS_STOP_POINT("upload_part");
			if (!ls_uploads_add_part(&f->upload, ls_str_of_cstring(f->token), &f->gone, caught))
				return false;
			f->upload.parts++;
			send_next(f, next_part(f));
			if (!f->gone && ls_now() - f->taken >= TURN && f->step == STEP_PART)
				return give_back(f, caught);
			break;
		case STEP_PUT:
		case STEP_COMPLETE:
			LS_STOP_POINT("upload_completed");
			if (!ls_uploads_finish(&f->upload, caught))
				return false;
			end_flight(f);
			return true;
		case STEP_ABORT:
			return give_up(f, caught);
	}
	/* Deleted meanwhile. */
	return !f->gone || give_up(f, caught);
}

static bool
write_down_failure(flight *f, ls_caught *caught)
{
	/* Listing only cleans up.  It is a permission of its own, and some servers cannot do it. */
	if (f->step == STEP_LIST && !f->permanent)
	{
		send_next(f, f->upload.bytes <= LS_OBJECT_PART ? STEP_PUT : STEP_BEGIN);
		return true;
	}
	/* It was completed, but nobody could write that down; or the store has cleaned up. */
	if (f->lost && f->resumed)
	{
		f->resumed = false;
		if (!set_id(f, "", caught))
		{
			f->resumed = true;
			return false;
		}
		send_next(f, STEP_BEGIN);
		return !f->gone || give_up(f, caught);
	}
	return give_up(f, caught);
}

/* After a transaction that failed: the same again, but not for ever, since others need its place. */
static void
note_failure(flight *f)
{
	ls_time now = ls_now();

	if (f->failing_since == 0 || now < f->failing_since)
		f->failing_since = now;
	if (now - f->failing_since < LONGEST_RETRY)
		return;
	if (f->error[0] == '\0')
		strlcpy(f->error, "internal: what became of the upload could not be written down",
				sizeof(f->error));
	f->done = false;
	f->lost = false;
	f->phase = PHASE_ANSWERED;
}

/* Goes on as far as it can without waiting; false: a transaction failed. */
static bool
go_on(ls_curl *client, flight *f, ls_caught *caught)
{
	while (f->phase == PHASE_TO_SEND || f->phase == PHASE_ANSWERED)
	{
		bool committed;

		if (f->phase == PHASE_TO_SEND)
		{
			MemoryContext memory =
				AllocSetContextCreate(f->memory, "logsvc upload request", ALLOCSET_DEFAULT_SIZES);

			committed = send_request(client, f, memory, caught);
			MemoryContextDelete(memory);
		}
		else
			committed = f->done ? write_down_success(f, caught) : write_down_failure(f, caught);
		if (!committed)
		{
			note_failure(f);
			return false;
		}
		f->failing_since = 0;
	}
	return true;
}

/* No try can send the file: it fails before it begins, and what an earlier version began is aborted. */
static void
refuse_size(flight *f)
{
	f->permanent = true;
	snprintf(f->error, sizeof(f->error),
			 "the file has %lld bytes, and object stores take at most %lld, %d parts of 8 MB: "
			 "find less with the query, or export shorter periods",
			 (long long) f->upload.bytes, (long long) (LS_OBJECT_PART * LS_OBJECT_PARTS),
			 LS_OBJECT_PARTS);
	f->step = STEP_PUT;
	f->phase = PHASE_ANSWERED;
}

/* Takes one upload that is due; false: none, or the transaction failed (*committed). */
static bool
take_one(flight *f, ls_time *next, bool *committed, ls_caught *caught)
{
	bool found;

	memset(f, 0, sizeof(*f));
	f->memory = AllocSetContextCreate(TopMemoryContext, "logsvc upload", ALLOCSET_SMALL_SIZES);
	*committed = ls_uploads_take(f->memory, &f->upload, &found, next, caught);
	if (!found)
	{
		end_flight(f);
		return false;
	}
	LS_STOP_POINT("upload_taken");
	f->taken = ls_now();
	f->resumed = has_id(f);
	if (f->upload.bytes > LS_OBJECT_PART * LS_OBJECT_PARTS)
		refuse_size(f);
	else
		send_next(f, first_step(f));
	return true;
}

long
ls_uploads_go_on(ls_curl *client, ls_caught *caught)
{
	static ls_time looked = 0;
	static ls_time next = 0;
	bool room = false;
	bool failed = false;
	ls_caught problem;
	ls_time now = ls_now();

	for (int i = 0; i < LS_UPLOADS_IN_FLIGHT; i++)
	{
		bool was_used = flights[i].phase != PHASE_UNUSED;

		/* The others go on all the same. */
		if (was_used && !go_on(client, &flights[i], &problem))
		{
			failed = true;
			*caught = problem;
		}
		if (was_used && flights[i].phase == PHASE_UNUSED)
			looked = 0;
		room = room || flights[i].phase == PHASE_UNUSED;
	}
	if (!room)
		return failed ? -2 : -1;
	/* The notifier turns for each packet; the table is not read each time. */
	if (failed && now >= looked && now < looked + LOOK_AGAIN)
		return -2;
	if (now >= looked && now < looked + LOOK_AGAIN && (next == 0 || now < next))
		return (long) ((looked + LOOK_AGAIN - now) / 1000) + 1;
	looked = now;
	for (int i = 0; i < LS_UPLOADS_IN_FLIGHT; i++)
	{
		bool committed;

		if (flights[i].phase != PHASE_UNUSED)
			continue;
		if (!take_one(&flights[i], &next, &committed, &problem))
		{
			if (committed)
				break;
			*caught = problem;
			return -2;
		}
		if (!go_on(client, &flights[i], &problem))
		{
			failed = true;
			*caught = problem;
		}
	}
	if (failed)
		return -2;
	return next == 0 ? -1 : (long) (Max(next - now, 0) / 1000) + 1;
}
