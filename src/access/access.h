/*-------------------------------------------------------------------------
 *
 * access.h
 *	  Who a request or a session acts as, what that principal may do, and how often.
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
	LS_PRINCIPAL_TOKEN,    /* a personal access token: scopes and the user's role */
	LS_PRINCIPAL_KEY,      /* an API key: acts as itself, has no role */
	LS_PRINCIPAL_USER,     /* a member, with all that the role permits */
	LS_PRINCIPAL_OPERATOR, /* an operator acting for the organization */
	LS_PRINCIPAL_WORKER    /* a worker that reads events for the organization */
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
 * Who acts.  A plain value without pointers, so it can be copied, cached, and passed
 * to parallel workers.  Ids that do not apply are zero.
 */
typedef struct ls_principal
{
	uint8 kind;          /* ls_principal_kind */
	uint8 role;          /* ls_role; NONE for keys and operators */
	char key_scope;      /* of a key: I, R, F */
	bool test_key;       /* ing_test_: sees and writes the index _test only */
	bool session;        /* set by use_token or act_as, not for one request */
	bool audit;          /* of a worker: may read _audit */
	uint32 scopes;       /* of a token: bits by LS_SCOPE */
	uint32 role_permits; /* what the role permits, bits by LS_PERMISSION */
	uint32 permissions;  /* what may be done: role and scope together */
	pg_uuid_t organization;
	pg_uuid_t user;       /* of tokens and users */
	pg_uuid_t credential; /* of tokens and keys */
	ls_time expires_at;   /* 0: never */
	uint64 epoch;         /* of ls_principal_watch when this was looked up; 0: look again */
	uint8 caller[16];     /* the identity that rates "per caller" count by (decision 38) */
} ls_principal;

/* The result of ls_authorize and others if there is no objection. */
#define LS_ALLOWED LS_ERRORS

/*
 * Checks the credential of a request: Authorization: Bearer, or X-API-Key.  True:
 * *out is the principal as of now (committed revocations and role changes count;
 * expiry is compared with the clock at each call).  False: *error says why; answer
 * with 401, or with 500 if the lookup itself failed, which the caller should log.
 *
 * credentials: the letters of the route (routes.def).  If only a token is accepted
 * (evaluations), an API key is INVALID_PAT.  On other routes that do not take keys,
 * ls_authorize refuses them.
 *
 * Cached; an unknown credential runs a transaction of its own, so call it outside of
 * transactions.
 */
extern bool ls_authenticate(const ls_request *request, const char *credentials, ls_principal *out,
							ls_caught *error);

/*
 * The principal of a request of a listener: the organization that it names by slug or id, as the
 * operator has set it.  It may send events and nothing else.  False: *error says why.  Cached;
 * call it outside of transactions.
 */
extern bool ls_authenticate_listener(const ls_request *request, ls_principal *out,
									 ls_caught *error);

/* Is the database role bound to an organization, in this database?  Raises an error if it cannot be told. */
extern bool ls_role_is_bound(Oid user);

/*
 * May the principal use a route with these requirements (strings as in routes.def)?
 * Returns LS_ALLOWED, INSUFFICIENT_SCOPE or FORBIDDEN; UNAUTHORIZED for NULL or a
 * principal of kind NONE, unless the route is public (credentials "").
 */
extern ls_error_id ls_authorize(const ls_principal *principal, const char *credentials,
								const char *permission, const char *scope);

/* What was missing when ls_authorize refused: a text for people, a JSON array for programs. */
typedef struct ls_refusal
{
	char message[400];
	char details[400];
} ls_refusal;

/*
 * Explains INSUFFICIENT_SCOPE or FORBIDDEN of ls_authorize: names the scope, the kind of
 * credential or the permission.  Pass the same requirements as to ls_authorize.  For other errors
 * both texts are empty.
 */
extern void ls_describe_refusal(const ls_principal *principal, ls_error_id error,
								const char *credentials, const char *permission, const char *scope,
								ls_refusal *out);

/*
 * Explains a 401 of a route: `message`, and the kinds of credential that the route takes
 * (credentials and scope as in routes.def), which says nothing about the one that was sent.
 */
extern void ls_describe_credentials(const char *message, const char *credentials, const char *scope,
									ls_refusal *out);

struct ls_rate_class;
struct ls_rate_state;

/*
 * Explains RATE_LIMIT_EXCEEDED: what is refused (`what`), the class, its limit, what it counts
 * by, when to try again, and with what an operator changes the limit.
 */
extern void ls_describe_rate(const char *class_name, const struct ls_rate_class *of,
							 const struct ls_rate_state *state, const char *what, ls_refusal *out);

/*
 * May the principal be used from the client's address (behind trusted proxies)?
 * Returns LS_ALLOWED if its organization has no allow-list, or the address is in it;
 * IP_NOT_ALLOWED; or INTERNAL, with *caught, if the list could not be looked up.
 * Cached; a miss runs a transaction of its own, so call it outside of transactions.
 */
extern ls_error_id ls_check_request_address(const ls_request *request,
											const ls_principal *principal, ls_caught *caught);

/*
 * Sets the principal of the current transaction, like SET LOCAL: SQL functions and row
 * security then act for it, also in parallel workers.
 */
extern void ls_principal_set(const ls_principal *principal);

/*
 * For workers that are connected as logsvc_reader, in a transaction, which then acts for the
 * organization until it ends: it may read events, those of _audit only with `audit`, and change
 * nothing.  Row security holds, no rate is counted.  Statements of the transaction have
 * logsvc.query_timeout together; a worker may set a shorter time (STATEMENT_TIMEOUT).  Raises FORBIDDEN
 * in any other process, and for an organization that is deleted.
 */
extern void ls_act_for_organization(const pg_uuid_t *organization, bool audit);

/* The principal of the session or transaction; NULL: none. */
extern const ls_principal *ls_principal_current(void);

/*
 * The same, after checking that it is still valid: it is looked up again if access data
 * have changed.  Raises PAT_REVOKED, PAT_EXPIRED, API_KEY_REVOKED, API_KEY_EXPIRED,
 * IP_NOT_ALLOWED or FORBIDDEN if it is not valid, NO_ORGANIZATION if there is none.
 */
extern const ls_principal *ls_principal_require(void);

/*
 * Raises an error unless the session's principal has the permission (named as in
 * permissions.def): those of ls_principal_require, INSUFFICIENT_SCOPE or FORBIDDEN.
 */
extern void ls_require_permission(const char *permission);

/*
 * Is the caller an operator?  That is a member of role logsvc_admin or a superuser,
 * outside of SECURITY DEFINER functions and not within a client's request.
 */
extern bool ls_is_operator(void);
extern void ls_require_operator(void); /* raises FORBIDDEN */

extern const char *ls_role_name(ls_role role); /* "owner"; "" for NONE */
extern ls_role ls_role_of_name(const char *name);

/* ---- changes of access data (epoch.c) ---- */

/*
 * What something that was looked up depends on, beside what concerns all: counters that changes
 * move.  With zeros it depends on nothing else.
 */
typedef struct ls_watch
{
	uint16 counters[2];
} ls_watch;

/* All of an organization and all of a user; NULL, or an id of zeros: not watched. */
extern ls_watch ls_watch_of(const pg_uuid_t *organization, const pg_uuid_t *user);

/* All that a principal depends on. */
extern ls_watch ls_principal_watch(const ls_principal *principal);

/*
 * The epoch of what is watched.  Read it before taking the snapshot of a lookup; the result is
 * valid as long as the epoch is the same.  0: it must not be kept.
 */
extern uint64 ls_access_epoch(ls_watch watch);

/*
 * What somebody was told holds for as long as this is the epoch of what is watched; 0: it may not be
 * kept.
 */
typedef struct ls_admitted
{
	uint64 epoch;
	ls_watch watch;
} ls_admitted;

/* ---- indexes ---- */

#define LS_INDEX_NAME_LENGTH 64

/*
 * Does the organization have an index with this name?  *days: for how many days the index
 * keeps events (-1: for ever).  Cached; a miss runs a transaction, or SPI if one is open.
 * A failed lookup raises an error in a transaction; outside of one it is logged and the
 * result is false.
 */
extern bool ls_index_find(const pg_uuid_t *organization, ls_str name, int *days);

/* Is JSON in texts of events of that index taken apart?  False when there is no such index. */
extern bool ls_index_parses_json(const pg_uuid_t *organization, ls_str name);

/* ---- pipelines ---- */

/* May what was looked up be kept now, in this transaction and process, until the epoch changes? */
extern bool ls_access_cacheable(void);

/*
 * What the program of an organization's events is compiled from, in `context`; empty: it has no
 * pipelines.  Not cached.  Runs a transaction, or SPI if one is open; there a failed lookup raises an
 * error, otherwise it is logged and the result is false.
 */
extern bool ls_pipelines_find(const pg_uuid_t *organization, MemoryContext context,
							  ls_str *definition);

/* ---- sessions and accounts ---- */

/*
 * Is it the origin of logsvc.public_url (by default: of this server on this machine),
 * or one of logsvc.allowed_origins?
 */
extern bool ls_origin_allowed(ls_str origin);

/*
 * May pages of that origin send events and read the answers (logsvc.ingest_origins)?  What
 * Access-Control-Allow-Origin says to them; empty: they may not.
 */
extern ls_str ls_origin_of_senders(ls_str origin);

/*
 * Does work that requests about accounts have postponed until after their answer, each
 * item in a transaction of its own, when it is due; false: there was none to do.  due: ms until
 * the next one, -1 if there is none.  For workers that answer requests.
 */
extern bool ls_account_work(void);
extern long ls_account_work_due(void);

/*
 * Asks the service of logsvc.breached_passwords_url about a password that the next
 * transaction will set.  Takes at most 2 s.  Call it outside of transactions, because no
 * transaction waits for the network.  The answer is kept for this password.  Only the
 * first 5 of 40 digits of its SHA-1 are sent.  Without an answer the password is
 * accepted, and the log says so at most once a minute.
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
 * Makes the network calls that a request needs before its transaction, when it sends a browser
 * to a provider (`back` false) or the browser returns from there (true).  Takes at most 10 s in
 * total, in at most half of the executors at a time.  LS_ALLOWED: the result is kept for the SQL
 * function of the route, even if the provider did not confirm the identity; call ls_oauth_end
 * after that function.  Otherwise returns the error to answer with: NOT_FOUND, VALIDATION,
 * SERVICE_UNAVAILABLE or INTERNAL, with *message (NULL: the error's own) and *detail (NULL, or
 * the wrong parameter).
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
 * Counts one use of the class by the key.  False: the limit of the last 60 seconds is
 * reached, and the use is not counted.  The window slides in steps of half a second and
 * never admits more than the limit in any 60 seconds.  If logsvc is not preloaded,
 * nothing is counted.
 */
extern bool ls_rate_limit_take(const char *class_name, const uint8 key[16], int limit_per_minute,
							   ls_rate_state *state);

/*
 * Counts `amount` uses that have already happened, even beyond the limit.  For classes
 * that count the cost of a request (milliseconds of an executor), known only afterwards.
 */
extern void ls_rate_limit_charge(const char *class_name, const uint8 key[16], uint32 amount);

/* What is left now; counts nothing.  retry_after: when a request fits again. */
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
	bool timed;      /* its requests also draw on class executor, */
	int overdraft;   /* how many times the seconds of that may be used */
	bool by_setting; /* logsvc.limits decides how high it is */
} ls_rate_class;

/*
 * The limit of a class, from table logsvc_internal.rate_limit and setting logsvc.limits; false
 * if the class has no limit.  Cached; a miss runs a transaction, or SPI if one is open.
 */
extern bool ls_rate_limit_of(const char *class_name, ls_rate_class *of);

/*
 * The key that a scope counts by: from the principal; for LS_RATE_ADDRESS from the
 * client's address (an IPv4 address, or a /64 of IPv6).  For LS_RATE_USER of a key it may
 * run a transaction, or SPI if one is open.
 */
extern void ls_rate_key(const ls_principal *principal, const ls_request *request,
						ls_rate_scope scope, uint8 key[16]);

/*
 * Who is counted for an organization when all organizations of an owner count as one: the
 * first owner, who created it, even after having left it; the organization itself if it
 * never had an owner.  Cached; a miss runs a transaction, or SPI if one is open.
 */
extern pg_uuid_t ls_owner_of(const pg_uuid_t *organization);

/* ---- daily quotas ---- */

typedef struct ls_ingest_quota
{
	int64 limit;           /* bytes of JSON a day; -1: none */
	int64 overage_seconds; /* how long events beyond it wait; 0: they are refused */
	int64 deferred_limit;  /* bytes that may wait; -1: no limit of the organization */
	bool alone;            /* it is the only organization */
	pg_uuid_t owner;       /* ls_owner_of */
	bool read_only;        /* it takes no events and no changes now */
} ls_ingest_quota;

/*
 * The daily quota of an organization, or of its test keys (decision 48).  Cached; a
 * miss runs a transaction, or SPI if one is open.  False if it could not be looked up,
 * which is logged.
 */
extern bool ls_ingest_quota_of(const pg_uuid_t *organization, bool test, ls_ingest_quota *quota);

/* What those are told who send events to an organization that is read-only, or change it. */
#define LS_READ_ONLY_MESSAGE \
	"the organization is being moved: it takes no events and no changes for now"

/* ---- the HTTP request that is being answered (current_request.c) ---- */

/*
 * Sets the request that this process answers (NULL: none); its texts must live until the
 * next call.  SQL functions read its address, headers and id.  While it is set, nobody is
 * an operator.
 */
extern void ls_request_enter(const ls_request *request);
extern const ls_request *ls_request_current(void);

/*
 * Sets the data that the request carries to its next part (ls_request, carried).  They are
 * copied, and kept until another request is entered.  Empty: there is no next part.
 */
extern void ls_request_carry(ls_str what);
extern ls_str ls_request_carries(void);

/* The client's address, behind trusted proxies; false when it is not known. */
extern bool ls_request_address(const ls_request *request, ls_address *out);

#endif /* LS_ACCESS_H */
