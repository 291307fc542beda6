/*-------------------------------------------------------------------------
 *
 * row_selection.c
 *	  Which rows of a part a scan returns.
 *
 * Rows are selected by time and id, by sort keys, or as the first row of each
 * combination of values; only selected rows become texts.  With a limit, a heap
 * keeps the best rows.  In time order, the newest blocks come first, and the
 * session of the search remembers the best times of earlier parts.  So a search
 * for the newest thousand rows opens only a few of thousands of parts.
 *
 * The order is exactly that of the statement around the scan, which combines the
 * rows of all parts.  So a row that is left out here could not be in its result.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/row_selection.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "src/part/match.h"

/* ---- order ---- */

static int
compare_keys(const ls_row_selector *p, const ls_sort_key *a, const ls_sort_key *b)
{
	for (int i = 0; i < p->n_sort; i++, a++, b++)
	{
		int sign = p->sort_descending[i] ? -1 : 1;
		int order;

		if (a->has_number != b->has_number)
			return a->has_number ? -1 : 1;
		order = a->has_number ? ls_scan_compare_numbers(&a->number, &b->number) : 0;
		if (order != 0)
			return sign * order;
		if (a->has_text != b->has_text)
			return a->has_text ? -1 : 1;
		order = a->has_text ? ls_str_cmp(a->text, b->text) : 0;
		if (order != 0)
			return sign * order;
	}
	return 0;
}

/* <0: a comes before b in the order of the result. */
static int
compare(const ls_row_selector *p, const ls_selected_row *a, const ls_selected_row *b)
{
	int order =
		p->n_sort > 0 && a->keys != NULL && b->keys != NULL ? compare_keys(p, a->keys, b->keys) : 0;

	if (order != 0)
		return order;
	if (a->time != b->time)
		order = a->time < b->time ? -1 : 1;
	else if (a->batch != b->batch)
		order = a->batch < b->batch ? -1 : 1;
	else
		order = a->place < b->place ? -1 : a->place > b->place;
	return p->descending ? -order : order;
}

/* ---- the heap ---- */

static void
sift_down(ls_row_selector *p, uint32 i)
{
	ls_selected_row row = p->rows[i];

	for (;;)
	{
		uint32 child = 2 * i + 1;

		if (child >= p->n)
			break;
		if (child + 1 < p->n && compare(p, &p->rows[child], &p->rows[child + 1]) < 0)
			child++;
		if (compare(p, &p->rows[child], &row) <= 0)
			break;
		p->rows[i] = p->rows[child];
		i = child;
	}
	p->rows[i] = row;
}

static void
keep_keys(ls_scan *scan, const ls_row_selector *p, ls_selected_row *row)
{
	ls_sort_key *keys;

	if (p->n_sort == 0)
		return;
	keys = ls_arena_alloc(scan->arena, sizeof(ls_sort_key) * (Size) p->n_sort);
	if (keys == NULL)
		ls_scan_fail(scan);
	for (int i = 0; i < p->n_sort; i++)
	{
		keys[i] = row->keys[i];
		keys[i].text = ls_arena_strdup(scan->arena, keys[i].text);
		if (keys[i].text.data == NULL)
			ls_scan_fail(scan);
	}
	row->keys = keys;
}

static void
reserve(ls_scan *scan, ls_row_selector *p)
{
	uint32 capacity = p->capacity == 0 ? 256 : p->capacity * 2;

	if (p->n < p->capacity)
		return;
	p->rows = ls_arena_grow(scan->arena, p->rows, p->capacity * sizeof(ls_selected_row),
							capacity * sizeof(ls_selected_row));
	if (p->rows == NULL)
		ls_scan_fail(scan);
	p->capacity = capacity;
}

static void
pick(ls_scan *scan, ls_row_selector *p, ls_selected_row *row)
{
	uint32 i;

	if (p->has_after && compare(p, row, &p->after) <= 0)
		return;
	if (p->most > 0 && p->n == p->most)
	{
		if (compare(p, row, &p->rows[0]) >= 0)
			return;
		keep_keys(scan, p, row);
		p->rows[0] = *row;
		sift_down(p, 0);
		return;
	}
	reserve(scan, p);
	keep_keys(scan, p, row);
	i = p->n++;
	p->rows[i] = *row;
	while (p->most > 0 && i > 0 && compare(p, &p->rows[(i - 1) / 2], row) < 0)
	{
		p->rows[i] = p->rows[(i - 1) / 2];
		i = (i - 1) / 2;
		p->rows[i] = *row;
	}
}

/* ---- the session's best times ---- */

bool
ls_select_good_enough(const ls_row_selector *p, ls_time time)
{
	const ls_scan_session *s = ls_scan_current;

	if (p->n_sort > 0 || p->n_distinct > 0)
		return true;
	if (p->most > 0 && p->n == p->most &&
		(p->descending ? time < p->rows[0].time : time > p->rows[0].time))
		return false;
	if (s == NULL || s->newest == 0 || s->n_times < s->newest)
		return true;
	return p->descending ? time >= s->times[0] : time <= s->times[0];
}

static bool
worse(const ls_scan_session *s, int64 a, int64 b)
{
	return s->descending ? a < b : a > b;
}

void
ls_select_note_time(ls_time time)
{
	ls_scan_session *s = ls_scan_current;
	int i;

	if (s == NULL || s->newest == 0)
		return;
	if (s->times == NULL)
		s->times = MemoryContextAlloc(s->context, sizeof(int64) * (Size) s->newest);
	if (s->n_times < s->newest)
	{
		i = s->n_times++;
		while (i > 0 && worse(s, time, s->times[(i - 1) / 2]))
		{
			s->times[i] = s->times[(i - 1) / 2];
			i = (i - 1) / 2;
		}
		s->times[i] = time;
		return;
	}
	if (!worse(s, s->times[0], time))
		return;
	for (i = 0;;)
	{
		int child = 2 * i + 1;

		if (child >= s->n_times)
			break;
		if (child + 1 < s->n_times && worse(s, s->times[child + 1], s->times[child]))
			child++;
		if (!worse(s, s->times[child], time))
			break;
		s->times[i] = s->times[child];
		i = child;
	}
	s->times[i] = time;
}

/* ---- a row by what it is sorted by ---- */

/* The number that the text looks like, if it does. */
static void
set_number(ls_sort_key *key, ls_str text)
{
	key->has_number = ls_num_parse(text, &key->number) && isfinite(key->number.d);
}

ls_sort_key *
ls_select_keys_after(ls_scan *scan, const ls_row_selector *p, NullableDatum values)
{
	ls_sort_key *keys = ls_new_array(scan->arena, ls_sort_key, p->n_sort);
	Datum *texts;
	bool *missing;
	int n = 0;

	if (keys == NULL)
		ls_scan_fail(scan);
	if (!values.isnull)
		deconstruct_array(DatumGetArrayTypeP(values.value), TEXTOID, -1, false, TYPALIGN_INT,
						  &texts, &missing, &n);
	if (n != p->n_sort)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("a scan that is sorted by %d fields begins after %d values", p->n_sort, n));
	for (int i = 0; i < n; i++)
	{
		keys[i] = (ls_sort_key){.text = LS_STR("")};
		if (p->sort[i].source == LS_SOURCE_TIMESTAMP)
		{
			keys[i].has_number = true;
			keys[i].number =
				(ls_num){.is_int = true, .i = p->after.time, .d = (double) p->after.time};
		}
		else if (!missing[i])
		{
			keys[i].has_text = true;
			keys[i].text = ls_str_of_text(DatumGetTextPP(texts[i]));
			set_number(&keys[i], keys[i].text);
		}
	}
	return keys;
}

static void
sort_key(ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row, ls_time time,
		 ls_buf *scratch, ls_sort_key *key)
{
	ls_scan_value value;
	size_t begin = scratch->len;

	memset(key, 0, sizeof(*key));
	key->text = LS_STR("");
	if (field->source == LS_SOURCE_TIMESTAMP)
	{
		key->has_number = true;
		key->number = (ls_num){.is_int = true, .i = time, .d = (double) time};
		return;
	}
	if (!ls_scan_field_typed(scan, field, block, row, &value) || value.kind == LS_KIND_NULL)
		return;
	key->has_text = true;
	if (value.kind == LS_KIND_INTEGER)
	{
		key->has_number = true;
		key->number = (ls_num){.is_int = true, .i = value.integer, .d = (double) value.integer};
	}
	else if (value.kind == LS_KIND_STRING || value.kind == LS_KIND_NUMBER)
		set_number(key, value.text);
	if (value.kind == LS_KIND_STRING)
		ls_buf_str(scratch, value.text);
	else
		ls_scan_value_json(scratch, value.kind, value.text, value.integer);
	if (scratch->failed)
		ls_scan_fail(scan);
	key->text = ls_str_make(scratch->data + begin, scratch->len - begin);
}

static void
sort_keys(ls_scan *scan, ls_row_selector *p, ls_buf *scratch, ls_selected_row *row)
{
	scratch->len = 0;
	/* The text of a key must not move when the next one is appended. */
	for (int i = 0; i < p->n_sort; i++)
	{
		const char *before = scratch->data;

		sort_key(scan, &p->sort[i], row->block, row->row, row->time, scratch, &row->keys[i]);
		for (int k = 0; k < i && before != scratch->data; k++)
		{
			if (row->keys[k].text.len > 0)
				row->keys[k].text.data = scratch->data + (row->keys[k].text.data - before);
		}
	}
}

/* ---- the first row of each combination ---- */

static inline bool
has_values(const ls_row_selector *p, const ls_selected_slot *slot, ls_hashed_str values)
{
	return slot->hash == (uint32) values.hash &&
		   ls_str_eq(p->rows[slot->row - 1].keys->text, values.str);
}

#define LS_TABLE_NAME ls_selected
#define LS_TABLE_SLOT ls_selected_slot
#define LS_TABLE_KEY ls_hashed_str
#define LS_TABLE_HASH(t, key) (key).hash
#define LS_TABLE_EQUAL(t, slot, key) \
	has_values(ls_container(const ls_row_selector, combinations, t), slot, key)
#define LS_TABLE_IS_FREE(slot) ((slot)->row == 0)
#define LS_TABLE_SLOT_HASH(t, slot) (slot)->hash
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

/* Writes the values to `scratch` as one text; false: one is missing. */
static bool
distinct_values(ls_scan *scan, ls_row_selector *p, ls_buf *scratch, const ls_selected_row *row)
{
	scratch->len = 0;
	for (int i = 0; i < p->n_distinct; i++)
	{
		ls_scan_value value;

		if (!ls_scan_field_typed(scan, &p->distinct[i], row->block, row->row, &value) ||
			value.kind == LS_KIND_NULL)
			return false;
		ls_scan_value_json(scratch, value.kind, value.text, value.integer);
		ls_buf_char(scratch, '\0'); /* in no JSON text */
	}
	if (scratch->failed)
		ls_scan_fail(scan);
	return true;
}

static void
select_distinct(ls_scan *scan, ls_row_selector *p, ls_buf *scratch, ls_selected_row *row)
{
	ls_sort_key key = {0};
	ls_hashed_str values;
	ls_selected_slot *slot;
	bool found;

	if (!distinct_values(scan, p, scratch, row))
	{
		if (!p->keep_empty)
			return;
		reserve(scan, p);
		p->rows[p->n++] = *row;
		return;
	}
	values = ls_hash_str(ls_str_make(scratch->data, scratch->len));
	p->combinations.arena = scan->arena;
	slot = ls_selected_insert(&p->combinations, values, &found);
	if (slot == NULL)
		ls_scan_fail(scan);
	if (found)
	{
		ls_selected_row *old = &p->rows[slot->row - 1];
		ls_sort_key *kept = old->keys;

		if (compare(p, row, old) < 0)
		{
			*old = *row;
			old->keys = kept;
		}
		return;
	}
	reserve(scan, p);
	key.text = ls_arena_strdup(scan->arena, values.str);
	row->keys = ls_new(scan->arena, ls_sort_key);
	if (row->keys == NULL || key.text.data == NULL)
		ls_scan_fail(scan);
	*row->keys = key;
	p->rows[p->n++] = *row;
	*slot = (ls_selected_slot){(uint32) values.hash, p->n};
}

/* ---- blocks ---- */

typedef struct block_order
{
	uint32 block;
	ls_time best;
} block_order;

static int
by_best(const void *a, const void *b, void *descending)
{
	const block_order *x = a;
	const block_order *y = b;
	int order = x->best < y->best ? -1 : x->best > y->best;

	return *(bool *) descending ? -order : order;
}

/* Selects among rows that match. */
static void
select_among(ls_scan *scan, ls_row_selector *p, uint32 block, const uint16 *rows, uint32 n,
			 ls_buf *scratch, ls_sort_key *keys)
{
	const ls_time *times = ls_part_timestamps(scan->part, block);
	const uint64_t *batches = NULL;
	const uint32_t *places = NULL;

	if (times == NULL)
		ls_scan_fail(scan);
	for (uint32 k = 0; k < n; k++)
	{
		uint32 row = rows[k];
		ls_selected_row candidate = {.time = times[row], .block = block, .row = row, .keys = keys};

		if (!ls_select_good_enough(p, candidate.time))
			continue;
		if (p->n_sort > 0)
		{
			sort_keys(scan, p, scratch, &candidate);
			if (p->most > 0 && p->n == p->most && compare_keys(p, keys, p->rows[0].keys) > 0)
				continue;
		}
		if (batches == NULL)
		{
			batches = ls_part_batches(scan->part, block);
			places = batches == NULL ? NULL : ls_part_places(scan->part, block);
			if (places == NULL)
				ls_scan_fail(scan);
		}
		candidate.batch = batches[row];
		candidate.place = places[row];
		if (p->n_distinct > 0)
			select_distinct(scan, p, scratch, &candidate);
		else
			pick(scan, p, &candidate);
	}
}

static void
select_block(ls_scan *scan, ls_row_selector *p, uint32 block, ls_buf *scratch, ls_sort_key *keys)
{
	uint64_t selected[LS_SELECTION_WORDS];
	uint16 matching[LS_PART_BLOCK_ROWS];
	uint16 left[LS_PART_BLOCK_ROWS];
	const ls_time *times;
	uint32 n = 0;

	if (ls_scan_block(scan, block, selected) == 0)
		return;
	times = ls_part_timestamps(scan->part, block);
	if (times == NULL)
		ls_scan_fail(scan);
	for (int i = 0; i < p->n_sort; i++)
		ls_scan_field_block(&p->sort[i]);
	for (int i = 0; i < p->n_distinct; i++)
		ls_scan_field_block(&p->distinct[i]);
	LS_FOR_EACH_ROW(row, selected)
	{
		if (ls_select_good_enough(p, times[row]))
			matching[n++] = (uint16) row;
	}
	if (scan->program == NULL)
	{
		select_among(scan, p, block, matching, n, scratch, keys);
		return;
	}
	for (uint32 done = 0; done < n;)
	{
		uint32 n_left;

		done += ls_scan_run(scan, block, matching + done, n - done, left, &n_left);
		select_among(scan, p, block, left, n_left, scratch, keys);
	}
}

void
ls_select_rows(ls_scan *scan, ls_row_selector *p)
{
	uint32 n = ls_part_blocks(scan->part);
	block_order *order = ls_arena_alloc0(scan->arena, (n + 1) * sizeof(block_order));
	ls_sort_key *keys = ls_new_array(scan->arena, ls_sort_key, p->n_sort + 1);
	ls_buf scratch;

	if (order == NULL || keys == NULL)
		ls_scan_fail(scan);
	ls_buf_init(&scratch, scan->arena);
	for (int i = 0; i < p->n_sort; i++)
		ls_scan_field_resolve(scan, &p->sort[i]);
	for (int i = 0; i < p->n_distinct; i++)
		ls_scan_field_resolve(scan, &p->distinct[i]);
	for (uint32 block = 0; block < n; block++)
	{
		ls_time min_time;
		ls_time max_time;

		ls_part_block_times(scan->part, block, &min_time, &max_time);
		order[block] = (block_order){block, p->descending ? max_time : min_time};
	}
	qsort_arg(order, n, sizeof(block_order), by_best, &p->descending);
	for (uint32 i = 0; i < n && ls_select_good_enough(p, order[i].best); i++)
	{
		select_block(scan, p, order[i].block, &scratch, keys);
		ls_part_release_if(scan->part, LS_SCAN_KEPT_BLOCKS);
	}
}
