/*-------------------------------------------------------------------------
 *
 * engine_program.c
 *	  Expressions as bytes of a program of src/engine (pure).
 *
 * What is known of types before any row is read (whether a comparison is one of texts) is
 * written with the operators, so that the engine needs no tree.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/engine_program.h"

#include <math.h>

typedef struct writing
{
	ls_buf *to;
	ls_field_writer field;
	void *context;
} writing;

static bool write_expression(writing *w, const ls_query_expr *expr);

static bool
write_arguments(writing *w, const ls_query_expr *expr)
{
	for (uint32_t i = 0; i < expr->n_args; i++)
	{
		if (!write_expression(w, expr->args[i]))
			return false;
	}
	return true;
}

static void
write_op(writing *w, ls_engine_op op)
{
	ls_buf_char(w->to, (char) op);
}

static void
write_number(writing *w, const ls_query_expr *expr)
{
	int64_t integer;
	ls_num number = ls_num_of_double(expr->number);
	uint64_t bits;

	if (ls_json_canonical_int(expr->text, &integer))
		number = (ls_num){true, integer, (double) integer};
	if (!number.is_int && !isfinite(number.d))
		write_op(w, LS_OP_NULL);
	else if (number.is_int)
	{
		write_op(w, LS_OP_INTEGER);
		ls_buf_zigzag(w->to, number.i);
	}
	else
	{
		memcpy(&bits, &number.d, sizeof(bits));
		write_op(w, LS_OP_DOUBLE);
		ls_buf_u64(w->to, bits);
	}
}

/* A comparison with the literal null checks whether there is a value. */
static bool
write_null_check(writing *w, const ls_query_expr *expr)
{
	const ls_query_expr *other =
		expr->args[0]->kind == LS_QUERY_EXPR_NULL ? expr->args[1] : expr->args[0];

	if (expr->op != LS_QUERY_OP_EQ && expr->op != LS_QUERY_OP_NE)
	{
		write_op(w, LS_OP_FALSE);
		return true;
	}
	write_op(w, LS_OP_IS_NULL);
	ls_buf_char(w->to, expr->op == LS_QUERY_OP_NE);
	return write_expression(w, other);
}

static bool
as_texts(const ls_query_expr *a, const ls_query_expr *b)
{
	return a->type == LS_QUERY_TYPE_STRING || b->type == LS_QUERY_TYPE_STRING;
}

static bool
write_comparison(writing *w, const ls_query_expr *expr)
{
	static const ls_engine_compare compares[] = {
		[LS_QUERY_OP_EQ] = LS_COMPARE_EQ, [LS_QUERY_OP_NE] = LS_COMPARE_NE,
		[LS_QUERY_OP_LT] = LS_COMPARE_LT, [LS_QUERY_OP_LE] = LS_COMPARE_LE,
		[LS_QUERY_OP_GT] = LS_COMPARE_GT, [LS_QUERY_OP_GE] = LS_COMPARE_GE,
	};
	const ls_query_expr *left = expr->args[0];
	const ls_query_expr *right = expr->args[1];

	if (left->kind == LS_QUERY_EXPR_NULL || right->kind == LS_QUERY_EXPR_NULL)
		return write_null_check(w, expr);
	write_op(w, LS_OP_COMPARE);
	ls_buf_char(
		w->to, (char) (compares[expr->op] | (as_texts(left, right) ? LS_COMPARE_TEXTS : 0) |
					   (ls_query_is_time(left) || ls_query_is_time(right) ? LS_COMPARE_TIMES : 0)));
	return write_arguments(w, expr);
}

static bool
write_call(writing *w, const ls_query_expr *expr)
{
	static const uint8_t calls[] = {
		[LS_QUERY_LOWER] = LS_CALL_LOWER,
		[LS_QUERY_UPPER] = LS_CALL_UPPER,
		[LS_QUERY_TRIM] = LS_CALL_TRIM,
		[LS_QUERY_LEN] = LS_CALL_LEN,
		[LS_QUERY_SUBSTR] = LS_CALL_SUBSTR,
		[LS_QUERY_REPLACE] = LS_CALL_REPLACE,
		[LS_QUERY_CONCAT] = LS_CALL_CONCAT,
		[LS_QUERY_COALESCE] = LS_CALL_COALESCE,
		[LS_QUERY_IF] = LS_CALL_IF,
		[LS_QUERY_ROUND] = LS_CALL_ROUND,
		[LS_QUERY_FLOOR] = LS_CALL_FLOOR,
		[LS_QUERY_CEIL] = LS_CALL_CEIL,
		[LS_QUERY_ABS] = LS_CALL_ABS,
		[LS_QUERY_TONUMBER] = LS_CALL_TONUMBER,
		[LS_QUERY_TOSTRING] = LS_CALL_TOSTRING,
		[LS_QUERY_NOW] = LS_CALL_NOW,
		[LS_QUERY_CASE] = LS_CALL_CASE,
		[LS_QUERY_LIKE] = LS_CALL_LIKE,
		[LS_QUERY_SPLIT] = LS_CALL_SPLIT,
		[LS_QUERY_MVCOUNT] = LS_CALL_MVCOUNT,
		[LS_QUERY_MVINDEX] = LS_CALL_MVINDEX,
		[LS_QUERY_MVJOIN] = LS_CALL_MVJOIN,
		[LS_QUERY_STRFTIME] = LS_CALL_STRFTIME,
		[LS_QUERY_STRPTIME] = LS_CALL_STRPTIME,
		[LS_QUERY_BIN] = LS_CALL_BIN,
	};

	if ((size_t) expr->function >= sizeof(calls))
		return false;
	write_op(w, LS_OP_CALL);
	ls_buf_char(w->to, (char) calls[expr->function]);
	ls_buf_varint(w->to, expr->n_args);
	return write_arguments(w, expr);
}

static bool
write_expression(writing *w, const ls_query_expr *expr)
{
	switch (expr->kind)
	{
		case LS_QUERY_EXPR_FIELD:
			return w->field(w->context, expr->field, w->to);
		case LS_QUERY_EXPR_NUMBER:
			write_number(w, expr);
			return true;
		case LS_QUERY_EXPR_STRING:
			write_op(w, LS_OP_TEXT);
			ls_buf_lstr(w->to, expr->text);
			return true;
		case LS_QUERY_EXPR_BOOLEAN:
			write_op(w, expr->boolean ? LS_OP_TRUE : LS_OP_FALSE);
			return true;
		case LS_QUERY_EXPR_NULL:
			write_op(w, LS_OP_NULL);
			return true;
		case LS_QUERY_EXPR_COMPARE:
			return write_comparison(w, expr);
		case LS_QUERY_EXPR_IN:
			write_op(w, LS_OP_IN);
			ls_buf_char(w->to, expr->negated);
			ls_buf_varint(w->to, expr->n_args - 1);
			for (uint32_t i = 1; i < expr->n_args; i++)
				ls_buf_char(w->to, as_texts(expr->args[0], expr->args[i]));
			break;
		case LS_QUERY_EXPR_CONTAINS:
		case LS_QUERY_EXPR_MATCHES:
			write_op(w, expr->kind == LS_QUERY_EXPR_CONTAINS ? LS_OP_CONTAINS : LS_OP_MATCHES);
			ls_buf_char(w->to, expr->negated);
			break;
		case LS_QUERY_EXPR_AND:
		case LS_QUERY_EXPR_OR:
			write_op(w, expr->kind == LS_QUERY_EXPR_AND ? LS_OP_AND : LS_OP_OR);
			ls_buf_varint(w->to, expr->n_args);
			break;
		case LS_QUERY_EXPR_NOT:
			write_op(w, LS_OP_NOT);
			break;
		case LS_QUERY_EXPR_NEGATE:
			write_op(w, LS_OP_NEGATE);
			break;
		case LS_QUERY_EXPR_ADD:
			write_op(w, LS_OP_ADD);
			break;
		case LS_QUERY_EXPR_SUBTRACT:
			write_op(w, LS_OP_SUBTRACT);
			break;
		case LS_QUERY_EXPR_MULTIPLY:
			write_op(w, LS_OP_MULTIPLY);
			break;
		case LS_QUERY_EXPR_DIVIDE:
			write_op(w, LS_OP_DIVIDE);
			break;
		case LS_QUERY_EXPR_MODULO:
			write_op(w, LS_OP_MODULO);
			break;
		case LS_QUERY_EXPR_CALL:
			return write_call(w, expr);
	}
	return write_arguments(w, expr);
}

bool
ls_engine_write(ls_buf *to, const ls_query_expr *expr, ls_field_writer writer, void *context)
{
	writing w = {to, writer, context};

	return write_expression(&w, expr);
}
