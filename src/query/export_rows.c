/*-------------------------------------------------------------------------
 *
 * export_rows.c
 *	  Rows of a search as a file: CSV, lines of JSON, a JSON list (pure).
 *
 * The columns of CSV are known before the first row, since the file begins while
 * the search goes on: those of a table, or the members that events can have.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/export_rows.h"

#define MAX_DEPTH 1200

const ls_str ls_export_members[LS_EXPORT_MEMBERS] = {
	LS_STR("id"),      LS_STR("timestamp"), LS_STR("ingestedAt"), LS_STR("event"),
	LS_STR("level"),   LS_STR("source"),    LS_STR("service"),    LS_STR("index"),
	LS_STR("traceId"), LS_STR("spanId"),    LS_STR("templateId"), LS_STR("attributes")};

void
ls_export_begin(const ls_export_rows *rows)
{
	if (rows->format == LS_EXPORT_JSON)
		ls_buf_char(rows->out, '[');
	if (rows->format != LS_EXPORT_CSV)
		return;
	for (int i = 0; i < rows->n_columns; i++)
	{
		if (i > 0)
			ls_buf_char(rows->out, ',');
		ls_csv_cell(rows->out, rows->columns[i]);
	}
	ls_buf_lit(rows->out, "\r\n");
}

/* Between two rows of a list. */
static void
separate(const ls_export_rows *rows, bool first)
{
	if (rows->format == LS_EXPORT_JSON)
		ls_buf_str(rows->out, first ? LS_STR("\n") : LS_STR(",\n"));
}

static void
end_row(const ls_export_rows *rows)
{
	if (rows->format == LS_EXPORT_CSV)
		ls_buf_lit(rows->out, "\r\n");
	else if (rows->format == LS_EXPORT_LINES)
		ls_buf_char(rows->out, '\n');
}

/* The columns are a part of the members, in the same order; a member that is none is left out. */
static void
csv_event(const ls_export_rows *rows, ls_str event)
{
	ls_str values[LS_EXPORT_MEMBERS] = {0};
	int place = 0;
	ls_json j;
	ls_json_value v;
	ls_str name;
	ls_str value;

	ls_json_init(&j, event, rows->scratch->arena, MAX_DEPTH);
	ls_json_read(&j, &v);
	while (ls_json_member(&j, &name) && ls_json_skip(&j, &value))
	{
		for (int tries = 0; tries < rows->n_columns; tries++)
		{
			int at = (place + tries) % rows->n_columns;

			if (!ls_str_eq(rows->columns[at], name))
				continue;
			values[at] = value;
			place = at + 1;
			break;
		}
	}
	for (int i = 0; i < rows->n_columns; i++)
	{
		if (i > 0)
			ls_buf_char(rows->out, ',');
		if (values[i].len > 0)
			ls_csv_json(rows->out, values[i], rows->scratch);
	}
}

void
ls_export_event(const ls_export_rows *rows, ls_str event, bool first)
{
	separate(rows, first);
	if (rows->format == LS_EXPORT_CSV)
		csv_event(rows, event);
	else
		ls_buf_str(rows->out, event);
	end_row(rows);
}

void
ls_export_row(const ls_export_rows *rows, char **texts, bool first)
{
	bool csv = rows->format == LS_EXPORT_CSV;

	separate(rows, first);
	for (int i = 0; i < rows->n_columns; i++)
	{
		ls_str value = texts[i] == NULL ? LS_STR("null") : ls_str_make(texts[i], strlen(texts[i]));

		if (i > 0)
			ls_buf_char(rows->out, ',');
		if (csv)
		{
			ls_csv_json(rows->out, value, rows->scratch);
			continue;
		}
		if (i == 0)
			ls_buf_char(rows->out, '{');
		ls_json_quote(rows->out, rows->columns[i]);
		ls_buf_char(rows->out, ':');
		ls_buf_str(rows->out, value);
	}
	if (!csv)
		ls_buf_str(rows->out, rows->n_columns > 0 ? LS_STR("}") : LS_STR("{}"));
	end_row(rows);
}

void
ls_export_end(const ls_export_rows *rows, bool none)
{
	if (rows->format == LS_EXPORT_JSON)
		ls_buf_str(rows->out, none ? LS_STR("]\n") : LS_STR("\n]\n"));
}
