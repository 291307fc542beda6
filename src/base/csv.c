/*-------------------------------------------------------------------------
 *
 * csv.c
 *	  Cells of CSV files (RFC 4180), which no spreadsheet takes for a formula, and in which a terminal finds
 *	  nothing to obey (pure).
 *
 * CSV has no escapes, and RFC 4180 no control characters.  So those of a text are shown by their pictures
 * (U+2400 and following); what a C1 control is in seven bits, ESC and a letter, is shown so, too.  Tabs and ends
 * of lines stay.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

/* Events may be nested so deep, and an answer around them. */
#define MAX_DEPTH 1200

#define ESCAPE 0x1B

/* Spreadsheets skip these before they look for a formula; more of them does no harm. */
static bool
is_skipped(uint32_t c)
{
	return c <= ' ' || (c >= 0x7F && c <= 0xA0) || c == 0x1680 || c == 0x180E ||
		   (c >= 0x2000 && c <= 0x200F) || (c >= 0x2028 && c <= 0x202F) ||
		   (c >= 0x205F && c <= 0x2064) || c == 0x3000 || c == 0xFEFF;
}

/* Some take full-width and small signs for the usual ones. */
static bool
begins_formula(uint32_t c)
{
	static const uint32_t signs[] = {'=',    '+',    '-',    '@',    '|',    0x2212, 0xFE62, 0xFE63,
									 0xFE66, 0xFE6B, 0xFF0B, 0xFF0D, 0xFF1D, 0xFF20, 0xFF5C};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
	{
		if (c == signs[i])
			return true;
	}
	return false;
}

static bool
is_formula(ls_str text)
{
	const char *at = text.data;
	const char *end = text.data + text.len;

	while (at < end)
	{
		uint32_t c = ls_utf8_next(&at, end);

		if (!is_skipped(c))
			return begins_formula(c);
	}
	return false;
}

/* Has it none of the bytes that control characters have?  Most texts. */
static bool
is_plain(ls_str text)
{
	bool plain = true;

	for (size_t i = 0; i < text.len; i++)
	{
		unsigned char c = (unsigned char) text.data[i];

		plain = plain & (c >= ' ') & (c != 0x7F) & (c != 0xC2);
	}
	return plain;
}

static void
append_picture(ls_buf *buf, uint32_t c)
{
	ls_buf_lit(buf, "\xE2\x90");
	ls_buf_char(buf, (char) (0x80 + (c == 0x7F ? 0x21 : c)));
}

static void
append_shown(ls_buf *buf, ls_str text)
{
	const char *at = text.data;
	const char *end = text.data + text.len;

	while (at < end)
	{
		const char *start = at;
		uint32_t c = ls_utf8_next(&at, end);
		bool stays = c == '\t' || c == '\n' || (c == '\r' && at < end && *at == '\n');

		if (c >= 0x80 && c < 0xA0)
		{
			append_picture(buf, ESCAPE);
			ls_buf_char(buf, (char) (c - 0x40));
		}
		else if ((c < ' ' && !stays) || c == 0x7F)
			append_picture(buf, c);
		else
		{
			ls_buf_append(buf, start, (size_t) (at - start));
			if (c == '"')
				ls_buf_char(buf, '"');
		}
	}
}

void
ls_csv_cell(ls_buf *buf, ls_str text)
{
	ls_buf_char(buf, '"');
	if (is_formula(text))
		ls_buf_char(buf, '\'');
	if (!is_plain(text))
	{
		append_shown(buf, text);
		text.len = 0;
	}
	while (text.len > 0)
	{
		const char *quote = memchr(text.data, '"', text.len);
		size_t len = quote == NULL ? text.len : (size_t) (quote - text.data) + 1;

		ls_buf_append(buf, text.data, len);
		if (quote != NULL)
			ls_buf_char(buf, '"');
		text = ls_str_make(text.data + len, text.len - len);
	}
	ls_buf_char(buf, '"');
}

void
ls_csv_json(ls_buf *buf, ls_str raw, ls_buf *scratch)
{
	ls_json j;
	ls_json_value v;
	ls_json_type type;

	/* Most texts have no escapes: what is between the quotes is the text. */
	if (raw.len >= 2 && raw.data[0] == '"' && memchr(raw.data, '\\', raw.len) == NULL)
	{
		ls_csv_cell(buf, ls_str_make(raw.data + 1, raw.len - 2));
		return;
	}
	ls_json_init(&j, raw, scratch->arena, MAX_DEPTH);
	if (!ls_json_peek(&j, &type) || type == LS_JSON_NULL)
		return;
	if (type == LS_JSON_OBJECT || type == LS_JSON_ARRAY)
	{
		scratch->len = 0;
		ls_json_compact(&j, scratch);
		buf->failed = buf->failed || scratch->failed;
		ls_csv_cell(buf, ls_str_make(scratch->data, scratch->len));
	}
	else if (type == LS_JSON_STRING && ls_json_read(&j, &v))
		ls_csv_cell(buf, v.text);
	else
		ls_buf_str(buf, raw);
}
