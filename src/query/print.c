/*-------------------------------------------------------------------------
 *
 * print.c
 *	  A query as one line of nested lists (pure).
 *
 * For tests, which compare trees as text, and for people who want to see how
 * a query was understood.  Depth is bounded by LS_QUERY_MAX_DEPTH.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/ast.h"

static const char *const op_names[] = {"=", "!=", "<", "<=", ">", ">="};
static const char *const sign_names[] = {"-", "+", "-", "*", "/", "%"};

const char *
ls_query_op_name(ls_query_op op)
{
	return op_names[op];
}

static void
put(ls_buf *buf, const char *text)
{
	ls_buf_append(buf, text, strlen(text));
}

static bool
is_plain(ls_str part)
{
	for (size_t i = 0; i < part.len; i++)
		if (strchr(" .()\"`\t\r\n", part.data[i]) != NULL)
			return false;
	return part.len > 0;
}

static void
print_field(ls_buf *buf, const ls_query_field *field)
{
	if (field->attributes)
		put(buf, field->n_parts > 0 ? "attributes." : "attributes");
	for (uint32_t i = 0; i < field->n_parts; i++)
	{
		if (i > 0)
			ls_buf_char(buf, '.');
		if (is_plain(field->parts[i]))
			ls_buf_str(buf, field->parts[i]);
		else
		{
			ls_buf_char(buf, '`');
			ls_buf_str(buf, field->parts[i]);
			ls_buf_char(buf, '`');
		}
	}
}

static void
print_fields(ls_buf *buf, const char *label, ls_query_fields fields)
{
	if (fields.n == 0)
		return;
	put(buf, label);
	for (uint32_t i = 0; i < fields.n; i++)
	{
		ls_buf_char(buf, ' ');
		print_field(buf, fields.items[i]);
	}
	ls_buf_char(buf, ')');
}

static void
print_value(ls_buf *buf, const ls_query_value *value)
{
	if (value->kind == LS_QUERY_STRING)
		ls_json_quote(buf, value->text);
	else
		ls_buf_str(buf, value->text);
}

void
ls_query_print_filter(ls_buf *buf, const ls_query_filter *f)
{
	static const char *const names[] = {"and",    "or", "not",      "all",     "text",  "",
										"exists", "in", "contains", "matches", "colon", "scope"};

	if (f->kind == LS_QUERY_FILTER_ALL)
	{
		put(buf, "all");
		return;
	}
	ls_buf_char(buf, '(');
	if (f->negated)
		put(buf, "not-");
	put(buf, f->kind == LS_QUERY_FILTER_COMPARE ? op_names[f->op] : names[f->kind]);
	if (f->field != NULL)
	{
		ls_buf_char(buf, ' ');
		print_field(buf, f->field);
	}
	if (f->kind != LS_QUERY_FILTER_EXISTS)
		for (uint32_t i = 0; i < f->values.n; i++)
		{
			ls_buf_char(buf, ' ');
			print_value(buf, f->values.items[i]);
		}
	for (uint32_t i = 0; i < f->n_children; i++)
	{
		ls_buf_char(buf, ' ');
		ls_query_print_filter(buf, f->children[i]);
	}
	ls_buf_char(buf, ')');
}

static const char *
expr_name(const ls_query_expr *e)
{
	switch (e->kind)
	{
		case LS_QUERY_EXPR_COMPARE:
			return op_names[e->op];
		case LS_QUERY_EXPR_IN:
			return "in";
		case LS_QUERY_EXPR_CONTAINS:
			return "contains";
		case LS_QUERY_EXPR_MATCHES:
			return "matches";
		case LS_QUERY_EXPR_AND:
			return "and";
		case LS_QUERY_EXPR_OR:
			return "or";
		case LS_QUERY_EXPR_NOT:
			return "not";
		case LS_QUERY_EXPR_CALL:
			return ls_query_function_name(e->function);
		default:
			return sign_names[e->kind - LS_QUERY_EXPR_NEGATE];
	}
}

void
ls_query_print_expr(ls_buf *buf, const ls_query_expr *e)
{
	switch (e->kind)
	{
		case LS_QUERY_EXPR_FIELD:
			print_field(buf, e->field);
			return;
		case LS_QUERY_EXPR_NUMBER:
			ls_buf_str(buf, e->text);
			return;
		case LS_QUERY_EXPR_STRING:
			ls_json_quote(buf, e->text);
			return;
		case LS_QUERY_EXPR_BOOLEAN:
			put(buf, e->boolean ? "#true" : "#false");
			return;
		case LS_QUERY_EXPR_NULL:
			put(buf, "#null");
			return;
		default:
			break;
	}
	ls_buf_char(buf, '(');
	if (e->negated)
		put(buf, "not-");
	put(buf, expr_name(e));
	for (uint32_t i = 0; i < e->n_args; i++)
	{
		ls_buf_char(buf, ' ');
		ls_query_print_expr(buf, e->args[i]);
	}
	ls_buf_char(buf, ')');
}

static void
print_aggregate(ls_buf *buf, const ls_query_aggregate *a)
{
	static const char *const names[] = {"count", "dc",    "sum",  "avg",   "min",
										"max",   "first", "last", "values"};

	put(buf, " (");
	if (a->kind == LS_QUERY_PERCENTILE)
		ls_buf_printf(buf, "p%d", a->percent);
	else
		put(buf, names[a->kind]);
	if (a->arg != NULL)
	{
		ls_buf_char(buf, ' ');
		ls_query_print_expr(buf, a->arg);
	}
	put(buf, " as ");
	ls_json_quote(buf, a->name);
	ls_buf_char(buf, ')');
}

static void
print_assign(ls_buf *buf, const ls_query_assign *a)
{
	put(buf, " (");
	print_field(buf, a->to);
	ls_buf_char(buf, ' ');
	if (a->from != NULL)
		print_field(buf, a->from);
	else
		ls_query_print_expr(buf, a->value);
	ls_buf_char(buf, ')');
}

static void
print_options(ls_buf *buf, const ls_query_stage *s)
{
	if (s->bucket.unit != LS_QUERY_UNIT_NONE)
		ls_buf_printf(buf, " span=%lld%s", (long long) s->bucket.amount,
					  ls_query_unit_name(s->bucket.unit));
	if (s->count >= 0)
		ls_buf_printf(buf, " %lld", (long long) s->count);
	if (s->exclude)
		put(buf, " -");
	if (s->max_templates >= 0)
		ls_buf_printf(buf, " max=%d", s->max_templates);
	if (s->max_samples >= 0)
		ls_buf_printf(buf, " samples=%d", s->max_samples);
	if (s->sim_threshold >= 0)
		ls_buf_printf(buf, " sim=%g", s->sim_threshold);
	if (s->rare_threshold >= 0)
		ls_buf_printf(buf, " rare=%d", s->rare_threshold);
	if (s->label)
		put(buf, " mode=label");
	if (!s->keep_empty)
		put(buf, " keepempty=false");
}

/* The field that a stage reads, and how its text is cut. */
static void
print_source(ls_buf *buf, const ls_query_stage *s)
{
	if (s->field != NULL)
	{
		put(buf, " (field ");
		print_field(buf, s->field);
		ls_buf_char(buf, ')');
	}
	if (s->path.data != NULL)
	{
		put(buf, " (path ");
		ls_json_quote(buf, s->path);
		ls_buf_char(buf, ')');
	}
	if (s->output != NULL)
	{
		put(buf, " (output ");
		print_field(buf, s->output);
		ls_buf_char(buf, ')');
	}
	if (s->between.len > 0)
	{
		put(buf, " between ");
		ls_json_quote(buf, s->between);
	}
	if (s->inside.len > 0)
	{
		put(buf, " inside ");
		ls_json_quote(buf, s->inside);
	}
}

static void
print_rex(ls_buf *buf, const ls_query_stage *s)
{
	ls_buf_char(buf, ' ');
	ls_json_quote(buf, s->pattern);
	for (uint32_t i = 0; i < s->n_groups; i++)
	{
		put(buf, i == 0 ? " (groups " : " ");
		ls_buf_str(buf, s->groups[i]->name);
	}
	put(buf, s->n_groups > 0 ? ")" : "");
}

static void
print_lookup(ls_buf *buf, const ls_query_stage *s)
{
	put(buf, " (table ");
	ls_buf_str(buf, s->table);
	ls_buf_char(buf, ' ');
	ls_buf_str(buf, s->key);
	ls_buf_char(buf, ')');
	for (uint32_t i = 0; i < s->outputs.n; i++)
	{
		put(buf, " (output ");
		ls_buf_str(buf, s->outputs.items[i]->column);
		ls_buf_char(buf, ' ');
		print_field(buf, s->outputs.items[i]->to);
		ls_buf_char(buf, ')');
	}
}

static void
print_stage(ls_buf *buf, const ls_query_stage *s)
{
	put(buf, " (");
	put(buf, ls_query_stage_name(s->kind));
	print_options(buf, s);
	if (s->condition != NULL)
	{
		ls_buf_char(buf, ' ');
		ls_query_print_expr(buf, s->condition);
	}
	print_source(buf, s);
	if (s->literal != NULL)
	{
		ls_buf_char(buf, ' ');
		ls_query_print_expr(buf, s->literal);
	}
	print_fields(buf, " (fields", s->fields);
	for (uint32_t i = 0; i < s->aggregates.n; i++)
		print_aggregate(buf, s->aggregates.items[i]);
	for (uint32_t i = 0; i < s->keys.n; i++)
	{
		put(buf, s->keys.items[i]->descending ? " (desc " : " (asc ");
		print_field(buf, s->keys.items[i]->field);
		ls_buf_char(buf, ')');
	}
	for (uint32_t i = 0; i < s->assigns.n; i++)
		print_assign(buf, s->assigns.items[i]);
	if (s->kind == LS_QUERY_REX)
		print_rex(buf, s);
	if (s->kind == LS_QUERY_LOOKUP)
		print_lookup(buf, s);
	print_fields(buf, " (by", s->by);
	ls_buf_char(buf, ')');
}

void
ls_query_print(ls_buf *buf, const ls_query *query)
{
	put(buf, "(query");
	if (query->indexes.n > 0)
	{
		put(buf, " (index");
		for (uint32_t i = 0; i < query->indexes.n; i++)
		{
			ls_buf_char(buf, ' ');
			print_value(buf, query->indexes.items[i]);
		}
		ls_buf_char(buf, ')');
	}
	if (query->earliest != NULL)
		ls_buf_printf(buf, " (earliest %.*s)", (int) query->earliest->text.len,
					  query->earliest->text.data);
	if (query->latest != NULL)
		ls_buf_printf(buf, " (latest %.*s)", (int) query->latest->text.len,
					  query->latest->text.data);
	if (query->filter != NULL)
	{
		put(buf, " (filter ");
		ls_query_print_filter(buf, query->filter);
		ls_buf_char(buf, ')');
	}
	for (uint32_t i = 0; i < query->stages.n; i++)
		print_stage(buf, query->stages.items[i]);
	ls_buf_char(buf, ')');
}
