/*-------------------------------------------------------------------------
 *
 * allowlist.c
 *	  From which addresses an organization's credentials are taken.
 *
 * A list is small (the API takes 100 networks), so it is walked.  It is cached
 * by organization until access data changes; most have none, which is cached
 * as a list of no networks.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inet.h"

/* Of an organization; what was put in by hand beyond it lets nobody in. */
#define MAX_NETWORKS 1000
#define MAPPED 96

typedef struct network
{
	ls_address address;
	int bits; /* of the 128 */
} network;

typedef struct allowlist
{
	int n;
	network *networks; /* in the cache's memory */
} allowlist;

static void
release(void *value)
{
	allowlist *list = value;

	if (list->networks != NULL)
		pfree(list->networks);
}

static ls_cache cache = {"logsvc IP allow-lists", sizeof(allowlist), release};

/* An inet as an address; IPv4 is mapped. */
static void
address_of(const inet *value, network *out)
{
	bool v4 = ip_family(value) == PGSQL_AF_INET;

	memset(out, 0, sizeof(*out));
	if (v4)
		out->address.bytes[10] = out->address.bytes[11] = 0xff;
	memcpy(out->address.bytes + (v4 ? MAPPED / 8 : 0), ip_addr(value), v4 ? 4 : 16);
	out->bits = ip_bits(value) + (v4 ? MAPPED : 0);
}

static void
network_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	allowlist *list = context;
	bool null;
	Datum value = SPI_getbinval(tuple, desc, 1, &null);

	if (!null && list->n < MAX_NETWORKS)
		address_of(DatumGetInetPP(value), &list->networks[list->n++]);
}

static bool
contains(const allowlist *list, const ls_address *address)
{
	for (int i = 0; i < list->n; i++)
	{
		if (ls_network_contains(&list->networks[i].address, list->networks[i].bits, address))
			return true;
	}
	return false;
}

/* address NULL: it is not known, and in no list. */
static ls_error_id
check(const pg_uuid_t *organization, const ls_address *address, ls_caught *caught)
{
	static const pg_uuid_t none;
	static const Oid types[] = {UUIDOID};
	static SPIPlanPtr plan = NULL;
	ls_lookup lookup = {"SELECT * FROM logsvc_internal.find_ip_allowlist($1)", 1, types, &plan};
	uint8 key[LS_CACHE_KEY] = {0};
	pg_uuid_t id = *organization;
	network found[MAX_NETWORKS];
	allowlist fresh = {0, found};
	allowlist *list;
	ls_watch watch;
	uint64 epoch;

	/* A session that acts in no organization. */
	if (memcmp(&id, &none, sizeof(none)) == 0)
		return LS_ALLOWED;
	memcpy(key, &id, UUID_LEN);
	if (ls_cache_find(&cache, key, (void **) &list) != LS_CACHE_HIT)
	{
		watch = ls_watch_of(&id, NULL);
		epoch = ls_access_epoch(watch);
		lookup.values[0] = UUIDPGetDatum(&id);
		lookup.row = network_row;
		lookup.context = &fresh;
		if (!ls_lookup_run(&lookup, caught))
			return LS_ERROR_INTERNAL;
		if (ls_access_cacheable() && epoch != 0)
		{
			allowlist kept = {fresh.n, NULL};

			if (kept.n > 0)
			{
				kept.networks = ls_cache_memory(&cache, kept.n * sizeof(network));
				memcpy(kept.networks, found, kept.n * sizeof(network));
			}
			ls_cache_store(&cache, key, &kept, watch, epoch);
		}
		list = &fresh;
	}
	if (list->n == 0 || (address != NULL && contains(list, address)))
		return LS_ALLOWED;
	return LS_ERROR_IP_NOT_ALLOWED;
}

ls_error_id
ls_check_request_address(const ls_request *request, const ls_principal *principal,
						 ls_caught *caught)
{
	ls_address address;
	bool known = ls_request_address(request, &address);

	return check(&principal->organization, known ? &address : NULL, caught);
}

ls_error_id
ls_check_session_address(const ls_principal *principal, ls_caught *caught)
{
	LOCAL_FCINFO(call, 0);
	Datum client;
	network peer;

	/* Not act_as, which is an operator's; workers and local sockets are on the server. */
	if ((principal->kind != LS_PRINCIPAL_TOKEN && principal->kind != LS_PRINCIPAL_KEY) ||
		!principal->session || MyProcPort == NULL)
		return LS_ALLOWED;
	InitFunctionCallInfoData(*call, NULL, 0, InvalidOid, NULL, NULL);
	client = inet_client_addr(call);
	if (call->isnull)
		return LS_ALLOWED;
	address_of(DatumGetInetPP(client), &peer);
	return check(&principal->organization, &peer.address, caught);
}
