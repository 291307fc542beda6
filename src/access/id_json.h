/* id_json.h: members of JSON objects by name, for id_token.c and id_reply.c (pure). */
#ifndef LS_ID_JSON_H
#define LS_ID_JSON_H

#include "src/base/pure.h"

typedef struct ls_id_member
{
	const char *name;
	bool found;
	ls_json_type type;
	ls_str text; /* strings decoded; numbers, objects and arrays as written */
} ls_id_member;

/* Reads one object, with nothing after it; false for no such object or a member that is twice. */
extern bool ls_id_members(ls_str json, ls_arena *arena, ls_id_member *members, size_t n);

/* The text of a member that is a string; empty for others. */
extern ls_str ls_id_string(const ls_id_member *member);

#define LS_ID_DEPTH 16

#endif /* LS_ID_JSON_H */
