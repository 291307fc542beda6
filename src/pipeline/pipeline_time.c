/*-------------------------------------------------------------------------
 *
 * pipeline_time.c
 *	  Reads a time in a format of strptime (pure).  Those of searches: src/engine/time_format.c.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline_internal.h"

#include <stdio.h>

static bool
digits(ls_str text, size_t *pos, int most, int64_t *number)
{
	int n = 0;

	*number = 0;
	while (n < most && *pos < text.len && (unsigned) (text.data[*pos] - '0') < 10)
	{
		*number = *number * 10 + (text.data[(*pos)++] - '0');
		n++;
	}
	return n > 0;
}

/* Z, +hh:mm, +hhmm, +hh or UTC; *minutes east of UTC. */
static bool
zone(ls_str text, size_t *pos, int64_t *minutes)
{
	int64_t hours;
	int64_t rest = 0;
	bool west;

	*minutes = 0;
	if (*pos < text.len && (text.data[*pos] == 'Z' || text.data[*pos] == 'z'))
	{
		(*pos)++;
		return true;
	}
	if (text.len - *pos >= 3 &&
		(memcmp(text.data + *pos, "UTC", 3) == 0 || memcmp(text.data + *pos, "GMT", 3) == 0))
	{
		*pos += 3;
		return true;
	}
	if (*pos >= text.len || (text.data[*pos] != '+' && text.data[*pos] != '-'))
		return false;
	west = text.data[(*pos)++] == '-';
	if (!digits(text, pos, 2, &hours))
		return false;
	if (*pos < text.len && text.data[*pos] == ':')
		(*pos)++;
	(void) digits(text, pos, 2, &rest);
	*minutes = (hours * 60 + rest) * (west ? -1 : 1);
	return hours < 24 && rest < 60;
}

static bool
month_name(ls_str text, size_t *pos, int64_t *month)
{
	static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";

	if (text.len - *pos < 3)
		return false;
	for (int m = 0; m < 12; m++)
	{
		if (ls_str_eq_nocase(ls_str_make(text.data + *pos, 3), ls_str_make(names + 3 * m, 3)))
		{
			*month = m + 1;
			*pos += 3;
			while (*pos < text.len && (unsigned) ((text.data[*pos] | 0x20) - 'a') < 26)
				(*pos)++;
			return true;
		}
	}
	return false;
}

/* A time as it is read; what is not there stays as time_without_parts says. */
typedef struct time_parts
{
	int64_t year; /* -1: none */
	int64_t month;
	int64_t day;
	int64_t hour;
	int64_t minute;
	int64_t second;
	int64_t micros;
	int64_t zone;  /* minutes east of UTC */
	int64_t epoch; /* seconds; -1: none */
	int afternoon; /* -1: hours of a day of 24 */
} time_parts;

static const time_parts time_without_parts = {
	.year = -1, .month = 1, .day = 1, .epoch = -1, .afternoon = -1};

static void
skip_letters(ls_str text, size_t *pos)
{
	while (*pos < text.len && (unsigned) ((text.data[*pos] | 0x20) - 'a') < 26)
		(*pos)++;
}

static void
skip_spaces(ls_str text, size_t *pos)
{
	while (*pos < text.len && text.data[*pos] == ' ')
		(*pos)++;
}

/* A fraction of a second, of up to nine digits. */
static bool
fraction(ls_str text, size_t *pos, int64_t *micros)
{
	size_t before = *pos;

	if (!digits(text, pos, 9, micros))
		return false;
	for (size_t n = *pos - before; n < 6; n++)
		*micros *= 10;
	for (size_t n = *pos - before; n > 6; n--)
		*micros /= 10;
	return true;
}

/* Reads what stands for one conversion: %Y, %m, ... */
static bool
read_part(ls_str text, size_t *pos, char conversion, time_parts *parts)
{
	switch (conversion)
	{
		case 'Y':
			return digits(text, pos, 4, &parts->year);
		case 'y':
			if (!digits(text, pos, 2, &parts->year))
				return false;
			parts->year += parts->year < 69 ? 2000 : 1900;
			return true;
		case 'm':
			return digits(text, pos, 2, &parts->month);
		case 'b':
		case 'B':
			return month_name(text, pos, &parts->month);
		case 'a':
		case 'A':
			skip_letters(text, pos);
			return true;
		case 'd':
		case 'e':
			skip_spaces(text, pos);
			return digits(text, pos, 2, &parts->day);
		case 'H':
		case 'I':
			return digits(text, pos, 2, &parts->hour);
		case 'p':
			if (text.len - *pos < 2)
				return false;
			parts->afternoon = (text.data[*pos] | 0x20) == 'p';
			*pos += 2;
			return true;
		case 'M':
			return digits(text, pos, 2, &parts->minute);
		case 'S':
			return digits(text, pos, 2, &parts->second);
		case 'f':
			return fraction(text, pos, &parts->micros);
		case 'z':
			return zone(text, pos, &parts->zone);
		case 's':
			return digits(text, pos, 12, &parts->epoch);
		case '%':
			return *pos < text.len && text.data[(*pos)++] == '%';
		default:
			return false;
	}
}

/* The time that the parts are.  Without a year: of this one. */
static bool
time_of(const time_parts *parts, ls_time now, ls_time *time)
{
	int64_t year = parts->year;
	int64_t hour = parts->hour;
	char iso[64];
	char today[LS_TIME_ISO_LENGTH + 1];

	if (parts->epoch >= 0)
		return ls_normalize_time_of(parts->epoch, parts->micros * 1000, time);
	if (parts->afternoon >= 0)
		hour = hour % 12 + 12 * parts->afternoon;
	if (year < 0)
	{
		ls_time_format_iso(now, today);
		year = (today[0] - '0') * 1000 + (today[1] - '0') * 100 + (today[2] - '0') * 10 +
			   (today[3] - '0');
	}
	snprintf(iso, sizeof(iso), "%04d-%02d-%02dT%02d:%02d:%02dZ", (int) year, (int) parts->month,
			 (int) parts->day, (int) hour, (int) parts->minute, (int) parts->second);
	if (!ls_time_parse_iso(ls_str_make(iso, strlen(iso)), time))
		return false;
	*time += parts->micros - parts->zone * 60 * LS_USECS_PER_SEC;
	return true;
}

bool
ls_pipeline_read_time(ls_str text, ls_str format, ls_time now, ls_time *time)
{
	time_parts parts = time_without_parts;
	size_t pos = 0;

	for (size_t i = 0; i < format.len; i++)
	{
		if (format.data[i] == ' ')
			skip_spaces(text, &pos);
		else if (format.data[i] == '%' && i + 1 < format.len)
		{
			if (!read_part(text, &pos, format.data[++i], &parts))
				return false;
		}
		else if (pos >= text.len || text.data[pos++] != format.data[i])
			return false;
	}
	return pos == text.len && time_of(&parts, now, time);
}
