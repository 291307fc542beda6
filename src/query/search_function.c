/*-------------------------------------------------------------------------
 *
 * search_function.c
 *	  Searching from SQL.
 *
 * All these functions run as role logsvc_reader (SECURITY DEFINER), so row
 * security keeps them inside the organization, whatever the statement is.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "src/part/event_id.h"

PG_FUNCTION_INFO_V1(logsvc_search_json);
PG_FUNCTION_INFO_V1(logsvc_search);
PG_FUNCTION_INFO_V1(logsvc_search_sample);
PG_FUNCTION_INFO_V1(logsvc_search_rows_json);
PG_FUNCTION_INFO_V1(logsvc_search_rows);
PG_FUNCTION_INFO_V1(logsvc_query_logs_json_0_2);
PG_FUNCTION_INFO_V1(logsvc_events);
PG_FUNCTION_INFO_V1(logsvc_check_query);
PG_FUNCTION_INFO_V1(logsvc_searched_indexes);

/* What the list of a field's values may cost (see ls_scan_session): some 10 ms. */
#define SAMPLE 4096

static ls_str
text_argument(FunctionCallInfo fcinfo, int argument)
{
	ls_str value;

	if (PG_ARGISNULL(argument))
		return ls_str_make(NULL, 0);
	value = ls_str_of_text(PG_GETARG_TEXT_PP(argument));
	return value.data == NULL ? LS_STR("") : value;
}

static void
set_limit(ls_search *search, int limit)
{
	if (limit < 1 || limit > LS_SEARCH_MAX_LIMIT)
		ls_search_invalid("limit", "must be between 1 and 10000");
	search->limit = limit;
	search->limit_given = true;
}

static void
set_now(ls_search *search, TimestampTz now)
{
	ls_time time = ls_time_of_timestamptz(now);

	/* -infinity, and what is earlier than any event, are no time to count from. */
	if (TIMESTAMP_NOT_FINITE(now) || time < LS_FIRST_EVENT_TIME || time >= LS_LAST_EVENT_TIME)
		ls_search_invalid("now", "must be a time in the years 1 to 9999");
	search->now = time;
}

/* Appends to the request's identity for cursors; a missing text differs from an empty one. */
static void
identify(ls_search *search, ls_str text)
{
	ls_buf_char(&search->identity, text.data == NULL ? 'n' : 't');
	ls_buf_lstr(&search->identity, text);
}

/* Reads which results are requested besides the rows. */
static void
set_include(ls_search *search, ArrayType *names)
{
	Datum *values;
	bool *nulls;
	int n;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		ls_str name = nulls[i] ? LS_STR("") : ls_str_of_text(DatumGetTextPP(values[i]));

		if (ls_str_eq(name, LS_STR("histogram")))
			search->histogram = true;
		else if (ls_str_eq(name, LS_STR("fields")))
			search->fields = true;
		else
			ls_search_invalid("include", "expected histogram, fields or both");
	}
}

/* Begins the search that the first four arguments say: (q, earliest, latest, limit). */
static void
begin_search(ls_search *search, FunctionCallInfo fcinfo)
{
	ls_search_begin(search, "earliest", "latest");
	search->q = text_argument(fcinfo, 0);
	search->earliest = text_argument(fcinfo, 1);
	search->latest = text_argument(fcinfo, 2);
	if (!PG_ARGISNULL(3))
		set_limit(search, PG_GETARG_INT32(3));
}

/*
 * search_json(q, earliest, latest, limit, cursor, explain, timeout_ms, include)
 * returns json: the whole body of the answer.  The executor enforces the time limit.
 */
Datum
logsvc_search_json(PG_FUNCTION_ARGS)
{
	TimestampTz started = GetCurrentTimestamp();
	ls_position position = {0};
	ls_search search;
	StringInfoData out;
	ls_plan *plan;

	initStringInfo(&out);
	begin_search(&search, fcinfo);
	search.cursor = text_argument(fcinfo, 4);
	search.explain = !PG_ARGISNULL(5) && PG_GETARG_BOOL(5);
	if (!PG_ARGISNULL(6) && PG_GETARG_INT32(6) < 1)
		ls_search_invalid("timeoutMs", "must be at least 1");
	if (!PG_ARGISNULL(7))
		set_include(&search, PG_GETARG_ARRAYTYPE_P(7));
	ls_buf_lit(&search.identity, "search");
	identify(&search, search.q);
	identify(&search, search.earliest);
	identify(&search, search.latest);

	ls_search_prepare(&search);
	if (search.cursor.len > 0)
		ls_cursor_read(&search, &position);
	plan = ls_search_plan(&search, &position);
	ls_search_answer(&search, plan, &position, started, false, &out);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/*
 * search_sample(q, earliest, latest, limit) returns jsonb: the body of the answer of a search
 * whose first stage is top, over the newest events until it has looked at some thousand
 * different values.  meta.stats.approximate says whether there are other events.
 */
Datum
logsvc_search_sample(PG_FUNCTION_ARGS)
{
	TimestampTz started = GetCurrentTimestamp();
	ls_position position = {0};
	ls_search search;
	StringInfoData out;
	ls_plan *plan;

	initStringInfo(&out);
	begin_search(&search, fcinfo);
	search.sample = SAMPLE;
	ls_search_prepare(&search);
	plan = ls_search_plan(&search, &position);
	ls_search_answer(&search, plan, &position, started, false, &out);
	SPI_finish();
	return ls_jsonb_of_events(ls_str_make(out.data, (size_t) out.len));
}

/* search(...) returns jsonb: the same.  (An SQL function would be planned on each call.) */
Datum
logsvc_search(PG_FUNCTION_ARGS)
{
	return ls_jsonb_of_events(ls_str_of_text(DatumGetTextPP(logsvc_search_json(fcinfo))));
}

/*
 * search_rows_json(rows, q, earliest, latest, limit, explain, timeout_ms, include, now) returns
 * json: the body of the answer of a search over the rows.
 */
Datum
logsvc_search_rows_json(PG_FUNCTION_ARGS)
{
	TimestampTz started = GetCurrentTimestamp();
	ls_position position = {0};
	ls_search search;
	StringInfoData out;

	initStringInfo(&out);
	ls_search_begin(&search, "earliest", "latest");
	if (PG_ARGISNULL(0))
		ls_search_invalid("rows", "must be an array of events");
	search.q = text_argument(fcinfo, 1);
	search.earliest = text_argument(fcinfo, 2);
	search.latest = text_argument(fcinfo, 3);
	if (!PG_ARGISNULL(4))
		set_limit(&search, PG_GETARG_INT32(4));
	search.explain = !PG_ARGISNULL(5) && PG_GETARG_BOOL(5);
	if (!PG_ARGISNULL(6) && PG_GETARG_INT32(6) < 1)
		ls_search_invalid("timeoutMs", "must be at least 1");
	if (!PG_ARGISNULL(7))
		set_include(&search, PG_GETARG_ARRAYTYPE_P(7));
	if (!PG_ARGISNULL(8))
		set_now(&search, PG_GETARG_TIMESTAMPTZ(8));
	ls_search_give(&search, PG_GETARG_JSONB_P(0));

	ls_search_prepare(&search);
	ls_search_answer(&search, ls_search_plan(&search, &position), &position, started, false, &out);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* search_rows(...) returns jsonb: the same. */
Datum
logsvc_search_rows(PG_FUNCTION_ARGS)
{
	return ls_jsonb_of_events(ls_str_of_text(DatumGetTextPP(logsvc_search_rows_json(fcinfo))));
}

/* ---- query_logs_json ---- */

/* A leaf field = text. */
static void
require_equal(ls_search *search, ls_str text, ls_field field, bool ignore_case)
{
	ls_filter *leaf;

	identify(search, text);
	if (text.data == NULL)
		return;
	leaf = ls_search_equal(search, field, text);
	leaf->ignore_case = ignore_case;
	search->filter = ls_search_and(search, search->filter, leaf);
}

static void
note_token(void *context, ls_str token)
{
	(void) token;
	*(bool *) context = true;
}

static void
require_phrase(ls_search *search, ls_str text)
{
	bool has_token = false;
	ls_filter *leaf;

	ls_tokenize(text, note_token, &has_token);
	if (!has_token)
		return;
	leaf = ls_search_node(search, LS_FILTER_PHRASE, 0);
	leaf->text = text;
	search->filter = ls_search_and(search, search->filter, leaf);
}

/* Free text: words and "phrases"; an event must have them all. */
static void
require_text(ls_search *search, ls_str text)
{
	size_t i = 0;

	identify(search, text);
	if (text.len > LS_QUERY_MAX_LENGTH)
		ls_search_invalid("q", "is too long");
	while (i < text.len)
	{
		bool quoted = text.data[i] == '"';
		size_t start = quoted ? i + 1 : i;

		i = start;
		while (i < text.len && text.data[i] != '"' && (quoted || text.data[i] != ' '))
			i++;
		require_phrase(search, ls_str_make(text.data + start, i - start));
		if (i < text.len && (quoted || text.data[i] == ' '))
			i++;
	}
}

/* Pairs attr.<key>=<value>; the value is text, as comparisons see it. */
static void
require_attributes(ls_search *search, Jsonb *attributes)
{
	JsonbIterator *it = JsonbIteratorInit(&attributes->root);
	JsonbIteratorToken token;
	JsonbValue v;
	ls_filter *leaf = NULL;

	if (!JB_ROOT_IS_OBJECT(attributes))
		ls_search_invalid("attributes", "must be an object");
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			ls_str key = ls_arena_strdup(search->arena,
										 ls_str_make(v.val.string.val, (size_t) v.val.string.len));
			ls_str *parts = ls_new_array(search->arena, ls_str, 33);
			size_t start = 0;

			leaf = ls_search_node(search, LS_FILTER_EQ, 0);
			if (parts == NULL || key.data == NULL)
				ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
			identify(search, key);
			leaf->target = LS_TARGET_ATTRIBUTE;
			leaf->path = parts;
			for (size_t i = 0; i <= key.len; i++)
			{
				if (i < key.len && (key.data[i] != '.' || leaf->n_path == 31))
					continue;
				parts[leaf->n_path++] = ls_str_make(key.data + start, i - start);
				start = i + 1;
			}
		}
		else if (token == WJB_VALUE && leaf != NULL)
		{
			ls_str text;

			if (v.type == jbvString)
				text = ls_str_make(v.val.string.val, (size_t) v.val.string.len);
			else if (v.type == jbvNumeric)
				text = ls_str_of_cstring(DatumGetCString(
					DirectFunctionCall1(numeric_out, NumericGetDatum(v.val.numeric))));
			else if (v.type == jbvBool)
				text = v.val.boolean ? LS_STR("true") : LS_STR("false");
			else
			{
				ls_search_invalid("attributes", "values must be strings, numbers or booleans");
				continue;
			}
			leaf->text = ls_arena_strdup(search->arena, text);
			identify(search, leaf->text);
			search->filter = ls_search_and(search, search->filter, leaf);
			leaf = NULL;
		}
	}
}

/* The query that shows those fields and finds all events. */
static ls_query *
choose_fields(ls_search *search, ArrayType *names)
{
	ls_query *query = NULL;
	ls_query_error error = {0};
	StringInfoData written;
	Datum *values;
	bool *nulls;
	int n;

	initStringInfo(&written);
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		ls_str name = nulls[i] ? LS_STR("") : ls_str_of_text(DatumGetTextPP(values[i]));

		identify(search, name);
		appendStringInfoString(&written, i > 0 ? ", " : "| fields ");
		ls_search_append_field(&written, name);
	}
	if (!ls_query_parse(ls_str_make(written.data, (size_t) written.len), search->arena, &query,
						&error))
		ls_search_raise(&error);
	return query;
}

/*
 * query_logs_json(from, to, index, level, source, service, q, order, limit,
 * cursor, attributes, trace_id, fields) returns json: the body of GET /api/v1/logs.
 */
Datum
logsvc_query_logs_json_0_2(PG_FUNCTION_ARGS)
{
	TimestampTz started = GetCurrentTimestamp();
	ls_position position = {0};
	ls_query_value value = {.kind = LS_QUERY_WORD};
	ls_query_value *list[1] = {&value};
	ls_query_values named = {0};
	ls_str order = text_argument(fcinfo, 7);
	ls_query empty = {.text = LS_STR("")};
	ls_search search;
	StringInfoData out;
	ls_plan *plan;

	initStringInfo(&out);
	ls_search_begin(&search, "from", "to");
	search.principal = ls_principal_current();
	search.query = &empty;
	ls_buf_lit(&search.identity, "logs");
	search.earliest = text_argument(fcinfo, 0);
	search.latest = text_argument(fcinfo, 1);
	identify(&search, search.earliest);
	identify(&search, search.latest);
	value.text = text_argument(fcinfo, 2);
	identify(&search, value.text);
	if (value.text.data != NULL)
		named = (ls_query_values){list, 1};
	search.level = text_argument(fcinfo, 3);
	require_equal(&search, search.level, LS_FIELD_LEVEL, true);
	search.source = text_argument(fcinfo, 4);
	require_equal(&search, search.source, LS_FIELD_SOURCE, true);
	search.service = text_argument(fcinfo, 5);
	require_equal(&search, search.service, LS_FIELD_SERVICE, false);
	require_text(&search, text_argument(fcinfo, 6));
	search.ascending = order.data != NULL && ls_str_eq(order, LS_STR("asc"));
	if (order.data != NULL && !search.ascending && !ls_str_eq(order, LS_STR("desc")))
		ls_search_invalid("order", "expected asc or desc");
	identify(&search, search.ascending ? LS_STR("asc") : LS_STR("desc"));
	if (!PG_ARGISNULL(8))
		set_limit(&search, PG_GETARG_INT32(8));
	search.cursor = text_argument(fcinfo, 9);
	if (!PG_ARGISNULL(10))
		require_attributes(&search, PG_GETARG_JSONB_P(10));
	require_equal(&search, text_argument(fcinfo, 11), LS_FIELD_TRACE_ID, true);
	if (!PG_ARGISNULL(12))
		search.query = choose_fields(&search, PG_GETARG_ARRAYTYPE_P(12));

	ls_search_range(&search);
	ls_search_indexes(&search, &named);
	ls_search_resolve(&search);
	if (search.cursor.len > 0)
		ls_cursor_read(&search, &position);
	plan = ls_search_plan(&search, &position);
	ls_search_answer(&search, plan, &position, started, true, &out);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* ---- events, check_query ---- */

/* events(q text, limit int) returns table; limit NULL: all events. */
Datum
logsvc_events(PG_FUNCTION_ARGS)
{
	ls_position position = {0};
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ls_search search;
	ls_plan *plan;
	bool told;

	InitMaterializedSRF(fcinfo, 0);
	ls_search_begin(&search, "earliest", "latest");
	search.q = text_argument(fcinfo, 0);
	search.limit = PG_ARGISNULL(1) ? 0 : Max(PG_GETARG_INT32(1), 1);
	ls_search_prepare(&search);
	plan = ls_search_plan(&search, &position);
	if (plan->table)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("the query gives a table, not events"),
				errhint("Call logsvc.search(): its answer has the table, in columns and rows."));
	/* The statement would return one row more, which shows whether there is a next page. */
	if (plan->limit > 0)
		plan->values[plan->limit - 1] = Int64GetDatum(search.limit);
	told = ls_search_is_told();
	ls_search_events(&search, plan, told, ls_event_sink_row,
					 ls_event_sink_make(CurrentMemoryContext, result->setResult, result->setDesc));
	if (told)
		ls_search_tell(&search);
	SPI_finish();
	return (Datum) 0;
}

/*
 * check_query(q text) returns json: {warnings, sql} for a valid query.  Raises the errors
 * that a search would raise before it reads any event.
 */
Datum
logsvc_check_query(PG_FUNCTION_ARGS)
{
	ls_position position = {0};
	ls_search search;
	StringInfoData out;
	StringInfoData sql;
	ls_buf quoted;
	ls_plan *plan;

	initStringInfo(&out);
	initStringInfo(&sql);
	ls_search_begin(&search, "earliest", "latest");
	search.q = text_argument(fcinfo, 0);
	ls_search_prepare(&search);
	plan = ls_search_plan(&search, &position);
	ls_plan_print(&sql, plan);
	ls_search_warn_unknown(&search, false);
	ls_search_note_values(&search, LS_SEARCH_TABLE);
	ls_search_warn_levels(&search, true);
	appendStringInfoString(&out, "{\"warnings\":[");
	ls_search_append_warnings(&out, &search);
	ls_buf_init(&quoted, search.arena);
	ls_json_quote(&quoted, ls_str_make(sql.data, (size_t) sql.len));
	if (quoted.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	appendStringInfoString(&out, "],\"sql\":");
	appendBinaryStringInfo(&out, quoted.data, (int) quoted.len);
	appendStringInfoChar(&out, '}');
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* searched_indexes(index text) returns text[]: those that index=... searches; NULL: the default. */
Datum
logsvc_searched_indexes(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	ls_query_value value = {.kind = LS_QUERY_WORD};
	ls_query_value *list[1] = {&value};
	ls_query_values named = {0};
	ls_search search;
	MemoryContext inner;
	Datum *names;
	Datum result;

	ls_search_begin(&search, "earliest", "latest");
	search.principal = ls_principal_current();
	value.text = text_argument(fcinfo, 0);
	value.wildcard =
		value.text.data != NULL && memchr(value.text.data, '*', value.text.len) != NULL;
	if (value.text.data != NULL)
		named = (ls_query_values){list, 1};
	ls_search_indexes(&search, &named);
	names = palloc(sizeof(Datum) * (Size) (search.n_indexes + 1));
	for (int i = 0; i < search.n_indexes; i++)
		names[i] = PointerGetDatum(ls_text_of_str(search.indexes[i]));
	inner = MemoryContextSwitchTo(caller);
	result =
		PointerGetDatum(construct_array(names, search.n_indexes, TEXTOID, -1, false, TYPALIGN_INT));
	MemoryContextSwitchTo(inner);
	SPI_finish();
	return result;
}
