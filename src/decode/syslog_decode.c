/*-------------------------------------------------------------------------
 *
 * syslog_decode.c
 *	  A message of syslog as an event: RFC 5424 and RFC 3164 (pure).
 *
 * Of RFC 3164, which describes what was in use, only the priority is sure.  So
 * what follows is taken apart as far as it can be, and the rest is the text.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/syslog.h"

/* An RFC 3164 time is taken for that of the sender's zone when it is so near to now (us). */
#define FRESH (5 * LS_USECS_PER_SEC)

/* A time of UTC may be so much older. */
#define DELAYED (300 * LS_USECS_PER_SEC)

/* Zones are multiples of this, and less than 14 hours away. */
#define ZONE_STEP (900 * LS_USECS_PER_SEC)
#define ZONE_STEPS 56

#define MAX_PRIORITY 191

static const char *const facilities[] = {
	"kern",   "user",   "mail",     "daemon", "auth",   "syslog", "lpr",    "news",
	"uucp",   "cron",   "authpriv", "ftp",    "ntp",    "audit",  "alert",  "clock",
	"local0", "local1", "local2",   "local3", "local4", "local5", "local6", "local7"};

static ls_str
text_of(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_str
drop(ls_str text, size_t n)
{
	return ls_str_make(text.data + n, text.len - n);
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Up to the next blank, which goes too; what is left may be empty. */
static ls_str
take_word(ls_str *rest)
{
	const char *blank = rest->len > 0 ? memchr(rest->data, ' ', rest->len) : NULL;
	size_t len = blank != NULL ? (size_t) (blank - rest->data) : rest->len;
	ls_str word = ls_str_make(rest->data, len);

	*rest = drop(*rest, len + (blank != NULL));
	return word;
}

/* "<34>"; also sets level and facility. */
static bool
take_priority(ls_event_builder *builder, ls_str *rest)
{
	static const char severities[] = "01234567";
	unsigned priority = 0;
	size_t n = 1;

	if (rest->len < 3 || rest->data[0] != '<')
		return false;
	for (; n < rest->len && n < 4 && is_digit(rest->data[n]); n++)
		priority = priority * 10 + (unsigned) (rest->data[n] - '0');
	if (n == 1 || n == rest->len || rest->data[n] != '>' || priority > MAX_PRIORITY)
		return false;
	*rest = drop(*rest, n + 1);
	ls_event_builder_field(
		builder, LS_FIELD_LEVEL,
		ls_normalize_level_on(ls_str_make(&severities[priority & 7], 1), LS_LEVELS_SYSLOG));
	ls_event_builder_attribute(builder, LS_STR("facility"), LS_KIND_STRING,
							   text_of(facilities[priority >> 3]), 0);
	return true;
}

static void
add_text(ls_event_builder *builder, const char *key, ls_str value)
{
	int64_t integer;

	if (value.len == 0)
		return;
	if (ls_json_canonical_int(value, &integer))
		ls_event_builder_attribute(builder, text_of(key), LS_KIND_INTEGER, LS_STR(""), integer);
	else
		ls_event_builder_attribute(builder, text_of(key), LS_KIND_STRING, value, 0);
}

/* ---- RFC 5424 ---- */

/* A field of the header; "-" says nothing. */
static ls_str
take_field(ls_str *rest)
{
	ls_str word = take_word(rest);

	return ls_str_eq(word, LS_STR("-")) ? LS_STR("") : word;
}

/* The value of a parameter after its quote; *rest goes on after the one that ends it. */
static bool
take_value(ls_arena *arena, ls_str *rest, ls_str *value)
{
	size_t n = 0;
	bool escaped = false;
	ls_buf buf;

	while (n < rest->len && rest->data[n] != '"')
	{
		escaped = escaped || rest->data[n] == '\\';
		n += rest->data[n] == '\\' && n + 1 < rest->len ? 2 : 1;
	}
	if (n >= rest->len)
		return false;
	*value = ls_str_make(rest->data, n);
	*rest = drop(*rest, n + 1);
	if (!escaped)
		return true;
	ls_buf_init(&buf, arena);
	for (size_t i = 0; i < n; i++)
	{
		char c = value->data[i];

		/* Before anything else a backslash is one. */
		if (c == '\\' && i + 1 < n && strchr("\"\\]", value->data[i + 1]) != NULL)
			c = value->data[++i];
		ls_buf_char(&buf, c);
	}
	*value = ls_str_make(buf.data, buf.failed ? 0 : buf.len);
	return true;
}

/* One element: [id name="value" ...].  False: it is none. */
static bool
take_element(ls_event_builder *builder, ls_str *rest)
{
	ls_arena *arena = builder->options->scratch;
	ls_str id = drop(*rest, 1);
	size_t n = 0;

	while (n < id.len && id.data[n] != ' ' && id.data[n] != ']' && id.data[n] != '"')
		n++;
	if (n == 0 || n == id.len || id.data[n] == '"')
		return false;
	*rest = drop(id, n);
	id.len = n;
	while (rest->len > 0 && rest->data[0] == ' ')
	{
		ls_str name = drop(*rest, 1);
		ls_str value;
		ls_buf key;

		for (n = 0; n < name.len && name.data[n] != '='; n++)
			;
		if (n == 0 || name.len - n < 2 || name.data[n + 1] != '"')
			return false;
		*rest = drop(name, n + 2);
		name.len = n;
		if (!take_value(arena, rest, &value))
			return false;
		ls_buf_init(&key, arena);
		ls_buf_str(&key, id);
		ls_buf_char(&key, '.');
		ls_buf_str(&key, name);
		if (!key.failed)
			ls_event_builder_attribute(builder, ls_str_make(key.data, key.len), LS_KIND_STRING,
									   value, 0);
	}
	if (rest->len == 0 || rest->data[0] != ']')
		return false;
	*rest = drop(*rest, 1);
	return true;
}

/* The structured data; *rest is what follows.  What is none belongs to the text. */
static void
take_data(ls_event_builder *builder, ls_str *rest)
{
	if (rest->len > 0 && rest->data[0] == '-' && (rest->len == 1 || rest->data[1] == ' '))
	{
		(void) take_word(rest);
		return;
	}
	while (rest->len > 0 && rest->data[0] == '[')
	{
		ls_str before = *rest;

		if (!take_element(builder, rest))
		{
			*rest = before;
			return;
		}
	}
	if (rest->len > 0 && rest->data[0] == ' ')
		*rest = drop(*rest, 1);
}

/* After "<34>1 ". */
static void
read_5424(ls_event_builder *builder, ls_str rest)
{
	ls_str when = take_field(&rest);
	ls_time time;

	if (when.len > 0 && ls_normalize_time_text(when, &time))
		ls_syslog_set_time(builder, time, when);
	else if (when.len > 0)
		ls_event_builder_attribute(builder, LS_STR("timestamp"), LS_KIND_STRING, when, 0);
	ls_event_builder_field(builder, LS_FIELD_SOURCE, take_field(&rest));
	ls_event_builder_field(builder, LS_FIELD_SERVICE, take_field(&rest));
	add_text(builder, "procid", take_field(&rest));
	add_text(builder, "msgid", take_field(&rest));
	take_data(builder, &rest);
	if (rest.len >= 3 && memcmp(rest.data, "\xEF\xBB\xBF", 3) == 0)
		rest = drop(rest, 3);
	/* rsyslog keeps the blank that follows the tag in messages that came to it in the old form. */
	if (rest.len > 1 && rest.data[0] == ' ')
		rest = drop(rest, 1);
	ls_event_builder_field(builder, LS_FIELD_EVENT, rest);
}

/* ---- RFC 3164 ---- */

/*
 * "Nov 23 06:00:00" of the year that is nearest to now.  The time says no zone: it is
 * that which makes the message one of just now; else UTC, but not ahead of now.
 */
static bool
read_time_3164(ls_str text, ls_time now, ls_time *time)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char iso[LS_TIME_ISO_LENGTH + 1];
	ls_time best = 0;
	bool any = false;
	int month = 0;
	int year;
	int64_t late, steps;

	while (month < 12 && memcmp(text.data, months + 3 * month, 3) != 0)
		month++;
	if (month == 12 || text.data[3] != ' ' || (text.data[4] != ' ' && !is_digit(text.data[4])) ||
		!is_digit(text.data[5]) || text.data[6] != ' ' || text.data[9] != ':' ||
		text.data[12] != ':')
		return false;
	ls_time_format_iso(now, iso);
	year = (iso[0] - '0') * 1000 + (iso[1] - '0') * 100 + (iso[2] - '0') * 10 + (iso[3] - '0');
	for (int y = year - 1; y <= year + 1; y++)
	{
		char at[] = "0000-00-00T00:00:00Z";
		ls_time utc;

		for (int i = 3, rest = y; i >= 0; i--, rest /= 10)
			at[i] = (char) ('0' + rest % 10);
		at[5] = (char) ('0' + (month + 1) / 10);
		at[6] = (char) ('0' + (month + 1) % 10);
		at[8] = text.data[4] == ' ' ? '0' : text.data[4];
		at[9] = text.data[5];
		memcpy(at + 11, text.data + 7, 8);
		if (!ls_time_parse_iso(ls_str_make(at, sizeof(at) - 1), &utc))
			continue;
		if (!any || (utc > now ? utc - now : now - utc) < (best > now ? best - now : now - best))
			best = utc;
		any = true;
	}
	late = now - best;
	if (any && (late < -FRESH || late > DELAYED))
	{
		steps = (late + (late < 0 ? -ZONE_STEP / 2 : ZONE_STEP / 2)) / ZONE_STEP;
		late -= steps * ZONE_STEP;
		if (steps >= -ZONE_STEPS && steps <= ZONE_STEPS && late >= -FRESH && late <= FRESH)
			best += steps * ZONE_STEP;
	}
	*time = best > now ? now : best;
	return any;
}

#define TIME_LENGTH 15 /* "Nov 23 06:00:00" */

static bool
take_time(ls_event_builder *builder, ls_str *rest)
{
	ls_str after = *rest;
	ls_str word = take_word(&after);
	ls_time time;

	if (word.len > TIME_LENGTH && is_digit(word.data[0]) && ls_normalize_time_text(word, &time))
		ls_syslog_set_time(builder, time, word);
	else if (rest->len > TIME_LENGTH && rest->data[TIME_LENGTH] == ' ' &&
			 read_time_3164(*rest, builder->options->now, &time))
	{
		builder->event.timestamp = time;
		after = drop(*rest, TIME_LENGTH + 1);
	}
	else
		return false;
	*rest = after;
	return true;
}

/* "app[7]:", "app:" or "app[7]", at the begin of the rest; sets service and procid. */
static bool
take_tag(ls_event_builder *builder, ls_str *rest)
{
	ls_str after = *rest;
	ls_str tag = take_word(&after);
	bool colon = tag.len > 0 && tag.data[tag.len - 1] == ':';
	size_t bracket = 0;

	tag.len -= colon;
	while (bracket < tag.len && tag.data[bracket] != '[')
		bracket++;
	if (bracket == 0 || (!colon && (bracket == tag.len || tag.data[tag.len - 1] != ']')))
		return false;
	if (bracket < tag.len && tag.data[tag.len - 1] == ']')
	{
		add_text(builder, "procid", ls_str_make(tag.data + bracket + 1, tag.len - bracket - 2));
		tag.len = bracket;
	}
	ls_event_builder_field(builder, LS_FIELD_SERVICE, tag);
	*rest = after;
	return true;
}

/* After "<34>", or everything. */
static void
read_3164(ls_event_builder *builder, ls_str rest)
{
	if (take_time(builder, &rest) && !take_tag(builder, &rest))
	{
		ls_event_builder_field(builder, LS_FIELD_SOURCE, take_word(&rest));
		(void) take_tag(builder, &rest);
	}
	ls_event_builder_field(builder, LS_FIELD_EVENT, rest);
}

static bool
decode(ls_json_reader *reader, ls_str text)
{
	ls_event_builder *builder = &reader->builder;
	ls_str rest;

	/* Ends of messages that are not of the text: syslog-ng's newline within the counted octets. */
	while (text.len > 0 && strchr("\r\n", text.data[text.len - 1]) != NULL) /* or NUL */
		text.len--;
	rest = text;
	if (!take_priority(builder, &rest))
		ls_event_builder_field(builder, LS_FIELD_EVENT, text);
	else if (rest.len >= 2 && rest.data[0] == '1' && rest.data[1] == ' ')
		read_5424(builder, drop(rest, 2));
	else
		read_3164(builder, rest);
	return true;
}

bool
ls_decode_syslog(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	return ls_decode_lines(options, body, result, decode);
}
