/*-------------------------------------------------------------------------
 *
 * translate_source.c
 *	  What the readers of other languages share: reading a text, and writing ours (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate.h"

/* ---- reading ---- */

bool
ls_query_source_fail(ls_query_source *source, const char *problem)
{
	if (!source->failed)
		source->problem = problem;
	source->failed = true;
	return false;
}

char
ls_query_source_char(const ls_query_source *source, size_t ahead)
{
	return source->text.len - source->pos > ahead ? source->text.data[source->pos + ahead] : '\0';
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

void
ls_query_source_spaces(ls_query_source *source)
{
	while (is_space(ls_query_source_char(source, 0)))
		source->pos++;
}

bool
ls_query_source_take(ls_query_source *source, const char *text)
{
	size_t len = strlen(text);

	ls_query_source_spaces(source);
	if (source->text.len - source->pos < len ||
		memcmp(source->text.data + source->pos, text, len) != 0)
		return false;
	source->pos += len;
	return true;
}

ls_str
ls_query_source_name(ls_query_source *source)
{
	size_t start;

	ls_query_source_spaces(source);
	start = source->pos;
	while (ls_query_is_name_char(ls_query_source_char(source, 0)))
		source->pos++;
	return ls_str_make(source->text.data + start, source->pos - start);
}

bool
ls_query_source_word(ls_query_source *source, const char *word)
{
	size_t start = source->pos;

	if (ls_str_eq(ls_query_source_name(source), ls_str_make(word, strlen(word))))
		return true;
	source->pos = start;
	return false;
}

void
ls_query_source_leave_out(ls_query_source *source, const char *what)
{
	size_t len = strlen(what);
	ls_buf *list = &source->left_out;

	for (size_t i = 0; i + len <= list->len; i++)
		if (memcmp(list->data + i, what, len) == 0)
			return;
	if (list->len > 0)
		ls_buf_lit(list, ", ");
	ls_buf_append(list, what, len);
}

/* ---- writing ---- */

void
ls_query_write_instant(ls_buf *out, ls_time time, bool local)
{
	char iso[LS_TIME_ISO_LENGTH + 1];

	ls_time_format_iso(time, iso);
	if (local && time % LS_USECS_PER_DAY == 0)
		ls_buf_append(out, iso, 10);
	else
		ls_buf_printf(out, "%.*s%s", time % LS_USECS_PER_SEC == 0 ? 19 : 23, iso, local ? "" : "Z");
}

static bool
is_one_of(ls_str word, const char *const *words)
{
	for (; *words != NULL; words++)
		if (ls_str_eq(word, ls_str_make(*words, strlen(*words))))
			return true;
	return false;
}

/* The name in backticks. */
static bool
write_quoted_name(ls_buf *out, ls_str name)
{
	if (name.len == 0 || memchr(name.data, '`', name.len) != NULL)
		return false;
	ls_buf_char(out, '`');
	ls_buf_str(out, name);
	ls_buf_char(out, '`');
	return true;
}

bool
ls_query_write_head_field(ls_buf *out, ls_str name)
{
	static const char *const scopes[] = {"index", "earliest", "latest", NULL};

	if (!ls_query_is_plain_word(name) || name.data[name.len - 1] == '.' || name.data[0] == '.')
		return write_quoted_name(out, name);
	for (size_t i = 1; i < name.len; i++)
		if (name.data[i] == '.' && name.data[i - 1] == '.')
			return write_quoted_name(out, name);
	if (is_one_of(name, scopes))
		ls_buf_lit(out, "attributes.");
	ls_buf_str(out, name);
	return true;
}

bool
ls_query_write_field(ls_buf *out, ls_str name)
{
	static const char *const keywords[] = {"by", "as", "true", "false", "null", NULL};
	size_t start = 0;

	/* The parts of a path are names of their own. */
	for (size_t i = 0; i <= name.len; i++)
	{
		ls_str part = ls_str_make(name.data + start, i - start);
		bool plain;

		if (i < name.len && name.data[i] != '.')
			continue;
		plain = part.len > 0 && (part.data[0] < '0' || part.data[0] > '9') &&
				ls_query_find_operator(part) == 0 && !is_one_of(part, keywords);
		for (size_t j = 0; j < part.len; j++)
			plain = plain && ls_query_is_name_char(part.data[j]);
		if (start > 0)
			ls_buf_char(out, '.');
		if (plain)
			ls_buf_str(out, part);
		else if (!write_quoted_name(out, part))
			return false;
		start = i + 1;
	}
	return true;
}

void
ls_query_write_text(ls_buf *out, ls_str text)
{
	ls_buf_char(out, '"');
	for (size_t i = 0; i < text.len; i++)
	{
		if (text.data[i] == '"' || text.data[i] == '\\')
			ls_buf_char(out, '\\');
		ls_buf_char(out, text.data[i]);
	}
	ls_buf_char(out, '"');
}

void
ls_query_write_regex(ls_buf *out, ls_str regex)
{
	ls_buf_char(out, '"');
	for (size_t i = 0; i < regex.len; i++)
	{
		char c = regex.data[i];

		if (c == '\\' && i + 1 < regex.len)
		{
			/* An escaped quote is a quote; the expression sees no backslash. */
			c = regex.data[++i];
			ls_buf_char(out, '\\');
		}
		else if (c == '"')
			ls_buf_char(out, '\\');
		ls_buf_char(out, c);
	}
	ls_buf_char(out, '"');
}

bool
ls_query_insert(ls_buf *out, size_t at, char c)
{
	if (out->failed || !ls_buf_reserve(out, 1))
		return false;
	memmove(out->data + at + 1, out->data + at, out->len - at);
	out->data[at] = c;
	out->len++;
	return true;
}
