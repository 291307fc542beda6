/*-------------------------------------------------------------------------
 *
 * filter_counts.c
 *	  What a filter says about levels, and about the values of one field (pure).
 *
 * Parts count their rows by level, and by level and value of columns with few values.  If a
 * filter depends on nothing else, these counts say how many rows match.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/filter_eval.h"

/* Leaves of a filter that is decided by values. */
#define MAX_LEAVES 16

/* The leaves on one field, and what they say about one of its values. */
typedef struct ls_value_leaves
{
	uint32_t n;
	const ls_filter *filters[MAX_LEAVES];
	ls_leaf leaves[MAX_LEAVES];
	bool match[MAX_LEAVES];
} ls_value_leaves;

/* ---- levels ---- */

/*
 * The levels for which a filter may be true, and those for which it surely is.
 * NOT needs the second.
 */
typedef struct level_masks
{
	uint32_t may;
	uint32_t must;
} level_masks;

#define ALL_LEVELS ((1u << LS_LEVELS) - 1)
#define PRESENT_LEVELS (ALL_LEVELS & ~(1u << LS_LEVEL_NONE))

/* `level` compared with a text: the rows where it is equal. */
static level_masks
equal_masks(const ls_filter *leaf)
{
	static const char *const names[] = {"trace", "debug", "info", "warn", "error", "fatal"};
	level_masks masks = {0, 0};

	/* Only a level with a non-standard name can look like a number. */
	if (leaf->op != LS_FILTER_IN && leaf->numeric)
		return (level_masks){1u << LS_LEVEL_OTHER, 0};
	if (leaf->op == LS_FILTER_WILDCARD || leaf->op == LS_FILTER_NE_WILDCARD)
	{
		/* Leave wildcards to the scan, except the simplest ones. */
		for (uint32_t l = 0; l < LS_LEVEL_OTHER; l++)
		{
			size_t n = 0;

			while (n < leaf->text.len && leaf->text.data[n] != '*')
				n++;
			if (n <= strlen(names[l]) &&
				ls_str_eq_nocase(ls_str_make(leaf->text.data, n), ls_str_make(names[l], n)))
				masks.may |= 1u << l;
		}
		masks.may |= 1u << LS_LEVEL_OTHER;
		return masks;
	}
	for (uint32_t l = 0; l < LS_LEVEL_OTHER; l++)
	{
		if (ls_str_eq_nocase(leaf->text, ls_str_make(names[l], strlen(names[l]))))
			masks.may = 1u << l;
	}
	/* A case-sensitive "error" may differ from the row's "ERROR". */
	if (leaf->ignore_case)
		masks.must = masks.may;
	if (masks.may == 0)
		masks.may = 1u << LS_LEVEL_OTHER;
	return masks;
}

/* `decided`: leaves that are true or false for all rows; NULL: none are. */
static level_masks
level_masks_of(const ls_filter *node, const ls_value_leaves *decided)
{
	level_masks masks = {ALL_LEVELS, 0};
	level_masks child;

	for (uint32_t i = 0; decided != NULL && i < decided->n; i++)
	{
		if (decided->filters[i] == node)
			return decided->match[i] ? (level_masks){ALL_LEVELS, ALL_LEVELS} : (level_masks){0, 0};
	}
	switch (node->op)
	{
		case LS_FILTER_AND:
			masks.must = ALL_LEVELS;
			for (uint32_t i = 0; i < node->n_children; i++)
			{
				child = level_masks_of(node->children[i], decided);
				masks.may &= child.may;
				masks.must &= child.must;
			}
			return masks;
		case LS_FILTER_OR:
			masks.may = 0;
			for (uint32_t i = 0; i < node->n_children; i++)
			{
				child = level_masks_of(node->children[i], decided);
				masks.may |= child.may;
				masks.must |= child.must;
			}
			return masks;
		case LS_FILTER_NOT:
			child = level_masks_of(node->children[0], decided);
			return (level_masks){ALL_LEVELS & ~child.must, ALL_LEVELS & ~child.may};
		case LS_FILTER_PHRASE:
		case LS_FILTER_PHRASE_WILDCARD:
			return masks;
		default:
			break;
	}
	if (node->target != LS_TARGET_NAMED || node->field != LS_FIELD_LEVEL)
		return masks;
	switch (node->op)
	{
		case LS_FILTER_PRESENT:
			return (level_masks){PRESENT_LEVELS, PRESENT_LEVELS};
		case LS_FILTER_EQ:
		case LS_FILTER_WILDCARD:
			return equal_masks(node);
		case LS_FILTER_NE:
		case LS_FILTER_NE_WILDCARD:
			child = equal_masks(node);
			return (level_masks){PRESENT_LEVELS & ~child.must, PRESENT_LEVELS & ~child.may};
		case LS_FILTER_IN:
			masks.may = 0;
			for (uint32_t i = 0; i < node->n_children; i++)
			{
				child = equal_masks(node->children[i]);
				masks.may |= child.may;
				masks.must |= child.must;
			}
			return masks;
		default:
			return (level_masks){PRESENT_LEVELS, 0};
	}
}

uint32_t
ls_filter_level_mask(const ls_filter *filter)
{
	return filter == NULL ? ALL_LEVELS : level_masks_of(filter, NULL).may;
}

bool
ls_filter_by_level(const ls_filter *filter, uint32_t levels, uint32_t *matching)
{
	level_masks masks = {ALL_LEVELS, ALL_LEVELS};

	if (filter != NULL)
		masks = level_masks_of(filter, NULL);
	*matching = masks.must & levels;
	return (masks.may & ~masks.must & levels) == 0;
}

/* ---- values ---- */

/* Lists the leaves that are not on the level; false: they are on more than one field. */
static bool
find_leaves(ls_filter_run *run, const ls_filter *node, ls_value_leaves *found)
{
	ls_leaf *leaf = &found->leaves[found->n];

	if (node->op == LS_FILTER_AND || node->op == LS_FILTER_OR || node->op == LS_FILTER_NOT)
	{
		for (uint32_t i = 0; i < node->n_children; i++)
		{
			if (!find_leaves(run, node->children[i], found))
				return false;
		}
		return true;
	}
	if (ls_is_text_op(node->op) || found->n == MAX_LEAVES ||
		(node->target != LS_TARGET_NAMED && node->target != LS_TARGET_ATTRIBUTE))
		return false;
	if (node->target == LS_TARGET_NAMED && node->field == LS_FIELD_LEVEL)
		return true;
	if (!ls_leaf_prepare(run, node, leaf) || !ls_leaf_find_columns(run, leaf) || run->error != NULL)
		return false;
	if (leaf->n_columns != found->leaves[0].n_columns || leaf->n_columns > LS_FILTER_MAX_COUNTED)
		return false;
	for (uint32_t c = 0; c < leaf->n_columns; c++)
	{
		if (leaf->columns[c].nested > 0 ||
			leaf->columns[c].column != found->leaves[0].columns[c].column)
			return false;
	}
	found->filters[found->n++] = node;
	return true;
}

/* Sets *matching to the levels whose rows match, if all leaves are decided. */
static bool
matching_levels(const ls_filter *filter, const ls_value_leaves *decided, uint32_t levels,
				uint8_t *matching)
{
	level_masks masks = level_masks_of(filter, decided);

	*matching = (uint8_t) (masks.must & levels);
	return (masks.may & ~masks.must & levels) == 0;
}

/* Counts the rows of a column; false: the part does not count them, or it failed. */
static bool
count_column(ls_filter_run *run, const ls_filter *filter, ls_value_leaves *leaves,
			 const ls_leaf_column *column, ls_filter_counts *counts)
{
	uint32_t levels = ls_part_statistics(run->part)->level_mask;
	const ls_str *entries = NULL;
	uint8_t *matching;
	uint32_t n = 0;
	ls_value_counts values;

	if (!ls_part_value_counts(run->part, column->column, &values) || values.n == 0)
		return false;
	if (values.integers == NULL &&
		(!ls_part_dictionary(run->part, column->column, &entries, &n) || n != values.n))
		return false;
	matching = ls_arena_alloc(run->arena, values.n);
	if (matching == NULL)
		return false;
	for (uint32_t v = 0; v < values.n; v++)
	{
		for (uint32_t i = 0; i < leaves->n; i++)
			leaves->match[i] =
				ls_leaf_decide(run, &leaves->leaves[i], 0, column->kind,
							   entries == NULL ? LS_STR("") : entries[v],
							   values.integers == NULL ? 0 : values.integers[v]) == LS_TRUE;
		if (run->error != NULL || !matching_levels(filter, leaves, levels, &matching[v]))
			return false;
		for (int level = 0; level < LS_LEVELS; level++)
		{
			uint32_t rows = values.rows[level][v];

			if (rows > counts->without[level])
				return false;
			counts->without[level] -= rows;
			if ((matching[v] & 1u << level) != 0)
				counts->rows[level] += rows;
		}
	}
	counts->columns[counts->n] = column->column;
	counts->matching[counts->n++] = matching;
	return true;
}

bool
ls_filter_by_value(ls_arena *arena, ls_part *part, const ls_filter *filter,
				   ls_filter_counts *counts)
{
	const ls_part_stats *stats = ls_part_statistics(part);
	ls_filter_run run = {.arena = arena, .part = part};
	ls_value_leaves *leaves = ls_new(arena, ls_value_leaves);
	const ls_leaf *first;

	memset(counts, 0, sizeof(*counts));
	ls_buf_init(&run.fold, arena);
	ls_buf_init(&run.member, arena);
	if (filter == NULL || leaves == NULL || !find_leaves(&run, filter, leaves) || leaves->n == 0)
		return false;
	first = &leaves->leaves[0];
	memcpy(counts->without, stats->level_rows, sizeof(counts->without));
	for (uint32_t c = 0; c < first->n_columns; c++)
	{
		if (!count_column(&run, filter, leaves, &first->columns[c], counts))
			return false;
	}
	if (!ls_part_columns_apart(part, counts->columns, counts->n))
		return false;
	memset(leaves->match, 0, sizeof(leaves->match));
	if (!matching_levels(filter, leaves, stats->level_mask, &counts->matching_without))
		return false;
	for (int level = 0; level < LS_LEVELS; level++)
	{
		if ((counts->matching_without & 1u << level) != 0)
			counts->rows[level] += counts->without[level];
	}
	return true;
}
