/*-------------------------------------------------------------------------
 *
 * level_note.c
 *	  Notes for those who search for the word `error` and mean the level, and for
 *	  those who find nothing because no event has such a level.
 *
 * The events of level error rarely have that word.  So the answer says how many of
 * them the range has.  The number comes from the headers of parts; only parts
 * that are partly in the range are read.  A query that names the level itself, or has
 * no such word, costs nothing.  That no event has a level is said only after a count, too.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include <ctype.h>

#include "src/decode/decode.h"

/* The levels, and the words for them. */
static const struct
{
	const char *word;
	const char *level;
} words[] = {
	{"trace", "trace"},  {"debug", "debug"},   {"info", "info"},      {"warn", "warn"},
	{"error", "error"},  {"fatal", "fatal"},   {"warning", "warn"},   {"err", "error"},
	{"errors", "error"}, {"warnings", "warn"}, {"critical", "fatal"},
};

/* At most this many levels are counted. */
#define MOST_WORDS 3
#define MOST_FIELDS 16

typedef struct found
{
	const char *levels[MOST_WORDS];
	const ls_query_value *values[MOST_WORDS];
	const ls_query_filter *filters[MOST_WORDS]; /* status=error; NULL: a word */
	bool excludes[MOST_WORDS];                  /* NOT status=error, status!=error */
	int n;
	bool nothing;  /* the search has found no rows */
	bool named;    /* the query says something about the level */
	bool excluded; /* inside of NOT */
} found;

static void
note_reading(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	found *f = context;

	f->named = f->named || field->builtin == LS_QUERY_LEVEL;
}

static const char *
level_of(const ls_query_value *value)
{
	for (size_t i = 0; i < lengthof(words); i++)
	{
		if (value->kind == LS_QUERY_WORD &&
			ls_str_eq_nocase(value->text, ls_str_of_cstring(words[i].word)))
			return words[i].level;
	}
	return NULL;
}

static bool
is_exclusion(const found *f, const ls_query_filter *filter)
{
	return f->excluded || filter->negated ||
		   (filter->kind == LS_QUERY_FILTER_COMPARE && filter->op == LS_QUERY_OP_NE);
}

static void
add_word(found *f, const ls_query_value *value, const ls_query_filter *filter)
{
	const char *level = level_of(value);

	if (level == NULL || f->n == MOST_WORDS)
		return;
	for (int i = 0; i < f->n; i++)
	{
		if (strcmp(f->levels[i], level) == 0)
			return;
	}
	f->levels[f->n] = level;
	f->filters[f->n] = filter;
	f->excludes[f->n] = filter != NULL && is_exclusion(f, filter);
	f->values[f->n++] = value;
}

/* Is it status compared with values?  Datadog's level is the status; with us that is mostly HTTP's, a number. */
static bool
is_status(const ls_query_filter *filter)
{
	return filter->field != NULL && ls_str_eq(filter->field->name, LS_STR("status")) &&
		   (filter->kind == LS_QUERY_FILTER_IN ||
			(filter->kind == LS_QUERY_FILTER_COMPARE && filter->op <= LS_QUERY_OP_NE));
}

/* Words that are excluded are no mistake; an excluded status finds events where it is one. */
static void
find_words(found *f, const ls_query_filter *filter)
{
	if (filter->kind == LS_QUERY_FILTER_AND || filter->kind == LS_QUERY_FILTER_OR ||
		filter->kind == LS_QUERY_FILTER_NOT)
	{
		bool before = f->excluded;

		f->excluded = before || filter->kind == LS_QUERY_FILTER_NOT;
		for (uint32 i = 0; i < filter->n_children; i++)
			find_words(f, filter->children[i]);
		f->excluded = before;
		return;
	}
	if (filter->kind == LS_QUERY_FILTER_TEXT && !f->excluded)
		add_word(f, filter->values.items[0], NULL);
	if (is_status(filter) && (f->nothing || is_exclusion(f, filter)))
	{
		for (uint32 i = 0; i < filter->values.n; i++)
			add_word(f, filter->values.items[i], filter);
	}
}

static char *
count_events(const ls_search *search, const char *field, ls_str level)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s=\"", field);
	for (size_t i = 0; i < level.len; i++)
	{
		if (level.data[i] == '"' || level.data[i] == '\\')
			appendStringInfoChar(&text, '\\');
		appendStringInfoChar(&text, level.data[i]);
	}
	appendStringInfoString(&text, "\" | stats count");
	return ls_search_count(search, text.data);
}

static bool
is_zero(const char *count)
{
	return count != NULL && strcmp(count, "0") == 0;
}

/* `level: error`: the name before it goes, too. */
static ls_query_span
with_spaced_name(const ls_query *query, ls_query_span span)
{
	const char *text = query->text.data;
	uint32 end = span.start;

	while (end > 0 && isspace((unsigned char) text[end - 1]))
		end--;
	for (uint32 i = 0; i < query->n_spaced_names; i++)
	{
		ls_str name = query->spaced_names[i];

		if (end > name.len && text[end - 1] == ':' &&
			memcmp(text + end - 1 - name.len, name.data, name.len) == 0)
			return (ls_query_span){end - 1 - (uint32) name.len, span.end};
	}
	return span;
}

static void
warn(ls_search *search, const found *f, int i, const char *count)
{
	ls_query *query = search->query;
	const ls_query_filter *filter = f->filters[i];
	ls_query_span span = filter == NULL ? f->values[i]->span : filter->span;
	ls_query_span replaced = filter == NULL ? with_spaced_name(query, span) : span;
	uint32 n = query->warnings.n;
	const char *events = strcmp(count, "1") == 0 ? "event" : "events";

	if (filter == NULL)
		ls_query_warn(query, search->arena, "LEVEL_IN_TEXT", span,
					  "%.*s is searched as a word; level=%s has %s %s",
					  (int) f->values[i]->text.len, f->values[i]->text.data, f->levels[i], count,
					  events);
	else
		ls_query_warn(query, search->arena, "LEVEL_IN_STATUS", span,
					  "status is compared with %.*s; level=%s has %s %s",
					  (int) f->values[i]->text.len, f->values[i]->text.data, f->levels[i], count,
					  events);
	/* Of several values each has its warning, and none is the whole. */
	if (query->warnings.n > n && (filter == NULL || filter->values.n == 1) &&
		(replaced.start == span.start || !ls_query_has_suggestion(&query->warnings, n)))
		query->warnings.items[n]->suggestion = ls_str_of_cstring(psprintf(
			"%.*slevel%s%s%.*s", (int) replaced.start, query->text.data,
			filter != NULL && filter->kind == LS_QUERY_FILTER_COMPARE &&
					filter->op == LS_QUERY_OP_NE
				? "!="
				: "=",
			f->levels[i], (int) (query->text.len - replaced.end), query->text.data + replaced.end));
}

/* The level that a value was probably meant to be: er, eror, critcal; or NULL. */
static const char *
near_level(const ls_query_value *value)
{
	ls_str names[lengthof(words)];
	ls_str standard[LS_QUERY_LEVELS];
	int closest;

	/* Senders' numbers are names here: 3 of syslog, 50 of pino. */
	if (value->kind == LS_QUERY_NUMBER && value->number >= 0 && value->number <= 100000)
	{
		ls_str level = ls_level_of_number((uint64) value->number, LS_LEVELS_UNKNOWN);

		return level.len > 0 ? ls_cstring_of_str(level) : NULL;
	}
	/* Other names are levels, too: notice. */
	if (value->wildcard || value->kind == LS_QUERY_NUMBER ||
		ls_query_levels(LS_QUERY_OP_EQ, value->text, standard) > 0)
		return NULL;
	for (size_t i = 0; i < lengthof(words); i++)
	{
		names[i] = ls_str_of_cstring(words[i].word);
		if (value->text.len > 0 && value->text.len < names[i].len &&
			ls_str_eq_nocase(value->text, (ls_str){names[i].data, value->text.len}))
			return words[i].level;
	}
	closest = ls_closest(value->text, names, lengthof(names));
	return closest < 0 ? NULL : words[closest].level;
}

typedef struct levels
{
	ls_search *search;
	bool check; /* nothing was searched: names that are like no level, too, and bounded work */
	bool looked;
	bool few;                                  /* the range has few parts */
	bool some;                                 /* it has events */
	int n;                                     /* that were counted */
	const ls_query_field *fields[MOST_FIELDS]; /* that are the level of events */
	int n_fields;
} levels;

static void
note_level(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	levels *l = context;

	if (field->builtin == LS_QUERY_LEVEL && l->n_fields < MOST_FIELDS)
		l->fields[l->n_fields++] = field;
}

static bool
is_level(const levels *l, const ls_query_expr *expr)
{
	for (int i = 0; i < l->n_fields; i++)
		if (expr->kind == LS_QUERY_EXPR_FIELD && expr->field == l->fields[i])
			return true;
	return false;
}

/* May the level be counted? */
static bool
take_level(levels *l, bool near)
{
	if (l->check && !l->looked)
	{
		ls_field_names names = ls_search_field_names(l->search, LS_MOST_LOOKED_AT + 1);

		l->looked = true;
		l->few = names.complete;
		l->some = names.n > 0 || names.builtins != 0;
	}
	return l->n < MOST_WORDS && (l->check ? l->few && (near || l->some) : near);
}

/* Warns if no event in the range has the level. */
static void
warn_level(levels *l, const ls_query_value *value)
{
	ls_search *s = l->search;
	ls_query *query = s->query;
	int shown = (int) ls_utf8_prefix_chars(value->text.data, value->text.len, 60);
	uint32 n = query->warnings.n;
	ls_str standard;
	const char *level;

	/* A level that has a name is none that was mistyped, whether or not there are events. */
	if (value->wildcard || ls_level_of_name(value->text, &standard))
		return;
	/* level="error|warn" has a warning that says more. */
	for (uint32 i = 0; i < n; i++)
	{
		const ls_query_span *other = &query->warnings.items[i]->span;

		if (value->span.end > 0 && other->start < value->span.end && other->end > value->span.start)
			return;
	}
	level = near_level(value);
	if (!take_level(l, level != NULL))
		return;
	l->n++;
	/* In quotes a number is the level that it is of a sender. */
	if (!is_zero(value->kind == LS_QUERY_NUMBER
					 ? ls_search_count(s, psprintf("level=%.*s | stats count",
												   (int) value->text.len, value->text.data))
					 : count_events(s, "level", value->text)))
		return;
	if (level == NULL)
		ls_query_warn(query, s->arena, "UNKNOWN_LEVEL", value->span, "no event has level %.*s",
					  shown, value->text.data);
	else
		ls_query_warn(query, s->arena, "UNKNOWN_LEVEL", value->span,
					  "no event has level %.*s: did you mean %s?", shown, value->text.data, level);
	if (query->warnings.n > n && level != NULL && value->span.end > 0)
		query->warnings.items[n]->suggestion = ls_str_of_cstring(psprintf(
			"%.*s%s%.*s", (int) value->span.start, query->text.data, level,
			(int) (query->text.len - value->span.end), query->text.data + value->span.end));
}

static void
warn_levels(levels *l, const ls_query_filter *filter)
{
	if (filter->kind == LS_QUERY_FILTER_AND || filter->kind == LS_QUERY_FILTER_OR)
	{
		for (uint32 i = 0; i < filter->n_children; i++)
			warn_levels(l, filter->children[i]);
		return;
	}
	if (filter->negated || filter->field == NULL || filter->field->builtin != LS_QUERY_LEVEL ||
		!(filter->kind == LS_QUERY_FILTER_IN ||
		  (filter->kind == LS_QUERY_FILTER_COMPARE && filter->op == LS_QUERY_OP_EQ)))
		return;
	for (uint32 i = 0; i < filter->values.n; i++)
		warn_level(l, filter->values.items[i]);
}

/* where level = "eror", level IN ("eror"), also inside of if() and the like; not where it is excluded. */
static void
warn_expression(levels *l, const ls_query_expr *expr)
{
	bool equal = (expr->kind == LS_QUERY_EXPR_COMPARE && expr->op == LS_QUERY_OP_EQ) ||
				 (expr->kind == LS_QUERY_EXPR_IN && !expr->negated);

	if (expr->kind == LS_QUERY_EXPR_NOT)
		return;
	for (uint32 i = 0; i < expr->n_args; i++)
	{
		const ls_query_expr *arg = expr->args[i];

		if (equal && i > 0 && arg->kind == LS_QUERY_EXPR_STRING && is_level(l, expr->args[0]))
		{
			/* Its quotes stay. */
			ls_query_value value = {
				.kind = LS_QUERY_STRING,
				.text = arg->text,
				.span = {arg->span.start + 1, arg->span.end - 1},
			};

			warn_level(l, &value);
		}
		else
			warn_expression(l, arg);
	}
}

static void
warn_stages(levels *l)
{
	const ls_query *query = l->search->query;

	ls_query_each_reading(query, note_level, l);
	for (uint32 i = 0; i < query->stages.n && l->n_fields > 0; i++)
	{
		const ls_query_stage *stage = query->stages.items[i];

		if (stage->condition != NULL)
			warn_expression(l, stage->condition);
		for (uint32 j = 0; j < stage->assigns.n; j++)
			if (stage->assigns.items[j]->value != NULL)
				warn_expression(l, stage->assigns.items[j]->value);
		for (uint32 j = 0; j < stage->aggregates.n; j++)
			if (stage->aggregates.items[j]->arg != NULL)
				warn_expression(l, stage->aggregates.items[j]->arg);
	}
}

void
ls_search_warn_levels(ls_search *search, bool check)
{
	levels l = {.search = search, .check = check};
	ls_query_value value = {.kind = LS_QUERY_STRING, .text = search->level};

	if (search->n_indexes == 0 || search->from >= search->to)
		return;
	if (search->level.len > 0)
		warn_level(&l, &value);
	if (search->query->filter != NULL)
		warn_levels(&l, search->query->filter);
	warn_stages(&l);
}

void
ls_search_note_levels(ls_search *search, bool nothing)
{
	ls_query *query = search->query;
	found f = {.nothing = nothing};

	if (query->filter != NULL && search->n_indexes > 0 && search->from < search->to)
		find_words(&f, query->filter);
	if (f.n > 0)
		ls_query_each_reading(query, note_reading, &f);
	for (int i = 0; i < f.n && !f.named; i++)
	{
		char *count = count_events(search, "level", ls_str_of_cstring(f.levels[i]));

		/* Where an event has that status, it may be excluded. */
		if (count != NULL && f.excludes[i] &&
			!is_zero(count_events(search, "status", f.values[i]->text)))
			continue;
		if (count != NULL && !is_zero(count))
			warn(search, &f, i, count);
	}
}
