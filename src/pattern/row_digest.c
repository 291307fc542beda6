/*-------------------------------------------------------------------------
 *
 * row_digest.c
 *	  Any number of rows as a few texts that stand for them.
 *
 * The miner needs the rows of one call in memory.  But after its first step, only token
 * sequences with their counts matter, the texts that may be shown, and the rows of rare
 * patterns.  So rows with equal sequences are one entry with a count and some of their texts:
 * those with the smallest hashes, as many as a pattern has samples, or as rare rows are shown.
 * Texts of rows that only came along with one whose sequence was found give way to the others.
 * So if there are enough of these, they need not be made, and no order of texts changes the result.
 * (Which texts are there depends on which rows share a block, so samples may change when parts do.)
 * The other rows of the entry count for its first text.
 *
 * Most texts differ only in digits from one before them, and then have its sequence: the miner asks what
 * is a digit and never which one, except in names of members and levels.  So a small table
 * remembers entries by the hash of a text whose digits are all alike, and most texts are never
 * split into tokens.
 *
 * Digests of different rows are added up by adding the texts of one to the other.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/characters.h"

typedef struct kept_text
{
	uint64_t hash;
	ls_pattern_text text;
	bool read; /* the sequence of the entry was found for this text, not for one that is alike */
} kept_text;

/* Rows of a group with equal token sequences. */
typedef struct entry
{
	uint64_t hash; /* of group and sequence */
	uint64_t rows;
	uint64_t others; /* rows that are in none of the texts */
	ls_time first;   /* of those */
	ls_time last;
	uint64_t highest;       /* hashes above are not kept, once there are as many texts as are; */
	uint64_t highest_alike; /* of a text that was not read */
	uint32_t group;
	uint32_t n;
	uint32_t capacity;
	kept_text *texts;
} entry;

typedef struct entry_slot
{
	uint64_t hash;
	uint32_t number; /* 1 + entry; 0: free */
} entry_slot;

#define LS_TABLE_NAME entry
#define LS_TABLE_SLOT entry_slot
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, k) ls_hash_keyed64(k)
#define LS_TABLE_EQUAL(t, slot, k) ((slot)->hash == (k))
#define LS_TABLE_IS_FREE(slot) ((slot)->number == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_keyed64((slot)->hash)
#include "src/base/hash_table.h"

/* Texts that are remembered, a power of two; and no more than this share of the memory. */
#define MOST_KNOWN 262144
#define KNOWN_SHARE 4

struct ls_pattern_digest
{
	ls_arena *arena;
	uint32_t keep; /* texts of an entry */
	size_t most;
	size_t used;
	uint64_t rows;
	uint64_t left_out;
	entry *entries;
	uint32_t n;
	uint32_t capacity;
	entry_table table;
	entry_slot *known; /* by the hash of a text without its digits; the last one stays */
	uint32_t n_known;
	uint32_t last; /* 1 + the entry of the text that was added last; 0: it was left out */
	token_list list;
};

ls_pattern_digest *
ls_pattern_digest_make(ls_arena *arena, const ls_pattern_options *options, size_t most)
{
	ls_pattern_digest *d = ls_new(arena, ls_pattern_digest);

	if (d == NULL)
		return NULL;
	d->arena = arena;
	d->table.arena = arena;
	d->most = most;
	d->n_known = 1;
	while (d->n_known < MOST_KNOWN && d->n_known * 2 * sizeof(entry_slot) <= most / KNOWN_SHARE)
		d->n_known *= 2;
	d->known = ls_arena_alloc0(arena, d->n_known * sizeof(entry_slot));
	if (d->known == NULL)
		return NULL;
	d->keep = 1;
	if (options->max_samples > 1)
		d->keep = (uint32_t) options->max_samples;
	if (options->rare_threshold > (int) d->keep)
		d->keep = (uint32_t) options->rare_threshold;
	return d;
}

/* ---- texts that differ only in digits ---- */

/* The hashes of a text: of all of it, and without its digits. */
static void
hash_text(ls_pattern_text *text)
{
	uint64_t outline;

	text->hash = ls_hash64_outline(text->text.data, text->text.len, &outline);
	text->outline = mix64(outline, text->group);
}

void
ls_pattern_digest_expect(const ls_pattern_digest *d, ls_pattern_text *text)
{
	hash_text(text);
	__builtin_prefetch(&d->known[text->outline & (d->n_known - 1)]);
}

void
ls_pattern_digest_expect_soon(const ls_pattern_digest *d, const ls_pattern_text *text)
{
	const entry_slot *slot = &d->known[text->outline & (d->n_known - 1)];

	if (slot->number > 0 && slot->hash == text->outline)
	{
		const entry *e = &d->entries[slot->number - 1];

		__builtin_prefetch(e);
		__builtin_prefetch((const char *) (e + 1) - 1);
	}
}

/* Would other digits in the text leave the sequence that was just read as it is? */
static bool
digits_vary(const token_list *list, ls_str text)
{
	/* In a text without structure, no symbol has digits, and levels are words. */
	if (!list->structured)
		return true;
	for (uint32_t i = 0; i < list->n; i++)
	{
		const token *t = &list->t[i];

		if (CODE_KIND(t->code) != TOKEN_SYMBOL && CODE_KIND(t->code) != TOKEN_LEVEL)
			continue;
		for (uint32_t k = 0; k < t->len; k++)
		{
			if (is_digit(text.data[t->start + k]))
				return false;
		}
	}
	return true;
}

/* ---- entries ---- */

/* The entry of a sequence; *found is NULL if there is no room for another one. */
static bool
find_entry(ls_pattern_digest *d, uint64_t hash, uint32_t group, entry **found)
{
	entry_slot *slot = entry_find(&d->table, hash);
	bool exists;

	*found = NULL;
	if (slot != NULL)
	{
		*found = &d->entries[slot->number - 1];
		return true;
	}
	if (d->used >= d->most)
		return true;
	if (d->n == d->capacity)
	{
		uint32_t capacity = d->capacity == 0 ? 256 : d->capacity * 2;
		entry *grown = ls_arena_grow(d->arena, d->entries, d->capacity * sizeof(entry),
									 capacity * sizeof(entry));

		if (grown == NULL)
			return false;
		d->entries = grown;
		d->capacity = capacity;
	}
	slot = entry_insert(&d->table, hash, &exists);
	if (slot == NULL)
		return false;
	d->entries[d->n] =
		(entry){.hash = hash, .group = group, .highest = UINT64_MAX, .highest_alike = UINT64_MAX};
	*found = &d->entries[d->n++];
	*slot = (entry_slot){hash, d->n};
	d->used += sizeof(entry) + 2 * sizeof(entry_slot);
	return true;
}

static void
add_times(ls_time *first, ls_time *last, ls_time more_first, ls_time more_last)
{
	*first = more_first < *first ? more_first : *first;
	*last = more_last > *last ? more_last : *last;
}

static void
add_others(entry *e, const ls_pattern_text *text)
{
	if (e->others == 0)
	{
		e->first = text->first;
		e->last = text->last;
	}
	add_times(&e->first, &e->last, text->first, text->last);
	e->others += text->rows;
}

static void
find_highest(const ls_pattern_digest *d, entry *e)
{
	uint64_t highest[2] = {0, 0}; /* of alike ones, of read ones */
	bool all_read = true;

	e->highest = e->highest_alike = UINT64_MAX;
	if (e->n < d->keep)
		return;
	for (uint32_t i = 0; i < e->n; i++)
	{
		const kept_text *text = &e->texts[i];

		all_read &= text->read;
		if (text->hash > highest[text->read])
			highest[text->read] = text->hash;
	}
	e->highest_alike = highest[false];
	if (all_read)
		e->highest = highest[true];
}

/* Is a text kept rather than another one? */
static inline bool
goes_before(bool read, uint64_t hash, const kept_text *other)
{
	return read != other->read ? read : hash < other->hash;
}

/* A place for a new text, or the one of a text that has to go. */
static bool
place_of(ls_pattern_digest *d, entry *e, uint64_t hash, bool read, kept_text **place)
{
	uint32_t last = 0;

	*place = NULL;
	if (e->n < d->keep && (e->n == 0 || d->used < d->most))
	{
		if (e->n == e->capacity)
		{
			uint32_t capacity = e->capacity == 0 ? 1 : e->capacity * 2;
			kept_text *grown = ls_arena_grow(d->arena, e->texts, e->capacity * sizeof(kept_text),
											 capacity * sizeof(kept_text));

			if (grown == NULL)
				return false;
			d->used += (capacity - e->capacity) * sizeof(kept_text);
			e->texts = grown;
			e->capacity = capacity;
		}
		*place = &e->texts[e->n++];
		return true;
	}
	/* Memory of replaced texts is not reused. */
	if (d->used >= d->most)
		return true;
	for (uint32_t i = 1; i < e->n; i++)
	{
		if (goes_before(e->texts[last].read, e->texts[last].hash, &e->texts[i]))
			last = i;
	}
	if (!goes_before(read, hash, &e->texts[last]))
		return true;
	add_others(e, &e->texts[last].text);
	*place = &e->texts[last];
	return true;
}

/* The entry of a text; *found is NULL if there is no room for another one. */
static bool
entry_of(ls_pattern_digest *d, const ls_pattern_text *text, entry **found)
{
	uint64_t hash = text->outline;
	entry_slot *slot = &d->known[hash & (d->n_known - 1)];

	if (slot->number > 0 && slot->hash == hash)
	{
		*found = &d->entries[slot->number - 1];
		return true;
	}
	ls_scan_row(&d->list, text->text);
	if (!find_entry(d, mix64(d->list.hash, text->group), text->group, found))
		return false;
	if (*found != NULL && digits_vary(&d->list, text->text))
		*slot = (entry_slot){hash, (uint32_t) (*found - d->entries) + 1};
	return true;
}

/* Adds rows to their entry; NULL: there is no room for it. */
static bool
add_to_entry(ls_pattern_digest *d, entry *e, const ls_pattern_text *text, bool read)
{
	uint64_t hash = text->hash;
	kept_text *place;
	ls_str copy;

	/* The miner counts in 32 bits. */
	if (e == NULL || text->rows > UINT32_MAX - d->rows)
	{
		d->left_out += text->rows;
		return true;
	}
	d->rows += text->rows;
	e->rows += text->rows;
	if (hash > (read ? e->highest : e->highest_alike))
	{
		add_others(e, text);
		return true;
	}
	for (uint32_t i = 0; i < e->n; i++)
	{
		ls_pattern_text *same = &e->texts[i].text;

		if (e->texts[i].hash != hash || !ls_str_eq(same->text, text->text))
			continue;
		if (read && !e->texts[i].read)
		{
			e->texts[i].read = true;
			find_highest(d, e);
		}
		same->rows += text->rows;
		add_times(&same->first, &same->last, text->first, text->last);
		return true;
	}
	if (!place_of(d, e, hash, read, &place))
		return false;
	if (place == NULL)
	{
		add_others(e, text);
		return true;
	}
	copy = ls_arena_strdup(d->arena, text->text);
	if (copy.data == NULL)
		return false;
	d->used += copy.len;
	*place = (kept_text){hash, *text, read};
	place->text.text = copy;
	place->text.outline = 0;
	find_highest(d, e);
	return true;
}

bool
ls_pattern_digest_add(ls_pattern_digest *d, const ls_pattern_text *given)
{
	ls_pattern_text text = *given;
	entry *e;

	if (text.outline == 0)
		hash_text(&text);
	if (!entry_of(d, &text, &e))
		return false;
	d->last = e == NULL ? 0 : (uint32_t) (e - d->entries) + 1;
	return add_to_entry(d, e, &text, true);
}

static bool
add_to_last(ls_pattern_digest *d, const ls_pattern_text *given, bool read)
{
	ls_pattern_text text = *given;

	text.hash = ls_hash64(text.text.data, text.text.len, 0);
	return add_to_entry(d, d->last == 0 ? NULL : &d->entries[d->last - 1], &text, read);
}

bool
ls_pattern_digest_keeps_alike(const ls_pattern_digest *d)
{
	return d->last > 0 && d->entries[d->last - 1].highest_alike > 0;
}

bool
ls_pattern_digest_add_alike(ls_pattern_digest *d, const ls_pattern_text *text)
{
	return add_to_last(d, text, false);
}

bool
ls_pattern_digest_add_same(ls_pattern_digest *d, const ls_pattern_text *text)
{
	return add_to_last(d, text, true);
}

/* The texts whose sequence is known, then the others, each by hash. */
static void
sort_texts(entry *e)
{
	for (uint32_t i = 1; i < e->n; i++)
	{
		kept_text text = e->texts[i];
		uint32_t k = i;

		for (; k > 0 && goes_before(text.read, text.hash, &e->texts[k - 1]); k--)
			e->texts[k] = e->texts[k - 1];
		e->texts[k] = text;
	}
}

/* By group, then most rows first, then by hash: in no order of rows. */
static void
sort_entries(const ls_pattern_digest *d, sort_item *items)
{
	for (uint32_t i = 0; i < d->n; i++)
		items[i] = (sort_item){d->entries[i].hash, i};
	ls_sort_items(items, items + d->n, d->n);
	for (uint32_t i = 0; i < d->n; i++)
		items[i].key = UINT64_MAX - d->entries[items[i].value].rows;
	ls_sort_items(items, items + d->n, d->n);
	for (uint32_t i = 0; i < d->n; i++)
		items[i].key = d->entries[items[i].value].group;
	ls_sort_items(items, items + d->n, d->n);
}

const ls_pattern_text *
ls_pattern_digest_texts(ls_pattern_digest *d, size_t *n)
{
	sort_item *items = ls_arena_alloc(d->arena, ((size_t) d->n * 2 + 1) * sizeof(sort_item));
	ls_pattern_text *texts;
	size_t all = 0;

	for (uint32_t i = 0; i < d->n; i++)
		all += d->entries[i].n;
	texts = ls_arena_alloc(d->arena, (all + 1) * sizeof(ls_pattern_text));
	*n = 0;
	if (items == NULL || texts == NULL)
		return NULL;
	sort_entries(d, items);
	for (uint32_t i = 0; i < d->n; i++)
	{
		entry *e = &d->entries[items[i].value];
		ls_pattern_text *first = &texts[*n];
		uint32_t lowest = 0;

		sort_texts(e);
		for (uint32_t k = 0; k < e->n; k++)
		{
			texts[*n] = e->texts[k].text;
			texts[*n].hash = e->texts[k].hash;
			texts[(*n)++].same = k > 0 && e->texts[k].read;
			lowest = e->texts[k].hash < e->texts[lowest].hash ? k : lowest;
		}
		if (e->others == 0 || e->n == 0)
			continue;
		first[lowest].rows += e->others;
		add_times(&first[lowest].first, &first[lowest].last, e->first, e->last);
	}
	return texts;
}

size_t
ls_pattern_digest_size(const ls_pattern_digest *d)
{
	return d->n;
}

uint64_t
ls_pattern_digest_left_out(const ls_pattern_digest *d)
{
	return d->left_out;
}
