/*-------------------------------------------------------------------------
 *
 * signature.c
 *	  Combines rows with equal token sequences into one signature with a count.
 *
 * This is the only step that touches every row; all later ones work on
 * signatures, of which there are about 1,000 for 10,000 rows.  A row costs
 * one scan and one lookup in a hash table.  For the row that represents a
 * signature, the codes of its tokens and its columns are kept, so no row is scanned
 * again before its template is written.  Texts of a digest come with their hash, and
 * of those of one entry only the first is scanned.
 *
 * A signature is represented by the row with the smallest hash, not by the first
 * row, because nothing may depend on the order of rows.  For the same reason
 * signatures are sorted at the end.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/columns.h"

/* That there is room for at first. */
#define FIRST_SIGNATURES 2048

/* A signature by its hash. */
typedef struct signature_slot
{
	uint64_t hash;
	uint32_t number; /* 1 + signature; 0: free */
} signature_slot;

#define LS_TABLE_NAME signature
#define LS_TABLE_SLOT signature_slot
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, k) ls_hash_keyed64(k)
#define LS_TABLE_EQUAL(t, slot, k) ((slot)->hash == (k))
#define LS_TABLE_IS_FREE(slot) ((slot)->number == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_keyed64((slot)->hash)
#include "src/base/hash_table.h"

/* The signature with this hash, a new one if there is none yet. */
static signature *
find_signature(miner *m, signature_table *table, size_t *capacity, uint64_t hash)
{
	bool found;
	signature_slot *slot = signature_insert(table, hash, &found);
	signature *s;

	if (slot == NULL)
		return NULL;
	if (found)
		return &m->signatures[slot->number - 1];
	if (m->nsignatures == *capacity)
	{
		signature *grown = ls_arena_grow(m->arena, m->signatures, *capacity * sizeof(signature),
										 *capacity * 2 * sizeof(signature));

		if (grown == NULL)
			return NULL;
		m->signatures = grown;
		*capacity *= 2;
	}
	s = &m->signatures[m->nsignatures++];
	memset(s, 0, sizeof(*s));
	s->hash = hash;
	s->row_hash = UINT64_MAX;
	*slot = (signature_slot){hash, (uint32_t) m->nsignatures};
	return s;
}

/* Most rows first: they are the best seeds of a join.  No two are equal. */
static bool
sort_signatures(miner *m, size_t capacity)
{
	size_t n = m->nsignatures;
	sort_item *items = ls_arena_alloc(m->arena, (n + 1) * sizeof(sort_item) * 2);
	uint32_t *new_index = ls_arena_alloc(m->arena, (n + 1) * sizeof(uint32_t));
	signature *sorted = ls_arena_alloc(m->arena, (n + 1) * sizeof(signature));

	if (items == NULL || new_index == NULL || sorted == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		items[i] = (sort_item){m->signatures[i].hash, (uint32_t) i};
	ls_sort_items(items, items + n, n);
	for (size_t i = 0; i < n; i++)
		items[i].key = UINT32_MAX - m->signatures[items[i].value].count;
	ls_sort_items(items, items + n, n);
	for (size_t i = 0; i < n; i++)
	{
		new_index[items[i].value] = (uint32_t) i;
		sorted[i] = m->signatures[items[i].value];
	}
	ls_arena_drop(m->arena, m->signatures, capacity * sizeof(signature));
	m->signatures = sorted;
	for (size_t i = 0; i < m->nrows; i++)
		m->row_signature[i] = new_index[m->row_signature[i]];
	ls_arena_drop(m->arena, items, (n + 1) * sizeof(sort_item) * 2);
	return true;
}

/* What is the same for all rows of a new signature. */
static bool
describe_signature(miner *m, signature *s, const token_list *list, const char *row)
{
	bool timed = false;

	s->ntokens = list->n;
	s->structured = list->structured;
	s->codes = ls_arena_alloc(m->arena, list->n * sizeof(uint64_t));
	if (s->codes == NULL)
		return false;
	for (uint32_t t = 0; t < list->n; t++)
	{
		s->codes[t] = list->t[t].code;
		if (CODE_KIND(list->t[t].code) == TOKEN_LEVEL)
			s->hard = mix64(s->hard, list->t[t].code);
		/* without a variable near its start a row has no time, thus no header */
		timed |= t < MAX_COLUMNS && CODE_KIND(list->t[t].code) == TOKEN_VARIABLE;
	}
	if (timed && !list->structured)
	{
		s->columns = ls_arena_alloc(m->arena, sizeof(columns));
		if (s->columns == NULL)
			return false;
		memset(s->columns, 0, sizeof(columns));
		ls_describe_columns(s->columns, list, row);
	}
	return true;
}

bool
ls_make_signatures(miner *m)
{
	size_t capacity = m->nrows < 1024 ? 512 : m->nrows < 16384 ? m->nrows / 2 : 8192;
	signature_table table = {.arena = m->arena};
	token_list *list = ls_arena_alloc(m->arena, sizeof(token_list));

	m->row_hash = ls_arena_alloc(m->arena, (m->nrows + 1) * sizeof(uint64_t));
	m->row_signature = ls_arena_alloc(m->arena, (m->nrows + 1) * sizeof(uint32_t));
	m->signatures = ls_arena_alloc(m->arena, capacity * sizeof(signature));
	if (!signature_reserve(&table, FIRST_SIGNATURES) || list == NULL || m->row_hash == NULL ||
		m->row_signature == NULL || m->signatures == NULL)
		return false;

	for (size_t i = 0; i < m->nrows; i++)
	{
		bool same = m->texts != NULL && m->texts[i].same && i > 0;
		uint64_t row_hash =
			m->texts != NULL ? m->texts[i].hash : ls_hash64(m->rows[i].data, m->rows[i].len, 0);
		signature *s;
		bool fresh;

		if (same)
			s = &m->signatures[m->row_signature[i - 1]];
		else
		{
			ls_scan_row(list, m->rows[i]);
			s = find_signature(m, &table, &capacity, list->hash);
			if (s == NULL)
				return false;
		}
		fresh = s->count == 0;
		if (fresh && !describe_signature(m, s, list, m->rows[i].data))
			return false;
		s->count += row_count(m, i);
		if (row_hash < s->row_hash || fresh)
		{
			s->row_hash = row_hash;
			s->row = (uint32_t) i;
			if (s->columns != NULL && same)
				ls_scan_row(list, m->rows[i]);
			if (s->columns != NULL)
				ls_place_columns(s->columns, list);
		}
		m->row_hash[i] = row_hash;
		m->row_signature[i] = (uint32_t) (s - m->signatures);
	}
	signature_free(&table);
	return sort_signatures(m, capacity);
}
