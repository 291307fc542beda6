/*-------------------------------------------------------------------------
 *
 * known.c
 *	  Senders that a worker has told to go on a moment ago.
 *
 * Who sends large bodies is not asked about before each of them.  All that is
 * spared is the question whether the body may be read: a worker judges the
 * complete request again, so what is remembered here lets nobody in.  It is
 * forgotten after some seconds, and when access data change that it depends on.
 *
 * Credentials are kept as keyed hashes only; the key dies with the process.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/known.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/access/access.h"

/* How long a sender is known (ms). */
#define KNOWN_TIME 5000

/* Senders that are remembered; when there are more, all are forgotten. */
#define MAX_KNOWN (LS_ACTIVE_KEYS / 4)

typedef struct known_sender
{
	ls_known_key key; /* hash key */
	TimestampTz since;
	ls_admitted admitted;
} known_sender;

struct ls_known
{
	HTAB *senders;
	MemoryContext context;
	uint8 secret[LS_SHA256_LENGTH];
};

static HTAB *
make_senders(MemoryContext context)
{
	HASHCTL control = {
		.keysize = sizeof(ls_known_key), .entrysize = sizeof(known_sender), .hcxt = context};

	return hash_create("logsvc known senders", 256, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

ls_known *
ls_known_create(void)
{
	ls_known *known = MemoryContextAllocZero(TopMemoryContext, sizeof(*known));

	known->context =
		AllocSetContextCreate(TopMemoryContext, "logsvc known senders", ALLOCSET_DEFAULT_SIZES);
	known->senders = make_senders(known->context);
	if (!pg_strong_random(known->secret, sizeof(known->secret)))
		ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not get random bytes"));
	return known;
}

ls_known_key
ls_known_key_of(const ls_known *known, const ls_request *request)
{
	const ls_str parts[] = {request->authorization, request->api_key,
							request->cookie,        request->organization,
							request->origin,        request->remote,
							request->forwarded_for, {(const char *) &request->route, 4}};
	uint8 text[2 * LS_SHA256_LENGTH];
	ls_known_key key = {{0}};

	/* Each step takes in what came before, so no two lists of parts look alike. */
	for (size_t i = 0; i < lengthof(parts); i++)
	{
		ls_sha256(parts[i].data == NULL ? "" : parts[i].data, parts[i].len,
				  text + LS_SHA256_LENGTH);
		memcpy(text, key.bytes, LS_SHA256_LENGTH);
		if (!ls_hmac_sha256(known->secret, sizeof(known->secret), text, sizeof(text), key.bytes))
			memset(key.bytes, 0, sizeof(key.bytes));
	}
	return key;
}

bool
ls_known_find(ls_known *known, const ls_known_key *key)
{
	const known_sender *sender = hash_search(known->senders, key, HASH_FIND, NULL);

	/* A standby, where it is 0, is not told of changes. */
	return sender != NULL && sender->admitted.epoch != 0 &&
		   sender->admitted.epoch == ls_access_epoch(sender->admitted.watch) &&
		   !TimestampDifferenceExceeds(sender->since, GetCurrentTimestamp(), KNOWN_TIME);
}

void
ls_known_add(ls_known *known, const ls_known_key *key, ls_str until)
{
	known_sender *sender;

	if (until.len != sizeof(ls_admitted))
		return;
	if (hash_get_num_entries(known->senders) >= MAX_KNOWN)
	{
		MemoryContextReset(known->context);
		known->senders = make_senders(known->context);
	}
	sender = hash_search(known->senders, key, HASH_ENTER, NULL);
	sender->since = GetCurrentTimestamp();
	memcpy(&sender->admitted, until.data, sizeof(sender->admitted));
}
