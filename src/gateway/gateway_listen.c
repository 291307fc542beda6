/*-------------------------------------------------------------------------
 *
 * gateway_listen.c
 *	  Listening sockets: binding, watching and closing them.
 *
 *-------------------------------------------------------------------------
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/gateway/gateway_internal.h"

#define BACKLOG 1024

/* Bytes of an answer that the kernel takes beyond what is on its way; the rest is counted. */
#define SOCKET_UNSENT (128 * 1024)

static void
describe(const struct sockaddr *address, char *text, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->sa_family == AF_INET)
	{
		const struct sockaddr_in *in = (const struct sockaddr_in *) address;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(text, size, "%s:%d", host, ntohs(in->sin_port));
	}
	else
	{
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *) address;

		inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
		snprintf(text, size, "[%s]:%d", host, ntohs(in->sin6_port));
	}
}

/* What the kernel keeps of datagrams until they are read; it may allow less. */
#define DATAGRAM_BUFFER (4 * 1024 * 1024)

/* Senders that are silent are asked whether they are there after so many seconds. */
#define KEEPALIVE_IDLE 60

/* What distinguishes the socket of an intake: options are inherited by its connections. */
static void
set_up_intake(int fd, bool datagrams)
{
	int size = DATAGRAM_BUFFER;
	int one = 1;
	int idle = KEEPALIVE_IDLE;

	if (datagrams)
		(void) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	else
	{
		(void) setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
		(void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	}
}

/* Binds one address, for HTTP if intake is NULL.  0, or the errno of the failure. */
static int
bind_address(ls_gateway *gateway, const struct addrinfo *address, ls_intake *intake)
{
	int one = 1;
	int unsent = SOCKET_UNSENT;
	bool datagrams = address->ai_socktype == SOCK_DGRAM;
	int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ls_listener *listener = &gateway->listeners[gateway->n_listeners];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = listener};

	if (fd < 0)
		return errno;
	/* Of datagrams it would let another process take a part. */
	if (!datagrams)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (intake != NULL)
		set_up_intake(fd, datagrams);
	/* These two are inherited. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	if (address->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 ||
		(!datagrams && listen(fd, BACKLOG) != 0) ||
		epoll_ctl(gateway->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
	{
		int failure = errno;

		close(fd);
		return failure;
	}
	listener->watch.kind = datagrams ? WATCH_DATAGRAMS : WATCH_LISTENER;
	listener->fd = fd;
	listener->intake = intake;
	gateway->n_listeners++;
	return 0;
}

/* Binds what one entry of listen_addresses stands for. */
static bool
listen_on(ls_gateway *gateway, const char *host, ls_intake *intake, char *error, size_t error_size)
{
	const char *setting = intake == NULL ? "logsvc.listen_addresses" : "logsvc.syslog_listeners";
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = intake != NULL && intake->kind == LS_LISTENER_UDP ? SOCK_DGRAM : SOCK_STREAM,
		.ai_flags = AI_PASSIVE};
	struct addrinfo *addresses = NULL;
	char port[16];
	int bound = 0;
	int failure;

	snprintf(port, sizeof(port), "%d", intake == NULL ? gateway->config.port : intake->port);
	failure = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, port, &hints, &addresses);
	if (failure != 0)
	{
		snprintf(error, error_size, "could not resolve \"%s\": %s (setting %s)", host,
				 gai_strerror(failure), setting);
		return false;
	}
	error[0] = '\0';
	for (struct addrinfo *a = addresses; a != NULL; a = a->ai_next)
	{
		char text[80];

		if (gateway->n_listeners == (intake == NULL ? GATEWAY_LISTENERS : GATEWAY_ALL_LISTENERS))
		{
			snprintf(error, error_size, "more than %d listen addresses", gateway->n_listeners);
			bound = 0;
			break;
		}
		failure = bind_address(gateway, a, intake);
		if (failure == 0)
		{
			bound++;
			continue;
		}
		describe(a->ai_addr, text, sizeof(text));
		snprintf(error, error_size, "could not bind %s: %s%s", text, strerror(failure),
				 intake != NULL                               ? " (setting logsvc.syslog_listeners)"
				 : failure == EADDRINUSE || failure == EACCES ? " (change logsvc.port)"
				 : failure == EADDRNOTAVAIL                   ? " (change logsvc.listen_addresses)"
															  : "");

		/* A host without IPv6 is no reason to refuse "*" or "localhost". */
		if (failure != EADDRNOTAVAIL && failure != EAFNOSUPPORT)
		{
			bound = 0;
			break;
		}
	}
	freeaddrinfo(addresses);
	return bound > 0;
}

/* Binds a list of addresses. */
static bool
listen_on_all(ls_gateway *gateway, const char *rest, ls_intake *intake, char *error,
			  size_t error_size)
{

	while (rest != NULL && *rest != '\0')
	{
		size_t len = strcspn(rest, ",");
		ls_str entry = ls_str_trim(ls_str_make(rest, len));
		char host[256];

		rest += len + (rest[len] == ',' ? 1 : 0);
		if (entry.len == 0)
			continue;
		snprintf(host, sizeof(host), "%.*s", (int) entry.len, entry.data);
		if (!listen_on(gateway, host, intake, error, error_size))
			return false;
	}
	return true;
}

bool
ls_gateway_listen_for(ls_gateway *gateway, ls_intake *intake, char *error, size_t error_size)
{
	int before = gateway->n_listeners;

	if (listen_on_all(gateway,
					  intake->address[0] != '\0' ? intake->address
												 : gateway->config.listen_addresses,
					  intake, error, error_size))
		return true;
	while (gateway->n_listeners > before)
		close(gateway->listeners[--gateway->n_listeners].fd);
	return false;
}

bool
ls_gateway_listen(ls_gateway *gateway, char *error, size_t error_size)
{
	if (!listen_on_all(gateway, gateway->config.listen_addresses, NULL, error, error_size))
		return false;
	if (gateway->n_listeners == 0)
	{
		snprintf(error, error_size, "no address to listen on: logsvc.listen_addresses is empty");
		return false;
	}
	return true;
}

void
ls_gateway_watch_listeners(ls_gateway *gateway, bool watch)
{
	gateway->accept_paused = !watch;
	for (int i = 0; i < gateway->n_listeners; i++)
	{
		struct epoll_event event = {.events = watch ? EPOLLIN : 0,
									.data.ptr = &gateway->listeners[i]};

		if (gateway->listeners[i].watch.kind == WATCH_LISTENER)
			epoll_ctl(gateway->epoll_fd, EPOLL_CTL_MOD, gateway->listeners[i].fd, &event);
	}
}

void
ls_gateway_close_listeners(ls_gateway *gateway)
{
	for (int i = 0; i < gateway->n_listeners; i++)
		close(gateway->listeners[i].fd);
	gateway->n_listeners = 0;
}
