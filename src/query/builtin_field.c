/*-------------------------------------------------------------------------
 *
 * builtin_field.c
 *	  Built-in fields and their other names; fields compared (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"

/* In the order of ls_query_builtin. */
static const ls_str builtin_names[] = {
	LS_STR(""),          LS_STR("event"),       LS_STR("level"),   LS_STR("source"),
	LS_STR("timestamp"), LS_STR("ingested_at"), LS_STR("index"),   LS_STR("id"),
	LS_STR("service"),   LS_STR("trace_id"),    LS_STR("span_id"), LS_STR("template_id"),
};

ls_query_builtin
ls_query_builtin_find(ls_str name)
{
	for (int i = LS_QUERY_EVENT; i <= LS_QUERY_TEMPLATE_ID; i++)
		if (ls_str_eq(name, builtin_names[i]))
			return (ls_query_builtin) i;
	return LS_QUERY_NOT_BUILTIN;
}

ls_query_builtin
ls_query_builtin_alias(ls_str name)
{
	static const struct
	{
		ls_str name;
		ls_query_builtin builtin;
	} aliases[] = {
		{LS_STR("message"), LS_QUERY_EVENT},
		{LS_STR("msg"), LS_QUERY_EVENT},
		{LS_STR("_raw"), LS_QUERY_EVENT},
		{LS_STR("_msg"), LS_QUERY_EVENT},
		{LS_STR("severity"), LS_QUERY_LEVEL},
		{LS_STR("@timestamp"), LS_QUERY_TIMESTAMP},
		{LS_STR("_time"), LS_QUERY_TIMESTAMP},
		{LS_STR("traceId"), LS_QUERY_TRACE_ID},
		{LS_STR("spanId"), LS_QUERY_SPAN_ID},
		{LS_STR("traceID"), LS_QUERY_TRACE_ID},
		{LS_STR("spanID"), LS_QUERY_SPAN_ID},
		{LS_STR("ingestedAt"), LS_QUERY_INGESTED_AT},
		/* Names of OpenTelemetry and Elastic, which are read into these fields. */
		{LS_STR("service.name"), LS_QUERY_SERVICE},
		{LS_STR("service_name"), LS_QUERY_SERVICE},
		{LS_STR("levelname"), LS_QUERY_LEVEL},
		{LS_STR("severity_text"), LS_QUERY_LEVEL},
		{LS_STR("log.level"), LS_QUERY_LEVEL},
		{LS_STR("trace.id"), LS_QUERY_TRACE_ID},
		{LS_STR("span.id"), LS_QUERY_SPAN_ID},
	};

	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (ls_str_eq(name, aliases[i].name))
			return aliases[i].builtin;
	return LS_QUERY_NOT_BUILTIN;
}

void
ls_query_set_builtin(ls_query_field *field, ls_query_builtin builtin)
{
	field->alias = field->name;
	field->name = field->parts[0] = builtin_names[builtin];
	field->n_parts = 1;
	field->builtin = builtin;
}

ls_str
ls_query_field_written(const ls_query_field *field)
{
	return field->alias.len > 0 ? field->alias : field->name;
}

const char *
ls_query_builtin_name(ls_query_builtin builtin)
{
	return builtin_names[builtin].data;
}

bool
ls_query_field_eq(const ls_query_field *a, const ls_query_field *b)
{
	if (a->attributes != b->attributes || a->n_parts != b->n_parts)
		return false;
	for (uint32_t i = 0; i < a->n_parts; i++)
		if (!ls_str_eq(a->parts[i], b->parts[i]))
			return false;
	return true;
}
