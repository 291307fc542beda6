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
#include "src/pattern/internal.h"

uint32_t *
ls_copy_ids(miner *m, const uint32_t *ids, uint32_t n)
{
	uint32_t *copy = ls_arena_alloc(m->arena, n * sizeof(uint32_t));

	if (copy != NULL)
		memcpy(copy, ids, n * sizeof(uint32_t));
	return copy;
}

size_t
ls_table_size(size_t entries)
{
	size_t size = 64;

	while (size < entries * 2)
		size *= 2;
	return size;
}

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
	uint32_t count;
} bucket;

static bucket *
find_bucket(bucket *buckets, size_t size, uint64_t key)
{
	size_t slot = key & (size - 1);

	while (buckets[slot].count != 0 && buckets[slot].key != key)
		slot = (slot + 1) & (size - 1);
	return &buckets[slot];
}

/* Groups whose canonical templates are equal are one, whatever their component. */
static bool
merge_equal(miner *m)
{
	size_t size = ls_table_size(m->ngroups);
	bucket *buckets = ls_new_array(m->arena, bucket, size);
	uint32_t out[MAX_TOKENS];

	if (buckets == NULL)
		return false;
	for (size_t i = 0; i < m->ngroups; i++)
	{
		const group *g = &m->groups[i];
		uint32_t n = ls_canonical_ids(m, g->ids, g->n, out, NULL);
		uint64_t key = g->hard;
		bool word = false;
		bucket *b;

		for (uint32_t p = 0; p < n; p++)
		{
			key = mix64(key, m->codes[out[p]]);
			word |= is_word(m, out[p]);
		}
		if (!word)
			key = mix64(key, g->soft);
		b = find_bucket(buckets, size, key);
		if (b->count++ == 0)
		{
			b->key = key;
			b->group = (uint32_t) i;
		}
		else
			unite(m->groups, b->group, (uint32_t) i);
	}
	return true;
}

static inline uint64_t
place(const miner *m, uint32_t position, uint32_t id)
{
	return mix64(position + 1, m->codes[id]);
}

/* Words that no other form has; with two of them a group has no sibling. */
static uint32_t
rare_words(const miner *m, const group *g, const uint32_t *forms_with)
{
	uint32_t rare = 0;

	for (uint32_t p = 0; p < g->n; p++)
		rare += forms_with[g->ids[p]] < 2 && is_word(m, g->ids[p]);
	return rare;
}

/* FEW_VALUES or more groups that differ in one word only are one. */
static bool
merge_siblings(miner *m, const uint32_t *forms_with)
{
	size_t words = 0;
	size_t size;
	bucket *buckets;

	for (size_t i = 0; i < m->ngroups; i++)
	{
		if (m->groups[i].parent == i && rare_words(m, &m->groups[i], forms_with) < 2)
			words += m->groups[i].n;
	}
	size = ls_table_size(words);
	buckets = ls_new_array(m->arena, bucket, size);
	if (buckets == NULL)
		return false;

	for (int pass = 0; pass < 2; pass++)
	{
		for (size_t i = 0; i < m->ngroups; i++)
		{
			group *g = &m->groups[i];
			uint64_t sum = mix64(g->hard, g->soft) + g->n;
			uint32_t nwords = 0;
			uint64_t marked[MAX_TOKENS / 64] = {0};
			bool any = false;
			uint32_t rare = rare_words(m, g, forms_with);

			if ((pass == 0 && g->parent != i) || rare > 1)
				continue;
			for (uint32_t p = 0; p < g->n; p++)
			{
				sum += place(m, p, g->ids[p]);
				nwords += is_word(m, g->ids[p]);
			}
			if (nwords <= MIN_WORDS || nwords - 1 < m->options.sim_threshold * nwords)
				continue;
			for (uint32_t p = 0; p < g->n; p++)
			{
				bucket *b;
				uint64_t key;

				if (!is_word(m, g->ids[p]) || (rare == 1 && forms_with[g->ids[p]] > 1))
					continue;
				key = mix64(sum - place(m, p, g->ids[p]), p);
				b = find_bucket(buckets, size, key);
				if (pass == 0)
				{
					if (b->count++ == 0)
					{
						b->key = key;
						b->group = (uint32_t) i;
					}
				}
				else if (b->count >= FEW_VALUES)
				{
					unite(m->groups, b->group, (uint32_t) i);
					marked[p / 64] |= UINT64_C(1) << (p % 64);
					any = true;
				}
			}
			if (any)
			{
				g->ids = ls_copy_ids(m, g->ids, g->n);
				if (g->ids == NULL)
					return false;
			}
			for (uint32_t p = 0; any && p < g->n; p++)
			{
				if ((marked[p / 64] >> (p % 64) & 1) != 0)
					g->ids[p] = ID_VARIABLE;
			}
		}
	}
	return true;
}

bool
ls_merge_groups(miner *m, const uint32_t *forms_with)
{
	return merge_equal(m) && merge_siblings(m, forms_with) && merge_equal(m);
}
