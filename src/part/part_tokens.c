/*-------------------------------------------------------------------------
 *
 * part_tokens.c
 *	  Writes the token filters of a part (pure).
 *
 * Columns with few distinct values need no filter, because their dictionary is
 * decided as a whole.  The event text gets a filter of its words, one of its pairs of
 * words that follow each other, for phrases, and one of its pieces of three characters,
 * for substrings.  A text attribute gets a filter of its values.  All digits are one
 * class in pieces, and all words with digits are one in pairs, which keeps their number
 * small, because log lines differ mostly in numbers.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

#include "src/part/day_filter.h"
#include "src/part/match.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Bits and hash functions per token. */
#define WORD_BITS 8
#define WORD_HASHES 5
#define VALUE_BITS 13
#define VALUE_HASHES 8
#define PIECE_BITS 10
#define PIECE_HASHES 6
#define PAIR_BITS 8
#define PAIR_HASHES 5
#define FEW_PAIRS 64 /* a block with fewer has room for so many: others like it err together */

#define FIRST_TOKENS 6144 /* of a block, that there is room for at first */

/* A block with more distinct tokens gets no filter. */
#define MAX_TOKENS 65536
#define MAX_PIECES 8192

/* Average number of tokens of the fullest block in a bucket. */
#define BUCKET_TOKENS 48

#define PIECE_CODES (1u << 18)

#define SHORT_TEXT 16384 /* folded as a whole */

#define RECENT_PAIRS 2048 /* a power of 2 */

/*
 * The distinct hashes of a block.  These are the hashes of the filters, which anybody
 * can compute.
 */
#define LS_TABLE_NAME token
#define LS_TABLE_SLOT uint64_t /* 0: free */
#define LS_TABLE_KEY uint64_t
#define LS_TABLE_HASH(t, key) ls_hash_keyed64(key)
#define LS_TABLE_EQUAL(t, slot, key) (*(slot) == (key))
#define LS_TABLE_IS_FREE(slot) (*(slot) == 0)
#define LS_TABLE_SLOT_HASH(t, slot) ls_hash_keyed64(*(slot))
#define LS_TABLE_LOAD 75
#include "src/base/hash_table.h"

typedef struct token_set
{
	token_table table;
	bool full; /* too many */
	bool failed;
} token_set;

typedef struct token_writer
{
	ls_part_writer *w;
	token_set words;
	token_set pairs;
	uint64_t recent[RECENT_PAIRS]; /* in `pairs` already, at the place that their bits say */
	uint64_t before;  /* of the pair that the next word ends: hash, or 0 with a digit */
	bool begun;       /* is there a word before? */
	uint64_t *pieces; /* a bit for each code; NULL: nobody asks for them */
	ls_buf fold;
	uint8_t classes[256];
	char folded[SHORT_TEXT + 64];
	uint64_t word_bits[SHORT_TEXT / 64 + 2];
	uint64_t digit_bits[SHORT_TEXT / 64 + 2];
	/* of the column being written: its hashes, block by block */
	uint64_t *hashes[3][LS_PART_MAX_BLOCKS];
	uint32_t counts[3][LS_PART_MAX_BLOCKS];
} token_writer;

static inline void
add_token(token_set *s, uint64_t hash)
{
	uint64_t *slot;
	bool found;

	if (s->full)
		return;
	hash += hash == 0;
	slot = token_insert(&s->table, hash, &found);
	if (slot == NULL)
		s->failed = s->full = true;
	else if (!found)
	{
		*slot = hash;
		s->full = s->table.n > MAX_TOKENS;
	}
}

/* Moves the distinct hashes to a list in the arena, and empties the set. */
static bool
take_tokens(token_set *s, uint64_t **list, uint32_t *count)
{
	uint32_t n = 0;
	uint32_t at = 0;
	uint64_t *slot;

	*list = NULL;
	*count = s->full ? UINT32_MAX : s->table.n;
	if (!s->full && s->table.n > 0)
	{
		*list = ls_arena_alloc(s->table.arena, s->table.n * sizeof(uint64_t));
		if (*list == NULL)
			return false;
		while ((slot = token_next(&s->table, &at)) != NULL)
			(*list)[n++] = *slot;
	}
	token_clear(&s->table);
	s->full = false;
	return !s->failed;
}

/* ---- what is hashed ---- */

/* Most pairs of a text have been in one of the texts before. */
static inline void
add_word(token_writer *t, uint64_t hash, bool digit)
{
	uint64_t side = digit ? 0 : hash;

	add_token(&t->words, hash);
	if (t->begun)
	{
		uint64_t pair = ls_part_hash_pair(t->before, side);
		uint64_t *recent = &t->recent[pair % RECENT_PAIRS];

		if (*recent != pair)
			add_token(&t->pairs, pair);
		*recent = pair;
	}
	t->before = side;
	t->begun = true;
}

/* A word with characters beyond ASCII: as ls_utf8_fold makes it. */
static void
add_folded_word(token_writer *t, ls_str word)
{
	const char *p = word.data;
	const char *end = word.data + word.len;

	t->fold.len = 0;
	while (p < end && t->fold.len < LS_WORD_BYTES)
		ls_utf8_append(&t->fold, ls_unicode_fold(ls_utf8_next(&p, end)));
	word = ls_str_make(t->fold.data, t->fold.len);
	add_word(t, ls_part_hash_word(word), ls_part_word_has_digit(word));
}

static void
add_pieces(token_writer *t, const char *folded, size_t len)
{
	uint32_t code;

	if (len < 3 || t->pieces == NULL)
		return;
	code = (uint32_t) t->classes[(uint8_t) folded[0]] << 6 | t->classes[(uint8_t) folded[1]];
	for (size_t i = 2; i < len; i++)
	{
		code = (code << 6 | t->classes[(uint8_t) folded[i]]) & (PIECE_CODES - 1);
		t->pieces[code / 64] |= UINT64_C(1) << (code % 64);
	}
}

/* Any text: words one by one. */
static void
add_long_text(token_writer *t, ls_str text)
{
	size_t at = 0;
	ls_str word;

	t->begun = false;
	while (ls_next_word(text, &at, &word))
		add_folded_word(t, word);
	t->fold.len = 0;
	ls_utf8_fold(&t->fold, text);
	add_pieces(t, t->fold.data, t->fold.len);
}

/*
 * Folds n (at most 64) bytes and marks those of words, and the digits; false when one
 * is not ASCII.
 */
static inline bool
fold_ascii(const char *from, size_t n, char *to, uint64_t *words, uint64_t *digits)
{
	uint64_t mask = 0;
	uint64_t digit_mask = 0;
#if defined(__SSE2__)
	if (n == 64)
	{
		int high = 0;

		for (int k = 0; k < 4; k++)
		{
			__m128i c = _mm_loadu_si128((const __m128i *) (from + 16 * k));
			__m128i upper = _mm_and_si128(_mm_cmpgt_epi8(c, _mm_set1_epi8('A' - 1)),
										  _mm_cmplt_epi8(c, _mm_set1_epi8('Z' + 1)));
			__m128i low = _mm_or_si128(c, _mm_and_si128(upper, _mm_set1_epi8(0x20)));
			__m128i letter = _mm_and_si128(_mm_cmpgt_epi8(low, _mm_set1_epi8('a' - 1)),
										   _mm_cmplt_epi8(low, _mm_set1_epi8('z' + 1)));
			__m128i digit = _mm_and_si128(_mm_cmpgt_epi8(c, _mm_set1_epi8('0' - 1)),
										  _mm_cmplt_epi8(c, _mm_set1_epi8('9' + 1)));
			__m128i word =
				_mm_or_si128(_mm_or_si128(letter, digit), _mm_cmpeq_epi8(c, _mm_set1_epi8('_')));

			high |= _mm_movemask_epi8(c);
			_mm_storeu_si128((__m128i *) (to + 16 * k), low);
			mask |= (uint64_t) (uint32_t) _mm_movemask_epi8(word) << (16 * k);
			digit_mask |= (uint64_t) (uint32_t) _mm_movemask_epi8(digit) << (16 * k);
		}
		*words = mask;
		*digits = digit_mask;
		return high == 0;
	}
#endif
	for (size_t i = 0; i < n; i++)
	{
		char c = from[i];

		if ((unsigned char) c >= 0x80)
			return false;
		to[i] = c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
		mask |= (uint64_t) ls_is_word_byte(c) << i;
		digit_mask |= (uint64_t) (c >= '0' && c <= '9') << i;
	}
	*words = mask;
	*digits = digit_mask;
	return true;
}

/* The first bit from `at` on that is set (or, inverted, clear); n when there is none. */
static inline uint32_t
next_bit(const uint64_t *bits, uint32_t at, uint32_t n, uint64_t invert)
{
	uint64_t word = (bits[at / 64] ^ invert) & (UINT64_MAX << (at % 64));

	at -= at % 64;
	while (word == 0)
	{
		at += 64;
		if (at >= n)
			return n;
		word = bits[at / 64] ^ invert;
	}
	return at + (uint32_t) __builtin_ctzll(word);
}

/* Words, pairs and pieces of a text. */
static void
add_text(token_writer *t, ls_str text)
{
	char *folded = t->folded;
	uint64_t *words = t->word_bits;
	uint64_t *digits = t->digit_bits;
	uint32_t n = (uint32_t) text.len;
	char last[64];
	uint32_t at = 0;

	if (text.len > SHORT_TEXT)
	{
		add_long_text(t, text);
		return;
	}
	/* The rest is folded as 64 bytes too; zeros are of no word. */
	for (; at < n; at += 64)
	{
		const char *from = text.data + at;

		if (n - at < 64)
		{
			memset(last, 0, sizeof(last));
			memcpy(last, from, n - at);
			from = last;
		}
		if (!fold_ascii(from, 64, folded + at, &words[at / 64], &digits[at / 64]))
		{
			add_long_text(t, text);
			return;
		}
	}
	words[at / 64] = digits[at / 64] = 0;
	t->begun = false;
	for (at = next_bit(words, 0, n, 0); at < n;)
	{
		uint32_t end = next_bit(words, at, n, UINT64_MAX);
		uint32_t counts = end - at < LS_WORD_BYTES ? end : at + LS_WORD_BYTES;

		add_word(t, ls_part_hash_word(ls_str_make(folded + at, end - at)),
				 next_bit(digits, at, counts, 0) < counts);
		if (end == n)
			break;
		at = next_bit(words, end, n, 0);
	}
	add_pieces(t, folded, n);
}

static bool
take_pieces(token_writer *t, uint64_t **list, uint32_t *count)
{
	uint32_t n = 0;

	*list = NULL;
	for (uint32_t i = 0; i < PIECE_CODES / 64; i++)
		n += (uint32_t) __builtin_popcountll(t->pieces[i]);
	*count = n > MAX_PIECES ? UINT32_MAX : n;
	if (n > 0 && n <= MAX_PIECES)
	{
		*list = ls_arena_alloc(t->w->arena, n * sizeof(uint64_t));
		if (*list == NULL)
			return false;
		n = 0;
		for (uint32_t i = 0; i < PIECE_CODES / 64; i++)
		{
			for (uint64_t left = t->pieces[i]; left != 0; left &= left - 1)
				(*list)[n++] = ls_part_hash_piece(i * 64 + (uint32_t) __builtin_ctzll(left));
		}
	}
	memset(t->pieces, 0, PIECE_CODES / 8);
	return true;
}

static void
add_value(token_writer *t, ls_str text)
{
	ls_num number;

	/* A text that looks like a number can be compared with one. */
	if (ls_num_parse(text, &number))
		add_token(&t->words, ls_part_hash_number(number.is_int, number.i, number.d));
	else
		add_token(&t->words, ls_part_hash_text(text));
}

/* ---- writing ---- */

static bool
write_filter(token_writer *t, uint32_t column, ls_token_kind kind, int list, ls_buf *section)
{
	ls_part_writer *w = t->w;
	static const struct
	{
		uint32_t bits;
		uint32_t hashes;
	} of[] = {[LS_TOKEN_WORD] = {WORD_BITS, WORD_HASHES},
			  [LS_TOKEN_VALUE] = {VALUE_BITS, VALUE_HASHES},
			  [LS_TOKEN_PIECE] = {PIECE_BITS, PIECE_HASHES},
			  [LS_TOKEN_PAIR] = {PAIR_BITS, PAIR_HASHES}};
	uint32_t bits = of[kind].bits;
	ls_bloom bloom = {.kind = kind, .column = column, .stride = LS_BLOOM_CHECKSUM};
	uint32_t most = 0;
	uint8_t *to;

	bloom.hashes = of[kind].hashes;
	for (uint32_t b = 0; b < w->d.blocks; b++)
	{
		if (t->counts[list][b] != UINT32_MAX && t->counts[list][b] > most)
			most = t->counts[list][b];
	}
	/* Pieces are looked up many at a time, so they share one bucket. */
	bloom.buckets = kind == LS_TOKEN_PIECE ? 1 : most / BUCKET_TOKENS + 1;
	for (uint32_t b = 0; b < w->d.blocks; b++)
	{
		uint32_t n = t->counts[list][b];

		if (kind == LS_TOKEN_PAIR && n > 0 && n < FEW_PAIRS)
			n = FEW_PAIRS;
		if (n == UINT32_MAX)
			bloom.widths[b] = LS_BLOOM_ANY;
		else if (n > 0)
			bloom.widths[b] =
				LS_BLOOM_ANY +
				(uint32_t) (((uint64_t) n * bits + bloom.buckets * 8 - 1) / (bloom.buckets * 8));
		if (bloom.widths[b] > LS_BLOOM_ANY)
			bloom.stride += bloom.widths[b] - LS_BLOOM_ANY;
	}
	if (!ls_buf_reserve(w->body, (size_t) bloom.stride * bloom.buckets))
		return false;
	to = (uint8_t *) w->body->data + w->body->len;
	memset(to, 0, (size_t) bloom.stride * bloom.buckets);
	for (uint32_t b = 0, at = 0; b < w->d.blocks; b++)
	{
		uint32_t width;

		if (bloom.widths[b] <= LS_BLOOM_ANY)
			continue;
		width = bloom.widths[b] - LS_BLOOM_ANY;
		for (uint32_t i = 0; i < t->counts[list][b]; i++)
		{
			uint64_t hash = t->hashes[list][b][i];

			ls_bloom_set(to + (size_t) ls_bloom_bucket(hash, bloom.buckets) * bloom.stride + at,
						 width, bloom.hashes, hash);
		}
		at += width;
	}
	for (uint32_t i = 0; i < bloom.buckets; i++)
	{
		uint8_t *bucket = to + (size_t) i * bloom.stride;
		uint32_t crc = ls_crc32c(0, bucket, bloom.stride - LS_BLOOM_CHECKSUM);

		for (int k = 0; k < LS_BLOOM_CHECKSUM; k++)
			bucket[bloom.stride - LS_BLOOM_CHECKSUM + (uint32_t) k] = (uint8_t) (crc >> (8 * k));
	}
	w->body->len += (size_t) bloom.stride * bloom.buckets;
	ls_bloom_write_entry(&bloom, w->d.blocks, section);
	return !section->failed;
}

static bool
write_text_filters(token_writer *t, uint32_t column, ls_buf *section, uint32_t *n)
{
	bool event = t->w->d.columns[column].column.field == LS_FIELD_EVENT;

	for (uint32_t b = 0; b < t->w->d.blocks; b++)
	{
		uint32_t count = ls_writer_block_texts(t->w, column, b);

		for (uint32_t i = 0; i < count; i++)
		{
			if (event)
				add_text(t, t->w->values[i]);
			else
				add_value(t, t->w->values[i]);
		}
		if (!take_tokens(&t->words, &t->hashes[0][b], &t->counts[0][b]) ||
			(event && (!take_pieces(t, &t->hashes[1][b], &t->counts[1][b]) ||
					   !take_tokens(&t->pairs, &t->hashes[2][b], &t->counts[2][b]))))
			return false;
		memset(t->recent, 0, sizeof(t->recent));
	}
	*n += event ? 3 : 1;
	if (!event)
		return write_filter(t, column, LS_TOKEN_VALUE, 0, section);
	return write_filter(t, column, LS_TOKEN_WORD, 0, section) &&
		   write_filter(t, column, LS_TOKEN_PIECE, 1, section) &&
		   write_filter(t, column, LS_TOKEN_PAIR, 2, section);
}

bool
ls_part_write_filters(ls_part_writer *w, uint64_t body_start)
{
	token_writer *t;
	ls_buf entries;
	uint64_t offset = w->body->len - body_start;
	uint32_t n = 0;

	t = ls_new(w->arena, token_writer);
	if (t == NULL)
		return false;
	t->w = w;
	t->words.table.arena = t->pairs.table.arena = w->arena;
	t->pieces = LS_PART_ARRAY(w->arena, uint64_t, PIECE_CODES / 64);
	if (t->pieces == NULL || !token_reserve(&t->words.table, FIRST_TOKENS))
		return false;
	ls_buf_init(&t->fold, w->arena);
	ls_buf_init(&entries, w->arena);
	for (uint32_t i = 0; i < 256; i++)
		t->classes[i] = (uint8_t) ls_part_piece_class((uint8_t) i);
	for (uint32_t c = 0; c < w->d.n_columns; c++)
	{
		const ls_column_entry *e = &w->d.columns[c];

		if (e->storage == LS_STORAGE_PLAIN && e->column.kind == LS_KIND_STRING &&
			n < LS_BLOOM_MAX_FILTERS && !write_text_filters(t, c, &entries, &n))
			return false;
	}
	if (n > 0)
	{
		ls_buf_varint(&w->filters, offset);
		ls_buf_varint(&w->filters, n);
		ls_buf_append(&w->filters, entries.data, entries.len);
		w->d.filters = ls_str_make(w->filters.data, w->filters.len);
	}
	return !entries.failed && !t->fold.failed && !w->filters.failed;
}

/* ---- all tokens of a part ---- */

typedef struct token_reader
{
	token_writer t;
	void (*add)(void *context, uint64_t token);
	void *context;
} token_reader;

static void
pass_other(token_reader *r, uint64_t field)
{
	for (uint32_t i = 0; i < LS_DAY_OTHERS; i++)
		r->add(r->context, ls_day_token_other(field, i));
}

/* Passes the distinct tokens on, and empties the set. */
static bool
pass_tokens(token_reader *r, token_set *s, uint64_t field, uint64_t other)
{
	uint32_t at = 0;
	uint64_t *slot;

	if (s->full)
		pass_other(r, other);
	while (!s->full && (slot = token_next(&s->table, &at)) != NULL)
		r->add(r->context, ls_day_token(field, *slot));
	token_clear(&s->table);
	s->full = false;
	return !s->failed && !r->t.fold.failed;
}

static void
read_text(token_reader *r, bool event, ls_str text)
{
	if (event)
		add_text(&r->t, text);
	else
		add_value(&r->t, text);
}

static bool
pass_column(token_reader *r, bool event, uint64_t field)
{
	memset(r->t.recent, 0, sizeof(r->t.recent));
	return pass_tokens(r, &r->t.words, event ? LS_DAY_WORDS : field, field) &&
		   (!event || pass_tokens(r, &r->t.pairs, LS_DAY_PAIRS, field));
}

/* The texts of a block of a column, or in block 0 those of its dictionary. */
static bool
read_column(token_reader *r, ls_part *part, uint32_t block, uint32_t c)
{
	const ls_column *column = ls_part_column(part, c);
	bool event = column->field == LS_FIELD_EVENT;
	uint64_t field = ls_day_field(column->field, column->key);
	const ls_vector *vector;
	const ls_str *entries;
	uint32_t n;

	if (column->kind != LS_KIND_STRING)
	{
		pass_other(r, field);
		return true;
	}
	if (!ls_part_dictionary(part, c, &entries, &n))
		return false;
	if (n > 0)
	{
		for (uint32_t i = 0; block == 0 && i < n; i++)
			read_text(r, event, entries[i]);
		return pass_column(r, event, field);
	}
	vector = ls_part_vector(part, block, c);
	if (vector == NULL)
		return false;
	for (uint32_t i = 0; i < vector->count; i++)
		read_text(r, event, ls_vector_text(vector, i));
	return pass_column(r, event, field);
}

bool
ls_part_tokens(ls_part *part, ls_arena *arena, void (*add)(void *context, uint64_t token),
			   void *context)
{
	token_reader *r = ls_new(arena, token_reader);

	if (r == NULL)
		return ls_part_fail(part, "out of memory");
	r->add = add;
	r->context = context;
	r->t.words.table.arena = r->t.pairs.table.arena = arena;
	if (!token_reserve(&r->t.words.table, FIRST_TOKENS))
		return ls_part_fail(part, "out of memory");
	ls_buf_init(&r->t.fold, arena);
	for (uint32_t block = 0; block < ls_part_blocks(part); block++)
	{
		for (uint32_t c = 0; c < ls_part_columns(part); c++)
		{
			if (!read_column(r, part, block, c))
				return ls_part_error(part) != NULL ? false : ls_part_fail(part, "out of memory");
		}
		ls_part_release_block(part);
	}
	return true;
}
