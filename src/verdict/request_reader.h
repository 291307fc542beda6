/*-------------------------------------------------------------------------
 *
 * request_reader.h
 *	  What the readers of a request's fields share; for request*.c only (pure).
 *
 * A reader is called at a value and leaves the parser after it, whatever the value is.  Problems
 * go to the list.  After a syntax error json.error is set, and every reader returns at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_REQUEST_READER_H
#define LS_REQUEST_READER_H

#include "src/verdict/evaluation_core.h"

#include <stdio.h>

#define LS_READING_MAX_IGNORED 20 /* names of unknown fields that are kept */

typedef struct ls_reading
{
	ls_json json;
	ls_arena *arena;
	ls_buf scratch;
	ls_validation_errors *errors;
	ls_evaluation_request *request;
	ls_str *ignored; /* request->ignored, writable */
} ls_reading;

/* "a string", "null", ...: a type in a message. */
extern const char *ls_reading_type(ls_json_type type);

/* Is s empty, or only (Unicode) white space? */
extern bool ls_reading_blank(ls_str s);

/* Opens a container.  False: the value is something else; it is reported and skipped. */
extern bool ls_reading_open(ls_reading *in, ls_json_type type, const char *path,
							const char *expected);

/*
 * Reads a string of min to max code points.  True if the value is one; only then is *text set.
 */
extern bool ls_reading_text(ls_reading *in, const char *path, size_t min, size_t max, ls_str *text);

extern void ls_reading_bool(ls_reading *in, const char *path, bool *value);

/* Read expectedItems and compressionOptions into the request. */
extern void ls_reading_items(ls_reading *in, ls_evaluation_request *request);
extern void ls_reading_options(ls_reading *in, ls_evaluation_request *request);

/* Skips the value of an unknown member and remembers the name (decision 11). */
extern void ls_reading_ignored(ls_reading *in, const char *parent, ls_str name);

/*
 * Converts a JSON number to a double.  False if it is not finite or is absurdly long.
 */
extern bool ls_reading_number(ls_str text, double *value);

#endif /* LS_REQUEST_READER_H */
