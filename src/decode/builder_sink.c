/*-------------------------------------------------------------------------
 *
 * builder_sink.c
 *	  Decoded events into part builders (pure).
 *
 * Apart from the decoders, so that they can be tested and measured without the
 * part format, and so that one body can fill several parts.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/decode.h"

static bool
sink_add(void *context, const ls_event *event)
{
	ls_builder_sink *state = context;

	if (ls_part_builder_add(state->builder, event))
		return true;
	/* Refused by an empty builder: it will not fit into another one either. */
	if (state->next == NULL || ls_part_builder_rows(state->builder) == 0)
		return false;
	state->builder = state->next(state->context);
	if (state->builder == NULL)
	{
		state->builder = state->first;
		return false;
	}
	return ls_part_builder_add(state->builder, event);
}

static void
sink_undo(void *context)
{
	ls_builder_sink *state = context;

	ls_part_builder_truncate(state->first, state->first_rows);
	state->builder = state->first;
}

ls_decode_sink
ls_builder_sink_make(ls_builder_sink *state, ls_part_builder *builder,
					 ls_part_builder *(*next)(void *context), void *context)
{
	ls_decode_sink sink = {sink_add, sink_undo, state};

	state->first = builder;
	state->first_rows = ls_part_builder_rows(builder);
	state->builder = builder;
	state->next = next;
	state->context = context;
	return sink;
}
