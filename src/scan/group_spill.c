/*-------------------------------------------------------------------------
 *
 * group_spill.c
 *	  Groups that memory does not hold, in temporary files.
 *
 * When the groups take half of a search's memory, all of them move to files, by the hash of
 * their keys, and the search goes on without groups.  So a group may be in a file several
 * times; at the end one file after another is read back, and what belongs together is added up, as
 * the groups of parallel workers are.  Groups of a file that memory does not hold either are divided
 * again, by other bits of the hash.  Its key is random, so nobody can choose keys that stay together.
 *
 * The files are the server's temporary files: temp_tablespaces and temp_file_limit hold, and an
 * error removes them.
 *
 * Not divided are the rows of one group (for dc() and percentiles, which keep values), and templates,
 * which have a limit of their own.
 *
 * A file is a sequence of runs, one for each time that groups moved: how many there are; for each
 * aggregate that keeps values, how many of these; then the groups, with their keys; then the
 * values, each with the number of its group in the run.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/aggregate_internal.h"

#include "storage/buffile.h"
#include "utils/memutils.h"

#define PARTITION_BITS 5
#define N_PARTITIONS (1 << PARTITION_BITS)
#define MOST_LEVELS (64 / PARTITION_BITS)

#define PIECE 65536

struct ls_group_spill
{
	BufFile *files[N_PARTITIONS]; /* NULL: no groups */
	uint64 total;                 /* the rows of all groups in them that count (ls_wanted_total) */
};

static ls_group_spill *
spill_of(ls_groups *g)
{
	if (g->spill == NULL)
		g->spill = MemoryContextAllocZero(g->context, sizeof(ls_group_spill));
	return g->spill;
}

static BufFile *
file_of(ls_groups *g, uint32 partition)
{
	ls_group_spill *spill = spill_of(g);
	MemoryContext outer = MemoryContextSwitchTo(g->context);

	if (spill->files[partition] == NULL)
		spill->files[partition] = BufFileCreateTemp(false);
	MemoryContextSwitchTo(outer);
	return spill->files[partition];
}

static void
write_bytes(BufFile *file, const void *bytes, size_t len)
{
	BufFileWrite(file, (void *) bytes, len);
}

/* ---- out of memory, into files ---- */

static bool
keeps_values(const ls_aggregate *m)
{
	return m->kind == MEASURE_DC || m->kind == MEASURE_PERCENTILE;
}

static uint64
hash_of(const ls_groups *g, uint32 bucket, uint32 tuple)
{
	uint64 hash = g->has_kept ? tuple : 0;

	hash = ls_hash_with_key(&hash, sizeof(hash), g->request.hash_key) + bucket;
	for (int i = 0; i < g->n_fields && !g->has_kept; i++)
	{
		ls_str key = ls_group_tuple_key(g, tuple, i);

		hash ^= key.data == NULL ? 0 : ls_hash_with_key(key.data, key.len, g->request.hash_key);
		hash = ls_hash_with_key(&hash, sizeof(hash), g->request.hash_key);
	}
	return hash;
}

static void
pair_of_group(const ls_groups *g, uint32 group, uint32 pair[2])
{
	pair[0] = 0;
	pair[1] = group;
	if (g->n_starts > 0)
		memcpy(pair, g->pairs.keys[group].data, 2 * sizeof(uint32));
}

/* Where the groups go. */
typedef struct division
{
	uint32 end;        /* of the groups */
	uint8 *partitions; /* by group */
	uint32 *places;    /* by group: its number in the run, from 0 */
	uint32 n[N_PARTITIONS];
	ls_buf buf;
} division;

/* False: there are fewer than `least` groups. */
static bool
divide(const ls_groups *g, division *d, uint32 least)
{
	uint32 n = 0;

	for (uint32 group = 1; group < d->end; group++)
	{
		uint32 pair[2];
		uint8 partition;

		if (group % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (g->counts[group] == 0)
			continue;
		pair_of_group(g, group, pair);
		partition =
			hash_of(g, pair[0], pair[1]) >> (g->level * PARTITION_BITS) & (N_PARTITIONS - 1);
		d->partitions[group] = partition;
		d->places[group] = d->n[partition]++;
		n++;
	}
	return n >= least;
}

/* The head of each run. */
static void
write_heads(ls_groups *g, division *d)
{
	for (uint32 p = 0; p < N_PARTITIONS; p++)
	{
		if (d->n[p] > 0)
			write_bytes(file_of(g, p), &d->n[p], sizeof(uint32));
	}
	for (int i = 0; i < g->n_aggregates; i++)
	{
		ls_aggregate *m = g->aggregates[i];
		uint64 values[N_PARTITIONS] = {0};

		if (!keeps_values(m))
			continue;
		if (m->kind == MEASURE_DC)
			ls_distinct_settle(&m->set, m->counts);
		for (const ls_samples *chunk = m->first; chunk != NULL; chunk = chunk->next)
		{
			for (uint32 k = 0; k < chunk->n; k++)
				values[d->partitions[chunk->group[k]]]++;
		}
		for (uint32 group = 1; m->kind == MEASURE_DC && group < Min(d->end, m->capacity); group++)
			values[d->partitions[group]] += m->counts[group];
		for (uint32 p = 0; p < N_PARTITIONS; p++)
		{
			if (d->n[p] > 0)
				write_bytes(g->spill->files[p], &values[p], sizeof(uint64));
		}
	}
}

static void
write_group(ls_groups *g, division *d, uint32 group)
{
	uint32 pair[2];
	uint32 len;

	pair_of_group(g, group, pair);
	d->buf.len = 0;
	ls_buf_u32(&d->buf, 0);
	ls_buf_u32(&d->buf, pair[0]);
	ls_buf_u32(&d->buf, g->has_kept ? pair[1] : 0);
	ls_buf_u64(&d->buf, g->counts[group]);
	for (int i = 0; i < g->n_fields && !g->has_kept; i++)
	{
		ls_str key = ls_group_tuple_key(g, pair[1], i);

		ls_buf_char(&d->buf, key.data != NULL);
		ls_buf_lstr(&d->buf, key.data == NULL ? LS_STR("") : key);
	}
	for (int i = 0; i < g->n_aggregates; i++)
	{
		const ls_aggregate *m = g->aggregates[i];
		size_t at = d->buf.len;

		if (keeps_values(m))
			continue;
		ls_buf_char(&d->buf, true);
		if (group >= m->capacity || !ls_aggregate_write(&d->buf, m, group))
		{
			d->buf.len = at;
			ls_buf_char(&d->buf, false);
		}
	}
	if (d->buf.failed || d->buf.len > UINT32_MAX)
		ls_group_out_of_memory();
	len = (uint32) (d->buf.len - sizeof(len));
	memcpy(d->buf.data, &len, sizeof(len));
	write_bytes(g->spill->files[d->partitions[group]], d->buf.data, d->buf.len);
}

/* A value of an aggregate that keeps values. */
typedef struct kept_value
{
	uint64 a; /* of a percentile: the double */
	uint32 b; /* and its rows */
	uint32 place;
} kept_value;

typedef struct value_writer
{
	ls_groups *g;
	const division *d;
	uint32 n;
} value_writer;

static void
write_distinct(void *context, const ls_hashed *h)
{
	value_writer *w = context;
	kept_value value = {.a = h->a, .b = h->b, .place = w->d->places[h->group]};

	if (++w->n % 4096 == 0)
		CHECK_FOR_INTERRUPTS();
	write_bytes(w->g->spill->files[w->d->partitions[h->group]], &value, sizeof(value));
}

static void
write_values(ls_groups *g, const division *d, const ls_aggregate *m)
{
	value_writer writer = {g, d, 0};

	for (const ls_samples *chunk = m->first; chunk != NULL; chunk = chunk->next)
	{
		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < chunk->n; i++)
		{
			kept_value value = {.b = chunk->rows[i], .place = d->places[chunk->group[i]]};

			memcpy(&value.a, &chunk->value[i], sizeof(value.a));
			write_bytes(g->spill->files[d->partitions[chunk->group[i]]], &value, sizeof(value));
		}
	}
	if (m->kind == MEASURE_DC)
		ls_distinct_each(&m->set, write_distinct, &writer);
}

/* Moves all groups to the files, if there are at least so many and they can be divided. */
static void
spill(ls_groups *g, uint32 least)
{
	MemoryContext context =
		AllocSetContextCreate(g->context, "groups being spilled", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer;
	division d = {.end = ls_groups_end(g)};

	for (int i = 0; i < g->n_aggregates; i++)
	{
		if (g->aggregates[i]->kind == MEASURE_PATTERNS)
			d.end = 0;
	}
	if (d.end == 0 || g->level >= MOST_LEVELS)
	{
		MemoryContextDelete(context);
		return;
	}
	outer = MemoryContextSwitchTo(context);
	d.partitions = MemoryContextAllocHuge(context, d.end);
	d.places = MemoryContextAllocHuge(context, sizeof(uint32) * (Size) d.end);
	memset(d.partitions, 0, d.end);
	ls_buf_init(&d.buf, ls_context_arena(context, 0));
	if (!divide(g, &d, least))
	{
		MemoryContextSwitchTo(outer);
		MemoryContextDelete(context);
		return;
	}
	spill_of(g)->total += ls_wanted_total(g);
	write_heads(g, &d);
	for (uint32 group = 1; group < d.end; group++)
	{
		if (group % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (g->counts[group] > 0)
			write_group(g, &d, group);
	}
	for (int i = 0; i < g->n_aggregates; i++)
		write_values(g, &d, g->aggregates[i]);
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
	ls_groups_renew(g);
}

size_t
ls_groups_most(void)
{
#ifdef LS_STOP_POINTS
	if (ls_debug_groups >= 0)
		return Min((size_t) ls_debug_groups * 1024, ls_scan_memory_limit() / 2);
#endif
	return ls_scan_memory_limit() / 2;
}

void
ls_groups_limit(ls_groups *g, size_t most)
{
	if (ls_groups_memory(g) > most)
		spill(g, 2);
}

void
ls_groups_spill_rest(ls_groups *g)
{
	if (g->spill != NULL)
		spill(g, 1);
}

/* ---- back from the files ---- */

static bool
read_bytes(BufFile *file, void *bytes, size_t len)
{
	size_t n = BufFileRead(file, bytes, len);

	if (n != len && n != 0)
		elog(ERROR, "a temporary file of a search ends too early");
	return n == len;
}

static void
need_bytes(BufFile *file, void *bytes, size_t len)
{
	if (len > 0 && !read_bytes(file, bytes, len))
		elog(ERROR, "a temporary file of a search ends too early");
}

/* Adds the bytes of a group; returns its number. */
static uint32
read_group(ls_groups *g, ls_str bytes)
{
	ls_reader r = ls_reader_make(bytes.data, bytes.len);
	uint32 codes[LS_GROUP_MAX_FIELDS] = {0};
	uint32 bucket = ls_read_u32(&r);
	uint32 place = ls_read_u32(&r);
	uint64 rows = ls_read_u64(&r);
	uint32 group;

	for (int i = 0; i < g->n_fields && !g->has_kept; i++)
	{
		bool known = ls_read_u8(&r) != 0;
		ls_str key = ls_read_lstr(&r);

		codes[i] = known ? ls_key_intern(&g->fields[i].values, key) : LS_GROUP_MISSING;
	}
	group = ls_groups_number(g, bucket, place, codes);
	ls_groups_count(g, group, rows);
	for (int i = 0; i < g->n_aggregates; i++)
	{
		ls_aggregate *m = g->aggregates[i];

		ls_aggregate_reserve(m, group + 1);
		if (!keeps_values(m) && ls_read_u8(&r) != 0)
			ls_aggregate_take(m, group, &r);
	}
	if (r.failed)
		elog(ERROR, "a temporary file of a search has no groups");
	return group;
}

static void
read_values(BufFile *file, ls_aggregate *m, uint64 n, const uint32 *groups, uint32 n_groups)
{
	uint32 pending = 0;

	for (uint64 i = 0; i < n; i++)
	{
		kept_value value;
		double number;

		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
		need_bytes(file, &value, sizeof(value));
		if (value.place >= n_groups)
			elog(ERROR, "a temporary file of a search has no such group");
		if (m->kind == MEASURE_PERCENTILE)
		{
			memcpy(&number, &value.a, sizeof(number));
			ls_aggregate_add_sample(m, groups[value.place], number, value.b);
			continue;
		}
		m->pending[pending++] =
			(ls_hashed){.a = value.a, .b = value.b, .group = groups[value.place]};
		if (pending == lengthof(m->pending))
		{
			ls_distinct_add(&m->set, m->pending, pending, m->counts);
			pending = 0;
		}
	}
	if (pending > 0)
		ls_distinct_add(&m->set, m->pending, pending, m->counts);
}

/* Adds a run; false: there are no more. */
static bool
read_run(ls_groups *g, BufFile *file)
{
	uint64 n_values[LS_GROUP_MAX_AGGREGATES];
	uint32 *groups;
	char *bytes = NULL;
	uint32 room = 0;
	uint32 n;

	if (!read_bytes(file, &n, sizeof(n)))
		return false;
	for (int i = 0; i < g->n_aggregates; i++)
	{
		if (keeps_values(g->aggregates[i]))
			need_bytes(file, &n_values[i], sizeof(uint64));
	}
	groups = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(uint32) * ((Size) n + 1));
	for (uint32 i = 0; i < n; i++)
	{
		uint32 len;

		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		need_bytes(file, &len, sizeof(len));
		if (len > room)
		{
			room = Max(len, 1024);
			if (bytes != NULL)
				pfree(bytes);
			bytes = MemoryContextAllocHuge(CurrentMemoryContext, room);
		}
		need_bytes(file, bytes, len);
		groups[i] = read_group(g, ls_str_make(bytes, len));
	}
	for (int i = 0; i < g->n_aggregates; i++)
	{
		if (keeps_values(g->aggregates[i]))
			read_values(file, g->aggregates[i], n_values[i], groups, n);
	}
	return true;
}

static void
rewind_file(BufFile *file)
{
	if (BufFileSeek(file, 0, 0, SEEK_SET) != 0)
		elog(ERROR, "could not read a temporary file of a search from its begin");
}

static void
read_files(ls_groups *g, uint64 total, ls_groups_take_some take, void *context)
{
	for (int p = 0; p < N_PARTITIONS; p++)
	{
		BufFile *file = g->spill->files[p];
		MemoryContext memory;
		MemoryContext run;
		MemoryContext outer;
		ls_groups *some;

		if (file == NULL)
			continue;
		memory = AllocSetContextCreate(g->context, "spilled groups", ALLOCSET_DEFAULT_SIZES);
		run = AllocSetContextCreate(memory, "run of groups", ALLOCSET_DEFAULT_SIZES);
		some = ls_groups_make(memory, &g->request);
		some->level = g->level + 1;
		rewind_file(file);
		outer = MemoryContextSwitchTo(run);
		while (read_run(some, file))
		{
			MemoryContextReset(run);
			ls_groups_limit(some, ls_groups_most());
		}
		MemoryContextSwitchTo(outer);
		if (some->spill == NULL)
			take(some, total, context);
		else
		{
			ls_groups_spill_rest(some);
			read_files(some, total, take, context);
			ls_groups_spill_end(some);
		}
		MemoryContextDelete(memory);
	}
}

void
ls_groups_unspill(ls_groups *g, ls_groups_take_some take, void *context)
{
	read_files(g, g->spill->total, take, context);
}

/* ---- files of other processes ---- */

uint64
ls_groups_spilled(ls_groups *g, ls_spill_take take, void *context)
{
	char *piece;

	if (g->spill == NULL)
		return 0;
	piece = palloc(PIECE);
	for (int p = 0; p < N_PARTITIONS; p++)
	{
		size_t n;

		if (g->spill->files[p] == NULL)
			continue;
		rewind_file(g->spill->files[p]);
		while ((n = BufFileRead(g->spill->files[p], piece, PIECE)) > 0)
			take(context, p, ls_str_make(piece, n));
	}
	pfree(piece);
	return g->spill->total;
}

void
ls_groups_spill_bytes(ls_groups *g, uint32 partition, ls_str bytes)
{
	if (partition >= N_PARTITIONS)
		elog(ERROR, "a parallel worker sent groups of no file");
	write_bytes(file_of(g, partition), bytes.data, bytes.len);
}

void
ls_groups_spill_total(ls_groups *g, uint64 total)
{
	if (total > 0)
		spill_of(g)->total += total;
}

void
ls_groups_spill_end(ls_groups *g)
{
	if (g->spill == NULL)
		return;
	for (int p = 0; p < N_PARTITIONS; p++)
	{
		if (g->spill->files[p] != NULL)
			BufFileClose(g->spill->files[p]);
	}
	pfree(g->spill);
	g->spill = NULL;
}
