/*-------------------------------------------------------------------------
 *
 * search_run.c
 *	  Runs a search and makes its answer, with notes about what it has found.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "utils/timestamp.h"

#include "src/query/extract.h"
#include "src/scan/scan.h"

StaticAssertDecl(LS_SCAN_MAX_COUNTERS >= LS_PLAN_MAX_COUNTERS, "a counter for each aggregate");

/* ---- the answer ---- */

typedef struct answer
{
	ls_search *search;
	const ls_plan *plan;
	ls_overview *overview; /* NULL: not asked for */
	StringInfo out;
	int n;
	bool more;
	ls_position last;
	char **keys;   /* of the last row of a page of a sort */
	bool *numbers; /* of each column: only numbers so far */
	bool *strings;
	bool *empty; /* no value but 0 */
} answer;

static void
append_str(StringInfo out, ls_str s)
{
	appendBinaryStringInfo(out, s.data, (int) s.len);
}

static void
append_quoted(StringInfo out, ls_arena *arena, ls_str s)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_json_quote(&buf, s);
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	append_str(out, ls_str_make(buf.data, buf.len));
}

static bool
answer_row(void *context, const ls_position *position, char **texts)
{
	answer *a = context;

	if (a->n == a->search->limit || (a->search->cut && a->out->len > a->search->most_bytes))
	{
		a->more = true;
		return false;
	}
	if (a->n++ > 0)
		appendStringInfoChar(a->out, ',');
	if (a->plan->table)
	{
		for (int c = 0; c < a->plan->n_columns; c++)
		{
			appendStringInfoChar(a->out, c > 0 ? ',' : '[');
			appendStringInfoString(a->out, texts[c] == NULL ? "null" : texts[c]);
			if (texts[c] != NULL && strcmp(texts[c], "null") != 0)
			{
				bool number = texts[c][0] == '-' || (texts[c][0] >= '0' && texts[c][0] <= '9');

				a->empty[c] = a->empty[c] && strcmp(texts[c], "0") == 0;
				a->numbers[c] = a->numbers[c] && number;
				a->strings[c] = a->strings[c] && texts[c][0] == '"';
			}
		}
		appendStringInfoChar(a->out, ']');
	}
	else
		appendStringInfoString(a->out, texts[0]);
	a->last = *position;
	if (a->n == a->search->limit && a->plan->n_keys > 0)
	{
		a->keys = palloc(sizeof(char *) * (Size) a->plan->n_keys);
		for (int i = 0; i < a->plan->n_keys; i++)
			a->keys[i] = texts[1 + i] == NULL ? NULL : pstrdup(texts[1 + i]);
	}
	if (a->search->most_bytes > 0 && !a->search->cut && a->out->len > a->search->most_bytes)
		ereport(
			ERROR, errcode(ls_errcode(LS_ERROR_QUERY_MEMORY_LIMIT)),
			errmsg("the answer would be larger than %d MB: use more specific stream selectors, a "
				   "shorter time range, or a smaller limit",
				   a->search->most_bytes >> 20));
	if (a->out->len > LS_SEARCH_MAX_ANSWER)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return true;
}

static void
append_columns(answer *a)
{
	appendStringInfoChar(a->out, '[');
	for (int c = 0; c < a->plan->n_columns; c++)
	{
		ls_str name = a->plan->columns[c].name;
		ls_column_type known = a->plan->columns[c].type;
		const char *type = known == LS_COLUMN_NUMBER        ? "number"
						   : known == LS_COLUMN_TIME        ? "time"
						   : known == LS_COLUMN_TEMPLATE    ? "template"
						   : a->numbers[c] && a->strings[c] ? "string" /* no value */
						   : a->numbers[c]                  ? "number"
						   : a->strings[c]                  ? "string"
															: "any";

		if (ls_str_eq(name, LS_STR("timestamp")) || ls_str_eq(name, LS_STR("ingested_at")))
			type = "time";
		appendStringInfoString(a->out, c > 0 ? ",{\"name\":" : "{\"name\":");
		append_quoted(a->out, a->search->arena, name);
		appendStringInfo(a->out, ",\"type\":\"%s\"}", type);
	}
	appendStringInfoChar(a->out, ']');
}

static void
append_page(answer *a, const ls_position *position)
{
	ls_position next = a->last;

	appendStringInfoString(a->out, ",\"page\":{\"nextCursor\":");
	if (a->more && !a->plan->table && a->search->given == NULL)
	{
		next.offset = (position->set ? position->offset : 0) + (uint32) a->n;
		appendStringInfo(
			a->out, "\"%s\"",
			ls_cursor_make(a->search, &next, a->plan->sorted, a->keys, a->plan->n_keys));
	}
	else
		appendStringInfoString(a->out, "null");
	appendStringInfo(a->out, ",\"hasMore\":%s}", a->more && !a->plan->table ? "true" : "false");
}

/* The header of a file that has no row to take it from: for who asks for CSV. */
static void
append_members(answer *a)
{
	const ls_request *request = ls_request_current();
	ls_str *names;
	int n;

	if (request == NULL || memmem(request->accept.data, request->accept.len, "csv", 3) == NULL)
		return;
	names = ls_plan_members(a->plan, &n);
	appendStringInfoString(a->out, ",\"columns\":[");
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			appendStringInfoChar(a->out, ',');
		append_quoted(a->out, a->search->arena, names[i]);
	}
	appendStringInfoChar(a->out, ']');
}

static void
append_time(StringInfo out, ls_time time)
{
	char iso[LS_TIME_ISO_LENGTH + 1];

	ls_time_format_iso(time, iso);
	appendStringInfo(out, "\"%s\"", iso);
}

void
ls_search_append_warnings(StringInfo out, ls_search *search)
{
	const ls_query_warnings *warnings = &search->query->warnings;

	for (uint32 i = 0; i < warnings->n; i++)
	{
		const ls_query_warning *w = warnings->items[i];

		appendStringInfo(out, "%s{\"code\":\"%s\",\"message\":", i > 0 ? "," : "", w->code);
		append_quoted(out, search->arena, w->message);
		/* GET /logs has no query. */
		if (search->q.data != NULL)
			appendStringInfo(
				out, ",\"position\":{\"offset\":%u,\"line\":%u,\"column\":%u,\"length\":%u}",
				w->position.offset, w->position.line, w->position.column, w->position.length);
		if (w->suggestion.len > 0)
		{
			appendStringInfoString(out, ",\"suggestion\":");
			append_quoted(out, search->arena, w->suggestion);
		}
		appendStringInfoChar(out, '}');
	}
}

/* Texts in which json, logfmt or kv found nothing, or that they did not read. */
static void
add_extractions(ls_search *search, const ls_search_notes *notes)
{
	for (uint32 i = 0; i < search->query->stages.n; i++)
	{
		const ls_query_stage *stage = search->query->stages.items[i];
		const char *name = ls_query_stage_name(stage->kind);

		if (notes->large_texts[i] > 0)
			ls_query_warn(search->query, search->arena, "EXTRACT_LIMIT", stage->span,
						  "%s reads at most %d fields, 1 MB and 50 levels of a text: %llu text%s"
						  " not read",
						  name, LS_EXTRACT_MAX, (unsigned long long) notes->large_texts[i],
						  notes->large_texts[i] == 1 ? " was" : "s were");
		if (notes->other_texts[i] > 0 && notes->read_texts[i] == 0 && notes->large_texts[i] == 0)
			ls_query_warn(search->query, search->arena, "NOTHING_EXTRACTED", stage->span,
						  "%s found %s in none of %llu texts", name,
						  stage->kind == LS_QUERY_JSON ? "JSON" : "name=value",
						  (unsigned long long) notes->other_texts[i]);
	}
}

/* The warnings that came up while the statement ran. */
static void
add_notes(ls_search *search, const ls_plan *plan, const ls_search_notes *notes)
{
	for (int i = 0; i < plan->n_counters; i++)
	{
		const ls_plan_counter *c = &plan->counters[i];

		if (notes->others[i] > 0 && (!c->texts_too || notes->numbers[i] > 0))
			ls_query_warn(search->query, search->arena, "NOT_A_NUMBER", c->span,
						  "%.*s: %llu value%s no number and left out",
						  (int) ls_utf8_prefix_chars(c->name.data, c->name.len, 60), c->name.data,
						  (unsigned long long) notes->others[i],
						  notes->others[i] == 1 ? " is" : "s are");
	}
	if (notes->unmined > 0)
		ls_query_warn(search->query, search->arena, "PATTERNS_LIMIT", plan->patterns,
					  "patterns looks at 1000000 rows, %llu were left out",
					  (unsigned long long) notes->unmined);
	if (notes->undigested > 0)
		ls_query_warn(search->query, search->arena, "PATTERNS_LIMIT", plan->patterns,
					  "patterns left out %llu rows: the texts take more memory than a search has",
					  (unsigned long long) notes->undigested);
	if (notes->cut_lists > 0)
		ls_query_warn(search->query, search->arena, "VALUES_LIMIT", plan->lists,
					  "values() lists the first %d values, up to 1 MB: %llu list%s not complete",
					  LS_VALUES_MAX, (unsigned long long) notes->cut_lists,
					  notes->cut_lists == 1 ? " is" : "s are");
	add_extractions(search, notes);
}

/*
 * To count the parts of all days takes a fifth of a search that reads none, more the more there are,
 * and how many were left out is only told: so for some seconds a count is good enough.  It is that
 * of one credential, because not all may see the parts of the audit log.
 */
#define COUNT_TIME (10 * USECS_PER_SEC)

typedef struct counted_parts
{
	pg_uuid_t ids[3]; /* of organization, user and credential */
	int64 parts;
	TimestampTz until;
} counted_parts;

static int64
all_parts(const ls_search *search)
{
	static counted_parts counted[64];
	const ls_principal *principal = search->principal;
	pg_uuid_t ids[3] = {principal->organization, principal->user, principal->credential};
	counted_parts *c = &counted[ls_hash_keyed(ids, sizeof(ids), 0) % lengthof(counted)];
	Oid types[] = {UUIDOID};
	Datum values[] = {UUIDPGetDatum(&principal->organization)};
	TimestampTz now = GetCurrentTimestamp();
	bool isnull;

	if (search->given != NULL)
		return search->given->rows > 0;
	if (now < c->until && memcmp(c->ids, ids, sizeof(ids)) == 0)
		return c->parts;
	if (ls_statement_read("SELECT (SELECT pg_catalog.count(*) FROM logsvc_internal.part"
						  " WHERE organization_id = $1) + (SELECT pg_catalog.count(*)"
						  " FROM logsvc_internal.queue WHERE organization_id = $1)",
						  1, types, values) != 1)
		elog(ERROR, "could not count parts");
	memcpy(c->ids, ids, sizeof(ids));
	c->until = now + COUNT_TIME;
	c->parts =
		DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	return c->parts;
}

static void
append_meta(answer *a, const ls_scan_session *session, TimestampTz started)
{
	ls_search *s = a->search;
	int64 parts = all_parts(s);

	if (a->more && a->plan->series)
		ls_query_warn(
			s->query, s->arena, "SERIES_LIMIT", a->plan->chart,
			"only the first %d rows are there, one for each time and series: use a longer "
			"span, or fewer series",
			s->limit);
	appendStringInfoString(a->out, ",\"meta\":{\"range\":{\"earliest\":");
	append_time(a->out, s->from);
	appendStringInfoString(a->out, ",\"latest\":");
	append_time(a->out, s->to);
	appendStringInfo(a->out,
					 "},\"stats\":{\"rowsScanned\":" UINT64_FORMAT
					 ",\"bytesScanned\":" UINT64_FORMAT ",\"rowsMatched\":" UINT64_FORMAT
					 ",\"partsScanned\":" UINT64_FORMAT ",\"partsPruned\":" INT64_FORMAT
					 ",\"tookMs\":%ld,\"approximate\":%s},\"truncated\":%s,\"warnings\":[",
					 session->rows, session->bytes, session->matched, session->parts,
					 Max(parts - (int64) session->parts, 0),
					 TimestampDifferenceMilliseconds(started, GetCurrentTimestamp()),
					 session->sampled ? "true" : "false", a->more ? "true" : "false");
	ls_search_append_warnings(a->out, s);
	appendStringInfoString(a->out, "],\"sql\":");
	if (s->explain)
	{
		StringInfoData sql;

		initStringInfo(&sql);
		ls_plan_print(&sql, a->plan);
		if (a->overview != NULL)
		{
			appendStringInfoString(&sql, "\n\n");
			ls_plan_print(&sql, a->overview->plan);
		}
		append_quoted(a->out, s->arena, ls_str_make(sql.data, (size_t) sql.len));
	}
	else
		appendStringInfoString(a->out, "null");
	if (a->overview != NULL)
		ls_overview_append(a->out, a->overview);
	appendStringInfoChar(a->out, '}');
}

/* The overview; the numbers of the answer include it. */
static void
run_overview(ls_overview *overview, ls_scan_session *session)
{
	ls_scan_session rows = *session;

	session->parts = session->matched = 0;
	ls_plan_run_in(session, NULL, overview->plan, ls_overview_row, overview);
	session->parts = Max(session->parts, rows.parts);
	session->matched = Max(session->matched, rows.matched);
}

/*
 * All warnings about a search that has run; n: rows of its page, `later`: which is not the first; `empty`: a column
 * of its table says nothing of the events that were found.
 */
static void
warn(ls_search *search, const ls_plan *plan, const ls_scan_session *session, ls_search_notes *notes,
	 int n, bool later, bool logs, bool empty)
{
	for (int i = 0; i < plan->n_counters; i++)
	{
		notes->numbers[i] += session->numbers[i];
		notes->others[i] += session->others[i];
	}
	notes->undigested = session->unmined;
	add_notes(search, plan, notes);
	if (n == 0 || plan->table)
		ls_search_warn_unknown(search, n == 0);
	ls_search_note_values(search, n == 0        ? LS_SEARCH_NOTHING
								  : plan->table ? LS_SEARCH_TABLE
												: LS_SEARCH_EVENTS);
	if (later)
		return;
	if (n == 0 || plan->table)
		ls_search_warn_levels(search, false);
	if (logs && n == 0)
	{
		ls_search_note_parameter(search, LS_QUERY_SERVICE, search->service);
		ls_search_note_parameter(search, LS_QUERY_SOURCE, search->source);
	}
	if (logs)
		return;
	ls_search_note_levels(search, n == 0);
	ls_search_note_conditions(search, n == 0 || plan->table);
	if (n == 0 || session->matched == 0)
		ls_search_note_together(search);
	if (n == 0 && !plan->table)
	{
		ls_search_note_members(search);
		ls_search_note_near_values(search, false);
		ls_search_note_field_words(search);
		ls_search_note_words(search);
	}
	else if (plan->table && session->matched == 0)
		ls_search_note_near_values(search, true);
	if (n == 0 || session->matched == 0 || empty)
		ls_search_note_absent(search, session->matched == 0, plan->table);
}

typedef struct counted
{
	ls_plan_row row;
	void *context;
	int n;
} counted;

static bool
count_row(void *context, const ls_position *position, char **texts)
{
	counted *c = context;

	c->n = Min(c->n + 1, INT_MAX - 1);
	return c->row(c->context, position, texts);
}

void
ls_search_events(ls_search *search, const ls_plan *plan, bool warned, ls_plan_row row,
				 void *context)
{
	ls_scan_session session = ls_plan_session(search, plan);
	ls_search_notes *notes = palloc0(sizeof(*notes));
	counted c = {.row = row, .context = context};
	TimestampTz started = GetCurrentTimestamp();

	ls_plan_run_in(&session, notes, plan, count_row, &c);
	if (warned)
	{
		ls_search_explain_for(search, started);
		warn(search, plan, &session, notes, c.n, false, false, false);
	}
}

static bool *
all_true(int n)
{
	bool *flags = palloc(sizeof(bool) * (Size) (n + 1));

	memset(flags, true, sizeof(bool) * (Size) (n + 1));
	return flags;
}

static bool
has_empty_column(const answer *a)
{
	for (int c = 0; c < a->plan->n_columns && a->plan->table; c++)
		if (a->empty[c])
			return true;
	return false;
}

void
ls_search_answer(ls_search *search, const ls_plan *plan, const ls_position *position,
				 TimestampTz started, bool logs, StringInfo out)
{
	ls_scan_session session = ls_plan_session(search, plan);
	answer a = {.search = search, .plan = plan, .out = out};
	ls_search_notes *notes = palloc0(sizeof(*notes));

	a.numbers = all_true(plan->n_columns);
	a.strings = all_true(plan->n_columns);
	a.empty = all_true(plan->n_columns);

	appendStringInfoString(out, logs           ? "{\"data\":["
								: plan->series ? "{\"data\":{\"kind\":\"series\",\"rows\":["
								: plan->table  ? "{\"data\":{\"kind\":\"table\",\"rows\":["
											   : "{\"data\":{\"kind\":\"events\",\"rows\":[");
	ls_plan_run_in(&session, notes, plan, answer_row, &a);
	a.overview = ls_overview_plan(search);
	if (a.overview != NULL)
		run_overview(a.overview, &session);
	ls_search_explain_for(search, started);
	warn(search, plan, &session, notes, a.n, position->set, logs, has_empty_column(&a));
	if (logs)
		appendStringInfoChar(out, ']');
	else
	{
		appendStringInfoString(out, "],\"columns\":");
		if (plan->table)
			append_columns(&a);
		else
			appendStringInfoString(out, "null");
		appendStringInfoChar(out, '}');
	}
	append_page(&a, position);
	if (a.n == 0 && !plan->table)
		append_members(&a);
	if (logs)
	{
		appendStringInfoString(out, ",\"meta\":{\"from\":");
		append_time(out, search->from);
		appendStringInfoString(out, ",\"to\":");
		append_time(out, search->to);
		appendStringInfo(out, ",\"tookMs\":%ld",
						 TimestampDifferenceMilliseconds(started, GetCurrentTimestamp()));
		if (search->query->warnings.n > 0)
		{
			appendStringInfoString(out, ",\"warnings\":[");
			ls_search_append_warnings(out, search);
			appendStringInfoChar(out, ']');
		}
		appendStringInfoChar(out, '}');
	}
	else
		append_meta(&a, &session, started);
	appendStringInfoChar(out, '}');
}
