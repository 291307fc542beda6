/*-------------------------------------------------------------------------
 *
 * wrapped_events.c
 *	  Objects that hold a list of events, as other products send them (pure).
 *
 * {"logs": [...]}, New Relic's common attributes, CloudWatch's subscriptions, Kafka's REST records.  An
 * object is a wrapper only if all of its members are those of one shape, so that an event which has an
 * attribute of that name stays one event.  Members may come in any order: so the object is passed over
 * once, and its list is read afterwards.
 *
 * What is said once for all events is stored with each: so the expanded bytes are counted, as with
 * the resources of OTLP.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/json_event.h"

/* What an event costs even when it says nothing. */
#define EVENT_OVERHEAD 64

/* A member beside the list. */
typedef enum use
{
	USE_TEXT,   /* an attribute of all events */
	USE_COMMON, /* an object of such attributes */
	USE_IGNORED /* about the delivery */
} use;

typedef struct member
{
	const char *name;
	use use;
} member;

#define MOST_MEMBERS 6

static const struct
{
	const char *list;
	member members[MOST_MEMBERS]; /* those with USE_TEXT first */
} shapes[] = {
	{"events", {{NULL, USE_IGNORED}}},
	{"logs", {{"common", USE_COMMON}}},
	{"records", {{NULL, USE_IGNORED}}},
	{"logEvents",
	 {{"owner", USE_TEXT},
	  {"logGroup", USE_TEXT},
	  {"logStream", USE_TEXT},
	  {"messageType", USE_IGNORED},
	  {"subscriptionFilters", USE_IGNORED},
	  {"policyLevel", USE_IGNORED}}},
};

#define N_SHAPES ((int) (sizeof(shapes) / sizeof(shapes[0])))

/* The name of a list itself, beside the numbers of members. */
#define THE_LIST MOST_MEMBERS

static bool
is(ls_str key, const char *name)
{
	return name != NULL && ls_str_eq(key, ls_str_make(name, strlen(name)));
}

/* The shape that has such a member, and which it is; -1: none. */
static int
shape_of(ls_str key, int *which)
{
	for (int s = 0; s < N_SHAPES; s++)
	{
		*which = THE_LIST;
		if (is(key, shapes[s].list))
			return s;
		for (int m = 0; m < MOST_MEMBERS; m++)
		{
			*which = m;
			if (is(key, shapes[s].members[m].name))
				return s;
		}
	}
	return -1;
}

/* May the member have such a value? */
static bool
fits(int shape, int which, ls_str raw)
{
	char first = raw.data[0];

	if (which == THE_LIST)
		return first == '[';
	switch (shapes[shape].members[which].use)
	{
		case USE_TEXT:
			return first == '"';
		case USE_COMMON:
			return first == '{';
		default:
			return true;
	}
}

bool
ls_json_find_wrapper(ls_json_reader *reader, bool events, ls_json_wrapper *wrapper)
{
	ls_json j = reader->json;
	bool ignored[MOST_MEMBERS] = {false};
	uint32_t seen = 0;
	int shape = -1;
	ls_json_value value;
	ls_str key, raw;

	if (!ls_json_read(&j, &value) || value.type != LS_JSON_OBJECT)
		return false;
	*wrapper = (ls_json_wrapper){.name = NULL};
	while (ls_json_member(&j, &key))
	{
		int which;
		int found = shape_of(key, &which);

		if (found < 0 || (shape >= 0 && found != shape) || (seen & 1u << which) != 0 ||
			(!events && is(key, "events")))
			return false;
		shape = found;
		seen |= 1u << which;
		if (!ls_json_skip(&j, &raw) || !fits(shape, which, raw))
			return false;
		if (which == THE_LIST)
			wrapper->list = raw;
		else if (shapes[shape].members[which].use == USE_COMMON)
			wrapper->common = raw;
		else if (shapes[shape].members[which].use == USE_TEXT)
			wrapper->texts[which] = raw;
		else
			ignored[which] = true;
	}
	if (j.error != NULL || wrapper->list.len == 0)
		return false;
	wrapper->name = shapes[shape].list;
	for (int m = 0; m < MOST_MEMBERS; m++)
	{
		const char *name = shapes[shape].members[m].name;

		if (ignored[m])
			ls_event_builder_ignored(&reader->builder, ls_str_make(name, strlen(name)));
		if (m < 3 && wrapper->texts[m].len > 0)
			wrapper->names[m] = name;
	}
	reader->json = j;
	return true;
}

/* ---- what the events share ---- */

typedef struct shared
{
	ls_attribute *attributes;
	size_t n;
	size_t most;
	bool more;
	size_t bytes;
	bool has_time;
	ls_time time;
} shared;

/* A JSON value as an attribute.  False: out of memory, or no JSON. */
static bool
attribute_of(ls_arena *arena, ls_str key, ls_str raw, ls_attribute *attribute)
{
	ls_json_value value;
	ls_json j;
	ls_buf compact;

	*attribute = (ls_attribute){.key = key};
	ls_json_init(&j, raw, arena, LS_JSON_EVENT_DEPTH);
	if (raw.data[0] == '{' || raw.data[0] == '[')
	{
		ls_buf_init(&compact, arena);
		j.narrow = true;
		if (!ls_json_compact(&j, &compact))
			return false;
		attribute->kind = LS_KIND_JSON;
		attribute->text = ls_str_make(compact.data, compact.len);
		return true;
	}
	if (!ls_json_read(&j, &value))
		return false;
	attribute->text = value.text;
	switch (value.type)
	{
		case LS_JSON_STRING:
			attribute->kind = LS_KIND_STRING;
			return true;
		case LS_JSON_NUMBER:
			attribute->kind = LS_KIND_NUMBER;
			if (ls_json_canonical_int(value.text, &attribute->integer))
				attribute->kind = LS_KIND_INTEGER;
			break;
		case LS_JSON_NULL:
			attribute->kind = LS_KIND_NULL;
			break;
		default:
			attribute->kind = LS_KIND_BOOLEAN;
			attribute->integer = value.type == LS_JSON_TRUE;
			break;
	}
	if (attribute->kind != LS_KIND_NUMBER)
		attribute->text = LS_STR("");
	return true;
}

/* Of two with one name the first one counts. */
static bool
share(ls_event_builder *builder, shared *with, ls_str key, ls_str raw)
{
	ls_attribute a;

	if (!attribute_of(builder->options->arena, key, raw, &a))
		return false;
	for (size_t i = 0; i < with->n; i++)
	{
		const ls_attribute *kept = &with->attributes[i];

		if (!ls_str_eq(kept->key, key))
			continue;
		if (kept->kind != a.kind || kept->integer != a.integer || !ls_str_eq(kept->text, a.text))
			ls_event_builder_ignored(builder, key);
		return true;
	}
	if (with->n == with->most)
		with->more = true;
	else
		with->attributes[with->n++] = a;
	return true;
}

/* The members of an object; of `common` those of its `attributes`, and its time.  False: no memory. */
static bool
share_members(ls_event_builder *builder, shared *with, ls_str object, bool common, bool *bad_time)
{
	ls_arena *arena = builder->options->arena;
	ls_json j;
	ls_json_value value;
	ls_str key, raw;

	ls_json_init(&j, object, arena, LS_JSON_EVENT_DEPTH);
	if (!ls_json_read(&j, &value))
		return false;
	while (ls_json_member(&j, &key))
	{
		if (!ls_json_skip(&j, &raw))
			return false;
		if (common && is(key, "attributes") && raw.data[0] == '{')
		{
			if (!share_members(builder, with, raw, false, bad_time))
				return false;
		}
		else if (common && is(key, "timestamp"))
		{
			ls_attribute time;

			if (with->has_time)
			{
				ls_event_builder_ignored(builder, key);
				continue;
			}
			if (!attribute_of(arena, key, raw, &time))
				return false;
			with->has_time = time.kind == LS_KIND_STRING
								 ? ls_normalize_time_text(time.text, &with->time)
								 : ls_normalize_time_number(raw, &with->time);
			*bad_time = !with->has_time;
		}
		else if (!share(builder, with, key, raw))
			return false;
	}
	return j.error == NULL;
}

static bool
fail_memory(ls_json_reader *reader)
{
	return ls_event_builder_fail(&reader->builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"),
								 0);
}

static bool
read_shared(ls_json_reader *reader, const ls_json_wrapper *wrapper, shared *with)
{
	const ls_decode_options *options = reader->builder.options;
	bool bad_time = false;

	memset(with, 0, sizeof(*with));
	if (wrapper->common.len == 0 &&
		wrapper->texts[0].len + wrapper->texts[1].len + wrapper->texts[2].len == 0)
		return true;
	with->most = options->limits.attributes;
	/* One for all wrappers of a body: there may be very many. */
	if (reader->shared == NULL)
		reader->shared = ls_new_array(options->arena, ls_attribute, with->most + 1);
	with->attributes = reader->shared;
	if (with->attributes == NULL)
		return fail_memory(reader);
	for (int m = 0; m < 3; m++)
	{
		with->bytes += wrapper->texts[m].len;
		if (wrapper->texts[m].len > 0 &&
			!share(&reader->builder, with,
				   ls_str_make(wrapper->names[m], strlen(wrapper->names[m])), wrapper->texts[m]))
			return fail_memory(reader);
	}
	with->bytes += wrapper->common.len;
	if (wrapper->common.len > 0 &&
		!share_members(&reader->builder, with, wrapper->common, true, &bad_time))
		return fail_memory(reader);
	return !bad_time ||
		   ls_event_builder_fail(
			   &reader->builder, LS_DECODE_INVALID, "common.timestamp",
			   LS_STR("expected an ISO 8601 time, or an epoch in seconds, milliseconds, "
					  "microseconds or nanoseconds"),
			   0);
}

/* ---- Kafka's records ---- */

typedef enum record_member
{
	RECORD_VALUE,
	RECORD_KEY,
	RECORD_PARTITION,
	RECORD_HEADERS,
	RECORD_TIMESTAMP,
	RECORD_MEMBERS
} record_member;

static const struct
{
	const char *name;
	const char *attribute;
} record_members[RECORD_MEMBERS] = {
	{"value", NULL},
	{"key", "kafka.key"},
	{"partition", "kafka.partition"},
	{"headers", "kafka.headers"},
	{"timestamp", "kafka.timestamp"},
};

/* Is the next element a record, whose value is the event?  Then the reader stands behind it. */
static bool
find_record(ls_json_reader *reader, ls_str raws[RECORD_MEMBERS])
{
	ls_json j = reader->json;
	ls_json_value value;
	ls_str key;

	memset(raws, 0, sizeof(ls_str) * RECORD_MEMBERS);
	if (!ls_json_read(&j, &value) || value.type != LS_JSON_OBJECT)
		return false;
	while (ls_json_member(&j, &key))
	{
		int m = 0;

		while (m < RECORD_MEMBERS && !is(key, record_members[m].name))
			m++;
		if (m == RECORD_MEMBERS || raws[m].len > 0 || !ls_json_skip(&j, &raws[m]))
			return false;
	}
	if (j.error != NULL || raws[RECORD_VALUE].len == 0)
		return false;
	reader->json = j;
	return true;
}

/* What is beside the value: a time where the event says none, and attributes. */
static bool
add_record(ls_event_builder *builder, const ls_str raws[RECORD_MEMBERS])
{
	for (int m = RECORD_KEY; m < RECORD_MEMBERS; m++)
	{
		const char *name = record_members[m].attribute;
		ls_attribute a;
		ls_time time;

		if (raws[m].len == 0)
			continue;
		if (!attribute_of(builder->options->scratch, ls_str_make(name, strlen(name)), raws[m], &a))
			return false;
		if (a.kind == LS_KIND_NULL)
			continue;
		if (m == RECORD_TIMESTAMP && builder->event.timestamp == builder->options->now &&
			(a.kind == LS_KIND_STRING ? ls_normalize_time_text(a.text, &time)
									  : ls_normalize_time_number(raws[m], &time)))
			builder->event.timestamp = time;
		else
			ls_event_builder_attribute(builder, a.key, a.kind, a.text, a.integer);
	}
	return true;
}

/* ---- the list ---- */

/* Adds what the event shares with others; what it says itself counts before it. */
static bool
add_shared(ls_json_reader *reader, const shared *with, size_t bytes)
{
	ls_event_builder *builder = &reader->builder;

	if (with->bytes == 0)
		return true;
	reader->expanded += bytes + EVENT_OVERHEAD;
	if (reader->expanded > builder->options->limits.expanded_bytes)
		return ls_event_builder_fail(
			builder, LS_DECODE_LARGE, "",
			LS_STR("the events with what they share are too large; send smaller batches"), 0);
	if (with->has_time && builder->event.timestamp == builder->options->now)
		builder->event.timestamp = with->time;
	for (size_t i = 0; i < with->n; i++)
	{
		const ls_attribute *a = &with->attributes[i];

		ls_event_builder_default(builder, a->key, a->kind, a->text, a->integer);
	}
	if (with->more)
		ls_event_builder_drop(builder);
	return true;
}

static bool
read_element(ls_json_reader *reader, const shared *with, bool records)
{
	ls_event_builder *builder = &reader->builder;
	const char *begin = reader->json.pos;
	ls_str raws[RECORD_MEMBERS];
	bool record = records && find_record(reader, raws);
	ls_json after = reader->json;
	size_t bytes;

	builder->error.value = record;
	if (record)
		ls_json_init(&reader->json, raws[RECORD_VALUE], builder->options->scratch,
					 LS_JSON_EVENT_DEPTH);
	if (!ls_json_read_event(reader))
		return false;
	bytes = record ? (size_t) (after.pos - begin) : (size_t) (reader->json.pos - reader->begin);
	if (record)
		reader->json = after;
	bytes += with->bytes;
	if (bytes <= builder->options->limits.event_bytes &&
		((record && !add_record(builder, raws)) || !add_shared(reader, with, bytes)))
		return false;
	return ls_event_builder_commit(builder, bytes);
}

bool
ls_json_read_wrapper(ls_json_reader *reader, const ls_json_wrapper *wrapper, int number)
{
	ls_event_builder *builder = &reader->builder;
	const ls_decode_options *options = builder->options;
	bool records = is(LS_STR("records"), wrapper->name);
	ls_json after = reader->json;
	ls_json_value value;
	shared with;

	builder->result->wrapped = true;
	if (!read_shared(reader, wrapper, &with))
		return false;
	builder->error.list = wrapper->name;
	builder->error.wrapper = number;
	builder->error.first = builder->result->accepted + builder->result->rejected;
	ls_json_init(&reader->json, wrapper->list, options->scratch, LS_JSON_EVENT_DEPTH);
	if (ls_json_read(&reader->json, &value))
	{
		while (ls_json_element(&reader->json))
		{
			if (!read_element(reader, &with, records))
				return builder->result->failure == LS_DECODE_OK && fail_memory(reader);
		}
	}
	/* It was valid a moment ago: this can only fail for lack of memory. */
	if (reader->json.error != NULL)
		return fail_memory(reader);
	builder->error.list = NULL;
	builder->error.value = false;
	reader->json = after;
	return true;
}
