/*
 * decode_fuzz.h: the sink that the fuzz targets of decoders share.  It checks what
 * every event must hold, whatever it came from.
 */
#ifndef LS_DECODE_FUZZ_H
#define LS_DECODE_FUZZ_H

#include <stdlib.h>

#include "src/decode/wire_format.h"

typedef struct sink_state
{
	const ls_decode_limits *limits;
	uint32_t events;
	bool undone;
} sink_state;

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
check_json(const ls_attribute *a)
{
	ls_arena *arena = ls_arena_create(NULL, 64 * 1024 * 1024);
	ls_json j;
	ls_json_value value;
	int64_t integer;

	ls_json_init(&j, a->text, arena, 64);
	if (a->kind == LS_KIND_NUMBER)
		require(ls_json_read(&j, &value) && value.type == LS_JSON_NUMBER && ls_json_end(&j) &&
				!ls_json_canonical_int(a->text, &integer));
	else
	{
		ls_str raw;

		require(ls_json_skip(&j, &raw) && ls_json_end(&j) && raw.len == a->text.len);
	}
	ls_arena_destroy(arena);
}

static bool
check_event(void *context, const ls_event *event)
{
	sink_state *state = context;
	const ls_decode_limits *limits = state->limits;

	require(event->place == state->events);
	require((event->has & 1u << LS_FIELD_EVENT) != 0 && (event->has & 1u << LS_FIELD_INDEX) != 0);
	for (int f = 0; f < LS_NAMED_FIELDS; f++)
	{
		if ((event->has & 1u << f) == 0)
			continue;
		require(event->field[f].len > 0);
		require(ls_utf8_valid(event->field[f].data, event->field[f].len));
		require(memchr(event->field[f].data, '\0', event->field[f].len) == NULL);
		if (f != LS_FIELD_TRUNCATED && f != LS_FIELD_INDEX && f != LS_FIELD_LEVEL)
			require(event->field[f].len <=
					(f == LS_FIELD_EVENT ? limits->body_field_bytes : limits->value_bytes));
	}
	require(event->n_attributes <= limits->attributes);
	for (size_t i = 0; i < event->n_attributes; i++)
	{
		const ls_attribute *a = &event->attributes[i];

		require(ls_utf8_valid(a->key.data, a->key.len));
		require(ls_utf8_length(a->key.data, a->key.len) <= limits->key_chars);
		require(ls_utf8_valid(a->text.data, a->text.len));
		require(a->text.len == 0 || memchr(a->text.data, '\0', a->text.len) == NULL);
		require(a->text.len <= limits->value_bytes);
		require(
			(a->kind != LS_KIND_INTEGER && a->kind != LS_KIND_BOOLEAN && a->kind != LS_KIND_NULL) ||
			a->text.len == 0);
		if (a->kind == LS_KIND_JSON || a->kind == LS_KIND_NUMBER)
			check_json(a);
		for (size_t k = 0; k < i; k++)
			require(!ls_str_eq(a->key, event->attributes[k].key));
	}
	state->events++;
	return state->events < 1000;
}

static void
undo(void *context)
{
	sink_state *state = context;

	state->events = 0;
	state->undone = true;
}

/* One input: what is decoded, and how. */
typedef struct decoding
{
	uint8_t how; /* its first byte */
	ls_str body; /* the rest */
	sink_state sink;
	ls_decode_options options;
	ls_decode_result result;
} decoding;

/*
 * Sets up decoding of an input; false when it is empty.  Of its first byte 4 means small
 * limits, which make cuts and rejections likely, and 8 little scratch memory: 1,000 bytes
 * beside `room`, else 32 MB; 16: JSON in texts is taken apart.
 */
static bool
begin_decoding(decoding *d, const uint8_t *data, size_t size, size_t room)
{
	if (size < 1)
		return false;
	memset(d, 0, sizeof(*d));
	d->how = data[0];
	d->body = ls_str_make((const char *) data + 1, size - 1);
	d->options.limits = LS_DECODE_LIMITS;
	if (d->how & 4)
		d->options.limits = (ls_decode_limits){100, 3, 4, 10, 20, 1000, LS_DECODE_LIMITS.future_us};
	d->options.parse = (d->how & 16) ? LS_PARSE_JSON : LS_PARSE_BY_INDEX;
	d->sink.limits = &d->options.limits;
	d->options.now = INT64_C(1767225600) * LS_USECS_PER_SEC;
	d->options.sink = (ls_decode_sink){check_event, undo, &d->sink};
	d->options.arena = ls_arena_create(NULL, 8 * 1024 * 1024);
	d->options.scratch = ls_arena_create(NULL, room + ((d->how & 8) ? 1000 : 32 * 1024 * 1024));
	return true;
}

/* What holds of every result. */
static void
check_result(const decoding *d, bool good)
{
	const ls_decode_result *result = &d->result;

	require(good == (result->failure == LS_DECODE_OK));
	require(good != d->sink.undone);
	require(result->accepted == d->sink.events);
	require(result->past_retention <= result->accepted);
	require(good || result->message.len > 0);
	require((d->how & 8) != 0 || result->failure != LS_DECODE_MEMORY);
}

static int
end_decoding(decoding *d)
{
	ls_arena_destroy(d->options.scratch);
	ls_arena_destroy(d->options.arena);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* LS_DECODE_FUZZ_H */
