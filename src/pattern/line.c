/*-------------------------------------------------------------------------
 *
 * line.c
 *	  The line of a pattern, and the escaping of rows.
 *
 * Rows are shown as they are except for what could break a line: a row must not
 * be able to forge a line of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/render.h"

void
ls_pattern_escape(ls_buf *buf, ls_str row)
{
	size_t plain = 0;
	size_t i = 0;

	while (i < row.len)
	{
		uint8_t c = (uint8_t) row.data[i];
		uint8_t next = i + 1 < row.len ? (uint8_t) row.data[i + 1] : 0;
		uint8_t third = i + 2 < row.len ? (uint8_t) row.data[i + 2] : 0;
		size_t len = 1;

		if (c >= 0x20 && c != 0x7f && c != 0xc2 && c != 0xe2)
		{
			i++;
			continue;
		}
		if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			len = 2; /* U+0080 to U+009F */
		else if (c == 0xe2 && next == 0x80 && (third == 0xa8 || third == 0xa9))
			len = 3; /* line and paragraph separator */
		else if (c >= 0x80)
		{
			i++;
			continue;
		}
		ls_buf_append(buf, row.data + plain, i - plain);
		if (len == 3)
			ls_buf_printf(buf, "\\u20%02x", third - 0x80);
		else if (len == 2)
			ls_buf_printf(buf, "\\u00%02x", next);
		else if (c == '\n')
			ls_buf_lit(buf, "\\n");
		else if (c == '\r')
			ls_buf_lit(buf, "\\r");
		else if (c == '\t')
			ls_buf_lit(buf, "\\t");
		else
			ls_buf_printf(buf, "\\x%02x", c);
		i += len;
		plain = i;
	}
	ls_buf_append(buf, row.data + plain, row.len - plain);
}

static bool
needs_escape(ls_str row)
{
	size_t i = 0;

	/* blocks without a branch, which the compiler makes into vectors */
	for (; i + 32 <= row.len; i += 32)
	{
		uint8_t found = 0;

		for (size_t k = 0; k < 32; k++)
		{
			uint8_t c = (uint8_t) row.data[i + k];

			found |= (uint8_t) ((c < 0x20) | (c == 0x7f) | (c == 0xc2) | (c == 0xe2));
		}
		if (found != 0)
			return true;
	}
	for (; i < row.len; i++)
	{
		uint8_t c = (uint8_t) row.data[i];

		if (c < 0x20 || c == 0x7f || c == 0xc2 || c == 0xe2)
			return true;
	}
	return false;
}

bool
ls_display_row(ls_arena *arena, ls_str row, ls_str *out)
{
	ls_buf buf;

	*out = row;
	if (!needs_escape(row))
		return true;
	ls_buf_init(&buf, arena);
	ls_pattern_escape(&buf, row);
	*out = ls_str_make(buf.data, buf.len);
	return !buf.failed;
}

void
ls_pattern_line(ls_buf *buf, const ls_pattern *pattern)
{
	ls_buf_printf(buf, "[%ux] ", pattern->count);
	ls_buf_str(buf, pattern->template);
	for (uint32_t i = 0; i < pattern->nsamples; i++)
	{
		if (i == 0)
			ls_buf_lit(buf, "  e.g. ");
		else
			ls_buf_lit(buf, " | ");
		ls_buf_str(buf, pattern->samples[i]);
	}
}
