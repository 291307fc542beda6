/*-------------------------------------------------------------------------
 *
 * curl.c
 *	  Calls to other services: the only user of libcurl.
 *
 * libcurl's multi interface tells which sockets it waits for; they are kept in
 * an epoll set, whose descriptor stands for all of them.
 *
 * Two things are kept apart from libcurl.  Signals: it resolves names in
 * threads, which must never run a handler of the server, so all signals are
 * blocked around every call (a thread inherits that).  Errors: its callbacks
 * use malloc alone, and `done` is called when none of its frames is on the
 * stack.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/curl.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/pmsignal.h"

#define HEADER_LIMIT ((size_t) 64 * 1024)
#define EVENTS_PER_STEP 64
#define KEPT_CONNECTIONS 16L

struct ls_curl
{
	CURLM *multi;
	int epoll;
	int64 deadline; /* ms of the monotonic clock; -1: none */
	dlist_head running;
	dlist_head ended;       /* `done` is still to be called */
	ls_transfer *reporting; /* its `done` runs */
	WaitEventSet *wait;
};

/* Bytes that libcurl's callbacks gather. */
typedef struct bytes
{
	char *data;
	size_t len;
	size_t capacity;
} bytes;

struct ls_transfer
{
	dlist_node node;
	ls_curl *client;
	CURL *easy;
	struct curl_slist *headers;
	struct curl_slist *recipients;
	bytes upload; /* a mail */
	size_t uploaded;
	bytes body;
	bytes header;
	size_t reply_limit;
	bool mail;
	bool again; /* on a new connection */
	bool too_large;
	bool cut_reply;
	bool cut;       /* what came of the body is its beginning */
	bool forbidden; /* may_connect has said no */
	bool opened;    /* a socket, to an address that it allowed */
	bool running;
	bool (*may_connect)(void *context, const ls_address *address);
	char error[CURL_ERROR_SIZE];
	ls_curl_reply reply;
	void (*done)(void *context, const ls_curl_reply *reply);
	void *context;
};

static int64
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
block_signals(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

static void
restore_signals(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* ---- libcurl's callbacks: no palloc, no ereport ---- */

static bool
gather(bytes *b, const char *data, size_t len, size_t limit)
{
	if (len > limit || b->len > limit - len)
		return false;
	if (b->len + len > b->capacity)
	{
		size_t capacity = Max(b->capacity * 2, b->len + len + 4096);
		char *grown = realloc(b->data, capacity);

		if (grown == NULL)
			return false;
		b->data = grown;
		b->capacity = capacity;
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return true;
}

static size_t
on_body(char *data, size_t size, size_t n, void *context)
{
	ls_transfer *t = context;

	if (t->mail || gather(&t->body, data, size * n, t->reply_limit))
		return size * n;
	if (t->cut_reply)
		t->cut = gather(&t->body, data, t->reply_limit - t->body.len, t->reply_limit);
	t->too_large = !t->cut;
	return 0;
}

static size_t
on_header(char *data, size_t size, size_t n, void *context)
{
	ls_transfer *t = context;

	if (t->mail)
		return size * n;
	/* A status line: what came before was an interim reply. */
	if (size * n >= 5 && memcmp(data, "HTTP/", 5) == 0)
	{
		t->header.len = 0;
		return size * n;
	}
	if (gather(&t->header, data, size * n, HEADER_LIMIT))
		return size * n;
	t->too_large = true;
	return 0;
}

static size_t
on_read(char *out, size_t size, size_t n, void *context)
{
	ls_transfer *t = context;
	size_t len = Min(size * n, t->upload.len - t->uploaded);

	memcpy(out, t->upload.data + t->uploaded, len);
	t->uploaded += len;
	return len;
}

/*
 * While a server considers a mail libcurl waits for it here, and nothing else of the process goes
 * on; it calls this each second.  Nonzero ends the transfer: somebody wants the process to end.
 */
static int
on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	sigset_t pending;

	if (sigpending(&pending) != 0)
		return 0;
	/* Not PostmasterIsAlive(), which waits for a signal that is blocked here. */
	return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGQUIT) == 1 ||
		   !PostmasterIsAliveInternal();
}

static int
on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context)
{
	ls_curl *client = context;
	struct epoll_event event = {.data.fd = socket};

	if (what == CURL_POLL_REMOVE)
	{
		epoll_ctl(client->epoll, EPOLL_CTL_DEL, socket, &event);
		return 0;
	}
	if (what & CURL_POLL_IN)
		event.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		event.events |= EPOLLOUT;
	/* A descriptor that was closed has left the set by itself. */
	if (epoll_ctl(client->epoll, EPOLL_CTL_MOD, socket, &event) == 0)
		return 0;
	return errno == ENOENT && epoll_ctl(client->epoll, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : -1;
}

/* The address is that of the connection: no name is resolved after this. */
static curl_socket_t
on_open(void *context, curlsocktype purpose, struct curl_sockaddr *to)
{
	static const uint8 mapped[12] = {[10] = 0xff, [11] = 0xff};
	ls_transfer *t = context;
	ls_address address;

	if (to->family == AF_INET)
	{
		memcpy(address.bytes, mapped, sizeof(mapped));
		memcpy(address.bytes + 12, &((struct sockaddr_in *) &to->addr)->sin_addr, 4);
	}
	else if (to->family == AF_INET6)
		memcpy(address.bytes, &((struct sockaddr_in6 *) &to->addr)->sin6_addr, 16);
	if ((to->family != AF_INET && to->family != AF_INET6) || !t->may_connect(t->context, &address))
	{
		t->forbidden = true;
		return CURL_SOCKET_BAD;
	}
	t->opened = true;
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static int
on_timer(CURLM *multi, long timeout, void *context)
{
	ls_curl *client = context;

	client->deadline = timeout < 0 ? -1 : now_ms() + timeout;
	return 0;
}

/* ---- the client ---- */

static bool
open_client(ls_curl *client)
{
	CURLM *multi;

	client->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (client->epoll < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return false;
	multi = client->multi = curl_multi_init();
	return multi != NULL &&
		   curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
		   curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client) == CURLM_OK &&
		   curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
		   curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client) == CURLM_OK &&
		   curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS) == CURLM_OK;
}

ls_curl *
ls_curl_client(void)
{
	static ls_curl *client = NULL;
	sigset_t signals;
	ls_curl *c;
	bool ok;

	if (client != NULL)
		return client;
	c = MemoryContextAllocZero(TopMemoryContext, sizeof(ls_curl));
	c->deadline = -1;
	dlist_init(&c->running);
	dlist_init(&c->ended);
	block_signals(&signals);
	ok = open_client(c);
	restore_signals(&signals);
	if (!ok)
	{
		if (c->epoll >= 0)
			close(c->epoll);
		pfree(c);
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("could not start libcurl"));
	}
	ReserveExternalFD();
	return client = c;
}

int
ls_curl_fd(const ls_curl *client)
{
	return client->epoll;
}

long
ls_curl_timeout(const ls_curl *client)
{
	if (!dlist_is_empty(unconstify(dlist_head *, &client->ended)))
		return 0;
	if (client->deadline < 0)
		return -1;
	return (long) Max(client->deadline - now_ms(), 0);
}

/* ---- a transfer ---- */

static void
free_transfer(ls_transfer *t)
{
	sigset_t signals;

	dlist_delete(&t->node);
	block_signals(&signals);
	if (t->running)
		curl_multi_remove_handle(t->client->multi, t->easy);
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->recipients);
	restore_signals(&signals);
	free(t->upload.data);
	free(t->body.data);
	free(t->header.data);
	pfree(t);
	ReleaseExternalFD();
}

/*
 * A malloc'd C string; NULL when out of memory or when it holds what could end a header or a
 * command of the protocol.
 */
static char *
c_string(ls_str s, const char *forbidden)
{
	char *copy;

	for (size_t i = 0; i < s.len; i++)
	{
		if ((unsigned char) s.data[i] < ' ' || s.data[i] == 0x7f ||
			strchr(forbidden, s.data[i]) != NULL)
			return NULL;
	}
	copy = malloc(s.len + 1);
	if (copy != NULL)
	{
		if (s.len > 0)
			memcpy(copy, s.data, s.len);
		copy[s.len] = '\0';
	}
	return copy;
}

static bool
set_string(CURL *easy, CURLoption option, ls_str value, const char *forbidden)
{
	char *copy = c_string(value, forbidden);
	bool ok = copy != NULL && curl_easy_setopt(easy, option, copy) == CURLE_OK;

	free(copy);
	return ok;
}

static bool
add_line(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (longer != NULL)
		*list = longer;
	return longer != NULL;
}

static bool
add_header(ls_transfer *t, const ls_header *header)
{
	char *name = c_string(header->name, ": ;");
	char *value = c_string(header->value, "");
	char *line = NULL;
	bool ok = false;

	if (name != NULL && value != NULL && header->name.len > 0)
		line = malloc(header->name.len + header->value.len + 3);
	if (line != NULL)
	{
		/* To libcurl "name:" means not to send it, and "name;" sends it empty. */
		snprintf(line, header->name.len + header->value.len + 3, "%s%s%s", name,
				 header->value.len > 0 ? ": " : ";", value);
		ok = add_line(&t->headers, line);
	}
	free(line);
	free(name);
	free(value);
	return ok;
}

#define SET(option, value) (curl_easy_setopt(t->easy, (option), (value)) == CURLE_OK)

static bool
set_http(ls_transfer *t, const ls_curl_request *request)
{
	/* No answer to "Expect" is waited for, and nothing that the caller did not give is sent. */
	bool ok = add_line(&t->headers, "Expect:") && add_line(&t->headers, "User-Agent: logsvc");

	for (size_t i = 0; ok && i < request->header_count; i++)
		ok = add_header(t, &request->headers[i]);
	ok = ok && SET(CURLOPT_HTTPHEADER, t->headers);
	ok = ok && SET(CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
	ok = ok && SET(CURLOPT_FOLLOWLOCATION, 0L);
	ok = ok && SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	if (request->body.len > 0)
	{
		ok = ok && SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) request->body.len);
		ok = ok && SET(CURLOPT_COPYPOSTFIELDS, request->body.data);
	}
	else
		ok = ok && SET(CURLOPT_HTTPGET, 1L);
	if (request->method.len > 0)
		ok = ok && set_string(t->easy, CURLOPT_CUSTOMREQUEST, request->method, " ");
	return ok;
}

static bool
set_mail(ls_transfer *t, const ls_curl_request *request)
{
	static const long starttls[] = {
		[LS_CURL_STARTTLS_REQUIRED] = CURLUSESSL_ALL,
		[LS_CURL_STARTTLS_OFFERED] = CURLUSESSL_TRY,
		[LS_CURL_STARTTLS_NEVER] = CURLUSESSL_NONE,
	};
	bool ok = request->recipient_count > 0 &&
			  gather(&t->upload, request->body.data, request->body.len, SIZE_MAX);

	t->mail = true;
	for (size_t i = 0; ok && i < request->recipient_count; i++)
	{
		char *address = c_string(request->recipients[i], "<> ");

		ok = address != NULL && add_line(&t->recipients, address);
		free(address);
	}
	ok = ok && SET(CURLOPT_MAIL_RCPT, t->recipients);
	ok = ok && set_string(t->easy, CURLOPT_MAIL_FROM, request->mail_from, "<> ");
	ok = ok && SET(CURLOPT_UPLOAD, 1L) && SET(CURLOPT_READFUNCTION, on_read);
	ok = ok && SET(CURLOPT_READDATA, t);
	ok = ok && SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t) request->body.len);
	ok = ok && SET(CURLOPT_NOPROGRESS, 0L) && SET(CURLOPT_XFERINFOFUNCTION, on_progress);
	ok = ok && SET(CURLOPT_USE_SSL, starttls[request->starttls]);
	if (request->starttls == LS_CURL_STARTTLS_OFFERED)
		ok = ok && SET(CURLOPT_SSL_VERIFYPEER, 0L) && SET(CURLOPT_SSL_VERIFYHOST, 0L);
	if (request->username.len > 0)
	{
		ok = ok && set_string(t->easy, CURLOPT_USERNAME, request->username, "");
		ok = ok && set_string(t->easy, CURLOPT_PASSWORD, request->password, "");
	}
	return ok;
}

static bool
set_protocols(ls_transfer *t, int protocols)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	static const char *const names[] = {"http", "https", "smtp", "smtps"};
	char list[32] = "";

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (!(protocols & 1 << i))
			continue;
		if (list[0] != '\0')
			strlcat(list, ",", sizeof(list));
		strlcat(list, names[i], sizeof(list));
	}
	return SET(CURLOPT_PROTOCOLS_STR, list);
#else
	static const long bits[] = {CURLPROTO_HTTP, CURLPROTO_HTTPS, CURLPROTO_SMTP, CURLPROTO_SMTPS};
	long list = 0;

	for (int i = 0; i < (int) lengthof(bits); i++)
		list |= protocols & 1 << i ? bits[i] : 0;
	return SET(CURLOPT_PROTOCOLS, list);
#endif
}

static bool
set_transfer(ls_transfer *t, const ls_curl_request *request)
{
	bool mail = request->url.len >= 4 &&
				ls_str_eq_nocase(ls_str_make(request->url.data, 4), LS_STR("smtp"));
	bool ok = t->easy != NULL && set_string(t->easy, CURLOPT_URL, request->url, " ");

	ok = ok && set_protocols(t, request->protocols);
	ok = ok && SET(CURLOPT_NOSIGNAL, 1L) && SET(CURLOPT_PROXY, "") && SET(CURLOPT_PATH_AS_IS, 1L);
	ok = ok && SET(CURLOPT_NETRC, (long) CURL_NETRC_IGNORED);
	ok = ok && SET(CURLOPT_CONNECTTIMEOUT_MS, (long) request->connect_timeout);
	ok = ok && SET(CURLOPT_TIMEOUT_MS, (long) request->timeout);
	ok = ok && SET(CURLOPT_SSL_VERIFYPEER, 1L) && SET(CURLOPT_SSL_VERIFYHOST, 2L);
	ok = ok && SET(CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Else the end of a transfer waits for the thread that still looks up its name. */
	ok = ok && SET(CURLOPT_QUICK_EXIT, 1L);
#endif
	if (request->own_server)
		ok = ok && SET(CURLOPT_SSL_VERIFYPEER, 0L) && SET(CURLOPT_SSL_VERIFYHOST, 0L);
	if (ls_is_set(ls_ca_file))
		ok = ok && SET(CURLOPT_CAINFO, ls_ca_file) && SET(CURLOPT_CAPATH, NULL);
	ok = ok && SET(CURLOPT_WRITEFUNCTION, on_body) && SET(CURLOPT_WRITEDATA, t);
	ok = ok && SET(CURLOPT_HEADERFUNCTION, on_header) && SET(CURLOPT_HEADERDATA, t);
	if (t->may_connect != NULL)
	{
		ok = ok && SET(CURLOPT_OPENSOCKETFUNCTION, on_open) && SET(CURLOPT_OPENSOCKETDATA, t);
		ok = ok && SET(CURLOPT_FRESH_CONNECT, 1L) && SET(CURLOPT_FORBID_REUSE, 1L);
	}
	ok = ok && SET(CURLOPT_ERRORBUFFER, t->error) && SET(CURLOPT_PRIVATE, t);
	return ok && (mail ? set_mail(t, request) : set_http(t, request));
}

ls_transfer *
ls_curl_start(ls_curl *client, const ls_curl_request *request,
			  void (*done)(void *context, const ls_curl_reply *reply), void *context)
{
	ls_transfer *t = MemoryContextAllocZero(TopMemoryContext, sizeof(ls_transfer));
	sigset_t signals;

	ReserveExternalFD();
	t->client = client;
	t->reply_limit = request->reply_limit;
	t->cut_reply = request->cut_reply;
	t->may_connect = request->may_connect;
	t->done = done;
	t->context = context;
	block_signals(&signals);
	t->easy = curl_easy_init();
	t->running =
		set_transfer(t, request) && curl_multi_add_handle(client->multi, t->easy) == CURLM_OK;
	restore_signals(&signals);
	if (!t->running)
	{
		t->reply.outcome = LS_CURL_INVALID;
		strlcpy(t->reply.reason, "the request cannot be sent", sizeof(t->reply.reason));
	}
	dlist_push_tail(t->running ? &client->running : &client->ended, &t->node);
	return t;
}

void
ls_curl_cancel(ls_transfer *transfer)
{
	if (transfer != transfer->client->reporting)
		free_transfer(transfer);
}

/* ---- what became of it ---- */

const char *
ls_curl_outcome_name(ls_curl_outcome outcome)
{
	static const char *const names[] = {
		[LS_CURL_OK] = "ok",
		[LS_CURL_TIMEOUT] = "timeout",
		[LS_CURL_UNREACHABLE] = "unreachable",
		[LS_CURL_TLS] = "tls",
		[LS_CURL_TOO_LARGE] = "too large",
		[LS_CURL_REFUSED] = "refused",
		[LS_CURL_FORBIDDEN] = "forbidden",
		[LS_CURL_INVALID] = "invalid",
	};

	return names[outcome];
}

static ls_curl_outcome
outcome_of(const ls_transfer *t, CURLcode code, long status)
{
	if (t->too_large)
		return LS_CURL_TOO_LARGE;
	if (t->cut)
		return LS_CURL_OK;
	/* Whoever chose the name is not to learn whether it is one of our network: as if it were none. */
	if (t->may_connect != NULL && !t->opened &&
		(t->forbidden || code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_OPERATION_TIMEDOUT))
		return LS_CURL_FORBIDDEN;
	switch (code)
	{
		case CURLE_OK:
			return LS_CURL_OK;
		case CURLE_OPERATION_TIMEDOUT:
			return LS_CURL_TIMEOUT;
		case CURLE_SSL_CONNECT_ERROR:
		case CURLE_SSL_CERTPROBLEM:
		case CURLE_SSL_CIPHER:
		case CURLE_PEER_FAILED_VERIFICATION:
		case CURLE_USE_SSL_FAILED:
		case CURLE_SSL_CACERT_BADFILE:
		case CURLE_SSL_CRL_BADFILE:
		case CURLE_SSL_ISSUER_ERROR:
		case CURLE_SSL_INVALIDCERTSTATUS:
		case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
		case CURLE_SSL_ENGINE_INITFAILED:
			return LS_CURL_TLS;
		case CURLE_UNSUPPORTED_PROTOCOL:
		case CURLE_URL_MALFORMAT:
		case CURLE_BAD_FUNCTION_ARGUMENT:
		case CURLE_LOGIN_DENIED:
		case CURLE_OUT_OF_MEMORY:
			return code == CURLE_LOGIN_DENIED && t->mail ? LS_CURL_REFUSED : LS_CURL_INVALID;
		default:
			return t->mail && status >= 400 ? LS_CURL_REFUSED : LS_CURL_UNREACHABLE;
	}
}

static void
conclude(ls_transfer *t, CURLcode code)
{
	ls_curl_reply *reply = &t->reply;
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	reply->outcome = outcome_of(t, code, status);
	reply->status = (int) status;
	reply->headers = ls_str_make(t->header.data, t->header.len);
	if (reply->outcome == LS_CURL_OK)
		reply->body = ls_str_make(t->body.data, t->body.len);
	else
	{
		strlcpy(reply->reason,
				t->too_large                          ? "the reply is too large"
				: reply->outcome == LS_CURL_FORBIDDEN ? "no address that may be called"
				: t->error[0] != '\0'                 ? t->error
													  : curl_easy_strerror(code),
				sizeof(reply->reason));
		for (char *c = reply->reason; *c != '\0'; c++)
		{
			if (*c < ' ' || *c > '~')
				*c = '?';
		}
	}
	curl_multi_remove_handle(t->client->multi, t->easy);
	t->running = false;
	dlist_delete(&t->node);
	dlist_push_tail(&t->client->ended, &t->node);
}

/*
 * libcurl itself does this for HTTP.  A mail of which nothing has been read cannot arrive twice.
 */
static bool
try_again(ls_transfer *t, CURLcode code)
{
	long connects = 1;

	if ((code != CURLE_SEND_ERROR && code != CURLE_RECV_ERROR) || !t->mail || t->again ||
		t->uploaded > 0 ||
		curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &connects) != CURLE_OK || connects > 0)
		return false;
	t->again = true;
	t->error[0] = '\0';
	curl_multi_remove_handle(t->client->multi, t->easy);
	return SET(CURLOPT_FRESH_CONNECT, 1L) &&
		   curl_multi_add_handle(t->client->multi, t->easy) == CURLM_OK;
}

static void
drive(ls_curl *client)
{
	struct epoll_event events[EVENTS_PER_STEP];
	int n = epoll_wait(client->epoll, events, EVENTS_PER_STEP, 0);
	int ignored;
	CURLMsg *message;

	for (int i = 0; i < n; i++)
	{
		int what = 0;

		if (events[i].events & EPOLLIN)
			what |= CURL_CSELECT_IN;
		if (events[i].events & EPOLLOUT)
			what |= CURL_CSELECT_OUT;
		if (events[i].events & (EPOLLERR | EPOLLHUP))
			what |= CURL_CSELECT_ERR;
		curl_multi_socket_action(client->multi, events[i].data.fd, what, &ignored);
	}
	if (client->deadline >= 0 && client->deadline <= now_ms())
	{
		client->deadline = -1;
		curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &ignored);
	}
	while ((message = curl_multi_info_read(client->multi, &ignored)) != NULL)
	{
		CURLcode code = message->data.result;
		char *private = NULL;
		ls_transfer *t;

		if (message->msg != CURLMSG_DONE ||
			curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private) != CURLE_OK)
			continue;
		t = (ls_transfer *) private;
		if (!try_again(t, code))
			conclude(t, code);
	}
}

/* Calls `done`, and ends the transfer whatever that does. */
static void
report(ls_curl *client, ls_transfer *t)
{
	ls_transfer *outer = client->reporting;

	/* Out of the list, so that what `done` does cannot report it again. */
	dlist_delete(&t->node);
	dlist_push_tail(&client->running, &t->node);
	client->reporting = t;
	PG_TRY();
	{
		t->done(t->context, &t->reply);
	}
	PG_CATCH();
	{
		client->reporting = outer;
		free_transfer(t);
		PG_RE_THROW();
	}
	PG_END_TRY();
	client->reporting = outer;
	free_transfer(t);
}

void
ls_curl_step(ls_curl *client)
{
	sigset_t signals;

	block_signals(&signals);
	drive(client);
	restore_signals(&signals);
	if (!dlist_is_empty(&client->ended))
		report(client, dlist_container(ls_transfer, node, dlist_head_node(&client->ended)));
}

/* ---- waiting ---- */

void
ls_curl_wait(ls_curl *client, long timeout)
{
	static uint32 wait_event = 0;
	long own = ls_curl_timeout(client);
	WaitEvent event;

	if (wait_event == 0)
		wait_event = ls_wait_event("LogsvcNetwork");
	if (client->wait == NULL)
	{
		WaitEventSet *set = ls_create_wait_event_set(3);

		AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
		AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
		AddWaitEventToSet(set, WL_SOCKET_READABLE, client->epoll, NULL, NULL);
		client->wait = set;
	}
	if (own >= 0 && (timeout < 0 || own < timeout))
		timeout = own;
	if (WaitEventSetWait(client->wait, timeout, &event, 1, wait_event) == 1 &&
		event.events & WL_LATCH_SET)
		ResetLatch(MyLatch);
}

typedef struct performed
{
	bool done;
	ls_curl_reply *reply;
	MemoryContext memory;
} performed;

static ls_str
copy(MemoryContext memory, ls_str s)
{
	char *data = MemoryContextAllocHuge(memory, s.len + 1);

	if (s.len > 0)
		memcpy(data, s.data, s.len);
	data[s.len] = '\0';
	return ls_str_make(data, s.len);
}

static void
keep_reply(void *context, const ls_curl_reply *reply)
{
	performed *p = context;

	/* The transfer is gone after this, also when the copies fail. */
	p->done = true;
	*p->reply = *reply;
	p->reply->body = copy(p->memory, reply->body);
	p->reply->headers = copy(p->memory, reply->headers);
}

void
ls_curl_perform(const ls_curl_request *request, ls_curl_reply *reply)
{
	ls_curl *client = ls_curl_client();
	performed *p = palloc0(sizeof(performed));
	ls_transfer *transfer;

	p->reply = reply;
	p->memory = CurrentMemoryContext;
	transfer = ls_curl_start(client, request, keep_reply, p);
	PG_TRY();
	{
		while (!p->done)
		{
			ls_curl_wait(client, -1);
			CHECK_FOR_INTERRUPTS();
			ls_curl_step(client);
		}
	}
	PG_CATCH();
	{
		if (!p->done)
			ls_curl_cancel(transfer);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* ---- headers of a reply ---- */

static ls_str
trim(const char *from, const char *to)
{
	while (from < to && (*from == ' ' || *from == '\t'))
		from++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r' || to[-1] == '\n'))
		to--;
	return ls_str_make(from, (size_t) (to - from));
}

ls_str
ls_curl_reply_header(const ls_curl_reply *reply, const char *name)
{
	const char *line = reply->headers.data;
	const char *end = line == NULL ? NULL : line + reply->headers.len;

	while (line < end)
	{
		const char *next = memchr(line, '\n', (size_t) (end - line));
		const char *colon;

		next = next == NULL ? end : next + 1;
		colon = memchr(line, ':', (size_t) (next - line));
		if (colon != NULL && ls_str_eq_nocase(trim(line, colon), ls_str_of_cstring(name)))
			return trim(colon + 1, next);
		line = next;
	}
	return LS_STR("");
}
