/*-------------------------------------------------------------------------
 *
 * scalar.c
 *	  Single values: what they are, as numbers and texts, compared and computed with (pure).
 *
 * docs/language.md, "Expressions", defines the meaning.  Data never cause errors: what cannot
 * be computed is null, and a comparison with null is false.
 *
 *-------------------------------------------------------------------------
 */
#include "src/engine/engine_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- cells ---- */

bool
ls_values_make(ls_arena *arena, uint32_t width, ls_values *values)
{
	size_t n = width;

	memset(values, 0, sizeof(*values));
	values->width = width;
	values->kinds = ls_arena_alloc(arena, n);
	values->numbers = ls_arena_alloc(arena, n * sizeof(ls_cell_number));
	values->texts = ls_arena_alloc(arena, n * sizeof(ls_str));
	return values->kinds != NULL && values->numbers != NULL && values->texts != NULL;
}

ls_scalar
ls_values_get(const ls_values *values, uint32_t place)
{
	ls_scalar v = {.kind = LS_SCALAR_NULL};

	switch ((ls_cell) values->kinds[place])
	{
		case LS_CELL_NULL:
			break;
		case LS_CELL_FALSE:
		case LS_CELL_TRUE:
			return ls_scalar_boolean(values->kinds[place] == LS_CELL_TRUE);
		case LS_CELL_INTEGER:
			v = ls_scalar_integer(values->numbers[place].i);
			if (values->texts != NULL)
				v.text = values->texts[place];
			break;
		case LS_CELL_DOUBLE:
			v.kind = LS_SCALAR_NUMBER;
			v.number.d = values->numbers[place].d;
			if (values->texts != NULL)
				v.text = values->texts[place];
			break;
		case LS_CELL_STRING:
			v.kind = LS_SCALAR_STRING;
			v.text = values->texts[place];
			break;
		case LS_CELL_JSON:
			v.kind = LS_SCALAR_JSON;
			v.text = values->texts[place];
			break;
	}
	return v;
}

void
ls_values_put(ls_values *values, uint32_t place, const ls_scalar *v)
{
	switch (v->kind)
	{
		case LS_SCALAR_NULL:
			values->kinds[place] = LS_CELL_NULL;
			break;
		case LS_SCALAR_BOOLEAN:
			values->kinds[place] = v->boolean ? LS_CELL_TRUE : LS_CELL_FALSE;
			break;
		case LS_SCALAR_NUMBER:
			values->kinds[place] = v->number.is_int ? LS_CELL_INTEGER : LS_CELL_DOUBLE;
			if (v->number.is_int)
				values->numbers[place].i = v->number.i;
			else
				values->numbers[place].d = v->number.d;
			values->texts[place] = v->text;
			break;
		case LS_SCALAR_STRING:
		case LS_SCALAR_JSON:
			values->kinds[place] = v->kind == LS_SCALAR_STRING ? LS_CELL_STRING : LS_CELL_JSON;
			values->texts[place] = v->text;
			break;
	}
}

/* ---- values ---- */

ls_scalar
ls_scalar_null(void)
{
	return (ls_scalar){.kind = LS_SCALAR_NULL};
}

ls_scalar
ls_scalar_boolean(bool boolean)
{
	return (ls_scalar){.kind = LS_SCALAR_BOOLEAN, .boolean = boolean};
}

ls_scalar
ls_scalar_integer(int64_t number)
{
	return (ls_scalar){.kind = LS_SCALAR_NUMBER, .number = {true, number, (double) number}};
}

ls_scalar
ls_scalar_double(double number)
{
	if (!isfinite(number))
		return ls_scalar_null();
	return (ls_scalar){.kind = LS_SCALAR_NUMBER, .number = ls_num_of_double(number)};
}

ls_scalar
ls_scalar_string(ls_engine *engine, ls_str text)
{
	if (text.len > 0 && text.data == NULL)
		ls_engine_fail(engine, LS_ENGINE_MEMORY);
	else if (text.len > LS_ENGINE_MAX_TEXT)
		ls_engine_fail(engine, LS_ENGINE_LENGTH);
	else
		return (ls_scalar){.kind = LS_SCALAR_STRING, .text = text};
	return ls_scalar_null();
}

ls_scalar
ls_scalar_buffer(ls_engine *engine, const ls_buf *buf)
{
	if (buf->failed)
	{
		ls_engine_fail(engine, LS_ENGINE_MEMORY);
		return ls_scalar_null();
	}
	return ls_scalar_string(engine, ls_str_make(buf->data, buf->len));
}

ls_scalar
ls_scalar_of_number(ls_str text)
{
	ls_scalar v = {.kind = LS_SCALAR_JSON, .text = text};

	/* Longer than numbers that are parsed: a sum of very different numbers. */
	if (ls_num_parse(text, &v.number))
		v.kind = LS_SCALAR_NUMBER;
	return v;
}

static ls_str
print_number(ls_arena *arena, ls_num number)
{
	char digits[40];

	if (number.is_int)
		snprintf(digits, sizeof(digits), "%lld", (long long) number.i);
	else
	{
		/* The shortest text that reads back as the same number; close to 0, fewer than 15 digits. */
		for (int precision = fabs(number.d) < DBL_MIN ? 1 : 15; precision <= 17; precision++)
		{
			snprintf(digits, sizeof(digits), "%.*g", precision, number.d);
			if (strtod(digits, NULL) == number.d)
				break;
		}
	}
	return ls_arena_strdup(arena, ls_str_make(digits, strlen(digits)));
}

ls_str
ls_scalar_text(ls_arena *arena, const ls_scalar *v)
{
	switch (v->kind)
	{
		case LS_SCALAR_NULL:
			return LS_STR("");
		case LS_SCALAR_BOOLEAN:
			return v->boolean ? LS_STR("true") : LS_STR("false");
		case LS_SCALAR_STRING:
		case LS_SCALAR_JSON:
			return v->text.data == NULL ? LS_STR("") : v->text;
		case LS_SCALAR_NUMBER:
			break;
	}
	return v->text.data != NULL ? v->text : print_number(arena, v->number);
}

ls_str
ls_scalar_render(ls_engine *engine, const ls_scalar *v)
{
	ls_str text = ls_scalar_text(engine->batch, v);

	if (text.data != NULL)
		return text;
	ls_engine_fail(engine, LS_ENGINE_MEMORY);
	return LS_STR("");
}

bool
ls_scalar_is_true(const ls_scalar *v)
{
	return (v->kind == LS_SCALAR_BOOLEAN && v->boolean) ||
		   (v->kind == LS_SCALAR_STRING && ls_str_eq(v->text, LS_STR("true")));
}

bool
ls_scalar_number(const ls_scalar *v, ls_num *number)
{
	if (v->kind == LS_SCALAR_NUMBER)
		*number = v->number;
	return v->kind == LS_SCALAR_NUMBER ||
		   (v->kind == LS_SCALAR_STRING && ls_num_parse(v->text, number));
}

bool
ls_scalar_operand(const ls_scalar *v, ls_num *number)
{
	ls_time time;

	if (ls_scalar_number(v, number))
		return true;
	if (v->kind != LS_SCALAR_STRING || v->text.len < 16 || v->text.data[4] != '-' ||
		v->text.data[10] != 'T' || !ls_time_parse_iso(v->text, &time))
		return false;
	*number = ls_num_of_double((double) time / (double) LS_USECS_PER_SEC);
	return true;
}

/* ---- operators ---- */

ls_scalar
ls_scalar_arithmetic(ls_engine_op op, const ls_scalar *left, const ls_scalar *right)
{
	ls_num a;
	ls_num b;
	int64_t result;

	if (!ls_scalar_operand(left, &a) || !ls_scalar_operand(right, &b))
		return ls_scalar_null();
	if (a.is_int && b.is_int)
	{
		if ((op == LS_OP_ADD && !__builtin_add_overflow(a.i, b.i, &result)) ||
			(op == LS_OP_SUBTRACT && !__builtin_sub_overflow(a.i, b.i, &result)) ||
			(op == LS_OP_MULTIPLY && !__builtin_mul_overflow(a.i, b.i, &result)))
			return ls_scalar_integer(result);
		if (op == LS_OP_MODULO && b.i != 0)
			return ls_scalar_integer(b.i == -1 ? 0 : a.i % b.i);
		if (op == LS_OP_DIVIDE && b.i == -1 && !__builtin_sub_overflow((int64_t) 0, a.i, &result))
			return ls_scalar_integer(result);
		if (op == LS_OP_DIVIDE && b.i != 0 && b.i != -1 && a.i % b.i == 0)
			return ls_scalar_integer(a.i / b.i);
	}
	switch (op)
	{
		case LS_OP_ADD:
			return ls_scalar_double(a.d + b.d);
		case LS_OP_SUBTRACT:
			return ls_scalar_double(a.d - b.d);
		case LS_OP_MULTIPLY:
			return ls_scalar_double(a.d * b.d);
		case LS_OP_DIVIDE:
			return b.d == 0 ? ls_scalar_null() : ls_scalar_double(a.d / b.d);
		default:
			return b.d == 0 ? ls_scalar_null() : ls_scalar_double(fmod(a.d, b.d));
	}
}

/*
 * As in the head: a text in quotes (or made by a function) compares as text, a
 * number as a number.  A value that is not a number differs from every number, and is
 * neither less nor greater.  Two fields compare as numbers if one of them is a number.
 */
bool
ls_scalar_compare(ls_engine *engine, ls_engine_compare compare, bool texts, const ls_scalar *a,
				  const ls_scalar *b)
{
	ls_num x;
	ls_num y;

	if (a->kind == LS_SCALAR_NULL || b->kind == LS_SCALAR_NULL)
		return false;
	if (!texts && (a->kind == LS_SCALAR_NUMBER || b->kind == LS_SCALAR_NUMBER))
	{
		if (!ls_scalar_number(a, &x) || !ls_scalar_number(b, &y))
			return compare == LS_COMPARE_NE;
		return ls_compare_holds(compare, ls_num_cmp(x, y));
	}
	return ls_compare_holds(compare,
							ls_str_cmp(ls_scalar_render(engine, a), ls_scalar_render(engine, b)));
}

/* A time: ISO 8601, or seconds since 1970 (or milliseconds and so on, if they are too many for seconds). */
static bool
time_of(const ls_scalar *v, ls_time *time)
{
	double seconds;
	ls_num number;

	if (v->kind == LS_SCALAR_STRING && ls_time_parse_iso(v->text, time))
		return true;
	if (!ls_scalar_number(v, &number))
		return false;
	seconds = number.d;
	for (int i = 0; i < 3 && fabs(seconds) >= 1e11; i++)
		seconds /= 1000;
	if (!(fabs(seconds) < 1e12))
		return false;
	*time = (ls_time) llround(seconds * LS_USECS_PER_SEC);
	return true;
}

/* As in the head: a time of whole milliseconds is all of that millisecond. */
bool
ls_scalar_compare_times(ls_engine_compare compare, const ls_scalar *a, const ls_scalar *b,
						bool *holds)
{
	ls_time x;
	ls_time y;

	if ((a->kind != LS_SCALAR_STRING && b->kind != LS_SCALAR_STRING) || !time_of(a, &x) ||
		!time_of(b, &y))
		return false;
	if (x % 1000 == 0)
		y -= (y % 1000 + 1000) % 1000;
	else if (y % 1000 == 0)
		x -= (x % 1000 + 1000) % 1000;
	*holds = ls_compare_holds(compare, (x > y) - (x < y));
	return true;
}

bool
ls_scalar_contains(ls_engine *engine, const ls_engine_node *node, const ls_scalar *text,
				   const ls_scalar *part)
{
	ls_needle needle = node->needle;
	bool found;

	if (!node->has_needle &&
		!ls_needle_make(engine->batch, ls_scalar_render(engine, part), &needle))
	{
		ls_engine_fail(engine, LS_ENGINE_MEMORY);
		return false;
	}
	found = ls_needle_in(&needle, ls_scalar_render(engine, text), &engine->fold);
	if (engine->fold.failed)
		ls_engine_fail(engine, LS_ENGINE_MEMORY);
	return found != node->negated;
}

/* An invalid regular expression from a field matches nothing. */
bool
ls_scalar_matches(ls_engine *engine, const ls_engine_node *node, const ls_scalar *text,
				  const ls_scalar *pattern)
{
	ls_regex *regex = node->regex;
	const char *error = NULL;
	int matched;

	if (regex == NULL)
		regex = ls_regex_compile(engine->batch, ls_scalar_render(engine, pattern), false, &error);
	if (regex == NULL)
	{
		if (ls_arena_failed(engine->batch))
			ls_engine_fail(engine, LS_ENGINE_MEMORY);
		return false;
	}
	matched = ls_regex_match(regex, ls_scalar_render(engine, text), &error);
	if (matched < 0)
	{
		engine->reason = engine->error == LS_ENGINE_OK ? error : engine->reason;
		ls_engine_fail(engine, LS_ENGINE_REGEX);
	}
	return (matched > 0) != node->negated;
}
