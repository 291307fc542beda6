/*-------------------------------------------------------------------------
 *
 * list.c
 *	  Lists as JSON texts: split, count, cut out, join (pure).
 *
 * A value that is no list is a list of one.  What is not JSON, which no event has, has no
 * elements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem; PostgreSQL's flags set it too */
#endif

#include "src/engine/text.h"

/* Of stored values; they are less deep. */
#define DEPTH 1100

void
ls_list_split(ls_buf *buf, ls_str text, ls_str separator)
{
	bool first = true;

	ls_buf_char(buf, '[');
	while (!buf->failed && buf->len <= LS_LIST_MAX_LENGTH)
	{
		const char *found = separator.len == 0 || text.len == 0
								? NULL
								: memmem(text.data, text.len, separator.data, separator.len);
		size_t len = found == NULL ? text.len : (size_t) (found - text.data);

		if (!first)
			ls_buf_char(buf, ',');
		first = false;
		ls_json_quote(buf, ls_str_make(text.data, len));
		if (found == NULL)
			break;
		len += separator.len;
		text = ls_str_make(text.data + len, text.len - len);
	}
	ls_buf_char(buf, ']');
}

static bool
is_list(ls_str json)
{
	return json.len > 0 && json.data[0] == '[';
}

/* The elements of a list; *n: how many.  Out of memory: none, and the arena has failed. */
static ls_str *
elements(ls_str list, ls_arena *arena, uint32_t *n)
{
	ls_str *items = NULL;
	uint32_t capacity = 0;
	ls_json_value value;
	ls_json j;

	*n = 0;
	ls_json_init(&j, list, NULL, DEPTH);
	if (!ls_json_read(&j, &value) || value.type != LS_JSON_ARRAY)
		return NULL;
	while (ls_json_element(&j))
	{
		if (*n == capacity)
		{
			uint32_t grown = capacity == 0 ? 16 : capacity * 2;

			items = ls_arena_grow(arena, items, capacity * sizeof(ls_str), grown * sizeof(ls_str));
			capacity = grown;
			if (items == NULL)
			{
				*n = 0;
				return NULL;
			}
		}
		if (!ls_json_skip(&j, &items[*n]))
			break;
		(*n)++;
	}
	return items;
}

int64_t
ls_list_count(ls_str json)
{
	int64_t n = 0;
	ls_json_value value;
	ls_json j;
	ls_str raw;

	if (!is_list(json))
		return 1;
	ls_json_init(&j, json, NULL, DEPTH);
	if (!ls_json_read(&j, &value))
		return 0;
	while (ls_json_element(&j) && ls_json_skip(&j, &raw))
		n++;
	return n;
}

bool
ls_list_slice(ls_buf *buf, ls_arena *arena, ls_str json, int64_t from, const int64_t *to)
{
	uint32_t n = 1;
	ls_str *items = &json;
	int64_t last;

	if (is_list(json))
		items = elements(json, arena, &n);
	if (from < 0)
		from += n;
	last = to == NULL ? from : *to < 0 ? *to + n : *to;
	if (from < 0 || from >= n || last < from)
		return false;
	if (last >= n)
		last = (int64_t) n - 1;
	if (to == NULL)
	{
		ls_buf_str(buf, items[from]);
		return true;
	}
	for (int64_t i = from; i <= last; i++)
	{
		ls_buf_char(buf, i > from ? ',' : '[');
		ls_buf_str(buf, items[i]);
	}
	ls_buf_char(buf, ']');
	return true;
}

/* A text without its quotes and escapes, anything else as it is. */
static void
append_plain(ls_buf *buf, ls_arena *arena, ls_str json)
{
	ls_json_value value;
	ls_json j;

	ls_json_init(&j, json, arena, DEPTH);
	if (json.len > 0 && json.data[0] == '"' && ls_json_read(&j, &value))
		ls_buf_str(buf, value.text);
	else
		ls_buf_str(buf, json);
}

void
ls_list_join(ls_buf *buf, ls_arena *arena, ls_str json, ls_str separator)
{
	uint32_t n = 1;
	ls_str *items = &json;

	if (is_list(json))
		items = elements(json, arena, &n);
	for (uint32_t i = 0; i < n && !buf->failed && buf->len <= LS_LIST_MAX_LENGTH; i++)
	{
		if (i > 0)
			ls_buf_str(buf, separator);
		append_plain(buf, arena, items[i]);
	}
	if (ls_arena_failed(arena))
		buf->failed = true;
}
