/*-------------------------------------------------------------------------
 *
 * regex.c
 *	  Regular expressions: the only file that uses PCRE2 (pure).
 *
 * All memory of the library comes from the caller's arena, which is freed as a
 * whole.  Machine code is in executable pages that only pcre2_code_free releases, and an error of
 * the server may unwind past us, so it belongs to a set that the caller frees.  A
 * pattern cannot run for ever: the match, depth and heap limits make the library
 * give up, and that is reported, never treated as "no match".  Searches use machine code for texts
 * of usual length with few steps; what takes more is interpreted, so an answer and an error
 * do not depend on it.
 *
 * Expressions of pipelines are kept and used for each event, so they are compiled to machine code
 * and freed by their owner.  The limit of steps counts backtracking, not characters, and begins
 * again at each place where a match may begin.  So such a search looks at WINDOW places at a time, with few
 * steps for each, and asks in between whether its time is over.
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

/* Of a search that is bounded in time; steps are characters looked at, about. */
#define WINDOW 128
#define WINDOW_STEPS 8000000
#define START_STEPS 8000000
#define LEAST_LIMIT 64
#define MOST_LIMIT 20000
#define LONGEST_TEXT (32 * 1024)

/*
 * Longer texts have shorter windows.  Machine code counts steps only where it may go back, so at each
 * place an expression may read the whole text, some times, for one step.
 */
#define WINDOW_TEXT 2048

/* Bytes of what one pattern is compiled to, before it becomes machine code. */
#define COMPILED_LIMIT (48 * 1024)

struct ls_regex
{
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	bool kept; /* ls_regex_compile_kept */
	bool anchored;
	ls_regex_set *set;
	struct ls_regex *next; /* in the set */
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

static ls_regex *
compile_pattern(ls_arena *arena, ls_str pattern, bool groups, uint32_t options, const char **error)
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
	/* However the library was built: . is any character but \n, and $ the end of the text. */
	pcre2_set_newline(compile, PCRE2_NEWLINE_LF);
	regex->code =
		pcre2_compile((PCRE2_SPTR) pattern.data, pattern.len,
					  PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY | options, &code,
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

ls_regex *
ls_regex_compile(ls_arena *arena, ls_str pattern, bool groups, const char **error)
{
	return compile_pattern(arena, pattern, groups, 0, error);
}

/* ---- bounded in time ---- */

ls_regex *
ls_regex_compile_kept(ls_arena *arena, ls_str pattern, ls_regex_set *set, const char **error)
{
	ls_regex *regex = compile_pattern(arena, pattern, true, PCRE2_USE_OFFSET_LIMIT, error);
	uint32_t options = 0;
	size_t size = 0;

	if (regex == NULL)
		return NULL;
	(void) pcre2_pattern_info(regex->code, PCRE2_INFO_SIZE, &size);
	if (size > COMPILED_LIMIT)
	{
		*error = "the regular expression is too large";
		return NULL;
	}
	(void) pcre2_pattern_info(regex->code, PCRE2_INFO_ALLOPTIONS, &options);
	regex->anchored = (options & PCRE2_ANCHORED) != 0;
	regex->kept = true;
	regex->set = set;
	regex->next = set->first;
	set->first = regex;
	/* Without machine code it works too, only more slowly. */
	if (set->machine_bytes < LS_REGEX_MACHINE_BYTES &&
		pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) == 0 &&
		pcre2_pattern_info(regex->code, PCRE2_INFO_JITSIZE, &size) == 0)
		set->machine_bytes += size;
	return regex;
}

void
ls_regex_set_free(ls_regex_set *set)
{
	for (ls_regex *regex = set->first; regex != NULL; regex = regex->next)
		pcre2_code_free(regex->code);
	set->first = NULL;
	set->machine_bytes = 0;
}

/* ---- quick searches of texts of usual length ---- */

#define QUICK_TEXT 2048

ls_regex *
ls_regex_compile_machine(ls_arena *arena, ls_str pattern, ls_regex_set *set)
{
	const char *error;
	ls_regex *regex = compile_pattern(arena, pattern, false, 0, &error);
	size_t size = 0;

	if (regex == NULL || set->machine_bytes >= LS_REGEX_MACHINE_BYTES)
		return NULL;
	(void) pcre2_pattern_info(regex->code, PCRE2_INFO_SIZE, &size);
	if (size > COMPILED_LIMIT || pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) != 0)
		return NULL;
	if (pcre2_pattern_info(regex->code, PCRE2_INFO_JITSIZE, &size) == 0)
		set->machine_bytes += size;
	regex->set = set;
	regex->next = set->first;
	set->first = regex;
	return regex;
}

int
ls_regex_quick(ls_regex *machine, ls_str text)
{
	int code;

	if (text.len > QUICK_TEXT)
		return -1;
	if (!ls_utf8_valid(text.data, text.len))
		return 0;
	pcre2_set_match_limit(machine->context,
						  (uint32_t) (WINDOW_STEPS / WINDOW / (text.len + 1)) + 16);
	code = pcre2_match(machine->code, (PCRE2_SPTR) text.data, text.len, 0, PCRE2_NO_UTF_CHECK,
					   machine->data, machine->context);
	return code >= 0 ? 1 : code == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

static int
match_from(ls_regex *regex, ls_str text, size_t from, size_t last, uint32_t limit)
{
	pcre2_set_offset_limit(regex->context, last);
	pcre2_set_match_limit(regex->context, limit);
	return pcre2_match(regex->code, (PCRE2_SPTR) text.data, text.len, from, PCRE2_NO_UTF_CHECK,
					   regex->data, regex->context);
}

/* The begin of the next character; past the end of the text: one more. */
static size_t
next_place(ls_str text, size_t place)
{
	place++;
	while (place < text.len && ((unsigned char) text.data[place] & 0xC0) == 0x80)
		place++;
	return place;
}

static bool
is_late(const ls_regex_set *set, const char **error)
{
	if (set->late == NULL || !set->late(set->context))
		return false;
	*error = "the time of the event is over";
	return true;
}

int
ls_regex_search(ls_regex *regex, ls_str text, size_t from, const char **error)
{
	ls_regex_set *set = regex->set;
	uint32_t window_limit;
	uint32_t start_limit;
	uint64_t steps = START_STEPS / (text.len + 1);
	size_t window = text.len <= WINDOW_TEXT ? WINDOW : WINDOW * WINDOW_TEXT / text.len;

	if (text.len > LONGEST_TEXT)
	{
		*error = "the text is too long for a regular expression";
		return -1;
	}
	/* The library is told not to look. */
	if (!ls_utf8_valid(text.data, text.len))
	{
		*error = "the text is not UTF-8";
		return -1;
	}
	start_limit = steps < LEAST_LIMIT  ? LEAST_LIMIT
				  : steps > MOST_LIMIT ? MOST_LIMIT
									   : (uint32_t) steps;
	window_limit = (uint32_t) (WINDOW_STEPS / WINDOW / (text.len + 1)) + 16;
	while (from <= text.len)
	{
		size_t last = text.len - from < window ? text.len : from + window - 1;
		int code = match_from(regex, text, from, last, window_limit);

		if (code == PCRE2_ERROR_MATCHLIMIT)
		{
			/* Place by place, as often as there is time. */
			do
			{
				if (is_late(set, error))
					return -1;
				code = match_from(regex, text, from, from, start_limit);
				from = next_place(text, from);
			} while (code == PCRE2_ERROR_NOMATCH && from <= last && !regex->anchored);
		}
		else
			from = next_place(text, last);
		if (code >= 0)
			return 1;
		if (code != PCRE2_ERROR_NOMATCH)
		{
			*error = "the regular expression needs too many steps";
			return -1;
		}
		if (regex->anchored)
			return 0;
		if (from <= text.len && is_late(set, error))
			return -1;
	}
	return 0;
}

bool
ls_regex_numbered(const ls_regex *regex, uint32_t number, ls_str text, ls_str *group)
{
	const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(regex->data);
	PCRE2_SIZE start;
	PCRE2_SIZE end;

	if (number >= pcre2_get_ovector_count(regex->data))
		return false;
	start = offsets[2 * number];
	end = offsets[2 * number + 1];
	/* With \K a match may begin after its end. */
	if (start == PCRE2_UNSET || end == PCRE2_UNSET || start > end || end > text.len)
		return false;
	*group = ls_str_make(text.data + start, end - start);
	return true;
}

bool
ls_regex_named(const ls_regex *regex, uint32_t i, uint32_t *number, const char **name)
{
	uint32_t count = 0;
	uint32_t size = 0;
	PCRE2_SPTR table = NULL;

	if (pcre2_pattern_info(regex->code, PCRE2_INFO_NAMECOUNT, &count) != 0 || i >= count ||
		pcre2_pattern_info(regex->code, PCRE2_INFO_NAMEENTRYSIZE, &size) != 0 ||
		pcre2_pattern_info(regex->code, PCRE2_INFO_NAMETABLE, &table) != 0)
		return false;
	table += (size_t) i * size;
	*number = (uint32_t) table[0] << 8 | table[1];
	*name = (const char *) table + 2;
	return true;
}

int
ls_regex_match(ls_regex *regex, ls_str text, const char **error)
{
	int code;

	if (regex->kept)
		return ls_regex_search(regex, text, 0, error);
	code = pcre2_match(regex->code, (PCRE2_SPTR) text.data, text.len, 0, 0, regex->data,
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
