/*-------------------------------------------------------------------------
 *
 * value.c
 *	  Expressions of stages for one row of SQL: src/engine with a batch of one.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/value.h"

#include "src/query/engine_program.h"
#include "src/query/query.h"
#include "src/scan/engine_host.h"

/* Limit of memory for one expression and one row, including intermediate texts. */
#define SCRATCH_LIMIT ((size_t) 64 * 1024 * 1024)
#define PROGRAM_LIMIT ((size_t) 64 * 1024 * 1024)

struct ls_value_program
{
	ls_engine *engine;
	ls_engine_host host;
	ls_arena *scratch; /* of one row */
	ls_arena *kept;
	ls_engine_program *program;
	const ls_str *fields; /* of the row, as JSON */
	int zone_slot;        /* of the name of the time zone; -1: not needed */
};

/* ---- making it ready ---- */

static int
find_slot(const ls_value_fields *fields, const ls_query_field *field)
{
	for (int i = 0; i < fields->n; i++)
	{
		/* Two names of one field have a slot each: where the text is parsed again, they are two. */
		if (ls_query_field_eq(fields->items[i], field) &&
			ls_str_eq(fields->items[i]->alias, field->alias))
			return i;
	}
	return -1;
}

bool
ls_value_list_fields(const ls_query_expr *expr, ls_value_fields *fields)
{
	if (expr->kind == LS_QUERY_EXPR_FIELD && find_slot(fields, expr->field) < 0)
	{
		if (fields->n == LS_VALUE_MAX_FIELDS)
			return false;
		fields->items[fields->n++] = expr->field;
	}
	for (uint32 i = 0; i < expr->n_args; i++)
	{
		if (!ls_value_list_fields(expr->args[i], fields))
			return false;
	}
	return true;
}

bool
ls_value_needs_zone(const ls_query_expr *expr)
{
	bool needed = expr->kind == LS_QUERY_EXPR_CALL &&
				  (expr->function == LS_QUERY_STRFTIME || expr->function == LS_QUERY_STRPTIME ||
				   expr->function == LS_QUERY_BIN);

	for (uint32 i = 0; i < expr->n_args && !needed; i++)
		needed = ls_value_needs_zone(expr->args[i]);
	return needed;
}

const ls_query_expr *
ls_value_expression(const ls_query_stage *stage, int number)
{
	if (stage->kind == LS_QUERY_WHERE)
		return number == 0 ? stage->condition : NULL;
	if (number < 0)
		return NULL;
	if (stage->kind == LS_QUERY_EVAL || stage->kind == LS_QUERY_BIN_STAGE)
		return (uint32) number < stage->assigns.n ? stage->assigns.items[number]->value : NULL;
	return (uint32) number < stage->aggregates.n ? stage->aggregates.items[number]->arg : NULL;
}

static bool
write_field(void *context, const ls_query_field *field, ls_buf *to)
{
	ls_buf_char(to, LS_OP_FIELD);
	ls_buf_varint(to, (uint64) find_slot(context, field));
	return true;
}

/* A JSON text as a value. */
static ls_scalar
value_of(ls_str json, ls_arena *arena)
{
	ls_scalar v = {.kind = LS_SCALAR_NULL};

	switch (json.len == 0 ? 'n' : json.data[0])
	{
		case '"':
			v.kind = LS_SCALAR_STRING;
			v.text = ls_value_plain(json, arena);
			return v;
		case '{':
		case '[':
			v.kind = LS_SCALAR_JSON;
			v.text = json;
			return v;
		case 't':
		case 'f':
			v.kind = LS_SCALAR_BOOLEAN;
			v.boolean = json.data[0] == 't';
			return v;
		case 'n':
			return v;
		default:
			return ls_scalar_of_number(json);
	}
}

static bool
load(void *context, uint32_t field, const ls_engine_rows *rows, ls_arena *arena, ls_values *values)
{
	const ls_value_program *program = context;
	ls_scalar v = value_of(program->fields[field], arena);

	if (!ls_values_make(arena, 1, values))
		return false;
	values->constant = true;
	ls_values_put(values, 0, &v);
	return true;
}

ls_value_program *
ls_value_prepare(const ls_query_expr *expr)
{
	ls_value_program *program = palloc0(sizeof(*program));
	ls_value_fields fields = {.n = 0};
	const char *error = NULL;
	ls_buf bytes;

	if (!ls_value_list_fields(expr, &fields))
		elog(ERROR, "an expression has too many fields");
	program->scratch = ls_context_arena(CurrentMemoryContext, SCRATCH_LIMIT);
	program->kept = ls_context_arena(CurrentMemoryContext, PROGRAM_LIMIT);
	program->zone_slot = ls_value_needs_zone(expr) ? fields.n : -1;
	ls_buf_init(&bytes, program->kept);
	ls_buf_char(&bytes, LS_ENGINE_VERSION);
	ls_buf_lstr(&bytes, LS_STR("")); /* the zone comes with the row */
	ls_buf_varint(&bytes, (uint64) fields.n);
	for (int i = 0; i < fields.n; i++)
		ls_buf_lstr(&bytes, fields.items[i]->name);
	ls_buf_varint(&bytes, 1);
	ls_buf_char(&bytes, LS_STEP_VALUE);
	if (!ls_engine_write(&bytes, expr, write_field, &fields))
		elog(ERROR, "an expression cannot be evaluated");
	if (bytes.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	program->program = ls_engine_read(program->kept, ls_str_make(bytes.data, bytes.len), &error);
	if (program->program == NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("not a regular expression: %s", error));
	return program;
}

/* The name of the zone is a constant of the statement, so it is looked up once. */
static void
begin(ls_value_program *program)
{
	ls_str zone = {NULL, 0};

	if (program->zone_slot >= 0)
		zone = program->fields[program->zone_slot];
	ls_engine_host_init(&program->host, zone, ls_scan_now());
	program->host.context = program;
	program->host.load = load;
	program->engine =
		ls_engine_make(program->kept, program->scratch, program->program, &program->host);
	if (program->engine == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
}

ls_str
ls_value_plain(ls_str json, ls_arena *arena)
{
	ls_json j;
	ls_json_value v;

	if (json.len < 2 || json.data[0] != '"')
		return json;
	if (memchr(json.data, '\\', json.len) == NULL)
		return ls_str_make(json.data + 1, json.len - 2);
	ls_json_init(&j, json, arena, 4);
	if (!ls_json_read(&j, &v))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return v.text;
}

/* ---- evaluation ---- */

static ls_scalar
evaluate(ls_value_program *program, const ls_str *fields)
{
	static const uint16_t row[1] = {0};
	const ls_engine_rows *left;
	const ls_values *values;

	program->fields = fields;
	if (program->engine == NULL)
		begin(program);
	values =
		ls_engine_run(program->engine, row, 1, &left) ? ls_engine_value(program->engine, 0) : NULL;
	if (values == NULL)
		ls_engine_raise(program->engine);
	return ls_values_get(values, ls_values_place(values, 0));
}

/* Free scratch memory after each row, because a statement has many programs. */
struct varlena *
ls_value_json(ls_value_program *program, const ls_str *fields)
{
	struct varlena *json = NULL;
	ls_scalar v = evaluate(program, fields);
	ls_str text;
	ls_buf buf;

	if (v.kind == LS_SCALAR_STRING)
	{
		ls_buf_init(&buf, program->scratch);
		ls_json_quote(&buf, v.text);
		if (buf.failed)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		json = ls_text_of_str(ls_str_make(buf.data, buf.len));
	}
	else if (v.kind != LS_SCALAR_NULL)
	{
		text = ls_scalar_text(program->scratch, &v);
		if (text.data == NULL)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		json = ls_text_of_str(text);
	}
	ls_arena_reset(program->scratch);
	return json;
}

bool
ls_value_is_true(ls_value_program *program, const ls_str *fields)
{
	ls_scalar v = evaluate(program, fields);
	bool result = v.kind == LS_SCALAR_BOOLEAN
					  ? v.boolean
					  : v.kind == LS_SCALAR_STRING && ls_str_eq(v.text, LS_STR("true"));

	ls_arena_reset(program->scratch);
	return result;
}
