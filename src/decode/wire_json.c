/*-------------------------------------------------------------------------
 *
 * wire_json.c
 *	  The wire formats of the service's own routes: one event, a batch, lines of
 *	  JSON or text; what their senders are told, which SQL callers read too (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/wire_format.h"

#include "src/part/event_id.h"

/* Beyond so many events a batch's ids are not listed. */
#define MAX_LISTED_IDS 1000

/* Of a brief answer: so many errors, and warnings, are listed. */
#define BRIEF_LIST 3

/* How many of so many errors or warnings are listed. */
static uint32_t
listed(const ls_decode_result *result, uint32_t count)
{
	uint32_t most = result->brief ? BRIEF_LIST : LS_DECODE_MAX_ERRORS;

	return count < most ? count : most;
}

static void
append_path(ls_buf *buf, const ls_decode_error *error, bool single)
{
	bool listed = error->list != NULL;

	if (listed && error->wrapper >= 0)
		ls_buf_printf(buf, "[%d].", error->wrapper);
	if (listed)
		ls_buf_printf(buf, "%s[%u]%s", error->list, error->index - error->first,
					  error->value ? ".value" : "");
	else if (!single)
		ls_buf_printf(buf, "events[%u]", error->index);
	if ((listed || !single) && error->path.len > 0)
		ls_buf_char(buf, '.');
	ls_buf_str(buf, error->path);
}

static void
append_error(ls_buf *buf, const ls_decode_error *error, bool single)
{
	ls_buf_lit(buf, "{\"path\":\"");
	append_path(buf, error, single);
	ls_buf_lit(buf, "\",");
	if (!single)
		ls_buf_printf(buf, "\"index\":%u,", error->index);
	ls_buf_lit(buf, "\"code\":");
	ls_json_quote(buf, ls_str_make(error->code, strlen(error->code)));
	ls_buf_lit(buf, ",\"message\":");
	ls_json_quote(buf, error->message);
	if (!single)
		ls_buf_printf(buf, ",\"status\":%d", error->status);
	ls_buf_char(buf, '}');
}

void
ls_ingest_counts_json(ls_buf *buf, uint32_t accepted, uint32_t rejected,
					  bool (*id)(void *context, char *out), void *context)
{
	char text[LS_EVENT_ID_LENGTH];

	ls_buf_printf(buf, "\"accepted\":%u,\"rejected\":%u,\"ids\":", accepted, rejected);
	if (accepted > MAX_LISTED_IDS || id == NULL)
	{
		ls_buf_lit(buf, "null");
		return;
	}
	ls_buf_char(buf, '[');
	for (uint32_t i = 0; i < accepted; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		if (!id(context, text))
		{
			ls_buf_lit(buf, "null");
			continue;
		}
		ls_buf_char(buf, '"');
		ls_buf_append(buf, text, sizeof(text));
		ls_buf_char(buf, '"');
	}
	ls_buf_char(buf, ']');
}

static void
append_warning(ls_buf *buf, const ls_decode_warning *warning, bool single)
{
	ls_buf text;

	ls_buf_char(buf, '{');
	if (!single)
		ls_buf_printf(buf, "\"index\":%u,", warning->index);
	if (warning->early)
	{
		ls_buf_lit(buf, "\"code\":\"UNLIKELY_TIME\",\"message\":\"" LS_EARLY_TIME "\"}");
		return;
	}
	if (warning->repeated.len == 0)
	{
		ls_buf_lit(buf, "\"code\":\"PAST_RETENTION\",\"message\":\"the event is older than what "
						"its index keeps, and will be removed soon\"}");
		return;
	}
	ls_buf_init(&text, buf->arena);
	ls_buf_lit(&text, "sent more than once in this event, and only one value is kept: ");
	ls_buf_str(&text, warning->repeated);
	ls_buf_lit(buf, "\"code\":\"REPEATED_NAME\",\"message\":");
	ls_json_quote(buf, ls_str_make(text.data, text.failed ? 0 : text.len));
	ls_buf_char(buf, '}');
}

void
ls_ingest_warnings_json(ls_buf *buf, const ls_decode_result *result, bool single)
{
	if (result->n_warnings == 0)
		return;
	ls_buf_lit(buf, ",\"warnings\":[");
	for (uint32_t i = 0; i < listed(result, result->n_warnings); i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		append_warning(buf, &result->warnings[i], single);
	}
	ls_buf_char(buf, ']');
}

void
ls_ingest_errors_json(ls_buf *buf, const ls_decode_result *result, bool single)
{
	/* A wrapper came where one event was expected. */
	single = single && !result->wrapped;
	ls_buf_char(buf, '[');
	for (uint32_t i = 0; i < listed(result, result->n_errors); i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		append_error(buf, &result->errors[i], single);
	}
	ls_buf_char(buf, ']');
}

void
ls_ingest_error_text(ls_buf *buf, const ls_decode_error *error, bool single)
{
	append_path(buf, error, single);
	if (!single || error->path.len > 0 || error->list != NULL)
		ls_buf_lit(buf, ": ");
	ls_buf_str(buf, error->message);
}

/* ---- answers ---- */

/* Names of members that nobody reads, as a header. */
void
ls_wire_add_ignored(const ls_decode_result *decoded, ls_arena *arena, ls_response *response)
{
	ls_buf names;

	if (decoded->n_ignored == 0 || decoded->brief)
		return;
	ls_buf_init(&names, arena);
	for (uint32_t i = 0; i < decoded->n_ignored; i++)
	{
		if (i > 0)
			ls_buf_lit(&names, ", ");
		ls_buf_str(&names, decoded->ignored[i]);
	}
	if (decoded->more_ignored)
		ls_buf_lit(&names, ", ...");
	if (!names.failed)
		ls_response_header(response, LS_STR("X-Ignored-Fields"),
						   ls_str_make(names.data, names.len));
}

static void
end_answer(const ls_wire_result *result, bool single, ls_buf *body, ls_response *response)
{
	ls_ingest_warnings_json(body, result->decoded, single);
	ls_buf_lit(body, "}}");
	response->status = 202;
	ls_wire_add_ignored(result->decoded, body->arena, response);
}

static void
answer_batch(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	const ls_decode_result *decoded = result->decoded;
	ls_buf rejected;

	ls_buf_lit(body, "{\"data\":{");
	ls_ingest_counts_json(body, decoded->accepted, decoded->rejected,
						  decoded->brief ? NULL : result->next_id, result->ids);
	ls_buf_lit(body, ",\"errors\":");
	ls_ingest_errors_json(body, decoded, false);
	if (decoded->dropped > 0)
		ls_buf_printf(body, ",\"dropped\":%u", decoded->dropped);
	if (result->deferred)
		ls_buf_lit(body, ",\"status\":\"deferred\"");
	ls_buf_init(&rejected, body->arena);
	ls_buf_printf(&rejected, "%u", decoded->rejected);
	ls_response_header(response, LS_STR("X-Rejected-Count"),
					   ls_str_make(rejected.data, rejected.len));
	end_answer(result, false, body, response);
}

/* Lines are many events unless there is one; a wrapper is asked for what became of each. */
static void
answer_event(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	char id[LS_EVENT_ID_LENGTH];

	if (result->decoded->wrapped || result->decoded->accepted != 1 ||
		result->decoded->rejected != 0)
	{
		answer_batch(result, body, response);
		return;
	}
	if (result->next_id(result->ids, id))
		ls_buf_printf(body, "{\"data\":{\"id\":\"%.*s\",\"status\":\"%s\"", LS_EVENT_ID_LENGTH, id,
					  result->deferred ? "deferred" : "queued");
	else
		ls_buf_lit(body, "{\"data\":{\"id\":null,\"status\":\"dropped\"");
	end_answer(result, true, body, response);
}

const ls_wire_format ls_wire_event = {.door = LS_DOOR_JSON,
									  .accepts = ls_request_is_json,
									  .decode = ls_decode_event,
									  .answer = answer_event,
									  .most_rejected = LS_MOST_REJECTED,
									  .one_event = true};

const ls_wire_format ls_wire_event_lines = {.door = LS_DOOR_JSON,
											.accepts = ls_wire_is_lines,
											.decode = ls_decode_ndjson,
											.answer = answer_event,
											.most_rejected = LS_MOST_REJECTED,
											.one_event = true};

const ls_wire_format ls_wire_batch = {.door = LS_DOOR_BATCH,
									  .accepts = ls_request_is_json,
									  .decode = ls_decode_batch,
									  .answer = answer_batch,
									  .most_rejected = LS_MOST_REJECTED};

const ls_wire_format ls_wire_lines = {.door = LS_DOOR_BATCH,
									  .accepts = ls_wire_is_lines,
									  .decode = ls_decode_ndjson,
									  .answer = answer_batch,
									  .most_rejected = LS_MOST_REJECTED};

static bool
is_text(const ls_request *request)
{
	return ls_request_is_type(request, "text/plain");
}

const ls_wire_format ls_wire_event_text = {.door = LS_DOOR_JSON,
										   .accepts = is_text,
										   .decode = ls_decode_text,
										   .answer = answer_event,
										   .most_rejected = LS_MOST_REJECTED,
										   .one_event = true};

const ls_wire_format ls_wire_text = {.door = LS_DOOR_BATCH,
									 .accepts = is_text,
									 .decode = ls_decode_text,
									 .answer = answer_batch,
									 .most_rejected = LS_MOST_REJECTED};
