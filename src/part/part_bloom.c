/*-------------------------------------------------------------------------
 *
 * part_bloom.c
 *	  Token filters: the blocks of a part that may contain a word (pure).
 *
 * A token filter is a Bloom filter for each block of a column, cut into buckets.
 * A hash belongs to one bucket, and the bits of a bucket are stored together for
 * all blocks.  So one small slice of the body answers for all blocks.  The width
 * of a block in a bucket depends on its number of tokens, and each bucket has a
 * checksum of its own.
 *
 * The writer (part_tokens.c) and predicates (filter_prune.c) both use the hashes
 * defined here, because they must agree to the bit.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

/* ---- hashes ---- */

uint64_t
ls_part_hash_word(ls_str folded)
{
	return ls_hash64(folded.data, folded.len < LS_WORD_BYTES ? folded.len : LS_WORD_BYTES, 0);
}

uint64_t
ls_part_hash_text(ls_str text)
{
	return ls_hash64(text.data, text.len, 1);
}

/* Numbers that compare as equal have the same hash; integers are hashed as integers. */
uint64_t
ls_part_hash_number(bool is_int, int64_t i, double d)
{
	uint8_t bytes[8];
	uint64_t bits = (uint64_t) i;

	if (!is_int)
		memcpy(&bits, &d, sizeof(bits));
	for (int n = 0; n < 8; n++)
		bytes[n] = (uint8_t) (bits >> (8 * n));
	return ls_hash64(bytes, sizeof(bytes), is_int ? 2 : 3);
}

uint64_t
ls_part_hash_piece(uint32_t code)
{
	uint8_t bytes[3] = {(uint8_t) code, (uint8_t) (code >> 8), (uint8_t) (code >> 16)};

	return ls_hash64(bytes, sizeof(bytes), 4);
}

bool
ls_part_word_has_digit(ls_str word)
{
	for (size_t i = 0; i < word.len && i < LS_WORD_BYTES; i++)
	{
		if (word.data[i] >= '0' && word.data[i] <= '9')
			return true;
	}
	return false;
}

/*
 * The class of a byte of a folded text in a piece: each letter has its own, all digits
 * share one, and so do all bytes of non-ASCII characters.
 */
uint32_t
ls_part_piece_class(uint8_t byte)
{
	if (byte >= 'a' && byte <= 'z')
		return byte - 'a' + 1u;
	if (byte >= 'A' && byte <= 'Z')
		return byte - 'A' + 1u;
	if (byte >= '0' && byte <= '9')
		return 27;
	if (byte >= 0x80)
		return 28;
	if (byte >= 0x20 && byte < 0x30)
		return 29u + byte - 0x20; /* 29 to 44 */
	if (byte >= 0x3A && byte <= 0x40)
		return 45u + byte - 0x3A; /* 45 to 51 */
	if (byte >= 0x5B && byte <= 0x60)
		return 52u + byte - 0x5B; /* 52 to 57 */
	if (byte >= 0x7B && byte <= 0x7E)
		return 58u + byte - 0x7B; /* 58 to 61 */
	return 0;                     /* control characters */
}

/* ---- bits ---- */

uint32_t
ls_bloom_bucket(uint64_t hash, uint32_t buckets)
{
	return (uint32_t) ((hash >> 32) * buckets >> 32);
}

/* The bits of a hash in `width` bytes: start, and the step from one to the next. */
static inline void
bloom_start(uint64_t hash, uint32_t *at, uint32_t *step)
{
	uint64_t h = hash * UINT64_C(0x9E3779B97F4A7C15);

	*at = (uint32_t) (h >> 32);
	*step = (uint32_t) (h >> 1) | 1;
}

void
ls_bloom_set(uint8_t *bits, uint32_t width, uint32_t hashes, uint64_t hash)
{
	uint32_t at;
	uint32_t step;

	bloom_start(hash, &at, &step);
	for (uint32_t i = 0; i < hashes; i++, at += step)
	{
		uint32_t bit = (uint32_t) ((uint64_t) at * (width * 8) >> 32);

		bits[bit / 8] |= (uint8_t) (1u << (bit % 8));
	}
}

static bool
bloom_has(const uint8_t *bits, uint32_t width, uint32_t hashes, uint64_t hash)
{
	uint32_t at;
	uint32_t step;

	bloom_start(hash, &at, &step);
	for (uint32_t i = 0; i < hashes; i++, at += step)
	{
		uint32_t bit = (uint32_t) ((uint64_t) at * (width * 8) >> 32);

		if ((bits[bit / 8] >> (bit % 8) & 1) == 0)
			return false;
	}
	return true;
}

/* ---- the section of the header ---- */

void
ls_bloom_write_entry(const ls_bloom *bloom, uint32_t blocks, ls_buf *section)
{
	ls_buf_char(section, (char) bloom->kind);
	ls_buf_varint(section, bloom->column);
	ls_buf_varint(section, bloom->buckets);
	ls_buf_char(section, (char) bloom->hashes);
	for (uint32_t b = 0; b < blocks; b++)
		ls_buf_varint(section, bloom->widths[b]);
}

static bool
read_entry(const ls_part_directory *d, ls_reader *r, uint64_t *offset, ls_bloom *bloom)
{
	uint64_t column;
	uint64_t buckets;

	bloom->kind = ls_read_u8(r);
	column = ls_read_varint(r);
	buckets = ls_read_varint(r);
	bloom->hashes = ls_read_u8(r);
	if (r->failed || column >= d->n_columns || buckets == 0 || buckets > LS_BLOOM_MAX_BUCKETS ||
		bloom->hashes == 0 || bloom->hashes > LS_BLOOM_MAX_HASHES)
		return false;
	bloom->column = (uint32_t) column;
	bloom->buckets = (uint32_t) buckets;
	bloom->stride = LS_BLOOM_CHECKSUM;
	for (uint32_t b = 0; b < d->blocks; b++)
	{
		uint64_t width = ls_read_varint(r);

		if (r->failed || width > LS_BLOOM_MAX_WIDTH)
			return false;
		bloom->widths[b] = (uint32_t) width;
		if (width > LS_BLOOM_ANY)
			bloom->stride += (uint32_t) width - LS_BLOOM_ANY;
	}
	bloom->offset = *offset;
	if ((uint64_t) bloom->stride * buckets > d->body_length - *offset)
		return false;
	*offset += (uint64_t) bloom->stride * buckets;
	return true;
}

/* Reads the section when a filter is first needed. */
static bool
load_section(ls_part *part)
{
	const ls_part_directory *d = &part->directory;
	ls_reader r;
	uint64_t offset;
	uint64_t n;

	part->blooms_loaded = true;
	if (d->filters.data == NULL)
		return true;
	r = ls_reader_make(d->filters.data, d->filters.len);
	offset = ls_read_varint(&r);
	n = ls_read_varint(&r);
	/* An entry takes at least five bytes. */
	if (r.failed || offset > d->body_length || n > (uint64_t) (r.end - r.pos) / 5)
		return ls_part_fail(part, "token filters of the header are wrong");
	part->blooms = ls_new_array(part->arena, ls_bloom, n + 1);
	if (part->blooms == NULL)
		return ls_part_fail(part, "out of memory");
	for (uint64_t i = 0; i < n; i++)
	{
		if (!read_entry(d, &r, &offset, &part->blooms[i]))
			return ls_part_fail(part, "token filters of the header are wrong");
	}
	if (r.pos != r.end)
		return ls_part_fail(part, "token filters of the header are wrong");
	part->n_blooms = (uint32_t) n;
	return true;
}

/* ---- asking ---- */

static bool
load_bucket(ls_part *part, const ls_bloom *bloom, uint32_t bucket)
{
	ls_reader r;
	uint32_t length = bloom->stride - LS_BLOOM_CHECKSUM;

	if (part->bucket_capacity < bloom->stride)
	{
		part->bucket = ls_arena_alloc(part->arena, bloom->stride);
		part->bucket_capacity = part->bucket == NULL ? 0 : bloom->stride;
		if (part->bucket == NULL)
			return ls_part_fail(part, "out of memory");
	}
	if (!part->fetch(part->context, bloom->offset + (uint64_t) bucket * bloom->stride,
					 bloom->stride, part->bucket))
		return ls_part_fail(part, "the body of the part cannot be read");
	r = ls_reader_make((char *) part->bucket + length, LS_BLOOM_CHECKSUM);
	if (ls_crc32c(0, part->bucket, length) != ls_read_u32(&r))
		return ls_part_fail(part, "checksum of a token filter is wrong");
	return true;
}

/* NULL: the column has none. */
static const ls_bloom *
find_bloom(const ls_part *part, uint32_t column, ls_token_kind kind)
{
	for (uint32_t i = 0; i < part->n_blooms; i++)
	{
		if (part->blooms[i].column == column && part->blooms[i].kind == kind)
			return &part->blooms[i];
	}
	return NULL;
}

bool
ls_part_has_filter(ls_part *part, uint32_t column, ls_token_kind kind)
{
	if (!part->blooms_loaded && !load_section(part))
		return false;
	return find_bloom(part, column, kind) != NULL;
}

bool
ls_part_may_hold(ls_part *part, uint32_t column, ls_token_kind kind, const uint64_t *hashes,
				 uint32_t n, uint32_t *blocks)
{
	const ls_bloom *bloom;
	uint32_t loaded = UINT32_MAX;

	if (!part->blooms_loaded && !load_section(part))
		return false;
	bloom = find_bloom(part, column, kind);
	if (bloom == NULL)
		return true;
	for (uint32_t b = 0; b < part->directory.blocks; b++)
	{
		if (bloom->widths[b] == LS_BLOOM_EMPTY)
			*blocks &= ~(UINT32_C(1) << b);
	}
	for (uint32_t i = 0; i < n && *blocks != 0; i++)
	{
		uint32_t bucket = ls_bloom_bucket(hashes[i], bloom->buckets);
		const uint8_t *bits;

		if (bucket != loaded && !load_bucket(part, bloom, bucket))
			return false;
		loaded = bucket;
		bits = part->bucket;
		for (uint32_t b = 0; b < part->directory.blocks; b++)
		{
			uint32_t width;

			if (bloom->widths[b] <= LS_BLOOM_ANY)
				continue;
			width = bloom->widths[b] - LS_BLOOM_ANY;
			if ((*blocks >> b & 1) != 0 && !bloom_has(bits, width, bloom->hashes, hashes[i]))
				*blocks &= ~(UINT32_C(1) << b);
			bits += width;
		}
	}
	return true;
}

bool
ls_part_check_filters(ls_part *part)
{
	if (!part->blooms_loaded && !load_section(part))
		return false;
	for (uint32_t i = 0; i < part->n_blooms; i++)
	{
		for (uint32_t bucket = 0; bucket < part->blooms[i].buckets; bucket++)
		{
			if (!load_bucket(part, &part->blooms[i], bucket))
				return false;
		}
	}
	return true;
}
