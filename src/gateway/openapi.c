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
#include <stdio.h>

#include "src/gateway/gateway.h"

#ifndef LOGSVC_VERSION
#define LOGSVC_VERSION "unversioned"
#endif

static const char error_reference[] = "#/components/responses/Error";

/* The parameter in braces, if the path has one. */
static ls_json_node *
parameters(ls_arena *arena, const char *path)
{
	const char *open = strchr(path, '{');
	const char *close = open != NULL ? strchr(open, '}') : NULL;

	if (close == NULL)
		return NULL;
	return ls_document_make(arena, "[{s:s%, s:s, s:b, s:{s:s}}]", "name", open + 1,
							(size_t) (close - open - 1), "in", "path", "required", true, "schema",
							"type", "string");
}

static ls_json_node *
security(ls_arena *arena, const ls_route *route)
{
	const char *keys = route->credentials + strcspn(route->credentials, "IRF");
	ls_json_node *list = ls_document_make(arena, "[]");
	ls_json_node *kinds = ls_document_make(arena, "[]");

	if (strchr(route->credentials, 'T') != NULL)
		ls_document_append(arena, list,
						   route->scope[0] != '\0'
							   ? ls_document_make(arena, "{s:[s]}", "token", route->scope)
							   : ls_document_make(arena, "{s:[]}", "token"));
	if (strpbrk(route->credentials, "SU") != NULL)
		ls_document_append(arena, list, ls_document_make(arena, "{s:[]}", "session"));
	for (const char *k = keys; *k != '\0'; k++)
		ls_document_append(arena, kinds,
						   ls_document_make(arena, "s",
											*k == 'I'   ? "ingest-only"
											: *k == 'R' ? "read-only"
														: "full-access"));
	if (*keys != '\0')
		ls_document_append(arena, list, ls_document_make(arena, "{s:o}", "apiKey", kinds));
	return list;
}

static ls_json_node *
responses(ls_arena *arena, const ls_route *route)
{
	static const char *const common[] = {"400", "401", "403", "404", "413", "429", "500", "503"};
	static const char *const of_evaluations[] = {"408", "415", "422", "502"};
	ls_json_node *all = ls_document_make(arena, "{}");
	ls_json_node *content = route->success == 204
								? NULL
								: ls_document_make(arena, "{s:{s:{s:s}}}", "application/json",
												   "schema", "type", "object");
	char status[16];

	snprintf(status, sizeof(status), "%d", route->success);
	ls_document_set(arena, all, status,
					ls_document_make(arena, "{s:s, s:o*}", "description",
									 route->success == 501 ? "Not implemented" : "Success",
									 "content", content));
	for (size_t i = 0; i < 8 && route->pool != LS_POOL_GATEWAY; i++)
		ls_document_set(arena, all, common[i],
						ls_document_make(arena, "{s:s}", "$ref", error_reference));
	for (size_t i = 0; i < 4 && route->pool == LS_POOL_EVALUATOR; i++)
		ls_document_set(arena, all, of_evaluations[i],
						ls_document_make(arena, "{s:s}", "$ref", error_reference));
	return all;
}

static ls_json_node *
text_or_nothing(ls_arena *arena, const char *text)
{
	return text[0] == '\0' ? NULL : ls_document_make(arena, "s", text);
}

static ls_json_node *
operation(ls_arena *arena, const ls_route *route)
{
	bool has_body = strcmp(route->method, "POST") == 0 || strcmp(route->method, "PATCH") == 0 ||
					strcmp(route->method, "PUT") == 0;

	return ls_document_make(
		arena, "{s:s, s:s, s:o*, s:o, s:o*, s:o*, s:o*, s:o}", "operationId", route->name,
		"summary", route->summary, "parameters", parameters(arena, route->path), "security",
		security(arena, route), "x-permission", text_or_nothing(arena, route->permission),
		"x-rate-class", text_or_nothing(arena, route->rate_class), "requestBody",
		has_body
			? ls_document_make(arena, "{s:{s:{s:{}}}}", "content", "application/json", "schema")
			: NULL,
		"responses", responses(arena, route));
}

static ls_json_node *
paths(ls_arena *arena)
{
	ls_json_node *all = ls_document_make(arena, "{}");

	for (uint32_t i = 0; i < ls_n_routes; i++)
	{
		const ls_route *route = &ls_routes[i];
		ls_json_node *path = (ls_json_node *) ls_node_member(all, route->path);
		char method[16] = "";

		/* For one without a path no client can ask. */
		if (route->path[0] == '\0')
			continue;
		for (size_t c = 0; c + 1 < sizeof(method) && route->method[c] != '\0'; c++)
			method[c] = (char) (route->method[c] | 0x20);
		if (path == NULL)
		{
			path = ls_document_make(arena, "{}");
			ls_document_set(arena, all, route->path, path);
		}
		ls_document_set(arena, path, method, operation(arena, route));
	}
	return all;
}

static ls_json_node *
components(ls_arena *arena)
{
	ls_json_node *schemes = ls_document_make(
		arena, "{s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}}", "token", "type", "http",
		"scheme", "bearer", "description", "A personal access token (pat_...)", "apiKey", "type",
		"apiKey", "in", "header", "name", "X-API-Key", "session", "type", "apiKey", "in", "cookie",
		"name", "logsvc_session");
	ls_json_node *error = ls_document_make(
		arena, "{s:s, s:{s:{s:{s:s}}}, s:{s:{s:{s:s}}}}", "description", "The request failed",
		"headers", "X-Request-Id", "schema", "type", "string", "content", "application/json",
		"schema", "$ref", "#/components/schemas/Error");
	ls_json_node *details =
		ls_document_make(arena, "{s:s, s:{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}}}}", "type", "array",
						 "items", "type", "object", "properties", "path", "type", "string", "code",
						 "type", "string", "message", "type", "string");
	ls_json_node *schema =
		ls_document_make(arena, "{s:s, s:[s, s], s:{s:{s:s}, s:{s:s}, s:o}}", "type", "object",
						 "required", "error", "code", "properties", "error", "type", "string",
						 "code", "type", "string", "details", details);

	return ls_document_make(arena, "{s:o, s:{s:o}, s:{s:o}}", "securitySchemes", schemes,
							"responses", "Error", error, "schemas", "Error", schema);
}

ls_str
ls_openapi(ls_arena *arena)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_document_write(&buf,
					  ls_document_make(arena, "{s:s, s:{s:s, s:s}, s:o, s:o}", "openapi", "3.1.0",
									   "info", "title", "logsvc", "version", LOGSVC_VERSION,
									   "paths", paths(arena), "components", components(arena)));
	return buf.failed || ls_arena_failed(arena) ? LS_STR("") : ls_str_make(buf.data, buf.len);
}
