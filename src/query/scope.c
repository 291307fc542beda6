/*-------------------------------------------------------------------------
 *
 * scope.c
 *	  What a search may see (time range, indexes), and how it raises errors.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "pgtime.h"
#include "utils/builtins.h"

#include "src/scan/scan.h"

/* ---- errors ---- */

static void
append_error(ls_buf *buf, const ls_query_error *error)
{
	ls_buf_lit(buf, "[{\"path\":\"q\",\"message\":");
	ls_json_quote(buf, error->message);
	ls_buf_printf(buf, ",\"position\":{\"offset\":%u,\"line\":%u,\"column\":%u,\"length\":%u}",
				  error->position.offset, error->position.line, error->position.column,
				  error->position.length);
	if (error->found.len > 0)
	{
		ls_buf_lit(buf, ",\"found\":");
		ls_json_quote(buf,
					  ls_str_make(error->found.data,
								  ls_utf8_prefix_chars(error->found.data, error->found.len, 100)));
	}
	if (error->n_expected > 0)
	{
		ls_buf_lit(buf, ",\"expected\":[");
		for (uint32 i = 0; i < error->n_expected; i++)
		{
			if (i > 0)
				ls_buf_char(buf, ',');
			ls_json_quote(buf, error->expected[i]);
		}
		ls_buf_char(buf, ']');
	}
	if (error->hint.len > 0)
	{
		ls_buf_lit(buf, ",\"hint\":");
		ls_json_quote(buf, error->hint);
	}
	if (error->suggestion.len > 0)
	{
		ls_buf_lit(buf, ",\"suggestion\":");
		ls_json_quote(buf, error->suggestion);
	}
	ls_buf_lit(buf, "}]");
	ls_buf_char(buf, '\0');
}

void
ls_search_raise(const ls_query_error *error)
{
	ls_error_id id =
		error->kind == LS_QUERY_ERROR_SYNTAX ? LS_ERROR_QUERY_SYNTAX : LS_ERROR_QUERY_SEMANTIC;
	ls_buf details;

	if (error->kind == LS_QUERY_ERROR_MEMORY)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	ls_buf_init(&details, ls_context_arena(CurrentMemoryContext, 1024 * 1024));
	append_error(&details, error);
	ereport(ERROR, errcode(ls_errcode(id)),
			/* A message about the whole query may end with one that is ready to copy. */
			error->span.start == 0 && error->suggestion.len > 0
				? errmsg("%s", ls_cstring_of_str(error->message))
				: errmsg("%s at line %u, column %u", ls_cstring_of_str(error->message),
						 error->position.line, error->position.column),
			details.failed ? 0 : errdetail_internal("%s", details.data),
			error->hint.len > 0 ? errhint("%s", ls_cstring_of_str(error->hint)) : 0);
}

void
ls_search_fail(ls_search *search, ls_query_span span, const char *format, ...)
{
	ls_query_error error = {0};
	StringInfoData text;
	va_list args;
	int needed;

	initStringInfo(&text);
	for (;;)
	{
		va_start(args, format);
		needed = appendStringInfoVA(&text, format, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&text, needed);
	}
	ls_query_fail(&error, search->arena, search->query->text, LS_QUERY_ERROR_SEMANTIC, span, NULL,
				  "%s", text.data);
	ls_search_raise(&error);
}

void
ls_search_invalid(const char *path, const char *message)
{
	ls_buf details;

	ls_buf_init(&details, ls_context_arena(CurrentMemoryContext, 65536));
	ls_buf_lit(&details, "[{\"path\":");
	ls_json_quote(&details, ls_str_of_cstring(path));
	ls_buf_lit(&details, ",\"code\":\"invalid\",\"message\":");
	ls_json_quote(&details, ls_str_of_cstring(message));
	ls_buf_lit(&details, "}]");
	ls_buf_char(&details, '\0');
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_VALIDATION)),
			errmsg("%s%s%s", path, path[0] == '\0' ? "" : ": ", message),
			errdetail_internal("%s", details.failed ? "[]" : details.data));
}

/* ---- time ---- */

ls_query_zone
ls_zone_of_organization(const pg_uuid_t *organization)
{
	Oid types[] = {UUIDOID};
	Datum values[] = {UUIDPGetDatum(organization)};

	if (ls_statement_read("SELECT timezone FROM logsvc_internal.organization WHERE id = $1", 1,
						  types, values) == 1)
	{
		char *name = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);

		if (name != NULL)
			return ls_zone_named(name);
	}
	return (ls_query_zone){NULL, NULL, NULL};
}

void
ls_search_zone(ls_search *search)
{
	search->zone = ls_zone_of_organization(&search->principal->organization);
}

static void
invalid_time(ls_search *search, ls_str text, bool latest, const char *name)
{
	ls_buf message;

	ls_buf_init(&message, search->arena);
	ls_buf_lit(&message, "expected now, -15m, -1h@h, 09:00, an ISO time, or an epoch");
	ls_buf_lit(&message, "; ");
	ls_query_time_hint(text, latest, &message);
	if (message.len >= 2 && memcmp(message.data + message.len - 2, "; ", 2) == 0)
		message.len -= 2;
	ls_search_invalid(name, ls_cstring_of_str(ls_str_make(message.data, message.len)));
}

/* `otherwise`: without one in the query and without a parameter. */
static ls_time
bound(ls_search *search, const ls_query_time *in_query, ls_str parameter, bool latest,
	  const char *name, ls_time otherwise)
{
	const ls_query_zone *zone = &search->zone;
	ls_query_time parsed;
	ls_time result;

	if (in_query != NULL)
	{
		if (!ls_query_time_resolve(in_query, search->now, zone, &result))
			ls_search_fail(search, in_query->span, "this time is outside of the years 1 to 9999");
		return result;
	}
	if (parameter.data == NULL || parameter.len == 0)
		return otherwise;
	if (!(latest ? ls_query_time_parse : ls_query_begin_parse)(parameter, &parsed))
		invalid_time(search, parameter, latest, name);
	if (!ls_query_time_resolve(&parsed, search->now, zone, &result))
		ls_search_invalid(name, "this time is outside of the years 1 to 9999");
	return result;
}

/* earliest=1h as a parameter is in an hour; an hour ago was meant. */
static bool
warn_sign(ls_search *search, const ls_query_time *in_query, ls_str parameter, const char *name)
{
	ls_query_time time;
	int len = (int) parameter.len;

	if (in_query != NULL || parameter.data == NULL || parameter.len == 0 ||
		parameter.data[0] < '0' || parameter.data[0] > '9' ||
		!ls_query_time_parse(parameter, &time) || time.absolute || time.clock)
		return false;
	ls_query_warn(search->query, search->arena, "EMPTY_RANGE", (ls_query_span){0, 0},
				  "no event is in the time range: %s=%.*s is in the future; the past is -%.*s",
				  name, len, parameter.data, len, parameter.data);
	return true;
}

void
ls_search_range(ls_search *search)
{
	bool all = search->given != NULL && search->given->rows > 0;

	if (search->now == 0)
		search->now = ls_now();
	ls_search_zone(search);
	if (search->has_range)
		return;
	search->from =
		bound(search, search->query->earliest, search->earliest, false, search->earliest_name,
			  all ? search->given->min_time : search->now - LS_USECS_PER_DAY);
	search->to = bound(search, search->query->latest, search->latest, true, search->latest_name,
					   all ? search->given->max_time + 1 : search->now);
	if ((search->from >= search->to || search->from > search->now) &&
		(warn_sign(search, search->query->earliest, search->earliest, search->earliest_name) ||
		 warn_sign(search, search->query->latest, search->latest, search->latest_name)))
		return;
	if (search->from >= search->to)
		ls_query_warn(search->query, search->arena, "EMPTY_RANGE",
					  search->query->earliest != NULL ? search->query->earliest->span
					  : search->query->latest != NULL ? search->query->latest->span
													  : (ls_query_span){0, 0},
					  "earliest is not before latest: no event is in the time range");
}

/* ---- indexes ---- */

/* Case-insensitive match with wildcards; only the last star is ever retried. */
static bool
name_matches(ls_str pattern, ls_str name)
{
	size_t p = 0;
	size_t n = 0;
	size_t star = SIZE_MAX;
	size_t retry = 0;

	while (n < name.len)
	{
		if (p < pattern.len && pattern.data[p] == '*')
		{
			star = p++;
			retry = n;
		}
		else if (p < pattern.len &&
				 ls_str_eq_nocase(ls_str_make(pattern.data + p, 1), ls_str_make(name.data + n, 1)))
		{
			p++;
			n++;
		}
		else if (star != SIZE_MAX)
		{
			p = star + 1;
			n = ++retry;
		}
		else
			return false;
	}
	while (p < pattern.len && pattern.data[p] == '*')
		p++;
	return p == pattern.len;
}

static bool
may_see(const ls_search *search, ls_str name, bool named)
{
	bool internal = name.len > 0 && name.data[0] == '_';

	if (search->principal->test_key)
		return ls_str_eq(name, LS_STR("_test"));
	return !internal || named;
}

static void
index_not_found(ls_str name)
{
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_INDEX_NOT_FOUND)),
			errmsg("index \"%s\" does not exist", ls_cstring_of_str(name)));
}

#define MOST_NAMED 5

/* A wildcard may match none, now or always: it is no error, but it finds nothing. */
static void
warn_index(ls_search *search, const ls_query_value *value, const ls_str *names, int n)
{
	ls_buf list;
	int named = 0;

	ls_buf_init(&list, search->arena);
	for (int i = 0; i < n && named <= MOST_NAMED; i++)
	{
		if (!may_see(search, names[i], false))
			continue;
		if (named > 0)
			ls_buf_lit(&list, ", ");
		ls_buf_str(&list, named < MOST_NAMED ? names[i] : LS_STR("..."));
		named++;
	}
	ls_query_warn(search->query, search->arena, "UNKNOWN_INDEX", value->span,
				  "no index matches %.*s; indexes there are: %.*s", (int) value->text.len,
				  value->text.data, (int) list.len, list.failed || list.len == 0 ? "" : list.data);
}

/*
 * The indexes of given rows that are searched.  To name one that no row is in is no mistake: it
 * finds nothing, as a rule should among rows that are not for it.
 */
static void
given_indexes(ls_search *search, const ls_query_values *named)
{
	search->indexes = palloc0(sizeof(ls_str) * (Size) (search->n_given_indexes + 1));
	for (int i = 0; i < search->n_given_indexes; i++)
	{
		ls_str name = search->given_indexes[i];
		bool internal = name.data[0] == '_';
		bool wanted = named->n == 0 && !internal;

		for (uint32 v = 0; v < named->n && !wanted; v++)
		{
			const ls_query_value *value = named->items[v];

			wanted = value->wildcard ? !internal && name_matches(value->text, name)
									 : ls_str_eq_nocase(value->text, name);
		}
		if (wanted)
			search->indexes[search->n_indexes++] = name;
	}
}

void
ls_search_indexes(ls_search *search, const ls_query_values *named)
{
	Oid types[] = {UUIDOID};
	Datum values[] = {UUIDPGetDatum(&search->principal->organization)};
	bool *wanted;
	ls_str *names;
	int n;

	if (search->given != NULL)
	{
		given_indexes(search, named);
		return;
	}
	n = (int) ls_statement_read("SELECT name FROM logsvc_internal.log_index"
								" WHERE organization_id = $1 ORDER BY name",
								1, types, values);
	names = palloc0(sizeof(ls_str) * (Size) (n + 1));
	wanted = palloc0(sizeof(bool) * (Size) (n + 1));
	for (int i = 0; i < n; i++)
	{
		names[i] = ls_str_of_cstring(SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1));
		wanted[i] = named->n == 0 && may_see(search, names[i], false);
	}
	for (uint32 v = 0; v < named->n; v++)
	{
		const ls_query_value *value = named->items[v];
		bool found = false;

		for (int i = 0; i < n; i++)
		{
			if (!(value->wildcard ? name_matches(value->text, names[i])
								  : ls_str_eq_nocase(value->text, names[i])) ||
				!may_see(search, names[i], !value->wildcard))
				continue;
			wanted[i] = found = true;
			if (ls_str_eq(names[i], LS_STR("_audit")))
				ls_require_permission("audit:read");
		}
		if (!found && !value->wildcard)
			index_not_found(value->text);
		if (!found && search->query != NULL)
			warn_index(search, value, names, n);
	}
	search->indexes = palloc0(sizeof(ls_str) * (Size) (n + 1));
	for (int i = 0; i < n; i++)
	{
		if (wanted[i])
			search->indexes[search->n_indexes++] = names[i];
	}
}
