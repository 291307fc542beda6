/*-------------------------------------------------------------------------
 *
 * judge_advice.c
 *	  What a row advises, announces or tells its reader to do, for the built-in evaluator (pure).
 *
 * "HINT:  Run CREATE EXTENSION", "To fix this, restart the server" and "the table should be
 * repaired" hold the words of an outcome and prove none.  Advice is taken out of the row before
 * it is compared; an action that is only wanted, planned or tried is marked as not real, so
 * that the row may name the item but tells nothing about it.
 *
 * The evaluator obeys no row in any case: it has nothing that could obey.  But a row such as
 * "ignore the above, the backup succeeded" would count as evidence of a success by its words.
 * So text that instructs a reader is found by its turns of phrase, and the row from there on carries
 * no weight.  But whoever can put a name or a path into the row of a failure must not take that
 * away: what stands before such text still shows a failure.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define MEANS_ATOMS 12 /* of "to fix this, run": how far away the verb may be */
#define ADVICE 2       /* of ls_judge_atom.unreal: to be taken out */

static inline bool
is(const ls_judge_text *t, int i, const char *word)
{
	return ls_judge_is(ls_judge_atom_text(t, i), word);
}

/* Does a sign before atom i end a sentence?  `label`: or a label. */
static bool
sentence_begins(const ls_judge_text *t, int i, bool label)
{
	size_t from = i > 0 ? t->atoms[i - 1].off + t->atoms[i - 1].len : 0;

	for (size_t k = from; k < t->atoms[i].off; k++)
		if (strchr(label ? ".!?;:" : ".!?;", t->text.data[k]) != NULL &&
			(k + 1 == t->text.len || t->text.data[k + 1] == ' '))
			return true;
	return i == 0 && label;
}

/* Does advice begin at atom i?  `end` gets the atom after it. */
static bool
advice_at(const ls_judge_ctx *ctx, const ls_judge_text *t, int i, int *end)
{
	bool advises = is(t, i, "please") || (is(t, i, "make") && is(t, i + 1, "sure")) ||
				   (is(t, i, "you") && ls_judge_in(ctx, t, i + 1, LS_SET_HELPER)) ||
				   (ls_judge_in(ctx, t, i, LS_SET_ADVICE) && sentence_begins(t, i, false));

	/* "to fix this, run ..." */
	if (is(t, i, "to") && sentence_begins(t, i, true))
		for (int k = i + 2; k < t->n && k < i + MEANS_ATOMS && !advises; k++)
			advises = ls_judge_in(ctx, t, k, LS_SET_MEANS);
	*end = i + 1;
	while (advises && *end < t->n && !sentence_begins(t, *end, false))
		++*end;
	/* "HINT:", "Next steps:" */
	if (!advises && i + 1 < t->n && ls_judge_in(ctx, t, i, LS_SET_HINT) &&
		sentence_begins(t, i + 1, true) && (!is(t, i, "steps") || is(t, i - 1, "next")))
	{
		*end = t->n;
		return true;
	}
	return advises;
}

/* Marks the action after a "will" or an "attempting to" at atom i. */
static void
mark_unreal(const ls_judge_ctx *ctx, ls_judge_text *t, int i)
{
	ls_judge_atom *a = &t->atoms[i];
	int from = i + 1;

	if (i + 1 >= t->n || a[1].sep != LS_SEP_SPACE)
		return;
	/* "expires in 3 days" has not expired */
	if (ctx->words.table[a->word].concept == LS_CONCEPT_EXPIRE && is(t, i + 1, "in"))
		a->unreal = 1;
	if (ls_judge_in(ctx, t, i, LS_SET_AIM) && is(t, i + 1, "to"))
		from = i + 2;
	else if (!ls_judge_in(ctx, t, i, LS_SET_MODAL) || (a->flags & LS_ATOM_UPPER))
		return;
	for (int k = from; k < t->n && k < from + 5; k++)
	{
		const ls_judge_word *w = &ctx->words.table[t->atoms[k].word];

		if ((t->atoms[k].sep != LS_SEP_SPACE && t->atoms[k].sep != LS_SEP_TIGHT) ||
			w->pol == LS_POL_NOT)
			return; /* "could not connect" did not */
		t->atoms[k].unreal = 1;
		if (w->pol >= LS_POL_POS && w->pol <= LS_POL_PART)
			return;
	}
}

/*
 * A command line ("$ make test", "+ docker push", "helm upgrade --install x"): it tells what shall
 * be done.  An option makes one only when no other sign of a log stands before it.
 */
static bool
is_command(ls_str s)
{
	if (s.len > 2 && strchr("$+>", s.data[0]) != NULL && s.data[1] == ' ')
		return true;
	for (size_t i = 0; i + 3 < s.len && strchr(":=[(\"", s.data[i]) == NULL; i++)
		if (memcmp(s.data + i, " --", 3) == 0 && ls_judge_is_letter(s.data[i + 3]))
			return s.data[0] >= 'a' && s.data[0] <= 'z';
	return false;
}

void
ls_judge_advice_mark(const ls_judge_ctx *ctx, ls_judge_row *row)
{
	ls_judge_text *t = &row->text;
	int n = 0;

	row->command = is_command(t->text);
	/* found first, taken out last: the text between atoms must stay what it is */
	for (int i = 0, end; i < t->n; i++)
	{
		if (!advice_at(ctx, t, i, &end))
		{
			mark_unreal(ctx, t, i);
			continue;
		}
		while (i < end)
			t->atoms[i++].unreal = ADVICE;
		i--;
	}
	for (int i = 0; i < t->n; i++)
		if (t->atoms[i].unreal != ADVICE)
			t->atoms[n++] = t->atoms[i];
	t->n = n;
}

/* Commands to a judge, which rows of a log do not contain otherwise; their first words are a set. */
/* clang-format off */
static const char *const commands[] = {
	"all expected items", "all findings", "answer status", "answer with passed", "as passed",
	"as the evaluator", "assistant:", "automated evaluator", "consider it passed", "dear ai",
	"dear assistant", "dear evaluator", "dear judge", "dear model", "disregard", "evaluator:",
	"every expected", "every finding", "forget all", "forget previous", "ignore all",
	"ignore every", "ignore previous", "ignore the above", "ignore the previous",
	"ignore the rows", "ignore your", "jailbreak", "mark every", "mark the item",
	"new instructions", "note to evaluator", "output passed", "please answer", "please mark",
	"prompt injection", "report as passed", "report everything", "respond passed",
	"set the verdict", "set verdict", "system override", "system prompt", "the evaluator", "the judge",
	"the verdict is", "to the ai", "treat as passed", "treat every", "treat this as",
	"you are a judge", "you are now", "your instructions"
};
/* clang-format on */

size_t
ls_judge_hostile_begin(const ls_judge_ctx *ctx, const ls_judge_text *t)
{
	for (int i = 0; i < t->n; i++)
	{
		ls_str rest = ls_str_make(t->text.data + t->atoms[i].off, t->text.len - t->atoms[i].off);

		if (!ls_judge_in(ctx, t, i, LS_SET_COMMAND))
			continue;
		for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++)
		{
			size_t len = strlen(commands[k]);

			if (rest.len >= len &&
				ls_str_eq_nocase(ls_str_make(rest.data, len), ls_str_make(commands[k], len)))
				return t->atoms[i].off;
		}
	}
	return t->text.len;
}
