/*-------------------------------------------------------------------------
 *
 * range_note.c
 *	  A warning where words of the head are surely meant as a time range: `last 15m`,
 *	  `within 1 hour`, `in the last hour` (pure).
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

/* The length of what follows: 15m, 15 minutes, or after last also minute; the number of tokens, 0: none. */
static uint32_t
read_length(const ls_query_state *state, const ls_query_token *t, bool last, ls_buf *shift)
{
	static const char *const units[] = {"minute", "hour", "day", "week", "month", "year"};
	static const char *const shifts[] = {"-1m", "-1h", "-1d", "-7d", "-1mon", "-1y"};
	ls_str amount = ls_query_slice(state, t->span);
	ls_query_time time;
	uint32_t n = 1;

	for (size_t i = 0; last && i < sizeof(units) / sizeof(units[0]); i++)
		if (is_word(state, t, units[i]))
		{
			ls_buf_append(shift, shifts[i], strlen(shifts[i]));
			return 1;
		}
	if ((t->kind != TOK_WORD && t->kind != TOK_NUMBER) || amount.data[0] < '0' ||
		amount.data[0] > '9')
		return 0;
	ls_buf_char(shift, '-');
	ls_buf_str(shift, amount);
	if (t->kind == TOK_NUMBER && t[1].kind == TOK_WORD)
	{
		ls_buf_str(shift, ls_query_slice(state, t[1].span));
		n = 2;
	}
	return !shift->failed && ls_query_time_parse(ls_str_make(shift->data, shift->len), &time) ? n
																							  : 0;
}

/* The query with earliest= in place of the words. */
static void
suggest(ls_query_state *state, uint32_t before, const ls_query_token *first,
		const ls_query_token *end, const ls_buf *shift)
{
	ls_buf text;

	if (state->query->warnings.n == before)
		return;
	/* in the last hour, within the last hour */
	while (first > state->tokens &&
		   (is_word(state, first - 1, "the") || is_word(state, first - 1, "in") ||
			is_word(state, first - 1, "within")))
		first--;
	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data, first->span.start);
	ls_buf_lit(&text, "earliest=");
	ls_buf_append(&text, shift->data, shift->len);
	ls_buf_append(&text, state->text.data + end[-1].span.end, state->text.len - end[-1].span.end);
	if (ls_query_is_query(&text))
		state->query->warnings.items[before]->suggestion = ls_str_make(text.data, text.len);
}

void
ls_query_note_range(ls_query_state *state)
{
	for (const ls_query_token *t = state->tokens; t->kind != '|' && t->kind != TOK_END; t++)
	{
		bool last = is_word(state, t, "last") || is_word(state, t, "past");
		ls_str word = ls_query_slice(state, t->span);
		uint32_t before = state->query->warnings.n;
		ls_buf shift;
		uint32_t n;

		if ((!last && !is_word(state, t, "within") && !is_word(state, t, "since")) ||
			(t > state->tokens &&
			 (ls_query_is_comparison(t[-1].kind) || t[-1].kind == ':' || t[-1].kind == ',')))
			continue;
		ls_buf_init(&shift, state->arena);
		n = read_length(state, t + 1, last, &shift);
		if (n == 0)
			continue;
		ls_query_warn(state->query, state->arena, "RANGE_IN_TEXT", t->span,
					  "%.*s is searched as a word; the time range is written earliest=%.*s",
					  (int) word.len, word.data, (int) shift.len, shift.data);
		suggest(state, before, t, t + 1 + n, &shift);
		return;
	}
}
