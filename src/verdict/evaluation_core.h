/*-------------------------------------------------------------------------
 *
 * evaluation_core.h
 *	  The pure core of an evaluation (pure): request, view of the log, preview, prompt,
 *	  verdict and response, without database, network and clock.
 *
 * The steps of an evaluation, and who does them:
 *
 *		body --ls_evaluation_request_parse--> request
 *		request --ls_evaluation_view_make--> view (the lines a model sees)
 *			preview: ls_evaluation_preview_json, done
 *			run:	 ls_evaluation_prompt_make --> prompt
 *					 the caller asks a provider --> reply
 *					 ls_verdict_parse --> verdict, or problems and a repair call
 *					 ls_evaluation_response_json
 *
 * All limits and rules of the service are applied here, so HTTP and SQL callers get the
 * same answer, with every provider.  All input must be valid UTF-8 (the JSON parser
 * checks what comes over HTTP).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_EVALUATION_CORE_H
#define LS_EVALUATION_CORE_H

#include "src/base/pure.h"
#include "src/pattern/pattern.h"

/* Limits of a request; "characters" are code points (decision 6). */
#define LS_EVALUATION_MAX_ROWS 10000
#define LS_EVALUATION_MAX_RAW_ROWS 200
#define LS_EVALUATION_MAX_ROW_CHARS 2000
#define LS_EVALUATION_MAX_CRITERIA_CHARS 4000
#define LS_EVALUATION_MAX_ITEMS 200
#define LS_EVALUATION_MAX_ID_CHARS 100
#define LS_EVALUATION_MAX_DESCRIPTION_CHARS 500
#define LS_EVALUATION_MAX_FINDINGS 200
#define LS_EVALUATION_MAX_EXPLANATION_CHARS 300
#define LS_EVALUATION_MAX_SUMMARY_CHARS 500
#define LS_EVALUATION_TOKEN_BUDGET 50000
#define LS_EVALUATION_MIN_ROW_TOKENS 10000 /* decision 31 */

/* The maximum depth of JSON in a body or a reply. */
#define LS_EVALUATION_MAX_DEPTH 64

/*
 * Limit of the arena for parsing and mining; every valid request of 10 MB stays below it.  The
 * body itself is not in the arena.  The worst bodies found took 331 MB (10,000 rows in which no
 * word occurs twice); ordinary bodies of 10,000 rows take 1 to 10 MB.  Call ls_evaluation_detach,
 * then free the arena.
 */
#define LS_EVALUATION_ARENA_LIMIT ((size_t) 512 << 20)

/* ---- validation errors: the `details` of an error body ---- */

#define LS_VALIDATION_MAX_ERRORS 100

typedef struct ls_validation_error
{
	ls_str path; /* expectedItems[3].id; empty: the body as a whole */
	ls_str code; /* stable, lower case: required, invalid_type, too_long, ... */
	ls_str message;
} ls_validation_error;

typedef struct ls_validation_errors
{
	ls_arena *arena;
	ls_validation_error items[LS_VALIDATION_MAX_ERRORS];
	size_t count;
	size_t dropped;     /* further problems that are not in the list */
	bool out_of_memory; /* the arena's limit was reached: not the caller's fault */
} ls_validation_errors;

extern void ls_validation_init(ls_validation_errors *errors, ls_arena *arena);

/* Adds a problem; `path`, `code` and the formatted message (at most 255 bytes) are copied. */
extern void ls_validation_add(ls_validation_errors *errors, const char *path, const char *code,
							  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Removes the problems at `path` and below it, because a later member with that name wins. */
extern void ls_validation_forget(ls_validation_errors *errors, const char *path);

/* Appends the array [{"path","code","message"}, ...] (api: details of VALIDATION_ERROR). */
extern void ls_validation_json(ls_buf *buf, const ls_validation_errors *errors);

/* ---- request ---- */

typedef enum ls_evaluation_mode
{
	LS_EVALUATION_TEST_CLASSIFICATION,
	LS_EVALUATION_GENERIC_VERDICT
} ls_evaluation_mode;

typedef struct ls_expected_item
{
	ls_str id;
	ls_str description;
} ls_expected_item;

typedef struct ls_evaluation_request
{
	const ls_str *rows; /* each at most 2,000 code points; `log` is the last one */
	size_t row_count;
	size_t cut_rows;               /* rows that were longer and have been cut */
	bool has_query;                /* the rows come from this search instead; */
	ls_str query;                  /* pass them to ls_evaluation_set_rows */
	ls_str criteria;               /* empty only in a preview */
	const ls_expected_item *items; /* without duplicates, in the order received */
	size_t item_count;
	ls_evaluation_mode mode;
	ls_str model;               /* as given; empty: the default */
	bool compress;              /* logCompression */
	ls_pattern_options options; /* compressionOptions */
	bool preview;
	bool citations;        /* findings must quote the rows that support them */
	const ls_str *ignored; /* names of unknown fields, safe for a header */
	size_t ignored_count;
	bool ignored_more; /* the list is not complete */
} ls_evaluation_request;

/*
 * Parses and checks a request body.  Returns true and sets *out, which points into `json` and
 * `arena`.  Or returns false, and `errors` (an initialized list) has all problems (at most 100; a
 * syntax error is always the only one), or errors->out_of_memory is set.  If the body is JSON but
 * not valid, *out is set too, but only for the names of unknown members.
 *
 * Decisions 1-11, 14, 25, 27.  If a member occurs twice, the last one wins, as in
 * JavaScript's JSON.parse, and only that one is checked.  null means absent only for `log` and
 * `model`.  `query` is a known field if `allow_query` is set; otherwise it is ignored like any
 * unknown field.
 */
extern bool ls_evaluation_request_parse(ls_str json, ls_arena *arena, bool allow_query,
										ls_evaluation_request **out, ls_validation_errors *errors);

/*
 * Sets the rows of a request with a query to those that its search found: the first 10,000, each
 * cut to 2,000 code points.  The rows are not copied; there may be none.  False when out of
 * memory.
 */
extern bool ls_evaluation_set_rows(ls_evaluation_request *request, ls_arena *arena,
								   const ls_str *rows, size_t row_count);

/*
 * Write a checked request as bytes for another process, without the names of unknown
 * members, and read it back as views of `bytes`.  False when the bytes are not a request,
 * or memory ran out.
 */
extern void ls_evaluation_request_write(ls_buf *buf, const ls_evaluation_request *request);
extern bool ls_evaluation_request_read(ls_str bytes, ls_arena *arena, ls_evaluation_request **out);

/* Appends the value of header X-Ignored-Fields; nothing if no field was ignored. */
extern void ls_evaluation_ignored_header(ls_buf *buf, const ls_evaluation_request *request);

/* Does each expected item get exactly one finding (decisions 12, 13)? */
static inline bool
ls_evaluation_by_item(const ls_evaluation_request *request)
{
	return request->mode == LS_EVALUATION_TEST_CLASSIFICATION && request->item_count > 0;
}

/* ---- view: the lines that are sent ---- */

typedef struct ls_evaluation_view
{
	bool compressed;
	const ls_str *lines; /* valid UTF-8, without line breaks or control characters */
	size_t line_count;
	size_t input_row_count; /* decisions 22, 23 */
	bool truncated;         /* decision 24: differs between preview and run */
	size_t cut_rows;
	size_t total_rows;
	size_t hidden_rows;     /* rows that no line represents */
	size_t hidden_patterns; /* patterns without a line, because of maxTemplates or the budget */

	/* From the miner; 0 if it did not run (uncompressed run). */
	size_t unique_templates;
	size_t dropped_templates; /* because of maxTemplates only */
	size_t rare_line_count;   /* compressed: lines that are rows kept verbatim */

	/* Estimates of decision 32. */
	int64_t overhead_tokens;   /* instructions, criteria, items, schema */
	int64_t line_tokens;       /* the lines above */
	int64_t compressed_tokens; /* the lines of the compressed view; 0 if the miner did not run */
	int64_t raw_tokens;        /* all rows uncompressed; 0 unless a preview */
} ls_evaluation_view;

/*
 * Chooses the lines: patterns by count, or the first 200 rows; as many whole lines as fit into
 * the token budget (decisions 22-24, 26, 28, 29, 31).  NULL when out of memory.
 */
extern ls_evaluation_view *ls_evaluation_view_make(const ls_evaluation_request *request,
												   ls_arena *arena);

/*
 * Copies into `arena` what is still needed while a model thinks: the whole view, and the request
 * without the query and, unless quotes will be looked up in them, without the rows.  Then the
 * body and the arena of parsing and mining can be freed, and an evaluation in flight takes some
 * hundred kilobytes instead of tens of megabytes.  False when out of memory.
 */
extern bool ls_evaluation_detach(const ls_evaluation_request *request,
								 const ls_evaluation_view *view, ls_arena *arena,
								 ls_evaluation_request **request_copy,
								 ls_evaluation_view **view_copy);

/* Estimated tokens of a text: max(ceil(UTF-8 bytes / 3.5), words), decision 32. */
extern int64_t ls_token_estimate(ls_str text);

/* ---- price ---- */

#define LS_MICRO_CREDITS INT64_C(1000000) /* in one credit, which is 0.01 USD */

typedef struct ls_model_price
{
	ls_str model;       /* id, as answers show it */
	int64_t input_rate; /* micro-USD for a million tokens: 1,000,000 is 1 USD */
	int64_t output_rate;
} ls_model_price;

/*
 * The cost of tokens in micro-credits, rounded up (decision 33).  `rate` is in micro-USD per
 * million tokens.  Negative numbers count as 0, and the result never overflows.
 */
extern int64_t ls_credit_cost(int64_t tokens, int64_t rate);

/* Appends micro-credits as a number of credits with at most 4 decimals, no trailing zeros. */
extern void ls_credit_format(ls_buf *buf, int64_t micro_credits);

/* Appends the object of a preview (without the `data` around it). */
extern void ls_evaluation_preview_json(ls_buf *buf, const ls_evaluation_view *view,
									   const ls_model_price *price);

/* ---- prompt ---- */

#define LS_DELIMITER_LENGTH 32 /* 128 random bits in hexadecimal */

typedef struct ls_evaluation_prompt
{
	ls_str system;
	ls_str user;
	ls_str schema; /* JSON Schema of the reply, for a provider's forced structure */
} ls_evaluation_prompt;

/*
 * Makes the prompt of a request with its view.  `delimiter` is 32 random hexadecimal digits, which
 * the rows cannot contain; the same arguments give the same bytes (decision 43).  False when out
 * of memory, or when `delimiter` is not valid.
 */
extern bool ls_evaluation_prompt_make(const ls_evaluation_request *request,
									  const ls_evaluation_view *view, ls_str delimiter,
									  ls_arena *arena, ls_evaluation_prompt *prompt);

/*
 * Estimated tokens of a prompt without its rows (decision 31); -1 when out of memory.
 */
extern int64_t ls_evaluation_prompt_overhead(const ls_evaluation_request *request, ls_arena *arena);

/* The maximum length of a model's answer, in tokens. */
extern int ls_evaluation_output_tokens(const ls_evaluation_request *request);

/*
 * The user text of the only repair call: it says what was wrong with the reply.  It is sent after
 * the same prompt and the reply, as a conversation if the provider supports that.
 */
extern ls_str ls_evaluation_repair_text(ls_arena *arena, const ls_validation_errors *problems);

/* ---- verdict ---- */

typedef enum ls_finding_status
{
	LS_FINDING_NONE, /* no status; in generic mode only */
	LS_FINDING_PASSED,
	LS_FINDING_FAILED,
	LS_FINDING_NOT_FOUND,
	LS_FINDING_SKIPPED
} ls_finding_status;

typedef struct ls_citation
{
	ls_str quote; /* a literal part of that row, or of the line that shows it */
	size_t row;   /* number in the request, from 1 */
} ls_citation;

typedef struct ls_finding
{
	ls_str id;
	ls_finding_status status;
	ls_str explanation;
	ls_str confidence;  /* a JSON number as written; empty: not given */
	ls_str score;       /* the same */
	ls_str entity_type; /* empty: no entity */
	ls_str entity_key;
	const ls_str *tags;
	size_t tag_count;
	bool has_tags;
	const ls_citation *citations; /* only quotes that are in the rows */
	size_t citation_count;
} ls_finding;

typedef struct ls_verdict
{
	const ls_finding *findings;
	size_t finding_count;
	ls_str summary;  /* empty: null */
	bool citations;  /* the request asked for citations */
	size_t filled;   /* items that the reply left out (decision 15) */
	size_t invented; /* findings dropped because of an unknown id (decision 16) */
	size_t unproven; /* quotes dropped because no row contains them (decision 43) */
} ls_verdict;

/* "passed", "failed", "not_found", "skipped"; empty for NONE. */
extern ls_str ls_finding_status_name(ls_finding_status status);

/* The status with that name; NONE if there is none. */
extern ls_finding_status ls_finding_status_parse(ls_str name);

/*
 * Checks a model's reply (JSON text; one Markdown code fence around it is allowed) against its
 * request, decisions 12-21.  `complete` is false if the provider says that the reply was cut off.
 * With request->citations, every quote of a finding is looked up in the rows that the finding
 * names, or in all rows if it names none.  A finding passed or failed needs at least one quote,
 * and all its quotes must be found.
 *
 * Returns true and sets *out, which points into `reply`.  Or returns false: `problems` has the
 * problems, and *repair says whether a repair call makes sense (not if memory ran out here).
 */
extern bool ls_verdict_parse(ls_str reply, bool complete, const ls_evaluation_request *request,
							 const ls_evaluation_view *view, ls_arena *arena, ls_verdict **out,
							 ls_validation_errors *problems, bool *repair);

/* ---- response ---- */

typedef struct ls_evaluation_run
{
	ls_str model;
	ls_str provider;
	ls_str region;
	int64_t tokens_in;
	int64_t tokens_out;
	int64_t micro_credits; /* actually debited */
} ls_evaluation_run;

/* Appends the object of an answer (without the `data` around it). */
extern void ls_evaluation_response_json(ls_buf *buf, const ls_verdict *verdict,
										const ls_evaluation_view *view,
										const ls_evaluation_run *run);

#endif /* LS_EVALUATION_CORE_H */
