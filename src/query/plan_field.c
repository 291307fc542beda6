/*-------------------------------------------------------------------------
 *
 * plan_field.c
 *	  The fields of events at a stage: those of the event itself, those that stages
 *	  made, and those that stages removed.
 *
 * An event has keys.  A path refers to the longest key that exists, and the rest
 * of the path is inside its value.  Stages do not change the rows of part_scan;
 * they only note here which keys an event still has:
 *
 *	hidden	removed from the event: keys, and members of their values
 *	shown	if given, the keys that are left, each with the value of its path
 *	bindings	keys with a value that a stage made
 *
 * A key in `shown` was not hidden before, so the two do not overlap.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "src/scan/scan.h"

/* ---- names ---- */

ls_str
ls_plan_field_name(ls_planner *p, const ls_query_field *field)
{
	ls_buf buf;

	if (field->builtin != LS_QUERY_NOT_BUILTIN)
		return ls_str_of_cstring(ls_query_builtin_name(field->builtin));
	ls_buf_init(&buf, p->search->arena);
	ls_scan_field_name(&buf, field->parts, field->n_parts);
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return ls_str_make(buf.data, buf.len);
}

Datum
ls_plan_field_array(ls_planner *p, const ls_field_set *set)
{
	ls_str names[LS_PLAN_MAX_FIELDS];
	int n = 0;

	for (int i = 0; i < set->n; i++)
	{
		/* Parts do not have this field; stage `patterns` makes it. */
		if (set->items[i]->builtin != LS_QUERY_TEMPLATE_ID)
			names[n++] = ls_plan_field_name(p, set->items[i]);
	}
	return ls_plan_text_array(names, n);
}

const ls_query_field *
ls_plan_field(ls_planner *p, const char *name)
{
	ls_query_field *field = palloc0(sizeof(*field));

	field->name = ls_str_of_cstring(name);
	field->parts = palloc(sizeof(ls_str));
	field->parts[0] = field->name;
	field->n_parts = 1;
	field->builtin = ls_query_builtin_find(field->name);
	return field;
}

static bool
is_attribute(const ls_query_field *field)
{
	return field->builtin == LS_QUERY_NOT_BUILTIN && field->n_parts > 0;
}

static bool
is_all_attributes(const ls_query_field *field)
{
	return field->builtin == LS_QUERY_NOT_BUILTIN && field->n_parts == 0;
}

/* The first n parts as one key. */
static ls_str
key_of(const ls_query_field *field, uint32 n)
{
	size_t len = 0;

	for (uint32 i = 0; i < n; i++)
		len += field->parts[i].len + (i > 0);
	return ls_str_make(field->name.data, len);
}

/* If the path can lead into the value of the key: how many of its parts the key takes.  Else 0. */
static uint32
inside(ls_str key, const ls_query_field *field)
{
	for (uint32 n = 1; is_attribute(field) && n < field->n_parts; n++)
	{
		if (ls_str_eq(key_of(field, n), key))
			return n;
	}
	return 0;
}

/* The key as a field. */
static const ls_query_field *
literal(const ls_query_field *field, uint32 n)
{
	ls_query_field *to;

	if (n == 1 && field->n_parts == 1)
		return field;
	to = palloc(sizeof(*to));
	*to = *field;
	to->name = key_of(field, n);
	to->n_parts = 1;
	to->parts = palloc(sizeof(ls_str));
	to->parts[0] = to->name;
	return to;
}

/* ---- sets ---- */

static bool
same_path(const ls_query_field *a, const ls_query_field *b)
{
	if (a == b)
		return true;
	if (a->builtin != b->builtin || a->n_parts != b->n_parts)
		return false;
	for (uint32 i = 0; i < a->n_parts; i++)
	{
		if (!ls_str_eq(a->parts[i], b->parts[i]))
			return false;
	}
	return true;
}

static int
add_field(ls_planner *p, ls_field_set *set, const ls_query_field *field)
{
	for (int i = 0; i < set->n; i++)
	{
		if (same_path(set->items[i], field))
			return i;
	}
	if (set->n == LS_PLAN_MAX_FIELDS)
		ls_search_fail(p->search, field->span, "the query names more than %d fields",
					   LS_PLAN_MAX_FIELDS);
	set->items[set->n] = field;
	return set->n++;
}

/* Do both give the same key? */
static bool
same_key(const ls_query_field *a, const ls_query_field *b)
{
	return a->builtin == b->builtin && (a->n_parts == 0) == (b->n_parts == 0) &&
		   ls_str_eq(a->name, b->name);
}

static int
find_key(const ls_field_set *set, const ls_query_field *field)
{
	for (int i = 0; i < set->n; i++)
	{
		if (same_key(set->items[i], field))
			return i;
	}
	return -1;
}

static bool
has_all_attributes(const ls_field_set *set)
{
	for (int i = 0; i < set->n; i++)
	{
		if (is_all_attributes(set->items[i]))
			return true;
	}
	return false;
}

static bool
covered(const ls_field_set *set, const ls_query_field *field)
{
	return find_key(set, field) >= 0 ||
		   (field->builtin == LS_QUERY_NOT_BUILTIN && has_all_attributes(set));
}

/* Are the keys of attributes exactly those in `shown`? */
static bool
keys_are_listed(const ls_planner *p)
{
	return p->shown.given && !has_all_attributes(&p->shown);
}

static int
find_binding(const ls_planner *p, const ls_query_field *field)
{
	for (int i = 0; i < p->n_bindings; i++)
	{
		if (same_key(p->bindings[i].field, field))
			return i;
	}
	return -1;
}

bool
ls_plan_is_original(const ls_planner *p, const ls_query_field *field)
{
	return find_binding(p, field) < 0 && find_key(&p->hidden, field) < 0;
}

/* ---- values ---- */

/* Is the field removed?  For fields that no stage changed. */
static bool
is_gone(const ls_planner *p, const ls_query_field *field)
{
	return (p->shown.given && !covered(&p->shown, field)) ||
		   field->builtin == LS_QUERY_TEMPLATE_ID || find_key(&p->hidden, field) >= 0;
}

bool
ls_plan_is_timestamp(const ls_planner *p, const ls_query_field *field)
{
	return !p->plan->table && field->builtin == LS_QUERY_TIMESTAMP && find_binding(p, field) < 0 &&
		   !is_gone(p, field);
}

static char *
event_value(ls_planner *p, const ls_query_field *field)
{
	return psprintf("t.\"values\"[%d]", add_field(p, &p->values, field) + 1);
}

/* A member of a value, or the value without that member; `from`: its first part in the path. */
static char *
member(ls_planner *p, const char *function, const char *value, const ls_query_field *field,
	   uint32 from)
{
	ls_buf path;
	int parameter;

	ls_buf_init(&path, p->search->arena);
	ls_scan_field_name(&path, field->parts + from, field->n_parts - from);
	if (path.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	parameter = ls_plan_parameter(
		p, TEXTOID, PointerGetDatum(ls_text_of_str(ls_str_make(path.data, path.len))), false);
	return psprintf("logsvc_internal.%s(%s, $%d)", function, value, parameter);
}

/* Does the value of the field depend on what stages made or removed? */
static bool
is_touched(const ls_planner *p, const ls_query_field *field)
{
	if (!is_attribute(field))
		return false;
	for (int i = 0; i < p->n_bindings; i++)
	{
		if (is_attribute(p->bindings[i].field) && inside(p->bindings[i].field->name, field) > 0)
			return true;
	}
	for (int i = 0; i < p->hidden.n; i++)
	{
		const ls_query_field *hidden = p->hidden.items[i];

		if (is_attribute(hidden) &&
			(ls_str_eq(hidden->name, field->name) || inside(hidden->name, field) > 0 ||
			 inside(field->name, hidden) > 0))
			return true;
	}
	for (int i = 0; keys_are_listed(p) && i < p->shown.n; i++)
	{
		if (is_attribute(p->shown.items[i]) && inside(p->shown.items[i]->name, field) > 0)
			return true;
	}
	return false;
}

/* The column name of a binding from now on. */
static char *
settled(ls_planner *p, int at)
{
	ls_binding *b = &p->bindings[at];
	bool whole = b->shown == b->sql;

	b->sql = ls_plan_column_of(p, b->sql);
	if (whole)
		b->shown = b->sql;
	return b->sql;
}

/* The value of the key from the first n parts of the path; NULL: there is none. */
static char *
key_value(ls_planner *p, const ls_query_field *field, uint32 n)
{
	const ls_query_field *key = literal(field, n);
	int bound = find_binding(p, key);
	char *value;

	if (bound >= 0)
		return settled(p, bound);
	if (keys_are_listed(p))
	{
		int at = find_key(&p->shown, key);

		return at < 0 ? NULL : event_value(p, p->shown.items[at]);
	}
	if (find_key(&p->hidden, key) >= 0)
		return NULL;
	value = event_value(p, key);
	for (int i = 0; i < p->hidden.n; i++)
	{
		uint32 from = inside(key->name, p->hidden.items[i]);

		if (from > 0)
			value = member(p, "value_without", value, p->hidden.items[i], from);
	}
	return value;
}

/* Fields that `fields - attributes` removes from events can still be named. */
char *
ls_plan_reference(ls_planner *p, const ls_query_field *field)
{
	StringInfoData sql;
	int bound;

	if (p->plan->table)
	{
		for (int i = 0; i < p->plan->n_columns; i++)
		{
			ls_plan_column *column = &p->plan->columns[i];

			if (ls_str_eq(column->name, field->name))
				return column->sql = ls_plan_column_of(p, column->sql);
		}
		return pstrdup(LS_SQL_MISSING);
	}
	if (is_all_attributes(field))
		ls_search_fail(p->search, field->span, "name an attribute: attributes.<name>");
	bound = find_binding(p, field);
	if (bound >= 0)
		return settled(p, bound);
	if (!is_touched(p, field))
		return is_gone(p, field) ? pstrdup(LS_SQL_MISSING) : event_value(p, field);
	initStringInfo(&sql);
	appendStringInfoString(&sql, "coalesce(");
	for (uint32 n = field->n_parts; n > 0; n--)
	{
		char *value = key_value(p, field, n);

		if (value != NULL && n < field->n_parts)
			value = member(p, "value_member", value, field, n);
		if (value != NULL)
			appendStringInfo(&sql, "%s, ", value);
	}
	appendStringInfoString(&sql, LS_SQL_MISSING ")");
	return ls_plan_column_of(p, sql.data);
}

/* For grouping, a null counts as a missing value. */
char *
ls_plan_known(ls_planner *p, const ls_query_field *field)
{
	return psprintf("nullif(%s, 'null')", ls_plan_reference(p, field));
}

/* ---- what stages do to them ---- */

static void
unbind(ls_planner *p, int at)
{
	p->n_bindings--;
	memmove(&p->bindings[at], &p->bindings[at + 1],
			sizeof(ls_binding) * (Size) (p->n_bindings - at));
}

static void
add_binding(ls_planner *p, const ls_query_field *field, char *sql)
{
	if (p->n_bindings == LS_PLAN_MAX_FIELDS)
		ls_search_fail(p->search, field->span, "the query makes more than %d fields",
					   LS_PLAN_MAX_FIELDS);
	p->bindings[p->n_bindings++] = (ls_binding){field, sql, sql, false};
}

bool
ls_plan_can_extract(const ls_query_field *field)
{
	switch (field->builtin)
	{
		case LS_QUERY_NOT_BUILTIN:
			return field->n_parts > 0;
		case LS_QUERY_LEVEL:
		case LS_QUERY_SOURCE:
		case LS_QUERY_SERVICE:
		case LS_QUERY_TRACE_ID:
		case LS_QUERY_SPAN_ID:
			return true;
		default:
			return false;
	}
}

char *
ls_plan_member(ls_planner *p, const char *value, const ls_query_field *field)
{
	return member(p, "value_member", value, field, 0);
}

void
ls_plan_bind_path(ls_planner *p, const ls_query_field *field, char *sql)
{
	int at = find_binding(p, field);

	if (at >= 0)
		unbind(p, at);
	add_binding(p, field, sql);
	p->bindings[p->n_bindings - 1].shown = NULL;
	p->bindings[p->n_bindings - 1].path = true;
}

/* What was found in texts no longer has the field. */
static void
hide_extracted(ls_planner *p, const ls_query_field *field)
{
	if (p->extracted == NULL || !ls_plan_can_extract(field))
		return;
	if (field->n_parts > 1)
	{
		p->extracted = ls_plan_column_of(p, member(p, "value_without", p->extracted, field, 0));
		return;
	}
	for (int i = 0; i < p->n_unwanted; i++)
	{
		if (ls_str_eq(p->unwanted[i], field->name))
			return;
	}
	if (p->n_unwanted == lengthof(p->unwanted))
		ls_search_fail(p->search, field->span, "the query changes more than %d fields",
					   (int) lengthof(p->unwanted));
	p->unwanted[p->n_unwanted++] = field->name;
}

/* The field is removed, also as a member of other fields. */
void
ls_plan_hide(ls_planner *p, const ls_query_field *field)
{
	int at = find_binding(p, field);

	if (at >= 0)
		unbind(p, at);
	for (int i = p->n_bindings - 1; i >= 0; i--)
	{
		/* It was inside of the field. */
		if (p->bindings[i].path && is_attribute(field) &&
			inside(field->name, p->bindings[i].field) > 0)
			unbind(p, i);
	}
	hide_extracted(p, field);
	for (int i = 0; i < p->n_bindings; i++)
	{
		ls_binding *b = &p->bindings[i];
		uint32 from = is_attribute(b->field) ? inside(b->field->name, field) : 0;
		bool whole = b->shown == b->sql;

		if (from == 0)
			continue;
		b->sql = member(p, "value_without", b->sql, field, from);
		if (b->shown != NULL)
			b->shown = whole ? b->sql : member(p, "value_without", b->shown, field, from);
	}
	if (!is_attribute(field) || !keys_are_listed(p))
	{
		add_field(p, &p->hidden, field);
		return;
	}
	for (int i = p->shown.n - 1; i >= 0; i--)
	{
		const ls_query_field *shown = p->shown.items[i];
		uint32 from = is_attribute(shown) ? inside(shown->name, field) : 0;

		if (from == 0 && !same_key(shown, field))
			continue;
		p->shown.items[i] = p->shown.items[--p->shown.n];
		if (from > 0)
			add_binding(p, shown, member(p, "value_without", event_value(p, shown), field, from));
	}
}

/* If the event itself has this field, it is no longer shown. */
void
ls_plan_bind(ls_planner *p, const ls_query_field *field, char *sql)
{
	ls_plan *plan = p->plan;
	ls_plan_column *columns;
	int at;

	if (!plan->table)
	{
		if (is_all_attributes(field))
			ls_search_fail(p->search, field->span, "name an attribute: attributes.<name>");
		ls_plan_hide(p, field);
		add_binding(p, field, sql);
		return;
	}
	for (at = 0; at < plan->n_columns; at++)
	{
		if (ls_str_eq(plan->columns[at].name, field->name))
			break;
	}
	if (at == LS_PLAN_MAX_COLUMNS)
		ls_search_fail(p->search, field->span, "a table has at most %d columns",
					   LS_PLAN_MAX_COLUMNS);
	columns = palloc0(sizeof(*columns) * (Size) (plan->n_columns + 1));
	memcpy(columns, plan->columns, sizeof(*columns) * (Size) plan->n_columns);
	columns[at] = (ls_plan_column){.name = field->name, .sql = sql};
	plan->columns = columns;
	plan->n_columns = Max(plan->n_columns, at + 1);
}

void
ls_plan_bind_some(ls_planner *p, const ls_query_field *field, char *sql)
{
	char *old = ls_plan_reference(p, field);
	char *shown = old;
	int at = p->plan->table ? -1 : find_binding(p, field);

	if (at >= 0)
		shown = p->bindings[at].shown;
	else if (is_attribute(field) && has_all_attributes(&p->hidden))
		shown = NULL;
	ls_plan_bind(p, field, psprintf("coalesce(%s, %s)", sql, old));
	if (!p->plan->table && shown != old)
		p->bindings[p->n_bindings - 1].shown =
			shown == NULL ? sql : psprintf("coalesce(%s, %s)", sql, shown);
}

/* ---- the stage fields ---- */

/* For a table: keeps or drops some of its columns. */
static void
columns_listed(ls_planner *p, const ls_query_stage *stage, const ls_field_set *listed)
{
	ls_plan *plan = p->plan;
	ls_plan_column *old = plan->columns;
	ls_plan_column *columns =
		palloc0(sizeof(*columns) * (Size) (plan->n_columns + LS_PLAN_MAX_FIELDS));
	int n = 0;

	for (int i = 0; stage->exclude && i < plan->n_columns; i++)
	{
		bool hide = false;

		for (int f = 0; f < listed->n; f++)
			hide = hide || ls_str_eq(listed->items[f]->name, old[i].name);
		if (!hide)
			columns[n++] = old[i];
	}
	for (int f = 0; !stage->exclude && f < listed->n; f++)
	{
		columns[n].name = listed->items[f]->name;
		columns[n].sql = ls_plan_reference(p, listed->items[f]);
		for (int i = 0; i < plan->n_columns; i++)
		{
			if (ls_str_eq(old[i].name, columns[n].name))
				columns[n].type = old[i].type;
		}
		n++;
	}
	if (n == 0)
		ls_search_fail(p->search, stage->span, "no column is left");
	plan->columns = columns;
	plan->n_columns = n;
}

/* `fields a, b`: events have only these fields left. */
static void
show(ls_planner *p, const ls_field_set *listed)
{
	bool all = has_all_attributes(listed);
	ls_field_set shown = {.given = true};
	ls_field_set made = {0};
	char *values[LS_PLAN_MAX_FIELDS];

	for (int i = 0; i < listed->n; i++)
	{
		const ls_query_field *field = listed->items[i];

		int bound = find_binding(p, field);

		if (bound >= 0)
		{
			/* What was inside of another field is a field now. */
			if (p->bindings[bound].path)
				p->bindings[bound].shown = p->bindings[bound].sql;
			p->bindings[bound].path = false;
			continue;
		}
		/* A member of another key's value becomes a key of its own. */
		if (!all && is_touched(p, field))
			values[add_field(p, &made, field)] = ls_plan_reference(p, field);
		else if (!p->shown.given || covered(&p->shown, field))
			add_field(p, &shown, field);
	}
	for (int i = 0; all && p->shown.given && i < p->shown.n; i++)
	{
		if (p->shown.items[i]->builtin == LS_QUERY_NOT_BUILTIN)
			add_field(p, &shown, p->shown.items[i]);
	}
	for (int b = p->n_bindings - 1; b >= 0; b--)
	{
		if (!covered(listed, p->bindings[b].field))
			unbind(p, b);
	}
	for (int i = 0; i < made.n; i++)
		add_binding(p, made.items[i], values[i]);
	if (!all)
		p->extracted = NULL;
	p->shown = shown;
}

/* part_scan leaves out of events what is not shown. */
void
ls_plan_fields(ls_planner *p, const ls_query_stage *stage)
{
	ls_field_set listed = {0};

	for (uint32 i = 0; i < stage->fields.n; i++)
		add_field(p, &listed, stage->fields.items[i]);
	if (p->plan->table)
		columns_listed(p, stage, &listed);
	else if (!stage->exclude)
		show(p, &listed);
	else
	{
		for (int i = 0; i < listed.n; i++)
			ls_plan_hide(p, listed.items[i]);
		if (has_all_attributes(&listed))
			p->extracted = NULL;
		/* They are not in the answer, but can still be named. */
		for (int b = 0; b < p->n_bindings && has_all_attributes(&listed); b++)
		{
			if (is_attribute(p->bindings[b].field))
				p->bindings[b].shown = NULL;
		}
	}
}

/* ---- the stage table ---- */

/* Rows of these columns, in this order.  They stay in the order of the events. */
void
ls_plan_columns(ls_planner *p, const ls_query_stage *stage)
{
	ls_plan *plan = p->plan;
	ls_plan_column *columns = palloc0(sizeof(*columns) * (Size) (stage->fields.n + 1));
	int n = 0;

	if (plan->table)
	{
		ls_plan_fields(p, stage);
		return;
	}
	for (uint32 i = 0; i < stage->fields.n; i++)
	{
		const ls_query_field *field = stage->fields.items[i];
		ls_str name = ls_query_field_written(field);
		bool named = false;

		for (int c = 0; c < n; c++)
			named = named || ls_str_eq(columns[c].name, name);
		if (named)
			continue;
		columns[n].name = name;
		columns[n].type = ls_plan_is_timestamp(p, field) ? LS_COLUMN_TIME : LS_COLUMN_ANY;
		columns[n].sql = ls_plan_reference(p, field);
		/* A table keeps no values of events when it is cut. */
		if (strstr(columns[n].sql, "\"values\"") != NULL)
			columns[n].sql = psprintf("t.c%d", ls_plan_add_column(p, columns[n].sql));
		n++;
	}
	plan->table = true;
	plan->columns = columns;
	plan->n_columns = n;
	p->n_bindings = 0;
	p->extracted = NULL;
}
