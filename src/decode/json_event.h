/*-------------------------------------------------------------------------
 *
 * json_event.h
 *	  Events that are JSON values, for all bodies that hold some (pure).
 *
 * decode_json.c reads the bodies of the service's own routes, bulk_decode.c
 * those of Elasticsearch's bulk API; an event is read in one place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_JSON_EVENT_H
#define LS_JSON_EVENT_H

#include "src/decode/decode.h"

/* A member without a place of its own, until it is known what the event is. */
typedef struct ls_json_spare
{
	ls_str name;
	ls_json_value value; /* text: the raw one of objects and arrays */
	bool compact;        /* of those: is the text compact JSON? */
} ls_json_spare;

typedef struct ls_json_reader
{
	ls_event_builder builder;
	ls_json json;
	const char *begin; /* of the event being read */
	bool too_large;    /* it is over its limit: nothing of it is kept */
	bool single;       /* the body is one event, not a list of them */
	/*
	 * Documents of other programs: a member of an unexpected type is an
	 * attribute and no mistake, and without a text the document itself is it.
	 */
	bool documents;
	/*
	 * The object is the text of an event: what it says is added to an event with attributes
	 * of its own, so many.
	 */
	bool inner;
	size_t n_outer;
	ls_json_spare *spare; /* limits.attributes + 1 of them */
	size_t n_spare;
	bool spare_lost; /* there were more */
} ls_json_reader;

/* Deeper than any sane event. */
#define LS_JSON_EVENT_DEPTH 64

/* Starts on a body, after a byte order mark. */
extern bool ls_json_reader_init(ls_json_reader *reader, const ls_decode_options *options,
								ls_str body, ls_decode_result *result);

/* The next value into the event builder.  False: see json.error or the result's failure. */
extern bool ls_json_read_event(ls_json_reader *reader);

/* The members of an open object as attributes.  False: see json.error or the result's failure. */
extern bool ls_json_read_attributes(ls_json_reader *reader);

/* Passes over the rest of a value of which `value` was read. */
extern bool ls_json_pass_over(ls_json_reader *reader, const ls_json_value *value);

/* Gives the event that was read to the sink, or records why not. */
static inline bool
ls_json_commit_event(ls_json_reader *reader)
{
	return ls_event_builder_commit(&reader->builder, (size_t) (reader->json.pos - reader->begin));
}

/*
 * Rejects the line that could not be read, by itself; `number` counts from 1.
 * False when failure is no longer OK.
 */
extern bool ls_json_reject_line(ls_json_reader *reader, ls_str line, uint64_t number);

/* Is there nothing but white space in the line? */
extern bool ls_json_blank(ls_str line);

#endif /* LS_JSON_EVENT_H */
