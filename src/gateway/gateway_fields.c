/*-------------------------------------------------------------------------
 *
 * gateway_fields.c
 *	  The fields of a request header that anybody here asks for.
 *
 * The header has been judged (http_syntax.c); here it is only taken apart.
 * What comes out are views into it, so it is taken apart once more when it is
 * moved.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/gateway_internal.h"

/* Bytes of User-Agent that are looked at for the names of clients. */
#define AGENT_LOOKED_AT 256

static ls_str *
wanted_field(ls_request *request, ls_str name)
{
	switch (name.len)
	{
		case 6:
			if (ls_str_eq_nocase(name, LS_STR("Cookie")))
				return &request->cookie;
			if (ls_str_eq_nocase(name, LS_STR("Origin")))
				return &request->origin;
			if (ls_str_eq_nocase(name, LS_STR("Accept")))
				return &request->accept;
			break;
		case 8:
			if (ls_str_eq_nocase(name, LS_STR("If-Match")))
				return &request->if_match;
			break;
		case 9:
			if (ls_str_eq_nocase(name, LS_STR("X-API-Key")))
				return &request->api_key;
			break;
		case 10:
			if (ls_str_eq_nocase(name, LS_STR("User-Agent")))
				return &request->user_agent;
			break;
		case 12:
			if (ls_str_eq_nocase(name, LS_STR("Content-Type")))
				return &request->content_type;
			if (ls_str_eq_nocase(name, LS_STR("X-Request-Id")))
				return &request->request_id;
			break;
		case 13:
			if (ls_str_eq_nocase(name, LS_STR("Authorization")))
				return &request->authorization;
			if (ls_str_eq_nocase(name, LS_STR("Last-Event-ID")))
				return &request->last_event_id;
			if (ls_str_eq_nocase(name, LS_STR("If-None-Match")))
				return &request->if_none_match;
			break;
		case 14:
			if (ls_str_eq_nocase(name, LS_STR("X-Logsvc-Index")))
				return &request->index;
			if (ls_str_eq_nocase(name, LS_STR("X-Logsvc-Parse")))
				return &request->parse;
			break;
		case 15:
			if (ls_str_eq_nocase(name, LS_STR("X-Forwarded-For")))
				return &request->forwarded_for;
			if (ls_str_eq_nocase(name, LS_STR("Idempotency-Key")))
				return &request->idempotency_key;
			if (ls_str_eq_nocase(name, LS_STR("Accept-Encoding")))
				return &request->accept_encoding;
			break;
		case 16:
			if (ls_str_eq_nocase(name, LS_STR("Content-Encoding")))
				return &request->content_encoding;
			break;
		case 17:
			if (ls_str_eq_nocase(name, LS_STR("X-Organization-Id")))
				return &request->organization;
			break;
		default:
			break;
	}
	return NULL;
}

/* Fields that decide who asks must not come twice: which one counts? */
static bool
is_single(const ls_request *request, const ls_str *field)
{
	return field == &request->authorization || field == &request->api_key ||
		   field == &request->organization || field == &request->cookie ||
		   field == &request->origin;
}

/* Is `word` somewhere in the text, whatever its case? */
static bool
mentions(ls_str text, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
	{
		if (ls_str_eq_nocase(ls_str_make(text.data + i, len), ls_str_make(word, len)))
			return true;
	}
	return false;
}

/*
 * Only a client of Elasticsearch is told that this is one.  Their libraries name
 * themselves, ask for their own media type, send X-Elastic-Client-Meta, or a key
 * as Elasticsearch's; Beats and the other shippers have a name of their own.
 */
static bool
is_elastic_agent(ls_str agent)
{
	static const char *const names[] = {"elastic", "opensearch", "beat/",    "logstash",
										"vector/", "fluent",     "fluentd/", "rsyslog",
										"graylog", "cribl",      "syslog-ng"};

	/* A header may have 16 KB of it, which nobody needs to be searched for each name. */
	if (agent.len > AGENT_LOOKED_AT)
		agent.len = AGENT_LOOKED_AT;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (mentions(agent, names[i]))
			return true;
	}
	return false;
}

static void
take_connection(ls_connection *c, ls_str value)
{
	while (value.len > 0)
	{
		const char *comma = memchr(value.data, ',', value.len);
		size_t len = comma == NULL ? value.len : (size_t) (comma - value.data);
		ls_str token = ls_str_trim(ls_str_make(value.data, len));

		if (ls_str_eq_nocase(token, LS_STR("close")))
			c->asks_close = true;
		else if (ls_str_eq_nocase(token, LS_STR("keep-alive")))
			c->asks_keep_alive = true;
		value = comma == NULL ? LS_STR("") : ls_str_make(comma + 1, value.len - len - 1);
	}
}

/* Does a field of that name come from a proxy?  X-Forwarded-For has a place of its own. */
static bool
is_of_proxy(ls_str name)
{
	static const char prefix[] = "X-Forwarded";
	size_t len = sizeof(prefix) - 1;

	return ls_str_eq_nocase(name, LS_STR("Via")) || ls_str_eq_nocase(name, LS_STR("Forwarded")) ||
		   ls_str_eq_nocase(name, LS_STR("X-Real-IP")) ||
		   (name.len > len &&
			ls_str_eq_nocase(ls_str_make(name.data, len), ls_str_make(prefix, len)));
}

static void
take_other(ls_connection *c, ls_str name, ls_str value)
{
	c->proxied |= is_of_proxy(name);
	switch (name.len)
	{
		case 7:
		case 17:
			ls_websocket_field(&c->offer, name, value);
			break;
		case 10:
			if (ls_str_eq_nocase(name, LS_STR("Connection")))
			{
				take_connection(c, value);
				ls_websocket_field(&c->offer, name, value);
			}
			break;
		case 14:
			if (ls_str_eq_nocase(name, LS_STR("Sec-Fetch-Site")))
				c->cross_site = ls_str_eq_nocase(value, LS_STR("cross-site"));
			break;
		case 21:
			if (ls_str_eq_nocase(name, LS_STR("X-Elastic-Client-Meta")))
				c->elastic = true;
			else
				ls_websocket_field(&c->offer, name, value);
			break;
		case 24:
			if (ls_str_eq_nocase(name, LS_STR("X-Elastic-Product-Origin")))
				c->elastic = true;
			break;
		default:
			break;
	}
}

/* c->scan.check gets a problem when a field must not be there twice and is. */
void
ls_request_fields(ls_connection *c, const char *header, size_t len)
{
	ls_request *request = &c->request;
	ls_http_check *check = &c->scan.check;
	ls_str line;
	ls_str name;
	ls_str value;
	size_t at = 0;

	memset(request, 0, sizeof(*request));
	c->asks_close = c->asks_keep_alive = c->elastic = c->cross_site = c->proxied = false;
	memset(&c->offer, 0, sizeof(c->offer));
	if (!ls_http_next_line(ls_str_make(header, len), &at, &name, &line))
		return;
	while (ls_http_next_line(ls_str_make(header, len), &at, &name, &value))
	{
		ls_str *field = wanted_field(request, name);

		if (field == NULL)
			take_other(c, name, value);
		/* Proxies append: of several lines the last is the nearest one's. */
		else if (field->data == NULL || field == &request->forwarded_for)
			*field = value;
		else if (is_single(request, field) && check->status == 0)
		{
			check->status = 400;
			check->problem = field == &request->origin ? "Header Origin was sent twice"
													   : "A credential header was sent twice";
		}
	}
	if ((request->user_agent.len > 0 && is_elastic_agent(request->user_agent)) ||
		mentions(request->accept, "application/vnd.elasticsearch+"))
		c->elastic = true;
	if (request->authorization.len > 7 &&
		ls_str_eq_nocase(ls_str_make(request->authorization.data, 7), LS_STR("ApiKey ")))
		c->elastic = true;
}
