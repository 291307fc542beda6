/*-------------------------------------------------------------------------
 *
 * evaluate.c
 *	  Runs a program over batches (pure).
 *
 * An expression is evaluated in a frame: the rows that are left, the entries of a field's
 * dictionary that these rows have, or one cell for all rows.  An expression that reads only
 * one field goes to the frame of that field, with all that is in it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/engine/engine_internal.h"

#define EVERYTHING (-1) /* as the field of a frame: its cells are those of rows */
#define NOTHING (-2)    /* it has one cell, for all rows */

/* Strict operators on so many fields look whether each of them has one value. */
#define FEW_FIELDS 3

typedef struct frame
{
	int field; /* whose entries the cells are */
	uint32_t width;
	const uint16_t *cells; /* selected ones */
	uint32_t n;
} frame;

static ls_values *evaluate(ls_engine *e, const ls_engine_node *node, const frame *f);

static void *
checked(ls_engine *e, void *memory)
{
	if (memory == NULL)
		ls_engine_fail(e, LS_ENGINE_MEMORY);
	return memory;
}

/* ---- columns ---- */

static ls_values *
new_values(ls_engine *e, const frame *f)
{
	ls_values *values = checked(e, ls_new(e->batch, ls_values));

	if (values == NULL || !ls_values_make(e->batch, f->width, values))
		return checked(e, NULL);
	values->constant = f->field == NOTHING;
	return values;
}

/* Only with true, false and null. */
static ls_values *
new_booleans(ls_engine *e, const frame *f)
{
	ls_values *values = checked(e, ls_new(e->batch, ls_values));

	if (values == NULL)
		return NULL;
	values->width = f->width;
	values->constant = f->field == NOTHING;
	values->kinds = checked(e, ls_arena_alloc(e->batch, f->width));
	return values->kinds == NULL ? NULL : values;
}

static bool
is_true_at(const ls_values *values, uint32_t place)
{
	return values->kinds[place] == LS_CELL_TRUE ||
		   (values->kinds[place] == LS_CELL_STRING &&
			ls_str_eq(values->texts[place], LS_STR("true")));
}

/* The rows of `f` for which the column is true, or not; false when out of memory. */
static bool
split_rows(ls_engine *e, const frame *f, const ls_values *values, bool wanted, frame *to)
{
	uint16_t *rows = checked(e, ls_arena_alloc(e->batch, (f->n + (size_t) 1) * sizeof(uint16_t)));
	uint32_t n = 0;

	if (rows == NULL)
		return false;
	for (uint32_t k = 0; k < f->n; k++)
	{
		rows[n] = f->cells[k];
		n += is_true_at(values, ls_values_place(values, f->cells[k])) == wanted;
	}
	*to = *f;
	to->cells = rows;
	to->n = n;
	return true;
}

/* ---- fields and values ---- */

/* The lengths of texts, without a value of each row. */
static void
lengths(ls_engine *e, const ls_engine_node *node, const frame *f, const ls_values *texts,
		ls_values *result)
{
	for (uint32_t k = 0; k < f->n && e->error == LS_ENGINE_OK; k++)
	{
		uint32_t row = f->cells[k];
		uint32_t cell = ls_values_place(texts, row);

		if (texts->kinds[cell] == LS_CELL_STRING)
		{
			result->kinds[row] = LS_CELL_INTEGER;
			result->numbers[row].i =
				(int64_t) ls_utf8_length(texts->texts[cell].data, texts->texts[cell].len);
		}
		else
		{
			ls_scalar arg = ls_values_get(texts, cell);
			ls_scalar v = ls_engine_call(e, node, &arg);

			ls_values_put(result, row, &v);
		}
		result->texts[row] = ls_str_make(NULL, 0);
	}
}

static const ls_values *field_values(ls_engine *e, uint32_t field);

/* The lengths of a field: as the host knows them, or of its values. */
static bool
load_lengths(ls_engine *e, uint32_t of, ls_values *result)
{
	static const ls_engine_node len = {.op = LS_OP_CALL, .function = LS_CALL_LEN};
	frame f = {.field = EVERYTHING, .width = e->rows.width, .cells = e->rows.cells, .n = e->rows.n};
	const ls_values *loaded;
	ls_values texts;
	bool done = false;

	if ((e->loaded & UINT64_C(1) << of) == 0 && e->host.load_lengths != NULL &&
		!e->host.load_lengths(e->host.context, of, &e->rows, e->batch, result, &done))
	{
		ls_engine_fail(e, ls_arena_failed(e->batch) ? LS_ENGINE_MEMORY : LS_ENGINE_HOST);
		return false;
	}
	loaded = done ? NULL : field_values(e, of);
	if (loaded == NULL)
		return done;
	texts = *loaded;
	if (texts.constant || texts.index != NULL)
	{
		/* Of all entries, whether or not a row has them. */
		uint16_t *places;

		f.width = f.n = texts.constant ? 1 : texts.width;
		places = checked(e, ls_arena_alloc(e->batch, f.n * sizeof(uint16_t)));
		for (uint32_t i = 0; places != NULL && i < f.n; i++)
			places[i] = (uint16_t) i;
		f.cells = places;
		texts.constant = false;
		texts.index = NULL;
	}
	if (f.cells == NULL || !ls_values_make(e->batch, f.width, result))
		return checked(e, NULL) != NULL;
	lengths(e, &len, &f, &texts, result);
	result->constant = loaded->constant;
	result->index = loaded->index;
	return e->error == LS_ENGINE_OK;
}

static const ls_values *
field_values(ls_engine *e, uint32_t field)
{
	if ((e->loaded & UINT64_C(1) << field) != 0)
		return &e->fields[field];
	if (field >= e->program->n_fields)
	{
		if (!load_lengths(e, e->program->lengths[field - e->program->n_fields], &e->fields[field]))
			return NULL;
		e->loaded |= UINT64_C(1) << field;
		return &e->fields[field];
	}
	if (!e->host.load(e->host.context, field, &e->rows, e->batch, &e->fields[field]))
	{
		ls_engine_fail(e, ls_arena_failed(e->batch) ? LS_ENGINE_MEMORY : LS_ENGINE_HOST);
		return NULL;
	}
	e->loaded |= UINT64_C(1) << field;
	return &e->fields[field];
}

/* All rows that are left. */
static frame
everything(const ls_engine *e)
{
	return (frame){
		.field = EVERYTHING, .width = e->rows.width, .cells = e->rows.cells, .n = e->rows.n};
}

/* For all rows that are left, whichever of them need it now. */
static ls_values *
made_value(ls_engine *e, uint32_t number)
{
	frame all = everything(e);

	if (e->made[number] == NULL)
		e->made[number] = evaluate(e, e->program->values[number], &all);
	return e->made[number];
}

/* A column as the cells of the frame see it. */
static ls_values *
in_frame(ls_engine *e, const ls_values *values, const frame *f)
{
	ls_values *copy;

	if (values == NULL)
		return NULL;
	if (f->field == EVERYTHING || values->constant)
		return (ls_values *) values;
	copy = checked(e, ls_arena_alloc(e->batch, sizeof(ls_values)));
	if (copy == NULL)
		return NULL;
	*copy = *values;
	copy->index = NULL;
	return copy;
}

/* ---- frames ---- */

/* The entries that the rows have. */
static bool
entries_of(ls_engine *e, const ls_values *field, const frame *f, frame *to)
{
	bool *used = checked(e, ls_arena_alloc0(e->batch, field->width));
	uint16_t *entries = checked(e, ls_arena_alloc(e->batch, field->width * sizeof(uint16_t)));

	if (used == NULL || entries == NULL)
		return false;
	to->n = 0;
	for (uint32_t k = 0; k < f->n; k++)
	{
		uint16_t entry = field->index[f->cells[k]];

		if (used[entry])
			continue;
		used[entry] = true;
		entries[to->n++] = entry;
	}
	to->cells = entries;
	to->width = field->width;
	return true;
}

/* Does the operator evaluate all of its arguments for all rows? */
static bool
is_strict(const ls_engine_node *node)
{
	return node->op != LS_OP_AND && node->op != LS_OP_OR && node->op != LS_OP_IN &&
		   (node->op != LS_OP_CALL ||
			(node->function != LS_CALL_IF && node->function != LS_CALL_CASE &&
			 node->function != LS_CALL_COALESCE));
}

/*
 * Evaluates a node of a frame of rows in a smaller frame, if it reads only one field that
 * varies.  *done is false if it does not.
 */
static ls_values *
evaluate_smaller(ls_engine *e, const ls_engine_node *node, const frame *f, bool *done)
{
	static const uint16_t first[1] = {0};
	frame to = {.field = NOTHING, .width = 1, .cells = first, .n = 1};
	int n = __builtin_popcountll(node->depends);
	const ls_values *varying = NULL;
	ls_values *values;

	*done = true;
	if (n > 1 && (n > FEW_FIELDS || node->named || !is_strict(node)))
	{
		*done = false;
		return NULL;
	}
	for (uint64_t left = node->depends; left != 0; left &= left - 1)
	{
		uint32_t field = (uint32_t) __builtin_ctzll(left);
		const ls_values *loaded = field_values(e, field);

		if (loaded == NULL)
			return NULL;
		if (loaded->constant)
			continue;
		if (varying != NULL || loaded->index == NULL)
		{
			*done = false;
			return NULL;
		}
		varying = loaded;
		to.field = (int) field;
	}
	if (varying != NULL && !entries_of(e, varying, f, &to))
		return NULL;
	values = evaluate(e, node, &to);
	if (values == NULL || varying == NULL || values->constant)
		return values;
	/* A field or a value as it is has the index already. */
	if (values->index == NULL)
	{
		ls_values *indexed = checked(e, ls_arena_alloc(e->batch, sizeof(ls_values)));

		if (indexed == NULL)
			return NULL;
		*indexed = *values;
		indexed->index = varying->index;
		values = indexed;
	}
	return values;
}

/* ---- operators ---- */

/* AND and OR: each argument only for rows that are not decided. */
static ls_values *
connect(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	bool is_or = node->op == LS_OP_OR;
	ls_values *result = new_booleans(e, f);
	frame open = *f;

	if (result == NULL)
		return NULL;
	for (uint32_t k = 0; k < f->n; k++)
		result->kinds[f->cells[k]] = is_or ? LS_CELL_TRUE : LS_CELL_FALSE;
	for (uint32_t i = 0; i < node->n_args && open.n > 0; i++)
	{
		const ls_values *arg = evaluate(e, node->args[i], &open);

		if (arg == NULL || !split_rows(e, &open, arg, !is_or, &open))
			return NULL;
	}
	for (uint32_t k = 0; k < open.n; k++)
		result->kinds[open.cells[k]] = is_or ? LS_CELL_FALSE : LS_CELL_TRUE;
	return result;
}

/* Copies the values of an argument in some cells. */
static bool
copy_cells(ls_engine *e, const ls_engine_node *node, const frame *f, ls_values *to)
{
	const ls_values *from;

	if (f->n == 0)
		return true;
	from = evaluate(e, node, f);
	for (uint32_t k = 0; from != NULL && k < f->n; k++)
	{
		ls_scalar v = ls_values_get(from, ls_values_place(from, f->cells[k]));

		ls_values_put(to, f->cells[k], &v);
	}
	return from != NULL;
}

/* if() and case(): each value only for the rows that take it. */
static ls_values *
choose(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	ls_values *result = new_values(e, f);
	frame open = *f;
	frame taken;
	uint32_t i;

	if (result == NULL)
		return NULL;
	for (uint32_t k = 0; k < f->n; k++)
		result->kinds[f->cells[k]] = LS_CELL_NULL;
	for (i = 0; i + 1 < node->n_args && open.n > 0; i += 2)
	{
		const ls_values *condition = evaluate(e, node->args[i], &open);

		if (condition == NULL || !split_rows(e, &open, condition, true, &taken) ||
			!split_rows(e, &open, condition, false, &open) ||
			!copy_cells(e, node->args[i + 1], &taken, result))
			return NULL;
	}
	if (i < node->n_args && !copy_cells(e, node->args[i], &open, result))
		return NULL;
	return result;
}

static ls_values *
first_known(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	ls_values *result = new_values(e, f);
	frame open = *f;

	if (result == NULL)
		return NULL;
	for (uint32_t i = 0; i < node->n_args && open.n > 0; i++)
	{
		uint16_t *rows =
			checked(e, ls_arena_alloc(e->batch, (open.n + (size_t) 1) * sizeof(uint16_t)));
		uint32_t n = 0;

		if (rows == NULL || !copy_cells(e, node->args[i], &open, result))
			return NULL;
		for (uint32_t k = 0; k < open.n; k++)
		{
			rows[n] = open.cells[k];
			n += result->kinds[open.cells[k]] == LS_CELL_NULL;
		}
		open.cells = rows;
		open.n = n;
	}
	return result;
}

/* Each item only for the rows that no item before it has matched. */
static ls_values *
in_list(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	ls_values *result = new_booleans(e, f);
	const ls_values *left = evaluate(e, node->args[0], f);
	uint16_t *rows = checked(e, ls_arena_alloc(e->batch, (f->n + (size_t) 1) * sizeof(uint16_t)));
	frame open = *f;

	if (result == NULL || left == NULL || rows == NULL)
		return NULL;
	open.cells = rows;
	open.n = 0;
	for (uint32_t k = 0; k < f->n; k++)
	{
		bool known = left->kinds[ls_values_place(left, f->cells[k])] != LS_CELL_NULL;

		result->kinds[f->cells[k]] = known && node->negated ? LS_CELL_TRUE : LS_CELL_FALSE;
		rows[open.n] = f->cells[k];
		open.n += known;
	}
	for (uint32_t i = 1; i < node->n_args && open.n > 0; i++)
	{
		const ls_values *item = evaluate(e, node->args[i], &open);
		uint32_t n = 0;

		for (uint32_t k = 0; item != NULL && k < open.n; k++)
		{
			uint16_t row = rows[k];
			ls_scalar a = ls_values_get(left, ls_values_place(left, row));
			ls_scalar b = ls_values_get(item, ls_values_place(item, row));

			ls_engine_pause(e);
			if (ls_scalar_compare(e, LS_COMPARE_EQ, node->item_texts[i - 1], &a, &b))
				result->kinds[row] = node->negated ? LS_CELL_FALSE : LS_CELL_TRUE;
			else
				rows[n++] = row;
		}
		if (item == NULL || e->error != LS_ENGINE_OK)
			return NULL;
		open.n = n;
	}
	return result;
}

static ls_values * not(ls_engine * e, const ls_engine_node *node, const frame *f)
{
	const ls_values *arg = evaluate(e, node->args[0], f);
	ls_values *result = arg == NULL ? NULL : new_booleans(e, f);

	for (uint32_t k = 0; result != NULL && k < f->n; k++)
	{
		uint32_t cell = ls_values_place(arg, f->cells[k]);

		result->kinds[f->cells[k]] = is_true_at(arg, cell) ? LS_CELL_FALSE : LS_CELL_TRUE;
	}
	return result;
}

static ls_values *
is_null(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	const ls_values *arg = evaluate(e, node->args[0], f);
	ls_values *result = arg == NULL ? NULL : new_booleans(e, f);

	for (uint32_t k = 0; result != NULL && k < f->n; k++)
	{
		bool null = arg->kinds[ls_values_place(arg, f->cells[k])] == LS_CELL_NULL;

		result->kinds[f->cells[k]] = null != node->negated ? LS_CELL_TRUE : LS_CELL_FALSE;
	}
	return result;
}

/* ---- comparisons, arithmetic ---- */

/*
 * Comparisons of integers, doubles and texts without a value of each row; false: the cells are of
 * other kinds.
 */
static inline bool
compare_cells(const ls_engine_node *node, const ls_values *a, uint32_t x, const ls_values *b,
			  uint32_t y, bool *holds)
{
	ls_cell left = (ls_cell) a->kinds[x];
	ls_cell right = (ls_cell) b->kinds[y];

	if (left == LS_CELL_NULL || right == LS_CELL_NULL)
		*holds = false;
	else if (node->times && (left == LS_CELL_STRING || right == LS_CELL_STRING))
		return false;
	else if (left == LS_CELL_STRING && right == LS_CELL_STRING)
	{
		const ls_str *p = &a->texts[x];
		const ls_str *q = &b->texts[y];

		*holds = node->compare == LS_COMPARE_EQ
					 ? ls_str_eq(*p, *q)
					 : ls_compare_holds(node->compare, ls_str_cmp(*p, *q));
	}
	else if (!node->texts && left == LS_CELL_INTEGER && right == LS_CELL_INTEGER)
	{
		int64_t p = a->numbers[x].i;
		int64_t q = b->numbers[y].i;

		*holds = ls_compare_holds(node->compare, (p > q) - (p < q));
	}
	else if (!node->texts && left == LS_CELL_DOUBLE && right == LS_CELL_DOUBLE)
	{
		double p = a->numbers[x].d;
		double q = b->numbers[y].d;

		*holds = ls_compare_holds(node->compare, (p > q) - (p < q));
	}
	else
		return false;
	return true;
}

static ls_values *
compare(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	const ls_values *a = evaluate(e, node->args[0], f);
	const ls_values *b = a == NULL ? NULL : evaluate(e, node->args[1], f);
	ls_values *result = b == NULL ? NULL : new_booleans(e, f);

	for (uint32_t k = 0; result != NULL && k < f->n; k++)
	{
		uint32_t x = ls_values_place(a, f->cells[k]);
		uint32_t y = ls_values_place(b, f->cells[k]);
		bool holds;

		if (!compare_cells(node, a, x, b, y, &holds))
		{
			ls_scalar left = ls_values_get(a, x);
			ls_scalar right = ls_values_get(b, y);

			if (!node->times || !ls_scalar_compare_times(node->compare, &left, &right, &holds))
				holds = ls_scalar_compare(e, node->compare, node->texts, &left, &right);
		}
		result->kinds[f->cells[k]] = holds ? LS_CELL_TRUE : LS_CELL_FALSE;
	}
	return result;
}

/* CONTAINS and MATCHES. */
static ls_values *
search(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	const ls_values *a = evaluate(e, node->args[0], f);
	const ls_values *b = a == NULL ? NULL : evaluate(e, node->args[1], f);
	ls_values *result = b == NULL ? NULL : new_booleans(e, f);

	for (uint32_t k = 0; result != NULL && k < f->n && e->error == LS_ENGINE_OK; k++)
	{
		ls_scalar text = ls_values_get(a, ls_values_place(a, f->cells[k]));
		ls_scalar part = ls_values_get(b, ls_values_place(b, f->cells[k]));
		bool found = false;

		ls_engine_pause(e);
		if (text.kind != LS_SCALAR_NULL && part.kind != LS_SCALAR_NULL)
			found = node->op == LS_OP_CONTAINS ? ls_scalar_contains(e, node, &text, &part)
											   : ls_scalar_matches(e, node, &text, &part);
		result->kinds[f->cells[k]] = found ? LS_CELL_TRUE : LS_CELL_FALSE;
	}
	return result;
}

static ls_values *
compute(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	bool negate = node->op == LS_OP_NEGATE;
	const ls_values *a = evaluate(e, node->args[0], f);
	const ls_values *b = a == NULL || negate ? a : evaluate(e, node->args[1], f);
	ls_values *result = b == NULL ? NULL : new_values(e, f);

	for (uint32_t k = 0; result != NULL && k < f->n; k++)
	{
		ls_scalar left = ls_values_get(a, ls_values_place(a, f->cells[k]));
		ls_scalar right = negate ? left : ls_values_get(b, ls_values_place(b, f->cells[k]));

		if (negate)
			left = ls_scalar_integer(0);
		left = ls_scalar_arithmetic(negate ? LS_OP_SUBTRACT : node->op, &left, &right);
		ls_values_put(result, f->cells[k], &left);
	}
	return result;
}

/* ---- functions ---- */

static ls_values *
call(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	const ls_values **args;
	ls_scalar *scalars;
	ls_values *result = new_values(e, f);

	args = checked(e, ls_arena_alloc0(e->batch, sizeof(*args) * (node->n_args + (size_t) 1)));
	scalars = checked(e, ls_arena_alloc(e->batch, sizeof(ls_scalar) * (node->n_args + (size_t) 1)));
	if (result == NULL || args == NULL || scalars == NULL)
		return NULL;
	for (uint32_t i = 0; i < node->n_args; i++)
	{
		args[i] = evaluate(e, node->args[i], f);
		if (args[i] == NULL)
			return NULL;
	}
	if (node->function == LS_CALL_LEN)
	{
		lengths(e, node, f, args[0], result);
		return result;
	}
	for (uint32_t k = 0; k < f->n && e->error == LS_ENGINE_OK; k++)
	{
		ls_scalar v;

		for (uint32_t i = 0; i < node->n_args; i++)
			scalars[i] = ls_values_get(args[i], ls_values_place(args[i], f->cells[k]));
		ls_engine_pause(e);
		v = ls_engine_call(e, node, scalars);
		ls_values_put(result, f->cells[k], &v);
	}
	return result;
}

/* ---- all ---- */

static ls_values *
evaluate_here(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	switch (node->op)
	{
		case LS_OP_AND:
		case LS_OP_OR:
			return connect(e, node, f);
		case LS_OP_NOT:
			return not(e, node, f);
		case LS_OP_IS_NULL:
			return is_null(e, node, f);
		case LS_OP_IN:
			return in_list(e, node, f);
		case LS_OP_COMPARE:
			return compare(e, node, f);
		case LS_OP_CONTAINS:
		case LS_OP_MATCHES:
			return search(e, node, f);
		case LS_OP_CALL:
			if (node->function == LS_CALL_IF || node->function == LS_CALL_CASE)
				return choose(e, node, f);
			if (node->function == LS_CALL_COALESCE)
				return first_known(e, node, f);
			return call(e, node, f);
		default:
			return compute(e, node, f);
	}
}

static ls_values *
evaluate(ls_engine *e, const ls_engine_node *node, const frame *f)
{
	ls_values *values;
	bool done = false;

	switch (node->op)
	{
		case LS_OP_FIELD:
			return in_frame(e, field_values(e, node->number), f);
		case LS_OP_VALUE:
			return in_frame(e, made_value(e, node->number), f);
		default:
			if (node->op <= LS_OP_TEXT)
				return (ls_values *) &node->literal;
			break;
	}
	if (f->field == EVERYTHING)
	{
		values = evaluate_smaller(e, node, f, &done);
		if (done)
			return e->error == LS_ENGINE_OK ? values : NULL;
	}
	values = evaluate_here(e, node, f);
	return e->error == LS_ENGINE_OK ? values : NULL;
}

/* ---- batches ---- */

ls_engine *
ls_engine_make(ls_arena *arena, ls_arena *batch, ls_engine_program *program,
			   const ls_engine_host *host)
{
	ls_engine *e = ls_new(arena, ls_engine);

	if (e == NULL)
		return NULL;
	e->batch = batch;
	e->program = program;
	e->host = *host;
	e->fields = ls_new_array(arena, ls_values, program->n_fields + program->n_lengths + 1);
	e->made = ls_new_array(arena, ls_values *, program->n_values + 1);
	e->left = ls_new_array(arena, uint16_t, LS_ENGINE_MAX_BATCH);
	return e->fields == NULL || e->made == NULL || e->left == NULL ? NULL : e;
}

bool
ls_engine_run(ls_engine *e, const uint16_t *rows, uint32_t n, const ls_engine_rows **left)
{
	const ls_engine_program *program = e->program;

	ls_arena_reset(e->batch);
	ls_buf_init(&e->fold, e->batch);
	e->error = LS_ENGINE_OK;
	e->reason = NULL;
	e->loaded = 0;
	memset(e->made, 0, sizeof(*e->made) * program->n_values);
	e->rows = (ls_engine_rows){.rows = rows, .width = n, .cells = e->left, .n = n};
	for (uint32_t k = 0; k < n; k++)
		e->left[k] = (uint16_t) k;
	for (uint32_t i = 0; i < program->n_steps && e->rows.n > 0; i++)
	{
		frame all = everything(e);
		const ls_values *condition;
		uint32_t kept = 0;

		if (program->steps[i].step != LS_STEP_WHERE)
			continue;
		condition = evaluate(e, program->steps[i].expression, &all);
		if (condition == NULL)
			return false;
		for (uint32_t k = 0; k < all.n; k++)
		{
			uint16_t cell = e->left[k];

			e->left[kept] = cell;
			kept += is_true_at(condition, ls_values_place(condition, cell));
		}
		e->rows.n = kept;
	}
	*left = &e->rows;
	return true;
}

const ls_values *
ls_engine_value(ls_engine *e, uint32_t value)
{
	return value < e->program->n_values ? made_value(e, value) : NULL;
}

ls_engine_error
ls_engine_failure(const ls_engine *e)
{
	return e->error;
}

const char *
ls_engine_reason(const ls_engine *e)
{
	return e->reason != NULL ? e->reason : "unknown";
}
