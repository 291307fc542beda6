/*-------------------------------------------------------------------------
 *
 * uploads.h
 *	  Files of scheduled exports on their way to object stores, as the notifier sees them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_UPLOADS_H
#define LS_UPLOADS_H

#include "src/server/curl.h"
#include "src/server/server.h"

/* ---- upload_send.c ---- */

/* Files that are uploaded at the same time, each of another organization; 8 MB of each in memory. */
#define LS_UPLOADS_IN_FLIGHT 8

/*
 * Goes on with the uploads whose request has ended, and starts those that are due.  Returns ms
 * until there is more to do, -1 for never (until a request ends, or a transaction wakes the
 * notifier).  -2: a transaction failed and must be done again, *caught says why.
 */
extern long ls_uploads_go_on(ls_curl *client, ls_caught *caught);

/* ---- upload_queue.c ---- */

typedef struct ls_upload
{
	pg_uuid_t run;
	ls_str endpoint;
	ls_str region;
	ls_str bucket;
	ls_str key;
	bool virtual_host;
	ls_str access_key;
	ls_str secret;
	ls_str content_type;
	int64 bytes;      /* of the file */
	ls_str upload_id; /* of its multipart upload; empty: none is known */
	int parts;        /* how many the store has */
	bool begun;       /* a multipart upload was begun before, known or not */
	bool stale;       /* this one is to be aborted first: an earlier try has failed */
} ls_upload;

/* Each runs a transaction of its own; false: it failed, see *caught. */

/* At the start of the only notifier: what a previous one was uploading waits again. */
extern bool ls_uploads_recover(ls_caught *caught);

/*
 * Takes the upload that is due first, its texts palloc'd in `memory`.  *found: there was one;
 * *next: when the next one becomes due, 0: never.
 */
extern bool ls_uploads_take(MemoryContext memory, ls_upload *upload, bool *found, ls_time *next,
							ls_caught *caught);

/* In what follows *gone says that the run, or the organization, is no longer there. */

/* Bytes of the file from an offset on, palloc'd; fewer than wanted: they are not there. */
extern bool ls_uploads_read(const ls_upload *upload, int64 offset, int64 wanted,
							MemoryContext memory, ls_str *data, bool *gone, ls_caught *caught);

/* The parts that the store has, as the request that puts them together says it; palloc'd. */
extern bool ls_uploads_list(const ls_upload *upload, MemoryContext memory, ls_str *xml, bool *gone,
							ls_caught *caught);

/* A multipart upload has this id; empty: it has none, the file is sent from its beginning. */
extern bool ls_uploads_begin(const ls_upload *upload, ls_str id, bool *gone, ls_caught *caught);

/* The store has the next part, with this entity tag. */
extern bool ls_uploads_add_part(const ls_upload *upload, ls_str tag, bool *gone, ls_caught *caught);

/* The store has the object. */
extern bool ls_uploads_finish(const ls_upload *upload, ls_caught *caught);

/* Its turn is over: it goes on with the next part when those that wait had theirs. */
extern bool ls_uploads_release(const ls_upload *upload, ls_caught *caught);

/* The file was not there as a whole: it is made again. */
extern bool ls_uploads_remake(const ls_upload *upload, ls_caught *caught);

/* This try has failed; aborted: nothing of it is in the store. */
extern bool ls_uploads_fail(const ls_upload *upload, const char *message, bool permanent,
							bool aborted, ls_caught *caught);

#endif /* LS_UPLOADS_H */
