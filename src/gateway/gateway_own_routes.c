/*-------------------------------------------------------------------------
 *
 * gateway_own_routes.c
 *	  Routes that the gateway answers by itself, without a worker: whether it is
 *	  ready, figures, the status, the API description, files of the console.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <string.h>

#include "src/gateway/gateway_internal.h"

#ifndef LOGSVC_VERSION
#define LOGSVC_VERSION "unversioned"
#endif

static void
reply_text(ls_connection *c, int status, ls_str body)
{
	ls_response response = {.status = status, .body = body};

	ls_reply_response(c, &response);
}

/* The same in the words of Splunk, whose health check says nothing else. */
static void
reply_splunk_health(ls_connection *c)
{
	const ls_gateway_hooks *hooks = &c->gateway->hooks;
	const char *reason;

	if (hooks->ready(hooks->context, &reason))
		reply_text(c, 200, LS_STR("{\"text\":\"HEC is healthy\",\"code\":17}"));
	else
		reply_text(c, 503, LS_STR("{\"text\":\"HEC is unhealthy, queues are full\",\"code\":18}"));
}

/*
 * Is this the server that ?role= asks for?  A proxy asks so to tell a primary from its standbys.
 * False: it was answered.
 */
static bool
has_role(ls_connection *c)
{
	bool standby = ls_reply_is_standby(c->gateway);
	ls_str query = c->request.query;

	while (query.len > 0)
	{
		const char *end = memchr(query.data, '&', query.len);
		ls_str one = ls_str_make(query.data, end == NULL ? query.len : (size_t) (end - query.data));
		bool wants_standby = ls_str_eq(one, LS_STR("role=standby"));

		query = end == NULL ? LS_STR("") : ls_str_make(end + 1, query.len - one.len - 1);
		if (one.len < 5 || memcmp(one.data, "role=", 5) != 0)
			continue;
		if (!wants_standby && !ls_str_eq(one, LS_STR("role=primary")))
			c->refusal =
				(ls_refusal){400, "VALIDATION_ERROR", "role: expected primary or standby", false};
		else if (wants_standby != standby)
			c->refusal = (ls_refusal){
				503, "SERVICE_UNAVAILABLE",
				standby ? "this server is a standby" : "this server is the primary", false};
		else
			continue;
		ls_reply_refusal(c);
		return false;
	}
	return true;
}

static void
reply_ready(ls_connection *c)
{
	const ls_gateway_hooks *hooks = &c->gateway->hooks;
	const char *reason = "starting";
	char text[512];
	size_t len;

	if (c->route == LS_ROUTE_READY && !has_role(c))
		return;
	if (hooks->ready(hooks->context, &reason))
	{
		reply_text(c, 200, LS_STR("{\"status\":\"ok\"}"));
		return;
	}
	len = (size_t) snprintf(text, sizeof(text), "{\"error\":\"");
	for (const char *p = reason; *p != '\0' && len < 400; p++)
	{
		if (*p == '"' || *p == '\\')
			text[len++] = '\\';
		text[len++] = (unsigned char) *p < ' ' ? ' ' : *p;
	}
	len +=
		(size_t) snprintf(text + len, sizeof(text) - len, "\",\"code\":\"SERVICE_UNAVAILABLE\"}");
	reply_text(c, 503, ls_str_make(text, len));
}

/* The same for everybody, until another version: who has it is told so. */
static void
reply_openapi(ls_connection *c)
{
	const ls_gateway *gateway = c->gateway;
	ls_response response = {.status = 200};

	ls_response_header(&response, LS_STR("ETag"),
					   ls_str_make(gateway->openapi_tag, strlen(gateway->openapi_tag)));
	ls_response_header(&response, LS_STR("Cache-Control"), LS_STR("public, no-cache"));
	if (ls_http_tag_matches(c->request.if_none_match, gateway->openapi_tag))
		response.status = 304;
	else
		response.body = ls_str_make(gateway->openapi, gateway->openapi_len);
	ls_reply_response(c, &response);
}

/* The host has it ready, so nobody is counted who asks for it. */
static void
reply_status(ls_connection *c, bool page)
{
	const ls_gateway_hooks *hooks = &c->gateway->hooks;
	ls_response response = {.status = 200};
	ls_status_document document;

	if (hooks->status == NULL || !hooks->status(page, &document))
	{
		c->refusal = (ls_refusal){503, "SERVICE_UNAVAILABLE", "The status is not known", false};
		ls_reply_refusal(c);
		return;
	}
	ls_response_header(&response, LS_STR("ETag"), ls_str_make(document.tag, strlen(document.tag)));
	ls_response_header(&response, LS_STR("Cache-Control"), LS_STR("public, max-age=60"));
	if (page)
	{
		response.content_type = LS_STR("text/html; charset=utf-8");
		ls_response_header(&response, LS_STR("Content-Security-Policy"), document.policy);
	}
	if (ls_http_tag_matches(c->request.if_none_match, document.tag))
		response.status = 304;
	else
		response.body = document.body;
	ls_reply_response(c, &response);
}

/* Figures for operators: the host decides who is one. */
static void
reply_metrics(ls_connection *c)
{
	const ls_gateway_hooks *hooks = &c->gateway->hooks;
	ls_metrics_answer answer = {
		.status = 404, .code = "NOT_FOUND", .error = "there are no figures"};
	ls_response response = {.status = 200};
	char text[512];

	c->request.remote = ls_str_make(c->remote, strlen(c->remote));
	c->request.flags = c->proxied ? LS_REQUEST_PROXIED : 0;
	if (hooks->metrics != NULL)
		hooks->metrics(hooks->context, &c->request, &answer);
	if (answer.status == 200)
	{
		response.content_type =
			answer.openmetrics ? LS_STR(LS_OPENMETRICS_TYPE) : LS_STR(LS_TEXT_FORMAT_TYPE);
		response.body = answer.text;
	}
	else
	{
		ls_refusal refusal = {answer.status, answer.code, answer.error, false};

		ls_reply_make_refusal(c, &refusal, &response, text);
		if (answer.status == 401)
			ls_response_header(&response, LS_STR("WWW-Authenticate"), LS_STR("Bearer"));
	}
	ls_reply_response(c, &response);
}

void
ls_reply_route(ls_connection *c)
{
	if (c->console)
		ls_console_reply(c);
	else if (c->route == LS_ROUTE_READY || c->route == LS_ROUTE_LOKI_READY)
		reply_ready(c);
	else if (c->route == LS_ROUTE_HEC_HEALTH || c->route == LS_ROUTE_HEC_HEALTH_1)
		reply_splunk_health(c);
	else if (c->route == LS_ROUTE_OPENAPI)
		reply_openapi(c);
	else if (c->route == LS_ROUTE_STATUS || c->route == LS_ROUTE_STATUS_PAGE)
		reply_status(c, c->route == LS_ROUTE_STATUS_PAGE);
	else if (c->route == LS_ROUTE_METRICS)
		reply_metrics(c);
	else if (c->route == LS_ROUTE_ABOUT)
		reply_text(c, 200,
				   LS_STR("{\"data\":{\"service\":\"logsvc\",\"version\":\"" LOGSVC_VERSION
						  "\",\"api\":\"/api/v1/openapi.json\"}}"));
	else
		reply_text(c, 200, LS_STR("{\"status\":\"ok\"}"));
}
