/*-------------------------------------------------------------------------
 *
 * part_codec.c
 *	  Frames: the compressed, checksummed pieces of a body (pure).
 *
 * This is the only file that uses zstd and lz4.  Their states come from the
 * arena: zstd's "static" interface takes a workspace, so it never calls malloc, and
 * nothing leaks when the caller is interrupted.
 *
 *-------------------------------------------------------------------------
 */
#define ZSTD_STATIC_LINKING_ONLY
#include "src/part/part_impl.h"

#include <lz4.h>
#include <zstd.h>

typedef enum frame_codec
{
	FRAME_PLAIN,
	FRAME_LZ4,
	FRAME_ZSTD
} frame_codec;

#define FRAME_CHECKSUM 4

/* Shorter frames are not compressed: the compressor would only make them longer. */
#define FRAME_PLAIN_BELOW 64

#define ZSTD_LEVEL_FRESH 1
#define ZSTD_LEVEL_MERGED 6

struct ls_part_compressor
{
	ls_arena *arena;
	void *lz4;
	ZSTD_CCtx *zstd[2]; /* fresh, merged: their workspaces differ in size */
};

ls_part_compressor *
ls_part_compressor_create(ls_arena *arena)
{
	ls_part_compressor *c = ls_new(arena, ls_part_compressor);

	if (c != NULL)
		c->arena = arena;
	return c;
}

static size_t
compress_lz4(ls_part_compressor *c, ls_str raw, char *to, size_t capacity)
{
	int n;

	if (c->lz4 == NULL)
		c->lz4 = ls_arena_alloc(c->arena, (size_t) LZ4_sizeofState());
	if (c->lz4 == NULL)
		return 0;
	n = LZ4_compress_fast_extState(c->lz4, raw.data, to, (int) raw.len, (int) capacity, 1);
	return n <= 0 ? 0 : (size_t) n;
}

static size_t
compress_zstd(ls_part_compressor *c, bool merged, ls_str raw, char *to, size_t capacity)
{
	int level = merged ? ZSTD_LEVEL_MERGED : ZSTD_LEVEL_FRESH;
	ZSTD_CCtx *zstd = c->zstd[merged];
	size_t n;

	if (zstd == NULL)
	{
		size_t size = ZSTD_estimateCCtxSize(level);
		void *workspace = ls_arena_alloc(c->arena, size);

		if (workspace == NULL)
			return 0;
		zstd = c->zstd[merged] = ZSTD_initStaticCCtx(workspace, size);
		if (zstd == NULL)
			return 0;
	}
	n = ZSTD_compressCCtx(zstd, to, capacity, raw.data, raw.len, level);
	return ZSTD_isError(n) ? 0 : n;
}

/* Two frames of zstd, one after the other; 0 as compress_zstd. */
static size_t
compress_parts(ls_part_compressor *c, bool merged, ls_str raw, size_t cut, char *to,
			   size_t capacity)
{
	size_t n = compress_zstd(c, merged, ls_str_make(raw.data, cut), to, capacity);
	size_t rest = 0;

	if (n > 0 && n < capacity)
		rest = compress_zstd(c, merged, ls_str_make(raw.data + cut, raw.len - cut), to + n,
							 capacity - n);
	return rest == 0 ? 0 : n + rest;
}

uint32_t
ls_part_frame_write(ls_part_compressor *compressor, ls_part_codec codec, ls_str raw, size_t cut,
					ls_buf *body)
{
	size_t start = body->len;
	size_t payload;
	size_t n = 0;

	if (raw.len > LS_PART_MAX_FRAME || !ls_buf_reserve(body, raw.len + 16))
		return 0;
	if (raw.len >= FRAME_PLAIN_BELOW)
	{
		ls_buf_char(body, codec == LS_CODEC_FAST ? FRAME_LZ4 : FRAME_ZSTD);
		ls_buf_varint(body, raw.len);
		payload = body->len;
		/* The capacity is below the raw size: a frame that does not shrink by 1/32 stays plain. */
		if (codec == LS_CODEC_FAST)
			n = compress_lz4(compressor, raw, body->data + payload, raw.len - raw.len / 32);
		else if (cut > 0 && cut < raw.len)
			n = compress_parts(compressor, codec == LS_CODEC_MERGED, raw, cut, body->data + payload,
							   raw.len - raw.len / 32);
		else
			n = compress_zstd(compressor, codec == LS_CODEC_MERGED, raw, body->data + payload,
							  raw.len - raw.len / 32);
		body->len = n > 0 ? payload + n : start;
	}
	if (n == 0)
	{
		ls_buf_char(body, FRAME_PLAIN);
		ls_buf_str(body, raw);
	}
	ls_buf_u32(body, ls_crc32c(0, body->data + start, body->len - start));
	return body->failed ? 0 : (uint32_t) (body->len - start);
}

static bool
make_zstd(ls_part_decompressor *d)
{
	size_t need = ZSTD_estimateDCtxSize();
	void *workspace = ls_arena_alloc(d->arena, need);

	if (workspace != NULL)
		d->zstd = ZSTD_initStaticDCtx(workspace, need);
	return d->zstd != NULL;
}

ls_part_decompressor *
ls_part_decompressor_create(ls_arena *arena)
{
	ls_part_decompressor *d = ls_new(arena, ls_part_decompressor);

	if (d == NULL)
		return NULL;
	d->arena = arena;
	return make_zstd(d) ? d : NULL;
}

static const char *
decompress_zstd(ls_part_decompressor *d, ls_str from, char *to, size_t size)
{
	if (d->zstd == NULL && !make_zstd(d))
		return "out of memory";
	if (ZSTD_decompressDCtx(d->zstd, to, size, from.data, from.len) != size)
		return "damaged zstd frame";
	return NULL;
}

const char *
ls_part_frame_read(ls_part_decompressor *decompressor, ls_str frame, ls_arena *arena, ls_str *raw)
{
	ls_reader r;
	uint32_t checksum;
	uint8_t codec;
	uint64_t size;
	ls_str from;
	char *to;

	if (frame.len < 1 + FRAME_CHECKSUM)
		return "frame is too short";
	frame.len -= FRAME_CHECKSUM;
	r = ls_reader_make(frame.data + frame.len, FRAME_CHECKSUM);
	checksum = ls_read_u32(&r);
	if (ls_crc32c(0, frame.data, frame.len) != checksum)
		return "checksum of a frame is wrong";

	r = ls_reader_make(frame.data, frame.len);
	codec = ls_read_u8(&r);
	if (codec == FRAME_PLAIN)
	{
		*raw = ls_str_make(frame.data + 1, frame.len - 1);
		return NULL;
	}
	size = ls_read_varint(&r);
	from = ls_str_make((const char *) r.pos, (size_t) (r.end - r.pos));
	if (r.failed || size == 0 || size > LS_PART_MAX_FRAME || from.len == 0)
		return "size of a frame is wrong";

	/* lz4 expands a byte to at most 255 bytes: do not allocate for an impossible size. */
	if (codec == FRAME_LZ4 && size / 255 > from.len)
		return "size of a frame is wrong";
	if (codec != FRAME_LZ4 && codec != FRAME_ZSTD)
		return "unknown compression of a frame";
	to = ls_arena_alloc(arena, (size_t) size);
	if (to == NULL)
		return "out of memory";
	if (codec == FRAME_ZSTD)
	{
		const char *error = decompress_zstd(decompressor, from, to, (size_t) size);

		if (error != NULL)
			return error;
	}
	else if (LZ4_decompress_safe(from.data, to, (int) from.len, (int) size) != (int) size)
		return "damaged lz4 frame";
	*raw = ls_str_make(to, (size_t) size);
	return NULL;
}
