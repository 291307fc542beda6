/*-------------------------------------------------------------------------
 *
 * id_token.c
 *	  Checks of ID tokens (pure).
 *
 * The algorithm is chosen by the key, and the token must name the same: so
 * "none" and an HMAC with a public key are no algorithms here at all.  A token
 * is read only after its signature is found good, except the header, which
 * says which key.
 *
 *-------------------------------------------------------------------------
 */
#include "src/identity/id_token.h"

#define TOKEN_LIMIT 65536
#define SUBJECT_LIMIT 255
#define KEYS_LIMIT 100

/* ---- parts ---- */

typedef struct token_parts
{
	ls_str signed_text; /* header.payload, as sent */
	ls_str header;
	ls_str payload;
	ls_str signature;
} token_parts;

static bool
split(ls_str token, ls_arena *arena, token_parts *out)
{
	const char *first = token.len == 0 ? NULL : memchr(token.data, '.', token.len);
	const char *end = token.data + token.len;
	const char *second;

	if (token.len > TOKEN_LIMIT || first == NULL)
		return false;
	second = memchr(first + 1, '.', (size_t) (end - first - 1));
	if (second == NULL)
		return false;
	/* A third dot is no digit of base64. */
	out->signed_text = ls_str_make(token.data, (size_t) (second - token.data));
	return ls_base64url_decode(ls_str_make(token.data, (size_t) (first - token.data)), arena,
							   &out->header) &&
		   ls_base64url_decode(ls_str_make(first + 1, (size_t) (second - first - 1)), arena,
							   &out->payload) &&
		   ls_base64url_decode(ls_str_make(second + 1, (size_t) (end - second - 1)), arena,
							   &out->signature);
}

/* ---- keys ---- */

/* A member that is not there, or is that string. */
static bool
is_absent_or(const ls_json_node *object, const char *name, ls_str wanted)
{
	const ls_json_node *member = ls_node_member(object, name);

	return member == NULL || ls_str_eq(ls_node_string(member), wanted);
}

/* Is the key made for signatures of that algorithm? */
static bool
fits(const ls_json_node *key, bool rsa, ls_str alg)
{
	if (!ls_str_eq(ls_node_member_string(key, "kty"), rsa ? LS_STR("RSA") : LS_STR("EC")))
		return false;
	if (!rsa && !ls_str_eq(ls_node_member_string(key, "crv"), LS_STR("P-256")))
		return false;
	return is_absent_or(key, "use", LS_STR("sig")) && is_absent_or(key, "alg", alg);
}

/*
 * Finds the key that the header names, or the only one that fits when it names none, and tries
 * it.
 */
static ls_id_result
check_signature(const token_parts *parts, ls_str key_set, bool rsa, ls_str alg,
				const ls_json_node *kid, ls_arena *arena, const char **why)
{
	const ls_json_node *keys = ls_node_member(ls_id_object(key_set, arena), "keys");
	const ls_json_node *found = NULL;
	int n = 0;
	ls_str one;
	ls_str other;

	*why = "the key set is none";
	if (!ls_node_is(keys, LS_JSON_ARRAY))
		return LS_ID_BAD;
	for (size_t i = 0; i < ls_node_count(keys) && i < KEYS_LIMIT; i++)
	{
		const ls_json_node *key = ls_node_element(keys, i);
		const ls_json_node *name = ls_node_member(key, "kid");

		if (!ls_node_is(key, LS_JSON_OBJECT))
			return LS_ID_BAD;
		if (kid != NULL && (name == NULL || !ls_str_eq(ls_node_string(name), ls_node_string(kid))))
			continue;
		if (!fits(key, rsa, alg))
			continue;
		n++;
		found = key;
	}
	*why = "no key of the set is the one it names";
	if (n == 0)
		return LS_ID_UNKNOWN_KEY;
	*why = "several keys could be meant";
	if (n > 1)
		return LS_ID_BAD;
	*why = "the signature is not good";
	if (!ls_base64url_decode(ls_node_member_string(found, rsa ? "n" : "x"), arena, &one) ||
		!ls_base64url_decode(ls_node_member_string(found, rsa ? "e" : "y"), arena, &other))
		return LS_ID_BAD;
	return (rsa ? ls_rs256_verify(one, other, parts->signed_text, parts->signature)
				: ls_es256_verify(one, other, parts->signed_text, parts->signature))
			   ? LS_ID_GOOD
			   : LS_ID_BAD;
}

/* ---- claims ---- */

/* Seconds since 1970, perhaps with a fraction. */
static bool
numeric_date(const ls_json_node *claims, const char *name, double *out)
{
	return ls_node_number(ls_node_member(claims, name), out) && *out >= 0 && *out < 1e12;
}

/* For us, and when it is for others too, made for us. */
static bool
is_audience(const ls_json_node *claims, ls_str client_id)
{
	const ls_json_node *aud = ls_node_member(claims, "aud");
	size_t n = ls_node_count(aud);
	bool ours = false;

	if (!is_absent_or(claims, "azp", client_id))
		return false;
	if (ls_node_is(aud, LS_JSON_STRING))
		return ls_str_eq(ls_node_string(aud), client_id);
	for (size_t i = 0; i < n; i++)
	{
		const ls_json_node *one = ls_node_element(aud, i);

		if (!ls_node_is(one, LS_JSON_STRING))
			return false;
		ours = ours || ls_str_eq(ls_node_string(one), client_id);
	}
	return ours && (n == 1 || ls_node_member(claims, "azp") != NULL);
}

/* One provider leaves the scheme out in tokens of old clients (its own documents say so). */
static bool
is_issuer(ls_str iss, ls_str issuer)
{
	return ls_str_eq(iss, issuer) || (ls_str_eq(issuer, LS_STR("https://accounts.google.com")) &&
									  ls_str_eq(iss, LS_STR("accounts.google.com")));
}

static const char *
check_times(const ls_json_node *claims, double now)
{
	double at;

	if (!numeric_date(claims, "exp", &at) || at <= now - LS_ID_LEEWAY)
		return "it has expired";
	if (!numeric_date(claims, "iat", &at) || at > now + LS_ID_LEEWAY)
		return "it is from the future, or does not say from when";
	if (at < now - LS_ID_AGE - LS_ID_LEEWAY)
		return "it is too old";
	if (ls_node_member(claims, "nbf") != NULL &&
		(!numeric_date(claims, "nbf", &at) || at > now + LS_ID_LEEWAY))
		return "it is not valid yet";
	return NULL;
}

/* What is wrong with the claims, or NULL. */
static const char *
read_claims(ls_str payload, const ls_id_expected *expected, ls_arena *arena, ls_id_person *person)
{
	const ls_json_node *claims = ls_id_object(payload, arena);
	const char *why;

	if (claims == NULL)
		return "its claims are not a JSON object";
	if (!is_issuer(ls_node_member_string(claims, "iss"), expected->issuer))
		return "it is of another issuer";
	if (!is_audience(claims, expected->client_id))
		return "it is for another audience";
	why = check_times(claims, (double) expected->now);
	if (why != NULL)
		return why;
	if (expected->nonce.len == 0 ||
		!ls_str_eq(ls_node_member_string(claims, "nonce"), expected->nonce))
		return "its nonce is another";
	memset(person, 0, sizeof(*person));
	person->subject = ls_node_member_string(claims, "sub");
	if (person->subject.len == 0 || person->subject.len > SUBJECT_LIMIT)
		return "it names nobody";
	person->email = ls_node_member_string(claims, "email");
	person->email_verified = ls_id_is_verified(claims);
	person->name = ls_node_member_string(claims, "name");
	person->hosted_domain = ls_node_member_string(claims, "hd");
	return NULL;
}

/* ---- authority ---- */

static bool
same_domain(ls_str a, ls_str b)
{
	if (a.len != b.len || a.len == 0)
		return false;
	for (size_t i = 0; i < a.len; i++)
	{
		char x = a.data[i] >= 'A' && a.data[i] <= 'Z' ? (char) (a.data[i] + 'a' - 'A') : a.data[i];
		char y = b.data[i] >= 'A' && b.data[i] <= 'Z' ? (char) (b.data[i] + 'a' - 'A') : b.data[i];

		if (x != y)
			return false;
	}
	return true;
}

bool
ls_id_is_authority(const ls_id_person *person, ls_str issuer, ls_str domains)
{
	size_t at = person->email.len;
	ls_str domain;

	while (at > 0 && person->email.data[at - 1] != '@')
		at--;
	if (at == 0 || at == person->email.len)
		return false;
	domain = ls_str_make(person->email.data + at, person->email.len - at);
	/* As its documents say: its own mail, and that of domains which it hosts. */
	if (ls_str_eq(issuer, LS_STR("https://accounts.google.com")) &&
		(same_domain(domain, LS_STR("gmail.com")) ||
		 same_domain(domain, LS_STR("googlemail.com")) ||
		 same_domain(domain, person->hosted_domain)))
		return true;
	while (domains.len > 0)
	{
		const char *comma = memchr(domains.data, ',', domains.len);
		size_t len = comma == NULL ? domains.len : (size_t) (comma - domains.data);
		ls_str one = ls_str_trim(ls_str_make(domains.data, len));

		if (same_domain(one, domain) || ls_str_eq(one, LS_STR("*")))
			return true;
		len += comma == NULL ? 0 : 1;
		domains = ls_str_make(domains.data + len, domains.len - len);
	}
	return false;
}

ls_id_result
ls_id_token_check(ls_str token, ls_str key_set, const ls_id_expected *expected, ls_arena *arena,
				  ls_id_person *person, const char **why)
{
	const ls_json_node *header;
	const ls_json_node *kid;
	token_parts parts;
	ls_id_result result;
	ls_str alg;
	bool rsa;

	*why = "it is no signed token";
	if (!split(token, arena, &parts) || (header = ls_id_object(parts.header, arena)) == NULL)
		return LS_ID_BAD;
	alg = ls_node_member_string(header, "alg");
	rsa = ls_str_eq(alg, LS_STR("RS256"));
	*why = "its algorithm is neither RS256 nor ES256";
	if (!rsa && !ls_str_eq(alg, LS_STR("ES256")))
		return LS_ID_BAD;
	*why = "it demands an extension";
	if (ls_node_member(header, "crit") != NULL)
		return LS_ID_BAD;
	*why = "its key has no name";
	kid = ls_node_member(header, "kid");
	if (kid != NULL && !ls_node_is(kid, LS_JSON_STRING))
		return LS_ID_BAD;
	result = check_signature(&parts, key_set, rsa, alg, kid, arena, why);
	if (result != LS_ID_GOOD)
		return result;
	*why = read_claims(parts.payload, expected, arena, person);
	return *why == NULL ? LS_ID_GOOD : LS_ID_BAD;
}
