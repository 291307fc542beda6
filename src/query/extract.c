/*-------------------------------------------------------------------------
 *
 * extract.c
 *	  Fields out of texts: JSON, logfmt, pairs of names and values (pure).
 *
 * The result is one JSON object in the form of stored attributes: compact, without NUL and
 * lone surrogates, each name once.  What is larger than the limits below is not taken at all,
 * so that nobody takes a part of it for the whole; the caller counts such texts.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/extract.h"

#include <stdlib.h>

/* Of JSON; in an event it is two levels deeper, and readers take 63. */
#define MAX_DEPTH 50

/* Of the number of an element of a list. */
#define MAX_DIGITS 6

typedef struct member
{
	ls_str name;
	ls_str json;
	uint32_t place;
	bool replaced;
} member;

typedef struct object
{
	ls_arena *arena;
	member *members;
	uint32_t n;
	uint32_t capacity;
	ls_extraction result; /* LS_EXTRACTED so far */
} object;

static bool
stop(object *o, ls_extraction result)
{
	o->result = result;
	return false;
}

static bool
add(object *o, ls_str name, ls_str json)
{
	if (name.len > LS_EXTRACT_NAME_LENGTH || o->n == LS_EXTRACT_MAX)
		return stop(o, LS_EXTRACT_LIMIT);
	if (o->n == o->capacity)
	{
		uint32_t capacity = o->capacity == 0 ? 16 : o->capacity * 2;

		o->members = ls_arena_grow(o->arena, o->members, o->capacity * sizeof(member),
								   capacity * sizeof(member));
		if (o->members == NULL)
			return stop(o, LS_EXTRACT_MEMORY);
		o->capacity = capacity;
	}
	o->members[o->n] = (member){.name = name, .json = json, .place = o->n};
	o->n++;
	return true;
}

static bool
add_text(object *o, ls_str name, ls_str text)
{
	ls_buf buf;

	ls_buf_init(&buf, o->arena);
	ls_json_quote(&buf, text);
	return buf.failed ? stop(o, LS_EXTRACT_MEMORY) : add(o, name, ls_str_make(buf.data, buf.len));
}

static int
by_name(const void *a, const void *b)
{
	const member *x = *(member *const *) a;
	const member *y = *(member *const *) b;
	int order = ls_str_cmp(x->name, y->name);

	return order != 0 ? order : x->place < y->place ? -1 : 1;
}

/* Of members with one name the last one counts. */
static bool
drop_replaced(object *o)
{
	member **sorted = ls_new_array(o->arena, member *, o->n + 1);

	if (sorted == NULL)
		return stop(o, LS_EXTRACT_MEMORY);
	for (uint32_t i = 0; i < o->n; i++)
		sorted[i] = &o->members[i];
	qsort(sorted, o->n, sizeof(*sorted), by_name);
	for (uint32_t i = 1; i < o->n; i++)
		sorted[i - 1]->replaced = ls_str_eq(sorted[i - 1]->name, sorted[i]->name);
	return true;
}

static ls_extraction
finish(object *o, ls_buf *buf)
{
	bool first = true;

	if (o->result == LS_EXTRACTED && o->n == 0)
		o->result = LS_EXTRACT_NOTHING;
	if (o->result != LS_EXTRACTED || !drop_replaced(o))
		return o->result;
	ls_buf_char(buf, '{');
	for (uint32_t i = 0; i < o->n; i++)
	{
		if (o->members[i].replaced)
			continue;
		if (!first)
			ls_buf_char(buf, ',');
		first = false;
		ls_json_quote(buf, o->members[i].name);
		ls_buf_char(buf, ':');
		ls_buf_str(buf, o->members[i].json);
	}
	ls_buf_char(buf, '}');
	if (buf->failed)
		return LS_EXTRACT_MEMORY;
	return buf->len > LS_EXTRACT_LENGTH ? LS_EXTRACT_LIMIT : LS_EXTRACTED;
}

/* ---- JSON ---- */

/* Can PostgreSQL read all numbers in a JSON text? */
static bool
numbers_fit(ls_str json)
{
	ls_str wide;

	return !ls_json_wide_number(json, 0, &wide);
}

/* A value in the form in which it is stored. */
static bool
compact(object *o, ls_json *j, ls_str *json)
{
	ls_buf buf;

	ls_buf_init(&buf, o->arena);
	if (!ls_json_compact(j, &buf))
		return false;
	*json = ls_str_make(buf.data, buf.len);
	return true;
}

/* What an error of the parser means. */
static ls_extraction
json_error(const ls_json *j)
{
	if (ls_arena_failed(j->arena))
		return LS_EXTRACT_MEMORY;
	return strcmp(j->error, "nested too deeply") == 0 ? LS_EXTRACT_LIMIT : LS_EXTRACT_NOTHING;
}

static bool
add_json(object *o, ls_str text)
{
	ls_json_value value;
	ls_json j;
	ls_str name;
	ls_str json;

	ls_json_init(&j, text, o->arena, MAX_DEPTH);
	if (!ls_json_read(&j, &value))
		return stop(o, json_error(&j));
	if (value.type != LS_JSON_OBJECT)
		return stop(o, LS_EXTRACT_NOTHING);
	while (ls_json_member(&j, &name))
	{
		if (!compact(o, &j, &json))
			break;
		if (!numbers_fit(json))
			return stop(o, LS_EXTRACT_LIMIT);
		if (!add(o, name, json))
			return false;
	}
	if (j.error != NULL)
		return stop(o, json_error(&j));
	return ls_json_end(&j) || stop(o, LS_EXTRACT_NOTHING);
}

ls_extraction
ls_extract_json(ls_buf *buf, ls_arena *arena, ls_str older, ls_str text)
{
	object o = {.arena = arena};

	if (older.len == 0 || add_json(&o, older))
		(void) add_json(&o, text);
	return finish(&o, buf);
}

/* ---- paths in JSON ---- */

typedef struct walk
{
	ls_arena *arena;
	ls_buf *buf;
	bool list; /* the path has a {}: the values are a list */
	uint32_t found;
} walk;

static bool walk_value(walk *w, ls_json *j, ls_str path);

/*
 * If the name is a beginning of the path up to a dot, a { or its end: the length of what it
 * takes.  0: it is not.
 */
static size_t
takes(ls_str name, ls_str path)
{
	if (name.len == 0 || name.len > path.len || memcmp(name.data, path.data, name.len) != 0)
		return 0;
	if (name.len == path.len || path.data[name.len] == '{')
		return name.len;
	return path.data[name.len] == '.' && name.len + 1 < path.len ? name.len + 1 : 0;
}

static bool
walk_object(walk *w, ls_json *j, ls_str path)
{
	ls_str best = {NULL, 0};
	size_t taken = 0;
	ls_str name;
	ls_str raw;

	while (ls_json_member(j, &name))
	{
		size_t n = takes(name, path);

		if (!ls_json_skip(j, &raw))
			return false;
		/* The longest name counts, and of equal ones the last. */
		if (n > 0 && n >= taken)
		{
			taken = n;
			best = raw;
		}
	}
	if (j->error != NULL)
		return false;
	if (taken > 0)
	{
		ls_json inner;

		ls_json_init(&inner, best, w->arena, MAX_DEPTH);
		(void) walk_value(w, &inner, ls_str_make(path.data + taken, path.len - taken));
	}
	return true;
}

/* {} is each element, {2} the third one. */
static bool
walk_list(walk *w, ls_json *j, ls_str path)
{
	int64_t wanted = -1;
	int64_t at = 0;
	size_t i = 1;
	ls_str raw;

	for (; i < path.len && path.data[i] >= '0' && path.data[i] <= '9'; i++)
		wanted = (wanted < 0 ? 0 : wanted) * 10 + (path.data[i] - '0');
	i += 1 + (i + 1 < path.len && path.data[i + 1] == '.');
	path = ls_str_make(path.data + i, path.len - i);
	for (; ls_json_element(j); at++)
	{
		if (wanted >= 0 && at != wanted)
		{
			if (!ls_json_skip(j, &raw))
				return false;
		}
		else if (!walk_value(w, j, path))
			return false;
	}
	return j->error == NULL;
}

/* Appends what the rest of the path leads to; false: an error of the parser. */
static bool
walk_value(walk *w, ls_json *j, ls_str path)
{
	ls_json_type type;
	ls_json_value value;
	ls_str raw;

	if (!ls_json_peek(j, &type))
		return false;
	if (path.len == 0)
	{
		if (w->found > 0 && !w->list)
			return ls_json_skip(j, &raw);
		if (w->list)
			ls_buf_char(w->buf, w->found > 0 ? ',' : '[');
		w->found++;
		return ls_json_compact(j, w->buf);
	}
	if (type != (path.data[0] == '{' ? LS_JSON_ARRAY : LS_JSON_OBJECT))
		return ls_json_skip(j, &raw);
	if (!ls_json_read(j, &value))
		return false;
	return type == LS_JSON_ARRAY ? walk_list(w, j, path) : walk_object(w, j, path);
}

bool
ls_extract_path_valid(ls_str path)
{
	bool begins = true; /* a name begins here */
	int digits;

	if (path.len == 0 || path.len > LS_EXTRACT_NAME_LENGTH || path.data[path.len - 1] == '.')
		return false;
	for (size_t i = 0; i < path.len; i++)
	{
		if (path.data[i] == '.' && begins)
			return false;
		begins = path.data[i] == '.';
		if (path.data[i] == '}')
			return false;
		if (path.data[i] != '{')
			continue;
		for (digits = 0; ++i < path.len && path.data[i] >= '0' && path.data[i] <= '9'; digits++)
			;
		if (i >= path.len || path.data[i] != '}' || digits > MAX_DIGITS)
			return false;
		if (i + 1 < path.len && path.data[i + 1] != '.' && path.data[i + 1] != '{')
			return false;
	}
	return true;
}

ls_extraction
ls_extract_path(ls_buf *buf, ls_arena *arena, ls_str text, ls_str path)
{
	walk w = {.arena = arena, .buf = buf};
	ls_json_type type;
	ls_json j;

	for (size_t i = 0; i + 1 < path.len; i++)
		w.list = w.list || (path.data[i] == '{' && path.data[i + 1] == '}');
	ls_json_init(&j, text, arena, MAX_DEPTH);
	if (!ls_json_peek(&j, &type) || (type != LS_JSON_OBJECT && type != LS_JSON_ARRAY))
		return LS_EXTRACT_NOTHING;
	if (!walk_value(&w, &j, path) || j.error != NULL)
		return j.error == NULL ? LS_EXTRACT_NOTHING : json_error(&j);
	if (!ls_json_end(&j))
		return LS_EXTRACT_NOTHING;
	if (w.found > 0 && w.list)
		ls_buf_char(buf, ']');
	if (buf->failed || ls_arena_failed(arena))
		return LS_EXTRACT_MEMORY;
	if (buf->len > LS_EXTRACT_LENGTH ||
		(w.found > 0 && !numbers_fit(ls_str_make(buf->data, buf->len))))
		return LS_EXTRACT_LIMIT;
	return w.found > 0 ? LS_EXTRACTED : LS_EXTRACT_MISSING;
}

/* ---- logfmt and pairs ---- */

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/*
 * The text in quotes that begins at *at, without them and without its escapes; *at is then past
 * the closing quote.  A quote that is not closed ends with the text.
 */
static bool
quoted(object *o, ls_str text, size_t *at, ls_str *value)
{
	char quote = text.data[(*at)++];
	size_t from = *at;
	ls_buf buf;

	while (*at < text.len && text.data[*at] != quote && text.data[*at] != '\\')
		(*at)++;
	*value = ls_str_make(text.data + from, *at - from);
	if (*at >= text.len || text.data[*at] == quote)
	{
		*at += *at < text.len;
		return true;
	}
	ls_buf_init(&buf, o->arena);
	ls_buf_str(&buf, *value);
	for (; *at < text.len && text.data[*at] != quote; (*at)++)
	{
		char c = text.data[*at];

		if (c == '\\' && *at + 1 < text.len)
		{
			c = text.data[++(*at)];
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
		}
		ls_buf_char(&buf, c);
	}
	*at += *at < text.len;
	*value = ls_str_make(buf.data, buf.len);
	return buf.failed ? stop(o, LS_EXTRACT_MEMORY) : true;
}

ls_extraction
ls_extract_logfmt(ls_buf *buf, ls_arena *arena, ls_str text)
{
	object o = {.arena = arena};
	size_t i = 0;

	while (i < text.len && o.result == LS_EXTRACTED)
	{
		size_t from = i;
		ls_str name;
		ls_str value;

		while (i < text.len && (unsigned char) text.data[i] > ' ' && text.data[i] != '=' &&
			   text.data[i] != '"')
			i++;
		name = ls_str_make(text.data + from, i - from);
		if (name.len == 0 || i >= text.len || text.data[i] != '=')
		{
			/* A word without a value, or what is no pair. */
			i += name.len == 0;
			continue;
		}
		from = ++i;
		if (i < text.len && text.data[i] == '"')
		{
			if (!quoted(&o, text, &i, &value))
				break;
		}
		else
		{
			while (i < text.len && (unsigned char) text.data[i] > ' ')
				i++;
			value = ls_str_make(text.data + from, i - from);
		}
		if (!add_text(&o, name, value))
			break;
	}
	return finish(&o, buf);
}

/* What a name of a pair can have if no delimiters are given. */
static bool
is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		   (unsigned char) c >= 0x80 || strchr("_.@:/-", c) != NULL;
}

/* Pairs anywhere in a text: the name is what is right before the =. */
static void
pairs_in_text(object *o, ls_str text)
{
	size_t i = 0;

	while (i < text.len)
	{
		size_t from;
		ls_str name;
		ls_str value;

		while (i < text.len && (text.data[i] == '\0' || !is_name(text.data[i])))
			i++;
		from = i;
		while (i < text.len && text.data[i] != '\0' && is_name(text.data[i]))
			i++;
		name = ls_str_make(text.data + from, i - from);
		if (i >= text.len || text.data[i] != '=' || name.len == 0)
			continue;
		from = ++i;
		/* a==b is a comparison. */
		if (i < text.len && text.data[i] == '=')
			continue;
		if (i < text.len && (text.data[i] == '"' || text.data[i] == '\''))
		{
			if (!quoted(o, text, &i, &value))
				return;
		}
		else
		{
			while (i < text.len && !is_space(text.data[i]) &&
				   (text.data[i] == '\0' || strchr(",;|&()[]{}<>\"'", text.data[i]) == NULL))
				i++;
			value = ls_str_make(text.data + from, i - from);
		}
		if (!add_text(o, name, value))
			return;
	}
}

static bool
is_one_of(ls_str delimiters, char c)
{
	return delimiters.len > 0 && memchr(delimiters.data, c, delimiters.len) != NULL;
}

static ls_str
trimmed(ls_str s)
{
	while (s.len > 0 && is_space(s.data[0]))
		s = ls_str_make(s.data + 1, s.len - 1);
	while (s.len > 0 && is_space(s.data[s.len - 1]))
		s.len--;
	return s;
}

/* The text is a list of pairs. */
static void
delimited_pairs(object *o, ls_str text, ls_str between, ls_str inside)
{
	size_t i = 0;

	while (i < text.len)
	{
		size_t from = i;
		ls_str name;
		ls_str value;

		while (i < text.len && !is_one_of(between, text.data[i]) &&
			   !is_one_of(inside, text.data[i]))
			i++;
		name = trimmed(ls_str_make(text.data + from, i - from));
		if (name.len >= 2 && name.data[0] == '"' && name.data[name.len - 1] == '"')
			name = ls_str_make(name.data + 1, name.len - 2);
		if (i >= text.len || !is_one_of(inside, text.data[i]))
		{
			i++;
			continue;
		}
		i++;
		while (i < text.len && is_space(text.data[i]) && !is_one_of(between, text.data[i]))
			i++;
		from = i;
		if (i < text.len && text.data[i] == '"')
		{
			if (!quoted(o, text, &i, &value))
				return;
			while (i < text.len && !is_one_of(between, text.data[i]))
				i++;
		}
		else
		{
			while (i < text.len && !is_one_of(between, text.data[i]))
				i++;
			value = trimmed(ls_str_make(text.data + from, i - from));
		}
		i++;
		if (name.len > 0 && !add_text(o, name, value))
			return;
	}
}

ls_extraction
ls_extract_pairs(ls_buf *buf, ls_arena *arena, ls_str text, ls_str between, ls_str inside)
{
	object o = {.arena = arena};

	if (between.len == 0 && inside.len == 0)
		pairs_in_text(&o, text);
	else
		delimited_pairs(&o, text, between.len > 0 ? between : LS_STR(" ,;|&\t\r\n"),
						inside.len > 0 ? inside : LS_STR("="));
	return finish(&o, buf);
}
