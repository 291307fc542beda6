/*-------------------------------------------------------------------------
 *
 * decode_json.c
 *	  JSON bodies of the service's own routes: one event, a batch, lines; lines of text (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/json_event.h"

static bool
is_gzip(const ls_json *j)
{
	return j->end - j->start > 2 && memcmp(j->start, "\x1f\x8b", 2) == 0;
}

/* Does no JSON begin there, but some text? */
static bool
begins_as_text(const ls_json *j, size_t offset)
{
	const char *begin = j->start + offset;

	return begin < j->end && ls_json_blank(ls_str_make(j->start, offset));
}

/* A name, and = */
static bool
is_form(const ls_json *j)
{
	const char *s = j->start;

	while (s < j->end && ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_'))
		s++;
	return s > j->start && s < j->end && *s == '=';
}

static ls_str
syntax_message(ls_json_reader *reader, const char *error, size_t offset)
{
	ls_buf buf;

	ls_buf_init(&buf, reader->builder.options->arena);
	if (is_gzip(&reader->json))
		return LS_STR("the body is gzip: send it with Content-Encoding: gzip");
	ls_buf_printf(
		&buf, "invalid JSON at byte %zu: %s%s", offset, error,
		!begins_as_text(&reader->json, offset) ? ""
		: is_form(&reader->json)
			? "; a form (curl -d event=...) is not taken: send {\"event\": \"...\"}, or text "
			  "with Content-Type: text/plain"
			: "; text needs Content-Type: text/plain");
	return buf.failed ? LS_STR("invalid JSON") : ls_str_make(buf.data, buf.len);
}

/* Ends a JSON body: it is good only as a whole. */
static bool
end_body(ls_json_reader *reader)
{
	ls_event_builder *builder = &reader->builder;
	ls_json *j = &reader->json;

	if (builder->result->failure != LS_DECODE_OK)
		return false;
	if (j->error == NULL && ls_json_end(j))
		return true;
	if (ls_arena_failed(builder->options->scratch))
		return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
	if (j->error == NULL)
	{
		j->error = j->pos < j->end && *j->pos == '{'
					   ? "expected nothing more; one event per line needs Content-Type: "
						 "application/x-ndjson (curl: --data-binary, because -d takes the line "
						 "ends out)"
					   : "expected nothing more";
		j->error_offset = (size_t) (j->pos - j->start);
	}
	return ls_event_builder_fail(builder, LS_DECODE_INVALID, "",
								 syntax_message(reader, j->error, j->error_offset),
								 j->error_offset);
}

static bool
fail_events(ls_json_reader *reader, ls_str message)
{
	return ls_event_builder_fail(&reader->builder, LS_DECODE_INVALID, "events", message, 0);
}

/* Ends a body in which there must be an event. */
static bool
end_list(ls_json_reader *reader)
{
	const ls_decode_result *result = reader->builder.result;

	if (!end_body(reader))
		return false;
	return result->accepted + result->rejected > 0 ||
		   fail_events(reader, LS_STR("expected at least one event"));
}

bool
ls_decode_event(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	ls_json_reader reader;
	ls_json_wrapper wrapper;

	if (!ls_json_reader_init(&reader, options, body, result))
		return false;
	if (options->wrapped && ls_json_find_wrapper(&reader, true, &wrapper))
		return ls_json_read_wrapper(&reader, &wrapper, -1) && end_list(&reader);
	reader.single = true;
	if (ls_json_read_event(&reader) && !ls_json_commit_event(&reader))
		return false;
	return end_body(&reader);
}

static bool
read_events(ls_json_reader *reader)
{
	while (ls_json_element(&reader->json))
	{
		if (!ls_json_read_event(reader) || !ls_json_commit_event(reader))
			return false;
	}
	return reader->json.error == NULL;
}

/* Elements of the array that the body is, of which the first one is a wrapper. */
static bool
read_wrappers(ls_json_reader *reader, ls_json_wrapper *wrapper)
{
	int number = 0;

	do
	{
		if (number == 0 || ls_json_find_wrapper(reader, true, wrapper))
		{
			if (!ls_json_read_wrapper(reader, wrapper, number))
				return false;
		}
		else if (!ls_json_read_event(reader) || !ls_json_commit_event(reader))
			return false;
		number++;
	} while (ls_json_element(&reader->json));
	return reader->json.error == NULL;
}

/* The array that the body is.  Only its first element is asked whether it is a wrapper. */
static bool
read_array(ls_json_reader *reader)
{
	ls_json begin = reader->json;
	ls_json_wrapper wrapper;

	if (reader->builder.options->wrapped && ls_json_element(&reader->json) &&
		ls_json_find_wrapper(reader, true, &wrapper))
		return read_wrappers(reader, &wrapper);
	reader->json = begin;
	return read_events(reader);
}

bool
ls_decode_batch(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	ls_json_reader reader;
	ls_json_wrapper wrapper;
	ls_json_value value;
	ls_str key;
	bool had_events = false;

	if (!ls_json_reader_init(&reader, options, body, result))
		return false;
	/* A body with `events` is read below, where other members are ignored. */
	if (options->wrapped && ls_json_find_wrapper(&reader, false, &wrapper))
		return ls_json_read_wrapper(&reader, &wrapper, -1) && end_list(&reader);
	if (!ls_json_read(&reader.json, &value))
		return end_body(&reader);
	if (value.type == LS_JSON_ARRAY)
	{
		had_events = true;
		read_array(&reader);
	}
	else if (value.type == LS_JSON_OBJECT)
	{
		while (ls_json_member(&reader.json, &key))
		{
			bool events = ls_str_eq(key, LS_STR("events"));

			if (events && had_events)
				return fail_events(&reader, LS_STR("there are two lists of this name: send one"));
			if (!events)
				ls_event_builder_ignored(&reader.builder, key);
			if (!ls_json_read(&reader.json, &value))
				break;
			if (events && value.type != LS_JSON_ARRAY)
				return fail_events(&reader, LS_STR("expected an array of events"));
			had_events = had_events || events;
			reader.begin = reader.json.pos;
			if (!(events ? read_events(&reader) : ls_json_pass_over(&reader, &value)))
				break;
		}
	}
	else
		return fail_events(&reader, LS_STR("expected an object with events, or an array"));

	if (!end_body(&reader))
		return false;
	if (!had_events)
		return fail_events(&reader,
						   LS_STR("required: expected an array of events; one event goes to "
								  "/api/v1/logs, events as lines need Content-Type: "
								  "application/x-ndjson"));
	if (result->accepted + result->rejected == 0)
		return fail_events(&reader, LS_STR("expected at least one event"));
	return true;
}

/* Lines that were taken out of an array end with its commas. */
static ls_str
without_comma(ls_str line)
{
	size_t len = line.len;

	while (len > 0 && (line.data[len - 1] == '\r' || line.data[len - 1] == ' '))
		len--;
	return len > 1 && line.data[len - 1] == ',' ? ls_str_make(line.data, len - 1) : line;
}

bool
ls_decode_ndjson(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	ls_json_reader reader;
	ls_str rest;
	ls_str line;
	uint64_t number = 0;

	if (!ls_json_reader_init(&reader, options, body, result))
		return false;
	rest = ls_str_make(reader.json.pos, (size_t) (body.data + body.len - reader.json.pos));
	while (ls_decode_next_line(&rest, &line))
	{
		number++;
		if (ls_json_blank(line))
			continue;
		ls_json_init(&reader.json, without_comma(line), options->scratch, LS_JSON_EVENT_DEPTH);
		if (ls_json_read_event(&reader) && ls_json_end(&reader.json))
		{
			if (!ls_json_commit_event(&reader))
				return false;
		}
		else if (result->failure != LS_DECODE_OK || !ls_json_reject_line(&reader, line, number))
			return false;
	}
	if (result->accepted + result->rejected == 0)
		return ls_event_builder_fail(&reader.builder, LS_DECODE_INVALID, "events",
									 LS_STR("expected at least one event"), 0);
	return true;
}

/* ---- lines of text ---- */

/*
 * Is the body one JSON value that lines would take to pieces: an array, or an object of several lines?
 * Lines of which the first begins like JSON are read up to the first mistake only.
 */
static bool
is_one_value(const ls_decode_options *options, ls_str body)
{
	ls_json_type type;
	ls_str raw;
	ls_json j;

	ls_json_init(&j, body, options->scratch, LS_JSON_EVENT_DEPTH);
	return ls_json_peek(&j, &type) && (type == LS_JSON_ARRAY || type == LS_JSON_OBJECT) &&
		   ls_json_skip(&j, &raw) && ls_json_end(&j) &&
		   (type == LS_JSON_ARRAY || memchr(raw.data, '\n', raw.len) != NULL);
}

bool
ls_decode_text(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	ls_decode_options own = *options;
	ls_event_builder builder;
	ls_str rest = body;
	ls_str line;

	/* A browser's sendBeacon() says of JSON that it is text/plain. */
	if (own.parse == LS_PARSE_BY_INDEX)
		own.parse = LS_PARSE_JSON;
	if (!ls_event_builder_init(&builder, &own, result))
		return false;
	if (is_one_value(&own, body))
		return ls_event_builder_fail(
			&builder, LS_DECODE_INVALID, "",
			LS_STR("this is JSON and no lines of text: send it as application/json"), 0);
	if (body.len >= 3 && memcmp(body.data, "\xEF\xBB\xBF", 3) == 0)
		rest = ls_str_make(body.data + 3, body.len - 3);
	while (ls_decode_next_line(&rest, &line))
	{
		if (ls_json_blank(line))
			continue;
		if (line.data[line.len - 1] == '\r')
			line.len--;
		ls_event_builder_begin(&builder);
		if (line.len <= own.limits.event_bytes)
			ls_event_builder_field(&builder, LS_FIELD_EVENT,
								   ls_event_builder_text(own.scratch, line));
		if (!ls_event_builder_commit(&builder, line.len))
			return false;
	}
	if (result->accepted + result->rejected == 0)
		return ls_event_builder_fail(&builder, LS_DECODE_INVALID, "events",
									 LS_STR("expected at least one event"), 0);
	return true;
}

/* ---- lines ---- */

bool
ls_json_blank(ls_str line)
{
	for (size_t i = 0; i < line.len; i++)
	{
		if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r')
			return false;
	}
	return true;
}

bool
ls_json_reject_line(ls_json_reader *reader, ls_str line, uint64_t number)
{
	ls_event_builder *builder = &reader->builder;
	ls_json *j = &reader->json;
	size_t offset;
	ls_buf buf;

	if (ls_arena_failed(builder->options->scratch))
		return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
	if (j->error == NULL)
	{
		j->error = j->pos < j->end && *j->pos == '{'
					   ? "expected the end of the line: one event per line (curl: --data-binary, "
						 "because -d takes the line ends out)"
					   : "expected the end of the line";
		j->error_offset = (size_t) (j->pos - j->start);
	}
	offset = j->error_offset;
	ls_event_builder_begin(builder);
	if (builder->result->n_errors < LS_DECODE_MAX_ERRORS)
	{
		ls_buf_init(&buf, builder->options->arena);
		ls_buf_printf(&buf, "invalid JSON in line %llu at byte %zu: %s%s",
					  (unsigned long long) number, offset, j->error,
					  offset == 0 && line.len > 0 ? "; lines of text need Content-Type: text/plain"
												  : "");
		ls_buf_char(&buf, '\0');
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "",
								buf.failed ? "invalid JSON" : buf.data);
	}
	else
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "", "invalid JSON");
	return ls_event_builder_commit(builder, line.len);
}
