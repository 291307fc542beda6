/*-------------------------------------------------------------------------
 *
 * workers.h
 *	  The background workers: who starts them, and what each main does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_WORKERS_H
#define LS_WORKERS_H

#include "src/ipc/ipc.h"

/* Registers the launcher and the guard of DROP statements; in _PG_init. */
extern void ls_workers_register(void);

/* ---- entry points, found by name in the library ---- */

extern PGDLLEXPORT void logsvc_launcher_main(Datum arg);
extern PGDLLEXPORT void logsvc_probe_main(Datum arg);
extern PGDLLEXPORT void logsvc_worker_main(Datum slot_number);

/*
 * After a process of the service has connected: what a database, a role or the server has as a default
 * must not change how it reads and writes values, what its transactions see, and when its statements
 * are cancelled.  A worker sets its own timeouts afterwards.
 */
extern void ls_worker_settings(void);

/* ---- the loops; each returns when the worker should exit ---- */

extern void ls_gateway_loop(ls_slot *slot);
extern void ls_acceptor_loop(ls_slot *slot);
extern void ls_executor_loop(ls_slot *slot);
extern void ls_evaluator_loop(ls_slot *slot);
extern void ls_writer_loop(ls_slot *slot);
extern void ls_scheduler_loop(ls_slot *slot);
extern void ls_notifier_loop(ls_slot *slot);
extern void ls_compactor_loop(ls_slot *slot);
extern void ls_watcher_loop(ls_slot *slot);
extern void ls_prober_loop(ls_slot *slot);
extern void ls_alert_worker_loop(ls_slot *slot);
extern void ls_exporter_loop(ls_slot *slot);
extern void ls_health_loop(ls_slot *slot);

/* ---- worker.c: what the loops share ---- */

/* Sets up signal handling for the worker in a slot; unblocks signals. */
extern void ls_worker_signals(const ls_slot *slot);

/* The worker has its database: from now on the gateway and acceptors finish before they end. */
extern void ls_worker_connected(const ls_slot *slot);

/*
 * Waits for the latch for at most `timeout` ms (-1: for ever), resets it, and handles a
 * reload.  False: the worker should exit.
 */
extern bool ls_worker_wait(long timeout);

/* The second half of ls_worker_wait, for workers that wait in another way. */
extern bool ls_worker_interrupts(void);

/*
 * For them, too: how long the worker may sleep of `timeout`.  Not at all if somebody has woken it while a
 * transaction waited, which resets the latch (ls_slot_woken).
 */
extern long ls_worker_sleep(long timeout);

/*
 * The share of the organizations that this worker handles.  Shares are divided among the
 * running workers of its kind, not among the configured ones: the organizations of a
 * worker that could not be started would wait for ever.
 */
extern void ls_worker_share(const ls_slot *slot, int *shard, int *shards);

/* ---- pool_size.c ---- */

/* How many workers of a kind the settings ask for; on a standby only those that write nothing. */
extern int ls_workers_wanted(ls_worker_kind kind);

/* ---- launcher.c ---- */

/* Background worker slots of the server that all of them need, with the launcher's. */
extern int ls_workers_needed(void);

/* ---- gateway_worker.c ---- */

/* The folder with the files of the console, in `installed` or as it is set; NULL: it is off. */
extern const char *ls_console_folder(char installed[MAXPGPATH]);

/* ---- guard.c ---- */

extern void ls_guard_register(void);

/* ---- guard_nesting.c ---- */

/* Bounds nested savepoints of tenants; from _PG_init. */
extern void ls_guard_nesting_register(void);

/* Raises an error if the statement is a savepoint inside of too many others. */
extern void ls_guard_nesting(Node *statement);

/* ---- guard_plans.c ---- */

/* Shows no session the plans of functions that run with other rights; from _PG_init. */
extern void ls_guard_plans_register(void);

/* ---- guard_session.c ---- */

#define LS_TENANT_ROLE "logsvc_tenant"

/* Is the user, superuser or not, a member of logsvc_tenant? */
extern bool ls_is_tenant(Oid user);

/* Does the current user own the database, directly or through a role? */
extern bool ls_owns_database(Oid database);

/* ---- guard_role.c ---- */

/*
 * Raises an error if the statement would add a member to logsvc_reader, let a non-superuser
 * change that role, or is run by it and would change anything.
 */
extern void ls_guard_role(Node *statement);

/* ---- guard_tenant.c ---- */

/*
 * Raises an error if a tenant who owns nothing, and may not create roles, would only rewrite rows
 * of the catalogs; if any tenant would prepare a transaction; and if a role that is bound to an
 * organization would change its own password or settings.
 */
extern void ls_guard_tenant(Node *statement);

/*
 * Raises an error for a statement that would lock a relation before PostgreSQL asks whether the user may
 * run it, and he may not: of any user but superusers, in any database.
 */
extern void ls_guard_locks(Node *statement);

#endif /* LS_WORKERS_H */
