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

bool
ls_normalize_time_number(ls_str number, ls_time *time)
{
	static const uint64_t powers[] = {1,      10,      100,      1000,      10000,
									  100000, 1000000, 10000000, 100000000, 1000000000};
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
	if (unit == 9)
		micros = (int64_t) (whole / 1000);
	else
	{
		/* Below 1e17 times 10^(6 - unit) stays below 1e17: no overflow. */
		uint64_t scale = powers[6 - unit];

		micros = (int64_t) (whole * scale);
		micros += (int64_t) (fraction * scale / powers[fraction_digits]);
	}
	*time = negative ? -micros : micros;
	return in_range(*time);
}

bool
ls_normalize_time_text(ls_str text, ls_time *time)
{
	size_t digits = 0;

	if (ls_time_parse_iso(text, time))
		return in_range(*time);
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
