/*-------------------------------------------------------------------------
 *
 * part_ints.c
 *	  Vectors of integers: seven forms, the smallest wins (pure).
 *
 * Timestamps, ids, shape numbers, lengths of texts, and integer attributes all
 * use these forms.  Few passes over the values are enough to choose a form, because
 * the choice depends only on minima, maxima and sums.  Differences are taken
 * modulo 2^64, so every int64 survives.
 *
 * Gaps between events that come at random are mostly short and sometimes long.  Bytes
 * and fixed widths waste bits on them, and so do compressors, which see bytes of which most
 * are random.  Rice codes take what such numbers need: the upper bits as a count of zeros, the
 * lower ones as they are; each 64 numbers have a number of lower bits that suits them.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

typedef enum int_form
{
	INTS_CONSTANT,    /* value */
	INTS_OFFSET,      /* base, width, (value - base) in bits */
	INTS_STEP,        /* first, base, width, (difference - base) in bits */
	INTS_VARINT,      /* base, varints of value - base */
	INTS_STEP_VARINT, /* first, zigzag varints of differences */
	INTS_RICE,        /* base, codes of value - base */
	INTS_STEP_RICE    /* first, codes of differences */
} int_form;

#define RICE_RUN 64   /* numbers with the same lower bits */
#define RICE_ZEROS 16 /* so many say that a number follows as it is */
#define RICE_MOST_LOW 40
#define RICE_MOST_BYTES 11 /* of a number as it is */
#define MOST_VARINT 10

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
	uint64_t rice; /* bytes of all as Rice codes, and of all steps; UINT32_MAX: not wanted */
	uint64_t step_rice;
	int64_t rice_base;
} int_range;

/* ---- Rice codes ---- */

/* Values that are meant to be small: if they are not, they are negative, or far out. */
static inline uint64_t
rice_value(const uint64_t *values, uint32_t i, bool steps, uint64_t base)
{
	return steps ? values[i + 1] - values[i] : values[i] - base;
}

static inline unsigned
rice_long_bits(uint64_t v)
{
	return 64 - (unsigned) __builtin_clzll(zigzag((int64_t) v) | 1);
}

/* Bits of n numbers with `low` lower bits each. */
static uint64_t
rice_bits(const uint64_t *v, uint32_t n, unsigned low)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n; i++)
		bits += v[i] >> low < RICE_ZEROS ? (v[i] >> low) + 1 + low
										 : RICE_ZEROS + 6 + rice_long_bits(v[i]);
	return bits;
}

/* The best number of lower bits, and the bits of all. */
static unsigned
rice_low(const uint64_t *v, uint32_t n, uint64_t *bits)
{
	uint64_t sum = 0;
	uint32_t counted = 1;
	unsigned low;
	uint64_t fewer;

	for (uint32_t i = 0; i < n; i++)
	{
		bool small = v[i] >> RICE_MOST_LOW == 0;

		sum += small ? v[i] : 0;
		counted += small;
	}
	low = 63 - (unsigned) __builtin_clzll(sum / counted | 1);
	*bits = rice_bits(v, n, low);
	while (low > 0 && (fewer = rice_bits(v, n, low - 1)) <= *bits)
	{
		*bits = fewer;
		low--;
	}
	return low;
}

/* About how many bytes n codes take: many are not all looked at. */
static uint64_t
rice_size(const uint64_t *values, uint32_t n, bool steps, uint64_t base)
{
	uint32_t every = n > 16 * RICE_RUN ? 4 : 1;
	uint64_t v[RICE_RUN];
	uint64_t all = 0;
	uint64_t counted = 1;
	uint64_t bits;

	for (uint32_t at = 0; at < n; at += RICE_RUN * every)
	{
		uint32_t run = n - at < RICE_RUN ? n - at : RICE_RUN;

		for (uint32_t i = 0; i < run; i++)
			v[i] = rice_value(values, at + i, steps, base);
		rice_low(v, run, &bits);
		all += 6 + bits;
		counted += run;
	}
	return all * n / counted / 8 + 3;
}

typedef struct bit_writer
{
	uint8_t *to;
	uint64_t bits;
	unsigned have; /* fewer than 8, between two numbers */
} bit_writer;

/* At most 56 bits. */
static inline void
put_bits(bit_writer *w, uint64_t v, unsigned width)
{
	w->bits |= v << w->have;
	w->have += width;
	for (; w->have >= 8; w->have -= 8, w->bits >>= 8)
		*w->to++ = (uint8_t) w->bits;
}

static inline void
put_rice(bit_writer *w, uint64_t v, unsigned low)
{
	unsigned length;

	if (v >> low < RICE_ZEROS)
	{
		put_bits(w, UINT64_C(1) << (v >> low), (unsigned) (v >> low) + 1);
		put_bits(w, v & ((UINT64_C(1) << low) - 1), low);
		return;
	}
	length = rice_long_bits(v);
	v = zigzag((int64_t) v);
	put_bits(w, (uint64_t) (length - 1) << RICE_ZEROS, RICE_ZEROS + 6);
	put_bits(w, v & UINT32_MAX, length < 32 ? length : 32);
	if (length > 32)
		put_bits(w, v >> 32, length - 32);
}

/* Appends the length of n codes, and the codes. */
static void
write_rice(ls_buf *out, const uint64_t *values, uint32_t n, bool steps, uint64_t base)
{
	uint64_t v[RICE_RUN];
	uint64_t bits;
	bit_writer w = {0};
	uint8_t *begin;
	size_t length;

	/* They are written behind the room for a length. */
	if (!ls_buf_reserve(out, MOST_VARINT + (size_t) n * RICE_MOST_BYTES + n / RICE_RUN + 2))
		return;
	begin = w.to = (uint8_t *) out->data + out->len + MOST_VARINT;
	for (uint32_t at = 0; at < n; at += RICE_RUN)
	{
		uint32_t run = n - at < RICE_RUN ? n - at : RICE_RUN;
		unsigned low;

		for (uint32_t i = 0; i < run; i++)
			v[i] = rice_value(values, at + i, steps, base);
		low = rice_low(v, run, &bits);
		put_bits(&w, low, 6);
		for (uint32_t i = 0; i < run; i++)
			put_rice(&w, v[i], low);
	}
	if (w.have > 0)
		*w.to++ = (uint8_t) w.bits;
	length = (size_t) (w.to - begin);
	ls_buf_varint(out, length);
	memmove(out->data + out->len, begin, length);
	out->len += length;
}

/* 57 bits or more, from a bit on; those behind the end are zero. */
static inline uint64_t
bits_at(ls_str s, size_t bit)
{
	const uint8_t *from = (const uint8_t *) s.data;
	uint64_t v = 0;

	if (bit / 8 + 8 <= s.len)
		return ls_load64(from + bit / 8) >> (bit % 8);
	for (size_t k = bit / 8, shift = 0; k < s.len && shift < 64; k++, shift += 8)
		v |= (uint64_t) from[k] << shift;
	return v >> (bit % 8);
}

/* A number behind RICE_ZEROS zeros, of which `bit` is the first one. */
static uint64_t
read_long(ls_str s, size_t *bit)
{
	unsigned length = (unsigned) (bits_at(s, *bit + RICE_ZEROS) & 63) + 1;
	unsigned first = length < 32 ? length : 32;
	uint64_t v;

	*bit += RICE_ZEROS + 6;
	v = bits_at(s, *bit) & ((UINT64_C(1) << first) - 1);
	if (length > 32)
		v |= (bits_at(s, *bit + 32) & ((UINT64_C(1) << (length - 32)) - 1)) << 32;
	*bit += length;
	return v >> 1 ^ (~(v & 1) + 1);
}

/* The first `wanted` of n numbers. */
static bool
read_rice(ls_reader *r, uint32_t n, uint32_t wanted, uint64_t *values)
{
	ls_str s = ls_read_lstr(r);
	size_t bit = 0;

	/* A number takes a bit at least. */
	if (r->failed || s.len < n / 8)
		return false;
	for (uint32_t at = 0; at < wanted; at += RICE_RUN)
	{
		uint32_t end = wanted - at < RICE_RUN ? wanted : at + RICE_RUN;
		unsigned low = (unsigned) (bits_at(s, bit) & 63);
		uint64_t mask = (UINT64_C(1) << (low & 63)) - 1;

		bit += 6;
		if (low > RICE_MOST_LOW || bit > s.len * 8)
			return false;
		for (uint32_t i = at; i < end; i++)
		{
			uint64_t next = bits_at(s, bit);
			unsigned zeros;

			if ((next & ((1u << RICE_ZEROS) - 1)) == 0)
			{
				values[i] = read_long(s, &bit);
				if (bit > s.len * 8)
					return false;
				continue;
			}
			zeros = (unsigned) __builtin_ctzll(next);
			values[i] = (uint64_t) zeros << low | (next >> (zeros + 1) & mask);
			bit += zeros + 1 + low;
		}
	}
	return wanted < n || (bit + 7) / 8 == s.len;
}

/* ---- choosing ---- */

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
	r->rice = r->step_rice = UINT32_MAX;
	/* A few negative numbers among small ones are far out, like the last ones of a long tail. */
	r->rice_base = r->min < 0 && r->max > 0 ? 0 : r->min;
	if (!packed || n < RICE_RUN)
		return;
	r->rice = rice_size(values, n, false, (uint64_t) r->rice_base);
	r->step_rice = rice_size(values, n - 1, true, 0);
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
	if (r->rice < *best)
	{
		form = INTS_RICE;
		*best = r->rice;
	}
	if (r->step_rice < *best)
	{
		form = INTS_STEP_RICE;
		*best = r->step_rice;
	}
	return form;
}

/* Reads the values into `scratch`, without what all of them can be divided by, and chooses. */
static int_form
plan(const int64_t *values, uint32_t n, bool packed, uint64_t *scratch, int_range *r,
	 unsigned *scale, uint64_t *size)
{
	*r = (int_range){.min = values[0], .max = values[0]};
	*scale = 0;
	*size = 0;
	for (uint32_t i = 1; i < n; i++)
	{
		r->min = values[i] < r->min ? values[i] : r->min;
		r->max = values[i] > r->max ? values[i] : r->max;
	}
	if (r->min == r->max)
		return INTS_CONSTANT;
	*scale = common_scale(values, n);
	for (uint32_t i = 0; i < n; i++)
		scratch[i] = (uint64_t) (*scale == 0 ? values[i] : values[i] / scales[*scale]);
	r->min /= scales[*scale];
	r->max /= scales[*scale];
	find_range(scratch, n, packed, r);
	return choose_form(r, n, size);
}

uint64_t
ls_part_ints_size(const int64_t *values, uint32_t n, bool packed, uint64_t *scratch)
{
	int_range r;
	unsigned scale;
	uint64_t size;

	plan(values, n, packed, scratch, &r, &scale, &size);
	return size;
}

void
ls_part_ints_encode(ls_buf *out, const int64_t *values, uint32_t n, bool packed, uint64_t *scratch)
{
	int_range r;
	unsigned scale;
	uint64_t size;
	int_form form = plan(values, n, packed, scratch, &r, &scale, &size);
	uint8_t *to;

	ls_buf_char(out, (char) (form | scale << 4));
	switch (form)
	{
		case INTS_CONSTANT:
			ls_buf_zigzag(out, r.min);
			break;
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
		case INTS_RICE:
			ls_buf_zigzag(out, r.rice_base);
			write_rice(out, scratch, n, false, (uint64_t) r.rice_base);
			break;
		case INTS_STEP_RICE:
			ls_buf_zigzag(out, (int64_t) scratch[0]);
			write_rice(out, scratch, n - 1, true, 0);
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
ls_part_ints_first(ls_reader *r, uint32_t n, uint32_t wanted, int64_t *values)
{
	uint8_t tag = ls_read_u8(r);
	unsigned scale = tag >> 4;
	uint64_t *out = (uint64_t *) values;
	uint64_t base;
	uint64_t step;
	unsigned width;

	if (scale > 2 || wanted == 0 || wanted > n)
		return false;
	switch (tag & 0x0F)
	{
		case INTS_CONSTANT:
			base = (uint64_t) ls_read_zigzag(r);
			for (uint32_t i = 0; i < wanted; i++)
				out[i] = base;
			break;
		case INTS_OFFSET:
			base = (uint64_t) ls_read_zigzag(r);
			width = ls_read_u8(r);
			if (!ls_part_bits_unpack(r, wanted, width, out))
				return false;
			for (uint32_t i = 0; i < wanted; i++)
				out[i] += base;
			break;
		case INTS_STEP:
			base = (uint64_t) ls_read_zigzag(r);
			step = (uint64_t) ls_read_zigzag(r);
			width = ls_read_u8(r);
			if (!ls_part_bits_unpack(r, wanted - 1, width, out + 1))
				return false;
			out[0] = base;
			for (uint32_t i = 1; i < wanted; i++)
				out[i] += out[i - 1] + step;
			break;
		case INTS_VARINT:
			base = (uint64_t) ls_read_zigzag(r);
			for (uint32_t i = 0; i < wanted; i++)
				out[i] = base + get_varint(r);
			break;
		case INTS_STEP_VARINT:
			base = (uint64_t) ls_read_zigzag(r);
			out[0] = base;
			for (uint32_t i = 1; i < wanted; i++)
			{
				step = get_varint(r);
				out[i] = out[i - 1] + (step >> 1 ^ (~(step & 1) + 1));
			}
			break;
		case INTS_RICE:
			base = (uint64_t) ls_read_zigzag(r);
			if (!read_rice(r, n, wanted, out))
				return false;
			for (uint32_t i = 0; i < wanted; i++)
				out[i] += base;
			break;
		case INTS_STEP_RICE:
			base = (uint64_t) ls_read_zigzag(r);
			if (!read_rice(r, n - 1, wanted - 1, out + 1))
				return false;
			out[0] = base;
			for (uint32_t i = 1; i < wanted; i++)
				out[i] += out[i - 1];
			break;
		default:
			return false;
	}
	if (scale != 0)
	{
		for (uint32_t i = 0; i < wanted; i++)
			out[i] *= (uint64_t) scales[scale];
	}
	return !r->failed;
}

bool
ls_part_ints_decode(ls_reader *r, uint32_t n, int64_t *values)
{
	return ls_part_ints_first(r, n, n, values);
}

bool
ls_part_ints_skip(ls_reader *r, uint32_t n)
{
	uint8_t tag = ls_read_u8(r);
	uint32_t left = n;
	unsigned width;

	ls_read_zigzag(r);
	switch (tag & 0x0F)
	{
		case INTS_CONSTANT:
			break;
		case INTS_STEP:
			ls_read_zigzag(r);
			left--;
			/* fall through */
		case INTS_OFFSET:
			width = ls_read_u8(r);
			if (width > 64)
				return false;
			ls_read_bytes(r, ((size_t) left * width + 7) / 8);
			break;
		case INTS_STEP_VARINT:
			left--;
			/* fall through */
		case INTS_VARINT:
			for (; left > 8 && r->end - r->pos >= 8; r->pos += 8)
				left -= (uint32_t) __builtin_popcountll(~ls_load64(r->pos) &
														UINT64_C(0x8080808080808080));
			for (; left > 0 && r->pos < r->end; r->pos++)
				left -= *r->pos < 0x80;
			if (left > 0)
				return false;
			break;
		case INTS_STEP_RICE:
		case INTS_RICE:
			ls_read_lstr(r);
			break;
		default:
			return false;
	}
	return n > 0 && !r->failed;
}
