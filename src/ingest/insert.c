/*-------------------------------------------------------------------------
 *
 * insert.c
 *	  Part builders into rows of the queue or of the deferred store: the same for
 *	  HTTP and SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/quota.h"

uint64
ls_insert_part(ls_insertion *to, ls_part_builder *builder)
{
	int64 rows = ls_part_builder_rows(builder);
	uint64 batch = ls_queue_next_batch();
	ls_part_stats stats;
	ls_buf header;
	ls_buf body;
	ls_str head;
	ls_str rest;

	ls_part_builder_stamp(builder, 0, to->now, batch);
	ls_buf_init(&header, to->arena);
	ls_buf_init(&body, to->arena);
	if (!ls_part_builder_finish(builder, LS_CODEC_FAST, false, &header, &body, &stats))
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	head = ls_str_make(header.data, header.len);
	rest = ls_str_make(body.data, body.len);
	if (to->deferred)
	{
		int64 bytes = to->bytes * rows / to->events;

		ls_deferred_insert(&to->organization, batch, bytes, head, rest, &stats);
		to->bytes -= bytes;
		to->events -= rows;
	}
	else
		ls_queue_insert(&to->organization, batch, to->audit, head, rest, &stats);
	return batch;
}
