/*-------------------------------------------------------------------------
 *
 * server.h
 *	  What every PostgreSQL-side file needs: errors, settings, shared memory,
 *	  transactions, cryptography.  (Code without a server uses src/base.)
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_SERVER_H
#define LS_SERVER_H

#include "src/server/compat.h"

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "utils/uuid.h"

#include "src/base/pure.h"

/* ---- errors (errors.def) ---- */

typedef enum ls_error_id
{
#define LS_ERROR(name, sqlstate, status, code, message) LS_ERROR_##name,
#include "src/base/errors.def"
#undef LS_ERROR
	LS_ERRORS
} ls_error_id;

typedef struct ls_error_info
{
	const char *sqlstate;
	int status; /* HTTP */
	const char *code;
	const char *message;
} ls_error_info;

extern const ls_error_info ls_error_table[LS_ERRORS];

/* The packed SQLSTATE of an error. */
extern int ls_sqlstate(ls_error_id error);

/*
 * The same for errcode() in ereport(ERROR), and for nothing else: an error
 * of the caller (status below 500) loses its CONTEXT, many lines about functions of ours that
 * tell the caller nothing.
 */
extern int ls_errcode(ls_error_id error);

/* The first entry with a code; LS_ERROR_INTERNAL for a code that is not ours. */
extern ls_error_id ls_error_of_code(const char *code);

/* ereport(ERROR) with the entry's own message. */
#define ls_raise(id) \
	ereport(ERROR, errcode(ls_errcode(id)), errmsg("%s", ls_error_table[id].message))

/* A caught error, copied out of the error stack. */
typedef struct ls_caught
{
	ls_error_id id;
	int sqlstate;
	char message[512];
	char format[256];  /* the message without values of customers: safe for the server log */
	char detail[4096]; /* a JSON array when it begins with [ */
	char hint[512];
} ls_caught;

/* In PG_CATCH: copies the current error and clears the error state. */
extern void ls_catch_error(MemoryContext context, ls_caught *caught);

/*
 * Appends the standard error body { error, code, details? }.  Messages of
 * errors that are not ours do not leave the server: they may name its insides.
 */
extern void ls_error_body(ls_buf *buf, ls_error_id id, const char *message, const char *details);

/* ---- settings (guc.c) ---- */

typedef enum ls_model_provider_kind
{
	LS_MODEL_BUILTIN,
	LS_MODEL_ANTHROPIC,
	LS_MODEL_BEDROCK,
	LS_MODEL_OPENAI
} ls_model_provider_kind;

extern char *ls_database;
extern char *ls_listen_addresses;
extern int ls_port;
extern char *ls_syslog_listeners;
extern char *ls_tls_certificate;
extern char *ls_tls_key;
extern int ls_acceptors;
extern int ls_executors;
extern int ls_evaluators;
extern int ls_writers;
extern int ls_compactors;
extern int ls_health_workers;
extern int ls_exporters;
extern int ls_alert_workers;
extern int ls_max_pool_workers;
extern int ls_queue_limit;
extern int ls_deferred_limit;       /* MB */
extern int ls_export_space;         /* MB, of an organization */
extern int ls_flush_interval;       /* ms */
extern int ls_search_memory;        /* kB; -1: a share of the node's */
extern int ls_search_temp_limit;    /* kB; -1: none */
extern int ls_search_rows;          /* thousands */
extern int ls_search_workers;       /* -1: half of the processors */
extern int ls_search_workers_after; /* ms */
extern int ls_store_timeout;        /* ms */
extern int ls_model_provider;       /* ls_model_provider_kind */
extern int ls_snapshot_timeout;     /* ms */
extern int ls_reservation_timeout;  /* ms */
extern int ls_queue_wait;           /* ms */

/* A writer's transaction takes fewer events than a full part when this is below its default. */
#define LS_BATCH_EVENTS 36864
extern int ls_batch_events;
extern char *ls_model_endpoint;
extern char *ls_model_region;
extern char *ls_model_endpoint_region;
extern char *ls_model_key_file;
extern char *ls_ca_file;
extern char *ls_smtp_url;
extern char *ls_smtp_from;
extern char *ls_smtp_user;
extern char *ls_smtp_password_file;
extern int ls_smtp_tls; /* ls_smtp_tls_kind */
extern char *ls_public_url;
extern bool ls_serve_console;
extern char *ls_console_directory; /* empty: where make install puts it */
extern char *ls_operator_email;
extern int ls_plan_changes; /* ls_plan_changes_kind */
extern int ls_limits;       /* ls_limits_kind */
extern int ls_mode;         /* ls_mode_kind */
extern bool ls_builtin_needs_credits;
extern char *ls_trusted_proxies;
extern char *ls_webhook_networks;
extern char *ls_operator_networks;
extern char *ls_metrics_token_file;
extern int ls_password_cost; /* log2 of scrypt's N */
extern char *ls_breached_passwords_file;
extern char *ls_breached_passwords_url;
extern char *ls_allowed_origins;
extern char *ls_ingest_origins;
extern bool ls_sign_up;
extern bool ls_shared_links;
extern bool ls_status_probe;
extern bool ls_use_day_filters;
extern char *ls_oauth_google_issuer;
extern char *ls_oauth_google_client_id;
extern char *ls_oauth_google_secret_file;
extern char *ls_oauth_google_authority_domains;
extern char *ls_oauth_github_authorize_url;
extern char *ls_oauth_github_token_url;
extern char *ls_oauth_github_user_url;
extern char *ls_oauth_github_client_id;
extern char *ls_oauth_github_secret_file;
extern char *ls_oauth_github_authority_domains;
extern int ls_connection_limit;
extern int ls_header_timeout;  /* ms */
extern int ls_body_timeout;    /* ms */
extern int ls_idle_timeout;    /* ms */
extern int ls_query_timeout;   /* ms */
extern int ls_lock_timeout;    /* ms */
extern int ls_standby_max_lag; /* ms; 0: none */

extern int ls_max_active_organizations;

/* How many keys, tokens and the like may be active: two for each organization. */
#define LS_ACTIVE_KEYS (2 * ls_max_active_organizations)

typedef enum ls_plan_changes_kind
{
	LS_PLANS_REQUESTED,
	LS_PLANS_SELF
} ls_plan_changes_kind;

/* How high the limits of table rate_limit are. */
typedef enum ls_limits_kind
{
	LS_LIMITS_SPECIFICATION, /* as the table has them */
	LS_LIMITS_GENEROUS       /* for a server of one's own */
} ls_limits_kind;

/* Is it the server that people use, or a copy of it? */
typedef enum ls_mode_kind
{
	LS_MODE_NORMAL,
	LS_MODE_RESTORED /* no alerts, exports, mails and webhooks; nothing is removed */
} ls_mode_kind;

typedef enum ls_smtp_tls_kind
{
	LS_SMTP_TLS_AUTO, /* required, but not on loopback */
	LS_SMTP_TLS_REQUIRED,
	LS_SMTP_TLS_NEVER
} ls_smtp_tls_kind;

#define LS_BODY_LIMIT (10 * 1024 * 1024) /* bytes of a request, also unpacked */

extern void ls_guc_register(bool preloaded);

/* ---- files with secrets (secret_file.c) ---- */

typedef enum ls_secret_file
{
	LS_SECRET_FILE_OK,
	LS_SECRET_FILE_MISSING,   /* or it may not be opened */
	LS_SECRET_FILE_EXPOSED,   /* others can read it, or it is not a regular file */
	LS_SECRET_FILE_UNREADABLE /* or larger than 16 kB */
} ls_secret_file;

/* The whole content of a file that only the server's user can read. */
extern ls_secret_file ls_read_secret_file(const char *path, ls_arena *arena, ls_str *content);

/* ---- shared memory (shmem.c) ---- */

/* One piece of shared memory; every module that has one registers it. */
typedef struct ls_shmem_item
{
	const char *name;
	Size size;
	void **memory;      /* where each process keeps its address */
	void (*init)(void); /* may be NULL; once, when it is all zeros; under AddinShmemInitLock */
} ls_shmem_item;

extern void ls_shmem_add(const ls_shmem_item *item); /* in _PG_init only */
extern void ls_shmem_register(void);

/* ---- tables that are too small (crowded.c) ---- */

/* What logsvc.max_active_organizations gives room for. */
typedef enum ls_crowd
{
	LS_CROWD_RATES,
	LS_CROWD_QUOTAS,
	LS_CROWD_CACHES,  /* of each process */
	LS_CROWD_SENDERS, /* of the gateway */
	LS_CROWDS
} ls_crowd;

extern void ls_crowded_register(void); /* in _PG_init */

/*
 * A table has pushed out what was in use a moment ago.  Logs it, at most once an hour.  Never
 * under a lock.
 */
extern void ls_crowded(ls_crowd which);

/* What has followed from it in the last day; NULL: it was not so. */
extern const char *ls_crowded_lately(ls_crowd which);

/* Is logsvc preloaded, so that shared memory and workers exist? */
extern bool ls_shmem_ready(void);

/* Raises NOT_PRELOADED with a hint unless ls_shmem_ready. */
extern void ls_require_shmem(void);

typedef enum ls_lock
{
	LS_LOCK_SLOTS,
	LS_LOCK_LIMITS,
	LS_LOCK_CREDIT_BROKER,
	LS_LOCK_SEGMENTS,
	LS_LOCK_TAILS,
	LS_LOCK_QUOTAS,
	LS_LOCK_QUEUE,
	LS_LOCK_PIPELINES,
	LS_LOCK_STATUS,
	LS_LOCKS
} ls_lock;

extern LWLock *ls_lwlock(ls_lock lock);

/* Takes one of at most `most` places that a counter in shared memory counts; false: none is free. */
extern bool ls_place_take(pg_atomic_uint32 *taken, uint32 most);

/* ---- memory ---- */

/*
 * An arena whose memory belongs to `context`: freed with it, also when an
 * error is raised, or by ls_arena_destroy before.  Raises out of memory.
 */
extern ls_arena *ls_context_arena(MemoryContext context, size_t limit);

/* Text datums and C strings as views and back. */
extern ls_str ls_str_of_text(const struct varlena *text);
extern struct varlena *ls_text_of_str(ls_str s); /* palloc'd */
extern char *ls_cstring_of_str(ls_str s);        /* palloc'd */

/*
 * A JSON text with values of events as jsonb.  Wide numbers (ls_json_wide_number) become strings.
 * Raises what is not JSON.
 */
extern Datum ls_jsonb_of_events(ls_str json);

static inline ls_str
ls_str_of_cstring(const char *s)
{
	return ls_str_make(s, s == NULL ? 0 : strlen(s));
}

/* ---- time ---- */

static inline ls_time
ls_time_of_timestamptz(TimestampTz t)
{
	return t + (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

static inline TimestampTz
ls_timestamptz_of_time(ls_time t)
{
	return t - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

/* The clock. */
extern ls_time ls_now(void);

/* Microseconds of a clock that nobody sets, and that stands still while the machine is suspended. */
extern int64 ls_steady_now(void);

/* ---- transactions (tx.c) ---- */

/*
 * Runs work(context) in a transaction of its own with an active snapshot and
 * SPI connected, as workers do.  True when it committed; false when an error
 * was raised: the transaction is rolled back, *caught says what.  An error is
 * logged by the caller, never here.  A FATAL (SIGTERM) is not caught.
 */
extern bool ls_transaction(void (*work)(void *context), void *context, ls_caught *caught);

/* A setting until the end of the transaction, as SET LOCAL of the user does. */
extern void ls_transaction_set(const char *name, const char *value);

/*
 * Runs work(context) in a subtransaction of the current transaction, with the
 * SPI connection that is there.  False when an error was raised, also a
 * cancellation: what it did is rolled back.  Without `keep` that is so in any case.
 */
extern bool ls_subtransaction(void (*work)(void *context), void *context, bool keep,
							  ls_caught *caught);

/*
 * ---- whose rights (tx.c) ----
 *
 * The one way in which statements of ours run with other rights than those of
 * who calls: until ls_rights_restore, or the end of the (sub)transaction.  As in
 * a SECURITY DEFINER function, nothing that runs meanwhile can change the role.
 * Only statements that name everything with its schema and use no operators, or
 * have a pinned search_path: else the caller's would choose what runs.
 */
typedef struct ls_rights
{
	Oid user;
	int context;
} ls_rights;

/* Those of the owner of the extension's tables. */
extern ls_rights ls_rights_of_owner(void);

/*
 * Those of role logsvc_reader: row security keeps it in the organization of the
 * session.  What it calls can make no temporary tables and leave nothing for
 * later, as triggers.
 */
extern ls_rights ls_rights_of_reader(void);

extern void ls_rights_restore(ls_rights before);

/* The role that executors connect as, and that functions which only read belong to. */
#define LS_READER "logsvc_reader"

/* In a process that ends: leaves the transaction that it was in, so that it can begin one. */
extern void ls_transaction_abandon(void);

/* ---- cryptography (crypto.c, OpenSSL; hashes: pure.h) ---- */

extern void ls_random_bytes(void *out, size_t len); /* raises on failure */
extern bool ls_equal_constant_time(const void *a, const void *b, size_t len);

/*
 * AES-256-GCM with a new nonce: `out` gets len + LS_SEAL_OVERHEAD bytes.  Raises
 * on failure.  Opening is false for a wrong key or changed bytes.
 */
#define LS_SEAL_OVERHEAD (12 + 16)
extern void ls_seal(const uint8 key[32], const void *data, size_t len, uint8 *out);
extern bool ls_unseal(const uint8 key[32], const void *sealed, size_t len, uint8 *out);

/*
 * 16 bytes as 26 Crockford base32 characters, upper case, NUL-terminated; and
 * back (false for anything else; case-insensitive).
 */
extern void ls_base32_encode(const uint8 in[16], char out[27]);
extern bool ls_base32_decode(ls_str text, uint8 out[16]);

/* ---- node_memory.c ---- */

/* Bytes of memory that this machine has, or this container; found once, PG_UINT64_MAX when unknown. */
extern uint64 ls_node_memory(void);

/* A new id: 48 bits of milliseconds, 80 random bits; sorts by time. */
extern void ls_new_id(pg_uuid_t *id);

/*
 * Passwords: scrypt with r = 8 and N = 2^ln, as "$scrypt$ln=15,r=8,p=3$salt$hash".
 * One takes 2^(ln-5) MB, and p so many passes that each cost is as hard to guess
 * from: 3 for ln = 15, 2 for 16, 1 for 17.  That is 0.2 to 0.3 s of processor time,
 * during which nothing can interrupt it.  Malformed stored hashes raise DATA_CORRUPTED.
 */
#define LS_PASSWORD_COST_MIN 15
#define LS_PASSWORD_COST_MAX 17

/* With a new salt and ln = logsvc.password_cost; palloc'd. */
extern char *ls_password_hash(ls_str password);

/* With the salt and the cost of a stored one: equal to it when the password is; palloc'd. */
extern char *ls_password_hash_like(ls_str password, const char *stored);

/*
 * Is it the password?  NULL stored: false.  False takes as long whether there is
 * a hash or not, also when it is of an older, smaller cost.
 */
extern bool ls_password_verify(ls_str password, const char *stored);

/* Was it hashed with a cost other than the current logsvc.password_cost? */
extern bool ls_password_outdated(const char *stored);

/* ---- stop points (test/debug): debug builds only ---- */

#ifdef LS_STOP_POINTS
extern void ls_stop_point(const char *name);
extern void ls_stop_points_register(void);
extern int ls_debug_groups; /* kB: logsvc.debug_groups */
#define LS_STOP_POINT(name) ls_stop_point(name)
#else
#define LS_STOP_POINT(name) ((void) 0)
#define ls_stop_points_register() ((void) 0)
#endif

/* ---- follower.c ---- */

extern void ls_follower_register(void);

/* Has this database its accounts from another server?  In a transaction. */
extern bool ls_follows(void);

/* The subscription by which it has them; InvalidOid: it has its own. */
extern Oid ls_subscription(void);

/* On such a server, the age of the accounts in ms; -1: not known. */
extern int64 ls_follower_age(void);

/*
 * Are they older than logsvc.standby_max_lag?  What was revoked may still be good in its tables.  Outside
 * of a transaction also true while the process does not know yet whether the server is such a one.
 */
extern bool ls_follower_behind(void);

/* Do other servers have the accounts of this database? */
extern bool ls_has_followers(void);

/* ---- standby.c ---- */

extern void ls_standby_register(void);

/* For the launcher, some times a second: notes how far replay has come. */
extern void ls_standby_look(void);

/*
 * The age of what a standby knows of its primary, in ms; 0 on a primary; -1: not known, when it has
 * replayed nothing since it started.
 */
extern int64 ls_standby_lag(void);

/*
 * Is it a standby that knows less than logsvc.standby_max_lag asks for?  What was revoked may still be
 * good in its tables, so nobody is answered.
 */
extern bool ls_standby_behind(void);

#endif /* LS_SERVER_H */
