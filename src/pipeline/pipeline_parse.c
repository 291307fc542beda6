/*-------------------------------------------------------------------------
 *
 * pipeline_parse.c
 *	  Processors that take a text apart, and that convert values (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline_internal.h"

#include <stdio.h>

/* Of pairs in one text; more are not looked at. */
#define MAX_PAIRS 1000

/* Members, words or pairs between two looks at the clock. */
#define LOOK_EVERY 64

static bool
value_of_json(ls_json *j, ls_arena *arena, event_value *value)
{
	ls_json_value read;
	ls_json_type type;
	ls_buf compact;

	*value = (event_value){.kind = LS_KIND_NULL};
	if (!ls_json_peek(j, &type))
		return false;
	if (type == LS_JSON_OBJECT || type == LS_JSON_ARRAY)
	{
		ls_buf_init(&compact, arena);
		j->narrow = true;
		if (!ls_json_compact(j, &compact) || compact.failed)
			return false;
		*value = (event_value){LS_KIND_JSON, ls_str_make(compact.data, compact.len), 0};
		return true;
	}
	if (!ls_json_read(j, &read))
		return false;
	switch (read.type)
	{
		case LS_JSON_STRING:
			*value = (event_value){LS_KIND_STRING, read.text, 0};
			break;
		case LS_JSON_NUMBER:
			value->kind = LS_KIND_NUMBER;
			value->text = read.text;
			if (ls_json_canonical_int(read.text, &value->integer))
				*value = (event_value){LS_KIND_INTEGER, LS_STR(""), value->integer};
			break;
		case LS_JSON_TRUE:
		case LS_JSON_FALSE:
			*value = (event_value){LS_KIND_BOOLEAN, LS_STR(""), read.type == LS_JSON_TRUE};
			break;
		default:
			break;
	}
	return true;
}

static bool
is_there(ls_pipeline_run *run, const event_name *name)
{
	event_value value;

	return ls_pipeline_get(run, name, &value);
}

const char *
ls_pipeline_parse_json(ls_pipeline_run *run, const processor *p)
{
	const char *failure = NULL;
	event_value source;
	event_value value;
	ls_json_value open;
	ls_json_type type;
	ls_json j;
	ls_str key;

	if (!ls_pipeline_get(run, &p->name, &source))
		return NULL;
	if (source.kind != LS_KIND_STRING && source.kind != LS_KIND_JSON)
		return "not JSON";
	ls_json_init(&j, source.text, run->arena, 64);
	if (!p->into_attributes)
	{
		if (!value_of_json(&j, run->arena, &value) || !ls_json_end(&j))
			return "not JSON";
		return p->overwrite || !is_there(run, &p->to) ? ls_pipeline_set(run, &p->to, &value) : NULL;
	}
	if (!ls_json_peek(&j, &type) || type != LS_JSON_OBJECT || !ls_json_skip(&j, &key) ||
		!ls_json_end(&j))
		return "not a JSON object";
	ls_json_init(&j, source.text, run->arena, 64);
	(void) ls_json_read(&j, &open);
	for (uint32_t n = 1; failure == NULL && ls_json_member(&j, &key); n++)
	{
		event_name name;

		if (n % LOOK_EVERY == 0 && ls_pipeline_late(run))
			return TOO_LATE;
		if (!value_of_json(&j, run->arena, &value))
			return "out of memory";
		name = (event_name){.kind = NAME_ATTRIBUTE, .key = key};
		if (p->overwrite || !is_there(run, &name))
			failure = ls_pipeline_set(run, &name, &value);
	}
	return failure;
}

/* A captured text as the value of a type; a text that is none of the type stays a text. */
static event_value
typed(ls_str text, char type)
{
	event_value value = {LS_KIND_STRING, text, 0};
	ls_num number;
	ls_json j;
	ls_str raw;

	if (type == 's' || !ls_num_parse(text, &number))
		return value;
	if (ls_json_canonical_int(text, &value.integer))
		return (event_value){LS_KIND_INTEGER, LS_STR(""), value.integer};
	/* 007 is a number to people, but not in JSON. */
	if (number.is_int)
		return (event_value){LS_KIND_INTEGER, LS_STR(""), number.i};
	ls_json_init(&j, text, NULL, 1);
	if (type == 'f' && ls_json_skip(&j, &raw) && ls_json_end(&j) && ls_json_number_fits(text))
		return (event_value){LS_KIND_NUMBER, text, 0};
	return value;
}

const char *
ls_pipeline_parse_regex(ls_pipeline_run *run, const processor *p)
{
	const char *failure = NULL;
	event_value source;
	ls_str text;
	ls_str group;
	int found;

	if (!ls_pipeline_get(run, &p->name, &source))
		return NULL;
	text = ls_pipeline_text(run, &source);
	found = ls_regex_search(p->regex, text, 0, &failure);
	if (found < 0)
		return failure;
	if (found == 0)
		return "the pattern does not match";
	failure = NULL;
	for (uint32_t i = 0; i < p->n_captures; i++)
	{
		const capture *c = &p->captures[i];
		event_value value;
		const char *wrong;

		if (!ls_regex_numbered(p->regex, c->number, text, &group))
			continue;
		value = typed(group, c->type);
		wrong = ls_pipeline_set(run, &c->name, &value);
		if (wrong != NULL && failure == NULL)
			failure = wrong;
	}
	return failure;
}

static const char *
find_text(ls_str text, size_t from, ls_str what)
{
	const char *pos = text.data + from;
	const char *end = text.data + text.len;

	while (pos < end && (pos = memchr(pos, what.data[0], (size_t) (end - pos))) != NULL)
	{
		if ((size_t) (end - pos) < what.len)
			return NULL;
		if (memcmp(pos, what.data, what.len) == 0)
			return pos;
		pos++;
	}
	return NULL;
}

/* A value in quotes may have separators in it. */
static ls_str
unquote(ls_pipeline_run *run, ls_str value)
{
	ls_buf buf;

	if (value.len < 2 || (value.data[0] != '"' && value.data[0] != '\'') ||
		value.data[value.len - 1] != value.data[0])
		return value;
	if (memchr(value.data, '\\', value.len) == NULL)
		return ls_str_make(value.data + 1, value.len - 2);
	ls_buf_init(&buf, run->arena);
	for (size_t i = 1; i + 1 < value.len; i++)
	{
		if (value.data[i] == '\\' && i + 2 < value.len)
			i++;
		ls_buf_char(&buf, value.data[i]);
	}
	return buf.failed ? LS_STR("") : ls_str_make(buf.data, buf.len);
}

/* The end of the value that begins at `from`: the next separator outside of quotes. */
static size_t
value_end(ls_str text, size_t from, ls_str separator)
{
	const char *found;

	if (from < text.len && (text.data[from] == '"' || text.data[from] == '\''))
	{
		char quote = text.data[from];

		for (size_t i = from + 1; i < text.len; i++)
		{
			if (text.data[i] == '\\')
				i++;
			else if (text.data[i] == quote)
			{
				from = i + 1;
				break;
			}
		}
	}
	found = find_text(text, from, separator);
	return found != NULL ? (size_t) (found - text.data) : text.len;
}

const char *
ls_pipeline_parse_kv(ls_pipeline_run *run, const processor *p)
{
	const char *failure = NULL;
	const char *separator = NULL;
	size_t pos = 0;
	bool any = false;
	event_value source;
	ls_str text;
	int pairs = 0;

	if (!ls_pipeline_get(run, &p->name, &source))
		return NULL;
	text = ls_pipeline_text(run, &source);
	for (uint32_t n = 1; pos < text.len && pairs < MAX_PAIRS; n++)
	{
		const char *pair_end;
		size_t equal;
		size_t end;
		ls_str key;
		ls_buf name;

		if (n % LOOK_EVERY == 0 && ls_pipeline_late(run))
			return TOO_LATE;
		/* Words before it do not look for it again: the text is read once. */
		if (separator == NULL || separator < text.data + pos)
			separator = find_text(text, pos, p->key_separator);
		if (separator == NULL)
			break;
		pair_end = find_text(text, pos, p->pair_separator);
		equal = (size_t) (separator - text.data);
		/* A word without a value. */
		if (pair_end != NULL && pair_end < separator)
		{
			pos = (size_t) (pair_end - text.data) + p->pair_separator.len;
			continue;
		}
		pairs++;
		end = value_end(text, equal + p->key_separator.len, p->pair_separator);
		key = ls_str_trim(ls_str_make(text.data + pos, equal - pos));
		if (key.len > 0 && key.len <= 4 * run->limits.key_chars)
		{
			event_name to = {.kind = NAME_ATTRIBUTE};
			event_value value = {.kind = LS_KIND_STRING};
			const char *wrong;

			ls_buf_init(&name, run->arena);
			ls_buf_str(&name, p->prefix);
			ls_buf_str(&name, key);
			if (name.failed)
				return "out of memory";
			to.key = ls_str_make(name.data, name.len);
			value.text = ls_str_trim(ls_str_make(text.data + equal + p->key_separator.len,
												 end - equal - p->key_separator.len));
			value.text = unquote(run, value.text);
			wrong = ls_pipeline_set(run, &to, &value);
			any = true;
			if (wrong != NULL && failure == NULL)
				failure = wrong;
		}
		pos = end + p->pair_separator.len;
	}
	return any ? failure : "no pairs";
}

/* ---- convert ---- */

static const char *
to_number(ls_str text, event_value *out)
{
	*out = typed(ls_str_trim(text), 'f');
	return out->kind == LS_KIND_STRING ? "not a number" : NULL;
}

static const char *
to_boolean(ls_str text, event_value *out)
{
	static const char *const names[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (ls_str_eq_nocase(text, ls_str_make(names[i], strlen(names[i]))))
		{
			*out = (event_value){LS_KIND_BOOLEAN, LS_STR(""), (int64_t) (i % 2)};
			return NULL;
		}
	}
	return "not a boolean";
}

static const char *
to_time(ls_pipeline_run *run, const processor *p, const event_value *value, ls_str text,
		event_value *out)
{
	ls_time time;
	bool good;
	char *iso = ls_arena_alloc(run->arena, LS_TIME_ISO_LENGTH + 1);

	if (iso == NULL)
		return "out of memory";
	if (p->format.len > 0)
		good = ls_pipeline_read_time(text, p->format, run->now, &time);
	else if (value->kind == LS_KIND_INTEGER || value->kind == LS_KIND_NUMBER)
		good = ls_normalize_time_number(text, &time);
	else
		good = ls_normalize_time_text(text, &time);
	if (!good)
		return "not a time";
	ls_time_format_iso(time, iso);
	*out = (event_value){LS_KIND_STRING, ls_str_make(iso, LS_TIME_ISO_LENGTH), 0};
	return NULL;
}

const char *
ls_pipeline_convert(ls_pipeline_run *run, const processor *p)
{
	const char *failure = NULL;
	event_value value;
	event_value out = {.kind = LS_KIND_NULL};
	ls_str text;

	if (!ls_pipeline_get(run, &p->name, &value))
		return NULL;
	text = ls_pipeline_text(run, &value);
	switch (p->convert)
	{
		case CONVERT_NUMBER:
			if (value.kind == LS_KIND_INTEGER || value.kind == LS_KIND_NUMBER)
				return NULL;
			if (value.kind == LS_KIND_BOOLEAN)
				out = (event_value){LS_KIND_INTEGER, LS_STR(""), value.integer};
			else
				failure = to_number(text, &out);
			break;
		case CONVERT_STRING:
			out = (event_value){LS_KIND_STRING, text, 0};
			break;
		case CONVERT_BOOLEAN:
			if (value.kind == LS_KIND_BOOLEAN)
				return NULL;
			failure = to_boolean(text, &out);
			break;
		case CONVERT_TIMESTAMP:
			failure = to_time(run, p, &value, text, &out);
			break;
	}
	return failure != NULL ? failure : ls_pipeline_set(run, &p->name, &out);
}

/* ---- times in a format ---- */

static bool
digits(ls_str text, size_t *pos, int most, int64_t *number)
{
	int n = 0;

	*number = 0;
	while (n < most && *pos < text.len && (unsigned) (text.data[*pos] - '0') < 10)
	{
		*number = *number * 10 + (text.data[(*pos)++] - '0');
		n++;
	}
	return n > 0;
}

/* Z, +hh:mm, +hhmm, +hh or UTC; *minutes east of UTC. */
static bool
zone(ls_str text, size_t *pos, int64_t *minutes)
{
	int64_t hours;
	int64_t rest = 0;
	bool west;

	*minutes = 0;
	if (*pos < text.len && (text.data[*pos] == 'Z' || text.data[*pos] == 'z'))
	{
		(*pos)++;
		return true;
	}
	if (text.len - *pos >= 3 &&
		(memcmp(text.data + *pos, "UTC", 3) == 0 || memcmp(text.data + *pos, "GMT", 3) == 0))
	{
		*pos += 3;
		return true;
	}
	if (*pos >= text.len || (text.data[*pos] != '+' && text.data[*pos] != '-'))
		return false;
	west = text.data[(*pos)++] == '-';
	if (!digits(text, pos, 2, &hours))
		return false;
	if (*pos < text.len && text.data[*pos] == ':')
		(*pos)++;
	(void) digits(text, pos, 2, &rest);
	*minutes = (hours * 60 + rest) * (west ? -1 : 1);
	return hours < 24 && rest < 60;
}

static bool
month_name(ls_str text, size_t *pos, int64_t *month)
{
	static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";

	if (text.len - *pos < 3)
		return false;
	for (int m = 0; m < 12; m++)
	{
		if (ls_str_eq_nocase(ls_str_make(text.data + *pos, 3), ls_str_make(names + 3 * m, 3)))
		{
			*month = m + 1;
			*pos += 3;
			while (*pos < text.len && (unsigned) ((text.data[*pos] | 0x20) - 'a') < 26)
				(*pos)++;
			return true;
		}
	}
	return false;
}

bool
ls_pipeline_read_time(ls_str text, ls_str format, ls_time now, ls_time *time)
{
	int64_t year = -1, month = 1, day = 1, hour = 0, minute = 0, second = 0, minutes = 0,
			micros = 0;
	int64_t epoch = -1;
	int afternoon = -1;
	size_t pos = 0;
	char iso[64];
	char today[LS_TIME_ISO_LENGTH + 1];

	for (size_t i = 0; i < format.len; i++)
	{
		size_t before = pos;

		if (format.data[i] == ' ')
		{
			while (pos < text.len && text.data[pos] == ' ')
				pos++;
			continue;
		}
		if (format.data[i] != '%' || i + 1 >= format.len)
		{
			if (pos >= text.len || text.data[pos++] != format.data[i])
				return false;
			continue;
		}
		switch (format.data[++i])
		{
			case 'Y':
				if (!digits(text, &pos, 4, &year))
					return false;
				break;
			case 'y':
				if (!digits(text, &pos, 2, &year))
					return false;
				year += year < 69 ? 2000 : 1900;
				break;
			case 'm':
				if (!digits(text, &pos, 2, &month))
					return false;
				break;
			case 'b':
			case 'B':
				if (!month_name(text, &pos, &month))
					return false;
				break;
			case 'a':
			case 'A':
				while (pos < text.len && (unsigned) ((text.data[pos] | 0x20) - 'a') < 26)
					pos++;
				break;
			case 'd':
			case 'e':
				while (pos < text.len && text.data[pos] == ' ')
					pos++;
				if (!digits(text, &pos, 2, &day))
					return false;
				break;
			case 'H':
			case 'I':
				if (!digits(text, &pos, 2, &hour))
					return false;
				break;
			case 'p':
				if (text.len - pos < 2)
					return false;
				afternoon = (text.data[pos] | 0x20) == 'p';
				pos += 2;
				break;
			case 'M':
				if (!digits(text, &pos, 2, &minute))
					return false;
				break;
			case 'S':
				if (!digits(text, &pos, 2, &second))
					return false;
				break;
			case 'f':
				if (!digits(text, &pos, 9, &micros))
					return false;
				for (size_t n = pos - before; n < 6; n++)
					micros *= 10;
				for (size_t n = pos - before; n > 6; n--)
					micros /= 10;
				break;
			case 'z':
				if (!zone(text, &pos, &minutes))
					return false;
				break;
			case 's':
				if (!digits(text, &pos, 12, &epoch))
					return false;
				break;
			case '%':
				if (pos >= text.len || text.data[pos++] != '%')
					return false;
				break;
			default:
				return false;
		}
	}
	if (pos != text.len)
		return false;
	if (epoch >= 0)
		return ls_normalize_time_of(epoch, micros * 1000, time);
	if (afternoon >= 0)
		hour = hour % 12 + 12 * afternoon;
	if (year < 0)
	{
		/* Without a year: this one. */
		ls_time_format_iso(now, today);
		year = (today[0] - '0') * 1000 + (today[1] - '0') * 100 + (today[2] - '0') * 10 +
			   (today[3] - '0');
	}
	snprintf(iso, sizeof(iso), "%04d-%02d-%02dT%02d:%02d:%02dZ", (int) year, (int) month, (int) day,
			 (int) hour, (int) minute, (int) second);
	if (!ls_time_parse_iso(ls_str_make(iso, strlen(iso)), time))
		return false;
	*time += micros - minutes * 60 * LS_USECS_PER_SEC;
	return true;
}
