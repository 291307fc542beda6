/*-------------------------------------------------------------------------
 *
 * member_note.c
 *	  A warning where a search has found nothing and reads a member that no object has: ctx.nope=1 where
 *	  ctx has other members.
 *
 * Names of attributes are in the headers of parts, those of members inside are not.  So one event with the
 * member is looked for, and only where there is none, a few objects are read.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

/* Each may be a search that reads all of a column. */
#define MOST_FIELDS 2
#define MOST_OBJECTS 50
#define MOST_MEMBERS 100
#define MOST_SHOWN 8
#define MAX_DEPTH 64

typedef struct wanted
{
	const ls_query_field *items[MOST_FIELDS];
	int n;
} wanted;

static void
collect(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	wanted *w = context;

	if (field->builtin == LS_QUERY_NOT_BUILTIN && field->n_parts > 1 && before == NULL &&
		w->n < MOST_FIELDS)
		w->items[w->n++] = field;
}

/* Members of objects at the path, but for its last part. */
typedef struct members
{
	ls_arena *arena;
	const ls_query_field *field;
	ls_str names[MOST_MEMBERS];
	uint32 n;
} members;

/* Goes into the object's member of that name.  False: it has none, or it is no object. */
static bool
enter(ls_json *j, ls_str name)
{
	ls_json_value value;
	ls_json_type type;
	ls_str key;
	ls_str raw;

	while (ls_json_member(j, &key))
	{
		if (!ls_str_eq(key, name))
		{
			if (!ls_json_skip(j, &raw))
				return false;
			continue;
		}
		return ls_json_peek(j, &type) && type == LS_JSON_OBJECT && ls_json_read(j, &value);
	}
	return false;
}

static bool
take_object(void *context, const ls_position *position, char **texts)
{
	members *m = context;
	ls_json_value value;
	ls_json j;
	ls_str key;
	ls_str raw;

	if (texts[0] == NULL)
		return true;
	ls_json_init(&j, ls_arena_strdup(m->arena, ls_str_of_cstring(texts[0])), m->arena, MAX_DEPTH);
	if (!ls_json_read(&j, &value) || value.type != LS_JSON_OBJECT)
		return true;
	for (uint32 i = 1; i + 1 < m->field->n_parts; i++)
		if (!enter(&j, m->field->parts[i]))
			return true;
	while (ls_json_member(&j, &key))
	{
		bool known = false;

		for (uint32 i = 0; i < m->n; i++)
			known = known || ls_str_eq(m->names[i], key);
		if (!known && m->n < MOST_MEMBERS)
			m->names[m->n++] = key;
		if (!ls_json_skip(&j, &raw))
			break;
	}
	return true;
}

/* The path without its last part, and what its objects have. */
static void
warn(ls_search *search, const ls_query_field *field, const members *m)
{
	ls_str last = field->parts[field->n_parts - 1];
	int closest = ls_closest(last, m->names, m->n);
	int shown = (int) ls_utf8_prefix_chars(field->name.data, field->name.len, 60);
	int stem = (int) (field->name.len - last.len - 1);
	StringInfoData list;
	StringInfoData meant;

	if (closest >= 0)
	{
		initStringInfo(&meant);
		appendStringInfo(&meant, "%.*s.%.*s", stem, field->name.data, (int) m->names[closest].len,
						 m->names[closest].data);
		ls_search_suggest(search, "UNKNOWN_FIELD", field->span, field->span, meant.data,
						  psprintf("no event has the field %.*s: did you mean %s?", shown,
								   field->name.data, meant.data));
		return;
	}
	initStringInfo(&list);
	for (uint32 i = 0; i < m->n && i < MOST_SHOWN; i++)
		appendStringInfo(&list, "%s%.*s", i > 0 ? ", " : "",
						 (int) ls_utf8_prefix_chars(m->names[i].data, m->names[i].len, 30),
						 m->names[i].data);
	ls_query_warn(search->query, search->arena, "UNKNOWN_FIELD", field->span,
				  "no event has the field %.*s: %.*s has %s%s", shown, field->name.data, stem,
				  field->name.data, m->n == 0 ? "no members" : list.data,
				  m->n > MOST_SHOWN ? ", ..." : "");
}

static void
note(ls_search *search, const ls_query_field *field, const ls_field_names *names)
{
	members *m = palloc0(sizeof(members));
	bool found = false;
	ls_buf name;
	ls_buf root;

	if (ls_search_is_noted(search, field->span))
		return;
	/* What no event has is told already, and a.b may be an attribute of that name. */
	if (ls_field_names_have(names, field->name) || !ls_field_names_have(names, field->parts[0]))
		return;
	ls_buf_init(&name, search->arena);
	ls_buf_init(&root, search->arena);
	for (uint32 i = 0; i < field->n_parts; i++)
		if (!ls_query_is_plain_word(field->parts[i]) ||
			memchr(field->parts[i].data, '-', field->parts[i].len) != NULL)
			return;
	ls_buf_printf(&name, "attributes.%.*s", (int) field->name.len, field->name.data);
	ls_buf_printf(&root, "attributes.%.*s", (int) field->parts[0].len, field->parts[0].data);
	if (name.failed || root.failed ||
		!ls_search_any(search, psprintf("%.*s=*", (int) name.len, name.data), &found) || found)
		return;
	m->arena = search->arena;
	m->field = field;
	(void) ls_search_ask(search,
						 psprintf("%.*s=* | head %d | table %.*s", (int) root.len, root.data,
								  MOST_OBJECTS, (int) root.len, root.data),
						 MOST_OBJECTS, take_object, m);
	warn(search, field, m);
}

void
ls_search_note_members(ls_search *search)
{
	wanted w = {.n = 0};
	ls_field_names names;

	ls_query_each_reading(search->query, collect, &w);
	if (w.n == 0 || search->n_indexes == 0 || search->from >= search->to)
		return;
	names = ls_search_field_names(search, LS_MOST_LOOKED_AT + 1);
	for (int i = 0; i < w.n && names.complete; i++)
		note(search, w.items[i], &names);
}
