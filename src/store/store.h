/*-------------------------------------------------------------------------
 *
 * store.h
 *	  Parts in tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_STORE_H
#define LS_STORE_H

#include "src/server/server.h"
#include "src/part/part.h"

#include "utils/date.h"

/* ---- table.c: parts in tables ---- */

/*
 * Levels of stored parts: 1 as written, n + 1 merged from parts of level n at
 * most.  Full ones are not merged any more, those that cannot be read are left.
 */
#define LS_LEVEL_FULL 9
#define LS_LEVEL_CORRUPT (-1)

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

typedef struct ls_partition
{
	Oid oid;
	char name[2 * NAMEDATALEN + 8]; /* quoted, with its schema */
	DateADT day;                    /* DATEVAL_NOEND: it is for days that have none of their own */
} ls_partition;

/*
 * The partitions of the store, the oldest day first, in memory of SPI; their
 * number.  In a transaction with SPI.
 */
extern int ls_store_list_partitions(ls_partition **partitions);

/* How many partitions the store has. */
extern int ls_store_partitions(void);

/* Makes the daily partitions of today and after; in a transaction with SPI. */
extern void ls_store_make_partitions(void);

/* The UTC day of a time, as a date datum. */
extern Datum ls_store_day(ls_time time);

/*
 * In a transaction: no wait for a lock is longer than 5 s.  A store that is locked
 * is one that cannot be written to, and somebody must notice.
 */
extern void ls_store_limit_waits(void);

/*
 * A part out of columns header and body of a row that is read as a whole; in
 * the current memory context, up to `memory` bytes.  Raises as ls_store_corrupt.
 */
extern ls_part *ls_store_open(const char *what, int64 id, Datum header, Datum body, size_t memory);

/*
 * Raises CORRUPT_PART, or OUT_OF_MEMORY when that is what the error says; `what`
 * has the number id.
 */
LS_NORETURN extern void ls_store_corrupt(const char *what, int64 id, const char *error);

/* Does the error say that stored bytes are bad?  What the log may say, without values. */
extern bool ls_store_is_corrupt(int sqlstate);
extern const char *ls_store_failure(const ls_caught *caught);

/* ---- compact.c: merging parts ---- */

typedef struct ls_compactor ls_compactor;

/* What a merge did. */
typedef struct ls_merged
{
	uint32 parts;  /* that were merged */
	uint32 stored; /* that they became */
	uint64 rows;
	uint64 bytes; /* that were written */
} ls_merged;

extern ls_compactor *ls_compactor_create(void); /* lives as long as the process */

/*
 * Looks which parts are to be merged, of the organizations and indexes of one
 * of `shards`; in a transaction of its own.
 */
extern bool ls_compactor_look(ls_compactor *c, int shard, int shards, ls_caught *caught);

extern bool ls_compactor_waits(const ls_compactor *c);   /* has it found merges to do? */
extern bool ls_compactor_saw_all(const ls_compactor *c); /* or was that only a part of them? */

/*
 * Does the next merge, in a transaction of its own.  False when nothing was
 * merged: somebody else was faster, or it failed, which it has logged.
 */
extern bool ls_compactor_merge(ls_compactor *c, ls_merged *merged);

/* ---- retention.c ---- */

typedef struct ls_retention ls_retention;

extern ls_retention *ls_retention_create(void); /* lives as long as the process */

/*
 * Removes some of what is past its retention, in transactions of its own.
 * False: there is nothing for now.  What fails is logged and tried again.
 */
extern bool ls_retention_step(ls_retention *r);

/* ---- reclaim.c ---- */

typedef struct ls_reclaim ls_reclaim;

extern ls_reclaim *ls_reclaim_create(void); /* lives as long as the process */

/*
 * Moves some parts of days that are over to where vacuum can give the space after
 * them back, in transactions of its own; of the partitions of one of `shards`.
 * False: there is nothing for now.  What fails is logged and tried again.
 */
extern bool ls_reclaim_step(ls_reclaim *r, int shard, int shards);

/* ---- delete_rows.c ---- */

/*
 * In a transaction with SPI that is going to merge: locks the organization
 * against a deletion of events that begins; false when there is one.
 */
extern bool ls_store_may_merge(const pg_uuid_t *organization);

/*
 * Does some of a deletion that somebody has asked for, in a transaction of its
 * own.  False: there is nothing to do for now.  What fails is logged.
 */
extern bool ls_deletion_step(void);

#endif /* LS_STORE_H */
