/*-------------------------------------------------------------------------
 *
 * stage_note.c
 *	  A warning where the head of a query has a stage without its | (pure).
 *
 * Each of its words is searched in the text then, and nothing is found.  Names of stages are also words
 * of texts ("head", "table"), so the words that follow must be those of a stage.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"
#include "src/query/translate.h"

static bool
is_word(const ls_query_state *state, const ls_query_token *t, const char *word)
{
	return t->kind == TOK_WORD &&
		   ls_str_eq_nocase(ls_query_slice(state, t->span), ls_str_make(word, strlen(word)));
}

static bool
ends_head(const ls_query_token *t)
{
	return t->kind == '|' || t->kind == 0;
}

static bool
is_aggregate(const ls_query_state *state, const ls_query_token *t)
{
	return t->kind == TOK_WORD && ls_query_is_aggregate(ls_query_slice(state, t->span));
}

/* Does what follows the name of a stage belong to one? */
static bool
is_stage(const ls_query_state *state, int stage, const ls_query_token *t)
{
	bool option = t[0].kind == TOK_WORD && t[1].kind == '=';

	switch (stage)
	{
		case LS_QUERY_STATS:
		case LS_QUERY_EVENTSTATS:
			return is_aggregate(state, t);
		case LS_QUERY_TIMECHART:
			return is_aggregate(state, t) || (option && is_word(state, t, "span"));
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
			return (t[0].kind == TOK_NUMBER && t[1].kind == TOK_WORD) ||
				   (option && is_word(state, t, "limit")) ||
				   (t[0].kind == TOK_WORD && is_word(state, t + 1, "by"));
		case LS_QUERY_HEAD:
		case LS_QUERY_TAIL:
			return t[0].kind == TOK_NUMBER && ends_head(t + 1);
		case LS_QUERY_SORT:
			return t[0].kind == '-' || state->text.data[t[0].span.start] == '-';
		case LS_QUERY_DEDUP:
			return t[0].kind == TOK_WORD || t[0].kind == TOK_NUMBER;
		case LS_QUERY_WHERE:
		case LS_QUERY_EVAL:
			return (t[0].kind == TOK_WORD || t[0].kind == TOK_BACKTICK) &&
				   ls_query_is_comparison(t[1].kind);
		default:
			return false;
	}
}

/* count by service, at the end of the head */
static bool
is_count(const ls_query_state *state, const ls_query_token *t)
{
	return is_word(state, t, "count") && is_word(state, t + 1, "by") &&
		   (t[2].kind == TOK_WORD || t[2].kind == TOK_BACKTICK) && ends_head(t + 3);
}

/* limit 10, take 10 at the end of the head: other names of | head 10, where nothing is found */
static bool
note_limit(ls_query_state *state, const ls_query_token *t)
{
	uint32_t n = state->query->warnings.n;
	ls_str word = ls_query_slice(state, t->span);
	ls_str number = ls_query_slice(state, t[1].span);
	ls_buf text;

	if ((!is_word(state, t, "limit") && !is_word(state, t, "take")) || t[1].kind != TOK_NUMBER ||
		!ends_head(t + 2))
		return false;
	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data, t->span.start);
	ls_buf_lit(&text, "| head ");
	ls_buf_str(&text, number);
	ls_buf_append(&text, state->text.data + t[1].span.end, state->text.len - t[1].span.end);
	ls_query_warn(state->query, state->arena, "STAGE_IN_TEXT", t->span,
				  "%.*s is searched as a word; for the first events write | head %.*s",
				  (int) word.len, word.data, (int) number.len, number.data);
	if (state->query->warnings.n > n && ls_query_is_query(&text))
		state->query->warnings.items[n]->suggestion = ls_str_make(text.data, text.len);
	ls_query_make_doubt(state, n);
	return true;
}

/* The query with | and perhaps a stage before byte `at`; empty: it would not be one. */
static ls_str
with_stage(const ls_query_state *state, uint32_t at, bool stats)
{
	ls_buf text;

	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data, at);
	ls_buf_lit(&text, "| ");
	if (stats)
		ls_buf_lit(&text, "stats ");
	ls_buf_append(&text, state->text.data + at, state->text.len - at);
	return ls_query_is_query(&text) ? ls_str_make(text.data, text.len) : LS_STR("");
}

/* grep refused: a command of a shell or of another product, before what is searched. */
static void
note_command(ls_query_state *state)
{
	static const char *const commands[] = {"grep", "egrep", "zgrep", "find", "show"};
	const ls_query_token *t = state->tokens;
	uint32_t n = state->query->warnings.n;
	const ls_query_token *rest = t + 1;
	ls_str word = ls_query_slice(state, t->span);
	bool command = false;
	ls_buf text;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		command = command || is_word(state, t, commands[i]);
	/* Its options: grep -i, grep -E */
	while (command && rest->kind == '-' && rest[1].kind == TOK_WORD &&
		   rest[1].span.end - rest[1].span.start <= 2)
		rest += 2;
	if (!command || ends_head(rest))
		return;
	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data + rest->span.start, state->text.len - rest->span.start);
	if (!ls_query_is_query(&text))
		return;
	ls_query_warn(state->query, state->arena, "STAGE_IN_TEXT", t->span,
				  "%.*s is searched as a word; leave it out, a query needs no command",
				  (int) word.len, word.data);
	if (state->query->warnings.n > n)
		state->query->warnings.items[n]->suggestion = ls_str_make(text.data, text.len);
	ls_query_make_doubt(state, n);
}

void
ls_query_note_stage(ls_query_state *state)
{
	uint32_t n = state->query->warnings.n;

	note_command(state);

	for (const ls_query_token *t = state->tokens; !ends_head(t); t++)
	{
		int token;
		int stage;
		bool counts;
		ls_str suggestion;
		ls_str word = ls_query_slice(state, t->span);

		/* A value, or in parentheses, it is none. */
		if (t->kind != TOK_WORD || (t > state->tokens && (t[-1].kind == '(' || t[-1].kind == ':' ||
														  ls_query_is_comparison(t[-1].kind))))
			continue;
		if (note_limit(state, t))
			return;
		stage = ls_query_find_stage(word, &token);
		counts = stage < 0 && is_count(state, t);
		if (!counts && (stage < 0 || !is_stage(state, stage, t + 1)))
			continue;
		suggestion = with_stage(state, t->span.start, counts);
		ls_query_warn(state->query, state->arena, "STAGE_IN_TEXT", t->span,
					  counts ? "%.*s is searched as a word; to count write | stats count by ..."
							 : "%.*s is searched as a word; a stage has a | before it",
					  (int) word.len, word.data);
		/* There may be too many warnings, or no memory. */
		if (state->query->warnings.n > n)
			state->query->warnings.items[n]->suggestion = suggestion;
		/* What is no query even so may be a text. */
		if (suggestion.len == 0)
			ls_query_make_doubt(state, n);
		return;
	}
}
