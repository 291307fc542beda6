/*
 * query_text_fuzz.c: any bytes as the texts that expressions and stages read.  The first byte
 * selects what is done; up to the first line feed is the pattern, path, format or delimiter.
 * What comes out is JSON within the limits, or text.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif

#include <stdlib.h>
#include <string.h>

#include "src/engine/text.h"
#include "src/query/extract.h"

static void
check(bool good)
{
	if (!good)
		abort();
}

/* The parser refuses other delimiters. */
static bool
is_ascii(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
	{
		if ((unsigned char) s.data[i] >= 0x80)
			return false;
	}
	return true;
}

/* Is it one JSON value, and what type has it? */
static void
check_json(ls_arena *arena, const ls_buf *buf, char first)
{
	ls_json j;
	ls_str raw;

	check(buf->len > 0 && buf->len <= LS_EXTRACT_LENGTH && (first == 0 || buf->data[0] == first));
	ls_json_init(&j, ls_str_make(buf->data, buf->len), arena, 63);
	check(ls_json_skip(&j, &raw) && ls_json_end(&j));
	check(memchr(buf->data, '\0', buf->len) == NULL && ls_utf8_valid(buf->data, buf->len));
}

static void
check_time(ls_str text, ls_str format, ls_arena *arena)
{
	ls_time time;
	ls_time again;
	ls_buf buf;

	if (ls_time_format_error(format, true) != NULL || !ls_time_read(text, format, NULL, &time))
		return;
	ls_buf_init(&buf, arena);
	ls_time_print(&buf, format, time, NULL);
	/* Seconds since 1970 with another part of a time in the text may contradict each other. */
	if (memmem(format.data, format.len, "%s", 2) == NULL)
		(void) ls_time_read(ls_str_make(buf.data, buf.len), format, NULL, &again);
	check(buf.len <= 16 * LS_TIME_FORMAT_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_arena *arena = ls_arena_create(NULL, 64 << 20);
	const char *text = (const char *) data;
	const char *line = size == 0 ? NULL : memchr(text, '\n', size);
	ls_extraction result = LS_EXTRACT_NOTHING;
	ls_str first = {NULL, 0};
	ls_str rest;
	ls_buf buf;

	ls_buf_init(&buf, arena);
	if (line != NULL && ls_utf8_valid(text, size) && memchr(text, '\0', size) == NULL)
	{
		first = ls_str_make(text + 1, line == text ? 0 : (size_t) (line - text - 1));
		rest = ls_str_make(line + 1, size - (size_t) (line + 1 - text));
		switch (data[0])
		{
			case 'j':
				result = ls_extract_json(&buf, arena, LS_STR("{\"a\":1}"), rest);
				break;
			case 'l':
				result = ls_extract_logfmt(&buf, arena, rest);
				break;
			case 'k':
				if (is_ascii(first))
					result = ls_extract_pairs(&buf, arena, rest, first, LS_STR(""));
				break;
			case 'd':
				if (is_ascii(first))
					result = ls_extract_pairs(&buf, arena, rest, LS_STR(""), first);
				break;
			case 'p':
				if (ls_extract_path_valid(first))
					result = ls_extract_path(&buf, arena, rest, first);
				break;
			case 't':
				check_time(rest, first, arena);
				break;
			case 's':
				ls_list_split(&buf, rest, first);
				check_json(arena, &buf, '[');
				check(ls_list_count(ls_str_make(buf.data, buf.len)) >= 1);
				break;
			default:
				(void) ls_like(rest, first);
				break;
		}
		check(result != LS_EXTRACT_MEMORY);
		if (result == LS_EXTRACTED)
			check_json(arena, &buf, data[0] == 'p' ? 0 : '{');
	}
	ls_arena_destroy(arena);
	return 0;
}
