/*-------------------------------------------------------------------------
 *
 * document.c
 *	  Documents of the workspace, checked against the schemas of the API.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include <ctype.h>

#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "src/base/json_schema.h"
#include "src/gateway/gateway.h"
#include "src/query/query.h"
#include "src/workspace/cron.h"

PG_FUNCTION_INFO_V1(logsvc_check_document);
PG_FUNCTION_INFO_V1(logsvc_check_document_names);

/* Bytes of a document, and its levels: more than a schema allows. */
#define MAX_LENGTH ((size_t) 512 * 1024)
#define MAX_DEPTH 24

/* For a document, its patch and what becomes of them; for a query in it. */
#define DOCUMENT_MEMORY ((size_t) 128 * 1024 * 1024)
#define QUERY_MEMORY ((size_t) 8 * 1024 * 1024)

/* ---- formats ---- */

static const char *
check_query(ls_str value, bool only_filter, ls_arena *arena)
{
	ls_arena *own = ls_context_arena(CurrentMemoryContext, QUERY_MEMORY);
	const char *wrong = NULL;
	ls_query *query;
	ls_query_error error;
	ls_buf message;

	if (!(only_filter ? ls_query_parse_filter(value, own, &query, &error)
					  : ls_query_parse(value, own, &query, &error)))
	{
		ls_buf_init(&message, arena);
		ls_buf_printf(&message, "is not a valid %s: ", only_filter ? "filter" : "query");
		ls_buf_str(&message, error.message);
		if (error.kind != LS_QUERY_ERROR_MEMORY)
			ls_buf_printf(&message, " (line %u, column %u)", error.position.line,
						  error.position.column);
		if (error.kind != LS_QUERY_ERROR_MEMORY && error.hint.len > 0)
		{
			ls_buf_lit(&message, "; ");
			ls_buf_str(&message, error.hint);
		}
		ls_buf_char(&message, '\0');
		wrong = message.failed ? "is too large" : message.data;
	}
	ls_arena_destroy(own);
	return wrong;
}

/* A number of one to four digits and a unit. */
static bool
is_duration(ls_str value)
{
	size_t digits = value.len - 1;

	if (value.len < 2 || value.len > 5 || value.data[0] == '0' ||
		strchr("smhdw", value.data[digits]) == NULL)
		return false;
	for (size_t i = 0; i < digits; i++)
	{
		if (!isdigit((unsigned char) value.data[i]))
			return false;
	}
	return true;
}

/* A link of http or https to some host: nothing that a browser would run, and no invisible parts. */
static bool
is_web_address(ls_str value)
{
	size_t scheme;

	if (value.len > 8 && ls_str_eq_nocase(ls_str_make(value.data, 8), LS_STR("https://")))
		scheme = 8;
	else if (value.len > 7 && ls_str_eq_nocase(ls_str_make(value.data, 7), LS_STR("http://")))
		scheme = 7;
	else
		return false;
	for (size_t i = 0; i < value.len; i++)
	{
		unsigned char c = (unsigned char) value.data[i];

		if (c <= ' ' || c == 0x7f || strchr("\"<>\\^`{|}", c) != NULL)
			return false;
	}
	return strchr("/?#@:", value.data[scheme]) == NULL;
}

static const char *
bad_time(ls_str value, ls_arena *arena)
{
	ls_buf text;

	ls_buf_init(&text, arena);
	ls_buf_lit(&text, "is not a time; expected now, -1h, -7d@d or an ISO 8601 time; ");
	ls_query_time_hint(value, true, &text);
	if (!text.failed && text.data[text.len - 2] == ';')
		text.len -= 2;
	ls_buf_char(&text, '\0');
	return text.failed ? "is not a time" : text.data;
}

static const char *
check_format(void *context, ls_str format, ls_str value, ls_arena *arena)
{
	ls_query_time time;
	ls_cron cron;
	char problem[LS_CRON_PROBLEM];

	if (ls_str_eq(format, LS_STR("query")))
		return check_query(value, false, arena);
	if (ls_str_eq(format, LS_STR("filter")))
		return check_query(value, true, arena);
	if (ls_str_eq(format, LS_STR("search-time")) && !ls_query_time_parse(value, &time))
		return bad_time(value, arena);
	if (ls_str_eq(format, LS_STR("duration")) && !is_duration(value))
		return "is not a duration; expected a number and s, m, h, d or w, such as 5m";
	if (ls_str_eq(format, LS_STR("web-address")) && !is_web_address(value))
		return "is not an address of a page; expected https:// or http://";
	if (ls_str_eq(format, LS_STR("cron")) && !ls_cron_parse(value, &cron, problem))
		return ls_arena_strdup(arena, ls_str_make(problem, strlen(problem))).data;
	return NULL;
}

/* ---- from jsonb and back ---- */

/*
 * Searches call their query q, rules and panels query: each name is understood where the other one is
 * meant.  With both, the other one is a member that is not known.
 */
static bool
name_queries(ls_str schema, const ls_json_node *document, ls_arena *arena)
{
	static const char *const with_q[] = {"SavedQuery", "Kpi", "ScheduledExport"};
	static const char *const lists[] = {"panels", "variables"};
	bool good = true;

	for (size_t i = 0; i < lengthof(with_q); i++)
		if (ls_str_eq(schema, ls_str_of_cstring(with_q[i])))
			return ls_document_rename(arena, document, "query", "q");
	if (ls_str_eq(schema, LS_STR("AlertRule")))
		return ls_document_rename(arena, document, "q", "query");
	for (size_t l = 0; l < lengthof(lists) && ls_str_eq(schema, LS_STR("Dashboard")); l++)
	{
		const ls_json_node *list = ls_node_member(document, lists[l]);

		for (size_t i = 0; i < ls_node_count(list) && good; i++)
			good = ls_document_rename(arena, ls_node_element(list, i), "q", "query");
	}
	return good;
}

static const ls_json_node *
read_document(Jsonb *document, ls_str schema, ls_arena *arena)
{
	ls_str text = ls_str_of_cstring(JsonbToCString(NULL, &document->root, (int) VARSIZE(document)));
	const ls_json_node *node;

	if (text.len > MAX_LENGTH)
		ls_search_invalid("", "the document is larger than 512 kB");
	node = ls_document_read(text, MAX_DEPTH, arena);
	if (!ls_node_is(node, LS_JSON_OBJECT) || !name_queries(schema, node, arena))
		ls_search_invalid("", "expected a JSON object of at most 50,000 values on 24 levels, "
							  "with numbers that a double holds");
	return node;
}

static LS_NORETURN void
refuse(const ls_schema_check *check)
{
	ls_buf details;

	if (check->n_problems == 0 || check->problems.failed)
		ls_search_invalid("", "the document is too large");
	ls_buf_init(&details, check->arena);
	ls_buf_char(&details, '[');
	ls_buf_append(&details, check->problems.data, check->problems.len);
	ls_buf_char(&details, ']');
	ls_buf_char(&details, '\0');
	if (details.failed)
		ls_search_invalid("", "the document is too large");
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_VALIDATION)),
			errmsg("%s", ls_error_table[LS_ERROR_VALIDATION].message),
			errdetail_internal("%s", details.data));
}

static void
begin_check(ls_schema_check *check)
{
	static const ls_json_node *schemas = NULL;

	if (schemas == NULL)
		schemas = ls_api_schemas(ls_context_arena(TopMemoryContext, 0));
	if (schemas == NULL)
		elog(ERROR, "the schemas of the API cannot be read");
	*check = (ls_schema_check){.schemas = schemas,
							   .format = check_format,
							   .arena = ls_context_arena(CurrentMemoryContext, DOCUMENT_MEMORY)};
}

/*
 * check_document(schema text, document jsonb, patch jsonb) returns jsonb: the document as it is to be
 * kept: after the merge patch (NULL: none), with defaults, without members that are read only.
 * Raises VALIDATION_ERROR with all that is wrong.
 */
Datum
logsvc_check_document(PG_FUNCTION_ARGS)
{
	ls_schema_check check;
	const ls_json_node *document;
	const ls_json_node *checked;
	ls_str schema;
	ls_buf kept;
	Datum result;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ls_search_invalid("", "expected a JSON object");
	begin_check(&check);
	schema = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	document = read_document(PG_GETARG_JSONB_P(1), schema, check.arena);
	if (!PG_ARGISNULL(2))
		document = ls_document_merge(
			document, read_document(PG_GETARG_JSONB_P(2), schema, check.arena), check.arena);
	checked = ls_schema_apply(&check, text_to_cstring(PG_GETARG_TEXT_PP(0)), document);
	if (checked == NULL)
		refuse(&check);
	ls_buf_init(&kept, check.arena);
	ls_document_write(&kept, checked);
	ls_buf_char(&kept, '\0');
	if (kept.failed)
		ls_search_invalid("", "the document is too large");
	result = DirectFunctionCall1(jsonb_in, CStringGetDatum(kept.data));
	ls_arena_destroy(check.arena);
	PG_RETURN_DATUM(result);
}

/*
 * check_document_names(schema text, patch jsonb) returns void: raises VALIDATION_ERROR when the
 * patch has members that are not known, or is no object.
 */
Datum
logsvc_check_document_names(PG_FUNCTION_ARGS)
{
	ls_schema_check check;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ls_search_invalid("", "expected a JSON object");
	begin_check(&check);
	if (!ls_schema_check_names(
			&check, text_to_cstring(PG_GETARG_TEXT_PP(0)),
			read_document(PG_GETARG_JSONB_P(1), ls_str_of_text(PG_GETARG_TEXT_PP(0)), check.arena)))
		refuse(&check);
	ls_arena_destroy(check.arena);
	PG_RETURN_VOID();
}
