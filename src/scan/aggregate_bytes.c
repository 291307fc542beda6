/*-------------------------------------------------------------------------
 *
 * aggregate_bytes.c
 *	  The state of an aggregate of one group as bytes, and such bytes added to a group.
 *
 * group_merge.c sends them from one process to another, group_spill.c writes them to temporary files.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/aggregate_internal.h"

static bool
write_sum(ls_buf *buf, const ls_decimal_sum *sum)
{
	if (sum->n == 0)
		return false;
	ls_buf_u64(buf, sum->n);
	ls_buf_u32(buf, (uint32) sum->scale);
	ls_buf_u64(buf, (uint64) (sum->units >> 64));
	ls_buf_u64(buf, (uint64) sum->units);
	ls_buf_lstr(buf, sum->rest.bytes);
	return true;
}

static bool
write_extreme(ls_buf *buf, const ls_extreme *x)
{
	uint64 bits;

	if (!x->has_integer && !x->has_double && !x->has_text)
		return false;
	memcpy(&bits, &x->number, sizeof(bits));
	ls_buf_char(buf, (char) (x->has_integer | x->has_double << 1 | x->has_text << 2));
	ls_buf_u64(buf, (uint64) x->integer);
	ls_buf_u64(buf, bits);
	ls_buf_lstr(buf, x->has_text ? x->text.bytes : LS_STR(""));
	return true;
}

static bool
write_edge(ls_buf *buf, const ls_edge *e)
{
	if (!e->set)
		return false;
	ls_buf_u64(buf, (uint64) e->time);
	ls_buf_u64(buf, e->batch);
	ls_buf_u32(buf, e->place);
	ls_buf_lstr(buf, e->value.bytes);
	return true;
}

bool
ls_aggregate_write(ls_buf *buf, const ls_aggregate *m, uint32 group)
{
	switch (m->kind)
	{
		case MEASURE_SUM:
		case MEASURE_AVG:
			return write_sum(buf, &m->sums[group]);
		case MEASURE_MIN:
		case MEASURE_MAX:
			return write_extreme(buf, &m->extremes[group]);
		case MEASURE_FIRST:
		case MEASURE_LAST:
			return write_edge(buf, &m->edges[group]);
		default:
			ls_buf_u64(buf, m->counts[group]);
			return true;
	}
}

void
ls_aggregate_confused(void)
{
	elog(ERROR, "a parallel worker sent groups that are none");
}

static void
take_sum(ls_aggregate *m, uint32 group, ls_reader *r)
{
	ls_decimal_sum *sum = &m->sums[group];
	uint64 n = ls_read_u64(r);
	int scale = (int) ls_read_u32(r);
	uint64 high = ls_read_u64(r);
	uint64 low = ls_read_u64(r);
	ls_str rest = ls_read_lstr(r);
	int128 units = (int128) ((uint128) high << 64 | low);

	if (r->failed)
		ls_aggregate_confused();
	sum->n += n;
	if (units == (int64) units)
		ls_aggregate_add_units(m, sum, (int64) units, scale);
	else
		ls_aggregate_put_aside(m, sum, ls_aggregate_numeric(units, scale));
	if (rest.len > 0)
	{
		Numeric more = palloc(rest.len);

		memcpy(more, rest.data, rest.len);
		ls_aggregate_put_aside(m, sum, more);
	}
}

static void
take_extreme(ls_aggregate *m, uint32 group, ls_reader *r)
{
	ls_extreme *x = &m->extremes[group];
	uint8 has = ls_read_u8(r);
	ls_num integer = {.is_int = true, .i = (int64) ls_read_u64(r)};
	uint64 bits = ls_read_u64(r);
	ls_num number = {.is_int = false};
	ls_scan_value text = {.kind = LS_KIND_STRING, .text = ls_read_lstr(r)};

	if (r->failed)
		ls_aggregate_confused();
	memcpy(&number.d, &bits, sizeof(bits));
	if (has & 1)
		ls_aggregate_add_extreme(m, x, &text, &integer);
	if (has & 2)
		ls_aggregate_add_extreme(m, x, &text, &number);
	if (has & 4)
		ls_aggregate_add_extreme(m, x, &text, NULL);
}

static void
take_edge(ls_aggregate *m, uint32 group, ls_reader *r)
{
	ls_edge *e = &m->edges[group];
	ls_time time = (ls_time) ls_read_u64(r);
	uint64 batch = ls_read_u64(r);
	uint32 place = ls_read_u32(r);
	ls_str value = ls_read_lstr(r);

	if (r->failed)
		ls_aggregate_confused();
	if (e->set && ls_aggregate_before(time, batch, place, e) != (m->kind == MEASURE_FIRST))
		return;
	e->set = true;
	e->time = time;
	e->batch = batch;
	e->place = place;
	ls_aggregate_keep(m, &e->value, value);
}

static void
take_pattern(ls_aggregate *m, uint32 group, ls_reader *r)
{
	ls_pattern_text text = {.group = group, .rows = ls_read_u64(r)};

	text.first = (ls_time) ls_read_u64(r);
	text.last = (ls_time) ls_read_u64(r);
	text.same = ls_read_u8(r) != 0;
	text.text = ls_read_lstr(r);
	if (r->failed)
		ls_aggregate_confused();
	ls_patterns_add_text(m, &text);
}

void
ls_aggregate_take(ls_aggregate *m, uint32 group, ls_reader *r)
{
	uint64 bits;
	double value;

	switch (m->kind)
	{
		case MEASURE_SUM:
		case MEASURE_AVG:
			take_sum(m, group, r);
			break;
		case MEASURE_MIN:
		case MEASURE_MAX:
			take_extreme(m, group, r);
			break;
		case MEASURE_FIRST:
		case MEASURE_LAST:
			take_edge(m, group, r);
			break;
		case MEASURE_PERCENTILE:
			bits = ls_read_u64(r);
			memcpy(&value, &bits, sizeof(bits));
			ls_aggregate_add_sample(m, group, value, ls_read_u32(r));
			break;
		case MEASURE_PATTERNS:
			take_pattern(m, group, r);
			break;
		default:
			m->counts[group] += ls_read_u64(r);
			break;
	}
}
