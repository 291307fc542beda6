/*-------------------------------------------------------------------------
 *
 * fair.h
 *	  Whose requests are whose, so that one organization cannot have all
 *	  executors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_FAIR_H
#define LS_FAIR_H

#include "src/base/base.h"
#include "src/ipc/frame.h"

/* The requests of one organization, as far as the gateway can tell. */
typedef struct ls_fair_group
{
	uint64 id;   /* hash key */
	int tasks;   /* that exist */
	int held;    /* by executors */
	uint64 turn; /* when it had its last one */

	/* Of evaluations, in bytes of requests. */
	uint64 sent;   /* where its last one ended, when bytes go out in turns */
	uint64 flying; /* that evaluators hold */
} ls_fair_group;

typedef struct ls_fair ls_fair;

extern ls_fair *ls_fair_create(void);

/* What a request shows of its sender, as a number. */
extern uint64 ls_fair_sender(const ls_request *request);

/* The group of a sender gets one more task; one less. */
extern ls_fair_group *ls_fair_join(ls_fair *fair, uint64 sender);
extern void ls_fair_leave(ls_fair *fair, ls_fair_group *group);

/* Has a worker found out who a sender is? */
extern bool ls_fair_knows(const ls_fair *fair, uint64 sender);

/* A worker found out who a sender is; 0: it did not. */
extern void ls_fair_learn(ls_fair *fair, uint64 sender, uint64 tenant);

/* The group's turn. */
extern void ls_fair_take(ls_fair *fair, ls_fair_group *group);

/*
 * Where a request of so many bytes would end if all groups sent in turns, byte by byte: the one
 * with the lowest end is next.  So a small one goes before large ones of others, and a large one
 * waits for no more than its size of each of the others.  ls_fair_send: it is sent.
 */
extern uint64 ls_fair_end(const ls_fair *fair, const ls_fair_group *group, Size bytes);
extern void ls_fair_send(ls_fair *fair, ls_fair_group *group, Size bytes);

#endif /* LS_FAIR_H */
