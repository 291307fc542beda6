/*-------------------------------------------------------------------------
 *
 * statement.c
 *	  Prepared statements of searches, kept in a session.
 *
 * Parsing and planning a statement over some days takes longer than finding one
 * event in them.  Two searches of the same form differ only in parameters, so
 * their statements have the same text, and the second one is prepared.  Its plan
 * is generic: partitions are chosen when it runs.  The server replans it when a
 * partition is created or dropped.
 *
 * Such a plan has nodes for all partitions, some 10 to 20 kB each.  So the total
 * size of the plans is limited, and if there are many partitions, a search of a
 * few of them is planned for these only.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "utils/memutils.h"
#include "utils/plancache.h"

#include "src/store/store.h"

#define MOST_STATEMENTS 32
#define MOST_MEMORY ((Size) 16 * 1024 * 1024) /* of a session */

#define FEW_PARTITIONS 64

/* Hashes of statements that were run once. */
#define MOST_SEEN 256

typedef struct statement
{
	SPIPlanPtr plan; /* NULL: free */
	uint64 hash;
	char *text;
	Oid *types;
	int n_types;
	uint64 turn; /* when it was used */
} statement;

static statement statements[MOST_STATEMENTS];
static uint64 seen[MOST_SEEN];
static uint64 turn = 0;
/* Run by ls_statement_call, and kept because what it runs prepares others; after an error, until the next call. */
static SPIPlanPtr called = NULL;

static uint64
hash_of(const char *text, int n_types, const Oid *types)
{
	return ls_hash64(text, strlen(text), ls_hash64(types, sizeof(Oid) * (Size) n_types, 1));
}

static statement *
find(uint64 hash, const char *text, int n_types, const Oid *types)
{
	for (int i = 0; i < MOST_STATEMENTS; i++)
	{
		statement *s = &statements[i];

		if (s->plan != NULL && s->hash == hash && s->n_types == n_types &&
			memcmp(s->types, types, sizeof(Oid) * (Size) n_types) == 0 &&
			strcmp(s->text, text) == 0)
			return s;
	}
	return NULL;
}

static Size
size_of(const statement *s)
{
	ListCell *cell;
	Size size = 0;

	foreach (cell, SPI_plan_get_plan_sources(s->plan))
	{
		CachedPlanSource *source = lfirst(cell);

		size += MemoryContextMemAllocated(source->context, true);
		if (source->gplan != NULL)
			size += MemoryContextMemAllocated(source->gplan->context, true);
	}
	return size;
}

static void
drop(statement *s)
{
	Assert(s->plan != called);
	SPI_freeplan(s->plan);
	pfree(s->text);
	pfree(s->types);
	s->plan = NULL;
}

/* A free entry; if necessary, the least recently used statements are dropped. */
static statement *
make_room(void)
{
	for (;;)
	{
		statement *unused = NULL;
		statement *oldest = NULL;
		Size size = 0;

		for (int i = 0; i < MOST_STATEMENTS; i++)
		{
			statement *s = &statements[i];

			if (s->plan == NULL)
			{
				unused = s;
				continue;
			}
			size += size_of(s);
			if (s->plan != called && (oldest == NULL || s->turn < oldest->turn))
				oldest = s;
		}
		if (unused != NULL && (size <= MOST_MEMORY || oldest == NULL))
			return unused;
		drop(oldest);
	}
}

SPIPlanPtr
ls_statement_prepare(const char *text, int n_types, const Oid *types)
{
	uint64 hash = hash_of(text, n_types, types);
	statement *s = find(hash, text, n_types, types);

	if (s == NULL)
	{
		MemoryContext outer;
		SPIPlanPtr plan =
			SPI_prepare_cursor(text, n_types, unconstify(Oid *, types), CURSOR_OPT_GENERIC_PLAN);

		if (plan == NULL)
			elog(ERROR, "could not prepare a search: %s", SPI_result_code_string(SPI_result));
		s = make_room();
		outer = MemoryContextSwitchTo(TopMemoryContext);
		s->text = pstrdup(text);
		s->types = palloc(sizeof(Oid) * (Size) (n_types + 1));
		memcpy(s->types, types, sizeof(Oid) * (Size) n_types);
		MemoryContextSwitchTo(outer);
		s->n_types = n_types;
		s->hash = hash;
		SPI_keepplan(plan);
		s->plan = plan;
	}
	s->turn = ++turn;
	return s->plan;
}

/* The plan of a statement that this session repeats; NULL: this is its first time. */
static SPIPlanPtr
prepare_repeated(const char *text, int n_types, const Oid *types)
{
	uint64 hash = hash_of(text, n_types, types);
	uint64 *once = &seen[hash % MOST_SEEN];

	if (*once != hash && find(hash, text, n_types, types) == NULL)
	{
		*once = hash;
		return NULL;
	}
	return ls_statement_prepare(text, n_types, types);
}

SPIPlanPtr
ls_statement_again(const char *text, int n_types, const Oid *types, int64 days)
{
	int partitions = ls_store_partitions();

	if (partitions > FEW_PARTITIONS && days < partitions / 8)
		return NULL;
	return prepare_repeated(text, n_types, types);
}

uint64
ls_statement_read(const char *text, int n_types, const Oid *types, Datum *values)
{
	int result =
		SPI_execute_plan(ls_statement_prepare(text, n_types, types), values, NULL, true, 0);

	if (result != SPI_OK_SELECT)
		elog(ERROR, "\"%s\" failed: %s", text, SPI_result_code_string(result));
	return SPI_processed;
}

uint64
ls_statement_call(const char *text, int n_types, const Oid *types, Datum *values, const char *nulls)
{
	int result;

	called = prepare_repeated(text, n_types, types);
	result = called != NULL ? SPI_execute_plan(called, values, nulls, false, 1)
							: SPI_execute_with_args(text, n_types, unconstify(Oid *, types), values,
													nulls, false, 1);
	called = NULL;
	if (result != SPI_OK_SELECT)
		elog(ERROR, "\"%s\" failed: %s", text, SPI_result_code_string(result));
	return SPI_processed;
}
