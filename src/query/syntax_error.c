/*-------------------------------------------------------------------------
 *
 * syntax_error.c
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
#include "src/query/parser.h"

#include <stdarg.h>
#include <stdio.h>

#define EXCERPT_CHARS 60
#define MAX_EXPECTED 64

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

/* ---- did you mean ---- */

void
ls_query_hint_closest(ls_query_state *state, ls_str word, const ls_str *candidates, uint32_t n)
{
	int i = ls_closest(word, candidates, n);

	if (i >= 0)
		ls_query_set_hint(state, "did you mean %.*s?", (int) candidates[i].len, candidates[i].data);
}

/* ---- syntax errors ---- */

static bool
set_expected(ls_query_state *state, const ls_str *expected, uint32_t n)
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
	set_expected(state, expected, n);
	return false;
}

static bool
has(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static uint32_t
add(ls_str *out, uint32_t n, ls_str item)
{
	if (n < MAX_EXPECTED)
		out[n++] = item;
	return n;
}

static uint32_t
add_all(ls_str *out, uint32_t n, const ls_str *items, uint32_t n_items)
{
	for (uint32_t i = 0; i < n_items; i++)
		n = add(out, n, items[i]);
	return n;
}

/* From the grammar's names of tokens to names for people. */
static uint32_t
name_expected(ls_query_state *state, const char *const *names, int n, ls_str *out)
{
	uint32_t n_out = 0;

	for (int i = 0; i < n; i++)
	{
		uint32_t n_items;
		const ls_str *items;

		if (strcmp(names[i], "a name") == 0)
		{
			if (has(names, n, "a name in backticks"))
				n_out = add(out, n_out, LS_STR("a field name"));
			else if (has(names, n, "a number"))
				n_out = add(out, n_out, LS_STR("a word"));
			else
			{
				items = ls_query_aggregate_names(&n_items);
				n_out = add_all(out, n_out, items, n_items);
			}
		}
		else if (strcmp(names[i], "an option") == 0)
		{
			items = ls_query_option_names(state->stage->kind, &n_items);
			for (uint32_t j = 0; j < n_items; j++)
			{
				char *text = ls_arena_alloc(state->arena, items[j].len + 1);

				if (text == NULL)
					break;
				memcpy(text, items[j].data, items[j].len);
				text[items[j].len] = '=';
				n_out = add(out, n_out, ls_str_make(text, items[j].len + 1));
			}
		}
		else if (strcmp(names[i], "a name in backticks") == 0 && has(names, n, "a name"))
			continue;
		/* Of the head: these are for people who know them. */
		else if (state->stage == NULL &&
				 (strcmp(names[i], ":") == 0 || strcmp(names[i], "-") == 0 ||
				  strcmp(names[i], "a regular expression") == 0))
			continue;
		else
			n_out = add(out, n_out, ls_str_make(names[i], strlen(names[i])));
	}
	return n_out;
}

/* The position of the innermost ( that is still open before token `last`. */
static const ls_query_token *
open_parenthesis(const ls_query_state *state, uint32_t last)
{
	int depth = 0;

	for (uint32_t i = last; i-- > 0;)
	{
		if (state->tokens[i].kind == ')')
			depth++;
		else if (state->tokens[i].kind == '(' && depth-- == 0)
			return &state->tokens[i];
	}
	return NULL;
}

static const ls_str operator_names[] = {
	LS_STR("AND"), LS_STR("OR"), LS_STR("NOT"), LS_STR("IN"), LS_STR("CONTAINS"), LS_STR("MATCHES"),
};
#define N_OPERATOR_NAMES (sizeof(operator_names) / sizeof(operator_names[0]))

/* Where the name of a field begins that ends before the token: a.b.c */
static uint32_t
path_start(const ls_query_state *state, const ls_query_token *token)
{
	const ls_query_token *first = token - 1;

	while (first > state->tokens + 1 && first[-1].kind == '.' &&
		   (first[-2].kind == TOK_IDENT || first[-2].kind == TOK_BACKTICK))
		first -= 2;
	return first->span.start;
}

static bool
is_word(const ls_query_state *state, const ls_query_token *token, const char *word)
{
	return token->kind != TOK_END &&
		   ls_str_eq_nocase(ls_query_slice(state, token->span), ls_str_make(word, strlen(word)));
}

/* where a LIKE "...", a IS NULL, a BETWEEN 1 AND 2: conditions of SQL. */
static bool
guess_sql(ls_query_state *state, const ls_query_token *token)
{
	ls_query_span path;
	ls_str field;
	ls_str value;

	if (state->stage == NULL || token < state->tokens + 2 ||
		(token[-1].kind != TOK_IDENT && token[-1].kind != TOK_BACKTICK))
		return false;
	path = (ls_query_span){path_start(state, token), token[-1].span.end};
	field = ls_query_excerpt(state, path);
	if (is_word(state, token, "IS") && token[1].kind == TOK_STRING)
	{
		ls_query_set_hint(state, "did you mean =?");
		return true;
	}
	if (is_word(state, token, "IS"))
	{
		ls_query_set_hint(state, "write %s(%.*s)",
						  is_word(state, token + 1, "NOT") ? "isnotnull" : "isnull",
						  (int) field.len, field.data);
		return true;
	}
	value =
		token[1].kind == TOK_STRING ? ls_query_excerpt(state, token[1].span) : LS_STR("\"...\"");
	if (is_word(state, token, "LIKE"))
		ls_query_set_hint(state, "write like(%.*s, %.*s)", (int) field.len, field.data,
						  (int) value.len, value.data);
	else if (is_word(state, token, "ILIKE"))
		ls_query_set_hint(state, "write like(lower(%.*s), lower(%.*s))", (int) field.len,
						  field.data, (int) value.len, value.data);
	else if (is_word(state, token, "has"))
		ls_query_set_hint(state, "write %.*s CONTAINS %.*s", (int) field.len, field.data,
						  (int) value.len, value.data);
	else if (is_word(state, token, "startswith") || is_word(state, token, "endswith"))
		ls_query_set_hint(state,
						  is_word(state, token, "startswith") ? "write like(%.*s, \"...%%\")"
															  : "write like(%.*s, \"%%...\")",
						  (int) field.len, field.data);
	else if (state->text.data[token->span.start] == '~')
		ls_query_set_hint(state, "write %.*s MATCHES %.*s", (int) field.len, field.data,
						  (int) value.len, value.data);
	else if (is_word(state, token, "REGEXP") || is_word(state, token, "RLIKE"))
		ls_query_set_hint(state, "write %.*s MATCHES %.*s", (int) field.len, field.data,
						  (int) value.len, value.data);
	else if (is_word(state, token, "BETWEEN"))
		ls_query_set_hint(state, "write %.*s >= ... AND %.*s <= ...", (int) field.len, field.data,
						  (int) field.len, field.data);
	else
		return false;
	return true;
}

/* name=value where no option can stand, or of another stage. */
static bool
guess_option(ls_query_state *state, const ls_query_token *token)
{
	const char *stage = ls_query_stage_name(state->stage->kind);
	const ls_query_token *name = token->kind == '=' ? token - 1 : token;
	ls_str word = ls_query_excerpt(state, name->span);
	ls_str whole;
	const ls_str *names;
	uint32_t n;

	if (name <= state->tokens || (name->kind != TOK_OPTION && name->kind != TOK_IDENT) ||
		name[1].kind != '=' || name[2].kind == TOK_END)
		return false;
	whole = ls_query_excerpt(state, (ls_query_span){name->span.start, name[2].span.end});
	names = ls_query_option_names(state->stage->kind, &n);
	for (uint32_t i = 0; i < n; i++)
		if (ls_str_eq(names[i], word))
		{
			ls_query_set_hint(state,
							  state->stage->kind == LS_QUERY_DEDUP
								  ? "options come last: %s ... %.*s"
								  : "options come first: %s %.*s ...",
							  stage, (int) whole.len, whole.data);
			return true;
		}
	if (ls_str_eq(word, LS_STR("limit")) && name[2].kind == TOK_NUMBER &&
		(state->stage->kind == LS_QUERY_HEAD || state->stage->kind == LS_QUERY_TAIL ||
		 state->stage->kind == LS_QUERY_SORT))
		ls_query_set_hint(state, "write %s %.*s", stage,
						  (int) (name[2].span.end - name[2].span.start),
						  state->text.data + name[2].span.start);
	else if (ls_str_eq(word, LS_STR("limit")) && name[2].kind == TOK_NUMBER)
		ls_query_set_hint(state, "write | head %.*s after it",
						  (int) (name[2].span.end - name[2].span.start),
						  state->text.data + name[2].span.start);
	else if (token->kind == TOK_OPTION && ls_closest(word, names, n) < 0)
		ls_query_set_hint(state, "%s has no option %.*s", stage, (int) word.len, word.data);
	else
		return false;
	return true;
}

/* What other languages write in stages of these names. */
static bool
guess_in_stage(ls_query_state *state, const ls_query_token *token)
{
	ls_query_stage_kind kind = state->stage->kind;
	int before = token > state->tokens ? token[-1].kind : 0;
	const ls_query_token *end = token;

	if (token->kind == '*' && before == '(' && is_word(state, token - 2, "count"))
		ls_query_set_hint(state, "write count");
	else if (token->kind == '*' && (kind == LS_QUERY_TABLE || kind == LS_QUERY_FIELDS))
		ls_query_set_hint(state, "all fields are shown without this stage: leave it out");
	else if (token->kind == '+' && kind == LS_QUERY_FIELDS)
		ls_query_set_hint(state, "leave out the +: fields a, b keeps these");
	else if (before == TOK_AS && token->kind == TOK_STRING &&
			 memchr(state->text.data + token->span.start, '`',
					token->span.end - token->span.start) == NULL)
		ls_query_set_hint(state, "a name is written in backticks: `%.*s`",
						  (int) ls_query_excerpt(state, token->span).len - 2,
						  state->text.data + token->span.start + 1);
	else if (before == TOK_AS && (token->kind == TOK_STRING || token->kind == TOK_BAD_QUOTE))
		ls_query_set_hint(state, "a name is written in backticks: `...`");
	else if (token->kind == '(' && kind == LS_QUERY_SORT && before == TOK_IDENT &&
			 ls_query_is_aggregate(ls_query_slice(state, token[-1].span)))
	{
		while (end->kind != ')' && end->kind != TOK_END && end->kind != '|')
			end++;
		if (end->kind != ')')
			return false;
		ls_query_set_hint(state, "name the column, in backticks: `%.*s`",
						  (int) (end->span.end - token[-1].span.start),
						  state->text.data + token[-1].span.start);
	}
	else if (kind == LS_QUERY_STATS && token > state->tokens && is_word(state, token - 1, "span"))
		ls_query_set_hint(state, "write timechart span=1h ..., without the time after by");
	else if (kind == LS_QUERY_STATS && token > state->tokens &&
			 (is_word(state, token - 1, "having") ||
			  (token > state->tokens + 1 && is_word(state, token - 2, "having"))))
		ls_query_set_hint(state, "write | where ... after it");
	else if (kind == LS_QUERY_DEDUP && token > state->tokens && is_word(state, token - 1, "sortby"))
		ls_query_set_hint(state, "write | sort ... before dedup, which keeps the first of each");
	else
		return guess_option(state, token) || guess_sql(state, token);
	return true;
}

static void
guess(ls_query_state *state, const ls_query_token *token, const char *const *names, int n,
	  const ls_str *expected, uint32_t n_expected)
{
	ls_str word = ls_query_slice(state, token->span);
	uint32_t index = (uint32_t) (token - state->tokens);
	int before = index > 0 ? token[-1].kind : 0;

	if (word.len == 0 || ls_query_guess_range(state, token) ||
		ls_query_guess_alternation(state, token) || ls_query_guess_list(state, token) ||
		(state->stage != NULL && guess_in_stage(state, token)))
		return;
	if (token->kind == TOK_BAD_QUOTE)
	{
		ls_query_set_hint(state, "texts are written in straight double quotes: \"...\"");
		return;
	}
	if (n == 1 && strcmp(names[0], "a quoted string") == 0 && token->kind != ')')
	{
		ls_query_set_hint(state, "write \"%.*s\"", (int) ls_query_excerpt(state, token->span).len,
						  word.data);
		return;
	}
	if ((token->kind == TOK_BY || token->kind == TOK_AS) && has(names, n, "a name"))
	{
		ls_query_set_hint(state, "to use it as a field name write `%.*s`", (int) word.len,
						  word.data);
		return;
	}
	if (token->kind == '(' && has(names, n, "a word") && index > 0 && before == '=')
	{
		ls_query_set_hint(state, "for one of several values write field IN (a, b)");
		return;
	}
	if (state->stage != NULL && state->stage->kind == LS_QUERY_SORT &&
		(ls_str_eq_nocase(word, LS_STR("desc")) || ls_str_eq_nocase(word, LS_STR("asc"))))
	{
		ls_query_set_hint(state,
						  "write sort -field for descending, sort field for ascending order");
		return;
	}
	if (before == '=' && has(names, n, "a quoted string") && word.data[0] >= 'A' &&
		word.data[0] <= 'Z')
	{
		ls_query_set_hint(state, "write \"%.*s\"", (int) ls_query_excerpt(state, token->span).len,
						  word.data);
		return;
	}
	for (size_t i = 0; i < N_OPERATOR_NAMES; i++)
		if (ls_str_eq_nocase(word, operator_names[i]) && has(names, n, operator_names[i].data))
		{
			ls_query_set_hint(state, "operators are written in capitals: %s",
							  operator_names[i].data);
			return;
		}
	if ((before == '|' || token->kind == TOK_BAD_OPERATOR) && ls_query_other_stage(word) != NULL)
	{
		ls_query_set_hint(state, "%s", ls_query_other_stage(word));
		return;
	}
	/* | avg(a) by b: an aggregate of others is a stage. */
	if (before == '|' && token->kind == TOK_IDENT && ls_query_is_aggregate(word))
	{
		ls_query_set_hint(state, "did you mean stats %.*s?", (int) word.len, word.data);
		return;
	}
	/* service="x" |= "refused": LogQL after a head of ours. */
	if (before == '|' && (token->kind == '=' || word.data[0] == '~') && token[1].kind == TOK_STRING)
	{
		ls_str text = ls_query_excerpt(state, token[1].span);

		ls_query_set_hint(state, "write event %s %.*s before the |",
						  token->kind == '=' ? "CONTAINS" : "MATCHES", (int) text.len, text.data);
		return;
	}
	if (word.data[0] == '[')
	{
		ls_query_set_hint(state, "a search inside of a search is written in SQL: ... IN (SELECT ..."
								 " FROM logsvc.events('...'))");
		return;
	}
	if (token->kind == TOK_IDENT || token->kind == TOK_OPTION)
		ls_query_hint_closest(state, word, expected, n_expected);
	if (token->kind == TOK_IDENT && state->error->hint.len == 0 && has(names, n, ","))
		ls_query_set_hint(state, "put a comma before %.*s",
						  (int) ls_query_excerpt(state, token->span).len, word.data);
	if (token->kind == TOK_BAD_CHARACTER && word.data[0] == '|')
		ls_query_set_hint(state, "only a filter can stand here, no stages");
	else if (token->kind == TOK_BAD_CHARACTER && has(names, n, "a quoted string"))
		ls_query_set_hint(state, "words with this character need quotes");
	/* `service in (a, b)`: the mistake is a few words before. */
	for (uint32_t i = index; state->error->hint.len == 0 && i > 0 && i + 5 > index; i--)
		for (size_t j = 0; j < N_OPERATOR_NAMES && state->tokens[i].kind == TOK_WORD; j++)
			if (ls_str_eq_nocase(ls_query_slice(state, state->tokens[i].span), operator_names[j]))
				ls_query_set_hint(state, "operators are written in capitals: %s",
								  operator_names[j].data);
}

void
ls_query_syntax_error(ls_query_state *state, ls_query_span span, const char *const *names, int n)
{
	const ls_query_token *token = &state->tokens[state->next > 0 ? state->next - 1 : 0];
	ls_str expected[MAX_EXPECTED];
	uint32_t n_expected;
	bool at_end;

	if (state->failed)
		return;
	if (span.start == state->text.len)
		token = &state->tokens[state->n_tokens - 1];
	at_end = token->kind == TOK_END;

	if (token->kind == TOK_OPEN_STRING || token->kind == TOK_OPEN_BACKTICK)
	{
		bool string = token->kind == TOK_OPEN_STRING;

		span.end = span.start + 1;
		ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, span,
						 string ? "close it with \"; inside, write \\\" for a quote"
								: "close it with `",
						 "unterminated %s", string ? "string" : "name in backticks");
		return;
	}

	if ((at_end || token->kind == '|') && has(names, n, ")"))
	{
		const ls_query_token *open = open_parenthesis(state, (uint32_t) (token - state->tokens));
		ls_str close = LS_STR(")");

		ls_query_fail_expected(state, LS_QUERY_ERROR_SYNTAX, span, &close, 1);
		if (open != NULL)
		{
			ls_query_position p = ls_query_locate(state->text, open->span);

			ls_query_set_hint(state, "the ( at line %u, column %u is not closed", p.line, p.column);
		}
		return;
	}

	n_expected = name_expected(state, names, n, expected);
	if (n == 1 && n_expected > 0 && strcmp(names[0], "end of query") != 0)
		ls_query_fail_expected(state, LS_QUERY_ERROR_SYNTAX, span, expected, n_expected);
	else
	{
		ls_str found = ls_query_excerpt(state, span);

		ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, span, NULL, "unexpected %.*s",
						 at_end ? (int) strlen("end of query") : (int) found.len,
						 at_end ? "end of query" : found.data);
		set_expected(state, expected, n_expected);
	}
	guess(state, token, names, n, expected, n_expected);
}
