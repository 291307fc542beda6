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

/* The first word of the concept and polarity from atom `from` on, -1: none. */
static int
find(const ls_judge_ctx *ctx, const ls_judge_text *t, int from, ls_judge_concept concept,
	 ls_judge_polarity pol)
{
	for (int i = from; i < t->n; i++)
		if (ls_judge_word_of(ctx, t, i)->concept == concept &&
			ls_judge_word_of(ctx, t, i)->pol == pol)
			return i;
	return -1;
}

void
ls_judge_criteria_read(ls_judge_ctx *ctx, ls_str text)
{
	ls_judge_text t = {text, ctx->atoms,
					   ls_judge_text_scan(ctx, text, ctx->atoms, LS_JUDGE_ROW_ATOMS)};
	ls_judge_defs *defs = &ctx->defs;
	int fail = find(ctx, &t, 0, LS_CONCEPT_RESULT, LS_POL_NEG);
	int pass = find(ctx, &t, 0, LS_CONCEPT_RESULT, LS_POL_POS);
	int skip = find(ctx, &t, 0, LS_CONCEPT_SKIP, LS_POL_SKIP);
	int as = t.n;
	bool denied = false, when = false;

	if (fail < 0)
		fail = find(ctx, &t, 0, LS_CONCEPT_ERROR, LS_POL_NEG); /* a violation */
	for (int i = t.n - 1; i >= 0; i--)
	{
		denied |= ls_judge_word_of(ctx, &t, i)->pol == LS_POL_NOT;
		when |= i > pass && ls_judge_is_one_of(ls_judge_atom_text(&t, i), "when if means");
		if (ls_judge_is(ls_judge_atom_text(&t, i), "as"))
			as = i;
	}
	/* "treat a warning as a failure", "skipped counts as failed" */
	if (!denied && find(ctx, &t, 0, LS_CONCEPT_WARNING, LS_POL_NONE) >= 0 && fail > as)
		defs->warning_fails = true;
	if (!denied && skip >= 0 && skip < as && (fail > as || pass > as))
		defs->skipped = fail > as ? LS_FINDING_FAILED : LS_FINDING_PASSED;
	/* "passes when the request is REJECTED" */
	if (pass >= 0 && fail < 0 && !denied && when &&
		find(ctx, &t, pass, LS_CONCEPT_DENY, LS_POL_NEG) >= 0)
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

/* Does the row warn, by its level or by a word that is not denied? */
static bool
warns(const ls_judge_ctx *ctx, const ls_judge_row *row)
{
	const ls_judge_text *t = &row->text;

	for (int i = 0; i < t->n; i++)
		if (ls_judge_word_of(ctx, t, i)->concept == LS_CONCEPT_WARNING &&
			(t->atoms[i].client == LS_CLIENT_NONE || t->atoms[i].client == LS_CLIENT_FREE) &&
			!ls_judge_row_negated(ctx, t, i))
			return true;
	return ls_judge_row_fails(row);
}

void
ls_judge_criteria_apply(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows,
						ls_judge_decision *d)
{
	const ls_judge_defs *defs = &ctx->defs;
	bool bare = !item->has_action && !item->absent && item->cond.op == LS_OP_NONE;

	if (defs->inverted && bare && !item->has_outcome)
	{
		if (d->status == LS_FINDING_PASSED || d->status == LS_FINDING_FAILED)
			d->status = d->status == LS_FINDING_PASSED ? LS_FINDING_FAILED : LS_FINDING_PASSED;
		d->why = "decides it by what the criteria call passed";
		return;
	}
	if (d->status == LS_FINDING_SKIPPED && defs->skipped != 0)
	{
		d->status = defs->skipped;
		d->why = "says that it was skipped, which the criteria define";
		return;
	}
	if (!(defs->warning_fails || defs->limit != NULL) || item->cond.op != LS_OP_NONE ||
		item->absent || !(bare || d->status == LS_FINDING_PASSED))
		return;
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_judge_hit *h = &rows->list[i];
		const ls_judge_row *row = ls_judge_row_get(ctx, h->row);
		const char *why = NULL;
		double v;

		if (h->m.relevance < LS_RELEVANT || h->m.relevance < rows->best - 0.2f)
			continue;
		ls_judge_spend(ctx, ctx->value_cost);
		if (defs->warning_fails && warns(ctx, row))
			why = "warns, which the criteria call a failure";
		else if (defs->limit != NULL && d->status == LS_FINDING_PASSED &&
				 ls_judge_number_find(ctx, defs->limit, row, &v) &&
				 ls_judge_number_holds(&defs->limit->cond, v) == defs->limit_fails)
			why = "is beyond the limit of the criteria";
		if (why == NULL)
			continue;
		*d = ls_judge_decide_row(LS_FINDING_FAILED, h->row, why, 0.82);
		return;
	}
}
