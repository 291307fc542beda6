/* judge_cases.h: reads the labelled cases under test/data/judge for the test and the benchmark. */
#ifndef JUDGE_CASES_H
#define JUDGE_CASES_H

#include <stdio.h>
#include <stdlib.h>

#include "src/judge/judge.h"

#define CASE_MAX_ROWS 64
#define CASE_MAX_ITEMS 16

typedef struct judge_case
{
	ls_str name, category, criteria;
	ls_str rows[CASE_MAX_ROWS];
	size_t n_rows;
	ls_expected_item items[CASE_MAX_ITEMS];
	ls_finding_status labels[CASE_MAX_ITEMS];
	size_t n_items;
} judge_case;

static inline ls_str
case_word(ls_str *line)
{
	size_t n = 0;
	ls_str word;

	while (n < line->len && line->data[n] != ' ')
		n++;
	word = ls_str_make(line->data, n);
	n += n < line->len;
	*line = ls_str_make(line->data + n, line->len - n);
	return word;
}

/* The cases of a file, in arena memory; NULL and a message when it cannot be read. */
static inline judge_case *
read_cases(ls_arena *arena, const char *path, size_t *n_cases)
{
	static const char *const names[] = {"", "passed", "failed", "not_found", "skipped"};
	FILE *file = fopen(path, "rb");
	judge_case *cases = ls_new_array(arena, judge_case, 256);
	judge_case *c = NULL;
	char *text = ls_arena_alloc(arena, 1 << 20);
	size_t len, at = 0;

	*n_cases = 0;
	if (file == NULL || cases == NULL || text == NULL)
	{
		fprintf(stderr, "cannot read %s\n", path);
		return NULL;
	}
	len = fread(text, 1, 1 << 20, file);
	fclose(file);
	while (at < len)
	{
		char *newline = memchr(text + at, '\n', len - at);
		size_t end = newline ? (size_t) (newline - text) : len;
		ls_str line = ls_str_make(text + at, end - at);
		ls_str word = line.len > 0 && line.data[0] != '#' ? case_word(&line) : LS_STR("");

		at = end + 1;
		if (word.len == 0)
			continue;
		if (ls_str_eq(word, LS_STR("case")) && *n_cases < 256)
		{
			c = &cases[(*n_cases)++];
			c->name = case_word(&line);
			c->category = line;
		}
		else if (c != NULL && ls_str_eq(word, LS_STR("criteria")))
			c->criteria = line;
		else if (c != NULL && ls_str_eq(word, LS_STR("|")) && c->n_rows < CASE_MAX_ROWS)
			c->rows[c->n_rows++] = line;
		else
		{
			int label = 0;

			for (int k = 1; k <= 4; k++)
				if (ls_str_eq(word, ls_str_make(names[k], strlen(names[k]))))
					label = k;
			if (c == NULL || label == 0 || c->n_items == CASE_MAX_ITEMS)
			{
				fprintf(stderr, "%s: cannot understand \"%.*s\"\n", path, (int) word.len,
						word.data);
				return NULL;
			}
			c->labels[c->n_items] = (ls_finding_status) label;
			c->items[c->n_items].id = case_word(&line);
			c->items[c->n_items++].description = line;
		}
	}
	return cases;
}

typedef struct judge_score
{
	int matrix[5][5]; /* [label][finding] */
	int total;
	/* by confidence, in tenths: how many, how many of them right, the sum of their confidence */
	int n[10], right[10];
	double confidence[10];
} judge_score;

static inline double
score_accuracy(const judge_score *s)
{
	int right = 0;

	for (int k = 1; k <= 4; k++)
		right += s->matrix[k][k];
	return s->total ? (double) right / s->total : 0;
}

static inline double
score_f1(const judge_score *s, int k)
{
	int found = 0, labelled = 0;

	for (int j = 0; j <= 4; j++)
	{
		found += s->matrix[j][k];
		labelled += s->matrix[k][j];
	}
	return found + labelled ? 2.0 * s->matrix[k][k] / (found + labelled) : 0;
}

static inline double
score_macro_f1(const judge_score *s)
{
	return (score_f1(s, 1) + score_f1(s, 2) + score_f1(s, 3) + score_f1(s, 4)) / 4;
}

/* Of what was called passed, the share that is right. */
static inline double
score_precision(const judge_score *s)
{
	int found = 0;

	for (int j = 0; j <= 4; j++)
		found += s->matrix[j][1];
	return found ? (double) s->matrix[1][1] / found : 1;
}

/* The mean gap, over the tenths that occur, between confidence and the share that is right. */
static inline double
score_calibration(const judge_score *s)
{
	double sum = 0, gap;
	int bins = 0;

	for (int b = 0; b < 10; b++)
	{
		if (s->n[b] == 0)
			continue;
		gap = (s->right[b] - s->confidence[b]) / s->n[b];
		sum += gap < 0 ? -gap : gap;
		bins++;
	}
	return bins ? sum / bins : 0;
}

/* Judges all cases of a file; false when it cannot be read or the evaluator fails. */
static inline bool
score_file(ls_arena *arena, const char *path, judge_score *score, bool show_misses)
{
	static const char *const names[] = {"-", "passed", "failed", "not_found", "skipped"};
	size_t n_cases;
	judge_case *cases = read_cases(arena, path, &n_cases);

	memset(score, 0, sizeof(*score));
	if (cases == NULL || n_cases == 0)
		return false;
	for (size_t i = 0; i < n_cases; i++)
	{
		const judge_case *c = &cases[i];
		ls_judge_finding *f;
		size_t n;
		ls_str summary;

		if (!ls_judge(arena, c->rows, c->n_rows, c->criteria, c->items, c->n_items, false, &f, &n,
					  &summary) ||
			n != c->n_items)
			return false;
		for (size_t k = 0; k < n; k++)
		{
			int tenth = f[k].confidence < 1 ? (int) (f[k].confidence * 10) : 9;

			score->matrix[c->labels[k]][f[k].status]++;
			score->total++;
			score->n[tenth]++;
			score->right[tenth] += c->labels[k] == f[k].status;
			score->confidence[tenth] += f[k].confidence;
			if (show_misses && c->labels[k] != f[k].status)
				printf("%.*s/%.*s: %s, not %s | %.*s | %.*s\n", (int) c->name.len, c->name.data,
					   (int) c->items[k].id.len, c->items[k].id.data, names[f[k].status],
					   names[c->labels[k]], (int) c->items[k].description.len,
					   c->items[k].description.data, (int) f[k].explanation.len,
					   f[k].explanation.data);
		}
	}
	return true;
}

#endif
