/*-------------------------------------------------------------------------
 *
 * judge_criteria.c
 *	  What the criteria define, for the built-in evaluator (pure).
 *
 * Criteria may say what counts: "treat a warning as a failure", "a step that takes more than 60 s
 * fails", "the item passes when the request is rejected", "skipped counts as failed".  These four
 * shapes are known and applied to an item after it has been decided; other definitions are not
 * understood (docs/builtin-evaluator.md).
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

typedef struct sentence
{
	const ls_judge_ctx *ctx;
	ls_judge_text t;
} sentence;

static bool
is(const sentence *s, int i, const char *word)
{
	return ls_judge_is(ls_judge_atom_text(&s->t, i), word);
}

static const ls_judge_word *
word_of(const sentence *s, int i)
{
	return &s->ctx->words.table[s->t.atoms[i].word];
}

/* The first word of the concept and polarity from atom `from` on, -1: none. */
static int
find_word(const sentence *s, int from, ls_judge_concept concept, ls_judge_polarity pol)
{
	for (int i = from; i < s->t.n; i++)
		if (word_of(s, i)->concept == concept && word_of(s, i)->pol == pol)
			return i;
	return -1;
}

static int
find_text(const sentence *s, int from, const char *word)
{
	for (int i = from; i < s->t.n; i++)
		if (is(s, i, word))
			return i;
	return -1;
}

/* Where does a failure stand: "fails", "failure", "violation"? */
static int
find_failure(const sentence *s, int from)
{
	int fail = find_word(s, from, LS_CONCEPT_RESULT, LS_POL_NEG);
	int violation = find_text(s, from, "violation");

	if (violation < 0)
		violation = find_text(s, from, "violated");
	return fail >= 0 ? fail : violation;
}

static bool
denied(const sentence *s)
{
	for (int i = 0; i < s->t.n; i++)
		if (word_of(s, i)->pol == LS_POL_NOT)
			return true;
	return false;
}

static void
read_sentence(ls_judge_ctx *ctx, ls_str text)
{
	sentence s = {ctx, {text, ctx->atoms, 0}};
	ls_judge_defs *defs = &ctx->defs;
	int warning, skip, rest, fail, pass;

	s.t.n = ls_judge_text_scan(ctx, text, ctx->atoms, LS_JUDGE_ROW_ATOMS);
	warning = find_word(&s, 0, LS_CONCEPT_WARNING, LS_POL_NONE);
	rest = find_text(&s, 0, "as") + 1;
	fail = find_failure(&s, 0);
	pass = find_word(&s, 0, LS_CONCEPT_RESULT, LS_POL_POS);

	/* "treat a warning as a failure", "passes only if it logged neither a warning nor an error" */
	if (warning >= 0 && !denied(&s) && rest > 0 &&
		(find_failure(&s, rest) >= 0 || find_word(&s, rest, LS_CONCEPT_ERROR, LS_POL_NEG) >= 0))
		defs->warning_fails = true;
	if (warning >= 0 && pass >= 0 && denied(&s) && find_text(&s, pass, "only") >= 0)
		defs->warning_fails = true;
	/* "skipped counts as failed" */
	skip = find_word(&s, 0, LS_CONCEPT_SKIP, LS_POL_SKIP);
	if (skip >= 0 && rest > skip && !denied(&s))
	{
		if (find_failure(&s, rest) >= 0)
			defs->skipped = LS_FINDING_FAILED;
		else if (find_word(&s, rest, LS_CONCEPT_RESULT, LS_POL_POS) >= 0)
			defs->skipped = LS_FINDING_PASSED;
	}
	/* "passes when the request is REJECTED" */
	if (pass >= 0 && fail < 0 && !denied(&s))
		for (int i = pass + 1; i < s.t.n; i++)
			if ((is(&s, i, "when") || is(&s, i, "if") || is(&s, i, "means")) &&
				find_word(&s, i, LS_CONCEPT_DENY, LS_POL_NEG) >= 0)
				defs->inverted = true;
	/* "fails if it takes more than 60 s", "a temperature over 80 C is a violation" */
	if (defs->limit == NULL && (fail >= 0 || pass >= 0))
	{
		ls_judge_item *limit = ls_judge_item_parse(ctx, text);

		if (limit != NULL && limit->cond.op != LS_OP_NONE && !limit->any)
		{
			defs->limit = limit;
			defs->limit_fails = fail >= 0;
		}
	}
}

void
ls_judge_criteria_read(ls_judge_ctx *ctx, ls_str criteria)
{
	size_t start = 0;

	for (size_t i = 0; i <= criteria.len; i++)
	{
		size_t end = i == criteria.len ? 1 : ls_judge_part_end(criteria, i);

		if (end == 0)
			continue;
		if (i > start + 8)
			read_sentence(ctx, ls_str_make(criteria.data + start, i - start));
		start = i + end;
	}
}

/* Does the row warn, by its level or by a word that is not denied? */
static bool
warns(const ls_judge_ctx *ctx, const ls_judge_row *row)
{
	for (int i = 0; i < row->text.n; i++)
		if (ctx->words.table[row->text.atoms[i].word].concept == LS_CONCEPT_WARNING &&
			(row->text.atoms[i].client == LS_CLIENT_NONE ||
			 row->text.atoms[i].client == LS_CLIENT_FREE) &&
			!ls_judge_row_negated(ctx, &row->text, i))
			return true;
	for (int k = 0; k < row->n_cues; k++)
		if (row->cues[k].class == LS_CLASS_FAIL && !(row->cues[k].flags & LS_CUE_PAST))
			return true;
	return false;
}

bool
ls_judge_criteria_apply(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows,
						ls_judge_decision *d)
{
	const ls_judge_defs *defs = &ctx->defs;
	bool bare = !item->has_action && !item->absent && item->cond.op == LS_OP_NONE;

	if (defs->inverted && bare && !item->has_outcome)
	{
		if (d->status == LS_FINDING_PASSED)
			d->status = LS_FINDING_FAILED;
		else if (d->status == LS_FINDING_FAILED)
			d->status = LS_FINDING_PASSED;
		d->why = "decides it by what the criteria call passed";
		return true;
	}
	if (d->status == LS_FINDING_SKIPPED && defs->skipped != 0)
	{
		d->status = defs->skipped;
		d->why = "says that it was skipped, which the criteria define";
		return true;
	}
	if (!(defs->warning_fails || defs->limit != NULL) || item->cond.op != LS_OP_NONE ||
		item->absent || !(bare || d->status == LS_FINDING_PASSED))
		return true;
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_judge_hit *h = &rows->list[i];
		const ls_judge_row *row = ls_judge_row_get(ctx, h->row);
		double v;

		if (row == NULL)
			return false;
		if (row->hostile || h->m.relevance < LS_RELEVANT || h->m.relevance < rows->best - 0.2f)
			continue;
		ls_judge_spend(ctx, ctx->value_cost);
		if (defs->warning_fails && warns(ctx, row))
		{
			*d = ls_judge_decide_row(LS_FINDING_FAILED, h->row,
									 "warns, which the criteria call a failure", 0.82);
			return true;
		}
		if (defs->limit != NULL && d->status == LS_FINDING_PASSED &&
			ls_judge_number_find(ctx, defs->limit, row, &v) &&
			ls_judge_number_holds(&defs->limit->cond, v) == defs->limit_fails)
		{
			*d = ls_judge_decide_row(LS_FINDING_FAILED, h->row,
									 "is beyond the limit of the criteria", 0.82);
			return true;
		}
	}
	return true;
}
