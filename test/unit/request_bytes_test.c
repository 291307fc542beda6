/* request_bytes_test.c: a checked evaluation request to bytes and back. */
#include <stdlib.h>

#include "src/verdict/evaluation_core.h"
#include "test/unit/tap.h"

static ls_arena *arena;

static ls_str
bytes_of(const char *json, const ls_str *rows, size_t n_rows)
{
	ls_evaluation_request *request;
	ls_validation_errors errors;
	ls_buf buf;

	ls_validation_init(&errors, arena);
	ls_buf_init(&buf, arena);
	if (!ls_evaluation_request_parse(ls_str_make(json, strlen(json)), arena, true, &request,
									 &errors) ||
		(request->has_query && !ls_evaluation_set_rows(request, arena, rows, n_rows)))
		return LS_STR("");
	ls_evaluation_request_write(&buf, request);
	return buf.failed ? LS_STR("") : ls_str_make(buf.data, buf.len);
}

static void
test_round_trip(void)
{
	static char rows_text[3000];
	ls_str rows[] = {LS_STR("one"), LS_STR(""), ls_str_make(rows_text, sizeof(rows_text))};
	ls_evaluation_request *r = NULL;
	ls_str bytes;

	memset(rows_text, 'x', sizeof(rows_text));
	bytes = bytes_of("{\"query\":\"a \\\"b\\\"\",\"criteria\":\"good?\",\"model\":\"m\","
					 "\"mode\":\"generic_verdict\",\"logCompression\":false,\"citations\":true,"
					 "\"compressionOptions\":{\"maxTemplates\":7,\"maxSamples\":0,"
					 "\"rareThreshold\":3,\"simThreshold\":0.35},"
					 "\"expectedItems\":[{\"id\":\"i\",\"description\":\"d\"}],\"unknown\":1}",
					 rows, 3);
	ok(bytes.len > 0 && ls_evaluation_request_read(bytes, arena, &r), "a request with a query");
	is_str(r->query, "a \"b\"", "query");
	is_str(r->criteria, "good?", "criteria");
	is_str(r->model, "m", "model");
	is_int(r->mode, LS_EVALUATION_GENERIC_VERDICT, "mode");
	ok(r->has_query && !r->compress && r->citations && !r->preview, "its switches");
	ok(r->options.max_templates == 7 && r->options.max_samples == 0 &&
		   r->options.rare_threshold == 3 && r->options.sim_threshold == 0.35,
	   "compressionOptions");
	is_int((long long) r->item_count, 1, "one item");
	is_str(r->items[0].id, "i", "its id");
	is_str(r->items[0].description, "d", "its description");
	is_int((long long) r->row_count, 3, "three rows");
	is_str(r->rows[0], "one", "the first");
	is_str(r->rows[1], "", "an empty one");
	is_int((long long) r->rows[2].len, 2000, "the long one is cut");
	is_int((long long) r->cut_rows, 1, "which is counted");
	is_int((long long) r->ignored_count, 0, "names of unknown members stay behind");

	bytes = bytes_of("{\"rows\":[\"a\"],\"preview\":true}", NULL, 0);
	ok(bytes.len > 0 && ls_evaluation_request_read(bytes, arena, &r), "a preview of rows");
	ok(r->preview && r->compress && !r->has_query && !r->citations, "its switches");
	is_int((long long) r->options.max_templates, LS_PATTERN_DEFAULTS.max_templates, "defaults");
	bytes = bytes_of("{\"query\":\"x\",\"criteria\":\"c\"}", NULL, 0);
	ok(bytes.len > 0 && ls_evaluation_request_read(bytes, arena, &r) && r->row_count == 0,
	   "a search that found nothing");
}

/* What is cut off, or says more than there can be, is no request. */
static void
test_broken(void)
{
	ls_str row = LS_STR("row");
	ls_str bytes = bytes_of("{\"query\":\"q\",\"criteria\":\"c\",\"expectedItems\":[{\"id\":\"i\","
							"\"description\":\"d\"}]}",
							&row, 1);
	ls_evaluation_request *r;
	ls_buf buf;
	int taken = 0;

	for (size_t i = 0; i < bytes.len; i++)
	{
		/* In memory of its own, so that the sanitizer sees a read beyond it. */
		char *copy = malloc(i + 1);

		memcpy(copy, bytes.data, i);
		taken += ls_evaluation_request_read(ls_str_make(copy, i), arena, &r);
		free(copy);
	}
	is_int(taken, 0, "cut off anywhere");
	ls_buf_init(&buf, arena);
	ls_buf_str(&buf, bytes);
	ls_buf_char(&buf, 'x');
	ok(!ls_evaluation_request_read(ls_str_make(buf.data, buf.len), arena, &r), "followed by more");
	/* The last four bytes: one row of three letters.  Its count becomes 10,001. */
	buf.len = bytes.len - 5;
	ls_buf_varint(&buf, LS_EVALUATION_MAX_ROWS + 1);
	for (int i = 0; i <= LS_EVALUATION_MAX_ROWS; i++)
		ls_buf_char(&buf, 0);
	ok(!ls_evaluation_request_read(ls_str_make(buf.data, buf.len), arena, &r), "too many rows");
	buf.len = bytes.len - 5;
	ls_buf_varint(&buf, LS_EVALUATION_MAX_ROWS);
	for (int i = 0; i < LS_EVALUATION_MAX_ROWS; i++)
		ls_buf_char(&buf, 0);
	ok(ls_evaluation_request_read(ls_str_make(buf.data, buf.len), arena, &r),
	   "just as many as may be");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 16 * 1024 * 1024);
	test_round_trip();
	test_broken();
	ls_arena_destroy(arena);
	return done_testing();
}
