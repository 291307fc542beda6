/*-------------------------------------------------------------------------
 *
 * status_board.h
 *	  The documents of the public status, from the prober to the gateway.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_STATUS_BOARD_H
#define LS_STATUS_BOARD_H

#include "src/gateway/gateway.h"
#include "src/server/server.h"

/* In _PG_init. */
extern void ls_status_board_register(void);

/* Shows the documents; false: one of them is too large, and the former ones stay. */
extern bool ls_status_board_show(ls_str json, ls_str page, ls_str policy);

/*
 * The document, or the page for people, as it was last shown; texts live until the next call.
 * False: there is none, or it is too old to tell the status.
 */
extern bool ls_status_board_read(bool page, ls_status_document *document);

#endif /* LS_STATUS_BOARD_H */
