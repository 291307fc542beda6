/*-------------------------------------------------------------------------
 *
 * level.c
 *	  Levels as loggers write them, to the six that are stored (pure).
 *
 * A log platform that refuses an event for the name of its level loses it, so
 * the names and numbers of the common loggers are folded to trace, debug, info,
 * warn, error and fatal, and others are kept as given.  All of it is in the three
 * tables of this file; docs/sending-logs.md shows them to users.
 *
 * A name means the same to every logger, a number does not.  So the numbers are in
 * scales, and what stands beside a level tells which logger wrote it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/decode.h"

/* ---- numbers ---- */

#define LEVEL(name) LS_STR(#name)

/* A level ends where the next one begins, so a custom level counts as the standard one below it. */
typedef struct level_scale
{
	uint64_t most; /* beyond it nothing is a level */
	struct
	{
		uint64_t from;
		ls_str level;
	} steps[6];
} level_scale;

static const level_scale scales[] = {
	[LS_LEVELS_SYSLOG] = {7,
						  {{0, LEVEL(fatal)},
						   {3, LEVEL(error)},
						   {4, LEVEL(warn)},
						   {5, LEVEL(info)},
						   {7, LEVEL(debug)}}},
	[LS_LEVELS_PINO] = {69,
						{{10, LEVEL(trace)},
						 {20, LEVEL(debug)},
						 {30, LEVEL(info)},
						 {40, LEVEL(warn)},
						 {50, LEVEL(error)},
						 {60, LEVEL(fatal)}}},
	[LS_LEVELS_PYTHON] = {99,
						  {{1, LEVEL(trace)},
						   {10, LEVEL(debug)},
						   {20, LEVEL(info)},
						   {30, LEVEL(warn)},
						   {40, LEVEL(error)},
						   {50, LEVEL(fatal)}}},
	[LS_LEVELS_DOTNET] = {5,
						  {{0, LEVEL(trace)},
						   {1, LEVEL(debug)},
						   {2, LEVEL(info)},
						   {3, LEVEL(warn)},
						   {4, LEVEL(error)},
						   {5, LEVEL(fatal)}}},
	[LS_LEVELS_LOG4J] = {50000,
						 {{5000, LEVEL(trace)},
						  {10000, LEVEL(debug)},
						  {20000, LEVEL(info)},
						  {30000, LEVEL(warn)},
						  {40000, LEVEL(error)},
						  {50000, LEVEL(fatal)}}},
	/* The smaller, the worse. */
	[LS_LEVELS_LOG4J2] = {600,
						  {{1, LEVEL(fatal)},
						   {101, LEVEL(error)},
						   {201, LEVEL(warn)},
						   {301, LEVEL(info)},
						   {401, LEVEL(debug)},
						   {501, LEVEL(trace)}}},
	[LS_LEVELS_MONOLOG] = {600,
						   {{100, LEVEL(debug)},
							{200, LEVEL(info)},
							{300, LEVEL(warn)},
							{400, LEVEL(error)},
							{500, LEVEL(fatal)}}},
	[LS_LEVELS_GOOGLE] = {800,
						  {{100, LEVEL(debug)},
						   {200, LEVEL(info)},
						   {400, LEVEL(warn)},
						   {500, LEVEL(error)},
						   {600, LEVEL(fatal)}}},
	[LS_LEVELS_OTEL] = {24,
						{{1, LEVEL(trace)},
						 {5, LEVEL(debug)},
						 {9, LEVEL(info)},
						 {13, LEVEL(warn)},
						 {17, LEVEL(error)},
						 {21, LEVEL(fatal)}}},
};

ls_str
ls_level_of_number(uint64_t number, ls_level_scale which)
{
	const level_scale *s;
	ls_str level = LS_STR("");

	if (which == LS_LEVELS_UNKNOWN)
		which = number < 8 ? LS_LEVELS_SYSLOG : number < 100 ? LS_LEVELS_PINO : LS_LEVELS_LOG4J;
	s = &scales[which];
	if (number > s->most)
		return level;
	for (size_t i = 0; i < sizeof(s->steps) / sizeof(s->steps[0]); i++)
	{
		if (s->steps[i].level.len == 0 || number < s->steps[i].from)
			break;
		level = s->steps[i].level;
	}
	return level;
}

/* ---- names ---- */

#define LONGEST_NAME 13

static const struct
{
	ls_str name; /* in lower case */
	ls_str level;
} names[] = {
	/* The most frequent first. */
	{LS_STR("info"), LEVEL(info)},        {LS_STR("error"), LEVEL(error)},
	{LS_STR("warn"), LEVEL(warn)},        {LS_STR("warning"), LEVEL(warn)},
	{LS_STR("debug"), LEVEL(debug)},      {LS_STR("trace"), LEVEL(trace)},
	{LS_STR("fatal"), LEVEL(fatal)},      {LS_STR("critical"), LEVEL(fatal)}, /* Python, .NET */
	{LS_STR("information"), LEVEL(info)}, {LS_STR("notice"), LEVEL(info)},    /* syslog */
	{LS_STR("err"), LEVEL(error)},        {LS_STR("crit"), LEVEL(fatal)},
	{LS_STR("alert"), LEVEL(fatal)},      {LS_STR("emerg"), LEVEL(fatal)},
	{LS_STR("emergency"), LEVEL(fatal)},  {LS_STR("informational"), LEVEL(info)},
	{LS_STR("panic"), LEVEL(fatal)},      {LS_STR("dpanic"), LEVEL(fatal)}, /* zap */
	{LS_STR("severe"), LEVEL(error)},                                       /* java.util.logging */
	{LS_STR("config"), LEVEL(debug)},     {LS_STR("fine"), LEVEL(debug)},
	{LS_STR("finer"), LEVEL(trace)},      {LS_STR("finest"), LEVEL(trace)},
	{LS_STR("verbose"), LEVEL(trace)}, /* Serilog, Android */
	{LS_STR("silly"), LEVEL(trace)},   /* winston */
	{LS_STR("inf"), LEVEL(info)},      /* Serilog, short */
	{LS_STR("wrn"), LEVEL(warn)},         {LS_STR("dbg"), LEVEL(debug)},
	{LS_STR("trc"), LEVEL(trace)},        {LS_STR("vrb"), LEVEL(trace)},
	{LS_STR("ftl"), LEVEL(fatal)},        {LS_STR("trce"), LEVEL(trace)}, /* .NET's console */
	{LS_STR("dbug"), LEVEL(debug)},       {LS_STR("fail"), LEVEL(error)},
	{LS_STR("log"), LEVEL(info)}, /* PostgreSQL */
	{LS_STR("debug1"), LEVEL(debug)},     {LS_STR("debug2"), LEVEL(debug)},
	{LS_STR("debug3"), LEVEL(debug)},     {LS_STR("debug4"), LEVEL(debug)},
	{LS_STR("debug5"), LEVEL(debug)},
};

/* One letter, as klog and Android write it. */
static ls_str
level_of_letter(char letter)
{
	switch (letter)
	{
		case 'V':
		case 'T':
			return LEVEL(trace);
		case 'D':
			return LEVEL(debug);
		case 'I':
			return LEVEL(info);
		case 'W':
			return LEVEL(warn);
		case 'E':
			return LEVEL(error);
		case 'F':
		case 'C':
			return LEVEL(fatal);
		default:
			return LS_STR("");
	}
}

/* Go's slog writes a level between two of its names as "LEVEL(info)+2"; the name counts. */
static ls_str
without_offset(ls_str text)
{
	size_t len = text.len;

	while (len > 0 && text.data[len - 1] >= '0' && text.data[len - 1] <= '9')
		len--;
	if (len > 1 && len < text.len && (text.data[len - 1] == '+' || text.data[len - 1] == '-'))
		text.len = len - 1;
	return text;
}

/* Digits, and nothing but zeros after a point: how some languages write a whole number. */
static bool
whole_number(ls_str text, uint64_t *number)
{
	size_t i = 0;

	*number = 0;
	for (; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++)
	{
		if (i == 9)
			return false;
		*number = *number * 10 + (uint64_t) (text.data[i] - '0');
	}
	if (i == 0 || (i + 1 < text.len && text.data[i] != '.'))
		return false;
	if (i < text.len && (text.data[i] != '.' || i + 1 == text.len))
		return false;
	for (i++; i < text.len; i++)
	{
		if (text.data[i] != '0')
			return false;
	}
	return true;
}

bool
ls_level_of_name(ls_str text, ls_str *standard)
{
	if (text.len == 1)
	{
		*standard = level_of_letter(text.data[0]);
		return standard->len > 0;
	}
	if (text.len < 3 || text.len > LONGEST_NAME)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		/* The first letter rules out most names before any call. */
		if ((text.data[0] | 0x20) == names[i].name.data[0] && ls_str_eq_nocase(text, names[i].name))
		{
			*standard = names[i].level;
			return true;
		}
	}
	if (text.data[text.len - 1] >= '0' && text.data[text.len - 1] <= '9')
	{
		ls_str name = without_offset(text);
		uint64_t number;

		/* Python's name of a level that has none. */
		if (text.len > 6 && memcmp(text.data, "Level ", 6) == 0 &&
			whole_number(ls_str_make(text.data + 6, text.len - 6), &number))
		{
			*standard = ls_level_of_number(number, LS_LEVELS_PYTHON);
			return standard->len > 0;
		}
		return name.len < text.len && ls_level_of_name(name, standard);
	}
	return false;
}

ls_str
ls_normalize_level_on(ls_str level, ls_level_scale scale)
{
	uint64_t number;
	ls_str standard;

	if (level.len > 0 && level.data[0] >= '0' && level.data[0] <= '9')
	{
		if (!whole_number(level, &number))
			return level;
		standard = ls_level_of_number(number, scale);
		return standard.len > 0 ? standard : level;
	}
	return ls_level_of_name(level, &standard) ? standard : level;
}

ls_str
ls_normalize_level(ls_str level)
{
	return ls_normalize_level_on(level, LS_LEVELS_UNKNOWN);
}

/* ---- which logger ---- */

ls_level_scale
ls_level_scale_of_member(ls_str name)
{
	static const struct
	{
		ls_str name;
		ls_level_scale scale;
	} members[] = {
		/* of a LogRecord, as python-json-logger and others write them; structlog's */
		{LS_STR("levelname"), LS_LEVELS_PYTHON},
		{LS_STR("levelno"), LS_LEVELS_PYTHON},
		{LS_STR("asctime"), LS_LEVELS_PYTHON},
		{LS_STR("relativeCreated"), LS_LEVELS_PYTHON},
		{LS_STR("funcName"), LS_LEVELS_PYTHON},
		{LS_STR("processName"), LS_LEVELS_PYTHON},
		{LS_STR("level_number"), LS_LEVELS_PYTHON},
		/* of Microsoft.Extensions.Logging and Serilog */
		{LS_STR("LogLevel"), LS_LEVELS_DOTNET},
		{LS_STR("EventId"), LS_LEVELS_DOTNET},
		{LS_STR("SourceContext"), LS_LEVELS_DOTNET},
		{LS_STR("MessageTemplate"), LS_LEVELS_DOTNET},
		{LS_STR("@mt"), LS_LEVELS_DOTNET},
		/* of log4j2's JSON layout */
		{LS_STR("loggerFqcn"), LS_LEVELS_LOG4J2},
		{LS_STR("endOfBatch"), LS_LEVELS_LOG4J2},
		{LS_STR("threadPriority"), LS_LEVELS_LOG4J2},
		/* of Monolog */
		{LS_STR("level_name"), LS_LEVELS_MONOLOG},
		/* of Google's Cloud Logging */
		{LS_STR("insertId"), LS_LEVELS_GOOGLE},
		{LS_STR("logName"), LS_LEVELS_GOOGLE},
		/* of the systemd journal */
		{LS_STR("PRIORITY"), LS_LEVELS_SYSLOG},
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
	{
		if (ls_str_eq(name, members[i].name))
			return members[i].scale;
	}
	return LS_LEVELS_UNKNOWN;
}
