/*-------------------------------------------------------------------------
 *
 * join.c
 *	  Joins similar forms to clusters: the positions where they differ are
 *	  variables that do not look like ones (names, words).
 *
 * A form joins the cluster that shares most words with it, if the share is at
 * least sim_threshold.  Only words count, never placeholders or punctuation,
 * and punctuation must be equal.  Candidates come from an index of (position,
 * word), the rarest words first and at most MAX_CANDIDATES of them, so that
 * 10,000 rows of unique words cost little.
 *
 * Forms are taken in an order that no order of rows can change, the frequent
 * ones first.  What a join got wrong is undone in split.c, and what it could
 * not see is done in merge.c.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/internal.h"

#include <math.h>
#include <stdlib.h>

#define MAX_CANDIDATES 64
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
			cl->ids = ls_copy_ids(m, cl->ids, cl->n);
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
	j.size = ls_table_size(words);
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
		if (!ls_split_cluster(m, members, scratch, n))
			return false;
	}
	return ls_merge_groups(m, j.forms_with);
}
