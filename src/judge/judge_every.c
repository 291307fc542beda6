/*-------------------------------------------------------------------------
 *
 * judge_every.c
 *	  Values that every row should have, for the built-in evaluator (pure).
 *
 * "Every node runs 5.1" is wrong when a row gives another value to the same field: without this a row
 * with the value would decide, and the answer be `passed`.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

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
