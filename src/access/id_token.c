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
#include "src/access/id_token.h"

#include <stdlib.h>

#include "src/access/id_json.h"

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

/* Is the key made for signatures of that algorithm? */
static bool
fits(const ls_id_member *key, bool rsa, ls_str alg)
{
	const ls_id_member *kty = &key[0], *use = &key[1], *own_alg = &key[2], *crv = &key[4];

	if (!ls_str_eq(ls_id_string(kty), rsa ? LS_STR("RSA") : LS_STR("EC")))
		return false;
	if (!rsa && !ls_str_eq(ls_id_string(crv), LS_STR("P-256")))
		return false;
	return (!use->found || ls_str_eq(ls_id_string(use), LS_STR("sig"))) &&
		   (!own_alg->found || ls_str_eq(ls_id_string(own_alg), alg));
}

/*
 * Finds the key that the header names, or the only one that fits when it names none, and tries
 * it.
 */
static ls_id_result
check_signature(const token_parts *parts, ls_str key_set, bool rsa, ls_str alg,
				const ls_id_member *kid, ls_arena *arena, const char **why)
{
	ls_id_member set[] = {{"keys"}};
	ls_json j;
	ls_json_value value;
	ls_str one = LS_STR("");
	ls_str other = LS_STR("");
	int n = 0;

	*why = "the key set is none";
	if (!ls_id_members(key_set, arena, set, 1) || !set[0].found || set[0].type != LS_JSON_ARRAY)
		return LS_ID_BAD;
	ls_json_init(&j, set[0].text, arena, LS_ID_DEPTH);
	if (!ls_json_read(&j, &value))
		return LS_ID_BAD;
	for (int i = 0; i < KEYS_LIMIT && ls_json_element(&j); i++)
	{
		ls_id_member key[] = {{"kty"}, {"use"}, {"alg"}, {"kid"}, {"crv"},
							  {"n"},   {"e"},   {"x"},   {"y"}};
		ls_str raw;

		if (!ls_json_skip(&j, &raw) || !ls_id_members(raw, arena, key, 9))
			return LS_ID_BAD;
		if (kid->found ? !key[3].found || !ls_str_eq(ls_id_string(&key[3]), ls_id_string(kid))
					   : false)
			continue;
		if (!fits(key, rsa, alg))
			continue;
		n++;
		one = ls_id_string(&key[rsa ? 5 : 7]);
		other = ls_id_string(&key[rsa ? 6 : 8]);
	}
	*why = "no key of the set is the one it names";
	if (n == 0)
		return LS_ID_UNKNOWN_KEY;
	*why = "several keys could be meant";
	if (n > 1)
		return LS_ID_BAD;
	*why = "the signature is not good";
	if (!ls_base64url_decode(one, arena, &one) || !ls_base64url_decode(other, arena, &other))
		return LS_ID_BAD;
	return (rsa ? ls_rs256_verify(one, other, parts->signed_text, parts->signature)
				: ls_es256_verify(one, other, parts->signed_text, parts->signature))
			   ? LS_ID_GOOD
			   : LS_ID_BAD;
}

/* ---- claims ---- */

/* Seconds since 1970, perhaps with a fraction. */
static bool
numeric_date(const ls_id_member *member, double *out)
{
	char digits[32];
	char *end;

	if (!member->found || member->type != LS_JSON_NUMBER || member->text.len >= sizeof(digits))
		return false;
	memcpy(digits, member->text.data, member->text.len);
	digits[member->text.len] = '\0';
	*out = strtod(digits, &end);
	return *end == '\0' && *out >= 0 && *out < 1e12;
}

/* For us, and when it is for others too, made for us. */
static bool
is_audience(const ls_id_member *aud, const ls_id_member *azp, ls_str client_id, ls_arena *arena)
{
	ls_json j;
	ls_json_value value;
	bool ours = false;
	int n = 0;

	if (!aud->found || (azp->found && !ls_str_eq(ls_id_string(azp), client_id)))
		return false;
	if (aud->type == LS_JSON_STRING)
		return ls_str_eq(aud->text, client_id);
	if (aud->type != LS_JSON_ARRAY)
		return false;
	ls_json_init(&j, aud->text, arena, LS_ID_DEPTH);
	if (!ls_json_read(&j, &value))
		return false;
	for (; ls_json_element(&j); n++)
	{
		if (!ls_json_read(&j, &value) || value.type != LS_JSON_STRING)
			return false;
		ours = ours || ls_str_eq(value.text, client_id);
	}
	return ours && (n == 1 || azp->found);
}

/* One provider leaves the scheme out in tokens of old clients (its own documents say so). */
static bool
is_issuer(ls_str iss, ls_str issuer)
{
	return ls_str_eq(iss, issuer) || (ls_str_eq(issuer, LS_STR("https://accounts.google.com")) &&
									  ls_str_eq(iss, LS_STR("accounts.google.com")));
}

static const char *
check_times(const ls_id_member *exp, const ls_id_member *nbf, const ls_id_member *iat, double now)
{
	double at;

	if (!numeric_date(exp, &at) || at <= now - LS_ID_LEEWAY)
		return "it has expired";
	if (!numeric_date(iat, &at) || at > now + LS_ID_LEEWAY)
		return "it is from the future, or does not say from when";
	if (at < now - LS_ID_AGE - LS_ID_LEEWAY)
		return "it is too old";
	if (nbf->found && (!numeric_date(nbf, &at) || at > now + LS_ID_LEEWAY))
		return "it is not valid yet";
	return NULL;
}

/* What is wrong with the claims, or NULL. */
static const char *
read_claims(ls_str payload, const ls_id_expected *expected, ls_arena *arena, ls_id_person *person)
{
	ls_id_member m[] = {{"iss"},  {"sub"}, {"aud"},   {"azp"},   {"exp"},
						{"nbf"},  {"iat"}, {"nonce"}, {"email"}, {"email_verified"},
						{"name"}, {"hd"}};
	const char *why;

	if (!ls_id_members(payload, arena, m, 12))
		return "its claims are not a JSON object";
	if (!is_issuer(ls_id_string(&m[0]), expected->issuer))
		return "it is of another issuer";
	if (!is_audience(&m[2], &m[3], expected->client_id, arena))
		return "it is for another audience";
	why = check_times(&m[4], &m[5], &m[6], (double) expected->now);
	if (why != NULL)
		return why;
	if (expected->nonce.len == 0 || !ls_str_eq(ls_id_string(&m[7]), expected->nonce))
		return "its nonce is another";
	memset(person, 0, sizeof(*person));
	person->subject = ls_id_string(&m[1]);
	if (person->subject.len == 0 || person->subject.len > SUBJECT_LIMIT)
		return "it names nobody";
	person->email = ls_id_string(&m[8]);
	person->email_verified =
		m[9].found && (m[9].type == LS_JSON_TRUE || ls_str_eq(ls_id_string(&m[9]), LS_STR("true")));
	person->name = ls_id_string(&m[10]);
	person->hosted_domain = ls_id_string(&m[11]);
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
	ls_id_member header[] = {{"alg"}, {"kid"}, {"crit"}};
	token_parts parts;
	ls_id_result result;
	ls_str alg;
	bool rsa;

	*why = "it is no signed token";
	if (!split(token, arena, &parts) || !ls_id_members(parts.header, arena, header, 3))
		return LS_ID_BAD;
	alg = ls_id_string(&header[0]);
	rsa = ls_str_eq(alg, LS_STR("RS256"));
	*why = "its algorithm is neither RS256 nor ES256";
	if (!rsa && !ls_str_eq(alg, LS_STR("ES256")))
		return LS_ID_BAD;
	*why = "it demands an extension";
	if (header[2].found)
		return LS_ID_BAD;
	*why = "its key has no name";
	if (header[1].found && header[1].type != LS_JSON_STRING)
		return LS_ID_BAD;
	result = check_signature(&parts, key_set, rsa, alg, &header[1], arena, why);
	if (result != LS_ID_GOOD)
		return result;
	*why = read_claims(parts.payload, expected, arena, person);
	return *why == NULL ? LS_ID_GOOD : LS_ID_BAD;
}
