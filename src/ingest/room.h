/*-------------------------------------------------------------------------
 *
 * room.h
 *	  What the files about the room of the queue share.
 *
 *	queue.c		the depth, the limit and who may have how much of it
 *	account.c	what each organization and each owner holds
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
	pg_uuid_t owner; /* whom it counts for: ls_queue_share */
	uint32 reserved; /* that somebody is about to commit */
	int32 waiting;   /* committed; below 0 when a writer is faster than who counts them */
} ls_account;

extern void ls_accounts_register(void);

/* The account of an organization; NULL: it has none. */
extern ls_account *ls_account_find(const pg_uuid_t *organization);

/*
 * The same, and a new one when there is none, which must get something at once; NULL: there
 * are too many.  From now on it counts for the owner (NULL: as before; a new one for itself).
 */
extern ls_account *ls_account_open(const pg_uuid_t *organization, const pg_uuid_t *owner);

/*
 * Adds to both, or subtracts.  An account with nothing goes away, and pointers to others are
 * void.
 */
extern void ls_account_add(ls_account *account, int64 reserved, int64 waiting);

/* Events that it has, 0 for NULL; that all accounts of the owner have. */
extern uint64 ls_account_held(const ls_account *account);
extern uint64 ls_account_held_by(const pg_uuid_t *owner);

/* All accounts as they are, `*n` of them, in memory of the current context. */
extern ls_account *ls_accounts_copy(int *n);

/* ---- queue.c ---- */

/*
 * ls_queue_reserve and ls_queue_release under the lock; `always`: beyond the limit too, and then
 * the share may be NULL.
 */
extern bool ls_room_take(const pg_uuid_t *organization, const ls_queue_share *share, uint32 events,
						 bool always);
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
