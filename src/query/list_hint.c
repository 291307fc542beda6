/*-------------------------------------------------------------------------
 *
 * list_hint.c
 *	  What to write for lists of values as other languages have them: status in [500, 502],
 *	  host:web-1,web-2; and for words with a comma between them (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"
#include "src/query/translate.h"

#define MOST_VALUES 50

/* So many tokens before the mistake the list may have begun. */
#define LOOKED_BACK 4

static size_t
skip_spaces(ls_str text, size_t at)
{
	while (at < text.len && strchr(" \t\r\n", text.data[at]) != NULL)
		at++;
	return at;
}

/* The end of the value at a byte: a text in quotes, or all until what cannot be in a word. */
static size_t
end_of_value(ls_str text, size_t at)
{
	size_t end = at;

	if (at < text.len && (text.data[at] == '"' || text.data[at] == '\''))
	{
		for (end++; end < text.len && text.data[end] != text.data[at]; end++)
			end += text.data[end] == '\\';
		return end < text.len ? end + 1 : at;
	}
	while (end < text.len && strchr(" \t\r\n|()[]{}\"',;=<>!", text.data[end]) == NULL)
		end++;
	return end;
}

/* Is there such a word, and a space after it? */
static bool
is_word_at(ls_str text, size_t at, const char *word)
{
	size_t len = strlen(word);

	return at + len < text.len &&
		   ls_str_eq_nocase(ls_str_make(text.data + at, len), ls_str_make(word, len)) &&
		   skip_spaces(text, at + len) > at + len;
}

/*
 * Appends the values of the list at *at with commas between them, and moves *at past it; their
 * number.  0: it is none.
 */
static int
read_list(ls_str text, size_t *at, ls_buf *out)
{
	char open = *at < text.len ? text.data[*at] : '\0';
	char close = open == '(' ? ')' : open == '[' ? ']' : '\0';
	size_t pos = close != '\0' ? *at + 1 : *at;

	for (int n = 1; n <= MOST_VALUES; n++)
	{
		size_t begin = skip_spaces(text, pos);
		size_t end = end_of_value(text, begin);
		size_t next = skip_spaces(text, end);

		if (end == begin)
			return 0;
		if (n > 1)
			ls_buf_lit(out, ", ");
		if (text.data[begin] == '\'')
			ls_buf_printf(out, "\"%.*s\"", (int) (end - begin - 2), text.data + begin + 1);
		else
			ls_buf_append(out, text.data + begin, end - begin);
		if (next < text.len && text.data[next] == ',')
			pos = next + 1;
		else if (close != '\0' && is_word_at(text, next, "OR"))
			pos = next + 2;
		else if (close == '\0' || (next < text.len && text.data[next] == close))
		{
			*at = close == '\0' ? end : next + 1;
			return close == '\0' && n == 1 ? 0 : n;
		}
		else
			return 0;
	}
	return 0;
}

static bool
is_word(const ls_query_state *state, const ls_query_token *t, const char *word)
{
	return t->kind == TOK_WORD &&
		   ls_str_eq_nocase(ls_query_slice(state, t->span), ls_str_make(word, strlen(word)));
}

/* A field, `op` and a list, as the language has it. */
static bool
guess_list(ls_query_state *state, const ls_query_token *op)
{
	const ls_query_token *field = op - 1;
	bool word = field->kind == TOK_NOT || is_word(state, field, "not");
	bool negated = word || op->kind == TOK_NOT_IN;
	size_t at = skip_spaces(state->text, op->span.end);
	size_t begin;
	ls_buf list, text;

	if (word && field > state->tokens)
		field--;
	if (field->kind != TOK_WORD && field->kind != TOK_BACKTICK)
		return false;
	begin = field->span.start;
	ls_buf_init(&list, state->arena);
	ls_buf_str(&list, ls_query_slice(state, field->span));
	ls_buf_printf(&list, negated ? " NOT IN (" : " IN (");
	if (read_list(state->text, &at, &list) == 0)
		return false;
	ls_buf_char(&list, ')');
	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data, begin);
	ls_buf_append(&text, list.data, list.len);
	ls_buf_append(&text, state->text.data + at, state->text.len - at);
	if (list.failed || !ls_query_is_query(&text))
		return false;
	ls_query_set_hint(state, "for one of several values write %.*s",
					  (int) ls_utf8_prefix_chars(list.data, list.len, 200), list.data);
	state->guessed = ls_str_make(text.data, text.len);
	return true;
}

/* error, refused: all of the words are meant, or one of them. */
static bool
guess_commas(ls_query_state *state)
{
	int depth = 0;
	int token;
	ls_buf text;

	/* Its | is missing. */
	if (ls_query_find_stage(ls_query_slice(state, state->tokens[0].span), &token) >= 0)
		return false;

	ls_buf_init(&text, state->arena);
	for (const ls_query_token *t = state->tokens; t->kind != '|' && t->kind != TOK_END; t++)
	{
		size_t end = t[1].kind == TOK_END ? state->text.len : t[1].span.start;

		depth += (t->kind == '(') - (t->kind == ')');
		if (t->kind != ',' || depth > 0)
			ls_buf_append(&text, state->text.data + t->span.start, end - t->span.start);
		else
			ls_buf_char(&text, ' ');
		if (t[1].kind == '|')
			ls_buf_append(&text, state->text.data + end, state->text.len - end);
	}
	if (!ls_query_is_query(&text))
		return false;
	ls_query_set_hint(state, "leave the comma out to find events with all of them, or write OR for "
							 "it; a text with a comma is in quotes");
	state->guessed = ls_str_trim(ls_str_make(text.data, text.len));
	return true;
}

bool
ls_query_guess_list(ls_query_state *state, const ls_query_token *token)
{
	const ls_query_token *op = token;

	if (state->stage != NULL)
		return false;
	for (int i = 0; i <= LOOKED_BACK && op > state->tokens; i++, op--)
	{
		if ((op->kind == '=' || op->kind == ':' || op->kind == TOK_IN || op->kind == TOK_NOT_IN ||
			 is_word(state, op, "in")) &&
			guess_list(state, op))
			return true;
	}
	return token->kind == ',' && guess_commas(state);
}

void
ls_query_suggest_capitals(ls_query_state *state)
{
	ls_query_warnings *warnings = &state->query->warnings;
	ls_query_warning *first = NULL;
	size_t at = 0;
	ls_buf text;

	ls_buf_init(&text, state->arena);
	for (uint32_t i = 0; i < warnings->n; i++)
	{
		ls_query_warning *w = warnings->items[i];

		if (strcmp(w->code, "LOWERCASE_OPERATOR") != 0 || w->span.start < at)
			continue;
		ls_buf_append(&text, state->text.data + at, w->span.start - at);
		for (at = w->span.start; at < w->span.end; at++)
			ls_buf_char(&text, (char) (state->text.data[at] & ~0x20));
		if (first == NULL)
			first = w;
	}
	ls_buf_append(&text, state->text.data + at, state->text.len - at);
	if (first != NULL && first->suggestion.len == 0 && ls_query_is_query(&text))
		first->suggestion = ls_str_make(text.data, text.len);
}
