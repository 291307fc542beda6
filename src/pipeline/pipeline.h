/*-------------------------------------------------------------------------
 *
 * pipeline.h
 *	  Pipelines: what an organization does to its events before they are stored (pure).
 *
 * A definition (JSON) is compiled once into a program, which then runs on each event.  Nothing here
 * knows where events come from or where they go.
 *
 * Masking fails closed: if it is not certain that a mask has found everything, because a pattern needs
 * too many steps, time or memory is over, or the condition of the mask cannot be decided, the whole
 * field is replaced.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PIPELINE_H
#define LS_PIPELINE_H

#include "src/decode/decode.h"

#define LS_PIPELINE_MAX_PROCESSORS 50

/* Pipelines of one organization that run. */
#define LS_PIPELINE_MAX 500

/* Attribute of an event of which a processor has failed. */
#define LS_PIPELINE_ERROR_ATTRIBUTE "_pipelineError"

typedef struct ls_program ls_program;

/* What happened to one processor, or in a pipeline as a whole, since it was last asked. */
typedef struct ls_pipeline_counts
{
	uint64_t in;
	uint64_t out;
	uint64_t dropped;
	uint64_t failed;
	uint64_t nanoseconds;
} ls_pipeline_counts;

/*
 * Compiles {"key": hex, "pipelines": [{id, name, version, continue, match, processors}]}, as
 * logsvc_internal.find_pipelines makes it: filters are those of filter.h as hexadecimal digits.
 * NULL: *error says why, *path where ("processors[2].pattern"), both in the arena.
 * A program must be freed before its arena.  8 MB of memory are enough for any program.
 */
extern ls_program *ls_program_compile(ls_str definition, ls_arena *arena, const char **error,
									  const char **path);
extern void ls_program_free(ls_program *program);

/* Did it run out of memory?  Then filters cannot be decided any more: it must be compiled again. */
extern bool ls_program_failed(const ls_program *program);

extern uint32_t ls_program_pipelines(const ls_program *program);
extern ls_str ls_program_pipeline_id(const ls_program *program, uint32_t pipeline);
extern ls_str ls_program_processor_type(const ls_program *program, uint32_t pipeline,
										int processor);
extern uint32_t ls_program_pipeline_version(const ls_program *program, uint32_t pipeline);

/* Counts of a pipeline (processor -1) or of a processor; NULL: there is none of that number. */
extern ls_pipeline_counts *ls_program_counts(ls_program *program, uint32_t pipeline, int processor);

/* What a processor did to an event, for POST /pipelines/test. */
typedef struct ls_pipeline_step
{
	uint32_t pipeline;
	int processor; /* -1: does the pipeline match?  -2: it does, has masks, and does not run */
	bool ran;      /* its condition was true; -1: it matches */
	const char *failure; /* NULL: none */
	bool dropped;
	uint64_t nanoseconds;
	const ls_event *event; /* after it */
} ls_pipeline_step;

/* Nanoseconds of CPU that an event may take in all pipelines. */
#define LS_PIPELINE_EVENT_TIME 1000000

/* What a program runs in: one request. */
typedef struct ls_pipeline_run
{
	ls_program *program;
	ls_arena *arena; /* of the event at hand: reset before each */
	ls_decode_limits limits;
	ls_time now;
	bool test; /* of a test key: no route, no shared limits */

	/* Does the index exist, and may events be routed there? */
	bool (*known_index)(void *context, ls_str index);

	/*
	 * Counts an event at limit `limiter` (a number that is the same for the same processor of the
	 * same pipeline) by the hash of its key.  False: there were `most` in this minute.
	 */
	bool (*take)(void *context, uint64_t limiter, uint64_t key, uint32_t most);

	/* CPU time of this process (ns).  NULL: the clock on the wall. */
	uint64_t (*cpu)(void);

	/* Called after each step; NULL: nobody looks. */
	void (*step)(void *context, const ls_pipeline_step *step);
	void *context;

	/* Nanoseconds that the request may still take; beyond, events have no time left. */
	int64_t budget;
	uint64_t used; /* result: nanoseconds, by the clock on the wall */

	/* the rest is of ls_pipeline_run_event */
	uint64_t began; /* the run: by the clock on the wall, and CPU time */
	uint64_t cpu_began;
	uint64_t event_began;
	uint64_t cpu_checked; /* CPU time then, and the clock on the wall */
	uint64_t wall_checked;
	bool late;
	uint64_t random;
	uint32_t n_events;
	ls_attribute *attributes; /* of the event at hand */
	ls_event event;
	bool changed;
	bool cut; /* something was longer than its limit */
	ls_buf cuts;
	ls_buf unescaped; /* the text that a mask looks at */
} ls_pipeline_run;

/* Prepares a run whose members up to `budget` are set.  False: out of memory. */
extern bool ls_pipeline_begin(ls_pipeline_run *run, ls_arena *arena);

/*
 * Runs all pipelines on an event.  CHANGED: *out (which lives until the next call) is to be stored
 * instead of it.
 */
extern ls_event_fate ls_pipeline_run_event(ls_pipeline_run *run, const ls_event *event,
										   const ls_event **out);

/* ---- masks and patterns, also for tests ---- */

/* The next text in `text`, from byte `from` on, that a preset finds.  False: there is none. */
typedef bool (*ls_mask_finder)(ls_str text, size_t from, size_t *begin, size_t *end);

/* email, creditcard, ip, jwt, iban; NULL: no preset of that name. */
extern ls_mask_finder ls_mask_preset(ls_str name);

/* One %{NAME:field:type} of a Grok pattern. */
typedef struct ls_grok_field
{
	ls_str name;
	char group[16]; /* of the regular expression */
	char type;      /* 's' string, 'i' integer, 'f' number */
} ls_grok_field;

#define LS_GROK_MAX_FIELDS 100

/*
 * The regular expression of a Grok pattern.  `custom` gives further patterns by name (empty: none).
 * False: *error says why.
 */
extern bool ls_grok_expand(ls_str pattern, ls_str (*custom)(void *context, ls_str name),
						   void *context, ls_arena *arena, ls_str *regex, ls_grok_field *fields,
						   uint32_t *n_fields, const char **error);

#endif /* LS_PIPELINE_H */
