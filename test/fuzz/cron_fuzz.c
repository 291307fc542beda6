/*
 * cron_fuzz.c: cron expressions of any bytes.
 *
 * The first 10 bytes choose a moment and two offsets of a zone with one change.  What is accepted
 * must have a next run after any moment, which is the last run until itself, and runs must go on.
 */
#include <stdlib.h>

#include "src/workspace/cron.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

typedef struct clock_change
{
	ls_time at;
	int32_t before;
	int32_t after;
} clock_change;

static int32_t
offset(void *context, ls_time utc)
{
	const clock_change *change = context;

	return utc < change->at ? change->before : change->after;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char problem[LS_CRON_PROBLEM] = "";
	clock_change change;
	ls_query_zone zone = {offset, &change, NULL};
	ls_time start;
	ls_time time;
	ls_cron cron;
	uint32_t second;
	char *copy;

	if (size < 10)
		return 0;
	memcpy(&second, data, sizeof(second));
	start = second * LS_USECS_PER_SEC;
	/* Within two days of the start, by at most two hours, as clocks do. */
	memcpy(&second, data + 4, sizeof(second));
	change.at = start + second % (2 * 86400) * LS_USECS_PER_SEC;
	change.before = (int8_t) data[8] * 300;
	change.after = change.before + (int8_t) data[9] % 5 * 1800;

	/* A copy of exact size, so that the sanitizer sees a read past the end. */
	copy = malloc(size - 10 + (size == 10));
	memcpy(copy, data + 10, size - 10);
	if (ls_cron_parse(ls_str_make(copy, size - 10), &cron, problem))
	{
		int gap = ls_cron_shortest_gap(&cron);

		CHECK(gap >= 1 && gap <= 1440);
		time = start;
		for (int i = 0; i < 10; i++)
		{
			ls_time next;
			ls_time last;

			CHECK(ls_cron_next(&cron, time, &zone, &next));
			CHECK(next > time);
			CHECK(ls_cron_last(&cron, next, &zone, &last) && last == next);
			CHECK(!ls_cron_last(&cron, next - 1, &zone, &last) || last <= time || i == 0);
			time = next;
		}
	}
	else
		CHECK(problem[0] != '\0');
	free(copy);
	return 0;
}
