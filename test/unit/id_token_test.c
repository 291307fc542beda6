/* id_token_test.c: base64, ID tokens and their keys, answers of identity providers. */
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <stdarg.h>
#include <stdlib.h>

#include "src/identity/id_token.h"
#include "test/unit/tap.h"

static ls_arena *arena;

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_str
b64(const void *data, size_t len)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_base64url(&buf, data, len);
	return ls_str_make(buf.data, buf.len);
}

static ls_str
format(const char *pattern, ...)
{
	static char text[65536 * 2];
	va_list args;
	int len;

	va_start(args, pattern);
	len = vsnprintf(text, sizeof(text), pattern, args);
	va_end(args);
	return ls_arena_strdup(arena, ls_str_make(text, (size_t) len));
}

/* ---- keys and signatures ---- */

static ls_str
number_of(EVP_PKEY *key, const char *name)
{
	unsigned char bytes[1024];
	BIGNUM *n = NULL;
	int len;

	if (EVP_PKEY_get_bn_param(key, name, &n) != 1)
		return LS_STR("");
	len = name[0] == 'q' ? BN_bn2binpad(n, bytes, (EVP_PKEY_get_bits(key) + 7) / 8)
						 : BN_bn2bin(n, bytes);
	BN_free(n);
	return b64(bytes, (size_t) len);
}

static ls_str
jwk(EVP_PKEY *key, const char *more)
{
	ls_str a, b;

	if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA)
	{
		a = number_of(key, "n");
		b = number_of(key, "e");
		return format("{\"kty\":\"RSA\",\"n\":\"%.*s\",\"e\":\"%.*s\"%s}", (int) a.len, a.data,
					  (int) b.len, b.data, more);
	}
	a = number_of(key, "qx");
	b = number_of(key, "qy");
	return format("{\"kty\":\"EC\",\"crv\":\"P-%d\",\"x\":\"%.*s\",\"y\":\"%.*s\"%s}",
				  EVP_PKEY_get_bits(key), (int) a.len, a.data, (int) b.len, b.data, more);
}

static ls_str
set_of(ls_str one, ls_str two)
{
	return format("{\"keys\":[%.*s%s%.*s]}", (int) one.len, one.data, two.len > 0 ? "," : "",
				  (int) two.len, two.data);
}

static ls_str
sign(EVP_PKEY *key, ls_str text)
{
	static unsigned char out[2048];
	size_t len = sizeof(out);
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
		EVP_DigestSign(context, out, &len, (const unsigned char *) text.data, text.len) != 1)
		abort();
	EVP_MD_CTX_free(context);
	if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC)
	{
		const unsigned char *der = out;
		ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long) len);
		int part = (EVP_PKEY_get_bits(key) + 7) / 8;
		unsigned char raw[200];

		BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, part);
		BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + part, part);
		ECDSA_SIG_free(sig);
		memcpy(out, raw, len = (size_t) part * 2);
	}
	return ls_arena_strdup(arena, ls_str_make((char *) out, len));
}

static ls_str
signed_text(const char *header, ls_str claims)
{
	ls_str h = b64(header, strlen(header));
	ls_str c = b64(claims.data, claims.len);

	return format("%.*s.%.*s", (int) h.len, h.data, (int) c.len, c.data);
}

static ls_str
with_signature(ls_str text, ls_str signature)
{
	ls_str s = b64(signature.data, signature.len);

	return format("%.*s.%.*s", (int) text.len, text.data, (int) s.len, s.data);
}

static ls_str
token(EVP_PKEY *key, const char *header, const char *claims)
{
	ls_str text = signed_text(header, str(claims));

	return with_signature(text, sign(key, text));
}

/* ---- the test ---- */

#define NOW 1700000000
#define GOOD                                                                                  \
	"{\"iss\":\"https://id.example\",\"sub\":\"s1\",\"aud\":\"me\",\"exp\":1700000300,"       \
	"\"iat\":1700000000,\"nonce\":\"N\",\"email\":\"a@example.org\",\"email_verified\":true," \
	"\"name\":\"Ann\"}"

static const char *why;
static ls_id_person person;

static ls_id_result
check(ls_str text, ls_str keys)
{
	ls_id_expected expected = {LS_STR("https://id.example"), LS_STR("me"), LS_STR("N"), NOW};

	return ls_id_token_check(text, keys, &expected, arena, &person, &why);
}

static void
result_is(ls_str text, ls_str keys, ls_id_result expected, const char *name)
{
	ls_id_result result = check(text, keys);

	is_int(result, expected, name);
	if (result != expected)
		printf("#   %s\n", why == NULL ? "" : why);
}

static void
claims_are(EVP_PKEY *key, ls_str keys, const char *claims, const char *expected)
{
	ls_id_result result = check(token(key, "{\"alg\":\"ES256\",\"kid\":\"e\"}", claims), keys);

	ok(expected == NULL ? result == LS_ID_GOOD
						: result == LS_ID_BAD && why != NULL && strcmp(why, expected) == 0,
	   format("%s: %s", expected == NULL ? "taken" : expected, claims).data);
	if (why != NULL && (expected == NULL || strcmp(why, expected) != 0))
		printf("#   %s\n", why);
}

static void
test_base64(void)
{
	static const char *const bad[] = {"A",  "AB=", "AB==", "A B", "AB+/",
									  "AC", "AAB", "AA\n", "QQ.", "QUJ"};
	ls_str out;
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_base64(&buf, "\xfb\xff\xfe?", 4);
	ls_buf_char(&buf, ' ');
	ls_base64url(&buf, "\xfb\xff\xfe?", 4);
	is_str(ls_str_make(buf.data, buf.len), "+//+Pw== -__-Pw", "both alphabets");
	ok(ls_base64url_decode(LS_STR("-__-Pw"), arena, &out) &&
		   ls_str_eq(out, LS_STR("\xfb\xff\xfe?")),
	   "and back");
	ok(ls_base64url_decode(LS_STR(""), arena, &out) && out.len == 0, "nothing");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!ls_base64url_decode(str(bad[i]), arena, &out), format("not base64: %s", bad[i]).data);
}

static void
test_keys(void)
{
	EVP_PKEY *rsa = EVP_RSA_gen(2048), *small = EVP_RSA_gen(2047), *other = EVP_RSA_gen(2048);
	EVP_PKEY *ec = EVP_EC_gen("P-256"), *curve = EVP_EC_gen("P-384");
	const char *rs = "{\"alg\":\"RS256\",\"kid\":\"r\"}", *es = "{\"alg\":\"ES256\",\"kid\":\"e\"}";
	ls_str both = set_of(jwk(rsa, ",\"kid\":\"r\",\"use\":\"sig\",\"alg\":\"RS256\""),
						 jwk(ec, ",\"kid\":\"e\""));
	ls_str good = token(rsa, rs, GOOD), text, n, mac;
	unsigned char hash[32];
	unsigned int hash_len = sizeof(hash);
	char *bent;

	result_is(good, both, LS_ID_GOOD, "RS256");
	is_str(person.subject, "s1", "who");
	is_str(person.email, "a@example.org", "the address");
	ok(person.email_verified, "verified");
	is_str(person.name, "Ann", "the name");
	result_is(token(ec, es, GOOD), both, LS_ID_GOOD, "ES256");
	result_is(token(rsa, "{\"alg\":\"RS256\"}", GOOD), both, LS_ID_GOOD, "no key named, one fits");
	result_is(token(rsa, "{\"alg\":\"RS256\"}", GOOD), set_of(jwk(rsa, ""), jwk(other, "")),
			  LS_ID_BAD, "no key named, two fit");
	result_is(token(rsa, "{\"alg\":\"RS256\",\"kid\":\"x\"}", GOOD), both, LS_ID_UNKNOWN_KEY,
			  "a key that is not there");
	result_is(token(rsa, "{\"alg\":\"RS256\",\"kid\":\"e\"}", GOOD), both, LS_ID_UNKNOWN_KEY,
			  "the name of another kind of key");
	result_is(token(rsa, "{\"alg\":\"RS256\",\"kid\":7}", GOOD), both, LS_ID_BAD,
			  "a name that is none");
	result_is(token(other, rs, GOOD), both, LS_ID_BAD, "another key's signature");
	result_is(token(rsa, rs, GOOD), set_of(jwk(rsa, ",\"kid\":\"r\",\"use\":\"enc\""), LS_STR("")),
			  LS_ID_UNKNOWN_KEY, "a key for encryption");
	result_is(token(rsa, rs, GOOD),
			  set_of(jwk(rsa, ",\"kid\":\"r\",\"alg\":\"PS256\""), LS_STR("")), LS_ID_UNKNOWN_KEY,
			  "a key for another algorithm");
	result_is(token(rsa, rs, GOOD),
			  set_of(jwk(rsa, ",\"kid\":\"r\""), jwk(other, ",\"kid\":\"r\"")), LS_ID_BAD,
			  "two of one name");
	result_is(token(small, rs, GOOD), set_of(jwk(small, ",\"kid\":\"r\""), LS_STR("")), LS_ID_BAD,
			  "an RSA key of 2047 bits");
	result_is(token(curve, es, GOOD), set_of(jwk(curve, ",\"kid\":\"e\""), LS_STR("")),
			  LS_ID_UNKNOWN_KEY, "another curve");
	n = number_of(ec, "qx");
	result_is(
		token(ec, es, GOOD),
		set_of(
			format("{\"kty\":\"EC\",\"kid\":\"e\",\"crv\":\"P-256\",\"x\":\"%.*s\",\"y\":\"%.*s\"}",
				   (int) n.len, n.data, (int) n.len, n.data),
			LS_STR("")),
		LS_ID_BAD, "a point that is not on the curve");
	n = number_of(rsa, "n");
	result_is(token(rsa, rs, GOOD),
			  set_of(format("{\"kty\":\"RSA\",\"kid\":\"r\",\"n\":\"%.*s\",\"e\":\"AQ\"}",
							(int) n.len, n.data),
					 LS_STR("")),
			  LS_ID_BAD, "an exponent of 1");
	result_is(token(rsa, rs, GOOD), LS_STR("{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"r\"}]}"),
			  LS_ID_BAD, "a key without numbers");
	result_is(good, LS_STR("{\"keys\":[]}"), LS_ID_UNKNOWN_KEY, "no keys");
	result_is(good, LS_STR("{}"), LS_ID_BAD, "no key set");
	result_is(good, LS_STR("["), LS_ID_BAD, "no JSON");

	/* Algorithms that are none. */
	text = signed_text("{\"alg\":\"none\"}", LS_STR(GOOD));
	result_is(with_signature(text, LS_STR("")), both, LS_ID_BAD, "alg none");
	text = signed_text("{\"alg\":\"HS256\",\"kid\":\"r\"}", LS_STR(GOOD));
	HMAC(EVP_sha256(), n.data, (int) n.len, (const unsigned char *) text.data, text.len, hash,
		 &hash_len);
	mac = ls_str_make((char *) hash, hash_len);
	result_is(with_signature(text, mac), both, LS_ID_BAD, "an HMAC with the public key");
	text = signed_text(rs, LS_STR(GOOD));
	result_is(with_signature(text, mac), both, LS_ID_BAD, "the same that says RS256");
	result_is(with_signature(text, LS_STR("")), both, LS_ID_BAD, "no signature");
	text = signed_text(es, LS_STR(GOOD));
	bent = calloc(1, 64);
	result_is(with_signature(text, ls_str_make(bent, 64)), both, LS_ID_BAD,
			  "an ES256 signature of zeros");
	free(bent);
	result_is(token(rsa, "{\"alg\":\"RS256\",\"kid\":\"r\",\"crit\":[\"x\"]}", GOOD), both,
			  LS_ID_BAD, "an extension that counts");
	result_is(token(rsa, "{\"alg\":\"RS256\",\"alg\":\"RS256\",\"kid\":\"r\"}", GOOD), both,
			  LS_ID_BAD, "a member that is twice");
	result_is(token(rsa, "{\"alg\":\"RS512\",\"kid\":\"r\"}", GOOD), both, LS_ID_BAD, "RS512");

	/* Every bit counts, and nothing may follow. */
	bent = malloc(good.len);
	for (size_t i = 0; i < good.len; i += good.len / 40)
	{
		memcpy(bent, good.data, good.len);
		bent[i] = bent[i] == 'A' ? 'B' : 'A';
		if (check(ls_str_make(bent, good.len), both) == LS_ID_GOOD)
			ok(false, format("changed at %zu", i).data);
	}
	free(bent);
	result_is(format("%.*s.", (int) good.len, good.data), both, LS_ID_BAD, "a dot more");
	result_is(ls_str_make(good.data, good.len - 2), both, LS_ID_BAD, "shorter");
	result_is(LS_STR(""), both, LS_ID_BAD, "nothing");
	result_is(LS_STR(".."), both, LS_ID_BAD, "dots");

	EVP_PKEY_free(rsa);
	EVP_PKEY_free(small);
	EVP_PKEY_free(other);
	EVP_PKEY_free(ec);
	EVP_PKEY_free(curve);
}

#define CLAIMS(iss, aud, exp, iat, nonce, more)                                   \
	"{\"iss\":" iss ",\"sub\":\"s\",\"aud\":" aud ",\"exp\":" exp ",\"iat\":" iat \
	",\"nonce\":" nonce more "}"
#define I "\"https://id.example\""
#define A "\"me\""

static void
test_claims(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	ls_str keys = set_of(jwk(key, ",\"kid\":\"e\""), LS_STR(""));

	claims_are(key, keys, CLAIMS(I, A, "1700000300", "1700000000", "\"N\"", ""), NULL);
	ok(person.email.len == 0 && !person.email_verified, "without an address");
	claims_are(key, keys, CLAIMS(I, A, "1700000300.5", "1700000000.25", "\"N\"", ""), NULL);
	claims_are(key, keys,
			   CLAIMS("\"https://id.example/\"", A, "1700000300", "1700000000", "\"N\"", ""),
			   "it is of another issuer");
	claims_are(key, keys, CLAIMS("null", A, "1700000300", "1700000000", "\"N\"", ""),
			   "it is of another issuer");
	claims_are(key, keys, CLAIMS(I, "\"you\"", "1700000300", "1700000000", "\"N\"", ""),
			   "it is for another audience");
	claims_are(key, keys, CLAIMS(I, "[]", "1700000300", "1700000000", "\"N\"", ""),
			   "it is for another audience");
	claims_are(key, keys, CLAIMS(I, "[\"me\"]", "1700000300", "1700000000", "\"N\"", ""), NULL);
	claims_are(key, keys, CLAIMS(I, "[\"me\",\"you\"]", "1700000300", "1700000000", "\"N\"", ""),
			   "it is for another audience");
	claims_are(
		key, keys,
		CLAIMS(I, "[\"me\",\"you\"]", "1700000300", "1700000000", "\"N\"", ",\"azp\":\"me\""),
		NULL);
	claims_are(
		key, keys,
		CLAIMS(I, "[\"me\",\"you\"]", "1700000300", "1700000000", "\"N\"", ",\"azp\":\"you\""),
		"it is for another audience");
	claims_are(key, keys, CLAIMS(I, A, "1700000300", "1700000000", "\"N\"", ",\"azp\":\"you\""),
			   "it is for another audience");
	claims_are(key, keys, CLAIMS(I, A, "1700000300", "1700000000", "\"N\"", ",\"azp\":null"),
			   "it is for another audience");
	claims_are(key, keys, CLAIMS(I, "{\"me\":1}", "1700000300", "1700000000", "\"N\"", ""),
			   "it is for another audience");
	claims_are(key, keys, CLAIMS(I, A, "1699999940", "1699999900", "\"N\"", ""), "it has expired");
	claims_are(key, keys, CLAIMS(I, A, "1699999941", "1699999900", "\"N\"", ""), NULL);
	claims_are(key, keys, CLAIMS(I, A, "\"1700000300\"", "1700000000", "\"N\"", ""),
			   "it has expired");
	claims_are(key, keys, CLAIMS(I, A, "1e400", "1700000000", "\"N\"", ""),
			   "its claims are not a JSON object");
	claims_are(key, keys, CLAIMS(I, A, "1e300", "1700000000", "\"N\"", ""), "it has expired");
	claims_are(key, keys, CLAIMS(I, A, "99999999999999999999", "1700000000", "\"N\"", ""),
			   "its claims are not a JSON object");
	claims_are(key, keys, CLAIMS(I, A, "1700000300", "1700000061", "\"N\"", ""),
			   "it is from the future, or does not say from when");
	claims_are(key, keys, CLAIMS(I, A, "1700000300", "null", "\"N\"", ""),
			   "it is from the future, or does not say from when");
	claims_are(key, keys, CLAIMS(I, A, "1700000300", "1699999339", "\"N\"", ""), "it is too old");
	claims_are(key, keys, CLAIMS(I, A, "1700000300", "1700000000", "\"N\"", ",\"nbf\":1700000061"),
			   "it is not valid yet");
	claims_are(key, keys, CLAIMS(I, A, "1700000300", "1700000000", "\"M\"", ""),
			   "its nonce is another");
	claims_are(key, keys, CLAIMS(I, A, "1700000300", "1700000000", "null", ""),
			   "its nonce is another");
	claims_are(key, keys, CLAIMS(I, A, "1700000300", "1700000000", "\"N\"", ",\"nonce\":\"N\""),
			   "its claims are not a JSON object");
	claims_are(key, keys,
			   CLAIMS(I, A, "1700000300", "1700000000", "\"N\"",
					  ",\"email\":\"b@x.org\",\"email_verified\":\"false\""),
			   NULL);
	ok(!person.email_verified, "\"false\" is not true");
	claims_are(key, keys,
			   CLAIMS(I, A, "1700000300", "1700000000", "\"N\"", ",\"x\":{\"y\":1,\"y\":2}"),
			   "its claims are not a JSON object");
	claims_are(
		key, keys,
		CLAIMS(I, A, "1700000300", "1700000000", "\"N\"", ",\"email\":\"a@x.org\\u0000.org\""),
		"its claims are not a JSON object");
	claims_are(
		key, keys,
		CLAIMS(I, A, "1700000300", "1700000000", "\"N\"", ",\"x\":[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]"),
		NULL);
	claims_are(key, keys,
			   CLAIMS(I, A, "1700000300", "1700000000", "\"N\"",
					  ",\"x\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]"),
			   "its claims are not a JSON object");
	claims_are(key, keys, "[]", "its claims are not a JSON object");
	claims_are(key, keys, "{} {}", "its claims are not a JSON object");
	claims_are(key, keys,
			   "{\"iss\":\"https://"
			   "id.example\",\"aud\":\"me\",\"exp\":1700000300,\"iat\":1700000000,\"nonce\":\"N\","
			   "\"sub\":\"\"}",
			   "it names nobody");
	EVP_PKEY_free(key);
}

static void
addresses(const char *json, const char *email, bool verified)
{
	ls_id_person p = {{0}};
	bool read = ls_id_read_addresses(str(json), arena, &p);

	ok(email == NULL ? !read
					 : read && ls_str_eq(p.email, str(email)) && p.email_verified == verified,
	   format("addresses: %s", json).data);
}

static void
test_replies(void)
{
	ls_id_discovery d;
	ls_id_person p = {LS_STR("s")};
	ls_str access, id;

#define ENDPOINTS                                                                              \
	"\"issuer\":\"i\",\"authorization_endpoint\":\"a\",\"token_endpoint\":\"t\",\"jwks_uri\":" \
	"\"j\""
	ok(ls_id_read_discovery(LS_STR("{" ENDPOINTS "}"), arena, &d) && !d.secret_in_body &&
		   d.userinfo_endpoint.len == 0,
	   "discovery");
	ok(ls_id_read_discovery(
		   LS_STR("{" ENDPOINTS ",\"token_endpoint_auth_methods_supported\":[\"client_secret_"
								"post\"],\"userinfo_endpoint\":\"u\"}"),
		   arena, &d) &&
		   d.secret_in_body && ls_str_eq(d.userinfo_endpoint, LS_STR("u")),
	   "the secret in the body");
	ok(ls_id_read_discovery(
		   LS_STR("{" ENDPOINTS
				  ",\"token_endpoint_auth_methods_supported\":[{},\"client_secret_basic\"]}"),
		   arena, &d) &&
		   !d.secret_in_body,
	   "HTTP Basic");
	ok(!ls_id_read_discovery(
		   LS_STR("{\"issuer\":\"i\",\"authorization_endpoint\":\"a\",\"token_endpoint\":\"t\"}"),
		   arena, &d),
	   "no keys");
	ok(!ls_id_read_discovery(LS_STR("{" ENDPOINTS ",\"issuer\":\"x\"}"), arena, &d), "two issuers");
	ok(ls_id_read_token(LS_STR("{\"access_token\":\"a\",\"id_token\":\"i\"}"), arena, &access,
						&id) &&
		   ls_str_eq(id, LS_STR("i")),
	   "tokens");
	ok(!ls_id_read_token(LS_STR("{\"error\":\"bad_verification_code\"}"), arena, &access, &id),
	   "no token");
	ok(ls_id_read_userinfo(LS_STR("{\"sub\":\"s\",\"email\":\"e@x.org\",\"email_verified\":true}"),
						   arena, &p) &&
		   p.email_verified,
	   "userinfo");
	ok(!ls_id_read_userinfo(LS_STR("{\"sub\":\"t\",\"email\":\"e@x.org\",\"email_verified\":true}"),
							arena, &p),
	   "userinfo of somebody else");
	ok(ls_id_read_user(LS_STR("{\"login\":\"ann\",\"id\":42,\"name\":null}"), arena, &p) &&
		   ls_str_eq(p.subject, LS_STR("42")) && ls_str_eq(p.name, LS_STR("ann")),
	   "a user");
	ok(!ls_id_read_user(LS_STR("{\"login\":\"ann\",\"id\":\"42\"}"), arena, &p),
	   "an id that is no number");
	ok(!ls_id_read_user(LS_STR("{\"login\":\"ann\",\"id\":4.2e1}"), arena, &p),
	   "one of two spellings");
	ok(!ls_id_read_user(LS_STR("{\"login\":\"ann\",\"id\":-0}"), arena, &p), "nor zero");
	ok(!ls_id_read_user(LS_STR("{\"login\":\"ann\",\"id\":18446744073709551658}"), arena, &p),
	   "one of more than 64 bits");
	ok(ls_id_read_user(LS_STR("{\"id\":9223372036854775807}"), arena, &p) &&
		   ls_str_eq(p.subject, LS_STR("9223372036854775807")),
	   "the largest");
	addresses("[{\"email\":\"a@x\",\"primary\":false,\"verified\":true},{\"email\":\"b@x\","
			  "\"primary\":true,\"verified\":true}]",
			  "b@x", true);
	addresses("[{\"email\":\"a@x\",\"primary\":false,\"verified\":true},{\"email\":\"b@x\","
			  "\"primary\":true,\"verified\":false}]",
			  "a@x", true);
	addresses("[{\"email\":\"a@x\",\"primary\":false,\"verified\":false},{\"email\":\"b@x\","
			  "\"primary\":true,\"verified\":false}]",
			  "b@x", false);
	addresses("[{\"email\":\"a@x\",\"primary\":true,\"verified\":\"true\"}]", "a@x", false);
	addresses("[]", "", false);
	addresses("{}", NULL, false);
	addresses("[1]", NULL, false);
	addresses("[{\"email\":\"a@x\"},", NULL, false);
}

/* Who has the last word on whose an address is. */
static void
authority(const char *issuer, const char *email, const char *hosted, const char *domains,
		  bool expected)
{
	ls_id_person p = {.email = ls_str_make(email, strlen(email)),
					  .hosted_domain = ls_str_make(hosted, strlen(hosted))};

	ok(ls_id_is_authority(&p, ls_str_make(issuer, strlen(issuer)),
						  ls_str_make(domains, strlen(domains))) == expected,
	   email);
}

static void
test_authority(void)
{
	static const char google[] = "https://accounts.google.com";
	static const char other[] = "https://id.example.org";

	authority(google, "ann@gmail.com", "", "", true);
	authority(google, "Ann@GoogleMail.com", "", "", true);
	authority(google, "ann@acme.test", "acme.test", "", true);
	authority(google, "ann@ACME.test", "acme.TEST", "", true);
	authority(google, "ann@acme.test", "", "", false);
	authority(google, "ann@acme.test", "other.test", "", false);
	authority(google, "ann@acme.test", "test", "", false);
	authority(google, "ann@evil.test@gmail.com", "", "", true);
	authority(google, "ann@gmail.com@evil.test", "", "", false);
	authority(google, "ann@notgmail.com", "", "", false);
	authority(google, "gmail.com", "", "", false);
	authority(google, "ann@", "", "", false);
	authority(other, "ann@gmail.com", "gmail.com", "", false);
	authority(other, "ann@acme.test", "acme.test", "", false);
	authority("", "ann@gmail.com", "gmail.com", "", false);
	authority(other, "ann@acme.test", "", "acme.test", true);
	authority(other, "ann@acme.test", "", " other.test , Acme.Test", true);
	authority(other, "ann@sub.acme.test", "", "acme.test", false);
	authority(other, "ann@acme.test", "", "acme.tes, cme.test,,", false);
	authority(other, "ann@acme.test", "", "other.test,*", true);
	authority(other, "ann", "", "*", false);
	authority(other, "", "", "*", false);
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	test_base64();
	test_keys();
	test_claims();
	test_replies();
	test_authority();
	ls_arena_destroy(arena);
	return done_testing();
}
