/*
 * filter_test.c: filters over parts.
 *
 * Random filters over random parts are compared with a slow evaluator that
 * knows events only, folds every text and looks at one row at a time.
 */
#include <stdlib.h>

#include "src/part/event_id.h"
#include "src/part/filter.h"
#include "src/part/match.h"
#include "test/unit/tap.h"

static ls_arena *arena;

#define BASE (INT64_C(1767225600) * LS_USECS_PER_SEC) /* 2026-01-01T00:00:00Z */

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

/* ---- parts in memory ---- */

typedef struct memory_part
{
	ls_buf header;
	ls_buf body;
	uint32_t fetches;
} memory_part;

static bool
fetch(void *context, uint64_t offset, size_t length, void *to)
{
	memory_part *memory = context;

	memory->fetches++;
	if (offset > memory->body.len || length > memory->body.len - offset)
		return false;
	if (length > 0)
		memcpy(to, memory->body.data + offset, length);
	return true;
}

static ls_part *
finish(ls_part_builder *builder, ls_part_codec codec, memory_part *memory)
{
	ls_part_stats stats;
	const char *error = NULL;
	ls_part *part;

	memset(memory, 0, sizeof(memory_part));
	ls_buf_init(&memory->header, arena);
	ls_buf_init(&memory->body, arena);
	if (!ls_part_builder_finish(builder, codec, false, &memory->header, &memory->body, &stats))
		return NULL;
	part = ls_part_open(arena, ls_str_make(memory->header.data, memory->header.len), fetch, memory,
						&error);
	if (part == NULL)
		printf("# open: %s\n", error);
	return part;
}

/* ---- the slow evaluator ---- */

typedef struct value
{
	bool found;
	ls_kind kind;
	ls_str text; /* rendered */
} value;

static value
value_of(ls_kind kind, ls_str text, int64_t integer)
{
	return (value){true, kind, ls_value_text(arena, kind, text, integer)};
}

static ls_str
join(const ls_str *path, uint32_t n)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	for (uint32_t i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_char(&buf, '.');
		ls_buf_str(&buf, path[i]);
	}
	return ls_str_make(buf.len > 0 ? buf.data : "", buf.len);
}

static value
member_of(ls_str json, const ls_str *path, uint32_t n_path)
{
	value none = {false};

	for (uint32_t n = n_path; n > 0; n--)
	{
		ls_str wanted = join(path, n);
		ls_json j;
		ls_json_value open;
		ls_str key, raw;

		ls_json_init(&j, json, arena, 64);
		if (!ls_json_read(&j, &open) || open.type != LS_JSON_OBJECT)
			return none;
		while (ls_json_member(&j, &key) && ls_json_skip(&j, &raw))
		{
			ls_json_value v;
			ls_json k;
			int64_t integer;

			if (!ls_str_eq(key, wanted))
				continue;
			ls_json_init(&k, raw, arena, 64);
			ls_json_read(&k, &v);
			if (n < n_path)
			{
				value inner = member_of(raw, path + n, n_path - n);

				if (inner.found)
					return inner;
				break;
			}
			switch (v.type)
			{
				case LS_JSON_STRING:
					return value_of(LS_KIND_STRING, v.text, 0);
				case LS_JSON_NUMBER:
					return ls_json_canonical_int(raw, &integer)
							   ? value_of(LS_KIND_INTEGER, raw, integer)
							   : value_of(LS_KIND_NUMBER, raw, 0);
				case LS_JSON_TRUE:
				case LS_JSON_FALSE:
					return value_of(LS_KIND_BOOLEAN, raw, v.type == LS_JSON_TRUE);
				case LS_JSON_NULL:
					return value_of(LS_KIND_NULL, raw, 0);
				default:
					return value_of(LS_KIND_JSON, raw, 0);
			}
		}
	}
	return none;
}

static value
look_up(const ls_event *e, const ls_filter *f)
{
	char text[64];

	if (f->op == LS_FILTER_PHRASE || f->op == LS_FILTER_PHRASE_WILDCARD ||
		f->target == LS_TARGET_NAMED)
	{
		ls_field field = f->op == LS_FILTER_PHRASE || f->op == LS_FILTER_PHRASE_WILDCARD
							 ? LS_FIELD_EVENT
							 : f->field;

		if ((e->has & 1u << field) == 0)
			return (value){false};
		return value_of(LS_KIND_STRING, e->field[field], 0);
	}
	switch (f->target)
	{
		case LS_TARGET_TIMESTAMP:
			ls_time_format_iso(e->timestamp, text);
			return value_of(LS_KIND_STRING, ls_arena_strdup(arena, str(text)), 0);
		case LS_TARGET_INGESTED_AT:
			ls_time_format_iso(e->ingested_at, text);
			return value_of(LS_KIND_STRING, ls_arena_strdup(arena, str(text)), 0);
		case LS_TARGET_ID:
			ls_event_id_format(e->batch, e->place, text);
			return value_of(LS_KIND_STRING, ls_arena_strdup(arena, str(text)), 0);
		default:
			break;
	}
	for (uint32_t n = f->n_path; n > 0; n--)
	{
		ls_str key = join(f->path, n);

		for (size_t i = 0; i < e->n_attributes; i++)
		{
			const ls_attribute *a = &e->attributes[i];
			value v;

			if (!ls_str_eq(a->key, key))
				continue;
			if (n == f->n_path)
				return value_of(a->kind, a->text, a->integer);
			if (a->kind != LS_KIND_JSON)
				continue;
			v = member_of(a->text, f->path + n, f->n_path - n);
			if (v.found)
				return v;
		}
	}
	return (value){false};
}

static ls_str
fold(ls_str s)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_utf8_fold(&buf, s);
	return ls_str_make(buf.len > 0 ? buf.data : "", buf.len);
}

static bool
slow_contains(ls_str s, ls_str needle)
{
	for (size_t i = 0; i + needle.len <= s.len; i++)
	{
		if (memcmp(s.data + i, needle.data, needle.len) == 0)
			return true;
	}
	return false;
}

static bool
slow_wildcard(const char *p, const char *p_end, const char *s, const char *s_end)
{
	if (p == p_end)
		return s == s_end;
	if (*p == '*')
		return slow_wildcard(p + 1, p_end, s, s_end) ||
			   (s < s_end && slow_wildcard(p, p_end, s + 1, s_end));
	return s < s_end && *s == *p && slow_wildcard(p + 1, p_end, s + 1, s_end);
}

/* A token with stars over a token. */
static bool
slow_token(ls_str pattern, ls_str token)
{
	return slow_wildcard(pattern.data, pattern.data + pattern.len, token.data,
						 token.data + token.len);
}

typedef struct words
{
	ls_str word[64];
	int n;
} words;

static void
add_word(void *context, ls_str token)
{
	words *list = context;

	if (list->n < 64)
		list->word[list->n++] = token;
}

static bool
slow_phrase(ls_str s, ls_str phrase)
{
	words text = {.n = 0}, wanted = {.n = 0};

	ls_tokenize(fold(s), add_word, &text);
	ls_tokenize(fold(phrase), add_word, &wanted);
	for (int i = 0; i + wanted.n <= text.n; i++)
	{
		int k = 0;

		while (k < wanted.n && ls_str_eq(text.word[i + k], wanted.word[k]))
			k++;
		if (k == wanted.n)
			return true;
	}
	return false;
}

/* Stars in the phrase become letters for the tokens, and stars again. */
static bool
slow_phrase_wildcard(ls_str s, ls_str phrase)
{
	words text = {.n = 0}, wanted = {.n = 0};
	ls_str letters = ls_arena_strdup(arena, fold(phrase));

	for (size_t i = 0; i < letters.len; i++)
	{
		if (letters.data[i] == '*')
			((char *) letters.data)[i] = 'Q';
	}
	ls_tokenize(fold(s), add_word, &text);
	ls_tokenize(letters, add_word, &wanted);
	for (size_t i = 0; i < letters.len; i++)
	{
		if (letters.data[i] == 'Q')
			((char *) letters.data)[i] = '*';
	}
	for (int i = 0; i + wanted.n <= text.n; i++)
	{
		int k = 0;

		while (k < wanted.n && slow_token(wanted.word[k], text.word[i + k]))
			k++;
		if (k == wanted.n)
			return true;
	}
	return false;
}

static bool
slow_number(ls_str s, long double *number)
{
	char copy[400];
	char *end;

	if (s.len == 0 || s.len > 300 || strspn(s.data, "") != 0)
		return false;
	for (size_t i = 0; i < s.len; i++)
	{
		/* strtold knows more than the language: inf, hexadecimal, " 1", "+1", "1.", ".5" */
		bool digit = s.data[i] >= '0' && s.data[i] <= '9';
		bool next = i + 1 < s.len && s.data[i + 1] >= '0' && s.data[i + 1] <= '9';

		if (!digit && strchr("-+.eE", s.data[i]) == NULL)
			return false;
		if (s.data[i] == '.' && (i == 0 || !next || s.data[i - 1] < '0' || s.data[i - 1] > '9'))
			return false;
		if (i == 0 && (s.data[i] == '+' || (s.data[i] == '-' && !next)))
			return false;
	}
	memcpy(copy, s.data, s.len);
	copy[s.len] = '\0';
	*number = strtold(copy, &end);
	return *end == '\0';
}

static bool
ordered(ls_filter_op op, int order)
{
	switch (op)
	{
		case LS_FILTER_EQ:
			return order == 0;
		case LS_FILTER_NE:
			return order != 0;
		case LS_FILTER_LT:
			return order < 0;
		case LS_FILTER_LE:
			return order <= 0;
		case LS_FILTER_GT:
			return order > 0;
		default:
			return order >= 0;
	}
}

static bool
slow_compare(const ls_event *e, const ls_filter *f, const ls_filter *constant, value v)
{
	ls_time time;
	long double a, b;

	if (constant->op == LS_FILTER_WILDCARD || constant->op == LS_FILTER_NE_WILDCARD)
	{
		ls_str p = constant->ignore_case ? fold(constant->text) : constant->text;
		ls_str s = constant->ignore_case ? fold(v.text) : v.text;

		return slow_wildcard(p.data, p.data + p.len, s.data, s.data + s.len) ==
			   (constant->op == LS_FILTER_WILDCARD);
	}
	if (f->target == LS_TARGET_TIMESTAMP || f->target == LS_TARGET_INGESTED_AT)
	{
		ls_time mine = f->target == LS_TARGET_TIMESTAMP ? e->timestamp : e->ingested_at;
		bool is_time = true;

		if (constant->numeric)
		{
			double us = constant->number * (constant->number < 1e11 ? 1e6 : 1e3);

			is_time = us < 9e18 && us > -9e18;
			time = is_time ? (ls_time) us : 0;
		}
		else
			is_time = ls_time_parse_iso(constant->text, &time);
		if (is_time)
		{
			if (time % 1000 == 0)
				mine -= mine % 1000; /* all times here are after 1970 */
			return ordered(constant->op, (mine > time) - (mine < time));
		}
	}
	if (constant->numeric)
	{
		if (v.kind == LS_KIND_BOOLEAN || v.kind == LS_KIND_NULL || v.kind == LS_KIND_JSON ||
			!slow_number(v.text, &a))
			return constant->op == LS_FILTER_NE;
		if (!slow_number(constant->text, &b))
			b = constant->number;
		return ordered(constant->op, (a > b) - (a < b));
	}
	if (constant->op == LS_FILTER_EQ || constant->op == LS_FILTER_NE)
		return ls_str_eq(constant->ignore_case ? fold(v.text) : v.text,
						 constant->ignore_case ? fold(constant->text) : constant->text) ==
			   (constant->op == LS_FILTER_EQ);
	return ordered(constant->op, ls_str_cmp(v.text, constant->text));
}

static bool
slow_match(const ls_event *e, const ls_filter *f)
{
	value v;

	if (f == NULL)
		return true;
	switch (f->op)
	{
		case LS_FILTER_AND:
			for (uint32_t i = 0; i < f->n_children; i++)
			{
				if (!slow_match(e, f->children[i]))
					return false;
			}
			return true;
		case LS_FILTER_OR:
			for (uint32_t i = 0; i < f->n_children; i++)
			{
				if (slow_match(e, f->children[i]))
					return true;
			}
			return false;
		case LS_FILTER_NOT:
			return !slow_match(e, f->children[0]);
		default:
			break;
	}
	v = look_up(e, f);
	if (!v.found)
		return false;
	switch (f->op)
	{
		case LS_FILTER_PHRASE:
			return slow_phrase(v.text, f->text);
		case LS_FILTER_PHRASE_WILDCARD:
			return slow_phrase_wildcard(v.text, f->text);
		case LS_FILTER_PRESENT:
			return true;
		case LS_FILTER_CONTAINS:
			return slow_contains(fold(v.text), fold(f->text));
		case LS_FILTER_IN:
			for (uint32_t i = 0; i < f->n_children; i++)
			{
				if (slow_compare(e, f, f->children[i], v))
					return true;
			}
			return false;
		default:
			return slow_compare(e, f, f, v);
	}
}

/* ---- random data ---- */

static uint64_t seed = 42;

static uint32_t
chance(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) (seed >> 33) % n;
}

static const char *const texts[] = {
	"error",
	"ERROR",
	"Connection reset by peer",
	"connection  reset-by peer",
	"reset by peers",
	"gr\xc3\xb6\xc3\x9f"
	"e GR\xc3\x96SSE",
	"gr\xc3\xb6sse",
	"\xe2\x84\xaa"
	"elvin kelvin",
	"\xe2\x84\xaa"
	"elvin",
	"\xc5\xbftop",
	"stop",
	"500",
	"007",
	"-7",
	"1e3",
	"1.50",
	"10",
	"9",
	"a*b",
	"true",
	"null",
	"",
	"_",
	"user_42",
	"a.b",
	"x",
	"9007199254740993",
	"request 9 took 10 ms on web-01 and 11 ms on web-02 and found nothing to complain about",
	"2026-01-01T00:00:00.500Z",
	"\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82",
	"\xd0\xbf\xd0\xa0\xd0\x98\xd0\x92\xd0\x95\xd0\xa2 mir",
};
static const char *const fragments[] = {
	"err",
	"ERR",
	"reset",
	"reset by",
	"peer",
	"e",
	"",
	"k",
	"s",
	"kelvin",
	"STOP",
	"gr\xc3\x96",
	"by peer conn",
	" ",
	"-",
	"50",
	"ms on web",
	"nothing to complain about",
	"\xd0\x9f\xd0\xa0",
	"zzz",
	"0",
	"r",
	"complain",
};
static const char *const patterns[] = {"*",          "e*",     "*r",    "*ERR*",      "a*b",
									   "*a*b*",      "**",     "5*0",   "re*by*peer", "web-*",
									   "*\xc3\x96*", "kelvin", "*stop", "i*o"};
static const char *const token_patterns[] = {"res* by", "*TION",     "conn*n reset", "1* ms",
											 "* 500",   "r*t-b* p*", "gr\xc3\x96*",  "*elvi* *",
											 "web-*",   "9*"};
static const char *const numbers[] = {"500",
									  "7",
									  "-7",
									  "1000",
									  "1.5",
									  "0",
									  "9",
									  "10.25",
									  "9007199254740992",
									  "9007199254740993",
									  "9223372036854775807",
									  "-9223372036854775808",
									  "1e300",
									  "-1e300",
									  "0.1",
									  "42"};
static const char *const jsons[] = {
	"{\"b\":1,\"b.c\":\"x\",\"c\":{\"d\":[1],\"e\":\"500\"}}",
	"{\"b\":{\"c\":500},\"b.c\":null}",
	"{\"b\":{\"c\":{\"d\":\"error\"}}}",
	"{\"b\":{\"x\":1},\"c\":true,\"d\":\"say \\\"Error\\\"\\n\"}",
	"{}",
	"[1,2,{\"b\":3}]",
	"{\"b\":[{\"c\":1}],\"c\":1.50,\"k\\\"\":9007199254740993}",
};
static const char *const keys[] = {"a", "a.b", "a.b.c", "b", "status", "k\"", "", "c"};
static const char *const levels[] = {"info", "error", "ERROR", "warn", "audit", "500", "fatal"};

#define PICK(list) list[chance(sizeof(list) / sizeof(list[0]))]

static void
random_event(ls_event *e, ls_attribute *attributes, uint32_t place)
{
	char number[32];

	memset(e, 0, sizeof(ls_event));
	e->timestamp = BASE + (int64_t) chance(5000) * 333333;
	e->ingested_at = BASE + (int64_t) chance(100) * 1000000;
	e->batch = 1000 + place / 100;
	e->place = place % 100;
	e->attributes = attributes;
	for (int f = 0; f < LS_NAMED_FIELDS; f++)
	{
		if (f != LS_FIELD_EVENT && chance(3) == 0)
			continue;
		e->has |= 1u << f;
		e->field[f] = f == LS_FIELD_LEVEL ? str(PICK(levels)) : str(PICK(texts));
		if (f == LS_FIELD_EVENT && chance(2) == 0)
		{
			ls_buf buf;

			ls_buf_init(&buf, arena);
			ls_buf_printf(&buf, "%s %u %s", PICK(texts), chance(100000), PICK(texts));
			e->field[f] = ls_str_make(buf.data, buf.len);
		}
	}
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
	{
		ls_attribute *a = &attributes[e->n_attributes];

		if (chance(3) == 0)
			continue;
		a->key = str(keys[k]);
		a->kind = (ls_kind) chance(6);
		a->text = LS_STR("");
		a->integer = 0;
		switch (a->kind)
		{
			case LS_KIND_STRING:
				a->text = str(PICK(texts));
				break;
			case LS_KIND_INTEGER:
				snprintf(number, sizeof(number), "%s", PICK(numbers));
				if (!ls_json_canonical_int(str(number), &a->integer))
					a->integer = chance(1000);
				break;
			case LS_KIND_NUMBER:
				a->text = chance(2) == 0 ? LS_STR("1.50") : LS_STR("1e3");
				break;
			case LS_KIND_BOOLEAN:
				a->integer = chance(2);
				break;
			case LS_KIND_NULL:
				break;
			case LS_KIND_JSON:
				a->text = str(PICK(jsons));
				break;
		}
		e->n_attributes++;
	}
}

static ls_filter *random_filter(int depth);

static void
random_constant(ls_filter *f)
{
	f->numeric = chance(2) == 0 && f->op != LS_FILTER_WILDCARD && f->op != LS_FILTER_NE_WILDCARD;
	f->ignore_case = chance(2) == 0;
	if (f->numeric)
	{
		f->text = str(PICK(numbers));
		f->number = strtod(f->text.data, NULL);
	}
	else if (f->op == LS_FILTER_WILDCARD || f->op == LS_FILTER_NE_WILDCARD)
		f->text = str(PICK(patterns));
	else
		f->text = chance(2) == 0 ? str(PICK(texts)) : str(PICK(numbers));
}

static void
random_leaf(ls_filter *f)
{
	static const ls_filter_op ops[] = {LS_FILTER_PHRASE,   LS_FILTER_PHRASE,
									   LS_FILTER_PRESENT,  LS_FILTER_CONTAINS,
									   LS_FILTER_EQ,       LS_FILTER_NE,
									   LS_FILTER_LT,       LS_FILTER_LE,
									   LS_FILTER_GT,       LS_FILTER_GE,
									   LS_FILTER_WILDCARD, LS_FILTER_NE_WILDCARD,
									   LS_FILTER_IN,       LS_FILTER_PHRASE_WILDCARD};
	static const char *const parts[] = {"a", "b", "c", "status", "k\"", "", "d", "a.b"};
	static const char *const times[] = {"2026-01-01T00:10:00Z", "2026-01-01T00:00:33.333Z",
										"2026-01-01T00:00:33.333300Z", "2026-01-01T00:00:05",
										"soon"};
	ls_str *path;

	f->op = PICK(ops);
	f->target = (ls_target) (chance(3) == 0 ? chance(5) : chance(2));
	f->field = (ls_field) (chance(2) == 0 ? LS_FIELD_EVENT : chance(LS_NAMED_FIELDS));
	if (f->op == LS_FILTER_PHRASE || f->op == LS_FILTER_CONTAINS)
		f->text = chance(2) == 0 ? str(PICK(texts)) : str(PICK(fragments));
	if (f->op == LS_FILTER_PHRASE_WILDCARD)
		f->text = chance(2) == 0 ? str(PICK(patterns)) : str(PICK(token_patterns));
	if (f->target == LS_TARGET_ATTRIBUTE)
	{
		f->n_path = 1 + chance(4);
		path = ls_new_array(arena, ls_str, f->n_path);
		for (uint32_t i = 0; i < f->n_path; i++)
			path[i] = str(PICK(parts));
		f->path = path;
	}
	if (f->op == LS_FILTER_IN)
	{
		f->n_children = chance(4);
		f->children = ls_new_array(arena, ls_filter *, f->n_children + 1);
		for (uint32_t i = 0; i < f->n_children; i++)
		{
			f->children[i] = ls_new(arena, ls_filter);
			f->children[i]->op = chance(3) == 0 ? LS_FILTER_WILDCARD : LS_FILTER_EQ;
			random_constant(f->children[i]);
		}
	}
	else if (f->op >= LS_FILTER_EQ && f->op < LS_FILTER_IN)
		random_constant(f);
	if (f->op >= LS_FILTER_EQ && f->op <= LS_FILTER_GE &&
		(f->target == LS_TARGET_TIMESTAMP || f->target == LS_TARGET_INGESTED_AT))
	{
		f->text = f->numeric ? LS_STR("1767225633") : str(PICK(times));
		f->number = 1767225633;
	}
	if (f->target == LS_TARGET_ID && f->op >= LS_FILTER_EQ && f->op <= LS_FILTER_GE && !f->numeric)
	{
		char id[LS_EVENT_ID_LENGTH + 1];

		ls_event_id_format(1000 + chance(20), chance(100), id);
		f->text = ls_arena_strdup(arena, str(id));
	}
}

static ls_filter *
random_filter(int depth)
{
	ls_filter *f = ls_new(arena, ls_filter);

	if (depth >= 3 || chance(2) == 0)
		random_leaf(f);
	else
	{
		f->op = (ls_filter_op) chance(3);
		f->n_children = f->op == LS_FILTER_NOT ? 1 : chance(4);
		f->children = ls_new_array(arena, ls_filter *, f->n_children + 1);
		for (uint32_t i = 0; i < f->n_children; i++)
			f->children[i] = random_filter(depth + 1);
	}
	return f;
}

/* ---- the comparison of both ---- */

static void
print_filter(const ls_filter *f, int depth)
{
	static const char *const names[] = {"AND",
										"OR",
										"NOT",
										"PHRASE",
										"PRESENT",
										"CONTAINS",
										"MATCHES",
										"EQ",
										"NE",
										"LT",
										"LE",
										"GT",
										"GE",
										"WILDCARD",
										"NE_WILDCARD",
										"IN",
										"PHRASE_WILDCARD"};

	printf("#%*s%s target %d field %d", depth * 2, "", names[f->op], f->target, f->field);
	for (uint32_t i = 0; i < f->n_path; i++)
		printf("%s%.*s", i == 0 ? " path " : " / ", (int) f->path[i].len, f->path[i].data);
	printf(" '%.*s'%s%s\n", (int) f->text.len, f->text.data, f->numeric ? " numeric" : "",
		   f->ignore_case ? " ignore case" : "");
	for (uint32_t i = 0; i < f->n_children; i++)
		print_filter(f->children[i], depth + 1);
}

/* Events that are in no part have no id yet. */
static bool
has_id(const ls_filter *f)
{
	bool found = f->target == LS_TARGET_ID;

	for (uint32_t i = 0; i < f->n_children; i++)
		found = found || has_id(f->children[i]);
	return found;
}

/* Runs one filter over all of a part; false and a report when they differ. */
static bool
same(ls_part *part, const ls_filter *filter, ls_time from, ls_time to, uint64_t *total)
{
	ls_filter_run *run = ls_filter_prepare(arena, part, filter, from, to);
	uint32_t mask = ls_filter_level_mask(filter);
	ls_regex_set regexes = {NULL};
	ls_event_filter *alone = NULL;
	const char *error;

	/* The same filter on each event alone. */
	if (filter != NULL && !has_id(filter))
	{
		alone = ls_event_filter_make(arena, filter, &regexes, &error);
		if (alone == NULL)
		{
			printf("# event filter: %s\n", error);
			return false;
		}
	}
	for (uint32_t b = 0; b < ls_part_blocks(part); b++)
	{
		uint64_t selected[LS_PART_BLOCK_ROWS / 64];
		uint32_t matched, counted = 0;

		if (!ls_filter_block(run, b, selected, &matched))
		{
			printf("# failed: %s\n", ls_filter_error(run));
			return false;
		}
		for (uint32_t r = 0; r < LS_PART_BLOCK_ROWS; r++)
		{
			bool got = (selected[r / 64] >> (r % 64) & 1) != 0;
			ls_event e;
			bool expected;
			ls_level level;

			if (r >= ls_part_block_rows(part, b))
			{
				if (got)
					return false;
				continue;
			}
			if (!ls_part_row(part, b, r, arena, &e))
				return false;
			expected = e.timestamp >= from && e.timestamp < to && slow_match(&e, filter);
			level = (e.has & 1u << LS_FIELD_LEVEL) == 0 ? LS_LEVEL_NONE
														: ls_level_of(e.field[LS_FIELD_LEVEL]);
			counted += got;
			if (alone != NULL && ls_event_filter_match(alone, &e) != slow_match(&e, filter))
			{
				printf("# the event alone: not %d\n", slow_match(&e, filter));
				print_filter(filter, 1);
				return false;
			}
			if (got != expected || (expected && (mask >> level & 1) == 0))
			{
				printf("# block %u row %u: got %d, expected %d, level %d, mask %x\n", b, r, got,
					   expected, level, mask);
				for (size_t i = 0; i < e.n_attributes; i++)
					printf("#   .%.*s %d '%.*s' %lld\n", (int) e.attributes[i].key.len,
						   e.attributes[i].key.data, e.attributes[i].kind,
						   (int) e.attributes[i].text.len, e.attributes[i].text.data,
						   (long long) e.attributes[i].integer);
				printf("#   event '%.*s'\n", (int) e.field[0].len, e.field[0].data);
				if (filter != NULL)
					print_filter(filter, 1);
				return false;
			}
		}
		if (counted != matched)
			return false;
		*total += matched;
		ls_part_release_block(part);
	}
	ls_regex_set_free(&regexes);
	return true;
}

static void
test_random(void)
{
	uint64_t total = 0, rows = 0;
	bool right = true;

	for (int p = 0; p < 30 && right; p++)
	{
		ls_part_builder *builder;
		memory_part memory;
		ls_part *part;
		uint32_t n = p % 10 == 9 ? 5000 : 1 + chance(300);

		ls_arena_reset(arena);
		builder = ls_part_builder_create(arena);
		for (uint32_t i = 0; i < n; i++)
		{
			ls_attribute attributes[16];
			ls_event e;

			random_event(&e, attributes, i);
			if (!ls_part_builder_add(builder, &e))
				right = false;
		}
		part = finish(builder, (ls_part_codec) (p % 3), &memory);
		if (part == NULL)
		{
			right = false;
			break;
		}
		for (int i = 0; i < (n > 1000 ? 20 : 150) && right; i++)
		{
			ls_filter *filter = random_filter(0);
			ls_filter *again = NULL;
			ls_time from = chance(2) == 0 ? INT64_MIN : BASE + (int64_t) chance(1000) * 500000;
			ls_time to = chance(2) == 0 ? INT64_MAX : BASE + (int64_t) chance(1700) * 1000000;
			ls_buf bytes, bytes_again;

			ls_buf_init(&bytes, arena);
			ls_buf_init(&bytes_again, arena);
			ls_filter_serialize(&bytes, filter);
			if (!ls_filter_deserialize(arena, ls_str_make(bytes.data, bytes.len), &again))
			{
				printf("# not deserialized\n");
				print_filter(filter, 1);
				right = false;
				break;
			}
			ls_filter_serialize(&bytes_again, again);
			right = bytes.len == bytes_again.len &&
					memcmp(bytes.data, bytes_again.data, bytes.len) == 0 &&
					same(part, again, from, to, &total);
			rows += n;
		}
	}
	ok(right, "random filters over random parts");
	printf("# %llu of %llu rows matched\n", (unsigned long long) total, (unsigned long long) rows);
	ok(total > rows / 20 && total < rows / 2, "the filters neither match all nor nothing");
}

/* ---- single cases ---- */

static ls_part *one_part;
static memory_part one_memory;

/* Makes a part of one event. */
static void
event_is(const char *json_free_text, const ls_attribute *attributes, size_t n)
{
	ls_part_builder *builder = ls_part_builder_create(arena);
	ls_event e = {.timestamp = BASE + 123456, .ingested_at = BASE, .batch = 7, .place = 3};

	e.has = 1u << LS_FIELD_EVENT | 1u << LS_FIELD_LEVEL;
	e.field[LS_FIELD_EVENT] = str(json_free_text);
	e.field[LS_FIELD_LEVEL] = LS_STR("error");
	e.attributes = attributes;
	e.n_attributes = n;
	ls_part_builder_add(builder, &e);
	one_part = finish(builder, LS_CODEC_FRESH, &one_memory);
}

static bool
matches(const ls_filter *filter)
{
	ls_filter_run *run = ls_filter_prepare(arena, one_part, filter, INT64_MIN, INT64_MAX);
	uint64_t selected[LS_PART_BLOCK_ROWS / 64];
	uint32_t matched = 99;

	if (!ls_filter_block(run, 0, selected, &matched))
		printf("# failed: %s\n", ls_filter_error(run));
	return matched == 1;
}

static bool
phrase(const char *text)
{
	return matches(&(ls_filter){.op = LS_FILTER_PHRASE, .text = str(text)});
}

static bool
phrase_wildcard(const char *text)
{
	return matches(&(ls_filter){.op = LS_FILTER_PHRASE_WILDCARD, .text = str(text)});
}

static bool
contains(const char *text)
{
	return matches(&(ls_filter){.op = LS_FILTER_CONTAINS,
								.target = LS_TARGET_NAMED,
								.field = LS_FIELD_EVENT,
								.text = str(text)});
}

static bool
regex(const char *pattern)
{
	return matches(&(ls_filter){.op = LS_FILTER_MATCHES,
								.target = LS_TARGET_NAMED,
								.field = LS_FIELD_EVENT,
								.text = str(pattern)});
}

static bool
attribute(ls_filter_op op, const char *name1, const char *name2, const char *text, bool numeric)
{
	ls_str path[2] = {str(name1), str(name2 != NULL ? name2 : "")};

	return matches(&(ls_filter){.op = op,
								.target = LS_TARGET_ATTRIBUTE,
								.path = path,
								.n_path = name2 != NULL ? 2 : 1,
								.text = str(text),
								.numeric = numeric,
								.number = numeric ? strtod(text, NULL) : 0});
}

static bool
builtin(ls_filter_op op, ls_target target, const char *text, bool numeric)
{
	return matches(&(ls_filter){.op = op,
								.target = target,
								.text = str(text),
								.numeric = numeric,
								.number = numeric ? strtod(text, NULL) : 0});
}

static void
test_cases(void)
{
	ls_attribute attributes[] = {
		{LS_STR("text"), LS_KIND_STRING, LS_STR("500"), 0},
		{LS_STR("int"), LS_KIND_INTEGER, LS_STR(""), 500},
		{LS_STR("big"), LS_KIND_INTEGER, LS_STR(""), INT64_C(1234567890123456789)},
		{LS_STR("nine"), LS_KIND_STRING, LS_STR("9"), 0},
		{LS_STR("null"), LS_KIND_NULL, LS_STR(""), 0},
		{LS_STR("yes"), LS_KIND_BOOLEAN, LS_STR(""), 1},
		{LS_STR("a.b"), LS_KIND_STRING, LS_STR("literal"), 0},
		{LS_STR("a"), LS_KIND_JSON, LS_STR("{\"b\":\"nested\",\"c\":\"deep\"}"), 0},
	};
	ls_filter bad = {.op = LS_FILTER_MATCHES, .target = LS_TARGET_NAMED, .text = LS_STR("a(")};
	uint64_t selected[LS_PART_BLOCK_ROWS / 64];
	uint32_t matched;
	ls_filter_run *run;
	char id[LS_EVENT_ID_LENGTH + 1];
	uint64_t batch;
	uint32_t place;

	ls_arena_reset(arena);
	event_is("Connection reset by peer: gr\xc3\xb6\xc3\x9f"
			 "e, \xe2\x84\xaa"
			 "elvin",
			 attributes, sizeof(attributes) / sizeof(attributes[0]));

	ok(phrase("CONNECTION"), "a word, case-insensitive");
	ok(phrase("reset by"), "a phrase");
	ok(phrase("by--peer gr\xc3\x96\xc3\x9f"
			  "E"),
	   "separators and Unicode case do not matter");
	ok(!phrase("rese"), "not a part of a word");
	ok(!phrase("reset peer"), "adjacent only");
	ok(!phrase("by reset"), "in order only");
	ok(phrase("kelvin"), "U+212A folds to k");
	ok(!phrase("grosse"), "accents are not stripped");
	ok(phrase_wildcard("CONN* res*t"), "a phrase with stars");
	ok(!phrase_wildcard("conn*by"), "a star stays within its token");
	ok(!phrase_wildcard("onn*"), "and the token is matched whole");
	ok(phrase_wildcard("k*"), "stars and U+212A");
	ok(contains("NECTION RES"), "a substring");
	ok(contains("KEL"), "a substring with U+212A");
	ok(!contains("nectionres"), "not this substring");
	ok(regex("^Conn.*peer"), "a regular expression");
	ok(!regex("^conn"), "is case-sensitive");
	ok(regex("(?i)^conn"), "unless it says otherwise");
	ok(regex("gr..e,"), "a dot is a character, not a byte");

	ok(attribute(LS_FILTER_EQ, "text", NULL, "500", true), "\"500\" = 500");
	ok(attribute(LS_FILTER_EQ, "int", NULL, "500", false), "500 = \"500\" as text");
	ok(attribute(LS_FILTER_EQ, "int", NULL, "5e2", true), "500 = 5e2");
	ok(!attribute(LS_FILTER_EQ, "int", NULL, "500.0", false), "500 = \"500.0\" not as text");
	ok(!attribute(LS_FILTER_EQ, "big", NULL, "1234567890123456788", true), "big integers exactly");
	ok(attribute(LS_FILTER_GT, "big", NULL, "1234567890123456788", true), "and in order");
	ok(!attribute(LS_FILTER_LT, "nine", NULL, "10", false), "\"9\" < \"10\" is false as text");
	ok(attribute(LS_FILTER_LT, "nine", NULL, "10", true), "\"9\" < 10");
	ok(!attribute(LS_FILTER_NE, "none", NULL, "1", true), "!= on a missing field");
	ok(!attribute(LS_FILTER_EQ, "none", NULL, "1", true), "= on a missing field");
	ok(attribute(LS_FILTER_NE, "yes", NULL, "1", true), "true is not 1");
	ok(attribute(LS_FILTER_EQ, "yes", NULL, "true", false), "true renders as true");
	ok(attribute(LS_FILTER_PRESENT, "null", NULL, "", false), "null is present");
	ok(!attribute(LS_FILTER_PRESENT, "none", NULL, "", false), "a missing field is not");
	ok(attribute(LS_FILTER_EQ, "a", "b", "literal", false), "the literal key first");
	ok(!attribute(LS_FILTER_EQ, "a", "b", "nested", false), "and only that");
	ok(attribute(LS_FILTER_EQ, "a", "c", "deep", false), "then nested members");
	ok(attribute(LS_FILTER_EQ, "a.b", NULL, "literal", false), "a quoted name");
	ok(attribute(LS_FILTER_CONTAINS, "a", NULL, "\"b\":\"NEST", false), "an object as its text");

	ok(builtin(LS_FILTER_EQ, LS_TARGET_TIMESTAMP, "2026-01-01T00:00:00.123Z", false),
	   "a millisecond includes its microseconds");
	ok(!builtin(LS_FILTER_GT, LS_TARGET_TIMESTAMP, "2026-01-01T00:00:00.123Z", false), "not after");
	ok(builtin(LS_FILTER_GT, LS_TARGET_TIMESTAMP, "2026-01-01T00:00:00.123455Z", false),
	   "unless it has microseconds itself");
	ok(builtin(LS_FILTER_LE, LS_TARGET_TIMESTAMP, "1767225600123", true), "epoch milliseconds");
	ok(builtin(LS_FILTER_WILDCARD, LS_TARGET_TIMESTAMP, "2026-01-01T*", false), "as text");

	ls_event_id_format(7, 3, id);
	is_str(str(id), "evt_0000000000003G00000C000000", "an id");
	ok(builtin(LS_FILTER_EQ, LS_TARGET_ID, id, false), "found by its id");
	ok(!builtin(LS_FILTER_LT, LS_TARGET_ID, id, false), "not before itself");
	ls_event_id_format(UINT64_MAX, UINT32_MAX, id);
	is_str(str(id), "evt_7ZZZZZZZZZZZZZZZZZZW000000", "the largest id");
	ok(ls_event_id_parse(str(id), &batch, &place) && batch == UINT64_MAX && place == UINT32_MAX,
	   "and back");
	ok(!ls_event_id_parse(LS_STR("evt_8ZZZZZZZZZZZZZZZZZZW000000"), &batch, &place), "129 bits");
	ok(!ls_event_id_parse(LS_STR("evt_0000000000003G00000C000001"), &batch, &place), "other bytes");
	ok(!ls_event_id_parse(LS_STR("usr_0000000000003G00000C000000"), &batch, &place), "other kind");

	run = ls_filter_prepare(arena, one_part, &bad, INT64_MIN, INT64_MAX);
	ok(!ls_filter_block(run, 0, selected, &matched), "a bad regular expression");
	is_str(str(ls_filter_error(run)),
		   "invalid regular expression at byte 2: missing closing parenthesis", "its message");

	event_is("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", NULL, 0);
	bad.text = LS_STR("(a+)+$");
	run = ls_filter_prepare(arena, one_part, &bad, INT64_MIN, INT64_MAX);
	ok(!ls_filter_block(run, 0, selected, &matched), "a runaway regular expression is stopped");
	is_str(str(ls_filter_error(run)), "the regular expression needs too many steps", "and told");
}

/* What a filter does not need is not fetched. */
static void
test_fetches(void)
{
	ls_part_builder *builder;
	memory_part memory;
	ls_part *part;
	ls_filter level = {.op = LS_FILTER_EQ,
					   .target = LS_TARGET_NAMED,
					   .field = LS_FIELD_LEVEL,
					   .text = LS_STR("fatal"),
					   .ignore_case = true};
	ls_filter text = {.op = LS_FILTER_PHRASE, .text = LS_STR("unique")};
	ls_filter *both[] = {&text, &level};
	ls_filter and = {.op = LS_FILTER_AND, .children = both, .n_children = 2};
	ls_filter none = {
		.op = LS_FILTER_PRESENT, .target = LS_TARGET_NAMED, .field = LS_FIELD_SPAN_ID};
	uint64_t selected[LS_PART_BLOCK_ROWS / 64];
	uint32_t matched, level_only;
	ls_filter_run *run;

	ls_arena_reset(arena);
	builder = ls_part_builder_create(arena);
	for (uint32_t i = 0; i < 10000; i++)
	{
		ls_event e = {.timestamp = BASE + i, .ingested_at = BASE, .batch = 1, .place = i};
		char message[64];

		snprintf(message, sizeof(message), "unique message %u of %u", i * 7919, i);
		e.has = 1u << LS_FIELD_EVENT | 1u << LS_FIELD_LEVEL;
		e.field[LS_FIELD_EVENT] = str(message);
		e.field[LS_FIELD_LEVEL] = i % 2 == 0 ? LS_STR("info") : LS_STR("warn");
		ls_part_builder_add(builder, &e);
	}
	part = finish(builder, LS_CODEC_FRESH, &memory);

	memory.fetches = 0;
	run = ls_filter_prepare(arena, part, &none, INT64_MIN, INT64_MAX);
	for (uint32_t b = 0; b < ls_part_blocks(part); b++)
		ls_filter_block(run, b, selected, &matched);
	is_int(memory.fetches, 0, "nothing is fetched for a field that no row has");

	run = ls_filter_prepare(arena, part, &and, BASE + 10000, INT64_MAX);
	for (uint32_t b = 0; b < ls_part_blocks(part); b++)
		ls_filter_block(run, b, selected, &matched);
	is_int(memory.fetches, 0, "nor outside of the time range");

	run = ls_filter_prepare(arena, part, &level, INT64_MIN, INT64_MAX);
	ok(ls_filter_block(run, 0, selected, &matched) && matched == 0, "no fatal event");
	level_only = memory.fetches;
	for (uint32_t b = 1; b < ls_part_blocks(part); b++)
		ls_filter_block(run, b, selected, &matched);
	is_int(memory.fetches, level_only, "a dictionary without the value answers for all blocks");

	ls_part_release_block(part);
	memory.fetches = 0;
	run = ls_filter_prepare(arena, part, &and, INT64_MIN, INT64_MAX);
	ls_filter_block(run, 0, selected, &matched);
	ok(memory.fetches <= level_only && matched == 0, "AND looks at the cheap column and stops");
}

static void
test_bytes(void)
{
	ls_filter leaf = {.op = LS_FILTER_EQ,
					  .target = LS_TARGET_NAMED,
					  .field = LS_FIELD_LEVEL,
					  .text = LS_STR("error")};
	ls_filter *chain = &leaf;
	ls_filter *back;
	ls_buf buf;
	bool refused = true;

	ls_arena_reset(arena);
	ls_buf_init(&buf, arena);
	ls_filter_serialize(&buf, NULL);
	ok(ls_filter_deserialize(arena, ls_str_make(buf.data, buf.len), &back) && back == NULL,
	   "no filter");
	buf.len = 0;
	ls_filter_serialize(&buf, &leaf);
	for (size_t n = 0; n < buf.len; n++)
		refused = refused && !ls_filter_deserialize(arena, ls_str_make(buf.data, n), &back);
	ok(refused, "cut bytes are refused");
	ls_buf_char(&buf, 0);
	ok(!ls_filter_deserialize(arena, ls_str_make(buf.data, buf.len), &back), "and bytes behind");
	for (int i = 0; i < 200; i++)
	{
		ls_filter *not = ls_new(arena, ls_filter);

		not ->op = LS_FILTER_NOT;
		not ->children = ls_new_array(arena, ls_filter *, 1);
		not ->children[0] = chain;
		not ->n_children = 1;
		chain = not ;
	}
	buf.len = 0;
	ls_filter_serialize(&buf, chain);
	ok(!ls_filter_deserialize(arena, ls_str_make(buf.data, buf.len), &back), "and depth 200");

	is_int(ls_filter_level_mask(NULL), (1 << LS_LEVELS) - 1, "levels of no filter");
	leaf.ignore_case = true;
	is_int(ls_filter_level_mask(&leaf), 1 << LS_LEVEL_ERROR, "levels of level=error");
	leaf.op = LS_FILTER_NE;
	is_int(ls_filter_level_mask(&leaf),
		   (1 << LS_LEVELS) - 1 - (1 << LS_LEVEL_ERROR) - (1 << LS_LEVEL_NONE),
		   "levels of level!=error");
}

/* With a number as argument, other random parts and filters. */
int
main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 10);
	arena = ls_arena_create(NULL, 0);
	test_cases();
	test_random();
	test_fetches();
	test_bytes();
	ls_arena_destroy(arena);
	return done_testing();
}
