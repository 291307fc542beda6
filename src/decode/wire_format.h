/*-------------------------------------------------------------------------
 *
 * wire_format.h
 *	  Wire formats: how clients write events into a body, and how they read the
 *	  answer (pure).
 *
 * A wire format is one ls_wire_format: which bodies it takes, how they become
 * events, how their sender learns that they are stored or why not.  To add one,
 * write a file wire_NAME.c and a row of the table in wire_format.c that says
 * on which route it is spoken.  Group commit (accept.c) and the gateway know
 * none of them by name.
 *
 *	wire_json.c		the service's own JSON: one event, a batch, lines; lines of text
 *	wire_otlp.c		OpenTelemetry, as protobuf and as JSON
 *	wire_loki.c		Grafana Loki's push API, as protobuf and as JSON
 *	wire_elastic.c	Elasticsearch's bulk API, and what its clients ask before
 *	wire_syslog.c	messages of listeners: syslog and GELF
 *	wire_splunk.c	Splunk's HTTP Event Collector, events and raw lines
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_WIRE_FORMAT_H
#define LS_WIRE_FORMAT_H

#include "src/gateway/gateway.h"
#include "src/decode/decode.h"

/* How bodies are compressed. */
typedef struct ls_packing
{
	ls_str coding; /* its name in Content-Encoding */
	ls_str alias;  /* another one; may be empty */

	/* Unpacks into the arena; TOO_LARGE beyond `limit` bytes. */
	ls_unpack_result (*unpack)(ls_str packed, size_t limit, ls_arena *arena, ls_str *body);

	/* The bytes that it unpacks to at most, without unpacking it; 0: broken. */
	size_t (*most)(ls_str packed);

	const char *broken;  /* message of the error */
	const char *details; /* its details, a JSON list; or NULL */
} ls_packing;

/* Of most formats: ls_wire_format.most_rejected. */
#define LS_MOST_REJECTED 1000

struct ls_wire_format;

/* What became of a request of which something is stored, or which held nothing. */
typedef struct ls_wire_result
{
	const struct ls_wire_format *format;
	const ls_decode_result *decoded;
	bool deferred; /* beyond the quota: its events wait until the quota allows them */
	int64_t took_ms;

	/* Writes the LS_EVENT_ID_LENGTH characters of the next accepted event's id; false: it was dropped. */
	bool (*next_id)(void *ids, char *out);
	void *ids;
} ls_wire_result;

/* Through which door events come in, as figures tell them apart (src/server/metrics.h). */
typedef enum ls_wire_door
{
	LS_DOOR_JSON, /* one event */
	LS_DOOR_BATCH,
	LS_DOOR_OTLP,
	LS_DOOR_LOKI,
	LS_DOOR_ELASTIC,
	LS_DOOR_SPLUNK,
	LS_DOOR_SYSLOG, /* also GELF */
	LS_DOOR_SQL
} ls_wire_door;

typedef struct ls_wire_format
{
	ls_wire_door door;

	/* Is the body in this format, by its media type?  NULL: whatever it is. */
	bool (*accepts)(const ls_request *request);

	/* From the unpacked body to events.  NULL: the route takes none, it is only answered. */
	bool (*decode)(const ls_decode_options *options, ls_str body, ls_decode_result *result);

	/*
	 * The answer, after the commit: appends the body and sets status and content type.  *response
	 * has the headers of every answer already; values of further ones go into body->arena.
	 */
	void (*answer)(const ls_wire_result *result, ls_buf *body, ls_response *response);

	/* How errors look, whoever refuses; NULL: as on the service's own routes. */
	ls_error_form refuse;

	const ls_packing *packing; /* of bodies without Content-Encoding; NULL: none */
	const char *constant;      /* the whole answer of a route that takes no events */

	/* Rejected events, if also ten times those accepted, after which the rest is not read. */
	uint32_t most_rejected;

	bool one_event;    /* errors are about the event, not about a list of events */
	bool item_by_item; /* the answer has the result of each event, also when all were rejected */
} ls_wire_format;

extern const ls_wire_format ls_wire_event;       /* one event, or a text */
extern const ls_wire_format ls_wire_event_lines; /* the same route, one event a line */
extern const ls_wire_format ls_wire_event_text;  /* the same route, a text a line */
extern const ls_wire_format ls_wire_batch;
extern const ls_wire_format ls_wire_lines;
extern const ls_wire_format ls_wire_text;
extern const ls_wire_format ls_wire_otlp_json;
extern const ls_wire_format ls_wire_otlp_protobuf;
extern const ls_wire_format ls_wire_loki_json;
extern const ls_wire_format ls_wire_loki_protobuf;
extern const ls_wire_format ls_wire_bulk;
extern const ls_wire_format ls_wire_document;
extern const ls_wire_format ls_wire_splunk_events;
extern const ls_wire_format ls_wire_splunk_raw;
extern const ls_wire_format ls_wire_syslog;
extern const ls_wire_format ls_wire_gelf;
extern const ls_wire_format ls_wire_elastic_info;
extern const ls_wire_format ls_wire_elastic_health;
extern const ls_wire_format ls_wire_elastic_cat_health;
extern const ls_wire_format ls_wire_elastic_license;
extern const ls_wire_format ls_wire_elastic_refresh;

/*
 * The format of a request, by its route and media type.  NULL: the route has none of that type,
 * and *expected says which it has.
 */
extern const ls_wire_format *ls_wire_format_of(const ls_request *request, const char **expected);

/* How a body of the format is packed; *packing NULL: not at all.  False: in an unknown way. */
extern bool ls_wire_packing_of(const ls_wire_format *format, const ls_request *request,
							   const ls_packing **packing);

/* How the sender of a request knows errors; NULL: as on the service's own routes. */
extern ls_error_form ls_wire_error_form_of(const ls_request *request);

/* ---- wire_shared.c ---- */

/* Media types. */
extern bool ls_wire_is_lines(const ls_request *request);
extern bool ls_wire_is_protobuf(const ls_request *request);

/* What is said of a time before LS_DECODE_EARLY. */
#define LS_EARLY_TIME                                                                          \
	"the time is before 1980; a number is seconds, milliseconds, microseconds or nanoseconds " \
	"since 1970"

/* Names of members that nobody reads, as header X-Ignored-Fields; wire_json.c. */
extern void ls_wire_add_ignored(const ls_decode_result *decoded, ls_arena *arena,
								ls_response *response);

/*
 * Does the sender read no more than 4 KB of an answer, with its headers?  Output `http` of Fluent Bit
 * takes a longer one for a failure and sends its events again, until the end of time.
 */
extern bool ls_wire_is_brief(const ls_request *request);

/*
 * Why events were rejected, in words; empty when none was.  `what`: how the
 * format calls an event ("record"), `whole`: in full and plural ("log records").
 */
extern ls_str ls_rejections(ls_arena *arena, const ls_decode_result *result, const char *what,
							const char *whole);

/* ---- wire_json.c; also for SQL ---- */

/*
 * Appends the rejected events as the list `errors` of an answer, or as the
 * list `details` of a refusal; `single`: there is one event, so no events[i], index and status.
 */
extern void ls_ingest_errors_json(ls_buf *buf, const ls_decode_result *result, bool single);

/* Appends one of them as a sentence that stands alone: its path, then its message. */
extern void ls_ingest_error_text(ls_buf *buf, const ls_decode_error *error, bool single);

/*
 * Appends the members `accepted`, `rejected` and `ids` of an answer; `id` writes the
 * LS_EVENT_ID_LENGTH characters of the next event's id, or returns false when the event was dropped.
 * Beyond 1,000, and where `id` is NULL, they are null.
 */
extern void ls_ingest_counts_json(ls_buf *buf, uint32_t accepted, uint32_t rejected,
								  bool (*id)(void *context, char *out), void *context);

/*
 * Appends the member `warnings` of an answer with a comma before it, about events
 * that are older than their index keeps them; nothing when there are none.
 */
extern void ls_ingest_warnings_json(ls_buf *buf, const ls_decode_result *result, bool single);

/* ---- wire_otlp.c ---- */

/* For the answer to OTLP: ls_rejections, and how many records are past their retention. */
extern ls_str ls_otlp_message(ls_arena *arena, const ls_decode_result *result);

/* An ExportLogsServiceResponse, with partial_success when there is a message. */
extern void ls_otlp_answer(ls_buf *buf, bool protobuf, uint32_t rejected, ls_str message);

/* ---- wire_elastic.c ---- */

/*
 * Appends the answer to a bulk request.  `id` writes the 30 characters of the next
 * accepted event's id, or returns false; it is asked once for each accepted item.
 */
extern void ls_bulk_answer(ls_buf *buf, const ls_bulk_item *items, uint32_t n, int64_t took_ms,
						   bool (*id)(void *context, char *out), void *context);

#endif /* LS_WIRE_FORMAT_H */
