/*
 * loki_fuzz.c: any bytes as pushes of Loki in both encodings, as snappy, and as
 * bulk requests of Elasticsearch.
 *
 * The first byte chooses the decoder and, through small limits, makes cuts and
 * rejections likely.
 */
#include "test/fuzz/decode_fuzz.h"

static bool
unpack(ls_str packed, ls_arena *arena, ls_str *body)
{
	ls_unpack_result how = ls_snappy_decode(packed, 100000, arena, body);

	require(how != LS_UNPACK_MEMORY);
	require(body->len <= (how == LS_UNPACK_OK ? 100000u : 0u));
	return how == LS_UNPACK_OK;
}

/* Half of the names are indexes; they keep events for a day. */
static bool
known(void *context, ls_str index, ls_time *oldest)
{
	const ls_decode_options *options = context;

	require(index.len > 0);
	*oldest = options->now - LS_USECS_PER_DAY;
	return index.len % 2 == 1;
}

static bool
next_id(void *context, char *out)
{
	uint32_t *n = context;

	memset(out, 'x', 30);
	++*n;
	return true;
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static decoding d;
	ls_arena *unpacked;
	bool good;

	if (!begin_decoding(&d, data, size, size > 0 && (data[0] & 8) ? 0 : 4 * (size + 100000)))
		return 0;
	d.options.known_index = known;
	d.options.index_context = &d.options;
	unpacked = ls_arena_create(NULL, 200000);
	if ((d.how & 3) == 3)
	{
		if (!unpack(d.body, unpacked, &d.body))
			d.body = LS_STR("");
	}
	if (d.how & 1)
		good = ls_decode_loki_protobuf(&d.options, d.body, &d.result);
	else if (d.how & 2)
		good = ls_decode_bulk(&d.options, d.body, &d.result);
	else
		good = ls_decode_loki_json(&d.options, d.body, &d.result);
	check_result(&d, good);
	if (!good)
		require((d.how & 3) == 3 || d.result.offset <= size);
	if (good && (d.how & 3) == 2)
		check_answer(&d.result, d.options.arena);
	else if (good)
		require(ls_rejections(d.options.arena, &d.result, "entry", "entries").len > 0 ==
				(d.result.rejected > 0));
	ls_arena_destroy(unpacked);
	return end_decoding(&d);
}
