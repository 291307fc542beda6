/*-------------------------------------------------------------------------
 *
 * value.c
 *	  Evaluates the expressions of where, eval and of aggregates.
 *
 * docs/language.md, "Expressions", defines the meaning.  Data never cause errors:
 * what cannot be computed is null, and a comparison with null is false.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/value.h"

#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/formatting.h"
#include "utils/numeric.h"

#include <float.h>
#include <math.h>

#include "src/part/match.h"
#include "src/query/query.h"
#include "src/query/text.h"
#include "src/scan/scan.h"

/* Limit of memory for one expression and one row, including intermediate texts. */
#define SCRATCH_LIMIT ((size_t) 64 * 1024 * 1024)
#define REGEX_LIMIT ((size_t) 64 * 1024 * 1024)

typedef enum value_kind
{
	VALUE_NULL,
	VALUE_BOOLEAN,
	VALUE_NUMBER,
	VALUE_STRING,
	VALUE_JSON /* an object or an array */
} value_kind;

typedef struct value
{
	value_kind kind;
	bool boolean;
	ls_num number;
	ls_str text; /* STRING; JSON; a number as written, or data NULL */
} value;

typedef struct node
{
	const ls_query_expr *expr;
	int slot;        /* FIELD */
	ls_regex *regex; /* MATCHES with a constant */
	ls_needle needle;
	bool has_needle; /* CONTAINS with a constant */
	struct node **args;
} node;

struct ls_value_program
{
	node *root;
	ls_arena *scratch; /* of one row */
	ls_arena *kept;    /* patterns */
	const ls_str *fields;
	int zone_slot;      /* of the name of the time zone; -1: not needed */
	ls_query_zone zone; /* looked up once: the name is a constant of the statement */
	bool has_zone;
};

/* ---- making it ready ---- */

static int
find_slot(const ls_value_fields *fields, const ls_query_field *field)
{
	for (int i = 0; i < fields->n; i++)
	{
		/* Two names of one field have a slot each: where the text is parsed again, they are two. */
		if (ls_query_field_eq(fields->items[i], field) &&
			ls_str_eq(fields->items[i]->alias, field->alias))
			return i;
	}
	return -1;
}

bool
ls_value_list_fields(const ls_query_expr *expr, ls_value_fields *fields)
{
	if (expr->kind == LS_QUERY_EXPR_FIELD && find_slot(fields, expr->field) < 0)
	{
		if (fields->n == LS_VALUE_MAX_FIELDS)
			return false;
		fields->items[fields->n++] = expr->field;
	}
	for (uint32 i = 0; i < expr->n_args; i++)
	{
		if (!ls_value_list_fields(expr->args[i], fields))
			return false;
	}
	return true;
}

bool
ls_value_needs_zone(const ls_query_expr *expr)
{
	bool needed = expr->kind == LS_QUERY_EXPR_CALL &&
				  (expr->function == LS_QUERY_STRFTIME || expr->function == LS_QUERY_STRPTIME ||
				   expr->function == LS_QUERY_BIN);

	for (uint32 i = 0; i < expr->n_args && !needed; i++)
		needed = ls_value_needs_zone(expr->args[i]);
	return needed;
}

const ls_query_expr *
ls_value_expression(const ls_query_stage *stage, int number)
{
	if (stage->kind == LS_QUERY_WHERE)
		return number == 0 ? stage->condition : NULL;
	if (number < 0)
		return NULL;
	if (stage->kind == LS_QUERY_EVAL || stage->kind == LS_QUERY_BIN_STAGE)
		return (uint32) number < stage->assigns.n ? stage->assigns.items[number]->value : NULL;
	return (uint32) number < stage->aggregates.n ? stage->aggregates.items[number]->arg : NULL;
}

static node *
prepare(ls_value_program *program, const ls_query_expr *expr, const ls_value_fields *fields)
{
	node *n = palloc0(sizeof(node));
	const ls_query_expr *constant = expr->n_args == 2 ? expr->args[1] : NULL;
	const char *error = NULL;

	n->expr = expr;
	if (expr->kind == LS_QUERY_EXPR_FIELD)
		n->slot = find_slot(fields, expr->field);
	n->args = palloc0(sizeof(node *) * (expr->n_args + (Size) 1));
	for (uint32 i = 0; i < expr->n_args; i++)
		n->args[i] = prepare(program, expr->args[i], fields);
	if (constant == NULL || constant->kind != LS_QUERY_EXPR_STRING)
		return n;
	if (expr->kind == LS_QUERY_EXPR_MATCHES)
	{
		n->regex = ls_regex_compile(program->kept, constant->text, false, &error);
		if (n->regex == NULL)
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
					errmsg("not a regular expression: %s", error));
	}
	else if (expr->kind == LS_QUERY_EXPR_CONTAINS)
	{
		n->has_needle = ls_needle_make(program->kept, constant->text, &n->needle);
		if (!n->has_needle)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	}
	return n;
}

ls_value_program *
ls_value_prepare(const ls_query_expr *expr)
{
	ls_value_program *program = palloc0(sizeof(*program));
	ls_value_fields fields = {.n = 0};

	if (!ls_value_list_fields(expr, &fields))
		elog(ERROR, "an expression has too many fields");
	program->scratch = ls_context_arena(CurrentMemoryContext, SCRATCH_LIMIT);
	program->kept = ls_context_arena(CurrentMemoryContext, REGEX_LIMIT);
	program->root = prepare(program, expr, &fields);
	program->zone_slot = ls_value_needs_zone(expr) ? fields.n : -1;
	return program;
}

/* ---- values ---- */

static value
null_value(void)
{
	return (value){.kind = VALUE_NULL};
}

static value
boolean_value(bool boolean)
{
	return (value){.kind = VALUE_BOOLEAN, .boolean = boolean};
}

static void
check_length(size_t length)
{
	if (length > LS_VALUE_MAX_LENGTH)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_MEMORY_LIMIT)),
				errmsg("an expression makes a text longer than %d kB",
					   (int) (LS_VALUE_MAX_LENGTH / 1024)));
}

static value
string_value(ls_str text)
{
	if (text.len > 0 && text.data == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	check_length(text.len);
	return (value){.kind = VALUE_STRING, .text = text};
}

static value
number_value(double number)
{
	return isfinite(number) ? (value){.kind = VALUE_NUMBER, .number = ls_num_of_double(number)}
							: null_value();
}

static value
integer_value(int64 number)
{
	return (value){.kind = VALUE_NUMBER, .number = {true, number, (double) number}};
}

static value
buffer_value(const ls_buf *buf)
{
	if (buf->failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return string_value(ls_str_make(buf->data, buf->len));
}

ls_str
ls_value_plain(ls_str json, ls_arena *arena)
{
	ls_json j;
	ls_json_value v;

	if (json.len < 2 || json.data[0] != '"')
		return json;
	if (memchr(json.data, '\\', json.len) == NULL)
		return ls_str_make(json.data + 1, json.len - 2);
	ls_json_init(&j, json, arena, 4);
	if (!ls_json_read(&j, &v))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return v.text;
}

static value
json_value(ls_str json, ls_arena *arena)
{
	value v = {.kind = VALUE_JSON, .text = json};

	if (json.data == NULL || json.len == 0)
		return null_value();
	switch (json.data[0])
	{
		case '"':
			return string_value(ls_value_plain(json, arena));
		case '{':
		case '[':
			return v;
		case 't':
		case 'f':
			return boolean_value(json.data[0] == 't');
		case 'n':
			return null_value();
		default:
			/* Longer than numbers that are parsed: a sum of very different numbers. */
			if (ls_num_parse(json, &v.number))
				v.kind = VALUE_NUMBER;
			return v;
	}
}

/* The text of a value; of null it is empty. */
static ls_str
render(ls_arena *arena, const value *v)
{
	ls_buf buf;

	switch (v->kind)
	{
		case VALUE_NULL:
			return LS_STR("");
		case VALUE_BOOLEAN:
			return v->boolean ? LS_STR("true") : LS_STR("false");
		case VALUE_STRING:
		case VALUE_JSON:
			return v->text;
		case VALUE_NUMBER:
			break;
	}
	if (v->text.data != NULL)
		return v->text;
	ls_buf_init(&buf, arena);
	if (v->number.is_int)
		ls_buf_printf(&buf, "%lld", (long long) v->number.i);
	else
	{
		char digits[40];

		/* The shortest text that reads back as the same number; close to 0, fewer than 15 digits. */
		for (int precision = fabs(v->number.d) < DBL_MIN ? 1 : 15; precision <= 17; precision++)
		{
			snprintf(digits, sizeof(digits), "%.*g", precision, v->number.d);
			if (strtod(digits, NULL) == v->number.d)
				break;
		}
		ls_buf_str(&buf, ls_str_of_cstring(digits));
	}
	return buffer_value(&buf).text;
}

/* A number, or a text that looks like one. */
static bool
number_of(const value *v, ls_num *number)
{
	if (v->kind == VALUE_NUMBER)
		*number = v->number;
	return v->kind == VALUE_NUMBER || (v->kind == VALUE_STRING && ls_num_parse(v->text, number));
}

/* In arithmetic, an ISO date with a time means its seconds since 1970. */
static bool
operand(const value *v, ls_num *number)
{
	ls_time time;

	if (number_of(v, number))
		return true;
	if (v->kind != VALUE_STRING || v->text.len < 16 || v->text.data[4] != '-' ||
		v->text.data[10] != 'T' || !ls_time_parse_iso(v->text, &time))
		return false;
	*number = ls_num_of_double((double) time / (double) LS_USECS_PER_SEC);
	return true;
}

/* ---- operators ---- */

static value
arithmetic(ls_query_expr_kind kind, const value *left, const value *right)
{
	ls_num a;
	ls_num b;
	int64 result;

	if (!operand(left, &a) || !operand(right, &b))
		return null_value();
	if (a.is_int && b.is_int)
	{
		if ((kind == LS_QUERY_EXPR_ADD && !pg_add_s64_overflow(a.i, b.i, &result)) ||
			(kind == LS_QUERY_EXPR_SUBTRACT && !pg_sub_s64_overflow(a.i, b.i, &result)) ||
			(kind == LS_QUERY_EXPR_MULTIPLY && !pg_mul_s64_overflow(a.i, b.i, &result)))
			return integer_value(result);
		if (kind == LS_QUERY_EXPR_MODULO && b.i != 0)
			return integer_value(b.i == -1 ? 0 : a.i % b.i);
		if (kind == LS_QUERY_EXPR_DIVIDE && b.i == -1 && !pg_sub_s64_overflow(0, a.i, &result))
			return integer_value(result);
		if (kind == LS_QUERY_EXPR_DIVIDE && b.i != 0 && b.i != -1 && a.i % b.i == 0)
			return integer_value(a.i / b.i);
	}
	switch (kind)
	{
		case LS_QUERY_EXPR_ADD:
			return number_value(a.d + b.d);
		case LS_QUERY_EXPR_SUBTRACT:
			return number_value(a.d - b.d);
		case LS_QUERY_EXPR_MULTIPLY:
			return number_value(a.d * b.d);
		case LS_QUERY_EXPR_DIVIDE:
			return b.d == 0 ? null_value() : number_value(a.d / b.d);
		default:
			return b.d == 0 ? null_value() : number_value(fmod(a.d, b.d));
	}
}

static bool
holds(ls_query_op op, int order)
{
	switch (op)
	{
		case LS_QUERY_OP_EQ:
			return order == 0;
		case LS_QUERY_OP_NE:
			return order != 0;
		case LS_QUERY_OP_LT:
			return order < 0;
		case LS_QUERY_OP_LE:
			return order <= 0;
		case LS_QUERY_OP_GT:
			return order > 0;
		default:
			return order >= 0;
	}
}

/*
 * As in the head: a text in quotes (or made by a function) compares as text, a
 * number as a number.  A value that is not a number differs from every number, and is
 * neither less nor greater.  Two fields compare as numbers if one of them is a number.
 */
static bool
compare(ls_arena *arena, ls_query_op op, const ls_query_expr *left, const value *a,
		const ls_query_expr *right, const value *b)
{
	bool texts = left->type == LS_QUERY_TYPE_STRING || right->type == LS_QUERY_TYPE_STRING;
	ls_num x;
	ls_num y;

	/* A comparison with the literal null checks whether there is a value. */
	if (left->kind == LS_QUERY_EXPR_NULL || right->kind == LS_QUERY_EXPR_NULL)
	{
		bool both = a->kind == VALUE_NULL && b->kind == VALUE_NULL;

		return op == LS_QUERY_OP_EQ ? both : op == LS_QUERY_OP_NE && !both;
	}
	if (a->kind == VALUE_NULL || b->kind == VALUE_NULL)
		return false;
	if (!texts && (a->kind == VALUE_NUMBER || b->kind == VALUE_NUMBER))
	{
		if (!number_of(a, &x) || !number_of(b, &y))
			return op == LS_QUERY_OP_NE;
		return holds(op, ls_num_cmp(x, y));
	}
	return holds(op, ls_str_cmp(render(arena, a), render(arena, b)));
}

static value evaluate(ls_value_program *program, const node *n);

static bool
is_true(const value *v)
{
	return (v->kind == VALUE_BOOLEAN && v->boolean) ||
		   (v->kind == VALUE_STRING && ls_str_eq(v->text, LS_STR("true")));
}

static value
contains(ls_value_program *program, const node *n, const value *text, const value *part)
{
	ls_needle needle = n->needle;
	ls_buf fold;
	bool found;

	if (!n->has_needle &&
		!ls_needle_make(program->scratch, render(program->scratch, part), &needle))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	ls_buf_init(&fold, program->scratch);
	found = ls_needle_in(&needle, render(program->scratch, text), &fold);
	if (fold.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return boolean_value(found != n->expr->negated);
}

/* An invalid regular expression from a field matches nothing. */
static value
matches(ls_value_program *program, const node *n, const value *text, const value *pattern)
{
	ls_regex *regex = n->regex;
	const char *error = NULL;
	int matched;

	if (regex == NULL)
		regex =
			ls_regex_compile(program->scratch, render(program->scratch, pattern), false, &error);
	if (regex == NULL)
		return boolean_value(false);
	matched = ls_regex_match(regex, render(program->scratch, text), &error);
	if (matched < 0)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("the expression could not be evaluated: %s", error));
	return boolean_value((matched > 0) != n->expr->negated);
}

static value
in_list(ls_value_program *program, const node *n, const value *left)
{
	bool found = false;

	if (left->kind == VALUE_NULL)
		return boolean_value(false);
	for (uint32 i = 1; i < n->expr->n_args && !found; i++)
	{
		value item = evaluate(program, n->args[i]);

		found = item.kind != VALUE_NULL && compare(program->scratch, LS_QUERY_OP_EQ,
												   n->expr->args[0], left, n->expr->args[i], &item);
	}
	return boolean_value(found != n->expr->negated);
}

/* ---- functions ---- */

static ls_str
change_case(ls_arena *arena, ls_str text, bool upper)
{
	char *(*change)(const char *, size_t, Oid) = upper ? str_toupper : str_tolower;
	char *changed = change(text.data == NULL ? "" : text.data, text.len, DEFAULT_COLLATION_OID);
	ls_str copy = ls_arena_strdup(arena, ls_str_of_cstring(changed));

	pfree(changed);
	if (copy.data == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return copy;
}

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static ls_str
trim(ls_str text)
{
	while (text.len > 0 && is_space(text.data[0]))
		text = ls_str_make(text.data + 1, text.len - 1);
	while (text.len > 0 && is_space(text.data[text.len - 1]))
		text.len--;
	return text;
}

/* A number as a number of characters, limited to what a text can have. */
static double
characters(ls_num number)
{
	return Max(Min(trunc(number.d), 1e10), -1e10);
}

/* Characters count from 1; a negative start counts from the end. */
static value
substring(ls_str text, const value *args, uint32 n)
{
	double length = (double) ls_utf8_length(text.data, text.len);
	double end = length;
	ls_num start;
	ls_num count;
	size_t from;
	size_t to;

	if (!number_of(&args[1], &start) || (n > 2 && !number_of(&args[2], &count)))
		return null_value();
	start.d = characters(start);
	start.d = start.d < 0 ? length + start.d : start.d - 1;
	if (n > 2)
		end = Min(length, start.d + characters(count));
	start.d = Max(start.d, 0);
	if (start.d >= end)
		return string_value(LS_STR(""));
	from = ls_utf8_prefix_chars(text.data, text.len, (size_t) start.d);
	to = ls_utf8_prefix_chars(text.data, text.len, (size_t) end);
	return string_value(ls_str_make(text.data + from, to - from));
}

static value
replace(ls_arena *arena, ls_str text, ls_str from, ls_str to)
{
	ls_buf buf;
	const char *found;

	if (from.len == 0)
		return string_value(text);
	ls_buf_init(&buf, arena);
	while ((found = memmem(text.data, text.len, from.data, from.len)) != NULL && !buf.failed)
	{
		size_t before = (size_t) (found - text.data);

		ls_buf_append(&buf, text.data, before);
		ls_buf_str(&buf, to);
		check_length(buf.len);
		text = ls_str_make(found + from.len, text.len - before - from.len);
	}
	ls_buf_str(&buf, text);
	return buffer_value(&buf);
}

/* Rounds the printed number, halves away from zero; `digits` may be negative. */
static value
round_to(ls_arena *arena, const value *args, uint32 n)
{
	value v = {.kind = VALUE_NUMBER};
	ls_num digits = {true, 0, 0};
	Numeric number;
	char *text;

	if (!operand(&args[0], &v.number) || (n > 1 && !number_of(&args[1], &digits)))
		return null_value();
	if (v.number.is_int && digits.d >= 0)
		return integer_value(v.number.i);
	if (!isfinite(v.number.d))
		return null_value();
	number = ls_scan_numeric(render(arena, &v), v.number);
	text = DatumGetCString(DirectFunctionCall1(
		numeric_out, DirectFunctionCall2(numeric_round, NumericGetDatum(number),
										 Int32GetDatum((int32) Max(Min(digits.d, 400), -400)))));
	/* Longer than a number in a text may be. */
	if (!ls_num_parse(ls_str_of_cstring(text), &v.number))
		v.number = ls_num_of_double(strtod(text, NULL));
	return v.number.is_int ? integer_value(v.number.i) : number_value(v.number.d);
}

static value
whole(const value *arg, double (*function)(double))
{
	ls_num number;

	if (!operand(arg, &number))
		return null_value();
	if (number.is_int && (function != fabs || number.i > INT64_MIN))
		return integer_value(function == fabs && number.i < 0 ? -number.i : number.i);
	return number_value(function(number.d));
}

/* ---- functions of lists and times ---- */

/* A list, or any other value, as JSON. */
static ls_str
json_of(ls_arena *arena, const value *v)
{
	ls_buf buf;

	if (v->kind != VALUE_STRING)
		return render(arena, v);
	ls_buf_init(&buf, arena);
	ls_json_quote(&buf, v->text);
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return ls_str_make(buf.data, buf.len);
}

static value
list_value(const ls_buf *buf)
{
	if (buf->failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	check_length(buf->len);
	return (value){.kind = VALUE_JSON, .text = ls_str_make(buf->data, buf->len)};
}

static value
list_part(ls_arena *arena, const value *args, uint32 n)
{
	ls_num from;
	ls_num to = {true, 0, 0};
	int64 last;
	ls_buf buf;

	if (!number_of(&args[1], &from) || (n > 2 && !number_of(&args[2], &to)))
		return null_value();
	ls_buf_init(&buf, arena);
	last = (int64) characters(to);
	if (!ls_list_slice(&buf, arena, json_of(arena, &args[0]), (int64) characters(from),
					   n > 2 ? &last : NULL))
		return null_value();
	return json_value(list_value(&buf).text, arena);
}

static const ls_query_zone *
zone_of(ls_value_program *program)
{
	if (!program->has_zone && program->zone_slot >= 0)
	{
		ls_str name = program->fields[program->zone_slot];

		if (name.len > 0)
			program->zone = ls_zone_named(ls_cstring_of_str(name));
		program->has_zone = true;
	}
	return &program->zone;
}

/* A time, or a number of seconds since 1970. */
static bool
time_of(const value *v, ls_time *time)
{
	ls_num seconds;

	/* Without a detour through a double, which has some 15 digits. */
	if (v->kind == VALUE_STRING && !number_of(v, &seconds))
		return ls_time_parse_iso(v->text, time) && *time >= LS_FIRST_EVENT_TIME &&
			   *time < LS_LAST_EVENT_TIME;
	if (!number_of(v, &seconds) || !(fabs(seconds.d) < 1e12))
		return false;
	*time = seconds.is_int ? seconds.i * LS_USECS_PER_SEC
						   : (ls_time) llround(seconds.d * (double) LS_USECS_PER_SEC);
	return *time >= LS_FIRST_EVENT_TIME && *time < LS_LAST_EVENT_TIME;
}

static value
print_time(ls_value_program *program, const value *args)
{
	ls_time time;
	ls_buf buf;

	if (!time_of(&args[0], &time))
		return null_value();
	ls_buf_init(&buf, program->scratch);
	ls_time_print(&buf, args[1].text, time, zone_of(program));
	return buffer_value(&buf);
}

/* As seconds since 1970. */
static value
read_time(ls_value_program *program, const value *args)
{
	ls_time time;

	if (!ls_time_read(render(program->scratch, &args[0]), args[1].text, zone_of(program), &time))
		return null_value();
	if (time % LS_USECS_PER_SEC == 0)
		return integer_value(time / LS_USECS_PER_SEC);
	return number_value((double) time / (double) LS_USECS_PER_SEC);
}

/* The start of the bucket of a time or of a number. */
static value
bucket_of(ls_value_program *program, const value *args)
{
	ls_query_duration span;
	ls_num number;
	ls_num width;
	ls_time time;

	if (args[1].kind == VALUE_STRING)
	{
		char *iso = ls_arena_alloc(program->scratch, LS_TIME_ISO_LENGTH + 1);

		if (iso == NULL)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		if (!ls_query_bin_span(args[1].text, &span) || !time_of(&args[0], &time))
			return null_value();
		ls_time_format_iso(ls_query_time_bucket(time, span, zone_of(program)), iso);
		return string_value(ls_str_make(iso, LS_TIME_ISO_LENGTH));
	}
	if (!number_of(&args[0], &number) || !number_of(&args[1], &width))
		return null_value();
	if (number.is_int && width.is_int && width.i > 0)
	{
		int64 rest = number.i % width.i;
		int64 start;

		rest = rest < 0 ? rest + width.i : rest;
		if (!pg_sub_s64_overflow(number.i, rest, &start))
			return integer_value(start);
	}
	return number_value(floor(number.d / width.d) * width.d);
}

static value
like(ls_str text, ls_str pattern)
{
	int matched = ls_like(text, pattern);

	if (matched < 0)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("the expression could not be evaluated: like() takes more than %d steps"
					   " for one text",
					   LS_LIKE_MAX_STEPS));
	return boolean_value(matched > 0);
}

/* case(condition, value, ..., [otherwise]): evaluates no more than it needs. */
static value
first_case(ls_value_program *program, const node *n)
{
	uint32 i = 0;

	for (; i + 1 < n->expr->n_args; i += 2)
	{
		value condition = evaluate(program, n->args[i]);

		if (is_true(&condition))
			return evaluate(program, n->args[i + 1]);
	}
	return i < n->expr->n_args ? evaluate(program, n->args[i]) : null_value();
}

static value
call(ls_value_program *program, const node *n)
{
	ls_arena *arena = program->scratch;
	uint32 n_args = n->expr->n_args;
	value *args;
	ls_buf buf;
	ls_num number;

	/* These do not need all of their arguments. */
	if (n->expr->function == LS_QUERY_CASE)
		return first_case(program, n);
	if (n->expr->function == LS_QUERY_IF)
	{
		value condition = evaluate(program, n->args[0]);

		if (is_true(&condition))
			return evaluate(program, n->args[1]);
		return n_args > 2 ? evaluate(program, n->args[2]) : null_value();
	}
	if (n->expr->function == LS_QUERY_COALESCE)
	{
		for (uint32 i = 0; i < n_args; i++)
		{
			value v = evaluate(program, n->args[i]);

			if (v.kind != VALUE_NULL)
				return v;
		}
		return null_value();
	}
	args = ls_arena_alloc(arena, sizeof(value) * (n_args + 1));
	if (args == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	for (uint32 i = 0; i < n_args; i++)
		args[i] = evaluate(program, n->args[i]);
	if (n_args > 0 && args[0].kind == VALUE_NULL && n->expr->function != LS_QUERY_CONCAT)
		return null_value();
	switch (n->expr->function)
	{
		case LS_QUERY_LOWER:
		case LS_QUERY_UPPER:
			return string_value(
				change_case(arena, render(arena, &args[0]), n->expr->function == LS_QUERY_UPPER));
		case LS_QUERY_TRIM:
			return string_value(trim(render(arena, &args[0])));
		case LS_QUERY_LEN:
		{
			ls_str text = render(arena, &args[0]);

			return integer_value((int64) ls_utf8_length(text.data, text.len));
		}
		case LS_QUERY_SUBSTR:
			return substring(render(arena, &args[0]), args, n_args);
		case LS_QUERY_REPLACE:
			if (args[1].kind == VALUE_NULL)
				return string_value(render(arena, &args[0]));
			return replace(arena, render(arena, &args[0]), render(arena, &args[1]),
						   render(arena, &args[2]));
		case LS_QUERY_CONCAT:
			ls_buf_init(&buf, arena);
			for (uint32 i = 0; i < n_args; i++)
			{
				ls_buf_str(&buf, render(arena, &args[i]));
				check_length(buf.len);
			}
			return buffer_value(&buf);
		case LS_QUERY_ROUND:
			return round_to(arena, args, n_args);
		case LS_QUERY_FLOOR:
			return whole(&args[0], floor);
		case LS_QUERY_CEIL:
			return whole(&args[0], ceil);
		case LS_QUERY_ABS:
			return whole(&args[0], fabs);
		case LS_QUERY_TONUMBER:
			if (!operand(&args[0], &number))
				return null_value();
			return number.is_int ? integer_value(number.i) : number_value(number.d);
		case LS_QUERY_TOSTRING:
			return string_value(render(arena, &args[0]));
		case LS_QUERY_NOW:
		{
			char *iso = ls_arena_alloc(arena, LS_TIME_ISO_LENGTH + 1);
			ls_time now = ls_scan_current == NULL ? 0 : ls_scan_current->now;

			if (iso == NULL)
				ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
			if (now == 0)
				now = ls_time_of_timestamptz(GetCurrentStatementStartTimestamp());
			ls_time_format_iso(now, iso);
			return string_value(ls_str_make(iso, LS_TIME_ISO_LENGTH));
		}
		case LS_QUERY_LIKE:
			if (args[1].kind == VALUE_NULL)
				return null_value();
			return like(render(arena, &args[0]), render(arena, &args[1]));
		case LS_QUERY_SPLIT:
			ls_buf_init(&buf, arena);
			ls_list_split(&buf, render(arena, &args[0]), render(arena, &args[1]));
			return list_value(&buf);
		case LS_QUERY_MVCOUNT:
			return integer_value(ls_list_count(render(arena, &args[0])));
		case LS_QUERY_MVINDEX:
			return list_part(arena, args, n_args);
		case LS_QUERY_MVJOIN:
			ls_buf_init(&buf, arena);
			ls_list_join(&buf, arena, json_of(arena, &args[0]), render(arena, &args[1]));
			return buffer_value(&buf);
		case LS_QUERY_STRFTIME:
			return print_time(program, args);
		case LS_QUERY_STRPTIME:
			return read_time(program, args);
		case LS_QUERY_BIN:
			return bucket_of(program, args);
		default: /* evaluated above, or not in a finished tree */
			return null_value();
	}
}

/* ---- evaluation ---- */

static value
evaluate(ls_value_program *program, const node *n)
{
	const ls_query_expr *expr = n->expr;
	value left;
	value right;

	switch (expr->kind)
	{
		case LS_QUERY_EXPR_FIELD:
			return json_value(program->fields[n->slot], program->scratch);
		case LS_QUERY_EXPR_NUMBER:
		{
			value v = number_value(expr->number);

			if (ls_json_canonical_int(expr->text, &v.number.i))
				v = integer_value(v.number.i);
			return v;
		}
		case LS_QUERY_EXPR_STRING:
			return string_value(expr->text);
		case LS_QUERY_EXPR_BOOLEAN:
			return boolean_value(expr->boolean);
		case LS_QUERY_EXPR_NULL:
			return null_value();
		case LS_QUERY_EXPR_AND:
		case LS_QUERY_EXPR_OR:
			for (uint32 i = 0; i < expr->n_args; i++)
			{
				left = evaluate(program, n->args[i]);
				if (is_true(&left) == (expr->kind == LS_QUERY_EXPR_OR))
					return boolean_value(expr->kind == LS_QUERY_EXPR_OR);
			}
			return boolean_value(expr->kind == LS_QUERY_EXPR_AND);
		case LS_QUERY_EXPR_CALL:
			return call(program, n);
		default:
			break;
	}
	left = evaluate(program, n->args[0]);
	switch (expr->kind)
	{
		case LS_QUERY_EXPR_NOT:
			return boolean_value(!is_true(&left));
		case LS_QUERY_EXPR_NEGATE:
			right = integer_value(0);
			return arithmetic(LS_QUERY_EXPR_SUBTRACT, &right, &left);
		case LS_QUERY_EXPR_IN:
			return in_list(program, n, &left);
		default:
			break;
	}
	right = evaluate(program, n->args[1]);
	if (expr->kind == LS_QUERY_EXPR_COMPARE)
		return boolean_value(
			compare(program->scratch, expr->op, expr->args[0], &left, expr->args[1], &right));
	if (expr->kind == LS_QUERY_EXPR_CONTAINS || expr->kind == LS_QUERY_EXPR_MATCHES)
	{
		if (left.kind == VALUE_NULL || right.kind == VALUE_NULL)
			return boolean_value(false);
		return expr->kind == LS_QUERY_EXPR_CONTAINS ? contains(program, n, &left, &right)
													: matches(program, n, &left, &right);
	}
	return arithmetic(expr->kind, &left, &right);
}

/* Free scratch memory after each row, because a statement has many programs. */
struct varlena *
ls_value_json(ls_value_program *program, const ls_str *fields)
{
	struct varlena *json = NULL;
	value v;
	ls_buf buf;

	program->fields = fields;
	v = evaluate(program, program->root);
	if (v.kind == VALUE_STRING)
	{
		ls_buf_init(&buf, program->scratch);
		ls_json_quote(&buf, v.text);
		if (buf.failed)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		json = ls_text_of_str(ls_str_make(buf.data, buf.len));
	}
	else if (v.kind != VALUE_NULL)
		json = ls_text_of_str(render(program->scratch, &v));
	ls_arena_reset(program->scratch);
	return json;
}

bool
ls_value_is_true(ls_value_program *program, const ls_str *fields)
{
	value v;
	bool result;

	program->fields = fields;
	v = evaluate(program, program->root);
	result = is_true(&v);
	ls_arena_reset(program->scratch);
	return result;
}
