/*-------------------------------------------------------------------------
 *
 * id_token.h
 *	  What identity providers send: ID tokens (OpenID Connect Core 1.0, RFC
 *	  7515, 7517 to 7519) and the JSON of their endpoints (pure).
 *
 * All text comes from the network.  Results are views into it or memory of the
 * arena.  An object that has a member twice is refused: two readers could take
 * different ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ID_TOKEN_H
#define LS_ID_TOKEN_H

#include "src/base/json_document.h"

#define LS_ID_DEPTH 16

/* Clocks may differ by so much; an ID token is not older than the sign-in. */
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
 * Checks an ID token: signature (RS256 or ES256, with a key of the set that is made for it), iss,
 * aud, azp, exp, nbf, iat, nonce, sub.  *why: what is wrong, in words for a log.
 */
extern ls_id_result ls_id_token_check(ls_str token, ls_str key_set, const ls_id_expected *expected,
									  ls_arena *arena, ls_id_person *person, const char **why);

/*
 * Has the issuer the last word on whose the address is: does it host the mail, or is the domain
 * one of `domains`, of which the operator says so?  That is a list with commas; * is any domain.
 * Any other has seen at some time that somebody could read mail there, and may not hear of it
 * when the address gets another owner.
 */
extern bool ls_id_is_authority(const ls_id_person *person, ls_str issuer, ls_str domains);

/* The JSON object that a provider sent; NULL: it is none (ls_document_read says what is refused). */
extern const ls_json_node *ls_id_object(ls_str json, ls_arena *arena);

/* Do these claims say that the address is verified? */
extern bool ls_id_is_verified(const ls_json_node *claims);

/* OpenID Connect Discovery 1.0.  False: not such a document, or without one of the first four. */
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
 * ([{email, primary, verified}]).  Of these the primary one when it is verified, else the first
 * verified one, else the primary one, not verified.
 */
extern bool ls_id_read_user(ls_str json, ls_arena *arena, ls_id_person *person);
extern bool ls_id_read_addresses(ls_str json, ls_arena *arena, ls_id_person *person);

#endif /* LS_ID_TOKEN_H */
