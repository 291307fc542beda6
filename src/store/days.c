/*-------------------------------------------------------------------------
 *
 * days.c
 *	  Partitions of days: who makes them, and when a day shall have one.
 *
 * A writer makes the partition of a past day before it stores the first events of that
 * day.  Timestamps come from senders, so there is a bound: a day has a partition only when
 * it is one of the last LS_STORE_DAYS and somebody still keeps such events.  Whatever is
 * sent, there are no more partitions than a year makes.
 *
 * Attaching a partition takes a lock that nobody else may have on the default partition.
 * Whoever waits for a lock makes others queue up, so we wait for some ms only, and try
 * again a moment later.  When the lock cannot be had at all, events go to the default
 * partition; then their day stays there, because moving parts would take them from
 * searches with an older snapshot.
 *
 * An import brings events of many days in one long transaction, which must not hold that
 * lock until it ends.  So it asks the first writer for their partitions, and waits.
 *
 *-------------------------------------------------------------------------
 */
#include "src/store/store.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "src/ipc/ipc.h"

PG_FUNCTION_INFO_V1(logsvc_ask_for_days);

#define TRIES 20
#define LOCK_TIMEOUT "10ms"
#define TRY_INTERVAL 25000 /* us */

/* For so long a day is not tried again; and how many are remembered. */
#define REFUSED_TIME (60 * USECS_PER_SEC)
#define MAX_REFUSED 512

static struct
{
	DateADT day;
	TimestampTz until; /* 0: none */
} refused[MAX_REFUSED];

/* Days that somebody has asked for: a bit for each number modulo ASKED_DAYS. */
#define ASKED_DAYS (6 * 64)
StaticAssertDecl(ASKED_DAYS >= LS_STORE_DAYS, "no two days may have one bit");

static pg_atomic_uint64 *asked = NULL;

static void
init_asked(void)
{
	for (int i = 0; i < ASKED_DAYS / 64; i++)
		pg_atomic_init_u64(&asked[i], 0);
}

static const ls_shmem_item item = {"logsvc days", ASKED_DAYS / 64 * sizeof(pg_atomic_uint64),
								   (void **) &asked, init_asked};

void
ls_store_register(void)
{
	ls_shmem_add(&item);
}

static DateADT
today(void)
{
	return DatumGetDateADT(ls_store_day(ls_now()));
}

static bool
has_partition(DateADT day)
{
	char name[NAMEDATALEN];
	int year;
	int month;
	int d;

	j2date(day + POSTGRES_EPOCH_JDATE, &year, &month, &d);
	snprintf(name, sizeof(name), "part_%04d%02d%02d", year, month, d);
	return OidIsValid(get_relname_relid(name, get_namespace_oid("logsvc_internal", false)));
}

static bool
is_refused(DateADT day)
{
	int i = (int) ((uint32) day % MAX_REFUSED);

	return refused[i].day == day && refused[i].until > GetCurrentTimestamp();
}

static void
refuse(DateADT day)
{
	int i = (int) ((uint32) day % MAX_REFUSED);

	refused[i].day = day;
	refused[i].until = GetCurrentTimestamp() + REFUSED_TIME;
}

/*
 * Does anybody keep events of that day, or does all of it go at the next look?  By all, not by
 * whose the events are: what is past the retention of one, in the default partition, would keep
 * the events of others from having a partition.
 */
static bool
is_kept(DateADT day)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {DATEOID};
	Datum values[] = {DateADTGetDatum(day)};

	if (plan == NULL)
	{
		/* As logsvc_internal.expire_parts has it; reserved indexes take nothing from senders. */
		SPIPlanPtr made = SPI_prepare(
			"SELECT FROM logsvc_internal.index_retention AS r"
			" WHERE NOT pg_catalog.starts_with(r.name, '_')"
			" AND (($1 + 1)::pg_catalog.timestamp AT TIME ZONE 'UTC'"
			"  < pg_catalog.now() - pg_catalog.make_interval(days => r.days)) IS NOT TRUE LIMIT 1",
			lengthof(types), (Oid *) types);

		if (made == NULL || SPI_keepplan(made) != 0)
			elog(ERROR, "could not prepare looking for a retention");
		plan = made;
	}
	if (SPI_execute_plan(plan, values, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look for a retention");
	return SPI_processed == 1;
}

bool
ls_store_misses_day(DateADT day)
{
	DateADT now = today();

	if (day <= now - LS_STORE_DAYS || day > now + 2 || has_partition(day) || is_refused(day))
		return false;
	if (is_kept(day))
		return true;
	refuse(day);
	return false;
}

typedef struct making
{
	DateADT day;
	bool made;
} making;

static void
make(void *context)
{
	static const Oid types[] = {DATEOID};
	making *m = context;
	Datum values[] = {DateADTGetDatum(m->day)};
	bool isnull;

	/* Who makes partitions waits for others who do; nobody else waits for this lock. */
	ls_store_limit_waits();
	LockRelationOid(get_relname_relid("part", get_namespace_oid("logsvc_internal", false)),
					ShareUpdateExclusiveLock);
	ls_transaction_set("lock_timeout", LOCK_TIMEOUT);
	/* Others wait for our lock until we have committed; and an empty table is soon made again. */
	ls_transaction_set("synchronous_commit", "off");
	if (SPI_execute_with_args("SELECT logsvc_internal.make_part_partition($1)", lengthof(types),
							  (Oid *) types, values, NULL, false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not make a partition of the store");
	m->made = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	LS_STOP_POINT("partition_before_commit");
}

/* False: see *caught.  Whether there is a partition then says m->made. */
static bool
make_patiently(making *m, ls_caught *caught)
{
	for (int i = 0; i < TRIES; i++)
	{
		if (i > 0)
			pg_usleep(TRY_INTERVAL);
		CHECK_FOR_INTERRUPTS();
		if (ls_transaction(make, m, caught))
			return true;
		if (caught->sqlstate != ERRCODE_LOCK_NOT_AVAILABLE)
			break;
	}
	return false;
}

bool
ls_store_make_days(const DateADT *days, int n)
{
	bool all = true;
	bool failed = false;

	for (int i = 0; i < n; i++)
	{
		making m = {.day = days[i]};
		ls_caught caught;

		/* What was in the way of one is in the way of the others. */
		if (!failed && !make_patiently(&m, &caught))
		{
			failed = true;
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not make partitions of its store: %s", caught.format),
					errdetail("Events of those days go to logsvc_internal.part_other meanwhile."));
		}
		if (!m.made)
		{
			refuse(days[i]);
			all = false;
		}
	}
	return all;
}

/* The number of a day that is not negative, modulo ASKED_DAYS. */
static int
asked_bit(DateADT day)
{
	return ((int) (day % ASKED_DAYS) + ASKED_DAYS) % ASKED_DAYS;
}

/*
 * ask_for_days(days date[]) returns boolean: asks the first writer for the partitions of past days, of
 * the last LS_STORE_DAYS.  False: no service runs that could make them.
 */
Datum
logsvc_ask_for_days(PG_FUNCTION_ARGS)
{
	DateADT now = today();
	Datum *days;
	bool *nulls;
	int n;

	if (!ls_shmem_ready() || ls_slot_get(LS_WORKER_WRITER, 0)->state != LS_SLOT_RUNNING)
		PG_RETURN_BOOL(false);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), DATEOID, sizeof(DateADT), true, TYPALIGN_INT, &days,
					  &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		DateADT day = nulls[i] ? DATEVAL_NOEND : DatumGetDateADT(days[i]);
		int bit = asked_bit(day);

		if (day > now - LS_STORE_DAYS && day <= now)
			pg_atomic_fetch_or_u64(&asked[bit / 64], UINT64CONST(1) << bit % 64);
	}
	ls_slot_wake(ls_slot_get(LS_WORKER_WRITER, 0));
	PG_RETURN_BOOL(true);
}

void
ls_store_make_asked_days(void)
{
	DateADT now = today();
	DateADT days[ASKED_DAYS];
	int n = 0;

	for (int i = 0; i < ASKED_DAYS / 64; i++)
	{
		uint64 bits = pg_atomic_read_u64(&asked[i]);

		if (bits == 0)
			continue;
		bits = pg_atomic_exchange_u64(&asked[i], 0);
		for (DateADT day = now - LS_STORE_DAYS + 1; day <= now; day++)
		{
			int bit = asked_bit(day);

			if (bit / 64 == i && (bits >> bit % 64 & 1) != 0)
				days[n++] = day;
		}
	}
	if (n > 0)
		(void) ls_store_make_days(days, n);
}

bool
ls_store_make_days_ahead(void)
{
	DateADT now = today();
	const DateADT days[] = {now, now + 1, now + 2};

	return ls_store_make_days(days, lengthof(days));
}
