/*-------------------------------------------------------------------------
 *
 * times.c
 *	  Times of the search language and calendar arithmetic (pure).
 *
 * A zone is passed in as a function from UTC to an offset, so this file needs no
 * time zone data; PostgreSQL has them.  Local time is kept in microseconds as if
 * it were UTC.
 *
 *-------------------------------------------------------------------------
 */
#include "src/engine/times.h"

static const struct
{
	ls_str name;
	int64_t micros; /* 0: the length depends on the calendar */
} units[] = {
	{LS_STR(""), 0},
	{LS_STR("s"), LS_USECS_PER_SEC},
	{LS_STR("m"), 60 * LS_USECS_PER_SEC},
	{LS_STR("h"), 3600 * LS_USECS_PER_SEC},
	{LS_STR("d"), LS_USECS_PER_DAY},
	{LS_STR("w"), 7 * LS_USECS_PER_DAY},
	{LS_STR("mon"), 0},
	{LS_STR("y"), 0},
};

/* 0001-01-01T00:00:00Z, and the first microsecond after the year 9999. */
#define FIRST_TIME INT64_C(-62135596800000000)
#define END_TIME INT64_C(253402300800000000)

/* Amounts up to this cannot overflow int64 in any unit. */
#define MAX_AMOUNT INT64_C(99999999999)

const char *
ls_query_unit_name(ls_query_unit unit)
{
	return units[unit].name.data;
}

/* ---- reading ---- */

/* Also sec, mins, hour, days and so on. */
static bool
find_unit(ls_str s, ls_query_unit *unit)
{
	static const struct
	{
		ls_str name;
		ls_query_unit unit;
	} words[] = {
		{LS_STR("sec"), LS_QUERY_SECOND},  {LS_STR("second"), LS_QUERY_SECOND},
		{LS_STR("min"), LS_QUERY_MINUTE},  {LS_STR("minute"), LS_QUERY_MINUTE},
		{LS_STR("hr"), LS_QUERY_HOUR},     {LS_STR("hour"), LS_QUERY_HOUR},
		{LS_STR("day"), LS_QUERY_DAY},     {LS_STR("week"), LS_QUERY_WEEK},
		{LS_STR("month"), LS_QUERY_MONTH}, {LS_STR("yr"), LS_QUERY_YEAR},
		{LS_STR("year"), LS_QUERY_YEAR},
	};

	for (int i = LS_QUERY_SECOND; i <= LS_QUERY_YEAR; i++)
		if (ls_str_eq(s, units[i].name))
		{
			*unit = (ls_query_unit) i;
			return true;
		}
	if (s.len > 2 && s.data[s.len - 1] == 's')
		s.len--;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ls_str_eq(s, words[i].name))
		{
			*unit = words[i].unit;
			return true;
		}
	return false;
}

/* Reads the digits at the start of s; returns how many there are. */
static size_t
leading_number(ls_str s, int64_t *value)
{
	size_t n = 0;

	*value = 0;
	while (n < s.len && n < 15 && s.data[n] >= '0' && s.data[n] <= '9')
		*value = *value * 10 + (s.data[n++] - '0');
	return n;
}

static bool
all_digits(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] < '0' || s.data[i] > '9')
			return false;
	return true;
}

static ls_str
after(ls_str s, size_t n)
{
	return ls_str_make(s.data + n, s.len - n);
}

/* Does an ISO time name its zone?  (A date without a time does not.) */
static bool
has_zone(ls_str s)
{
	if (s.len <= 10)
		return false;
	for (size_t i = 10; i < s.len; i++)
		if (s.data[i] == 'Z' || s.data[i] == 'z' || s.data[i] == '+' || s.data[i] == '-')
			return true;
	return false;
}

/* 9:00, 09:00, 09:00:30 as the distance from midnight. */
static bool
read_clock(ls_str s, ls_time *at)
{
	static const int64_t most[] = {23, 59, 59};
	ls_time sum = 0;
	int fields = 0;

	for (int64_t micros = 3600 * LS_USECS_PER_SEC; fields < 3; micros /= 60)
	{
		int64_t v;
		size_t n = leading_number(s, &v);

		if (n == 0 || n > 2 || (fields > 0 && n != 2) || v > most[fields])
			return false;
		sum += v * micros;
		s = after(s, n);
		fields++;
		if (s.len == 0)
			break;
		if (s.data[0] != ':')
			return false;
		s = after(s, 1);
	}
	*at = sum;
	return fields > 1 && s.len == 0;
}

/* [+-]N unit, up to its end or an @; false: it is none. */
static bool
read_shift(ls_str *s, ls_query_duration *shift)
{
	bool negative = s->data[0] == '-';
	ls_str rest = negative || s->data[0] == '+' ? after(*s, 1) : *s;
	const char *at;
	size_t unit_len;
	int64_t v;
	size_t n = leading_number(rest, &v);

	rest = after(rest, n);
	at = rest.len > 0 ? memchr(rest.data, '@', rest.len) : NULL;
	unit_len = at != NULL ? (size_t) (at - rest.data) : rest.len;
	if (n == 0 || v > MAX_AMOUNT || !find_unit(ls_str_make(rest.data, unit_len), &shift->unit))
		return false;
	shift->amount = negative ? -v : v;
	*s = after(rest, unit_len);
	return true;
}

/* @d, @d+9h */
static bool
read_snap(ls_str s, ls_query_time *time)
{
	size_t n = 1;

	while (n < s.len && s.data[n] != '+' && s.data[n] != '-')
		n++;
	if (s.data[0] != '@' || !find_unit(ls_str_make(s.data + 1, n - 1), &time->snap))
		return false;
	s = after(s, n);
	return s.len == 0 || (read_shift(&s, &time->after) && s.len == 0);
}

bool
ls_query_time_parse(ls_str text, ls_query_time *time)
{
	ls_str rest = text;
	int64_t v;
	size_t n;

	memset(time, 0, sizeof(*time));
	time->text = text;
	if (text.len == 0)
		return false;
	n = leading_number(text, &v);
	if (n == text.len && (n == 10 || n == 13))
	{
		time->absolute = true;
		time->at = v * (n == 10 ? LS_USECS_PER_SEC : 1000);
		return true;
	}
	if ((text.len == 16 || text.len == 19) && n == 15 && all_digits(text))
	{
		/* Of nanoseconds the last three digits do not count. */
		time->absolute = true;
		time->at = v * 10 + (text.data[15] - '0');
		return time->at < END_TIME;
	}
	if (ls_time_parse_iso(text, &time->at))
	{
		time->absolute = true;
		time->local = !has_zone(text);
		return time->at >= FIRST_TIME && time->at < END_TIME;
	}

	if (read_clock(text, &time->at))
	{
		time->clock = true;
		return true;
	}
	time->at = 0;
	if (text.len >= 3 && memcmp(text.data, "now", 3) == 0)
	{
		rest = after(text, 3);
		if (rest.len == 0)
			return true;
		/* now5m is no time. */
		if (rest.data[0] != '-' && rest.data[0] != '+' && rest.data[0] != '@')
			return false;
	}
	if (rest.data[0] != '@' && !read_shift(&rest, &time->shift))
		return false;
	return rest.len == 0 || read_snap(rest, time);
}

/* ---- calendar ---- */

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Days since 1970-01-01 of the first of a month; month counts from year 0. */
int64_t
ls_query_month_start(int64_t month)
{
	int64_t year = floor_div(month, 12);
	int64_t m = month - year * 12 + 1;
	int64_t y = m <= 2 ? year - 1 : year;
	int64_t era = floor_div(y, 400);
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
		   719468;
}

/* The month, counted from year 0, of a day since 1970-01-01. */
int64_t
ls_query_month_of(int64_t day)
{
	/* The estimate from the mean length of a month needs at most one correction. */
	int64_t month = floor_div((day + 719528) * 4800, 146097);

	while (ls_query_month_start(month) > day)
		month--;
	while (ls_query_month_start(month + 1) <= day)
		month++;
	return month;
}

static int64_t
zone_offset(const ls_query_zone *zone, ls_time utc)
{
	int64_t seconds = 0;

	if (zone != NULL && zone->offset != NULL)
		seconds = zone->offset(zone->context, utc);
	return seconds * LS_USECS_PER_SEC;
}

ls_time
ls_query_time_local(ls_time utc, const ls_query_zone *zone)
{
	return utc + zone_offset(zone, utc);
}

/*
 * A local time that occurs twice means the first one.  A local time that a clock change
 * skips is moved forward by the gap.
 */
ls_time
ls_query_time_utc(ls_time local, const ls_query_zone *zone)
{
	int64_t before = zone_offset(zone, local - LS_USECS_PER_DAY);
	int64_t later = zone_offset(zone, local + LS_USECS_PER_DAY);
	ls_time first = local - before;

	if (before == later || zone_offset(zone, first) == before)
		return first;
	if (zone_offset(zone, local - later) == later)
		return local - later;
	return first;
}

static bool
in_range(ls_time time)
{
	return time >= FIRST_TIME && time < END_TIME;
}

static ls_time
snap_local(ls_time local, ls_query_unit unit)
{
	int64_t day = floor_div(local, LS_USECS_PER_DAY);
	int64_t month;

	switch (unit)
	{
		case LS_QUERY_UNIT_NONE:
			return local;
		case LS_QUERY_WEEK:
			/* 1970-01-05 was a Monday. */
			return (floor_div(day - 4, 7) * 7 + 4) * LS_USECS_PER_DAY;
		case LS_QUERY_MONTH:
			return ls_query_month_start(ls_query_month_of(day)) * LS_USECS_PER_DAY;
		case LS_QUERY_YEAR:
			month = ls_query_month_of(day);
			return ls_query_month_start(floor_div(month, 12) * 12) * LS_USECS_PER_DAY;
		default:
			return floor_div(local, units[unit].micros) * units[unit].micros;
	}
}

ls_time
ls_query_time_snap(ls_time time, ls_query_unit unit, const ls_query_zone *zone)
{
	ls_time local;

	if (!in_range(time) || unit == LS_QUERY_UNIT_NONE)
		return time;
	if (unit <= LS_QUERY_HOUR)
	{
		/* Within one offset, so that an hour that occurs twice stays two hours. */
		int64_t offset = zone_offset(zone, time);

		return snap_local(time + offset, unit) - offset;
	}
	local = snap_local(ls_query_time_local(time, zone), unit);
	return ls_query_time_utc(local, zone);
}

/* A local time some months later; on the last day of the month if that is shorter. */
static ls_time
add_months(ls_time local, int64_t months)
{
	int64_t day = floor_div(local, LS_USECS_PER_DAY);
	int64_t month = ls_query_month_of(day);
	int64_t day_of_month = day - ls_query_month_start(month);
	int64_t first = ls_query_month_start(month + months);
	int64_t length = ls_query_month_start(month + months + 1) - first;

	if (day_of_month >= length)
		day_of_month = length - 1;
	return local + (first + day_of_month - day) * LS_USECS_PER_DAY;
}

bool
ls_query_time_add(ls_time time, ls_query_duration duration, const ls_query_zone *zone,
				  ls_time *result)
{
	int64_t amount = duration.amount;
	ls_time local;

	if (!in_range(time))
		return false;
	if (duration.unit == LS_QUERY_UNIT_NONE)
	{
		*result = time;
		return true;
	}
	if (amount > MAX_AMOUNT || amount < -MAX_AMOUNT)
		return false;
	if (duration.unit == LS_QUERY_MONTH || duration.unit == LS_QUERY_YEAR)
	{
		if (duration.unit == LS_QUERY_YEAR)
			amount *= 12;
		if (amount > 120000 || amount < -120000)
			return false;
		local = add_months(ls_query_time_local(time, zone), amount);
	}
	else
	{
		int64_t unit = units[duration.unit].micros;

		if (amount > (END_TIME - FIRST_TIME) / unit || amount < (FIRST_TIME - END_TIME) / unit)
			return false;
		if (duration.unit <= LS_QUERY_HOUR)
		{
			*result = time + amount * unit;
			return in_range(*result);
		}
		local = ls_query_time_local(time, zone) + amount * unit;
	}
	if (!in_range(local))
		return false;
	*result = ls_query_time_utc(local, zone);
	return in_range(*result);
}

bool
ls_query_bin_span(ls_str text, ls_query_duration *span)
{
	static const int64_t most[] = {0, 86400, 1440, 24, 73050, 10435, 2400, 1};
	ls_query_time time;

	if (text.len == 0 || text.data[0] < '0' || text.data[0] > '9' ||
		!ls_query_time_parse(text, &time) || time.absolute || time.clock ||
		time.snap != LS_QUERY_UNIT_NONE)
		return false;
	*span = time.shift;
	return span->unit != LS_QUERY_UNIT_NONE && span->amount >= 1 &&
		   span->amount <= most[span->unit];
}

ls_time
ls_query_time_bucket(ls_time time, ls_query_duration span, const ls_query_zone *zone)
{
	ls_query_duration back = {0, LS_QUERY_DAY};
	ls_time start;
	ls_time next;
	int64_t days;

	if (!in_range(time) || span.unit == LS_QUERY_UNIT_NONE || span.amount < 1)
		return time;
	switch (span.unit)
	{
		case LS_QUERY_DAY:
		case LS_QUERY_WEEK:
			start = ls_query_time_snap(time, span.unit, zone);
			days = floor_div(ls_query_time_local(start, zone), LS_USECS_PER_DAY);
			/* 1970-01-01 was a Thursday. */
			if (span.unit == LS_QUERY_WEEK)
				back.amount = -(days + 3 - floor_div(days + 3, 7 * span.amount) * 7 * span.amount);
			else
				back.amount = -(days - floor_div(days, span.amount) * span.amount);
			return ls_query_time_add(start, back, zone, &start) ? start : time;
		case LS_QUERY_MONTH:
			next = ls_query_time_snap(time, LS_QUERY_YEAR, zone);
			start = next;
			for (int i = 1; i <= 12 && next <= time; i++)
			{
				start = next;
				if (!ls_query_time_add(ls_query_time_snap(time, LS_QUERY_YEAR, zone),
									   (ls_query_duration){i * span.amount, LS_QUERY_MONTH}, zone,
									   &next))
					break;
			}
			return start;
		case LS_QUERY_YEAR:
			return ls_query_time_snap(time, LS_QUERY_YEAR, zone);
		default:
			start = ls_query_time_snap(time, LS_QUERY_DAY, zone);
			days = span.amount * units[span.unit].micros;
			return start + floor_div(time - start, days) * days;
	}
}

bool
ls_query_time_resolve(const ls_query_time *time, ls_time now, const ls_query_zone *zone,
					  ls_time *result)
{
	if (time->absolute)
		*result = time->local ? ls_query_time_utc(time->at, zone) : time->at;
	else if (time->clock)
	{
		ls_time local = snap_local(ls_query_time_local(now, zone), LS_QUERY_DAY);

		*result = ls_query_time_utc(local + time->at, zone);
	}
	else
	{
		if (!ls_query_time_add(now, time->shift, zone, result))
			return false;
		*result = ls_query_time_snap(*result, time->snap, zone);
		return ls_query_time_add(*result, time->after, zone, result) && in_range(*result);
	}
	return in_range(*result);
}

/* ---- periods ---- */

/* After the last moment of the year 9999. */
#define END_OF_TIME (INT64_C(253402300800) * LS_USECS_PER_SEC)

/* The end of a year or a month that begins there. */
static ls_time
months_after(ls_time from, int64_t months)
{
	return ls_query_month_start(ls_query_month_of(from / LS_USECS_PER_DAY) + months) *
		   LS_USECS_PER_DAY;
}

bool
ls_query_period_parse(ls_str text, ls_query_period *period)
{
	static const char rest[] = "0001-01-01T00:00:00";
	ls_query_time epoch;
	ls_buf full;
	char bytes[64];
	ls_time zoned;
	size_t len = text.len;

	memset(period, 0, sizeof(*period));
	if (len > 32 || len < 4)
		return false;
	if (memchr(text.data, '-', len) == NULL && len >= 10)
	{
		if (!ls_query_time_parse(text, &epoch) || !epoch.absolute)
			return false;
		period->from = epoch.at;
		period->to = epoch.at + (len == 10 ? LS_USECS_PER_SEC : 1000);
		return period->to <= END_OF_TIME;
	}
	if (text.data[len - 1] == 'Z')
		len--;
	else
		for (size_t i = 11; i < len; i++)
			if (text.data[i] == '+' || text.data[i] == '-')
				len = i;
	full = (ls_buf){.data = bytes, .capacity = sizeof(bytes)};
	ls_buf_append(&full, text.data, len);
	if (len < sizeof(rest) - 1)
		ls_buf_append(&full, rest + len, sizeof(rest) - 1 - len);
	if (!ls_time_parse_iso(ls_str_make(full.data, full.len), &period->from))
		return false;
	switch (len)
	{
		case 4:
			period->to = months_after(period->from, 12);
			break;
		case 7:
			period->to = months_after(period->from, 1);
			break;
		case 10:
			period->to = period->from + LS_USECS_PER_DAY;
			break;
		case 13:
			period->to = period->from + 3600 * LS_USECS_PER_SEC;
			break;
		case 16:
			period->to = period->from + 60 * LS_USECS_PER_SEC;
			break;
		case 19:
			period->to = period->from + LS_USECS_PER_SEC;
			break;
		case 21:
		case 22:
		case 23:
			period->to = period->from + 1000;
			break;
		default:
			return false;
	}
	period->local = len == text.len;
	ls_buf_append(&full, text.data + len, text.len - len);
	if (!ls_time_parse_iso(ls_str_make(full.data, full.len), &zoned))
		return false;
	period->to += zoned - period->from;
	period->from = zoned;
	return period->to < END_OF_TIME;
}
