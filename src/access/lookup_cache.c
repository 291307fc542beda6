/*-------------------------------------------------------------------------
 *
 * lookup_cache.c
 *	  Which indexes exist, and the limits of rates and quotas: small facts that every
 *	  request asks, cached by the epoch of what they depend on.
 *
 *-------------------------------------------------------------------------
 */
#include "src/access/access_internal.h"

#include <limits.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"

/* How many times the limits of the specification logsvc.limits = generous allows. */
#define GENEROUS 60

typedef struct rate
{
	bool found;
	ls_rate_class of; /* as the table has it */
} rate;

typedef struct cached_index
{
	bool exists;
	int days;    /* of retention; -1: for ever */
	bool parses; /* JSON in texts */
} cached_index;

static ls_cache index_cache = {"logsvc indexes", sizeof(cached_index)};
static ls_cache rate_cache = {"logsvc rate limits", sizeof(rate)};
static ls_cache owner_cache = {"logsvc owners", sizeof(pg_uuid_t)};
static ls_cache maker_cache = {"logsvc makers of keys", sizeof(pg_uuid_t)};
static ls_cache listener_cache = {"logsvc organizations of listeners", sizeof(pg_uuid_t)};
static ls_cache quota_cache = {"logsvc quotas", sizeof(ls_ingest_quota)};

void
ls_access_register(bool preloaded)
{
	ls_epoch_register(preloaded);
	ls_principal_register();
	ls_password_register(preloaded);
	ls_oauth_register(preloaded);
	if (preloaded)
		ls_rate_limit_register();
}

static void
index_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	cached_index *fact = context;
	bool null;
	Datum value = SPI_getbinval(tuple, desc, 1, &null);

	fact->exists = true;
	fact->days = null ? -1 : DatumGetInt32(value);
	value = SPI_getbinval(tuple, desc, 2, &null);
	fact->parses = !null && DatumGetBool(value);
}

static bool
find_index(const pg_uuid_t *organization, ls_str name, cached_index *found)
{
	static const Oid types[] = {UUIDOID, TEXTOID};
	static SPIPlanPtr plan = NULL;
	ls_lookup lookup = {"SELECT * FROM logsvc_internal.find_index($1, $2)", 2, types, &plan};
	uint8 material[UUID_LEN + LS_INDEX_NAME_LENGTH];
	uint8 key[LS_CACHE_KEY];
	cached_index fact = {.days = -1};
	cached_index *cached;
	ls_watch watch = ls_watch_of(organization, NULL);
	uint64 epoch;
	pg_uuid_t id = *organization;
	struct varlena *text;
	ls_caught caught;

	if (name.len == 0 || name.len > LS_INDEX_NAME_LENGTH)
		return false;
	/* Nearly every name is short: the key is then what it stands for. */
	if (name.len <= LS_CACHE_KEY - UUID_LEN)
	{
		memset(key, 0, sizeof(key));
		memcpy(key, &id, UUID_LEN);
		memcpy(key + UUID_LEN, name.data, name.len);
	}
	else
	{
		memcpy(material, &id, UUID_LEN);
		memcpy(material + UUID_LEN, name.data, name.len);
		ls_sha256(material, UUID_LEN + name.len, key);
	}
	switch (ls_cache_find(&index_cache, key, (void **) &cached))
	{
		case LS_CACHE_HIT:
			*found = *cached;
			return true;
		case LS_CACHE_ABSENT:
			return false;
		case LS_CACHE_MISS:
			break;
	}

	epoch = ls_access_epoch(watch);
	text = ls_text_of_str(name);
	lookup.values[0] = UUIDPGetDatum(&id);
	lookup.values[1] = PointerGetDatum(text);
	lookup.row = index_row;
	lookup.context = &fact;
	if (ls_lookup_run(&lookup, &caught))
		ls_cache_store(&index_cache, key, fact.exists ? &fact : NULL, watch, epoch);
	else
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not look up an index: %s", caught.format));
	pfree(text);
	*found = fact;
	return fact.exists;
}

bool
ls_index_find(const pg_uuid_t *organization, ls_str name, int *days)
{
	cached_index found = {.days = -1};

	if (!find_index(organization, name, &found))
		return false;
	*days = found.days;
	return true;
}

bool
ls_index_parses_json(const pg_uuid_t *organization, ls_str name)
{
	cached_index found;

	return find_index(organization, name, &found) && found.parses;
}

typedef struct found_pipelines
{
	MemoryContext context;
	ls_str definition;
} found_pipelines;

static void
pipelines_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	found_pipelines *found = context;
	bool null;
	Datum value = SPI_getbinval(tuple, desc, 1, &null);
	ls_str found_text;
	char *copy;

	if (null)
		return;
	found_text = ls_str_of_text(DatumGetTextPP(value));
	copy = MemoryContextAlloc(found->context, found_text.len + 1);
	memcpy(copy, found_text.data, found_text.len);
	found->definition = ls_str_make(copy, found_text.len);
}

bool
ls_pipelines_find(const pg_uuid_t *organization, MemoryContext context, ls_str *definition)
{
	static const Oid types[] = {UUIDOID};
	static SPIPlanPtr plan = NULL;
	ls_lookup lookup = {"SELECT * FROM logsvc_internal.find_pipelines($1)", 1, types, &plan};
	found_pipelines found = {context, LS_STR("")};
	pg_uuid_t id = *organization;
	ls_caught caught;

	lookup.values[0] = UUIDPGetDatum(&id);
	lookup.row = pipelines_row;
	lookup.context = &found;
	if (!ls_lookup_run(&lookup, &caught))
	{
		ereport(
			LOG, errcode(caught.sqlstate),
			errmsg("logsvc could not look up the pipelines of an organization: %s", caught.format));
		return false;
	}
	*definition = found.definition;
	return true;
}

static void
rate_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	rate *r = context;
	bool null;
	Datum value = SPI_getbinval(tuple, desc, 1, &null);
	const char *scope;

	if (null)
		return;
	r->found = true;
	r->of.per_minute = DatumGetInt32(value);
	scope = TextDatumGetCString(SPI_getbinval(tuple, desc, 2, &null));
	r->of.scope = strcmp(scope, "organization") == 0 ? LS_RATE_ORGANIZATION
				  : strcmp(scope, "caller") == 0     ? LS_RATE_CALLER
				  : strcmp(scope, "user") == 0       ? LS_RATE_USER
				  : strcmp(scope, "credential") == 0
					  ? LS_RATE_CREDENTIAL
					  : LS_RATE_ADDRESS; /* account: of no principal either */
	r->of.timed = DatumGetBool(SPI_getbinval(tuple, desc, 3, &null));
	r->of.overdraft = DatumGetInt32(SPI_getbinval(tuple, desc, 4, &null));
	r->of.by_setting = !DatumGetBool(SPI_getbinval(tuple, desc, 5, &null));
}

/*
 * Does logsvc.limits decide about a class whose row is as it was brought?  Not where the limit
 * keeps strangers from guessing: of addresses, of a password, of what is forbidden.
 */
static bool
follows_setting(const char *class_name, ls_rate_scope scope)
{
	return scope != LS_RATE_ADDRESS && strcmp(class_name, "password") != 0 &&
		   strcmp(class_name, "forbidden") != 0;
}

/*
 * Sixty times as much, and of requests for each user and key by themselves.  What bounds a whole
 * organization, and what it changes, still counts for the organization.
 */
static void
be_generous(const char *class_name, ls_rate_class *of)
{
	if (of->scope == LS_RATE_ORGANIZATION && strcmp(class_name, LS_RATE_EXECUTOR) != 0 &&
		strcmp(class_name, "all_changes") != 0)
		of->scope = LS_RATE_CALLER;
	of->per_minute = (int) Min((int64) of->per_minute * GENEROUS, INT_MAX / 1000);
}

/*
 * The limit of a class when it cannot be looked up now, as where replay cancels queries of a
 * standby: the one that was found last, or one that no class goes below.
 */
#define KNOWN_RATES 32

typedef struct known_rate
{
	uint8 key[LS_CACHE_KEY];
	bool known;
	rate value;
} known_rate;

static known_rate known_rates[KNOWN_RATES];

static known_rate *
known_rate_of(const uint8 key[LS_CACHE_KEY])
{
	for (int i = 0; i < KNOWN_RATES; i++)
	{
		if (known_rates[i].key[0] == 0)
			memcpy(known_rates[i].key, key, LS_CACHE_KEY);
		if (memcmp(known_rates[i].key, key, LS_CACHE_KEY) == 0)
			return &known_rates[i];
	}
	return NULL;
}

static rate
rate_without_lookup(const uint8 key[LS_CACHE_KEY])
{
	const known_rate *last = known_rate_of(key);
	bool of_address = strcmp((const char *) key, "unauthorized") == 0;

	if (last != NULL && last->known)
		return last->value;
	return (rate){true, {10, of_address ? LS_RATE_ADDRESS : LS_RATE_CALLER, false, 1, false}};
}

bool
ls_rate_limit_of(const char *class_name, ls_rate_class *of)
{
	static const Oid types[] = {TEXTOID};
	static SPIPlanPtr plan = NULL;
	ls_lookup lookup = {"SELECT * FROM logsvc_internal.find_rate_limit($1)", 1, types, &plan};
	uint8 key[LS_CACHE_KEY] = {0};
	rate fresh = {0};
	rate *cached;
	/* Limits concern all. */
	ls_watch watch = {{0}};
	uint64 epoch;
	text *name;
	ls_caught caught;

	if (strlen(class_name) == 0 || strlen(class_name) >= sizeof(key))
		return false;
	memcpy(key, class_name, strlen(class_name));
	if (ls_cache_find(&rate_cache, key, (void **) &cached) == LS_CACHE_HIT)
		fresh = *cached;
	else
	{
		epoch = ls_access_epoch(watch);
		name = cstring_to_text(class_name);
		lookup.values[0] = PointerGetDatum(name);
		lookup.row = rate_row;
		lookup.context = &fresh;
		if (ls_lookup_run(&lookup, &caught))
		{
			known_rate *last = known_rate_of(key);

			ls_cache_store(&rate_cache, key, &fresh, watch, epoch);
			if (last != NULL)
			{
				last->value = fresh;
				last->known = true;
			}
		}
		else
		{
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not look up a rate limit: %s", caught.format));
			fresh = rate_without_lookup(key);
		}
		pfree(name);
	}
	*of = fresh.of;
	of->by_setting = of->by_setting && follows_setting(class_name, of->scope);
	if (of->by_setting && ls_limits == LS_LIMITS_GENEROUS)
		be_generous(class_name, of);
	return fresh.found;
}

static void
quota_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	ls_ingest_quota *quota = context;
	int64 *const members[] = {&quota->limit, &quota->overage_seconds, &quota->deferred_limit};

	bool null;

	for (int i = 0; i < (int) lengthof(members); i++)
	{
		Datum value = SPI_getbinval(tuple, desc, i + 1, &null);

		*members[i] = null ? -1 : DatumGetInt64(value);
	}
	quota->owner = *DatumGetUUIDP(SPI_getbinval(tuple, desc, lengthof(members) + 1, &null));
	quota->read_only = DatumGetBool(SPI_getbinval(tuple, desc, lengthof(members) + 2, &null));
}

static void
only_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	bool null;
	Datum value = SPI_getbinval(tuple, desc, 1, &null);

	if (!null)
		*(pg_uuid_t *) context = *DatumGetUUIDP(value);
}

/*
 * Is it the only organization?  Known by itself, because each new organization changes it: that
 * must not make all quotas be looked up again.
 */
static bool
is_only(const pg_uuid_t *organization)
{
	static SPIPlanPtr plan = NULL;
	static pg_uuid_t only; /* zeros: there are several */
	static uint64 known = 0;
	ls_lookup lookup = {"SELECT logsvc_internal.only_organization()", 0, NULL, &plan};
	ls_watch watch = ls_watch_organizations();
	uint64 epoch = ls_access_epoch(watch);
	ls_caught caught;

	if (known != epoch || !ls_access_cacheable())
	{
		pg_uuid_t found = {{0}};

		lookup.row = only_row;
		lookup.context = &found;
		known = 0;
		if (!ls_lookup_run(&lookup, &caught))
		{
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not look up organizations: %s", caught.format));
			return false;
		}
		only = found;
		known = ls_access_cacheable() ? epoch : 0;
	}
	return memcmp(&only, organization, UUID_LEN) == 0;
}

bool
ls_ingest_quota_of(const pg_uuid_t *organization, bool test, ls_ingest_quota *quota)
{
	static const Oid types[] = {UUIDOID, BOOLOID};
	static SPIPlanPtr plan = NULL;
	ls_lookup lookup = {"SELECT * FROM logsvc_internal.find_ingest_quota($1, $2)", 2, types, &plan};
	uint8 key[LS_CACHE_KEY] = {0};
	ls_ingest_quota *cached;
	pg_uuid_t id = *organization;
	ls_watch watch = ls_watch_of(organization, NULL);
	uint64 epoch;
	ls_caught caught;

	memcpy(key, &id, UUID_LEN);
	key[UUID_LEN] = test;
	if (ls_cache_find(&quota_cache, key, (void **) &cached) == LS_CACHE_HIT)
	{
		*quota = *cached;
		quota->alone = is_only(&id);
		return true;
	}
	epoch = ls_access_epoch(watch);
	*quota = (ls_ingest_quota){-1, 0, -1, false, id, false};
	lookup.values[0] = UUIDPGetDatum(&id);
	lookup.values[1] = BoolGetDatum(test);
	lookup.row = quota_row;
	lookup.context = quota;
	if (!ls_lookup_run(&lookup, &caught))
	{
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not look up a quota: %s", caught.format));
		return false;
	}
	ls_cache_store(&quota_cache, key, quota, watch, epoch);
	quota->alone = is_only(&id);
	return true;
}

static void
user_row(void *context, HeapTuple tuple, TupleDesc desc)
{
	bool null;
	Datum value = SPI_getbinval(tuple, desc, 1, &null);

	if (!null)
		*(pg_uuid_t *) context = *DatumGetUUIDP(value);
}

/* The user that `lookup` finds by an id, or the organization when it finds none or fails. */
static pg_uuid_t
find_user(ls_cache *cache, ls_lookup *lookup, const pg_uuid_t *id, const pg_uuid_t *organization)
{
	uint8 key[LS_CACHE_KEY] = {0};
	pg_uuid_t by = *id;
	pg_uuid_t user = *organization;
	pg_uuid_t *cached;
	ls_watch watch = ls_watch_of(organization, NULL);
	uint64 epoch;
	ls_caught caught;

	memcpy(key, id, UUID_LEN);
	if (ls_cache_find(cache, key, (void **) &cached) == LS_CACHE_HIT)
		return *cached;
	epoch = ls_access_epoch(watch);
	lookup->values[0] = UUIDPGetDatum(&by);
	lookup->row = user_row;
	lookup->context = &user;
	if (ls_lookup_run(lookup, &caught))
		ls_cache_store(cache, key, &user, watch, epoch);
	else
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not look up a user: %s", caught.format));
	return user;
}

ls_error_id
ls_find_listener(ls_str name, pg_uuid_t *organization, ls_caught *caught)
{
	static const Oid types[] = {TEXTOID};
	static const pg_uuid_t none;
	static SPIPlanPtr plan = NULL;
	ls_lookup lookup = {"SELECT logsvc_internal.find_listener($1)", 1, types, &plan};
	uint8 key[LS_CACHE_KEY];
	pg_uuid_t *cached;
	struct varlena *text;
	/* What they are called, and which of them are deleted. */
	ls_watch watch = ls_watch_organizations();
	uint64 epoch;
	bool done;

	ls_sha256(name.data, name.len, key);
	switch (ls_cache_find(&listener_cache, key, (void **) &cached))
	{
		case LS_CACHE_HIT:
			*organization = *cached;
			return LS_ALLOWED;
		case LS_CACHE_ABSENT:
			return LS_ERROR_NOT_FOUND;
		case LS_CACHE_MISS:
			break;
	}
	epoch = ls_access_epoch(watch);
	*organization = none;
	text = ls_text_of_str(name);
	lookup.values[0] = PointerGetDatum(text);
	lookup.row = user_row;
	lookup.context = organization;
	done = ls_lookup_run(&lookup, caught);
	pfree(text);
	if (!done)
		return LS_ERROR_INTERNAL;
	if (memcmp(organization, &none, sizeof(none)) == 0)
	{
		ls_cache_store(&listener_cache, key, NULL, watch, epoch);
		return LS_ERROR_NOT_FOUND;
	}
	ls_cache_store(&listener_cache, key, organization, watch, epoch);
	return LS_ALLOWED;
}

pg_uuid_t
ls_owner_of(const pg_uuid_t *organization)
{
	static const Oid types[] = {UUIDOID};
	static SPIPlanPtr plan = NULL;
	ls_lookup lookup = {"SELECT logsvc_internal.find_owner($1)", 1, types, &plan};

	return find_user(&owner_cache, &lookup, organization, organization);
}

pg_uuid_t
ls_person_of(const ls_principal *principal)
{
	static const Oid types[] = {UUIDOID};
	static SPIPlanPtr plan = NULL;
	ls_lookup lookup = {"SELECT logsvc_internal.find_key_maker($1)", 1, types, &plan};

	if (principal->kind != LS_PRINCIPAL_KEY)
		return principal->user;
	return find_user(&maker_cache, &lookup, &principal->credential, &principal->organization);
}

void
ls_rate_key(const ls_principal *principal, const ls_request *request, ls_rate_scope scope,
			uint8 key[16])
{
	static const pg_uuid_t nobody;
	ls_address address;
	pg_uuid_t person;
	uint8 hash[LS_SHA256_LENGTH];

	if ((scope == LS_RATE_USER && principal->kind != LS_PRINCIPAL_KEY &&
		 memcmp(&principal->user, &nobody, UUID_LEN) == 0) ||
		(scope == LS_RATE_CREDENTIAL && memcmp(&principal->credential, &nobody, UUID_LEN) == 0))
		scope = LS_RATE_CALLER;
	switch (scope)
	{
		case LS_RATE_ORGANIZATION:
			memcpy(key, &principal->organization, 16);
			break;
		case LS_RATE_CALLER:
			memcpy(key, principal->caller, 16);
			break;
		case LS_RATE_USER:
			person = ls_person_of(principal);
			/* Others may use the keys: what is done with them does not count for the user. */
			if (principal->kind == LS_PRINCIPAL_KEY)
			{
				ls_sha256(person.data, UUID_LEN, hash);
				memcpy(person.data, hash, UUID_LEN);
			}
			memcpy(key, &person, 16);
			break;
		case LS_RATE_ADDRESS:
			/* Who has no address shares one window. */
			if (!ls_request_address(request, &address))
				memset(&address, 0, sizeof(address));
			ls_address_rate_key(&address, key);
			break;
		case LS_RATE_CREDENTIAL:
			memcpy(key, &principal->credential, 16);
			break;
	}
}
