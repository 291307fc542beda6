/*-------------------------------------------------------------------------
 *
 * facet.h
 *	  The fields of events with their most frequent values; for overview_parts.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_FACET_H
#define LS_FACET_H

#include "src/scan/part_scan.h"

typedef struct ls_facets ls_facets;

/* Memory comes from the arena.  This and the functions below raise QUERY_MEMORY_LIMIT. */
extern ls_facets *ls_facets_make(ls_arena *arena);

/* Starts with the next part. */
extern void ls_facets_part(ls_facets *facets, ls_scan *scan);

/*
 * Adds what the part counts of its rows of scan->levels, `matched` of them, all of which match.  Then
 * ls_facets_block adds the other fields.  True: there are none, so no rows are needed.
 */
extern bool ls_facets_counts(ls_facets *facets, ls_scan *scan, uint64 matched);

/* Adds the selected rows of a block, `matched` of them (more than 0). */
extern void ls_facets_block(ls_facets *facets, uint32 block, const uint64_t *selected,
							uint32 matched);

/*
 * Appends [{name, builtin, count, complete, top: [[value, count], ...]}, ...], the
 * most frequent first.  False: there are more fields than that.  Must be the last call.
 */
extern bool ls_facets_json(ls_facets *facets, ls_buf *buf);

#endif /* LS_FACET_H */
