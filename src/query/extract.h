/*-------------------------------------------------------------------------
 *
 * extract.h
 *	  What the stages json, logfmt and kv find in the texts of events (pure).
 *
 * The texts come from whoever sends events, so every function does bounded work on any input.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_EXTRACT_H
#define LS_QUERY_EXTRACT_H

#include "src/base/pure.h"

#define LS_EXTRACT_MAX 1000                      /* fields of one text */
#define LS_EXTRACT_NAME_LENGTH 256               /* bytes of a name, or of a path */
#define LS_EXTRACT_LENGTH ((size_t) 1024 * 1024) /* bytes of the result */

typedef enum ls_extraction
{
	LS_EXTRACTED,
	LS_EXTRACT_NOTHING, /* the text does not have that form, or no fields */
	LS_EXTRACT_MISSING, /* JSON, but without that path */
	LS_EXTRACT_LIMIT,   /* more than the limits above, or JSON of more than 50 levels */
	LS_EXTRACT_MEMORY
} ls_extraction;

/*
 * Append the fields of a text as one JSON object: the members of an object, name=value with
 * values in quotes or not (logfmt), or pairs.  Pairs are between characters of `between`, with
 * one of `inside` between name and value, all of them ASCII; if both are empty, they are looked
 * for in the text.
 * JSON is added to the members of the object `older` (empty: none), which it replaces.  Only
 * with LS_EXTRACTED is what was appended of use.
 */
extern ls_extraction ls_extract_json(ls_buf *buf, ls_arena *arena, ls_str older, ls_str text);
extern ls_extraction ls_extract_logfmt(ls_buf *buf, ls_arena *arena, ls_str text);
extern ls_extraction ls_extract_pairs(ls_buf *buf, ls_arena *arena, ls_str text, ls_str between,
									  ls_str inside);

/*
 * A path in JSON: names with dots between them, {} for all elements of a list, {0} for the
 * first.  A name with dots in it wins over the member of a member.
 */
extern bool ls_extract_path_valid(ls_str path);

/* Appends the value at a valid path of a JSON text; with {} the list of the values. */
extern ls_extraction ls_extract_path(ls_buf *buf, ls_arena *arena, ls_str text, ls_str path);

#endif /* LS_QUERY_EXTRACT_H */
