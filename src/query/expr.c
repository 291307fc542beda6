/*-------------------------------------------------------------------------
 *
 * expr.c
 *	  Builds the expressions of the stages (pure).
 *
 * Types are checked as far as the text shows them: adding to a text literal, or
 * `where 5`, is an error here and not a surprise at run time.  Fields can have
 * any type, so nothing that depends on data is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"
#include "src/engine/text.h"

#include <math.h>
#include <stdlib.h>

#define ANY_NUMBER 255

/* The type that an argument must be able to have. */
typedef enum arg_class
{
	ARG_ANY,
	ARG_NUMBER, /* all arguments, except the first where first_any is set */
} arg_class;

/* In the order of ls_query_function. */
static const struct
{
	ls_str name;
	uint8_t min_args;
	uint8_t max_args;
	ls_query_type result;
	arg_class args;
	bool first_any;
} functions[] = {
	{LS_STR("lower"), 1, 1, LS_QUERY_TYPE_STRING, ARG_ANY, false},
	{LS_STR("upper"), 1, 1, LS_QUERY_TYPE_STRING, ARG_ANY, false},
	{LS_STR("trim"), 1, 1, LS_QUERY_TYPE_STRING, ARG_ANY, false},
	{LS_STR("len"), 1, 1, LS_QUERY_TYPE_NUMBER, ARG_ANY, false},
	{LS_STR("substr"), 2, 3, LS_QUERY_TYPE_STRING, ARG_NUMBER, true},
	{LS_STR("replace"), 3, 3, LS_QUERY_TYPE_STRING, ARG_ANY, false},
	{LS_STR("concat"), 1, ANY_NUMBER, LS_QUERY_TYPE_STRING, ARG_ANY, false},
	{LS_STR("coalesce"), 1, ANY_NUMBER, LS_QUERY_TYPE_ANY, ARG_ANY, false},
	{LS_STR("if"), 2, 3, LS_QUERY_TYPE_ANY, ARG_ANY, false},
	{LS_STR("round"), 1, 2, LS_QUERY_TYPE_NUMBER, ARG_NUMBER, false},
	{LS_STR("floor"), 1, 1, LS_QUERY_TYPE_NUMBER, ARG_NUMBER, false},
	{LS_STR("ceil"), 1, 1, LS_QUERY_TYPE_NUMBER, ARG_NUMBER, false},
	{LS_STR("abs"), 1, 1, LS_QUERY_TYPE_NUMBER, ARG_NUMBER, false},
	{LS_STR("tonumber"), 1, 1, LS_QUERY_TYPE_NUMBER, ARG_ANY, false},
	{LS_STR("tostring"), 1, 1, LS_QUERY_TYPE_STRING, ARG_ANY, false},
	{LS_STR("now"), 0, 0, LS_QUERY_TYPE_ANY, ARG_ANY, false},
	{LS_STR("case"), 2, ANY_NUMBER, LS_QUERY_TYPE_ANY, ARG_ANY, false},
	{LS_STR("like"), 2, 2, LS_QUERY_TYPE_BOOLEAN, ARG_ANY, false},
	{LS_STR("split"), 2, 2, LS_QUERY_TYPE_ANY, ARG_ANY, false},
	{LS_STR("mvcount"), 1, 1, LS_QUERY_TYPE_NUMBER, ARG_ANY, false},
	{LS_STR("mvindex"), 2, 3, LS_QUERY_TYPE_ANY, ARG_NUMBER, true},
	{LS_STR("mvjoin"), 2, 2, LS_QUERY_TYPE_STRING, ARG_ANY, false},
	{LS_STR("strftime"), 2, 2, LS_QUERY_TYPE_STRING, ARG_ANY, false},
	{LS_STR("strptime"), 2, 2, LS_QUERY_TYPE_NUMBER, ARG_ANY, false},
	{LS_STR("bin"), 2, 2, LS_QUERY_TYPE_ANY, ARG_ANY, false},
	{LS_STR("match"), 2, 2, LS_QUERY_TYPE_BOOLEAN, ARG_ANY, false},
	{LS_STR("isnull"), 1, 1, LS_QUERY_TYPE_BOOLEAN, ARG_ANY, false},
	{LS_STR("isnotnull"), 1, 1, LS_QUERY_TYPE_BOOLEAN, ARG_ANY, false},
	{LS_STR("true"), 0, 0, LS_QUERY_TYPE_BOOLEAN, ARG_ANY, false},
	{LS_STR("false"), 0, 0, LS_QUERY_TYPE_BOOLEAN, ARG_ANY, false},
	{LS_STR("null"), 0, 0, LS_QUERY_TYPE_NULL, ARG_ANY, false},
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

const char *
ls_query_function_name(ls_query_function function)
{
	return functions[function].name.data;
}

static ls_query_expr *
make_expr(ls_query_state *state, ls_query_expr_kind kind, ls_query_type type, ls_query_span span)
{
	ls_query_expr *expr = ls_new(state->arena, ls_query_expr);

	if (expr != NULL)
	{
		expr->kind = kind;
		expr->type = type;
		expr->span = span;
		expr->depth = 1;
	}
	return expr;
}

static bool
add_arg(ls_query_state *state, ls_query_expr *expr, ls_query_expr *arg)
{
	if (arg->depth >= LS_QUERY_MAX_DEPTH)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, arg->span, NULL,
								"nested deeper than %d levels", LS_QUERY_MAX_DEPTH);
	if (expr->depth < arg->depth + 1)
		expr->depth = (uint16_t) (arg->depth + 1);
	return ls_query_append(state->arena, (void ***) &expr->args, &expr->n_args, arg);
}

static const char *
type_name(ls_query_type type)
{
	static const char *const names[] = {"value", "number", "text", "condition", "null"};

	return names[type];
}

static bool
needs_number(ls_query_state *state, const ls_query_expr *arg, const char *what, const char *hint)
{
	if (arg->type != LS_QUERY_TYPE_STRING && arg->type != LS_QUERY_TYPE_BOOLEAN)
		return true;
	return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, arg->span, hint,
							"%s needs a number, this is a %s", what, type_name(arg->type));
}

/* A field may be true or false; numbers and texts are not conditions. */
bool
ls_query_condition(ls_query_state *state, const ls_query_expr *expr)
{
	if (expr->type != LS_QUERY_TYPE_STRING && expr->type != LS_QUERY_TYPE_NUMBER)
		return true;
	return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, expr->span,
							"compare it with something: ... = ...",
							"a condition is needed, this is a %s", type_name(expr->type));
}

ls_query_expr *
ls_query_literal(ls_query_state *state, ls_query_token token)
{
	bool string = token.kind == TOK_STRING;
	ls_query_expr *expr =
		make_expr(state, string ? LS_QUERY_EXPR_STRING : LS_QUERY_EXPR_NUMBER,
				  string ? LS_QUERY_TYPE_STRING : LS_QUERY_TYPE_NUMBER, token.span);

	if (expr == NULL)
		return NULL;
	expr->text = string ? ls_query_unquote(state, token.span, false)
						: ls_arena_strdup(state->arena, ls_query_slice(state, token.span));
	if (expr->text.data == NULL)
		return NULL;
	if (!string)
	{
		expr->number = strtod(expr->text.data, NULL);
		if (!isfinite(expr->number))
		{
			ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, token.span, NULL,
							 "the number is too large");
			return NULL;
		}
	}
	return expr;
}

/* The value of an option: a number, or a text. */
ls_query_expr *
ls_query_option_literal(ls_query_state *state, ls_query_token token)
{
	ls_str text = ls_query_slice(state, token.span);
	ls_query_expr *expr;

	if (token.kind == TOK_NUMBER && text.data[0] == '-')
	{
		/* There may be spaces after the sign. */
		do
			token.span.start++;
		while (state->text.data[token.span.start] < '0' ||
			   state->text.data[token.span.start] > '9');
		expr = ls_query_literal(state, token);
		if (expr != NULL)
		{
			ls_buf buf;

			ls_buf_init(&buf, state->arena);
			ls_buf_char(&buf, '-');
			ls_buf_str(&buf, expr->text);
			expr->text = ls_str_make(buf.data, buf.len);
			expr->number = -expr->number;
		}
		return expr == NULL || expr->text.data == NULL ? NULL : expr;
	}
	if (token.kind == TOK_NUMBER || token.kind == TOK_STRING)
		return ls_query_literal(state, token);
	expr = make_expr(state, LS_QUERY_EXPR_STRING, LS_QUERY_TYPE_STRING, token.span);
	if (expr != NULL)
		expr->text = ls_arena_strdup(state->arena, ls_query_slice(state, token.span));
	return expr != NULL && expr->text.data != NULL ? expr : NULL;
}

/* A field, or one of the words true, false and null. */
ls_query_expr *
ls_query_field_expr(ls_query_state *state, ls_query_field *field)
{
	bool quoted = state->text.data[field->span.start] == '`';
	bool word = !quoted && field->n_parts == 1 && !field->attributes;
	ls_query_expr *expr = make_expr(state, LS_QUERY_EXPR_FIELD, LS_QUERY_TYPE_ANY, field->span);

	if (expr == NULL)
		return NULL;
	if (word && ls_str_eq(field->name, LS_STR("null")))
	{
		expr->kind = LS_QUERY_EXPR_NULL;
		expr->type = LS_QUERY_TYPE_NULL;
	}
	else if (word &&
			 (ls_str_eq(field->name, LS_STR("true")) || ls_str_eq(field->name, LS_STR("false"))))
	{
		expr->kind = LS_QUERY_EXPR_BOOLEAN;
		expr->type = LS_QUERY_TYPE_BOOLEAN;
		expr->boolean = field->name.data[0] == 't';
	}
	else
		expr->field = field;
	return expr;
}

ls_query_expr *
ls_query_unary(ls_query_state *state, ls_query_expr_kind kind, ls_query_expr *arg,
			   ls_query_span span)
{
	bool negate = kind == LS_QUERY_EXPR_NEGATE;
	ls_query_expr *expr;

	if (negate ? !needs_number(state, arg, "-", NULL) : !ls_query_condition(state, arg))
		return NULL;
	expr = make_expr(state, kind, negate ? LS_QUERY_TYPE_NUMBER : LS_QUERY_TYPE_BOOLEAN, span);
	return expr != NULL && add_arg(state, expr, arg) ? expr : NULL;
}

ls_query_expr *
ls_query_binary(ls_query_state *state, ls_query_expr_kind kind, ls_query_expr *left,
				ls_query_expr *right)
{
	static const char *const signs[] = {"+", "-", "*", "/", "%"};
	ls_query_span span = {left->span.start, right->span.end};
	bool logical = kind == LS_QUERY_EXPR_AND || kind == LS_QUERY_EXPR_OR;
	ls_query_expr *expr;

	if (logical)
	{
		if (!ls_query_condition(state, left) || !ls_query_condition(state, right))
			return NULL;
		if (left->kind == kind && (left->flags & LS_QUERY_FLAG_PAREN) == 0)
		{
			left->span = span;
			return add_arg(state, left, right) ? left : NULL;
		}
	}
	else
	{
		const char *sign = signs[kind - LS_QUERY_EXPR_ADD];
		const char *hint = kind == LS_QUERY_EXPR_ADD ? "to join texts write concat(a, b)" : NULL;

		if (!needs_number(state, left, sign, hint) || !needs_number(state, right, sign, hint))
			return NULL;
	}
	expr = make_expr(state, kind, logical ? LS_QUERY_TYPE_BOOLEAN : LS_QUERY_TYPE_NUMBER, span);
	return expr != NULL && add_arg(state, expr, left) && add_arg(state, expr, right) ? expr : NULL;
}

ls_query_expr *
ls_query_compare(ls_query_state *state, ls_query_op op, ls_query_expr *left, ls_query_expr *right)
{
	ls_query_span span = {left->span.start, right->span.end};
	ls_query_expr *expr;
	ls_query_expr *field;
	ls_query_exprs levels;

	if (!ls_query_builtin_condition(state, op, left, right, &field, &levels))
		return NULL;
	if (levels.n > 0)
		return ls_query_test(state, LS_QUERY_EXPR_IN, op == LS_QUERY_OP_NE, field, levels, span);
	expr = make_expr(state, LS_QUERY_EXPR_COMPARE, LS_QUERY_TYPE_BOOLEAN, span);
	if (expr == NULL)
		return NULL;
	expr->op = op;
	return add_arg(state, expr, left) && add_arg(state, expr, right) ? expr : NULL;
}

/* left [NOT] IN (right ...). */
ls_query_expr *
ls_query_test(ls_query_state *state, ls_query_expr_kind kind, bool negated, ls_query_expr *left,
			  ls_query_exprs right, ls_query_span span)
{
	ls_query_expr *expr = make_expr(state, kind, LS_QUERY_TYPE_BOOLEAN, span);

	if (expr == NULL || !add_arg(state, expr, left) ||
		(kind == LS_QUERY_EXPR_IN && !ls_query_level_list(state, left, &right)))
		return NULL;
	expr->negated = negated;
	for (uint32_t i = 0; i < right.n; i++)
		if (!add_arg(state, expr, right.items[i]))
			return NULL;
	return expr;
}

/* left [NOT] CONTAINS right, left [NOT] MATCHES right. */
ls_query_expr *
ls_query_text_test(ls_query_state *state, ls_query_expr_kind kind, bool negated,
				   ls_query_expr *left, ls_query_expr *right, ls_query_span span)
{
	ls_query_exprs list = {&right, 1};

	/* Inside a regular expression only \" is ours. */
	if (kind == LS_QUERY_EXPR_MATCHES && right->kind == LS_QUERY_EXPR_STRING &&
		(right->flags & LS_QUERY_FLAG_PAREN) == 0)
	{
		right->text = ls_query_unquote(state, right->span, true);
		if (right->text.data == NULL)
			return NULL;
	}
	if (right->type == LS_QUERY_TYPE_NUMBER || right->type == LS_QUERY_TYPE_BOOLEAN)
	{
		ls_query_fail_at(
			state, LS_QUERY_ERROR_SEMANTIC, right->span, NULL, "%s needs a text, this is a %s",
			kind == LS_QUERY_EXPR_MATCHES ? "MATCHES" : "CONTAINS", type_name(right->type));
		return NULL;
	}
	return ls_query_test(state, kind, negated, left, list, span);
}

const ls_str *
ls_query_function_names(ls_query_state *state, uint32_t *n)
{
	ls_str *names = ls_new_array(state->arena, ls_str, N_FUNCTIONS);

	*n = 0;
	if (names == NULL)
		return NULL;
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		names[i] = functions[i].name;
	*n = N_FUNCTIONS;
	return names;
}

static void
unknown_function(ls_query_state *state, ls_query_token name)
{
	ls_str word = ls_query_slice(state, name.span);
	uint32_t n;
	const ls_str *names = ls_query_function_names(state, &n);

	if (names == NULL)
		return;
	ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, name.span, NULL, "unknown function %.*s",
					 (int) ls_query_excerpt(state, name.span).len, word.data);
	state->error->expected = names;
	state->error->n_expected = n;
	if (ls_query_other_function(word) != NULL)
		ls_query_set_hint(state, "%s", ls_query_other_function(word));
	else if (ls_query_is_aggregate(word))
		ls_query_set_hint(state, "aggregates belong into stats and timechart");
	else
		ls_query_hint_closest(state, word, names, n);
}

/* ---- calls that are another way to write something ---- */

/* match(), isnull(), true() and so on; NULL on error. */
static ls_query_expr *
rewritten(ls_query_state *state, ls_query_function function, ls_query_exprs args,
		  ls_query_span span)
{
	ls_query_expr *null;
	ls_query_expr *expr;

	switch (function)
	{
		case LS_QUERY_MATCH:
			return ls_query_text_test(state, LS_QUERY_EXPR_MATCHES, false, args.items[0],
									  args.items[1], span);
		case LS_QUERY_ISNULL:
		case LS_QUERY_ISNOTNULL:
			null = make_expr(state, LS_QUERY_EXPR_NULL, LS_QUERY_TYPE_NULL, span);
			if (null == NULL)
				return NULL;
			expr = ls_query_compare(state,
									function == LS_QUERY_ISNULL ? LS_QUERY_OP_EQ : LS_QUERY_OP_NE,
									args.items[0], null);
			if (expr != NULL)
				expr->span = span;
			return expr;
		case LS_QUERY_NULL:
			return make_expr(state, LS_QUERY_EXPR_NULL, LS_QUERY_TYPE_NULL, span);
		default:
			expr = make_expr(state, LS_QUERY_EXPR_BOOLEAN, LS_QUERY_TYPE_BOOLEAN, span);
			if (expr != NULL)
				expr->boolean = function == LS_QUERY_TRUE;
			return expr;
	}
}

/* ---- checks of one function ---- */

/* case(condition, value, ..., [otherwise]) */
static bool
check_case(ls_query_state *state, ls_query_exprs args)
{
	for (uint32_t i = 0; i + 1 < args.n; i += 2)
	{
		if (!ls_query_condition(state, args.items[i]))
			return false;
	}
	return true;
}

/* The type of all values, if they have one type. */
static ls_query_type
case_type(ls_query_exprs args)
{
	ls_query_type type = args.items[1]->type;

	for (uint32_t i = 1; i < args.n; i++)
	{
		if ((i % 2 == 1 || i + 1 == args.n) && args.items[i]->type != type)
			return LS_QUERY_TYPE_ANY;
	}
	return type;
}

static bool
check_format(ls_query_state *state, ls_query_function function, const ls_query_expr *format)
{
	bool reading = function == LS_QUERY_STRPTIME;
	const char *error;

	if (format->kind != LS_QUERY_EXPR_STRING)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, format->span, NULL,
								"%s needs a format in quotes: \"%%Y-%%m-%%d %%H:%%M:%%S\"",
								functions[function].name.data);
	error = ls_time_format_error(format->text, reading);
	return error == NULL ||
		   ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, format->span, NULL, "%s", error);
}

/* bin(a, 100), bin(timestamp, "5m") */
static bool
check_bin(ls_query_state *state, const ls_query_expr *span)
{
	ls_query_duration duration;

	if (span->kind == LS_QUERY_EXPR_NUMBER && span->number > 0)
		return true;
	if (span->kind != LS_QUERY_EXPR_STRING || !ls_query_bin_span(span->text, &duration))
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span->span, NULL,
								"expected a number above 0, or a duration: up to 24h in seconds,"
								" minutes and hours, up to 200y in days and longer units");
	return true;
}

/* bin(field, span), which the stage of that name evaluates. */
ls_query_expr *
ls_query_make_bin(ls_query_state *state, ls_query_field *field, ls_query_expr *span)
{
	ls_query_expr *expr = make_expr(state, LS_QUERY_EXPR_CALL, LS_QUERY_TYPE_ANY, field->span);
	ls_query_expr *of = make_expr(state, LS_QUERY_EXPR_FIELD, LS_QUERY_TYPE_ANY, field->span);

	if (expr == NULL || of == NULL || !check_bin(state, span))
		return NULL;
	of->field = field;
	expr->function = LS_QUERY_BIN;
	return add_arg(state, expr, of) && add_arg(state, expr, span) ? expr : NULL;
}

static bool
check_call(ls_query_state *state, ls_query_function function, ls_query_exprs args)
{
	switch (function)
	{
		case LS_QUERY_IF:
			return ls_query_condition(state, args.items[0]);
		case LS_QUERY_CASE:
			return check_case(state, args);
		case LS_QUERY_STRFTIME:
		case LS_QUERY_STRPTIME:
			return check_format(state, function, args.items[1]);
		case LS_QUERY_BIN:
			return check_bin(state, args.items[1]);
		default:
			return true;
	}
}

ls_query_expr *
ls_query_call(ls_query_state *state, ls_query_token name, ls_query_exprs args, ls_query_span span)
{
	ls_str word = ls_query_slice(state, name.span);
	ls_query_expr *expr;
	size_t f = 0;

	while (f < N_FUNCTIONS && !ls_str_eq(word, functions[f].name))
		f++;
	if (f == N_FUNCTIONS)
	{
		unknown_function(state, name);
		return NULL;
	}
	if (args.n < functions[f].min_args || args.n > functions[f].max_args)
	{
		unsigned least = functions[f].min_args;
		unsigned most = functions[f].max_args;

		if (args.n < least && most != least)
			ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL,
							 "%s needs at least %u argument%s", functions[f].name.data, least,
							 least == 1 ? "" : "s");
		else if (most != least)
			ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL,
							 "%s takes at most %u arguments", functions[f].name.data, most);
		else
			ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL, "%s takes %u argument%s",
							 functions[f].name.data, most, most == 1 ? "" : "s");
		return NULL;
	}
	if (f >= LS_QUERY_MATCH)
		return rewritten(state, (ls_query_function) f, args, span);
	if (!check_call(state, (ls_query_function) f, args))
		return NULL;

	expr = make_expr(state, LS_QUERY_EXPR_CALL, functions[f].result, span);
	if (expr == NULL)
		return NULL;
	expr->function = (ls_query_function) f;
	for (uint32_t i = 0; i < args.n; i++)
	{
		if (functions[f].args == ARG_NUMBER && !(i == 0 && functions[f].first_any) &&
			!needs_number(state, args.items[i], functions[f].name.data, NULL))
			return NULL;
		if (!add_arg(state, expr, args.items[i]))
			return NULL;
	}
	/* If both branches have one type, the result has it. */
	if (f == LS_QUERY_IF && args.n == 3 && args.items[1]->type == args.items[2]->type)
		expr->type = args.items[1]->type;
	else if (f == LS_QUERY_CASE)
		expr->type = case_type(args);
	return expr;
}
