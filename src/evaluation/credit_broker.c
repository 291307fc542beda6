/*-------------------------------------------------------------------------
 *
 * credit_broker.c
 *	  Credits of SQL callers, kept by an evaluator.
 *
 * What a session writes is undone when its transaction is rolled back, and a
 * lock that it takes lasts until its end.  But a model that has been asked has
 * been paid, whatever becomes of the transaction, and other evaluations of the
 * organization must not wait for it.  So a session that calls a model has an
 * evaluator reserve and settle: it leaves a note in shared memory and wakes
 * it; the evaluator runs the step in a transaction of its own.
 *
 * Where no evaluator runs (the library is not preloaded, another database),
 * the statements join the transaction of the session.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/evaluation.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "src/ipc/ipc.h"

#define NOTES 64
#define NAME_LENGTH 256
#define PATIENCE 15000 /* ms, for an evaluator that does not answer */
#define STALE 60000    /* ms, after which nobody can still want a note */

typedef enum note_state
{
	NOTE_FREE,
	NOTE_ASKED,
	NOTE_SERVED, /* an evaluator has it */
	NOTE_ANSWERED
} note_state;

/* Texts are NUL-terminated; names in the catalogue of models are shorter. */
typedef struct note
{
	note_state state;
	bool abandoned; /* nobody waits for the answer */
	uint64 ticket;  /* tells a note from a later one in its place */
	TimestampTz since;
	PGPROC *asker;

	ls_broker_kind kind;
	ls_broker_outcome outcome;
	ls_credit_payer payer;
	int64 reservation;
	int64 micro_credits;
	int64 tokens_in;
	int64 tokens_out;
	char model[NAME_LENGTH];
	char region[NAME_LENGTH];
	char provider[32];

	/* What a reservation was granted. */
	ls_credit_grant grant; /* without its texts */
	char granted_model[NAME_LENGTH];
	char provider_model[NAME_LENGTH];
} note;

typedef struct broker_state
{
	pg_atomic_uint32 asked;
	uint64 last_ticket;
	note notes[NOTES];
} broker_state;

static broker_state *shared = NULL;

static void
init_shared(void)
{
	pg_atomic_init_u32(&shared->asked, 0);
}

static const ls_shmem_item item = {"logsvc credit broker", sizeof(broker_state), (void **) &shared,
								   init_shared};

void
ls_evaluation_register(void)
{
	ls_shmem_add(&item);
}

static void
put_text(char *out, size_t size, ls_str text)
{
	size_t n = text.len < size ? text.len : 0; /* too long for any name: none */

	if (n > 0)
		memcpy(out, text.data, n);
	out[n] = '\0';
}

/* ---- the session ---- */

static bool
wake_evaluators(void)
{
	bool any = false;

	for (int i = 0; i < LS_MAX_POOL; i++)
	{
		ls_slot *slot = ls_slot_get(LS_WORKER_EVALUATOR, i);

		if (slot->state != LS_SLOT_RUNNING)
			continue;
		ls_slot_wake(slot);
		any = true;
	}
	return any;
}

bool
ls_broker_open(void)
{
	const ls_service *service;

	if (!ls_shmem_ready())
		return false;
	service = ls_service_get();
	return service->state == LS_SERVICE_READY && service->database == MyDatabaseId &&
		   service->pauses == 0;
}

/* Takes a place for a note; NULL when all are taken. */
static note *
take_place(void)
{
	TimestampTz now = GetCurrentTimestamp();

	for (int i = 0; i < NOTES; i++)
	{
		note *n = &shared->notes[i];

		if (n->state != NOTE_FREE && !TimestampDifferenceExceeds(n->since, now, STALE))
			continue;
		if (n->state == NOTE_ASKED)
			pg_atomic_fetch_sub_u32(&shared->asked, 1);
		memset(n, 0, sizeof(*n));
		n->ticket = ++shared->last_ticket;
		n->since = now;
		return n;
	}
	return NULL;
}

static note *
leave_note(const ls_broker_step *step, bool wait, uint64 *ticket)
{
	note *n;

	LWLockAcquire(ls_lwlock(LS_LOCK_CREDIT_BROKER), LW_EXCLUSIVE);
	n = take_place();
	if (n != NULL)
	{
		*ticket = n->ticket;
		n->abandoned = !wait;
		n->asker = MyProc;
		n->kind = step->kind;
		n->payer = step->payer;
		n->reservation = step->reservation;
		n->micro_credits = step->micro_credits;
		n->tokens_in = step->tokens_in;
		n->tokens_out = step->tokens_out;
		put_text(n->model, sizeof(n->model), step->model);
		put_text(n->region, sizeof(n->region), step->region);
		put_text(n->provider, sizeof(n->provider), ls_str_of_cstring(step->provider));
		n->state = NOTE_ASKED;
		pg_atomic_fetch_add_u32(&shared->asked, 1);
	}
	LWLockRelease(ls_lwlock(LS_LOCK_CREDIT_BROKER));
	return n;
}

/* Takes the answer; false: there is none yet. */
static bool
take_answer(note *n, uint64 ticket, ls_broker_step *step)
{
	bool answered = true;

	LWLockAcquire(ls_lwlock(LS_LOCK_CREDIT_BROKER), LW_EXCLUSIVE);
	if (n->ticket != ticket)
		step->outcome = LS_BROKER_FAILED;
	else if (n->state == NOTE_ANSWERED)
	{
		step->outcome = n->outcome;
		step->micro_credits = n->micro_credits;
		step->grant = n->grant;
		step->grant.price.model = ls_arena_strdup(step->arena, ls_str_of_cstring(n->granted_model));
		step->grant.provider_model =
			ls_arena_strdup(step->arena, ls_str_of_cstring(n->provider_model));
		n->state = NOTE_FREE;
	}
	else
		answered = false;
	LWLockRelease(ls_lwlock(LS_LOCK_CREDIT_BROKER));
	return answered;
}

static void
abandon(note *n, uint64 ticket)
{
	LWLockAcquire(ls_lwlock(LS_LOCK_CREDIT_BROKER), LW_EXCLUSIVE);
	if (n->ticket == ticket)
	{
		n->abandoned = true;
		if (n->state == NOTE_ANSWERED)
			n->state = NOTE_FREE;
	}
	LWLockRelease(ls_lwlock(LS_LOCK_CREDIT_BROKER));
}

static void
await_answer(note *n, uint64 ticket, ls_broker_step *step)
{
	static uint32 wait_event = 0;
	TimestampTz start = GetCurrentTimestamp();

	if (wait_event == 0)
		wait_event = ls_wait_event("LogsvcCreditDesk");
	while (!take_answer(n, ticket, step))
	{
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), PATIENCE))
		{
			abandon(n, ticket);
			step->outcome = LS_BROKER_FAILED;
			return;
		}
		/* One that has just been started was not woken. */
		wake_evaluators();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 100, wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Out of line: inlined, variables of its caller's other callees would live in
 * registers across the longjmp.
 */
static pg_noinline void
await_or_abandon(note *n, uint64 ticket, ls_broker_step *step)
{
	PG_TRY();
	{
		await_answer(n, ticket, step);
	}
	PG_CATCH();
	{
		abandon(n, ticket);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

void
ls_broker_ask(ls_broker_step *step, bool wait)
{
	uint64 ticket = 0;
	note *n = leave_note(step, wait, &ticket);

	step->outcome = LS_BROKER_LOCKED; /* no place: as if another one were at it */
	if (n == NULL)
		return;
	wake_evaluators();
	if (wait)
		await_or_abandon(n, ticket, step);
}

/* ---- the evaluator ---- */

static void
work(void *context)
{
	note *n = context;
	ls_arena *arena;

	ls_credits_transaction(n->kind == LS_BROKER_SETTLE);
	switch (n->kind)
	{
		case LS_BROKER_RESERVE:
			arena = ls_context_arena(CurrentMemoryContext, 65536);
			ls_credits_begin(&n->payer, ls_str_of_cstring(n->model), ls_str_of_cstring(n->region),
							 n->provider, n->tokens_in, n->tokens_out, false, arena, &n->grant);
			put_text(n->granted_model, sizeof(n->granted_model), n->grant.price.model);
			put_text(n->provider_model, sizeof(n->provider_model), n->grant.provider_model);
			n->grant.price.model = n->grant.provider_model = LS_STR("");
			break;
		case LS_BROKER_SETTLE:
			n->micro_credits =
				ls_credits_settle(&n->payer, n->reservation, n->micro_credits,
								  ls_str_of_cstring(n->model), n->tokens_in, n->tokens_out);
			break;
		case LS_BROKER_RELEASE:
			ls_credits_release(&n->payer.organization, n->reservation);
			break;
	}
}

/* The next note that nobody has taken; a copy, as the transaction may take its time. */
static bool
next_note(note *copy, note **place)
{
	bool found = false;

	LWLockAcquire(ls_lwlock(LS_LOCK_CREDIT_BROKER), LW_EXCLUSIVE);
	for (int i = 0; i < NOTES && !found; i++)
	{
		note *n = &shared->notes[i];

		if (n->state != NOTE_ASKED)
			continue;
		n->state = NOTE_SERVED;
		pg_atomic_fetch_sub_u32(&shared->asked, 1);
		*copy = *n;
		*place = n;
		found = true;
	}
	LWLockRelease(ls_lwlock(LS_LOCK_CREDIT_BROKER));
	return found;
}

static ls_broker_outcome
outcome_of(int sqlstate)
{
	switch (sqlstate)
	{
		case ERRCODE_LOCK_NOT_AVAILABLE:
			return LS_BROKER_LOCKED;
		case ERRCODE_READ_ONLY_SQL_TRANSACTION:
			return LS_BROKER_READ_ONLY;
		default:
			return LS_BROKER_FAILED;
	}
}

void
ls_broker_serve(void)
{
	note copy;
	note *place;

	while (pg_atomic_read_u32(&shared->asked) > 0 && next_note(&copy, &place))
	{
		ls_caught caught;
		PGPROC *asker = NULL;

		copy.outcome = LS_BROKER_DONE;
		if (!ls_transaction(work, &copy, &caught))
			copy.outcome = outcome_of(caught.sqlstate);
		if (copy.outcome == LS_BROKER_FAILED)
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not account for an evaluation: %s", caught.format));

		LWLockAcquire(ls_lwlock(LS_LOCK_CREDIT_BROKER), LW_EXCLUSIVE);
		if (place->ticket == copy.ticket && place->state == NOTE_SERVED)
		{
			copy.abandoned = place->abandoned;
			copy.state = copy.abandoned ? NOTE_FREE : NOTE_ANSWERED;
			*place = copy;
			asker = copy.abandoned ? NULL : copy.asker;
		}
		LWLockRelease(ls_lwlock(LS_LOCK_CREDIT_BROKER));
		if (asker != NULL)
			SetLatch(&asker->procLatch);
	}
}
