/*
 * pattern_bench.c: accuracy and speed of the template miner.
 *
 * Prints rows `metric value unit`.
 *
 *	Accuracy	GA, FGA and mixed (test/unit/log_grammar.h) of the labelled sets
 *				under test/data/pattern, and of the data sets of the folder that
 *				LOGHUB names, whole lines and their Content column
 *	Order		the largest change of GA over five shuffles
 *	Time		milliseconds of one core for a request of 10,000 rows, the best
 *				of some runs, as a ratio to a pass that only splits the same
 *				bytes into words and hashes each: no miner can do less
 *
 * ERRORS=name prints the groups of that set that are wrong instead.
 */
#include <dirent.h>
#include <math.h>

#include "src/pattern/pattern.h"
#include "test/unit/log_cost.h"
#include "test/unit/log_grammar.h"
#include "test/unit/log_hub.h"
#include "test/unit/log_kinds.h"

#define ROWS 10000
#define RUNS 15

static ls_arena *arena;
static const char *errors_of;

/* ---- accuracy ---- */

static ls_pattern_set *
mine(ls_arena *memory, const log_rows *rows)
{
	ls_pattern_options o = LS_PATTERN_DEFAULTS;

	o.rare_threshold = 0;
	return ls_pattern_mine(memory, rows->rows, rows->n, &o);
}

/* The size of the output for a reader, defaults and whole-row samples. */
static double
reduction(const log_rows *rows)
{
	ls_pattern_set *set = ls_pattern_mine(arena, rows->rows, rows->n, NULL);
	ls_buf buf;

	ls_buf_init(&buf, arena);
	for (size_t p = 0; p < set->shown; p++)
		ls_pattern_line(&buf, &set->patterns[p]);
	return (double) rows->bytes / (double) (buf.len + set->shown);
}

/* Every group that is not exactly one label, with a row of each label in it. */
static void
print_errors(const log_rows *rows, const ls_pattern_set *set)
{
	size_t *of_label = ls_new_array(arena, size_t, (size_t) rows->nlabels + 1);

	for (size_t i = 0; i < rows->n; i++)
		of_label[rows->labels[i]]++;
	for (size_t g = 0; g < set->unique; g++)
	{
		size_t *here = ls_new_array(arena, size_t, (size_t) rows->nlabels + 1);
		size_t *example = ls_new_array(arena, size_t, (size_t) rows->nlabels + 1);
		int labels = 0;
		bool split = false;

		for (size_t i = 0; i < rows->n; i++)
		{
			if (set->pattern_of_row[i] == g && here[rows->labels[i]]++ == 0)
				example[rows->labels[i]] = i;
		}
		for (int l = 0; l < rows->nlabels; l++)
		{
			labels += here[l] > 0;
			split |= here[l] > 0 && here[l] < of_label[l];
		}
		if (labels == 1 && !split)
			continue;
		printf("%s%s %u: %.*s\n", labels > 1 ? "MIXED" : "", split ? "SPLIT" : "",
			   set->patterns[g].count, (int) set->patterns[g].template.len,
			   set->patterns[g].template.data);
		for (int l = 0; l < rows->nlabels; l++)
		{
			if (here[l] > 0)
				printf("\t%zu of %zu of label %d: %.*s\n", here[l], of_label[l], l,
					   (int) rows->rows[example[l]].len, rows->rows[example[l]].data);
		}
	}
}

static double worst_order;

/* Scores a set; prints its row. */
static log_score
score(const char *name, log_rows *rows)
{
	ls_pattern_set *set = mine(arena, rows);
	log_score s = log_grouping(arena, rows, set->pattern_of_row, set->unique);

	if (errors_of != NULL)
	{
		if (strcmp(errors_of, name) == 0)
			print_errors(rows, set);
		return s;
	}
	printf("pattern_accuracy_%s GA %.3f FGA %.3f mixed %.3f\n", name, s.ga, s.fga, s.mixed);
	for (uint64_t seed = 1; seed <= 5; seed++)
	{
		log_score other;
		double change;

		log_rows_shuffle(rows, seed);
		set = mine(arena, rows);
		other = log_grouping(arena, rows, set->pattern_of_row, set->unique);
		change = other.ga > s.ga ? other.ga - s.ga : s.ga - other.ga;
		worst_order = change > worst_order ? change : worst_order;
	}
	return s;
}

static void
print_mean(const char *name, log_score sum, size_t n)
{
	if (errors_of == NULL && n > 0)
		printf("pattern_accuracy_mean_%s GA %.3f FGA %.3f mixed %.3f\n", name, sum.ga / (double) n,
			   sum.fga / (double) n, sum.mixed / (double) n);
}

static void
add_score(log_score *sum, log_score s)
{
	sum->ga += s.ga;
	sum->fga += s.fga;
	sum->mixed += s.mixed;
}

static void
own_sets(const char *group, const char *const *kinds, size_t n, double *logs, size_t *sets)
{
	log_score sum = {0};

	for (size_t k = 0; k < n; k++)
	{
		log_rows rows = log_rows_make(arena, &kinds[k], 1, 2000, 7);

		*logs += log(reduction(&rows));
		(*sets)++;
		add_score(&sum, score(kinds[k], &rows));
	}
	print_mean(group, sum, n);
}

/* Returns a mix of the rows of all data sets, at most ROWS of them. */
static log_rows
hub_sets(const char *folder, double *logs, size_t *sets)
{
	log_rows mix = {.rows = ls_new_array(arena, ls_str, ROWS),
					.labels = ls_new_array(arena, int, ROWS)};
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, alphasort);
	log_score sum[2] = {{0}};
	size_t count = 0;

	for (int i = 0; i < n; i++)
	{
		log_rows rows[2];

		if (!log_hub_read(arena, folder, entries[i]->d_name, &rows[0], &rows[1]))
			continue;
		count++;
		for (size_t k = 0; k < rows[0].n; k += 2)
		{
			if (mix.n < ROWS)
			{
				mix.bytes += rows[0].rows[k].len;
				mix.rows[mix.n++] = rows[0].rows[k];
			}
		}
		*logs += log(reduction(&rows[0]));
		(*sets)++;
		for (int content = 0; content < 2; content++)
		{
			char name[300];

			snprintf(name, sizeof(name), "%s_%s", entries[i]->d_name, content ? "content" : "raw");
			add_score(&sum[content], score(name, &rows[content]));
		}
	}
	print_mean("loghub_raw", sum[0], count);
	print_mean("loghub_content", sum[1], count);
	return mix;
}

/* ---- time ---- */

static void
print_time(const char *name, const log_rows *rows)
{
	log_cost cost = log_mining_cost(rows, RUNS);

	printf("pattern_time_%s %.2f ms, %.0f MB/s, %.2f times the tokenise-and-hash pass, %.1f MB "
		   "memory, %zu patterns\n",
		   name, cost.mining, (double) rows->bytes / cost.mining / 1e3, cost.mining / cost.baseline,
		   (double) cost.memory / 1e6, cost.patterns);
}

int
main(void)
{
	const char *hub = getenv("LOGHUB");
	log_rows rows;
	log_rows hub_mix = {0};
	double logs = 0;
	size_t sets = 0;

	errors_of = getenv("ERRORS");
	arena = ls_arena_create(NULL, 0);
	own_sets("own", log_own_kinds, LOG_OWN_KINDS, &logs, &sets);
	own_sets("other", log_other_kinds, LOG_OTHER_KINDS, &logs, &sets);
	own_sets("fresh", log_fresh_kinds, LOG_FRESH_KINDS, &logs, &sets);
	rows = log_rows_make(arena, log_own_kinds, LOG_OWN_KINDS, ROWS, 7);
	score("mixed_10000", &rows);
	if (hub != NULL && *hub != '\0')
		hub_mix = hub_sets(hub, &logs, &sets);
	if (errors_of != NULL)
		return 0;
	printf("pattern_order_change %.4f of GA over 5 shuffles\n", worst_order);
	printf("pattern_reduction %.1f times, geometric mean of %zu sets\n", exp(logs / (double) sets),
		   sets);

	print_time("mixed", &rows);
	if (hub_mix.n > 0)
	{
		log_rows_shuffle(&hub_mix, 1);
		print_time("loghub_mixed", &hub_mix);
	}
	for (int kind = 0; kind < LOG_HOSTILE_KINDS; kind++)
	{
		rows = log_hostile_rows(arena, kind, ROWS);
		print_time(log_hostile_names[kind], &rows);
	}
	ls_arena_destroy(arena);
	return 0;
}
