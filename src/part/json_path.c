/*-------------------------------------------------------------------------
 *
 * json_path.c
 *	  A member of a stored JSON object, without parsing all of it (pure).
 *
 * Stored objects were validated when they came in, so this only scans for the
 * end of each value.  It never reads past the end, whatever the bytes are.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/filter_eval.h"

/* Parts of a path; language.md has no limit, a filter's bytes do. */
#define MAX_PATH 32

typedef struct cursor
{
	const char *p;
	const char *end;
} cursor;

static void
skip_space(cursor *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
		c->p++;
}

static bool
take(cursor *c, char ch)
{
	skip_space(c);
	if (c->p >= c->end || *c->p != ch)
		return false;
	c->p++;
	return true;
}

/* Reads a string from its opening quote on; *raw: the bytes between the quotes. */
static bool
scan_string(cursor *c, ls_str *raw, bool *escaped)
{
	const char *begin;

	if (!take(c, '"'))
		return false;
	begin = c->p;
	*escaped = false;
	while (c->p < c->end && *c->p != '"')
	{
		if (*c->p == '\\')
		{
			*escaped = true;
			c->p++;
			if (c->p >= c->end)
				return false;
		}
		c->p++;
	}
	*raw = ls_str_make(begin, (size_t) (c->p - begin));
	return take(c, '"');
}

/* Any value: its text. */
static bool
scan_value(cursor *c, ls_str *value)
{
	const char *begin;
	size_t depth = 0;
	ls_str raw;
	bool escaped;

	skip_space(c);
	begin = c->p;
	while (c->p < c->end)
	{
		char ch = *c->p;

		if (ch == '"')
		{
			if (!scan_string(c, &raw, &escaped))
				return false;
			if (depth == 0)
				break;
			continue;
		}
		if (ch == '{' || ch == '[')
			depth++;
		else if (ch == '}' || ch == ']' || ch == ',')
		{
			if (depth == 0)
				break;
			if (ch != ',' && --depth == 0)
			{
				c->p++;
				break;
			}
		}
		c->p++;
	}
	*value = ls_str_make(begin, (size_t) (c->p - begin));
	return depth == 0 && value->len > 0;
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

/* The text of a string with escapes, into an empty buffer. */
static bool
decode(ls_str raw, ls_buf *out)
{
	const char *p = raw.data;
	const char *end = raw.data + raw.len;

	out->len = 0;
	while (p < end)
	{
		static const char from[] = "nrtbf";
		static const char to[] = "\n\r\t\b\f";
		const char *known;
		int unit;
		uint32_t c;

		if (*p != '\\' || p + 1 >= end)
		{
			ls_buf_char(out, *p++);
			continue;
		}
		p++;
		if (*p == 'u' && (unit = hex4(p + 1, end)) >= 0)
		{
			c = (uint32_t) unit;
			p += 5;
			if (c >= 0xD800 && c <= 0xDBFF && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
				(unit = hex4(p + 2, end)) >= 0xDC00 && unit <= 0xDFFF)
			{
				c = 0x10000 + ((c - 0xD800) << 10) + ((uint32_t) unit - 0xDC00);
				p += 6;
			}
			ls_utf8_append(out, c == 0 || (c >= 0xD800 && c <= 0xDFFF) ? 0xFFFD : c);
			continue;
		}
		known = memchr(from, *p, sizeof(from) - 1);
		ls_buf_char(out, known != NULL ? to[known - from] : *p);
		p++;
	}
	return !out->failed;
}

/* Does the key equal these parts of the path, joined by dots? */
static bool
key_is(ls_str key, const ls_str *path, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		if (i > 0)
		{
			if (key.len == 0 || key.data[0] != '.')
				return false;
			key.data++;
			key.len--;
		}
		if (key.len < path[i].len || !ls_str_eq(ls_str_make(key.data, path[i].len), path[i]))
			return false;
		key.data += path[i].len;
		key.len -= path[i].len;
	}
	return key.len == 0;
}

/* The text of member `path` of an object. */
static bool
find_value(ls_str json, const ls_str *path, uint32_t n_path, ls_buf *scratch, ls_str *value)
{
	ls_str found[MAX_PATH + 1] = {{NULL, 0}}; /* by the parts that the name took */
	cursor c = {json.data, json.data + json.len};
	ls_str key;
	bool escaped;

	if (n_path == 0 || n_path > MAX_PATH || !take(&c, '{'))
		return false;
	do
	{
		if (!scan_string(&c, &key, &escaped))
			break;
		if (escaped)
		{
			if (!decode(key, scratch))
				return false;
			key = ls_str_make(scratch->data, scratch->len);
		}
		if (!take(&c, ':') || !scan_value(&c, value))
			break;
		for (uint32_t n = 1; n <= n_path; n++)
		{
			if (found[n].data == NULL && key_is(key, path, n))
				found[n] = *value;
		}
	} while (take(&c, ','));

	if (found[n_path].data != NULL)
	{
		*value = found[n_path];
		return true;
	}
	for (uint32_t n = n_path - 1; n > 0; n--)
	{
		if (found[n].data != NULL && found[n].data[0] == '{' &&
			find_value(found[n], path + n, n_path - n, scratch, value))
			return true;
	}
	return false;
}

bool
ls_json_path(ls_str json, const ls_str *path, uint32_t n_path, ls_buf *scratch, ls_member *member)
{
	ls_str value;
	cursor c;
	bool escaped;

	if (!find_value(json, path, n_path, scratch, &value))
		return false;
	member->integer = 0;
	member->text = value;
	switch (value.data[0])
	{
		case '"':
			member->kind = LS_KIND_STRING;
			c = (cursor){value.data, value.data + value.len};
			if (!scan_string(&c, &member->text, &escaped))
				return false;
			if (escaped)
			{
				if (!decode(member->text, scratch))
					return false;
				member->text = ls_str_make(scratch->data, scratch->len);
			}
			return true;
		case '{':
		case '[':
			member->kind = LS_KIND_JSON;
			return true;
		case 't':
		case 'f':
			member->kind = LS_KIND_BOOLEAN;
			member->integer = value.data[0] == 't';
			return true;
		case 'n':
			member->kind = LS_KIND_NULL;
			return true;
		default:
			member->kind =
				ls_json_canonical_int(value, &member->integer) ? LS_KIND_INTEGER : LS_KIND_NUMBER;
			return true;
	}
}
