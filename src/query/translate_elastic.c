/*-------------------------------------------------------------------------
 *
 * translate_elastic.c
 *	  Elasticsearch's query DSL, which is JSON, in ours (pure).
 *
 * A body of _search, perhaps below its "GET logs/_search", or one clause of it alone.  What must hold becomes
 * terms next to each other, `should` becomes OR.  A range of @timestamp that bounds the whole search is its
 * time range; elsewhere it is a comparison.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/json_document.h"
#include "src/query/translate.h"

/* Of containers within containers; a clause takes two to four. */
#define MAX_DEPTH 48

typedef const ls_json_node *node;

static bool write_clause(ls_query_source *s, ls_buf *out, node clause, bool whole);

static bool
is(ls_str a, const char *b)
{
	return ls_str_eq(a, ls_str_make(b, strlen(b)));
}

/* Where the JSON begins: after "GET logs-x/_search"; SIZE_MAX: it is none. */
static size_t
find_begin(ls_str text)
{
	ls_query_source s = {.text = text};
	ls_str method = ls_query_source_name(&s);

	if (method.len > 0)
	{
		const char *line = memchr(text.data, '{', text.len);
		ls_str before = ls_str_make(text.data, line == NULL ? 0 : (size_t) (line - text.data));

		if ((!is(method, "GET") && !is(method, "POST")) || before.len < 12)
			return SIZE_MAX;
		for (s.pos = 0; s.pos + 7 <= before.len; s.pos++)
			if (memcmp(before.data + s.pos, "_search", 7) == 0)
				return before.len;
		return SIZE_MAX;
	}
	return ls_query_source_take(&s, "{") ? s.pos - 1 : SIZE_MAX;
}

bool
ls_query_is_elastic(ls_str text)
{
	ls_query_source s = {.text = text, .pos = find_begin(text)};

	if (s.pos == SIZE_MAX || !ls_query_source_take(&s, "{") || !ls_query_source_take(&s, "\"") ||
		ls_query_source_name(&s).len == 0)
		return false;
	return ls_query_source_take(&s, "\"") && ls_query_source_take(&s, ":");
}

/* ---- fields and values ---- */

/* service.keyword is the same text here. */
static ls_str
field_of(ls_str name)
{
	static const char suffix[] = ".keyword";
	size_t len = sizeof(suffix) - 1;

	if (name.len > len && memcmp(name.data + name.len - len, suffix, len) == 0)
		name.len -= len;
	return name;
}

static ls_query_builtin
builtin_of(ls_str field)
{
	ls_query_builtin builtin = ls_query_builtin_find(field);

	return builtin != LS_QUERY_NOT_BUILTIN ? builtin : ls_query_builtin_alias(field);
}

static bool
write_field(ls_query_source *s, ls_buf *out, ls_str field)
{
	return ls_query_write_head_field(out, field) || ls_query_source_fail(s, "this name of a field");
}

static bool
write_value(ls_query_source *s, ls_buf *out, node value)
{
	ls_str text = ls_node_string(value);
	int64_t integer;
	double number;

	if (ls_node_integer(value, &integer))
		ls_buf_printf(out, "%lld", (long long) integer);
	else if (ls_node_number(value, &number) && number > -1e15 && number < 1e15)
		ls_buf_printf(out, "%.6f", number);
	else if (ls_node_is(value, LS_JSON_TRUE) || ls_node_is(value, LS_JSON_FALSE))
		ls_buf_printf(out, ls_node_is(value, LS_JSON_TRUE) ? "true" : "false");
	else if (!ls_node_is(value, LS_JSON_STRING))
		return ls_query_source_fail(s, "a value of this type");
	else if (ls_query_is_plain_word(text))
		ls_buf_str(out, text);
	else
		ls_query_write_text(out, text);
	return true;
}

/* {"field": value} or {"field": {"value": value}}: the only member. */
static bool
only_member(ls_query_source *s, node object, const char *inner, ls_str *name, node *value)
{
	void *at = ls_node_next(object, NULL, name, value);
	ls_str other;
	node ignored;

	if (at == NULL)
		return ls_query_source_fail(s, NULL);
	while ((at = ls_node_next(object, at, &other, &ignored)) != NULL)
		if (!is(other, "boost") && !is(other, "_name"))
			return ls_query_source_fail(s, "a clause with several fields");
	if (inner != NULL && ls_node_is(*value, LS_JSON_OBJECT))
		*value = ls_node_member(*value, inner);
	*name = field_of(*name);
	return *value != NULL || ls_query_source_fail(s, NULL);
}

/* The words of a text, as terms: one of them must occur, or all. */
static bool
write_words(ls_query_source *s, ls_buf *out, ls_str text, bool all)
{
	size_t start = out->len;
	int n = 0;

	for (size_t i = 0; i < text.len;)
	{
		size_t begin = i;
		ls_str word;

		while (i < text.len && strchr(" \t\r\n", text.data[i]) == NULL)
			i++;
		word = ls_str_make(text.data + begin, i - begin);
		while (i < text.len && strchr(" \t\r\n", text.data[i]) != NULL)
			i++;
		if (!ls_query_has_token(word))
			continue;
		if (n++ == 0)
			ls_buf_char(out, '(');
		else
			ls_buf_printf(out, all ? " " : " OR ");
		if (ls_query_is_plain_word(word))
			ls_buf_str(out, word);
		else
			ls_query_write_text(out, word);
	}
	if (n == 0 || out->failed)
		return ls_query_source_fail(s, "a text without words");
	if (n > 1)
		ls_buf_char(out, ')');
	else
	{
		memmove(out->data + start, out->data + start + 1, out->len - start - 1);
		out->len--;
	}
	return true;
}

/* match, match_phrase, term: in the text of events words, else a comparison. */
static bool
write_match(ls_query_source *s, ls_buf *out, ls_str kind, node clause)
{
	bool phrase =
		ls_str_eq(kind, LS_STR("match_phrase")) || ls_str_eq(kind, LS_STR("match_phrase_prefix"));
	node options = NULL;
	ls_str field;
	node value;
	ls_str operator;

	if (!only_member(s, clause, NULL, &field, &value))
		return false;
	if (ls_node_is(value, LS_JSON_OBJECT))
	{
		options = value;
		value = ls_node_member(options, is(kind, "term") ? "value" : "query");
		if (value == NULL)
			return ls_query_source_fail(s, NULL);
	}
	operator= ls_node_member_string(options, "operator");
	if (builtin_of(field) == LS_QUERY_EVENT || is(field, "_all"))
	{
		if (!ls_node_is(value, LS_JSON_STRING))
			return write_value(s, out, value);
		if (!phrase && !is(kind, "term"))
			return write_words(s, out, ls_node_string(value),
							   ls_str_eq_nocase(operator, LS_STR("and")));
		if (!ls_query_has_token(ls_node_string(value)))
			return ls_query_source_fail(s, "a text without words");
		ls_query_write_text(out, ls_node_string(value));
		return true;
	}
	if (!write_field(s, out, field))
		return false;
	ls_buf_char(out, '=');
	return write_value(s, out, value);
}

static bool
write_terms(ls_query_source *s, ls_buf *out, node clause)
{
	ls_str field;
	node list;

	if (!only_member(s, clause, NULL, &field, &list))
		return false;
	if (ls_node_count(list) == 0)
		return ls_query_source_fail(s, "terms without a list of values");
	if (!write_field(s, out, field))
		return false;
	ls_buf_lit(out, " IN (");
	for (size_t i = 0; i < ls_node_count(list); i++)
	{
		if (i > 0)
			ls_buf_lit(out, ", ");
		if (!write_value(s, out, ls_node_element(list, i)))
			return false;
	}
	ls_buf_char(out, ')');
	return true;
}

/* prefix, wildcard: a word with *.  In a text each word is matched by itself, as here. */
static bool
write_pattern(ls_query_source *s, ls_buf *out, bool prefix, node clause)
{
	ls_str field;
	ls_str text;
	node value;

	if (!only_member(s, clause, "value", &field, &value))
		return false;
	text = ls_node_string(value);
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] != '*' && !ls_query_is_plain_word(ls_str_make(text.data + i, 1)) &&
			strchr("-./", text.data[i]) == NULL)
			return ls_query_source_fail(s, "this pattern (write field MATCHES \"...\")");
	if (!ls_query_has_token(text))
		return ls_query_source_fail(s, "a pattern without a letter");
	if (builtin_of(field) != LS_QUERY_EVENT)
	{
		if (!write_field(s, out, field))
			return false;
		ls_buf_char(out, '=');
	}
	ls_buf_str(out, text);
	if (prefix)
		ls_buf_char(out, '*');
	return true;
}

/* ---- ranges ---- */

/* now-1h/h as -1h@h. */
static bool
write_relative(ls_query_source *s, ls_buf *out, ls_str text)
{
	if (text.len == 3)
		ls_buf_lit(out, "now");
	for (size_t i = 3; i < text.len; i++)
		if (strchr("+-/0123456789smhHdwMy", text.data[i]) == NULL || text.data[i] == '\0')
			return ls_query_source_fail(s, "this time");
		else if (text.data[i] == 'M')
			ls_buf_lit(out, "mon");
		else
			ls_buf_char(out, text.data[i] == '/' ? '@' : text.data[i] == 'H' ? 'h' : text.data[i]);
	return true;
}

/* A bound of the time range of the whole search. */
static bool
write_bound(ls_query_source *s, ls_buf *out, const char *op, node value)
{
	ls_str text = ls_node_string(value);
	bool earliest = op[0] == '>';
	bool inclusive = op[1] == '=';
	ls_query_period period;
	char epoch[24];
	int64_t integer;
	ls_buf number = {.data = epoch, .capacity = sizeof(epoch)};

	ls_buf_printf(out, earliest ? "earliest=" : "latest=");
	if (text.len >= 3 && memcmp(text.data, "now", 3) == 0)
		return write_relative(s, out, text);
	if (ls_node_integer(value, &integer))
	{
		ls_buf_printf(&number, "%lld", (long long) integer);
		text = ls_str_make(number.data, number.len);
	}
	if (!ls_query_period_parse(text, &period))
		return ls_query_source_fail(s, "this time");
	ls_query_write_instant(out, earliest == inclusive ? period.from : period.to, period.local);
	return true;
}

static bool
write_range(ls_query_source *s, ls_buf *out, node clause, bool whole)
{
	static const struct
	{
		const char *name;
		const char *op;
	} bounds[] = {
		{"gte", ">="}, {"gt", ">"}, {"from", ">="}, {"lte", "<="}, {"lt", "<"}, {"to", "<="},
	};
	bool scope;
	ls_str field;
	node range;
	int n = 0;

	if (!only_member(s, clause, NULL, &field, &range))
		return false;
	scope = whole && builtin_of(field) == LS_QUERY_TIMESTAMP;
	if (!scope)
		ls_buf_char(out, '(');
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
	{
		node value = ls_node_member(range, bounds[i].name);

		if (value == NULL || ls_node_is(value, LS_JSON_NULL))
			continue;
		if (n++ > 0)
			ls_buf_char(out, ' ');
		if (scope)
		{
			if (!write_bound(s, out, bounds[i].op, value))
				return false;
			continue;
		}
		if (ls_node_string(value).len >= 3 && memcmp(ls_node_string(value).data, "now", 3) == 0)
			return ls_query_source_fail(s, "a time that counts from now in a part of the query");
		if (!write_field(s, out, field))
			return false;
		ls_buf_printf(out, "%s", bounds[i].op);
		if (!write_value(s, out, value))
			return false;
	}
	if (!scope)
		ls_buf_char(out, ')');
	return n > 0 || ls_query_source_fail(s, NULL);
}

/* ---- clauses ---- */

/* query_string has Lucene's syntax. */
static bool
write_query_string(ls_query_source *s, ls_buf *out, node clause)
{
	ls_query_source inner = {.arena = s->arena, .left_out = s->left_out, .compare_times = true};
	size_t start = out->len;
	size_t len;

	inner.text = ls_node_member_string(clause, "query");
	if (inner.text.len == 0)
		return ls_query_source_fail(s, NULL);
	ls_buf_char(out, '(');
	/* It says whether it differs from our language, which does not matter here. */
	(void) ls_query_read_lucene(&inner, out);
	if (inner.failed || inner.pos < inner.text.len || memchr(inner.text.data, '|', inner.text.len))
		return ls_query_source_fail(s, inner.problem != NULL ? inner.problem : "this query_string");
	s->left_out = inner.left_out;
	ls_buf_char(out, ')');
	len = out->len - start;
	if (!out->failed && ls_query_is_plain_word(ls_str_make(out->data + start + 1, len - 2)))
	{
		memmove(out->data + start, out->data + start + 1, len - 2);
		out->len -= 2;
	}
	return true;
}

/* The clauses of a list, or one of them; `n` counts the terms that were written. */
static bool
write_list(ls_query_source *s, ls_buf *out, node list, const char *between, bool not, bool whole,
		   int *n)
{
	size_t count = ls_node_is(list, LS_JSON_ARRAY) ? ls_node_count(list) : list != NULL;

	for (size_t i = 0; i < count; i++)
	{
		if ((*n)++ > 0)
			ls_buf_append(out, between, strlen(between));
		if (not )
			ls_buf_lit(out, "NOT ");
		if (!write_clause(s, out, ls_node_is(list, LS_JSON_ARRAY) ? ls_node_element(list, i) : list,
						  whole))
			return false;
	}
	return true;
}

static bool
write_bool(ls_query_source *s, ls_buf *out, node clause, bool whole)
{
	node should = ls_node_member(clause, "should");
	node minimum = ls_node_member(clause, "minimum_should_match");
	size_t n_should = ls_node_is(should, LS_JSON_ARRAY) ? ls_node_count(should) : should != NULL;
	int64_t least = 0;
	int n = 0;

	/* Without parentheses a part of a whole stays one. */
	if (!whole)
		ls_buf_char(out, '(');
	if (!write_list(s, out, ls_node_member(clause, "must"), " ", false, whole, &n) ||
		!write_list(s, out, ls_node_member(clause, "filter"), " ", false, whole, &n))
		return false;
	if (n_should > 0 && (n == 0 || (ls_node_integer(minimum, &least) && least == 1) ||
						 is(ls_node_string(minimum), "1")))
	{
		int alternatives = 0;

		if (n > 0)
			ls_buf_char(out, ' ');
		ls_buf_char(out, '(');
		if (!write_list(s, out, should, " OR ", false, false, &alternatives))
			return false;
		ls_buf_char(out, ')');
		n++;
	}
	else if (n_should > 0)
	{
		if (least > 1)
			return ls_query_source_fail(s, "minimum_should_match");
		ls_query_source_leave_out(s, "should beside must (it only weighs)");
	}
	if (!write_list(s, out, ls_node_member(clause, "must_not"), " ", true, false, &n))
		return false;
	if (n == 0)
		ls_buf_char(out, '*');
	if (!whole)
		ls_buf_char(out, ')');
	return true;
}

static bool
write_clause(ls_query_source *s, ls_buf *out, node clause, bool whole)
{
	ls_str kind;
	node body;

	if (!only_member(s, clause, NULL, &kind, &body))
		return false;
	if (is(kind, "match") || is(kind, "match_phrase") || is(kind, "match_phrase_prefix") ||
		is(kind, "term"))
		return write_match(s, out, kind, body);
	if (is(kind, "terms"))
		return write_terms(s, out, body);
	if (is(kind, "range"))
		return write_range(s, out, body, whole);
	if (is(kind, "prefix") || is(kind, "wildcard"))
		return write_pattern(s, out, is(kind, "prefix"), body);
	if (is(kind, "query_string") || is(kind, "simple_query_string"))
		return write_query_string(s, out, body);
	if (is(kind, "multi_match"))
		return write_words(s, out, ls_node_member_string(body, "query"),
						   is(ls_node_member_string(body, "operator"), "and"));
	if (is(kind, "exists"))
	{
		if (!write_field(s, out, field_of(ls_node_member_string(body, "field"))))
			return false;
		ls_buf_lit(out, "=*");
		return true;
	}
	if (is(kind, "match_all"))
	{
		ls_buf_char(out, '*');
		return true;
	}
	if (is(kind, "constant_score"))
		return write_clause(s, out, ls_node_member(body, "filter"), whole);
	if (is(kind, "bool"))
		return write_bool(s, out, body, whole);
	return ls_query_source_fail(s, "this kind of clause");
}

/* ---- what stands beside the query ---- */

/* Newest first is the order here, too. */
static bool
is_newest_first(node sort)
{
	node key = ls_node_is(sort, LS_JSON_ARRAY) ? ls_node_element(sort, 0) : sort;
	ls_str name = LS_STR("");
	node order = NULL;

	(void) ls_node_next(key, NULL, &name, &order);
	if (ls_node_is(order, LS_JSON_OBJECT))
		order = ls_node_member(order, "order");
	return builtin_of(name) == LS_QUERY_TIMESTAMP && is(ls_node_string(order), "desc");
}

bool
ls_query_read_elastic(ls_query_source *s, ls_buf *out)
{
	size_t begin = find_begin(s->text);
	node query;
	node root;
	int64_t size;

	s->certain = true;
	root = ls_document_read(ls_str_make(s->text.data + begin, s->text.len - begin), MAX_DEPTH,
							s->arena);
	if (root == NULL)
		return ls_query_source_fail(s, "JSON that is malformed, or too long,");
	query = ls_node_member(root, "query");
	if (ls_node_member(root, "aggs") != NULL || ls_node_member(root, "aggregations") != NULL)
		return ls_query_source_fail(s, "an aggregation (write | stats count by a)");
	if (query == NULL && ls_node_member(root, "size") == NULL)
		return write_clause(s, out, root, true);
	if (query == NULL)
		ls_buf_char(out, '*');
	else if (!write_clause(s, out, query, true))
		return false;
	if (ls_node_member(root, "sort") != NULL && !is_newest_first(ls_node_member(root, "sort")))
		ls_query_source_leave_out(s, "sort");
	if (ls_node_integer(ls_node_member(root, "size"), &size) && size > 0)
		ls_buf_printf(out, " | head %lld", (long long) size);
	return !out->failed;
}
