/*-------------------------------------------------------------------------
 *
 * otlp_json.c
 *	  OTLP logs in protobuf's JSON mapping, straight from the pull parser to
 *	  builders (pure).
 *
 * Names may be lowerCamelCase or snake_case, numbers may be numbers or strings,
 * ids are hex (base64, which strict protobuf would use, is taken too), null is
 * absent, and what is unknown is passed over.
 *
 * Exporters write a resource before its records.  Where it comes after them
 * (or is missing) the records are passed over and read at the end.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/otlp.h"

/* Containers within containers of a body; that is 13 lists within lists in a record. */
#define MAX_DEPTH 62

typedef struct json_reader
{
	ls_otlp otlp;
	ls_json json;
	bool in_record; /* what has the wrong type rejects the record, not the body */
} json_reader;

static bool
is(ls_str key, const char *camel, const char *snake)
{
	return (key.len == strlen(camel) && memcmp(key.data, camel, key.len) == 0) ||
		   (key.len == strlen(snake) && memcmp(key.data, snake, key.len) == 0);
}

static bool
skip(json_reader *reader)
{
	ls_str raw;

	return ls_json_skip(&reader->json, &raw);
}

/* Something has the wrong type.  False when that is the end of the body. */
static bool
mismatch(json_reader *reader, const char *path, const char *message)
{
	ls_json *j = &reader->json;

	if (reader->in_record)
	{
		ls_event_builder_reject(&reader->otlp.builder, 400, "VALIDATION_ERROR", path, message);
		return true;
	}
	if (j->error == NULL)
	{
		j->error = message;
		j->error_offset = (size_t) (j->pos - j->start);
	}
	return false;
}

/*
 * Opens the container that comes next.  False: there is none to walk through
 * (null, or another type, which was passed over), or json.error.
 */
static bool
open_container(json_reader *reader, ls_json_type wanted, const char *path)
{
	ls_json *j = &reader->json;
	ls_json_value value;
	ls_json_type type = LS_JSON_NULL;

	if (ls_json_peek(j, &type) && type == wanted)
		return ls_json_read(j, &value);
	if (skip(reader) && type != LS_JSON_NULL)
		mismatch(reader, path,
				 wanted == LS_JSON_OBJECT ? "expected an object" : "expected an array");
	return false;
}

/* A scalar that comes next.  False: null, or another type, or json.error. */
static bool
read_scalar(json_reader *reader, ls_json_value *value, const char *path)
{
	ls_json_type type;

	if (ls_json_peek(&reader->json, &type) && type != LS_JSON_OBJECT && type != LS_JSON_ARRAY)
		return ls_json_read(&reader->json, value) && type != LS_JSON_NULL;
	if (skip(reader))
		mismatch(reader, path, "expected a value, not an object or array");
	return false;
}

static bool
read_text(json_reader *reader, ls_str *text, const char *path)
{
	ls_json_value value;

	if (read_scalar(reader, &value, path))
	{
		if (value.type == LS_JSON_STRING)
			*text = value.text;
		else
			mismatch(reader, path, "expected a string");
	}
	return reader->json.error == NULL;
}

/*
 * Passes over another value of what was read already: the first one counts, and the sender is
 * told.  `name`: constant.
 */
static bool
pass_repeated(json_reader *reader, const char *name)
{
	ls_str text = ls_str_make(name, strlen(name));
	ls_json_type type;

	if (ls_json_peek(&reader->json, &type) && type != LS_JSON_NULL)
	{
		if (reader->in_record)
			ls_event_builder_repeated(&reader->otlp.builder, text);
		else
			ls_event_builder_ignored(&reader->otlp.builder, text);
	}
	return skip(reader);
}

static bool
is_null(json_reader *reader)
{
	ls_json_type type;

	return ls_json_peek(&reader->json, &type) && type == LS_JSON_NULL;
}

/* A number, also as a string; false when it is none. */
static bool
number_of(const ls_json_value *value, ls_otlp_value *out)
{
	ls_json_value read = *value;
	ls_json again;

	if (value->type == LS_JSON_STRING)
	{
		char first = value->text.len > 0 ? value->text.data[0] : ' ';

		/* What begins like a number needs no memory. */
		ls_json_init(&again, value->text, NULL, 1);
		if (!(first == '-' || (first >= '0' && first <= '9')) || !ls_json_read(&again, &read) ||
			!ls_json_end(&again))
			return false;
	}
	if (read.type != LS_JSON_NUMBER)
		return false;
	*out = (ls_otlp_value){LS_KIND_NUMBER, read.text, 0};
	if (ls_json_canonical_int(read.text, &out->integer))
		*out = (ls_otlp_value){LS_KIND_INTEGER, LS_STR(""), out->integer};
	return true;
}

/* ---- AnyValue ---- */

static bool read_value(json_reader *reader, ls_buf *buf, ls_otlp_value *value);

static bool
append_value(json_reader *reader, ls_buf *buf)
{
	ls_otlp_value value;

	if (!read_value(reader, buf, &value))
		return false;
	if (value.kind != LS_KIND_JSON)
		ls_otlp_append(&reader->otlp, buf, &value);
	return true;
}

/* The members of a KeyValue, which is open; the value is appended. */
static bool
append_pair(json_reader *reader, ls_buf *buf)
{
	ls_json *j = &reader->json;
	ls_str name = LS_STR("");
	ls_str member;
	ls_buf value;
	bool had_key = false;
	bool had_value = false;

	/* The key may come after the value. */
	ls_buf_init(&value, buf->arena);
	while (ls_json_member(j, &member))
	{
		if (is_null(reader))
		{
			if (!skip(reader))
				return false;
		}
		else if (is(member, "key", "key"))
		{
			if (had_key ? !pass_repeated(reader, "key") : !read_text(reader, &name, "attributes"))
				return false;
			had_key = true;
		}
		else if (is(member, "value", "value"))
		{
			if (had_value)
			{
				if (!pass_repeated(reader, "value"))
					return false;
				continue;
			}
			had_value = true;
			if (!append_value(reader, &value))
				return false;
		}
		else if (!skip(reader))
			return false;
	}
	ls_json_quote(buf, name);
	ls_buf_char(buf, ':');
	if (value.len > 0)
		ls_buf_append(buf, value.data, value.len);
	else
		ls_buf_lit(buf, "null");
	buf->failed = buf->failed || value.failed;
	return j->error == NULL;
}

/* An ArrayValue or KeyValueList: {"values": [...]}. */
static bool
append_values(json_reader *reader, ls_buf *buf, bool pairs)
{
	ls_json *j = &reader->json;
	ls_str key;
	bool first = true;

	ls_buf_char(buf, pairs ? '{' : '[');
	if (open_container(reader, LS_JSON_OBJECT, "attributes"))
	{
		while (ls_json_member(j, &key))
		{
			if (!is(key, "values", "values"))
			{
				if (!skip(reader))
					return false;
				continue;
			}
			if (!open_container(reader, LS_JSON_ARRAY, "attributes"))
				continue;
			while (ls_json_element(j))
			{
				if (!first)
					ls_buf_char(buf, ',');
				first = false;
				if (!pairs)
				{
					if (!append_value(reader, buf))
						return false;
				}
				else if (open_container(reader, LS_JSON_OBJECT, "attributes"))
				{
					if (!append_pair(reader, buf))
						return false;
				}
				else
					ls_buf_lit(buf, "\"\":null");
			}
		}
	}
	ls_buf_char(buf, pairs ? '}' : ']');
	return j->error == NULL;
}

static bool
is_scalar(ls_str key)
{
	return is(key, "stringValue", "string_value") || is(key, "intValue", "int_value") ||
		   is(key, "boolValue", "bool_value") || is(key, "doubleValue", "double_value") ||
		   is(key, "bytesValue", "bytes_value");
}

/* A scalar member of an AnyValue. */
static bool
take_scalar(json_reader *reader, ls_str key, ls_otlp_value *value)
{
	ls_json_value read;
	bool good;

	if (!read_scalar(reader, &read, "attributes"))
		return reader->json.error == NULL;
	if (is(key, "boolValue", "bool_value"))
	{
		good = read.type == LS_JSON_TRUE || read.type == LS_JSON_FALSE;
		*value = (ls_otlp_value){LS_KIND_BOOLEAN, LS_STR(""), read.type == LS_JSON_TRUE};
	}
	else if (is(key, "intValue", "int_value"))
		good = number_of(&read, value);
	else if (is(key, "doubleValue", "double_value"))
	{
		good = ls_str_eq(read.text, LS_STR("NaN")) || ls_str_eq(read.text, LS_STR("Infinity")) ||
			   ls_str_eq(read.text, LS_STR("-Infinity"));
		if (good)
			*value = (ls_otlp_value){LS_KIND_STRING, read.text, 0};
		else
			good = number_of(&read, value);
	}
	else
	{
		/* stringValue; and bytesValue, which stays base64 */
		good = read.type == LS_JSON_STRING;
		*value = (ls_otlp_value){LS_KIND_STRING, read.text, 0};
	}
	if (good)
		return true;
	*value = (ls_otlp_value){.kind = LS_KIND_NULL, .text = LS_STR("")};
	return mismatch(reader, "attributes", "a value does not have the type that its name says");
}

/*
 * The AnyValue that comes next.  A list or an array is appended to `buf` and has
 * no text of its own.
 */
static bool
read_value(json_reader *reader, ls_buf *buf, ls_otlp_value *value)
{
	ls_json *j = &reader->json;
	size_t start = buf->len;
	bool had = false;
	ls_str key;

	*value = (ls_otlp_value){.kind = LS_KIND_NULL, .text = LS_STR("")};
	if (!open_container(reader, LS_JSON_OBJECT, "attributes"))
		return j->error == NULL;
	while (ls_json_member(j, &key))
	{
		bool array = is(key, "arrayValue", "array_value");
		bool list = array || is(key, "kvlistValue", "kvlist_value");

		if (!list && !is_scalar(key))
		{
			if (!skip(reader))
				return false;
			continue;
		}
		/* null is absent; of several values the first one counts. */
		if (had || is_null(reader))
		{
			if (!pass_repeated(reader, "value"))
				return false;
			continue;
		}
		had = true;
		if (list)
		{
			*value = (ls_otlp_value){LS_KIND_JSON, LS_STR(""), 0};
			if (!append_values(reader, buf, !array))
				return false;
		}
		else if (!take_scalar(reader, key, value))
			return false;
	}
	if (value->kind != LS_KIND_JSON)
		buf->len = start;
	return j->error == NULL;
}

static bool
read_whole_value(json_reader *reader, ls_arena *arena, ls_otlp_value *value)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	if (!read_value(reader, &buf, value))
		return false;
	if (value->kind == LS_KIND_JSON)
		value->text = ls_str_make(buf.data, buf.failed ? 0 : buf.len);
	return true;
}

/*
 * The attributes that come next: of the record, or to be shared.  Values are in
 * the arena that the parser uses.
 */
static bool
read_attributes(json_reader *reader, ls_otlp_shared *shared, ls_str prefix)
{
	ls_json *j = &reader->json;
	ls_str member;

	if (!open_container(reader, LS_JSON_ARRAY, "attributes"))
		return j->error == NULL;
	while (ls_json_element(j))
	{
		ls_str key = LS_STR("");
		ls_otlp_value value = {.kind = LS_KIND_NULL, .text = LS_STR("")};
		bool had_key = false;
		bool had_value = false;

		if (!open_container(reader, LS_JSON_OBJECT, "attributes"))
		{
			if (j->error != NULL)
				return false;
			continue;
		}
		while (ls_json_member(j, &member))
		{
			bool *had = is(member, "key", "key")       ? &had_key
						: is(member, "value", "value") ? &had_value
													   : NULL;
			bool good;

			if (had == NULL || is_null(reader))
				good = skip(reader);
			else if (*had)
				good = pass_repeated(reader, had == &had_key ? "key" : "value");
			else
			{
				*had = true;
				good = had == &had_key ? read_text(reader, &key, "attributes")
									   : read_whole_value(reader, j->arena, &value);
			}
			if (!good)
				return false;
		}
		if (j->error != NULL)
			return false;
		if (shared == NULL)
			ls_otlp_attribute(&reader->otlp, key, &value);
		else if (!ls_otlp_share(&reader->otlp, shared, prefix, key, &value))
			return ls_event_builder_fail(&reader->otlp.builder, LS_DECODE_MEMORY, "",
										 LS_STR("out of memory"), 0);
	}
	return j->error == NULL;
}

/* ---- what records share ---- */

static bool
share_text(json_reader *reader, ls_str key)
{
	ls_otlp_value value = {.kind = LS_KIND_STRING, .text = LS_STR("")};

	if (!read_text(reader, &value.text, ""))
		return false;
	if (value.text.len == 0 ||
		ls_otlp_share(&reader->otlp, &reader->otlp.scope, LS_STR("scope."), key, &value))
		return true;
	return ls_event_builder_fail(&reader->otlp.builder, LS_DECODE_MEMORY, "",
								 LS_STR("out of memory"), 0);
}

/* The resource or scope that comes next. */
static bool
read_shared(json_reader *reader, ls_otlp_shared *shared)
{
	ls_json *j = &reader->json;
	bool scope = shared == &reader->otlp.scope;
	bool good = true;
	ls_str key;

	/* What it says is needed for many records. */
	j->arena = reader->otlp.builder.options->arena;
	if (open_container(reader, LS_JSON_OBJECT, ""))
	{
		while (good && ls_json_member(j, &key))
		{
			if (is(key, "attributes", "attributes"))
				good =
					read_attributes(reader, shared, scope ? LS_STR("scope.") : LS_STR("resource."));
			else if (scope && (is(key, "name", "name") || is(key, "version", "version")))
				good = share_text(reader, key);
			else
				good = skip(reader);
		}
	}
	j->arena = reader->otlp.builder.options->scratch;
	return good && j->error == NULL;
}

/* ---- records ---- */

static bool
read_nanos(json_reader *reader, uint64_t *nanos, const char *path)
{
	ls_json_value value;
	uint64_t number = 0;
	bool good;

	if (!read_scalar(reader, &value, path))
		return reader->json.error == NULL;
	good = value.text.len > 0 && value.text.len <= 20;
	for (size_t i = 0; i < value.text.len && good; i++)
	{
		unsigned digit = (unsigned) (value.text.data[i] - '0');

		good = digit <= 9 && number <= (UINT64_MAX - digit) / 10;
		number = number * 10 + digit;
	}
	if (!good)
		return mismatch(reader, path, "expected nanoseconds since 1970");
	*nanos = number;
	return true;
}

/* A number, or a name as SEVERITY_NUMBER_WARN2. */
static bool
read_severity(json_reader *reader, int64_t *severity)
{
	static const char *const names[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"};
	const char *prefix = "SEVERITY_NUMBER_";
	ls_json_value value;
	ls_otlp_value number;
	ls_str name;

	if (!read_scalar(reader, &value, "severityNumber"))
		return reader->json.error == NULL;
	if (number_of(&value, &number))
	{
		*severity = number.kind == LS_KIND_INTEGER ? number.integer : 0;
		return true;
	}
	if (value.type != LS_JSON_STRING || value.text.len <= strlen(prefix) ||
		memcmp(value.text.data, prefix, strlen(prefix)) != 0)
		return mismatch(reader, "severityNumber", "expected a number");
	name = ls_str_make(value.text.data + strlen(prefix), value.text.len - strlen(prefix));
	for (int i = 0; i < 6; i++)
	{
		size_t len = strlen(names[i]);

		if (name.len >= len && memcmp(name.data, names[i], len) == 0 &&
			(name.len == len ||
			 (name.len == len + 1 && name.data[len] >= '2' && name.data[len] <= '4')))
			*severity = 4 * i + (name.len == len ? 1 : name.data[len] - '0');
	}
	return true;
}

/* An id of `size` bytes: hex, or base64; another text stays as it is. */
static bool
read_id(json_reader *reader, ls_str *id, size_t size, const char *path)
{
	ls_arena *scratch = reader->otlp.builder.options->scratch;
	ls_str text = LS_STR("");
	uint8_t bytes[32];
	size_t len = 0;

	if (!read_text(reader, &text, path))
		return false;
	*id = text;
	if (text.len == 2 * size)
	{
		for (; len < size; len++)
		{
			int byte = 0;

			for (size_t i = 2 * len; i < 2 * len + 2; i++)
			{
				int digit = ls_hex_digit(text.data[i]);

				if (digit < 0)
					return true;
				byte = byte << 4 | digit;
			}
			bytes[len] = (uint8_t) byte;
		}
	}
	else if (!ls_base64_decode(text, bytes, sizeof(bytes), &len) || len != size)
		return true;
	*id = ls_otlp_id(scratch, ls_str_make((const char *) bytes, len));
	return true;
}

/* The members of a record of which only one counts. */
typedef enum member
{
	MEMBER_TIME,
	MEMBER_OBSERVED_TIME,
	MEMBER_SEVERITY_NUMBER,
	MEMBER_SEVERITY_TEXT,
	MEMBER_BODY,
	MEMBER_TRACE_ID,
	MEMBER_SPAN_ID,
	MEMBER_EVENT_NAME,
	N_MEMBERS
} member;

#define MEMBER(member, camel, snake) [member] = {camel, sizeof(camel) - 1, snake, sizeof(snake) - 1}
static const struct
{
	const char *camel;
	size_t camel_len;
	const char *snake;
	size_t snake_len;
} members[N_MEMBERS] = {
	MEMBER(MEMBER_TIME, "timeUnixNano", "time_unix_nano"),
	MEMBER(MEMBER_OBSERVED_TIME, "observedTimeUnixNano", "observed_time_unix_nano"),
	MEMBER(MEMBER_SEVERITY_NUMBER, "severityNumber", "severity_number"),
	MEMBER(MEMBER_SEVERITY_TEXT, "severityText", "severity_text"),
	MEMBER(MEMBER_BODY, "body", "body"),
	MEMBER(MEMBER_TRACE_ID, "traceId", "trace_id"),
	MEMBER(MEMBER_SPAN_ID, "spanId", "span_id"),
	MEMBER(MEMBER_EVENT_NAME, "eventName", "event_name"),
};
#undef MEMBER

/* `had`: bits of the members that were read. */
static bool
read_member(json_reader *reader, ls_str key, ls_otlp_record *record, uint32_t *had)
{
	ls_arena *scratch = reader->otlp.builder.options->scratch;
	int m = 0;

	while (m < N_MEMBERS &&
		   !(key.len == members[m].camel_len && memcmp(key.data, members[m].camel, key.len) == 0) &&
		   !(key.len == members[m].snake_len && memcmp(key.data, members[m].snake, key.len) == 0))
		m++;
	if (m < N_MEMBERS && !is_null(reader))
	{
		if ((*had >> m & 1) != 0)
			return pass_repeated(reader, members[m].camel);
		*had |= 1u << m;
	}
	switch (m)
	{
		case MEMBER_TIME:
			return read_nanos(reader, &record->time, members[m].camel);
		case MEMBER_OBSERVED_TIME:
			return read_nanos(reader, &record->observed, members[m].camel);
		case MEMBER_SEVERITY_NUMBER:
			return read_severity(reader, &record->severity);
		case MEMBER_SEVERITY_TEXT:
			return read_text(reader, &record->severity_text, members[m].camel);
		case MEMBER_BODY:
			return read_whole_value(reader, scratch, &record->body);
		case MEMBER_TRACE_ID:
			return read_id(reader, &record->trace_id, 16, members[m].camel);
		case MEMBER_SPAN_ID:
			return read_id(reader, &record->span_id, 8, members[m].camel);
		case MEMBER_EVENT_NAME:
			return read_text(reader, &record->event_name, members[m].camel);
		default:
			return is(key, "attributes", "attributes") ? read_attributes(reader, NULL, LS_STR(""))
													   : skip(reader);
	}
}

static bool
read_record(json_reader *reader)
{
	ls_otlp_record record = {.body.kind = LS_KIND_NULL};
	ls_json *j = &reader->json;
	const char *begin = j->pos;
	uint32_t had = 0;
	ls_str key;

	ls_event_builder_begin(&reader->otlp.builder);
	reader->in_record = true;
	if (open_container(reader, LS_JSON_OBJECT, ""))
	{
		begin = j->pos - 1;
		while (ls_json_member(j, &key))
		{
			if (!read_member(reader, key, &record, &had))
				break;
		}
	}
	reader->in_record = false;
	return j->error == NULL && reader->otlp.builder.result->failure == LS_DECODE_OK &&
		   ls_otlp_record_end(&reader->otlp, &record, (size_t) (j->pos - begin));
}

/* The array that comes next, element by element. */
static bool
read_array(json_reader *reader, bool (*read)(json_reader *reader))
{
	ls_json *j = &reader->json;

	if (open_container(reader, LS_JSON_ARRAY, ""))
	{
		while (ls_json_element(j))
		{
			if (!read(reader))
				return false;
		}
	}
	return j->error == NULL;
}

/* One level: an object with what is shared and a list of what shares it. */
typedef struct level
{
	const char *shared;
	const char *lists[4]; /* the names of the list; NULL ends them */
	bool (*read)(json_reader *reader);
} level;

static bool
is_list(const level *level, ls_str key)
{
	for (int i = 0; i < 4 && level->lists[i] != NULL; i++)
	{
		if (is(key, level->lists[i], level->lists[i]))
			return true;
	}
	return false;
}

/* The lists that came before what they share: so many, the first of them at `from`. */
static bool
read_passed(json_reader *reader, const level *level, const ls_json *from, uint32_t n)
{
	ls_json *j = &reader->json;
	ls_json after = *j;
	ls_str key;

	if (n == 0)
		return true;
	*j = *from;
	if (!read_array(reader, level->read))
		return false;
	while (--n > 0)
	{
		while (ls_json_member(j, &key) && !is_list(level, key))
			skip(reader);
		if (!read_array(reader, level->read))
			return false;
	}
	*j = after;
	return true;
}

/*
 * What is shared, or another one of it: the first one counts.  `first` is its text; null is
 * absent.
 */
static bool
take_shared(json_reader *reader, ls_otlp_shared *shared, ls_str key, ls_str *first)
{
	ls_json *j = &reader->json;
	ls_json_type type = LS_JSON_NULL;
	const char *begin;
	ls_str raw;

	if (ls_json_peek(j, &type) && type != LS_JSON_NULL && first->len == 0)
	{
		begin = j->pos;
		if (!read_shared(reader, shared))
			return false;
		*first = ls_str_trim(ls_str_make(begin, (size_t) (j->pos - begin)));
		return true;
	}
	if (!ls_json_skip(j, &raw))
		return false;
	if (type != LS_JSON_NULL && !ls_str_eq(raw, *first))
		ls_event_builder_ignored(&reader->otlp.builder, key);
	return true;
}

/* Lists that are there several times are added together, as in protobuf. */
static bool
read_level(json_reader *reader, ls_otlp_shared *shared, const level *level)
{
	ls_json *j = &reader->json;
	ls_str first = LS_STR("");
	uint32_t n_passed = 0;
	ls_json passed;
	ls_str key;

	ls_otlp_shared_clear(shared);
	if (!open_container(reader, LS_JSON_OBJECT, ""))
		return j->error == NULL;
	while (ls_json_member(j, &key))
	{
		bool good;

		if (is(key, level->shared, level->shared))
			good = take_shared(reader, shared, key, &first);
		else if (!is_list(level, key))
			good = skip(reader);
		else if (first.len > 0)
			good = read_array(reader, level->read);
		else
		{
			if (n_passed++ == 0)
				passed = *j;
			good = skip(reader);
		}
		if (!good)
			return false;
	}
	return j->error == NULL && read_passed(reader, level, &passed, n_passed);
}

static bool
read_scope_logs(json_reader *reader)
{
	static const level records = {"scope", {"logRecords", "log_records"}, read_record};

	return read_level(reader, &reader->otlp.scope, &records);
}

/* Before version 0.16 of OTLP scopeLogs had another name. */
static bool
read_resource_logs(json_reader *reader)
{
	static const level scopes = {
		"resource",
		{"scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs"},
		read_scope_logs};

	return read_level(reader, &reader->otlp.resource, &scopes);
}

static bool
read_request(json_reader *reader)
{
	ls_json *j = &reader->json;
	bool had = false;
	bool others = false;
	ls_str key;

	if (!open_container(reader, LS_JSON_OBJECT, ""))
		return j->error == NULL ? mismatch(reader, "", "expected an object") : false;
	while (ls_json_member(j, &key))
	{
		if (is(key, "resourceLogs", "resource_logs"))
		{
			had = true;
			if (!read_array(reader, read_resource_logs))
				return false;
		}
		else
		{
			others = true;
			if (!skip(reader))
				return false;
		}
	}
	/* Nothing is an empty request; something else, such as one event, must not be dropped without a word. */
	if (j->error == NULL && others && !had)
		return mismatch(
			reader, "",
			"expected resourceLogs: an ExportLogsServiceRequest of OTLP; other JSON goes to "
			"/api/v1/logs");
	return j->error == NULL;
}

bool
ls_decode_otlp_json(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	json_reader reader = {.in_record = false};
	ls_json *j = &reader.json;
	ls_buf text;

	if (!ls_otlp_init(&reader.otlp, options, result, true))
		return false;
	ls_json_init(j, body, options->scratch, MAX_DEPTH);
	if (read_request(&reader) && ls_json_end(j))
		return true;
	if (result->failure != LS_DECODE_OK)
		return false;
	if (ls_arena_failed(options->scratch) || ls_arena_failed(options->arena))
		return ls_event_builder_fail(&reader.otlp.builder, LS_DECODE_MEMORY, "",
									 LS_STR("out of memory"), 0);
	if (j->error == NULL)
	{
		j->error = "expected nothing more";
		j->error_offset = (size_t) (j->pos - j->start);
	}
	ls_buf_init(&text, options->arena);
	ls_buf_printf(&text, "invalid JSON at byte %zu: %s", j->error_offset, j->error);
	return ls_event_builder_fail(
		&reader.otlp.builder, LS_DECODE_INVALID, "",
		text.failed ? LS_STR("invalid JSON") : ls_str_make(text.data, text.len), j->error_offset);
}
