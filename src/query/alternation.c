/*-------------------------------------------------------------------------
 *
 * alternation.c
 *	  A hint where a | is meant as "or": level=error|warn, refused|timeout (pure).
 *
 * Here a stage follows a |.  Alternatives touch it, so `level=error | warm` is a stage that is misspelt, unless
 * both are levels.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"
#include "src/query/translate.h"

#define MOST_ALTERNATIVES 20

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The value that begins at a byte: a text in quotes, or all until white space, a | or a parenthesis. */
static ls_str
value_at(ls_str text, size_t at)
{
	size_t end = at;

	if (at < text.len && text.data[at] == '"')
	{
		for (end++; end < text.len && text.data[end] != '"'; end++)
			end += text.data[end] == '\\';
		end = end < text.len ? end + 1 : at;
	}
	else
		while (end < text.len && !is_space(text.data[end]) &&
			   strchr("|()\",=<>!", text.data[end]) == NULL)
			end++;
	return ls_str_make(text.data + at, end - at);
}

static bool
is_stage(ls_str word)
{
	int token;

	return ls_query_find_stage(word, &token) >= 0;
}

static bool
is_level(ls_str word)
{
	ls_str levels[LS_QUERY_LEVELS];

	return ls_query_levels(LS_QUERY_OP_EQ, word, levels) > 0;
}

/* The alternatives, of which the first ends at the |; their number. */
static int
read_values(const ls_query_state *state, const ls_query_token *first, ls_str *values, size_t *end)
{
	ls_str text = state->text;
	int n = 1;

	values[0] = ls_query_slice(state, first->span);
	*end = first->span.end;
	while (n < MOST_ALTERNATIVES)
	{
		size_t at = *end;
		bool apart;
		ls_str value;

		while (at < text.len && is_space(text.data[at]))
			at++;
		if (at >= text.len || text.data[at] != '|')
			break;
		apart = at > *end;
		for (at++; at < text.len && is_space(text.data[at]); at++)
			apart = true;
		value = value_at(text, at);
		if (value.len == 0 || is_stage(value) ||
			(apart && (!is_level(value) || !is_level(values[n - 1]))))
			break;
		values[n++] = value;
		*end = at + value.len;
	}
	return n;
}

/* field IN (a, b) for field=a|b, (a OR b) for a|b, field:(a OR b). */
static void
write_values(ls_buf *out, ls_str field, int op, const ls_str *values, int n)
{
	bool list = op == '=' || op == TOK_NE;

	ls_buf_str(out, field);
	ls_buf_printf(out, op == '=' ? " IN (" : op == TOK_NE ? " NOT IN (" : op == ':' ? ":(" : "(");
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_printf(out, list ? ", " : " OR ");
		ls_buf_str(out, values[i]);
	}
	ls_buf_char(out, ')');
}

bool
ls_query_guess_alternation(ls_query_state *state, const ls_query_token *token)
{
	const ls_query_token *first;
	ls_str values[MOST_ALTERNATIVES];
	ls_str field = LS_STR("");
	ls_buf written;
	ls_buf text;
	size_t start;
	size_t end;
	int op = 0;
	int n;

	if (token < state->tokens + 2 || token[-1].kind != '|' || state->stage != NULL)
		return false;
	first = token - 2;
	if (first->kind != TOK_WORD && first->kind != TOK_NUMBER && first->kind != TOK_STRING)
		return false;
	start = first->span.start;
	if (first > state->tokens + 1 &&
		(first[-1].kind == '=' || first[-1].kind == TOK_NE || first[-1].kind == ':') &&
		(first[-2].kind == TOK_WORD || first[-2].kind == TOK_BACKTICK))
	{
		op = first[-1].kind;
		field = ls_query_slice(state, first[-2].span);
		start = first[-2].span.start;
	}
	n = read_values(state, first, values, &end);
	if (n == 1)
		return false;
	ls_buf_init(&written, state->arena);
	write_values(&written, field, op, values, n);
	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data, start);
	ls_buf_append(&text, written.data, written.len);
	ls_buf_append(&text, state->text.data + end, state->text.len - end);
	if (written.failed || !ls_query_is_query(&text))
		return false;
	ls_query_set_hint(state, "for one of several values write %.*s",
					  (int) ls_utf8_prefix_chars(written.data, written.len, 200), written.data);
	state->error->suggestion = ls_str_make(text.data, text.len);
	return true;
}
