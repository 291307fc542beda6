/*-------------------------------------------------------------------------
 *
 * doctor.c
 *	  What logsvc.doctor() cannot ask in SQL: files, file systems, the library; and
 *	  what it asks in SQL for a limited time.
 *
 * Values of settings that only superusers see, as names of files, are in no
 * answer: operators who are not superusers read them.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "access/xlog.h"
#include "fmgr.h"
#include "funcapi.h"
#include "catalog/pg_authid_d.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "src/evaluation/evaluation.h"
#include "src/gateway/gateway.h"
#include "src/server/compat.h"
#include "src/server/server.h"
#include "src/workspace/workspace.h"

#define FACTS_MEMORY ((size_t) 1 << 20)
/* What reads the tables of a large store takes a moment. */
#define LOOK_SECONDS 5

PG_FUNCTION_INFO_V1(logsvc_doctor_look);
PG_FUNCTION_INFO_V1(logsvc_server_facts);
PG_FUNCTION_INFO_V1(logsvc_disk_space);

/* A setting that names a file. */
typedef struct file_setting
{
	const char *name;
	char **value;
	mode_t exposed; /* bits of its mode that must not be set */
} file_setting;

static const file_setting file_settings[] = {
	{"logsvc.tls_certificate", &ls_tls_certificate, 0},
	{"logsvc.tls_key", &ls_tls_key, 007},
	{"logsvc.model_key_file", &ls_model_key_file, 077},
	{"logsvc.ca_file", &ls_ca_file, 0},
	{"logsvc.smtp_password_file", &ls_smtp_password_file, 077},
	{"logsvc.metrics_token_file", &ls_metrics_token_file, 077},
	{"logsvc.breached_passwords_file", &ls_breached_passwords_file, 0},
	{"logsvc.oauth_google_client_secret_file", &ls_oauth_google_secret_file, 077},
	{"logsvc.oauth_github_client_secret_file", &ls_oauth_github_secret_file, 077},
};

static void
add_fact(ReturnSetInfo *rows, const char *name, const char *value)
{
	Datum values[2] = {CStringGetTextDatum(name)};
	bool nulls[2] = {false, value == NULL};

	if (value != NULL)
		values[1] = CStringGetTextDatum(value);
	tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
}

/* What is wrong with a file; NULL: nothing. */
static const char *
file_problem(const char *path, mode_t exposed)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *problem = NULL;
	struct stat info;

	if (fd < 0)
		return errno == ENOENT ? "does not exist" : "cannot be opened by the server";
	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
		problem = "is not a regular file";
	else if ((info.st_mode & exposed) != 0)
		problem = "can be read by others";
	else if (info.st_size == 0)
		problem = "is empty";
	close(fd);
	return problem;
}

static void
add_files(ReturnSetInfo *rows)
{
	for (size_t i = 0; i < lengthof(file_settings); i++)
	{
		const file_setting *s = &file_settings[i];

		if (ls_is_set(*s->value))
			add_fact(rows, psprintf("file %s", s->name), file_problem(*s->value, s->exposed));
	}
}

static void
add_tls(ReturnSetInfo *rows)
{
	char error[512];
	int64 end = -1;

	if (!ls_is_set(ls_tls_certificate) && !ls_is_set(ls_tls_key))
		return;
	add_fact(rows, "tls",
			 ls_gateway_check_tls(ls_tls_certificate, ls_tls_key, error, sizeof(error)) ? NULL
																						: error);
	if (ls_is_set(ls_tls_certificate))
		end = ls_gateway_certificate_end(ls_tls_certificate);
	if (end >= 0)
		add_fact(rows, "tls_end", psprintf(INT64_FORMAT, end));
}

static void
add_console(ReturnSetInfo *rows)
{
	char installed[MAXPGPATH];
	char error[512];
	const char *folder = ls_console_folder(installed);

	/* Its text may name the folder. */
	if (folder != NULL)
		add_fact(rows, "console",
				 ls_gateway_check_console(folder, error, sizeof(error)) ? NULL
				 : strstr(error, folder) != NULL ? "the folder of its files cannot be opened"
												 : error);
}

static void
add_provider(ReturnSetInfo *rows)
{
	ls_arena *arena = ls_context_arena(CurrentMemoryContext, FACTS_MEMORY);
	const ls_provider *provider = ls_provider_current();
	ls_model_place place = ls_provider_place(provider, arena);
	const char *hint = NULL;

	add_fact(rows, "provider", ls_provider_check(arena, &hint));
	add_fact(rows, "provider_hint", hint);
	add_fact(rows, "provider_region", ls_cstring_of_str(place.known));
	ls_arena_destroy(arena);
}

static void
add_crowds(ReturnSetInfo *rows)
{
	StringInfoData crowded;

	initStringInfo(&crowded);
	for (int i = 0; i < LS_CROWDS; i++)
	{
		const char *what = ls_crowded_lately((ls_crowd) i);

		if (what != NULL)
			appendStringInfo(&crowded, "%s%s", crowded.len > 0 ? "; " : "", what);
	}
	add_fact(rows, "crowded", crowded.len > 0 ? crowded.data : NULL);
}

/* server_facts() returns rows (name, value); value NULL: nothing is wrong. */
Datum
logsvc_server_facts(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	add_fact(rows, "library", LOGSVC_VERSION);
	add_fact(rows, "preloaded", ls_shmem_ready() ? "true" : "false");
	add_fact(rows, "workers_needed", psprintf("%d", ls_workers_needed()));
	if (RecoveryInProgress())
		add_fact(rows, "standby_lag", psprintf(INT64_FORMAT, ls_standby_lag()));
	/* Those who see settings that PostgreSQL keeps from others. */
	add_fact(rows, "reads_settings",
			 has_privs_of_role(GetOuterUserId(), ROLE_PG_READ_ALL_SETTINGS) ? "true" : "false");
	add_fact(rows, "standby_behind", ls_standby_behind() ? "true" : "false");
	add_crowds(rows);
	add_files(rows);
	add_tls(rows);
	add_console(rows);
	add_provider(rows);
	return (Datum) 0;
}

/*
 * disk_space(path) returns (free, size) in bytes of the file system that a path is on: what the
 * server's user may still use.  NULL: it cannot be asked.
 */
Datum
logsvc_disk_space(PG_FUNCTION_ARGS)
{
	char *path = text_to_cstring(PG_GETARG_TEXT_PP(0));
	bool nulls[2] = {false, false};
	struct statvfs info;
	TupleDesc desc;
	Datum values[2];

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (statvfs(path, &info) != 0)
		PG_RETURN_NULL();
	values[0] = Int64GetDatum((int64) info.f_bavail * (int64) info.f_frsize);
	values[1] = Int64GetDatum((int64) info.f_blocks * (int64) info.f_frsize);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* ---- what may be locked, or slow ---- */

typedef struct look
{
	Datum what;
	Datum facts;
	bool found;
} look;

static void
take_look(void *context)
{
	look *l = context;
	Oid types[1] = {TEXTOID};
	Datum facts;
	bool null;

	SPI_connect();
	if (SPI_execute_with_args("SELECT logsvc_internal.doctor_fact($1)", 1, types, &l->what, NULL,
							  false, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "doctor_fact() has no row");
	facts = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
	l->found = !null;
	if (!null)
		l->facts = SPI_datumTransfer(facts, false, -1);
	SPI_finish();
}

/*
 * doctor_look(what) returns (facts, problem, locked): what doctor_fact(what) says, or why it did not;
 * locked: the lock_timeout has passed.  An operator who looks at a server in trouble gets all other rows.
 */
Datum
logsvc_doctor_look(PG_FUNCTION_ARGS)
{
	look l = {.what = PG_GETARG_DATUM(0)};
	bool nulls[3] = {true, true, false};
	Datum values[3] = {0};
	ls_caught caught = {0};
	const char *problem = NULL;
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (!ls_run_slice(take_look, &l, LOOK_SECONDS * 1000, &caught))
	{
		if (caught.sqlstate == ERRCODE_LOCK_NOT_AVAILABLE)
			problem = "others have locked what it reads";
		else if (caught.sqlstate == ERRCODE_QUERY_CANCELED)
			problem = psprintf("it took longer than %d s", LOOK_SECONDS);
		else
			problem = caught.message;
	}
	if (problem != NULL)
		values[1] = CStringGetTextDatum(problem);
	else
		values[0] = l.facts;
	nulls[0] = problem != NULL || !l.found;
	nulls[1] = problem == NULL;
	values[2] = BoolGetDatum(caught.sqlstate == ERRCODE_LOCK_NOT_AVAILABLE);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
