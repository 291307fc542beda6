/*-------------------------------------------------------------------------
 *
 * judge_decide.c
 *	  From the rows that match an item to its status, for the built-in evaluator (pure).
 *
 * The rows that match it decide (judge_hits.c), or the condition that it sets (judge_condition.c).
 * Names of tests, orders of two events and rows of the same thread are decided here.
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

static bool
decide_order(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows,
			 ls_judge_decision *d)
{
	ls_judge_hits other;
	uint32_t a, b;

	if (!ls_judge_collect(ctx, item->other, CANDIDATES, 0.5f, &other))
		return false;
	if (!event_row(rows, item->order == LS_ORDER_AFTER, &a) ||
		!event_row(&other, item->order == LS_ORDER_BEFORE, &b))
		return true;
	if (a == b)
		return true;
	if (item->order == LS_ORDER_AFTER ? a > b : a < b)
		*d = ls_judge_decide_row(LS_FINDING_PASSED, a, "comes in the right order", 0.9);
	else
		*d = ls_judge_decide_row(LS_FINDING_FAILED, a, "comes in the wrong order", 0.9);
	return true;
}

/* "... without a retry": the rows of the same thing must not show it. */
static bool
decide_without(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *main_rows,
			   ls_judge_decision *d)
{
	ls_judge_item *part = item->without;
	ls_judge_hits rows;
	ls_judge_decision extra;

	if (part->n_idents == 0 && item->n_idents > 0)
	{
		ls_judge_item *scoped = ls_new(ctx->arena, ls_judge_item);

		if (scoped == NULL)
			return false;
		*scoped = *part;
		memcpy(scoped->idents, item->idents, sizeof(item->idents));
		scoped->n_idents = item->n_idents;
		scoped->n_required = item->n_required;
		part = scoped;
	}
	if (!ls_judge_collect(ctx, part, ctx->n_rows, 0.5f, &rows))
		return false;
	if (!ls_judge_decide_absence(ctx, part, &rows, &extra))
		return false;
	if (extra.status == LS_FINDING_FAILED)
		*d = extra;
	else if (d->status == LS_FINDING_NOT_FOUND && main_rows->n > 0)
		*d = ls_judge_decide_row(LS_FINDING_PASSED, main_rows->list[0].row,
								 "is about it, and no row shows what must not occur", 0.82);
	return true;
}

/*
 * The word that ties rows together: the value of a key of that kind (request_id=9, "traceId":"ab"),
 * or a mark in front: "#5", "[mirror-a]", "saga=77".  Empty when there is none.
 */
static ls_str
thread_of(const ls_judge_ctx *ctx, const ls_judge_row *row)
{
	const ls_judge_text *t = &row->text;
	const char *s = t->text.data;
	size_t n = 0;
	bool sign = t->text.len > 0 && (s[0] == '#' || s[0] == '[');

	for (int i = 0; i + 2 < t->n; i++)
		if (ls_judge_in(ctx, t, i, LS_SET_THREAD) &&
			ls_judge_is(ls_judge_atom_text(t, i + 1), "id") && t->atoms[i + 1].sep < LS_SEP_SPACE)
		{
			int last = i + 2;

			while (last + 1 < t->n && t->atoms[last + 1].sep < LS_SEP_SPACE)
				last++;
			return ls_str_make(s + t->atoms[i + 2].off,
							   t->atoms[last].off + t->atoms[last].len - t->atoms[i + 2].off);
		}
	for (; n < t->text.len && s[n] != ' '; n++)
		sign |= s[n] == '=';
	return ls_str_make(s, sign && n >= 2 && n < 40 && n < t->text.len ? n : 0);
}

/*
 * Rows name the item but tell no outcome: a later row of the same thread may, or the output
 * after a command line.  Looks at the next few rows only.
 */
static bool
decide_thread(ls_judge_ctx *ctx, const ls_judge_hits *rows, ls_judge_decision *d)
{
	const ls_judge_hit *best = NULL;
	const ls_judge_row *row;
	ls_str thread;
	bool command;

	for (size_t i = 0; i < rows->n; i++)
		if (best == NULL || rows->list[i].m.relevance > best->m.relevance)
			best = &rows->list[i];
	if (!LS_JUDGE_RULE(THREAD) || best == NULL || best->m.relevance < 0.7f)
		return true;
	if ((row = ls_judge_row_get(ctx, best->row)) == NULL)
		return false;
	command = row->command;
	thread = thread_of(ctx, row);
	for (uint32_t r = best->row + 1; r < ctx->n_rows && r < best->row + 8; r++)
	{
		const ls_judge_cue *cue = NULL;

		if ((row = ls_judge_row_get(ctx, r)) == NULL)
			return false;
		if (command ? row->command : thread.len == 0)
			return true; /* what follows is the next command's */
		if (!command && !ls_str_eq(thread_of(ctx, row), thread))
			continue;
		for (int k = 0; k < row->n_cues; k++)
			if (row->cues[k].class != LS_CLASS_CLEAN && row->cues[k].strength >= 2 &&
				(cue == NULL || row->cues[k].strength > cue->strength))
				cue = &row->cues[k];
		if (cue == NULL)
			continue;
		*d = ls_judge_decide_class((ls_judge_class) cue->class, r, 0.82);
		return true;
	}
	return true;
}

static bool
everything(ls_judge_ctx *ctx, ls_judge_hits *out)
{
	out->list = ls_new_array(ctx->arena, ls_judge_hit, ctx->n_rows + 1);
	out->n = 0;
	if (out->list == NULL)
		return false;
	for (size_t n = ls_judge_room(ctx, ctx->n_rows); out->n < n; out->n++)
	{
		ls_judge_spend(ctx, ctx->match_cost * ctx->effort);
		out->list[out->n].row = (uint32_t) out->n;
		out->list[out->n].m.relevance = 0.6f;
	}
	out->best = out->n > 0 ? 0.6f : 0;
	return true;
}

/* Do the words of the description stand in the row one after the other?  The place, or -1. */
static int
find_all_words(const ls_judge_item *item, const ls_judge_text *t)
{
	for (int i = 0; i + item->n_words <= t->n; i++)
	{
		int n = 0;

		while (n < item->n_words && t->atoms[i + n].stem == item->words[n] &&
			   t->atoms[i + n].client <= LS_CLIENT_QUOTE)
			n++;
		if (n == item->n_words)
			return i;
	}
	return -1;
}

/*
 * A report's verdict about a test of exactly this name: "reconnects after a dropped socket" may be
 * one, and no order of two events.  Only for items that would otherwise be read as a condition;
 * others find their row anyway.
 */
static bool
decide_name(ls_judge_ctx *ctx, const ls_judge_item *item, ls_judge_decision *d, bool *decided)
{
	size_t n;

	*decided = false;
	if (!LS_JUDGE_RULE(NAME) || item->n_words < 3 ||
		(item->order == LS_ORDER_NONE && !item->absent && !item->without &&
		 item->cond.op == LS_OP_NONE))
		return true;
	n = ls_judge_index_candidates(ctx, item, ls_judge_room(ctx, NAME_ROWS));
	for (size_t i = 0; i < n; i++)
	{
		uint32_t r = ctx->candidates[i];
		const ls_judge_row *row = ls_judge_row_get(ctx, r);
		const ls_judge_cue *best = NULL;
		int at;

		if (row == NULL)
			return false;
		ls_judge_spend(ctx, ctx->match_cost * ctx->effort);
		if ((at = find_all_words(item, &row->text)) < 0)
			continue;
		for (int k = 0; k < row->n_cues; k++)
		{
			const ls_judge_cue *c = &row->cues[k];

			if (c->strength >= 3 && (c->flags & LS_CUE_VERDICT) && !(c->flags & LS_CUE_HTTP) &&
				(c->atom < at || c->atom >= at + item->n_words) && c->class != LS_CLASS_CLEAN &&
				(best == NULL || c->class != LS_CLASS_PASS))
				best = c;
		}
		if (best == NULL)
			continue;
		*d = ls_judge_decide_class((ls_judge_class) best->class, r, 0.85);
		*decided = true;
	}
	return true;
}

/* Each part by itself; together the worst of them. */
static bool
decide_parts(ls_judge_ctx *ctx, const ls_judge_item *item, ls_judge_decision *d)
{
	static const uint8_t rank[] = {
		[LS_FINDING_PASSED] = 0,
		[LS_FINDING_SKIPPED] = 1,
		[LS_FINDING_NOT_FOUND] = 2,
		[LS_FINDING_FAILED] = 3,
	};

	for (int k = 0; k < item->n_members; k++)
	{
		ls_judge_decision one;

		if (!ls_judge_decide_item(ctx, item->members[k], &one))
			return false;
		if (k == 0 || rank[one.status] > rank[d->status])
			*d = one;
	}
	return true;
}

bool
ls_judge_decide_item(ls_judge_ctx *ctx, const ls_judge_item *item, ls_judge_decision *d)
{
	bool many = item->absent || item->cond.op != LS_OP_NONE || item->all;
	bool decided;
	ls_judge_hits rows;

	if (item->n_members > 0)
		return decide_parts(ctx, item, d);
	ctx->effort = 1 + (size_t) item->n_terms / 8;
	ctx->values = item->cond.op != LS_OP_NONE || ctx->defs.limit != NULL;
	if (!decide_name(ctx, item, d, &decided) || decided)
		return decided;
	if (!ls_judge_collect(ctx, item, many ? ctx->n_rows : CANDIDATES, item->absent ? 0.3f : 0.4f,
						  &rows))
		return false;
	if (item->cond.op != LS_OP_NONE && rows.n == 0 && !item->has_name && item->n_idents == 0 &&
		!everything(ctx, &rows))
		return false;
	if (item->cond.op != LS_OP_NONE)
		*d = ls_judge_decide_threshold(ctx, item, &rows);
	else if (item->absent)
	{
		if (!ls_judge_decide_absence(ctx, item, &rows, d))
			return false;
	}
	else
	{
		*d = ls_judge_decide_plain(item, &rows);
		if (d->status == LS_FINDING_NOT_FOUND && !item->negative && !decide_thread(ctx, &rows, d))
			return false;
	}
	if (!ls_judge_criteria_apply(ctx, item, &rows, d))
		return false;
	if (item->order != LS_ORDER_NONE && d->status == LS_FINDING_PASSED &&
		!decide_order(ctx, item, &rows, d))
		return false;
	if (item->without != NULL &&
		(d->status == LS_FINDING_PASSED ||
		 (d->status == LS_FINDING_NOT_FOUND && rows.best >= LS_RELEVANT)) &&
		!decide_without(ctx, item, &rows, d))
		return false;
	if (d->status == LS_FINDING_NOT_FOUND && rows.chosen && rows.best < LS_RELEVANT)
		d->why = "only text that a client may have chosen speaks of it";
	return true;
}
