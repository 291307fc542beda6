/*-------------------------------------------------------------------------
 *
 * translate.h
 *	  Queries of other languages in ours: what the translators share (pure).
 *
 * A translation is only text.  It is offered to a person, never run instead of
 * what was written, and only if it can be parsed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_TRANSLATE_H
#define LS_QUERY_TRANSLATE_H

#include "src/query/language_internal.h"

/*
 * Bytes of a translation as a JSON string.  Longer ones are not offered: the details of an error
 * have it twice, and limited space.
 */
#define LS_QUERY_MAX_TRANSLATION 1500

/* A query of another language while it is read. */
typedef struct ls_query_source
{
	ls_arena *arena;
	ls_str text;
	size_t pos;
	int depth;            /* of parentheses */
	bool failed;          /* `problem` may say why */
	const char *problem;  /* what cannot be translated, a constant; NULL: a mistake in the text */
	const char *language; /* what its readers have found it to be; NULL: what was tried */
	ls_buf left_out;      /* what has no meaning here, separated by commas */
	int regexes;          /* that were compiled */
	bool compare_times;   /* ranges of times are comparisons, not earliest= and latest= */
	int marks;            /* what only other languages have */
	bool certain;         /* it is surely of that language */
	bool exact;           /* it will be run: what would mean something else is refused */
} ls_query_source;

typedef struct ls_query_translation
{
	const char *language; /* "LogQL" */
	ls_str query;         /* the same in our language; empty: there is no translation */
	ls_str left_out;      /* parts that were left out; may be empty */
	const char *problem;  /* what cannot be translated; may be NULL */
	bool certain;         /* the whole text is surely of that language */
} ls_query_translation;

/*
 * Recognizes a query of another language.  True: the translation is filled in, its texts
 * in `arena`.  False also when the arena is full.  Time and memory are linear in the length.
 */
extern bool ls_query_translate(ls_str text, ls_arena *arena, ls_query_translation *translation);

/* If the text of a failed parse is in another language, the error says how it is written here. */
extern void ls_query_explain_error(ls_query_state *state);

/* ---- the languages; false: the text is not of this language, or cannot be translated ---- */

/* Does the text begin as LogQL? */
extern bool ls_query_is_logql(ls_str text);
extern bool ls_query_read_logql(ls_query_source *source, ls_buf *out);

/* LogsQL of VictoriaLogs: only what other languages do not have makes a text LogsQL. */
extern bool ls_query_read_logsql(ls_query_source *source, ls_buf *out);

/* A SELECT of SQL, or conditions that only SQL has. */
extern bool ls_query_read_sql(ls_query_source *source, ls_buf *out);

/* Elasticsearch's query DSL, in JSON. */
extern bool ls_query_is_elastic(ls_str text);
extern bool ls_query_read_elastic(ls_query_source *source, ls_buf *out);

/* Stages of CloudWatch Logs Insights, Kusto and ES|QL. */
extern bool ls_query_read_pipes(ls_query_source *source, ls_buf *out);

/* Lucene's syntax and Kibana's KQL; also Datadog's. */
extern bool ls_query_read_lucene(ls_query_source *source, ls_buf *out);

/* ---- reading ---- */

/* Ends the translation; `problem` is a constant or NULL.  Always returns false. */
extern bool ls_query_source_fail(ls_query_source *source, const char *problem);

/* The character at the position plus `ahead`; NUL after the end. */
extern char ls_query_source_char(const ls_query_source *source, size_t ahead);
extern void ls_query_source_spaces(ls_query_source *source);

/* Skips white space, then takes this text if it is next. */
extern bool ls_query_source_take(ls_query_source *source, const char *text);

/* Takes a name of letters, digits and _ after white space; empty: there is none. */
extern ls_str ls_query_source_name(ls_query_source *source);

/* Takes this word, if it is next and not a part of a longer one. */
extern bool ls_query_source_word(ls_query_source *source, const char *word);

extern void ls_query_source_leave_out(ls_query_source *source, const char *what);

/* ---- writing ---- */

/* A begin or an end of a period, as earliest= and latest= take it. */
extern void ls_query_write_instant(ls_buf *out, ls_time time, bool local);

/* A field in the head; names of scopes get their prefix.  False: there is no way to write it. */
extern bool ls_query_write_head_field(ls_buf *out, ls_str name);

/* A field in a stage. */
extern bool ls_query_write_field(ls_buf *out, ls_str name);

/* A text in quotes; a regular expression keeps its backslashes. */
extern void ls_query_write_text(ls_buf *out, ls_str text);
extern void ls_query_write_regex(ls_buf *out, ls_str regex);

/* Makes room for a character at a place of what is written, and writes it. */
extern bool ls_query_insert(ls_buf *out, size_t at, char c);

#endif /* LS_QUERY_TRANSLATE_H */
