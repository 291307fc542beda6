/*-------------------------------------------------------------------------
 *
 * pipeline_mask.c
 *	  Masks: what a pattern or a preset finds in a field is replaced (pure).
 *
 * Inside JSON every string, number and name is masked as the text that it stands for, so escapes hide
 * nothing.  A text may be JSON that somebody takes apart later: where it has escapes, what is found in the
 * text that they stand for is masked too.  When it is not certain that all was found, the field is
 * replaced as a whole.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline_internal.h"

#include <stdio.h>

/* Bytes of a hash: 128 bits, as digits. */
#define HASH_DIGITS 32

/*
 * Of a text that was cut before, so many bytes at its end are masked: what begins there and is not whole
 * cannot be told.  A preset sees what it finds by fewer.
 */
#define CUT_END 512

typedef struct masking
{
	ls_pipeline_run *run;
	const processor *p;
	const char *failure;
} masking;

static bool
append_replacement(masking *m, ls_str found, ls_buf *out)
{
	uint8_t mac[LS_SHA256_LENGTH];
	char digits[2 * LS_SHA256_LENGTH + 1];

	if (!m->p->hash || !m->run->program->has_key)
		ls_buf_str(out, m->p->replacement);
	else if (ls_hmac_sha256(m->run->program->key, LS_SHA256_LENGTH, found.data, found.len, mac))
	{
		ls_hex(mac, LS_SHA256_LENGTH, digits);
		ls_buf_append(out, digits, HASH_DIGITS);
	}
	else
	{
		m->failure = "out of memory";
		return false;
	}
	return true;
}

/* 1: found, 0: nothing more, -1: it is not known. */
static int
find_next(masking *m, ls_str text, size_t from, size_t *begin, size_t *end)
{
	ls_str found;
	int result;

	if (m->p->finder != NULL)
		return from < text.len && m->p->finder(text, from, begin, end);
	result = ls_regex_search(m->p->regex, text, from, &m->failure);
	if (result <= 0)
		return result;
	/* \K may have moved the begin past the end: what the match was is not known. */
	if (!ls_regex_numbered(m->p->regex, 0, text, &found))
	{
		m->failure = "the regular expression matches backwards";
		return -1;
	}
	*begin = (size_t) (found.data - text.data);
	*end = *begin + found.len;
	return 1;
}

/* ---- escapes ---- */

/* What \uXXXX at byte i says; -1: there is none. */
static int
unit_at(ls_str text, size_t i)
{
	int unit = 0;

	if (i > text.len || text.len - i < 6 || text.data[i] != '\\' || text.data[i + 1] != 'u')
		return -1;
	for (size_t k = 2; k < 6; k++)
	{
		int digit = ls_hex_digit(text.data[i + k]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* The length of an escape at byte i, or of two that are one character; 0: there is none. */
static size_t
escape_at(ls_str text, size_t i, uint32_t *character)
{
	int first = unit_at(text, i);
	int second;

	if (first <= 0 || (first & 0xFC00) == 0xDC00)
		return 0;
	*character = (uint32_t) first;
	if ((first & 0xFC00) != 0xD800)
		return 6;
	second = unit_at(text, i + 6);
	if (second < 0 || (second & 0xFC00) != 0xDC00)
		return 0;
	*character = 0x10000 + ((uint32_t) (first - 0xD800) << 10) + (uint32_t) (second - 0xDC00);
	return 12;
}

/* The next escape from byte i on; text.len: there is none. */
static size_t
next_escape(ls_str text, size_t i, size_t *length, uint32_t *character)
{
	const char *found;

	for (; i < text.len; i++)
	{
		found = memchr(text.data + i, '\\', text.len - i);
		if (found == NULL)
			break;
		i = (size_t) (found - text.data);
		*length = escape_at(text, i, character);
		if (*length > 0)
			return i;
	}
	return text.len;
}

/* The text with characters for their escapes; itself when it has none. */
static bool
unescape(masking *m, ls_str text, ls_str *plain)
{
	ls_buf *buf = &m->run->unescaped;
	uint32_t character;
	size_t length;
	size_t copied = 0;
	size_t i = next_escape(text, 0, &length, &character);

	*plain = text;
	if (i == text.len)
		return true;
	/* One for all texts of an event: the next text takes its place. */
	buf->len = 0;
	while (i < text.len)
	{
		ls_buf_append(buf, text.data + copied, i - copied);
		ls_utf8_append(buf, character);
		copied = i + length;
		i = next_escape(text, copied, &length, &character);
	}
	ls_buf_append(buf, text.data + copied, text.len - copied);
	if (buf->failed)
	{
		m->failure = "out of memory";
		return false;
	}
	*plain = ls_str_make(buf->data, buf->len);
	return true;
}

/* Where a byte of the text without escapes is in the text with them: both go on from where they were. */
typedef struct places
{
	ls_str text;
	size_t plain_at;
	size_t text_at;
	size_t escape; /* the next one */
	size_t escape_length;
	size_t escape_means; /* bytes */
} places;

static void
find_escape(places *p)
{
	char bytes[4];
	ls_buf one = {.data = bytes, .capacity = sizeof(bytes)};
	uint32_t character = 0;

	p->escape = next_escape(p->text, p->text_at, &p->escape_length, &character);
	if (p->escape < p->text.len)
		ls_utf8_append(&one, character);
	p->escape_means = one.len;
}

static size_t
place_of(places *p, size_t plain)
{
	if (plain <= p->plain_at)
		return p->text_at;
	while (p->plain_at + (p->escape - p->text_at) < plain)
	{
		/* After the escape; a place inside of it is at its end. */
		p->plain_at += p->escape - p->text_at + p->escape_means;
		p->text_at = p->escape + p->escape_length;
		find_escape(p);
		if (p->plain_at >= plain)
			return p->text_at;
	}
	p->text_at += plain - p->plain_at;
	p->plain_at = plain;
	return p->text_at;
}

/* ---- texts ---- */

/*
 * Masks in a text what is found in `plain`, which is the text or what its escapes stand for; `cut`: and its
 * end.  *out is the text itself when nothing was found.  False: see failure.
 */
static bool
mask_found(masking *m, ls_str text, ls_str plain, bool cut, ls_str *out)
{
	places places = {.text = text, .escape = text.len};
	size_t from = 0;
	size_t masked = 0; /* of `plain` */
	size_t copied = 0; /* of the text */
	bool any = false;
	ls_buf buf;
	size_t begin;
	size_t end;
	int found;

	*out = text;
	if (plain.data != text.data)
		find_escape(&places);
	while (from <= plain.len && (found = find_next(m, plain, from, &begin, &end)) != 0)
	{
		size_t at;

		if (found < 0 || begin < masked)
		{
			if (m->failure == NULL)
				m->failure = "the regular expression matches backwards";
			return false;
		}
		if (end == begin)
		{
			/* An empty match masks nothing. */
			from = begin + 1;
			while (from < plain.len && ((unsigned char) plain.data[from] & 0xC0) == 0x80)
				from++;
			continue;
		}
		if (!any)
			ls_buf_init(&buf, m->run->arena);
		any = true;
		at = place_of(&places, begin);
		ls_buf_append(&buf, text.data + copied, at - copied);
		if (!append_replacement(m, ls_str_make(plain.data + begin, end - begin), &buf))
			return false;
		from = masked = end;
		copied = place_of(&places, end);
		if (buf.len > 2 * (size_t) m->run->limits.event_bytes || ls_pipeline_late(m->run))
		{
			m->failure = "out of time or memory";
			return false;
		}
	}
	if (cut && copied < text.len)
	{
		size_t rest =
			text.len > CUT_END ? ls_utf8_prefix_bytes(text.data, text.len, text.len - CUT_END) : 0;

		if (!any)
			ls_buf_init(&buf, m->run->arena);
		any = true;
		if (rest > copied)
			ls_buf_append(&buf, text.data + copied, rest - copied);
		ls_buf_str(&buf, m->p->replacement);
		copied = text.len;
	}
	if (!any)
		return true;
	ls_buf_append(&buf, text.data + copied, text.len - copied);
	if (buf.failed)
	{
		m->failure = "out of memory";
		return false;
	}
	*out = buf.len > 0 ? ls_str_make(buf.data, buf.len) : LS_STR("");
	return true;
}

/* Masks a text; *out is the text itself when nothing was found.  False: see failure. */
static bool
mask_text(masking *m, ls_str text, ls_str *out)
{
	ls_str plain;

	*out = text;
	if (!unescape(m, text, &plain))
		return false;
	if (plain.data != text.data && !mask_found(m, text, plain, false, out))
		return false;
	/* As it is too: there an escape may end what comes before, which its character does not. */
	return mask_found(m, *out, *out, false, out);
}

/* Was something of the event cut before this mask?  Then what has the largest length allowed was. */
static bool
has_cuts(const masking *m)
{
	return (m->run->event.has & 1u << LS_FIELD_TRUNCATED) != 0 || m->run->cuts.len > 0;
}

/* The same of a text that is not inside another one; of one that was cut nobody knows what stood at its end. */
static bool
mask_whole(masking *m, ls_str text, bool cut, ls_str *out)
{
	*out = text;
	if (cut && m->p->regex != NULL)
	{
		m->failure = "the text was cut before the mask";
		return false;
	}
	return mask_text(m, text, out) && (!cut || mask_found(m, *out, *out, true, out));
}

/* ---- inside JSON ---- */

static bool
mask_string(masking *m, ls_str text, ls_buf *out)
{
	ls_str masked;

	if (!mask_text(m, text, &masked))
		return false;
	ls_json_quote(out, masked);
	return true;
}

/* Appends the value that comes next, masked. */
static bool
mask_json(masking *m, ls_json *j, ls_buf *out)
{
	ls_json_value value;
	ls_str masked;
	ls_str key;
	bool first = true;

	if (!ls_json_read(j, &value))
		return false;
	switch (value.type)
	{
		case LS_JSON_STRING:
			return mask_string(m, value.text, out);
		case LS_JSON_NUMBER:
			if (!mask_text(m, value.text, &masked))
				return false;
			if (masked.data == value.text.data)
				ls_buf_str(out, masked);
			else
				ls_json_quote(out, masked);
			return true;
		case LS_JSON_OBJECT:
			ls_buf_char(out, '{');
			while (ls_json_member(j, &key))
			{
				if (!first)
					ls_buf_char(out, ',');
				first = false;
				if (!mask_string(m, key, out))
					return false;
				ls_buf_char(out, ':');
				if (!mask_json(m, j, out))
					return false;
			}
			ls_buf_char(out, '}');
			break;
		case LS_JSON_ARRAY:
			ls_buf_char(out, '[');
			while (ls_json_element(j))
			{
				if (!first)
					ls_buf_char(out, ',');
				first = false;
				if (!mask_json(m, j, out))
					return false;
			}
			ls_buf_char(out, ']');
			break;
		case LS_JSON_TRUE:
			ls_buf_lit(out, "true");
			break;
		case LS_JSON_FALSE:
			ls_buf_lit(out, "false");
			break;
		case LS_JSON_NULL:
			ls_buf_lit(out, "null");
			break;
	}
	return j->error == NULL;
}

static bool
mask_member(void *context, ls_str value, ls_buf *out)
{
	masking *m = context;
	ls_json j;

	ls_json_init(&j, value, m->run->arena, 128);
	if (mask_json(m, &j, out) && !out->failed)
		return true;
	if (m->failure == NULL)
		m->failure = "out of memory";
	return false;
}

static bool
close_member(void *context, ls_str value, ls_buf *out)
{
	masking *m = context;

	ls_json_quote(out, m->p->replacement);
	return true;
}

/* ---- fields ---- */

static void
replace_attribute(masking *m, ls_attribute *a)
{
	*a = (ls_attribute){.key = a->key, .kind = LS_KIND_STRING, .text = m->p->replacement};
	m->run->changed = true;
}

static void
mask_attribute(masking *m, ls_attribute *a, bool closed)
{
	ls_str masked = a->text;
	char digits[24];
	ls_buf json;
	bool cut;
	int n;

	if (closed)
	{
		replace_attribute(m, a);
		return;
	}
	cut = a->text.len + 4 > m->run->limits.value_bytes && has_cuts(m);
	switch (a->kind)
	{
		case LS_KIND_BOOLEAN:
		case LS_KIND_NULL:
			return;
		case LS_KIND_JSON:
			ls_buf_init(&json, m->run->arena);
			if (!mask_member(m, a->text, &json))
				replace_attribute(m, a);
			else if (json.len != a->text.len || memcmp(json.data, a->text.data, json.len) != 0)
			{
				a->text = ls_str_make(json.data, json.len);
				m->run->changed = true;
			}
			break;
		case LS_KIND_INTEGER:
			n = snprintf(digits, sizeof(digits), "%lld", (long long) a->integer);
			masked = ls_str_make(digits, (size_t) n);
			if (!mask_text(m, masked, &masked))
				replace_attribute(m, a);
			else if (masked.data != digits)
			{
				*a = (ls_attribute){.key = a->key, .kind = LS_KIND_STRING, .text = masked};
				m->run->changed = true;
			}
			break;
		default:
			if (!mask_whole(m, a->text, cut, &masked))
				replace_attribute(m, a);
			else if (masked.data != a->text.data)
			{
				a->kind = LS_KIND_STRING;
				a->text = masked;
				m->run->changed = true;
			}
			break;
	}
	/* A replacement may be longer than what it replaces. */
	if (a->text.len > m->run->limits.value_bytes)
	{
		ls_pipeline_note_cut(m->run, LS_STR("attributes."), a->key);
		if (a->kind == LS_KIND_JSON)
			replace_attribute(m, a);
		else
			a->text.len =
				ls_utf8_prefix_bytes(a->text.data, a->text.len, m->run->limits.value_bytes);
	}
}

static void
mask_field(masking *m, ls_field field, bool closed)
{
	ls_event *event = &m->run->event;
	size_t limit =
		field == LS_FIELD_EVENT ? m->run->limits.body_field_bytes : m->run->limits.value_bytes;
	ls_str masked;
	bool cut;

	if ((event->has & 1u << field) == 0)
		return;
	cut = event->field[field].len + 4 > limit && has_cuts(m);
	if (closed || !mask_whole(m, event->field[field], cut, &masked))
		masked = m->p->replacement;
	if (masked.len == 0)
		masked = LS_STR("***"); /* no field is empty */
	if (masked.data == event->field[field].data)
		return;
	/* A replacement may be longer than what it replaces. */
	if (masked.len > limit)
	{
		masked.len = ls_utf8_prefix_bytes(masked.data, masked.len, limit);
		ls_pipeline_note_cut_field(m->run, field);
	}
	event->field[field] = masked;
	m->run->changed = true;
}

/* Of a mask of everything the names of attributes too: what senders put there is as they like. */
static void
mask_name(masking *m, ls_attribute *a, bool closed)
{
	ls_str masked = a->key;
	size_t limit = m->run->limits.key_chars;
	bool cut =
		a->key.len >= limit && has_cuts(m) && ls_utf8_length(a->key.data, a->key.len) >= limit;

	if (closed || !mask_whole(m, a->key, cut, &masked))
		masked = m->p->replacement;
	if (masked.data == a->key.data)
		return;
	masked.len = ls_utf8_prefix_chars(masked.data, masked.len, m->run->limits.key_chars);
	/* A replacement by nothing can make the service's own name, whose value masks leave out. */
	if (ls_str_eq(masked, LS_STR(LS_PIPELINE_ERROR_ATTRIBUTE)))
		masked = LS_STR("***");
	a->key = masked;
	m->run->changed = true;
}

/*
 * The names of what was cut, separated by commas: keys are senders' text, and may have commas too.  If
 * anything is found in all of them or in one, `attributes` stands for those of attributes.
 */
static ls_str
mask_cut_names(masking *m, ls_str names, bool closed)
{
	static const char *const fields[] = {"event",   "level",    "source",  "service", "severity",
										 "traceId", "trace_id", "message", "spanId",  "span_id"};
	ls_str prefix = LS_STR("attributes.");
	/* A name of the largest length was cut itself. */
	bool found = closed || names.len >= prefix.len + m->run->limits.key_chars;
	ls_str masked = names;
	ls_buf kept;

	found = found || !mask_text(m, names, &masked) || masked.data != names.data;
	ls_buf_init(&kept, m->run->arena);
	ls_buf_lit(&kept, "attributes");
	for (size_t begin = 0, end; begin <= names.len; begin = end + 1)
	{
		const char *comma = memchr(names.data + begin, ',', names.len - begin);
		ls_str name;

		end = comma != NULL ? (size_t) (comma - names.data) : names.len;
		name = ls_str_make(names.data + begin, end - begin);
		for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
		{
			if (!ls_str_eq(name, ls_str_make(fields[f], strlen(fields[f]))))
				continue;
			ls_buf_char(&kept, ',');
			ls_buf_str(&kept, name);
		}
		if (found || name.len <= prefix.len || memcmp(name.data, prefix.data, prefix.len) != 0)
			continue;
		name = ls_str_make(name.data + prefix.len, name.len - prefix.len);
		found = !mask_text(m, name, &masked) || masked.data != name.data;
	}
	if (!found)
		return names;
	return kept.failed ? LS_STR("attributes") : ls_str_make(kept.data, kept.len);
}

static void
mask_cuts(masking *m, bool closed)
{
	ls_pipeline_run *run = m->run;
	ls_str *names = &run->event.field[LS_FIELD_TRUNCATED];
	ls_str before;
	ls_str after;

	if ((run->event.has & 1u << LS_FIELD_TRUNCATED) != 0)
	{
		before = *names;
		*names = mask_cut_names(m, before, closed);
		run->changed = run->changed || names->data != before.data;
	}
	if (run->cuts.len == 0)
		return;
	before = ls_str_make(run->cuts.data, run->cuts.len);
	after = mask_cut_names(m, before, closed);
	if (after.data == before.data)
		return;
	ls_buf_init(&run->cuts, run->arena);
	ls_buf_str(&run->cuts, after);
}

/* Inside the attributes whose names are the begin of the path. */
static void
mask_inside(masking *m, ls_attribute *a, const event_name *name, bool closed)
{
	size_t length = 0;
	bool found;
	ls_str json;

	for (uint32_t k = 0; k + 1 < name->n_path; k++)
	{
		length += name->path[k].len + (k > 0);
		if (!ls_str_eq(a->key, ls_str_make(name->key.data, length)))
			continue;
		if (!ls_pipeline_rewrite(m->run->arena, a->text, name->path + k + 1, name->n_path - k - 1,
								 closed ? close_member : mask_member, m, &json, &found))
		{
			if (m->failure == NULL)
				m->failure = "out of memory";
			replace_attribute(m, a);
			return;
		}
		if (found && json.len > m->run->limits.value_bytes)
			replace_attribute(m, a);
		else if (found)
		{
			a->text = json;
			m->run->changed = true;
		}
	}
}

static bool
is_standard_level(const ls_event *event)
{
	ls_str level = event->field[LS_FIELD_LEVEL];
	ls_str standard;

	return (event->has & 1u << LS_FIELD_LEVEL) != 0 && ls_level_of_name(level, &standard) &&
		   ls_str_eq(level, standard);
}

/*
 * Is it an id of a trace (32 hexadecimal digits) or span (16)?  By chance its decimal digits pass for a card
 * number.  One without a letter may be a card number.
 */
static bool
is_trace_id(ls_str text)
{
	bool letter = false;

	if (text.len != 32 && text.len != 16)
		return false;
	for (size_t i = 0; i < text.len; i++)
	{
		if (ls_hex_digit(text.data[i]) < 0)
			return false;
		letter = letter || text.data[i] > '9';
	}
	return letter;
}

/* Does a mask of everything look at this field? */
static bool
is_looked_at(const masking *m, ls_field field, bool closed)
{
	const ls_event *event = &m->run->event;

	/* Where it goes, and a standard level, are no text of the sender's. */
	if (field == LS_FIELD_INDEX || field == LS_FIELD_TRUNCATED)
		return false;
	if (field == LS_FIELD_LEVEL)
		return closed || !is_standard_level(event);
	if (field == LS_FIELD_TRACE_ID || field == LS_FIELD_SPAN_ID)
		return closed || m->p->finder == NULL || (event->has & 1u << field) == 0 ||
			   !is_trace_id(event->field[field]);
	return true;
}

/*
 * Masks the field of the processor.  Returns NULL, or why it was not certain what to mask; then the
 * field has been replaced.
 */
const char *
ls_pipeline_mask(ls_pipeline_run *run, const processor *p, bool closed)
{
	masking m = {.run = run, .p = p};
	const event_name *name = &p->name;

	if (name->kind == NAME_FIELD)
		mask_field(&m, name->field, closed);
	if (name->kind == NAME_ALL)
	{
		for (int f = 0; f < LS_NAMED_FIELDS; f++)
		{
			if (is_looked_at(&m, (ls_field) f, closed))
				mask_field(&m, (ls_field) f, closed);
		}
		mask_cuts(&m, closed);
	}
	for (size_t i = 0; i < run->event.n_attributes; i++)
	{
		ls_attribute *a = &run->attributes[i];

		/* Of the service itself: no text of a sender is in it. */
		if (ls_str_eq(a->key, LS_STR(LS_PIPELINE_ERROR_ATTRIBUTE)))
			continue;
		if (name->kind == NAME_ALL)
			mask_name(&m, a, closed);
		if (name->kind == NAME_ALL ||
			(name->kind == NAME_ATTRIBUTE && ls_str_eq(a->key, name->key)))
			mask_attribute(&m, a, closed);
		else if (name->kind == NAME_ATTRIBUTE && name->n_path > 1 && a->kind == LS_KIND_JSON)
			mask_inside(&m, a, name, closed);
		else if (name->kind == NAME_ATTRIBUTE && ls_pipeline_is_cut_json(a, name))
			replace_attribute(&m, a);
	}
	return m.failure;
}
