/*-------------------------------------------------------------------------
 *
 * bytes.c
 *	  Strings, little-endian numbers and varints, and hashes (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

#include <sys/random.h>
#include <time.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline unsigned char
ascii_lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

bool
ls_str_eq_nocase(ls_str a, ls_str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
	{
		if (ascii_lower((unsigned char) a.data[i]) != ascii_lower((unsigned char) b.data[i]))
			return false;
	}
	return true;
}

ls_str
ls_str_trim(ls_str s)
{
	while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
		s = ls_str_make(s.data + 1, s.len - 1);
	while (s.len > 0 && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
		s.len--;
	return s;
}

int
ls_str_cmp(ls_str a, ls_str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n == 0 ? 0 : memcmp(a.data, b.data, n);

	if (c != 0)
		return c;
	return a.len < b.len ? -1 : a.len > b.len;
}

/* ---- writing ---- */

void
ls_buf_url(ls_buf *buf, ls_str s, bool keep_slash)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.len; i++)
	{
		unsigned char c = (unsigned char) s.data[i];

		if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			c == '-' || c == '.' || c == '_' || c == '~' || (keep_slash && c == '/'))
			ls_buf_char(buf, (char) c);
		else
		{
			ls_buf_char(buf, '%');
			ls_buf_char(buf, digits[c >> 4]);
			ls_buf_char(buf, digits[c & 15]);
		}
	}
}

void
ls_buf_u16(ls_buf *buf, uint16_t v)
{
	uint8_t b[2] = {(uint8_t) v, (uint8_t) (v >> 8)};

	ls_buf_append(buf, b, 2);
}

void
ls_buf_u32(ls_buf *buf, uint32_t v)
{
	ls_buf_u16(buf, (uint16_t) v);
	ls_buf_u16(buf, (uint16_t) (v >> 16));
}

void
ls_buf_u64(ls_buf *buf, uint64_t v)
{
	ls_buf_u32(buf, (uint32_t) v);
	ls_buf_u32(buf, (uint32_t) (v >> 32));
}

void
ls_buf_varint(ls_buf *buf, uint64_t v)
{
	uint8_t b[10];
	size_t n = 0;

	while (v >= 0x80)
	{
		b[n++] = (uint8_t) (v | 0x80);
		v >>= 7;
	}
	b[n++] = (uint8_t) v;
	ls_buf_append(buf, b, n);
}

void
ls_buf_zigzag(ls_buf *buf, int64_t v)
{
	ls_buf_varint(buf, ((uint64_t) v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

void
ls_buf_lstr(ls_buf *buf, ls_str s)
{
	ls_buf_varint(buf, s.len);
	ls_buf_append(buf, s.data, s.len);
}

/* ---- reading ---- */

ls_str
ls_read_bytes(ls_reader *r, size_t len)
{
	ls_str s;

	if (r->failed || len > (size_t) (r->end - r->pos))
	{
		r->failed = true;
		return ls_str_make("", 0);
	}
	s = ls_str_make((const char *) r->pos, len);
	r->pos += len;
	return s;
}

static uint64_t
read_little_endian(ls_reader *r, size_t len)
{
	ls_str s = ls_read_bytes(r, len);
	uint64_t v = 0;

	for (size_t i = s.len; i > 0; i--)
		v = v << 8 | (uint8_t) s.data[i - 1];
	return v;
}

uint8_t
ls_read_u8(ls_reader *r)
{
	return (uint8_t) read_little_endian(r, 1);
}

uint16_t
ls_read_u16(ls_reader *r)
{
	return (uint16_t) read_little_endian(r, 2);
}

uint32_t
ls_read_u32(ls_reader *r)
{
	return (uint32_t) read_little_endian(r, 4);
}

uint64_t
ls_read_u64(ls_reader *r)
{
	return read_little_endian(r, 8);
}

uint64_t
ls_read_long_varint(ls_reader *r)
{
	uint64_t v = 0;
	int shift = 0;

	while (!r->failed && r->pos < r->end && shift < 64)
	{
		uint8_t b = *r->pos++;

		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t) (b & 0x7F) << shift;
		if ((b & 0x80) == 0)
			return v;
		shift += 7;
	}
	r->failed = true;
	return 0;
}

int64_t
ls_read_zigzag(ls_reader *r)
{
	uint64_t v = ls_read_varint(r);

	return (int64_t) (v >> 1 ^ (~(v & 1) + 1));
}

ls_str
ls_read_lstr(ls_reader *r)
{
	uint64_t len = ls_read_varint(r);

	if (r->failed || len > (uint64_t) (r->end - r->pos))
	{
		r->failed = true;
		return ls_str_make("", 0);
	}
	return ls_read_bytes(r, (size_t) len);
}

/* ---- hashes ---- */

static inline uint32_t
load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	return v;
}

static inline uint64_t
mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128) a * b;

	return (uint64_t) m ^ (uint64_t) (m >> 64);
}

static const uint64_t k0 = UINT64_C(0xa0761d6478bd642f);
static const uint64_t k1 = UINT64_C(0xe7037ed1a0b428db);
static const uint64_t k2 = UINT64_C(0x8ebc6af09c88c6e3);

/* Fewer than 16 bytes; *a and *b are 0. */
static inline void
load_last(const uint8_t *p, size_t left, uint64_t *a, uint64_t *b)
{
	if (left >= 8)
	{
		*a = ls_load64(p);
		*b = ls_load64(p + left - 8);
	}
	else if (left >= 4)
		*a = (uint64_t) load32(p) | (uint64_t) load32(p + left - 4) << (8 * (left - 4));
	else
	{
		for (size_t i = 0; i < left; i++)
			*a |= (uint64_t) p[i] << (8 * i);
	}
}

/*
 * Multiply-and-fold hashing (the construction of wyhash), 16 bytes a step.  A
 * factor that is known could be made 0, or a power of two, by the data: so those
 * who must not find collisions have a key in it.
 */
static inline uint64_t
hash(const void *data, size_t len, uint64_t seed, uint64_t key)
{
	const uint8_t *p = data;
	uint64_t h = mix(seed ^ k0, key);
	uint64_t a = 0;
	uint64_t b = 0;
	size_t left = len;

	while (left >= 16)
	{
		h = mix(ls_load64(p) ^ key, ls_load64(p + 8) ^ h);
		p += 16;
		left -= 16;
	}
	load_last(p, left, &a, &b);
	return mix(k2 ^ len, mix(a ^ key, b ^ h));
}

uint64_t
ls_hash64(const void *data, size_t len, uint64_t seed)
{
	return hash(data, len, seed, k1);
}

/* Eight bytes in which all digits are 0. */
static inline uint64_t
without_digits(uint64_t v)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t low = v ^ ones * '0'; /* digits: 0 to 9 */
	uint64_t other = (((low & ones * 0x7F) + ones * 6) | low) & ones * 0xF0;
	uint64_t digit;

	/* A digit has none of the upper four bits: the highest one says whether there is one. */
	other |= other << 1;
	other |= other << 2;
	digit = (~other & ones * 0x80) >> 7;
	return (v & ~(digit * 0xFF)) | digit * '0';
}

/* The same of 16 bytes; *a and *b: as they are. */
static inline void
load_both(const uint8_t *p, uint64_t *a, uint64_t *b, uint64_t *plain_a, uint64_t *plain_b)
{
	*a = ls_load64(p);
	*b = ls_load64(p + 8);
#if defined(__SSE2__)
	{
		__m128i v = _mm_loadu_si128((const __m128i *) p);
		__m128i digit = _mm_cmplt_epi8(_mm_sub_epi8(v, _mm_set1_epi8((char) ('0' - INT8_MIN))),
									   _mm_set1_epi8(INT8_MIN + 10));
		__m128i plain =
			_mm_or_si128(_mm_andnot_si128(digit, v), _mm_and_si128(digit, _mm_set1_epi8('0')));

		*plain_a = (uint64_t) _mm_cvtsi128_si64(plain);
		*plain_b = (uint64_t) _mm_cvtsi128_si64(_mm_unpackhi_epi64(plain, plain));
	}
#else
	*plain_a = without_digits(*a);
	*plain_b = without_digits(*b);
#endif
}

uint64_t
ls_hash64_outline(const void *data, size_t len, uint64_t *outline)
{
	const uint8_t *p = data;
	uint64_t h = mix(k0, k1);
	uint64_t o = h;
	uint64_t a = 0;
	uint64_t b = 0;
	size_t left = len;

	/* Two chains of products take hardly longer than one. */
	for (; left >= 16; p += 16, left -= 16)
	{
		uint64_t plain_a;
		uint64_t plain_b;

		load_both(p, &a, &b, &plain_a, &plain_b);
		h = mix(a ^ k1, b ^ h);
		o = mix(plain_a ^ k1, plain_b ^ o);
	}
	a = b = 0;
	load_last(p, left, &a, &b);
	*outline = mix(k2 ^ len, mix(without_digits(a) ^ k1, without_digits(b) ^ o));
	return mix(k2 ^ len, mix(a ^ k1, b ^ h));
}

uint64_t ls_secret[2];

void
ls_make_secret(void)
{
	uint64_t made[2];

	/* Without random bytes, what an outsider does not see either. */
	if (getrandom(made, sizeof(made), GRND_NONBLOCK) != (ssize_t) sizeof(made))
	{
		struct timespec now;

		(void) clock_gettime(CLOCK_MONOTONIC, &now);
		made[0] = mix((uint64_t) now.tv_nsec ^ k0, (uint64_t) (uintptr_t) &now ^ k1);
		made[1] = mix(made[0] ^ k1, (uint64_t) (uintptr_t) ls_secret ^ k2);
	}
	ls_secret[1] = made[1];
	ls_secret[0] = made[0] | 1;
}

uint64_t
ls_hash_with_key(const void *data, size_t len, const uint64_t key[2])
{
	return hash(data, len, key[0], k1 ^ key[1]);
}

uint64_t
ls_hash_keyed(const void *data, size_t len, uint64_t seed)
{
	if (ls_secret[0] == 0)
		ls_make_secret();
	return hash(data, len, seed ^ ls_secret[0], k1 ^ ls_secret[1]);
}

#if defined(__x86_64__) && defined(__GNUC__)

__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse42(uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t c = crc;

	for (; len >= 8; len -= 8, p += 8)
		c = __builtin_ia32_crc32di(c, ls_load64(p));
	for (; len > 0; len--, p++)
		c = __builtin_ia32_crc32qi((uint32_t) c, *p);
	return (uint32_t) c;
}
#endif

static uint32_t
crc32c_bitwise(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len > 0; len--, p++)
	{
		crc ^= *p;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (UINT32_C(0x82f63b78) & (~(crc & 1) + 1));
	}
	return crc;
}

uint32_t
ls_crc32c(uint32_t crc, const void *data, size_t len)
{
	crc = ~crc;
#if defined(__x86_64__) && defined(__GNUC__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc32c_sse42(crc, data, len);
#endif
	return ~crc32c_bitwise(crc, data, len);
}
