/*-------------------------------------------------------------------------
 *
 * otlp.h
 *	  What the two readers of OTLP share: values, records, and how a record
 *	  becomes an event (pure).
 *
 * otlp_protobuf.c and otlp_json.c read the same messages (otlp.proto) from two
 * encodings; otlp_record.c is the mapping to events, once for both.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_OTLP_H
#define LS_OTLP_H

#include "src/decode/decode.h"

/* AnyValue within AnyValue of protobuf; deeper ones refuse the body. */
#define LS_OTLP_DEPTH 16

/* An AnyValue: as an attribute holds it, or bytes. */
typedef struct ls_otlp_value
{
	ls_kind kind;
	ls_str text; /* STRING: may be any bytes; NUMBER and JSON: JSON text */
	int64_t integer;
} ls_otlp_value;

/* Attributes that many records share: of a resource, of a scope. */
typedef struct ls_otlp_shared
{
	ls_attribute *attributes; /* keys with their prefix */
	size_t n;
	ls_str service; /* service.name of a resource */
	ls_str index;   /* logsvc.index of a resource: where its records go */
	size_t bytes;   /* of all of them, as sent */
} ls_otlp_shared;

typedef struct ls_otlp_record
{
	uint64_t time;     /* nanoseconds; 0: none */
	uint64_t observed; /* the same */
	int64_t severity;
	ls_str severity_text;
	ls_otlp_value body;
	ls_str event_name;
	ls_str trace_id; /* text as it is stored */
	ls_str span_id;
} ls_otlp_record;

typedef struct ls_otlp
{
	ls_event_builder builder;
	ls_otlp_shared resource;
	ls_otlp_shared scope;
	bool clean;        /* every text is valid UTF-8 without NUL: the reader saw to it */
	uint64_t expanded; /* bytes of the events so far, with what they share */
} ls_otlp;

extern bool ls_otlp_init(ls_otlp *otlp, const ls_decode_options *options, ls_decode_result *result,
						 bool clean);

/* Forgets what is shared; the arrays stay. */
extern void ls_otlp_shared_clear(ls_otlp_shared *shared);

/*
 * Adds `prefix` + key; texts are copied or views into the body, not into
 * scratch.  Beyond the limit of attributes nothing is kept (a record could not
 * have it either).  False when out of memory.
 */
extern bool ls_otlp_share(ls_otlp *otlp, ls_otlp_shared *shared, ls_str prefix, ls_str key,
						  const ls_otlp_value *value);

/* An attribute of the record that is being read. */
extern void ls_otlp_attribute(ls_otlp *otlp, ls_str key, const ls_otlp_value *value);

/*
 * Ends a record whose attributes were added already; `bytes` is its size on the
 * wire.  False when failure is no longer OK.
 */
extern bool ls_otlp_record_end(ls_otlp *otlp, const ls_otlp_record *record, size_t bytes);

/* Valid UTF-8 without NUL: the text itself, or a copy with U+FFFD for what is not. */
extern ls_str ls_otlp_text(const ls_otlp *otlp, ls_arena *arena, ls_str text);

/* Appends a value as JSON. */
extern void ls_otlp_append(const ls_otlp *otlp, ls_buf *buf, const ls_otlp_value *value);

/* A double: INTEGER or NUMBER, or a STRING where JSON has no number. */
extern ls_otlp_value ls_otlp_double(ls_arena *arena, double number);

/* Bytes as a STRING of base64. */
extern ls_otlp_value ls_otlp_bytes(ls_arena *arena, ls_str bytes);

/* An id as lower-case hex; empty when it has no bytes but zeros. */
extern ls_str ls_otlp_id(ls_arena *arena, ls_str bytes);

#endif /* LS_OTLP_H */
