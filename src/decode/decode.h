/*-------------------------------------------------------------------------
 *
 * decode.h
 *	  Request bodies to events (pure).
 *
 * Two layers.  An event builder is one event being put together: it applies every limit
 * and rule that does not depend on the wire format (decisions 68 to 72
 * and 79), so that JSON and OTLP cannot differ.  The JSON
 * decoders read a body with the pull parser and fill event builders; texts without
 * escapes stay views into the body until the sink copies them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_DECODE_H
#define LS_DECODE_H

#include "src/part/part.h"

/* ---- the context of decoding a body ---- */

/* Limits of events; sizes in bytes of UTF-8 unless said otherwise. */
typedef struct ls_decode_limits
{
	size_t event_bytes;      /* JSON of one event; more: EVENT_TOO_LARGE */
	size_t attributes;       /* of one event; extras are dropped */
	size_t key_chars;        /* code points of an attribute key; cut */
	size_t value_bytes;      /* of an attribute or a named field; cut */
	size_t body_field_bytes; /* of the event text; cut */
	size_t expanded_bytes;   /* of the events of a body with what they share (OTLP) */
	int64_t future_us;       /* timestamps further ahead are refused */
} ls_decode_limits;

#define LS_DECODE_LIMITS                                     \
	((ls_decode_limits){.event_bytes = 1024 * 1024,          \
						.attributes = 128,                   \
						.key_chars = 256,                    \
						.value_bytes = 32 * 1024,            \
						.body_field_bytes = 256 * 1024,      \
						.expanded_bytes = 128 * 1024 * 1024, \
						.future_us = 24 * INT64_C(3600) * LS_USECS_PER_SEC})

/*
 * Is this an index of the organization (decision 79)?  *oldest: what is older than
 * that it does not keep.
 */
typedef bool (*ls_index_check)(void *context, ls_str index, ls_time *oldest);

/* Is JSON in the text of an event to be taken apart (ls_event_builder_parse)? */
typedef enum ls_parse
{
	LS_PARSE_BY_INDEX, /* as parses_json says */
	LS_PARSE_NONE,
	LS_PARSE_JSON
} ls_parse;

/* May events come from a sender with this address? */
typedef enum ls_peer
{
	LS_PEER_ALLOWED,
	LS_PEER_REFUSED,
	LS_PEER_UNKNOWN /* it cannot be said now */
} ls_peer;

typedef ls_peer (*ls_peer_check)(void *context, ls_str address);

/* What became of an event on its way to the store. */
typedef enum ls_event_fate
{
	LS_FATE_KEPT,
	LS_FATE_CHANGED, /* what is stored differs from what was sent */
	LS_FATE_DROPPED  /* accepted, but nothing of it is stored */
} ls_event_fate;

/* Where events go. */
typedef struct ls_decode_sink
{
	/* Takes (copies) an event; false when there is no room or no memory. */
	bool (*add)(void *context, const ls_event *event);
	/* Forgets all that was added since the call began. */
	void (*undo)(void *context);
	void *context;
	const ls_event_fate *fate; /* of the event that was added last; NULL: all are kept */
	bool changes;              /* events are changed on their way: by pipelines */
} ls_decode_sink;

typedef struct ls_decode_options
{
	ls_decode_limits limits;
	ls_time now;                /* default timestamp, and ingested_at */
	ls_str index;               /* of events that name none; empty: "main" */
	ls_str target;              /* the index in the path of a bulk request; may be empty */
	ls_str path;                /* of the request, as sent */
	ls_str query;               /* its query string, as sent */
	uint64_t batch;             /* number of the batch (or stamped later) */
	uint32_t first_place;       /* place of the first accepted event */
	ls_index_check known_index; /* NULL: every index is known, and keeps everything */
	/* Does a known index want JSON in texts taken apart?  NULL: none does. */
	bool (*parses_json)(void *context, ls_str index);
	void *index_context;
	ls_parse parse;
	bool wrapped;             /* objects that only hold a list of events are taken apart */
	ls_peer_check check_peer; /* of messages of listeners; NULL: all are allowed */
	void *peer_context;
	ls_decode_sink sink;
	uint32_t most_accepted; /* of a body; more: LS_DECODE_MANY.  0: no limit */
	uint32_t
		most_rejected; /* this many, if also ten times the accepted: LS_DECODE_REJECTED.  0: no limit */
	ls_arena *arena;   /* holds the result; not reset */
	ls_arena *scratch; /* reset after each event: nothing of the caller's in it.
						* A limit of 4 times the body and 32 MB is enough for
						* any input. */
} ls_decode_options;

/* ---- what comes out ---- */

#define LS_DECODE_MAX_ERRORS 100  /* api: `errors` lists the first 100 */
#define LS_DECODE_MAX_IGNORED 20  /* names kept for X-Ignored-Fields */
#define LS_DECODE_IGNORED_LEN 64  /* bytes of such a name */
#define LS_DECODE_MAX_REPEATED 20 /* names of an event that are counted */
#define LS_DECODE_TOLD_REPEATED 4 /* and that its warning has; the answer stays short */

/* 1980: an earlier time is none that was logged, but a number of another unit, or a clock that was not set. */
#define LS_DECODE_EARLY (INT64_C(315532800) * LS_USECS_PER_SEC)

typedef struct ls_decode_error
{
	uint32_t index;   /* position of the event in the request */
	int status;       /* HTTP status that a single event would get */
	const char *code; /* EVENT_TOO_LARGE, VALIDATION_ERROR, INDEX_NOT_FOUND */
	ls_str path;      /* inside the event: "event", "attributes"; may be empty */
	ls_str message;
	const char *list; /* NULL, or the list that it was in (wrapped_events.c): "logs" */
	int wrapper;      /* the place of the object with that list; -1: it is the body */
	uint32_t first;   /* index of the first event of that list */
	bool value;       /* it was the member `value` of an element */
} ls_decode_error;

typedef struct ls_decode_warning
{
	uint32_t index;  /* position of the event in the request */
	ls_str repeated; /* names that were sent with several values; empty: it is about the time */
	bool early;      /* the time is before LS_DECODE_EARLY; else past the retention */
} ls_decode_warning;

typedef enum ls_decode_failure
{
	LS_DECODE_OK,
	LS_DECODE_INVALID,  /* 400 VALIDATION_ERROR of the whole body: see message */
	LS_DECODE_LARGE,    /* 413 of the whole body: see message */
	LS_DECODE_MANY,     /* more events than most_accepted */
	LS_DECODE_REJECTED, /* too many were rejected, the rest was not read: see message */
	LS_DECODE_FULL,     /* the sink refused an event */
	LS_DECODE_MEMORY    /* an arena reached its limit */
} ls_decode_failure;

typedef struct ls_decode_result
{
	ls_decode_failure failure; /* unless OK, nothing stays in the sink */
	ls_str path;               /* INVALID: "" or "events" */
	ls_str message;            /* INVALID: what is wrong and where */
	size_t offset;             /* INVALID by syntax: byte offset in the body */

	uint32_t accepted; /* their places: first_place, first_place + 1, ... */
	uint32_t rejected;
	uint64_t bytes; /* JSON of the accepted events as sent (decision 68) */

	ls_decode_error errors[LS_DECODE_MAX_ERRORS];
	uint32_t n_errors;
	uint32_t rejected_by_size;

	uint32_t past_retention; /* accepted, but older than what their index keeps */
	uint32_t early;          /* those that are kept, but are before LS_DECODE_EARLY */

	/* What to say of accepted events, the first of them by position. */
	ls_decode_warning warnings[LS_DECODE_MAX_ERRORS];
	uint32_t n_warnings;

	uint64_t *rejected_bits; /* use ls_decode_was_rejected */
	uint32_t n_rejected_words;

	uint32_t dropped;       /* of those accepted: nothing of them is stored */
	uint64_t *dropped_bits; /* use ls_decode_was_dropped */
	uint32_t n_dropped_words;

	ls_str ignored[LS_DECODE_MAX_IGNORED]; /* visible ASCII, no comma */
	uint32_t n_ignored;
	bool more_ignored; /* there were others */
	bool wrapped; /* the events were in lists of a wrapper, also where one event was expected */

	/* Not by decoding: whoever answers says whether the sender reads little (ls_wire_is_brief). */
	bool brief;

	struct ls_bulk_item *items; /* of ls_decode_bulk: what to say of each */
	uint32_t n_items;
} ls_decode_result;

/* Was event `index` of the request rejected? */
static inline bool
ls_decode_was_rejected(const ls_decode_result *result, uint32_t index)
{
	return index / 64 < result->n_rejected_words &&
		   (result->rejected_bits[index / 64] >> (index % 64) & 1) != 0;
}

/* Was the accepted event number `accepted` (from 0) dropped? */
static inline bool
ls_decode_was_dropped(const ls_decode_result *result, uint32_t accepted)
{
	return accepted / 64 < result->n_dropped_words &&
		   (result->dropped_bits[accepted / 64] >> (accepted % 64) & 1) != 0;
}

/* Events that are stored. */
static inline uint32_t
ls_decode_stored(const ls_decode_result *result)
{
	return result->accepted - result->dropped;
}

/*
 * The HTTP status of a decoded batch: 202 when anything was accepted, else 400,
 * or 413 when every event was too large.  Of a single event, see errors[0].
 */
extern int ls_decode_status(const ls_decode_result *result);

/*
 * POST /api/v1/logs: one JSON object, or a bare JSON string.
 * POST /api/v1/logs/batch: {"events": [...]} or a bare array; a syntax error
 *		anywhere refuses the whole body, as does an empty batch.
 * The same as application/x-ndjson: one JSON value a line, blank lines
 *		skipped; a bad line is rejected by itself.
 *
 * The text of an event comes from `event`, its time from `timestamp`, its level from
 * `level`, its service from `service`, or from what other loggers call them
 * (docs/api.md); trace_id or trace.id and span_id or span.id stand in for traceId and
 * spanId.  Other members become attributes, after those of `attributes`.  The first of
 * two members with one name wins; if the other says something else, a warning says so.
 *
 * True when failure is OK (also if every event was rejected).
 */
extern bool ls_decode_event(const ls_decode_options *options, ls_str body,
							ls_decode_result *result);
extern bool ls_decode_batch(const ls_decode_options *options, ls_str body,
							ls_decode_result *result);
extern bool ls_decode_ndjson(const ls_decode_options *options, ls_str body,
							 ls_decode_result *result);

/*
 * The same routes with text/plain: each line is the text of an event.  One that is a JSON object is
 * taken apart, unless options->parse forbids it; a body that is one JSON value of several lines, or
 * an array, is refused.
 */
extern bool ls_decode_text(const ls_decode_options *options, ls_str body, ls_decode_result *result);

/*
 * POST /v1/logs: an ExportLogsServiceRequest of OTLP (otlp.proto), as protobuf
 * or in protobuf's JSON mapping.  A request without records is good; a record
 * that cannot be taken is rejected by itself.  The text of an event is the
 * record's body: a string, or the compact JSON of anything else, then the
 * record's event name, then the JSON of its attributes.  README.md has the rest
 * of the mapping.
 */
extern bool ls_decode_otlp_protobuf(const ls_decode_options *options, ls_str body,
									ls_decode_result *result);
extern bool ls_decode_otlp_json(const ls_decode_options *options, ls_str body,
								ls_decode_result *result);

/*
 * POST /loki/api/v1/push: a PushRequest of Grafana Loki (loki.proto), as
 * protobuf (unpacked) or JSON.  Streams without entries are good, entries
 * without a line are left out; README.md has the mapping.
 */
extern bool ls_decode_loki_protobuf(const ls_decode_options *options, ls_str body,
									ls_decode_result *result);
extern bool ls_decode_loki_json(const ls_decode_options *options, ls_str body,
								ls_decode_result *result);

/* ---- Elasticsearch's bulk API ---- */

typedef enum ls_bulk_action
{
	LS_BULK_INDEX,
	LS_BULK_CREATE,
	LS_BULK_UPDATE,
	LS_BULK_DELETE
} ls_bulk_action;

/* What a bulk request wants to hear of one of its actions. */
typedef struct ls_bulk_item
{
	ls_str index; /* as the client said it */
	ls_str id;    /* the client's; empty: the event's */
	ls_str reason;
	const char *code; /* NULL: accepted */
	uint16_t status;  /* of a rejected one */
	ls_bulk_action action;
} ls_bulk_item;

/*
 * What the answer to one request may take, in bytes: a request of a few bytes an
 * action has an answer that is ten times as long.
 */
#define LS_BULK_ANSWER_LIMIT ((size_t) 48 * 1024 * 1024)

/*
 * POST /_bulk, POST /{index}/_bulk (then options->target is the index): lines of an
 * action and, except for delete, of a document.  A document that cannot be taken
 * is rejected by itself; so are update and delete, because events do not
 * change.  An invalid action refuses the whole body, and so do more of them
 * than LS_BULK_ANSWER_LIMIT has room for.  result->items has all of them, in order,
 * with texts in options->arena.
 *
 * An event goes to the index that its action names, if there is one, with or
 * without the date at its end ("web-2026.01.31"); else to options->index, and
 * the name becomes attribute _index: what shippers send by default is theirs.
 */
extern bool ls_decode_bulk(const ls_decode_options *options, ls_str body, ls_decode_result *result);

/*
 * POST /{index}/_doc, PUT /{index}/_doc/{id}, PUT /{index}/_create/{id}: one document.
 * options->path says index and id; result->items has one item.
 */
extern bool ls_decode_document(const ls_decode_options *options, ls_str body,
							   ls_decode_result *result);

/*
 * POST /services/collector/event of Splunk's HTTP Event Collector: JSON objects, one
 * after the other, each with an event and what is said of it.  A syntax error anywhere
 * refuses the whole body.  README.md has the mapping.
 */
extern bool ls_decode_splunk_events(const ls_decode_options *options, ls_str body,
									ls_decode_result *result);

/* POST /services/collector/raw: each line is an event; options->query says the rest. */
extern bool ls_decode_splunk_raw(const ls_decode_options *options, ls_str body,
								 ls_decode_result *result);

/*
 * Messages that came over a listener (src/gateway/framing.h): syslog of RFC 5424 or RFC 3164,
 * or GELF.  Every message is an event, however it is formed; only a GELF message that is
 * no JSON object, and one whose sender may not send, is rejected.  README.md has the
 * mapping.
 */
extern bool ls_decode_syslog(const ls_decode_options *options, ls_str body,
							 ls_decode_result *result);
extern bool ls_decode_gelf(const ls_decode_options *options, ls_str body, ls_decode_result *result);

/* ---- compressed bodies ---- */

typedef enum ls_unpack_result
{
	LS_UNPACK_OK,
	LS_UNPACK_BROKEN,    /* not of that form, cut off, or followed by something else */
	LS_UNPACK_TOO_LARGE, /* more than `limit` bytes when unpacked */
	LS_UNPACK_MEMORY
} ls_unpack_result;

/*
 * The bytes that a gzip body unpacks to at most, without unpacking it: what its last member
 * says of itself, but not less than LS_GZIP_RATIO times its size.  One member that unpacks to
 * more is broken, of several it is TOO_LARGE: so the body cannot say less than is true.
 */
#define LS_GZIP_RATIO 32
extern size_t ls_gunzip_most(ls_str packed);

/* The same for a block of snappy; 0: it is not one. */
extern size_t ls_snappy_decoded_size(ls_str packed);

/*
 * Unpacks a gzip body of at most `limit` bytes into the arena, which needs
 * 4 * limit bytes and 64 kB.  *body is empty unless OK.
 */
extern ls_unpack_result ls_gunzip(ls_str packed, size_t limit, ls_arena *arena, ls_str *body);

/* Compresses a text as gzip, quickly.  False: out of memory. */
extern bool ls_gzip(ls_str text, ls_arena *arena, ls_str *packed);

/*
 * Compresses a text that comes in pieces as one gzip member.  Between two pieces nothing is kept
 * but *state, which begins as zeros, so different processes can make them.  Appends to `out`.
 * False: out of memory.
 */
typedef struct ls_gzip_state
{
	bool begun;
	uint32_t crc;  /* of the text so far */
	uint32_t size; /* bytes of it, modulo 2^32 */
} ls_gzip_state;

extern bool ls_gzip_piece(ls_gzip_state *state, ls_str text, bool last, ls_buf *out);

/* The same for a block of snappy; the arena needs limit + 1 bytes. */
extern ls_unpack_result ls_snappy_decode(ls_str packed, size_t limit, ls_arena *arena,
										 ls_str *body);

/* ---- a sink that fills part builders ---- */

/*
 * A part holds 65,536 events and 4,096 columns, a body may hold more: when the
 * builder is full, `next` (may be NULL) gives an empty one to go on with, or
 * NULL to stop.  Undo truncates the first builder back; builders that `next`
 * gave during a failed call are the caller's to drop.
 */
typedef struct ls_builder_sink
{
	ls_part_builder *first; /* the one at the begin of the call */
	uint32_t first_rows;    /* and its rows then */
	ls_part_builder *builder;
	ls_part_builder *(*next)(void *context);
	void *context;
} ls_builder_sink;

/* Sets up `state` for one decode call and gives the sink that uses it. */
extern ls_decode_sink ls_builder_sink_make(ls_builder_sink *state, ls_part_builder *builder,
										   ls_part_builder *(*next)(void *context), void *context);

/* ---- event builders: shared by the decoders of all wire formats ---- */

typedef struct ls_event_builder
{
	const ls_decode_options *options;
	ls_decode_result *result;
	ls_event event;
	ls_attribute *attributes;
	uint64_t seen_keys;                      /* a small filter that rules out most duplicates */
	bool dropped;                            /* attributes beyond the limit */
	ls_buf truncated;                        /* names of what was cut, in scratch */
	ls_str repeated[LS_DECODE_MAX_REPEATED]; /* names of which a value was lost, in scratch */
	uint32_t n_repeated;                     /* one more than there is room for: or more */
	ls_decode_error error;                   /* code not NULL: the event is rejected */
	char known_index[128];                   /* the last index that was found known */
	size_t known_index_len;
	ls_time oldest;              /* that it keeps */
	bool parses;                 /* JSON in texts, for that index */
	bool whole;                  /* the text is the whole JSON that the event was made of */
	struct ls_json_spare *spare; /* of ls_event_builder_parse */
} ls_event_builder;

/* Once a body; also empties *result.  False when out of memory. */
extern bool ls_event_builder_init(ls_event_builder *builder, const ls_decode_options *options,
								  ls_decode_result *result);

/* Valid UTF-8 without NUL: the text itself, or a copy with U+FFFD for what is not. */
extern ls_str ls_event_builder_text(ls_arena *arena, ls_str text);

/* Starts the next event. */
extern void ls_event_builder_begin(ls_event_builder *builder);

/* Sets a named field, cut to its limit; an empty text leaves it absent. */
extern void ls_event_builder_field(ls_event_builder *builder, ls_field field, ls_str text);

/*
 * Adds an attribute under the limits of events: the key is cut, a
 * key that is there already loses, and so does one beyond the limit; a long
 * STRING is cut, a long JSON value becomes a cut STRING of its text.  Texts must
 * live until ls_event_builder_commit; `key` and `text` are valid UTF-8.
 */
extern void ls_event_builder_attribute(ls_event_builder *builder, ls_str key, ls_kind kind,
									   ls_str text, int64_t integer);

/* The same for what only counts where the event says nothing else: no warning that it lost. */
extern void ls_event_builder_default(ls_event_builder *builder, ls_str key, ls_kind kind,
									 ls_str text, int64_t integer);

/* Another value was sent under a name, and it is lost: the sender is told. */
extern void ls_event_builder_repeated(ls_event_builder *builder, ls_str name);

/* Attributes were lost before they could be added; as if they were beyond the limit. */
extern void ls_event_builder_drop(ls_event_builder *builder);

/*
 * Sets the time, in nanoseconds since 1970.  A number that would be a time before 1973 was meant in
 * a coarser unit, unless that would be a time that is refused.
 */
extern void ls_event_builder_nanos(ls_event_builder *builder, uint64_t nanos);

/* Marks the event as rejected; the first call counts.  Constant texts. */
extern void ls_event_builder_reject(ls_event_builder *builder, int status, const char *code,
									const char *path, const char *message);

/*
 * Ends the event, `bytes` long on the wire: checks what is required, then gives
 * it to the sink or records its error.  False when failure is no longer OK.
 */
extern bool ls_event_builder_commit(ls_event_builder *builder, size_t bytes);

/*
 * json_event.c: when the text of the event is a JSON object, takes its members as those of an
 * event: level, timestamp and message count before what was set, the other fields where nothing
 * was set, and the rest are attributes.  One with the name of an attribute that says something
 * else becomes NAME_extracted.  False when failure is no longer OK.
 */
extern bool ls_event_builder_parse(ls_event_builder *builder);

/* Notes the name of an ignored member beside `events` for X-Ignored-Fields. */
extern void ls_event_builder_ignored(ls_event_builder *builder, ls_str name);

/* Ends a body as a whole with an error; undoes the sink.  Returns false. */
extern bool ls_event_builder_fail(ls_event_builder *builder, ls_decode_failure failure,
								  const char *path, ls_str message, size_t offset);

/* ---- normalization ---- */

/*
 * A time as text: ISO 8601, or an epoch of at least 9 digits.  A time as JSON
 * number: an epoch.  Epochs are seconds, milliseconds, microseconds or
 * nanoseconds by magnitude (below 1e11, 1e14, 1e17).  False: not a time, or
 * outside the years 0001-9999.
 */
extern bool ls_normalize_time_text(ls_str text, ls_time *time);
extern bool ls_normalize_time_number(ls_str number, ls_time *time);

/* A whole number that is an epoch, as above. */
extern ls_time ls_normalize_time_whole(uint64_t number);

/* Seconds and nanoseconds since 1970.  False: outside of the years 0001-9999. */
extern bool ls_normalize_time_of(int64_t seconds, int64_t nanos, ls_time *time);

/* ---- levels (level.c) ---- */

/*
 * Numbers of levels mean different things to different loggers: 40 is an error to
 * Python and a warning to pino.  A scale is the numbers of one of them.
 */
typedef enum ls_level_scale
{
	LS_LEVELS_UNKNOWN, /* syslog's 0 to 7, pino's 10 to 69, log4j's from 5000 */
	LS_LEVELS_SYSLOG,  /* 0 emergency to 7 debug; also GELF, journald */
	LS_LEVELS_PINO,    /* 10 trace to 60 fatal; also bunyan */
	LS_LEVELS_PYTHON,  /* 10 debug to 50 critical */
	LS_LEVELS_DOTNET,  /* 0 trace to 5 critical */
	LS_LEVELS_LOG4J,   /* 5000 trace to 50000 fatal; also Logback */
	LS_LEVELS_LOG4J2,  /* 100 fatal to 600 trace */
	LS_LEVELS_MONOLOG, /* 100 debug to 600 emergency */
	LS_LEVELS_GOOGLE,  /* 100 debug to 800 emergency */
	LS_LEVELS_OTEL     /* 1 trace to 24 fatal: severity numbers of OpenTelemetry */
} ls_level_scale;

/* The standard name of a number on a scale; empty: it is none of the scale. */
extern ls_str ls_level_of_number(uint64_t number, ls_level_scale scale);

/* Is the text a known name of a level?  Then *standard is its standard name. */
extern bool ls_level_of_name(ls_str text, ls_str *standard);

/*
 * The standard name of a level that is a name or a number of a scale ("warn" for
 * "Warning", for syslog's 4 and Python's 30), or the text itself when it is neither.
 */
extern ls_str ls_normalize_level_on(ls_str level, ls_level_scale scale);

/* The same where nothing says which logger it is from. */
extern ls_str ls_normalize_level(ls_str level);

/* The scale of the logger that writes a member of this name beside a level; UNKNOWN: any does. */
extern ls_level_scale ls_level_scale_of_member(ls_str name);

#endif /* LS_DECODE_H */
