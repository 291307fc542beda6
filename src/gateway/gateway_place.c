/*-------------------------------------------------------------------------
 *
 * gateway_place.c
 *	  Places for connections: who loses one at the limit, and who gets it.
 *
 * At the limit of connections a newcomer gets the place of one that has been idle
 * for a second, or of one of the sender or the address that has the most, or of one whose request
 * has been incomplete for a second (gateway_share.c), or of one without HTTP that has been quiet
 * for ten.  If there is none it gets one of a few
 * beyond the limit: there a health check is answered, and other requests wait for a place.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/gateway_internal.h"

#define IDLE_GRACE_MS 1000

/* A sender without HTTP may lose its place when it has sent no whole message for so long. */
#define QUIET_MS 10000

/* Ends a connection; one that has begun a request is told why. */
static void
take_connection(ls_connection *c, const char *why)
{
	ls_gateway_count_lost(c->gateway);
	if (c->state == CONNECTION_HEADER || c->state == CONNECTION_BODY ||
		c->state == CONNECTION_PARKED)
		ls_reply_now(c, 503, "SERVICE_UNAVAILABLE", why);
	if (c->state != CONNECTION_FREE)
		ls_connection_close(c);
}

static bool
yield_largest(ls_gateway *gateway, const ls_connection *for_whom, share_kind kind, int than)
{
	ls_connection *victim = ls_share_largest_place(gateway, for_whom, kind, than);

	if (victim != NULL)
		take_connection(victim, kind == SHARE_SENDER
									? "Too many connections are open, and many requests of this "
									  "sender are not complete"
									: "Too many connections from this address");
	return victim != NULL;
}

static bool
yield_stalled(ls_gateway *gateway)
{
	ls_connection *victim = ls_share_stalled_place(gateway);

	if (victim != NULL)
		take_connection(victim, "Too many connections are open, and the rest of the request did "
								"not arrive");
	return victim != NULL;
}

static bool
yield_quiet(ls_gateway *gateway)
{
	ls_connection *quiet = gateway->first_deadline[DEADLINE_INTAKE];

	if (quiet == NULL || quiet->deadline > gateway->now + GATEWAY_INTAKE_MS - QUIET_MS)
		return false;
	ls_gateway_count_lost(gateway);
	ls_connection_close(quiet);
	return true;
}

bool
ls_gateway_take_reserve(ls_gateway *gateway)
{
	ls_connection *victim = ls_share_reserve_place(gateway);

	if (victim != NULL)
		take_connection(victim, "Too many connections from this address");
	return victim != NULL;
}

/* Is there a place within the limit, or one that can be taken from somebody? */
bool
ls_gateway_has_place(ls_gateway *gateway, const ls_connection *for_whom)
{
	int64_t idle_since = gateway->now + gateway->config.idle_timeout - IDLE_GRACE_MS;
	ls_connection *idle = gateway->first_deadline[DEADLINE_IDLE];
	int limit = gateway->config.connection_limit;

	/* for_whom has a slot, but beyond the limit. */
	if (gateway->n_open - gateway->n_reserve < limit)
		return true;
	while (idle != NULL && idle->deadline <= idle_since && idle->reserved)
		idle = idle->later;
	if (idle != NULL && idle->deadline <= idle_since)
	{
		ls_gateway_count_lost(gateway);
		ls_connection_close(idle);
		return true;
	}
	/* Last, several senders may have all places, each less than its part. */
	return (yield_largest(gateway, for_whom, SHARE_SENDER, limit / SENDER_PART) ||
			yield_largest(gateway, for_whom, SHARE_ADDRESS, 0) || yield_stalled(gateway) ||
			yield_largest(gateway, for_whom, SHARE_SENDER, 1) || yield_quiet(gateway)) &&
		   gateway->n_open - gateway->n_reserve < limit;
}

/* Within the limit there is a place for it now. */
static void
get_place(ls_connection *c)
{
	ls_connection_leave_reserve(c);
	ls_connection_deadline(c, DEADLINE_NONE);
	c->state = CONNECTION_BODY;
	ls_request_proceed(c);
	if (c->state != CONNECTION_FREE)
		ls_connection_go_on(c);
}

/* Those that wait for a place get what has become free, the first one first. */
void
ls_gateway_give_places(ls_gateway *gateway)
{
	ls_connection *parked;

	gateway->place_freed = false;
	while ((parked = gateway->first_deadline[DEADLINE_PARK]) != NULL &&
		   ls_gateway_has_place(gateway, parked))
		get_place(parked);
}
