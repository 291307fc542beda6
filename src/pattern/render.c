/*-------------------------------------------------------------------------
 *
 * render.c
 *	  The result: template texts, samples, verbatim rows, and lines.
 *
 * The template of a pattern is written along its most frequent signature.  It
 * must hold for all rows of the pattern: a placeholder names a class (<IP>,
 * <NUM>) only when all signatures of the pattern have this class at this
 * place, otherwise it is <*>; a constant of the header is shown only when all
 * agree on it; and where signatures differ in length, a run of variables is
 * one <*>.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/internal.h"

#include <stdlib.h>

/* A pattern while it is made. */
typedef struct draft
{
	uint32_t group;
	uint32_t signature; /* the one it is written along */
	uint32_t count;
	uint32_t nsamples;
	bool varying;     /* signatures differ in length */
	uint8_t *differs; /* per token of the signature: do not show its text or class */
	uint64_t id;
	uint64_t sample_hash[LS_PATTERN_MAX_SAMPLES];
	uint32_t sample_row[LS_PATTERN_MAX_SAMPLES];
} draft;

typedef struct renderer
{
	miner *m;
	draft *drafts;
	size_t ndrafts;
	uint32_t *draft_of_signature;
} renderer;

/* ---- escapes ---- */

void
ls_pattern_escape(ls_buf *buf, ls_str row)
{
	size_t plain = 0;
	size_t i = 0;

	while (i < row.len)
	{
		uint8_t c = (uint8_t) row.data[i];
		uint8_t next = i + 1 < row.len ? (uint8_t) row.data[i + 1] : 0;
		uint8_t third = i + 2 < row.len ? (uint8_t) row.data[i + 2] : 0;
		size_t len = 1;

		if (c >= 0x20 && c != 0x7f && c != 0xc2 && c != 0xe2)
		{
			i++;
			continue;
		}
		if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			len = 2; /* U+0080 to U+009F */
		else if (c == 0xe2 && next == 0x80 && (third == 0xa8 || third == 0xa9))
			len = 3; /* line and paragraph separator */
		else if (c >= 0x80)
		{
			i++;
			continue;
		}
		ls_buf_append(buf, row.data + plain, i - plain);
		if (len == 3)
			ls_buf_printf(buf, "\\u20%02x", third - 0x80);
		else if (len == 2)
			ls_buf_printf(buf, "\\u00%02x", next);
		else if (c == '\n')
			ls_buf_lit(buf, "\\n");
		else if (c == '\r')
			ls_buf_lit(buf, "\\r");
		else if (c == '\t')
			ls_buf_lit(buf, "\\t");
		else
			ls_buf_printf(buf, "\\x%02x", c);
		i += len;
		plain = i;
	}
	ls_buf_append(buf, row.data + plain, row.len - plain);
}

static bool
needs_escape(ls_str row)
{
	for (size_t i = 0; i < row.len; i++)
	{
		uint8_t c = (uint8_t) row.data[i];

		if (c < 0x20 || c == 0x7f || c == 0xc2 || c == 0xe2)
			return true;
	}
	return false;
}

/* The row for display: itself where nothing must be escaped. */
static bool
display(ls_arena *arena, ls_str row, ls_str *out)
{
	ls_buf buf;

	*out = row;
	if (!needs_escape(row))
		return true;
	ls_buf_init(&buf, arena);
	ls_pattern_escape(&buf, row);
	*out = ls_str_make(buf.data, buf.len);
	return !buf.failed;
}

void
ls_pattern_line(ls_buf *buf, const ls_pattern *pattern)
{
	ls_buf_printf(buf, "[%ux] ", pattern->count);
	ls_buf_str(buf, pattern->template);
	for (uint32_t i = 0; i < pattern->nsamples; i++)
	{
		if (i == 0)
			ls_buf_lit(buf, "  e.g. ");
		else
			ls_buf_lit(buf, " | ");
		ls_buf_str(buf, pattern->samples[i]);
	}
}

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

/* ---- the text of a template ---- */

/* One token of the template: its text, or the placeholder for it. */
typedef enum piece_kind
{
	PIECE_TEXT,
	PIECE_SEPARATOR, /* text that may be inside a run of placeholders */
	PIECE_ANY,
	PIECE_NUMBER,
	PIECE_ADDRESS
} piece_kind;

static void
append_placeholder(ls_buf *buf, piece_kind kind)
{
	if (kind == PIECE_ANY)
		ls_buf_lit(buf, "<*>");
	else if (kind == PIECE_NUMBER)
		ls_buf_lit(buf, "<NUM>");
	else
		ls_buf_lit(buf, "<IP>");
}

static piece_kind
piece_of(const renderer *r, const draft *d, const token_list *list, const uint32_t *map, uint32_t i)
{
	const miner *m = r->m;
	const signature *s = &m->signatures[d->signature];
	const group *g = &m->groups[d->group];
	uint64_t code = list->t[i].code;
	bool body = i >= s->body;
	bool differs = d->differs[i] || (body && d->varying);

	switch (CODE_KIND(code))
	{
		case TOKEN_WORD:
			if (body)
				differs = g->ids[map[i - s->body]] == ID_VARIABLE;
			return differs ? PIECE_ANY : PIECE_TEXT;
		case TOKEN_VALUE:
			return differs ? PIECE_ANY : PIECE_TEXT;
		case TOKEN_VARIABLE:
			if (differs || CLASS_OF(code) == CLASS_ANY || CLASS_OF(code) == CLASS_TAIL)
				return PIECE_ANY;
			return CLASS_OF(code) == CLASS_NUMBER ? PIECE_NUMBER : PIECE_ADDRESS;
		default:
			if (d->differs[i] && !body)
				return PIECE_ANY;
			return code == CODE(TOKEN_SYMBOL, ':') || code == CODE(TOKEN_SYMBOL, ',') ||
						   code == CODE(TOKEN_SYMBOL, '=')
					   ? PIECE_SEPARATOR
					   : PIECE_TEXT;
	}
}

static void
append_piece(ls_buf *buf, const char *row, const token *t, piece_kind kind)
{
	const char *start = row + t->start;
	const char *end = start + t->len;

	if (kind <= PIECE_SEPARATOR)
	{
		ls_pattern_escape(buf, ls_str_make(start, t->len));
		return;
	}
	/* A JSON string keeps its quotes, /1.2.3.4 its slash. */
	if (t->lead > 0 && *start == '"')
	{
		ls_buf_char(buf, '"');
		append_placeholder(buf, kind);
		ls_buf_char(buf, '"');
		return;
	}
	if (t->lead > 0 && kind == PIECE_ADDRESS)
		ls_pattern_escape(buf, ls_str_make(start, t->lead));
	append_placeholder(buf, kind);
	if (kind == PIECE_NUMBER)
	{
		const char *unit = end;

		while (unit > start && ((unit[-1] | 0x20) < '0' || (unit[-1] | 0x20) > '9') &&
			   unit[-1] != '.')
			unit--;
		ls_buf_append(buf, unit, (size_t) (end - unit));
	}
}

static bool
render_template(renderer *r, draft *d, token_list *list, ls_str *out)
{
	miner *m = r->m;
	const signature *s = &m->signatures[d->signature];
	ls_str text = m->rows[s->row];
	const char *row = text.data;
	uint32_t canonical[MAX_TOKENS];
	uint32_t map[MAX_TOKENS];
	piece_kind kinds[MAX_TOKENS];
	ls_buf buf;
	uint32_t previous_end = 0;

	ls_buf_init(&buf, m->arena);
	ls_scan_row(list, text);
	ls_canonical_ids(m, s->ids + s->body, s->ntokens - s->body, canonical, map);
	for (uint32_t i = 0; i < list->n; i++)
		kinds[i] = piece_of(r, d, list, map, i);

	for (uint32_t i = 0; i < list->n; i++)
	{
		uint32_t last = i;
		uint32_t placeholders = 0;

		/* Three placeholders or more in a row, as in a time, are one. */
		if (kinds[i] > PIECE_SEPARATOR && !(list->structured && list->t[i].lead > 0))
		{
			for (uint32_t k = i; k < list->n && kinds[k] != PIECE_TEXT && k - last <= 2 &&
								 (i >= s->body) == (k >= s->body);
				 k++)
			{
				if (kinds[k] > PIECE_SEPARATOR)
				{
					placeholders++;
					last = k;
				}
			}
		}
		if (i > 0)
			ls_pattern_escape(&buf,
							  ls_str_make(row + previous_end, list->t[i].start - previous_end));
		if (placeholders >= 3 || (placeholders == 2 && d->varying))
		{
			ls_buf_lit(&buf, "<*>");
			i = last;
		}
		else
			append_piece(&buf, row, &list->t[i], kinds[i]);
		previous_end = list->t[i].start + list->t[i].len;
	}
	if (list->n > 0 && CLASS_OF(list->t[list->n - 1].code) != CLASS_TAIL &&
		text.len > MAX_ROW_BYTES)
		ls_buf_lit(&buf, "<*>");
	*out = ls_str_make(buf.data == NULL ? "" : buf.data, buf.len);
	return !buf.failed;
}

/* The id is a hash of keys and canonical body: the same in other requests. */
static uint64_t
pattern_id(const miner *m, const draft *d)
{
	const group *g = &m->groups[d->group];
	uint64_t codes[MAX_TOKENS];
	uint32_t out[MAX_TOKENS];
	uint32_t n = ls_canonical_ids(m, g->ids, g->n, out, NULL);

	for (uint32_t i = 0; i < n; i++)
		codes[i] = m->codes[out[i]];
	return ls_hash64(codes, n * sizeof(uint64_t), g->hard);
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
	if (!render_template(r, d, list, &p->template))
		return false;
	if (d->nsamples > 0)
	{
		p->samples = ls_new_array(m->arena, ls_str, d->nsamples);
		if (p->samples == NULL)
			return false;
	}
	for (uint32_t k = 0; k < d->nsamples; k++)
	{
		if (!display(m->arena, m->rows[d->sample_row[k]], &p->samples[k]))
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
		r.drafts[i].id = pattern_id(m, &r.drafts[i]);
		if (r.drafts[i].count <= rare_limit)
			nrare += r.drafts[i].count;
	}
	set->rare_line_count = nrare;
	rare = ls_arena_alloc(m->arena, (nrare + 1) * sizeof(rare_row));
	patterns = ls_new_array(m->arena, ls_pattern, r.ndrafts + nrare + 1);
	order = ls_arena_alloc(m->arena, (r.ndrafts + nrare + 1) * sizeof(*order));
	place_of = ls_arena_alloc(m->arena, (r.ndrafts + nrare + 1) * sizeof(uint32_t));
	pattern_of_draft = ls_arena_alloc(m->arena, (r.ndrafts + 1) * sizeof(uint32_t));
	set->pattern_of_row = ls_arena_alloc(m->arena, (m->nrows + 1) * sizeof(uint32_t));
	set->patterns = ls_new_array(m->arena, ls_pattern, r.ndrafts + nrare + 1);
	if (rare == NULL || patterns == NULL || order == NULL || place_of == NULL ||
		pattern_of_draft == NULL || set->pattern_of_row == NULL || set->patterns == NULL)
		return NULL;

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
			if (!display(m->arena, m->rows[rare[i].row], &p->template))
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
