/*-------------------------------------------------------------------------
 *
 * translate_logsql_pipe.c
 *	  Pipes of LogsQL as stages of ours (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate_logsql.h"

#include <stdio.h>

typedef struct logsql_stats
{
	ls_buf by;
	int n_by;
	int64_t seconds; /* of a bucket of _time; 0: not by time */
} logsql_stats;

/* by (host, _time:5m), also without parentheses. */
static bool
read_by(ls_logsql *q, logsql_stats *stats)
{
	ls_query_source *s = q->s;
	bool list = ls_query_source_take(s, "(");

	if (stats->n_by > 0 || stats->seconds > 0)
		return ls_query_source_fail(s, NULL);
	if (list)
	{
		s->marks++;
		s->certain = true;
	}
	do
	{
		ls_str name;

		if (!ls_logsql_name(s, &name))
			return false;
		if (ls_query_source_char(s, 0) == ':')
		{
			s->pos++;
			if (!ls_str_eq(name, LS_STR("_time")) || stats->seconds > 0 ||
				(stats->seconds = ls_logsql_duration(s)) <= 0)
				return ls_query_source_fail(s, "buckets of this field");
			continue;
		}
		if (stats->n_by++ > 0)
			ls_buf_lit(&stats->by, ", ");
		if (!ls_logsql_field(q, &stats->by, name))
			return false;
	} while (ls_query_source_take(s, ","));
	return !list || ls_query_source_take(s, ")") || ls_query_source_fail(s, NULL);
}

/* 0.95, before a comma, in percent; -1: not a percentile that we have. */
static int
read_percent(ls_query_source *s)
{
	ls_str text = ls_logsql_word(s, false);
	int percent = 0;

	if (text.len < 3 || text.len > 4 || text.data[0] != '0' || text.data[1] != '.' ||
		!ls_query_is_number(text))
		return -1;
	percent = (text.data[2] - '0') * 10 + (text.len == 4 ? text.data[3] - '0' : 0);
	return percent > 0 && ls_query_source_take(s, ",") ? percent : -1;
}

static const struct
{
	const char *name;
	const char *ours;
} stats_functions[] = {
	{"count", "count"},
	{"count_uniq", "dc"},
	{"count_uniq_hash", "dc"},
	{"sum", "sum"},
	{"avg", "avg"},
	{"min", "min"},
	{"max", "max"},
	{"median", "p50"},
	{"quantile", "p"},
	{"uniq_values", "values"},
};

/* Our name of a function; NULL: there is none. */
static const char *
stats_function(ls_str name)
{
	for (size_t i = 0; i < sizeof(stats_functions) / sizeof(stats_functions[0]); i++)
		if (ls_str_eq(name, ls_str_make(stats_functions[i].name, strlen(stats_functions[i].name))))
			return stats_functions[i].ours;
	return NULL;
}

/* sum(bytes) as total; `as` may be missing. */
static bool
read_aggregate(ls_logsql *q, ls_buf *out)
{
	ls_query_source *s = q->s;
	const char *function = stats_function(ls_logsql_word(s, false));
	size_t after;
	ls_str name;

	if (function == NULL)
		return ls_query_source_fail(s, "this function of stats");
	if (!ls_query_source_take(s, "("))
		return ls_query_source_fail(s, NULL);
	ls_buf_printf(out, "%s", function);
	if (strcmp(function, "p") == 0)
	{
		int percent = read_percent(s);

		if (percent < 0)
			return ls_query_source_fail(s, "this quantile");
		ls_buf_printf(out, "%d", percent);
	}
	(void) ls_query_source_take(s, "*");
	if (!ls_query_source_take(s, ")"))
	{
		ls_buf_char(out, '(');
		if (!ls_logsql_name(s, &name) || !ls_logsql_field(q, out, name))
			return false;
		if (!ls_query_source_take(s, ")"))
			return ls_query_source_fail(s, "a function of several fields");
		ls_buf_char(out, ')');
	}
	else if (strcmp(function, "count") != 0)
		return ls_query_source_fail(s, "this function of all fields");
	if (ls_query_source_word(s, "if"))
		return ls_query_source_fail(s, "if (...) in stats");
	after = s->pos;
	if (ls_query_source_word(s, "by"))
	{
		s->pos = after;
		return true;
	}
	if (!ls_query_source_word(s, "as"))
	{
		if (ls_logsql_at_end(s) || ls_query_source_char(s, 0) == ',')
			return true;
		s->marks++;
	}
	ls_buf_lit(out, " as ");
	return ls_logsql_name(s, &name) && ls_logsql_field(q, out, name);
}

static bool
read_stats(ls_logsql *q, ls_buf *out)
{
	ls_query_source *s = q->s;
	logsql_stats stats = {0};
	ls_buf aggregates;

	ls_buf_init(&stats.by, s->arena);
	ls_buf_init(&aggregates, s->arena);
	if (ls_query_source_word(s, "by") && !read_by(q, &stats))
		return false;
	do
	{
		if (aggregates.len > 0)
			ls_buf_lit(&aggregates, ", ");
		if (!read_aggregate(q, &aggregates))
			return false;
	} while (ls_query_source_take(s, ","));
	if (ls_query_source_word(s, "by") && !read_by(q, &stats))
		return false;
	if (stats.seconds > 0)
	{
		ls_buf_lit(out, "timechart span=");
		ls_logsql_seconds(out, stats.seconds);
	}
	else
		ls_buf_lit(out, "stats");
	ls_buf_char(out, ' ');
	ls_buf_append(out, aggregates.data, aggregates.len);
	if (stats.n_by > 0)
	{
		ls_buf_lit(out, " by ");
		ls_buf_append(out, stats.by.data, stats.by.len);
	}
	return (!aggregates.failed && !stats.by.failed) || ls_query_source_fail(s, NULL);
}

/* a, b; also in parentheses. */
static bool
read_fields(ls_logsql *q, ls_buf *out)
{
	ls_query_source *s = q->s;
	bool list = ls_query_source_take(s, "(");
	int n = 0;

	do
	{
		ls_str name;

		if (n++ > 0)
			ls_buf_lit(out, ", ");
		if (!ls_logsql_name(s, &name) || !ls_logsql_field(q, out, name))
			return ls_query_source_fail(s, NULL);
	} while (ls_query_source_take(s, ","));
	return !list || ls_query_source_take(s, ")") || ls_query_source_fail(s, NULL);
}

/* rename a as b, c as d */
static bool
read_renames(ls_logsql *q, ls_buf *out)
{
	ls_query_source *s = q->s;
	int n = 0;

	do
	{
		ls_str from;
		ls_str to;

		if (!ls_logsql_name(s, &from))
			return false;
		(void) ls_query_source_word(s, "as");
		if (n++ > 0)
			ls_buf_lit(out, ", ");
		if (!ls_logsql_name(s, &to) || !ls_logsql_field(q, out, from))
			return false;
		ls_buf_lit(out, " as ");
		if (!ls_logsql_field(q, out, to))
			return false;
	} while (ls_query_source_take(s, ","));
	return true;
}

/* A whole number, copied. */
static bool
read_count(ls_logsql *q, ls_buf *out)
{
	ls_str word = ls_logsql_word(q->s, false);

	if (word.len > 6 || !ls_query_is_number(word) || word.data[0] == '-')
		return ls_query_source_fail(q->s, "this number of rows");
	ls_buf_str(out, word);
	return true;
}

/* sort by (a desc, b) desc limit 10 */
static bool
read_sort(ls_logsql *q, ls_buf *out)
{
	ls_query_source *s = q->s;
	ls_str names[8];
	bool down[8];
	bool list;
	bool all;
	int n = 0;

	if (!ls_query_source_word(s, "by") || (list = ls_query_source_take(s, "("), false))
		return ls_query_source_fail(s, "sort without by");
	do
	{
		if (n == 8)
			return ls_query_source_fail(s, "sort by so many fields");
		if (!ls_logsql_name(s, &names[n]))
			return false;
		down[n] = ls_query_source_word(s, "desc");
		if (!down[n])
			(void) ls_query_source_word(s, "asc");
		n++;
	} while (ls_query_source_take(s, ","));
	if (list && !ls_query_source_take(s, ")"))
		return ls_query_source_fail(s, NULL);
	all = list && ls_query_source_word(s, "desc");
	s->marks += list;
	ls_buf_lit(out, "sort ");
	if (ls_query_source_word(s, "limit"))
	{
		if (!read_count(q, out))
			return false;
		ls_buf_char(out, ' ');
	}
	for (int i = 0; i < n; i++)
	{
		ls_buf_printf(out, "%s%s", i > 0 ? ", " : "", down[i] != all ? "-" : "");
		if (!ls_logsql_field(q, out, names[i]))
			return false;
	}
	return true;
}

/* uniq by (a, b), top 10 by (a): rows without the field are a value too, which top and dedup do not have. */
static bool
read_distinct(ls_logsql *q, ls_buf *out, bool top)
{
	ls_query_source *s = q->s;
	ls_buf fields;
	ls_buf count;

	ls_buf_init(&fields, s->arena);
	ls_buf_init(&count, s->arena);
	if (top && !ls_query_source_word(s, "by"))
	{
		if (!read_count(q, &count) || !ls_query_source_word(s, "by"))
			return ls_query_source_fail(s, NULL);
	}
	else if (top)
		ls_buf_lit(&count, "10");
	else
		(void) ls_query_source_word(s, "by");
	ls_query_source_spaces(s);
	s->marks += ls_query_source_char(s, 0) == '(';
	if (!read_fields(q, &fields) || fields.failed || count.failed)
		return ls_query_source_fail(s, NULL);
	ls_buf_printf(out, top ? "stats count as hits by " : "stats count by ");
	ls_buf_append(out, fields.data, fields.len);
	if (top)
		ls_buf_printf(out, " | sort %.*s -hits", (int) count.len, count.data);
	else
	{
		ls_buf_lit(out, " | fields ");
		ls_buf_append(out, fields.data, fields.len);
	}
	return true;
}

static bool
is_one_of(ls_str name, const char *first, const char *second, const char *third)
{
	const char *names[] = {first, second, third};

	for (int i = 0; i < 3; i++)
		if (names[i] != NULL && ls_str_eq(name, ls_str_make(names[i], strlen(names[i]))))
			return true;
	return false;
}

/* A pipe, after its |. */
static bool
read_pipe(ls_logsql *q, ls_buf *out)
{
	ls_query_source *s = q->s;
	size_t start = s->pos;
	ls_str name = ls_logsql_word(s, false);

	ls_buf_lit(out, " | ");
	if (is_one_of(name, "stats", NULL, NULL))
		return read_stats(q, out);
	if (stats_function(name) != NULL && ls_query_source_char(s, 0) == '(')
	{
		s->pos = start;
		return read_stats(q, out);
	}
	if (is_one_of(name, "filter", "where", NULL))
	{
		ls_buf_lit(out, "where ");
		return ls_logsql_filter(q, out, LS_STR(""));
	}
	if (is_one_of(name, "fields", "keep", NULL))
	{
		ls_buf_lit(out, "fields ");
		return read_fields(q, out);
	}
	if (is_one_of(name, "delete", "del", "rm") || is_one_of(name, "drop", NULL, NULL))
	{
		ls_buf_lit(out, "fields - ");
		return read_fields(q, out);
	}
	if (is_one_of(name, "rename", "mv", NULL))
	{
		ls_buf_lit(out, "rename ");
		return read_renames(q, out);
	}
	if (is_one_of(name, "limit", "head", NULL))
	{
		ls_buf_lit(out, "head ");
		return read_count(q, out);
	}
	if (is_one_of(name, "sort", "order", NULL))
		return read_sort(q, out);
	if (is_one_of(name, "uniq", "top", NULL))
		return read_distinct(q, out, name.data[0] == 't');
	if (is_one_of(name, "unpack_json", "unpack_logfmt", NULL))
	{
		s->marks++;
		ls_buf_printf(out, name.data[7] == 'j' ? "json" : "logfmt");
		return true;
	}
	return ls_query_source_fail(s, "this pipe");
}

bool
ls_query_read_logsql(ls_query_source *source, ls_buf *out)
{
	ls_logsql q = {.s = source};
	ls_buf terms;

	ls_buf_init(&q.times, source->arena);
	ls_buf_init(&terms, source->arena);
	if (!ls_logsql_filter(&q, &terms, LS_STR("")))
		return ls_query_source_fail(source, NULL);
	if (q.has_or && q.times.len > 0)
		return ls_query_source_fail(source, "_time beside or, without parentheses,");
	ls_buf_append(out, q.times.data, q.times.len);
	if (q.times.len > 0 && terms.len > 0)
		ls_buf_char(out, ' ');
	ls_buf_append(out, terms.data, terms.len);
	q.in_stage = true;
	while (ls_query_source_take(source, "|"))
		if (!read_pipe(&q, out))
			return ls_query_source_fail(source, NULL);
	ls_query_source_spaces(source);
	if (source->pos < source->text.len || terms.failed || q.times.failed)
		return ls_query_source_fail(source, NULL);
	return source->marks > 0;
}
