/*-------------------------------------------------------------------------
 *
 * pipeline_function.c
 *	  Pipelines in SQL: is a definition good, what does it do to events, what has it done.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/pipelines.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/uuid.h"

#include "src/access/access.h"
#include "src/decode/wire_format.h"

PG_FUNCTION_INFO_V1(logsvc_check_pipelines);
PG_FUNCTION_INFO_V1(logsvc_try_pipelines);
PG_FUNCTION_INFO_V1(logsvc_pipeline_counts);

/* Of the events of a test, and of its answer. */
#define TEST_MEMORY ((size_t) 64 * 1024 * 1024)

static LS_NORETURN void
refuse(const char *path, const char *message)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, 64 * 1024);
	ls_buf details;

	ls_buf_init(&details, arena);
	ls_buf_lit(&details, "[{\"path\":");
	ls_json_quote(&details, ls_str_of_cstring(path));
	ls_buf_lit(&details, ",\"code\":\"invalid\",\"message\":");
	ls_json_quote(&details, ls_str_of_cstring(message));
	ls_buf_lit(&details, "}]");
	ls_buf_char(&details, '\0');
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_VALIDATION)),
			errmsg("%s%s%s", path, path[0] != '\0' ? ": " : "", message),
			details.failed ? 0 : errdetail_internal("%s", details.data));
}

/* A program for the time of the call. */
static ls_program *
compile(ls_str definition)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "logsvc pipelines", ALLOCSET_DEFAULT_SIZES);
	const char *error;
	const char *path;
	ls_program *program = ls_pipelines_compile(definition, context, &error, &path);

	if (program == NULL)
		refuse(path, error);
	return program;
}

/* check_pipelines(definition text) returns void: raises VALIDATION_ERROR. */
Datum
logsvc_check_pipelines(PG_FUNCTION_ARGS)
{
	(void) compile(ls_str_of_text(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}

/* ---- what they do ---- */

typedef struct trial
{
	ls_pipeline_run run;
	ls_buf out;
	ls_buf matched;
	ls_buf shadowed;
	ls_buf steps;
	ls_buf event; /* as it was before the step */
	uint32 n;
} trial;

static void
append_member(ls_buf *buf, const char *name)
{
	if (buf->len > 0 && buf->data[buf->len - 1] != '{')
		ls_buf_char(buf, ',');
	ls_json_quote(buf, ls_str_of_cstring(name));
	ls_buf_char(buf, ':');
}

static void
append_event(ls_buf *buf, const ls_event *event)
{
	static const char *const names[LS_NAMED_FIELDS] = {
		"event", "level", "source", "service", "index", "traceId", "spanId", "truncatedFields"};
	char iso[LS_TIME_ISO_LENGTH + 1];

	ls_buf_char(buf, '{');
	append_member(buf, "timestamp");
	ls_time_format_iso(event->timestamp, iso);
	ls_json_quote(buf, ls_str_make(iso, LS_TIME_ISO_LENGTH));
	for (int f = 0; f < LS_NAMED_FIELDS; f++)
	{
		if ((event->has & 1u << f) == 0)
			continue;
		append_member(buf, names[f]);
		ls_json_quote(buf, event->field[f]);
	}
	append_member(buf, "attributes");
	ls_buf_char(buf, '{');
	for (size_t i = 0; i < event->n_attributes; i++)
	{
		const ls_attribute *a = &event->attributes[i];

		if (i > 0)
			ls_buf_char(buf, ',');
		ls_json_quote(buf, a->key);
		ls_buf_char(buf, ':');
		if (a->kind == LS_KIND_STRING)
			ls_json_quote(buf, a->text);
		else if (a->kind == LS_KIND_INTEGER)
			ls_buf_printf(buf, "%lld", (long long) a->integer);
		else if (a->kind == LS_KIND_BOOLEAN)
			ls_buf_printf(buf, "%s", a->integer != 0 ? "true" : "false");
		else if (a->kind == LS_KIND_NULL)
			ls_buf_lit(buf, "null");
		else
			ls_buf_str(buf, a->text);
	}
	ls_buf_lit(buf, "}}");
}

/* Its id, or null for the one that is tried. */
static void
append_id(ls_buf *buf, const trial *t, uint32 pipeline)
{
	ls_str id = ls_program_pipeline_id(t->run.program, pipeline);

	if (id.len > 0)
		ls_json_quote(buf, id);
	else
		ls_buf_lit(buf, "null");
}

static void
note_step(void *context, const ls_pipeline_step *step)
{
	trial *t = context;
	ls_buf *out = &t->steps;

	if (step->processor < 0)
	{
		ls_buf *list = step->processor == -1 ? &t->matched : &t->shadowed;

		if (step->processor == -1 && !step->ran)
			return;
		if (list->len > 0)
			ls_buf_char(list, ',');
		append_id(list, t, step->pipeline);
		return;
	}
	ls_buf_printf(out, "%s{\"pipeline\":", out->len > 0 ? "," : "");
	append_id(out, t, step->pipeline);
	ls_buf_printf(out, ",\"processor\":%d,\"type\":", step->processor);
	ls_json_quote(out, ls_program_processor_type(t->run.program, step->pipeline, step->processor));
	ls_buf_printf(out, ",\"ran\":%s,\"failure\":", step->ran ? "true" : "false");
	if (step->failure != NULL)
		ls_json_quote(out, ls_str_of_cstring(step->failure));
	else
		ls_buf_lit(out, "null");
	ls_buf_printf(out, ",\"dropped\":%s,\"microseconds\":%.3f,\"before\":",
				  step->dropped ? "true" : "false", (double) step->nanoseconds / 1000);
	ls_buf_append(out, t->event.data, t->event.len);
	ls_buf_lit(out, ",\"after\":");
	t->event.len = 0;
	append_event(&t->event, step->event);
	if (step->dropped)
		ls_buf_lit(out, "null");
	else
		ls_buf_append(out, t->event.data, t->event.len);
	ls_buf_char(out, '}');
}

static bool
known_index(void *context, ls_str index)
{
	int days;

	return ls_index_find(&ls_principal_current()->organization, index, &days);
}

static bool
try_event(void *context, const ls_event *event)
{
	trial *t = context;
	const ls_event *after;
	ls_event_fate fate;
	uint64 used = t->run.used;

	t->matched.len = t->shadowed.len = t->steps.len = t->event.len = 0;
	append_event(&t->event, event);
	if (t->n++ > 0)
		ls_buf_char(&t->out, ',');
	ls_buf_lit(&t->out, "{\"before\":");
	ls_buf_append(&t->out, t->event.data, t->event.len);
	fate = ls_pipeline_run_event(&t->run, event, &after);
	ls_buf_lit(&t->out, ",\"after\":");
	if (fate == LS_FATE_DROPPED)
		ls_buf_lit(&t->out, "null");
	else
		append_event(&t->out, fate == LS_FATE_CHANGED ? after : event);
	ls_buf_printf(&t->out, ",\"dropped\":%s,\"microseconds\":%.3f,\"matched\":[",
				  fate == LS_FATE_DROPPED ? "true" : "false", (double) (t->run.used - used) / 1000);
	ls_buf_append(&t->out, t->matched.data, t->matched.len);
	ls_buf_lit(&t->out, "],\"shadowedMasks\":[");
	ls_buf_append(&t->out, t->shadowed.data, t->shadowed.len);
	ls_buf_lit(&t->out, "],\"steps\":[");
	ls_buf_append(&t->out, t->steps.data, t->steps.len);
	ls_buf_lit(&t->out, "]}");
	return !t->out.failed && !t->steps.failed && !t->matched.failed && !t->shadowed.failed &&
		   !t->event.failed;
}

/*
 * try_pipelines(definition text, events text) returns jsonb: {events: [{before, after, dropped,
 * microseconds, matched, shadowedMasks, steps}], errors: [...]}.
 */
Datum
logsvc_try_pipelines(PG_FUNCTION_ARGS)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, TEST_MEMORY);
	ls_arena *scratch = ls_context_arena(CurrentMemoryContext, TEST_MEMORY);
	ls_decode_result *result = ls_new(arena, ls_decode_result);
	ls_part_builder *unused = ls_part_builder_create(arena);
	ls_sender sender = {.organization = ls_principal_require()->organization};
	ls_decode_options options;
	ls_sender_sink sink;
	trial t = {.n = 0};

	if (result == NULL || unused == NULL)
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	ls_sender_options(&sink, &sender, unused, NULL, NULL, &options);
	options.arena = arena;
	options.scratch = scratch;
	options.sink = (ls_decode_sink){.add = try_event, .context = &t};
	t.run = (ls_pipeline_run){.program = compile(ls_str_of_text(PG_GETARG_TEXT_PP(0))),
							  .arena = ls_context_arena(CurrentMemoryContext, TEST_MEMORY),
							  .limits = options.limits,
							  .now = options.now,
							  .known_index = known_index,
							  .step = note_step,
							  .context = &t,
							  .budget = INT64_MAX / 2};
	ls_buf_init(&t.out, arena);
	ls_buf_init(&t.matched, arena);
	ls_buf_init(&t.shadowed, arena);
	ls_buf_init(&t.steps, arena);
	ls_buf_init(&t.event, arena);
	if (!ls_pipeline_begin(&t.run, arena))
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
	ls_buf_lit(&t.out, "{\"events\":[");
	if (!ls_decode_batch(&options, ls_str_of_text(PG_GETARG_TEXT_PP(1)), result))
	{
		if (result->failure == LS_DECODE_INVALID)
			refuse("events", ls_cstring_of_str(result->message));
		refuse("events", "the answer would be too large; send fewer or smaller events");
	}
	ls_buf_lit(&t.out, "],\"errors\":");
	ls_ingest_errors_json(&t.out, result, false);
	ls_buf_char(&t.out, '}');
	if (t.out.failed)
		refuse("events", "the answer would be too large; send fewer or smaller events");
	return ls_jsonb_of_events(ls_str_make(t.out.data, t.out.len));
}

/* ---- what they have done ---- */

static void
append_counts(ls_buf *buf, const ls_pipeline_counts *c)
{
	ls_buf_printf(
		buf, "\"in\":%llu,\"out\":%llu,\"dropped\":%llu,\"failed\":%llu,\"microseconds\":%llu",
		(unsigned long long) c->in, (unsigned long long) c->out, (unsigned long long) c->dropped,
		(unsigned long long) c->failed, (unsigned long long) (c->nanoseconds / 1000));
}

/* pipeline_counts(organization uuid, pipeline text) returns jsonb; NULL: there are none. */
Datum
logsvc_pipeline_counts(PG_FUNCTION_ARGS)
{
	ls_pipeline_counts processors[LS_PIPELINE_MAX_PROCESSORS];
	ls_pipeline_counts total;
	char iso[LS_TIME_ISO_LENGTH + 1];
	ls_time since;
	uint32 n;
	ls_buf out;

	if (!ls_pipelines_counted(PG_GETARG_UUID_P(0), ls_str_of_text(PG_GETARG_TEXT_PP(1)), &total,
							  processors, &n, &since))
		PG_RETURN_NULL();
	ls_buf_init(&out, ls_context_arena(CurrentMemoryContext, 1024 * 1024));
	ls_time_format_iso(since, iso);
	ls_buf_printf(&out, "{\"since\":\"%s\",", iso);
	append_counts(&out, &total);
	ls_buf_lit(&out, ",\"processors\":[");
	for (uint32 i = 0; i < n; i++)
	{
		ls_buf_printf(&out, "%s{", i > 0 ? "," : "");
		append_counts(&out, &processors[i]);
		ls_buf_char(&out, '}');
	}
	ls_buf_lit(&out, "]}");
	ls_buf_char(&out, '\0');
	if (out.failed)
		PG_RETURN_NULL();
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(out.data));
}
