/*-------------------------------------------------------------------------
 *
 * pipeline_parse.c
 *	  Processors that take a text apart, and that convert values (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline_internal.h"

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
