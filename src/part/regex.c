/*-------------------------------------------------------------------------
 *
 * regex.c
 *	  Regular expressions: the only file that uses PCRE2 (pure).
 *
 * All memory of the library comes from the caller's arena, which is freed as a
 * whole.  That is why the JIT is not used: its code is in executable pages that
 * only pcre2_code_free releases, and an error of the server may unwind past us.  A
 * pattern cannot run for ever: the match, depth and heap limits make the library
 * give up, and that is reported, never treated as "no match".
 *
 *-------------------------------------------------------------------------
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

#include "src/part/match.h"

#define MATCH_LIMIT 1000000 /* steps for one text: some 10 ms */
#define DEPTH_LIMIT 10000   /* nested backtracking points */
#define HEAP_LIMIT 8192     /* kB for one text */
#define PARENS_LIMIT 100    /* as the query language */

struct ls_regex
{
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
};

static void *
take(size_t size, void *arena)
{
	return ls_arena_alloc(arena, size);
}

static void
keep(void *block, void *arena)
{
	(void) block;
	(void) arena;
}

ls_regex *
ls_regex_compile(ls_arena *arena, ls_str pattern, bool groups, const char **error)
{
	ls_regex *regex = ls_new(arena, ls_regex);
	pcre2_general_context *general = pcre2_general_context_create(take, keep, arena);
	pcre2_compile_context *compile = NULL;
	int code = 0;
	PCRE2_SIZE offset = 0;

	*error = "out of memory";
	if (regex == NULL || general == NULL)
		return NULL;
	compile = pcre2_compile_context_create(general);
	regex->context = pcre2_match_context_create(general);
	if (compile == NULL || regex->context == NULL)
		return NULL;
	pcre2_set_parens_nest_limit(compile, PARENS_LIMIT);
	regex->code = pcre2_compile((PCRE2_SPTR) pattern.data, pattern.len,
								PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY, &code,
								&offset, compile);
	if (regex->code == NULL)
	{
		PCRE2_UCHAR text[200];
		ls_buf buf;

		if (ls_arena_failed(arena))
			return NULL;
		pcre2_get_error_message(code, text, sizeof(text));
		ls_buf_init(&buf, arena);
		ls_buf_printf(&buf, "invalid regular expression at byte %zu: %s", (size_t) offset,
					  (char *) text);
		ls_buf_char(&buf, '\0');
		if (!buf.failed)
			*error = buf.data;
		return NULL;
	}
	regex->data = groups ? pcre2_match_data_create_from_pattern(regex->code, general)
						 : pcre2_match_data_create(1, general);
	if (regex->data == NULL)
		return NULL;
	pcre2_set_match_limit(regex->context, MATCH_LIMIT);
	pcre2_set_depth_limit(regex->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(regex->context, HEAP_LIMIT);
	*error = NULL;
	return regex;
}

int
ls_regex_match(ls_regex *regex, ls_str text, const char **error)
{
	int code = pcre2_match(regex->code, (PCRE2_SPTR) text.data, text.len, 0, 0, regex->data,
						   regex->context);

	/* 0: matched, with more groups than we have room for. */
	if (code >= 0)
		return 1;
	/* Bytes that are not UTF-8 match nothing. */
	if (code == PCRE2_ERROR_NOMATCH ||
		(code <= PCRE2_ERROR_UTF8_ERR1 && code >= PCRE2_ERROR_UTF8_ERR21))
		return 0;
	*error = code == PCRE2_ERROR_NOMEMORY ? "out of memory"
										  : "the regular expression needs too many steps";
	return -1;
}

bool
ls_regex_group(const ls_regex *regex, const char *name, ls_str text, ls_str *group)
{
	const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(regex->data);
	int number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR) name);
	PCRE2_SIZE start;
	PCRE2_SIZE end;

	if (number < 1 || (uint32_t) number >= pcre2_get_ovector_count(regex->data))
		return false;
	start = offsets[2 * number];
	end = offsets[2 * number + 1];
	if (start == PCRE2_UNSET || end == PCRE2_UNSET || start > end || end > text.len)
		return false;
	*group = ls_str_make(text.data + start, end - start);
	return true;
}
