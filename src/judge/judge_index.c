/*-------------------------------------------------------------------------
 *
 * judge_index.c
 *	  Which rows hold which words of the items, for the built-in evaluator (pure).
 *
 * All rows are read once; only the words that some item uses are indexed.  Rows are analysed
 * when an item first needs them, and kept while memory lasts.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#include <stdlib.h>

#define MAX_POSTINGS ((size_t) 4 << 20)
#define MAX_KEPT_ATOMS ((size_t) 3 << 19)

/* Where the word is in the table, or would be. */
static uint32_t
slot_of(const ls_judge_ctx *ctx, uint64_t hash)
{
	uint32_t slot = (uint32_t) ls_hash_slot(hash, ctx->vocab_size);

	while (ctx->vocab_hash[slot] != 0 && ctx->vocab_hash[slot] != hash)
		slot = (slot + 1) & (ctx->vocab_size - 1);
	return slot;
}

static int32_t
list_of(ls_judge_ctx *ctx, uint64_t hash)
{
	uint32_t slot = slot_of(ctx, hash);

	if (ctx->vocab_hash[slot] == 0)
	{
		ctx->vocab_hash[slot] = hash;
		ctx->vocab_list[slot] = ctx->n_lists++;
	}
	return ctx->vocab_list[slot];
}

static int32_t
find_list(const ls_judge_ctx *ctx, uint64_t hash)
{
	uint32_t slot = slot_of(ctx, hash);

	return ctx->vocab_hash[slot] != 0 ? ctx->vocab_list[slot] : -1;
}

static int32_t
list_of_concept(ls_judge_ctx *ctx, int concept)
{
	if (concept != LS_CONCEPT_NONE && ctx->concept_list[concept] < 0)
		ctx->concept_list[concept] = ctx->n_lists++;
	return ctx->concept_list[concept];
}

static void
want_item(ls_judge_ctx *ctx, ls_judge_item *item)
{
	for (int k = 0; k < item->n_terms; k++)
	{
		ls_judge_term *term = &item->terms[k];

		term->stem_list = list_of(ctx, term->stem);
		if (term->joined)
			term->joined_list = list_of(ctx, term->joined);
		term->concept_list = list_of_concept(ctx, term->concept);
		(void) list_of_concept(ctx, ls_judge_concept_opposite((ls_judge_concept) term->concept));
	}
	for (int k = 0; k < item->n_idents; k++)
		if (item->idents[k].whole)
			(void) list_of(ctx, item->idents[k].whole);
}

/*
 * Of a word that only a client's text holds.  Such rows weigh little among candidates, or
 * somebody who sends many would crowd out those that tell what happened.
 */
#define CLIENT_ROW (UINT32_C(1) << 31)
#define TEXT_ROW (UINT32_C(1) << 30) /* only for post */
#define CLIENT_WEIGHT 0.02f

static void
post(ls_judge_ctx *ctx, int32_t list, uint32_t row)
{
	ls_judge_list *l = &ctx->lists[list];

	l->held |= !(row & TEXT_ROW);
	row &= ~TEXT_ROW;
	if (l->n > 0 && (l->rows[l->n - 1] & ~CLIENT_ROW) == (row & ~CLIENT_ROW))
	{
		l->rows[l->n - 1] &= row | ~CLIENT_ROW;
		return;
	}
	if (ctx->postings >= MAX_POSTINGS)
		return; /* what comes later is not found through this word */
	if (l->n == l->capacity)
	{
		uint32_t grown = l->capacity ? l->capacity * 2 : 16;
		void *p = ls_arena_grow(ctx->arena, l->rows, l->capacity * sizeof(uint32_t),
								grown * sizeof(uint32_t));

		if (p == NULL)
			return;
		l->rows = p;
		l->capacity = grown;
	}
	l->rows[l->n++] = row;
	ctx->postings++;
}

static void
post_word(ls_judge_ctx *ctx, uint64_t hash, uint32_t row)
{
	int32_t list = hash != 0 ? find_list(ctx, hash) : -1;
	uint16_t word = hash != 0 ? ls_judge_words_find(&ctx->words, hash) : 0;
	int32_t concept = ctx->concept_list[ctx->words.table[word].concept];

	if (list >= 0)
		post(ctx, list, row);
	if (concept >= 0)
		post(ctx, concept, row);
}

bool
ls_judge_index_begin(ls_judge_ctx *ctx)
{
	size_t terms = 16;

	for (const ls_judge_item *item = ctx->items; item != NULL; item = item->next)
		terms += 3 * (size_t) item->n_terms; /* two for each, one for identifiers */
	ctx->vocab_size = 64;
	while (ctx->vocab_size < terms * 2)
		ctx->vocab_size *= 2;
	ctx->vocab_hash = ls_new_array(ctx->arena, uint64_t, ctx->vocab_size);
	ctx->vocab_list = ls_new_array(ctx->arena, int32_t, ctx->vocab_size);
	ctx->lists = ls_new_array(ctx->arena, ls_judge_list, terms + LS_CONCEPT_COUNT);
	ctx->cache = ls_new_array(ctx->arena, ls_judge_row, ctx->n_rows + 1);
	ctx->score = ls_new_array(ctx->arena, float, ctx->n_rows + 1);
	ctx->candidates = ls_new_array(ctx->arena, uint32_t, ctx->n_rows + 1);
	if (ls_arena_failed(ctx->arena))
		return false;
	for (int c = 0; c < LS_CONCEPT_COUNT; c++)
		ctx->concept_list[c] = -1;
	for (ls_judge_item *item = ctx->items; item != NULL; item = item->next)
		want_item(ctx, item);
	ctx->spare_row = UINT32_MAX;
	return true;
}

void
ls_judge_index_row(ls_judge_ctx *ctx, uint32_t r)
{
	int n = ls_judge_text_scan(ctx, ctx->rows[r], ctx->atoms, LS_JUDGE_ROW_ATOMS);
	ls_judge_row *row = &ctx->cache[r];
	ls_judge_text text = {ctx->rows[r], ctx->atoms, n};

	ls_judge_client_mark(ctx, &text);
	if (ctx->rows[r].len > 3 && !ctx->report)
		for (int i = 0; i < n && i < 2; i++)
			ctx->report |= ctx->atoms[i].kind == LS_ATOM_SYMBOL && ctx->atoms[i].len == 3 &&
						   ctx->words.table[ctx->atoms[i].word].pol == LS_POL_POS;
	for (int i = 0; i < n; i++)
	{
		ls_judge_client client = (ls_judge_client) ctx->atoms[i].client;
		uint32_t flags =
			(client >= LS_CLIENT_PATH ? CLIENT_ROW : 0) | (client == LS_CLIENT_TEXT ? TEXT_ROW : 0);

		ctx->numbers += ctx->atoms[i].kind == LS_ATOM_NUMBER;
		post_word(ctx, ctx->atoms[i].stem, r | flags);
		post_word(ctx, ctx->atoms[i].joined, r | flags);
	}
	ctx->spare_row = UINT32_MAX;
	if (ctx->kept_atoms + (size_t) n > MAX_KEPT_ATOMS)
		return;
	row->text.atoms = ls_new_array(ctx->arena, ls_judge_atom, n + 1);
	if (row->text.atoms == NULL)
		return;
	memcpy(row->text.atoms, ctx->atoms, (size_t) n * sizeof(ls_judge_atom));
	row->text.text = ctx->rows[r];
	row->text.n = n;
	ctx->kept_atoms += (size_t) n;
}

/* Of a row that instructs its reader only signs of failure count; one without any is no evidence. */
static void
keep_failures(ls_judge_row *row)
{
	int kept = 0;

	for (int k = 0; k < row->n_cues; k++)
		if (row->cues[k].class == LS_CLASS_FAIL)
			row->cues[kept++] = row->cues[k];
	row->n_cues = kept;
	if (kept == 0)
		row->text.n = row->http = 0;
}

static void
analyse(ls_judge_ctx *ctx, ls_judge_row *row)
{
	size_t hostile;

	row->analysed = true;
	row->n_cues = 0;
	memset(row->filter, 0, sizeof(row->filter));
	hostile = LS_JUDGE_RULE(HOSTILE) ? ls_judge_hostile_begin(ctx, &row->text) : row->text.text.len;
	while (row->text.n > 0 && row->text.atoms[row->text.n - 1].off >= hostile)
		row->text.n--;
	if (LS_JUDGE_RULE(ADVICE))
		ls_judge_advice_mark(ctx, row);
	for (int i = 0; i < row->text.n; i++)
	{
		const ls_judge_atom *a = &row->text.atoms[i];
		uint64_t concept = ls_judge_concept_hash(ctx->words.table[a->word].concept);

		row->filter[a->stem >> 62] |= UINT64_C(1) << (a->stem >> 56 & 63);
		row->filter[concept >> 62] |= UINT64_C(1) << (concept >> 56 & 63);
		if (a->joined)
			row->filter[a->joined >> 62] |= UINT64_C(1) << (a->joined >> 56 & 63);
	}
	ls_judge_row_analyse(ctx, row);
	if (hostile < row->text.text.len)
		keep_failures(row);
}

/* What scanning and analysing a row costs: by its bytes, and by its words where they are short. */
static size_t
read_cost(const ls_judge_row *row)
{
	return row->text.text.len + (size_t) row->text.n * 12;
}

const ls_judge_row *
ls_judge_row_get(ls_judge_ctx *ctx, uint32_t r)
{
	ls_judge_row *row = &ctx->cache[r];
	ls_judge_cue cues[LS_JUDGE_ROW_CUES];

	if (row->analysed)
		return row;
	if (row->text.atoms == NULL)
	{
		if (ctx->spare_row == r)
			return &ctx->spare;
		row = &ctx->spare;
		row->text.text = ctx->rows[r];
		row->text.atoms = ctx->atoms;
		row->text.n = ls_judge_text_scan(ctx, ctx->rows[r], ctx->atoms, LS_JUDGE_ROW_ATOMS);
		ls_judge_client_mark(ctx, &row->text);
		ls_judge_spend(ctx, read_cost(row));
		row->cues = ctx->spare_cues;
		ctx->spare_row = r;
		analyse(ctx, row);
		return row;
	}
	row->cues = cues;
	ls_judge_spend(ctx, read_cost(row) / 2);
	analyse(ctx, row);
	row->cues = ls_new_array(ctx->arena, ls_judge_cue, row->n_cues);
	if (row->cues != NULL)
		memcpy(row->cues, cues, (size_t) row->n_cues * sizeof(ls_judge_cue));
	else
		row->n_cues = 0;
	return row;
}

/* Adds `weight` to the rows of a list; returns the number of candidates so far. */
static size_t
add_list(ls_judge_ctx *ctx, int32_t list, float weight, size_t n)
{
	if (list < 0)
		return n;
	for (uint32_t i = 0; i < ctx->lists[list].n; i++)
	{
		uint32_t r = ctx->lists[list].rows[i] & ~CLIENT_ROW;

		if (ctx->score[r] == 0)
			ctx->candidates[n++] = r;
		ctx->score[r] += ctx->lists[list].rows[i] & CLIENT_ROW ? weight * CLIENT_WEIGHT : weight;
	}
	return n;
}

/* Does any row hold this word of an item?  All of them are indexed while there is room. */
static bool
is_held(const ls_judge_ctx *ctx, uint64_t hash)
{
	int32_t list = find_list(ctx, hash);

	return ctx->postings >= MAX_POSTINGS || (list >= 0 && ctx->lists[list].n > 0);
}

#define BUCKETS 64

static int
bucket_of(const ls_judge_ctx *ctx, uint32_t row)
{
	int bucket = (int) (ctx->score[row] * 2);

	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/*
 * The rows that may matter to an item, in order of rows, at most `limit`: those with the most
 * words of the item, the later ones on a tie.
 */
size_t
ls_judge_index_candidates(ls_judge_ctx *ctx, const ls_judge_item *item, size_t limit)
{
	size_t n = 0, kept = 0, room = limit, skip;
	uint32_t buckets[BUCKETS] = {0};
	int cut = BUCKETS - 1;

	for (int k = 0; k < item->n_idents; k++)
	{
		const ls_judge_ident *id = &item->idents[k];

		if (!id->forbidden && !is_held(ctx, id->atoms[id->n - 1]) &&
			!(id->whole && is_held(ctx, id->whole)))
			return 0;
	}
	for (int k = 0; k < item->n_terms; k++)
	{
		const ls_judge_term *term = &item->terms[k];
		float weight = term->weight > 0 ? term->weight : 0.1f;
		ls_judge_concept contrary = ls_judge_concept_opposite((ls_judge_concept) term->concept);

		n = add_list(ctx, term->stem_list, weight, n);
		n = add_list(ctx, term->joined_list, weight, n);
		n = add_list(ctx, term->concept_list, weight * 0.8f, n);
		n = add_list(ctx, ctx->concept_list[contrary], weight * 0.7f, n);
	}
	for (int k = 0; k < item->n_idents; k++)
		if (item->idents[k].whole)
			n = add_list(ctx, find_list(ctx, item->idents[k].whole), 3, n);
	for (size_t i = 0; i < n; i++)
		buckets[bucket_of(ctx, ctx->candidates[i])]++;
	while (cut > 0 && buckets[cut] <= room)
		room -= buckets[cut--];
	/* of the bucket at the limit, the last `room` rows */
	skip = buckets[cut] > room ? buckets[cut] - room : 0;
	for (uint32_t r = 0; n > 0 && r < ctx->n_rows; r++)
	{
		int bucket = bucket_of(ctx, r);

		if (ctx->score[r] == 0)
			continue;
		n--;
		ctx->score[r] = 0;
		if (bucket < cut || (bucket == cut && skip > 0 && skip--))
			continue;
		ctx->candidates[kept++] = r;
	}
	return kept;
}

/* The field whose value the word is in some row: "paid" of state=paid. */
static uint64_t
field_of(ls_judge_ctx *ctx, const ls_judge_term *term)
{
	for (uint32_t i = 0; i < ctx->lists[term->stem_list].n && i < 8; i++)
	{
		const ls_judge_row *row = &ctx->cache[ctx->lists[term->stem_list].rows[i] & ~CLIENT_ROW];

		for (int k = 1; row->text.atoms != NULL && k < row->text.n; k++)
			if (row->text.atoms[k].stem == term->stem && row->text.atoms[k].sep == LS_SEP_EQUAL &&
				row->text.atoms[k - 1].kind == LS_ATOM_WORD)
				return row->text.atoms[k - 1].stem;
	}
	return 0;
}

void
ls_judge_items_count_words(ls_judge_ctx *ctx, ls_judge_item **items, size_t n_items)
{
	for (size_t i = 0; i < n_items; i++)
		for (int k = 0; k < items[i]->n_terms; k++)
		{
			ls_judge_list *list = &ctx->lists[items[i]->terms[k].stem_list];

			if (list->last != i + 1 && list->items < 2)
				list->items++;
			list->last = (uint32_t) i + 1;
		}
}

/*
 * The weight of a word that no row holds.  It is either what the item is about (then nothing is
 * known of it) or wording that several items of the request share, or the criteria have, which
 * tells none of them apart.
 */
static float
weight_unheld(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_term *term)
{
	bool shared = ctx->lists[term->stem_list].items >= 2;
	float weight = term->weight;

	for (int i = 0; i < ctx->n_context; i++)
		shared |= ctx->context[i] == term->stem;

	/* "the worker deployment": with no other name it says which */
	if (term->pol == LS_POL_WEAK)
		weight = ctx->words.table[term->word].strength > 0 && item->n_idents == 0 &&
						 !item->has_name && !shared
					 ? 2.0f
					 : weight * 0.3f;
	if (term->forbidden)
		return weight * 0.4f; /* the wording of what must be absent */
	if (term->role == LS_TERM_SUBJECT && weight >= 1.2f)
		return weight * (shared ? 0.3f : term->object ? 2.5f : 1.6f);
	if (term->role == LS_TERM_ACTION && term->noun && weight > 1)
		return shared ? 0.4f : 2.5f;
	return term->role == LS_TERM_ACTION && shared ? weight * 0.4f : weight;
}

void
ls_judge_item_reweigh(ls_judge_ctx *ctx, ls_judge_item *item)
{
	item->total = 0;
	for (int k = 0; k < item->n_terms; k++)
	{
		ls_judge_term *term = &item->terms[k];
		bool held = ctx->lists[term->stem_list].held ||
					(term->joined_list >= 0 && ctx->lists[term->joined_list].held) ||
					(term->concept_list >= 0 && ctx->lists[term->concept_list].held);

		term->unheld = !held;
		item->has_name |= held && term->place;
		for (int j = k + 1; j < item->n_terms && term->pol == LS_POL_ACT; j++)
			term->noun |= item->terms[j].role != LS_TERM_SUBJECT && !item->terms[j].forbidden;
		if (!held)
			term->weight = weight_unheld(ctx, item, term);
		else if (term->role == LS_TERM_ACTION && term->ident < 0)
			term->key = field_of(ctx, term);
		if (!term->forbidden)
			item->total += term->weight;
	}
}
