/*-------------------------------------------------------------------------
 *
 * builtin_condition.c
 *	  Comparisons of fields whose values have an order or spelling of their own: levels
 *	  and times (pure).
 *
 * `where level >= "warn"` becomes a list of levels.  The list is made when the text is parsed, so
 * that scans prune by it, and each place that parses the stage again has the same tree.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"

#include "src/decode/decode.h"

static const ls_str levels_in_order[LS_QUERY_LEVELS] = {
	LS_STR("trace"), LS_STR("debug"), LS_STR("info"),
	LS_STR("warn"),  LS_STR("error"), LS_STR("fatal"),
};

#define EXPECTED_LEVELS "levels are trace < debug < info < warn < error < fatal"

/* ---- levels ---- */

int
ls_query_levels(ls_query_op op, ls_str level, ls_str levels[LS_QUERY_LEVELS])
{
	ls_str standard;
	int at = 0;
	int n = 0;

	if (!ls_level_of_name(level, &standard))
		return -1;
	while (at < LS_QUERY_LEVELS && !ls_str_eq(levels_in_order[at], standard))
		at++;
	for (int i = 0; i < LS_QUERY_LEVELS; i++)
	{
		bool holds = op == LS_QUERY_OP_EQ   ? i == at
					 : op == LS_QUERY_OP_NE ? i != at
					 : op == LS_QUERY_OP_LT ? i < at
					 : op == LS_QUERY_OP_LE ? i <= at
					 : op == LS_QUERY_OP_GT ? i > at
											: i >= at;

		if (holds)
			levels[n++] = levels_in_order[i];
	}
	return n;
}

/* The built-in field that the expression is, or is probably meant to be. */
static ls_query_builtin
builtin_of(const ls_query_expr *expr)
{
	const ls_query_field *field = expr->field;

	if (expr->kind != LS_QUERY_EXPR_FIELD || field->attributes)
		return LS_QUERY_NOT_BUILTIN;
	return field->builtin != LS_QUERY_NOT_BUILTIN ? field->builtin
												  : ls_query_builtin_alias(field->name);
}

static ls_query_expr *
constant(ls_query_state *state, const ls_query_expr *like, ls_str text)
{
	ls_query_expr *expr = ls_new(state->arena, ls_query_expr);

	if (expr == NULL)
		return NULL;
	*expr = *like;
	expr->flags = 0;
	expr->text = text;
	return expr;
}

static bool
add(ls_query_state *state, ls_query_exprs *list, const ls_query_expr *like, ls_str text)
{
	ls_query_expr *expr = constant(state, like, text);

	return expr != NULL && ls_query_append(state->arena, (void ***) &list->items, &list->n, expr);
}

/* A level as others write it: WARN, Warn.  Fields that stages find in texts have it so. */
static ls_str
spelt(ls_query_state *state, ls_str level, size_t capitals)
{
	ls_str copy = ls_arena_strdup(state->arena, level);

	for (size_t i = 0; copy.data != NULL && i < capitals && i < copy.len; i++)
		((char *) copy.data)[i] = (char) (copy.data[i] & ~0x20);
	return copy;
}

static bool
add_level(ls_query_state *state, ls_query_exprs *list, const ls_query_expr *like, ls_str level)
{
	static const ls_str others[] = {LS_STR("warning"), LS_STR("err"), LS_STR("critical")};
	ls_str names[1 + sizeof(others) / sizeof(others[0])] = {level};
	size_t n = 1;
	ls_str standard;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
	{
		if (ls_level_of_name(others[i], &standard) && ls_str_eq(standard, level))
			names[n++] = others[i];
	}
	for (size_t i = 0; i < n; i++)
	{
		ls_str upper = spelt(state, names[i], names[i].len);
		ls_str capital = spelt(state, names[i], 1);

		if (upper.data == NULL || capital.data == NULL || !add(state, list, like, names[i]) ||
			!add(state, list, like, upper) || !add(state, list, like, capital))
			return false;
	}
	return true;
}

static ls_query_op
mirrored(ls_query_op op)
{
	static const ls_query_op ops[] = {
		[LS_QUERY_OP_EQ] = LS_QUERY_OP_EQ, [LS_QUERY_OP_NE] = LS_QUERY_OP_NE,
		[LS_QUERY_OP_LT] = LS_QUERY_OP_GT, [LS_QUERY_OP_LE] = LS_QUERY_OP_GE,
		[LS_QUERY_OP_GT] = LS_QUERY_OP_LT, [LS_QUERY_OP_GE] = LS_QUERY_OP_LE,
	};

	return ops[op];
}

/* level op "text"; *list stays empty if it is an ordinary comparison.  False on error. */
static bool
level_condition(ls_query_state *state, ls_query_op op, ls_query_expr *level, ls_query_expr *text,
				ls_query_expr **field, ls_query_exprs *list)
{
	bool ordered = op != LS_QUERY_OP_EQ && op != LS_QUERY_OP_NE;
	ls_str levels[LS_QUERY_LEVELS];
	int n = ls_query_levels(ordered ? op : LS_QUERY_OP_EQ, text->text, levels);

	if (n < 0)
		return !ordered || level->field->builtin != LS_QUERY_LEVEL ||
			   ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, text->span, EXPECTED_LEVELS,
								"this is no level");
	if (!ordered && ls_str_eq(levels[0], text->text))
		return true;
	if (!ordered && !add(state, list, text, text->text))
		return false;
	for (int i = 0; i < n; i++)
	{
		if (ordered ? !add_level(state, list, text, levels[i]) : !add(state, list, text, levels[i]))
			return false;
	}
	/* level > "fatal" */
	if (list->n == 0 && !add(state, list, text, LS_STR("")))
		return false;
	*field = level;
	return true;
}

/* ---- times ---- */

bool
ls_query_is_time(const ls_query_expr *expr)
{
	ls_query_builtin builtin = builtin_of(expr);

	if (expr->kind == LS_QUERY_EXPR_CALL)
		return expr->function == LS_QUERY_NOW || expr->function == LS_QUERY_STRPTIME ||
			   (expr->function == LS_QUERY_BIN && ls_query_is_time(expr->args[0]));
	if (expr->kind == LS_QUERY_EXPR_ADD)
		return ls_query_is_time(expr->args[0]) != ls_query_is_time(expr->args[1]);
	if (expr->kind == LS_QUERY_EXPR_SUBTRACT)
		return ls_query_is_time(expr->args[0]) && !ls_query_is_time(expr->args[1]);
	return builtin == LS_QUERY_TIMESTAMP || builtin == LS_QUERY_INGESTED_AT;
}

/* 2026-11-24 without quotes is a number. */
static bool
is_bare_date(const ls_query_expr *expr)
{
	const ls_query_expr *year;

	if (expr->kind != LS_QUERY_EXPR_SUBTRACT || expr->args[0]->kind != LS_QUERY_EXPR_SUBTRACT ||
		expr->args[1]->kind != LS_QUERY_EXPR_NUMBER)
		return false;
	year = expr->args[0]->args[0];
	return year->kind == LS_QUERY_EXPR_NUMBER && year->text.len == 4 &&
		   expr->args[0]->args[1]->kind == LS_QUERY_EXPR_NUMBER;
}

static bool
check_time(ls_query_state *state, const ls_query_expr *field, const ls_query_expr *other,
		   bool ordered)
{
	ls_query_builtin builtin = builtin_of(field);
	ls_time time;

	if (builtin != LS_QUERY_TIMESTAMP && builtin != LS_QUERY_INGESTED_AT)
		return true;
	if (is_bare_date(other))
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, other->span,
								"a time is written in quotes: \"2026-01-31 15:00\"",
								"this is a subtraction");
	if (ordered && field->field->builtin != LS_QUERY_NOT_BUILTIN &&
		other->kind == LS_QUERY_EXPR_STRING && !ls_time_parse_iso(other->text, &time))
		/* No error: a stage may have made the field. */
		ls_query_warn(state->query, state->arena, "TEXT_COMPARISON", other->span,
					  "this is no time and is compared as a text: write \"2026-01-31 15:00\", or "
					  "now() - 3600 "
					  "for an hour ago");
	return true;
}

/* ---- both ---- */

bool
ls_query_builtin_condition(ls_query_state *state, ls_query_op op, ls_query_expr *left,
						   ls_query_expr *right, ls_query_expr **field, ls_query_exprs *levels)
{
	bool ordered = op != LS_QUERY_OP_EQ && op != LS_QUERY_OP_NE;

	*levels = (ls_query_exprs){NULL, 0};
	if (!check_time(state, left, right, ordered) || !check_time(state, right, left, ordered))
		return false;
	if (builtin_of(left) == LS_QUERY_LEVEL && right->kind == LS_QUERY_EXPR_STRING)
		return level_condition(state, op, left, right, field, levels);
	if (builtin_of(right) == LS_QUERY_LEVEL && left->kind == LS_QUERY_EXPR_STRING)
		return level_condition(state, mirrored(op), right, left, field, levels);
	return true;
}

/* level IN ("ERROR"): each constant also as the standard level that it names. */
bool
ls_query_level_list(ls_query_state *state, const ls_query_expr *field, ls_query_exprs *list)
{
	uint32_t n = list->n;

	for (uint32_t i = 0; i < n && builtin_of(field) == LS_QUERY_LEVEL; i++)
	{
		const ls_query_expr *item = list->items[i];
		ls_str levels[LS_QUERY_LEVELS];

		if (item->kind == LS_QUERY_EXPR_STRING &&
			ls_query_levels(LS_QUERY_OP_EQ, item->text, levels) == 1 &&
			!ls_str_eq(levels[0], item->text) && !add(state, list, item, levels[0]))
			return false;
	}
	return true;
}

/* ---- the head ---- */

/* timestamp>=-1h: a time that counts from now is said by earliest and latest. */
bool
ls_query_check_head_value(ls_query_state *state, const ls_query_field *field, ls_query_op op,
						  const ls_query_value *value)
{
	ls_query_builtin builtin = field->attributes ? LS_QUERY_NOT_BUILTIN : field->builtin;
	bool ordered = op != LS_QUERY_OP_EQ && op != LS_QUERY_OP_NE;
	const char *scope = op == LS_QUERY_OP_LT || op == LS_QUERY_OP_LE ? "latest" : "earliest";
	ls_str levels[LS_QUERY_LEVELS];
	ls_str text = value->text;
	ls_query_period period;
	ls_query_time time;
	ls_buf hint;
	ls_time at;
	bool now;

	if (builtin == LS_QUERY_NOT_BUILTIN && !field->attributes)
		builtin = ls_query_builtin_alias(field->name);
	/* A day may be meant, which a warning says where it finds nothing. */
	if (!ordered &&
		((field->builtin != LS_QUERY_TIMESTAMP && field->builtin != LS_QUERY_INGESTED_AT) ||
		 value->wildcard || ls_query_period_parse(text, &period)))
		return true;
	if (field->builtin == LS_QUERY_LEVEL && ls_query_levels(op, text, levels) < 0)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, value->span, EXPECTED_LEVELS,
								"this is no level");
	if ((builtin != LS_QUERY_TIMESTAMP && field->builtin != LS_QUERY_INGESTED_AT) ||
		value->kind == LS_QUERY_NUMBER)
		return true;
	now = text.len > 4 && memcmp(text.data, "now", 3) == 0 &&
		  (text.data[3] == '-' || text.data[3] == '+');
	if (now)
		text = ls_str_make(text.data + 3, text.len - 3);
	if (ls_str_eq_nocase(text, LS_STR("today")))
		text = LS_STR("@d");
	else if (ls_str_eq_nocase(text, LS_STR("yesterday")))
		text = LS_STR("-1d@d");
	if (builtin == LS_QUERY_TIMESTAMP && ls_str_eq(text, LS_STR("now")))
		text = ls_query_time_after_now(
			ls_str_make(state->text.data + value->span.end, state->text.len - value->span.end),
			state->arena);
	if (builtin == LS_QUERY_TIMESTAMP && text.len == 0)
	{
		ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, value->span, NULL,
						 "a time that counts from now is written %s=-1h", scope);
		ls_query_set_hint(state, "for an hour ago write %s=-1h", scope);
		return false;
	}
	if (builtin == LS_QUERY_TIMESTAMP && ls_query_time_parse(text, &time) && !time.absolute)
	{
		ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, value->span, NULL,
						 "a time that counts from now is written %s=%.*s", scope, (int) text.len,
						 text.data);
		ls_query_set_hint(state, "write %s=%.*s", scope, (int) text.len, text.data);
		return false;
	}
	if (field->builtin != LS_QUERY_NOT_BUILTIN && !ls_time_parse_iso(text, &at))
	{
		/* As a text it would be before or after all times. */
		ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, value->span, NULL,
						 "expected an ISO date or time");
		ls_buf_init(&hint, state->arena);
		if (ls_query_time_parse(text, &time))
			ls_buf_lit(&hint, "for an hour ago write | where ingested_at > now() - 3600");
		else
			ls_query_time_hint(text, scope[0] == 'l', &hint);
		if (hint.len > 0 && !hint.failed)
			ls_query_set_hint(state, "%.*s", (int) hint.len, hint.data);
		return false;
	}
	return true;
}
