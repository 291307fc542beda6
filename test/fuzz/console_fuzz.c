/*
 * console_fuzz.c: lists of the console's files, and paths and headers, of any bytes.
 *
 * The input is a path, an Accept-Encoding and a list, separated by NULs.  No file of an
 * accepted list leads out of its folder, and no path of it can take that of a route.
 */
#include <stdlib.h>

#include "src/gateway/console_files.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

static ls_str
part(ls_str *rest)
{
	const char *end = rest->len == 0 ? NULL : memchr(rest->data, '\0', rest->len);
	ls_str part = ls_str_make(rest->data, end == NULL ? rest->len : (size_t) (end - rest->data));

	*rest = end == NULL ? LS_STR("") : ls_str_make(end + 1, rest->len - part.len - 1);
	return part;
}

static void
check_file(const ls_console *console, const ls_console_file *file)
{
	CHECK(ls_console_find(console, file->path) == file);
	CHECK(file->is_page ? ls_str_eq(file->path, LS_STR("/"))
						: file->path.len > 8 && memcmp(file->path.data, "/assets/", 8) == 0);
	CHECK(file->file.len > 0 && file->file.len <= LS_CONSOLE_NAME);
	CHECK(file->file.data[0] != '/' && file->file.data[0] != '.');
	for (size_t i = 0; i < file->file.len; i++)
	{
		CHECK(file->file.data[i] > ' ' && file->file.data[i] != '\\');
		CHECK(i == 0 || file->file.data[i - 1] != '/' ||
			  (file->file.data[i] != '.' && file->file.data[i] != '/'));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_arena *arena = ls_arena_create(NULL, LS_CONSOLE_LIMIT);
	char *copy = malloc(size + (size == 0));
	ls_str rest = ls_str_make(copy, size);
	ls_str path;
	ls_str accept;
	ls_console *console;
	const ls_console_file *found;
	const char *error;
	int line;

	if (size > 0)
		memcpy(copy, data, size);
	path = part(&rest);
	accept = part(&rest);
	(void) ls_console_is_screen(path);
	console = ls_console_read(arena, rest, &error, &line);
	if (console == NULL)
	{
		CHECK(error != NULL && line >= 0);
	}
	else
	{
		CHECK(ls_console_page(console) != NULL);
		for (uint32_t i = 0; (found = ls_console_file_at(console, i)) != NULL; i++)
		{
			check_file(console, found);
			CHECK(found->has[ls_console_choose(found, accept)]);
		}
		found = ls_console_find(console, path);
		CHECK(found == NULL || ls_str_eq(found->path, path));
	}
	ls_arena_destroy(arena);
	free(copy);
	return 0;
}
