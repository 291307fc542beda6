/*-------------------------------------------------------------------------
 *
 * shape.c
 *	  The canonical token sequence of a signature.
 *
 * Two rows of one statement may differ in their number of tokens: a list is
 * longer, an address has a port, a part in parentheses is missing, a stack is
 * deeper.  So runs of variables become one variable, parentheses with only
 * variables are dropped, and a short repeated sequence with a variable
 * (at <*> at <*>) is kept once.  Signatures with the same canonical sequence and
 * the same keys are one form.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/pattern_internal.h"

#define MAX_UNIT 8

static inline bool
is_variable(uint64_t code)
{
	token_kind kind = CODE_KIND(code);

	return kind == TOKEN_VARIABLE || kind == TOKEN_VALUE;
}

/*
 * Length of the sequence that the end of out[0..len) repeats, or 0.  It must
 * hold the last variable, which is at out[last].
 */
static inline uint32_t
repeated(const uint64_t *out, uint32_t len, uint32_t last)
{
	uint32_t unit = len - last > 2 ? len - last : 2;

	for (; unit <= MAX_UNIT && unit * 2 <= len; unit++)
	{
		const uint64_t *end = out + len - 1;
		uint32_t i = 0;

		while (i < unit && end[-(ptrdiff_t) i] == end[-(ptrdiff_t) (i + unit)])
			i++;
		if (i == unit)
			return unit;
	}
	return 0;
}

/* The part in parentheses that ends with token i is not in the sequence. */
static void
mark_parentheses(const uint64_t *codes, uint32_t *map, uint32_t i)
{
	for (;; i--)
	{
		bool open = codes[i] == CODE(TOKEN_SYMBOL, '(') && (map[i] & MAP_DROPPED) == 0;

		map[i] |= MAP_DROPPED;
		if (open || i == 0)
			return;
	}
}

static inline uint32_t
canonical_codes(const uint64_t *codes, uint32_t n, uint64_t *out, uint32_t *map)
{
	uint32_t len = 0;
	uint32_t last = NONE; /* the last variable */

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t code = codes[i];
		bool dropped = false;
		uint32_t unit;

		if (is_variable(code))
		{
			/* 1,2,3 and a:1:2 are one variable */
			while (len >= 2 && out[len - 2] == CODE_VARIABLE &&
				   (out[len - 1] == CODE(TOKEN_SYMBOL, ':') ||
					out[len - 1] == CODE(TOKEN_SYMBOL, ',') ||
					out[len - 1] == CODE(TOKEN_SYMBOL, '=')))
				len--;
			if (len == 0 || out[len - 1] != CODE_VARIABLE)
				out[len++] = CODE_VARIABLE;
		}
		else if (code == CODE(TOKEN_SYMBOL, ')') && len >= 2 &&
				 out[len - 1] == CODE(TOKEN_SYMBOL, '('))
		{
			len--;
			dropped = true;
		}
		else if (code == CODE(TOKEN_SYMBOL, ')') && len >= 3 && out[len - 1] == CODE_VARIABLE &&
				 out[len - 2] == CODE(TOKEN_SYMBOL, '('))
		{
			len -= 2;
			dropped = true;
		}
		else
			out[len++] = code;
		if (map != NULL)
			map[i] = len == 0 ? 0 : len - 1;
		if (map != NULL && dropped)
			mark_parentheses(codes, map, i);

		if (len > 0 && out[len - 1] == CODE_VARIABLE)
			last = len - 1;
		else if (last != NONE && last >= len)
		{
			/* it was dropped: look for the one before */
			last = NONE;
			for (uint32_t k = len; k > 0 && len - k < MAX_UNIT && last == NONE; k--)
				last = out[k - 1] == CODE_VARIABLE ? k - 1 : NONE;
		}
		unit = last != NONE ? repeated(out, len, last) : 0;
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

uint32_t
ls_canonical_codes(const uint64_t *codes, uint32_t n, uint64_t *out, uint32_t *map)
{
	/* most calls have no map: compiled apart */
	return map == NULL ? canonical_codes(codes, n, out, NULL) : canonical_codes(codes, n, out, map);
}

uint64_t *
ls_copy_codes(miner *m, const uint64_t *codes, uint32_t n)
{
	uint64_t *copy = ls_arena_alloc(m->arena, n * sizeof(uint64_t));

	if (copy != NULL)
		memcpy(copy, codes, n * sizeof(uint64_t));
	return copy;
}

uint64_t
ls_hash_template(uint64_t hard, const uint64_t *codes, uint32_t n)
{
	uint64_t out[MAX_TOKENS];
	uint32_t len = ls_canonical_codes(codes, n, out, NULL);
	uint64_t hash = hard;

	/* by value, not by bytes: the same on every machine */
	for (uint32_t i = 0; i < len; i++)
		hash = mix64(hash, out[i]);
	return mix64(hash, len);
}

/* Most rows first, as in sort_signatures. */
static bool
sort_forms(miner *m, size_t capacity)
{
	size_t n = m->nforms;
	sort_item *items = ls_arena_alloc(m->arena, (n + 1) * sizeof(sort_item) * 2);
	uint32_t *new_index = ls_arena_alloc(m->arena, (n + 1) * sizeof(uint32_t));
	form *sorted = ls_arena_alloc(m->arena, (n + 1) * sizeof(form));

	if (items == NULL || new_index == NULL || sorted == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		items[i] = (sort_item){m->forms[i].hash, (uint32_t) i};
	ls_sort_items(items, items + n, n);
	for (size_t i = 0; i < n; i++)
		items[i].key = UINT32_MAX - m->forms[items[i].value].count;
	ls_sort_items(items, items + n, n);
	for (size_t i = 0; i < n; i++)
	{
		new_index[items[i].value] = (uint32_t) i;
		sorted[i] = m->forms[items[i].value];
	}
	ls_arena_drop(m->arena, m->forms, capacity * sizeof(form));
	m->forms = sorted;
	for (size_t i = 0; i < m->nsignatures; i++)
	{
		if (m->signatures[i].form != NONE)
			m->signatures[i].form = new_index[m->signatures[i].form];
	}
	ls_arena_drop(m->arena, items, (n + 1) * sizeof(sort_item) * 2);
	return true;
}

/* A form by its hash. */
typedef struct form_slot
{
	uint64_t hash;
	uint32_t number; /* 1 + form; 0: free */
} form_slot;

#define LS_TABLE_NAME form
#define LS_TABLE_SLOT form_slot
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, k) ls_hash_keyed64(k)
#define LS_TABLE_EQUAL(t, slot, k) ((slot)->hash == (k))
#define LS_TABLE_IS_FREE(slot) ((slot)->number == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_keyed64((slot)->hash)
#define LS_TABLE_LOAD 66
#include "src/base/hash_table.h"

bool
ls_make_forms(miner *m)
{
	size_t capacity = 64;
	form_table table = {.arena = m->arena};
	uint64_t out[MAX_TOKENS];
	uint32_t joinable = 0;

	for (size_t i = 0; i < m->nsignatures; i++)
	{
		signature *s = &m->signatures[i];

		s->form = ls_is_lonely(m, s) ? NONE : 0;
		joinable += s->form == 0;
	}
	m->forms = ls_arena_alloc(m->arena, capacity * sizeof(form));
	if (!form_reserve(&table, joinable) || m->forms == NULL)
		return false;

	for (size_t i = 0; i < m->nsignatures; i++)
	{
		signature *s = &m->signatures[i];
		uint32_t whole = s->ntokens - s->body;
		uint64_t *body = s->codes + s->body;
		uint32_t n = ls_canonical_codes(body, whole, out, NULL);
		uint64_t hash;
		form_slot *slot;
		bool found;
		form *f;

		if (s->form == NONE)
		{
			s->id = ls_hash_template(s->hard, out, n);
			continue;
		}
		hash = mix64(s->hard, s->soft);
		for (uint32_t t = 0; t < n; t++)
			hash = mix64(hash, out[t]);
		slot = form_insert(&table, hash, &found);
		if (slot == NULL)
			return false;
		if (!found)
		{
			if (m->nforms == capacity)
			{
				m->forms = ls_arena_grow(m->arena, m->forms, capacity * sizeof(form),
										 capacity * 2 * sizeof(form));
				if (m->forms == NULL)
					return false;
				capacity *= 2;
			}
			f = &m->forms[m->nforms++];
			memset(f, 0, sizeof(*f));
			f->hard = s->hard;
			f->soft = s->soft;
			f->hash = hash;
			f->structured = s->structured;
			f->n = n;
			f->codes = n == whole && memcmp(out, body, n * sizeof(uint64_t)) == 0
						   ? body
						   : ls_copy_codes(m, out, n);
			if (f->codes == NULL)
				return false;
			*slot = (form_slot){hash, (uint32_t) m->nforms};
		}
		f = &m->forms[slot->number - 1];
		f->count += s->count;
		s->form = slot->number - 1;
	}
	form_free(&table);
	return sort_forms(m, capacity);
}
