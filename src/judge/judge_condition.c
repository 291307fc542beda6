/*-------------------------------------------------------------------------
 *
 * judge_condition.c
 *	  Thresholds and absences, for the built-in evaluator (pure).
 *
 * An absence ("no errors in X") holds when rows are about its subject and none violates it; where
 * the subject is the log as a whole, every row is about it.  A threshold takes the value of each
 * row that is about its subject, or the number of such rows.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

static bool
fails(const ls_judge_row *row)
{
	for (int k = 0; k < row->n_cues; k++)
		if (row->cues[k].class == LS_CLASS_FAIL)
			return true;
	return false;
}

static bool
violates(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_row *row,
		 const ls_judge_match *m)
{
	/* "checking for X ... ok" says that X was looked for */
	if (m->class == LS_CLASS_PASS && m->strength >= 2 && row->text.n > 0 &&
		ctx->words.table[row->text.atoms[0].word].concept == LS_CONCEPT_VERIFY && !fails(row))
		return false;
	if (item->http_low != 0)
	{
		int status = ls_judge_row_status(ctx, row);

		return status >= item->http_low && status <= item->http_high;
	}
	return item->errors ? fails(row) : m->forbidden;
}

bool
ls_judge_survey(ls_judge_ctx *ctx, size_t end)
{
	if (ctx->http == NULL)
	{
		ctx->http = ls_new_array(ctx->arena, uint16_t, ctx->n_rows + 1);
		ctx->first_fail = -1;
	}
	if (ctx->http == NULL)
		return false;
	for (; ctx->surveyed < end && ctx->surveyed < ctx->n_rows; ctx->surveyed++)
	{
		const ls_judge_row *row = ls_judge_row_get(ctx, ctx->surveyed);

		if (row == NULL)
			return false;
		if (row->hostile)
			continue;
		ctx->http[ctx->surveyed] = (uint16_t) ls_judge_row_status(ctx, row);
		if (ctx->first_fail < 0 && fails(row))
			ctx->first_fail = ctx->surveyed;
	}
	return true;
}

bool
ls_judge_item_surveys(const ls_judge_item *item)
{
	return (item->absent || item->http_low != 0) && item->n_required == 0 && !item->has_name;
}

/* The subject is the log as a whole: every row is about it. */
static bool
decide_absence_anywhere(ls_judge_ctx *ctx, const ls_judge_item *item, ls_judge_decision *d)
{
	int64_t first = -1;

	if (!ls_judge_survey(ctx, ctx->n_rows))
		return false;
	for (size_t r = 0; r < ctx->n_rows && item->http_low != 0 && first < 0; r++)
		if (ctx->http[r] >= item->http_low && ctx->http[r] <= item->http_high)
			first = (int64_t) r;
	if (first < 0 && item->errors && item->http_low == 0)
		first = ctx->first_fail;
	if (!item->errors && item->http_low == 0)
	{
		size_t n = ls_judge_index_candidates(ctx, item, ls_judge_room(ctx, ctx->n_rows));

		for (size_t i = 0; i < n && first < 0; i++)
		{
			uint32_t r = ctx->candidates[i];
			const ls_judge_row *row = ls_judge_row_get(ctx, r);
			ls_judge_match m;

			if (row == NULL)
				return false;
			ls_judge_spend(ctx, ctx->match_cost * ctx->effort);
			ls_judge_match_row(ctx, item, row, &m);
			if (!row->hostile && violates(ctx, item, row, &m))
				first = r;
		}
	}
	if (first >= 0)
		*d = ls_judge_decide_row(LS_FINDING_FAILED, (uint32_t) first, "shows what must not occur",
								 0.9);
	else if (ctx->n_rows == 0)
		*d = ls_judge_decide(LS_FINDING_NOT_FOUND, "there are no rows", 0.8);
	else
		*d = ls_judge_decide_row(LS_FINDING_PASSED, (uint32_t) ctx->n_rows - 1,
								 "is the last, and no row shows what must not occur", 0.85);
	return true;
}

/*
 * No row is about the subject by its name, which names nothing exactly: a row that shows what
 * must be absent, or denies it ("no leaks found"), decides all the same.
 */
static bool
decide_by_forbidden(ls_judge_ctx *ctx, const ls_judge_item *item, ls_judge_decision *d)
{
	size_t n;
	int64_t clean = -1;
	bool known = false;

	for (int k = 0; k < item->n_terms; k++)
	known |= item->terms[k].forbidden && !item->terms[k].unheld &&
			 item->terms[k].concept != LS_CONCEPT_ERROR &&
			 item->terms[k].concept != LS_CONCEPT_RESULT;
	if (!LS_JUDGE_RULE(FORBIDDEN) || item->n_required > 0 || item->errors || item->http_low != 0 ||
		!known)
		return true;
	n = ls_judge_index_candidates(ctx, item, ls_judge_room(ctx, 400));
	for (size_t i = 0; i < n; i++)
	{
		const ls_judge_row *row = ls_judge_row_get(ctx, ctx->candidates[i]);
		ls_judge_match m;

		if (row == NULL)
			return false;
		ls_judge_spend(ctx, ctx->match_cost * ctx->effort);
		ls_judge_match_row(ctx, item, row, &m);
		if (row->hostile)
			continue;
		if (m.forbidden)
		{
			*d = ls_judge_decide_row(LS_FINDING_FAILED, ctx->candidates[i],
									 "shows what must not occur", 0.82);
			return true;
		}
		if (m.denied && clean < 0)
			clean = ctx->candidates[i];
	}
	if (clean >= 0)
		*d = ls_judge_decide_row(LS_FINDING_PASSED, (uint32_t) clean,
								 "says so, and no row contradicts it", 0.82);
	return true;
}

bool
ls_judge_decide_absence(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows,
						ls_judge_decision *d)
{
	const ls_judge_hit *clean = NULL, *seen = NULL;
	size_t scope = 0;
	bool troubled = false;

	if (item->n_required == 0 && !item->has_name)
		return decide_absence_anywhere(ctx, item, d);
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_judge_hit *h = &rows->list[i];
		const ls_judge_row *row = ls_judge_row_get(ctx, h->row);

		if (row == NULL)
			return false;
		if (row->hostile || h->m.relevance < 0.5f || h->m.relevance < rows->best - 0.35f)
			continue;
		if (violates(ctx, item, row, &h->m))
		{
			*d = ls_judge_decide_row(LS_FINDING_FAILED, h->row, "shows what must not occur", 0.9);
			return true;
		}
		scope++;
		seen = h;
		troubled |= LS_JUDGE_RULE(TROUBLED) && fails(row);
		for (int k = 0; k < row->n_cues; k++)
			if (row->cues[k].class == LS_CLASS_CLEAN)
				clean = h;
	}
	if (scope == 0)
	{
		*d = ls_judge_decide(LS_FINDING_NOT_FOUND, "no row is about it", 0.8);
		return decide_by_forbidden(ctx, item, d);
	}
	if (clean != NULL)
		*d = ls_judge_decide_row(LS_FINDING_PASSED, clean->row,
								 "says so, and no row contradicts it", 0.9);
	else if (troubled)
		*d = ls_judge_decide(LS_FINDING_NOT_FOUND, "rows about it tell failures of another kind",
							 0.45);
	else
		*d = ls_judge_decide_row(LS_FINDING_PASSED, seen->row,
								 "is about it, and no row shows what must not occur", 0.82);
	return true;
}


static ls_str
format_value(ls_arena *arena, double v, const ls_judge_cond *cond)
{
	ls_buf buf;
	double shown = v;
	const char *unit = "";

	if (cond->dim == LS_DIM_TIME)
	{
		unit = v < 1 ? " ms" : " s";
		shown = v < 1 ? v * 1000 : v;
	}
	else if (cond->dim == LS_DIM_PERCENT)
		unit = "%";
	else if (cond->dim == LS_DIM_BYTES)
		unit = " bytes";
	ls_buf_init(&buf, arena);
	ls_buf_printf(&buf, "%.10g%s", shown, unit);
	return ls_str_make(buf.failed ? "" : buf.data, buf.failed ? 0 : buf.len);
}

/* What the rows about an item with a threshold give. */
typedef struct measured
{
	const ls_judge_hit *good, *bad, *last; /* bad: the worst */
	double good_value, bad_value, last_value;
	double first_clock, last_clock;
	size_t clocks, count;
	uint32_t counted; /* the last row that counts */
} measured;

static void
note_value(measured *v, const ls_judge_cond *cond, const ls_judge_hit *h, double value)
{
	v->last = h;
	v->last_value = value;
	if (ls_judge_number_holds(cond, value))
	{
		v->good = h;
		v->good_value = value;
	}
	else if (v->bad == NULL || (cond->op <= LS_OP_LE ? value > v->bad_value : value < v->bad_value))
	{
		v->bad = h;
		v->bad_value = value;
	}
}

static void
note_row(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hit *h,
		 const ls_judge_row *row, measured *v)
{
	double value, clock;

	ls_judge_spend(ctx, ctx->value_cost);
	if (ls_judge_number_find(ctx, item, row, &value))
		note_value(v, &item->cond, h, value);
	if (h->m.relevance >= 0.6f && ls_judge_row_clock(row, &clock))
	{
		if (v->clocks++ == 0)
			v->first_clock = clock;
		v->last_clock = clock;
	}
	if (h->m.relevance >= 0.8f && h->m.class != LS_CLASS_NONE &&
		(item->negative ? h->m.class == LS_CLASS_PASS : true))
	{
		v->count++;
		v->counted = h->row;
	}
}

static ls_judge_decision
decide_by_value(ls_judge_ctx *ctx, const ls_judge_item *item, const measured *v)
{
	const ls_judge_cond *cond = &item->cond;
	const ls_judge_hit *chosen = v->bad ? v->bad : v->last;
	double value = v->bad ? v->bad_value : v->last_value;
	ls_judge_decision d;

	if (item->at_end)
		chosen = v->last, value = v->last_value;
	else if ((item->any || (cond->op >= LS_OP_GT && !item->all)) && v->good)
		chosen = v->good, value = v->good_value;
	if (!ls_judge_number_holds(cond, value))
		d = ls_judge_decide_row(LS_FINDING_FAILED, chosen->row, "is beyond the limit", 0.92);
	else
		d = ls_judge_decide_row(LS_FINDING_PASSED, chosen->row, "is within the limit", 0.95);
	d.note = format_value(ctx->arena, value, cond);
	return d;
}

static ls_judge_decision
decide_by_clock(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows,
				const measured *v)
{
	double took = v->last_clock - v->first_clock;
	bool holds = ls_judge_number_holds(&item->cond, took);
	ls_judge_decision d = ls_judge_decide_row(
		holds ? LS_FINDING_PASSED : LS_FINDING_FAILED, rows->list[rows->n - 1].row,
		holds ? "is within the limit" : "is beyond the limit", 0.82);

	d.note = format_value(ctx->arena, took, &item->cond);
	return d;
}

/* Counts the rows with a status code of the item's class; does any row have a code? */
static bool
count_status(const ls_judge_ctx *ctx, const ls_judge_item *item, measured *v)
{
	bool any = false;

	v->count = 0;
	for (uint32_t r = 0; r < ctx->n_rows; r++)
	{
		any |= ctx->http[r] != 0;
		if (ctx->http[r] >= item->http_low && ctx->http[r] <= item->http_high)
		{
			v->count++;
			v->counted = r;
		}
	}
	return any;
}

static ls_judge_decision
decide_by_count(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows,
				measured *v)
{
	static const char *const why[2][2] = {
		{"is one of the rows looked at; none counts, which is too few",
		 "is one of the rows looked at; none counts, which is within the limit"},
		{"is the last row that counts; their number is beyond the limit",
		 "is the last row that counts; their number is within the limit"}};
	bool holds = ls_judge_number_holds(&item->cond, (double) v->count);
	ls_judge_decision d;

	if (item->http_low == 0 && v->count == 0 && rows->best < LS_RELEVANT)
		return ls_judge_decide(LS_FINDING_NOT_FOUND, "no row is about it", 0.82);
	if (v->count == 0 && rows->n > 0)
		v->counted = rows->list[0].row;
	d = ls_judge_decide_row(holds ? LS_FINDING_PASSED : LS_FINDING_FAILED, v->counted,
							why[v->count > 0][holds], holds ? 0.85 : 0.45);
	if (v->count > 0)
		d.note = format_value(ctx->arena, (double) v->count, &item->cond);
	return d;
}

ls_judge_decision
ls_judge_decide_threshold(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows)
{
	const ls_judge_cond *cond = &item->cond;
	ls_judge_decision plain = ls_judge_decide_plain(item, rows);
	measured v;

	memset(&v, 0, sizeof(v));
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_judge_hit *h = &rows->list[i];
		const ls_judge_row *row = ls_judge_row_get(ctx, h->row);

		if (row != NULL && h->m.relevance >= LS_RELEVANT && h->m.relevance >= rows->best - 0.25f)
			note_row(ctx, item, h, row, &v);
	}
	if (v.last != NULL)
		return decide_by_value(ctx, item, &v);
	if (plain.status == LS_FINDING_FAILED)
		return plain;
	if (cond->dim == LS_DIM_TIME && v.clocks >= 2 && v.last_clock >= v.first_clock)
		return decide_by_clock(ctx, item, rows, &v);
	if (ctx->n_rows > 0 && item->http_low != 0 && !item->has_name && item->n_required == 0)
	{
		if (!ls_judge_survey(ctx, ctx->n_rows))
			return plain;
		if (!count_status(ctx, item, &v))
			return ls_judge_decide(LS_FINDING_NOT_FOUND, "no row has a status code", 0.82);
	}
	if (cond->count && ctx->n_rows > 0 && (rows->n > 0 || item->http_low != 0))
		return decide_by_count(ctx, item, rows, &v);
	return ls_judge_decide(LS_FINDING_NOT_FOUND, "no row tells the value", 0.42);
}
