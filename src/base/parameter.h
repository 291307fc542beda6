/* parameter.h: query strings (pure). */
#ifndef LS_PARAMETER_H
#define LS_PARAMETER_H

#include "src/base/pure.h"

/*
 * Decodes %XX, in forms also + to a blank, into the arena.  False for a bad escape, NUL or
 * invalid UTF-8, and without memory.
 */
extern bool ls_percent_decode(ls_str text, bool form, ls_arena *arena, ls_str *out);

/*
 * Takes the next name=value pair off a query string and decodes it
 * (application/x-www-form-urlencoded).  False at the end.  *bad: the pair has
 * a bad escape, a NUL or is not UTF-8.
 */
extern bool ls_parameter_next(ls_str *query, ls_arena *arena, ls_str *name, ls_str *value,
							  bool *bad);

#endif
