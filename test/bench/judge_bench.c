/*
 * judge_bench.c: accuracy of the built-in evaluator on the labelled cases, and its speed.
 *
 * Prints rows "metric value unit".  With a file as argument: that file only, with its misses.
 */
#include <time.h>

#include "test/unit/judge_cases.h"

static double longest; /* step of the last call of speed, in ms */

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static bool
accuracy(ls_arena *arena, const char *name, const char *path, bool show)
{
	static const char *const names[] = {"-", "passed", "failed", "not_found", "skipped"};
	judge_score s;

	if (!score_file(arena, path, &s, show))
		return false;
	printf("judge_%s_items %d items\n", name, s.total);
	printf("judge_%s_accuracy %.3f ratio\n", name, score_accuracy(&s));
	printf("judge_%s_macro_f1 %.3f ratio\n", name, score_macro_f1(&s));
	printf("judge_%s_passed_right %.3f ratio\n", name, score_precision(&s));
	printf("judge_%s_calibration %.3f ratio\n", name, score_calibration(&s));
	for (int k = 1; k <= 4; k++)
		printf("judge_%s_f1_%s %.3f ratio\n", name, names[k], score_f1(&s, k));
	for (int k = 1; k <= 4; k++)
		for (int j = 1; j <= 4; j++)
			printf("judge_%s_%s_as_%s %d items\n", name, names[k], names[j], s.matrix[k][j]);
	return true;
}

/* Rows like a service's log; deterministic. */
static double
speed(ls_arena *arena, size_t n_rows, size_t row_len, size_t n_items, bool plain)
{
	static const char *const words[] = {
		"request",    "completed",      "user",       "session",    "cache",          "refreshed",
		"status=200", "duration_ms=12", "worker",     "queue",      "payment",        "authorized",
		"retry",      "timeout",        "connection", "level=info", "service=orders", "region=eu"};
	static const char *const kinds[] = {"Payment p-%zu is authorized", "No timeouts in worker %zu",
										"Request %zu takes less than 200 ms",
										"The cache of tenant %zu is refreshed"};
	/* no identifier tells rows apart: most rows have to be compared */
	static const char *const plain_kinds[] = {
		"Payment is authorized", "No timeouts in the queue worker",
		"Every request takes less than 200 ms", "The session cache is refreshed"};
	ls_str *rows = ls_new_array(arena, ls_str, n_rows);
	ls_expected_item *items = ls_new_array(arena, ls_expected_item, n_items);
	ls_judge_finding *f;
	size_t n;
	ls_str summary;
	uint32_t x = 12345;
	ls_judge_job *job;
	ls_judge_state state = LS_JUDGE_MORE;
	double start, before, after;

	for (size_t i = 0; i < n_rows; i++)
	{
		ls_buf buf;

		ls_buf_init(&buf, arena);
		ls_buf_printf(&buf, "2024-05-01T10:%02zu:%02zuZ", i / 60 % 60, i % 60);
		while (buf.len + 24 < row_len)
		{
			x = x * 1664525 + 1013904223;
			ls_buf_printf(&buf, " %s", words[(x >> 16) % 18]);
			if ((x >> 8 & 7) == 0)
				ls_buf_printf(&buf, " id=%u", x >> 12);
		}
		rows[i] = ls_str_make(buf.data, buf.len);
	}
	for (size_t i = 0; i < n_items; i++)
	{
		char text[80];
		int len = plain ? snprintf(text, sizeof(text), "%s", plain_kinds[i % 4])
						: snprintf(text, sizeof(text), kinds[i % 4], i);

		items[i].id = items[i].description =
			ls_arena_strdup(arena, ls_str_make(text, (size_t) len));
	}
	start = now();
	longest = 0;
	job = ls_judge_begin(arena, rows, n_rows, LS_STR("Judge each item."), items, n_items, false);
	if (job == NULL)
		return -1;
	longest = (before = now()) - start;
	for (; state == LS_JUDGE_MORE; before = after)
	{
		state = ls_judge_step(job, LS_JUDGE_SLICE);
		after = now();
		longest = after - before > longest ? after - before : longest;
	}
	if (state != LS_JUDGE_DONE)
		return -1;
	ls_judge_result(job, &f, &n, &summary);
	return now() - start;
}

int
main(int argc, char **argv)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	static const size_t sizes[][3] = {
		{200, 150, 10}, {10000, 150, 10}, {10000, 150, 200}, {10000, 1000, 200}, {10000, 2000, 1}};

	if (argc > 1)
		return accuracy(arena, "file", argv[1], true) ? 0 : 1;
	if (!accuracy(arena, "dev", "test/data/judge/dev.cases", false) ||
		!accuracy(arena, "dev2", "test/data/judge/dev2.cases", false) ||
		!accuracy(arena, "dev3", "test/data/judge/dev3.cases", false) ||
		!accuracy(arena, "dev4", "test/data/judge/dev4.cases", false) ||
		!accuracy(arena, "dev5", "test/data/judge/dev5.cases", false) ||
		!accuracy(arena, "dev6", "test/data/judge/dev6.cases", false) ||
		!accuracy(arena, "heldout4", "test/data/judge/heldout4.cases", false) ||
		!accuracy(arena, "heldout", "test/data/judge/heldout.cases", false) ||
		!accuracy(arena, "heldout2", "test/data/judge/heldout2.cases", false) ||
		!accuracy(arena, "heldout3", "test/data/judge/heldout3.cases", false))
		return 1;
	for (size_t i = 0; i < 10; i++)
	{
		const size_t *size = sizes[i % 5];
		const char *kind = i < 5 ? "items" : "plain_items";
		double best = 1e9, pause = 1e9;

		for (int k = 0; k < 3; k++)
		{
			double t;

			ls_arena_reset(arena);
			t = speed(arena, size[0], size[1], size[2], i >= 5);
			best = t < best ? t : best;
			pause = longest < pause ? longest : pause;
		}
		printf("judge_time_%zux%zu_%zu_%s %.2f ms\n", size[0], size[1], size[2], kind, best);
		printf("judge_pause_%zux%zu_%zu_%s %.2f ms\n", size[0], size[1], size[2], kind, pause);
		printf("judge_memory_%zux%zu_%zu_%s %zu bytes\n", size[0], size[1], size[2], kind,
			   ls_arena_used(arena));
	}
	ls_arena_destroy(arena);
	return 0;
}
