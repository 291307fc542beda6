/*-------------------------------------------------------------------------
 *
 * time_hint.c
 *	  What to write for a time that the language does not take (pure).
 *
 * People bring days as words, dates of access logs, clocks with am and pm.  Where one can mean a whole
 * period, its begin or its end, it is not guessed: the hint says how to write what was meant.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The number of digits at the start of the text, and their value. */
static size_t
number(ls_str *s, int *value)
{
	size_t n = 0;

	*value = 0;
	while (n < s->len && n < 4 && is_digit(s->data[n]))
		*value = *value * 10 + (s->data[n++] - '0');
	*s = ls_str_make(s->data + n, s->len - n);
	return n;
}

static bool
take(ls_str *s, char c)
{
	if (s->len == 0 || s->data[0] != c)
		return false;
	*s = ls_str_make(s->data + 1, s->len - 1);
	return true;
}

/* ---- what follows now ---- */

static size_t
after_blanks(ls_str text, size_t i)
{
	while (i < text.len && (text.data[i] == ' ' || text.data[i] == '\t' || text.data[i] == '\n'))
		i++;
	return i;
}

static size_t
after_letters(ls_str text, size_t i)
{
	while (i < text.len && ((text.data[i] | 0x20) >= 'a' && (text.data[i] | 0x20) <= 'z'))
		i++;
	return i;
}

ls_str
ls_query_time_after_now(ls_str text, ls_arena *arena)
{
	size_t i = after_blanks(text, 0);
	size_t digits;
	size_t unit;
	ls_query_time time;
	ls_buf out;

	if (i >= text.len || text.data[i] != '(')
		return LS_STR("now");
	i = after_blanks(text, i + 1);
	if (i >= text.len || text.data[i] != ')')
		return LS_STR("");
	i = after_blanks(text, i + 1);
	if (i >= text.len || (text.data[i] != '-' && text.data[i] != '+'))
		return LS_STR("now");
	ls_buf_init(&out, arena);
	ls_buf_append(&out, text.data + i, 1);
	i = after_blanks(text, i + 1);
	unit = after_letters(text, i);
	if (ls_str_eq_nocase(ls_str_make(text.data + i, unit - i), LS_STR("interval")))
	{
		i = after_blanks(text, unit);
		if (i < text.len && (text.data[i] == '\'' || text.data[i] == '"'))
			i++;
	}
	digits = i;
	while (i < text.len && text.data[i] >= '0' && text.data[i] <= '9')
		i++;
	ls_buf_append(&out, text.data + digits, i - digits);
	unit = after_letters(text, i);
	if (unit == i && after_letters(text, after_blanks(text, i)) > i)
	{
		i = after_blanks(text, i);
		unit = after_letters(text, i);
		if (unit - i <= 3) /* now() - 3600 AND ...: a word of the query */
			unit = i;
	}
	if (unit > i)
		ls_buf_append(&out, text.data + i, unit - i);
	else
		ls_buf_lit(&out, "s");
	if (out.failed || !ls_query_time_parse(ls_str_make(out.data, out.len), &time))
		return LS_STR("");
	return ls_str_make(out.data, out.len);
}

/* ---- days as words ---- */

static bool
hint_day(ls_str text, bool latest, ls_buf *hint)
{
	static const char *const days[] = {"monday", "tuesday",  "wednesday", "thursday",
									   "friday", "saturday", "sunday"};
	static const struct
	{
		const char *word;
		const char *meant;
	} words[] = {{"today", "earliest=@d"},
				 {"yesterday", "earliest=-1d@d latest=@d"},
				 {"tomorrow", "earliest=@d+1d latest=@d+2d"},
				 {"midnight", "@d"},
				 {"noon", "12:00"}};
	int day = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ls_str_eq_nocase(text, ls_str_make(words[i].word, strlen(words[i].word))))
		{
			ls_buf_printf(hint, "%s is %s%s", words[i].word, words[i].meant,
						  latest && i == 0 ? "; its end is now" : "");
			return true;
		}
	while (day < 7)
	{
		ls_str name = ls_str_make(days[day], strlen(days[day]));

		if (ls_str_eq_nocase(text, name) || ls_str_eq_nocase(text, ls_str_make(name.data, 3)))
			break;
		day++;
	}
	if (day == 7)
		return false;
	/* Weeks begin on Monday. */
	ls_buf_printf(hint, "%s of this week is earliest=@w", days[day]);
	if (day > 0)
		ls_buf_printf(hint, "+%dd", day);
	ls_buf_printf(hint, " latest=@w+%dd, of last week earliest=-1w@w", day + 1);
	if (day > 0)
		ls_buf_printf(hint, "+%dd", day);
	ls_buf_printf(hint, " latest=-1w@w+%dd", day + 1);
	return true;
}

/* ---- dates and clocks ---- */

/* "9", "9:05", "09:05:07", with am or pm; what is behind it stays in *s. */
static bool
read_clock(ls_str *s, int clock[3], bool *half)
{
	ls_str rest = *s;
	int fields = 1;

	clock[1] = clock[2] = 0;
	if (number(&rest, &clock[0]) < 1 || clock[0] > 23)
		return false;
	for (; fields < 3 && take(&rest, ':'); fields++)
		if (number(&rest, &clock[fields]) != 2 || clock[fields] > 59)
			return false;
	while (take(&rest, ' '))
		;
	*half = rest.len >= 2 && (rest.data[1] | 0x20) == 'm' &&
			((rest.data[0] | 0x20) == 'a' || (rest.data[0] | 0x20) == 'p');
	if (*half)
	{
		if (clock[0] < 1 || clock[0] > 12)
			return false;
		clock[0] = clock[0] % 12 + ((rest.data[0] | 0x20) == 'p' ? 12 : 0);
		rest = ls_str_make(rest.data + 2, rest.len - 2);
	}
	*s = rest;
	return fields > 1 || *half;
}

static bool
write_clock(ls_buf *hint, const int clock[3])
{
	ls_buf_printf(hint, "%02d:%02d", clock[0], clock[1]);
	if (clock[2] > 0)
		ls_buf_printf(hint, ":%02d", clock[2]);
	return true;
}

/* 28/Nov/2026, 28 Nov 2026, 28.11.2026, 2026/11/28, 2026-1-5, 20261128: which of them is plain. */
static bool
read_date(ls_str *s, int *year, int *month, int *day)
{
	static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
	ls_str rest = *s;
	char sign;
	int first;
	size_t n = number(&rest, &first);

	if (n == 0 || rest.len == 0)
		return false;
	sign = rest.data[0];
	if (n == 4 && (sign == '/' || sign == '-' || sign == '.'))
	{
		*year = first;
		if (!take(&rest, sign) || number(&rest, month) < 1 || !take(&rest, sign) ||
			number(&rest, day) < 1)
			return false;
	}
	else if (n <= 2 && (sign == '/' || sign == '-' || sign == ' ') && rest.len > 4 &&
			 !is_digit(rest.data[1]))
	{
		*day = first;
		for (*month = 1; *month <= 12; ++*month)
			if (ls_str_eq_nocase(ls_str_make(rest.data + 1, 3),
								 ls_str_make(names + (*month - 1) * 3, 3)))
				break;
		rest = ls_str_make(rest.data + 4, rest.len - 4);
		if (!take(&rest, sign) || number(&rest, year) != 4)
			return false;
	}
	else if (n <= 2 && sign == '.')
	{
		*day = first;
		if (!take(&rest, sign) || number(&rest, month) < 1 || !take(&rest, sign) ||
			number(&rest, year) != 4)
			return false;
	}
	else
		return false;
	*s = rest;
	return *month >= 1 && *month <= 12 && *day >= 1 && *day <= 31;
}

static bool
hint_date(ls_str text, ls_buf *hint)
{
	int year, month, day;
	int clock[3];
	bool half;

	if (!read_date(&text, &year, &month, &day))
		return false;
	ls_buf_printf(hint, "write %04d-%02d-%02d", year, month, day);
	if (text.len == 0)
		return true;
	text = ls_str_make(text.data + 1, text.len - 1);
	if (!read_clock(&text, clock, &half))
		return true;
	ls_buf_char(hint, 'T');
	write_clock(hint, clock);
	/* +0100 */
	take(&text, ' ');
	if (text.len == 5 && (text.data[0] == '+' || text.data[0] == '-'))
		ls_buf_printf(hint, "%.3s:%.2s", text.data, text.data + 3);
	else if (text.len == 1 && text.data[0] == 'Z')
		ls_buf_char(hint, 'Z');
	return true;
}

static bool
hint_clock(ls_str text, ls_buf *hint)
{
	int clock[3];
	bool half;

	if (!read_clock(&text, clock, &half) || text.len > 0)
		return false;
	ls_buf_lit(hint, "write ");
	return write_clock(hint, clock);
}

/* ---- lengths ---- */

/* 1h ago, 2 hours, -15 min, now/d, now-1d/d */
static bool
hint_length(ls_str text, ls_buf *hint)
{
	ls_str ago = LS_STR(" ago");
	ls_str given = text;
	size_t start = hint->len + strlen("write ");
	ls_query_time time;
	size_t n = 0;

	if (text.len > ago.len &&
		ls_str_eq_nocase(ls_str_make(text.data + text.len - ago.len, ago.len), ago))
		text.len -= ago.len;
	ls_buf_lit(hint, "write ");
	if (text.len >= 3 && memcmp(text.data, "now", 3) == 0)
		n = 3;
	else if (is_digit(text.data[0]))
		ls_buf_char(hint, '-');
	for (; n < text.len; n++)
		if (text.data[n] == '/')
			ls_buf_char(hint, '@');
		else if (text.data[n] != ' ')
			ls_buf_char(hint, text.data[n]);
	/* What can be read may be out of range. */
	return !hint->failed && hint->len > start &&
		   !ls_str_eq(given, ls_str_make(hint->data + start, hint->len - start)) &&
		   ls_query_time_parse(ls_str_make(hint->data + start, hint->len - start), &time);
}

void
ls_query_time_hint(ls_str text, bool latest, ls_buf *hint)
{
	size_t start = hint->len;

	if (text.len == 0 || text.len > 64)
		return;
	if (hint_day(text, latest, hint) || hint_date(text, hint) || hint_clock(text, hint) ||
		hint_length(text, hint))
		return;
	hint->len = start;
	if (memchr(text.data, '/', text.len) != NULL)
		ls_buf_lit(hint, "a date is written 2026-01-31, a time 2026-01-31T15:00:00Z");
	else if (text.len > 2 && text.data[text.len - 2] == 'w' && is_digit(text.data[text.len - 1]))
		ls_buf_lit(hint, "weeks begin on Monday: write @w");
	else if (text.data[text.len - 1] == 'M' && text.len > 1 && is_digit(text.data[text.len - 2]))
		ls_buf_lit(hint, "minutes are m, months are mon");
}

bool
ls_query_begin_parse(ls_str text, ls_query_time *time)
{
	ls_str written = text;
	bool good;

	if (ls_str_eq_nocase(text, LS_STR("today")))
		written = LS_STR("@d");
	else if (ls_str_eq_nocase(text, LS_STR("yesterday")))
		written = LS_STR("-1d@d");
	good = ls_query_time_parse(written, time);
	time->text = text;
	return good;
}
