/*-------------------------------------------------------------------------
 *
 * event_builder.c
 *	  One event being put together: its fields, its attributes, their limits, errors (pure).
 *
 * Nothing is cut in silence: names of cut fields travel with the event (decision 70).
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/decode.h"

bool
ls_event_builder_init(ls_event_builder *builder, const ls_decode_options *options,
					  ls_decode_result *result)
{
	/* Not the whole result: its error list is 6 kB and written before read. */
	result->failure = LS_DECODE_OK;
	result->path = LS_STR("");
	result->message = LS_STR("");
	result->offset = 0;
	result->accepted = 0;
	result->rejected = 0;
	result->bytes = 0;
	result->n_errors = 0;
	result->rejected_by_size = 0;
	result->past_retention = 0;
	result->early = 0;
	result->n_warnings = 0;
	result->rejected_bits = NULL;
	result->n_rejected_words = 0;
	result->dropped = 0;
	result->dropped_bits = NULL;
	result->n_dropped_words = 0;
	result->n_ignored = 0;
	result->more_ignored = false;
	result->wrapped = false;
	result->brief = false;
	result->items = NULL;
	result->n_items = 0;

	builder->options = options;
	builder->result = result;
	builder->known_index_len = 0;
	builder->oldest = INT64_MIN;
	builder->parses = options->parse == LS_PARSE_JSON;
	builder->spare = NULL;
	builder->error.list = NULL;
	builder->error.wrapper = -1;
	builder->error.first = 0;
	builder->error.value = false;
	builder->attributes =
		ls_new_array(options->arena, ls_attribute, options->limits.attributes + 1);
	if (builder->attributes == NULL)
		return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
	ls_event_builder_begin(builder);
	return true;
}

ls_str
ls_event_builder_text(ls_arena *arena, ls_str text)
{
	ls_buf buf;
	size_t begin = 0;

	if (text.len == 0)
		return LS_STR("");
	if (memchr(text.data, '\0', text.len) == NULL && ls_utf8_valid(text.data, text.len))
		return text;
	ls_buf_init(&buf, arena);
	while (begin < text.len)
	{
		unsigned char lead = (unsigned char) text.data[begin];
		size_t len = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;

		if (lead != 0 && begin + len <= text.len && ls_utf8_valid(text.data + begin, len))
		{
			ls_buf_append(&buf, text.data + begin, len);
			begin += len;
		}
		else
		{
			ls_buf_lit(&buf, "\xEF\xBF\xBD");
			begin++;
		}
	}
	return buf.failed ? LS_STR("") : ls_str_make(buf.data, buf.len);
}

void
ls_event_builder_begin(ls_event_builder *builder)
{
	ls_event *event = &builder->event;

	if (ls_arena_used(builder->options->scratch) > 0)
		ls_arena_reset(builder->options->scratch);
	ls_buf_init(&builder->truncated, builder->options->scratch);
	builder->seen_keys = 0;
	builder->n_repeated = 0;
	builder->dropped = false;
	builder->whole = false;
	builder->error.code = NULL;
	event->timestamp = builder->options->now;
	event->ingested_at = builder->options->now;
	event->batch = builder->options->batch;
	event->has = 0;
	event->attributes = builder->attributes;
	event->n_attributes = 0;
}

static void
note_truncated(ls_event_builder *builder, ls_str prefix, ls_str name)
{
	if (builder->truncated.len > 0)
		ls_buf_char(&builder->truncated, ',');
	ls_buf_str(&builder->truncated, prefix);
	ls_buf_str(&builder->truncated, name);
}

void
ls_event_builder_field(ls_event_builder *builder, ls_field field, ls_str text)
{
	static const char *const names[LS_NAMED_FIELDS] = {
		"event", "level", "source", "service", "index", "traceId", "spanId", "truncatedFields"};
	size_t limit = field == LS_FIELD_EVENT ? builder->options->limits.body_field_bytes
										   : builder->options->limits.value_bytes;

	if (text.len == 0)
		return;
	if (text.len > limit)
	{
		text.len = ls_utf8_prefix_bytes(text.data, text.len, limit);
		note_truncated(builder, LS_STR(""), ls_str_make(names[field], strlen(names[field])));
	}
	builder->event.field[field] = text;
	builder->event.has |= 1u << field;
}

/* The attribute with this key, or NULL.  A 64-bit filter answers most "no". */
static const ls_attribute *
seen_before(ls_event_builder *builder, ls_str key)
{
	unsigned hash = (unsigned) key.len * 7;
	uint64_t bit;

	if (key.len > 0)
		hash += (unsigned char) key.data[0] * 31 + (unsigned char) key.data[key.len - 1] * 5 +
				(unsigned char) key.data[key.len / 2] * 11;
	bit = UINT64_C(1) << ((hash ^ hash >> 6) & 63);
	if ((builder->seen_keys & bit) != 0)
	{
		for (size_t i = 0; i < builder->event.n_attributes; i++)
		{
			if (ls_str_eq(builder->attributes[i].key, key))
				return &builder->attributes[i];
		}
	}
	builder->seen_keys |= bit;
	return NULL;
}

void
ls_event_builder_drop(ls_event_builder *builder)
{
	/* The first of the dropped ones stands for all. */
	if (!builder->dropped)
		note_truncated(builder, LS_STR("attributes"), LS_STR(""));
	builder->dropped = true;
}

void
ls_event_builder_repeated(ls_event_builder *builder, ls_str name)
{
	if (builder->n_repeated > LS_DECODE_MAX_REPEATED)
		return;
	for (uint32_t i = 0; i < builder->n_repeated; i++)
	{
		if (ls_str_eq(builder->repeated[i], name))
			return;
	}
	if (builder->n_repeated < LS_DECODE_MAX_REPEATED)
		builder->repeated[builder->n_repeated] = name;
	builder->n_repeated++;
}

/* A value for a key that is there already is lost, if it says something else. */
static void
lose(ls_event_builder *builder, const ls_attribute *seen, ls_kind kind, ls_str text,
	 int64_t integer)
{
	if (seen->kind != kind || seen->integer != integer || !ls_str_eq(seen->text, text))
		ls_event_builder_repeated(builder, seen->key);
}

void
ls_event_builder_attribute(ls_event_builder *builder, ls_str key, ls_kind kind, ls_str text,
						   int64_t integer)
{
	const ls_decode_limits *limits = &builder->options->limits;
	const ls_attribute *seen;
	bool cut = false;
	ls_attribute *attribute;

	if (builder->dropped)
		return;
	if (key.len > limits->key_chars)
	{
		size_t kept = ls_utf8_prefix_chars(key.data, key.len, limits->key_chars);

		cut = kept < key.len;
		key.len = kept;
	}
	seen = seen_before(builder, key);
	if (seen != NULL)
	{
		lose(builder, seen, kind, text, integer);
		return;
	}
	if (builder->event.n_attributes >= limits->attributes)
	{
		ls_event_builder_drop(builder);
		return;
	}
	if (text.len > limits->value_bytes)
	{
		cut = true;
		text.len = ls_utf8_prefix_bytes(text.data, text.len, limits->value_bytes);
		/* The beginning of a JSON value, or of a number, is only a text. */
		kind = LS_KIND_STRING;
	}
	/* Nothing could compute with it; as a text nothing of it is lost. */
	if (kind == LS_KIND_NUMBER && !ls_json_number_fits(text))
		kind = LS_KIND_STRING;
	if (cut)
		note_truncated(builder, LS_STR("attributes."), key);
	attribute = &builder->attributes[builder->event.n_attributes++];
	attribute->key = key;
	attribute->kind = kind;
	attribute->text = text;
	attribute->integer = integer;
}

void
ls_event_builder_default(ls_event_builder *builder, ls_str key, ls_kind kind, ls_str text,
						 int64_t integer)
{
	uint32_t told = builder->n_repeated;

	ls_event_builder_attribute(builder, key, kind, text, integer);
	builder->n_repeated = told;
}

/* Less is a time before March 1973, when nobody logged. */
#define LEAST_NANOS UINT64_C(100000000000000000)

void
ls_event_builder_nanos(ls_event_builder *builder, uint64_t nanos)
{
	const ls_decode_options *options = builder->options;
	ls_time other = nanos < LEAST_NANOS ? ls_normalize_time_whole(nanos) : INT64_MAX;

	builder->event.timestamp =
		other <= options->now + options->limits.future_us ? other : (ls_time) (nanos / 1000);
}

void
ls_event_builder_reject(ls_event_builder *builder, int status, const char *code, const char *path,
						const char *message)
{
	if (builder->error.code != NULL)
		return;
	builder->error.status = status;
	builder->error.code = code;
	builder->error.path = ls_str_make(path, strlen(path));
	builder->error.message = ls_str_make(message, strlen(message));
}

/*
 * A name as a part of a header: what is not visible ASCII as in an address, %C3%A9, and so are a
 * comma and %.  A long one ends in "...".
 */
static ls_str
header_name(ls_str name, char out[LS_DECODE_IGNORED_LEN + 3])
{
	static const char digits[] = "0123456789ABCDEF";
	size_t len = 0;
	size_t whole = 0; /* of `len`: up to the end of a character */

	if (name.len == 0)
		return LS_STR("\"\"");
	for (size_t i = 0; i < name.len; i++)
	{
		unsigned char c = (unsigned char) name.data[i];
		bool plain = c > ' ' && c < 0x7F && c != ',' && c != '%';

		if ((c & 0xC0) != 0x80)
			whole = len;
		if (len + (plain ? 1 : 3) > LS_DECODE_IGNORED_LEN)
		{
			memcpy(out + whole, "...", 3);
			return ls_str_make(out, whole + 3);
		}
		if (plain)
			out[len++] = (char) c;
		else
		{
			out[len++] = '%';
			out[len++] = digits[c >> 4];
			out[len++] = digits[c & 15];
		}
	}
	return ls_str_make(out, len);
}

void
ls_event_builder_ignored(ls_event_builder *builder, ls_str name)
{
	ls_decode_result *result = builder->result;
	char clean[LS_DECODE_IGNORED_LEN + 3];
	ls_str entry;

	if (result->more_ignored && result->n_ignored >= LS_DECODE_MAX_IGNORED)
		return;
	entry = header_name(name, clean);
	for (uint32_t i = 0; i < result->n_ignored; i++)
	{
		if (ls_str_eq(result->ignored[i], entry))
			return;
	}
	if (result->n_ignored >= LS_DECODE_MAX_IGNORED)
	{
		result->more_ignored = true;
		return;
	}
	entry = ls_arena_strdup(builder->options->arena, entry);
	if (entry.data != NULL)
		result->ignored[result->n_ignored++] = entry;
}

bool
ls_event_builder_fail(ls_event_builder *builder, ls_decode_failure failure, const char *path,
					  ls_str message, size_t offset)
{
	ls_decode_result *result = builder->result;

	if (result->failure == LS_DECODE_OK)
	{
		result->failure = failure;
		result->path = ls_str_make(path, strlen(path));
		result->message = message;
		result->offset = offset;
		result->accepted = 0;
		result->dropped = 0;
		result->past_retention = 0;
		result->early = 0;
		result->n_warnings = 0;
		result->bytes = 0;
		if (builder->options->sink.undo != NULL)
			builder->options->sink.undo(builder->options->sink.context);
	}
	return false;
}

int
ls_decode_status(const ls_decode_result *result)
{
	if (result->accepted > 0)
		return 202;
	return result->rejected > 0 && result->rejected_by_size == result->rejected ? 413 : 400;
}
