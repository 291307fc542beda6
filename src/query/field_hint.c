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

static const struct
{
	const char *name;
	ls_query_builtin field;
} other_names[] = {
	{"log_level", LS_QUERY_LEVEL},    {"loglevel", LS_QUERY_LEVEL},   {"logLevel", LS_QUERY_LEVEL},
	{"lvl", LS_QUERY_LEVEL},          {"level_name", LS_QUERY_LEVEL}, {"time", LS_QUERY_TIMESTAMP},
	{"datetime", LS_QUERY_TIMESTAMP},
};

static const char *const begins[] = {"from", "since", "start", "begin", "after",
									 "last", "past",  "range", "within"};
static const char *const ends[] = {"to", "until", "end", "before"};

ls_str
ls_search_other_name(ls_str name, const ls_field_names *names)
{
	static const char suffix[] = ".keyword";
	ls_str stem;

	for (size_t i = 0; i < lengthof(other_names); i++)
		if (ls_str_eq(name, ls_str_of_cstring(other_names[i].name)))
			return ls_str_of_cstring(ls_query_builtin_name(other_names[i].field));
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
	if (!ls_query_time_parse(ls_str_of_cstring(text), &time))
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
