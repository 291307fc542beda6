/*-------------------------------------------------------------------------
 *
 * stages.c
 *	  Builds the stages of a query: options, aggregates, rex groups (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"
#include "src/query/extract.h"

#include <stdlib.h>

static ls_query_stage *
make_stage(ls_query_state *state, ls_query_stage_kind kind)
{
	ls_query_stage *stage = ls_new(state->arena, ls_query_stage);

	if (stage == NULL)
		return NULL;
	stage->kind = kind;
	stage->count = -1;
	stage->keep_empty = true;
	stage->max_templates = -1;
	stage->max_samples = -1;
	stage->rare_threshold = -1;
	stage->sim_threshold = -1;
	state->stage = stage;
	return stage;
}

bool
ls_query_begin_stage(ls_query_state *state, int token)
{
	int kind = ls_query_stage_of_token(token);

	return kind < 0 || make_stage(state, (ls_query_stage_kind) kind) != NULL;
}

/* A whole number from `least` to `most`. */
static bool
whole_number(ls_query_state *state, ls_query_token token, int64_t least, int64_t most,
			 int64_t *value)
{
	ls_str text = ls_query_slice(state, token.span);
	int64_t v = 0;
	bool good = token.kind == TOK_NUMBER && text.len <= 15;

	for (size_t i = 0; good && i < text.len; i++)
	{
		good = text.data[i] >= '0' && text.data[i] <= '9';
		v = v * 10 + (text.data[i] - '0');
	}
	if (!good || v < least || v > most)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, token.span,
								good && v == 0 && state->stage->kind == LS_QUERY_SORT
									? "sort without a number keeps all rows: leave out the 0"
									: NULL,
								"expected a whole number from %lld to %lld", (long long) least,
								(long long) most);
	*value = v;
	return true;
}

bool
ls_query_count(ls_query_state *state, ls_query_token number, int64_t *count)
{
	return whole_number(state, number, 1, LS_QUERY_MAX_COUNT, count);
}

ls_query_key *
ls_query_make_key(ls_query_state *state, ls_query_field *field, bool descending)
{
	ls_query_key *key = ls_new(state->arena, ls_query_key);

	if (key != NULL)
	{
		key->field = field;
		key->descending = descending;
	}
	return key;
}

ls_query_key *
ls_query_directed_key(ls_query_state *state, ls_query_field *field, ls_query_token direction)
{
	ls_str word = ls_query_slice(state, direction.span);
	bool descending = ls_str_eq_nocase(word, LS_STR("desc"));

	if (!descending && !ls_str_eq_nocase(word, LS_STR("asc")))
	{
		ls_str found = ls_query_excerpt(state, direction.span);

		ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, direction.span, NULL, "unexpected %.*s",
						 (int) found.len, found.data);
		ls_query_set_hint(state, "put a comma before %.*s", (int) found.len, found.data);
		return NULL;
	}
	return ls_query_make_key(state, field, descending);
}

ls_query_assign *
ls_query_make_assign(ls_query_state *state, ls_query_field *to, ls_query_field *from,
					 ls_query_expr *value)
{
	ls_query_assign *assign = ls_new(state->arena, ls_query_assign);

	if (assign != NULL)
	{
		assign->to = to;
		assign->from = from;
		assign->value = value;
	}
	return assign;
}

/* ---- aggregates ---- */

static const struct
{
	ls_str word;
	const char *hint;
} other_aggregates[] = {
	{LS_STR("median"), "the median is p50"},
	{LS_STR("distinct"), "did you mean dc?"},
	{LS_STR("uniq"), "did you mean dc?"},
	{LS_STR("count_distinct"), "did you mean dc?"},
	{LS_STR("uniqueCount"), "did you mean dc?"},
	{LS_STR("earliest"), "did you mean min(timestamp)?"},
	{LS_STR("latest"), "did you mean max(timestamp)?"},
	{LS_STR("percentile"), "percentiles are p1 to p99: p95(field)"},
	{LS_STR("perc"), "percentiles are p1 to p99: p95(field)"},
	{LS_STR("range"), "write max(a) as high, min(a) as low, then eval range = high - low"},
	{LS_STR("mode"), "write top 1 a"},
	{LS_STR("list"), "values has each value once; with all of them it is the rows themselves"},
	{LS_STR("make_list"), "values has each value once; with all of them it is the rows themselves"},
	{LS_STR("make_set"), "did you mean values?"},
	{LS_STR("countif"), "write sum(if(condition, 1, 0))"},
	{LS_STR("sparkline"), "write timechart span=1h count by a: a series for each value of a"},
	{LS_STR("stdev"), "standard deviations are made in SQL: SELECT stddev(...) FROM"
					  " logsvc.events('...')"},
	{LS_STR("stddev"), "standard deviations are made in SQL: SELECT stddev(...) FROM"
					   " logsvc.events('...')"},
	{LS_STR("var"), "variances are made in SQL: SELECT variance(...) FROM logsvc.events('...')"},
	{LS_STR("rate"), "write timechart span=1m count, then eval rate = count / 60"},
	{LS_STR("per_second"), "write timechart span=1m count, then eval rate = count / 60"},
	{LS_STR("per_minute"), "write timechart span=1m count"},
	{LS_STR("per_hour"), "write timechart span=1h count"},
};

/* A condition is never null, so count counts all rows; and it is no number to add up. */
static bool
is_counted_condition(ls_query_aggregate_kind kind, const ls_query_expr *arg)
{
	return arg->type == LS_QUERY_TYPE_BOOLEAN && arg->kind != LS_QUERY_EXPR_BOOLEAN &&
		   (kind == LS_QUERY_COUNT || kind == LS_QUERY_SUM || kind == LS_QUERY_AVG);
}

ls_query_aggregate *
ls_query_make_aggregate(ls_query_state *state, ls_query_token name, ls_query_expr *arg,
						ls_query_field *as, ls_query_span span)
{
	ls_str word = ls_query_slice(state, name.span);
	int percent;
	int kind = ls_query_find_aggregate(word, &percent);
	ls_query_aggregate *aggregate;
	ls_buf column;

	if (kind < 0)
	{
		uint32_t n;
		const ls_str *names = ls_query_aggregate_names(&n);
		size_t i = 0;

		ls_query_fail_expected(state, LS_QUERY_ERROR_SEMANTIC, name.span, names, n);
		while (i < sizeof(other_aggregates) / sizeof(other_aggregates[0]) &&
			   !ls_str_eq(word, other_aggregates[i].word))
			i++;
		if (i < sizeof(other_aggregates) / sizeof(other_aggregates[0]))
			ls_query_set_hint(state, "%s", other_aggregates[i].hint);
		else
			ls_query_hint_closest(state, word, names, n);
		return NULL;
	}
	if (kind != LS_QUERY_COUNT && arg == NULL)
	{
		ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, name.span, NULL,
						 "%.*s needs a field: %.*s(field)", (int) word.len, word.data,
						 (int) word.len, word.data);
		return NULL;
	}

	if (arg != NULL && is_counted_condition((ls_query_aggregate_kind) kind, arg))
	{
		ls_str condition = ls_query_slice(state, arg->span);

		ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, arg->span, NULL,
						 "%.*s of a condition is not the number of rows for which it is true",
						 (int) word.len, word.data);
		ls_query_set_hint(state, "write sum(if(%.*s, 1, 0))",
						  (int) ls_utf8_prefix_chars(condition.data, condition.len, 200),
						  condition.data);
		return NULL;
	}
	aggregate = ls_new(state->arena, ls_query_aggregate);
	if (aggregate == NULL)
		return NULL;
	aggregate->kind = (ls_query_aggregate_kind) kind;
	aggregate->percent = percent;
	aggregate->arg = arg;
	aggregate->as = as;
	aggregate->span = span;
	if (as != NULL)
		aggregate->name = as->name;
	else
	{
		ls_buf_init(&column, state->arena);
		ls_buf_str(&column, word);
		if (arg != NULL)
		{
			ls_buf_char(&column, '(');
			ls_buf_str(&column, ls_query_slice(state, arg->span));
			ls_buf_char(&column, ')');
		}
		if (column.failed)
			return NULL;
		aggregate->name = ls_str_make(column.data, column.len);
	}
	return aggregate;
}

/*
 * The output columns of stats and timechart must have different names.  The check is
 * quadratic, but over at most 100 columns; more are refused.
 */
bool
ls_query_check_columns(ls_query_state *state)
{
	const ls_query_stage *stage = state->stage;
	uint32_t n_by = stage->by.n;
	uint32_t n = n_by + stage->aggregates.n;

	if (n > 100)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, stage->aggregates.items[0]->span,
								NULL, "%s has at most 100 columns",
								ls_query_stage_name(stage->kind));
	for (uint32_t i = n_by; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
		{
			const ls_query_aggregate *a = stage->aggregates.items[i - n_by];
			ls_str other =
				j < n_by ? stage->by.items[j]->name : stage->aggregates.items[j - n_by]->name;

			if (ls_str_eq(a->name, other))
				return ls_query_fail_at(
					state, LS_QUERY_ERROR_SEMANTIC, a->span,
					"give one of them another name with as", "two columns are named %.*s",
					(int) ls_utf8_prefix_chars(other.data, other.len, 60), other.data);
		}
	return true;
}

/* ---- options ---- */

static bool
unknown_option(ls_query_state *state, ls_query_span span)
{
	uint32_t n;
	const ls_str *names = ls_query_option_names(state->stage->kind, &n);

	ls_query_fail_expected(state, LS_QUERY_ERROR_SYNTAX, span, names, n);
	ls_query_hint_closest(state, ls_query_slice(state, span), names, n);
	return false;
}

bool
ls_query_rex_field(ls_query_state *state, ls_query_token option, ls_query_field *field)
{
	if (!ls_str_eq(ls_query_slice(state, option.span), LS_STR("field")))
		return unknown_option(state, option.span);
	state->stage->field = field;
	return true;
}

/* Reads one of two words; *second: it was the second. */
static bool
one_of(ls_query_state *state, ls_query_token token, ls_str first, ls_str other, bool *second)
{
	ls_str word = ls_query_slice(state, token.span);
	ls_str both[2] = {first, other};

	*second = ls_str_eq(word, other);
	if (*second || ls_str_eq(word, first))
		return true;
	ls_query_fail_expected(state, LS_QUERY_ERROR_SYNTAX, token.span, both, 2);
	ls_query_hint_closest(state, word, both, 2);
	return false;
}

static bool
bucket(ls_query_state *state, ls_query_token token, ls_query_duration *duration)
{
	static const ls_str forms[] = {LS_STR("a duration such as 30s, 5m, 1h, 1d, 1w, 1mon")};
	ls_query_time time;
	ls_str text = ls_query_slice(state, token.span);

	if (token.kind != TOK_DURATION || !ls_query_time_parse(text, &time))
		return ls_query_fail_expected(state, LS_QUERY_ERROR_SYNTAX, token.span, forms, 1);
	if (time.shift.amount == 0)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, token.span, NULL,
								"a span of nothing");
	*duration = time.shift;
	return true;
}

static bool
fraction(ls_query_state *state, ls_query_token token, double *value)
{
	ls_str text = ls_arena_strdup(state->arena, ls_query_slice(state, token.span));

	if (text.data == NULL)
		return false;
	*value = token.kind == TOK_NUMBER ? strtod(text.data, NULL) : -1;
	if (*value >= 0 && *value <= 1)
		return true;
	return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, token.span, NULL,
							"expected a number from 0 to 1");
}

static bool
apply_option(ls_query_state *state, const ls_query_option *option, int index)
{
	ls_query_stage *stage = state->stage;
	int64_t v = 0;
	bool good = true;
	bool second = false;

	if (stage->kind == LS_QUERY_DEDUP)
	{
		good = one_of(state, option->value, LS_STR("true"), LS_STR("false"), &second);
		stage->keep_empty = !second;
		return good;
	}
	if (stage->kind == LS_QUERY_TOP || stage->kind == LS_QUERY_RARE)
		return whole_number(state, option->value, 1, LS_QUERY_MAX_COUNT, &stage->count);
	if (stage->kind == LS_QUERY_BIN_STAGE || stage->kind == LS_QUERY_FILLNULL)
	{
		stage->literal = ls_query_option_literal(state, option->value);
		return stage->literal != NULL;
	}
	if (stage->kind == LS_QUERY_TIMECHART)
		return index == 0 ? bucket(state, option->value, &stage->bucket)
						  : whole_number(state, option->value, 1, 1000, &stage->count);

	switch (index)
	{
		case 0:
			good = whole_number(state, option->value, 1, 500, &v);
			stage->max_templates = (int) v;
			break;
		case 1:
			good = whole_number(state, option->value, 0, 5, &v);
			stage->max_samples = (int) v;
			break;
		case 2:
			good = fraction(state, option->value, &stage->sim_threshold);
			break;
		case 3:
			good = whole_number(state, option->value, 0, 50, &v);
			stage->rare_threshold = (int) v;
			break;
		default:
			good = one_of(state, option->value, LS_STR("aggregate"), LS_STR("label"), &second);
			stage->label = second;
	}
	return good;
}

bool
ls_query_add_option(ls_query_state *state, ls_query_options *options, ls_query_token name,
					ls_query_token value)
{
	ls_query_option *option = ls_new(state->arena, ls_query_option);

	if (option == NULL)
		return false;
	option->name = name.span;
	option->value = value;
	return ls_query_push(state, options, option);
}

bool
ls_query_join_options(ls_query_state *state, ls_query_options *options, ls_query_options more)
{
	for (uint32_t i = 0; i < more.n; i++)
	{
		if (!ls_query_push(state, options, more.items[i]))
			return false;
	}
	return true;
}

bool
ls_query_apply_options(ls_query_state *state, ls_query_options options)
{
	uint32_t seen = 0;
	uint32_t n;
	const ls_str *names = ls_query_option_names(state->stage->kind, &n);

	for (uint32_t i = 0; i < options.n; i++)
	{
		const ls_query_option *option = options.items[i];
		ls_str name = ls_query_slice(state, option->name);
		uint32_t index = 0;

		while (index < n && !ls_str_eq(name, names[index]))
			index++;
		if (index == n)
			return unknown_option(state, option->name);
		if ((seen & (1u << index)) != 0)
			return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, option->name, NULL,
									"%s is given twice", names[index].data);
		seen |= 1u << index;
		if (!apply_option(state, option, (int) index))
			return false;
	}
	return true;
}

/* ---- bin ---- */

bool
ls_query_set_bin(ls_query_state *state, ls_query_field *field, ls_query_field *as)
{
	ls_query_stage *stage = state->stage;
	ls_query_expr *value;

	if (stage->literal == NULL)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, field->span,
								"bin span=5m timestamp, bin span=100 bytes", "bin needs a span");
	value = ls_query_make_bin(state, field, stage->literal);
	return value != NULL &&
		   ls_query_push(state, &stage->assigns,
						 ls_query_make_assign(state, as != NULL ? as : field, NULL, value));
}

/* ---- json, logfmt, kv ---- */

static bool
given_twice(ls_query_state *state, ls_query_span span, const char *name)
{
	return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL, "%s is given twice", name);
}

static bool
set_path(ls_query_state *state, ls_str path, ls_query_span span)
{
	if (state->stage->path.data != NULL)
		return given_twice(state, span, "path");
	if (!ls_extract_path_valid(path))
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL,
								"expected a path of at most 256 bytes: \"a.b\", \"list{0}.a\","
								" \"list{}.a\"");
	state->stage->path = path;
	return true;
}

bool
ls_query_extract_field(ls_query_state *state, const ls_query_token *option, ls_query_field *path)
{
	ls_query_stage *stage = state->stage;
	ls_str name = option == NULL ? LS_STR("path") : ls_query_slice(state, option->span);
	ls_query_span span = path->span;
	ls_query_field *field = ls_query_stage_field(state, path);

	if (field == NULL)
		return false;
	if (stage->kind == LS_QUERY_JSON && ls_str_eq(name, LS_STR("path")))
		return set_path(state, field->name, span);
	if (ls_str_eq(name, LS_STR("field")) ||
		(stage->kind == LS_QUERY_JSON && ls_str_eq(name, LS_STR("input"))))
	{
		if (stage->field != NULL)
			return given_twice(state, span, "the field");
		stage->field = field;
		return true;
	}
	if (stage->kind == LS_QUERY_JSON && ls_str_eq(name, LS_STR("output")))
	{
		if (stage->output != NULL)
			return given_twice(state, span, "output");
		stage->output = field;
		return true;
	}
	if (option == NULL)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, span, "write field= before the field",
								"unexpected %.*s", (int) ls_query_excerpt(state, span).len,
								ls_query_excerpt(state, span).data);
	if (stage->kind == LS_QUERY_KV &&
		(ls_str_eq(name, LS_STR("pairdelim")) || ls_str_eq(name, LS_STR("kvdelim"))))
		return ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, span, NULL,
								"expected a quoted string");
	return unknown_option(state, option->span);
}

/* The characters of \t, \n and \\ are known here. */
static bool
set_delimiters(ls_query_state *state, ls_str *delimiters, ls_query_span span, ls_str text)
{
	char *out = ls_arena_alloc(state->arena, text.len + 1);
	size_t n = 0;

	if (out == NULL)
		return false;
	if (delimiters->len > 0)
		return given_twice(state, span, "the delimiter");
	for (size_t i = 0; i < text.len; i++)
	{
		char c = text.data[i];

		if (c == '\\' && i + 1 < text.len)
		{
			c = text.data[++i];
			c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
		}
		if ((unsigned char) c >= 0x80 || c == '"')
			return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL,
									"delimiters are ASCII characters, without quotes");
		out[n++] = c;
	}
	if (n == 0 || n > 16)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL,
								"expected 1 to 16 characters");
	*delimiters = ls_str_make(out, n);
	return true;
}

bool
ls_query_extract_text(ls_query_state *state, const ls_query_token *option, ls_query_token string)
{
	ls_query_stage *stage = state->stage;
	ls_str name = option == NULL ? LS_STR("path") : ls_query_slice(state, option->span);
	ls_str text = ls_query_unquote(state, string.span, false);

	if (text.data == NULL)
		return false;
	if (stage->kind == LS_QUERY_JSON && ls_str_eq(name, LS_STR("path")))
		return set_path(state, text, string.span);
	if (stage->kind == LS_QUERY_KV && ls_str_eq(name, LS_STR("pairdelim")))
		return set_delimiters(state, &stage->between, string.span, text);
	if (stage->kind == LS_QUERY_KV && ls_str_eq(name, LS_STR("kvdelim")))
		return set_delimiters(state, &stage->inside, string.span, text);
	if (option != NULL && !ls_str_eq(name, LS_STR("field")) &&
		!(stage->kind == LS_QUERY_JSON &&
		  (ls_str_eq(name, LS_STR("input")) || ls_str_eq(name, LS_STR("output")))))
		return unknown_option(state, option->span);
	return ls_query_fail_at(state, LS_QUERY_ERROR_SYNTAX, string.span, NULL,
							"expected a field name");
}

bool
ls_query_check_extract(ls_query_state *state)
{
	const ls_query_stage *stage = state->stage;

	if (stage->output != NULL && stage->path.data == NULL)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, stage->output->span,
								"spath input=event path=a.b output=x", "output= needs path=");
	return true;
}

/* ---- rex ---- */

static bool
is_name_character(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		   (!first && c >= '0' && c <= '9');
}

static bool
add_group(ls_query_state *state, ls_query_span span)
{
	ls_query_stage *stage = state->stage;
	ls_query_group *group = ls_new(state->arena, ls_query_group);

	if (group == NULL)
		return false;
	group->span = span;
	group->name = ls_arena_strdup(state->arena, ls_query_slice(state, span));
	if (group->name.data == NULL)
		return false;
	for (uint32_t i = 0; i < stage->n_groups; i++)
		if (ls_str_eq(stage->groups[i]->name, group->name))
			return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL,
									"two groups are named %.*s",
									(int) ls_query_excerpt(state, span).len, group->name.data);
	if (stage->n_groups >= 100)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, span, NULL,
								"rex takes at most 100 groups");
	return ls_query_append(state->arena, (void ***) &stage->groups, &stage->n_groups, group);
}

/*
 * Keeps the regular expression and finds its named groups, which become
 * fields.  It only looks for (?<name>, outside brackets and escapes; whether
 * the rest is valid is checked later by the regex library.
 */
bool
ls_query_set_rex(ls_query_state *state, ls_query_span span)
{
	static const ls_str form[] = {LS_STR("(?<name>...)")};
	const char *text = state->text.data;
	uint32_t end = span.end - 1;
	bool bracket = false;

	state->stage->pattern_span = span;
	state->stage->pattern = ls_query_unquote(state, span, true);
	if (state->stage->pattern.data == NULL)
		return false;

	for (uint32_t i = span.start + 1; i < end; i++)
	{
		uint32_t python = end - i > 3 && memcmp(text + i, "(?P", 3) == 0; /* (?P<name>...) */
		ls_query_span name = {i + 3 + python, i + 3 + python};

		if (text[i] == '\\')
			i++;
		else if (bracket)
			bracket = text[i] != ']';
		else if (text[i] == '[')
		{
			/* A ] right after [ or [^ is an ordinary character. */
			bracket = true;
			if (i + 1 < end && text[i + 1] == '^')
				i++;
			if (i + 1 < end && text[i + 1] == ']')
				i++;
		}
		else if (end - i > 3 + python && memcmp(text + i, "(?", 2) == 0 &&
				 text[i + 2 + python] == '<' && text[i + 3] != '=' && text[i + 3] != '!')
		{
			while (name.end < end && is_name_character(text[name.end], name.end == name.start))
				name.end++;
			if (name.end == name.start || name.end == end || text[name.end] != '>')
				return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, name,
										"a name has letters, digits and _: (?<user_id>...)",
										"expected the name of a group and >");
			if (!add_group(state, name))
				return false;
			i = name.end;
		}
	}
	if (state->stage->n_groups == 0)
		return ls_query_fail_expected(state, LS_QUERY_ERROR_SEMANTIC, span, form, 1);
	return true;
}

/* ---- lookup ---- */

/* The text of a name, without backticks. */
static ls_str
name_text(ls_query_state *state, ls_query_token name)
{
	ls_query_span inner = name.span;

	if (name.kind == TOK_BACKTICK)
	{
		inner.start++;
		inner.end--;
	}
	return ls_arena_strdup(state->arena, ls_query_slice(state, inner));
}

/* A field with the name of a column, which may have dots. */
static ls_query_field *
column_field(ls_query_state *state, ls_query_token name)
{
	ls_query_field *path = ls_query_make_field(state, NULL, name);

	return path == NULL ? NULL : ls_query_stage_field(state, path);
}

ls_query_output *
ls_query_make_output(ls_query_state *state, ls_query_token column, ls_query_field *as)
{
	ls_query_output *output = ls_new(state->arena, ls_query_output);

	if (output == NULL)
		return NULL;
	output->column = name_text(state, column);
	output->span = column.span;
	output->to = as != NULL ? as : column_field(state, column);
	return output->to != NULL && output->column.data != NULL ? output : NULL;
}

bool
ls_query_set_lookup(ls_query_state *state, ls_query_token table, ls_query_token key,
					ls_query_field *field, ls_query_outputs outputs)
{
	ls_query_stage *stage = state->stage;
	const ls_query_stages *stages = &state->query->stages;
	int n = 1;

	for (uint32_t i = 0; i < stages->n; i++)
		n += stages->items[i]->kind == LS_QUERY_LOOKUP;
	if (n > LS_QUERY_MAX_LOOKUPS)
		return ls_query_fail_at(state, LS_QUERY_ERROR_SEMANTIC, table.span, NULL,
								"a query has at most %d stages lookup", LS_QUERY_MAX_LOOKUPS);
	stage->table = name_text(state, table);
	stage->table_span = table.span;
	stage->key = name_text(state, key);
	stage->field = field != NULL ? field : column_field(state, key);
	stage->outputs = outputs;
	return stage->table.data != NULL && stage->key.data != NULL && stage->field != NULL;
}
