/*-------------------------------------------------------------------------
 *
 * filter_prune.c
 *	  Finds the blocks of a part in which a leaf can be true, by token filters (pure).
 *
 * A leaf requires certain words, pairs of words, values or pieces of text in a row.
 * Blocks are never opened if their token filter lacks one of them.  Only complete words
 * are required: a word at the open end of a substring or next to a star could be part
 * of a longer one.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/day_filter.h"
#include "src/part/filter_eval.h"

/* Maximum number of hashes to look up: each word or pair is a fetch; all pieces are one. */
#define MAX_WORDS 6
#define MAX_PAIRS 6
#define MAX_PIECES 32

typedef struct wanted_word
{
	ls_str text; /* folded */
	bool paired; /* a pair says that it is there */
} wanted_word;

typedef struct wanted
{
	uint32_t n_words;
	wanted_word words[MAX_WORDS]; /* the longest ones */
	uint32_t n_pairs;
	uint64_t pairs[MAX_PAIRS];
	bool begun;      /* the word before is the first one of the next pair: */
	uint64_t before; /* its hash, or 0 with a digit */
	uint32_t n_pieces;
	uint64_t pieces[MAX_PIECES];
	bool doubt; /* the pieces are those of the words: ask if these are in few blocks */
} wanted;

static void
keep_word(wanted *want, wanted_word word)
{
	uint32_t shortest = 0;

	if (want->n_words < MAX_WORDS)
	{
		want->words[want->n_words++] = word;
		return;
	}
	for (uint32_t i = 1; i < MAX_WORDS; i++)
	{
		if (want->words[i].text.len < want->words[shortest].text.len)
			shortest = i;
	}
	if (word.text.len > want->words[shortest].text.len)
		want->words[shortest] = word;
}

/* A complete word.  If want->begun, it follows the one before. */
static void
want_word(wanted *want, ls_str text)
{
	bool digit = ls_part_word_has_digit(text);
	uint64_t hash = digit ? 0 : ls_part_hash_word(text);
	wanted_word word = {.text = text};

	if (want->begun && (hash != 0 || want->before != 0) && want->n_pairs < MAX_PAIRS)
	{
		want->pairs[want->n_pairs++] = ls_part_hash_pair(want->before, hash);
		word.paired = !digit;
	}
	want->before = hash;
	want->begun = true;
	keep_word(want, word);
}

/* The complete words of a folded text; at an open end, a word may continue. */
static void
want_words(wanted *want, ls_str text, bool open_left, bool open_right)
{
	size_t at = 0;
	ls_str word;

	want->begun = false;
	while (ls_next_word(text, &at, &word))
	{
		if (!(word.data == text.data && open_left) && !(at == text.len && open_right))
			want_word(want, word);
	}
	want->begun = false;
}

static void
want_pieces(wanted *want, ls_str text)
{
	uint32_t code = 0;

	for (size_t i = 0; i < text.len && want->n_pieces < MAX_PIECES; i++)
	{
		code = (code << 6 | ls_part_piece_class((uint8_t) text.data[i])) & ((1u << 18) - 1);
		if (i >= 2)
			want->pieces[want->n_pieces++] = ls_part_hash_piece(code);
	}
}

/*
 * A filter lets through some blocks of a part in vain, and to look at another one, at the
 * pieces of the words or at the words of pairs, is cheaper than to open one of them.  If
 * many are left, the words mostly are there.
 */
static bool
in_few_blocks(const ls_filter_run *run, uint32_t blocks)
{
	return (uint32_t) __builtin_popcount(blocks) * 4 <= ls_part_blocks(run->part);
}

static bool
apply(ls_filter_run *run, uint32_t column, const wanted *want, uint32_t *blocks)
{
	bool paired = want->n_pairs > 0 && ls_part_has_filter(run->part, column, LS_TOKEN_PAIR);

	for (uint32_t i = 0; paired && i < want->n_pairs && *blocks != 0; i++)
	{
		if (!ls_part_may_hold(run->part, column, LS_TOKEN_PAIR, &want->pairs[i], 1, blocks))
			return false;
	}
	for (uint32_t i = 0; i < want->n_words && *blocks != 0; i++)
	{
		uint64_t hash = ls_part_hash_word(want->words[i].text);

		if (paired && want->words[i].paired && !in_few_blocks(run, *blocks))
			continue;
		if (!ls_part_may_hold(run->part, column, LS_TOKEN_WORD, &hash, 1, blocks))
			return false;
	}
	return *blocks == 0 || want->n_pieces == 0 ||
		   (want->doubt && (paired || !in_few_blocks(run, *blocks))) ||
		   ls_part_may_hold(run->part, column, LS_TOKEN_PIECE, want->pieces, want->n_pieces,
							blocks);
}

/* A pattern with stars for the whole text (in a phrase: for a token). */
static bool
want_wildcard(ls_filter_run *run, const ls_wildcard *wildcard, wanted *want)
{
	for (uint32_t i = 0; i < wildcard->n_parts; i++)
	{
		ls_needle part = {.text = wildcard->parts[i]};

		if (!wildcard->ignore_case && !ls_needle_make(run->arena, wildcard->parts[i], &part))
			return false;
		want_words(want, part.text, i > 0, i + 1 < wildcard->n_parts);
		want_pieces(want, part.text);
	}
	return true;
}

/* ---- leaves on the event text ---- */

static bool
want_text(ls_filter_run *run, const ls_leaf *leaf, wanted *want)
{
	switch (leaf->filter->op)
	{
		case LS_FILTER_PHRASE:
			for (uint32_t i = 0; i < leaf->phrase.n_tokens; i++)
			{
				want_word(want, leaf->phrase.tokens[i].text);
				want_pieces(want, leaf->phrase.tokens[i].text);
			}
			want->doubt = true;
			break;
		case LS_FILTER_PHRASE_WILDCARD:
			for (size_t i = 0; i < leaf->pattern.n_tokens; i++)
			{
				const ls_wildcard *token = &leaf->pattern.tokens[i];

				if (token->n_parts == 1)
				{
					want_word(want, token->parts[0]);
					want_pieces(want, token->parts[0]);
					continue;
				}
				want->begun = false;
				if (!want_wildcard(run, token, want))
					return false;
			}
			break;
		case LS_FILTER_CONTAINS:
			want_words(want, leaf->needle.text, true, true);
			want_pieces(want, leaf->needle.text);
			break;
		case LS_FILTER_MATCHES:
			for (uint32_t i = 0; i < leaf->facts.n; i++)
			{
				ls_needle literal;

				if (!ls_needle_make(run->arena, leaf->facts.literals[i], &literal))
					return false;
				want_words(want, literal.text, true, true);
				want_pieces(want, literal.text);
			}
			break;
		default:
			break;
	}
	return true;
}

static bool
prune_text(ls_filter_run *run, const ls_leaf *leaf, uint32_t column, uint32_t *blocks)
{
	wanted want = {0};

	return want_text(run, leaf, &want) && apply(run, column, &want, blocks);
}

/* ---- comparisons ---- */

static bool
want_compare(ls_filter_run *run, const ls_compare *c, wanted *want)
{
	ls_needle needle;

	if (c->op == LS_FILTER_WILDCARD)
		return want_wildcard(run, &c->wildcard, want);
	if (c->op == LS_FILTER_EQ && !c->numeric)
	{
		if (!ls_needle_make(run->arena, c->text, &needle))
			return false;
		want_words(want, needle.text, false, false);
	}
	return true;
}

static bool
prune_event_compare(ls_filter_run *run, const ls_compare *c, uint32_t column, uint32_t *blocks)
{
	wanted want = {0};

	return want_compare(run, c, &want) && apply(run, column, &want, blocks);
}

/* The hash that a value must have; false: it may have any. */
static bool
wanted_value(const ls_compare *c, uint64_t *hash)
{
	ls_num number = c->number;

	if (c->op != LS_FILTER_EQ || (c->ignore_case && !c->numeric))
		return false;
	if (c->numeric || ls_num_parse(c->text, &number))
		*hash = ls_part_hash_number(number.is_int, number.i, number.d);
	else
		*hash = ls_part_hash_text(c->text);
	return true;
}

static bool
prune_value_compare(ls_filter_run *run, const ls_compare *c, uint32_t column, uint32_t *blocks)
{
	uint64_t hash;

	return !wanted_value(c, &hash) ||
		   ls_part_may_hold(run->part, column, LS_TOKEN_VALUE, &hash, 1, blocks);
}

/* An integer column is between the least and the greatest of the whole part. */
static void
prune_integer_compare(ls_filter_run *run, const ls_compare *c, uint32_t column, uint32_t *blocks)
{
	int64_t min;
	int64_t max;

	if (!ls_part_column_range(run->part, column, &min, &max))
		return;
	if (c->has_range)
	{
		if (!c->outside && (c->low > max || c->high < min || c->low > c->high))
			*blocks = 0;
	}
	else if (c->op == LS_FILTER_EQ && (!c->text_is_int || c->text_int < min || c->text_int > max))
		*blocks = 0;
}

/* The blocks in which any of the comparisons can be true. */
static bool
prune_compares(ls_filter_run *run, const ls_leaf *leaf, const ls_leaf_column *column,
			   uint32_t *blocks)
{
	bool event = ls_part_column(run->part, column->column)->field == LS_FIELD_EVENT;
	uint32_t any = 0;

	for (uint32_t i = 0; i < leaf->n_compares && any != *blocks; i++)
	{
		const ls_compare *c = &leaf->compares[i];
		uint32_t some = *blocks & ~any;

		if (column->kind == LS_KIND_INTEGER)
			prune_integer_compare(run, c, column->column, &some);
		else if (!(event ? prune_event_compare(run, c, column->column, &some)
						 : prune_value_compare(run, c, column->column, &some)))
			return false;
		any |= some;
	}
	*blocks = any;
	return true;
}

/* If the part has all texts in one place, they are decided there. */
static bool
prune_dictionary(ls_filter_run *run, ls_leaf *leaf, ls_leaf_column *column, bool *decided)
{
	const ls_str *entries;
	uint32_t n;

	*decided = false;
	if (leaf->filter->op == LS_FILTER_PRESENT)
		return true;
	if (!ls_part_dictionary(run->part, column->column, &entries, &n))
		return false;
	if (n == 0)
		return true;
	*decided = true;
	return ls_leaf_decide_dictionary(run, leaf, column, entries, n);
}

bool
ls_leaf_prune(ls_filter_run *run, ls_leaf *leaf, uint32_t *blocks)
{
	bool text_op = ls_is_text_op(leaf->filter->op);
	uint32_t any = 0;

	if (!text_op && leaf->filter->target != LS_TARGET_NAMED &&
		leaf->filter->target != LS_TARGET_ATTRIBUTE)
		return true;
	for (uint32_t i = 0; i < leaf->n_columns; i++)
	{
		ls_leaf_column *column = &leaf->columns[i];
		uint32_t some = *blocks;
		bool decided;

		if (*blocks == 0)
			break;
		if (!prune_dictionary(run, leaf, column, &decided))
			return false;
		if (decided)
		{
			/* An entry without the member leaves its rows to other columns. */
			if (column->never && column->nested == 0)
				some = 0;
		}
		else if (column->nested == 0 &&
				 (column->kind == LS_KIND_STRING || column->kind == LS_KIND_INTEGER))
		{
			bool event = ls_part_column(run->part, column->column)->field == LS_FIELD_EVENT;

			if (leaf->n_compares > 0)
			{
				if (!prune_compares(run, leaf, column, &some))
					return false;
			}
			else if (event && !prune_text(run, leaf, column->column, &some))
				return false;
		}
		column->blocks = some;
		any |= some;
	}
	*blocks &= any;
	return true;
}

/* ---- the same for a whole part ---- */

/* A filter with more tokens is not worth it: each is a fetch. */
#define MAX_TOKENS 24

typedef struct conditions
{
	ls_filter_run run;
	uint32_t n; /* tokens */
} conditions;

static ls_day_condition *
make_inner(conditions *c, ls_filter_op op, uint32_t room)
{
	ls_day_condition *inner = ls_new(c->run.arena, ls_day_condition);

	if (inner == NULL)
		return NULL;
	inner->op = op;
	inner->children = ls_new_array(c->run.arena, ls_day_condition *, room + 1);
	return inner->children == NULL ? NULL : inner;
}

static bool
add_token(conditions *c, ls_day_condition *inner, uint64_t token)
{
	ls_day_condition *child = ls_new(c->run.arena, ls_day_condition);

	if (child == NULL)
		return false;
	child->op = LS_FILTER_EQ;
	child->token = token;
	inner->children[inner->n_children++] = child;
	c->n++;
	return true;
}

/* Sets of hashes have 1 in place of 0. */
static uint64_t
token_of(uint64_t field, uint64_t hash)
{
	return ls_day_token(field, hash + (hash == 0));
}

/* Or the field has values that are no tokens. */
static bool
add_other(conditions *c, ls_day_condition *any, uint64_t field)
{
	ls_day_condition *all = make_inner(c, LS_FILTER_AND, LS_DAY_OTHERS);

	for (uint32_t i = 0; all != NULL && i < LS_DAY_OTHERS; i++)
	{
		if (!add_token(c, all, ls_day_token_other(field, i)))
			return false;
	}
	any->children[any->n_children++] = all;
	return all != NULL;
}

/* All words and pairs that are wanted of the event text; or it has others. */
static bool
text_condition(conditions *c, const wanted *want, ls_day_condition **condition)
{
	ls_day_condition *any = make_inner(c, LS_FILTER_OR, 2);
	ls_day_condition *all = make_inner(c, LS_FILTER_AND, MAX_WORDS + MAX_PAIRS);

	if (any == NULL || all == NULL)
		return false;
	for (uint32_t i = 0; i < want->n_words; i++)
	{
		if (!add_token(c, all, token_of(LS_DAY_WORDS, ls_part_hash_word(want->words[i].text))))
			return false;
	}
	for (uint32_t i = 0; i < want->n_pairs; i++)
	{
		if (!add_token(c, all, token_of(LS_DAY_PAIRS, want->pairs[i])))
			return false;
	}
	any->children[any->n_children++] = all;
	*condition = all->n_children > 0 ? any : NULL;
	return add_other(c, any, ls_day_field(LS_FIELD_EVENT, LS_STR("")));
}

/* A value of a field: also a member of an object, whose column is noted. */
static bool
value_condition(conditions *c, const ls_filter *filter, uint64_t hash, ls_day_condition **condition)
{
	uint64_t fields[LS_FILTER_MAX_PATH];
	uint32_t n = 0;
	ls_buf key;

	ls_buf_init(&key, c->run.arena);
	if (filter->target == LS_TARGET_NAMED)
		fields[n++] = ls_day_field(filter->field, LS_STR(""));
	else
	{
		for (; n < filter->n_path; n++)
		{
			if (n > 0)
				ls_buf_char(&key, '.');
			ls_buf_str(&key, filter->path[n]);
			if (key.failed)
				return false;
			fields[n] = ls_day_field(LS_FIELD_ATTRIBUTE, ls_str_make(key.data, key.len));
		}
	}
	*condition = make_inner(c, LS_FILTER_OR, n + 1);
	if (*condition == NULL || !add_token(c, *condition, token_of(fields[n - 1], hash)))
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		if (!add_other(c, *condition, fields[i]))
			return false;
	}
	return true;
}

static bool
leaf_condition(conditions *c, const ls_filter *filter, ls_day_condition **condition)
{
	bool text_op = ls_is_text_op(filter->op);
	bool event = text_op || (filter->target == LS_TARGET_NAMED && filter->field == LS_FIELD_EVENT);
	ls_day_condition *any;
	ls_leaf leaf = {0};

	if (!text_op &&
		(filter->target == LS_TARGET_ATTRIBUTE
			 ? filter->n_path == 0 || filter->n_path > LS_FILTER_MAX_PATH
			 : filter->target != LS_TARGET_NAMED || filter->field == LS_FIELD_LEVEL ||
				   filter->field == LS_FIELD_INDEX || filter->field == LS_FIELD_TRUNCATED))
		return true;
	if (!text_op && filter->op != LS_FILTER_EQ && filter->op != LS_FILTER_IN &&
		!(event && (filter->op == LS_FILTER_CONTAINS || filter->op == LS_FILTER_WILDCARD)))
		return true;
	if (filter->n_children > MAX_TOKENS)
		return true;
	if (!ls_leaf_prepare(&c->run, filter, &leaf))
		return false;
	if (leaf.n_compares == 0)
	{
		wanted want = {0};

		return !event || (want_text(&c->run, &leaf, &want) && text_condition(c, &want, condition));
	}
	any = make_inner(c, LS_FILTER_OR, leaf.n_compares);
	if (any == NULL)
		return false;
	for (uint32_t i = 0; i < leaf.n_compares; i++)
	{
		ls_day_condition *child = NULL;
		wanted want = {0};
		uint64_t hash;

		if (event ? !want_compare(&c->run, &leaf.compares[i], &want) ||
						!text_condition(c, &want, &child)
				  : wanted_value(&leaf.compares[i], &hash) &&
						!value_condition(c, filter, hash, &child))
			return false;
		if (child == NULL)
			return true;
		any->children[any->n_children++] = child;
	}
	*condition = any;
	return true;
}

static bool
make_condition(conditions *c, const ls_filter *filter, ls_day_condition **condition)
{
	ls_day_condition *inner;

	*condition = NULL;
	if (filter->op == LS_FILTER_NOT || c->n > MAX_TOKENS)
		return true;
	if (filter->op != LS_FILTER_AND && filter->op != LS_FILTER_OR)
		return leaf_condition(c, filter, condition);
	inner = make_inner(c, filter->op, filter->n_children);
	if (inner == NULL)
		return false;
	for (uint32_t i = 0; i < filter->n_children; i++)
	{
		ls_day_condition *child;

		if (!make_condition(c, filter->children[i], &child))
			return false;
		if (child != NULL)
			inner->children[inner->n_children++] = child;
		else if (filter->op == LS_FILTER_OR)
			return true;
	}
	if (inner->n_children > 0)
		*condition = inner;
	return true;
}

bool
ls_filter_condition(ls_arena *arena, const ls_filter *filter, ls_day_condition **condition)
{
	conditions c = {.run = {.arena = arena}};

	*condition = NULL;
	if (filter == NULL)
		return true;
	ls_buf_init(&c.run.fold, arena);
	ls_buf_init(&c.run.member, arena);
	return make_condition(&c, filter, condition);
}
