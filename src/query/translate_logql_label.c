/*-------------------------------------------------------------------------
 *
 * translate_logql_label.c
 *	  Labels of LogQL in ours: strings, comparisons, streams, ranges (pure).
 *
 * LogQL compares a missing label as the empty text, so != becomes NOT =.  Its regular
 * expressions of labels match the whole value.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate_logql.h"

#include "src/part/match.h"

/* Of one regular expression. */
#define REGEX_MEMORY ((size_t) 256 << 10)
#define MOST_REGEXES 64

#define MAX_PARENTHESES 20

bool
ls_logql_string(ls_query_source *s, ls_str *value)
{
	ls_buf out;
	char quote;

	ls_query_source_spaces(s);
	quote = ls_query_source_char(s, 0);
	if (quote != '"' && quote != '`')
		return ls_query_source_fail(s, NULL);
	ls_buf_init(&out, s->arena);
	for (s->pos++; s->pos < s->text.len && s->text.data[s->pos] != quote; s->pos++)
	{
		char c = s->text.data[s->pos];

		if (c == '\\' && quote == '"')
		{
			c = ls_query_source_char(s, 1);
			s->pos++;
			if (c == 'n' || c == 't' || c == 'r')
				c = c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
			else if (c != '"' && c != '\\')
				return ls_query_source_fail(s, "this escape in a string");
		}
		ls_buf_char(&out, c);
	}
	if (s->pos >= s->text.len || out.failed)
		return ls_query_source_fail(s, NULL);
	s->pos++;
	*value = out.len > 0 ? ls_str_make(out.data, out.len) : LS_STR("");
	return true;
}

/*
 * Fields with few values: what Loki's agents usually send as labels, and the resource attributes of which
 * Loki makes labels by default.
 */
const char *const ls_logql_stream_labels[][2] = {
	{"service_name", "service"},
	{"level", "level"},
	{"source", "source"},
	{"index", "index"},
	{"app", "app"},
	{"cluster", "cluster"},
	{"component", "component"},
	{"container", "container"},
	{"env", "env"},
	{"environment", "environment"},
	{"filename", "filename"},
	{"host", "host"},
	{"hostname", "hostname"},
	{"instance", "instance"},
	{"job", "job"},
	{"namespace", "namespace"},
	{"node", "node"},
	{"pod", "pod"},
	{"region", "region"},
	{"unit", "unit"},
	{"cloud_availability_zone", "cloud.availability_zone"},
	{"cloud_region", "cloud.region"},
	{"container_name", "container.name"},
	{"deployment_environment", "deployment.environment"},
	{"deployment_environment_name", "deployment.environment.name"},
	{"host_name", "host.name"},
	{"k8s_cluster_name", "k8s.cluster.name"},
	{"k8s_container_name", "k8s.container.name"},
	{"k8s_cronjob_name", "k8s.cronjob.name"},
	{"k8s_daemonset_name", "k8s.daemonset.name"},
	{"k8s_deployment_name", "k8s.deployment.name"},
	{"k8s_job_name", "k8s.job.name"},
	{"k8s_namespace_name", "k8s.namespace.name"},
	{"k8s_node_name", "k8s.node.name"},
	{"k8s_pod_name", "k8s.pod.name"},
	{"k8s_statefulset_name", "k8s.statefulset.name"},
	{"service_namespace", "service.namespace"},
	{NULL, NULL},
};

ls_str
ls_logql_label(const ls_query_source *s, ls_str name)
{
	if (ls_str_eq(name, LS_STR("detected_level")))
		return LS_STR("level");
	for (int i = 0; s->exact && ls_logql_stream_labels[i][0] != NULL; i++)
	{
		const char *const *pair = ls_logql_stream_labels[i];

		if (ls_str_eq(name, ls_str_make(pair[0], strlen(pair[0]))))
			return ls_str_make(pair[1], strlen(pair[1]));
	}
	return name;
}

/* Terms of the head are next to each other; a condition after other stages is a stage. */
void
ls_logql_begin_term(ls_logql *q)
{
	if (q->in_stages)
		ls_buf_lit(q->out, " | where ");
	else if (q->terms++ > 0)
		ls_buf_char(q->out, ' ');
}

void
ls_logql_begin_stages(ls_logql *q)
{
	if (!q->in_stages && q->late.len > 0)
		ls_buf_append(q->out, q->late.data + (q->out->len == 0), q->late.len - (q->out->len == 0));
	q->in_stages = true;
}

static bool
write_field(ls_logql *q, ls_buf *out, ls_str name)
{
	name = ls_logql_label(q->s, name);
	return (q->in_stages ? ls_query_write_field(out, name)
						 : ls_query_write_head_field(out, name)) ||
		   ls_query_source_fail(q->s, NULL);
}

/* field op, with the spaces that are usual there. */
static bool
write_comparison(ls_logql *q, ls_buf *out, ls_str name, const char *op)
{
	if (!write_field(q, out, name))
		return false;
	ls_buf_printf(out, q->in_stages ? " %s " : "%s", op);
	return true;
}

/* Does the event have the label? */
static bool
write_presence(ls_logql *q, ls_buf *out, ls_str name, bool there)
{
	if (!q->in_stages && !there)
		ls_buf_lit(out, "NOT ");
	if (!write_field(q, out, name))
		return false;
	ls_buf_append(out, q->in_stages ? (there ? " != null" : " = null") : "=*",
				  q->in_stages ? (there ? 8 : 7) : 2);
	return true;
}

bool
ls_logql_matches_nothing(ls_query_source *s, ls_str regex)
{
	ls_arena *arena = ++s->regexes <= MOST_REGEXES ? ls_arena_create(NULL, REGEX_MEMORY) : NULL;
	const char *error;
	ls_regex *compiled;
	ls_buf whole;
	bool matches;

	if (arena == NULL)
	{
		if (s->exact)
			(void) ls_query_source_fail(s, "a query with so many regular expressions");
		return true;
	}
	ls_buf_init(&whole, arena);
	ls_buf_lit(&whole, "^(?:");
	ls_buf_str(&whole, regex);
	ls_buf_lit(&whole, ")$");
	compiled = whole.failed
				   ? NULL
				   : ls_regex_compile(arena, ls_str_make(whole.data, whole.len), false, &error);
	matches = compiled == NULL || ls_regex_match(compiled, LS_STR(""), &error) != 0;
	ls_arena_destroy(arena);
	return matches;
}

/* A part of a regular expression that means itself. */
static bool
is_literal(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (strchr("\\^$.[]()*+?{}|\"", s.data[i]) != NULL)
			return false;
	return s.len > 0;
}

/* a|b|c: the number of literals; 0: it is another expression. */
static int
count_alternatives(ls_str regex)
{
	size_t start = 0;
	int n = 0;

	for (size_t i = 0; i <= regex.len; i++)
	{
		if (i < regex.len && regex.data[i] != '|')
			continue;
		if (!is_literal(ls_str_make(regex.data + start, i - start)))
			return 0;
		start = i + 1;
		n++;
	}
	return n;
}

/* IN ("a", "b"); always true. */
static bool
write_values(ls_buf *out, ls_str name, ls_str regex)
{
	size_t start = 0;

	ls_buf_str(out, name);
	ls_buf_lit(out, " IN (");
	for (size_t i = 0; i <= regex.len; i++)
	{
		if (i < regex.len && regex.data[i] != '|')
			continue;
		if (start > 0)
			ls_buf_lit(out, ", ");
		ls_query_write_text(out, ls_str_make(regex.data + start, i - start));
		start = i + 1;
	}
	ls_buf_char(out, ')');
	return true;
}

static bool
write_alternatives(ls_logql *q, ls_buf *out, ls_str name, ls_str regex)
{
	return write_field(q, out, name) && write_values(out, LS_STR(""), regex);
}

static bool
ends_with(ls_str s, const char *end)
{
	size_t len = strlen(end);

	return s.len >= len && memcmp(s.data + s.len - len, end, len) == 0;
}

/* A regular expression matches the whole value of a label. */
static bool
write_regex_match(ls_logql *q, ls_buf *out, ls_str name, ls_str regex)
{
	int n = count_alternatives(regex);
	/* .*a|b.* are two expressions. */
	bool one = regex.len > 2 && memchr(regex.data, '|', regex.len) == NULL;
	/* .*? and .*+ are one thing. */
	bool open_start =
		one && memcmp(regex.data, ".*", 2) == 0 && strchr("?+*{", regex.data[2]) == NULL;
	bool open_end = one && ends_with(regex, ".*") && !ends_with(regex, "\\.*");
	ls_str prefix = ls_str_make(regex.data, regex.len < 2 ? 0 : regex.len - 2);

	if (n == 1)
	{
		if (!write_comparison(q, out, name, "="))
			return false;
		ls_query_write_text(out, regex);
		return true;
	}
	if (n > 1)
		return write_alternatives(q, out, name, regex);
	while (prefix.len > 0 && prefix.data[prefix.len - 1] == '-')
		prefix.len--;
	if (!q->in_stages && open_end && is_literal(prefix) && ls_query_is_plain_word(prefix))
	{
		if (!write_comparison(q, out, name, "="))
			return false;
		ls_buf_append(out, regex.data, regex.len - 2);
		ls_buf_char(out, '*');
		return true;
	}
	if (!write_field(q, out, name))
		return false;
	ls_buf_lit(out, " MATCHES ");
	if (open_start && open_end && regex.len > 4)
		ls_query_write_regex(out, ls_str_make(regex.data + 2, regex.len - 4));
	else
	{
		ls_buf whole;

		ls_buf_init(&whole, q->s->arena);
		/* In a selector . is any character, as in Prometheus; elsewhere it is not a newline. */
		ls_buf_printf(&whole, q->selector && q->s->exact ? "^(?s:" : "^(?:");
		ls_buf_str(&whole, regex);
		ls_buf_lit(&whole, ")$");
		if (whole.failed)
			return ls_query_source_fail(q->s, NULL);
		ls_query_write_regex(out, ls_str_make(whole.data, whole.len));
	}
	return true;
}

/* name op "text" */
static bool
write_match(ls_logql *q, ls_buf *out, ls_str name, ls_str op, ls_str value)
{
	bool regex = ls_str_eq(op, LS_STR("=~")) || ls_str_eq(op, LS_STR("!~"));
	bool negated = op.data[0] == '!';

	if (regex && (ls_str_eq(value, LS_STR(".+")) || ls_str_eq(value, LS_STR("^.+$"))))
		return write_presence(q, out, name, !negated);
	if (regex && (value.len == 0 || ls_str_eq(value, LS_STR(".*"))))
		return ls_query_source_fail(q->s, "a regular expression that every value matches");
	if (regex && count_alternatives(value) == 0 && ls_logql_matches_nothing(q->s, value))
	{
		if (!q->s->exact)
			return ls_query_source_fail(q->s, "a regular expression that a missing label matches");
		ls_buf_append(out, negated ? "NOT (" : "(", negated ? 5 : 1);
		if (!write_presence(q, out, name, false))
			return false;
		ls_buf_lit(out, " OR ");
		if (!write_regex_match(q, out, name, value))
			return false;
		ls_buf_char(out, ')');
		return true;
	}
	if (value.len == 0)
		return write_presence(q, out, name, negated);
	if (negated)
		ls_buf_lit(out, "NOT ");
	if (regex)
		return write_regex_match(q, out, name, value);
	if (!write_comparison(q, out, name, "="))
		return false;
	ls_query_write_text(out, value);
	return true;
}

static ls_str
read_operator(ls_query_source *s)
{
	static const char *const operators[] = {"=~", "!~", "!=", "==", ">=", "<=", "=", ">", "<"};

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (ls_query_source_take(s, operators[i]))
			return ls_str_make(operators[i], strlen(operators[i]));
	return LS_STR("");
}

/* In the head index=name says where to look; only a stage can test the index as labels are tested. */
static bool
is_index(const ls_logql *q, ls_str name)
{
	return !q->in_stages && !q->stream && ls_str_eq(ls_logql_label(q->s, name), LS_STR("index"));
}

/* web-.* as web-*: the prefix; empty: it is another expression. */
static ls_str
prefix_of(ls_str regex)
{
	ls_str prefix = ls_str_make(regex.data, regex.len < 2 ? 0 : regex.len - 2);

	while (prefix.len > 0 && prefix.data[prefix.len - 1] == '-')
		prefix.len--;
	return ends_with(regex, ".*") && is_literal(prefix) && ls_query_is_plain_word(prefix)
			   ? ls_str_make(regex.data, regex.len - 2)
			   : LS_STR("");
}

/*
 * {index="web"} as index="web", which a person wants to write: where to look.  What is run must not refuse an
 * index that does not exist.  False: it is no such test.
 */
static bool
write_scope(ls_logql *q, ls_str op, ls_str value)
{
	bool regex = ls_str_eq(op, LS_STR("=~"));
	int n = regex ? count_alternatives(value) : 0;
	ls_str prefix = regex ? prefix_of(value) : LS_STR("");

	if (q->s->exact || q->scoped || value.len == 0 || op.data[0] == '!' ||
		(regex && n == 0 && prefix.len == 0))
		return false;
	ls_logql_begin_term(q);
	q->scoped = true;
	if (n > 1)
		return write_values(q->out, LS_STR("index"), value);
	ls_buf_lit(q->out, "index=");
	if (prefix.len > 0)
	{
		ls_buf_str(q->out, prefix);
		ls_buf_char(q->out, '*');
	}
	else
		ls_query_write_text(q->out, value);
	return true;
}

static bool
write_late(ls_logql *q, ls_str name, ls_str op, ls_str value)
{
	bool good;

	if (q->late.arena == NULL)
		ls_buf_init(&q->late, q->s->arena);
	q->in_stages = true;
	ls_buf_lit(&q->late, " | where ");
	good = write_match(q, &q->late, name, op, value);
	q->in_stages = false;
	return good && (!q->late.failed || ls_query_source_fail(q->s, NULL));
}

bool
ls_logql_selector(ls_logql *q)
{
	ls_query_source *s = q->s;

	if (!ls_query_source_take(s, "{"))
		return ls_query_source_fail(s, NULL);
	q->selector = true;
	while (!ls_query_source_take(s, "}"))
	{
		ls_str name = ls_query_source_name(s);
		ls_str op = read_operator(s);
		ls_str value;

		if (name.len == 0 || op.len == 0 || op.data[0] == '<' || op.data[0] == '>' ||
			ls_str_eq(op, LS_STR("==")) || !ls_logql_string(s, &value))
			return ls_query_source_fail(s, NULL);
		/* True for every event. */
		if (ls_str_eq(op, LS_STR("=~")) && ls_str_eq(value, LS_STR(".*")))
			;
		else if (is_index(q, name))
		{
			if (!write_scope(q, op, value) && !write_late(q, name, op, value))
				return false;
		}
		else
		{
			ls_logql_begin_term(q);
			if (!write_match(q, q->out, name, op, value))
				return false;
		}
		if (!ls_query_source_take(s, ",") && ls_query_source_char(s, 0) != '}')
			return ls_query_source_fail(s, NULL);
	}
	q->selector = false;
	return true;
}

/* ---- label filters ---- */

static bool
read_label_test(ls_logql *q, ls_buf *out)
{
	ls_query_source *s = q->s;
	bool has_or;
	ls_str name;
	ls_str op;
	ls_str value;
	size_t start;

	if (ls_query_source_take(s, "("))
	{
		if (++s->depth > MAX_PARENTHESES)
			return ls_query_source_fail(s, "parentheses nested as deep as these");
		ls_buf_char(out, '(');
		if (!ls_logql_label_tests(q, out, &has_or) || !ls_query_source_take(s, ")"))
			return ls_query_source_fail(s, NULL);
		ls_buf_char(out, ')');
		s->depth--;
		return true;
	}
	name = ls_query_source_name(s);
	op = read_operator(s);
	if (name.len == 0 || op.len == 0)
		return ls_query_source_fail(s, NULL);
	if (is_index(q, name))
		q->by_index = true;
	ls_query_source_spaces(s);
	if (ls_query_source_char(s, 0) == '"' || ls_query_source_char(s, 0) == '`')
	{
		if (!ls_logql_string(s, &value))
			return false;
		if (op.data[0] == '<' || op.data[0] == '>' || ls_str_eq(op, LS_STR("==")))
			return ls_query_source_fail(s, NULL);
		return write_match(q, out, name, op, value);
	}
	if (ls_query_source_word(s, "ip"))
		return ls_query_source_fail(s, "ip()");
	ls_query_source_spaces(s);
	start = s->pos;
	while (ls_query_source_char(s, 0) != '\0' &&
		   strchr(" \t\r\n|,()[]{}\"`", ls_query_source_char(s, 0)) == NULL)
		s->pos++;
	value = ls_str_make(s->text.data + start, s->pos - start);
	if (!ls_query_is_number(value))
		return ls_query_source_fail(s, value.len > 0 && value.data[0] >= '0' && value.data[0] <= '9'
										   ? "a comparison with a duration or a size"
										   : NULL);
	if (ends_with(op, "~"))
		return ls_query_source_fail(s, NULL);
	if (!write_comparison(q, out, name, ls_str_eq(op, LS_STR("==")) ? "=" : op.data))
		return false;
	ls_buf_str(out, value);
	return true;
}

/*
 * What a comma joins to the tests before it is all that follows: a, b or c is a and (b or c).  `and` binds
 * tighter than `or`, as here.
 */
bool
ls_logql_label_tests(ls_logql *q, ls_buf *out, bool *has_or)
{
	ls_query_source *s = q->s;
	size_t joined =
		0; /* where what follows the last comma is written; 0: it needs no parentheses */
	int opened = 0;

	*has_or = false;
	for (;;)
	{
		if (!read_label_test(q, out))
			return false;
		if (ls_query_source_take(s, ","))
		{
			ls_buf_lit(out, " AND ");
			joined = out->len;
		}
		else if (ls_query_source_word(s, "and"))
			ls_buf_lit(out, " AND ");
		else if (ls_query_source_word(s, "or"))
		{
			if (joined > 0 && !ls_query_insert(out, joined, '('))
				return ls_query_source_fail(s, NULL);
			opened += joined > 0;
			joined = 0;
			*has_or = *has_or || opened == 0;
			ls_buf_lit(out, " OR ");
		}
		else
			break;
	}
	for (; opened > 0; opened--)
		ls_buf_char(out, ')');
	return true;
}

/* ---- ranges ---- */

/* A whole number with a limit; -1: there is none. */
int64_t
ls_logql_integer(ls_query_source *s)
{
	int64_t n = -1;

	ls_query_source_spaces(s);
	for (; ls_query_source_char(s, 0) >= '0' && ls_query_source_char(s, 0) <= '9'; s->pos++)
	{
		n = (n < 0 ? 0 : n) * 10 + (ls_query_source_char(s, 0) - '0');
		if (n > 1000000000)
			n = 1000000000;
	}
	return n;
}

bool
ls_logql_range(ls_logql *q)
{
	static const struct
	{
		const char *name;
		int64_t seconds;
	} units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}, {"y", 31536000}};
	ls_query_source *s = q->s;

	if (q->millis != 0)
		return ls_query_source_fail(s, NULL);
	if (ls_query_source_take(s, "$"))
	{
		q->whole_range = ls_str_eq(ls_query_source_name(s), LS_STR("__range"));
		q->chosen = !q->whole_range;
		q->seconds = 60;
	}
	while (!ls_query_source_take(s, "]"))
	{
		int64_t n = ls_logql_integer(s);
		ls_str unit = ls_query_source_name(s);
		size_t i = 0;
		/* 1h30m: the name has the unit and the next number. */
		size_t len = 0;

		while (len < unit.len && unit.data[len] >= 'a' && unit.data[len] <= 'z')
			len++;
		s->pos -= unit.len - len;
		unit.len = len;
		if (s->exact && n >= 0 && ls_str_eq(unit, LS_STR("ms")))
		{
			q->millis += n;
			continue;
		}
		while (i < sizeof(units) / sizeof(units[0]) &&
			   !ls_str_eq(unit, ls_str_make(units[i].name, 1)))
			i++;
		if (n < 0 || q->chosen || q->whole_range || i == sizeof(units) / sizeof(units[0]))
			return ls_query_source_fail(s, "this range");
		q->seconds += n * units[i].seconds;
		if (q->seconds > INT64_C(31536000) * 100)
			return ls_query_source_fail(s, "this range");
	}
	if (ls_query_source_word(s, "offset"))
		return ls_query_source_fail(s, "offset");
	q->millis += q->seconds * 1000;
	if (s->exact)
		return (q->millis > 0 && !q->chosen && !q->whole_range) ||
			   ls_query_source_fail(s, "this range");
	return (q->seconds > 0 && q->seconds < INT64_C(31536000) * 100) ||
		   ls_query_source_fail(s, "this range");
}
