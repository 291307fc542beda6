/*-------------------------------------------------------------------------
 *
 * time_format.c
 *	  Times in formats such as "%Y-%m-%d %H:%M:%S" (pure).
 *
 * Names of months and days are English, whatever the server's locale: the texts are
 * those of logs.  A format is short, and each part of it makes or reads at most some
 * ten characters.
 *
 *-------------------------------------------------------------------------
 */
#include "src/engine/text.h"

#include <stdio.h>

static const char *const month_names[] = {"January",   "February", "March",    "April",
										  "May",       "June",     "July",     "August",
										  "September", "October",  "November", "December"};
static const char *const day_names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
										"Friday", "Saturday", "Sunday"};

/* What each letter stands for when it is read; printing takes all of them. */
#define PRINTED "YymdeBbhjHIMSpAauwsfNQLzZFTRDVG%nt"
#define READ "YymdeBbhjHIMSpAasfNQLzZFTRD%nt"

/* The next part of a format: an ordinary byte (letter 0), or a letter after %. */
typedef struct part
{
	char byte;
	char letter;
	int digits; /* of a fraction of a second; 0: not given */
} part;

static bool
next_part(ls_str *format, part *p)
{
	size_t used = 1;

	if (format->len == 0)
		return false;
	*p = (part){.byte = format->data[0]};
	if (p->byte == '%')
	{
		if (used < format->len && format->data[used] >= '1' && format->data[used] <= '9')
			p->digits = format->data[used++] - '0';
		p->letter = '?';
		if (used < format->len)
			p->letter = format->data[used++];
	}
	*format = ls_str_make(format->data + used, format->len - used);
	return true;
}

/* The digits of a fraction. */
static int
fraction_digits(const part *p)
{
	if (p->digits > 0)
		return p->digits;
	return p->letter == 'f' ? 6 : p->letter == 'N' ? 9 : 3;
}

static bool
is_fraction(char letter)
{
	return letter == 'f' || letter == 'N' || letter == 'Q' || letter == 'L';
}

const char *
ls_time_format_error(ls_str format, bool reading)
{
	bool year = false;
	bool month = false;
	bool day = false;
	bool any = false;
	part p;

	if (format.len > LS_TIME_FORMAT_MAX)
		return "the format is longer than 128 bytes";
	while (next_part(&format, &p))
	{
		if (p.letter == 0)
			continue;
		if (strchr(reading ? READ : PRINTED, p.letter) == NULL)
			return reading
					   ? "the format has an unknown letter: known are %Y %y %m %b %B %d %e %j %H"
						 " %I %p %M %S %3N %6N %9N %f %s %z %Z %F %T %R %D %a %A %%"
					   : "the format has an unknown letter: known are %Y %y %m %b %B %d %e %j %H"
						 " %I %p %M %S %3N %6N %9N %f %s %z %Z %F %T %R %D %a %A %u %w %V %G %%";
		if (p.digits > 0 && !is_fraction(p.letter))
			return "only fractions of a second take a number of digits: %3N";
		any = true;
		year = year || strchr("YyFDs", p.letter) != NULL;
		month = month || strchr("mbhBjFDs", p.letter) != NULL;
		day = day || strchr("dejFDs", p.letter) != NULL;
	}
	if (reading && !(year && month && day))
		return any ? "the format does not say which day: it needs a year, a month and a day, or %s"
				   : "the format has no letter after %: \"%Y-%m-%d %H:%M:%S\"";
	return NULL;
}

/* ---- printing ---- */

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* The week of ISO 8601, and the year that it belongs to. */
static int
iso_week(int64_t day, int64_t *year)
{
	/* 1970-01-05 was a Monday; a week belongs to the year of its Thursday. */
	int64_t thursday = floor_div(day - 4, 7) * 7 + 7;

	*year = floor_div(ls_query_month_of(thursday), 12);
	return (int) ((thursday - ls_query_month_start(*year * 12)) / 7) + 1;
}

static void
print_zone(ls_buf *buf, ls_time time, const ls_query_zone *zone, bool name)
{
	int64_t minutes = (ls_query_time_local(time, zone) - time) / (60 * LS_USECS_PER_SEC);
	const char *abbreviation = NULL;

	if (name && zone != NULL && zone->abbreviation != NULL)
		abbreviation = zone->abbreviation(zone->context, time);
	if (abbreviation != NULL)
		ls_buf_append(buf, abbreviation, strlen(abbreviation));
	else if (name && minutes == 0)
		ls_buf_lit(buf, "UTC");
	else
		ls_buf_printf(buf, "%c%02d%02d", minutes < 0 ? '-' : '+',
					  (int) ((minutes < 0 ? -minutes : minutes) / 60),
					  (int) ((minutes < 0 ? -minutes : minutes) % 60));
}

static void
print_fraction(ls_buf *buf, int64_t micros, int digits)
{
	char text[16];

	snprintf(text, sizeof(text), "%06d000", (int) micros);
	ls_buf_append(buf, text, (size_t) digits);
}

void
ls_time_print(ls_buf *buf, ls_str format, ls_time time, const ls_query_zone *zone)
{
	ls_time local = ls_query_time_local(time, zone);
	int64_t day = floor_div(local, LS_USECS_PER_DAY);
	int64_t micros = local - day * LS_USECS_PER_DAY;
	int seconds = (int) (micros / LS_USECS_PER_SEC);
	int64_t months = ls_query_month_of(day);
	int year = (int) floor_div(months, 12);
	int month = (int) (months - (int64_t) year * 12);
	int day_of_month = (int) (day - ls_query_month_start(months)) + 1;
	int day_of_week = (int) (day - 4 - floor_div(day - 4, 7) * 7); /* Monday is 0 */
	int hour = seconds / 3600;
	int minute = seconds / 60 % 60;
	int second = seconds % 60;
	int64_t week_year;
	int week = iso_week(day, &week_year);
	part p;

	while (next_part(&format, &p))
	{
		switch (p.letter)
		{
			case 0:
				ls_buf_char(buf, p.byte);
				break;
			case 'Y':
				ls_buf_printf(buf, "%04d", year);
				break;
			case 'y':
				ls_buf_printf(buf, "%02d", year % 100);
				break;
			case 'G':
				ls_buf_printf(buf, "%04d", (int) week_year);
				break;
			case 'V':
				ls_buf_printf(buf, "%02d", week);
				break;
			case 'm':
				ls_buf_printf(buf, "%02d", month + 1);
				break;
			case 'd':
				ls_buf_printf(buf, "%02d", day_of_month);
				break;
			case 'e':
				ls_buf_printf(buf, "%2d", day_of_month);
				break;
			case 'j':
				ls_buf_printf(buf, "%03d",
							  (int) (day - ls_query_month_start((int64_t) year * 12)) + 1);
				break;
			case 'B':
				ls_buf_append(buf, month_names[month], strlen(month_names[month]));
				break;
			case 'b':
			case 'h':
				ls_buf_append(buf, month_names[month], 3);
				break;
			case 'A':
				ls_buf_append(buf, day_names[day_of_week], strlen(day_names[day_of_week]));
				break;
			case 'a':
				ls_buf_append(buf, day_names[day_of_week], 3);
				break;
			case 'u':
				ls_buf_printf(buf, "%d", day_of_week + 1);
				break;
			case 'w':
				ls_buf_printf(buf, "%d", (day_of_week + 1) % 7);
				break;
			case 'H':
				ls_buf_printf(buf, "%02d", hour);
				break;
			case 'I':
				ls_buf_printf(buf, "%02d", hour % 12 == 0 ? 12 : hour % 12);
				break;
			case 'M':
				ls_buf_printf(buf, "%02d", minute);
				break;
			case 'S':
				ls_buf_printf(buf, "%02d", second);
				break;
			case 'p':
				ls_buf_append(buf, hour < 12 ? "AM" : "PM", 2);
				break;
			case 's':
				ls_buf_printf(buf, "%lld", (long long) floor_div(time, LS_USECS_PER_SEC));
				break;
			case 'z':
			case 'Z':
				print_zone(buf, time, zone, p.letter == 'Z');
				break;
			case 'F':
				ls_buf_printf(buf, "%04d-%02d-%02d", year, month + 1, day_of_month);
				break;
			case 'D':
				ls_buf_printf(buf, "%02d/%02d/%02d", month + 1, day_of_month, year % 100);
				break;
			case 'T':
				ls_buf_printf(buf, "%02d:%02d:%02d", hour, minute, second);
				break;
			case 'R':
				ls_buf_printf(buf, "%02d:%02d", hour, minute);
				break;
			case 'n':
				ls_buf_char(buf, '\n');
				break;
			case 't':
				ls_buf_char(buf, '\t');
				break;
			default:
				if (is_fraction(p.letter))
					print_fraction(buf, micros % LS_USECS_PER_SEC, fraction_digits(&p));
				else
					ls_buf_char(buf, '%');
		}
	}
}

/* ---- reading ---- */

typedef struct reader
{
	const char *at;
	const char *end;
	int year;
	int month; /* from 1; 0: not given */
	int day;
	int day_of_year; /* 0: not given */
	int hour;
	int minute;
	int second;
	int micros;
	bool twelve;    /* the hour is one of twelve ... */
	bool afternoon; /* ... in this half of the day */
	bool zoned;     /* `east` is given */
	int64_t east;   /* seconds */
	bool epoch;
	int64_t seconds; /* since 1970 */
} reader;

static void
skip_space(reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r')))
		r->at++;
}

/* A number of 1 to `most` digits from `least_value` to `most_value`. */
static bool
read_number(reader *r, int most, int least_value, int most_value, int *value)
{
	int n = 0;

	*value = 0;
	while (n < most && r->at < r->end && *r->at >= '0' && *r->at <= '9')
	{
		*value = *value * 10 + (*r->at++ - '0');
		n++;
	}
	return n > 0 && *value >= least_value && *value <= most_value;
}

/* One of the names, whole or its first three letters; `value` counts from 0. */
static bool
read_name(reader *r, const char *const *names, int n, int *value)
{
	for (int i = 0; i < n; i++)
	{
		size_t len = strlen(names[i]);
		size_t left = (size_t) (r->end - r->at);

		if (left < len || !ls_str_eq_nocase(ls_str_make(r->at, len), ls_str_make(names[i], len)))
			len = 3;
		if (left < len || !ls_str_eq_nocase(ls_str_make(r->at, len), ls_str_make(names[i], len)))
			continue;
		r->at += len;
		*value = i;
		return true;
	}
	return false;
}

/* All digits that there are, up to nine; what is beyond microseconds is dropped. */
static bool
read_fraction(reader *r)
{
	int n = 0;

	r->micros = 0;
	for (; n < 9 && r->at < r->end && *r->at >= '0' && *r->at <= '9'; n++, r->at++)
	{
		if (n < 6)
			r->micros = r->micros * 10 + (*r->at - '0');
	}
	for (int i = n; i < 6; i++)
		r->micros *= 10;
	return n > 0;
}

static bool
read_char(reader *r, char c)
{
	if (r->at >= r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* Z, UTC, GMT, +hh, +hhmm or +hh:mm. */
static bool
read_zone(reader *r)
{
	size_t left = (size_t) (r->end - r->at);
	bool west;
	int hours;
	int minutes = 0;

	r->zoned = true;
	r->east = 0;
	if (left >= 3 && (ls_str_eq_nocase(ls_str_make(r->at, 3), LS_STR("UTC")) ||
					  ls_str_eq_nocase(ls_str_make(r->at, 3), LS_STR("GMT"))))
	{
		r->at += 3;
		return true;
	}
	if (read_char(r, 'Z'))
		return true;
	west = r->at < r->end && *r->at == '-';
	if (!read_char(r, '+') && !read_char(r, '-'))
		return false;
	if (r->end - r->at < 2 || !read_number(r, 2, 0, 23, &hours))
		return false;
	if (r->at < r->end && (*r->at == ':' || (*r->at >= '0' && *r->at <= '9')))
	{
		(void) read_char(r, ':');
		if (r->end - r->at < 2 || !read_number(r, 2, 0, 59, &minutes))
			return false;
	}
	r->east = (west ? -1 : 1) * ((int64_t) hours * 3600 + (int64_t) minutes * 60);
	return true;
}

/* Seconds since 1970, of at most 12 digits. */
static bool
read_epoch(reader *r)
{
	bool negative = read_char(r, '-');
	int n = 0;

	r->seconds = 0;
	for (; n < 12 && r->at < r->end && *r->at >= '0' && *r->at <= '9'; n++, r->at++)
		r->seconds = r->seconds * 10 + (*r->at - '0');
	if (negative)
		r->seconds = -r->seconds;
	r->epoch = true;
	return n > 0;
}

static bool
read_part(reader *r, const part *p)
{
	int value;

	switch (p->letter)
	{
		case 'Y':
			return read_number(r, 4, 1, 9999, &r->year);
		case 'y':
			if (!read_number(r, 2, 0, 99, &r->year))
				return false;
			/* As POSIX has it. */
			r->year += r->year < 69 ? 2000 : 1900;
			return true;
		case 'm':
			return read_number(r, 2, 1, 12, &r->month);
		case 'b':
		case 'h':
		case 'B':
			if (!read_name(r, month_names, 12, &value))
				return false;
			r->month = value + 1;
			return true;
		case 'a':
		case 'A':
			return read_name(r, day_names, 7, &value);
		case 'd':
		case 'e':
			skip_space(r);
			return read_number(r, 2, 1, 31, &r->day);
		case 'j':
			return read_number(r, 3, 1, 366, &r->day_of_year);
		case 'H':
			return read_number(r, 2, 0, 23, &r->hour);
		case 'I':
			r->twelve = true;
			return read_number(r, 2, 1, 12, &r->hour);
		case 'p':
			if (r->end - r->at < 2 || (r->at[1] | 0x20) != 'm' ||
				((*r->at | 0x20) != 'a' && (*r->at | 0x20) != 'p'))
				return false;
			r->afternoon = (*r->at | 0x20) == 'p';
			r->at += 2;
			return true;
		case 'M':
			return read_number(r, 2, 0, 59, &r->minute);
		case 'S':
			return read_number(r, 2, 0, 60, &r->second);
		case 's':
			return read_epoch(r);
		case 'z':
		case 'Z':
			return read_zone(r);
		case 'F':
			return read_number(r, 4, 1, 9999, &r->year) && read_char(r, '-') &&
				   read_number(r, 2, 1, 12, &r->month) && read_char(r, '-') &&
				   read_number(r, 2, 1, 31, &r->day);
		case 'D':
			if (!read_number(r, 2, 1, 12, &r->month) || !read_char(r, '/') ||
				!read_number(r, 2, 1, 31, &r->day) || !read_char(r, '/') ||
				!read_number(r, 2, 0, 99, &r->year))
				return false;
			r->year += r->year < 69 ? 2000 : 1900;
			return true;
		case 'T':
			return read_number(r, 2, 0, 23, &r->hour) && read_char(r, ':') &&
				   read_number(r, 2, 0, 59, &r->minute) && read_char(r, ':') &&
				   read_number(r, 2, 0, 60, &r->second);
		case 'R':
			return read_number(r, 2, 0, 23, &r->hour) && read_char(r, ':') &&
				   read_number(r, 2, 0, 59, &r->minute);
		case 'n':
		case 't':
			skip_space(r);
			return true;
		case '%':
			return read_char(r, '%');
		default:
			return is_fraction(p->letter) && read_fraction(r);
	}
}

/* White space in the format stands for any white space, as in strptime of C. */
bool
ls_time_read(ls_str text, ls_str format, const ls_query_zone *zone, ls_time *time)
{
	reader r = {.at = text.data, .end = text.data + text.len, .day = 1};
	int64_t month;
	int64_t day;
	part p;

	if (text.len == 0)
		return false;
	while (next_part(&format, &p))
	{
		if (p.letter != 0)
		{
			if (!read_part(&r, &p))
				return false;
		}
		else if (p.byte == ' ' || (p.byte >= '\t' && p.byte <= '\r'))
			skip_space(&r);
		else if (!read_char(&r, p.byte))
			return false;
	}
	skip_space(&r);
	if (r.at != r.end)
		return false;
	if (r.epoch)
		*time = r.seconds * LS_USECS_PER_SEC + r.micros;
	else
	{
		month = (int64_t) r.year * 12 + (r.month > 0 ? r.month - 1 : 0);
		day = ls_query_month_start(month) + r.day - 1;
		if (r.day_of_year > 0)
			day = ls_query_month_start((int64_t) r.year * 12) + r.day_of_year - 1;
		/* 30 February, and day 366 of a short year. */
		if (r.day_of_year > 0 ? ls_query_month_of(day) / 12 != r.year
							  : ls_query_month_of(day) != month)
			return false;
		if (r.twelve)
			r.hour = r.hour % 12 + (r.afternoon ? 12 : 0);
		*time = day * LS_USECS_PER_DAY +
				((int64_t) r.hour * 3600 + r.minute * 60 + r.second) * LS_USECS_PER_SEC + r.micros;
		*time = r.zoned ? *time - r.east * LS_USECS_PER_SEC : ls_query_time_utc(*time, zone);
	}
	/* The years 1 to 9999. */
	return *time >= INT64_C(-62135596800000000) && *time < INT64_C(253402300800000000);
}
