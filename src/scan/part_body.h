/*-------------------------------------------------------------------------
 *
 * part_body.h
 *	  The body of a part as a bytea datum.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PART_BODY_H
#define LS_PART_BODY_H

#include "src/server/server.h"

/*
 * Reads slices of a bytea datum.  If the body is stored out of line, only the
 * TOAST slices are fetched, so a scan reads only the columns that it needs.
 */
typedef struct ls_body
{
	Datum datum;
	const char *plain; /* the bytes, if they are in memory; else NULL */
	size_t plain_len;
	bool stored; /* out of line, and not compressed: */
	Oid table;   /* where its chunks are */
	Oid value;
	uint32 size;
	uint32 misses; /* chunks that were not where they were expected */
} ls_body;

extern void ls_body_init(ls_body *body, Datum datum);

/* An ls_part_fetch; `context` is an ls_body.  False: the bytes are not all there. */
extern bool ls_body_fetch(void *context, uint64_t offset, size_t length, void *to);

#endif /* LS_PART_BODY_H */
