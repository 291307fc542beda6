/*-------------------------------------------------------------------------
 *
 * utf8.c
 *	  UTF-8 and simple case folding (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

/*
 * Length of the valid sequence at p, 0 when there is none.  Refuses overlong
 * forms, surrogates and everything above U+10FFFF (Unicode, table 3-7).
 */
static inline size_t
sequence_length(const uint8_t *p, size_t left)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2)
		return 0;
	if (p[0] < 0xE0)
		return left >= 2 && (p[1] & 0xC0) == 0x80 ? 2 : 0;
	if (p[0] < 0xF0)
	{
		if (left < 3 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80 ||
			(p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F))
			return 0;
		return 3;
	}
	if (p[0] > 0xF4 || left < 4 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80 ||
		(p[3] & 0xC0) != 0x80 || (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
		return 0;
	return 4;
}

bool
ls_utf8_valid(const char *data, size_t len)
{
	const uint8_t *p = (const uint8_t *) data;
	const uint8_t *end = p + len;

	while (p < end)
	{
		size_t n;
		uint64_t word;

		/* Eight ASCII bytes at a time. */
		while (end - p >= 8)
		{
			memcpy(&word, p, 8);
			if ((word & UINT64_C(0x8080808080808080)) != 0)
				break;
			p += 8;
		}
		if (p == end)
			break;
		n = sequence_length(p, (size_t) (end - p));
		if (n == 0)
			return false;
		p += n;
	}
	return true;
}

static inline bool
is_continuation(char c)
{
	return ((uint8_t) c & 0xC0) == 0x80;
}

size_t
ls_utf8_length(const char *data, size_t len)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	size_t n = 0;
	size_t i = 0;

	/* A byte that continues a character is 10xxxxxx: eight bytes at a time. */
	for (; i + 8 <= len; i += 8)
	{
		uint64_t word = ls_load64(data + i);

		n += 8 -
			 (size_t) ((word >> 7 & ~(word >> 6) & ones) * ones >> 56); /* the sum of all bytes */
	}
	for (; i < len; i++)
		n += !is_continuation(data[i]);
	return n;
}

size_t
ls_utf8_prefix_chars(const char *data, size_t len, size_t max_chars)
{
	size_t i = 0;

	if (len <= max_chars)
		return len;
	while (i < len && max_chars > 0)
	{
		i++;
		while (i < len && is_continuation(data[i]))
			i++;
		max_chars--;
	}
	return i;
}

size_t
ls_utf8_prefix_bytes(const char *data, size_t len, size_t max_bytes)
{
	if (len <= max_bytes)
		return len;
	while (max_bytes > 0 && is_continuation(data[max_bytes]))
		max_bytes--;
	return max_bytes;
}

uint32_t
ls_utf8_next(const char **pos, const char *end)
{
	const uint8_t *p = (const uint8_t *) *pos;
	size_t left = (size_t) (end - *pos);
	uint32_t c;
	size_t n;

	if (left == 0)
		return 0;
	if (p[0] < 0x80)
	{
		(*pos)++;
		return p[0];
	}
	n = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	if (n > left)
		n = left;
	c = p[0] & (0xFF >> (n + 1));
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3F);
	*pos += n;
	return c;
}

void
ls_utf8_append(ls_buf *buf, uint32_t c)
{
	char b[4];

	if (c < 0x80)
		ls_buf_char(buf, (char) c);
	else if (c < 0x800)
	{
		b[0] = (char) (0xC0 | c >> 6);
		b[1] = (char) (0x80 | (c & 0x3F));
		ls_buf_append(buf, b, 2);
	}
	else if (c < 0x10000)
	{
		b[0] = (char) (0xE0 | c >> 12);
		b[1] = (char) (0x80 | (c >> 6 & 0x3F));
		b[2] = (char) (0x80 | (c & 0x3F));
		ls_buf_append(buf, b, 3);
	}
	else
	{
		b[0] = (char) (0xF0 | c >> 18);
		b[1] = (char) (0x80 | (c >> 12 & 0x3F));
		b[2] = (char) (0x80 | (c >> 6 & 0x3F));
		b[3] = (char) (0x80 | (c & 0x3F));
		ls_buf_append(buf, b, 4);
	}
}

/*
 * Simple case folding of Unicode 14 beyond ASCII: every stride-th code point
 * of a range maps to itself plus delta.
 */
typedef struct fold_range
{
	uint32_t first;
	uint32_t last;
	int32_t stride;
	int32_t delta;
} fold_range;

/* clang-format off */
static const fold_range fold_ranges[] = {
	{0x00B5, 0x00B5, 1, 775},
	{0x00C0, 0x00D6, 1, 32},
	{0x00D8, 0x00DE, 1, 32},
	{0x0100, 0x012E, 2, 1},
	{0x0132, 0x0136, 2, 1},
	{0x0139, 0x0147, 2, 1},
	{0x014A, 0x0176, 2, 1},
	{0x0178, 0x0178, 1, -121},
	{0x0179, 0x017D, 2, 1},
	{0x017F, 0x017F, 1, -268},
	{0x0181, 0x0181, 1, 210},
	{0x0182, 0x0184, 2, 1},
	{0x0186, 0x0186, 1, 206},
	{0x0187, 0x0187, 1, 1},
	{0x0189, 0x018A, 1, 205},
	{0x018B, 0x018B, 1, 1},
	{0x018E, 0x018E, 1, 79},
	{0x018F, 0x018F, 1, 202},
	{0x0190, 0x0190, 1, 203},
	{0x0191, 0x0191, 1, 1},
	{0x0193, 0x0193, 1, 205},
	{0x0194, 0x0194, 1, 207},
	{0x0196, 0x0196, 1, 211},
	{0x0197, 0x0197, 1, 209},
	{0x0198, 0x0198, 1, 1},
	{0x019C, 0x019C, 1, 211},
	{0x019D, 0x019D, 1, 213},
	{0x019F, 0x019F, 1, 214},
	{0x01A0, 0x01A4, 2, 1},
	{0x01A6, 0x01A6, 1, 218},
	{0x01A7, 0x01A7, 1, 1},
	{0x01A9, 0x01A9, 1, 218},
	{0x01AC, 0x01AC, 1, 1},
	{0x01AE, 0x01AE, 1, 218},
	{0x01AF, 0x01AF, 1, 1},
	{0x01B1, 0x01B2, 1, 217},
	{0x01B3, 0x01B5, 2, 1},
	{0x01B7, 0x01B7, 1, 219},
	{0x01B8, 0x01B8, 1, 1},
	{0x01BC, 0x01BC, 1, 1},
	{0x01C4, 0x01C4, 1, 2},
	{0x01C5, 0x01C5, 1, 1},
	{0x01C7, 0x01C7, 1, 2},
	{0x01C8, 0x01C8, 1, 1},
	{0x01CA, 0x01CA, 1, 2},
	{0x01CB, 0x01DB, 2, 1},
	{0x01DE, 0x01EE, 2, 1},
	{0x01F1, 0x01F1, 1, 2},
	{0x01F2, 0x01F4, 2, 1},
	{0x01F6, 0x01F6, 1, -97},
	{0x01F7, 0x01F7, 1, -56},
	{0x01F8, 0x021E, 2, 1},
	{0x0220, 0x0220, 1, -130},
	{0x0222, 0x0232, 2, 1},
	{0x023A, 0x023A, 1, 10795},
	{0x023B, 0x023B, 1, 1},
	{0x023D, 0x023D, 1, -163},
	{0x023E, 0x023E, 1, 10792},
	{0x0241, 0x0241, 1, 1},
	{0x0243, 0x0243, 1, -195},
	{0x0244, 0x0244, 1, 69},
	{0x0245, 0x0245, 1, 71},
	{0x0246, 0x024E, 2, 1},
	{0x0345, 0x0345, 1, 116},
	{0x0370, 0x0372, 2, 1},
	{0x0376, 0x0376, 1, 1},
	{0x037F, 0x037F, 1, 116},
	{0x0386, 0x0386, 1, 38},
	{0x0388, 0x038A, 1, 37},
	{0x038C, 0x038C, 1, 64},
	{0x038E, 0x038F, 1, 63},
	{0x0391, 0x03A1, 1, 32},
	{0x03A3, 0x03AB, 1, 32},
	{0x03C2, 0x03C2, 1, 1},
	{0x03CF, 0x03CF, 1, 8},
	{0x03D0, 0x03D0, 1, -30},
	{0x03D1, 0x03D1, 1, -25},
	{0x03D5, 0x03D5, 1, -15},
	{0x03D6, 0x03D6, 1, -22},
	{0x03D8, 0x03EE, 2, 1},
	{0x03F0, 0x03F0, 1, -54},
	{0x03F1, 0x03F1, 1, -48},
	{0x03F4, 0x03F4, 1, -60},
	{0x03F5, 0x03F5, 1, -64},
	{0x03F7, 0x03F7, 1, 1},
	{0x03F9, 0x03F9, 1, -7},
	{0x03FA, 0x03FA, 1, 1},
	{0x03FD, 0x03FF, 1, -130},
	{0x0400, 0x040F, 1, 80},
	{0x0410, 0x042F, 1, 32},
	{0x0460, 0x0480, 2, 1},
	{0x048A, 0x04BE, 2, 1},
	{0x04C0, 0x04C0, 1, 15},
	{0x04C1, 0x04CD, 2, 1},
	{0x04D0, 0x052E, 2, 1},
	{0x0531, 0x0556, 1, 48},
	{0x10A0, 0x10C5, 1, 7264},
	{0x10C7, 0x10C7, 1, 7264},
	{0x10CD, 0x10CD, 1, 7264},
	{0x13F8, 0x13FD, 1, -8},
	{0x1C80, 0x1C80, 1, -6222},
	{0x1C81, 0x1C81, 1, -6221},
	{0x1C82, 0x1C82, 1, -6212},
	{0x1C83, 0x1C84, 1, -6210},
	{0x1C85, 0x1C85, 1, -6211},
	{0x1C86, 0x1C86, 1, -6204},
	{0x1C87, 0x1C87, 1, -6180},
	{0x1C88, 0x1C88, 1, 35267},
	{0x1C90, 0x1CBA, 1, -3008},
	{0x1CBD, 0x1CBF, 1, -3008},
	{0x1E00, 0x1E94, 2, 1},
	{0x1E9B, 0x1E9B, 1, -58},
	{0x1E9E, 0x1E9E, 1, -7615},
	{0x1EA0, 0x1EFE, 2, 1},
	{0x1F08, 0x1F0F, 1, -8},
	{0x1F18, 0x1F1D, 1, -8},
	{0x1F28, 0x1F2F, 1, -8},
	{0x1F38, 0x1F3F, 1, -8},
	{0x1F48, 0x1F4D, 1, -8},
	{0x1F59, 0x1F5F, 2, -8},
	{0x1F68, 0x1F6F, 1, -8},
	{0x1F88, 0x1F8F, 1, -8},
	{0x1F98, 0x1F9F, 1, -8},
	{0x1FA8, 0x1FAF, 1, -8},
	{0x1FB8, 0x1FB9, 1, -8},
	{0x1FBA, 0x1FBB, 1, -74},
	{0x1FBC, 0x1FBC, 1, -9},
	{0x1FBE, 0x1FBE, 1, -7173},
	{0x1FC8, 0x1FCB, 1, -86},
	{0x1FCC, 0x1FCC, 1, -9},
	{0x1FD8, 0x1FD9, 1, -8},
	{0x1FDA, 0x1FDB, 1, -100},
	{0x1FE8, 0x1FE9, 1, -8},
	{0x1FEA, 0x1FEB, 1, -112},
	{0x1FEC, 0x1FEC, 1, -7},
	{0x1FF8, 0x1FF9, 1, -128},
	{0x1FFA, 0x1FFB, 1, -126},
	{0x1FFC, 0x1FFC, 1, -9},
	{0x2126, 0x2126, 1, -7517},
	{0x212A, 0x212A, 1, -8383},
	{0x212B, 0x212B, 1, -8262},
	{0x2132, 0x2132, 1, 28},
	{0x2160, 0x216F, 1, 16},
	{0x2183, 0x2183, 1, 1},
	{0x24B6, 0x24CF, 1, 26},
	{0x2C00, 0x2C2F, 1, 48},
	{0x2C60, 0x2C60, 1, 1},
	{0x2C62, 0x2C62, 1, -10743},
	{0x2C63, 0x2C63, 1, -3814},
	{0x2C64, 0x2C64, 1, -10727},
	{0x2C67, 0x2C6B, 2, 1},
	{0x2C6D, 0x2C6D, 1, -10780},
	{0x2C6E, 0x2C6E, 1, -10749},
	{0x2C6F, 0x2C6F, 1, -10783},
	{0x2C70, 0x2C70, 1, -10782},
	{0x2C72, 0x2C72, 1, 1},
	{0x2C75, 0x2C75, 1, 1},
	{0x2C7E, 0x2C7F, 1, -10815},
	{0x2C80, 0x2CE2, 2, 1},
	{0x2CEB, 0x2CED, 2, 1},
	{0x2CF2, 0x2CF2, 1, 1},
	{0xA640, 0xA66C, 2, 1},
	{0xA680, 0xA69A, 2, 1},
	{0xA722, 0xA72E, 2, 1},
	{0xA732, 0xA76E, 2, 1},
	{0xA779, 0xA77B, 2, 1},
	{0xA77D, 0xA77D, 1, -35332},
	{0xA77E, 0xA786, 2, 1},
	{0xA78B, 0xA78B, 1, 1},
	{0xA78D, 0xA78D, 1, -42280},
	{0xA790, 0xA792, 2, 1},
	{0xA796, 0xA7A8, 2, 1},
	{0xA7AA, 0xA7AA, 1, -42308},
	{0xA7AB, 0xA7AB, 1, -42319},
	{0xA7AC, 0xA7AC, 1, -42315},
	{0xA7AD, 0xA7AD, 1, -42305},
	{0xA7AE, 0xA7AE, 1, -42308},
	{0xA7B0, 0xA7B0, 1, -42258},
	{0xA7B1, 0xA7B1, 1, -42282},
	{0xA7B2, 0xA7B2, 1, -42261},
	{0xA7B3, 0xA7B3, 1, 928},
	{0xA7B4, 0xA7C2, 2, 1},
	{0xA7C4, 0xA7C4, 1, -48},
	{0xA7C5, 0xA7C5, 1, -42307},
	{0xA7C6, 0xA7C6, 1, -35384},
	{0xA7C7, 0xA7C9, 2, 1},
	{0xA7D0, 0xA7D0, 1, 1},
	{0xA7D6, 0xA7D8, 2, 1},
	{0xA7F5, 0xA7F5, 1, 1},
	{0xAB70, 0xABBF, 1, -38864},
	{0xFF21, 0xFF3A, 1, 32},
	{0x10400, 0x10427, 1, 40},
	{0x104B0, 0x104D3, 1, 40},
	{0x10570, 0x1057A, 1, 39},
	{0x1057C, 0x1058A, 1, 39},
	{0x1058C, 0x10592, 1, 39},
	{0x10594, 0x10595, 1, 39},
	{0x10C80, 0x10CB2, 1, 64},
	{0x118A0, 0x118BF, 1, 32},
	{0x16E40, 0x16E5F, 1, 32},
	{0x1E900, 0x1E921, 1, 34},
};
/* clang-format on */

uint32_t
ls_unicode_fold(uint32_t c)
{
	size_t low = 0;
	size_t high = sizeof(fold_ranges) / sizeof(fold_ranges[0]);

	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
	while (low < high)
	{
		size_t mid = (low + high) / 2;
		const fold_range *r = &fold_ranges[mid];

		if (c < r->first)
			high = mid;
		else if (c > r->last)
			low = mid + 1;
		else if ((c - r->first) % (uint32_t) r->stride != 0)
			return c;
		else
			return (uint32_t) ((int32_t) c + r->delta);
	}
	return c;
}

void
ls_utf8_fold(ls_buf *buf, ls_str s)
{
	const char *p = s.data;
	const char *end = s.data + s.len;

	if (!ls_buf_reserve(buf, s.len))
		return;
	while (p < end)
	{
		unsigned char c = (unsigned char) *p;

		if (c < 0x80)
		{
			ls_buf_char(buf, (char) (c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c));
			p++;
		}
		else
			ls_utf8_append(buf, ls_unicode_fold(ls_utf8_next(&p, end)));
	}
}
