/*-------------------------------------------------------------------------
 *
 * filter_bytes.c
 *	  Filters as bytes, and what a filter says about levels (pure).
 *
 * The bytes are a parameter of an SQL statement, so they can come from anyone
 * who may call the scan function: they are checked as strictly as a part.
 *
 *	filter	:= version (1) , 0 | version , 1 , node
 *	node	:= op , target , field , flags , n_path , { path } , text ,
 *			   number , n_children , { node }
 *
 * op, target, field and flags are one byte each (flags: 1 numeric, 2 ignore
 * case), counts are varints, texts have a varint length, the number is the
 * little-endian bits of a double.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/filter_eval.h"

#include <math.h>

#define VERSION 1
#define MAX_DEPTH 128 /* the language allows 100 parentheses */
#define NODE_BYTES 15 /* at least; bounds what a count can make us allocate */

#define FLAG_NUMERIC 1
#define FLAG_IGNORE_CASE 2

static void
put_node(ls_buf *buf, const ls_filter *node)
{
	uint64_t bits;

	ls_buf_char(buf, (char) node->op);
	ls_buf_char(buf, (char) node->target);
	ls_buf_char(buf, (char) node->field);
	ls_buf_char(buf, (char) ((node->numeric ? FLAG_NUMERIC : 0) |
							 (node->ignore_case ? FLAG_IGNORE_CASE : 0)));
	ls_buf_varint(buf, node->n_path);
	for (uint32_t i = 0; i < node->n_path; i++)
		ls_buf_lstr(buf, node->path[i]);
	ls_buf_lstr(buf, node->text);
	memcpy(&bits, &node->number, sizeof(bits));
	ls_buf_u64(buf, bits);
	ls_buf_varint(buf, node->n_children);
	for (uint32_t i = 0; i < node->n_children; i++)
		put_node(buf, node->children[i]);
}

void
ls_filter_serialize(ls_buf *buf, const ls_filter *filter)
{
	ls_buf_char(buf, VERSION);
	ls_buf_char(buf, filter != NULL);
	if (filter != NULL)
		put_node(buf, filter);
}

static bool
get_text(ls_arena *arena, ls_reader *r, ls_str *text)
{
	ls_str raw = ls_read_lstr(r);

	if (r->failed || !ls_utf8_valid(raw.data, raw.len))
		return false;
	*text = ls_arena_strdup(arena, raw);
	return text->data != NULL;
}

/* Are the members of the node allowed for its operator? */
static bool
valid_shape(const ls_filter *node, bool in_list)
{
	if (in_list)
		return node->n_children == 0 &&
			   (node->op == LS_FILTER_EQ || node->op == LS_FILTER_WILDCARD);
	switch (node->op)
	{
		case LS_FILTER_AND:
		case LS_FILTER_OR:
			return true;
		case LS_FILTER_NOT:
			return node->n_children == 1;
		case LS_FILTER_PHRASE:
		case LS_FILTER_PHRASE_WILDCARD:
			return node->n_children == 0;
		default:
			if (node->op != LS_FILTER_IN && node->n_children > 0)
				return false;
			return node->target != LS_TARGET_ATTRIBUTE || node->n_path > 0;
	}
}

static ls_filter *
get_node(ls_arena *arena, ls_reader *r, int depth, bool in_list)
{
	ls_filter *node = ls_new(arena, ls_filter);
	uint8_t op = ls_read_u8(r);
	uint8_t target = ls_read_u8(r);
	uint8_t field = ls_read_u8(r);
	uint8_t flags = ls_read_u8(r);
	uint64_t n = ls_read_varint(r);
	uint64_t bits;

	if (node == NULL || r->failed || depth > MAX_DEPTH || op > LS_FILTER_PHRASE_WILDCARD ||
		target > LS_TARGET_ID || field >= LS_NAMED_FIELDS ||
		(flags & ~(FLAG_NUMERIC | FLAG_IGNORE_CASE)) != 0 || n > LS_FILTER_MAX_PATH)
		return NULL;
	node->op = (ls_filter_op) op;
	node->target = (ls_target) target;
	node->field = (ls_field) field;
	node->numeric = (flags & FLAG_NUMERIC) != 0;
	node->ignore_case = (flags & FLAG_IGNORE_CASE) != 0;
	if (n > 0)
	{
		ls_str *path = ls_new_array(arena, ls_str, n);

		if (path == NULL)
			return NULL;
		for (uint64_t i = 0; i < n; i++)
		{
			if (!get_text(arena, r, &path[i]))
				return NULL;
		}
		node->path = path;
		node->n_path = (uint32_t) n;
	}
	if (!get_text(arena, r, &node->text))
		return NULL;
	bits = ls_read_u64(r);
	memcpy(&node->number, &bits, sizeof(bits));
	n = ls_read_varint(r);
	if (r->failed || !isfinite(node->number) || n > (uint64_t) (r->end - r->pos) / NODE_BYTES)
		return NULL;
	if (n > 0)
	{
		node->children = ls_new_array(arena, ls_filter *, n);
		if (node->children == NULL)
			return NULL;
		for (uint64_t i = 0; i < n; i++)
		{
			node->children[i] = get_node(arena, r, depth + 1, node->op == LS_FILTER_IN);
			if (node->children[i] == NULL)
				return NULL;
		}
		node->n_children = (uint32_t) n;
	}
	return valid_shape(node, in_list) ? node : NULL;
}

bool
ls_filter_deserialize(ls_arena *arena, ls_str bytes, ls_filter **filter)
{
	ls_reader r = ls_reader_make(bytes.data, bytes.len);
	uint8_t version = ls_read_u8(&r);
	uint8_t present = ls_read_u8(&r);

	*filter = NULL;
	if (r.failed || version != VERSION || present > 1)
		return false;
	if (present == 1)
	{
		*filter = get_node(arena, &r, 0, false);
		if (*filter == NULL)
			return false;
	}
	return !r.failed && r.pos == r.end;
}

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

static level_masks
level_masks_of(const ls_filter *node)
{
	level_masks masks = {ALL_LEVELS, 0};
	level_masks child;

	switch (node->op)
	{
		case LS_FILTER_AND:
			masks.must = ALL_LEVELS;
			for (uint32_t i = 0; i < node->n_children; i++)
			{
				child = level_masks_of(node->children[i]);
				masks.may &= child.may;
				masks.must &= child.must;
			}
			return masks;
		case LS_FILTER_OR:
			masks.may = 0;
			for (uint32_t i = 0; i < node->n_children; i++)
			{
				child = level_masks_of(node->children[i]);
				masks.may |= child.may;
				masks.must |= child.must;
			}
			return masks;
		case LS_FILTER_NOT:
			child = level_masks_of(node->children[0]);
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
	return filter == NULL ? ALL_LEVELS : level_masks_of(filter).may;
}

bool
ls_filter_by_level(const ls_filter *filter, uint32_t levels, uint32_t *matching)
{
	level_masks masks = {ALL_LEVELS, ALL_LEVELS};

	if (filter != NULL)
		masks = level_masks_of(filter);
	*matching = masks.must & levels;
	return (masks.may & ~masks.must & levels) == 0;
}
