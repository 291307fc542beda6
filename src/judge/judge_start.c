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

#define REACH 200 /* rows behind the announcement */

static bool
asks_for_start(const ls_jitem *item)
{
	if (item->negative || item->absent || item->cond.op != LS_JOP_NONE)
		return false;
	for (int k = 0; k < item->n_terms; k++)
		if (item->terms[k].role == LS_JROLE_ACTION && item->terms[k].concept == LS_JC_START &&
			!item->terms[k].noun && !item->terms[k].forbidden)
			return true;
	return false;
}

/* "starting", "launching": under way */
static bool
announces(const ls_jctx *ctx, const ls_jrow *row)
{
	for (int i = 0; i < row->text.n; i++)
	{
		const ls_jatom *a = &row->text.atoms[i];
		const ls_jword *w = &ctx->words.table[a->word];

		if (w->concept == LS_JC_START && w->pol == LS_JP_ACT && (a->flags & LS_JATOM_ING) &&
			!a->unreal && a->client == LS_JCLIENT_NONE)
			return true;
	}
	return false;
}

/* A word that names nothing in particular. */
static bool
is_general(const ls_jword *w, const ls_jatom *a)
{
	return w->pol == LS_JP_STOP || w->pol == LS_JP_WEAK || w->concept == LS_JC_START ||
		   w->concept == LS_JC_COMPLETE || a->len < 3;
}

/*
 * Do the words before atom `i` name nothing but what the announcement names too?  Up to a colon
 * they are the statement's subject, the word before the colon is the component.  `unnamed` is the
 * answer for the atom before.
 */
static bool
is_unnamed(const ls_jctx *ctx, const ls_jtext *t, int i, const ls_jrow *announcement, bool unnamed)
{
	const ls_jatom *before = &t->atoms[i - 1];
	bool inner, known;

	if (before->kind != LS_JKIND_WORD || t->atoms[i].sep == LS_JSEP_COMMA)
		return true;
	inner = t->atoms[i].sep == LS_JSEP_SPACE || t->atoms[i].sep == LS_JSEP_TIGHT;
	known = ls_jrow_may_hold(announcement, before->stem);
	return inner ? unnamed && (known || is_general(&ctx->words.table[before->word], before))
				 : known;
}

static ls_finding_status
end_of_start(const ls_jctx *ctx, const ls_jrow *row, const ls_jrow *announcement)
{
	const ls_jtext *t = &row->text;
	bool unnamed = true;

	for (int i = 0; i < t->n; i++)
	{
		const ls_jatom *a = &t->atoms[i];
		const ls_jword *w = &ctx->words.table[a->word];
		bool ready = w->concept == LS_JC_START && w->pol == LS_JP_STATE && w->strength == 2;
		bool done = w->concept == LS_JC_START && w->pol == LS_JP_ACT && i + 1 < t->n &&
					a[1].sep == LS_JSEP_SPACE &&
					ctx->words.table[a[1].word].concept == LS_JC_COMPLETE &&
					ctx->words.table[a[1].word].pol == LS_JP_POS;

		unnamed = i == 0 || is_unnamed(ctx, t, i, announcement, unnamed);
		if (a->client != LS_JCLIENT_NONE || !unnamed || a->unreal)
			continue;
		if ((ready || done) && !ls_jrow_negated(ctx, t, i))
			return LS_FINDING_PASSED;
		if (w->concept == LS_JC_CRASH && w->pol == LS_JP_NEG && !ls_jrow_negated(ctx, t, i))
			return LS_FINDING_FAILED;
	}
	return LS_FINDING_NOT_FOUND;
}

bool
ls_jdecide_start(ls_jctx *ctx, const ls_jitem *item, const ls_jhits *rows, ls_jdecision *d)
{
	ls_jrow announcement;
	size_t reach;
	bool found = false;
	uint32_t at = 0;

	if (!LS_JRULE(START) || !asks_for_start(item))
		return true;
	for (size_t i = rows->n; i > 0 && !found; i--)
	{
		const ls_jhit *h = &rows->list[i - 1];
		const ls_jrow *row;

		if (h->m.relevance < LS_JRELEVANT || h->m.class != LS_JCLASS_NONE)
			continue;
		row = ls_jrow_get(ctx, h->row);
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
	reach = ls_jroom(ctx, REACH);
	for (uint32_t r = at + 1; r < ctx->n_rows && r <= at + reach; r++)
	{
		const ls_jrow *row = ls_jrow_get(ctx, r);
		ls_finding_status status;

		if (row == NULL)
			return false;
		ls_jspend(ctx, ctx->match_cost * ctx->effort);
		if (row->hostile)
			continue;
		status = end_of_start(ctx, row, &announcement);
		if (status != LS_FINDING_NOT_FOUND)
		{
			*d = ls_jdecide_row(status, r,
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
