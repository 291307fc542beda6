/*-------------------------------------------------------------------------
 *
 * translate.c
 *	  Recognizes queries of other languages, and says how they are written here
 *	  (pure).
 *
 * People paste queries from their dashboards and runbooks.  An error that shows
 * the same search in our language teaches more than "unexpected {".  The
 * translators are in translate_*.c; what they make is parsed before it is
 * offered.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/translate.h"

/*
 * Memory of a translation and of its parser.  They have arenas of their own, because what is
 * left in that of the parse in progress may not be enough.
 */
#define TRANSLATION_MEMORY ((size_t) 4 << 20)
#define PARSER_MEMORY ((size_t) 4 << 20)

/* Its errors say how searches are written here. */
#define ELASTIC "Elasticsearch's query DSL"

/* ---- reading ---- */

bool
ls_query_source_fail(ls_query_source *source, const char *problem)
{
	if (!source->failed)
		source->problem = problem;
	source->failed = true;
	return false;
}

char
ls_query_source_char(const ls_query_source *source, size_t ahead)
{
	return source->text.len - source->pos > ahead ? source->text.data[source->pos + ahead] : '\0';
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

static bool
is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void
ls_query_source_spaces(ls_query_source *source)
{
	while (is_space(ls_query_source_char(source, 0)))
		source->pos++;
}

bool
ls_query_source_take(ls_query_source *source, const char *text)
{
	size_t len = strlen(text);

	ls_query_source_spaces(source);
	if (source->text.len - source->pos < len ||
		memcmp(source->text.data + source->pos, text, len) != 0)
		return false;
	source->pos += len;
	return true;
}

ls_str
ls_query_source_name(ls_query_source *source)
{
	size_t start;

	ls_query_source_spaces(source);
	start = source->pos;
	while (is_name_char(ls_query_source_char(source, 0)))
		source->pos++;
	return ls_str_make(source->text.data + start, source->pos - start);
}

bool
ls_query_source_word(ls_query_source *source, const char *word)
{
	size_t start = source->pos;

	if (ls_str_eq(ls_query_source_name(source), ls_str_make(word, strlen(word))))
		return true;
	source->pos = start;
	return false;
}

void
ls_query_source_leave_out(ls_query_source *source, const char *what)
{
	size_t len = strlen(what);
	ls_buf *list = &source->left_out;

	for (size_t i = 0; i + len <= list->len; i++)
		if (memcmp(list->data + i, what, len) == 0)
			return;
	if (list->len > 0)
		ls_buf_lit(list, ", ");
	ls_buf_append(list, what, len);
}

/* ---- times ---- */

/* After the last moment of the year 9999. */
#define END_OF_TIME (INT64_C(253402300800) * LS_USECS_PER_SEC)

/* The end of a year or a month that begins there. */
static ls_time
add_months(ls_time from, int64_t months)
{
	return ls_query_month_start(ls_query_month_of(from / LS_USECS_PER_DAY) + months) *
		   LS_USECS_PER_DAY;
}

bool
ls_query_period_parse(ls_str text, ls_query_period *period)
{
	static const char rest[] = "0001-01-01T00:00:00";
	ls_query_time epoch;
	ls_buf full;
	char bytes[64];
	ls_time zoned;
	size_t len = text.len;

	memset(period, 0, sizeof(*period));
	if (len > 32 || len < 4)
		return false;
	if (memchr(text.data, '-', len) == NULL && len >= 10)
	{
		if (!ls_query_time_parse(text, &epoch) || !epoch.absolute)
			return false;
		period->from = epoch.at;
		period->to = epoch.at + (len == 10 ? LS_USECS_PER_SEC : 1000);
		return period->to <= END_OF_TIME;
	}
	if (text.data[len - 1] == 'Z')
		len--;
	else
		for (size_t i = 11; i < len; i++)
			if (text.data[i] == '+' || text.data[i] == '-')
				len = i;
	full = (ls_buf){.data = bytes, .capacity = sizeof(bytes)};
	ls_buf_append(&full, text.data, len);
	if (len < sizeof(rest) - 1)
		ls_buf_append(&full, rest + len, sizeof(rest) - 1 - len);
	if (!ls_time_parse_iso(ls_str_make(full.data, full.len), &period->from))
		return false;
	switch (len)
	{
		case 4:
			period->to = add_months(period->from, 12);
			break;
		case 7:
			period->to = add_months(period->from, 1);
			break;
		case 10:
			period->to = period->from + LS_USECS_PER_DAY;
			break;
		case 13:
			period->to = period->from + 3600 * LS_USECS_PER_SEC;
			break;
		case 16:
			period->to = period->from + 60 * LS_USECS_PER_SEC;
			break;
		case 19:
			period->to = period->from + LS_USECS_PER_SEC;
			break;
		case 21:
		case 22:
		case 23:
			period->to = period->from + 1000;
			break;
		default:
			return false;
	}
	period->local = len == text.len;
	ls_buf_append(&full, text.data + len, text.len - len);
	if (!ls_time_parse_iso(ls_str_make(full.data, full.len), &zoned))
		return false;
	period->to += zoned - period->from;
	period->from = zoned;
	return period->to < END_OF_TIME;
}

/* ---- writing ---- */

void
ls_query_write_instant(ls_buf *out, ls_time time, bool local)
{
	char iso[LS_TIME_ISO_LENGTH + 1];

	ls_time_format_iso(time, iso);
	if (local && time % LS_USECS_PER_DAY == 0)
		ls_buf_append(out, iso, 10);
	else
		ls_buf_printf(out, "%.*s%s", time % LS_USECS_PER_SEC == 0 ? 19 : 23, iso, local ? "" : "Z");
}

bool
ls_query_is_number(ls_str word)
{
	size_t n = word.len > 0 && word.data[0] == '-' ? 1 : 0;
	size_t first = n;
	bool dot = false;

	for (; n < word.len; n++)
	{
		if (word.data[n] == '.' && !dot && n > first && n + 1 < word.len)
			dot = true;
		else if (word.data[n] < '0' || word.data[n] > '9')
			return false;
	}
	return n > first;
}

static bool
is_one_of(ls_str word, const char *const *words)
{
	for (; *words != NULL; words++)
		if (ls_str_eq(word, ls_str_make(*words, strlen(*words))))
			return true;
	return false;
}

static bool
is_operator(ls_str word)
{
	static const char *const operators[] = {"AND", "OR", "NOT", "IN", "CONTAINS", "MATCHES", NULL};

	return is_one_of(word, operators);
}

bool
ls_query_is_plain_word(ls_str word)
{
	if (word.len == 0 || !is_name_char(word.data[0]) || is_operator(word))
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (!is_name_char(word.data[i]) &&
			(i + 1 == word.len || (word.data[i] != '-' && word.data[i] != '.')))
			return false;
	return true;
}

/* The name in backticks. */
static bool
write_quoted_name(ls_buf *out, ls_str name)
{
	if (name.len == 0 || memchr(name.data, '`', name.len) != NULL)
		return false;
	ls_buf_char(out, '`');
	ls_buf_str(out, name);
	ls_buf_char(out, '`');
	return true;
}

bool
ls_query_write_head_field(ls_buf *out, ls_str name)
{
	static const char *const scopes[] = {"index", "earliest", "latest", NULL};

	if (!ls_query_is_plain_word(name) || name.data[name.len - 1] == '.' || name.data[0] == '.')
		return write_quoted_name(out, name);
	for (size_t i = 1; i < name.len; i++)
		if (name.data[i] == '.' && name.data[i - 1] == '.')
			return write_quoted_name(out, name);
	if (is_one_of(name, scopes))
		ls_buf_lit(out, "attributes.");
	ls_buf_str(out, name);
	return true;
}

bool
ls_query_write_field(ls_buf *out, ls_str name)
{
	static const char *const keywords[] = {"by", "as", "true", "false", "null", NULL};
	size_t start = 0;

	/* The parts of a path are names of their own. */
	for (size_t i = 0; i <= name.len; i++)
	{
		ls_str part = ls_str_make(name.data + start, i - start);
		bool plain;

		if (i < name.len && name.data[i] != '.')
			continue;
		plain = part.len > 0 && (part.data[0] < '0' || part.data[0] > '9') && !is_operator(part) &&
				!is_one_of(part, keywords);
		for (size_t j = 0; j < part.len; j++)
			plain = plain && is_name_char(part.data[j]);
		if (start > 0)
			ls_buf_char(out, '.');
		if (plain)
			ls_buf_str(out, part);
		else if (!write_quoted_name(out, part))
			return false;
		start = i + 1;
	}
	return true;
}

void
ls_query_write_text(ls_buf *out, ls_str text)
{
	ls_buf_char(out, '"');
	for (size_t i = 0; i < text.len; i++)
	{
		if (text.data[i] == '"' || text.data[i] == '\\')
			ls_buf_char(out, '\\');
		ls_buf_char(out, text.data[i]);
	}
	ls_buf_char(out, '"');
}

void
ls_query_write_regex(ls_buf *out, ls_str regex)
{
	ls_buf_char(out, '"');
	for (size_t i = 0; i < regex.len; i++)
	{
		char c = regex.data[i];

		if (c == '\\' && i + 1 < regex.len)
		{
			/* An escaped quote is a quote; the expression sees no backslash. */
			c = regex.data[++i];
			ls_buf_char(out, '\\');
		}
		else if (c == '"')
			ls_buf_char(out, '\\');
		ls_buf_char(out, c);
	}
	ls_buf_char(out, '"');
}

bool
ls_query_insert(ls_buf *out, size_t at, char c)
{
	if (out->failed || !ls_buf_reserve(out, 1))
		return false;
	memmove(out->data + at + 1, out->data + at, out->len - at);
	out->data[at] = c;
	out->len++;
	return true;
}

/* ---- which language ---- */

bool
ls_query_is_query(const ls_buf *out)
{
	ls_arena *arena;
	ls_query *query;
	ls_query_error error;
	bool good;

	if (out->failed || out->len == 0 || out->len > LS_QUERY_MAX_LENGTH)
		return false;
	arena = ls_arena_create(NULL, PARSER_MEMORY);
	if (arena == NULL)
		return false;
	good = ls_query_parse_only(ls_str_make(out->data, out->len), arena, &query, &error);
	ls_arena_destroy(arena);
	return good;
}

typedef bool (*translator)(ls_query_source *source, ls_buf *out);

static bool
attempt(ls_str text, ls_arena *arena, translator read, bool compare_times,
		ls_query_translation *translation)
{
	ls_query_source source = {.arena = arena, .text = text, .compare_times = compare_times};
	ls_buf quoted;
	ls_buf out;

	ls_buf_init(&source.left_out, arena);
	ls_buf_init(&out, arena);
	translation->problem = NULL;
	if (!read(&source, &out) || source.failed)
	{
		if (source.language != NULL)
			translation->language = source.language;
		translation->certain = translation->certain || source.certain;
		translation->problem = source.problem;
		return false;
	}
	/* What needs no translation. */
	if (out.len == text.len && memcmp(out.data, text.data, text.len) == 0)
		return false;
	if (!ls_query_is_query(&out))
		return false;
	ls_buf_init(&quoted, arena);
	ls_json_quote(&quoted, ls_str_make(out.data, out.len));
	if (quoted.failed || quoted.len > LS_QUERY_MAX_TRANSLATION)
	{
		translation->problem = "a query of this length";
		return false;
	}
	translation->certain = translation->certain || source.certain;
	if (source.language != NULL)
		translation->language = source.language;
	translation->query = ls_str_make(out.data, out.len);
	translation->left_out = ls_str_make(source.left_out.data, source.left_out.len);
	return !source.left_out.failed;
}

static bool
translate(ls_str text, ls_arena *arena, ls_query_translation *translation)
{
	ls_query_translation logsql = {.language = "LogsQL"};
	ls_query_translation sql = {.language = "SQL"};
	ls_query_translation pipes = {.language = "CloudWatch Logs Insights"};
	bool is_logql = ls_query_is_logql(text);

	if (ls_query_is_elastic(text))
	{
		translation->language = ELASTIC;
		translation->certain = true;
		(void) attempt(text, arena, ls_query_read_elastic, false, translation);
		return true;
	}
	if (is_logql)
	{
		translation->language = "LogQL";
		translation->certain = true;
		if (attempt(text, arena, ls_query_read_logql, false, translation))
			return true;
	}
	/* {app="x"} error: the selectors are the same. */
	if ((!is_logql || translation->problem == NULL) &&
		(attempt(text, arena, ls_query_read_logsql, false, &logsql) ||
		 (!is_logql && logsql.certain && logsql.problem != NULL)))
	{
		*translation = logsql;
		return true;
	}
	if (is_logql)
		return true;
	if (attempt(text, arena, ls_query_read_sql, false, &sql) ||
		(sql.certain &&
		 (sql.problem != NULL || attempt(text, arena, ls_query_read_sql, true, &sql) ||
		  sql.problem != NULL)))
	{
		*translation = sql;
		return true;
	}
	if (attempt(text, arena, ls_query_read_pipes, false, &pipes) ||
		(pipes.certain && pipes.problem != NULL))
	{
		*translation = pipes;
		return true;
	}
	translation->language = "Lucene or KQL";
	return attempt(text, arena, ls_query_read_lucene, false, translation) ||
		   (translation->problem == NULL &&
			attempt(text, arena, ls_query_read_lucene, true, translation)) ||
		   translation->problem != NULL;
}

bool
ls_query_translate(ls_str text, ls_arena *arena, ls_query_translation *translation)
{
	ls_arena *own;
	bool recognized;

	memset(translation, 0, sizeof(*translation));
	if (text.len == 0 || text.len > LS_QUERY_MAX_LENGTH)
		return false;
	own = ls_arena_create(NULL, TRANSLATION_MEMORY);
	if (own == NULL)
		return false;
	recognized = translate(text, own, translation);
	translation->query = ls_arena_strdup(arena, translation->query);
	translation->left_out = ls_arena_strdup(arena, translation->left_out);
	ls_arena_destroy(own);
	return recognized && translation->query.data != NULL && translation->left_out.data != NULL;
}

/* ---- for people ---- */

/* "this is LogQL, which is written here: ..." */
static void
describe(const ls_query_translation *t, ls_buf *message)
{
	if (t->query.len == 0)
		ls_buf_printf(message,
					  t->problem != NULL ? "this is %s; %s cannot be translated"
										 : "this is %s, which is not understood here",
					  t->language, t->problem);
	else
		ls_buf_printf(message, "this is %s, which is written here: %.*s", t->language,
					  (int) t->query.len, t->query.data);
	if (t->left_out.len > 0)
		ls_buf_printf(message, " (left out: %.*s)", (int) t->left_out.len, t->left_out.data);
}

void
ls_query_explain_error(ls_query_state *state)
{
	ls_query_error *error = state->error;
	ls_query_translation t;
	ls_buf message;

	/* A suggestion that is there is closer to what was written. */
	if (error->kind == LS_QUERY_ERROR_MEMORY || error->suggestion.len > 0)
		return;
	if (!ls_query_translate(state->text, state->arena, &t))
	{
		error->suggestion = state->guessed;
		return;
	}
	error->suggestion = t.query;
	if (!t.certain)
	{
		if (t.query.len == 0)
			error->suggestion = state->guessed;
		/* What the error says is good; it may be only a mistake. */
		if (error->hint.len == 0 && t.query.len > 0)
			ls_query_set_hint(
				state, t.left_out.len > 0 ? "write %.*s (left out: %.*s)" : "write %.*s",
				(int) t.query.len, t.query.data, (int) t.left_out.len, t.left_out.data);
		return;
	}
	ls_buf_init(&message, state->arena);
	describe(&t, &message);
	if (message.failed)
		return;
	error->message = ls_str_make(message.data, message.len);
	error->hint =
		t.query.len == 0 && t.problem == NULL && strcmp(t.language, "LogQL") == 0
			? LS_STR("in LogQL labels are compared as {app=\"shop\"}; here write app=shop "
					 "refused, or app=shop event CONTAINS \"a part\"")
		: t.query.len == 0 && strcmp(t.language, ELASTIC) == 0
			? LS_STR("write words, \"a text\" and field=value, such as: refused "
					 "service=checkout status>=500 earliest=-1h")
			: LS_STR("");
	error->expected = NULL;
	error->n_expected = 0;
	/* All of the text. */
	error->span = (ls_query_span){0, (uint32_t) state->text.len};
	error->position = ls_query_locate(state->text, error->span);
	error->found = ls_query_excerpt(state, error->span);
}

bool
ls_query_warn_translation(ls_query *query, ls_arena *arena)
{
	uint32_t n = query->warnings.n;
	ls_query_translation t;
	ls_buf message;

	if (!ls_query_translate(query->text, arena, &t) ||
		(t.query.len == 0 && (!t.certain || t.problem == NULL)))
		return false;
	/* The warning about an operator has no place for what was left out. */
	for (uint32_t i = 0; i < query->warnings.n && t.left_out.len == 0 && t.query.len > 0; i++)
	{
		if (strcmp(query->warnings.items[i]->code, "LOWERCASE_OPERATOR") == 0)
		{
			query->warnings.items[i]->suggestion = t.query;
			return true;
		}
	}
	ls_buf_init(&message, arena);
	describe(&t, &message);
	if (message.failed)
		return false;
	ls_query_warn(query, arena, "OTHER_LANGUAGE", (ls_query_span){0, (uint32_t) query->text.len},
				  "%.*s", (int) message.len, message.data);
	/* There may be too many warnings, or no memory. */
	if (query->warnings.n == n)
		return false;
	query->warnings.items[n]->suggestion = t.query;
	return true;
}
