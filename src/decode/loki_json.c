/*-------------------------------------------------------------------------
 *
 * loki_json.c
 *	  Loki's push request in JSON, straight to builders (pure).
 *
 *	{"streams": [{"stream": {"app": "shop"},
 *				  "values": [["1700000000000000000", "line", {"user": "7"}]]}]}
 *
 * A stream whose labels come after its values is passed over and read again,
 * as its clients write the labels first.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/loki.h"

#define MAX_DEPTH 16

typedef struct json_reader
{
	ls_loki loki;
	ls_json json;
	const char *problem; /* what is no syntax error, and where */
	size_t offset;
} json_reader;

static bool
fail(json_reader *reader, const ls_json *j, const char *problem)
{
	if (reader->problem == NULL && j->error == NULL)
	{
		reader->problem = problem;
		reader->offset = (size_t) (j->pos - reader->json.start);
	}
	return false;
}

static bool
expect(json_reader *reader, ls_json *j, ls_json_type type, const char *problem)
{
	ls_json_value value;

	return ls_json_read(j, &value) && (value.type == type || fail(reader, j, problem));
}

/* An object of texts; other values are taken as they are written. */
static bool
read_labels(json_reader *reader, ls_json *j, ls_loki_labels *labels, ls_arena *arena)
{
	ls_str name, text;
	ls_json_value value;
	ls_json_type type = LS_JSON_NULL; /* also at the end, where reading fails */

	ls_loki_clear(labels);
	if (!expect(reader, j, LS_JSON_OBJECT, "expected an object of labels"))
		return false;
	while (ls_json_member(j, &name))
	{
		ls_json_peek(j, &type);
		if (type == LS_JSON_STRING)
		{
			if (!ls_json_read(j, &value))
				return false;
			text = value.text;
		}
		else if (!ls_json_skip(j, &text))
			return false;
		if (type == LS_JSON_NULL)
			continue;
		if (arena != NULL)
		{
			/* The scratch arena, where texts with escapes are, does not live that long. */
			name = ls_arena_strdup(arena, name);
			text = ls_arena_strdup(arena, text);
			if (name.data == NULL || text.data == NULL)
				return ls_event_builder_fail(&reader->loki.builder, LS_DECODE_MEMORY, "",
											 LS_STR("out of memory"), 0);
		}
		ls_loki_add(&reader->loki, labels, name, text);
	}
	return j->error == NULL;
}

/* 0 is no time, and leaves the one that the event has: now. */
static bool
take_time(ls_event_builder *builder, ls_str text)
{
	int64_t nanos;

	if (!ls_json_canonical_int(text, &nanos) || nanos < 0)
		return ls_normalize_time_number(text, &builder->event.timestamp);
	if (nanos > 0)
		ls_event_builder_nanos(builder, (uint64_t) nanos);
	return true;
}

/* ["nanoseconds", "line", {metadata}], of which the bracket was read. */
static bool
read_entry(json_reader *reader, ls_json *j)
{
	const char *begin = j->pos - 1;
	ls_json_value when, line;
	ls_json_type type;
	ls_str raw;
	bool valid;

	ls_loki_entry_begin(&reader->loki);
	if (!ls_json_element(j))
		return fail(reader, j, "expected a time and a line");
	if (!ls_json_read(j, &when))
		return false;
	if (when.type != LS_JSON_STRING && when.type != LS_JSON_NUMBER)
		return fail(reader, j, "expected nanoseconds since 1970 as a string");
	valid = take_time(&reader->loki.builder, when.text);
	if (!ls_json_element(j))
		return fail(reader, j, "expected a line after the time");
	if (!ls_json_read(j, &line))
		return false;
	if (line.type != LS_JSON_STRING)
		return fail(reader, j, "expected a line as a string");
	for (int i = 0; ls_json_element(j); i++)
	{
		if (i == 0 && ls_json_peek(j, &type) && type == LS_JSON_OBJECT)
		{
			if (!read_labels(reader, j, &reader->loki.metadata, NULL))
				return false;
		}
		else if (!ls_json_skip(j, &raw))
			return false;
	}
	return j->error == NULL &&
		   ls_loki_entry_end(&reader->loki, valid, line.text, (size_t) (j->pos - begin));
}

static bool
read_values(json_reader *reader, ls_json *j)
{
	if (!expect(reader, j, LS_JSON_ARRAY, "expected an array of values"))
		return false;
	while (ls_json_element(j))
	{
		if (!expect(reader, j, LS_JSON_ARRAY, "expected an array of a time and a line") ||
			!read_entry(reader, j))
			return false;
	}
	return j->error == NULL;
}

static bool
read_stream(json_reader *reader)
{
	ls_json *j = &reader->json;
	ls_arena *arena = reader->loki.builder.options->arena;
	ls_str later = LS_STR("");
	bool had_labels = false;
	ls_json_value value;
	ls_json again;
	ls_str key;

	ls_loki_clear(&reader->loki.stream);
	if (!ls_json_read(j, &value))
		return false;
	if (value.type != LS_JSON_OBJECT)
		return fail(reader, j, "expected an object with stream and values");
	while (ls_json_member(j, &key))
	{
		ls_json_type type = LS_JSON_NULL;
		ls_str raw;

		ls_json_peek(j, &type);
		if (ls_str_eq(key, LS_STR("stream")) && type != LS_JSON_NULL && had_labels)
		{
			ls_event_builder_ignored(&reader->loki.builder, key);
			if (!ls_json_skip(j, &raw))
				return false;
		}
		else if (ls_str_eq(key, LS_STR("stream")) && type != LS_JSON_NULL)
		{
			had_labels = true;
			if (!read_labels(reader, j, &reader->loki.stream, arena))
				return false;
		}
		else if (ls_str_eq(key, LS_STR("entries")))
			return fail(reader, j,
						"expected stream and values, not the labels and entries of old clients");
		else if (!ls_str_eq(key, LS_STR("values")) || type == LS_JSON_NULL)
		{
			if (!ls_json_skip(j, &raw))
				return false;
		}
		else if (had_labels      ? !read_values(reader, j)
				 : later.len > 0 ? fail(reader, j, "values are there twice")
								 : !ls_json_skip(j, &later))
			return false;
	}
	if (j->error != NULL)
		return false;
	if (later.len == 0)
		return true;
	ls_json_init(&again, later, reader->loki.builder.options->scratch, MAX_DEPTH);
	again.start = j->start;
	return read_values(reader, &again);
}

static bool
read_request(json_reader *reader)
{
	ls_json *j = &reader->json;
	bool had = false;
	bool others = false;
	ls_str key, raw;

	if (!expect(reader, j, LS_JSON_OBJECT, "expected an object with streams"))
		return false;
	while (ls_json_member(j, &key))
	{
		ls_json_type type = LS_JSON_NULL;
		bool streams = ls_str_eq(key, LS_STR("streams"));

		ls_json_peek(j, &type);
		had = had || streams;
		others = others || !streams;
		if (!streams || type == LS_JSON_NULL)
		{
			if (!ls_json_skip(j, &raw))
				return false;
			continue;
		}
		if (!expect(reader, j, LS_JSON_ARRAY, "expected an array of streams"))
			return false;
		while (ls_json_element(j))
		{
			if (!read_stream(reader))
				return false;
		}
	}
	/* Something else, such as one event, must not be dropped without a word. */
	if (j->error == NULL && others && !had)
		return fail(reader, j, "expected streams; other JSON goes to /api/v1/logs");
	return j->error == NULL && ls_json_end(j);
}

bool
ls_decode_loki_json(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	json_reader reader = {.problem = NULL};
	ls_event_builder *builder = &reader.loki.builder;
	ls_buf text;

	if (!ls_loki_init(&reader.loki, options, result))
		return false;
	ls_json_init(&reader.json, body, options->scratch, MAX_DEPTH);
	if (read_request(&reader))
		return true;
	if (result->failure != LS_DECODE_OK)
		return false;
	if (ls_arena_failed(options->scratch) || ls_arena_failed(options->arena))
		return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
	if (reader.problem == NULL)
	{
		reader.problem = reader.json.error != NULL ? reader.json.error : "expected nothing more";
		reader.offset = reader.json.error != NULL ? reader.json.error_offset
												  : (size_t) (reader.json.pos - reader.json.start);
	}
	ls_buf_init(&text, options->arena);
	ls_buf_printf(&text, "invalid JSON at byte %zu: %s", reader.offset, reader.problem);
	return ls_event_builder_fail(
		builder, LS_DECODE_INVALID, "",
		text.failed ? LS_STR("invalid JSON") : ls_str_make(text.data, text.len), reader.offset);
}
