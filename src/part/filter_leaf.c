/*-------------------------------------------------------------------------
 *
 * filter_leaf.c
 *	  One leaf of a filter over the rows of a block (pure).
 *
 * It decides values, not rows: a dictionary entry once for the whole part, and a
 * text search runs over a whole block of values at once.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/filter_eval.h"

#include "src/part/event_id.h"

static inline void
set_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void
clear_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

static inline bool
get_bit(const uint64_t *bits, uint32_t i)
{
	return (bits[i / 64] >> (i % 64) & 1) != 0;
}

/* ---- columns ---- */

#define MAX_KINDS 16 /* columns of one key: one of each kind */

static bool
add_places(ls_arena *arena, const ls_part *part, ls_place place, ls_field field, ls_str key,
		   ls_place **places, uint32_t *n)
{
	uint32_t columns[MAX_KINDS];
	uint32_t found = ls_part_find(part, field, key, columns, MAX_KINDS);

	for (uint32_t i = 0; i < found; i++)
	{
		place.column = columns[i];
		place.kind = ls_part_column(part, columns[i])->kind;
		if (place.nested > 0 && place.kind != LS_KIND_JSON)
			continue;
		*places = ls_arena_grow(arena, *places, *n * sizeof(ls_place), (*n + 1) * sizeof(ls_place));
		if (*places == NULL)
			return false;
		(*places)[(*n)++] = place;
	}
	return true;
}

bool
ls_find_places(ls_arena *arena, const ls_part *part, ls_field field, const ls_str *path,
			   uint32_t n_path, ls_place **places, uint32_t *n)
{
	*places = NULL;
	*n = 0;
	if (field != LS_FIELD_ATTRIBUTE)
		return add_places(arena, part, (ls_place){0}, field, LS_STR(""), places, n);
	for (uint32_t parts = n_path; parts > 0; parts--)
	{
		ls_place place = {.nested = parts == n_path ? 0 : parts};
		ls_buf key;

		ls_buf_init(&key, arena);
		for (uint32_t i = 0; i < parts; i++)
		{
			if (i > 0)
				ls_buf_char(&key, '.');
			ls_buf_str(&key, path[i]);
		}
		if (key.failed ||
			!add_places(arena, part, place, field,
						key.len == 0 ? LS_STR("") : ls_str_make(key.data, key.len), places, n))
			return false;
	}
	return true;
}

bool
ls_leaf_find_columns(ls_filter_run *run, ls_leaf *leaf)
{
	const ls_filter *filter = leaf->filter;
	ls_field field = LS_FIELD_ATTRIBUTE;
	ls_place *places;

	if (ls_is_text_op(filter->op))
		field = LS_FIELD_EVENT;
	else if (filter->target == LS_TARGET_NAMED)
		field = filter->field;
	else if (filter->target != LS_TARGET_ATTRIBUTE)
		return true;
	if (!ls_find_places(run->arena, run->part, field, filter->path, filter->n_path, &places,
						&leaf->n_columns))
		return false;
	leaf->columns = ls_new_array(run->arena, ls_leaf_column, leaf->n_columns + 1);
	if (leaf->columns == NULL)
		return false;
	for (uint32_t i = 0; i < leaf->n_columns; i++)
		leaf->columns[i] = (ls_leaf_column){.column = places[i].column,
											.kind = places[i].kind,
											.nested = places[i].nested,
											.blocks = UINT32_MAX};
	return true;
}

/* ---- values of a column ---- */

/* Value v of a vector; of the forms CONSTANT and DICTIONARY, entry v. */
static inline ls_decision
decide_entry(ls_filter_run *run, ls_leaf *leaf, ls_leaf_column *column, const ls_vector *vector,
			 uint32_t v)
{
	ls_str text = LS_STR("");
	int64_t integer = 0;

	if (vector->form == LS_VECTOR_INTEGER)
		integer = vector->integers[v];
	else if (vector->form == LS_VECTOR_TEXT)
		text = ls_vector_text(vector, v);
	else if (v < vector->n_dictionary)
		text = vector->dictionary[v];
	return ls_leaf_decide(run, leaf, column->nested, column->kind, text, integer);
}

bool
ls_leaf_decide_dictionary(ls_filter_run *run, ls_leaf *leaf, ls_leaf_column *column,
						  const ls_str *entries, uint32_t n)
{
	if (column->memo != NULL && column->dictionary == entries && column->n_memo == n)
		return true;
	if (n > column->n_memo || column->memo == NULL)
		column->memo = ls_arena_alloc(run->arena, n);
	if (column->memo == NULL)
		return false;
	column->n_memo = n;
	column->dictionary = entries;
	column->never = true;
	for (uint32_t e = 0; e < n; e++)
	{
		column->memo[e] =
			(uint8_t) ls_leaf_decide(run, leaf, column->nested, column->kind, entries[e], 0);
		column->never = column->never && column->memo[e] != LS_TRUE;
	}
	return run->error == NULL;
}

static inline void
note(ls_decision decision, uint32_t row, uint64_t *undecided, uint64_t *out)
{
	if (decision == LS_TRUE)
		set_bit(out, row);
	if (decision != LS_SKIP)
		clear_bit(undecided, row);
}

/* A block with only one value: the same decision for each row that has it. */
static void
eval_constant(ls_decision decision, const ls_vector *vector, const uint32_t *ranks,
			  uint64_t *undecided, uint64_t *out)
{
	LS_FOR_EACH_ROW(row, undecided)
	{
		if ((ranks == NULL ? row : ranks[row]) < vector->count)
			note(decision, row, undecided, out);
	}
}

/* A block of codes: looks up the decision for the entry. */
static bool
eval_dictionary(ls_filter_run *run, ls_leaf *leaf, ls_leaf_column *column, const ls_vector *vector,
				const uint32_t *ranks, uint64_t *undecided, uint64_t *out)
{
	if (!ls_leaf_decide_dictionary(run, leaf, column, vector->dictionary, vector->n_dictionary))
		return false;
	LS_FOR_EACH_ROW(row, undecided)
	{
		uint32_t v = ranks == NULL ? row : ranks[row];
		uint32_t entry;

		if (v >= vector->count)
			continue;
		entry = vector->codes[v];
		if (entry >= column->n_memo)
			continue;
		note((ls_decision) column->memo[entry], row, undecided, out);
	}
	return true;
}

/* Finds the values with the needle or phrase, in one search over all values. */
static void
search_block(const ls_filter_run *run, const ls_leaf *leaf, const ls_vector *vector,
			 uint64_t *values)
{
	bool is_phrase = leaf->filter->op == LS_FILTER_PHRASE;
	const ls_needle *needle = is_phrase ? &leaf->phrase.tokens[leaf->phrase.anchor] : &leaf->needle;
	size_t end = vector->offsets[vector->count];
	size_t pos = vector->offsets[0];
	uint32_t v = 0;

	while (pos < end)
	{
		size_t at = ls_needle_find(needle, vector->data + pos, end - pos);

		if (at == LS_NOT_FOUND)
			break;
		ls_filter_pause(run);
		at += pos;
		while (vector->offsets[v + 1] <= at)
			v++;
		/* A match must not cross the border of two values. */
		if (at + needle->text.len <= vector->offsets[v + 1] &&
			(!is_phrase ||
			 ls_phrase_at(&leaf->phrase, ls_vector_text(vector, v), at - vector->offsets[v])))
		{
			set_bit(values, v);
			pos = vector->offsets[v + 1];
		}
		else
			pos = at + 1;
	}
}

/* Can search_block answer for this vector? */
static bool
searchable(const ls_leaf *leaf, const ls_leaf_column *column, const ls_vector *vector)
{
	const char *data = vector->data + vector->offsets[0];
	size_t len = vector->offsets[vector->count] - vector->offsets[0];
	ls_needle all = {.ascii = leaf->phrase.ascii, .from_high = leaf->phrase.from_high};

	if (column->nested > 0 || len == 0)
		return false;
	if (leaf->filter->op == LS_FILTER_CONTAINS)
		return leaf->needle.text.len > 0 && !ls_needle_must_fold(&leaf->needle, data, len);
	if (leaf->filter->op != LS_FILTER_PHRASE || leaf->phrase.n_tokens == 0)
		return false;
	return !ls_needle_must_fold(&all, data, len);
}

/* The leaf's comparison, if it is a single equality that a glance at a text can rule out. */
static const ls_compare *
deniable(const ls_leaf *leaf, const ls_leaf_column *column, const ls_vector *vector)
{
	const ls_compare *c = leaf->compares;

	if (leaf->n_compares != 1 || column->nested > 0 || vector->form != LS_VECTOR_TEXT ||
		c->op != LS_FILTER_EQ || (c->ignore_case && !c->numeric))
		return NULL;
	return c;
}

/* Is the text surely not equal?  This rules out most texts. */
static inline bool
denied(const ls_compare *c, ls_str text)
{
	if (!c->numeric)
		return text.len != c->text.len || memcmp(text.data, c->text.data, text.len) != 0;
	/* A number begins with a digit or a sign, and ends with a digit. */
	return text.len == 0 || (text.data[0] != '-' && (unsigned) (text.data[0] - '0') > 9) ||
		   (unsigned) (text.data[text.len - 1] - '0') > 9;
}

static bool
eval_column(ls_filter_run *run, ls_leaf *leaf, ls_leaf_column *column, uint32_t block, bool last,
			uint64_t *undecided, uint64_t *out)
{
	uint32_t rows = ls_part_block_rows(run->part, block);
	ls_decision constant = LS_UNDECIDED;
	const uint32_t *ranks = NULL;
	const ls_vector *vector;
	const ls_compare *equal;
	bool done;

	if (leaf->filter->op == LS_FILTER_PRESENT && column->nested == 0)
	{
		ranks = ls_part_ranks(run->part, block, column->column);
		if (ranks == NULL)
			return false;
		LS_FOR_EACH_ROW(row, undecided)
		{
			if (ranks[row] != UINT32_MAX)
				note(LS_TRUE, row, undecided, out);
		}
		return true;
	}

	if (!ls_leaf_eval_templates(run, leaf, column, block, undecided, out, &done))
		return false;
	if (done)
		return true;
	vector = ls_part_vector(run->part, block, column->column);
	if (vector == NULL)
		return false;
	if (vector->count == 0)
		return true;
	if (vector->form == LS_VECTOR_CONSTANT)
	{
		/* When no column follows, it does not matter which rows fail. */
		constant = decide_entry(run, leaf, column, vector, 0);
		if (last && constant != LS_TRUE)
			return true;
	}
	if (vector->count < rows)
	{
		ranks = ls_part_ranks(run->part, block, column->column);
		if (ranks == NULL)
			return false;
	}
	if (vector->form == LS_VECTOR_CONSTANT)
	{
		eval_constant(constant, vector, ranks, undecided, out);
		return true;
	}
	if (vector->form == LS_VECTOR_DICTIONARY)
		return eval_dictionary(run, leaf, column, vector, ranks, undecided, out);

	if (vector->form == LS_VECTOR_TEXT && ls_count_rows(undecided) >= vector->count / 8 &&
		searchable(leaf, column, vector))
	{
		uint64_t values[LS_SELECTION_WORDS] = {0};

		search_block(run, leaf, vector, values);
		LS_FOR_EACH_ROW(row, undecided)
		{
			uint32_t v = ranks == NULL ? row : ranks[row];

			if (v < vector->count)
				note(get_bit(values, v) ? LS_TRUE : LS_FALSE, row, undecided, out);
		}
		return true;
	}
	equal = deniable(leaf, column, vector);
	LS_FOR_EACH_ROW(row, undecided)
	{
		uint32_t v = ranks == NULL ? row : ranks[row];

		if (v >= vector->count)
			continue;
		if (equal != NULL && denied(equal, ls_vector_text(vector, v)))
			clear_bit(undecided, row);
		else
			note(decide_entry(run, leaf, column, vector, v), row, undecided, out);
	}
	return true;
}

static inline bool
in_block(const ls_leaf_column *column, uint32_t block)
{
	return (column->blocks >> block & 1) != 0;
}

/* No value of the column matches, so the rows that have it are decided. */
static bool
skip_column(ls_filter_run *run, const ls_leaf_column *column, uint32_t block, uint64_t *undecided)
{
	const uint32_t *ranks = ls_part_ranks(run->part, block, column->column);

	if (ranks == NULL)
		return false;
	LS_FOR_EACH_ROW(row, undecided)
	{
		if (ranks[row] != UINT32_MAX)
			clear_bit(undecided, row);
	}
	return true;
}

/* ---- what every row has ---- */

static bool
eval_times(ls_filter_run *run, ls_leaf *leaf, uint32_t block, const uint64_t *in, uint64_t *out)
{
	bool ranges = leaf->n_compares > 0;
	const ls_time *times;
	char iso[LS_TIME_ISO_LENGTH + 1];

	if (leaf->filter->op == LS_FILTER_PRESENT)
	{
		memcpy(out, in, LS_SELECTION_WORDS * sizeof(uint64_t));
		return true;
	}
	times = leaf->filter->target == LS_TARGET_TIMESTAMP ? ls_part_timestamps(run->part, block)
														: ls_part_ingest_times(run->part, block);
	if (times == NULL)
		return false;
	for (uint32_t i = 0; i < leaf->n_compares; i++)
		ranges = ranges && leaf->compares[i].has_range;
	LS_FOR_EACH_ROW(row, in)
	{
		bool matched = false;

		for (uint32_t i = 0; i < leaf->n_compares && !matched; i++)
		{
			const ls_compare *c = &leaf->compares[i];

			matched = c->has_range && (times[row] >= c->low && times[row] <= c->high) != c->outside;
		}
		/* A list may have texts and wildcards besides times. */
		if (!matched && !ranges)
		{
			ls_time_format_iso(times[row], iso);
			matched = ls_leaf_decide(run, leaf, 0, LS_KIND_STRING,
									 ls_str_make(iso, LS_TIME_ISO_LENGTH), 0) == LS_TRUE;
		}
		if (matched)
			set_bit(out, row);
	}
	return true;
}

static bool
id_order(ls_filter_op op)
{
	return op == LS_FILTER_EQ || op == LS_FILTER_LT || op == LS_FILTER_LE || op == LS_FILTER_GT ||
		   op == LS_FILTER_GE;
}

static bool
id_matches(const ls_compare *c, uint64_t batch, uint32_t place)
{
	int order =
		batch != c->batch ? (batch < c->batch ? -1 : 1) : (place > c->place) - (place < c->place);

	switch (c->op)
	{
		case LS_FILTER_LT:
			return order < 0;
		case LS_FILTER_LE:
			return order <= 0;
		case LS_FILTER_GT:
			return order > 0;
		case LS_FILTER_GE:
			return order >= 0;
		default:
			return order == 0;
	}
}

static bool
eval_ids(ls_filter_run *run, ls_leaf *leaf, uint32_t block, const uint64_t *in, uint64_t *out)
{
	const uint64_t *batches;
	const uint32_t *places;
	char id[LS_EVENT_ID_LENGTH + 1];

	if (leaf->filter->op == LS_FILTER_PRESENT)
	{
		memcpy(out, in, LS_SELECTION_WORDS * sizeof(uint64_t));
		return true;
	}
	batches = ls_part_batches(run->part, block);
	places = batches == NULL ? NULL : ls_part_places(run->part, block);
	if (places == NULL)
		return false;
	LS_FOR_EACH_ROW(row, in)
	{
		const ls_compare *c = leaf->compares;

		/* The common case is one id, or all before or after one: ids sort as their numbers do. */
		if (leaf->n_compares == 1 && c->has_id && id_order(c->op))
		{
			if (id_matches(c, batches[row], places[row]))
				set_bit(out, row);
			continue;
		}
		ls_event_id_format(batches[row], places[row], id);
		if (ls_leaf_decide(run, leaf, 0, LS_KIND_STRING, ls_str_make(id, LS_EVENT_ID_LENGTH), 0) ==
			LS_TRUE)
			set_bit(out, row);
	}
	return true;
}

bool
ls_leaf_eval(ls_filter_run *run, ls_leaf *leaf, uint32_t block, const uint64_t *in, uint64_t *out)
{
	uint64_t undecided[LS_SELECTION_WORDS];
	uint32_t n = leaf->n_columns;

	memset(out, 0, LS_SELECTION_WORDS * sizeof(uint64_t));
	if (!ls_is_text_op(leaf->filter->op))
	{
		if (leaf->filter->target == LS_TARGET_TIMESTAMP ||
			leaf->filter->target == LS_TARGET_INGESTED_AT)
			return eval_times(run, leaf, block, in, out);
		if (leaf->filter->target == LS_TARGET_ID)
			return eval_ids(run, leaf, block, in, out);
	}
	memcpy(undecided, in, sizeof(undecided));
	/* Skip trailing columns without a match: they only keep rows from the columns after them. */
	while (n > 0 && (leaf->columns[n - 1].never || !in_block(&leaf->columns[n - 1], block)))
		n--;
	for (uint32_t i = 0; i < n; i++)
	{
		ls_leaf_column *column = &leaf->columns[i];

		if (!(in_block(column, block)
				  ? eval_column(run, leaf, column, block, i == n - 1, undecided, out)
				  : skip_column(run, column, block, undecided)))
			return false;
	}
	return run->error == NULL && !run->fold.failed && !run->member.failed;
}
