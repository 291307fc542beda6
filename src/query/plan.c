/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  A query as one SQL statement.
 *
 * Innermost are the parts and the waiting entries of the queue, scanned by
 * part_scan or counted by part_group; each stage wraps what is before it.  The
 * text of the statement is made of constants, numbers of parameters and
 * generated column names only: whatever a user wrote travels as parameter.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "src/store/scan.h"

#define MAX_FIELDS 64
#define MAX_KEYS 32 /* of stats, as part_group */
#define SORT_LIMIT 10000
#define HEAD_LIMIT 10

/* A list of fields of the query. */
typedef struct field_set
{
	const ls_query_field *items[MAX_FIELDS];
	int n;
	bool given;
} field_set;

typedef struct planner
{
	ls_search *search;
	ls_plan *plan;
	StringInfoData sql;   /* of the stages so far */
	StringInfoData order; /* the current order, as terms of ORDER BY */
	int stage;            /* number of the stage, for names */
	field_set values;     /* what part_scan must return as values */
	field_set shown;
	field_set hidden;
	int organization; /* numbers of parameters */
	int indexes;
	int from;
	int to;
	int filter;
	int fields;
	int newest;
	int descending;
	int after_time;
	int after_batch;
	int after_place;
	int show;
	int hide;
} planner;

/* ---- parameters ---- */

static int
parameter(planner *p, Oid type, Datum value, bool isnull)
{
	ls_plan *plan = p->plan;

	if (plan->n_params == LS_PLAN_MAX_PARAMS)
		ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
				errmsg("the query has too many stages"));
	plan->types[plan->n_params] = type;
	plan->values[plan->n_params] = value;
	plan->nulls[plan->n_params] = isnull ? 'n' : ' ';
	return ++plan->n_params;
}

static void
set_parameter(planner *p, int number, Datum value)
{
	p->plan->values[number - 1] = value;
	p->plan->nulls[number - 1] = ' ';
}

static int
integer(planner *p, int64 value)
{
	return parameter(p, INT8OID, Int64GetDatum(value), false);
}

static Datum
text_array(const ls_str *texts, int n)
{
	Datum *values = palloc(sizeof(Datum) * (Size) (n + 1));

	for (int i = 0; i < n; i++)
		values[i] = PointerGetDatum(ls_text_of_str(texts[i]));
	return PointerGetDatum(construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/* ---- fields ---- */

static ls_str
field_name(planner *p, const ls_query_field *field)
{
	ls_buf buf;

	if (field->builtin == LS_QUERY_TEMPLATE_ID)
		ls_search_fail(p->search, field->span, "template_id is not supported yet");
	if (field->builtin != LS_QUERY_NOT_BUILTIN)
		return ls_str_of_cstring(ls_query_builtin_name(field->builtin));
	ls_buf_init(&buf, p->search->arena);
	ls_scan_field_name(&buf, field->parts, field->n_parts);
	if (buf.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return ls_str_make(buf.data, buf.len);
}

static Datum
field_array(planner *p, const field_set *set)
{
	ls_str names[MAX_FIELDS];

	for (int i = 0; i < set->n; i++)
		names[i] = field_name(p, set->items[i]);
	return text_array(names, set->n);
}

static int
find_field(const field_set *set, const ls_query_field *field)
{
	for (int i = 0; i < set->n; i++)
	{
		const ls_query_field *item = set->items[i];

		if (item == field || (item->builtin == field->builtin && item->n_parts == field->n_parts &&
							  ls_str_eq(item->name, field->name)))
			return i;
	}
	return -1;
}

static int
add_field(planner *p, field_set *set, const ls_query_field *field)
{
	int at = find_field(set, field);

	if (at >= 0)
		return at;
	if (set->n == MAX_FIELDS)
		ls_search_fail(p->search, field->span, "the query names more than %d fields", MAX_FIELDS);
	set->items[set->n] = field;
	return set->n++;
}

/* The values of a field in the current rows, as SQL; NULL when there is none. */
static char *
reference(planner *p, const ls_query_field *field)
{
	if (p->plan->table)
	{
		for (int i = 0; i < p->plan->n_columns; i++)
		{
			if (ls_str_eq(p->plan->columns[i].name, field->name))
				return psprintf("t.c%d", i + 1);
		}
		return pstrdup("NULL::pg_catalog.text");
	}
	if (find_field(&p->hidden, field) >= 0 || (p->shown.given && find_field(&p->shown, field) < 0))
		return pstrdup("NULL::pg_catalog.text");
	if (field->builtin == LS_QUERY_NOT_BUILTIN && field->n_parts == 0)
		ls_search_fail(p->search, field->span, "name an attribute: attributes.<name>");
	field_name(p, field);
	return psprintf("t.\"values\"[%d]", add_field(p, &p->values, field) + 1);
}

/* ---- the rows ---- */

static Datum
day_of(ls_time time)
{
	int64 day = time / LS_USECS_PER_DAY - (time % LS_USECS_PER_DAY < 0);

	return DateADTGetDatum((DateADT) (day - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)));
}

/* Parts and entries of the queue that can have rows of the search. */
static void
append_sources(planner *p, StringInfo sql, bool ordered)
{
	ls_search *s = p->search;
	int first_day = parameter(p, DATEOID, day_of(s->from), false);
	int last_day = parameter(p, DATEOID, day_of(s->to), false);
	int mask = parameter(p, INT4OID, Int32GetDatum((int32) ls_filter_level_mask(s->filter)), false);

	appendStringInfo(sql,
					 "(SELECT p.id, p.header, p.body, p.index_name, p.min_time, p.max_time"
					 " FROM logsvc_internal.part p"
					 " WHERE p.organization_id = $%d AND p.index_name = ANY ($%d)"
					 " AND p.day BETWEEN $%d AND $%d AND p.max_time >= $%d AND p.min_time < $%d"
					 " AND p.level_mask & $%d <> 0"
					 " UNION ALL "
					 "SELECT q.id, q.header, q.body, NULL, q.min_time, q.max_time"
					 " FROM logsvc_internal.queue q"
					 " WHERE q.organization_id = $%d AND q.max_time >= $%d AND q.min_time < $%d"
					 " AND q.level_mask & $%d <> 0",
					 p->organization, p->indexes, first_day, last_day, p->from, p->to, mask,
					 p->organization, p->from, p->to, mask);
	if (ordered)
		appendStringInfoString(sql,
							   s->ascending ? " ORDER BY min_time" : " ORDER BY max_time DESC");
	appendStringInfoString(sql, ") s");
}

static void
scan_events(planner *p)
{
	const char *direction = p->search->ascending ? "" : " DESC";

	appendStringInfoString(&p->sql, "SELECT r.ts, r.batch, r.place, r.\"values\", r.event FROM ");
	append_sources(p, &p->sql, true);
	appendStringInfo(&p->sql,
					 " CROSS JOIN LATERAL logsvc_internal.part_scan(s.id, s.header, s.body,"
					 " s.index_name, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d) r",
					 p->filter, p->from, p->to, p->fields, p->fields + 1, p->newest, p->descending,
					 p->after_time, p->after_batch, p->after_place, p->show, p->hide);
	appendStringInfo(&p->order, "t.ts%s, t.batch%s, t.place%s", direction, direction, direction);
}

/* ---- stages ---- */

static void
wrap(planner *p, const char *before, const char *after)
{
	char *inner = p->sql.data;

	initStringInfo(&p->sql);
	appendStringInfo(&p->sql, "%s(%s) t%s", before, inner, after);
}

static void
head(planner *p, const ls_query_stage *stage)
{
	int64 count = stage->count < 0 ? HEAD_LIMIT : stage->count;

	wrap(p, "SELECT t.* FROM ",
		 psprintf(" ORDER BY %s LIMIT $%d", p->order.data, integer(p, count)));
}

static void
dedup(planner *p, const ls_query_stage *stage)
{
	StringInfoData keys;
	StringInfoData present;
	int64 count = stage->count < 0 ? 1 : stage->count;

	initStringInfo(&keys);
	initStringInfo(&present);
	for (uint32 i = 0; i < stage->fields.n; i++)
	{
		char *key = reference(p, stage->fields.items[i]);

		appendStringInfo(&keys, "%s%s", i > 0 ? ", " : "", key);
		appendStringInfo(&present, "%s%s IS NOT NULL", i > 0 ? " AND " : "", key);
	}
	wrap(p,
		 psprintf("SELECT t.*, pg_catalog.row_number() OVER (PARTITION BY %s ORDER BY %s) AS n%d"
				  " FROM ",
				  keys.data, p->order.data, p->stage),
		 "");
	wrap(
		p, "SELECT t.* FROM ",
		stage->keep_empty
			? psprintf(" WHERE t.n%d <= $%d OR NOT (%s)", p->stage, integer(p, count), present.data)
			: psprintf(" WHERE t.n%d <= $%d AND %s", p->stage, integer(p, count), present.data));
}

/* Numbers before text, missing last, whatever the direction. */
static void
append_key(StringInfo order, const char *value, bool descending)
{
	const char *direction = descending ? " DESC" : "";

	appendStringInfo(order,
					 "logsvc_internal.sort_number(%s)%s NULLS LAST, "
					 "logsvc_internal.sort_text(%s) COLLATE \"C\"%s NULLS LAST, ",
					 value, direction, value, direction);
}

static void
sort(planner *p, const ls_query_stage *stage)
{
	int64 count = stage->count < 0 ? SORT_LIMIT : stage->count;
	StringInfoData order;

	initStringInfo(&order);
	for (uint32 i = 0; i < stage->keys.n; i++)
	{
		const ls_query_key *key = stage->keys.items[i];
		char *value = reference(p, key->field);

		if (!p->plan->table && key->field->builtin == LS_QUERY_TIMESTAMP)
			appendStringInfo(&order, "t.ts%s, ", key->descending ? " DESC" : "");
		else
			append_key(&order, value, key->descending);
	}
	appendStringInfoString(&order, p->order.data);
	wrap(p,
		 psprintf("SELECT t.*, pg_catalog.row_number() OVER (ORDER BY %s) AS o%d FROM ", order.data,
				  p->stage),
		 "");
	wrap(p, "SELECT t.* FROM ", psprintf(" WHERE t.o%d <= $%d", p->stage, integer(p, count)));
	resetStringInfo(&p->order);
	appendStringInfo(&p->order, "t.o%d", p->stage);
}

/* Of a table: its columns anew.  Of events: part_scan leaves out the others. */
static void
fields(planner *p, const ls_query_stage *stage)
{
	ls_plan *plan = p->plan;
	field_set listed = {0};

	for (uint32 i = 0; i < stage->fields.n; i++)
		add_field(p, &listed, stage->fields.items[i]);
	if (plan->table)
	{
		ls_plan_column *old = plan->columns;
		ls_plan_column *columns = palloc0(sizeof(*columns) * (Size) (plan->n_columns + MAX_FIELDS));
		StringInfoData list;
		int n = 0;

		initStringInfo(&list);
		for (int i = 0; stage->exclude && i < plan->n_columns; i++)
		{
			bool hide = false;

			for (int f = 0; f < listed.n; f++)
				hide = hide || ls_str_eq(listed.items[f]->name, old[i].name);
			if (hide)
				continue;
			columns[n] = old[i];
			appendStringInfo(&list, "t.c%d AS c%d, ", i + 1, n + 1);
			n++;
		}
		for (int f = 0; !stage->exclude && f < listed.n; f++)
		{
			columns[n].name = listed.items[f]->name;
			for (int i = 0; i < plan->n_columns; i++)
			{
				if (ls_str_eq(old[i].name, columns[n].name))
					columns[n].type = old[i].type;
			}
			appendStringInfo(&list, "%s AS c%d, ", reference(p, listed.items[f]), n + 1);
			n++;
		}
		if (n == 0)
			ls_search_fail(p->search, stage->span, "no column is left");
		wrap(p,
			 psprintf("SELECT %spg_catalog.row_number() OVER (ORDER BY %s) AS o%d FROM ", list.data,
					  p->order.data, p->stage),
			 "");
		resetStringInfo(&p->order);
		appendStringInfo(&p->order, "t.o%d", p->stage);
		plan->columns = columns;
		plan->n_columns = n;
		return;
	}
	if (stage->exclude)
	{
		for (int i = 0; i < listed.n; i++)
			add_field(p, &p->hidden, listed.items[i]);
		return;
	}
	if (p->shown.given)
	{
		field_set both = {0};

		for (int i = 0; i < listed.n; i++)
		{
			if (find_field(&p->shown, listed.items[i]) >= 0)
				add_field(p, &both, listed.items[i]);
		}
		listed = both;
	}
	p->shown = listed;
	p->shown.given = true;
}

static void
stats(planner *p, const ls_query_stage *stage, bool first)
{
	ls_plan *plan = p->plan;
	int n_by = (int) stage->by.n;
	int n = n_by + (int) stage->aggregates.n;
	ls_plan_column *columns = palloc0(sizeof(*columns) * (Size) (n + 1));
	StringInfoData list;
	StringInfoData group;
	StringInfoData order;

	if (n_by > MAX_KEYS || n > MAX_FIELDS)
		ls_search_fail(p->search, stage->span, "stats makes at most %d columns, %d of them keys",
					   MAX_FIELDS, MAX_KEYS);
	initStringInfo(&list);
	initStringInfo(&group);
	initStringInfo(&order);
	for (int i = 0; i < n_by; i++)
	{
		const ls_query_field *by = stage->by.items[i];
		char *value = reference(p, by);

		/* part_group returns the keys in the order of `by`. */
		if (first)
			value = psprintf("g.keys[%d]", i + 1);
		columns[i].name = by->name;
		appendStringInfo(&list, "%s AS c%d, ", value, i + 1);
		appendStringInfo(&group, "%s%d", i > 0 ? ", " : " GROUP BY ", i + 1);
		append_key(&order, psprintf("t.c%d", i + 1), false);
	}
	for (uint32 i = 0; i < stage->aggregates.n; i++)
	{
		const ls_query_aggregate *aggregate = stage->aggregates.items[i];

		if (aggregate->kind != LS_QUERY_COUNT || aggregate->arg != NULL)
			ls_search_fail(p->search, aggregate->span, "%s is not supported yet",
						   aggregate->kind == LS_QUERY_COUNT ? "count with an argument"
															 : ls_cstring_of_str(aggregate->name));
		columns[n_by + (int) i].name = aggregate->name;
		columns[n_by + (int) i].type = LS_COLUMN_NUMBER;
		appendStringInfo(&list, "%s%s::pg_catalog.text AS c%d", i > 0 ? ", " : "",
						 first ? "coalesce(pg_catalog.sum(g.count), 0)" : "pg_catalog.count(*)",
						 n_by + (int) i + 1);
	}
	if (first)
	{
		field_set keys = {0};

		resetStringInfo(&p->sql);
		appendStringInfo(&p->sql, "SELECT %s FROM ", list.data);
		append_sources(p, &p->sql, false);
		appendStringInfo(&p->sql,
						 " CROSS JOIN LATERAL logsvc_internal.part_group(s.id, s.header, s.body,"
						 " s.index_name, $%d, $%d, $%d, $%d) g%s",
						 p->filter, p->from, p->to, p->fields, group.data);
		for (int i = 0; i < n_by; i++)
			keys.items[keys.n++] = stage->by.items[i];
		p->values = keys;
	}
	else
		wrap(p, psprintf("SELECT %s FROM ", list.data), group.data);
	resetStringInfo(&p->order);
	appendStringInfo(&p->order, "%st.c%d", order.data, n_by + 1);
	plan->table = true;
	plan->columns = columns;
	plan->n_columns = n;
}

/* Is there nothing before it but stages that leave the rows as they are? */
static bool
only_fields_before(const ls_query *query, uint32 stage)
{
	for (uint32 i = 0; i < stage; i++)
	{
		if (query->stages.items[i]->kind != LS_QUERY_FIELDS)
			return false;
	}
	return true;
}

static void
add_stages(planner *p)
{
	const ls_query *query = p->search->query;
	bool scanned = false;

	for (uint32 i = 0; i < query->stages.n; i++)
	{
		const ls_query_stage *stage = query->stages.items[i];
		bool plain = only_fields_before(query, i);

		p->stage = (int) i + 1;
		if (stage->kind != LS_QUERY_FIELDS || p->plan->table)
			p->plan->keyset = false;
		if (!scanned && !(stage->kind == LS_QUERY_STATS && i == 0))
		{
			scan_events(p);
			scanned = true;
		}
		switch (stage->kind)
		{
			case LS_QUERY_HEAD:
				if (plain && !p->plan->table)
					p->plan->newest = (int) Max(1, stage->count < 0 ? HEAD_LIMIT : stage->count);
				head(p, stage);
				break;
			case LS_QUERY_DEDUP:
				dedup(p, stage);
				break;
			case LS_QUERY_SORT:
				sort(p, stage);
				break;
			case LS_QUERY_FIELDS:
				fields(p, stage);
				break;
			case LS_QUERY_STATS:
				stats(p, stage, !scanned);
				scanned = true;
				break;
			default:
				ls_search_fail(p->search, stage->span, "%s is not supported yet",
							   ls_query_stage_name(stage->kind));
		}
	}
	if (!scanned)
		scan_events(p);
}

/* ---- the whole ---- */

static Datum
serialized_filter(planner *p)
{
	ls_search *s = p->search;
	ls_filter *index = ls_search_node(s, LS_FILTER_IN, (uint32) s->n_indexes);
	ls_buf bytes;

	index->target = LS_TARGET_NAMED;
	index->field = LS_FIELD_INDEX;
	for (int i = 0; i < s->n_indexes; i++)
	{
		index->children[i] = ls_search_node(s, LS_FILTER_EQ, 0);
		index->children[i]->target = LS_TARGET_NAMED;
		index->children[i]->field = LS_FIELD_INDEX;
		index->children[i]->text = s->indexes[i];
	}
	ls_buf_init(&bytes, s->arena);
	ls_filter_serialize(&bytes, ls_search_and(s, index, s->filter));
	if (bytes.failed)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return PointerGetDatum(ls_text_of_str(ls_str_make(bytes.data, bytes.len)));
}

static void
set_page(planner *p, const ls_position *position)
{
	ls_plan *plan = p->plan;
	ls_search *s = p->search;
	int64 offset = position->set && !plan->keyset ? position->offset : 0;

	if (position->set && plan->keyset)
	{
		set_parameter(p, p->after_time,
					  TimestampTzGetDatum(ls_timestamptz_of_time(position->time)));
		set_parameter(p, p->after_batch, Int64GetDatum((int64) position->batch));
		set_parameter(p, p->after_place, Int32GetDatum((int32) position->place));
	}
	if (plan->keyset && s->limit > 0)
		plan->newest = s->limit + 1;
	if (plan->newest > 0)
		set_parameter(p, p->newest, Int32GetDatum(plan->newest));
	if (plan->table)
	{
		appendStringInfoString(&plan->sql, "SELECT ");
		for (int i = 0; i < plan->n_columns; i++)
			appendStringInfo(&plan->sql, "%st.c%d", i > 0 ? ", " : "", i + 1);
	}
	else
		appendStringInfoString(&plan->sql, "SELECT t.ts, t.batch, t.place, t.event");
	appendStringInfo(&plan->sql, " FROM (%s) t ORDER BY %s", p->sql.data, p->order.data);
	if (s->limit > 0)
		appendStringInfo(&plan->sql, " LIMIT $%d", integer(p, (int64) s->limit + 1));
	if (offset > 0)
		appendStringInfo(&plan->sql, " OFFSET $%d", integer(p, offset));
}

ls_plan *
ls_search_plan(ls_search *search, const ls_position *position)
{
	ls_plan *plan = palloc0(sizeof(ls_plan));
	planner *p = palloc0(sizeof(planner));

	p->search = search;
	p->plan = plan;
	plan->keyset = true;
	plan->empty = search->n_indexes == 0 || search->from >= search->to;
	initStringInfo(&plan->sql);
	initStringInfo(&p->sql);
	initStringInfo(&p->order);

	p->organization = parameter(p, UUIDOID, UUIDPGetDatum(&search->principal->organization), false);
	p->indexes = parameter(p, TEXTARRAYOID, text_array(search->indexes, search->n_indexes), false);
	p->from = parameter(p, TIMESTAMPTZOID,
						TimestampTzGetDatum(ls_timestamptz_of_time(search->from)), false);
	p->to = parameter(p, TIMESTAMPTZOID, TimestampTzGetDatum(ls_timestamptz_of_time(search->to)),
					  false);
	p->filter = parameter(p, BYTEAOID, serialized_filter(p), false);
	p->fields = parameter(p, TEXTARRAYOID, (Datum) 0, true);
	parameter(p, BOOLOID, BoolGetDatum(true), false); /* want_event: fields + 1 */
	p->newest = parameter(p, INT4OID, (Datum) 0, true);
	p->descending = parameter(p, BOOLOID, BoolGetDatum(!search->ascending), false);
	p->after_time = parameter(p, TIMESTAMPTZOID, (Datum) 0, true);
	p->after_batch = parameter(p, INT8OID, (Datum) 0, true);
	p->after_place = parameter(p, INT4OID, (Datum) 0, true);
	p->show = parameter(p, TEXTARRAYOID, (Datum) 0, true);
	p->hide = parameter(p, TEXTARRAYOID, (Datum) 0, true);

	add_stages(p);
	set_page(p, position);

	if (p->values.n > 0 || plan->table)
		set_parameter(p, p->fields, field_array(p, &p->values));
	set_parameter(p, p->fields + 1, BoolGetDatum(!plan->table));
	if (p->shown.given)
		set_parameter(p, p->show, field_array(p, &p->shown));
	if (p->hidden.n > 0)
		set_parameter(p, p->hide, field_array(p, &p->hidden));
	return plan;
}

void
ls_plan_print(StringInfo out, const ls_plan *plan)
{
	appendStringInfoString(out, plan->sql.data);
	for (int i = 0; i < plan->n_params; i++)
	{
		Oid output;
		bool varlena;

		getTypeOutputInfo(plan->types[i], &output, &varlena);
		appendStringInfo(out, "\n-- $%d = %s", i + 1,
						 plan->nulls[i] == 'n' ? "NULL"
											   : OidOutputFunctionCall(output, plan->values[i]));
	}
}
