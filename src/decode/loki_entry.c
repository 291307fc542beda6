/*-------------------------------------------------------------------------
 *
 * loki_entry.c
 *	  An entry of a Loki stream as an event (pure).
 *
 * Labels become attributes under their own names, the entry's structured
 * metadata before those of its stream.  Some say what an event has a field for;
 * those with another name than the field stay attributes too, so that queries
 * by the label go on working.
 *
 * A label set is sent once for a stream and stored with each entry.  So a small
 * body can stand for very many bytes of events: they are counted.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/loki.h"

/* What an event costs even when it says nothing: it bounds the number of events of a body. */
#define EVENT_OVERHEAD 64

/* Which labels say what a field is for, the best first. */
static const struct
{
	ls_field field;
	const char *names[5];
} known[] = {
	{LS_FIELD_LEVEL, {"level", "severity", "severity_text", "detected_level", NULL}},
	{LS_FIELD_SERVICE, {"service", "service_name", "app", "job", NULL}},
	{LS_FIELD_SOURCE, {"source", "filename", NULL}},
	{LS_FIELD_TRACE_ID, {"traceId", "trace_id", "traceID", NULL}},
	{LS_FIELD_SPAN_ID, {"spanId", "span_id", "spanID", NULL}},
};

bool
ls_loki_init(ls_loki *loki, const ls_decode_options *options, ls_decode_result *result)
{
	size_t most = options->limits.attributes + 1;

	if (!ls_event_builder_init(&loki->builder, options, result))
		return false;
	loki->expanded = 0;
	loki->stream.labels = ls_new_array(options->arena, ls_loki_label, most);
	loki->metadata.labels = ls_new_array(options->arena, ls_loki_label, most);
	if (loki->stream.labels == NULL || loki->metadata.labels == NULL)
		return ls_event_builder_fail(&loki->builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"),
									 0);
	ls_loki_clear(&loki->stream);
	ls_loki_clear(&loki->metadata);
	return true;
}

void
ls_loki_clear(ls_loki_labels *labels)
{
	labels->n = 0;
	labels->bytes = 0;
}

void
ls_loki_add(const ls_loki *loki, ls_loki_labels *labels, ls_str name, ls_str value)
{
	labels->bytes += name.len + value.len;
	if (labels->n <= loki->builder.options->limits.attributes)
		labels->labels[labels->n++] = (ls_loki_label){name, value};
}

void
ls_loki_entry_begin(ls_loki *loki)
{
	ls_event_builder_begin(&loki->builder);
	ls_loki_clear(&loki->metadata);
}

/* The value of a label that is not empty. */
static ls_str
find(const ls_loki_labels *labels, const char *name)
{
	ls_str wanted = ls_str_make(name, strlen(name));

	for (size_t i = 0; i < labels->n; i++)
	{
		if (ls_str_eq(labels->labels[i].name, wanted))
			return labels->labels[i].value;
	}
	return LS_STR("");
}

/* The fields that labels stand for; what the entry says comes before its stream. */
static void
take_known(ls_loki *loki)
{
	const ls_loki_labels *sets[] = {&loki->metadata, &loki->stream};

	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
	{
		ls_str value = LS_STR("");

		for (size_t s = 0; s < 2 && value.len == 0; s++)
		{
			for (int i = 0; known[k].names[i] != NULL && value.len == 0; i++)
				value = find(sets[s], known[k].names[i]);
		}
		if (known[k].field == LS_FIELD_LEVEL)
			value = ls_normalize_level(value);
		ls_event_builder_field(&loki->builder, known[k].field, value);
	}
}

/* Is the label all said by the field of its name? */
static bool
is_field(const ls_event_builder *builder, const ls_loki_label *label)
{
	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
	{
		if (!ls_str_eq(label->name, ls_str_make(known[k].names[0], strlen(known[k].names[0]))))
			continue;
		return label->value.len == 0 ||
			   ls_str_eq(known[k].field == LS_FIELD_LEVEL ? ls_normalize_level(label->value)
														  : label->value,
						 builder->event.field[known[k].field]);
	}
	return false;
}

static void
add_attributes(ls_loki *loki, const ls_loki_labels *labels)
{
	for (size_t i = 0; i < labels->n; i++)
	{
		const ls_loki_label *label = &labels->labels[i];

		if (!is_field(&loki->builder, label))
			ls_event_builder_attribute(&loki->builder, label->name, LS_KIND_STRING, label->value,
									   0);
	}
}

/* What an entry without a line says, as a record of OTLP without a body. */
static ls_str
metadata_text(const ls_loki *loki)
{
	ls_buf buf;

	ls_buf_init(&buf, loki->builder.options->scratch);
	ls_buf_char(&buf, '{');
	for (size_t i = 0; i < loki->metadata.n; i++)
	{
		if (i > 0)
			ls_buf_char(&buf, ',');
		ls_json_quote(&buf, loki->metadata.labels[i].name);
		ls_buf_char(&buf, ':');
		ls_json_quote(&buf, loki->metadata.labels[i].value);
	}
	ls_buf_char(&buf, '}');
	return buf.failed ? LS_STR("") : ls_str_make(buf.data, buf.len);
}

/* The answer has no place for a warning: a time that is none is an attribute, and nobody looks in 1970. */
static void
keep_time(ls_event_builder *builder)
{
	char iso[LS_TIME_ISO_LENGTH + 1];

	ls_time_format_iso(builder->event.timestamp, iso);
	ls_event_builder_attribute(
		builder, LS_STR("timestamp"), LS_KIND_STRING,
		ls_arena_strdup(builder->options->scratch, ls_str_make(iso, LS_TIME_ISO_LENGTH)), 0);
	builder->event.timestamp = builder->options->now;
}

bool
ls_loki_entry_end(ls_loki *loki, bool has_time, ls_str line, size_t bytes)
{
	ls_event_builder *builder = &loki->builder;
	const ls_decode_limits *limits = &builder->options->limits;

	/* A blank line of a file, as blank lines of NDJSON. */
	if (line.len == 0 && loki->metadata.n == 0)
		return true;
	bytes += loki->stream.bytes;
	if (bytes <= limits->event_bytes)
	{
		loki->expanded += bytes + EVENT_OVERHEAD;
		if (loki->expanded > limits->expanded_bytes)
			return ls_event_builder_fail(
				builder, LS_DECODE_LARGE, "",
				LS_STR("the entries with the labels that they share are too large; "
					   "send smaller batches"),
				0);
		if (!has_time)
			ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "timestamp",
									"expected nanoseconds since 1970 as a string");
		if (builder->event.timestamp < LS_DECODE_EARLY)
			keep_time(builder);
		take_known(loki);
		ls_event_builder_field(builder, LS_FIELD_EVENT, line.len > 0 ? line : metadata_text(loki));
		add_attributes(loki, &loki->metadata);
		add_attributes(loki, &loki->stream);
	}
	return ls_event_builder_commit(builder, bytes);
}
