/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  What a request that ingests will cost, before anybody looks into it.
 *
 * The gateway gives acceptors so much work at a time that nobody waits long (fair_queue.c of
 * src/workers).  What it needs for that is the size of the unpacked body, which packed bodies say of
 * themselves; the decoder refuses those that say too little.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/ingest.h"

#include "src/decode/wire_format.h"

/* Of any request (us); of so many bytes of a body one microsecond. */
#define REQUEST_COST 20
#define BYTES_COST 64

/*
 * Bytes that are events of four bytes each at worst, of which one costs 0.4 us; no body has
 * more of them than may wait in the queue.
 */
#define EVENT_BYTES (400 * 1024)
#define EVENT_BYTES_COST 10

static size_t
unpacked_size(const ls_request *request)
{
	size_t size = request->body.len;
	const ls_packing *packing;
	const char *expected;
	const ls_wire_format *format = ls_wire_format_of(request, &expected);

	/* What is refused is not unpacked. */
	if (format != NULL && ls_wire_packing_of(format, request, &packing) && packing != NULL)
		size = Max(size, packing->most(request->body));
	return Min(size, LS_BODY_LIMIT);
}

uint32
ls_accept_estimate(const ls_request *request)
{
	size_t size = unpacked_size(request);

	return REQUEST_COST + (uint32) (size / BYTES_COST + Min(size, EVENT_BYTES) / EVENT_BYTES_COST);
}
