/*-------------------------------------------------------------------------
 *
 * access.h
 *	  Who a request or a session acts as, what that one may do, and how often.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ACCESS_H
#define LS_ACCESS_H

#include "src/server/server.h"
#include "src/ipc/frame.h"

/* Settings, callbacks and (when preloaded) shared memory; in _PG_init. */
extern void ls_access_register(bool preloaded);

/* ---- principals ---- */

typedef enum ls_principal_kind
{
	LS_PRINCIPAL_NONE,
	LS_PRINCIPAL_TOKEN,   /* a personal access token: scopes and the user's role */
	LS_PRINCIPAL_KEY,     /* an API key: acts as itself, has no role */
	LS_PRINCIPAL_USER,    /* a member, with all that the role permits */
	LS_PRINCIPAL_OPERATOR /* an operator acting for the organization */
} ls_principal_kind;

typedef enum ls_role
{
	LS_ROLE_NONE,
	LS_ROLE_OWNER,
	LS_ROLE_ADMIN,
	LS_ROLE_MEMBER,
	LS_ROLE_VIEWER
} ls_role;

/*
 * Who acts.  A plain value without pointers: copied, cached, and handed to
 * parallel workers.  Ids that do not apply are zero.
 */
typedef struct ls_principal
{
	uint8 kind;          /* ls_principal_kind */
	uint8 role;          /* ls_role; NONE for keys and operators */
	char key_scope;      /* of a key: I, R, F */
	bool test_key;       /* ing_test_: sees and writes the index _test only */
	bool session;        /* set by use_token or act_as, not for one request */
	uint32 scopes;       /* of a token: bits by LS_SCOPE */
	uint32 role_permits; /* what the role permits, bits by LS_PERMISSION */
	uint32 permissions;  /* what may be done: role and scope together */
	pg_uuid_t organization;
	pg_uuid_t user;       /* of tokens and users */
	pg_uuid_t credential; /* of tokens and keys */
	ls_time expires_at;   /* 0: never */
	uint64 epoch;         /* of access data when this was looked up */
	uint8 caller[16];     /* the identity that rates "per caller" count by (decision 38) */
} ls_principal;

/* What ls_authorize and others answer when there is nothing against it. */
#define LS_ALLOWED LS_ERRORS

/*
 * Checks the credential of a request: Authorization: Bearer, X-API-Key.  True:
 * *out is who sent it, as of now (revocations and role changes that are
 * committed count; expiry is compared with the clock at each call).  False:
 * *error says why, to be answered with 401 (or 500 when the lookup itself
 * failed, which the caller should log).
 *
 * credentials: the letters of the route (routes.def).  Where nothing but a token
 * is good (evaluations), keys are INVALID_PAT; on other routes without a letter
 * of theirs ls_authorize refuses them.
 *
 * Cached; an unknown credential runs a transaction of its own, so call it
 * outside of one.
 */
extern bool ls_authenticate(const ls_request *request, const char *credentials, ls_principal *out,
							ls_caught *error);

/*
 * May the principal use a route with these demands (strings as in routes.def)?
 * LS_ALLOWED, INSUFFICIENT_SCOPE or FORBIDDEN; UNAUTHORIZED for NULL or a
 * principal of kind NONE unless the route is public (credentials "").
 */
extern ls_error_id ls_authorize(const ls_principal *principal, const char *credentials,
								const char *permission, const char *scope);

/* What is missing when ls_authorize refuses: for people, and a JSON array for programs. */
typedef struct ls_refusal
{
	char message[400];
	char details[400];
} ls_refusal;

/*
 * Says what INSUFFICIENT_SCOPE or FORBIDDEN of ls_authorize is about: the scope, the kind of
 * credential or the permission.  The demands as given to ls_authorize.  Of other errors both texts
 * are empty.
 */
extern void ls_describe_refusal(const ls_principal *principal, ls_error_id error,
								const char *credentials, const char *permission, const char *scope,
								ls_refusal *out);

struct ls_rate_class;
struct ls_rate_state;

/*
 * Says what RATE_LIMIT_EXCEEDED of a class is about: `what` is refused, the class, its limit,
 * whom it counts and when to come again.
 */
extern void ls_describe_rate(const char *class_name, const struct ls_rate_class *of,
							 const struct ls_rate_state *state, const char *what, ls_refusal *out);

/*
 * May the principal be used from the address that the request comes from, which
 * is the one behind trusted proxies?  LS_ALLOWED when its organization has no
 * allow-list, or the address is in it; IP_NOT_ALLOWED; INTERNAL, with *caught,
 * when the list could not be looked up.  Cached; a miss runs a transaction of
 * its own, so call it outside of one.
 */
extern ls_error_id ls_check_request_address(const ls_request *request,
											const ls_principal *principal, ls_caught *caught);

/*
 * Makes the principal that of the current transaction, as SET LOCAL would:
 * SQL functions and row security then act for it, also in parallel workers.
 */
extern void ls_principal_set(const ls_principal *principal);

/* The principal of the session or transaction; NULL when there is none. */
extern const ls_principal *ls_principal_current(void);

/*
 * The same, but still valid: looked up again when access data has changed
 * since.  Raises PAT_REVOKED, PAT_EXPIRED, API_KEY_REVOKED, API_KEY_EXPIRED,
 * IP_NOT_ALLOWED or FORBIDDEN when it is not, NO_ORGANIZATION when there is none.
 */
extern const ls_principal *ls_principal_require(void);

/*
 * Raises unless the session's principal has the permission (text as in
 * permissions.def): the errors of ls_principal_require, INSUFFICIENT_SCOPE,
 * FORBIDDEN.
 */
extern void ls_require_permission(const char *permission);

/*
 * Is the caller an operator: a member of role logsvc_admin or a superuser,
 * outside of SECURITY DEFINER functions, and not inside somebody's request?
 */
extern bool ls_is_operator(void);
extern void ls_require_operator(void); /* raises FORBIDDEN */

extern const char *ls_role_name(ls_role role); /* "owner"; "" for NONE */
extern ls_role ls_role_of_name(const char *name);

/* ---- changes of access data (epoch.c) ---- */

/*
 * The shared epoch of access data.  Read it before taking the snapshot of a
 * lookup; the result is valid as long as the epoch is the same.
 */
extern uint64 ls_access_epoch(void);

/* ---- indexes ---- */

#define LS_INDEX_NAME_LENGTH 64

/*
 * Does the organization have an index of that name, and for how many days does
 * it keep events (-1: for ever)?  Cached; a miss runs a transaction, or SPI when
 * one is open.  A lookup that fails raises in a transaction; outside of one it is
 * logged and reported as false.
 */
extern bool ls_index_find(const pg_uuid_t *organization, ls_str name, int *days);

/* ---- sessions and accounts ---- */

/*
 * Is that the origin of logsvc.public_url (without it: of this server on this
 * machine) or one of logsvc.allowed_origins?
 */
extern bool ls_origin_allowed(ls_str origin);

/*
 * Does what requests about accounts have left to do until after their answer,
 * each piece in a transaction of its own, when its time has come.  due: ms until
 * then, -1 when there is nothing.  For workers that answer requests.
 */
extern void ls_account_work(void);
extern long ls_account_work_due(void);

/*
 * Asks the service of logsvc.breached_passwords_url about a password that the
 * next transaction is going to set: at most 2 s, outside of transactions since
 * none waits for the network.  The answer is kept for this password.  What goes
 * out are the first 5 of 40 digits of its SHA-1.  Without an answer the password
 * is accepted, and the log says so at most once a minute.
 */
extern void ls_password_ask(ls_str password);

/* ---- signing in by an identity provider (oauth.c) ---- */

/* What a request sent; empty if it did not send it. */
typedef struct ls_oauth_query
{
	ls_str provider;    /* google, github */
	ls_str redirect_to; /* of a start */
	ls_str code;        /* of a return: these */
	ls_str state;
	ls_str error;
	ls_str issuer;
} ls_oauth_query;

/*
 * Does what must be done over the network before the transaction of a request that sends a browser
 * to a provider (`back` false) or has it come back: at most 10 s in all, and in half of the
 * executors at a time.  LS_ALLOWED: what was found out waits for the SQL function of the route,
 * also that the provider did not confirm who it is; call ls_oauth_end after it.  Else the error to
 * answer with *message (NULL: the error's own) and *detail (NULL, or the parameter that is wrong):
 * NOT_FOUND, VALIDATION, SERVICE_UNAVAILABLE, INTERNAL.
 */
extern ls_error_id ls_oauth_begin(const ls_request *request, const ls_oauth_query *query, bool back,
								  ls_arena *arena, const char **message, const char **detail);
extern void ls_oauth_end(void);

/* ---- rates ---- */

/* The class that counts seconds of executors instead of requests. */
#define LS_RATE_EXECUTOR "executor"

typedef struct ls_rate_state
{
	int limit;       /* per minute */
	int remaining;   /* that could be taken at once now */
	int64 reset;     /* Unix time in seconds when the oldest counted one lapses */
	int retry_after; /* seconds until one more fits; 0 when it was taken */
} ls_rate_state;

/*
 * Counts one use of the class by the key; false when the 60 seconds before
 * now are full (then it is not counted).  The window slides in steps of half
 * a second and never admits more than the limit in any 60 seconds.  When
 * logsvc is not preloaded nothing is counted.
 */
extern bool ls_rate_limit_take(const char *class_name, const uint8 key[16], int limit_per_minute,
							   ls_rate_state *state);

/*
 * Counts `amount` uses that have happened, beyond the limit too; for classes that
 * count what a request took (milliseconds of an executor), known only after it.
 */
extern void ls_rate_limit_charge(const char *class_name, const uint8 key[16], uint32 amount);

/* What is left now, without counting; retry_after says when a request fits again. */
extern void ls_rate_limit_look(const char *class_name, const uint8 key[16], int limit_per_minute,
							   ls_rate_state *state);

typedef enum ls_rate_scope
{
	LS_RATE_ORGANIZATION,
	LS_RATE_CALLER, /* within an organization */
	LS_RATE_USER,   /* in all organizations; keys: those that one user has made, together */
	LS_RATE_ADDRESS,
	LS_RATE_CREDENTIAL /* a token, key or session; who has none: as LS_RATE_CALLER */
} ls_rate_scope;

typedef struct ls_rate_class
{
	int per_minute;
	ls_rate_scope scope;
	bool timed;    /* its requests also draw on class executor, */
	int overdraft; /* how many times the seconds of that may be used */
} ls_rate_class;

/*
 * The limit of a class, from table logsvc_internal.rate_limit; false for a class
 * that has none.  Cached; a miss runs a transaction, or SPI when one is open.
 */
extern bool ls_rate_limit_of(const char *class_name, ls_rate_class *of);

/*
 * The key that a scope counts by: of the principal, for LS_RATE_ADDRESS of the
 * client's address (an IPv4 address, or a /64 of IPv6).  For LS_RATE_USER of a key it may run a
 * transaction, or SPI when one is open.
 */
extern void ls_rate_key(const ls_principal *principal, const ls_request *request,
						ls_rate_scope scope, uint8 key[16]);

/*
 * Who is counted for an organization where those of one owner count as one: its first owner,
 * who made it, also after having left it; the organization itself when it never had one.
 * Cached; a miss runs a transaction, or SPI when one is open.
 */
extern pg_uuid_t ls_owner_of(const pg_uuid_t *organization);

/* ---- daily quotas ---- */

typedef struct ls_ingest_quota
{
	int64 limit;           /* bytes of JSON a day; -1: none */
	int64 overage_seconds; /* how long events beyond it wait; 0: they are refused */
	int64 deferred_limit;  /* bytes that may wait; -1: no limit of the organization */
	bool alone;            /* it is the only organization */
} ls_ingest_quota;

/*
 * The daily quota of an organization, or of its test keys (decision 48).  Cached; a
 * miss runs a transaction, or SPI when one is open.  False, and logged, when it
 * could not be looked up.
 */
extern bool ls_ingest_quota_of(const pg_uuid_t *organization, bool test, ls_ingest_quota *quota);

/* ---- the HTTP request that is being answered (current_request.c) ---- */

/*
 * From now on this process answers that request (NULL: none); its texts must
 * live as long.  SQL functions ask for its address, headers and id, and nobody
 * is an operator meanwhile.
 */
extern void ls_request_enter(const ls_request *request);
extern const ls_request *ls_request_current(void);

/*
 * What the request is to carry to its next part (ls_request, carried); copied,
 * and kept until another request is entered.  Empty: there is no next part.
 */
extern void ls_request_carry(ls_str what);
extern ls_str ls_request_carries(void);

/* The client's address, behind trusted proxies; false when it is not known. */
extern bool ls_request_address(const ls_request *request, ls_address *out);

#endif /* LS_ACCESS_H */
