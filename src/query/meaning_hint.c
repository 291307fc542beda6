/*-------------------------------------------------------------------------
 *
 * meaning_hint.c
 *	  Hints about what was meant where a query has a syntax error (pure).
 *
 * They parse what they suggest, so they are made after the parse that has failed, never in it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"

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

/* A name or a value that is written in another way. */
static bool
guess_value(ls_query_state *state, const ls_query_token *token)
{
	const char *const *names = state->mistake.names;
	int n = state->mistake.n_names;
	ls_str word = ls_query_slice(state, token->span);
	int before = token > state->tokens ? token[-1].kind : 0;
	bool keyword =
		(token->kind == TOK_BY || token->kind == TOK_AS) && ls_query_expects(names, n, "a name");
	bool capital = before == '=' && !keyword && word.data[0] >= 'A' && word.data[0] <= 'Z';

	if (token->kind == TOK_BAD_QUOTE)
		ls_query_set_hint(state, "texts are written in straight double quotes: \"...\"");
	else if (ls_query_expects(names, n, "a quoted string") &&
			 (capital || (n == 1 && token->kind != ')')))
		ls_query_set_hint(state, "write \"%.*s\"", (int) ls_query_excerpt(state, token->span).len,
						  word.data);
	else if (keyword)
		ls_query_set_hint(state, "to use it as a field name write `%.*s`", (int) word.len,
						  word.data);
	else if (token->kind == '(' && ls_query_expects(names, n, "a word") && before == '=')
		ls_query_set_hint(state, "for one of several values write field IN (a, b)");
	else
		return false;
	return true;
}

/* An operator in lower case. */
static bool
guess_operator(ls_query_state *state, const ls_query_token *token, bool expected)
{
	uint32_t n;
	const ls_str *operators = ls_query_operator_names(&n);

	for (uint32_t i = 0; i < n; i++)
		if (ls_str_eq_nocase(ls_query_slice(state, token->span), operators[i]) &&
			(!expected ||
			 ls_query_expects(state->mistake.names, state->mistake.n_names, operators[i].data)))
		{
			ls_query_set_hint(state, "operators are written in capitals: %s", operators[i].data);
			return true;
		}
	return false;
}

/* A stage of another language, or what it has in the place of one. */
static bool
guess_stage(ls_query_state *state, const ls_query_token *token)
{
	ls_str word = ls_query_slice(state, token->span);
	bool begins = token > state->tokens && token[-1].kind == '|';

	if (state->stage != NULL && state->stage->kind == LS_QUERY_SORT &&
		(ls_str_eq_nocase(word, LS_STR("desc")) || ls_str_eq_nocase(word, LS_STR("asc"))))
		ls_query_set_hint(state,
						  "write sort -field for descending, sort field for ascending order");
	else if ((begins || token->kind == TOK_BAD_OPERATOR) && ls_query_other_stage(word) != NULL)
		ls_query_set_hint(state, "%s", ls_query_other_stage(word));
	/* | avg(a) by b: an aggregate of others is a stage. */
	else if (begins && token->kind == TOK_IDENT && ls_query_is_aggregate(word))
		ls_query_set_hint(state, "did you mean stats %.*s?", (int) word.len, word.data);
	/* service="x" |= "refused": LogQL after a head of ours. */
	else if (begins && (token->kind == '=' || word.data[0] == '~') && token[1].kind == TOK_STRING)
	{
		ls_str text = ls_query_excerpt(state, token[1].span);

		ls_query_set_hint(state, "write event %s %.*s before the |",
						  token->kind == '=' ? "CONTAINS" : "MATCHES", (int) text.len, text.data);
	}
	else if (word.data[0] == '[')
		ls_query_set_hint(state, "a search inside of a search is written in SQL: ... IN (SELECT ..."
								 " FROM logsvc.events('...'))");
	else
		return false;
	return true;
}

/* A word that is misspelt, or what is missing before it. */
static void
guess_word(ls_query_state *state, const ls_query_token *token)
{
	const char *const *names = state->mistake.names;
	int n = state->mistake.n_names;
	ls_str word = ls_query_slice(state, token->span);
	uint32_t index = (uint32_t) (token - state->tokens);

	if (token->kind == TOK_IDENT || token->kind == TOK_OPTION)
		ls_query_hint_closest(state, word, state->error->expected, state->error->n_expected);
	if (token->kind == TOK_IDENT && state->error->hint.len == 0 && ls_query_expects(names, n, ","))
		ls_query_set_hint(state, "put a comma before %.*s",
						  (int) ls_query_excerpt(state, token->span).len, word.data);
	if (token->kind == TOK_BAD_CHARACTER && word.data[0] == '|')
		ls_query_set_hint(state, "only a filter can stand here, no stages");
	else if (token->kind == TOK_BAD_CHARACTER && ls_query_expects(names, n, "a quoted string"))
		ls_query_set_hint(state, "words with this character need quotes");
	/* `service in (a, b)`: the mistake is a few words before. */
	for (uint32_t i = index; state->error->hint.len == 0 && i > 0 && i + 5 > index; i--)
		if (state->tokens[i].kind == TOK_WORD)
			(void) guess_operator(state, &state->tokens[i], false);
}

void
ls_query_guess_meaning(ls_query_state *state)
{
	const ls_query_token *token = state->mistake.token;

	if (token == NULL || token->span.end == token->span.start)
		return;
	if (!ls_query_guess_range(state, token) && !ls_query_guess_alternation(state, token) &&
		!ls_query_guess_list(state, token) &&
		!(state->stage != NULL && guess_in_stage(state, token)) && !guess_value(state, token) &&
		!guess_operator(state, token, true) && !guess_stage(state, token))
		guess_word(state, token);
}
