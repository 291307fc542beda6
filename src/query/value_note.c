/*-------------------------------------------------------------------------
 *
 * value_note.c
 *	  Warnings about values of the head that are probably meant as more than a text.
 *
 * status=5xx, size=10-20, level="error|warn", name=pay%, user=null, an id among the words: each is compared as it
 * is written, which may be right.  So they are looked at only where a search has found nothing or made a table,
 * where they are excluded, and when a query is validated.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
}

void
ls_search_suggest(ls_search *search, const char *code, ls_query_span at, ls_query_span span,
				  const char *replacement, const char *message)
{
	ls_query *query = search->query;
	uint32 n = query->warnings.n;
	ls_buf text;

	ls_query_warn(query, search->arena, code, at, "%s", message);
	/* There may be too many warnings. */
	if (query->warnings.n == n)
		return;
	ls_buf_init(&text, search->arena);
	ls_buf_append(&text, query->text.data, span.start);
	ls_buf_append(&text, replacement, strlen(replacement));
	ls_buf_append(&text, query->text.data + span.end, query->text.len - span.end);
	if (ls_query_is_query(&text))
		query->warnings.items[n]->suggestion = ls_str_make(text.data, text.len);
}

bool
ls_search_is_noted(const ls_search *search, ls_query_span span)
{
	const ls_query_warnings *warnings = &search->query->warnings;

	for (uint32 i = 0; i < warnings->n; i++)
		if (warnings->items[i]->span.start < span.end && warnings->items[i]->span.end > span.start)
			return true;
	return false;
}

/* As it is written in the query. */
static char *
written(const ls_search *search, ls_query_span span)
{
	return ls_cstring_of_str(
		ls_str_make(search->query->text.data + span.start, span.end - span.start));
}

/* The same comparison with another value; in a list only the value. */
static void
warn_value(ls_search *search, const ls_query_value *value, const char *code, const char *meant,
		   const char *what)
{
	ls_search_suggest(search, code, value->span, value->span, meant,
					  psprintf("%s; write %s", what, meant));
}

/* 500-599, 500..599 */
static bool
is_range(ls_str text, ls_str *from, ls_str *to)
{
	size_t n = 0;
	size_t sign;

	while (n < text.len && is_digit(text.data[n]))
		n++;
	*from = ls_str_make(text.data, n);
	sign = n < text.len && text.data[n] == '-'                                  ? 1
		   : n + 1 < text.len && text.data[n] == '.' && text.data[n + 1] == '.' ? 2
																				: 0;
	*to = ls_str_make(text.data + n + sign, text.len - n - sign);
	return n > 0 && n < 16 && sign > 0 && to->len < 16 && to->len >= n && ls_query_is_number(*to) &&
		   (to->len > n || memcmp(to->data, from->data, n) > 0);
}

/* The words of "error|warn" as a list; NULL: it is no such text. */
static char *
alternatives(const ls_query_value *value)
{
	StringInfoData list;
	ls_str text = value->text;
	size_t start = 0;

	if (value->kind != LS_QUERY_STRING || memchr(text.data, '|', text.len) == NULL)
		return NULL;
	initStringInfo(&list);
	for (size_t i = 0; i <= text.len; i++)
	{
		if (i < text.len && text.data[i] != '|')
		{
			if (!is_letter(text.data[i]) && !is_digit(text.data[i]) &&
				strchr("-_./", text.data[i]) == NULL)
				return NULL;
			continue;
		}
		if (i == start)
			return NULL;
		appendStringInfo(&list, "%s\"%.*s\"", start > 0 ? ", " : "", (int) (i - start),
						 text.data + start);
		start = i + 1;
	}
	return list.data;
}

/* pay%: with * for the % at its ends; NULL: it has none, or may be a percentage. */
static char *
percent_wildcard(ls_str text)
{
	bool letter = false;
	char *meant = pnstrdup(text.data, text.len);

	if (text.len < 2 || (text.data[0] != '%' && text.data[text.len - 1] != '%'))
		return NULL;
	for (size_t i = 0; i < text.len; i++)
	{
		bool end = i == 0 || i + 1 == text.len;

		letter = letter || is_letter(text.data[i]);
		if (text.data[i] == '%' && end)
			meant[i] = '*';
		else if (!is_letter(text.data[i]) && !is_digit(text.data[i]) &&
				 strchr("-_./", text.data[i]) == NULL)
			return NULL;
	}
	return letter ? meant : NULL;
}

/* user=null, and what others write for it. */
static bool
is_null(const ls_query_value *value, bool unequal)
{
	static const char *const names[] = {"null", "none", "nil", "undefined"};

	for (size_t i = 0; i < lengthof(names); i++)
		if (value->kind == LS_QUERY_WORD &&
			ls_str_eq_nocase(value->text, ls_str_of_cstring(names[i])))
			return true;
	return value->text.len == 0 && !unequal;
}

/* event=refused compares all of the text. */
static void
note_whole_text(ls_search *search, const ls_query_filter *filter, const ls_query_value *value)
{
	char *meant;

	/* "*refused*" has a warning. */
	if (memchr(value->text.data, '*', value->text.len) != NULL)
		return;
	meant = value->kind == LS_QUERY_STRING
				? psprintf("event CONTAINS %s", written(search, value->span))
				: written(search, value->span);

	ls_search_suggest(
		search, "WHOLE_TEXT", value->span, filter->span, meant,
		psprintf("this compares the whole text of an event; for a part of it write %s", meant));
}

/* timestamp=2026-01-31, or that day as a word. */
static void
note_instant(ls_search *search, const ls_query_filter *filter, const ls_query_value *value)
{
	ls_query_period period;
	ls_buf range;

	if (ls_query_has_suggestion(&search->query->warnings, search->query->warnings.n))
		return;
	if (value->text.len < (filter->kind == LS_QUERY_FILTER_TEXT ? 8 : 5) ||
		memchr(value->text.data, '-', value->text.len) == NULL ||
		!ls_query_period_parse(value->text, &period))
		return;
	ls_buf_init(&range, search->arena);
	ls_buf_lit(&range, "earliest=");
	ls_query_write_instant(&range, period.from, period.local);
	ls_buf_lit(&range, " latest=");
	ls_query_write_instant(&range, period.to, period.local);
	if (!range.failed)
		ls_search_suggest(
			search, "RANGE_IN_TEXT", value->span, filter->span, pnstrdup(range.data, range.len),
			psprintf("%s; the time range is written %.*s",
					 filter->kind == LS_QUERY_FILTER_TEXT ? "a date is searched as a text"
														  : "this is one instant",
					 (int) range.len, range.data));
}

static void
note_equal(ls_search *search, const ls_query_filter *filter, const ls_query_value *value)
{
	char *field = written(search, filter->field->span);
	bool list = filter->kind == LS_QUERY_FILTER_IN;
	bool unequal = !list && filter->op == LS_QUERY_OP_NE;
	ls_str text = value->text;
	ls_str from;
	ls_str to;
	char *meant;

	if (value->wildcard)
		return;
	if (!list && is_null(value, unequal))
	{
		meant = psprintf("%s%s=*", unequal ? "" : "NOT ", field);
		ls_search_suggest(search, "NULL_AS_TEXT", value->span, filter->span, meant,
						  psprintf("%s is compared as a text; events %s this field are found by %s",
								   text.len == 0 ? "\"\"" : written(search, value->span),
								   unequal ? "with" : "without", meant));
	}
	else if (text.len == 0)
		return;
	else if (!list && !unequal && filter->field->builtin == LS_QUERY_EVENT)
		note_whole_text(search, filter, value);
	else if (!list && !unequal && filter->field->builtin == LS_QUERY_TIMESTAMP)
		note_instant(search, filter, value);
	else if (text.len == 3 && text.data[0] >= '1' && text.data[0] <= '5' &&
			 ls_str_eq_nocase(ls_str_make(text.data + 1, 2), LS_STR("xx")))
		warn_value(search, value, "WILDCARD_AS_TEXT", psprintf("%c*", text.data[0]),
				   "an x is compared as a letter, the wildcard is *");
	else if ((meant = percent_wildcard(text)) != NULL)
		warn_value(search, value, "WILDCARD_AS_TEXT", meant,
				   "a % is compared as a character, the wildcard is *");
	else if (!list && value->kind == LS_QUERY_WORD && is_range(text, &from, &to))
	{
		/* Neither finds events without the field. */
		meant = psprintf(unequal ? "(%s<%.*s OR %s>%.*s)" : "(%s>=%.*s %s<=%.*s)", field,
						 (int) from.len, from.data, field, (int) to.len, to.data);
		ls_search_suggest(
			search, "RANGE_AS_TEXT", value->span, filter->span, meant,
			psprintf("this is compared as a text; a range of numbers is written %s", meant));
	}
	else if ((meant = alternatives(value)) != NULL)
	{
		if (!list)
			meant = psprintf("%s %sIN (%s)", field, unequal ? "NOT " : "", meant);
		ls_search_suggest(search, "LIST_AS_TEXT", value->span, list ? value->span : filter->span,
						  meant,
						  psprintf("in quotes a | is an ordinary character; write %s", meant));
	}
}

static void
note_order(ls_search *search, const ls_query_filter *filter)
{
	const ls_query_value *value = filter->values.items[0];
	ls_time time;

	/* What begins with a digit is told by the parser. */
	if (filter->field->builtin != LS_QUERY_NOT_BUILTIN || value->text.len == 0 ||
		(value->kind == LS_QUERY_WORD && is_digit(value->text.data[0])))
		return;
	if (value->kind == LS_QUERY_WORD ||
		(value->kind == LS_QUERY_STRING && is_digit(value->text.data[0]) &&
		 is_letter(value->text.data[value->text.len - 1]) &&
		 !ls_time_parse_iso(value->text, &time)))
		ls_query_warn(search->query, search->arena, "TEXT_COMPARISON", value->span,
					  "%.*s is no number and is compared as a text",
					  (int) ls_utf8_prefix_chars(value->text.data, value->text.len, 60),
					  value->text.data);
}

/* The text without stars at its ends; NULL: it has none there, or others too. */
static char *
without_stars(ls_str text)
{
	ls_str inner = text;

	if (inner.len > 0 && inner.data[0] == '*')
		inner = ls_str_make(inner.data + 1, inner.len - 1);
	if (inner.len > 0 && inner.data[inner.len - 1] == '*')
		inner.len--;
	if (inner.len == text.len || inner.len == 0 || memchr(inner.data, '*', inner.len) != NULL ||
		memchr(inner.data, '"', inner.len) != NULL || memchr(inner.data, '\\', inner.len) != NULL)
		return NULL;
	if ((text.data[0] == '*' && !is_letter(inner.data[0]) && !is_digit(inner.data[0])) ||
		(text.data[text.len - 1] == '*' && !is_letter(inner.data[inner.len - 1]) &&
		 !is_digit(inner.data[inner.len - 1])))
		return NULL;
	return ls_cstring_of_str(inner);
}

/* "conn*refused" as a regular expression; NULL: its stars are no wildcards. */
static char *
inner_wildcard(ls_str text)
{
	StringInfoData regex;
	bool inner = false;

	initStringInfo(&regex);
	appendStringInfoString(&regex, "(?i)");
	for (size_t i = 0; i < text.len; i++)
	{
		char c = text.data[i];
		bool end = i == 0 || i + 1 == text.len;

		if (c == '*' && !end)
		{
			/* A sign of arithmetic, or a comment. */
			if (strchr("* \t/(", text.data[i - 1]) != NULL &&
				strchr("* \t/)", text.data[i + 1]) != NULL)
				return NULL;
			inner = true;
			appendStringInfoString(&regex, text.data[i - 1] == '.' ? "*" : ".*");
		}
		else if (c == '"' || c == '\\' || c == '\n')
			return NULL;
		else if (c != '*')
		{
			if (strchr("^$.[]()+?{}|", c) != NULL && text.data[i + (i + 1 < text.len)] != '*')
				appendStringInfoChar(&regex, '\\');
			appendStringInfoChar(&regex, c);
		}
	}
	return inner ? regex.data : NULL;
}

/* In a phrase or CONTAINS "conn*refused". */
static void
note_inner_wildcard(ls_search *search, const ls_query_filter *filter)
{
	const ls_query_value *value = filter->values.items[0];
	char *regex = inner_wildcard(value->text);
	char *meant;

	/* A translation says more. */
	for (uint32 i = 0; i < search->query->warnings.n; i++)
		if (strcmp(search->query->warnings.items[i]->code, "OTHER_LANGUAGE") == 0)
			return;
	if (regex == NULL)
		return;
	meant = psprintf("%s %sMATCHES \"%s\"",
					 filter->field == NULL ? "event" : written(search, filter->field->span),
					 filter->negated ? "NOT " : "", regex);
	ls_search_suggest(search, value->wildcard ? "WILDCARD_IN_WORD" : "WILDCARD_IN_QUOTES",
					  value->span, filter->span, meant,
					  psprintf(value->wildcard
								   ? "a * stands for a part of one word; for more write %s"
								   : "in quotes a * is an ordinary character; write %s",
							   meant));
}

static void
note_text(ls_search *search, const ls_query_filter *filter, bool nothing)
{
	const ls_query_value *value = filter->values.items[0];
	ls_str text = value->text;
	size_t hex = 0;
	char *inner;

	if (value->kind == LS_QUERY_STRING && (inner = without_stars(text)) != NULL)
	{
		char *meant = filter->kind == LS_QUERY_FILTER_TEXT
						  ? psprintf("event CONTAINS \"%s\"", inner)
						  : psprintf("\"%s\"", inner);

		warn_value(search, value, "WILDCARD_IN_QUOTES", meant,
				   "in quotes a * is an ordinary character");
		return;
	}
	if (nothing && (value->kind == LS_QUERY_STRING ||
					(value->wildcard && filter->kind == LS_QUERY_FILTER_TEXT)))
		note_inner_wildcard(search, filter);
	if (nothing && filter->kind == LS_QUERY_FILTER_TEXT && !value->wildcard)
		note_instant(search, filter, value);
	if (filter->kind != LS_QUERY_FILTER_TEXT || !nothing || value->wildcard)
		return;
	while (hex < text.len && strchr("0123456789abcdefABCDEF", text.data[hex]) != NULL)
		hex++;
	if (hex == text.len && (hex == 32 || hex == 16))
		warn_value(
			search, value, "ID_IN_TEXT",
			psprintf("%s=%.*s", hex == 32 ? "trace_id" : "span_id", (int) text.len, text.data),
			"this is searched as a word");
	else if (text.len > 4 && memcmp(text.data, "evt_", 4) == 0)
		warn_value(search, value, "ID_IN_TEXT", psprintf("id=%.*s", (int) text.len, text.data),
				   "this is searched as a word");
}

/* What is excluded finds events whatever it is; other values are right where events were found. */
static void
note(ls_search *search, const ls_query_filter *filter, ls_search_found found, bool excluded)
{
	bool nothing = found == LS_SEARCH_NOTHING;

	excluded = excluded || filter->kind == LS_QUERY_FILTER_NOT || filter->negated ||
			   (filter->kind == LS_QUERY_FILTER_COMPARE && filter->op == LS_QUERY_OP_NE);
	for (uint32 i = 0; i < filter->n_children; i++)
		note(search, filter->children[i], found, excluded);
	if (found == LS_SEARCH_EVENTS && !excluded)
		return;
	if (filter->kind == LS_QUERY_FILTER_TEXT || filter->kind == LS_QUERY_FILTER_CONTAINS)
		note_text(search, filter, nothing);
	else if (filter->kind == LS_QUERY_FILTER_COMPARE && filter->op > LS_QUERY_OP_NE)
		note_order(search, filter);
	else if (filter->kind == LS_QUERY_FILTER_COMPARE || filter->kind == LS_QUERY_FILTER_IN)
		for (uint32 i = 0; i < filter->values.n; i++)
			note_equal(search, filter, filter->values.items[i]);
}

void
ls_search_note_values(ls_search *search, ls_search_found found)
{
	if (found != LS_SEARCH_EVENTS)
		ls_query_say_doubts(search->query, search->arena);
	if (search->query->filter != NULL)
		note(search, search->query->filter, found, false);
}
