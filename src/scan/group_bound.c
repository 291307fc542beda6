/*-------------------------------------------------------------------------
 *
 * group_bound.c
 *	  Which groups are wanted, and the bound that follows from it.
 *
 * Where the first keys are wanted, the last one of the N best values so far is a bound: a row with
 * a later value is in no wanted group, whatever comes after it, and makes none.  So
 * `stats count by request_id | head 10` keeps some hundred groups and not one for each event.
 * group_wanted.c chooses among these at the end, by the same order of keys.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/aggregate_internal.h"

#include <math.h>

#include "utils/fmgrprotos.h"

/* A heap for more groups than this does not pay. */
#define MOST_WANTED 1000000

/* ---- the order of keys ---- */

/* A value as comparisons see it: numbers before texts. */
typedef struct ls_wanted_value
{
	bool has_number;
	ls_num number;
	ls_str text;
} ls_wanted_value;

int
ls_scan_compare_numbers(const ls_num *a, const ls_num *b)
{
	Numeric x;
	Numeric y;
	int order;

	if (a->is_int && b->is_int)
		return a->i < b->i ? -1 : a->i > b->i;
	if (a->d != b->d)
		return a->d < b->d ? -1 : 1;
	/* The shortest digits of a double may be those of another integer. */
	if (a->is_int == b->is_int)
		return 0;
	x = a->is_int ? int64_to_numeric(a->i) : ls_scan_double(a->d);
	y = b->is_int ? int64_to_numeric(b->i) : ls_scan_double(b->d);
	order = DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(x), NumericGetDatum(y)));
	pfree(x);
	pfree(y);
	return order;
}

static int
compare_values(const ls_wanted_value *a, const ls_wanted_value *b)
{
	int order;

	if (a->has_number != b->has_number)
		return a->has_number ? -1 : 1;
	order = a->has_number ? ls_scan_compare_numbers(&a->number, &b->number) : 0;
	return order != 0 ? order : ls_str_cmp(a->text, b->text);
}

static ls_wanted_value
value_of(ls_str text)
{
	ls_wanted_value value = {.text = text};

	value.has_number = ls_num_parse(text, &value.number) && isfinite(value.number.d);
	return value;
}

/* Of a key as JSON; a text with escapes is made in `arena`. */
static ls_wanted_value
value_of_json(ls_str json, ls_arena *arena)
{
	ls_json j;
	ls_json_value v;

	if (json.len < 2 || json.data[0] != '"')
		return value_of(json);
	if (memchr(json.data, '\\', json.len) == NULL)
		return value_of(ls_str_make(json.data + 1, json.len - 2));
	ls_json_init(&j, json, arena, 4);
	if (!ls_json_read(&j, &v))
		ls_group_out_of_memory();
	return (ls_wanted_value){.text = v.text};
}

int
ls_wanted_compare_keys(ls_str a, ls_str b)
{
	ls_arena *arena = NULL;
	ls_wanted_value x;
	ls_wanted_value y;
	int order;

	if (a.data == NULL || b.data == NULL)
		return (a.data == NULL) - (b.data == NULL);
	if (ls_str_eq(a, b))
		return 0;
	if (memchr(a.data, '\\', a.len) != NULL || memchr(b.data, '\\', b.len) != NULL)
		arena = ls_context_arena(CurrentMemoryContext, 0);
	x = value_of_json(a, arena);
	y = value_of_json(b, arena);
	order = compare_values(&x, &y);
	if (arena != NULL)
		ls_arena_destroy(arena);
	return order != 0 ? order : ls_str_cmp(a, b);
}

/* ---- what is asked for ---- */

void
ls_wanted_make(ls_groups *g)
{
	static const char *const names[] = {
		[WANTED_FIRST] = "first", [WANTED_MOST] = "most", [WANTED_FEWEST] = "fewest"};
	ls_wanted *w = &g->wanted;
	const char *text;
	char name[16] = "";
	char known[16] = "";
	int end = 0;
	int n;

	if (g->request.wanted.data == NULL)
		return;
	text = ls_cstring_of_str(g->request.wanted);
	n = sscanf(text, "%15s %7u%n %15s%n", name, &w->n, &end, known, &end);
	for (size_t k = WANTED_FIRST; k < lengthof(names); k++)
	{
		if (strcmp(name, names[k]) == 0)
			w->kind = (ls_wanted_kind) k;
	}
	w->known = strcmp(known, "known") == 0;
	if (n != 2 + w->known || w->kind == WANTED_ALL || w->n == 0 || w->n > MOST_WANTED ||
		text[end] != '\0' || g->n_fields == 0 || g->n_starts > 0 || g->has_kept)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("\"%s\" does not say which groups are wanted", text));
	/* Values that are not numbers are counted in all rows. */
	w->bounded = w->kind == WANTED_FIRST && !w->known;
	for (int i = 0; i < g->n_aggregates; i++)
		w->bounded = w->bounded && g->aggregates[i]->counter < 0 &&
					 g->aggregates[i]->kind != MEASURE_PATTERNS;
	if (!w->bounded)
		return;
	/* No value has this text. */
	if (ls_key_intern(&g->fields[0].values, LS_STR("")) != LS_GROUP_DROPPED)
		elog(ERROR, "groups have keys already");
}

/* ---- the bound ---- */

/* The last of the best values so far is at the root. */
static void
add_value(ls_groups *g, ls_wanted_value value)
{
	ls_wanted *w = &g->wanted;
	uint32 i = 0;

	value.text = ls_arena_strdup(g->arena, value.text);
	checked((void *) value.text.data);
	if (w->n_values < w->n)
	{
		if (w->n_values == w->capacity)
		{
			uint32 capacity = Min(w->n, Max(64, w->capacity * 2));

			w->values =
				checked(ls_arena_grow(g->arena, w->values, w->capacity * sizeof(ls_wanted_value),
									  capacity * sizeof(ls_wanted_value)));
			w->capacity = capacity;
		}
		for (i = w->n_values++; i > 0 && compare_values(&w->values[(i - 1) / 2], &value) < 0;
			 i = (i - 1) / 2)
			w->values[i] = w->values[(i - 1) / 2];
		w->values[i] = value;
		return;
	}
	for (;;)
	{
		uint32 child = 2 * i + 1;

		if (child >= w->n_values)
			break;
		if (child + 1 < w->n_values && compare_values(&w->values[child], &w->values[child + 1]) < 0)
			child++;
		if (compare_values(&w->values[child], &value) <= 0)
			break;
		w->values[i] = w->values[child];
		i = child;
	}
	w->values[i] = value;
}

uint32
ls_wanted_code(ls_groups *g, const ls_scan_value *value)
{
	ls_wanted *w = &g->wanted;
	ls_key_table *keys = &g->fields[0].values;
	uint32 before = keys->n;
	bool string = value->kind == LS_KIND_STRING;
	ls_wanted_value known;
	uint32 code;

	g->buf.len = 0;
	if (!string)
		ls_scan_value_json(&g->buf, value->kind, value->text, value->integer);
	known = value_of(string ? value->text : ls_str_make(g->buf.data, g->buf.len));
	if (w->n_values == w->n && compare_values(&known, &w->values[0]) > 0)
		return LS_GROUP_DROPPED;
	if (string)
		ls_scan_value_json(&g->buf, value->kind, value->text, value->integer);
	if (g->buf.failed)
		ls_group_out_of_memory();
	code = ls_key_intern(keys, ls_str_make(g->buf.data, g->buf.len));
	if (keys->n > before)
		add_value(g, known);
	return code;
}

void
ls_wanted_drop_rows(ls_groups *g)
{
	ls_group_rows *rows = &g->rows;
	uint32 *codes = g->fields[0].row_codes;
	bool full = g->wanted.n_values == g->wanted.n;
	uint32 n = 0;

	/* Missing values come last. */
	if (g->fields[0].constant)
	{
		if (codes[0] == LS_GROUP_DROPPED || (full && codes[0] == LS_GROUP_MISSING))
			rows->n = 0;
		return;
	}
	for (uint32 i = 0; i < rows->n; i++)
	{
		rows->rows[n] = rows->rows[i];
		codes[n] = codes[i];
		n += codes[i] != LS_GROUP_DROPPED && (!full || codes[i] != LS_GROUP_MISSING);
	}
	rows->n = n;
}
