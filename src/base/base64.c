/*-------------------------------------------------------------------------
 *
 * base64.c
 *	  Base64, with the usual digits and with those of URLs (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

static const char usual[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void
encode(ls_buf *buf, const char *digits, bool padding, const uint8_t *in, size_t len)
{
	for (size_t i = 0; i < len; i += 3)
	{
		size_t left = len - i;
		uint32_t v = (uint32_t) in[i] << 16;

		if (left > 1)
			v |= (uint32_t) in[i + 1] << 8;
		if (left > 2)
			v |= in[i + 2];
		ls_buf_char(buf, digits[v >> 18]);
		ls_buf_char(buf, digits[v >> 12 & 63]);
		if (left > 1 || padding)
			ls_buf_char(buf, left > 1 ? digits[v >> 6 & 63] : '=');
		if (left > 2 || padding)
			ls_buf_char(buf, left > 2 ? digits[v & 63] : '=');
	}
}

void
ls_base64(ls_buf *buf, const void *data, size_t len)
{
	encode(buf, usual, true, data, len);
}

void
ls_base64url(ls_buf *buf, const void *data, size_t len)
{
	encode(buf, url, false, data, len);
}

static int
digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool
ls_base64url_decode(ls_str text, ls_arena *arena, ls_str *out)
{
	uint8_t *bytes;
	uint32_t acc = 0;
	int bits = 0;
	size_t n = 0;

	if (text.len % 4 == 1)
		return false;
	bytes = ls_arena_alloc(arena, text.len / 4 * 3 + 3);
	if (bytes == NULL)
		return false;
	for (size_t i = 0; i < text.len; i++)
	{
		int digit = digit_of(text.data[i]);

		if (digit < 0)
			return false;
		acc = acc << 6 | (uint32_t) digit;
		bits += 6;
		if (bits >= 8)
		{
			bits -= 8;
			bytes[n++] = (uint8_t) (acc >> bits);
			acc &= (UINT32_C(1) << bits) - 1;
		}
	}
	*out = ls_str_make((const char *) bytes, n);
	return acc == 0;
}

bool
ls_base64_decode(ls_str text, void *out, size_t room, size_t *len)
{
	uint8_t *bytes = out;
	uint32_t bits = 0;
	size_t digits = text.len;

	while (digits > 0 && text.len - digits < 2 && text.data[digits - 1] == '=')
		digits--;
	if (digits % 4 == 1 || (digits < text.len && text.len % 4 != 0) || digits * 3 / 4 > room)
		return false;
	*len = 0;
	for (size_t i = 0; i < digits; i++)
	{
		char c = text.data[i];
		int digit = c == '+' ? 62 : c == '/' ? 63 : digit_of(c);

		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t) digit;
		if (i % 4 != 0)
			bytes[(*len)++] = (uint8_t) (bits >> (6 - i % 4 * 2));
	}
	return true;
}
