/*
 * request_fuzz.c: any bytes as body of run-adhoc.  What is accepted must keep the limits of the
 * service, what is refused must say why.
 */
#include <stdlib.h>

#include "src/verdict/evaluation_core.h"

#define require(condition) \
	do                     \
	{                      \
		if (!(condition))  \
			abort();       \
	} while (0)

static size_t
chars(ls_str s)
{
	require(ls_utf8_valid(s.data, s.len));
	return ls_utf8_length(s.data, s.len);
}

static void
check_accepted(const ls_evaluation_request *r, ls_arena *arena)
{
	ls_buf header;

	require(r->row_count <= LS_EVALUATION_MAX_ROWS);
	require(r->has_query ? r->row_count == 0 : r->row_count > 0);
	for (size_t i = 0; i < r->row_count; i++)
		require(chars(r->rows[i]) <= LS_EVALUATION_MAX_ROW_CHARS);
	require(chars(r->criteria) <= LS_EVALUATION_MAX_CRITERIA_CHARS);
	require(r->preview || r->criteria.len > 0);
	require(r->item_count <= LS_EVALUATION_MAX_ITEMS);
	for (size_t i = 0; i < r->item_count; i++)
	{
		size_t id = chars(r->items[i].id);
		size_t description = chars(r->items[i].description);

		require(id >= 1 && id <= LS_EVALUATION_MAX_ID_CHARS);
		require(description >= 1 && description <= LS_EVALUATION_MAX_DESCRIPTION_CHARS);
		for (size_t k = 0; k < i; k++)
			require(!ls_str_eq(r->items[i].id, r->items[k].id));
	}
	require(r->options.max_templates >= 1 && r->options.max_templates <= 500);
	require(r->options.max_samples >= 0 && r->options.max_samples <= 5);
	require(r->options.rare_threshold >= 0 && r->options.rare_threshold <= 50);
	require(r->options.sim_threshold >= 0 && r->options.sim_threshold <= 1);

	ls_buf_init(&header, arena);
	ls_evaluation_ignored_header(&header, r);
	for (size_t i = 0; i < header.len; i++)
		require(header.data[i] >= ' ' && header.data[i] < 0x7F);
}

/* The view of what was accepted keeps the budget, and one row stays one line. */
static void
check_view(const ls_evaluation_request *r, ls_arena *arena)
{
	static const char key[] = "00112233445566778899aabbccddeeff";
	ls_evaluation_view *view = ls_evaluation_view_make(r, arena);
	ls_evaluation_prompt prompt;
	int64_t tokens;

	require(view != NULL);
	require(view->line_count > 0 || r->row_count == 0);
	require(view->hidden_rows <= view->total_rows);
	for (size_t i = 0; i < view->line_count; i++)
	{
		require(ls_utf8_valid(view->lines[i].data, view->lines[i].len));
		for (size_t k = 0; k < view->lines[i].len; k++)
			require((unsigned char) view->lines[i].data[k] >= ' ');
	}
	require(ls_evaluation_prompt_make(r, view, ls_str_make(key, sizeof(key) - 1), arena, &prompt));
	tokens = ls_token_estimate(prompt.system) + ls_token_estimate(prompt.user) +
			 ls_token_estimate(prompt.schema);
	require(tokens <= LS_EVALUATION_TOKEN_BUDGET ||
			tokens <= view->overhead_tokens + LS_EVALUATION_MIN_ROW_TOKENS);
}

/* As bytes and back it is the same, and what is cut off is none. */
static void
check_bytes(const ls_evaluation_request *r, ls_arena *arena)
{
	ls_evaluation_request *other;
	ls_buf first;
	ls_buf second;

	ls_buf_init(&first, arena);
	ls_buf_init(&second, arena);
	ls_evaluation_request_write(&first, r);
	require(!first.failed);
	require(ls_evaluation_request_read(ls_str_make(first.data, first.len), arena, &other));
	ls_evaluation_request_write(&second, other);
	require(ls_str_eq(ls_str_make(first.data, first.len), ls_str_make(second.data, second.len)));
	require(!ls_evaluation_request_read(ls_str_make(first.data, first.len - 1), arena, &other));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ls_arena *arena = ls_arena_create(NULL, 64 << 20);
	ls_validation_errors errors;
	ls_evaluation_request *request = NULL;
	ls_buf details;

	ls_validation_init(&errors, arena);
	if (ls_evaluation_request_parse(ls_str_make((const char *) data, size), arena, size % 2 == 0,
									&request, &errors))
	{
		check_accepted(request, arena);
		check_bytes(request, arena);
		check_view(request, arena);
	}
	else
	{
		require(errors.count > 0 && !errors.out_of_memory);
		ls_buf_init(&details, arena);
		ls_validation_json(&details, &errors);
		require(ls_utf8_valid(details.data, details.len));
	}
	/* Any bytes as those of another process. */
	(void) ls_evaluation_request_read(ls_str_make((const char *) data, size), arena, &request);
	ls_arena_destroy(arena);
	return 0;
}
