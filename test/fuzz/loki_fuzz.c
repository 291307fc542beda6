/*
 * loki_fuzz.c: any bytes as pushes of Loki in both encodings, as snappy, and as
 * bulk requests of Elasticsearch.
 *
 * The first byte chooses the decoder and, through small limits, makes cuts and
 * rejections likely.  The sink checks what every event must hold.
 */
#include <stdlib.h>

#include "src/ingest/decode.h"

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
		require((a->kind != LS_KIND_INTEGER && a->kind != LS_KIND_BOOLEAN &&
				 a->kind != LS_KIND_NULL) ||
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

static bool
unpack(ls_str packed, ls_arena *arena, ls_str *body)
{
	ls_unpack_result how = ls_unsnap(packed, 100000, arena, body);

	require(how != LS_UNPACK_MEMORY);
	require(body->len <= (how == LS_UNPACK_OK ? 100000u : 0u));
	return how == LS_UNPACK_OK;
}

/* Half of the names are indexes. */
static bool
known(void *context, ls_str index)
{
	(void) context;
	require(index.len > 0);
	return index.len % 2 == 1;
}

static void
next_id(void *context, char *out)
{
	uint32_t *n = context;

	memset(out, 'x', 30);
	++*n;
}

/* The answer to a bulk request is JSON, with an item for each action. */
static void
check_answer(const ls_decode_result *result, ls_arena *arena)
{
	ls_json j;
	ls_str raw;
	ls_buf buf;
	uint32_t ids = 0;
	uint32_t refused = 0;

	for (uint32_t i = 0; i < result->n_items; i++)
		refused += result->items[i].code != NULL;
	require(refused == result->rejected);
	require(result->n_items == result->accepted + result->rejected);
	ls_buf_init(&buf, arena);
	ls_bulk_answer(&buf, result->items, result->n_items, 7, next_id, &ids);
	require(!buf.failed && ids == result->accepted);
	ls_json_init(&j, ls_str_make(buf.data, buf.len), arena, 16);
	require(ls_json_skip(&j, &raw) && ls_json_end(&j));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static ls_decode_result result;
	ls_decode_limits small = {100, 3, 4, 10, 20, 1000, LS_DECODE_LIMITS.future_us};
	ls_decode_limits normal = LS_DECODE_LIMITS;
	sink_state state = {&normal, 0, false};
	ls_decode_options options = {.limits = normal, .now = INT64_C(1767225600) * LS_USECS_PER_SEC};
	ls_arena *unpacked;
	ls_str body;
	bool good;

	if (size < 1)
		return 0;
	body = ls_str_make((const char *) data + 1, size - 1);
	if (data[0] & 4)
	{
		options.limits = small;
		state.limits = &small;
	}
	options.sink = (ls_decode_sink){check_event, undo, &state};
	options.arena = ls_arena_create(NULL, 8 * 1024 * 1024);
	options.scratch = ls_arena_create(NULL, 4 * (size + 100000) * ((data[0] & 8) == 0) + ((data[0] & 8) ? 1000 : 32 * 1024 * 1024));
	options.known_index = known;
	unpacked = ls_arena_create(NULL, 200000);
	if ((data[0] & 3) == 3)
	{
		if (!unpack(body, unpacked, &body))
			body = LS_STR("");
	}
	if (data[0] & 1)
		good = ls_decode_loki_protobuf(&options, body, &result);
	else if (data[0] & 2)
		good = ls_decode_bulk(&options, body, &result);
	else
		good = ls_decode_loki_json(&options, body, &result);
	require(good == (result.failure == LS_DECODE_OK));
	require(good != state.undone);
	require(result.accepted == state.events);
	if (!good)
		require(result.message.len > 0 && ((data[0] & 3) == 3 || result.offset <= size));
	if ((data[0] & 8) == 0)
		require(result.failure != LS_DECODE_MEMORY);
	if (good && (data[0] & 3) == 2)
		check_answer(&result, options.arena);
	else if (good)
		require(ls_rejections(options.arena, &result, "entry", "entries").len > 0 ==
				(result.rejected > 0));
	ls_arena_destroy(unpacked);
	ls_arena_destroy(options.scratch);
	ls_arena_destroy(options.arena);
	return 0;
}
