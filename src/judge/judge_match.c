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

	if (a->sep == LS_SEP_TIGHT || (a->sep == LS_SEP_NONE && i > 0) ||
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

/* How many atoms at `i` are the identifier without its first `skip` atoms; 0: they are another. */
static int
ident_at(const ls_judge_text *t, int i, const ls_judge_ident *id, int skip)
{
	bool whole = skip == 0 && id->whole != 0 && t->atoms[i].stem == id->whole;
	int n = whole ? 1 : 0;

	while (!whole && skip + n < id->n && i + n < t->n &&
		   t->atoms[i + n].stem == id->atoms[skip + n])
		n++;
	if (!whole && skip + n < id->n)
		return 0;
	return bounded(t, i, n, id) || (id->pair && n > 1 && i + n == t->n) ? n : 0;
}

/*
 * Finds an identifier; of a noun with a number also the number alone: `exact` tells whether both
 * stand together.  `level` gets its lowest level of ls_judge_client; a client's text has no
 * identifiers but those that must be absent.
 */
static int
find_ident(ls_judge_matching *m, const ls_judge_ident *id, bool *exact, int *level)
{
	const ls_judge_text *t = &m->row->text;
	int most = id->forbidden ? LS_CLIENT_TEXT : LS_CLIENT_FREE;
	int found = -1;

	*exact = false;
	*level = LS_CLIENT_TEXT + 1;
	if (!ls_judge_row_may_hold(m->row, id->atoms[id->n - 1]) &&
		!(id->whole && ls_judge_row_may_hold(m->row, id->whole)))
		return -1;
	for (int skip = 0; found < 0 && skip < (id->pair ? id->n : 1); skip++)
		for (int i = 0; i < t->n; i++)
		{
			int n = ident_at(t, i, id, skip);

			if (n == 0 || level_of(t, i, n) > most ||
				(skip > 0 && t->atoms[i].flags & LS_ATOM_TIME))
				continue;
			for (int k = 0; k < n; k++)
				mask(m, i + k);
			*exact = skip == 0;
			if (level_of(t, i, n) < *level)
			{
				*level = level_of(t, i, n);
				found = i;
			}
		}
	return found;
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
	return level <= LS_CLIENT_QUOTE || (level == LS_CLIENT_PATH && item->http_low != 0);
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
		if (!term->forbidden)
			mask(m, i);
		if (ls_judge_row_negated(m->ctx, t, i))
			m->denied = true;
		else
			*affirmed |= !a->unreal;
	}
	return best;
}

/* Does the row give the field another value: state=returned where others have state=paid? */
static bool
other_value(const ls_judge_matching *m, const ls_judge_term *term)
{
	const ls_judge_text *t = &m->row->text;

	if (!LS_JUDGE_RULE(OTHER_VALUE) || term->key == 0 || !ls_judge_row_may_hold(m->row, term->key))
		return false;
	for (int i = 0; i + 1 < t->n; i++)
		/* event=refunded beside event=paid is another event, and no contrary of the first */
		if (t->atoms[i].stem == term->key && t->atoms[i + 1].sep == LS_SEP_EQUAL &&
			!ls_judge_in(m->ctx, t, i, LS_SET_EVENT_KEY))
			return !ls_judge_in(m->ctx, t, i + 1, LS_SET_OPEN);
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
	if (hit > 0 && hit < 1 && w->pol == LS_POL_NEG && term->pol != LS_POL_NEG)
	{
		*against = true;
		return 0;
	}
	return hit;
}

/* Stands the atom in a clause that holds a word of the item's subject? */
static bool
is_near(const ls_judge_matching *m, const ls_judge_atom *a)
{
	return a->clause < 64 && m->clauses[a->clause];
}

/* Does free text or the row's own hold it: what may show a failure? */
static bool
is_heard(const ls_judge_atom *a)
{
	return a->client == LS_CLIENT_NONE || a->client == LS_CLIENT_FREE;
}

/* Is it only the beginning of an action, or what it is about? */
static bool
is_open(const ls_judge_matching *m, const ls_judge_term *term, int i)
{
	const ls_judge_atom *a = &m->row->text.atoms[i];
	const ls_judge_word *w = &m->ctx->words.table[a->word];

	if (m->row->command || w->pol == LS_POL_PART || is_open_field(m, i))
		return true; /* health=Progressing */
	if ((a->flags & LS_ATOM_ING) && !term->ing && w->pol != LS_POL_STATE &&
		w->concept >= LS_CONCEPT_START && w->concept <= LS_CONCEPT_LOAD)
		return true;
	/* "the upload succeeds" is not shown by "upload started" */
	return term->noun && !(a->flags & LS_ATOM_ED) && w->concept != LS_CONCEPT_DETECT;
}

/* The verb at `i`, or its contrary, in text that is heard. */
static void
weigh_action(ls_judge_matching *m, const ls_judge_term *term, int i, float hit, bool against,
			 ls_judge_match *out)
{
	const ls_judge_atom *a = &m->row->text.atoms[i];
	const ls_judge_word *w = &m->ctx->words.table[a->word];

	if (!against && !(term->noun && w->pol == LS_POL_POS))
		m->masked[i] = 1;
	if (ls_judge_row_negated(m->ctx, &m->row->text, i) && term->pol != LS_POL_SKIP)
		against = !against;
	m->opposed = against;
	/* undone later, which is no failure of the event */
	m->reversed = against && (term->concept == LS_CONCEPT_OPEN || term->concept == LS_CONCEPT_LOCK);
	if (against)
		out->action = false;
	else if (a->client == LS_CLIENT_NONE) /* free text shows failures only */
	{
		bool open = is_open(m, term, i);

		out->action_any = true;
		m->near_action |= is_near(m, a);
		out->action |= !open;
		m->exact_action |= !open && hit == 1.0f;
		m->exact_action_past |= !open && hit == 1.0f && (a->flags & LS_ATOM_ED);
		m->negative_hit |= !open && (term->pol == LS_POL_NEG || w->pol == LS_POL_NEG);
	}
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
	bool near = false, against;

	*own = 0;
	if (!may_hold(m->row, term))
		return 0;
	for (int i = 0; i < t->n && !m->row->fields; i++)
		near |= is_near(m, &t->atoms[i]) && is_heard(&t->atoms[i]) &&
				(action_hit(m, term, i, &against) > 0 || against);
	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];
		float hit = action_hit(m, term, i, &against);
		bool heard = is_heard(a),
			 named = heard ? a->client == LS_CLIENT_NONE : names_item(m->item, a->client);

		m->chosen |= hit > 0 && a->client != LS_CLIENT_NONE;
		if ((hit <= 0 && !against) || a->client == LS_CLIENT_TEXT)
			continue;
		m->free |= a->client == LS_CLIENT_FREE;
		if (heard ? near && !is_near(m, a) : against)
			continue;
		hit = against ? 0.8f : hit;
		best = hit > best ? hit : best;
		*own = named && hit > *own ? hit : *own;
		if (heard &&
			!(a->unreal && (term->pol != LS_POL_NEG || term->concept == LS_CONCEPT_EXPIRE)))
			weigh_action(m, term, i, hit, against, out);
		else if (!against) /* names the item at most */
		{
			m->masked[i] = 1;
			out->action_any |= heard || named;
		}
	}
	return best;
}

/* Is a name in free text all of that text, and no word of a sentence? */
static bool
stands_alone(const ls_judge_text *t, int at, int n)
{
	const ls_judge_atom *next = &t->atoms[at + n];

	return !(at > 0 && t->atoms[at].sep == LS_SEP_SPACE &&
			 t->atoms[at - 1].client >= LS_CLIENT_FREE) &&
		   !(at + n < t->n && next->sep == LS_SEP_SPACE && next->client >= LS_CLIENT_FREE);
}

static void
match_idents(ls_judge_matching *m, ls_judge_match *out)
{
	const ls_judge_item *item = m->item;

	out->idents = true;
	for (int k = 0; k < item->n_idents; k++)
	{
		const ls_judge_ident *id = &item->idents[k];
		int level;
		int at = find_ident(m, id, &m->exact[k], &level);
		bool found = at >= 0;

		m->hit[k] = found;
		m->mailbox |= found && id->mailbox;
		m->program[k] =
			found && (names_item(item, level) || (level == LS_CLIENT_PATH && id->path) ||
					  (level == LS_CLIENT_FREE && (id->path || id->dotted) &&
					   stands_alone(&m->row->text, at, id->n)));
		m->free |= found && level == LS_CLIENT_FREE;
		if (id->forbidden)
			out->forbidden |= found;
		else
			out->idents &= found;
		m->inexact |= !id->forbidden && !m->exact[k];
	}
}

/* Names, nouns and what must be absent. */
static void
match_subject(ls_judge_matching *m, ls_judge_match *out)
{
	float bad = 0, bad_total = 0; /* weight of what must be absent */

	for (int k = 0; k < m->item->n_terms; k++)
	{
		const ls_judge_term *term = &m->item->terms[k];
		bool affirmed;
		float hit, named;

		if (term->ident >= 0 && !term->forbidden && m->hit[term->ident])
		{
			hit = term->weight * (m->exact[term->ident] ? 1.0f : 0.7f);
			m->sum += hit;
			m->own += m->program[term->ident] ? hit : 0;
			continue;
		}
		if (term->ident >= 0 || (term->role != LS_TERM_SUBJECT && !term->forbidden))
			continue;
		hit = match_noun(m, term, &affirmed, &named);
		if (term->forbidden)
		{
			bad_total += term->weight;
			bad += affirmed ? term->weight : 0;
			out->denied |= hit > 0 && !affirmed;
			continue;
		}
		m->sum += term->weight * hit;
		m->own += term->weight * named;
		m->held |= hit > 0;
		if (hit == 0 && !term->unheld && term->weight >= 1.2f)
		{
			m->topic = true;
			m->place |= term->object;
		}
	}
	out->forbidden |= bad_total > 0 && bad >= 0.6f * bad_total && !out->denied;
}

static void
match_verbs(ls_judge_matching *m, ls_judge_match *out)
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
		m->sum += term->weight * hit;
		m->own += term->weight * named;
	}
}

/* What the row says about the item that it names. */
static void
weigh_outcome(ls_judge_matching *m, ls_judge_match *out)
{
	const ls_judge_item *item = m->item;
	const ls_judge_text *t = &m->row->text;

	/* What the second part of an order names is no outcome either. */
	for (int k = 0; item->other != NULL && k < item->other->n_terms; k++)
		for (int i = 0; i < t->n; i++)
			if (t->atoms[i].stem == item->other->terms[k].stem)
				m->masked[i] = 1;
	/* The very thing is named, in whatever words. */
	if (item->n_required > 0 && out->idents && !m->inexact && out->relevance < 0.56f)
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
	if (out->class == LS_CLASS_PASS && ls_judge_doubtful(m, out))
		out->class = LS_CLASS_NONE;
}

void
ls_judge_match_row(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_row *row,
				   ls_judge_match *out)
{
	ls_judge_matching m;

	memset(out, 0, sizeof(*out));
	if (row->text.n == 0) /* also a row that only instructs its reader */
		return;
	memset(&m, 0, sizeof(m));
	m.ctx = ctx;
	m.item = item;
	m.row = row;
	match_idents(&m, out);
	match_subject(&m, out);
	match_verbs(&m, out);
	out->relevance = item->total > 0 ? m.sum / item->total : 0;
	weigh_outcome(&m, out);
	/* Only what a client chose names the item. */
	out->chosen = m.own < OWN && (m.chosen || m.free);
	if (m.sum > 0 && m.own < OWN && !((m.mailbox || m.free) && out->class == LS_CLASS_FAIL))
		*out = (ls_judge_match){.chosen = out->chosen,
								.forbidden = out->forbidden,
								.relevance = out->forbidden ? out->relevance : 0};
}
