/*
 * event_writer.c: prints the events of event_source.c, as benchmarks send them.
 *
 *	event_source batches EVENTS START SPAN CLIENT CLIENTS [FIRST LAST]
 *	event_source copy EVENTS START SPAN COUNT
 *	event_source texts EVENTS START SPAN
 *	event_source request_id NUMBER
 *
 * Event i of EVENTS happens at START + SPAN * i / EVENTS (microseconds since 1970), give or
 * take a second.  "batches" prints JSON arrays of BATCH events, each after a line with
 * its length: those whose number is CLIENT modulo CLIENTS, of events FIRST to LAST - 1.  "copy"
 * prints the first COUNT for COPY of (ts, level, source, event, attributes), "texts"
 * the texts alone.  SEED in the environment (1) gives other templates.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_source.h"

#define BATCH 2500

static char buffer[BATCH * 2 * SOURCE_MAX_TEXT];
static source_event event;

static char *
put(char *to, const char *text, size_t n)
{
	memcpy(to, text, n);
	return to + n;
}

#define PUT(to, literal) put(to, literal, sizeof(literal) - 1)
#define PUT_STRING(to, text) put(to, text, strlen(text))

static char *
put_number(char *to, int64_t n, int digits)
{
	for (int i = digits - 1; i >= 0; i--, n /= 10)
		to[i] = (char) ('0' + n % 10);
	return to + digits;
}

/* Days since 1970 to a date (the calendar is that of Gregory). */
static char *
put_time(char *to, int64_t us)
{
	int64_t s = us / 1000000;
	int64_t z = s / 86400 + 719468;
	int64_t era = z / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;
	int64_t month = mp < 10 ? mp + 3 : mp - 9;

	to = put_number(to, yoe + era * 400 + (month <= 2), 4);
	*to++ = '-';
	to = put_number(to, month, 2);
	*to++ = '-';
	to = put_number(to, doy - (153 * mp + 2) / 5 + 1, 2);
	*to++ = 'T';
	to = put_number(to, s % 86400 / 3600, 2);
	*to++ = ':';
	to = put_number(to, s % 3600 / 60, 2);
	*to++ = ':';
	to = put_number(to, s % 60, 2);
	*to++ = '.';
	to = put_number(to, us % 1000000, 6);
	*to++ = 'Z';
	return to;
}

/* As a JSON string has it, or COPY. */
static char *
put_escaped(char *to, const char *text, size_t n, bool json)
{
	for (size_t i = 0; i < n; i++)
	{
		char c = text[i];

		if (c == '\n' || c == '\t')
		{
			*to++ = '\\';
			*to++ = c == '\n' ? 'n' : 't';
			continue;
		}
		if (c == '\\' || (c == '"' && json))
			*to++ = '\\';
		*to++ = c;
	}
	return to;
}

static char *
put_attributes(char *to, const char *form)
{
	const char *values[] = {event.host, event.service, event.request_id};

	int k = 0;

	for (; *form != '\0'; form++)
	{
		if (*form == '%')
		{
			to = PUT_STRING(to, values[k]);
			k++;
		}
		else
			*to++ = *form;
	}
	return to;
}

static void
make(uint64_t i, uint64_t events, int64_t start, int64_t span)
{
	uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
	source_make(&event, i,
				start + (int64_t) ((double) span * (double) i / (double) events) +
					(int64_t) ((z >> 32) * 1000000 >> 32),
				-1, true);
}

static void
batches(uint64_t events, int64_t start, int64_t span, uint64_t client, uint64_t clients,
		uint64_t from, uint64_t to)
{
	for (uint64_t first = from + client * BATCH; first < to; first += clients * BATCH)
	{
		char *p = buffer;

		for (uint64_t i = first; i < first + BATCH && i < to; i++)
		{
			make(i, events, start, span);
			*p++ = i == first ? '[' : ',';
			p = PUT(p, "{\"timestamp\":\"");
			p = put_time(p, event.time);
			p = PUT(p, "\",\"level\":\"");
			p = PUT_STRING(p, event.level);
			p = PUT(p, "\",\"source\":\"");
			p = PUT_STRING(p, event.source);
			p = PUT(p, "\",\"event\":\"");
			p = put_escaped(p, event.text, event.length, true);
			p = put_attributes(p,
							   "\",\"attributes\":{\"host\":\"%\",\"service\":\"%\",\"request_id\":"
							   "\"%\"}}");
		}
		*p++ = ']';
		printf("%zu\n", (size_t) (p - buffer));
		fwrite(buffer, 1, (size_t) (p - buffer), stdout);
	}
}

static void
lines(uint64_t events, int64_t start, int64_t span, uint64_t upto, bool copy)
{
	for (uint64_t i = 0; i < upto; i++)
	{
		char *p = buffer;

		make(i, events, start, span);
		if (copy)
		{
			p = put_time(p, event.time);
			*p++ = '\t';
			p = PUT_STRING(p, event.level);
			*p++ = '\t';
			p = PUT_STRING(p, event.source);
			*p++ = '\t';
			p = put_escaped(p, event.text, event.length, false);
			p = put_attributes(p, "\t{\"host\": \"%\", \"service\": \"%\", \"request_id\": \"%\"}");
		}
		else
			p = put(p, event.text, event.length);
		*p++ = '\n';
		fwrite(buffer, 1, (size_t) (p - buffer), stdout);
	}
}

int
main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int64_t start = argc > 3 ? strtoll(argv[3], NULL, 10) : 0;
	int64_t span = argc > 4 ? strtoll(argv[4], NULL, 10) : 0;
	const char *seed = getenv("SEED");

	source_init(seed != NULL ? strtoull(seed, NULL, 10) : 1);
	if ((argc == 7 || argc == 9) && strcmp(argv[1], "batches") == 0)
		batches(n, start, span, strtoull(argv[5], NULL, 10), strtoull(argv[6], NULL, 10),
				argc == 9 ? strtoull(argv[7], NULL, 10) : 0,
				argc == 9 ? strtoull(argv[8], NULL, 10) : n);
	else if (argc == 6 && strcmp(argv[1], "copy") == 0)
		lines(n, start, span, strtoull(argv[5], NULL, 10), true);
	else if (argc == 5 && strcmp(argv[1], "texts") == 0)
		lines(n, start, span, n, false);
	else if (argc == 3 && strcmp(argv[1], "request_id") == 0)
	{
		make(n, n + 1, 0, 1);
		printf("%s\n", event.request_id);
	}
	else
		return 2;
	return fflush(stdout) == 0 ? 0 : 1;
}
