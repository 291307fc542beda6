/*-------------------------------------------------------------------------
 *
 * openapi.c
 *	  The API as an OpenAPI 3.1 document, made from the route table, the arguments of
 *	  the functions that answer, and the schemas (pure).
 *
 * Made once, when the gateway starts.  Which parameters and members a route takes, their types, and
 * which of them are required is what its SQL function takes (signatures.awk); schemas/parameters.json
 * and schemas/operations.json only add to that.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>

#include "src/gateway/gateway.h"

#ifndef LOGSVC_VERSION
#define LOGSVC_VERSION "unversioned"
#endif

#define SCHEMAS "#/components/schemas/"

static const char json_type[] = "application/json";

/* What the document is made of. */
typedef struct sources
{
	ls_arena *arena;
	ls_api_description from;
	ls_json_node *schemas; /* those of the document */
} sources;

/* One operation while it is made. */
typedef struct operation
{
	const ls_route *route;
	const ls_json_node *about; /* its entry in operations.json, or NULL */
	ls_json_node *parameters;  /* a list */
	ls_json_node *members;     /* of the body, by name */
	ls_json_node *required;    /* names of members */
	const ls_json_node *whole; /* the schema of the body, when it has no members */
	bool body_is_optional;
	bool has_version;
} operation;

static ls_str
of_text(const char *text)
{
	return ls_str_make(text, strlen(text));
}

static bool
is_method(const ls_route *route, const char *method)
{
	return strcmp(route->method, method) == 0;
}

/* ---- schemas ---- */

/* In the files a schema may be the name of one of the set, or a list of one schema for a list of such. */
static ls_json_node *
schema_of(const sources *s, const ls_json_node *named)
{
	ls_str name = ls_node_string(named);
	char reference[128];

	if (ls_node_is(named, LS_JSON_ARRAY))
		return ls_document_make(s->arena, "{s:s, s:o}", "type", "array", "items",
								schema_of(s, ls_node_element(named, 0)));
	if (name.len == 0)
		return named == NULL ? ls_document_make(s->arena, "{}") : (ls_json_node *) named;
	snprintf(reference, sizeof(reference), SCHEMAS "%.*s", (int) name.len, name.data);
	return ls_document_make(s->arena, "{s:s}", "$ref", reference);
}

static void
add_members(const sources *s, ls_json_node *object, const ls_json_node *more)
{
	const ls_json_node *value;
	void *at = NULL;
	ls_str name;

	while ((at = ls_node_next(more, at, &name, &value)) != NULL)
		ls_document_set(s->arena, object, name.data, (ls_json_node *) value);
}

/* The schema of an argument: by its SQL type, and by what the files say of that name. */
static ls_json_node *
argument_schema(const sources *s, const ls_json_node *of_route, ls_str sql_type, const char *name,
				bool may_be_null)
{
	static const char *const types[][3] = {
		{"text", "string"},        {"integer", "integer"}, {"boolean", "boolean"},
		{"timestamptz", "string"}, {"text[]", "array"},
	};
	const ls_json_node *general = ls_node_member(s->from.parameters, name);
	const ls_json_node *special = ls_node_member(of_route, name);
	ls_json_node *schema = ls_document_make(s->arena, "{}");

	if (ls_node_is(special, LS_JSON_STRING) || ls_node_is(special, LS_JSON_ARRAY))
		return schema_of(s, special);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
	{
		if (!ls_str_eq(sql_type, of_text(types[i][0])))
			continue;
		if (may_be_null && ls_node_member(general, "enum") == NULL &&
			ls_node_member(special, "enum") == NULL)
			ls_document_set(s->arena, schema, "type",
							ls_document_make(s->arena, "[s, s]", types[i][1], "null"));
		else
			ls_document_set(s->arena, schema, "type", ls_document_make(s->arena, "s", types[i][1]));
	}
	if (ls_str_eq(sql_type, LS_STR("timestamptz")))
		ls_document_set(s->arena, schema, "format", ls_document_make(s->arena, "s", "date-time"));
	if (ls_str_eq(sql_type, LS_STR("text[]")))
		ls_document_set(s->arena, schema, "items",
						ls_document_make(s->arena, "{s:s}", "type", "string"));
	add_members(s, schema, general);
	add_members(s, schema, special);
	return schema;
}

/* ---- what a route takes ---- */

static void
add_parameter(const sources *s, operation *o, const char *name, const char *in, bool required,
			  ls_json_node *schema)
{
	bool list = ls_str_eq(ls_node_member_string(schema, "type"), LS_STR("array"));
	const ls_json_node *examples = ls_node_member(ls_node_member(o->about, "example"), "query");

	ls_document_append(
		s->arena, o->parameters,
		ls_document_make(s->arena, "{s:s, s:s, s:b, s:o*, s:o*, s:o, s:o*}", "name", name, "in", in,
						 "required", required, "style",
						 list ? ls_document_make(s->arena, "s", "form") : NULL, "explode",
						 list ? ls_document_make(s->arena, "b", false) : NULL, "schema", schema,
						 "example", (ls_json_node *) ls_node_member(examples, name)));
}

static void
add_shared_parameter(const sources *s, operation *o, const char *name)
{
	char reference[128];

	snprintf(reference, sizeof(reference), "#/components/parameters/%s", name);
	ls_document_append(s->arena, o->parameters,
					   ls_document_make(s->arena, "{s:s}", "$ref", reference));
}

/* "timeout_ms" is timeoutMs in requests, and the ends of a time range have one name everywhere. */
static void
request_name(ls_str name, char *out, size_t size)
{
	bool upper = false;
	size_t len = 0;

	if (ls_str_eq(name, LS_STR("from")))
		name = LS_STR("earliest");
	else if (ls_str_eq(name, LS_STR("to")))
		name = LS_STR("latest");
	for (size_t i = 0; i < name.len && len + 1 < size; i++)
	{
		char c = name.data[i];

		if (c == '_')
			upper = true;
		else
		{
			out[len++] = upper && c >= 'a' && c <= 'z' ? (char) (c - 'a' + 'A') : c;
			upper = false;
		}
	}
	out[len] = '\0';
}

static bool
is_in_path(const ls_route *route, const char *name)
{
	char braced[80];

	snprintf(braced, sizeof(braced), "{%s}", name);
	return strstr(route->path, braced) != NULL;
}

static const ls_json_node *
find_argument(const ls_json_node *arguments, const char *name)
{
	for (size_t i = 0; i < ls_node_count(arguments); i++)
	{
		const ls_json_node *argument = ls_node_element(arguments, i);

		if (ls_str_eq(ls_node_member_string(argument, "name"), of_text(name)))
			return argument;
	}
	return NULL;
}

static bool
is_optional(const ls_json_node *argument)
{
	return ls_node_is(ls_node_member(argument, "optional"), LS_JSON_TRUE);
}

/* Do members of the body become arguments?  Those of a DELETE only if it needs more than its path says. */
static bool
takes_members(const ls_route *route, const ls_json_node *arguments)
{
	char name[64];

	if (is_method(route, "GET") || find_argument(arguments, "body") != NULL)
		return false;
	for (size_t i = 0; i < ls_node_count(arguments) && is_method(route, "DELETE"); i++)
	{
		const ls_json_node *argument = ls_node_element(arguments, i);

		request_name(ls_node_member_string(argument, "name"), name, sizeof(name));
		if (!is_optional(argument) && !is_in_path(route, name))
			return true;
	}
	return !is_method(route, "DELETE");
}

static void
take_argument(const sources *s, operation *o, const ls_json_node *argument, bool in_body)
{
	ls_str type = ls_node_member_string(argument, "type");
	ls_str sql_name = ls_node_member_string(argument, "name");
	const ls_json_node *of_route = ls_node_member(o->about, "members");
	bool optional = is_optional(argument);
	char name[64];

	request_name(sql_name, name, sizeof(name));
	if (is_in_path(o->route, name) || strcmp(name, "organization") == 0 ||
		strcmp(name, "given") == 0 || strcmp(name, "body") == 0 || strcmp(name, "csv") == 0 ||
		strcmp(name, "form") == 0)
		return;
	if (strcmp(name, "version") == 0)
		o->has_version = true;
	else if (strcmp(name, "attributes") == 0)
		ls_document_append(
			s->arena, o->parameters,
			ls_document_make(s->arena, "{s:s, s:s, s:s, s:s, s:b, s:{s:s, s:{s:s}, s:{s:s}}}",
							 "name", "attributes", "in", "query", "description",
							 "attr.NAME=value: events whose attribute NAME has this value", "style",
							 "form", "explode", true, "schema", "type", "object", "propertyNames",
							 "pattern", "^attr\\.", "additionalProperties", "type", "string"));
	else if (in_body)
	{
		ls_document_set(s->arena, o->members, name,
						argument_schema(s, of_route, type, name, optional));
		if (!optional)
			ls_document_append(s->arena, o->required, ls_document_make(s->arena, "s", name));
		else if (ls_node_count(o->required) == 0)
			o->body_is_optional = true;
	}
	else
		/* Times may be relative there: no date-time. */
		add_parameter(
			s, o, name, "query", !optional,
			argument_schema(s, of_route,
							ls_str_eq(type, LS_STR("timestamptz")) ? LS_STR("text") : type, name,
							false));
}

static void
take_path(const sources *s, operation *o)
{
	const char *rest = o->route->path;
	const char *open;

	while ((open = strchr(rest, '{')) != NULL)
	{
		const char *close = strchr(open, '}');
		char name[64];

		if (close == NULL || (size_t) (close - open) > sizeof(name))
			return;
		snprintf(name, sizeof(name), "%.*s", (int) (close - open - 1), open + 1);
		add_parameter(
			s, o, name, "path", true,
			argument_schema(s, ls_node_member(o->about, "path"), LS_STR("text"), name, false));
		rest = close + 1;
	}
}

/* Members of the first that the second does not have: of what no SQL function takes. */
static void
take_described(const sources *s, operation *o)
{
	const ls_json_node *schema;
	void *at = NULL;
	ls_str name;

	while ((at = ls_node_next(ls_node_member(o->about, "query"), at, &name, &schema)) != NULL)
		add_parameter(s, o, name.data, "query", false, schema_of(s, schema));
	at = NULL;
	while ((at = ls_node_next(ls_node_member(o->about, "headers"), at, &name, &schema)) != NULL)
		add_parameter(s, o, name.data, "header", false, schema_of(s, schema));
}

static void
take(const sources *s, operation *o)
{
	const ls_json_node *arguments = ls_node_member(s->from.signatures, o->route->handler);
	bool in_body = takes_members(o->route, arguments);
	bool brings_events = o->route->pool == LS_POOL_ACCEPTOR && is_method(o->route, "POST");

	take_path(s, o);
	for (size_t i = 0; i < ls_node_count(arguments); i++)
		take_argument(s, o, ls_node_element(arguments, i), in_body);
	take_described(s, o);
	o->whole = ls_node_member(o->about, "body");
	if (o->has_version)
		add_shared_parameter(s, o, "IfMatch");
	if (brings_events || o->route->success == 201)
		add_shared_parameter(s, o, "IdempotencyKey");
	if (brings_events)
	{
		add_shared_parameter(s, o, "Index");
		add_shared_parameter(s, o, "Parse");
	}
	if (strpbrk(o->route->credentials, "SU") != NULL)
		add_shared_parameter(s, o, "Organization");
}

/* A schema as what a merge patch may have: nothing is required, and null removes. */
static ls_json_node *
patch_schema(const sources *s, ls_str name)
{
	const ls_json_node *schema = ls_node_member(s->schemas, name.data);
	char patch[96];
	char reference[128];

	snprintf(patch, sizeof(patch), "%.*sPatch", (int) name.len, name.data);
	if (ls_node_member(s->schemas, patch) == NULL)
		ls_document_set(s->arena, s->schemas, patch,
						ls_document_make(s->arena, "{s:s, s:s, s:b, s:o}", "type", "object",
										 "description", "A JSON Merge Patch (RFC 7396).",
										 "additionalProperties", false, "properties",
										 (ls_json_node *) ls_node_member(schema, "properties")));
	snprintf(reference, sizeof(reference), SCHEMAS "%s", patch);
	return ls_document_make(s->arena, "{s:s}", "$ref", reference);
}

static ls_json_node *
body_schema(const sources *s, operation *o)
{
	ls_str patched = ls_node_member_string(o->about, "patch");
	void *at;
	ls_str name;
	const ls_json_node *value;

	if (patched.len > 0)
		return patch_schema(s, patched);
	if (o->whole != NULL)
		return schema_of(s, o->whole);
	at = ls_node_next(o->members, NULL, &name, &value);
	if (at == NULL)
		return NULL;
	return ls_document_make(
		s->arena, "{s:s, s:b, s:o*, s:o}", "type", "object", "additionalProperties", false,
		"required", ls_node_count(o->required) > 0 ? o->required : NULL, "properties", o->members);
}

/* The body of the request; NULL: it has none. */
static ls_json_node *
request_body(const sources *s, operation *o)
{
	const ls_json_node *others = ls_node_member(o->about, "bodies");
	const ls_json_node *example = ls_node_member(ls_node_member(o->about, "example"), "body");
	ls_json_node *content = ls_document_make(s->arena, "{}");
	ls_json_node *schema = body_schema(s, o);
	const ls_json_node *media;
	void *at = NULL;
	ls_str name;

	if (schema != NULL)
		ls_document_set(s->arena, content, json_type,
						ls_document_make(s->arena, "{s:o, s:o*}", "schema", schema, "example",
										 (ls_json_node *) example));
	while ((at = ls_node_next(others, at, &name, &media)) != NULL)
		ls_document_set(s->arena, content, name.data, (ls_json_node *) media);
	if (ls_node_next(content, NULL, &name, &media) == NULL)
		return NULL;
	return ls_document_make(s->arena, "{s:b, s:o}", "required",
							ls_node_count(o->required) > 0 || o->whole != NULL || others != NULL,
							"content", content);
}

/* ---- what it answers ---- */

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
	for (const char *k = keys; *k != '\0' && *k != 'B'; k++)
		ls_document_append(arena, kinds,
						   ls_document_make(arena, "s",
											*k == 'I'   ? "ingest-only"
											: *k == 'R' ? "read-only"
														: "full-access"));
	if (*keys != '\0')
		ls_document_append(arena, list, ls_document_make(arena, "{s:o}", "apiKey", kinds));
	return list;
}

/* The schema of a successful answer in JSON; NULL: there is none. */
static ls_json_node *
answer_schema(const sources *s, const operation *o)
{
	const ls_json_node *data = ls_node_member(o->about, "data");
	const ls_json_node *list = ls_node_member(o->about, "list");
	const ls_json_node *meta = ls_node_member(o->about, "meta");

	if (data != NULL)
		return ls_document_make(s->arena, "{s:s, s:[s], s:{s:o}}", "type", "object", "required",
								"data", "properties", "data", schema_of(s, data));
	if (list != NULL)
		return ls_document_make(s->arena, "{s:s, s:[s, s], s:{s:{s:s, s:o}, s:{s:s}, s:o*}}",
								"type", "object", "required", "data", "page", "properties", "data",
								"type", "array", "items", schema_of(s, list), "page", "$ref",
								SCHEMAS "Page", "meta", meta != NULL ? schema_of(s, meta) : NULL);
	if (ls_node_member(o->about, "answer") != NULL)
		return schema_of(s, ls_node_member(o->about, "answer"));
	return NULL;
}

static ls_json_node *
success(const sources *s, const operation *o)
{
	const ls_json_node *others = ls_node_member(o->about, "files");
	const ls_json_node *example = ls_node_member(ls_node_member(o->about, "example"), "answer");
	ls_json_node *content = ls_document_make(s->arena, "{}");
	ls_json_node *schema = answer_schema(s, o);
	const ls_json_node *value;
	void *at = NULL;
	ls_str name;

	if (schema != NULL)
		ls_document_set(s->arena, content, json_type,
						ls_document_make(s->arena, "{s:o, s:o*}", "schema", schema, "example",
										 (ls_json_node *) example));
	if (ls_node_member(o->about, "list") != NULL || ls_node_member(o->about, "rows") != NULL)
		add_members(s, content,
					ls_document_make(s->arena, "{s:{s:{s:s}}, s:{s:{s:s}}}", "text/csv", "schema",
									 "type", "string", "application/x-ndjson", "schema", "type",
									 "string"));
	while ((at = ls_node_next(others, at, &name, &value)) != NULL)
		ls_document_set(s->arena, content, name.data,
						ls_document_make(s->arena, "{s:o}", "schema", schema_of(s, value)));
	if (ls_node_next(content, NULL, &name, &value) == NULL)
		content = NULL;
	return ls_document_make(s->arena, "{s:s, s:o*}", "description",
							o->route->success == 501 ? "Not implemented" : "Success", "content",
							content);
}

/* Which errors are possible wherever a worker answers, and where more can go wrong. */
static bool
may_fail_with(const operation *o, const char *status, bool has_body)
{
	static const char everywhere[] = "400 408 429 431 500 503";
	const ls_json_node *errors = ls_node_member(o->about, "errors");

	for (size_t i = 0; i < ls_node_count(errors); i++)
	{
		if (ls_str_eq(ls_node_string(ls_node_element(errors, i)), of_text(status)))
			return true;
	}
	if (o->route->pool == LS_POOL_GATEWAY)
		return strcmp(status, "503") == 0 && o->route->success == 200;
	if (strstr(everywhere, status) != NULL)
		return true;
	if (strcmp(status, "401") == 0 || strcmp(status, "403") == 0)
		return o->route->credentials[0] != '\0';
	if (strcmp(status, "404") == 0)
		return strchr(o->route->path, '{') != NULL || o->route->pool == LS_POOL_ACCEPTOR ||
			   strpbrk(o->route->credentials, "SU") != NULL; /* no such organization */
	if (strcmp(status, "409") == 0)
		return o->route->success == 201 || o->has_version || o->route->pool == LS_POOL_ACCEPTOR;
	if (strcmp(status, "412") == 0)
		return o->has_version;
	if (strcmp(status, "413") == 0 || strcmp(status, "415") == 0)
		return has_body || !is_method(o->route, "GET");
	if (strcmp(status, "422") == 0)
		return strcmp(o->route->rate_class, "search") == 0;
	return o->route->pool == LS_POOL_EVALUATOR &&
		   (strcmp(status, "422") == 0 || strcmp(status, "502") == 0);
}

static ls_json_node *
responses(const sources *s, const operation *o, bool has_body)
{
	static const char *const errors[] = {"400", "401", "403", "404", "408", "409",
										 "410", "412", "413", "415", "422", "426",
										 "429", "431", "500", "502", "503"};
	const ls_json_node *also = ls_node_member(o->about, "also");
	ls_str form = ls_node_member_string(o->about, "error");
	ls_json_node *all = ls_document_make(s->arena, "{}");
	ls_json_node *fine = success(s, o);
	char reference[128];
	char status[16];

	snprintf(status, sizeof(status), "%d", o->route->success);
	ls_document_set(s->arena, all, status, fine);
	for (size_t i = 0; i < ls_node_count(also); i++)
		ls_document_set(s->arena, all, ls_node_string(ls_node_element(also, i)).data, fine);
	if (ls_node_member(o->about, "etag") != NULL)
		ls_document_set(s->arena, all, "304",
						ls_document_make(s->arena, "{s:s}", "description", "It has not changed"));
	snprintf(reference, sizeof(reference), "#/components/responses/%.*s",
			 form.len > 0 ? (int) form.len : 5, form.len > 0 ? form.data : "Error");
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
	{
		if (may_fail_with(o, errors[i], has_body))
			ls_document_set(s->arena, all, errors[i],
							ls_document_make(s->arena, "{s:s}", "$ref", reference));
	}
	return all;
}

/* ---- the document ---- */

static ls_json_node *
text_or_nothing(ls_arena *arena, const char *text)
{
	return text[0] == '\0' ? NULL : ls_document_make(arena, "s", text);
}

static ls_json_node *
describe(const sources *s, const ls_route *route)
{
	operation o = {.route = route, .about = ls_node_member(s->from.operations, route->name)};
	ls_json_node *body;

	/* The same as another. */
	if (ls_node_is(o.about, LS_JSON_STRING))
		o.about = ls_node_member(s->from.operations, ls_node_string(o.about).data);
	o.parameters = ls_document_make(s->arena, "[]");
	o.members = ls_document_make(s->arena, "{}");
	o.required = ls_document_make(s->arena, "[]");
	take(s, &o);
	body = request_body(s, &o);
	return ls_document_make(s->arena, "{s:s, s:s, s:o*, s:o*, s:o, s:o*, s:o*, s:o*, s:o}",
							"operationId", route->name, "summary", route->summary, "description",
							(ls_json_node *) ls_node_member(o.about, "description"), "parameters",
							ls_node_count(o.parameters) > 0 ? o.parameters : NULL, "security",
							security(s->arena, route), "x-permission",
							text_or_nothing(s->arena, route->permission), "x-rate-class",
							text_or_nothing(s->arena, route->rate_class), "requestBody", body,
							"responses", responses(s, &o, body != NULL));
}

static ls_json_node *
paths(const sources *s)
{
	ls_json_node *all = ls_document_make(s->arena, "{}");

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
			path = ls_document_make(s->arena, "{}");
			ls_document_set(s->arena, all, route->path, path);
		}
		ls_document_set(s->arena, path, method, describe(s, route));
	}
	return all;
}

ls_str
ls_openapi(ls_arena *arena)
{
	sources s = {.arena = arena};
	ls_json_node *all_paths;
	ls_json_node *components;
	ls_buf buf;

	if (!ls_api_describe(arena, &s.from))
		return LS_STR("");
	s.schemas = ls_document_make(arena, "{}");
	add_members(&s, s.schemas, s.from.checked);
	add_members(&s, s.schemas, s.from.answers);
	add_members(&s, s.schemas, s.from.management);
	all_paths = paths(&s);
	components = ls_document_make(arena, "{}");
	add_members(&s, components, s.from.components);
	ls_document_set(arena, components, "schemas", s.schemas);
	ls_buf_init(&buf, arena);
	ls_document_write(
		&buf,
		ls_document_make(arena, "{s:s, s:{s:s, s:s, s:s, s:{s:s, s:s}}, s:[{s:s}], s:o, s:o}",
						 "openapi", "3.1.0", "info", "title", "logsvc", "version", LOGSVC_VERSION,
						 "description", "A log platform inside PostgreSQL.", "license", "name",
						 "PostgreSQL", "identifier", "PostgreSQL", "servers", "url", "/", "paths",
						 all_paths, "components", components));
	return buf.failed || ls_arena_failed(arena) ? LS_STR("") : ls_str_make(buf.data, buf.len);
}
