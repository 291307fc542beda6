/*-------------------------------------------------------------------------
 *
 * loki.h
 *	  What the two readers of Grafana Loki's push requests share (pure).
 *
 * loki_protobuf.c and loki_json.c read the same request from two encodings,
 * loki_labels.c a label set that is one text, and loki_entry.c makes events.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_LOKI_H
#define LS_LOKI_H

#include "src/decode/decode.h"

typedef struct ls_loki_label
{
	ls_str name;
	ls_str value;
} ls_loki_label;

typedef struct ls_loki_labels
{
	ls_loki_label *labels; /* limits.attributes + 1 at most; the rest is counted only */
	size_t n;
	size_t bytes; /* of all, as sent */
} ls_loki_labels;

typedef struct ls_loki
{
	ls_event_builder builder;
	ls_loki_labels stream;
	ls_loki_labels metadata; /* of the entry that is read */
	uint64_t expanded;       /* bytes of the events so far, with what they share */
} ls_loki;

extern bool ls_loki_init(ls_loki *loki, const ls_decode_options *options, ls_decode_result *result);

extern void ls_loki_clear(ls_loki_labels *labels);

/* Adds a label; texts that are valid UTF-8 without NUL and live as long as they are used. */
extern void ls_loki_add(const ls_loki *loki, ls_loki_labels *labels, ls_str name, ls_str value);

/*
 * Reads {name="value", ...} as the labels of the stream, with texts in
 * options->arena or views.  False: it is none; *error says why.
 */
extern bool ls_loki_read_labels(ls_loki *loki, ls_str text, const char **error);

/* Starts an entry: its metadata may be added. */
extern void ls_loki_entry_begin(ls_loki *loki);

/*
 * Ends an entry: `line` is valid text, `bytes` its size on the wire.  The time is in the event
 * already; if what was sent is none, the entry is rejected.  False when failure is no longer OK.
 */
extern bool ls_loki_entry_end(ls_loki *loki, bool has_time, ls_str line, size_t bytes);

#endif /* LS_LOKI_H */
