/*-------------------------------------------------------------------------
 *
 * part_text.c
 *	  Vectors of texts: plain, or as bytes if their content allows it (pure).
 *
 * A request id of 32 hexadecimal digits costs more than all other columns of an
 * event together, and no compressor detects that it is only 16 bytes.  So
 * lowercase hexadecimal digits, lowercase UUIDs and IPv4 addresses are stored as
 * bytes, if that gives back exactly the same text for every value of the block.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef enum text_form
{
	TEXTS_PLAIN = LS_TEXTS_PLAIN, /* lengths as integers, then the bytes */
	TEXTS_HEX,                    /* bytes per value, then those of each */
	TEXTS_UUID,                   /* 16 bytes each */
	TEXTS_IPV4,                   /* 4 bytes each, the first part of the address first */
	TEXTS_TEMPLATES = LS_TEXTS_TEMPLATES
} text_form;

#define HEX_MIN_LENGTH 8
#define HEX_MAX_LENGTH 256
#define UUID_LENGTH 36
#define IPV4_MAX_LENGTH 15

/* The value of a lowercase hexadecimal digit; 0xFF for any other byte. */
static inline uint8_t
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return (uint8_t) (c - '0');
	if (c >= 'a' && c <= 'f')
		return (uint8_t) (c - 'a' + 10);
	return 0xFF;
}

/* Eight digits to four bytes at once; false when one is not lowercase hex. */
static inline bool
unhex8(const char *from, uint8_t *to)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	const uint64_t high = ones * 0x80;
	uint64_t v = ls_load64(from);
	uint64_t digit;
	uint64_t letter;

	if ((v & high) != 0)
		return false;
	/* The high bit of each byte: is it in '0'..'9', is it in 'a'..'f'? */
	digit = (v + ones * (0x80 - '0')) & ~(v + ones * (0x80 - '9' - 1)) & high;
	letter = (v + ones * (0x80 - 'a')) & ~(v + ones * (0x80 - 'f' - 1)) & high;
	if ((digit | letter) != high)
		return false;
	v = (v & (ones * 0x0F)) + (letter >> 7) * 9;
	v = (v << 4 | v >> 8) & UINT64_C(0x00FF00FF00FF00FF);
	to[0] = (uint8_t) v;
	to[1] = (uint8_t) (v >> 16);
	to[2] = (uint8_t) (v >> 32);
	to[3] = (uint8_t) (v >> 48);
	return true;
}

static bool
unhex(const char *from, size_t digits, uint8_t *to)
{
	size_t i = 0;

	for (; i + 8 <= digits; i += 8, to += 4)
	{
		if (!unhex8(from + i, to))
			return false;
	}
	for (; i < digits; i += 2)
	{
		uint8_t a = hex_value(from[i]);
		uint8_t b = hex_value(from[i + 1]);

		if ((a | b) == 0xFF)
			return false;
		*to++ = (uint8_t) (a << 4 | b);
	}
	return true;
}

#if defined(__SSE2__)
/* 16 bytes as 32 digits. */
static inline void
put_hex16(char *to, const uint8_t *from)
{
	const __m128i half = _mm_set1_epi8(0x0F);
	__m128i bytes = _mm_loadu_si128((const __m128i *) from);
	__m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), half);
	__m128i low = _mm_and_si128(bytes, half);
	__m128i digits[2] = {_mm_unpacklo_epi8(high, low), _mm_unpackhi_epi8(high, low)};

	for (int i = 0; i < 2; i++)
	{
		__m128i letters = _mm_cmpgt_epi8(digits[i], _mm_set1_epi8(9));
		__m128i more = _mm_and_si128(letters, _mm_set1_epi8('a' - '0' - 10));

		_mm_storeu_si128((__m128i *) (to + 16 * i),
						 _mm_add_epi8(_mm_add_epi8(digits[i], more), _mm_set1_epi8('0')));
	}
}
#endif

static inline char *
put_hex(char *to, const uint8_t *from, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	size_t i = 0;

#if defined(__SSE2__)
	for (; i + 16 <= bytes; i += 16, to += 32)
		put_hex16(to, from + i);
#endif
	for (; i < bytes; i++)
	{
		*to++ = digits[from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
	return to;
}

/* 8-4-4-4-12 lowercase digits. */
static bool
parse_uuid(ls_str s, uint8_t *to)
{
	char digits[32];

	if (s.len != UUID_LENGTH || s.data[8] != '-' || s.data[13] != '-' || s.data[18] != '-' ||
		s.data[23] != '-')
		return false;
	memcpy(digits, s.data, 8);
	memcpy(digits + 8, s.data + 9, 4);
	memcpy(digits + 12, s.data + 14, 4);
	memcpy(digits + 16, s.data + 19, 4);
	memcpy(digits + 20, s.data + 24, 12);
	return unhex(digits, 32, to);
}

static char *
put_uuid(char *to, const uint8_t *from)
{
	char digits[32];

	put_hex(digits, from, 16);
	memcpy(to, digits, 8);
	to[8] = '-';
	memcpy(to + 9, digits + 8, 4);
	to[13] = '-';
	memcpy(to + 14, digits + 12, 4);
	to[18] = '-';
	memcpy(to + 19, digits + 16, 4);
	to[23] = '-';
	memcpy(to + 24, digits + 20, 12);
	return to + UUID_LENGTH;
}

/* Four decimal numbers of 0 to 255 without leading zeros. */
static bool
parse_ipv4(ls_str s, uint8_t *to)
{
	size_t i = 0;

	for (int part = 0; part < 4; part++)
	{
		unsigned v = 0;
		size_t start;

		if (part > 0 && (i >= s.len || s.data[i++] != '.'))
			return false;
		start = i;
		while (i < s.len && i - start < 3 && s.data[i] >= '0' && s.data[i] <= '9')
			v = v * 10 + (unsigned) (s.data[i++] - '0');
		if (i == start || v > 255 || (s.data[start] == '0' && i - start > 1))
			return false;
		to[part] = (uint8_t) v;
	}
	return i == s.len;
}

static char *
put_ipv4(char *to, const uint8_t *from)
{
	for (int part = 0; part < 4; part++)
	{
		unsigned v = from[part];

		if (part > 0)
			*to++ = '.';
		if (v >= 100)
			*to++ = (char) ('0' + v / 100);
		if (v >= 10)
			*to++ = (char) ('0' + v / 10 % 10);
		*to++ = (char) ('0' + v % 10);
	}
	return to;
}

/* Writes the values as bytes of the given form; false when one does not fit. */
static bool
encode_as_bytes(ls_buf *out, const ls_str *values, uint32_t n, text_form form)
{
	size_t start = out->len;
	size_t length = values[0].len;
	size_t bytes = form == TEXTS_HEX ? length / 2 : form == TEXTS_UUID ? 16 : 4;
	uint8_t *to;
	bool fits = true;

	ls_buf_char(out, (char) form);
	if (form == TEXTS_HEX)
		ls_buf_char(out, (char) (bytes - 1));
	if (!ls_buf_reserve(out, bytes * n))
		return true; /* the buffer has failed, the caller will see */
	to = (uint8_t *) out->data + out->len;
	for (uint32_t i = 0; i < n && fits; i++, to += bytes)
	{
		if (form == TEXTS_HEX)
			fits = values[i].len == length && unhex(values[i].data, length, to);
		else if (form == TEXTS_UUID)
			fits = parse_uuid(values[i], to);
		else
			fits = parse_ipv4(values[i], to);
	}
	if (fits)
		out->len += bytes * n;
	else
		out->len = start;
	return fits;
}

static bool
encode_by_content(ls_buf *out, const ls_str *values, uint32_t n)
{
	uint8_t bytes[HEX_MAX_LENGTH / 2];
	ls_str first = values[0];

	/* The first value shows which form is worth trying. */
	if (first.len >= HEX_MIN_LENGTH && first.len <= HEX_MAX_LENGTH && first.len % 2 == 0 &&
		unhex(first.data, first.len, bytes))
		return encode_as_bytes(out, values, n, TEXTS_HEX);
	if (parse_uuid(first, bytes))
		return encode_as_bytes(out, values, n, TEXTS_UUID);
	if (first.len <= IPV4_MAX_LENGTH && parse_ipv4(first, bytes))
		return encode_as_bytes(out, values, n, TEXTS_IPV4);
	return false;
}

void
ls_part_text_encode(ls_buf *out, const ls_str *values, uint32_t n, bool packed, uint64_t *scratch)
{
	uint64_t min = UINT64_MAX;
	uint64_t max = 0;
	size_t total = 0;
	unsigned width;
	char *to;

	if (encode_by_content(out, values, n))
		return;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t len = values[i].len;

		scratch[i] = len;
		total += len;
		min = len < min ? len : min;
		max = len > max ? len : max;
	}
	width = ls_part_bits_width(max - min, packed);
	ls_buf_char(out, TEXTS_PLAIN);
	ls_buf_varint(out, min);
	ls_buf_char(out, (char) width);
	for (uint32_t i = 0; i < n; i++)
		scratch[i] -= min;
	ls_part_bits_pack(out, scratch, n, width);
	if (!ls_buf_reserve(out, total))
		return;
	to = out->data + out->len;
	for (uint32_t i = 0; i < n; i++)
	{
		if (values[i].len > 0)
			memcpy(to, values[i].data, values[i].len);
		to += values[i].len;
	}
	out->len += total;
}

static bool
decode_plain(ls_reader *r, uint32_t n, ls_arena *arena, const uint32_t **offsets, const char **data)
{
	uint64_t min = ls_read_varint(r);
	unsigned width = ls_read_u8(r);
	uint32_t *ends;
	uint64_t *lengths;
	uint64_t total = 0;
	uint64_t left;
	ls_str bytes;

	/* Without this, n * min could be asked for without a byte to show for it. */
	left = (uint64_t) (r->end - r->pos);
	if (r->failed || width > 32 || min > left / n)
		return false;
	ends = ls_arena_alloc(arena, ((size_t) n + 1) * sizeof(uint32_t));
	lengths = ls_arena_alloc(arena, (size_t) n * sizeof(uint64_t));
	if (ends == NULL || lengths == NULL || !ls_part_bits_unpack(r, n, width, lengths))
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		ends[i] = (uint32_t) total;
		total += lengths[i] + min;
		if (total > left)
			return false;
	}
	ends[n] = (uint32_t) total;
	bytes = ls_read_bytes(r, (size_t) total);
	*offsets = ends;
	*data = bytes.data;
	return !r->failed;
}

bool
ls_part_text_decode(ls_reader *r, uint32_t n, ls_arena *arena, const uint32_t **offsets,
					const char **data)
{
	text_form form = (text_form) ls_read_u8(r);
	size_t bytes;
	size_t longest;
	const uint8_t *from;
	uint32_t *ends;
	char *text;
	char *to;
	ls_str s;

	if (n == 0 || r->failed)
		return false;
	switch (form)
	{
		case TEXTS_PLAIN:
			return decode_plain(r, n, arena, offsets, data);
		case TEXTS_TEMPLATES:
			return ls_part_templates_decode(r, n, arena, offsets, data);
		case TEXTS_HEX:
			bytes = (size_t) ls_read_u8(r) + 1;
			longest = bytes * 2;
			break;
		case TEXTS_UUID:
			bytes = 16;
			longest = UUID_LENGTH;
			break;
		case TEXTS_IPV4:
			bytes = 4;
			longest = IPV4_MAX_LENGTH;
			break;
		default:
			return false;
	}
	s = ls_read_bytes(r, bytes * n);
	if (r->failed)
		return false;
	ends = ls_arena_alloc(arena, ((size_t) n + 1) * sizeof(uint32_t));
	text = ls_arena_alloc(arena, longest * n);
	if (ends == NULL || text == NULL)
		return false;
	from = (const uint8_t *) s.data;
	to = text;
	for (uint32_t i = 0; i < n; i++, from += bytes)
	{
		ends[i] = (uint32_t) (to - text);
		if (form == TEXTS_HEX)
			to = put_hex(to, from, bytes);
		else if (form == TEXTS_UUID)
			to = put_uuid(to, from);
		else
			to = put_ipv4(to, from);
	}
	ends[n] = (uint32_t) (to - text);
	*offsets = ends;
	*data = text;
	return true;
}
