/*
 * judge_ablation.c: what each rule of the built-in evaluator is worth.
 *
 * Switches the rules off one at a time and judges all labelled cases.  Prints a table: how much
 * accuracy, macro-F1 and the share of `passed` that is right fall without the rule, over all
 * development parts together and over the held-out cases.  A rule whose absence lowers nothing may
 * go.  make ablation
 */
#include "src/judge/judge_internal.h"
#include "test/unit/judge_cases.h"

int ls_judge_rule_off = -1;

static const char *const parts[] = {"dev",  "dev2",    "dev3",     "dev4",    "dev5",
									"dev6", "heldout", "heldout2", "heldout3"};
static const char *const held_out[] = {"heldout4"};

static bool
score_parts(ls_arena *arena, const char *const *names, size_t n, judge_score *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < n; i++)
	{
		char path[64];
		judge_score s;

		ls_arena_reset(arena);
		snprintf(path, sizeof(path), "test/data/judge/%s.cases", names[i]);
		if (!score_file(arena, path, &s, false))
			return false;
		for (int a = 0; a < 5; a++)
			for (int b = 0; b < 5; b++)
				sum->matrix[a][b] += s.matrix[a][b];
		sum->total += s.total;
	}
	return true;
}

int
main(void)
{
	static const char *const texts[] = {
#define R(id, text) text,
		LS_JUDGE_RULES(R)
#undef R
	};
	ls_arena *arena = ls_arena_create(NULL, 0);
	judge_score dev, held;
	double base[6];

	for (int rule = -1; rule < LS_JUDGE_RULE_COUNT; rule++)
	{
		double now[6];

		ls_judge_rule_off = rule;
		if (!score_parts(arena, parts, sizeof(parts) / sizeof(parts[0]), &dev) ||
			!score_parts(arena, held_out, sizeof(held_out) / sizeof(held_out[0]), &held))
			return 1;
		now[0] = score_accuracy(&dev);
		now[1] = score_macro_f1(&dev);
		now[2] = score_precision(&dev);
		now[3] = score_accuracy(&held);
		now[4] = score_macro_f1(&held);
		now[5] = score_precision(&held);
		if (rule < 0)
		{
			memcpy(base, now, sizeof(base));
			printf("| all rules | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", now[0], now[1],
				   now[2], now[3], now[4], now[5]);
			continue;
		}
		printf("| %s |", texts[rule]);
		for (int k = 0; k < 6; k++)
			printf(" %+.1f |", (now[k] - base[k]) * 1000);
		printf("\n");
	}
	ls_arena_destroy(arena);
	return 0;
}
