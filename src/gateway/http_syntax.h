/*-------------------------------------------------------------------------
 *
 * http_syntax.h
 *	  What a well-formed HTTP/1.1 request looks like: its header, and the
 *	  framing of a chunked body (pure).
 *
 * Whatever two readers of the same bytes could understand differently (request
 * smuggling) is refused.  The rules are here, free of sockets, so that they can
 * be fuzzed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_HTTP_SYNTAX_H
#define LS_HTTP_SYNTAX_H

#include "src/base/pure.h"

#define LS_REQUEST_ID_LENGTH 26
#define LS_REQUEST_ID_MAX 128

/* What the header of one request adds up to. */
typedef struct ls_http_check
{
	int minor;               /* of HTTP/1.x: 0 or 1 */
	int status;              /* 0, or the status to refuse with */
	const char *problem;     /* with status: what is wrong */
	uint64_t content_length; /* 0 when absent; UINT64_MAX when larger than that */
	unsigned hosts;
	unsigned lengths;
	unsigned codings;
	bool chunked;
	bool expect_continue;
} ls_http_check;

/*
 * Takes one header field (value with or without surrounding white space).
 * After the first problem further calls change nothing.
 */
extern void ls_http_check_field(ls_http_check *check, ls_str name, ls_str value);

/* After the last field: rules over all fields.  True when all is well. */
extern bool ls_http_check_end(ls_http_check *check);

typedef enum ls_http_verdict
{
	LS_HTTP_MORE, /* fine so far, not complete */
	LS_HTTP_DONE, /* complete and fine; offset is its length */
	LS_HTTP_BAD   /* check.status and check.problem say why */
} ls_http_verdict;

/* A scan over the raw bytes of a header; zero it to begin. */
typedef struct ls_http_scan
{
	size_t offset; /* start of the first line not yet judged */
	bool request_line;
	ls_http_check check;
} ls_http_scan;

/*
 * Judges `data`, which begins with the first byte of a request and may grow
 * between calls (same bytes, more of them).  Looks at each line once, and at
 * an incomplete last line again when there is more.
 */
extern ls_http_verdict ls_http_scan_header(ls_http_scan *scan, const char *data, size_t len);

/*
 * The next field of a header that was LS_HTTP_DONE; *at begins at 0.  False: there
 * are no more.  The value is without white space around it.  The first call gives
 * the request line, as the value of an empty name.
 */
extern bool ls_http_next_line(ls_str header, size_t *at, ls_str *name, ls_str *value);

/* The parts of a request line that was judged well-formed. */
extern void ls_http_request_line(ls_str line, ls_str *method, ls_str *target);

/* Longest extension of a chunk, and all trailer fields together, in bytes. */
#define LS_HTTP_EXTENSION_LIMIT 256
#define LS_HTTP_TRAILER_LIMIT 4096

/* A chunked body being read; zero it to begin. */
typedef struct ls_http_chunks
{
	uint8_t state;
	uint8_t digits;      /* of the size, so far */
	uint16_t line;       /* bytes of the extension, or of the trailer fields */
	bool trailer_name;   /* in the name of a trailer field */
	uint64_t left;       /* bytes of the chunk; while its size is read, the size */
	const char *problem; /* with LS_HTTP_BAD */
} ls_http_chunks;

/*
 * Reads framing and at most one piece of data from the next bytes of a chunked
 * body.  *used: how many bytes were read, the piece included, which is a view
 * and may be empty.  DONE: the body ends after them.  MORE: call again with
 * what follows (with *used == len: when there is more).  Every line must end
 * with CR LF; sizes have at most 16 digits.
 */
extern ls_http_verdict ls_http_read_chunks(ls_http_chunks *chunks, const char *data, size_t len,
										   size_t *used, ls_str *piece);

/* Visible ASCII only, not empty. */
extern bool ls_http_target_valid(ls_str target);

/* 1 to LS_REQUEST_ID_MAX visible ASCII characters: a client's X-Request-Id is kept. */
extern bool ls_http_request_id_valid(ls_str id);

/*
 * Splits a request target into path and query (views, as sent).  Takes the
 * origin form and the absolute form (http://host/path); false for others.
 */
extern bool ls_http_split_target(ls_str target, ls_str *path, ls_str *query);

/*
 * Decodes %XX of one path segment into `out` (segment.len bytes are enough).
 * False when an escape is broken or stands for a control character.
 */
extern bool ls_http_decode_segment(ls_str segment, char *out, size_t *out_len);

/* A time-ordered id of LS_REQUEST_ID_LENGTH characters, not NUL-terminated. */
extern void ls_http_make_request_id(uint64_t ms, uint64_t random_a, uint64_t random_b, char *out);

/* The standard text of a status code, "Unknown" when it has none. */
extern const char *ls_http_status_text(int status);

#endif /* LS_HTTP_SYNTAX_H */
