/*-------------------------------------------------------------------------
 *
 * debug_part.c
 *	  A way for tests to read a part by nothing but the part format.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/part_body.h"
#include "src/store/store.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "src/part/event_id.h"

#define DEBUG_MEMORY ((size_t) 1024 * 1024 * 1024)

PG_FUNCTION_INFO_V1(logsvc_debug_part_events);

/*
 * (header bytea, body bytea) returns table (id text, event text): a part read
 * by nothing but the part format, whatever is above it.
 */
Datum
logsvc_debug_part_events(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, DEBUG_MEMORY);
	ls_arena *scratch = ls_context_arena(CurrentMemoryContext, DEBUG_MEMORY);
	const char *error = NULL;
	ls_part *part;
	ls_body body;

	InitMaterializedSRF(fcinfo, 0);
	ls_body_init(&body, PointerGetDatum(PG_GETARG_BYTEA_PP(1)));
	part = ls_part_open(arena, ls_str_of_text(PG_GETARG_BYTEA_PP(0)), ls_body_fetch, &body, &error);
	if (part == NULL)
		elog(ERROR, "bad part: %s", error);
	for (uint32 block = 0; block < ls_part_blocks(part); block++)
	{
		for (uint32 row = 0; row < ls_part_block_rows(part, block); row++)
		{
			char id[LS_EVENT_ID_LENGTH + 1];
			bool nulls[2] = {false};
			Datum values[2];
			ls_event event;

			if (!ls_part_row(part, block, row, scratch, &event))
				elog(ERROR, "bad part: %s", ls_part_error(part));
			ls_event_id_format(event.batch, event.place, id);
			values[0] = CStringGetTextDatum(id);
			values[1] = PointerGetDatum(ls_text_of_str(event.field[LS_FIELD_EVENT]));
			tuplestore_putvalues(out->setResult, out->setDesc, values, nulls);
			pfree(DatumGetPointer(values[0]));
			pfree(DatumGetPointer(values[1]));
			ls_arena_reset(scratch);
		}
		ls_part_release_block(part);
	}
	ls_arena_destroy(scratch);
	ls_arena_destroy(arena);
	return (Datum) 0;
}
