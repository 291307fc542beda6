/*
 * cron_test.c: cron expressions: what is one, when it runs, also where clocks change.
 */
#include "test/unit/tap.h"

#include "src/workspace/cron.h"

#define HOUR (3600 * LS_USECS_PER_SEC)

static ls_time
at(const char *iso)
{
	ls_time time = 0;

	if (!ls_time_parse_iso(ls_str_make(iso, strlen(iso)), &time))
		ok(false, iso);
	return time;
}

/* Central European time in 2026: 02:00 becomes 03:00 on 29 March, 03:00 becomes 02:00 on 25 October. */
static int32_t
europe(void *context, ls_time utc)
{
	return utc >= at("2026-03-29T01:00:00Z") && utc < at("2026-10-25T01:00:00Z") ? 7200 : 3600;
}

/* Half an hour, at 02:00: Lord Howe Island, where the southern summer ends on 5 April. */
static int32_t
howe(void *context, ls_time utc)
{
	return utc < at("2026-04-04T15:00:00Z") || utc >= at("2026-10-03T15:30:00Z") ? 39600 : 37800;
}

static const ls_query_zone utc = {NULL, NULL, NULL};
static const ls_query_zone berlin = {europe, NULL, NULL};
static const ls_query_zone lord_howe = {howe, NULL, NULL};

static ls_cron
cron_of(const char *text)
{
	ls_cron cron = {0};
	char problem[LS_CRON_PROBLEM];

	if (!ls_cron_parse(ls_str_make(text, strlen(text)), &cron, problem))
	{
		ok(false, text);
		printf("#   %s\n", problem);
	}
	return cron;
}

/* The runs after a time, up to `expected`, which has them with blanks between. */
static void
runs(const char *text, const ls_query_zone *zone, const char *after, const char *expected)
{
	ls_cron cron = cron_of(text);
	ls_time time = at(after);
	char got[512] = "";
	char name[256];

	while (strlen(got) < strlen(expected) && strlen(got) < sizeof(got) - 64)
	{
		char iso[LS_TIME_ISO_LENGTH + 1];
		ls_time last;

		if (!ls_cron_next(&cron, time, zone, &time))
		{
			strcat(got, "none");
			break;
		}
		ls_time_format_iso(time, iso);
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%.16s", got[0] ? " " : "", iso);
		if (!ls_cron_last(&cron, time, zone, &last) || last != time)
			ok(false, "a run is the last one until itself");
	}
	snprintf(name, sizeof(name), "%s after %s", text, after);
	is_str(ls_str_make(got, strlen(got)), expected, name);
}

static void
refused(const char *text, const char *expected)
{
	ls_cron cron;
	char problem[LS_CRON_PROBLEM] = "";
	char name[160];
	bool good = ls_cron_parse(ls_str_make(text, strlen(text)), &cron, problem);

	snprintf(name, sizeof(name), "refused: '%s'", text);
	if (!ok(!good && strstr(problem, expected) != NULL, name))
		printf("#   got '%s'\n", problem);
}

static void
last(const char *text, const ls_query_zone *zone, const char *until, const char *expected)
{
	ls_cron cron = cron_of(text);
	char iso[LS_TIME_ISO_LENGTH + 1] = "none";
	char name[256];
	ls_time time;

	if (ls_cron_last(&cron, at(until), zone, &time))
		ls_time_format_iso(time, iso);
	snprintf(name, sizeof(name), "the last of %s until %s", text, until);
	is_str(ls_str_make(iso, strlen(iso) < 16 ? strlen(iso) : 16), expected, name);
}

static void
test_parse(void)
{
	runs("*/20 9-10 * * *", &utc, "2026-11-23T09:20:00Z",
		 "2026-11-23T09:40 2026-11-23T10:00 2026-11-23T10:20 2026-11-23T10:40 2026-11-24T09:00");
	runs(" 5,35\t0 1  Jan,JUL * ", &utc, "2026-01-01T00:05:00Z",
		 "2026-01-01T00:35 2026-07-01T00:05 2026-07-01T00:35 2027-01-01T00:05");
	runs("0 12 * * mon-fri", &utc, "2026-11-20T12:00:00Z", "2026-11-23T12:00 2026-11-24T12:00");
	runs("0 12 * * 7", &utc, "2026-11-20T12:00:00Z", "2026-11-22T12:00 2026-11-29T12:00");
	runs("0 12 * * 0", &utc, "2026-11-20T12:00:00Z", "2026-11-22T12:00 2026-11-29T12:00");
	runs("0 0 * * 5-7", &utc, "2026-11-19T12:00:00Z",
		 "2026-11-20T00:00 2026-11-21T00:00 2026-11-22T00:00 2026-11-27T00:00");
	/* A day, or a day of the week. */
	runs("0 0 13 * fri", &utc, "2026-11-05T12:00:00Z",
		 "2026-11-06T00:00 2026-11-13T00:00 2026-11-20T00:00");
	runs("0 0 1 * wed", &utc, "2026-11-23T12:00:00Z",
		 "2026-11-25T00:00 2026-12-01T00:00 2026-12-02T00:00");
	/* What begins with * is no restriction, as in Vixie's cron: days 1, 3, ... that are Mondays. */
	runs("0 0 */2 * mon", &utc, "2026-11-01T12:00:00Z", "2026-11-09T00:00 2026-11-23T00:00");
	runs("@hourly", &utc, "2026-12-31T23:00:00Z", "2027-01-01T00:00 2027-01-01T01:00");
	runs("@Daily", &utc, "2026-02-28T00:00:00.001Z", "2026-03-01T00:00");
	runs("@weekly", &utc, "2026-11-23T00:00:00Z", "2026-11-29T00:00");
	runs("@monthly", &utc, "2026-11-23T00:00:00Z", "2026-12-01T00:00");
	runs("@yearly", &utc, "2026-11-23T00:00:00Z", "2027-01-01T00:00");
	runs("0 0 31 * *", &utc, "2026-01-31T00:00:00Z", "2026-03-31T00:00 2026-05-31T00:00");
	/* 2100 is no leap year. */
	runs("0 0 29 2 *", &utc, "2096-02-29T00:00:00Z", "2104-02-29T00:00");
	/* Both, where one begins with *: a first of February that is a Monday, a 29th that is a Sunday. */
	runs("0 0 */51 2 1", &utc, "1999-02-01T00:00:00Z", "2010-02-01T00:00");
	runs("0 0 29 2 */7", &utc, "2088-02-29T00:00:00Z", "2128-02-29T00:00");
	runs("59 23 31 12 *", &utc, "1969-12-31T23:58:59Z", "1969-12-31T23:59 1970-12-31T23:59");

	refused("", "five fields");
	refused("* * * *", "five fields");
	refused("* * * * * *", "nothing after them");
	refused("60 * * * *", "minute: expected * or 0 to 59");
	refused("* 24 * * *", "hour:");
	refused("* * 0 * *", "day of the month:");
	refused("* * 32 * *", "day of the month:");
	refused("* * * 13 *", "month:");
	refused("* * * jax *", "month:");
	refused("* * * january *", "month:");
	refused("* * * * 8", "day of the week:");
	refused("* * * * -1", "day of the week:");
	refused("5/15 * * * *", "minute:");
	refused("*/0 * * * *", "minute:");
	refused("*/60 * * * *", "minute:");
	refused("10-5 * * * *", "minute:");
	refused("1,,2 * * * *", "minute:");
	refused("1, * * * *", "minute:");
	refused("1- * * * *", "minute:");
	refused("** * * * *", "minute:");
	refused("+1 * * * *", "minute:");
	refused("4294967296 * * * *", "minute:");
	refused("@reboot", "five fields");
	refused("0 0 * * L", "day of the week:");
	refused("0 0 31 2 *", "such a day");
	refused("0 0 30 feb *", "such a day");
	refused("0 0 31 4,6,9,11 *", "such a day");
}

static void
test_clock_changes(void)
{
	/* 02:00 to 03:00 does not exist on 29 March: it runs when 03:00 comes, at 01:00 UTC. */
	runs("30 2 * * *", &berlin, "2026-03-27T12:00:00Z",
		 "2026-03-28T01:30 2026-03-29T01:00 2026-03-30T00:30");
	runs("0,20,40 2 * * *", &berlin, "2026-03-28T12:00:00Z", "2026-03-29T01:00 2026-03-30T00:00");
	runs("0 2,3 * * *", &berlin, "2026-03-28T12:00:00Z", "2026-03-29T01:00 2026-03-30T00:00");
	runs("30 * * * *", &berlin, "2026-03-28T23:30:00Z",
		 "2026-03-29T00:30 2026-03-29T01:00 2026-03-29T01:30 2026-03-29T02:30");
	runs("@hourly", &berlin, "2026-03-28T23:30:00Z",
		 "2026-03-29T00:00 2026-03-29T01:00 2026-03-29T02:00");
	runs("59 1 29 3 *", &berlin, "2026-03-28T12:00:00Z", "2026-03-29T00:59 2027-03-29T00:59");

	/* 02:00 to 03:00 comes twice on 25 October: the first one counts. */
	runs("30 2 * * *", &berlin, "2026-10-24T12:00:00Z",
		 "2026-10-25T00:30 2026-10-26T01:30 2026-10-27T01:30");
	runs("*/30 * * * *", &berlin, "2026-10-24T23:40:00Z",
		 "2026-10-25T00:00 2026-10-25T00:30 2026-10-25T02:00 2026-10-25T02:30");
	runs("0 3 * * *", &berlin, "2026-10-24T12:00:00Z", "2026-10-25T02:00 2026-10-26T02:00");
	/* From within the second one. */
	runs("30 2 * * *", &berlin, "2026-10-25T01:10:00Z", "2026-10-26T01:30");
	runs("0 0 * * *", &berlin, "2026-10-24T12:00:00Z", "2026-10-24T22:00 2026-10-25T23:00");

	runs("15 2 * * *", &lord_howe, "2026-10-02T20:00:00Z", "2026-10-03T15:30 2026-10-04T15:15");
	runs("45 1 * * *", &lord_howe, "2026-04-04T12:00:00Z", "2026-04-04T14:45 2026-04-05T15:15");
}

static void
test_last(void)
{
	last("0 * * * *", &utc, "2026-11-23T09:59:59Z", "2026-11-23T09:00");
	last("0 * * * *", &utc, "2026-11-23T10:00:00Z", "2026-11-23T10:00");
	last("*/5 * * 1 *", &utc, "2026-11-23T10:00:00Z", "2026-01-31T23:55");
	last("0 0 29 2 *", &utc, "2104-02-28T00:00:00Z", "2096-02-29T00:00");
	last("30 2 * * *", &berlin, "2026-03-29T01:00:00Z", "2026-03-29T01:00");
	last("30 2 * * *", &berlin, "2026-03-29T00:59:59Z", "2026-03-28T01:30");
	last("30 2 * * *", &berlin, "2026-10-25T01:30:00Z", "2026-10-25T00:30");
}

static void
test_gap(void)
{
	static const struct
	{
		const char *text;
		int gap;
	} gaps[] = {{"* * * * *", 1},       {"*/5 * * * *", 5},
				{"0,58 * * * *", 2},    {"0 * * * *", 60},
				{"0 3 * * *", 1440},    {"0 0 1 1 *", 1440},
				{"2,57 0,23 * * *", 5}, {"*/7 * * * *", 4},
				{"10,20 5 * * *", 10},  {"0-58/29 0-23/2 * * *", 29},
				{"59 8,9 * * *", 60}};

	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++)
	{
		ls_cron cron = cron_of(gaps[i].text);

		is_int(ls_cron_shortest_gap(&cron), gaps[i].gap, gaps[i].text);
	}
}

int
main(void)
{
	test_parse();
	test_clock_changes();
	test_last();
	test_gap();
	return done_testing();
}
