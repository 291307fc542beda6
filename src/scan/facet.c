/*-------------------------------------------------------------------------
 *
 * facet.c
 *	  The fields of events, and the most frequent values of each.
 *
 * A block is read column by column, and only the columns that its matching rows
 * have.  Values become codes as in group_parts: a dictionary entry once per part,
 * any other value by a lookup of its JSON text.
 *
 * Memory is bounded by counting fewer values, never by an error.  A field keeps
 * at most MAX_VALUES values, the first ones.  Their counts are exact, because each
 * value is counted from its first row on.  If most values of a field are
 * different, as for a request id, it keeps none once there are too many.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/facet.h"

#include "miscadmin.h"

#include "src/scan/group_internal.h"

#define MAX_TRACKED 1000 /* fields that are counted ... */
#define MAX_SHOWN 100    /* ... and the most frequent of them are shown */
#define MAX_VALUES 10000 /* of a field */
#define MAX_VALUE_BYTES 1000
#define MAX_NAME_BYTES 1000
#define MAX_BYTES ((size_t) 64 * 1024 * 1024) /* for all fields and their values */
#define TOP_VALUES 10
#define MAX_LEVELS 5 /* names in a path: what lies deeper is a value, as in search_fields */
#define MEMBER_MEMORY ((size_t) 64 * 1024 * 1024)

#define NO_CODE UINT32_MAX
#define NOT_KEPT 0 /* the code of a value that only its field counts */
#define NONE UINT32_MAX

/* A field and its values. */
typedef struct facet
{
	ls_str name;
	bool builtin;
	bool cut;     /* not every value is among `values` */
	bool full;    /* no other value is kept */
	bool without; /* none at all is */
	uint64 count; /* rows that have it */
	ls_key_table values;
	uint64 *counts; /* of rows, by value from 1 */
	uint32 counts_capacity;
	uint64 block; /* the one that `seen` is of */
	uint64_t seen[LS_SELECTION_WORDS];
} facet;

/* A column of the part that is added. */
typedef struct source
{
	uint32 column;
	uint32 dots;        /* in its key */
	uint64 block;       /* where it was wanted last */
	bool counted;       /* its rows are, from the part's counts */
	ls_entries entries; /* the codes of its dictionary */
} source;

struct ls_facets
{
	ls_arena *arena;
	ls_buf buf;  /* a value as JSON */
	ls_buf path; /* the name of a member */
	size_t most; /* memory of the arena; beyond it nothing new is kept */
	bool cut;    /* there are fields that are not tracked */
	uint32 n;
	facet *items[MAX_TRACKED];
	ls_key_table names; /* of facets: 'b' or 'a', then the name */
	uint64 block;       /* number of the block among all, from 1 */

	/* of the part */
	ls_scan *scan;
	ls_arena *members;
	uint32 n_sources;
	source *sources;   /* in the order in which a path finds them */
	uint32 *source_of; /* by column */
	bool index_counted;
};

ls_facets *
ls_facets_make(ls_arena *arena)
{
	ls_facets *facets = checked(ls_new(arena, ls_facets));

	facets->arena = arena;
	facets->names.arena = arena;
	facets->most = Min(MAX_BYTES, ls_scan_memory_limit() / 2);
	ls_buf_init(&facets->buf, arena);
	ls_buf_init(&facets->path, arena);
	return facets;
}

/* ---- fields and values ---- */

/* The field with a name; NULL: there are too many fields. */
static facet *
find_facet(ls_facets *facets, bool builtin, ls_str name)
{
	ls_buf *key = &facets->buf;
	uint32 number;
	facet *f;

	key->len = 0;
	ls_buf_char(key, builtin ? 'b' : 'a');
	ls_buf_str(key, name);
	if (key->failed)
		ls_group_out_of_memory();
	number = ls_key_find(&facets->names, ls_str_make(key->data, key->len));
	if (number != 0)
		return facets->items[number - 1];
	if (facets->n == MAX_TRACKED || name.len > MAX_NAME_BYTES ||
		ls_arena_used(facets->arena) >= facets->most)
	{
		facets->cut = true;
		return NULL;
	}
	f = checked(ls_new(facets->arena, facet));
	number = ls_key_intern(&facets->names, ls_str_make(key->data, key->len));
	f->name = ls_str_make(facets->names.keys[number].data + 1, name.len);
	f->builtin = builtin;
	f->values.arena = facets->arena;
	facets->items[facets->n++] = f;
	return f;
}

/* Keeps no further values of the field; and none at all if its values hardly repeat. */
static void
close_facet(facet *f)
{
	f->cut = true;
	f->full = true;
	f->without = f->count < 2 * (uint64) f->values.n;
}

/* The code of a value; a new one is kept if there is room. */
static uint32
code_of(ls_facets *facets, facet *f, ls_kind kind, ls_str text, int64 integer)
{
	ls_str key;
	uint32 code;

	if (text.len > MAX_VALUE_BYTES)
	{
		f->cut = true;
		return NOT_KEPT;
	}
	facets->buf.len = 0;
	ls_scan_value_json(&facets->buf, kind, text, integer);
	if (facets->buf.failed)
		ls_group_out_of_memory();
	key = ls_str_make(facets->buf.data, facets->buf.len);
	code = ls_key_find(&f->values, key);
	if (code != 0)
		return code;
	if (!f->full && (f->values.n == MAX_VALUES || ls_arena_used(facets->arena) >= facets->most))
		close_facet(f);
	if (f->full)
		return NOT_KEPT;
	code = ls_key_intern(&f->values, key);
	if (code >= f->counts_capacity)
	{
		uint32 capacity = Max(64, f->counts_capacity * 2);

		f->counts =
			checked(ls_arena_grow(facets->arena, f->counts, f->counts_capacity * sizeof(uint64),
								  capacity * sizeof(uint64)));
		memset(f->counts + f->counts_capacity, 0, (capacity - f->counts_capacity) * sizeof(uint64));
		f->counts_capacity = capacity;
	}
	return code;
}

/* Is this the first value of the field in the row?  Longer names come first. */
static bool
is_first(ls_facets *facets, facet *f, uint32 row)
{
	uint64_t bit = UINT64_C(1) << (row % 64);

	if (f->block != facets->block)
	{
		memset(f->seen, 0, sizeof(f->seen));
		f->block = facets->block;
	}
	if ((f->seen[row / 64] & bit) != 0)
		return false;
	f->seen[row / 64] |= bit;
	return true;
}

static void
count_rows(facet *f, uint32 code, uint64 rows)
{
	f->count += rows;
	if (code != NOT_KEPT)
		f->counts[code] += rows;
}

/* ---- objects: each member is a field ---- */

/* A member of an object. */
typedef struct named_value
{
	ls_str key;
	ls_str json;
	uint32 dots;
	uint32 place;
} named_value;

static uint32
count_dots(ls_str key)
{
	uint32 dots = 0;

	for (size_t i = 0; i < key.len; i++)
		dots += key.data[i] == '.';
	return dots;
}

static int
by_dots(uint32 x_dots, uint32 x_place, uint32 y_dots, uint32 y_place)
{
	if (x_dots != y_dots)
		return x_dots > y_dots ? -1 : 1;
	return x_place < y_place ? -1 : x_place > y_place;
}

static int
by_name(const void *a, const void *b)
{
	const named_value *x = a;
	const named_value *y = b;

	return by_dots(x->dots, x->place, y->dots, y->place);
}

static void add_value(ls_facets *facets, ls_str json, int level, uint32 row);

/* Counts the members of an object, longer names first; its own name is in `path`. */
static void
add_members(ls_facets *facets, ls_str json, int level, uint32 row)
{
	size_t len = facets->path.len;
	named_value *members = NULL;
	uint32 n = 0;
	uint32 capacity = 0;
	bool dotted = false;
	ls_json_value v;
	ls_json j;
	ls_str key;

	ls_json_init(&j, json, facets->members, 1100);
	ls_json_read(&j, &v);
	while (ls_json_member(&j, &key))
	{
		ls_str value;

		if (!ls_json_skip(&j, &value))
			break;
		if (n == capacity)
		{
			capacity = Max(8, capacity * 2);
			members = checked(ls_arena_grow(facets->members, members, n * sizeof(named_value),
											capacity * sizeof(named_value)));
		}
		members[n] = (named_value){key, value, count_dots(key), n};
		dotted = dotted || members[n].dots > 0;
		n++;
	}
	if (j.error != NULL)
		ls_scan_fail(facets->scan);
	if (dotted)
		qsort(members, n, sizeof(named_value), by_name);
	for (uint32 i = 0; i < n; i++)
	{
		facets->path.len = len;
		ls_buf_char(&facets->path, '.');
		ls_buf_str(&facets->path, members[i].key);
		if (facets->path.failed)
			ls_group_out_of_memory();
		add_value(facets, members[i].json, level + 1, row);
	}
	facets->path.len = len;
}

/* Counts a value; its name is in `path`. */
static void
add_value(ls_facets *facets, ls_str json, int level, uint32 row)
{
	bool object = json.len > 0 && json.data[0] == '{';
	ls_kind kind = LS_KIND_JSON;
	int64_t integer = 0;
	ls_json_value v;
	ls_json j;
	facet *f;

	/* An empty object is a value. */
	if (object && json.len > 2 && level < MAX_LEVELS)
	{
		add_members(facets, json, level, row);
		return;
	}
	if (!object && json.len > 0 && json.data[0] != '[')
	{
		ls_json_init(&j, json, facets->members, 1);
		if (!ls_json_read(&j, &v))
			ls_scan_fail(facets->scan);
		json = v.text;
		integer = v.type == LS_JSON_TRUE;
		kind = v.type == LS_JSON_STRING                            ? LS_KIND_STRING
			   : v.type == LS_JSON_NULL                            ? LS_KIND_NULL
			   : v.type == LS_JSON_TRUE || v.type == LS_JSON_FALSE ? LS_KIND_BOOLEAN
			   : ls_json_canonical_int(json, &integer)             ? LS_KIND_INTEGER
																   : LS_KIND_NUMBER;
	}
	f = find_facet(facets, false, ls_str_make(facets->path.data, facets->path.len));
	/* A null does not count, but a path stops at it. */
	if (f != NULL && is_first(facets, f, row) && kind != LS_KIND_NULL)
		count_rows(f, f->without ? NOT_KEPT : code_of(facets, f, kind, json, integer), 1);
}

static void
add_object(ls_facets *facets, ls_str key, ls_str json, uint32 row)
{
	/* A block of large objects can take seconds. */
	CHECK_FOR_INTERRUPTS();
	ls_arena_reset(facets->members);
	facets->path.len = 0;
	ls_buf_str(&facets->path, key);
	if (facets->path.failed)
		ls_group_out_of_memory();
	add_value(facets, json, 1, row);
}

/* ---- columns ---- */

static int
by_key(const void *a, const void *b)
{
	const source *x = a;
	const source *y = b;

	return by_dots(x->dots, x->column, y->dots, y->column);
}

/* Lists the columns that are fields; if a path can mean several, the longest name comes first. */
void
ls_facets_part(ls_facets *facets, ls_scan *scan)
{
	uint32 n = ls_part_columns(scan->part);

	facets->scan = scan;
	facets->members = ls_context_arena(scan->context, MEMBER_MEMORY);
	facets->n_sources = 0;
	facets->index_counted = false;
	facets->sources = ls_new_array(scan->arena, source, n + 1);
	facets->source_of = ls_new_array(scan->arena, uint32, n + 1);
	if (facets->sources == NULL || facets->source_of == NULL)
		ls_scan_fail(scan);
	for (uint32 i = 0; i < n; i++)
	{
		const ls_column *column = ls_part_column(scan->part, i);
		source *s = &facets->sources[facets->n_sources];

		facets->source_of[i] = NONE;
		if (column->field == LS_FIELD_EVENT || column->field == LS_FIELD_TRUNCATED ||
			(column->field == LS_FIELD_INDEX && scan->stored))
			continue;
		*s = (source){.column = i, .dots = count_dots(column->key)};
		facets->n_sources++;
	}
	qsort(facets->sources, facets->n_sources, sizeof(source), by_key);
	for (uint32 i = 0; i < facets->n_sources; i++)
		facets->source_of[facets->sources[i].column] = i;
}

/* Notes which columns the rows of the block have. */
static void
want_columns(ls_facets *facets, uint32 block, const uint64_t *selected)
{
	ls_part *part = facets->scan->part;
	const uint16_t *shapes = ls_part_row_shapes(part, block);
	uint32 last = NONE;

	if (shapes == NULL)
		ls_scan_fail(facets->scan);
	LS_FOR_EACH_ROW(row, selected)
	{
		const uint32_t *columns;
		uint32_t n;

		if (shapes[row] == last)
			continue;
		last = shapes[row];
		columns = ls_part_shape(part, last, &n);
		for (uint32_t i = 0; i < n; i++)
		{
			if (facets->source_of[columns[i]] != NONE)
				facets->sources[facets->source_of[columns[i]]].block = facets->block;
		}
	}
}

static facet *
facet_of_column(ls_facets *facets, const ls_column *column)
{
	static const char *const names[LS_NAMED_FIELDS] = {
		[LS_FIELD_LEVEL] = "level",       [LS_FIELD_SOURCE] = "source",
		[LS_FIELD_SERVICE] = "service",   [LS_FIELD_INDEX] = "index",
		[LS_FIELD_TRACE_ID] = "trace_id", [LS_FIELD_SPAN_ID] = "span_id"};

	if (column->field == LS_FIELD_ATTRIBUTE)
		return find_facet(facets, false, column->key);
	return find_facet(facets, true, ls_str_of_cstring(names[column->field]));
}

/* The code of value v of a vector. */
static uint32
vector_code(ls_facets *facets, source *s, facet *f, ls_kind kind, const ls_vector *vector, uint32 v)
{
	uint32 *codes;
	uint32 entry;

	if (vector->form == LS_VECTOR_INTEGER)
		return code_of(facets, f, kind, LS_STR(""), vector->integers[v]);
	if (vector->form == LS_VECTOR_TEXT)
		return code_of(facets, f, kind, ls_vector_text(vector, v), 0);
	codes = ls_entries_of(&s->entries, facets->scan, vector, 0xff);
	entry = vector->form == LS_VECTOR_CONSTANT ? 0 : vector->codes[v];
	if (entry >= vector->n_dictionary)
		ls_scan_fail(facets->scan);
	if (codes[entry] == NO_CODE)
		codes[entry] = code_of(facets, f, kind, vector->dictionary[entry], 0);
	return codes[entry];
}

static void
add_column(ls_facets *facets, source *s, uint32 block, const uint64_t *selected)
{
	ls_part *part = facets->scan->part;
	const ls_column *column = ls_part_column(part, s->column);
	bool json = column->kind == LS_KIND_JSON;
	const uint32_t *ranks = ls_part_ranks(part, block, s->column);
	const ls_vector *vector = NULL;
	facet *f = json ? NULL : facet_of_column(facets, column);

	if (ranks == NULL)
		ls_scan_fail(facets->scan);
	if (f == NULL && !json)
		return;
	/* For a field that keeps no values, nothing is decoded. */
	if (f == NULL || !f->without)
	{
		vector = ls_part_vector(part, block, s->column);
		if (vector == NULL)
			ls_scan_fail(facets->scan);
	}
	LS_FOR_EACH_ROW(row, selected)
	{
		uint32 v = ranks[row];

		if (v == UINT32_MAX)
			continue;
		if (vector != NULL && v >= vector->count)
			ls_scan_fail(facets->scan);
		if (json)
		{
			ls_str text = ls_vector_text(vector, v);

			if (text.len > 0 && text.data[0] == '{')
			{
				add_object(facets, column->key, text, row);
				continue;
			}
			if (f == NULL)
				f = facet_of_column(facets, column);
		}
		/* A null does not count, but a path stops at it. */
		if (f == NULL || !is_first(facets, f, row) || column->kind == LS_KIND_NULL)
			continue;
		count_rows(f, f->without ? NOT_KEPT : vector_code(facets, s, f, column->kind, vector, v),
				   1);
	}
}

/* The index of a stored part is not one of its columns. */
static void
count_index(ls_facets *facets, uint64 matched)
{
	facet *f = facets->scan->stored ? find_facet(facets, true, LS_STR("index")) : NULL;

	if (f != NULL)
		count_rows(f, code_of(facets, f, LS_KIND_STRING, facets->scan->index, 0), matched);
}

/* ---- what the part counts ---- */

/* A part of more shapes or columns of objects is read row by row: looking through them takes long, too. */
#define MAX_SHAPES 64
#define MAX_OBJECTS 16
#define MAX_KINDS 16

/* May an object of another column have a member of this name? */
static bool
is_in_object(const ls_part *part, ls_str key, const uint32 *objects, uint32 n_objects)
{
	for (uint32 i = 0; i < n_objects; i++)
	{
		ls_str object = ls_part_column(part, objects[i])->key;

		if (key.len > object.len && key.data[object.len] == '.' &&
			(object.len == 0 || memcmp(key.data, object.data, object.len) == 0))
			return true;
	}
	return false;
}

/* Is no other value of the field in the rows that have the column? */
static bool
is_alone(const ls_part *part, const ls_column *column, const uint32 *objects, uint32 n_objects)
{
	uint32_t columns[MAX_KINDS];
	uint32 n = ls_part_find(part, column->field, column->key, columns, MAX_KINDS);

	return n < MAX_KINDS && ls_part_columns_apart(part, columns, n) &&
		   (column->field != LS_FIELD_ATTRIBUTE ||
			!is_in_object(part, column->key, objects, n_objects));
}

static bool
has_every_row(const ls_part *part, uint32 column)
{
	for (uint32 s = 0; s < ls_part_shapes(part); s++)
	{
		uint32_t n;
		const uint32_t *columns = ls_part_shape(part, s, &n);
		bool found = false;

		for (uint32_t i = 0; i < n && !found; i++)
			found = columns[i] == column;
		if (!found)
			return false;
	}
	return true;
}

/* Adds the rows of a column by value; false: the part does not count them. */
static bool
count_column(ls_facets *facets, const source *s, uint64 matched)
{
	ls_scan *scan = facets->scan;
	const ls_column *column = ls_part_column(scan->part, s->column);
	const ls_str *entries = NULL;
	facet *f = facet_of_column(facets, column);
	ls_value_counts counts;
	uint32_t n = 0;

	if (f == NULL)
		return true;
	if (f->without && has_every_row(scan->part, s->column))
	{
		f->count += matched;
		return true;
	}
	if (!ls_part_value_counts(scan->part, s->column, &counts))
		ls_scan_fail(scan);
	if (counts.n == 0)
		return false;
	if (counts.integers == NULL && !ls_part_dictionary(scan->part, s->column, &entries, &n))
		ls_scan_fail(scan);
	if (counts.integers == NULL && n != counts.n)
		return false;
	for (uint32 v = 0; v < counts.n; v++)
	{
		uint32 rows = 0;

		for (int level = 0; level < LS_LEVELS; level++)
			rows += (scan->levels & 1u << level) == 0 ? 0 : counts.rows[level][v];
		if (rows > 0)
			count_rows(f,
					   f->without ? NOT_KEPT
								  : code_of(facets, f, column->kind,
											entries == NULL ? LS_STR("") : entries[v],
											entries == NULL ? counts.integers[v] : 0),
					   rows);
	}
	return true;
}

bool
ls_facets_counts(ls_facets *facets, ls_scan *scan, uint64 matched)
{
	uint32 objects[MAX_OBJECTS];
	uint32 n_objects = 0;
	bool all = true;

	if (ls_part_shapes(scan->part) > MAX_SHAPES)
		return false;
	for (uint32 i = 0; i < facets->n_sources; i++)
	{
		if (ls_part_column(scan->part, facets->sources[i].column)->kind != LS_KIND_JSON)
			continue;
		if (n_objects == MAX_OBJECTS)
			return false;
		objects[n_objects++] = facets->sources[i].column;
	}
	count_index(facets, matched);
	facets->index_counted = true;
	for (uint32 i = 0; i < facets->n_sources; i++)
	{
		source *s = &facets->sources[i];
		const ls_column *column = ls_part_column(scan->part, s->column);

		CHECK_FOR_INTERRUPTS();
		s->counted = column->kind != LS_KIND_JSON &&
					 is_alone(scan->part, column, objects, n_objects) &&
					 /* A null does not count. */
					 (column->kind == LS_KIND_NULL || count_column(facets, s, matched));
		all = all && s->counted;
	}
	return all;
}

void
ls_facets_block(ls_facets *facets, uint32 block, const uint64_t *selected, uint32 matched)
{
	facets->block++;
	if (!facets->index_counted)
		count_index(facets, matched);
	want_columns(facets, block, selected);
	for (uint32 i = 0; i < facets->n_sources; i++)
	{
		if (facets->sources[i].block != facets->block || facets->sources[i].counted)
			continue;
		CHECK_FOR_INTERRUPTS();
		add_column(facets, &facets->sources[i], block, selected);
	}
}

/* ---- the result ---- */

static int
by_count(const void *a, const void *b)
{
	const facet *x = *(facet *const *) a;
	const facet *y = *(facet *const *) b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->builtin != y->builtin)
		return x->builtin ? -1 : 1;
	return ls_str_cmp(x->name, y->name);
}

/* Is value a shown before value b? */
static bool
precedes(const facet *f, uint32 a, uint32 b)
{
	if (f->counts[a] != f->counts[b])
		return f->counts[a] > f->counts[b];
	return ls_str_cmp(f->values.keys[a], f->values.keys[b]) < 0;
}

static void
append_facet(ls_buf *buf, const facet *f)
{
	uint32 top[TOP_VALUES];
	uint32 n = 0;

	for (uint32 code = 1; code <= f->values.n && !f->without; code++)
	{
		uint32 at;

		if (n == TOP_VALUES && !precedes(f, code, top[n - 1]))
			continue;
		for (at = n < TOP_VALUES ? n++ : n - 1; at > 0 && precedes(f, code, top[at - 1]); at--)
			top[at] = top[at - 1];
		top[at] = code;
	}
	ls_buf_lit(buf, "{\"name\":");
	ls_json_quote(buf, f->name);
	ls_buf_printf(buf, ",\"builtin\":%s,\"count\":" UINT64_FORMAT ",\"complete\":%s,\"top\":[",
				  f->builtin ? "true" : "false", f->count, f->cut ? "false" : "true");
	for (uint32 i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		ls_buf_char(buf, '[');
		ls_buf_str(buf, f->values.keys[top[i]]);
		ls_buf_printf(buf, "," UINT64_FORMAT "]", f->counts[top[i]]);
	}
	ls_buf_lit(buf, "]}");
}

bool
ls_facets_json(ls_facets *facets, ls_buf *buf)
{
	uint32 shown = 0;

	qsort(facets->items, facets->n, sizeof(facet *), by_count);
	ls_buf_char(buf, '[');
	/* A field with only nulls does not count. */
	while (shown < Min(facets->n, MAX_SHOWN) && facets->items[shown]->count > 0)
	{
		if (shown > 0)
			ls_buf_char(buf, ',');
		append_facet(buf, facets->items[shown++]);
	}
	ls_buf_char(buf, ']');
	return !facets->cut && (shown == facets->n || facets->items[shown]->count == 0);
}
