/*-------------------------------------------------------------------------
 *
 * gateway_share.c
 *	  Who has how much of the connections and of the memory of bodies and of
 *	  answers that are not read, and who is to lose some of it when it runs short.
 *
 * A share belongs to an address, of IPv6 to a network of 64 bits, and behind a
 * trusted proxy to the address of its client, from the header of a request to
 * its end.  While there is room nobody is limited.  When there is none, the
 * address with the most loses, if it has more than the one that wants: so one
 * client cannot lock the others out, however it holds on to what it has.  Where all
 * have the same, the one loses that has kept its request waiting for longest.
 *
 * The shares are in lists by their number of connections, so the largest is
 * always known: at the limit each newcomer asks for it.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "src/gateway/gateway_internal.h"

/* Largest shares that are looked through for a connection to take. */
#define SHARES_AT_ONCE 16

/* A request of which a part is missing for so long may lose its place (ms), */
#define STALLED_MS 1000

/* and so many of the oldest are looked at. */
#define STALLED_AT_ONCE 64

bool
ls_shares_create(ls_gateway *gateway)
{
	size_t n = (size_t) gateway->n_slots;

	gateway->shares = calloc(n, sizeof(ls_share));
	gateway->share_buckets = calloc(n, sizeof(ls_share *));
	gateway->shares_by_count = calloc(n + 1, sizeof(ls_share *));
	if (gateway->shares == NULL || gateway->share_buckets == NULL ||
		gateway->shares_by_count == NULL)
		return false;
	for (size_t i = n; i-- > 0;)
	{
		gateway->shares[i].next = gateway->free_shares;
		gateway->free_shares = &gateway->shares[i];
	}
	return true;
}

void
ls_shares_destroy(ls_gateway *gateway)
{
	free(gateway->shares);
	free(gateway->share_buckets);
	free(gateway->shares_by_count);
}

static ls_share **
bucket_of(ls_gateway *gateway, const uint8_t key[16])
{
	uint64_t hash = ls_hash64(key, 16, gateway->share_seed);

	return &gateway->share_buckets[hash % (uint64_t) gateway->n_slots];
}

/* Out of its list and into that of another count. */
static void
recount(ls_gateway *gateway, ls_share *share, int change)
{
	if (share->count > 0)
	{
		if (share->fewer_before != NULL)
			share->fewer_before->fewer_after = share->fewer_after;
		else
			gateway->shares_by_count[share->count] = share->fewer_after;
		if (share->fewer_after != NULL)
			share->fewer_after->fewer_before = share->fewer_before;
	}
	share->count += change;
	share->fewer_before = share->fewer_after = NULL;
	if (share->count > 0)
	{
		share->fewer_after = gateway->shares_by_count[share->count];
		if (share->fewer_after != NULL)
			share->fewer_after->fewer_before = share;
		gateway->shares_by_count[share->count] = share;
	}
	if (share->count > gateway->largest_share)
		gateway->largest_share = share->count;
	while (gateway->largest_share > 0 && gateway->shares_by_count[gateway->largest_share] == NULL)
		gateway->largest_share--;
}

void
ls_share_join(ls_connection *c, const uint8_t key[16])
{
	ls_gateway *gateway = c->gateway;
	ls_share **bucket = bucket_of(gateway, key);
	ls_share *share = *bucket;

	while (share != NULL && memcmp(share->key, key, 16) != 0)
		share = share->next;
	if (share == NULL)
	{
		/* There are as many as connections, and each of those has one at most. */
		share = gateway->free_shares;
		gateway->free_shares = share->next;
		memset(share, 0, sizeof(*share));
		memcpy(share->key, key, 16);
		share->next = *bucket;
		*bucket = share;
	}
	c->share = share;
	c->share_before = share->last;
	c->share_after = NULL;
	if (share->last != NULL)
		share->last->share_after = c;
	else
		share->first = c;
	share->last = c;
	share->bytes += c->body_counted + c->out_counted;
	recount(gateway, share, 1);
}

void
ls_share_leave(ls_connection *c)
{
	ls_gateway *gateway = c->gateway;
	ls_share *share = c->share;
	ls_share **at;

	if (share == NULL)
		return;
	if (c->share_before != NULL)
		c->share_before->share_after = c->share_after;
	else
		share->first = c->share_after;
	if (c->share_after != NULL)
		c->share_after->share_before = c->share_before;
	else
		share->last = c->share_before;
	c->share = NULL;
	share->bytes -= c->body_counted + c->out_counted;
	recount(gateway, share, -1);
	if (share->count > 0)
		return;
	at = bucket_of(gateway, share->key);
	while (*at != share)
		at = &(*at)->next;
	*at = share->next;
	share->next = gateway->free_shares;
	gateway->free_shares = share;
}

void
ls_share_of_request(ls_connection *c)
{
	const char *const *trusted = c->gateway->config.trusted_proxies;
	ls_address address;
	uint8_t key[16];

	if (c->request.forwarded_for.len == 0 || trusted == NULL || !ls_is_set(*trusted) ||
		!ls_client_address(ls_str_make(c->remote, strlen(c->remote)), c->request.forwarded_for,
						   ls_str_make(*trusted, strlen(*trusted)), &address))
		return;
	ls_address_rate_key(&address, key);
	if (memcmp(key, c->share->key, sizeof(key)) == 0)
		return;
	ls_share_leave(c);
	ls_share_join(c, key);
	c->forwarded = true;
}

/* ---- connections ---- */

/* How much would be lost with a connection: 0 little, 2 much, 3 it may not be taken. */
static int
loss(const ls_connection *c)
{
	switch (c->state)
	{
		case CONNECTION_HANDSHAKE:
		case CONNECTION_IDLE:
		case CONNECTION_LINGER:
			return 0;
		case CONNECTION_HEADER:
		case CONNECTION_BODY:
		case CONNECTION_PARKED:
			return 1;
		case CONNECTION_WRITING:
			return 2;
		default:
			return 3; /* a worker has it: it will be answered soon */
	}
}

/*
 * A connection within the limit for somebody else: of the largest share, if that
 * has more than the one that asks; the least loss, then the oldest.  NULL: there is none.
 */
ls_connection *
ls_share_largest_place(ls_gateway *gateway, const ls_connection *for_whom)
{
	int own = for_whom->share->count;
	int looked_at = 0;

	for (int count = gateway->largest_share; count > own; count--)
	{
		for (ls_share *s = gateway->shares_by_count[count]; s != NULL; s = s->fewer_after)
		{
			ls_connection *victim = NULL;

			if (++looked_at > SHARES_AT_ONCE)
				return NULL;
			for (ls_connection *c = s->first; c != NULL; c = c->share_after)
			{
				if (!c->reserved && loss(c) < (victim == NULL ? 3 : loss(victim)))
					victim = c;
				if (victim != NULL && loss(victim) == 0)
					break;
			}
			if (victim != NULL)
				return victim;
		}
	}
	return NULL;
}

/* May it be cut off?  Its client keeps it waiting, and no worker has said who that is. */
static bool
is_stalled(const ls_connection *c)
{
	return !c->reserved && !c->checked &&
		   (c->state == CONNECTION_HANDSHAKE || c->state == CONNECTION_IDLE ||
			c->state == CONNECTION_HEADER || c->state == CONNECTION_BODY);
}

/*
 * A connection within the limit when no share is larger than that of the one that asks: many
 * addresses with a request each that never ends.  The oldest of which a part has been missing
 * for a second.  NULL: there is none.
 */
ls_connection *
ls_share_stalled_place(ls_gateway *gateway)
{
	const ls_gateway_config *config = &gateway->config;
	const struct
	{
		deadline_kind kind;
		int time;
	} lists[] = {{DEADLINE_BODY, config->body_timeout}, {DEADLINE_HEADER, config->header_timeout}};
	ls_connection *victim = NULL;
	int64_t since = gateway->now - STALLED_MS;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
	{
		ls_connection *c = gateway->first_deadline[lists[i].kind];

		for (int n = 0; c != NULL && n < STALLED_AT_ONCE && c->deadline - lists[i].time <= since;
			 n++, c = c->later)
		{
			if (is_stalled(c))
			{
				since = c->deadline - lists[i].time;
				victim = c;
				break;
			}
		}
	}
	return victim;
}

/* One of those beyond the limit: of the address that has most of them, the oldest; or NULL. */
ls_connection *
ls_share_reserve_place(ls_gateway *gateway)
{
	ls_connection *victim = NULL;
	int most = 0;

	for (int i = 0; i < gateway->n_reserve; i++)
	{
		ls_connection *c = gateway->reserve[i];
		int n = 0;

		if (loss(c) > 1)
			continue;
		for (int k = 0; k < gateway->n_reserve; k++)
			n += gateway->reserve[k]->share == c->share;
		if (n > most)
		{
			most = n;
			victim = c;
		}
	}
	return victim;
}

/* ---- memory ---- */

static ls_share *
heaviest(ls_gateway *gateway)
{
	ls_share *most = NULL;

	for (int count = gateway->largest_share; count > 0; count--)
	{
		for (ls_share *s = gateway->shares_by_count[count]; s != NULL; s = s->fewer_after)
		{
			if (most == NULL || s->bytes > most->bytes)
				most = s;
		}
	}
	return most;
}

/* The memory that is free at once when it is taken from a connection. */
static size_t
can_yield(const ls_connection *c)
{
	switch (c->state)
	{
		case CONNECTION_BODY:
			return c->body_counted;
		case CONNECTION_WRITING:
			return c->out_counted;
		default:
			return 0; /* a worker has it, or it has little */
	}
}

/* Who yields most of a share, if it is more than `than`; NULL: nobody. */
static ls_connection *
largest(const ls_share *share, size_t than, bool only_answers)
{
	ls_connection *victim = NULL;

	for (ls_connection *c = share->first; c != NULL; c = c->share_after)
	{
		if (can_yield(c) > than && (c->state == CONNECTION_WRITING || !only_answers))
		{
			victim = c;
			than = can_yield(c);
		}
	}
	return victim;
}

/*
 * Counts `size` bytes more in *counted, which is the connection's body_counted or
 * out_counted.  False when memory runs short: then the largest share is to yield its largest body or
 * answer (*victim, for the caller to end), if it has more than this one would have then; and so
 * is this one an answer that waits and is larger than what it wants to keep now.  NULL: nobody
 * yields.
 */
bool
ls_share_take_memory(ls_connection *c, size_t *counted, size_t size, ls_connection **victim)
{
	ls_gateway *gateway = c->gateway;

	*victim = NULL;
	if (gateway->memory + size > gateway->config.memory_limit)
	{
		ls_share *share = heaviest(gateway);

		if (share == c->share)
			*victim = largest(share, *counted + size, true);
		else if (share->bytes > c->share->bytes + size)
			*victim = largest(share, 0, false);
		return false;
	}
	gateway->memory += size;
	*counted += size;
	c->share->bytes += size;
	return true;
}

void
ls_share_give_memory(ls_connection *c, size_t *counted, size_t size)
{
	c->gateway->memory -= size;
	*counted -= size;
	if (c->share != NULL)
		c->share->bytes -= size;
}
