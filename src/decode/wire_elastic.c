/*-------------------------------------------------------------------------
 *
 * wire_elastic.c
 *	  The wire formats of Elasticsearch's bulk API and of its single documents,
 *	  and the answers to what its clients ask before they send (pure).
 *
 * Shippers look at each item of the answer, and send everything again when it
 * is not of the shape that they know.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/wire_format.h"

/* More than of other formats: clients get a result for each document, and send all again after an error. */
#define MOST_REJECTED_ITEMS 10000

/* The version whose interface is spoken, for clients that ask for one. */
#define VERSION "8.11.0"

static const char *
type_of_code(const char *code)
{
	return strcmp(code, "INDEX_NOT_FOUND") == 0   ? "index_not_found_exception"
		   : strcmp(code, "EVENT_TOO_LARGE") == 0 ? "illegal_argument_exception"
												  : "document_parsing_exception";
}

static void
append_item(ls_buf *buf, const ls_bulk_item *item, bool (*id)(void *context, char *out),
			void *context)
{
	static const char *const names[] = {"index", "create", "update", "delete"};
	bool stored;
	char own[30];

	ls_buf_printf(buf, "{\"%s\":{\"_index\":", names[item->action]);
	ls_json_quote(buf, item->index);
	ls_buf_lit(buf, ",\"_id\":");
	stored = item->code == NULL && id(context, own);
	if (item->code == NULL && !stored)
	{
		/* As Elasticsearch says it of what an ingest pipeline dropped. */
		ls_buf_lit(buf, "\"auto-generated\",\"_version\":-3,\"result\":\"noop\",\"status\":200}}");
		return;
	}
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
					  type_of_code(item->code));
		ls_json_quote(buf, item->reason);
		ls_buf_lit(buf, "}}}");
	}
}

void
ls_bulk_answer(ls_buf *buf, const ls_bulk_item *items, uint32_t n, int64_t took_ms,
			   bool (*id)(void *context, char *out), void *context)
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

static void
finish(ls_response *response)
{
	response->status = 200;
	ls_response_header(response, LS_STR("X-Elastic-Product"), LS_STR("Elasticsearch"));
}

static void
answer_bulk(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	ls_bulk_answer(body, result->decoded->items, result->decoded->n_items, result->took_ms,
				   result->next_id, result->ids);
	ls_wire_add_ignored(result->decoded, body->arena, response);
	finish(response);
}

/* Of one document; one that was rejected is refused. */
static void
answer_document(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	const ls_bulk_item *item = &result->decoded->items[0];
	char own[30];
	bool stored = result->next_id(result->ids, own);

	if (!stored)
		memcpy(own, "auto-generated                ", sizeof(own));
	ls_buf_lit(body, "{\"_index\":");
	ls_json_quote(body, item->index);
	ls_buf_lit(body, ",\"_id\":");
	ls_json_quote(body, item->id.len > 0 ? item->id : ls_str_trim(ls_str_make(own, sizeof(own))));
	ls_buf_printf(body, ",\"_version\":%d,\"result\":\"%s\",", stored ? 1 : -3,
				  stored ? "created" : "noop");
	ls_buf_lit(body, "\"_shards\":{\"total\":1,\"successful\":1,\"failed\":0},"
					 "\"_seq_no\":0,\"_primary_term\":1}");
	ls_wire_add_ignored(result->decoded, body->arena, response);
	finish(response);
	response->status = stored ? 201 : 200;
}

static void
answer_constant(const ls_wire_result *result, ls_buf *body, ls_response *response)
{
	ls_buf_append(body, result->format->constant, strlen(result->format->constant));
	finish(response);
}

/* ---- errors ---- */

/* What Elasticsearch would call it: clients know some of the names. */
static const char *
type_of_status(int status)
{
	switch (status)
	{
		case 401:
		case 403:
			return "security_exception";
		case 404:
			return "index_not_found_exception";
		case 429:
			return "es_rejected_execution_exception";
		case 503:
			return "unavailable_shards_exception";
		default:
			return status < 500 ? "illegal_argument_exception" : "exception";
	}
}

static void
refuse(ls_str message, ls_buf *body, ls_response *response)
{
	const char *type = type_of_status(response->status);

	ls_buf_printf(body, "{\"error\":{\"root_cause\":[{\"type\":\"%s\",\"reason\":", type);
	ls_json_quote(body, message);
	ls_buf_printf(body, "}],\"type\":\"%s\",\"reason\":", type);
	ls_json_quote(body, message);
	ls_buf_printf(body, "},\"status\":%d}", response->status);
	response->content_type = LS_STR("application/json");
	ls_response_header(response, LS_STR("X-Elastic-Product"), LS_STR("Elasticsearch"));
}

/* ---- formats ---- */

/* Lines are sent under these names too. */
static bool
accepts(const ls_request *request)
{
	return ls_request_is_json(request) || ls_wire_is_lines(request) ||
		   ls_request_is_type(request, "application/vnd.elasticsearch+x-ndjson") ||
		   ls_request_is_type(request, "application/vnd.elasticsearch+json");
}

static bool
accepts_document(const ls_request *request)
{
	return ls_request_is_json(request) ||
		   ls_request_is_type(request, "application/vnd.elasticsearch+json");
}

const ls_wire_format ls_wire_bulk = {.door = LS_DOOR_ELASTIC,
									 .accepts = accepts,
									 .decode = ls_decode_bulk,
									 .answer = answer_bulk,
									 .refuse = refuse,
									 .most_rejected = MOST_REJECTED_ITEMS,
									 .item_by_item = true};

const ls_wire_format ls_wire_document = {.door = LS_DOOR_ELASTIC,
										 .accepts = accepts_document,
										 .decode = ls_decode_document,
										 .answer = answer_document,
										 .refuse = refuse,
										 .most_rejected = LS_MOST_REJECTED,
										 .one_event = true};

#define CONSTANT(text)                                                \
	{                                                                 \
		.answer = answer_constant, .refuse = refuse, .constant = text \
	}

const ls_wire_format ls_wire_elastic_info =
	CONSTANT("{\"name\":\"logsvc\",\"cluster_name\":\"logsvc\",\"cluster_uuid\":\"logsvc\","
			 "\"version\":{\"number\":\"" VERSION "\",\"build_flavor\":\"default\","
			 "\"build_type\":\"docker\",\"build_hash\":\"logsvc\",\"build_snapshot\":false,"
			 "\"minimum_wire_compatibility_version\":\"7.17.0\","
			 "\"minimum_index_compatibility_version\":\"7.0.0\"},"
			 "\"tagline\":\"You Know, for Search\"}");

const ls_wire_format ls_wire_elastic_health =
	CONSTANT("{\"cluster_name\":\"logsvc\",\"status\":\"green\",\"timed_out\":false,"
			 "\"number_of_nodes\":1,\"number_of_data_nodes\":1}");

const ls_wire_format ls_wire_elastic_cat_health =
	CONSTANT("[{\"cluster\":\"logsvc\",\"status\":\"green\"}]");

const ls_wire_format ls_wire_elastic_license =
	CONSTANT("{\"license\":{\"status\":\"active\",\"uid\":\"logsvc\",\"type\":\"basic\"}}");

const ls_wire_format ls_wire_elastic_refresh =
	CONSTANT("{\"_shards\":{\"total\":1,\"successful\":1,\"failed\":0}}");
