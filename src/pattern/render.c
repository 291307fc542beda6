/*-------------------------------------------------------------------------
 *
 * render.c
 *	  The result: patterns with samples, verbatim rows, their order.
 *
 * First there is a draft for each remaining group.  Then a rare draft becomes its
 * rows, and each other draft gets a template and samples.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/render.h"

typedef struct renderer
{
	miner *m;
	draft *drafts;
	size_t ndrafts;
	uint32_t *draft_of_signature;
	uint32_t least; /* patterns of fewer rows are not shown, and need no text */
} renderer;

/* ---- drafts ---- */

static bool
make_drafts(renderer *r)
{
	miner *m = r->m;
	uint32_t *draft_of_group = ls_arena_alloc(m->arena, (m->ngroups + 1) * sizeof(uint32_t));
	size_t most = m->ngroups;

	for (size_t i = 0; i < m->nsignatures; i++)
		most += m->signatures[i].form == NONE;
	r->drafts = ls_new_array(m->arena, draft, most + 1);
	r->draft_of_signature = ls_arena_alloc(m->arena, (m->nsignatures + 1) * sizeof(uint32_t));
	if (draft_of_group == NULL || r->drafts == NULL || r->draft_of_signature == NULL)
		return false;
	memset(draft_of_group, 0xff, (m->ngroups + 1) * sizeof(uint32_t));

	for (size_t i = 0; i < m->nsignatures; i++)
	{
		const signature *s = &m->signatures[i];
		uint32_t group = s->form == NONE ? NONE : m->forms[s->form].group;
		uint32_t root = group == NONE ? NONE : ls_group_root(m->groups, group);
		draft *d;

		if (root == NONE || draft_of_group[root] == NONE)
		{
			/* signatures are sorted: the first is the most frequent */
			d = &r->drafts[r->ndrafts];
			d->group = group;
			d->signature = (uint32_t) i;
			r->draft_of_signature[i] = (uint32_t) r->ndrafts++;
			if (root != NONE)
				draft_of_group[root] = r->draft_of_signature[i];
		}
		else
			r->draft_of_signature[i] = draft_of_group[root];
		d = &r->drafts[r->draft_of_signature[i]];
		d->count += s->count;
		if (d->differs == NULL &&
			(d->signature != i || d->count > (uint32_t) m->options.rare_threshold))
		{
			d->differs = ls_arena_alloc0(m->arena, m->signatures[d->signature].ntokens);
			if (d->differs == NULL)
				return false;
		}
		if (d->signature != i)
		{
			const signature *first = &m->signatures[d->signature];
			uint32_t n = first->ntokens;

			if (s->ntokens != n || s->body != first->body)
			{
				d->varying = true;
				n = s->body < first->body ? s->body : first->body;
				if (s->body != first->body)
					memset(d->differs + n, 1, first->body - n);
			}
			for (uint32_t t = 0; t < n; t++)
				d->differs[t] |= s->codes[t] != first->codes[t];
		}
	}
	return true;
}

/* The rows shown: those with the smallest hashes, whatever their order. */
static void
choose_samples(renderer *r)
{
	miner *m = r->m;
	uint32_t max = (uint32_t) m->options.max_samples;

	if (max == 0)
		return;
	for (size_t i = 0; i < m->nrows; i++)
	{
		draft *d = &r->drafts[r->draft_of_signature[m->row_signature[i]]];
		uint64_t hash = m->row_hash[i];
		uint32_t at = d->nsamples;

		if (d->count <= (uint32_t) m->options.rare_threshold)
			continue;
		if (at == max && hash >= d->sample_hash[at - 1])
			continue;
		while (at > 0 && d->sample_hash[at - 1] > hash)
			at--;
		if (at > 0 && d->sample_hash[at - 1] == hash)
			continue;
		if (d->nsamples < max)
			d->nsamples++;
		for (uint32_t k = d->nsamples - 1; k > at; k--)
		{
			d->sample_hash[k] = d->sample_hash[k - 1];
			d->sample_row[k] = d->sample_row[k - 1];
		}
		d->sample_hash[at] = hash;
		d->sample_row[at] = (uint32_t) i;
	}
}

/* ---- the set ---- */

static int
compare_text(const ls_pattern *x, const ls_pattern *y)
{
	int c = ls_str_cmp(x->template, y->template);

	if (c != 0)
		return c;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Eight bytes of the text from `depth`, so that numbers order as bytes do. */
static inline uint64_t
text_key(const ls_pattern *p, size_t depth)
{
	uint64_t key = 0;
	size_t len = p->template.len > depth ? p->template.len - depth : 0;

	if (len > 0)
		memcpy(&key, p->template.data + depth, len < 8 ? len : 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	key = __builtin_bswap64(key);
#endif
	return key;
}

/*
 * Sorts patterns by text: eight bytes at a time, and where those are equal the
 * next eight, so that long equal beginnings are read once.
 */
static void
sort_by_text(const ls_pattern *patterns, sort_item *items, sort_item *scratch, size_t n,
			 size_t depth)
{
	while (n > 16)
	{
		bool all_equal = true;
		bool ended = true;

		for (size_t i = 0; i < n; i++)
		{
			items[i].key = text_key(&patterns[items[i].value], depth);
			all_equal = all_equal && items[i].key == items[0].key;
			ended = ended && patterns[items[i].value].template.len <= depth;
		}
		if (ended)
			break;
		if (all_equal)
		{
			depth += 8;
			continue;
		}
		ls_sort_items(items, scratch, n);
		for (size_t i = 0; i < n;)
		{
			size_t j = i + 1;

			while (j < n && items[j].key == items[i].key)
				j++;
			if (j - i > 1)
				sort_by_text(patterns, items + i, scratch, j - i, depth + 8);
			i = j;
		}
		return;
	}
	if (n > 16)
	{
		/* equal texts (or they end in NUL bytes): few, by what is left */
		for (size_t i = 0; i < n; i++)
			items[i].key = patterns[items[i].value].id;
		ls_sort_items(items, scratch, n);
		for (size_t i = 0; i < n; i++)
			items[i].key = patterns[items[i].value].template.len;
		ls_sort_items(items, scratch, n);
		return;
	}
	for (size_t i = 1; i < n; i++)
	{
		sort_item item = items[i];
		size_t k = i;

		for (; k > 0 && compare_text(&patterns[items[k - 1].value], &patterns[item.value]) > 0; k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}

/* By count, the largest first, then by text, then by id. */
static void
sort_patterns(const ls_pattern *patterns, sort_item *items, sort_item *scratch, size_t n)
{
	for (size_t i = 0; i < n; i++)
		items[i] = (sort_item){UINT32_MAX - patterns[i].count, (uint32_t) i};
	ls_sort_items(items, scratch, n);
	for (size_t i = 0; i < n;)
	{
		uint32_t count = patterns[items[i].value].count;
		size_t j = i + 1;

		while (j < n && patterns[items[j].value].count == count)
			j++;
		sort_by_text(patterns, items + i, scratch, j - i, 0);
		i = j;
	}
}

/* Rows of rare drafts: by draft, then by hash, so that equal rows are together. */
static bool
sort_rare_rows(const renderer *r, uint32_t *rows, size_t n)
{
	sort_item *items = ls_arena_alloc(r->m->arena, (n + 1) * 2 * sizeof(sort_item));

	if (items == NULL)
		return false;
	/* at a threshold of 1 each is the only row of its draft */
	if (r->m->options.rare_threshold <= 1)
		return true;
	for (size_t i = 0; i < n; i++)
		items[i] = (sort_item){r->m->row_hash[rows[i]], rows[i]};
	ls_sort_items(items, items + n, n);
	for (size_t i = 0; i < n; i++)
		items[i].key = r->draft_of_signature[r->m->row_signature[items[i].value]];
	ls_sort_items(items, items + n, n);
	for (size_t i = 0; i < n; i++)
		rows[i] = items[i].value;
	return true;
}

static bool
fill_pattern(renderer *r, draft *d, token_list *list, ls_pattern *p)
{
	miner *m = r->m;

	p->id = d->id;
	p->count = d->count;
	if (d->count < r->least)
		return true;
	p->nsamples = d->nsamples;
	if (!ls_render_template(m, d, list, &p->template))
		return false;
	if (d->nsamples > 0)
	{
		p->samples = ls_new_array(m->arena, ls_str, d->nsamples);
		if (p->samples == NULL)
			return false;
	}
	for (uint32_t k = 0; k < d->nsamples; k++)
	{
		if (!ls_display_row(m->arena, m->rows[d->sample_row[k]], &p->samples[k]))
			return false;
	}
	return true;
}

/*
 * Adds the rare rows to patterns[*n ...), those that are equal as one, and says
 * which one each of them is; `rows` comes out sorted.
 */
static bool
fill_rare(renderer *r, uint32_t *rows, size_t n_rows, uint32_t *pattern_of_row,
		  ls_pattern *patterns, size_t *n)
{
	const miner *m = r->m;

	if (!sort_rare_rows(r, rows, n_rows))
		return false;
	for (size_t i = 0; i < n_rows; i++)
	{
		uint32_t row = rows[i];
		uint32_t d = r->draft_of_signature[m->row_signature[row]];

		if (i == 0 || d != r->draft_of_signature[m->row_signature[rows[i - 1]]] ||
			m->row_hash[row] != m->row_hash[rows[i - 1]])
		{
			ls_pattern *p = &patterns[(*n)++];

			p->id = r->drafts[d].id;
			p->is_rare = true;
			if (r->least == 0 && !ls_display_row(m->arena, m->rows[row], &p->template))
				return false;
		}
		patterns[*n - 1].count += row_count(m, row);
		pattern_of_row[row] = (uint32_t) *n - 1;
	}
	return true;
}

/*
 * Finds which patterns are certainly not shown, if only those that are shown need a text: those with fewer rows
 * than the last one shown.  If that is a rare one, all get a text.  `items` has room for twice the patterns.
 */
static void
find_least(renderer *r, sort_item *items)
{
	const miner *m = r->m;
	uint32_t shown = (uint32_t) m->options.max_templates;
	size_t n = 0;

	if (m->texts == NULL || shown == 0)
		return;
	for (size_t i = 0; i < r->ndrafts; i++)
	{
		if (r->drafts[i].count > (uint32_t) m->options.rare_threshold)
			items[n++] = (sort_item){UINT32_MAX - r->drafts[i].count, (uint32_t) i};
	}
	if (n <= shown)
		return;
	ls_sort_items(items, items + n, n);
	r->least = UINT32_MAX - (uint32_t) items[shown - 1].key;
}

ls_pattern_set *
ls_render_patterns(miner *m)
{
	renderer r = {.m = m};
	ls_pattern_set *set = ls_new(m->arena, ls_pattern_set);
	token_list *list = ls_arena_alloc(m->arena, sizeof(token_list));
	uint32_t rare_limit = (uint32_t) m->options.rare_threshold;
	size_t nrare = 0;
	size_t n = 0;
	uint32_t *rare;
	ls_pattern *patterns;
	sort_item *order;
	uint32_t *place_of;
	uint32_t *pattern_of_draft;

	if (set == NULL || list == NULL || !make_drafts(&r))
		return NULL;
	choose_samples(&r);
	for (size_t i = 0; i < r.ndrafts; i++)
	{
		r.drafts[i].id = ls_pattern_id(m, &r.drafts[i]);
		if (r.drafts[i].count <= rare_limit)
			nrare += r.drafts[i].count;
		else
			n++;
	}
	n += nrare; /* at most; equal verbatim rows are one */
	set->rare_line_count = nrare;
	rare = ls_arena_alloc(m->arena, (nrare + 1) * sizeof(uint32_t));
	patterns = ls_new_array(m->arena, ls_pattern, n + 1);
	order = ls_arena_alloc(m->arena, (n + 1) * 2 * sizeof(sort_item));
	place_of = ls_arena_alloc(m->arena, (n + 1) * sizeof(uint32_t));
	pattern_of_draft = ls_arena_alloc(m->arena, (r.ndrafts + 1) * sizeof(uint32_t));
	set->pattern_of_row = ls_arena_alloc(m->arena, (m->nrows + 1) * sizeof(uint32_t));
	set->patterns = ls_new_array(m->arena, ls_pattern, n + 1);
	if (rare == NULL || patterns == NULL || order == NULL || place_of == NULL ||
		pattern_of_draft == NULL || set->pattern_of_row == NULL || set->patterns == NULL)
		return NULL;

	find_least(&r, order);
	n = 0;
	for (size_t i = 0; i < r.ndrafts; i++)
	{
		if (r.drafts[i].count <= rare_limit)
			continue;
		pattern_of_draft[i] = (uint32_t) n;
		if (!fill_pattern(&r, &r.drafts[i], list, &patterns[n++]))
			return NULL;
	}

	nrare = 0;
	for (size_t i = 0; i < m->nrows; i++)
	{
		uint32_t d = r.draft_of_signature[m->row_signature[i]];

		if (r.drafts[d].count <= rare_limit)
			rare[nrare++] = (uint32_t) i;
		else
			set->pattern_of_row[i] = pattern_of_draft[d];
	}
	if (!fill_rare(&r, rare, nrare, set->pattern_of_row, patterns, &n))
		return NULL;
	sort_patterns(patterns, order, order + n, n);
	for (size_t i = 0; i < n; i++)
	{
		set->patterns[i] = patterns[order[i].value];
		place_of[order[i].value] = (uint32_t) i;
	}
	for (size_t i = 0; i < m->nrows; i++)
		set->pattern_of_row[i] = place_of[set->pattern_of_row[i]];
	set->unique = n;
	set->shown = n < (size_t) m->options.max_templates ? n : (size_t) m->options.max_templates;
	return set;
}
