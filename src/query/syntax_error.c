/*-------------------------------------------------------------------------
 *
 * syntax_error.c
 *	  Syntax errors: what was found, and what the grammar expects there (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"

#define MAX_EXPECTED 64

bool
ls_query_expects(const char *const *names, int n, const char *name)
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
			if (ls_query_expects(names, n, "a name in backticks"))
				n_out = add(out, n_out, LS_STR("a field name"));
			else if (ls_query_expects(names, n, "a number"))
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
		else if (strcmp(names[i], "a name in backticks") == 0 &&
				 ls_query_expects(names, n, "a name"))
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

/* Keeps what hints need, for after the parse. */
static void
note_mistake(ls_query_state *state, const ls_query_token *token, const char *const *names, int n)
{
	const char **copy = ls_new_array(state->arena, const char *, n);

	if (copy == NULL)
		return;
	memcpy(copy, names, (size_t) n * sizeof(char *));
	state->mistake = (ls_query_mistake){token, copy, n};
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

	if ((at_end || token->kind == '|') && ls_query_expects(names, n, ")"))
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
		ls_query_set_expected(state, expected, n_expected);
	}
	note_mistake(state, token, names, n);
}
