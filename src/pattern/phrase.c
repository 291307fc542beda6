/*-------------------------------------------------------------------------
 *
 * phrase.c
 *	  Values of one or more words in running text: "connection refused" and
 *	  "no route to host" in the same place.
 *
 * Groups that are equal before and after a gap of some words are merged if at
 * least FEW_VALUES of them differ in the gap and the equal words outweigh it.  The
 * possible starts of gaps are found first, by counting the groups with each
 * prefix: a gap can start only where fewer groups also have the next word.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/pattern_internal.h"

#define MAX_GAP 5
#define MAX_PHRASE_TOKENS 48 /* longer groups have no gaps */
#define MAX_STARTS 4         /* of a group that are tried, the last ones */
#define MIN_OUTSIDE 3        /* words that are equal; after a colon one less */

typedef struct counter
{
	uint64_t key;
	uint32_t count;   /* 0: free */
	uint32_t lengths; /* bits: numbers of words */
	uint32_t rows;
} counter;

#define LS_TABLE_NAME counter
#define LS_TABLE_SLOT counter
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, k) ls_hash_keyed64(k)
#define LS_TABLE_EQUAL(t, slot, k) ((slot)->key == (k))
#define LS_TABLE_IS_FREE(slot) ((slot)->count == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_keyed64((slot)->key)
#define LS_TABLE_LOAD 66
#include "src/base/hash_table.h"

typedef struct phrases
{
	miner *m;
	counter_table starts;
	counter_table gaps;
} phrases;

static uint32_t
count_of(const counter_table *t, uint64_t key)
{
	const counter *c = counter_find(t, key);

	return c == NULL ? 0 : c->count;
}

/* There is room for the key. */
static void
count_key(counter_table *t, uint64_t key, uint32_t count, uint32_t words, uint32_t rows)
{
	bool found;
	counter *c = counter_insert(t, key, &found);

	c->key = key;
	c->count += count;
	c->lengths |= 1U << (words & 31);
	c->rows += rows;
}

/*
 * Do enough phrases stand in a gap?  What follows a colon up to the end, now
 * of one word and now of more, each in several rows, is a value with one less.
 */
static bool
is_proven(const counter *c, bool tail)
{
	bool lengths = c != NULL && (c->lengths & (c->lengths - 1)) != 0 && c->rows >= 4 * c->count;

	return c != NULL && c->count + (tail && lengths) >= FEW_VALUES;
}

static uint32_t
words_between(const group *g, uint32_t start, uint32_t end)
{
	uint32_t words = 0;

	for (uint32_t p = start; p < end; p++)
		words += is_word(g->codes[p]);
	return words;
}

static bool
may_have_phrase(const group *g, size_t index)
{
	return g->parent == index && g->n > 2 && g->n <= MAX_PHRASE_TOKENS &&
		   words_between(g, 0, g->n) >= MIN_OUTSIDE - 1;
}

/* hash[p]: the keys and the tokens before p. */
static void
hash_beginnings(const group *g, uint64_t *hash)
{
	hash[0] = mix64(g->hard, g->soft);
	for (uint32_t p = 0; p < g->n; p++)
		hash[p + 1] = mix64(hash[p], g->codes[p]);
}

/*
 * Calls for each gap of a group: counts it, or makes it variable if there are
 * enough others.  True when it did the latter.
 */
static bool
visit_gaps(phrases *s, group *g, bool apply)
{
	uint64_t begin[MAX_PHRASE_TOKENS + 1];
	uint64_t end[MAX_PHRASE_TOKENS + 1];
	uint32_t words = words_between(g, 0, g->n);
	uint32_t tried = 0;

	hash_beginnings(g, begin);
	end[g->n] = 1;
	for (uint32_t p = g->n; p > 0; p--)
		end[p - 1] = mix64(end[p] + 1, g->codes[p - 1]);
	for (uint32_t p = g->n - 1; p > 0 && tried < MAX_STARTS; p--)
	{
		uint32_t here = count_of(&s->starts, begin[p]);
		uint32_t inside = 0;

		if (here < 2 || count_of(&s->starts, begin[p + 1]) == here)
			continue;
		tried++;
		for (uint32_t n = 1; n <= MAX_GAP && p + n <= g->n; n++)
		{
			uint64_t code = g->codes[p + n - 1];
			uint64_t key = mix64(begin[p], end[p + n]);
			bool colon = g->codes[p - 1] == CODE(TOKEN_SYMBOL, ':') ||
						 (p > 1 && g->codes[p - 1] == CODE_VARIABLE &&
						  g->codes[p - 2] == CODE(TOKEN_SYMBOL, ':'));

			if (!is_word(code) && code != CODE_VARIABLE)
				break;
			inside += is_word(code);
			if (words - inside + colon < MIN_OUTSIDE || words - inside + colon < inside ||
				words - inside < s->m->options.sim_threshold * words)
				break;
			/* words before a value are of the statement: for <*>, for user <*> */
			if (inside > 0 && code == CODE_VARIABLE)
				continue;
			if (!apply)
				/* a variable stands for many values: one phrase beside it is enough */
				count_key(&s->gaps, key, inside > 0 ? 1 : FEW_VALUES - 1, inside,
						  s->m->forms[g->first].count);
			else if (inside > 0 && is_proven(counter_find(&s->gaps, key), colon && p + n == g->n))
			{
				g->codes = ls_copy_codes(s->m, g->codes, g->n);
				for (uint32_t k = 0; g->codes != NULL && k < n; k++)
					g->codes[p + k] = CODE_VARIABLE;
				return true;
			}
		}
	}
	return false;
}

bool
ls_merge_phrases(miner *m)
{
	phrases s = {m, {.arena = m->arena}, {.arena = m->arena}};
	uint32_t tokens = 0;
	uint32_t groups = 0;

	for (size_t i = 0; i < m->ngroups; i++)
	{
		if (may_have_phrase(&m->groups[i], i))
		{
			tokens += m->groups[i].n;
			groups++;
		}
	}
	if (!counter_reserve(&s.starts, tokens) ||
		!counter_reserve(&s.gaps, groups * MAX_STARTS * MAX_GAP))
		return false;
	for (size_t i = 0; i < m->ngroups; i++)
	{
		uint64_t begin[MAX_PHRASE_TOKENS + 1];

		if (!may_have_phrase(&m->groups[i], i))
			continue;
		hash_beginnings(&m->groups[i], begin);
		for (uint32_t p = 1; p <= m->groups[i].n; p++)
			count_key(&s.starts, begin[p], 1, 0, 0);
	}
	for (int apply = 0; apply < 2; apply++)
	{
		for (size_t i = 0; i < m->ngroups; i++)
		{
			group *g = &m->groups[i];

			if (may_have_phrase(g, i) && visit_gaps(&s, g, apply == 1))
			{
				if (g->codes == NULL)
					return false;
				g->id = ls_hash_template(g->hard, g->codes, g->n);
			}
		}
	}
	counter_free(&s.starts);
	counter_free(&s.gaps);
	return true;
}
