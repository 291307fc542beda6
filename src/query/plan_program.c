/*-------------------------------------------------------------------------
 *
 * plan_program.c
 *	  Stages before a table as a program that the scan of parts runs (src/engine).
 *
 * If all stages before the first table are of kinds that the engine knows, and the table is
 * one that group_parts makes, then group_parts runs them, and no row becomes one of SQL.
 * Otherwise they stay in the statement, which knows all stages; but part_scan applies the
 * conditions among them, so the statement sees only rows that meet them.  It makes the fields
 * again for these rows: the rest would have to become JSON between the two.
 *
 * Fields are looked up as plan_field.c does.  Paths into fields that stages made, removed or
 * listed are left to it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/plan.h"

#include "catalog/pg_type.h"
#include "pgtime.h"

#include "src/query/engine_program.h"
#include "src/query/value.h"

#define PROGRAM_MEMORY ((size_t) 64 * 1024 * 1024)

/* What a name stands for at the current stage. */
typedef enum meaning_kind
{
	MEANS_NOTHING,
	MEANS_FIELD, /* of the events, by its number in the program */
	MEANS_VALUE  /* of the program */
} meaning_kind;

typedef struct meaning
{
	const ls_query_field *name;
	meaning_kind kind;
	uint32 number;
} meaning;

struct ls_plan_program
{
	ls_planner *p;
	ls_buf steps;
	uint32 n_steps;
	const ls_query_field *fields[LS_ENGINE_MAX_FIELDS];
	uint32 n_fields;
	ls_str values[LS_ENGINE_MAX_STEPS]; /* their expressions as bytes */
	uint32 n_values;
	meaning names[LS_PLAN_MAX_FIELDS]; /* that stages made or removed */
	int n_names;
	bool listed; /* only these fields of the event are left: */
	const ls_query_field *shown[LS_PLAN_MAX_FIELDS];
	int n_shown;
	bool zoned;
	int parameter; /* 0: not added so far */
};

static bool
same_key(const ls_query_field *a, const ls_query_field *b)
{
	return a->builtin == b->builtin && ls_str_eq(a->name, b->name);
}

static bool
is_attribute(const ls_query_field *field)
{
	return field->builtin == LS_QUERY_NOT_BUILTIN;
}

/* Does the key hold what the path leads into? */
static bool
leads_into(const ls_query_field *path, const ls_query_field *key)
{
	size_t len = 0;

	for (uint32 n = 1; is_attribute(key) && n < path->n_parts; n++)
	{
		len += path->parts[n - 1].len + (n > 1);
		if (ls_str_eq(ls_str_make(path->name.data, len), key->name))
			return true;
	}
	return false;
}

/* A field that can be made, removed or listed here. */
static bool
is_simple(const ls_query_field *field)
{
	return field->builtin != LS_QUERY_TEMPLATE_ID &&
		   (field->builtin != LS_QUERY_NOT_BUILTIN || field->n_parts == 1);
}

static bool
find_field(ls_plan_program *g, const ls_query_field *field, uint32 *number)
{
	for (*number = 0; *number < g->n_fields; ++*number)
	{
		if (ls_str_eq(ls_plan_field_name(g->p, g->fields[*number]),
					  ls_plan_field_name(g->p, field)))
			return true;
	}
	if (g->n_fields == LS_ENGINE_MAX_FIELDS)
		return false;
	g->fields[g->n_fields++] = field;
	return true;
}

/* Do events still have the field, if no stage made or removed it? */
static bool
is_shown(const ls_plan_program *g, const ls_query_field *field)
{
	bool shown = !g->listed;

	for (int i = 0; i < g->n_shown && !shown; i++)
		shown = same_key(g->shown[i], field);
	return shown;
}

/* What a name stands for; false: the engine does not know. */
static bool
look_up(ls_plan_program *g, const ls_query_field *field, meaning *to)
{
	bool path = is_attribute(field) && field->n_parts > 1;

	*to = (meaning){field, MEANS_NOTHING, 0};
	if (field->builtin == LS_QUERY_TEMPLATE_ID || (is_attribute(field) && field->n_parts == 0))
		return false;
	for (int i = 0; i < g->n_names; i++)
	{
		if (same_key(g->names[i].name, field))
		{
			*to = g->names[i];
			return true;
		}
	}
	for (int i = 0; path && i < g->n_names; i++)
	{
		if (leads_into(field, g->names[i].name))
			return false;
	}
	if (path && g->listed)
		return false;
	if (!is_shown(g, field))
		return true;
	to->kind = MEANS_FIELD;
	return find_field(g, field, &to->number);
}

/* From now on a name stands for this. */
static bool
set_meaning(ls_plan_program *g, const ls_query_field *name, meaning value)
{
	int at = 0;

	if (!is_simple(name))
		return false;
	while (at < g->n_names && !same_key(g->names[at].name, name))
		at++;
	if (at == LS_PLAN_MAX_FIELDS)
		return false;
	g->names[at] = (meaning){name, value.kind, value.number};
	g->n_names = Max(g->n_names, at + 1);
	return true;
}

/* ---- expressions ---- */

static void
write_meaning(ls_buf *to, const meaning *m)
{
	if (m->kind == MEANS_NOTHING)
		ls_buf_char(to, LS_OP_NULL);
	else
	{
		ls_buf_char(to, m->kind == MEANS_FIELD ? LS_OP_FIELD : LS_OP_VALUE);
		ls_buf_varint(to, m->number);
	}
}

static bool
write_field(void *context, const ls_query_field *field, ls_buf *to)
{
	meaning m;

	if (!look_up(context, field, &m))
		return false;
	write_meaning(to, &m);
	return true;
}

static bool
expression(ls_plan_program *g, const ls_query_expr *expr, ls_str *bytes)
{
	ls_buf buf;

	ls_plan_check_patterns(g->p, expr);
	ls_buf_init(&buf, g->p->search->arena);
	if (!ls_engine_write(&buf, expr, write_field, g))
		return false;
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	g->zoned = g->zoned || ls_value_needs_zone(expr);
	*bytes = ls_str_make(buf.data, buf.len);
	return true;
}

static bool
add_step(ls_plan_program *g, ls_engine_step step, ls_str bytes)
{
	if (g->n_steps == LS_ENGINE_MAX_STEPS)
		return false;
	ls_buf_char(&g->steps, (char) step);
	ls_buf_str(&g->steps, bytes);
	g->n_steps++;
	return true;
}

/* The number of a value with this expression; the same expression is made once. */
static bool
add_value(ls_plan_program *g, ls_str bytes, meaning *value)
{
	value->kind = MEANS_VALUE;
	for (value->number = 0; value->number < g->n_values; value->number++)
	{
		if (ls_str_eq(g->values[value->number], bytes))
			return true;
	}
	if (!add_step(g, LS_STEP_VALUE, bytes))
		return false;
	g->values[g->n_values++] = bytes;
	return true;
}

/* ---- stages ---- */

static bool
eval(ls_plan_program *g, const ls_query_stage *stage)
{
	for (uint32 i = 0; i < stage->assigns.n; i++)
	{
		const ls_query_assign *assign = stage->assigns.items[i];
		meaning value = {0};
		ls_str bytes;

		if (assign->value->kind == LS_QUERY_EXPR_FIELD
				? !look_up(g, assign->value->field, &value)
				: !expression(g, assign->value, &bytes) || !add_value(g, bytes, &value))
			return false;
		if (!set_meaning(g, assign->to, value))
			return false;
	}
	return true;
}

/* All at once: `rename a as b, b as a` swaps them. */
static bool
rename_fields(ls_plan_program *g, const ls_query_stage *stage)
{
	uint32 n = stage->assigns.n;
	meaning *values = palloc(sizeof(meaning) * (n + (Size) 1));

	for (uint32 i = 0; i < n; i++)
	{
		if (!look_up(g, stage->assigns.items[i]->from, &values[i]))
			return false;
	}
	for (uint32 i = 0; i < n; i++)
	{
		if (!set_meaning(g, stage->assigns.items[i]->from, (meaning){0}))
			return false;
	}
	for (uint32 i = 0; i < n; i++)
	{
		if (!set_meaning(g, stage->assigns.items[i]->to, values[i]))
			return false;
	}
	return true;
}

static bool
is_in(const ls_query_fields *fields, const ls_query_field *field)
{
	for (uint32 i = 0; i < fields->n; i++)
	{
		if (same_key(fields->items[i], field))
			return true;
	}
	return false;
}

/* Only these are left, of those that were. */
static void
list_fields(ls_plan_program *g, const ls_query_fields *list)
{
	const ls_query_field *shown[LS_PLAN_MAX_FIELDS];
	int n = 0;

	for (int i = 0; i < g->n_names; i++)
	{
		if (!is_in(list, g->names[i].name))
			g->names[i].kind = MEANS_NOTHING;
	}
	for (uint32 i = 0; i < list->n; i++)
	{
		if (is_shown(g, list->items[i]))
			shown[n++] = list->items[i];
	}
	memcpy(g->shown, shown, sizeof(shown[0]) * (Size) n);
	g->n_shown = n;
	g->listed = true;
}

static bool
fields(ls_plan_program *g, const ls_query_stage *stage)
{
	if (stage->fields.n > LS_PLAN_MAX_FIELDS)
		return false;
	for (uint32 i = 0; i < stage->fields.n; i++)
	{
		const ls_query_field *field = stage->fields.items[i];

		if (!is_simple(field) || (stage->exclude && !set_meaning(g, field, (meaning){0})))
			return false;
	}
	if (!stage->exclude)
		list_fields(g, &stage->fields);
	return true;
}

static bool
add_stage(ls_plan_program *g, const ls_query_stage *stage)
{
	ls_str bytes;

	switch (stage->kind)
	{
		case LS_QUERY_WHERE:
			return expression(g, stage->condition, &bytes) && add_step(g, LS_STEP_WHERE, bytes);
		case LS_QUERY_EVAL:
		case LS_QUERY_BIN_STAGE:
			return eval(g, stage);
		case LS_QUERY_RENAME:
			return rename_fields(g, stage);
		case LS_QUERY_FIELDS:
			return fields(g, stage);
		case LS_QUERY_DEDUP:
		case LS_QUERY_STATS:
		case LS_QUERY_TIMECHART:
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
		case LS_QUERY_SORT:
		case LS_QUERY_HEAD:
		case LS_QUERY_REX:
		case LS_QUERY_PATTERNS:
		case LS_QUERY_TABLE:
		case LS_QUERY_TAIL:
		case LS_QUERY_FILLNULL:
		case LS_QUERY_EVENTSTATS:
		case LS_QUERY_LOOKUP:
		case LS_QUERY_JSON:
		case LS_QUERY_LOGFMT:
		case LS_QUERY_KV:
			break;
	}
	return false;
}

/* ---- the table ---- */

/* Makes a key or an argument a field of the scan, or a value of the program. */
static bool
prepare_source(ls_plan_program *g, const ls_query_expr *expr, const ls_query_field *field,
			   meaning *m)
{
	ls_str bytes = LS_STR("\x02"); /* LS_OP_NULL */

	if (expr != NULL && expr->kind == LS_QUERY_EXPR_FIELD)
		field = expr->field;
	if (field == NULL)
		return expression(g, expr, &bytes) && add_value(g, bytes, m);
	if (!look_up(g, field, m))
		return false;
	return m->kind != MEANS_NOTHING || add_value(g, bytes, m);
}

/* Can group_parts make the table of this stage? */
static bool
prepare_table(ls_plan_program *g, const ls_query_stage *stage)
{
	meaning m;

	if (!ls_plan_groups_parts(stage))
		return false;
	for (uint32 i = 0; i < stage->by.n; i++)
	{
		if (!prepare_source(g, NULL, stage->by.items[i], &m))
			return false;
	}
	for (uint32 i = 0;
		 (stage->kind == LS_QUERY_TOP || stage->kind == LS_QUERY_RARE) && i < stage->fields.n; i++)
	{
		if (!prepare_source(g, NULL, stage->fields.items[i], &m))
			return false;
	}
	for (uint32 i = 0; i < stage->aggregates.n; i++)
	{
		const ls_query_expr *arg = stage->aggregates.items[i]->arg;

		if (arg != NULL && !prepare_source(g, arg, NULL, &m))
			return false;
	}
	return true;
}

static ls_str
program_bytes(ls_plan_program *g)
{
	const pg_tz *zone = g->p->search->zone.context;
	ls_buf bytes;

	ls_buf_init(&bytes, g->p->search->arena);
	ls_buf_char(&bytes, LS_ENGINE_VERSION);
	ls_buf_lstr(&bytes, g->zoned && zone != NULL
							? ls_str_of_cstring(pg_get_timezone_name((pg_tz *) zone))
							: LS_STR(""));
	ls_buf_varint(&bytes, g->n_fields);
	for (uint32 i = 0; i < g->n_fields; i++)
		ls_buf_lstr(&bytes, ls_plan_field_name(g->p, g->fields[i]));
	ls_buf_varint(&bytes, g->n_steps);
	ls_buf_str(&bytes, ls_str_make(g->steps.data, g->steps.len));
	if (bytes.failed || g->steps.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return ls_str_make(bytes.data, bytes.len);
}

/* The scan reads it too; a limit of the engine is none of the search. */
static bool
is_readable(ls_plan_program *g)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, PROGRAM_MEMORY);
	const char *error = NULL;
	bool readable = ls_engine_read(arena, program_bytes(g), &error) != NULL;

	ls_arena_destroy(arena);
	return readable;
}

uint32
ls_plan_program_make(ls_planner *p)
{
	const ls_query_stages *stages = &p->search->query->stages;
	ls_plan_program *g = palloc0(sizeof(*g));

	g->p = p;
	ls_buf_init(&g->steps, p->search->arena);
	for (uint32 i = p->first_stage; i < stages->n; i++)
	{
		const ls_query_stage *stage = stages->items[i];

		if (ls_plan_names_template_id(stage))
			return p->first_stage;
		if (stage->kind == LS_QUERY_BIN_STAGE)
			ls_plan_check_bin(p, stage);
		if (add_stage(g, stage))
			continue;
		if (!prepare_table(g, stage) || !is_readable(g))
			return p->first_stage;
		p->program = g;
		return i;
	}
	return p->first_stage;
}

void
ls_plan_program_filter(ls_planner *p)
{
	const ls_query_stages *stages = &p->search->query->stages;
	ls_plan_program *g = palloc0(sizeof(*g));
	ls_plan_program last = {0}; /* its numbers after the last condition */
	bool makes_fields = false;
	bool fields_before = false;
	uint32 end = p->first_stage;

	g->p = p;
	ls_buf_init(&g->steps, p->search->arena);
	for (uint32 i = p->first_stage; i < stages->n; i++)
	{
		const ls_query_stage *stage = stages->items[i];

		if (ls_plan_names_template_id(stage))
			break;
		if (stage->kind == LS_QUERY_BIN_STAGE)
			ls_plan_check_bin(p, stage);
		if (!add_stage(g, stage))
			break;
		if (stage->kind != LS_QUERY_WHERE)
		{
			makes_fields = true;
			continue;
		}
		last.n_steps = g->n_steps;
		last.steps.len = g->steps.len;
		last.n_fields = g->n_fields;
		last.zoned = g->zoned;
		fields_before = makes_fields;
		end = i + 1;
	}
	if (end == p->first_stage)
		return;
	g->n_steps = last.n_steps;
	g->steps.len = last.steps.len;
	g->n_fields = last.n_fields;
	g->zoned = last.zoned;
	if (!is_readable(g))
		return;
	ls_scan_describe(&p->scan, LS_SCAN_PROGRAM, PointerGetDatum(ls_text_of_str(program_bytes(g))));
	if (fields_before)
		p->filtered = end;
	else
		p->first_stage = end;
}

ls_str
ls_plan_program_source(ls_planner *p, const ls_query_expr *expr, const ls_query_field *field)
{
	meaning m = {0};

	if (!prepare_source(p->program, expr, field, &m))
		elog(ERROR, "a program has lost a field");
	if (m.kind == MEANS_FIELD)
		return ls_plan_field_name(p, p->program->fields[m.number]);
	return ls_str_of_cstring(psprintf("=%u", m.number));
}

int
ls_plan_program_parameter(ls_planner *p)
{
	ls_plan_program *g = p->program;

	if (g->parameter == 0)
		g->parameter = ls_plan_parameter(
			p, BYTEAOID, PointerGetDatum(ls_text_of_str(program_bytes(g))), g->n_steps == 0);
	return g->parameter;
}
