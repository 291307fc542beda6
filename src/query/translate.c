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

/* A translation has an arena of its own: what is left in that of the parse may not be enough. */
#define TRANSLATION_MEMORY ((size_t) 4 << 20)

/* Its errors say how searches are written here. */
#define ELASTIC "Elasticsearch's query DSL"

/* ---- which language ---- */

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
