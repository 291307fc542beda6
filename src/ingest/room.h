/*-------------------------------------------------------------------------
 *
 * room.h
 *	  What the files about the room of the queue share.
 *
 *	queue.c		the depth, the limit and who may have how much of it
 *	account.c	what each organization holds
 *	holds.c		what open transactions hold, and for how long
 *
 * All of it is read and changed under LS_LOCK_QUEUE.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_INGEST_ROOM_H
#define LS_INGEST_ROOM_H

#include "src/ingest/ingest.h"

/* ---- account.c ---- */

/* Events of one organization; an account with neither does not exist. */
typedef struct ls_account
{
	pg_uuid_t organization;
	uint32 reserved; /* that somebody is about to commit */
	int32 waiting;   /* committed; below 0 when a writer is faster than who counts them */
} ls_account;

extern void ls_accounts_register(void);

/* The account of an organization; NULL: it has none. */
extern ls_account *ls_account_find(const pg_uuid_t *organization);

/*
 * The same, and a new one when there is none, which must get something at once; NULL: there
 * are too many.
 */
extern ls_account *ls_account_open(const pg_uuid_t *organization);

/* After a change: an account with nothing goes away, and pointers to others are void. */
extern void ls_account_changed(ls_account *account);

/* All accounts as they are, `*n` of them, in memory of the current context. */
extern ls_account *ls_accounts_copy(int *n);

/* ---- queue.c ---- */

/* ls_queue_reserve and ls_queue_release under the lock; `always`: beyond the limit too. */
extern bool ls_room_take(const pg_uuid_t *organization, bool alone, uint32 events, bool always);
extern void ls_room_give(const pg_uuid_t *organization, uint32 events);

/* ---- holds.c ---- */

/* What the transaction of a session holds of the queue for one organization. */
typedef struct ls_shared_hold
{
	pg_uuid_t organization;
	uint32 events;
	bool lapsed;       /* the events are no longer reserved */
	TimestampTz until; /* 0: a free place; DT_NOEND: it commits */
} ls_shared_hold;

extern void ls_holds_register(void);

/* A hold of no events yet, whose time begins; NULL: there are too many.  Zeroed when it ends. */
extern ls_shared_hold *ls_holds_add(const pg_uuid_t *organization);

/* Its time begins again. */
extern void ls_holds_start(ls_shared_hold *hold);

/* Gives the room of what was held for longer than logsvc.reservation_timeout: ls_room_give. */
typedef void ls_room_giver(const pg_uuid_t *organization, uint32 events);
extern void ls_holds_lapse(ls_room_giver *give);

/* Without the lock: is there anything for ls_holds_lapse? */
extern bool ls_holds_due(void);

#endif /* LS_INGEST_ROOM_H */
