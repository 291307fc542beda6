/*-------------------------------------------------------------------------
 *
 * accept_key.c
 *	  Idempotency-Key of requests that ingest: a batch that is sent again is
 *	  answered as before, and stored once.
 *
 * The answer is inserted in the transaction that commits the events, so there is
 * never one without the other.  From the look-up to the end of that transaction the
 * acceptor holds a lock of the key: of two requests that come at once the second one
 * waits, as those do for which the queue has no room, and then gets the answer of
 * the first.  Nothing of this is done for requests without a key.
 *
 *-------------------------------------------------------------------------
 */
#include "src/ingest/accept.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lock.h"

#include "src/access/access.h"

/* Visible characters of a key. */
#define LONGEST_KEY 255

/*
 * The fourth field of the lock's tag; SQL's advisory locks have 1 and 2 there, so no session can
 * take this one.
 */
#define LOCK_CLASS 0x4C53

static void
add_part(ls_buf *buf, ls_str part)
{
	ls_buf_printf(buf, "%zu:", part.len);
	ls_buf_str(buf, part);
}

/* Whose key it is: of a caller, for one route. */
static void
hash_key(const ls_sender *sender, const ls_request *request, ls_buf *buf, uint8 *hash)
{
	buf->len = 0;
	add_part(buf, LS_STR("logsvc ingest"));
	add_part(buf, ls_str_make((const char *) sender->caller, sizeof(sender->caller)));
	add_part(buf, ls_str_of_cstring(ls_routes[request->route].name));
	add_part(buf, request->idempotency_key);
	ls_sha256(buf->data, buf->len, hash);
}

/* What the request asks for: all that its events depend on. */
static void
hash_request(const ls_request *request, ls_buf *buf, uint8 *hash)
{
	uint8 body[LS_SHA256_LENGTH];

	ls_sha256(request->body.data, request->body.len, body);
	buf->len = 0;
	add_part(buf, request->path);
	add_part(buf, request->query);
	add_part(buf, request->content_type);
	add_part(buf, request->content_encoding);
	add_part(buf, request->index);
	add_part(buf, request->parse);
	add_part(buf, ls_str_make((const char *) body, sizeof(body)));
	ls_sha256(buf->data, buf->len, hash);
}

static LOCKTAG
lock_of(const accept_key *key)
{
	LOCKTAG tag;
	uint32 parts[2];

	memcpy(parts, key->hash, sizeof(parts));
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, parts[0], parts[1], LOCK_CLASS);
	return tag;
}

void
ls_accept_key_release(ls_accept *accept, int n)
{
	while (accept->n_keys > n)
	{
		LOCKTAG tag = lock_of(&accept->keys[--accept->n_keys]);

		(void) LockRelease(&tag, ExclusiveLock, true);
	}
}

/* ---- the look-up ---- */

typedef struct lookup
{
	ls_accept *accept;
	accept_key *key;
	bool locked;
	bool found;
	bool same;
	ls_str answer; /* in accept->scratch */
} lookup;

static bytea *
bytes_of(const void *data, size_t len)
{
	return (bytea *) ls_text_of_str(ls_str_make(data, len));
}

static void
look_up(void *context)
{
	static const Oid types[] = {BYTEAOID};
	static SPIPlanPtr plan = NULL;
	lookup *l = context;
	LOCKTAG tag = lock_of(l->key);
	Datum values[1];
	ls_str hash;
	bool null;

	/* First: who had it has committed by the time the statement takes its snapshot. */
	l->locked = LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
	if (!l->locked)
		return;
	l->accept->n_keys++;
	if (plan == NULL)
	{
		SPIPlanPtr made =
			SPI_prepare("SELECT request_hash, answer FROM logsvc_internal.ingest_answer "
						"WHERE key_hash = $1 AND created_at > now() - interval '24 hours'",
						lengthof(types), (Oid *) types);

		if (made == NULL || SPI_keepplan(made) != 0)
			elog(ERROR, "could not prepare the look-up of an Idempotency-Key");
		plan = made;
	}
	values[0] = PointerGetDatum(bytes_of(l->key->hash, sizeof(l->key->hash)));
	if (SPI_execute_plan(plan, values, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look up an Idempotency-Key");
	if (SPI_processed == 0)
		return;
	l->found = true;
	hash = ls_str_of_text((struct varlena *) PG_DETOAST_DATUM_PACKED(
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null)));
	l->same = ls_str_eq(hash, ls_str_make((const char *) l->key->request, LS_SHA256_LENGTH));
	if (l->same)
		l->answer =
			ls_arena_strdup(l->accept->scratch,
							ls_str_of_text((struct varlena *) PG_DETOAST_DATUM_PACKED(SPI_getbinval(
								SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &null))));
}

static bool
is_valid(ls_str key)
{
	for (size_t i = 0; i < key.len; i++)
	{
		if (key.len > LONGEST_KEY || key.data[i] <= ' ' || key.data[i] > '~')
			return false;
	}
	return true;
}

accept_key_state
ls_accept_key_begin(ls_accept *accept, const ls_sender *sender, const ls_request *request)
{
	int before = accept->n_keys;
	accept_key *key = &accept->keys[before];
	lookup l = {.accept = accept, .key = key};
	ls_caught caught;
	ls_buf text;

	if (!is_valid(request->idempotency_key))
	{
		ls_accept_refuse(accept, request, LS_ERROR_VALIDATION,
						 "Idempotency-Key must be 1 to 255 visible characters", NULL);
		return ACCEPT_KEY_DONE;
	}
	ls_arena_reset(accept->scratch);
	ls_buf_init(&text, accept->scratch);
	hash_key(sender, request, &text, key->hash);
	hash_request(request, &text, key->request);
	/* Of this group: its lock is ours, and would be given to us again. */
	for (int i = 0; i < before; i++)
	{
		if (memcmp(accept->keys[i].hash, key->hash, sizeof(key->hash)) == 0)
			return ACCEPT_KEY_BUSY;
	}
	if (text.failed || !ls_transaction(look_up, &l, &caught))
	{
		ls_accept_key_release(accept, before);
		if (!text.failed)
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not look up an Idempotency-Key: %s", caught.format));
		ls_accept_refuse(accept, request, LS_ERROR_QUEUE_UNAVAILABLE, NULL, NULL);
		return ACCEPT_KEY_DONE;
	}
	if (!l.locked)
		return ACCEPT_KEY_BUSY;
	if (!l.found)
		return ACCEPT_KEY_NEW;
	ls_accept_key_release(accept, before);
	if (!l.same)
		ls_accept_refuse(accept, request, LS_ERROR_IDEMPOTENCY_CONFLICT, NULL, NULL);
	else
		ls_accept_answer_again(accept, request, l.answer);
	return ACCEPT_KEY_DONE;
}

/* ---- the answer ---- */

void
ls_accept_key_keep(const waiting *entry, ls_str answer)
{
	static const Oid types[] = {BYTEAOID, UUIDOID, BYTEAOID, BYTEAOID};
	static SPIPlanPtr plan = NULL;
	Datum values[4];

	if (plan == NULL)
	{
		SPIPlanPtr made = SPI_prepare(
			"INSERT INTO logsvc_internal.ingest_answer (key_hash, organization_id, request_hash, "
			"answer) VALUES ($1, $2, $3, $4) ON CONFLICT (key_hash) DO UPDATE SET request_hash = "
			"excluded.request_hash, answer = excluded.answer, created_at = excluded.created_at",
			lengthof(types), (Oid *) types);

		if (made == NULL || SPI_keepplan(made) != 0)
			elog(ERROR, "could not prepare the insertion of an answer");
		plan = made;
	}
	values[0] = PointerGetDatum(bytes_of(entry->key->hash, sizeof(entry->key->hash)));
	values[1] = UUIDPGetDatum(&entry->organization);
	values[2] = PointerGetDatum(bytes_of(entry->key->request, sizeof(entry->key->request)));
	values[3] = PointerGetDatum(bytes_of(answer.data, answer.len));
	if (SPI_execute_plan(plan, values, NULL, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not keep an answer");
}
