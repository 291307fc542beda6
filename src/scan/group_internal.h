/*-------------------------------------------------------------------------
 *
 * group_internal.h
 *	  What the files of the aggregate group_parts share.  From the lowest layer up:
 *	  group_keys.c (tables of keys), aggregate.c and aggregate_bytes.c (values), group_bound.c and
 *	  group_codes.c (keys of rows), group_set.c (groups), group_wanted.c (the wanted ones),
 *	  group_spill.c (temporary files), group.c (parts), group_merge.c (what parallel workers
 *	  send), group_workers.c (the workers), group_function.c (the SQL functions).
 *	  overview_parts.c and facet.c use its tables and buckets.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_GROUP_INTERNAL_H
#define LS_GROUP_INTERNAL_H

#include "src/scan/part_scan.h"

#define LS_GROUP_MAX_FIELDS 32
#define LS_GROUP_MAX_AGGREGATES 64

/* Raises QUERY_MEMORY_LIMIT. */
LS_NORETURN extern void ls_group_out_of_memory(void);

static inline void *
checked(void *memory)
{
	if (memory == NULL)
		ls_group_out_of_memory();
	return memory;
}

/* A text and its hash, by which it is found. */
typedef struct ls_key_slot
{
	uint32 hash;
	uint32 number; /* 0: free */
} ls_key_slot;

#define LS_TABLE_NAME ls_key_number
#define LS_TABLE_SLOT ls_key_slot
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

/* Distinct keys (bytes) with their numbers, from 1. */
typedef struct ls_key_table
{
	ls_arena *arena;
	ls_str *keys; /* [1 .. n] */
	uint32 n;
	uint32 capacity;
	ls_key_number_table numbers;
} ls_key_table;

/* The number of a key; a new key is copied and added. */
extern uint32 ls_key_intern(ls_key_table *table, ls_str key);
extern uint32 ls_key_intern_hashed(ls_key_table *table, ls_hashed_str key);

/* The key will soon be looked up: fetches the memory that this will read. */
extern void ls_key_prefetch(const ls_key_table *table, ls_hashed_str key);

/* The number of a key; 0: it is not in the table. */
extern uint32 ls_key_find(const ls_key_table *table, ls_str key);

/* Reads a timestamptz[] argument with the start times of buckets; *n is 0 if it is NULL. */
extern ls_time *ls_group_starts(FunctionCallInfo fcinfo, int argument, ls_arena *arena, int *n);

/* The bucket of a time, from 1; `last` is the bucket of the previous time, or 0. */
static inline uint32
ls_bucket_of(const ls_time *starts, int n, ls_time time, uint32 last)
{
	uint32 low = 1;
	uint32 high = (uint32) n;

	if (last > 0 && time >= starts[last - 1] && (last == (uint32) n || time < starts[last]))
		return last;
	while (low < high)
	{
		uint32 middle = low + (high - low + 1) / 2;

		if (starts[middle - 1] <= time)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/*
 * Reads the counts of a part's header, if they are enough to count the matching rows in each
 * bucket and in the range of the scan, or its value counts.  False: they are not, or there are none.
 */
extern bool ls_group_counts(ls_scan *scan, const ls_time *starts, int n, ls_part_counts *counts);

/* Numbers by dictionary entry, kept from block to block of a part. */
typedef struct ls_entries
{
	const ls_str *dictionary;
	uint32 n;
	uint32 *numbers; /* NULL: of none */
} ls_entries;

/* Makes them for the dictionary of a vector, plus one more, and sets all bytes to `fill`. */
extern void ls_entries_make(ls_entries *entries, ls_scan *scan, const ls_vector *vector, int fill);

/*
 * The numbers for a vector with a dictionary.  A block's only entry may be the first one
 * of a longer dictionary, so the address alone does not identify a dictionary.
 */
static inline uint32 *
ls_entries_of(ls_entries *entries, ls_scan *scan, const ls_vector *vector, int fill)
{
	if (entries->numbers == NULL || entries->dictionary != vector->dictionary ||
		entries->n != vector->n_dictionary)
		ls_entries_make(entries, scan, vector, fill);
	return entries->numbers;
}

/* The request; parallel workers have the same one.  Must live as long as the groups. */
typedef struct ls_group_request
{
	ls_str filter; /* data NULL: all rows */
	ls_time from;
	ls_time to;
	ls_str *fields;
	int n_fields;
	ls_time *starts; /* start times of buckets */
	int n_starts;
	ls_str *aggregates;
	int n_aggregates;
	bool has_kept;
	ls_str *kept;
	int n_kept;
	uint64 hash_key[2]; /* for the hash of distinct values */
	ls_str program;     /* of src/engine: stages before the groups; data NULL: none */
	ls_time now;        /* that its now() gives */
	ls_str wanted;      /* which groups: see ls_wanted_make; data NULL: all */
} ls_group_request;

/* The selected rows of a block: their numbers and their groups. */
typedef struct ls_group_rows
{
	uint32 block;
	uint32 n;
	uint16 rows[LS_PART_BLOCK_ROWS];
	uint32 groups[LS_PART_BLOCK_ROWS];
} ls_group_rows;

/* ---- aggregate.c: an aggregate of the values of a field, for each group ---- */

typedef struct ls_aggregate ls_aggregate;

/*
 * Makes the aggregates of a request from texts "kind counter field", such as "sum 0 .ms" or
 * "p95 1 .ms"; raises an error for any other text.
 */
extern ls_aggregate **ls_aggregates_make(ls_arena *arena, const ls_group_request *request);

/* In the place of another one, in the same part: counts values that are not numbers further. */
extern void ls_aggregate_continue(ls_aggregate *aggregate, const ls_aggregate *before);

/* Starts with the next part: looks up the field in it. */
extern void ls_aggregate_part(ls_aggregate *aggregate, ls_scan *scan);

/* Adds rows of a block; all groups are below n_groups. */
extern void ls_aggregate_add(ls_aggregate *aggregate, ls_scan *scan, const ls_group_rows *rows,
							 uint32 n_groups);

/* Is the result over all rows of a part in its header?  So it is for the extremes of timestamps. */
extern bool ls_aggregate_in_header(const ls_aggregate *aggregate, const ls_scan *scan);

/* Adds all rows of a part, for which that is so, to a group below n_groups. */
extern void ls_aggregate_add_header(ls_aggregate *aggregate, const ls_scan *scan, uint32 group,
									uint32 n_groups);

/* Call it after the last row: prepares the results, and counts values that were not numbers. */
extern void ls_aggregate_finish(ls_aggregate *aggregate, uint32 n_groups);

/* Appends the result for a group as JSON; false: it is null. */
extern bool ls_aggregate_result(ls_aggregate *aggregate, uint32 group, ls_buf *buf);

/* The number of distinct values in the set of a `dc`. */
extern uint64 ls_aggregate_distinct(const ls_aggregate *aggregate);

/* ---- group_set.c: the groups of all parts so far ---- */

#define LS_GROUP_RECENT 2048

/* A field to group by, and the codes of its values in one block. */
typedef struct ls_group_key
{
	ls_scan_field field;                  /* of the part */
	ls_key_table values;                  /* of all parts */
	uint32 recent[LS_GROUP_RECENT];       /* codes of texts, see group_codes.c; 0: none */
	ls_entries entries;                   /* their codes */
	bool constant;                        /* all rows have row_codes[0] */
	uint32 row_codes[LS_PART_BLOCK_ROWS]; /* by position in the list of rows */
} ls_group_key;

#define LS_GROUP_MISSING 0 /* the code for a missing value */
#define LS_GROUP_DROPPED 1 /* with a bound: the code for all values beyond it */

typedef enum ls_wanted_kind
{
	WANTED_ALL,
	WANTED_FIRST,
	WANTED_MOST,
	WANTED_FEWEST
} ls_wanted_kind;

/* The groups that are wanted. */
typedef struct ls_wanted
{
	ls_wanted_kind kind;
	uint32 n;
	bool known;   /* only those with all keys; and the number of their rows is one */
	bool bounded; /* values of the first field beyond the n best ones are dropped */
	struct ls_wanted_value *values; /* these, the last one first */
	uint32 n_values;
	uint32 capacity;
} ls_wanted;

typedef struct ls_group_queue ls_group_queue;
typedef struct ls_group_spill ls_group_spill;

typedef struct ls_groups
{
	MemoryContext context;
	ls_arena *arena; /* of all that follows but the request */
	ls_group_request request;
	ls_scan *scan; /* the part being added */
	int n_fields;
	ls_group_key *fields;
	ls_buf buf;

	/* Combinations of keys; with only one field, the number of a tuple is its code plus 1. */
	ls_key_table tuples;
	uint32 *cells; /* from codes of the first two fields to tuples */
	uint32 n_cells;
	uint32 width;

	/* Keys that have groups of their own; all others together are one group. */
	bool has_kept;
	uint32 n_kept;
	ls_key_table kept;
	uint32 *place_of; /* by tuple; 0: not looked up yet */
	uint32 place_capacity;

	/* Buckets of time; with these, a group is a pair of bucket and tuple. */
	int n_starts;
	ls_time *starts;
	ls_key_table pairs;
	uint32 *pair_cells;
	uint32 n_pair_cells;
	uint32 pair_width;

	ls_wanted wanted;
	uint64 *counts; /* by group, from 1 */
	uint32 counts_capacity;
	int n_aggregates;
	ls_aggregate **aggregates;
	ls_group_rows rows;
	ls_group_queue *queue; /* parts that wait; NULL: none */

	ls_group_spill *spill; /* groups in temporary files; NULL: none */
	int level;             /* how many times these groups were divided */
	uint64 spilled_keys;   /* that ls_groups_keys() had before */
} ls_groups;

/* ---- group_bound.c: which groups are wanted, and rows that are in none of them ---- */

/*
 * Reads request.wanted: "first 10" by their keys, "most 10" or "fewest 10" rows; with " known" after it,
 * of the groups that have all keys, and their rows in all are a value after the aggregates.  Raises
 * INVALID_PARAMETER_VALUE for any other text.
 */
extern void ls_wanted_make(ls_groups *g);

/* With a bound: the code of a value of the first field. */
extern uint32 ls_wanted_code(ls_groups *g, const ls_scan_value *value);

/* With a bound, after the codes of the first field: leaves out rows beyond it. */
extern void ls_wanted_drop_rows(ls_groups *g);

/* The order of two keys as JSON texts (data NULL: missing): <0, 0, >0. */
extern int ls_wanted_compare_keys(ls_str a, ls_str b);

/* ---- group_codes.c: keys as small numbers ---- */

/* The code of a value of a field, which is not null. */
extern uint32 ls_group_intern(ls_groups *g, ls_group_key *f, const ls_scan_value *value);

/* The code of a value that a row has: with a bound, only a wanted one has a code of its own. */
extern uint32 ls_group_code(ls_groups *g, ls_group_key *f, const ls_scan_value *value);

/* Sets f->row_codes to those of the listed rows of the block. */
extern void ls_group_field_codes(ls_groups *g, ls_group_key *f);

/* ---- group_set.c ---- */

/* Makes groups, without rows; the data of the request must live as long as `context`. */
extern ls_groups *ls_groups_make(MemoryContext context, const ls_group_request *request);

/* Forgets all groups, and gives their memory back; the part being added goes on. */
extern void ls_groups_renew(ls_groups *g);

/* The number of a group, of the codes of its keys, or of its place if only some are kept. */
extern uint32 ls_groups_number(ls_groups *g, uint32 bucket, uint32 place, const uint32 *codes);

/* The number of the codes alone (of their place, if only some are kept); with buckets, that of a pair of both. */
extern uint32 ls_groups_tuple(ls_groups *g, const uint32 *codes);
extern uint32 ls_groups_pair(ls_groups *g, uint32 bucket, uint32 tuple);

/* Adds g->rows, the selected rows of a block of the part being added. */
extern void ls_groups_add_rows(ls_groups *g);

/* Adds `rows` to the count of a group. */
extern void ls_groups_count(ls_groups *g, uint32 group, uint64 rows);

/* The greatest number of a group so far. */
extern uint32 ls_groups_highest(const ls_groups *g);

/* One more than the greatest number of a group with rows. */
extern uint32 ls_groups_end(const ls_groups *g);

/* The JSON text of key `i` of a tuple; data NULL: missing. */
extern ls_str ls_group_tuple_key(const ls_groups *g, uint32 tuple, int i);

/* The number of keys and distinct values: the lookups that merging these groups needs. */
extern uint64 ls_groups_keys(const ls_groups *g);

/* Bytes of memory that the groups take. */
extern size_t ls_groups_memory(const ls_groups *g);

/* ---- group_wanted.c: the wanted groups at the end ---- */

/* The wanted groups, in no particular order, and the rows of all that count; NULL: all are wanted. */
extern uint32 *ls_wanted_groups(ls_groups *g, uint32 *n, uint64 *total);

/* The rows of all groups that count; 0: all groups are wanted. */
extern uint64 ls_wanted_total(const ls_groups *g);

/* ---- group.c: parts ---- */

/* Adds the rows of a part. */
extern void ls_groups_add(ls_groups *g, const ls_scan_part *part);

/* ---- group_workers.c: parts that wait, and parallel workers ---- */

/* Adds a part at once, or queues it. */
extern void ls_groups_take(ls_groups *g, const ls_scan_part *part);

/* Adds the queued parts; starts parallel workers if that takes long. */
extern void ls_groups_drain(ls_groups *g);

/* ---- group_spill.c: groups that memory does not hold, in temporary files ---- */

/* Moves the groups to temporary files if they take more than `most` bytes and can be divided. */
extern void ls_groups_limit(ls_groups *g, size_t most);

/* The bytes of groups that stay in memory. */
extern size_t ls_groups_most(void);

/* Moves the last groups to the files; call it after the last row if there are files. */
extern void ls_groups_spill_rest(ls_groups *g);

/*
 * Calls `take` with some of the groups in memory, as often as it takes; all groups are in the files.
 * May be called again.
 */
typedef void (*ls_groups_take_some)(ls_groups *some, uint64 total, void *context);
extern void ls_groups_unspill(ls_groups *g, ls_groups_take_some take, void *context);

/* Calls `take` with the bytes of each file, in pieces; and the rows of all groups in them that count. */
typedef void (*ls_spill_take)(void *context, int partition, ls_str bytes);
extern uint64 ls_groups_spilled(ls_groups *g, ls_spill_take take, void *context);

/* Adds such bytes and rows of other groups of the same request. */
extern void ls_groups_spill_bytes(ls_groups *g, uint32 partition, ls_str bytes);
extern void ls_groups_spill_total(ls_groups *g, uint64 total);

/* Closes the files. */
extern void ls_groups_spill_end(ls_groups *g);

/* ---- group_merge.c: groups from one process to another ---- */

/* Sends a message; raises an error if the receiver is gone. */
typedef void (*ls_group_send)(void *context, ls_str message);

/* Write the request as bytes, and read it back.  False: the bytes are not a request. */
extern void ls_group_request_write(ls_buf *to, const ls_group_request *request);
extern bool ls_group_request_read(ls_arena *arena, ls_str from, ls_group_request *request);

/* Sends the groups and the numbers of the session, as messages. */
extern void ls_groups_send(ls_groups *g, const ls_scan_session *session, ls_group_send send,
						   void *context);

/* Adds the messages of one worker to the groups and to the current session. */
typedef struct ls_group_merge ls_group_merge;

extern ls_group_merge *ls_group_merge_begin(ls_groups *g);

/* Takes a message; true: it was the last one. */
extern bool ls_group_merge_take(ls_group_merge *merge, ls_str message);
extern void ls_group_merge_end(ls_group_merge *merge);

#endif /* LS_GROUP_INTERNAL_H */
