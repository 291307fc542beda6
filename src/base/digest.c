/*-------------------------------------------------------------------------
 *
 * digest.c
 *	  SHA-256, HMAC and hexadecimal (pure): what both halves need of OpenSSL.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
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
