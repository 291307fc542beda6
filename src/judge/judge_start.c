/*-------------------------------------------------------------------------
 *
 * judge_start.c
 *	  A start whose end is told by a row without a name, for the built-in evaluator (pure).
 *
 * Servers announce themselves by name ("Redis is starting") and report the end without it
 * ("Ready to accept connections").  When an item asks for a start and only the announcement
 * names it, the next row that tells of readiness or of a breakdown, and names nothing else,
 * belongs to the announcement.  Another announcement in between makes that a guess: no verdict.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define REACH 200 /* rows after the announcement */

static bool
asks_for_start(const ls_judge_item *item)
{
	if (item->negative || item->absent || item->cond.op != LS_OP_NONE)
		return false;
	for (int k = 0; k < item->n_terms; k++)
		if (item->terms[k].role == LS_TERM_ACTION && item->terms[k].concept == LS_CONCEPT_START &&
			!item->terms[k].noun && !item->terms[k].forbidden)
			return true;
	return false;
}

/* "starting", "launching": under way */
static bool
announces(const ls_judge_ctx *ctx, const ls_judge_row *row)
{
	for (int i = 0; i < row->text.n; i++)
	{
		const ls_judge_atom *a = &row->text.atoms[i];
		const ls_judge_word *w = &ctx->words.table[a->word];

		if (w->concept == LS_CONCEPT_START && w->pol == LS_POL_ACT && (a->flags & LS_ATOM_ING) &&
			!a->unreal && a->client == LS_CLIENT_NONE)
			return true;
	}
	return false;
}

/* A word that names nothing in particular. */
static bool
is_general(const ls_judge_word *w, const ls_judge_atom *a)
{
	return w->pol == LS_POL_STOP || w->pol == LS_POL_WEAK || w->concept == LS_CONCEPT_START ||
		   w->concept == LS_CONCEPT_COMPLETE || a->len < 3;
}

static ls_finding_status
end_of_start(const ls_judge_ctx *ctx, const ls_judge_row *row, const ls_judge_row *announcement)
{
	const ls_judge_text *t = &row->text;
	bool unnamed = true;

	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];
		const ls_judge_word *w = &ctx->words.table[a->word];
		bool ready = w->concept == LS_CONCEPT_START && w->pol == LS_POL_STATE && w->strength == 2;
		bool done = w->concept == LS_CONCEPT_START && w->pol == LS_POL_ACT && i + 1 < t->n &&
					a[1].sep == LS_SEP_SPACE &&
					ctx->words.table[a[1].word].concept == LS_CONCEPT_COMPLETE &&
					ctx->words.table[a[1].word].pol == LS_POL_POS;

		/* what stands before in the clause names nothing but what the announcement names too */
		unnamed = i == 0 || a->sep == LS_SEP_COMMA || a[-1].kind != LS_ATOM_WORD ||
				  (unnamed && (ls_judge_row_may_hold(announcement, a[-1].stem) ||
							   is_general(&ctx->words.table[a[-1].word], &a[-1])));
		if (a->client != LS_CLIENT_NONE || !unnamed || a->unreal)
			continue;
		if ((ready || done) && !ls_judge_row_negated(ctx, t, i))
			return LS_FINDING_PASSED;
		if (w->concept == LS_CONCEPT_CRASH && w->pol == LS_POL_NEG &&
			!ls_judge_row_negated(ctx, t, i))
			return LS_FINDING_FAILED;
	}
	return LS_FINDING_NOT_FOUND;
}

bool
ls_judge_decide_start(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows,
					  ls_judge_decision *d)
{
	ls_judge_row announcement;
	size_t reach;
	bool found = false;
	uint32_t at = 0;

	if (!LS_JUDGE_RULE(START) || !asks_for_start(item))
		return true;
	for (size_t i = rows->n; i > 0 && !found; i--)
	{
		const ls_judge_hit *h = &rows->list[i - 1];
		const ls_judge_row *row;

		if (h->m.relevance < LS_RELEVANT || h->m.class != LS_CLASS_NONE)
			continue;
		row = ls_judge_row_get(ctx, h->row);
		if (row == NULL)
			return false;
		found = !row->hostile && announces(ctx, row);
		if (found)
		{
			announcement = *row;
			at = h->row;
		}
	}
	if (!found)
		return true;
	reach = ls_judge_room(ctx, REACH);
	for (uint32_t r = at + 1; r < ctx->n_rows && r <= at + reach; r++)
	{
		const ls_judge_row *row = ls_judge_row_get(ctx, r);
		ls_finding_status status;

		if (row == NULL)
			return false;
		ls_judge_spend(ctx, ctx->match_cost * ctx->effort);
		if (row->hostile)
			continue;
		status = end_of_start(ctx, row, &announcement);
		if (status != LS_FINDING_NOT_FOUND)
		{
			*d = ls_judge_decide_row(status, r,
									 status == LS_FINDING_PASSED ? "tells the end of its start"
																 : "breaks its start off",
									 0.82);
			return true;
		}
		if (announces(ctx, row))
			return true;
	}
	return true;
}
