/*-------------------------------------------------------------------------
 *
 * request_reader.h
 *	  What the readers of a request's fields share; for request*.c only (pure).
 *
 * A reader is called at a value and leaves the parser behind it, whatever the value was; what
 * is wrong goes to the list of problems.  After a syntax error json.error is set and every
 * reader returns at once.
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

/* True when s holds nothing but white space (Unicode's). */
extern bool ls_reading_blank(ls_str s);

/* Opens a container; false when it is something else, which is reported and passed over. */
extern bool ls_reading_open(ls_reading *in, ls_json_type type, const char *path,
							const char *expected);

/*
 * A string of min to max code points; true when it is one.  *text is set in this case only.
 */
extern bool ls_reading_text(ls_reading *in, const char *path, size_t min, size_t max, ls_str *text);

extern void ls_reading_bool(ls_reading *in, const char *path, bool *value);

/* expectedItems and compressionOptions, into the request. */
extern void ls_reading_items(ls_reading *in, ls_evaluation_request *request);
extern void ls_reading_options(ls_reading *in, ls_evaluation_request *request);

/* Passes over an unknown member's value and remembers its name (decision 11). */
extern void ls_reading_ignored(ls_reading *in, const char *parent, ls_str name);

/*
 * A JSON number as written, as a double; false when it is not finite or absurdly long.
 */
extern bool ls_reading_number(ls_str text, double *value);

#endif /* LS_REQUEST_READER_H */
