/*-------------------------------------------------------------------------
 *
 * pure.h
 *	  The toolkit of the pure parts: memory, bytes, text and JSON without
 *	  PostgreSQL.
 *
 * Pure code (template miner, part format, decoders, query parser, judge) may
 * include this header and the C library, never postgres.h.  So it can be
 * unit-tested, fuzzed and benchmarked as plain C, and it can never longjmp.
 *
 * Rules of pure code:
 *	- all memory comes from an ls_arena, whose limit bounds what input can
 *	  make us allocate; a failed allocation returns NULL and marks the arena;
 *	- errors are returned, never raised; nothing is printed; no globals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PURE_H
#define LS_PURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The struct that has `member` at `pointer`. */
#define ls_container(type, member, pointer) ((type *) ((char *) (pointer) -offsetof(type, member)))

/* ---- strings: a view, not NUL-terminated, never owned ---- */

typedef struct ls_str
{
	const char *data;
	size_t len;
} ls_str;

#define LS_STR(literal) ((ls_str){("" literal), sizeof(literal) - 1})

static inline ls_str
ls_str_make(const char *data, size_t len)
{
	ls_str s = {data, len};

	return s;
}

static inline bool
ls_str_eq(ls_str a, ls_str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Is a setting or an environment variable set, and not empty? */
static inline bool
ls_is_set(const char *s)
{
	return s != NULL && s[0] != '\0';
}

/* The same text without leading and trailing blanks and tabs. */
extern ls_str ls_str_trim(ls_str s);

/* The value of a hexadecimal digit of either case; -1 for anything else. */
static inline int
ls_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ASCII case-insensitive equality. */
extern bool ls_str_eq_nocase(ls_str a, ls_str b);

/* memcmp order, the shorter first on a tie: <0, 0, >0. */
extern int ls_str_cmp(ls_str a, ls_str b);

/* A header of HTTP. */
typedef struct ls_header
{
	ls_str name;
	ls_str value;
} ls_header;

/* ---- arena: bump allocation with a limit, freed as a whole ---- */

typedef struct ls_arena ls_arena;

/* Where an arena gets its chunks; NULL members mean malloc and free. */
typedef struct ls_arena_source
{
	void *(*alloc)(void *context, size_t size); /* NULL on failure */
	void (*free)(void *context, void *chunk);
	void *context;
} ls_arena_source;

/*
 * Makes an arena that hands out at most `limit` bytes (0: no limit).
 * `source` may be NULL for malloc.  Returns NULL when out of memory.
 */
extern ls_arena *ls_arena_create(const ls_arena_source *source, size_t limit);

/* Memory of `size` bytes aligned to 16, or NULL (limit or out of memory). */
extern void *ls_arena_alloc(ls_arena *arena, size_t size);
extern void *ls_arena_alloc0(ls_arena *arena, size_t size);

/*
 * Grows a block to `size` bytes, keeping `old_size` bytes of content; `block`
 * may be NULL.  The old block is freed if it was a large one.
 */
extern void *ls_arena_grow(ls_arena *arena, void *block, size_t old_size, size_t size);

/* Frees a block of `size` bytes early, if it is a large one. */
extern void ls_arena_drop(ls_arena *arena, void *block, size_t size);

/* A copy of s, NUL-terminated after its length; data is NULL on failure. */
extern ls_str ls_arena_strdup(ls_arena *arena, ls_str s);

extern bool ls_arena_failed(const ls_arena *arena); /* did any call fail? */
extern size_t ls_arena_used(const ls_arena *arena); /* bytes handed out */
extern void ls_arena_reset(ls_arena *arena);        /* forget all, keep one chunk */
extern void ls_arena_destroy(ls_arena *arena);      /* NULL is allowed */

#define ls_new(arena, type) ((type *) ls_arena_alloc0((arena), sizeof(type)))
#define ls_new_array(arena, type, n)        \
	((size_t) (n) > SIZE_MAX / sizeof(type) \
		 ? NULL                             \
		 : (type *) ls_arena_alloc0((arena), (size_t) (n) * sizeof(type)))

/* ---- buffer: growing bytes in an arena ---- */

typedef struct ls_buf
{
	char *data;
	size_t len;
	size_t capacity;
	bool failed; /* an append did not fit; content is useless */
	ls_arena *arena;
} ls_buf;

extern void ls_buf_init(ls_buf *buf, ls_arena *arena);
extern bool ls_buf_reserve(ls_buf *buf, size_t extra); /* room for `extra` */
extern void ls_buf_append(ls_buf *buf, const void *data, size_t len);
extern void ls_buf_printf(ls_buf *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline void
ls_buf_str(ls_buf *buf, ls_str s)
{
	ls_buf_append(buf, s.data, s.len);
}

static inline void
ls_buf_char(ls_buf *buf, char c)
{
	if (buf->len < buf->capacity)
		buf->data[buf->len++] = c;
	else
		ls_buf_append(buf, &c, 1);
}

#define ls_buf_lit(buf, literal) ls_buf_append((buf), "" literal, sizeof(literal) - 1)

/* Appends s as a part of a URL: all but letters, digits and -._~ as %XX (RFC 3986). */
extern void ls_buf_url(ls_buf *buf, ls_str s, bool keep_slash);

/* Little-endian numbers and LEB128 varints, for binary formats. */
extern void ls_buf_u16(ls_buf *buf, uint16_t v);
extern void ls_buf_u32(ls_buf *buf, uint32_t v);
extern void ls_buf_u64(ls_buf *buf, uint64_t v);
extern void ls_buf_varint(ls_buf *buf, uint64_t v);
extern void ls_buf_zigzag(ls_buf *buf, int64_t v);

/* Length as varint, then the bytes. */
extern void ls_buf_lstr(ls_buf *buf, ls_str s);

/*
 * A reader over bytes that never reads past its end: after the first overrun
 * `failed` is set and every value is 0 or empty.
 */
typedef struct ls_reader
{
	const uint8_t *pos;
	const uint8_t *end;
	bool failed;
} ls_reader;

static inline ls_reader
ls_reader_make(const void *data, size_t len)
{
	ls_reader r = {(const uint8_t *) data, (const uint8_t *) data + len, false};

	return r;
}

extern uint8_t ls_read_u8(ls_reader *r);
extern uint16_t ls_read_u16(ls_reader *r);
extern uint32_t ls_read_u32(ls_reader *r);
extern uint64_t ls_read_u64(ls_reader *r);
extern uint64_t ls_read_long_varint(ls_reader *r);
extern int64_t ls_read_zigzag(ls_reader *r);
extern ls_str ls_read_bytes(ls_reader *r, size_t len);
extern ls_str ls_read_lstr(ls_reader *r);

/* Most of them are small. */
static inline uint64_t
ls_read_varint(ls_reader *r)
{
	if (r->pos < r->end && *r->pos < 0x80 && !r->failed)
		return *r->pos++;
	return ls_read_long_varint(r);
}

/* Eight bytes, the lowest first. */
static inline uint64_t
ls_load64(const void *bytes)
{
	uint64_t v;

	memcpy(&v, bytes, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

/* ---- hashes ---- */

/*
 * A fast 64-bit hash of bytes, stable across versions.  Not for secrets, and not for tables
 * with keys that callers choose, because they could choose many with the same hash.
 */
extern uint64_t ls_hash64(const void *data, size_t len, uint64_t seed);

/* The same with seed 0; *outline is a hash in which all digits are alike. */
extern uint64_t ls_hash64_outline(const void *data, size_t len, uint64_t *outline);

/* The same for tables in memory, with a random key that this process (or its parent) made. */
extern uint64_t ls_hash_keyed(const void *data, size_t len, uint64_t seed);

/* The same with the caller's key, for a table that processes share. */
extern uint64_t ls_hash_with_key(const void *data, size_t len, const uint64_t key[2]);

/* A text with its hash: a key of a hash table. */
typedef struct ls_hashed_str
{
	ls_str str;
	uint64_t hash;
} ls_hashed_str;

static inline ls_hashed_str
ls_hash_str(ls_str str)
{
	return (ls_hashed_str){str, ls_hash_keyed(str.data, str.len, 0)};
}

/* Random, 0 until made; for ls_hash_keyed64. */
extern uint64_t ls_secret[2];
extern void ls_make_secret(void);

/* The same for a number, such as a hash that everyone can compute. */
static inline uint64_t
ls_hash_keyed64(uint64_t number)
{
	unsigned __int128 m;

	if (ls_secret[0] == 0)
		ls_make_secret();
	m = (unsigned __int128) (number ^ ls_secret[1]) * ls_secret[0];
	/* Again: numbers that differ in a few bits only differ in a few after one product. */
	number = ((uint64_t) m ^ (uint64_t) (m >> 64)) * UINT64_C(0x9e3779b97f4a7c15);
	return number ^ number >> 32;
}

/* The place of such a hash in a table of n slots, a power of 2. */
static inline size_t
ls_hash_slot(uint64_t hash, size_t n)
{
	return (size_t) ls_hash_keyed64(hash) & (n - 1);
}

/* CRC-32C (Castagnoli) of bytes, continuing `crc` (start with 0). */
extern uint32_t ls_crc32c(uint32_t crc, const void *data, size_t len);

#define LS_SHA1_LENGTH 20
#define LS_SHA256_LENGTH 32

extern void ls_sha1(const void *data, size_t len, uint8_t out[LS_SHA1_LENGTH]);
extern void ls_sha256(const void *data, size_t len, uint8_t out[LS_SHA256_LENGTH]);

/* False when OpenSSL could not compute it (out of memory); `out` is then useless. */
extern bool ls_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
						   uint8_t out[LS_SHA256_LENGTH]);

/* Writes 2 * len lower case digits and a NUL. */
extern void ls_hex(const void *data, size_t len, char *out);

/*
 * Signatures: RSASSA-PKCS1-v1_5 and ECDSA on P-256, both with SHA-256 (RS256 and ES256 of
 * RFC 7518).  Numbers are big-endian; an ES256 signature is r and s with 32 bytes each.  False if
 * the signature or the key is not valid.  A key is invalid with an RSA modulus of less than 2,048
 * or more than 8,192 bits, an exponent that is even, 1 or longer than 32 bits, or coordinates
 * that do not have 32 bytes or are not on the curve.
 */
extern bool ls_rs256_verify(ls_str modulus, ls_str exponent, ls_str data, ls_str signature);
extern bool ls_es256_verify(ls_str x, ls_str y, ls_str data, ls_str signature);

/* ---- base64 (RFC 4648) ---- */

/* Appends bytes in base64 with padding, or in base64url without padding. */
extern void ls_base64(ls_buf *buf, const void *data, size_t len);
extern void ls_base64url(ls_buf *buf, const void *data, size_t len);

/*
 * Decodes base64url without padding.  False for another character, an impossible length, unused
 * bits that are not 0 (so that no two texts mean the same bytes), or out of memory.
 */
extern bool ls_base64url_decode(ls_str text, ls_arena *arena, ls_str *out);

/*
 * Decodes either alphabet, with or without padding, and sets *len to the number of bytes.  False
 * if `text` is not valid, or has more than `room` bytes.
 */
extern bool ls_base64_decode(ls_str text, void *out, size_t room, size_t *len);

/* ---- UTF-8 ---- */

extern bool ls_utf8_valid(const char *data, size_t len);

/* Number of code points of valid UTF-8. */
extern size_t ls_utf8_length(const char *data, size_t len);

/* Bytes of the longest prefix of at most `max_chars` code points. */
extern size_t ls_utf8_prefix_chars(const char *data, size_t len, size_t max_chars);

/* Bytes of the longest prefix of at most `max_bytes` that does not cut a character. */
extern size_t ls_utf8_prefix_bytes(const char *data, size_t len, size_t max_bytes);

/* Decodes one code point of valid UTF-8 and advances; 0 at the end. */
extern uint32_t ls_utf8_next(const char **pos, const char *end);
extern void ls_utf8_append(ls_buf *buf, uint32_t code_point);

/* Unicode simple case folding of one code point. */
extern uint32_t ls_unicode_fold(uint32_t code_point);

/* Appends `s` with every code point simply case-folded. */
extern void ls_utf8_fold(ls_buf *buf, ls_str s);

/* ---- JSON: a strict, bounded pull parser over text in memory ---- */

typedef enum ls_json_type
{
	LS_JSON_NULL,
	LS_JSON_FALSE,
	LS_JSON_TRUE,
	LS_JSON_NUMBER,
	LS_JSON_STRING,
	LS_JSON_OBJECT,
	LS_JSON_ARRAY
} ls_json_type;

typedef struct ls_json_value
{
	ls_json_type type;
	ls_str text; /* STRING: decoded; NUMBER: as written; others
								 * empty.  A view into the input, or arena
								 * memory when the string had escapes. */
} ls_json_value;

typedef struct ls_json
{
	const char *start;
	const char *pos;
	const char *end;
	ls_arena *arena; /* for strings with escapes; NULL: they stay as written */
	int depth;
	int max_depth;
	bool first;          /* no member of the open container read yet */
	bool narrow;         /* ls_json_compact writes numbers that do not fit as strings */
	const char *error;   /* NULL, or what was wrong ("expected ...") */
	size_t error_offset; /* byte offset into the input */
} ls_json;

/*
 * Starts parsing `text`.  Invalid UTF-8 is an error; NUL and lone surrogates
 * become U+FFFD (decision 27).  Containers deeper than `max_depth` are an
 * error.  After an error every call returns false.
 *
 * Use:	ls_json_read(j, &v): the next value; for OBJECT and ARRAY the
 *		container is open afterwards and must be walked to its end with
 *			while (ls_json_member(j, &key)) ls_json_read(j, &v) ...
 *			while (ls_json_element(j)) ls_json_read(j, &v) ...
 *		then check j->error.  ls_json_skip skips and validates the next value,
 *		and returns its text as written; it takes no memory.
 */
extern void ls_json_init(ls_json *j, ls_str text, ls_arena *arena, int max_depth);
extern bool ls_json_read(ls_json *j, ls_json_value *value);
extern bool ls_json_member(ls_json *j, ls_str *key);
extern bool ls_json_element(ls_json *j);
extern bool ls_json_skip(ls_json *j, ls_str *raw);

/* What comes next, without reading it (false at the end or on an error). */
extern bool ls_json_peek(ls_json *j, ls_json_type *type);

/* True when nothing but white space is left. */
extern bool ls_json_end(ls_json *j);

/*
 * Skips the next value like ls_json_skip and appends it to `buf` as
 * compact JSON: no white space, members in the order received, numbers as
 * written, non-ASCII unescaped (decision 25).
 */
extern bool ls_json_compact(ls_json *j, ls_buf *buf);

/* Appends s as a JSON string with quotes; s must be valid UTF-8. */
extern void ls_json_quote(ls_buf *buf, ls_str s);

/*
 * Converts a JSON number as written.  True if it is an integer in the canonical form
 * in which an int64 is printed (so that it survives a round trip).
 */
extern bool ls_json_canonical_int(ls_str number, int64_t *value);

/*
 * Does a JSON number as written fit: at most 400 characters, an exponent of -400 to 400, and finite
 * as a double?  With others nothing can be computed.
 */
extern bool ls_json_number_fits(ls_str number);

/*
 * Finds the first number in a JSON text, from byte `from` on, that numeric cannot hold, or that
 * takes few bytes there and very many as a text: it has more than 2,000 characters, or an exponent
 * beyond 400.  `from` must not be inside a string.  False: there is none.  A text that is not JSON is
 * read safely, with any result.
 */
extern bool ls_json_wide_number(ls_str json, size_t from, ls_str *number);

/* ---- names (closest.c) ---- */

/*
 * The index of the candidate nearest to `word`, for "did you mean"; -1 if none is near.
 * Near means at most two edits (one for short words); ASCII case is ignored.  A word of
 * more than 64 bytes is near to none.
 */
extern int ls_closest(ls_str word, const ls_str *candidates, uint32_t n);

/* ---- CSV (csv.c) ---- */

/*
 * Appends valid UTF-8 as a cell, in quotes.  One that a spreadsheet would take for a formula gets
 * an apostrophe before it, and control characters are replaced by pictures of them (ESC by U+241B): a byte
 * becomes at most three.
 */
extern void ls_csv_cell(ls_buf *buf, ls_str text);

/*
 * The same for a JSON value as it is written: a text without its escapes, objects and lists as
 * JSON, null as nothing; numbers and booleans stay as they are.  `scratch` is overwritten.
 */
extern void ls_csv_json(ls_buf *buf, ls_str raw, ls_buf *scratch);

/* ---- time ---- */

/* Microseconds since 1970-01-01 UTC; proleptic Gregorian, years 0001-9999. */
typedef int64_t ls_time;

#define LS_USECS_PER_SEC INT64_C(1000000)
#define LS_USECS_PER_DAY (INT64_C(86400) * LS_USECS_PER_SEC)

/*
 * Parses an ISO 8601 / RFC 3339 time: YYYY-MM-DD[(T| )hh:mm[:ss[.fraction]]]
 * [Z|+hh:mm|+hhmm|+hh].  Without a zone, UTC.  False when s is not one.
 */
extern bool ls_time_parse_iso(ls_str s, ls_time *time);

#define LS_TIME_ISO_LENGTH 24

/* Writes YYYY-MM-DDThh:mm:ss.mmmZ and a NUL (LS_TIME_ISO_LENGTH + 1 bytes). */
extern void ls_time_format_iso(ls_time time, char *out);

/* ---- network addresses ---- */

/* IPv6, or IPv4 as ::ffff:a.b.c.d. */
typedef struct ls_address
{
	uint8_t bytes[16];
} ls_address;

#define LS_ADDRESS_LENGTH 46

/*
 * Parses an address, also with blanks, quotes, brackets or a port as proxies write
 * it.  False if the text is not an address.
 */
extern bool ls_address_parse(ls_str s, ls_address *out);
extern void ls_address_format(const ls_address *address, char out[LS_ADDRESS_LENGTH]);

/* What rate limits per address count by: an IPv4 address, or a /64 of IPv6. */
extern void ls_address_rate_key(const ls_address *address, uint8_t key[16]);

/* Lists of networks: "10.0.0.0/8, 2001:db8::/32, 192.0.2.7". */
extern bool ls_networks_valid(ls_str list);
extern bool ls_networks_contain(ls_str list, const ls_address *address);

/* Is the address in the network: the first bits (0 to 128, of the mapped form) are the same? */
extern bool ls_network_contains(const ls_address *network, int bits, const ls_address *address);

/*
 * Is it an address of a machine on the internet?  Not: private, local, link-local, multicast,
 * reserved ones, and forms of IPv6 that stand for such an IPv4 address (mapped, NAT64) or for any
 * (6to4, Teredo).
 */
extern bool ls_address_is_public(const ls_address *address);

/*
 * The client's address: `remote` or, if that is a trusted proxy, the rightmost
 * address in X-Forwarded-For that is not a trusted proxy.  False if `remote` is not
 * an address.
 */
extern bool ls_client_address(ls_str remote, ls_str forwarded_for, ls_str trusted, ls_address *out);

#endif /* LS_PURE_H */
