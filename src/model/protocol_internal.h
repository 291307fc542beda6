/*-------------------------------------------------------------------------
 *
 * protocol_internal.h
 *	  What the protocols share (pure): checks of settings, parts of requests, tolerant reading
 *	  of replies.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PROTOCOL_INTERNAL_H
#define LS_PROTOCOL_INTERNAL_H

#include "src/model/protocol.h"

/* The tool or schema that carries the verdict, and the id of the one call that a repair shows. */
#define LS_PROTOCOL_TOOL "verdict"
#define LS_PROTOCOL_TOOL_TEXT "Gives the verdict. Call it exactly once, with the whole verdict."
#define LS_PROTOCOL_CALL_ID "call_verdict_1"

/* A larger count of tokens is ignored as a mistake. */
#define LS_PROTOCOL_MAX_TOKENS INT64_C(1000000000)

/* ---- writing ---- */

#define ls_protocol_output_valid(settings) \
	((settings)->max_output_tokens > 0 && (settings)->max_output_tokens <= 10000000)

/* Not empty, and printable ASCII without spaces: safe in a header and in a URL's host. */
extern bool ls_protocol_plain(ls_str s);

/*
 * Splits an http or https URL without user, fragment and (except in `query`) query; slashes at the
 * end of the path are dropped.  False when it is not one.
 */
typedef struct ls_protocol_url
{
	ls_str base; /* scheme, host, port and path */
	ls_str host; /* with port, as in the header Host */
	ls_str name; /* the host without its port */
	ls_str path; /* empty, or from its first '/' */
	ls_str query;
} ls_protocol_url;

extern bool ls_protocol_url_parse(ls_str text, ls_protocol_url *url);

/* True if `name` is `domain` or a subdomain of it. */
extern bool ls_protocol_below(ls_str name, const char *domain);

/*
 * The version of a Claude model from its id, as 405 for 4.5 and 500 for 5.  An id of Claude
 * without a version counts as the newest (9900); 0 when it is no Claude.
 */
extern int ls_protocol_claude(ls_str model);

/*
 * What to ask such a model for: at most what it can write (it refuses more), and room for the
 * thoughts of one that thinks.
 */
extern int ls_protocol_claude_output(int version, int wanted);

/* Whether it takes `temperature`; later versions refuse every value of it. */
#define ls_protocol_claude_temperature(version) ((version) <= 406)

/* Is there a reply to show?  Without one a repair asks for the same request again. */
extern bool ls_protocol_has_reply(const ls_protocol_repair *repair);

/* True when the reply can stand as the input of a tool: a JSON object. */
extern bool ls_protocol_is_object(ls_str text, ls_arena *arena);

/* Appends the user text as a JSON string, with the repair text after it if no reply is shown. */
extern void ls_protocol_user(ls_buf *buf, const ls_evaluation_prompt *prompt,
							 const ls_protocol_repair *repair);

/* ---- reading ---- */

typedef struct ls_protocol_reading
{
	ls_json json;
	ls_arena *arena;
	ls_buf text;   /* of all blocks of text */
	ls_str tool;   /* input of the tool, as written */
	size_t tools;  /* how often it was called */
	bool refused;  /* by the model or by a filter */
	bool cut;      /* by a token limit */
	int64_t in[3]; /* input tokens: plain, read from a cache, written to it */
	int64_t out;   /* output tokens */
	ls_str model;
	ls_str region;
} ls_protocol_reading;

/*
 * The next value, when it is of the type wanted; else it is passed over and false is returned
 * (and the target left alone), as it is after an error.
 */
extern bool ls_protocol_open(ls_protocol_reading *in, ls_json_type type);
extern bool ls_protocol_string(ls_protocol_reading *in, ls_str *text);
extern void ls_protocol_count(ls_protocol_reading *in, int64_t *count);
extern void ls_protocol_skip(ls_protocol_reading *in);

/* Forgets what a member of the same name said before: the last one wins. */
extern void ls_protocol_forget(ls_protocol_reading *in);

/* Reads a reply: calls `member` with the name of each member of its object, to read the value. */
extern ls_protocol_outcome ls_protocol_read(int status, ls_str body, ls_arena *arena,
											void (*member)(ls_protocol_reading *in, ls_str key),
											ls_protocol_reply *out);

#endif /* LS_PROTOCOL_INTERNAL_H */
