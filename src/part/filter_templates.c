/*-------------------------------------------------------------------------
 *
 * filter_templates.c
 *	  Searches in texts that are stored as templates, without making all of them (pure).
 *
 * A text that matches has certain pieces (needles): the words of a phrase with gaps between them, the
 * literals of a regular expression.  For each template it is found out where a needle may be, with any
 * digits in the place of its numbers.  If a needle can be nowhere, no text of the template matches.  If a
 * phrase is in literals, all do.  If needles can only be in literals and in entries of lists, all texts
 * with the same entries have the same answer, because numbers are words or parts of words whatever their
 * digits; so one of these texts is made and searched.  The same holds for regular expressions that treat
 * all digits alike, for texts whose numbers have the same lengths.  Where a template has texts of any kind,
 * these are searched for one of the pieces.  All other texts are made one by one.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/filter_eval.h"
#include "src/part/part_expand.h"

#define MAX_NEEDLES 6
#define MAX_PLACES 64
#define MEMO 1024 /* answers for texts that are alike */
#define WALKED_BYTES \
	32 /* texts within templates that are longer on average are not walked through */

/* Where one byte leads: the places that it can be at, and those that a piece stays at. */
typedef struct step
{
	uint64_t next;
	uint64_t stay;
} step;

/*
 * A piece that each text that matches has.  It is a row of places: a byte, in one case or both, or a gap of
 * any bytes that are not of words.  A bit for each place says how far a text has come.
 */
typedef struct needle
{
	step steps[256];
	step digits; /* any of the steps of decimal digits */
	step hex;    /* of hexadecimal ones in lower case */
	uint64_t last;
	uint32_t n;
	bool from_gap; /* it begins with one, as texts do */
} needle;

typedef enum verdict
{
	TEMPLATE_UNKNOWN,
	TEMPLATE_NEVER,  /* no text matches */
	TEMPLATE_ALWAYS, /* all do */
	TEMPLATE_ALIKE,  /* texts with the same key have the same answer */
	TEMPLATE_SOME,   /* texts with a mark are made; the others do not match */
	TEMPLATE_EACH    /* texts are made */
} verdict;

typedef struct memo_entry
{
	uint64_t key;
	uint32_t template; /* 1 + its number; 0: free */
	uint32_t matches;
} memo_entry;

typedef struct ls_template_search
{
	needle *needles;
	uint32_t n;
	bool folded;         /* the needles are; texts have any case */
	bool words;          /* and are words: a gap is before and after each text */
	bool from_high;      /* a needle has a letter that other characters fold to */
	bool complete;       /* nothing besides the needles must be in numbers */
	bool exact;          /* each text with the needle matches */
	bool by_length;      /* answers depend on the lengths of numbers, but not on their digits */
	needle *anchor;      /* one of the pieces; NULL: none */
	ls_needle piece;     /* the same */
	bool in_word;        /* it lies within a word, and not all of it within numbers */
	uint8_t after[256];  /* a byte of it: bits of what may have made the byte before it */
	uint8_t before[256]; /* the same of the byte after it */
	uint8_t inside;      /* all of these */
	ls_buf text;
	uint8_t verdicts[LS_PART_BLOCK_ROWS]; /* of the templates of a block */
	uint8_t marks[LS_PART_BLOCK_ROWS];    /* of rows, by template */
	uint16_t starts[LS_PART_BLOCK_ROWS];  /* of each template's in `marks` */
	uint32_t n_marks;
	memo_entry memo[MEMO];
} ls_template_search;

/* ---- needles ---- */

static needle *
begin_needle(ls_template_search *s)
{
	if (s->n == MAX_NEEDLES)
	{
		s->complete = s->exact = false;
		return NULL;
	}
	s->exact = s->exact && s->n == 0;
	return &s->needles[s->n++];
}

/* The bit of one more place; 0: there is none left, the piece ends before it. */
static uint64_t
add_place(ls_template_search *s, needle *n)
{
	if (n->n == MAX_PLACES)
	{
		s->complete = s->exact = false;
		return 0;
	}
	n->last = UINT64_C(1) << n->n++;
	return n->last;
}

static void
add_gap(ls_template_search *s, needle *n)
{
	uint64_t place = add_place(s, n);

	n->from_gap = n->from_gap || n->n == 1;
	for (int c = 0; c < 256; c++)
	{
		if (!ls_is_word_byte((char) c))
		{
			n->steps[c].next |= place;
			n->steps[c].stay |= place;
		}
	}
}

static void
add_bytes(ls_template_search *s, needle *n, ls_str text)
{
	for (size_t i = 0; i < text.len; i++)
	{
		unsigned char c = (unsigned char) text.data[i];
		uint64_t place = add_place(s, n);

		n->steps[c].next |= place;
		if (s->folded && c >= 'a' && c <= 'z')
			n->steps[c - 'a' + 'A'].next |= place;
		s->from_high = s->from_high || (s->folded && (c == 'k' || c == 's'));
	}
}

/* Any bytes of words may follow the last place. */
static void
add_star(needle *n)
{
	for (int c = 0; c < 256; c++)
	{
		if (ls_is_word_byte((char) c))
			n->steps[c].stay |= n->last;
	}
}

/* Other characters may fold to several bytes. */
static bool
is_ascii(ls_str text)
{
	for (size_t i = 0; i < text.len; i++)
	{
		if ((unsigned char) text.data[i] >= 0x80)
			return false;
	}
	return true;
}

static void
add_piece(ls_template_search *s, ls_str text)
{
	needle *n;

	if (text.len == 0)
		s->exact = false;
	else if (s->folded && !is_ascii(text))
		s->complete = s->exact = false;
	else if ((n = begin_needle(s)) != NULL)
		add_bytes(s, n, text);
}

/*
 * The next word, with a star between two of its parts.  *n: the needle that it continues; NULL: it begins
 * one, after a gap unless it begins with a star.
 */
static void
add_word(ls_template_search *s, const ls_str *parts, uint32_t n_parts, needle **n)
{
	bool ascii = true;

	for (uint32_t i = 0; i < n_parts; i++)
		ascii = ascii && is_ascii(parts[i]);
	if (!ascii)
		s->complete = s->exact = false;
	if (!ascii || parts[0].len == 0)
	{
		s->exact = s->exact && *n == NULL && s->n == 0;
		*n = NULL;
	}
	if (!ascii)
		return;
	for (uint32_t i = 0; i < n_parts; i++)
	{
		if (parts[i].len == 0)
			continue;
		if (*n == NULL)
		{
			*n = begin_needle(s);
			if (*n == NULL)
				return;
			if (i == 0)
				add_gap(s, *n);
		}
		add_bytes(s, *n, parts[i]);
		if (i < n_parts - 1 && (*n)->n < MAX_PLACES)
			add_star(*n);
	}
	if (*n == NULL)
		s->exact = false;
	else if (parts[n_parts - 1].len > 0)
		add_gap(s, *n);
	else
		*n = NULL;
}

static void
finish_needle(needle *n)
{
	for (int i = 0; i < 16; i++)
	{
		const step *of = &n->steps[(unsigned char) "0123456789abcdef"[i]];

		n->hex.next |= of->next;
		n->hex.stay |= of->stay;
		if (i == 9)
			n->digits = n->hex;
	}
}

/*
 * The best piece to search texts for: a long one, but rather one without letters that other characters fold
 * to.
 */
static void
prefer_anchor(const ls_template_search *s, ls_str text, ls_str *best)
{
	bool high[2] = {false, false};
	const ls_str *of[2] = {best, &text};

	if (text.len == 0 || (s->folded && !is_ascii(text)))
		return;
	for (int k = 0; k < 2; k++)
	{
		for (size_t i = 0; s->folded && i < of[k]->len; i++)
			high[k] = high[k] || of[k]->data[i] == 'k' || of[k]->data[i] == 's';
	}
	if (best->len == 0 || (high[0] != high[1] ? high[0] : text.len > best->len))
		*best = text;
}

/* Is it a part of a word, with a byte that no number has? */
static bool
is_in_word(ls_str piece)
{
	bool in_numbers = true;

	for (size_t i = 0; i < piece.len; i++)
	{
		char c = piece.data[i];

		if (!ls_is_word_byte(c))
			return false;
		in_numbers = in_numbers && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'));
	}
	return !in_numbers;
}

/* What may make a byte: bits. */
enum
{
	MADE_BY_DIGITS = 1,
	MADE_BY_HEX = 2,
	MADE_BY_ANY = 4
};

static void
mark_border(ls_template_search *s, uint8_t *borders, char byte, char beside)
{
	bool digit = beside >= '0' && beside <= '9';
	bool hex = digit || (beside >= 'a' && beside <= 'f');
	uint8_t makers =
		(uint8_t) (MADE_BY_ANY | (digit ? MADE_BY_DIGITS : 0) | (hex ? MADE_BY_HEX : 0));

	borders[(unsigned char) byte] |= makers;
	s->inside |= makers;
	if (s->folded && byte >= 'a' && byte <= 'z')
		borders[byte - 'a' + 'A'] |= makers;
}

/* False when out of memory. */
static bool
set_anchor(ls_template_search *s, ls_arena *arena, ls_str best)
{
	if (best.len == 0)
		return true;
	best.len = best.len > MAX_PLACES ? MAX_PLACES : best.len;
	s->anchor = ls_new(arena, needle);
	if (s->anchor == NULL)
		return false;
	add_bytes(s, s->anchor, best);
	finish_needle(s->anchor);
	s->piece = (ls_needle){.text = best}; /* as it is, in any bytes */
	if (s->folded && !ls_needle_make(arena, best, &s->piece))
		return false;
	s->in_word = is_in_word(best) && !s->piece.from_high;
	for (size_t i = 1; i < best.len; i++)
	{
		mark_border(s, s->after, best.data[i], best.data[i - 1]);
		mark_border(s, s->before, best.data[i - 1], best.data[i]);
	}
	return true;
}

static ls_template_search *
make_search(ls_filter_run *run, const ls_leaf *leaf)
{
	ls_template_search *s = ls_new(run->arena, ls_template_search);
	ls_str best = LS_STR("");
	needle *n = NULL;

	if (s == NULL)
		return NULL;
	s->needles = ls_new_array(run->arena, needle, MAX_NEEDLES);
	if (s->needles == NULL)
		return NULL;
	ls_buf_init(&s->text, run->arena);
	s->complete = s->exact = true;
	s->folded = leaf->filter->op != LS_FILTER_MATCHES;
	s->words = ls_is_text_op(leaf->filter->op);
	switch (leaf->filter->op)
	{
		case LS_FILTER_PHRASE:
			for (uint32_t i = 0; i < leaf->phrase.n_tokens; i++)
			{
				add_word(s, &leaf->phrase.tokens[i].text, 1, &n);
				prefer_anchor(s, leaf->phrase.tokens[i].text, &best);
			}
			break;
		case LS_FILTER_PHRASE_WILDCARD:
			for (size_t i = 0; i < leaf->pattern.n_tokens; i++)
			{
				const ls_wildcard *word = &leaf->pattern.tokens[i];

				add_word(s, word->parts, word->n_parts, &n);
				for (uint32_t k = 0; k < word->n_parts; k++)
					prefer_anchor(s, word->parts[k], &best);
			}
			break;
		case LS_FILTER_CONTAINS:
			add_piece(s, leaf->needle.text);
			prefer_anchor(s, leaf->needle.text, &best);
			break;
		default:
			s->complete = s->exact = false;
			for (uint32_t i = 0; i < leaf->facts.n; i++)
			{
				add_piece(s, leaf->facts.literals[i]);
				prefer_anchor(s, leaf->facts.literals[i], &best);
			}
			s->by_length = leaf->facts.digits_alike;
			break;
	}
	for (uint32_t i = 0; i < s->n; i++)
		finish_needle(&s->needles[i]);
	return set_anchor(s, run->arena, best) ? s : NULL;
}

/* ---- templates ---- */

/*
 * How far a needle has come, as bits of its places.  Those in `numbers` have a byte of a number; those in
 * `certain` are there in all texts of the template.
 */
typedef struct walk
{
	uint64_t fixed;
	uint64_t numbers;
	uint64_t certain;
	bool in_fixed; /* the whole needle was there */
	bool in_numbers;
	bool in_certain;
} walk;

static inline uint64_t
take_step(uint64_t at, step by)
{
	return ((at << 1 | 1) & by.next) | (at & by.stay);
}

static inline void
walk_bytes(const needle *n, const char *s, size_t len, walk *w)
{
	uint64_t fixed = 0;
	uint64_t numbers = 0;
	uint64_t certain = 0;

	/* Before the first list or number, and often after it. */
	if (w->numbers == 0 && w->certain == w->fixed)
	{
		for (size_t i = 0; i < len; i++)
		{
			w->fixed = take_step(w->fixed, n->steps[(unsigned char) s[i]]);
			fixed |= w->fixed;
		}
		w->certain = w->fixed;
		w->in_fixed |= (fixed & n->last) != 0;
		w->in_certain |= (fixed & n->last) != 0;
		return;
	}
	for (size_t i = 0; i < len; i++)
	{
		step by = n->steps[(unsigned char) s[i]];

		w->fixed = take_step(w->fixed, by);
		w->certain = take_step(w->certain, by);
		w->numbers = ((w->numbers << 1) & by.next) | (w->numbers & by.stay);
		fixed |= w->fixed;
		certain |= w->certain;
		numbers |= w->numbers;
	}
	w->in_fixed |= (fixed & n->last) != 0;
	w->in_certain |= (certain & n->last) != 0;
	w->in_numbers |= (numbers & n->last) != 0;
}

/* One byte of a number. */
static inline void
walk_class(const needle *n, step by, walk *w)
{
	w->numbers = take_step(w->fixed | w->numbers, by);
	w->fixed = w->certain = 0;
	w->in_numbers |= (w->numbers & n->last) != 0;
}

static void
walk_list(const needle *n, const ls_template_column *column, walk *w)
{
	walk ends = *w;
	bool certain = true;

	ends.fixed = ends.numbers = 0;
	ends.certain = UINT64_MAX;
	for (uint32_t i = 0; i < column->n_list; i++)
	{
		walk one = *w;

		walk_bytes(n, column->list[i].data, column->list[i].len, &one);
		ends.fixed |= one.fixed;
		ends.numbers |= one.numbers;
		ends.certain &= one.certain;
		ends.in_fixed |= one.in_fixed;
		ends.in_numbers |= one.in_numbers;
		certain = certain && one.in_certain;
	}
	ends.in_certain = certain;
	*w = ends;
}

static void
walk_op(const needle *n, const ls_text_op *o, walk *w)
{
	switch (o->kind)
	{
		case LS_TEMPLATE_LITERAL:
			walk_bytes(n, o->u.literal, o->parameter, w);
			break;
		case LS_TEMPLATE_CODES:
			walk_list(n, o->u.column, w);
			break;
		case LS_TEMPLATE_DIGITS:
		case LS_TEMPLATE_HEX:
			for (uint32_t i = 0; i < o->parameter; i++)
				walk_class(n, o->kind == LS_TEMPLATE_DIGITS ? n->digits : n->hex, w);
			break;
		case LS_TEMPLATE_INTEGERS:
		case LS_TEMPLATE_PACKED:
		{
			uint64_t ends = 0;

			for (uint32_t i = 1; i <= (o->parameter > 0 ? o->parameter : LS_TEMPLATE_MAX_DIGITS);
				 i++)
			{
				walk_class(n, n->digits, w);
				ends |= o->parameter > 0 ? 0 : w->numbers;
			}
			w->numbers |= ends;
			break;
		}
		default: /* TEXTS are not walked through */
			break;
	}
}

/* Is there something that folds to an ASCII letter, also when it is cut by a border of ops? */
static bool
folds_bytes(ls_str s)
{
	return ls_folds_to_ascii(s.data, s.len) ||
		   (s.len > 0 && ((unsigned char) s.data[0] & 0xC0) == 0x80);
}

static bool
folds(const ls_text_template *t)
{
	for (const ls_text_op *o = t->ops; o < t->ops + t->n_ops; o++)
	{
		if (o->kind == LS_TEMPLATE_LITERAL && folds_bytes(ls_str_make(o->u.literal, o->parameter)))
			return true;
		for (uint32_t i = 0; o->kind == LS_TEMPLATE_CODES && i < o->u.column->n_list; i++)
		{
			if (folds_bytes(o->u.column->list[i]))
				return true;
		}
	}
	return false;
}

/* How many keys a template can have; 0: too many. */
static uint64_t
keys(const ls_template_search *s, const ls_text_template *t)
{
	uint64_t n = 1;

	for (const ls_text_op *o = t->ops; o < t->ops + t->n_ops; o++)
	{
		uint64_t choices = 1;

		if (o->kind == LS_TEMPLATE_CODES)
			choices = o->u.column->n_list;
		else if (s->by_length && o->parameter == 0 &&
				 (o->kind == LS_TEMPLATE_INTEGERS || o->kind == LS_TEMPLATE_PACKED))
			choices = LS_TEMPLATE_MAX_DIGITS + 1;
		if (n > UINT64_MAX / choices)
			return 0;
		n *= choices;
	}
	return n;
}

static uint64_t
key_of(const ls_template_search *s, const ls_text_template *t, uint32_t row)
{
	uint64_t key = 0;

	for (const ls_text_op *o = t->ops; o < t->ops + t->n_ops; o++)
	{
		if (o->kind == LS_TEMPLATE_CODES)
			key = key * o->u.column->n_list + o->u.column->codes[row];
		else if (s->by_length && o->parameter == 0 &&
				 (o->kind == LS_TEMPLATE_INTEGERS || o->kind == LS_TEMPLATE_PACKED))
			key = key * (LS_TEMPLATE_MAX_DIGITS + 1) +
				  ls_template_digits((uint64_t) o->u.column->integers[row]);
	}
	return key;
}

static bool
has_piece(const ls_template_search *s, ls_str text)
{
	return text.len >= s->piece.text.len &&
		   ls_needle_find(&s->piece, text.data, text.len) != LS_NOT_FOUND;
}

static const uint8_t makers[LS_TEMPLATE_OPS] = {
	[LS_TEMPLATE_LITERAL] = MADE_BY_ANY,     [LS_TEMPLATE_CODES] = MADE_BY_ANY,
	[LS_TEMPLATE_TEXTS] = MADE_BY_ANY,       [LS_TEMPLATE_HEX] = MADE_BY_HEX,
	[LS_TEMPLATE_DIGITS] = MADE_BY_DIGITS,   [LS_TEMPLATE_PACKED] = MADE_BY_DIGITS,
	[LS_TEMPLATE_INTEGERS] = MADE_BY_DIGITS,
};

/* May the anchor go over the border between a list, or texts of any kind, and the op beside it? */
static inline bool
borders_list(const ls_template_search *s, const ls_text_op *o)
{
	/* Literals are looked at by themselves. */
	if (o->kind == LS_TEMPLATE_LITERAL)
		return false;
	return (s->inside & makers[o->kind]) != 0;
}

/*
 * Says quickly, for an anchor within a word, that it is in no literal and no list of a template, and over no
 * border of ops: there, the literal has a byte of it, and what is beside it may have made the next one.
 */
static bool
lacks_anchor(const ls_template_search *s, const ls_text_template *t)
{
	bool in_source = has_piece(s, t->source);

	for (uint32_t i = 0; i < t->n_ops; i++)
	{
		const ls_text_op *o = &t->ops[i];
		bool list = o->kind == LS_TEMPLATE_CODES || o->kind == LS_TEMPLATE_TEXTS;

		if (o->kind == LS_TEMPLATE_LITERAL)
		{
			const char *text = o->u.literal;

			if ((i > 0 && (s->after[(unsigned char) text[0]] & makers[o[-1].kind]) != 0) ||
				(i + 1 < t->n_ops &&
				 (s->before[(unsigned char) text[o->parameter - 1]] & makers[o[1].kind]) != 0) ||
				(in_source && has_piece(s, ls_str_make(text, o->parameter))))
				return false;
			continue;
		}
		if (list &&
			((i > 0 && borders_list(s, o - 1)) || (i + 1 < t->n_ops && borders_list(s, o + 1))))
			return false;
		for (uint32_t k = 0; o->kind == LS_TEMPLATE_CODES && k < o->u.column->n_list; k++)
		{
			if (has_piece(s, o->u.column->list[k]))
				return false;
		}
	}
	return true;
}

/*
 * Can the anchor be anywhere else than within one of the texts of a row?  A border of such a text may be
 * within it.
 */
static bool
anchor_elsewhere(const ls_template_search *s, const ls_text_template *t)
{
	walk w = {0};

	if (s->in_word && lacks_anchor(s, t))
		return false;
	for (uint32_t i = 0; i < t->n_ops; i++)
	{
		if (t->ops[i].kind != LS_TEMPLATE_TEXTS)
			walk_op(s->anchor, &t->ops[i], &w);
		else if ((w.fixed | w.numbers) != 0)
			return true;
		else
			w.fixed = s->anchor->last - 1;
	}
	return w.in_fixed || w.in_numbers;
}

/* Marks the rows with the anchor in a column of texts.  They lie one after the other. */
static void
mark_rows(const ls_template_search *s, const ls_text_template *t, const ls_str *texts,
		  uint8_t *marks)
{
	const char *from = texts[0].data;
	const char *end = texts[t->rows - 1].data + texts[t->rows - 1].len;
	uint32_t row = 0;

	if (s->piece.from_high && ls_folds_to_ascii(from, (size_t) (end - from)))
	{
		memset(marks, 1, t->rows);
		return;
	}
	while (from < end)
	{
		size_t at = ls_needle_find(&s->piece, from, (size_t) (end - from));

		if (at == LS_NOT_FOUND)
			break;
		from += at;
		while (texts[row].data + texts[row].len <= from)
			row++;
		marks[row] = 1;
		from = texts[row].data + texts[row].len;
	}
}

/* Walks from ops[i] to the next texts of any kind, or to the end; returns their number, or n_ops. */
static uint32_t
walk_between(const ls_template_search *s, const needle *n, const ls_text_template *t, uint32_t i,
			 walk *w)
{
	for (; i < t->n_ops && t->ops[i].kind != LS_TEMPLATE_TEXTS; i++)
		walk_op(n, &t->ops[i], w);
	if (i == t->n_ops && s->words)
		walk_bytes(n, " ", 1, w);
	return i;
}

/*
 * Marks the rows that may have the needle in their text, or have come from the places `before` to one of
 * `accept` after it.
 */
static void
mark_walked(const needle *n, const ls_text_template *t, const ls_str *texts, uint64_t before,
			uint64_t accept, uint8_t mark, uint8_t *marks)
{
	for (uint32_t row = 0; row < t->rows; row++)
	{
		uint64_t at = before;
		uint64_t seen = 0;

		for (size_t i = 0; i < texts[row].len; i++)
		{
			at = take_step(at, n->steps[(unsigned char) texts[row].data[i]]);
			seen |= at;
		}
		if ((seen & n->last) != 0 || (at & accept) != 0)
			marks[row] |= mark;
	}
}

/* Adds `mark` to the marks of the rows that may have the needle. */
static void
mark_needle(const ls_template_search *s, const needle *n, const ls_text_template *t, uint8_t mark,
			uint8_t *marks)
{
	walk w = {.fixed = n->from_gap, .certain = n->from_gap};
	bool anywhere = false;

	for (uint32_t i = walk_between(s, n, t, 0, &w); i < t->n_ops;)
	{
		uint64_t before = w.fixed | w.numbers;
		uint64_t accept = 0;

		anywhere = anywhere || w.in_fixed || w.in_numbers;
		/* The places from which the needle ends before the next texts. */
		for (uint32_t k = 0; k < n->n; k++)
		{
			w = (walk){.fixed = UINT64_C(1) << k};
			walk_between(s, n, t, i + 1, &w);
			if (w.in_fixed || w.in_numbers)
				accept |= UINT64_C(1) << k;
		}
		mark_walked(n, t, t->ops[i].u.column->entries, before, accept, mark, marks);
		w = (walk){0};
		walk_between(s, n, t, i + 1, &w);
		anywhere = anywhere || w.in_fixed || w.in_numbers;
		/* Whatever the texts are. */
		w = (walk){.fixed = n->last | (n->last - 1)};
		i = walk_between(s, n, t, i + 1, &w);
		w.in_fixed = w.in_numbers = false;
	}
	for (uint32_t row = 0; anywhere && row < t->rows; row++)
		marks[row] |= mark;
}

/* Marks the rows that may have all needles, by walking through their texts.  False: that does not pay. */
static bool
walk_rows(const ls_template_search *s, const ls_text_template *t, uint8_t *marks)
{
	uint8_t all = (uint8_t) ((1u << s->n) - 1);

	if (s->n == 0 || (s->from_high && folds(t)))
		return false;
	for (const ls_text_op *o = t->ops; o < t->ops + t->n_ops; o++)
	{
		const ls_str *texts;
		size_t bytes;

		if (o->kind != LS_TEMPLATE_TEXTS)
			continue;
		texts = o->u.column->entries;
		bytes = (size_t) (texts[t->rows - 1].data + texts[t->rows - 1].len - texts[0].data);
		if (bytes > (size_t) WALKED_BYTES * t->rows ||
			(s->from_high && ls_folds_to_ascii(texts[0].data, bytes)))
			return false;
	}
	for (uint32_t k = 0; k < s->n; k++)
		mark_needle(s, &s->needles[k], t, (uint8_t) (1u << k), marks);
	for (uint32_t row = 0; row < t->rows; row++)
		marks[row] = marks[row] == all;
	return true;
}

/* The verdict for a template with texts of any kind. */
static verdict
judge_open(ls_template_search *s, const ls_text_template *t, uint32_t number)
{
	uint8_t *marks = s->marks + s->n_marks;

	memset(marks, 0, t->rows);
	if (s->anchor == NULL || (s->piece.from_high && folds(t)) || anchor_elsewhere(s, t))
	{
		if (!walk_rows(s, t, marks))
			return TEMPLATE_EACH;
	}
	else
	{
		for (const ls_text_op *o = t->ops; o < t->ops + t->n_ops; o++)
		{
			if (o->kind == LS_TEMPLATE_TEXTS)
				mark_rows(s, t, o->u.column->entries, marks);
		}
	}
	if (memchr(marks, 1, t->rows) == NULL)
		return TEMPLATE_NEVER;
	s->starts[number] = (uint16_t) s->n_marks;
	s->n_marks += t->rows;
	return TEMPLATE_SOME;
}

static verdict
judge(ls_template_search *s, const ls_text_template *t, uint32_t number)
{
	bool open = false;
	bool hex = false;
	bool numbers = false;

	for (uint32_t i = 0; i < t->n_ops; i++)
	{
		open = open || t->ops[i].kind == LS_TEMPLATE_TEXTS;
		hex = hex || t->ops[i].kind == LS_TEMPLATE_HEX;
	}
	if (open)
		return judge_open(s, t, number);
	if (s->in_word && lacks_anchor(s, t))
		return TEMPLATE_NEVER;
	if (s->from_high && folds(t))
		return TEMPLATE_EACH;
	for (uint32_t k = 0; k < s->n; k++)
	{
		const needle *n = &s->needles[k];
		walk w = {0};

		w.fixed = w.certain = n->from_gap;
		for (uint32_t i = 0; i < t->n_ops; i++)
			walk_op(n, &t->ops[i], &w);
		if (s->words)
			walk_bytes(n, " ", 1, &w);
		if (!w.in_fixed && !w.in_numbers)
			return TEMPLATE_NEVER;
		if (w.in_certain && s->exact)
			return TEMPLATE_ALWAYS;
		numbers = numbers || w.in_numbers;
	}
	if (keys(s, t) == 0)
		return TEMPLATE_EACH;
	if (s->by_length)
		return hex ? TEMPLATE_EACH : TEMPLATE_ALIKE;
	return s->complete && !numbers ? TEMPLATE_ALIKE : TEMPLATE_EACH;
}

/* ---- rows ---- */

static bool
decide_row(ls_filter_run *run, ls_leaf *leaf, const ls_text_templates *from, uint32_t v,
		   bool *matches)
{
	ls_str text;

	if (!ls_part_templates_put(from, v, &leaf->templates->text, &text))
		return ls_part_fail(run->part, leaf->templates->text.failed || ls_arena_failed(from->arena)
										   ? "out of memory"
										   : "a column is damaged");
	*matches = ls_leaf_decide(run, leaf, 0, LS_KIND_STRING, text, 0) == LS_TRUE;
	return run->error == NULL;
}

static bool
decide_alike(ls_filter_run *run, ls_leaf *leaf, const ls_text_templates *from, uint32_t v,
			 bool *matches)
{
	ls_template_search *s = leaf->templates;
	uint32_t number = from->numbers[v];
	uint64_t key;
	memo_entry *e;

	if (s->by_length && !ls_template_load(from, number))
		return ls_part_fail(run->part,
							ls_arena_failed(from->arena) ? "out of memory" : "a column is damaged");
	key = key_of(s, &from->templates[number], from->places[v]);
	e = &s->memo[((key + number) * UINT64_C(0x9E3779B97F4A7C15)) >> 54];
	if (e->template != number + 1 || e->key != key)
	{
		if (!decide_row(run, leaf, from, v, matches))
			return false;
		*e = (memo_entry){key, number + 1, *matches};
	}
	*matches = e->matches != 0;
	return true;
}

static inline bool
is_marked(const ls_template_search *s, const ls_text_templates *from, uint32_t v)
{
	return s->marks[s->starts[from->numbers[v]] + from->places[v]] != 0;
}

/*
 * The verdicts for the templates of rows that are undecided; `all`: all rows are.  *some: is there one but NEVER?
 * False: making all texts at once is faster.
 */
static bool
judge_all(ls_leaf *leaf, const ls_text_templates *from, const uint32_t *ranks,
		  const uint64_t *undecided, bool all, uint8_t *verdicts, bool *some)
{
	uint32_t rows = 0;
	uint32_t each = 0;

	*some = !all;
	leaf->templates->n_marks = 0;
	for (uint32_t number = 0; all && number < from->n; number++)
	{
		const ls_text_template *t = &from->templates[number];

		verdicts[number] = (uint8_t) judge(leaf->templates, t, number);
		*some = *some || verdicts[number] != TEMPLATE_NEVER;
		if (verdicts[number] == TEMPLATE_EACH && !from->whole[number])
			each += t->rows;
	}
	if (all)
		return each <= from->count / 2;
	LS_FOR_EACH_ROW(row, undecided)
	{
		uint32_t v = ranks == NULL ? row : ranks[row];
		uint32_t number;

		if (v >= from->count)
			continue;
		number = from->numbers[v];
		if (verdicts[number] == TEMPLATE_UNKNOWN)
			verdicts[number] = (uint8_t) judge(leaf->templates, &from->templates[number], number);
		rows++;
		each += verdicts[number] == TEMPLATE_EACH && !from->whole[number];
	}
	return each <= from->count / 2 || each <= rows / 2;
}

bool
ls_leaf_eval_templates(ls_filter_run *run, ls_leaf *leaf, const ls_leaf_column *column,
					   uint32_t block, uint64_t *undecided, uint64_t *out, bool *done)
{
	ls_filter_op op = leaf->filter->op;
	const uint32_t *ranks = NULL;
	ls_text_templates from;
	uint8_t *verdicts;
	bool all;
	bool some;

	*done = false;
	if (column->nested > 0 || column->kind != LS_KIND_STRING ||
		(op != LS_FILTER_PHRASE && op != LS_FILTER_PHRASE_WILDCARD && op != LS_FILTER_CONTAINS &&
		 op != LS_FILTER_MATCHES))
		return true;
	if (!ls_part_text_templates(run->part, block, column->column, &from))
		return false;
	if (from.n == 0)
		return true;
	if (from.count < ls_part_block_rows(run->part, block))
	{
		ranks = ls_part_ranks(run->part, block, column->column);
		if (ranks == NULL)
			return false;
	}
	if (leaf->templates == NULL)
		leaf->templates = make_search(run, leaf);
	if (leaf->templates == NULL)
		return false;
	verdicts = leaf->templates->verdicts;
	memset(verdicts, TEMPLATE_UNKNOWN, from.n);
	all = ranks == NULL && ls_count_rows(undecided) == from.count;
	if (!judge_all(leaf, &from, ranks, undecided, all, verdicts, &some))
		return true;
	*done = true;
	if (!some)
	{
		memset(undecided, 0, LS_SELECTION_WORDS * sizeof(uint64_t));
		return true;
	}
	memset(leaf->templates->memo, 0, sizeof(leaf->templates->memo));
	LS_FOR_EACH_ROW(row, undecided)
	{
		uint32_t v = ranks == NULL ? row : ranks[row];
		bool matches;
		uint8_t verdict;

		if (v >= from.count)
			continue;
		undecided[row / 64] &= ~(UINT64_C(1) << (row % 64));
		verdict = verdicts[from.numbers[v]];
		if (verdict == TEMPLATE_NEVER)
			continue;
		matches = verdict == TEMPLATE_ALWAYS;
		if (verdict == TEMPLATE_SOME && is_marked(leaf->templates, &from, v))
			verdict = TEMPLATE_EACH;
		if (verdict == TEMPLATE_ALIKE
				? !decide_alike(run, leaf, &from, v, &matches)
				: verdict == TEMPLATE_EACH && !decide_row(run, leaf, &from, v, &matches))
			return false;
		if (matches)
			out[row / 64] |= UINT64_C(1) << (row % 64);
	}
	return true;
}
