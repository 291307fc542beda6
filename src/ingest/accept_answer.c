/*-------------------------------------------------------------------------
 *
 * accept_answer.c
 *	  What requests that ingest are answered: at once, or after the commit.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/accept.h"

#include "src/access/access.h"
#include "src/part/event_id.h"
#include "src/server/metrics.h"

void
ls_accept_begin(ls_accept *accept)
{
	accept->begun = accept->reported = ls_now();
}

void
ls_accept_end(ls_accept *accept)
{
	accept->n_work += (uint64) Max(ls_now() - accept->begun, 0);
	accept->begun = 0;
}

uint32
ls_accept_cost(const ls_accept *accept)
{
	return accept->begun == 0 ? 0 : (uint32) Min(Max(ls_now() - accept->reported, 0), INT_MAX);
}

void
ls_accept_report(ls_accept *accept, uint64 request_id)
{
	ls_response report = {
		.id = request_id, .flags = LS_RESPONSE_TAKEN, .cost = ls_accept_cost(accept)};

	accept->respond(accept->context, &report, true);
	accept->reported = ls_now();
}

/* An answer with the headers that were decided when the request was admitted. */
static ls_response
begin_answer(const ls_accept *accept, const ls_response *headers, uint64 id, int status)
{
	ls_response response = *headers;

	response.id = id;
	response.status = status;
	response.cost += ls_accept_cost(accept);
	return response;
}

/* Sends what was written into accept->answer; half of an answer is none. */
static void
send_answer(ls_accept *accept, ls_response *response, const ls_buf *body, bool last)
{
	if (body->failed)
	{
		response->status = 500;
		response->content_type = LS_STR("");
		response->body = LS_STR("{\"error\":\"the answer needs more memory than there is\","
								"\"code\":\"INTERNAL_ERROR\"}");
	}
	else
		response->body = ls_str_make(body->data, body->len);
	accept->respond(accept->context, response, last);
	ls_arena_reset(accept->answer);
}

void
ls_accept_refuse_for(ls_accept *accept, const ls_request *request, ls_error_id id,
					 const char *message, const char *details, int retry_after)
{
	ls_response response =
		begin_answer(accept, accept->headers, request->id, ls_error_table[id].status);
	ls_buf body;
	char seconds[16];

	ls_metric_count_error(id);
	ls_buf_init(&body, accept->answer);
	ls_error_body(&body, id, message, details);
	if (response.status == 415)
		ls_response_header(&response, LS_STR("Accept-Encoding"), LS_STR("gzip, identity"));
	if (response.status == 429 || response.status == 503)
	{
		snprintf(seconds, sizeof(seconds), "%d", retry_after);
		ls_response_header(&response, LS_STR("Retry-After"), ls_str_of_cstring(seconds));
	}
	send_answer(accept, &response, &body, true);
}

void
ls_accept_refuse(ls_accept *accept, const ls_request *request, ls_error_id id, const char *message,
				 const char *details)
{
	ls_accept_refuse_for(accept, request, id, message, details,
						 id == LS_ERROR_STORE_UNAVAILABLE ? LS_STORE_RETRY_AFTER
														  : ls_queue_retry_after());
}

static const char *
list_details(ls_accept *accept, const ls_decode_result *result, bool one_event)
{
	ls_buf buf;

	ls_buf_init(&buf, accept->arena);
	ls_ingest_errors_json(&buf, result, one_event);
	ls_buf_char(&buf, '\0');
	return buf.failed ? NULL : buf.data;
}

/* Nothing of the request was accepted: says why. */
void
ls_accept_refuse_decoded(ls_accept *accept, const ls_wire_format *format, const ls_request *request,
						 const ls_decode_result *result)
{
	char message[256];
	ls_error_id id;
	ls_buf details;
	ls_buf text;

	switch (result->failure)
	{
		case LS_DECODE_INVALID:
			snprintf(message, sizeof(message), "%.*s", (int) Min(result->message.len, 200),
					 result->message.data);
			ls_buf_init(&details, accept->arena);
			ls_buf_lit(&details, "[{\"path\":");
			ls_json_quote(&details, result->path);
			ls_buf_lit(&details, ",\"code\":\"invalid\",\"message\":");
			ls_json_quote(&details, result->message);
			ls_buf_lit(&details, "}]");
			ls_buf_char(&details, '\0');
			ls_accept_refuse(accept, request, LS_ERROR_VALIDATION, message,
							 details.failed ? NULL : details.data);
			return;
		case LS_DECODE_LARGE:
			snprintf(message, sizeof(message), "%.*s", (int) Min(result->message.len, 200),
					 result->message.data);
			ls_accept_refuse(accept, request, LS_ERROR_BODY_TOO_LARGE, message, NULL);
			return;
		case LS_DECODE_REJECTED:
			snprintf(message, sizeof(message), "%.*s", (int) Min(result->message.len, 200),
					 result->message.data);
			ls_accept_refuse(accept, request, LS_ERROR_VALIDATION, message,
							 list_details(accept, result, false));
			return;
		case LS_DECODE_MANY: /* accept.c says how many may wait */
		case LS_DECODE_FULL:
		case LS_DECODE_MEMORY:
			ls_accept_refuse(accept, request, LS_ERROR_SERVICE_UNAVAILABLE,
							 "the request needs more memory than there is; send smaller batches",
							 NULL);
			return;
		case LS_DECODE_OK:
			break;
	}
	if (format->one_event && !result->wrapped)
	{
		id = ls_error_of_code(result->errors[0].code);
		ls_buf_init(&text, accept->arena);
		ls_ingest_error_text(&text, &result->errors[0], true);
		snprintf(message, sizeof(message), "%.*s", (int) Min(text.len, 200), text.data);
	}
	else
	{
		id = ls_decode_status(result) == 413 ? LS_ERROR_EVENT_TOO_LARGE : LS_ERROR_VALIDATION;
		/* Some forms of errors have no details: they would say nothing of why. */
		ls_buf_init(&text, accept->arena);
		if (format->refuse != NULL && result->n_errors > 0)
			ls_ingest_error_text(&text, &result->errors[0], false);
		snprintf(message, sizeof(message), "all %u events were rejected%s%.*s", result->rejected,
				 text.len > 0 ? "; " : "", (int) Min(text.len, 150), text.len > 0 ? text.data : "");
	}
	ls_accept_refuse(accept, request, id, message, list_details(accept, result, format->one_event));
}

static void
keep_headers(ls_accept *accept, ls_response *kept)
{
	memset(kept, 0, sizeof(*kept));
	kept->tenant = accept->headers->tenant;
	for (int i = 0; i < accept->headers->n_headers; i++)
	{
		ls_str value = ls_arena_strdup(accept->arena, accept->headers->headers[i].value);

		if (value.data != NULL)
			ls_response_header(kept, accept->headers->headers[i].name, value);
	}
}

/* A number as the value of a header of an answer that waits for the commit. */
static ls_str
kept_number(ls_accept *accept, uint32 number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return ls_arena_strdup(accept->arena, ls_str_of_cstring(text));
}

/* An accepted request waits for the commit of its events. */
void
ls_accept_keep(ls_accept *accept, const ls_wire_format *format, const ls_request *request,
			   const sender_group *group, open_part *part, uint32 first_row,
			   const ls_decode_result *result)
{
	waiting *entry = &accept->requests[accept->n_requests++];
	bool deferred = group->deferred;

	entry->request_id = request->id;
	entry->format = format;
	entry->part = part;
	entry->first_row = first_row;
	entry->decoded = result;
	entry->deferred = deferred;
	entry->begun = request->received_at;
	entry->key = NULL;
	keep_headers(accept, &entry->headers);
	entry->n_admission = entry->headers.n_headers;
	if (request->idempotency_key.len > 0)
	{
		entry->key = &accept->keys[accept->n_keys - 1];
		entry->organization = group->sender.organization;
	}
	if (result->past_retention > 0)
		ls_response_header(&entry->headers, LS_STR("X-Past-Retention-Count"),
						   kept_number(accept, result->past_retention));
	if (result->early > 0)
		ls_response_header(&entry->headers, LS_STR("X-Unlikely-Time-Count"),
						   kept_number(accept, result->early));
	if (deferred)
		ls_response_header(&entry->headers, LS_STR("X-Quota-State"), LS_STR("throttled"));
	if (ls_accept_cost(accept) >= REPORT_COST)
		ls_accept_report(accept, request->id);
	entry->headers.cost = ls_accept_cost(accept);
}

typedef struct id_walk
{
	open_part *part;
	uint32 row;
	const ls_decode_result *decoded;
	uint32 n;
} id_walk;

/* The id of the next event of an accepted request: LS_EVENT_ID_LENGTH characters. */
static bool
next_id(void *context, char *out)
{
	id_walk *walk = context;
	char id[LS_EVENT_ID_LENGTH + 1];

	if (ls_decode_was_dropped(walk->decoded, walk->n++))
		return false;

	while (walk->row >= ls_part_builder_rows(walk->part->builder))
	{
		walk->part = walk->part->next;
		walk->row = 0;
	}
	ls_event_id_format(walk->part->batch, walk->row++, id);
	memcpy(out, id, LS_EVENT_ID_LENGTH);
	return true;
}

/* What an accepted request is answered. */
static void
write_answer(const waiting *entry, ls_buf *body, ls_response *response)
{
	id_walk walk = {entry->part, entry->first_row, entry->decoded, 0};
	ls_wire_result result = {.format = entry->format,
							 .decoded = entry->decoded,
							 .deferred = entry->deferred,
							 .took_ms = Max(ls_now() - entry->begun, 0) / 1000,
							 .next_id = next_id,
							 .ids = &walk};

	entry->format->answer(&result, body, response);
}

/* Sends an answer that is kept, with the headers of this request's admission. */
static void
send_kept(ls_accept *accept, ls_response *response, const ls_response *kept, bool last)
{
	response->status = kept->status;
	response->content_type = kept->content_type;
	response->body = kept->body;
	for (int i = 0; i < kept->n_headers; i++)
		ls_response_header(response, kept->headers[i].name, kept->headers[i].value);
	accept->respond(accept->context, response, last);
}

void
ls_accept_answer(ls_accept *accept, const waiting *entry, bool last)
{
	ls_response response = begin_answer(accept, &entry->headers, entry->request_id, 200);
	ls_buf body;

	if (entry->key != NULL)
	{
		response.n_headers = entry->n_admission;
		send_kept(accept, &response, &entry->made, last);
		return;
	}
	ls_buf_init(&body, accept->answer);
	write_answer(entry, &body, &response);
	send_answer(accept, &response, &body, last);
}

ls_str
ls_accept_make_answer(ls_accept *accept, waiting *entry)
{
	ls_response *made = &entry->made;
	ls_buf body;
	ls_buf frame;

	memset(made, 0, sizeof(*made));
	made->status = 200;
	for (int i = entry->n_admission; i < entry->headers.n_headers; i++)
		ls_response_header(made, entry->headers.headers[i].name, entry->headers.headers[i].value);
	ls_buf_init(&body, accept->arena);
	write_answer(entry, &body, made);
	made->body = ls_str_make(body.data, body.len);
	ls_buf_init(&frame, accept->arena);
	ls_frame_write_response(&frame, made);
	if (body.failed || frame.failed)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	return ls_str_make(frame.data, frame.len);
}

void
ls_accept_answer_again(ls_accept *accept, const ls_request *request, ls_str answer)
{
	ls_response response = begin_answer(accept, accept->headers, request->id, 200);
	ls_response kept;
	ls_frame_kind kind;
	ls_request none;

	if (!ls_frame_parse(answer, &kind, &none, &kept) || kind != LS_FRAME_RESPONSE)
	{
		ls_accept_refuse(accept, request, LS_ERROR_INTERNAL, NULL, NULL);
		return;
	}
	ls_response_header(&kept, LS_STR("Idempotency-Replayed"), LS_STR("true"));
	send_kept(accept, &response, &kept, true);
}

static bool
no_id(void *context, char *out)
{
	memset(out, '0', LS_EVENT_ID_LENGTH);
	return true;
}

bool
ls_accept_answer_too_long(ls_accept *accept, const ls_wire_format *format,
						  const ls_decode_result *result)
{
	ls_wire_result trial = {.format = format, .decoded = result, .next_id = no_id};
	ls_response response = {0};
	bool too_long;
	ls_buf body;

	/* Other formats list only some ids and some errors. */
	if (!format->item_by_item)
		return false;
	ls_buf_init(&body, accept->answer);
	format->answer(&trial, &body, &response);
	too_long = body.failed || body.len > KEPT_ANSWER;
	ls_arena_reset(accept->answer);
	return too_long;
}

void
ls_accept_answer_nothing(ls_accept *accept, const ls_wire_format *format, const ls_request *request,
						 const ls_decode_result *result)
{
	waiting entry = {.request_id = request->id,
					 .format = format,
					 .decoded = result,
					 .begun = request->received_at,
					 .headers = *accept->headers};

	ls_accept_answer(accept, &entry, true);
}
