/*-------------------------------------------------------------------------
 *
 * sigv4.h
 *	  AWS Signature Version 4 (pure): the header `authorization` of a request.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_SIGV4_H
#define LS_SIGV4_H

#include "src/base/pure.h"

#define LS_SIGV4_MAX_HEADERS 32
#define LS_SIGV4_TIME_LENGTH 16 /* 20150830T123600Z */

typedef struct ls_sigv4_request
{
	ls_str method;
	ls_str path;              /* as on the wire, from the first '/' */
	ls_str query;             /* as on the wire, without the '?' */
	const ls_header *headers; /* all are signed; host and x-amz-date among them */
	size_t header_count;
	ls_str body;
	ls_str body_sha256; /* its hash in hexadecimal, if the caller has it; empty: it is computed */
	bool plain_path;    /* sign the path as it is on the wire, as S3 requires */
	ls_str key;         /* access key id */
	ls_str secret;
	ls_str region;
	ls_str service;
	ls_time now;
} ls_sigv4_request;

typedef struct ls_sigv4_signature
{
	ls_str canonical; /* canonical request and string to sign: for tests */
	ls_str to_sign;
	ls_str authorization;
} ls_sigv4_signature;

/* Writes the value of x-amz-date and a NUL (LS_SIGV4_TIME_LENGTH + 1 bytes). */
extern void ls_sigv4_time(ls_time now, char *out);

/*
 * Signs a request.  Unless plain_path is set, the path is normalized, and encoded once more than on
 * the wire: all services except S3 require that.  False when out of memory, or if there are more
 * than LS_SIGV4_MAX_HEADERS headers or query parameters.
 */
extern bool ls_sigv4_sign(const ls_sigv4_request *request, ls_arena *arena,
						  ls_sigv4_signature *out);

#endif /* LS_SIGV4_H */
