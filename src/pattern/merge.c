/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  Merges groups that are one pattern after all.
 *
 * Groups that became equal are one, also across components.  And many groups
 * that differ in a single word are one: their other words prove it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/pattern_internal.h"

uint32_t
ls_group_root(group *groups, uint32_t g)
{
	while (groups[g].parent != g)
	{
		groups[g].parent = groups[groups[g].parent].parent;
		g = groups[g].parent;
	}
	return g;
}

/* The group of the more frequent form stays: groups[].first is by count. */
static void
unite(group *groups, uint32_t a, uint32_t b)
{
	a = ls_group_root(groups, a);
	b = ls_group_root(groups, b);
	if (a == b)
		return;
	if (groups[a].first < groups[b].first)
		groups[b].parent = a;
	else
		groups[a].parent = b;
}

typedef struct bucket
{
	uint64_t key;
	uint32_t group;
	uint32_t count; /* 0: free */
} bucket;

#define LS_TABLE_NAME bucket
#define LS_TABLE_SLOT bucket
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, k) ls_hash_keyed64(k)
#define LS_TABLE_EQUAL(t, slot, k) ((slot)->key == (k))
#define LS_TABLE_IS_FREE(slot) ((slot)->count == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_keyed64((slot)->key)
#define LS_TABLE_LOAD 66
#include "src/base/hash_table.h"

/* Counts group g for a key, whose first group it may be; there is room for the key. */
static bucket *
count_bucket(bucket_table *buckets, uint64_t key, uint32_t g)
{
	bool found;
	bucket *b = bucket_insert(buckets, key, &found);

	if (!found)
	{
		b->key = key;
		b->group = g;
	}
	b->count++;
	return b;
}

static inline bool
is_frequent(const bucket *b)
{
	return b != NULL && b->count >= FEW_VALUES;
}

static bool
has_word(const group *g)
{
	for (uint32_t p = 0; p < g->n; p++)
	{
		if (is_word(g->codes[p]))
			return true;
	}
	return false;
}

/* Groups whose canonical templates are equal are one, whatever their component. */
static bool
merge_equal(miner *m)
{
	bucket_table buckets = {.arena = m->arena};

	if (!bucket_reserve(&buckets, (uint32_t) m->ngroups))
		return false;
	for (size_t i = 0; i < m->ngroups; i++)
	{
		const group *g = &m->groups[i];
		uint64_t key = has_word(g) ? g->id : mix64(g->id, g->soft);

		unite(m->groups, count_bucket(&buckets, key, (uint32_t) i)->group, (uint32_t) i);
	}
	bucket_free(&buckets);
	return true;
}

/* The names of a structured group, as a set of bits: equal names are equal bits. */
typedef struct names
{
	uint64_t bits[4];
	uint32_t n;
} names;

static names
names_of(const group *g)
{
	names set = {{0}, 0};

	for (uint32_t p = 0; p < g->n; p++)
	{
		uint64_t hash = g->codes[p] * UINT64_C(0x9e3779b97f4a7c15);

		if (CODE_KIND(g->codes[p]) == TOKEN_SYMBOL && (g->codes[p] & CODE_MASK) > 0xff)
			set.bits[hash >> 62] |= UINT64_C(1) << (hash >> 56 & 63);
	}
	for (int i = 0; i < 4; i++)
		set.n += (uint32_t) __builtin_popcountll(set.bits[i]);
	return set;
}

static bool
have_most_names_in_common(const group *a, const group *b, double threshold)
{
	names x = names_of(a);
	names y = names_of(b);
	uint32_t both = 0;

	for (int i = 0; i < 4; i++)
		both += (uint32_t) __builtin_popcountll(x.bits[i] & y.bits[i]);
	return both >= (threshold > 0.5 ? threshold : 0.5) * (x.n > y.n ? x.n : y.n);
}

/*
 * Structured groups with the same message and level are one, if they have most
 * names of members in common: some members are optional.
 */
static bool
merge_messages(miner *m)
{
	bucket_table buckets = {.arena = m->arena};
	uint32_t n = 0;

	for (size_t i = 0; i < m->ngroups; i++)
		n += m->groups[i].structured;
	if (!bucket_reserve(&buckets, n))
		return false;
	for (size_t i = 0; i < m->ngroups; i++)
	{
		const group *g = &m->groups[i];
		uint64_t key = g->hard;
		uint32_t words = 0;
		bucket *b;

		if (!g->structured || g->parent != i)
			continue;
		for (uint32_t p = 0; p < g->n; p++)
		{
			if (is_word(g->codes[p]))
			{
				words++;
				key = mix64(key, g->codes[p]);
			}
		}
		if (words < MIN_WORDS)
			continue;
		b = count_bucket(&buckets, key, (uint32_t) i);
		if (b->count > 1 &&
			have_most_names_in_common(&m->groups[b->group], g, m->options.sim_threshold))
			unite(m->groups, b->group, (uint32_t) i);
	}
	bucket_free(&buckets);
	return true;
}

static inline uint64_t
place(uint32_t position, uint64_t code)
{
	return mix64(position + 1, code);
}

/* Words that no other signature has; with two of them a group has no sibling. */
static uint32_t
rare_words(const miner *m, const group *g)
{
	uint32_t rare = 0;

	for (uint32_t p = 0; p < g->n && rare < 2; p++)
		rare += is_word(g->codes[p]) && is_unshared(m, g->codes[p]);
	return rare;
}

/* May a group have siblings?  It needs more than MIN_WORDS words. */
static bool
may_have_siblings(const miner *m, const group *g)
{
	uint32_t words = 0;

	if (g->alone)
		return false;
	for (uint32_t p = 0; p < g->n; p++)
		words += is_word(g->codes[p]);
	return words > MIN_WORDS && words - 1 >= m->options.sim_threshold * words &&
		   rare_words(m, g) < 2;
}

/*
 * Two groups that differ at one position are equal in all segments but one.
 * So the segments are counted first, and positions only of those where
 * FEW_VALUES groups are equal in all the others.
 */
#define MAX_SEGMENTS 16

static inline uint32_t
segment_length(const group *g)
{
	return g->n <= 64 ? 4 : (g->n + MAX_SEGMENTS - 1) / MAX_SEGMENTS;
}

static uint64_t
segment_sum(const group *g, uint32_t start, uint32_t end)
{
	uint64_t sum = 0;

	for (uint32_t p = start; p < end && p < g->n; p++)
		sum += place(p, g->codes[p]);
	return sum;
}

static inline uint64_t
group_sum(const group *g)
{
	return mix64(g->hard, g->soft) + g->n + segment_sum(g, 0, g->n);
}

/* The key of what is left of a group without the segment that starts there. */
static inline uint64_t
segment_key(const group *g, uint64_t sum, uint32_t start)
{
	return mix64(sum - segment_sum(g, start, start + segment_length(g)), start);
}

/* Sets group.segments; returns the number of positions in them, SIZE_MAX on failure. */
static size_t
find_segments(miner *m)
{
	bool *may = ls_new_array(m->arena, bool, m->ngroups + 1);
	bucket_table buckets = {.arena = m->arena};
	uint32_t n = 0;
	size_t positions = 0;

	if (may == NULL)
		return SIZE_MAX;
	for (size_t i = 0; i < m->ngroups; i++)
	{
		may[i] = may_have_siblings(m, &m->groups[i]);
		if (may[i] && m->groups[i].parent == i)
			n += (m->groups[i].n + segment_length(&m->groups[i]) - 1) /
				 segment_length(&m->groups[i]);
	}
	if (!bucket_reserve(&buckets, n))
		return SIZE_MAX;
	for (int pass = 0; pass < 2; pass++)
	{
		for (size_t i = 0; i < m->ngroups; i++)
		{
			group *g = &m->groups[i];
			uint32_t length = segment_length(g);
			uint64_t sum;

			if (!may[i] || (pass == 0 && g->parent != i))
				continue;
			sum = group_sum(g);
			for (uint32_t start = 0; start < g->n; start += length)
			{
				uint64_t key = segment_key(g, sum, start);

				if (pass == 0)
					(void) count_bucket(&buckets, key, (uint32_t) i);
				else if (is_frequent(bucket_find(&buckets, key)))
				{
					g->segments |= (uint16_t) (1U << (start / length));
					positions += length;
				}
			}
		}
	}
	bucket_free(&buckets);
	return positions;
}

/* FEW_VALUES or more groups that differ in one word only are one. */
static bool
merge_siblings(miner *m)
{
	size_t positions = find_segments(m);
	bucket_table buckets = {.arena = m->arena};

	if (positions > UINT32_MAX || !bucket_reserve(&buckets, (uint32_t) positions))
		return false;

	for (int pass = 0; pass < 2; pass++)
	{
		for (size_t i = 0; i < m->ngroups; i++)
		{
			group *g = &m->groups[i];
			uint32_t length = segment_length(g);
			uint64_t marked[MAX_TOKENS / 64] = {0};
			bool any = false;
			uint64_t sum;

			if (g->segments == 0 || (pass == 0 && g->parent != i))
				continue;
			sum = group_sum(g);
			for (uint32_t p = 0; p < g->n; p++)
			{
				uint64_t key;
				bucket *b;

				if ((g->segments >> (p / length) & 1) == 0 || !is_word(g->codes[p]))
					continue;
				key = mix64(sum - place(p, g->codes[p]), p);
				if (pass == 0)
					(void) count_bucket(&buckets, key, (uint32_t) i);
				else if (is_frequent(b = bucket_find(&buckets, key)))
				{
					unite(m->groups, b->group, (uint32_t) i);
					marked[p / 64] |= UINT64_C(1) << (p % 64);
					any = true;
				}
			}
			if (!any)
				continue;
			g->codes = ls_copy_codes(m, g->codes, g->n);
			if (g->codes == NULL)
				return false;
			for (uint32_t p = 0; p < g->n; p++)
			{
				if ((marked[p / 64] >> (p % 64) & 1) != 0)
					g->codes[p] = CODE_VARIABLE;
			}
			g->id = ls_hash_template(g->hard, g->codes, g->n);
		}
	}
	bucket_free(&buckets);
	return true;
}

bool
ls_merge_groups(miner *m)
{
	for (size_t i = 0; i < m->ngroups; i++)
	{
		group *g = &m->groups[i];

		g->id = ls_hash_template(g->hard, g->codes, g->n);
	}
	return merge_equal(m) && merge_siblings(m) && merge_equal(m) && ls_merge_phrases(m) &&
		   merge_equal(m) && merge_messages(m);
}
