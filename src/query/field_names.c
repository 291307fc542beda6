/*-------------------------------------------------------------------------
 *
 * field_names.c
 *	  The names of attributes that events in a search's range have.
 *
 * They are in the headers of parts; a part with many of them has the list in its
 * body.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* Adds the names that a statement has found. */
static void
add_names(ls_field_names *names, int n)
{
	names->items = palloc(sizeof(ls_str) * (Size) (n + 1));
	for (int i = 0; i < n; i++)
	{
		char *name = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		char *builtin = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2);

		if (name == NULL)
			names->complete = false;
		else if (builtin[0] == 't')
			names->builtins |= 1u << ls_query_builtin_find(ls_str_of_cstring(name));
		else
			names->items[names->n++] = ls_str_of_cstring(name);
	}
}

static ls_field_names
given_names(const ls_search *s)
{
	Oid types[] = {BYTEAOID, BYTEAOID};
	Datum values[] = {PointerGetDatum(ls_text_of_str(s->given->header)),
					  PointerGetDatum(ls_text_of_str(s->given->body))};
	ls_field_names names = {.complete = true};

	if (s->given->rows > 0)
		add_names(&names, (int) ls_statement_read("SELECT DISTINCT f.name, f.type = 'builtin' FROM"
												  " logsvc_internal.part_fields(0, $1, $2) f",
												  2, types, values));
	return names;
}

static ls_field_names
read_names(const ls_search *s, int most_parts)
{
	static const char *const sql =
		"WITH h AS MATERIALIZED (SELECT u.id, u.header, u.body FROM ("
		"SELECT p.id, p.header, p.body, p.max_time FROM logsvc_internal.part p"
		" WHERE p.organization_id = $1"
		" AND p.index_name = ANY ($2) AND p.max_time >= $3 AND p.min_time < $4"
		" AND p.day BETWEEN ($3 AT TIME ZONE 'UTC')::pg_catalog.date"
		" AND ($4 AT TIME ZONE 'UTC')::pg_catalog.date"
		" UNION ALL SELECT q.id, q.header, q.body, q.max_time FROM logsvc_internal.queue q"
		" WHERE q.organization_id = $1 AND (NOT q.audit OR '_audit' = ANY ($2))"
		" AND q.max_time >= $3 AND q.min_time < $4) u ORDER BY u.max_time DESC LIMIT $5)"
		" SELECT NULL, NULL::pg_catalog.bool WHERE (SELECT pg_catalog.count(*) FROM h) = $5"
		/* Skip damaged parts; the search itself reports them. */
		" UNION ALL (SELECT DISTINCT f.name, f.type = 'builtin' FROM h, LATERAL"
		" logsvc_internal.part_fields(h.id, h.header, h.body) f"
		" WHERE pg_catalog.octet_length(h.header) > 5)";
	Oid types[] = {UUIDOID, TEXTARRAYOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID};
	ls_field_names names = {.complete = true};
	Datum *indexes = palloc(sizeof(Datum) * (Size) (s->n_indexes + 1));
	Datum values[5];

	if (s->given != NULL)
		return given_names(s);
	for (int i = 0; i < s->n_indexes; i++)
	{
		/* Queue entries may also have events of other indexes, which test keys must not see. */
		if (ls_str_eq(s->indexes[i], LS_STR("_test")))
			return (ls_field_names){.complete = false};
		indexes[i] = PointerGetDatum(ls_text_of_str(s->indexes[i]));
	}
	if (s->n_indexes == 0 || s->from >= s->to)
		return names;
	values[0] = UUIDPGetDatum(&s->principal->organization);
	values[1] =
		PointerGetDatum(construct_array(indexes, s->n_indexes, TEXTOID, -1, false, TYPALIGN_INT));
	values[2] = TimestampTzGetDatum(ls_timestamptz_of_time(s->from));
	values[3] = TimestampTzGetDatum(ls_timestamptz_of_time(s->to));
	values[4] = Int32GetDatum(most_parts);
	add_names(&names, (int) ls_statement_read(sql, 5, types, values));
	return names;
}

/* Copies names into the memory of the search; false: there is no room. */
static bool
keep_names(ls_search *s, const ls_field_names *names)
{
	s->names = *names;
	s->names.items = ls_new_array(s->arena, ls_str, (size_t) names->n + 1);
	if (s->names.items == NULL)
		return false;
	for (int i = 0; i < names->n; i++)
	{
		s->names.items[i] = ls_arena_strdup(s->arena, names->items[i]);
		if (s->names.items[i].data == NULL)
			return false;
	}
	return true;
}

/* A search that finds nothing asks for them several times, to say why. */
ls_field_names
ls_search_field_names(ls_search *s, int most_parts)
{
	ls_field_names names;

	if (s->names_parts > 0 && s->names_from == s->from && s->names_to == s->to &&
		(s->names_parts >= most_parts || s->names.complete))
		return s->names;
	names = read_names(s, most_parts);
	s->names_parts = keep_names(s, &names) ? most_parts : 0;
	s->names_from = s->from;
	s->names_to = s->to;
	return names;
}

bool
ls_field_names_have(const ls_field_names *names, ls_str name)
{
	for (int i = 0; i < names->n; i++)
	{
		if (ls_str_eq(names->items[i], name))
			return true;
	}
	return false;
}

bool
ls_field_names_have_path(const ls_field_names *names, const ls_query_field *field)
{
	for (size_t i = 0; i <= field->name.len; i++)
	{
		if ((i == field->name.len || field->name.data[i] == '.') &&
			ls_field_names_have(names, ls_str_make(field->name.data, i)))
			return true;
	}
	return false;
}
