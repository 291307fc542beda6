/*-------------------------------------------------------------------------
 *
 * pipeline_grok.c
 *	  Grok patterns as regular expressions (pure).
 *
 * %{NAME:field:type} stands for the pattern of that name, and what it matches becomes the field.  The
 * names are those that everybody uses; their expressions avoid what makes a match slow: most
 * repetitions cannot give back what they took, and GREEDYDATA is the only one that takes all.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline.h"

#include <stdio.h>

#define MAX_DEPTH 12
#define MAX_LENGTH ((size_t) 16 * 1024)

static const struct
{
	const char *name;
	const char *pattern;
} library[] = {
	{"USERNAME", "[a-zA-Z0-9._-]+"},
	{"USER", "%{USERNAME}"},
	{"EMAILLOCALPART", "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}"},
	{"EMAILADDRESS", "%{EMAILLOCALPART}@%{HOSTNAME}"},
	{"HTTPDUSER", "(?:%{EMAILADDRESS}|%{USER})"},
	{"INT", "[+-]?[0-9]+"},
	{"BASE10NUM", "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)"},
	{"NUMBER", "%{BASE10NUM}"},
	{"BASE16NUM", "[+-]?(?:0x)?[0-9A-Fa-f]+"},
	{"BASE16FLOAT", "\\b[+-]?(?:0x)?(?:[0-9A-Fa-f]+(?:\\.[0-9A-Fa-f]*)?|\\.[0-9A-Fa-f]+)\\b"},
	{"POSINT", "\\b[1-9][0-9]*\\b"},
	{"NONNEGINT", "\\b[0-9]+\\b"},
	{"WORD", "\\b\\w+\\b"},
	{"NOTSPACE", "\\S+"},
	{"SPACE", "\\s*"},
	{"DATA", ".*?"},
	{"GREEDYDATA", ".*"},
	{"QUOTEDSTRING", "(?:\"(?:[^\"\\\\]|\\\\.)*+\"|'(?:[^'\\\\]|\\\\.)*+'|`(?:[^`\\\\]|\\\\.)*+`)"},
	{"QS", "%{QUOTEDSTRING}"},
	{"UUID", "[A-Fa-f0-9]{8}-(?:[A-Fa-f0-9]{4}-){3}[A-Fa-f0-9]{12}"},
	{"URN", "urn:[0-9A-Za-z][0-9A-Za-z-]{0,31}:[0-9A-Za-z()+,.:=@;$_!*'/?#%-]+"},
	{"CISCOMAC", "(?:[A-Fa-f0-9]{4}\\.){2}[A-Fa-f0-9]{4}"},
	{"WINDOWSMAC", "(?:[A-Fa-f0-9]{2}-){5}[A-Fa-f0-9]{2}"},
	{"COMMONMAC", "(?:[A-Fa-f0-9]{2}:){5}[A-Fa-f0-9]{2}"},
	{"MAC", "(?:%{CISCOMAC}|%{WINDOWSMAC}|%{COMMONMAC})"},
	{"IPV4", "(?<![0-9])(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})\\.){3}"
			 "(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})(?![0-9])"},
	{"IPV6", "(?<![0-9A-Fa-f:])(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|"
			 "(?=(?:[0-9A-Fa-f]{0,4}:){2,7})(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?::"
			 "(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?(?::?%{IPV4})?)(?:%[0-9A-Za-z]+)?"
			 "(?![0-9A-Fa-f:])"},
	{"IP", "(?:%{IPV6}|%{IPV4})"},
	{"HOSTNAME", "\\b[0-9A-Za-z](?:[0-9A-Za-z-]{0,62})(?:\\.[0-9A-Za-z](?:[0-9A-Za-z-]{0,62}))*"
				 "(?:\\.?|\\b)"},
	{"HOST", "%{HOSTNAME}"},
	{"IPORHOST", "(?:%{IP}|%{HOSTNAME})"},
	{"HOSTPORT", "%{IPORHOST}:%{POSINT}"},
	{"UNIXPATH", "(?:/[\\w_%!$@:.,+~-]*+)+"},
	{"TTY", "/dev/(?:pts|tty[pq]?)(?:\\w+)?/?[0-9]*"},
	{"WINPATH", "(?:[A-Za-z]+:|\\\\)(?:\\\\[^\\\\?*]*+)+"},
	{"PATH", "(?:%{UNIXPATH}|%{WINPATH})"},
	{"URIPROTO", "[A-Za-z][A-Za-z0-9+.-]*"},
	{"URIHOST", "%{IPORHOST}(?::%{POSINT})?"},
	{"URIPATH", "(?:/[A-Za-z0-9$.+!*'(){},~:;=@#%&_-]*)+"},
	{"URIQUERY", "[A-Za-z0-9$.+!*'|(){},~@#%&/=:;_?\\[\\]<>-]*"},
	{"URIPARAM", "\\?%{URIQUERY}"},
	{"URIPATHPARAM", "%{URIPATH}(?:%{URIPARAM})?"},
	{"URI", "%{URIPROTO}://(?:%{USER}(?::[^@]*)?@)?(?:%{URIHOST})?(?:%{URIPATHPARAM})?"},
	{"MONTH", "\\b(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|Jun(?:e)?|Jul(?:y)?|"
			  "Aug(?:ust)?|Sep(?:tember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\\b"},
	{"MONTHNUM", "(?:0?[1-9]|1[0-2])"},
	{"MONTHNUM2", "(?:0[1-9]|1[0-2])"},
	{"MONTHDAY", "(?:0[1-9]|[12][0-9]|3[01]|[1-9])"},
	{"DAY", "(?:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|"
			"Sun(?:day)?)"},
	{"YEAR", "[0-9]{2}(?:[0-9]{2})?"},
	{"HOUR", "(?:2[0-3]|[01]?[0-9])"},
	{"MINUTE", "[0-5][0-9]"},
	{"SECOND", "(?:[0-5]?[0-9]|60)(?:[:.,][0-9]+)?"},
	{"TIME", "(?<![0-9])%{HOUR}:%{MINUTE}(?::%{SECOND})?(?![0-9])"},
	{"DATE_US", "%{MONTHNUM}[/-]%{MONTHDAY}[/-]%{YEAR}"},
	{"DATE_EU", "%{MONTHDAY}[./-]%{MONTHNUM}[./-]%{YEAR}"},
	{"ISO8601_TIMEZONE", "(?:Z|[+-]%{HOUR}(?::?%{MINUTE})?)"},
	{"ISO8601_SECOND", "%{SECOND}"},
	{"TIMESTAMP_ISO8601", "%{YEAR}-%{MONTHNUM}-%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?"
						  "%{ISO8601_TIMEZONE}?"},
	{"DATE", "(?:%{DATE_US}|%{DATE_EU})"},
	{"DATESTAMP", "%{DATE}[- ]%{TIME}"},
	{"TZ", "(?:[APMCE][SD]T|UTC|GMT)"},
	{"DATESTAMP_RFC822", "%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}"},
	{"DATESTAMP_RFC2822", "%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}"},
	{"DATESTAMP_OTHER", "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}"},
	{"DATESTAMP_EVENTLOG", "%{YEAR}%{MONTHNUM2}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}"},
	{"SYSLOGTIMESTAMP", "%{MONTH} +%{MONTHDAY} %{TIME}"},
	{"PROG", "[\\x21-\\x5a\\x5c\\x5e-\\x7e]+"},
	{"SYSLOGPROG", "%{PROG:program}(?:\\[%{POSINT:pid}\\])?"},
	{"SYSLOGHOST", "%{IPORHOST}"},
	{"SYSLOGFACILITY", "<%{NONNEGINT:facility}.%{NONNEGINT:priority}>"},
	{"SYSLOGBASE", "%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:logsource} "
				   "%{SYSLOGPROG}:"},
	{"SYSLOGLINE", "%{SYSLOGBASE} %{GREEDYDATA:message}"},
	{"HTTPDATE", "%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} %{INT}"},
	{"HTTPDERROR_DATE", "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{YEAR}"},
	{"COMMONAPACHELOG", "%{IPORHOST:clientip} %{HTTPDUSER:ident} %{HTTPDUSER:auth} "
						"\\[%{HTTPDATE:timestamp}\\] \"(?:%{WORD:verb} %{NOTSPACE:request}"
						"(?: HTTP/%{NUMBER:httpversion})?|%{DATA:rawrequest})\" "
						"%{INT:response:int} (?:%{INT:bytes:int}|-)"},
	{"COMBINEDAPACHELOG", "%{COMMONAPACHELOG} %{QS:referrer} %{QS:agent}"},
	{"HTTPD_COMMONLOG", "%{COMMONAPACHELOG}"},
	{"HTTPD_COMBINEDLOG", "%{COMBINEDAPACHELOG}"},
	{"LOGLEVEL", "(?i:trace|debug|notice|info(?:rmation)?|warn(?:ing)?|err(?:or)?|crit(?:ical)?|"
				 "fatal|severe|alert|emerg(?:ency)?)"}};

typedef struct expansion
{
	ls_str (*custom)(void *context, ls_str name);
	void *context;
	ls_arena *arena;
	ls_buf out;
	ls_grok_field *fields;
	uint32_t n_fields;
	const char *error;
} expansion;

static ls_str
find_pattern(const expansion *e, ls_str name)
{
	ls_str found = e->custom != NULL ? e->custom(e->context, name) : LS_STR("");

	if (found.len > 0)
		return found;
	for (size_t i = 0; i < sizeof(library) / sizeof(library[0]); i++)
	{
		if (ls_str_eq(name, ls_str_make(library[i].name, strlen(library[i].name))))
			return ls_str_make(library[i].pattern, strlen(library[i].pattern));
	}
	return LS_STR("");
}

static bool
fail(expansion *e, const char *what, ls_str name)
{
	ls_buf text;

	ls_buf_init(&text, e->arena);
	ls_buf_printf(&text, what, (int) (name.len < 100 ? name.len : 100), name.data);
	ls_buf_char(&text, '\0');
	e->error = text.failed ? "out of memory" : text.data;
	return false;
}

static ls_str
split(ls_str *rest, char at)
{
	const char *found = rest->len > 0 ? memchr(rest->data, at, rest->len) : NULL;
	ls_str first = *rest;

	if (found == NULL)
	{
		*rest = LS_STR("");
		return first;
	}
	first.len = (size_t) (found - first.data);
	*rest = ls_str_make(found + 1, rest->len - first.len - 1);
	return first;
}

static bool expand(expansion *e, ls_str pattern, int depth);

/* What stands between %{ and }. */
static bool
expand_one(expansion *e, ls_str inside, int depth)
{
	ls_str name = split(&inside, ':');
	ls_str field = split(&inside, ':');
	ls_str type = inside;
	ls_str pattern = find_pattern(e, name);
	char kind = 's';

	if (pattern.len == 0)
		return fail(e, "there is no Grok pattern %.*s", name);
	if (depth >= MAX_DEPTH)
		return fail(e, "the Grok pattern %.*s uses itself, or too many others", name);
	if (ls_str_eq(type, LS_STR("int")) || ls_str_eq(type, LS_STR("long")))
		kind = 'i';
	else if (ls_str_eq(type, LS_STR("float")) || ls_str_eq(type, LS_STR("double")) ||
			 ls_str_eq(type, LS_STR("number")))
		kind = 'f';
	else if (type.len > 0 && !ls_str_eq(type, LS_STR("string")))
		return fail(e, "a Grok field is of type string, int or float, not %.*s", type);
	if (field.len > 0)
	{
		ls_grok_field *added;

		if (e->n_fields >= LS_GROK_MAX_FIELDS)
			return fail(e, "the pattern has too many fields: %.*s", field);
		added = &e->fields[e->n_fields];
		added->name = field;
		added->type = kind;
		snprintf(added->group, sizeof(added->group), "g%u", (unsigned) e->n_fields);
		ls_buf_printf(&e->out, "(?<%s>", added->group);
		e->n_fields++;
	}
	else
		ls_buf_lit(&e->out, "(?:");
	if (!expand(e, pattern, depth + 1))
		return false;
	ls_buf_char(&e->out, ')');
	return true;
}

static bool
expand(expansion *e, ls_str pattern, int depth)
{
	size_t i = 0;

	while (i < pattern.len)
	{
		const char *close;

		if (e->out.len > MAX_LENGTH)
			return fail(e, "the pattern is too long when it is expanded%.*s", LS_STR(""));
		if (pattern.data[i] == '\\' && i + 1 < pattern.len)
		{
			ls_buf_append(&e->out, pattern.data + i, 2);
			i += 2;
			continue;
		}
		if (pattern.data[i] != '%' || i + 1 >= pattern.len || pattern.data[i + 1] != '{')
		{
			ls_buf_char(&e->out, pattern.data[i++]);
			continue;
		}
		close = memchr(pattern.data + i, '}', pattern.len - i);
		if (close == NULL)
			return fail(e, "%%{ without a }%.*s", LS_STR(""));
		if (!expand_one(e,
						ls_str_make(pattern.data + i + 2, (size_t) (close - pattern.data) - i - 2),
						depth))
			return false;
		i = (size_t) (close - pattern.data) + 1;
	}
	return true;
}

bool
ls_grok_expand(ls_str pattern, ls_str (*custom)(void *context, ls_str name), void *context,
			   ls_arena *arena, ls_str *regex, ls_grok_field *fields, uint32_t *n_fields,
			   const char **error)
{
	expansion e = {.custom = custom, .context = context, .arena = arena, .fields = fields};

	ls_buf_init(&e.out, arena);
	*error = NULL;
	if (!expand(&e, pattern, 0) || e.out.failed)
	{
		*error = e.error != NULL ? e.error : "out of memory";
		return false;
	}
	*regex = ls_str_make(e.out.data, e.out.len);
	*n_fields = e.n_fields;
	return true;
}
