/*-------------------------------------------------------------------------
 *
 * backlog.h
 *	  Requests that an acceptor keeps until the queue has room for them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_INGEST_BACKLOG_H
#define LS_INGEST_BACKLOG_H

#include "src/ingest/ingest.h"
#include "src/decode/wire_format.h"

/* A request that waits; its texts live until it is removed. */
typedef struct ls_late
{
	const ls_wire_format *format;
	ls_sender sender;
	ls_request request;
	ls_response headers;
	uint32 events; /* that it needs room for; 0: not known yet */
	TimestampTz until;
	size_t bytes; /* of memory */
	struct ls_late *next;
} ls_late;

/* The requests of one acceptor, the oldest first. */
typedef struct ls_backlog
{
	ls_late *first;
	ls_late *last;
	int n;
} ls_backlog;

extern void ls_backlog_register(void);

/* Makes a backlog, once per acceptor; its requests are dropped when the process ends. */
extern ls_backlog *ls_backlog_create(void);

/*
 * Keeps a copy of a request for logsvc.queue_wait.  False: it may not wait, because the memory
 * for waiting requests is used up, or because of the setting.  `scratch` is emptied.
 */
extern bool ls_backlog_add(ls_backlog *backlog, const ls_wire_format *format,
						   const ls_sender *sender, const ls_request *request,
						   const ls_response *headers, uint32 events, ls_arena *scratch);

/* Does the organization have waiting requests? */
extern bool ls_backlog_has(const ls_backlog *backlog, const pg_uuid_t *organization);

/* Removes *place, a link of the list. */
extern void ls_backlog_remove(ls_backlog *backlog, ls_late **place);

#endif /* LS_INGEST_BACKLOG_H */
