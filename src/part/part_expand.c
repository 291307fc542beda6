/*-------------------------------------------------------------------------
 *
 * part_expand.c
 *	  Rebuilds texts from templates and the values of their rows (pure).
 *
 * It reads what part_templates.c writes.  All columns of a template are decoded before the
 * first of its texts is made, so making a text only copies pieces: literals, digits from a few
 * bits, numbers.  Those who only count templates, or search in them, make the texts that they need, and
 * the numbers of other templates are not decoded.  Up to 16 bytes are always copied as 16, so all
 * sources have that many bytes after them, and the target has room for the longest row.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_expand.h"

#define PADDING LS_TEMPLATE_PADDING

/* Who makes one of the first texts of a template mostly wants no others. */
#define FIRST_ROWS 4

typedef ls_template_column column;
typedef ls_text_op op;
typedef ls_text_template template;

/* The digits of numbers below 1,000; larger ones are invalid. */
typedef struct ls_digit_table
{
	char digits[1024][4];
	bool made;
} digit_table;

/*
 * The next bytes of the payload, or a copy of them if fewer than PADDING follow them there; NULL when out
 * of memory.
 */
static const char *
padded(const ls_reader *r, ls_arena *arena, ls_str s)
{
	char *copy;

	if (r->end - r->pos >= PADDING)
		return s.data;
	copy = ls_arena_alloc(arena, s.len + PADDING);
	if (copy == NULL)
		return NULL;
	memcpy(copy, s.data, s.len);
	memset(copy + s.len, 0, PADDING);
	return copy;
}

/* ---- reading ---- */

static bool
read_template(ls_reader *r, ls_arena *arena, template *t)
{
	uint64_t n = ls_read_varint(r);
	const char *begin = (const char *) r->pos;

	if (r->failed || n > LS_TEMPLATE_MAX_OPS)
		return false;
	t->ops = LS_PART_ARRAY(arena, op, n);
	if (t->ops == NULL)
		return false;
	t->n_ops = (uint32_t) n;
	for (uint32_t i = 0; i < t->n_ops; i++)
	{
		op *o = &t->ops[i];
		uint64_t tag = ls_read_varint(r);
		uint64_t parameter = tag / LS_TEMPLATE_OPS;
		uint32_t *stream;
		ls_str literal;

		o->kind = (uint8_t) (tag % LS_TEMPLATE_OPS);
		if (parameter > LS_PART_MAX_BYTES)
			return false;
		o->parameter = (uint32_t) parameter;
		switch (o->kind)
		{
			case LS_TEMPLATE_LITERAL:
				if (parameter == 0 || parameter > (uint64_t) (r->end - r->pos))
					return false;
				literal = ls_read_bytes(r, (size_t) parameter);
				o->u.literal = padded(r, arena, literal);
				if (o->u.literal == NULL)
					return false;
				t->longest += parameter;
				break;
			case LS_TEMPLATE_DIGITS:
			case LS_TEMPLATE_HEX:
				stream = o->kind == LS_TEMPLATE_DIGITS ? &t->n_digits : &t->n_nibbles;
				if (parameter == 0 || parameter > LS_TEMPLATE_MAX_STREAM - *stream)
					return false;
				*stream += o->parameter;
				t->longest += parameter;
				break;
			case LS_TEMPLATE_INTEGERS:
			case LS_TEMPLATE_PACKED:
				if (parameter > LS_TEMPLATE_MAX_DIGITS)
					return false;
				t->longest += LS_TEMPLATE_MAX_DIGITS;
				t->n_columns++;
				t->n_packed += o->kind == LS_TEMPLATE_PACKED;
				break;
			case LS_TEMPLATE_CODES:
			case LS_TEMPLATE_TEXTS:
				if (parameter != 0)
					return false;
				t->n_columns++;
				t->open |= o->kind == LS_TEMPLATE_TEXTS;
				break;
			default:
				return false;
		}
	}
	t->source = ls_str_make(begin, (size_t) ((const char *) r->pos - begin));
	return !r->failed && t->n_columns <= LS_TEMPLATE_MAX_COLUMNS;
}

static bool
read_codes(ls_reader *r, ls_arena *arena, template *t, column *c)
{
	uint64_t n = ls_read_varint(r);
	size_t longest = 0;
	ls_str *list;
	ls_str codes;

	if (r->failed || n == 0 || n > 256)
		return false;
	list = ls_arena_alloc(arena, n * sizeof(ls_str));
	if (list == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		ls_str entry = ls_read_lstr(r);

		if (r->failed)
			return false;
		longest = entry.len > longest ? entry.len : longest;
		list[i] = ls_str_make(padded(r, arena, entry), entry.len);
		if (list[i].data == NULL)
			return false;
	}
	t->longest += longest;
	codes = ls_read_bytes(r, t->rows);
	if (r->failed)
		return false;
	for (uint32_t i = 0; i < t->rows; i++)
	{
		if ((uint8_t) codes.data[i] >= n)
			return false;
	}
	c->list = list;
	c->n_list = (uint32_t) n;
	c->codes = (const uint8_t *) codes.data;
	return true;
}

static bool
read_texts(ls_reader *r, ls_arena *arena, template *t, column *c)
{
	c->entries = ls_arena_alloc(arena, t->rows * sizeof(ls_str));
	if (c->entries == NULL)
		return false;
	for (uint32_t i = 0; i < t->rows; i++)
	{
		uint64_t len = ls_read_varint(r);

		if (r->failed || len > (uint64_t) (r->end - r->pos))
			return false;
		c->entries[i].len = (size_t) len;
	}
	for (uint32_t i = 0; i < t->rows; i++)
		c->entries[i] = ls_read_bytes(r, c->entries[i].len);
	return !r->failed;
}

/* The numbers of a column in the first `wanted` rows; they must have the digits that the op says. */
static bool
decode_integers(ls_arena *arena, uint32_t rows, uint32_t wanted, const op *o)
{
	column *c = o->u.column;
	ls_reader r = ls_reader_make(c->payload.data, c->payload.len);
	uint64_t limit = 1;

	if (c->n_integers >= wanted)
		return true;
	for (uint32_t i = 0; i < (o->parameter == 0 ? LS_TEMPLATE_MAX_DIGITS : o->parameter); i++)
		limit *= 10;
	c->integers = ls_arena_alloc(arena, wanted * sizeof(int64_t));
	if (c->integers == NULL || !ls_part_ints_first(&r, rows, wanted, c->integers) ||
		(wanted == rows && r.pos != r.end))
		return false;
	for (uint32_t i = 0; i < wanted; i++)
	{
		if ((uint64_t) c->integers[i] >= limit)
			return false;
	}
	c->n_integers = wanted;
	return true;
}

/* All of a template in its first `wanted` rows. */
static bool
decode_numbers(ls_arena *arena, template *t, uint32_t wanted)
{
	if (t->numbers >= wanted)
		return true;
	for (const op *o = t->ops; o < t->ops + t->n_ops; o++)
	{
		if ((o->kind == LS_TEMPLATE_INTEGERS || o->kind == LS_TEMPLATE_PACKED) &&
			!decode_integers(arena, t->rows, wanted, o))
			return false;
	}
	t->numbers = wanted;
	return true;
}

bool
ls_template_load(const ls_text_templates *from, uint32_t number)
{
	template *t = &from->templates[number];

	return decode_numbers(from->arena, t, t->rows);
}

/* The columns after the templates: compressible ones, then bits. */
static bool
read_columns(ls_reader *r, ls_arena *arena, template *t, bool packed)
{
	uint32_t left = packed ? t->n_packed : t->n_columns - t->n_packed;
	uint64_t bits;
	ls_str stream;

	for (op *o = t->ops; left > 0; o++)
	{
		bool read = true;

		if (o->kind < LS_TEMPLATE_CODES || (o->kind == LS_TEMPLATE_PACKED) != packed)
			continue;
		left--;
		o->u.column = ls_new(arena, column);
		if (o->u.column == NULL)
			return false;
		if (o->kind == LS_TEMPLATE_CODES)
			read = read_codes(r, arena, t, o->u.column);
		else if (o->kind == LS_TEMPLATE_TEXTS)
			read = read_texts(r, arena, t, o->u.column);
		else
		{
			const uint8_t *begin = r->pos;

			read = ls_part_ints_skip(r, t->rows);
			o->u.column->payload = ls_str_make((const char *) begin, (size_t) (r->pos - begin));
		}
		if (!read)
			return false;
	}
	if (!packed)
		return true;
	bits = t->n_digits / 3 * 10 + (t->n_digits % 3 * 10 + 2) / 3 + 4 * (uint64_t) t->n_nibbles;
	stream = ls_read_bytes(r, (size_t) ((bits * t->rows + 7) / 8));
	t->bits = (const uint8_t *) stream.data;
	t->bits_end = t->bits + stream.len;
	return !r->failed;
}

/* ---- making texts ---- */

/* Up to 25 bits. */
static inline uint32_t
get_bits(template *t, unsigned width)
{
	const uint8_t *from = t->bits + t->bit / 8;
	uint64_t v = 0;

	if (t->bits_end - from >= 8)
		v = ls_load64(from);
	else
	{
		for (unsigned k = 0; from + k < t->bits_end; k++)
			v |= (uint64_t) from[k] << (8 * k);
	}
	v >>= t->bit % 8;
	t->bit += width;
	return (uint32_t) v & ((1u << width) - 1);
}

static void
make_table(digit_table *table)
{
	for (unsigned v = 0; v < 1000 && !table->made; v++)
	{
		table->digits[v][0] = (char) ('0' + v / 100);
		table->digits[v][1] = (char) ('0' + v / 10 % 10);
		table->digits[v][2] = (char) ('0' + v % 10);
		table->digits[v][3] = 0;
	}
	table->made = true;
}

/* The digits of the row at t->bit; false when bits say no digit. */
static inline bool
row_digits(template *t, const digit_table *table, char *digits, char *nibbles)
{
	uint32_t left = t->n_digits;
	uint32_t highest = 0;

	for (; left >= 3; left -= 3, digits += 3)
	{
		uint32_t v = get_bits(t, 10);

		memcpy(digits, table->digits[v], 4);
		highest = v > highest ? v : highest;
	}
	if (left > 0)
	{
		uint32_t v = get_bits(t, left == 2 ? 7 : 4);

		memcpy(digits, table->digits[v] + 3 - left, left);
		highest = v >= (left == 2 ? 100 : 10) ? 1000 : highest;
	}
	for (uint32_t k = 0; k < t->n_nibbles; k += 6)
	{
		uint32_t n = t->n_nibbles - k < 6 ? t->n_nibbles - k : 6;
		uint32_t v = get_bits(t, 4 * n);

		for (uint32_t i = 0; i < n; i++, v >>= 4)
			nibbles[k + i] = "0123456789abcdef"[v & 15];
	}
	return highest < 1000;
}

/*
 * All digits of a template, before any text is made: of a row's own, written
 * just now, a copy of 16 bytes would wait.  False when bits say no digit, or
 * memory ran out.
 */
static bool
expand_digits(template *t, ls_arena *arena, digit_table *table)
{
	char *digits = ls_arena_alloc(arena, (size_t) t->rows * t->n_digits + PADDING);
	char *nibbles = ls_arena_alloc(arena, (size_t) t->rows * t->n_nibbles + PADDING);
	bool valid = true;

	if (digits == NULL || nibbles == NULL)
		return false;
	t->digits = digits;
	t->nibbles = nibbles;
	make_table(table);
	for (uint32_t row = 0; row < t->rows; row++)
	{
		valid &= row_digits(t, table, digits, nibbles);
		digits += t->n_digits;
		nibbles += t->n_nibbles;
	}
	memset(digits, 0, PADDING);
	memset(nibbles, 0, PADDING);
	return valid;
}

/* Most pieces are short, and a call takes longer than some steps of this. */
static inline char *
copy(char *to, const char *from, size_t len)
{
	char *end = to + len;

	for (; to < end; to += PADDING, from += PADDING)
		memcpy(to, from, PADDING);
	return end;
}

static inline char *
put_number(char *to, uint64_t v, uint32_t digits)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
								"25262728293031323334353637383940414243444546474849"
								"50515253545556575859606162636465666768697071727374"
								"75767778798081828384858687888990919293949596979899";
	uint32_t n = ls_template_digits(v);
	char *p;

	n = n > digits ? n : digits;
	p = to + n;
	for (; v >= 100; v /= 100)
		memcpy(p -= 2, pairs + v % 100 * 2, 2);
	if (v >= 10)
		memcpy(p -= 2, pairs + v * 2, 2);
	else
		*--p = (char) ('0' + v);
	while (p > to)
		*--p = '0';
	return to + n;
}

/* Appends the text of a row with these digits; NULL when it is not valid. */
static inline char *
put_text(const template *t, uint32_t row, const char *digits, const char *nibbles, char *to,
		 const char *limit)
{
	for (const op *o = t->ops; o < t->ops + t->n_ops; o++)
	{
		switch (o->kind)
		{
			case LS_TEMPLATE_LITERAL:
				to = copy(to, o->u.literal, o->parameter);
				break;
			case LS_TEMPLATE_DIGITS:
				to = copy(to, digits, o->parameter);
				digits += o->parameter;
				break;
			case LS_TEMPLATE_HEX:
				to = copy(to, nibbles, o->parameter);
				nibbles += o->parameter;
				break;
			case LS_TEMPLATE_INTEGERS:
			case LS_TEMPLATE_PACKED:
				to = put_number(to, (uint64_t) o->u.column->integers[row], o->parameter);
				break;
			case LS_TEMPLATE_CODES:
			{
				ls_str entry = o->u.column->list[o->u.column->codes[row]];

				to = copy(to, entry.data, entry.len);
				break;
			}
			case LS_TEMPLATE_TEXTS:
				/* Not padded; and only here a row has no bound of its own. */
				if (to > limit || o->u.column->entries[row].len > (size_t) (limit - to))
					return NULL;
				memcpy(to, o->u.column->entries[row].data, o->u.column->entries[row].len);
				to += o->u.column->entries[row].len;
				break;
		}
	}
	return to;
}

/* Appends the next text of a template; NULL when it is not valid. */
static char *
put_row(template *t, char *to, const char *limit)
{
	to = put_text(t, t->next++, t->digits, t->nibbles, to, limit);
	t->digits += t->n_digits;
	t->nibbles += t->n_nibbles;
	return to;
}

/* ---- a payload ---- */

typedef struct payload
{
	uint64_t total; /* bytes of all texts */
	uint64_t longest;
	uint32_t n_templates;
	template *templates;
	uint16_t *numbers; /* of the template of each text */
	uint16_t *places;  /* the text's among those of its template */
} payload;

static bool
read_numbers(ls_reader *r, uint32_t n, unsigned width, uint16_t *numbers)
{
	const uint8_t *from = r->pos;

	ls_read_bytes(r, (size_t) n * width / 8);
	if (r->failed || width > 16)
		return false;
	memset(numbers, 0, width == 0 ? n * sizeof(uint16_t) : 0);
	for (uint32_t i = 0; width == 8 && i < n; i++)
		numbers[i] = from[i];
	for (uint32_t i = 0; width == 16 && i < n; i++)
		numbers[i] = (uint16_t) (from[2 * i] | from[2 * i + 1] << 8);
	return true;
}

/* Reads all but the digits. */
static bool
read_payload(ls_reader *r, uint32_t n, ls_arena *arena, payload *p)
{
	uint64_t n_templates;
	uint16_t *rows;

	p->total = ls_read_varint(r);
	n_templates = ls_read_varint(r);
	p->longest = 0;
	if (r->failed || p->total > LS_PART_MAX_BYTES || n_templates == 0 || n_templates > n ||
		n > UINT16_MAX)
		return false;
	p->n_templates = (uint32_t) n_templates;
	p->templates = LS_PART_ARRAY(arena, template, n_templates);
	p->numbers = ls_arena_alloc(arena, n * sizeof(uint16_t));
	p->places = ls_arena_alloc(arena, n * sizeof(uint16_t));
	rows = LS_PART_ARRAY(arena, uint16_t, n_templates);
	if (p->templates == NULL || p->numbers == NULL || p->places == NULL || rows == NULL)
		return false;
	for (uint32_t i = 0; i < n_templates; i++)
	{
		if (!read_template(r, arena, &p->templates[i]))
			return false;
	}
	if (!read_numbers(r, n, ls_part_bits_width(n_templates - 1, false), p->numbers))
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		if (p->numbers[i] >= n_templates)
			return false;
		p->places[i] = rows[p->numbers[i]]++;
	}
	for (uint32_t i = 0; i < n_templates; i++)
		p->templates[i].rows = rows[i];
	for (int packed = 0; packed < 2; packed++)
	{
		for (uint32_t i = 0; i < n_templates; i++)
		{
			/* A template without rows is not written. */
			if (p->templates[i].rows == 0 || !read_columns(r, arena, &p->templates[i], packed == 1))
				return false;
		}
	}
	for (uint32_t i = 0; i < n_templates; i++)
		p->longest = p->templates[i].longest > p->longest ? p->templates[i].longest : p->longest;
	return p->longest <= LS_PART_MAX_BYTES;
}

bool
ls_part_templates_decode(ls_reader *r, uint32_t n, ls_arena *arena, const uint32_t **offsets,
						 const char **data)
{
	digit_table table = {.made = false};
	payload p;
	uint32_t *ends;
	char *text;
	char *to;

	if (!read_payload(r, n, arena, &p))
		return false;
	for (uint32_t i = 0; i < p.n_templates; i++)
	{
		template *t = &p.templates[i];

		t->digits = t->nibbles = "";
		if (!decode_numbers(arena, t, t->rows) ||
			(t->n_digits + t->n_nibbles > 0 && !expand_digits(t, arena, &table)))
			return false;
	}
	ends = ls_arena_alloc(arena, ((size_t) n + 1) * sizeof(uint32_t));
	text = ls_arena_alloc(arena, (size_t) (p.total + p.longest + 2 * PADDING));
	if (ends == NULL || text == NULL)
		return false;
	to = text;
	for (uint32_t i = 0; i < n; i++)
	{
		ends[i] = (uint32_t) (to - text);
		to = put_row(&p.templates[p.numbers[i]], to, text + p.total);
		if (to == NULL || to > text + p.total)
			return false;
	}
	ends[n] = (uint32_t) (to - text);
	*offsets = ends;
	*data = text;
	return ends[n] == p.total;
}

/* ---- without the texts ---- */

bool
ls_part_templates_read(ls_reader *r, uint32_t n, ls_arena *arena, ls_text_templates *out)
{
	bool *whole;
	payload p;

	if (n > LS_PART_BLOCK_ROWS || !read_payload(r, n, arena, &p))
		return false;
	whole = ls_arena_alloc(arena, p.n_templates * sizeof(bool));
	out->table = LS_PART_ARRAY(arena, digit_table, 1);
	if (whole == NULL || out->table == NULL)
		return false;
	make_table(out->table);
	for (uint32_t i = 0; i < p.n_templates; i++)
		whole[i] = p.templates[i].n_ops == 1 && p.templates[i].ops[0].kind == LS_TEMPLATE_TEXTS;
	out->n = p.n_templates;
	out->arena = arena;
	out->numbers = p.numbers;
	out->whole = whole;
	out->places = p.places;
	out->templates = p.templates;
	out->most = p.total;
	return true;
}

bool
ls_part_templates_put(const ls_text_templates *from, uint32_t v, ls_buf *buf, ls_str *text)
{
	template *t = &from->templates[from->numbers[v]];
	uint32_t row = from->places[v];
	char digits[LS_TEMPLATE_MAX_STREAM + PADDING];
	char nibbles[LS_TEMPLATE_MAX_STREAM + PADDING];
	uint64_t bits = t->n_digits / 3 * 10 + (t->n_digits % 3 * 10 + 2) / 3 + 4 * t->n_nibbles;
	uint64_t len = t->longest;
	char *end;

	if (from->whole[from->numbers[v]])
	{
		*text = t->ops[0].u.column->entries[row];
		return true;
	}
	for (const op *o = t->ops; t->open && o < t->ops + t->n_ops; o++)
		len += o->kind == LS_TEMPLATE_TEXTS ? o->u.column->entries[row].len : 0;
	t->bit = bits * row;
	if (!decode_numbers(from->arena, t,
						row < FIRST_ROWS && t->rows > FIRST_ROWS ? FIRST_ROWS : t->rows) ||
		len > from->most + t->longest || !row_digits(t, from->table, digits, nibbles))
		return false;
	memset(digits + t->n_digits, 0, PADDING);
	memset(nibbles + t->n_nibbles, 0, PADDING);
	buf->len = 0;
	if (!ls_buf_reserve(buf, (size_t) len + 2 * PADDING))
		return false;
	end = put_text(t, row, digits, nibbles, buf->data, buf->data + len);
	if (end == NULL || end > buf->data + len)
		return false;
	*text = ls_str_make(buf->data, (size_t) (end - buf->data));
	return true;
}

bool
ls_part_templates_text(const ls_text_templates *from, uint32_t v, ls_arena *arena, ls_str *text)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	return ls_part_templates_put(from, v, &buf, text);
}

static uint32_t
characters(ls_str s)
{
	return (uint32_t) ls_utf8_length(s.data, s.len);
}

/* Adds to the length of each row of a template what an op has of it; returns what all rows have. */
static uint32_t
add_lengths(const template *t, const op *o, uint32_t *lengths)
{
	uint32_t entries[256];

	switch (o->kind)
	{
		case LS_TEMPLATE_LITERAL:
			return characters(ls_str_make(o->u.literal, o->parameter));
		case LS_TEMPLATE_INTEGERS:
		case LS_TEMPLATE_PACKED:
			/* No number has more digits than the op says. */
			for (uint32_t i = 0; o->parameter == 0 && i < t->rows; i++)
				lengths[i] += ls_template_digits((uint64_t) o->u.column->integers[i]);
			return o->parameter;
		case LS_TEMPLATE_CODES:
			for (uint32_t i = 0; i < o->u.column->n_list; i++)
				entries[i] = characters(o->u.column->list[i]);
			for (uint32_t i = 0; i < t->rows; i++)
				lengths[i] += entries[o->u.column->codes[i]];
			return 0;
		case LS_TEMPLATE_TEXTS:
			for (uint32_t i = 0; i < t->rows; i++)
				lengths[i] += characters(o->u.column->entries[i]);
			return 0;
		default:
			return o->parameter; /* digits */
	}
}

/* Characters are counted by their first bytes, so what a border of ops cuts counts once. */
bool
ls_part_templates_lengths(const ls_text_templates *from, uint32_t n, uint32_t *lengths)
{
	uint32_t by_template[LS_PART_BLOCK_ROWS] = {0};
	uint32_t first = 0;

	for (uint32_t i = 0; i < from->n; i++)
	{
		template *t = &from->templates[i];

		t->length = 0;
		t->first = first;
		for (const op *o = t->ops; o < t->ops + t->n_ops; o++)
		{
			/* Others have as many digits as the op says. */
			if ((o->kind == LS_TEMPLATE_INTEGERS || o->kind == LS_TEMPLATE_PACKED) &&
				o->parameter == 0 && !decode_integers(from->arena, t->rows, t->rows, o))
				return false;
			t->length += add_lengths(t, o, by_template + first);
		}
		first += t->rows;
	}
	for (uint32_t v = 0; v < n; v++)
	{
		const template *t = &from->templates[from->numbers[v]];

		lengths[v] = t->length + by_template[t->first + from->places[v]];
	}
	return true;
}
