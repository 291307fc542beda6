/*-------------------------------------------------------------------------
 *
 * compile.c
 *	  The filter of a query's head as the filter that part_scan evaluates.
 *
 * The meaning of a comparison depends on how the value is written: as a number,
 * a text in quotes, or a word (docs/language.md).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "src/decode/decode.h"
#include "src/scan/scan.h"

ls_filter *
ls_search_node(ls_search *search, ls_filter_op op, uint32 n_children)
{
	ls_filter *node = ls_new(search->arena, ls_filter);

	if (node != NULL && n_children > 0)
		node->children = ls_arena_alloc0(search->arena, (size_t) n_children * sizeof(ls_filter *));
	if (node == NULL || (n_children > 0 && node->children == NULL))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	node->op = op;
	node->n_children = n_children;
	return node;
}

ls_filter *
ls_search_equal(ls_search *search, ls_field field, ls_str text)
{
	ls_filter *leaf = ls_search_node(search, LS_FILTER_EQ, 0);

	leaf->target = LS_TARGET_NAMED;
	leaf->field = field;
	leaf->text = text;
	return leaf;
}

ls_filter *
ls_search_and(ls_search *search, ls_filter *a, ls_filter *b)
{
	ls_filter *both;

	if (a == NULL || b == NULL)
		return a == NULL ? b : a;
	both = ls_search_node(search, LS_FILTER_AND, 2);
	both->children[0] = a;
	both->children[1] = b;
	return both;
}

static void
set_target(ls_search *search, ls_filter *leaf, const ls_query_field *field)
{
	static const ls_field named[] = {
		[LS_QUERY_EVENT] = LS_FIELD_EVENT,     [LS_QUERY_LEVEL] = LS_FIELD_LEVEL,
		[LS_QUERY_SOURCE] = LS_FIELD_SOURCE,   [LS_QUERY_INDEX] = LS_FIELD_INDEX,
		[LS_QUERY_SERVICE] = LS_FIELD_SERVICE, [LS_QUERY_TRACE_ID] = LS_FIELD_TRACE_ID,
		[LS_QUERY_SPAN_ID] = LS_FIELD_SPAN_ID,
	};

	switch (field->builtin)
	{
		case LS_QUERY_NOT_BUILTIN:
			if (field->n_parts == 0)
				ls_search_fail(search, field->span, "name an attribute: attributes.<name>");
			if (field->n_parts > LS_FILTER_MAX_PATH)
				ls_search_fail(search, field->span, "the name has more than %d parts",
							   LS_FILTER_MAX_PATH);
			leaf->target = LS_TARGET_ATTRIBUTE;
			leaf->path = field->parts;
			leaf->n_path = field->n_parts;
			break;
		case LS_QUERY_TIMESTAMP:
			leaf->target = LS_TARGET_TIMESTAMP;
			break;
		case LS_QUERY_INGESTED_AT:
			leaf->target = LS_TARGET_INGESTED_AT;
			break;
		case LS_QUERY_ID:
			leaf->target = LS_TARGET_ID;
			break;
		case LS_QUERY_TEMPLATE_ID:
			ls_search_fail(search, field->span, "template_id can be compared in where only");
		default:
			leaf->target = LS_TARGET_NAMED;
			leaf->field = named[field->builtin];
			break;
	}
}

ls_filter *
ls_search_leaf(ls_search *search, ls_filter_op op, const ls_query_field *field, uint32 n_children)
{
	ls_filter *leaf = ls_search_node(search, op, n_children);

	set_target(search, leaf, field);
	return leaf;
}

/* level>=warn: one of the levels from warn on. */
static ls_filter *
levels(ls_search *search, const ls_query_field *field, ls_query_op op, const ls_query_value *value)
{
	ls_str names[LS_QUERY_LEVELS];
	int n = ls_query_levels(op, value->text, names);
	ls_filter *node;

	if (n < 0)
		ls_search_fail(search, value->span,
					   "this is no level: levels are trace < debug < info < warn < error < fatal");
	node = ls_search_leaf(search, LS_FILTER_IN, field, (uint32) n);
	for (int i = 0; i < n; i++)
	{
		node->children[i] = ls_search_leaf(search, LS_FILTER_EQ, field, 0);
		node->children[i]->text = names[i];
		node->children[i]->ignore_case = true;
	}
	return node;
}

/* Comparisons of level, source and index with texts ignore case. */
static ls_filter *
comparison(ls_search *search, const ls_query_field *field, ls_query_op op,
		   const ls_query_value *value)
{
	static const ls_filter_op ops[] = {
		[LS_QUERY_OP_EQ] = LS_FILTER_EQ, [LS_QUERY_OP_NE] = LS_FILTER_NE,
		[LS_QUERY_OP_LT] = LS_FILTER_LT, [LS_QUERY_OP_LE] = LS_FILTER_LE,
		[LS_QUERY_OP_GT] = LS_FILTER_GT, [LS_QUERY_OP_GE] = LS_FILTER_GE,
	};
	ls_filter *leaf = ls_search_leaf(search, ops[op], field, 0);

	if (field->builtin == LS_QUERY_LEVEL && op != LS_QUERY_OP_EQ && op != LS_QUERY_OP_NE)
		return levels(search, field, op, value);
	leaf->text = value->text;
	if (value->kind == LS_QUERY_NUMBER)
	{
		leaf->numeric = true;
		leaf->number = value->number;
		return leaf;
	}
	leaf->ignore_case = field->builtin == LS_QUERY_LEVEL || field->builtin == LS_QUERY_SOURCE ||
						field->builtin == LS_QUERY_INDEX;
	if (value->wildcard)
		leaf->op = op == LS_QUERY_OP_EQ ? LS_FILTER_WILDCARD : LS_FILTER_NE_WILDCARD;
	else if (field->builtin == LS_QUERY_LEVEL)
		/* Aliases were replaced when the event came in. */
		leaf->text = ls_normalize_level(value->text);
	return leaf;
}

/* Like !=: true only if the field is present. */
static ls_filter *
negate(ls_search *search, const ls_query_field *field, ls_filter *leaf)
{
	ls_filter *inverse = ls_search_node(search, LS_FILTER_NOT, 1);

	inverse->children[0] = leaf;
	return ls_search_and(search, ls_search_leaf(search, LS_FILTER_PRESENT, field, 0), inverse);
}

ls_filter *
ls_search_compile(ls_search *search, const ls_query_filter *filter)
{
	const ls_query_value *value = filter->values.n > 0 ? filter->values.items[0] : NULL;
	const char *error;
	ls_filter *node = NULL;

	switch (filter->kind)
	{
		case LS_QUERY_FILTER_AND:
		case LS_QUERY_FILTER_OR:
		case LS_QUERY_FILTER_NOT:
			node = ls_search_node(search,
								  filter->kind == LS_QUERY_FILTER_AND  ? LS_FILTER_AND
								  : filter->kind == LS_QUERY_FILTER_OR ? LS_FILTER_OR
																	   : LS_FILTER_NOT,
								  filter->n_children);
			for (uint32 i = 0; i < filter->n_children; i++)
				node->children[i] = ls_search_compile(search, filter->children[i]);
			return node;
		case LS_QUERY_FILTER_ALL:
			return ls_search_node(search, LS_FILTER_AND, 0);
		case LS_QUERY_FILTER_TEXT:
			node = ls_search_node(
				search, value->wildcard ? LS_FILTER_PHRASE_WILDCARD : LS_FILTER_PHRASE, 0);
			node->text = value->text;
			return node;
		case LS_QUERY_FILTER_COMPARE:
			return comparison(search, filter->field, filter->op, value);
		case LS_QUERY_FILTER_EXISTS:
			node = ls_search_node(search, LS_FILTER_PRESENT, 0);
			break;
		case LS_QUERY_FILTER_IN:
			node = ls_search_node(search, LS_FILTER_IN, filter->values.n);
			for (uint32 i = 0; i < filter->values.n; i++)
				node->children[i] =
					comparison(search, filter->field, LS_QUERY_OP_EQ, filter->values.items[i]);
			break;
		case LS_QUERY_FILTER_CONTAINS:
			node = ls_search_node(search, LS_FILTER_CONTAINS, 0);
			node->text = value->text;
			break;
		case LS_QUERY_FILTER_MATCHES:
			error = ls_scan_regex_error(value->text);
			if (error != NULL)
				ls_search_fail(search, value->span, "not a regular expression: %s", error);
			node = ls_search_node(search, LS_FILTER_MATCHES, 0);
			node->text = value->text;
			break;
		case LS_QUERY_FILTER_COLON:
		case LS_QUERY_FILTER_SCOPE:
			elog(ERROR, "a term that is not resolved");
	}
	set_target(search, node, filter->field);
	return filter->negated ? negate(search, filter->field, node) : node;
}
