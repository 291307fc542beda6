/*
 * pipeline_fuzz.c: any definition on any event.  The input is a definition, a NUL and a text.  What
 * comes out is valid UTF-8 and within the limits of events; it takes bounded time and memory.
 */
#include <stdlib.h>

#include "src/pipeline/pipeline.h"

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static bool
any_index(void *context, ls_str index)
{
	(void) context;
	return index.len % 2 == 0;
}

static bool
take(void *context, uint64_t limiter, uint64_t key, uint32_t most)
{
	(void) context;
	(void) limiter;
	return key % 2 == 0 || most > 1;
}

static void
run_program(ls_program *program, ls_str text, bool no_time)
{
	ls_arena *arena = ls_arena_create(NULL, 1024 * 1024);
	ls_arena *events = ls_arena_create(NULL, 16 * 1024 * 1024);
	ls_pipeline_run run = {.program = program,
						   .arena = events,
						   .limits = LS_DECODE_LIMITS,
						   .known_index = any_index,
						   .take = take,
						   .budget = no_time ? 0 : INT64_C(1000000000)};
	ls_attribute attributes[2] = {{.key = LS_STR("a"), .kind = LS_KIND_STRING, .text = text},
								  {.key = LS_STR("j"),
								   .kind = LS_KIND_JSON,
								   .text = LS_STR("{\"b\":[1,\"x@y.example\",{\"c\":null}]}")}};
	ls_event event = {.has = 1u << LS_FIELD_EVENT, .attributes = attributes, .n_attributes = 2};
	const ls_event *out;

	event.field[LS_FIELD_EVENT] = text.len > 0 ? text : LS_STR("x");
	require(ls_pipeline_begin(&run, arena));
	for (int i = 0; i < 2; i++)
	{
		if (ls_pipeline_run_event(&run, &event, &out) != LS_FATE_CHANGED)
			continue;
		require((out->has & 1u << LS_FIELD_EVENT) != 0 && out->field[LS_FIELD_EVENT].len > 0);
		for (int f = 0; f < LS_NAMED_FIELDS; f++)
			require((out->has & 1u << f) == 0 ||
					(out->field[f].len <= run.limits.body_field_bytes &&
					 ls_utf8_valid(out->field[f].data, out->field[f].len)));
		require(out->n_attributes <= run.limits.attributes + 1);
		for (size_t a = 0; a < out->n_attributes; a++)
		{
			require(out->attributes[a].text.len <= run.limits.value_bytes);
			require(ls_utf8_valid(out->attributes[a].key.data, out->attributes[a].key.len));
			require(ls_utf8_valid(out->attributes[a].text.data, out->attributes[a].text.len));
		}
	}
	ls_arena_destroy(events);
	ls_arena_destroy(arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const presets[] = {"email", "creditcard", "ip", "jwt", "iban"};
	const uint8_t *end = memchr(data, '\0', size);
	ls_program *program;
	ls_arena *arena;
	const char *error;
	const char *path;
	ls_str text;

	if (end == NULL)
		return 0;
	text = ls_str_make((const char *) end + 1, size - (size_t) (end - data) - 1);
	if (!ls_utf8_valid(text.data, text.len) || memchr(text.data, '\0', text.len) != NULL ||
		text.len > 16 * 1024)
		return 0;
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
	{
		ls_mask_finder find = ls_mask_preset(ls_str_make(presets[i], strlen(presets[i])));
		size_t from = 0, begin, stop;

		while (from < text.len && find(text, from, &begin, &stop))
		{
			require(begin >= from && stop > begin && stop <= text.len);
			require(ls_utf8_valid(text.data + begin, stop - begin));
			from = stop;
		}
	}
	arena = ls_arena_create(NULL, 32 * 1024 * 1024);
	program = ls_program_compile(ls_str_make((const char *) data, (size_t) (end - data)), arena,
								 &error, &path);
	if (program != NULL)
	{
		run_program(program, text, false);
		run_program(program, text, true);
		ls_program_free(program);
	}
	else
		require(error != NULL && path != NULL);
	ls_arena_destroy(arena);
	return 0;
}
