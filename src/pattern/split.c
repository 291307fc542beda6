/*-------------------------------------------------------------------------
 *
 * split.c
 *	  Splits clusters where constants differ: a cluster becomes one or more groups.
 *
 * Similar is not the same: "door opened" and "door closed" share half of their
 * words.  The number of values at a position shows whether it is constant.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/pattern_internal.h"

#define MAX_SPLITS 32
#define MANY_FORMS 16 /* enough, even where the forms share a single word */

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
	g->segments = 0;
	g->alone = first->alone;
	g->structured = first->structured;
	g->codes = n == 1 ? first->codes : ls_copy_codes(m, first->codes, g->n);
	if (g->codes == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
	{
		form *f = &m->forms[members[i]];

		f->group = (uint32_t) m->ngroups;
		if (members[i] < g->first)
			g->first = members[i];
		for (uint32_t p = 0; p < g->n; p++)
		{
			if (f->codes[p] != g->codes[p])
				g->codes[p] = CODE_VARIABLE;
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
constant_position(const miner *m, const uint32_t *members, size_t n, uint64_t *values,
				  uint32_t *nvalues)
{
	uint32_t best = NONE;
	uint32_t best_count = FEW_VALUES;
	uint32_t len = m->forms[members[0]].n;

	for (uint32_t p = 0; p < len && best_count > 2; p++)
	{
		uint64_t found[FEW_VALUES];
		uint32_t count = 0;

		for (size_t i = 0; i < n && count < best_count; i++)
		{
			uint64_t id = m->forms[members[i]].codes[p];
			uint32_t v = 0;

			if (!is_word(id))
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
			memcpy(values, found, count * sizeof(uint64_t));
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

		if (!is_word(first->codes[p]))
			continue;
		while (i < n && m->forms[members[i]].codes[p] == first->codes[p])
			i++;
		words += i == n;
		vary |= i < n;
	}
	return words < MIN_WORDS && vary;
}

static bool
split(miner *m, uint32_t *members, uint32_t *scratch, size_t n, int depth)
{
	uint64_t values[FEW_VALUES];
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
			if (m->forms[members[i]].codes[p] == values[v])
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

bool
ls_split_cluster(miner *m, uint32_t *members, uint32_t *scratch, size_t n)
{
	return split(m, members, scratch, n, 0);
}
