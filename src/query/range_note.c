/*-------------------------------------------------------------------------
 *
 * range_note.c
 *	  Words that are probably meant as the time range (pure).
 *
 * `last 15m` in the head gets a warning, with the query as suggestion.  Words that texts have, too (`for 1h`,
 * `5m ago`, `before 2026-01-31`, `today`), get it only where nothing is found.  In a stage the range is an
 * error, which gets the suggestion.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"
#include "src/query/translate.h"

/* Words before a length (last 15m, for 1 hour) or a time (since 2026-01-31). */
static const struct
{
	const char *word;
	bool surely; /* a text rarely has it before a length */
	bool unit;   /* last hour: a unit alone, too */
	bool length;
	const char *scope; /* of a time; NULL: none */
} beginnings[] = {
	{"last", true, true, true, NULL},          {"past", true, true, true, NULL},
	{"within", true, false, true, NULL},       {"since", true, false, true, "earliest"},
	{"for", false, false, true, NULL},         {"over", false, false, true, NULL},
	{"in", false, false, true, NULL},          {"from", false, false, true, "earliest"},
	{"after", false, false, true, "earliest"}, {"between", false, false, false, "earliest"},
	{"before", false, false, false, "latest"}, {"until", false, false, false, "latest"},
	{"to", false, false, false, "latest"},
};

/* Words that are a range. */
static const struct
{
	const char *word;
	const char *range;
} days[] = {
	{"today", "earliest=@d"},
	{"yesterday", "earliest=-1d@d latest=@d"},
};

/* A range that was found: some tokens, and what to write for them. */
typedef struct range
{
	const ls_query_token *first;
	const ls_query_token *end;
	bool surely;
	ls_buf written;
} range;

static bool
is_word(const ls_query_state *state, const ls_query_token *t, const char *word)
{
	return (t->kind == TOK_WORD || t->kind == TOK_IDENT) &&
		   ls_str_eq_nocase(ls_query_slice(state, t->span), ls_str_make(word, strlen(word)));
}

static bool
begins_with_digit(const ls_query_state *state, const ls_query_token *t)
{
	char c = state->text.data[t->span.start];

	return t->span.end > t->span.start && c >= '0' && c <= '9';
}

/* A length: 15m, 15 minutes, and with `unit` also minute; the number of tokens, 0: none. */
static uint32_t
read_length(const ls_query_state *state, const ls_query_token *t, bool unit, ls_buf *shift)
{
	static const char *const units[] = {"minute", "hour", "day", "week", "month", "year"};
	static const char *const shifts[] = {"-1m", "-1h", "-1d", "-7d", "-1mon", "-1y"};
	size_t start = shift->len;
	ls_query_time time;
	uint32_t n = 1;

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++)
		if (is_word(state, t, units[i]))
		{
			ls_buf_append(shift, shifts[i], strlen(shifts[i]));
			return 1;
		}
	if (t->kind == '-')
		t++, n++;
	if ((t->kind != TOK_WORD && t->kind != TOK_NUMBER && t->kind != TOK_DURATION &&
		 t->kind != TOK_BAD_WORD) ||
		!begins_with_digit(state, t))
		return 0;
	ls_buf_char(shift, '-');
	ls_buf_str(shift, ls_query_slice(state, t->span));
	if (t->kind == TOK_NUMBER && (t[1].kind == TOK_WORD || t[1].kind == TOK_IDENT))
	{
		ls_buf_str(shift, ls_query_slice(state, t[1].span));
		n++;
	}
	return !shift->failed &&
				   ls_query_time_parse(ls_str_make(shift->data + start, shift->len - start), &time)
			   ? n
			   : 0;
}

/* A date or a time of the head: 2026-01-31, "2026-01-31 15:00". */
static bool
is_time(const ls_query_state *state, const ls_query_token *t)
{
	ls_str text = ls_query_slice(state, t->span);
	ls_query_time time;

	if (t->kind == TOK_STRING)
		text = ls_str_make(text.data + 1, text.len - 2);
	else if (t->kind != TOK_WORD)
		return false;
	return text.len >= 8 && memchr(text.data, '-', text.len) != NULL &&
		   ls_query_time_parse(text, &time) && time.absolute;
}

static bool
is_value(const ls_query_state *state, const ls_query_token *t)
{
	return t > state->tokens && (ls_query_is_comparison(t[-1].kind) || t[-1].kind == ':' ||
								 t[-1].kind == ',' || t[-1].kind == '.');
}

/* Is there a range at this token? */
static bool
read_range(const ls_query_state *state, const ls_query_token *t, range *r)
{
	uint32_t n;

	if (is_value(state, t))
		return false;
	r->first = t;
	ls_buf_init(&r->written, state->arena);
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
	{
		if (!is_word(state, t, beginnings[i].word))
			continue;
		r->surely = beginnings[i].surely;
		if (beginnings[i].scope != NULL && is_time(state, t + 1))
		{
			ls_buf_printf(&r->written, "%s=", beginnings[i].scope);
			ls_buf_str(&r->written, ls_query_slice(state, t[1].span));
			r->surely = false;
			r->end = t + 2;
			if (beginnings[i].scope[0] == 'e' &&
				(is_word(state, t + 2, "to") || is_word(state, t + 2, "until") ||
				 is_word(state, t + 2, "and") || is_word(state, t + 2, "before")) &&
				is_time(state, t + 3))
			{
				ls_buf_lit(&r->written, " latest=");
				ls_buf_str(&r->written, ls_query_slice(state, t[3].span));
				r->end = t + 4;
			}
			return !r->written.failed;
		}
		ls_buf_lit(&r->written, "earliest=");
		n = beginnings[i].length ? read_length(state, t + 1, beginnings[i].unit, &r->written) : 0;
		r->end = t + 1 + n;
		return n > 0;
	}
	r->surely = false;
	for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++)
		if (is_word(state, t, days[i].word))
		{
			ls_buf_append(&r->written, days[i].range, strlen(days[i].range));
			r->end = t + 1;
			return !r->written.failed;
		}
	/* 5m ago, 2 hours ago */
	ls_buf_lit(&r->written, "earliest=");
	n = t->kind == '-' ? 0 : read_length(state, t, false, &r->written);
	r->end = t + n + 1;
	return n > 0 && is_word(state, t + n, "ago");
}

static bool
ends_stage(const ls_query_token *t)
{
	return t->kind == '|' || t->kind == TOK_END;
}

/* in the last hour, within the last hour */
static const ls_query_token *
before_range(const ls_query_state *state, const ls_query_token *first)
{
	static const char *const words[] = {"the",  "in",  "within", "during",
										"from", "for", "over",   "since"};

	for (bool more = true; more && first > state->tokens;)
	{
		more = false;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			more = more || (is_word(state, first - 1, words[i]) && !is_value(state, first - 1));
		if (more)
			first--;
	}
	return first;
}

/* The query with the range in place of the words; in_front: before all of it, which the words are in a stage of. */
static void
suggest(const ls_query_state *state, const range *r, bool in_front, ls_str *suggestion)
{
	const ls_query_token *first = before_range(state, r->first);
	size_t start = first->span.start;
	size_t end = r->end[-1].span.end;
	ls_buf text;

	ls_buf_init(&text, state->arena);
	if (in_front)
	{
		ls_buf_str(&text, ls_str_make(r->written.data, r->written.len));
		ls_buf_char(&text, ' ');
		/* Without them, | last 1h and | where earliest=-1h are no stages. */
		if (first > state->tokens && first[-1].kind != '|' && ends_stage(r->end))
		{
			if (first[-1].kind == TOK_AND || (first > state->tokens + 1 && first[-2].kind == '|'))
				first--;
			start = first->span.start;
		}
		if (first > state->tokens && first[-1].kind == '|' && ends_stage(r->end))
			start = first[-1].span.start;
		while (start > 0 && state->text.data[start - 1] == ' ')
			start--;
	}
	ls_buf_append(&text, state->text.data, start);
	if (!in_front)
		ls_buf_str(&text, ls_str_make(r->written.data, r->written.len));
	ls_buf_append(&text, state->text.data + end, state->text.len - end);
	while (text.len > 0 && text.data[text.len - 1] == ' ')
		text.len--;
	if (ls_query_is_query(&text))
		*suggestion = ls_str_make(text.data, text.len);
}

void
ls_query_note_range(ls_query_state *state)
{
	for (const ls_query_token *t = state->tokens; t->kind != '|' && t->kind != TOK_END; t++)
	{
		uint32_t before = state->query->warnings.n;
		ls_str word = ls_query_slice(state, t->span);
		range r;

		if (!read_range(state, t, &r))
			continue;
		ls_query_warn(state->query, state->arena, "RANGE_IN_TEXT", t->span,
					  "%.*s is searched as a word; the time range is written %.*s", (int) word.len,
					  word.data, (int) r.written.len, r.written.data);
		if (state->query->warnings.n > before)
			suggest(state, &r, false, &state->query->warnings.items[before]->suggestion);
		if (r.surely)
			return;
		ls_query_make_doubt(state, before);
		return;
	}
}

/* earliest=-1h, latest=now in a stage. */
static bool
read_scope(const ls_query_state *state, const ls_query_token *t, range *r)
{
	const ls_query_token *value = t + 2;
	uint32_t end;

	if ((!ls_str_eq(ls_query_slice(state, t->span), LS_STR("earliest")) &&
		 !ls_str_eq(ls_query_slice(state, t->span), LS_STR("latest"))) ||
		t[1].kind != '=' || value->kind == TOK_END)
		return false;
	/* The tokens of a stage are smaller: -1h is two. */
	for (end = value->span.end; value[1].kind != TOK_END && value[1].span.start == end &&
								value[1].kind != '|' && value[1].kind != ')';
		 value++)
		end = value[1].span.end;
	r->first = t;
	r->end = value + 1;
	ls_buf_init(&r->written, state->arena);
	ls_buf_str(&r->written, ls_query_slice(state, (ls_query_span){t->span.start, end}));
	return !r->written.failed;
}

/* A duration in an expression: the seconds that it is. */
static bool
guess_seconds(ls_query_state *state, const ls_query_token *token)
{
	ls_str text = ls_query_slice(state, token->span);
	bool ago = token[-1].kind == '(' && is_word(state, token - 2, "ago");
	bool past = token[-1].kind == '-' && ls_query_is_comparison(token[-2].kind);
	ls_query_time time;
	ls_buf shift;
	int64_t seconds;

	ls_buf_init(&shift, state->arena);
	ls_buf_char(&shift, '-');
	ls_buf_str(&shift, text);
	if (token->kind != TOK_DURATION || shift.failed ||
		!ls_query_time_parse(ls_str_make(shift.data, shift.len), &time))
		return false;
	switch (time.shift.unit)
	{
		case LS_QUERY_SECOND:
			seconds = 1;
			break;
		case LS_QUERY_MINUTE:
			seconds = 60;
			break;
		case LS_QUERY_HOUR:
			seconds = 3600;
			break;
		case LS_QUERY_DAY:
			seconds = 86400;
			break;
		case LS_QUERY_WEEK:
			seconds = 604800;
			break;
		default:
			return false;
	}
	seconds *= -time.shift.amount;
	if (state->stage != NULL && state->stage->kind == LS_QUERY_TIMECHART)
		ls_query_set_hint(state, "write timechart span=%.*s ...", (int) text.len, text.data);
	else if (ago || past)
		ls_query_set_hint(state, "write now() - %lld, or earliest=-%.*s in the head",
						  (long long) seconds, (int) text.len, text.data);
	else
		ls_query_set_hint(state, "a duration is a number here: %.*s are %lld seconds",
						  (int) text.len, text.data, (long long) seconds);
	return true;
}

/* Where the error is inside of a range, so many tokens back at most. */
#define MOST_BACK 5

bool
ls_query_guess_range(ls_query_state *state, const ls_query_token *token)
{
	const ls_query_token *t = token;
	range r;

	for (int back = 0; back <= MOST_BACK && t > state->tokens && t->kind != '|'; back++, t--)
	{
		if ((!read_range(state, t, &r) && !read_scope(state, t, &r)) || r.end <= token)
			continue;
		ls_query_set_hint(state, "the time range is written in the head: %.*s", (int) r.written.len,
						  r.written.data);
		suggest(state, &r, true, &state->error->suggestion);
		return true;
	}
	return token > state->tokens + 2 && guess_seconds(state, token);
}
