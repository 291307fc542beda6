/*-------------------------------------------------------------------------
 *
 * short_requests.c
 *	  Which requests of a group have lately been short.
 *
 * A dashboard or a console asks the same again and again.  What took milliseconds the last time
 * takes milliseconds now, so it need not wait for the searches of seconds that others of
 * its organization run: dispatch.c has a place for it.
 *
 * Only the very same request counts, because another time range may cost a thousand times as
 * much.  Who was wrong about one that took long is not believed for a while, so the
 * place cannot be used to hold more executors.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/short_requests.h"

/* What takes less is short, what takes more is long (us). */
#define SHORT 50000
#define LONG 500000

/* So many short requests after a long one that was expected to be short a group is trusted again. */
#define PROBATION 16

/* A larger body is not worth reading here. */
#define MOST_BODY (16 * 1024)

uint64
ls_short_request_key(const ls_request *request, uint64 sender)
{
	uint64 hash = ls_hash_keyed(request->path.data, request->path.len, sender + request->route);

	if (request->body.len > MOST_BODY)
		return 0;
	hash = ls_hash_keyed(request->query.data, request->query.len, hash);
	return Max(ls_hash_keyed(request->body.data, request->body.len, hash), 1);
}

static ls_short_request *
find(const ls_short_requests *s, uint64 key)
{
	for (int i = 0; i < LS_SHORT_REQUESTS; i++)
	{
		if (s->known[i].key == key)
			return unconstify(ls_short_request *, &s->known[i]);
	}
	return NULL;
}

bool
ls_short_requests_expect(const ls_short_requests *s, uint64 key)
{
	return key != 0 && s->count >= s->trust && find(s, key) != NULL;
}

/* The place of the one that was short the longest ago. */
static ls_short_request *
oldest(ls_short_requests *s)
{
	ls_short_request *best = &s->known[0];

	for (int i = 1; i < LS_SHORT_REQUESTS; i++)
	{
		if (s->known[i].seen < best->seen)
			best = &s->known[i];
	}
	return best;
}

void
ls_short_requests_learn(ls_short_requests *s, uint64 key, uint64 spent, bool expected)
{
	ls_short_request *known;

	if (key == 0)
		return;
	known = find(s, key);
	if (spent < SHORT)
	{
		if (known == NULL)
			known = oldest(s);
		*known = (ls_short_request){key, ++s->count};
	}
	else
	{
		if (known != NULL)
			*known = (ls_short_request){0};
		if (expected && spent >= LONG)
			s->trust = s->count + PROBATION;
	}
}
