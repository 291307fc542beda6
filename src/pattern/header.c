/*-------------------------------------------------------------------------
 *
 * header.c
 *	  Finds the columns that a logger writes before its message.
 *
 * Whole raw lines are the hard part of mining: time, host, process and
 * component are most of the words of a short line, and if they counted as
 * similarity, everything would look alike.  So the header stays out of the
 * comparison.
 *
 * It is found by statistics of columns (words between white space; a bracketed
 * part is one column), for each family of rows that begin with a column of the
 * same shape.  One of the first columns must be a time: text without a time has no
 * header.  After the last time come, in any order, columns that vary (process
 * ids), severities, bracketed parts, and names.  A name column belongs to the
 * header only if a column after it proves that the header continues: a colon
 * (syslog and many loggers), a bracketed part, a dash or a bar.
 *
 * Severities become part of the key (never joined); the name of the component
 * must be equal for two shapes to be joined, but the same message of two
 * components is one pattern.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/columns.h"

#define MIN_FAMILY_ROWS 4

/* ---- statistics of one column of a family ---- */

#define MAX_VALUES 64

/* The columns of one signature of a family. */
typedef struct family_row
{
	const columns *columns;
	signature *signature;
} family_row;

typedef struct statistics
{
	uint32_t rows;    /* that have the column and one after it */
	uint32_t missing; /* rows that do not */
	uint32_t variable, bracket, colon, bar, upper, time, symbol, quote, six;
	uint32_t values; /* distinct constants, up to MAX_VALUES */
} statistics;

/* Adds a column of `count` rows; `text` has its distinct constants. */
static inline void
add_column(statistics *st, const column *c, uint32_t count, uint32_t *text)
{
	uint32_t v;

	st->rows += count;
	st->bracket += (c->flags & COL_BRACKET) != 0 ? count : 0;
	st->colon += (c->flags & COL_COLON) != 0 ? count : 0;
	st->bar += (c->flags & COL_BAR) != 0 ? count : 0;
	st->upper += (c->flags & COL_UPPER) != 0 ? count : 0;
	st->time += (c->flags & COL_TIME) != 0 ? count : 0;
	st->symbol += (c->flags & COL_SYMBOL) != 0 ? count : 0;
	st->quote += (c->flags & COL_QUOTE) != 0 ? count : 0;
	st->six += (c->flags & COL_SIX) != 0 ? count : 0;
	if ((c->flags & COL_VARIABLE) != 0)
	{
		st->variable += count;
		return;
	}
	if (st->values == MAX_VALUES)
		return;
	for (v = 0; v < st->values && text[v] != c->text; v++)
		;
	if (v == st->values)
		text[st->values++] = c->text;
}

/* The statistics of all columns; st has room for MAX_COLUMNS. */
static void
column_statistics(const family_row *family, size_t n, statistics *st)
{
	uint32_t text[MAX_COLUMNS][MAX_VALUES];

	memset(st, 0, MAX_COLUMNS * sizeof(*st));
	for (size_t i = 0; i < n; i++)
	{
		const columns *row = family[i].columns;
		uint32_t count = family[i].signature->count;
		/* the last column is never header: a message must be left */
		uint32_t used = row->n > 0 ? row->n - 1 : 0;

		for (uint32_t k = 0; k < used; k++)
			add_column(&st[k], &row->c[k], count, text[k]);
		for (uint32_t k = used; k < MAX_COLUMNS; k++)
			st[k].missing += count;
	}
}

/* part >= percent of whole */
static inline bool
share(uint32_t part, uint32_t whole, unsigned percent)
{
	return (uint64_t) part * 100 >= (uint64_t) whole * percent;
}

/* ---- the header of a family ---- */

typedef struct header
{
	uint32_t n;      /* columns */
	uint32_t levels; /* bit mask of columns that go into the hard key */
	uint32_t names;  /* ... into the soft key */
	uint16_t ends;   /* it goes on up to the next column with this flag, if near */
} header;

/* Names of programs may be of several words: how many columns to look on. */
#define MAX_NAME_COLUMNS 4

/* The column after the first one from k that has the flag, or k. */
static uint32_t
end_by_flag(const columns *c, uint32_t k, uint16_t flag)
{
	/* a dash after the time is followed by more of the header */
	if (flag == COL_DASH && k < c->n && (c->c[k].flags & COL_DASH) != 0)
		return k;
	for (uint32_t j = k; j < k + MAX_NAME_COLUMNS && j + 1 < c->n; j++)
	{
		if ((c->c[j].flags & COL_QUOTE) != 0)
			break;
		if ((c->c[j].flags & flag) != 0)
			return j + 1;
	}
	return k;
}

/* Rows of a family whose header goes on from column k up to one with the flag. */
static uint32_t
rows_with_end(const family_row *family, size_t n, uint32_t k, uint16_t flag)
{
	uint32_t rows = 0;

	for (size_t i = 0; i < n; i++)
	{
		if (end_by_flag(family[i].columns, k, flag) > k)
			rows += family[i].signature->count;
	}
	return rows;
}

/* The last column that is a time; MAX_COLUMNS: there is no time where a header has it. */
static uint32_t
find_time(const statistics *st, uint32_t total)
{
	uint32_t last_time = MAX_COLUMNS;
	uint32_t k;

	for (k = 0; k < 6 && last_time == MAX_COLUMNS; k++)
	{
		if (share(st[k].quote, total, 5))
			return MAX_COLUMNS;
		if (share(st[k].time, total, 90) ||
			(k == 0 && share(st[0].six, total, 98) && share(st[1].six, total, 98)))
			last_time = k;
	}
	if (last_time == MAX_COLUMNS)
		return MAX_COLUMNS;
	for (k = last_time + 1; k < TIME_COLUMNS; k++)
	{
		if (share(st[k].time, total, 98) || (k == 1 && share(st[1].six, total, 98)))
			last_time = k;
	}
	return last_time;
}

/* Syslog and most loggers: a column with a colon ends the header. */
static bool
ends_with_colon(const statistics *st, uint32_t total, header *h)
{
	for (uint32_t k = h->n; k < h->n + 4 && k < MAX_COLUMNS; k++)
	{
		if (share(st[k].missing, total, 3))
			return false;
		if (share(st[k].colon, st[k].rows, 95) && !share(st[k].quote, st[k].rows, 5))
		{
			for (uint32_t j = h->n; j <= k; j++)
			{
				if (share(st[j].upper, total, 97) && st[j].values <= 8)
					h->levels |= 1U << j;
				else if (j == k)
					h->names |= 1U << j;
			}
			h->n = k + 1;
			return true;
		}
	}
	return false;
}

/* Columns that only a header has: levels, ids, names with a proof. */
static void
add_columns(const statistics *st, uint32_t total, header *h)
{
	uint32_t pending = 0;

	for (uint32_t k = h->n; k < MAX_COLUMNS; k++)
	{
		const statistics *s = &st[k];

		if (share(s->missing, total, 3) || s->quote > 0)
			break;
		if (share(s->bracket, s->rows, 95) || share(s->symbol, s->rows, 98) ||
			share(s->bar, s->rows, 98))
		{
			/* a name needs a proof, and this is one */
			for (uint32_t j = k - pending; j < k; j++)
				h->names |= 1U << j;
		}
		else if (share(s->upper, s->rows, 98) && s->values <= 8)
			h->levels |= 1U << k;
		else if (share(s->variable, s->rows, 90))
		{
			/* after an unproved name it may be of the message */
			if (pending > 0)
				break;
		}
		else if (pending == 0 && (s->values <= 8 || total / s->values >= 20))
		{
			pending++;
			continue;
		}
		else
			break;
		pending = 0;
		h->n = k + 1;
	}
}

static bool
find_header(const family_row *family, size_t n, header *h)
{
	statistics st[MAX_COLUMNS];
	uint32_t total = 0;
	uint32_t quoted = 0;
	uint32_t last_time;

	memset(h, 0, sizeof(*h));
	for (size_t i = 0; i < n; i++)
	{
		const columns *c = family[i].columns;

		total += family[i].signature->count;
		quoted += c->n > 1 && (c->c[0].flags & COL_QUOTE) != 0 ? family[i].signature->count : 0;
	}
	/* Rows that begin with a quote have no header: nothing else of them is looked at. */
	if (total < MIN_FAMILY_ROWS || share(quoted, total, 5))
		return false;
	column_statistics(family, n, st);
	last_time = find_time(st, total);
	if (last_time == MAX_COLUMNS)
		return false;
	for (uint32_t k = 0; k <= last_time; k++)
	{
		if (share(st[k].upper, total, 98) && st[k].values <= 8)
			h->levels |= 1U << k;
	}
	h->n = last_time + 1;
	if (ends_with_colon(st, total, h))
		return true;
	/* the same where names differ in their number of words */
	for (uint16_t flag = COL_COLON; flag != 0; flag = flag == COL_COLON ? COL_DASH : 0)
	{
		if (share(rows_with_end(family, n, h->n, flag), total, 90))
		{
			h->ends = flag;
			return true;
		}
	}
	add_columns(st, total, h);
	return true;
}

static void
set_header(signature *s, const columns *c, const header *h)
{
	uint32_t n = h->ends == 0 ? h->n : end_by_flag(c, h->n, h->ends);

	if (c->n <= n)
		return;
	s->body = c->c[n - 1].end;
	for (uint32_t k = h->n; k < n; k++)
	{
		if ((c->c[k].flags & COL_UPPER) != 0)
			s->hard = mix64(s->hard, c->c[k].text);
		else
			s->soft = mix64(s->soft, c->c[k].text);
	}
	for (uint32_t k = 0; k < h->n; k++)
	{
		if ((h->levels >> k & 1) != 0)
			s->hard = mix64(s->hard, c->c[k].text);
		if ((h->names >> k & 1) != 0)
			s->soft = mix64(s->soft, c->c[k].text);
	}
	/* What parts header and message: - : | */
	while (s->body < s->ntokens)
	{
		uint64_t code = s->codes[s->body];

		if (code != CODE(TOKEN_SYMBOL, ':') && code != CODE(TOKEN_SYMBOL, '|') &&
			code != CODE(TOKEN_SYMBOL, ls_hash_text("-", 1)))
			break;
		s->body++;
	}
}

/* By the shapes of the first two columns, then as they come. */
static bool
sort_families(miner *m, family_row *all, size_t n)
{
	size_t size = (n + 1) * (2 * sizeof(sort_item) + sizeof(family_row));
	sort_item *items = ls_arena_alloc(m->arena, size);
	family_row *unsorted;

	if (items == NULL)
		return false;
	unsorted = (family_row *) (items + 2 * (n + 1));
	memcpy(unsorted, all, n * sizeof(family_row));
	for (size_t i = 0; i < n; i++)
	{
		const column *c = all[i].columns->c;

		items[i] = (sort_item){(uint64_t) c[0].shape << 32 | c[1].shape, (uint32_t) i};
	}
	ls_sort_items(items, items + n, n);
	for (size_t i = 0; i < n; i++)
		all[i] = unsorted[items[i].value];
	ls_arena_drop(m->arena, items, size);
	return true;
}

static void
apply_family(family_row *family, size_t n, bool whole)
{
	header h;
	size_t i = 0;

	if (find_header(family, n, &h))
	{
		for (; i < n; i++)
			set_header(family[i].signature, family[i].columns, &h);
		return;
	}
	if (!whole)
		return;
	/* Several sources may begin alike: try them apart by the second column. */
	while (i < n)
	{
		size_t j = i;

		while (j < n && family[j].columns->c[1].shape == family[i].columns->c[1].shape)
			j++;
		if (j - i < n)
			apply_family(family + i, j - i, false);
		i = j;
	}
}

bool
ls_find_headers(miner *m)
{
	family_row *all = ls_arena_alloc(m->arena, (m->nsignatures + 1) * sizeof(family_row));
	size_t n = 0;

	if (all == NULL)
		return false;
	for (size_t i = 0; i < m->nsignatures; i++)
	{
		signature *s = &m->signatures[i];

		if (s->columns == NULL)
			continue;
		ls_look_at_columns(s->columns, m->rows[s->row].data);
		all[n++] = (family_row){s->columns, s};
	}
	if (!sort_families(m, all, n))
		return false;
	for (size_t i = 0; i < n;)
	{
		size_t j = i;

		while (j < n && all[j].columns->c[0].shape == all[i].columns->c[0].shape)
			j++;
		apply_family(all + i, j - i, true);
		i = j;
	}
	ls_arena_drop(m->arena, all, (m->nsignatures + 1) * sizeof(family_row));
	return true;
}
