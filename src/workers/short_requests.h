/*-------------------------------------------------------------------------
 *
 * short_requests.h
 *	  Which requests of a group have lately been short.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_SHORT_REQUESTS_H
#define LS_SHORT_REQUESTS_H

#include "src/server/server.h"
#include "src/ipc/frame.h"

/* Requests of a group that are remembered: those that were short last. */
#define LS_SHORT_REQUESTS 16

typedef struct ls_short_request
{
	uint64 key;  /* 0: none */
	uint64 seen; /* the last time that it was short, in the group's count */
} ls_short_request;

/* Those of one group; zeros at first. */
typedef struct ls_short_requests
{
	ls_short_request known[LS_SHORT_REQUESTS];
	uint64 count; /* of short requests */
	uint64 trust; /* the count from which the group is trusted again */
	int held;     /* requests expected to be short that have an executor now */
} ls_short_requests;

/*
 * A number for a request: the same for the same sender, route, parameters and body.  0: one that
 * is never remembered.
 */
extern uint64 ls_short_request_key(const ls_request *request, uint64 sender);

/* Is the request expected to be short? */
extern bool ls_short_requests_expect(const ls_short_requests *s, uint64 key);

/*
 * The request has been answered, after so many microseconds of an executor; `expected`: it had
 * been expected to be short.
 */
extern void ls_short_requests_learn(ls_short_requests *s, uint64 key, uint64 spent, bool expected);

#endif /* LS_SHORT_REQUESTS_H */
