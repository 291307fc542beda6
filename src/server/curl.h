/*-------------------------------------------------------------------------
 *
 * curl.h
 *	  Calls to other services over the network (HTTP, HTTPS, SMTP, SMTPS):
 *	  an asynchronous client for the loops of workers, and how a backend
 *	  waits for it.
 *
 * A client is one file descriptor and one point in time: wait for both
 * (ls_curl_wait, or a WaitEventSet of one's own), then call ls_curl_step.  All
 * transfers of a client share its connections.
 *
 * What holds for every transfer: certificates are verified (but see own_server); redirects are not
 * followed; proxies and passwords of the environment are ignored; only the
 * protocols that the caller names are spoken; nothing is logged.  What is sent on a kept
 * connection that turns out to be broken is sent once more on a new one: an HTTP request before
 * the first byte of a reply, a mail before the first byte of its text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_CURL_H
#define LS_CURL_H

#include "src/server/server.h"

typedef struct ls_curl ls_curl;
typedef struct ls_transfer ls_transfer;

/* Protocols. */
#define LS_CURL_HTTP 1
#define LS_CURL_HTTPS 2
#define LS_CURL_SMTP 4
#define LS_CURL_SMTPS 8

/* TLS of an smtp:// connection; https:// and smtps:// always are TLS, verified. */
typedef enum ls_curl_starttls
{
	LS_CURL_STARTTLS_REQUIRED, /* verified, or the mail is not sent */
	LS_CURL_STARTTLS_OFFERED,  /* when the server offers it, not verified: no protection against
								* somebody in the middle, so give no password */
	LS_CURL_STARTTLS_NEVER
} ls_curl_starttls;

/* What to send.  ls_curl_start copies all of it. */
typedef struct ls_curl_request
{
	int protocols; /* LS_CURL_HTTPS | ...; a URL of another one is INVALID */
	ls_str url;
	int connect_timeout; /* ms, name lookup and TLS included */
	int timeout;         /* ms, in total */
	size_t reply_limit;  /* bytes of a reply's body */
	bool cut_reply;      /* a longer one is cut off there, instead of LS_CURL_TOO_LARGE */
	bool own_server;     /* HTTPS to our own gateway, whose certificate names other addresses and
						  * may be self-signed: it is not verified, so send nothing that matters */
	ls_str body;         /* HTTP: may be empty; SMTP: the mail with its headers, lines end CRLF */

	/*
	 * May it connect to this address, which the name has now?  Asked before each connection is
	 * made, and none is kept for others.  NULL: yes.  It must neither palloc nor raise errors.
	 * With it a name that is not known has the same outcome as one that may not be called: FORBIDDEN.
	 */
	bool (*may_connect)(void *context, const ls_address *address);

	/* HTTP */
	ls_str method;            /* empty: POST when there is a body, else GET */
	const ls_header *headers; /* Content-Type among them */
	size_t header_count;

	/* SMTP: addresses without angle brackets */
	ls_str mail_from;
	const ls_str *recipients; /* each refused one fails the mail */
	size_t recipient_count;
	ls_str username; /* empty: no login */
	ls_str password;
	ls_curl_starttls starttls;
} ls_curl_request;

typedef enum ls_curl_outcome
{
	LS_CURL_OK, /* HTTP: a reply, whatever its status; SMTP: the server has the mail */
	LS_CURL_TIMEOUT,
	LS_CURL_UNREACHABLE, /* no name, no connection, or it broke */
	LS_CURL_TLS,         /* handshake or certificate */
	LS_CURL_TOO_LARGE,   /* more than reply_limit, or 64 kB of headers */
	LS_CURL_REFUSED,     /* SMTP: the server said no (login, sender, recipient, mail) */
	LS_CURL_FORBIDDEN, /* may_connect said no to each address, or there was none to ask it about */
	LS_CURL_INVALID    /* not a URL, another protocol, a control character, out of memory */
} ls_curl_outcome;

typedef struct ls_curl_reply
{
	ls_curl_outcome outcome;
	int status;       /* of HTTP, or the last code of SMTP; 0: none came */
	ls_str body;      /* views: valid until `done` returns (ls_curl_perform: palloc'd) */
	ls_str headers;   /* as received, without the status line */
	char reason[160]; /* why not OK, in words for a log: no URL, key or body */
} ls_curl_reply;

/* The value of the first such header; empty if there is none. */
extern ls_str ls_curl_reply_header(const ls_curl_reply *reply, const char *name);

/* "timeout", "unreachable", ... */
extern const char *ls_curl_outcome_name(ls_curl_outcome outcome);

/* The client of this process, made on first use; raises out of memory. */
extern ls_curl *ls_curl_client(void);

/*
 * Starts a transfer.  `done` is called once from a later ls_curl_step, never from here, unless
 * the transfer is cancelled first; the transfer is gone after it.  It may raise errors, start and
 * cancel transfers.  Raises out
 * of memory only.
 */
extern ls_transfer *ls_curl_start(ls_curl *client, const ls_curl_request *request,
								  void (*done)(void *context, const ls_curl_reply *reply),
								  void *context);

/* Ends it at once and closes its connection; `done` is not called. */
extern void ls_curl_cancel(ls_transfer *transfer);

/* Readable when there is something to do; ms until there is (-1: never, 0: now). */
extern int ls_curl_fd(const ls_curl *client);
extern long ls_curl_timeout(const ls_curl *client);

/*
 * Does what can be done without waiting, and calls `done` of one transfer that has ended: what
 * else the loop serves has its turn between two.
 */
extern void ls_curl_step(ls_curl *client);

/*
 * Waits for the process's latch, the client or `timeout` ms (-1: no limit); resets the latch.
 * Ends the process with the postmaster.  Neither steps nor checks for interrupts.
 */
extern void ls_curl_wait(ls_curl *client, long timeout);

/*
 * For a backend: sends a request and waits for the end.  An interrupt (cancel, statement_timeout)
 * is raised, and ends the transfer.  The reply is palloc'd.
 */
extern void ls_curl_perform(const ls_curl_request *request, ls_curl_reply *reply);

#endif /* LS_CURL_H */
