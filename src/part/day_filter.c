/*-------------------------------------------------------------------------
 *
 * day_filter.c
 *	  Bloom filters of many parts, stored bit by bit of all parts: written and looked up (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/day_filter.h"

#define VERSION 1
#define HASHES 4
#define CHECKSUM 4

static inline uint32_t
row_bytes(const ls_day_filter *filter)
{
	return (filter->n + 7) / 8;
}

static inline uint32_t
bucket_of(const ls_day_filter *filter, uint64_t token)
{
	return (uint32_t) ((token >> 32) * filter->buckets >> 32);
}

/* The upper bytes are the rows of the token. */
static inline uint64_t
rows_of(uint64_t token)
{
	return token * UINT64_C(0x9E3779B97F4A7C15);
}

static inline uint32_t
row_of(uint64_t rows, int hash)
{
	return (uint32_t) (rows >> (32 + 8 * hash)) % LS_DAY_FILTER_ROWS;
}

uint64_t
ls_day_field(ls_field field, ls_str key)
{
	return field == LS_FIELD_ATTRIBUTE ? ls_hash64(key.data, key.len, 5) : 16 + (uint64_t) field;
}

/* ---- writing ---- */

void
ls_day_filter_begin(ls_day_filter *filter)
{
	filter->stride = row_bytes(filter) * LS_DAY_FILTER_ROWS + CHECKSUM;
}

void
ls_day_filter_head(const ls_day_filter *filter, ls_buf *head)
{
	size_t start = head->len;

	ls_buf_char(head, VERSION);
	ls_buf_u32(head, filter->n);
	ls_buf_u32(head, filter->buckets);
	for (uint32_t i = 0; i < filter->n; i++)
		ls_buf_u64(head, (uint64_t) filter->parts[i]);
	if (!head->failed)
		ls_buf_u32(head, ls_crc32c(0, head->data + start, head->len - start));
}

void
ls_day_filter_add(const ls_day_filter *filter, uint8_t *bits, uint32_t part, uint64_t token)
{
	uint8_t *bucket = bits + (size_t) bucket_of(filter, token) * filter->stride;
	uint64_t rows = rows_of(token);
	uint32_t width = row_bytes(filter);

	for (int i = 0; i < HASHES; i++)
		bucket[row_of(rows, i) * width + part / 8] |= (uint8_t) (1u << (part % 8));
}

void
ls_day_filter_add_all(const ls_day_filter *filter, uint8_t *bits, uint32_t part)
{
	uint32_t width = row_bytes(filter);

	for (uint32_t b = 0; b < filter->buckets; b++)
	{
		for (uint32_t row = 0; row < LS_DAY_FILTER_ROWS; row++)
			bits[(size_t) b * filter->stride + row * width + part / 8] |=
				(uint8_t) (1u << (part % 8));
	}
}

/* The checksum of a bucket in the place of another one is wrong. */
static uint32_t
checksum(const ls_day_filter *filter, const uint8_t *bucket, uint32_t number)
{
	return ls_crc32c(number, bucket, filter->stride - CHECKSUM);
}

void
ls_day_filter_end(const ls_day_filter *filter, uint8_t *bits)
{
	for (uint32_t b = 0; b < filter->buckets; b++)
	{
		uint8_t *bucket = bits + (size_t) b * filter->stride;
		uint32_t crc = checksum(filter, bucket, b);

		for (int k = 0; k < CHECKSUM; k++)
			bucket[filter->stride - CHECKSUM + (uint32_t) k] = (uint8_t) (crc >> (8 * k));
	}
}

/* ---- looking up ---- */

bool
ls_day_filter_read(ls_str head, ls_day_filter *filter)
{
	ls_reader r = ls_reader_make(head.data, head.len);
	uint32_t version = ls_read_u8(&r);

	filter->n = ls_read_u32(&r);
	filter->buckets = ls_read_u32(&r);
	if (r.failed || version != VERSION || filter->n == 0 || filter->n > LS_DAY_FILTER_PARTS ||
		filter->buckets == 0 || filter->buckets > LS_DAY_FILTER_MAX_BUCKETS)
		return false;
	for (uint32_t i = 0; i < filter->n; i++)
		filter->parts[i] = (int64_t) ls_read_u64(&r);
	if (r.failed || (size_t) (r.end - r.pos) != CHECKSUM ||
		ls_crc32c(0, head.data, head.len - CHECKSUM) != ls_read_u32(&r))
		return false;
	ls_day_filter_begin(filter);
	return true;
}

bool
ls_day_filter_check(const ls_day_filter *filter, ls_part_fetch fetch, void *context,
					uint8_t *bucket, uint32_t number)
{
	ls_reader r;

	if (!fetch(context, (uint64_t) number * filter->stride, filter->stride, bucket))
		return false;
	r = ls_reader_make((char *) bucket + filter->stride - CHECKSUM, CHECKSUM);
	return checksum(filter, bucket, number) == ls_read_u32(&r);
}

static bool
is_empty(const ls_day_parts *parts)
{
	uint64_t any = 0;

	for (uint32_t w = 0; w < LS_DAY_FILTER_PARTS / 64; w++)
		any |= parts->bits[w];
	return any == 0;
}

bool
ls_day_filter_look_up(const ls_day_filter *filter, ls_part_fetch fetch, void *context,
					  uint8_t *bucket, const ls_day_condition *condition, ls_day_parts *parts)
{
	ls_day_parts any = {{0}};
	uint32_t width = row_bytes(filter);
	uint64_t rows;

	switch (condition->op)
	{
		case LS_FILTER_AND:
			for (uint32_t i = 0; i < condition->n_children && !is_empty(parts); i++)
			{
				if (!ls_day_filter_look_up(filter, fetch, context, bucket, condition->children[i],
										   parts))
					return false;
			}
			return true;
		case LS_FILTER_OR:
			for (uint32_t i = 0; i < condition->n_children; i++)
			{
				ls_day_parts some = *parts;

				if (!ls_day_filter_look_up(filter, fetch, context, bucket, condition->children[i],
										   &some))
					return false;
				for (uint32_t w = 0; w < LS_DAY_FILTER_PARTS / 64; w++)
					any.bits[w] |= some.bits[w];
			}
			*parts = any;
			return true;
		default:
			break;
	}
	if (!ls_day_filter_check(filter, fetch, context, bucket, bucket_of(filter, condition->token)))
		return false;
	rows = rows_of(condition->token);
	for (uint32_t at = 0; at < LS_DAY_FILTER_PARTS / 8; at++)
	{
		uint8_t byte = at < width ? 0xFF : 0;

		for (int i = 0; i < HASHES && at < width; i++)
			byte &= bucket[row_of(rows, i) * width + at];
		parts->bits[at / 8] &= ~((uint64_t) (uint8_t) ~byte << (at % 8 * 8));
	}
	return true;
}
