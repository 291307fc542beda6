/*-------------------------------------------------------------------------
 *
 * event_commit.c
 *	  Ends an event: fills fields from its text and its attributes, checks what is required, counts it
 *	  and gives it to the sink (pure).
 *
 * Every wire format ends here.  Rejected events are counted and the first 100 named.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/decode.h"

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
