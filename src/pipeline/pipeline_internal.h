/*-------------------------------------------------------------------------
 *
 * pipeline_internal.h
 *	  What the files of this folder share (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PIPELINE_INTERNAL_H
#define LS_PIPELINE_INTERNAL_H

#include "src/part/filter_eval.h"
#include "src/pipeline/pipeline.h"

typedef enum processor_type
{
	PROCESSOR_PARSE_JSON,
	PROCESSOR_PARSE_REGEX, /* and parse_grok */
	PROCESSOR_PARSE_KV,
	PROCESSOR_SET,
	PROCESSOR_REMOVE,
	PROCESSOR_RENAME,
	PROCESSOR_COPY,
	PROCESSOR_CONVERT,
	PROCESSOR_MASK,
	PROCESSOR_DROP_IF,
	PROCESSOR_SAMPLE,
	PROCESSOR_ROUTE,
	PROCESSOR_LIMIT
} processor_type;

typedef enum on_failure
{
	ON_FAILURE_TAG,
	ON_FAILURE_KEEP,
	ON_FAILURE_DROP
} on_failure;

/* The name of something in an event. */
typedef enum name_kind
{
	NAME_FIELD,
	NAME_TIMESTAMP,
	NAME_ATTRIBUTE, /* the literal key, or a member inside an attribute */
	NAME_ALL        /* *: the text and all attributes */
} name_kind;

typedef struct event_name
{
	name_kind kind;
	ls_field field;
	ls_str key;
	ls_str *path; /* the key at its dots */
	uint32_t n_path;
} event_name;

typedef struct event_value
{
	ls_kind kind;
	ls_str text;
	int64_t integer;
} event_value;

/* A part of a template: a text, or the value of a field. */
typedef struct template_part
{
	ls_str text;
	bool is_field;
	event_name name;
} template_part;

typedef struct capture
{
	uint32_t number; /* of the group */
	char type;
	event_name name;
} capture;

typedef enum convert_to
{
	CONVERT_NUMBER,
	CONVERT_STRING,
	CONVERT_BOOLEAN,
	CONVERT_TIMESTAMP
} convert_to;

typedef struct processor
{
	processor_type type;
	ls_str type_name;
	on_failure on_failure;
	ls_event_filter *condition; /* NULL: always */
	event_name name;            /* field, key, from */
	event_name to;
	event_name *names; /* remove */
	uint32_t n_names;
	bool has_key;

	/* parse_json: "" adds to the attributes; else the value goes to `to` */
	bool into_attributes;
	bool overwrite;
	/* parse_regex, mask */
	ls_regex *regex;
	capture *captures;
	uint32_t n_captures;
	/* parse_kv */
	ls_str pair_separator;
	ls_str key_separator;
	ls_str prefix;
	/* set */
	bool is_template;
	event_value value;
	template_part *parts;
	uint32_t n_parts;
	/* convert */
	convert_to convert;
	ls_str format;
	/* mask */
	ls_mask_finder finder;
	ls_str replacement;
	bool hash;
	/* drop_if */
	ls_event_filter *filter;
	/* sample */
	uint64_t keep_below;
	bool keep_all;
	/* route */
	ls_str index;
	/* limit */
	uint32_t per_minute;
	uint64_t limiter;

	ls_pipeline_counts counts;
} processor;

typedef struct pipeline
{
	ls_str id;
	ls_str name;
	uint32_t version;
	bool goes_on; /* continue */
	ls_event_filter *match;
	processor *processors;
	uint32_t n_processors;
	ls_pipeline_counts counts;
} pipeline;

struct ls_program
{
	ls_arena *arena;
	ls_regex_set regexes;
	uint8_t key[LS_SHA256_LENGTH];
	bool has_key; /* without, masks do not hash: they replace */
	pipeline *pipelines;
	uint32_t n_pipelines;
};

/* ---- pipeline_event.c: the event at hand ---- */

/* False: out of memory. */
extern bool ls_event_name_make(ls_arena *arena, ls_str text, event_name *name);

extern bool ls_pipeline_get(ls_pipeline_run *run, const event_name *name, event_value *value);

/* The value as text. */
extern ls_str ls_pipeline_text(ls_pipeline_run *run, const event_value *value);

/* Sets it, cut to its limit.  NULL, or why it cannot be set. */
extern const char *ls_pipeline_set(ls_pipeline_run *run, const event_name *name,
								   const event_value *value);

/*
 * Is it a text that begins as JSON does, in which the name would be a member?  JSON beyond the limit of
 * values is cut and then a text, so nobody can say where the member is.
 */
extern bool ls_pipeline_is_cut_json(const ls_attribute *a, const event_name *name);

/* NULL, or why it could not be removed. */
extern const char *ls_pipeline_remove(ls_pipeline_run *run, const event_name *name);

/* Appends the name of a field to those that were cut. */
extern void ls_pipeline_note_cut(ls_pipeline_run *run, ls_str prefix, ls_str name);

/* The same of a field that is no attribute. */
extern void ls_pipeline_note_cut_field(ls_pipeline_run *run, ls_field field);

/*
 * JSON in which each value at `path`, also in the elements of arrays, is replaced by what `change` appends, or left out when
 * `change` is NULL.  False: out of memory, or `change` failed.
 */
typedef bool (*value_change)(void *context, ls_str value, ls_buf *out);
extern bool ls_pipeline_rewrite(ls_arena *arena, ls_str json, const ls_str *path, uint32_t n_path,
								value_change change, void *context, ls_str *out, bool *found);

/* Why a processor that had no time left has failed. */
#define TOO_LATE "the time of the event is over"

/* ---- pipeline_clock.c ---- */

/* The clock on the wall, in nanoseconds. */
extern uint64_t ls_pipeline_clock(void);

/* Is the time of the event over? */
extern bool ls_pipeline_late(ls_pipeline_run *run);

/* ---- processors; NULL, or why they failed ---- */

extern const char *ls_pipeline_parse_json(ls_pipeline_run *run, const processor *p);
extern const char *ls_pipeline_parse_regex(ls_pipeline_run *run, const processor *p);
extern const char *ls_pipeline_parse_kv(ls_pipeline_run *run, const processor *p);
extern const char *ls_pipeline_convert(ls_pipeline_run *run, const processor *p);

/* pipeline_time.c: a time in a format of strptime.  False: it is not one. */
extern bool ls_pipeline_read_time(ls_str text, ls_str format, ls_time now, ls_time *time);

/* pipeline_mask.c; `closed`: replaces the field as a whole. */
extern const char *ls_pipeline_mask(ls_pipeline_run *run, const processor *p, bool closed);

#endif /* LS_PIPELINE_INTERNAL_H */
