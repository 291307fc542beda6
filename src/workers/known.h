/*-------------------------------------------------------------------------
 *
 * known.h
 *	  Senders that a worker has just admitted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_KNOWN_H
#define LS_KNOWN_H

#include "src/server/server.h"
#include "src/ipc/frame.h"

typedef struct ls_known ls_known;

/* Identifies a sender and its request: credential, address, organization and route. */
typedef struct ls_known_key
{
	uint8 bytes[LS_SHA256_LENGTH];
} ls_known_key;

extern ls_known *ls_known_create(void);

extern ls_known_key ls_known_key_of(const ls_known *known, const ls_request *request);

/* Is it known, and have access data not changed since? */
extern bool ls_known_find(ls_known *known, const ls_known_key *key);

/*
 * Records that a worker admitted it; `until`: the body of its answer, an ls_admitted, without which
 * nothing is recorded.
 */
extern void ls_known_add(ls_known *known, const ls_known_key *key, ls_str until);

#endif /* LS_KNOWN_H */
