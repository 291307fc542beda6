/*-------------------------------------------------------------------------
 *
 * credits.c
 *	  AI credits: the three statements around a call to a model.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/evaluation.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "src/access/access.h"

static SPIPlanPtr
prepare(const char *sql, int n, const Oid *types)
{
	SPIPlanPtr plan = SPI_prepare(sql, n, (Oid *) types);

	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare a statement about AI credits");
	return plan;
}

static Datum
column(int number, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number, isnull);
}

ls_credit_payer
ls_credit_payer_of(const ls_principal *principal)
{
	ls_credit_payer payer = {.organization = principal->organization, .user = principal->user};

	if (principal->kind == LS_PRINCIPAL_TOKEN)
		payer.token = principal->credential;
	return payer;
}

/* Zeros are NULL. */
static void
set_holder(Datum *values, char *nulls, int at, const pg_uuid_t *holder)
{
	static const pg_uuid_t none = {{0}};

	values[at] = UUIDPGetDatum(holder);
	if (memcmp(holder, &none, sizeof(none)) == 0)
		nulls[at] = 'n';
}

void
ls_credits_begin(const ls_credit_payer *payer, ls_str model, ls_str region, const char *provider,
				 int64 tokens_in, int64 tokens_out, bool free, ls_arena *arena,
				 ls_credit_grant *grant)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {UUIDOID, TEXTOID, TEXTOID, INT8OID, INT8OID,
								BOOLOID, INT4OID, TEXTOID, UUIDOID, UUIDOID};
	Datum values[lengthof(types)];
	char nulls[lengthof(types) + 1] = "          ";
	Datum exhausted;
	bool isnull;

	if (plan == NULL)
		plan = prepare("SELECT model, input_rate, output_rate, region_allowed, credits_left, "
					   "reservation, credit_limit, remaining, resets_at, provider_model, exhausted "
					   "FROM logsvc_internal.begin_evaluation($1, $2, $3, $4, $5, $6, "
					   "pg_catalog.make_interval(secs => $7), $8, $9, $10)",
					   lengthof(types), types);
	values[0] = UUIDPGetDatum(&payer->organization);
	values[1] = PointerGetDatum(ls_text_of_str(model));
	values[2] = PointerGetDatum(ls_text_of_str(region));
	values[3] = Int64GetDatum(tokens_in);
	values[4] = Int64GetDatum(tokens_out);
	values[5] = BoolGetDatum(free);
	values[6] = Int32GetDatum(LS_EVALUATION_RESERVATION_SECONDS);
	values[7] = CStringGetTextDatum(provider);
	set_holder(values, nulls, 8, &payer->user);
	set_holder(values, nulls, 9, &payer->token);
	if (SPI_execute_plan(plan, values, nulls, false, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not begin an evaluation");

	memset(grant, 0, sizeof(*grant));
	grant->price.model = ls_arena_strdup(arena, ls_str_of_text(DatumGetTextPP(column(1, &isnull))));
	grant->price.input_rate = DatumGetInt64(column(2, &isnull));
	grant->price.output_rate = DatumGetInt64(column(3, &isnull));
	grant->region_allowed = DatumGetBool(column(4, &isnull));
	grant->credits_left = DatumGetBool(column(5, &isnull));
	grant->reservation = DatumGetInt64(column(6, &isnull));
	if (isnull)
		grant->reservation = 0;
	grant->credit_limit = DatumGetInt64(column(7, &isnull));
	grant->remaining = DatumGetInt64(column(8, &isnull));
	grant->resets_at = ls_time_of_timestamptz(DatumGetTimestampTz(column(9, &isnull)));
	grant->provider_model =
		ls_arena_strdup(arena, ls_str_of_text(DatumGetTextPP(column(10, &isnull))));
	exhausted = column(11, &isnull);
	if (!isnull)
		strlcpy(grant->exhausted, TextDatumGetCString(exhausted), sizeof(grant->exhausted));
}

int64
ls_credits_settle(const ls_credit_payer *payer, int64 reservation, int64 micro_credits,
				  ls_str model, int64 tokens_in, int64 tokens_out)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {UUIDOID, INT8OID, INT8OID, TEXTOID,
								INT8OID, INT8OID, UUIDOID, UUIDOID};
	Datum values[lengthof(types)];
	char nulls[lengthof(types) + 1] = "        ";
	bool isnull;

	if (plan == NULL)
		plan = prepare("SELECT logsvc_internal.settle_evaluation($1, $2, $3, $4, $5, $6, $7, $8)",
					   lengthof(types), types);
	values[0] = UUIDPGetDatum(&payer->organization);
	values[1] = Int64GetDatum(reservation);
	values[2] = Int64GetDatum(micro_credits);
	values[3] = PointerGetDatum(ls_text_of_str(model));
	values[4] = Int64GetDatum(tokens_in);
	values[5] = Int64GetDatum(tokens_out);
	set_holder(values, nulls, 6, &payer->user);
	set_holder(values, nulls, 7, &payer->token);
	if (SPI_execute_plan(plan, values, nulls, false, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not settle an evaluation");
	return DatumGetInt64(column(1, &isnull));
}

void
ls_credits_release(const pg_uuid_t *organization, int64 reservation)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {UUIDOID, INT8OID};
	Datum values[] = {UUIDPGetDatum(organization), Int64GetDatum(reservation)};

	if (plan == NULL)
		plan = prepare("SELECT logsvc_internal.release_evaluation($1, $2)", lengthof(types), types);
	if (SPI_execute_plan(plan, values, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not release AI credits");
}

/*
 * Somebody who holds an organization's credits (an operator in a transaction)
 * must not hold the evaluations of all others.  Neither must the disk: a crash
 * that loses a reservation ends its call too, and one that brings a released
 * one back lets it lapse.
 */
void
ls_credits_transaction(bool settles)
{
	if (!settles)
		ls_transaction_set("synchronous_commit", "off");
	ls_transaction_set("lock_timeout", "20ms");
}

bool
ls_credits_region_allowed(ls_str region)
{
	static SPIPlanPtr plan = NULL;
	static const Oid types[] = {TEXTOID};
	Datum values[] = {PointerGetDatum(ls_text_of_str(region))};

	if (plan == NULL)
		plan =
			prepare("SELECT FROM logsvc_internal.eu_region r WHERE r.name = pg_catalog.lower($1)",
					lengthof(types), types);
	if (SPI_execute_plan(plan, values, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look up a region");
	return SPI_processed == 1;
}
