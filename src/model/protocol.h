/*-------------------------------------------------------------------------
 *
 * protocol.h
 *	  The protocols of model providers (pure): from a prompt to an HTTP request, and from an HTTP
 *	  reply to the text of a verdict.  There is no network here: the caller sends the output of
 *	  `write` and passes the reply to `read`.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PROTOCOL_H
#define LS_PROTOCOL_H

#include "src/verdict/evaluation_core.h"

/* A reply with more bytes than this is INVALID: no verdict is that long. */
#define LS_PROTOCOL_MAX_REPLY ((size_t) 4 << 20)

/*
 * Added to max_output_tokens for models that think before they answer.  Thoughts count as output,
 * and if they leave no room for the verdict, it is lost.
 */
#define LS_PROTOCOL_THINKING_TOKENS 4096

typedef struct ls_protocol_settings
{
	ls_str endpoint; /* base URL without a trailing slash; bedrock: may be empty, then it is made
					  * from the region */
	ls_str region;   /* EU region, as eu-central-1; bedrock: needed, it is signed */
	ls_str model;    /* the provider's own id of the model */
	ls_str key;      /* API key; bedrock: access key id; openai: may be empty (a local server) */
	ls_str secret;   /* bedrock: secret access key */
	ls_str session;  /* bedrock: session token, may be empty */
	int max_output_tokens; /* of the verdict; models that think get more, for their thoughts */
} ls_protocol_settings;

/* All requests are POST.  Send URL and headers unchanged: bedrock's signature covers them. */
typedef struct ls_protocol_request
{
	ls_str url;
	const ls_header *headers; /* names in lower case; content-type among them */
	size_t header_count;
	ls_str body;
} ls_protocol_request;

/*
 * For the repair call: the model's own reply and ls_evaluation_repair_text.  Empty text: it is the
 * first call.  The reply may be empty (after INVALID); then the same request is sent again,
 * followed by the text.
 */
typedef struct ls_protocol_repair
{
	ls_str reply;
	ls_str text;
} ls_protocol_repair;

typedef enum ls_protocol_outcome
{
	LS_PROTOCOL_OK,
	LS_PROTOCOL_OVERLOADED,   /* status 408, 429 or 500 and more: later it may work */
	LS_PROTOCOL_UNREACHABLE,  /* any other status but 2xx: wrong key, model or endpoint */
	LS_PROTOCOL_INVALID,      /* 2xx without a verdict: a refusal, not JSON, another structure */
	LS_PROTOCOL_OUT_OF_MEMORY /* the arena's limit */
} ls_protocol_outcome;

typedef struct ls_protocol_reply
{
	ls_str text;   /* the verdict as JSON, valid UTF-8; for ls_verdict_parse */
	bool complete; /* false: cut off by a token limit */
	int64_t tokens_in;
	int64_t tokens_out; /* both 0 or more */
	ls_str model;       /* as the provider names it; may be empty */
	ls_str region;      /* where it ran, if the provider says; empty: it does not */
} ls_protocol_reply;

typedef struct ls_protocol
{
	const char *name;

	/*
	 * Writes the request.  `now` is the time of the signature (bedrock), so sign just before
	 * sending.  False when the arena's limit was reached (ls_arena_failed), or when the settings
	 * cannot be used: a required one is empty or has a control character, or the model id
	 * names a place outside the EU.  Pointers into settings and prompt may be kept.
	 */
	bool (*write)(const ls_protocol_settings *settings, const ls_evaluation_prompt *prompt,
				  const ls_protocol_repair *repair, ls_time now, ls_arena *arena,
				  ls_protocol_request *out);

	/*
	 * Reads the reply: its HTTP status and its whole body, which may be any bytes.  *out is
	 * always set; what the reply does not say is empty.  On INVALID it has the tokens, if the
	 * reply has them.  Keeps pointers into `body`.
	 */
	ls_protocol_outcome (*read)(int status, ls_str body, ls_arena *arena, ls_protocol_reply *out);
} ls_protocol;

extern const ls_protocol ls_protocol_anthropic; /* Messages API */
extern const ls_protocol ls_protocol_bedrock;   /* Amazon Bedrock, Converse */
extern const ls_protocol ls_protocol_openai;    /* chat completions: vLLM, Ollama, Azure, ... */

/* The protocol with this name ("anthropic", "bedrock", "openai"); NULL: unknown. */
extern const ls_protocol *ls_protocol_find(const char *name);

#endif /* LS_PROTOCOL_H */
