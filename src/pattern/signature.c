/*-------------------------------------------------------------------------
 *
 * signature.c
 *	  Makes rows with equal token sequences one signature with a count.
 *
 * This is the only step that touches every row; all later ones work on
 * signatures, of which there are about 1,000 for 10,000 rows.  A row costs
 * one scan and one look into a hash table.
 *
 * The row that stands for a signature is the one with the smallest hash, not
 * the first: nothing may depend on the order of rows.  For the same reason
 * signatures are sorted at the end.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/internal.h"

#include <stdlib.h>

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

/* ---- interned codes ---- */

static bool
grow_code_table(miner *m)
{
	size_t size = m->code_table_size == 0 ? 1024 : m->code_table_size * 2;
	uint32_t *table = grow_table(m, m->code_table, m->code_table_size, size);

	if (table == NULL)
		return false;
	for (size_t i = 0; i < m->ncodes; i++)
	{
		size_t slot = m->codes[i] * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (size - 1);

		while (table[slot] != 0)
			slot = (slot + 1) & (size - 1);
		table[slot] = (uint32_t) i + 1;
	}
	m->code_table = table;
	m->code_table_size = size;
	return true;
}

uint32_t
ls_intern_code(miner *m, uint64_t code)
{
	size_t slot;

	if (m->ncodes * 2 >= m->code_table_size && !grow_code_table(m))
		return UINT32_MAX;
	slot = code * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (m->code_table_size - 1);
	while (m->code_table[slot] != 0)
	{
		uint32_t id = m->code_table[slot] - 1;

		if (m->codes[id] == code)
			return id;
		slot = (slot + 1) & (m->code_table_size - 1);
	}
	if (m->ncodes == m->codes_capacity)
	{
		size_t capacity = m->codes_capacity == 0 ? 1024 : m->codes_capacity * 2;
		uint64_t *codes = ls_arena_grow(m->arena, m->codes, m->codes_capacity * sizeof(uint64_t),
										capacity * sizeof(uint64_t));

		if (codes == NULL)
			return UINT32_MAX;
		m->codes = codes;
		m->codes_capacity = capacity;
	}
	m->codes[m->ncodes] = code;
	m->code_table[slot] = (uint32_t) m->ncodes + 1;
	return (uint32_t) m->ncodes++;
}

/* ---- signatures ---- */

static uint64_t
hash_tokens(const token_list *list)
{
	uint64_t h = list->structured ? 1 : 2;

	for (uint32_t i = 0; i < list->n; i++)
		h = mix64(h, list->t[i].code + list->t[i].spaced);
	return h;
}

/* Most rows first: they are the best seeds of a join.  No two are equal. */
static int
compare_signatures(const void *a, const void *b)
{
	const signature *x = a;
	const signature *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static bool
grow_signature_table(miner *m, uint32_t **table, size_t *size)
{
	size_t grown_size = *size * 4;
	uint32_t *grown = grow_table(m, *table, *size, grown_size);

	if (grown == NULL)
		return false;
	for (size_t i = 0; i < m->nsignatures; i++)
	{
		size_t slot = m->signatures[i].hash & (grown_size - 1);

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
	slot = hash & (*size - 1);
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

static bool
sort_signatures(miner *m)
{
	uint32_t *new_index = ls_new_array(m->arena, uint32_t, m->nsignatures + 1);

	if (new_index == NULL)
		return false;
	/* `form` carries the old index through the sort. */
	for (size_t i = 0; i < m->nsignatures; i++)
		m->signatures[i].form = (uint32_t) i;
	qsort(m->signatures, m->nsignatures, sizeof(signature), compare_signatures);
	for (size_t i = 0; i < m->nsignatures; i++)
		new_index[m->signatures[i].form] = (uint32_t) i;
	for (size_t i = 0; i < m->nrows; i++)
		m->row_signature[i] = new_index[m->row_signature[i]];
	return true;
}

bool
ls_make_signatures(miner *m)
{
	size_t size = 4096;
	size_t capacity = 512;
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
		s = find_signature(m, &table, &size, &capacity, hash_tokens(list));
		if (s == NULL)
			return false;
		s->count++;
		if (row_hash < s->row_hash || s->count == 1)
		{
			s->row_hash = row_hash;
			s->row = (uint32_t) i;
		}
		m->row_hash[i] = row_hash;
		m->row_signature[i] = (uint32_t) (s - m->signatures);
	}
	return sort_signatures(m);
}
