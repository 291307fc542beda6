/*-------------------------------------------------------------------------
 *
 * keywords.c
 *	  Gives tokens the meaning that depends on their neighbours (pure).
 *
 * A word becomes a keyword, `index` before = becomes a scope, `NOT IN` becomes one
 * token.  So the grammar needs only one token of lookahead, and names remain usable
 * for fields as far as possible.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"

bool
ls_query_is_comparison(int kind)
{
	return kind == '=' || kind == TOK_NE || kind == '<' || kind == TOK_LE || kind == '>' ||
		   kind == TOK_GE;
}

/* `and` in lower case is a word; warn where an operator was surely meant. */
static void
warn_lower_case(ls_query_state *state, uint32_t i)
{
	const ls_query_token *t = &state->tokens[i];
	int before = i > 0 ? t[-1].kind : 0;
	int after = t[1].kind;
	ls_str word = ls_query_slice(state, t->span);
	bool term_before = before == TOK_WORD || before == TOK_NUMBER || before == TOK_STRING ||
					   before == TOK_BACKTICK || before == ')';
	bool term_after = after == TOK_WORD || after == TOK_NUMBER || after == TOK_STRING ||
					  after == TOK_BACKTICK || after == '(' || after == TOK_NOT;
	const char *capitals = NULL;

	/* between 10 and 20: no operator. */
	if (i > 1 && t[-2].kind == TOK_WORD &&
		ls_str_eq_nocase(ls_query_slice(state, t[-2].span), LS_STR("between")))
		return;
	if (ls_str_eq(word, LS_STR("and")) && term_before && term_after)
		capitals = "AND";
	else if (ls_str_eq(word, LS_STR("or")) && term_before && term_after)
		capitals = "OR";
	else if (ls_str_eq(word, LS_STR("not")) && term_after && !ls_query_is_comparison(before))
		capitals = "NOT";
	else if (ls_str_eq(word, LS_STR("in")) && term_before && after == '(')
		capitals = "IN";
	else if (ls_str_eq(word, LS_STR("contains")) && term_before && after == TOK_STRING)
		capitals = "CONTAINS";
	else if (ls_str_eq(word, LS_STR("matches")) && term_before && after == TOK_STRING)
		capitals = "MATCHES";
	if (capitals == NULL)
		return;
	state->other_language = true;
	ls_query_warn(state->query, state->arena, "LOWERCASE_OPERATOR", t->span,
				  "%.*s is searched as a word; operators are written in capitals: %s",
				  (int) word.len, word.data, capitals);
}

static void
classify_head_word(ls_query_state *state, uint32_t i)
{
	ls_query_token *t = &state->tokens[i];
	ls_str word = ls_query_slice(state, t->span);
	bool before_in =
		t[1].kind == TOK_WORD && ls_query_find_operator(ls_query_slice(state, t[1].span)) == TOK_IN;
	int kind = ls_query_find_operator(word);

	if (kind != 0)
		t->kind = kind;
	else if (ls_str_eq(word, LS_STR("index")) && (t[1].kind == '=' || before_in))
		t->kind = TOK_INDEX;
	else if (ls_str_eq(word, LS_STR("earliest")) && ls_query_is_comparison(t[1].kind))
		t->kind = TOK_EARLIEST;
	else if (ls_str_eq(word, LS_STR("latest")) && ls_query_is_comparison(t[1].kind))
		t->kind = TOK_LATEST;
}

/* `depth`: of parentheses within the stage. */
static void
classify_stage_word(ls_query_state *state, uint32_t i, int *stage, int depth)
{
	ls_query_token *t = &state->tokens[i];
	ls_str word = ls_query_slice(state, t->span);
	int kind = ls_query_find_operator(word);

	if (t[-1].kind == '|')
	{
		int token;

		*stage = ls_query_find_stage(word, &token);
		if (*stage >= 0)
			t->kind = token;
	}
	else if (t[-1].kind == '.')
		; /* a part of a path may have any name */
	else if (kind != 0)
		t->kind = kind;
	else if (ls_str_eq_nocase(word, LS_STR("by")))
		t->kind = TOK_BY;
	else if (ls_str_eq_nocase(word, LS_STR("as")))
		t->kind = TOK_AS;
	else if (*stage == LS_QUERY_LOOKUP && (ls_str_eq_nocase(word, LS_STR("output")) ||
										   ls_str_eq_nocase(word, LS_STR("outputnew"))))
		t->kind = TOK_OUTPUT;
	else if (t[1].kind == '=' && depth == 0 && *stage >= 0)
	{
		uint32_t n;

		(void) ls_query_option_names((ls_query_stage_kind) *stage, &n);
		if (n > 0)
			t->kind = TOK_OPTION;
	}
}

/* Makes keywords of words, and one token of NOT IN. */
bool
ls_query_classify(ls_query_state *state)
{
	bool head = true;
	int stage = -1;
	int depth = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < state->n_tokens; i++)
	{
		ls_query_token *t = &state->tokens[i];

		if (t->kind == '|')
		{
			head = false;
			depth = 0;
			stage = -1;
			if (state->filter_only)
				t->kind = TOK_BAD_CHARACTER;
		}
		else if (t->kind == '(' && ++depth > LS_QUERY_MAX_DEPTH)
			return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, t->span, NULL,
									"parentheses nested deeper than %d", LS_QUERY_MAX_DEPTH);
		else if (t->kind == ')' && depth > 0)
			depth--;
		else if (t->kind == TOK_WORD && head)
			classify_head_word(state, i);
		else if (t->kind == TOK_IDENT)
			classify_stage_word(state, i, &stage, depth);
	}

	for (uint32_t i = 0; i < state->n_tokens; i++)
	{
		ls_query_token t = state->tokens[i];

		if (t.kind == TOK_WORD)
			warn_lower_case(state, i);
	}

	for (uint32_t i = 0; i < state->n_tokens; i++)
	{
		ls_query_token t = state->tokens[i];
		int merged = 0;

		if (t.kind == TOK_NOT)
		{
			int after = state->tokens[i + 1].kind;

			merged = after == TOK_IN         ? TOK_NOT_IN
					 : after == TOK_CONTAINS ? TOK_NOT_CONTAINS
					 : after == TOK_MATCHES  ? TOK_NOT_MATCHES
											 : 0;
		}
		if (merged != 0)
		{
			i++;
			t.kind = merged;
			t.span.end = state->tokens[i].span.end;
		}
		state->tokens[n++] = t;
	}
	state->n_tokens = n;
	return true;
}
