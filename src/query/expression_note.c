/*-------------------------------------------------------------------------
 *
 * expression_note.c
 *	  Warnings where an expression of a stage means something else than it says to most
 *	  people (pure).
 *
 * A wildcard or a number in quotes is a text; replace() has no regular expressions; substr() counts from 1.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/translate.h"

/* Each suggestion is parsed, so there are few. */
#define MOST_NOTES 5

typedef struct notes
{
	ls_query_state *state;
	int left;
} notes;

/* Makes the last warning suggest the query with another text in place of a span. */
static void
suggest(notes *n, uint32_t before, ls_query_span span, const ls_buf *replacement)
{
	ls_query_state *state = n->state;
	ls_buf text;

	if (state->query->warnings.n == before || replacement->failed)
		return;
	ls_buf_init(&text, state->arena);
	ls_buf_append(&text, state->text.data, span.start);
	ls_buf_append(&text, replacement->data, replacement->len);
	ls_buf_append(&text, state->text.data + span.end, state->text.len - span.end);
	if (ls_query_is_query(&text))
		state->query->warnings.items[before]->suggestion = ls_str_make(text.data, text.len);
}

static bool
is_word_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		   c == '-' || c == '.' || c == '/' || (c & 0x80) != 0;
}

/* pay*, *pay, *pay*: stars only at its ends, beside something of a word. */
static bool
is_wildcard(ls_str text)
{
	bool first = text.len > 1 && text.data[0] == '*';
	bool last = text.len > 1 && text.data[text.len - 1] == '*';
	size_t from = first ? 1 : 0;
	size_t to = text.len - (last ? 1 : 0);

	return (first || last) && from < to && is_word_char(text.data[from]) &&
		   is_word_char(text.data[to - 1]) && memchr(text.data + from, '*', to - from) == NULL;
}

/*
 * field = "pay*" becomes like(field, "pay%"), and != the same with = false: like != it is not true where the
 * field is missing.
 */
static void
note_wildcard(notes *n, const ls_query_expr *expr, const ls_query_expr *left,
			  const ls_query_expr *text)
{
	ls_query_state *state = n->state;
	uint32_t before = state->query->warnings.n;
	ls_str field = ls_query_slice(state, left->span);
	ls_buf call;

	if (text->kind != LS_QUERY_EXPR_STRING || !is_wildcard(text->text) || n->left == 0 ||
		memchr(text->text.data, '\\', text->text.len) != NULL)
		return;
	n->left--;
	ls_buf_init(&call, state->arena);
	ls_buf_lit(&call, "like(");
	ls_buf_str(&call, field);
	ls_buf_lit(&call, ", \"");
	for (size_t i = 0; i < text->text.len; i++)
	{
		char c = text->text.data[i];

		if (c == '_' || c == '%' || c == '"')
			ls_buf_char(&call, '\\');
		ls_buf_char(&call, c == '*' ? '%' : c);
	}
	ls_buf_lit(&call, "\")");
	if (expr->kind == LS_QUERY_EXPR_COMPARE && expr->op == LS_QUERY_OP_NE)
		ls_buf_lit(&call, " = false");
	ls_query_warn(state->query, state->arena, "WILDCARD_IN_QUOTES", text->span,
				  "in quotes a * is an ordinary character; write %.*s",
				  call.failed ? 0 : (int) ls_utf8_prefix_chars(call.data, call.len, 200),
				  call.failed ? "" : call.data);
	if (expr->kind == LS_QUERY_EXPR_COMPARE)
		suggest(n, before, expr->span, &call);
}

/* event = "refused" compares all of the text; level = error is a comparison with a field. */
static void
note_meant(notes *n, const ls_query_expr *expr, const ls_query_field *field,
		   const ls_query_expr *right)
{
	ls_query_state *state = n->state;
	uint32_t before = state->query->warnings.n;
	bool whole = field->builtin == LS_QUERY_EVENT && right->kind == LS_QUERY_EXPR_STRING &&
				 right->text.len > 0 && !is_wildcard(right->text);
	ls_str levels[LS_QUERY_LEVELS];
	ls_buf meant;

	if (n->left == 0 ||
		!(whole || (field->builtin == LS_QUERY_LEVEL && right->kind == LS_QUERY_EXPR_FIELD &&
					ls_query_levels(LS_QUERY_OP_EQ, right->field->name, levels) > 0)))
		return;
	n->left--;
	ls_buf_init(&meant, state->arena);
	ls_buf_str(&meant, ls_query_slice(state, field->span));
	ls_buf_printf(&meant, whole ? " CONTAINS " : " = \"");
	ls_buf_str(&meant, ls_query_slice(state, right->span));
	if (!whole)
		ls_buf_char(&meant, '"');
	if (whole)
		ls_query_warn(state->query, state->arena, "WHOLE_TEXT", right->span,
					  "this compares the whole text of an event; for a part of it write CONTAINS");
	else
		ls_query_warn(state->query, state->arena, "FIELD_AS_VALUE", right->span,
					  "without quotes this is a field; to compare with the text write \"%.*s\"",
					  (int) right->field->name.len, right->field->name.data);
	suggest(n, before, expr->span, &meant);
	ls_query_make_doubt(state, before);
}

static void
note_compare(notes *n, const ls_query_expr *expr)
{
	ls_query_state *state = n->state;
	const ls_query_expr *left = expr->args[0];
	const ls_query_expr *right = expr->args[1];
	uint32_t before = state->query->warnings.n;
	ls_buf number;

	if (expr->op == LS_QUERY_OP_EQ || expr->op == LS_QUERY_OP_NE)
	{
		if (left->kind == LS_QUERY_EXPR_FIELD)
			note_wildcard(n, expr, left, right);
		if (left->kind == LS_QUERY_EXPR_FIELD && expr->op == LS_QUERY_OP_EQ)
			note_meant(n, expr, left->field, right);
		return;
	}
	if (right->kind != LS_QUERY_EXPR_STRING || left->type != LS_QUERY_TYPE_ANY ||
		ls_query_is_time(left) || !ls_query_is_number(right->text) || n->left == 0)
		return;
	n->left--;
	ls_buf_init(&number, state->arena);
	ls_buf_str(&number, right->text);
	ls_query_warn(state->query, state->arena, "TEXT_COMPARISON", right->span,
				  "a number in quotes is compared as a text; to compare numbers write %.*s",
				  (int) ls_utf8_prefix_chars(right->text.data, right->text.len, 60),
				  right->text.data);
	suggest(n, before, right->span, &number);
}

/* field CONTAINS "pay*": without the stars, which may be right; like(field, "pay*"): the wildcard is %. */
static void
note_stars(notes *n, const ls_query_expr *expr)
{
	ls_query_state *state = n->state;
	bool like = expr->kind == LS_QUERY_EXPR_CALL;
	const ls_query_expr *text = expr->args[1];
	uint32_t before = state->query->warnings.n;
	ls_buf meant;

	if (text->kind != LS_QUERY_EXPR_STRING || !is_wildcard(text->text) || n->left == 0 ||
		memchr(text->text.data, '%', text->text.len) != NULL)
		return;
	n->left--;
	ls_buf_init(&meant, state->arena);
	ls_buf_char(&meant, '"');
	for (size_t i = 0; i < text->text.len; i++)
		if (text->text.data[i] == '"' || text->text.data[i] == '\\')
			return;
		else if (text->text.data[i] != '*')
			ls_buf_char(&meant, text->text.data[i]);
		else if (like)
			ls_buf_char(&meant, '%');
	ls_buf_char(&meant, '"');
	ls_query_warn(state->query, state->arena, "WILDCARD_IN_QUOTES", text->span,
				  like ? "a * is an ordinary character, the wildcard of like() is %%; write %.*s"
					   : "in quotes a * is an ordinary character; write %.*s",
				  meant.failed ? 0 : (int) ls_utf8_prefix_chars(meant.data, meant.len, 200),
				  meant.failed ? "" : meant.data);
	suggest(n, before, text->span, &meant);
	ls_query_make_doubt(state, before);
}

/* Has it signs that only a regular expression has? */
static bool
is_regex(ls_str text)
{
	for (size_t i = 0; i + 1 < text.len; i++)
	{
		char c = text.data[i];
		char next = text.data[i + 1];

		if ((c == '\\' && strchr("wWdDsSbB.", next) != NULL) ||
			((c == '.' || c == ']' || c == ')') && (next == '*' || next == '+')))
			return true;
	}
	return text.len > 2 && (text.data[0] == '^' || text.data[text.len - 1] == '$') &&
		   memchr(text.data, '[', text.len) != NULL;
}

static void
note_call(notes *n, const ls_query_expr *expr)
{
	ls_query_state *state = n->state;
	uint32_t before = state->query->warnings.n;
	const ls_query_expr *arg = expr->n_args > 1 ? expr->args[1] : NULL;

	if (arg == NULL || n->left == 0)
		return;
	if (expr->function == LS_QUERY_LIKE)
		note_stars(n, expr);
	if (expr->function == LS_QUERY_SUBSTR && expr->n_args == 3 &&
		arg->kind == LS_QUERY_EXPR_NUMBER && arg->number == 0)
	{
		ls_buf one;

		n->left--;
		ls_buf_init(&one, state->arena);
		ls_buf_char(&one, '1');
		ls_query_warn(state->query, state->arena, "COUNTS_FROM_ONE", arg->span,
					  "the first character is 1: with 0 the text has one character less");
		suggest(n, before, arg->span, &one);
	}
	else if (expr->function == LS_QUERY_REPLACE && arg->kind == LS_QUERY_EXPR_STRING &&
			 is_regex(arg->text))
	{
		n->left--;
		ls_query_warn(state->query, state->arena, "REGEX_AS_TEXT", arg->span,
					  "replace() looks for this as a plain text; what a regular expression finds "
					  "is extracted by the stage rex");
	}
}

static void
note(notes *n, const ls_query_expr *expr)
{
	if (expr->kind == LS_QUERY_EXPR_COMPARE)
		note_compare(n, expr);
	else if (expr->kind == LS_QUERY_EXPR_CALL)
		note_call(n, expr);
	else if (expr->kind == LS_QUERY_EXPR_CONTAINS)
		note_stars(n, expr);
	else if (expr->kind == LS_QUERY_EXPR_IN && expr->args[0]->kind == LS_QUERY_EXPR_FIELD)
		for (uint32_t i = 1; i < expr->n_args; i++)
			note_wildcard(n, expr, expr->args[0], expr->args[i]);
	for (uint32_t i = 0; i < expr->n_args; i++)
		note(n, expr->args[i]);
}

void
ls_query_note_expressions(ls_query_state *state)
{
	notes n = {.state = state, .left = MOST_NOTES};

	for (uint32_t i = 0; i < state->query->stages.n; i++)
	{
		const ls_query_stage *stage = state->query->stages.items[i];

		if (stage->condition != NULL)
			note(&n, stage->condition);
		for (uint32_t j = 0; j < stage->assigns.n; j++)
			if (stage->assigns.items[j]->value != NULL)
				note(&n, stage->assigns.items[j]->value);
		for (uint32_t j = 0; j < stage->aggregates.n; j++)
			if (stage->aggregates.items[j]->arg != NULL)
				note(&n, stage->aggregates.items[j]->arg);
	}
}
