/*-------------------------------------------------------------------------
 *
 * measure.c
 *	  Buckets, classes and statuses that are counted, and the text that Prometheus reads (pure).
 *
 * All lists are fixed, so no request can make the number of series grow.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/measure.h"

#include <string.h>

const int64_t ls_histogram_bounds[LS_HISTOGRAM_BUCKETS - 1] = {
	5000,   10000,  25000,   50000,   75000,   100000,  250000,
	500000, 750000, 1000000, 2500000, 5000000, 7500000, 10000000};

const char *const ls_histogram_names[LS_HISTOGRAM_BUCKETS] = {
	"0.005", "0.01", "0.025", "0.05", "0.075", "0.1",  "0.25", "0.5",
	"0.75",  "1.0",  "2.5",   "5.0",  "7.5",   "10.0", "+Inf"};

const char *const ls_route_classes[LS_ROUTE_CLASSES] = {
	"ingest",    "service",    "console", "none",     "search", "logs",
	"tail",      "templates",  "export",  "reports",  "assist", "changes",
	"deletions", "evaluation", "auth",    "password", "public", "other"};

const char *const ls_status_names[LS_STATUSES] = {
	"101", "200", "201", "202", "204", "206", "301", "302", "303", "304",  "400", "401",
	"403", "404", "405", "408", "409", "410", "411", "412", "413", "415",  "417", "422",
	"426", "429", "431", "500", "501", "502", "503", "504", "505", "other"};

int
ls_route_class_of(const char *rate_class)
{
	if (strcmp(rate_class, "otlp") == 0)
		return LS_ROUTE_CLASS_INGEST;
	for (int i = 0; i < LS_ROUTE_CLASS_OTHER; i++)
	{
		if (strcmp(ls_route_classes[i], rate_class) == 0)
			return i;
	}
	return LS_ROUTE_CLASS_OTHER;
}

int
ls_status_number(int status)
{
	static const short numbers[LS_STATUSES - 1] = {
		101, 200, 201, 202, 204, 206, 301, 302, 303, 304, 400, 401, 403, 404, 405, 408, 409,
		410, 411, 412, 413, 415, 417, 422, 426, 429, 431, 500, 501, 502, 503, 504, 505};

	for (int i = 0; i < LS_STATUSES - 1; i++)
	{
		if (numbers[i] == status)
			return i;
	}
	return LS_STATUSES - 1;
}

/* ---- the text ---- */

/* Texts of help and values of labels; quotes are escaped in both, as OpenMetrics wants it. */
static void
put_escaped(ls_exposition *e, const char *text, bool quotes)
{
	for (const char *p = text; *p != '\0'; p++)
	{
		if (*p == '\\')
			ls_buf_lit(e->buf, "\\\\");
		else if (*p == '\n')
			ls_buf_lit(e->buf, "\\n");
		else if (*p == '"' && quotes)
			ls_buf_lit(e->buf, "\\\"");
		else
			ls_buf_char(e->buf, *p);
	}
}

static void
put(ls_exposition *e, const char *text)
{
	ls_buf_append(e->buf, text, strlen(text));
}

static bool
is_counter(const ls_exposition *e)
{
	return strcmp(e->type, "counter") == 0;
}

static void
put_comment(ls_exposition *e, const char *keyword)
{
	ls_buf_lit(e->buf, "# ");
	put(e, keyword);
	ls_buf_char(e->buf, ' ');
	put(e, e->name);
	if (!e->openmetrics && is_counter(e))
		ls_buf_lit(e->buf, "_total");
	ls_buf_char(e->buf, ' ');
}

void
ls_exposition_family(ls_exposition *e, const char *name, const char *type, const char *unit,
					 const char *help)
{
	e->name = name;
	e->type = type;
	put_comment(e, "TYPE");
	put(e, type);
	ls_buf_char(e->buf, '\n');
	if (e->openmetrics && unit[0] != '\0')
	{
		put_comment(e, "UNIT");
		put(e, unit);
		ls_buf_char(e->buf, '\n');
	}
	put_comment(e, "HELP");
	put_escaped(e, help, e->openmetrics);
	ls_buf_char(e->buf, '\n');
}

void
ls_exposition_sample(ls_exposition *e, const char *suffix, const ls_exposition_label *labels,
					 int n_labels, const char *number)
{
	char before = '{';

	put(e, e->name);
	put(e, is_counter(e) ? "_total" : suffix);
	for (int i = 0; i < n_labels; i++)
	{
		if (labels[i].name == NULL)
			continue;
		ls_buf_char(e->buf, before);
		before = ',';
		put(e, labels[i].name);
		ls_buf_lit(e->buf, "=\"");
		put_escaped(e, labels[i].value, true);
		ls_buf_char(e->buf, '"');
	}
	if (before == ',')
		ls_buf_char(e->buf, '}');
	ls_buf_char(e->buf, ' ');
	put(e, number);
	ls_buf_char(e->buf, '\n');
}

void
ls_exposition_end(ls_exposition *e)
{
	if (e->openmetrics)
		ls_buf_lit(e->buf, "# EOF\n");
}

/* Whoever names it gets it: Prometheus names it first, others do not name it at all. */
bool
ls_exposition_wanted(ls_str accept)
{
	static const char type[] = "application/openmetrics-text";

	for (size_t i = 0; i + sizeof(type) - 1 <= accept.len; i++)
	{
		if (ls_str_eq_nocase(ls_str_make(accept.data + i, sizeof(type) - 1),
							 ls_str_make(type, sizeof(type) - 1)))
			return true;
	}
	return false;
}
