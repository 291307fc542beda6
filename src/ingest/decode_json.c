/*-------------------------------------------------------------------------
 *
 * decode_json.c
 *	  JSON bodies to drafts, straight from the pull parser (pure).
 *
 * There is no DOM: each member goes to its place when it is read.  Only the
 * members that have stand-ins (event, timestamp, level, traceId, spanId) wait
 * for the end of the object, because a stand-in counts only where the proper
 * name is absent.
 *
 * An event that grows over its limit is read on only to find its end; then the
 * scratch arena is emptied on the way, so that a body of one huge event costs
 * no more memory than one of many small ones.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/decode.h"

/* Deeper than any sane event; the walk below keeps one bit for each level. */
#define MAX_DEPTH 64

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
	N_ALIASED,
	SLOT_SOURCE = N_ALIASED,
	SLOT_SERVICE,
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

typedef struct json_reader
{
	ls_draft draft;
	ls_json json;
	const char *begin; /* of the event being read */
	bool too_large;    /* it is over its limit: nothing of it is kept */
} json_reader;

static inline bool
is(ls_str key, const char *name)
{
	return memcmp(key.data, name, key.len) == 0;
}

/* Where a member belongs; *rank tells a stand-in (from 1) from the proper name. */
static json_slot
slot_of(ls_str key, int *rank)
{
	*rank = 0;
	switch (key.len)
	{
		case 2:
			if (is(key, "ts"))
				return *rank = 3, SLOT_TIMESTAMP;
			break;
		case 3:
			if (is(key, "msg"))
				return *rank = 2, SLOT_EVENT;
			if (is(key, "log"))
				return *rank = 3, SLOT_EVENT;
			break;
		case 4:
			if (is(key, "body"))
				return *rank = 4, SLOT_EVENT;
			if (is(key, "date"))
				return *rank = 2, SLOT_TIMESTAMP;
			if (is(key, "time"))
				return *rank = 4, SLOT_TIMESTAMP;
			break;
		case 5:
			if (is(key, "event"))
				return SLOT_EVENT;
			if (is(key, "level"))
				return SLOT_LEVEL;
			if (is(key, "index"))
				return SLOT_INDEX;
			break;
		case 6:
			if (is(key, "source"))
				return SLOT_SOURCE;
			if (is(key, "spanId"))
				return SLOT_SPAN_ID;
			break;
		case 7:
			if (is(key, "service"))
				return SLOT_SERVICE;
			if (is(key, "traceId"))
				return SLOT_TRACE_ID;
			if (is(key, "message"))
				return *rank = 1, SLOT_EVENT;
			if (is(key, "span_id"))
				return *rank = 1, SLOT_SPAN_ID;
			break;
		case 8:
			if (is(key, "severity"))
				return *rank = 1, SLOT_LEVEL;
			if (is(key, "trace_id"))
				return *rank = 1, SLOT_TRACE_ID;
			break;
		case 9:
			if (is(key, "timestamp"))
				return SLOT_TIMESTAMP;
			break;
		case 10:
			if (is(key, "attributes"))
				return SLOT_ATTRIBUTES;
			if (is(key, "@timestamp"))
				return *rank = 1, SLOT_TIMESTAMP;
			break;
		case 13:
			if (is(key, "severity_text"))
				return *rank = 2, SLOT_LEVEL;
			break;
		default:
			break;
	}
	return SLOT_UNKNOWN;
}

/* Notices an event over its limit, and then keeps the scratch arena small. */
static inline void
check_size(json_reader *reader)
{
	ls_arena *scratch = reader->draft.options->scratch;

	if ((size_t) (reader->json.pos - reader->begin) <= reader->draft.options->limits.event_bytes)
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
walk_container(json_reader *reader, ls_json_type type, ls_str *raw, bool *compact)
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
static bool
pass_over(json_reader *reader, const ls_json_value *value)
{
	ls_str raw;
	bool compact;

	if (is_container(value->type) && !walk_container(reader, value->type, &raw, &compact))
		return false;
	check_size(reader);
	return true;
}

/* An object or array as an attribute: its compact text. */
static bool
read_nested(json_reader *reader, ls_str key, ls_json_type type)
{
	ls_str raw;
	bool compact;
	ls_json again;
	ls_buf buf;

	if (!walk_container(reader, type, &raw, &compact))
		return false;
	if (reader->too_large || reader->draft.dropped)
		return true;
	if (!compact)
	{
		ls_buf_init(&buf, reader->draft.options->scratch);
		ls_json_init(&again, raw, reader->draft.options->scratch, MAX_DEPTH);
		/* It was valid a moment ago: this can only fail for lack of memory. */
		if (!ls_json_compact(&again, &buf))
			return ls_draft_fail(&reader->draft, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
		raw = ls_str_make(buf.data, buf.len);
	}
	ls_draft_attribute(&reader->draft, key, LS_KIND_JSON, raw, 0);
	return true;
}

/* The members of `attributes`, which is open. */
static bool
read_attributes(json_reader *reader)
{
	ls_json *j = &reader->json;
	ls_draft *draft = &reader->draft;
	ls_json_value value;
	ls_str key;
	int64_t integer;

	while (ls_json_member(j, &key))
	{
		if (!ls_json_read(j, &value))
			return false;
		check_size(reader);
		if (reader->too_large || draft->dropped)
		{
			if (!pass_over(reader, &value))
				return false;
			continue;
		}
		switch (value.type)
		{
			case LS_JSON_STRING:
				ls_draft_attribute(draft, key, LS_KIND_STRING, value.text, 0);
				break;
			case LS_JSON_NUMBER:
				if (ls_json_canonical_int(value.text, &integer))
					ls_draft_attribute(draft, key, LS_KIND_INTEGER, LS_STR(""), integer);
				else
					ls_draft_attribute(draft, key, LS_KIND_NUMBER, value.text, 0);
				break;
			case LS_JSON_TRUE:
			case LS_JSON_FALSE:
				ls_draft_attribute(draft, key, LS_KIND_BOOLEAN, LS_STR(""),
								   value.type == LS_JSON_TRUE);
				break;
			case LS_JSON_NULL:
				ls_draft_attribute(draft, key, LS_KIND_NULL, LS_STR(""), 0);
				break;
			default:
				if (!read_nested(reader, key, value.type))
					return false;
				break;
		}
	}
	return j->error == NULL;
}

/* Is this a value that a stand-in may have? */
static bool
usable(json_slot slot, const ls_json_value *value)
{
	ls_time time;

	if (value->type == LS_JSON_STRING)
		return slot != SLOT_TIMESTAMP || ls_normalize_time_text(value->text, &time);
	return slot == SLOT_TIMESTAMP && value->type == LS_JSON_NUMBER &&
		   ls_normalize_time_number(value->text, &time);
}

/* A member that waits for the end of the event; the best name wins. */
static void
keep_candidate(json_reader *reader, candidate *kept, json_slot slot, ls_str name, int rank,
			   const ls_json_value *value)
{
	static const char *const paths[] = {"event", "timestamp", "level", "traceId", "spanId"};

	if (rank == 0 ? value->type != LS_JSON_STRING &&
						!(slot == SLOT_TIMESTAMP && value->type == LS_JSON_NUMBER)
				  : !usable(slot, value))
	{
		if (rank > 0)
			ls_draft_ignored(&reader->draft, name);
		else
			ls_draft_reject(&reader->draft, 400, "VALIDATION_ERROR", paths[slot],
							slot == SLOT_EVENT ? "expected a non-empty string"
							: slot == SLOT_TIMESTAMP
								? "expected an ISO 8601 time or an epoch in milliseconds"
								: "expected a string");
		return;
	}
	if (kept->rank >= 0 && kept->rank <= rank)
	{
		if (rank > 0)
			ls_draft_ignored(&reader->draft, name);
		return;
	}
	if (kept->rank > 0)
		ls_draft_ignored(&reader->draft, kept->name);
	kept->rank = rank;
	kept->name = name;
	kept->value = *value;
}

/* Hands the candidates to the draft. */
static void
take_candidates(ls_draft *draft, const candidate *kept)
{
	const ls_json_value *time = &kept[SLOT_TIMESTAMP].value;

	if (kept[SLOT_EVENT].rank >= 0)
		ls_draft_field(draft, LS_FIELD_EVENT, kept[SLOT_EVENT].value.text);
	if (kept[SLOT_LEVEL].rank >= 0)
		ls_draft_field(draft, LS_FIELD_LEVEL, ls_normalize_level(kept[SLOT_LEVEL].value.text));
	if (kept[SLOT_TRACE_ID].rank >= 0)
		ls_draft_field(draft, LS_FIELD_TRACE_ID, kept[SLOT_TRACE_ID].value.text);
	if (kept[SLOT_SPAN_ID].rank >= 0)
		ls_draft_field(draft, LS_FIELD_SPAN_ID, kept[SLOT_SPAN_ID].value.text);
	if (kept[SLOT_TIMESTAMP].rank >= 0 &&
		!(time->type == LS_JSON_STRING
			  ? ls_normalize_time_text(time->text, &draft->event.timestamp)
			  : ls_normalize_time_number(time->text, &draft->event.timestamp)))
		ls_draft_reject(draft, 400, "VALIDATION_ERROR", "timestamp",
						"expected an ISO 8601 time or an epoch in milliseconds");
}

/* A member without stand-ins. */
static bool
take_member(json_reader *reader, json_slot slot, ls_str key, const ls_json_value *value,
			bool *had_attributes)
{
	static const ls_field fields[] = {LS_FIELD_SOURCE, LS_FIELD_SERVICE, LS_FIELD_INDEX};
	static const char *const paths[] = {"source", "service", "index", "attributes"};
	ls_draft *draft = &reader->draft;

	if (slot == SLOT_UNKNOWN)
		ls_draft_ignored(draft, key);
	else if (slot == SLOT_ATTRIBUTES)
	{
		if (value->type == LS_JSON_OBJECT && !*had_attributes)
		{
			*had_attributes = true;
			return read_attributes(reader);
		}
		if (value->type != LS_JSON_OBJECT)
			ls_draft_reject(draft, 400, "VALIDATION_ERROR", paths[slot - SLOT_SOURCE],
							"expected an object");
	}
	else if (value->type != LS_JSON_STRING)
		ls_draft_reject(draft, 400, "VALIDATION_ERROR", paths[slot - SLOT_SOURCE],
						"expected a string");
	else if ((draft->event.has & 1u << fields[slot - SLOT_SOURCE]) == 0)
		ls_draft_field(draft, fields[slot - SLOT_SOURCE], value->text);
	return pass_over(reader, value);
}

/* The members of an event, which is open. */
static bool
read_members(json_reader *reader)
{
	ls_json *j = &reader->json;
	candidate kept[N_ALIASED];
	ls_json_value value;
	ls_str key;
	json_slot slot;
	int rank;
	bool had_attributes = false;

	for (int i = 0; i < N_ALIASED; i++)
		kept[i].rank = -1;
	while (ls_json_member(j, &key))
	{
		if (!ls_json_read(j, &value))
			return false;
		check_size(reader);
		if (reader->too_large)
		{
			if (!pass_over(reader, &value))
				return false;
			continue;
		}
		slot = slot_of(key, &rank);
		/* null and "" are as good as absent, whatever the member. */
		if (slot != SLOT_UNKNOWN &&
			(value.type == LS_JSON_NULL || (value.type == LS_JSON_STRING && value.text.len == 0)))
			continue;
		if (slot < N_ALIASED)
		{
			keep_candidate(reader, &kept[slot], slot, key, rank, &value);
			if (!pass_over(reader, &value))
				return false;
		}
		else if (!take_member(reader, slot, key, &value, &had_attributes))
			return false;
	}
	if (j->error != NULL)
		return false;
	if (!reader->too_large)
		take_candidates(&reader->draft, kept);
	return true;
}

/* The next value into the draft.  False: see json.error or the result's failure. */
static bool
read_event(json_reader *reader)
{
	ls_json *j = &reader->json;
	ls_json_value value;

	ls_draft_begin(&reader->draft);
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
		ls_draft_field(&reader->draft, LS_FIELD_EVENT, value.text);
	}
	else
	{
		ls_draft_reject(&reader->draft, 400, "VALIDATION_ERROR", "",
						"expected an object or a string");
		if (!pass_over(reader, &value))
			return false;
	}
	return true;
}

static inline bool
commit_event(json_reader *reader)
{
	return ls_draft_commit(&reader->draft, (size_t) (reader->json.pos - reader->begin));
}

/* Starts on a body, behind a byte order mark. */
static bool
begin_body(json_reader *reader, const ls_decode_options *options, ls_str body,
		   ls_decode_result *result)
{
	if (!ls_draft_init(&reader->draft, options, result))
		return false;
	ls_json_init(&reader->json, body, options->scratch, MAX_DEPTH);
	if (body.len >= 3 && memcmp(body.data, "\xEF\xBB\xBF", 3) == 0)
		reader->json.pos += 3;
	reader->begin = reader->json.pos;
	reader->too_large = false;
	return true;
}

static ls_str
syntax_message(json_reader *reader, const char *error, size_t offset)
{
	ls_buf buf;

	ls_buf_init(&buf, reader->draft.options->arena);
	ls_buf_printf(&buf, "invalid JSON at byte %zu: %s", offset, error);
	return buf.failed ? LS_STR("invalid JSON") : ls_str_make(buf.data, buf.len);
}

/* Ends a JSON body: it is good only as a whole. */
static bool
end_body(json_reader *reader)
{
	ls_draft *draft = &reader->draft;
	ls_json *j = &reader->json;

	if (draft->result->failure != LS_DECODE_OK)
		return false;
	if (j->error == NULL && ls_json_end(j))
		return true;
	if (ls_arena_failed(draft->options->scratch))
		return ls_draft_fail(draft, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
	if (j->error == NULL)
	{
		j->error = "expected nothing more";
		j->error_offset = (size_t) (j->pos - j->start);
	}
	return ls_draft_fail(draft, LS_DECODE_INVALID, "",
						 syntax_message(reader, j->error, j->error_offset), j->error_offset);
}

static bool
fail_events(json_reader *reader, ls_str message)
{
	return ls_draft_fail(&reader->draft, LS_DECODE_INVALID, "events", message, 0);
}

bool
ls_decode_event(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	json_reader reader;

	if (!begin_body(&reader, options, body, result))
		return false;
	if (read_event(&reader) && !commit_event(&reader))
		return false;
	return end_body(&reader);
}

static bool
read_events(json_reader *reader)
{
	while (ls_json_element(&reader->json))
	{
		if (!read_event(reader) || !commit_event(reader))
			return false;
	}
	return reader->json.error == NULL;
}

bool
ls_decode_batch(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	json_reader reader;
	ls_json_value value;
	ls_str key;
	bool had_events = false;

	if (!begin_body(&reader, options, body, result))
		return false;
	if (!ls_json_read(&reader.json, &value))
		return end_body(&reader);
	if (value.type == LS_JSON_ARRAY)
	{
		had_events = true;
		read_events(&reader);
	}
	else if (value.type == LS_JSON_OBJECT)
	{
		while (ls_json_member(&reader.json, &key))
		{
			bool events = !had_events && ls_str_eq(key, LS_STR("events"));

			if (!events)
				ls_draft_ignored(&reader.draft, key);
			if (!ls_json_read(&reader.json, &value))
				break;
			if (events && value.type != LS_JSON_ARRAY)
				return fail_events(&reader, LS_STR("expected an array of events"));
			had_events = had_events || events;
			reader.begin = reader.json.pos;
			if (!(events ? read_events(&reader) : pass_over(&reader, &value)))
				break;
		}
	}
	else
		return fail_events(&reader, LS_STR("expected an object with events, or an array"));

	if (!end_body(&reader))
		return false;
	if (!had_events)
		return fail_events(&reader, LS_STR("required: expected an array of events"));
	if (result->accepted + result->rejected == 0)
		return fail_events(&reader, LS_STR("expected at least one event"));
	return true;
}

static bool
is_blank(ls_str line)
{
	for (size_t i = 0; i < line.len; i++)
	{
		if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r')
			return false;
	}
	return true;
}

/* Rejects the line that could not be read, by itself. */
static bool
reject_line(json_reader *reader, ls_str line, uint64_t number)
{
	ls_draft *draft = &reader->draft;
	ls_json *j = &reader->json;
	size_t offset;
	ls_buf buf;

	if (ls_arena_failed(draft->options->scratch))
		return ls_draft_fail(draft, LS_DECODE_MEMORY, "", LS_STR("out of memory"), 0);
	if (j->error == NULL)
	{
		j->error = "expected the end of the line";
		j->error_offset = (size_t) (j->pos - j->start);
	}
	offset = j->error_offset;
	ls_draft_begin(draft);
	if (draft->result->n_errors < LS_DECODE_MAX_ERRORS)
	{
		ls_buf_init(&buf, draft->options->arena);
		ls_buf_printf(&buf, "invalid JSON in line %llu at byte %zu: %s",
					  (unsigned long long) number, offset, j->error);
		ls_buf_char(&buf, '\0');
		ls_draft_reject(draft, 400, "VALIDATION_ERROR", "", buf.failed ? "invalid JSON" : buf.data);
	}
	else
		ls_draft_reject(draft, 400, "VALIDATION_ERROR", "", "invalid JSON");
	return ls_draft_commit(draft, line.len);
}

bool
ls_decode_ndjson(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	json_reader reader;
	const char *pos;
	const char *newline;
	const char *end = body.data + body.len;
	uint64_t number = 0;

	if (!begin_body(&reader, options, body, result))
		return false;
	for (pos = reader.json.pos; pos < end; pos = newline + (newline < end))
	{
		ls_str line;

		newline = memchr(pos, '\n', (size_t) (end - pos));
		if (newline == NULL)
			newline = end;
		line = ls_str_make(pos, (size_t) (newline - pos));
		number++;
		if (is_blank(line))
			continue;
		ls_json_init(&reader.json, line, options->scratch, MAX_DEPTH);
		if (read_event(&reader) && ls_json_end(&reader.json))
		{
			if (!commit_event(&reader))
				return false;
		}
		else if (result->failure != LS_DECODE_OK || !reject_line(&reader, line, number))
			return false;
	}
	if (result->accepted + result->rejected == 0)
		return ls_draft_fail(&reader.draft, LS_DECODE_INVALID, "events",
							 LS_STR("expected at least one event"), 0);
	return true;
}
