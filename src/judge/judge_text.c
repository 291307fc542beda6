/*-------------------------------------------------------------------------
 *
 * judge_text.c
 *	  Text into atoms for the built-in evaluator (pure).
 *
 * An atom is the smallest piece that can be compared: a word, a number, a mixed piece such as
 * app10, or a sign such as a check mark.  Logs glue words together in many ways
 * (test_login, TestLogin, test-login, "test login"), so atoms are split everywhere and each
 * remembers what stood before it: identifiers are compared as runs of atoms, and the glue tells
 * where an identifier ends (test_total is not test_total_with_tax).
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

typedef enum char_class
{
	CC_SIGN,
	CC_LOWER,
	CC_UPPER,
	CC_DIGIT,
	CC_SPACE,
	CC_HIGH /* a byte of a multi-byte character */
} char_class;

static const uint8_t classes[256] = {
	[9 ... 13] = CC_SPACE,    [' '] = CC_SPACE,         ['0' ... '9'] = CC_DIGIT,
	['A' ... 'Z'] = CC_UPPER, ['a' ... 'z'] = CC_LOWER, [0x80 ... 0xFF] = CC_HIGH,
};

/* Folded and stemmed hash of a word as it stands in the text; `whole` gets that of it unstemmed. */
static uint64_t
stem_text(const char *p, size_t len, uint64_t *whole)
{
	char room[2 * LS_STEM_MAX]; /* folding makes no word twice as long */
	ls_buf folded = {.data = room, .capacity = sizeof(room)};

	*whole = 0;
	if (len > LS_STEM_MAX)
		return ls_judge_hash_word(p, len);
	for (const char *end = p + len; p < end;)
	{
		if (*p & 0x80)
			ls_utf8_append(&folded, ls_unicode_fold(ls_utf8_next(&p, end)));
		else
		{
			ls_buf_char(&folded, (char) (*p >= 'A' && *p <= 'Z' ? *p + 32 : *p));
			p++;
		}
	}
	*whole = ls_judge_hash_word(room, folded.len);
	return ls_judge_hash_word(room, ls_judge_stem_word(room, folded.len));
}

/* What stands between two atoms. */
static ls_judge_sep
separator(const char *p, size_t n, bool *empty)
{
	static const uint8_t single[256] = {
		['_'] = LS_SEP_TIGHT, ['-'] = LS_SEP_TIGHT,  ['.'] = LS_SEP_DOT, ['/'] = LS_SEP_SLASH,
		[':'] = LS_SEP_COLON, ['\\'] = LS_SEP_SLASH, ['@'] = LS_SEP_AT,  ['#'] = LS_SEP_AT,
		['+'] = LS_SEP_AT,    ['~'] = LS_SEP_AT,     ['$'] = LS_SEP_AT,  [' '] = LS_SEP_SPACE,
	};
	bool comma = false, equal = false, space = false, colon = false;

	*empty = false;
	if (n == 0)
		return LS_SEP_NONE;
	if (n == 1 && single[(unsigned char) *p] != 0)
		return (ls_judge_sep) single[(unsigned char) *p];
	for (size_t i = 0; i < n; i++)
	{
		char next = i + 1 < n ? p[i + 1] : 0;

		/* the end of a sentence; "creating x ... done" is one clause */
		comma |= memchr(",;|()", p[i], 5) != NULL ||
				 (memchr(".!?", p[i], 3) != NULL && next == ' ' && (i == 0 || p[i - 1] != '.'));
		equal |= p[i] == '=' || (p[i] == ':' && i > 0 && p[i - 1] == '"');
		colon |= p[i] == ':';
		space |= p[i] == ' ';
		*empty |= p[i] == '"' && next == '"';
	}
	if (comma)
		return LS_SEP_COMMA;
	if (equal)
		return n > 6 ? LS_SEP_OTHER : LS_SEP_EQUAL;
	if (n == 2 && p[0] == ':' && p[1] == ':')
		return LS_SEP_COLON;
	return space && !colon ? LS_SEP_SPACE : LS_SEP_OTHER;
}

/* A sign that carries an outcome, and punctuation among the multi-byte characters. */
static int
high_kind(const char *p, const char *end, size_t *len)
{
	const char *pos = p;
	uint32_t c = ls_utf8_next(&pos, end);

	*len = pos > p ? (size_t) (pos - p) : 1;
	if ((c >= 0x2500 && c <= 0x27BF) || c == 0x221A)
		return 2;
	if (c < 0xC0 || c == 0xD7 || c == 0xF7 || (c >= 0x2000 && c <= 0x24FF) ||
		(c >= 0x27C0 && c <= 0x2BFF) || (c >= 0x3000 && c <= 0x3003) ||
		(c >= 0x3008 && c <= 0x3020) || c == 0xFF0C || c == 0xFF1A || c >= 0x1F000 ||
		(c >= 0xFE00 && c <= 0xFE0F))
		return 0;
	return 1;
}

typedef struct scan
{
	const ls_judge_ctx *ctx;
	ls_str text;
	ls_judge_atom *atoms;
	int n, max;
} scan;

static inline char_class
class_at(const scan *scan, size_t i)
{
	return i < scan->text.len ? (char_class) classes[(unsigned char) scan->text.data[i]] : CC_SIGN;
}

/* Adds an atom. */
static void
push(scan *scan, size_t off, size_t len, ls_judge_kind kind)
{
	const char *p = scan->text.data + off;
	uint64_t key = ls_judge_hash_word(p, len), whole;
	ls_judge_memo *memo = &scan->ctx->memo[key >> 32 & (LS_MEMO - 1)];
	ls_judge_atom *a = &memo->atom;
	size_t upper = 0;

	if (scan->n == scan->max)
		return;
	if (memo->key != key || a->kind != kind)
	{
		memo->key = key;
		*a = (ls_judge_atom){.kind = (uint8_t) kind, .sep = LS_SEP_NONE};
		a->len = (uint16_t) (len > UINT16_MAX ? UINT16_MAX : len);
		a->stem = stem_text(p, len, &whole);
		a->word = kind == LS_ATOM_NUMBER ? 0 : ls_judge_words_find(&scan->ctx->words, a->stem);
		for (size_t i = 0; i < len; i++)
			upper += p[i] >= 'A' && p[i] <= 'Z';
		if (kind == LS_ATOM_WORD)
		{
			a->sets = ls_judge_words_sets(&scan->ctx->words, whole);
			a->flags =
				(uint8_t) ((upper == len && len > 1 ? LS_ATOM_UPPER : 0) |
						   (p[0] >= 'A' && p[0] <= 'Z' ? LS_ATOM_CAPITAL : 0) |
						   (len > 4 && memcmp(p + len - 3, "ing", 3) == 0 ? LS_ATOM_ING : 0) |
						   (len > 3 && memcmp(p + len - 2, "ed", 2) == 0 ? LS_ATOM_ED : 0));
		}
	}
	scan->atoms[scan->n] = *a;
	scan->atoms[scan->n++].off = (uint32_t) off;
}

/* Letters only: split at camelCase, keeping OOMKilled as OOM, Killed. */
static void
split_letters(scan *scan, size_t off, size_t len)
{
	const char *p = scan->text.data + off;
	size_t start = 0;
	uint64_t whole;
	int first = scan->n;
	/* PostgreSQL, RabbitMQ, InnoDB: a product's name is one word */
	bool product =
		len > 4 && (memcmp(p + len - 3, "SQL", 3) == 0 || memcmp(p + len - 2, "MQ", 2) == 0 ||
					memcmp(p + len - 2, "DB", 2) == 0);

	for (size_t i = 1; i < len && len > 3 && scan->n < first + 6 && !product; i++)
	{
		char_class before = class_at(scan, off + i - 1), here = class_at(scan, off + i);

		if (here == CC_UPPER &&
			(before == CC_LOWER ||
			 (before == CC_UPPER && i + 1 < len && i - start > 1 &&
			  class_at(scan, off + i + 1) == CC_LOWER && !(i + 2 == len && p[i + 1] == 's'))))
		{
			push(scan, off + start, i - start, LS_ATOM_WORD);
			start = i;
		}
	}
	push(scan, off + start, len - start, LS_ATOM_WORD);
	if (start > 0 && first < scan->n)
		scan->atoms[first].joined = stem_text(p, len, &whole);
}

/* Begins with a digit: 41m10s is numbers with units, 9a1 is one piece. */
static void
split_digits(scan *scan, size_t off, size_t len)
{
	double factor;
	ls_judge_dim dim;
	int first = scan->n;

	for (size_t i = off, number = off; i < off + len; number = i)
	{
		size_t unit;

		while (class_at(scan, i) == CC_DIGIT || (i < off + len && scan->text.data[i] == '.'))
			i++;
		unit = i;
		while (i < off + len && class_at(scan, i) != CC_DIGIT)
			i++;
		push(scan, number, unit - number, LS_ATOM_NUMBER);
		if (i == unit || scan->n > first + 5 ||
			!ls_judge_number_unit(ls_str_make(scan->text.data + unit, i - unit), &factor, &dim))
		{
			scan->n = first;
			push(scan, off, len, LS_ATOM_MIXED);
			return;
		}
		push(scan, unit, i - unit, LS_ATOM_WORD);
	}
}

/* A run of letters and digits at `start`; returns where it ends. */
static size_t
split_run(scan *scan, size_t start)
{
	const char *s = scan->text.data;
	bool high = false, letter = false, digit_first = class_at(scan, start) == CC_DIGIT;
	bool digit = digit_first;
	size_t i = start, len;

	for (; i < scan->text.len; i += len)
	{
		char_class k = class_at(scan, i);

		len = 1;
		if (k == CC_HIGH && high_kind(s + i, s + scan->text.len, &len) != 1)
			break;
		if (k == CC_SPACE || (k == CC_SIGN && !(s[i] == '.' && digit_first && !letter &&
												class_at(scan, i + 1) == CC_DIGIT)))
			break;
		digit |= k == CC_DIGIT;
		high |= k == CC_HIGH;
		letter |= k == CC_HIGH || k == CC_LOWER || k == CC_UPPER;
	}
	if (!digit)
		split_letters(scan, start, i - start);
	else if (!letter)
		push(scan, start, i - start, LS_ATOM_NUMBER);
	else if (digit_first && !high)
		split_digits(scan, start, i - start);
	else
		push(scan, start, i - start, LS_ATOM_MIXED);
	return i;
}

/* The next atoms after `before`, where the last one ended; returns where they end. */
static size_t
scan_next(scan *scan, size_t before)
{
	const char *s = scan->text.data;
	size_t n = scan->text.len, i = before, end, len = 1;
	int first = scan->n, kind = 0;
	bool empty, root = false;
	ls_judge_sep sep;

	for (; i < n; i += len)
	{
		char_class k = class_at(scan, i);

		len = 1;
		kind = k == CC_HIGH ? high_kind(s + i, s + n, &len) : k != CC_SIGN && k != CC_SPACE;
		/* a slash alone is the root path */
		root = s[i] == '/' && i > 0 && s[i - 1] == ' ' && (i + 1 == n || s[i + 1] == ' ');
		if (kind != 0 || root)
			break;
	}
	if (i >= n)
		return n;
	end = i + len;
	if (kind != 1)
		push(scan, i, len, LS_ATOM_SYMBOL);
	else /* v1.4.2: the number counts, not the letter */
		end = split_run(scan, i + (s[i] == 'v' && class_at(scan, i + 1) == CC_DIGIT));
	sep = separator(s + before, i - before, &empty);
	if (first < scan->n)
	{
		scan->atoms[first].sep = (uint8_t) (before == 0 ? LS_SEP_START
											: root      ? LS_SEP_SPACE
											: kind == 2 ? LS_SEP_OTHER
														: sep);
		scan->atoms[first].flags |= empty ? LS_ATOM_EMPTY : 0;
	}
	return end;
}

/* Marks dates and clock times: their numbers are no values. */
static void
mark_times(ls_judge_text *t)
{
	for (int i = 0; i + 2 < t->n; i++)
	{
		ls_judge_atom *a = &t->atoms[i];
		bool clock = a[1].sep == LS_SEP_COLON && a[2].sep == LS_SEP_COLON && a[0].len <= 3 &&
					 a[1].len == 2 && a[0].kind != LS_ATOM_WORD && a[1].kind == LS_ATOM_NUMBER;
		bool date = a[0].kind == LS_ATOM_NUMBER && a[0].len == 4 && a[1].len == 2 &&
					((a[1].sep == LS_SEP_TIGHT && a[2].sep == LS_SEP_TIGHT) ||
					 (a[1].sep == LS_SEP_SLASH && a[2].sep == LS_SEP_SLASH)) &&
					a[1].kind == LS_ATOM_NUMBER;

		if (clock || date)
			for (int k = 0; k < 3; k++)
				a[k].flags |= LS_ATOM_TIME;
	}
}

/* A verb with its particle is one word too: "rolled back", "time-out". */
static void
join(ls_str text, ls_judge_atom *a, const ls_judge_atom *b)
{
	char both[LS_STEM_MAX];
	size_t n = 0;

	if (a->joined != 0 || a->kind != LS_ATOM_WORD || b->kind != LS_ATOM_WORD || b->len > 4 ||
		b->sep == LS_SEP_START ||
		(b->sep != LS_SEP_SPACE && b->sep != LS_SEP_TIGHT && b->sep != LS_SEP_NONE) ||
		a->len + b->len >= LS_STEM_MAX)
		return;
	for (size_t k = 0; k < a->len; k++)
		both[n++] = (char) (text.data[a->off + k] | 0x20);
	n = ls_judge_stem_word(both, n);
	for (size_t k = 0; k < b->len; k++)
		both[n++] = (char) (text.data[b->off + k] | 0x20);
	a->joined = ls_judge_hash_word(both, ls_judge_stem_word(both, n));
}

int
ls_judge_text_scan(const ls_judge_ctx *ctx, ls_str text, ls_judge_atom *atoms, int max_atoms)
{
	scan scan = {ctx, text, atoms, 0, max_atoms};
	ls_judge_text t;
	uint16_t clause = 0, word;

	for (size_t at = 0; at < text.len && scan.n < max_atoms;)
		at = scan_next(&scan, at);
	t = (ls_judge_text){text, atoms, scan.n};
	mark_times(&t);
	for (int i = 0; i < t.n; i++)
	{
		clause += atoms[i].sep == LS_SEP_COMMA;
		atoms[i].clause = clause;
		if (i + 1 < t.n)
			join(text, &atoms[i], &atoms[i + 1]);
		word = atoms[i].joined ? ls_judge_words_find(&ctx->words, atoms[i].joined) : 0;
		if (word == 0)
			continue;
		atoms[i].word = word;
		atoms[i].stem = atoms[i].joined;
		if (i + 1 < t.n && atoms[i + 1].sep != LS_SEP_NONE)
			atoms[i + 1].word = ctx->particle; /* its meaning is in the verb now */
	}
	return t.n;
}
