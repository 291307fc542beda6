/*-------------------------------------------------------------------------
 *
 * language_internal.h
 *	  What the parser, its hints and notes, variables and translators share (pure).
 *
 * Users of queries include ast.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_INTERNAL_H
#define LS_QUERY_INTERNAL_H

#include "src/query/ast.h"

/* A token: its kind is one of the grammar's kinds (parser.h), or a lexical error. */
typedef struct ls_query_token
{
	int kind;
	ls_query_span span;
} ls_query_token;

/* An option of a stage, name=value; `value` is a token's kind and span. */
typedef struct ls_query_option
{
	ls_query_span name;
	ls_query_token value;
} ls_query_option;

typedef struct ls_query_options
{
	ls_query_option **items;
	uint32_t n;
} ls_query_options;

typedef struct ls_query_exprs
{
	ls_query_expr **items;
	uint32_t n;
} ls_query_exprs;

/* A syntax error: where it is, and the grammar's names of the tokens that were expected. */
typedef struct ls_query_mistake
{
	const ls_query_token *token; /* NULL: none */
	const char *const *names;
	int n_names;
} ls_query_mistake;

/* The state of one parse; lives on the stack of its caller. */
typedef struct ls_query_state
{
	ls_arena *arena;
	ls_query *query;
	ls_query_error *error;
	bool failed;      /* *error is set: the first error wins */
	bool filter_only; /* ls_query_parse_filter */
	bool read;        /* the text is valid */
	ls_str text;      /* NUL-terminated copy */
	ls_query_token *tokens;
	uint32_t n_tokens;
	uint32_t next;           /* the token that yylex returns next */
	bool other_language;     /* it has terms that only other languages have */
	bool maybe_stage;        /* it may begin with a stage of one */
	bool has_command;        /* it begins with `search`, which its first warning says */
	bool is_select;          /* ... with SELECT or FROM of SQL */
	bool has_plus;           /* a word +x */
	bool has_plain;          /* one without a sign */
	ls_str guessed;          /* what a hint suggests, unless there is a translation */
	ls_query_stage *stage;   /* being parsed */
	ls_query_filter *filter; /* of the head, still with its scopes */
	ls_query_mistake mistake;
} ls_query_state;

/* Flags of ls_query_filter and ls_query_expr while parsing. */
#define LS_QUERY_FLAG_PAREN 1  /* was written in parentheses */
#define LS_QUERY_FLAG_AND 2    /* next to an explicit AND */
#define LS_QUERY_FLAG_INDEX 4  /* SCOPE: index */
#define LS_QUERY_FLAG_LATEST 8 /* SCOPE: latest, else earliest */

/*
 * Cuts the text into tokens; the last one is the end token (lexer.l).  False when the
 * arena is full or the scanner failed.
 */
extern bool ls_query_scan(ls_query_state *state);

/*
 * From a text to a tree in state->query; parse_text.c.  The state has its arena and its error.  False:
 * the error is set.  It makes no hints and no notes.
 */
extern bool ls_query_parse_text(ls_query_state *state, ls_str text);

/* Sets the error of a parse without memory; always returns false. */
extern bool ls_query_memory_error(ls_query_error *error);

/* Is the text a query of our language?  False also when memory is short; parse_text.c. */
extern bool ls_query_is_query(const ls_buf *text);

/*
 * Cuts and joins tokens of the head that people write as in other languages;
 * terms.c.  False when the arena is full or the error is set.
 */
extern bool ls_query_cut_terms(ls_query_state *state);

/* Warns when the head has what is probably meant as a stage; stage_note.c. */
extern void ls_query_note_stage(ls_query_state *state);

/* Warns where the head has field=a OR b; or_note.c. */
extern void ls_query_note_or(ls_query_state *state);

/* Warns about expressions of stages; expression_note.c. */
extern void ls_query_note_expressions(ls_query_state *state);

/* Warns where words of the head are probably a time range, and suggests it; range_note.c. */
extern void ls_query_note_range(ls_query_state *state);

/*
 * If the error is inside of a time range in a stage, or at a duration: a hint, and perhaps the query that was meant;
 * range_note.c.
 */
extern bool ls_query_guess_range(ls_query_state *state, const ls_query_token *token);

/* The same for level=error|warn, whose second value is no stage; alternation.c. */
extern bool ls_query_guess_alternation(ls_query_state *state, const ls_query_token *token);

/* The same for lists of values as others have them, and for words with commas; list_hint.c. */
extern bool ls_query_guess_list(ls_query_state *state, const ls_query_token *token);

/* Lets the first warning about a lowercase operator suggest the query with capitals; list_hint.c. */
extern void ls_query_suggest_capitals(ls_query_state *state);

/* ---- keywords.c ---- */

/* Makes keywords of words, and one token of NOT IN.  False: the error is set. */
extern bool ls_query_classify(ls_query_state *state);

/* Is the token =, !=, <, <=, > or >=? */
extern bool ls_query_is_comparison(int kind);

/* ---- query_error.c ---- */

/* Set the error of the parse (the first one wins); always return false. */
extern bool ls_query_fail_at(ls_query_state *state, ls_query_error_kind kind, ls_query_span span,
							 const char *hint, const char *message, ...)
	__attribute__((format(printf, 5, 6)));
extern bool ls_query_fail_expected(ls_query_state *state, ls_query_error_kind kind,
								   ls_query_span span, const ls_str *expected, uint32_t n);
extern void ls_query_set_hint(ls_query_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets what the error says was expected; copied.  False: out of memory. */
extern bool ls_query_set_expected(ls_query_state *state, const ls_str *expected, uint32_t n);

/* Sets the hint "did you mean X?" if one of the candidates is near. */
extern void ls_query_hint_closest(ls_query_state *state, ls_str word, const ls_str *candidates,
								  uint32_t n);

/* Makes the warning at index `before` a doubt, if there is one. */
extern void ls_query_make_doubt(ls_query_state *state, uint32_t before);

/* The text of a span; an excerpt is at most 60 characters of it, for a message. */
extern ls_str ls_query_slice(const ls_query_state *state, ls_query_span span);
extern ls_str ls_query_excerpt(const ls_query_state *state, ls_query_span span);

/* ---- syntax_error.c ---- */

/*
 * Reports a syntax error: the span of the last token read, and the tokens expected there.  What hints need
 * is kept in state->mistake.
 */
extern void ls_query_syntax_error(ls_query_state *state, ls_query_span span,
								  const char *const *expected, int n);

/* Is one of the names of expected tokens this one? */
extern bool ls_query_expects(const char *const *names, int n, const char *name);

/* ---- meaning_hint.c ---- */

/* After a parse that has failed: what was meant at the mistake, if it can be guessed, as a hint. */
extern void ls_query_guess_meaning(ls_query_state *state);

/* ---- names.c ---- */

/* The names of a stage's options, of all operators, aggregates and functions (expr.c); *n: how many. */
extern const ls_str *ls_query_operator_names(uint32_t *n);
extern const ls_str *ls_query_option_names(ls_query_stage_kind kind, uint32_t *n);
extern const ls_str *ls_query_aggregate_names(uint32_t *n);
extern const ls_str *ls_query_function_names(ls_query_state *state, uint32_t *n);
extern bool ls_query_is_aggregate(ls_str name);

/* The token of an operator in capitals; 0: it is none. */
extern int ls_query_find_operator(ls_str word);

/* The kind of the stage with this name, and its token; -1: no stage has this name. */
extern int ls_query_find_stage(ls_str word, int *token);

/* The kind of the stage whose name is this token; -1: it is none. */
extern int ls_query_stage_of_token(int token);

/* The kind of an aggregate by its name, and the percentage of p95; -1: no aggregate has this name. */
extern int ls_query_find_aggregate(ls_str word, int *percent);

/* ---- word.c ---- */

extern bool ls_query_is_name_char(char c);

/* Is it a decimal number? */
extern bool ls_query_is_number(ls_str word);

/* Is it a word that is only a value wherever it stands: letters, digits, and - . _ inside? */
extern bool ls_query_is_plain_word(ls_str word);

/* ---- other_names.c: what to write for a stage or function of another language; or NULL ---- */

extern const char *ls_query_other_stage(ls_str word);
extern const char *ls_query_other_function(ls_str word);

/* ---- lists ---- */

/* Appends to a list {items, n} that grows by doubling; false when out of memory. */
extern bool ls_query_append(ls_arena *arena, void ***items, uint32_t *n, void *item);

#define ls_query_push(state, list, item) \
	ls_query_append((state)->arena, (void ***) &(list)->items, &(list)->n, (item))

/* ---- ast.c: the head; a constructor returns NULL on error, with state->error set ---- */

extern ls_str ls_query_unquote(ls_query_state *state, ls_query_span span, bool regex);
extern ls_query_value *ls_query_make_value(ls_query_state *state, ls_query_token token, bool regex);
extern ls_query_field *ls_query_head_field(ls_query_state *state, ls_query_token token);
extern ls_query_filter *ls_query_make_filter(ls_query_state *state, ls_query_filter_kind kind,
											 ls_query_span span);
extern ls_query_filter *ls_query_join(ls_query_state *state, ls_query_filter_kind kind,
									  ls_query_filter *left, ls_query_filter *right,
									  bool explicit_and);
extern ls_query_filter *ls_query_not(ls_query_state *state, ls_query_filter *child,
									 ls_query_span span);
extern ls_query_filter *ls_query_parenthesis(ls_query_filter *filter, ls_query_span span);
extern ls_query_filter *ls_query_text(ls_query_state *state, ls_query_token token);
extern ls_query_filter *ls_query_predicate(ls_query_state *state, ls_query_filter_kind kind,
										   ls_query_token field, ls_query_op op, bool negated,
										   ls_query_values values, ls_query_span span);
extern ls_query_filter *ls_query_string_predicate(ls_query_state *state, ls_query_filter_kind kind,
												  ls_query_token field, bool negated,
												  ls_query_token string, ls_query_span span);
/* field op values: several of them only with = and !=. */
extern ls_query_filter *ls_query_comparison(ls_query_state *state, ls_query_token field,
											ls_query_op op, ls_query_values values,
											ls_query_span span);

/* field:>=value and field:(a OR b): @field is also the field without its mark. */
extern ls_query_filter *ls_query_colon_predicate(ls_query_state *state, ls_query_filter_kind kind,
												 ls_query_token field, ls_query_op op,
												 ls_query_values values, ls_query_span span);

/* field:value */
extern ls_query_filter *ls_query_colon(ls_query_state *state, ls_query_token field,
									   ls_query_token value, ls_query_span span);

/* /regex/, in a field or (NULL) in the text. */
extern ls_query_filter *ls_query_regex(ls_query_state *state, const ls_query_token *field,
									   ls_query_token regex, ls_query_span span);
extern ls_query_filter *ls_query_time_scope(ls_query_state *state, bool latest,
											ls_query_token value, ls_query_span span);
extern ls_query_filter *ls_query_index_scope(ls_query_state *state, ls_query_values values,
											 ls_query_span span);

/* ---- scopes.c ---- */

/* Moves the scopes from state->filter into the query; false: *state->error is set. */
extern bool ls_query_lift_scopes(ls_query_state *state);

/* ---- fields (ast.c) ---- */

extern ls_query_field *ls_query_make_field(ls_query_state *state, ls_query_field *path,
										   ls_query_token name);
extern ls_query_field *ls_query_end_field(ls_query_state *state, ls_query_field *path);
extern ls_query_field *ls_query_stage_field(ls_query_state *state, ls_query_field *path);

/* ---- stages.c and expr.c ---- */

extern ls_query_expr *ls_query_literal(ls_query_state *state, ls_query_token token);
extern ls_query_expr *ls_query_field_expr(ls_query_state *state, ls_query_field *field);
extern ls_query_expr *ls_query_unary(ls_query_state *state, ls_query_expr_kind kind,
									 ls_query_expr *arg, ls_query_span span);
extern ls_query_expr *ls_query_binary(ls_query_state *state, ls_query_expr_kind kind,
									  ls_query_expr *left, ls_query_expr *right);
extern ls_query_expr *ls_query_test(ls_query_state *state, ls_query_expr_kind kind, bool negated,
									ls_query_expr *left, ls_query_exprs right, ls_query_span span);
extern ls_query_expr *ls_query_text_test(ls_query_state *state, ls_query_expr_kind kind,
										 bool negated, ls_query_expr *left, ls_query_expr *right,
										 ls_query_span span);
/*
 * builtin_condition.c: a comparison of a level is field IN levels, or NOT IN for !=.  No levels: an
 * ordinary comparison.  False on error.
 */
extern bool ls_query_builtin_condition(ls_query_state *state, ls_query_op op, ls_query_expr *left,
									   ls_query_expr *right, ls_query_expr **field,
									   ls_query_exprs *levels);
extern bool ls_query_level_list(ls_query_state *state, const ls_query_expr *field,
								ls_query_exprs *list);
extern bool ls_query_check_head_value(ls_query_state *state, const ls_query_field *field,
									  ls_query_op op, const ls_query_value *value);
extern ls_query_expr *ls_query_compare(ls_query_state *state, ls_query_op op, ls_query_expr *left,
									   ls_query_expr *right);
extern ls_query_expr *ls_query_call(ls_query_state *state, ls_query_token name, ls_query_exprs args,
									ls_query_span span);
extern ls_query_expr *ls_query_option_literal(ls_query_state *state, ls_query_token token);
extern ls_query_expr *ls_query_make_bin(ls_query_state *state, ls_query_field *field,
										ls_query_expr *span);
extern bool ls_query_condition(ls_query_state *state, const ls_query_expr *expr);

/* If the token is the name of a stage, makes the stage.  False: out of memory. */
extern bool ls_query_begin_stage(ls_query_state *state, int token);

extern bool ls_query_count(ls_query_state *state, ls_query_token number, int64_t *count);
extern ls_query_aggregate *ls_query_make_aggregate(ls_query_state *state, ls_query_token name,
												   ls_query_expr *arg, ls_query_field *as,
												   ls_query_span span);
extern ls_query_key *ls_query_make_key(ls_query_state *state, ls_query_field *field,
									   bool descending);

/* field asc, field desc */
extern ls_query_key *ls_query_directed_key(ls_query_state *state, ls_query_field *field,
										   ls_query_token direction);
extern ls_query_assign *ls_query_make_assign(ls_query_state *state, ls_query_field *to,
											 ls_query_field *from, ls_query_expr *value);
extern bool ls_query_rex_field(ls_query_state *state, ls_query_token option, ls_query_field *field);
/* Adds name=value, or the options of another list. */
extern bool ls_query_add_option(ls_query_state *state, ls_query_options *options,
								ls_query_token name, ls_query_token value);
extern bool ls_query_join_options(ls_query_state *state, ls_query_options *options,
								  ls_query_options more);
extern bool ls_query_apply_options(ls_query_state *state, ls_query_options options);
extern bool ls_query_check_columns(ls_query_state *state);

/* bin: after its options are applied; `as` may be NULL. */
extern bool ls_query_set_bin(ls_query_state *state, ls_query_field *field, ls_query_field *as);

/*
 * json, logfmt, kv: name=field or name="text", or without a name (NULL) a path.  `path` is not
 * yet ended.  When all are read, check_extract.
 */
extern bool ls_query_extract_field(ls_query_state *state, const ls_query_token *option,
								   ls_query_field *path);
extern bool ls_query_extract_text(ls_query_state *state, const ls_query_token *option,
								  ls_query_token string);
extern bool ls_query_check_extract(ls_query_state *state);
extern bool ls_query_set_rex(ls_query_state *state, ls_query_span pattern);

/* lookup table key [as field] [output column [as field], ...]; `field` NULL: named as the key. */
extern ls_query_output *ls_query_make_output(ls_query_state *state, ls_query_token column,
											 ls_query_field *as);
extern bool ls_query_set_lookup(ls_query_state *state, ls_query_token table, ls_query_token key,
								ls_query_field *field, ls_query_outputs outputs);

#endif /* LS_QUERY_INTERNAL_H */
