/*-------------------------------------------------------------------------
 *
 * gateway_accept.c
 *	  Accepting connections: as many as there are places for (gateway_place.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4 */
#endif

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/gateway/gateway_internal.h"

#define ACCEPTS_AT_ONCE 64
#define ACCEPT_RETRY_MS 1000

static void
adopt(ls_gateway *gateway, ls_intake *intake, int fd, const struct sockaddr *address,
	  socklen_t length)
{
	ls_tls_server *tls = intake == NULL || intake->kind == LS_LISTENER_TLS ? gateway->tls : NULL;
	ls_connection *c = ls_connection_open(gateway, fd);
	ls_address peer = {{0}};

	if (c == NULL)
	{
		close(fd);
		return;
	}
	ls_gateway_count_opened(gateway);
	c->intake = intake;
	/* Until it is known where it belongs. */
	c->reserved = true;
	gateway->reserve[gateway->n_reserve++] = c;
	if (getnameinfo(address, length, c->remote, sizeof(c->remote), NULL, 0, NI_NUMERICHOST) != 0)
		c->remote[0] = '\0';
	(void) ls_address_parse(ls_str_make(c->remote, strlen(c->remote)), &peer);
	ls_address_rate_key(&peer, c->address);
	ls_share_join_address(c);
	if (tls != NULL && (c->tls = ls_tls_open(tls, fd)) == NULL)
	{
		ls_connection_close(c);
		return;
	}
	c->state = tls != NULL ? CONNECTION_HANDSHAKE : CONNECTION_IDLE;
	/* The first header is due soon: a handshake is as good as its first byte. */
	ls_connection_deadline(c, tls != NULL ? DEADLINE_HEADER : DEADLINE_IDLE);
	if (ls_gateway_has_place(gateway, c))
		ls_connection_leave_reserve(c);
	else if (intake != NULL)
	{
		/* It has no request that could wait for a place. */
		ls_connection_close(c);
		return;
	}
	if (intake != NULL && tls == NULL)
		ls_intake_begin(c);
	ls_connection_drive(c);
}

static void
warn(ls_gateway *gateway, const char *problem)
{
	char text[256];

	if (gateway->hooks.log == NULL)
		return;
	snprintf(text, sizeof(text), "could not accept a connection: %s (%d are open)", problem,
			 gateway->n_open);
	gateway->hooks.log(gateway->hooks.context, LS_GATEWAY_WARNING, text);
}

static void
pause_accepting(ls_gateway *gateway)
{
	gateway->accept_again = gateway->now + ACCEPT_RETRY_MS;
	ls_gateway_watch_listeners(gateway, false);
}

void
ls_gateway_accept(ls_gateway *gateway)
{
	gateway->accept_ready = false;
	for (int i = 0; i < gateway->n_listeners; i++)
	{
		for (int n = 0; n < ACCEPTS_AT_ONCE && gateway->listeners[i].watch.kind == WATCH_LISTENER;
			 n++)
		{
			struct sockaddr_storage address;
			socklen_t length = sizeof(address);
			int fd;

			/* A newcomer begins in the reserve. */
			if (gateway->n_reserve == GATEWAY_RESERVE && !ls_gateway_take_reserve(gateway))
			{
				pause_accepting(gateway);
				return;
			}
			fd = accept4(gateway->listeners[i].fd, (struct sockaddr *) &address, &length,
						 SOCK_CLOEXEC | SOCK_NONBLOCK);
			if (fd < 0)
			{
				if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
				{
					warn(gateway, strerror(errno));
					pause_accepting(gateway);
					return;
				}
				if (errno == EINTR || errno == ECONNABORTED)
					continue;
				break;
			}
			adopt(gateway, gateway->listeners[i].intake, fd, (struct sockaddr *) &address, length);
		}
	}
}
