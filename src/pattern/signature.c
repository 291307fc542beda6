/*-------------------------------------------------------------------------
 *
 * signature.c
 *	  Makes rows with equal token sequences one signature with a count.
 *
 * This is the only step that touches every row; all later ones work on
 * signatures, of which there are about 1,000 for 10,000 rows.  A row costs
 * one scan and one look into a hash table.  Of the row that stands for a
 * signature the tokens' codes and its columns are kept, so that no row need be
 * scanned again before its template is written.
 *
 * The row that stands for a signature is the one with the smallest hash, not
 * the first: nothing may depend on the order of rows.  For the same reason
 * signatures are sorted at the end.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/columns.h"

/* An empty table of `size` slots in place of the old one. */
static uint32_t *
grow_table(miner *m, uint32_t *old, size_t old_size, size_t size)
{
	uint32_t *table =
		ls_arena_grow(m->arena, old, old_size * sizeof(uint32_t), size * sizeof(uint32_t));

	if (table != NULL)
		memset(table, 0, size * sizeof(uint32_t));
	return table;
}

/* ---- signatures ---- */

static bool
grow_signature_table(miner *m, uint32_t **table, size_t *size)
{
	size_t grown_size = *size * 4;
	uint32_t *grown = grow_table(m, *table, *size, grown_size);

	if (grown == NULL)
		return false;
	for (size_t i = 0; i < m->nsignatures; i++)
	{
		size_t slot = ls_hash_slot(m->signatures[i].hash, grown_size);

		while (grown[slot] != 0)
			slot = (slot + 1) & (grown_size - 1);
		grown[slot] = (uint32_t) i + 1;
	}
	*table = grown;
	*size = grown_size;
	return true;
}

/* The signature with this hash, a new one if there is none yet. */
static signature *
find_signature(miner *m, uint32_t **table, size_t *size, size_t *capacity, uint64_t hash)
{
	size_t slot;
	signature *s;

	if (m->nsignatures * 2 >= *size && !grow_signature_table(m, table, size))
		return NULL;
	slot = ls_hash_slot(hash, *size);
	while ((*table)[slot] != 0)
	{
		s = &m->signatures[(*table)[slot] - 1];
		if (s->hash == hash)
			return s;
		slot = (slot + 1) & (*size - 1);
	}
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
	(*table)[slot] = (uint32_t) m->nsignatures;
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
	size_t size = 4096;
	size_t capacity = m->nrows < 1024 ? 512 : m->nrows < 16384 ? m->nrows / 2 : 8192;
	uint32_t *table = grow_table(m, NULL, 0, size);
	token_list *list = ls_arena_alloc(m->arena, sizeof(token_list));

	m->row_hash = ls_arena_alloc(m->arena, (m->nrows + 1) * sizeof(uint64_t));
	m->row_signature = ls_arena_alloc(m->arena, (m->nrows + 1) * sizeof(uint32_t));
	m->signatures = ls_arena_alloc(m->arena, capacity * sizeof(signature));
	if (table == NULL || list == NULL || m->row_hash == NULL || m->row_signature == NULL ||
		m->signatures == NULL)
		return false;

	for (size_t i = 0; i < m->nrows; i++)
	{
		uint64_t row_hash = ls_hash64(m->rows[i].data, m->rows[i].len, 0);
		signature *s;

		ls_scan_row(list, m->rows[i]);
		s = find_signature(m, &table, &size, &capacity, list->hash);
		if (s == NULL || (s->count == 0 && !describe_signature(m, s, list, m->rows[i].data)))
			return false;
		s->count++;
		if (row_hash < s->row_hash || s->count == 1)
		{
			s->row_hash = row_hash;
			s->row = (uint32_t) i;
			if (s->columns != NULL)
				ls_place_columns(s->columns, list);
		}
		m->row_hash[i] = row_hash;
		m->row_signature[i] = (uint32_t) (s - m->signatures);
	}
	ls_arena_drop(m->arena, table, size * sizeof(uint32_t));
	return sort_signatures(m, capacity);
}
