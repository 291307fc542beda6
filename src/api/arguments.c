/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  From a request to the arguments of the SQL function that answers it.
 *
 * What a route takes is what its function takes: names and types come from
 * pg_proc, so no table can disagree with the function.  Names never come from
 * the request; values travel as parameters of the statement.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/call.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/inval.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/base/parameter.h"
#include "src/query/query.h"

#define MAX_DEPTH 64
#define MAX_PROBLEMS 100
#define MAX_FORM 100

/* ---- functions ---- */

static MemoryContext functions_context = NULL;
static const ls_function **functions = NULL; /* by route */
static bool functions_stale = true;

static void
forget_functions(Datum arg, int cache, uint32 hash)
{
	functions_stale = true;
}

/* "timeout_ms" is timeoutMs in requests. */
static char *
camel_case(const char *name)
{
	char *result = palloc(strlen(name) + 1);
	char *out = result;
	bool upper = false;

	for (; *name != '\0'; name++)
	{
		if (*name == '_' && out > result)
			upper = true;
		else
		{
			*out++ = upper ? pg_toupper((unsigned char) *name) : *name;
			upper = false;
		}
	}
	*out = '\0';
	return result;
}

Oid
ls_argument_type(ls_argument_kind kind)
{
	switch (kind)
	{
		case LS_ARGUMENT_TEXT:
		case LS_ARGUMENT_ORGANIZATION:
			return TEXTOID;
		case LS_ARGUMENT_INTEGER:
			return INT4OID;
		case LS_ARGUMENT_BOOLEAN:
			return BOOLOID;
		case LS_ARGUMENT_TIME:
			return TIMESTAMPTZOID;
		case LS_ARGUMENT_TEXTS:
		case LS_ARGUMENT_GIVEN:
			return TEXTARRAYOID;
		case LS_ARGUMENT_JSON:
		case LS_ARGUMENT_ATTRIBUTES:
		case LS_ARGUMENT_BODY:
		case LS_ARGUMENT_FORM:
			return JSONBOID;
	}
	return InvalidOid;
}

static ls_argument_kind
kind_of(const ls_route *route, const char *name, Oid type)
{
	switch (type)
	{
		case TEXTOID:
			return strcmp(name, "organization") == 0 ? LS_ARGUMENT_ORGANIZATION : LS_ARGUMENT_TEXT;
		case INT4OID:
			return LS_ARGUMENT_INTEGER;
		case BOOLOID:
			return LS_ARGUMENT_BOOLEAN;
		case TIMESTAMPTZOID:
			return LS_ARGUMENT_TIME;
		case TEXTARRAYOID:
			return strcmp(name, "given") == 0 ? LS_ARGUMENT_GIVEN : LS_ARGUMENT_TEXTS;
		case JSONBOID:
			if (strcmp(name, "body") == 0)
				return LS_ARGUMENT_BODY;
			if (strcmp(name, "form") == 0)
				return LS_ARGUMENT_FORM;
			return strcmp(name, "attributes") == 0 && strcmp(route->method, "GET") == 0
					   ? LS_ARGUMENT_ATTRIBUTES
					   : LS_ARGUMENT_JSON;
		default:
			elog(ERROR, "argument \"%s\" of %s has a type that no request can give", name,
				 route->handler);
	}
}

static ls_result_kind
result_of(const ls_route *route, Form_pg_proc proc, const char *schema)
{
	Oid type = proc->prorettype;
	Oid base = getBaseType(type);

	if (type == VOIDOID)
		return LS_RESULT_NOTHING;
	if (!proc->proretset && (base == JSONOID || base == JSONBOID))
		return type == JSONBOID && strcmp(schema, "logsvc") == 0 ? LS_RESULT_DATA : LS_RESULT_BODY;
	if (!proc->proretset && type_is_rowtype(type) &&
		strcmp(format_type_be_qualified(type), "logsvc_internal.http_response") == 0)
		return LS_RESULT_RESPONSE;
	elog(ERROR, "%s returns what no answer can be made of", route->handler);
}

/* Fills in what the catalogue says; `tuple` is the function's row. */
static void
describe(const ls_route *route, HeapTuple tuple, const char *schema, ls_function *function)
{
	Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);
	Oid *types;
	char **names;
	char *modes;
	int n = get_func_arg_info(tuple, &types, &names, &modes);
	int n_inputs = 0;

	if (proc->pronargs > LS_MAX_ARGUMENTS)
		elog(ERROR, "%s has too many arguments", route->handler);
	for (int i = 0; i < n; i++)
	{
		ls_argument *argument;

		if (modes != NULL && modes[i] != PROARGMODE_IN)
			continue;
		if (names == NULL || names[i][0] == '\0')
			elog(ERROR, "an argument of %s has no name", route->handler);
		argument = &function->arguments[n_inputs];
		argument->name = names[i];
		argument->parameter = camel_case(names[i]);
		argument->kind = kind_of(route, names[i], types[i]);
		argument->required = n_inputs < proc->pronargs - proc->pronargdefaults;
		n_inputs++;
	}
	function->n_arguments = n_inputs;
	function->name = quote_qualified_identifier(schema, NameStr(proc->proname));
	function->result = result_of(route, proc, schema);
}

static const ls_function *
look_up(const ls_route *route)
{
	const char *dot = strchr(route->handler, '.');
	char *schema;
	Oid namespace;
	CatCList *list;
	ls_function *function = palloc0(sizeof(*function));
	int found = 0;

	if (dot == NULL)
		elog(ERROR, "route %s has no function", route->name);
	schema = pnstrdup(route->handler, dot - route->handler);
	namespace = get_namespace_oid(schema, false);
	list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(dot + 1));
	for (int i = 0; i < list->n_members; i++)
	{
		HeapTuple tuple = &list->members[i]->tuple;

		if (((Form_pg_proc) GETSTRUCT(tuple))->pronamespace != namespace)
			continue;
		if (found++ == 0)
			describe(route, tuple, schema, function);
	}
	ReleaseSysCacheList(list);
	if (found != 1)
		elog(ERROR, "there are %d functions %s", found, route->handler);
	return function;
}

const ls_function *
ls_function_of(const ls_route *route)
{
	size_t n = (size_t) (route - ls_routes);

	if (functions_context == NULL)
	{
		functions_context = AllocSetContextCreate(TopMemoryContext, "logsvc functions of routes",
												  ALLOCSET_DEFAULT_SIZES);
		CacheRegisterSyscacheCallback(PROCOID, forget_functions, 0);
	}
	if (functions_stale)
	{
		MemoryContextReset(functions_context);
		functions =
			MemoryContextAllocZero(functions_context, ls_n_routes * sizeof(const ls_function *));
		functions_stale = false;
	}
	if (functions[n] == NULL)
	{
		MemoryContext before = MemoryContextSwitchTo(functions_context);

		/* Looking may itself bring the news that something changed. */
		functions[n] = look_up(route);
		MemoryContextSwitchTo(before);
	}
	return functions[n];
}

/* ---- values ---- */

/* Notes one thing that is wrong with the request. */
static void
problem(ls_call *call, ls_str path, const char *code, const char *message)
{
	if (call->n_problems++ >= MAX_PROBLEMS)
		return;
	if (call->problems.len > 0)
		ls_buf_char(&call->problems, ',');
	ls_buf_lit(&call->problems, "{\"path\":");
	ls_json_quote(&call->problems, path);
	ls_buf_lit(&call->problems, ",\"code\":");
	ls_json_quote(&call->problems, ls_str_of_cstring(code));
	ls_buf_lit(&call->problems, ",\"message\":");
	ls_json_quote(&call->problems, ls_str_of_cstring(message));
	ls_buf_char(&call->problems, '}');
}

static void
wrong(ls_call *call, ls_str name, const char *message)
{
	problem(call, name, "invalid", message);
}

static int
find_exactly(const ls_call *call, ls_str name)
{
	for (int i = 0; i < call->function->n_arguments; i++)
	{
		const ls_argument *a = &call->function->arguments[i];

		if (a->kind < LS_ARGUMENT_ATTRIBUTES && (ls_str_eq(name, ls_str_of_cstring(a->parameter)) ||
												 ls_str_eq(name, ls_str_of_cstring(a->name))))
			return i;
	}
	return -1;
}

/*
 * The argument that a parameter or member of that name is for; -1: none.  SQL's name of it will
 * do; the two pairs of names for the ends of a time range, and q and query, stand for each other
 * everywhere.
 */
static int
find_argument(const ls_call *call, ls_str name)
{
	static const ls_str same[][2] = {{LS_STR("earliest"), LS_STR("from")},
									 {LS_STR("latest"), LS_STR("to")},
									 {LS_STR("q"), LS_STR("query")}};
	int found = find_exactly(call, name);

	for (size_t i = 0; found < 0 && i < lengthof(same); i++)
	{
		if (ls_str_eq(name, same[i][0]))
			found = find_exactly(call, same[i][1]);
		else if (ls_str_eq(name, same[i][1]))
			found = find_exactly(call, same[i][0]);
	}
	return found;
}

/* Notes a name that no argument has, with the nearest that one has, or all of them. */
static void
unknown(ls_call *call, ls_str name)
{
	static const char not_known[] = "this parameter is not known here";
	ls_str names[LS_MAX_ARGUMENTS];
	StringInfoData all;
	uint32 n = 0;
	int nearest;

	if (call->n_problems >= MAX_PROBLEMS)
		return;
	initStringInfo(&all);
	for (int i = 0; i < call->function->n_arguments; i++)
	{
		const ls_argument *a = &call->function->arguments[i];

		/* That of the path has its value already. */
		if (a->kind >= LS_ARGUMENT_ATTRIBUTES || i == call->in_path)
			continue;
		appendStringInfo(&all, "%s%s", n > 0 ? ", " : "", a->parameter);
		names[n++] = ls_str_of_cstring(a->parameter);
	}
	nearest = ls_closest(name, names, n);
	problem(call, name, "unknown",
			nearest >= 0 ? psprintf("%s: did you mean %s?", not_known, names[nearest].data)
			: n > 0      ? psprintf("%s: it takes %s", not_known, all.data)
						 : psprintf("%s: it takes none", not_known));
}

/* find_argument, with what is wrong noted: not known, or given before. */
static int
claim(ls_call *call, ls_str name)
{
	int i = find_argument(call, name);

	if (i < 0)
		unknown(call, name);
	else if (call->set[i])
	{
		wrong(call, name, "given twice");
		return -1;
	}
	else
	{
		call->set[i] = true;
		call->given =
			lappend(call->given, unconstify(char *, call->function->arguments[i].parameter));
	}
	return i;
}

static Datum
jsonb_of(ls_str text)
{
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(ls_cstring_of_str(text)));
}

static Datum
texts_of(List *strings)
{
	Datum *values = palloc(sizeof(Datum) * (list_length(strings) + 1));
	int n = 0;
	ListCell *cell;

	foreach (cell, strings)
		values[n++] = CStringGetTextDatum((char *) lfirst(cell));
	return PointerGetDatum(construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT));
}

static bool
integer_of(ls_str text, Datum *value)
{
	int64 number;

	if (!ls_json_canonical_int(text, &number) || number != (int32) number)
		return false;
	*value = Int32GetDatum((int32) number);
	return true;
}

static bool
time_of(ls_str text, Datum *value)
{
	ls_time time;

	if (!ls_time_parse_iso(text, &time))
		return false;
	*value = TimestampTzGetDatum(ls_timestamptz_of_time(time));
	return true;
}

/* A time of a list: as time_of, or relative to now as searches take it, by the clock of the organization. */
static bool
moment_of(const ls_call *call, ls_str text, Datum *value)
{
	ls_query_time written;
	ls_query_zone zone;
	ls_rights rights;
	ls_time time;

	if (time_of(text, value))
		return true;
	if (!ls_query_time_parse(text, &written) || written.absolute)
		return false;
	/* Nobody's rights are in force yet. */
	rights = ls_rights_of_owner();
	zone = ls_zone_of_organization(&call->principal->organization);
	ls_rights_restore(rights);
	if (!ls_query_time_resolve(&written, ls_now(), &zone, &time))
		return false;
	*value = TimestampTzGetDatum(ls_timestamptz_of_time(time));
	return true;
}

static void
wrong_time(ls_call *call, ls_str name, ls_str text)
{
	static const char expected[] = "expected a time as 2026-01-31T12:00:00Z, -24h or now";
	ls_buf hint;

	ls_buf_init(&hint, call->problems.arena);
	ls_query_time_hint(text, true, &hint);
	wrong(call, name,
		  hint.len == 0 || hint.failed ? expected
									   : psprintf("%s; %.*s", expected, (int) hint.len, hint.data));
}

/* A value that came as text, in the path or the query string. */
static void
set_text(ls_call *call, ls_str name, ls_str value)
{
	int i = claim(call, name);
	Datum *out;
	List *parts = NIL;

	if (i < 0)
		return;
	out = &call->values[i];
	switch (call->function->arguments[i].kind)
	{
		case LS_ARGUMENT_TEXT:
			*out = PointerGetDatum(ls_text_of_str(value));
			break;
		case LS_ARGUMENT_INTEGER:
			if (!integer_of(value, out))
				wrong(call, name, "expected a whole number");
			break;
		case LS_ARGUMENT_BOOLEAN:
			*out = BoolGetDatum(ls_str_eq(value, LS_STR("true")) || ls_str_eq(value, LS_STR("1")));
			if (!DatumGetBool(*out) && !ls_str_eq(value, LS_STR("false")) &&
				!ls_str_eq(value, LS_STR("0")))
				wrong(call, name, "expected true or false");
			break;
		case LS_ARGUMENT_TIME:
			if (!moment_of(call, value, out))
				wrong_time(call, name, value);
			break;
		case LS_ARGUMENT_TEXTS:
			while (value.len > 0)
			{
				const char *comma = memchr(value.data, ',', value.len);
				size_t len = comma == NULL ? value.len : (size_t) (comma - value.data);

				parts = lappend(parts, ls_cstring_of_str(ls_str_make(value.data, len)));
				value = comma == NULL ? LS_STR("") : ls_str_make(comma + 1, value.len - len - 1);
			}
			*out = texts_of(parts);
			break;
		default:
			wrong(call, name, "expected in the body");
			break;
	}
}

static void
read_attribute(ls_call *call, ls_str name, ls_str value)
{
	if (call->attributes.len > 0)
		ls_buf_char(&call->attributes, ',');
	ls_json_quote(&call->attributes, ls_str_make(name.data + 5, name.len - 5));
	ls_buf_char(&call->attributes, ':');
	ls_json_quote(&call->attributes, value);
}

static bool
takes(const ls_call *call, ls_argument_kind kind)
{
	for (int i = 0; i < call->function->n_arguments; i++)
	{
		if (call->function->arguments[i].kind == kind)
			return true;
	}
	return false;
}

/*
 * Parameters as clients of others send them: twice, of versions to come.  They are kept as they are
 * for a function that knows which of them count.
 */
static void
read_form(ls_call *call, ls_str form)
{
	ls_str name;
	ls_str value;
	bool bad;

	while (ls_parameter_next(&form, call->arena, &name, &value, &bad))
	{
		if (bad)
			wrong(call, LS_STR(""), "a parameter has a bad escape or is not UTF-8");
		else if (++call->n_form > MAX_FORM)
		{
			wrong(call, LS_STR(""), "too many parameters");
			return;
		}
		else
		{
			if (call->n_form > 1)
				ls_buf_char(&call->form, ',');
			ls_buf_char(&call->form, '[');
			ls_json_quote(&call->form, name);
			ls_buf_char(&call->form, ',');
			ls_json_quote(&call->form, value);
			ls_buf_char(&call->form, ']');
		}
	}
	if (call->form.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
}

static void
read_query_string(ls_call *call)
{
	bool attributes = takes(call, LS_ARGUMENT_ATTRIBUTES);
	ls_str query = call->request->query;
	ls_str name;
	ls_str value;
	bool bad;

	if (takes(call, LS_ARGUMENT_FORM))
	{
		read_form(call, query);
		return;
	}
	while (ls_parameter_next(&query, call->arena, &name, &value, &bad))
	{
		if (bad)
			wrong(call, LS_STR(""), "the query string has a bad escape or is not UTF-8");
		else if (attributes && name.len > 5 && memcmp(name.data, "attr.", 5) == 0)
			read_attribute(call, name, value);
		else
			set_text(call, name, value);
	}
}

/* {id} of the path, by the name that it has there. */
static void
read_path(ls_call *call)
{
	const char *open = strchr(call->route->path, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');
	ls_str value = call->request->parameter;
	ls_str name;

	if (close == NULL)
		return;
	name = ls_str_make(open + 1, (size_t) (close - open) - 1);
	/* An id that is not even text does not exist. */
	if (!ls_utf8_valid(value.data, value.len))
		ls_raise(LS_ERROR_NOT_FOUND);
	call->in_path = find_exactly(call, name);
	set_text(call, name, value);
}

/* ---- the body ---- */

static const char *
read_texts(ls_json *j, Datum *out)
{
	ls_json_value v;
	List *texts = NIL;
	bool all = true;

	if (!ls_json_read(j, &v) || v.type != LS_JSON_ARRAY)
		return "expected a list of strings";
	while (ls_json_element(j))
	{
		ls_json_type type;
		ls_str raw;

		if (ls_json_peek(j, &type) && type == LS_JSON_STRING && ls_json_read(j, &v))
			texts = lappend(texts, ls_cstring_of_str(v.text));
		else if (ls_json_skip(j, &raw))
			all = false;
	}
	*out = texts_of(texts);
	return all ? NULL : "expected a list of strings";
}

/* The value of one member, by the type of its argument. */
static void
read_member(ls_call *call, ls_json *j, ls_str name)
{
	int i = claim(call, name);
	ls_argument_kind kind;
	ls_json_type type;
	ls_json_value v = {0};
	ls_str raw;
	Datum *out;
	const char *expected = NULL;

	if (!ls_json_peek(j, &type))
		return;
	if (i < 0)
	{
		ls_json_skip(j, &raw);
		return;
	}
	kind = call->function->arguments[i].kind;
	out = &call->values[i];
	if (type == LS_JSON_NULL)
	{
		ls_json_skip(j, &raw);
		call->nulls[i] = true;
		return;
	}
	if (kind == LS_ARGUMENT_JSON)
	{
		if (ls_json_skip(j, &raw))
			*out = jsonb_of(raw);
		return;
	}
	if (type == LS_JSON_ARRAY && kind == LS_ARGUMENT_TEXTS)
		expected = read_texts(j, out);
	else if (type == LS_JSON_OBJECT || type == LS_JSON_ARRAY)
	{
		ls_json_skip(j, &raw);
		expected = "expected a string, a number or a boolean";
	}
	else
	{
		ls_json_read(j, &v);
		switch (kind)
		{
			case LS_ARGUMENT_TEXT:
				if (type == LS_JSON_STRING)
					*out = PointerGetDatum(ls_text_of_str(v.text));
				else
					expected = "expected a string";
				break;
			case LS_ARGUMENT_INTEGER:
				if (type != LS_JSON_NUMBER || !integer_of(v.text, out))
					expected = "expected a whole number";
				break;
			case LS_ARGUMENT_BOOLEAN:
				*out = BoolGetDatum(type == LS_JSON_TRUE);
				if (type != LS_JSON_TRUE && type != LS_JSON_FALSE)
					expected = "expected true or false";
				break;
			case LS_ARGUMENT_TIME:
				if (type != LS_JSON_STRING || !time_of(v.text, out))
					expected = "expected a time as 2026-01-31T12:00:00Z";
				break;
			default:
				expected = "expected a list of strings";
				break;
		}
	}
	if (expected != NULL && j->error == NULL)
		wrong(call, name, expected);
}

bool
ls_call_takes_form(const ls_request *request)
{
	switch (request->route)
	{
		case LS_ROUTE_LOKI_QUERY_RANGE_POST:
		case LS_ROUTE_LOKI_QUERY_POST:
		case LS_ROUTE_LOKI_LABELS_POST:
		case LS_ROUTE_LOKI_SERIES_POST:
			return true;
		default:
			return false;
	}
}

bool
ls_call_takes_csv(const ls_request *request)
{
	return request->route == LS_ROUTE_LOOKUP_SET && ls_request_is_csv(request);
}

/* The whole body is the argument `csv`. */
static void
read_csv(ls_call *call)
{
	ls_str body = call->request->body;

	if (!ls_utf8_valid(body.data, body.len) || memchr(body.data, '\0', body.len) != NULL)
		wrong(call, LS_STR("csv"), "is not UTF-8 text");
	else
		set_text(call, LS_STR("csv"), body);
}

static void
read_body(ls_call *call)
{
	bool whole = takes(call, LS_ARGUMENT_BODY);
	ls_json j;
	ls_json_value v;
	ls_str name;

	if (call->request->body.len == 0 || strcmp(call->route->method, "GET") == 0)
		return;
	if (ls_call_takes_csv(call->request))
	{
		read_csv(call);
		return;
	}
	if (takes(call, LS_ARGUMENT_FORM))
	{
		read_form(call, call->request->body);
		return;
	}
	/* 1e100000 takes 14 bytes of jsonb and 100,000 characters wherever it becomes a text again. */
	if (ls_json_wide_number(call->request->body, 0, &name))
	{
		wrong(call, LS_STR(""),
			  "numbers must have at most 2,000 characters, and exponents from -400 to 400");
		return;
	}
	ls_json_init(&j, call->request->body, call->arena, MAX_DEPTH);
	if (whole)
		ls_json_skip(&j, &name);
	else if (ls_json_read(&j, &v) && v.type != LS_JSON_OBJECT)
	{
		wrong(call, LS_STR(""), "expected a JSON object");
		return;
	}
	while (!whole && ls_json_member(&j, &name))
		read_member(call, &j, name);
	if (j.error != NULL || !ls_json_end(&j))
	{
		ls_str body = call->request->body;
		bool form = ls_str_eq_nocase(call->request->content_type,
									 LS_STR("application/x-www-form-urlencoded")) &&
					memchr(body.data, '=', body.len) != NULL;
		char text[200];

		snprintf(
			text, sizeof(text), "the body is not JSON: %s at byte %zu%s",
			j.error != NULL ? j.error : "text after the end", j.error_offset,
			form ? "; parameters such as q=... go into the query string of a GET request (curl -G)"
				 : "");
		wrong(call, LS_STR(""), text);
	}
}

/* ---- all of it ---- */

/* {"query": ["a"], "match[]": ["b", "c"]} */
static Datum
form_of(const ls_call *call)
{
	Datum pairs = jsonb_of(ls_str_of_cstring(
		psprintf("[%.*s]", (int) call->form.len, call->form.len > 0 ? call->form.data : "")));
	bool null;
	Datum form;

	if (SPI_execute_with_args("SELECT coalesce(pg_catalog.jsonb_object_agg(name, list), '{}') FROM "
							  "(SELECT p ->> 0 AS name, "
							  "pg_catalog.jsonb_agg(p -> 1 ORDER BY n) AS list FROM "
							  "pg_catalog.jsonb_array_elements($1) "
							  "WITH ORDINALITY AS e(p, n) GROUP BY 1) f",
							  1, (Oid[]){JSONBOID}, &pairs, NULL, true, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "cannot read a form");
	form = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
	return form;
}

/* The arguments that no client names. */
static void
set_given_by_us(ls_call *call, int i)
{
	static const pg_uuid_t zero;
	Datum *out = &call->values[i];
	char digits[27];

	switch (call->function->arguments[i].kind)
	{
		case LS_ARGUMENT_ATTRIBUTES:
			call->set[i] = call->attributes.len > 0;
			if (call->set[i])
				*out = jsonb_of(ls_str_of_cstring(
					psprintf("{%.*s}", (int) call->attributes.len, call->attributes.data)));
			break;
		case LS_ARGUMENT_BODY:
			call->set[i] = call->request->body.len > 0 && call->problems.len == 0;
			if (call->set[i])
				*out = jsonb_of(call->request->body);
			break;
		case LS_ARGUMENT_FORM:
			call->set[i] = true;
			*out = form_of(call);
			break;
		case LS_ARGUMENT_GIVEN:
			call->set[i] = true;
			*out = texts_of(call->given);
			break;
		case LS_ARGUMENT_ORGANIZATION:
			call->set[i] = true;
			call->nulls[i] = memcmp(&call->principal->organization, &zero, sizeof(zero)) == 0;
			ls_base32_encode(call->principal->organization.data, digits);
			*out = CStringGetTextDatum(psprintf("org_%s", digits));
			break;
		default:
			break;
	}
}

void
ls_call_read(ls_call *call)
{
	call->in_path = -1;
	read_path(call);
	read_query_string(call);
	read_body(call);
	for (int i = 0; i < call->function->n_arguments; i++)
	{
		const ls_argument *a = &call->function->arguments[i];

		if (a->kind >= LS_ARGUMENT_ATTRIBUTES)
			set_given_by_us(call, i);
		else if (a->kind == LS_ARGUMENT_INTEGER && strcmp(a->name, "timeout_ms") == 0 &&
				 call->set[i] && !call->nulls[i])
			call->timeout = DatumGetInt32(call->values[i]);
		if (a->required && !call->set[i] && call->problems.len == 0)
			problem(call, ls_str_of_cstring(a->parameter), "required", "is required");
	}
}
