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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static decoding d;
	bool good;

	if (!begin_decoding(&d, data, size, 4 * size))
		return 0;
	if (d.how & 2)
	{
		unpack(d.body);
		return end_decoding(&d);
	}
	if (d.how & 1)
		good = ls_decode_otlp_protobuf(&d.options, d.body, &d.result);
	else
		good = ls_decode_otlp_json(&d.options, d.body, &d.result);
	check_result(&d, good);
	if (good)
	{
		ls_buf buf;

		ls_buf_init(&buf, d.options.arena);
		ls_otlp_answer(&buf, d.how & 1, d.result.rejected,
					   ls_otlp_message(d.options.arena, &d.result));
		require(!buf.failed);
	}
	else
		require(d.result.offset <= size);
	return end_decoding(&d);
}
