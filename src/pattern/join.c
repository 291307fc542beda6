/*-------------------------------------------------------------------------
 *
 * join.c
 *	  Joins similar forms to groups: the positions where they differ are
 *	  variables that do not look like ones (names, words).
 *
 * Four steps, all over forms, in an order that no input order can change:
 *	1. A form joins the cluster that shares most words with it, if the share
 *	   is at least sim_threshold.  Only words count, never placeholders or
 *	   punctuation, and punctuation must be equal.  Candidates come from an
 *	   index of (position, word), the rarest words first and at most
 *	   MAX_CANDIDATES of them, so that 10,000 rows of unique words cost little.
 *	2. A position with few values, all of them words, is a constant after all
 *	   (opened, closed): its cluster is split again.
 *	3. Groups that became equal are merged, also across components.
 *	4. Many groups that differ in a single position are merged: the other
 *	   words prove that they are one statement.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/internal.h"

#include <math.h>
#include <stdlib.h>

#define MAX_CANDIDATES 64
#define FEW_VALUES 5 /* with fewer values a position is constant */
/* A lonely word is weak proof (boot (command 1), halt (command 2)). */
#define MIN_WORDS 2
#define MANY_FORMS 16
#define MAX_SPLITS 32
#define NONE UINT32_MAX

typedef struct cluster
{
	uint64_t key;
	uint32_t *ids; /* those of its first form while it is the only one */
	uint32_t n;
	uint32_t first; /* forms, linked by next_form */
	uint32_t last;
	uint32_t members;
	uint32_t stamp; /* last query that looked at it */
} cluster;

typedef struct posting_list
{
	uint64_t key;
	uint32_t head; /* of postings */
	uint32_t count;
} posting_list;

typedef struct posting
{
	uint32_t cluster;
	uint32_t next;
} posting;

typedef struct joiner
{
	miner *m;
	cluster *clusters;
	uint32_t nclusters;
	uint32_t *next_form;
	posting_list *lists; /* open addressing */
	size_t size;
	posting *postings;
	size_t npostings;
	uint32_t *forms_with; /* per id: forms that have it */
} joiner;

static uint32_t *
copy_ids(miner *m, const uint32_t *ids, uint32_t n)
{
	uint32_t *copy = ls_arena_alloc(m->arena, n * sizeof(uint32_t));

	if (copy != NULL)
		memcpy(copy, ids, n * sizeof(uint32_t));
	return copy;
}

/* Symbols, length and keys must be equal for two forms to be joined. */
static uint64_t
frame_key(const miner *m, const form *f)
{
	uint64_t h = mix64(f->hard, f->soft) + f->n;

	for (uint32_t i = 0; i < f->n; i++)
	{
		token_kind kind = CODE_KIND(m->codes[f->ids[i]]);

		if (kind == TOKEN_SYMBOL || kind == TOKEN_LEVEL)
			h = mix64(h ^ i, m->codes[f->ids[i]]);
	}
	return h;
}

static posting_list *
find_list(const joiner *j, uint64_t key)
{
	size_t slot = key & (j->size - 1);

	while (j->lists[slot].head != NONE && j->lists[slot].key != key)
		slot = (slot + 1) & (j->size - 1);
	return &j->lists[slot];
}

static inline uint64_t
word_key(const joiner *j, uint64_t frame, uint32_t position, uint32_t id)
{
	return mix64(frame ^ position, j->m->codes[id]);
}

static void
add_posting(joiner *j, uint64_t key, uint32_t c)
{
	posting_list *list = find_list(j, key);

	list->key = key;
	j->postings[j->npostings].cluster = c;
	j->postings[j->npostings].next = list->head;
	list->head = (uint32_t) j->npostings++;
	list->count++;
}

/* Share of equal words; positions that are variable in both do not count. */
static double
similarity(const miner *m, const uint32_t *a, const uint32_t *b, uint32_t n)
{
	uint32_t equal = 0;
	uint32_t words = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		if (a[i] == b[i])
		{
			if (!is_word(m, a[i]))
				continue;
			equal++;
		}
		words++;
	}
	return words == 0 ? 1 : (double) equal / words;
}

typedef struct query_word
{
	uint32_t count;
	uint32_t head;
	uint64_t key;
} query_word;

static int
compare_words(const void *a, const void *b)
{
	const query_word *x = a;
	const query_word *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static uint32_t
best_cluster(joiner *j, const form *f, uint32_t stamp, uint64_t frame, query_word *words,
			 uint32_t nwords)
{
	double threshold = j->m->options.sim_threshold;
	double best = -1;
	uint32_t best_c = NONE;
	uint32_t candidates = 0;
	uint32_t must = (uint32_t) ceil(threshold * nwords);
	uint32_t look = nwords - (must > 0 ? must - 1 : 0);

	/*
	 * A cluster that shares `must` words shares one of any nwords - must + 1
	 * words: the rarest ones give the fewest candidates.
	 */
	qsort(words, nwords, sizeof(query_word), compare_words);
	if (threshold <= 0)
	{
		posting_list *list = find_list(j, frame);

		words[nwords].head = list->head;
		look = nwords + 1;
	}
	for (uint32_t w = 0; w < look && candidates < MAX_CANDIDATES; w++)
	{
		for (uint32_t p = words[w].head; p != NONE && candidates < MAX_CANDIDATES;
			 p = j->postings[p].next)
		{
			uint32_t c = j->postings[p].cluster;
			cluster *cl = &j->clusters[c];
			double r;

			if (cl->stamp == stamp || cl->key != frame || cl->n != f->n)
				continue;
			cl->stamp = stamp;
			candidates++;
			r = similarity(j->m, cl->ids, f->ids, f->n);
			if (r > best || (r == best && c < best_c))
			{
				best = r;
				best_c = c;
			}
		}
	}
	return best >= threshold ? best_c : NONE;
}

static bool
add_form(joiner *j, uint32_t index)
{
	miner *m = j->m;
	const form *f = &m->forms[index];
	uint64_t frame = frame_key(m, f);
	query_word words[MAX_TOKENS + 1];
	uint32_t nwords = 0;
	uint32_t c;
	cluster *cl;

	for (uint32_t i = 0; i < f->n; i++)
	{
		if (is_word(m, f->ids[i]))
		{
			query_word *w = &words[nwords++];
			posting_list *list;

			/* a word of this form alone leads nowhere: it is the rarest */
			w->count = 0;
			w->head = NONE;
			w->key = i;
			if (j->forms_with[f->ids[i]] < 2)
				continue;
			w->key = word_key(j, frame, i, f->ids[i]);
			list = find_list(j, w->key);
			w->count = list->count;
			w->head = list->head;
		}
	}
	c = best_cluster(j, f, index + 1, frame, words, nwords);
	j->next_form[index] = NONE;
	if (c != NONE)
	{
		cl = &j->clusters[c];
		if (cl->members == 1)
			cl->ids = copy_ids(m, cl->ids, cl->n);
		if (cl->ids == NULL)
			return false;
		for (uint32_t i = 0; i < f->n; i++)
		{
			if (cl->ids[i] != f->ids[i])
				cl->ids[i] = ID_VARIABLE;
		}
		j->next_form[cl->last] = index;
		cl->last = index;
		cl->members++;
		return true;
	}

	c = j->nclusters++;
	cl = &j->clusters[c];
	cl->key = frame;
	cl->n = f->n;
	cl->first = cl->last = index;
	cl->members = 1;
	cl->stamp = 0;
	cl->ids = f->ids;
	for (uint32_t i = 0; i < f->n; i++)
	{
		if (is_word(m, f->ids[i]) && j->forms_with[f->ids[i]] > 1)
			add_posting(j, word_key(j, frame, i, f->ids[i]), c);
	}
	if (m->options.sim_threshold <= 0)
		add_posting(j, frame, c);
	return true;
}

/* ---- undoing joins of constants ---- */

static bool
add_group(miner *m, const uint32_t *members, size_t n)
{
	group *g = &m->groups[m->ngroups];
	const form *first = &m->forms[members[0]];

	g->hard = first->hard;
	g->soft = first->soft;
	g->n = first->n;
	g->first = members[0];
	g->parent = (uint32_t) m->ngroups;
	g->ids = n == 1 ? first->ids : copy_ids(m, first->ids, g->n);
	if (g->ids == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
	{
		form *f = &m->forms[members[i]];

		f->group = (uint32_t) m->ngroups;
		if (members[i] < g->first)
			g->first = members[i];
		for (uint32_t p = 0; p < g->n; p++)
		{
			if (f->ids[p] != g->ids[p])
				g->ids[p] = ID_VARIABLE;
		}
	}
	m->ngroups++;
	return true;
}

/*
 * The position with the fewest values (2 to FEW_VALUES - 1), if all are words;
 * its values are put into `values`.
 */
static uint32_t
constant_position(const miner *m, const uint32_t *members, size_t n, uint32_t *values,
				  uint32_t *nvalues)
{
	uint32_t best = NONE;
	uint32_t best_count = FEW_VALUES;
	uint32_t len = m->forms[members[0]].n;

	for (uint32_t p = 0; p < len && best_count > 2; p++)
	{
		uint32_t found[FEW_VALUES];
		uint32_t count = 0;

		for (size_t i = 0; i < n && count < best_count; i++)
		{
			uint32_t id = m->forms[members[i]].ids[p];
			uint32_t v = 0;

			if (!is_word(m, id))
			{
				count = FEW_VALUES;
				break;
			}
			while (v < count && found[v] != id)
				v++;
			if (v == count)
				found[count++] = id;
		}
		if (count >= 2 && count < best_count)
		{
			best = p;
			best_count = count;
			memcpy(values, found, count * sizeof(uint32_t));
			*nvalues = count;
		}
	}
	return best;
}

/* Do the members agree on too few words to be one statement? */
static bool
agree_too_little(const miner *m, const uint32_t *members, size_t n)
{
	const form *first = &m->forms[members[0]];
	uint32_t words = 0;
	bool vary = false;

	for (uint32_t p = 0; p < first->n && words < 2; p++)
	{
		size_t i = 1;

		if (!is_word(m, first->ids[p]))
			continue;
		while (i < n && m->forms[members[i]].ids[p] == first->ids[p])
			i++;
		words += i == n;
		vary |= i < n;
	}
	return words < MIN_WORDS && vary;
}

static bool
split(miner *m, uint32_t *members, uint32_t *scratch, size_t n, int depth)
{
	uint32_t values[FEW_VALUES];
	uint32_t nvalues = 0;
	uint32_t p = NONE;
	size_t done = 0;
	size_t ends[FEW_VALUES];

	if (n > 1 && depth < MAX_SPLITS)
		p = constant_position(m, members, n, values, &nvalues);
	if (p == NONE)
	{
		if (n > 1 && n < MANY_FORMS && agree_too_little(m, members, n))
		{
			for (size_t i = 0; i < n; i++)
			{
				if (!add_group(m, members + i, 1))
					return false;
			}
			return true;
		}
		return add_group(m, members, n);
	}

	for (uint32_t v = 0; v < nvalues; v++)
	{
		for (size_t i = 0; i < n; i++)
		{
			if (m->forms[members[i]].ids[p] == values[v])
				scratch[done++] = members[i];
		}
		ends[v] = done;
	}
	memcpy(members, scratch, n * sizeof(uint32_t));
	done = 0;
	for (uint32_t v = 0; v < nvalues; v++)
	{
		if (!split(m, members + done, scratch, ends[v] - done, depth + 1))
			return false;
		done = ends[v];
	}
	return true;
}

/* ---- merging groups ---- */

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

static size_t
table_size(size_t entries)
{
	size_t size = 64;

	while (size < entries * 2)
		size *= 2;
	return size;
}

/* Groups whose canonical templates are equal are one, whatever their component. */
static bool
merge_equal(miner *m)
{
	size_t size = table_size(m->ngroups);
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
	size = table_size(words);
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
				g->ids = copy_ids(m, g->ids, g->n);
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
ls_join_forms(miner *m)
{
	joiner j = {.m = m};
	uint32_t *members;
	uint32_t *scratch;
	size_t words = 0;

	j.forms_with = ls_new_array(m->arena, uint32_t, m->ncodes);
	if (j.forms_with == NULL)
		return false;
	for (size_t i = 0; i < m->nforms; i++)
	{
		for (uint32_t p = 0; p < m->forms[i].n; p++)
			j.forms_with[m->forms[i].ids[p]]++;
	}
	for (size_t i = 0; i < m->nforms; i++)
	{
		words++;
		for (uint32_t p = 0; p < m->forms[i].n; p++)
			words += j.forms_with[m->forms[i].ids[p]] > 1;
	}
	j.size = table_size(words);
	j.clusters = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(cluster));
	j.next_form = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(uint32_t));
	j.lists = ls_arena_alloc(m->arena, j.size * sizeof(posting_list));
	j.postings = ls_arena_alloc(m->arena, (words + 1) * sizeof(posting));
	members = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(uint32_t));
	scratch = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(uint32_t));
	m->groups = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(group));
	if (j.clusters == NULL || j.next_form == NULL || j.lists == NULL || j.postings == NULL ||
		members == NULL || scratch == NULL || m->groups == NULL)
		return false;
	for (size_t i = 0; i < j.size; i++)
	{
		j.lists[i].head = NONE;
		j.lists[i].count = 0;
	}

	for (size_t i = 0; i < m->nforms; i++)
	{
		if (!add_form(&j, (uint32_t) i))
			return false;
	}
	for (uint32_t c = 0; c < j.nclusters; c++)
	{
		size_t n = 0;

		for (uint32_t f = j.clusters[c].first; f != NONE; f = j.next_form[f])
			members[n++] = f;
		if (!split(m, members, scratch, n, 0))
			return false;
	}
	return merge_equal(m) && merge_siblings(m, j.forms_with) && merge_equal(m);
}
