/*-------------------------------------------------------------------------
 *
 * part_ints.c
 *	  Vectors of integers: five forms, the smallest wins (pure).
 *
 * Timestamps, ids, shape numbers, lengths of texts, and integer attributes all
 * use these forms.  One pass over the values is enough to choose a form, because
 * the choice depends only on minima, maxima and sums.  Differences are taken
 * modulo 2^64, so every int64 survives.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

typedef enum int_form
{
	INTS_CONSTANT,   /* value */
	INTS_OFFSET,     /* base, width, (value - base) in bits */
	INTS_STEP,       /* first, base, width, (difference - base) in bits */
	INTS_VARINT,     /* base, varints of value - base */
	INTS_STEP_VARINT /* first, zigzag varints of differences */
} int_form;

static const int64_t scales[] = {1, 1000, 1000000};

unsigned
ls_part_bits_width(uint64_t max, bool packed)
{
	unsigned width = max == 0 ? 0 : 64 - (unsigned) __builtin_clzll(max);

	if (width > 56)
		return 64;
	if (!packed)
		width = (width + 7) & ~7u;
	return width;
}

void
ls_part_bits_pack(ls_buf *out, const uint64_t *values, uint32_t n, unsigned width)
{
	size_t size = ((size_t) n * width + 7) / 8;
	uint8_t *to;
	uint64_t bits = 0;
	unsigned have = 0;

	if (size == 0 || !ls_buf_reserve(out, size))
		return;
	to = (uint8_t *) out->data + out->len;
	out->len += size;

	if (width % 8 == 0)
	{
		unsigned bytes = width / 8;

		for (uint32_t i = 0; i < n; i++)
		{
			uint64_t v = values[i];

			for (unsigned k = 0; k < bytes; k++, v >>= 8)
				*to++ = (uint8_t) v;
		}
		return;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		bits |= values[i] << have;
		have += width;
		while (have >= 8)
		{
			*to++ = (uint8_t) bits;
			bits >>= 8;
			have -= 8;
		}
	}
	if (have > 0)
		*to = (uint8_t) bits;
}

bool
ls_part_bits_unpack(ls_reader *r, uint32_t n, unsigned width, uint64_t *values)
{
	ls_str s;
	const uint8_t *from;
	uint64_t mask;
	size_t bit = 0;
	uint32_t i = 0;

	if (width > 56 && width != 64)
		return false;
	s = ls_read_bytes(r, ((size_t) n * width + 7) / 8);
	if (r->failed)
		return false;
	from = (const uint8_t *) s.data;
	if (width == 64)
	{
		for (i = 0; i < n; i++)
			values[i] = ls_load64(from + (size_t) i * 8);
		return true;
	}
	if (width == 8)
	{
		for (i = 0; i < n; i++)
			values[i] = from[i];
		return true;
	}
	mask = (UINT64_C(1) << width) - 1;
	for (; i < n && bit / 8 + 8 <= s.len; i++, bit += width)
		values[i] = ls_load64(from + bit / 8) >> (bit % 8) & mask;
	for (; i < n; i++, bit += width)
	{
		uint64_t v = 0;

		for (size_t k = bit / 8, shift = 0; k < s.len && shift < 64; k++, shift += 8)
			v |= (uint64_t) from[k] << shift;
		values[i] = v >> (bit % 8) & mask;
	}
	return true;
}

static inline unsigned
varint_size(uint64_t v)
{
	return (70 - (unsigned) __builtin_clzll(v | 1)) / 7;
}

static inline uint64_t
zigzag(int64_t v)
{
	return (uint64_t) v << 1 ^ (uint64_t) (v >> 63);
}

static uint8_t *
put_varint(uint8_t *to, uint64_t v)
{
	while (v >= 0x80)
	{
		*to++ = (uint8_t) (v | 0x80);
		v >>= 7;
	}
	*to++ = (uint8_t) v;
	return to;
}

/* The largest scale that divides every value. */
static unsigned
common_scale(const int64_t *values, uint32_t n)
{
	unsigned scale = 2;

	for (uint32_t i = 0; i < n && scale > 0; i++)
	{
		while (scale > 0 && values[i] % scales[scale] != 0)
			scale--;
	}
	return scale;
}

/* The data for choosing a form, with the least and the greatest step between two values. */
typedef struct int_range
{
	int64_t min;
	int64_t max;
	int64_t step_min;
	int64_t step_max;
	uint64_t varints; /* bytes of all as varints, and of all steps */
	uint64_t step_varints;
	unsigned width; /* bits of each, and of each step */
	unsigned step_width;
} int_range;

/* Of n integers, whose least and greatest are known. */
static void
find_range(const uint64_t *values, uint32_t n, bool packed, int_range *r)
{
	uint64_t varints = 0;
	uint64_t step_varints = 0;
	int64_t step_min = INT64_MAX;
	int64_t step_max = INT64_MIN;

	for (uint32_t i = 0; i < n; i++)
		varints += varint_size(values[i] - (uint64_t) r->min);
	for (uint32_t i = 1; i < n; i++)
	{
		int64_t step = (int64_t) (values[i] - values[i - 1]);

		step_min = step < step_min ? step : step_min;
		step_max = step > step_max ? step : step_max;
		step_varints += varint_size(zigzag(step));
	}
	r->step_min = step_min;
	r->step_max = step_max;
	r->varints = varints;
	r->step_varints = step_varints;
	r->width = ls_part_bits_width((uint64_t) r->max - (uint64_t) r->min, packed);
	r->step_width = ls_part_bits_width((uint64_t) r->step_max - (uint64_t) r->step_min, packed);
}

/* The smallest form, and its size without the bytes that all forms have. */
static int_form
choose_form(const int_range *r, uint32_t n, uint64_t *best)
{
	int_form form = INTS_OFFSET;
	uint64_t size = ((uint64_t) (n - 1) * r->step_width + 7) / 8;

	*best = ((uint64_t) n * r->width + 7) / 8;
	if (size < *best)
	{
		form = INTS_STEP;
		*best = size;
	}
	if (r->varints < *best)
	{
		form = INTS_VARINT;
		*best = r->varints;
	}
	if (r->step_varints < *best)
	{
		form = INTS_STEP_VARINT;
		*best = r->step_varints;
	}
	return form;
}

void
ls_part_ints_encode(ls_buf *out, const int64_t *values, uint32_t n, bool packed, uint64_t *scratch)
{
	int_range r = {.min = values[0], .max = values[0]};
	unsigned scale;
	uint64_t size;
	int_form form;
	uint8_t *to;

	for (uint32_t i = 1; i < n; i++)
	{
		r.min = values[i] < r.min ? values[i] : r.min;
		r.max = values[i] > r.max ? values[i] : r.max;
	}
	if (r.min == r.max)
	{
		ls_buf_char(out, INTS_CONSTANT);
		ls_buf_zigzag(out, r.min);
		return;
	}

	scale = common_scale(values, n);
	for (uint32_t i = 0; i < n; i++)
		scratch[i] = (uint64_t) (scale == 0 ? values[i] : values[i] / scales[scale]);
	r.min /= scales[scale];
	r.max /= scales[scale];
	find_range(scratch, n, packed, &r);
	form = choose_form(&r, n, &size);

	ls_buf_char(out, (char) (form | scale << 4));
	switch (form)
	{
		case INTS_OFFSET:
			ls_buf_zigzag(out, r.min);
			ls_buf_char(out, (char) r.width);
			for (uint32_t i = 0; i < n; i++)
				scratch[i] -= (uint64_t) r.min;
			ls_part_bits_pack(out, scratch, n, r.width);
			break;
		case INTS_STEP:
			ls_buf_zigzag(out, (int64_t) scratch[0]);
			ls_buf_zigzag(out, r.step_min);
			ls_buf_char(out, (char) r.step_width);
			for (uint32_t i = 0; i + 1 < n; i++)
				scratch[i] = scratch[i + 1] - scratch[i] - (uint64_t) r.step_min;
			ls_part_bits_pack(out, scratch, n - 1, r.step_width);
			break;
		case INTS_VARINT:
			ls_buf_zigzag(out, r.min);
			if (!ls_buf_reserve(out, size))
				return;
			to = (uint8_t *) out->data + out->len;
			for (uint32_t i = 0; i < n; i++)
				to = put_varint(to, scratch[i] - (uint64_t) r.min);
			out->len += size;
			break;
		default:
			ls_buf_zigzag(out, (int64_t) scratch[0]);
			if (!ls_buf_reserve(out, size))
				return;
			to = (uint8_t *) out->data + out->len;
			for (uint32_t i = 1; i < n; i++)
				to = put_varint(to, zigzag((int64_t) (scratch[i] - scratch[i - 1])));
			out->len += size;
			break;
	}
}

/* ls_read_varint, inlined for the loops below: up to 8 bytes at once. */
static inline uint64_t
get_varint(ls_reader *r)
{
	uint64_t v;
	uint64_t ends;

	if (r->end - r->pos >= 8)
	{
		v = ls_load64(r->pos);
		ends = ~v & UINT64_C(0x8080808080808080);
		if (ends != 0)
		{
			unsigned bits = (unsigned) __builtin_ctzll(ends) + 1;

			r->pos += bits / 8;
			v &= UINT64_C(0x7f7f7f7f7f7f7f7f) >> (64 - bits);
			v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
			v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
			return (v & UINT64_C(0x0fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
		}
	}
	return ls_read_varint(r);
}

bool
ls_part_ints_decode(ls_reader *r, uint32_t n, int64_t *values)
{
	uint8_t tag = ls_read_u8(r);
	unsigned scale = tag >> 4;
	uint64_t *out = (uint64_t *) values;
	uint64_t base;
	uint64_t step;
	unsigned width;

	if (scale > 2 || n == 0)
		return false;
	switch (tag & 0x0F)
	{
		case INTS_CONSTANT:
			base = (uint64_t) ls_read_zigzag(r);
			for (uint32_t i = 0; i < n; i++)
				out[i] = base;
			break;
		case INTS_OFFSET:
			base = (uint64_t) ls_read_zigzag(r);
			width = ls_read_u8(r);
			if (!ls_part_bits_unpack(r, n, width, out))
				return false;
			for (uint32_t i = 0; i < n; i++)
				out[i] += base;
			break;
		case INTS_STEP:
			base = (uint64_t) ls_read_zigzag(r);
			step = (uint64_t) ls_read_zigzag(r);
			width = ls_read_u8(r);
			if (!ls_part_bits_unpack(r, n - 1, width, out + 1))
				return false;
			out[0] = base;
			for (uint32_t i = 1; i < n; i++)
				out[i] += out[i - 1] + step;
			break;
		case INTS_VARINT:
			base = (uint64_t) ls_read_zigzag(r);
			for (uint32_t i = 0; i < n; i++)
				out[i] = base + get_varint(r);
			break;
		case INTS_STEP_VARINT:
			base = (uint64_t) ls_read_zigzag(r);
			out[0] = base;
			for (uint32_t i = 1; i < n; i++)
			{
				step = get_varint(r);
				out[i] = out[i - 1] + (step >> 1 ^ (~(step & 1) + 1));
			}
			break;
		default:
			return false;
	}
	if (scale != 0)
	{
		for (uint32_t i = 0; i < n; i++)
			out[i] *= (uint64_t) scales[scale];
	}
	return !r->failed;
}
