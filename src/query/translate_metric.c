/*-------------------------------------------------------------------------
 *
 * translate_metric.c
 *	  LogQL's metrics in our language: rate(...), sum by (x) (...) (pure).
 *
 * A function over a range becomes timechart, with the range as span.  LogQL makes one
 * series for each stream, ours has one in total unless there is `by`; so aggregations are
 * translated only where they mean the same (a sum of counts, a maximum of maxima).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate_logql.h"

#include <stdio.h>
#include <stdlib.h>

/* What may be aggregated again, and by what. */
typedef enum metric_kind
{
	METRIC_SUM,
	METRIC_MIN,
	METRIC_MAX,
	METRIC_OTHER
} metric_kind;

typedef struct metric
{
	metric_kind kind;
	char aggregate[16]; /* "count", or the function of the unwrapped label */
	const char *as;     /* its name, or NULL */
	bool per_second;
	bool bytes;
	ls_str by[LS_LOGQL_MAX_BY];
	int n_by;
	int limit;
	bool aggregated; /* by sum and the like: one series in total */
} metric;

static const struct
{
	const char *name;
	const char *aggregate;
	metric_kind kind;
	bool per_second;
	bool bytes;
} functions[] = {
	{"count_over_time", "count", METRIC_SUM, false, false},
	{"rate", "count", METRIC_SUM, true, false},
	{"bytes_over_time", "sum", METRIC_SUM, false, true},
	{"bytes_rate", "sum", METRIC_SUM, true, true},
	{"sum_over_time", "sum", METRIC_SUM, false, false},
	{"avg_over_time", "avg", METRIC_OTHER, false, false},
	{"min_over_time", "min", METRIC_MIN, false, false},
	{"max_over_time", "max", METRIC_MAX, false, false},
	{"first_over_time", "last", METRIC_OTHER, false, false},
	{"last_over_time", "first", METRIC_OTHER, false, false},
	{"quantile_over_time", "p", METRIC_OTHER, false, false},
};

#define N_FUNCTIONS ((int) (sizeof(functions) / sizeof(functions[0])))

/* Functions and aggregations that make a text LogQL, even those that we do not translate. */
static const char *const others[] = {
	"sum",
	"min",
	"max",
	"avg",
	"count",
	"stddev",
	"stdvar",
	"topk",
	"bottomk",
	"sort",
	"sort_desc",
	"absent_over_time",
	"rate_counter",
	"stddev_over_time",
	"stdvar_over_time",
	"label_replace",
	NULL,
};

static int
find_function(ls_str name)
{
	for (int i = 0; i < N_FUNCTIONS; i++)
		if (ls_str_eq(name, ls_str_make(functions[i].name, strlen(functions[i].name))))
			return i;
	return -1;
}

static bool
is_other(ls_str name)
{
	for (int i = 0; others[i] != NULL; i++)
		if (ls_str_eq(name, ls_str_make(others[i], strlen(others[i]))))
			return true;
	return false;
}

bool
ls_query_is_logql(ls_str text)
{
	ls_query_source source = {.text = text};
	ls_str name;

	while (ls_query_source_take(&source, "("))
		;
	if (ls_query_source_take(&source, "{"))
		return true;
	name = ls_query_source_name(&source);
	if (find_function(name) < 0 && !is_other(name))
		return false;
	if (!ls_query_source_take(&source, "(") && !ls_query_source_word(&source, "by") &&
		!ls_query_source_word(&source, "without"))
		return false;
	return memchr(text.data, '{', text.len) != NULL;
}

/* by (a, b); *found: there is one. */
static bool
read_by(ls_query_source *s, metric *m, bool *found)
{
	*found = false;
	if (ls_query_source_word(s, "without"))
		return ls_query_source_fail(s, "without");
	if (!ls_query_source_word(s, "by"))
		return true;
	*found = true;
	m->n_by = 0;
	if (!ls_query_source_take(s, "("))
		return ls_query_source_fail(s, NULL);
	while (!ls_query_source_take(s, ")"))
	{
		ls_str name = ls_query_source_name(s);

		if (name.len == 0)
			return ls_query_source_fail(s, NULL);
		if (m->n_by == LS_LOGQL_MAX_BY)
			return ls_query_source_fail(s, "by with so many labels");
		m->by[m->n_by++] = ls_logql_label(s, name);
		if (!ls_query_source_take(s, ",") && ls_query_source_char(s, 0) != ')')
			return ls_query_source_fail(s, NULL);
	}
	return true;
}

/* 0.95 of quantile_over_time, in percent; -1: not a percentile that we have. */
static int
read_quantile(ls_query_source *s)
{
	int percent = 0;

	if (!ls_query_source_take(s, "0.") && !ls_query_source_take(s, "."))
		return -1;
	for (int digits = 0; digits < 2; digits++)
	{
		char c = ls_query_source_char(s, 0);

		percent *= 10;
		if (c >= '0' && c <= '9')
		{
			percent += c - '0';
			s->pos++;
		}
	}
	while (ls_query_source_char(s, 0) == '0')
		s->pos++;
	return ls_query_source_take(s, ",") ? percent : -1;
}

/* by (a) or without (a), as they are written: the answer has these names. */
static bool
read_grouping(ls_query_source *s, ls_logql_step *step)
{
	bool without = ls_query_source_word(s, "without");

	if (!without && !ls_query_source_word(s, "by"))
		return true;
	if (step->grouped || !ls_query_source_take(s, "("))
		return ls_query_source_fail(s, NULL);
	step->grouped = true;
	step->without = without;
	while (!ls_query_source_take(s, ")"))
	{
		ls_str name = ls_query_source_name(s);

		if (name.len == 0)
			return ls_query_source_fail(s, NULL);
		if (step->n_labels == LS_LOGQL_MAX_BY)
			return ls_query_source_fail(s, "by with so many labels");
		step->labels[step->n_labels++] = name;
		if (!ls_query_source_take(s, ",") && ls_query_source_char(s, 0) != ')')
			return ls_query_source_fail(s, NULL);
	}
	return true;
}

static bool
read_range_function(ls_logql *q, int function, metric *m)
{
	ls_query_source *s = q->s;
	bool is_quantile = strcmp(functions[function].aggregate, "p") == 0;
	bool found;

	m->kind = functions[function].kind;
	m->per_second = functions[function].per_second;
	m->bytes = functions[function].bytes;
	snprintf(m->aggregate, sizeof(m->aggregate), "%s", functions[function].aggregate);
	if (!ls_query_source_take(s, "("))
		return ls_query_source_fail(s, NULL);
	if (is_quantile)
	{
		int percent = read_quantile(s);

		if (percent < 0)
			return ls_query_source_fail(s, "this quantile");
		snprintf(m->aggregate, sizeof(m->aggregate), "p%d", percent);
	}
	if (q->metric)
		return ls_query_source_fail(s, "several metrics in one query");
	q->metric = true;
	if (!ls_logql_pipeline(q))
		return false;
	if (q->millis == 0 || !ls_query_source_take(s, ")"))
		return ls_query_source_fail(s, NULL);
	if (m->bytes)
		ls_query_source_leave_out(s, "bytes of characters beyond ASCII, of which len() counts one");
	if (strcmp(m->aggregate, "count") == 0 && m->per_second && q->unwrapped.len > 0)
		snprintf(m->aggregate, sizeof(m->aggregate), "sum");
	else if (strcmp(m->aggregate, "count") == 0 || m->bytes)
		q->unwrapped.len = 0;
	else if (q->unwrapped.len == 0)
		return ls_query_source_fail(s, NULL);
	if (s->exact)
	{
		ls_logql_step own = {.name = LS_STR("")};

		/* avg_over_time(...) by (a): its series have these labels. */
		if (!read_grouping(s, &own) || own.without)
			return ls_query_source_fail(s, "without");
		if (own.grouped)
			q->steps[q->n_steps++] = own;
		return true;
	}
	return read_by(s, m, &found);
}

static bool read_metric(ls_logql *q, metric *m);

/* An aggregation of a query that is run: it is noted as it is written. */
static bool
read_step(ls_logql *q, ls_str name, metric *m)
{
	static const char *const names[] = {"sum",  "min",     "max",  "avg",      "count",
										"topk", "bottomk", "sort", "sort_desc"};
	ls_query_source *s = q->s;
	ls_logql_step step = {.name = name};
	size_t i = 0;

	while (i < sizeof(names) / sizeof(names[0]) &&
		   !ls_str_eq(name, ls_str_make(names[i], strlen(names[i]))))
		i++;
	if (i == sizeof(names) / sizeof(names[0]))
		return ls_query_source_fail(s, is_other(name) ? "this function" : NULL);
	if (!read_grouping(s, &step) || !ls_query_source_take(s, "("))
		return ls_query_source_fail(s, NULL);
	if (i == 5 || i == 6)
	{
		step.k = ls_logql_integer(s);
		if (step.k < 1 || !ls_query_source_take(s, ","))
			return ls_query_source_fail(s, NULL);
	}
	if (!read_metric(q, m) || !ls_query_source_take(s, ")") || !read_grouping(s, &step))
		return ls_query_source_fail(s, NULL);
	if (q->n_steps == LS_LOGQL_MAX_STEPS)
		return ls_query_source_fail(s, "functions nested as deep as these");
	/* Series have no order in a matrix. */
	if (i < 7)
		q->steps[q->n_steps++] = step;
	return true;
}

static bool
read_aggregation(ls_logql *q, ls_str name, metric *m)
{
	ls_query_source *s = q->s;
	bool top = ls_str_eq(name, LS_STR("topk"));
	bool sum = ls_str_eq(name, LS_STR("sum"));
	bool min = ls_str_eq(name, LS_STR("min"));
	bool max = ls_str_eq(name, LS_STR("max"));
	bool sort = ls_str_eq(name, LS_STR("sort")) || ls_str_eq(name, LS_STR("sort_desc"));
	metric outer = {0};
	bool before;
	bool after = false;

	if (!top && !sum && !min && !max && !sort)
	{
		if (ls_str_eq(name, LS_STR("avg")))
			return ls_query_source_fail(s, "avg of several series");
		if (ls_str_eq(name, LS_STR("bottomk")))
			return ls_query_source_fail(s, "bottomk");
		return ls_query_source_fail(s, "this function");
	}
	if (!read_by(s, &outer, &before))
		return false;
	if (!ls_query_source_take(s, "("))
		return ls_query_source_fail(s, NULL);
	if (top)
	{
		int64_t n = ls_logql_integer(s);

		if (n < 1 || n > 100 || !ls_query_source_take(s, ","))
			return ls_query_source_fail(s, "topk of more than 100");
		outer.limit = (int) n;
	}
	if (!read_metric(q, m) || !ls_query_source_take(s, ")"))
		return ls_query_source_fail(s, NULL);
	if (!before && !read_by(s, &outer, &after))
		return false;
	if ((sum && m->kind != METRIC_SUM) || (min && m->kind != METRIC_MIN) ||
		(max && m->kind != METRIC_MAX))
		return ls_query_source_fail(s, "this aggregation of several series");
	if (top && (m->n_by == 0 || before || after))
		return ls_query_source_fail(s, "topk without sum by (...)");
	if (top)
	{
		m->limit = outer.limit;
		if (!q->whole_range)
			ls_query_source_leave_out(s, "that each time has its own most frequent series");
	}
	else if (!sort)
	{
		m->aggregated = true;
		memcpy(m->by, outer.by, sizeof(m->by));
		m->n_by = outer.n_by;
	}
	return true;
}

static bool
read_metric(ls_logql *q, metric *m)
{
	ls_query_source *s = q->s;
	ls_str name;
	int function;

	if (++s->depth > 20)
		return ls_query_source_fail(s, "functions nested as deep as these");
	if (ls_query_source_take(s, "("))
	{
		if (!read_metric(q, m) || !ls_query_source_take(s, ")"))
			return ls_query_source_fail(s, NULL);
	}
	else
	{
		name = ls_query_source_name(s);
		function = find_function(name);
		if (function >= 0 ? !read_range_function(q, function, m)
			: s->exact    ? !read_step(q, name, m)
						  : !read_aggregation(q, name, m))
			return false;
	}
	s->depth--;
	return true;
}

/* A span in the largest unit that measures it. */
static void
write_span(ls_buf *out, int64_t seconds)
{
	if (seconds % 86400 == 0)
		ls_buf_printf(out, " span=%lldd", (long long) (seconds / 86400));
	else if (seconds % 3600 == 0)
		ls_buf_printf(out, " span=%lldh", (long long) (seconds / 3600));
	else if (seconds % 60 == 0)
		ls_buf_printf(out, " span=%lldm", (long long) (seconds / 60));
	else
		ls_buf_printf(out, " span=%llds", (long long) seconds);
}

static bool
write_metric(ls_logql *q, const metric *m, ls_buf *out)
{
	const char *column = strcmp(m->aggregate, "count") == 0 ? "count"
						 : m->bytes                         ? "bytes"
															: "value";

	ls_buf_printf(out, "%s| %s", out->len > 0 ? " " : "", q->whole_range ? "stats" : "timechart");
	if (q->whole_range && m->per_second)
		return ls_query_source_fail(q->s, "a rate over the whole range");
	if (!q->whole_range && (!q->chosen || m->per_second))
		write_span(out, q->seconds);
	if (m->limit > 0 && !q->whole_range)
		ls_buf_printf(out, " limit=%d", m->limit);
	ls_buf_printf(out, " %s", m->aggregate);
	if (m->bytes)
		ls_buf_lit(out, "(len(event)) as bytes");
	else if (q->unwrapped.len > 0)
	{
		ls_buf_char(out, '(');
		if (!ls_query_write_field(out, q->unwrapped))
			return ls_query_source_fail(q->s, NULL);
		ls_buf_lit(out, ") as value");
	}
	for (int i = 0; i < m->n_by; i++)
	{
		ls_buf_printf(out, i == 0 ? " by " : ", ");
		if (!ls_query_write_field(out, m->by[i]))
			return ls_query_source_fail(q->s, NULL);
	}
	if (q->whole_range && m->limit > 0)
		ls_buf_printf(out, " | sort %d -%s", m->limit, column);
	if (m->per_second)
	{
		ls_buf_printf(out, " | eval rate = %s / %lld", column, (long long) q->seconds);
		column = "rate";
	}
	/* > 5 */
	for (size_t i = 0; i < 6; i++)
	{
		static const char *const operators[] = {">=", "<=", "==", "!=", ">", "<"};
		size_t start;

		if (!ls_query_source_take(q->s, operators[i]))
			continue;
		ls_query_source_spaces(q->s);
		start = q->s->pos;
		while (ls_query_source_char(q->s, 0) == '.' ||
			   (ls_query_source_char(q->s, 0) >= '0' && ls_query_source_char(q->s, 0) <= '9'))
			q->s->pos++;
		ls_buf_printf(out, " | where %s %s %.*s", column,
					  strcmp(operators[i], "==") == 0 ? "=" : operators[i],
					  (int) (q->s->pos - start), q->s->text.data + start);
		break;
	}
	return true;
}

bool
ls_query_read_logql(ls_query_source *source, ls_buf *out)
{
	ls_logql q = {.s = source, .out = out};
	metric m = {0};

	ls_query_source_spaces(source);
	if (ls_query_source_char(source, 0) == '{')
	{
		if (!ls_logql_pipeline(&q))
			return false;
		if (out->len == 0)
			ls_buf_char(out, '*');
	}
	else if (!read_metric(&q, &m) || !write_metric(&q, &m, out))
		return ls_query_source_fail(source, NULL);
	else if (!m.aggregated && m.n_by == 0)
		ls_query_source_leave_out(source, "a series for each stream");
	ls_query_source_spaces(source);
	if (source->pos < source->text.len)
		return ls_query_source_fail(source, q.metric ? "arithmetic with metrics" : NULL);
	return true;
}

/* ---- queries that are run ---- */

static void
write_member(ls_buf *out, const char *name, ls_str value)
{
	ls_buf_printf(out, ",\"%s\":", name);
	ls_json_quote(out, value);
}

static bool
write_steps(const ls_logql *q, ls_arena *arena, ls_buf *out)
{
	ls_buf field;

	ls_buf_lit(out, ",\"steps\":[");
	for (int i = 0; i < q->n_steps; i++)
	{
		const ls_logql_step *step = &q->steps[i];

		ls_buf_printf(out, "%s{\"k\":%lld,\"grouped\":%s,\"without\":%s", i > 0 ? "," : "",
					  (long long) step->k, step->grouped ? "true" : "false",
					  step->without ? "true" : "false");
		write_member(out, "name", step->name);
		ls_buf_lit(out, ",\"labels\":[");
		for (int j = 0; j < step->n_labels; j++)
		{
			if (j > 0)
				ls_buf_char(out, ',');
			ls_json_quote(out, step->labels[j]);
		}
		ls_buf_lit(out, "],\"fields\":[");
		for (int j = 0; j < step->n_labels; j++)
		{
			ls_buf_init(&field, arena);
			if (!ls_query_write_field(&field, ls_logql_label(q->s, step->labels[j])) ||
				field.failed)
				return false;
			if (j > 0)
				ls_buf_char(out, ',');
			ls_json_quote(out, ls_str_make(field.data, field.len));
		}
		ls_buf_lit(out, "]}");
	}
	ls_buf_char(out, ']');
	return true;
}

/* > 5, at the end. */
static bool
read_comparison(ls_query_source *s, ls_buf *out)
{
	static const char *const operators[] = {">=", "<=", "==", "!=", ">", "<"};

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
	{
		size_t start;
		ls_str number;

		if (!ls_query_source_take(s, operators[i]))
			continue;
		ls_query_source_spaces(s);
		start = s->pos;
		while (strchr("-.0123456789", ls_query_source_char(s, 0)) != NULL &&
			   ls_query_source_char(s, 0) != '\0')
			s->pos++;
		number = ls_str_make(s->text.data + start, s->pos - start);
		if (!ls_query_is_number(number) || number.len > 30)
			return ls_query_source_fail(s, "a comparison with anything but a number");
		write_member(out, "operator", ls_str_make(operators[i], strlen(operators[i])));
		ls_buf_printf(out, ",\"than\":\"%.*s\"", (int) number.len, number.data);
		return true;
	}
	return true;
}

/* vector(1) + vector(1): how Grafana tries whether there is a Loki. */
static bool
read_vectors(ls_query_source *s, ls_buf *out)
{
	int64_t sum = 0;
	int n = 0;

	do
	{
		int64_t number;

		if (n++ == 64 || !ls_query_source_word(s, "vector") || !ls_query_source_take(s, "("))
			return ls_query_source_fail(s, n > 1 ? "arithmetic with metrics" : NULL);
		number = ls_logql_integer(s);
		if (number < 0 || !ls_query_source_take(s, ")"))
			return ls_query_source_fail(s, "vector of anything but a whole number");
		sum += number;
	} while (ls_query_source_take(s, "+"));
	ls_buf_printf(out, "{\"kind\":\"vector\",\"value\":%lld", (long long) sum);
	return true;
}

static bool
read_run(ls_logql *q, ls_arena *arena, ls_buf *out)
{
	ls_query_source *s = q->s;
	metric m = {0};
	ls_buf argument;
	size_t start;

	ls_query_source_spaces(s);
	start = s->pos;
	if (ls_query_source_word(s, "vector"))
	{
		s->pos = start;
		return read_vectors(s, out);
	}
	if (ls_query_source_char(s, 0) == '{')
	{
		if (!ls_logql_pipeline(q))
			return false;
		ls_buf_printf(out, "{\"kind\":\"logs\",\"parsed\":%s", q->parsed ? "true" : "false");
	}
	else
	{
		if (!read_metric(q, &m))
			return false;
		ls_buf_init(&argument, arena);
		if (m.bytes)
			ls_buf_lit(&argument, "len(event)");
		else if (q->unwrapped.len > 0 && !ls_query_write_field(&argument, q->unwrapped))
			return ls_query_source_fail(s, NULL);
		ls_buf_printf(out, "{\"kind\":\"metric\",\"range\":%lld,\"perSecond\":%s",
					  (long long) q->millis, m.per_second ? "true" : "false");
		write_member(out, "function", ls_str_make(m.aggregate, strlen(m.aggregate)));
		write_member(out, "argument", ls_str_make(argument.data, argument.len));
		if (strcmp(m.aggregate, "first") == 0 || strcmp(m.aggregate, "last") == 0)
			return ls_query_source_fail(s, "first_over_time and last_over_time");
		if (!write_steps(q, arena, out) || !read_comparison(s, out))
			return ls_query_source_fail(s, NULL);
	}
	write_member(out, "query",
				 q->out->len > 0 ? ls_str_make(q->out->data, q->out->len) : LS_STR("*"));
	return true;
}

bool
ls_logql_read(ls_str text, ls_arena *arena, ls_buf *out, const char **problem, size_t *position)
{
	ls_query_source source = {.arena = arena, .text = text, .exact = true};
	ls_buf query;
	ls_logql q = {.s = &source, .out = &query};
	bool good;

	ls_buf_init(&source.left_out, arena);
	ls_buf_init(&query, arena);
	good = read_run(&q, arena, out) && !source.failed;
	ls_query_source_spaces(&source);
	if (good && source.pos < text.len)
		good = ls_query_source_fail(&source, q.metric ? "arithmetic with metrics" : NULL);
	ls_buf_char(out, '}');
	*problem = out->failed || query.failed ? "a query of this length" : source.problem;
	*position = source.pos;
	return good && !out->failed && !query.failed;
}
