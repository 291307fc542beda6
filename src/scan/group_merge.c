/*-------------------------------------------------------------------------
 *
 * group_merge.c
 *	  Adds the groups of one process to those of another.
 *
 * A parallel worker sends its groups in messages of whole items: first the keys,
 * then the counts and values by key.  The numbers of keys and groups are those of
 * the sender; the receiver looks each key up once and then maps numbers.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/aggregate_internal.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* A message is sent when it has reached this length. */
#define ENOUGH 65536

typedef enum section
{
	SECTION_KEYS, /* of a field: their texts, in the order of their codes */
	SECTION_TUPLES,
	SECTION_PAIRS,
	SECTION_COUNTS,
	SECTION_MEASURE,
	SECTION_SPILLED, /* bytes of groups in temporary files, by partition */
	SECTION_END      /* numbers of the session and of values */
} section;

#define HEAD 5 /* section, number of the field or aggregate */

/* ---- the request ---- */

static void
write_texts(ls_buf *to, const ls_str *texts, int n)
{
	ls_buf_u32(to, (uint32) n);
	for (int i = 0; i < n; i++)
		ls_buf_lstr(to, texts[i]);
}

void
ls_group_request_write(ls_buf *to, const ls_group_request *request)
{
	ls_buf_char(to, request->filter.data != NULL);
	ls_buf_lstr(to, request->filter);
	ls_buf_u64(to, (uint64) request->from);
	ls_buf_u64(to, (uint64) request->to);
	write_texts(to, request->fields, request->n_fields);
	write_texts(to, request->aggregates, request->n_aggregates);
	ls_buf_char(to, request->has_kept);
	write_texts(to, request->kept, request->n_kept);
	ls_buf_u32(to, (uint32) request->n_starts);
	for (int i = 0; i < request->n_starts; i++)
		ls_buf_u64(to, (uint64) request->starts[i]);
	ls_buf_u64(to, request->hash_key[0]);
	ls_buf_u64(to, request->hash_key[1]);
	ls_buf_char(to, request->program.data != NULL);
	ls_buf_lstr(to, request->program);
	ls_buf_u64(to, (uint64) request->now);
	ls_buf_char(to, request->wanted.data != NULL);
	ls_buf_lstr(to, request->wanted);
}

static ls_str *
read_texts(ls_arena *arena, ls_reader *r, int *n)
{
	ls_str *texts;

	*n = (int) ls_read_u32(r);
	texts = checked(ls_new_array(arena, ls_str, *n + 1));
	for (int i = 0; i < *n; i++)
		texts[i] = ls_read_lstr(r);
	return texts;
}

bool
ls_group_request_read(ls_arena *arena, ls_str from, ls_group_request *request)
{
	ls_reader r = ls_reader_make(from.data, from.len);
	bool filtered = ls_read_u8(&r) != 0;
	bool programmed;
	bool wanted;

	request->filter = ls_read_lstr(&r);
	if (!filtered)
		request->filter.data = NULL;
	request->from = (ls_time) ls_read_u64(&r);
	request->to = (ls_time) ls_read_u64(&r);
	request->fields = read_texts(arena, &r, &request->n_fields);
	request->aggregates = read_texts(arena, &r, &request->n_aggregates);
	request->has_kept = ls_read_u8(&r) != 0;
	request->kept = read_texts(arena, &r, &request->n_kept);
	request->n_starts = (int) ls_read_u32(&r);
	request->starts = checked(ls_new_array(arena, ls_time, request->n_starts + 1));
	for (int i = 0; i < request->n_starts; i++)
		request->starts[i] = (ls_time) ls_read_u64(&r);
	request->hash_key[0] = ls_read_u64(&r);
	request->hash_key[1] = ls_read_u64(&r);
	programmed = ls_read_u8(&r) != 0;
	request->program = ls_read_lstr(&r);
	if (!programmed)
		request->program.data = NULL;
	request->now = (ls_time) ls_read_u64(&r);
	wanted = ls_read_u8(&r) != 0;
	request->wanted = ls_read_lstr(&r);
	if (!wanted)
		request->wanted.data = NULL;
	return !r.failed;
}

/* ---- sending ---- */

typedef struct outgoing
{
	ls_buf buf;
	ls_group_send send;
	void *context;
} outgoing;

static void
flush(outgoing *o)
{
	if (o->buf.failed)
		ls_group_out_of_memory();
	o->send(o->context, ls_str_make(o->buf.data, o->buf.len));
}

static void
begin_section(outgoing *o, section what, int number)
{
	o->buf.len = 0;
	ls_buf_char(&o->buf, (char) what);
	ls_buf_u32(&o->buf, (uint32) number);
}

/* An item has been written. */
static inline void
end_item(outgoing *o)
{
	if (o->buf.len < ENOUGH && !o->buf.failed)
		return;
	flush(o);
	o->buf.len = HEAD;
}

static void
end_section(outgoing *o)
{
	if (o->buf.len > HEAD || o->buf.failed)
		flush(o);
}

static void
send_keys(outgoing *o, section what, int number, const ls_key_table *table, bool sized)
{
	begin_section(o, what, number);
	for (uint32 k = 1; k <= table->n; k++)
	{
		if (sized)
			ls_buf_lstr(&o->buf, table->keys[k]);
		else
			ls_buf_str(&o->buf, table->keys[k]);
		end_item(o);
	}
	end_section(o);
}

static void
send_samples(outgoing *o, const ls_aggregate *m)
{
	for (const ls_samples *chunk = m->first; chunk != NULL; chunk = chunk->next)
	{
		for (uint32 i = 0; i < chunk->n; i++)
		{
			uint64 bits;

			memcpy(&bits, &chunk->value[i], sizeof(bits));
			ls_buf_u32(&o->buf, chunk->group[i]);
			ls_buf_u64(&o->buf, bits);
			ls_buf_u32(&o->buf, chunk->rows[i]);
			end_item(o);
		}
	}
}

static void
send_value(void *context, const ls_hashed *value)
{
	outgoing *o = context;

	ls_buf_u32(&o->buf, value->group);
	ls_buf_u64(&o->buf, value->a);
	ls_buf_u32(&o->buf, value->b);
	end_item(o);
}

static void
send_patterns(outgoing *o, ls_aggregate *m)
{
	const ls_pattern_text *texts;
	size_t n = 0;

	if (m->digest == NULL)
		return;
	texts = checked((void *) ls_pattern_digest_texts(m->digest, &n));
	for (size_t i = 0; i < n; i++)
	{
		ls_buf_u32(&o->buf, texts[i].group);
		ls_buf_u64(&o->buf, texts[i].rows);
		ls_buf_u64(&o->buf, (uint64) texts[i].first);
		ls_buf_u64(&o->buf, (uint64) texts[i].last);
		ls_buf_char(&o->buf, texts[i].same);
		ls_buf_lstr(&o->buf, texts[i].text);
		end_item(o);
	}
}

static void
send_aggregate(outgoing *o, int number, ls_aggregate *m, uint32 n_groups)
{
	begin_section(o, SECTION_MEASURE, number);
	if (m->kind == MEASURE_DC)
	{
		ls_distinct_settle(&m->set, m->counts);
		ls_distinct_each(&m->set, send_value, o);
	}
	else if (m->kind == MEASURE_PERCENTILE)
		send_samples(o, m);
	else if (m->kind == MEASURE_PATTERNS)
		send_patterns(o, m);
	else
	{
		for (uint32 group = 1; group < Min(n_groups, m->capacity); group++)
		{
			size_t before = o->buf.len;

			ls_buf_u32(&o->buf, group);
			if (ls_aggregate_write(&o->buf, m, group))
				end_item(o);
			else
				o->buf.len = before;
		}
	}
	end_section(o);
}

/* Sends a piece of a file as it is. */
static void
send_spilled(void *context, int partition, ls_str bytes)
{
	outgoing *o = context;

	begin_section(o, SECTION_SPILLED, partition);
	ls_buf_str(&o->buf, bytes);
	end_section(o);
}

void
ls_groups_send(ls_groups *g, const ls_scan_session *session, ls_group_send send, void *context)
{
	outgoing o = {.send = send, .context = context};
	uint32 n_groups = ls_groups_end(g);
	uint64 spilled;

	ls_buf_init(&o.buf, g->arena);
	for (int i = 0; i < g->n_fields && !g->has_kept; i++)
		send_keys(&o, SECTION_KEYS, i, &g->fields[i].values, true);
	if (!g->has_kept)
		send_keys(&o, SECTION_TUPLES, 0, &g->tuples, false);
	send_keys(&o, SECTION_PAIRS, 0, &g->pairs, false);
	begin_section(&o, SECTION_COUNTS, 0);
	for (uint32 group = 1; group < n_groups; group++)
	{
		ls_buf_u64(&o.buf, g->counts[group]);
		end_item(&o);
	}
	end_section(&o);
	for (int i = 0; i < g->n_aggregates; i++)
		send_aggregate(&o, i, g->aggregates[i], n_groups);
	spilled = ls_groups_spilled(g, send_spilled, &o);
	begin_section(&o, SECTION_END, 0);
	ls_buf_u64(&o.buf, spilled);
	ls_buf_u64(&o.buf, session->parts);
	ls_buf_u64(&o.buf, session->rows);
	ls_buf_u64(&o.buf, session->matched);
	ls_buf_u64(&o.buf, session->bytes);
	for (int i = 0; i < g->n_aggregates; i++)
	{
		ls_buf_u64(&o.buf, g->aggregates[i]->numbers);
		ls_buf_u64(&o.buf, g->aggregates[i]->others);
	}
	flush(&o);
}

/* ---- receiving ---- */

/* The receiver's numbers by the sender's, from 1. */
typedef struct map
{
	uint32 *to;
	uint32 n;
	uint32 capacity;
} map;

struct ls_group_merge
{
	ls_groups *g;
	MemoryContext context;
	MemoryContext message; /* of what one message needs */
	map *codes;            /* of each field */
	map tuples;
	map pairs;
	uint32 n_counts;
};

ls_group_merge *
ls_group_merge_begin(ls_groups *g)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "groups of a worker", ALLOCSET_DEFAULT_SIZES);
	ls_group_merge *merge = MemoryContextAllocZero(context, sizeof(*merge));

	merge->g = g;
	merge->context = context;
	merge->message = AllocSetContextCreate(context, "message of a worker", ALLOCSET_DEFAULT_SIZES);
	merge->codes = MemoryContextAllocZero(context, sizeof(map) * (Size) (g->n_fields + 1));
	return merge;
}

void
ls_group_merge_end(ls_group_merge *merge)
{
	MemoryContextDelete(merge->context);
}

static void
map_add(ls_group_merge *merge, map *m, uint32 number)
{
	if (m->n + 1 >= m->capacity)
	{
		uint32 capacity = Max(1024, m->capacity * 2);
		Size size = capacity * sizeof(uint32);

		m->to = m->to == NULL ? MemoryContextAllocHuge(merge->context, size)
							  : repalloc_huge(m->to, size);
		m->capacity = capacity;
	}
	m->to[++m->n] = number;
}

static uint32
map_find(const map *m, uint32 number)
{
	if (number == 0 || number > m->n)
		ls_aggregate_confused();
	return m->to[number];
}

static uint32
code_here(const ls_group_merge *merge, int field, uint32 code)
{
	return code == LS_GROUP_MISSING ? code : map_find(&merge->codes[field], code);
}

/* A combination of keys; or its place, if only some have groups of their own. */
static uint32
tuple_here(const ls_group_merge *merge, uint32 tuple)
{
	if (merge->g->has_kept || merge->g->n_fields == 0)
		return tuple;
	if (merge->g->n_fields == 1)
		return code_here(merge, 0, tuple - 1) + 1;
	return map_find(&merge->tuples, tuple);
}

static uint32
group_here(const ls_group_merge *merge, uint32 group)
{
	return merge->g->n_starts > 0 ? map_find(&merge->pairs, group) : tuple_here(merge, group);
}

static void
take_tuple(ls_group_merge *merge, ls_reader *r)
{
	ls_groups *g = merge->g;
	uint32 codes[LS_GROUP_MAX_FIELDS];
	ls_str key = ls_read_bytes(r, sizeof(uint32) * (size_t) g->n_fields);

	if (r->failed)
		ls_aggregate_confused();
	memcpy(codes, key.data, key.len);
	for (int i = 0; i < g->n_fields; i++)
		codes[i] = code_here(merge, i, codes[i]);
	map_add(merge, &merge->tuples,
			ls_key_intern(&g->tuples, ls_str_make((const char *) codes, key.len)));
}

static void
take_pair(ls_group_merge *merge, ls_reader *r)
{
	uint32 pair[2];
	ls_str key = ls_read_bytes(r, sizeof(pair));

	if (r->failed)
		ls_aggregate_confused();
	memcpy(pair, key.data, sizeof(pair));
	pair[1] = tuple_here(merge, pair[1]);
	map_add(merge, &merge->pairs,
			ls_key_intern(&merge->g->pairs, ls_str_make((const char *) pair, sizeof(pair))));
}

static void
take_aggregate(ls_group_merge *merge, ls_aggregate *m, ls_reader *r)
{
	uint32 end = ls_groups_end(merge->g);
	uint32 n = 0;

	ls_aggregate_reserve(m, end);
	while (r->pos < r->end)
	{
		uint32 group = group_here(merge, ls_read_u32(r));

		if (group >= end)
			ls_aggregate_confused();
		if (m->kind != MEASURE_DC)
		{
			ls_aggregate_take(m, group, r);
			continue;
		}
		m->pending[n] = (ls_hashed){.a = ls_read_u64(r), .b = 0, .group = group};
		m->pending[n++].b = ls_read_u32(r);
		if (n == lengthof(m->pending))
		{
			ls_distinct_add(&m->set, m->pending, n, m->counts);
			n = 0;
		}
	}
	if (n > 0)
		ls_distinct_add(&m->set, m->pending, n, m->counts);
}

static void
take_end(ls_groups *g, ls_reader *r)
{
	ls_scan_session session = {0};

	ls_groups_spill_total(g, ls_read_u64(r));
	session.parts = ls_read_u64(r);
	session.rows = ls_read_u64(r);
	session.matched = ls_read_u64(r);
	session.bytes = ls_read_u64(r);
	if (ls_scan_current != NULL)
	{
		ls_scan_current->parts += session.parts;
		ls_scan_current->rows += session.rows;
		ls_scan_current->matched += session.matched;
		ls_scan_current->bytes += session.bytes;
	}
	for (int i = 0; i < g->n_aggregates; i++)
	{
		g->aggregates[i]->numbers += ls_read_u64(r);
		g->aggregates[i]->others += ls_read_u64(r);
	}
}

bool
ls_group_merge_take(ls_group_merge *merge, ls_str message)
{
	ls_groups *g = merge->g;
	ls_reader r = ls_reader_make(message.data, message.len);
	section what = (section) ls_read_u8(&r);
	uint32 number = ls_read_u32(&r);
	MemoryContext outer = MemoryContextSwitchTo(merge->message);

	CHECK_FOR_INTERRUPTS();
	if (r.failed || (what == SECTION_KEYS && number >= (uint32) g->n_fields) ||
		(what == SECTION_MEASURE && number >= (uint32) g->n_aggregates))
		ls_aggregate_confused();
	while (r.pos < r.end && !r.failed)
	{
		switch (what)
		{
			case SECTION_KEYS:
				map_add(merge, &merge->codes[number],
						ls_key_intern(&g->fields[number].values, ls_read_lstr(&r)));
				break;
			case SECTION_TUPLES:
				take_tuple(merge, &r);
				break;
			case SECTION_PAIRS:
				take_pair(merge, &r);
				break;
			case SECTION_COUNTS:
			{
				uint64 rows = ls_read_u64(&r);

				if (rows > 0)
					ls_groups_count(g, group_here(merge, merge->n_counts + 1), rows);
				merge->n_counts++;
				break;
			}
			case SECTION_MEASURE:
				take_aggregate(merge, g->aggregates[number], &r);
				break;
			case SECTION_SPILLED:
				ls_groups_spill_bytes(g, number, ls_read_bytes(&r, (size_t) (r.end - r.pos)));
				break;
			case SECTION_END:
				take_end(g, &r);
				break;
			default:
				ls_aggregate_confused();
		}
	}
	if (r.failed)
		ls_aggregate_confused();
	MemoryContextSwitchTo(outer);
	MemoryContextReset(merge->message);
	return what == SECTION_END;
}
