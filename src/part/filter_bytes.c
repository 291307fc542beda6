/*-------------------------------------------------------------------------
 *
 * filter_bytes.c
 *	  Filters as bytes (pure).
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
