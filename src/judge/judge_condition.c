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

#define VIOLATION "shows what must not occur"

static bool
has_status(const ls_judge_item *item, int status)
{
	return item->http_low != 0 && status >= item->http_low && status <= item->http_high;
}

static bool
violates(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_row *row,
		 const ls_judge_match *m)
{
	if (item->http_low != 0)
		return has_status(item, ls_judge_row_status(ctx, row));
	return item->errors ? ls_judge_row_fails(row) : m->forbidden;
}

void
ls_judge_survey(ls_judge_ctx *ctx, size_t end)
{
	if (ctx->http == NULL)
	{
		ctx->http = ls_new_array(ctx->arena, uint16_t, ctx->n_rows + 1);
		ctx->first_fail = -1;
	}
	for (; ctx->http != NULL && ctx->surveyed < end; ctx->surveyed++)
	{
		const ls_judge_row *row = ls_judge_row_get(ctx, ctx->surveyed);

		ctx->http[ctx->surveyed] = (uint16_t) ls_judge_row_status(ctx, row);
		if (ctx->first_fail < 0 && ls_judge_row_fails(row))
			ctx->first_fail = ctx->surveyed;
	}
}

bool
ls_judge_item_surveys(const ls_judge_item *item)
{
	return (item->absent || item->http_low != 0) && item->n_required == 0 && !item->has_name;
}

/* The first row that shows what must be absent, and the first that denies it; -1: none. */
static int64_t
search(ls_judge_ctx *ctx, const ls_judge_item *item, size_t limit, int64_t *clean)
{
	size_t n = ls_judge_index_candidates(ctx, item, ls_judge_room(ctx, limit));

	*clean = -1;
	for (size_t i = 0; i < n; i++)
	{
		ls_judge_match m;

		ls_judge_spend(ctx, ctx->match_cost * ctx->effort);
		ls_judge_match_row(ctx, item, ls_judge_row_get(ctx, ctx->candidates[i]), &m);
		if (m.forbidden)
			return ctx->candidates[i];
		if (m.denied && *clean < 0)
			*clean = ctx->candidates[i];
	}
	return -1;
}

/* The subject is the log as a whole: every row is about it. */
static ls_judge_decision
decide_absence_anywhere(ls_judge_ctx *ctx, const ls_judge_item *item)
{
	int64_t bad = -1, clean;

	ls_judge_survey(ctx, ctx->n_rows);
	if (item->http_low == 0)
		bad = item->errors ? ctx->first_fail : search(ctx, item, ctx->n_rows, &clean);
	for (size_t r = 0; r < ctx->surveyed && bad < 0; r++)
		if (has_status(item, ctx->http[r]))
			bad = (int64_t) r;
	if (bad >= 0)
		return ls_judge_decide_row(LS_FINDING_FAILED, (uint32_t) bad, VIOLATION, 0.9);
	if (ctx->n_rows == 0)
		return ls_judge_decide(LS_FINDING_NOT_FOUND, "there are no rows", 0.8);
	return ls_judge_decide_row(LS_FINDING_PASSED, (uint32_t) ctx->n_rows - 1,
							   "is the last, and no row shows what must not occur", 0.85);
}

/*
 * No row is about the subject by its name, which names nothing exactly: a row that shows what
 * must be absent, or denies it ("no leaks found"), decides all the same.
 */
static ls_judge_decision
decide_by_forbidden(ls_judge_ctx *ctx, const ls_judge_item *item)
{
	int64_t bad = -1, clean = -1;
	bool known = false;

	for (int k = 0; k < item->n_terms; k++)
	known |= item->terms[k].forbidden && !item->terms[k].unheld &&
			 item->terms[k].concept != LS_CONCEPT_ERROR &&
			 item->terms[k].concept != LS_CONCEPT_RESULT;
	if (LS_JUDGE_RULE(FORBIDDEN) && known && item->n_required == 0 && !item->errors &&
		item->http_low == 0)
		bad = search(ctx, item, 400, &clean);
	if (bad >= 0)
		return ls_judge_decide_row(LS_FINDING_FAILED, (uint32_t) bad, VIOLATION, 0.82);
	if (clean >= 0)
		return ls_judge_decide_row(LS_FINDING_PASSED, (uint32_t) clean,
								   "says so, and no row contradicts it", 0.82);
	return ls_judge_decide(LS_FINDING_NOT_FOUND, "no row is about it", 0.8);
}

ls_judge_decision
ls_judge_decide_absence(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows)
{
	const ls_judge_hit *seen = NULL;
	bool troubled = false;

	if (item->n_required == 0 && !item->has_name)
		return decide_absence_anywhere(ctx, item);
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_judge_hit *h = &rows->list[i];
		const ls_judge_row *row = ls_judge_row_get(ctx, h->row);

		if (h->m.relevance < 0.5f || h->m.relevance < rows->best - 0.35f)
			continue;
		if (violates(ctx, item, row, &h->m))
			return ls_judge_decide_row(LS_FINDING_FAILED, h->row, VIOLATION, 0.9);
		seen = h;
		troubled |= LS_JUDGE_RULE(TROUBLED) && ls_judge_row_fails(row);
	}
	if (seen == NULL)
		return decide_by_forbidden(ctx, item);
	if (troubled)
		return ls_judge_decide(LS_FINDING_NOT_FOUND, "rows about it tell failures of another kind",
							   0.45);
	return ls_judge_decide_row(LS_FINDING_PASSED, seen->row,
							   "is about it, and no row shows what must not occur", 0.85);
}

/* Is the value within the limit of the item?  Decided by a row, with the value as a note. */
static ls_judge_decision
decide_value(ls_judge_ctx *ctx, const ls_judge_item *item, double value, uint32_t row,
			 const char *const why[2], double confidence)
{
	static const char *const units[] = {"", " s", " bytes", "%", ""}; /* by ls_judge_dim */
	bool holds = ls_judge_number_holds(&item->cond, value);
	bool ms = item->cond.dim == LS_DIM_TIME && value < 1;
	ls_judge_decision d = ls_judge_decide_row(holds ? LS_FINDING_PASSED : LS_FINDING_FAILED, row,
											  why[holds], confidence);
	ls_buf buf;

	ls_buf_init(&buf, ctx->arena);
	ls_buf_printf(&buf, "%.10g%s", ms ? value * 1000 : value, ms ? " ms" : units[item->cond.dim]);
	d.note = ls_str_make(buf.data, buf.failed ? 0 : buf.len);
	return d;
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
		(!item->negative || h->m.class == LS_CLASS_PASS))
	{
		v->count++;
		v->counted = h->row;
	}
}

/* Counts the rows with a status code of the item's class; does any row have a code? */
static bool
count_status(const ls_judge_ctx *ctx, const ls_judge_item *item, measured *v)
{
	bool any = false;

	v->count = 0;
	for (uint32_t r = 0; r < ctx->surveyed; r++)
	{
		any |= ctx->http[r] != 0;
		if (has_status(item, ctx->http[r]))
		{
			v->count++;
			v->counted = r;
		}
	}
	return any;
}

static ls_judge_decision
decide_by_count(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows,
				const measured *v)
{
	static const char *const none[] = {
		"is one of the rows looked at; none counts, which is too few",
		"is one of the rows looked at; none counts, which is within the limit"};
	static const char *const some[] = {
		"is the last row that counts; their number is beyond the limit",
		"is the last row that counts; their number is within the limit"};
	double confidence = ls_judge_number_holds(&item->cond, (double) v->count) ? 0.85 : 0.45;

	if (v->count > 0)
		return decide_value(ctx, item, (double) v->count, v->counted, some, confidence);
	if (item->http_low == 0 && rows->best < LS_RELEVANT)
		return ls_judge_decide(LS_FINDING_NOT_FOUND, "no row is about it", 0.82);
	return decide_value(ctx, item, 0, rows->n > 0 ? rows->list[0].row : 0, none, confidence);
}

ls_judge_decision
ls_judge_decide_threshold(ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_hits *rows)
{
	static const char *const why[] = {"is beyond the limit", "is within the limit"};
	const ls_judge_cond *cond = &item->cond;
	ls_judge_decision plain = ls_judge_decide_plain(item, rows);
	measured v;

	memset(&v, 0, sizeof(v));
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_judge_hit *h = &rows->list[i];
		const ls_judge_row *row = ls_judge_row_get(ctx, h->row);

		if (h->m.relevance >= LS_RELEVANT && h->m.relevance >= rows->best - 0.25f)
			note_row(ctx, item, h, row, &v);
	}
	if (v.good != NULL && (v.bad == NULL || item->any || (cond->op >= LS_OP_GT && !item->all)) &&
		!item->at_end)
		return decide_value(ctx, item, v.good_value, v.good->row, why, 0.95);
	if (v.last != NULL)
		return item->at_end ? decide_value(ctx, item, v.last_value, v.last->row, why, 0.93)
							: decide_value(ctx, item, v.bad_value, v.bad->row, why, 0.92);
	if (plain.status == LS_FINDING_FAILED)
		return plain;
	if (cond->dim == LS_DIM_TIME && v.clocks >= 2 && v.last_clock >= v.first_clock)
		return decide_value(ctx, item, v.last_clock - v.first_clock, rows->list[rows->n - 1].row,
							why, 0.82);
	if (ctx->n_rows > 0 && ls_judge_item_surveys(item))
	{
		ls_judge_survey(ctx, ctx->n_rows);
		if (!count_status(ctx, item, &v))
			return ls_judge_decide(LS_FINDING_NOT_FOUND, "no row has a status code", 0.82);
	}
	if (cond->dim == LS_DIM_NONE && ctx->n_rows > 0 && (rows->n > 0 || item->http_low != 0))
		return decide_by_count(ctx, item, rows, &v);
	return ls_judge_decide(LS_FINDING_NOT_FOUND, "no row tells the value", 0.42);
}
