/*-------------------------------------------------------------------------
 *
 * lookup_csv.c
 *	  Reads comma-separated values (pure).
 *
 * A table is read when it is uploaded, to check it, and again by each search that
 * uses it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/lookup_csv.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct csv_reader
{
	ls_str text;
	size_t pos;
	int line;
	ls_arena *arena;
	ls_csv_table *table;
} csv_reader;

static bool fail(csv_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool
fail(csv_reader *r, const char *format, ...)
{
	ls_csv_table *table = r->table;
	va_list args;

	va_start(args, format);
	vsnprintf(table->error, sizeof(table->error), format, args);
	va_end(args);
	/* What was cut may be half a character. */
	table->error[ls_utf8_prefix_bytes(table->error, strlen(table->error),
									  sizeof(table->error) - 5)] = '\0';
	table->line = r->line;
	return false;
}

static bool
at_end(const csv_reader *r)
{
	return r->pos >= r->text.len;
}

static bool
at_line_end(const csv_reader *r)
{
	return at_end(r) || r->text.data[r->pos] == '\n' || r->text.data[r->pos] == '\r';
}

static void
skip_line_end(csv_reader *r)
{
	if (at_end(r))
		return;
	if (r->text.data[r->pos] == '\r' && r->pos + 1 < r->text.len &&
		r->text.data[r->pos + 1] == '\n')
		r->pos++;
	r->pos++;
	r->line++;
}

/* "a ""quoted"" cell": without the quotes around it, and two quotes are one. */
static bool
read_quoted(csv_reader *r, ls_str *cell)
{
	size_t start = ++r->pos;
	size_t quotes = 0;
	int line = r->line;
	char *out;
	size_t n = 0;

	for (;; r->pos++)
	{
		if (at_end(r))
		{
			r->line = line;
			return fail(r, "a quote is not closed");
		}
		if (r->text.data[r->pos] == '\n')
			r->line++;
		if (r->text.data[r->pos] != '"')
			continue;
		if (r->pos + 1 >= r->text.len || r->text.data[r->pos + 1] != '"')
			break;
		r->pos++;
		quotes++;
	}
	*cell = ls_str_make(r->text.data + start, r->pos - start);
	r->pos++;
	if (!at_line_end(r) && r->text.data[r->pos] != ',')
		return fail(r, "text after a closing quote; inside, write two quotes for one");
	if (quotes == 0)
		return true;
	out = ls_arena_alloc(r->arena, cell->len + 1);
	if (out == NULL)
		return fail(r, "out of memory");
	for (size_t i = 0; i < cell->len; i++)
	{
		out[n++] = cell->data[i];
		if (cell->data[i] == '"')
			i++;
	}
	*cell = ls_str_make(out, n);
	return true;
}

static bool
read_cell(csv_reader *r, ls_str *cell)
{
	size_t start = r->pos;

	if (!at_end(r) && r->text.data[r->pos] == '"')
		return read_quoted(r, cell);
	while (!at_line_end(r) && r->text.data[r->pos] != ',')
		r->pos++;
	*cell = ls_str_make(r->text.data + start, r->pos - start);
	return true;
}

/* The cells of the next line; *n: how many it has, of which at most `most` are stored. */
static bool
read_row(csv_reader *r, ls_str *cells, int most, int *n)
{
	*n = 0;
	for (;;)
	{
		ls_str cell;

		if (!read_cell(r, &cell))
			return false;
		if (*n < most)
			cells[*n] = cell;
		(*n)++;
		if (at_line_end(r))
			return true;
		r->pos++;
	}
}

static void
skip_empty_lines(csv_reader *r)
{
	while (!at_end(r) && at_line_end(r))
		skip_line_end(r);
}

static bool
read_header(csv_reader *r)
{
	ls_csv_table *table = r->table;
	ls_str names[LS_CSV_MAX_COLUMNS];

	if (at_end(r))
		return fail(r, "expected a line with the names of the columns");
	if (!read_row(r, names, LS_CSV_MAX_COLUMNS, &table->n_columns))
		return false;
	if (table->n_columns > LS_CSV_MAX_COLUMNS)
		return fail(r, "%d columns; at most %d are allowed", table->n_columns, LS_CSV_MAX_COLUMNS);
	table->names = ls_new_array(r->arena, ls_str, table->n_columns);
	if (table->names == NULL)
		return fail(r, "out of memory");
	for (int i = 0; i < table->n_columns; i++)
	{
		ls_str name = ls_str_trim(names[i]);

		if (name.len == 0)
			return fail(r, "column %d has no name", i + 1);
		if (ls_utf8_length(name.data, name.len) > LS_CSV_MAX_NAME ||
			memchr(name.data, '`', name.len) != NULL || memchr(name.data, '\n', name.len) != NULL)
			return fail(r, "the name of column %d has more than %d characters, or ` or a line end",
						i + 1, LS_CSV_MAX_NAME);
		for (int j = 0; j < i; j++)
			if (ls_str_eq(table->names[j], name))
				return fail(r, "two columns have the name %.*s",
							(int) ls_utf8_prefix_chars(name.data, name.len, 30), name.data);
		table->names[i] = name;
	}
	skip_line_end(r);
	return true;
}

static bool
read_rows(csv_reader *r)
{
	ls_csv_table *table = r->table;
	size_t columns = (size_t) table->n_columns;
	size_t capacity = 0;

	for (skip_empty_lines(r); !at_end(r); skip_empty_lines(r))
	{
		int line = r->line;
		int n;

		if (table->n_rows >= LS_CSV_MAX_ROWS)
			return fail(r, "more than %d rows", LS_CSV_MAX_ROWS);
		if ((size_t) table->n_rows == capacity)
		{
			size_t more = capacity == 0 ? 64 : capacity * 2;
			ls_str *cells =
				ls_arena_grow(r->arena, table->cells, capacity * columns * sizeof(ls_str),
							  more * columns * sizeof(ls_str));

			if (cells == NULL)
				return fail(r, "out of memory");
			table->cells = cells;
			capacity = more;
		}
		if (!read_row(r, table->cells + (size_t) table->n_rows * columns, table->n_columns, &n))
			return false;
		if (n != table->n_columns)
		{
			r->line = line;
			return fail(r, "%d cell%s, but the table has %d column%s", n, n == 1 ? "" : "s",
						table->n_columns, table->n_columns == 1 ? "" : "s");
		}
		table->n_rows++;
	}
	return true;
}

bool
ls_csv_read(ls_str text, ls_arena *arena, ls_csv_table *table)
{
	csv_reader r = {.text = text, .line = 1, .arena = arena, .table = table};

	memset(table, 0, sizeof(*table));
	if (text.len > LS_CSV_MAX_BYTES)
	{
		r.line = 0;
		return fail(&r, "%zu bytes; at most %zu are allowed", text.len, LS_CSV_MAX_BYTES);
	}
	if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
		r.pos = 3;
	skip_empty_lines(&r);
	return read_header(&r) && read_rows(&r);
}

int
ls_csv_column(const ls_csv_table *table, ls_str name)
{
	for (int i = 0; i < table->n_columns; i++)
		if (ls_str_eq(table->names[i], name))
			return i;
	return -1;
}
