/*-------------------------------------------------------------------------
 *
 * console_files.h
 *	  The files of the web console: their list, which of them is at a path, and in
 *	  which coding it is sent (pure).
 *
 * The list, assets.tsv, has a line for each file, of fields that are separated by tabs:
 * URL path, file below the folder of the list, content type, the first 16 bytes of its
 * SHA-256 in hex, class ("immutable" or "index"), and "gz" and "br" if FILE.gz and
 * FILE.br are there.  The page is the one file of class "index", at "/"; all
 * others are below /assets/, so none can take the place of a route.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_CONSOLE_FILES_H
#define LS_CONSOLE_FILES_H

#include "src/base/pure.h"

/* Memory of the list and of all files with their variants. */
#define LS_CONSOLE_LIMIT ((size_t) 16 * 1024 * 1024)

/* Files of a list. */
#define LS_CONSOLE_FILES 1000

/* Bytes of a path and of the name of a file. */
#define LS_CONSOLE_NAME 200

typedef enum ls_variant
{
	LS_VARIANT_PLAIN,
	LS_VARIANT_GZIP,
	LS_VARIANT_BROTLI,
	LS_VARIANTS
} ls_variant;

/* Endings of the names of variants: "", ".gz", ".br". */
extern const char *const ls_variant_ending[LS_VARIANTS];

/* Bytes of a tag in quotation marks, with its NUL. */
#define LS_CONSOLE_TAG 35

typedef struct ls_console_file
{
	ls_str path;
	ls_str file;
	ls_str type;
	ls_str sum; /* 32 hexadecimal digits */
	bool is_page;
	bool has[LS_VARIANTS];
	ls_str content[LS_VARIANTS];
	char tag[LS_VARIANTS][LS_CONSOLE_TAG]; /* strong ones, as the header ETag has them */
} ls_console_file;

typedef struct ls_console ls_console;

/*
 * Reads a list into memory of the arena, which must outlive the result; content and tags of the
 * files are empty then.  NULL: *error says what is wrong, and *line in which line (from 1).
 */
extern ls_console *ls_console_read(ls_arena *arena, ls_str list, const char **error, int *line);

/* The files one by one, from 0; NULL: no more. */
extern ls_console_file *ls_console_file_at(ls_console *console, uint32_t i);

/*
 * Gives a variant its content, a view that must live as long, and its tag.  False: it is the
 * file itself, and its SHA-256 is not that of the list.
 */
extern bool ls_console_set(ls_console_file *file, ls_variant variant, ls_str content);

/* The file at exactly this path; NULL: there is none. */
extern const ls_console_file *ls_console_find(const ls_console *console, ls_str path);

/* The file of class "index". */
extern const ls_console_file *ls_console_page(const ls_console *console);

/* Does the path name a screen, so that a browser that goes there gets the page? */
extern bool ls_console_is_screen(ls_str path);

/* The variant that the header Accept-Encoding prefers; the smaller one of equals. */
extern ls_variant ls_console_choose(const ls_console_file *file, ls_str accept_encoding);

#endif /* LS_CONSOLE_FILES_H */
