/*-------------------------------------------------------------------------
 *
 * ipc.h
 *	  Worker slots and the channels between the gateway and the pools.
 *
 * Every worker of logsvc has a slot in main shared memory: its kind, its
 * process and, for workers that answer requests, the channel that it serves.
 * A channel is one DSM segment with two shm_mq rings, made by the worker and
 * published in its slot under a generation number.  The gateway attaches when
 * it sees a generation that it does not know.  A queue has one sender and one
 * receiver for life, so whoever loses its peer makes a new channel; nothing
 * is repaired.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_IPC_H
#define LS_IPC_H

#include "src/server/server.h"
#include "src/ipc/frame.h"

#include "storage/dsm.h"
#include "storage/proc.h"

/* ---- slots ---- */

typedef enum ls_worker_kind
{
	LS_WORKER_GATEWAY,
	LS_WORKER_ACCEPTOR,
	LS_WORKER_EXECUTOR,
	LS_WORKER_EVALUATOR,
	LS_WORKER_WRITER,
	LS_WORKER_SCHEDULER,
	LS_WORKER_NOTIFIER,
	LS_WORKER_COMPACTOR,
	LS_WORKER_WATCHER,
	LS_WORKER_PROBER,
	LS_WORKER_ALERTER,
	LS_WORKER_EXPORTER,
	LS_WORKER_HEALTH,
	LS_WORKER_KINDS
} ls_worker_kind;

extern const char *const ls_worker_names[LS_WORKER_KINDS];

#define LS_MAX_POOL 64
#define LS_SLOTS (1 + (LS_WORKER_KINDS - 1) * LS_MAX_POOL)

typedef enum ls_slot_state
{
	LS_SLOT_FREE,
	LS_SLOT_STARTING, /* registered with the postmaster */
	LS_SLOT_RUNNING
} ls_slot_state;

typedef struct ls_slot
{
	ls_worker_kind kind;
	int index; /* in its pool, from 0 */
	ls_slot_state state;
	pid_t pid;
	PGPROC *proc;
	TimestampTz since; /* of the state */
	uint32 generation; /* of the channel; 0: none yet */
	dsm_handle channel;
	pg_atomic_uint32 wakes; /* how often it was woken by ls_slot_wake */
	/* Executor: when its request began, if that takes rights away (watcher.c); else 0. */
	pg_atomic_uint64 revoking;
	/* Executor: when a request of it last gave up waiting for a lock; 0: none did. */
	pg_atomic_uint64 gave_up;
} ls_slot;

/* The state of the service as a whole. */
typedef enum ls_service_state
{
	LS_SERVICE_UNKNOWN, /* not looked yet */
	LS_SERVICE_NO_DATABASE,
	LS_SERVICE_NO_EXTENSION,
	LS_SERVICE_WRONG_VERSION,
	LS_SERVICE_WORKER_NODE, /* of Citus: the service runs on the coordinator */
	LS_SERVICE_FOLLOWER,    /* it has its accounts from another server, where the service runs */
	LS_SERVICE_ELSEWHERE,   /* Citus has the events on another server, or in several shards */
	LS_SERVICE_READY
} ls_service_state;

typedef struct ls_service
{
	ls_service_state state;
	Oid database;
	Oid reader;        /* role logsvc_reader */
	Oid extension;     /* its oid in pg_extension */
	bool probe_wanted; /* the launcher should look again */
	bool primary;      /* recovery has ended, and what shared memory knows of tables is set */
	int pauses;        /* sessions that want no worker in the database */
	PGPROC *launcher;
	bool listening; /* the gateway has bound its port */
	bool draining;  /* the gateway stops, and hands over what it has */
	char listen_error[256];
} ls_service;

extern void ls_ipc_register(void); /* in _PG_init */

extern ls_service *ls_service_get(void);
extern ls_slot *ls_slot_get(ls_worker_kind kind, int index);
extern int ls_slot_number(const ls_slot *slot);
extern ls_slot *ls_slot_by_number(int number);

/* Under LS_LOCK_SLOTS: how many slots are not free. */
extern int ls_slots_in_use(void);

/* Says that this process is the worker of the slot, until it exits. */
extern void ls_slot_take(ls_slot *slot);

/* Wakes a worker or the launcher (no effect when it is not there). */
extern void ls_slot_wake(ls_slot *slot);

/*
 * Worker: was it woken since it asked last?  A transaction that waits, for a lock or for a standby,
 * resets the latch: a wake-up that comes meanwhile is only counted.
 */
extern bool ls_slot_woken(void);

/* Wakes the workers of a kind when, and if, the current transaction commits. */
extern void ls_wake_at_commit(ls_worker_kind kind);
extern void ls_launcher_wake(void);

/* Asks the launcher to look for the extension again, and wakes it. */
extern void ls_launcher_probe(void);

/* ---- channels ---- */

typedef struct ls_channel ls_channel;

typedef enum ls_channel_result
{
	LS_CHANNEL_OK,
	LS_CHANNEL_WOULD_BLOCK,
	LS_CHANNEL_DETACHED /* the peer is gone: close this channel */
} ls_channel_result;

/* Worker: makes the channel of the slot, publishes it, wakes the gateway. */
extern ls_channel *ls_channel_create(ls_slot *slot, Size request_ring, Size response_ring);

/*
 * The same, but first closes a channel whose gateway is gone (NULL: there is none yet).
 */
extern ls_channel *ls_channel_renew(ls_channel *old, ls_slot *slot, Size request_ring,
									Size response_ring);

/* Gateway: attaches to the channel that the slot publishes; NULL if there is none. */
extern ls_channel *ls_channel_attach(ls_slot *slot, uint32 *generation);

/*
 * Sends one frame.  With nowait a frame that does not fit is sent in part:
 * call again with the same frame until the result is not WOULD_BLOCK.  With
 * flush the peer is woken now, else at the latest with the next flush.
 */
extern ls_channel_result ls_channel_send(ls_channel *channel, ls_str frame, bool nowait,
										 bool flush);

/* Receives one frame, valid until the next call. */
extern ls_channel_result ls_channel_receive(ls_channel *channel, ls_str *frame, bool nowait);

/*
 * Worker: sends a response, written into `frames`, which is emptied before.  False: the
 * gateway has gone, or there was no memory; then the worker renews its channel.
 */
extern bool ls_channel_respond(ls_channel *channel, ls_arena *frames, const ls_response *response,
							   bool flush);

extern void ls_channel_close(ls_channel *channel);

#endif /* LS_IPC_H */
