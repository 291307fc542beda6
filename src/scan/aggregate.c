/*-------------------------------------------------------------------------
 *
 * aggregate.c
 *	  Aggregates of a field's values inside parts, for each group.
 *
 * The results are those of the server's own aggregates over the values as JSON
 * texts: sums are decimal, percentiles are those of percentile_cont, and values
 * that are not numbers are left out and counted.  Only the columns of the fields
 * are decoded.
 *
 * Distinct values are counted by 96 bits of a keyed hash (SipHash, with a new key
 * for each search).  Among a billion values, the probability of a collision is
 * 10^-11, and senders of events cannot cause one.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/aggregate_internal.h"

#include <float.h>
#include <math.h>

#include "common/int.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "src/part/match.h"

ls_aggregate **
ls_aggregates_make(ls_arena *arena, const ls_group_request *request)
{
	static const struct
	{
		const char *name;
		ls_aggregate_kind kind;
	} kinds[] = {{"count", MEASURE_COUNT}, {"dc", MEASURE_DC},    {"sum", MEASURE_SUM},
				 {"avg", MEASURE_AVG},     {"min", MEASURE_MIN},  {"max", MEASURE_MAX},
				 {"first", MEASURE_FIRST}, {"last", MEASURE_LAST}};
	const ls_str *texts = request->aggregates;
	ls_aggregate **aggregates =
		checked(ls_new_array(arena, ls_aggregate *, request->n_aggregates + 1));

	for (int i = 0; i < request->n_aggregates; i++)
	{
		ls_aggregate *m = checked(ls_new(arena, ls_aggregate));
		const char *text = ls_cstring_of_str(texts[i]);
		char kind[16];
		int at = 0;
		bool found = false;

		aggregates[i] = m;
		m->arena = arena;
		m->set.arena = arena;
		ls_buf_init(&m->scratch, arena);
		m->counter = -1;
		m->key[0] = request->hash_key[0];
		m->key[1] = request->hash_key[1];
		if (sscanf(text, "%15s %d %n", kind, &m->counter, &at) == 2 && at > 0)
		{
			m->name = ls_str_make(texts[i].data + at, texts[i].len - (size_t) at);
			for (size_t k = 0; k < lengthof(kinds) && !found; k++)
			{
				found = strcmp(kind, kinds[k].name) == 0;
				m->kind = kinds[k].kind;
			}
			if (!found && sscanf(kind, "p%d", &m->percent) == 1 && m->percent >= 0 &&
				m->percent <= 100)
			{
				found = true;
				m->kind = MEASURE_PERCENTILE;
			}
			if (!found && strcmp(kind, "patterns") == 0)
			{
				int options = ls_patterns_options(m, text + at);

				found = options > 0;
				m->kind = MEASURE_PATTERNS;
				m->name = ls_str_make(m->name.data + options, m->name.len - (size_t) options);
			}
		}
		if (!found || m->counter >= LS_SCAN_MAX_COUNTERS)
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"%s\" is not an aggregate of a scan", text));
	}
	return aggregates;
}

void
ls_aggregate_continue(ls_aggregate *m, const ls_aggregate *before)
{
	m->field = before->field;
	m->numbers = before->numbers;
	m->others = before->others;
}

void
ls_aggregate_part(ls_aggregate *m, ls_scan *scan)
{
	ls_scan_field_parse(scan->arena, m->name, &m->field);
	ls_scan_field_resolve(scan, &m->field);
	m->entries.numbers = NULL;
}

/* ---- room for groups ---- */

static void *
grow(ls_aggregate *m, void *array, Size element, uint32 capacity)
{
	char *grown =
		checked(ls_arena_grow(m->arena, array, m->capacity * element, capacity * element));

	memset(grown + m->capacity * element, 0, (capacity - m->capacity) * element);
	return grown;
}

void
ls_aggregate_reserve(ls_aggregate *m, uint32 n_groups)
{
	uint32 capacity = Max(n_groups, Max(16, m->capacity * 2));

	if (n_groups <= m->capacity)
		return;
	switch (m->kind)
	{
		case MEASURE_COUNT:
		case MEASURE_DC:
		case MEASURE_PERCENTILE:
			m->counts = grow(m, m->counts, sizeof(uint64), capacity);
			break;
		case MEASURE_SUM:
		case MEASURE_AVG:
			m->sums = grow(m, m->sums, sizeof(ls_decimal_sum), capacity);
			break;
		case MEASURE_MIN:
		case MEASURE_MAX:
			m->extremes = grow(m, m->extremes, sizeof(ls_extreme), capacity);
			break;
		case MEASURE_FIRST:
		case MEASURE_LAST:
			m->edges = grow(m, m->edges, sizeof(ls_edge), capacity);
			break;
		case MEASURE_PATTERNS:
			break;
	}
	m->capacity = capacity;
}

void
ls_aggregate_keep(ls_aggregate *m, ls_kept *kept, ls_str bytes)
{
	if (kept->bytes.data == NULL || bytes.len > kept->room)
	{
		kept->room = Max(bytes.len, 2 * kept->room);
		kept->bytes.data = checked(ls_arena_alloc(m->arena, kept->room));
	}
	if (bytes.len > 0)
		memcpy((char *) kept->bytes.data, bytes.data, bytes.len);
	kept->bytes.len = bytes.len;
}

/* ---- dc ---- */

#define ROTATE(x, n) ((x) << (n) | (x) >> (64 - (n)))

static inline void
sip_round(uint64 *v)
{
	v[0] += v[1];
	v[1] = ROTATE(v[1], 13) ^ v[0];
	v[0] = ROTATE(v[0], 32);
	v[2] += v[3];
	v[3] = ROTATE(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = ROTATE(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = ROTATE(v[1], 17) ^ v[2];
	v[2] = ROTATE(v[2], 32);
}

/* SipHash-1-3, 96 of its 128 bits. */
static ls_hashed
sip(const uint64 key[2], const char *data, size_t len)
{
	uint64 v[4] = {
		key[0] ^ UINT64CONST(0x736f6d6570736575), key[1] ^ UINT64CONST(0x646f72616e646f6d) ^ 0xee,
		key[0] ^ UINT64CONST(0x6c7967656e657261), key[1] ^ UINT64CONST(0x7465646279746573)};
	uint64 last = (uint64) len << 56;
	ls_hashed result = {0};
	uint64 word;

	for (; len >= 8; data += 8, len -= 8)
	{
		memcpy(&word, data, 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < len; i++)
		last |= (uint64) (uint8) data[i] << (8 * i);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xee;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	result.a = v[0] ^ v[1] ^ v[2] ^ v[3];
	v[1] ^= 0xdd;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	result.b = (uint32) (v[0] ^ v[1] ^ v[2] ^ v[3]);
	return result;
}

/* Values with different JSON texts are distinct. */
static ls_hashed
hash_value(const ls_aggregate *m, const ls_scan_value *value)
{
	uint64 key[2] = {m->key[0] ^ (uint64) value->kind << 32, m->key[1]};

	if (value->kind == LS_KIND_INTEGER || value->kind == LS_KIND_BOOLEAN)
		return sip(key, (const char *) &value->integer, sizeof(value->integer));
	return sip(key, value->text.data, value->text.len);
}

uint64
ls_aggregate_distinct(const ls_aggregate *m)
{
	return ls_distinct_size(&m->set) + (m->digest == NULL ? 0 : ls_pattern_digest_size(m->digest));
}

static void
add_distinct(ls_aggregate *m, ls_scan *scan, const ls_group_rows *rows)
{
	ls_scan_column *column = m->field.columns;
	bool plain = m->field.source == LS_SOURCE_COLUMNS && m->field.n_columns == 1 &&
				 column->nested == 0 && column->kind == LS_KIND_STRING;
	uint32 n = 0;

	for (uint32 i = 0; i < rows->n; i++)
	{
		ls_scan_value value;

		if (!ls_scan_field_typed(scan, &m->field, rows->block, rows->rows[i], &value) ||
			value.kind == LS_KIND_NULL)
			continue;
		if (plain && (column->vector->form == LS_VECTOR_DICTIONARY ||
					  column->vector->form == LS_VECTOR_CONSTANT))
		{
			uint32 *seen = ls_entries_of(&m->entries, scan, column->vector, 0);
			uint32 entry = column->vector->form == LS_VECTOR_CONSTANT
							   ? 0
							   : column->vector->codes[column->ranks[rows->rows[i]]];

			if (seen[entry] == rows->groups[i])
				continue;
			seen[entry] = rows->groups[i];
		}
		m->pending[n] = hash_value(m, &value);
		m->pending[n++].group = rows->groups[i];
	}
	ls_distinct_add(&m->set, m->pending, n, m->counts);
}

/* ---- numbers ---- */

static const int64 powers[] = {1,
							   10,
							   100,
							   1000,
							   10000,
							   100000,
							   1000000,
							   10000000,
							   100000000,
							   1000000000,
							   INT64CONST(10000000000),
							   INT64CONST(100000000000),
							   INT64CONST(1000000000000),
							   INT64CONST(10000000000000),
							   INT64CONST(100000000000000),
							   INT64CONST(1000000000000000)};

#define MAX_SCALE ((int) lengthof(powers) - 1)

static Numeric
numeric_of_text(const char *text)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
											   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

Numeric
ls_scan_double(double number)
{
	return numeric_of_text(DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(number))));
}

Numeric
ls_scan_numeric(ls_str text, ls_num number)
{
	/* A text of a finite number has at most some 600 digits. */
	return number.is_int ? int64_to_numeric(number.i)
						 : DatumGetNumeric(DirectFunctionCall1(
							   numeric_trim_scale,
							   NumericGetDatum(numeric_of_text(ls_cstring_of_str(text)))));
}

/* A decimal of at most 15 digits as units of 10^-scale, without trailing zeros. */
static bool
units_of(ls_str text, ls_num number, int64 *units, int *scale)
{
	bool negative = text.len > 0 && text.data[0] == '-';
	bool point = false;
	int digits = 0;

	*units = number.i;
	*scale = 0;
	if (number.is_int)
		return true;
	*units = 0;
	for (size_t i = negative; i < text.len; i++)
	{
		char c = text.data[i];

		if (c == '.')
		{
			point = true;
			continue;
		}
		if (c < '0' || c > '9')
			return false;
		digits += digits > 0 || c != '0';
		*scale += point;
		if (digits > 15 || *scale > MAX_SCALE)
			return false;
		*units = *units * 10 + (c - '0');
	}
	while (*scale > 0 && *units % 10 == 0)
	{
		*units /= 10;
		--*scale;
	}
	if (negative)
		*units = -*units;
	return true;
}

Numeric
ls_aggregate_numeric(int128 units, int scale)
{
	char text[64];
	char *at = text + sizeof(text) - 1;
	bool negative = units < 0;
	int n = 0;

	*at = '\0';
	do
	{
		int digit = (int) (units % 10);

		if (n == scale && n > 0)
			*--at = '.';
		*--at = (char) ('0' + (digit < 0 ? -digit : digit));
		units /= 10;
		n++;
	} while (units != 0 || n <= scale);
	if (negative)
		*--at = '-';
	return numeric_of_text(at);
}

static Numeric
add_numerics(Numeric a, Numeric b)
{
	return DatumGetNumeric(
		DirectFunctionCall2(numeric_add, NumericGetDatum(a), NumericGetDatum(b)));
}

/* Moves the sum so far to `rest`, which has no limit. */
void
ls_aggregate_put_aside(ls_aggregate *m, ls_decimal_sum *sum, Numeric more)
{
	if (sum->rest.bytes.data != NULL)
		more = add_numerics((Numeric) sum->rest.bytes.data, more);
	ls_aggregate_keep(m, &sum->rest, ls_str_make((const char *) more, VARSIZE(more)));
}

void
ls_aggregate_add_units(ls_aggregate *m, ls_decimal_sum *sum, int64 units, int scale)
{
	int128 total;
	int128 wide = units;

	if (scale < sum->scale)
		wide *= powers[sum->scale - scale];
	else if (scale > sum->scale)
	{
		if (__builtin_mul_overflow(sum->units, (int128) powers[scale - sum->scale], &total))
		{
			ls_aggregate_put_aside(m, sum, ls_aggregate_numeric(sum->units, sum->scale));
			total = 0;
		}
		sum->units = total;
		sum->scale = scale;
	}
	if (__builtin_add_overflow(sum->units, wide, &total))
	{
		ls_aggregate_put_aside(m, sum, ls_aggregate_numeric(sum->units, sum->scale));
		total = wide;
	}
	sum->units = total;
}

void
ls_aggregate_add_extreme(ls_aggregate *m, ls_extreme *x, const ls_scan_value *value,
						 const ls_num *number)
{
	bool greatest = m->kind == MEASURE_MAX;
	ls_str text;

	if (number != NULL && number->is_int)
	{
		if (!x->has_integer || (greatest ? number->i > x->integer : number->i < x->integer))
			x->integer = number->i;
		x->has_integer = true;
		return;
	}
	if (number != NULL)
	{
		if (!x->has_double || (greatest ? number->d > x->number : number->d < x->number))
			x->number = number->d;
		x->has_double = true;
		return;
	}
	/* Texts count if there is no number. */
	if (x->has_integer || x->has_double)
		return;
	text = value->text;
	if (value->kind == LS_KIND_BOOLEAN)
		text = value->integer != 0 ? LS_STR("true") : LS_STR("false");
	if (x->has_text &&
		(greatest ? ls_str_cmp(text, x->text.bytes) <= 0 : ls_str_cmp(text, x->text.bytes) >= 0))
		return;
	ls_aggregate_keep(m, &x->text, text);
	x->has_text = true;
}

/* A sample among the last ones; in a place that depends on its group and value. */
typedef struct ls_recent_sample
{
	uint64 bits;
	uint32 group;
	uint32 *rows; /* NULL: none */
} recent_sample;

#define RECENT_SAMPLES 4096

void
ls_aggregate_add_sample(ls_aggregate *m, uint32 group, double value, uint32 rows)
{
	recent_sample *recent;
	uint64 bits;

	if (m->recent == NULL)
		m->recent = checked(ls_new_array(m->arena, recent_sample, RECENT_SAMPLES));
	memcpy(&bits, &value, sizeof(bits));
	recent = &m->recent[(bits ^ group * UINT64CONST(0xD6E8FEB86659FD93)) *
							UINT64CONST(0x9E3779B97F4A7C15) >>
						52];
	m->counts[group] += rows;
	if (recent->rows != NULL && recent->bits == bits && recent->group == group &&
		rows <= PG_UINT32_MAX - *recent->rows)
	{
		*recent->rows += rows;
		return;
	}
	if (m->last == NULL || m->last->n == LS_SAMPLES_CHUNK)
	{
		ls_samples *chunk = checked(ls_arena_alloc(m->arena, sizeof(ls_samples)));

		chunk->n = 0;
		chunk->next = NULL;
		if (m->last == NULL)
			m->first = chunk;
		else
			m->last->next = chunk;
		m->last = chunk;
	}
	m->last->group[m->last->n] = group;
	m->last->value[m->last->n] = value;
	m->last->rows[m->last->n] = rows;
	*recent = (recent_sample){bits, group, &m->last->rows[m->last->n]};
	m->last->n++;
}

static void
add_numbers(ls_aggregate *m, ls_scan *scan, const ls_group_rows *rows)
{
	for (uint32 i = 0; i < rows->n; i++)
	{
		uint32 group = rows->groups[i];
		ls_scan_value value;
		ls_num number;
		bool is_number;
		int64 units;
		int scale;

		/* Sums are made of the digits. */
		if (m->kind == MEASURE_SUM || m->kind == MEASURE_AVG
				? !ls_scan_field_typed(scan, &m->field, rows->block, rows->rows[i], &value)
				: !ls_scan_field_number(scan, &m->field, rows->block, rows->rows[i], &value,
										&number, &is_number))
			continue;
		if (value.kind == LS_KIND_NULL)
			continue;
		if (m->kind == MEASURE_SUM || m->kind == MEASURE_AVG)
			is_number = ls_scan_is_number(&value, &number);
		m->numbers += is_number;
		m->others += !is_number;
		if (m->kind == MEASURE_MIN || m->kind == MEASURE_MAX)
			ls_aggregate_add_extreme(m, &m->extremes[group], &value, is_number ? &number : NULL);
		else if (!is_number)
			continue;
		else if (m->kind == MEASURE_PERCENTILE)
			ls_aggregate_add_sample(m, group, number.d, 1);
		else
		{
			m->sums[group].n++;
			if (units_of(value.text, number, &units, &scale))
				ls_aggregate_add_units(m, &m->sums[group], units, scale);
			else
				ls_aggregate_put_aside(m, &m->sums[group], ls_scan_numeric(value.text, number));
		}
	}
}

/* ---- first, last ---- */

/* The order of events: newest first; at the same time, the later id first. */
bool
ls_aggregate_before(ls_time time, uint64 batch, uint32 place, const ls_edge *e)
{
	if (time != e->time)
		return time > e->time;
	if (batch != e->batch)
		return batch > e->batch;
	return place > e->place;
}

static void
add_edges(ls_aggregate *m, ls_scan *scan, const ls_group_rows *rows)
{
	const ls_time *times = ls_part_timestamps(scan->part, rows->block);
	const uint64_t *batches = NULL;
	const uint32_t *places = NULL;
	bool first = m->kind == MEASURE_FIRST;
	ls_scan_value value;

	if (times == NULL)
		ls_scan_fail(scan);
	for (uint32 i = 0; i < rows->n; i++)
	{
		uint32 row = rows->rows[i];
		ls_edge *e = &m->edges[rows->groups[i]];

		if (e->set && (first ? times[row] < e->time : times[row] > e->time))
			continue;
		if (!ls_scan_field_typed(scan, &m->field, rows->block, row, &value) ||
			value.kind == LS_KIND_NULL)
			continue;
		if (batches == NULL)
		{
			batches = ls_part_batches(scan->part, rows->block);
			places = batches == NULL ? NULL : ls_part_places(scan->part, rows->block);
			if (places == NULL)
				ls_scan_fail(scan);
		}
		if (e->set && ls_aggregate_before(times[row], batches[row], places[row], e) != first)
			continue;
		e->set = e->fresh = true;
		e->time = times[row];
		e->batch = batches[row];
		e->place = places[row];
		e->row = row;
	}
	for (uint32 i = 0; i < rows->n; i++)
	{
		ls_edge *e = &m->edges[rows->groups[i]];

		if (!e->fresh)
			continue;
		e->fresh = false;
		m->scratch.len = 0;
		if (!ls_scan_field_value(scan, &m->field, rows->block, e->row, &m->scratch) ||
			m->scratch.failed)
			ls_group_out_of_memory();
		ls_aggregate_keep(m, &e->value, ls_str_make(m->scratch.data, m->scratch.len));
	}
}

/* ---- the whole ---- */

void
ls_aggregate_add(ls_aggregate *m, ls_scan *scan, const ls_group_rows *rows, uint32 n_groups)
{
	ls_scan_value value;

	ls_aggregate_reserve(m, n_groups);
	ls_scan_field_block(&m->field);
	if (m->field.source == LS_SOURCE_COLUMNS && m->field.n_columns == 0)
		return;
	switch (m->kind)
	{
		case MEASURE_COUNT:
			for (uint32 i = 0; i < rows->n; i++)
			{
				if (ls_scan_field_typed(scan, &m->field, rows->block, rows->rows[i], &value) &&
					value.kind != LS_KIND_NULL)
					m->counts[rows->groups[i]]++;
			}
			break;
		case MEASURE_DC:
			add_distinct(m, scan, rows);
			break;
		case MEASURE_FIRST:
		case MEASURE_LAST:
			add_edges(m, scan, rows);
			break;
		case MEASURE_PATTERNS:
			ls_patterns_add(m, scan, rows);
			break;
		default:
			add_numbers(m, scan, rows);
			break;
	}
}

bool
ls_aggregate_in_header(const ls_aggregate *m, const ls_scan *scan)
{
	const ls_part_stats *stats = ls_part_statistics(scan->part);

	return (m->kind == MEASURE_MIN || m->kind == MEASURE_MAX) &&
		   m->field.source == LS_SOURCE_TIMESTAMP && scan->levels == stats->level_mask &&
		   stats->min_time >= scan->from && stats->max_time < scan->to;
}

void
ls_aggregate_add_header(ls_aggregate *m, const ls_scan *scan, uint32 group, uint32 n_groups)
{
	const ls_part_stats *stats = ls_part_statistics(scan->part);
	char iso[LS_TIME_ISO_LENGTH + 1];
	ls_scan_value value = {.kind = LS_KIND_STRING};

	ls_aggregate_reserve(m, n_groups);
	ls_time_format_iso(m->kind == MEASURE_MIN ? stats->min_time : stats->max_time, iso);
	value.text = ls_str_make(iso, LS_TIME_ISO_LENGTH);
	m->others += stats->rows;
	ls_aggregate_add_extreme(m, &m->extremes[group], &value, NULL);
}

/* The samples of each group side by side. */
static void
sort_samples(ls_aggregate *m, uint32 n_groups)
{
	Size total = 0;
	Size *next = checked(ls_new_array(m->arena, Size, n_groups + 1));

	m->starts = checked(ls_new_array(m->arena, Size, n_groups + 1));
	for (const ls_samples *chunk = m->first; chunk != NULL; chunk = chunk->next)
	{
		for (uint32 i = 0; i < chunk->n; i++)
			next[chunk->group[i]]++;
	}
	for (uint32 g = 0; g < n_groups; g++)
	{
		Size n = next[g];

		m->starts[g] = next[g] = total;
		total += n;
	}
	m->starts[n_groups] = total;
	m->values = checked(ls_arena_alloc(m->arena, (total + 1) * sizeof(double)));
	m->rows = checked(ls_arena_alloc(m->arena, (total + 1) * sizeof(uint32)));
	for (const ls_samples *chunk = m->first; chunk != NULL; chunk = chunk->next)
	{
		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < chunk->n; i++)
		{
			Size at = next[chunk->group[i]]++;

			m->values[at] = chunk->value[i];
			m->rows[at] = chunk->rows[i];
		}
	}
}

void
ls_aggregate_finish(ls_aggregate *m, uint32 n_groups)
{
	ls_aggregate_reserve(m, n_groups);
	if (m->kind == MEASURE_DC)
		ls_distinct_settle(&m->set, m->counts);
	if (m->kind == MEASURE_PERCENTILE)
		sort_samples(m, n_groups);
	if (m->kind == MEASURE_PATTERNS)
		ls_patterns_finish(m);
	if (ls_scan_current != NULL && m->counter >= 0)
	{
		ls_scan_current->numbers[m->counter] += m->numbers;
		ls_scan_current->others[m->counter] += m->others;
	}
}

/* The value of the k-th row in their order; v[i] is that of rows[i] rows.  Both are put into another order. */
static double
select_value(double *v, uint32 *rows, Size n, uint64 k)
{
	Size low = 0;
	Size high = n - 1;

	while (low < high)
	{
		Size i = low;
		Size j = high;
		double pivot = v[low + (high - low) / 2];
		uint64 below = 0;

		CHECK_FOR_INTERRUPTS();
		for (;;)
		{
			double value;
			uint32 its_rows;

			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			value = v[i];
			its_rows = rows[i];
			v[i] = v[j];
			rows[i++] = rows[j];
			v[j] = value;
			rows[j--] = its_rows;
		}
		/* v[low .. j] <= pivot <= v[j + 1 .. high] */
		for (i = low; i <= j; i++)
			below += rows[i];
		if (k < below)
			high = j;
		else
		{
			k -= below;
			low = j + 1;
		}
	}
	return v[low];
}

/* Like percentile_cont: interpolates between the values of two of `n_rows` rows. */
static double
percentile(double *values, uint32 *rows, Size n, uint64 n_rows, int percent)
{
	double place = percent / 100.0 * (double) (n_rows - 1);
	uint64 first = (uint64) floor(place);
	double low = select_value(values, rows, n, first);
	double high;

	if (first == (uint64) ceil(place))
		return low;
	high = select_value(values, rows, n, first + 1);
	return low + (place - (double) first) * (high - low);
}

static void
append_numeric(ls_buf *buf, Numeric value)
{
	char *text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value)));

	ls_buf_str(buf, ls_str_of_cstring(text));
	pfree(text);
}

/* Doubles up to this are exact if they are integers. */
#define EXACT_INTEGERS 9007199254740992.0

/* As float8out writes it, but integers that 64 bits hold without an exponent. */
static void
append_double(ls_buf *buf, double value)
{
	if (value == trunc(value) && fabs(value) <= EXACT_INTEGERS)
		ls_buf_printf(buf, "%lld", (long long) value);
	else if (value == trunc(value) && fabs(value) < 9223372036854775808.0)
		/* The shortest digits that read back as the same number, as everywhere, are those of another integer. */
		append_numeric(buf, ls_scan_double(value));
	else
	{
		char *text = DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(value)));

		ls_buf_str(buf, ls_str_of_cstring(text));
		pfree(text);
	}
}

/*
 * A number is a text of at most 300 characters (ls_num_parse).  A longer sum is shown as the nearest
 * double, or the largest one, so that what comes after it still sees a number.
 */
static void
append_sum(ls_buf *buf, Numeric sum)
{
	char *text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(sum)));
	double number = strlen(text) > 300 ? strtod(text, NULL) : 0;

	if (strlen(text) > 300)
		append_double(buf, Max(Min(number, DBL_MAX), -DBL_MAX));
	else
		ls_buf_str(buf, ls_str_of_cstring(text));
	pfree(text);
}

static Numeric
sum_of(const ls_decimal_sum *sum)
{
	Numeric total = ls_aggregate_numeric(sum->units, sum->scale);

	return sum->rest.bytes.data == NULL ? total
										: add_numerics(total, (Numeric) sum->rest.bytes.data);
}

static bool
extreme_result(const ls_aggregate *m, const ls_extreme *x, ls_buf *buf)
{
	Numeric a;
	Numeric b;

	if (!x->has_integer && !x->has_double)
	{
		if (x->has_text)
			ls_json_quote(buf, x->text.bytes);
		return x->has_text;
	}
	a = int64_to_numeric(x->integer);
	b = ls_scan_double(x->number);
	if (!x->has_double ||
		(x->has_integer &&
		 (DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a), NumericGetDatum(b))) >
		  0) == (m->kind == MEASURE_MAX)))
		append_numeric(buf, a);
	else
		append_double(buf, x->number);
	return true;
}

bool
ls_aggregate_result(ls_aggregate *m, uint32 group, ls_buf *buf)
{
	const ls_decimal_sum *sum = m->sums == NULL ? NULL : &m->sums[group];
	double value;

	switch (m->kind)
	{
		case MEASURE_COUNT:
		case MEASURE_DC:
			ls_buf_printf(buf, "%llu", (unsigned long long) m->counts[group]);
			return true;
		case MEASURE_SUM:
			if (sum->n > 0)
				append_sum(buf, sum_of(sum));
			return sum->n > 0;
		case MEASURE_AVG:
			if (sum->n > 0)
				append_double(
					buf,
					DatumGetFloat8(DirectFunctionCall1(
						numeric_float8,
						DirectFunctionCall2(numeric_div, NumericGetDatum(sum_of(sum)),
											NumericGetDatum(int64_to_numeric((int64) sum->n))))));
			return sum->n > 0;
		case MEASURE_MIN:
		case MEASURE_MAX:
			return extreme_result(m, &m->extremes[group], buf);
		case MEASURE_FIRST:
		case MEASURE_LAST:
			if (m->edges[group].set)
				ls_buf_str(buf, m->edges[group].value.bytes);
			return m->edges[group].set;
		case MEASURE_PERCENTILE:
			if (m->counts[group] == 0)
				return false;
			value =
				percentile(m->values + m->starts[group], m->rows + m->starts[group],
						   m->starts[group + 1] - m->starts[group], m->counts[group], m->percent);
			/* The difference of the largest and the smallest double overflows. */
			if (isfinite(value))
				append_double(buf, value);
			return isfinite(value);
		case MEASURE_PATTERNS:
			return ls_patterns_result(m, group, buf);
	}
	return false;
}
