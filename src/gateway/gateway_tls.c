/*-------------------------------------------------------------------------
 *
 * gateway_tls.c
 *	  TLS over the gateway's non-blocking sockets, by OpenSSL.
 *
 * TLS 1.3, and of 1.2 what keeps what was recorded secret: ephemeral keys and
 * authenticated encryption; no CBC, no SHA-1, no static RSA.  No renegotiation
 * and no compression.  Sessions are not resumed: their keys would have to be
 * kept, and shippers keep their connections.
 *
 * The library reads and writes through a BIO of ours, because its own raises
 * SIGPIPE.  Its queue of errors is emptied before each call, as it wants.  One
 * call of it goes on as long as records come that bear no data, so who sends
 * handshake messages without end (key updates, requests to renegotiate) is cut.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "src/gateway/gateway_internal.h"

static const char ciphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL";

static const char signatures[] = "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:ed448:"
								 "rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:"
								 "rsa_pss_pss_sha256:rsa_pss_pss_sha384:rsa_pss_pss_sha512:"
								 "RSA+SHA256:RSA+SHA384:RSA+SHA512";

struct ls_tls_server
{
	SSL_CTX *context;
	BIO_METHOD *method;
};

struct ls_tls
{
	SSL *ssl;
	int fd;
	bool broken;            /* the library must not be called any more */
	int handshake_messages; /* that came, also after the handshake */
};

/* Handshake messages of a client: nobody needs more, as a key lasts for millions of records. */
#define MAX_HANDSHAKE_MESSAGES 64

/* ---- the BIO ---- */

static int
socket_of(BIO *bio)
{
	return ((ls_tls *) BIO_get_data(bio))->fd;
}

static int
bio_read(BIO *bio, char *to, int size)
{
	const ls_tls *tls = BIO_get_data(bio);
	ssize_t n;

	BIO_clear_retry_flags(bio);
	if (tls->handshake_messages > MAX_HANDSHAKE_MESSAGES)
		return -1;
	n = recv(tls->fd, to, (size_t) size, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(bio);
	return (int) n;
}

static int
bio_write(BIO *bio, const char *from, int size)
{
	ssize_t n = send(socket_of(bio), from, (size_t) size, MSG_DONTWAIT | MSG_NOSIGNAL);

	BIO_clear_retry_flags(bio);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_write(bio);
	return (int) n;
}

static long
bio_control(BIO *bio, int command, long number, void *pointer)
{
	(void) bio;
	(void) number;
	(void) pointer;
	return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static void
count_handshake_messages(int written, int version, int content_type, const void *data, size_t size,
						 SSL *ssl, void *context)
{
	ls_tls *tls = context;

	(void) version;
	(void) data;
	(void) size;
	(void) ssl;
	/* While such a message is processed, the handshake counts as unfinished: all are counted. */
	if (!written && content_type == SSL3_RT_HANDSHAKE)
		tls->handshake_messages++;
}

/* ---- the server ---- */

/* Nobody is there to be asked for a passphrase. */
static int
no_passphrase(char *buffer, int size, int for_writing, void *context)
{
	(void) buffer;
	(void) size;
	(void) for_writing;
	(void) context;
	return -1;
}

/* Who offers protocols and not this one would not understand us (ALPN). */
static int
choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
				const unsigned char *in, unsigned int in_len, void *context)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *chosen;

	(void) ssl;
	(void) context;
	if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
		OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static bool
set_up(SSL_CTX *context)
{
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
									 SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
								  SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_default_passwd_cb(context, no_passphrase);
	SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
	return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
		   SSL_CTX_set_num_tickets(context, 0) == 1 &&
		   SSL_CTX_set_cipher_list(context, ciphers) == 1 &&
		   SSL_CTX_set1_sigalgs_list(context, signatures) == 1;
}

static const char mismatch[] = "the key of logsvc.tls_key does not belong to the first certificate "
							   "in the file of logsvc.tls_certificate";

/*
 * Reads both files.  NULL, or what is wrong with which of them.  The key comes first:
 * then the library compares the two in the last step only.
 */
static const char *
load_files(SSL_CTX *context, const char *certificate, const char *key)
{
	if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
		return "the file of logsvc.tls_key has no private key in PEM format without a passphrase";
	if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
		return "the file of logsvc.tls_certificate has no usable certificate in PEM format";
	return SSL_CTX_check_private_key(context) == 1 ? NULL : mismatch;
}

ls_tls_server *
ls_tls_server_create(const char *certificate, const char *key, char *error, size_t error_size)
{
	ls_tls_server *server = calloc(1, sizeof(*server));
	const char *problem = "could not start TLS";
	const char *reason;
	unsigned long code;

	ERR_clear_error();
	if (server != NULL)
	{
		server->context = SSL_CTX_new(TLS_server_method());
		server->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "logsvc socket");
	}
	if (server != NULL && server->context != NULL && server->method != NULL &&
		BIO_meth_set_read(server->method, bio_read) == 1 &&
		BIO_meth_set_write(server->method, bio_write) == 1 &&
		BIO_meth_set_ctrl(server->method, bio_control) == 1 && set_up(server->context))
	{
		problem = load_files(server->context, certificate, key);
		if (problem == NULL)
			return server;
	}
	code = ERR_peek_error();
	reason = code != 0 ? ERR_reason_error_string(code) : "out of memory";
	/* Of a key that does not fit the library says that there is none. */
	if (problem == mismatch)
		snprintf(error, error_size, "%s", problem);
	else
		snprintf(error, error_size, "%s: %s", problem, reason != NULL ? reason : "unknown error");
	ERR_clear_error();
	ls_tls_server_destroy(server);
	return NULL;
}

int64_t
ls_gateway_certificate_end(const char *certificate)
{
	BIO *file = BIO_new_file(certificate, "r");
	X509 *first = file != NULL ? PEM_read_bio_X509(file, NULL, no_passphrase, NULL) : NULL;
	ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
	int64_t end = -1;
	int days;
	int seconds;

	if (first != NULL && epoch != NULL &&
		ASN1_TIME_diff(&days, &seconds, epoch, X509_get0_notAfter(first)) == 1)
		end = (int64_t) days * 86400 + seconds;
	ASN1_TIME_free(epoch);
	X509_free(first);
	BIO_free(file);
	ERR_clear_error();
	return end;
}

void
ls_tls_server_destroy(ls_tls_server *server)
{
	if (server == NULL)
		return;
	SSL_CTX_free(server->context);
	BIO_meth_free(server->method);
	free(server);
}

/* ---- connections ---- */

ls_tls *
ls_tls_open(ls_tls_server *server, int fd)
{
	ls_tls *tls = calloc(1, sizeof(*tls));
	BIO *bio;

	if (tls == NULL)
		return NULL;
	tls->fd = fd;
	tls->ssl = SSL_new(server->context);
	bio = tls->ssl != NULL ? BIO_new(server->method) : NULL;
	if (bio == NULL)
	{
		ls_tls_close(tls);
		return NULL;
	}
	BIO_set_data(bio, tls);
	BIO_set_init(bio, 1);
	SSL_set_bio(tls->ssl, bio, bio);
	SSL_set_msg_callback(tls->ssl, count_handshake_messages);
	SSL_set_msg_callback_arg(tls->ssl, tls);
	SSL_set_accept_state(tls->ssl);
	return tls;
}

void
ls_tls_close(ls_tls *tls)
{
	if (tls == NULL)
		return;
	SSL_free(tls->ssl);
	free(tls);
}

/* What the library's last call came to; it did not succeed. */
static ls_io
failure(ls_tls *tls, int result)
{
	int error = SSL_get_error(tls->ssl, result);

	/* A write cannot be wanted in a read: nothing is renegotiated. */
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return IO_AGAIN;
	if (error != SSL_ERROR_ZERO_RETURN)
		tls->broken = true;
	return IO_END;
}

/*
 * Somebody writes http:// for a port of HTTPS: without an answer they would look for the mistake
 * elsewhere.  What cannot be sent at once is not sent.
 */
static void
answer_http(ls_tls *tls)
{
	static const char answer[] =
		"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\n"
		"Connection: close\r\nContent-Length: 83\r\n\r\n"
		"{\"error\":\"this port speaks HTTPS: write https:// for "
		"it\",\"code\":\"VALIDATION_ERROR\"}";
	char rest[16 * 1024];

	/* A close with unread bytes would take the answer back. */
	(void) recv(tls->fd, rest, sizeof(rest), MSG_DONTWAIT);
	(void) send(tls->fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ls_io
ls_tls_handshake(ls_tls *tls)
{
	int result;

	ERR_clear_error();
	result = SSL_do_handshake(tls->ssl);
	if (result == 1)
		return IO_OK;
	if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST)
		answer_http(tls);
	return failure(tls, result);
}

ls_io
ls_tls_read(ls_tls *tls, char *to, size_t size, size_t *got)
{
	int result;

	if (tls->broken)
		return IO_END;
	ERR_clear_error();
	result = SSL_read_ex(tls->ssl, to, size, got);
	return result == 1 ? IO_OK : failure(tls, result);
}

ls_io
ls_tls_write(ls_tls *tls, const char *from, size_t size, size_t *taken)
{
	int result;

	if (tls->broken)
		return IO_END;
	ERR_clear_error();
	result = SSL_write_ex(tls->ssl, from, size, taken);
	return result == 1 ? IO_OK : failure(tls, result);
}

void
ls_tls_say_goodbye(ls_tls *tls)
{
	if (tls->broken || !SSL_is_init_finished(tls->ssl))
		return;
	ERR_clear_error();
	(void) SSL_shutdown(tls->ssl);
	ERR_clear_error();
	tls->broken = true;
}
