/*-------------------------------------------------------------------------
 *
 * store.h
 *	  Parts in tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_STORE_H
#define LS_STORE_H

#include "src/base/base.h"
#include "src/store/filter.h"
#include "src/store/part.h"

/* ---- body.c: the body of a part as a bytea datum ---- */

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

/* ---- table.c: writing parts ---- */

typedef struct ls_stored_part
{
	pg_uuid_t organization;
	ls_str index;
	int level;
	uint64 min_batch;
	uint64 max_batch;
	ls_str header;
	ls_str body;
	const ls_part_stats *stats;
} ls_stored_part;

/* Inserts a row of logsvc_internal.part; in a transaction with SPI. */
extern void ls_store_insert(const ls_stored_part *row);

/* Makes the daily partitions of today and after; in a transaction with SPI. */
extern void ls_store_make_partitions(void);

/* The UTC day of a time, as a date datum. */
extern Datum ls_store_day(ls_time time);

#endif /* LS_STORE_H */
