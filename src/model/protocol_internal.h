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

#include "src/base/json_document.h"
#include "src/model/protocol.h"

/* The tool or schema that carries the verdict, and the id of the one call that a repair shows. */
#define LS_PROTOCOL_TOOL "verdict"
#define LS_PROTOCOL_TOOL_TEXT "Gives the verdict. Call it exactly once, with the whole verdict."
#define LS_PROTOCOL_CALL_ID "call_verdict_1"

/* The envelope around a verdict, and what providers put beside it. */
#define LS_PROTOCOL_MAX_DEPTH (LS_EVALUATION_MAX_DEPTH + 16)

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

/* The reply as the input of a tool; NULL: it is no JSON object and can only be shown as text. */
extern ls_json_node *ls_protocol_shown_object(const ls_protocol_repair *repair, ls_arena *arena);

/* The user text as a node, with the repair text after it if no reply is shown. */
extern ls_json_node *ls_protocol_user(const ls_evaluation_prompt *prompt,
									  const ls_protocol_repair *repair, ls_arena *arena);

/* {"role": role, "content": content}; NULL for NULL content. */
extern ls_json_node *ls_protocol_message(ls_arena *arena, const char *role, ls_json_node *content);

/* Writes the body; false when the node is NULL or memory is short. */
extern bool ls_protocol_write_body(ls_arena *arena, const ls_json_node *body, ls_str *out);

/* ---- reading ---- */

typedef struct ls_protocol_reading
{
	ls_buf text;              /* of all blocks of text */
	const ls_json_node *tool; /* input of the tool */
	size_t tools;             /* how often it was called */
	bool refused;             /* by the model or by a filter */
	bool cut;                 /* by a token limit */
	int64_t tokens_in;
	int64_t tokens_out;
	ls_str model;
	ls_str region;
} ls_protocol_reading;

/* A count of tokens; 0 when it is not there or impossible. */
extern int64_t ls_protocol_count(const ls_json_node *usage, const char *name);

/* Is that member one of these strings (NULL ends them)? */
extern bool ls_protocol_member_is(const ls_json_node *object, const char *name,
								  const char *const *texts);

/* Counts a call of a tool, if it is the one that carries the verdict. */
extern void ls_protocol_tool_call(ls_protocol_reading *in, const ls_json_node *call);

/*
 * Reads a reply: `read` gets its object.  A reply of which JSON readers could take different
 * things (a member that is there twice) is INVALID.
 */
extern ls_protocol_outcome ls_protocol_read(int status, ls_str body, ls_arena *arena,
											void (*read)(ls_protocol_reading *in,
														 const ls_json_node *reply),
											ls_protocol_reply *out);

#endif /* LS_PROTOCOL_INTERNAL_H */
