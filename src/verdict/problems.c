/*-------------------------------------------------------------------------
 *
 * problems.c
 *	  The list of problems of a request or of a model's reply (pure).
 *
 * All problems are collected, so that a caller does not need a round trip for each.  The list is
 * bounded; further problems are counted, so an invalid request never passes as valid because the
 * list was full.
 *
 *-------------------------------------------------------------------------
 */
#include "src/verdict/evaluation_core.h"

#include <stdarg.h>
#include <stdio.h>

void
ls_validation_init(ls_validation_errors *errors, ls_arena *arena)
{
	memset(errors, 0, sizeof(ls_validation_errors));
	errors->arena = arena;
}

static ls_str
copy(ls_validation_errors *errors, const char *text)
{
	ls_str s = ls_arena_strdup(errors->arena, ls_str_make(text, strlen(text)));

	if (s.data == NULL)
	{
		errors->out_of_memory = true;
		s = LS_STR("");
	}
	return s;
}

void
ls_validation_add(ls_validation_errors *errors, const char *path, const char *code,
				  const char *format, ...)
{
	ls_validation_error *e;
	char message[256];
	va_list args;

	if (errors->count >= LS_VALIDATION_MAX_ERRORS)
	{
		errors->dropped++;
		return;
	}
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	e = &errors->items[errors->count++];
	e->path = copy(errors, path);
	e->code = copy(errors, code);
	e->message = copy(errors, message);
}

void
ls_validation_forget(ls_validation_errors *errors, const char *path)
{
	size_t len = strlen(path);
	size_t kept = 0;

	for (size_t i = 0; i < errors->count; i++)
	{
		ls_str p = errors->items[i].path;
		bool below = p.len >= len && memcmp(p.data, path, len) == 0 &&
					 (p.len == len || p.data[len] == '.' || p.data[len] == '[');

		if (!below)
			errors->items[kept++] = errors->items[i];
	}
	errors->count = kept;
}

void
ls_validation_json(ls_buf *buf, const ls_validation_errors *errors)
{
	ls_buf_char(buf, '[');
	for (size_t i = 0; i < errors->count; i++)
	{
		const ls_validation_error *e = &errors->items[i];

		if (i > 0)
			ls_buf_char(buf, ',');
		ls_buf_lit(buf, "{\"path\":");
		ls_json_quote(buf, e->path);
		ls_buf_lit(buf, ",\"code\":");
		ls_json_quote(buf, e->code);
		ls_buf_lit(buf, ",\"message\":");
		ls_json_quote(buf, e->message);
		ls_buf_char(buf, '}');
	}
	ls_buf_char(buf, ']');
}
