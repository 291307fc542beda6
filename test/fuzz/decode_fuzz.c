/*
 * decode_fuzz.c: any bytes as a body of each kind.
 *
 * The first byte chooses the decoder and, through small limits, makes cuts and
 * rejections likely.
 */
#include "test/fuzz/decode_fuzz.h"

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
	begin_decoding(data[0], 4 * size, &state, &options);
	body = ls_str_make((const char *) data + 1, size - 1);
	switch (data[0] & 3)
	{
		case 0:
			good = ls_decode_event(&options, body, &result);
			break;
		case 1:
			good = ls_decode_batch(&options, body, &result);
			break;
		default:
			good = ls_decode_ndjson(&options, body, &result);
			break;
	}
	check_result(&result, good, &state, data[0]);
	if (good)
		require(result.accepted + result.rejected > 0 && result.bytes <= size);
	else
		require(result.offset <= size);
	ls_arena_destroy(options.scratch);
	ls_arena_destroy(options.arena);
	return 0;
}
