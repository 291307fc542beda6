/*
 * decode_fuzz.c: any bytes as a body of each kind.
 *
 * The first byte chooses the decoder and, through small limits, makes cuts and
 * rejections likely.  32: lists in objects are taken apart.
 */
#include "test/fuzz/decode_fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static decoding d;
	bool good;

	if (!begin_decoding(&d, data, size, 4 * size))
		return 0;
	d.options.wrapped = (d.how & 32) != 0;
	switch (d.how & 3)
	{
		case 0:
			good = ls_decode_event(&d.options, d.body, &d.result);
			break;
		case 1:
			good = ls_decode_batch(&d.options, d.body, &d.result);
			break;
		case 2:
			good = ls_decode_text(&d.options, d.body, &d.result);
			break;
		default:
			good = ls_decode_ndjson(&d.options, d.body, &d.result);
			break;
	}
	check_result(&d, good);
	if (good)
		/* What events share is counted with each of them. */
		require(d.result.accepted + d.result.rejected > 0 &&
				d.result.bytes <= size + (d.result.wrapped ? d.options.limits.expanded_bytes : 0));
	else
		require(d.result.offset <= size);
	return end_decoding(&d);
}
