/*-------------------------------------------------------------------------
 *
 * json_document.c
 *	  JSON as a tree, read and made by jansson in an arena (pure).
 *
 * jansson gets its memory by two functions that a process sets.  They are set
 * for the time of one call: then an arena's limit holds for a tree, nothing
 * has to be freed on any path, also when an error of PostgreSQL jumps past,
 * and what else uses jansson in the process keeps its own functions.  So no
 * function that may allocate or free is called outside of enter() and leave().
 *
 * Nested values are read and written by recursion, so the depth is
 * checked before.  Its reader does not look whether the memory for a longer
 * token was there and then writes out of bounds.  So all that it may need is
 * taken from the arena before it begins.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/json_document.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>

/* The server has a function json_object of its own; older libraries would call that one. */
#if JANSSON_VERSION_HEX < 0x020E00
#error "logsvc needs jansson 2.14 or newer"
#endif

/* ---- memory ---- */

static ls_arena *place;
static char *reserve;
static size_t reserved;
static json_malloc_t outer_malloc;
static json_free_t outer_free;

static void *
take(size_t size)
{
	size_t need = (size + 15) & ~(size_t) 15;
	char *block = reserve;

	if (need > reserved)
		return ls_arena_alloc(place, size);
	reserve += need;
	reserved -= need;
	return block;
}

static void
keep(void *block)
{
}

static void
enter(ls_arena *arena)
{
	place = arena;
	json_get_alloc_funcs(&outer_malloc, &outer_free);
	json_set_alloc_funcs(take, keep);
}

static void
leave(void)
{
	json_set_alloc_funcs(outer_malloc, outer_free);
	place = NULL;
	reserved = 0;
}

/* ---- reading ---- */

/*
 * Up to the first error that jansson finds, this sees the same containers.  A NUL after a number
 * is no error to it.
 */
static bool
is_within_limits(ls_str text, int max_depth, size_t *count)
{
	int depth = 0;
	size_t values = 1;
	bool quoted = false;

	for (size_t i = 0; i < text.len; i++)
	{
		char c = text.data[i];

		if (c == '"')
			quoted = !quoted;
		else if (quoted)
			i += c == '\\';
		else if (c == '{' || c == '[')
		{
			depth++;
			values++;
		}
		else if (c == '}' || c == ']')
			depth--;
		else if (c == ',')
			values++;
		if (depth > max_depth || values > LS_DOCUMENT_MAX_VALUES || c == '\0')
			return false;
	}
	*count = values;
	return true;
}

/*
 * Nothing that is freed is used again.  For each value: 96 bytes of it or the container, 64 and 128
 * for the first slots of a list or object, 72 and 16 for its name, 16 for its text, 32 or 64 for its
 * slots, which grow by doubling.  For each byte: 4 for the token being read, which grows by
 * doubling, and 2 for its copies.
 */
#define MEMORY(values, len) (1024 + (values) *512 + (len) *6)

const ls_json_node *
ls_document_read(ls_str text, int max_depth, ls_arena *arena)
{
	size_t values;
	char *memory;
	json_t *node;

	if (!is_within_limits(text, max_depth, &values))
		return NULL;
	memory = ls_arena_alloc(arena, MEMORY(values, text.len));
	if (memory == NULL)
		return NULL;
	enter(arena);
	reserve = memory;
	reserved = MEMORY(values, text.len);
	node = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	leave();
	return node;
}

bool
ls_node_is(const ls_json_node *node, ls_json_type type)
{
	switch (type)
	{
		case LS_JSON_NULL:
			return json_is_null(node);
		case LS_JSON_FALSE:
			return json_is_false(node);
		case LS_JSON_TRUE:
			return json_is_true(node);
		case LS_JSON_NUMBER:
			return json_is_number(node);
		case LS_JSON_STRING:
			return json_is_string(node);
		case LS_JSON_OBJECT:
			return json_is_object(node);
		case LS_JSON_ARRAY:
			return json_is_array(node);
	}
	return false;
}

const ls_json_node *
ls_node_member(const ls_json_node *object, const char *name)
{
	return json_object_get(object, name);
}

size_t
ls_node_count(const ls_json_node *array)
{
	return json_array_size(array);
}

const ls_json_node *
ls_node_element(const ls_json_node *array, size_t i)
{
	return json_array_get(array, i);
}

ls_str
ls_node_string(const ls_json_node *node)
{
	return json_is_string(node) ? ls_str_make(json_string_value(node), json_string_length(node))
								: LS_STR("");
}

void *
ls_node_next(const ls_json_node *object, void *at, ls_str *name, const ls_json_node **value)
{
	json_t *members = (json_t *) object;

	at = at == NULL ? json_object_iter(members) : json_object_iter_next(members, at);
	if (at != NULL)
	{
		*name = ls_str_make(json_object_iter_key(at), strlen(json_object_iter_key(at)));
		*value = json_object_iter_value(at);
	}
	return at;
}

bool
ls_node_integer(const ls_json_node *node, int64_t *value)
{
	if (!json_is_integer(node))
		return false;
	*value = json_integer_value(node);
	return true;
}

bool
ls_node_number(const ls_json_node *node, double *value)
{
	if (!json_is_number(node))
		return false;
	*value = json_number_value(node);
	return true;
}

/* ---- writing ---- */

ls_json_node *
ls_document_make(ls_arena *arena, const char *format, ...)
{
	json_error_t error;
	json_t *node;
	va_list arguments;

	va_start(arguments, format);
	enter(arena);
	node = json_vpack_ex(&error, 0, format, arguments);
	leave();
	va_end(arguments);
	return node;
}

bool
ls_document_append(ls_arena *arena, ls_json_node *list, ls_json_node *node)
{
	bool done;

	enter(arena);
	done = json_array_append_new(list, node) == 0;
	leave();
	return done;
}

bool
ls_document_set(ls_arena *arena, ls_json_node *object, const char *name, ls_json_node *node)
{
	bool done;

	enter(arena);
	done = json_object_set_new(object, name, node) == 0;
	leave();
	return done;
}

bool
ls_document_rename(ls_arena *arena, const ls_json_node *object, const char *from, const char *to)
{
	json_t *node = (json_t *) object;
	json_t *member;
	bool done = true;

	if (!json_is_object(node) || json_object_get(node, to) != NULL ||
		(member = json_object_get(node, from)) == NULL)
		return true;
	enter(arena);
	done = json_object_set(node, to, member) == 0 && json_object_del(node, from) == 0;
	leave();
	return done;
}

static void
write_object(ls_buf *buf, json_t *object)
{
	bool first = true;

	ls_buf_char(buf, '{');
	for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i))
	{
		const char *name = json_object_iter_key(i);

		if (!first)
			ls_buf_char(buf, ',');
		first = false;
		ls_json_quote(buf, ls_str_make(name, strlen(name)));
		ls_buf_char(buf, ':');
		ls_document_write(buf, json_object_iter_value(i));
	}
	ls_buf_char(buf, '}');
}

/*
 * Not by json_dump: it is a fifth as fast, and from 2.14.1 on keeps memory for numbers with a
 * fraction for its next call, when the arena may be gone.
 */
void
ls_document_write(ls_buf *buf, const ls_json_node *node)
{
	if (node == NULL)
	{
		buf->failed = true;
		return;
	}
	switch (json_typeof(node))
	{
		case JSON_OBJECT:
			write_object(buf, (json_t *) node);
			break;
		case JSON_ARRAY:
			ls_buf_char(buf, '[');
			for (size_t i = 0; i < json_array_size(node); i++)
			{
				if (i > 0)
					ls_buf_char(buf, ',');
				ls_document_write(buf, json_array_get(node, i));
			}
			ls_buf_char(buf, ']');
			break;
		case JSON_STRING:
			ls_json_quote(buf, ls_node_string(node));
			break;
		case JSON_INTEGER:
			ls_buf_printf(buf, "%" PRId64, (int64_t) json_integer_value(node));
			break;
		case JSON_REAL:
			ls_buf_printf(buf, "%.15g", json_real_value(node));
			break;
		case JSON_TRUE:
			ls_buf_lit(buf, "true");
			break;
		case JSON_FALSE:
			ls_buf_lit(buf, "false");
			break;
		case JSON_NULL:
			ls_buf_lit(buf, "null");
			break;
	}
}
