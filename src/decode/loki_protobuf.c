/*-------------------------------------------------------------------------
 *
 * loki_protobuf.c
 *	  Loki's push request in protobuf's wire format, straight to builders (pure).
 *
 * Fields may come in any order.  So a stream is walked once for its labels and
 * once for its entries, and an entry once for all; what is too large is not
 * read.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/loki.h"
#include "src/decode/protobuf.h"

/* Seconds of times before March 1973, and of those after the year 5000: they are another unit. */
#define LEAST_SECONDS INT64_C(100000000)
#define MOST_SECONDS INT64_C(100000000000)

typedef struct wire_reader
{
	ls_loki loki;
	ls_wire wire;
} wire_reader;

/*
 * A client that takes another unit for nanoseconds has the first days of 1970 here; one that takes it
 * for seconds a year that no calendar has.
 */
static bool
take_time(ls_event_builder *builder, int64_t seconds, int64_t nanos)
{
	/* Nobody logged at the begin of 1970. */
	if (seconds == 0 && nanos == 0)
		return true;
	if (seconds >= 0 && seconds < LEAST_SECONDS && nanos >= 0 && nanos < 1000000000)
	{
		ls_event_builder_nanos(builder, (uint64_t) seconds * 1000000000 + (uint64_t) nanos);
		return true;
	}
	if (seconds > MOST_SECONDS)
	{
		ls_event_builder_nanos(builder, (uint64_t) seconds);
		return true;
	}
	return ls_normalize_time_of(seconds, nanos, &builder->event.timestamp);
}

static bool
read_time(wire_reader *w, ls_str bytes, bool *valid)
{
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;
	int64_t seconds = 0;
	int64_t nanos = 0;

	while (ls_wire_next(&w->wire, &r, &field))
	{
		if (field.tag == LS_VARINT(1))
			seconds = (int64_t) field.number;
		else if (field.tag == LS_VARINT(2))
			nanos = (int64_t) field.number;
	}
	*valid = take_time(&w->loki.builder, seconds, nanos);
	return w->wire.error == NULL;
}

static bool
read_pair(wire_reader *w, ls_str bytes)
{
	ls_arena *scratch = w->loki.builder.options->scratch;
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;
	ls_str name = LS_STR("");
	ls_str value = LS_STR("");

	while (ls_wire_next(&w->wire, &r, &field))
	{
		if (field.tag == LS_BYTES(1))
			name = field.bytes;
		else if (field.tag == LS_BYTES(2))
			value = field.bytes;
	}
	if (name.len > 0)
		ls_loki_add(&w->loki, &w->loki.metadata, ls_event_builder_text(scratch, name),
					ls_event_builder_text(scratch, value));
	return w->wire.error == NULL;
}

static bool
read_entry(wire_reader *w, ls_str bytes)
{
	const ls_decode_options *options = w->loki.builder.options;
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;
	ls_str line = LS_STR("");
	bool valid = true;

	ls_loki_entry_begin(&w->loki);
	/* It has a line, or would not be so large. */
	if (bytes.len > options->limits.event_bytes)
		return ls_loki_entry_end(&w->loki, true, bytes, bytes.len);
	while (ls_wire_next(&w->wire, &r, &field))
	{
		if (field.tag == LS_BYTES(1) && !read_time(w, field.bytes, &valid))
			return false;
		if (field.tag == LS_BYTES(2))
			line = field.bytes;
		else if (field.tag == LS_BYTES(3) && !read_pair(w, field.bytes))
			return false;
	}
	return w->wire.error == NULL &&
		   ls_loki_entry_end(&w->loki, valid, ls_event_builder_text(options->scratch, line),
							 bytes.len);
}

static bool
read_stream(wire_reader *w, ls_str bytes)
{
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;
	ls_str labels = LS_STR("{}");
	const char *error;

	while (ls_wire_next(&w->wire, &r, &field))
	{
		if (field.tag == LS_BYTES(1))
			labels = field.bytes;
	}
	if (w->wire.error != NULL)
		return false;
	r = ls_wire_message(labels);
	if (!ls_loki_read_labels(&w->loki, labels, &error))
		return ls_wire_fail(&w->wire, &r, error);
	if (ls_arena_failed(w->loki.builder.options->arena))
		return ls_event_builder_fail(&w->loki.builder, LS_DECODE_MEMORY, "",
									 LS_STR("out of memory"), 0);
	r = ls_wire_message(bytes);
	while (ls_wire_next(&w->wire, &r, &field))
	{
		if (field.tag == LS_BYTES(2) && !read_entry(w, field.bytes))
			return false;
	}
	return w->wire.error == NULL;
}

bool
ls_decode_loki_protobuf(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	wire_reader w = {.wire.body = body};
	ls_reader r = ls_wire_message(body);
	ls_wire_field field;

	if (!ls_loki_init(&w.loki, options, result))
		return false;
	while (ls_wire_next(&w.wire, &r, &field))
	{
		if (field.tag == LS_BYTES(1) && !read_stream(&w, field.bytes))
			break;
	}
	if (result->failure != LS_DECODE_OK)
		return false;
	if (w.wire.error == NULL)
		return true;
	return ls_event_builder_fail(&w.loki.builder, LS_DECODE_INVALID, "",
								 ls_wire_message_of(&w.wire, options->arena), w.wire.offset);
}
