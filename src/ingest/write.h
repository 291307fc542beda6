/*-------------------------------------------------------------------------
 *
 * write.h
 *	  What the files of this folder that store events share.
 *
 *	write.c			entries of the queue -> parts of level 1
 *	dead_letter.c	what could not be stored, and back
 *	delivery.c		when which of them is tried
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_INGEST_WRITE_H
#define LS_INGEST_WRITE_H

#include "src/ingest/ingest.h"

#include "executor/spi.h"

#include "src/store/store.h"

/* What one transaction takes: rows of the queue, and events in them. */
#define LS_WRITE_ENTRIES 2000
#define LS_WRITE_EVENTS LS_PART_MAX_ROWS

/* ---- write.c ---- */

/*
 * The organizations of one writer, out of `shards`, without the entries that
 * are set aside.
 */
typedef struct ls_share
{
	int shard;
	int shards;
	const int64 *except;
	int n_except;
} ls_share;

/* What one transaction has taken out of the queue, by organization. */
typedef struct ls_write_counts
{
	int n;
	ls_queue_count of[LS_WRITE_ENTRIES];
} ls_write_counts;

/* Adds events of an organization; of at most LS_WRITE_ENTRIES entries. */
extern void ls_write_count(ls_write_counts *counts, const pg_uuid_t *organization, uint32 events);

/* Stores the oldest entries of the share, up to the limits, in one transaction. */
extern bool ls_write_share(const ls_share *share, uint32 *events, ls_caught *caught);

/* The ids of the entries that ls_write_share would take; false: see *caught. */
extern bool ls_write_pick(const ls_share *share, int64 ids[LS_WRITE_ENTRIES], int *n,
						  ls_caught *caught);

/* Stores these entries, or those of them that are still there, in one transaction. */
extern bool ls_write_entries(const int64 *ids, int n, uint32 *events, ls_caught *caught);

/* In a (sub)transaction with SPI: stores the rows [from, to) of a part of level 0. */
extern void ls_write_rows(const pg_uuid_t *organization, int64 batch, ls_part *part, uint32 from,
						  uint32 to);

/* A part of level 0 out of columns header and body of a table; raises CORRUPT_PART. */
extern ls_part *ls_write_open(int64 batch, Datum header, Datum body);

/* Can the store be written to?  Writes an event and takes it back. */
extern bool ls_write_probe(ls_caught *caught);

/* ---- dead_letter.c ---- */

typedef enum ls_failure
{
	LS_FAILURE_DATA,  /* the data is at fault; retrying is useless */
	LS_FAILURE_STORE, /* the store is at fault */
	LS_FAILURE_OTHER  /* nobody can tell */
} ls_failure;

extern ls_failure ls_failure_of(const ls_caught *caught);

typedef enum ls_dead_reason
{
	LS_DEAD_CORRUPT,
	LS_DEAD_REJECTED,
	LS_DEAD_STORE_UNAVAILABLE
} ls_dead_reason;

/* Why something could not be stored. */
typedef struct ls_dead_cause
{
	ls_dead_reason reason;
	int attempts;
	TimestampTz first;
	int sqlstate;
	char message[256]; /* without values of the statement */
} ls_dead_cause;

/*
 * Moves an entry of the queue to the dead letters as it is, in one transaction:
 * *events.  None when it was not there any more.
 */
extern bool ls_dead_move(int64 id, const ls_dead_cause *cause, uint32 *events, ls_caught *caught);

/*
 * The same for the events in it that alone cannot be stored; the others are
 * stored, in the same transaction.  Fails when the entry cannot be read, when
 * it has only one event, or when too many of them are bad.
 */
extern bool ls_dead_split(int64 id, const ls_dead_cause *cause, uint32 *events, ls_caught *caught);

/* Moves the oldest entries of a share, as many as ls_write_share would take. */
extern bool ls_dead_move_share(const ls_share *share, const ls_dead_cause *cause, uint32 *events,
							   ls_caught *caught);

/*
 * Puts dead letters back into the queue: those that somebody wants, and those
 * that are there because the store was down; the oldest first, as many as half of
 * the queue has room for.  One transaction.  *more: there may be more of them.
 */
extern bool ls_dead_replay(uint32 *events, bool *more, ls_caught *caught);

#endif /* LS_INGEST_WRITE_H */
