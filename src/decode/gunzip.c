/*-------------------------------------------------------------------------
 *
 * gunzip.c
 *	  Compressed bodies of requests, within a limit, and of answers (pure).
 *
 * The limit holds while unpacking: a body that would grow beyond it is refused
 * when its first byte too many is seen, so a bomb costs no more than a large
 * body does.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/decode.h"

#include <limits.h>
#include <zlib.h>

/* 15 bits of window, as everywhere, and only gzip's own frame. */
#define GZIP_WINDOW (15 + 16)

static voidpf
zlib_alloc(voidpf arena, uInt items, uInt size)
{
	return ls_arena_alloc(arena, (size_t) items * size);
}

/* The arena is freed as a whole. */
static void
zlib_free(voidpf arena, voidpf address)
{
	(void) arena;
	(void) address;
}

size_t
ls_gunzip_most(ls_str packed)
{
	size_t most = packed.len * LS_GZIP_RATIO;
	size_t said = 0;

	/* ISIZE: the last four bytes of a member. */
	for (size_t i = 0; i < 4 && packed.len >= 4; i++)
		said = said << 8 | (unsigned char) packed.data[packed.len - 1 - i];
	return said > most ? said : most;
}

/* Makes room in `out`, which may hold one byte more than the limit. */
static bool
make_room(ls_buf *out, size_t limit, size_t hint)
{
	size_t room = out->len == 0 ? hint : out->len;

	if (room > limit + 1 - out->len)
		room = limit + 1 - out->len;
	return ls_buf_reserve(out, room);
}

static ls_unpack_result
inflate_all(z_stream *z, size_t limit, size_t most, ls_buf *out, size_t hint)
{
	while (true)
	{
		size_t room;
		int status;

		if (out->len == out->capacity || out->len == 0)
		{
			if (!make_room(out, limit, hint))
				return LS_UNPACK_MEMORY;
		}
		room = out->capacity - out->len;
		if (room > limit + 1 - out->len)
			room = limit + 1 - out->len;
		z->next_out = (Bytef *) out->data + out->len;
		z->avail_out = (uInt) room;
		status = inflate(z, Z_NO_FLUSH);
		out->len += room - z->avail_out;
		if (out->len > limit)
			return LS_UNPACK_TOO_LARGE;
		if (status == Z_STREAM_END)
		{
			/* A gzip file may have several members; whatever else follows is no part of it. */
			if (z->avail_in == 0)
				return LS_UNPACK_OK;
			if (inflateReset(z) != Z_OK)
				return LS_UNPACK_BROKEN;
			if (limit > most)
				limit = most;
			if (out->len > limit)
				return LS_UNPACK_TOO_LARGE;
		}
		else if (status == Z_MEM_ERROR)
			return LS_UNPACK_MEMORY;
		else if (status != Z_OK || (z->avail_in == 0 && z->avail_out > 0))
			return LS_UNPACK_BROKEN;
	}
}

ls_unpack_result
ls_gunzip(ls_str packed, size_t limit, ls_arena *arena, ls_str *body)
{
	z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = arena};
	ls_unpack_result result;
	ls_buf out;

	*body = LS_STR("");
	if (packed.len > UINT_MAX || limit >= UINT_MAX)
		return LS_UNPACK_TOO_LARGE;
	z.next_in = (z_const Bytef *) packed.data;
	z.avail_in = (uInt) packed.len;
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return LS_UNPACK_MEMORY;
	ls_buf_init(&out, arena);
	result = inflate_all(&z, limit, ls_gunzip_most(packed), &out,
						 packed.len < 256 ? 1024 : packed.len * 4);
	inflateEnd(&z);
	if (result == LS_UNPACK_OK)
		*body = ls_str_make(out.data, out.len);
	return result;
}

bool
ls_gzip(ls_str text, ls_arena *arena, ls_str *packed)
{
	z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = arena};
	ls_buf out;
	bool done;

	/* The fastest level: it leaves a tenth of JSON, and the time is that of a request. */
	if (text.len > UINT_MAX / 2 ||
		deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	ls_buf_init(&out, arena);
	done = ls_buf_reserve(&out, deflateBound(&z, (uLong) text.len));
	if (done)
	{
		z.next_in = (z_const Bytef *) text.data;
		z.avail_in = (uInt) text.len;
		z.next_out = (Bytef *) out.data;
		z.avail_out = (uInt) out.capacity;
		done = deflate(&z, Z_FINISH) == Z_STREAM_END;
		*packed = ls_str_make(out.data, out.capacity - z.avail_out);
	}
	deflateEnd(&z);
	return done;
}

/* The head of a gzip file without a name or a time, made on Unix. */
static const char gzip_head[10] = {0x1F, (char) 0x8B, 8, 0, 0, 0, 0, 0, 4, 3};

static void
little_endian(ls_buf *out, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		ls_buf_char(out, (char) (number >> 8 * i & 0xFF));
}

bool
ls_gzip_piece(ls_gzip_state *state, ls_str text, bool last, ls_buf *out)
{
	z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = out->arena};
	bool done;

	if (!state->begun)
		ls_buf_append(out, gzip_head, sizeof(gzip_head));
	/* Blocks without a frame of their own: those of all pieces are one member. */
	if (text.len > UINT_MAX / 2 ||
		deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	/* A sync flush adds an empty block. */
	done = ls_buf_reserve(out, deflateBound(&z, (uLong) text.len) + 16);
	if (done)
	{
		size_t room = out->capacity - out->len;

		if (room > UINT_MAX)
			room = UINT_MAX;
		z.next_in = (z_const Bytef *) text.data;
		z.avail_in = (uInt) text.len;
		z.next_out = (Bytef *) out->data + out->len;
		z.avail_out = (uInt) room;
		done = last ? deflate(&z, Z_FINISH) == Z_STREAM_END
					: deflate(&z, Z_SYNC_FLUSH) == Z_OK && z.avail_in == 0 && z.avail_out > 0;
		out->len += room - z.avail_out;
	}
	deflateEnd(&z);
	if (!done)
		return false;
	state->crc = (uint32_t) crc32(state->begun ? state->crc : crc32(0, NULL, 0),
								  (const Bytef *) text.data, (uInt) text.len);
	state->size = (state->begun ? state->size : 0) + (uint32_t) text.len;
	state->begun = true;
	if (last)
	{
		little_endian(out, state->crc);
		little_endian(out, state->size);
	}
	return !out->failed;
}
