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
	bool spare_lost;      /* there were more */
	uint64_t expanded;    /* bytes of the events of wrappers so far, with what they share */
	ls_attribute *shared; /* of a wrapper; limits.attributes + 1 of them */
} ls_json_reader;

/* An object that holds a list of events, and what is said of all of them (wrapped_events.c). */
typedef struct ls_json_wrapper
{
	const char *name; /* of the list */
	ls_str list;
	ls_str common;   /* an object; empty: none */
	ls_str texts[3]; /* members that become attributes; empty: none */
	const char *names[3];
} ls_json_wrapper;

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

/*
 * Is the next value a wrapper?  Then the reader stands behind it.  It costs next to nothing where the
 * first member has another name.  `events`: also one whose list has this name.
 */
extern bool ls_json_find_wrapper(ls_json_reader *reader, bool events, ls_json_wrapper *wrapper);

/*
 * Gives the events of a wrapper to the sink.  `number`: its place in an array of wrappers; -1: it is
 * the body.  False when failure is no longer OK.
 */
extern bool ls_json_read_wrapper(ls_json_reader *reader, const ls_json_wrapper *wrapper,
								 int number);

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

/* Takes the next line from *rest, without its newline.  False: there is none. */
static inline bool
ls_decode_next_line(ls_str *rest, ls_str *line)
{
	const char *newline;

	if (rest->len == 0)
		return false;
	newline = memchr(rest->data, '\n', rest->len);
	*line = ls_str_make(rest->data, newline == NULL ? rest->len : (size_t) (newline - rest->data));
	*rest = newline == NULL ? LS_STR("") : ls_str_make(newline + 1, rest->len - line->len - 1);
	return true;
}

#endif /* LS_JSON_EVENT_H */
