/*-------------------------------------------------------------------------
 *
 * gateway_count.c
 *	  Figures of requests and connections, counted where the host wants them.
 *
 * Routes are told apart by class only, and statuses by a fixed list: whatever clients ask for, the
 * number of series does not grow.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>
#include <time.h>

#include "src/gateway/gateway_internal.h"

static uint8_t
class_of(const ls_route *route)
{
	if (route->rate_class[0] != '\0')
		return (uint8_t) ls_route_class_of(route->rate_class);
	switch (route->pool)
	{
		case LS_POOL_GATEWAY:
			return LS_ROUTE_CLASS_SERVICE;
		case LS_POOL_ACCEPTOR:
			return LS_ROUTE_CLASS_INGEST;
		default:
			return LS_ROUTE_CLASS_OTHER;
	}
}

void
ls_gateway_class_routes(ls_gateway *gateway)
{
	for (uint32_t i = 0; i < ls_n_routes; i++)
		gateway->classes[i] = class_of(&ls_routes[i]);
}

/* Other processes read the cell meanwhile; this one is the only one that writes it. */
static void
add(uint64_t *cell, uint64_t n)
{
	__atomic_store_n(cell, __atomic_load_n(cell, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

static int
class_of_request(const ls_connection *c)
{
	if (c->console)
		return LS_ROUTE_CLASS_CONSOLE;
	return c->route < 0 ? LS_ROUTE_CLASS_NONE : c->gateway->classes[c->route];
}

/* An answer begins: once for each request. */
void
ls_gateway_count_answer(const ls_connection *c, int status)
{
	const ls_gateway_counts *counts = &c->gateway->config.counts;
	int class = class_of_request(c);
	uint64_t *durations;
	struct timespec t;
	int64_t us;

	if (counts->answers == NULL)
		return;
	add(&counts->answers[class * LS_STATUSES + ls_status_number(status)], 1);
	if (c->request.body.len > 0)
		add(&counts->body_bytes[class], c->request.body.len);
	/* Of what had no whole header nobody knows when it came. */
	if (c->request.received_at == 0)
		return;
	clock_gettime(CLOCK_REALTIME, &t);
	us = (int64_t) t.tv_sec * LS_USECS_PER_SEC + t.tv_nsec / 1000 - c->request.received_at;
	if (us < 0)
		us = 0; /* the clock was set back */
	durations = &counts->durations[class * LS_HISTOGRAM_CELLS];
	add(&durations[ls_histogram_bucket(us)], 1);
	add(&durations[LS_HISTOGRAM_SUM], (uint64_t) us);
}

void
ls_gateway_count_opened(ls_gateway *gateway)
{
	if (gateway->config.counts.opened != NULL)
		add(gateway->config.counts.opened, 1);
}

void
ls_gateway_count_lost(ls_gateway *gateway)
{
	if (gateway->config.counts.lost != NULL)
		add(gateway->config.counts.lost, 1);
}
