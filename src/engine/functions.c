/*-------------------------------------------------------------------------
 *
 * functions.c
 *	  The functions of expressions, for single values (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem; PostgreSQL's flags set it too */
#endif

#include "src/engine/engine_internal.h"

#include <math.h>
#include <stdlib.h>

#include "src/engine/text.h"

/* Times of events: the years 1 to 9999. */
#define FIRST_TIME INT64_C(-62135596800000000)
#define END_TIME INT64_C(253402300800000000)

#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

/* ---- texts ---- */

static bool
is_ascii(ls_str text)
{
	size_t i = 0;

	for (; i + 8 <= text.len; i += 8)
	{
		if ((ls_load64(text.data + i) & UINT64_C(0x8080808080808080)) != 0)
			return false;
	}
	for (; i < text.len; i++)
	{
		if ((text.data[i] & 0x80) != 0)
			return false;
	}
	return true;
}

static ls_scalar
change_case(ls_engine *engine, ls_str text, bool upper)
{
	ls_str changed;
	char *to;

	if (!engine->host.ascii_case || !is_ascii(text))
		changed = engine->host.change_case(engine->host.context, engine->batch, text, upper);
	else
	{
		to = ls_arena_alloc(engine->batch, text.len + 1);
		for (size_t i = 0; to != NULL && i < text.len; i++)
		{
			char c = text.data[i];
			bool change = upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';

			to[i] = change ? (char) (c ^ 0x20) : c;
		}
		changed = ls_str_make(to, text.len);
	}
	if (changed.data == NULL)
	{
		ls_engine_fail(engine, LS_ENGINE_MEMORY);
		return ls_scalar_null();
	}
	return ls_scalar_string(engine, changed);
}

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static ls_str
trim(ls_str text)
{
	while (text.len > 0 && is_space(text.data[0]))
		text = ls_str_make(text.data + 1, text.len - 1);
	while (text.len > 0 && is_space(text.data[text.len - 1]))
		text.len--;
	return text;
}

/* A number as a number of characters, limited to what a text can have. */
static double
characters(ls_num number)
{
	return MAX_OF(MIN_OF(trunc(number.d), 1e10), -1e10);
}

/* Characters count from 1; a negative start counts from the end. */
static ls_scalar
substring(ls_engine *engine, ls_str text, const ls_scalar *args, uint32_t n)
{
	double length = (double) ls_utf8_length(text.data, text.len);
	double end = length;
	ls_num start;
	ls_num count;
	size_t from;
	size_t to;

	if (!ls_scalar_number(&args[1], &start) || (n > 2 && !ls_scalar_number(&args[2], &count)))
		return ls_scalar_null();
	start.d = characters(start);
	start.d = start.d < 0 ? length + start.d : start.d - 1;
	if (n > 2)
		end = MIN_OF(length, start.d + characters(count));
	start.d = MAX_OF(start.d, 0);
	if (start.d >= end)
		return ls_scalar_string(engine, LS_STR(""));
	from = ls_utf8_prefix_chars(text.data, text.len, (size_t) start.d);
	to = ls_utf8_prefix_chars(text.data, text.len, (size_t) end);
	return ls_scalar_string(engine, ls_str_make(text.data + from, to - from));
}

static ls_scalar
replace(ls_engine *engine, ls_str text, ls_str from, ls_str to)
{
	ls_buf buf;
	const char *found;

	if (from.len == 0)
		return ls_scalar_string(engine, text);
	ls_buf_init(&buf, engine->batch);
	while (buf.len <= LS_ENGINE_MAX_TEXT && !buf.failed &&
		   (found = memmem(text.data, text.len, from.data, from.len)) != NULL)
	{
		size_t before = (size_t) (found - text.data);

		ls_buf_append(&buf, text.data, before);
		ls_buf_str(&buf, to);
		text = ls_str_make(found + from.len, text.len - before - from.len);
	}
	ls_buf_str(&buf, text);
	return ls_scalar_buffer(engine, &buf);
}

static ls_scalar
concat(ls_engine *engine, const ls_scalar *args, uint32_t n)
{
	ls_buf buf;

	ls_buf_init(&buf, engine->batch);
	for (uint32_t i = 0; i < n && buf.len <= LS_ENGINE_MAX_TEXT; i++)
		ls_buf_str(&buf, ls_scalar_render(engine, &args[i]));
	return ls_scalar_buffer(engine, &buf);
}

static ls_scalar
like(ls_engine *engine, ls_str text, ls_str pattern)
{
	int matched = ls_like(text, pattern);

	if (matched < 0)
		ls_engine_fail(engine, LS_ENGINE_LIKE);
	return ls_scalar_boolean(matched > 0);
}

/* ---- numbers ---- */

#define ROUND_DIGITS 1200

/*
 * Rounds a printed number to `places` decimals (-400 to 400), halves away from zero, as decimal
 * arithmetic does.  Returns the length of the text in `out`, or 0 if it is not such a number.
 */
static size_t
round_text(ls_str text, int places, char *out, size_t room)
{
	char digits[ROUND_DIGITS];
	int n = 0;     /* digits, without leading zeros */
	int point = 0; /* how many of them are before the point */
	int exponent = 0;
	int keep;
	bool negative = text.len > 0 && text.data[0] == '-';
	bool after = false;
	size_t at = 0;

	for (size_t i = negative; i < text.len; i++)
	{
		char c = text.data[i];

		if (c == '.')
			after = true;
		else if (c == 'e' || c == 'E')
		{
			exponent = atoi(text.data + i + 1); /* NUL-terminated: it was printed */
			break;
		}
		else if (c < '0' || c > '9' || n >= ROUND_DIGITS - 1)
			return 0;
		else
		{
			if (n > 0 || c != '0')
			{
				digits[n++] = c;
				point += !after;
			}
			else
				point -= after;
		}
	}
	point += exponent;
	keep = point + places;
	if (keep < 0)
		n = 0;
	else if (keep < n)
	{
		bool up = digits[keep] >= '5';

		n = keep;
		for (int i = n - 1; i >= 0 && up; i--)
		{
			up = digits[i] == '9';
			digits[i] = up ? '0' : (char) (digits[i] + 1);
		}
		if (up)
		{
			memmove(digits + 1, digits, (size_t) n);
			digits[0] = '1';
			n++;
			point++;
		}
	}
	if (n == 0)
	{
		negative = false;
		point = 0;
	}
	if ((size_t) MAX_OF(point, 0) + (size_t) MAX_OF(places, 0) + 8 > room)
		return 0;
	if (negative)
		out[at++] = '-';
	if (point <= 0)
		out[at++] = '0';
	for (int i = 0; i < point; i++)
		out[at++] = i < n ? digits[i] : '0';
	if (places > 0)
		out[at++] = '.';
	for (int i = point; i < point + places; i++)
		out[at++] = i >= 0 && i < n ? digits[i] : '0';
	out[at] = '\0';
	return at;
}

/* Rounds the printed number, halves away from zero; the number of digits may be negative. */
static ls_scalar
round_to(ls_engine *engine, const ls_scalar *args, uint32_t n)
{
	ls_scalar v = {.kind = LS_SCALAR_NUMBER};
	ls_num digits = {true, 0, 0};
	char out[ROUND_DIGITS];
	size_t length;

	if (!ls_scalar_operand(&args[0], &v.number) || (n > 1 && !ls_scalar_number(&args[1], &digits)))
		return ls_scalar_null();
	if (v.number.is_int && digits.d >= 0)
		return ls_scalar_integer(v.number.i);
	if (!isfinite(v.number.d))
		return ls_scalar_null();
	length = round_text(ls_scalar_render(engine, &v), (int) MAX_OF(MIN_OF(digits.d, 400), -400),
						out, sizeof(out));
	if (length == 0)
		return ls_scalar_null();
	/* Longer than a number in a text may be. */
	if (!ls_num_parse(ls_str_make(out, length), &v.number))
		v.number = ls_num_of_double(strtod(out, NULL));
	return v.number.is_int ? ls_scalar_integer(v.number.i) : ls_scalar_double(v.number.d);
}

static ls_scalar
whole(const ls_scalar *arg, double (*function)(double))
{
	ls_num number;

	if (!ls_scalar_operand(arg, &number))
		return ls_scalar_null();
	if (number.is_int && (function != fabs || number.i > INT64_MIN))
		return ls_scalar_integer(function == fabs && number.i < 0 ? -number.i : number.i);
	return ls_scalar_double(function(number.d));
}

static ls_scalar
number_of(const ls_scalar *arg)
{
	ls_num number;

	if (!ls_scalar_operand(arg, &number))
		return ls_scalar_null();
	return number.is_int ? ls_scalar_integer(number.i) : ls_scalar_double(number.d);
}

/* ---- lists ---- */

/* A list, or any other value, as JSON. */
static ls_str
json_of(ls_engine *engine, const ls_scalar *v)
{
	ls_buf buf;

	if (v->kind != LS_SCALAR_STRING)
		return ls_scalar_render(engine, v);
	ls_buf_init(&buf, engine->batch);
	ls_json_quote(&buf, v->text);
	if (buf.failed)
	{
		ls_engine_fail(engine, LS_ENGINE_MEMORY);
		return LS_STR("null");
	}
	return ls_str_make(buf.data, buf.len);
}

static ls_scalar
list_value(ls_engine *engine, const ls_buf *buf)
{
	ls_scalar v = ls_scalar_buffer(engine, buf);

	if (v.kind == LS_SCALAR_STRING)
		v.kind = LS_SCALAR_JSON;
	return v;
}

/* A JSON text as a value. */
static ls_scalar
value_of_json(ls_engine *engine, ls_str json)
{
	ls_json_value value;
	ls_json j;

	switch (json.len == 0 ? 'n' : json.data[0])
	{
		case '"':
			ls_json_init(&j, json, engine->batch, 4);
			if (!ls_json_read(&j, &value))
			{
				ls_engine_fail(engine, LS_ENGINE_MEMORY);
				return ls_scalar_null();
			}
			return ls_scalar_string(engine, value.text);
		case '{':
		case '[':
			return (ls_scalar){.kind = LS_SCALAR_JSON, .text = json};
		case 't':
		case 'f':
			return ls_scalar_boolean(json.data[0] == 't');
		case 'n':
			return ls_scalar_null();
		default:
			return ls_scalar_of_number(json);
	}
}

static ls_scalar
list_part(ls_engine *engine, const ls_scalar *args, uint32_t n)
{
	ls_num from;
	ls_num to = {true, 0, 0};
	int64_t last;
	ls_scalar list;
	ls_buf buf;

	if (!ls_scalar_number(&args[1], &from) || (n > 2 && !ls_scalar_number(&args[2], &to)))
		return ls_scalar_null();
	ls_buf_init(&buf, engine->batch);
	last = (int64_t) characters(to);
	if (!ls_list_slice(&buf, engine->batch, json_of(engine, &args[0]), (int64_t) characters(from),
					   n > 2 ? &last : NULL))
	{
		if (ls_arena_failed(engine->batch))
			ls_engine_fail(engine, LS_ENGINE_MEMORY);
		return ls_scalar_null();
	}
	list = list_value(engine, &buf);
	return list.kind == LS_SCALAR_JSON ? value_of_json(engine, list.text) : list;
}

/* ---- times ---- */

/* A time, or a number of seconds since 1970. */
static bool
time_of(const ls_scalar *v, ls_time *time)
{
	ls_num seconds;

	/* Without a detour through a double, which has some 15 digits. */
	if (v->kind == LS_SCALAR_STRING && !ls_scalar_number(v, &seconds))
		return ls_time_parse_iso(v->text, time) && *time >= FIRST_TIME && *time < END_TIME;
	if (!ls_scalar_number(v, &seconds) || !(fabs(seconds.d) < 1e12))
		return false;
	*time = seconds.is_int ? seconds.i * LS_USECS_PER_SEC
						   : (ls_time) llround(seconds.d * (double) LS_USECS_PER_SEC);
	return *time >= FIRST_TIME && *time < END_TIME;
}

static ls_scalar
iso(ls_engine *engine, ls_time time)
{
	char *text = ls_arena_alloc(engine->batch, LS_TIME_ISO_LENGTH + 1);

	if (text == NULL)
	{
		ls_engine_fail(engine, LS_ENGINE_MEMORY);
		return ls_scalar_null();
	}
	ls_time_format_iso(time, text);
	return ls_scalar_string(engine, ls_str_make(text, LS_TIME_ISO_LENGTH));
}

static ls_scalar
print_time(ls_engine *engine, const ls_scalar *args)
{
	ls_time time;
	ls_buf buf;

	if (!time_of(&args[0], &time))
		return ls_scalar_null();
	ls_buf_init(&buf, engine->batch);
	ls_time_print(&buf, args[1].text, time, &engine->host.zone);
	return ls_scalar_buffer(engine, &buf);
}

/* As seconds since 1970. */
static ls_scalar
read_time(ls_engine *engine, const ls_scalar *args)
{
	ls_time time;

	if (!ls_time_read(ls_scalar_render(engine, &args[0]), args[1].text, &engine->host.zone, &time))
		return ls_scalar_null();
	if (time % LS_USECS_PER_SEC == 0)
		return ls_scalar_integer(time / LS_USECS_PER_SEC);
	return ls_scalar_double((double) time / (double) LS_USECS_PER_SEC);
}

/* The start of the bucket of a time or of a number. */
static ls_scalar
bucket_of(ls_engine *engine, const ls_scalar *args)
{
	ls_query_duration span;
	ls_num number;
	ls_num width;
	ls_time time;

	if (args[1].kind == LS_SCALAR_STRING)
	{
		if (!ls_query_bin_span(args[1].text, &span) || !time_of(&args[0], &time))
			return ls_scalar_null();
		return iso(engine, ls_query_time_bucket(time, span, &engine->host.zone));
	}
	if (!ls_scalar_number(&args[0], &number) || !ls_scalar_number(&args[1], &width))
		return ls_scalar_null();
	if (number.is_int && width.is_int && width.i > 0)
	{
		int64_t rest = number.i % width.i;
		int64_t start;

		rest = rest < 0 ? rest + width.i : rest;
		if (!__builtin_sub_overflow(number.i, rest, &start))
			return ls_scalar_integer(start);
	}
	return ls_scalar_double(floor(number.d / width.d) * width.d);
}

/* ---- all ---- */

ls_scalar
ls_engine_call(ls_engine *engine, const ls_engine_node *node, const ls_scalar *args)
{
	uint32_t n = node->n_args;
	ls_str text;
	ls_buf buf;

	if (node->function == LS_CALL_NOW)
		return iso(engine, engine->host.now);
	if (node->function == LS_CALL_CONCAT)
		return concat(engine, args, n);
	if (args[0].kind == LS_SCALAR_NULL)
		return ls_scalar_null();
	switch (node->function)
	{
		case LS_CALL_ROUND:
			return round_to(engine, args, n);
		case LS_CALL_FLOOR:
			return whole(&args[0], floor);
		case LS_CALL_CEIL:
			return whole(&args[0], ceil);
		case LS_CALL_ABS:
			return whole(&args[0], fabs);
		case LS_CALL_TONUMBER:
			return number_of(&args[0]);
		case LS_CALL_MVINDEX:
			return list_part(engine, args, n);
		case LS_CALL_MVJOIN:
			ls_buf_init(&buf, engine->batch);
			ls_list_join(&buf, engine->batch, json_of(engine, &args[0]),
						 ls_scalar_render(engine, &args[1]));
			return ls_scalar_buffer(engine, &buf);
		case LS_CALL_STRFTIME:
			return print_time(engine, args);
		case LS_CALL_STRPTIME:
			return read_time(engine, args);
		case LS_CALL_BIN:
			return bucket_of(engine, args);
		default:
			break;
	}
	text = ls_scalar_render(engine, &args[0]);
	switch (node->function)
	{
		case LS_CALL_LOWER:
		case LS_CALL_UPPER:
			return change_case(engine, text, node->function == LS_CALL_UPPER);
		case LS_CALL_TRIM:
			return ls_scalar_string(engine, trim(text));
		case LS_CALL_LEN:
			return ls_scalar_integer((int64_t) ls_utf8_length(text.data, text.len));
		case LS_CALL_SUBSTR:
			return substring(engine, text, args, n);
		case LS_CALL_REPLACE:
			if (args[1].kind == LS_SCALAR_NULL)
				return ls_scalar_string(engine, text);
			return replace(engine, text, ls_scalar_render(engine, &args[1]),
						   ls_scalar_render(engine, &args[2]));
		case LS_CALL_TOSTRING:
			return ls_scalar_string(engine, text);
		case LS_CALL_LIKE:
			if (args[1].kind == LS_SCALAR_NULL)
				return ls_scalar_null();
			return like(engine, text, ls_scalar_render(engine, &args[1]));
		case LS_CALL_SPLIT:
			ls_buf_init(&buf, engine->batch);
			ls_list_split(&buf, text, ls_scalar_render(engine, &args[1]));
			return list_value(engine, &buf);
		case LS_CALL_MVCOUNT:
			return ls_scalar_integer(ls_list_count(text));
		default: /* those that need only some of their arguments */
			return ls_scalar_null();
	}
}
