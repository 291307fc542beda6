/*-------------------------------------------------------------------------
 *
 * access_internal.h
 *	  What the files of this folder share: permissions, the epoch, caches and
 *	  lookups.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ACCESS_INTERNAL_H
#define LS_ACCESS_INTERNAL_H

#include "src/access/access.h"

#include "executor/spi.h"
#include "utils/hsearch.h"

/* ---- permission.c ---- */

/* Bit of a permission; 0 for an unknown name. */
extern uint32 ls_permission_bit(const char *name);
extern uint32 ls_scope_bit(const char *name, size_t len);

/* The letter of an API key's scope: I ingest-only, R read-only, F full-access. */
extern char ls_key_scope(const char *name);
extern const char *ls_key_scope_name(char letter);

/*
 * What a permission requires: the letters of credentials as in routes.def (without U), and the
 * scope of tokens; "" if no token can have it.
 */
#define LS_CREDENTIAL_LETTERS 8
extern const char *ls_permission_demands(const char *name, char credentials[LS_CREDENTIAL_LETTERS]);

/* Fills role_permits and permissions from kind, role, scopes and key_scope. */
extern void ls_principal_resolve(ls_principal *principal);

/*
 * The permissions of `made` that `maker` lacks, as bits, except those that no credential
 * of the maker's kind can have.  Both must be resolved.
 */
extern uint32 ls_rights_beyond(const ls_principal *maker, const ls_principal *made);

/* The names of permissions as text[], in the order of the table. */
extern Datum ls_permission_names(uint32 bits);

/* ---- epoch.c ---- */

extern void ls_epoch_register(bool preloaded);

/*
 * Which organizations there are, and what they are called: the argument with which triggers say so,
 * after an equals sign, and what it moves.
 */
#define LS_WATCH_ORGANIZATIONS "organizations"
extern ls_watch ls_watch_organizations(void);

/* Whether there is a credential with this hash. */
extern ls_watch ls_watch_secret(const uint8 hash[LS_SHA256_LENGTH]);

/*
 * For a lookup that itself finds out what its result depends on: take the mark before its snapshot;
 * afterwards this is the epoch of what is watched, or 0 if anything has changed since.
 */
extern uint64 ls_access_mark(void);
extern uint64 ls_access_epoch_since(uint64 mark, ls_watch watch);

/* ---- access_cache.c ---- */

#define LS_CACHE_KEY 32
#define LS_CACHE_ABSENTS 256

typedef enum ls_cache_result
{
	LS_CACHE_MISS,
	LS_CACHE_HIT,
	LS_CACHE_ABSENT /* known not to exist */
} ls_cache_result;

typedef struct ls_cache_absent
{
	uint8 key[LS_CACHE_KEY];
	uint64 epoch; /* 0: unused */
	ls_watch watch;
} ls_cache_absent;

/*
 * A cache of access data in one process.  Each entry is good while the epoch of what it watches is the
 * same.  It has room for LS_ACTIVE_KEYS; when it is full, all is forgotten.  Negative results are
 * in a small table of their own, so guessing keys does not evict valid ones.
 */
typedef struct ls_cache
{
	const char *name;
	size_t value_size;
	void (*release)(void *value); /* frees what a value points to; may be NULL */
	MemoryContext context;
	HTAB *table;
	ls_time emptied_at;
	ls_cache_absent absent[LS_CACHE_ABSENTS];
} ls_cache;

/* HIT: *value points to the stored value, which is valid until the next call. */
extern ls_cache_result ls_cache_find(ls_cache *cache, const uint8 key[LS_CACHE_KEY], void **value);

/* Stores a value (NULL: absent) that was looked up at this epoch of what it watches; not at 0. */
extern void ls_cache_store(ls_cache *cache, const uint8 key[LS_CACHE_KEY], const void *value,
						   ls_watch watch, uint64 epoch);

/*
 * Memory for data to which a value in the cache points, which must be stored next; `release` of the
 * cache frees it.
 */
extern void *ls_cache_memory(ls_cache *cache, size_t size);

/* ---- lookup.c ---- */

/*
 * Runs the query `text`, prepared, over committed data with the rights of the
 * extension's owner, and passes its rows to `row` while SPI is connected.
 * *plan keeps the plan.  The text must qualify all names with their schema and must
 * not use operators, because the session's search_path applies to it.
 */
typedef struct ls_lookup
{
	const char *text;
	int n_args;
	const Oid *types;
	SPIPlanPtr *plan;
	Datum values[4];
	bool nulls[4];
	bool write;            /* not read-only */
	const char *lock_wait; /* lock_timeout, when it runs alone; NULL: that of the session */
	void (*row)(void *context, HeapTuple tuple, TupleDesc desc);
	void *context;
} ls_lookup;

/*
 * In a transaction: raises errors.  Outside of one: runs a transaction; false: it failed,
 * and *caught says why.
 */
extern bool ls_lookup_run(ls_lookup *lookup, ls_caught *caught);

/*
 * Finds the principal for a secret (by its SHA-256) or for `known` (by its ids).  Fills
 * *out and returns LS_ALLOWED, or the error, which may be kept as *out may: as long as its epoch is
 * that of ls_principal_watch.  INTERNAL: the lookup failed, see *caught.
 */
extern ls_error_id ls_find_secret(const uint8 hash[LS_SHA256_LENGTH], ls_principal *out,
								  ls_caught *caught);
extern ls_error_id ls_find_principal(const ls_principal *known, ls_principal *out,
									 ls_caught *caught);

/* As ls_find_secret, by a lookup of rows of its form.  Without a row, the kind of *out is NONE. */
extern ls_error_id ls_find_by(ls_lookup *lookup, ls_principal *out, ls_caught *caught);

/*
 * The principal of a session, by the SHA-256 of its cookie, in an organization
 * (slug or id; empty, unknown and foreign ones: in none).  LS_ALLOWED,
 * SESSION_EXPIRED, or INTERNAL as above.
 */
extern ls_error_id ls_find_session(const uint8 hash[LS_SHA256_LENGTH], ls_str organization,
								   ls_principal *out, ls_caught *caught);

/* Past its expiry?  LS_ALLOWED, PAT_EXPIRED, API_KEY_EXPIRED or SESSION_EXPIRED. */
extern ls_error_id ls_principal_expired(const ls_principal *principal);

/* Records the use of the credential, at most every ten minutes.  False: that failed now. */
extern bool ls_touch_credential(const ls_principal *principal);

/* ---- principal.c ---- */

extern void ls_principal_register(void);

/* Sets the principal for the rest of the session, like SET; kind NONE: no principal. */
extern void ls_principal_set_session(const ls_principal *principal);

extern LS_NORETURN void ls_raise_access(ls_error_id error);

/* INSUFFICIENT_SCOPE or FORBIDDEN because a permission is missing: says which. */
extern LS_NORETURN void ls_raise_refusal(const ls_principal *principal, ls_error_id error,
										 const char *permission);

/* ---- role_binding.c ---- */

/*
 * Whom the session's database role acts as, if it is bound to an organization; NULL: it is not.
 * *error: LS_ALLOWED, or why it may act no more.  A lookup that fails raises its error.
 */
extern const ls_principal *ls_role_binding(ls_error_id *error);

/* ---- user_session.c ---- */

/*
 * The name of a cookie of ours as browsers send it: with the prefix __Host- when users
 * come by https, so that no other host of the domain can have set it.  As
 * logsvc_internal.cookie makes it.  `name` must have room for it.
 */
#define LS_COOKIE_NAME_SIZE 64
extern ls_str ls_cookie_name(const char *plain, char name[LS_COOKIE_NAME_SIZE]);

/* Does the request have a session cookie, good or not? */
extern bool ls_has_session_cookie(const ls_request *request);

/* The secret of the request's session cookie, if it has one of the right form. */
extern bool ls_session_cookie(const ls_request *request, ls_str *secret);

/*
 * Whose session it is, in the organization that the request names (none, when it
 * names none or the user is no member).  LS_ALLOWED, SESSION_EXPIRED or INTERNAL,
 * with *caught.
 */
extern ls_error_id ls_authenticate_session(const ls_request *request, ls_str secret,
										   ls_principal *out, ls_caught *caught);

/* Is the origin of that URL one that ls_origin_allowed allows? */
extern bool ls_url_allowed(ls_str url);

/* ---- oauth.c ---- */

extern void ls_oauth_register(bool preloaded);

/* ---- allowlist.c ---- */

/*
 * May the principal of this SQL session be used from its client's address?
 * LS_ALLOWED, IP_NOT_ALLOWED, or INTERNAL with *caught.
 */
extern ls_error_id ls_check_session_address(const ls_principal *principal, ls_caught *caught);

/* ---- password.c ---- */

extern void ls_password_register(bool preloaded);

/* ---- rate_limit.c ---- */

extern void ls_rate_limit_register(void);

/* As ls_rate_limit_take, of so many uses if one fits, and at another time than now. */
extern bool ls_rate_limit_take_at(const char *class_name, const uint8 key[16], int limit_per_minute,
								  uint32 uses, ls_time now, ls_rate_state *state);

/* Takes back uses that were counted at that time, unless they have left the window since. */
extern void ls_rate_limit_give(const char *class_name, const uint8 key[16], uint32 uses,
							   ls_time taken);

/* ---- lookup_cache.c ---- */

/*
 * The organization with this slug or id.  LS_ALLOWED, NOT_FOUND, or INTERNAL with *caught.
 * Cached; a miss runs a transaction.
 */
extern ls_error_id ls_find_listener(ls_str name, pg_uuid_t *organization, ls_caught *caught);

/*
 * Who a principal is: the user; of a key the user who made it, or the organization when that is
 * not known.  Cached; a miss runs a transaction, or SPI when one is open.
 */
extern pg_uuid_t ls_person_of(const ls_principal *principal);

#endif /* LS_ACCESS_INTERNAL_H */
