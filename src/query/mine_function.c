/*-------------------------------------------------------------------------
 *
 * mine_function.c
 *	  pattern_in_window: the miner over the rows of a window.
 *
 * It is a window function, because the miner must see all rows before it can say
 * anything about one of them.  The first call for a window mines all its rows; then
 * each row gets its pattern.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "windowapi.h"

#include "src/pattern/pattern.h"
#include "src/query/value.h"
#include "src/scan/scan.h"

PG_FUNCTION_INFO_V1(logsvc_pattern_in_window);

#define MAX_ROWS 1000000 /* of ls_pattern_mine */
#define MOST_MEMORY ((size_t) 2 * 1024 * 1024 * 1024)

#define PARTS 5 /* of the result */

typedef struct mined
{
	bool done;
	int64 rows;      /* of the window that were mined */
	uint32 *pattern; /* of each mined row; UINT32_MAX: it has no text */
	Datum *results;  /* of each pattern; 0: not made yet */
	bool once;       /* only the first row of a pattern gets all of it */
	Datum *places;   /* what the other rows get */
	ls_pattern_set *set;
	ls_arena *arena;
	MemoryContext context;
} mined;

static void
out_of_memory(void)
{
	ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
}

static int
option(WindowObject window, int argument, int otherwise)
{
	bool isnull;
	Datum value = WinGetFuncArgCurrent(window, argument, &isnull);

	return isnull ? otherwise : DatumGetInt32(value);
}

static void
mine(WindowObject window, mined *m)
{
	int64 n = WinGetPartitionRowCount(window);
	ls_pattern_options options = LS_PATTERN_DEFAULTS;
	MemoryContext row_context;
	ls_str *texts;
	size_t n_texts = 0;
	size_t memory;
	bool isnull;
	Datum sim;

	options.max_templates = option(window, 1, options.max_templates);
	options.max_samples = option(window, 2, options.max_samples);
	options.rare_threshold = option(window, 3, options.rare_threshold);
	sim = WinGetFuncArgCurrent(window, 4, &isnull);
	if (!isnull)
		options.sim_threshold = DatumGetFloat8(sim);
	m->once = DatumGetBool(WinGetFuncArgCurrent(window, 5, &isnull)) && !isnull;

	m->rows = Min(n, MAX_ROWS);
	if (ls_search_notes_current != NULL && n > m->rows)
		ls_search_notes_current->unmined += (uint64) (n - m->rows);
	m->context = AllocSetContextCreate(CurrentMemoryContext, "patterns", ALLOCSET_DEFAULT_SIZES);
	row_context = AllocSetContextCreate(m->context, "row of patterns", ALLOCSET_DEFAULT_SIZES);
	/* Half of the memory is for the texts, half for the miner. */
	memory = Min(MOST_MEMORY, ls_scan_memory_limit());
	m->arena = ls_context_arena(m->context, memory);
	m->pattern = MemoryContextAllocHuge(m->context, sizeof(uint32) * (Size) (m->rows + 1));
	texts = MemoryContextAllocHuge(m->context, sizeof(ls_str) * (Size) (m->rows + 1));
	for (int64 i = 0; i < m->rows; i++)
	{
		MemoryContext outer = MemoryContextSwitchTo(row_context);
		bool isout;
		Datum value;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row_context);
		value =
			WinGetFuncArgInPartition(window, 0, (int) i, WINDOW_SEEK_HEAD, false, &isnull, &isout);
		m->pattern[i] = UINT32_MAX;
		if (!isnull && !isout)
		{
			ls_str json = ls_arena_strdup(m->arena, ls_str_of_text(DatumGetTextPP(value)));

			if (json.data == NULL || ls_arena_used(m->arena) > memory / 2)
				out_of_memory();
			texts[n_texts] = ls_value_plain(json, m->arena);
			m->pattern[i] = (uint32) n_texts++;
		}
		MemoryContextSwitchTo(outer);
	}
	m->set = ls_pattern_mine(m->arena, texts, n_texts, &options);
	if (m->set == NULL)
		out_of_memory();
	for (int64 i = 0; i < m->rows; i++)
	{
		if (m->pattern[i] != UINT32_MAX)
			m->pattern[i] = m->set->pattern_of_row[m->pattern[i]];
	}
	m->results = MemoryContextAllocZero(m->context, sizeof(Datum) * (m->set->unique + 1));
	m->places = MemoryContextAllocZero(m->context, sizeof(Datum) * (m->set->unique + 1));
	m->done = true;
}

static Datum
text_of(const ls_buf *buf)
{
	if (buf->failed)
		out_of_memory();
	return PointerGetDatum(ls_text_of_str(ls_str_make(buf->data, buf->len)));
}

static Datum
result_of(mined *m, uint32 number)
{
	const ls_pattern *pattern = &m->set->patterns[number];
	MemoryContext outer;
	Datum parts[PARTS];
	ls_buf buf;

	if (m->results[number] != (Datum) 0)
		return m->results[number];
	outer = MemoryContextSwitchTo(m->context);
	ls_buf_init(&buf, m->arena);
	ls_buf_printf(&buf, "\"%016llx\"", (unsigned long long) pattern->id);
	parts[0] = text_of(&buf);
	ls_buf_init(&buf, m->arena);
	ls_json_quote(&buf, pattern->template);
	parts[1] = text_of(&buf);
	ls_buf_init(&buf, m->arena);
	ls_buf_char(&buf, '[');
	for (uint32 i = 0; i < pattern->nsamples; i++)
	{
		if (i > 0)
			ls_buf_char(&buf, ',');
		ls_json_quote(&buf, pattern->samples[i]);
	}
	ls_buf_char(&buf, ']');
	parts[2] = text_of(&buf);
	ls_buf_init(&buf, m->arena);
	ls_buf_printf(&buf, "%u", number);
	parts[3] = text_of(&buf);
	ls_buf_init(&buf, m->arena);
	ls_buf_printf(&buf, "%u", pattern->count);
	parts[4] = text_of(&buf);
	m->results[number] =
		PointerGetDatum(construct_array(parts, PARTS, TEXTOID, -1, false, TYPALIGN_INT));
	MemoryContextSwitchTo(outer);
	return m->results[number];
}

/* Only the place of a pattern.  It is short, because each row has one. */
static Datum
place_of(mined *m, uint32 number)
{
	if (m->places[number] == (Datum) 0)
	{
		MemoryContext outer = MemoryContextSwitchTo(m->context);
		Datum parts[PARTS] = {0};
		bool nulls[PARTS] = {true, true, true, false, true};
		int dims[1] = {PARTS};
		int bounds[1] = {1};

		parts[3] = CStringGetTextDatum(psprintf("%u", number));
		m->places[number] = PointerGetDatum(
			construct_md_array(parts, nulls, 1, dims, bounds, TEXTOID, -1, false, TYPALIGN_INT));
		MemoryContextSwitchTo(outer);
	}
	return m->places[number];
}

/*
 * pattern_in_window(value text, max int, samples int, rare int, sim float8, once
 * boolean) returns text[]: id, template, samples (JSON), place by count from 0,
 * count.  NULL for rows without the value and rows after the first 1,000,000.
 * With `once`, only one row of each pattern gets all of these, the other rows only the
 * place.  The options are those of the first row of a window; NULL: the default.
 */
Datum
logsvc_pattern_in_window(PG_FUNCTION_ARGS)
{
	WindowObject window = PG_WINDOW_OBJECT();
	mined *m = WinGetPartitionLocalMemory(window, sizeof(mined));
	int64 row = WinGetCurrentPosition(window);

	if (!m->done)
	{
		/* Partition-local memory lives in the context that ends with the window. */
		MemoryContext outer = MemoryContextSwitchTo(GetMemoryChunkContext(m));

		mine(window, m);
		MemoryContextSwitchTo(outer);
	}
	if (row >= m->rows || m->pattern[row] == UINT32_MAX)
		PG_RETURN_NULL();
	if (m->once && m->results[m->pattern[row]] != (Datum) 0)
		PG_RETURN_DATUM(place_of(m, m->pattern[row]));
	PG_RETURN_DATUM(result_of(m, m->pattern[row]));
}
