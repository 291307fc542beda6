/*-------------------------------------------------------------------------
 *
 * phrase.c
 *	  Values of one or more words in running text: "connection refused" and
 *	  "no route to host" in the same place.
 *
 * Groups that are equal before and after a gap of some words are merged if at
 * least FEW_VALUES of them differ in the gap and the equal words outweigh it.  The
 * possible starts of gaps are found first, by sorting the groups token by token:
 * a gap can start only where groups with equal beginnings part.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/pattern_internal.h"

#define MAX_GAP 5
#define MAX_PHRASE_TOKENS 48 /* longer groups have no gaps */
#define MAX_STARTS 4         /* of a group that are tried, the last ones */
#define MIN_OUTSIDE 3        /* words that are equal; after a colon one less */

/* Groups with the same words before and after a gap. */
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

/* Where gaps of a group may start: the last places. */
typedef struct gap_starts
{
	uint8_t n;
	uint8_t at[MAX_STARTS];
} gap_starts;

typedef struct phrases
{
	miner *m;
	gap_starts *starts; /* per group */
	counter_table gaps;
} phrases;

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

/* ---- starts of gaps ---- */

static void
add_start(gap_starts *starts, uint32_t place)
{
	if (starts->n == MAX_STARTS)
		memmove(starts->at, starts->at + 1, --starts->n);
	starts->at[starts->n++] = (uint8_t) place;
}

/*
 * Sorts groups that are equal before a place by the token there, and then those that are equal there as
 * well.  If not all are, a gap of each one may start there.
 */
static void
find_starts(phrases *s, sort_item *items, sort_item *scratch, size_t n, uint32_t place)
{
	for (;; place++)
	{
		bool all_equal = true;

		for (size_t i = 0; i < n; i++)
		{
			const group *g = &s->m->groups[items[i].value];

			items[i].key = place < g->n ? g->codes[place] : 0;
			all_equal = all_equal && items[i].key == items[0].key;
		}
		if (!all_equal)
			break;
		if (items[0].key == 0)
			return;
	}
	ls_sort_items(items, scratch, n);
	for (size_t i = 0; i < n;)
	{
		size_t j = i;

		for (; j < n && items[j].key == items[i].key; j++)
		{
			if (items[i].key != 0 && place > 0)
				add_start(&s->starts[items[j].value], place);
		}
		if (j - i > 1 && items[i].key != 0)
			find_starts(s, items + i, scratch, j - i, place + 1);
		i = j;
	}
}

/* Finds the starts of all groups that may have a phrase. */
static bool
find_all_starts(phrases *s)
{
	miner *m = s->m;
	sort_item *items = ls_arena_alloc(m->arena, (m->ngroups + 1) * 2 * sizeof(sort_item));
	sort_item *scratch;
	size_t n = 0;

	s->starts = ls_new_array(m->arena, gap_starts, m->ngroups + 1);
	if (items == NULL || s->starts == NULL)
		return false;
	scratch = items + m->ngroups + 1;
	for (size_t i = 0; i < m->ngroups; i++)
	{
		const group *g = &m->groups[i];

		if (may_have_phrase(g, i))
			items[n++] = (sort_item){mix64(g->hard, g->soft), (uint32_t) i};
	}
	ls_sort_items(items, scratch, n);
	for (size_t i = 0; i < n;)
	{
		uint64_t key = items[i].key;
		size_t j = i + 1;

		while (j < n && items[j].key == key)
			j++;
		if (j - i > 1)
			find_starts(s, items + i, scratch, j - i, 0);
		i = j;
	}
	ls_arena_drop(m->arena, items, (m->ngroups + 1) * 2 * sizeof(sort_item));
	return true;
}

/* ---- gaps ---- */

/*
 * Calls for each gap of a group: counts it, or makes it variable if there are
 * enough others.  True when it did the latter.
 */
static bool
visit_gaps(phrases *s, group *g, const gap_starts *starts, bool apply)
{
	uint64_t begin[MAX_PHRASE_TOKENS + 1]; /* the keys and the tokens before a place */
	uint64_t end[MAX_PHRASE_TOKENS + 1];   /* the tokens from there on */
	uint32_t words = words_between(g, 0, g->n);

	begin[0] = mix64(g->hard, g->soft);
	for (uint32_t p = 0; p < g->n; p++)
		begin[p + 1] = mix64(begin[p], g->codes[p]);
	end[g->n] = 1;
	for (uint32_t p = g->n; p > 0; p--)
		end[p - 1] = mix64(end[p] + 1, g->codes[p - 1]);
	for (uint32_t i = starts->n; i > 0; i--)
	{
		uint32_t p = starts->at[i - 1];
		uint32_t inside = 0;

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
	phrases s = {m, NULL, {.arena = m->arena}};
	uint32_t gaps = 0;

	if (!find_all_starts(&s))
		return false;
	for (size_t i = 0; i < m->ngroups; i++)
		gaps += s.starts[i].n * MAX_GAP;
	if (!counter_reserve(&s.gaps, gaps))
		return false;
	for (int apply = 0; apply < 2; apply++)
	{
		for (size_t i = 0; i < m->ngroups; i++)
		{
			group *g = &m->groups[i];

			if (s.starts[i].n > 0 && visit_gaps(&s, g, &s.starts[i], apply == 1))
			{
				if (g->codes == NULL)
					return false;
				g->id = ls_hash_template(g->hard, g->codes, g->n);
			}
		}
	}
	counter_free(&s.gaps);
	ls_arena_drop(m->arena, s.starts, (m->ngroups + 1) * sizeof(gap_starts));
	return true;
}
