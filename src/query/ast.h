/*-------------------------------------------------------------------------
 *
 * ast.h
 *	  The search language as a tree: the public header of the pure half of
 *	  src/query (pure).
 *
 * ls_query_parse turns text into an ls_query; the planner turns that into SQL.
 * The tree has the query as written, decoded but not interpreted: names are not
 * looked up, times are not resolved, regular expressions are not compiled.
 * docs/language.md defines what names and operators mean.
 *
 * All memory belongs to the arena given to ls_query_parse, and views point
 * into it, never into the caller's text.  Lists are arrays of pointers with
 * their length; an empty list is {NULL, 0}.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_QUERY_AST_H
#define LS_QUERY_AST_H

#include "src/engine/times.h"

/* Limits; they bound the parser and all code that walks its tree. */
#define LS_QUERY_MAX_LENGTH 16384 /* bytes of text */
#define LS_QUERY_MAX_DEPTH 100    /* of parentheses, and of every tree */
#define LS_QUERY_MAX_STAGES 100
#define LS_QUERY_MAX_LOOKUPS 10 /* stages `lookup` of a query: each has its table in memory */
#define LS_QUERY_MAX_WARNINGS 20
#define LS_QUERY_MAX_COUNT 10000000 /* of rows in head, sort, top, ... */

/* ---- positions ---- */

/* The same for people, in Unicode code points. */
typedef struct ls_query_position
{
	uint32_t offset; /* from 0 */
	uint32_t line;   /* from 1 */
	uint32_t column; /* from 1 */
	uint32_t length; /* 0 at the end of the query */
} ls_query_position;

/* The position of a span; a span beyond the end of the text is clipped. */
extern ls_query_position ls_query_locate(ls_str text, ls_query_span span);

/* ---- errors and warnings ---- */

typedef enum ls_query_error_kind
{
	LS_QUERY_ERROR_SYNTAX,   /* 400 QUERY_SYNTAX_ERROR */
	LS_QUERY_ERROR_SEMANTIC, /* 400 QUERY_SEMANTIC_ERROR: type, name of a function, limit */
	LS_QUERY_ERROR_MEMORY    /* the arena's limit; only `message` is set */
} ls_query_error_kind;

typedef struct ls_query_error
{
	ls_query_error_kind kind;
	ls_str message; /* without the position: "unexpected stat" */
	ls_query_span span;
	ls_query_position position;
	ls_str found; /* the text at the position; empty at the end of the query */
	const ls_str *expected;
	uint32_t n_expected;
	ls_str hint;       /* may be empty */
	ls_str suggestion; /* a whole query that was probably meant; may be empty */
} ls_query_error;

typedef struct ls_query_warning
{
	const char *code; /* "LEADING_WILDCARD", ... */
	ls_str message;
	ls_query_span span;
	ls_query_position position;
	ls_str suggestion; /* a whole query that was probably meant; may be empty */
} ls_query_warning;

typedef struct ls_query_warnings
{
	ls_query_warning **items;
	uint32_t n;
} ls_query_warnings;

/* ---- fields ---- */

typedef enum ls_query_builtin
{
	LS_QUERY_NOT_BUILTIN,
	LS_QUERY_EVENT,
	LS_QUERY_LEVEL,
	LS_QUERY_SOURCE,
	LS_QUERY_TIMESTAMP,
	LS_QUERY_INGESTED_AT,
	LS_QUERY_INDEX,
	LS_QUERY_ID,
	LS_QUERY_SERVICE,
	LS_QUERY_TRACE_ID,
	LS_QUERY_SPAN_ID,
	LS_QUERY_TEMPLATE_ID
} ls_query_builtin;

/*
 * A field path.  `attributes.x.y` has the parts x, y and attributes = true;
 * `x.y` has the same parts and attributes = false; the bare word `attributes`
 * has no parts and attributes = true.  A name in backticks is one part, including
 * its dots.  Only a single part without the prefix can be a built-in field.
 */
typedef struct ls_query_field
{
	ls_str *parts;
	uint32_t n_parts;
	bool attributes;
	ls_query_builtin builtin;
	ls_str name;  /* the parts joined by dots; "attributes" when there are no parts */
	ls_str alias; /* as written, when another name for a built-in; else empty */
	ls_query_span span;
} ls_query_field;

typedef struct ls_query_fields
{
	ls_query_field **items;
	uint32_t n;
} ls_query_fields;

/* The built-in field with this name (case-sensitive), or LS_QUERY_NOT_BUILTIN. */
extern ls_query_builtin ls_query_builtin_find(ls_str name);

/* Its name; "" for LS_QUERY_NOT_BUILTIN. */
extern const char *ls_query_builtin_name(ls_query_builtin builtin);

/*
 * The built-in that others call so (message, severity, _time, ...), or
 * LS_QUERY_NOT_BUILTIN.
 */
extern ls_query_builtin ls_query_builtin_alias(ls_str name);

/* Makes it that built-in; columns keep the name that was written. */
extern void ls_query_set_builtin(ls_query_field *field, ls_query_builtin builtin);

/* The name as it was written, for columns. */
extern ls_str ls_query_field_written(const ls_query_field *field);

/* Do two fields have the same path and the same prefix? */
extern bool ls_query_field_eq(const ls_query_field *a, const ls_query_field *b);

/* ---- the head: scopes and a filter ---- */

typedef enum ls_query_op
{
	LS_QUERY_OP_EQ,
	LS_QUERY_OP_NE,
	LS_QUERY_OP_LT,
	LS_QUERY_OP_LE,
	LS_QUERY_OP_GT,
	LS_QUERY_OP_GE
} ls_query_op;

/* "=", "!=", ... */
extern const char *ls_query_op_name(ls_query_op op);

typedef enum ls_query_value_kind
{
	LS_QUERY_STRING, /* in quotes; * is literal */
	LS_QUERY_NUMBER, /* a word that is a plain decimal number */
	LS_QUERY_WORD    /* any other word */
} ls_query_value_kind;

typedef struct ls_query_value
{
	ls_query_value_kind kind;
	ls_str text;   /* decoded; a number is as written */
	double number; /* NUMBER */
	bool wildcard; /* WORD with a *, which matches any run of characters */
	ls_query_span span;
} ls_query_value;

typedef struct ls_query_values
{
	ls_query_value **items;
	uint32_t n;
} ls_query_values;

typedef enum ls_query_filter_kind
{
	LS_QUERY_FILTER_AND,      /* children, two or more */
	LS_QUERY_FILTER_OR,       /* children, two or more */
	LS_QUERY_FILTER_NOT,      /* one child */
	LS_QUERY_FILTER_ALL,      /* a bare *: every event */
	LS_QUERY_FILTER_TEXT,     /* values[0] in event: word (maybe with wildcards), number, phrase */
	LS_QUERY_FILTER_COMPARE,  /* field op values[0]; wildcards only with EQ and NE */
	LS_QUERY_FILTER_EXISTS,   /* field=* */
	LS_QUERY_FILTER_IN,       /* field [NOT] IN values; words may have wildcards */
	LS_QUERY_FILTER_CONTAINS, /* field [NOT] CONTAINS values[0], a string */
	LS_QUERY_FILTER_MATCHES,  /* field [NOT] MATCHES values[0], a regular expression */
	LS_QUERY_FILTER_COLON, /* field:value: children by what the field may be, the last one if it is nothing */
	LS_QUERY_FILTER_SCOPE /* inside the parser only: never in a finished tree */
} ls_query_filter_kind;

typedef struct ls_query_filter
{
	ls_query_filter_kind kind;
	bool negated;   /* IN, CONTAINS, MATCHES: like !=, false when the field is missing */
	bool colon;     /* IN: written field:(a OR b), which in the event's text looks for words */
	uint8_t flags;  /* used by the parser */
	uint16_t depth; /* of this tree, from 1 */
	ls_query_op op;
	ls_query_field *field;
	ls_query_values values;
	struct ls_query_filter **children;
	uint32_t n_children;
	ls_query_span span;
} ls_query_filter;

/* ---- expressions of the stages ---- */

typedef enum ls_query_function
{
	LS_QUERY_LOWER,
	LS_QUERY_UPPER,
	LS_QUERY_TRIM,
	LS_QUERY_LEN,
	LS_QUERY_SUBSTR,
	LS_QUERY_REPLACE,
	LS_QUERY_CONCAT,
	LS_QUERY_COALESCE,
	LS_QUERY_IF,
	LS_QUERY_ROUND,
	LS_QUERY_FLOOR,
	LS_QUERY_CEIL,
	LS_QUERY_ABS,
	LS_QUERY_TONUMBER,
	LS_QUERY_TOSTRING,
	LS_QUERY_NOW,
	LS_QUERY_CASE,
	LS_QUERY_LIKE,
	LS_QUERY_SPLIT,
	LS_QUERY_MVCOUNT,
	LS_QUERY_MVINDEX,
	LS_QUERY_MVJOIN,
	LS_QUERY_STRFTIME,
	LS_QUERY_STRPTIME,
	LS_QUERY_BIN,
	/* Other ways to write an operator or a literal: never in a finished tree. */
	LS_QUERY_MATCH,
	LS_QUERY_ISNULL,
	LS_QUERY_ISNOTNULL,
	LS_QUERY_TRUE,
	LS_QUERY_FALSE,
	LS_QUERY_NULL
} ls_query_function;

/* What is known about a value before any row is read. */
typedef enum ls_query_type
{
	LS_QUERY_TYPE_ANY, /* a field, or depends on one */
	LS_QUERY_TYPE_NUMBER,
	LS_QUERY_TYPE_STRING,
	LS_QUERY_TYPE_BOOLEAN,
	LS_QUERY_TYPE_NULL
} ls_query_type;

typedef enum ls_query_expr_kind
{
	LS_QUERY_EXPR_FIELD,   /* field */
	LS_QUERY_EXPR_NUMBER,  /* number, text as written */
	LS_QUERY_EXPR_STRING,  /* text, decoded */
	LS_QUERY_EXPR_BOOLEAN, /* boolean */
	LS_QUERY_EXPR_NULL,
	LS_QUERY_EXPR_NEGATE,   /* - args[0] */
	LS_QUERY_EXPR_ADD,      /* args[0] + args[1] */
	LS_QUERY_EXPR_SUBTRACT, /* args[0] - args[1] */
	LS_QUERY_EXPR_MULTIPLY, /* args[0] * args[1] */
	LS_QUERY_EXPR_DIVIDE,   /* args[0] / args[1] */
	LS_QUERY_EXPR_MODULO,   /* args[0] % args[1] */
	LS_QUERY_EXPR_COMPARE,  /* args[0] op args[1] */
	LS_QUERY_EXPR_IN,       /* args[0] [NOT] IN (args[1] ...) */
	LS_QUERY_EXPR_CONTAINS, /* args[0] [NOT] CONTAINS args[1] */
	LS_QUERY_EXPR_MATCHES,  /* args[0] [NOT] MATCHES args[1]; a string there is a regex */
	LS_QUERY_EXPR_AND,      /* args, two or more */
	LS_QUERY_EXPR_OR,       /* args, two or more */
	LS_QUERY_EXPR_NOT,      /* args[0] */
	LS_QUERY_EXPR_CALL      /* function(args); their number is checked */
} ls_query_expr_kind;

typedef struct ls_query_expr
{
	ls_query_expr_kind kind;
	ls_query_type type;
	bool negated;               /* IN, CONTAINS, MATCHES */
	bool boolean;               /* BOOLEAN */
	uint8_t flags;              /* used by the parser */
	uint16_t depth;             /* of this tree, from 1 */
	ls_query_op op;             /* COMPARE */
	ls_query_function function; /* CALL */
	ls_query_field *field;      /* FIELD */
	ls_str text;                /* STRING, NUMBER */
	double number;              /* NUMBER */
	struct ls_query_expr **args;
	uint32_t n_args;
	ls_query_span span;
} ls_query_expr;

/* "lower", "if", ... */
extern const char *ls_query_function_name(ls_query_function function);

/*
 * Is it a time, whatever the rows have: timestamp, ingested_at (or another name for them), now(),
 * strptime(), or such a time and a number of seconds?
 */
extern bool ls_query_is_time(const ls_query_expr *expr);

/*
 * The standard levels that are in that relation to a level (LS_QUERY_OP_EQ: the level itself); returns how
 * many, or -1: the text names no level.
 */
#define LS_QUERY_LEVELS 6
extern int ls_query_levels(ls_query_op op, ls_str level, ls_str levels[LS_QUERY_LEVELS]);

/* ---- stages ---- */

typedef enum ls_query_aggregate_kind
{
	LS_QUERY_COUNT, /* without argument: rows; with one: rows where it is not null */
	LS_QUERY_DC,
	LS_QUERY_SUM,
	LS_QUERY_AVG,
	LS_QUERY_MIN,
	LS_QUERY_MAX,
	LS_QUERY_FIRST,
	LS_QUERY_LAST,
	LS_QUERY_VALUES,
	LS_QUERY_PERCENTILE
} ls_query_aggregate_kind;

typedef struct ls_query_aggregate
{
	ls_query_aggregate_kind kind;
	int percent;        /* PERCENTILE: 0-99 */
	ls_query_expr *arg; /* NULL: count of rows */
	ls_query_field *as; /* NULL: not given */
	ls_str name;        /* output column: `as`, else as "count" or "p95(duration_ms)" */
	ls_query_span span;
} ls_query_aggregate;

typedef struct ls_query_aggregates
{
	ls_query_aggregate **items;
	uint32_t n;
} ls_query_aggregates;

typedef struct ls_query_key
{
	ls_query_field *field;
	bool descending;
} ls_query_key;

typedef struct ls_query_keys
{
	ls_query_key **items;
	uint32_t n;
} ls_query_keys;

/* A column of a lookup table, and the field that gets its value. */
typedef struct ls_query_output
{
	ls_str column;
	ls_query_field *to;
	ls_query_span span;
} ls_query_output;

typedef struct ls_query_outputs
{
	ls_query_output **items;
	uint32_t n;
} ls_query_outputs;

/* rename: from AS to; eval: to = value. */
typedef struct ls_query_assign
{
	ls_query_field *to;
	ls_query_field *from; /* rename */
	ls_query_expr *value; /* eval */
} ls_query_assign;

typedef struct ls_query_assigns
{
	ls_query_assign **items;
	uint32_t n;
} ls_query_assigns;

typedef enum ls_query_stage_kind
{
	LS_QUERY_WHERE,
	LS_QUERY_DEDUP,
	LS_QUERY_STATS,
	LS_QUERY_TIMECHART,
	LS_QUERY_TOP,
	LS_QUERY_RARE,
	LS_QUERY_SORT,
	LS_QUERY_HEAD,
	LS_QUERY_FIELDS,
	LS_QUERY_RENAME,
	LS_QUERY_EVAL,
	LS_QUERY_REX,
	LS_QUERY_PATTERNS,
	LS_QUERY_TABLE,
	LS_QUERY_TAIL,
	LS_QUERY_BIN_STAGE,
	LS_QUERY_FILLNULL,
	LS_QUERY_EVENTSTATS,
	LS_QUERY_LOOKUP,
	LS_QUERY_JSON,
	LS_QUERY_LOGFMT,
	LS_QUERY_KV
} ls_query_stage_kind;

/* "where", "dedup", ... */
extern const char *ls_query_stage_name(ls_query_stage_kind kind);

typedef struct ls_query_group
{
	ls_str name;
	ls_query_span span;
} ls_query_group;

/* One stage; the comment of each member names the stages that use it. */
typedef struct ls_query_stage
{
	ls_query_stage_kind kind;
	ls_query_span span;

	ls_query_expr *condition; /* where */
	int64_t count;            /* dedup top rare sort head tail timechart(limit): -1 not given */
	ls_query_fields fields;   /* dedup top rare fields table fillnull */
	ls_query_fields by;       /* stats eventstats timechart top rare patterns */
	bool keep_empty;          /* dedup: true unless keepempty=false */
	bool exclude;             /* fields - */
	ls_query_aggregates aggregates; /* stats eventstats timechart */
	ls_query_duration bucket;       /* timechart span=; unit NONE: not given */
	ls_query_keys keys;             /* sort */
	ls_query_assigns assigns;       /* rename eval bin */
	ls_query_expr *literal;         /* bin span=, fillnull value=; NULL: not given */
	ls_query_field *field;          /* lookup; rex patterns json logfmt kv; NULL: event */
	ls_str path;                    /* json path=; data NULL: all members */
	ls_query_field *output;         /* json output=; NULL: named as the path */
	ls_str between;                 /* kv pairdelim= */
	ls_str inside;                  /* kv kvdelim= */
	ls_str pattern;                 /* rex: the regular expression */
	ls_query_span pattern_span;     /* rex */
	ls_query_group **groups;        /* rex: named groups, distinct, in order */
	uint32_t n_groups;
	int max_templates;    /* patterns max=1..500; -1 not given */
	int max_samples;      /* patterns samples=0..5; -1 not given */
	int rare_threshold;   /* patterns rare=0..50; -1 not given */
	double sim_threshold; /* patterns sim=0..1; -1 not given */
	bool label;           /* patterns mode=label */
	ls_str table;         /* lookup: its name */
	ls_query_span table_span;
	ls_str key;               /* lookup: the column that is compared with `field` */
	ls_query_outputs outputs; /* lookup: empty: all other columns */
} ls_query_stage;

typedef struct ls_query_stages
{
	ls_query_stage **items;
	uint32_t n;
} ls_query_stages;

/* ---- the query ---- */

typedef struct ls_query
{
	ls_str text;             /* a copy of the text */
	ls_query_values indexes; /* empty: the default indexes; words may have wildcards */
	ls_query_time *earliest; /* NULL: not given (-24h) */
	ls_query_time *latest;   /* NULL: not given (now) */
	ls_query_filter *filter; /* NULL: every event */
	ls_query_stages stages;
	ls_query_warnings warnings;
	ls_query_warnings doubts; /* of what may be right: to be said where nothing is found */
	ls_str *spaced_names;     /* of `name: value`, which is words; a field in KQL */
	uint32_t n_spaced_names;
} ls_query;

#define LS_QUERY_MAX_SPACED_NAMES 16

/*
 * Parses a query of at most LS_QUERY_MAX_LENGTH bytes of UTF-8.  Returns true and
 * sets *query, or returns false and sets *error.  Time and memory are linear in the
 * length of the text.  A full arena is an error of kind MEMORY; 4 MB are enough for
 * any query.
 */
extern bool ls_query_parse(ls_str text, ls_arena *arena, ls_query **query, ls_query_error *error);

/*
 * time_hint.c: a time that begins a range: as ls_query_time_parse, and today and yesterday, which begin
 * at midnight.  As an end they could mean the whole day, and are none.
 */
extern bool ls_query_begin_parse(ls_str text, ls_query_time *time);

/* Appends what to write for a text that is no time; nothing where it is not known. */
extern void ls_query_time_hint(ls_str text, bool latest, ls_buf *hint);

/*
 * The time of timestamp > now() - 3600, now() - 1h and now() - interval '1 hour' as earliest takes it:
 * -3600s, -1h, -1hour.  `text` is what follows `now`; "now" if that is no call.  In the arena; empty
 * if it is none of these.
 */
extern ls_str ls_query_time_after_now(ls_str text, ls_arena *arena);

/* As ls_query_parse, without hints, notes and translations. */
extern bool ls_query_parse_only(ls_str text, ls_arena *arena, ls_query **query,
								ls_query_error *error);

/*
 * Parses only a head without scopes, such as the `match` of a pipeline; stages and
 * scopes are errors.  *query then has only a filter and warnings.
 */
extern bool ls_query_parse_filter(ls_str text, ls_arena *arena, ls_query **query,
								  ls_query_error *error);

/*
 * Fills in an error at a span of the query's text, for checks after parsing (by the
 * planner).  `hint` may be NULL.  Always returns false.
 */
extern bool ls_query_fail(ls_query_error *error, ls_arena *arena, ls_str text,
						  ls_query_error_kind kind, ls_query_span span, const char *hint,
						  const char *message, ...) __attribute__((format(printf, 7, 8)));

/*
 * Adds a warning to the query, up to LS_QUERY_MAX_WARNINGS; `code` must be a
 * constant.
 */
extern void ls_query_warn(ls_query *query, ls_arena *arena, const char *code, ls_query_span span,
						  const char *message, ...) __attribute__((format(printf, 5, 6)));

/* Does one of the first n warnings say what query was meant? */
extern bool ls_query_has_suggestion(const ls_query_warnings *warnings, uint32_t n);

/* Makes warnings of the doubts of a query, which has found nothing. */
extern void ls_query_say_doubts(ls_query *query, ls_arena *arena);

/*
 * Warns that the query is probably in another language, with the same query in ours as
 * suggestion.  False: it is not, or there is no translation.
 */
extern bool ls_query_warn_translation(ls_query *query, ls_arena *arena);

/* Has it a letter or a digit, so that it can be looked for in texts? */
extern bool ls_query_has_token(ls_str s);

/*
 * Calls `reading` for each place where the query reads a field of events: not one
 * that a stage before made, nor a column of a table.  `before`: in a subtraction
 * without spaces the field on its left, else NULL; `right`: on the right side of a
 * comparison.
 */
typedef void (*ls_query_reading)(void *context, ls_query_field *field, const ls_query_field *before,
								 bool right);
extern void ls_query_each_reading(const ls_query *query, ls_query_reading reading, void *context);

/* The same for all fields that are read before a table is made, whoever made them. */
extern void ls_query_each_mention(const ls_query *query, ls_query_reading reading, void *context);

/*
 * Append a tree as one line of nested lists, for tests and for people.  Two
 * queries that differ only in white space give the same line.
 */
extern void ls_query_print(ls_buf *buf, const ls_query *query);
extern void ls_query_print_filter(ls_buf *buf, const ls_query_filter *filter);
extern void ls_query_print_expr(ls_buf *buf, const ls_query_expr *expr);

#endif /* LS_QUERY_AST_H */
