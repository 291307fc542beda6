/*-------------------------------------------------------------------------
 *
 * value_function.c
 *	  The functions over values of rows that the statements of searches call.
 *
 * A value is a JSON text, NULL when the field is missing.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include <math.h>

#include "src/query/extract.h"
#include "src/query/value.h"
#include "src/part/match.h"
#include "src/scan/scan.h"

PG_FUNCTION_INFO_V1(logsvc_value_eval);
PG_FUNCTION_INFO_V1(logsvc_value_test);
PG_FUNCTION_INFO_V1(logsvc_rex_groups);
PG_FUNCTION_INFO_V1(logsvc_event_set);
PG_FUNCTION_INFO_V1(logsvc_aggregate_number);
PG_FUNCTION_INFO_V1(logsvc_sort_number);
PG_FUNCTION_INFO_V1(logsvc_sort_text);
PG_FUNCTION_INFO_V1(logsvc_earlier_of);
PG_FUNCTION_INFO_V1(logsvc_later_of);
PG_FUNCTION_INFO_V1(logsvc_values_step);
PG_FUNCTION_INFO_V1(logsvc_values_list);

#define PARSE_MEMORY ((size_t) 8 * 1024 * 1024)
#define ROW_MEMORY ((size_t) 256 * 1024 * 1024)

ls_search_notes *ls_search_notes_current = NULL;

/* ---- expressions ---- */

/*
 * The stage that was parsed last.  A stage with many expressions has a call site
 * for each, and parsing it for each would take quadratic time.  The call
 * sites of a statement live in the same memory context.
 */
static struct
{
	MemoryContext context; /* NULL: there is none */
	ls_str text;
	const ls_query_stage *stage;
	MemoryContextCallback *callback;
} last_stage;

static void
forget_stage(void *callback)
{
	if (last_stage.callback == callback)
		last_stage.context = NULL;
}

const ls_query_stage *
ls_value_stage(FunctionCallInfo fcinfo)
{
	ls_str written = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	MemoryContextCallback *callback;
	ls_arena *arena;
	ls_query *query;
	ls_query_error error = {0};
	ls_buf whole;

	if (last_stage.context == CurrentMemoryContext && ls_str_eq(last_stage.text, written))
		return last_stage.stage;
	arena = ls_context_arena(CurrentMemoryContext, PARSE_MEMORY);
	ls_buf_init(&whole, arena);
	ls_buf_lit(&whole, "| ");
	ls_buf_str(&whole, written);
	if (whole.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	if (!ls_query_parse(ls_str_make(whole.data, whole.len), arena, &query, &error) ||
		query->stages.n != 1)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SYNTAX)), errmsg("not a stage"));
	callback = palloc0(sizeof(*callback));
	callback->func = forget_stage;
	callback->arg = callback;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	last_stage.context = CurrentMemoryContext;
	last_stage.text = ls_str_make(whole.data + 2, whole.len - 2);
	last_stage.stage = query->stages.items[0];
	last_stage.callback = callback;
	return last_stage.stage;
}

typedef struct eval_state
{
	ls_value_program *program;
	int n_values;
} eval_state;

/*
 * The expression that the first two arguments name.  They are constants of the statement,
 * so they are read only once.
 */
static eval_state *
program_of(FunctionCallInfo fcinfo)
{
	eval_state *state = fcinfo->flinfo->fn_extra;
	MemoryContext outer;
	const ls_query_expr *expr;
	ls_value_fields fields = {.n = 0};

	if (state != NULL)
		return state;
	outer = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	expr = ls_value_expression(ls_value_stage(fcinfo), PG_GETARG_INT32(1));
	if (expr == NULL || !ls_value_list_fields(expr, &fields))
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)), errmsg("no such expression"));
	state = palloc0(sizeof(*state));
	state->program = ls_value_prepare(expr);
	state->n_values = fields.n + (ls_value_needs_zone(expr) ? 1 : 0);
	MemoryContextSwitchTo(outer);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

/* The values of the expression's fields, then the time zone if it is needed. */
static void
read_fields(FunctionCallInfo fcinfo, const eval_state *state, ls_str *values)
{
	Datum *datums;
	bool *nulls;
	int n;

	memset(values, 0, sizeof(*values) * LS_VALUE_MAX_VALUES);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), TEXTOID, -1, false, TYPALIGN_INT, &datums, &nulls,
					  &n);
	for (int i = 0; i < n && i < state->n_values; i++)
	{
		if (!nulls[i])
			values[i] = ls_str_of_text(DatumGetTextPP(datums[i]));
	}
}

/* value_eval(stage text, expression int, fields text[]) returns text */
Datum
logsvc_value_eval(PG_FUNCTION_ARGS)
{
	eval_state *state = program_of(fcinfo);
	ls_str values[LS_VALUE_MAX_VALUES];
	struct varlena *json;

	read_fields(fcinfo, state, values);
	json = ls_value_json(state->program, values);
	if (json == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(json);
}

/* value_test(stage text, expression int, fields text[]) returns boolean */
Datum
logsvc_value_test(PG_FUNCTION_ARGS)
{
	eval_state *state = program_of(fcinfo);
	ls_str values[LS_VALUE_MAX_VALUES];

	read_fields(fcinfo, state, values);
	PG_RETURN_BOOL(ls_value_is_true(state->program, values));
}

/* ---- rex ---- */

typedef struct rex_state
{
	const ls_query_stage *stage;
	ls_regex *regex;
	ls_arena *scratch;
} rex_state;

static rex_state *
rex_of(FunctionCallInfo fcinfo)
{
	rex_state *state = fcinfo->flinfo->fn_extra;
	MemoryContext outer;
	const char *error = NULL;

	if (state != NULL)
		return state;
	outer = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	state = palloc0(sizeof(*state));
	state->stage = ls_value_stage(fcinfo);
	state->regex = ls_regex_compile(ls_context_arena(CurrentMemoryContext, ROW_MEMORY),
									state->stage->pattern, true, &error);
	if (state->regex == NULL)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("not a regular expression: %s", error));
	state->scratch = ls_context_arena(CurrentMemoryContext, ROW_MEMORY);
	MemoryContextSwitchTo(outer);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

/*
 * rex_groups(stage text, value text) returns text[]: the texts of the named groups of
 * the first match, as JSON strings; NULL without a match.
 */
Datum
logsvc_rex_groups(PG_FUNCTION_ARGS)
{
	rex_state *state = rex_of(fcinfo);
	const char *error = NULL;
	int n = (int) state->stage->n_groups;
	Datum *values = palloc0(sizeof(Datum) * (Size) n);
	bool *nulls = palloc0(sizeof(bool) * (Size) n);
	int bounds[1] = {1};
	int matched;
	ls_str subject;

	subject = ls_value_plain(ls_str_of_text(PG_GETARG_TEXT_PP(1)), state->scratch);
	matched = ls_regex_match(state->regex, subject, &error);
	if (matched < 0)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("rex could not be evaluated: %s", error));
	if (matched == 0)
	{
		ls_arena_reset(state->scratch);
		PG_RETURN_NULL();
	}
	for (int i = 0; i < n; i++)
	{
		ls_str group;
		ls_buf buf;

		nulls[i] =
			!ls_regex_group(state->regex, state->stage->groups[i]->name.data, subject, &group);
		if (nulls[i])
			continue;
		ls_buf_init(&buf, state->scratch);
		ls_json_quote(&buf, group);
		if (buf.failed)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		values[i] = PointerGetDatum(ls_text_of_str(ls_str_make(buf.data, buf.len)));
	}
	ls_arena_reset(state->scratch);
	PG_RETURN_ARRAYTYPE_P(
		construct_md_array(values, nulls, 1, &n, bounds, TEXTOID, -1, false, TYPALIGN_INT));
}

/* ---- members of events ---- */

static void
append_member(StringInfo out, ls_arena *arena, ls_str key, ls_str json)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	if (out->data[out->len - 1] != '{')
		ls_buf_char(&buf, ',');
	ls_json_quote(&buf, key);
	ls_buf_char(&buf, ':');
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	appendBinaryStringInfo(out, buf.data, (int) buf.len);
	appendBinaryStringInfo(out, json.data, (int) json.len);
}

/* The new members on one level: attributes begin with a dot. */
static void
append_new(StringInfo out, ls_arena *arena, const ls_str *names, const ls_str *values, int n,
		   bool attributes)
{
	for (int i = 0; i < n; i++)
	{
		bool attribute = names[i].len > 0 && names[i].data[0] == '.';

		if (values[i].data == NULL || attribute != attributes || ls_str_eq(names[i], LS_STR("*")))
			continue;
		append_member(out, arena,
					  attribute ? ls_str_make(names[i].data + 1, names[i].len - 1) : names[i],
					  values[i]);
	}
}

/* ---- what stages found in texts ---- */

typedef struct found_member
{
	ls_str name;
	ls_str json;
	bool field; /* replaces a field that every event can have, not an attribute */
} found_member;

typedef struct found
{
	found_member *members; /* sorted by name */
	int n;
} found;

static int
by_name(const void *a, const void *b)
{
	return ls_str_cmp(((const found_member *) a)->name, ((const found_member *) b)->name);
}

/* The name of a member that is a field of events; empty: of an attribute. */
static ls_str
field_of(ls_str name, ls_str json)
{
	static const ls_str names[][2] = {
		{LS_STR("level"), LS_STR("level")},     {LS_STR("source"), LS_STR("source")},
		{LS_STR("service"), LS_STR("service")}, {LS_STR("trace_id"), LS_STR("traceId")},
		{LS_STR("span_id"), LS_STR("spanId")},
	};

	for (size_t i = 0; i < lengthof(names) && json.len > 0 && json.data[0] == '"'; i++)
	{
		if (ls_str_eq(name, names[i][0]))
			return names[i][1];
	}
	return LS_STR("");
}

static bool
is_unwanted(const ls_str *names, int n, ls_str name)
{
	for (int i = 0; i < n; i++)
	{
		if (names[i].len == name.len + 1 && names[i].data[0] == '-' &&
			memcmp(names[i].data + 1, name.data, name.len) == 0)
			return true;
	}
	return false;
}

/* The members of the object named *, without the unwanted ones, which are named "-name". */
static found
read_found(const ls_str *names, const ls_str *values, int n, ls_arena *arena)
{
	found f = {NULL, 0};
	ls_str object = {NULL, 0};
	ls_json j;
	ls_json_value v;
	ls_str name;
	ls_str raw;

	for (int i = 0; i < n; i++)
	{
		if (ls_str_eq(names[i], LS_STR("*")))
			object = values[i];
	}
	if (object.len == 0)
		return f;
	f.members = palloc(sizeof(found_member) * LS_EXTRACT_MAX);
	ls_json_init(&j, object, arena, 1100);
	ls_json_read(&j, &v);
	while (f.n < LS_EXTRACT_MAX && ls_json_member(&j, &name) && ls_json_skip(&j, &raw))
	{
		if (is_unwanted(names, n, name))
			continue;
		f.members[f.n] = (found_member){name, raw, false};
		v.text = field_of(name, raw);
		if (v.text.len > 0)
			f.members[f.n] = (found_member){v.text, raw, true};
		f.n++;
	}
	qsort(f.members, (size_t) f.n, sizeof(found_member), by_name);
	return f;
}

static bool
is_found(const found *f, ls_str name, bool field)
{
	found_member key = {.name = name};
	const found_member *at =
		f->n == 0 ? NULL : bsearch(&key, f->members, (size_t) f->n, sizeof(found_member), by_name);

	return at != NULL && at->field == field;
}

static void
append_found(StringInfo out, ls_arena *arena, const found *f, bool field)
{
	for (int i = 0; i < f->n; i++)
	{
		if (f->members[i].field == field)
			append_member(out, arena, f->members[i].name, f->members[i].json);
	}
}

/* Attributes as they are, without those that were found. */
static void
append_attributes(StringInfo out, ls_arena *arena, ls_str raw, const found *f)
{
	ls_json j;
	ls_json_value v;
	ls_str key;

	append_member(out, arena, LS_STR("attributes"), LS_STR("{"));
	ls_json_init(&j, raw, arena, 1100);
	ls_json_read(&j, &v);
	while (ls_json_member(&j, &key) && ls_json_skip(&j, &raw))
	{
		if (!is_found(f, key, false))
			append_member(out, arena, key, raw);
	}
}

/* ---- event_set ---- */

/* Is there a new attribute? */
static bool
has_new(const ls_str *names, const ls_str *values, int n, const found *f)
{
	for (int i = 0; i < n; i++)
	{
		if (values[i].data != NULL && names[i].len > 0 && names[i].data[0] == '.')
			return true;
	}
	for (int i = 0; i < f->n; i++)
	{
		if (!f->members[i].field)
			return true;
	}
	return false;
}

static ls_str *
read_texts(ArrayType *array, int *n)
{
	Datum *datums;
	bool *nulls;
	ls_str *texts;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &datums, &nulls, n);
	texts = palloc0(sizeof(ls_str) * (Size) (*n + 1));
	for (int i = 0; i < *n; i++)
	{
		if (!nulls[i])
			texts[i] = ls_str_of_text(DatumGetTextPP(datums[i]));
	}
	return texts;
}

/*
 * event_set(event text, names text[], values text[]) returns text: the event
 * with additional members, none of which it has yet.  A name that begins with a dot
 * is an attribute.  The members of the value named * are added, too, and replace those of the
 * event; they are not added if "-" and their name is among the names.
 */
Datum
logsvc_event_set(PG_FUNCTION_ARGS)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, ROW_MEMORY);
	int n_names;
	int n_values;
	ls_str *names = read_texts(PG_GETARG_ARRAYTYPE_P(1), &n_names);
	ls_str *values = read_texts(PG_GETARG_ARRAYTYPE_P(2), &n_values);
	int n = Min(n_names, n_values);
	found f = read_found(names, values, n, arena);
	bool attributes_done = false;
	StringInfoData out;
	ls_json j;
	ls_json_value v;
	ls_str key;
	ls_str raw;

	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	ls_json_init(&j, ls_str_of_text(PG_GETARG_TEXT_PP(0)), arena, 1100);
	ls_json_read(&j, &v);
	while (ls_json_member(&j, &key))
	{
		if (!ls_json_skip(&j, &raw))
			break;
		if (ls_str_eq(key, LS_STR("attributes")) && has_new(names, values, n, &f))
		{
			/* Without its closing brace, then the others, then the brace. */
			if (f.n == 0)
				append_member(&out, arena, key, ls_str_make(raw.data, raw.len - 1));
			else
				append_attributes(&out, arena, raw, &f);
			append_found(&out, arena, &f, false);
			append_new(&out, arena, names, values, n, true);
			appendStringInfoChar(&out, '}');
			attributes_done = true;
		}
		else if (!is_found(&f, key, true))
			append_member(&out, arena, key, raw);
	}
	if (j.error != NULL)
		elog(ERROR, "an event is not JSON: %s", j.error);
	append_found(&out, arena, &f, true);
	append_new(&out, arena, names, values, n, false);
	if (!attributes_done && has_new(names, values, n, &f))
	{
		append_member(&out, arena, LS_STR("attributes"), LS_STR("{"));
		append_found(&out, arena, &f, false);
		append_new(&out, arena, names, values, n, true);
		appendStringInfoChar(&out, '}');
	}
	appendStringInfoChar(&out, '}');
	ls_arena_destroy(arena);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* ---- numbers ---- */

static bool
json_number(ls_str *json, ls_num *number)
{
	/* A string with escapes is not a number. */
	if (json->len >= 2 && json->data[0] == '"')
		*json = ls_str_make(json->data + 1, json->len - 2);
	return ls_num_parse(*json, number) && isfinite(number->d);
}

/*
 * sort_number(json text) returns numeric: a number, or a string that looks like
 * one, as comparisons see it; otherwise NULL.
 */
Datum
logsvc_sort_number(PG_FUNCTION_ARGS)
{
	ls_str json = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_num number;

	if (!json_number(&json, &number))
		PG_RETURN_NULL();
	PG_RETURN_NUMERIC(number.is_int ? int64_to_numeric(number.i) : ls_scan_double(number.d));
}

/*
 * aggregate_number(json text, counter int) returns numeric: the same, with all
 * digits.  The search counts the values that are not numbers.
 */
Datum
logsvc_aggregate_number(PG_FUNCTION_ARGS)
{
	ls_str json = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	int counter = PG_GETARG_INT32(1);
	ls_search_notes *notes =
		counter >= 0 && counter < LS_PLAN_MAX_COUNTERS ? ls_search_notes_current : NULL;
	ls_num number;

	if (json_number(&json, &number))
	{
		if (notes != NULL)
			notes->numbers[counter]++;
		PG_RETURN_NUMERIC(ls_scan_numeric(json, number));
	}
	if (notes != NULL && !ls_str_eq(json, LS_STR("null")))
		notes->others[counter]++;
	PG_RETURN_NULL();
}

/* sort_text(json text) returns text: the value as comparisons see it; NULL for null. */
Datum
logsvc_sort_text(PG_FUNCTION_ARGS)
{
	text *value = PG_GETARG_TEXT_PP(0);
	ls_str json = ls_str_of_text(value);
	ls_arena *arena;
	text *result;

	if (ls_str_eq(json, LS_STR("null")))
		PG_RETURN_NULL();
	if (json.len == 0 || json.data[0] != '"')
		PG_RETURN_TEXT_P(value);
	if (memchr(json.data, '\\', json.len) == NULL)
		PG_RETURN_TEXT_P(ls_text_of_str(ls_str_make(json.data + 1, json.len - 2)));
	arena = ls_context_arena(CurrentMemoryContext, 0);
	result = ls_text_of_str(ls_value_plain(json, arena));
	ls_arena_destroy(arena);
	PG_RETURN_TEXT_P(result);
}

/* ---- steps of first and last ---- */

/* earlier_of(a text, b text) returns text: a */
Datum
logsvc_earlier_of(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* later_of(a text, b text) returns text: b */
Datum
logsvc_later_of(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(1));
}

/* ---- values ---- */

typedef struct value_list
{
	StringInfoData json; /* the list without its ] */
	text *last;
	int n;
	bool cut;
} value_list;

/*
 * values_step(list internal, value text) returns internal.  The values come sorted, so equal ones
 * are next to each other, and a list that is full needs no more memory.
 */
Datum
logsvc_values_step(PG_FUNCTION_ARGS)
{
	value_list *list = PG_ARGISNULL(0) ? NULL : (value_list *) PG_GETARG_POINTER(0);
	MemoryContext context;
	MemoryContext outer;
	text *value;
	Size len;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "values_step is not called by an aggregate");
	outer = MemoryContextSwitchTo(context);
	if (list == NULL)
	{
		list = palloc0(sizeof(*list));
		initStringInfo(&list->json);
	}
	if (!PG_ARGISNULL(1) && !list->cut)
	{
		value = PG_GETARG_TEXT_PP(1);
		len = VARSIZE_ANY_EXHDR(value);
		if (list->last != NULL && VARSIZE_ANY_EXHDR(list->last) == len &&
			memcmp(VARDATA_ANY(list->last), VARDATA_ANY(value), len) == 0)
			;
		else if (list->n == LS_VALUES_MAX || (Size) list->json.len + len > LS_ENGINE_MAX_TEXT)
			list->cut = true;
		else
		{
			appendStringInfoChar(&list->json, list->n++ > 0 ? ',' : '[');
			appendBinaryStringInfo(&list->json, VARDATA_ANY(value), (int) len);
			if (list->last != NULL)
				pfree(list->last);
			list->last = cstring_to_text_with_len(VARDATA_ANY(value), (int) len);
		}
	}
	MemoryContextSwitchTo(outer);
	PG_RETURN_POINTER(list);
}

/* values_list(list internal) returns text; NULL: there is no value. */
Datum
logsvc_values_list(PG_FUNCTION_ARGS)
{
	const value_list *list = PG_ARGISNULL(0) ? NULL : (value_list *) PG_GETARG_POINTER(0);
	StringInfoData json;

	if (list != NULL && list->cut && ls_search_notes_current != NULL)
		ls_search_notes_current->cut_lists++;
	if (list == NULL || list->n == 0)
		PG_RETURN_NULL();
	initStringInfo(&json);
	appendBinaryStringInfo(&json, list->json.data, list->json.len);
	appendStringInfoChar(&json, ']');
	PG_RETURN_TEXT_P(cstring_to_text_with_len(json.data, json.len));
}
