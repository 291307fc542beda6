/*-------------------------------------------------------------------------
 *
 * judge_advice.c
 *	  What a row advises or announces, for the built-in evaluator (pure).
 *
 * "HINT:  Run CREATE EXTENSION", "To fix this, restart the server" and "the table should be
 * repaired" hold the words of an outcome and prove none.  Advice is taken out of the row before
 * it is compared; an action that is only wanted, planned or tried is marked as not real, so
 * that the row may name the item but tells nothing about it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

static inline __attribute__((always_inline)) bool
is(const ls_judge_text *t, int i, const char *word)
{
	return ls_judge_is(ls_judge_atom_text(t, i), word);
}

#define IS_ANY(t, i, words) LS_JUDGE_IS_IN(ls_judge_atom_text(t, i), words)

/* What stands between atom i and the one before it ends a sentence; `colon`: or a label. */
static bool
sentence_begins(const ls_judge_text *t, int i, bool colon)
{
	size_t from = i > 0 ? t->atoms[i - 1].off + t->atoms[i - 1].len : 0;

	for (size_t k = from; k < t->atoms[i].off; k++)
	{
		char c = t->text.data[k];

		if (k + 1 < t->text.len && t->text.data[k + 1] != ' ')
			continue;
		if (c == '.' || c == '!' || c == '?' || c == ';' || (colon && c == ':'))
			return true;
	}
	return false;
}

/* The sentence that was looked at last: many words of one ask for its end. */
typedef struct sentence
{
	int from, end; /* end is the same for all atoms from `from` on */
	int means;     /* the last atom in it that says how to: run, use */
} sentence;

static int
sentence_end(const ls_judge_text *t, int i, sentence *last)
{
	static const char *const means[] = {"run", "use", "add", "set", "execute", "type", "call"};

	if (i >= last->from && i < last->end)
		return last->end;
	last->from = i;
	last->means = -1;
	for (i++; i < t->n && !sentence_begins(t, i, false); i++)
		if (IS_ANY(t, i, means))
			last->means = i;
	return last->end = i;
}

/* "HINT:", "Next steps:" */
static bool
is_label(const ls_judge_text *t, int i)
{
	static const char *const labels[] = {"hint",  "tip",        "suggestion", "recommendation",
										 "usage", "advice",     "help",       "steps",
										 "step",  "suggestions"};
	size_t end = t->atoms[i].off + t->atoms[i].len;

	if (end + 1 >= t->text.len || t->text.data[end] != ':' || t->text.data[end + 1] != ' ')
		return false;
	if (!IS_ANY(t, i, labels))
		return false;
	return !(is(t, i, "step") || is(t, i, "steps")) || is(t, i - 1, "next");
}

/* Does advice begin at atom i?  `end` gets the atom after it. */
static bool
advice_at(const ls_judge_text *t, int i, sentence *last, int *end)
{
	static const char *const verbs[] = {"run", "use", "try", "see", "check", "ensure", "consider"};
	static const char *const helpers[] = {"may",  "can",   "should", "must", "need",
										  "have", "might", "could",  "want"};
	bool advises = is(t, i, "please") || (is(t, i, "make") && is(t, i + 1, "sure")) ||
				   (is(t, i, "you") && IS_ANY(t, i + 1, helpers));

	if (!advises && i > 0 && IS_ANY(t, i, verbs))
		advises = sentence_begins(t, i, is(t, i, "see") || is(t, i, "try") || is(t, i, "consider"));
	if (!advises && is(t, i, "to") && (i == 0 || sentence_begins(t, i, true)))
	{
		sentence_end(t, i, last);
		advises = last->means >= i + 2; /* "to fix this, run ..." */
	}
	*end = advises ? sentence_end(t, i, last) : t->n;
	return advises || is_label(t, i);
}

/* Marks the action after a "will" or an "attempting to" at atom i. */
static void
mark_unreal(const ls_judge_ctx *ctx, ls_judge_text *t, int i)
{
	static const char *const modals[] = {"will", "would", "should", "must",
										 "may",  "might", "shall",  "could"};
	static const char *const aims[] = {"trying", "try",        "tries", "attempt", "attempts",
									   "about",  "attempting", "going", "want",    "wants",
									   "need",   "needs",      "plan",  "planned", "planning",
									   "tried",  "attempted",  "needed"};
	const ls_judge_atom *a = &t->atoms[i];
	int from;

	/* "expires in 3 days" has not expired */
	if (ctx->words.table[a->word].concept == LS_CONCEPT_EXPIRE && is(t, i + 1, "in") &&
		i + 2 < t->n && t->atoms[i + 2].kind == LS_ATOM_NUMBER)
	{
		t->atoms[i].unreal = 1;
		return;
	}
	if (is(t, i + 1, "to") && a[1].sep == LS_SEP_SPACE && IS_ANY(t, i, aims))
		from = i + 2;
	else if (i + 1 < t->n && a[1].sep == LS_SEP_SPACE && IS_ANY(t, i, modals) &&
			 !(a->flags & LS_ATOM_UPPER))
		from = i + 1;
	else
		return;
	for (int k = from; k < t->n && k < from + 5; k++)
	{
		const ls_judge_word *w = &ctx->words.table[t->atoms[k].word];

		if (t->atoms[k].sep != LS_SEP_SPACE && t->atoms[k].sep != LS_SEP_TIGHT)
			break;
		if (w->pol == LS_POL_NOT)
			break; /* "could not connect" did not */
		t->atoms[k].unreal = 1;
		if (w->pol >= LS_POL_POS && w->pol <= LS_POL_PART)
			break;
	}
}

/*
 * A command line ("$ make test", "+ docker push", "Run npm publish", "helm upgrade --install x"):
 * it tells what shall be done.  An option makes one only when no other sign of a log stands
 * before it.
 */
static bool
is_command(const ls_judge_text *t)
{
	const char *s = t->text.data;
	size_t n = t->text.len, i = 0;

	if (n > 2 && (s[0] == '$' || s[0] == '+' || s[0] == '>') && s[1] == ' ')
		return true;
	if (n == 0 || s[0] < 'a' || s[0] > 'z')
		return false;
	while (i < n && s[i] != ':' && s[i] != '=' && s[i] != '[' && s[i] != '(' && s[i] != '"')
	{
		if (i + 3 < n && s[i] == ' ' && s[i + 1] == '-' && s[i + 2] == '-' && s[i + 3] >= 'a' &&
			s[i + 3] <= 'z')
			return true;
		i++;
	}
	return false;
}

void
ls_judge_advice_mark(const ls_judge_ctx *ctx, ls_judge_row *row)
{
	ls_judge_text *t = &row->text;
	sentence last = {0, 0, -1};
	int n = 0, kept = t->n;

	row->command = is_command(t);
	/* found first, taken out last: the text between atoms must stay what it is */
	for (int i = 0, end; i < t->n; i++)
	{
		if (t->atoms[i].kind != LS_ATOM_WORD || t->atoms[i].len < 2 || t->atoms[i].len > 14)
			continue;
		if (advice_at(t, i, &last, &end))
		{
			for (; i < end; i++, kept--)
				t->atoms[i].unreal = 2;
			i--;
			continue;
		}
		mark_unreal(ctx, t, i);
	}
	if (kept == t->n)
		return;
	for (int i = 0; i < t->n; i++)
		if (t->atoms[i].unreal != 2)
			t->atoms[n++] = t->atoms[i];
	t->n = n;
}
