/*-------------------------------------------------------------------------
 *
 * event_json.c
 *	  A stored event as the JSON object that clients see.
 *
 * Attributes come out as they came in: same order, same types, same numbers.
 * Fields that stage `fields` removes are left out here, so they are never built.
 * Attributes that are shown by name are never hidden.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/part_scan.h"

#include "utils/builtins.h"

#include "src/part/event_id.h"

PG_FUNCTION_INFO_V1(logsvc_value_without);

#define MEMBER_MEMORY ((size_t) 64 * 1024 * 1024)

typedef struct writer
{
	ls_buf *buf;
	const ls_projection *projection;
	bool first;
} writer;

static bool
same_field(const ls_scan_field *field, ls_scan_source source, ls_field named)
{
	return field->n_path == 0 && field->path == NULL && field->named == named &&
		   (source == LS_SOURCE_COLUMNS
				? field->source == LS_SOURCE_COLUMNS || field->source == LS_SOURCE_INDEX
				: field->source == source);
}

static bool
visible(const ls_projection *p, ls_scan_source source, ls_field named)
{
	bool shown = p->shown == NULL;

	for (int i = 0; i < p->n_shown && !shown; i++)
		shown = same_field(&p->shown[i], source, named);
	for (int i = 0; i < p->n_hidden && shown; i++)
		shown = !same_field(&p->hidden[i], source, named);
	return shown;
}

static void
name(writer *w, ls_str key)
{
	if (!w->first)
		ls_buf_char(w->buf, ',');
	w->first = false;
	ls_json_quote(w->buf, key);
	ls_buf_char(w->buf, ':');
}

static void
time_member(writer *w, ls_str key, ls_scan_source source, ls_time time)
{
	char iso[LS_TIME_ISO_LENGTH + 1];

	if (!visible(w->projection, source, LS_FIELD_ATTRIBUTE))
		return;
	ls_time_format_iso(time, iso);
	name(w, key);
	ls_buf_char(w->buf, '"');
	ls_buf_append(w->buf, iso, LS_TIME_ISO_LENGTH);
	ls_buf_char(w->buf, '"');
}

/* ---- attributes ---- */

static bool
is_all(const ls_scan_field *field)
{
	return field->path != NULL && field->n_path == 0;
}

/* Does the key equal the first `n` parts of the path? */
static bool
key_is(const ls_scan_field *field, uint32 n, ls_str key)
{
	size_t at = 0;

	for (uint32 i = 0; i < n; i++)
	{
		if (i > 0 && (at >= key.len || key.data[at++] != '.'))
			return false;
		if (key.len - at < field->path[i].len ||
			memcmp(key.data + at, field->path[i].data, field->path[i].len) != 0)
			return false;
		at += field->path[i].len;
	}
	return at == key.len;
}

/* Copies a value without the member that path[from...] names. */
static void
copy_without(ls_buf *buf, ls_json *j, const ls_scan_field *field, uint32 from)
{
	ls_json_value v;
	ls_json_type type;
	ls_str key;
	bool first = true;

	if (!ls_json_peek(j, &type) || type != LS_JSON_OBJECT)
	{
		ls_json_compact(j, buf);
		return;
	}
	ls_json_read(j, &v);
	ls_buf_char(buf, '{');
	while (ls_json_member(j, &key))
	{
		ls_scan_field rest = {.path = field->path + from, .n_path = field->n_path - from};
		uint32 depth = 0;

		for (uint32 n = rest.n_path; n > 0 && depth == 0; n--)
		{
			if (key_is(&rest, n, key))
				depth = n;
		}
		if (depth == rest.n_path)
		{
			ls_json_skip(j, &key);
			continue;
		}
		if (!first)
			ls_buf_char(buf, ',');
		first = false;
		ls_json_quote(buf, key);
		ls_buf_char(buf, ':');
		if (depth > 0)
			copy_without(buf, j, field, from + depth);
		else
			ls_json_compact(j, buf);
	}
	ls_buf_char(buf, '}');
}

/* Appends one attribute, unless it is hidden, without its hidden members. */
static void
attribute(writer *w, const ls_attribute *a)
{
	const ls_projection *p = w->projection;
	ls_str text = a->text;

	for (int i = 0; i < p->n_hidden; i++)
	{
		const ls_scan_field *hidden = &p->hidden[i];

		if (hidden->n_path > 0 && key_is(hidden, hidden->n_path, a->key))
			return;
	}
	for (int i = 0; i < p->n_hidden && a->kind == LS_KIND_JSON; i++)
	{
		const ls_scan_field *hidden = &p->hidden[i];

		for (uint32 n = hidden->n_path; n > 1; n--)
		{
			ls_json j;
			ls_buf copy;

			if (!key_is(hidden, n - 1, a->key))
				continue;
			ls_buf_init(&copy, w->buf->arena);
			ls_json_init(&j, text, w->buf->arena, 1000);
			copy_without(&copy, &j, hidden, n - 1);
			if (!copy.failed && j.error == NULL)
				text = ls_str_make(copy.data, copy.len);
			break;
		}
	}
	name(w, a->key);
	ls_scan_value_json(w->buf, a->kind, text, a->integer);
}

/* Appends one attribute, or a member of one, by its name. */
static void
shown_attribute(writer *w, ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row)
{
	size_t begin = w->buf->len;
	bool first = w->first;
	ls_buf key;

	ls_buf_init(&key, w->buf->arena);
	for (uint32 part = 0; part < field->n_path; part++)
	{
		if (part > 0)
			ls_buf_char(&key, '.');
		ls_buf_str(&key, field->path[part]);
	}
	name(w, ls_str_make(key.data, key.len));
	if (!ls_scan_field_value(scan, field, block, row, w->buf))
	{
		w->buf->len = begin;
		w->first = first;
	}
}

static void
attributes(writer *w, ls_scan *scan, const ls_event *event, uint32 block, uint32 row)
{
	const ls_projection *p = w->projection;
	size_t before = w->buf->len;
	bool outer_first = w->first;
	bool all = p->shown == NULL;
	bool any = false;

	for (int i = 0; i < p->n_shown; i++)
		all = all || is_all(&p->shown[i]);
	for (int i = 0; i < p->n_hidden; i++)
	{
		if (is_all(&p->hidden[i]))
			return;
	}
	name(w, LS_STR("attributes"));
	ls_buf_char(w->buf, '{');
	w->first = true;
	if (all)
	{
		for (size_t i = 0; i < event->n_attributes; i++)
			attribute(w, &event->attributes[i]);
	}
	else
	{
		for (int i = 0; i < p->n_shown; i++)
		{
			if (p->shown[i].n_path > 0)
				shown_attribute(w, scan, &p->shown[i], block, row);
		}
	}
	any = !w->first;
	ls_buf_char(w->buf, '}');
	w->first = false;
	if (!any)
	{
		w->buf->len = before;
		w->first = outer_first;
	}
}

static void
truncated(writer *w, ls_str names)
{
	size_t begin = 0;
	bool first = true;

	name(w, LS_STR("truncatedFields"));
	ls_buf_char(w->buf, '[');
	for (size_t i = 0; i <= names.len; i++)
	{
		if (i < names.len && names.data[i] != ',')
			continue;
		if (!first)
			ls_buf_char(w->buf, ',');
		first = false;
		ls_json_quote(w->buf, ls_str_make(names.data + begin, i - begin));
		begin = i + 1;
	}
	ls_buf_char(w->buf, ']');
}

void
ls_event_json(ls_buf *buf, ls_scan *scan, const ls_event *event, uint32 block, uint32 row,
			  const ls_projection *projection)
{
	static const struct
	{
		ls_field field;
		const char *key;
	} members[] = {{LS_FIELD_EVENT, "event"},   {LS_FIELD_LEVEL, "level"},
				   {LS_FIELD_SOURCE, "source"}, {LS_FIELD_SERVICE, "service"},
				   {LS_FIELD_INDEX, "index"},   {LS_FIELD_TRACE_ID, "traceId"},
				   {LS_FIELD_SPAN_ID, "spanId"}};
	writer w = {.buf = buf, .projection = projection, .first = true};
	char id[LS_EVENT_ID_LENGTH + 1];

	ls_buf_char(buf, '{');
	if (visible(projection, LS_SOURCE_ID, LS_FIELD_ATTRIBUTE))
	{
		ls_event_id_format(event->batch, event->place, id);
		name(&w, LS_STR("id"));
		ls_buf_char(buf, '"');
		ls_buf_append(buf, id, LS_EVENT_ID_LENGTH);
		ls_buf_char(buf, '"');
	}
	time_member(&w, LS_STR("timestamp"), LS_SOURCE_TIMESTAMP, event->timestamp);
	time_member(&w, LS_STR("ingestedAt"), LS_SOURCE_INGESTED_AT, event->ingested_at);
	for (size_t i = 0; i < lengthof(members); i++)
	{
		ls_field field = members[i].field;
		bool has = (event->has & 1u << field) != 0;
		ls_str text = event->field[field];

		if (field == LS_FIELD_INDEX && scan->stored)
		{
			has = true;
			text = scan->index;
		}
		else if (!has && field == LS_FIELD_EVENT)
		{
			has = true;
			text = LS_STR("");
		}
		if (!has || !visible(projection, LS_SOURCE_COLUMNS, field))
			continue;
		name(&w, ls_str_of_cstring(members[i].key));
		ls_json_quote(buf, text);
	}
	attributes(&w, scan, event, block, row);
	if (projection->shown == NULL && (event->has & 1u << LS_FIELD_TRUNCATED) != 0)
		truncated(&w, event->field[LS_FIELD_TRUNCATED]);
	ls_buf_char(buf, '}');
}

/* value_without(value text, path text): a JSON text without the member. */
Datum
logsvc_value_without(PG_FUNCTION_ARGS)
{
	ls_str value = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_arena *arena;
	ls_scan_field field;
	text *result;
	ls_json j;
	ls_buf copy;

	if (value.len == 0 || value.data[0] != '{')
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	arena = ls_context_arena(CurrentMemoryContext, MEMBER_MEMORY);
	ls_scan_field_parse(arena, ls_str_of_text(PG_GETARG_TEXT_PP(1)), &field);
	ls_buf_init(&copy, arena);
	ls_json_init(&j, value, arena, 1000);
	copy_without(&copy, &j, &field, 0);
	if (copy.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	result = ls_text_of_str(j.error != NULL ? value : ls_str_make(copy.data, copy.len));
	ls_arena_destroy(arena);
	PG_RETURN_TEXT_P(result);
}
