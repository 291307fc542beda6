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
#include "src/pattern/pattern_internal.h"

#include <math.h>

#define MAX_CANDIDATES 64
#define MAX_COMPARED 2048 /* tokens, over all candidates of a form */

/* Words of a form that lead to candidates; of more a sample, by their hash. */
#define QUERY_WORDS 48

typedef struct cluster
{
	uint64_t key;
	uint64_t *codes; /* those of its first form while it is the only one */
	uint32_t n;
	uint32_t first; /* forms, linked by next_form */
	uint32_t last;
	uint32_t members;
	uint32_t stamp; /* last query that looked at it */
} cluster;

typedef struct posting_list
{
	uint64_t key;
	uint32_t head;  /* of postings */
	uint32_t count; /* 0: free */
} posting_list;

#define LS_TABLE_NAME posting_list
#define LS_TABLE_SLOT posting_list
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, k) ls_hash_keyed64(k)
#define LS_TABLE_EQUAL(t, slot, k) ((slot)->key == (k))
#define LS_TABLE_IS_FREE(slot) ((slot)->count == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_keyed64((slot)->key)
#define LS_TABLE_LOAD 66
#include "src/base/hash_table.h"

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
	posting_list_table lists;
	posting *postings;
	size_t npostings;
	uint64_t *frames; /* per form */
} joiner;

/* Symbols, length and keys must be equal for two forms to be joined. */
static uint64_t
frame_key(const form *f)
{
	uint64_t h = mix64(f->hard, f->soft) + f->n;

	for (uint32_t i = 0; i < f->n; i++)
	{
		token_kind kind = CODE_KIND(f->codes[i]);

		if (kind == TOKEN_SYMBOL || kind == TOKEN_LEVEL)
			h = mix64(h ^ i, f->codes[i]);
	}
	return h;
}

static inline uint64_t
word_key(uint64_t frame, uint32_t position, uint64_t code)
{
	return mix64(frame ^ position, code);
}

/* There is room for the key. */
static void
add_posting(joiner *j, uint64_t key, uint32_t c)
{
	bool found;
	posting_list *list = posting_list_insert(&j->lists, key, &found);

	if (!found)
		*list = (posting_list){key, NONE, 0};
	j->postings[j->npostings].cluster = c;
	j->postings[j->npostings].next = list->head;
	list->head = (uint32_t) j->npostings++;
	list->count++;
}

/* Share of equal words; positions that are variable in both do not count. */
static double
similarity(const uint64_t *a, const uint64_t *b, uint32_t n)
{
	uint32_t equal = 0;
	uint32_t words = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		if (a[i] == b[i])
		{
			if (!is_word(a[i]))
				continue;
			equal++;
		}
		words++;
	}
	return words == 0 ? 1 : (double) equal / words;
}

/* The postings of a word or a frame; none are a list too. */
static posting_list
list_of(const joiner *j, uint64_t key)
{
	const posting_list *list = posting_list_find(&j->lists, key);

	return list == NULL ? (posting_list){key, NONE, 0} : *list;
}

static void
sort_words(posting_list *words, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
	{
		posting_list word = words[i];
		uint32_t k = i;

		for (; k > 0 && (words[k - 1].count > word.count ||
						 (words[k - 1].count == word.count && words[k - 1].key > word.key));
			 k--)
			words[k] = words[k - 1];
		words[k] = word;
	}
}

static uint32_t
best_cluster(joiner *j, const form *f, uint32_t stamp, uint64_t frame, const posting_list *words,
			 uint32_t nwords)
{
	double threshold = j->m->options.sim_threshold;
	double best = -1;
	uint32_t best_c = NONE;
	uint32_t candidates = 0;
	uint32_t most = MAX_COMPARED / (f->n + 1) + 1;

	if (most > MAX_CANDIDATES)
		most = MAX_CANDIDATES;
	for (uint32_t w = 0; w < nwords && candidates < most; w++)
	{
		for (uint32_t p = words[w].head; p != NONE && candidates < most; p = j->postings[p].next)
		{
			uint32_t c = j->postings[p].cluster;
			cluster *cl = &j->clusters[c];
			double r;

			if (cl->stamp == stamp || cl->key != frame || cl->n != f->n)
				continue;
			cl->stamp = stamp;
			candidates++;
			r = similarity(cl->codes, f->codes, f->n);
			if (r > best || (r == best && c < best_c))
			{
				best = r;
				best_c = c;
			}
		}
	}
	return best >= threshold ? best_c : NONE;
}

/*
 * The words of a form by which it is found, the rarest first: those that other
 * signatures have too.  It is enough to look at the first `look` of them.
 */
static uint32_t
query_words(const joiner *j, const form *f, uint64_t frame, posting_list *words, uint32_t *look)
{
	double threshold = j->m->options.sim_threshold;
	uint32_t all = 0;
	uint32_t n = 0;
	uint64_t below = UINT64_MAX;
	uint32_t unshared = 0;
	uint32_t must;

	for (uint32_t i = 0; i < f->n; i++)
		all += is_word(f->codes[i]);
	/* forms that share words share those of small hashes */
	if (all > QUERY_WORDS)
		below = UINT64_MAX / all * QUERY_WORDS;
	for (uint32_t i = 0; i < f->n && n < QUERY_WORDS; i++)
	{
		uint64_t key = word_key(frame, i, f->codes[i]);

		if (!is_word(f->codes[i]) || key > below)
			continue;
		if (is_unshared(j->m, f->codes[i]))
		{
			unshared++;
			continue;
		}
		words[n++] = list_of(j, key);
	}
	sort_words(words, n);
	if (threshold <= 0)
	{
		/* everything in the same frame is a candidate */
		words[n++] = list_of(j, frame);
		*look = n;
		return n;
	}

	/*
	 * A cluster that shares `must` words shares one of any all - must + 1
	 * words: the rarest ones give the fewest candidates.  Words that are in
	 * this form alone are the rarest.
	 */
	must = (uint32_t) ceil(threshold * all);
	*look = all > QUERY_WORDS ? n + unshared : all - (must > 0 ? must - 1 : 0);
	*look = *look <= unshared ? 0 : *look - unshared;
	*look = *look < n ? *look : n;
	return n;
}

static bool
add_form(joiner *j, uint32_t index)
{
	miner *m = j->m;
	const form *f = &m->forms[index];
	uint64_t frame = j->frames[index];
	posting_list words[QUERY_WORDS + 1];
	uint32_t look = 0;
	uint32_t nwords = f->alone ? 0 : query_words(j, f, frame, words, &look);
	uint32_t c = best_cluster(j, f, index + 1, frame, words, look);
	cluster *cl;

	j->next_form[index] = NONE;
	if (c != NONE)
	{
		cl = &j->clusters[c];
		if (cl->members == 1)
			cl->codes = ls_copy_codes(m, cl->codes, cl->n);
		if (cl->codes == NULL)
			return false;
		for (uint32_t i = 0; i < f->n; i++)
		{
			if (cl->codes[i] != f->codes[i])
				cl->codes[i] = CODE_VARIABLE;
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
	cl->codes = f->codes;
	for (uint32_t w = 0; w < nwords; w++)
		add_posting(j, words[w].key, c);
	return true;
}

/* Frames of all forms, and which forms are alone in theirs. */
static bool
make_frames(joiner *j)
{
	miner *m = j->m;
	sort_item *items = ls_arena_alloc(m->arena, (m->nforms + 1) * 2 * sizeof(sort_item));

	j->frames = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(uint64_t));
	if (items == NULL || j->frames == NULL)
		return false;
	for (size_t i = 0; i < m->nforms; i++)
	{
		j->frames[i] = frame_key(&m->forms[i]);
		items[i] = (sort_item){j->frames[i], (uint32_t) i};
	}
	ls_sort_items(items, items + m->nforms, m->nforms);
	for (size_t i = 0; i < m->nforms; i++)
	{
		m->forms[items[i].value].alone = (i == 0 || items[i - 1].key != items[i].key) &&
										 (i + 1 == m->nforms || items[i + 1].key != items[i].key);
	}
	ls_arena_drop(m->arena, items, (m->nforms + 1) * 2 * sizeof(sort_item));
	return true;
}

bool
ls_join_forms(miner *m)
{
	joiner j = {.m = m, .lists = {.arena = m->arena}};
	uint32_t *members;
	uint32_t *scratch;
	uint32_t words = 0;

	if (!make_frames(&j))
		return false;
	for (size_t i = 0; i < m->nforms; i++)
	{
		uint32_t of_form = 1;

		for (uint32_t p = 0; p < m->forms[i].n; p++)
			of_form += is_word(m->forms[i].codes[p]);
		if (of_form > QUERY_WORDS + 1)
			of_form = QUERY_WORDS + 1;
		words += m->forms[i].alone ? 0 : of_form;
	}
	j.clusters = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(cluster));
	j.next_form = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(uint32_t));
	j.postings = ls_arena_alloc(m->arena, (words + 1) * sizeof(posting));
	members = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(uint32_t));
	scratch = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(uint32_t));
	m->groups = ls_arena_alloc(m->arena, (m->nforms + 1) * sizeof(group));
	if (j.clusters == NULL || j.next_form == NULL || !posting_list_reserve(&j.lists, words) ||
		j.postings == NULL || members == NULL || scratch == NULL || m->groups == NULL)
		return false;

	for (size_t i = 0; i < m->nforms; i++)
	{
		if (!add_form(&j, (uint32_t) i))
			return false;
	}
	posting_list_free(&j.lists);
	ls_arena_drop(m->arena, j.postings, (words + 1) * sizeof(posting));
	for (uint32_t c = 0; c < j.nclusters; c++)
	{
		size_t n = 0;

		for (uint32_t f = j.clusters[c].first; f != NONE; f = j.next_form[f])
			members[n++] = f;
		if (!ls_split_cluster(m, members, scratch, n))
			return false;
	}
	ls_arena_drop(m->arena, j.clusters, (m->nforms + 1) * sizeof(cluster));
	return ls_merge_groups(m);
}
