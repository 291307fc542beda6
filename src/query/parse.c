/*-------------------------------------------------------------------------
 *
 * parse.c
 *	  Entry points of the query parser (pure).
 *
 * The text is checked (length, UTF-8) and cut into tokens.  Tokens whose meaning
 * depends on their neighbours get it here: a word becomes a keyword, `index`
 * before = becomes a scope, `NOT IN` becomes one token.  So the grammar needs only
 * one token of lookahead, and names remain usable for fields as far as possible.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"
#include "src/query/translate.h"

typedef struct keyword
{
	ls_str text;
	int kind;
} keyword;

static const keyword operators[] = {
	{LS_STR("AND"), TOK_AND},           {LS_STR("OR"), TOK_OR},
	{LS_STR("NOT"), TOK_NOT},           {LS_STR("IN"), TOK_IN},
	{LS_STR("CONTAINS"), TOK_CONTAINS}, {LS_STR("MATCHES"), TOK_MATCHES},
};

#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

static int
find_operator(ls_str word)
{
	for (size_t i = 0; i < N_OPERATORS; i++)
		if (ls_str_eq(word, operators[i].text))
			return operators[i].kind;
	return 0;
}

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
		t[1].kind == TOK_WORD && find_operator(ls_query_slice(state, t[1].span)) == TOK_IN;
	int kind = find_operator(word);

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
	int kind = find_operator(word);

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
static bool
classify(ls_query_state *state)
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

static bool
memory_error(ls_query_error *error)
{
	memset(error, 0, sizeof(*error));
	error->kind = LS_QUERY_ERROR_MEMORY;
	error->message = LS_STR("not enough memory to parse the query");
	error->found = error->hint = LS_STR("");
	return false;
}

/* Length and encoding: nothing after this sees a bad byte. */
static bool
check_text(ls_query_state *state, ls_str text)
{
	ls_query_span span = {0, 0};
	const char *nul;

	if (text.len == 0)
		return true;
	if (text.len > LS_QUERY_MAX_LENGTH)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL,
								"the query has %zu bytes; at most %d are allowed", text.len,
								LS_QUERY_MAX_LENGTH);
	if (!ls_utf8_valid(text.data, text.len))
	{
		while (span.start < text.len)
		{
			uint32_t n = 1;

			while (n <= 4 && span.start + n <= text.len &&
				   !ls_utf8_valid(text.data + span.start, n))
				n++;
			if (n > 4 || span.start + n > text.len)
				break;
			span.start += n;
		}
		span.end = span.start;
		state->text = ls_str_make(text.data, span.start);
		return ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, span, NULL,
								"the query is not valid UTF-8");
	}
	nul = memchr(text.data, '\0', text.len);
	if (nul != NULL)
	{
		span.start = span.end = (uint32_t) (nul - text.data);
		state->text = ls_str_make(text.data, span.start);
		return ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, span, NULL,
								"unexpected NUL character");
	}
	return true;
}

/* search error: the first warning is about the command. */
static void
suggest_without_command(ls_query_state *state)
{
	const ls_query_token *rest = state->tokens + 1;
	ls_buf text;

	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data + rest->span.start, state->text.len - rest->span.start);
	if (state->query->warnings.n > 0 && ls_query_is_query(&text))
		state->query->warnings.items[0]->suggestion = ls_str_make(text.data, text.len);
}

/* Has a note the query that was meant? */
static bool
is_suggested(const ls_query *query)
{
	return ls_query_has_suggestion(&query->warnings, query->warnings.n) ||
		   ls_query_has_suggestion(&query->doubts, query->doubts.n);
}

static bool
parse(ls_str text, ls_arena *arena, bool filter_only, bool translate, ls_query **query,
	  ls_query_error *error)
{
	ls_query_state state = {0};
	bool done;

	memset(error, 0, sizeof(*error));
	*query = NULL;
	state.arena = arena;
	state.error = error;
	state.filter_only = filter_only;
	state.only_parsed = !translate && !filter_only;
	state.query = ls_new(arena, ls_query);
	if (state.query == NULL)
		return memory_error(error);

	if (!check_text(&state, text))
		return ls_arena_failed(arena) ? memory_error(error) : false;
	state.text = ls_arena_strdup(arena, text);
	state.query->text = state.text;
	if (state.text.data == NULL)
		return memory_error(error);

	done = ls_query_scan(&state) && ls_query_cut_terms(&state) && classify(&state) &&
		   ls_query_yyparse(&state) == 0 && ls_query_lift_scopes(&state);
	if (ls_arena_failed(arena))
		return memory_error(error);
	if (!done)
	{
		/* An error should be set already; make sure that there is one. */
		if (!state.failed)
			ls_query_fail_at(&state, LS_QUERY_ERROR_SYNTAX, (ls_query_span){0, 0}, NULL,
							 "the query cannot be parsed");
		if (translate)
			ls_query_explain_error(&state);
		return ls_arena_failed(arena) ? memory_error(error) : false;
	}
	state.query->filter = state.filter;
	if (translate && state.has_command)
		suggest_without_command(&state);
	if (translate && !state.is_select)
	{
		ls_query_note_stage(&state);
		ls_query_note_range(&state);
	}
	if (translate)
	{
		ls_query_note_or(&state);
		ls_query_note_expressions(&state);
	}
	if (translate && state.other_language)
	{
		if (!ls_query_warn_translation(state.query, arena))
			ls_query_suggest_capitals(&state);
	}
	else if (translate && state.maybe_stage && !is_suggested(state.query))
	{
		uint32_t before = state.query->warnings.n;

		if (ls_query_warn_translation(state.query, arena))
			ls_query_make_doubt(&state, before);
	}
	if (ls_arena_failed(arena))
		return memory_error(error);
	*query = state.query;
	return true;
}

bool
ls_query_parse(ls_str text, ls_arena *arena, ls_query **query, ls_query_error *error)
{
	return parse(text, arena, false, true, query, error);
}

bool
ls_query_parse_only(ls_str text, ls_arena *arena, ls_query **query, ls_query_error *error)
{
	return parse(text, arena, false, false, query, error);
}

bool
ls_query_parse_filter(ls_str text, ls_arena *arena, ls_query **query, ls_query_error *error)
{
	return parse(text, arena, true, false, query, error);
}
