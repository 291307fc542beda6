/*-------------------------------------------------------------------------
 *
 * judge.c
 *	  The built-in evaluator: weighs the rows that match an item into a finding (pure).
 *
 * For each item the rows that name it are found, each says passed, failed, skipped or nothing,
 * and among the best matches the last one that says something decides: what failed first and
 * succeeded later has succeeded.  Conditions (a threshold, an absence, an order) have their own
 * way to look at the same rows.  No row, no guess: not_found.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/judge_internal.h"

#define MAX_ITEMS 200
#define MAX_ROWS 10000
#define CANDIDATES 400 /* rows looked at closely for an ordinary item */
#define RELEVANT 0.55f
#define WORK ((size_t) 32 << 20)

typedef struct hit
{
	uint32_t row;
	ls_jmatch m;
} hit;

typedef struct hits
{
	hit *list;
	size_t n;
	float best;
} hits;

typedef struct decision
{
	ls_finding_status status;
	uint32_t row;
	bool has_row;
	double confidence;
	const char *why;
	float relevance; /* of the row */
	ls_str note;     /* a measured value */
} decision;

static decision
decide(ls_finding_status status, const char *why, double confidence)
{
	decision d = {status, 0, false, confidence, why, 0, {NULL, 0}};

	return d;
}

static decision
decide_row(ls_finding_status status, uint32_t row, const char *why, double confidence)
{
	decision d = {status, row, true, confidence, why, 0, {NULL, 0}};

	return d;
}

/*
 * How many rows may be looked at: what is left of the call's budget is shared by the items, so
 * that the largest request ends in bounded time.  A row costs its atoms, and ten times as much
 * when it has to be read again.
 */
static size_t
room(const ls_jctx *ctx, size_t limit)
{
	size_t budget = ctx->work / (ctx->items_left > 0 ? ctx->items_left : 1);
	size_t fit = budget / (ctx->row_cost > 0 ? ctx->row_cost : 1);

	if (fit < 50)
		fit = 50;
	return limit < fit ? limit : fit;
}

static void
spend(ls_jctx *ctx)
{
	ctx->work -= ctx->work < ctx->row_cost ? ctx->work : ctx->row_cost;
}

/* Rows that match the item, in order; only those with all its identifiers. */
static bool
collect_some(ls_jctx *ctx, const ls_jitem *item, size_t limit, float threshold, bool partial,
			 hits *out)
{
	size_t n = ls_jindex_candidates(ctx, item, room(ctx, limit));
	bool exact = false, whole = false;

	out->n = 0;
	out->best = 0;
	out->list = ls_new_array(ctx->arena, hit, n + 1);
	if (out->list == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
	{
		const ls_jrow *row = ls_jrow_get(ctx, ctx->candidates[i]);
		hit *h = &out->list[out->n];

		if (row == NULL)
			return false;
		spend(ctx);
		ls_jmatch_row(ctx, item, row, &h->m);
		if (partial && h->m.names && h->m.relevance < RELEVANT)
			h->m.relevance = RELEVANT;
		if (!(partial ? h->m.names : h->m.idents) || h->m.relevance < threshold)
			continue;
		h->row = ctx->candidates[i];
		exact |= h->m.exact_pair;
		out->n++;
	}
	/* A word that is only a part of longer names loses against the word itself. */
	for (size_t i = 0; i < out->n; i++)
		whole |= !out->list[i].m.tight && out->list[i].m.relevance >= RELEVANT;
	if (whole)
	{
		size_t kept = 0;

		for (size_t i = 0; i < out->n; i++)
			if (!out->list[i].m.tight)
				out->list[kept++] = out->list[i];
		out->n = kept;
	}
	if (exact && item->n_idents > 0)
	{
		size_t kept = 0;

		for (size_t i = 0; i < out->n; i++)
			if (out->list[i].m.exact_pair)
				out->list[kept++] = out->list[i];
		out->n = kept;
	}
	for (size_t i = 0; i < out->n; i++)
		if (out->list[i].m.relevance > out->best)
			out->best = out->list[i].m.relevance;
	return true;
}

static bool
collect(ls_jctx *ctx, const ls_jitem *item, size_t limit, float threshold, hits *out)
{
	if (!collect_some(ctx, item, limit, threshold, false, out))
		return false;
	if (out->n > 0 || item->n_idents < 2)
		return true;
	/* "Version 2.8 reaches eu-west": one row may name the version, another the place. */
	for (int k = 0; k < item->n_idents; k++)
		if (!ls_jindex_holds(ctx, item->idents[k].atoms[item->idents[k].n - 1]))
			return true;
	return collect_some(ctx, item, limit, threshold, true, out);
}

static ls_finding_status
status_of(ls_jclass c)
{
	switch (c)
	{
		case LS_JCLASS_PASS:
		case LS_JCLASS_CLEAN:
			return LS_FINDING_PASSED;
		case LS_JCLASS_FAIL:
			return LS_FINDING_FAILED;
		case LS_JCLASS_SKIP:
			return LS_FINDING_SKIPPED;
		default:
			return LS_FINDING_NOT_FOUND;
	}
}

static const char *
why_of(ls_finding_status s)
{
	switch (s)
	{
		case LS_FINDING_PASSED:
			return "reports success";
		case LS_FINDING_FAILED:
			return "reports a failure";
		case LS_FINDING_SKIPPED:
			return "says that it was skipped";
		default:
			return "is not conclusive";
	}
}

static float
score_of(const hit *h)
{
	return h->m.relevance + (h->m.strength == 1 ? 0.0f : h->m.strength == 2 ? 0.2f : 0.3f);
}

static decision
decide_plain(const ls_jitem *item, const hits *rows)
{
	const hit *best = NULL, *last = NULL;
	float relevant = item->has_name || item->n_idents > 0 ? RELEVANT : RELEVANT - 0.1f;
	ls_finding_status status;
	decision d;

	for (size_t i = 0; i < rows->n; i++)
	{
		const hit *h = &rows->list[i];

		if (h->m.relevance < relevant || h->m.class == LS_JCLASS_NONE)
			continue;
		if (best == NULL || score_of(h) > score_of(best))
			best = h;
	}
	if (best == NULL)
		return decide(LS_FINDING_NOT_FOUND,
					  rows->best >= RELEVANT ? "rows name it but tell no outcome"
											 : "no row is about it",
					  rows->best >= RELEVANT ? 0.5 : 0.8);
	for (size_t i = 0; i < rows->n; i++)
	{
		const hit *h = &rows->list[i];

		if (h->m.relevance < relevant || h->m.class == LS_JCLASS_NONE ||
			((score_of(h) < score_of(best) - 0.25f ||
			  (h->m.relevance < best->m.relevance - 0.12f && h->m.class == LS_JCLASS_SKIP)) &&
			 !(item->first && h->m.class == LS_JCLASS_FAIL && h->m.strength > 1)))
			continue;
		if ((item->all || item->first) && h->m.class == LS_JCLASS_FAIL)
		{
			last = h;
			break;
		}
		if (item->any && h->m.class == LS_JCLASS_PASS)
		{
			last = h;
			break;
		}
		last = h;
	}
	if (last->m.class == LS_JCLASS_SKIP)
		for (size_t i = 0; i < rows->n; i++)
		{
			const hit *h = &rows->list[i];

			/* done once, a repetition was skipped */
			if (h->m.class == LS_JCLASS_PASS && h->m.strength >= 2 && h->m.action &&
				h->m.relevance > last->m.relevance + 0.05f && h->row < last->row)
			{
				last = h;
				break;
			}
		}
	status = status_of(last->m.class);
	d = decide_row(status, last->row, why_of(status),
				   0.4 + 0.4 * (last->m.relevance > 1 ? 1 : last->m.relevance) +
					   0.05 * last->m.strength);
	d.relevance = last->m.relevance;
	return d;
}

/* ---- absence ---- */

static bool
fails(const ls_jrow *row)
{
	for (int k = 0; k < row->n_cues; k++)
		if (row->cues[k].class == LS_JCLASS_FAIL && !(row->cues[k].flags & LS_JCUE_PAST))
			return true;
	return false;
}

static bool
violates(const ls_jctx *ctx, const ls_jitem *item, const ls_jrow *row, const ls_jmatch *m)
{
	/* "checking for X ... ok" says that X was looked for */
	if (m->class == LS_JCLASS_PASS && m->strength >= 2 && row->text.n > 0 &&
		ctx->words.table[row->text.atoms[0].word].concept == LS_JC_VERIFY && !fails(row))
		return false;
	if (item->http_low != 0 && (row->http != 0 || !item->http_words))
		return row->http >= item->http_low && row->http <= item->http_high;
	return item->errors ? fails(row) : m->forbidden;
}

/* Looks at every row once for what conditions on the whole log ask. */
static bool
survey(ls_jctx *ctx)
{
	if (ctx->http != NULL)
		return true;
	ctx->http = ls_new_array(ctx->arena, uint16_t, ctx->n_rows + 1);
	if (ctx->http == NULL)
		return false;
	ctx->first_fail = -1;
	for (uint32_t r = 0; r < ctx->n_rows; r++)
	{
		const ls_jrow *row = ls_jrow_get(ctx, r);

		if (row == NULL)
			return false;
		if (row->hostile)
			continue;
		ctx->http[r] = (uint16_t) row->http;
		if (ctx->first_fail < 0 && fails(row))
			ctx->first_fail = r;
	}
	return true;
}

/* The subject is the log as a whole: every row is about it. */
static bool
decide_absence_anywhere(ls_jctx *ctx, const ls_jitem *item, decision *d)
{
	int64_t first = -1;

	if (!survey(ctx))
		return false;
	for (size_t r = 0; r < ctx->n_rows && item->http_low != 0 && first < 0; r++)
		if (ctx->http[r] >= item->http_low && ctx->http[r] <= item->http_high)
			first = (int64_t) r;
	if (first < 0 && item->errors && (item->http_low == 0 || item->http_words))
		first = ctx->first_fail;
	if (!item->errors && item->http_low == 0)
	{
		size_t n = ls_jindex_candidates(ctx, item, room(ctx, ctx->n_rows));

		for (size_t i = 0; i < n && first < 0; i++)
		{
			uint32_t r = ctx->candidates[i];
			const ls_jrow *row = ls_jrow_get(ctx, r);
			ls_jmatch m;

			if (row == NULL)
				return false;
			spend(ctx);
			ls_jmatch_row(ctx, item, row, &m);
			if (!row->hostile && violates(ctx, item, row, &m))
				first = r;
		}
	}
	if (first >= 0)
		*d = decide_row(LS_FINDING_FAILED, (uint32_t) first, "shows what must not occur", 0.7);
	else if (ctx->n_rows == 0)
		*d = decide(LS_FINDING_NOT_FOUND, "there are no rows", 0.8);
	else
		*d = decide_row(LS_FINDING_PASSED, (uint32_t) ctx->n_rows - 1,
						"is the last, and no row shows what must not occur", 0.6);
	return true;
}

/* A report of failure about exactly this. */
static bool
failed_verdict(const ls_jrow *row, const ls_jmatch *m)
{
	for (int k = 0; k < row->n_cues; k++)
	{
		const ls_jcue *c = &row->cues[k];

		if (c->class == LS_JCLASS_FAIL && (c->flags & LS_JCUE_VERDICT) && c->strength >= 3 &&
			c->concept == LS_JC_RESULT && !(c->flags & LS_JCUE_COUNT) && m->relevance >= 0.9f)
			return true;
	}
	return false;
}

static bool
decide_absence(ls_jctx *ctx, const ls_jitem *item, const hits *rows, decision *d)
{
	const hit *clean = NULL, *seen = NULL, *skipped = NULL;
	size_t scope = 0, skips = 0;

	if (item->n_required == 0 && !item->has_name)
		return decide_absence_anywhere(ctx, item, d);
	for (size_t i = 0; i < rows->n; i++)
	{
		const hit *h = &rows->list[i];
		const ls_jrow *row = ls_jrow_get(ctx, h->row);

		if (row == NULL)
			return false;
		if (row->hostile || h->m.relevance < 0.5f || h->m.relevance < rows->best - 0.35f)
			continue;
		if (violates(ctx, item, row, &h->m) || failed_verdict(row, &h->m))
		{
			*d = decide_row(LS_FINDING_FAILED, h->row, "shows what must not occur", 0.75);
			return true;
		}
		scope++;
		seen = h;
		if (h->m.class == LS_JCLASS_SKIP && h->m.strength >= 2)
		{
			skipped = h;
			skips++;
		}
		for (int k = 0; k < row->n_cues; k++)
			if (row->cues[k].class == LS_JCLASS_CLEAN)
				clean = h;
	}
	if (scope == 0)
		*d = decide(LS_FINDING_NOT_FOUND, "no row is about it", 0.8);
	else if (skips == scope)
		*d = decide_row(LS_FINDING_SKIPPED, skipped->row, why_of(LS_FINDING_SKIPPED), 0.7);
	else if (clean != NULL)
		*d = decide_row(LS_FINDING_PASSED, clean->row, "says so, and no row contradicts it", 0.8);
	else
		*d = decide_row(LS_FINDING_PASSED, seen->row,
						"is about it, and no row shows what must not occur", 0.65);
	return true;
}

/* ---- thresholds ---- */

static ls_str
format_value(ls_arena *arena, double v, const ls_jcond *cond)
{
	ls_buf buf;
	double shown = v;
	const char *unit = "";

	if (cond->dim == LS_JDIM_TIME)
	{
		unit = v < 1 ? " ms" : " s";
		shown = v < 1 ? v * 1000 : v;
	}
	else if (cond->dim == LS_JDIM_PERCENT)
		unit = "%";
	else if (cond->dim == LS_JDIM_BYTES)
		unit = " bytes";
	ls_buf_init(&buf, arena);
	ls_buf_printf(&buf, "%.10g%s", shown, unit);
	return ls_str_make(buf.failed ? "" : buf.data, buf.failed ? 0 : buf.len);
}

static decision
decide_threshold(ls_jctx *ctx, const ls_jitem *item, const hits *rows)
{
	const ls_jcond *cond = &item->cond;
	decision plain = decide_plain(item, rows);
	const hit *good = NULL, *bad = NULL, *last = NULL;
	double good_value = 0, bad_value = 0, last_value = 0;
	double first_clock = 0, last_clock = 0;
	size_t clocks = 0, count = 0;
	uint32_t counted = 0;
	decision d;

	for (size_t i = 0; i < rows->n; i++)
	{
		const hit *h = &rows->list[i];
		const ls_jrow *row = ls_jrow_get(ctx, h->row);
		double v, clock;

		if (row == NULL)
			break;
		if (item->http_low != 0)
		{
			if (row->http >= item->http_low && row->http <= item->http_high)
			{
				count++;
				counted = h->row;
			}
			continue;
		}
		if (h->m.relevance < RELEVANT || h->m.relevance < rows->best - 0.25f)
			continue;
		if (ls_jnumber_find(ctx, item, row, &v))
		{
			last = h;
			last_value = v;
			if (ls_jnumber_holds(cond, v))
			{
				good = h;
				good_value = v;
			}
			else if (bad == NULL || (cond->op <= LS_JOP_LE ? v > bad_value : v < bad_value))
			{
				bad = h;
				bad_value = v;
			}
		}
		if (h->m.relevance >= 0.6f && ls_jrow_clock(row, &clock))
		{
			if (clocks++ == 0)
				first_clock = clock;
			last_clock = clock;
		}
		if (h->m.relevance >= 0.8f && h->m.class != LS_JCLASS_NONE &&
			(item->negative ? h->m.class == LS_JCLASS_PASS : true))
		{
			count++;
			counted = h->row;
		}
	}
	if (last != NULL)
	{
		const hit *chosen = bad ? bad : last;
		double v = bad ? bad_value : last_value;

		if (item->at_end)
			chosen = last, v = last_value;
		else if ((item->any || (cond->op >= LS_JOP_GT && !item->all)) && good)
			chosen = good, v = good_value;
		if (!ls_jnumber_holds(cond, v))
			d = decide_row(LS_FINDING_FAILED, chosen->row, "is beyond the limit", 0.8);
		else if (plain.status == LS_FINDING_FAILED && plain.row > chosen->row && !item->negative &&
				 plain.relevance >= chosen->m.relevance)
			return plain;
		else
			d = decide_row(LS_FINDING_PASSED, chosen->row, "is within the limit", 0.8);
		d.note = format_value(ctx->arena, v, cond);
		return d;
	}
	if (item->any && plain.status != LS_FINDING_NOT_FOUND)
		return plain;
	if (plain.status == LS_FINDING_FAILED || plain.status == LS_FINDING_SKIPPED)
		if (!(cond->count && item->negative))
			return plain;
	if (cond->dim == LS_JDIM_TIME && clocks >= 2 && last_clock >= first_clock)
	{
		bool holds = ls_jnumber_holds(cond, last_clock - first_clock);

		d = decide_row(holds ? LS_FINDING_PASSED : LS_FINDING_FAILED, rows->list[rows->n - 1].row,
					   holds ? "is within the limit" : "is beyond the limit", 0.6);
		d.note = format_value(ctx->arena, last_clock - first_clock, cond);
		return d;
	}
	if (ctx->n_rows > 0 && item->http_low != 0 && !item->has_name && item->n_required == 0)
	{
		bool any = false;

		if (!survey(ctx))
			return plain;
		count = 0;
		for (uint32_t r = 0; r < ctx->n_rows; r++)
		{
			any |= ctx->http[r] != 0;
			if (ctx->http[r] >= item->http_low && ctx->http[r] <= item->http_high)
			{
				count++;
				counted = r;
			}
		}
		if (!any)
			return decide(LS_FINDING_NOT_FOUND, "no row has a status code", 0.7);
	}
	if (cond->count && ctx->n_rows > 0 && (rows->n > 0 || item->http_low != 0))
	{
		bool holds = ls_jnumber_holds(cond, (double) count);

		if (item->http_low == 0 && count == 0 && rows->best < RELEVANT)
			return decide(LS_FINDING_NOT_FOUND, "no row is about it", 0.7);
		if (count == 0 && rows->n > 0)
			counted = rows->list[0].row;
		d = decide_row(holds ? LS_FINDING_PASSED : LS_FINDING_FAILED, counted,
					   holds ? "is the last that counts; the number is within the limit"
							 : "is the last that counts; the number is beyond the limit",
					   0.6);
		d.note = format_value(ctx->arena, (double) count, cond);
		return d;
	}
	return decide(LS_FINDING_NOT_FOUND, "no row tells the value", 0.6);
}

/* ---- order ---- */

/* The first (or last) of the best rows that tell the event happened. */
static bool
event_row(const hits *rows, bool want_last, uint32_t *row)
{
	float best = 0;
	bool found = false;

	for (size_t i = 0; i < rows->n; i++)
	{
		const hit *h = &rows->list[i];

		if (h->m.class == LS_JCLASS_FAIL || h->m.class == LS_JCLASS_SKIP)
			continue;
		if (score_of(h) > best)
			best = score_of(h);
	}
	for (size_t i = 0; i < rows->n; i++)
	{
		const hit *h = &rows->list[i];

		if (h->m.class == LS_JCLASS_FAIL || h->m.class == LS_JCLASS_SKIP ||
			score_of(h) < best - 0.1f || h->m.relevance < RELEVANT)
			continue;
		*row = h->row;
		found = true;
		if (!want_last)
			break;
	}
	return found;
}

static bool
decide_order(ls_jctx *ctx, const ls_jitem *item, const hits *rows, decision *d)
{
	hits other;
	uint32_t a, b;
	bool inherit = item->other->n_idents == 0 && item->n_idents > 0;

	if (!collect(ctx, item->other, CANDIDATES, 0.5f, &other))
		return false;
	if (inherit)
	{
		/* The second event belongs to the same thing, if any row says so. */
		ls_jitem only = *item;
		size_t kept = 0;

		only.n_terms = 0;
		for (size_t i = 0; i < other.n; i++)
		{
			ls_jmatch m;

			ls_jmatch_row(ctx, &only, ls_jrow_get(ctx, other.list[i].row), &m);
			if (m.idents)
				other.list[kept++] = other.list[i];
		}
		if (kept > 0)
			other.n = kept;
	}
	if (!event_row(rows, item->order == LS_JORDER_AFTER, &a) ||
		!event_row(&other, item->order == LS_JORDER_BEFORE, &b))
		return true;
	if (a == b)
		return true;
	if (item->order == LS_JORDER_AFTER ? a > b : a < b)
		*d = decide_row(LS_FINDING_PASSED, a, "comes in the right order", 0.7);
	else
		*d = decide_row(LS_FINDING_FAILED, a, "comes in the wrong order", 0.7);
	return true;
}

/* "... without a retry": the rows of the same thing must not show it. */
static bool
decide_without(ls_jctx *ctx, const ls_jitem *item, const hits *main_rows, decision *d)
{
	ls_jitem *part = item->without;
	hits rows;
	decision extra;

	if (part->n_idents == 0 && item->n_idents > 0)
	{
		ls_jitem *scoped = ls_new(ctx->arena, ls_jitem);

		if (scoped == NULL)
			return false;
		*scoped = *part;
		for (int k = 0; k < item->n_terms && scoped->n_terms < LS_JITEM_TERMS; k++)
			if (item->terms[k].ident >= 0)
			{
				scoped->terms[scoped->n_terms++] = item->terms[k];
				scoped->total += item->terms[k].weight;
			}
		memcpy(scoped->idents, item->idents, sizeof(item->idents));
		scoped->n_idents = item->n_idents;
		part = scoped;
	}
	if (!collect(ctx, part, ctx->n_rows, 0.5f, &rows))
		return false;
	if (!decide_absence(ctx, part, &rows, &extra))
		return false;
	if (extra.status == LS_FINDING_FAILED)
		*d = extra;
	else if (d->status == LS_FINDING_NOT_FOUND)
		*d = decide_row(LS_FINDING_PASSED, main_rows->list[0].row,
						"is about it, and no row shows what must not occur", 0.5);
	return true;
}

/* The field whose value the word is in some row: "paid" of state=paid. */
static uint64_t
field_of(ls_jctx *ctx, const ls_jterm *term)
{
	for (uint32_t i = 0; i < ctx->lists[term->stem_list].n && i < 8; i++)
	{
		const ls_jrow *row = &ctx->cache[ctx->lists[term->stem_list].rows[i]];

		for (int k = 1; row->text.atoms != NULL && k < row->text.n; k++)
			if (row->text.atoms[k].stem == term->stem && row->text.atoms[k].sep == LS_JSEP_EQUAL &&
				row->text.atoms[k - 1].kind == LS_JKIND_WORD)
				return row->text.atoms[k - 1].stem;
	}
	return 0;
}

/* Is it a word of the criteria?  Then it names the log, and rows need not repeat it. */
static bool
in_context(const ls_jctx *ctx, uint64_t stem)
{
	for (int i = 0; i < ctx->n_context; i++)
		if (ctx->context[i] == stem)
			return true;
	return false;
}

/*
 * A word that no row holds is either what the item is about (then nothing is known of it) or
 * wording that all items of the request share.
 */
static void
reweigh(ls_jctx *ctx, ls_jitem **items, size_t n_items, ls_jitem *item)
{
	item->total = 0;
	for (int k = 0; k < item->n_terms; k++)
	{
		ls_jterm *term = &item->terms[k];
		bool held = ctx->lists[term->stem_list].n > 0 ||
					(term->joined_list >= 0 && ctx->lists[term->joined_list].n > 0) ||
					(term->concept_list >= 0 && ctx->lists[term->concept_list].n > 0);
		size_t sharing = 0;

		if (!held && term->pol == LS_JP_WEAK)
			term->weight *= 0.3f;
		/* With nothing else to go by, a common noun is the subject. */
		if (held && !item->has_name && term->pol == LS_JP_WEAK && !term->forbidden &&
			term->ident < 0)
			term->weight = 1.5f;
		/* "public key" found as publickey: the second word is found with the first */
		if (term->joined_list >= 0 && ctx->lists[term->joined_list].n > 0 &&
			k + 1 < item->n_terms && item->terms[k + 1].ident < 0 &&
			ctx->lists[item->terms[k + 1].stem_list].n == 0)
			item->terms[k + 1].weight = 0;
		if (!held && term->ident < 0 && term->role == LS_JROLE_SUBJECT && term->weight >= 1.2f &&
			!term->forbidden)
		{
			for (size_t i = 0; i < n_items && sharing < 2; i++)
				for (int j = 0; j < items[i]->n_terms; j++)
					if (items[i]->terms[j].stem == term->stem)
					{
						sharing++;
						break;
					}
			if (sharing >= 2 || in_context(ctx, term->stem))
				term->weight *= 0.3f;
			else
				term->weight *= 1.6f;
		}
		if (held && term->role == LS_JROLE_ACTION && term->ident < 0)
			term->key = field_of(ctx, term);
		if (!term->forbidden)
			item->total += term->weight;
	}
}

/* The word that ties rows together: "#5", "[mirror-a]", "saga=77"; empty when there is none. */
static ls_str
thread_of(ls_str row)
{
	size_t n = 0;
	bool sign = row.len > 0 && (row.data[0] == '#' || row.data[0] == '[');

	while (n < row.len && row.data[n] != ' ')
	{
		sign |= row.data[n] == '=';
		n++;
	}
	return ls_str_make(row.data, sign && n >= 2 && n < 40 && n < row.len ? n : 0);
}

/*
 * Rows name the item but tell no outcome: a later row of the same thread may.  Looks at the
 * next few rows only.
 */
static bool
decide_thread(ls_jctx *ctx, const hits *rows, decision *d)
{
	const hit *best = NULL;
	ls_str thread;

	for (size_t i = 0; i < rows->n; i++)
		if (best == NULL || rows->list[i].m.relevance > best->m.relevance)
			best = &rows->list[i];
	if (best == NULL || best->m.relevance < 0.7f)
		return true;
	thread = thread_of(ctx->rows[best->row]);
	if (thread.len == 0)
		return true;
	for (uint32_t r = best->row + 1; r < ctx->n_rows && r < best->row + 8; r++)
	{
		const ls_jrow *row;
		const ls_jcue *cue = NULL;

		if (!ls_str_eq(thread_of(ctx->rows[r]), thread))
			continue;
		row = ls_jrow_get(ctx, r);
		if (row == NULL)
			return false;
		for (int k = 0; k < row->n_cues && !row->hostile; k++)
			if (row->cues[k].class != LS_JCLASS_CLEAN && row->cues[k].strength >= 2 &&
				(cue == NULL || row->cues[k].strength > cue->strength))
				cue = &row->cues[k];
		if (cue != NULL)
		{
			ls_finding_status status = status_of((ls_jclass) cue->class);

			*d = decide_row(status, r, why_of(status), 0.55);
			return true;
		}
	}
	return true;
}

static bool
everything(ls_jctx *ctx, hits *out)
{
	out->list = ls_new_array(ctx->arena, hit, ctx->n_rows + 1);
	out->n = 0;
	if (out->list == NULL)
		return false;
	for (size_t n = room(ctx, ctx->n_rows); out->n < n; out->n++)
	{
		spend(ctx);
		out->list[out->n].row = (uint32_t) out->n;
		out->list[out->n].m.relevance = 0.6f;
	}
	out->best = 0.6f;
	return true;
}

static bool
judge_item(ls_jctx *ctx, const ls_jitem *item, decision *d)
{
	bool many = item->absent || item->cond.op != LS_JOP_NONE || item->all;
	hits rows;

	if (!collect(ctx, item, many ? ctx->n_rows : CANDIDATES, item->absent ? 0.3f : 0.4f, &rows))
		return false;
	if (item->cond.op != LS_JOP_NONE && rows.n == 0 && !item->has_name && item->n_idents == 0 &&
		!everything(ctx, &rows))
		return false;
	if (item->cond.op != LS_JOP_NONE)
		*d = decide_threshold(ctx, item, &rows);
	else if (item->absent)
	{
		if (!decide_absence(ctx, item, &rows, d))
			return false;
	}
	else
	{
		*d = decide_plain(item, &rows);
		if (d->status == LS_FINDING_NOT_FOUND && !item->negative && !decide_thread(ctx, &rows, d))
			return false;
	}
	if (item->order != LS_JORDER_NONE && d->status == LS_FINDING_PASSED &&
		!decide_order(ctx, item, &rows, d))
		return false;
	if (item->without != NULL &&
		(d->status == LS_FINDING_PASSED ||
		 (d->status == LS_FINDING_NOT_FOUND && rows.best >= RELEVANT)) &&
		!decide_without(ctx, item, &rows, d))
		return false;
	return true;
}

/* ---- findings ---- */

/* A part of the row that fits, starting near where the match is; one line. */
static ls_str
quote_row(ls_arena *arena, ls_str row, size_t max_chars)
{
	size_t start = 0, len;

	while (start < row.len && (row.data[start] == ' ' || row.data[start] == '\t'))
		start++;
	row = ls_str_make(row.data + start, row.len - start);
	for (len = 0; len < row.len; len++)
		if ((unsigned char) row.data[len] < 0x20)
			break;
	len = ls_utf8_prefix_chars(row.data, len, max_chars);
	while (len > 0 && row.data[len - 1] == ' ')
		len--;
	return ls_str_make(row.data, len);
}

static bool
explain(ls_jctx *ctx, const decision *d, ls_judge_finding *f)
{
	ls_buf buf;

	ls_buf_init(&buf, ctx->arena);
	f->status = d->status;
	f->confidence = d->confidence > 0.99 ? 0.99 : d->confidence;
	if (d->has_row)
	{
		f->has_row = true;
		f->row = d->row + 1;
		f->quote = quote_row(ctx->arena, ctx->rows[d->row], 180);
		ls_buf_printf(&buf, "row %u: \"", (unsigned) f->row);
		ls_buf_str(&buf, f->quote);
		ls_buf_printf(&buf, "\" %s", d->why);
		if (d->note.len > 0)
			ls_buf_printf(&buf, " (%.*s)", (int) d->note.len, d->note.data);
		ls_buf_char(&buf, '.');
	}
	else
		ls_buf_printf(&buf, "None of the %zu rows decides this: %s.", ctx->n_rows, d->why);
	if (buf.failed)
		return false;
	f->explanation = ls_str_make(buf.data, ls_utf8_prefix_chars(buf.data, buf.len, 300));
	return true;
}

/* The conclusions that criteria ask for: sentences, questions, lines. */
static size_t
split_criteria(ls_str criteria, ls_str *parts, size_t max)
{
	size_t n = 0, start = 0;

	for (size_t i = 0; i <= criteria.len && n < max; i++)
	{
		bool end = i == criteria.len || criteria.data[i] == '\n' || criteria.data[i] == '?' ||
				   criteria.data[i] == ';';
		size_t from = start, to = i;
		int words = 0;

		if (!end && (criteria.data[i] == '.' || criteria.data[i] == '!') &&
			(i + 1 == criteria.len || criteria.data[i + 1] == ' ' || criteria.data[i + 1] == '\n'))
			end = true;
		if (!end)
			continue;
		start = i + 1;
		while (from < to && (strchr(" \t\r-*0123456789.)", criteria.data[from]) != NULL))
			from++;
		while (to > from && (criteria.data[to - 1] == ' ' || criteria.data[to - 1] == '\r'))
			to--;
		for (size_t k = from; k < to; k++)
			words += criteria.data[k] == ' ';
		if (to - from >= 3 && (words > 0 || to - from > 6))
			parts[n++] = ls_str_make(criteria.data + from, to - from);
	}
	return n;
}

static bool
summarize(ls_jctx *ctx, const ls_judge_finding *f, size_t n, ls_str *summary)
{
	size_t counts[LS_FINDING_SKIPPED + 1] = {0};
	ls_buf buf;

	for (size_t i = 0; i < n; i++)
		counts[f[i].status]++;
	ls_buf_init(&buf, ctx->arena);
	ls_buf_printf(&buf,
				  "%zu passed, %zu failed, %zu not found, %zu skipped in %zu rows, "
				  "by the built-in evaluator.",
				  counts[LS_FINDING_PASSED], counts[LS_FINDING_FAILED],
				  counts[LS_FINDING_NOT_FOUND], counts[LS_FINDING_SKIPPED], ctx->n_rows);
	*summary = ls_str_make(buf.data, buf.failed ? 0 : buf.len);
	return !buf.failed;
}

bool
ls_judge(ls_arena *arena, const ls_str *rows, size_t n_rows, ls_str criteria,
		 const ls_judge_item *items, size_t n_items, bool generic, ls_judge_finding **findings,
		 size_t *n_findings, ls_str *summary)
{
	ls_jctx *ctx = ls_new(arena, ls_jctx);
	ls_str *parts = ls_new_array(arena, ls_str, MAX_ITEMS);
	ls_jitem **parsed = ls_new_array(arena, ls_jitem *, MAX_ITEMS);
	ls_judge_finding *out;
	bool own_ids = generic || n_items == 0;
	size_t n = n_items > MAX_ITEMS ? MAX_ITEMS : n_items;

	if (ctx == NULL || parts == NULL || parsed == NULL)
		return false;
	ctx->arena = arena;
	ctx->rows = rows;
	ctx->n_rows = n_rows > MAX_ROWS ? MAX_ROWS : n_rows;
	ls_jwords_init(&ctx->words);
	ctx->particle = ls_jwords_find(&ctx->words, ls_jstem("the", 3));
	ctx->n_context = ls_jtext_scan(ctx, criteria, ctx->atoms, LS_JROW_ATOMS);
	ctx->context = ls_new_array(arena, uint64_t, ctx->n_context + 1);
	if (ctx->context == NULL)
		return false;
	for (int i = 0; i < ctx->n_context; i++)
		ctx->context[i] = ctx->atoms[i].stem;
	if (n == 0)
		ctx->n_context = 0; /* the criteria are the items */
	for (size_t i = 0; i < n; i++)
		parts[i] = items[i].description;
	if (n == 0)
	{
		n = split_criteria(criteria, parts, MAX_ITEMS);
		if (n == 0)
			parts[n++] = criteria;
	}
	out = ls_new_array(arena, ls_judge_finding, n);
	if (out == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((parsed[i] = ls_jitem_parse(ctx, parts[i])) == NULL)
			return false;
	if (!ls_jindex_build(ctx, parsed, n))
		return false;
	ctx->work = WORK;
	for (size_t r = 0; r < ctx->n_rows; r++)
		ctx->row_cost += ctx->rows[r].len / 4 * (ctx->cache[r].text.atoms ? 1 : 10);
	ctx->row_cost = ctx->n_rows > 0 ? ctx->row_cost / ctx->n_rows + 8 : 8;
	for (size_t i = 0; i < n; i++)
		for (ls_jitem *part[3] = {parsed[i], parsed[i]->other, parsed[i]->without}, **p = part;
			 p < part + 3; p++)
			if (*p)
				reweigh(ctx, parsed, n, *p);
	for (size_t i = 0; i < n; i++)
	{
		decision d;

		ctx->items_left = n - i;
		if (!judge_item(ctx, parsed[i], &d) || !explain(ctx, &d, &out[i]))
			return false;
		if (own_ids)
		{
			ls_buf id;

			ls_buf_init(&id, arena);
			ls_buf_printf(&id, "f%zu", i + 1);
			if (id.failed)
				return false;
			out[i].id = ls_str_make(id.data, id.len);
		}
		else
			out[i].id = items[i].id;
	}
	*findings = out;
	*n_findings = n;
	return summarize(ctx, out, n, summary);
}
