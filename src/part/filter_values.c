/*-------------------------------------------------------------------------
 *
 * filter_values.c
 *	  Does one value match one leaf of a filter? (pure)
 *
 * Only this file implements the meaning of comparisons (docs/language.md).
 * Constants of a leaf are prepared once: numbers become ranges of integers, texts
 * are folded, wildcards are cut at their stars.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/filter_eval.h"

#include <math.h>
#include <stdio.h>

#include "src/part/event_id.h"

/* The integers for which `op` with the number is true. */
static void
set_range(ls_compare *c, ls_filter_op op, ls_num number)
{
	bool above = !number.is_int && number.d >= 9223372036854775808.0;
	bool below = !number.is_int && number.d < -9223372036854775808.0;
	/* number is between floor and ceiling; an integer is equal to both */
	int64_t floor_of = number.is_int ? number.i : above || below ? 0 : (int64_t) floor(number.d);
	int64_t ceil_of = number.is_int ? number.i : above || below ? 0 : (int64_t) ceil(number.d);
	bool empty = false;

	c->has_range = true;
	c->outside = op == LS_FILTER_NE;
	c->low = INT64_MIN;
	c->high = INT64_MAX;
	switch (op)
	{
		case LS_FILTER_EQ:
		case LS_FILTER_NE:
			c->low = c->high = floor_of;
			empty = !number.is_int;
			break;
		case LS_FILTER_LT:
		case LS_FILTER_LE:
			c->high = floor_of;
			empty = below;
			if (above)
				c->high = INT64_MAX;
			else if (number.is_int && op == LS_FILTER_LT)
			{
				if (floor_of == INT64_MIN)
					empty = true;
				else
					c->high = floor_of - 1;
			}
			break;
		default:
			c->low = ceil_of;
			empty = above;
			if (below)
				c->low = INT64_MIN;
			else if (number.is_int && op == LS_FILTER_GT)
			{
				if (ceil_of == INT64_MAX)
					empty = true;
				else
					c->low = ceil_of + 1;
			}
			break;
	}
	if (empty)
	{
		c->low = 1;
		c->high = 0;
	}
}

/* Microseconds since 1970 of a number in seconds, ms, us or ns, depending on its magnitude. */
static bool
time_of_number(ls_num number, ls_time *time)
{
	double size = fabs(number.d);
	double scale = size < 1e11 ? 1e6 : size < 1e14 ? 1e3 : size < 1e17 ? 1 : 1e-3;

	if (number.is_int && size < 1e17)
	{
		*time = number.i * (int64_t) scale;
		return true;
	}
	if (!(size * scale < 9e18))
		return false;
	*time = (ls_time) llround(number.d * scale);
	return true;
}

/*
 * The times for which `op` is true.  Times are shown in milliseconds: a
 * constant without microseconds means the whole millisecond.
 */
static void
set_time_range(ls_compare *c, ls_filter_op op, ls_time time)
{
	int64_t width = time % 1000 == 0 ? 999 : 0;

	c->has_range = true;
	c->outside = op == LS_FILTER_NE;
	c->low = INT64_MIN;
	c->high = INT64_MAX;
	if (op == LS_FILTER_EQ || op == LS_FILTER_NE || op == LS_FILTER_GE)
		c->low = time;
	if (op == LS_FILTER_EQ || op == LS_FILTER_NE || op == LS_FILTER_LE)
		c->high = time + width;
	if (op == LS_FILTER_LT)
		c->high = time - 1;
	if (op == LS_FILTER_GT)
		c->low = time + width + 1;
}

/* 007 is not one: as a text it equals no integer. */
static bool
is_json_number(ls_str text)
{
	size_t digits = text.len > 0 && text.data[0] == '-';

	return text.len == digits + 1 || (text.len > digits && text.data[digits] != '0');
}

static bool
prepare_compare(ls_arena *arena, const ls_filter *leaf, ls_target target, ls_compare *c)
{
	bool wildcard = leaf->op == LS_FILTER_WILDCARD || leaf->op == LS_FILTER_NE_WILDCARD;
	ls_time time;

	c->op = leaf->op;
	c->numeric = leaf->numeric && !wildcard;
	c->ignore_case = leaf->ignore_case;
	c->text = leaf->text;
	if (wildcard)
		return ls_wildcard_make(arena, leaf->text, leaf->ignore_case, &c->wildcard);
	if (c->numeric)
	{
		/* The literal as written may be an integer that a double cannot hold. */
		c->number = ls_num_of_double(leaf->number);
		if (ls_json_canonical_int(leaf->text, &c->number.i))
		{
			c->number.is_int = true;
			c->number.d = (double) c->number.i;
		}
	}
	if (target == LS_TARGET_TIMESTAMP || target == LS_TARGET_INGESTED_AT)
	{
		if (c->numeric ? time_of_number(c->number, &time) : ls_time_parse_iso(leaf->text, &time))
			set_time_range(c, leaf->op, time);
	}
	else if (target == LS_TARGET_ID)
		c->has_id = !c->numeric && ls_event_id_parse(leaf->text, &c->batch, &c->place);
	else if (c->numeric)
		set_range(c, leaf->op, c->number);
	else
		c->text_is_int =
			is_json_number(leaf->text) && ls_json_canonical_int(leaf->text, &c->text_int);
	if (leaf->ignore_case && !c->numeric && (leaf->op == LS_FILTER_EQ || leaf->op == LS_FILTER_NE))
	{
		ls_needle folded;

		if (!ls_needle_make(arena, leaf->text, &folded))
			return false;
		c->text = folded.text;
	}
	return true;
}

bool
ls_leaf_prepare(ls_filter_run *run, const ls_filter *filter, ls_leaf *leaf)
{
	const char *error = NULL;

	leaf->filter = filter;
	switch (filter->op)
	{
		case LS_FILTER_PHRASE:
			return ls_phrase_make(run->arena, filter->text, &leaf->phrase);
		case LS_FILTER_PHRASE_WILDCARD:
			return ls_token_pattern_make(run->arena, filter->text, &leaf->pattern);
		case LS_FILTER_PRESENT:
			return true;
		case LS_FILTER_CONTAINS:
			return ls_needle_make(run->arena, filter->text, &leaf->needle);
		case LS_FILTER_MATCHES:
			leaf->regex = ls_regex_compile(run->arena, filter->text, false, &error);
			if (leaf->regex == NULL && run->error == NULL)
				run->error = error;
			return (leaf->regex == NULL ||
					ls_regex_facts_of(run->arena, filter->text, &leaf->facts)) &&
				   !ls_arena_failed(run->arena);
		case LS_FILTER_IN:
			leaf->n_compares = filter->n_children;
			break;
		default:
			leaf->n_compares = 1;
			break;
	}
	leaf->compares = ls_new_array(run->arena, ls_compare, leaf->n_compares + 1);
	if (leaf->compares == NULL)
		return false;
	for (uint32_t i = 0; i < leaf->n_compares; i++)
	{
		const ls_filter *constant = filter->op == LS_FILTER_IN ? filter->children[i] : filter;

		if (!prepare_compare(run->arena, constant, filter->target, &leaf->compares[i]))
			return false;
	}
	return true;
}

static bool
holds(ls_filter_op op, int order)
{
	switch (op)
	{
		case LS_FILTER_EQ:
			return order == 0;
		case LS_FILTER_NE:
			return order != 0;
		case LS_FILTER_LT:
			return order < 0;
		case LS_FILTER_LE:
			return order <= 0;
		case LS_FILTER_GT:
			return order > 0;
		default:
			return order >= 0;
	}
}

/* A comparison with the text of an existing value. */
static bool
compare_text(ls_filter_run *run, const ls_compare *c, ls_kind kind, ls_str text)
{
	ls_num number;
	bool equal;

	if (c->op == LS_FILTER_WILDCARD || c->op == LS_FILTER_NE_WILDCARD)
		return ls_wildcard_match(&c->wildcard, text, &run->fold) == (c->op == LS_FILTER_WILDCARD);
	if (c->numeric)
	{
		/* A value that is not a number differs from every number, and is neither less nor greater. */
		if ((kind != LS_KIND_STRING && kind != LS_KIND_NUMBER) || !ls_num_parse(text, &number))
			return c->op == LS_FILTER_NE;
		return holds(c->op, ls_num_cmp(number, c->number));
	}
	if (c->op != LS_FILTER_EQ && c->op != LS_FILTER_NE)
		return holds(c->op, ls_str_cmp(text, c->text));
	equal = c->ignore_case ? ls_equal_folded(text, c->text, &run->fold) : ls_str_eq(text, c->text);
	return equal == (c->op == LS_FILTER_EQ);
}

/* Machine code takes as long to be made as some hundred short searches. */
#define MACHINE_SEARCHES 64

static bool
regex_matches(ls_filter_run *run, ls_leaf *leaf, ls_str text)
{
	const char *error = NULL;
	int matched = -1;

	if (leaf->searches < MACHINE_SEARCHES && run->machine_arena != NULL &&
		++leaf->searches == MACHINE_SEARCHES)
		leaf->machine =
			ls_regex_compile_machine(run->machine_arena, leaf->filter->text, run->machine_set);
	if (leaf->machine != NULL)
		matched = ls_regex_quick(leaf->machine, text);
	if (matched < 0)
		matched = ls_regex_match(leaf->regex, text, &error);
	if (matched < 0)
		run->error = error;
	return matched > 0;
}

static bool
decide_text(ls_filter_run *run, ls_leaf *leaf, ls_kind kind, ls_str text)
{
	switch (leaf->filter->op)
	{
		case LS_FILTER_PHRASE:
			return ls_phrase_in(&leaf->phrase, text, &run->fold);
		case LS_FILTER_PHRASE_WILDCARD:
			return ls_token_pattern_in(&leaf->pattern, text, &run->fold);
		case LS_FILTER_PRESENT:
			return true;
		case LS_FILTER_CONTAINS:
			return ls_needle_in(&leaf->needle, text, &run->fold);
		case LS_FILTER_MATCHES:
			return regex_matches(run, leaf, text);
		default:
			for (uint32_t i = 0; i < leaf->n_compares; i++)
			{
				if (compare_text(run, &leaf->compares[i], kind, text))
					return true;
			}
			return false;
	}
}

static bool
decide_integer(ls_filter_run *run, ls_leaf *leaf, int64_t value)
{
	char text[24];
	int n = 0;

	for (uint32_t i = 0; i < leaf->n_compares; i++)
	{
		const ls_compare *c = &leaf->compares[i];

		if (c->has_range)
		{
			if ((value >= c->low && value <= c->high) != c->outside)
				return true;
		}
		else if (c->op == LS_FILTER_EQ || c->op == LS_FILTER_NE)
		{
			if ((c->text_is_int && value == c->text_int) == (c->op == LS_FILTER_EQ))
				return true;
		}
		else
		{
			if (n == 0)
				n = snprintf(text, sizeof(text), "%lld", (long long) value);
			if (compare_text(run, c, LS_KIND_INTEGER, ls_str_make(text, (size_t) n)))
				return true;
		}
	}
	if (leaf->n_compares > 0 || leaf->filter->op == LS_FILTER_IN)
		return false;
	n = snprintf(text, sizeof(text), "%lld", (long long) value);
	return decide_text(run, leaf, LS_KIND_INTEGER, ls_str_make(text, (size_t) n));
}

ls_decision
ls_leaf_decide(ls_filter_run *run, ls_leaf *leaf, uint32_t nested, ls_kind kind, ls_str text,
			   int64_t integer)
{
	ls_member member;
	bool result;

	ls_filter_pause(run);
	if (nested > 0)
	{
		if (kind != LS_KIND_JSON ||
			!ls_json_path(text, leaf->filter->path + nested, leaf->filter->n_path - nested,
						  &run->member, &member))
			return LS_SKIP;
		kind = member.kind;
		text = member.text;
		integer = member.integer;
	}
	switch (kind)
	{
		case LS_KIND_INTEGER:
			result = decide_integer(run, leaf, integer);
			break;
		case LS_KIND_BOOLEAN:
			result = decide_text(run, leaf, kind, integer != 0 ? LS_STR("true") : LS_STR("false"));
			break;
		case LS_KIND_NULL:
			result = decide_text(run, leaf, kind, LS_STR("null"));
			break;
		default:
			result = decide_text(run, leaf, kind, text);
			break;
	}
	return result ? LS_TRUE : LS_FALSE;
}

ls_str
ls_value_text(ls_arena *arena, ls_kind kind, ls_str text, int64_t integer)
{
	ls_buf buf;

	switch (kind)
	{
		case LS_KIND_INTEGER:
			ls_buf_init(&buf, arena);
			ls_buf_printf(&buf, "%lld", (long long) integer);
			return ls_str_make(buf.failed ? NULL : buf.data, buf.failed ? 0 : buf.len);
		case LS_KIND_BOOLEAN:
			return integer != 0 ? LS_STR("true") : LS_STR("false");
		case LS_KIND_NULL:
			return LS_STR("null");
		default:
			return text;
	}
}
