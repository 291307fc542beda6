/*-------------------------------------------------------------------------
 *
 * render.c
 *	  The result: patterns with samples, verbatim rows, their order.
 *
 * A pattern is a draft first, one for each group that is left; then rare drafts
 * become their rows, the others get a template and samples.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/render.h"

#include <stdlib.h>

typedef struct renderer
{
	miner *m;
	draft *drafts;
	size_t ndrafts;
	uint32_t *draft_of_signature;
} renderer;

/* ---- drafts ---- */

static bool
make_drafts(renderer *r)
{
	miner *m = r->m;
	uint32_t *draft_of_group = ls_arena_alloc(m->arena, (m->ngroups + 1) * sizeof(uint32_t));

	r->drafts = ls_new_array(m->arena, draft, m->ngroups + 1);
	r->draft_of_signature = ls_arena_alloc(m->arena, (m->nsignatures + 1) * sizeof(uint32_t));
	if (draft_of_group == NULL || r->drafts == NULL || r->draft_of_signature == NULL)
		return false;
	memset(draft_of_group, 0xff, (m->ngroups + 1) * sizeof(uint32_t));

	for (size_t i = 0; i < m->nsignatures; i++)
	{
		const signature *s = &m->signatures[i];
		uint32_t g = ls_group_root(m->groups, m->forms[s->form].group);
		draft *d;

		if (draft_of_group[g] == UINT32_MAX)
		{
			/* signatures are sorted: the first is the most frequent */
			draft_of_group[g] = (uint32_t) r->ndrafts;
			d = &r->drafts[r->ndrafts++];
			d->group = m->forms[s->form].group;
			d->signature = (uint32_t) i;
			d->differs = ls_arena_alloc0(m->arena, s->ntokens);
			if (d->differs == NULL)
				return false;
		}
		r->draft_of_signature[i] = draft_of_group[g];
		d = &r->drafts[draft_of_group[g]];
		d->count += s->count;
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
				d->differs[t] |= s->ids[t] != first->ids[t];
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
compare_patterns(const void *a, const void *b)
{
	const ls_pattern *x = *(const ls_pattern *const *) a;
	const ls_pattern *y = *(const ls_pattern *const *) b;
	int c;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	c = ls_str_cmp(x->template, y->template);
	if (c != 0)
		return c;
	return x->id < y->id ? -1 : x->id > y->id;
}

typedef struct rare_row
{
	uint64_t hash;
	uint32_t draft;
	uint32_t row;
} rare_row;

static int
compare_rare(const void *a, const void *b)
{
	const rare_row *x = a;
	const rare_row *y = b;

	if (x->draft != y->draft)
		return x->draft < y->draft ? -1 : 1;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static bool
fill_pattern(renderer *r, draft *d, token_list *list, ls_pattern *p)
{
	miner *m = r->m;

	p->id = d->id;
	p->count = d->count;
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

ls_pattern_set *
ls_render_patterns(miner *m)
{
	renderer r = {.m = m};
	ls_pattern_set *set = ls_new(m->arena, ls_pattern_set);
	token_list *list = ls_arena_alloc(m->arena, sizeof(token_list));
	uint32_t rare_limit = (uint32_t) m->options.rare_threshold;
	size_t nrare = 0;
	size_t n = 0;
	rare_row *rare;
	ls_pattern *patterns;
	ls_pattern **order;
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
	rare = ls_arena_alloc(m->arena, (nrare + 1) * sizeof(rare_row));
	patterns = ls_new_array(m->arena, ls_pattern, n + 1);
	order = ls_arena_alloc(m->arena, (n + 1) * sizeof(*order));
	place_of = ls_arena_alloc(m->arena, (n + 1) * sizeof(uint32_t));
	pattern_of_draft = ls_arena_alloc(m->arena, (r.ndrafts + 1) * sizeof(uint32_t));
	set->pattern_of_row = ls_arena_alloc(m->arena, (m->nrows + 1) * sizeof(uint32_t));
	set->patterns = ls_new_array(m->arena, ls_pattern, n + 1);
	if (rare == NULL || patterns == NULL || order == NULL || place_of == NULL ||
		pattern_of_draft == NULL || set->pattern_of_row == NULL || set->patterns == NULL)
		return NULL;

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
			rare[nrare++] = (rare_row){m->row_hash[i], d, (uint32_t) i};
		else
			set->pattern_of_row[i] = pattern_of_draft[d];
	}
	qsort(rare, nrare, sizeof(rare_row), compare_rare);
	for (size_t i = 0; i < nrare; i++)
	{
		if (i == 0 || rare[i].draft != rare[i - 1].draft || rare[i].hash != rare[i - 1].hash)
		{
			ls_pattern *p = &patterns[n++];

			p->id = r.drafts[rare[i].draft].id;
			p->is_rare = true;
			if (!ls_display_row(m->arena, m->rows[rare[i].row], &p->template))
				return NULL;
		}
		patterns[n - 1].count++;
		set->pattern_of_row[rare[i].row] = (uint32_t) n - 1;
	}

	for (size_t i = 0; i < n; i++)
		order[i] = &patterns[i];
	qsort(order, n, sizeof(*order), compare_patterns);
	for (size_t i = 0; i < n; i++)
	{
		set->patterns[i] = *order[i];
		place_of[order[i] - patterns] = (uint32_t) i;
	}
	for (size_t i = 0; i < m->nrows; i++)
		set->pattern_of_row[i] = place_of[set->pattern_of_row[i]];
	set->unique = n;
	set->shown = n < (size_t) m->options.max_templates ? n : (size_t) m->options.max_templates;
	return set;
}
