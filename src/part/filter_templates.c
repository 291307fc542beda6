/*-------------------------------------------------------------------------
 *
 * filter_templates.c
 *	  Searches in texts that are stored as templates, without making all of them (pure).
 *
 * A text that matches has certain pieces (needles): the words of a phrase, the literals of a regular
 * expression.  For each template it is found out where a needle may be, with any digits in the
 * place of its numbers.  If a needle can be nowhere, no text of the template matches.  If needles
 * can only be in literals and in entries of lists, all texts with the same entries have the same
 * answer, because numbers are words or parts of words whatever their digits; so one of these texts is
 * made and searched.  The same holds for regular expressions that treat all digits alike, for
 * texts whose numbers have the same lengths.  All other texts are made one by one.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/filter_eval.h"
#include "src/part/part_expand.h"

#define MAX_NEEDLES 6
#define MAX_NEEDLE 64 /* bytes; of a longer one, the first */
#define MEMO 1024     /* answers for texts that are alike */

/* A piece that each text that matches has; for each byte, the places where the needle has it. */
typedef struct needle
{
	uint64_t places[256];
	uint64_t last;   /* the place of its end */
	uint64_t digits; /* places with a decimal digit */
	uint64_t hex;    /* with a hexadecimal one in lower case */
} needle;

typedef enum verdict
{
	TEMPLATE_UNKNOWN,
	TEMPLATE_NEVER, /* no text matches */
	TEMPLATE_ALIKE, /* texts with the same key have the same answer */
	TEMPLATE_EACH   /* texts are made */
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
	bool folded;    /* the needles are; texts have any case */
	bool from_high; /* a needle has a letter that other characters fold to */
	bool complete;  /* nothing besides the needles must be in numbers */
	bool by_length; /* answers depend on the lengths of numbers, but not on their digits */
	ls_buf text;
	uint8_t verdicts[LS_PART_BLOCK_ROWS]; /* of the templates of a block */
	memo_entry memo[MEMO];
} ls_template_search;

/* ---- needles ---- */

static void
add_needle(ls_template_search *s, ls_str text)
{
	needle *n;

	if (text.len == 0)
		return;
	if (s->n == MAX_NEEDLES)
	{
		s->complete = false;
		return;
	}
	n = &s->needles[s->n++];
	if (text.len > MAX_NEEDLE)
	{
		s->complete = false;
		text.len = MAX_NEEDLE;
	}
	for (size_t i = 0; i < text.len; i++)
	{
		unsigned char c = (unsigned char) text.data[i];

		n->places[c] |= UINT64_C(1) << i;
		if (s->folded && c >= 'a' && c <= 'z')
			n->places[c - 'a' + 'A'] |= UINT64_C(1) << i;
	}
	n->last = UINT64_C(1) << (text.len - 1);
	for (int c = 0; c < 16; c++)
	{
		n->hex |= n->places[(unsigned char) "0123456789abcdef"[c]];
		if (c == 9)
			n->digits = n->hex;
	}
}

/* Folded, and only ASCII: other characters may fold to several bytes. */
static void
add_folded(ls_template_search *s, ls_str text)
{
	for (size_t i = 0; i < text.len; i++)
	{
		if ((unsigned char) text.data[i] >= 0x80)
		{
			s->complete = false;
			return;
		}
		s->from_high = s->from_high || text.data[i] == 'k' || text.data[i] == 's';
	}
	add_needle(s, text);
}

static ls_template_search *
make_search(ls_filter_run *run, const ls_leaf *leaf)
{
	ls_template_search *s = ls_new(run->arena, ls_template_search);

	if (s == NULL)
		return NULL;
	s->needles = ls_new_array(run->arena, needle, MAX_NEEDLES);
	if (s->needles == NULL)
		return NULL;
	ls_buf_init(&s->text, run->arena);
	s->complete = true;
	s->folded = leaf->filter->op != LS_FILTER_MATCHES;
	switch (leaf->filter->op)
	{
		case LS_FILTER_PHRASE:
			for (uint32_t i = 0; i < leaf->phrase.n_tokens; i++)
				add_folded(s, leaf->phrase.tokens[i].text);
			break;
		case LS_FILTER_PHRASE_WILDCARD:
			for (size_t i = 0; i < leaf->pattern.n_tokens; i++)
			{
				for (uint32_t k = 0; k < leaf->pattern.tokens[i].n_parts; k++)
					add_folded(s, leaf->pattern.tokens[i].parts[k]);
			}
			break;
		case LS_FILTER_CONTAINS:
			add_folded(s, leaf->needle.text);
			break;
		default:
			s->complete = false;
			for (uint32_t i = 0; i < leaf->facts.n; i++)
				add_needle(s, leaf->facts.literals[i]);
			s->by_length = leaf->facts.digits_alike;
			break;
	}
	return s;
}

/* ---- templates ---- */

/*
 * The beginnings of a needle that end here: bit i for its first i + 1 bytes.  Those in `numbers` have a
 * byte of a number.
 */
typedef struct walk
{
	uint64_t fixed;
	uint64_t numbers;
	bool in_fixed; /* the whole needle was there */
	bool in_numbers;
} walk;

static inline void
walk_bytes(const needle *n, const char *s, size_t len, walk *w)
{
	for (size_t i = 0; i < len; i++)
	{
		uint64_t places = n->places[(unsigned char) s[i]];

		w->fixed = (w->fixed << 1 | 1) & places;
		w->numbers = (w->numbers << 1) & places;
		w->in_fixed |= (w->fixed & n->last) != 0;
		w->in_numbers |= (w->numbers & n->last) != 0;
	}
}

/* One byte of a number. */
static inline void
walk_class(const needle *n, uint64_t places, walk *w)
{
	w->numbers = ((w->fixed | w->numbers) << 1 | 1) & places;
	w->fixed = 0;
	w->in_numbers |= (w->numbers & n->last) != 0;
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
		{
			walk ends = *w;

			ends.fixed = ends.numbers = 0;
			for (uint32_t i = 0; i < o->u.column->n_list; i++)
			{
				ls_str entry = o->u.column->list[i];
				walk one = *w;

				walk_bytes(n, entry.data, entry.len, &one);
				ends.fixed |= one.fixed;
				ends.numbers |= one.numbers;
				ends.in_fixed |= one.in_fixed;
				ends.in_numbers |= one.in_numbers;
			}
			*w = ends;
			break;
		}
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

static verdict
judge(const ls_template_search *s, const ls_text_template *t)
{
	bool open = false;
	bool hex = false;
	bool numbers = false;

	for (uint32_t i = 0; i < t->n_ops; i++)
	{
		open = open || t->ops[i].kind == LS_TEMPLATE_TEXTS;
		hex = hex || t->ops[i].kind == LS_TEMPLATE_HEX;
	}
	if (open || (s->from_high && folds(t)))
		return TEMPLATE_EACH;
	for (uint32_t k = 0; k < s->n; k++)
	{
		walk w = {0};

		for (uint32_t i = 0; i < t->n_ops; i++)
			walk_op(&s->needles[k], &t->ops[i], &w);
		if (!w.in_fixed && !w.in_numbers)
			return TEMPLATE_NEVER;
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
		return ls_part_fail(run->part,
							leaf->templates->text.failed ? "out of memory" : "a column is damaged");
	*matches = ls_leaf_decide(run, leaf, 0, LS_KIND_STRING, text, 0) == LS_TRUE;
	return run->error == NULL;
}

static bool
decide_alike(ls_filter_run *run, ls_leaf *leaf, const ls_text_templates *from, uint32_t v,
			 bool *matches)
{
	ls_template_search *s = leaf->templates;
	uint32_t number = from->numbers[v];
	uint64_t key = key_of(s, &from->templates[number], from->places[v]);
	memo_entry *e = &s->memo[((key + number) * UINT64_C(0x9E3779B97F4A7C15)) >> 54];

	if (e->template != number + 1 || e->key != key)
	{
		if (!decide_row(run, leaf, from, v, matches))
			return false;
		*e = (memo_entry){key, number + 1, *matches};
	}
	*matches = e->matches != 0;
	return true;
}

/* The verdicts for the templates of rows that are undecided; false: making all texts at once is faster. */
static bool
judge_all(ls_leaf *leaf, const ls_text_templates *from, const uint32_t *ranks,
		  const uint64_t *undecided, uint8_t *verdicts)
{
	uint32_t rows = 0;
	uint32_t each = 0;

	LS_FOR_EACH_ROW(row, undecided)
	{
		uint32_t v = ranks == NULL ? row : ranks[row];
		uint32_t number;

		if (v >= from->count)
			continue;
		number = from->numbers[v];
		if (verdicts[number] == TEMPLATE_UNKNOWN)
			verdicts[number] = (uint8_t) judge(leaf->templates, &from->templates[number]);
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
	if (!judge_all(leaf, &from, ranks, undecided, verdicts))
		return true;
	memset(leaf->templates->memo, 0, sizeof(leaf->templates->memo));
	LS_FOR_EACH_ROW(row, undecided)
	{
		uint32_t v = ranks == NULL ? row : ranks[row];
		bool matches = false;
		uint8_t verdict;

		if (v >= from.count)
			continue;
		verdict = verdicts[from.numbers[v]];
		if (verdict == TEMPLATE_ALIKE
				? !decide_alike(run, leaf, &from, v, &matches)
				: verdict == TEMPLATE_EACH && !decide_row(run, leaf, &from, v, &matches))
			return false;
		if (matches)
			out[row / 64] |= UINT64_C(1) << (row % 64);
		undecided[row / 64] &= ~(UINT64_C(1) << (row % 64));
	}
	*done = true;
	return true;
}
