/*-------------------------------------------------------------------------
 *
 * otlp_record.c
 *	  A log record of OTLP as an event (pure).
 *
 * The attributes of the record come first, then those of its scope and of its
 * resource: when an event has too many, what says most about it stays.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/otlp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What an event costs even when it says nothing: it bounds the number of events of a body. */
#define EVENT_OVERHEAD 64

bool
ls_otlp_init(ls_otlp *otlp, const ls_decode_options *options, ls_decode_result *result, bool clean)
{
	size_t most = options->limits.attributes + 1;

	memset(&otlp->resource, 0, sizeof(otlp->resource));
	memset(&otlp->scope, 0, sizeof(otlp->scope));
	otlp->clean = clean;
	otlp->expanded = 0;
	if (!ls_event_builder_init(&otlp->builder, options, result))
		return false;
	otlp->resource.attributes = ls_new_array(options->arena, ls_attribute, most);
	otlp->scope.attributes = ls_new_array(options->arena, ls_attribute, most);
	if (otlp->resource.attributes == NULL || otlp->scope.attributes == NULL)
		return ls_event_builder_fail(&otlp->builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"),
									 0);
	return true;
}

/* ---- values ---- */

ls_str
ls_otlp_text(const ls_otlp *otlp, ls_arena *arena, ls_str text)
{
	return otlp->clean && text.len > 0 ? text : ls_event_builder_text(arena, text);
}

/* Room for "%.17g". */
#define DOUBLE_SIZE 32

/*
 * Few decimals, as most measured numbers have: a quotient of two exact doubles is
 * rounded as reading the decimals would be, so comparing is enough, and some ten
 * times as fast as printing and reading.  Returns the length, or 0.
 */
static size_t
write_decimals(double number, char text[DOUBLE_SIZE])
{
	static const double powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
	double magnitude = fabs(number);
	char digits[DOUBLE_SIZE];
	size_t n = 0;
	size_t len = 0;

	if (!(magnitude < 1e9) || (number == 0 && signbit(number)))
		return 0;
	for (size_t k = 0; k < sizeof(powers) / sizeof(powers[0]); k++)
	{
		uint64_t scaled = (uint64_t) (magnitude * powers[k] + 0.5);

		if ((double) scaled / powers[k] != magnitude)
			continue;
		do
		{
			if (n == k && k > 0)
				digits[n++] = '.';
			digits[n++] = (char) ('0' + scaled % 10);
			scaled /= 10;
		} while (scaled > 0 || n <= k + (k > 0));
		if (number < 0)
			text[len++] = '-';
		while (n > 0)
			text[len++] = digits[--n];
		return len;
	}
	return 0;
}

ls_otlp_value
ls_otlp_double(ls_arena *arena, double number)
{
	ls_otlp_value value = {.kind = LS_KIND_STRING};
	char text[DOUBLE_SIZE];
	size_t len;

	if (isnan(number))
		value.text = LS_STR("NaN");
	else if (isinf(number))
		value.text = number > 0 ? LS_STR("Infinity") : LS_STR("-Infinity");
	else
	{
		/* The shortest that reads back as the same number. */
		len = write_decimals(number, text);
		for (int digits = 15; len == 0; digits++)
		{
			len = (size_t) snprintf(text, sizeof(text), "%.*g", digits, number);
			if (digits < 17 && strtod(text, NULL) != number)
				len = 0;
		}
		value.text = ls_str_make(text, len);
		value.kind =
			ls_json_canonical_int(value.text, &value.integer) ? LS_KIND_INTEGER : LS_KIND_NUMBER;
		value.text =
			value.kind == LS_KIND_INTEGER ? LS_STR("") : ls_arena_strdup(arena, value.text);
		if (value.text.data == NULL)
			value = (ls_otlp_value){.kind = LS_KIND_NULL};
	}
	return value;
}

ls_otlp_value
ls_otlp_bytes(ls_arena *arena, ls_str bytes)
{
	ls_buf text;

	ls_buf_init(&text, arena);
	ls_base64(&text, bytes.data, bytes.len);
	return (ls_otlp_value){LS_KIND_STRING, ls_str_make(text.data, text.failed ? 0 : text.len), 0};
}

ls_str
ls_otlp_id(ls_arena *arena, ls_str bytes)
{
	bool any = false;
	char *out;

	for (size_t i = 0; i < bytes.len; i++)
		any = any || bytes.data[i] != 0;
	if (!any || (out = ls_arena_alloc(arena, 2 * bytes.len + 1)) == NULL)
		return LS_STR("");
	ls_hex(bytes.data, bytes.len, out);
	return ls_str_make(out, 2 * bytes.len);
}

void
ls_otlp_append(const ls_otlp *otlp, ls_buf *buf, const ls_otlp_value *value)
{
	switch (value->kind)
	{
		case LS_KIND_STRING:
			ls_json_quote(buf, ls_otlp_text(otlp, buf->arena, value->text));
			break;
		case LS_KIND_INTEGER:
			ls_buf_printf(buf, "%lld", (long long) value->integer);
			break;
		case LS_KIND_BOOLEAN:
			if (value->integer)
				ls_buf_lit(buf, "true");
			else
				ls_buf_lit(buf, "false");
			break;
		case LS_KIND_NULL:
			ls_buf_lit(buf, "null");
			break;
		case LS_KIND_NUMBER:
			if (!ls_json_number_fits(value->text))
			{
				ls_json_quote(buf, value->text);
				break;
			}
			/* FALLTHROUGH */
		case LS_KIND_JSON:
			ls_buf_str(buf, value->text);
			break;
	}
}

/* A value as the text of a field: strings as they are, others as JSON. */
static ls_str
value_text(const ls_otlp *otlp, ls_arena *arena, const ls_otlp_value *value)
{
	ls_buf buf;

	if (value->kind == LS_KIND_STRING)
		return ls_otlp_text(otlp, arena, value->text);
	if (value->kind == LS_KIND_NULL)
		return LS_STR("");
	if (value->kind == LS_KIND_JSON)
		return value->text;
	ls_buf_init(&buf, arena);
	ls_otlp_append(otlp, &buf, value);
	return buf.failed ? LS_STR("") : ls_str_make(buf.data, buf.len);
}

/* ---- what records share ---- */

void
ls_otlp_shared_clear(ls_otlp_shared *shared)
{
	shared->n = 0;
	shared->bytes = 0;
	shared->service = LS_STR("");
	shared->index = LS_STR("");
}

/* Is there an attribute of this name?  The first one counts; another value is told. */
static bool
shares_already(ls_otlp *otlp, const ls_otlp_shared *shared, ls_str prefix, ls_str key,
			   const ls_otlp_value *value)
{
	for (size_t i = 0; i < shared->n; i++)
	{
		const ls_attribute *a = &shared->attributes[i];

		if (a->key.len != prefix.len + key.len ||
			memcmp(a->key.data + prefix.len, key.data, key.len) != 0)
			continue;
		if (a->kind != value->kind || a->integer != value->integer ||
			!ls_str_eq(a->text, value->text))
			ls_event_builder_ignored(&otlp->builder, a->key);
		return true;
	}
	return false;
}

bool
ls_otlp_share(ls_otlp *otlp, ls_otlp_shared *shared, ls_str prefix, ls_str key,
			  const ls_otlp_value *value)
{
	const ls_decode_options *options = otlp->builder.options;
	ls_attribute *attribute;
	ls_buf name;

	key = ls_otlp_text(otlp, options->arena, key);
	shared->bytes += key.len + value->text.len;
	if (shared == &otlp->resource)
	{
		ls_str *field = ls_str_eq(key, LS_STR("service.name"))   ? &shared->service
						: ls_str_eq(key, LS_STR("logsvc.index")) ? &shared->index
																 : NULL;

		if (field != NULL)
		{
			ls_str text = value_text(otlp, options->arena, value);

			if (field->len == 0)
				*field = text;
			else if (text.len > 0 && !ls_str_eq(*field, text))
				ls_event_builder_ignored(&otlp->builder, key);
			return !ls_arena_failed(options->arena);
		}
	}
	if (shares_already(otlp, shared, prefix, key, value) || shared->n > options->limits.attributes)
		return true;
	ls_buf_init(&name, options->arena);
	ls_buf_str(&name, prefix);
	ls_buf_str(&name, key);
	attribute = &shared->attributes[shared->n++];
	attribute->key = ls_str_make(name.data, name.len);
	attribute->kind = value->kind;
	attribute->text = value->kind == LS_KIND_STRING
						  ? ls_otlp_text(otlp, options->arena, value->text)
						  : value->text;
	attribute->integer = value->integer;
	return !ls_arena_failed(options->arena);
}

static void
add_shared(ls_event_builder *builder, const ls_otlp_shared *shared)
{
	for (size_t i = 0; i < shared->n; i++)
		ls_event_builder_attribute(builder, shared->attributes[i].key, shared->attributes[i].kind,
								   shared->attributes[i].text, shared->attributes[i].integer);
}

/* ---- records ---- */

void
ls_otlp_attribute(ls_otlp *otlp, ls_str key, const ls_otlp_value *value)
{
	ls_arena *scratch = otlp->builder.options->scratch;

	ls_event_builder_attribute(
		&otlp->builder, ls_otlp_text(otlp, scratch, key), value->kind,
		value->kind == LS_KIND_STRING ? ls_otlp_text(otlp, scratch, value->text) : value->text,
		value->integer);
}

/* The members of a body that is an object, as attributes too. */
static void
add_members(ls_otlp *otlp, ls_str object)
{
	ls_arena *scratch = otlp->builder.options->scratch;
	ls_json j;
	ls_json_value read;
	ls_str key;

	ls_json_init(&j, object, scratch, 2 * LS_OTLP_DEPTH);
	if (!ls_json_read(&j, &read))
		return;
	while (ls_json_member(&j, &key))
	{
		ls_otlp_value value = {.kind = LS_KIND_JSON};
		ls_json_type type;

		if (ls_json_peek(&j, &type) && (type == LS_JSON_OBJECT || type == LS_JSON_ARRAY))
		{
			if (!ls_json_skip(&j, &value.text))
				return;
		}
		else if (!ls_json_read(&j, &read))
			return;
		else
		{
			value.text = read.text;
			switch (read.type)
			{
				case LS_JSON_STRING:
					value.kind = LS_KIND_STRING;
					break;
				case LS_JSON_NUMBER:
					value.kind = ls_json_canonical_int(read.text, &value.integer) ? LS_KIND_INTEGER
																				  : LS_KIND_NUMBER;
					if (value.kind == LS_KIND_INTEGER)
						value.text = LS_STR("");
					break;
				case LS_JSON_TRUE:
				case LS_JSON_FALSE:
					value.kind = LS_KIND_BOOLEAN;
					value.integer = read.type == LS_JSON_TRUE;
					break;
				default:
					value.kind = LS_KIND_NULL;
					break;
			}
		}
		ls_event_builder_default(&otlp->builder, key, value.kind, value.text, value.integer);
	}
}

/* An event has a text: what syslog writes for a value that is not there (RFC 5424). */
#define NO_TEXT "-"

/* The record's own attributes as one JSON object. */
static ls_str
attributes_text(const ls_otlp *otlp)
{
	const ls_event_builder *builder = &otlp->builder;
	ls_buf buf;

	if (builder->event.n_attributes == 0)
		return LS_STR(NO_TEXT);
	ls_buf_init(&buf, builder->options->scratch);
	ls_buf_char(&buf, '{');
	for (size_t i = 0; i < builder->event.n_attributes; i++)
	{
		const ls_attribute *a = &builder->attributes[i];
		ls_otlp_value value = {a->kind, a->text, a->integer};

		if (i > 0)
			ls_buf_char(&buf, ',');
		ls_json_quote(&buf, a->key);
		ls_buf_char(&buf, ':');
		ls_otlp_append(otlp, &buf, &value);
	}
	ls_buf_char(&buf, '}');
	return buf.failed ? LS_STR("") : ls_str_make(buf.data, buf.len);
}

/* The level, and whether the severity text says something else. */
static ls_str
level_of(const ls_otlp_record *record, ls_str text, bool *differs)
{
	ls_str named = ls_normalize_level(text);
	ls_str level = ls_level_of_number((uint64_t) record->severity, LS_LEVELS_OTEL);

	*differs = false;
	if (level.len == 0)
		return named;
	*differs = text.len > 0 && !ls_str_eq_nocase(named, level);
	return level;
}

/* The fields of a record that is not too large. */
static void
fill(ls_otlp *otlp, const ls_otlp_record *record)
{
	ls_event_builder *builder = &otlp->builder;
	ls_arena *scratch = builder->options->scratch;
	ls_str text = value_text(otlp, scratch, &record->body);
	ls_str name = ls_otlp_text(otlp, scratch, record->event_name);
	ls_str severity = ls_otlp_text(otlp, scratch, record->severity_text);
	bool differs;

	if (record->time != 0 || record->observed != 0)
		ls_event_builder_nanos(builder, record->time != 0 ? record->time : record->observed);
	ls_event_builder_field(builder, LS_FIELD_LEVEL, level_of(record, severity, &differs));
	ls_event_builder_field(builder, LS_FIELD_SERVICE, otlp->resource.service);
	ls_event_builder_field(builder, LS_FIELD_INDEX, otlp->resource.index);
	ls_event_builder_field(builder, LS_FIELD_TRACE_ID, record->trace_id);
	ls_event_builder_field(builder, LS_FIELD_SPAN_ID, record->span_id);
	if (text.len == 0)
		text = name.len > 0 ? name : attributes_text(otlp);
	ls_event_builder_field(builder, LS_FIELD_EVENT, text);
	if (name.len > 0)
		ls_event_builder_attribute(builder, LS_STR("event.name"), LS_KIND_STRING, name, 0);
	if (differs)
		ls_event_builder_attribute(builder, LS_STR("severity_text"), LS_KIND_STRING, severity, 0);
	if (record->body.kind == LS_KIND_JSON && text.data[0] == '{')
		add_members(otlp, record->body.text);
	add_shared(builder, &otlp->scope);
	add_shared(builder, &otlp->resource);
}

bool
ls_otlp_record_end(ls_otlp *otlp, const ls_otlp_record *record, size_t bytes)
{
	const ls_decode_limits *limits = &otlp->builder.options->limits;

	bytes += otlp->resource.bytes + otlp->scope.bytes;
	if (bytes <= limits->event_bytes)
	{
		otlp->expanded += bytes + EVENT_OVERHEAD;
		if (otlp->expanded > limits->expanded_bytes)
			return ls_event_builder_fail(
				&otlp->builder, LS_DECODE_LARGE, "",
				LS_STR("the records with the attributes that they share are too "
					   "large; send smaller batches"),
				0);
		fill(otlp, record);
	}
	return ls_event_builder_commit(&otlp->builder, bytes);
}
