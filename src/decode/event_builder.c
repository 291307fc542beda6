/*-------------------------------------------------------------------------
 *
 * event_builder.c
 *	  One event being put together: limits, required fields, errors (pure).
 *
 * Every wire format ends here, so a limit of events is applied in
 * one place.  Nothing is cut in silence: names of cut fields travel with the
 * event (decision 70), rejected events are counted and the first 100 named.
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

/* Is the event's index known?  Most events of a body name the same one. */
static bool
check_index(ls_event_builder *builder, ls_str index)
{
	const ls_decode_options *options = builder->options;

	if (options->known_index == NULL ||
		ls_str_eq(index, ls_str_make(builder->known_index, builder->known_index_len)))
		return true;
	builder->known_index_len = 0;
	if (index.len > sizeof(builder->known_index) ||
		!options->known_index(options->index_context, index, &builder->oldest))
		return false;
	memcpy(builder->known_index, index.data, index.len);
	builder->known_index_len = index.len;
	builder->parses = options->parse == LS_PARSE_JSON ||
					  (options->parse == LS_PARSE_BY_INDEX && options->parses_json != NULL &&
					   options->parses_json(options->index_context, index));
	return true;
}

/* The longest text of an attribute that becomes a field. */
#define FILL_BYTES 256

/* Of an id, which has only visible ASCII. */
#define FILL_ID_BYTES 128

/* Datadog's level; of others it is the status of something else. */
#define RANK_STATUS 9

/* Is the event from an agent or a client of Datadog? */
static bool
is_datadog(const ls_event *event)
{
	for (size_t i = 0; i < event->n_attributes; i++)
	{
		ls_str key = event->attributes[i].key;

		if (ls_str_eq(key, LS_STR("ddsource")) || ls_str_eq(key, LS_STR("ddtags")))
			return true;
	}
	return false;
}

/* The field that an attribute of this name says, and how well: 0 is best.  -1: none. */
static int
field_of(ls_str key, ls_field *field)
{
#define NAME(text, its_field, rank)           \
	if (memcmp(key.data, text, key.len) == 0) \
	return *field = LS_FIELD_##its_field, (rank)

	switch (key.len)
	{
		case 3:
			NAME("lvl", LEVEL, 8);
			break;
		case 5:
			NAME("level", LEVEL, 0);
			break;
		case 6:
			NAME("status", LEVEL, RANK_STATUS);
			NAME("source", SOURCE, 0);
			NAME("spanId", SPAN_ID, 0);
			NAME("spanID", SPAN_ID, 3);
			break;
		case 7:
			NAME("service", SERVICE, 0);
			NAME("traceId", TRACE_ID, 0);
			NAME("traceID", TRACE_ID, 3);
			NAME("span_id", SPAN_ID, 1);
			NAME("span.id", SPAN_ID, 2);
			break;
		case 8:
			NAME("severity", LEVEL, 1);
			NAME("trace_id", TRACE_ID, 1);
			NAME("trace.id", TRACE_ID, 2);
			NAME("loglevel", LEVEL, 5);
			NAME("logLevel", LEVEL, 6);
			NAME("Severity", LEVEL, 7);
			break;
		case 9:
			NAME("host.name", SOURCE, 1);
			NAME("levelname", LEVEL, 3);
			NAME("log.level", LEVEL, 4);
			NAME("log_level", LEVEL, 5);
			break;
		case 12:
			NAME("service.name", SERVICE, 1);
			NAME("service_name", SERVICE, 2);
			break;
		case 13:
			NAME("severity_text", LEVEL, 2);
			break;
		case 18:
			NAME("resource.host.name", SOURCE, 2);
			break;
		default:
			break;
	}
	return -1;
#undef NAME
}

/* The text that the field gets from such an attribute; empty: it does not fit. */
static ls_str
fitting(ls_field field, const ls_attribute *attribute)
{
	ls_str text = attribute->text;
	ls_str level;

	if (attribute->kind != LS_KIND_STRING)
		return LS_STR("");
	if (field == LS_FIELD_LEVEL)
		return ls_level_of_name(text, &level) ? level : LS_STR("");
	if (field == LS_FIELD_SERVICE || field == LS_FIELD_SOURCE)
		return text.len <= FILL_BYTES ? text : LS_STR("");
	if (text.len > FILL_ID_BYTES)
		return LS_STR("");
	for (size_t i = 0; i < text.len; i++)
	{
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return LS_STR("");
	}
	return text;
}

/*
 * Fields that nothing has set, from the attributes that say the same (decision 102).  The
 * attributes stay: whoever searches for them goes on finding them.
 */
static void
fill_fields(ls_event_builder *builder)
{
	static const uint32_t fillable = 1u << LS_FIELD_LEVEL | 1u << LS_FIELD_SOURCE |
									 1u << LS_FIELD_SERVICE | 1u << LS_FIELD_TRACE_ID |
									 1u << LS_FIELD_SPAN_ID;
	const ls_event *event = &builder->event;
	ls_str found[LS_NAMED_FIELDS];
	int ranks[LS_NAMED_FIELDS];
	uint32_t filled = 0;

	if ((event->has & fillable) == fillable)
		return;
	for (size_t i = 0; i < event->n_attributes; i++)
	{
		ls_field field = LS_FIELD_EVENT;
		int rank = field_of(event->attributes[i].key, &field);
		uint32_t bit = 1u << field;
		ls_str text;

		if (rank < 0 || (event->has & bit) != 0 || ((filled & bit) != 0 && ranks[field] < rank))
			continue;
		text = fitting(field, &event->attributes[i]);
		if (text.len == 0 || (rank == RANK_STATUS && !is_datadog(event)))
			continue;
		found[field] = text;
		ranks[field] = rank;
		filled |= bit;
	}
	for (int field = 0; filled >> field != 0; field++)
	{
		if ((filled >> field & 1) != 0)
			ls_event_builder_field(builder, (ls_field) field, found[field]);
	}
}

/* The rules that need the whole event.  False when failure is no longer OK. */
static bool
check_event(ls_event_builder *builder, size_t bytes)
{
	ls_event *event = &builder->event;
	bool known;

	if (bytes > builder->options->limits.event_bytes)
	{
		/* Size comes before all else: the rest of the event was not kept. */
		builder->error.code = NULL;
		ls_event_builder_reject(builder, 413, "EVENT_TOO_LARGE", "",
								"the event is larger than 1 MB");
		return true;
	}
	if ((event->has & 1u << LS_FIELD_INDEX) == 0)
		ls_event_builder_field(builder, LS_FIELD_INDEX,
							   builder->options->index.len > 0 ? builder->options->index
															   : LS_STR("main"));
	known = check_index(builder, event->field[LS_FIELD_INDEX]);
	if (builder->parses && known && builder->error.code == NULL && !builder->whole &&
		(event->has & 1u << LS_FIELD_EVENT) != 0 && !ls_event_builder_parse(builder))
		return false;
	fill_fields(builder);
	if ((event->has & 1u << LS_FIELD_EVENT) == 0)
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "event",
								"required: expected a non-empty string");
	if (event->timestamp > builder->options->now + builder->options->limits.future_us)
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "timestamp",
								"too far ahead: expected a time at most 24 hours from now");
	if (!known)
		ls_event_builder_reject(
			builder, 404, "INDEX_NOT_FOUND", "index",
			"there is no index of this name in the organization; create it first, or leave it out");
	return true;
}

/* Sets bit `index`; false: out of memory. */
static bool
set_bit(ls_arena *arena, uint64_t **bits, uint32_t *n_words, uint32_t index)
{
	uint32_t word = index / 64;

	if (word >= *n_words)
	{
		uint32_t n = word + 1 > *n_words * 2 ? word + 1 : *n_words * 2;
		uint64_t *grown =
			ls_arena_grow(arena, *bits, *n_words * sizeof(uint64_t), n * sizeof(uint64_t));

		if (grown == NULL)
			return false;
		memset(grown + *n_words, 0, (n - *n_words) * sizeof(uint64_t));
		*bits = grown;
		*n_words = n;
	}
	(*bits)[word] |= UINT64_C(1) << (index % 64);
	return true;
}

static bool
record_rejection(ls_event_builder *builder)
{
	ls_decode_result *result = builder->result;
	uint32_t index = result->accepted + result->rejected;

	if (!set_bit(builder->options->arena, &result->rejected_bits, &result->n_rejected_words, index))
		return false;
	if (result->n_errors < LS_DECODE_MAX_ERRORS)
	{
		builder->error.index = index;
		result->errors[result->n_errors++] = builder->error;
	}
	if (builder->error.status == 413)
		result->rejected_by_size++;
	result->rejected++;
	return true;
}

/* Can something still come of the body?  Else it ends here, and the rest is not read. */
static bool
goes_on(ls_event_builder *builder)
{
	const ls_decode_result *result = builder->result;
	uint32_t most = builder->options->most_rejected;
	ls_buf message;

	if (most == 0 || result->rejected < most || result->rejected / 10 < result->accepted)
		return true;
	ls_buf_init(&message, builder->options->arena);
	ls_buf_printf(&message,
				  "%u of the first %u events were rejected; the rest was not read, and nothing of "
				  "the request is stored",
				  result->rejected, result->accepted + result->rejected);
	return ls_event_builder_fail(builder, LS_DECODE_REJECTED, "",
								 message.failed ? LS_STR("too many events were rejected")
												: ls_str_make(message.data, message.len),
								 0);
}

static void
add_warning(ls_event_builder *builder, ls_str repeated, bool early)
{
	ls_decode_result *result = builder->result;

	if (result->n_warnings < LS_DECODE_MAX_ERRORS)
		result->warnings[result->n_warnings++] =
			(ls_decode_warning){result->accepted + result->rejected, repeated, early};
}

/* Tells which names had several values.  A long one is told by its begin, an empty one as "". */
static void
tell_repeated(ls_event_builder *builder)
{
	uint32_t n = builder->n_repeated;
	bool more = n > LS_DECODE_MAX_REPEATED;
	ls_buf names;

	n -= more;
	for (uint32_t i = 0; i < n; i++)
		ls_event_builder_ignored(builder, builder->repeated[i]);
	builder->result->more_ignored = builder->result->more_ignored || more;
	if (builder->result->n_warnings == LS_DECODE_MAX_ERRORS)
		return;
	ls_buf_init(&names, builder->options->arena);
	for (uint32_t i = 0; i < n && i < LS_DECODE_TOLD_REPEATED; i++)
	{
		ls_str name = builder->repeated[i].len > 0 ? builder->repeated[i] : LS_STR("\"\"");
		size_t len = ls_utf8_prefix_bytes(name.data, name.len, LS_DECODE_IGNORED_LEN);

		ls_buf_str(&names, i > 0 ? LS_STR(", ") : LS_STR(""));
		ls_buf_append(&names, name.data, len);
		ls_buf_str(&names, len < name.len ? LS_STR("...") : LS_STR(""));
	}
	if (n > LS_DECODE_TOLD_REPEATED)
		ls_buf_printf(&names, " and %s%u more", more ? "more than " : "",
					  n - LS_DECODE_TOLD_REPEATED);
	if (!names.failed)
		add_warning(builder, ls_str_make(names.data, names.len), false);
}

bool
ls_event_builder_commit(ls_event_builder *builder, size_t bytes)
{
	ls_decode_result *result = builder->result;
	ls_event *event = &builder->event;

	if (!check_event(builder, bytes))
		return false;
	if (builder->error.code != NULL)
	{
		if (!record_rejection(builder))
			return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
		return goes_on(builder);
	}
	if (builder->options->most_accepted > 0 && result->accepted >= builder->options->most_accepted)
		return ls_event_builder_fail(builder, LS_DECODE_MANY, "", LS_STR("too many events"), 0);
	if (builder->truncated.len > 0)
	{
		event->field[LS_FIELD_TRUNCATED] =
			ls_str_make(builder->truncated.data, builder->truncated.len);
		event->has |= 1u << LS_FIELD_TRUNCATED;
	}
	if (ls_arena_failed(builder->options->scratch))
		return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
	event->place = builder->options->first_place + result->accepted;
	if (!builder->options->sink.add(builder->options->sink.context, event))
		return ls_event_builder_fail(builder, LS_DECODE_FULL, "", LS_STR("no room for the events"),
									 0);
	if (builder->options->sink.fate != NULL && *builder->options->sink.fate == LS_FATE_DROPPED)
	{
		if (!set_bit(builder->options->arena, &result->dropped_bits, &result->n_dropped_words,
					 result->accepted))
			return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
		result->dropped++;
	}
	else
	{
		if (builder->n_repeated > 0)
			tell_repeated(builder);
		if (event->timestamp < builder->oldest)
		{
			add_warning(builder, LS_STR(""), false);
			result->past_retention++;
		}
		else if (event->timestamp < LS_DECODE_EARLY)
		{
			add_warning(builder, LS_STR(""), true);
			result->early++;
		}
	}
	result->accepted++;
	result->bytes += bytes;
	return true;
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
