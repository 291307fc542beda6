/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  The rows of an answer as CSV or as lines of JSON (pure).
 *
 * It reads the JSON that was made for everybody, so there is one place that
 * decides what a caller sees.  Rows are objects (events, lists), or arrays with
 * the names of their columns beside them (tables of searches).
 *
 * The columns of objects are the members that the rows have: those of events in
 * their usual order, then others as they come.  An answer without rows says which
 * columns it could have.  What is an object or a list is a cell of JSON, so a file
 * has no more columns than the rows have members.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/rows.h"

/* Events may be nested so deep, and an answer around them. */
#define MAX_DEPTH 1200

#define MAX_COLUMNS 256

/* Where the members of events stand; others come after them. */
static const ls_str usual[] = {LS_STR("id"),      LS_STR("timestamp"), LS_STR("ingestedAt"),
							   LS_STR("event"),   LS_STR("level"),     LS_STR("source"),
							   LS_STR("service"), LS_STR("index"),     LS_STR("traceId"),
							   LS_STR("spanId"),  LS_STR("attributes")};

#define USUAL (sizeof(usual) / sizeof(usual[0]))

typedef struct columns
{
	ls_str names[MAX_COLUMNS];
	int n;
	bool too_many;
} columns;

/* The parts of an answer, as they are written in it. */
typedef struct answer
{
	ls_str rows;
	ls_str columns; /* of rows that are arrays; else empty */
	ls_str members; /* names of columns where there are no rows; or empty */
} answer;

/* ---- the answer ---- */

static void
read_warnings(ls_str raw, ls_arena *arena, ls_rows_about *about)
{
	ls_json j;
	ls_json_value v;
	ls_str name;
	ls_buf codes;

	ls_buf_init(&codes, arena);
	ls_json_init(&j, raw, arena, MAX_DEPTH);
	if (!ls_json_read(&j, &v) || v.type != LS_JSON_ARRAY)
		return;
	while (ls_json_element(&j) && ls_json_read(&j, &v) && v.type == LS_JSON_OBJECT)
	{
		while (ls_json_member(&j, &name))
		{
			if (!ls_str_eq(name, LS_STR("code")))
				ls_json_skip(&j, &name);
			else if (ls_json_read(&j, &v) && v.type == LS_JSON_STRING)
			{
				if (codes.len > 0)
					ls_buf_lit(&codes, ", ");
				ls_buf_str(&codes, v.text);
			}
		}
	}
	if (!codes.failed)
		about->warnings = ls_str_make(codes.data, codes.len);
}

/* page and meta: one level of members. */
static void
read_about(ls_str raw, ls_arena *arena, ls_rows_about *about)
{
	ls_json j;
	ls_json_value v;
	ls_json_type type;
	ls_str name;
	ls_str member;

	ls_json_init(&j, raw, arena, MAX_DEPTH);
	if (!ls_json_read(&j, &v) || v.type != LS_JSON_OBJECT)
		return;
	while (ls_json_member(&j, &name) && ls_json_peek(&j, &type))
	{
		if (ls_str_eq(name, LS_STR("nextCursor")) && type == LS_JSON_STRING)
		{
			if (ls_json_read(&j, &v))
				about->next_cursor = v.text;
		}
		else if (!ls_json_skip(&j, &member))
			return;
		else if (ls_str_eq(name, LS_STR("truncated")))
			about->truncated = type == LS_JSON_TRUE;
		else if (ls_str_eq(name, LS_STR("warnings")))
			read_warnings(member, arena, about);
	}
}

/* {"kind": ..., "rows": [...], "columns": [...]}, or the rows themselves. */
static bool
read_data(ls_str raw, ls_arena *arena, answer *a)
{
	ls_json j;
	ls_json_value v;
	ls_json_type type;
	ls_str name;
	ls_str member;

	ls_json_init(&j, raw, arena, MAX_DEPTH);
	if (!ls_json_peek(&j, &type))
		return false;
	if (type == LS_JSON_ARRAY)
	{
		a->rows = raw;
		return true;
	}
	if (type != LS_JSON_OBJECT || !ls_json_read(&j, &v))
		return false;
	while (ls_json_member(&j, &name) && ls_json_peek(&j, &type) && ls_json_skip(&j, &member))
	{
		if (ls_str_eq(name, LS_STR("rows")) && type == LS_JSON_ARRAY)
			a->rows = member;
		else if (ls_str_eq(name, LS_STR("columns")) && type == LS_JSON_ARRAY)
			a->columns = member;
	}
	return j.error == NULL && a->rows.len > 0;
}

static bool
read_answer(ls_str text, ls_arena *arena, answer *a, ls_rows_about *about)
{
	ls_json j;
	ls_json_value v;
	ls_str name;
	ls_str member;
	ls_str data = LS_STR("");

	ls_json_init(&j, text, arena, MAX_DEPTH);
	if (!ls_json_read(&j, &v) || v.type != LS_JSON_OBJECT)
		return false;
	while (ls_json_member(&j, &name) && ls_json_skip(&j, &member))
	{
		if (ls_str_eq(name, LS_STR("data")))
			data = member;
		else if (ls_str_eq(name, LS_STR("columns")))
			a->members = member;
		else if (ls_str_eq(name, LS_STR("page")) || ls_str_eq(name, LS_STR("meta")))
			read_about(member, arena, about);
	}
	return j.error == NULL && data.len > 0 && read_data(data, arena, a);
}

/* ---- columns ---- */

/* The column of that name; -1: none.  `hint`: where it is likely to be. */
static int
find_column(const columns *c, ls_str name, int hint)
{
	if (hint < c->n && ls_str_eq(c->names[hint], name))
		return hint;
	for (int i = 0; i < c->n; i++)
	{
		if (ls_str_eq(c->names[i], name))
			return i;
	}
	return -1;
}

static void
add_column(columns *c, ls_str name)
{
	if (c->n == MAX_COLUMNS)
		c->too_many = true;
	else
		c->names[c->n++] = name;
}

/* [{"name": "count", ...}, ...] */
static void
read_columns(ls_str raw, ls_arena *arena, columns *c)
{
	ls_json j;
	ls_json_value v;
	ls_str name;

	ls_json_init(&j, raw, arena, MAX_DEPTH);
	if (!ls_json_read(&j, &v))
		return;
	while (ls_json_element(&j) && ls_json_read(&j, &v) && v.type == LS_JSON_OBJECT)
	{
		ls_str title = LS_STR("");

		while (ls_json_member(&j, &name))
		{
			if (!ls_str_eq(name, LS_STR("name")))
				ls_json_skip(&j, &name);
			else if (ls_json_read(&j, &v))
				title = v.text;
		}
		add_column(c, title);
	}
}

/* ["id", "timestamp", ...] */
static void
read_names(ls_str raw, ls_arena *arena, columns *c)
{
	ls_json j;
	ls_json_value v;

	ls_json_init(&j, raw, arena, MAX_DEPTH);
	if (!ls_json_read(&j, &v) || v.type != LS_JSON_ARRAY)
		return;
	while (ls_json_element(&j) && ls_json_read(&j, &v) && v.type == LS_JSON_STRING)
		add_column(c, v.text);
}

/* The members that rows have; of rows that are no objects one column. */
static void
find_columns(ls_str rows, ls_arena *arena, columns *c)
{
	columns *found = ls_new(arena, columns);
	ls_json j;
	ls_json_value v;
	ls_json_type type;
	ls_str name;

	if (found == NULL)
		return;
	ls_json_init(&j, rows, arena, MAX_DEPTH);
	ls_json_read(&j, &v);
	while (ls_json_element(&j) && ls_json_peek(&j, &type))
	{
		int place = 0;

		if (type != LS_JSON_OBJECT)
		{
			if (find_column(found, LS_STR("value"), 0) < 0)
				add_column(found, LS_STR("value"));
			ls_json_skip(&j, &name);
			continue;
		}
		ls_json_read(&j, &v);
		while (ls_json_member(&j, &name))
		{
			int at = find_column(found, name, place);

			if (at < 0)
				add_column(found, name);
			place = (at < 0 ? found->n - 1 : at) + 1;
			ls_json_skip(&j, &name);
		}
	}
	for (size_t i = 0; i < USUAL; i++)
	{
		if (find_column(found, usual[i], (int) i) >= 0)
			add_column(c, usual[i]);
	}
	for (int i = 0; i < found->n; i++)
	{
		if (find_column(c, found->names[i], i) < 0)
			add_column(c, found->names[i]);
	}
	c->too_many = c->too_many || found->too_many;
}

/* ---- writing ---- */

/* The values of a row, by column. */
static void
read_row(ls_json *j, const columns *c, ls_str *values)
{
	ls_json_value v;
	ls_json_type type;
	ls_str name;
	ls_str value;
	int place = 0;

	memset(values, 0, sizeof(ls_str) * MAX_COLUMNS);
	if (!ls_json_peek(j, &type))
		return;
	if (type == LS_JSON_ARRAY)
	{
		ls_json_read(j, &v);
		while (ls_json_element(j) && ls_json_skip(j, &value))
		{
			if (place < c->n)
				values[place++] = value;
		}
	}
	else if (type == LS_JSON_OBJECT)
	{
		ls_json_read(j, &v);
		while (ls_json_member(j, &name) && ls_json_skip(j, &value))
		{
			int at = find_column(c, name, place);

			if (at >= 0)
				values[at] = value;
			place = at + 1;
		}
	}
	else if (ls_json_skip(j, &value))
		values[0] = value;
}

static void
write_csv(const columns *c, ls_str rows, ls_arena *arena, ls_buf *out)
{
	ls_str *values = ls_new_array(arena, ls_str, MAX_COLUMNS);
	ls_buf scratch;
	ls_json j;
	ls_json_value v;

	ls_buf_init(&scratch, arena);
	if (values == NULL)
	{
		out->failed = true;
		return;
	}
	for (int i = 0; i < c->n; i++)
	{
		if (i > 0)
			ls_buf_char(out, ',');
		ls_csv_cell(out, c->names[i]);
	}
	if (c->n > 0)
		ls_buf_lit(out, "\r\n");
	ls_json_init(&j, rows, arena, MAX_DEPTH);
	ls_json_read(&j, &v);
	while (ls_json_element(&j) && !out->failed)
	{
		read_row(&j, c, values);
		for (int i = 0; i < c->n; i++)
		{
			if (i > 0)
				ls_buf_char(out, ',');
			if (values[i].len > 0)
				ls_csv_json(out, values[i], &scratch);
		}
		ls_buf_lit(out, "\r\n");
	}
}

static void
write_lines(const columns *c, bool arrays, ls_str rows, ls_arena *arena, ls_buf *out)
{
	ls_json j;
	ls_json_value v;

	ls_json_init(&j, rows, arena, MAX_DEPTH);
	ls_json_read(&j, &v);
	while (ls_json_element(&j) && !out->failed)
	{
		int place = 0;

		if (!arrays)
			ls_json_compact(&j, out);
		else
		{
			ls_buf_char(out, '{');
			ls_json_read(&j, &v);
			while (ls_json_element(&j))
			{
				ls_str value;

				if (place == c->n)
				{
					ls_json_skip(&j, &value);
					continue;
				}
				if (place > 0)
					ls_buf_char(out, ',');
				ls_json_quote(out, c->names[place++]);
				ls_buf_char(out, ':');
				ls_json_compact(&j, out);
			}
			ls_buf_char(out, '}');
		}
		ls_buf_char(out, '\n');
	}
}

bool
ls_rows_write(ls_str text, ls_rows_form form, ls_arena *arena, ls_buf *out, ls_rows_about *about)
{
	columns *c = ls_new(arena, columns);
	answer a = {LS_STR(""), LS_STR(""), LS_STR("")};

	memset(about, 0, sizeof(*about));
	if (c == NULL)
	{
		out->failed = true;
		return true;
	}
	if (!read_answer(text, arena, &a, about))
		return false;
	if (a.columns.len > 0)
		read_columns(a.columns, arena, c);
	else if (form == LS_ROWS_CSV)
	{
		find_columns(a.rows, arena, c);
		if (c->n == 0 && a.members.len > 0)
			read_names(a.members, arena, c);
	}
	if (c->too_many)
		return false;
	if (form == LS_ROWS_CSV)
		write_csv(c, a.rows, arena, out);
	else
		write_lines(c, a.columns.len > 0, a.rows, arena, out);
	out->failed = out->failed || ls_arena_failed(arena);
	return true;
}
