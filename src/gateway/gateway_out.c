/*-------------------------------------------------------------------------
 *
 * gateway_out.c
 *	  What of an answer waits for its client: its memory, and how fast the
 *	  client must read it.
 *
 * What the socket does not take is kept by the connection, and counts in the
 * memory of its shares as bodies do (gateway_share.c).  The kernel takes little
 * (SOCKET_UNSENT in gateway_listen.c), so nearly all that waits is counted.
 *
 * From the moment that something waits the client has the time of a body, and
 * then must have read GATEWAY_READ_RATE bytes a second on average, until
 * nothing waits.  So the time of an answer is bounded by its size, and that of
 * a stream that is read too slowly by what one may keep of it.
 *
 *-------------------------------------------------------------------------
 */
#include <linux/tcp.h> /* netinet/tcp.h lacks tcpi_bytes_acked */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "src/gateway/gateway_internal.h"

/* ---- memory ---- */

/*
 * A buffer that any connection may keep is not counted.  Who yields memory is told nothing: the
 * gateway has one buffer for heads, which is in use while an answer is made.
 */
static bool
count(ls_connection *c, size_t capacity)
{
	ls_connection *victim;

	if (capacity <= GATEWAY_KEPT_BODY || capacity <= c->out_counted)
		return true;
	ls_share_join_sender(c);
	while (!ls_share_take_memory(c, &c->out_counted, capacity - c->out_counted, &victim))
	{
		if (victim == NULL)
			return false;
		ls_connection_cut(victim);
	}
	return true;
}

/*
 * Takes the memory that `size` bytes may need, before any of them is sent: so an
 * answer is refused as a whole, not cut.  ls_out_settle gives back what is not needed.
 */
bool
ls_out_reserve(ls_connection *c, size_t size)
{
	return count(c, size);
}

/* False: there is no memory for it. */
bool
ls_out_append(ls_connection *c, ls_str text)
{
	size_t need = c->out_len + text.len;

	if (text.len == 0)
		return true;
	/* Of a client that never quite catches up, what it has read makes room. */
	if (need > c->out_capacity && c->out_sent > 0)
	{
		c->out_len -= c->out_sent;
		memmove(c->out, c->out + c->out_sent, c->out_len);
		c->out_sent = 0;
		need = c->out_len + text.len;
	}
	if (need > c->out_capacity)
	{
		/* The rest of an answer is all there will be; pieces go on coming. */
		size_t capacity = c->streaming ? need + need / 2 : need;
		char *out = count(c, capacity) ? realloc(c->out, capacity) : NULL;

		if (out == NULL)
			return false;
		c->out = out;
		c->out_capacity = capacity;
	}
	memcpy(c->out + c->out_len, text.data, text.len);
	c->out_len = need;
	return true;
}

/* ---- pace ---- */

/* Bytes that the peer has acknowledged since the connection began; false when it is broken. */
static bool
look_at_peer(const ls_connection *c, uint64_t *acknowledged)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
		return false;
	*acknowledged = info.tcpi_bytes_acked;
	return true;
}

/* Something waits for the client: its time begins, unless it runs already. */
void
ls_out_wait(ls_connection *c)
{
	if (c->deadline_kind == DEADLINE_WRITE)
		return;
	ls_share_join_sender(c);
	c->waits_since = c->gateway->now;
	c->acknowledged_before = 0;
	(void) look_at_peer(c, &c->acknowledged_before);
	c->acknowledged = c->acknowledged_before;
	ls_connection_deadline(c, DEADLINE_WRITE);
}

/* At DEADLINE_WRITE: has the peer read anything since the last look, and enough in all? */
bool
ls_out_keeps_pace(ls_connection *c)
{
	const ls_gateway *gateway = c->gateway;
	int64_t counted = gateway->now - c->waits_since - gateway->config.body_timeout;
	uint64_t due = counted > 0 ? (uint64_t) counted * GATEWAY_READ_RATE / 1000 : 0;
	uint64_t last = c->acknowledged;

	return look_at_peer(c, &c->acknowledged) && c->acknowledged != last &&
		   c->acknowledged - c->acknowledged_before >= due;
}
