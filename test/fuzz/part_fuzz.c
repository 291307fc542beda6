/*
 * part_fuzz.c: any bytes as a part.
 *
 * Input: two bytes of header length (little-endian), the header, the body.
 * Checksums are made right before the part sees them, or the fuzzer would
 * never come past them.  Everything is read, then merged; what a merge
 * accepts must come out of the merged part again.
 */
#include <stdlib.h>

#include "src/part/part.h"

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
put_checksum(char *data, size_t len)
{
	uint32_t crc = ls_crc32c(0, data, len - 4);

	for (int i = 0; i < 4; i++)
		data[len - 4 + (size_t) i] = (char) (crc >> 8 * i);
}

/* Every frame is fetched by itself, so this makes its checksum right. */
static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	const ls_str *body = context;

	if (offset > body->len || length > body->len - offset)
		return false;
	memcpy(to, body->data + offset, length);
	if (length >= 4)
		put_checksum(to, length);
	return true;
}

static bool
fetch_as_is(void *context, uint64_t offset, size_t length, void *to)
{
	const ls_str *body = context;

	require(offset <= body->len && length <= body->len - offset);
	memcpy(to, body->data + offset, length);
	return true;
}

static uint64_t touched;

static void
touch(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
		touched += (uint8_t) s.data[i];
}

static void
read_vectors(ls_part *part, uint32_t block)
{
	uint32_t rows = ls_part_block_rows(part, block);

	for (uint32_t c = 0; c < ls_part_columns(part); c++)
	{
		const ls_vector *v = ls_part_vector(part, block, c);
		const uint32_t *ranks = ls_part_ranks(part, block, c);

		require(v != NULL || ls_part_error(part) != NULL);
		for (uint32_t i = 0; ranks != NULL && v != NULL && i < rows; i++)
			require(ranks[i] == UINT32_MAX || ranks[i] < v->count);
		for (uint32_t i = 0; v != NULL && i < v->count; i++)
		{
			if (v->form == LS_VECTOR_INTEGER)
				touched += (uint64_t) v->integers[i];
			else
				touch(ls_vector_text(v, i));
		}
	}
}

/* Any tokens of any column: blocks can only go. */
static void
ask_filters(ls_part *part)
{
	for (uint32_t c = 0; c < ls_part_columns(part); c++)
	{
		for (int kind = LS_TOKEN_WORD; kind <= LS_TOKEN_PIECE; kind++)
		{
			uint64_t hashes[3] = {c, UINT64_C(0x9E3779B97F4A7C15) * (c + 1), UINT64_MAX};
			uint32_t blocks = 0xAAAA;

			if (!ls_part_may_hold(part, c, (ls_token_kind) kind, hashes, 3, &blocks))
				require(ls_part_error(part) != NULL);
			require((blocks & ~UINT32_C(0xAAAA)) == 0);
		}
	}
}

static void
ask_counts(ls_part *part)
{
	const ls_part_stats *stats = ls_part_statistics(part);
	ls_part_counts counts;

	if (!ls_part_time_counts(part, &counts))
		require(ls_part_error(part) != NULL);
	else if (counts.n > 0)
	{
		require(counts.n <= LS_PART_MAX_INTERVALS && counts.min[0] == stats->min_time &&
				counts.max[counts.n - 1] == stats->max_time);
		for (uint32_t i = 0; i < counts.n; i++)
			require(counts.min[i] <= counts.max[i] &&
					(i == 0 || counts.min[i] - 1 == counts.max[i - 1]));
		for (int level = 0; level < LS_LEVELS; level++)
		{
			uint64_t rows = 0;

			for (uint32_t i = 0; i < counts.n; i++)
				rows += counts.rows[level][i];
			require(rows == stats->level_rows[level]);
		}
	}
}

static void
ask_value_counts(ls_part *part)
{
	const ls_part_stats *stats = ls_part_statistics(part);

	for (uint32_t c = 0; c < ls_part_columns(part); c++)
	{
		ls_value_counts counts;
		const ls_str *entries;
		uint32_t n = 0;

		if (!ls_part_value_counts(part, c, &counts))
		{
			require(counts.n == 0 && ls_part_error(part) != NULL);
			continue;
		}
		for (int level = 0; level < LS_LEVELS && counts.n > 0; level++)
		{
			uint64_t rows = 0;

			for (uint32_t i = 0; i < counts.n; i++)
				rows += counts.rows[level][i];
			require(rows <= stats->level_rows[level]);
		}
		for (uint32_t i = 0; i < counts.n && counts.integers != NULL; i++)
			require(i == 0 || counts.integers[i] > counts.integers[i - 1]);
		if (counts.n > 0 && counts.integers == NULL && ls_part_dictionary(part, c, &entries, &n))
			require(n == counts.n);
	}
	ls_part_check_value_counts(part);
}

static bool
read_rows(ls_part *part, uint32_t block, ls_arena *arena)
{
	for (uint32_t row = 0; row < ls_part_block_rows(part, block); row++)
	{
		ls_event e;

		ls_arena_reset(arena);
		if (!ls_part_row(part, block, row, arena, &e))
		{
			require(ls_part_error(part) != NULL);
			return false;
		}
		for (int f = 0; f < LS_NAMED_FIELDS; f++)
			touch(e.field[f]);
		for (size_t i = 0; i < e.n_attributes; i++)
			touch(e.attributes[i].text);
	}
	return true;
}

static void
merge(ls_part *part, ls_arena *arena, ls_arena *rows)
{
	ls_part_builder *b = ls_part_builder_create(arena);
	uint32_t done = 0;
	ls_buf header;
	ls_buf body;
	ls_part_stats stats;
	const char *error;
	ls_str bytes;

	if (b == NULL || !ls_part_append(part, b, &done))
		return;
	require(done == ls_part_statistics(part)->rows && ls_part_builder_rows(b) == done);
	ls_buf_init(&header, arena);
	ls_buf_init(&body, arena);
	if (!ls_part_builder_finish(b, done % 2 ? LS_CODEC_FRESH : LS_CODEC_FAST, done % 3 == 0,
								&header, &body, &stats))
		return;
	bytes = ls_str_make(body.data, body.len);
	part = ls_part_open(arena, ls_str_make(header.data, header.len), fetch_as_is, &bytes, &error);
	if (part == NULL)
	{
		require(ls_arena_failed(arena));
		return;
	}
	for (uint32_t block = 0; block < ls_part_blocks(part); block++)
	{
		require(read_rows(part, block, rows) || ls_arena_failed(arena) || ls_arena_failed(rows));
		ls_part_release_block(part);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_arena *arena;
	ls_arena *rows;
	ls_part *part;
	const char *error = NULL;
	size_t length;
	char *header;
	ls_str body;
	bool good = true;

	if (size < 2)
		return 0;
	length = data[0] | (size_t) data[1] << 8;
	if (length > size - 2)
		length = size - 2;
	arena = ls_arena_create(NULL, 256 << 20);
	rows = ls_arena_create(NULL, 64 << 20);
	/* Exactly as long as said, so that a read beyond it is seen. */
	header = malloc(length + 1);
	memcpy(header, data + 2, length);
	if (length >= 4)
		put_checksum(header, length);
	body = ls_str_make((const char *) data + 2 + length, size - 2 - length);

	part = ls_part_open(arena, ls_str_make(header, length), fetch, &body, &error);
	require(part != NULL || error != NULL);
	if (part != NULL)
	{
		ask_filters(part);
		ask_counts(part);
		ask_value_counts(part);
		for (uint32_t block = 0; block < ls_part_blocks(part); block++)
		{
			ls_part_timestamps(part, block);
			read_vectors(part, block);
			good = good && read_rows(part, block, rows);
			ls_part_release_block(part);
		}
		if (good)
			merge(part, arena, rows);
	}
	free(header);
	ls_arena_destroy(rows);
	ls_arena_destroy(arena);
	return 0;
}
