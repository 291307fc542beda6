/*
 * log_cost.h: what mining costs, and rows that are made to cost much.
 *
 * The baseline of a run is a pass over the same rows that only splits them
 * into words and hashes each: no miner can do less.
 */
#ifndef LOG_COST_H
#define LOG_COST_H

#include <stdlib.h>

#include "src/pattern/pattern.h"
#include "test/unit/log_grammar.h"

typedef struct log_cost
{
	double mining;   /* ms of CPU, the best run */
	double baseline; /* ... of the pass that splits and hashes */
	size_t memory;   /* bytes of the arena, at the most */
	size_t patterns;
} log_cost;

static inline double
log_milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

/* Words of letters, digits and _, each hashed; a 256-entry class table. */
static inline double
log_baseline_time(const log_rows *rows, int runs)
{
	static uint8_t word[256];
	static volatile uint64_t sink;
	double best = 1e9;

	for (int c = 0; c < 256; c++)
		word[c] = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
				  c == '_' || c >= 0x80;
	for (int i = 0; i < runs; i++)
	{
		double start = log_milliseconds();
		uint64_t sum = 0;
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
				sum += hash;
			}
		}
		sink += sum;
		(void) sink;
		took = log_milliseconds() - start;
		best = took < best ? took : best;
	}
	return best;
}

/* Memory for an arena that knows how much it held at once. */
typedef struct log_memory
{
	size_t now;
	size_t peak;
} log_memory;

static inline void *
log_memory_alloc(void *context, size_t size)
{
	log_memory *memory = context;
	size_t *block = malloc(size + 16);

	if (block == NULL)
		return NULL;
	*block = size;
	memory->now += size;
	memory->peak = memory->now > memory->peak ? memory->now : memory->peak;
	return block + 2;
}

static inline void
log_memory_free(void *context, void *chunk)
{
	size_t *block = (size_t *) chunk - 2;

	((log_memory *) context)->now -= *block;
	free(block);
}

static inline log_cost
log_mining_cost(const log_rows *rows, int runs)
{
	log_cost cost = {.mining = 1e9, .baseline = log_baseline_time(rows, runs)};

	for (int i = 0; i < runs; i++)
	{
		log_memory memory = {0};
		ls_arena_source source = {log_memory_alloc, log_memory_free, &memory};
		ls_arena *arena = ls_arena_create(&source, 0);
		double start = log_milliseconds();
		ls_pattern_set *set = ls_pattern_mine(arena, rows->rows, rows->n, NULL);
		double took = log_milliseconds() - start;

		cost.mining = took < cost.mining ? took : cost.mining;
		cost.memory = memory.peak;
		cost.patterns = set->unique;
		ls_arena_destroy(arena);
	}
	return cost;
}

/* Rows of which no two share a pattern, and others that are hard to compare. */
enum log_hostile
{
	LOG_UNIQUE_SHORT,  /* 20 words that no other row has */
	LOG_UNIQUE_LONG,   /* 2,000 characters of them */
	LOG_UNIQUE_VALUES, /* JSON with names that no other row has */
	LOG_UNIQUE_TIMED,  /* a time and a level in front */
	LOG_FEW_WORDS,     /* 200 words, in any order, 20 a row */
	LOG_FEW_WORDS_LONG,
	LOG_ONE_OF_MANY, /* equal but for some words of 40 each at any place */
	LOG_SYMBOLS,     /* punctuation in any order, 1,000 characters */
	LOG_LETTERS,     /* words of one letter: 500 tokens in 1,000 characters */
	LOG_HALF_EQUAL,  /* half of the words are those of many rows */
	LOG_NESTED,      /* brackets and parentheses */
	LOG_HOSTILE_KINDS
};

static const char *const log_hostile_names[] = {
	"unique_words",     "unique_words_2000", "unique_json",     "unique_timed",
	"few_words",        "few_words_1000",    "one_of_many",     "symbols_1000",
	"one_letter_words", "half_equal",        "parentheses_1000"};

static inline void
log_hostile_row(ls_buf *buf, log_random *r, int kind)
{
	uint32_t words = kind == LOG_UNIQUE_LONG      ? 235
					 : kind == LOG_FEW_WORDS_LONG ? 100
					 : kind == LOG_SYMBOLS        ? 1000
					 : kind == LOG_LETTERS        ? 500
					 : kind == LOG_NESTED         ? 400
					 : kind == LOG_ONE_OF_MANY    ? 100
												  : 20;
	uint32_t family = log_next(r, 50);

	if (kind == LOG_UNIQUE_TIMED)
		ls_buf_printf(buf, "2026-06-%02u 10:%02u:%02u.%03u %s ", 1 + log_next(r, 28),
					  log_next(r, 60), log_next(r, 60), log_next(r, 1000),
					  log_next(r, 2) ? "INFO" : "WARN");
	if (kind == LOG_UNIQUE_VALUES)
		ls_buf_char(buf, '{');
	for (uint32_t w = 0; w < words; w++)
	{
		if (kind == LOG_SYMBOLS)
		{
			ls_buf_char(buf, " :=,()[]{}<>|;!?a1\"'"[log_next(r, 20)]);
			continue;
		}
		if (kind == LOG_NESTED)
		{
			ls_buf_printf(buf, "%s", &"( \0) \0a \0a,\0 1\0b="[3 * log_next(r, 6)]);
			continue;
		}
		if (w > 0)
			ls_buf_char(buf, kind == LOG_UNIQUE_VALUES ? ',' : ' ');
		if (kind == LOG_FEW_WORDS || kind == LOG_FEW_WORDS_LONG)
			ls_buf_printf(buf, "word%c%c", 'g' + log_next(r, 10), 'g' + log_next(r, 20));
		else if (kind == LOG_ONE_OF_MANY && log_next(r, 3) > 0)
			ls_buf_printf(buf, "same%c", 'g' + w % 20);
		else if (kind == LOG_ONE_OF_MANY)
			ls_buf_printf(buf, "other%c%c", 'g' + log_next(r, 2), 'g' + log_next(r, 20));
		else if (kind == LOG_LETTERS)
			ls_buf_char(buf, (char) ('a' + log_next(r, 26)));
		else if (kind == LOG_HALF_EQUAL && w % 2 == 0)
			ls_buf_printf(buf, "family%c%c", 'g' + family % 10, 'g' + family / 10);
		else
		{
			if (kind == LOG_UNIQUE_VALUES)
				ls_buf_char(buf, '"');
			for (uint32_t k = 0, len = 4 + log_next(r, 8); k < len; k++)
				ls_buf_char(buf, (char) ('g' + log_next(r, 20)));
			if (kind == LOG_UNIQUE_VALUES)
				ls_buf_printf(buf, "\":%u", log_next(r, 1000));
		}
	}
	if (kind == LOG_UNIQUE_VALUES)
		ls_buf_char(buf, '}');
}

static inline log_rows
log_hostile_rows(ls_arena *arena, int kind, size_t n)
{
	log_rows out = {.n = n};
	log_random r = {17};

	out.rows = ls_new_array(arena, ls_str, n);
	for (size_t i = 0; i < n; i++)
	{
		ls_buf buf;

		ls_buf_init(&buf, arena);
		log_hostile_row(&buf, &r, kind);
		out.rows[i] = ls_str_make(buf.data, buf.len < 2000 ? buf.len : 2000);
		out.bytes += out.rows[i].len;
	}
	return out;
}

#endif
