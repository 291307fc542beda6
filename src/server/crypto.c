/*-------------------------------------------------------------------------
 *
 * crypto.c
 *	  Random numbers, passwords and ids; with digest.c the only user of OpenSSL.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "port.h"

void
ls_random_bytes(void *out, size_t len)
{
	if (!pg_strong_random(out, len))
		ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random bytes"));
}

bool
ls_equal_constant_time(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}

#define NONCE 12
#define TAG 16

void
ls_seal(const uint8 key[32], const void *data, size_t len, uint8 *out)
{
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	int n = 0;
	bool good;

	if (!pg_strong_random(out, NONCE))
		good = false;
	else
		good = cipher != NULL && len <= INT_MAX &&
			   EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, out) == 1 &&
			   EVP_EncryptUpdate(cipher, out + NONCE, &n, data, (int) len) == 1 &&
			   (size_t) n == len && EVP_EncryptFinal_ex(cipher, out + NONCE + len, &n) == 1 &&
			   EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG, out + NONCE + len) == 1;
	EVP_CIPHER_CTX_free(cipher);
	if (!good)
		ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not encrypt"));
}

bool
ls_unseal(const uint8 key[32], const void *sealed, size_t len, uint8 *out)
{
	const uint8 *in = sealed;
	EVP_CIPHER_CTX *cipher;
	size_t n_plain = len - LS_SEAL_OVERHEAD;
	int n = 0;
	bool good;

	if (len < LS_SEAL_OVERHEAD || len > INT_MAX)
		return false;
	cipher = EVP_CIPHER_CTX_new();
	good = cipher != NULL && EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, in) == 1 &&
		   EVP_DecryptUpdate(cipher, out, &n, in + NONCE, (int) n_plain) == 1 &&
		   EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG,
							   unconstify(uint8 *, in + NONCE + n_plain)) == 1 &&
		   EVP_DecryptFinal_ex(cipher, out + n_plain, &n) == 1;
	EVP_CIPHER_CTX_free(cipher);
	return good;
}

/* Crockford's alphabet: no I, L, O, U. */
static const char base32_digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void
ls_base32_encode(const uint8 in[16], char out[27])
{
	/* 130 bits: two leading zero bits, then the 128 of the input. */
	unsigned int acc = 0;
	int bits = 2;
	int n = 0;

	for (int i = 0; i < 16; i++)
	{
		acc = acc << 8 | in[i];
		bits += 8;
		while (bits >= 5)
		{
			bits -= 5;
			out[n++] = base32_digits[acc >> bits & 31];
		}
		acc &= (1u << bits) - 1;
	}
	out[n] = '\0';
}

bool
ls_base32_decode(ls_str text, uint8 out[16])
{
	unsigned int acc = 0;
	int bits = -2;
	int n = 0;

	if (text.len != 26)
		return false;
	for (size_t i = 0; i < 26; i++)
	{
		char c = text.data[i];
		const char *digit;

		if (c >= 'a' && c <= 'z')
			c -= 'a' - 'A';
		digit = c == '\0' ? NULL : strchr(base32_digits, c);
		if (digit == NULL)
			return false;
		if (i == 0 && digit - base32_digits > 7)
			return false;
		acc = acc << 5 | (unsigned int) (digit - base32_digits);
		bits += 5;
		if (bits >= 8)
		{
			bits -= 8;
			out[n++] = (uint8) (acc >> bits);
		}
		acc &= (1u << bits) - 1;
	}
	return n == 16;
}

void
ls_new_id(pg_uuid_t *id)
{
	uint64 ms = (uint64) (ls_now() / 1000);

	ls_random_bytes(id->data, UUID_LEN);
	for (int i = 0; i < 6; i++)
		id->data[i] = (uint8) (ms >> (40 - 8 * i));
}

/* ---- passwords: scrypt, RFC 7914 ---- */

#define SCRYPT_R 8
#define SCRYPT_SALT 16
#define SCRYPT_HASH 32
#define LEAST_LOG_N 10
#define MOST_P 16

typedef struct scrypt_hash
{
	int log_n;
	int p;
	uint8 salt[SCRYPT_SALT];
	uint8 hash[SCRYPT_HASH];
} scrypt_hash;

/*
 * OWASP's table: less memory, more passes.  All are as hard to guess from; what
 * a server has more of, memory or processors, is its operator's choice.
 */
static int
passes_of(int log_n)
{
	return log_n >= 17 ? 1 : log_n == 16 ? 2 : 3;
}

static void
scrypt(ls_str password, const uint8 *salt, int log_n, int p, uint8 hash[SCRYPT_HASH])
{
	/* 128 * r * (N + p) bytes are the algorithm's; the rest is small change. */
	uint64 memory = UINT64_C(128) * SCRYPT_R * ((UINT64_C(1) << log_n) + (uint64) p) + 1024 * 1024;

	if (EVP_PBE_scrypt(password.data, password.len, salt, SCRYPT_SALT, UINT64_C(1) << log_n,
					   SCRYPT_R, (uint64) p, memory, hash, SCRYPT_HASH) != 1)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("could not hash a password"));
}

static char *
scrypt_text(const scrypt_hash *h)
{
	char salt[2 * SCRYPT_SALT + 1];
	char hash[2 * SCRYPT_HASH + 1];

	ls_hex(h->salt, SCRYPT_SALT, salt);
	ls_hex(h->hash, SCRYPT_HASH, hash);
	return psprintf("$scrypt$ln=%d,r=%d,p=%d$%s$%s", h->log_n, SCRYPT_R, h->p, salt, hash);
}

static bool
unhex(const char *text, size_t len, uint8 *out)
{
	for (size_t i = 0; i < len; i++)
	{
		int high = ls_hex_digit(text[2 * i]);
		int low = ls_hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8) (high << 4 | low);
	}
	return true;
}

static void
scrypt_parse(const char *stored, scrypt_hash *h)
{
	int r, prefix = 0;

	if (sscanf(stored, "$scrypt$ln=%d,r=%d,p=%d$%n", &h->log_n, &r, &h->p, &prefix) != 3 ||
		prefix == 0 || r != SCRYPT_R || h->p < 1 || h->p > MOST_P || h->log_n < LEAST_LOG_N ||
		h->log_n > LS_PASSWORD_COST_MAX ||
		strlen(stored + prefix) != 2 * SCRYPT_SALT + 1 + 2 * SCRYPT_HASH ||
		!unhex(stored + prefix, SCRYPT_SALT, h->salt) ||
		!unhex(stored + prefix + 2 * SCRYPT_SALT + 1, SCRYPT_HASH, h->hash))
		ereport(ERROR, errcode(ERRCODE_DATA_CORRUPTED),
				errmsg("a stored password hash is malformed"));
}

char *
ls_password_hash(ls_str password)
{
	scrypt_hash h = {.log_n = ls_password_cost, .p = passes_of(ls_password_cost)};

	ls_random_bytes(h.salt, SCRYPT_SALT);
	scrypt(password, h.salt, h.log_n, h.p, h.hash);
	return scrypt_text(&h);
}

char *
ls_password_hash_like(ls_str password, const char *stored)
{
	scrypt_hash h;

	scrypt_parse(stored, &h);
	scrypt(password, h.salt, h.log_n, h.p, h.hash);
	return scrypt_text(&h);
}

static bool
of_today(const scrypt_hash *h)
{
	return h->log_n == ls_password_cost && h->p == passes_of(ls_password_cost);
}

bool
ls_password_verify(ls_str password, const char *stored)
{
	/* What a hash of today's cost took here lately, us: whether there is one or not. */
	static int64 usual = 0;
	static int usual_cost = 0;
	scrypt_hash h = {.log_n = ls_password_cost, .p = passes_of(ls_password_cost)};
	uint8 actual[SCRYPT_HASH];
	ls_time begin = ls_now();
	int64 left;
	int missing;

	if (stored != NULL)
		scrypt_parse(stored, &h);
	scrypt(password, h.salt, h.log_n, h.p, actual);
	if (of_today(&h))
	{
		usual = usual_cost == h.log_n ? (3 * usual + ls_now() - begin) / 4 : ls_now() - begin;
		usual_cost = h.log_n;
	}
	if (stored != NULL && ls_equal_constant_time(actual, h.hash, SCRYPT_HASH))
		return true;
	if (of_today(&h))
		return false;

	/* As many passes more as make it the work of a hash of today. */
	missing = h.log_n > ls_password_cost
				  ? 0
				  : (passes_of(ls_password_cost) << (ls_password_cost - h.log_n)) - h.p;
	if (missing > 0)
		scrypt(password, h.salt, h.log_n, missing, actual);

	/* Less memory is a little faster: the rest of the time is waited for. */
	left = usual - (ls_now() - begin);
	if (usual_cost == ls_password_cost && left > 0)
		pg_usleep((long) Min(left, INT64_C(150000)));
	return false;
}

bool
ls_password_outdated(const char *stored)
{
	scrypt_hash h;

	scrypt_parse(stored, &h);
	return !of_today(&h);
}
