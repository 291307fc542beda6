/*-------------------------------------------------------------------------
 *
 * cron.c
 *	  Cron expressions: reading them, and when they run (pure).
 *
 * A run is a local time, minute by minute; the instant of a local time is the first one at which
 * the clock shows it or a later time.  That function never goes back, so the first local time
 * whose instant is after a moment is the next run.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workspace/cron.h"

#include <stdio.h>

#define MINUTE (60 * LS_USECS_PER_SEC)
#define MINUTES_OF_DAY (24 * 60)

/* From one 29 February that is a Sunday to the next one it can be forty years. */
#define MOST_DAYS (41 * 366)

/* ---- reading ---- */

typedef struct cron_field
{
	const char *name;
	int first;
	int last;
	const char *words; /* three letters each, from `names_from` */
	int names_from;
	const char *expected;
} cron_field;

static const cron_field fields[] = {
	{"minute", 0, 59, "", 0, "0 to 59"},
	{"hour", 0, 23, "", 0, "0 to 23"},
	{"day of the month", 1, 31, "", 0, "1 to 31"},
	{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", 1, "1 to 12 or jan to dec"},
	{"day of the week", 0, 7, "sunmontuewedthufrisat", 0, "0 to 7 or sun to sat"},
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c + 'a' - 'A') : c;
}

/* Reads a number or a name at *at; false: there is none, or it is out of range. */
static bool
read_value(const cron_field *field, ls_str text, size_t *at, int *value)
{
	size_t i = *at;
	int n = 0;

	while (i < text.len && text.data[i] >= '0' && text.data[i] <= '9' && i - *at < 3)
		n = n * 10 + (text.data[i++] - '0');
	if (i == *at)
	{
		if (text.len - i < 3)
			return false;
		for (n = field->names_from;; n++)
		{
			const char *word = field->words + 3 * (n - field->names_from);

			if (word[0] == '\0')
				return false;
			if (lower(text.data[i]) == word[0] && lower(text.data[i + 1]) == word[1] &&
				lower(text.data[i + 2]) == word[2])
				break;
		}
		i += 3;
	}
	*at = i;
	*value = n;
	return n >= field->first && n <= field->last;
}

/* Reads one element of a list at *at and adds its bits. */
static bool
read_element(const cron_field *field, ls_str text, size_t *at, uint64_t *bits)
{
	int from = field->first;
	int to = field->last;
	int step = 1;
	bool range = true;

	if (*at < text.len && text.data[*at] == '*')
		++*at;
	else
	{
		if (!read_value(field, text, at, &from))
			return false;
		to = from;
		range = *at < text.len && text.data[*at] == '-';
		if (range)
		{
			++*at;
			if (!read_value(field, text, at, &to) || to < from)
				return false;
		}
	}
	if (*at < text.len && text.data[*at] == '/')
	{
		static const cron_field steps = {"", 1, 59, "", 0, ""};

		/* 5/15: other programs do not agree about what it means. */
		++*at;
		if (!range || !read_value(&steps, text, at, &step))
			return false;
	}
	for (int i = from; i <= to; i += step)
		*bits |= UINT64_C(1) << i;
	return true;
}

static bool
read_field(const cron_field *field, ls_str text, uint64_t *bits)
{
	size_t at = 0;

	*bits = 0;
	while (read_element(field, text, &at, bits))
	{
		if (at == text.len)
			return true;
		if (text.data[at++] != ',')
			return false;
	}
	return false;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The next word; empty at the end. */
static ls_str
next_word(ls_str text, size_t *at)
{
	size_t start;

	while (*at < text.len && is_blank(text.data[*at]))
		++*at;
	start = *at;
	while (*at < text.len && !is_blank(text.data[*at]))
		++*at;
	return ls_str_make(text.data + start, *at - start);
}

static ls_str
of_nickname(ls_str text)
{
	static const struct
	{
		ls_str name;
		ls_str cron;
	} nicknames[] = {
		{LS_STR("@hourly"), LS_STR("0 * * * *")},   {LS_STR("@daily"), LS_STR("0 0 * * *")},
		{LS_STR("@midnight"), LS_STR("0 0 * * *")}, {LS_STR("@weekly"), LS_STR("0 0 * * 0")},
		{LS_STR("@monthly"), LS_STR("0 0 1 * *")},  {LS_STR("@yearly"), LS_STR("0 0 1 1 *")},
		{LS_STR("@annually"), LS_STR("0 0 1 1 *")},
	};

	for (size_t i = 0; i < sizeof(nicknames) / sizeof(nicknames[0]); i++)
	{
		if (ls_str_eq_nocase(text, nicknames[i].name))
			return nicknames[i].cron;
	}
	return text;
}

/* Is there a day of one of the months? */
static bool
has_a_date(const ls_cron *cron)
{
	static const int longest[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	for (int month = 1; month <= 12; month++)
	{
		if ((cron->months >> month & 1) != 0 &&
			(cron->days & ((UINT64_C(2) << longest[month - 1]) - 1)) != 0)
			return true;
	}
	return false;
}

bool
ls_cron_parse(ls_str text, ls_cron *cron, char problem[LS_CRON_PROBLEM])
{
	uint64_t bits[FIELDS];
	bool any[FIELDS];
	size_t at = 0;

	text = of_nickname(ls_str_trim(text));
	for (size_t i = 0; i < FIELDS; i++)
	{
		ls_str word = next_word(text, &at);

		if (word.len == 0 || word.data[0] == '@')
		{
			snprintf(problem, LS_CRON_PROBLEM,
					 "expected five fields: minute, hour, day of the month, month, day of the "
					 "week; or @hourly, @daily, @weekly, @monthly, @yearly");
			return false;
		}
		any[i] = word.data[0] == '*';
		if (!read_field(&fields[i], word, &bits[i]))
		{
			snprintf(problem, LS_CRON_PROBLEM,
					 "%s: expected * or %s, ranges such as a-b, steps such as */n or a-b/n, lists "
					 "of these with commas",
					 fields[i].name, fields[i].expected);
			return false;
		}
	}
	if (next_word(text, &at).len > 0)
	{
		snprintf(problem, LS_CRON_PROBLEM, "expected five fields, and nothing after them");
		return false;
	}
	*cron = (ls_cron){.minutes = bits[0],
					  .hours = (uint32_t) bits[1],
					  .days = (uint32_t) bits[2],
					  .months = (uint32_t) bits[3],
					  .weekdays = (uint32_t) ((bits[4] | bits[4] >> 7) & 0x7F),
					  .either = !any[2] && !any[4]};
	if (!cron->either && !has_a_date(cron))
	{
		snprintf(problem, LS_CRON_PROBLEM, "none of these months has such a day");
		return false;
	}
	return true;
}

/* ---- minutes of a day ---- */

/* The first run of a day at or after a minute; MINUTES_OF_DAY: none. */
static int
next_minute(const ls_cron *cron, int minute)
{
	for (; minute < MINUTES_OF_DAY; minute++)
	{
		if ((cron->hours >> (minute / 60) & 1) == 0)
			minute += 59 - minute % 60;
		else if ((cron->minutes >> (minute % 60) & 1) != 0)
			return minute;
	}
	return MINUTES_OF_DAY;
}

int
ls_cron_shortest_gap(const ls_cron *cron)
{
	int first = next_minute(cron, 0);
	int last = first;
	int shortest = MINUTES_OF_DAY;

	for (int m = next_minute(cron, first + 1); m < MINUTES_OF_DAY; m = next_minute(cron, m + 1))
	{
		if (m - last < shortest)
			shortest = m - last;
		last = m;
	}
	/* From the last run of a day to the first of the next one. */
	return first + MINUTES_OF_DAY - last < shortest ? first + MINUTES_OF_DAY - last : shortest;
}

/* ---- instants ---- */

static int64_t
day_of(ls_time local)
{
	return local / LS_USECS_PER_DAY - (local % LS_USECS_PER_DAY < 0);
}

static bool
is_day(const ls_cron *cron, int64_t day)
{
	int64_t month = ls_query_month_of(day);
	int of_month = (int) (day - ls_query_month_start(month)) + 1;
	/* 1970-01-01 was a Thursday. */
	int of_week = (int) (((day + 4) % 7 + 7) % 7);
	int of_year = (int) ((month % 12 + 12) % 12) + 1;
	bool days = (cron->days >> of_month & 1) != 0;
	bool weekdays = (cron->weekdays >> of_week & 1) != 0;

	return (cron->months >> of_year & 1) != 0 &&
		   (cron->either ? days || weekdays : days && weekdays);
}

/* The first instant at which the clock shows a local time or a later one. */
static ls_time
instant_of(ls_time local, const ls_query_zone *zone)
{
	ls_time after = ls_query_time_utc(local, zone);
	ls_time before;

	if (ls_query_time_local(after, zone) == local)
		return after;
	/* It is skipped: ls_query_time_utc() is that far after the change as it is into the gap. */
	before = after - LS_USECS_PER_DAY;
	while (after - before > LS_USECS_PER_SEC)
	{
		ls_time middle = before + (after - before) / (2 * LS_USECS_PER_SEC) * LS_USECS_PER_SEC;

		if (ls_query_time_local(middle, zone) < local)
			before = middle;
		else
			after = middle;
	}
	return after;
}

bool
ls_cron_next(const ls_cron *cron, ls_time after, const ls_query_zone *zone, ls_time *next)
{
	ls_time local = ls_query_time_local(after, zone);
	int64_t day = day_of(local);
	int from = (int) ((local - day * LS_USECS_PER_DAY) / MINUTE);

	for (int i = 0; i < MOST_DAYS; i++, day++, from = 0)
	{
		if (!is_day(cron, day))
			continue;
		for (int m = next_minute(cron, from); m < MINUTES_OF_DAY; m = next_minute(cron, m + 1))
		{
			*next = instant_of(day * LS_USECS_PER_DAY + m * MINUTE, zone);
			if (*next > after)
				return true;
		}
	}
	return false;
}

bool
ls_cron_last(const ls_cron *cron, ls_time until, const ls_query_zone *zone, ls_time *last)
{
	ls_time limit = until - MOST_DAYS * LS_USECS_PER_DAY;
	ls_time span = 60 * MINUTE;
	ls_time end = until;

	/* Some run, then ever later ones. */
	while (!ls_cron_next(cron, until - span, zone, last) || *last > until)
	{
		if (until - span <= limit)
			return false;
		span *= 2;
	}
	while (end > *last)
	{
		ls_time middle = *last + (end - *last) / 2;
		ls_time found;

		if (ls_cron_next(cron, middle, zone, &found) && found <= until)
			*last = found;
		else
			end = middle;
	}
	return true;
}
