/*-------------------------------------------------------------------------
 *
 * splunk_decode.c
 *	  Bodies of Splunk's HTTP Event Collector to builders (pure).
 *
 * Events are JSON objects, one after the other with nothing between them or
 * with white space.  Each is an envelope: `event` is a text, or a document of
 * another program (json_event.h), and the rest says when and where it was.  The
 * members of an envelope may come in any order, so the values are found first
 * and read afterwards, `event` before all others.
 *
 * The raw form is lines of text; its query string says what envelopes say.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/parameter.h"
#include "src/decode/json_event.h"

/* The members of an envelope. */
typedef enum part
{
	PART_EVENT,
	PART_FIELDS,
	PART_TIME,
	PART_HOST,
	PART_SOURCE,
	PART_SOURCETYPE,
	PART_INDEX,
	N_PARTS
} part;

static const char *const part_names[N_PARTS] = {"event",  "fields",     "time", "host",
												"source", "sourcetype", "index"};

/* Attributes that say what an event has a field for, the best first. */
static const struct
{
	ls_field field;
	const char *names[5];
} known[] = {
	{LS_FIELD_LEVEL, {"level", "severity", "severity_text", "otel.log.severity.text", NULL}},
	{LS_FIELD_SERVICE, {"service", "service_name", "service.name", NULL}},
	{LS_FIELD_TRACE_ID, {"traceId", "trace_id", NULL}},
	{LS_FIELD_SPAN_ID, {"spanId", "span_id", NULL}},
};

static ls_str
text_of(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_attribute *
find(ls_event_builder *builder, ls_str key)
{
	for (size_t i = 0; i < builder->event.n_attributes; i++)
	{
		ls_attribute *a = &builder->attributes[i];

		if (a->kind == LS_KIND_STRING && a->text.len > 0 && ls_str_eq(a->key, key))
			return a;
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

/* Fields of the event that its attributes say; one of the same name is all said by the field. */
static void
take_known(ls_event_builder *builder)
{
	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
	{
		if ((builder->event.has & 1u << known[k].field) != 0)
			continue;
		for (int i = 0; known[k].names[i] != NULL; i++)
		{
			ls_attribute *a = find(builder, text_of(known[k].names[i]));

			if (a == NULL)
				continue;
			ls_event_builder_field(builder, known[k].field,
								   known[k].field == LS_FIELD_LEVEL ? ls_normalize_level(a->text)
																	: a->text);
			if (i == 0)
				drop(builder, a);
			break;
		}
	}
}

/* ---- one envelope ---- */

static void
reject(ls_event_builder *builder, part which, const char *code, const char *message)
{
	ls_event_builder_reject(builder, 400, code, part_names[which], message);
}

/* What Docker sends: the line is a member of the event. */
static void
take_line(ls_json_reader *reader)
{
	ls_event_builder *builder = &reader->builder;
	ls_attribute *line;

	/* The text is the document itself, for want of another one. */
	if (builder->event.field[LS_FIELD_EVENT].data != reader->begin ||
		(line = find(builder, LS_STR("line"))) == NULL)
		return;
	ls_event_builder_field(builder, LS_FIELD_EVENT, line->text);
	builder->whole = false;
	drop(builder, line);
}

/* `event`; also starts the builder. */
static bool
read_event(ls_json_reader *reader, ls_str raw)
{
	ls_event_builder *builder = &reader->builder;
	char first = raw.len > 0 ? raw.data[0] : '\0';

	ls_json_init(&reader->json, raw, builder->options->scratch, LS_JSON_EVENT_DEPTH);
	if (first == '{' || first == '"')
	{
		if (!ls_json_read_event(reader))
			return false;
		if ((builder->event.has & 1u << LS_FIELD_EVENT) == 0)
			reject(builder, PART_EVENT, "VALIDATION_ERROR", "must not be blank");
		else if (first == '{')
			take_line(reader);
		return true;
	}
	ls_event_builder_begin(builder);
	if (raw.len == 0 || ls_str_eq(raw, LS_STR("null")))
		reject(builder, PART_EVENT, "VALIDATION_ERROR", "required: expected a text or an object");
	else
		ls_event_builder_field(builder, LS_FIELD_EVENT, raw);
	return true;
}

static bool
read_fields(ls_json_reader *reader, ls_str raw)
{
	ls_json_value value;

	ls_json_init(&reader->json, raw, reader->builder.options->scratch, LS_JSON_EVENT_DEPTH);
	reader->begin = reader->json.pos;
	if (!ls_json_read(&reader->json, &value))
		return false;
	if (value.type == LS_JSON_OBJECT)
		return ls_json_read_attributes(reader);
	if (value.type != LS_JSON_NULL)
		reject(&reader->builder, PART_FIELDS, "VALIDATION_ERROR", "expected an object");
	return true;
}

/* Texts, and numbers as they are written; null and "" are as good as absent. */
static bool
read_text(ls_json_reader *reader, part which, ls_str raw, ls_str *text)
{
	ls_json j;
	ls_json_value value;

	*text = LS_STR("");
	if (raw.len == 0)
		return true;
	ls_json_init(&j, raw, reader->builder.options->scratch, 1);
	if (!ls_json_read(&j, &value) && ls_arena_failed(reader->builder.options->scratch))
		return false;
	if (value.type == LS_JSON_STRING || value.type == LS_JSON_NUMBER)
		*text = value.text;
	else if (value.type != LS_JSON_NULL)
		reject(&reader->builder, which, "VALIDATION_ERROR", "expected a string");
	return true;
}

/* What envelopes, or the query string of the raw form, say of an event. */
static void
say(ls_event_builder *builder, const ls_str texts[N_PARTS])
{
	ls_str own = (builder->event.has & 1u << LS_FIELD_SOURCE) != 0
					 ? builder->event.field[LS_FIELD_SOURCE]
					 : LS_STR("");

	if (texts[PART_TIME].len > 0 &&
		!ls_normalize_time_number(texts[PART_TIME], &builder->event.timestamp) &&
		!ls_normalize_time_text(texts[PART_TIME], &builder->event.timestamp))
		reject(builder, PART_TIME, "VALIDATION_ERROR", "expected seconds since 1970");
	ls_event_builder_field(builder, LS_FIELD_SOURCE,
						   texts[PART_SOURCE].len > 0 ? texts[PART_SOURCE]
						   : own.len > 0              ? own
													  : texts[PART_HOST]);
	if (own.len > 0 && texts[PART_SOURCE].len > 0 && !ls_str_eq(own, texts[PART_SOURCE]))
		ls_event_builder_attribute(builder, LS_STR("event.source"), LS_KIND_STRING, own, 0);
	ls_event_builder_field(builder, LS_FIELD_INDEX, texts[PART_INDEX]);
	if (texts[PART_HOST].len > 0)
		ls_event_builder_attribute(builder, LS_STR("host"), LS_KIND_STRING, texts[PART_HOST], 0);
	if (texts[PART_SOURCETYPE].len > 0)
		ls_event_builder_attribute(builder, LS_STR("sourcetype"), LS_KIND_STRING,
								   texts[PART_SOURCETYPE], 0);
}

static bool
is_absent(ls_str raw)
{
	return raw.len == 0 || ls_str_eq(raw, LS_STR("null")) || ls_str_eq(raw, LS_STR("\"\""));
}

/* The values of an envelope as written, of a name the first; false: see j->error. */
static bool
find_parts(ls_json *j, ls_event_builder *builder, ls_str raws[N_PARTS])
{
	ls_json_value value;
	ls_str key, raw;

	if (!ls_json_read(j, &value))
		return false;
	if (value.type != LS_JSON_OBJECT)
	{
		j->error = "expected an object";
		j->error_offset = (size_t) (j->pos - j->start);
		return false;
	}
	while (ls_json_member(j, &key))
	{
		bool known = false;

		if (!ls_json_skip(j, &raw))
			return false;

		for (int p = 0; p < N_PARTS; p++)
		{
			if (!ls_str_eq(key, text_of(part_names[p])))
				continue;
			known = true;
			if (is_absent(raws[p]))
				raws[p] = raw;
			else if (!is_absent(raw) && !ls_str_eq(raws[p], raw))
				ls_event_builder_ignored(builder, key);
		}
		if (!known)
			ls_event_builder_ignored(builder, key);
	}
	return j->error == NULL;
}

/* False when failure is no longer OK, or out of memory. */
static bool
read_envelope(ls_json_reader *reader, const ls_str raws[N_PARTS], size_t bytes)
{
	ls_event_builder *builder = &reader->builder;
	ls_str texts[N_PARTS];

	if (bytes > builder->options->limits.event_bytes)
	{
		ls_event_builder_begin(builder);
		return ls_event_builder_commit(builder, bytes);
	}
	if (!read_event(reader, raws[PART_EVENT]) ||
		(raws[PART_FIELDS].len > 0 && !read_fields(reader, raws[PART_FIELDS])))
		return false;
	for (int p = PART_TIME; p < N_PARTS; p++)
	{
		if (!read_text(reader, (part) p, raws[p], &texts[p]))
			return false;
	}
	take_known(builder);
	say(builder, texts);
	return ls_event_builder_commit(builder, bytes);
}

static bool
fail_events(ls_json_reader *reader, const ls_json *j, uint32_t number)
{
	ls_event_builder *builder = &reader->builder;
	ls_buf text;

	if (builder->result->failure != LS_DECODE_OK)
		return false;
	if (ls_arena_failed(builder->options->scratch))
		return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
	ls_buf_init(&text, builder->options->arena);
	ls_buf_printf(&text, "event %u: invalid JSON at byte %zu: %s", number, j->error_offset,
				  j->error != NULL ? j->error : "expected a value");
	return ls_event_builder_fail(
		builder, LS_DECODE_INVALID, "",
		text.failed ? LS_STR("invalid JSON") : ls_str_make(text.data, text.len), j->error_offset);
}

static bool
end(ls_event_builder *builder)
{
	const ls_decode_result *result = builder->result;

	return result->accepted + result->rejected > 0 ||
		   ls_event_builder_fail(builder, LS_DECODE_INVALID, "",
								 LS_STR("no data: expected at least one event"), 0);
}

bool
ls_decode_splunk_events(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	ls_json_reader reader;
	ls_json j;

	if (!ls_json_reader_init(&reader, options, body, result))
		return false;
	reader.documents = true;
	ls_json_init(&j, body, options->scratch, LS_JSON_EVENT_DEPTH);
	j.pos = reader.json.pos;
	while (!ls_json_end(&j))
	{
		ls_str raws[N_PARTS] = {{NULL, 0}};
		const char *begin = j.pos;

		if (!find_parts(&j, &reader.builder, raws) ||
			!read_envelope(&reader, raws, (size_t) (j.pos - begin)))
			return fail_events(&reader, &j, result->accepted + result->rejected);
	}
	return end(&reader.builder);
}

/* ---- lines ---- */

/* False: the query string is malformed. */
static bool
read_query(const ls_decode_options *options, ls_str texts[N_PARTS])
{
	ls_str query = options->query;
	ls_str name, value;
	bool bad;

	for (int p = 0; p < N_PARTS; p++)
		texts[p] = LS_STR("");
	while (ls_parameter_next(&query, options->arena, &name, &value, &bad))
	{
		if (bad)
			return false;
		for (int p = PART_TIME; p < N_PARTS; p++)
		{
			if (texts[p].len == 0 && ls_str_eq(name, text_of(part_names[p])))
				texts[p] = value;
		}
	}
	return true;
}

bool
ls_decode_splunk_raw(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	ls_event_builder builder;
	ls_str texts[N_PARTS];
	ls_str rest = body;
	ls_str line;

	if (!ls_event_builder_init(&builder, options, result))
		return false;
	if (!read_query(options, texts))
		return ls_event_builder_fail(&builder, LS_DECODE_INVALID, "",
									 LS_STR("malformed escape in the query string"), 0);
	while (ls_decode_next_line(&rest, &line))
	{
		if (ls_json_blank(line))
			continue;
		if (line.data[line.len - 1] == '\r')
			line.len--;
		ls_event_builder_begin(&builder);
		if (line.len <= options->limits.event_bytes)
		{
			ls_event_builder_field(&builder, LS_FIELD_EVENT,
								   ls_event_builder_text(options->scratch, line));
			say(&builder, texts);
		}
		if (!ls_event_builder_commit(&builder, line.len))
			return false;
	}
	return end(&builder);
}
