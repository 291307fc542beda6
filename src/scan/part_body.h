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
 * Reads slices of a bytea datum.  A body stored out of line is fetched by
 * TOAST slices, so that only the columns that a scan needs are read.
 */
typedef struct ls_body
{
	Datum datum;
	const char *plain; /* the bytes, when they are at hand */
	size_t plain_len;
} ls_body;

extern void ls_body_init(ls_body *body, Datum datum);
extern bool ls_body_fetch(void *context, uint64_t offset, size_t length, void *to);

#endif /* LS_PART_BODY_H */
