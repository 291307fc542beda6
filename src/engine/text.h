/*-------------------------------------------------------------------------
 *
 * text.h
 *	  What expressions do with the texts of events (pure).
 *
 * The texts come from whoever sends events, and patterns and formats from whoever
 * searches.  So every function does bounded work on any input.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ENGINE_TEXT_H
#define LS_ENGINE_TEXT_H

#include "src/engine/times.h"

/* ---- like.c ---- */

/* Steps of one comparison; a text of 1 MB needs about a million. */
#define LS_LIKE_MAX_STEPS 16000000

/*
 * Does the whole text match the pattern?  % stands for any text, _ for one character, and
 * \% and \_ for themselves.  1: yes, 0: no, -1: it took more than LS_LIKE_MAX_STEPS steps.
 */
extern int ls_like(ls_str text, ls_str pattern);

/* ---- list.c; lists are JSON texts ---- */

/* split and join stop when the text is longer, which is an error of the caller. */
#define LS_LIST_MAX_LENGTH ((size_t) 1024 * 1024)

/* Appends the list of the texts between the separators; without a separator, of the whole. */
extern void ls_list_split(ls_buf *buf, ls_str text, ls_str separator);

/* The number of elements; 1 for a value that is no list. */
extern int64_t ls_list_count(ls_str json);

/*
 * Appends the element `from` of a list, or, with `to`, the list of those up to it.  They count
 * from 0, negative ones from the end.  False: the list has no such element.
 */
extern bool ls_list_slice(ls_buf *buf, ls_arena *arena, ls_str json, int64_t from,
						  const int64_t *to);

/* Appends the texts of the elements, with the separator between them. */
extern void ls_list_join(ls_buf *buf, ls_arena *arena, ls_str json, ls_str separator);

/* ---- time_format.c ---- */

/* Bytes of a format. */
#define LS_TIME_FORMAT_MAX 128

/*
 * What is wrong with the format of a time, as a message, or NULL.  `reading`: times are read
 * with it, so it must say which day.
 */
extern const char *ls_time_format_error(ls_str format, bool reading);

/* Appends a time in a valid format. */
extern void ls_time_print(ls_buf *buf, ls_str format, ls_time time, const ls_query_zone *zone);

/* Reads a time; false: the text does not have the format, or there is no such time. */
extern bool ls_time_read(ls_str text, ls_str format, const ls_query_zone *zone, ls_time *time);

#endif /* LS_ENGINE_TEXT_H */
