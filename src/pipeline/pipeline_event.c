/*-------------------------------------------------------------------------
 *
 * pipeline_event.c
 *	  The event at hand in a pipeline: its fields by name (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline_internal.h"

#include <stdio.h>

#define ATTRIBUTES_PREFIX LS_STR("attributes.")

static const struct
{
	const char *name;
	ls_field field;
} fields[] = {
	{"event", LS_FIELD_EVENT},    {"message", LS_FIELD_EVENT},    {"level", LS_FIELD_LEVEL},
	{"severity", LS_FIELD_LEVEL}, {"source", LS_FIELD_SOURCE},    {"service", LS_FIELD_SERVICE},
	{"index", LS_FIELD_INDEX},    {"traceId", LS_FIELD_TRACE_ID}, {"trace_id", LS_FIELD_TRACE_ID},
	{"spanId", LS_FIELD_SPAN_ID}, {"span_id", LS_FIELD_SPAN_ID}};

bool
ls_event_name_make(ls_arena *arena, ls_str text, event_name *name)
{
	ls_str prefix = ATTRIBUTES_PREFIX;
	size_t begin = 0;

	memset(name, 0, sizeof(*name));
	name->kind = NAME_ATTRIBUTE;
	if (ls_str_eq(text, LS_STR("*")))
		name->kind = NAME_ALL;
	if (ls_str_eq(text, LS_STR("timestamp")) || ls_str_eq(text, LS_STR("@timestamp")))
		name->kind = NAME_TIMESTAMP;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
	{
		if (ls_str_eq(text, ls_str_make(fields[i].name, strlen(fields[i].name))))
		{
			name->kind = NAME_FIELD;
			name->field = fields[i].field;
		}
	}
	if (name->kind != NAME_ATTRIBUTE)
		return true;
	if (text.len > prefix.len && memcmp(text.data, prefix.data, prefix.len) == 0)
		text = ls_str_make(text.data + prefix.len, text.len - prefix.len);
	name->key = ls_arena_strdup(arena, text);
	name->path = ls_new_array(arena, ls_str, LS_FILTER_MAX_PATH);
	if (name->key.data == NULL || name->path == NULL)
		return false;
	for (size_t i = 0; i <= text.len && name->n_path < LS_FILTER_MAX_PATH; i++)
	{
		if (i < text.len && text.data[i] != '.')
			continue;
		name->path[name->n_path++] = ls_str_make(name->key.data + begin, i - begin);
		begin = i + 1;
	}
	return true;
}

static ls_attribute *
find_attribute(ls_pipeline_run *run, ls_str key)
{
	for (size_t i = 0; i < run->event.n_attributes; i++)
	{
		if (ls_str_eq(run->attributes[i].key, key))
			return &run->attributes[i];
	}
	return NULL;
}

bool
ls_pipeline_get(ls_pipeline_run *run, const event_name *name, event_value *value)
{
	const ls_attribute *a;
	size_t length;
	ls_member member;
	ls_buf scratch;
	char *iso;

	*value = (event_value){.kind = LS_KIND_STRING};
	switch (name->kind)
	{
		case NAME_FIELD:
			if ((run->event.has & 1u << name->field) == 0)
				return false;
			value->text = run->event.field[name->field];
			return true;
		case NAME_TIMESTAMP:
			iso = ls_arena_alloc(run->arena, LS_TIME_ISO_LENGTH + 1);
			if (iso == NULL)
				return false;
			ls_time_format_iso(run->event.timestamp, iso);
			value->text = ls_str_make(iso, LS_TIME_ISO_LENGTH);
			return true;
		case NAME_ALL:
			return false;
		case NAME_ATTRIBUTE:
			break;
	}
	a = find_attribute(run, name->key);
	if (a != NULL)
	{
		*value = (event_value){a->kind, a->text, a->integer};
		return true;
	}
	length = name->key.len;
	for (uint32_t parts = name->n_path; parts > 1; parts--)
	{
		length -= name->path[parts - 1].len + 1;
		a = find_attribute(run, ls_str_make(name->key.data, length));
		if (a == NULL || a->kind != LS_KIND_JSON)
			continue;
		ls_buf_init(&scratch, run->arena);
		if (!ls_json_path(a->text, name->path + parts - 1, name->n_path - parts + 1, &scratch,
						  &member))
			continue;
		*value = (event_value){member.kind, member.text, member.integer};
		return true;
	}
	return false;
}

ls_str
ls_pipeline_text(ls_pipeline_run *run, const event_value *value)
{
	return ls_value_text(run->arena, value->kind, value->text, value->integer);
}

void
ls_pipeline_note_cut(ls_pipeline_run *run, ls_str prefix, ls_str name)
{
	if (run->cuts.len > 0)
		ls_buf_char(&run->cuts, ',');
	ls_buf_str(&run->cuts, prefix);
	ls_buf_str(&run->cuts, name);
	run->cut = true;
}

void
ls_pipeline_note_cut_field(ls_pipeline_run *run, ls_field field)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
	{
		if (fields[i].field != field)
			continue;
		ls_pipeline_note_cut(run, LS_STR(""), ls_str_make(fields[i].name, strlen(fields[i].name)));
		break;
	}
}

static const char *
set_field(ls_pipeline_run *run, const event_name *name, const event_value *value)
{
	size_t limit =
		name->field == LS_FIELD_EVENT ? run->limits.body_field_bytes : run->limits.value_bytes;
	ls_str text = ls_pipeline_text(run, value);

	if (name->field == LS_FIELD_INDEX)
		return "index is changed by a route only";
	if (name->field == LS_FIELD_LEVEL)
		text = ls_normalize_level(text);
	if (text.len == 0 && name->field == LS_FIELD_EVENT)
		return "event cannot be empty";
	if (text.len > limit)
	{
		text.len = ls_utf8_prefix_bytes(text.data, text.len, limit);
		ls_pipeline_note_cut_field(run, name->field);
	}
	run->event.field[name->field] = text;
	if (text.len > 0)
		run->event.has |= 1u << name->field;
	else
		run->event.has &= ~(1u << name->field);
	run->changed = true;
	return NULL;
}

static const char *
set_time(ls_pipeline_run *run, const event_value *value)
{
	ls_time time;
	bool good;

	if (value->kind == LS_KIND_INTEGER || value->kind == LS_KIND_NUMBER)
		good = ls_normalize_time_number(ls_pipeline_text(run, value), &time);
	else
		good =
			value->kind == LS_KIND_STRING &&
			(ls_normalize_time_text(value->text, &time) ||
			 ls_pipeline_read_time(value->text, LS_STR("%d/%b/%Y:%H:%M:%S %z"), run->now, &time));
	if (!good)
		return "not a time";
	if (time > run->now + run->limits.future_us)
		return "the time is more than 24 hours ahead";
	run->event.timestamp = time;
	run->changed = true;
	return NULL;
}

const char *
ls_pipeline_set(ls_pipeline_run *run, const event_name *name, const event_value *value)
{
	ls_attribute *a;
	ls_kind kind = value->kind;
	ls_str text = value->text;
	ls_str key = name->key;

	switch (name->kind)
	{
		case NAME_FIELD:
			return set_field(run, name, value);
		case NAME_TIMESTAMP:
			return set_time(run, value);
		case NAME_ALL:
			return "* cannot be set";
		case NAME_ATTRIBUTE:
			break;
	}
	if (text.len == 0)
		text = LS_STR(""); /* never NULL */
	if (text.len > run->limits.value_bytes)
	{
		text.len = ls_utf8_prefix_bytes(text.data, text.len, run->limits.value_bytes);
		kind = LS_KIND_STRING;
		ls_pipeline_note_cut(run, LS_STR("attributes."), key);
	}
	if (kind == LS_KIND_NUMBER && !ls_json_number_fits(text))
		kind = LS_KIND_STRING;
	key.len = ls_utf8_prefix_chars(key.data, key.len, run->limits.key_chars);
	/* Masks do not look at it, so no text of a sender may get there. */
	if (ls_str_eq(key, LS_STR(LS_PIPELINE_ERROR_ATTRIBUTE)))
		return LS_PIPELINE_ERROR_ATTRIBUTE " is the service's own";
	a = find_attribute(run, key);
	if (a == NULL)
	{
		if (run->event.n_attributes >= run->limits.attributes)
			return "the event has too many attributes";
		a = &run->attributes[run->event.n_attributes++];
	}
	*a = (ls_attribute){.key = key, .kind = kind, .text = text, .integer = value->integer};
	run->changed = true;
	return NULL;
}

/* ---- inside JSON ---- */

/* Does the key stand for the first parts of the path?  Returns how many; 0: it does not. */
static uint32_t
parts_of(ls_str key, const ls_str *path, uint32_t n_path)
{
	size_t length = 0;

	for (uint32_t n = 1; n <= n_path; n++)
	{
		const ls_str *part = &path[n - 1];

		if (n > 1 && (length >= key.len || key.data[length++] != '.'))
			return 0;
		if (key.len - length < part->len ||
			(part->len > 0 && memcmp(key.data + length, part->data, part->len) != 0))
			return 0;
		length += part->len;
		if (length == key.len)
			return n;
	}
	return 0;
}

static bool rewrite(ls_arena *arena, ls_str json, const ls_str *path, uint32_t n_path,
					value_change change, void *context, ls_buf *out, bool *found);

/* A path goes into the elements of an array: any of them may have the member. */
static bool
rewrite_elements(ls_json *j, ls_arena *arena, const ls_str *path, uint32_t n_path,
				 value_change change, void *context, ls_buf *out, bool *found)
{
	ls_json_value value;
	bool first = true;
	ls_str raw;

	if (!ls_json_read(j, &value))
		return false;
	ls_buf_char(out, '[');
	while (ls_json_element(j))
	{
		if (!ls_json_skip(j, &raw))
			return false;
		if (!first)
			ls_buf_char(out, ',');
		first = false;
		if (!rewrite(arena, raw, path, n_path, change, context, out, found))
			return false;
	}
	ls_buf_char(out, ']');
	return j->error == NULL;
}

static bool
rewrite(ls_arena *arena, ls_str json, const ls_str *path, uint32_t n_path, value_change change,
		void *context, ls_buf *out, bool *found)
{
	ls_json j;
	ls_json_value value;
	bool first = true;
	ls_json_type type;
	ls_str key;
	ls_str raw;

	ls_json_init(&j, json, arena, 128);
	if (!ls_json_peek(&j, &type))
		return false;
	if (type == LS_JSON_ARRAY)
		return rewrite_elements(&j, arena, path, n_path, change, context, out, found);
	if (type != LS_JSON_OBJECT)
	{
		ls_buf_str(out, json);
		return true;
	}
	if (!ls_json_read(&j, &value))
		return false;
	ls_buf_char(out, '{');
	while (ls_json_member(&j, &key))
	{
		uint32_t parts = parts_of(key, path, n_path);

		if (!ls_json_skip(&j, &raw))
			return false;
		if (parts == n_path && change == NULL)
		{
			*found = true;
			continue;
		}
		if (!first)
			ls_buf_char(out, ',');
		first = false;
		ls_json_quote(out, key);
		ls_buf_char(out, ':');
		if (parts == n_path)
		{
			*found = true;
			if (!change(context, raw, out))
				return false;
		}
		else if (parts > 0)
		{
			if (!rewrite(arena, raw, path + parts, n_path - parts, change, context, out, found))
				return false;
		}
		else
			ls_buf_str(out, raw);
	}
	ls_buf_char(out, '}');
	return j.error == NULL;
}

bool
ls_pipeline_rewrite(ls_arena *arena, ls_str json, const ls_str *path, uint32_t n_path,
					value_change change, void *context, ls_str *out, bool *found)
{
	ls_buf buf;

	*found = false;
	ls_buf_init(&buf, arena);
	if (!rewrite(arena, json, path, n_path, change, context, &buf, found) || buf.failed)
		return false;
	*out = ls_str_make(buf.data, buf.len);
	return true;
}

bool
ls_pipeline_is_cut_json(const ls_attribute *a, const event_name *name)
{
	size_t length = 0;
	size_t i = 0;

	if (a->kind != LS_KIND_STRING || name->n_path < 2)
		return false;
	while (i < a->text.len && strchr(" \t\r\n", a->text.data[i]) != NULL && a->text.data[i] != '\0')
		i++;
	if (i == a->text.len || (a->text.data[i] != '{' && a->text.data[i] != '['))
		return false;
	for (uint32_t k = 0; k + 1 < name->n_path; k++)
	{
		length += name->path[k].len + (k > 0);
		if (ls_str_eq(a->key, ls_str_make(name->key.data, length)))
			return true;
	}
	return false;
}

const char *
ls_pipeline_remove(ls_pipeline_run *run, const event_name *name)
{
	const char *failure = NULL;
	size_t kept = 0;
	bool found;
	ls_str json;

	if (name->kind == NAME_FIELD)
	{
		if (name->field == LS_FIELD_EVENT || name->field == LS_FIELD_INDEX)
			return "event and index cannot be removed";
		run->changed = run->changed || (run->event.has & 1u << name->field) != 0;
		run->event.has &= ~(1u << name->field);
		return NULL;
	}
	if (name->kind != NAME_ATTRIBUTE)
		return "timestamp cannot be removed";
	for (size_t i = 0; i < run->event.n_attributes; i++)
	{
		ls_attribute *a = &run->attributes[i];
		size_t length = 0;
		bool gone = false;

		if (ls_str_eq(a->key, name->key) || ls_pipeline_is_cut_json(a, name))
		{
			run->changed = true;
			continue;
		}
		for (uint32_t k = 0; a->kind == LS_KIND_JSON && k + 1 < name->n_path; k++)
		{
			length += name->path[k].len + (k > 0);
			if (!ls_str_eq(a->key, ls_str_make(name->key.data, length)))
				continue;
			if (!ls_pipeline_rewrite(run->arena, a->text, name->path + k + 1, name->n_path - k - 1,
									 NULL, NULL, &json, &found))
			{
				/* Whole: what was to be removed may be anywhere in it. */
				failure = "out of memory";
				gone = run->changed = true;
				break;
			}
			if (found)
				a->text = json;
			run->changed = run->changed || found;
		}
		if (!gone)
			run->attributes[kept++] = *a;
	}
	run->event.n_attributes = kept;
	return failure;
}
