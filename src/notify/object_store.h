/*-------------------------------------------------------------------------
 *
 * object_store.h
 *	  Requests to object stores that speak the protocol of S3, and what their answers say (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_OBJECT_STORE_H
#define LS_OBJECT_STORE_H

#include "src/base/pure.h"

/* All parts of a multipart upload but the last have this size; S3 takes at most 10,000 of them. */
#define LS_OBJECT_PART ((int64_t) 8 * 1024 * 1024)
#define LS_OBJECT_PARTS 10000

/* Bytes of an upload id or an entity tag; that of a store is a few hundred at most. */
#define LS_OBJECT_TOKEN 1024

/* An object, and who writes it. */
typedef struct ls_object
{
	ls_str endpoint; /* URL of the store: scheme, host, port */
	ls_str region;
	ls_str bucket;
	ls_str key;
	bool virtual_host; /* the bucket is in the name of the host, not in the path */
	ls_str access_key;
	ls_str secret;
} ls_object;

typedef struct ls_object_call
{
	ls_str method;
	bool of_bucket;      /* not of the object */
	ls_str query;        /* percent-encoded, without the '?' */
	ls_str content_type; /* may be empty */
	ls_str body;
	ls_time now;
} ls_object_call;

#define LS_OBJECT_HEADERS 7

typedef struct ls_object_request
{
	ls_str url;
	bool secure; /* https */
	ls_header headers[LS_OBJECT_HEADERS];
	size_t header_count;
} ls_object_request;

/*
 * Writes a signed request; its texts live in the arena, but those of the call are not copied.
 * NULL, or what is wrong, in words ("the endpoint must ...").
 */
extern const char *ls_object_request_write(const ls_object *object, const ls_object_call *call,
										   ls_arena *arena, ls_object_request *out);

/*
 * The text of the next element with that name from `*from` on, as it is in the document; `*from`
 * moves to its end.  Empty: there is none.  For the short answers of stores, whose elements with
 * text have no attributes.
 */
extern ls_str ls_object_element(ls_str xml, const char *name, size_t *from);

/* Is it an upload id or an entity tag: printable, without what XML writes in another way? */
extern bool ls_object_token_valid(ls_str token);

/*
 * The id of the first unfinished multipart upload of this key, from the list of a bucket; empty:
 * none.
 */
extern ls_str ls_object_unfinished(ls_str xml, ls_str key);

/* Is it an answer that says in its body that the request failed?  S3 does so with status 200 too. */
extern bool ls_object_failed(int status, ls_str body);

/* The code of an error, such as NoSuchBucket: letters and digits; empty: the answer has none. */
extern ls_str ls_object_error_code(ls_str body);

/*
 * Appends what an error answer means, in our words: the store's own are those of a stranger.
 */
extern void ls_object_explain(ls_buf *out, int status, ls_str body);

#endif /* LS_OBJECT_STORE_H */
