/*-------------------------------------------------------------------------
 *
 * sender.c
 *	  What a sender may write, and how it is told what became of it: the same
 *	  for HTTP and SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/ingest.h"

#include "src/access/access.h"
#include "src/part/event_id.h"

/* Beyond so many events a batch's ids are not listed. */
#define MAX_LISTED_IDS 1000

static bool
known_index(void *context, ls_str index, ls_time *oldest)
{
	ls_sender_sink *sink = context;
	const pg_uuid_t *organization = &sink->sender->organization;
	int days;

	/* Reserved indexes are written by the service itself. */
	if (index.len > 0 && index.data[0] == '_')
		return false;
	if (!ls_index_find(organization, index, &days))
		return false;
	if (sink->sender->test && !ls_index_find(organization, LS_STR("_test"), &days))
		return false;
	*oldest = days < 0 ? INT64_MIN : sink->now - days * LS_USECS_PER_DAY;
	return true;
}

bool
ls_queue_alone(const ls_sender *sender)
{
	ls_ingest_quota quota;

	return ls_ingest_quota_of(&sender->organization, sender->test, &quota) && quota.alone;
}

/* Events of a test key go to index _test, whatever they say. */
static bool
add_event(void *context, const ls_event *event)
{
	ls_sender_sink *sink = context;
	ls_event moved = *event;

	if (sink->sender->test)
		moved.field[LS_FIELD_INDEX] = LS_STR("_test");
	else if ((event->has & 1u << LS_FIELD_INDEX) == 0)
		moved.field[LS_FIELD_INDEX] = LS_STR("main");
	moved.has |= 1u << LS_FIELD_INDEX;
	return sink->inner.add(sink->inner.context, &moved);
}

static void
undo_events(void *context)
{
	ls_sender_sink *sink = context;

	sink->inner.undo(sink->inner.context);
}

void
ls_sender_options(ls_sender_sink *sink, const ls_sender *sender, ls_part_builder *first,
				  ls_part_builder *(*next)(void *context), void *context,
				  ls_decode_options *options)
{
	memset(options, 0, sizeof(*options));
	sink->sender = sender;
	sink->inner = ls_builder_sink_make(&sink->builders, first, next, context);
	options->limits = LS_DECODE_LIMITS;
	options->now = sink->now = ls_now();
	options->known_index = known_index;
	options->index_context = sink;
	options->sink.add = add_event;
	options->sink.undo = undo_events;
	options->sink.context = sink;
}

static void
append_error(ls_buf *buf, const ls_decode_error *error, bool as_detail, bool single)
{
	ls_buf_char(buf, '{');
	if (as_detail)
	{
		ls_buf_lit(buf, "\"path\":\"");
		if (!single)
			ls_buf_printf(buf, "events[%u]%s", error->index, error->path.len > 0 ? "." : "");
		ls_buf_str(buf, error->path);
		ls_buf_lit(buf, "\",");
	}
	else
		ls_buf_printf(buf, "\"index\":%u,", error->index);
	ls_buf_lit(buf, "\"code\":");
	ls_json_quote(buf, ls_str_of_cstring(error->code));
	ls_buf_lit(buf, ",\"message\":");
	ls_json_quote(buf, error->message);
	if (!as_detail)
		ls_buf_printf(buf, ",\"status\":%d", error->status);
	ls_buf_char(buf, '}');
}

void
ls_ingest_counts_json(ls_buf *buf, uint32 accepted, uint32 rejected,
					  void (*id)(void *context, char *out), void *context)
{
	char text[LS_EVENT_ID_LENGTH];

	ls_buf_printf(buf, "\"accepted\":%u,\"rejected\":%u,\"ids\":", accepted, rejected);
	if (accepted > MAX_LISTED_IDS)
	{
		ls_buf_lit(buf, "null");
		return;
	}
	ls_buf_char(buf, '[');
	for (uint32 i = 0; i < accepted; i++)
	{
		id(context, text);
		if (i > 0)
			ls_buf_char(buf, ',');
		ls_buf_char(buf, '"');
		ls_buf_append(buf, text, sizeof(text));
		ls_buf_char(buf, '"');
	}
	ls_buf_char(buf, ']');
}

void
ls_ingest_warnings_json(ls_buf *buf, const ls_decode_result *result, bool single)
{
	if (result->past_retention == 0)
		return;
	ls_buf_lit(buf, ",\"warnings\":[");
	for (uint32 i = 0; i < result->past_retention && i < LS_DECODE_MAX_ERRORS; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		ls_buf_char(buf, '{');
		if (!single)
			ls_buf_printf(buf, "\"index\":%u,", result->past[i]);
		ls_buf_lit(buf, "\"code\":\"PAST_RETENTION\",\"message\":\"the event is older than what "
						"its index keeps, and will be removed soon\"}");
	}
	ls_buf_char(buf, ']');
}

void
ls_ingest_errors_json(ls_buf *buf, const ls_decode_result *result, bool as_details, bool single)
{
	ls_buf_char(buf, '[');
	for (uint32 i = 0; i < result->n_errors; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		append_error(buf, &result->errors[i], as_details, single);
	}
	ls_buf_char(buf, ']');
}
