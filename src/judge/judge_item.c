/*-------------------------------------------------------------------------
 *
 * judge_item.c
 *	  What an item asks, for the built-in evaluator (pure).
 *
 * A description becomes terms (words with a weight and a role), identifiers that must match
 * exactly, and at most one condition of each kind: a threshold, something that must be absent,
 * an order of two events.  This is no grammar of English: it looks for the few words that turn
 * a sentence's meaning and takes all others as its subject.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

/* Verbs after which a status code may stand. */
#define REPLIES "answered answers responded responds replied replies returned returns got gave"

typedef struct parse
{
	ls_judge_ctx *ctx;
	const ls_judge_text *t;
	bool used[LS_JUDGE_ROW_ATOMS]; /* consumed by a condition or without meaning */
	int cond_end;                  /* the last atom of the threshold's number */
} parse;

static bool
is(const parse *p, int i, const char *word)
{
	return ls_judge_is(ls_judge_atom_text(p->t, i), word);
}

static bool
is_any(const parse *p, int i, const char *words)
{
	return ls_judge_is_one_of(ls_judge_atom_text(p->t, i), words);
}

static const ls_judge_word *
word_of(const parse *p, int i)
{
	return &p->ctx->words.table[p->t->atoms[i].word];
}

/* Stands one of these phrases, which commas separate, at i?  Returns how many atoms it has, or 0. */
static int
phrase(const parse *p, int i, int end, const char *phrases)
{
	for (bool stands;;)
	{
		int n = 0;

		for (stands = true; *phrases != '\0' && *phrases != ','; n++)
		{
			size_t len = strcspn(phrases, " ,");

			stands = stands && i + n < end &&
					 ls_str_eq_nocase(ls_judge_atom_text(p->t, i + n), ls_str_make(phrases, len));
			phrases += len;
			phrases += *phrases == ' ';
		}
		if (stands || *phrases == '\0')
			return stands ? n : 0;
		phrases++;
	}
}

/* The number that words tell; `n` gets how many: "two", "a thousand", "a dozen". */
static bool
number_word(const parse *p, int i, double *value, int *n)
{
	static const struct
	{
		const char *name;
		double value;
	} names[] = {{"million", 1e6}, {"thousand", 1000}, {"hundred", 100}, {"dozen", 12}, {"a", 1},
				 {"an", 1},        {"one", 1},         {"two", 2},       {"three", 3},  {"four", 4},
				 {"five", 5},      {"six", 6},         {"seven", 7},     {"eight", 8},  {"nine", 9},
				 {"ten", 10},      {"twice", 2},       {"once", 1},      {"half", 0.5}, {"zero", 0},
				 {"twelve", 12},   {"twenty", 20}};

	*n = 0;
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]) && *n == 0; k++)
		if (is(p, i, names[k].name))
		{
			*value = names[k].value;
			*n = 1;
		}
	for (size_t k = 0; k < 4 && *n == 1; k++)
		if (is(p, i + 1, names[k].name))
		{
			*value *= names[k].value;
			*n = 2;
		}
	return *n > 0;
}

static const struct
{
	ls_judge_op op;
	const char *phrases;
} comparisons[] = {
	{LS_OP_LE, "no more than,not more than,no longer than,not longer than,"
			   "no later than,no higher than,at most,up to,not exceed,never exceed,"
			   "never exceeds,within,maximum of,limit of,budget of,quota of,max"},
	{LS_OP_GE, "no fewer than,no less than,not less than,at least,at minimum,"
			   "reaches,reach,reached,minimum of"},
	{LS_OP_LT, "less than,fewer than,shorter than,lower than,smaller than,"
			   "faster than,quicker than,under,below"},
	{LS_OP_GT, "more than,greater than,higher than,longer than,larger than,"
			   "slower than,bigger than,above,over,exceeds,exceed,exceeded"},
	{LS_OP_EQ, "exactly"},
};

/* "at most", "under", "deeper than" at atom `i`: how many atoms; 0: no comparison. */
static int
comparison_at(const parse *p, int i, int end, ls_judge_op *op, bool *keep)
{
	const ls_judge_atom *a = &p->t->atoms[i];
	int n;

	for (size_t k = 0; k < sizeof(comparisons) / sizeof(comparisons[0]); k++)
		if ((n = phrase(p, i, end, comparisons[k].phrases)) > 0)
		{
			*op = comparisons[k].op;
			return n;
		}
	if (i + 1 >= end || !is(p, i + 1, "than") || a->len <= 4 ||
		memcmp(p->t->text.data + a->off + a->len - 2, "er", 2) != 0)
		return 0;
	*op = LS_OP_GT;
	*keep = true; /* what is deep is a word of the item */
	return 2;
}

/* < <= > >= before the number at atom `i` */
static ls_judge_op
sign_before(const parse *p, int i)
{
	const char *s = p->t->text.data;
	size_t off = p->t->atoms[i].off;

	if (p->t->atoms[i].kind != LS_ATOM_NUMBER || off < 2)
		return LS_OP_NONE;
	off--;
	while (off > 0 && s[off] == ' ')
		off--;
	if (s[off] == '=' && off > 0 && (s[off - 1] == '<' || s[off - 1] == '>'))
		return s[off - 1] == '<' ? LS_OP_LE : LS_OP_GE;
	return s[off] == '<' ? LS_OP_LT : s[off] == '>' ? LS_OP_GT : LS_OP_NONE;
}

/* The value of a limit at atom *at, which moves to the last atom of the number. */
static bool
limit_at(parse *p, int *at, int end, double *value, ls_judge_dim *dim)
{
	double factor;
	int words;

	if (ls_judge_number_value(p->t, *at, value, dim))
		return true;
	if (!number_word(p, *at, value, &words))
		return false;
	for (int k = 1; k < words; k++)
		p->used[(*at)++] = true;
	if (*at + 1 < end && ls_judge_number_unit(ls_judge_atom_text(p->t, *at + 1), &factor, dim))
		*value *= factor;
	return true;
}

/* "at most 3", "under 200 ms", "no more than two", "> 5" */
static void
find_threshold(parse *p, int begin, int end, ls_judge_item *item)
{
	for (int i = begin; i < end; i++)
	{
		ls_judge_cond *cond = &item->cond;
		ls_judge_op op = LS_OP_NONE;
		ls_judge_dim dim = LS_DIM_NONE;
		double value;
		bool keep = false;
		int at = i + comparison_at(p, i, end, &op, &keep);

		if (op == LS_OP_NONE)
			op = sign_before(p, i);
		if (op == LS_OP_NONE || at >= end || !limit_at(p, &at, end, &value, &dim))
			continue;
		*cond = (ls_judge_cond){op, value, dim};
		p->cond_end = at;
		for (int k = i + keep; k <= at; k++)
			p->used[k] = true;
		if (dim != LS_DIM_NONE && dim != LS_DIM_PERCENT && at + 1 < end)
			p->used[at + 1] = true;
		item->any |=
			op == LS_OP_GE && dim == LS_DIM_NONE && value == 1; /* that it happened at all */
		return;
	}
}

static ls_judge_term *
add_term(parse *p, ls_judge_item *item, int i, ls_judge_role role, float weight)
{
	const ls_judge_atom *a = &p->t->atoms[i];
	const ls_judge_word *w = word_of(p, i);
	ls_judge_term *term;

	if (item->n_terms >= LS_ITEM_TERMS)
		return NULL;
	term = &item->terms[item->n_terms++];
	term->stem = a->stem;
	term->joined = a->joined;
	term->word = a->word;
	term->concept = w->concept;
	term->pol = w->pol;
	term->role = (uint8_t) role;
	term->kind = a->kind;
	term->weight = weight;
	term->ing = (a->flags & LS_ATOM_ING) != 0;
	term->past = (a->flags & LS_ATOM_ED) != 0;
	term->ident = -1;
	term->stem_list = term->joined_list = term->concept_list = -1;
	return term;
}

static bool
is_status_number(const parse *p, int i, int begin)
{
	const ls_judge_atom *a = &p->t->atoms[i];
	char first = p->t->text.data[a->off];

	if (a->len != 3 || first < '1' || first > '5' || i <= begin)
		return false;
	return is_any(p, i - 1,
				  "status code http answer return respond reply with a an is was " REPLIES);
}

/* Is it after the verb of a sentence with "every"? */
static bool
is_predicate(const parse *p, int at)
{
	bool every = false;
	bool verb = false;

	for (int i = 0; i < at; i++)
	{
		const ls_judge_word *w = word_of(p, i);

		every |= w->pol == LS_POL_ALL;
		verb |= every && (w->pol == LS_POL_ACT || w->pol == LS_POL_STATE ||
						  is_any(p, i, "is are has have uses use shows"));
	}
	return verb;
}

/* An identifier of n atoms: one term that weighs much, the others only mask cues. */
static void
add_identifier(parse *p, ls_judge_item *item, int i, int n, bool pair, bool forbidden)
{
	const ls_judge_text *t = p->t;
	bool fits = item->n_idents < LS_ITEM_IDENTS && n <= LS_IDENT_ATOMS;
	ls_judge_ident *id = &item->idents[fits ? item->n_idents : 0];
	char whole[48];
	size_t len = 0;

	item->has_name = true;
	for (int k = 0; k < n; k++)
	{
		const ls_judge_atom *a = &t->atoms[i + k];
		ls_judge_term *term = add_term(p, item, i + k, LS_TERM_SUBJECT, k == n - 1 ? 3.0f : 0.0f);

		p->used[i + k] = true;
		if (term != NULL)
		{
			term->ident = (int8_t) (fits ? item->n_idents : -1);
			term->concept = LS_CONCEPT_NONE;
			term->pol = LS_POL_NONE;
			term->forbidden = forbidden;
		}
		if (!fits)
			continue;
		id->atoms[id->n++] = a->stem;
		id->dotted |= k > 0 && a->sep == LS_SEP_DOT && a->kind == LS_ATOM_WORD &&
					  !(a->flags & LS_ATOM_CAPITAL);
		id->mailbox |= k > 0 && t->text.data[a->off - 1] == '@';
		for (int c = 0; c < a->len && len < sizeof(whole); c++, len++)
		{
			char letter = t->text.data[a->off + (uint32_t) c];

			whole[len] = (char) (letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
		}
	}
	if (!fits)
		return;
	id->pair = pair;
	id->forbidden = forbidden;
	id->path = t->atoms[i].off > 0 && t->text.data[t->atoms[i].off - 1] == '/';
	if (n > 1 && len < sizeof(whole))
		id->whole = ls_judge_stem(whole, len); /* when written as one word */
	item->n_idents++;
}

/* GET, POST: a row of another method is about something else. */
static bool
is_method(const parse *p, int i)
{
	return (p->t->atoms[i].flags & LS_ATOM_UPPER) && ls_judge_in(p->ctx, p->t, i, LS_SET_METHOD);
}

/* "every node is on version 5": the number, and the noun before it; each row must have them. */
static void
keep_value(const parse *p, ls_judge_item *item, int i, int begin, int end)
{
	const ls_judge_atom *noun = i > begin ? &p->t->atoms[i - 1] : NULL;

	if (item->n_value > 0)
		return;
	while (i + item->n_value < end && item->n_value < LS_IDENT_ATOMS &&
		   (item->n_value == 0 || p->t->atoms[i + item->n_value].sep == LS_SEP_DOT))
	{
		item->value[item->n_value] = p->t->atoms[i + item->n_value].stem;
		item->n_value++;
	}
	if (noun != NULL && noun->kind == LS_ATOM_WORD && word_of(p, i - 1)->pol != LS_POL_STOP)
		item->value_noun = noun->stem;
}

static void
find_identifiers(parse *p, int begin, int end, ls_judge_item *item, int neg_from, int neg_to)
{
	for (int i = begin; i < end; i++)
	{
		const ls_judge_atom *a = &p->t->atoms[i];
		const char *s = p->t->text.data + a->off;
		bool forbidden = i >= neg_from && i < neg_to;
		int n = 1;

		if (p->used[i])
			continue;
		if (a->kind == LS_ATOM_NUMBER && is_predicate(p, i))
		{
			keep_value(p, item, i, begin, end);
			continue;
		}
		while (i + n < end && n < LS_IDENT_ATOMS && !p->used[i + n] &&
			   p->t->atoms[i + n].sep >= LS_SEP_NONE && p->t->atoms[i + n].sep <= LS_SEP_AT)
			n++;
		if (a->len == 3 && a->kind == LS_ATOM_MIXED && (s[1] | 0x20) == 'x' && (s[2] | 0x20) == 'x')
		{
			item->http_low = (s[0] - '0') * 100;
			item->http_high = item->http_low + 99;
			p->used[i] = true;
		}
		else if (n > 1)
		{
			if (!is(p, i, "i")) /* "i-th" */
				add_identifier(p, item, i, n, false, forbidden);
			i += n - 1;
		}
		else if (a->kind == LS_ATOM_SYMBOL || a->kind == LS_ATOM_MIXED || is_method(p, i) ||
				 (a->off > 0 && s[-1] == '/'))
			add_identifier(p, item, i, 1, false, forbidden);
		else if (a->kind == LS_ATOM_NUMBER && is_status_number(p, i, begin))
		{
			item->http_low = (s[0] - '0') * 100 + (s[1] - '0') * 10 + (s[2] - '0');
			item->http_high = item->http_low;
			p->used[i] = true;
		}
		else if (a->kind == LS_ATOM_NUMBER)
		{
			/* "order 7": the noun names it too */
			int noun = i > begin && !p->used[i - 1] && p->t->atoms[i - 1].kind == LS_ATOM_WORD &&
					   a->sep == LS_SEP_SPACE && word_of(p, i - 1)->pol != LS_POL_STOP &&
					   word_of(p, i - 1)->pol != LS_POL_NOT && word_of(p, i - 1)->pol != LS_POL_ALL;

			add_identifier(p, item, i - noun, 1 + noun, true, false);
		}
	}
}

static bool
is_preposition(const parse *p, int i)
{
	return is_any(p, i, "from in by on of for during at to");
}

/* Where does the negated part begin and end?  False when nothing is negated. */
static bool
find_negation(parse *p, int begin, int end, ls_judge_item *item, int *from, int *to)
{
	for (int i = begin; i < end; i++)
	{
		bool no, not_, free_of, cut;

		/* "no-token" is a name */
		if (p->used[i] || (i + 1 < end && p->t->atoms[i + 1].sep == LS_SEP_TIGHT &&
						   p->t->atoms[i].kind == LS_ATOM_WORD))
			continue;
		no = is_any(p, i, "no zero none without neither 0") || (is(p, i, "nothing") && i == begin);
		not_ = word_of(p, i)->pol == LS_POL_NOT && !no && !is_any(p, i, "nothing nobody");
		free_of = phrase(p, i, end, "free of,free from,instead of") > 0;
		cut = no && !free_of && p->t->atoms[i].kind == LS_ATOM_WORD;
		if (!free_of && !cut && !not_)
			continue;
		p->used[i] = true;
		if (free_of)
			p->used[i + 1] = true;
		*from = i + 1 + free_of;
		*to = end;
		for (int k = i + 2; k < end && cut; k++)
			if (is_preposition(p, k) && word_of(p, k)->pol == LS_POL_STOP)
			{
				*to = k;
				break;
			}
		return true;
	}
	return false;
}

static ls_judge_item *parse_range(parse *p, int begin, int end, int depth);

/* "A before B", "A after B", "A, then B" */
static void
find_order(parse *p, int begin, int end, ls_judge_item *item, int depth, int *new_end)
{
	for (int i = begin + 1; i + 1 < end; i++)
	{
		bool before = is(p, i, "before") || (is(p, i, "then") && i > begin + 1) ||
					  phrase(p, i, end, "prior to,followed by");
		bool after = is_any(p, i, "after once following");
		int next = i + 1 + (is(p, i, "prior") || is(p, i, "followed"));

		if ((!before && !after) || p->used[i] || depth > 0)
			continue;
		if (next >= end || p->t->atoms[next].kind == LS_ATOM_NUMBER)
			continue; /* after 5 s */
		item->other = parse_range(p, next, end, depth + 1);
		if (item->other != NULL && item->other->n_terms == 0)
			item->other = NULL;
		item->after = after;
		if (item->other != NULL)
			*new_end = i;
		return;
	}
}

/* Verbs that say little: run, execute, carry out, find. */
static bool
is_light(const parse *p, int i)
{
	return word_of(p, i)->concept == LS_CONCEPT_EXECUTE || is_any(p, i, "run runs found finds");
}

/*
 * What the word at atom `i` is in the item, and how much it weighs; false when it is no term.
 * `aux`: an auxiliary stands before it.
 */
static bool
weigh_word(const parse *p, int begin, int end, int i, ls_judge_item *item, bool forbidden, bool aux,
		   ls_judge_role *role, float *weight)
{
	static const struct
	{
		ls_judge_role role;
		float weight; /* 0: no term */
	} kinds[] = {
		[LS_POL_NONE] = {LS_TERM_SUBJECT, 2.0f}, [LS_POL_WEAK] = {LS_TERM_SUBJECT, 0.5f},
		[LS_POL_KEY] = {LS_TERM_SUBJECT, 0.5f},  [LS_POL_POS] = {LS_TERM_ACTION, 1.2f},
		[LS_POL_NEG] = {LS_TERM_ACTION, 1.2f},   [LS_POL_SKIP] = {LS_TERM_ACTION, 0.8f},
		[LS_POL_ACT] = {LS_TERM_ACTION, 1.2f},   [LS_POL_STATE] = {LS_TERM_ACTION, 1.2f},
		[LS_POL_PART] = {LS_TERM_ACTION, 1.2f},
	};
	const ls_judge_atom *a = &p->t->atoms[i];
	const ls_judge_word *w = word_of(p, i);
	bool result = w->concept == LS_CONCEPT_RESULT;

	item->all |= w->pol == LS_POL_ALL;
	item->any |= w->pol == LS_POL_ANY;
	item->wants_skip |= w->pol == LS_POL_SKIP && !forbidden;
	*role = kinds[w->pol].role;
	*weight = kinds[w->pol].weight;
	if (w->pol == LS_POL_POS && (result || w->concept == LS_CONCEPT_COMPLETE))
	{
		*role = LS_TERM_OUTCOME;
		*weight = 0;
		item->has_outcome = true;
		return true;
	}
	if (w->pol >= LS_POL_ACT && w->pol <= LS_POL_PART && is_light(p, i))
		*weight = 0.4f;
	if (w->pol != LS_POL_NONE)
		return *weight > 0;
	if (w->concept != LS_CONCEPT_NONE)
		*weight = 1.2f;
	else if (a->kind == LS_ATOM_NUMBER ||
			 (aux && a->kind == LS_ATOM_WORD && !(a->flags & LS_ATOM_UPPER)))
	{
		*role = LS_TERM_ACTION;
		*weight = 1.6f;
	}
	return true;
}

/* Marks a term that stands after a preposition or a common noun. */
static void
mark_object(const parse *p, int begin, int i, const ls_judge_item *item, ls_judge_term *term)
{
	for (int k = i - 1; k >= begin && k > i - 4 && !term->past; k--)
	{
		ls_judge_polarity before = word_of(p, k)->pol;
		bool preposition = is_preposition(p, k) && !is(p, k, "at");

		term->scope |=
			preposition && (i > p->cond_end || !is(p, k, "of")) && item->cond.op != LS_OP_NONE;
		term->object |= before == LS_POL_WEAK || preposition;
		if ((before != LS_POL_STOP && before != LS_POL_ALL) || term->object)
			break;
	}
}

static void
add_words(parse *p, int begin, int end, ls_judge_item *item, int neg_from, int neg_to)
{
	static const char auxiliaries[] = "is are was were be been gets successfully not";

	for (int i = begin; i < end; i++)
	{
		const ls_judge_word *w = word_of(p, i);
		bool forbidden = i >= neg_from && i < neg_to;
		bool aux = i > begin && is_any(p, i - 1, auxiliaries);
		ls_judge_role role;
		float weight;
		ls_judge_term *term;

		if (p->used[i])
			continue;
		/* "the flag is off" */
		if (aux && is_any(p, i, "on off"))
		{
			if ((term = add_term(p, item, i, LS_TERM_ACTION, 1.2f)) == NULL)
				return;
			term->concept = is(p, i, "on") ? LS_CONCEPT_ENABLE : LS_CONCEPT_DISABLE;
			term->pol = LS_POL_STATE;
			continue;
		}
		if (!weigh_word(p, begin, end, i, item, forbidden, aux, &role, &weight))
			continue;
		if ((term = add_term(p, item, i, role, weight)) == NULL)
			return;
		term->forbidden = forbidden;
		mark_object(p, begin, i, item, term);
		term->place = item->absent && !forbidden && w->pol == LS_POL_WEAK;
		if (role == LS_TERM_ACTION && !forbidden)
		{
			item->has_action = true;
			item->negative |= w->pol == LS_POL_NEG;
		}
		item->has_name |= role == LS_TERM_SUBJECT && weight >= 1.2f && !forbidden;
	}
}

/* Of what must be absent, the nouns that only say where belong to the subject. */
static void
settle_absence(ls_judge_item *item)
{
	bool bad = false, action = false, other = false;

	for (int k = 0; k < item->n_terms; k++)
		if (item->terms[k].forbidden && item->terms[k].role != LS_TERM_SUBJECT)
		{
			action = true;
			bad |= item->terms[k].pol == LS_POL_NEG;
		}
	item->has_name = false;
	for (int k = 0; k < item->n_terms; k++)
		item->has_name |= !item->terms[k].forbidden && item->terms[k].weight >= 1.2f;
	for (int k = 0; k < item->n_terms; k++)
	{
		ls_judge_term *term = &item->terms[k];
		bool neg = term->pol == LS_POL_NEG;

		/* "no failed logins": failures of logins; "no pod restarts": restarts of pods */
		if (term->forbidden && (bad ? !neg : action && term->role == LS_TERM_SUBJECT))
		{
			term->forbidden = false;
			if (term->ident >= 0)
				item->idents[term->ident].forbidden = false;
		}
		if (!term->forbidden)
		{
			item->has_name |= term->role == LS_TERM_SUBJECT && term->weight >= 1.2f;
			continue;
		}
		if (!(neg && (term->concept == LS_CONCEPT_ERROR || term->concept == LS_CONCEPT_RESULT)))
			other = true;
	}
	item->errors = bad && !other;
}

/* "3 of 3 replicas", "3/3": how many there are, when all are asked for. */
static long
find_whole(parse *p, int begin, int end)
{
	const ls_judge_text *t = p->t;
	long part, whole;

	for (int i = begin; i < end; i++)
	{
		int n = ls_judge_number_fraction(t, i, &part, &whole);

		if (n == 0 || i + n > end || part != whole)
			continue;
		p->used[i] = p->used[i + n - 1] = true; /* its numbers name nothing */
		return whole;
	}
	return 0;
}

/* "in the end", "first attempt", "was seen": what does not name the item but says how it is meant. */
static void
find_manner(parse *p, int begin, int end, ls_judge_item *item)
{
	for (int i = begin; i < end; i++)
	{
		int n = phrase(p, i, end, "at the end,in the end,eventually,finally,final,by the end");

		item->at_end |= n > 0;
		if (n == 0 && (n = phrase(p, i, end, "first attempt,first try")) > 0)
			item->first = true;
		for (int k = 0; k < n; k++)
			p->used[i + k] = true;
	}
}

/* What must be absent, atoms *from to *to, and the limits that a negation turns round. */
static void
find_absence(parse *p, int begin, int end, ls_judge_item *item, int *from, int *to)
{
	/* "no request takes longer than 1 s": every one takes at most that */
	static const ls_judge_op contrary[] = {LS_OP_NONE, LS_OP_GE, LS_OP_GT,
										   LS_OP_LE,   LS_OP_LT, LS_OP_EQ};

	*from = *to = 0;
	item->absent = find_negation(p, begin, end, item, from, to);
	if (item->absent && item->cond.op != LS_OP_NONE)
	{
		item->cond.op = contrary[item->cond.op];
		item->absent = false;
		item->all = true;
		*from = *to = 0;
	}
}

static ls_judge_item *
parse_range(parse *p, int begin, int end, int depth)
{
	ls_judge_item *item = ls_new(p->ctx->arena, ls_judge_item);
	int neg_from, neg_to, new_end = end;

	if (item == NULL)
		return NULL;
	item->next = p->ctx->items;
	p->ctx->items = item;
	/* "Verify that ...", "Check whether ..." */
	for (int i = begin; i < end && i < begin + 4; i++)
		if (is_any(p, i, "that whether if"))
		{
			begin = i + 1;
			break;
		}
	find_manner(p, begin, end, item);
	find_order(p, begin, end, item, depth, &new_end);
	end = new_end;
	item->whole = find_whole(p, begin, end);
	find_threshold(p, begin, end, item);
	for (int i = begin + 1; depth == 0 && i + 1 < end; i++)
		if (is(p, i, "without") && !p->used[i])
		{
			item->without = parse_range(p, i, end, depth + 1);
			end = i;
			break;
		}
	if (item->other != NULL)
		item->any = true; /* that it happened; when, is asked below */
	find_absence(p, begin, end, item, &neg_from, &neg_to);
	find_identifiers(p, begin, end, item, neg_from, neg_to);
	add_words(p, begin, end, item, neg_from, neg_to);
	if (item->absent)
		settle_absence(item);
	for (int k = 0; k < item->n_terms; k++)
		if (!item->terms[k].forbidden)
			item->total += item->terms[k].weight;
	for (int k = 0; k < item->n_idents; k++)
		item->n_required += !item->idents[k].forbidden;
	return item;
}

/*
 * "No errors occurred and the migration completed": an absence in the log as a whole and a
 * statement, each an item of its own.  Otherwise the absence would be all that is asked.  False
 * when out of memory.
 */
static bool
find_conjunction(parse *p, int end, ls_judge_item *item)
{
	parse absence = {.ctx = p->ctx, .t = p->t}, statement = absence;
	int i = is(p, 0, "there") ? 2 : 0, at = i;

	if (!(is(p, i, "no") || is(p, i, "zero")))
		return true;
	while (at < end && !is(p, at, "and"))
		at++;
	if (!is(p, at + 1, "the"))
		return true;
	item->members[0] = parse_range(&absence, i, at, 0);
	item->members[1] = parse_range(&statement, at + 1, end, 0);
	return item->members[0] != NULL && item->members[1] != NULL;
}

ls_judge_item *
ls_judge_item_parse(ls_judge_ctx *ctx, ls_str description)
{
	parse p;
	ls_judge_text text = {description, ctx->atoms, 0};
	ls_judge_item *item;

	memset(&p, 0, sizeof(p));
	text.n = ls_judge_text_scan(ctx, description, ctx->atoms, LS_JUDGE_ROW_ATOMS);
	p.ctx = ctx;
	p.t = &text;
	item = parse_range(&p, 0, text.n, 0);
	if (item == NULL || !find_conjunction(&p, text.n, item))
		return NULL;
	item->name = description;
	return item;
}
