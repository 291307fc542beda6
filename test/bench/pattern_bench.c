/*
 * pattern_bench.c: speed of the template miner.
 *
 * Prints rows `metric value unit`: milliseconds of one core for a request of
 * 10,000 rows, mixed ones of eight kinds of logs and rows of unique words, the
 * best of some runs each.  The baseline of the same run is a pass that only
 * splits the same bytes into words and hashes each: no miner can do less.
 */
#include <stdio.h>
#include <time.h>

#include "src/pattern/pattern.h"
#include "test/unit/log_rows.h"

#define ROWS 10000
#define RUNS 15

static double
milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static double
mining_time(const log_rows *rows, size_t *unique, size_t *bytes)
{
	double best = 1e9;

	for (int i = 0; i < RUNS; i++)
	{
		ls_arena *arena = ls_arena_create(NULL, 0);
		double start = milliseconds();
		ls_pattern_set *set = ls_pattern_mine(arena, rows->rows, rows->n, NULL);
		double took = milliseconds() - start;
		ls_buf buf;

		if (took < best)
			best = took;
		*unique = set->unique;
		ls_buf_init(&buf, arena);
		for (size_t p = 0; p < set->shown; p++)
			ls_pattern_line(&buf, &set->patterns[p]);
		*bytes = buf.len + set->shown;
		ls_arena_destroy(arena);
	}
	return best;
}

/* Words of letters, digits and _, each hashed; a 256-entry class table. */
static double
baseline_time(const log_rows *rows, uint64_t *sum)
{
	static uint8_t word[256];
	double best = 1e9;

	for (int c = 0; c < 256; c++)
		word[c] = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
				  c == '_' || c >= 0x80;
	for (int i = 0; i < RUNS; i++)
	{
		double start = milliseconds();
		double took;

		for (size_t r = 0; r < rows->n; r++)
		{
			const uint8_t *p = (const uint8_t *) rows->rows[r].data;
			const uint8_t *end = p + rows->rows[r].len;

			while (p < end)
			{
				uint64_t hash = UINT64_C(0xcbf29ce484222325);

				while (p < end && !word[*p])
					p++;
				while (p < end && word[*p])
					hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
				*sum += hash;
			}
		}
		took = milliseconds() - start;
		if (took < best)
			best = took;
	}
	return best;
}

static log_rows
unique_words(ls_arena *arena)
{
	log_rows out = {.n = ROWS};
	log_random r = {17};

	out.rows = ls_new_array(arena, ls_str, ROWS);
	for (size_t i = 0; i < ROWS; i++)
	{
		ls_buf buf;

		ls_buf_init(&buf, arena);
		for (uint32_t w = 0; w < 20; w++)
		{
			if (w > 0)
				ls_buf_char(&buf, ' ');
			for (uint32_t k = 0, len = 4 + log_next(&r, 8); k < len; k++)
				ls_buf_char(&buf, (char) ('g' + log_next(&r, 20)));
		}
		out.rows[i] = ls_str_make(buf.data, buf.len);
		out.bytes += buf.len;
	}
	return out;
}

int
main(void)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	log_rows mixed = log_rows_make(arena, LOG_MIXED, ROWS, 3);
	log_rows unique = unique_words(arena);
	uint64_t sum = 0;
	size_t patterns;
	size_t bytes;
	double base = baseline_time(&mixed, &sum);
	double took = mining_time(&mixed, &patterns, &bytes);

	printf("pattern_mixed_time %.3f ms\n", took);
	printf("pattern_mixed_speed %.0f MB/s\n", (double) mixed.bytes / took / 1e3);
	printf("pattern_mixed_patterns %zu patterns\n", patterns);
	printf("pattern_mixed_compression %.1f times\n", (double) mixed.bytes / (double) bytes);
	printf("pattern_baseline_time %.3f ms\n", base);
	printf("pattern_baseline_ratio %.2f times\n", took / base);
	base = baseline_time(&unique, &sum);
	took = mining_time(&unique, &patterns, &bytes);
	printf("pattern_unique_time %.3f ms\n", took);
	printf("pattern_unique_speed %.0f MB/s\n", (double) unique.bytes / took / 1e3);
	printf("pattern_unique_baseline_ratio %.2f times\n", took / base);
	ls_arena_destroy(arena);
	return sum == 0;
}
