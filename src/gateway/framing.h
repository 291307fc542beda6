/*-------------------------------------------------------------------------
 *
 * framing.h
 *	  Messages that come over a socket without HTTP: how they follow one another
 *	  there, and how the gateway hands them to a worker (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_FRAMING_H
#define LS_FRAMING_H

#include "src/base/pure.h"

/* Largest message, in bytes; of a longer one so much is kept. */
#define LS_LINE_LIMIT ((size_t) 32 * 1024 - 16)

/* A length that announces more than this is no length (octet counting). */
#define LS_LINE_COUNT_LIMIT ((size_t) 1024 * 1024)

/* What of a message has been taken and is to be passed over; zero at the begin of a stream. */
typedef struct ls_line_scan
{
	size_t skip;    /* bytes */
	bool skip_line; /* up to its end */
} ls_line_scan;

typedef enum ls_line_result
{
	LS_LINE_MORE, /* there is no whole message */
	LS_LINE_DONE,
	LS_LINE_BAD /* the stream cannot be read on */
} ls_line_result;

/*
 * The next message of `data`: it ends with `separator`, or (syslog over TCP, RFC 6587, with a
 * newline as separator) its length stands before it.  *used: how much of `data` is over with; the
 * rest is to be given again with what follows.  At LS_LINE_LIMIT + 16 bytes of data there is
 * always a message or something used.  *cut: the message was longer.  `last`: nothing
 * follows, so what is there is the last message.
 */
extern ls_line_result ls_line_next(ls_line_scan *scan, char separator, const char *data, size_t len,
								   bool last, ls_str *message, bool *cut, size_t *used);

/* ---- the body of a request with messages of a listener ---- */

typedef struct ls_line
{
	ls_str peer; /* address of the sender, at most 255 bytes */
	ls_str text;
	bool cut;
} ls_line;

#define LS_LINE_HEAD 6

/* Writes a message with LS_LINE_HEAD + peer.len + text.len bytes. */
extern void ls_line_write(char *to, const ls_line *line);

/* Takes the next message off a body; texts are views.  False at the end, or where it is broken. */
extern bool ls_line_read(ls_str *body, ls_line *line);

#endif /* LS_FRAMING_H */
