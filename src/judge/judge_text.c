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

static inline char_class
classify(unsigned char c)
{
	return (char_class) classes[c];
}

static inline bool
is_word_byte(unsigned char c)
{
	char_class k = classify(c);

	return k == CC_LOWER || k == CC_UPPER || k == CC_DIGIT || k == CC_HIGH;
}

/* Folded and stemmed hash of a word as it stands in the text; `whole` gets that of it unstemmed. */
static uint64_t
stem_text(const char *p, size_t len, bool high, uint64_t *whole)
{
	char buf[LS_STEM_MAX];
	size_t n = 0;

	*whole = 0;
	if (len > sizeof(buf))
		return ls_judge_hash_word(p, len);
	if (!high)
	{
		for (size_t i = 0; i < len; i++)
			buf[n++] = (char) (p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]);
		*whole = ls_judge_hash_word(buf, n);
		return ls_judge_hash_word(buf, ls_judge_stem_word(buf, n));
	}
	/* Folding keeps or shrinks almost every letter; what grows is left as it is. */
	for (const char *pos = p, *end = p + len; pos < end;)
	{
		const char *before = pos;
		uint32_t c = ls_unicode_fold(ls_utf8_next(&pos, end));
		size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

		if (pos <= before || size > (size_t) (pos - before))
			return ls_judge_hash_word(p, len);
		if (size == 1)
			buf[n++] = (char) c;
		else
		{
			for (size_t i = size - 1; i > 0; i--, c >>= 6)
				buf[n + i] = (char) (0x80 | (c & 0x3F));
			buf[n] = (char) ((0xF0 << (4 - size)) | c);
			n += size;
		}
	}
	return ls_judge_hash_word(buf, ls_judge_stem_word(buf, n));
}

/* What stands between two atoms. */
static ls_judge_sep
separator(const char *p, size_t n, bool *paren, bool *empty)
{
	static const uint8_t single[256] = {
		['_'] = LS_SEP_TIGHT, ['-'] = LS_SEP_TIGHT,  ['.'] = LS_SEP_DOT, ['/'] = LS_SEP_SLASH,
		[':'] = LS_SEP_COLON, ['\\'] = LS_SEP_SLASH, ['@'] = LS_SEP_AT,  ['#'] = LS_SEP_AT,
		['+'] = LS_SEP_AT,    ['~'] = LS_SEP_AT,     ['$'] = LS_SEP_AT,  [' '] = LS_SEP_SPACE,
	};
	bool comma = false, equal = false, space = false, colon = false;

	*paren = *empty = false;
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
		*paren |= p[i] == '(' || p[i] == '[';
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

static void
push(ls_judge_scan *scan, size_t off, size_t len, ls_judge_kind kind, bool high)
{
	const char *p = scan->text.data + off;
	uint64_t key = ls_judge_hash_word(p, len), whole;
	ls_judge_memo *memo = &scan->memo[key >> 32 & (LS_MEMO - 1)];
	ls_judge_atom *a;
	size_t upper = 0;

	if (scan->queued >= (int) (sizeof(scan->queue) / sizeof(scan->queue[0])))
		return;
	if (memo->key != key || memo->atom.kind != kind)
	{
		memo->key = key;
		a = &memo->atom;
		*a = (ls_judge_atom){.kind = (uint8_t) kind, .sep = LS_SEP_NONE};
		a->len = (uint16_t) (len > UINT16_MAX ? UINT16_MAX : len);
		a->stem = stem_text(p, len, high, &whole);
		a->word = kind == LS_ATOM_NUMBER ? 0 : ls_judge_words_find(scan->words, a->stem);
		for (size_t i = 0; i < len; i++)
			upper += p[i] >= 'A' && p[i] <= 'Z';
		if (kind == LS_ATOM_WORD)
		{
			a->sets = whole != 0 ? ls_judge_words_sets(scan->words, whole) : 0;
			a->flags =
				(uint8_t) ((upper == len && len > 1 ? LS_ATOM_UPPER : 0) |
						   (p[0] >= 'A' && p[0] <= 'Z' ? LS_ATOM_CAPITAL : 0) |
						   (len > 4 && memcmp(p + len - 3, "ing", 3) == 0 ? LS_ATOM_ING : 0) |
						   (len > 3 && memcmp(p + len - 2, "ed", 2) == 0 ? LS_ATOM_ED : 0));
		}
	}
	a = &scan->queue[scan->queued++];
	*a = memo->atom;
	a->off = (uint32_t) off;
}

/* Letters only: split at camelCase, keeping OOMKilled as OOM, Killed. */
static void
split_letters(ls_judge_scan *scan, size_t off, size_t len, bool high)
{
	const char *p = scan->text.data + off;
	size_t start = 0;
	uint64_t whole;
	int parts = 0;

	/* PostgreSQL, RabbitMQ, InnoDB: a product's name is one word */
	bool product =
		len > 4 && (memcmp(p + len - 3, "SQL", 3) == 0 || memcmp(p + len - 2, "MQ", 2) == 0 ||
					memcmp(p + len - 2, "DB", 2) == 0);

	for (size_t i = 1; i < len && len > 3 && parts < 6 && !product; i++)
	{
		char_class before = classify((unsigned char) p[i - 1]);
		char_class here = classify((unsigned char) p[i]);
		bool cut = before == CC_LOWER && here == CC_UPPER;

		if (before == CC_UPPER && here == CC_UPPER && i + 1 < len && i - start > 1 &&
			classify((unsigned char) p[i + 1]) == CC_LOWER && !(i + 2 == len && p[i + 1] == 's'))
			cut = true;
		if (cut)
		{
			push(scan, off + start, i - start, LS_ATOM_WORD, high);
			start = i;
			parts++;
		}
	}
	push(scan, off + start, len - start, LS_ATOM_WORD, high);
	if (parts > 0)
		scan->queue[0].joined = stem_text(p, len, high, &whole);
}

/* Begins with a digit: 41m10s is numbers with units, 9a1 is one piece. */
static void
split_digits(ls_judge_scan *scan, size_t off, size_t len)
{
	const char *p = scan->text.data + off;
	double factor;
	ls_judge_dim dim;

	for (size_t i = 0, number = 0; i < len; number = i)
	{
		size_t unit;

		while (i < len && (classify((unsigned char) p[i]) == CC_DIGIT || p[i] == '.'))
			i++;
		unit = i;
		while (i < len && classify((unsigned char) p[i]) != CC_DIGIT)
			i++;
		if (i == unit || !ls_judge_number_unit(ls_str_make(p + unit, i - unit), &factor, &dim) ||
			scan->queued > 4)
		{
			scan->queued = 0;
			push(scan, off, len, LS_ATOM_MIXED, false);
			return;
		}
		push(scan, off + number, unit - number, LS_ATOM_NUMBER, false);
		push(scan, off + unit, i - unit, LS_ATOM_WORD, false);
	}
}

/* Tells the first atom of a run what stands between it and the one before, which ended at `before`. */
static void
set_separator(ls_judge_scan *scan, size_t before, size_t start)
{
	bool paren, empty;
	ls_judge_sep sep = separator(scan->text.data + before, start - before, &paren, &empty);

	scan->queue[0].sep = (uint8_t) (before == 0 ? LS_SEP_START : sep);
	if (paren)
		scan->queue[0].flags |= LS_ATOM_PAREN;
	if (empty)
		scan->queue[0].flags |= LS_ATOM_EMPTY;
}

/* A run of letters and digits at `i`. */
static void
split_run(ls_judge_scan *scan, size_t i)
{
	const char *s = scan->text.data;
	size_t n = scan->text.len, start = i, len;
	bool high = false, letter = false, digit = false;
	bool digit_first = classify((unsigned char) s[i]) == CC_DIGIT;

	while (i < n)
	{
		char_class k = classify((unsigned char) s[i]);

		if (k == CC_HIGH)
		{
			if (high_kind(s + i, s + n, &len) != 1)
				break;
			high = letter = true;
			i += len;
			continue;
		}
		if (k == CC_DIGIT)
			digit = true;
		else if (k == CC_LOWER || k == CC_UPPER)
			letter = true;
		else if (!(digit_first && !letter && s[i] == '.' && i + 1 < n &&
				   classify((unsigned char) s[i + 1]) == CC_DIGIT))
			break;
		i++;
	}
	len = i - start;
	scan->pos = i;
	if (!digit)
		split_letters(scan, start, len, high);
	else if (!letter)
		push(scan, start, len, LS_ATOM_NUMBER, false);
	else if (digit_first && !high)
		split_digits(scan, start, len);
	else
		push(scan, start, len, LS_ATOM_MIXED, high);
}

static bool
fill(ls_judge_scan *scan)
{
	const char *s = scan->text.data;
	size_t n = scan->text.len;
	size_t before = scan->pos, len;

	scan->queued = scan->taken = 0;
	for (size_t i = before; i < n;)
	{
		unsigned char c = (unsigned char) s[i];
		int kind = 1;

		if (!is_word_byte(c))
		{
			/* A slash alone is the root path. */
			if (c == '/' && i > 0 && s[i - 1] == ' ' && (i + 1 == n || s[i + 1] == ' '))
			{
				push(scan, i, 1, LS_ATOM_SYMBOL, false);
				scan->pos = i + 1;
				scan->queue[0].sep = LS_SEP_SPACE;
				return true;
			}
			i++;
			continue;
		}
		if (c >= 0x80 && (kind = high_kind(s + i, s + n, &len)) == 0)
		{
			i += len;
			continue;
		}
		if (kind == 2)
		{
			push(scan, i, len, LS_ATOM_SYMBOL, true);
			scan->queue[0].sep = (uint8_t) (before == 0 ? LS_SEP_START : LS_SEP_OTHER);
			scan->pos = i + len;
			return true;
		}
		/* v1.4.2: the number counts, not the letter */
		split_run(scan, i + (c == 'v' && i + 1 < n && ls_judge_is_digit(s[i + 1])));
		set_separator(scan, before, i);
		return scan->queued > 0;
	}
	scan->pos = n;
	return false;
}

bool
ls_judge_scan_next(ls_judge_scan *scan, ls_judge_atom *atom)
{
	if (scan->taken >= scan->queued && !fill(scan))
		return false;
	*atom = scan->queue[scan->taken++];
	return true;
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
void
ls_judge_atom_join(ls_str text, ls_judge_atom *a, const ls_judge_atom *b)
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
	ls_judge_scan scan = {.text = text, .words = &ctx->words, .memo = ctx->memo};
	ls_judge_text t = {text, atoms, 0};
	uint16_t clause = 0;

	while (t.n < max_atoms && ls_judge_scan_next(&scan, &atoms[t.n]))
	{
		ls_judge_atom *a = &atoms[t.n];

		if (a->sep == LS_SEP_COMMA)
			clause++;
		a->clause = clause;
		if (t.n++ > 0)
			ls_judge_atom_join(text, a - 1, a);
	}
	mark_times(&t);
	for (int i = 0; i < t.n; i++)
	{
		ls_judge_atom *a = &atoms[i];
		uint16_t word;

		word = a->joined ? ls_judge_words_find(&ctx->words, a->joined) : 0;

		if (word == 0)
			continue;
		a->word = word;
		a->stem = a->joined;
		if (i + 1 < t.n && a[1].sep != LS_SEP_NONE)
			a[1].word = ctx->particle; /* its meaning is in the verb now */
	}
	return t.n;
}

int
ls_judge_atom_at(const ls_judge_text *t, size_t at)
{
	int low = 0, high = t->n;

	while (low < high)
	{
		int middle = (low + high) / 2;

		if (t->atoms[middle].off + t->atoms[middle].len <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
