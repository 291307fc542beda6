/*-------------------------------------------------------------------------
 *
 * wire_format.c
 *	  Which wire format is spoken on which route, and how its bodies are
 *	  packed (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/wire_format.h"

#define JSON_OR_LINES "expected application/json or application/x-ndjson"
#define JSON_LINES_OR_TEXT "expected application/json, application/x-ndjson or text/plain"
#define JSON "expected application/json"
#define ANY "any type is taken"
#define PROTOBUF_OR_JSON "expected application/x-protobuf or application/json"

#define MOST_FORMATS 3

typedef struct wire_route
{
	const char *expected;                        /* what is said to another media type */
	const ls_wire_format *formats[MOST_FORMATS]; /* errors look as the first one wants
												  * them when none fits */
} wire_route;

static const wire_route wire_routes[] = {
	[LS_ROUTE_INGEST] = {JSON_LINES_OR_TEXT,
						 {&ls_wire_event, &ls_wire_event_lines, &ls_wire_event_text}},
	[LS_ROUTE_INGEST_BATCH] = {JSON_LINES_OR_TEXT, {&ls_wire_batch, &ls_wire_lines, &ls_wire_text}},
	[LS_ROUTE_OTLP] = {PROTOBUF_OR_JSON, {&ls_wire_otlp_json, &ls_wire_otlp_protobuf}},
	[LS_ROUTE_LOKI_PUSH] = {PROTOBUF_OR_JSON, {&ls_wire_loki_json, &ls_wire_loki_protobuf}},
	[LS_ROUTE_BULK] = {JSON_OR_LINES, {&ls_wire_bulk}},
	[LS_ROUTE_BULK_INDEX] = {JSON_OR_LINES, {&ls_wire_bulk}},
	[LS_ROUTE_BULK_PREFIXED] = {JSON_OR_LINES, {&ls_wire_bulk}},
	[LS_ROUTE_BULK_INDEX_PREFIXED] = {JSON_OR_LINES, {&ls_wire_bulk}},
	[LS_ROUTE_DOC_NEW] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_DOC] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_DOC_PUT] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_DOC_CREATE] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_DOC_CREATE_PUT] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_DOC_NEW_PREFIXED] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_DOC_PREFIXED] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_DOC_PUT_PREFIXED] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_DOC_CREATE_PREFIXED] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_DOC_CREATE_PUT_PREFIXED] = {JSON, {&ls_wire_document}},
	[LS_ROUTE_HEC] = {ANY, {&ls_wire_splunk_events}},
	[LS_ROUTE_HEC_EVENT] = {ANY, {&ls_wire_splunk_events}},
	[LS_ROUTE_HEC_EVENT_1] = {ANY, {&ls_wire_splunk_events}},
	[LS_ROUTE_HEC_RAW] = {ANY, {&ls_wire_splunk_raw}},
	[LS_ROUTE_HEC_RAW_1] = {ANY, {&ls_wire_splunk_raw}},
	[LS_ROUTE_SYSLOG] = {ANY, {&ls_wire_syslog}},
	[LS_ROUTE_GELF] = {ANY, {&ls_wire_gelf}},
	[LS_ROUTE_ELASTIC_INFO] = {NULL, {&ls_wire_elastic_info}},
	[LS_ROUTE_ELASTIC_INFO_PREFIX] = {NULL, {&ls_wire_elastic_info}},
	[LS_ROUTE_ELASTIC_INFO_PREFIXED] = {NULL, {&ls_wire_elastic_info}},
	[LS_ROUTE_ELASTIC_HEALTH] = {NULL, {&ls_wire_elastic_health}},
	[LS_ROUTE_ELASTIC_HEALTH_PREFIXED] = {NULL, {&ls_wire_elastic_health}},
	[LS_ROUTE_ELASTIC_CAT_HEALTH] = {NULL, {&ls_wire_elastic_cat_health}},
	[LS_ROUTE_ELASTIC_CAT_HEALTH_PREFIXED] = {NULL, {&ls_wire_elastic_cat_health}},
	[LS_ROUTE_ELASTIC_LICENSE] = {NULL, {&ls_wire_elastic_license}},
	[LS_ROUTE_ELASTIC_LICENSE_PREFIXED] = {NULL, {&ls_wire_elastic_license}},
	[LS_ROUTE_ELASTIC_REFRESH] = {NULL, {&ls_wire_elastic_refresh}},
	[LS_ROUTE_ELASTIC_REFRESH_GET] = {NULL, {&ls_wire_elastic_refresh}},
	[LS_ROUTE_ELASTIC_REFRESH_PREFIXED] = {NULL, {&ls_wire_elastic_refresh}},
	[LS_ROUTE_ELASTIC_REFRESH_GET_PREFIXED] = {NULL, {&ls_wire_elastic_refresh}},
};

static const wire_route *
find_route(const ls_request *request)
{
	if (request->route >= sizeof(wire_routes) / sizeof(wire_routes[0]) ||
		wire_routes[request->route].formats[0] == NULL)
		return NULL;
	return &wire_routes[request->route];
}

static const ls_wire_format *
find_format(const wire_route *route, const ls_request *request)
{
	for (int i = 0; i < MOST_FORMATS && route->formats[i] != NULL; i++)
	{
		const ls_wire_format *format = route->formats[i];

		if (format->accepts == NULL || format->accepts(request))
			return format;
	}
	return NULL;
}

const ls_wire_format *
ls_wire_format_of(const ls_request *request, const char **expected)
{
	const wire_route *route = find_route(request);

	*expected = route != NULL ? route->expected : NULL;
	return route != NULL ? find_format(route, request) : NULL;
}

/* A route of Loki's read API, which executors answer: they are next to each other. */
static bool
is_loki(uint32_t route)
{
	return route >= LS_ROUTE_LOKI_QUERY_RANGE && route <= LS_ROUTE_LOKI_BUILDINFO;
}

ls_error_form
ls_wire_error_form_of(const ls_request *request)
{
	const wire_route *route = find_route(request);
	const ls_wire_format *format;

	if (route == NULL)
		return is_loki(request->route) ? ls_wire_loki_json.refuse : NULL;
	format = find_format(route, request);
	return (format != NULL ? format : route->formats[0])->refuse;
}

/* ---- packing ---- */

static const ls_packing gzip = {
	.coding = {"gzip", 4},
	.alias = {"x-gzip", 6},
	.unpack = ls_gunzip,
	.most = ls_gunzip_most,
	.broken = "the body is not valid gzip",
	.details = "[{\"path\":\"\",\"code\":\"invalid\",\"message\":\"expected gzip data as "
			   "Content-Encoding says, and nothing after it\"}]"};

static bool
is_named(const ls_packing *packing, ls_str coding)
{
	return ls_str_eq_nocase(coding, packing->coding) || ls_str_eq_nocase(coding, packing->alias);
}

bool
ls_wire_packing_of(const ls_wire_format *format, const ls_request *request,
				   const ls_packing **packing)
{
	*packing = format->packing;
	if (!ls_request_is_encoded(request) ||
		(format->packing != NULL && is_named(format->packing, request->content_encoding)))
		return true;
	*packing = &gzip;
	return is_named(&gzip, request->content_encoding);
}
