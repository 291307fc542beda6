/*-------------------------------------------------------------------------
 *
 * judge_match.c
 *	  One item against one row, for the built-in evaluator (pure).
 *
 * Tells how much of the item the row names, whether its identifiers are there exactly, and what
 * the row says about the outcome once the item's own words are taken away: in
 * "ok 5 - handles a failed handshake" the item's "failed" is a name, the "ok" is the outcome.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define OWN 0.45f /* weight of the item's words that a row must name itself */


/* Would the identifier go on before or after these atoms? */
static bool
bounded(const ls_judge_text *t, int i, int n, const ls_judge_ident *id)
{
	const ls_judge_atom *a = &t->atoms[i];
	const ls_judge_atom *next = i + n < t->n ? &t->atoms[i + n] : NULL;

	/* 20240103_drop_legacy: a migration's number and its name */
	bool numbered = a->sep == LS_SEP_TIGHT && i > 0 && a[-1].kind == LS_ATOM_NUMBER &&
					a[-1].len >= 3 && !(a[-1].flags & LS_ATOM_TIME) && id->n > 1 &&
					(a[-1].sep >= LS_SEP_SPACE || a[-1].sep == LS_SEP_START);

	if ((a->sep == LS_SEP_TIGHT && !numbered) || (a->sep == LS_SEP_NONE && i > 0) ||
		(a->sep == LS_SEP_DOT && id->dotted))
		return false;
	return next == NULL ||
		   !(next->sep == LS_SEP_NONE || next->sep == LS_SEP_TIGHT ||
			 (next->sep == LS_SEP_SLASH && id->path) ||
			 (next->sep == LS_SEP_DOT && (next->kind == LS_ATOM_NUMBER || id->dotted)));
}

static void
mask(ls_judge_matching *m, int i)
{
	m->masked[i] = 1;
	if (m->row->text.atoms[i].clause < 64)
		m->clauses[m->row->text.atoms[i].clause] = 1;
}

/* The level of n atoms of a row: that of the one that a client may most freely have chosen. */
static int
level_of(const ls_judge_text *t, int i, int n)
{
	int level = LS_CLIENT_NONE;

	for (int k = i; k < i + n; k++)
		level = t->atoms[k].client > level ? t->atoms[k].client : level;
	return level;
}

/*
 * Finds an identifier; for a noun with a number `exact` tells whether both stand together.
 * `level` gets its lowest level of ls_judge_client; a client's text has no identifiers but those that
 * must be absent.
 */
static int
find_ident(ls_judge_matching *m, const ls_judge_ident *id, bool *exact, int *level)
{
	const ls_judge_text *t = &m->row->text;
	int most = id->forbidden ? LS_CLIENT_TEXT : LS_CLIENT_FREE;
	int found = -1;
	uint64_t last = id->atoms[id->n - 1];

	*exact = false;
	*level = LS_CLIENT_TEXT + 1;
	if (!ls_judge_row_may_hold(m->row, last) &&
		!(id->whole && ls_judge_row_may_hold(m->row, id->whole)))
		return -1;
	for (int i = 0; i < t->n; i++)
	{
		bool whole = id->whole != 0 && t->atoms[i].stem == id->whole;
		int n = 0;

		while (!whole && n < id->n && i + n < t->n && t->atoms[i + n].stem == id->atoms[n])
			n++;
		if (!whole && n < id->n)
			continue;
		n = whole ? 1 : n;
		if (!(bounded(t, i, n, id) || (id->pair && n > 1 && i + n == t->n)) ||
			level_of(t, i, n) > most)
			continue;
		for (int k = 0; k < n; k++)
			mask(m, i + k);
		*exact = true;
		if (level_of(t, i, n) < *level)
		{
			*level = level_of(t, i, n);
			found = i;
		}
	}
	if (found >= 0 || !id->pair)
		return found;
	/* The number alone, when it is one by itself. */
	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];

		if (a->stem != id->atoms[id->n - 1] || (a->flags & LS_ATOM_TIME) || a->client > most ||
			a->sep == LS_SEP_DOT || a->sep == LS_SEP_NONE || a->sep == LS_SEP_TIGHT)
			continue;
		if (i + 1 < t->n && t->atoms[i + 1].sep == LS_SEP_NONE)
			continue; /* 2 is not 2 s */
		if (a->off + a->len < t->text.len && t->text.data[a->off + a->len] == '%')
			continue;
		mask(m, i);
		if (id->n == 1)
			*exact = true;
		*level = a->client;
		return i;
	}
	return -1;
}

/* How well does an atom of the row match a word of the item: 0 .. 1? */
static float
atom_match(const ls_judge_ctx *ctx, const ls_judge_term *term, const ls_judge_atom *a, bool tight)
{
	const ls_judge_word *w = &ctx->words.table[a->word];

	if (term->stem == a->stem ||
		(term->joined && (term->joined == a->joined || term->joined == a->stem)) ||
		(a->joined && a->joined == term->stem))
		return tight && term->role == LS_TERM_SUBJECT ? 0.6f : 1.0f;
	/* a database by its product's name or by no name, never by another's */
	if (term->concept == LS_CONCEPT_DATABASE && term->pol == LS_POL_NONE && w->pol == LS_POL_NONE &&
		term->concept == w->concept && term->word != a->word)
		return 0;
	if (term->concept != LS_CONCEPT_NONE && term->concept == w->concept)
		return 0.85f;
	return 0;
}

static bool
may_hold(const ls_judge_row *row, const ls_judge_term *term)
{
	ls_judge_concept contrary = ls_judge_concept_opposite((ls_judge_concept) term->concept);

	return ls_judge_row_may_hold(row, term->stem) ||
		   (term->joined && ls_judge_row_may_hold(row, term->joined)) ||
		   (term->concept != LS_CONCEPT_NONE &&
			ls_judge_row_may_hold(row, ls_judge_concept_hash(term->concept))) ||
		   (contrary != LS_CONCEPT_NONE &&
			ls_judge_row_may_hold(row, ls_judge_concept_hash(contrary)));
}

/* Does text of this level name the item by itself? */
static bool
names_item(const ls_judge_item *item, int level)
{
	return level <= LS_CLIENT_QUOTE || (level == LS_CLIENT_PATH && item->request);
}

/* A word of the item's subject, or one that must be absent. */
static float
match_noun(ls_judge_matching *m, const ls_judge_term *term, bool *affirmed, float *own)
{
	const ls_judge_text *t = &m->row->text;
	float best = 0;

	*affirmed = false;
	*own = 0;
	if (!may_hold(m->row, term))
		return 0;
	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];
		bool tight =
			a->sep == LS_SEP_TIGHT || (i + 1 < t->n && t->atoms[i + 1].sep == LS_SEP_TIGHT);
		float hit = atom_match(m->ctx, term, a, tight);

		m->chosen |= hit > 0 && a->client != LS_CLIENT_NONE && !term->forbidden;
		if (hit <= 0 || (a->client == LS_CLIENT_TEXT && !term->forbidden))
			continue;
		m->free |= a->client == LS_CLIENT_FREE;
		best = hit > best ? hit : best;
		if (hit > *own && names_item(m->item, a->client))
			*own = hit;
		if (!term->forbidden &&
			(term->pol == LS_POL_NONE || term->pol == LS_POL_KEY || term->pol == LS_POL_WEAK) &&
			ls_judge_row_negated(m->ctx, t, i))
			m->denied = true;
		if (!term->forbidden)
			mask(m, i);
		else if (!a->unreal && !ls_judge_row_negated(m->ctx, t, i))
			*affirmed = true;
	}
	return best;
}

/* Does the row give the field another value: state=returned where others have state=paid? */
static bool
other_value(const ls_judge_matching *m, const ls_judge_term *term)
{
	const ls_judge_text *t = &m->row->text;
	uint64_t key = term->key;
	/* action=COUNT where others have action=BLOCK */
	bool decision = term->concept == LS_CONCEPT_DENY || term->concept == LS_CONCEPT_ALLOW;

	if (!LS_JUDGE_RULE(OTHER_VALUE) || key == 0 || !ls_judge_row_may_hold(m->row, key))
		return false;
	for (int i = 0; i + 1 < t->n; i++)
	{
		const ls_judge_atom *value = &t->atoms[i + 1];

		if (t->atoms[i].stem != key || value->sep != LS_SEP_EQUAL ||
			(value->kind != LS_ATOM_WORD && value->kind != term->kind) || m->masked[i + 1] ||
			value->client != LS_CLIENT_NONE ||
			/* event=refunded beside event=paid is another event, and no contrary of the first */
			(!decision && ls_judge_in(m->ctx, t, i, LS_SET_EVENT_KEY)))
			continue;
		return !ls_judge_in(m->ctx, t, i + 1, LS_SET_OPEN);
	}
	return false;
}

/* Is the word a key, and its value neither yes nor a success? */
static bool
is_open_field(const ls_judge_matching *m, int i)
{
	const ls_judge_text *t = &m->row->text;
	const ls_judge_atom *value = &t->atoms[i + 1];
	ls_judge_polarity pol;

	if (i + 1 >= t->n || value->sep != LS_SEP_EQUAL || value->kind != LS_ATOM_WORD)
		return false;
	pol = (ls_judge_polarity) m->ctx->words.table[value->word].pol;
	return !ls_judge_in(m->ctx, t, i + 1, LS_SET_YES) && pol != LS_POL_POS && pol != LS_POL_STATE &&
		   pol != LS_POL_ACT;
}

/* The noun of a verb: deployment, migration */
static bool
is_deed(const ls_judge_text *t, int i)
{
	const ls_judge_atom *a = &t->atoms[i];
	const char *end = t->text.data + a->off + a->len;

	return (a->len > 7 && memcmp(end - 4, "ment", 4) == 0) ||
		   (a->len > 6 && memcmp(end - 3, "ion", 3) == 0);
}

/* How well atom `i` is the verb of the item; `against`: it is its contrary. */
static float
action_hit(const ls_judge_matching *m, const ls_judge_term *term, int i, bool *against)
{
	const ls_judge_atom *a = &m->row->text.atoms[i];
	const ls_judge_word *w = &m->ctx->words.table[a->word];
	ls_judge_concept contrary = ls_judge_concept_opposite((ls_judge_concept) term->concept);
	float hit = atom_match(m->ctx, term, a, false);

	*against =
		hit <= 0 && contrary != LS_CONCEPT_NONE && w->concept == contrary && w->pol != LS_POL_WEAK;
	/* "bounced" is no kind of "delivered" */
	if (hit > 0 && hit < 1 && w->pol == LS_POL_NEG &&
		(term->pol == LS_POL_ACT || term->pol == LS_POL_STATE))
	{
		*against = true;
		return 0;
	}
	return hit;
}

/* Does free text or the row's own hold it: what may show a failure? */
static bool
is_heard(const ls_judge_atom *a)
{
	return a->client == LS_CLIENT_NONE || a->client == LS_CLIENT_FREE;
}

/* Stands the verb in a clause of the subject, or in a field that the item names? */
static void
locate_action(ls_judge_matching *m, const ls_judge_term *term)
{
	const ls_judge_text *t = &m->row->text;
	bool against;

	m->near = false;
	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];
		float hit = action_hit(m, term, i, &against);

		if ((hit <= 0 && !against) || !is_heard(a))
			continue;
		m->near |= a->clause < 64 && m->clauses[a->clause];
	}
}

/* Does the verb at `i` tell that the action arrived, and not only its name or its beginning? */
static bool
has_arrived(const ls_judge_matching *m, const ls_judge_term *term, int i, float hit)
{
	const ls_judge_text *t = &m->row->text;
	const ls_judge_atom *a = &t->atoms[i];
	const ls_judge_word *w = &m->ctx->words.table[a->word];

	if ((a->flags & LS_ATOM_ING) && !term->ing && w->pol != LS_POL_STATE &&
		w->concept >= LS_CONCEPT_START && w->concept <= LS_CONCEPT_LOAD)
		return false;
	if (is_open_field(m, i))
		return false; /* health=Progressing */
	if (is_deed(t, i) && term->past && w->pol == LS_POL_ACT)
		return false; /* the deployment is not the deploying */
	/* "the upload succeeds" is not shown by "upload started" */
	return !term->noun || (a->flags & LS_ATOM_ED) || w->concept == LS_CONCEPT_DETECT;
}

/* The verb at `i` of the row's own text, affirmed. */
static void
affirm_action(ls_judge_matching *m, const ls_judge_term *term, int i, float hit,
			  ls_judge_match *out)
{
	const ls_judge_atom *a = &m->row->text.atoms[i];
	const ls_judge_word *w = &m->ctx->words.table[a->word];

	out->action_any = true;
	m->near_action |= m->near;
	if (m->row->command || !has_arrived(m, term, i, hit))
		return;
	if (!((a->flags & LS_ATOM_ING) && !term->ing && w->pol != LS_POL_STATE) &&
		w->pol != LS_POL_PART)
	{
		out->action = true;
		m->exact_action |= hit == 1.0f;
		m->exact_action_past |= hit == 1.0f && (a->flags & LS_ATOM_ED);
	}
	else if (w->pol != LS_POL_PART)
		out->action = true; /* a hint only */
	if (term->pol == LS_POL_NEG || w->pol == LS_POL_NEG)
		m->negative_hit = true;
}

/* A verb or its contrary at `i`; `best` and `own` get how well the row names it. */
static void
weigh_action(ls_judge_matching *m, const ls_judge_term *term, int i, ls_judge_match *out,
			 float *best, float *own)
{
	const ls_judge_text *t = &m->row->text;
	const ls_judge_atom *a = &t->atoms[i];
	const ls_judge_word *w = &m->ctx->words.table[a->word];
	ls_judge_concept contrary = ls_judge_concept_opposite((ls_judge_concept) term->concept);
	bool against, program = a->client == LS_CLIENT_NONE;
	float hit = action_hit(m, term, i, &against);

	if (a->unreal && (term->pol != LS_POL_NEG || term->concept == LS_CONCEPT_EXPIRE))
	{
		m->masked[i] |= !against;
		out->action_any |= !against;
		*best = against || *best > hit ? *best : hit;
		*own = program ? *best : *own;
		return;
	}
	if (!against && !(term->noun && w->pol == LS_POL_POS))
		m->masked[i] = 1;
	if (hit > *best || *best == 0)
		*best = against ? 0.8f : hit;
	*own = program ? *best : *own;
	if (ls_judge_row_negated(m->ctx, t, i) && term->pol != LS_POL_SKIP)
		against = !against;
	m->opposed = against;
	m->reversed = against && (contrary == LS_CONCEPT_CLOSE || contrary == LS_CONCEPT_OPEN ||
							  contrary == LS_CONCEPT_LOCK || contrary == LS_CONCEPT_UNLOCK);
	if (against)
		out->action = false;
	else if (program) /* free text shows failures only */
		affirm_action(m, term, i, hit, out);
}

/*
 * A verb or a state.  Where a row has both it and its contrary ("db up, mail down",
 * "open -> closed"), the clause of the subject counts, and in it the last one.
 */
static float
match_action(ls_judge_matching *m, const ls_judge_term *term, ls_judge_match *out, float *own)
{
	const ls_judge_text *t = &m->row->text;
	float best = 0;

	*own = 0;
	if (!may_hold(m->row, term))
		return 0;
	locate_action(m, term);
	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];
		bool against;
		float hit = action_hit(m, term, i, &against);

		m->chosen |= hit > 0 && a->client != LS_CLIENT_NONE;
		if ((hit <= 0 && !against) || a->client == LS_CLIENT_TEXT)
			continue;
		m->free |= a->client == LS_CLIENT_FREE;
		if (!is_heard(a))
		{
			/* names the item at most */
			if (against)
				continue;
			m->masked[i] = 1;
			best = hit > best ? hit : best;
			if (names_item(m->item, a->client))
			{
				out->action_any = true;
				*own = hit > *own ? hit : *own;
			}
			continue;
		}
		if ((m->near && !m->row->fields && !(a->clause < 64 && m->clauses[a->clause])))
			continue;
		weigh_action(m, term, i, out, &best, own);
	}
	return best;
}

/* What a row names of an item, word by word. */
typedef struct tally
{
	float sum, own;       /* weight of the item's words in the row; of it, what no client chose */
	float bad, bad_total; /* weight of what must be absent */
	bool denied;          /* some of it, denied */
	bool place;           /* an object of the item is missing: "to production" */
	bool topic;           /* a word of the item that other rows hold is missing */
	bool mailbox;
	bool hit[LS_ITEM_IDENTS], exact[LS_ITEM_IDENTS], program[LS_ITEM_IDENTS];
} tally;

static void
match_idents(ls_judge_matching *m, tally *y, ls_judge_match *out)
{
	const ls_judge_item *item = m->item;

	out->idents = true;
	out->exact_pair = true;
	for (int k = 0; k < item->n_idents; k++)
	{
		const ls_judge_ident *id = &item->idents[k];
		int level;
		int at = find_ident(m, id, &y->exact[k], &level);

		y->hit[k] = at >= 0;
		y->mailbox |= at >= 0 && id->mailbox;
		y->program[k] =
			at >= 0 && (names_item(item, level) || (level == LS_CLIENT_PATH && id->path) ||
						(level == LS_CLIENT_FREE && (id->path || id->dotted)));
		m->free |= at >= 0 && level == LS_CLIENT_FREE;
		if (id->forbidden)
		{
			out->forbidden |= at >= 0;
			continue;
		}
		if (at < 0)
			out->idents = false;
		else
			out->some_ident = true;
		if (!y->exact[k])
			out->exact_pair = false;
	}
}

static void
match_subject(ls_judge_matching *m, tally *y, ls_judge_match *out)
{
	for (int k = 0; k < m->item->n_terms; k++)
	{
		const ls_judge_term *term = &m->item->terms[k];
		bool affirmed, missing;
		float hit, named;

		if (term->ident >= 0 && !term->forbidden && y->hit[term->ident])
		{
			hit = term->weight * (y->exact[term->ident] ? 1.0f : 0.7f);
			y->sum += hit;
			y->own += y->program[term->ident] ? hit : 0;
			continue;
		}
		if (term->ident >= 0 || (term->role != LS_TERM_SUBJECT && !term->forbidden))
			continue;
		hit = match_noun(m, term, &affirmed, &named);
		if (term->forbidden)
		{
			y->bad_total += term->weight;
			y->bad += affirmed ? term->weight : 0;
			y->denied |= hit > 0 && !affirmed;
			continue;
		}
		missing = hit == 0 && !term->unheld && term->weight >= 1.2f;
		y->sum += term->weight * hit;
		y->own += term->weight * named;
		m->named |= hit > 0 && term->weight >= 1.2f;
		m->held |= hit > 0;
		y->topic |= missing;
		y->place |= missing && term->object;
	}
}

static void
match_verbs(ls_judge_matching *m, tally *y, ls_judge_match *out)
{
	for (int k = 0; k < m->item->n_terms; k++)
	{
		const ls_judge_term *term = &m->item->terms[k];
		float hit, named;

		if (term->ident >= 0 || term->role != LS_TERM_ACTION || term->forbidden)
			continue;
		hit = match_action(m, term, out, &named);
		if (hit == 0 && other_value(m, term))
		{
			m->mismatch = true;
			hit = named = 0.8f;
		}
		y->sum += term->weight * hit;
		y->own += term->weight * named;
	}
}

/* Does the row show what must be absent? */
static void
weigh_forbidden(const ls_judge_matching *m, const tally *y, ls_judge_match *out)
{
	if (y->bad_total > 0 && y->bad >= 0.6f * y->bad_total && !y->denied)
		out->forbidden = true;
	out->denied = y->denied;
}

/* What the row says about the item that it names. */
static void
weigh_outcome(ls_judge_matching *m, const tally *y, ls_judge_match *out)
{
	const ls_judge_item *item = m->item;
	const ls_judge_text *t = &m->row->text;

	/* What the second part of an order names is no outcome either. */
	for (int k = 0; item->other != NULL && k < item->other->n_terms; k++)
		for (int i = 0; i < t->n; i++)
			if (t->atoms[i].stem == item->other->terms[k].stem)
				m->masked[i] = 1;
	/* The very thing is named, in whatever words. */
	if (item->n_idents > 0 && out->some_ident && out->idents && out->exact_pair &&
		out->relevance < 0.56f)
		out->relevance = 0.56f;
	ls_judge_classify(m, out);
	if (LS_JUDGE_RULE(FRACTION) && (item->whole > 0 || item->all) && !item->absent &&
		!item->negative)
		ls_judge_weigh_fraction(item, m->row, out);
	/* All of the item is there and nothing speaks against it. */
	if (out->class == LS_CLASS_NONE && out->relevance >= 0.9f && !out->action_any &&
		item->n_terms > 1 && item->has_action)
	{
		out->class = LS_CLASS_PASS;
		out->strength = 1;
	}
	if (out->class == LS_CLASS_PASS && ls_judge_doubtful(m, out, y->place, y->topic))
		out->class = LS_CLASS_NONE;
}

void
ls_judge_match_row(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_row *row,
				   ls_judge_match *out)
{
	ls_judge_matching m;
	tally y;

	memset(out, 0, sizeof(*out));
	if (row->hostile || row->text.n == 0)
		return;
	memset(&y, 0, sizeof(y));
	memset(&m, 0, sizeof(m));
	m.ctx = ctx;
	m.item = item;
	m.row = row;
	match_idents(&m, &y, out);
	match_subject(&m, &y, out);
	match_verbs(&m, &y, out);
	weigh_forbidden(&m, &y, out);
	out->named = m.named;
	out->relevance = item->total > 0 ? y.sum / item->total : 0;
	weigh_outcome(&m, &y, out);
	/* Only what a client chose names the item. */
	out->chosen = y.own < OWN && (m.chosen || m.free);
	if (y.sum > 0 && y.own < OWN && !((y.mailbox || m.free) && out->class == LS_CLASS_FAIL))
	{
		bool forbidden = out->forbidden, chosen = out->chosen;
		float relevance = out->relevance;

		memset(out, 0, sizeof(*out));
		out->chosen = chosen;
		out->forbidden = forbidden;
		out->relevance = forbidden ? relevance : 0;
	}
}
