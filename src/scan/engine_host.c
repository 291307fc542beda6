/*-------------------------------------------------------------------------
 *
 * engine_host.c
 *	  What programs of src/engine need from the server: time zones, the case of letters,
 *	  interrupts, errors.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/engine_host.h"

#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/formatting.h"

#include "src/engine/text.h"

static int32_t
zone_offset(void *context, ls_time utc)
{
	pg_time_t seconds = (pg_time_t) (utc / LS_USECS_PER_SEC - (utc % LS_USECS_PER_SEC < 0));
	struct pg_tm *local = pg_localtime(&seconds, context);

	return local == NULL ? 0 : (int32_t) local->tm_gmtoff;
}

static const char *
zone_abbreviation(void *context, ls_time utc)
{
	pg_time_t seconds = (pg_time_t) (utc / LS_USECS_PER_SEC - (utc % LS_USECS_PER_SEC < 0));
	struct pg_tm *local = pg_localtime(&seconds, context);

	return local == NULL ? NULL : local->tm_zone;
}

ls_query_zone
ls_zone_named(const char *name)
{
	pg_tz *tz = pg_tzset(name);

	if (tz == NULL)
		return (ls_query_zone){NULL, NULL, NULL};
	return (ls_query_zone){zone_offset, tz, zone_abbreviation};
}

ls_time
ls_scan_now(void)
{
	ls_time now = ls_scan_current == NULL ? 0 : ls_scan_current->now;

	return now != 0 ? now : ls_time_of_timestamptz(GetCurrentStatementStartTimestamp());
}

/* ---- letters ---- */

static ls_str
change_case(void *context, ls_arena *arena, ls_str text, bool upper)
{
	char *(*change)(const char *, size_t, Oid) = upper ? str_toupper : str_tolower;
	char *changed = change(text.data == NULL ? "" : text.data, text.len, DEFAULT_COLLATION_OID);
	ls_str copy = ls_arena_strdup(arena, ls_str_of_cstring(changed));

	pfree(changed);
	return copy;
}

/* Do ASCII letters change as everywhere?  Not in Turkish. */
static bool
has_ascii_case(void)
{
	static const char small[] = "abcdefghijklmnopqrstuvwxyz";
	static const char large[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static int known = -1; /* the database's locale stays */

	if (known < 0)
		known = strcmp(str_toupper(small, 26, DEFAULT_COLLATION_OID), large) == 0 &&
				strcmp(str_tolower(large, 26, DEFAULT_COLLATION_OID), small) == 0;
	return known == 1;
}

/* ---- all ---- */

static void
interrupt(void)
{
	CHECK_FOR_INTERRUPTS();
}

void
ls_engine_host_init(ls_engine_host *host, ls_str zone, ls_time now)
{
	memset(host, 0, sizeof(*host));
	host->change_case = change_case;
	host->ascii_case = has_ascii_case();
	host->now = now;
	if (zone.len > 0)
		host->zone = ls_zone_named(ls_cstring_of_str(zone));
	host->pending = &InterruptPending;
	host->pause = interrupt;
}

void
ls_engine_raise(const ls_engine *engine)
{
	switch (ls_engine_failure(engine))
	{
		case LS_ENGINE_LENGTH:
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_MEMORY_LIMIT)),
					errmsg("an expression makes a text longer than %d kB",
						   (int) (LS_ENGINE_MAX_TEXT / 1024)));
			break;
		case LS_ENGINE_LIKE:
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
					errmsg("the expression could not be evaluated: like() takes more than %d steps"
						   " for one text",
						   LS_LIKE_MAX_STEPS));
			break;
		case LS_ENGINE_REGEX:
			ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
					errmsg("the expression could not be evaluated: %s", ls_engine_reason(engine)));
			break;
		default:
			break;
	}
	ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
}
