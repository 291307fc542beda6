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

typedef struct matching
{
	const ls_jctx *ctx;
	const ls_jitem *item;
	const ls_jrow *row;
	uint8_t masked[LS_JROW_ATOMS]; /* atoms that are the item's own words */
	uint8_t clauses[64];           /* clauses that hold a matched word */
	bool negative_hit;             /* the bad outcome that the item names is there */
	bool reversed;                 /* undone later, which is no failure of the event */
	bool near_action;              /* the action stands in the subject's clause */
	bool mismatch;                 /* a field has another value than the item's */
	bool opposed;                  /* the contrary of its action */
	bool exact_action;
	bool keyed; /* the item's words end in a key that has a value */
	bool named; /* a name of the item stands in the row */
	uint16_t action_clause;
	int opposed_atom;
} matching;

/* Would the identifier go on before or behind these atoms? */
static bool
bounded(const ls_jtext *t, int i, int n, const ls_jident *id)
{
	const ls_jatom *a = &t->atoms[i];
	const ls_jatom *next = i + n < t->n ? &t->atoms[i + n] : NULL;

	/* 20240103_drop_legacy: a migration's number and its name */
	bool numbered = a->sep == LS_JSEP_TIGHT && i > 0 && a[-1].kind == LS_JKIND_NUMBER &&
					a[-1].len >= 3 && !(a[-1].flags & LS_JATOM_TIME) && id->n > 1 &&
					(a[-1].sep >= LS_JSEP_SPACE || a[-1].sep == LS_JSEP_START);

	if ((a->sep == LS_JSEP_TIGHT && !numbered) || (a->sep == LS_JSEP_NONE && i > 0) ||
		(a->sep == LS_JSEP_DOT && id->dotted))
		return false;
	if (next != NULL)
	{
		if (next->sep == LS_JSEP_NONE || next->sep == LS_JSEP_TIGHT)
			return false;
		if (next->sep == LS_JSEP_SLASH && id->path)
			return false;
		if (next->sep == LS_JSEP_DOT && next->kind == LS_JKIND_NUMBER)
			return false;
		if (next->sep == LS_JSEP_DOT && id->dotted && next->kind == LS_JKIND_WORD)
			return false;
	}
	return true;
}

static void
mask(matching *m, int i)
{
	m->masked[i] = 1;
	if (m->row->text.atoms[i].clause < 64)
		m->clauses[m->row->text.atoms[i].clause] = 1;
}

/* The level of n atoms of a row: that of the one that a client may most freely have chosen. */
static int
level_of(const ls_jtext *t, int i, int n)
{
	int level = LS_JCLIENT_NONE;

	for (int k = i; k < i + n; k++)
		level = t->atoms[k].client > level ? t->atoms[k].client : level;
	return level;
}

/*
 * Finds an identifier; for a noun with a number `exact` tells whether both stand together.
 * `level` gets its lowest level of ls_jclient; a client's text has no identifiers but those that
 * must be absent.
 */
static int
find_ident(matching *m, const ls_jident *id, bool *exact, int *level)
{
	const ls_jtext *t = &m->row->text;
	int most = id->forbidden ? LS_JCLIENT_TEXT : LS_JCLIENT_USER;
	int found = -1;
	uint64_t last = id->atoms[id->n - 1];

	*exact = false;
	*level = LS_JCLIENT_TEXT + 1;
	if (!ls_jrow_may_hold(m->row, last) && !(id->whole && ls_jrow_may_hold(m->row, id->whole)))
		return -1;
	for (int i = 0; i < t->n; i++)
	{
		int n = 0;

		if (id->whole != 0 && (t->atoms[i].stem == id->whole || t->atoms[i].joined == id->whole) &&
			t->atoms[i].stem == id->whole && bounded(t, i, 1, id) && t->atoms[i].client <= most)
		{
			mask(m, i);
			*exact = true;
			if (t->atoms[i].client < *level)
			{
				*level = t->atoms[i].client;
				found = i;
			}
			continue;
		}
		if (t->atoms[i].stem != id->atoms[0])
			continue;
		while (n < id->n && i + n < t->n && t->atoms[i + n].stem == id->atoms[n])
			n++;
		if (n == id->n && (bounded(t, i, n, id) || (id->pair && n > 1 && i + n == t->n)) &&
			level_of(t, i, n) <= most)
		{
			for (int k = 0; k < n; k++)
				mask(m, i + k);
			*exact = true;
			if (level_of(t, i, n) < *level)
			{
				*level = level_of(t, i, n);
				found = i;
			}
			continue;
		}
	}
	if (found >= 0 || !id->pair)
		return found;
	/* The number alone, when it is one by itself. */
	for (int i = 0; i < t->n; i++)
	{
		const ls_jatom *a = &t->atoms[i];

		if (a->stem != id->atoms[id->n - 1] || (a->flags & LS_JATOM_TIME) || a->client > most ||
			a->sep == LS_JSEP_DOT || a->sep == LS_JSEP_NONE || a->sep == LS_JSEP_TIGHT)
			continue;
		if (i + 1 < t->n && t->atoms[i + 1].sep == LS_JSEP_NONE)
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

static bool
same_sign(const ls_jword *a, const ls_jterm *b)
{
	bool neg_a = a->pol == LS_JP_NEG, neg_b = b->pol == LS_JP_NEG;

	return neg_a == neg_b || (a->pol != LS_JP_POS && b->pol != LS_JP_POS);
}

/* postgres and postgresql, mysql and mysqld */
static bool
same_product(const ls_jctx *ctx, uint16_t a, uint16_t b)
{
	return strncmp(ctx->words.table[a].text, ctx->words.table[b].text, 5) == 0;
}

/* How well does an atom of the row match a word of the item: 0 .. 1? */
static float
atom_match(const ls_jctx *ctx, const ls_jterm *term, const ls_jatom *a, bool tight)
{
	const ls_jword *w = &ctx->words.table[a->word];

	if (term->stem == a->stem ||
		(term->joined && (term->joined == a->joined || term->joined == a->stem)) ||
		(a->joined && a->joined == term->stem))
		return tight && term->role == LS_JROLE_SUBJECT ? 0.6f : 1.0f;
	/* a database by its product's name or by no name, never by another's */
	if (term->concept == LS_JC_DATABASE && term->pol == LS_JP_NONE && w->pol == LS_JP_NONE &&
		term->concept == w->concept && !same_product(ctx, term->word, a->word))
		return 0;
	if (term->concept != LS_JC_NONE && term->concept == w->concept && same_sign(w, term))
		return 0.85f;
	/* what was terminated may have been killed */
	if (term->concept == LS_JC_STOP && term->pol == LS_JP_ACT && w->concept == LS_JC_CRASH &&
		term->verb)
		return 0.7f;
	if (term->role == LS_JROLE_ACTION && w->pol == LS_JP_ACT && (a->flags & LS_JATOM_ED) &&
		ls_jconcept_related((ls_jconcept) term->concept, (ls_jconcept) w->concept))
		return 0.7f;
	return 0;
}

static bool
may_hold(const ls_jrow *row, const ls_jterm *term)
{
	ls_jconcept contrary;

	if (ls_jrow_may_hold(row, term->stem) || (term->joined && ls_jrow_may_hold(row, term->joined)))
		return true;
	if (term->concept == LS_JC_NONE)
		return false;
	contrary = ls_jconcept_opposite((ls_jconcept) term->concept);
	if (ls_jrow_may_hold(row, ls_jconcept_hash(term->concept)) ||
		(contrary != LS_JC_NONE && ls_jrow_may_hold(row, ls_jconcept_hash(contrary))))
		return true;
	for (int k = 0; k < term->n_related; k++)
		if (ls_jrow_may_hold(row, ls_jconcept_hash(term->related[k])))
			return true;
	return false;
}

/* Does text of this level name the item by itself? */
static bool
names_item(const ls_jitem *item, int level)
{
	return level <= LS_JCLIENT_QUOTE || (level == LS_JCLIENT_PATH && item->request);
}

/* A word of the item's subject, or one that must be absent. */
static float
match_noun(matching *m, const ls_jterm *term, bool *affirmed, float *own)
{
	const ls_jtext *t = &m->row->text;
	float best = 0;

	*affirmed = false;
	*own = 0;
	if (!may_hold(m->row, term))
		return 0;
	for (int i = 0; i < t->n; i++)
	{
		const ls_jatom *a = &t->atoms[i];
		bool tight =
			a->sep == LS_JSEP_TIGHT || (i + 1 < t->n && t->atoms[i + 1].sep == LS_JSEP_TIGHT);
		float hit;

		/* kubelet.go is a file, not the kubelet */
		tight |= i + 1 < t->n && t->atoms[i + 1].sep == LS_JSEP_DOT &&
				 t->atoms[i + 1].kind == LS_JKIND_WORD && t->atoms[i + 1].len < 5 &&
				 !(t->atoms[i + 1].flags & LS_JATOM_CAPITAL);
		hit = atom_match(m->ctx, term, a, tight);

		if (hit <= 0 || (a->client == LS_JCLIENT_TEXT && !term->forbidden))
			continue;
		best = hit > best ? hit : best;
		if (hit > *own && names_item(m->item, a->client))
			*own = hit;
		if (!term->forbidden)
			mask(m, i);
		else if (!a->unreal && !ls_jrow_negated(m->ctx, t, i))
			*affirmed = true;
	}
	return best;
}

/* event=refunded beside event=paid is another event, and no contrary of the first. */
static bool
names_event(const ls_jtext *t, int i)
{
	static const char *const keys[] = {"event",  "type", "action",  "op",   "operation", "method",
									   "name",   "msg",  "message", "kind", "cmd",       "command",
									   "reason", "step", "stage",   "note", "detail"};
	ls_str key = ls_str_make(t->text.data + t->atoms[i].off, t->atoms[i].len);

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
		if (keys[k][0] == (key.data[0] | 0x20) &&
			ls_str_eq_nocase(key, ls_str_make(keys[k], strlen(keys[k]))))
			return true;
	return false;
}

/* Does the row give the field another value: state=returned where others have state=paid? */
static bool
other_value(const matching *m, const ls_jterm *term)
{
	static const char *const open_values[] = {"pending", "running", "queued",  "open",  "new",
											  "unknown", "null",    "none",    "retry", "waiting",
											  "started", "created", "progress"};
	const ls_jtext *t = &m->row->text;

	uint64_t key = term->key;
	/* action=COUNT where others have action=BLOCK */
	bool decision = term->concept == LS_JC_DENY || term->concept == LS_JC_ALLOW;

	if (key == 0 || !ls_jrow_may_hold(m->row, key))
		return false;
	for (int i = 0; i + 1 < t->n; i++)
	{
		const ls_jatom *value = &t->atoms[i + 1];
		ls_str text = ls_str_make(t->text.data + value->off, value->len);
		bool open_value = false;

		if (t->atoms[i].stem != key || value->sep != LS_JSEP_EQUAL ||
			value->kind != LS_JKIND_WORD || m->masked[i + 1] || value->client != LS_JCLIENT_NONE ||
			(names_event(t, i) && !decision))
			continue;
		for (size_t k = 0; k < sizeof(open_values) / sizeof(open_values[0]); k++)
			open_value |=
				ls_str_eq_nocase(text, ls_str_make(open_values[k], strlen(open_values[k])));
		return !open_value;
	}
	return false;
}

/* "was shut down at 2024-03-02 ...": tells of another time than the row's own */
static bool
told_of_past(const ls_jtext *t, int i)
{
	bool was = false;

	for (int k = i - 1; k >= 0 && k > i - 4; k--)
		was |= t->atoms[k].len == 3 && memcmp(t->text.data + t->atoms[k].off, "was", 3) == 0;
	for (int k = i + 1; was && k < t->n && k < i + 4; k++)
		if (t->atoms[k].flags & LS_JATOM_TIME)
			return true;
	return false;
}

/* An action whose beginning does not tell that it ends well. */
static bool
takes_time(const ls_jword *w)
{
	switch (w->concept)
	{
		case LS_JC_START:
		case LS_JC_CREATE:
		case LS_JC_DEPLOY:
		case LS_JC_APPLY:
		case LS_JC_BUILD:
		case LS_JC_UPDATE:
		case LS_JC_INSTALL:
		case LS_JC_RESTORE:
		case LS_JC_EXECUTE:
		case LS_JC_VERIFY:
		case LS_JC_CONNECT:
		case LS_JC_BACKUP:
		case LS_JC_FETCH:
		case LS_JC_LOAD:
			return w->pol != LS_JP_STATE;
		default:
			return false;
	}
}

/* Does a name of the item stand in the key of this value ("db":"UP"), or in the key that it is? */
static bool
keyed(const matching *m, int i)
{
	const ls_jtext *t = &m->row->text;

	if (t->atoms[i].sep == LS_JSEP_EQUAL)
		i--;
	else if (i + 1 >= t->n || t->atoms[i + 1].sep != LS_JSEP_EQUAL)
		return false;
	for (int steps = 0; i >= 0 && steps < 4; i--, steps++)
	{
		if (m->masked[i])
			return true;
		if (t->atoms[i].sep != LS_JSEP_TIGHT && t->atoms[i].sep != LS_JSEP_NONE)
			break;
	}
	return false;
}

/*
 * A verb or a state.  Where a row has both it and its contrary ("db up, mail down",
 * "open -> closed"), the clause of the subject counts, and in it the last one.
 */
static float
match_action(matching *m, const ls_jterm *term, ls_jmatch *out, float *own)
{
	const ls_jtext *t = &m->row->text;
	ls_jconcept contrary = ls_jconcept_opposite((ls_jconcept) term->concept);
	float best = 0;
	bool near = false, key = false;

	*own = 0;
	if (!may_hold(m->row, term))
		return 0;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < t->n; i++)
		{
			const ls_jatom *a = &t->atoms[i];
			const ls_jword *w = &m->ctx->words.table[a->word];
			float hit = atom_match(m->ctx, term, a, false);
			bool against = hit <= 0 && contrary != LS_JC_NONE && w->concept == contrary &&
						   (w->pol != LS_JP_WEAK);
			bool negated;

			if ((hit <= 0 && !against) || a->client == LS_JCLIENT_TEXT)
				continue;
			if (a->client != LS_JCLIENT_NONE)
			{
				/* names the item at most */
				if (pass == 0 || against)
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
			if (pass == 0)
			{
				near |= a->clause < 64 && m->clauses[a->clause];
				key |= m->row->fields && keyed(m, i);
				continue;
			}
			if (key && !keyed(m, i))
				continue;
			if (near && !m->row->fields && !(a->clause < 64 && m->clauses[a->clause]))
				continue;
			if (against && told_of_past(t, i))
				continue;
			if (a->unreal && (term->pol != LS_JP_NEG || term->concept == LS_JC_EXPIRE))
			{
				m->masked[i] |= !against;
				out->action_any |= !against;
				best = against || best > hit ? best : hit;
				*own = best;
				continue;
			}
			negated = ls_jrow_negated(m->ctx, t, i);
			if (!against && !(term->noun && w->pol == LS_JP_POS))
				m->masked[i] = 1;
			if (hit > best || best == 0)
				best = against ? 0.8f : hit;
			*own = best;
			if (negated && term->pol != LS_JP_SKIP)
				against = !against;
			m->keyed |= key;
			m->opposed = against;
			m->reversed = against && (contrary == LS_JC_CLOSE || contrary == LS_JC_OPEN ||
									  contrary == LS_JC_LOCK || contrary == LS_JC_UNLOCK);
			m->opposed_atom = i;
			if (against)
			{
				out->action = false;
				continue;
			}
			out->action_any = true;
			m->near_action |= near;
			if (m->row->command)
				continue;
			if (hit < 1 && i + 1 < t->n && i < 8 && t->atoms[i + 1].sep == LS_JSEP_OTHER &&
				t->text.data[a->off + a->len] == ':')
				continue; /* the name of a component: "auth: ..." */
			if ((a->flags & LS_JATOM_ING) && !term->ing && takes_time(w))
				continue;
			if (term->noun && !(a->flags & LS_JATOM_ED) && w->concept != LS_JC_DETECT)
				continue; /* "the upload succeeds" is not shown by "upload started" */
			if (!((a->flags & LS_JATOM_ING) && !term->ing && w->pol != LS_JP_STATE) &&
				w->pol != LS_JP_PART)
			{
				out->action = true;
				m->exact_action |= hit == 1.0f;
				m->action_clause = a->clause;
			}
			else if (w->pol != LS_JP_PART)
				out->action = true; /* a hint only */
			if (term->pol == LS_JP_NEG || w->pol == LS_JP_NEG)
				m->negative_hit = true;
		}
	return best;
}

/* A refusal or a stop may be meant; an error is not. */
static bool
on_purpose(const ls_jcue *c)
{
	return c->concept == LS_JC_DENY || c->concept == LS_JC_STOP || c->concept == LS_JC_NONE ||
		   c->concept == LS_JC_EXPIRE;
}

/* The strongest cue outside the item's words; nearest clauses first. */
static const ls_jcue *
outcome_cue(const matching *m, bool near, const ls_jcue **fail)
{
	const ls_jrow *row = m->row;
	const ls_jcue *best = NULL;

	*fail = NULL;
	for (int i = 0; i < row->n_cues; i++)
	{
		const ls_jcue *c = &row->cues[i];
		uint16_t clause = row->text.atoms[c->atom].clause;
		int rank, best_rank;

		if (m->masked[c->atom] && !(c->flags & LS_JCUE_HTTP))
			continue;
		if (m->keyed && row->text.atoms[c->atom].sep == LS_JSEP_EQUAL && !keyed(m, c->atom))
			continue; /* another field's value */
		if (near && (clause >= 64 || !m->clauses[clause] || c->strength < 2))
			continue;
		/* "db up, mail down": the other's state */
		if (m->near_action && !near && clause < 64 && !m->clauses[clause] &&
			m->ctx->words.table[row->text.atoms[c->atom].word].concept != LS_JC_NONE &&
			c->concept != LS_JC_RESULT && c->concept != LS_JC_ERROR && c->concept != LS_JC_SKIP &&
			!row->fields)
			continue;
		if (c->class == LS_JCLASS_FAIL && *fail == NULL)
			*fail = c;
		rank = c->strength * 4 + (c->class == LS_JCLASS_FAIL || c->class == LS_JCLASS_SKIP) * 2;
		if (c->flags & LS_JCUE_COUNT && c->class == LS_JCLASS_SKIP)
			continue;
		if (c->class == LS_JCLASS_CLEAN)
			rank = 1;
		best_rank = best ? best->strength * 4 +
							   (best->class == LS_JCLASS_FAIL || best->class == LS_JCLASS_SKIP) * 2
						 : -1;
		if (best && best->class == LS_JCLASS_CLEAN)
			best_rank = 1;
		/* "dropped, ignored": on purpose, unless something plainly failed */
		if (best != NULL && c->class == LS_JCLASS_SKIP && best->class == LS_JCLASS_FAIL &&
			c->strength >= 2 && best->strength <= 2 && on_purpose(best))
			rank = best_rank + 1;
		/* "created, booted, agent rejected": a later clause has its own subject */
		if (m->exact_action && !near && !row->fields && c->class == LS_JCLASS_FAIL &&
			(on_purpose(c) || c->strength < 2) && clause > m->action_clause &&
			m->action_clause != UINT16_MAX)
			continue;
		if (rank > best_rank)
			best = c;
	}
	return best;
}

/* Does the row tell of another action than the item's? */
static bool
other_action(const matching *m)
{
	const ls_jtext *t = &m->row->text;

	for (int i = 0; i < t->n; i++)
	{
		const ls_jword *w = &m->ctx->words.table[t->atoms[i].word];

		if (w->pol == LS_JP_ACT && w->strength > 0 && !m->masked[i] &&
			t->atoms[i].client == LS_JCLIENT_NONE)
			return true;
	}
	return false;
}

/* Does the row tell of anything that was done: applied, created? */
static bool
arrived(const matching *m)
{
	const ls_jtext *t = &m->row->text;

	for (int i = 0; i < t->n; i++)
	{
		const ls_jword *w = &m->ctx->words.table[t->atoms[i].word];

		if (w->pol == LS_JP_ACT && w->strength > 0 && (t->atoms[i].flags & LS_JATOM_ED) &&
			!t->atoms[i].unreal && t->atoms[i].client == LS_JCLIENT_NONE &&
			!ls_jrow_negated(m->ctx, t, i))
			return true;
	}
	return false;
}

/* "MFAUsed":"No", tls=false: a word of the item is a key that says no. */
static bool
denied_by_key(const matching *m)
{
	static const char *const words[] = {"no", "false", "disabled", "off", "never"};
	const ls_jtext *t = &m->row->text;

	for (int i = 0; i + 1 < t->n; i++)
	{
		int last = i;

		if (!m->masked[i] || t->atoms[i].kind != LS_JKIND_WORD ||
			t->atoms[i].client != LS_JCLIENT_NONE ||
			m->ctx->words.table[t->atoms[i].word].pol != LS_JP_NONE)
			continue;
		while (last + 1 < t->n && last < i + 3 &&
			   (t->atoms[last + 1].sep == LS_JSEP_TIGHT || t->atoms[last + 1].sep == LS_JSEP_NONE))
			last++;
		if (last + 1 >= t->n || t->atoms[last + 1].sep != LS_JSEP_EQUAL || m->masked[last + 1] ||
			(last + 2 < t->n && t->atoms[last + 2].sep < LS_JSEP_SPACE))
			continue;
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			if (ls_str_eq_nocase(
					ls_str_make(t->text.data + t->atoms[last + 1].off, t->atoms[last + 1].len),
					ls_str_make(words[k], strlen(words[k]))))
				return true;
	}
	return false;
}

static void
classify(matching *m, ls_jmatch *out)
{
	const ls_jitem *item = m->item;
	const ls_jrow *row = m->row;
	const ls_jcue *fail, *c = NULL;
	bool verdict;

	int status = item->http_low != 0 ? ls_jrow_status(row) : 0;

	if (status != 0)
	{
		bool hit = status >= item->http_low && status <= item->http_high;

		out->class = hit ? LS_JCLASS_PASS : LS_JCLASS_FAIL;
		out->strength = 3;
		return;
	}
	if (!row->fields)
		c = outcome_cue(m, true, &fail);
	if (c == NULL || (c->class == LS_JCLASS_FAIL && on_purpose(c)))
		c = outcome_cue(m, false, &fail);
	verdict =
		c != NULL && (c->flags & LS_JCUE_VERDICT) && !(c->flags & LS_JCUE_HTTP) && c->strength >= 3;
	out->report = verdict && !row->fields && !item->at_end && c->atom < 2 &&
				  (c->concept == LS_JC_RESULT || c->concept == LS_JC_SKIP);

	if (item->wants_skip)
	{
		bool skip = out->action || (c != NULL && c->class == LS_JCLASS_SKIP);

		if (skip)
		{
			out->class = LS_JCLASS_PASS;
			out->strength = 2;
			return;
		}
	}
	if (m->mismatch && !(c != NULL && c->class == LS_JCLASS_SKIP))
	{
		out->class = LS_JCLASS_FAIL;
		out->strength = 3;
		return;
	}
	if (item->negative)
	{
		/* A test that is named after a failure still has its own verdict. */
		if (verdict && c->class != LS_JCLASS_CLEAN &&
			(m->negative_hit || c->concept == LS_JC_RESULT) && c->class != LS_JCLASS_FAIL)
		{
			out->class = m->negative_hit || c->class == LS_JCLASS_SKIP ? (ls_jclass) c->class
																	   : LS_JCLASS_FAIL;
			out->strength = c->strength;
			return;
		}
		if (verdict && c->class == LS_JCLASS_FAIL && m->negative_hit &&
			c->concept == LS_JC_RESULT && !row->fields)
		{
			out->class = LS_JCLASS_FAIL;
			out->strength = c->strength;
			return;
		}
		if (m->negative_hit || (fail != NULL && !(fail->flags & LS_JCUE_LEVEL)))
		{
			out->class = LS_JCLASS_PASS;
			out->strength = 2;
			return;
		}
		if (m->opposed || (c != NULL && c->class == LS_JCLASS_PASS))
		{
			out->class = LS_JCLASS_FAIL;
			out->strength = 2;
			return;
		}
		if (c != NULL && c->class == LS_JCLASS_SKIP)
		{
			out->class = LS_JCLASS_SKIP;
			out->strength = c->strength;
		}
		return;
	}
	if (row->fields && item->has_name && denied_by_key(m))
	{
		out->class = LS_JCLASS_FAIL;
		out->strength = 2;
		return;
	}
	if (m->opposed && !(c != NULL && c->class == LS_JCLASS_SKIP && c->strength >= 2) &&
		!(verdict && c->class == LS_JCLASS_PASS))
	{
		out->class = LS_JCLASS_FAIL;
		out->strength = m->reversed && !item->at_end ? 1 : 2;
		out->anchor = (uint16_t) m->opposed_atom;
		return;
	}
	if (c != NULL && c->class != LS_JCLASS_CLEAN &&
		!(c->class == LS_JCLASS_FAIL && item->presence && c->strength < 3))
	{
		/* A success word of a part is not the success of the action that the item names. */
		if (item->has_action && !out->action_any && item->n_idents == 0 && !m->named &&
			c->class == LS_JCLASS_FAIL)
			return;
		out->class = (ls_jclass) c->class;
		out->strength = c->strength;
		if (c->class == LS_JCLASS_PASS && item->has_action && !out->action_any &&
			out->strength > 1 && !verdict)
			out->strength = 1;
		/* ... nor is its failure, when another action is what failed. */
		if (item->has_action && !out->action_any && other_action(m))
		{
			if (c->class == LS_JCLASS_PASS)
				out->class = LS_JCLASS_NONE;
			else if (c->class == LS_JCLASS_FAIL && !verdict)
				out->strength = 1;
		}
		return;
	}
	if (out->action)
	{
		out->class = LS_JCLASS_PASS;
		out->strength = m->exact_action ? 2 : 1;
	}
	else if (!item->has_action && item->cond.op == LS_JOP_NONE && !item->absent &&
			 (arrived(m) || (item->has_outcome && c != NULL && !item->all)))
	{
		/* only a name: what was done to it, or that nothing went wrong */
		out->class = LS_JCLASS_PASS;
		out->strength = 1;
	}
	else if (item->presence || (!item->has_action && !item->has_outcome && c != NULL))
	{
		out->class = LS_JCLASS_PASS;
		out->strength = 1;
	}
}

bool
ls_jmatch_ident(const ls_jctx *ctx, const ls_jident *id, const ls_jrow *row)
{
	matching m;
	bool exact;
	int level;

	m.ctx = ctx;
	m.row = row;
	return find_ident(&m, id, &exact, &level) >= 0;
}

/* Beside its identifier the item has a topic that no row knows: "stapling is enabled on edge-1". */
static bool
other_topic(const ls_jitem *item)
{
	int names = 0;

	for (int k = 0; k < item->n_terms; k++)
	{
		const ls_jterm *term = &item->terms[k];

		if (term->unheld && term->ident < 0 && term->role == LS_JROLE_SUBJECT && !term->forbidden &&
			term->weight >= 3 && !term->past)
			names += term->object ? 2 : 1;
	}
	return names >= 2;
}

static bool
is_clients(const ls_jtext *t, size_t at)
{
	for (int i = 0; i < t->n; i++)
		if (t->atoms[i].off == at)
			return t->atoms[i].client != LS_JCLIENT_NONE;
	return true; /* not read */
}

/* Where the item says how many there are, a row that counts them says whether it is all of them. */
static void
weigh_fraction(const ls_jitem *item, const ls_jrow *row, ls_jmatch *out)
{
	size_t at = 0, from;
	uint32_t part, whole;

	if (out->class == LS_JCLASS_FAIL || out->class == LS_JCLASS_SKIP)
		return; /* "0/3 failed" speaks of the others */
	while (ls_jnumber_fraction(row->text.text, &at, &from, &part, &whole))
		if (whole == item->whole && part <= whole && !is_clients(&row->text, from))
		{
			out->fraction = true;
			out->class = part == whole ? LS_JCLASS_PASS : LS_JCLASS_FAIL;
			out->strength = out->strength > 2 ? out->strength : 2;
			return;
		}
}

void
ls_jmatch_row(const ls_jctx *ctx, const ls_jitem *item, const ls_jrow *row, ls_jmatch *out)
{
	matching m;
	int names = 0;
	bool denied = false, mailbox = false;
	float sum = 0, bad = 0, bad_total = 0;
	float own = 0; /* of sum, what no client chose */
	bool ident_hit[LS_JITEM_IDENTS] = {false}, ident_exact[LS_JITEM_IDENTS] = {false};
	bool ident_own[LS_JITEM_IDENTS] = {false};

	memset(out, 0, sizeof(*out));
	if (row->hostile || row->text.n == 0)
		return;
	m.ctx = ctx;
	m.item = item;
	m.row = row;
	memset(m.masked, 0, (size_t) row->text.n);
	memset(m.clauses, 0, sizeof(m.clauses));
	m.negative_hit = m.opposed = m.exact_action = m.mismatch = m.near_action = m.reversed =
		m.named = m.keyed = false;
	m.opposed_atom = 0;
	m.action_clause = UINT16_MAX;
	out->idents = true;
	out->exact_pair = true;
	for (int k = 0; k < item->n_idents; k++)
	{
		int level;
		int at = find_ident(&m, &item->idents[k], &ident_exact[k], &level);

		ident_hit[k] = at >= 0;
		mailbox |= at >= 0 && item->idents[k].mailbox;
		ident_own[k] = at >= 0 && (names_item(item, level) ||
								   (level == LS_JCLIENT_PATH && item->idents[k].path));
		names += at < 0 && !item->idents[k].pair && !item->idents[k].forbidden;
		if (item->idents[k].forbidden)
		{
			out->forbidden |= at >= 0;
			continue;
		}
		if (at < 0)
			out->idents = false;
		else
		{
			out->anchor = (uint16_t) at;
			out->some_ident = true;
		}
		if (!ident_exact[k])
			out->exact_pair = false;
	}
	for (int k = 0; k < item->n_terms; k++)
	{
		const ls_jterm *term = &item->terms[k];

		if (term->ident >= 0 && !term->forbidden && ident_hit[term->ident])
		{
			float hit = term->weight * (ident_exact[term->ident] ? 1.0f : 0.7f);

			sum += hit;
			own += ident_own[term->ident] ? hit : 0;
		}
		else if (term->ident < 0 && (term->role == LS_JROLE_SUBJECT || term->forbidden))
		{
			bool affirmed;
			float named;
			float hit = match_noun(&m, term, &affirmed, &named);

			if (!term->forbidden)
			{
				sum += term->weight * hit;
				own += term->weight * named;
				m.named |= hit > 0 && term->weight >= 1.2f;
				out->tight |= hit == 0.6f;
			}
			else
			{
				bad_total += term->weight;
				bad += affirmed ? term->weight : 0;
				denied |= hit > 0 && !affirmed;
			}
		}
	}
	for (int k = 0; k < item->n_terms; k++)
	{
		const ls_jterm *term = &item->terms[k];

		if (term->ident < 0 && term->role == LS_JROLE_ACTION && !term->forbidden)
		{
			float named;
			float hit = match_action(&m, term, out, &named);

			if (hit == 0 && other_value(&m, term))
			{
				m.mismatch = true;
				hit = named = 0.8f;
			}
			sum += term->weight * hit;
			own += term->weight * named;
		}
	}
	if (bad_total > 0 && bad >= 0.6f * bad_total && !denied)
		out->forbidden = true;
	out->denied = denied;
	/* A status code may be the forbidden refusal. */
	for (int k = 0; k < item->n_terms && row->http >= 400; k++)
		if (item->terms[k].forbidden && item->terms[k].pol == LS_JP_NEG &&
			item->terms[k].concept ==
				(row->http == 401 || row->http == 403 ? LS_JC_DENY : LS_JC_ERROR))
			out->forbidden = true;
	out->named = m.named;
	out->names = names == 0 && out->some_ident;
	out->relevance = item->total > 0 ? sum / item->total : 0;
	/* What the second part of an order names is no outcome either. */
	for (int k = 0; item->other != NULL && k < item->other->n_terms; k++)
		for (int i = 0; i < row->text.n; i++)
			if (row->text.atoms[i].stem == item->other->terms[k].stem)
				m.masked[i] = 1;
	/* The very thing is named, in whatever words. */
	if (item->n_idents > 0 && out->some_ident && out->idents && out->exact_pair &&
		out->relevance < 0.56f && !other_topic(item) &&
		(m.named || out->action_any || m.opposed || !item->has_topic))
		out->relevance = 0.56f;
	classify(&m, out);
	if (item->whole > 0 && !item->absent && !item->negative)
		weigh_fraction(item, row, out);
	/* All of the item is there and nothing speaks against it. */
	if (out->class == LS_JCLASS_NONE && out->relevance >= 0.9f && !out->action_any &&
		item->n_terms > 1 && item->has_action)
	{
		out->class = LS_JCLASS_PASS;
		out->strength = 1;
	}
	/* Only what a client chose names the item. */
	if (sum > 0 && own < OWN && !(mailbox && out->class == LS_JCLASS_FAIL))
	{
		bool forbidden = out->forbidden;
		float relevance = out->relevance;

		memset(out, 0, sizeof(*out));
		out->forbidden = forbidden;
		out->relevance = forbidden ? relevance : 0;
	}
}
