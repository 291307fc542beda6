/*-------------------------------------------------------------------------
 *
 * gelf_decode.c
 *	  A message of GELF, a JSON object, as an event (pure).
 *
 * All members become attributes, in one pass; then those that an event has
 * fields for move there, and others lose the underscore at their begin.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/syslog.h"

static ls_attribute *
find(ls_event_builder *builder, ls_str key)
{
	for (size_t i = 0; i < builder->event.n_attributes; i++)
	{
		if (ls_str_eq(builder->attributes[i].key, key))
			return &builder->attributes[i];
	}
	return NULL;
}

static void
drop(ls_event_builder *builder, ls_attribute *attribute)
{
	size_t after = builder->event.n_attributes - (size_t) (attribute - builder->attributes) - 1;

	memmove(attribute, attribute + 1, after * sizeof(*attribute));
	builder->event.n_attributes--;
}

/* The attribute as a text, and no longer an attribute; empty: there is none, or of another kind. */
static ls_str
take(ls_event_builder *builder, ls_str key)
{
	ls_attribute *a = find(builder, key);
	ls_str text = LS_STR("");
	ls_buf buf;

	if (a == NULL)
		return text;
	if (a->kind == LS_KIND_STRING || a->kind == LS_KIND_NUMBER)
		text = a->text;
	else if (a->kind == LS_KIND_INTEGER)
	{
		ls_buf_init(&buf, builder->options->scratch);
		ls_buf_printf(&buf, "%lld", (long long) a->integer);
		text = ls_str_make(buf.data, buf.failed ? 0 : buf.len);
	}
	if (text.len > 0)
		drop(builder, a);
	return text;
}

static bool
decode(ls_json_reader *reader, ls_str text)
{
	ls_event_builder *builder = &reader->builder;
	ls_json *j = &reader->json;
	ls_json_value value;
	ls_attribute *version;
	ls_time time;
	ls_str when;

	ls_json_init(j, text, builder->options->scratch, LS_JSON_EVENT_DEPTH);
	reader->begin = j->pos;
	reader->too_large = false;
	if (!ls_json_read(j, &value) || value.type != LS_JSON_OBJECT ||
		!ls_json_read_attributes(reader) || !ls_json_end(j))
	{
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "",
								"expected a GELF message, a JSON object");
		return builder->result->failure == LS_DECODE_OK;
	}
	ls_event_builder_field(builder, LS_FIELD_EVENT, take(builder, LS_STR("short_message")));
	ls_event_builder_field(builder, LS_FIELD_SOURCE, take(builder, LS_STR("host")));
	ls_event_builder_field(builder, LS_FIELD_LEVEL,
						   ls_normalize_level_on(take(builder, LS_STR("level")), LS_LEVELS_SYSLOG));
	when = take(builder, LS_STR("timestamp"));
	if (when.len > 0 && ls_normalize_time_number(when, &time))
		ls_syslog_set_time(builder, time, when);
	if ((version = find(builder, LS_STR("version"))) != NULL)
		drop(builder, version);
	for (size_t i = 0; i < builder->event.n_attributes; i++)
	{
		ls_str key = builder->attributes[i].key;

		if (key.len < 2 || key.data[0] != '_')
			continue;
		key = ls_str_make(key.data + 1, key.len - 1);
		if (find(builder, key) == NULL)
			builder->attributes[i].key = key;
	}
	if ((builder->event.has & 1u << LS_FIELD_EVENT) == 0)
	{
		ls_event_builder_field(builder, LS_FIELD_EVENT, text);
		builder->whole = true;
	}
	return true;
}

bool
ls_decode_gelf(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	return ls_decode_lines(options, body, result, decode);
}
