/*-------------------------------------------------------------------------
 *
 * segment.h
 *	  What the two files about segments of the queue share.
 *
 *	segment.c		their states; who inserts, who reads, the start
 *	segment_keep.c	the keeper, which changes and empties them
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_INGEST_SEGMENT_H
#define LS_INGEST_SEGMENT_H

#include "src/ingest/ingest.h"

#include "access/transam.h"
#include "port/atomics.h"

typedef enum ls_segment_state
{
	LS_SEGMENT_NONE, /* there is no such table */
	LS_SEGMENT_FREE,
	LS_SEGMENT_CURRENT,
	LS_SEGMENT_DRAINING,
	LS_SEGMENT_DRAINED
} ls_segment_state;

typedef struct ls_segment
{
	ls_segment_state state;
	uint64 turn; /* the older the lower */
	pg_atomic_uint64 entries;
	pg_atomic_uint64 bytes;
	TimestampTz since;           /* when it became what it is */
	TimestampTz tried;           /* when its lock was last waited for */
	FullTransactionId emptied;   /* older than all of its rows */
	FullTransactionId drained;   /* younger than the deletion of all of its rows */
	bool lost;                   /* between these two snapshots may have missed rows */
	FullTransactionId lost_from; /* an emptied, or 0 for any time before */
	FullTransactionId lost_to;   /* a drained */
} ls_segment;

typedef struct ls_segments_state
{
	pg_atomic_uint32 current;
	pg_atomic_uint32 lost; /* any segment's */
	uint64 turns;
	ls_segment segments[LS_QUEUE_SEGMENTS]; /* under LS_LOCK_SEGMENTS, as turns */
} ls_segments_state;

extern ls_segments_state *ls_segments; /* in shared memory */

/*
 * The table of a segment, the table that has its rows (a shard, where Citus distributes it), and the
 * queue itself; InvalidOid: there is none.
 */
extern Oid ls_segment_table(int number);
extern Oid ls_segment_oid(int number);
extern Oid ls_segment_parent(void);

#endif /* LS_INGEST_SEGMENT_H */
