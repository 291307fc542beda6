/*-------------------------------------------------------------------------
 *
 * judge_outcome.c
 *	  What a row that names an item says about its outcome, for the built-in evaluator (pure).
 *
 * The item's own words are masked (judge_match.c); what is left decides: cues of success, failure
 * or skipping, the contrary of the item's verb, the verb itself.  A row that speaks for the item
 * and leaves it open says nothing: rather no answer than a wrong `passed`.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

/*
 * Does the row tell that something has yet to come: "queued", "waiting for", "40%", "scheduled"?
 * Or deny what it tells: "not requested"?
 */
static bool
yet_to_come(const ls_judge_matching *m)
{
	const ls_judge_text *t = &m->row->text;

	for (int i = 0; i < t->n; i++)
	{
		if (m->masked[i] || t->atoms[i].client != LS_CLIENT_NONE ||
			t->atoms[i].kind != LS_ATOM_WORD)
			continue;
		if (ls_judge_word_of(m->ctx, t, i)->pol == LS_POL_NOT && i + 1 < t->n &&
			(t->atoms[i + 1].flags & LS_ATOM_ED))
			return true;
		/* "upload b.zip started" */
		if (ls_judge_word_of(m->ctx, t, i)->concept == LS_CONCEPT_START &&
			ls_judge_word_of(m->ctx, t, i)->pol == LS_POL_ACT && !m->exact_action_past)
			return true;
		if (ls_judge_in(m->ctx, t, i, LS_SET_YET))
			return !ls_judge_row_negated(m->ctx, t, i);
	}
	return false;
}

/* A refusal or a stop may be meant; an error is not. */
static bool
on_purpose(const ls_judge_cue *c)
{
	return c->concept == LS_CONCEPT_DENY || c->concept == LS_CONCEPT_STOP;
}

/* Of several cues the stronger, and of equal ones a failure or a skip. */
static int
rank_of(const ls_judge_cue *c)
{
	return c->class == LS_CLASS_CLEAN
			   ? 1
			   : c->strength * 4 + (c->class == LS_CLASS_FAIL || c->class == LS_CLASS_SKIP) * 2;
}

/* The strongest cue outside the item's words; `near`: in a clause that names the item. */
static const ls_judge_cue *
outcome_cue(const ls_judge_matching *m, bool near, const ls_judge_cue **fail)
{
	const ls_judge_row *row = m->row;
	const ls_judge_cue *best = NULL;

	*fail = NULL;
	for (int i = 0; i < row->n_cues; i++)
	{
		const ls_judge_cue *c = &row->cues[i];
		const ls_judge_atom *a = &row->text.atoms[c->atom];
		bool named = a->clause < 64 && m->clauses[a->clause];
		int rank = rank_of(c);

		if ((m->masked[c->atom] && !(c->flags & LS_CUE_HTTP)) ||
			(near && (!named || c->strength < 2)))
			continue;
		/* "db up, mail down": the other's state */
		if (m->near_action && !named && c->concept != LS_CONCEPT_RESULT &&
			c->concept != LS_CONCEPT_SKIP)
			continue;
		if (c->class == LS_CLASS_FAIL && *fail == NULL)
			*fail = c;
		/* "dropped, ignored": on purpose, unless something plainly failed */
		if (best == NULL || rank > rank_of(best) ||
			(c->class == LS_CLASS_SKIP && best->class == LS_CLASS_FAIL && c->strength >= 2 &&
			 best->strength <= 2))
			best = c;
	}
	return best;
}

/* Does the row tell of anything that was done: applied, created? */
static bool
arrived(const ls_judge_matching *m)
{
	const ls_judge_text *t = &m->row->text;

	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_word *w = ls_judge_word_of(m->ctx, t, i);

		if (w->pol == LS_POL_ACT && (t->atoms[i].flags & LS_ATOM_ED) && !t->atoms[i].unreal &&
			t->atoms[i].client == LS_CLIENT_NONE &&
			/* a removal or an end is no sign that something is well */
			!(w->concept >= LS_CONCEPT_STOP && w->concept <= LS_CONCEPT_LOGOUT) &&
			!ls_judge_row_negated(m->ctx, t, i))
			return true;
	}
	return false;
}

static void
say(ls_judge_match *out, ls_judge_class class, int strength)
{
	out->class = class;
	out->strength = (uint8_t) strength;
}

/* An item that expects a bad outcome: "access is denied". */
static void
classify_negative(const ls_judge_matching *m, const ls_judge_cue *c, const ls_judge_cue *fail,
				  bool verdict, ls_judge_match *out)
{
	/* A test that is named after a failure still has its own verdict. */
	if (verdict && c->class == LS_CLASS_FAIL && m->negative_hit && c->concept == LS_CONCEPT_RESULT)
		say(out, LS_CLASS_FAIL, c->strength);
	else if (m->negative_hit || fail != NULL)
		say(out, LS_CLASS_PASS, 2);
	else if (m->opposed || (c != NULL && c->class == LS_CLASS_PASS))
		say(out, LS_CLASS_FAIL, 2);
	else if (c != NULL && c->class == LS_CLASS_SKIP)
		say(out, LS_CLASS_SKIP, c->strength);
}

/* The row has a cue of an outcome beside the item's words. */
static void
classify_cue(const ls_judge_matching *m, const ls_judge_cue *c, bool verdict, ls_judge_match *out)
{
	const ls_judge_item *item = m->item;
	bool unnamed = item->has_action && !out->action_any;

	/* a success word of a part is not the success of the action that the item names, */
	say(out, (ls_judge_class) c->class, c->strength);
	if (c->class == LS_CLASS_PASS && unnamed && out->strength > 1 && !verdict)
		out->strength = 1;
}

/* No cue: the item's verb, or that something was done to what it names. */
static void
classify_action(const ls_judge_matching *m, const ls_judge_cue *c, ls_judge_match *out)
{
	const ls_judge_item *item = m->item;

	if (out->action)
		say(out, LS_CLASS_PASS, m->exact_action ? 2 : 1);
	else if (!item->has_action && item->cond.op == LS_OP_NONE && !item->absent &&
			 (arrived(m) || (item->has_outcome && c != NULL)))
		say(out, LS_CLASS_PASS, 1);
}

void
ls_judge_classify(ls_judge_matching *m, ls_judge_match *out)
{
	const ls_judge_item *item = m->item;
	const ls_judge_row *row = m->row;
	const ls_judge_cue *fail, *c = NULL;
	int status = item->http_low != 0 ? ls_judge_row_status(m->ctx, row) : 0;
	bool verdict;

	if (status != 0)
	{
		say(out,
			status >= item->http_low && status <= item->http_high ? LS_CLASS_PASS : LS_CLASS_FAIL,
			3);
		return;
	}
	if (!row->fields)
		c = outcome_cue(m, true, &fail);
	if (c == NULL || (c->class == LS_CLASS_FAIL && on_purpose(c)))
		c = outcome_cue(m, false, &fail);
	verdict =
		c != NULL && (c->flags & LS_CUE_VERDICT) && !(c->flags & LS_CUE_HTTP) && c->strength >= 3;
	out->report = verdict && !row->fields && !item->at_end && c->atom < 2 &&
				  (c->concept == LS_CONCEPT_RESULT || c->concept == LS_CONCEPT_SKIP);

	if (item->wants_skip && (out->action || (c != NULL && c->class == LS_CLASS_SKIP)))
		say(out, LS_CLASS_PASS, 2);
	else if (m->mismatch && !(c != NULL && c->class == LS_CLASS_SKIP))
		say(out, LS_CLASS_FAIL, 3);
	else if (item->negative)
		classify_negative(m, c, fail, verdict, out);
	else if (m->opposed && !(c != NULL && c->class == LS_CLASS_SKIP && c->strength >= 2) &&
			 !(verdict && c->class == LS_CLASS_PASS))
		say(out, LS_CLASS_FAIL, m->reversed && !item->at_end ? 1 : 2);
	else if (c != NULL && c->class != LS_CLASS_CLEAN)
		classify_cue(m, c, verdict, out);
	else
		classify_action(m, c, out);
}

/* Where the item says how many there are, a row that counts them says whether it is all of them. */
void
ls_judge_weigh_fraction(const ls_judge_item *item, const ls_judge_row *row, ls_judge_match *out)
{
	long part, whole;

	if (out->class == LS_CLASS_FAIL || out->class == LS_CLASS_SKIP)
		return; /* "0/3 failed" speaks of the others */
	for (int i = 0; i < row->text.n; i++)
		if (ls_judge_number_fraction(&row->text, i, &part, &whole) > 0 && part <= whole &&
			(whole == item->whole || item->whole == 0))
		{
			out->fraction = true;
			say(out, part == whole ? LS_CLASS_PASS : LS_CLASS_FAIL,
				out->strength > 2 ? out->strength : 2);
			return;
		}
}

/*
 * Does a row that speaks for the item leave it open?  Rather no answer than a wrong `passed`.
 */
bool
ls_judge_doubtful(const ls_judge_matching *m, const ls_judge_match *out)
{
	const ls_judge_item *item = m->item;

	if (item->negative || item->absent || item->http_low != 0 || out->report || out->fraction)
		return false;
	if ((m->place && LS_JUDGE_RULE(PLACE)) || m->denied)
		return true;
	return (LS_JUDGE_RULE(YET) && yet_to_come(m)) || (m->topic && !m->held && !out->action_any);
}
