/*-------------------------------------------------------------------------
 *
 * pipeline_run.c
 *	  A program on one event: which pipelines match, their processors, their time (pure).
 *
 * An event may take a millisecond of CPU in all pipelines, and a request what its budget says.  Once
 * that is used up, no processor runs any more: each fails as its onFailure says, and each mask
 * replaces its field.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline_internal.h"

/* Processors of every so many events are timed, for the counts. */
#define TIMED_EVENTS 16

/* Attributes that processors add beyond the limit: that of failures. */
#define SPARE_ATTRIBUTES 1

static bool
late(void *context)
{
	return ls_pipeline_late(context);
}

bool
ls_pipeline_begin(ls_pipeline_run *run, ls_arena *arena)
{
	run->attributes = ls_new_array(arena, ls_attribute, run->limits.attributes + SPARE_ATTRIBUTES);
	run->used = 0;
	run->n_events = 0;
	run->began = run->wall_checked = ls_pipeline_clock();
	run->cpu_began = run->cpu_checked = run->cpu != NULL ? run->cpu() : 0;
	run->random = ls_hash_keyed64(run->wall_checked ^ (uint64_t) run->now);
	return run->attributes != NULL;
}

/* ---- processors ---- */

typedef enum verdict
{
	GOES_ON,
	DROPPED
} verdict;

static uint64_t
key_hash(ls_pipeline_run *run, const processor *p, bool *found)
{
	uint64_t key[2];
	event_value value;
	ls_str text;

	*found = p->has_key && ls_pipeline_get(run, &p->name, &value);
	if (!*found)
		return 0;
	text = ls_pipeline_text(run, &value);
	memcpy(key, run->program->key, sizeof(key));
	return ls_hash_with_key(text.data, text.len, key);
}

static uint64_t
next_random(ls_pipeline_run *run)
{
	run->random += UINT64_C(0x9e3779b97f4a7c15);
	return ls_hash_keyed64(run->random);
}

static const char *
move(ls_pipeline_run *run, const processor *p)
{
	event_value value;
	const char *failure;

	if (!ls_pipeline_get(run, &p->name, &value))
		return NULL;
	failure = ls_pipeline_set(run, &p->to, &value);
	if (failure != NULL || p->type == PROCESSOR_COPY)
		return failure;
	/* Onto itself, by whatever name. */
	if (p->to.kind == p->name.kind &&
		(p->to.kind == NAME_FIELD ? p->to.field == p->name.field
								  : ls_str_eq(p->to.key, p->name.key)))
		return NULL;
	return ls_pipeline_remove(run, &p->name);
}

static const char *
set(ls_pipeline_run *run, const processor *p)
{
	event_value value = p->value;
	ls_buf text;

	if (p->is_template)
	{
		ls_buf_init(&text, run->arena);
		for (uint32_t i = 0; i < p->n_parts; i++)
		{
			event_value part;

			if (!p->parts[i].is_field)
				ls_buf_str(&text, p->parts[i].text);
			else if (ls_pipeline_get(run, &p->parts[i].name, &part))
				ls_buf_str(&text, ls_pipeline_text(run, &part));
		}
		if (text.failed)
			return "out of memory";
		value = (event_value){LS_KIND_STRING, ls_str_make(text.data, text.len), 0};
	}
	return ls_pipeline_set(run, &p->name, &value);
}

static const char *
run_processor(ls_pipeline_run *run, const processor *p, verdict *verdict)
{
	const char *failure = NULL;
	bool found;
	uint64_t hash;
	int matched;

	switch (p->type)
	{
		case PROCESSOR_PARSE_JSON:
			return ls_pipeline_parse_json(run, p);
		case PROCESSOR_PARSE_REGEX:
			return ls_pipeline_parse_regex(run, p);
		case PROCESSOR_PARSE_KV:
			return ls_pipeline_parse_kv(run, p);
		case PROCESSOR_SET:
			return set(run, p);
		case PROCESSOR_REMOVE:
			for (uint32_t i = 0; i < p->n_names && failure == NULL; i++)
				failure = ls_pipeline_remove(run, &p->names[i]);
			return failure;
		case PROCESSOR_RENAME:
		case PROCESSOR_COPY:
			return move(run, p);
		case PROCESSOR_CONVERT:
			return ls_pipeline_convert(run, p);
		case PROCESSOR_MASK:
			return ls_pipeline_mask(run, p, false);
		case PROCESSOR_DROP_IF:
			matched = ls_event_filter_match(p->filter, &run->event);
			if (matched > 0)
				*verdict = DROPPED;
			return matched < 0 ? "the filter needs too many steps" : NULL;
		case PROCESSOR_SAMPLE:
			hash = key_hash(run, p, &found);
			if (!found)
				hash = next_random(run);
			if (!p->keep_all && hash >= p->keep_below)
				*verdict = DROPPED;
			return NULL;
		case PROCESSOR_ROUTE:
			if (run->test)
				return NULL;
			if (run->known_index != NULL && !run->known_index(run->context, p->index))
				return "there is no such index";
			run->event.field[LS_FIELD_INDEX] = p->index;
			run->event.has |= 1u << LS_FIELD_INDEX;
			run->changed = true;
			return NULL;
		case PROCESSOR_LIMIT:
			if (run->take == NULL)
				return NULL;
			hash = key_hash(run, p, &found);
			if (!run->take(run->context, p->limiter + run->test, hash, p->per_minute))
				*verdict = DROPPED;
			return NULL;
	}
	return NULL;
}

/* ---- failures ---- */

/* The first failure of an event becomes an attribute. */
static void
tag(ls_pipeline_run *run, const pipeline *in, const processor *p, const char *failure)
{
	ls_attribute *a;
	ls_buf text;

	for (size_t i = 0; i < run->event.n_attributes; i++)
	{
		if (ls_str_eq(run->attributes[i].key, LS_STR(LS_PIPELINE_ERROR_ATTRIBUTE)))
			return;
	}
	ls_buf_init(&text, run->arena);
	ls_buf_str(&text, in->name);
	ls_buf_lit(&text, ": ");
	if (p != NULL)
		ls_buf_printf(&text, "processors[%u] %.*s: ", (unsigned) (p - in->processors),
					  (int) p->type_name.len, p->type_name.data);
	ls_buf_printf(&text, "%s", failure);
	a = &run->attributes[run->event.n_attributes++];
	*a = (ls_attribute){.key = LS_STR(LS_PIPELINE_ERROR_ATTRIBUTE), .kind = LS_KIND_STRING};
	a->text = text.failed ? LS_STR("out of memory") : ls_str_make(text.data, text.len);
	run->changed = true;
}

static void
note_step(ls_pipeline_run *run, const pipeline *in, const processor *p, bool ran,
		  const char *failure, bool dropped, uint64_t began)
{
	ls_pipeline_step step = {.pipeline = (uint32_t) (in - run->program->pipelines),
							 .processor = p != NULL ? (int) (p - in->processors) : -1,
							 .ran = ran,
							 .failure = failure,
							 .dropped = dropped,
							 .nanoseconds = ls_pipeline_clock() - began,
							 .event = &run->event};

	if (run->step != NULL)
		run->step(run->context, &step);
}

/* One processor; false: the event is dropped. */
static bool
step(ls_pipeline_run *run, const pipeline *in, processor *p, bool timed)
{
	uint64_t began = timed ? ls_pipeline_clock() : 0;
	const char *failure = NULL;
	verdict verdict = GOES_ON;
	int condition = 1;

	p->counts.in++;
	if (ls_pipeline_late(run))
		condition = -1;
	else if (p->condition != NULL)
		condition = ls_event_filter_match(p->condition, &run->event);
	if (condition < 0)
	{
		failure = run->late ? TOO_LATE : "the condition needs too many steps";
		if (p->type == PROCESSOR_MASK)
			(void) ls_pipeline_mask(run, p, true);
	}
	else if (condition > 0)
		failure = run_processor(run, p, &verdict);
	if (failure != NULL)
	{
		p->counts.failed++;
		if (p->on_failure == ON_FAILURE_DROP)
			verdict = DROPPED;
		else if (p->on_failure == ON_FAILURE_TAG)
			tag(run, in, p, failure);
	}
	if (verdict == DROPPED)
		p->counts.dropped++;
	else
		p->counts.out++;
	if (timed)
	{
		p->counts.nanoseconds +=
			(ls_pipeline_clock() - began) * (run->step != NULL ? 1 : TIMED_EVENTS);
		note_step(run, in, p, condition != 0, failure, verdict == DROPPED, began);
	}
	return verdict != DROPPED;
}

/* One pipeline that matches; false: the event is dropped. */
static bool
run_pipeline(ls_pipeline_run *run, pipeline *in, bool timed)
{
	uint64_t began = timed ? ls_pipeline_clock() : 0;
	bool kept = true;

	in->counts.in++;
	for (uint32_t i = 0; i < in->n_processors && kept; i++)
		kept = step(run, in, &in->processors[i], timed);
	if (kept)
		in->counts.out++;
	else
		in->counts.dropped++;
	if (timed)
		in->counts.nanoseconds +=
			(ls_pipeline_clock() - began) * (run->step != NULL ? 1 : TIMED_EVENTS);
	return kept;
}

/* Is the event still within what an event may be?  Cuts its text if it is not. */
static void
check_size(ls_pipeline_run *run)
{
	ls_event *event = &run->event;
	size_t size = 0;

	for (int f = 0; f < LS_NAMED_FIELDS; f++)
	{
		if ((event->has & 1u << f) != 0)
			size += event->field[f].len;
	}
	for (size_t i = 0; i < event->n_attributes; i++)
		size += run->attributes[i].key.len + run->attributes[i].text.len;
	/* Attributes from the last on, until it fits: what a pipeline added is there. */
	while (size > run->limits.event_bytes && event->n_attributes > 0)
	{
		const ls_attribute *last = &run->attributes[--event->n_attributes];

		size -= last->key.len + last->text.len;
		ls_pipeline_note_cut(run, LS_STR("attributes."), last->key);
	}
}

/* Adds the names of what was cut to those that were cut before. */
static void
note_cuts(ls_pipeline_run *run)
{
	ls_event *event = &run->event;
	ls_buf all;

	ls_buf_init(&all, run->arena);
	if ((event->has & 1u << LS_FIELD_TRUNCATED) != 0)
	{
		ls_buf_str(&all, event->field[LS_FIELD_TRUNCATED]);
		ls_buf_char(&all, ',');
	}
	ls_buf_append(&all, run->cuts.data, run->cuts.len);
	if (all.failed || run->cuts.failed)
		return;
	if (all.len > run->limits.value_bytes)
		all.len = ls_utf8_prefix_bytes(all.data, all.len, run->limits.value_bytes);
	event->field[LS_FIELD_TRUNCATED] = ls_str_make(all.data, all.len);
	event->has |= 1u << LS_FIELD_TRUNCATED;
}

/* A copy to work on, without an attribute that only failures of processors may have. */
static void
take_event(ls_pipeline_run *run, const ls_event *event)
{
	run->event = *event;
	run->event.attributes = run->attributes;
	run->event.n_attributes = 0;
	for (size_t i = 0; i < event->n_attributes; i++)
	{
		if (event->attributes[i].key.len == sizeof(LS_PIPELINE_ERROR_ATTRIBUTE) - 1 &&
			ls_str_eq(event->attributes[i].key, LS_STR(LS_PIPELINE_ERROR_ATTRIBUTE)))
			run->changed = true;
		else
			run->attributes[run->event.n_attributes++] = event->attributes[i];
	}
}

/* Is the time of the request over?  The same as of an event: what others took does not count. */
static bool
is_used_up(ls_pipeline_run *run)
{
	uint64_t elsewhere;
	uint64_t cpu;
	uint64_t spent;

	if (run->budget > 0)
		return false;
	if (run->cpu == NULL)
		return true;
	elsewhere = ls_pipeline_clock() - run->began - run->used;
	cpu = run->cpu() - run->cpu_began;
	spent = cpu > elsewhere ? cpu - elsewhere : 0;
	if (spent >= run->used)
		return true;
	run->budget += (int64_t) (run->used - spent);
	run->began += run->used - spent;
	run->used = spent;
	return run->budget <= 0;
}

/* A trial is also told which pipelines with masks match and do not run: the first one was the last. */
static void
note_shadowed(ls_pipeline_run *run, uint32_t from)
{
	const ls_program *program = run->program;

	for (uint32_t i = from; i < program->n_pipelines && run->step != NULL; i++)
	{
		const pipeline *p = &program->pipelines[i];
		bool masks = false;

		for (uint32_t n = 0; n < p->n_processors; n++)
			masks = masks || p->processors[n].type == PROCESSOR_MASK;
		if (masks && (p->match == NULL || ls_event_filter_match(p->match, &run->event) != 0))
			run->step(run->context, &(ls_pipeline_step){.pipeline = i, .processor = -2});
	}
}

ls_event_fate
ls_pipeline_run_event(ls_pipeline_run *run, const ls_event *event, const ls_event **out)
{
	ls_program *program = run->program;
	bool timed = run->step != NULL || run->n_events++ % TIMED_EVENTS == 0;
	bool kept = true;
	uint64_t began;

	ls_arena_reset(run->arena);
	run->event_began = began = ls_pipeline_clock();
	run->late = is_used_up(run);
	run->changed = false;
	run->cut = false;
	ls_buf_init(&run->cuts, run->arena);
	ls_buf_init(&run->unescaped, run->arena);
	take_event(run, event);
	program->regexes.late = late;
	program->regexes.context = run;

	for (uint32_t i = 0; i < program->n_pipelines && kept; i++)
	{
		pipeline *p = &program->pipelines[i];
		int matched = 1;

		/* Not known: as if it matched, or what it masks would get through. */
		if (ls_pipeline_late(run))
			matched = -1;
		else if (p->match != NULL)
			matched = ls_event_filter_match(p->match, &run->event);
		if (run->step != NULL)
			note_step(run, p, NULL, matched != 0, NULL, false, began);
		if (matched == 0)
			continue;
		if (matched < 0)
		{
			p->counts.failed++;
			tag(run, p, NULL, run->late ? TOO_LATE : "the match needs too many steps");
		}
		kept = run_pipeline(run, p, timed);
		/* Which one is the first is not known either. */
		if (matched > 0 && !p->goes_on)
		{
			if (kept)
				note_shadowed(run, i + 1);
			break;
		}
	}
	program->regexes.late = NULL;
	began = ls_pipeline_clock() - began;
	run->used += began;
	run->budget -= (int64_t) began;
	*out = &run->event;
	if (!kept)
		return LS_FATE_DROPPED;
	if (!run->changed)
		return LS_FATE_KEPT;
	check_size(run);
	if (run->cut)
		note_cuts(run);
	return LS_FATE_CHANGED;
}
