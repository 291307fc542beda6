/*-------------------------------------------------------------------------
 *
 * gateway_share.c
 *	  Who has how much of the connections and of the memory of bodies and of
 *	  answers that are not read, and who is to lose some of it when it runs short.
 *
 * A connection counts in the share of its address, of IPv6 that of a network of
 * 64 bits, and behind a trusted proxy that of its client, from the header of a
 * request to its end.  A request that waits for its client, which does not send the
 * rest of the body or does not read the answer, also counts in the share of its
 * sender: the owner of the organization, as soon as a worker has said who that is,
 * else the credential.
 *
 * While there is room nobody is limited.  When there is none, a sender with
 * more than an eighth of it loses first: so one key does not keep the others out from
 * many addresses, and those who share an address with somebody who floods do not pay
 * for it.  Then the address with the most loses, if it has more than the one
 * that wants: so one client cannot lock the others out, however it holds on to what it
 * has.  Where all have the same, the one loses that has kept its request waiting
 * for longest.
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

	for (int kind = 0; kind < SHARE_KINDS; kind++)
	{
		ls_share_table *table = &gateway->shares[kind];

		table->shares = calloc(n, sizeof(ls_share));
		table->buckets = calloc(n, sizeof(ls_share *));
		table->by_count = calloc(n + 1, sizeof(ls_share *));
		if (table->shares == NULL || table->buckets == NULL || table->by_count == NULL)
			return false;
		for (size_t i = n; i-- > 0;)
		{
			table->shares[i].next = table->free;
			table->free = &table->shares[i];
		}
	}
	return true;
}

void
ls_shares_destroy(ls_gateway *gateway)
{
	for (int kind = 0; kind < SHARE_KINDS; kind++)
	{
		free(gateway->shares[kind].shares);
		free(gateway->shares[kind].buckets);
		free(gateway->shares[kind].by_count);
	}
}

static ls_share **
bucket_of(ls_gateway *gateway, share_kind kind, const uint8_t key[16])
{
	uint64_t hash = ls_hash64(key, 16, gateway->share_seed);

	return &gateway->shares[kind].buckets[hash % (uint64_t) gateway->n_slots];
}

/* Out of its list and into that of another count. */
static void
recount(ls_share_table *table, ls_share *share, int change)
{
	if (share->count > 0)
	{
		if (share->fewer_before != NULL)
			share->fewer_before->fewer_after = share->fewer_after;
		else
			table->by_count[share->count] = share->fewer_after;
		if (share->fewer_after != NULL)
			share->fewer_after->fewer_before = share->fewer_before;
	}
	share->count += change;
	share->fewer_before = share->fewer_after = NULL;
	if (share->count > 0)
	{
		share->fewer_after = table->by_count[share->count];
		if (share->fewer_after != NULL)
			share->fewer_after->fewer_before = share;
		table->by_count[share->count] = share;
	}
	if (share->count > table->largest)
		table->largest = share->count;
	while (table->largest > 0 && table->by_count[table->largest] == NULL)
		table->largest--;
}

static void
join(ls_connection *c, share_kind kind, const uint8_t key[16])
{
	ls_gateway *gateway = c->gateway;
	ls_share_table *table = &gateway->shares[kind];
	ls_membership *member = &c->in_share[kind];
	ls_share **bucket = bucket_of(gateway, kind, key);
	ls_share *share = *bucket;

	while (share != NULL && memcmp(share->key, key, 16) != 0)
		share = share->next;
	if (share == NULL)
	{
		/* There are as many as connections, and each of those has one at most. */
		share = table->free;
		table->free = share->next;
		memset(share, 0, sizeof(*share));
		memcpy(share->key, key, 16);
		share->next = *bucket;
		*bucket = share;
	}
	member->share = share;
	member->before = share->last;
	member->after = NULL;
	if (share->last != NULL)
		share->last->in_share[kind].after = c;
	else
		share->first = c;
	share->last = c;
	share->bytes += c->body_counted + c->out_counted;
	recount(table, share, 1);
}

void
ls_share_leave(ls_connection *c, share_kind kind)
{
	ls_gateway *gateway = c->gateway;
	ls_share_table *table = &gateway->shares[kind];
	ls_membership *member = &c->in_share[kind];
	ls_share *share = member->share;
	ls_share **at;

	if (share == NULL)
		return;
	if (member->before != NULL)
		member->before->in_share[kind].after = member->after;
	else
		share->first = member->after;
	if (member->after != NULL)
		member->after->in_share[kind].before = member->before;
	else
		share->last = member->before;
	member->share = NULL;
	share->bytes -= c->body_counted + c->out_counted;
	recount(table, share, -1);
	if (share->count > 0)
		return;
	at = bucket_of(gateway, kind, share->key);
	while (*at != share)
		at = &(*at)->next;
	*at = share->next;
	share->next = table->free;
	table->free = share;
}

/* It counts for its peer. */
void
ls_share_join_address(ls_connection *c)
{
	join(c, SHARE_ADDRESS, c->address);
}

/* Its request waits for the client.  No effect without a sender, or when it counts already. */
void
ls_share_join_sender(ls_connection *c)
{
	uint8_t key[16] = {0};

	if (c->sender == 0 || c->in_share[SHARE_SENDER].share != NULL)
		return;
	memcpy(key, &c->sender, sizeof(c->sender));
	join(c, SHARE_SENDER, key);
}

/* Whose its request is; 0: that is not known. */
void
ls_share_set_sender(ls_connection *c, uint64_t sender)
{
	bool counts = c->in_share[SHARE_SENDER].share != NULL;

	if (sender == 0 || sender == c->sender)
		return;
	ls_share_leave(c, SHARE_SENDER);
	c->sender = sender;
	if (counts)
		ls_share_join_sender(c);
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
	if (memcmp(key, c->in_share[SHARE_ADDRESS].share->key, sizeof(key)) == 0)
		return;
	ls_share_leave(c, SHARE_ADDRESS);
	join(c, SHARE_ADDRESS, key);
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
		case CONNECTION_INTAKE:
			return 1;
		case CONNECTION_WRITING:
			return 2;
		default:
			return 3; /* a worker has it: it will be answered soon */
	}
}

/* The number of connections in the share that a connection is in. */
static int
count_of(const ls_connection *c, share_kind kind)
{
	return c->in_share[kind].share == NULL ? 0 : c->in_share[kind].share->count;
}

/*
 * A connection within the limit for somebody else: of the largest share of the kind, if that has
 * more than the one that asks, and more than `than`; the least loss, then the oldest.  NULL:
 * there is none.
 */
ls_connection *
ls_share_largest_place(ls_gateway *gateway, const ls_connection *for_whom, share_kind kind,
					   int than)
{
	const ls_share_table *table = &gateway->shares[kind];
	int own = count_of(for_whom, kind);
	int looked_at = 0;

	for (int count = table->largest; count > own && count > than; count--)
	{
		for (ls_share *s = table->by_count[count]; s != NULL; s = s->fewer_after)
		{
			ls_connection *victim = NULL;

			if (++looked_at > SHARES_AT_ONCE)
				return NULL;
			for (ls_connection *c = s->first; c != NULL; c = c->in_share[kind].after)
			{
				if (!c->reserved && loss(c) < (victim == NULL ? 3 : loss(victim)))
					victim = c;
				/* Who counts for a sender has begun a request. */
				if (victim != NULL && loss(victim) <= (kind == SHARE_SENDER ? 1 : 0))
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
			n += gateway->reserve[k]->in_share[SHARE_ADDRESS].share ==
				 c->in_share[SHARE_ADDRESS].share;
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
heaviest(ls_gateway *gateway, share_kind kind)
{
	const ls_share_table *table = &gateway->shares[kind];
	ls_share *most = NULL;

	for (int count = table->largest; count > 0; count--)
	{
		for (ls_share *s = table->by_count[count]; s != NULL; s = s->fewer_after)
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
largest(const ls_share *share, share_kind kind, size_t than, bool only_answers)
{
	ls_connection *victim = NULL;

	for (ls_connection *c = share->first; c != NULL; c = c->in_share[kind].after)
	{
		if (can_yield(c) > than && (c->state == CONNECTION_WRITING || !only_answers))
		{
			victim = c;
			than = can_yield(c);
		}
	}
	return victim;
}

static bool
is_of_another(const ls_connection *c, const ls_share *sender)
{
	return c->in_share[SHARE_SENDER].share != NULL && c->in_share[SHARE_SENDER].share != sender;
}

/*
 * Who is to yield memory, so that *counted can become `size` larger; NULL: nobody.  First the
 * heaviest sender, if it has more than its part and more than this one would have then.  Then the
 * heaviest address, if it has more than this one would have; of its own address one gives up only an
 * answer that waits and is larger than what it wants to keep now.  Who would have more than its
 * part gets nothing of other senders, whatever their addresses have.
 */
static ls_connection *
who_yields(const ls_connection *c, size_t counted, size_t size)
{
	ls_gateway *gateway = c->gateway;
	size_t part = gateway->config.memory_limit / SENDER_PART;
	const ls_share *sender = c->in_share[SHARE_SENDER].share;
	const ls_share *address = c->in_share[SHARE_ADDRESS].share;
	const ls_share *sends_most = heaviest(gateway, SHARE_SENDER);
	const ls_share *has_most = heaviest(gateway, SHARE_ADDRESS);
	size_t wants = (sender == NULL ? 0 : sender->bytes) + size;
	bool is_more = sends_most != NULL && sends_most != sender && sends_most->bytes > wants;
	ls_connection *victim = NULL;

	if (is_more && sends_most->bytes > part)
		victim = largest(sends_most, SHARE_SENDER, 0, false);
	if (victim != NULL)
		return victim;
	if (has_most == address)
		victim = largest(address, SHARE_ADDRESS, counted + size, true);
	else if (has_most->bytes > address->bytes + size)
		victim = largest(has_most, SHARE_ADDRESS, 0, false);
	if (victim != NULL && sender != NULL && wants > part && is_of_another(victim, sender))
		victim = NULL;
	if (victim == NULL && is_more)
		victim = largest(sends_most, SHARE_SENDER, 0, false);
	return victim;
}

/*
 * Counts `size` bytes more in *counted, which is the connection's body_counted or
 * out_counted.  False when memory runs short: then *victim is the connection that yields a body or an
 * answer (for the caller to end, and to try again), or NULL: nobody yields.
 */
bool
ls_share_take_memory(ls_connection *c, size_t *counted, size_t size, ls_connection **victim)
{
	ls_gateway *gateway = c->gateway;

	*victim = NULL;
	if (gateway->memory + size > gateway->config.memory_limit)
	{
		*victim = who_yields(c, *counted, size);
		return false;
	}
	gateway->memory += size;
	*counted += size;
	for (int kind = 0; kind < SHARE_KINDS; kind++)
	{
		if (c->in_share[kind].share != NULL)
			c->in_share[kind].share->bytes += size;
	}
	return true;
}

void
ls_share_give_memory(ls_connection *c, size_t *counted, size_t size)
{
	c->gateway->memory -= size;
	*counted -= size;
	for (int kind = 0; kind < SHARE_KINDS; kind++)
	{
		if (c->in_share[kind].share != NULL)
			c->in_share[kind].share->bytes -= size;
	}
}
