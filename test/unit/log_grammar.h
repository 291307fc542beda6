/*
 * log_grammar.h: makes log rows of known templates, for tests and benchmarks.
 *
 * A kind of log is a file under test/data/pattern (README.md there has the
 * format): fields, and templates that are made of text and fields.  The label
 * of a row is its template, so that grouping can be checked.  The same seed
 * gives the same rows on every machine.
 */
#ifndef LOG_GRAMMAR_H
#define LOG_GRAMMAR_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/base/pure.h"

#define LOG_DATA "test/data/pattern/"
#define LOG_MAX_FIELDS 400
#define LOG_MAX_CHOICES 60
#define LOG_MAX_TEMPLATES 120
#define LOG_MAX_DEPTH 12

typedef struct log_rows
{
	ls_str *rows;
	int *labels; /* 0 to nlabels - 1 */
	int nlabels;
	size_t n;
	size_t bytes;
} log_rows;

typedef struct log_field
{
	ls_str name;
	ls_str choices[LOG_MAX_CHOICES];
	uint32_t n;
} log_field;

typedef struct log_grammar
{
	ls_str name;
	log_field fields[LOG_MAX_FIELDS];
	size_t nfields;
	ls_str templates[LOG_MAX_TEMPLATES];
	uint32_t weights[LOG_MAX_TEMPLATES];
	int labels[LOG_MAX_TEMPLATES];
	size_t n;
	int nlabels;
} log_grammar;

typedef struct log_random
{
	uint64_t state;
} log_random;

static inline uint32_t
log_next(log_random *r, uint32_t below)
{
	r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) ((r->state >> 33) % below);
}

/* ---- reading a grammar ---- */

static inline ls_str
log_trim(ls_str s)
{
	while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
		s = ls_str_make(s.data + 1, s.len - 1);
	while (s.len > 0 && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* The part before the separator, which is taken off `rest`. */
static inline ls_str
log_cut(ls_str *rest, const char *separator)
{
	size_t len = strlen(separator);

	for (size_t i = 0; i + len <= rest->len; i++)
	{
		if (memcmp(rest->data + i, separator, len) == 0)
		{
			ls_str part = ls_str_make(rest->data, i);

			*rest = ls_str_make(rest->data + i + len, rest->len - i - len);
			return part;
		}
	}
	ls_str all = *rest;

	*rest = ls_str_make(rest->data + rest->len, 0);
	return all;
}

static inline bool
log_grammar_line(log_grammar *g, ls_str line)
{
	ls_str rest = line;
	ls_str head;
	bool variant;

	if (log_trim(line).len == 0 || line.data[0] == '#')
		return true;
	if (line.data[0] >= 'a' && line.data[0] <= 'z')
	{
		log_field *f = &g->fields[g->nfields];

		f->name = log_trim(log_cut(&rest, " ="));
		if (g->nfields + 1 == LOG_MAX_FIELDS || rest.len == 0)
			return false;
		rest = log_trim(rest);
		do
		{
			if (f->n == LOG_MAX_CHOICES)
				return false;
			f->choices[f->n++] = log_trim(log_cut(&rest, " | "));
		} while (rest.len > 0);
		g->nfields++;
		return true;
	}
	variant = line.data[0] == '+';
	if (variant)
		rest = ls_str_make(rest.data + 1, rest.len - 1);
	head = log_cut(&rest, " ");
	if (g->n == LOG_MAX_TEMPLATES || rest.len == 0 || (variant && g->nlabels == 0))
		return false;
	g->weights[g->n] = (uint32_t) strtoul(head.data, NULL, 10);
	g->nlabels += !variant;
	g->labels[g->n] = g->nlabels - 1;
	g->templates[g->n++] = rest;
	return g->weights[g->n - 1] > 0;
}

static inline bool
log_grammar_file(ls_arena *arena, log_grammar *g, const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text = ls_arena_alloc(arena, 1 << 17);
	ls_str rest;
	int number = 0;

	if (file == NULL || text == NULL)
	{
		fprintf(stderr, "cannot read %s\n", path);
		return false;
	}
	rest = ls_str_make(text, fread(text, 1, (1 << 17) - 1, file));
	text[rest.len] = '\0';
	fclose(file);
	while (rest.len > 0)
	{
		number++;
		if (!log_grammar_line(g, log_cut(&rest, "\n")))
		{
			fprintf(stderr, "%s:%d: not understood\n", path, number);
			return false;
		}
	}
	return true;
}

/* The grammar of a kind, with the fields of common.logs; NULL on failure. */
static inline log_grammar *
log_grammar_read(ls_arena *arena, const char *name)
{
	log_grammar *g = ls_new(arena, log_grammar);
	char path[200];

	snprintf(path, sizeof(path), LOG_DATA "%s.logs", name);
	if (g == NULL || !log_grammar_file(arena, g, LOG_DATA "common.logs") ||
		!log_grammar_file(arena, g, path))
		return NULL;
	g->name = ls_arena_strdup(arena, ls_str_make(name, strlen(name)));
	return g;
}

/* ---- making rows ---- */

typedef struct log_writer
{
	const log_grammar *g;
	log_random random;
	uint64_t clock; /* ms since 1970 */
	ls_buf buf;
} log_writer;

static inline void log_expand(log_writer *w, ls_str text, int depth);

static inline bool
log_is(ls_str s, const char *name)
{
	return ls_str_eq(s, ls_str_make(name, strlen(name)));
}

/* Many of few digits, some of many. */
static inline uint64_t
log_number(log_writer *w, uint64_t low, uint64_t high)
{
	uint64_t range = high - low + 1;
	uint64_t r = (uint64_t) log_next(&w->random, 1U << 31) << 31 | log_next(&w->random, 1U << 31);

	if (range > 100 && log_next(&w->random, 3) == 0)
	{
		uint64_t below = 10;

		while (below < range && log_next(&w->random, 2) == 0)
			below *= 10;
		range = below < range ? below : range;
	}
	return low + r % range;
}

static inline void
log_digits(log_writer *w, const char *digits, uint64_t count)
{
	size_t base = strlen(digits);

	while (count-- > 0)
		ls_buf_char(&w->buf, digits[log_next(&w->random, (uint32_t) base)]);
}

static inline void
log_word(log_writer *w)
{
	static const char *const parts[] = {"ba",  "cor", "del", "fi",  "gra", "hol", "in",
										"ka",  "lu",  "mar", "no",  "or",  "pel", "ri",
										"sta", "ten", "ul",  "ver", "wex", "za"};

	for (uint32_t i = 0, n = 2 + log_next(&w->random, 2); i < n; i++)
		ls_buf_printf(&w->buf, "%s", parts[log_next(&w->random, 20)]);
}

static inline void
log_builtin(log_writer *w, ls_str name, ls_str rest, int depth)
{
	ls_str words[4];
	uint64_t number[4];

	for (int i = 0; i < 4; i++)
	{
		ls_str tail = rest;

		words[i] = log_cut(&tail, " ");
		number[i] = words[i].len > 0 ? strtoull(words[i].data, NULL, 10) : 0;
		if (i == 0 && log_is(name, "time"))
			break;
		rest = tail;
	}
	if (log_is(name, "time"))
	{
		time_t seconds = (time_t) (w->clock / 1000);
		struct tm tm;
		char format[80], out[120];

		snprintf(format, sizeof(format), "%.*s", (int) rest.len, rest.data);
		gmtime_r(&seconds, &tm);
		ls_buf_append(&w->buf, out, strftime(out, sizeof(out), format, &tm));
	}
	else if (log_is(name, "epoch"))
		ls_buf_printf(&w->buf, "%llu", (unsigned long long) w->clock / 1000);
	else if (log_is(name, "ms"))
		ls_buf_printf(&w->buf, "%03u", (unsigned) (w->clock % 1000));
	else if (log_is(name, "int"))
		ls_buf_printf(&w->buf, "%llu", (unsigned long long) log_number(w, number[0], number[1]));
	else if (log_is(name, "digits"))
		log_digits(w, "0123456789", number[0]);
	else if (log_is(name, "hex"))
		log_digits(w, "0123456789abcdef", number[0]);
	else if (log_is(name, "hexupper"))
		log_digits(w, "0123456789ABCDEF", number[0]);
	else if (log_is(name, "letters"))
		log_digits(w, "abcdefghijklmnopqrstuvwxyz", number[0]);
	else if (log_is(name, "base"))
		log_digits(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", number[0]);
	else if (log_is(name, "word"))
		log_word(w);
	else if (log_is(name, "nl"))
		ls_buf_char(&w->buf, '\n');
	else if (log_is(name, "sp"))
		ls_buf_printf(&w->buf, "%*s", (int) number[0], "");
	else if (log_is(name, "tab"))
		ls_buf_char(&w->buf, '\t');
	else if (log_is(name, "many"))
	{
		/* {many field separator low high}; in the separator _ is a space, ~ nothing */
		for (uint64_t i = 0, n = log_number(w, number[2], number[3]); i < n; i++)
		{
			for (size_t k = 0; i > 0 && k < words[1].len && words[1].data[k] != '~'; k++)
				ls_buf_char(&w->buf, words[1].data[k] == '_' ? ' ' : words[1].data[k]);
			log_builtin(w, words[0], LS_STR(""), depth);
		}
	}
	else if (name.len > 0)
	{
		for (size_t i = w->g->nfields; i > 0; i--)
		{
			const log_field *f = &w->g->fields[i - 1];
			uint32_t at;

			if (!ls_str_eq(f->name, name))
				continue;
			at = log_next(&w->random, f->n);
			if (log_next(&w->random, 2) == 0)
				at = log_next(&w->random, at + 1);
			log_expand(w, f->choices[at], depth + 1);
			return;
		}
		fprintf(stderr, "%.*s: no field %.*s\n", (int) w->g->name.len, w->g->name.data,
				(int) name.len, name.data);
		exit(1);
	}
}

static inline void
log_expand(log_writer *w, ls_str text, int depth)
{
	const char *p = text.data;
	const char *end = text.data + text.len;

	while (p < end && depth < LOG_MAX_DEPTH)
	{
		const char *stop = p;

		if (*p == '{' && p + 1 < end && ((p[1] >= 'a' && p[1] <= 'z') || p[1] == '}'))
			stop = memchr(p, '}', (size_t) (end - p));
		if (stop == NULL || stop == p)
		{
			ls_buf_char(&w->buf, *p++);
			continue;
		}
		ls_str rest = ls_str_make(p + 1, (size_t) (stop - p) - 1);
		ls_str name = log_cut(&rest, " ");

		log_builtin(w, name, rest, depth);
		p = stop + 1;
	}
}

/* Adds n rows of a grammar. */
static inline void
log_rows_add(ls_arena *arena, log_rows *out, const log_grammar *g, size_t n, uint64_t seed)
{
	log_writer w = {.g = g, .random = {seed * 2654435761u + 1}, .clock = UINT64_C(1780000000000)};
	uint32_t total = 0;

	for (size_t t = 0; t < g->n; t++)
		total += g->weights[t];
	for (size_t i = 0; i < n; i++)
	{
		uint32_t pick = log_next(&w.random, total);
		size_t t = 0;

		while (pick >= g->weights[t])
			pick -= g->weights[t++];
		w.clock += log_next(&w.random, 20000);
		ls_buf_init(&w.buf, arena);
		log_expand(&w, g->templates[t], 0);
		out->rows[out->n] = ls_str_make(w.buf.data, w.buf.len);
		out->labels[out->n++] = out->nlabels + g->labels[t];
		out->bytes += w.buf.len;
	}
	out->nlabels += g->nlabels;
}

/* n rows in all, an equal part of each of the kinds, in random order. */
static inline log_rows log_rows_make(ls_arena *arena, const char *const *kinds, size_t nkinds,
									 size_t n, uint64_t seed);

/* The same rows in another order. */
static inline void
log_rows_shuffle(log_rows *rows, uint64_t seed)
{
	log_random r = {seed + 99};

	for (size_t i = rows->n; i > 1; i--)
	{
		size_t j = log_next(&r, (uint32_t) i);
		ls_str row = rows->rows[i - 1];
		int label = rows->labels[i - 1];

		rows->rows[i - 1] = rows->rows[j];
		rows->labels[i - 1] = rows->labels[j];
		rows->rows[j] = row;
		rows->labels[j] = label;
	}
}

static inline log_rows
log_rows_make(ls_arena *arena, const char *const *kinds, size_t nkinds, size_t n, uint64_t seed)
{
	log_rows out = {0};

	out.rows = ls_new_array(arena, ls_str, n + 1);
	out.labels = ls_new_array(arena, int, n + 1);
	for (size_t k = 0; k < nkinds; k++)
	{
		const log_grammar *g = log_grammar_read(arena, kinds[k]);

		if (g == NULL)
			exit(1);
		log_rows_add(arena, &out, g, n * (k + 1) / nkinds - n * k / nkinds, seed + k);
	}
	log_rows_shuffle(&out, seed);
	return out;
}

/* ---- scores ---- */

typedef struct log_score
{
	double ga;    /* share of the rows whose group has exactly the rows of one label */
	double fga;   /* F1 of the groups that have exactly the rows of one label */
	double mixed; /* share of the rows in groups that hold more than one label */
} log_score;

static inline log_score
log_grouping(ls_arena *arena, const log_rows *rows, const uint32_t *group, size_t ngroups)
{
	size_t *of_label = ls_new_array(arena, size_t, (size_t) rows->nlabels + 1);
	size_t *of_group = ls_new_array(arena, size_t, ngroups + 1);
	int *label_of_group = ls_new_array(arena, int, ngroups + 1);
	size_t right = 0, mixed = 0, groups = 0, labels = 0, found = 0;

	for (size_t i = 0; i < rows->n; i++)
	{
		labels += of_label[rows->labels[i]]++ == 0;
		if (of_group[group[i]]++ == 0)
			label_of_group[group[i]] = rows->labels[i];
		else if (label_of_group[group[i]] != rows->labels[i])
			label_of_group[group[i]] = -1;
	}
	for (size_t g = 0; g < ngroups; g++)
	{
		groups += of_group[g] > 0;
		if (of_group[g] > 0 && label_of_group[g] < 0)
			mixed += of_group[g];
		else if (of_group[g] > 0 && of_label[label_of_group[g]] == of_group[g])
		{
			right += of_group[g];
			found++;
		}
	}
	if (rows->n == 0)
		return (log_score){1, 1, 0};
	return (log_score){(double) right / (double) rows->n,
					   2.0 * (double) found / (double) (groups + labels),
					   (double) mixed / (double) rows->n};
}

#endif
