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

/* ---- table.c: parts in tables; days.c: their partitions ---- */

/*
 * Levels of stored parts: 1 as written; n + 1 merged from parts of level n or below.
 * Full parts are no longer merged; parts that cannot be read are left alone.
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
	Oid oid; /* of the table that has its rows: a shard, where Citus distributes it */
	char name[2 * NAMEDATALEN + 8]; /* of that table, quoted, with its schema */
	Oid table;                      /* itself, which is what DROP takes */
	DateADT day;                    /* DATEVAL_NOEND: for days without a partition of their own */
} ls_partition;

/*
 * Lists the partitions of the store, oldest day first, in memory of SPI.  Returns
 * their number.  In a transaction with SPI.
 */
extern int ls_store_list_partitions(ls_partition **partitions);

/* The number of partitions of the store. */
extern int ls_store_partitions(void);

/*
 * Has the day no partition, but may have one?  That is so if somebody still keeps events of that
 * day, and it is one of the last LS_STORE_DAYS.  In a transaction with SPI.
 */
#define LS_STORE_DAYS 366
extern bool ls_store_misses_day(DateADT day);

/*
 * Makes the partitions of days, in transactions of its own.  False: not all of them, because the
 * default partition has events of a day, or because something failed, which is logged.  Such a
 * day may have none for a minute.
 */
extern bool ls_store_make_days(const DateADT *days, int n);

/* Makes the partitions of today and the next two days, likewise. */
extern bool ls_store_make_days_ahead(void);

/* Makes those that sessions have asked for (logsvc_internal.ask_for_days). */
extern void ls_store_make_asked_days(void);

/* Requests shared memory; called by _PG_init. */
extern void ls_store_register(void);

/* The UTC day of a time, as a date datum. */
extern Datum ls_store_day(ls_time time);

/*
 * In a transaction that writes: limits each wait for a lock to 5 s.  A locked store cannot be
 * written to, so the wait must become an error that somebody notices.  Holds shards, too.
 */
extern void ls_store_limit_waits(void);

/*
 * Opens a part, given columns header and body of its row, to read it as a whole.  It
 * takes up to `memory` bytes in the current memory context.  Raises like
 * ls_store_corrupt.
 */
extern ls_part *ls_store_open(const char *what, int64 id, Datum header, Datum body, size_t memory);

/*
 * Raises CORRUPT_PART, or OUT_OF_MEMORY if `error` is that.  `what` and `id` name the
 * part in the message.
 */
LS_NORETURN extern void ls_store_corrupt(const char *what, int64 id, const char *error);

/* Does the SQLSTATE say that stored bytes are bad? */
extern bool ls_store_is_corrupt(int sqlstate);

/* The description of an error for the log, without values. */
extern const char *ls_store_failure(const ls_caught *caught);

/* ---- shards.c: where Citus distributes the tables of events ---- */

/*
 * The table that has the rows of a table: its shard, when Citus distributes it and its one shard is
 * here; else itself.  In a transaction.
 */
extern Oid ls_store_here(Oid table);

/* Are the tables of events distributed?  In a transaction. */
extern bool ls_store_distributed(void);

/*
 * Are the tables of events distributed, and not as one shard on this server?  In a transaction.
 */
extern bool ls_store_elsewhere(void);

/*
 * Keeps the shards from moving to another server until the transaction is over.  Statements that
 * write do it when they start, and fail when it is too late; so who can does it before.  In a worker
 * of the service: STORE_UNAVAILABLE when they are not here.
 */
extern void ls_store_hold(void);

/* Makes statements over such a table statements over its shard; called by _PG_init. */
extern void ls_store_shards_register(void);

/* At the start of a worker: it may change shards, and sees them in the catalogs. */
extern void ls_store_use_shards(void);

/* ---- compact.c: merging parts ---- */

typedef struct ls_compactor ls_compactor;

/* What a merge did. */
typedef struct ls_merged
{
	uint32 parts;  /* parts that were merged */
	uint32 stored; /* parts that were written */
	uint64 rows;
	uint64 bytes; /* bytes that were written */
} ls_merged;

extern ls_compactor *ls_compactor_create(void); /* lives as long as the process */

/*
 * Looks for parts to merge, in the organizations and indexes of shard `shard` of
 * `shards`, in a transaction of its own.  False: it failed, and *caught says why.
 */
extern bool ls_compactor_look(ls_compactor *c, int shard, int shards, ls_caught *caught);

extern bool ls_compactor_waits(const ls_compactor *c);   /* are there merges to do? */
extern bool ls_compactor_saw_all(const ls_compactor *c); /* did the last look find all of them? */

/*
 * Does the next merge, in a transaction of its own.  False when nothing was
 * merged: another compactor was faster, or the merge failed and was logged.
 */
extern bool ls_compactor_merge(ls_compactor *c, ls_merged *merged);

/* ---- retention.c ---- */

typedef struct ls_retention ls_retention;

extern ls_retention *ls_retention_create(void); /* lives as long as the process */

/*
 * Removes some expired parts, in transactions of its own.  False: there is nothing to do
 * for now.  Failures are logged and tried again.
 */
extern bool ls_retention_step(ls_retention *r);

/* ---- reclaim.c ---- */

typedef struct ls_reclaim ls_reclaim;

extern ls_reclaim *ls_reclaim_create(void); /* lives as long as the process */

/*
 * Moves some parts of past days towards the start of their file, so that vacuum can
 * truncate it; in the partitions of shard `shard` of `shards`, in transactions of its
 * own.  False: there is nothing to do for now.  Failures are logged and tried again.
 */
extern bool ls_reclaim_step(ls_reclaim *r, int shard, int shards);

/* ---- day_filters.c: which parts of a past day can hold a token (src/part/day_filter.h) ---- */

typedef struct ls_day_filters ls_day_filters;

extern ls_day_filters *ls_day_filters_create(void); /* lives as long as the process */

/*
 * Removes a filter whose parts are gone, and makes one of parts of a past day that have none; of the
 * organizations of shard `shard` of `shards`, in transactions of its own.  False: there is nothing
 * to do for now.  Failures are logged.
 */
extern bool ls_day_filters_step(ls_day_filters *f, int shard, int shards);

/* A search found a filter damaged: logs it, and lets a compactor make it again. */
extern void ls_day_filter_damaged(int64 id);

/* Requests shared memory; called by _PG_init. */
extern void ls_day_filters_register(void);

/* ---- delete_rows.c ---- */

/*
 * In a transaction with SPI that is about to merge: takes a lock so that no deletion
 * of events can start in the organization.  False: a deletion is running.
 */
extern bool ls_store_may_merge(const pg_uuid_t *organization);

/*
 * Does one slice of a requested deletion, in a transaction of its own.  False: there
 * is nothing to do for now.  Failures are logged.
 */
extern bool ls_deletion_step(void);

#endif /* LS_STORE_H */
