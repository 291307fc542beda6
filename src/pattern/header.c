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
 * It is found by statistics of columns (words between white space, a bracketed
 * part is one column), per family of rows that begin with a column of the
 * same shape, and only where one of the first columns is a time: text without
 * a time has no header.  Behind the last time follow, in any order, columns
 * that vary (process ids), severities, bracketed parts, and names.  A name
 * column is taken only if a column behind it proves that the header goes on:
 * a colon (syslog and many loggers), a bracketed part, a dash or a bar.
 *
 * Severities become part of the key (never joined); the name of the component
 * must be equal for two shapes to be joined, but the same message of two
 * components is one pattern.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/columns.h"

#include <stdlib.h>

#define MIN_FAMILY_ROWS 4

/* ---- statistics of one column of a family ---- */

#define MAX_VALUES 64

typedef struct statistics
{
	uint32_t rows;    /* that have the column and one behind it */
	uint32_t missing; /* rows that do not */
	uint32_t variable, bracket, colon, bar, upper, time, symbol, quote, six;
	uint32_t top;    /* rows with the most frequent constant */
	uint32_t values; /* distinct constants, up to MAX_VALUES */
} statistics;

static void
column_statistics(const miner *m, const columns *family, size_t n, uint32_t k, statistics *st)
{
	uint32_t text[MAX_VALUES];
	uint32_t rows[MAX_VALUES];

	memset(st, 0, sizeof(*st));
	for (size_t i = 0; i < n; i++)
	{
		const column *c = &family[i].c[k];
		uint32_t count = m->signatures[family[i].signature].count;
		uint32_t v;

		/* the last column is never header: a message must be left */
		if (family[i].n <= k + 1)
		{
			st->missing += count;
			continue;
		}
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
			continue;
		}
		for (v = 0; v < st->values && text[v] != c->text; v++)
			;
		if (v == st->values)
		{
			if (v == MAX_VALUES)
				continue;
			text[v] = c->text;
			rows[v] = 0;
			st->values++;
		}
		rows[v] += count;
		if (rows[v] > st->top)
			st->top = rows[v];
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
} header;

static bool
find_header(const miner *m, const columns *family, size_t n, header *h)
{
	statistics st[MAX_COLUMNS];
	uint32_t total = 0;
	uint32_t last_time = MAX_COLUMNS;
	uint32_t k;
	uint32_t pending = 0;

	memset(h, 0, sizeof(*h));
	for (size_t i = 0; i < n; i++)
		total += m->signatures[family[i].signature].count;
	if (total < MIN_FAMILY_ROWS)
		return false;
	for (k = 0; k < 6 && last_time == MAX_COLUMNS; k++)
	{
		column_statistics(m, family, n, k, &st[k]);
		if (k == 0)
			column_statistics(m, family, n, 1, &st[1]);
		if (share(st[k].quote, total, 5))
			return false;
		if (share(st[k].time, total, 90) ||
			(k == 0 && share(st[0].six, total, 98) && share(st[1].six, total, 98)))
			last_time = k;
	}
	if (last_time == MAX_COLUMNS)
		return false;
	for (k = last_time + 1; k < MAX_COLUMNS; k++)
		column_statistics(m, family, n, k, &st[k]);
	for (k = last_time + 1; k < 10; k++)
	{
		if (share(st[k].time, total, 98) || (k == 1 && share(st[1].six, total, 98)))
			last_time = k;
	}

	for (k = 0; k <= last_time; k++)
	{
		if (share(st[k].upper, total, 98) && st[k].values <= 8)
			h->levels |= 1U << k;
	}
	h->n = last_time + 1;

	/* syslog and most loggers: a column with a colon ends the header */
	for (k = h->n; k < h->n + 4 && k < MAX_COLUMNS; k++)
	{
		if (share(st[k].missing, total, 3))
			break;
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

	for (k = h->n; k < MAX_COLUMNS; k++)
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
			/* behind an unproved name it may be of the message */
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
	return true;
}

static void
set_header(miner *m, const columns *c, const header *h)
{
	signature *s = &m->signatures[c->signature];

	if (c->n <= h->n)
		return;
	s->body = c->c[h->n - 1].end;
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
		uint64_t code = m->codes[s->ids[s->body]];

		if (code != CODE(TOKEN_SYMBOL, ':') && code != CODE(TOKEN_SYMBOL, '|') &&
			code != CODE(TOKEN_SYMBOL, ls_hash_text("-", 1)))
			break;
		s->body++;
	}
}

static int
compare_first(const void *a, const void *b)
{
	const columns *x = a;
	const columns *y = b;

	if (x->c[0].shape != y->c[0].shape)
		return x->c[0].shape < y->c[0].shape ? -1 : 1;
	if (x->c[1].shape != y->c[1].shape)
		return x->c[1].shape < y->c[1].shape ? -1 : 1;
	return x->signature < y->signature ? -1 : x->signature > y->signature;
}

static void
apply_family(miner *m, columns *family, size_t n, bool whole)
{
	header h;
	size_t i = 0;

	if (find_header(m, family, n, &h))
	{
		for (; i < n; i++)
			set_header(m, &family[i], &h);
		return;
	}
	if (!whole)
		return;
	/* Several sources may begin alike: try them apart by the second column. */
	while (i < n)
	{
		size_t j = i;

		while (j < n && family[j].c[1].shape == family[i].c[1].shape)
			j++;
		if (j - i < n)
			apply_family(m, family + i, j - i, false);
		i = j;
	}
}

/* Without a variable near its start a row has no time, thus no header. */
static bool
may_have_time(const token_list *list)
{
	for (uint32_t i = 0; i < list->n && i < MAX_COLUMNS; i++)
	{
		if (CODE_KIND(list->t[i].code) == TOKEN_VARIABLE)
			return true;
	}
	return false;
}

/* Reads the tokens of every signature once more: interns them, finds headers. */
bool
ls_find_headers(miner *m)
{
	columns *all = ls_arena_alloc(m->arena, (m->nsignatures + 1) * sizeof(columns));
	token_list *list = ls_arena_alloc(m->arena, sizeof(token_list));
	size_t n = 0;

	if (all == NULL || list == NULL)
		return false;
	if (ls_intern_code(m, CODE(TOKEN_VARIABLE, 0)) != ID_VARIABLE)
		return false;
	for (size_t i = 0; i < m->nsignatures; i++)
	{
		signature *s = &m->signatures[i];

		ls_scan_row(list, m->rows[s->row]);
		s->ntokens = list->n;
		s->structured = list->structured;
		s->ids = ls_arena_alloc(m->arena, list->n * sizeof(uint32_t));
		if (s->ids == NULL)
			return false;
		for (uint32_t t = 0; t < list->n; t++)
		{
			s->ids[t] = ls_intern_code(m, list->t[t].code);
			if (s->ids[t] == UINT32_MAX)
				return false;
			if (CODE_KIND(list->t[t].code) == TOKEN_LEVEL)
				s->hard = mix64(s->hard, list->t[t].code);
		}
		if (!s->structured && may_have_time(list))
		{
			all[n].c[0].shape = all[n].c[1].shape = 0;
			ls_describe_columns(&all[n], list, m->rows[s->row].data);
			all[n++].signature = (uint32_t) i;
		}
	}
	qsort(all, n, sizeof(columns), compare_first);
	for (size_t i = 0; i < n;)
	{
		size_t j = i;

		while (j < n && all[j].c[0].shape == all[i].c[0].shape)
			j++;
		apply_family(m, all + i, j - i, true);
		i = j;
	}
	return true;
}
