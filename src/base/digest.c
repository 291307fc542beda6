/*-------------------------------------------------------------------------
 *
 * digest.c
 *	  Hashes, HMAC, hexadecimal and signatures (pure): what both halves need of
 *	  OpenSSL.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/sha.h>

void
ls_sha1(const void *data, size_t len, uint8_t out[LS_SHA1_LENGTH])
{
	SHA1(data, len, out);
}

void
ls_sha256(const void *data, size_t len, uint8_t out[LS_SHA256_LENGTH])
{
	SHA256(data, len, out);
}

bool
ls_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
			   uint8_t out[LS_SHA256_LENGTH])
{
	unsigned int out_len = LS_SHA256_LENGTH;

	return key_len <= INT_MAX &&
		   HMAC(EVP_sha256(), key, (int) key_len, data, len, out, &out_len) != NULL;
}

void
ls_hex(const void *data, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
	{
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	out[2 * len] = '\0';
}

/* ---- signatures ---- */

#define ES256_PART 32
#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 8192

static const unsigned char *
bytes_of(ls_str s)
{
	return (const unsigned char *) s.data;
}

static EVP_PKEY *
make_key(const char *type, OSSL_PARAM_BLD *build)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;

	if (params == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
		EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(context);
	OSSL_PARAM_free(params);
	return key;
}

/* With SHA-256, and PKCS #1 padding where there is one. */
static bool
verify(EVP_PKEY *key, ls_str data, const unsigned char *signature, size_t len)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool good = context != NULL &&
				EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
				EVP_DigestVerify(context, signature, len, bytes_of(data), data.len) == 1;

	EVP_MD_CTX_free(context);
	return good;
}

bool
ls_rs256_verify(ls_str modulus, ls_str exponent, ls_str data, ls_str signature)
{
	OSSL_PARAM_BLD *build = NULL;
	EVP_PKEY *key = NULL;
	BIGNUM *n = NULL;
	BIGNUM *e = NULL;
	bool good = false;

	if (modulus.len > RSA_BITS_MAX / 8 || exponent.len == 0 || exponent.len > 4)
		return false;
	n = BN_bin2bn(bytes_of(modulus), (int) modulus.len, NULL);
	e = BN_bin2bn(bytes_of(exponent), (int) exponent.len, NULL);
	build = OSSL_PARAM_BLD_new();
	if (n != NULL && e != NULL && build != NULL && BN_num_bits(n) >= RSA_BITS_MIN && BN_is_odd(e) &&
		!BN_is_one(e) && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
		OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e) == 1)
		key = make_key("RSA", build);
	if (key != NULL)
		good = verify(key, data, bytes_of(signature), signature.len);
	EVP_PKEY_free(key);
	OSSL_PARAM_BLD_free(build);
	BN_free(n);
	BN_free(e);
	return good;
}

/* r and s as OpenSSL wants them, in DER; the length, or 0. */
static int
es256_der(ls_str signature, unsigned char **der)
{
	ECDSA_SIG *parsed = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(bytes_of(signature), ES256_PART, NULL);
	BIGNUM *s = BN_bin2bn(bytes_of(signature) + ES256_PART, ES256_PART, NULL);
	int len = 0;

	if (parsed != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(parsed, r, s) == 1)
	{
		r = s = NULL; /* they are its own now */
		len = i2d_ECDSA_SIG(parsed, der);
	}
	BN_free(r);
	BN_free(s);
	ECDSA_SIG_free(parsed);
	return len < 0 ? 0 : len;
}

bool
ls_es256_verify(ls_str x, ls_str y, ls_str data, ls_str signature)
{
	unsigned char point[1 + 2 * ES256_PART] = {4}; /* uncompressed */
	unsigned char *der = NULL;
	OSSL_PARAM_BLD *build = NULL;
	EVP_PKEY *key = NULL;
	bool good = false;
	int len;

	if (x.len != ES256_PART || y.len != ES256_PART || signature.len != 2 * ES256_PART)
		return false;
	memcpy(point + 1, x.data, ES256_PART);
	memcpy(point + 1 + ES256_PART, y.data, ES256_PART);
	build = OSSL_PARAM_BLD_new();
	if (build != NULL &&
		OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) == 1 &&
		OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)) == 1)
		key = make_key("EC", build);
	len = key == NULL ? 0 : es256_der(signature, &der);
	if (len > 0)
		good = verify(key, data, der, (size_t) len);
	OPENSSL_free(der);
	EVP_PKEY_free(key);
	OSSL_PARAM_BLD_free(build);
	return good;
}
