/*-------------------------------------------------------------------------
 *
 * group_wanted.c
 *	  The wanted groups at the end: the first ones by their keys, or those with the most or
 *	  the fewest rows.
 *
 * The order is exactly that of the statement around the groups (ls_plan_append_group), so a
 * group that is left out here could not be in its result.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/group_internal.h"

#include "miscadmin.h"

static bool
counts(const ls_groups *g, uint32 group)
{
	if (g->counts[group] == 0)
		return false;
	for (int i = 0; i < g->n_fields && (i == 0 || g->wanted.known); i++)
	{
		ls_str key = ls_group_tuple_key(g, group, i);

		if (key.data == NULL ? g->wanted.known : key.len == 0)
			return false;
	}
	return true;
}

/* <0: a comes before b. */
static int
compare_groups(const ls_groups *g, uint32 a, uint32 b)
{
	int order = 0;

	if (g->wanted.kind != WANTED_FIRST && g->counts[a] != g->counts[b])
		return (g->counts[a] > g->counts[b]) == (g->wanted.kind == WANTED_MOST) ? -1 : 1;
	for (int i = 0; i < g->n_fields && order == 0; i++)
		order = ls_wanted_compare_keys(ls_group_tuple_key(g, a, i), ls_group_tuple_key(g, b, i));
	return order;
}

static void
sift_down(const ls_groups *g, uint32 *heap, uint32 n, uint32 i, uint32 group)
{
	for (;;)
	{
		uint32 child = 2 * i + 1;

		if (child >= n)
			break;
		if (child + 1 < n && compare_groups(g, heap[child], heap[child + 1]) < 0)
			child++;
		if (compare_groups(g, heap[child], group) <= 0)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = group;
}

uint64
ls_wanted_total(const ls_groups *g)
{
	uint64 total = 0;

	for (uint32 group = 1; g->wanted.kind != WANTED_ALL && group < ls_groups_end(g); group++)
		total += counts(g, group) ? g->counts[group] : 0;
	return total;
}

uint32 *
ls_wanted_groups(ls_groups *g, uint32 *n, uint64 *total)
{
	uint32 end = ls_groups_end(g);
	uint32 most = Min(g->wanted.n, end);
	uint32 *heap;

	*n = 0;
	*total = ls_wanted_total(g);
	if (g->wanted.kind == WANTED_ALL)
		return NULL;
	heap = checked(ls_new_array(g->arena, uint32, most + 1));
	for (uint32 group = 1; group < end; group++)
	{
		if (group % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (!counts(g, group))
			continue;
		if (*n < most)
		{
			uint32 i = (*n)++;

			for (; i > 0 && compare_groups(g, heap[(i - 1) / 2], group) < 0; i = (i - 1) / 2)
				heap[i] = heap[(i - 1) / 2];
			heap[i] = group;
		}
		else if (compare_groups(g, group, heap[0]) < 0)
			sift_down(g, heap, *n, 0, group);
	}
	return heap;
}
