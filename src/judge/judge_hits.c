/*-------------------------------------------------------------------------
 *
 * judge_hits.c
 *	  The rows that match an item, and what they say together, for the built-in evaluator (pure).
 *
 * Every look at a row is paid from the budget of the call, which the items share.
 *
 * Each row that names the item says passed, failed, skipped or nothing.  Among the best matches
 * the last one that says something decides: what failed first and succeeded later has succeeded.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define ITEM_WORK ((size_t) 4 << 20) /* some 60 ms */
#define FEWEST 20                    /* rows */
#define FAR 0.34f                    /* in relevance: about something else */
#define SURE 0.75f                   /* of the item, that a hint of success must name */

/*
 * How many rows may be looked at: what is left of the call's budget is shared by the items, so
 * that the largest request ends in bounded time.  A row costs its bytes to be compared, and ten
 * times as much when it has to be read again, which an item may do with it several times.  A few
 * rows are looked at whatever is left.
 */
size_t
ls_judge_room(const ls_judge_ctx *ctx, size_t limit)
{
	size_t budget = ctx->work / (ctx->items_left > 0 ? ctx->items_left : 1);
	size_t used = ctx->spent - ctx->item_begin;
	size_t left = used < ITEM_WORK ? ITEM_WORK - used : 0;
	size_t fit;

	if (budget > left)
		budget = left;
	fit = budget / (ctx->row_cost * ctx->effort + (ctx->values ? ctx->value_cost : 0) + 1);
	if (fit < FEWEST)
		fit = FEWEST;
	return limit < fit ? limit : fit;
}

ls_judge_decision
ls_judge_decide(ls_finding_status status, const char *why, double confidence)
{
	ls_judge_decision d = {status, 0, false, confidence, why, {NULL, 0}};

	return d;
}

ls_judge_decision
ls_judge_decide_row(ls_finding_status status, uint32_t row, const char *why, double confidence)
{
	ls_judge_decision d = {status, row, true, confidence, why, {NULL, 0}};

	return d;
}

/* A cheap look at the row's filter: false when it lacks an identifier that the item requires. */
static bool
may_hold_idents(const ls_judge_item *item, const ls_judge_row *row)
{
	for (int k = 0; k < item->n_idents; k++)
	{
		const ls_judge_ident *id = &item->idents[k];

		if (!id->forbidden && !ls_judge_row_may_hold(row, id->atoms[id->n - 1]) &&
			!(id->whole && ls_judge_row_may_hold(row, id->whole)))
			return false;
	}
	return true;
}

ls_judge_hits
ls_judge_collect(ls_judge_ctx *ctx, const ls_judge_item *item, size_t limit, float threshold)
{
	size_t n = ls_judge_index_candidates(ctx, item, ls_judge_room(ctx, limit));
	ls_judge_hits rows = {.list = ls_new_array(ctx->arena, ls_judge_hit, n + 1)};

	for (size_t i = 0; i < n && rows.list != NULL; i++)
	{
		const ls_judge_row *row = ls_judge_row_get(ctx, ctx->candidates[i]);
		ls_judge_hit *h = &rows.list[rows.n];

		if (!may_hold_idents(item, row))
			continue;
		ls_judge_spend(ctx, ctx->match_cost * ctx->effort);
		ls_judge_match_row(ctx, item, row, &h->m);
		rows.chosen |= h->m.chosen;
		if (!h->m.idents || h->m.relevance < threshold)
			continue;
		h->row = ctx->candidates[i];
		rows.best = h->m.relevance > rows.best ? h->m.relevance : rows.best;
		rows.n++;
	}
	return rows;
}

ls_judge_decision
ls_judge_decide_class(ls_judge_class class, uint32_t row, double confidence)
{
	switch (class)
	{
		case LS_CLASS_FAIL:
			return ls_judge_decide_row(LS_FINDING_FAILED, row, "shows a failure or the contrary",
									   confidence);
		case LS_CLASS_SKIP:
			return ls_judge_decide_row(LS_FINDING_SKIPPED, row, "says that it was skipped",
									   confidence);
		default:
			return ls_judge_decide_row(LS_FINDING_PASSED, row, "shows it", confidence);
	}
}

float
ls_judge_score(const ls_judge_hit *h)
{
	return h->m.relevance + (h->m.strength == 1 ? 0.0f : h->m.strength == 2 ? 0.2f : 0.3f);
}

/*
 * The share of such decisions that is right on cases that were not written for the rules
 * (docs/builtin-evaluator.md, "Confidence"); so are the constants given to ls_judge_decide.
 */
static double
confidence_of(const ls_judge_match *m)
{
	if (m->class == LS_CLASS_FAIL)
		return m->strength >= 3 && m->relevance >= 0.9f ? 0.92 : 0.84;
	return m->class == LS_CLASS_PASS && m->strength >= 2 ? 0.92 : 0.88;
}

ls_judge_decision
ls_judge_decide_plain(const ls_judge_item *item, const ls_judge_hits *rows)
{
	const ls_judge_hit *best = NULL, *last = NULL;
	bool verdict = false;
	float relevant = item->has_name || item->n_idents > 0 ? LS_RELEVANT : LS_RELEVANT - 0.1f;

	/* a row that names much less of the item than another is about something else */
	if (!item->all && relevant < rows->best - FAR)
		relevant = rows->best - FAR;
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_judge_hit *h = &rows->list[i];

		if (h->m.relevance >= relevant && h->m.class != LS_CLASS_NONE &&
			(best == NULL || ls_judge_score(h) > ls_judge_score(best)))
			best = h;
		/* where a report tells its verdict, other rows with the name are its details */
		verdict |= h->m.report && h->m.relevance >= rows->best - 0.05f;
	}
	if (best == NULL)
		return ls_judge_decide(LS_FINDING_NOT_FOUND,
							   rows->best >= LS_RELEVANT ? "rows name it but tell no outcome"
														 : "no row is about it",
							   rows->best >= LS_RELEVANT ? 0.45 : 0.82);
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_judge_hit *h = &rows->list[i];
		bool fails = h->m.class == LS_CLASS_FAIL;
		float below = ls_judge_score(best) - ls_judge_score(h);

		if (h->m.relevance < relevant || h->m.class == LS_CLASS_NONE ||
			(verdict && !h->m.report && h->m.class == LS_CLASS_PASS && h->m.strength < 3))
			continue;
		if ((below > (h->m.strength == 1 && fails ? 0.15f : 0.25f) ||
			 (h->m.relevance < best->m.relevance - 0.12f && h->m.class == LS_CLASS_SKIP)) &&
			!(item->first && fails && h->m.strength > 1))
			continue;
		last = h;
		/* of counts on the way to the whole the last one says how it ended */
		if (fails ? item->first || (item->all && !h->m.fraction)
				  : item->any && h->m.class == LS_CLASS_PASS)
			break;
	}
	if (last == NULL)
		last = best;
	if (LS_JUDGE_RULE(SURE) && last->m.class == LS_CLASS_PASS && last->m.strength == 1 &&
		last->m.relevance < SURE)
		return ls_judge_decide(LS_FINDING_NOT_FOUND, "rows name it but tell no outcome", 0.45);
	return ls_judge_decide_class(last->m.class, last->row, confidence_of(&last->m));
}
