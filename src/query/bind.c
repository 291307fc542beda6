/*-------------------------------------------------------------------------
 *
 * bind.c
 *	  Queries with variables: the variables of a dashboard become literals (pure).
 *
 * The scanner finds the variables, so what is in quotes is none.  The result is a text and not a
 * tree, because stages travel to the functions that evaluate them as texts.  That it has the
 * tokens that were meant, and no value has made another one, is seen by scanning it again:
 * quoting alone is not trusted.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/bind.h"

#include "src/query/language_internal.h"
#include "src/query/parser.h"

/* Levels of parentheses whose kind is known; in deeper ones a list is not recognized. */
#define MAX_LEVELS 64

typedef struct binder
{
	ls_query_state scan; /* of the text */
	const ls_query_variable *variables;
	uint32_t n_variables;
	ls_query_binding *binding;
	ls_buf out;
	ls_query_token *expected; /* what the scanner must find in the result */
	uint32_t n_expected;
	uint32_t max_expected;
	uint32_t copied; /* bytes of the text that are in `out`, or replaced */
	bool head;
	int stage;
	int depth;
	bool in_list[MAX_LEVELS]; /* is the parenthesis of this level that of IN or name:( ? */
	bool colon_list[MAX_LEVELS];
} binder;

bool
ls_query_is_variable_name(ls_str name)
{
	if (name.len == 0 || name.len > LS_QUERY_MAX_VARIABLE_NAME)
		return false;
	for (size_t i = 0; i < name.len; i++)
	{
		char c = name.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
			  (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return true;
}

/* A number that is the same as text and as number: no leading zero, at most 15 digits. */
static bool
is_plain_number(ls_str s)
{
	size_t i = s.len > 0 && s.data[0] == '-' ? 1 : 0;
	size_t start = i;
	size_t digits = 0;

	for (; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++)
		digits++;
	if (digits == 0 || (digits > 1 && s.data[start] == '0'))
		return false;
	if (i < s.len && s.data[i] == '.')
	{
		size_t fraction = 0;

		for (i++; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++)
			fraction++;
		if (fraction == 0)
			return false;
		digits += fraction;
	}
	return i == s.len && digits <= 15;
}

/* 5m: of an option such as span. */
static bool
is_duration(ls_str s)
{
	ls_query_duration span;
	size_t i = 0;

	while (i < s.len && s.data[i] >= '0' && s.data[i] <= '9')
		i++;
	return i > 0 && i <= 9 && i < s.len && ls_query_bin_span(s, &span);
}

static bool
fail(binder *b, ls_query_span span, const char *hint, const char *message, ls_str name)
{
	return ls_query_fail_at(&b->scan, LS_QUERY_ERROR_SEMANTIC, span, hint, message,
							(int) ls_utf8_prefix_chars(name.data, name.len, 60), name.data);
}

static const ls_query_variable *
find_variable(const binder *b, ls_str name)
{
	for (uint32_t i = 0; i < b->n_variables; i++)
		if (ls_str_eq(b->variables[i].name, name))
			return &b->variables[i];
	return NULL;
}

/* ---- the result ---- */

static void
expect(binder *b, int kind, size_t start)
{
	if (b->n_expected < b->max_expected)
	{
		b->expected[b->n_expected].kind = kind;
		b->expected[b->n_expected].span = (ls_query_span){(uint32_t) start, (uint32_t) b->out.len};
	}
	b->n_expected++;
}

/* A token of the text, with what is before it. */
static void
copy_token(binder *b, const ls_query_token *token)
{
	ls_query_span span = {b->copied, token->span.end};

	ls_buf_str(&b->out, ls_query_slice(&b->scan, span));
	b->copied = token->span.end;
	expect(b, token->kind, b->out.len - (token->span.end - token->span.start));
}

static void
put(binder *b, int kind, const char *text)
{
	size_t start;

	if (kind != '(' && kind != ')' && kind != ',')
		ls_buf_char(&b->out, ' ');
	start = b->out.len;
	ls_buf_append(&b->out, text, strlen(text));
	expect(b, kind, start);
}

typedef enum form
{
	QUOTED,     /* a text in quotes, whatever it is */
	LITERAL,    /* or a number */
	OF_OPTION,  /* or a duration */
	ONLY_NUMBER /* the number of rows of a stage */
} form;

static bool
put_value(binder *b, ls_str value, form form)
{
	size_t start = b->out.len;

	if (form != QUOTED && is_plain_number(value) && (b->head || value.data[0] != '-'))
	{
		ls_buf_str(&b->out, value);
		expect(b, TOK_NUMBER, start);
	}
	else if (form == LITERAL && is_plain_number(value))
	{
		/* To the scanner of stages, the sign is an operator. */
		ls_buf_char(&b->out, '-');
		expect(b, '-', start);
		ls_buf_append(&b->out, value.data + 1, value.len - 1);
		expect(b, TOK_NUMBER, start + 1);
	}
	else if (form == ONLY_NUMBER)
		return false;
	else if (form == OF_OPTION && is_duration(value))
	{
		ls_buf_str(&b->out, value);
		expect(b, TOK_DURATION, start);
	}
	else if (form == LITERAL && b->head && ls_str_eq(value, LS_STR("*")))
	{
		ls_buf_char(&b->out, '*');
		expect(b, TOK_WORD, start);
	}
	else
	{
		ls_buf_char(&b->out, '"');
		for (size_t i = 0; i < value.len; i++)
		{
			if (value.data[i] == '"' || value.data[i] == '\\')
				ls_buf_char(&b->out, '\\');
			ls_buf_char(&b->out, value.data[i]);
		}
		ls_buf_char(&b->out, '"');
		expect(b, TOK_STRING, start);
	}
	return true;
}

/* ---- one variable ---- */

/* `before`: the token before it, or NULL; `after`: the one after it. */
typedef struct place
{
	ls_query_span span; /* of $name */
	ls_str name;
	const ls_query_token *before;
	const ls_query_token *after;
	bool touches;      /* -$v, name:$v */
	bool touches_name; /* name:$v */
} place;

static bool
word_is(const binder *b, const ls_query_token *t, const char *word)
{
	return t != NULL && (t->kind == TOK_WORD || t->kind == TOK_IDENT) &&
		   ls_str_eq(ls_query_slice(&b->scan, t->span), ls_str_make(word, strlen(word)));
}

static bool
stands_for_name(binder *b, const place *p)
{
	return fail(b, p->span, "a variable stands for a value: field=$name",
				"the variable $%.*s stands where a name or a stage is expected", p->name);
}

/* Puts all values, with something between them. */
static bool
put_values(binder *b, const ls_query_variable *v, form form, int between, const char *text)
{
	for (uint32_t i = 0; i < v->n_values; i++)
	{
		if (i > 0)
		{
			put(b, between, text);
			ls_buf_char(&b->out, ' ');
		}
		if (!put_value(b, v->values[i], form))
			return false;
	}
	return true;
}

static bool
one_value(binder *b, const place *p, const ls_query_variable *v, form form)
{
	if (v->n_values > 1)
		return fail(b, p->span, "several values fit after = and != and in IN (...)",
					"$%.*s has several values, and one is needed here", p->name);
	return put_value(b, v->values[0], form) ||
		   fail(b, p->span, NULL, "$%.*s must be a number here", p->name);
}

static bool
bind_in_head(binder *b, const place *p, const ls_query_variable *v)
{
	int before = p->before == NULL ? 0 : p->before->kind;
	bool list = b->depth > 0 && b->depth <= MAX_LEVELS && b->in_list[b->depth - 1];

	if (p->after->kind == TOK_BAD_OPERATOR || ls_query_is_comparison(p->after->kind) ||
		word_is(b, p->after, "IN") || word_is(b, p->after, "CONTAINS") ||
		word_is(b, p->after, "MATCHES"))
		return stands_for_name(b, p);
	if (word_is(b, p->before, "MATCHES") || word_is(b, p->before, "~"))
		return fail(b, p->span, "field CONTAINS $name looks for a text",
					"$%.*s cannot be a regular expression", p->name);
	if (word_is(b, p->before, "CONTAINS"))
		return one_value(b, p, v, QUOTED);
	if (list)
		return b->colon_list[b->depth - 1] ? put_values(b, v, LITERAL, TOK_WORD, "OR")
										   : put_values(b, v, LITERAL, ',', ",");
	if (before == '=' || before == TOK_NE)
		return put_values(b, v, LITERAL, ',', ",");
	if (ls_query_is_comparison(before))
		return one_value(b, p, v, LITERAL);
	if (v->n_values == 1 && p->touches_name && ls_str_eq(v->values[0], LS_STR("*")))
	{
		ls_buf_char(&b->out, '*');
		b->expected[b->n_expected - 1].span.end++;
		return true;
	}
	if (v->n_values == 1)
		return put_value(b, v->values[0], p->touches ? QUOTED : LITERAL);
	put(b, '(', "(");
	put_values(b, v, LITERAL, TOK_WORD, "OR");
	put(b, ')', ")");
	return true;
}

/* In the other stages a text is a pattern or the name of something. */
static bool
stage_has_values(int stage)
{
	if (stage < 0)
		return false;
	switch ((ls_query_stage_kind) stage)
	{
		case LS_QUERY_WHERE:
		case LS_QUERY_EVAL:
		case LS_QUERY_STATS:
		case LS_QUERY_EVENTSTATS:
		case LS_QUERY_TIMECHART:
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
		case LS_QUERY_HEAD:
		case LS_QUERY_TAIL:
		case LS_QUERY_SORT:
		case LS_QUERY_DEDUP:
		case LS_QUERY_BIN_STAGE:
		case LS_QUERY_FILLNULL:
		case LS_QUERY_PATTERNS:
			return true;
		case LS_QUERY_FIELDS:
		case LS_QUERY_RENAME:
		case LS_QUERY_REX:
		case LS_QUERY_TABLE:
		case LS_QUERY_LOOKUP:
		case LS_QUERY_JSON:
		case LS_QUERY_LOGFMT:
		case LS_QUERY_KV:
			break;
	}
	return false;
}

static bool
is_stage_name(const binder *b, const ls_query_token *t)
{
	return t > b->scan.tokens && t[-1].kind == '|';
}

static bool
bind_in_stage(binder *b, const place *p, const ls_query_variable *v)
{
	int before = p->before->kind;
	bool list = b->depth > 0 && b->depth <= MAX_LEVELS && b->in_list[b->depth - 1];

	if (!stage_has_values(b->stage) || ls_query_is_comparison(p->after->kind) ||
		word_is(b, p->after, "IN") || word_is(b, p->after, "CONTAINS") ||
		word_is(b, p->after, "MATCHES"))
		return stands_for_name(b, p);
	for (uint32_t i = 0; i < v->n_values; i++)
		if (ls_str_eq(v->values[i], LS_STR("*")))
			return fail(b, p->span, "write the condition before the first |",
						"$%.*s is * (any value), which only the part before the first | takes",
						p->name);
	if (word_is(b, p->before, "MATCHES"))
		return fail(b, p->span, "field CONTAINS $name looks for a text",
					"$%.*s cannot be a regular expression", p->name);
	if (word_is(b, p->before, "CONTAINS"))
		return one_value(b, p, v, QUOTED);
	if (list && (before == '(' || before == ','))
		return put_values(b, v, LITERAL, ',', ",");
	if ((before == '=' || before == TOK_NE) && b->depth == 0 && b->stage != LS_QUERY_WHERE &&
		b->stage != LS_QUERY_EVAL)
		return one_value(b, p, v, OF_OPTION);
	if ((before == '=' || before == TOK_NE) && v->n_values > 1)
	{
		/* The comparison, which is the last that was put, becomes a test. */
		b->n_expected--;
		b->out.len = b->expected[b->n_expected].span.start;
		b->binding->replacements[b->binding->n - 1] = (ls_query_replacement){
			.made.start = (uint32_t) b->out.len, .origin = {p->before->span.start, p->span.end}};
		if (before == TOK_NE)
			put(b, TOK_IDENT, "NOT");
		put(b, TOK_IDENT, "IN");
		put(b, '(', "(");
		put_values(b, v, LITERAL, ',', ",");
		put(b, ')', ")");
		return true;
	}
	if (ls_query_is_comparison(before) || before == '+' || before == '-' || before == '*' ||
		before == '/' || before == '%' || (b->depth > 0 && (before == '(' || before == ',')) ||
		word_is(b, p->before, "AND") || word_is(b, p->before, "OR") ||
		word_is(b, p->before, "NOT") || (is_stage_name(b, p->before) && b->stage == LS_QUERY_WHERE))
		return one_value(b, p, v, LITERAL);
	if (is_stage_name(b, p->before))
		return one_value(b, p, v, ONLY_NUMBER);
	return stands_for_name(b, p);
}

static bool
bind_variable(binder *b, const place *p)
{
	const ls_query_variable *v = find_variable(b, p->name);
	ls_query_replacement *r = &b->binding->replacements[b->binding->n];
	bool done;

	if (v == NULL)
		return fail(b, p->span, "a text that begins with $ is written in quotes",
					"there is no variable $%.*s", p->name);
	if (v->n_values == 0)
		return fail(b, p->span, NULL, "the variable $%.*s has no value", p->name);
	/* Each token has a byte, so the result is too long.  What is expected beyond is not kept. */
	if (b->n_expected >= b->max_expected)
		return fail(b, p->span, NULL, "with the value of $%.*s the query is too long", p->name);
	r->made.start = (uint32_t) b->out.len;
	r->origin = p->span;
	b->binding->n++;
	done = b->head ? bind_in_head(b, p, v) : bind_in_stage(b, p, v);
	r->made.end = (uint32_t) b->out.len;
	b->copied = p->span.end;
	return done;
}

/* ---- the text ---- */

static ls_str
leading_name(ls_str s)
{
	size_t n = 0;

	while (n < s.len && n < LS_QUERY_MAX_VARIABLE_NAME + 1 &&
		   (n == 0 ? ls_query_is_variable_name(ls_str_make(s.data, 1))
				   : ls_query_is_variable_name(ls_str_make(s.data, n + 1))))
		n++;
	return ls_str_make(s.data, n);
}

/* A known variable inside a word was meant, but is not replaced: /api/$service. */
static bool
check_word(binder *b, const ls_query_token *t)
{
	ls_str word = ls_query_slice(&b->scan, t->span);

	for (size_t i = 0; i + 1 < word.len; i++)
	{
		ls_str name;

		if (word.data[i] != '$')
			continue;
		name = leading_name(ls_str_make(word.data + i + 1, word.len - i - 1));
		if (name.len > 0 && find_variable(b, name) != NULL)
			return fail(b, t->span, "a variable stands alone: field=$name",
						"the variable $%.*s is a part of a word", name);
	}
	return true;
}

/* $name, -$name, name:$name, -name:$name; other words are as they are. */
static bool
bind_word(binder *b, const ls_query_token *t, const ls_query_token *before)
{
	ls_str word = ls_query_slice(&b->scan, t->span);
	place p = {.before = before, .after = t + 1};
	size_t dollar = 0;
	ls_query_token prefix = *t;

	while (dollar < word.len && word.data[dollar] != '$')
		dollar++;
	p.name = ls_str_make(word.data + dollar + 1, dollar < word.len ? word.len - dollar - 1 : 0);
	p.touches_name = dollar > 1 && word.data[dollar - 1] == ':';
	p.touches = p.touches_name || (dollar == 1 && word.data[0] == '-');
	if (dollar == word.len || (dollar > 0 && !p.touches) || !ls_query_is_variable_name(p.name))
	{
		copy_token(b, t);
		return check_word(b, t);
	}
	p.span = (ls_query_span){t->span.start + (uint32_t) dollar, t->span.end};
	prefix.span.end = p.span.start;
	/* A value that touches another token is in quotes or parentheses, so that it is one of its own. */
	if (dollar > 0)
		copy_token(b, &prefix);
	else
		ls_buf_str(&b->out, ls_query_slice(&b->scan, (ls_query_span){b->copied, p.span.start}));
	b->copied = p.span.start;
	return bind_variable(b, &p);
}

static void
note_parenthesis(binder *b, const ls_query_token *t, const ls_query_token *before)
{
	if (t->kind == '(')
	{
		if (b->depth < MAX_LEVELS)
		{
			ls_str word = before != NULL && before->kind == TOK_WORD
							  ? ls_query_slice(&b->scan, before->span)
							  : LS_STR("");

			b->colon_list[b->depth] = b->head && word.len > 1 && word.data[word.len - 1] == ':' &&
									  before->span.end == t->span.start;
			b->in_list[b->depth] = b->colon_list[b->depth] || word_is(b, before, "IN");
		}
		b->depth++;
	}
	else if (t->kind == ')' && b->depth > 0)
		b->depth--;
}

static bool
bind_tokens(binder *b)
{
	const ls_query_token *tokens = b->scan.tokens;

	for (uint32_t i = 0; i < b->scan.n_tokens; i++)
	{
		const ls_query_token *t = &tokens[i];
		const ls_query_token *before = i > 0 ? &tokens[i - 1] : NULL;
		bool variable = !b->head && t->kind == TOK_BAD_CHARACTER &&
						b->scan.text.data[t->span.start] == '$' && t[1].kind == TOK_IDENT &&
						t->span.end == t[1].span.start;

		if (t->kind == '|')
		{
			int token;

			b->head = false;
			b->depth = 0;
			b->stage = t[1].kind == TOK_IDENT
						   ? ls_query_find_stage(ls_query_slice(&b->scan, t[1].span), &token)
						   : -1;
		}
		note_parenthesis(b, t, before);
		if (t->kind == TOK_END)
			break;
		if (b->head && t->kind == TOK_WORD)
		{
			if (!bind_word(b, t, before))
				return false;
		}
		else if (variable)
		{
			place p = {.span = {t->span.start, t[1].span.end},
					   .name = ls_query_slice(&b->scan, t[1].span),
					   .before = before,
					   .after = &tokens[i + 2]};

			ls_buf_str(&b->out, ls_query_slice(&b->scan, (ls_query_span){b->copied, p.span.start}));
			if (!bind_variable(b, &p))
				return false;
			i++;
		}
		else
			copy_token(b, t);
	}
	ls_buf_str(&b->out,
			   ls_query_slice(&b->scan, (ls_query_span){b->copied, (uint32_t) b->scan.text.len}));
	return true;
}

/* Does the scanner find in the result exactly the tokens that were meant? */
static bool
is_as_expected(binder *b)
{
	ls_query_state again = {.arena = b->scan.arena, .error = b->scan.error};

	again.text = b->binding->text;
	if (b->n_expected > b->max_expected || !ls_query_scan(&again) ||
		again.n_tokens != b->n_expected + 1)
		return false;
	for (uint32_t i = 0; i < b->n_expected; i++)
		if (again.tokens[i].kind != b->expected[i].kind ||
			again.tokens[i].span.start != b->expected[i].span.start ||
			again.tokens[i].span.end != b->expected[i].span.end)
			return false;
	return true;
}

static bool
memory_error(ls_query_error *error)
{
	memset(error, 0, sizeof(*error));
	error->kind = LS_QUERY_ERROR_MEMORY;
	error->message = LS_STR("not enough memory to bind the variables of the query");
	return false;
}

bool
ls_query_bind(ls_str text, const ls_query_variable *variables, uint32_t n, ls_arena *arena,
			  ls_query_binding *binding, ls_query_error *error)
{
	binder b = {.variables = variables, .n_variables = n, .binding = binding, .head = true};

	memset(error, 0, sizeof(*error));
	*binding = (ls_query_binding){.text = text};
	b.stage = -1;
	/* The parser says what is wrong with a text that is too long or not UTF-8. */
	if (text.len == 0 || text.len > LS_QUERY_MAX_LENGTH || !ls_utf8_valid(text.data, text.len) ||
		memchr(text.data, '$', text.len) == NULL || memchr(text.data, '\0', text.len) != NULL)
		return true;
	b.scan.arena = arena;
	b.scan.error = error;
	b.scan.text = ls_arena_strdup(arena, text);
	if (b.scan.text.data == NULL || !ls_query_scan(&b.scan))
		return memory_error(error);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < variables[i].n_values; j++)
			if (!ls_utf8_valid(variables[i].values[j].data, variables[i].values[j].len) ||
				memchr(variables[i].values[j].data, '\0', variables[i].values[j].len) != NULL)
				return fail(&b, (ls_query_span){0, 0}, NULL,
							"the variable $%.*s has a value that is not UTF-8", variables[i].name);
	b.max_expected = LS_QUERY_MAX_LENGTH;
	b.expected = ls_new_array(arena, ls_query_token, b.max_expected);
	binding->replacements = ls_new_array(arena, ls_query_replacement, b.scan.n_tokens);
	if (b.expected == NULL || binding->replacements == NULL)
		return memory_error(error);
	ls_buf_init(&b.out, arena);
	if (!bind_tokens(&b))
		return ls_arena_failed(arena) ? memory_error(error) : false;
	ls_buf_char(&b.out, '\0');
	if (b.out.failed)
		return memory_error(error);
	binding->text = ls_str_make(b.out.data, b.out.len - 1);
	if (binding->n == 0)
		return true;
	if (binding->text.len > LS_QUERY_MAX_LENGTH)
		return ls_query_fail_at(&b.scan, LS_QUERY_ERROR_SEMANTIC, binding->replacements[0].origin,
								NULL,
								"with the values of its variables the query has %zu bytes; at most "
								"%d are allowed",
								binding->text.len, LS_QUERY_MAX_LENGTH);
	if (!is_as_expected(&b))
		return ls_arena_failed(arena)
				   ? memory_error(error)
				   : ls_query_fail_at(&b.scan, LS_QUERY_ERROR_SEMANTIC,
									  binding->replacements[0].origin,
									  "set the variable apart with spaces",
									  "the variables of the query cannot be bound");
	return true;
}

/* ---- positions ---- */

static ls_query_span
origin_of(const ls_query_binding *binding, ls_query_span span)
{
	uint32_t start = span.start;
	uint32_t end = span.end;
	ls_query_span origin = {start, end};

	for (uint32_t i = 0; i < binding->n; i++)
	{
		const ls_query_replacement *r = &binding->replacements[i];

		if (start >= r->made.end)
			origin.start = start - r->made.end + r->origin.end;
		else if (start >= r->made.start)
			origin.start = r->origin.start;
		if (end > r->made.end)
			origin.end = end - r->made.end + r->origin.end;
		else if (end > r->made.start)
			origin.end = r->origin.end;
	}
	if (origin.end < origin.start)
		origin.end = origin.start;
	return origin;
}

bool
ls_query_parse_bound(const ls_query_binding *binding, ls_str text, ls_arena *arena,
					 ls_query **query, ls_query_error *error)
{
	bool parsed = ls_query_parse(binding->text, arena, query, error);

	if (binding->n == 0)
		return parsed;
	if (!parsed && error->kind != LS_QUERY_ERROR_MEMORY)
	{
		error->span = origin_of(binding, error->span);
		error->position = ls_query_locate(text, error->span);
		/* It would be of the bound query. */
		error->suggestion = LS_STR("");
	}
	for (uint32_t i = 0; parsed && i < (*query)->warnings.n; i++)
	{
		ls_query_warning *w = (*query)->warnings.items[i];

		w->position = ls_query_locate(text, origin_of(binding, w->span));
		w->suggestion = LS_STR("");
	}
	return parsed;
}
