/*-------------------------------------------------------------------------
 *
 * loki_labels.c
 *	  A label set as text: {app="shop", level="info"} (pure).
 *
 * Values are strings of Go: in double quotes with escapes, or in back quotes
 * without.  Names may be quoted too.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/loki.h"

typedef struct label_reader
{
	ls_str text;
	size_t at;
	ls_arena *arena;
	const char *error;
} label_reader;

static bool
fail(label_reader *r, const char *error)
{
	if (r->error == NULL)
		r->error = error;
	return false;
}

static void
skip_space(label_reader *r)
{
	while (r->at < r->text.len && strchr(" \t\r\n", r->text.data[r->at]) != NULL &&
		   r->text.data[r->at] != '\0')
		r->at++;
}

static bool
take(label_reader *r, char c)
{
	skip_space(r);
	if (r->at >= r->text.len || r->text.data[r->at] != c)
		return false;
	r->at++;
	return true;
}

/* The number of `n` digits of a base, from r->at on. */
static bool
digits(label_reader *r, int n, int base, uint32_t *number)
{
	*number = 0;
	for (int i = 0; i < n; i++, r->at++)
	{
		int digit = r->at < r->text.len ? ls_hex_digit(r->text.data[r->at]) : -1;

		if (digit < 0 || digit >= base)
			return fail(r, "a broken escape");
		*number = *number * (uint32_t) base + (uint32_t) digit;
	}
	return true;
}

/* What stands after a backslash. */
static bool
escape(label_reader *r, ls_buf *out)
{
	static const char plain[] = "abfnrtv\\'\"";
	static const char meaning[] = "\a\b\f\n\r\t\v\\'\"";
	const char *found;
	uint32_t number;
	char c = r->at < r->text.len ? r->text.data[r->at] : '\0';

	if (c >= '0' && c <= '7')
	{
		if (!digits(r, 3, 8, &number))
			return false;
		ls_buf_char(out, (char) number);
		return true;
	}
	r->at++;
	if (c == 'x')
	{
		if (!digits(r, 2, 16, &number))
			return false;
		ls_buf_char(out, (char) number);
		return true;
	}
	if (c == 'u' || c == 'U')
	{
		if (!digits(r, c == 'u' ? 4 : 8, 16, &number))
			return false;
		if (number > 0x10FFFF || (number >= 0xD800 && number < 0xE000))
			number = 0xFFFD;
		ls_utf8_append(out, number);
		return true;
	}
	found = c == '\0' ? NULL : strchr(plain, c);
	if (found == NULL)
		return fail(r, "a broken escape");
	ls_buf_char(out, meaning[found - plain]);
	return true;
}

/* A string in quotes; r->at is at the opening one. */
static bool
quoted(label_reader *r, ls_str *value)
{
	char quote = r->text.data[r->at++];
	size_t start = r->at;
	bool escaped = false;
	ls_buf buf;

	while (r->at < r->text.len && r->text.data[r->at] != quote &&
		   (quote == '`' || r->text.data[r->at] != '\\'))
		r->at++;
	if (r->at < r->text.len && r->text.data[r->at] == '\\' && quote != '`')
	{
		ls_buf_init(&buf, r->arena);
		ls_buf_append(&buf, r->text.data + start, r->at - start);
		escaped = true;
		while (r->at < r->text.len && r->text.data[r->at] != quote)
		{
			char c = r->text.data[r->at++];

			if (c != '\\')
				ls_buf_char(&buf, c);
			else if (!escape(r, &buf))
				return false;
		}
	}
	if (r->at >= r->text.len)
		return fail(r, "a string is not closed");
	*value = escaped ? ls_str_make(buf.data, buf.failed ? 0 : buf.len)
					 : ls_str_make(r->text.data + start, r->at - start);
	*value = ls_event_builder_text(r->arena, *value);
	r->at++;
	return true;
}

/* A label's name: in quotes, or all up to what cannot be part of one. */
static bool
name_of(label_reader *r, ls_str *name)
{
	size_t start;

	skip_space(r);
	if (r->at < r->text.len && (r->text.data[r->at] == '"' || r->text.data[r->at] == '`'))
		return quoted(r, name);
	start = r->at;
	while (r->at < r->text.len && r->text.data[r->at] != '\0' &&
		   strchr("=!~,{}\"` \t\r\n", r->text.data[r->at]) == NULL)
		r->at++;
	*name = ls_event_builder_text(r->arena, ls_str_make(r->text.data + start, r->at - start));
	return r->at > start ? true : fail(r, "expected the name of a label");
}

bool
ls_loki_read_labels(ls_loki *loki, ls_str text, const char **error)
{
	label_reader r = {.text = text, .arena = loki->builder.options->arena};

	ls_loki_clear(&loki->stream);
	if (!take(&r, '{'))
		fail(&r, "expected {");
	while (r.error == NULL && !take(&r, '}'))
	{
		ls_str name, value;

		if (!name_of(&r, &name))
			break;
		if (!take(&r, '='))
			fail(&r, "expected = after the name of a label");
		skip_space(&r);
		if (r.error == NULL &&
			(r.at >= text.len || (text.data[r.at] != '"' && text.data[r.at] != '`')))
			fail(&r, "expected a value in quotes");
		if (r.error != NULL || !quoted(&r, &value))
			break;
		ls_loki_add(loki, &loki->stream, name, value);
		if (!take(&r, ',') && (r.at >= text.len || text.data[r.at] != '}'))
			fail(&r, "expected , or }");
	}
	skip_space(&r);
	if (r.error == NULL && r.at < text.len)
		fail(&r, "expected nothing after }");
	*error = r.error;
	return r.error == NULL;
}
