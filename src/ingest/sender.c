/*-------------------------------------------------------------------------
 *
 * sender.c
 *	  What a sender may write, and how it is told what was refused: the same
 *	  for HTTP and SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/ingest.h"

#include "src/access/access.h"

static bool
known_index(void *context, ls_str index)
{
	ls_sender_sink *sink = context;

	/* Reserved indexes are written by the service itself. */
	if (index.len > 0 && index.data[0] == '_')
		return false;
	return ls_index_exists(&sink->sender->organization, index, NULL);
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
	options->now = ls_now();
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
