/*-------------------------------------------------------------------------
 *
 * json.c
 *	  A strict, bounded pull parser of JSON (RFC 8259) over text in memory
 *	  (pure).
 *
 * Why not a DOM: ingest writes values straight into columns, and evaluation
 * needs rows as they were written (member order, number spelling).  A pull
 * parser gives both: views into the input, and raw text of any value.
 *
 * Strings are scanned 16 bytes at a time; a string without escapes is a view
 * into the input.  UTF-8 is checked in strings only: outside of them every
 * non-ASCII byte is a syntax error anyway.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

#include <math.h>
#include <stdlib.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static bool
fail(ls_json *j, const char *error, const char *at)
{
	if (j->error == NULL)
	{
		j->error = error;
		j->error_offset = (size_t) (at - j->start);
	}
	j->pos = j->end;
	return false;
}

static inline void
skip_space(ls_json *j)
{
	while (j->pos < j->end &&
		   (*j->pos == ' ' || *j->pos == '\n' || *j->pos == '\r' || *j->pos == '\t'))
		j->pos++;
}

void
ls_json_init(ls_json *j, ls_str text, ls_arena *arena, int max_depth)
{
	memset(j, 0, sizeof(ls_json));
	/* Nothing can be added to NULL; another text stays where it is, as who reads it by lines expects. */
	if (text.data == NULL)
		text = LS_STR("");
	j->start = text.data;
	j->pos = text.data;
	j->end = text.data + text.len;
	j->arena = arena;
	j->max_depth = max_depth;
}

/* First byte from p on that is a quote, a backslash or a control character. */
static inline const char *
find_special(const char *p, const char *end, bool *ascii)
{
#if defined(__SSE2__)
	const __m128i quote = _mm_set1_epi8('"');
	const __m128i backslash = _mm_set1_epi8('\\');
	const __m128i control = _mm_set1_epi8(0x1F);

	while (end - p >= 16)
	{
		__m128i chunk = _mm_loadu_si128((const __m128i *) p);
		__m128i hit = _mm_or_si128(
			_mm_or_si128(_mm_cmpeq_epi8(chunk, quote), _mm_cmpeq_epi8(chunk, backslash)),
			_mm_cmpeq_epi8(_mm_min_epu8(chunk, control), chunk));
		int found = _mm_movemask_epi8(hit);
		int high = _mm_movemask_epi8(chunk);

		if (found != 0)
		{
			int n = __builtin_ctz((unsigned) found);

			if ((high & ((1 << n) - 1)) != 0)
				*ascii = false;
			return p + n;
		}
		if (high != 0)
			*ascii = false;
		p += 16;
	}
#endif
	for (; p < end; p++)
	{
		unsigned char c = (unsigned char) *p;

		if (c == '"' || c == '\\' || c < 0x20)
			break;
		if (c >= 0x80)
			*ascii = false;
	}
	return p;
}

static int
hex4(const char *p, const char *end)
{
	int v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++)
	{
		int digit = ls_hex_digit(p[i]);

		if (digit < 0)
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

/*
 * Decodes \uXXXX at p (after the u).  A pair of surrogates is one code
 * point; a lone one and NUL become U+FFFD.  Returns the position after it,
 * NULL for bad hex.
 */
static const char *
decode_unicode(const char *p, const char *end, uint32_t *code_point)
{
	int high = hex4(p, end);
	int low;

	if (high < 0)
		return NULL;
	p += 4;
	*code_point = (uint32_t) high;
	if (high >= 0xD800 && high <= 0xDBFF)
	{
		*code_point = 0xFFFD;
		if (end - p >= 6 && p[0] == '\\' && p[1] == 'u')
		{
			low = hex4(p + 2, end);
			if (low >= 0xDC00 && low <= 0xDFFF)
			{
				*code_point =
					0x10000 + ((uint32_t) (high - 0xD800) << 10) + (uint32_t) (low - 0xDC00);
				p += 6;
			}
		}
	}
	else if ((high >= 0xDC00 && high <= 0xDFFF) || high == 0)
		*code_point = 0xFFFD;
	return p;
}

/* The rest of a string from its first backslash on, decoded into `buf`. */
static bool
decode_escapes(ls_json *j, const char *p, ls_buf *buf, bool *ascii)
{
	while (true)
	{
		const char *run = p;
		uint32_t c;

		p = find_special(p, j->end, ascii);
		ls_buf_append(buf, run, (size_t) (p - run));
		if (p >= j->end)
			return fail(j, "unterminated string", j->end);
		if (*p == '"')
		{
			j->pos = p + 1;
			return true;
		}
		if (*p != '\\')
			return fail(j, "control character in a string: expected an escape", p);
		if (p + 1 >= j->end)
			return fail(j, "unterminated string", j->end);
		p++;
		switch (*p)
		{
			case '"':
			case '\\':
			case '/':
				ls_buf_char(buf, *p++);
				break;
			case 'b':
				ls_buf_char(buf, '\b');
				p++;
				break;
			case 'f':
				ls_buf_char(buf, '\f');
				p++;
				break;
			case 'n':
				ls_buf_char(buf, '\n');
				p++;
				break;
			case 'r':
				ls_buf_char(buf, '\r');
				p++;
				break;
			case 't':
				ls_buf_char(buf, '\t');
				p++;
				break;
			case 'u':
				run = decode_unicode(p + 1, j->end, &c);
				if (run == NULL)
					return fail(j, "bad \\u escape: expected four hexadecimal digits", p - 1);
				ls_utf8_append(buf, c);
				p = run;
				break;
			default:
				return fail(j, "unknown escape in a string", p - 1);
		}
	}
}

/*
 * Room for the string from `begin` on, which has an escape at p: it is no longer
 * than it is written.  Strings of a few bytes would else take 64 each.
 */
static bool
reserve_string(ls_buf *buf, const char *begin, const char *p, const char *end)
{
	bool ascii;

	while (p < end && *p == '\\')
		p = find_special(end - p < 2 ? end : p + 2, end, &ascii);
	buf->data = ls_arena_alloc(buf->arena, (size_t) (p - begin));
	if (buf->data == NULL)
		return false;
	buf->capacity = (size_t) (p - begin);
	return true;
}

/* A string; j->pos is at its opening quote. */
static bool
read_string(ls_json *j, ls_str *text)
{
	const char *begin = j->pos + 1;
	bool ascii = true;
	const char *p = find_special(begin, j->end, &ascii);

	if (p >= j->end)
		return fail(j, "unterminated string", j->end);
	if (*p == '"')
	{
		*text = ls_str_make(begin, (size_t) (p - begin));
		j->pos = p + 1;
	}
	else if (*p == '\\')
	{
		ls_buf buf;

		ls_buf_init(&buf, j->arena);
		/* What is passed over is checked all the same; an escape is ASCII. */
		buf.failed = j->arena == NULL || !reserve_string(&buf, begin, p, j->end);
		ls_buf_append(&buf, begin, (size_t) (p - begin));
		if (!decode_escapes(j, p, &buf, &ascii))
			return false;
		if (buf.failed && j->arena != NULL)
			return fail(j, "out of memory", begin);
		*text = j->arena == NULL ? ls_str_make(begin, (size_t) (j->pos - 1 - begin))
								 : ls_str_make(buf.data, buf.len);
	}
	else
		return fail(j, "control character in a string: expected an escape", p);

	if (!ascii && !ls_utf8_valid(text->data, text->len))
		return fail(j, "invalid UTF-8 in a string", begin);
	return true;
}

static inline bool
is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static bool
read_number(ls_json *j, ls_str *text)
{
	const char *p = j->pos;

	if (*p == '-')
		p++;
	if (!is_digit(p, j->end))
		return fail(j, "expected a digit", p);
	if (*p == '0')
	{
		p++;
		if (is_digit(p, j->end))
			return fail(j, "a number must not begin with 0", p);
	}
	else
	{
		while (is_digit(p, j->end))
			p++;
	}
	if (p < j->end && *p == '.')
	{
		p++;
		if (!is_digit(p, j->end))
			return fail(j, "expected a digit", p);
		while (is_digit(p, j->end))
			p++;
	}
	if (p < j->end && (*p == 'e' || *p == 'E'))
	{
		p++;
		if (p < j->end && (*p == '+' || *p == '-'))
			p++;
		if (!is_digit(p, j->end))
			return fail(j, "expected a digit", p);
		while (is_digit(p, j->end))
			p++;
	}
	*text = ls_str_make(j->pos, (size_t) (p - j->pos));
	j->pos = p;
	return true;
}

static bool
read_literal(ls_json *j, const char *literal, size_t len)
{
	if ((size_t) (j->end - j->pos) < len || memcmp(j->pos, literal, len) != 0)
		return fail(j, "expected a JSON value", j->pos);
	j->pos += len;
	return true;
}

bool
ls_json_peek(ls_json *j, ls_json_type *type)
{
	if (j->error != NULL)
		return false;
	skip_space(j);
	if (j->pos >= j->end)
		return false;
	switch (*j->pos)
	{
		case '{':
			*type = LS_JSON_OBJECT;
			return true;
		case '[':
			*type = LS_JSON_ARRAY;
			return true;
		case '"':
			*type = LS_JSON_STRING;
			return true;
		case 't':
			*type = LS_JSON_TRUE;
			return true;
		case 'f':
			*type = LS_JSON_FALSE;
			return true;
		case 'n':
			*type = LS_JSON_NULL;
			return true;
		default:
			*type = LS_JSON_NUMBER;
			return true;
	}
}

bool
ls_json_read(ls_json *j, ls_json_value *value)
{
	value->text = ls_str_make("", 0);
	if (j->error != NULL)
		return false;
	if (!ls_json_peek(j, &value->type))
		return fail(j, "unexpected end: expected a JSON value", j->end);
	switch (value->type)
	{
		case LS_JSON_OBJECT:
		case LS_JSON_ARRAY:
			if (j->depth >= j->max_depth)
				return fail(j, "nested too deeply", j->pos);
			j->depth++;
			j->first = true;
			j->pos++;
			return true;
		case LS_JSON_STRING:
			j->first = false;
			return read_string(j, &value->text);
		case LS_JSON_TRUE:
			j->first = false;
			return read_literal(j, "true", 4);
		case LS_JSON_FALSE:
			j->first = false;
			return read_literal(j, "false", 5);
		case LS_JSON_NULL:
			j->first = false;
			return read_literal(j, "null", 4);
		case LS_JSON_NUMBER:
			j->first = false;
			if (*j->pos != '-' && !is_digit(j->pos, j->end))
				return fail(j, "expected a JSON value", j->pos);
			return read_number(j, &value->text);
	}
	return fail(j, "expected a JSON value", j->pos);
}

/* Goes to the next entry of the open container; false when it is closed. */
static bool
next_entry(ls_json *j, char close, const char *expected)
{
	if (j->error != NULL)
		return false;
	skip_space(j);
	if (j->pos >= j->end)
		return fail(j, expected, j->end);
	if (*j->pos == close)
	{
		j->pos++;
		j->depth--;
		j->first = false;
		return false;
	}
	if (!j->first)
	{
		if (*j->pos != ',')
			return fail(j, expected, j->pos);
		j->pos++;
		skip_space(j);
		if (j->pos >= j->end)
			return fail(j, expected, j->end);
	}
	j->first = false;
	return true;
}

bool
ls_json_member(ls_json *j, ls_str *key)
{
	if (!next_entry(j, '}', "expected , or }"))
		return false;
	if (*j->pos != '"')
		return fail(j, "expected a member name in quotes", j->pos);
	if (!read_string(j, key))
		return false;
	skip_space(j);
	if (j->pos >= j->end || *j->pos != ':')
		return fail(j, "expected :", j->pos);
	j->pos++;
	return true;
}

bool
ls_json_element(ls_json *j)
{
	return next_entry(j, ']', "expected , or ]");
}

static bool
skip_value(ls_json *j, ls_str *raw)
{
	int outer = j->depth;
	const char *begin;
	ls_json_value value;
	ls_str key;
	uint64_t objects = 0; /* bit d: container d below here is an object */
	int level = 0;

	if (j->error != NULL)
		return false;
	skip_space(j);
	begin = j->pos;
	if (j->max_depth - outer > 63)
	{
		/* The bit stack holds 63 levels; deeper input is refused anyway. */
		j->max_depth = outer + 63;
	}
	if (!ls_json_read(j, &value))
		return false;
	while (true)
	{
		if (value.type == LS_JSON_OBJECT || value.type == LS_JSON_ARRAY)
		{
			level++;
			objects = (objects & ~(UINT64_C(1) << level)) |
					  (uint64_t) (value.type == LS_JSON_OBJECT) << level;
		}
		while (level > 0 &&
			   !((objects >> level & 1) ? ls_json_member(j, &key) : ls_json_element(j)))
		{
			if (j->error != NULL)
				return false;
			level--;
		}
		if (level == 0)
			break;
		if (!ls_json_read(j, &value))
			return false;
	}
	*raw = ls_str_make(begin, (size_t) (j->pos - begin));
	return true;
}

bool
ls_json_skip(ls_json *j, ls_str *raw)
{
	ls_arena *arena = j->arena;
	bool good;

	/* Nobody reads the texts in it. */
	j->arena = NULL;
	good = skip_value(j, raw);
	j->arena = arena;
	return good;
}

bool
ls_json_end(ls_json *j)
{
	if (j->error != NULL)
		return false;
	skip_space(j);
	return j->pos >= j->end;
}

static bool
compact_value(ls_json *j, ls_buf *buf)
{
	ls_json_value value;
	ls_str key;
	bool first = true;

	if (!ls_json_read(j, &value))
		return false;
	switch (value.type)
	{
		case LS_JSON_NULL:
			ls_buf_lit(buf, "null");
			break;
		case LS_JSON_TRUE:
			ls_buf_lit(buf, "true");
			break;
		case LS_JSON_FALSE:
			ls_buf_lit(buf, "false");
			break;
		case LS_JSON_NUMBER:
			if (j->narrow && !ls_json_number_fits(value.text))
				ls_json_quote(buf, value.text);
			else
				ls_buf_str(buf, value.text);
			break;
		case LS_JSON_STRING:
			ls_json_quote(buf, value.text);
			break;
		case LS_JSON_OBJECT:
			ls_buf_char(buf, '{');
			while (ls_json_member(j, &key))
			{
				if (!first)
					ls_buf_char(buf, ',');
				first = false;
				ls_json_quote(buf, key);
				ls_buf_char(buf, ':');
				if (!compact_value(j, buf))
					return false;
			}
			ls_buf_char(buf, '}');
			break;
		case LS_JSON_ARRAY:
			ls_buf_char(buf, '[');
			while (ls_json_element(j))
			{
				if (!first)
					ls_buf_char(buf, ',');
				first = false;
				if (!compact_value(j, buf))
					return false;
			}
			ls_buf_char(buf, ']');
			break;
	}
	return j->error == NULL && !buf->failed;
}

bool
ls_json_compact(ls_json *j, ls_buf *buf)
{
	if (j->error != NULL)
		return false;
	if (!compact_value(j, buf))
	{
		if (buf->failed)
			return fail(j, "out of memory", j->pos);
		return false;
	}
	return true;
}

void
ls_json_quote(ls_buf *buf, ls_str s)
{
	const char *p = s.data;
	const char *end = s.data + s.len;
	bool ascii = true;

	ls_buf_char(buf, '"');
	while (p < end)
	{
		const char *run = p;

		p = find_special(p, end, &ascii);
		ls_buf_append(buf, run, (size_t) (p - run));
		if (p >= end)
			break;
		switch (*p)
		{
			case '"':
				ls_buf_lit(buf, "\\\"");
				break;
			case '\\':
				ls_buf_lit(buf, "\\\\");
				break;
			case '\n':
				ls_buf_lit(buf, "\\n");
				break;
			case '\r':
				ls_buf_lit(buf, "\\r");
				break;
			case '\t':
				ls_buf_lit(buf, "\\t");
				break;
			case '\b':
				ls_buf_lit(buf, "\\b");
				break;
			case '\f':
				ls_buf_lit(buf, "\\f");
				break;
			default:
				ls_buf_printf(buf, "\\u%04x", (unsigned) (unsigned char) *p);
				break;
		}
		p++;
	}
	ls_buf_char(buf, '"');
}

bool
ls_json_canonical_int(ls_str number, int64_t *value)
{
	bool negative = number.len > 0 && number.data[0] == '-';
	size_t digits = number.len - negative;
	uint64_t v = 0;
	uint64_t limit = negative ? UINT64_C(1) << 63 : INT64_MAX;

	if (digits == 0 || digits > 19 || (negative && number.data[1] == '0')) /* -0 is not canonical */
		return false;
	for (size_t i = negative; i < number.len; i++)
	{
		if (number.data[i] < '0' || number.data[i] > '9')
			return false;
		v = v * 10 + (uint64_t) (number.data[i] - '0');
	}
	if (v > limit)
		return false;
	*value = (int64_t) (negative ? ~v + 1 : v);
	return true;
}

/* ---- numbers that do not fit ---- */

/* Room for each double as PostgreSQL writes it out: 309 digits, or 17 after 323 zeros. */
#define MAX_NUMBER 400
#define MAX_EXPONENT 400

/* A sum of doubles, without rounding, is shorter. */
#define MAX_SUM 2000

/* The exponent of a number; more than MAX_EXPONENT: it is larger than that. */
static int
exponent_of(ls_str number)
{
	size_t at = number.len;
	int exponent = 0;

	/* From its end: what comes before its last digits says whether they are an exponent. */
	while (at > 0 && number.data[at - 1] >= '0' && number.data[at - 1] <= '9')
		at--;
	if (at < 2 || number.data[at - 1] == '.')
		return 0;
	for (; at < number.len && exponent <= MAX_EXPONENT; at++)
		exponent = exponent * 10 + (number.data[at] - '0');
	return exponent;
}

bool
ls_json_number_fits(ls_str number)
{
	char copy[MAX_NUMBER + 1];
	int exponent;

	if (number.len > MAX_NUMBER)
		return false;
	exponent = exponent_of(number);
	if (exponent > MAX_EXPONENT)
		return false;
	/* Less than 1e300, whatever its digits are; else reading it says so. */
	if (exponent + (int) number.len <= 300)
		return true;
	memcpy(copy, number.data, number.len);
	copy[number.len] = '\0';
	return isfinite(strtod(copy, NULL));
}

/* Is the byte part of a number? */
static inline bool
in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

bool
ls_json_wide_number(ls_str json, size_t from, ls_str *number)
{
	const char *p = json.data + from;
	const char *end = json.data + json.len;
	bool ascii;

	while (p < end)
	{
		const char *begin = p;

		if (*p == '"')
		{
			p = find_special(p + 1, end, &ascii);
			while (p < end && *p != '"')
				p = find_special(*p == '\\' && end - p > 1 ? p + 2 : p + 1, end, &ascii);
			p += p < end;
			continue;
		}
		if (*p != '-' && (*p < '0' || *p > '9'))
		{
			p++;
			continue;
		}
		while (p < end && in_number(*p))
			p++;
		*number = ls_str_make(begin, (size_t) (p - begin));
		if (number->len > MAX_SUM || exponent_of(*number) > MAX_EXPONENT)
			return true;
	}
	return false;
}
