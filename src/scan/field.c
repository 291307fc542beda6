/*-------------------------------------------------------------------------
 *
 * field.c
 *	  Values of a field as JSON texts.
 *
 * A dotted path is looked up as in filters: the literal key first, then shorter
 * and shorter prefixes as objects that contain the rest.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/part_scan.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"

#include "src/part/event_id.h"

#define MAX_PARTS 32
#define MEMBER_MEMORY ((size_t) 64 * 1024 * 1024)

PG_FUNCTION_INFO_V1(logsvc_value_member);

void
ls_scan_field_name(ls_buf *buf, const ls_str *parts, uint32 n_parts)
{
	if (n_parts == 0)
		ls_buf_char(buf, '.');
	for (uint32 i = 0; i < n_parts; i++)
	{
		ls_buf_char(buf, '.');
		for (size_t c = 0; c < parts[i].len; c++)
		{
			if (parts[i].data[c] == '.' || parts[i].data[c] == '\\')
				ls_buf_char(buf, '\\');
			ls_buf_char(buf, parts[i].data[c]);
		}
	}
}

static void
parse_path(ls_arena *arena, ls_str name, ls_scan_field *field)
{
	char *to = ls_arena_alloc(arena, name.len + 1);
	char *begin = to;

	field->path = ls_new_array(arena, ls_str, MAX_PARTS);
	if (to == NULL || field->path == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	if (name.len == 1)
		return;
	for (size_t i = 1; i <= name.len; i++)
	{
		if (i == name.len || name.data[i] == '.')
		{
			if (field->n_path == MAX_PARTS)
				ereport(ERROR, errcode(ls_errcode(LS_ERROR_QUERY_SEMANTIC)),
						errmsg("the name of a field has more than %d parts", MAX_PARTS));
			field->path[field->n_path++] = ls_str_make(begin, (size_t) (to - begin));
			begin = to;
			continue;
		}
		if (name.data[i] == '\\' && i + 1 < name.len)
			i++;
		*to++ = name.data[i];
	}
}

void
ls_scan_field_parse(ls_arena *arena, ls_str name, ls_scan_field *field)
{
	static const struct
	{
		const char *name;
		ls_scan_source source;
		ls_field named;
	} names[] = {{"event", LS_SOURCE_COLUMNS, LS_FIELD_EVENT},
				 {"level", LS_SOURCE_COLUMNS, LS_FIELD_LEVEL},
				 {"source", LS_SOURCE_COLUMNS, LS_FIELD_SOURCE},
				 {"service", LS_SOURCE_COLUMNS, LS_FIELD_SERVICE},
				 {"index", LS_SOURCE_COLUMNS, LS_FIELD_INDEX},
				 {"trace_id", LS_SOURCE_COLUMNS, LS_FIELD_TRACE_ID},
				 {"span_id", LS_SOURCE_COLUMNS, LS_FIELD_SPAN_ID},
				 {"timestamp", LS_SOURCE_TIMESTAMP, LS_FIELD_ATTRIBUTE},
				 {"ingested_at", LS_SOURCE_INGESTED_AT, LS_FIELD_ATTRIBUTE},
				 {"id", LS_SOURCE_ID, LS_FIELD_ATTRIBUTE}};

	memset(field, 0, sizeof(*field));
	ls_buf_init(&field->scratch, arena);
	if (name.len > 0 && name.data[0] == '.')
	{
		field->named = LS_FIELD_ATTRIBUTE;
		parse_path(arena, name, field);
		return;
	}
	if (name.len > 1 && name.len <= 6 && name.data[0] == '=' &&
		strspn(ls_cstring_of_str(name) + 1, "0123456789") == name.len - 1)
	{
		field->source = LS_SOURCE_VALUE;
		field->value = (uint32) strtoul(ls_cstring_of_str(name) + 1, NULL, 10);
		return;
	}
	for (size_t i = 0; i < lengthof(names); i++)
	{
		if (ls_str_eq(name, ls_str_of_cstring(names[i].name)))
		{
			field->source = names[i].source;
			field->named = names[i].named;
			return;
		}
	}
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("\"%s\" is not a field of a scan", ls_cstring_of_str(name)));
}

void
ls_scan_field_resolve(ls_scan *scan, ls_scan_field *field)
{
	ls_place *places;

	if (field->source == LS_SOURCE_VALUE)
		ls_scan_want_value(scan, field);
	if (field->source != LS_SOURCE_COLUMNS)
		return;
	if (field->named == LS_FIELD_INDEX && scan->stored)
	{
		field->source = LS_SOURCE_INDEX;
		return;
	}
	if (!ls_find_places(scan->arena, scan->part, field->named, field->path, field->n_path, &places,
						&field->n_columns))
		ls_scan_fail(scan);
	field->columns = ls_new_array(scan->arena, ls_scan_column, field->n_columns + 1);
	if (field->columns == NULL)
		ls_scan_fail(scan);
	for (uint32 i = 0; i < field->n_columns; i++)
		field->columns[i] = (ls_scan_column){
			.column = places[i].column, .kind = places[i].kind, .nested = places[i].nested};
}

void
ls_scan_value_json(ls_buf *buf, ls_kind kind, ls_str text, int64_t integer)
{
	switch (kind)
	{
		case LS_KIND_STRING:
			ls_json_quote(buf, text);
			break;
		case LS_KIND_INTEGER:
			ls_buf_printf(buf, "%lld", (long long) integer);
			break;
		case LS_KIND_BOOLEAN:
			ls_buf_str(buf, integer != 0 ? LS_STR("true") : LS_STR("false"));
			break;
		case LS_KIND_NULL:
			ls_buf_lit(buf, "null");
			break;
		case LS_KIND_NUMBER:
		case LS_KIND_JSON:
			ls_buf_str(buf, text);
			break;
	}
}

/* The value in one of the columns. */
static bool
column_value(ls_scan *scan, ls_scan_field *field, ls_scan_column *column, uint32 block, uint32 row,
			 ls_scan_value *value)
{
	ls_member member;
	uint32 v;

	if (column->ranks == NULL)
	{
		column->ranks = ls_part_ranks(scan->part, block, column->column);
		if (column->ranks == NULL)
			ls_scan_fail(scan);
	}
	v = column->ranks[row];
	if (v == UINT32_MAX)
		return false;
	if (column->vector == NULL)
		column->vector = ls_part_vector(scan->part, block, column->column);
	if (column->vector == NULL || v >= column->vector->count)
		ls_scan_fail(scan);
	*value = (ls_scan_value){.kind = column->kind, .text = LS_STR("")};
	if (column->vector->form == LS_VECTOR_INTEGER)
		value->integer = column->vector->integers[v];
	else if (column->kind != LS_KIND_NULL)
		value->text = ls_vector_text(column->vector, v);
	if (column->nested == 0)
		return true;
	if (!ls_json_path(value->text, field->path + column->nested, field->n_path - column->nested,
					  &field->scratch, &member))
		return false;
	*value = (ls_scan_value){member.kind, member.text, member.integer};
	return true;
}

void
ls_scan_field_block(ls_scan_field *field)
{
	field->values = NULL;
	for (uint32 i = 0; i < field->n_columns; i++)
	{
		field->columns[i].ranks = NULL;
		field->columns[i].vector = NULL;
	}
}

bool
ls_scan_field_typed(ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row,
					ls_scan_value *value)
{
	const ls_time *times;
	const uint64_t *batches;
	const uint32_t *places;

	value->kind = LS_KIND_STRING;
	switch (field->source)
	{
		case LS_SOURCE_COLUMNS:
			for (uint32 i = 0; i < field->n_columns; i++)
			{
				if (column_value(scan, field, &field->columns[i], block, row, value))
					return true;
			}
			return false;
		case LS_SOURCE_TIMESTAMP:
		case LS_SOURCE_INGESTED_AT:
			times = field->source == LS_SOURCE_TIMESTAMP ? ls_part_timestamps(scan->part, block)
														 : ls_part_ingest_times(scan->part, block);
			if (times == NULL)
				ls_scan_fail(scan);
			ls_time_format_iso(times[row], field->text);
			value->text = ls_str_make(field->text, LS_TIME_ISO_LENGTH);
			return true;
		case LS_SOURCE_ID:
			batches = ls_part_batches(scan->part, block);
			places = batches == NULL ? NULL : ls_part_places(scan->part, block);
			if (places == NULL)
				ls_scan_fail(scan);
			ls_event_id_format(batches[row], places[row], field->text);
			value->text = ls_str_make(field->text, strlen(field->text));
			return true;
		case LS_SOURCE_INDEX:
			value->text = scan->index;
			return true;
		case LS_SOURCE_VALUE:
		{
			const ls_values *values = ls_scan_values(scan, field);

			ls_scan_made_value(scan, values, ls_scan_place(scan, values, row), value);
			return true;
		}
	}
	return false;
}

bool
ls_scan_is_number(const ls_scan_value *value, ls_num *number)
{
	if (value->kind == LS_KIND_INTEGER)
	{
		*number = (ls_num){.is_int = true, .i = value->integer, .d = (double) value->integer};
		return true;
	}
	return (value->kind == LS_KIND_NUMBER || value->kind == LS_KIND_STRING) &&
		   ls_num_parse(value->text, number) && isfinite(number->d);
}

bool
ls_scan_field_number(ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row,
					 ls_scan_value *value, ls_num *number, bool *is_number)
{
	if (field->source == LS_SOURCE_VALUE)
	{
		const ls_values *values = ls_scan_values(scan, field);
		uint32 place = ls_scan_place(scan, values, row);
		ls_cell kind = (ls_cell) values->kinds[place];

		if (kind == LS_CELL_INTEGER || kind == LS_CELL_DOUBLE)
		{
			*value = (ls_scan_value){.kind = LS_KIND_NUMBER, .text = LS_STR("")};
			number->is_int = kind == LS_CELL_INTEGER;
			number->i = number->is_int ? values->numbers[place].i : 0;
			number->d = number->is_int ? (double) number->i : values->numbers[place].d;
			*is_number = true;
			return true;
		}
	}
	if (!ls_scan_field_typed(scan, field, block, row, value))
		return false;
	*is_number = ls_scan_is_number(value, number);
	return true;
}

bool
ls_scan_field_value(ls_scan *scan, ls_scan_field *field, uint32 block, uint32 row, ls_buf *buf)
{
	ls_scan_value value;

	ls_scan_field_block(field);
	if (!ls_scan_field_typed(scan, field, block, row, &value))
		return false;
	ls_scan_value_json(buf, value.kind, value.text, value.integer);
	return true;
}

ls_str *
ls_scan_texts(NullableDatum array, ls_arena *arena, ls_str null, int *n)
{
	Datum *datums;
	bool *nulls;
	ls_str *texts;

	*n = 0;
	if (array.isnull)
		return NULL;
	deconstruct_array(DatumGetArrayTypeP(array.value), TEXTOID, -1, false, TYPALIGN_INT, &datums,
					  &nulls, n);
	texts = ls_new_array(arena, ls_str, *n + 1);
	for (int i = 0; texts != NULL && i < *n; i++)
		texts[i] =
			nulls[i] ? null : ls_arena_strdup(arena, ls_str_of_text(DatumGetTextPP(datums[i])));
	if (texts == NULL || ls_arena_failed(arena))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	return texts;
}

ls_scan_field *
ls_scan_field_list(NullableDatum array, ls_arena *arena, int *n_fields)
{
	ls_str *names = ls_scan_texts(array, arena, LS_STR(""), n_fields);
	ls_scan_field *fields;

	if (names == NULL)
		return NULL;
	fields = ls_new_array(arena, ls_scan_field, *n_fields + 1);
	if (fields == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	for (int i = 0; i < *n_fields; i++)
		ls_scan_field_parse(arena, names[i], &fields[i]);
	return fields;
}

/* value_member(value text, path text): the member of a JSON text; NULL: it has none. */
Datum
logsvc_value_member(PG_FUNCTION_ARGS)
{
	ls_str value = ls_str_of_text(PG_GETARG_TEXT_PP(0));
	ls_arena *arena;
	ls_scan_field field;
	ls_member member;
	text *result = NULL;
	ls_buf json;

	if (value.len == 0 || value.data[0] != '{')
		PG_RETURN_NULL();
	arena = ls_context_arena(CurrentMemoryContext, MEMBER_MEMORY);
	ls_scan_field_parse(arena, ls_str_of_text(PG_GETARG_TEXT_PP(1)), &field);
	if (ls_json_path(value, field.path, field.n_path, &field.scratch, &member))
	{
		ls_buf_init(&json, arena);
		ls_scan_value_json(&json, member.kind, member.text, member.integer);
		if (json.failed)
			ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
		result = ls_text_of_str(ls_str_make(json.data, json.len));
	}
	ls_arena_destroy(arena);
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(result);
}
