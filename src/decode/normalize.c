/*-------------------------------------------------------------------------
 *
 * normalize.c
 *	  Times as clients send them, to the form that is stored (pure).
 *
 * Clients disagree about the unit of an epoch, and a log platform that refuses
 * an event for that loses it.  So units are told by magnitude.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/decode.h"

#include <math.h>
#include <stdlib.h>

/* 0001-01-01 and 9999-12-31T23:59:59.999999, in seconds. */
#define MIN_SECONDS INT64_C(-62135596800)
#define MAX_SECONDS INT64_C(253402300799)

/* Digits of the unit after seconds: 0, 3, 6 or 9. */
static int
unit_of(uint64_t magnitude)
{
	if (magnitude < UINT64_C(100000000000))
		return 0;
	if (magnitude < UINT64_C(100000000000000))
		return 3;
	if (magnitude < UINT64_C(100000000000000000))
		return 6;
	return 9;
}

static bool
in_range(ls_time time)
{
	return time >= MIN_SECONDS * LS_USECS_PER_SEC && time < (MAX_SECONDS + 1) * LS_USECS_PER_SEC;
}

/* A number with an exponent: rare, and a double is exact enough. */
static bool
time_of_double(ls_str number, ls_time *time)
{
	char copy[64];
	double value, seconds;

	if (number.len >= sizeof(copy))
		return false;
	memcpy(copy, number.data, number.len);
	copy[number.len] = '\0';
	value = strtod(copy, NULL);
	if (!(fabs(value) < 1e19))
		return false;
	seconds = value / pow(10, unit_of((uint64_t) fabs(value)));
	if (!(seconds >= (double) MIN_SECONDS && seconds < (double) MAX_SECONDS))
		return false;
	*time = (ls_time) llround(seconds * 1e6);
	return in_range(*time);
}

static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};

ls_time
ls_normalize_time_whole(uint64_t number)
{
	int unit = unit_of(number);

	/* Below 1e17 times 10^(6 - unit) stays below 1e17: no overflow. */
	return (ls_time) (unit == 9 ? number / 1000 : number * powers[6 - unit]);
}

bool
ls_normalize_time_number(ls_str number, ls_time *time)
{
	bool negative = number.len > 0 && number.data[0] == '-';
	size_t i = negative;
	uint64_t whole = 0;
	uint64_t fraction = 0;
	int fraction_digits = 0;
	int unit;
	int64_t micros;

	for (; i < number.len && number.data[i] >= '0' && number.data[i] <= '9'; i++)
	{
		if (whole > (UINT64_MAX - 9) / 10)
			return time_of_double(number, time);
		whole = whole * 10 + (uint64_t) (number.data[i] - '0');
	}
	if (i == (size_t) negative)
		return false;
	if (i < number.len && number.data[i] == '.')
	{
		for (i++; i < number.len && number.data[i] >= '0' && number.data[i] <= '9'; i++)
		{
			if (fraction_digits < 6)
			{
				fraction = fraction * 10 + (uint64_t) (number.data[i] - '0');
				fraction_digits++;
			}
		}
	}
	if (i < number.len)
		return (number.data[i] == 'e' || number.data[i] == 'E') && time_of_double(number, time);

	unit = unit_of(whole);
	micros = ls_normalize_time_whole(whole);
	if (unit < 9)
		micros += (int64_t) (fraction * powers[6 - unit] / powers[fraction_digits]);
	*time = negative ? -micros : micros;
	return in_range(*time);
}

/* ---- times as people and older software write them ---- */

#define LONGEST_TIME 40

static bool
is_digits(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	return true;
}

/* The month with this name of three letters, as two digits; NULL: none. */
static const char *
month_of(const char *s)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	static const char digits[] = "010203040506070809101112";

	for (size_t i = 0; i < 12; i++)
		if (memcmp(names + 3 * i, s, 3) == 0)
			return digits + 2 * i;
	return NULL;
}

/* " +0100", " UTC", " GMT", " Z" or nothing, after a time. */
static bool
append_zone(ls_buf *iso, ls_str rest)
{
	if (rest.len > 0 && rest.data[0] == ' ')
		rest = ls_str_make(rest.data + 1, rest.len - 1);
	if (ls_str_eq(rest, LS_STR("UTC")) || ls_str_eq(rest, LS_STR("GMT")))
		rest = LS_STR("Z");
	ls_buf_str(iso, rest);
	return rest.len < 8;
}

/* 28/Nov/2026:10:00:00 +0100, and with blanks for the signs: a day, a month by name, a year, a clock. */
static bool
write_named_month(ls_buf *iso, ls_str text)
{
	size_t day = 0;
	const char *month;

	while (day < text.len && day < 2 && is_digits(text.data + day, 1))
		day++;
	if (day == 0 || text.len < day + 18)
		return false;
	month = month_of(text.data + day + 1);
	if (month == NULL || !is_digits(text.data + day + 5, 4))
		return false;
	ls_buf_printf(iso, "%.4s-%.2s-%s%.*sT", text.data + day + 5, month, day == 1 ? "0" : "",
				  (int) day, text.data);
	ls_buf_append(iso, text.data + day + 10, 8);
	return append_zone(iso, ls_str_make(text.data + day + 18, text.len - day - 18));
}

/* Nov 28 10:00:00 2026, and with a zone before the year. */
static bool
write_ctime(ls_buf *iso, ls_str text)
{
	const char *month = text.len >= 20 ? month_of(text.data) : NULL;
	const char *year = text.data + text.len - 4;

	if (month == NULL || !is_digits(year, 4) || year[-1] != ' ')
		return false;
	ls_buf_printf(iso, "%.4s-%.2s-%c%cT", year, month, text.data[4] == ' ' ? '0' : text.data[4],
				  text.data[5]);
	ls_buf_append(iso, text.data + 7, 8);
	return append_zone(iso,
					   text.len > 20 ? ls_str_make(text.data + 15, text.len - 20) : LS_STR(""));
}

/* Another usual form, as ISO 8601.  Which of 11/12/2026 is the month nobody knows: it is none. */
static bool
time_of_other_form(ls_str text, ls_time *time)
{
	char bytes[64];
	ls_buf iso = {.data = bytes, .capacity = sizeof(bytes)};

	if (text.len < 15 || text.len > LONGEST_TIME)
		return false;
	/* Sat, 28 Nov 2026 10:00:00 GMT; Sat Nov 28 10:00:00 2026 */
	if (text.data[0] >= 'A' && text.data[3] == ',' && text.data[4] == ' ')
		text = ls_str_make(text.data + 5, text.len - 5);
	else if (text.data[0] >= 'A' && text.data[3] == ' ' && month_of(text.data) == NULL)
		text = ls_str_make(text.data + 4, text.len - 4);
	if (text.len < 15)
		return false;
	/* 20261128T100000Z */
	if (is_digits(text.data, 8) && text.data[8] == 'T' && is_digits(text.data + 9, 6))
	{
		ls_buf_printf(&iso, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2s", text.data, text.data + 4,
					  text.data + 6, text.data + 9, text.data + 11, text.data + 13);
		ls_buf_append(&iso, text.data + 15, text.len - 15);
	}
	/* 2026/11/28 10:00:00, 2026-11-28 10:00:00 +0100, 2026-11-28 10:00:00 UTC */
	else if (text.len >= 19 && is_digits(text.data, 4) &&
			 (text.data[4] == '/' || text.data[4] == '-') && text.data[7] == text.data[4])
	{
		size_t end = 19;

		while (end < text.len &&
			   (is_digits(text.data + end, 1) || text.data[end] == '.' || text.data[end] == ','))
			end++;
		ls_buf_printf(&iso, "%.4s-%.2s-%.2s", text.data, text.data + 5, text.data + 8);
		ls_buf_append(&iso, text.data + 10, end - 10);
		if (!append_zone(&iso, ls_str_make(text.data + end, text.len - end)))
			return false;
	}
	else if (!write_named_month(&iso, text))
	{
		iso.len = 0;
		if (!write_ctime(&iso, text))
			return false;
	}
	return !iso.failed && ls_time_parse_iso(ls_str_make(iso.data, iso.len), time) &&
		   in_range(*time);
}

bool
ls_normalize_time_text(ls_str text, ls_time *time)
{
	size_t digits = 0;

	if (ls_time_parse_iso(text, time))
		return in_range(*time);
	if (time_of_other_form(text, time))
		return true;
	while (digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9')
		digits++;
	if (digits < 9 || digits > 20)
		return false;
	for (size_t i = digits; i < text.len; i++)
	{
		char c = text.data[i];

		if (!(i == digits ? c == '.' : c >= '0' && c <= '9'))
			return false;
	}
	return ls_normalize_time_number(text, time);
}

bool
ls_normalize_time_of(int64_t seconds, int64_t nanos, ls_time *time)
{
	if (seconds < MIN_SECONDS || seconds > MAX_SECONDS || nanos < 0 || nanos >= 1000000000)
		return false;
	*time = seconds * LS_USECS_PER_SEC + nanos / 1000;
	return true;
}
