/*-------------------------------------------------------------------------
 *
 * alert_worker.c
 *	  The loop of an alert worker: evaluates the rules that are due.
 *
 * A tick of a rule is one transaction, for the rule's organization under row security: it takes
 * the rule's row if nobody else has it, searches, and writes down state, alerts and what is to be sent.
 * So a tick happens once or not at all.  There is no network in it.  If it fails, another transaction
 * says so in the rule's state.  One before it says who evaluates the rule: when a worker dies of a rule, its
 * successor puts that one off.
 *
 * The worker reads which rules are due, then takes them in turns of the organizations: whose turn would
 * begin first goes next, and a turn lasts as long as the tick took.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "src/access/access.h"
#include "src/server/metrics.h"

#define MOST_DUE 1000
#define LONGEST_SEARCH 10000      /* ms: what the rule of one organization may delay others */
#define LONGEST_WAIT 60000        /* ms, should a wake-up ever get lost */
#define LOOK_AGAIN 1000           /* ms, after which rules that have become due are read */
#define RETRY_WAIT 10000          /* ms, for a rule whose tick could not be written down */
#define LOCK_WAIT "100ms"         /* a session of a tenant may hold rows of its organization */
#define MOST_ORGANIZATIONS 100000 /* with a turn of their own */

/* A rule that is due. */
typedef struct due_rule
{
	pg_uuid_t rule;
	pg_uuid_t organization;
} due_rule;

/* The end of the last turn of an organization, in us of work. */
typedef struct turn
{
	pg_uuid_t organization; /* key */
	uint64 end;
} turn;

/* A rule whose tick failed, or that another worker has: it is left alone for a moment. */
typedef struct put_off
{
	pg_uuid_t rule; /* key */
	TimestampTz until;
} put_off;

static due_rule due[MOST_DUE];
static int n_due;
static TimestampTz read_at;
static long next_due; /* ms from read_at until a further rule is due */
static HTAB *turns;
static HTAB *put_offs;
static uint64 work_done; /* the start of the latest turn */

/* ---- statements ---- */

/* Calls a function with a row of one value; its value, or NULL. */
static Datum
call(const char *sql, int n, const Oid *types, Datum *values, bool *null)
{
	if (SPI_execute_with_args(sql, n, unconstify(Oid *, types), values, NULL, false, 1) !=
			SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "\"%s\" returned no row", sql);
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, null);
}

static void
read_due(void *context)
{
	Oid types[] = {INT4OID};
	Datum values[] = {Int32GetDatum(MOST_DUE)};
	bool null;

	if (SPI_execute_with_args(
			"SELECT d.rule_id, d.organization_id FROM logsvc_internal.due_alert_rules($1) d", 1,
			types, values, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read which alert rules are due");
	n_due = (int) Min(SPI_processed, MOST_DUE);
	for (int i = 0; i < n_due; i++)
	{
		HeapTuple row = SPI_tuptable->vals[i];

		due[i].rule = *DatumGetUUIDP(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &null));
		due[i].organization = *DatumGetUUIDP(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &null));
	}
	values[0] = call("SELECT logsvc_internal.next_alert_rule()", 0, NULL, NULL, &null);
	next_due = null ? LONGEST_WAIT : DatumGetInt32(values[0]);
}

/* ---- a tick ---- */

typedef struct tick
{
	const due_rule *rule;
	Jsonb *taken; /* what take_alert_rule said */
	Datum q;      /* the search that is run now */
	Datum earliest;
	Datum latest;
	int most;
	Datum rows; /* what it found */
	bool marked;
	TimestampTz until; /* all of its searches */
	bool done;
} tick;

static Datum
member(Jsonb *object, const char *name)
{
	LOCAL_FCINFO(info, 2);
	Datum result;

	InitFunctionCallInfoData(*info, NULL, 2, InvalidOid, NULL, NULL);
	info->args[0].value = JsonbPGetDatum(object);
	info->args[0].isnull = false;
	info->args[1].value = CStringGetTextDatum(name);
	info->args[1].isnull = false;
	result = jsonb_object_field_text(info);
	if (info->isnull)
		elog(ERROR, "a rule has no member %s", name);
	return result;
}

static Datum
time_member(Jsonb *object, const char *name)
{
	return DirectFunctionCall3(timestamptz_in,
							   CStringGetDatum(TextDatumGetCString(member(object, name))),
							   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

static bool
has_member(Jsonb *object, const char *name)
{
	JsonbValue key = {.type = jbvString};

	key.val.string.val = unconstify(char *, name);
	key.val.string.len = (int) strlen(name);
	return findJsonbValueFromContainer(&object->root, JB_FOBJECT, &key) != NULL;
}

/* The search that an object {q, earliest, latest, most} says. */
static void
set_search(tick *t, Jsonb *said)
{
	t->q = member(said, "q");
	t->earliest = time_member(said, "earliest");
	t->latest = time_member(said, "latest");
	t->most = pg_strtoint32(TextDatumGetCString(member(said, "most")));
}

static void
search(void *context)
{
	static const Oid types[] = {TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID};
	tick *t = context;
	Datum values[] = {t->q, t->earliest, t->latest, Int32GetDatum(t->most)};
	bool null;
	Datum found;

	enable_timeout_after(STATEMENT_TIMEOUT,
						 Max(Min(ls_query_timeout, (int) TimestampDifferenceMilliseconds(
													   GetCurrentTimestamp(), t->until)),
							 1));
	found = call("SELECT logsvc_internal.rule_rows($1, $2, $3, $4)", 4, types, values, &null);
	disable_timeout(STATEMENT_TIMEOUT, false);
	t->rows = PointerGetDatum(PG_DETOAST_DATUM_COPY(found));
}

static Datum
error_result(ls_error_id id, const char *message)
{
	StringInfoData error;

	initStringInfo(&error);
	appendStringInfoString(&error, "{\"error\": {\"code\": ");
	escape_json(&error, ls_error_table[id].code);
	appendStringInfoString(&error, ", \"message\": ");
	escape_json(&error, message);
	appendStringInfoString(&error, "}}");
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(error.data));
}

/* Runs the search of *t.  What is wrong with it is a result too: {error: {code, message}}. */
static Datum
run_search(tick *t)
{
	ls_caught caught;

	if (ls_subtransaction(search, t, true, &caught))
		return t->rows;
	disable_timeout(STATEMENT_TIMEOUT, false);
	if (caught.sqlstate == ERRCODE_QUERY_CANCELED)
		caught.id = LS_ERROR_QUERY_TIMEOUT;
	if (caught.id == LS_ERROR_INTERNAL)
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not search for an alert rule: %s", caught.format));
	/* Messages of errors that are not ours may name insides of the server. */
	return error_result(caught.id,
						caught.id == LS_ERROR_INTERNAL || caught.id == LS_ERROR_QUERY_TIMEOUT
							? ls_error_table[caught.id].message
							: caught.message);
}

/* Runs the searches that a function asks for: [{id, q, earliest, latest, most}]; {id: what was found}. */
static Datum
answer(tick *t, Jsonb *questions)
{
	JsonbIterator *it = JsonbIteratorInit(&questions->root);
	JsonbIteratorToken token;
	JsonbValue v;
	StringInfoData answers;

	initStringInfo(&answers);
	appendStringInfoChar(&answers, '{');
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		Jsonb *question;
		Datum found;

		if (token != WJB_ELEM)
			continue;
		/* What is not answered is asked again at the next tick. */
		if (GetCurrentTimestamp() >= t->until)
			break;
		question = JsonbValueToJsonb(&v);
		set_search(t, question);
		found = run_search(t);
		if (answers.len > 1)
			appendStringInfoChar(&answers, ',');
		escape_json(&answers, TextDatumGetCString(member(question, "id")));
		appendStringInfoChar(&answers, ':');
		JsonbToCString(&answers, &DatumGetJsonbP(found)->root, 0);
	}
	appendStringInfoChar(&answers, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(answers.data));
}

static int worker; /* the number of this one */

static void
mark(void *context)
{
	static const Oid types[] = {UUIDOID, INT4OID};
	tick *t = context;
	Datum values[] = {UUIDPGetDatum(&t->rule->rule), Int32GetDatum(worker)};
	bool null;

	t->marked = DatumGetBool(
		call("SELECT logsvc_internal.mark_alert_rule($1, $2)", 2, types, values, &null));
}

static void
unmark(void *context)
{
	static const Oid types[] = {UUIDOID, INT4OID};
	const tick *t = context;
	Datum values[] = {UUIDPGetDatum(&t->rule->rule), Int32GetDatum(worker)};
	bool null;

	(void) call("SELECT logsvc_internal.unmark_alert_rule($1, $2) IS NULL", 2, types, values,
				&null);
}

/* The worker's transaction for one rule. */
static void
evaluate(void *context)
{
	static const Oid types[] = {UUIDOID, JSONBOID, JSONBOID};
	tick *t = context;
	Datum values[3] = {UUIDPGetDatum(&t->rule->rule)};
	Datum asked;
	bool null;

	ls_act_for_organization(&t->rule->organization, false);
	disable_timeout(STATEMENT_TIMEOUT, false);
	asked = call("SELECT logsvc_internal.take_alert_rule($1)", 1, types, values, &null);
	if (null)
		return;
	t->taken = DatumGetJsonbPCopy(asked);
	t->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LONGEST_SEARCH);
	LS_STOP_POINT("alert_taken");
	values[1] = JsonbPGetDatum(t->taken);
	if (has_member(t->taken, "q"))
	{
		set_search(t, t->taken);
		values[2] = run_search(t);
	}
	else
		values[2] = error_result(LS_ERROR_NOT_FOUND, "the saved query of the rule is gone");
	LS_STOP_POINT("alert_searched");

	/* Of patterns: which of them there were before. */
	asked = call("SELECT logsvc_internal.ask_alert_history($1, $2, $3)", 3, types, values, &null);
	if (!null)
	{
		Datum known = answer(t, DatumGetJsonbPCopy(asked));
		Datum all[4] = {values[0], values[1], values[2], known};
		static const Oid four[] = {UUIDOID, JSONBOID, JSONBOID, JSONBOID};

		asked =
			call("SELECT logsvc_internal.apply_alert_tick($1, $2, $3, $4)", 4, four, all, &null);
	}
	else
		asked =
			call("SELECT logsvc_internal.apply_alert_tick($1, $2, $3)", 3, types, values, &null);
	LS_STOP_POINT("alert_applied");

	/* Some events of each alert that has just been raised. */
	values[1] = null ? DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"))
					 : answer(t, DatumGetJsonbPCopy(asked));
	(void) call("SELECT logsvc_internal.finish_alert_tick($1, $2) IS NULL", 2, types, values,
				&null);
	t->done = true;
	LS_STOP_POINT("alert_before_commit");
}

/* The tick could not be written down: that it failed is, for who looks after the rule. */
static void
note_failure(void *context)
{
	static const Oid types[] = {UUIDOID, JSONBOID};
	tick *t = context;
	Datum values[2] = {UUIDPGetDatum(&t->rule->rule)};
	bool null;

	ls_act_for_organization(&t->rule->organization, false);
	values[1] = error_result(LS_ERROR_INTERNAL, ls_error_table[LS_ERROR_INTERNAL].message);
	(void) call("SELECT logsvc_internal.fail_alert_tick($1, $2) IS NULL", 2, types, values, &null);
}

/* ---- turns ---- */

static uint64
start_of_turn(const pg_uuid_t *organization)
{
	const turn *t = hash_search(turns, organization, HASH_FIND, NULL);

	return t == NULL ? work_done : Max(t->end, work_done);
}

/* Counts a tick of an organization. */
static void
end_turn(const pg_uuid_t *organization, uint64 start, uint64 cost)
{
	turn *t;
	bool found;

	if (hash_get_num_entries(turns) >= MOST_ORGANIZATIONS)
	{
		HASH_SEQ_STATUS all;

		hash_seq_init(&all, turns);
		while ((t = hash_seq_search(&all)) != NULL)
		{
			if (t->end <= work_done)
				hash_search(turns, &t->organization, HASH_REMOVE, NULL);
		}
	}
	t = hash_search(turns, organization, HASH_ENTER, &found);
	t->end = start + cost;
	work_done = start;
}

static bool
is_put_off(const pg_uuid_t *rule)
{
	put_off *p = hash_search(put_offs, rule, HASH_FIND, NULL);

	if (p == NULL)
		return false;
	if (p->until > GetCurrentTimestamp())
		return true;
	hash_search(put_offs, rule, HASH_REMOVE, NULL);
	return false;
}

/* The rule of the organization whose turn it is; false: none is due. */
static bool
next_rule(due_rule *rule)
{
	int best = -1;
	uint64 best_start = 0;

	for (int i = 0; i < n_due; i++)
	{
		uint64 start = start_of_turn(&due[i].organization);

		if (best < 0 || start < best_start)
		{
			best = i;
			best_start = start;
			if (start == work_done)
				break;
		}
	}
	if (best < 0)
		return false;
	*rule = due[best];
	/* Those of an organization stay in the order in which they are due. */
	memmove(&due[best], &due[best + 1], sizeof(due_rule) * (Size) (n_due - best - 1));
	n_due--;
	return true;
}

static void
put_off_rule(const pg_uuid_t *rule, int ms)
{
	TimestampTz now = GetCurrentTimestamp();
	put_off *p;
	bool found;

	if (hash_get_num_entries(put_offs) >= MOST_DUE)
	{
		HASH_SEQ_STATUS all;

		/* Such as those of rules that have been deleted. */
		hash_seq_init(&all, put_offs);
		while ((p = hash_seq_search(&all)) != NULL)
		{
			if (p->until <= now)
				hash_search(put_offs, &p->rule, HASH_REMOVE, NULL);
		}
	}
	p = hash_search(put_offs, rule, HASH_ENTER, &found);
	p->until = TimestampTzPlusMilliseconds(now, ms);
}

/* Is it an error of the moment: who holds rows lets them go, and the same tick can be done then? */
static bool
is_passing(int sqlstate)
{
	return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE || sqlstate == ERRCODE_T_R_DEADLOCK_DETECTED ||
		   sqlstate == ERRCODE_T_R_SERIALIZATION_FAILURE || sqlstate == ERRCODE_QUERY_CANCELED;
}

/* Writes down that a tick failed.  False: not even that was possible. */
static bool
give_up(tick *t, const ls_caught *why)
{
	ls_caught caught;

	ereport(LOG, errcode(why->sqlstate),
			errmsg("logsvc could not evaluate an alert rule: %s", why->format),
			errhint("The rule is in state error until a later tick of it can be evaluated."));
	if (ls_transaction(note_failure, t, &caught))
		return true;
	if (!is_passing(caught.sqlstate))
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not write down that an alert rule failed: %s", caught.format),
				errhint("It is tried again after 10 seconds."));
	return false;
}

/* Leaves a tick to a later time, or to another worker. */
static void
hand_back(tick *t, int ms)
{
	ls_caught caught;

	if (!ls_transaction(unmark, t, &caught) && !is_passing(caught.sqlstate))
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not write down that an alert rule is not evaluated: %s",
					   caught.format));
	put_off_rule(&t->rule->rule, ms);
}

static void
evaluate_rule(const due_rule *rule)
{
	TimestampTz begun = GetCurrentTimestamp();
	uint64 start = start_of_turn(&rule->organization);
	tick t = {.rule = rule};
	int outcome = 0; /* of LS_LABELS_TICK */
	ls_caught caught;

	if (!ls_transaction(mark, &t, &caught))
	{
		if (!is_passing(caught.sqlstate))
			ereport(LOG, errcode(caught.sqlstate),
					errmsg("logsvc could not begin to evaluate an alert rule: %s", caught.format));
		put_off_rule(&rule->rule, RETRY_WAIT);
		return;
	}
	if (!t.marked)
	{
		put_off_rule(&rule->rule, LOOK_AGAIN);
		return;
	}
	if (!ls_transaction(evaluate, &t, &caught))
	{
		bool passing = is_passing(caught.sqlstate);

		outcome = passing ? 1 : 2;
		if (passing || !give_up(&t, &caught))
			hand_back(&t, RETRY_WAIT);
	}
	else if (t.taken == NULL)
	{
		/* Another worker has it, and it stays due until that one commits. */
		hand_back(&t, LOOK_AGAIN);
		return;
	}
	ls_metric_add(LS_M_ALERT_TICKS + outcome, 1);
	ls_metric_observe(LS_M_ALERT_TIME, GetCurrentTimestamp() - begun);
	end_turn(&rule->organization, start, (uint64) (GetCurrentTimestamp() - begun));
}

/* ---- what the one before died of ---- */

typedef struct put_off_rules
{
	MemoryContext memory;
	Datum *rules; /* each with its organization */
	int n;
	int told;
} put_off_rules;

static void
recover(void *context)
{
	static const Oid types[] = {INT4OID};
	put_off_rules *p = context;
	Datum values[] = {Int32GetDatum(worker)};
	bool null;
	Datum told = call("SELECT logsvc_internal.recover_alert_rules($1)", 1, types, values, &null);
	MemoryContext outer = MemoryContextSwitchTo(p->memory);

	deconstruct_array(DatumGetArrayTypePCopy(told), UUIDOID, UUID_LEN, false, TYPALIGN_CHAR,
					  &p->rules, NULL, &p->n);
	MemoryContextSwitchTo(outer);
}

static void
tell(void *context)
{
	static const Oid types[] = {UUIDOID};
	const put_off_rules *p = context;
	bool null;

	ls_act_for_organization(DatumGetUUIDP(p->rules[p->told + 1]), false);
	(void) call("SELECT logsvc_internal.tell_put_off($1) IS NULL", 1, types, &p->rules[p->told],
				&null);
}

/* Puts off what the worker before this one died of.  False: this one should go. */
static bool
put_off_dead(void)
{
	put_off_rules p = {.memory = AllocSetContextCreate(CurrentMemoryContext, "logsvc put off",
													   ALLOCSET_SMALL_SIZES)};
	ls_caught caught;

	while (!ls_transaction(recover, &p, &caught))
	{
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not look for alert rules whose worker has died: %s",
					   caught.format));
		if (!ls_worker_wait(LOOK_AGAIN))
			return false;
	}
	for (p.told = 0; p.told + 1 < p.n; p.told += 2)
	{
		if (!ls_transaction(tell, &p, &caught))
			ereport(
				LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not tell that an alert rule is put off: %s", caught.format));
	}
	MemoryContextDelete(p.memory);
	return true;
}

/* ---- the loop ---- */

static HTAB *
make_table(const char *name, Size entry)
{
	HASHCTL control = {.keysize = sizeof(pg_uuid_t), .entrysize = entry, .hcxt = TopMemoryContext};

	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Reads which rules are due, if that is some time ago.  Returns ms until it should be done again. */
static long
look(void)
{
	TimestampTz now = GetCurrentTimestamp();
	long passed = TimestampDifferenceMilliseconds(read_at, now);
	ls_caught caught;

	if (n_due > 0 && passed < LOOK_AGAIN)
		return 0;
	read_at = now;
	if (!ls_transaction(read_due, NULL, &caught))
	{
		n_due = 0;
		ereport(LOG, errcode(caught.sqlstate),
				errmsg("logsvc could not read which alert rules are due: %s", caught.format));
		return RETRY_WAIT;
	}
	return n_due > 0 ? 0 : Min(Max(next_due, 10), LONGEST_WAIT);
}

void
ls_alert_worker_loop(ls_slot *slot)
{
	long timeout;

	turns = make_table("logsvc turns of alert rules", sizeof(turn));
	put_offs = make_table("logsvc alert rules put off", sizeof(put_off));
	SetConfigOption("lock_timeout", LOCK_WAIT, PGC_SUSET, PGC_S_OVERRIDE);
	worker = slot->index;
	if (!put_off_dead())
		return;
	do
	{
		due_rule rule;
		int skipped = 0;

		timeout = look();
		while (next_rule(&rule))
		{
			if (is_put_off(&rule.rule))
			{
				skipped++;
				continue;
			}
			evaluate_rule(&rule);
			if (!ls_worker_interrupts())
				return;
			(void) look();
		}
		if (skipped > 0)
			timeout = LOOK_AGAIN;
	} while (ls_worker_wait(timeout));
}
