/*-------------------------------------------------------------------------
 *
 * filter.c
 *	  Filters over the blocks of a part (pure).
 *
 * A filter is evaluated node by node over a whole block, as bitmaps of rows.
 * Each node reads only the rows that can still match, and cheap nodes come first.
 * When no row is left, evaluation stops, so the columns of the other nodes are
 * never fetched.  Nodes that are decided for the whole part (by a field that no
 * row has) are removed before the first block.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/filter_eval.h"

typedef enum node_state
{
	NODE_OPEN,
	NODE_ALWAYS,
	NODE_NEVER
} node_state;

typedef struct ls_filter_node
{
	ls_filter_op op; /* AND, OR, NOT; else a leaf */
	node_state state;
	uint32_t cost;
	struct ls_filter_node **children;
	uint32_t n_children;
	ls_leaf leaf;
} ls_filter_node;

/* The rough cost of a leaf per row, for ordering the nodes of AND. */
static uint32_t
leaf_cost(const ls_filter *filter)
{
	switch (filter->op)
	{
		case LS_FILTER_PHRASE:
			return 40;
		case LS_FILTER_PHRASE_WILDCARD:
			return 60;
		case LS_FILTER_MATCHES:
			return 200;
		default:
			break;
	}
	switch (filter->target)
	{
		case LS_TARGET_TIMESTAMP:
		case LS_TARGET_INGESTED_AT:
			return 2;
		case LS_TARGET_ID:
			return 6;
		case LS_TARGET_NAMED:
			return filter->field == LS_FIELD_EVENT ? 40 : 3;
		default:
			return filter->n_path > 1 ? 20 : 5;
	}
}

/* Drops children that decide nothing; the node may become constant itself. */
static void
simplify(ls_filter_node *node)
{
	node_state ends = node->op == LS_FILTER_AND ? NODE_NEVER : NODE_ALWAYS;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < node->n_children; i++)
	{
		if (node->children[i]->state == ends)
		{
			node->state = ends;
			return;
		}
		if (node->children[i]->state == NODE_OPEN)
		{
			node->cost += node->children[i]->cost;
			node->children[kept++] = node->children[i];
		}
	}
	node->n_children = kept;
	if (kept == 0)
		node->state = node->op == LS_FILTER_AND ? NODE_ALWAYS : NODE_NEVER;
}

static void
order_by_cost(ls_filter_node *node)
{
	for (uint32_t i = 1; i < node->n_children; i++)
	{
		ls_filter_node *moved = node->children[i];
		uint32_t to = i;

		while (to > 0 && node->children[to - 1]->cost > moved->cost)
		{
			node->children[to] = node->children[to - 1];
			to--;
		}
		node->children[to] = moved;
	}
}

static ls_filter_node *
prepare_node(ls_filter_run *run, const ls_filter *filter)
{
	ls_filter_node *node = ls_new(run->arena, ls_filter_node);

	if (node == NULL)
		return NULL;
	node->op = filter->op;
	if (filter->op == LS_FILTER_AND || filter->op == LS_FILTER_OR || filter->op == LS_FILTER_NOT)
	{
		node->n_children = filter->n_children;
		node->children = ls_new_array(run->arena, ls_filter_node *, filter->n_children + 1);
		if (node->children == NULL)
			return NULL;
		for (uint32_t i = 0; i < filter->n_children; i++)
		{
			node->children[i] = prepare_node(run, filter->children[i]);
			if (node->children[i] == NULL)
				return NULL;
		}
		if (filter->op == LS_FILTER_NOT)
		{
			node->cost = node->children[0]->cost;
			node->state = node->children[0]->state == NODE_ALWAYS  ? NODE_NEVER
						  : node->children[0]->state == NODE_NEVER ? NODE_ALWAYS
																   : NODE_OPEN;
			return node;
		}
		simplify(node);
		if (node->state == NODE_OPEN)
			order_by_cost(node);
		return node;
	}
	node->cost = leaf_cost(filter);
	if (!ls_leaf_prepare(run, filter, &node->leaf) || !ls_leaf_find_columns(run, &node->leaf))
		return NULL;
	if ((ls_is_text_op(filter->op) || filter->target == LS_TARGET_NAMED ||
		 filter->target == LS_TARGET_ATTRIBUTE) &&
		node->leaf.n_columns == 0)
		node->state = NODE_NEVER;
	return node;
}

ls_filter_run *
ls_filter_prepare(ls_arena *arena, ls_part *part, const ls_filter *filter, ls_time from, ls_time to)
{
	ls_filter_run *run = ls_new(arena, ls_filter_run);

	if (run == NULL)
		return NULL;
	run->arena = arena;
	run->part = part;
	run->from = from;
	run->to = to;
	ls_buf_init(&run->fold, arena);
	ls_buf_init(&run->member, arena);
	if (filter != NULL)
	{
		run->root = prepare_node(run, filter);
		if (run->root == NULL)
			return NULL;
	}
	return run;
}

void
ls_filter_interruptible(ls_filter_run *run, const volatile sig_atomic_t *pending,
						void (*handle)(void))
{
	run->interrupt = pending;
	run->on_interrupt = handle;
}

void
ls_filter_machine(ls_filter_run *run, ls_arena *arena, ls_regex_set *set)
{
	run->machine_arena = arena;
	run->machine_set = set;
}

const char *
ls_filter_error(const ls_filter_run *run)
{
	if (run->error != NULL)
		return run->error;
	if (run->fold.failed || run->member.failed || ls_arena_failed(run->arena))
		return "out of memory";
	return ls_part_error(run->part);
}

static bool
is_empty(const uint64_t *bits)
{
	uint64_t any = 0;

	for (uint32_t w = 0; w < LS_SELECTION_WORDS; w++)
		any |= bits[w];
	return any == 0;
}

/* Sets `out` to the rows of `in` for which the node is true. */
static bool
eval_node(ls_filter_run *run, ls_filter_node *node, uint32_t block, const uint64_t *in,
		  uint64_t *out)
{
	uint64_t found[LS_SELECTION_WORDS];
	uint64_t left[LS_SELECTION_WORDS];

	if (node->state != NODE_OPEN)
	{
		if (node->state == NODE_ALWAYS)
			memcpy(out, in, sizeof(found));
		else
			memset(out, 0, sizeof(found));
		return true;
	}
	switch (node->op)
	{
		case LS_FILTER_AND:
			memcpy(out, in, sizeof(found));
			for (uint32_t i = 0; i < node->n_children && !is_empty(out); i++)
			{
				memcpy(left, out, sizeof(left));
				if (!eval_node(run, node->children[i], block, left, out))
					return false;
			}
			return true;
		case LS_FILTER_OR:
			memset(out, 0, sizeof(found));
			memcpy(left, in, sizeof(left));
			for (uint32_t i = 0; i < node->n_children && !is_empty(left); i++)
			{
				if (!eval_node(run, node->children[i], block, left, found))
					return false;
				for (uint32_t w = 0; w < LS_SELECTION_WORDS; w++)
				{
					out[w] |= found[w];
					left[w] &= ~found[w];
				}
			}
			return true;
		case LS_FILTER_NOT:
			if (!eval_node(run, node->children[0], block, in, found))
				return false;
			for (uint32_t w = 0; w < LS_SELECTION_WORDS; w++)
				out[w] = in[w] & ~found[w];
			return true;
		default:
			return ls_leaf_eval(run, &node->leaf, block, in, out);
	}
}

/*
 * Clears in *blocks the bit of each block in which the node is true for no row.  Cheap
 * leaves come first; stops when no block is left.
 */
static bool
prune_node(ls_filter_run *run, ls_filter_node *node, uint32_t *blocks)
{
	uint32_t any = 0;

	if (node->state != NODE_OPEN)
	{
		if (node->state == NODE_NEVER)
			*blocks = 0;
		return true;
	}
	switch (node->op)
	{
		case LS_FILTER_AND:
			for (uint32_t i = 0; i < node->n_children && *blocks != 0; i++)
			{
				if (!prune_node(run, node->children[i], blocks))
					return false;
			}
			return true;
		case LS_FILTER_OR:
			for (uint32_t i = 0; i < node->n_children; i++)
			{
				uint32_t some = *blocks;

				if (!prune_node(run, node->children[i], &some))
					return false;
				any |= some;
			}
			*blocks = any;
			return true;
		case LS_FILTER_NOT:
			return true;
		default:
			return ls_leaf_prune(run, &node->leaf, blocks);
	}
}

bool
ls_filter_may_match(ls_filter_run *run, uint32_t block, bool *may)
{
	*may = false;
	if (run->error != NULL || block >= ls_part_blocks(run->part))
		return false;
	if (!run->pruned)
	{
		run->blocks = 0;
		for (uint32_t b = 0; b < ls_part_blocks(run->part); b++)
		{
			ls_time min;
			ls_time max;

			ls_part_block_times(run->part, b, &min, &max);
			run->blocks |= (uint32_t) (max >= run->from && min < run->to) << b;
		}
		if (run->root != NULL && !prune_node(run, run->root, &run->blocks))
			return false;
		run->pruned = true;
	}
	*may = (run->blocks >> block & 1) != 0;
	return true;
}

/* The rows of a block in the time range. */
static bool
select_times(ls_filter_run *run, uint32_t block, uint32_t rows, uint64_t *selected)
{
	const ls_time *times;
	ls_time min, max;

	memset(selected, 0, LS_SELECTION_WORDS * sizeof(uint64_t));
	ls_part_block_times(run->part, block, &min, &max);
	if (min >= run->from && max < run->to)
	{
		for (uint32_t w = 0; w < rows / 64; w++)
			selected[w] = UINT64_MAX;
		if (rows % 64 != 0)
			selected[rows / 64] = (UINT64_C(1) << (rows % 64)) - 1;
		return true;
	}
	times = ls_part_timestamps(run->part, block);
	if (times == NULL)
		return false;
	for (uint32_t r = 0; r < rows; r++)
		selected[r / 64] |= (uint64_t) (times[r] >= run->from && times[r] < run->to) << (r % 64);
	return true;
}

bool
ls_filter_block(ls_filter_run *run, uint32_t block, uint64_t *selected, uint32_t *matched)
{
	uint64_t in[LS_SELECTION_WORDS];
	bool may;

	*matched = 0;
	if (!ls_filter_may_match(run, block, &may))
		return false;
	if (!may)
	{
		memset(selected, 0, sizeof(in));
		return true;
	}
	if (!select_times(run, block, ls_part_block_rows(run->part, block), selected))
		return false;
	if (run->root != NULL && !is_empty(selected))
	{
		memcpy(in, selected, sizeof(in));
		if (!eval_node(run, run->root, block, in, selected))
			return false;
	}
	*matched = ls_count_rows(selected);
	return true;
}
