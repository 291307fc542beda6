/*-------------------------------------------------------------------------
 *
 * webhook.h
 *	  Webhooks: which URLs and addresses may be called, the signature, what is
 *	  kept of an answer (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_WEBHOOK_H
#define LS_WEBHOOK_H

#include "src/base/pure.h"

#define LS_WEBHOOK_URL_LENGTH 2000

typedef struct ls_webhook_url
{
	bool secure;        /* https */
	ls_str host;        /* as written, without the brackets of an IPv6 address */
	uint32_t port;      /* as written, or that of the scheme */
	bool is_address;    /* the host is an address */
	ls_address address; /* then: which */
} ls_webhook_url;

/*
 * Reads an absolute URL of http or https.  NULL, or what is wrong with it ("must ..."): another
 * scheme, a user name, a fragment, a character that is no printable ASCII, a host that is neither
 * a name nor an address in its usual form, a port that is none, more than LS_WEBHOOK_URL_LENGTH
 * bytes.
 */
extern const char *ls_webhook_url_read(ls_str url, ls_webhook_url *out);

/*
 * The same for a target that somebody wants to have called: also what connecting to it would
 * refuse for certain.  `networks`: what logsvc.webhook_networks opens.
 */
extern const char *ls_webhook_url_check(ls_str url, ls_str networks);

/*
 * May a webhook connect to this address?  To those of `networks`, and to public ones if `secure`.
 */
extern bool ls_webhook_may_connect(const ls_address *address, bool secure, ls_str networks);

/*
 * Why nothing was sent to such a URL (LS_CURL_FORBIDDEN).  The same for a name that is not known and for one
 * of a network that is not open, so that nobody can look around in the operator's network by it.
 */
extern const char *ls_webhook_refusal(const ls_webhook_url *url);

/*
 * The value of X-Logsvc-Signature: "t=<seconds>,v1=<hex of HMAC-SHA256 over "t.body">".  False
 * when OpenSSL or the buffer is out of memory.
 */
extern bool ls_webhook_sign(ls_buf *out, ls_str secret, int64_t seconds, ls_str body);

/* The first kilobyte of an answer as text that a database of UTF-8 takes: no NUL, nothing invalid. */
#define LS_WEBHOOK_EXCERPT 1024
extern void ls_webhook_excerpt(ls_buf *out, ls_str answer);

#endif /* LS_WEBHOOK_H */
