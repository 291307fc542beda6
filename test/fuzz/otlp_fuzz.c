/*
 * otlp_fuzz.c: any bytes as OTLP in both encodings, and as gzip.
 *
 * The first byte chooses the decoder and, through small limits, makes cuts and
 * rejections likely.
 */
#include "test/fuzz/decode_fuzz.h"

static void
unpack(ls_str packed)
{
	ls_arena *arena = ls_arena_create(NULL, 4 * 100000 + 65536);
	ls_str body;
	ls_unpack_result how = ls_gunzip(packed, 100000, arena, &body);

	require(how != LS_UNPACK_MEMORY);
	require(body.len <= (how == LS_UNPACK_OK ? 100000u : 0u));
	ls_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static ls_decode_result result;
	ls_decode_options options;
	sink_state state;
	ls_str body;
	bool good;

	if (size < 1)
		return 0;
	body = ls_str_make((const char *) data + 1, size - 1);
	if (data[0] & 2)
	{
		unpack(body);
		return 0;
	}
	begin_decoding(data[0], 4 * size, &state, &options);
	if (data[0] & 1)
		good = ls_decode_otlp_protobuf(&options, body, &result);
	else
		good = ls_decode_otlp_json(&options, body, &result);
	check_result(&result, good, &state, data[0]);
	if (!good)
		require(result.offset <= size);
	if (good)
	{
		ls_buf buf;

		ls_buf_init(&buf, options.arena);
		ls_otlp_answer(&buf, data[0] & 1, result.rejected,
					   ls_rejections(options.arena, &result, "record", "log records"));
		require(!buf.failed);
	}
	ls_arena_destroy(options.scratch);
	ls_arena_destroy(options.arena);
	return 0;
}
