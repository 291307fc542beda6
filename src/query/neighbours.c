/*-------------------------------------------------------------------------
 *
 * neighbours.c
 *	  One event by its id, and the events before and after it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "executor/spi.h"
#include "utils/builtins.h"

#include "src/part/event_id.h"

PG_FUNCTION_INFO_V1(logsvc_event_json);
PG_FUNCTION_INFO_V1(logsvc_context_json);

typedef struct found
{
	int limit;
	int n;
	char **events;        /* as JSON */
	ls_position position; /* of the last one */
} found;

static bool
take(void *context, const ls_position *position, char **texts)
{
	found *f = context;

	if (f->n == f->limit)
		return false;
	f->position = *position;
	f->events[f->n++] = pstrdup(texts[0]);
	return true;
}

static void
run(ls_search *search, const ls_position *position, found *f, int limit)
{
	ls_plan *plan;

	f->n = 0;
	f->limit = search->limit = limit;
	f->events = palloc(sizeof(char *) * (Size) (limit + 1));
	if (limit == 0)
		return;
	plan = ls_search_plan(search, position);
	ls_plan_run(search, plan, take, f);
}

/* The event with an id, if the principal may see it; otherwise raises NOT_FOUND. */
static void
find_event(ls_search *search, ls_str id, found *f)
{
	static ls_query all = {.text = {"", 0}};
	static const ls_query_values none = {0};
	ls_position start = {0};
	ls_filter *leaf;
	uint64_t batch;
	uint32_t place;

	if (!ls_event_id_parse(id, &batch, &place))
		ls_raise(LS_ERROR_NOT_FOUND);
	search->principal = ls_principal_current();
	search->query = &all;
	search->from = LS_FIRST_EVENT_TIME;
	search->to = LS_LAST_EVENT_TIME;
	ls_search_indexes(search, &none);
	leaf = ls_search_node(search, LS_FILTER_EQ, 0);
	leaf->target = LS_TARGET_ID;
	leaf->text = id;
	search->filter = leaf;
	run(search, &start, f, 1);
	if (f->n == 0)
		ls_raise(LS_ERROR_NOT_FOUND);
}

/* event_json(id text) returns json: the body of GET /api/v1/logs/{id}. */
Datum
logsvc_event_json(PG_FUNCTION_ARGS)
{
	found f = {0};
	ls_search search;
	StringInfoData out;

	initStringInfo(&out);
	ls_search_begin(&search, "from", "to");
	find_event(&search, ls_str_of_text(PG_GETARG_TEXT_PP(0)), &f);
	appendStringInfo(&out, "{\"data\":%s}", f.events[0]);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* Only events of the same index, and of the same source if it has one. */
static void
same_origin(ls_search *search, const char *event, bool any_source)
{
	ls_str key;
	ls_json j;
	ls_json_value v;
	ls_str index = LS_STR("main");
	ls_query_value value = {.kind = LS_QUERY_STRING};
	ls_query_value *list[1] = {&value};
	ls_query_values named = {list, 1};

	search->filter = NULL;
	ls_json_init(&j, ls_str_of_cstring(event), search->arena, 1100);
	ls_json_read(&j, &v);
	while (ls_json_member(&j, &key))
	{
		bool is_index = ls_str_eq(key, LS_STR("index"));
		bool is_source = ls_str_eq(key, LS_STR("source"));
		ls_str skipped;

		if (!is_index && !is_source)
			ls_json_skip(&j, &skipped);
		else if (!ls_json_read(&j, &v))
			break;
		else if (is_index)
			index = ls_arena_strdup(search->arena, v.text);
		else if (!any_source)
			search->filter =
				ls_search_equal(search, LS_FIELD_SOURCE, ls_arena_strdup(search->arena, v.text));
	}
	if (j.error != NULL)
		elog(ERROR, "an event is not JSON: %s", j.error);
	value.text = index;
	search->n_indexes = 0;
	ls_search_indexes(search, &named);
}

static int
count_argument(FunctionCallInfo fcinfo, int argument, const char *name)
{
	int count = PG_ARGISNULL(argument) ? 10 : PG_GETARG_INT32(argument);

	if (count < 0 || count > 100)
		ls_search_invalid(name, "must be between 0 and 100");
	return count;
}

/*
 * context_json(id text, before int, after int, scope text) returns json: the
 * body of GET /api/v1/logs/{id}/context.  Events are sorted by time, oldest first,
 * with the event itself in its place.
 */
Datum
logsvc_context_json(PG_FUNCTION_ARGS)
{
	int before = count_argument(fcinfo, 1, "before");
	int after = count_argument(fcinfo, 2, "after");
	ls_str scope = PG_ARGISNULL(3) ? LS_STR("source") : ls_str_of_text(PG_GETARG_TEXT_PP(3));
	found middle = {0};
	found older = {0};
	found newer = {0};
	ls_search search;
	ls_position position;
	StringInfoData out;

	if (PG_ARGISNULL(0))
		ls_raise(LS_ERROR_NOT_FOUND);
	if (!ls_str_eq(scope, LS_STR("source")) && !ls_str_eq(scope, LS_STR("index")))
		ls_search_invalid("scope", "expected source or index");
	initStringInfo(&out);
	ls_search_begin(&search, "from", "to");
	find_event(&search, ls_str_of_text(PG_GETARG_TEXT_PP(0)), &middle);
	same_origin(&search, middle.events[0], ls_str_eq(scope, LS_STR("index")));
	position = middle.position;
	position.set = true;
	search.to = position.time + 1;
	run(&search, &position, &older, before);
	search.from = position.time;
	search.to = LS_LAST_EVENT_TIME;
	search.ascending = true;
	run(&search, &position, &newer, after);

	appendStringInfoString(&out, "{\"data\":[");
	for (int i = older.n - 1; i >= 0; i--)
		appendStringInfo(&out, "%s,", older.events[i]);
	appendStringInfoString(&out, middle.events[0]);
	for (int i = 0; i < newer.n; i++)
		appendStringInfo(&out, ",%s", newer.events[i]);
	appendStringInfo(&out,
					 "],\"page\":{\"nextCursor\":null,\"hasMore\":false},"
					 "\"meta\":{\"before\":%d,\"after\":%d}}",
					 older.n, newer.n);
	SPI_finish();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}
