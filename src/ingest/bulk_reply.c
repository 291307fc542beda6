/*-------------------------------------------------------------------------
 *
 * bulk_reply.c
 *	  What clients of Elasticsearch are told (pure).
 *
 * Shippers look at each item of the answer, and send everything again when it
 * is not of the shape that they know.  Errors of whole requests are made in the
 * gateway (gateway_status.c).
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/decode.h"

#include "src/gateway/gateway.h"

/* The version whose interface is spoken, for clients that ask for one. */
#define VERSION "8.11.0"

static const char *
type_of(const char *code)
{
	return strcmp(code, "INDEX_NOT_FOUND") == 0   ? "index_not_found_exception"
		   : strcmp(code, "EVENT_TOO_LARGE") == 0 ? "illegal_argument_exception"
												  : "document_parsing_exception";
}

static void
append_item(ls_buf *buf, const ls_bulk_item *item, void (*id)(void *context, char *out),
			void *context)
{
	static const char *const names[] = {"index", "create", "update", "delete"};
	char own[30];

	ls_buf_printf(buf, "{\"%s\":{\"_index\":", names[item->action]);
	ls_json_quote(buf, item->index);
	ls_buf_lit(buf, ",\"_id\":");
	if (item->code == NULL)
		id(context, own);
	if (item->id.len > 0)
		ls_json_quote(buf, item->id);
	else if (item->code == NULL)
		ls_json_quote(buf, ls_str_make(own, sizeof(own)));
	else
		ls_buf_lit(buf, "null");
	if (item->code == NULL)
		ls_buf_lit(buf, ",\"_version\":1,\"result\":\"created\",\"status\":201}}");
	else
	{
		ls_buf_printf(buf, ",\"status\":%d,\"error\":{\"type\":\"%s\",\"reason\":", item->status,
					  type_of(item->code));
		ls_json_quote(buf, item->reason);
		ls_buf_lit(buf, "}}}");
	}
}

void
ls_bulk_answer(ls_buf *buf, const ls_bulk_item *items, uint32_t n, int64_t took_ms,
			   void (*id)(void *context, char *out), void *context)
{
	bool errors = false;

	for (uint32_t i = 0; i < n; i++)
		errors = errors || items[i].code != NULL;
	ls_buf_printf(buf, "{\"took\":%lld,\"errors\":%s,\"items\":[", (long long) took_ms,
				  errors ? "true" : "false");
	for (uint32_t i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		append_item(buf, &items[i], id, context);
	}
	ls_buf_lit(buf, "]}");
}

ls_str
ls_bulk_probe(uint32_t route)
{
	switch ((ls_route_id) route)
	{
		case LS_ROUTE_ELASTIC_INFO:
		case LS_ROUTE_ELASTIC_INFO_PREFIX:
		case LS_ROUTE_ELASTIC_INFO_PREFIXED:
			return LS_STR(
				"{\"name\":\"logsvc\",\"cluster_name\":\"logsvc\",\"cluster_uuid\":\"logsvc\","
				"\"version\":{"
				"\"number\":\"" VERSION "\",\"build_flavor\":\"default\",\"build_type\":\"docker\","
				"\"build_hash\":\"logsvc\",\"build_snapshot\":false,"
				"\"minimum_wire_compatibility_version\":\"7.17.0\","
				"\"minimum_index_compatibility_version\":\"7.0.0\"},"
				"\"tagline\":\"You Know, for Search\"}");
		case LS_ROUTE_ELASTIC_HEALTH:
		case LS_ROUTE_ELASTIC_HEALTH_PREFIXED:
			return LS_STR("{\"cluster_name\":\"logsvc\",\"status\":\"green\",\"timed_out\":false,"
						  "\"number_of_nodes\":1,\"number_of_data_nodes\":1}");
		case LS_ROUTE_ELASTIC_CAT_HEALTH:
		case LS_ROUTE_ELASTIC_CAT_HEALTH_PREFIXED:
			return LS_STR("[{\"cluster\":\"logsvc\",\"status\":\"green\"}]");
		case LS_ROUTE_ELASTIC_LICENSE:
		case LS_ROUTE_ELASTIC_LICENSE_PREFIXED:
			return LS_STR(
				"{\"license\":{\"status\":\"active\",\"uid\":\"logsvc\",\"type\":\"basic\"}}");
		case LS_ROUTE_ELASTIC_REFRESH:
		case LS_ROUTE_ELASTIC_REFRESH_PREFIXED:
			return LS_STR("{\"_shards\":{\"total\":1,\"successful\":1,\"failed\":0}}");
		default:
			return LS_STR("");
	}
}
