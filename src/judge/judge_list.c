/*-------------------------------------------------------------------------
 *
 * judge_list.c
 *	  Items that are names of tests, lists of names, and values of every row, for the built-in
 *	  evaluator (pure).
 *
 * "reconnects after a dropped socket" may be the name of a test and no order of two events: when
 * a row holds the whole description word by word beside a verdict, that verdict counts.  "n1 and
 * n2 are ready" is one item for each name.  "Every node runs 5.1" is wrong when a row gives
 * another value to the same field.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define NAME_ROWS 60 /* rows compared with the whole description */

/* Do the words of the description stand in the row one after the other?  The place, or -1. */
static int
find_all_words(const ls_jitem *item, const ls_jtext *t)
{
	for (int i = 0; i + item->n_words <= t->n; i++)
	{
		int n = 0;

		while (n < item->n_words && t->atoms[i + n].stem == item->words[n] &&
			   t->atoms[i + n].client <= LS_JCLIENT_QUOTE)
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
ls_jdecide_name(ls_jctx *ctx, const ls_jitem *item, ls_jdecision *d, bool *decided)
{
	size_t n;

	*decided = false;
	if (!LS_JRULE(NAME) || item->n_words < 3 ||
		(item->order == LS_JORDER_NONE && !item->absent && !item->without &&
		 item->cond.op == LS_JOP_NONE))
		return true;
	n = ls_jindex_candidates(ctx, item, ls_jroom(ctx, NAME_ROWS));
	for (size_t i = 0; i < n; i++)
	{
		uint32_t r = ctx->candidates[i];
		const ls_jrow *row = ls_jrow_get(ctx, r);
		const ls_jcue *best = NULL;
		int at;

		if (row == NULL)
			return false;
		ls_jspend(ctx, ctx->match_cost * ctx->effort);
		if (row->hostile || (at = find_all_words(item, &row->text)) < 0)
			continue;
		for (int k = 0; k < row->n_cues; k++)
		{
			const ls_jcue *c = &row->cues[k];

			if (c->strength >= 3 && (c->flags & LS_JCUE_VERDICT) && !(c->flags & LS_JCUE_HTTP) &&
				(c->atom < at || c->atom >= at + item->n_words) && c->class != LS_JCLASS_CLEAN &&
				(best == NULL || c->class != LS_JCLASS_PASS))
				best = c;
		}
		if (best == NULL)
			continue;
		*d = ls_jdecide_row(best->class == LS_JCLASS_PASS   ? LS_FINDING_PASSED
							: best->class == LS_JCLASS_FAIL ? LS_FINDING_FAILED
															: LS_FINDING_SKIPPED,
							r, "is the verdict of this name", 0.85);
		*decided = true;
	}
	return true;
}

/* Each name of a list by itself; together the worst of them. */
bool
ls_jdecide_list(ls_jctx *ctx, const ls_jitem *item, ls_jdecision *d)
{
	static const uint8_t rank[] = {
		[LS_FINDING_PASSED] = 0,
		[LS_FINDING_SKIPPED] = 1,
		[LS_FINDING_NOT_FOUND] = 2,
		[LS_FINDING_FAILED] = 3,
	};

	for (int k = 0; k < item->n_members; k++)
	{
		ls_jdecision one;

		if (!ls_jdecide_item(ctx, item->members[k], &one))
			return false;
		if (k == 0 || rank[one.status] > rank[d->status])
			*d = one;
	}
	return true;
}

/* "Every node runs version 5.1": does a row give the field of that value another one? */
bool
ls_jdecide_every(ls_jctx *ctx, const ls_jitem *item, ls_jdecision *d)
{
	const ls_jrow *row = ls_jrow_get(ctx, d->row);
	uint64_t key = 0;
	ls_jitem *rest;
	const ls_jident *id = NULL;
	ls_jhits rows;

	if (row == NULL)
		return false;
	for (int k = 0; k < item->n_idents && key == 0; k++)
		for (int i = 1; i < row->text.n && key == 0; i++)
			if (item->idents[k].predicate &&
				row->text.atoms[i].stem == item->idents[k].atoms[item->idents[k].n - 1] &&
				row->text.atoms[i].sep == LS_JSEP_EQUAL &&
				row->text.atoms[i - 1].kind == LS_JKIND_WORD)
			{
				key = row->text.atoms[i - 1].stem;
				id = &item->idents[k];
			}
	if (key == 0 || !LS_JRULE(EVERY))
		return true;
	rest = ls_new(ctx->arena, ls_jitem);
	if (rest == NULL)
		return false;
	*rest = *item;
	rest->n_idents = rest->n_required = 0;
	rest->n_terms = 0;
	rest->total = 0;
	for (int k = 0; k < item->n_terms; k++)
		if (item->terms[k].ident < 0 || item->terms[k].stem == key)
		{
			ls_jterm *term = &rest->terms[rest->n_terms++];

			*term = item->terms[k];
			term->ident = -1;
			term->weight = term->weight > 0.5f ? term->weight : 0.5f;
			rest->total += term->weight;
		}
	if (rest->n_terms == 0 || !ls_jcollect(ctx, rest, ctx->n_rows, 0.4f, &rows))
		return rest->n_terms == 0;
	for (size_t r = 0; r < rows.n; r++)
	{
		const ls_jrow *other = ls_jrow_get(ctx, rows.list[r].row);

		if (other == NULL)
			return false;
		for (int i = 0; i + 1 < other->text.n; i++)
			if (other->text.atoms[i].stem == key && other->text.atoms[i + 1].sep == LS_JSEP_EQUAL &&
				!ls_jmatch_ident(ctx, id, other))
			{
				*d = ls_jdecide_row(LS_FINDING_FAILED, rows.list[r].row, "has another value", 0.82);
				return true;
			}
	}
	return true;
}
