/*
 * template_search_test.c: searches in templates find what searches in the texts find.
 *
 * The same lines are written as templates (merged) and as they are (fast).  Words, phrases,
 * prefixes, substrings and regular expressions, most of them cut out of the lines so that they
 * cross the borders of literals and numbers, must select the same rows of both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/part/filter.h"
#include "src/part/match.h"
#include "test/unit/tap.h"

#define MOST 6000
#define SEARCHES 400

static ls_arena *arena;
static char lines[MOST][160];

static uint32_t
chance(uint32_t n)
{
	static uint64_t state = 11;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) ((state >> 33) % n);
}

typedef struct memory_part
{
	ls_buf header;
	ls_buf body;
	ls_part *part;
} memory_part;

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	memory_part *m = context;

	if (offset > m->body.len || length > m->body.len - offset)
		return false;
	memcpy(to, m->body.data + offset, length);
	return true;
}

static bool
write_part(uint32_t n, ls_part_codec codec, memory_part *m)
{
	ls_part_builder *b = ls_part_builder_create(arena);
	const char *error;

	for (uint32_t i = 0; i < n; i++)
	{
		ls_event e = {
			.timestamp = (ls_time) i, .batch = 1, .place = i, .has = 1u << LS_FIELD_EVENT};

		/* Some events have no text. */
		if (n > 5000 && i % 7 == 0)
			e.has = 0;
		e.field[LS_FIELD_EVENT] = ls_str_make(lines[i], strlen(lines[i]));
		if (!ls_part_builder_add(b, &e))
			return false;
	}
	ls_buf_init(&m->header, arena);
	ls_buf_init(&m->body, arena);
	if (!ls_part_builder_finish(b, codec, false, &m->header, &m->body, NULL))
		return false;
	m->part = ls_part_open(arena, ls_str_make(m->header.data, m->header.len), fetch, m, &error);
	return m->part != NULL;
}

static void
make_line(char *to, size_t size)
{
	static const char *const users[] = {"7", "42", "777", "k8", "9s"};
	uint32_t a = chance(1u << (1 + chance(20)));
	uint32_t b = chance(60000);
	char word[16];

	switch (chance(12))
	{
		case 0:
			snprintf(to, size, "Connection from 10.%u.3.%u port %u ssh2", chance(256), chance(256),
					 b);
			break;
		case 1:
			snprintf(to, size, "conn%u closed after %u ms, %02u bytes", a, b, chance(100));
			break;
		case 2:
			snprintf(to, size, "request %08x%08x of user%s took %u ms", chance(1u << 30), b,
					 users[chance(5)], a);
			break;
		case 3:
			snprintf(to, size, "id %08x-%04x-%04x-%04x-%012x conn", chance(1u << 30), b,
					 chance(65536), chance(65536), a);
			break;
		case 4:
			snprintf(to, size, "%u_%uxx%u waiting k%us \xe2\x84\xaa%u", chance(9), a, b, chance(9),
					 chance(20));
			break;
		case 5:
			snprintf(to, size,
					 "Stra\xc3\x9f"
					 "e %u \xc5\xbf%u, mea\xc5\xbfure%u",
					 chance(99), b, a);
			break;
		case 6:
			snprintf(to, size, "%u%u%u", a, b, chance(1000));
			break;
		case 7:
			snprintf(to, size, "any %c%c%c%c text %c", 'a' + (int) chance(26),
					 ' ' + (int) chance(90), 'a' + (int) chance(26), ' ' + (int) chance(90),
					 'a' + (int) chance(26));
			break;
		case 8:
			for (uint32_t i = 0; i < 14; i++)
				word[i] = "0123456789abcdef"[chance(16)];
			word[chance(9)] = '5';
			word[9 + chance(5)] = '\0';
			snprintf(to, size, "load %s.so of task %s-%s%s: %u", word, users[chance(5)], word,
					 chance(4) == 0 ? "\xe2\x84\xaa" : "", b);
			break;
		case 9:
			snprintf(to, size,
					 "there are more places in this text than a piece of a search can have, as in "
					 "long texts, %u, %s %u",
					 b, chance(2) ? "here" : "there", a);
			break;
		case 10:
			/* words that go on in hexadecimal numbers, before and behind them */
			snprintf(to, size, "cache%08xfaded %uACE decade%08x%cced", chance(1u << 30), b,
					 chance(1u << 30), 'f' + (int) chance(3));
			break;
		default:
			snprintf(to, size, "retry %u of 5 [Warning] conn=%u\nat %u", 1 + chance(5), b, a);
			break;
	}
}

/* Rows of the part, in the order of their times; false: the filter failed. */
static bool
rows_of(ls_part *part, const ls_filter *filter, bool machine, bool *found)
{
	ls_filter_run *run = ls_filter_prepare(arena, part, filter, INT64_MIN, INT64_MAX);
	ls_arena *code = ls_arena_create(NULL, 0);
	ls_regex_set set = {0};
	bool done = run != NULL;

	if (machine && done)
		ls_filter_machine(run, code, &set);
	for (uint32_t b = 0; done && b < ls_part_blocks(part); b++)
	{
		uint64_t selected[LS_PART_BLOCK_ROWS / 64];
		uint32_t matched;
		const ls_time *times;

		done = ls_filter_block(run, b, selected, &matched);
		times = done ? ls_part_timestamps(part, b) : NULL;
		for (uint32_t r = 0; times != NULL && r < ls_part_block_rows(part, b); r++)
			found[times[r]] = (selected[r / 64] >> (r % 64) & 1) != 0;
		ls_part_release_block(part);
	}
	ls_regex_set_free(&set);
	ls_arena_destroy(code);
	return done;
}

/* A piece of a line, of whole characters. */
static void
cut(uint32_t n, char *to)
{
	const char *line = lines[chance(n)];
	size_t len = strlen(line);
	size_t from = chance((uint32_t) len + 1);
	size_t end = from + chance(chance(4) == 0 ? 110 : 14);

	end = end > len ? len : end;
	while (from > 0 && ((unsigned char) line[from] & 0xC0) == 0x80)
		from--;
	while (end < len && ((unsigned char) line[end] & 0xC0) == 0x80)
		end++;
	memcpy(to, line + from, end - from);
	to[end - from] = '\0';
}

/* The piece with other gaps between words, letters in the other case, and now and then without a word. */
static void
vary(const char *piece, char *to)
{
	static const char *const gaps[] = {" ", ".", " - ", "\n", "="};

	for (; *piece != '\0'; piece++)
	{
		if (ls_is_word_byte(*piece))
		{
			if (chance(40) != 0)
				*to++ = (char) (*piece >= 'a' && *piece <= 'z' && chance(5) == 0 ? *piece - 32
																				 : *piece);
		}
		else
			to += sprintf(to, "%s", gaps[chance(5)]);
	}
	*to = '\0';
}

/* Stars at some places. */
static void
put_stars(const char *piece, char *to)
{
	uint32_t often = 1 + chance(8);

	if (chance(4) == 0)
		*to++ = '*';
	for (; *piece != '\0'; piece++)
	{
		if (chance(often) != 0 || often < 4)
			*to++ = *piece;
		else
			to += sprintf(to, "%s", chance(3) == 0 ? "*" : chance(2) ? "**" : " *");
	}
	strcpy(to, chance(3) == 0 ? "*5" : "*");
}

/* The piece as a regular expression, with digits, letters and some bytes as classes. */
static void
generalize(const char *piece, char *to)
{
	static const char *const digits[] = {"[0-9]", "\\d+",  "[0-9]+",  "[1-9]?[0-9]*",
										 ".",     "[0-4]", "\\d{1,3}"};
	static const char *const letters[] = {"[a-z]", "[a-z]+", "\\w", "(?:a|[b-z])", "[[:alpha:]]+"};

	if (chance(8) == 0)
		to += sprintf(to, "^.*");
	for (; *piece != '\0'; piece++)
	{
		bool digit = *piece >= '0' && *piece <= '9';
		bool letter = *piece >= 'a' && *piece <= 'z';

		if (digit && chance(4) != 0)
			to += sprintf(to, "%s", digits[chance(7)]);
		else if (letter && chance(6) == 0)
			to += sprintf(to, "%s", letters[chance(5)]);
		else if (letter && chance(12) == 0)
			to += sprintf(to, "%c%s", *piece, chance(2) ? "?" : "+");
		else if (digit || letter || (*piece >= 'A' && *piece <= 'Z') ||
				 (unsigned char) *piece >= 0x80 || *piece == ' ' || *piece == '\n')
			*to++ = *piece;
		else
			to += sprintf(to, "\\%c", *piece);
	}
	*to = '\0';
	if (chance(8) == 0)
		strcpy(to, chance(2) ? "\\b" : "|ing \\d");
}

static bool
same_rows(const memory_part *a, const memory_part *b, uint32_t n, const ls_filter *filter)
{
	static bool with[MOST];
	static bool without[MOST];

	memset(with, 0, sizeof(with));
	memset(without, 0, sizeof(without));
	if (!rows_of(a->part, filter, true, with) || !rows_of(b->part, filter, false, without))
	{
		printf("# %s: failed\n", filter->text.data);
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		if (with[i] != without[i])
		{
			printf("# %d %.*s: %s in templates %d\n", (int) filter->op, (int) filter->text.len,
				   filter->text.data, lines[i], with[i]);
			return false;
		}
	}
	return true;
}

/* Searches of a kind, alone and after another condition. */
static void
compare_searches(ls_filter_op op, uint32_t n, const char *name)
{
	memory_part a;
	memory_part b;
	bool same;
	uint32_t any = 0;

	ls_arena_reset(arena);
	for (uint32_t i = 0; i < n; i++)
		make_line(lines[i], sizeof(lines[i]));
	same = write_part(n, LS_CODEC_MERGED, &a) && write_part(n, LS_CODEC_FAST, &b);
	for (uint32_t i = 0; same && i < SEARCHES; i++)
	{
		char piece[160];
		char text[4096];
		ls_filter leaf = {.op = op, .target = LS_TARGET_NAMED, .field = LS_FIELD_EVENT};
		ls_filter first = {.op = LS_FILTER_CONTAINS,
						   .target = LS_TARGET_NAMED,
						   .field = LS_FIELD_EVENT,
						   .text = LS_STR("o")};
		ls_filter *both[] = {&first, &leaf};
		ls_filter and = {
			.op = chance(2) ? LS_FILTER_AND : LS_FILTER_OR, .children = both, .n_children = 2};

		cut(n, piece);
		strcpy(text, piece);
		if (op == LS_FILTER_MATCHES)
			generalize(piece, text);
		else if (op == LS_FILTER_PHRASE_WILDCARD)
			put_stars(piece, text);
		else if (op == LS_FILTER_PHRASE && chance(2))
			vary(piece, text);
		leaf.text = ls_str_make(text, strlen(text));
		same = same_rows(&a, &b, n, chance(4) == 0 ? &and : &leaf);
		any += same;
	}
	ok(same && any == SEARCHES, name);
}

static void
test_facts(void)
{
	static const struct
	{
		const char *pattern;
		const char *literals; /* with / between them; in the order of their places */
		bool alike;
	} cases[] = {
		{"port [0-9]+ ssh2", "port / ssh2", false},
		{"port [0-9]+ ssh", "port / ssh", true},
		{"[0-9]+ [a-z]+ [a-z]+ing", " / /ing", true},
		{"ab?c", "a/c", true},
		{"ab+c", "ab/bc", true},
		{"ab{0,2}c", "a/c", true},
		{"ab{2}c", "ab/bc", true},
		{"a|bc", "", true},
		{"x(?:a|b)y", "x/y", true},
		{"x(a)?yz\\.", "x/yz.", true},
		{"(?i)abc", "", false},
		{"a\\Qb\\Ec", "", false},
		{"(a)\\1", "", false},
		{"a[^5]b", "a/b", false},
		{"a[]x]b", "a/b", true},
		{"a[+--]b", "a/b", true},
		{"a[ -~]b", "a/b", true},
		{"a[ -5]b", "a/b", false},
		{"(?<n>a)b(?!c)d", "b/d", true},
		{"(*UCP)abc", "", false},
		{"a{b", "", false},
		{"\xc3\xa4+x", "\xc3\xa4/\xc3\xa4x", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
	{
		ls_regex_facts facts;
		ls_buf all;

		ls_buf_init(&all, arena);
		if (!ls_regex_facts_of(arena, ls_str_make(cases[i].pattern, strlen(cases[i].pattern)),
							   &facts))
			printf("# out of memory\n");
		for (uint32_t k = 0; k < facts.n; k++)
			ls_buf_printf(&all, "%s%.*s", k > 0 ? "/" : "", (int) facts.literals[k].len,
						  facts.literals[k].data);
		ls_buf_char(&all, '\0');
		ok(strcmp(all.data, cases[i].literals) == 0 && facts.digits_alike == cases[i].alike,
		   cases[i].pattern);
	}
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	for (uint32_t n = 700; n <= 5900; n += 5200)
	{
		compare_searches(LS_FILTER_PHRASE, n, "words and phrases");
		compare_searches(LS_FILTER_PHRASE_WILDCARD, n, "prefixes");
		compare_searches(LS_FILTER_CONTAINS, n, "substrings");
		compare_searches(LS_FILTER_MATCHES, n, "regular expressions");
	}
	test_facts();
	ls_arena_destroy(arena);
	return done_testing();
}
