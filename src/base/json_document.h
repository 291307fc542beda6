/*-------------------------------------------------------------------------
 *
 * json_document.h
 *	  JSON as a tree, read and made by jansson in an arena (pure), for small and
 *	  rare documents.
 *
 * Hot paths, and code that needs the spelling of numbers or the position of an
 * error, use the pull parser of pure.h.
 *
 * Only json_document.c includes jansson.h: it declares json_object(), as the
 * server does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_JSON_DOCUMENT_H
#define LS_JSON_DOCUMENT_H

#include "src/base/pure.h"

/* A value of a document.  It lives in the document's arena and is never freed alone. */
typedef struct json_t ls_json_node;

/*
 * A document with more values is refused.  Reading a document takes 1 kB of memory, plus 512
 * bytes for each value and 6 for each byte.
 */
#define LS_DOCUMENT_MAX_VALUES 50000

/* A string for ls_document_make: two arguments for "s%". */
#define LS_NODE_STR(s) ((s).data == NULL ? "" : (s).data), (s).len

/*
 * Reads one object or array, with nothing after it.  NULL when it is not JSON or not UTF-8, when
 * an object has a member twice, a string has a NUL or half of a surrogate pair, a number does not
 * fit (64 bits, or a double), a container is nested deeper than `max_depth`, or memory is short
 * (ls_arena_failed).
 */
extern const ls_json_node *ls_document_read(ls_str text, int max_depth, ls_arena *arena);

/*
 * Makes a document from a format of json_pack: {s:i} an object, [] a list, s a C string,
 * s% an LS_NODE_STR, i an int, I a 64-bit integer, b a truth value, o a node, o* one that may be NULL
 * and is then left out.  NULL when a string is not UTF-8, another node is NULL, or memory is short.
 */
extern ls_json_node *ls_document_make(ls_arena *arena, const char *format, ...);

/* Adds a node, which must not be NULL, to the end of a list.  False when memory is short. */
extern bool ls_document_append(ls_arena *arena, ls_json_node *list, ls_json_node *node);

/* Sets a member of an object in the same way; an existing member with that name is replaced. */
extern bool ls_document_set(ls_arena *arena, ls_json_node *object, const char *name,
							ls_json_node *node);

/*
 * Gives a member of an object another name, unless there is a member of that name.  False when memory
 * is short.
 */
extern bool ls_document_rename(ls_arena *arena, const ls_json_node *object, const char *from,
							   const char *to);

/*
 * Appends the text without white space, members in their order; numbers with a fraction have 15
 * digits.  buf->failed when the node is NULL or memory is short.
 */
extern void ls_document_write(ls_buf *buf, const ls_json_node *node);

/*
 * The type and content of a node.  All accept NULL (no such node) and nodes of any type.  If the
 * type does not fit, no member is found, there are no elements, and the string is empty.
 */
extern bool ls_node_is(const ls_json_node *node, ls_json_type type);
extern const ls_json_node *ls_node_member(const ls_json_node *object, const char *name);
extern size_t ls_node_count(const ls_json_node *array);
extern const ls_json_node *ls_node_element(const ls_json_node *array, size_t i);
extern ls_str ls_node_string(const ls_json_node *node);

/*
 * Goes through the members of an object in their order: start with NULL.  NULL after the last one, and
 * when the node is not an object.
 */
extern void *ls_node_next(const ls_json_node *object, void *at, ls_str *name,
						  const ls_json_node **value);

/* Read a number; false for other nodes.  A number with a fraction or an exponent is not an integer. */
extern bool ls_node_integer(const ls_json_node *node, int64_t *value);
extern bool ls_node_number(const ls_json_node *node, double *value);

#define ls_node_member_string(object, name) ls_node_string(ls_node_member((object), (name)))

#endif /* LS_JSON_DOCUMENT_H */
