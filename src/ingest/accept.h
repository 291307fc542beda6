/*-------------------------------------------------------------------------
 *
 * accept.h
 *	  What the files about a group of requests share.
 *
 *	accept.c			taking requests, and their commit
 *	accept_body.c		the body of one of them into builders
 *	accept_group.c		the builders of the group
 *	accept_key.c		requests that are sent again
 *	accept_answer.c		what requests are answered
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_INGEST_ACCEPT_H
#define LS_INGEST_ACCEPT_H

#include "src/ingest/backlog.h"
#include "src/ingest/quota.h"
#include "src/decode/wire_format.h"

/* Limits of one group: it is committed when one of them is reached. */
#define GROUP_REQUESTS 1024
#define GROUP_ORGANIZATIONS 256
#define GROUP_SPARE 2 /* one request may open two */
#define GROUP_BYTES (16 * 1024 * 1024)
#define GROUP_MEMORY (128 * 1024 * 1024) /* of its builders */
#define GROUP_KEYS 64                    /* each holds a lock */

/* Bytes of an answer that can be kept for an Idempotency-Key. */
#define KEPT_ANSWER (1024 * 1024)

/* Work on a group (us) after which it is committed, so that its requests need not wait longer. */
#define GROUP_WORK 100000

/* If one request takes this much work (us), the gateway is told before the commit. */
#define REPORT_COST 1000

typedef struct open_part
{
	ls_arena *arena;
	ls_part_builder *builder;
	uint64 batch;
	size_t used;            /* bytes of the arena, as they were last counted */
	struct open_part *next; /* of the same organization, or in the pool */
} open_part;

typedef struct sender_group
{
	ls_sender sender;
	bool deferred;
	uint32 reserved; /* events, of the queue */
	ls_quota_hold hold;
	open_part *first;
	open_part *last;
} sender_group;

/* An Idempotency-Key that is locked until the commit. */
typedef struct accept_key
{
	uint8 hash[LS_SHA256_LENGTH];    /* of the key, its caller and its route */
	uint8 request[LS_SHA256_LENGTH]; /* of what it was sent with */
} accept_key;

/* An accepted request that waits for the commit. */
typedef struct waiting
{
	uint64 request_id;
	const ls_wire_format *format;
	open_part *part; /* where its first event is */
	uint32 first_row;
	const ls_decode_result *decoded; /* NULL: the route takes no events */
	bool deferred;
	ls_time begun;       /* when it came */
	ls_response headers; /* of its answer, whatever that is */
	int n_admission;     /* of them, those that say something of this time only */

	const accept_key *key; /* NULL: none */
	pg_uuid_t organization;
	ls_response made; /* of one with a key, from the commit on: the answer that is kept */
} waiting;

struct ls_accept
{
	ls_accept_respond respond;
	void *context;

	waiting requests[GROUP_REQUESTS];
	int n_requests;
	sender_group groups[GROUP_ORGANIZATIONS + GROUP_SPARE];
	int n_groups;
	size_t n_bytes;
	size_t n_memory; /* bytes of the groups' builders */
	uint64 n_work;   /* us */

	accept_key keys[GROUP_KEYS];
	int n_keys;
	bool key_busy;       /* the request at hand waits for another one with its key */
	bool pipelines_busy; /* it waits until its organization's pipelines may take time again */

	ls_backlog *backlog; /* what waits for room */

	open_part *pool;   /* empty builders */
	size_t pooled;     /* bytes of them */
	ls_arena *arena;   /* lives until the commit is answered */
	ls_arena *scratch; /* of the decoder */
	ls_arena *body;    /* of one request, unpacked */
	ls_arena *answer;  /* of the answer at hand */

	const ls_response *headers; /* of every answer to the request at hand */
	ls_time begun;              /* the work on it; 0: none is at hand */
	ls_time reported;           /* up to here the gateway knows of the work */
};

/* ---- accept_group.c ---- */

/* The group of a sender; a new one has an empty builder. */
extern sender_group *ls_accept_find_group(ls_accept *accept, const ls_sender *sender,
										  bool deferred);

/* Adds an empty builder to a group whose last one is full. */
extern open_part *ls_accept_add_builder(ls_accept *accept, sender_group *group);

/* Drops the builders after `last`, which a refused request had opened. */
extern void ls_accept_drop_builders(ls_accept *accept, sender_group *group, open_part *last);

/* After a request: counts what the builders of its group have grown to. */
extern void ls_accept_count_memory(ls_accept *accept, sender_group *group);

/* After the commit: the builders of all groups are empty again. */
extern void ls_accept_forget_groups(ls_accept *accept);

/* ---- accept_body.c ---- */

/*
 * Takes a request: answers it, or keeps its events for the commit.  False: the queue has no
 * room for its *events, and it was not answered.
 */
extern bool ls_accept_body(ls_accept *accept, const ls_wire_format *format, const ls_sender *sender,
						   const ls_request *request, uint32 *events);

/* ---- accept_key.c ---- */

typedef enum accept_key_state
{
	ACCEPT_KEY_NEW,  /* locked, the last one of accept->keys; go on */
	ACCEPT_KEY_DONE, /* answered: as before, or refused */
	ACCEPT_KEY_BUSY  /* another request with the key is on its way: try again */
} accept_key_state;

/* Begins a request that has an Idempotency-Key; at most GROUP_KEYS at a time. */
extern accept_key_state ls_accept_key_begin(ls_accept *accept, const ls_sender *sender,
											const ls_request *request);

/* Releases all keys but the first n. */
extern void ls_accept_key_release(ls_accept *accept, int n);

/* In the transaction of its events: keeps the answer of a request. */
extern void ls_accept_key_keep(const waiting *entry, ls_str answer);

/* ---- accept_answer.c ---- */

/* Work on a request begins, and ends. */
extern void ls_accept_begin(ls_accept *accept);
extern void ls_accept_end(ls_accept *accept);

/* Microseconds of work that the gateway has not been told about; 0: there is no current request. */
extern uint32 ls_accept_cost(const ls_accept *accept);

/* Tells it, when the answer comes later. */
extern void ls_accept_report(ls_accept *accept, uint64 request_id);

/* Answers a request that was refused; details: a JSON list, or NULL.  retry_after: seconds. */
extern void ls_accept_refuse_for(ls_accept *accept, const ls_request *request, ls_error_id id,
								 const char *message, const char *details, int retry_after);

/* The same with the usual retry_after. */
extern void ls_accept_refuse(ls_accept *accept, const ls_request *request, ls_error_id id,
							 const char *message, const char *details);

/* Answers a request of which nothing was accepted, with the reasons. */
extern void ls_accept_refuse_decoded(ls_accept *accept, const ls_wire_format *format,
									 const ls_request *request, const ls_decode_result *result);

/* Answers a request without events to store; result: NULL when the route takes none. */
extern void ls_accept_answer_nothing(ls_accept *accept, const ls_wire_format *format,
									 const ls_request *request, const ls_decode_result *result);

/* Keeps what the answer to an accepted request needs until the commit of its events. */
extern void ls_accept_keep(ls_accept *accept, const ls_wire_format *format,
						   const ls_request *request, const sender_group *group, open_part *part,
						   uint32 first_row, const ls_decode_result *result);

/* Would the answer be too long to be kept? */
extern bool ls_accept_answer_too_long(ls_accept *accept, const ls_wire_format *format,
									  const ls_decode_result *result);

/* Makes the answer of a request with a key, for after the commit.  Returns it as a frame, to be kept. */
extern ls_str ls_accept_make_answer(ls_accept *accept, waiting *entry);

/* Answers a request as it was answered before. */
extern void ls_accept_answer_again(ls_accept *accept, const ls_request *request, ls_str answer);

/* Answers it after the commit; last: the gateway is woken. */
extern void ls_accept_answer(ls_accept *accept, const waiting *entry, bool last);

#endif /* LS_INGEST_ACCEPT_H */
