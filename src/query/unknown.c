/*-------------------------------------------------------------------------
 *
 * unknown.c
 *	  Warnings about attributes that no event has.
 *
 * Which attributes there are is known from the headers of parts, so this is
 * looked at only where it can tell something: when a query is validated, and
 * when a search found nothing or made a table.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* Parts of the range; with more of them nothing is said. */
#define MOST_PARTS 200

/* In so few of them most names are found. */
#define FIRST_PARTS 4
#define MOST_NAMES 64

/* A field that the query reads before a stage makes it. */
typedef struct reading
{
	const ls_query_field *field;
	const ls_query_field *before; /* of a subtraction: the name before the minus */
	bool right;                   /* of a comparison */
} reading;

typedef struct collector
{
	reading items[MOST_NAMES];
	int n;
	ls_str made[MOST_NAMES]; /* by stages */
	int n_made;
} collector;

static bool
is_made(const collector *c, const ls_query_field *field)
{
	for (int i = 0; i < c->n_made; i++)
	{
		/* What is inside of a field that was made is made, too. */
		if (ls_str_eq(c->made[i], field->name) || ls_str_eq(c->made[i], field->parts[0]))
			return true;
	}
	return false;
}

static void
add(collector *c, const ls_query_field *field, const ls_query_field *before, bool right)
{
	if (field == NULL || field->builtin != LS_QUERY_NOT_BUILTIN || field->n_parts == 0 ||
		c->n == MOST_NAMES || is_made(c, field))
		return;
	for (int i = 0; i < c->n; i++)
	{
		if (ls_query_field_eq(c->items[i].field, field) && before == NULL)
			return;
	}
	c->items[c->n++] = (reading){field, before, right};
}

static void
make(collector *c, ls_str name)
{
	if (c->n_made < MOST_NAMES)
		c->made[c->n_made++] = name;
}

static void
add_fields(collector *c, const ls_query_fields *fields)
{
	for (uint32 i = 0; i < fields->n; i++)
		add(c, fields->items[i], NULL, false);
}

static void
add_filter(collector *c, const ls_query_filter *filter)
{
	add(c, filter->field, NULL, false);
	for (uint32 i = 0; i < filter->n_children; i++)
		add_filter(c, filter->children[i]);
}

static void
add_expression(collector *c, const ls_query_expr *expr, const ls_query_field *before, bool right)
{
	add(c, expr->field, before, right);
	for (uint32 i = 0; i < expr->n_args; i++)
	{
		const ls_query_expr *left = i > 0 ? expr->args[i - 1] : NULL;
		bool joined = expr->kind == LS_QUERY_EXPR_SUBTRACT && left != NULL &&
					  left->kind == LS_QUERY_EXPR_FIELD &&
					  left->span.end + 1 == expr->args[i]->span.start;

		add_expression(c, expr->args[i], joined ? left->field : NULL,
					   expr->kind == LS_QUERY_EXPR_COMPARE && i > 0);
	}
}

/* What a stage reads, then what it makes; false when a table begins there. */
static bool
add_stage(collector *c, const ls_query_stage *stage)
{
	if (stage->condition != NULL)
		add_expression(c, stage->condition, NULL, false);
	if (stage->kind != LS_QUERY_FIELDS || !stage->exclude)
		add_fields(c, &stage->fields);
	add_fields(c, &stage->by);
	add(c, stage->field, NULL, false);
	for (uint32 i = 0; i < stage->keys.n; i++)
		add(c, stage->keys.items[i]->field, NULL, false);
	for (uint32 i = 0; i < stage->aggregates.n; i++)
	{
		if (stage->aggregates.items[i]->arg != NULL)
			add_expression(c, stage->aggregates.items[i]->arg, NULL, false);
	}
	for (uint32 i = 0; i < stage->assigns.n; i++)
	{
		const ls_query_assign *assign = stage->assigns.items[i];

		add(c, assign->from, NULL, false);
		if (assign->value != NULL)
			add_expression(c, assign->value, NULL, false);
		make(c, assign->to->name);
	}
	for (uint32 i = 0; i < stage->n_groups; i++)
		make(c, stage->groups[i]->name);
	switch (stage->kind)
	{
		case LS_QUERY_STATS:
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
		case LS_QUERY_TIMECHART:
			return false;
		case LS_QUERY_PATTERNS:
			make(c, LS_STR("template"));
			return stage->label;
		default:
			return true;
	}
}

/*
 * The attributes of the events in the range, or of `most` parts of it; -1: not
 * known.
 */
static int
known_names(const ls_search *s, int most, ls_str **names)
{
	static const char *const sql =
		"WITH h AS MATERIALIZED (SELECT id, header, CASE WHEN pg_catalog.octet_length(header) > 5"
		" THEN pg_catalog.get_byte(header, 5) & 12 <> 0 ELSE true END AS lists FROM ("
		"(SELECT p.id, p.header FROM logsvc_internal.part p WHERE p.organization_id = $1"
		" AND p.index_name = ANY ($2) AND p.max_time >= $3 AND p.min_time < $4"
		" AND p.day BETWEEN ($3 AT TIME ZONE 'UTC')::pg_catalog.date"
		" AND ($4 AT TIME ZONE 'UTC')::pg_catalog.date"
		" UNION ALL SELECT q.id, q.header FROM logsvc_internal.queue q"
		" WHERE q.organization_id = $1 AND (NOT q.audit OR '_audit' = ANY ($2)) AND q.max_time >= "
		"$3 AND q.min_time < $4)) u LIMIT $5)"
		/* Some parts have these lists in the body; of damaged ones the search itself tells. */
		" SELECT NULL WHERE (SELECT pg_catalog.count(*) > " CppAsString2(
			MOST_PARTS) " OR pg_catalog.bool_or(h.lists) FROM h)"
						" UNION ALL (SELECT DISTINCT f.name FROM h, LATERAL "
						"logsvc_internal.part_fields(h.id, "
						"h.header) f"
						" WHERE NOT (SELECT pg_catalog.bool_or(h.lists) FROM h))";
	Oid types[] = {UUIDOID, TEXTARRAYOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID};
	Datum *indexes = palloc(sizeof(Datum) * (Size) (s->n_indexes + 1));
	Datum values[5];
	int n;

	for (int i = 0; i < s->n_indexes; i++)
	{
		/* Entries of the queue may have other indexes as well, of which test keys see nothing. */
		if (ls_str_eq(s->indexes[i], LS_STR("_test")))
			return -1;
		indexes[i] = PointerGetDatum(ls_text_of_str(s->indexes[i]));
	}
	values[0] = UUIDPGetDatum(&s->principal->organization);
	values[1] =
		PointerGetDatum(construct_array(indexes, s->n_indexes, TEXTOID, -1, false, TYPALIGN_INT));
	values[2] = TimestampTzGetDatum(ls_timestamptz_of_time(s->from));
	values[3] = TimestampTzGetDatum(ls_timestamptz_of_time(s->to));
	values[4] = Int32GetDatum(most);
	n = (int) ls_statement_read(sql, 5, types, values);
	*names = palloc(sizeof(ls_str) * (Size) (n + 1));
	for (int i = 0; i < n; i++)
	{
		char *name = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);

		if (name == NULL)
			return -1;
		(*names)[i] = ls_str_of_cstring(name);
	}
	return n;
}

static bool
is_known(const ls_str *names, int n, ls_str name)
{
	for (int i = 0; i < n; i++)
	{
		if (ls_str_eq(names[i], name))
			return true;
	}
	return false;
}

/* The name or a beginning of it, inside of which the rest may be. */
static bool
path_is_known(const ls_str *names, int n, const ls_query_field *field)
{
	for (size_t i = 0; i <= field->name.len; i++)
	{
		if ((i == field->name.len || field->name.data[i] == '.') &&
			is_known(names, n, ls_str_make(field->name.data, i)))
			return true;
	}
	return false;
}

/* An attribute that is spelt like the name, else a field that every event can have; or empty. */
static ls_str
closest_name(ls_str name, const ls_str *names, int n)
{
	ls_str builtins[LS_QUERY_TEMPLATE_ID + 1] = {{NULL, 0}};
	int closest = ls_query_closest(name, names, (uint32) n);

	if (closest >= 0)
		return names[closest];
	/* attributes.level is not spelt wrong, and ip is not id. */
	if (name.len <= 3 || ls_query_builtin_find(name) != LS_QUERY_NOT_BUILTIN)
		return LS_STR("");
	for (int i = LS_QUERY_EVENT; i <= LS_QUERY_TEMPLATE_ID; i++)
		builtins[i] = ls_str_of_cstring(ls_query_builtin_name((ls_query_builtin) i));
	closest = ls_query_closest(name, builtins, lengthof(builtins));
	return closest >= 0 ? builtins[closest] : LS_STR("");
}

static void
warn_unknown(ls_search *s, const reading *r, const ls_str *names, int n)
{
	ls_str name = r->field->name;
	int shown = (int) ls_utf8_prefix_chars(name.data, name.len, 60);
	ls_str closest = closest_name(name, names, n);

	if (closest.len > 0)
		ls_query_warn(s->query, s->arena, "UNKNOWN_FIELD", r->field->span,
					  "no event has the field %.*s: did you mean %.*s?", shown, name.data,
					  (int) closest.len, closest.data);
	else if (r->right)
		ls_query_warn(s->query, s->arena, "UNKNOWN_FIELD", r->field->span,
					  "no event has the field %.*s: to compare with the text write \"%.*s\"", shown,
					  name.data, shown, name.data);
	else
		ls_query_warn(s->query, s->arena, "UNKNOWN_FIELD", r->field->span,
					  "no event has the field %.*s", shown, name.data);
}

static bool
all_known(const collector *c, const ls_str *names, int n)
{
	for (int i = 0; i < c->n; i++)
	{
		if (c->items[i].before != NULL || !path_is_known(names, n, c->items[i].field))
			return false;
	}
	return true;
}

void
ls_search_warn_unknown(ls_search *s)
{
	collector *c = palloc0(sizeof(collector));
	ls_str *names;
	int n;

	if (s->query->filter != NULL)
		add_filter(c, s->query->filter);
	for (uint32 i = 0; i < s->query->stages.n; i++)
	{
		if (!add_stage(c, s->query->stages.items[i]))
			break;
	}
	if (c->n == 0 || s->n_indexes == 0 || s->from >= s->to)
		return;
	n = known_names(s, FIRST_PARTS, &names);
	if (n < 0 || (n > 0 && all_known(c, names, n)))
		return;
	n = known_names(s, MOST_PARTS + 1, &names);
	/* Where there are no events there is no wrong name. */
	for (int i = 0; i < c->n && n > 0; i++)
	{
		const reading *r = &c->items[i];

		if (r->before != NULL)
		{
			ls_str joined = ls_str_of_cstring(psprintf("%s-%s", ls_cstring_of_str(r->before->name),
													   ls_cstring_of_str(r->field->name)));

			if (is_known(names, n, joined))
			{
				ls_query_warn(s->query, s->arena, "MINUS_IN_NAME", r->field->span,
							  "this is a subtraction: the field is written `%.*s`",
							  (int) ls_utf8_prefix_chars(joined.data, joined.len, 60), joined.data);
				continue;
			}
		}
		if (!path_is_known(names, n, r->field))
			warn_unknown(s, r, names, n);
	}
}
