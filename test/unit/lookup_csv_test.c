/* lookup_csv_test.c: lookup tables as they are uploaded. */
#include "test/unit/tap.h"

#include "src/query/lookup_csv.h"

#include <stdlib.h>

static ls_arena *arena;
static ls_csv_table table;

static bool
read_text(const char *text)
{
	ls_arena_reset(arena);
	return ls_csv_read(ls_str_make(text, strlen(text)), arena, &table);
}

/* Cells separated by |, rows by /. */
static void
reads(const char *text, const char *expected)
{
	ls_buf buf;

	if (!ok(read_text(text), "is read"))
	{
		printf("#   %s\n", table.error);
		return;
	}
	ls_buf_init(&buf, arena);
	for (int i = 0; i < table.n_columns; i++)
	{
		ls_buf_str(&buf, table.names[i]);
		ls_buf_char(&buf, i + 1 < table.n_columns ? '|' : '/');
	}
	for (int i = 0; i < table.n_rows * table.n_columns; i++)
	{
		ls_buf_str(&buf, table.cells[i]);
		ls_buf_char(&buf, (i + 1) % table.n_columns != 0 ? '|' : '/');
	}
	is_str(ls_str_make(buf.data, buf.len), expected, text);
}

static void
fails(const char *text, const char *error, int line)
{
	if (!ok(!read_text(text), "is refused"))
		return;
	is_str(ls_str_make(table.error, strlen(table.error)), error, text);
	is_int(table.line, line, "its line");
}

/* A header, then n times the row. */
static char *
repeat(const char *header, const char *row, int n)
{
	size_t len = strlen(row);
	char *text = malloc(strlen(header) + len * (size_t) n + 1);

	strcpy(text, header);
	for (int i = 0; i < n; i++)
		memcpy(text + strlen(header) + len * (size_t) i, row, len + 1);
	return text;
}

int
main(void)
{
	char *text;

	arena = ls_arena_create(NULL, 64 << 20);
	reads("a,b\n1,2\n3,4\n", "a|b/1|2/3|4/");
	reads("\xef\xbb\xbf"
		  "a,b\r\n1,2\r\n\r\n3,",
		  "a|b/1|2/3|/");
	reads("a\r1\r2", "a/1/2/");
	reads("\n\na , b\n\"x,y\",\"say \"\"hi\"\"\"\n\"two\nlines\",'\n",
		  "a|b/x,y|say \"hi\"/two\nlines|'/");
	reads("a,b\n\"\",\"\"\n,\n", "a|b/|/|/");
	reads("a\n", "a/");
	reads("a,b\n 1 ,x\"y\n", "a|b/ 1 |x\"y/");

	fails("", "expected a line with the names of the columns", 1);
	fails("\n\n", "expected a line with the names of the columns", 3);
	fails("a,,b\n", "column 2 has no name", 1);
	fails("a,b,a\n", "two columns have the name a", 1);
	fails("a,b\n1,2\n3\n", "1 cell, but the table has 2 columns", 3);
	fails("a\n1,2\n", "2 cells, but the table has 1 column", 2);
	fails("a,b\n1,\"2\n3,4\n", "a quote is not closed", 2);
	fails("a,b\n1,\"2\"x\n", "text after a closing quote; inside, write two quotes for one", 2);
	fails("a`b\n", "the name of column 1 has more than 64 characters, or ` or a line end", 1);

	text = repeat("a\n", "x\n", LS_CSV_MAX_ROWS);
	ok(read_text(text) && table.n_rows == LS_CSV_MAX_ROWS, "as many rows as are allowed");
	free(text);
	text = repeat("a\n", "x\n", LS_CSV_MAX_ROWS + 1);
	fails(text, "more than 10000 rows", LS_CSV_MAX_ROWS + 2);
	free(text);
	text = repeat("a", ",b", 50);
	fails(text, "51 columns; at most 50 are allowed", 1);
	free(text);
	text = repeat("a\n", "0123456789", 100000);
	fails(text, "1000002 bytes; at most 1000000 are allowed", 0);
	free(text);
	/* The most cells that the bytes allow. */
	text = repeat("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D,E,F,G,H,I,J,K,L,M,N,"
				  "O,P,Q,R,S,T,U,V,W,X\n",
				  ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n", 10000);
	ok(read_text(text) && table.n_rows == 10000 && table.n_columns == 50, "many cells");
	ok(ls_arena_used(arena) < 32 << 20, "in little memory");

	is_int(ls_csv_column(&table, LS_STR("X")), 49, "a column by its name");
	is_int(ls_csv_column(&table, LS_STR("none")), -1, "no such column");
	free(text);
	ls_arena_destroy(arena);
	return done_testing();
}
