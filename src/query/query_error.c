/*-------------------------------------------------------------------------
 *
 * query_error.c
 *	  Errors, warnings and positions of the query parser (pure).
 *
 * An error says what was found, what was expected and, if it can be guessed, what
 * was meant.  If only one thing is expected, the message names it ("expected a
 * quoted string").  If there are several, the message names what was found
 * ("unexpected stat"), and `expected` lists them.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"

#include <stdarg.h>
#include <stdio.h>

#define EXCERPT_CHARS 60

ls_query_position
ls_query_locate(ls_str text, ls_query_span span)
{
	ls_query_position p = {0, 1, 1, 0};
	size_t end = span.end < text.len ? span.end : text.len;
	size_t start = span.start < end ? span.start : end;
	size_t line = 0;

	if (text.len == 0)
		text = LS_STR("");

	for (size_t i = 0; i < start; i++)
		if (text.data[i] == '\n')
		{
			p.line++;
			line = i + 1;
		}
	p.offset = (uint32_t) ls_utf8_length(text.data, start);
	p.column = 1 + (uint32_t) ls_utf8_length(text.data + line, start - line);
	p.length = (uint32_t) ls_utf8_length(text.data + start, end - start);
	return p;
}

static ls_str format_text(ls_arena *arena, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
static void fill(ls_query_error *error, ls_arena *arena, ls_str text, ls_query_error_kind kind,
				 ls_query_span span, const char *hint, const char *message, va_list args)
	__attribute__((format(printf, 7, 0)));

static ls_str
format_text(ls_arena *arena, const char *format, va_list args)
{
	va_list again;
	char *out = NULL;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n >= 0)
		out = ls_arena_alloc(arena, (size_t) n + 1);
	if (out == NULL)
		return ls_str_make("", 0);
	vsnprintf(out, (size_t) n + 1, format, args);
	return ls_str_make(out, (size_t) n);
}

static ls_str
excerpt(ls_str text, ls_query_span span)
{
	size_t end = span.end < text.len ? span.end : text.len;
	size_t start = span.start < end ? span.start : end;

	if (text.len == 0)
		return LS_STR("");
	return ls_str_make(text.data + start,
					   ls_utf8_prefix_chars(text.data + start, end - start, EXCERPT_CHARS));
}

static void
fill(ls_query_error *error, ls_arena *arena, ls_str text, ls_query_error_kind kind,
	 ls_query_span span, const char *hint, const char *message, va_list args)
{
	memset(error, 0, sizeof(*error));
	error->kind = kind;
	error->span = span;
	error->position = ls_query_locate(text, span);
	error->found = ls_arena_strdup(arena, excerpt(text, span));
	error->message = format_text(arena, message, args);
	error->hint = LS_STR("");
	if (hint != NULL)
		error->hint = ls_arena_strdup(arena, ls_str_make(hint, strlen(hint)));
}

bool
ls_query_fail(ls_query_error *error, ls_arena *arena, ls_str text, ls_query_error_kind kind,
			  ls_query_span span, const char *hint, const char *message, ...)
{
	va_list args;

	va_start(args, message);
	fill(error, arena, text, kind, span, hint, message, args);
	va_end(args);
	return false;
}

bool
ls_query_fail_at(ls_query_state *state, ls_query_error_kind kind, ls_query_span span,
				 const char *hint, const char *message, ...)
{
	va_list args;

	if (state->failed)
		return false;
	state->failed = true;
	va_start(args, message);
	fill(state->error, state->arena, state->text, kind, span, hint, message, args);
	va_end(args);
	return false;
}

void
ls_query_set_hint(ls_query_state *state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	state->error->hint = format_text(state->arena, format, args);
	va_end(args);
}

bool
ls_query_has_suggestion(const ls_query_warnings *warnings, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (warnings->items[i]->suggestion.len > 0)
			return true;
	return false;
}

void
ls_query_warn(ls_query *query, ls_arena *arena, const char *code, ls_query_span span,
			  const char *message, ...)
{
	ls_query_warning *warning;
	va_list args;

	/* Finding a position takes time; limiting their number keeps parsing linear. */
	if (query->warnings.n >= LS_QUERY_MAX_WARNINGS)
		return;
	warning = ls_new(arena, ls_query_warning);
	if (warning == NULL)
		return;
	warning->code = code;
	warning->span = span;
	warning->position = ls_query_locate(query->text, span);
	va_start(args, message);
	warning->message = format_text(arena, message, args);
	va_end(args);
	ls_query_append(arena, (void ***) &query->warnings.items, &query->warnings.n, warning);
}

void
ls_query_make_doubt(ls_query_state *state, uint32_t before)
{
	ls_query *query = state->query;

	if (query->warnings.n > before)
		ls_query_append(state->arena, (void ***) &query->doubts.items, &query->doubts.n,
						query->warnings.items[--query->warnings.n]);
}

void
ls_query_say_doubts(ls_query *query, ls_arena *arena)
{
	uint32_t surely = query->warnings.n;

	for (uint32_t i = 0; i < query->doubts.n && query->warnings.n < LS_QUERY_MAX_WARNINGS; i++)
	{
		bool said = false;

		/* Of one place one thing is said. */
		for (uint32_t j = 0; j < surely; j++)
			said =
				said || query->warnings.items[j]->span.start == query->doubts.items[i]->span.start;
		if (!said)
			ls_query_append(arena, (void ***) &query->warnings.items, &query->warnings.n,
							query->doubts.items[i]);
	}
	query->doubts.n = 0;
}

ls_str
ls_query_slice(const ls_query_state *state, ls_query_span span)
{
	return ls_str_make(state->text.data + span.start, span.end - span.start);
}

ls_str
ls_query_excerpt(const ls_query_state *state, ls_query_span span)
{
	return excerpt(state->text, span);
}

bool
ls_query_append(ls_arena *arena, void ***items, uint32_t *n, void *item)
{
	if (item == NULL)
		return false;
	/* Capacity is 4, then the next power of two. */
	if (*n == 0 || (*n >= 4 && (*n & (*n - 1)) == 0))
	{
		size_t capacity = *n == 0 ? 4 : (size_t) *n * 2;
		void **grown = ls_arena_grow(arena, *items, *n * sizeof(void *), capacity * sizeof(void *));

		if (grown == NULL)
			return false;
		*items = grown;
	}
	(*items)[(*n)++] = item;
	return true;
}

/* ---- what was expected ---- */

void
ls_query_hint_closest(ls_query_state *state, ls_str word, const ls_str *candidates, uint32_t n)
{
	int i = ls_closest(word, candidates, n);

	if (i >= 0)
		ls_query_set_hint(state, "did you mean %.*s?", (int) candidates[i].len, candidates[i].data);
}

bool
ls_query_set_expected(ls_query_state *state, const ls_str *expected, uint32_t n)
{
	ls_str *copy = ls_arena_alloc(state->arena, n * sizeof(ls_str));

	if (copy == NULL)
		return false;
	memcpy(copy, expected, n * sizeof(ls_str));
	state->error->expected = copy;
	state->error->n_expected = n;
	return true;
}

bool
ls_query_fail_expected(ls_query_state *state, ls_query_error_kind kind, ls_query_span span,
					   const ls_str *expected, uint32_t n)
{
	ls_buf list;

	if (state->failed)
		return false;
	ls_buf_init(&list, state->arena);
	for (uint32_t i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_lit(&list, ", ");
		ls_buf_str(&list, expected[i]);
	}
	ls_query_fail_at(state, kind, span, NULL, "expected %.*s%s", (int) list.len,
					 list.len > 0 ? list.data : "", span.start == state->text.len ? " at end" : "");
	ls_query_set_expected(state, expected, n);
	return false;
}
