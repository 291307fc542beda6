/*-------------------------------------------------------------------------
 *
 * json_schema.h
 *	  Documents that clients write, checked against a JSON Schema (pure).
 *
 * The schemas are those of the API description, so what clients read there is what they are held
 * to.  Of JSON Schema (draft 2020-12) these keywords are known: type, const, enum, format, minLength,
 * maxLength, minimum, maximum, items, minItems, maxItems, properties, required,
 * additionalProperties, minProperties, maxProperties, default, readOnly, oneOf, discriminator (of
 * OpenAPI) and $ref to another schema of the set.  Others describe and are not checked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_JSON_SCHEMA_H
#define LS_JSON_SCHEMA_H

#include "src/base/json_document.h"

/* More problems of one document are counted, not described. */
#define LS_SCHEMA_MAX_PROBLEMS 100

/*
 * Is `value` in a format that the schema names?  NULL: yes, or the format is not known; otherwise
 * what is wrong with it ("is not a time zone").
 */
typedef const char *(*ls_schema_format)(void *context, ls_str format, ls_str value,
										ls_arena *arena);

typedef struct ls_schema_check
{
	const ls_json_node *schemas; /* an object: names and schemas */
	ls_schema_format format;     /* may be NULL */
	void *context;               /* of `format` */
	ls_arena *arena;             /* of the results */

	/* Results: the members of a list of {path, code, message}, and how many there would be. */
	ls_buf problems;
	uint32_t n_problems;
} ls_schema_check;

/*
 * Checks a document against the schema `name`.  Returns the document with the defaults of
 * members that it leaves out, and without members that are readOnly: a client may send back what
 * it got.  It shares nodes with document and schemas.  NULL when there are problems, or memory is
 * short (ls_arena_failed).
 *
 * Codes of problems: required, unknown (its message names the member that was probably meant, or all),
 * invalid.  Lengths are in characters.
 */
extern ls_json_node *ls_schema_apply(ls_schema_check *check, const char *name,
									 const ls_json_node *document);

/*
 * Checks only the names of an object's members, as of a patch before it is known what it changes.
 * False when there are problems.
 */
extern bool ls_schema_check_names(ls_schema_check *check, const char *name,
								  const ls_json_node *object);

/*
 * The document after a JSON Merge Patch (RFC 7396): members of `patch` replace those of
 * `document`, objects member by member; null removes.  NULL when memory is short.
 */
extern const ls_json_node *ls_document_merge(const ls_json_node *document,
											 const ls_json_node *patch, ls_arena *arena);

#endif /* LS_JSON_SCHEMA_H */
