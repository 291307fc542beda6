/*-------------------------------------------------------------------------
 *
 * otlp_protobuf.c
 *	  OTLP logs in protobuf's wire format, straight to builders (pure).
 *
 * Fields may come in any order.  So a ResourceLogs is walked once for its
 * resource and once for its records; the first walk only hops over lengths.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/otlp.h"
#include "src/decode/protobuf.h"

typedef struct wire_reader
{
	ls_otlp otlp;
	ls_wire wire;
} wire_reader;

/* ---- values ---- */

static bool read_value(wire_reader *w, ls_str bytes, ls_buf *buf, int depth, ls_otlp_value *value);

/* Appends an AnyValue as JSON. */
static bool
append_value(wire_reader *w, ls_str bytes, ls_buf *buf, int depth)
{
	ls_otlp_value value;

	if (!read_value(w, bytes, buf, depth, &value))
		return false;
	if (value.kind != LS_KIND_JSON)
		ls_otlp_append(&w->otlp, buf, &value);
	return true;
}

static bool
append_array(wire_reader *w, ls_str bytes, ls_buf *buf, int depth)
{
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;
	bool first = true;

	ls_buf_char(buf, '[');
	while (ls_wire_next(&w->wire, &r, &field))
	{
		if (field.tag != LS_BYTES(1))
			continue;
		if (!first)
			ls_buf_char(buf, ',');
		first = false;
		if (!append_value(w, field.bytes, buf, depth))
			return false;
	}
	ls_buf_char(buf, ']');
	return w->wire.error == NULL;
}

/* The key and the value, still as bytes, of a KeyValue. */
static bool
split_pair(wire_reader *w, ls_str bytes, ls_str *key, ls_str *value)
{
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;

	*key = LS_STR("");
	*value = LS_STR("");
	while (ls_wire_next(&w->wire, &r, &field))
	{
		if (field.tag == LS_BYTES(1))
			*key = field.bytes;
		else if (field.tag == LS_BYTES(2))
			*value = field.bytes;
	}
	return w->wire.error == NULL;
}

static bool
append_list(wire_reader *w, ls_str bytes, ls_buf *buf, int depth)
{
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;
	bool first = true;

	ls_buf_char(buf, '{');
	while (ls_wire_next(&w->wire, &r, &field))
	{
		ls_str key, value;

		if (field.tag != LS_BYTES(1))
			continue;
		if (!first)
			ls_buf_char(buf, ',');
		first = false;
		if (!split_pair(w, field.bytes, &key, &value))
			return false;
		ls_json_quote(buf, ls_otlp_text(&w->otlp, buf->arena, key));
		ls_buf_char(buf, ':');
		if (!append_value(w, value, buf, depth))
			return false;
	}
	ls_buf_char(buf, '}');
	return w->wire.error == NULL;
}

/*
 * An AnyValue.  A list or an array is appended to `buf` as JSON and has no text
 * of its own.  Of several values the last one counts, as everywhere in protobuf.
 */
static bool
read_value(wire_reader *w, ls_str bytes, ls_buf *buf, int depth, ls_otlp_value *value)
{
	ls_reader r = ls_wire_message(bytes);
	size_t start = buf->len;
	ls_wire_field field;
	double number;

	*value = (ls_otlp_value){.kind = LS_KIND_NULL, .text = LS_STR("")};
	while (ls_wire_next(&w->wire, &r, &field))
	{
		switch (field.tag)
		{
			case LS_BYTES(1):
				*value = (ls_otlp_value){LS_KIND_STRING, field.bytes, 0};
				break;
			case LS_VARINT(2):
				*value = (ls_otlp_value){LS_KIND_BOOLEAN, LS_STR(""), field.number != 0};
				break;
			case LS_VARINT(3):
				*value = (ls_otlp_value){LS_KIND_INTEGER, LS_STR(""), (int64_t) field.number};
				break;
			case LS_FIXED64(4):
				memcpy(&number, &field.number, sizeof(number));
				*value = ls_otlp_double(buf->arena, number);
				break;
			case LS_BYTES(5):
			case LS_BYTES(6):
				if (depth >= LS_OTLP_DEPTH)
					return ls_wire_fail(&w->wire, &r, "values are nested too deeply");
				buf->len = start;
				*value = (ls_otlp_value){LS_KIND_JSON, LS_STR(""), 0};
				if (!(field.tag == LS_BYTES(5) ? append_array(w, field.bytes, buf, depth + 1)
											   : append_list(w, field.bytes, buf, depth + 1)))
					return false;
				break;
			case LS_BYTES(7):
				*value = ls_otlp_bytes(buf->arena, field.bytes);
				break;
			default:
				break;
		}
	}
	if (value->kind != LS_KIND_JSON)
		buf->len = start;
	return w->wire.error == NULL;
}

/* An AnyValue with its text, in `arena` or a view into the body. */
static bool
read_whole_value(wire_reader *w, ls_str bytes, ls_arena *arena, ls_otlp_value *value)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	if (!read_value(w, bytes, &buf, 0, value))
		return false;
	if (value->kind == LS_KIND_JSON)
		value->text = ls_str_make(buf.data, buf.failed ? 0 : buf.len);
	return true;
}

/* ---- what records share ---- */

static bool
share_pair(wire_reader *w, ls_otlp_shared *shared, ls_str prefix, ls_str bytes)
{
	ls_otlp_value read;
	ls_str key, value;

	if (!split_pair(w, bytes, &key, &value) ||
		!read_whole_value(w, value, w->otlp.builder.options->arena, &read))
		return false;
	if (!ls_otlp_share(&w->otlp, shared, prefix, key, &read))
		return ls_event_builder_fail(&w->otlp.builder, LS_DECODE_MEMORY, "",
									 LS_STR("out of memory"), 0);
	return true;
}

static bool
share_text(wire_reader *w, ls_str key, ls_str text)
{
	ls_otlp_value value = {LS_KIND_STRING, text, 0};

	if (text.len == 0 || ls_otlp_share(&w->otlp, &w->otlp.scope, LS_STR("scope."), key, &value))
		return true;
	return ls_event_builder_fail(&w->otlp.builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"),
								 0);
}

static bool
read_resource(wire_reader *w, ls_str bytes)
{
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;

	while (ls_wire_next(&w->wire, &r, &field))
	{
		if (field.tag == LS_BYTES(1) &&
			!share_pair(w, &w->otlp.resource, LS_STR("resource."), field.bytes))
			return false;
	}
	return w->wire.error == NULL;
}

static bool
read_scope(wire_reader *w, ls_str bytes)
{
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;
	bool good = true;

	while (good && ls_wire_next(&w->wire, &r, &field))
	{
		if (field.tag == LS_BYTES(1))
			good = share_text(w, LS_STR("name"), field.bytes);
		else if (field.tag == LS_BYTES(2))
			good = share_text(w, LS_STR("version"), field.bytes);
		else if (field.tag == LS_BYTES(3))
			good = share_pair(w, &w->otlp.scope, LS_STR("scope."), field.bytes);
	}
	return good && w->wire.error == NULL;
}

/* ---- records ---- */

static bool
read_attribute(wire_reader *w, ls_str bytes)
{
	ls_otlp_value read;
	ls_str key, value;

	if (!split_pair(w, bytes, &key, &value) ||
		!read_whole_value(w, value, w->otlp.builder.options->scratch, &read))
		return false;
	ls_otlp_attribute(&w->otlp, key, &read);
	return true;
}

static bool
read_record_field(wire_reader *w, const ls_wire_field *field, ls_otlp_record *record)
{
	ls_arena *scratch = w->otlp.builder.options->scratch;

	switch (field->tag)
	{
		case LS_FIXED64(1):
			record->time = field->number;
			break;
		case LS_VARINT(2):
			record->severity = (int64_t) field->number;
			break;
		case LS_BYTES(3):
			record->severity_text = field->bytes;
			break;
		case LS_BYTES(5):
			return read_whole_value(w, field->bytes, scratch, &record->body);
		case LS_BYTES(6):
			return read_attribute(w, field->bytes);
		case LS_BYTES(9):
			record->trace_id = ls_otlp_id(scratch, field->bytes);
			break;
		case LS_BYTES(10):
			record->span_id = ls_otlp_id(scratch, field->bytes);
			break;
		case LS_FIXED64(11):
			record->observed = field->number;
			break;
		case LS_BYTES(12):
			record->event_name = field->bytes;
			break;
		default:
			break;
	}
	return true;
}

static bool
read_record(wire_reader *w, ls_str bytes)
{
	ls_otlp_record record = {.body.kind = LS_KIND_NULL};
	ls_reader r = ls_wire_message(bytes);
	ls_wire_field field;

	ls_event_builder_begin(&w->otlp.builder);
	/* One that is too large is not read: nothing of it is kept. */
	if (bytes.len <= w->otlp.builder.options->limits.event_bytes)
	{
		while (ls_wire_next(&w->wire, &r, &field))
		{
			if (!read_record_field(w, &field, &record))
				return false;
		}
		if (w->wire.error != NULL)
			return false;
	}
	return ls_otlp_record_end(&w->otlp, &record, bytes.len);
}

/* A message whose field 1 says what those in field 2 share, and may come after them. */
static bool
read_sharing(wire_reader *w, ls_str bytes, bool (*read_shared)(wire_reader *, ls_str),
			 bool (*read_one)(wire_reader *, ls_str))
{
	ls_wire_field field;

	for (int number = 1; number <= 2; number++)
	{
		ls_reader r = ls_wire_message(bytes);

		while (ls_wire_next(&w->wire, &r, &field))
		{
			if (field.tag == LS_BYTES((uint64_t) number) &&
				!(number == 1 ? read_shared : read_one)(w, field.bytes))
				return false;
		}
	}
	return w->wire.error == NULL;
}

static bool
read_scope_logs(wire_reader *w, ls_str bytes)
{
	ls_otlp_shared_clear(&w->otlp.scope);
	return read_sharing(w, bytes, read_scope, read_record);
}

static bool
read_resource_logs(wire_reader *w, ls_str bytes)
{
	ls_otlp_shared_clear(&w->otlp.resource);
	return read_sharing(w, bytes, read_resource, read_scope_logs);
}

bool
ls_decode_otlp_protobuf(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	wire_reader w = {.wire.body = body};
	ls_reader r = ls_wire_message(body);
	ls_wire_field field;

	if (!ls_otlp_init(&w.otlp, options, result, false))
		return false;
	while (ls_wire_next(&w.wire, &r, &field))
	{
		if (field.tag == LS_BYTES(1) && !read_resource_logs(&w, field.bytes))
			break;
	}
	if (result->failure != LS_DECODE_OK)
		return false;
	if (w.wire.error == NULL)
		return true;
	return ls_event_builder_fail(&w.otlp.builder, LS_DECODE_INVALID, "",
								 ls_wire_message_of(&w.wire, options->arena), w.wire.offset);
}
