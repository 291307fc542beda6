/*-------------------------------------------------------------------------
 *
 * console_files.c
 *	  The files of the web console: their list, which of them is at a path, and in
 *	  which coding it is sent (pure).
 *
 * A path is looked up as it came, without decoding: what is not spelled as in the
 * list is not there.  Names of files are checked so that none can lead out of
 * the folder.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/console_files.h"

#include <stdio.h>

#include "src/gateway/http_choice.h"

#define ASSETS "/assets/"

const char *const ls_variant_ending[LS_VARIANTS] = {"", ".gz", ".br"};

#define LS_TABLE_NAME console_path
#define LS_TABLE_SLOT const ls_console_file *
#define LS_TABLE_KEY ls_str
#define LS_TABLE_HASH(t, key) ls_hash_keyed((key).data, (key).len, 0)
#define LS_TABLE_EQUAL(t, slot, key) ls_str_eq((*(slot))->path, key)
#define LS_TABLE_IS_FREE(slot) (*(slot) == NULL)
#define LS_TABLE_SLOT_HASH(t, slot) LS_TABLE_HASH(t, (*(slot))->path)
#include "src/base/hash_table.h"

struct ls_console
{
	console_path_table paths;
	ls_console_file *files;
	uint32_t n;
	const ls_console_file *page;
};

/* The text up to the separator or the end, which *rest goes past.  False: *rest was at its end. */
static bool
next_field(ls_str *rest, char separator, ls_str *field)
{
	const char *end;

	if (rest->data == NULL)
		return false;
	end = rest->len == 0 ? NULL : memchr(rest->data, separator, rest->len);
	if (end == NULL)
	{
		*field = *rest;
		*rest = (ls_str){NULL, 0};
		return true;
	}
	*field = ls_str_make(rest->data, (size_t) (end - rest->data));
	*rest = ls_str_make(end + 1, rest->len - field->len - 1);
	return true;
}

/* Segments of letters, digits, - _ and dots, of which none is empty or begins with a dot. */
static bool
is_relative_name(ls_str name)
{
	bool begins = true;

	if (name.len == 0 || name.len > LS_CONSOLE_NAME)
		return false;
	for (size_t i = 0; i < name.len; i++)
	{
		char ch = name.data[i];
		bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
					  (ch >= '0' && ch <= '9') || ch == '-' || ch == '_';

		if (!letter && (begins || (ch != '.' && ch != '/')))
			return false;
		begins = ch == '/';
	}
	return !begins;
}

static bool
starts_with(ls_str text, ls_str prefix)
{
	return text.len >= prefix.len && memcmp(text.data, prefix.data, prefix.len) == 0;
}

static bool
is_visible(ls_str text)
{
	for (size_t i = 0; i < text.len; i++)
	{
		if (text.data[i] < ' ' || text.data[i] > '~')
			return false;
	}
	return text.len > 0 && text.len <= 100;
}

static bool
is_sum(ls_str text)
{
	for (size_t i = 0; i < text.len; i++)
	{
		if (ls_hex_digit(text.data[i]) < 0 || (text.data[i] >= 'A' && text.data[i] <= 'F'))
			return false;
	}
	return text.len == 32;
}

/* What is wrong with the line; NULL: nothing. */
static const char *
read_line(ls_str line, ls_console_file *file)
{
	ls_str class;
	ls_str field;

	memset(file, 0, sizeof(*file));
	if (!next_field(&line, '\t', &file->path) || !next_field(&line, '\t', &file->file) ||
		!next_field(&line, '\t', &file->type) || !next_field(&line, '\t', &file->sum) ||
		!next_field(&line, '\t', &class))
		return "it has less than five fields";
	if (ls_str_eq(class, LS_STR("index")))
		file->is_page = true;
	else if (!ls_str_eq(class, LS_STR("immutable")))
		return "its class is neither immutable nor index";
	if (file->is_page ? !ls_str_eq(file->path, LS_STR("/"))
					  : !starts_with(file->path, LS_STR(ASSETS)) ||
							!is_relative_name(ls_str_make(file->path.data + 1, file->path.len - 1)))
		return "its path is not of its class: / is index, what is below /assets/ is immutable";
	if (!is_relative_name(file->file))
		return "its file is no name below the folder";
	if (!is_visible(file->type))
		return "its content type is none";
	if (!is_sum(file->sum))
		return "its checksum is not 32 hexadecimal digits";
	file->has[LS_VARIANT_PLAIN] = true;
	while (next_field(&line, '\t', &field))
	{
		ls_variant variant = ls_str_eq(field, LS_STR("gz"))   ? LS_VARIANT_GZIP
							 : ls_str_eq(field, LS_STR("br")) ? LS_VARIANT_BROTLI
															  : LS_VARIANT_PLAIN;

		if (file->has[variant])
			return "its variants are not gz and br, each once";
		file->has[variant] = true;
	}
	return NULL;
}

/* Adds the file of a line; what is wrong with it, or NULL. */
static const char *
add_line(ls_console *console, ls_str line)
{
	ls_console_file *file = &console->files[console->n];
	const ls_console_file **slot;
	const char *problem;
	bool found;

	if (console->n == LS_CONSOLE_FILES)
		return "there are more than 1,000 files";
	problem = read_line(line, file);
	if (problem != NULL)
		return problem;
	slot = console_path_insert(&console->paths, file->path, &found);
	if (slot == NULL)
		return "out of memory";
	if (found)
		return "its path is there twice";
	*slot = file;
	console->n++;
	if (file->is_page)
		console->page = file;
	return NULL;
}

ls_console *
ls_console_read(ls_arena *arena, ls_str list, const char **error, int *line)
{
	ls_console *console = ls_new(arena, ls_console);
	ls_str rest = ls_arena_strdup(arena, list);
	ls_str text;

	*line = 0;
	*error = "out of memory";
	if (console == NULL || rest.data == NULL)
		return NULL;
	console->paths.arena = arena;
	console->files = ls_new_array(arena, ls_console_file, LS_CONSOLE_FILES);
	if (console->files == NULL)
		return NULL;
	while (next_field(&rest, '\n', &text))
	{
		++*line;
		if (text.len == 0 && rest.data == NULL)
			break;
		*error = add_line(console, text);
		if (*error != NULL)
			return NULL;
	}
	*error = "there is no file of class index";
	return console->page == NULL ? NULL : console;
}

ls_console_file *
ls_console_file_at(ls_console *console, uint32_t i)
{
	return i < console->n ? &console->files[i] : NULL;
}

bool
ls_console_set(ls_console_file *file, ls_variant variant, ls_str content)
{
	uint8_t hash[LS_SHA256_LENGTH];
	char digits[33];

	ls_sha256(content.data, content.len, hash);
	ls_hex(hash, 16, digits);
	if (variant == LS_VARIANT_PLAIN && memcmp(digits, file->sum.data, 32) != 0)
		return false;
	snprintf(file->tag[variant], LS_CONSOLE_TAG, "\"%.32s\"", digits);
	file->content[variant] = content;
	return true;
}

const ls_console_file *
ls_console_find(const ls_console *console, ls_str path)
{
	const ls_console_file **slot = console_path_find(&console->paths, path);

	return slot == NULL ? NULL : *slot;
}

const ls_console_file *
ls_console_page(const ls_console *console)
{
	return console->page;
}

bool
ls_console_is_screen(ls_str path)
{
	static const char *const screens[] = {"/",
										  "/sign-in",
										  "/sign-up",
										  "/verify-email",
										  "/forgot-password",
										  "/reset-password",
										  "/invitations/accept",
										  "/evaluate",
										  "/welcome"};

	if (path.len > 2 && path.data[path.len - 1] == '/')
		path.len--;
	if (starts_with(path, LS_STR("/o/")) || starts_with(path, LS_STR("/d/")))
		return path.len > 3;
	for (size_t i = 0; i < sizeof(screens) / sizeof(screens[0]); i++)
	{
		if (ls_str_eq(path, ls_str_make(screens[i], strlen(screens[i]))))
			return true;
	}
	return false;
}

ls_variant
ls_console_choose(const ls_console_file *file, ls_str accept_encoding)
{
	int weight[LS_VARIANTS];
	ls_variant best = LS_VARIANT_PLAIN;

	weight[LS_VARIANT_PLAIN] = ls_http_coding_weight(accept_encoding, LS_STR("identity"));
	weight[LS_VARIANT_GZIP] = ls_http_coding_weight(accept_encoding, LS_STR("gzip"));
	weight[LS_VARIANT_BROTLI] = ls_http_coding_weight(accept_encoding, LS_STR("br"));
	for (int v = LS_VARIANT_GZIP; v < LS_VARIANTS; v++)
	{
		if (file->has[v] && weight[v] > 0 && weight[v] >= weight[best])
			best = (ls_variant) v;
	}
	return best;
}
