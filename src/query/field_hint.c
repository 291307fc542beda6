/*-------------------------------------------------------------------------
 *
 * field_hint.c
 *	  What a field that no event has was probably meant to be.
 *
 * Other products have other names for level, timestamp and the time range, and a second name
 * (service.keyword) for each text.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

static const struct
{
	const char *name;
	ls_query_builtin field;
} other_names[] = {
	{"log_level", LS_QUERY_LEVEL},
	{"loglevel", LS_QUERY_LEVEL},
	{"logLevel", LS_QUERY_LEVEL},
	{"program", LS_QUERY_SERVICE},
	{"application", LS_QUERY_SERVICE},
	{"kube_app_name", LS_QUERY_SERVICE},
	{"syslog_identifier", LS_QUERY_SERVICE},
	{"lvl", LS_QUERY_LEVEL},
	{"level_name", LS_QUERY_LEVEL},
	{"time", LS_QUERY_TIMESTAMP},
	{"datetime", LS_QUERY_TIMESTAMP},
};

static const char *const begins[] = {"from", "since", "start", "begin", "after",
									 "last", "past",  "range", "within"};
static const char *const ends[] = {"to", "until", "end", "before"};

/* Names that senders give to the same; what events have of them was meant. */
static const char *const alike[][12] = {
	{"status", "http.status_code", "http.response.status_code", "http_status", "http_status_code",
	 "http_response_code", "response_code", "status_code", "statusCode", "response_status", NULL},
	{"host", "hostname", "host.name", "host_name", "system", "_sourceHost", "node", "instance",
	 NULL},
	{"duration_ms", "duration", "took", "elapsed", "elapsed_ms", "latency", "latency_ms",
	 "response_time", "responseTime", "request_time", "took_ms", NULL},
	{"user", "username", "user_name", "user.name", "usr.id", "user_id", "userId", "user.id", NULL},
	{"client_ip", "clientip", "client.ip", "remote_addr", "network.client.ip", "src_ip", "src",
	 "source.ip", "ip", "remote_ip", NULL},
	{"method", "http.method", "http.request.method", "http_method", "request_method", "verb", NULL},
	{"path", "url", "url.path", "uri", "request_uri", "http.url", "http.target", "request_path",
	 "http.url_details.path", NULL},
	{"request_id", "requestId", "req_id", "correlation_id", "x_request_id", "http.request_id",
	 NULL},
	{"env", "environment", "deployment.environment", "deployment_environment", "stage", NULL},
};

/* The name of an attribute that says the same; empty: none. */
static ls_str
alike_name(ls_str name, const ls_field_names *names)
{
	for (size_t i = 0; i < lengthof(alike); i++)
	{
		bool found = false;

		for (int j = 0; alike[i][j] != NULL; j++)
			found = found || ls_str_eq(name, ls_str_of_cstring(alike[i][j]));
		for (int j = 0; found && alike[i][j] != NULL; j++)
			if (!ls_str_eq(name, ls_str_of_cstring(alike[i][j])) &&
				ls_field_names_have(names, ls_str_of_cstring(alike[i][j])))
				return ls_str_of_cstring(alike[i][j]);
	}
	return LS_STR("");
}

ls_str
ls_search_other_name(ls_str name, const ls_field_names *names)
{
	static const char suffix[] = ".keyword";
	ls_str stem;

	for (size_t i = 0; i < lengthof(other_names); i++)
		if (ls_str_eq(name, ls_str_of_cstring(other_names[i].name)))
			return ls_str_of_cstring(ls_query_builtin_name(other_names[i].field));
	if (!ls_field_names_have(names, name) && alike_name(name, names).len > 0)
		return alike_name(name, names);
	if (name.len < sizeof(suffix) ||
		memcmp(name.data + name.len - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) != 0 ||
		ls_field_names_have(names, name))
		return LS_STR("");
	stem = ls_str_make(name.data, name.len - (sizeof(suffix) - 1));
	return ls_query_builtin_find(stem) != LS_QUERY_NOT_BUILTIN || ls_field_names_have(names, stem)
			   ? stem
			   : LS_STR("");
}

static bool
is_one_of(ls_str name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ls_str_eq(name, ls_str_of_cstring(names[i])))
			return true;
	return false;
}

char *
ls_search_meant_range(const ls_query_filter *filter)
{
	ls_query_time time;
	bool begin;
	char *text;

	if (filter->kind != LS_QUERY_FILTER_COMPARE || filter->field == NULL || filter->values.n != 1)
		return NULL;
	begin = is_one_of(filter->field->name, begins, lengthof(begins));
	if (!begin && !is_one_of(filter->field->name, ends, lengthof(ends)))
		return NULL;
	text = ls_cstring_of_str(filter->values.items[0]->text);
	if (!(begin ? ls_query_begin_parse : ls_query_time_parse)(ls_str_of_cstring(text), &time))
		return NULL;
	/* An hour ago is what 1h means for a time that is past. */
	if (!time.absolute && time.shift.unit != LS_QUERY_UNIT_NONE && text[0] >= '0' && text[0] <= '9')
		text = psprintf("-%s", text);
	return psprintf("%s=%s%s%s", begin ? "earliest" : "latest",
					strchr(text, ' ') != NULL ? "\"" : "", text,
					strchr(text, ' ') != NULL ? "\"" : "");
}

const ls_query_filter *
ls_search_filter_of(const ls_query_filter *filter, const ls_query_field *field)
{
	if (filter == NULL || filter->field == field)
		return filter;
	for (uint32 i = 0; i < filter->n_children; i++)
	{
		const ls_query_filter *found = ls_search_filter_of(filter->children[i], field);

		if (found != NULL)
			return found;
	}
	return NULL;
}

char *
ls_search_head_field(const ls_search *search, const ls_query_field *field)
{
	ls_buf name;

	ls_buf_init(&name, search->arena);
	if (field->attributes)
		ls_buf_lit(&name, "attributes.");
	if (!ls_query_write_head_field(&name,
								   field->builtin != LS_QUERY_NOT_BUILTIN
									   ? ls_str_of_cstring(ls_query_builtin_name(field->builtin))
									   : field->name) ||
		name.failed)
		return NULL;
	return pnstrdup(name.data, name.len);
}
