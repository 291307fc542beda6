/*-------------------------------------------------------------------------
 *
 * snappy_decode.c
 *	  Bodies packed with snappy, within a limit (pure).
 *
 * A snappy block says first how large it is unpacked.  So the limit is looked
 * at before anything is unpacked, and what no block of this size can become is
 * refused before memory is taken.  The library unpacks into memory that it is
 * given, checks every offset, and allocates nothing of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/decode.h"

#include <snappy-c.h>

/* A copy of 64 bytes takes 3: nothing grows more. */
#define MAX_GROWTH 22

size_t
ls_snappy_decoded_size(ls_str packed)
{
	size_t size;

	if (snappy_uncompressed_length(packed.data, packed.len, &size) != SNAPPY_OK ||
		size > packed.len * MAX_GROWTH)
		return 0;
	return size;
}

ls_unpack_result
ls_snappy_decode(ls_str packed, size_t limit, ls_arena *arena, ls_str *body)
{
	size_t size;
	char *out;

	*body = LS_STR("");
	if (snappy_uncompressed_length(packed.data, packed.len, &size) != SNAPPY_OK)
		return LS_UNPACK_BROKEN;
	if (size > limit)
		return LS_UNPACK_TOO_LARGE;
	if (size > packed.len * MAX_GROWTH)
		return LS_UNPACK_BROKEN;
	out = ls_arena_alloc(arena, size + 1);
	if (out == NULL)
		return LS_UNPACK_MEMORY;
	if (snappy_uncompress(packed.data, packed.len, out, &size) != SNAPPY_OK)
		return LS_UNPACK_BROKEN;
	*body = ls_str_make(out, size);
	return LS_UNPACK_OK;
}
