/*-------------------------------------------------------------------------
 *
 * shape.c
 *	  The canonical token sequence of a signature.
 *
 * Two rows of one statement may differ in the number of their tokens: a list
 * is longer, an address has a port, a part in parentheses is missing, a stack
 * is deeper.  So runs of variables become one variable, parentheses that hold
 * nothing but variables are dropped, and a short sequence with a variable in
 * it that repeats (at <*> at <*>) is kept once.  Signatures with the same canonical sequence and
 * the same keys are one form.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/internal.h"

#include <stdlib.h>

#define MAX_UNIT 8

static inline bool
is_variable(const miner *m, uint32_t id)
{
	token_kind kind = CODE_KIND(m->codes[id]);

	return kind == TOKEN_VARIABLE || kind == TOKEN_VALUE;
}

/* Length of the sequence that the end of out[0..len) repeats, or 0. */
static uint32_t
repeated(const uint32_t *out, uint32_t len)
{
	for (uint32_t unit = 2; unit <= MAX_UNIT && unit * 2 <= len; unit++)
	{
		const uint32_t *last = out + len - unit;
		const uint32_t *before = last - unit;
		bool variable = false;
		uint32_t i = unit;

		while (i > 0 && last[i - 1] == before[i - 1])
			variable |= last[--i] == ID_VARIABLE;
		if (i == 0 && variable)
			return unit;
	}
	return 0;
}

/* The part in parentheses that ends with token i is not in the sequence. */
static void
mark_parentheses(const miner *m, const uint32_t *ids, uint32_t *map, uint32_t i)
{
	for (;; i--)
	{
		bool open = m->codes[ids[i]] == CODE(TOKEN_SYMBOL, '(') && (map[i] & MAP_DROPPED) == 0;

		map[i] |= MAP_DROPPED;
		if (open || i == 0)
			return;
	}
}

uint32_t
ls_canonical_ids(const miner *m, const uint32_t *ids, uint32_t n, uint32_t *out, uint32_t *map)
{
	uint32_t len = 0;
	bool variable = false;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t code = m->codes[ids[i]];
		bool dropped = false;
		uint32_t unit;

		if (is_variable(m, ids[i]))
		{
			/* 1,2,3 and a:1:2 are one variable */
			while (len >= 2 && out[len - 2] == ID_VARIABLE &&
				   (m->codes[out[len - 1]] == CODE(TOKEN_SYMBOL, ':') ||
					m->codes[out[len - 1]] == CODE(TOKEN_SYMBOL, ',') ||
					m->codes[out[len - 1]] == CODE(TOKEN_SYMBOL, '=')))
				len--;
			if (len == 0 || out[len - 1] != ID_VARIABLE)
				out[len++] = ID_VARIABLE;
		}
		else if (code == CODE(TOKEN_SYMBOL, ')') && len >= 2 &&
				 m->codes[out[len - 1]] == CODE(TOKEN_SYMBOL, '('))
		{
			len--;
			dropped = true;
		}
		else if (code == CODE(TOKEN_SYMBOL, ')') && len >= 3 && out[len - 1] == ID_VARIABLE &&
				 m->codes[out[len - 2]] == CODE(TOKEN_SYMBOL, '('))
		{
			len -= 2;
			dropped = true;
		}
		else
			out[len++] = ids[i];
		if (map != NULL)
			map[i] = len == 0 ? 0 : len - 1;
		if (map != NULL && dropped)
			mark_parentheses(m, ids, map, i);

		variable |= len > 0 && out[len - 1] == ID_VARIABLE;
		unit = variable ? repeated(out, len) : 0;
		if (unit > 0)
		{
			len -= unit;
			/* a copy dropped before may lie between tokens that move now */
			for (uint32_t k = 0; map != NULL && k <= i; k++)
			{
				if (MAP_PLACE(map[k]) >= len)
					map[k] = (MAP_PLACE(map[k]) - unit) | MAP_DROPPED;
			}
		}
	}
	return len;
}

static int
compare_forms(const void *a, const void *b)
{
	const form *x = a;
	const form *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

bool
ls_make_forms(miner *m)
{
	size_t size = 64;
	uint32_t *table;
	uint32_t *new_index;
	uint32_t out[MAX_TOKENS];

	while (size < m->nsignatures * 2)
		size *= 2;
	table = ls_new_array(m->arena, uint32_t, size);
	m->forms = ls_arena_alloc(m->arena, (m->nsignatures + 1) * sizeof(form));
	new_index = ls_arena_alloc(m->arena, (m->nsignatures + 1) * sizeof(uint32_t));
	if (table == NULL || m->forms == NULL || new_index == NULL)
		return false;

	for (size_t i = 0; i < m->nsignatures; i++)
	{
		signature *s = &m->signatures[i];
		uint32_t n = ls_canonical_ids(m, s->ids + s->body, s->ntokens - s->body, out, NULL);
		uint64_t hash = mix64(s->hard, s->soft);
		size_t slot;
		form *f;

		for (uint32_t t = 0; t < n; t++)
			hash = mix64(hash, m->codes[out[t]]);
		slot = hash & (size - 1);
		while (table[slot] != 0 && m->forms[table[slot] - 1].hash != hash)
			slot = (slot + 1) & (size - 1);
		if (table[slot] == 0)
		{
			f = &m->forms[m->nforms++];
			memset(f, 0, sizeof(*f));
			f->hard = s->hard;
			f->soft = s->soft;
			f->hash = hash;
			f->n = n;
			f->ids = ls_arena_alloc(m->arena, n * sizeof(uint32_t));
			if (f->ids == NULL)
				return false;
			memcpy(f->ids, out, n * sizeof(uint32_t));
			f->group = (uint32_t) m->nforms - 1; /* its old index, through the sort */
			table[slot] = (uint32_t) m->nforms;
		}
		f = &m->forms[table[slot] - 1];
		f->count += s->count;
		s->form = table[slot] - 1;
	}
	qsort(m->forms, m->nforms, sizeof(form), compare_forms);
	for (size_t i = 0; i < m->nforms; i++)
		new_index[m->forms[i].group] = (uint32_t) i;
	for (size_t i = 0; i < m->nsignatures; i++)
		m->signatures[i].form = new_index[m->signatures[i].form];
	return true;
}
