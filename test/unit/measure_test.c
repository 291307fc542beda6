/*
 * measure_test.c: buckets of histograms, classes and statuses, and the text for Prometheus: what is
 * escaped, and what the two forms have.
 */
#include <stdlib.h>
#include <string.h>

#include "src/base/measure.h"
#include "src/gateway/gateway.h"
#include "test/unit/tap.h"

static char *
text_of(bool openmetrics)
{
	ls_arena *arena = ls_arena_create(NULL, 65536);
	ls_buf buf;
	ls_exposition e = {.buf = &buf, .openmetrics = openmetrics};
	ls_exposition_label labels[] = {{"a", "say \"x\\y\"\nz"}, {NULL, NULL}, {"b", ""}};
	char *text;

	ls_buf_init(&buf, arena);
	ls_exposition_family(&e, "t_bytes", "counter", "bytes", "A \"help\" with \\ and\na line.");
	ls_exposition_sample(&e, "", labels, 3, "5");
	ls_exposition_family(&e, "t_now", "gauge", "", "Help.");
	ls_exposition_sample(&e, "", labels, 0, "1.5");
	ls_exposition_end(&e);
	text = calloc(1, buf.len + 1);
	memcpy(text, buf.data, buf.len);
	ls_arena_destroy(arena);
	return text;
}

static void
check_text(bool openmetrics, const char *expected, const char *name)
{
	char *text = text_of(openmetrics);

	(void) is_str(ls_str_make(text, strlen(text)), expected, name);
	free(text);
}

int
main(void)
{
	bool found = true;

	for (int i = 0; i < LS_HISTOGRAM_BUCKETS - 1; i++)
	{
		int64_t bound = ls_histogram_bounds[i];

		found = found && ls_histogram_bucket(bound) == i &&
				ls_histogram_bucket(bound + 1) == i + 1 &&
				strtod(ls_histogram_names[i], NULL) * 1e6 == (double) bound;
	}
	ok(found, "each bound is in its own bucket, and is named so");
	ok(ls_histogram_bucket(0) == 0, "0 is in the first");
	ok(ls_histogram_bucket(INT64_MAX) == LS_HISTOGRAM_BUCKETS - 1, "the last has no bound");

	found = true;
	for (int status = 100; status < 600; status++)
	{
		int n = ls_status_number(status);

		found = found && n >= 0 && n < LS_STATUSES &&
				(n == LS_STATUSES - 1 || atoi(ls_status_names[n]) == status);
	}
	ok(found, "statuses are counted under their names");
	ok(ls_status_number(418) == LS_STATUSES - 1, "others together");
	found = true;
	for (uint32_t i = 0; i < ls_n_routes; i++)
	{
		if (ls_routes[i].success != 501 &&
			ls_status_number(ls_routes[i].success) == LS_STATUSES - 1)
			found = false;
	}
	ok(found, "that of each route is in the list");

	ok(ls_route_class_of("otlp") == LS_ROUTE_CLASS_INGEST, "OTLP is ingest");
	ok(strcmp(ls_route_classes[ls_route_class_of("search")], "search") == 0, "a class by its name");
	ok(ls_route_class_of("unheard of") == LS_ROUTE_CLASS_OTHER, "others together");

	check_text(true,
			   "# TYPE t_bytes counter\n# UNIT t_bytes bytes\n"
			   "# HELP t_bytes A \\\"help\\\" with \\\\ and\\na line.\n"
			   "t_bytes_total{a=\"say \\\"x\\\\y\\\"\\nz\",b=\"\"} 5\n"
			   "# TYPE t_now gauge\n# HELP t_now Help.\nt_now 1.5\n# EOF\n",
			   "OpenMetrics");
	check_text(false,
			   "# TYPE t_bytes_total counter\n"
			   "# HELP t_bytes_total A \"help\" with \\\\ and\\na line.\n"
			   "t_bytes_total{a=\"say \\\"x\\\\y\\\"\\nz\",b=\"\"} 5\n"
			   "# TYPE t_now gauge\n# HELP t_now Help.\nt_now 1.5\n",
			   "the text format 0.0.4");

	ok(ls_exposition_wanted(LS_STR("Application/OpenMetrics-Text;version=1.0.0,text/plain;q=0.5")),
	   "a client that names OpenMetrics");
	ok(!ls_exposition_wanted(LS_STR("text/plain;version=0.0.4")), "one that does not");
	ok(!ls_exposition_wanted(LS_STR("")), "nor one without Accept");
	return done_testing();
}
