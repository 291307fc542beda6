/*-------------------------------------------------------------------------
 *
 * ast.c
 *	  Builds the head of a query: values, fields, text and predicates (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"

#include <math.h>
#include <stdlib.h>

/* ---- values ---- */

/*
 * The content of a string: \" is a quote; outside regular expressions \\ is a
 * backslash; every other backslash stands for itself.
 */
ls_str
ls_query_unquote(ls_query_state *state, ls_query_span span, bool regex)
{
	ls_str raw = ls_query_slice(state, (ls_query_span){span.start + 1, span.end - 1});
	char *out = ls_arena_alloc(state->arena, raw.len + 1);
	size_t n = 0;

	if (out == NULL)
		return ls_str_make(NULL, 0);
	for (size_t i = 0; i < raw.len; i++)
	{
		if (raw.data[i] == '\\' && i + 1 < raw.len)
		{
			char after = raw.data[i + 1];

			if (after != '"' && (after != '\\' || regex))
				out[n++] = '\\';
			if (after == '"' || after == '\\')
			{
				out[n++] = after;
				i++;
			}
		}
		else
			out[n++] = raw.data[i];
	}
	out[n] = '\0';
	return ls_str_make(out, n);
}

ls_query_value *
ls_query_make_value(ls_query_state *state, ls_query_token token, bool regex)
{
	ls_query_value *value = ls_new(state->arena, ls_query_value);

	if (value == NULL)
		return NULL;
	value->span = token.span;
	if (token.kind == TOK_STRING)
	{
		value->kind = LS_QUERY_STRING;
		value->text = ls_query_unquote(state, token.span, regex);
	}
	else
	{
		value->text = ls_arena_strdup(state->arena, ls_query_slice(state, token.span));
		if (value->text.data != NULL && token.kind == TOK_NUMBER)
		{
			value->number = strtod(value->text.data, NULL);
			/* Nothing equals a number of hundreds of digits, so such a word is not a number. */
			value->kind = isfinite(value->number) ? LS_QUERY_NUMBER : LS_QUERY_WORD;
		}
		else if (value->text.data != NULL)
		{
			value->kind = LS_QUERY_WORD;
			value->wildcard = memchr(value->text.data, '*', value->text.len) != NULL;
		}
	}
	return value->text.data != NULL ? value : NULL;
}

static bool
only_stars(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] != '*')
			return false;
	return s.len > 0;
}

static void
warn_leading_wildcard(ls_query_state *state, const ls_query_value *value)
{
	if (value->wildcard && value->text.data[0] == '*' && !only_stars(value->text))
		ls_query_warn(state->query, state->arena, "LEADING_WILDCARD", value->span,
					  "%.*s begins with a wildcard: full scan", (int) value->text.len,
					  value->text.data);
}

/* ---- fields ---- */

static bool
not_one_field(ls_query_state *state, const ls_query_field *field)
{
	return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, field->span,
							"name one of them: attributes.name", "attributes is not one field");
}

/* A field of a stage; only stage `fields` accepts all attributes as one field. */
ls_query_field *
ls_query_stage_field(ls_query_state *state, ls_query_field *path)
{
	ls_query_field *field = ls_query_end_field(state, path);

	if (field != NULL && field->n_parts == 0 && state->stage->kind != LS_QUERY_FIELDS &&
		!not_one_field(state, field))
		return NULL;
	return field;
}

/* A field of the head: one word, cut at its dots, or a name in backticks. */
ls_query_field *
ls_query_head_field(ls_query_state *state, ls_query_token token)
{
	ls_query_field *field = NULL;
	uint32_t start = token.span.start;

	if (token.kind == TOK_BACKTICK)
	{
		field = ls_query_make_field(state, NULL, token);
		return field == NULL ? NULL : ls_query_end_field(state, field);
	}
	for (uint32_t i = start; i <= token.span.end; i++)
	{
		char c = i < token.span.end ? state->text.data[i] : '.';

		if (c == '*')
		{
			ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, token.span,
							 "in backticks a * is a part of the name",
							 "wildcards are not allowed in field names");
			return NULL;
		}
		if (c == '.')
		{
			ls_query_token part = {TOK_WORD, {start, i}};

			field = ls_query_make_field(state, field, part);
			if (field == NULL)
				return NULL;
			start = i + 1;
		}
	}
	field->span = token.span;
	return ls_query_end_field(state, field);
}

/* Appends a name to a path, or starts one. */
ls_query_field *
ls_query_make_field(ls_query_state *state, ls_query_field *path, ls_query_token name)
{
	ls_query_span inner = name.span;
	ls_str part;
	ls_str *grown;

	if (name.kind == TOK_BACKTICK)
	{
		inner.start++;
		inner.end--;
	}
	if (inner.start == inner.end)
	{
		ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, name.span, NULL,
						 "empty name in a field path");
		return NULL;
	}
	if (path == NULL)
	{
		path = ls_new(state->arena, ls_query_field);
		if (path == NULL)
			return NULL;
		path->span = name.span;
	}
	if (path->n_parts >= LS_QUERY_MAX_DEPTH)
	{
		ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, name.span, NULL,
						 "a field path has at most %d parts", LS_QUERY_MAX_DEPTH);
		return NULL;
	}
	part = ls_arena_strdup(state->arena, ls_query_slice(state, inner));
	grown = ls_arena_grow(state->arena, path->parts, path->n_parts * sizeof(ls_str),
						  (path->n_parts + 1) * sizeof(ls_str));
	if (grown == NULL || part.data == NULL)
		return NULL;
	path->parts = grown;
	path->parts[path->n_parts++] = part;
	path->span.end = name.span.end;
	return path;
}

/* The path is complete: removes the prefix and finds built-in fields. */
ls_query_field *
ls_query_end_field(ls_query_state *state, ls_query_field *path)
{
	ls_buf name;

	if (state->text.data[path->span.start] != '`' &&
		ls_str_eq(path->parts[0], LS_STR("attributes")))
	{
		path->attributes = true;
		path->parts++;
		path->n_parts--;
	}
	if (path->n_parts == 0)
		path->name = LS_STR("attributes");
	else if (path->n_parts == 1)
		path->name = path->parts[0];
	else
	{
		ls_buf_init(&name, state->arena);
		for (uint32_t i = 0; i < path->n_parts; i++)
		{
			if (i > 0)
				ls_buf_char(&name, '.');
			ls_buf_str(&name, path->parts[i]);
		}
		if (name.failed)
			return NULL;
		path->name = ls_str_make(name.data, name.len);
	}
	if (!path->attributes && path->n_parts == 1)
		path->builtin = ls_query_builtin_find(path->name);
	return path;
}

/* ---- the filter ---- */

ls_query_filter *
ls_query_make_filter(ls_query_state *state, ls_query_filter_kind kind, ls_query_span span)
{
	ls_query_filter *filter = ls_new(state->arena, ls_query_filter);

	if (filter != NULL)
	{
		filter->kind = kind;
		filter->span = span;
		filter->depth = 1;
	}
	return filter;
}

static bool
add_child(ls_query_state *state, ls_query_filter *parent, ls_query_filter *child)
{
	if (child->depth >= LS_QUERY_MAX_DEPTH)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, child->span, NULL,
								"nested deeper than %d levels", LS_QUERY_MAX_DEPTH);
	if (parent->depth < child->depth + 1)
		parent->depth = (uint16_t) (child->depth + 1);
	parent->span.end = child->span.end;
	return ls_query_append(state->arena, (void ***) &parent->children, &parent->n_children, child);
}

/* left AND right, left OR right; a list of the same kind grows. */
ls_query_filter *
ls_query_join(ls_query_state *state, ls_query_filter_kind kind, ls_query_filter *left,
			  ls_query_filter *right, bool explicit_and)
{
	if (left->kind != kind || (left->flags & LS_QUERY_FLAG_PAREN) != 0)
	{
		ls_query_filter *list = ls_query_make_filter(state, kind, left->span);

		if (list == NULL || !add_child(state, list, left))
			return NULL;
		left = list;
	}
	if (explicit_and)
	{
		left->children[left->n_children - 1]->flags |= LS_QUERY_FLAG_AND;
		right->flags |= LS_QUERY_FLAG_AND;
	}
	return add_child(state, left, right) ? left : NULL;
}

ls_query_filter *
ls_query_not(ls_query_state *state, ls_query_filter *child, ls_query_span span)
{
	ls_query_filter *filter = ls_query_make_filter(state, LS_QUERY_FILTER_NOT, span);

	return filter != NULL && add_child(state, filter, child) ? filter : NULL;
}

/* Marks a filter in parentheses; a scope keeps its position for the error. */
ls_query_filter *
ls_query_parenthesis(ls_query_filter *filter, ls_query_span span)
{
	filter->flags |= LS_QUERY_FLAG_PAREN;
	if (filter->kind != LS_QUERY_FILTER_SCOPE)
		filter->span = span;
	return filter;
}

/* /word/, and no path: a regular expression in other languages. */
static bool
is_slashed(ls_str text)
{
	return text.len > 2 && text.data[0] == '/' && text.data[text.len - 1] == '/' &&
		   memchr(text.data + 1, '/', text.len - 2) == NULL;
}

static void
warn_text(ls_query_state *state, const ls_query_value *value)
{
	ls_str text = value->text;
	if (value->kind != LS_QUERY_WORD)
		return;
	warn_leading_wildcard(state, value);
	if (is_slashed(text))
		ls_query_warn(state->query, state->arena, "REGEX_AS_TEXT", value->span,
					  "%.*s is searched as a word; a regular expression is written event MATCHES "
					  "\"%.*s\"",
					  (int) text.len, text.data, (int) text.len - 2, text.data + 1);
	/* "status":500, a pair of JSON */
	if (text.data[0] == ':' && value->span.start > 0 &&
		state->text.data[value->span.start - 1] == '"')
		ls_query_warn(state->query, state->arena, "COLON_IN_TEXT", value->span,
					  "a pair of JSON is searched as words; a comparison is written without quotes "
					  "around the name: name%.*s",
					  (int) text.len, text.data);
	if (text.data[0] == '-')
		ls_query_warn(state->query, state->arena, "LEADING_MINUS", value->span,
					  "%.*s searches for the word; to exclude it write NOT %.*s", (int) text.len,
					  text.data, (int) text.len - 1, text.data + 1);
}

/* A word or phrase to search in the event. */
ls_query_filter *
ls_query_text(ls_query_state *state, ls_query_token token)
{
	ls_query_filter *filter = ls_query_make_filter(state, LS_QUERY_FILTER_TEXT, token.span);
	ls_query_value *value = ls_query_make_value(state, token, false);

	if (filter == NULL || value == NULL)
		return NULL;
	if (value->wildcard && (only_stars(value->text) || ls_str_eq(value->text, LS_STR("*:*"))))
	{
		filter->kind = LS_QUERY_FILTER_ALL;
		return filter;
	}
	if (!ls_query_has_token(value->text))
	{
		bool regex = state->text.data[0] == '/' || strstr(state->text.data, " /") != NULL;
		/* "level":"error", a pair of JSON */
		bool pair = token.span.start > 0 && state->text.data[token.span.start] == ':' &&
					state->text.data[token.span.start - 1] == '"';

		ls_query_fail_at(
			state, LS_QUERY_ERROR_SEMANTIC, token.span,
			pair    ? "a pair of JSON is written without quotes around its name: level=\"error\""
			: regex ? "to find punctuation write event CONTAINS \"...\"; a regular expression "
					  "with blanks, event MATCHES \"...\""
					: "to find punctuation write event CONTAINS \"...\"",
			"a text to search needs a letter or a digit");
		return NULL;
	}
	warn_text(state, value);
	return ls_query_push(state, &filter->values, value) ? filter : NULL;
}

/* 10.0.0.0/24 */
static bool
is_network(ls_str s)
{
	int dots = 0;
	size_t slash = 0;

	for (size_t i = 0; i < s.len; i++)
	{
		if (s.data[i] == '.' && slash == 0)
			dots++;
		else if (s.data[i] == '/' && slash == 0 && i > 0)
			slash = i;
		else if (s.data[i] < '0' || s.data[i] > '9')
			return false;
	}
	return dots == 3 && slash > 0 && slash + 1 < s.len;
}

/* Values that are compared as texts, and were surely meant as something else. */
static void
warn_value(ls_query_state *state, const ls_query_filter *filter, const ls_query_value *value)
{
	ls_str text = value->text;
	int shown = (int) ls_utf8_prefix_chars(text.data, text.len, 60);
	const ls_query_warnings *warnings = &state->query->warnings;
	bool ordered = filter->kind == LS_QUERY_FILTER_COMPARE && filter->op != LS_QUERY_OP_EQ &&
				   filter->op != LS_QUERY_OP_NE;
	ls_query_time time;

	/* @field:value is read twice. */
	if (warnings->n > 0 && warnings->items[warnings->n - 1]->span.start == value->span.start)
		return;
	if (value->kind == LS_QUERY_STRING && memchr(text.data, '*', text.len) != NULL)
		ls_query_warn(state->query, state->arena, "WILDCARD_IN_QUOTES", value->span,
					  "in quotes a * is an ordinary character; it is a wildcard without them, "
					  "and for part of a text there is CONTAINS");
	else if (value->kind == LS_QUERY_WORD && is_network(text))
		ls_query_warn(state->query, state->arena, "NETWORK_AS_TEXT", value->span,
					  "%.*s is compared as a text; for the addresses of a network write its "
					  "beginning with a wildcard, as 10.0.0.*",
					  shown, text.data);
	else if (value->kind == LS_QUERY_WORD && text.len > 2 && text.data[0] == '/' &&
			 text.data[text.len - 1] == '/' && memchr(text.data, '.', text.len) != NULL)
		ls_query_warn(state->query, state->arena, "REGEX_AS_TEXT", value->span,
					  "%.*s is compared as a text; a regular expression is written "
					  "%.*s MATCHES \"%.*s\"",
					  shown, text.data, (int) filter->field->name.len, filter->field->name.data,
					  shown > 2 ? shown - 2 : 0, text.data + 1);
	else if (ordered && value->kind == LS_QUERY_WORD && text.data[0] >= '0' &&
			 text.data[0] <= '9' && (!ls_query_time_parse(text, &time) || !time.absolute))
		ls_query_warn(state->query, state->arena, "TEXT_COMPARISON", value->span,
					  "%.*s is no number and is compared as a text", shown, text.data);
	else if (ordered && value->kind == LS_QUERY_STRING && ls_query_is_number(text) &&
			 filter->field->builtin == LS_QUERY_NOT_BUILTIN &&
			 ls_query_builtin_alias(filter->field->name) == LS_QUERY_NOT_BUILTIN)
		ls_query_warn(state->query, state->arena, "TEXT_COMPARISON", value->span,
					  "a number in quotes is compared as a text; to compare numbers write %.*s",
					  shown, text.data);
	else if (ordered && value->kind == LS_QUERY_WORD && text.len >= 3 &&
			 memcmp(text.data, "now", 3) == 0)
		state->other_language = true;
}

ls_query_filter *
ls_query_predicate(ls_query_state *state, ls_query_filter_kind kind, ls_query_token field,
				   ls_query_op op, bool negated, ls_query_values values, ls_query_span span)
{
	ls_query_filter *filter = ls_query_make_filter(state, kind, span);

	if (filter == NULL)
		return NULL;
	filter->field = ls_query_head_field(state, field);
	if (filter->field == NULL)
		return NULL;
	filter->op = op;
	filter->negated = negated;
	filter->values = values;

	if (filter->field->n_parts == 0)
	{
		not_one_field(state, filter->field);
		return NULL;
	}
	for (uint32_t i = 0; i < values.n; i++)
	{
		warn_leading_wildcard(state, values.items[i]);
		if (kind == LS_QUERY_FILTER_COMPARE || kind == LS_QUERY_FILTER_IN)
			warn_value(state, filter, values.items[i]);
	}
	if (kind == LS_QUERY_FILTER_COMPARE && !values.items[0]->wildcard &&
		!ls_query_check_head_value(state, filter->field, op, values.items[0]))
		return NULL;
	if (kind == LS_QUERY_FILTER_COMPARE && values.items[0]->wildcard)
	{
		const ls_query_value *value = values.items[0];

		if (op != LS_QUERY_OP_EQ && op != LS_QUERY_OP_NE)
		{
			ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, value->span,
							 "in quotes a * is an ordinary character",
							 "wildcards work with = and != only");
			return NULL;
		}
		if (only_stars(value->text) && op == LS_QUERY_OP_EQ)
			filter->kind = LS_QUERY_FILTER_EXISTS;
		else if (only_stars(value->text))
			ls_query_warn(state->query, state->arena, "NEVER_TRUE", span,
						  "a field that is there is never != *; for events without it write "
						  "NOT %.*s=*",
						  (int) filter->field->name.len, filter->field->name.data);
	}
	return filter;
}

ls_query_filter *
ls_query_string_predicate(ls_query_state *state, ls_query_filter_kind kind, ls_query_token field,
						  bool negated, ls_query_token string, ls_query_span span)
{
	ls_query_values values = {NULL, 0};
	bool regex = kind == LS_QUERY_FILTER_MATCHES;

	if (!ls_query_push(state, &values, ls_query_make_value(state, string, regex)))
		return NULL;
	return ls_query_predicate(state, kind, field, LS_QUERY_OP_EQ, negated, values, span);
}

ls_query_filter *
ls_query_comparison(ls_query_state *state, ls_query_token field, ls_query_op op,
					ls_query_values values, ls_query_span span)
{
	if (values.n == 1)
		return ls_query_predicate(state, LS_QUERY_FILTER_COMPARE, field, op, false, values, span);
	if (op != LS_QUERY_OP_EQ && op != LS_QUERY_OP_NE)
	{
		ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, values.items[1]->span, NULL,
						 "a list of values works with = and != only");
		return NULL;
	}
	return ls_query_predicate(state, LS_QUERY_FILTER_IN, field, LS_QUERY_OP_EQ,
							  op == LS_QUERY_OP_NE, values, span);
}

ls_query_filter *
ls_query_regex(ls_query_state *state, const ls_query_token *field, ls_query_token regex,
			   ls_query_span span)
{
	ls_query_filter *filter = ls_query_make_filter(state, LS_QUERY_FILTER_MATCHES, span);
	ls_query_value *value = ls_new(state->arena, ls_query_value);

	if (filter == NULL || value == NULL)
		return NULL;
	value->kind = LS_QUERY_STRING;
	value->span = regex.span;
	value->text = ls_arena_strdup(
		state->arena,
		ls_query_slice(state, (ls_query_span){regex.span.start + 1, regex.span.end - 1}));
	if (field != NULL)
		filter->field = ls_query_head_field(state, *field);
	else
	{
		filter->field = ls_new(state->arena, ls_query_field);
		if (filter->field == NULL)
			return NULL;
		filter->field->parts = ls_new(state->arena, ls_str);
		if (filter->field->parts == NULL)
			return NULL;
		filter->field->parts[0] = filter->field->name = LS_STR("event");
		filter->field->n_parts = 1;
		filter->field->builtin = LS_QUERY_EVENT;
		filter->field->span = regex.span;
	}
	if (filter->field == NULL || value->text.data == NULL)
		return NULL;
	return ls_query_push(state, &filter->values, value) ? filter : NULL;
}

ls_query_filter *
ls_query_colon_predicate(ls_query_state *state, ls_query_filter_kind kind, ls_query_token field,
						 ls_query_op op, ls_query_values values, ls_query_span span)
{
	ls_query_token other = field;
	ls_query_filter *either;
	ls_query_filter *first;

	/* user:(+bob): in Lucene the only one must be there in any case. */
	if (kind == LS_QUERY_FILTER_IN && values.n == 1 && values.items[0]->kind == LS_QUERY_WORD &&
		values.items[0]->text.len > 1 && values.items[0]->text.data[0] == '+')
		values.items[0]->text =
			ls_str_make(values.items[0]->text.data + 1, values.items[0]->text.len - 1);
	first = ls_query_predicate(state, kind, field, op, false, values, span);
	if (first == NULL)
		return NULL;
	first->colon = true;
	if (field.kind != TOK_WORD || state->text.data[field.span.start] != '@' ||
		field.span.end - field.span.start < 2 || first->field->builtin != LS_QUERY_NOT_BUILTIN)
		return first;
	/* @status means the field status if there is no field @status. */
	other.span.start++;
	either = ls_query_make_filter(state, LS_QUERY_FILTER_COLON, span);
	if (either == NULL || !add_child(state, either, first))
		return NULL;
	for (int i = 0; i < 2; i++)
	{
		ls_query_filter *second = ls_query_predicate(state, kind, other, op, false, values, span);

		if (second == NULL || !add_child(state, either, second))
			return NULL;
		second->colon = true;
	}
	return either;
}

/* _exists_:name */
static ls_query_filter *
existence(ls_query_state *state, ls_query_token name, ls_query_span span)
{
	ls_query_filter *filter = ls_query_make_filter(state, LS_QUERY_FILTER_EXISTS, span);

	if (filter == NULL)
		return NULL;
	if (name.kind == TOK_STRING)
		name = (ls_query_token){TOK_WORD, {name.span.start + 1, name.span.end - 1}};
	filter->field = ls_query_head_field(state, name);
	return filter->field == NULL ? NULL : filter;
}

/* The meaning of name:value if no event has a field with that name. */
static ls_query_filter *
colon_as_text(ls_query_state *state, ls_query_token field, ls_query_token value, ls_query_span span)
{
	ls_query_token whole = {TOK_WORD, span};
	ls_query_filter *name;
	ls_query_filter *text;

	if (value.kind != TOK_STRING)
		return ls_query_text(state, whole);
	name = ls_query_text(state, field);
	text = name == NULL ? NULL : ls_query_text(state, value);
	return text == NULL ? NULL : ls_query_join(state, LS_QUERY_FILTER_AND, name, text, true);
}

ls_query_filter *
ls_query_colon(ls_query_state *state, ls_query_token field, ls_query_token value,
			   ls_query_span span)
{
	ls_query_filter *either;
	ls_query_filter *filter;
	ls_str name = ls_query_slice(state, field.span);
	ls_query_token names[2] = {field, field};
	int n_names = 1;

	if (ls_str_eq(name, LS_STR("_exists_")))
		return existence(state, value, span);
	if (ls_str_eq(name, LS_STR("_missing_")))
	{
		filter = existence(state, value, span);
		return filter == NULL ? NULL : ls_query_not(state, filter, span);
	}
	/* In the event's text a word is looked for, as elsewhere. */
	if (ls_str_eq(name, LS_STR("event")))
		return ls_query_text(state, value);
	either = ls_query_make_filter(state, LS_QUERY_FILTER_COLON, span);
	if (either == NULL)
		return NULL;
	/* @status means the field status if there is no field @status. */
	if (field.kind == TOK_WORD && name.data[0] == '@' && name.len > 1)
		names[n_names++].span.start++;
	for (int i = 0; i < n_names; i++)
	{
		ls_query_values one = {NULL, 0};

		if (!ls_query_push(state, &one, ls_query_make_value(state, value, false)))
			return NULL;
		filter = ls_query_predicate(state, LS_QUERY_FILTER_COMPARE, names[i], LS_QUERY_OP_EQ, false,
									one, span);
		if (filter == NULL)
			return NULL;
		if (i == 0 && filter->field->builtin != LS_QUERY_NOT_BUILTIN)
			return filter;
		if (!add_child(state, either, filter))
			return NULL;
	}
	filter = colon_as_text(state, field, value, span);
	return filter != NULL && add_child(state, either, filter) ? either : NULL;
}
