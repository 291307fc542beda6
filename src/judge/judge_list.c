/*-------------------------------------------------------------------------
 *
 * judge_list.c
 *	  Items that are names of tests, and values of every row, for the built-in evaluator (pure).
 *
 * "reconnects after a dropped socket" may be the name of a test and no order of two events: when
 * a row holds the whole description word by word beside a verdict, that verdict counts.
 * "Every node runs 5.1" is wrong when a row gives another value to the same field.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define NAME_ROWS 60 /* rows compared with the whole description */

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
 * A report's verdict about a test of exactly this name.  Only for items that would otherwise be
 * read as a condition; others find their row anyway.
 */
bool
ls_judge_decide_name(ls_judge_ctx *ctx, const ls_judge_item *item, ls_judge_decision *d,
					 bool *decided)
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
		if (row->hostile || (at = find_all_words(item, &row->text)) < 0)
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
		*d = ls_judge_decide_row(best->class == LS_CLASS_PASS   ? LS_FINDING_PASSED
								 : best->class == LS_CLASS_FAIL ? LS_FINDING_FAILED
																: LS_FINDING_SKIPPED,
								 r, "is the verdict of this name", 0.85);
		*decided = true;
	}
	return true;
}

/* "Every node runs version 5.1": does a row give the field of that value another one? */
bool
ls_judge_decide_every(ls_judge_ctx *ctx, const ls_judge_item *item, ls_judge_decision *d)
{
	const ls_judge_row *row = ls_judge_row_get(ctx, d->row);
	uint64_t key = 0;
	ls_judge_item *rest;
	const ls_judge_ident *id = NULL;
	ls_judge_hits rows;

	if (row == NULL)
		return false;
	for (int k = 0; k < item->n_idents && key == 0; k++)
		for (int i = 1; i < row->text.n && key == 0; i++)
			if (item->idents[k].predicate &&
				row->text.atoms[i].stem == item->idents[k].atoms[item->idents[k].n - 1] &&
				row->text.atoms[i].sep == LS_SEP_EQUAL &&
				row->text.atoms[i - 1].kind == LS_ATOM_WORD)
			{
				key = row->text.atoms[i - 1].stem;
				id = &item->idents[k];
			}
	if (key == 0 || !LS_JUDGE_RULE(EVERY))
		return true;
	rest = ls_new(ctx->arena, ls_judge_item);
	if (rest == NULL)
		return false;
	*rest = *item;
	rest->n_idents = rest->n_required = 0;
	rest->n_terms = 0;
	rest->total = 0;
	for (int k = 0; k < item->n_terms; k++)
		if (item->terms[k].ident < 0 || item->terms[k].stem == key)
		{
			ls_judge_term *term = &rest->terms[rest->n_terms++];

			*term = item->terms[k];
			term->ident = -1;
			term->weight = term->weight > 0.5f ? term->weight : 0.5f;
			rest->total += term->weight;
		}
	if (rest->n_terms == 0 || !ls_judge_collect(ctx, rest, ctx->n_rows, 0.4f, &rows))
		return rest->n_terms == 0;
	for (size_t r = 0; r < rows.n; r++)
	{
		const ls_judge_row *other = ls_judge_row_get(ctx, rows.list[r].row);

		if (other == NULL)
			return false;
		for (int i = 0; i + 1 < other->text.n; i++)
			if (other->text.atoms[i].stem == key && other->text.atoms[i + 1].sep == LS_SEP_EQUAL &&
				!ls_judge_match_ident(ctx, id, other))
			{
				*d = ls_judge_decide_row(LS_FINDING_FAILED, rows.list[r].row, "has another value",
										 0.82);
				return true;
			}
	}
	return true;
}
