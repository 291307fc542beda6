/*-------------------------------------------------------------------------
 *
 * json_event.c
 *	  JSON values to builders, straight from the pull parser (pure).
 *
 * There is no DOM: each member goes to its place when it is read.  Only the
 * members that have stand-ins (event, timestamp, level, ...) wait for the end of
 * the object, because a stand-in counts only where the proper name is absent.
 * So do members without a place: whether they are attributes or are ignored
 * depends on whether the object has an `event`, that is, on who wrote it.
 *
 * An event that grows over its limit is read on only to find its end; then the
 * scratch arena is emptied on the way, so that a body of one huge event costs
 * no more memory than one of many small ones.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/json_event.h"

/* Scratch memory of an event that is already too large. */
#define DISCARD_BYTES (256 * 1024)

/* Members that can come under several names. */
typedef enum json_slot
{
	SLOT_EVENT,
	SLOT_TIMESTAMP,
	SLOT_LEVEL,
	SLOT_TRACE_ID,
	SLOT_SPAN_ID,
	SLOT_SERVICE,
	N_ALIASED,
	SLOT_SOURCE = N_ALIASED,
	SLOT_INDEX,
	SLOT_ATTRIBUTES,
	SLOT_UNKNOWN
} json_slot;

typedef struct candidate
{
	int rank; /* 0: the proper name; -1: none yet */
	ls_str name;
	ls_json_value value;
} candidate;

static inline bool
is(ls_str key, const char *name)
{
	return memcmp(key.data, name, key.len) == 0;
}

/* Where a member belongs; *rank tells a stand-in (from 1) from the proper name. */
static json_slot
slot_of(ls_str key, int *rank)
{
#define NAME(text, slot, its_rank) \
	if (is(key, text))             \
	return *rank = (its_rank), (slot)

	*rank = 0;
	switch (key.len)
	{
		case 2:
			NAME("ts", SLOT_TIMESTAMP, 3);
			break;
		case 3:
			NAME("msg", SLOT_EVENT, 2);
			NAME("log", SLOT_EVENT, 3);
			break;
		case 4:
			NAME("body", SLOT_EVENT, 4);
			NAME("date", SLOT_TIMESTAMP, 2);
			NAME("time", SLOT_TIMESTAMP, 4);
			break;
		case 5:
			NAME("event", SLOT_EVENT, 0);
			NAME("level", SLOT_LEVEL, 0);
			NAME("index", SLOT_INDEX, 0);
			break;
		case 6:
			NAME("source", SLOT_SOURCE, 0);
			NAME("spanId", SLOT_SPAN_ID, 0);
			break;
		case 7:
			NAME("service", SLOT_SERVICE, 0);
			NAME("span.id", SLOT_SPAN_ID, 2);
			NAME("traceId", SLOT_TRACE_ID, 0);
			NAME("message", SLOT_EVENT, 1);
			NAME("span_id", SLOT_SPAN_ID, 1);
			break;
		case 8:
			NAME("severity", SLOT_LEVEL, 1);
			NAME("trace_id", SLOT_TRACE_ID, 1);
			NAME("trace.id", SLOT_TRACE_ID, 2);
			break;
		case 9:
			NAME("levelname", SLOT_LEVEL, 3);
			NAME("log.level", SLOT_LEVEL, 4);
			NAME("timestamp", SLOT_TIMESTAMP, 0);
			break;
		case 10:
			NAME("attributes", SLOT_ATTRIBUTES, 0);
			NAME("@timestamp", SLOT_TIMESTAMP, 1);
			break;
		case 12:
			NAME("service_name", SLOT_SERVICE, 1);
			NAME("service.name", SLOT_SERVICE, 2);
			break;
		case 13:
			NAME("severity_text", SLOT_LEVEL, 2);
			break;
		default:
			break;
	}
	return SLOT_UNKNOWN;
#undef NAME
}

/* Notices an event over its limit, and then keeps the scratch arena small. */
static inline void
check_size(ls_json_reader *reader)
{
	ls_arena *scratch = reader->builder.options->scratch;

	if ((size_t) (reader->json.pos - reader->begin) <= reader->builder.options->limits.event_bytes)
		return;
	reader->too_large = true;
	if (ls_arena_used(scratch) > DISCARD_BYTES && !ls_arena_failed(scratch))
		ls_arena_reset(scratch);
}

static inline bool
is_container(ls_json_type type)
{
	return type == LS_JSON_OBJECT || type == LS_JSON_ARRAY;
}

/*
 * Walks to the end of a container that was just opened.  *raw is its text,
 * *compact tells whether that is compact JSON already: when every string is a
 * view (has no escapes) and the lengths of the tokens add up to the length of
 * the text.  False: see json.error.
 */
static bool
walk_container(ls_json_reader *reader, ls_json_type type, ls_str *raw, bool *compact)
{
	ls_json *j = &reader->json;
	const char *begin = j->pos - 1;
	ls_json_value value = {.type = type};
	ls_str key;
	size_t length = 0;
	bool views = true;
	uint64_t objects = 0;  /* bit d: container d is an object */
	uint64_t nonempty = 0; /* bit d: container d has an entry */
	int level = -1;

	while (true)
	{
		switch (value.type)
		{
			case LS_JSON_OBJECT:
			case LS_JSON_ARRAY:
				level++;
				objects = (objects & ~(UINT64_C(1) << level)) |
						  (uint64_t) (value.type == LS_JSON_OBJECT) << level;
				nonempty &= ~(UINT64_C(1) << level);
				length += 2;
				break;
			case LS_JSON_STRING:
				length += value.text.len + 2;
				views = views && value.text.data >= begin && value.text.data <= j->pos;
				break;
			case LS_JSON_NUMBER:
				length += value.text.len;
				break;
			default:
				length += value.type == LS_JSON_FALSE ? 5 : 4;
				break;
		}
		check_size(reader);
		while (!((objects >> level & 1) ? ls_json_member(j, &key) : ls_json_element(j)))
		{
			if (j->error != NULL)
				return false;
			if (--level < 0)
			{
				*raw = ls_str_make(begin, (size_t) (j->pos - begin));
				*compact = views && length == raw->len;
				return true;
			}
		}
		length += nonempty >> level & 1; /* the comma */
		nonempty |= UINT64_C(1) << level;
		if (objects >> level & 1)
		{
			length += key.len + 3;
			views = views && key.data >= begin && key.data <= j->pos;
		}
		if (!ls_json_read(j, &value))
			return false;
	}
}

/* Passes over the rest of a value of which `value` was read. */
bool
ls_json_pass_over(ls_json_reader *reader, const ls_json_value *value)
{
	ls_str raw;
	bool compact;

	if (is_container(value->type) && !walk_container(reader, value->type, &raw, &compact))
		return false;
	check_size(reader);
	return true;
}

/* Adds a value as an attribute; of a container the raw text. */
static bool
add_attribute(ls_json_reader *reader, ls_str key, const ls_json_value *value, bool compact)
{
	ls_event_builder *builder = &reader->builder;
	ls_str text = value->text;
	int64_t integer;
	ls_json again;
	ls_buf buf;

	switch (value->type)
	{
		case LS_JSON_STRING:
			ls_event_builder_attribute(builder, key, LS_KIND_STRING, text, 0);
			break;
		case LS_JSON_NUMBER:
			if (ls_json_canonical_int(text, &integer))
				ls_event_builder_attribute(builder, key, LS_KIND_INTEGER, LS_STR(""), integer);
			else
				ls_event_builder_attribute(builder, key, LS_KIND_NUMBER, text, 0);
			break;
		case LS_JSON_TRUE:
		case LS_JSON_FALSE:
			ls_event_builder_attribute(builder, key, LS_KIND_BOOLEAN, LS_STR(""),
									   value->type == LS_JSON_TRUE);
			break;
		case LS_JSON_NULL:
			ls_event_builder_attribute(builder, key, LS_KIND_NULL, LS_STR(""), 0);
			break;
		default:
			if (!compact)
			{
				ls_buf_init(&buf, builder->options->scratch);
				ls_json_init(&again, text, builder->options->scratch, LS_JSON_EVENT_DEPTH);
				/* It was valid a moment ago: this can only fail for lack of memory. */
				if (!ls_json_compact(&again, &buf))
					return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "",
												 LS_STR("out of memory"), 0);
				text = ls_str_make(buf.data, buf.len);
			}
			ls_event_builder_attribute(builder, key, LS_KIND_JSON, text, 0);
			break;
	}
	return true;
}

/* The members of `attributes`, which is open. */
static bool
read_attributes(ls_json_reader *reader)
{
	ls_json *j = &reader->json;
	ls_event_builder *builder = &reader->builder;
	ls_json_value value;
	ls_str key;
	bool compact = true;

	while (ls_json_member(j, &key))
	{
		if (!ls_json_read(j, &value))
			return false;
		if (is_container(value.type) && !walk_container(reader, value.type, &value.text, &compact))
			return false;
		check_size(reader);
		if (!reader->too_large && !builder->dropped && !add_attribute(reader, key, &value, compact))
			return false;
	}
	return j->error == NULL;
}

/* A member without a place, or one that another stands in for. */
static void
keep_spare(ls_json_reader *reader, ls_str name, const ls_json_value *value, bool compact)
{
	if (reader->n_spare <= reader->builder.options->limits.attributes)
		reader->spare[reader->n_spare++] = (ls_json_spare){name, *value, compact};
}

/* Is this a value that a member with a meaning may have? */
static bool
usable(json_slot slot, const ls_json_value *value)
{
	ls_time time;

	if (value->type == LS_JSON_STRING)
		return slot != SLOT_TIMESTAMP || ls_normalize_time_text(value->text, &time);
	if (value->type != LS_JSON_NUMBER)
		return false;
	return slot == SLOT_LEVEL ||
		   (slot == SLOT_TIMESTAMP && ls_normalize_time_number(value->text, &time));
}

/* A member that waits for the end of the event; the best name wins. */
static void
keep_candidate(ls_json_reader *reader, candidate *kept, json_slot slot, ls_str name, int rank,
			   const ls_json_value *value, bool compact)
{
	static const char *const paths[] = {"event",   "timestamp", "level",
										"traceId", "spanId",    "service"};
	bool proper = rank == 0 && !reader->documents;

	if (proper ? value->type != LS_JSON_STRING && !(value->type == LS_JSON_NUMBER &&
													(slot == SLOT_TIMESTAMP || slot == SLOT_LEVEL))
			   : !usable(slot, value))
	{
		if (!proper)
			keep_spare(reader, name, value, compact);
		else
			ls_event_builder_reject(&reader->builder, 400, "VALIDATION_ERROR", paths[slot],
									slot == SLOT_EVENT ? "expected a non-empty string"
									: slot == SLOT_TIMESTAMP
										? "expected an ISO 8601 time or an epoch in milliseconds"
										: "expected a string");
		return;
	}
	if (kept->rank >= 0 && kept->rank <= rank)
	{
		if (rank > 0)
			keep_spare(reader, name, value, compact);
		return;
	}
	if (kept->rank > 0)
		keep_spare(reader, kept->name, &kept->value, true);
	kept->rank = rank;
	kept->name = name;
	kept->value = *value;
}

/* Gives the candidates to the event builder. */
static void
take_candidates(ls_event_builder *builder, const candidate *kept)
{
	const ls_json_value *time = &kept[SLOT_TIMESTAMP].value;

	if (kept[SLOT_EVENT].rank >= 0)
		ls_event_builder_field(builder, LS_FIELD_EVENT, kept[SLOT_EVENT].value.text);
	if (kept[SLOT_LEVEL].rank >= 0)
		ls_event_builder_field(builder, LS_FIELD_LEVEL,
							   ls_normalize_level(kept[SLOT_LEVEL].value.text));
	if (kept[SLOT_TRACE_ID].rank >= 0)
		ls_event_builder_field(builder, LS_FIELD_TRACE_ID, kept[SLOT_TRACE_ID].value.text);
	if (kept[SLOT_SPAN_ID].rank >= 0)
		ls_event_builder_field(builder, LS_FIELD_SPAN_ID, kept[SLOT_SPAN_ID].value.text);
	if (kept[SLOT_SERVICE].rank >= 0)
		ls_event_builder_field(builder, LS_FIELD_SERVICE, kept[SLOT_SERVICE].value.text);
	if (kept[SLOT_TIMESTAMP].rank >= 0 &&
		!(time->type == LS_JSON_STRING
			  ? ls_normalize_time_text(time->text, &builder->event.timestamp)
			  : ls_normalize_time_number(time->text, &builder->event.timestamp)))
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "timestamp",
								"expected an ISO 8601 time or an epoch in milliseconds");
}

/*
 * What Elastic's common schema nests: service.name, log.level, trace.id and
 * span.id, where nothing else says it.
 */
static void
look_into(ls_json_reader *reader, const ls_json_spare *spare, candidate *kept)
{
	static const struct
	{
		const char *object;
		const char *member;
		json_slot slot;
	} nested[] = {{"service", "name", SLOT_SERVICE},
				  {"log", "level", SLOT_LEVEL},
				  {"trace", "id", SLOT_TRACE_ID},
				  {"span", "id", SLOT_SPAN_ID}};
	ls_json j;
	ls_json_value value;
	ls_str key;

	for (size_t i = 0; i < sizeof(nested) / sizeof(nested[0]); i++)
	{
		if (kept[nested[i].slot].rank >= 0 ||
			!ls_str_eq(spare->name, ls_str_make(nested[i].object, strlen(nested[i].object))))
			continue;
		ls_json_init(&j, spare->value.text, reader->builder.options->scratch, LS_JSON_EVENT_DEPTH);
		if (!ls_json_read(&j, &value))
			return;
		while (ls_json_member(&j, &key))
		{
			ls_json_type type;
			ls_str raw;

			if (!ls_str_eq(key, ls_str_make(nested[i].member, strlen(nested[i].member))) ||
				!ls_json_peek(&j, &type) || type != LS_JSON_STRING)
			{
				if (!ls_json_skip(&j, &raw))
					return;
				continue;
			}
			if (ls_json_read(&j, &value) && value.text.len > 0)
			{
				kept[nested[i].slot].rank = 1;
				kept[nested[i].slot].name = key;
				kept[nested[i].slot].value = value;
			}
			return;
		}
	}
}

/*
 * Ends an event.  An object with `event` is one of ours, and what it has
 * besides is ignored and named.  One that says its text in another way was
 * written by another logger: all of it is kept.
 */
static bool
end_members(ls_json_reader *reader, candidate *kept)
{
	ls_event_builder *builder = &reader->builder;
	bool foreign = reader->documents || kept[SLOT_EVENT].rank > 0;

	for (size_t i = 0; i < reader->n_spare && foreign; i++)
	{
		if (reader->spare[i].value.type == LS_JSON_OBJECT)
			look_into(reader, &reader->spare[i], kept);
	}
	take_candidates(builder, kept);
	for (size_t i = 0; i < reader->n_spare; i++)
	{
		const ls_json_spare *spare = &reader->spare[i];

		if (!foreign)
			ls_event_builder_ignored(builder, spare->name);
		else if (!builder->dropped &&
				 !add_attribute(reader, spare->name, &spare->value, spare->compact))
			return false;
	}
	if (reader->documents && (builder->event.has & 1u << LS_FIELD_EVENT) == 0)
		ls_event_builder_field(
			builder, LS_FIELD_EVENT,
			ls_str_make(reader->begin, (size_t) (reader->json.pos - reader->begin)));
	return true;
}

/* A member without stand-ins. */
static bool
take_member(ls_json_reader *reader, json_slot slot, ls_str key, const ls_json_value *value,
			bool *had_attributes)
{
	static const ls_field fields[] = {LS_FIELD_SOURCE, LS_FIELD_INDEX};
	static const char *const paths[] = {"source", "index", "attributes"};
	ls_event_builder *builder = &reader->builder;
	ls_json_value whole = *value;
	bool compact = true;

	if (slot == SLOT_ATTRIBUTES && value->type == LS_JSON_OBJECT && !*had_attributes)
	{
		*had_attributes = true;
		return read_attributes(reader);
	}
	if (is_container(value->type) && !walk_container(reader, value->type, &whole.text, &compact))
		return false;
	check_size(reader);
	if (reader->too_large)
		return true;
	if (slot == SLOT_UNKNOWN ||
		(reader->documents &&
		 (slot == SLOT_INDEX || slot == SLOT_ATTRIBUTES || value->type != LS_JSON_STRING)))
		keep_spare(reader, key, &whole, compact);
	else if (slot == SLOT_ATTRIBUTES)
	{
		if (value->type != LS_JSON_OBJECT)
			ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", paths[slot - SLOT_SOURCE],
									"expected an object");
	}
	else if (value->type != LS_JSON_STRING)
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", paths[slot - SLOT_SOURCE],
								"expected a string");
	else if ((builder->event.has & 1u << fields[slot - SLOT_SOURCE]) == 0)
		ls_event_builder_field(builder, fields[slot - SLOT_SOURCE], value->text);
	return true;
}

/* The members of an event, which is open. */
static bool
read_members(ls_json_reader *reader)
{
	ls_json *j = &reader->json;
	candidate kept[N_ALIASED];
	ls_json_value value;
	ls_str key;
	json_slot slot;
	int rank;
	bool compact;
	bool had_attributes = false;

	for (int i = 0; i < N_ALIASED; i++)
		kept[i].rank = -1;
	reader->n_spare = 0;
	while (ls_json_member(j, &key))
	{
		if (!ls_json_read(j, &value))
			return false;
		check_size(reader);
		if (reader->too_large)
		{
			if (!ls_json_pass_over(reader, &value))
				return false;
			continue;
		}
		slot = slot_of(key, &rank);
		/* null and "" are as good as absent, whatever the member. */
		if (slot != SLOT_UNKNOWN &&
			(value.type == LS_JSON_NULL || (value.type == LS_JSON_STRING && value.text.len == 0)))
			continue;
		if (slot >= N_ALIASED)
		{
			if (!take_member(reader, slot, key, &value, &had_attributes))
				return false;
			continue;
		}
		compact = true;
		if (is_container(value.type) && !walk_container(reader, value.type, &value.text, &compact))
			return false;
		check_size(reader);
		if (!reader->too_large)
			keep_candidate(reader, &kept[slot], slot, key, rank, &value, compact);
	}
	if (j->error != NULL)
		return false;
	return reader->too_large || end_members(reader, kept);
}

bool
ls_json_read_event(ls_json_reader *reader)
{
	ls_json *j = &reader->json;
	ls_json_value value;

	ls_event_builder_begin(&reader->builder);
	reader->begin = j->pos;
	reader->too_large = false;
	if (!ls_json_read(j, &value))
		return false;
	if (value.type == LS_JSON_OBJECT)
	{
		/* Its size begins here, not at the white space before it. */
		reader->begin = j->pos - 1;
		if (!read_members(reader))
			return false;
	}
	else if (value.type == LS_JSON_STRING)
	{
		while (*reader->begin != '"')
			reader->begin++;
		ls_event_builder_field(&reader->builder, LS_FIELD_EVENT, value.text);
	}
	else
	{
		ls_event_builder_reject(&reader->builder, 400, "VALIDATION_ERROR", "",
								"expected an object or a string");
		if (!ls_json_pass_over(reader, &value))
			return false;
	}
	return true;
}

bool
ls_json_reader_init(ls_json_reader *reader, const ls_decode_options *options, ls_str body,
					ls_decode_result *result)
{
	if (!ls_event_builder_init(&reader->builder, options, result))
		return false;
	reader->spare = ls_new_array(options->arena, ls_json_spare, options->limits.attributes + 1);
	if (reader->spare == NULL)
		return ls_event_builder_fail(&reader->builder, LS_DECODE_MEMORY, "",
									 LS_STR("out of memory"), 0);
	reader->documents = false;
	ls_json_init(&reader->json, body, options->scratch, LS_JSON_EVENT_DEPTH);
	if (body.len >= 3 && memcmp(body.data, "\xEF\xBB\xBF", 3) == 0)
		reader->json.pos += 3;
	reader->begin = reader->json.pos;
	reader->too_large = false;
	return true;
}

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
		j->error = "expected the end of the line";
		j->error_offset = (size_t) (j->pos - j->start);
	}
	offset = j->error_offset;
	ls_event_builder_begin(builder);
	if (builder->result->n_errors < LS_DECODE_MAX_ERRORS)
	{
		ls_buf_init(&buf, builder->options->arena);
		ls_buf_printf(&buf, "invalid JSON in line %llu at byte %zu: %s",
					  (unsigned long long) number, offset, j->error);
		ls_buf_char(&buf, '\0');
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "",
								buf.failed ? "invalid JSON" : buf.data);
	}
	else
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "", "invalid JSON");
	return ls_event_builder_commit(builder, line.len);
}
