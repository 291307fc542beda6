/*-------------------------------------------------------------------------
 *
 * filter_event.c
 *	  A filter on one event that is in no part (pure).
 *
 * What a comparison means is decided by the same code as in parts (filter_values.c); here is only
 * where the values of an event are.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/filter_eval.h"

typedef struct event_node
{
	ls_filter_op op; /* AND, OR, NOT; else a leaf */
	struct event_node **children;
	uint32_t n_children;
	ls_leaf leaf;
	ls_str *keys; /* of an attribute: its path joined, first whole, then shorter and shorter */
} event_node;

struct ls_event_filter
{
	ls_filter_run run; /* without a part */
	event_node *root;
};

static bool
join_path(ls_arena *arena, const ls_filter *filter, event_node *node)
{
	node->keys = ls_new_array(arena, ls_str, filter->n_path + 1);
	if (node->keys == NULL)
		return false;
	for (uint32_t parts = filter->n_path; parts > 0; parts--)
	{
		ls_buf key;

		ls_buf_init(&key, arena);
		for (uint32_t i = 0; i < parts; i++)
		{
			if (i > 0)
				ls_buf_char(&key, '.');
			ls_buf_str(&key, filter->path[i]);
		}
		if (key.failed)
			return false;
		node->keys[filter->n_path - parts] = ls_str_make(key.data, key.len);
	}
	return true;
}

static event_node *
make_node(ls_filter_run *run, const ls_filter *filter, ls_regex_set *regexes, const char **error)
{
	event_node *node = ls_new(run->arena, event_node);

	if (node == NULL)
		return NULL;
	node->op = filter->op;
	if (filter->op == LS_FILTER_AND || filter->op == LS_FILTER_OR || filter->op == LS_FILTER_NOT)
	{
		node->n_children = filter->n_children;
		node->children = ls_new_array(run->arena, event_node *, filter->n_children + 1);
		if (node->children == NULL)
			return NULL;
		for (uint32_t i = 0; i < filter->n_children; i++)
		{
			node->children[i] = make_node(run, filter->children[i], regexes, error);
			if (node->children[i] == NULL)
				return NULL;
		}
		return node;
	}
	if (filter->op == LS_FILTER_MATCHES)
	{
		node->leaf.filter = filter;
		node->leaf.regex = ls_regex_compile_kept(run->arena, filter->text, regexes, error);
		if (node->leaf.regex == NULL)
			return NULL;
	}
	else if (!ls_leaf_prepare(run, filter, &node->leaf))
		return NULL;
	if (filter->target == LS_TARGET_ATTRIBUTE && !ls_is_text_op(filter->op) &&
		!join_path(run->arena, filter, node))
		return NULL;
	return node;
}

ls_event_filter *
ls_event_filter_make(ls_arena *arena, const ls_filter *filter, ls_regex_set *regexes,
					 const char **error)
{
	ls_event_filter *made = ls_new(arena, ls_event_filter);

	*error = "out of memory";
	if (made == NULL)
		return NULL;
	made->run.arena = arena;
	ls_buf_init(&made->run.fold, arena);
	ls_buf_init(&made->run.member, arena);
	made->root = make_node(&made->run, filter, regexes, error);
	if (made->root == NULL)
		return NULL;
	*error = NULL;
	return made;
}

static bool
decide_time(ls_filter_run *run, ls_leaf *leaf, ls_time time)
{
	bool ranges = leaf->n_compares > 0;
	char iso[LS_TIME_ISO_LENGTH + 1];

	if (leaf->filter->op == LS_FILTER_PRESENT)
		return true;
	for (uint32_t i = 0; i < leaf->n_compares; i++)
	{
		const ls_compare *c = &leaf->compares[i];

		ranges = ranges && c->has_range;
		if (c->has_range && (time >= c->low && time <= c->high) != c->outside)
			return true;
	}
	if (ranges)
		return false;
	ls_time_format_iso(time, iso);
	return ls_leaf_decide(run, leaf, 0, LS_KIND_STRING, ls_str_make(iso, LS_TIME_ISO_LENGTH), 0) ==
		   LS_TRUE;
}

static bool
decide_attribute(ls_filter_run *run, event_node *node, const ls_event *event)
{
	const ls_filter *filter = node->leaf.filter;

	for (uint32_t k = 0; k < filter->n_path; k++)
	{
		uint32_t nested = k == 0 ? 0 : filter->n_path - k;

		for (size_t i = 0; i < event->n_attributes; i++)
		{
			const ls_attribute *a = &event->attributes[i];
			ls_decision decision;

			if (!ls_str_eq(a->key, node->keys[k]) || (nested > 0 && a->kind != LS_KIND_JSON))
				continue;
			if (filter->op == LS_FILTER_PRESENT && nested == 0)
				return true;
			decision = ls_leaf_decide(run, &node->leaf, nested, a->kind, a->text, a->integer);
			if (decision != LS_SKIP)
				return decision == LS_TRUE;
		}
	}
	return false;
}

static bool
decide_leaf(ls_filter_run *run, event_node *node, const ls_event *event)
{
	const ls_filter *filter = node->leaf.filter;
	ls_field field = ls_is_text_op(filter->op) ? LS_FIELD_EVENT : filter->field;

	if (!ls_is_text_op(filter->op))
	{
		switch (filter->target)
		{
			case LS_TARGET_ATTRIBUTE:
				return decide_attribute(run, node, event);
			case LS_TARGET_TIMESTAMP:
				return decide_time(run, &node->leaf, event->timestamp);
			case LS_TARGET_INGESTED_AT:
				return decide_time(run, &node->leaf, event->ingested_at);
			case LS_TARGET_ID:
				return false; /* it has none yet */
			case LS_TARGET_NAMED:
				break;
		}
	}
	return (event->has & 1u << field) != 0 &&
		   (filter->op == LS_FILTER_PRESENT ||
			ls_leaf_decide(run, &node->leaf, 0, LS_KIND_STRING, event->field[field], 0) == LS_TRUE);
}

static bool
decide_node(ls_filter_run *run, event_node *node, const ls_event *event)
{
	switch (node->op)
	{
		case LS_FILTER_AND:
			for (uint32_t i = 0; i < node->n_children; i++)
			{
				if (!decide_node(run, node->children[i], event))
					return false;
			}
			return true;
		case LS_FILTER_OR:
			for (uint32_t i = 0; i < node->n_children; i++)
			{
				if (decide_node(run, node->children[i], event))
					return true;
			}
			return false;
		case LS_FILTER_NOT:
			return !decide_node(run, node->children[0], event);
		default:
			return decide_leaf(run, node, event);
	}
}

int
ls_event_filter_match(ls_event_filter *filter, const ls_event *event)
{
	bool matched;

	filter->run.error = NULL;
	matched = decide_node(&filter->run, filter->root, event);
	if (filter->run.error != NULL || filter->run.fold.failed || filter->run.member.failed)
		return -1;
	return matched;
}
