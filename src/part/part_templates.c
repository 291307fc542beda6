/*-------------------------------------------------------------------------
 *
 * part_templates.c
 *	  Texts as templates, and the values that differ between their rows (pure).
 *
 * Most lines of a log come from a few statements of a program and differ only in
 * numbers and ids.  For a general compressor, each match between two numbers costs
 * something, and a digit costs as much as a letter.  So it needs 16 bytes for a
 * line of 80 bytes with 19 random digits, which contain 8 bytes of information.
 * Here, rows of a block that are equal except for their numbers share a template.
 * The values that differ are stored by position in the template: as bits if they
 * look random, otherwise as small numbers or codes for the compressor.
 *
 * For correctness it does not matter what is treated as a number, only that the
 * same text comes back.  Texts that resemble no others are kept whole, and the
 * caller keeps the plain form if it is shorter.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

#include <math.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define MARK '\x01'     /* stands for a variable in a skeleton */
#define HEX_LENGTH 8    /* hexadecimal digits of so many are one variable */
#define MAX_SLOTS 40    /* variables of a text; one with more is kept whole */
#define MAX_FIXED 64    /* length of a variable that is stored as digits */
#define LEAST_ROWS 4    /* of a template */
#define MAX_ENTRIES 255 /* different values that become codes */

/*
 * The compressor has one table of frequencies for all columns of a block.  So a column takes more
 * than its own frequencies say: on event_source and on real logs estimates are best with this factor.
 */
#define SHARED_TABLE 2

/* A variable of a text. */
typedef struct slot
{
	uint32_t at;
	uint32_t len;
} slot;

/* Texts that are equal except for their variables. */
typedef struct skeleton
{
	uint64_t hash;
	size_t at; /* of its text in `texts` */
	size_t len;
	uint32_t n_slots;
	uint32_t rows;
	uint32_t first;  /* in `order` */
	uint32_t number; /* in the payload; 0: its rows are kept whole */
} skeleton;

/* A character of a fixed variable that differs between rows. */
typedef struct place
{
	uint16_t slot;
	uint16_t at;
} place;

#define LS_TABLE_NAME skeleton_number
#define LS_TABLE_SLOT uint16_t /* 1 + skeleton */
#define LS_TABLE_FIXED (2 * LS_PART_BLOCK_ROWS)
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

#define LS_TABLE_NAME entry_number
#define LS_TABLE_SLOT uint16_t /* 1 + entry */
#define LS_TABLE_FIXED 1024
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

struct ls_part_templater
{
	ls_arena *arena; /* for the buffers */
	const ls_str *values;
	uint32_t n;

	skeleton skeletons[LS_PART_BLOCK_ROWS];
	uint32_t n_skeletons;
	skeleton_number_table skeleton_numbers;
	uint16_t row_skeleton[LS_PART_BLOCK_ROWS]; /* 1 + skeleton; 0: none */
	uint32_t row_slots[LS_PART_BLOCK_ROWS];    /* where those of the row begin */
	uint16_t order[LS_PART_BLOCK_ROWS];        /* rows by template */
	slot *slots;
	ls_buf texts; /* of skeletons */

	/* Of the template that is being written. */
	const uint16_t *rows;
	uint32_t n_rows;
	ls_buf ops;
	uint32_t n_ops;
	ls_buf literal; /* that no op has been written for yet */
	uint32_t n_columns;
	place digits[LS_TEMPLATE_MAX_STREAM];
	place nibbles[LS_TEMPLATE_MAX_STREAM];
	uint32_t n_digits;
	uint32_t n_nibbles;
	uint32_t run_digits; /* of which no op has been written yet */
	uint32_t run_nibbles;

	ls_buf columns; /* after the templates: for the compressor */
	ls_buf packed;  /* after those: bits */

	int64_t integers[LS_PART_BLOCK_ROWS];
	uint64_t scratch[LS_PART_BLOCK_ROWS];
	uint8_t codes[LS_PART_BLOCK_ROWS];
	entry_number_table entry_numbers;
	ls_str entries[MAX_ENTRIES];
	uint32_t entry_rows[MAX_ENTRIES];
	uint32_t n_entries;
	double n_log_n[LS_PART_BLOCK_ROWS + 1];
};

ls_part_templater *
ls_part_templater_create(ls_arena *arena)
{
	ls_part_templater *t = ls_new(arena, ls_part_templater);

	if (t == NULL)
		return NULL;
	t->arena = arena;
	t->slots = ls_new_array(arena, slot, LS_PART_BLOCK_ROWS * MAX_SLOTS);
	for (int n = 1; n <= LS_PART_BLOCK_ROWS; n++)
		t->n_log_n[n] = n * log2(n);
	ls_buf_init(&t->texts, arena);
	ls_buf_init(&t->ops, arena);
	ls_buf_init(&t->literal, arena);
	ls_buf_init(&t->columns, arena);
	ls_buf_init(&t->packed, arena);
	return t->slots == NULL ? NULL : t;
}

/* ---- cutting texts ---- */

enum
{
	CLASS_OTHER,
	CLASS_LETTER, /* a to f */
	CLASS_DIGIT,
	CLASS_MARK
};

static inline int
class_of(char c)
{
	static const uint8_t classes[256] = {
		['0'] = CLASS_DIGIT,  ['1'] = CLASS_DIGIT,           ['2'] = CLASS_DIGIT,
		['3'] = CLASS_DIGIT,  ['4'] = CLASS_DIGIT,           ['5'] = CLASS_DIGIT,
		['6'] = CLASS_DIGIT,  ['7'] = CLASS_DIGIT,           ['8'] = CLASS_DIGIT,
		['9'] = CLASS_DIGIT,  ['a'] = CLASS_LETTER,          ['b'] = CLASS_LETTER,
		['c'] = CLASS_LETTER, ['d'] = CLASS_LETTER,          ['e'] = CLASS_LETTER,
		['f'] = CLASS_LETTER, [(uint8_t) MARK] = CLASS_MARK,
	};

	return classes[(uint8_t) c];
}

#define STEP 16

/*
 * Copies what is in front of the next digit or mark, and moves to it.  `*to` has room for STEP bytes
 * more than the text.
 */
static inline size_t
copy_literal(ls_str s, size_t i, char **to)
{
#if defined(__SSE2__)
	for (; i + STEP <= s.len; i += STEP, *to += STEP)
	{
		__m128i c = _mm_loadu_si128((const __m128i *) (s.data + i));
		__m128i digit = _mm_cmplt_epi8(_mm_sub_epi8(c, _mm_set1_epi8((char) ('0' - INT8_MIN))),
									   _mm_set1_epi8(INT8_MIN + 10));
		int found = _mm_movemask_epi8(_mm_or_si128(digit, _mm_cmpeq_epi8(c, _mm_set1_epi8(MARK))));

		_mm_storeu_si128((__m128i *) *to, c);
		if (found == 0)
			continue;
		*to += __builtin_ctz((unsigned) found);
		return i + (size_t) __builtin_ctz((unsigned) found);
	}
#endif
	for (; i < s.len && class_of(s.data[i]) < CLASS_DIGIT; i++)
		*(*to)++ = s.data[i];
	return i;
}

/*
 * Variables are runs of decimal digits, and whole runs of hexadecimal ones that
 * are long or part of something like a UUID.  `to` has room for STEP bytes more than the text.
 * False when the text cannot be cut.
 */
static bool
cut(ls_str s, char *to, size_t *len, slot *slots, uint32_t *n_slots)
{
	const char *start = to;
	uint32_t n = 0;
	size_t i = 0;
	size_t id_end = SIZE_MAX; /* of the last hexadecimal variable, where a part of it may follow */

	while (i < s.len)
	{
		size_t begin = i;
		size_t digits = 0;
		bool follows = id_end == i && s.data[i] == '-';

		if (follows)
		{
			/* The next part may have letters only. */
			*to++ = '-';
			begin = ++i;
		}
		else
		{
			i = copy_literal(s, i, &to);
			if (i == s.len)
				break;
			if (class_of(s.data[i]) == CLASS_MARK)
				return false;
			for (; i > begin && class_of(s.data[i - 1]) == CLASS_LETTER; i--)
				to--;
			begin = i;
		}
		for (; i < s.len; i++)
		{
			int class = class_of(s.data[i]);

			if (class != CLASS_DIGIT && class != CLASS_LETTER)
				break;
			digits += class == CLASS_DIGIT;
		}
		if (i > begin && (digits == i - begin || (digits > 0 && i - begin >= HEX_LENGTH) ||
						  (i - begin >= 4 && follows)))
		{
			if (n == MAX_SLOTS)
				return false;
			slots[n++] = (slot){(uint32_t) begin, (uint32_t) (i - begin)};
			*to++ = MARK;
			if (i - begin == 4 || i - begin >= HEX_LENGTH)
				id_end = i;
			continue;
		}
		for (size_t k = begin; k < i;)
		{
			size_t from = k;

			while (k < i && class_of(s.data[k]) == CLASS_DIGIT)
				k++;
			if (k == from)
			{
				*to++ = s.data[k++];
				continue;
			}
			if (n == MAX_SLOTS)
				return false;
			slots[n++] = (slot){(uint32_t) from, (uint32_t) (k - from)};
			*to++ = MARK;
		}
	}
	*len = (size_t) (to - start);
	*n_slots = n;
	return true;
}

static inline bool
skeleton_is(const ls_part_templater *t, uint32_t number, ls_hashed_str key)
{
	const skeleton *s = &t->skeletons[number];

	return s->hash == key.hash && s->len == key.str.len &&
		   memcmp(t->texts.data + s->at, key.str.data, s->len) == 0;
}

#define LS_TABLE_NAME skeleton_number
#define LS_TABLE_SLOT uint16_t
#define LS_TABLE_KEY ls_hashed_str
#define LS_TABLE_HASH(t, key) (key).hash
#define LS_TABLE_EQUAL(t, slot, key) \
	skeleton_is(ls_container(const ls_part_templater, skeleton_numbers, t), *(slot) -1u, key)
#define LS_TABLE_IS_FREE(slot) (*(slot) == 0)
#define LS_TABLE_FIXED (2 * LS_PART_BLOCK_ROWS)
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

/* The skeleton of the text at the end of `texts`; 1 + its number. */
static uint16_t
find_skeleton(ls_part_templater *t, size_t len, uint32_t n_slots)
{
	ls_hashed_str key = ls_hash_str(ls_str_make(t->texts.data + t->texts.len, len));
	bool found;
	uint16_t *slot = skeleton_number_insert(&t->skeleton_numbers, key, &found);

	if (slot == NULL)
		return 0;
	if (found)
	{
		t->skeletons[*slot - 1].rows++;
		return *slot;
	}
	t->skeletons[t->n_skeletons++] =
		(skeleton){.hash = key.hash, .at = t->texts.len, .len = len, .n_slots = n_slots, .rows = 1};
	t->texts.len += len;
	*slot = (uint16_t) t->n_skeletons;
	return *slot;
}

/* Finds the templates and sorts rows by them; false when templates do not pay. */
static bool
find_templates(ls_part_templater *t, uint32_t *n_templates)
{
	uint32_t n_slots = 0;
	uint32_t whole = 0;
	uint32_t first = 0;

	skeleton_number_clear(&t->skeleton_numbers);
	t->n_skeletons = 0;
	t->texts.len = 0;
	for (uint32_t i = 0; i < t->n; i++)
	{
		size_t len;
		uint32_t n;

		t->row_slots[i] = n_slots;
		t->row_skeleton[i] = 0;
		if (!ls_buf_reserve(&t->texts, t->values[i].len + STEP))
			return false;
		if (!cut(t->values[i], t->texts.data + t->texts.len, &len, &t->slots[n_slots], &n))
			continue;
		n_slots += n;
		t->row_skeleton[i] = find_skeleton(t, len, n);
	}
	*n_templates = 0;
	for (uint32_t i = 0; i < t->n_skeletons; i++)
	{
		skeleton *s = &t->skeletons[i];

		if (s->rows < LEAST_ROWS)
			continue;
		s->number = ++*n_templates;
		s->first = first;
		first += s->rows;
		s->rows = 0;
	}
	whole = t->n - first;
	if (*n_templates == 0 || whole > t->n / 2)
		return false;
	for (uint32_t i = 0; i < t->n; i++)
	{
		skeleton *s = t->row_skeleton[i] == 0 ? NULL : &t->skeletons[t->row_skeleton[i] - 1];

		if (s == NULL || s->number == 0)
		{
			t->row_skeleton[i] = 0;
			t->order[first++] = (uint16_t) i;
		}
		else
			t->order[s->first + s->rows++] = (uint16_t) i;
	}
	return true;
}

/* ---- ops ---- */

static void
put_op(ls_part_templater *t, ls_template_op op, uint64_t parameter)
{
	ls_buf_varint(&t->ops, parameter * LS_TEMPLATE_OPS + op);
	t->n_ops++;
}

static void
end_runs(ls_part_templater *t)
{
	if (t->run_digits > 0)
		put_op(t, LS_TEMPLATE_DIGITS, t->run_digits);
	if (t->run_nibbles > 0)
		put_op(t, LS_TEMPLATE_HEX, t->run_nibbles);
	t->run_digits = t->run_nibbles = 0;
}

static void
end_literal(ls_part_templater *t)
{
	if (t->literal.len > 0)
	{
		put_op(t, LS_TEMPLATE_LITERAL, t->literal.len);
		ls_buf_append(&t->ops, t->literal.data, t->literal.len);
	}
	t->literal.len = 0;
}

static void
add_literal(ls_part_templater *t, const char *text, size_t len)
{
	if (len > 0)
	{
		end_runs(t);
		ls_buf_append(&t->literal, text, len);
	}
}

static void
add_column(ls_part_templater *t, ls_template_op op, uint64_t parameter)
{
	end_runs(t);
	end_literal(t);
	put_op(t, op, parameter);
	t->n_columns++;
}

/* ---- one variable ---- */

/* The value of a variable in the i-th row of the template. */
static inline ls_str
value_of(const ls_part_templater *t, uint32_t i, uint32_t slot_number)
{
	uint32_t row = t->rows[i];
	const slot *s = &t->slots[t->row_slots[row] + slot_number];

	return ls_str_make(t->values[row].data + s->at, s->len);
}

#define LS_TABLE_NAME entry_number
#define LS_TABLE_SLOT uint16_t
#define LS_TABLE_KEY ls_str
#define LS_TABLE_HASH(t, key) ls_hash_keyed((key).data, (key).len, 0)
#define LS_TABLE_EQUAL(t, slot, key) \
	ls_str_eq(ls_container(const ls_part_templater, entry_numbers, t)->entries[*(slot) -1], key)
#define LS_TABLE_IS_FREE(slot) (*(slot) == 0)
#define LS_TABLE_FIXED 1024
#define LS_TABLE_DEFINE
#include "src/base/hash_table.h"

/* Numbers the distinct values; false when there are too many. */
static bool
find_codes(ls_part_templater *t, uint32_t slot_number)
{
	uint32_t most = t->n_rows / 2 < MAX_ENTRIES ? t->n_rows / 2 : MAX_ENTRIES;

	entry_number_clear(&t->entry_numbers);
	t->n_entries = 0;
	for (uint32_t i = 0; i < t->n_rows; i++)
	{
		ls_str value = value_of(t, i, slot_number);
		bool found;
		uint16_t *slot = entry_number_insert(&t->entry_numbers, value, &found);
		uint32_t entry;

		if (slot == NULL || (!found && t->n_entries == most))
			return false;
		if (!found)
		{
			t->entries[t->n_entries] = value;
			t->entry_rows[t->n_entries++] = 0;
			*slot = (uint16_t) t->n_entries;
		}
		entry = *slot - 1u;
		t->codes[i] = (uint8_t) entry;
		t->entry_rows[entry]++;
	}
	return true;
}

/*
 * Estimates, in bits for all rows, of the compressed size of small numbers, from the
 * frequency of each.
 */
static double
entropy(const ls_part_templater *t, const uint32_t *counts, uint32_t n_counts)
{
	double bits = t->n_log_n[t->n_rows];

	for (uint32_t i = 0; i < n_counts; i++)
	{
		if (counts[i] > 0)
			bits += 4 - t->n_log_n[counts[i]];
	}
	return SHARED_TABLE * bits;
}

/* Of the numbers in `scratch`, byte by byte. */
static double
bits_of_bytes(const ls_part_templater *t)
{
	uint32_t counts[256];
	uint64_t all = 0;
	double bits = 0;

	for (uint32_t i = 0; i < t->n_rows; i++)
		all |= t->scratch[i];
	for (unsigned shift = 0; shift < 64 && all >> shift != 0; shift += 8)
	{
		memset(counts, 0, sizeof(counts));
		for (uint32_t i = 0; i < t->n_rows; i++)
			counts[t->scratch[i] >> shift & 0xFF]++;
		bits += entropy(t, counts, 256);
	}
	return bits;
}

static double
bits_of_codes(const ls_part_templater *t)
{
	double bits = entropy(t, t->entry_rows, t->n_entries);

	for (uint32_t i = 0; i < t->n_entries; i++)
		bits += 8 + 4 * (double) t->entries[i].len;
	return bits;
}

/*
 * Reads the values as numbers, if each gives back the same text: all have one length, or
 * none has leading zeros.
 */
static bool
find_integers(ls_part_templater *t, uint32_t slot_number, bool fixed)
{
	for (uint32_t i = 0; i < t->n_rows; i++)
	{
		ls_str value = value_of(t, i, slot_number);
		int64_t v = 0;

		if (value.len > LS_TEMPLATE_MAX_DIGITS || (!fixed && value.len > 1 && value.data[0] == '0'))
			return false;
		for (size_t k = 0; k < value.len; k++)
		{
			if (class_of(value.data[k]) != CLASS_DIGIT)
				return false;
			v = v * 10 + (value.data[k] - '0');
		}
		t->integers[i] = v;
	}
	return true;
}

/* Chooses between bits, differences from the minimum, and differences from row to row. */
static double
bits_of_integers(ls_part_templater *t, bool *pack)
{
	int64_t min = t->integers[0];
	int64_t max = min;
	double packed;
	double bytes;
	double steps;

	for (uint32_t i = 1; i < t->n_rows; i++)
	{
		min = t->integers[i] < min ? t->integers[i] : min;
		max = t->integers[i] > max ? t->integers[i] : max;
	}
	packed = 32 + 8.0 * (double) ls_part_ints_size(t->integers, t->n_rows, true, t->scratch);
	for (uint32_t i = 0; i < t->n_rows; i++)
		t->scratch[i] = (uint64_t) (t->integers[i] - min);
	bytes = bits_of_bytes(t);
	for (uint32_t i = t->n_rows - 1; i > 0; i--)
	{
		int64_t step = (int64_t) (t->scratch[i] - t->scratch[i - 1]);

		t->scratch[i] = (uint64_t) step << 1 ^ (uint64_t) (step >> 63);
	}
	t->scratch[0] = 0;
	steps = bits_of_bytes(t);
	if (steps < bytes)
		bytes = steps;
	*pack = packed <= bytes;
	return *pack ? packed : bytes;
}

static void
write_codes(ls_part_templater *t)
{
	add_column(t, LS_TEMPLATE_CODES, 0);
	ls_buf_varint(&t->columns, t->n_entries);
	for (uint32_t i = 0; i < t->n_entries; i++)
		ls_buf_lstr(&t->columns, t->entries[i]);
	ls_buf_append(&t->columns, t->codes, t->n_rows);
}

static void
write_integers(ls_part_templater *t, uint32_t digits, bool pack)
{
	add_column(t, pack ? LS_TEMPLATE_PACKED : LS_TEMPLATE_INTEGERS, digits);
	ls_part_ints_encode(pack ? &t->packed : &t->columns, t->integers, t->n_rows, pack, t->scratch);
}

static void
write_texts(ls_part_templater *t, uint32_t slot_number)
{
	add_column(t, LS_TEMPLATE_TEXTS, 0);
	for (uint32_t i = 0; i < t->n_rows; i++)
		ls_buf_varint(&t->columns, value_of(t, i, slot_number).len);
	for (uint32_t i = 0; i < t->n_rows; i++)
		ls_buf_str(&t->columns, value_of(t, i, slot_number));
}

/* Finds the characters of a fixed-length variable that differ between rows. */
typedef struct shape
{
	bool differs[MAX_FIXED];
	bool letters[MAX_FIXED];
	uint32_t n_digits;
	uint32_t n_nibbles;
} shape;

static bool
find_shape(const ls_part_templater *t, uint32_t slot_number, shape *s)
{
	ls_str first = value_of(t, 0, slot_number);

	if (first.len > MAX_FIXED)
		return false;
	memset(s->differs, 0, first.len);
	memset(s->letters, 0, first.len);
	s->n_digits = s->n_nibbles = 0;
	for (uint32_t i = 0; i < t->n_rows; i++)
	{
		ls_str value = value_of(t, i, slot_number);

		if (value.len != first.len)
			return false;
		for (size_t k = 0; k < first.len; k++)
		{
			s->differs[k] |= value.data[k] != first.data[k];
			s->letters[k] |= value.data[k] > '9';
		}
	}
	for (size_t k = 0; k < first.len; k++)
	{
		s->n_digits += s->differs[k] && !s->letters[k];
		s->n_nibbles += s->differs[k] && s->letters[k];
	}
	return true;
}

static void
write_digits(ls_part_templater *t, uint32_t slot_number, const shape *s)
{
	ls_str first = value_of(t, 0, slot_number);

	for (size_t k = 0; k < first.len; k++)
	{
		place p = {(uint16_t) slot_number, (uint16_t) k};

		if (!s->differs[k])
		{
			add_literal(t, first.data + k, 1);
			continue;
		}
		end_literal(t);
		if (s->letters[k] ? t->run_digits > 0 : t->run_nibbles > 0)
			end_runs(t);
		if (s->letters[k])
		{
			t->nibbles[t->n_nibbles++] = p;
			t->run_nibbles++;
		}
		else
		{
			t->digits[t->n_digits++] = p;
			t->run_digits++;
		}
	}
}

/* Chooses how a variable is stored, and does it. */
static void
write_slot(ls_part_templater *t, uint32_t slot_number)
{
	shape s;
	bool fixed = find_shape(t, slot_number, &s);
	double best = INFINITY;
	bool pack = false;
	ls_template_op op = LS_TEMPLATE_TEXTS;
	double bits;

	if (fixed && t->n_digits + s.n_digits <= LS_TEMPLATE_MAX_STREAM &&
		t->n_nibbles + s.n_nibbles <= LS_TEMPLATE_MAX_STREAM)
	{
		best = t->n_rows * (s.n_digits * 10.0 / 3 + s.n_nibbles * 4.0);
		op = LS_TEMPLATE_DIGITS;
	}
	/* A character that is the same in all rows costs nothing as a literal. */
	if (best > 0 && find_codes(t, slot_number) && (bits = bits_of_codes(t)) < best)
	{
		best = bits;
		op = LS_TEMPLATE_CODES;
	}
	if (best > 0 && find_integers(t, slot_number, fixed))
	{
		bits = bits_of_integers(t, &pack);
		if (bits < best)
			op = LS_TEMPLATE_INTEGERS;
	}
	switch (op)
	{
		case LS_TEMPLATE_DIGITS:
			write_digits(t, slot_number, &s);
			break;
		case LS_TEMPLATE_CODES:
			write_codes(t);
			break;
		case LS_TEMPLATE_INTEGERS:
			write_integers(t, fixed ? (uint32_t) value_of(t, 0, slot_number).len : 0, pack);
			break;
		default:
			write_texts(t, slot_number);
			break;
	}
}

/* ---- one template ---- */

typedef struct bit_writer
{
	ls_buf *to;
	uint64_t bits;
	unsigned n;
} bit_writer;

static inline void
put_bits(bit_writer *w, uint32_t value, unsigned width)
{
	w->bits |= (uint64_t) value << w->n;
	for (w->n += width; w->n >= 8; w->n -= 8, w->bits >>= 8)
		ls_buf_char(w->to, (char) w->bits);
}

static inline uint32_t
digit_at(const ls_part_templater *t, uint32_t i, place p)
{
	char c = value_of(t, i, p.slot).data[p.at];

	return (uint32_t) (c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Three digits in 10 bits, of what is left over two in 7 or one in 4; then hexadecimal ones. */
static void
write_stream(ls_part_templater *t)
{
	bit_writer w = {&t->packed, 0, 0};

	if (t->n_digits + t->n_nibbles == 0)
		return;
	for (uint32_t i = 0; i < t->n_rows; i++)
	{
		uint32_t k = 0;

		for (; k + 3 <= t->n_digits; k += 3)
			put_bits(&w,
					 100 * digit_at(t, i, t->digits[k]) + 10 * digit_at(t, i, t->digits[k + 1]) +
						 digit_at(t, i, t->digits[k + 2]),
					 10);
		if (k + 2 == t->n_digits)
			put_bits(&w, 10 * digit_at(t, i, t->digits[k]) + digit_at(t, i, t->digits[k + 1]), 7);
		else if (k + 1 == t->n_digits)
			put_bits(&w, digit_at(t, i, t->digits[k]), 4);
		for (k = 0; k < t->n_nibbles; k++)
			put_bits(&w, digit_at(t, i, t->nibbles[k]), 4);
	}
	if (w.n > 0)
		ls_buf_char(w.to, (char) w.bits);
}

static void
write_template(ls_part_templater *t, const skeleton *s, ls_buf *out)
{
	const char *text = t->texts.data + s->at;
	uint32_t slot_number = 0;
	size_t begin = 0;

	t->rows = t->order + s->first;
	t->n_rows = s->rows;
	t->ops.len = t->literal.len = 0;
	t->n_ops = t->n_columns = 0;
	t->n_digits = t->n_nibbles = 0;
	for (size_t i = 0; i <= s->len; i++)
	{
		if (i < s->len && text[i] != MARK)
			continue;
		add_literal(t, text + begin, i - begin);
		begin = i + 1;
		if (i < s->len)
			write_slot(t, slot_number++);
	}
	end_runs(t);
	end_literal(t);
	write_stream(t);
	ls_buf_varint(out, t->n_ops);
	ls_buf_append(out, t->ops.data, t->ops.len);
}

/* The texts that resemble no others: a template with only one variable. */
static void
write_whole(ls_part_templater *t, uint32_t first, ls_buf *out)
{
	ls_buf_varint(out, 1);
	ls_buf_varint(out, LS_TEMPLATE_TEXTS);
	for (uint32_t i = first; i < t->n; i++)
		ls_buf_varint(&t->columns, t->values[t->order[i]].len);
	for (uint32_t i = first; i < t->n; i++)
		ls_buf_str(&t->columns, t->values[t->order[i]]);
}

bool
ls_part_templates_encode(ls_part_templater *t, const ls_str *values, uint32_t n, ls_buf *out,
						 size_t *packed)
{
	uint32_t n_templates;
	uint64_t total = 0;
	uint32_t grouped = 0;

	t->values = values;
	t->n = n;
	if (!find_templates(t, &n_templates))
		return false;
	t->columns.len = t->packed.len = 0;
	for (uint32_t i = 0; i < n; i++)
		total += values[i].len;
	for (uint32_t i = 0; i < t->n_skeletons; i++)
		grouped += t->skeletons[i].number > 0 ? t->skeletons[i].rows : 0;

	/* Template 0 exists only if some texts are kept whole. */
	ls_buf_char(out, LS_TEXTS_TEMPLATES);
	ls_buf_varint(out, total);
	ls_buf_varint(out, n_templates + (grouped < n));
	if (grouped < n)
		write_whole(t, grouped, out);
	for (uint32_t i = 0; i < t->n_skeletons; i++)
	{
		if (t->skeletons[i].number > 0)
			write_template(t, &t->skeletons[i], out);
	}
	for (uint32_t i = 0; i < n; i++)
		t->scratch[i] = t->row_skeleton[i] == 0
							? 0
							: t->skeletons[t->row_skeleton[i] - 1].number - (grouped == n);
	ls_part_bits_pack(out, t->scratch, n,
					  ls_part_bits_width(n_templates + (grouped < n) - 1, false));
	ls_buf_append(out, t->columns.data, t->columns.len);
	*packed = out->len;
	ls_buf_append(out, t->packed.data, t->packed.len);
	return !(out->failed || t->texts.failed || t->ops.failed || t->literal.failed ||
			 t->columns.failed || t->packed.failed);
}
