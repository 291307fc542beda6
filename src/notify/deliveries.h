/*-------------------------------------------------------------------------
 *
 * deliveries.h
 *	  Webhooks that wait in table delivery, as the notifier sees them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_DELIVERIES_H
#define LS_DELIVERIES_H

#include "src/server/server.h"
#include "src/server/curl.h"

/* ---- webhook_send.c ---- */

/* Webhooks that are sent at the same time. */
#define LS_WEBHOOKS_IN_FLIGHT 32

/*
 * Starts those that are due, as far as there is room.  Returns ms until there is more to do, -1
 * for never (until one ends, or a transaction wakes the notifier).  -2: the transaction failed,
 * *caught says why.
 */
extern long ls_webhooks_start_due(ls_curl *client, ls_caught *caught);

/* Writes down what has become of those that have ended; false: it failed and must be done again. */
extern bool ls_webhooks_finish(ls_caught *caught);

/* ---- webhook_queue.c ---- */

typedef struct ls_delivery
{
	pg_uuid_t id;
	ls_str public_id;
	ls_str url;
	ls_str secret; /* to sign with; empty: not signed */
	ls_str body;
} ls_delivery;

/* Each runs a transaction of its own; false: it failed, see *caught. */

/* At the start of the only notifier: what a previous one was sending waits again. */
extern bool ls_deliveries_recover(ls_caught *caught);

/*
 * Marks up to `most` due webhooks as being sent; their texts are palloc'd in `memory`.  *next: when
 * the next one becomes due, 0: never.
 */
extern bool ls_deliveries_take(int most, MemoryContext memory, ls_delivery *deliveries, int *count,
							   ls_time *next, ls_caught *caught);

typedef struct ls_delivery_result
{
	const char *outcome; /* "sent", "failed" or "retry" */
	int status;          /* of HTTP; 0: none came */
	ls_str answer;       /* its beginning, as text */
	const char *error;   /* NULL: none */
} ls_delivery_result;

extern bool ls_deliveries_finish(const pg_uuid_t *id, const ls_delivery_result *result,
								 ls_caught *caught);

#endif /* LS_DELIVERIES_H */
