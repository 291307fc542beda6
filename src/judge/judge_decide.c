/*-------------------------------------------------------------------------
 *
 * judge_decide.c
 *	  From the rows that match an item to its status, for the built-in evaluator (pure).
 *
 * The rows that match it decide (judge_hits.c), or the condition that it sets (judge_condition.c).
 * Names of tests and orders of two events are decided here.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define CANDIDATES 400 /* rows looked at closely for an ordinary item */
#define NAME_ROWS 60   /* rows compared with the whole description */


/* The first (or last) of the best rows that tell the event happened. */
static bool
event_row(const ls_judge_hits *rows, bool want_last, uint32_t *row)
{
	float best = 0;

	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_judge_hit *h = &rows->list[i];
		float score = ls_judge_score(h);

		if (h->m.class == LS_CLASS_FAIL || h->m.class == LS_CLASS_SKIP ||
			h->m.relevance < LS_RELEVANT || score < best - 0.1f)
			continue;
		if (want_last || score > best + 0.1f)
			*row = h->row;
		best = score > best ? score : best;
	}
	return best > 0;
}

static void
decide_order(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows,
			 ls_judge_decision *d)
{
	ls_judge_hits other = ls_judge_collect(ctx, item->other, CANDIDATES, 0.5f);
	uint32_t a, b;

	if (!event_row(rows, item->after, &a) || !event_row(&other, !item->after, &b) || a == b)
		return;
	*d = (item->after ? a > b : a < b)
			 ? ls_judge_decide_row(LS_FINDING_PASSED, a, "comes in the right order", 0.9)
			 : ls_judge_decide_row(LS_FINDING_FAILED, a, "comes in the wrong order", 0.9);
}

/* "... without a retry": the rows of the same thread must not show it. */
static void
decide_without(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *main_rows,
			   ls_judge_decision *d)
{
	ls_judge_item part = *item->without;
	ls_judge_hits rows;
	ls_judge_decision extra;

	if (part.n_idents == 0)
	{
		memcpy(part.idents, item->idents, sizeof(item->idents));
		part.n_idents = item->n_idents;
		part.n_required = item->n_required;
	}
	rows = ls_judge_collect(ctx, &part, ctx->n_rows, 0.5f);
	extra = ls_judge_decide_absence(ctx, &part, &rows);
	if (extra.status == LS_FINDING_FAILED)
		*d = extra;
	else if (d->status == LS_FINDING_NOT_FOUND && main_rows->n > 0)
		*d = ls_judge_decide_row(LS_FINDING_PASSED, main_rows->list[0].row,
								 "is about it, and no row shows what must not occur", 0.82);
}

/* What a row says of a value that every row should have, in a program's words. */
typedef enum value_of_row
{
	VALUE_NONE,
	VALUE_SAME,
	VALUE_OTHER
} value_of_row;

static value_of_row
compare_value(const ls_judge_item *item, const ls_judge_text *t)
{
	for (int i = 0; i < t->n; i++)
	{
		int n = 0;

		if (t->atoms[i].kind != LS_ATOM_NUMBER || t->atoms[i].client != LS_CLIENT_NONE ||
			(i > 0 && t->atoms[i].sep == LS_SEP_DOT) ||
			(item->value_noun != 0 && (i == 0 || t->atoms[i - 1].stem != item->value_noun)))
			continue;
		while (n < item->n_value && i + n < t->n && t->atoms[i + n].stem == item->value[n] &&
			   (n == 0 || t->atoms[i + n].sep == LS_SEP_DOT))
			n++;
		if (n == item->n_value && (i + n >= t->n || t->atoms[i + n].sep != LS_SEP_DOT))
			return VALUE_SAME;
		if (item->value_noun != 0)
			return VALUE_OTHER;
	}
	return VALUE_NONE;
}

/* "Every node runs version 5": the row that decides must say so, and no row something else. */
static void
decide_every(ls_judge_ctx *ctx, const ls_judge_item *item, ls_judge_decision *d)
{
	/* Also rows that say little of the item: their value is wrong nevertheless. */
	ls_judge_hits rows = ls_judge_collect(ctx, item, ctx->n_rows, 0.2f);

	for (size_t i = 0; i < rows.n; i++)
	{
		const ls_judge_row *row = ls_judge_row_get(ctx, rows.list[i].row);

		if (compare_value(item, &row->text) == VALUE_OTHER)
		{
			*d =
				ls_judge_decide_row(LS_FINDING_FAILED, rows.list[i].row, "has another value", 0.82);
			return;
		}
	}
	if (compare_value(item, &ls_judge_row_get(ctx, d->row)->text) != VALUE_SAME)
		*d = ls_judge_decide_row(LS_FINDING_NOT_FOUND, d->row, "names it without the value", 0.45);
}

/* All rows that may be looked at, for a limit that names nothing. */
static void
collect_all(ls_judge_ctx *ctx, ls_judge_hits *rows)
{
	size_t n = ls_judge_room(ctx, ctx->n_rows);

	rows->list = ls_new_array(ctx->arena, ls_judge_hit, n + 1);
	for (rows->n = 0; rows->list != NULL && rows->n < n; rows->n++)
	{
		ls_judge_spend(ctx, ctx->match_cost * ctx->effort);
		rows->list[rows->n].row = (uint32_t) rows->n;
		rows->list[rows->n].m.relevance = rows->best = 0.6f;
	}
}

/* Where the whole description stands in the row: its first atom, or -1. */
static int
find_name(const ls_judge_text *t, ls_str name)
{
	for (int i = 0; i < t->n && t->atoms[i].off + name.len <= t->text.len; i++)
		if (t->atoms[i].client <= LS_CLIENT_QUOTE &&
			ls_str_eq_nocase(ls_str_make(t->text.data + t->atoms[i].off, name.len), name))
			return i;
	return -1;
}

/*
 * A report's verdict about a test of exactly this name: "reconnects after a dropped socket" may be
 * one, and no order of two events.  Only for items that would otherwise be read as a condition;
 * others find their row anyway.
 */
static bool
decide_name(ls_judge_ctx *ctx, const ls_judge_item *item, ls_judge_decision *d)
{
	size_t n = 0;
	bool decided = false;

	if (LS_JUDGE_RULE(NAME) && item->name.len > 0 &&
		(item->other != NULL || item->absent || item->without || item->cond.op != LS_OP_NONE))
		n = ls_judge_index_candidates(ctx, item, ls_judge_room(ctx, NAME_ROWS));
	for (size_t i = 0; i < n; i++)
	{
		const ls_judge_row *row = ls_judge_row_get(ctx, ctx->candidates[i]);
		int at = find_name(&row->text, item->name);

		ls_judge_spend(ctx, ctx->match_cost * ctx->effort);
		for (int k = 0; at >= 0 && k < row->n_cues; k++)
		{
			const ls_judge_cue *c = &row->cues[k];
			bool outside = c->atom < at ||
						   row->text.atoms[c->atom].off >= row->text.atoms[at].off + item->name.len;

			if (!outside || c->strength < 3 || !(c->flags & LS_CUE_VERDICT) ||
				(c->flags & LS_CUE_HTTP) || c->class == LS_CLASS_CLEAN)
				continue;
			*d = ls_judge_decide_class((ls_judge_class) c->class, ctx->candidates[i], 0.85);
			decided = true;
		}
	}
	return decided;
}

/* Each part by itself; together the worst of them. */
static ls_judge_decision
decide_parts(ls_judge_ctx *ctx, const ls_judge_item *item)
{
	static const uint8_t rank[] = {[LS_FINDING_PASSED] = 0,
								   [LS_FINDING_SKIPPED] = 1,
								   [LS_FINDING_NOT_FOUND] = 2,
								   [LS_FINDING_FAILED] = 3};
	ls_judge_decision a = ls_judge_decide_item(ctx, item->members[0]);
	ls_judge_decision b = ls_judge_decide_item(ctx, item->members[1]);

	return rank[b.status] > rank[a.status] ? b : a;
}

ls_judge_decision
ls_judge_decide_item(ls_judge_ctx *ctx, const ls_judge_item *item)
{
	bool limit = item->cond.op != LS_OP_NONE;
	bool many = item->absent || limit || item->all;
	ls_judge_decision d;
	ls_judge_hits rows;

	if (item->members[0] != NULL)
		return decide_parts(ctx, item);
	ctx->effort = 1 + (size_t) item->n_terms / 8;
	ctx->values = limit || ctx->defs.limit != NULL;
	if (decide_name(ctx, item, &d))
		return d;
	rows = ls_judge_collect(ctx, item, many ? ctx->n_rows : CANDIDATES, item->absent ? 0.3f : 0.4f);
	if (limit && rows.n == 0 && !item->has_name && item->n_idents == 0)
		collect_all(ctx, &rows);
	d = limit          ? ls_judge_decide_threshold(ctx, item, &rows)
		: item->absent ? ls_judge_decide_absence(ctx, item, &rows)
					   : ls_judge_decide_plain(item, &rows);
	if (item->n_value > 0 && d.status == LS_FINDING_PASSED && d.has_row)
		decide_every(ctx, item, &d);
	ls_judge_criteria_apply(ctx, item, &rows, &d);
	if (item->other != NULL && d.status == LS_FINDING_PASSED)
		decide_order(ctx, item, &rows, &d);
	if (item->without != NULL && (d.status == LS_FINDING_PASSED ||
								  (d.status == LS_FINDING_NOT_FOUND && rows.best >= LS_RELEVANT)))
		decide_without(ctx, item, &rows, &d);
	if (d.status == LS_FINDING_NOT_FOUND && rows.chosen && rows.best < LS_RELEVANT)
		d.why = "only text that a client may have chosen speaks of it";
	return d;
}
