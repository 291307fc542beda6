/*-------------------------------------------------------------------------
 *
 * time.c
 *	  ISO 8601 times to microseconds and back (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

/* Days from 1970-01-01 of a proleptic Gregorian date. */
static int64_t
days_from_civil(int64_t year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

static void
civil_from_days(int64_t days, int *year, int *month, int *day)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;

	*day = (int) (doy - (153 * mp + 2) / 5 + 1);
	*month = (int) (mp < 10 ? mp + 3 : mp - 9);
	*year = (int) (yoe + era * 400 + (*month <= 2));
}

/* Exactly `n` digits at *p; advances.  -1 when there are not. */
static int
digits(const char **p, const char *end, int n)
{
	int v = 0;

	if (end - *p < n)
		return -1;
	for (int i = 0; i < n; i++)
	{
		char c = (*p)[i];

		if (c < '0' || c > '9')
			return -1;
		v = v * 10 + (c - '0');
	}
	*p += n;
	return v;
}

static bool
take_char(const char **p, const char *end, char c)
{
	if (*p < end && **p == c)
	{
		(*p)++;
		return true;
	}
	return false;
}

/* [Z|+hh:mm|+hhmm|+hh] up to the end; seconds east of UTC. */
static bool
parse_zone(const char *p, const char *end, int64_t *offset)
{
	bool negative;
	int hours;
	int minutes = 0;

	*offset = 0;
	if (p == end)
		return true;
	if (*p == 'Z' || *p == 'z')
		return p + 1 == end;
	if (*p != '+' && *p != '-')
		return false;
	negative = *p == '-';
	p++;
	hours = digits(&p, end, 2);
	if (hours < 0)
		return false;
	if (p < end)
	{
		take_char(&p, end, ':');
		minutes = digits(&p, end, 2);
	}
	if (p != end || hours > 23 || minutes < 0 || minutes > 59)
		return false;
	*offset = (negative ? -1 : 1) * ((int64_t) hours * 3600 + (int64_t) minutes * 60);
	return true;
}

static bool
valid_date(int year, int month, int day)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return year >= 1 && month >= 1 && month <= 12 && day >= 1 &&
		   day <= lengths[month - 1] + (month == 2 && leap);
}

bool
ls_time_parse_iso(ls_str s, ls_time *time)
{
	const char *p = s.data;
	const char *end = s.data + s.len;
	int year, month, day;
	int hour = 0, minute = 0, second = 0;
	int64_t micros = 0;
	int64_t offset = 0;

	if ((year = digits(&p, end, 4)) < 0 || !take_char(&p, end, '-') ||
		(month = digits(&p, end, 2)) < 0 || !take_char(&p, end, '-') ||
		(day = digits(&p, end, 2)) < 0 || !valid_date(year, month, day))
		return false;

	if (p < end)
	{
		if (!take_char(&p, end, 'T') && !take_char(&p, end, 't') && !take_char(&p, end, ' '))
			return false;
		if ((hour = digits(&p, end, 2)) < 0 || hour > 23 || !take_char(&p, end, ':') ||
			(minute = digits(&p, end, 2)) < 0 || minute > 59)
			return false;
		if (take_char(&p, end, ':'))
		{
			second = digits(&p, end, 2);
			if (second < 0 || second > 60)
				return false;
			if (take_char(&p, end, '.') || take_char(&p, end, ','))
			{
				int64_t unit = 100000;

				if (p >= end || *p < '0' || *p > '9')
					return false;
				for (; p < end && *p >= '0' && *p <= '9'; p++)
				{
					micros += unit * (*p - '0');
					unit /= 10;
				}
			}
		}
		if (!parse_zone(p, end, &offset))
			return false;
	}
	*time =
		(days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset) *
			LS_USECS_PER_SEC +
		micros;
	return true;
}

static char *
put_digits(char *out, int v, int n)
{
	for (int i = n - 1; i >= 0; i--)
	{
		out[i] = (char) ('0' + v % 10);
		v /= 10;
	}
	return out + n;
}

void
ls_time_format_iso(ls_time time, char *out)
{
	int64_t day_number = time / LS_USECS_PER_DAY - (time % LS_USECS_PER_DAY < 0);
	int64_t rest = (time - day_number * LS_USECS_PER_DAY) / 1000;
	int year, month, day;

	civil_from_days(day_number, &year, &month, &day);
	out = put_digits(out, year, 4);
	*out++ = '-';
	out = put_digits(out, month, 2);
	*out++ = '-';
	out = put_digits(out, day, 2);
	*out++ = 'T';
	out = put_digits(out, (int) (rest / 3600000), 2);
	*out++ = ':';
	out = put_digits(out, (int) (rest / 60000 % 60), 2);
	*out++ = ':';
	out = put_digits(out, (int) (rest / 1000 % 60), 2);
	*out++ = '.';
	out = put_digits(out, (int) (rest % 1000), 3);
	*out++ = 'Z';
	*out = '\0';
}
