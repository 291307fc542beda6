/*-------------------------------------------------------------------------
 *
 * mcp_route.c
 *	  The Model Context Protocol: tools for assistants, over the same routes.
 *
 * It is the transport "streamable HTTP" without streams and without sessions: each POST has one
 * JSON-RPC message and one answer.  A call of a tool becomes a request for the route that does it.
 * That one is admitted as if the client had sent it: no right, rate or limit exists twice.
 *
 * An error of a tool is an answer for the model, which may do better the next time; an error of the
 * protocol is one for the program.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/mcp_route.h"

#include "src/api/evaluation_route.h"

/* Nesting of what clients send, and what is embedded below. */
#define MAX_DEPTH 32

/* Bytes of a JSON-RPC id, as JSON. */
#define MAX_ID 1024

/* Rows of a search when the model does not say: what it can read. */
#define DEFAULT_LIMIT 50

#define PARSE_ERROR (-32700)
#define INVALID_REQUEST (-32600)
#define METHOD_NOT_FOUND (-32601)
#define INVALID_PARAMS (-32602)
#define RESOURCE_NOT_FOUND (-32002)

#define EMBED(name, file)                \
	__asm__(".pushsection .rodata\n"     \
			".hidden ls_mcp_" #name "\n" \
			".globl ls_mcp_" #name "\n"  \
			"ls_mcp_" #name ":\n"        \
			".incbin \"" file "\"\n"     \
			".byte 0\n"                  \
			".popsection\n");            \
	extern const char ls_mcp_##name[] __attribute__((visibility("hidden")))

EMBED(tools, "src/api/mcp_tools.json");
EMBED(language, "docs/language.md");
EMBED(evaluation, "docs/evaluation.md");

/* The newest first: a client that asks for one we do not know gets that. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static const char instructions[] =
	"logsvc stores log events. Begin with the tools templates or fields to see what there is, then "
	"use search; it takes a pipe language (resource logsvc://docs/language). Prefer stats, "
	"timechart and patterns to reading many events.";

static const struct
{
	const char *uri;
	const char *name;
	const char *description;
	const char *text;
} resources[] = {
	{"logsvc://docs/language", "The search language",
	 "Terms, stages, functions and times of queries", ls_mcp_language},
	{"logsvc://docs/evaluation", "Evaluations", "How log rows are judged against criteria",
	 ls_mcp_evaluation},
};

typedef enum tool_arguments
{
	IN_BODY,   /* the arguments are the body */
	IN_QUERY,  /* they are the query string, without the one that is in the path */
	AS_SEARCH, /* a body whose q has more stages */
} tool_arguments;

typedef struct mcp_tool
{
	const char *name; /* as in mcp_tools.json */
	uint32_t route;
	tool_arguments arguments;
	const char *in_path; /* the argument that the path has */
	const char *stages;
} mcp_tool;

static const mcp_tool tools[] = {
	{"search", LS_ROUTE_SEARCH_POST, AS_SEARCH, NULL, ""},
	{"patterns", LS_ROUTE_SEARCH_POST, AS_SEARCH, NULL, " | patterns"},
	{"fields", LS_ROUTE_SEARCH_FIELDS, IN_QUERY, NULL, NULL},
	{"field_values", LS_ROUTE_SEARCH_FIELD_VALUES, IN_QUERY, "name", NULL},
	{"templates", LS_ROUTE_TEMPLATES, IN_QUERY, NULL, NULL},
	{"context", LS_ROUTE_LOG_CONTEXT, IN_QUERY, "id", NULL},
	{"alerts", LS_ROUTE_ALERTS, IN_QUERY, NULL, NULL},
	{"evaluate", LS_ROUTE_EVALUATE, IN_BODY, NULL, NULL},
};

/* ---- answers ---- */

static void
answer_text(ls_buf *buf, ls_arena *arena, ls_response *response)
{
	response->status = 200;
	response->content_type = LS_STR("application/json");
	response->body = ls_str_make(buf->data, buf->len);
	if (buf->failed)
		ls_http_refuse(response, arena, LS_ERROR_QUERY_MEMORY_LIMIT, "the answer is too large",
					   NULL);
}

static void
begin_answer(ls_buf *buf, ls_arena *arena, ls_str id)
{
	ls_buf_init(buf, arena);
	ls_buf_lit(buf, "{\"jsonrpc\":\"2.0\",\"id\":");
	ls_buf_str(buf, id);
}

static void
answer_error(ls_response *response, ls_arena *arena, ls_str id, int code, const char *message)
{
	ls_buf buf;

	begin_answer(&buf, arena, id.len > 0 ? id : LS_STR("null"));
	ls_buf_printf(&buf, ",\"error\":{\"code\":%d,\"message\":", code);
	ls_json_quote(&buf, ls_str_make(message, strlen(message)));
	ls_buf_lit(&buf, "}}");
	answer_text(&buf, arena, response);
}

/* The answer with this result, which must not be NULL unless memory is short. */
static void
answer_result(ls_response *response, ls_arena *arena, ls_str id, const ls_json_node *result)
{
	ls_buf buf;

	begin_answer(&buf, arena, id);
	ls_buf_lit(&buf, ",\"result\":");
	ls_document_write(&buf, result);
	ls_buf_char(&buf, '}');
	answer_text(&buf, arena, response);
}

void
ls_mcp_answer(ls_str rpc_id, ls_arena *arena, ls_response *response)
{
	bool failed = response->status < 200 || response->status > 299;
	ls_buf buf;

	if (rpc_id.len == 0)
		return;
	begin_answer(&buf, arena, rpc_id);
	ls_buf_lit(&buf, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
	ls_json_quote(&buf, response->body);
	ls_buf_printf(&buf, "}],\"isError\":%s}}", failed ? "true" : "false");
	answer_text(&buf, arena, response);
}

/* ---- calls of tools ---- */

static bool
is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
		   c == '_' || c == '.' || c == '~';
}

static void
percent_encode(ls_buf *buf, ls_str text)
{
	for (size_t i = 0; i < text.len; i++)
	{
		if (is_unreserved(text.data[i]))
			ls_buf_char(buf, text.data[i]);
		else
			ls_buf_printf(buf, "%%%02X", (unsigned char) text.data[i]);
	}
}

/* Texts and integers as the query string; false: there is a value of another type. */
static bool
write_query(ls_buf *buf, const ls_json_node *arguments, const char *in_path)
{
	const ls_json_node *value;
	void *at = NULL;
	ls_str name;
	int64_t integer;

	while ((at = ls_node_next(arguments, at, &name, &value)) != NULL)
	{
		if ((in_path != NULL && ls_str_eq(name, ls_str_make(in_path, strlen(in_path)))) ||
			ls_node_is(value, LS_JSON_NULL))
			continue;
		if (buf->len > 0)
			ls_buf_char(buf, '&');
		percent_encode(buf, name);
		ls_buf_char(buf, '=');
		if (ls_node_is(value, LS_JSON_STRING))
			percent_encode(buf, ls_node_string(value));
		else if (ls_node_integer(value, &integer))
			ls_buf_printf(buf, "%lld", (long long) integer);
		else
			return false;
	}
	return true;
}

/* The body of a search: the arguments, with the stages of the tool, and a limit. */
static void
write_search(ls_buf *buf, const ls_json_node *arguments, const char *stages, ls_arena *arena)
{
	const ls_json_node *value;
	void *at = NULL;
	ls_str name;
	bool limited = false;

	ls_buf_char(buf, '{');
	while ((at = ls_node_next(arguments, at, &name, &value)) != NULL)
	{
		ls_buf whole;

		if (buf->len > 1)
			ls_buf_char(buf, ',');
		ls_json_quote(buf, name);
		ls_buf_char(buf, ':');
		limited = limited || ls_str_eq(name, LS_STR("limit"));
		if (ls_str_eq(name, LS_STR("q")) && ls_node_is(value, LS_JSON_STRING))
		{
			ls_buf_init(&whole, arena);
			ls_buf_str(&whole, ls_node_string(value));
			ls_buf_append(&whole, stages, strlen(stages));
			buf->failed = buf->failed || whole.failed;
			ls_json_quote(buf, ls_str_make(whole.data, whole.failed ? 0 : whole.len));
		}
		else
			ls_document_write(buf, value);
	}
	if (!limited)
		ls_buf_printf(buf, "%s\"limit\":%d", buf->len > 1 ? "," : "", DEFAULT_LIMIT);
	ls_buf_char(buf, '}');
}

/*
 * The request that a call of a tool is.  NULL, or what is wrong with the arguments; what they must
 * be else is the route's to say.
 */
static const char *
make_call(const ls_request *request, const mcp_tool *tool, const ls_json_node *arguments, ls_str id,
		  ls_arena *arena, ls_request *call)
{
	ls_buf buf;

	*call = *request;
	call->route = tool->route;
	call->rpc_id = id;
	call->path = ls_str_make(ls_routes[tool->route].path, strlen(ls_routes[tool->route].path));
	call->query = call->body = call->parameter = LS_STR("");
	call->content_type = LS_STR("application/json");
	call->accept = call->accept_encoding = call->if_none_match = LS_STR("");
	call->idempotency_key = call->if_match = LS_STR("");
	if (tool->in_path != NULL)
	{
		call->parameter = ls_node_member_string(arguments, tool->in_path);
		if (call->parameter.len == 0)
			return psprintf("%s is required", tool->in_path);
	}
	ls_buf_init(&buf, arena);
	switch (tool->arguments)
	{
		case IN_QUERY:
			if (!write_query(&buf, arguments, tool->in_path))
				return "the arguments must be texts and whole numbers";
			call->query = ls_str_make(buf.data, buf.len);
			break;
		case AS_SEARCH:
			write_search(&buf, arguments, tool->stages, arena);
			call->body = ls_str_make(buf.data, buf.len);
			break;
		case IN_BODY:
			ls_document_write(&buf, arguments);
			call->body = ls_str_make(buf.data, buf.len);
			break;
	}
	return buf.failed ? "the arguments are too large" : NULL;
}

static const mcp_tool *
find_tool(ls_str name)
{
	for (size_t i = 0; i < lengthof(tools); i++)
	{
		if (ls_str_eq(name, ls_str_make(tools[i].name, strlen(tools[i].name))))
			return &tools[i];
	}
	return NULL;
}

/* The tool of that name as tools/list shows it. */
static const ls_json_node *
shown_tool(ls_str name, ls_arena *arena)
{
	const ls_json_node *all =
		ls_document_read(ls_str_make(ls_mcp_tools, strlen(ls_mcp_tools)), MAX_DEPTH, arena);

	for (size_t i = 0; i < ls_node_count(all); i++)
	{
		const ls_json_node *one = ls_node_element(all, i);

		if (ls_str_eq(ls_node_member_string(one, "name"), name))
			return one;
	}
	return NULL;
}

/*
 * Refuses an argument that the tool's own schema does not have: that of the route takes more.  True:
 * refused, as the route would refuse it.
 */
static bool
refuse_unknown(const mcp_tool *tool, const ls_json_node *arguments, ls_str id, ls_arena *arena,
			   ls_response *response)
{
	const ls_json_node *shown = shown_tool(ls_str_make(tool->name, strlen(tool->name)), arena);
	const ls_json_node *known = ls_node_member(ls_node_member(shown, "inputSchema"), "properties");
	const ls_json_node *value;
	void *at = NULL;
	ls_str name;
	ls_str wrong = LS_STR("");
	ls_buf message;
	ls_buf details;

	while ((at = ls_node_next(arguments, at, &name, &value)) != NULL)
	{
		void *other = NULL;
		ls_str one;

		while ((other = ls_node_next(known, other, &one, &value)) != NULL)
		{
			if (ls_str_eq(one, name))
				break;
		}
		if (other == NULL)
		{
			wrong = name;
			break;
		}
	}
	if (at == NULL)
		return false;
	ls_buf_init(&message, arena);
	ls_buf_printf(&message, "unknown argument of %s: it takes", tool->name);
	at = NULL;
	while ((at = ls_node_next(known, at, &name, &value)) != NULL)
	{
		ls_buf_lit(&message, " ");
		ls_buf_str(&message, name);
		ls_buf_lit(&message, ",");
	}
	if (!message.failed)
		message.data[message.len - 1] = '\0';
	ls_buf_init(&details, arena);
	ls_buf_lit(&details, "[{\"path\":");
	ls_json_quote(&details, wrong);
	ls_buf_lit(&details, ",\"code\":\"unknown\",\"message\":");
	ls_json_quote(&details, ls_str_of_cstring(message.failed ? "unknown" : message.data));
	ls_buf_lit(&details, "}]");
	ls_buf_char(&details, '\0');
	ls_http_refuse(response, arena, LS_ERROR_VALIDATION, message.failed ? NULL : message.data,
				   details.failed ? NULL : details.data);
	ls_mcp_answer(id, arena, response);
	return true;
}

/* "unknown tool: expected search, fields, ..." */
static const char *
unknown(const char *what, const char *const *names, size_t n, ls_arena *arena)
{
	ls_buf message;

	ls_buf_init(&message, arena);
	ls_buf_printf(&message, "unknown %s: expected ", what);
	for (size_t i = 0; i < n; i++)
		ls_buf_printf(&message, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", names[i]);
	ls_buf_char(&message, '\0');
	return message.failed ? what : message.data;
}

static const char *
unknown_tool(ls_arena *arena)
{
	const char *names[lengthof(tools)];

	for (size_t i = 0; i < lengthof(tools); i++)
		names[i] = tools[i].name;
	return unknown("tool", names, lengthof(names), arena);
}

static const char *
unknown_method(ls_arena *arena)
{
	static const char *const names[] = {"initialize",     "ping",
										"tools/list",     "tools/call",
										"resources/list", "resources/templates/list",
										"resources/read"};

	return unknown("method", names, lengthof(names), arena);
}

/* True: `frame` is the request for an evaluator. */
static bool
call_tool(const ls_request *request, const ls_json_node *params, ls_str id, ls_arena *arena,
		  ls_response *response, ls_buf *frame)
{
	const mcp_tool *tool = find_tool(ls_node_member_string(params, "name"));
	const ls_json_node *arguments = ls_node_member(params, "arguments");
	const char *problem;
	ls_request call;

	if (arguments == NULL)
		arguments = ls_document_make(arena, "{}");
	if (tool == NULL || !ls_node_is(arguments, LS_JSON_OBJECT))
	{
		answer_error(response, arena, id, INVALID_PARAMS,
					 tool == NULL ? unknown_tool(arena) : "arguments must be an object");
		return false;
	}
	if (refuse_unknown(tool, arguments, id, arena, response))
		return false;
	problem = make_call(request, tool, arguments, id, arena, &call);
	if (problem != NULL)
	{
		answer_error(response, arena, id, INVALID_PARAMS, problem);
		return false;
	}
	if (tool->route == LS_ROUTE_EVALUATE)
	{
		if (ls_http_first_route(&call) == LS_ROUTE_EVALUATE)
		{
			ls_frame_write_request(frame, &call);
			return true;
		}
		call.route = LS_ROUTE_EVALUATION_ROWS;
		if (ls_http_find_rows(&call, arena, response, frame))
			return true;
	}
	else
		ls_http_execute(&call, arena, response);
	ls_mcp_answer(id, arena, response);
	return false;
}

/* ---- the other methods ---- */

static const ls_json_node *
initialize(const ls_json_node *params, ls_arena *arena)
{
	ls_str wanted = ls_node_member_string(params, "protocolVersion");
	const char *version = versions[0];

	for (size_t i = 0; i < lengthof(versions); i++)
	{
		if (ls_str_eq(wanted, ls_str_make(versions[i], strlen(versions[i]))))
			version = versions[i];
	}
	return ls_document_make(arena, "{s:s,s:{s:{},s:{}},s:{s:s,s:s,s:s},s:s}", "protocolVersion",
							version, "capabilities", "tools", "resources", "serverInfo", "name",
							"logsvc", "title", "logsvc", "version", LOGSVC_VERSION, "instructions",
							instructions);
}

/* The tools whose routes the caller may use. */
static const ls_json_node *
list_tools(const ls_principal *principal, ls_arena *arena)
{
	const ls_json_node *all =
		ls_document_read(ls_str_make(ls_mcp_tools, strlen(ls_mcp_tools)), MAX_DEPTH, arena);
	ls_json_node *allowed = ls_document_make(arena, "[]");

	for (size_t i = 0; i < ls_node_count(all); i++)
	{
		ls_json_node *one = unconstify(ls_json_node *, ls_node_element(all, i));
		const mcp_tool *tool = find_tool(ls_node_member_string(one, "name"));
		const ls_route *route = tool == NULL ? NULL : &ls_routes[tool->route];

		if (route != NULL && ls_authorize(principal, route->credentials, route->permission,
										  route->scope) == LS_ALLOWED)
			ls_document_append(arena, allowed, one);
	}
	return ls_document_make(arena, "{s:o}", "tools", allowed);
}

static const ls_json_node *
list_resources(ls_arena *arena)
{
	ls_json_node *list = ls_document_make(arena, "[]");

	for (size_t i = 0; i < lengthof(resources); i++)
		ls_document_append(arena, list,
						   ls_document_make(arena, "{s:s,s:s,s:s,s:s}", "uri", resources[i].uri,
											"name", resources[i].name, "description",
											resources[i].description, "mimeType", "text/markdown"));
	return ls_document_make(arena, "{s:o}", "resources", list);
}

static void
read_resource(const ls_json_node *params, ls_str id, ls_arena *arena, ls_response *response)
{
	ls_str uri = ls_node_member_string(params, "uri");

	for (size_t i = 0; i < lengthof(resources); i++)
	{
		if (!ls_str_eq(uri, ls_str_make(resources[i].uri, strlen(resources[i].uri))))
			continue;
		answer_result(response, arena, id,
					  ls_document_make(arena, "{s:[{s:s,s:s,s:s}]}", "contents", "uri",
									   resources[i].uri, "mimeType", "text/markdown", "text",
									   resources[i].text));
		return;
	}
	answer_error(response, arena, id, RESOURCE_NOT_FOUND, "there is no such resource");
}

/* The id as JSON, which the answer repeats.  False: it is neither a text nor a whole number. */
static bool
read_id(const ls_json_node *message, ls_arena *arena, ls_str *id)
{
	const ls_json_node *node = ls_node_member(message, "id");
	int64_t integer;
	ls_buf buf;

	ls_buf_init(&buf, arena);
	if (ls_node_is(node, LS_JSON_STRING))
		ls_json_quote(&buf, ls_node_string(node));
	else if (ls_node_integer(node, &integer))
		ls_buf_printf(&buf, "%lld", (long long) integer);
	else
		return false;
	*id = ls_str_make(buf.data, buf.failed ? 0 : buf.len);
	return !buf.failed && buf.len <= MAX_ID;
}

bool
ls_mcp_execute(const ls_request *request, ls_arena *arena, ls_response *response, ls_buf *frame)
{
	const ls_json_node *message;
	const ls_json_node *params;
	ls_principal principal;
	ls_str method;
	ls_str id = LS_STR("");
	bool admitted = ls_http_admit(request, arena, &principal, response);

	response->tenant = ls_http_tenant(&principal);
	if (!admitted || !ls_http_expect_json(request, arena, response))
		return false;
	message = ls_document_read(request->body, MAX_DEPTH, arena);
	params = ls_node_member(message, "params");
	method = ls_node_member_string(message, "method");
	if (message == NULL)
		answer_error(response, arena, id, PARSE_ERROR,
					 "the body is not JSON, or has too many values");
	else if (!ls_str_eq(ls_node_member_string(message, "jsonrpc"), LS_STR("2.0")))
		answer_error(response, arena, id, INVALID_REQUEST, "expected one JSON-RPC 2.0 message");
	else if (ls_node_member(message, "id") == NULL || method.len == 0)
	{
		/* A notification, or an answer to a question that nobody asked. */
		response->status = 202;
	}
	else if (!read_id(message, arena, &id))
		answer_error(response, arena, id, INVALID_REQUEST,
					 "id must be a short text or a whole number");
	else if (ls_str_eq(method, LS_STR("tools/call")))
		return call_tool(request, params, id, arena, response, frame);
	else if (ls_str_eq(method, LS_STR("initialize")))
		answer_result(response, arena, id, initialize(params, arena));
	else if (ls_str_eq(method, LS_STR("ping")))
		answer_result(response, arena, id, ls_document_make(arena, "{}"));
	else if (ls_str_eq(method, LS_STR("tools/list")))
		answer_result(response, arena, id, list_tools(&principal, arena));
	else if (ls_str_eq(method, LS_STR("resources/list")))
		answer_result(response, arena, id, list_resources(arena));
	else if (ls_str_eq(method, LS_STR("resources/templates/list")))
		answer_result(response, arena, id, ls_document_make(arena, "{s:[]}", "resourceTemplates"));
	else if (ls_str_eq(method, LS_STR("resources/read")))
		read_resource(params, id, arena, response);
	else
		answer_error(response, arena, id, METHOD_NOT_FOUND, unknown_method(arena));
	return false;
}
