/*-------------------------------------------------------------------------
 *
 * json_event.c
 *	  JSON values to builders, straight from the pull parser (pure).
 *
 * There is no DOM: each member goes to its place when it is read.  Only the
 * members that have stand-ins (event, timestamp, level, ...) wait for the end of
 * the object, because a stand-in counts only where the proper name is absent.
 * So do members without a place, which become attributes after those of
 * `attributes`: of two with one name the one in `attributes` counts.
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
	SLOT_LEVEL_NUMBER, /* what a level is as a number; the scale depends on the logger */
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
			NAME("@t", SLOT_TIMESTAMP, 8);
			NAME("@m", SLOT_EVENT, 6);
			NAME("@l", SLOT_LEVEL, 7);
			break;
		case 3:
			NAME("msg", SLOT_EVENT, 2);
			NAME("log", SLOT_EVENT, 3);
			NAME("@mt", SLOT_EVENT, 8);
			break;
		case 4:
			NAME("body", SLOT_EVENT, 4);
			NAME("date", SLOT_TIMESTAMP, 2);
			NAME("time", SLOT_TIMESTAMP, 4);
			break;
		case 5:
			NAME("event", SLOT_EVENT, 0);
			NAME("level", SLOT_LEVEL, 0);
			NAME("Level", SLOT_LEVEL, 6);
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
			NAME("levelno", SLOT_LEVEL, 9);
			NAME("asctime", SLOT_TIMESTAMP, 5);
			NAME("Message", SLOT_EVENT, 5);
			NAME("MESSAGE", SLOT_EVENT,
				 10); /* of the systemd journal, and what is in capitals below */
			break;
		case 8:
			NAME("severity", SLOT_LEVEL, 1);
			NAME("trace_id", SLOT_TRACE_ID, 1);
			NAME("trace.id", SLOT_TRACE_ID, 2);
			NAME("LogLevel", SLOT_LEVEL, 8);
			NAME("datetime", SLOT_TIMESTAMP, 6);
			NAME("PRIORITY", SLOT_LEVEL, 12);
			break;
		case 9:
			NAME("timestamp", SLOT_TIMESTAMP, 0);
			NAME("levelname", SLOT_LEVEL, 3);
			NAME("log.level", SLOT_LEVEL, 4);
			NAME("Timestamp", SLOT_TIMESTAMP, 7);
			break;
		case 10:
			NAME("attributes", SLOT_ATTRIBUTES, 0);
			NAME("@timestamp", SLOT_TIMESTAMP, 1);
			NAME("timeMillis", SLOT_TIMESTAMP, 10); /* log4j2 */
			NAME("level_name", SLOT_LEVEL, 5);
			break;
		case 11:
			NAME("level_value", SLOT_LEVEL, 11);
			NAME("textPayload", SLOT_EVENT, 12); /* Google's Cloud Logging */
			break;
		case 12:
			NAME("service_name", SLOT_SERVICE, 1);
			NAME("service.name", SLOT_SERVICE, 2);
			NAME("level_number", SLOT_LEVEL, 10);
			break;
		case 13:
			NAME("severity_text", SLOT_LEVEL, 2);
			NAME("short_message", SLOT_EVENT, 11);     /* GELF */
			NAME("TimeGenerated", SLOT_TIMESTAMP, 11); /* Azure Monitor */
			break;
		case 15:
			NAME("RenderedMessage", SLOT_EVENT, 7);
			NAME("MessageTemplate", SLOT_EVENT, 9);
			break;
		case 17:
			NAME("SYSLOG_IDENTIFIER", SLOT_SERVICE, 3);
			break;
		case 20:
			NAME("__REALTIME_TIMESTAMP", SLOT_TIMESTAMP, 9);
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
	if (reader->inner)
		return; /* what it is in was small enough, and its text may be in the arena */
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
				views = views && ls_json_number_fits(value.text);
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

/*
 * Adds what the text of an event says: beside an attribute of the event itself that has the
 * same name it gets another one, as in Loki.
 */
static void
add_inner(ls_json_reader *reader, ls_str key, ls_kind kind, ls_str text, int64_t integer)
{
	ls_event_builder *builder = &reader->builder;
	ls_buf name;

	for (size_t i = 0; i < reader->n_outer; i++)
	{
		const ls_attribute *a = &builder->attributes[i];

		if (!ls_str_eq(a->key, key))
			continue;
		if (a->kind == kind && a->integer == integer && ls_str_eq(a->text, text))
			return;
		ls_buf_init(&name, builder->options->scratch);
		ls_buf_str(&name, key);
		ls_buf_lit(&name, "_extracted");
		key = ls_str_make(name.data, name.failed ? 0 : name.len);
		break;
	}
	ls_event_builder_attribute(builder, key, kind, text, integer);
}

static inline void
add(ls_json_reader *reader, ls_str key, ls_kind kind, ls_str text, int64_t integer)
{
	if (reader->inner)
		add_inner(reader, key, kind, text, integer);
	else
		ls_event_builder_attribute(&reader->builder, key, kind, text, integer);
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
			add(reader, key, LS_KIND_STRING, text, 0);
			break;
		case LS_JSON_NUMBER:
			if (ls_json_canonical_int(text, &integer))
				add(reader, key, LS_KIND_INTEGER, LS_STR(""), integer);
			else
				add(reader, key, LS_KIND_NUMBER, text, 0);
			break;
		case LS_JSON_TRUE:
		case LS_JSON_FALSE:
			add(reader, key, LS_KIND_BOOLEAN, LS_STR(""), value->type == LS_JSON_TRUE);
			break;
		case LS_JSON_NULL:
			add(reader, key, LS_KIND_NULL, LS_STR(""), 0);
			break;
		default:
			if (!compact)
			{
				ls_buf_init(&buf, builder->options->scratch);
				ls_json_init(&again, text, builder->options->scratch, LS_JSON_EVENT_DEPTH);
				again.narrow = true;
				/* It was valid a moment ago: this can only fail for lack of memory. */
				if (!ls_json_compact(&again, &buf))
					return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "",
												 LS_STR("out of memory"), 0);
				text = ls_str_make(buf.data, buf.len);
			}
			add(reader, key, LS_KIND_JSON, text, 0);
			break;
	}
	return true;
}

bool
ls_json_read_attributes(ls_json_reader *reader)
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

/* Is a member of this name among the first `n` that are kept?  The other value is lost. */
static bool
lose_spare(ls_json_reader *reader, size_t n, ls_str name, const ls_json_value *value)
{
	for (size_t i = 0; i < n; i++)
	{
		const ls_json_spare *kept = &reader->spare[i];

		if (!ls_str_eq(kept->name, name))
			continue;
		if (kept->value.type != value->type || !ls_str_eq(kept->value.text, value->text))
			ls_event_builder_repeated(&reader->builder, kept->name);
		return true;
	}
	return false;
}

/* Makes room for a name, where others are there several times.  False: there is none. */
static bool
make_room(ls_json_reader *reader)
{
	size_t n = 0;

	for (size_t i = 0; i < reader->n_spare; i++)
	{
		if (!lose_spare(reader, n, reader->spare[i].name, &reader->spare[i].value))
			reader->spare[n++] = reader->spare[i];
	}
	reader->n_spare = n;
	return n <= reader->builder.options->limits.attributes;
}

/*
 * A member without a place, or one that another stands in for.  Of a name that is there several
 * times all may be kept: the first one counts in the end.  So they are looked for when it is full.
 */
static void
keep_spare(ls_json_reader *reader, ls_str name, const ls_json_value *value, bool compact)
{
	if (reader->n_spare > reader->builder.options->limits.attributes)
	{
		if (reader->spare_lost || lose_spare(reader, reader->n_spare, name, value))
			return;
		reader->spare_lost = !make_room(reader);
		if (reader->spare_lost)
			return;
	}
	reader->spare[reader->n_spare++] = (ls_json_spare){name, *value, compact};
}

/* Is it a time of an event?  Of the text of an event also: not one that would be refused. */
static bool
is_time(const ls_json_reader *reader, const ls_json_value *value)
{
	const ls_decode_options *options = reader->builder.options;
	ls_time time;

	if (!(value->type == LS_JSON_STRING ? ls_normalize_time_text(value->text, &time)
										: ls_normalize_time_number(value->text, &time)))
		return false;
	return !reader->inner || time <= options->now + options->limits.future_us;
}

/* Is this a value that a member with a meaning may have? */
static bool
usable(const ls_json_reader *reader, json_slot slot, const ls_json_value *value)
{
	if (value->type != LS_JSON_STRING && value->type != LS_JSON_NUMBER)
		return false;
	if (slot == SLOT_TIMESTAMP)
		return is_time(reader, value);
	return value->type == LS_JSON_STRING || slot == SLOT_LEVEL;
}

#define NOT_A_TIME \
	"expected an ISO 8601 time, or an epoch in seconds, milliseconds, microseconds or nanoseconds"

/* Another member of the name of one that is kept: the first one counts. */
static void
note_repeated(ls_json_reader *reader, const candidate *kept, const ls_json_value *value)
{
	if (!ls_str_eq(kept->value.text, value->text))
		ls_event_builder_repeated(&reader->builder, kept->name);
}

/* A member that waits for the end of the event; the best name wins. */
static void
keep_candidate(ls_json_reader *reader, candidate *kept, json_slot slot, ls_str name, int rank,
			   const ls_json_value *value, bool compact)
{
	static const char *const paths[] = {"event",   "timestamp", "level",  "level",
										"traceId", "spanId",    "service"};
	/* Elastic's common schema has an object there, into which look_into() looks. */
	bool proper =
		rank == 0 && !reader->documents && !(slot == SLOT_SERVICE && value->type == LS_JSON_OBJECT);

	if (proper ? value->type != LS_JSON_STRING && !(value->type == LS_JSON_NUMBER &&
													(slot == SLOT_TIMESTAMP || slot == SLOT_LEVEL))
			   : !usable(reader, slot, value))
	{
		if (!proper)
			keep_spare(reader, name, value, compact);
		else
			ls_event_builder_reject(&reader->builder, 400, "VALIDATION_ERROR", paths[slot],
									slot == SLOT_EVENT       ? "expected a non-empty string"
									: slot == SLOT_TIMESTAMP ? NOT_A_TIME
									: slot == SLOT_LEVEL     ? "expected a string or a number"
															 : "expected a string");
		return;
	}
	if (slot == SLOT_LEVEL)
	{
		if (rank == 0 && (kept[SLOT_LEVEL].rank == 0 || kept[SLOT_LEVEL_NUMBER].rank == 0))
		{
			note_repeated(
				reader, &kept[kept[SLOT_LEVEL].rank == 0 ? SLOT_LEVEL : SLOT_LEVEL_NUMBER], value);
			return;
		}
		if (value->text.data[0] >= '0' && value->text.data[0] <= '9')
			slot = SLOT_LEVEL_NUMBER;
	}
	kept += slot;
	if (kept->rank >= 0 && kept->rank <= rank)
	{
		if (rank > 0)
			keep_spare(reader, name, value, compact);
		else
			note_repeated(reader, kept, value);
		return;
	}
	if (kept->rank > 0)
		keep_spare(reader, kept->name, &kept->value, true);
	kept->rank = rank;
	kept->name = name;
	kept->value = *value;
}

/* ---- whose numbers ---- */

/* Which logger wrote the event?  What stands beside its level tells. */
static ls_level_scale
scale_of(const ls_json_reader *reader, const candidate *kept)
{
	ls_level_scale found = LS_LEVELS_UNKNOWN;
	bool pid = false;
	bool hostname = false;

	for (size_t i = 0; i < N_ALIASED + reader->n_spare; i++)
	{
		ls_str name = i >= N_ALIASED      ? reader->spare[i - N_ALIASED].name
					  : kept[i].rank >= 0 ? kept[i].name
										  : LS_STR("");
		ls_level_scale scale = ls_level_scale_of_member(name);

		if (scale == LS_LEVELS_PYTHON)
			return scale;
		if (found == LS_LEVELS_UNKNOWN)
			found = scale;
		pid = pid || ls_str_eq(name, LS_STR("pid"));
		hostname = hostname || ls_str_eq(name, LS_STR("hostname"));
	}
	return pid && hostname ? LS_LEVELS_PINO : found;
}

/* The level that stood around a text which says another one. */
static void
keep_outer_level(ls_json_reader *reader, ls_str level)
{
	const ls_event *event = &reader->builder.event;
	ls_json_value outer = {.type = LS_JSON_STRING, .text = event->field[LS_FIELD_LEVEL]};

	if ((event->has & 1u << LS_FIELD_LEVEL) != 0 && !ls_str_eq(outer.text, level))
		keep_spare(reader, LS_STR("level"), &outer, true);
}

/*
 * The level: a name that is known counts before any number, because it means the same to
 * all loggers.  What else was said about it becomes an attribute.
 */
static void
take_level(ls_json_reader *reader, const candidate *kept)
{
	const candidate *name = &kept[SLOT_LEVEL];
	const candidate *number = &kept[SLOT_LEVEL_NUMBER];
	ls_str level = LS_STR("");
	ls_str numbered;

	if (number->rank < 0)
	{
		if (name->rank >= 0)
			level = ls_normalize_level_on(name->value.text, LS_LEVELS_UNKNOWN);
	}
	else
	{
		numbered = ls_normalize_level_on(number->value.text, scale_of(reader, kept));
		if (name->rank < 0)
			level = numbered;
		else if (ls_level_of_name(name->value.text, &level))
		{
			if (!ls_str_eq(level, numbered) || number->rank > 0)
				keep_spare(reader, number->name, &number->value, true);
		}
		else if (name->rank < number->rank)
		{
			level = name->value.text;
			keep_spare(reader, number->name, &number->value, true);
		}
		else
		{
			level = numbered;
			keep_spare(reader, name->name, &name->value, true);
		}
	}
	if (reader->inner && level.len > 0)
		keep_outer_level(reader, level);
	ls_event_builder_field(&reader->builder, LS_FIELD_LEVEL, level);
}

/*
 * Python's `created`, seconds since 1970, is exact where asctime has no time zone.  Of other
 * programs it may be the time when anything was created.
 */
static void
look_for_created(ls_json_reader *reader, candidate *kept)
{
	candidate *time = &kept[SLOT_TIMESTAMP];
	bool local = time->rank > 0 && ls_str_eq(time->name, LS_STR("asctime"));

	if (time->rank >= 0 && !local)
		return;
	for (size_t i = 0; i < reader->n_spare; i++)
	{
		ls_json_spare *spare = &reader->spare[i];

		if (!ls_str_eq(spare->name, LS_STR("created")) || spare->value.type != LS_JSON_NUMBER ||
			!is_time(reader, &spare->value))
			continue;
		if (scale_of(reader, kept) == LS_LEVELS_PYTHON)
		{
			ls_json_spare created = *spare;

			if (local)
				*spare = (ls_json_spare){time->name, time->value, true};
			else
				memmove(spare, spare + 1, (--reader->n_spare - i) * sizeof(*spare));
			*time = (candidate){1, created.name, created.value};
		}
		return;
	}
}

/*
 * A field that a candidate stands for.  What stands around a text says better which service it is
 * from: there it becomes an attribute.
 */
static void
take_field(ls_json_reader *reader, const candidate *kept, ls_field field)
{
	ls_event_builder *builder = &reader->builder;

	if (kept->rank < 0)
		return;
	if (!reader->inner || (builder->event.has & 1u << field) == 0)
		ls_event_builder_field(builder, field, kept->value.text);
	else if (!ls_str_eq(builder->event.field[field], kept->value.text))
		keep_spare(reader, kept->name, &kept->value, true);
}

/* Gives the candidates to the event builder. */
static void
take_candidates(ls_json_reader *reader, const candidate *kept)
{
	ls_event_builder *builder = &reader->builder;
	const ls_json_value *time = &kept[SLOT_TIMESTAMP].value;

	if (kept[SLOT_EVENT].rank >= 0)
		ls_event_builder_field(builder, LS_FIELD_EVENT, kept[SLOT_EVENT].value.text);
	take_level(reader, kept);
	take_field(reader, &kept[SLOT_TRACE_ID], LS_FIELD_TRACE_ID);
	take_field(reader, &kept[SLOT_SPAN_ID], LS_FIELD_SPAN_ID);
	take_field(reader, &kept[SLOT_SERVICE], LS_FIELD_SERVICE);
	if (kept[SLOT_TIMESTAMP].rank >= 0 &&
		!(time->type == LS_JSON_STRING
			  ? ls_normalize_time_text(time->text, &builder->event.timestamp)
			  : ls_normalize_time_number(time->text, &builder->event.timestamp)))
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "timestamp", NOT_A_TIME);
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
				  {"span", "id", SLOT_SPAN_ID},
				  {"jsonPayload", "message", SLOT_EVENT}};
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

/* log4j2's instant: {"epochSecond": 1795897387, "nanoOfSecond": 5000000} */
static void
look_for_instant(ls_json_reader *reader, const candidate *kept)
{
	ls_event_builder *builder = &reader->builder;
	ls_time seconds = 0;
	ls_time nanos = 0;
	bool found = false;
	ls_json_value value;
	ls_json_type type;
	ls_str key, raw;
	ls_json j;

	if (kept[SLOT_TIMESTAMP].rank >= 0 || reader->inner)
		return;
	for (size_t i = 0; i < reader->n_spare; i++)
	{
		const ls_json_spare *spare = &reader->spare[i];

		if (spare->value.type != LS_JSON_OBJECT || !ls_str_eq(spare->name, LS_STR("instant")))
			continue;
		ls_json_init(&j, spare->value.text, builder->options->scratch, LS_JSON_EVENT_DEPTH);
		if (!ls_json_read(&j, &value))
			return;
		while (ls_json_member(&j, &key))
		{
			int64_t number;

			if (!ls_json_peek(&j, &type) || type != LS_JSON_NUMBER)
			{
				if (!ls_json_skip(&j, &raw))
					return;
				continue;
			}
			if (!ls_json_read(&j, &value) || !ls_json_canonical_int(value.text, &number))
				return;
			if (ls_str_eq(key, LS_STR("epochSecond")))
			{
				seconds = number;
				found = true;
			}
			else if (ls_str_eq(key, LS_STR("nanoOfSecond")))
				nanos = number;
		}
		if (found)
			(void) ls_normalize_time_of(seconds, nanos, &builder->event.timestamp);
		return;
	}
}

/* Ends an event: the members without a place become attributes. */
static bool
end_members(ls_json_reader *reader, candidate *kept)
{
	ls_event_builder *builder = &reader->builder;

	for (size_t i = 0; i < reader->n_spare; i++)
	{
		if (reader->spare[i].value.type == LS_JSON_OBJECT)
			look_into(reader, &reader->spare[i], kept);
	}
	look_for_created(reader, kept);
	look_for_instant(reader, kept);
	take_candidates(reader, kept);
	for (size_t i = 0; i < reader->n_spare; i++)
	{
		const ls_json_spare *spare = &reader->spare[i];

		if (!builder->dropped && !add_attribute(reader, spare->name, &spare->value, spare->compact))
			return false;
	}
	if (reader->spare_lost)
		ls_event_builder_drop(builder);
	if (reader->documents && (builder->event.has & 1u << LS_FIELD_EVENT) == 0)
	{
		ls_event_builder_field(
			builder, LS_FIELD_EVENT,
			ls_str_make(reader->begin, (size_t) (reader->json.pos - reader->begin)));
		builder->whole = true;
	}
	return true;
}

/* A member without stand-ins. */
static bool
take_member(ls_json_reader *reader, json_slot slot, ls_str key, const ls_json_value *value)
{
	static const ls_field fields[] = {LS_FIELD_SOURCE, LS_FIELD_INDEX};
	static const char *const paths[] = {"source", "index", "attributes"};
	ls_event_builder *builder = &reader->builder;
	ls_json_value whole = *value;
	bool compact = true;

	if (slot == SLOT_ATTRIBUTES && value->type == LS_JSON_OBJECT)
		return ls_json_read_attributes(reader);
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
	else if (!ls_str_eq(builder->event.field[fields[slot - SLOT_SOURCE]], value->text))
	{
		if (reader->inner)
			keep_spare(reader, key, &whole, true);
		else
			ls_event_builder_repeated(builder, key);
	}
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

	for (int i = 0; i < N_ALIASED; i++)
		kept[i].rank = -1;
	reader->n_spare = 0;
	reader->spare_lost = false;
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
			if (!take_member(reader, slot, key, &value))
				return false;
			continue;
		}
		compact = true;
		if (is_container(value.type) && !walk_container(reader, value.type, &value.text, &compact))
			return false;
		check_size(reader);
		if (!reader->too_large)
			keep_candidate(reader, kept, slot, key, rank, &value, compact);
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
								reader->single && value.type == LS_JSON_ARRAY
									? "expected one event; an array of events goes to "
									  "/api/v1/logs/batch"
								: value.type == LS_JSON_ARRAY
									? "expected an object or a string, not an array; events in an "
									  "array go to /api/v1/logs/batch as application/json"
									: "expected an object or a string");
		if (!ls_json_pass_over(reader, &value))
			return false;
	}
	return true;
}

bool
ls_event_builder_parse(ls_event_builder *builder)
{
	const ls_decode_options *options = builder->options;
	ls_str text = builder->event.field[LS_FIELD_EVENT];
	ls_json_reader reader = {.documents = true, .inner = true};
	ls_json_value value;
	ls_json_type type;

	ls_json_init(&reader.json, text, options->scratch, LS_JSON_EVENT_DEPTH);
	if (!ls_json_peek(&reader.json, &type) || type != LS_JSON_OBJECT)
		return true;
	if (builder->spare == NULL)
		builder->spare =
			ls_new_array(options->arena, ls_json_spare, options->limits.attributes + 1);
	if (builder->spare == NULL)
		return ls_event_builder_fail(builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
	/* A copy, so that nothing is taken of what turns out to be no JSON. */
	reader.builder = *builder;
	reader.spare = builder->spare;
	reader.n_outer = builder->event.n_attributes;
	reader.begin = text.data;
	if (ls_json_read(&reader.json, &value) && read_members(&reader) && ls_json_end(&reader.json))
		*builder = reader.builder;
	return builder->result->failure == LS_DECODE_OK;
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
	reader->single = false;
	reader->inner = false;
	reader->n_outer = 0;
	reader->expanded = 0;
	reader->shared = NULL;
	ls_json_init(&reader->json, body, options->scratch, LS_JSON_EVENT_DEPTH);
	if (body.len >= 3 && memcmp(body.data, "\xEF\xBB\xBF", 3) == 0)
		reader->json.pos += 3;
	reader->begin = reader->json.pos;
	reader->too_large = false;
	return true;
}
