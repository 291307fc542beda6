/*-------------------------------------------------------------------------
 *
 * openapi.c
 *	  The API as an OpenAPI 3.1 document, made from the route table (pure).
 *
 * Made once, when the gateway starts: the document cannot say anything that
 * the routes do not do.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/gateway.h"

#ifndef LOGSVC_VERSION
#define LOGSVC_VERSION "unversioned"
#endif

static void
quote(ls_buf *buf, const char *text)
{
	ls_json_quote(buf, ls_str_make(text, strlen(text)));
}

static void
write_parameters(ls_buf *buf, const char *path)
{
	const char *open = strchr(path, '{');
	const char *close = open != NULL ? strchr(open, '}') : NULL;

	if (close == NULL)
		return;
	ls_buf_lit(buf, ",\"parameters\":[{\"name\":");
	ls_json_quote(buf, ls_str_make(open + 1, (size_t) (close - open - 1)));
	ls_buf_lit(buf, ",\"in\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}}]");
}

static void
write_security(ls_buf *buf, const ls_route *route)
{
	const char *keys = route->credentials + strcspn(route->credentials, "IRF");
	bool any = false;

	ls_buf_lit(buf, ",\"security\":[");
	if (strchr(route->credentials, 'T') != NULL)
	{
		ls_buf_lit(buf, "{\"token\":[");
		if (route->scope[0] != '\0')
			quote(buf, route->scope);
		ls_buf_lit(buf, "]}");
		any = true;
	}
	if (strpbrk(route->credentials, "SU") != NULL)
	{
		if (any)
			ls_buf_char(buf, ',');
		ls_buf_lit(buf, "{\"session\":[]}");
		any = true;
	}
	if (*keys != '\0')
	{
		if (any)
			ls_buf_char(buf, ',');
		ls_buf_lit(buf, "{\"apiKey\":[");
		for (const char *k = keys; *k != '\0'; k++)
		{
			if (k > keys)
				ls_buf_char(buf, ',');
			quote(buf, *k == 'I' ? "ingest-only" : *k == 'R' ? "read-only" : "full-access");
		}
		ls_buf_lit(buf, "]}");
	}
	ls_buf_char(buf, ']');
}

static void
write_operation(ls_buf *buf, const ls_route *route)
{
	static const char *const common[] = {"400", "401", "403", "404", "413", "429", "500", "503"};
	static const char *const of_evaluations[] = {"408", "415", "422", "502"};
	char method[16] = "";

	for (size_t i = 0; i + 1 < sizeof(method) && route->method[i] != '\0'; i++)
		method[i] = (char) (route->method[i] | 0x20);
	quote(buf, method);
	ls_buf_lit(buf, ":{\"operationId\":");
	quote(buf, route->name);
	ls_buf_lit(buf, ",\"summary\":");
	quote(buf, route->summary);
	write_parameters(buf, route->path);
	write_security(buf, route);
	if (route->permission[0] != '\0')
	{
		ls_buf_lit(buf, ",\"x-permission\":");
		quote(buf, route->permission);
	}
	if (route->rate_class[0] != '\0')
	{
		ls_buf_lit(buf, ",\"x-rate-class\":");
		quote(buf, route->rate_class);
	}
	if (strcmp(route->method, "POST") == 0 || strcmp(route->method, "PATCH") == 0 ||
		strcmp(route->method, "PUT") == 0)
		ls_buf_lit(buf, ",\"requestBody\":{\"content\":{\"application/json\":{\"schema\":{}}}}");
	ls_buf_lit(buf, ",\"responses\":{");
	ls_buf_printf(buf, "\"%d\":{\"description\":", route->success);
	quote(buf, route->success == 501 ? "Not implemented" : "Success");
	if (route->success != 204)
		ls_buf_lit(buf, ",\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\"}}}");
	ls_buf_char(buf, '}');
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]) && route->pool != LS_POOL_GATEWAY;
		 i++)
		ls_buf_printf(buf, ",\"%s\":{\"$ref\":\"#/components/responses/Error\"}", common[i]);
	for (size_t i = 0; i < 4 && route->pool == LS_POOL_EVALUATOR; i++)
		ls_buf_printf(buf, ",\"%s\":{\"$ref\":\"#/components/responses/Error\"}",
					  of_evaluations[i]);
	ls_buf_lit(buf, "}}");
}

/* Of those that have a path: the others no client can ask for. */
static bool
is_first_of_path(uint32_t route)
{
	if (ls_routes[route].path[0] == '\0')
		return false;
	for (uint32_t i = 0; i < route; i++)
	{
		if (strcmp(ls_routes[i].path, ls_routes[route].path) == 0)
			return false;
	}
	return true;
}

ls_str
ls_openapi(ls_arena *arena)
{
	ls_buf buf;
	bool first_path = true;

	ls_buf_init(&buf, arena);
	ls_buf_lit(&buf, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"logsvc\",\"version\":");
	quote(&buf, LOGSVC_VERSION);
	ls_buf_lit(&buf, "},\"paths\":{");
	for (uint32_t i = 0; i < ls_n_routes; i++)
	{
		bool first = true;

		if (!is_first_of_path(i))
			continue;
		if (!first_path)
			ls_buf_char(&buf, ',');
		first_path = false;
		quote(&buf, ls_routes[i].path);
		ls_buf_lit(&buf, ":{");
		for (uint32_t j = i; j < ls_n_routes; j++)
		{
			if (strcmp(ls_routes[i].path, ls_routes[j].path) != 0)
				continue;
			if (!first)
				ls_buf_char(&buf, ',');
			first = false;
			write_operation(&buf, &ls_routes[j]);
		}
		ls_buf_char(&buf, '}');
	}
	ls_buf_lit(&buf,
			   "},\"components\":{\"securitySchemes\":{"
			   "\"token\":{\"type\":\"http\",\"scheme\":\"bearer\","
			   "\"description\":\"A personal access token (pat_...)\"},"
			   "\"apiKey\":{\"type\":\"apiKey\",\"in\":\"header\",\"name\":\"X-API-Key\"},"
			   "\"session\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"logsvc_session\"}},"
			   "\"responses\":{\"Error\":{\"description\":\"The request failed\","
			   "\"headers\":{\"X-Request-Id\":{\"schema\":{\"type\":\"string\"}}},"
			   "\"content\":{\"application/json\":{\"schema\":"
			   "{\"$ref\":\"#/components/schemas/Error\"}}}}},"
			   "\"schemas\":{\"Error\":{\"type\":\"object\",\"required\":[\"error\",\"code\"],"
			   "\"properties\":{\"error\":{\"type\":\"string\"},\"code\":{\"type\":\"string\"},"
			   "\"details\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
			   "\"path\":{\"type\":\"string\"},\"code\":{\"type\":\"string\"},"
			   "\"message\":{\"type\":\"string\"}}}}}}}}}");
	return buf.failed ? LS_STR("") : ls_str_make(buf.data, buf.len);
}
