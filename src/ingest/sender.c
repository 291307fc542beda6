/*-------------------------------------------------------------------------
 *
 * sender.c
 *	  What a sender may write: the same for HTTP and SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/ingest.h"

#include "src/access/access.h"

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

static bool
parses_json(void *context, ls_str index)
{
	ls_sender_sink *sink = context;

	return ls_index_parses_json(&sink->sender->organization, index);
}

ls_queue_share
ls_queue_share_of(const ls_sender *sender)
{
	ls_queue_share share = {.owner = sender->organization};
	ls_ingest_quota quota;

	if (ls_ingest_quota_of(&sender->organization, sender->test, &quota))
	{
		share.owner = quota.owner;
		share.alone = quota.alone;
	}
	return share;
}

/* Events of a test key go to index _test, whatever they say. */
static bool
add_event(void *context, const ls_event *event)
{
	ls_sender_sink *sink = context;
	ls_event moved;

	if (sink->pipelines != NULL)
	{
		sink->fate = ls_pipelines_run(sink, event, &event);
		if (sink->fate == LS_FATE_DROPPED)
			return true;
	}
	moved = *event;
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
	sink->pipelines = NULL;
	sink->fate = LS_FATE_KEPT;
	sink->inner = ls_builder_sink_make(&sink->builders, first, next, context);
	options->limits = LS_DECODE_LIMITS;
	options->now = sink->now = ls_now();
	options->known_index = known_index;
	options->parses_json = parses_json;
	options->index_context = sink;
	options->sink.add = add_event;
	options->sink.undo = undo_events;
	options->sink.context = sink;
	options->sink.fate = &sink->fate;
}
