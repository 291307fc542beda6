/*-------------------------------------------------------------------------
 *
 * terms.c
 *	  Terms of the head that people know from other languages (pure).
 *
 * To the scanner, `status:500`, `-debug`, `event=~"x"` and `/conn.*refused/` are
 * one or more words.  Before keywords are found, this file cuts or joins them into
 * the tokens of the grammar.  A term that has no meaning here, and would find
 * nothing, gets a warning that says what to write instead.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Do the tokens touch? */
static bool
touch(const ls_query_token *a, const ls_query_token *b)
{
	return a->span.end == b->span.start;
}

/* Does the token begin a term?  Otherwise it is a value: after a comparison, or in a list. */
static bool
begins_term(const ls_query_state *state, uint32_t i)
{
	const ls_query_token *t = &state->tokens[i];

	if (i == 0)
		return true;
	if (ls_query_is_comparison(t[-1].kind) || t[-1].kind == ',')
		return false;
	return t[-1].kind != '(' || i < 2 || t[-2].kind != TOK_WORD ||
		   !ls_str_eq(ls_query_slice(state, t[-2].span), LS_STR("IN"));
}

/*
 * The length of the name before the first colon of a word; 0: the colon is part of
 * something else (a URL, a time, an address, a C++ name).
 */
static size_t
name_before_colon(ls_str word)
{
	size_t n = 0;

	if (word.len > 0 && (is_letter(word.data[0]) || word.data[0] == '@'))
		while (n < word.len && (is_letter(word.data[n]) || is_digit(word.data[n]) ||
								memchr("@.-/", word.data[n], 4) != NULL))
			n++;
	if (n == 0 || n == word.len || word.data[n] != ':' || word.data[n - 1] == '.')
		return 0;
	if (n + 1 < word.len &&
		(word.data[n + 1] == ':' || word.data[n + 1] == '/' || word.data[n + 1] == '.'))
		return n + 2 < word.len && word.data[n + 1] == '/' && word.data[n + 2] != '/' ? n : 0;
	return n;
}

/* Is the word a plain decimal number, as the scanner defines it? */
static bool
is_number(ls_str word)
{
	size_t n = word.len > 0 && word.data[0] == '-' ? 1 : 0;
	size_t digits = 0;

	while (n < word.len && is_digit(word.data[n]))
	{
		n++;
		digits++;
	}
	if (digits > 0 && n + 1 < word.len && word.data[n] == '.' && is_digit(word.data[n + 1]))
		for (n++; n < word.len && is_digit(word.data[n]);)
			n++;
	return digits > 0 && n == word.len;
}

/* Is it /a regular expression/ and not a path?  A path has no "any characters". */
static bool
is_regex(ls_str word)
{
	if (word.len < 4 || word.data[0] != '/' || word.data[word.len - 1] != '/')
		return false;
	for (size_t i = 1; i + 1 < word.len; i++)
		if (word.data[i] == '.' && (word.data[i + 1] == '*' || word.data[i + 1] == '+'))
			return true;
	return false;
}

static void
put(ls_query_token *tokens, uint32_t *n, int kind, uint32_t start, uint32_t end)
{
	tokens[*n].kind = kind;
	tokens[*n].span = (ls_query_span){start, end};
	(*n)++;
}

/* A word that may be a value: a number, a regular expression, a word. */
static int
kind_of(const ls_query_state *state, uint32_t start, uint32_t end)
{
	ls_str word = ls_query_slice(state, (ls_query_span){start, end});

	return is_number(word) ? TOK_NUMBER : is_regex(word) ? TOK_REGEX : TOK_WORD;
}

/* `search level=error`: a command with which each search begins in another language. */
static bool
is_command(ls_query_state *state)
{
	const ls_query_token *t = state->tokens;

	if (t->kind != TOK_WORD || !ls_str_eq_nocase(ls_query_slice(state, t->span), LS_STR("search")))
		return false;
	if (t[1].kind == TOK_WORD && ls_query_is_comparison(t[2].kind))
		return true;
	if (t[1].kind == TOK_WORD || t[1].kind == TOK_STRING || t[1].kind == TOK_NUMBER)
		state->has_command = true;
	if (state->has_command)
		ls_query_warn(state->query, state->arena, "SEARCH_IN_TEXT", t->span,
					  "search is searched as a word; leave it out, a query needs no command");
	return false;
}

/* =~ and !~ before a regular expression, as in other languages; how many tokens they are. */
static uint32_t
regex_operator(ls_query_state *state, uint32_t i, int *kind)
{
	const ls_query_token *t = &state->tokens[i];
	bool negated =
		t->kind == TOK_BAD_OPERATOR && ls_str_eq(ls_query_slice(state, t->span), LS_STR("!"));

	if ((t->kind != '=' && !negated) || t[1].kind != TOK_WORD || !touch(t, &t[1]) ||
		state->text.data[t[1].span.start] != '~')
		return 0;
	if (t[1].span.end - t[1].span.start > 1 || t[2].kind != TOK_STRING)
	{
		ls_query_span span = {t->span.start, t[1].span.start + 1};

		ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, span, "write field MATCHES \"...\"",
						 "a regular expression is written in quotes");
		return 0;
	}
	*kind = negated ? TOK_NOT_MATCHES : TOK_MATCHES;
	return 2;
}

static void
add_spaced_name(ls_query_state *state, ls_str name)
{
	ls_query *query = state->query;

	if (query->spaced_names == NULL)
		query->spaced_names = ls_new_array(state->arena, ls_str, LS_QUERY_MAX_SPACED_NAMES);
	if (query->spaced_names != NULL && query->n_spaced_names < LS_QUERY_MAX_SPACED_NAMES)
		query->spaced_names[query->n_spaced_names++] = name;
}

/* name: value, with a space: words here, a field in KQL. */
static void
note_spaced_name(ls_query_state *state, const ls_query_token *next, ls_query_span span)
{
	ls_str name = ls_query_slice(state, span);

	if (next->kind != TOK_WORD && next->kind != TOK_NUMBER && next->kind != TOK_STRING &&
		next->kind != '(' && !ls_query_is_comparison(next->kind))
		return;
	if (memchr(name.data, '.', name.len) != NULL || next->kind == TOK_STRING || next->kind == '(' ||
		ls_query_is_comparison(next->kind))
		state->other_language = true;
	add_spaced_name(state, name);
}

/* word~2, word^3, "a b"~5: Lucene's words that are similar, important or near each other. */
static bool
has_suffix(const ls_query_state *state, uint32_t i, ls_str word)
{
	size_t n = word.len;

	while (n > 0 && (is_digit(word.data[n - 1]) || word.data[n - 1] == '.'))
		n--;
	if (n == 0 || (word.data[n - 1] != '~' && (word.data[n - 1] != '^' || n == word.len)))
		return false;
	if (n == 1)
		return i > 0 && state->tokens[i - 1].kind == TOK_STRING &&
			   touch(&state->tokens[i - 1], &state->tokens[i]);
	return is_letter(word.data[0]) || is_digit(word.data[0]);
}

/* _time:5m and _stream:{...}: LogsQL's time range and labels; _all: any field in Elasticsearch. */
static bool
is_of_others(ls_str name)
{
	return ls_str_eq(name, LS_STR("_time")) || ls_str_eq(name, LS_STR("_stream")) ||
		   ls_str_eq(name, LS_STR("_all"));
}

/* +name:value, *:value */
static bool
is_of_lucene(ls_str word)
{
	if (word.len < 3)
		return false;
	return (word.data[0] == '*' && word.data[1] == ':' && word.data[2] != '*') ||
		   (word.data[0] == '+' && name_before_colon(ls_str_make(word.data + 1, word.len - 1)) > 0);
}

static bool
is_word(const ls_query_state *state, const ls_query_token *t, const char *word)
{
	return t->kind == TOK_WORD &&
		   ls_str_eq_nocase(ls_query_slice(state, t->span), ls_str_make(word, strlen(word)));
}

/* filter ..., order by ...: a stage of another language, or words. */
static bool
may_be_stage(const ls_query_state *state)
{
	static const char *const names[] = {"filter",  "fields", "display", "parse", "summarize",
										"project", "extend", "stats",   "sort"};
	const ls_query_token *t = state->tokens;

	if (is_word(state, t, "order"))
		return is_word(state, t + 1, "by");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_word(state, t, names[i]))
			return t[1].kind == TOK_WORD;
	return false;
}

/* SELECT ... FROM, a LIKE "...", a BETWEEN 1 AND 2: words here, surely meant as SQL. */
static bool
is_of_sql(const ls_query_state *state, uint32_t i)
{
	const ls_query_token *t = &state->tokens[i];

	if (i == 0 && (is_word(state, t, "SELECT") || is_word(state, t, "FROM")))
	{
		const char *other = is_word(state, t, "SELECT") ? "FROM" : "SELECT";

		for (t++; t->kind != TOK_END && t->kind != '|'; t++)
			if (is_word(state, t, other) && t[1].kind != TOK_END)
				return true;
		return false;
	}
	if (i == 0 || (t[-1].kind != TOK_WORD && t[-1].kind != TOK_BACKTICK))
		return false;
	if (t[1].kind == TOK_STRING)
		return is_word(state, t, "LIKE") || is_word(state, t, "ILIKE") ||
			   is_word(state, t, "REGEXP") || is_word(state, t, "RLIKE");
	return is_word(state, t, "BETWEEN") && t[1].kind == TOK_NUMBER &&
		   is_word(state, t + 2, "AND") && t[3].kind == TOK_NUMBER;
}

/* name IS NULL, which a text may say, too. */
static bool
is_null_test(const ls_query_state *state, uint32_t i)
{
	const ls_query_token *t = &state->tokens[i];

	return i > 0 && t[-1].kind == TOK_WORD && is_word(state, t, "IS") &&
		   is_word(state, is_word(state, t + 1, "NOT") ? t + 2 : t + 1, "NULL");
}

static bool
is_boolean(ls_str word)
{
	return ls_str_eq_nocase(word, LS_STR("AND")) || ls_str_eq_nocase(word, LS_STR("OR")) ||
		   ls_str_eq_nocase(word, LS_STR("NOT"));
}

static bool
is_time(ls_str name)
{
	return ls_query_builtin_find(name) == LS_QUERY_TIMESTAMP ||
		   ls_query_builtin_alias(name) == LS_QUERY_TIMESTAMP;
}

/* Makes the tokens for a word of the head; *used: how many of the scanner's tokens were read. */
static void
cut_word(ls_query_state *state, uint32_t i, ls_query_token *out, uint32_t *n)
{
	const ls_query_token *t = &state->tokens[i];
	uint32_t start = t->span.start;
	uint32_t end = t->span.end;
	const char *text = state->text.data;
	size_t name;

	if (end - start > 1 && text[start] == '-' &&
		(is_letter(text[start + 1]) || text[start + 1] == '@'))
	{
		put(out, n, '-', start, start + 1);
		start++;
	}
	else if (end - start == 1 && text[start] == '-' && touch(t, &t[1]) &&
			 (t[1].kind == TOK_STRING || t[1].kind == '(' || t[1].kind == TOK_BACKTICK))
	{
		put(out, n, '-', start, end);
		return;
	}
	name = name_before_colon(ls_query_slice(state, (ls_query_span){start, end}));
	/* After a name with only its colon, the value must touch: name:"a b", name:>=500, name:(a b). */
	if (name > 0 && start + name + 1 == end &&
		(!touch(t, &t[1]) ||
		 (t[1].kind != TOK_STRING && t[1].kind != '(' && !ls_query_is_comparison(t[1].kind))))
	{
		if (!touch(t, &t[1]))
			note_spaced_name(state, &t[1], (ls_query_span){start, start + (uint32_t) name});
		name = 0;
	}
	if (has_suffix(state, i, ls_query_slice(state, t->span)) ||
		is_of_lucene(ls_query_slice(state, t->span)) || is_of_sql(state, i))
		state->other_language = true;
	if (is_null_test(state, i))
		add_spaced_name(state, ls_query_slice(state, t[-1].span));
	if (name > 0 && is_of_others(ls_str_make(text + start, name)))
		state->other_language = true;
	/* timestamp:2026-01-31 is a moment here, a day in Lucene. */
	if (name > 0 && start + name + 1 < end && is_digit(text[start + name + 1]) &&
		is_time(ls_str_make(text + start, name)))
		state->other_language = true;
	/* +a b: in Lucene b need not be there. */
	if (text[start] == '+' && end - start > 1 && is_letter(text[start + 1]))
		state->has_plus = true;
	else if (start == t->span.start && is_letter(text[start]) &&
			 !is_boolean(ls_str_make(text + start, end - start)))
		state->has_plain = true;
	if (name > 0)
	{
		put(out, n, TOK_WORD, start, start + (uint32_t) name);
		start += (uint32_t) name;
		put(out, n, ':', start, start + 1);
		start++;
	}
	if (start < end)
		put(out, n, kind_of(state, start, end), start, end);
}

bool
ls_query_cut_terms(ls_query_state *state)
{
	/* Each token has at least one byte, so there are at most as many tokens as bytes. */
	ls_query_token *out = ls_new_array(state->arena, ls_query_token, state->text.len + 1);
	uint32_t n = 0;
	uint32_t i = 0;

	if (out == NULL)
		return false;
	if (state->n_tokens > 2)
	{
		state->maybe_stage = may_be_stage(state);
		state->is_select = is_of_sql(state, 0);
		i += is_command(state);
	}
	for (bool head = true; i < state->n_tokens; i++)
	{
		const ls_query_token *t = &state->tokens[i];
		uint32_t joined;
		int kind;

		head = head && t->kind != '|';
		/* TERM(x) of another language is the word x. */
		if (head && t->kind == TOK_WORD && t[1].kind == '(' && touch(t, &t[1]) &&
			begins_term(state, i) && ls_str_eq(ls_query_slice(state, t->span), LS_STR("TERM")))
			continue;
		if (head && t->kind == TOK_WORD && begins_term(state, i))
		{
			cut_word(state, i, out, &n);
			continue;
		}
		joined = head ? regex_operator(state, i, &kind) : 0;
		if (state->failed)
			return false;
		if (joined > 0)
		{
			put(out, &n, kind, t->span.start, t[1].span.end);
			i += joined - 1;
			continue;
		}
		out[n++] = *t;
	}
	state->other_language = state->other_language || (state->has_plus && state->has_plain);
	state->tokens = out;
	state->n_tokens = n;
	return true;
}
