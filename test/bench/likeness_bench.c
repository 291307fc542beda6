/*
 * likeness_bench.c: are the events of event_source.c like those of real logs?
 *
 *	LOGS=folder make bench B=likeness
 *
 * Each file below the folder whose name ends in .log is the log of a program (its first
 * LINES lines at most).  As many lines of each program of the event source are taken, in
 * groups of as many programs.  Both become parts in the same way: with the same
 * times, request ids and hosts, and with the level that the text itself names.
 * Without LOGS only the event source is measured, with 10 programs of 2,000 lines.
 *
 * Prints rows "metric logs source ratio unit": shapes of the texts, bytes of parts, and what
 * searches take.  A search is an average over many terms that each occur in about
 * the same share of the events.  CPU is the least of RUNS (5) runs, which alternate;
 * with 0, nothing is searched.  SEED: of the event source.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "src/part/filter.h"
#include "src/pattern/pattern.h"
#include "test/bench/bench.h"
#include "test/bench/event_source.h"

#define LINES 20000
#define TERMS 48
#define MANY 240 /* of terms that few blocks are read for */
#define MAX_PARTS 64
#define MAX_METRICS 64
#define MAX_GROUPS 64

static ls_arena *arena;

typedef struct corpus
{
	ls_str *texts;
	uint16_t *programs;
	size_t n;
	size_t room;
	size_t bytes;
	uint32_t programs_n;
	ls_str headers[MAX_PARTS];
	ls_str bodies[MAX_PARTS];
	uint32_t parts;
	uint64_t fetched;
} corpus;

static corpus *now; /* whose parts are read */

static uint64_t
mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/* ---- texts ---- */

static void
add_text(corpus *c, ls_str text, uint32_t program)
{
	if (c->n == c->room)
	{
		c->room = c->room == 0 ? 4096 : 2 * c->room;
		c->texts = realloc(c->texts, c->room * sizeof(ls_str));
		c->programs = realloc(c->programs, c->room * sizeof(uint16_t));
	}
	c->texts[c->n] = ls_arena_strdup(arena, text);
	c->programs[c->n++] = (uint16_t) program;
	c->bytes += text.len;
}

static void
add_file(corpus *c, const char *path)
{
	FILE *file = fopen(path, "rb");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int lines = 0;

	check(file != NULL, path);
	while (lines < LINES && (n = getline(&line, &size, file)) > 0)
	{
		while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			n--;
		if (n > 0)
			add_text(c, ls_str_make(line, (size_t) n), c->programs_n);
		lines += n > 0;
	}
	free(line);
	fclose(file);
	c->programs_n += lines > 0;
}

/* In the order of names, so that each run has the same. */
static void
add_folder(corpus *c, const char *folder)
{
	struct dirent **names;
	int n = scandir(folder, &names, NULL, alphasort);

	check(n >= 0, folder);
	for (int i = 0; i < n; i++)
	{
		size_t length = strlen(names[i]->d_name);
		char path[4096];
		struct stat s;

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && stat(path, &s) == 0)
		{
			if (S_ISDIR(s.st_mode))
				add_folder(c, path);
			else if (length > 4 && strcmp(names[i]->d_name + length - 4, ".log") == 0)
				add_file(c, path);
		}
		free(names[i]);
	}
	free(names);
}

/* As many lines of each of the programs from number `first` on. */
static void
add_source(corpus *c, size_t lines, int first, int programs, bool long_texts)
{
	static source_event e;

	c->programs_n = (uint32_t) programs;
	for (int p = 0; p < programs; p++)
	{
		for (size_t i = 0; i < lines; i++)
		{
			source_make(&e, i, INT64_C(1790000000000000) + (int64_t) i * 1000000, first + p,
						long_texts);
			add_text(c, ls_str_make(e.text, e.length), (uint32_t) p);
		}
	}
}

/* ---- parts ---- */

/* The level that the beginning of a line names, in words or as a letter of its own. */
static const char *
level_of(ls_str text)
{
	static const struct
	{
		const char *word;
		const char *level;
	} words[] = {{"FATAL", "fatal"}, {"ERROR", "error"}, {"error", "error"},
				 {"E", "error"},     {"WARN", "warn"},   {"warn", "warn"},
				 {"W", "warn"},      {"DEBUG", "debug"}, {"D", "debug"}};
	size_t end = text.len < 160 ? text.len : 160;

	for (size_t from = 0, at = 0; at <= end; at++)
	{
		char ch = at < end ? text.data[at] : ' ';

		if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'))
			continue;
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
		{
			if (strlen(words[w].word) == at - from &&
				memcmp(words[w].word, text.data + from, at - from) == 0)
				return words[w].level;
		}
		from = at + 1;
	}
	return "info";
}

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static void
request_id(char *to, uint64_t number)
{
	snprintf(to, 33, "%016llx%016llx", (unsigned long long) mix(2 * number + 1),
			 (unsigned long long) mix(2 * number + 2));
}

static void
build(corpus *c)
{
	ls_arena *memory = ls_arena_create(NULL, 0);
	ls_part_builder *b = ls_part_builder_create(memory);
	ls_buf header, body;

	ls_buf_init(&header, memory);
	ls_buf_init(&body, memory);
	c->parts = 0;
	for (size_t i = 0; i < c->n; i++)
	{
		char source[32], host[32], id[33];
		ls_attribute attributes[3] = {{LS_STR("host"), LS_KIND_STRING, {host, 0}, 0},
									  {LS_STR("service"), LS_KIND_STRING, {source, 0}, 0},
									  {LS_STR("request_id"), LS_KIND_STRING, {id, 32}, 0}};
		ls_event e = {.has = 1u << LS_FIELD_EVENT | 1u << LS_FIELD_LEVEL | 1u << LS_FIELD_SOURCE,
					  .attributes = attributes,
					  .n_attributes = 3,
					  .batch = 1 + i / 1000,
					  .place = i % 1000};

		/* Lines of all programs happen at the same time. */
		e.timestamp = INT64_C(1790000000000000) + (int64_t) (i % 65536) * 86400 * 16 +
					  (int64_t) (mix(i) % 1000000);
		snprintf(source, sizeof(source), "program-%u", c->programs[i]);
		snprintf(host, sizeof(host), "host-%02u", (unsigned) (mix(i) >> 40) % 20);
		request_id(id, i);
		attributes[0].text.len = strlen(host);
		attributes[1].text.len = strlen(source);
		e.field[LS_FIELD_EVENT] = c->texts[i];
		e.field[LS_FIELD_LEVEL] = str(level_of(c->texts[i]));
		e.field[LS_FIELD_SOURCE] = str(source);
		check(ls_part_builder_add(b, &e), "an event was refused");
		if (ls_part_builder_rows(b) == LS_PART_MAX_ROWS || i + 1 == c->n)
		{
			check(c->parts < MAX_PARTS, "too many events");
			header.len = body.len = 0;
			check(ls_part_builder_finish(b, LS_CODEC_MERGED, true, &header, &body, NULL), "finish");
			c->headers[c->parts] = ls_arena_strdup(arena, ls_str_make(header.data, header.len));
			c->bodies[c->parts++] = ls_arena_strdup(arena, ls_str_make(body.data, body.len));
			ls_part_builder_reset(b);
		}
	}
	ls_arena_destroy(memory);
}

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	now->fetched += length;
	return fetch_body(context, offset, length, to);
}

static ls_part *
open_part(corpus *c, uint32_t i, ls_arena *memory)
{
	const char *error;
	ls_part *part;

	now = c;
	part = ls_part_open(memory, c->headers[i], fetch, &c->bodies[i], &error);
	check(part != NULL, "a part cannot be opened");
	return part;
}

/* ---- measures ---- */

typedef struct metric
{
	char name[80];
	const char *unit;
	double of[1 + MAX_GROUPS]; /* of the logs, and of groups of programs of the source */
} metric;

static metric metrics[MAX_METRICS];
static int n_metrics;

/* The least of all runs counts. */
static void
measure(int which, const char *name, const char *unit, double figure)
{
	int i = 0;

	while (i < n_metrics && strcmp(metrics[i].name, name) != 0)
		i++;
	if (i == n_metrics)
	{
		check(n_metrics < MAX_METRICS, "too many metrics");
		metrics[n_metrics].unit = unit;
		snprintf(metrics[n_metrics].name, sizeof(metrics[0].name), "%s", name);
		for (int k = 0; k <= MAX_GROUPS; k++)
			metrics[n_metrics].of[k] = -1;
		n_metrics++;
	}
	if (metrics[i].of[which] < 0 || figure < metrics[i].of[which])
		metrics[i].of[which] = figure;
}

static int
compare_sizes(const void *a, const void *b)
{
	size_t x = *(const size_t *) a, y = *(const size_t *) b;

	return x < y ? -1 : x > y;
}

static bool
is_word(char ch)
{
	return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
		   ch == '_' || (ch & 0x80) != 0;
}

static void
shapes(corpus *c, int which)
{
	size_t *lengths = malloc(c->n * sizeof(size_t));
	size_t words = 0, digits = 0, capitals = 0, templates = 0, single = 0, first = 0, ten = 0;

	for (size_t i = 0; i < c->n; i++)
	{
		lengths[i] = c->texts[i].len;
		for (size_t k = 0; k < c->texts[i].len; k++)
		{
			char ch = c->texts[i].data[k];

			words += is_word(ch) && (k == 0 || !is_word(c->texts[i].data[k - 1]));
			digits += ch >= '0' && ch <= '9';
			capitals += ch >= 'A' && ch <= 'Z';
		}
	}
	qsort(lengths, c->n, sizeof(size_t), compare_sizes);
	measure(which, "length, mean", "bytes", (double) c->bytes / (double) c->n);
	measure(which, "length, median", "bytes", (double) lengths[c->n / 2]);
	measure(which, "length, 95th percentile", "bytes", (double) lengths[c->n * 95 / 100]);
	measure(which, "length, 99th percentile", "bytes", (double) lengths[c->n * 99 / 100]);
	measure(which, "words", "a line", (double) words / (double) c->n);
	measure(which, "digits", "a line", (double) digits / (double) c->n);
	free(lengths);

	/* Templates of each program, as the service finds them. */
	for (size_t from = 0; from < c->n;)
	{
		ls_arena *memory = ls_arena_create(NULL, 0);
		ls_pattern_options o = LS_PATTERN_DEFAULTS;
		ls_pattern_set *set;
		size_t to = from;

		while (to < c->n && c->programs[to] == c->programs[from])
			to++;
		o.rare_threshold = 0;
		set = ls_pattern_mine(memory, c->texts + from, to - from, &o);
		check(set != NULL, "templates");
		templates += set->unique;
		for (size_t p = 0; p < set->unique; p++)
		{
			single += set->patterns[p].count == 1;
			first += p == 0 ? set->patterns[p].count : 0;
			ten += p < 10 ? set->patterns[p].count : 0;
		}
		from = to;
		ls_arena_destroy(memory);
	}
	measure(which, "templates", "a program", (double) templates / c->programs_n);
	measure(which, "of them with one line", "%", 100.0 * (double) single / (double) templates);
	measure(which, "lines of the first template", "%", 100.0 * (double) first / (double) c->n);
	measure(which, "lines of the first ten", "%", 100.0 * (double) ten / (double) c->n);
}

/* Bytes of all parts by column: what reading a column fetches. */
static void
sizes(corpus *c, int which)
{
	static const char *const names[] = {"event", "level",   "source",
										"host",  "service", "request_id"};
	double by_name[6] = {0}, times = 0, ids = 0, all = 0, headers = 0;
	double n = (double) c->n;

	for (uint32_t i = 0; i < c->parts; i++)
	{
		all += (double) (c->headers[i].len + c->bodies[i].len);
		headers += (double) c->headers[i].len;
		for (int k = 0; k < 8; k++)
		{
			ls_arena *memory = ls_arena_create(NULL, 0);
			ls_part *part = open_part(c, i, memory);
			uint32_t column = 0;

			static const ls_field fields[] = {LS_FIELD_EVENT, LS_FIELD_LEVEL, LS_FIELD_SOURCE};
			c->fetched = 0;
			if (k < 6)
				check(ls_part_find(part, k < 3 ? fields[k] : LS_FIELD_ATTRIBUTE,
								   k < 3 ? LS_STR("") : str(names[k]), &column, 1) == 1,
					  "a column is missing");
			for (uint32_t block = 0; block < ls_part_blocks(part); block++)
			{
				check(k < 6    ? ls_part_vector(part, block, column) != NULL
					  : k == 6 ? ls_part_timestamps(part, block) != NULL
							   : ls_part_places(part, block) != NULL,
					  "a column cannot be read");
				ls_part_release_block(part);
			}
			*(k < 6 ? &by_name[k] : k == 6 ? &times : &ids) += (double) c->fetched;
			ls_arena_destroy(memory);
		}
	}
	measure(which, "part, all", "bytes", all / n);
	measure(which, "part, event", "bytes", by_name[0] / n);
	measure(which, "part, request_id", "bytes", by_name[5] / n);
	measure(which, "part, timestamp", "bytes", times / n);
	measure(which, "part, level, source, host, service", "bytes",
			(by_name[1] + by_name[2] + by_name[3] + by_name[4]) / n);
	measure(which, "part, token filters", "bytes",
			(all - headers - times - ids - by_name[0] - by_name[1] - by_name[2] - by_name[3] -
			 by_name[4] - by_name[5]) /
				n);
}

/* ---- searches ---- */

typedef struct word
{
	ls_str text;  /* of a phrase: both words and what is between them */
	size_t lines; /* that have it */
	size_t last;  /* 1 + the last of them */
} word;

typedef struct words
{
	word *slots;
	size_t size; /* a power of 2 */
	size_t n;
} words;

static void
count_word(words *w, ls_str text, size_t line)
{
	size_t at = (size_t) ls_hash64(text.data, text.len, 0) & (w->size - 1);

	while (w->slots[at].lines > 0 && !ls_str_eq(w->slots[at].text, text))
		at = (at + 1) & (w->size - 1);
	if (w->slots[at].last == line + 1)
		return;
	if (w->slots[at].lines++ == 0)
	{
		w->slots[at].text = text;
		check(++w->n < w->size / 2, "too many different words");
	}
	w->slots[at].last = line + 1;
}

/* Words of letters only, or such words that follow each other. */
static words
count_words(const corpus *c, bool phrases)
{
	words w = {NULL, 1 << 22, 0};

	w.slots = calloc(w.size, sizeof(word));
	for (size_t i = 0; i < c->n; i++)
	{
		const char *data = c->texts[i].data;
		size_t length = c->texts[i].len, before = SIZE_MAX;

		for (size_t from = 0, at = 0; at <= length; at++)
		{
			bool letters = true;

			if (at < length && is_word(data[at]))
				continue;
			for (size_t k = from; k < at; k++)
				letters &= (data[k] >= 'a' && data[k] <= 'z') || (data[k] >= 'A' && data[k] <= 'Z');
			if (at > from)
			{
				if (letters && at - from > 2 && !phrases)
					count_word(&w, ls_str_make(data + from, at - from), i);
				if (letters && at - from > 2 && phrases && before != SIZE_MAX && from > 0 &&
					data[from - 1] == ' ')
					count_word(&w, ls_str_make(data + before, at - before), i);
				before =
					letters && at - from > 2 && at < length && data[at] == ' ' ? from : SIZE_MAX;
			}
			from = at + 1;
		}
	}
	return w;
}

static double target;

static int
by_distance(const void *a, const void *b)
{
	const word *x = a, *y = b;
	double dx = (double) x->lines / target, dy = (double) y->lines / target;

	dx = dx < 1 ? 1 / dx : dx;
	dy = dy < 1 ? 1 / dy : dy;
	if (dx != dy)
		return dx < dy ? -1 : 1;
	return ls_str_cmp(x->text, y->text);
}

/* The words whose number of lines is nearest to `lines`. */
static uint32_t
nearest(const words *w, double lines, ls_str *to)
{
	word *all = malloc(w->n * sizeof(word));
	size_t n = 0;

	for (size_t i = 0; i < w->size; i++)
	{
		if (w->slots[i].lines > 0)
			all[n++] = w->slots[i];
	}
	target = lines;
	qsort(all, n, sizeof(word), by_distance);
	n = n < TERMS ? n : TERMS;
	for (size_t i = 0; i < n; i++)
		to[i] = all[i].text;
	free(all);
	return (uint32_t) n;
}

/* Runs a search for each of the terms; figures are means, for a million events. */
static void
search(corpus *c, int which, const char *name, ls_filter_op op, const ls_str *terms, uint32_t n)
{
	static ls_str id = LS_STR("request_id");
	uint64_t blocks = 0, open = 0, decoded = 0;
	double seconds = 0, scale = 1e6 / (double) c->n / n;
	char label[80];

	c->fetched = 0;
	for (uint32_t t = 0; t < n; t++)
	{
		ls_filter filter = {.op = op, .target = LS_TARGET_NAMED, .text = terms[t]};

		if (op == LS_FILTER_EQ)
		{
			filter.target = LS_TARGET_ATTRIBUTE;
			filter.path = &id;
			filter.n_path = 1;
		}
		for (uint32_t i = 0; i < c->parts; i++)
		{
			double begin = cpu_seconds();
			ls_arena *memory = ls_arena_create(NULL, 0);
			ls_part *part = open_part(c, i, memory);
			ls_filter_run *run = ls_filter_prepare(memory, part, &filter, INT64_MIN, INT64_MAX);

			for (uint32_t block = 0; block < ls_part_blocks(part); block++)
			{
				uint64_t selected[64];
				uint32_t matched = 0;
				bool may;

				blocks++;
				check(ls_filter_may_match(run, block, &may), "may match");
				if (!may)
					continue;
				open++;
				check(ls_filter_block(run, block, selected, &matched), "search");
				seconds += cpu_seconds() - begin;
				if (op != LS_FILTER_EQ)
				{
					uint32_t column;
					const ls_vector *v;

					/* What a search that reads all texts of the block would decode. */
					ls_part_find(part, LS_FIELD_EVENT, LS_STR(""), &column, 1);
					v = ls_part_vector(part, block, column);
					if (v->form == LS_VECTOR_TEXT)
						decoded += v->offsets[v->count];
				}
				else
					decoded += 32 * (uint64_t) ls_part_block_rows(part, block);
				ls_part_release_block(part);
				begin = cpu_seconds();
			}
			seconds += cpu_seconds() - begin;
			ls_arena_destroy(memory);
		}
	}
	snprintf(label, sizeof(label), "%s: CPU", name);
	measure(which, label, "ms", seconds * 1e3 * scale);
	snprintf(label, sizeof(label), "%s: decoded", name);
	measure(which, label, "MB", (double) decoded / 1e6 * scale);
	snprintf(label, sizeof(label), "%s: blocks read", name);
	measure(which, label, "%", 100.0 * (double) open / (double) blocks);
}

typedef struct terms
{
	ls_str of[9][MANY];
	uint32_t n[9];
} terms;

static ls_str
printed(const char *format, ls_str a, ls_str b)
{
	char text[300];
	int n = snprintf(text, sizeof(text), format, (int) a.len, a.data, (int) b.len, b.data);

	return ls_arena_strdup(arena, ls_str_make(text, (size_t) n));
}

static void
choose_terms(const corpus *c, terms *t)
{
	words w = count_words(c, false);
	words p = count_words(c, true);
	double n = (double) c->n;

	/* Shares of the lines of a part, in which each program has a share of its own. */
	t->n[0] = nearest(&w, n * 0.03, t->of[0]);
	t->n[1] = nearest(&w, n * 0.003, t->of[1]);
	t->n[2] = nearest(&p, n * 0.003, t->of[2]);
	/* Two words that are both common and follow each other nowhere. */
	t->n[3] = 0;
	for (uint32_t i = 0; i < t->n[0]; i++)
	{
		ls_str phrase = printed("%.*s %.*s", t->of[0][i], t->of[0][(i + 5) % t->n[0]]);
		bool there = false;

		for (size_t k = 0; k < p.size && !there; k++)
			there = p.slots[k].lines > 0 && ls_str_eq(p.slots[k].text, phrase);
		if (!there)
			t->of[3][t->n[3]++] = phrase;
	}
	for (uint32_t i = 0; i < MANY; i++)
	{
		char id[33];

		request_id(id, (uint64_t) (mix(i) % c->n));
		t->of[4][i] = ls_arena_strdup(arena, ls_str_make(id, 32));
		t->of[5][i] = printed("zq%.*s%.*s", LS_STR("w"), ls_str_make(id, 9));
	}
	t->n[4] = t->n[5] = MANY;
	t->n[6] = t->n[7] = 0;
	for (uint32_t i = 0; i < t->n[1]; i++)
	{
		ls_str word = t->of[1][i];

		if (word.len > 4)
			t->of[6][t->n[6]++] = ls_str_make(word.data + 1, word.len - 2);
		t->of[7][t->n[7]++] = printed("%.*s.? [a-z%.*s]+", word, LS_STR("_"));
	}
	t->of[8][0] = LS_STR("[0-9]+ [a-z]+ [a-z]+ing");
	t->of[8][1] = LS_STR("[0-9a-f]{8,}[^0-9a-f]+$");
	t->n[8] = 2;
	free(w.slots);
	free(p.slots);
}

static void
searches(corpus *c, int which, const terms *t)
{
	static const struct
	{
		const char *name;
		ls_filter_op op;
	} of[] = {{"word of 3% of the events", LS_FILTER_PHRASE},
			  {"word of 0.3%", LS_FILTER_PHRASE},
			  {"phrase of 0.3%", LS_FILTER_PHRASE},
			  {"phrase of common words that nothing holds", LS_FILTER_PHRASE},
			  {"request_id", LS_FILTER_EQ},
			  {"word that nothing holds", LS_FILTER_PHRASE},
			  {"substring of 0.3%", LS_FILTER_CONTAINS},
			  {"regex with a literal", LS_FILTER_MATCHES},
			  {"regex without one", LS_FILTER_MATCHES}};

	for (int i = 0; i < 9; i++)
		search(c, which, of[i].name, of[i].op, t->of[i], t->n[i]);
}

int
main(void)
{
	static corpus all[1 + MAX_GROUPS];
	static terms of[1 + MAX_GROUPS];
	const char *folder = getenv("LOGS");
	const char *seed = getenv("SEED");
	int runs = getenv("RUNS") != NULL ? atoi(getenv("RUNS")) : 5;
	bool real = folder != NULL && *folder != '\0';
	corpus *logs = &all[0];
	size_t lines = 2000;
	int programs = 10, groups;

	arena = ls_arena_create(NULL, 0);
	source_init(seed != NULL ? strtoull(seed, NULL, 10) : 1);
	if (real)
	{
		add_folder(logs, folder);
		check(logs->n > 0, "LOGS has no lines in files *.log");
		lines = (logs->n + logs->programs_n / 2) / logs->programs_n;
		programs = (int) logs->programs_n;
	}
	if (programs > source_programs())
		programs = source_programs();
	groups = source_programs() / programs;
	for (int g = 1; g <= groups; g++)
		add_source(&all[g], lines, (g - 1) * programs, programs, getenv("LONG") != NULL);
	for (int g = !real; g <= groups; g++)
	{
		build(&all[g]);
		shapes(&all[g], g);
		sizes(&all[g], g);
		choose_terms(&all[g], &of[g]);
	}
	for (int run = 0; run < runs; run++)
	{
		for (int g = !real; g <= groups; g++)
			searches(&all[g], g, &of[g]);
	}
	printf("%-54s %9s %9s %6s\n", "", "logs", "source", "ratio");
	for (int i = 0; i < n_metrics; i++)
	{
		metric *m = &metrics[i];
		double sum = 0;

		for (int g = 1; g <= groups; g++)
			sum += m->of[g] / groups;
		if (real)
			printf("%-54s %9.2f %9.2f %6.2f %s\n", m->name, m->of[0], sum,
				   m->of[0] > 0 ? sum / m->of[0] : 0, m->unit);
		else
			printf("%-54s %9s %9.2f %6s %s\n", m->name, "", sum, "", m->unit);
		if (getenv("EACH") != NULL)
		{
			for (int g = 1; g <= groups; g++)
				printf(" %.2f", m->of[g]);
			printf("\n");
		}
	}
	ls_arena_destroy(arena);
	return 0;
}
