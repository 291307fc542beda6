/*-------------------------------------------------------------------------
 *
 * id_token.h
 *	  Data from identity providers: ID tokens (OpenID Connect Core 1.0, RFC
 *	  7515, 7517 to 7519) and the JSON of their endpoints (pure).
 *
 * All text comes from the network.  Results are views into it or memory of the
 * arena.  An object with the same member twice is refused, because two readers could
 * take different ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ID_TOKEN_H
#define LS_ID_TOKEN_H

#include "src/base/json_document.h"

#define LS_ID_DEPTH 16

/* Clocks may differ by this much; an ID token is not older than the sign-in. */
#define LS_ID_LEEWAY INT64_C(60)
#define LS_ID_AGE INT64_C(600)

/* The identity of a user, as a provider reports it. */
typedef struct ls_id_person
{
	ls_str subject; /* 1 to 255 bytes */
	ls_str email;   /* empty: not said */
	bool email_verified;
	ls_str name;          /* may be empty */
	ls_str hosted_domain; /* claim "hd", of one provider: whose mail it hosts; may be empty */
} ls_id_person;

typedef struct ls_id_expected
{
	ls_str issuer;
	ls_str client_id;
	ls_str nonce;
	int64_t now; /* Unix time in seconds */
} ls_id_expected;

typedef enum ls_id_result
{
	LS_ID_GOOD,
	LS_ID_UNKNOWN_KEY, /* signed with a key that is not in the set: perhaps a newer one */
	LS_ID_BAD
} ls_id_result;

/*
 * Checks an ID token: signature (RS256 or ES256, with a suitable key of the set), iss, aud, azp,
 * exp, nbf, iat, nonce, sub.  *why: what is wrong, as a text for the log.
 */
extern ls_id_result ls_id_token_check(ls_str token, ls_str key_set, const ls_id_expected *expected,
									  ls_arena *arena, ls_id_person *person, const char **why);

/*
 * Is the issuer the authority on who owns the address?  It is if it hosts the mail, or if the
 * operator says so: the domain is in `domains`, a comma-separated list; * is any domain.  Any
 * other issuer has only checked once that the user could read mail there, and may not notice when
 * the address gets another owner.
 */
extern bool ls_id_is_authority(const ls_id_person *person, ls_str issuer, ls_str domains);

/* Parses a provider's JSON object; NULL: it is not one (see ls_document_read). */
extern const ls_json_node *ls_id_object(ls_str json, ls_arena *arena);

/* Do these claims say that the address is verified? */
extern bool ls_id_is_verified(const ls_json_node *claims);

/* OpenID Connect Discovery 1.0.  False: not such a document, or one of the first four is missing. */
typedef struct ls_id_discovery
{
	ls_str issuer;
	ls_str authorization_endpoint;
	ls_str token_endpoint;
	ls_str jwks_uri;
	ls_str userinfo_endpoint; /* may be empty */
	bool secret_in_body;      /* the token endpoint takes no HTTP Basic authentication */
} ls_id_discovery;

extern bool ls_id_read_discovery(ls_str json, ls_arena *arena, ls_id_discovery *out);

/* The answer of a token endpoint; false without an access token. */
extern bool ls_id_read_token(ls_str json, ls_arena *arena, ls_str *access_token, ls_str *id_token);

/* The answer of a userinfo endpoint, which must be about person->subject. */
extern bool ls_id_read_userinfo(ls_str json, ls_arena *arena, ls_id_person *person);

/*
 * The plain provider: its user ({id: a number, login, name}) and that user's addresses
 * ([{email, primary, verified}]).  Takes the primary address if it is verified, otherwise the
 * first verified one, otherwise the primary one as not verified.
 */
extern bool ls_id_read_user(ls_str json, ls_arena *arena, ls_id_person *person);
extern bool ls_id_read_addresses(ls_str json, ls_arena *arena, ls_id_person *person);

#endif /* LS_ID_TOKEN_H */
