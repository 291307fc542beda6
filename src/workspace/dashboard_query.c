/*-------------------------------------------------------------------------
 *
 * dashboard_query.c
 *	  Queries of panels: their variables, the range that they share, their searches.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/uuid.h"

#include "src/query/bind.h"
#include "src/query/query.h"
#include "src/workspace/workspace.h"

PG_FUNCTION_INFO_V1(logsvc_bind_query);
PG_FUNCTION_INFO_V1(logsvc_resolve_range);
PG_FUNCTION_INFO_V1(logsvc_run_panel);
PG_FUNCTION_INFO_V1(logsvc_hold_load);

#define BIND_MEMORY ((size_t) 16 * 1024 * 1024)
#define MAX_VARIABLES 20

/* The fourth field of the lock's tag: SQL's advisory locks have 1 and 2 there. */
#define LOCK_CLASS 0x4C44

/* ---- variables ---- */

static ls_str
copy_string(const JsonbValue *v, ls_arena *arena)
{
	ls_str copy =
		ls_arena_strdup(arena, ls_str_make(v->val.string.val, (size_t) v->val.string.len));

	if (copy.data == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return copy;
}

/* {"name": ["value", ...]} */
static uint32
read_variables(Jsonb *given, ls_query_variable *variables, ls_arena *arena)
{
	JsonbIterator *it = JsonbIteratorInit(&given->root);
	JsonbIteratorToken token;
	JsonbValue v;
	uint32 n = 0;
	ls_str *values = NULL;

	if (!JB_ROOT_IS_OBJECT(given))
		ls_search_invalid("variables", "must be an object");
	while ((token = JsonbIteratorNext(&it, &v, false)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			if (n == MAX_VARIABLES)
				ls_search_invalid("variables", "there are too many");
			variables[n++] = (ls_query_variable){.name = copy_string(&v, arena)};
		}
		else if (token == WJB_BEGIN_ARRAY && n > 0)
		{
			values = ls_new_array(arena, ls_str, v.val.array.nElems + 1);
			if (values == NULL)
				ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
			variables[n - 1].values = values;
		}
		else if (token == WJB_ELEM && v.type == jbvString && n > 0 && values != NULL)
			values[variables[n - 1].n_values++] = copy_string(&v, arena);
		else if (token != WJB_BEGIN_OBJECT && token != WJB_END_OBJECT && token != WJB_END_ARRAY)
			ls_search_invalid("variables", "expected lists of strings");
	}
	return n;
}

/*
 * bind_query(q text, variables jsonb) returns text: the query with literals in the place of its
 * variables; it can be parsed.  Raises QUERY_SYNTAX_ERROR or QUERY_SEMANTIC_ERROR, with positions in q.
 */
Datum
logsvc_bind_query(PG_FUNCTION_ARGS)
{
	ls_str q = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, BIND_MEMORY);
	ls_query_variable variables[MAX_VARIABLES];
	uint32 n = read_variables(PG_GETARG_JSONB_P(1), variables, arena);
	ls_query_binding binding;
	ls_query_error error = {0};
	ls_query *query;
	text *result;

	if (!ls_query_bind(q, variables, n, arena, &binding, &error) ||
		!ls_query_parse_bound(&binding, q, arena, &query, &error))
		ls_search_raise(&error);
	result = ls_text_of_str(binding.text);
	ls_arena_destroy(arena);
	PG_RETURN_TEXT_P(result);
}

/* ---- the range ---- */

/*
 * resolve_range(earliest text, latest text) returns text[]: both as ISO times, so that all
 * searches of a load have the same now.
 */
Datum
logsvc_resolve_range(PG_FUNCTION_ARGS)
{
	ls_search search;
	ls_query_error error;
	char iso[LS_TIME_ISO_LENGTH + 1];
	Datum times[2];
	MemoryContext caller = CurrentMemoryContext;

	ls_search_begin(&search, "range.earliest", "range.latest");
	search.principal = ls_principal_current();
	search.earliest = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	search.latest = ls_str_of_text(PG_GETARG_TEXT_PP(1));
	if (!ls_query_parse(LS_STR("*"), search.arena, &search.query, &error))
		ls_search_raise(&error);
	ls_search_range(&search);
	SPI_finish();
	MemoryContextSwitchTo(caller);
	ls_time_format_iso(search.from, iso);
	times[0] = CStringGetTextDatum(iso);
	ls_time_format_iso(search.to, iso);
	times[1] = CStringGetTextDatum(iso);
	PG_RETURN_ARRAYTYPE_P(construct_array(times, 2, TEXTOID, -1, false, TYPALIGN_INT));
}

/* ---- one search ---- */

typedef struct panel
{
	FunctionCallInfo fcinfo;
	text *answer; /* of search_json */
} panel;

static void
search(void *context)
{
	Oid types[] = {TEXTOID, TEXTOID, TEXTOID, INT4OID};
	panel *p = context;
	FunctionCallInfo fcinfo = p->fcinfo;
	Datum values[] = {PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), PG_GETARG_DATUM(2),
					  PG_GETARG_DATUM(3)};
	const char nulls[] = {' ', ' ', ' ', PG_GETARG_INT32(3) == 0 ? 'n' : ' '};
	MemoryContext caller = CurrentMemoryContext;
	bool isnull;
	text *answer;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args("SELECT logsvc_internal.search_json($1, $2, $3, $4)::pg_catalog.text",
							  4, types, values, nulls, false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "a search returned no answer");
	answer =
		DatumGetTextPP(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	MemoryContextSwitchTo(caller);
	p->answer = cstring_to_text_with_len(VARDATA_ANY(answer), (int) VARSIZE_ANY_EXHDR(answer));
	SPI_finish();
}

/* {"error": {"code": ..., "message": ..., "details": [...]}} */
static text *
describe_error(ls_caught *caught, bool late)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, 1024 * 1024);
	const ls_error_info *info;
	text *result;
	ls_buf buf;

	if (late)
		caught->id = LS_ERROR_QUERY_TIMEOUT;
	else if (caught->sqlstate == ERRCODE_LOCK_NOT_AVAILABLE ||
			 caught->sqlstate == ERRCODE_T_R_DEADLOCK_DETECTED ||
			 caught->sqlstate == ERRCODE_T_R_SERIALIZATION_FAILURE)
		caught->id = LS_ERROR_SERVICE_UNAVAILABLE;
	else if (caught->id == LS_ERROR_INTERNAL)
		ereport(LOG, errcode(caught->sqlstate), errmsg("logsvc panel failed: %s", caught->format));
	info = &ls_error_table[caught->id];
	ls_buf_init(&buf, arena);
	ls_buf_lit(&buf, "{\"error\":{\"code\":");
	ls_json_quote(&buf, ls_str_of_cstring(info->code));
	ls_buf_lit(&buf, ",\"message\":");
	ls_json_quote(&buf,
				  ls_str_of_cstring(info->status >= 500 || late ? info->message : caught->message));
	if (caught->detail[0] == '[')
	{
		ls_buf_lit(&buf, ",\"details\":");
		ls_buf_str(&buf, ls_str_of_cstring(caught->detail));
	}
	ls_buf_lit(&buf, "}}");
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	result = ls_text_of_str(ls_str_make(buf.data, buf.len));
	ls_arena_destroy(arena);
	return result;
}

/*
 * run_panel(q text, earliest text, latest text, "limit" int, ms int) returns json: what search_json
 * returns, or {"error": {code, message, details}}.  Limit 0: as many rows as a search without one.
 * It may take so many milliseconds.  Only a cancellation of the caller is raised.
 */
Datum
logsvc_run_panel(PG_FUNCTION_ARGS)
{
	panel p = {.fcinfo = fcinfo};
	ls_caught caught;

	if (ls_run_slice(search, &p, PG_GETARG_INT32(4), &caught))
		PG_RETURN_TEXT_P(p.answer);
	PG_RETURN_TEXT_P(describe_error(&caught, caught.sqlstate == ERRCODE_QUERY_CANCELED));
}

/* ---- loads for viewers of a link ---- */

/*
 * hold_load(place uuid) returns boolean: is this the only load that has the place until the transaction
 * ends?  An organization has two places, so viewers of its links, however many, have two executors.
 * Waits for nobody.
 */
Datum
logsvc_hold_load(PG_FUNCTION_ARGS)
{
	LOCKTAG tag;
	uint32 parts[4];

	memcpy(parts, PG_GETARG_UUID_P(0)->data, sizeof(parts));
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, parts[0] ^ parts[2], parts[1] ^ parts[3], LOCK_CLASS);
	PG_RETURN_BOOL(LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL);
}
