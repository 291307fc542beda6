/*-------------------------------------------------------------------------
 *
 * judge_decide.c
 *	  From the rows that match an item to its status, for the built-in evaluator (pure).
 *
 * Each row that names the item says passed, failed, skipped or nothing.  Among the best matches
 * the last one that says something decides: what failed first and succeeded later has succeeded.
 * An order of two events is decided here too; thresholds and absences in judge_condition.c.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define FAR 0.34f                    /* in relevance: about something else */
#define CANDIDATES 400               /* rows looked at closely for an ordinary item */
#define ITEM_WORK ((size_t) 4 << 20) /* some 60 ms */
#define FEWEST 20                    /* rows */
#define CORRELATION 4096             /* bytes of a row in which its key of correlation may stand */
#define SURE 0.75f                   /* of the item, that a hint of success must name */

ls_jdecision
ls_jdecide(ls_finding_status status, const char *why, double confidence)
{
	ls_jdecision d = {status, 0, false, confidence, why, 0, {NULL, 0}};

	return d;
}

ls_jdecision
ls_jdecide_row(ls_finding_status status, uint32_t row, const char *why, double confidence)
{
	ls_jdecision d = {status, row, true, confidence, why, 0, {NULL, 0}};

	return d;
}

/*
 * How many rows may be looked at: what is left of the call's budget is shared by the items, so
 * that the largest request ends in bounded time.  A row costs its bytes to be compared, and ten
 * times as much when it has to be read again, which an item may do with it several times.  A few
 * rows are looked at whatever is left.
 */
size_t
ls_jroom(const ls_jctx *ctx, size_t limit)
{
	size_t budget = ctx->work / (ctx->items_left > 0 ? ctx->items_left : 1);
	size_t used = ctx->spent - ctx->item_begin;
	size_t left = used < ITEM_WORK ? ITEM_WORK - used : 0;
	size_t fit;

	if (budget > left)
		budget = left;
	fit = budget / (ctx->row_cost * ctx->effort + (ctx->values ? ctx->value_cost : 0) + 1);
	if (fit < FEWEST)
		fit = FEWEST;
	return limit < fit ? limit : fit;
}

void
ls_jspend(ls_jctx *ctx, size_t cost)
{
	ctx->spent += cost;
	ctx->work -= ctx->work < cost ? ctx->work : cost;
}

/* A cheap look at the row's filter: false when it lacks an identifier that the item requires. */
static bool
may_hold_idents(const ls_jitem *item, const ls_jrow *row)
{
	for (int k = 0; k < item->n_idents; k++)
	{
		const ls_jident *id = &item->idents[k];

		if (!id->forbidden && !ls_jrow_may_hold(row, id->atoms[id->n - 1]) &&
			!(id->whole && ls_jrow_may_hold(row, id->whole)))
			return false;
	}
	return true;
}

/* Rows that match the item, in order; only those with all its identifiers. */
static bool
collect_some(ls_jctx *ctx, const ls_jitem *item, size_t limit, float threshold, bool partial,
			 ls_jhits *out)
{
	size_t n = !partial && ls_jindex_lacks(ctx, item)
				   ? 0
				   : ls_jindex_candidates(ctx, item, ls_jroom(ctx, limit));
	bool exact = false, whole = false;

	out->n = 0;
	out->best = 0;
	out->chosen = false;
	out->list = ls_new_array(ctx->arena, ls_jhit, n + 1);
	if (out->list == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
	{
		const ls_jrow *row = ls_jrow_get(ctx, ctx->candidates[i]);
		ls_jhit *h = &out->list[out->n];

		if (row == NULL)
			return false;
		if (!partial && !may_hold_idents(item, row))
			continue;
		ls_jspend(ctx, ctx->match_cost * ctx->effort);
		ls_jmatch_row(ctx, item, row, &h->m);
		out->chosen |= h->m.chosen;
		if (partial && h->m.names && h->m.relevance < LS_JRELEVANT)
			h->m.relevance = LS_JRELEVANT;
		if (!(partial ? h->m.names : h->m.idents) || h->m.relevance < threshold)
			continue;
		/* of another name than the item's, only an outright success says something */
		if (partial && h->m.class == LS_JCLASS_PASS && h->m.strength < 3)
			h->m.class = LS_JCLASS_NONE;
		h->row = ctx->candidates[i];
		exact |= h->m.exact_pair;
		out->n++;
	}
	/* A word that is only a part of longer names loses against the word itself. */
	for (size_t i = 0; i < out->n; i++)
		whole |= !out->list[i].m.tight && out->list[i].m.relevance >= LS_JRELEVANT;
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

bool
ls_jcollect(ls_jctx *ctx, const ls_jitem *item, size_t limit, float threshold, ls_jhits *out)
{
	if (!collect_some(ctx, item, limit, threshold, false, out))
		return false;
	if (!LS_JRULE(PARTIAL) || out->n > 0 || item->n_idents < 2)
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

const char *
ls_jwhy(ls_finding_status s)
{
	switch (s)
	{
		case LS_FINDING_PASSED:
			return "shows it";
		case LS_FINDING_FAILED:
			return "shows a failure or the contrary";
		case LS_FINDING_SKIPPED:
			return "says that it was skipped";
		default:
			return "is not conclusive";
	}
}

static float
score_of(const ls_jhit *h)
{
	return h->m.relevance + (h->m.strength == 1 ? 0.0f : h->m.strength == 2 ? 0.2f : 0.3f);
}

/*
 * The share of such decisions that is right on cases that were not written for the rules
 * (docs/builtin-evaluator.md, "Confidence"); so are the constants given to ls_jdecide.
 */
static double
confidence_in(ls_finding_status status, const ls_jmatch *m)
{
	if (status == LS_FINDING_PASSED)
		return m->strength >= 2 ? 0.92 : 0.88;
	if (status == LS_FINDING_SKIPPED)
		return 0.88;
	if (m->strength >= 3 && m->relevance >= 0.9f)
		return 0.92;
	return 0.84;
}

ls_jdecision
ls_jdecide_plain(const ls_jitem *item, const ls_jhits *rows)
{
	const ls_jhit *best = NULL, *last = NULL;
	bool verdict = false;
	float relevant = item->has_name || item->n_idents > 0 ? LS_JRELEVANT : LS_JRELEVANT - 0.1f;
	float least = item->all ? 0 : rows->best - FAR;
	ls_finding_status status;
	ls_jdecision d;

	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_jhit *h = &rows->list[i];

		/* A row that names much less of the item than another is about something else. */
		if (h->m.relevance < relevant || h->m.class == LS_JCLASS_NONE || h->m.relevance < least)
			continue;
		if (best == NULL || score_of(h) > score_of(best))
			best = h;
	}
	if (best == NULL)
		return ls_jdecide(LS_FINDING_NOT_FOUND,
						  rows->best >= LS_JRELEVANT ? "rows name it but tell no outcome"
													 : "no row is about it",
						  rows->best >= LS_JRELEVANT ? 0.45 : 0.82);
	/* where a report tells its verdict, other rows with the name are its details */
	for (size_t i = 0; i < rows->n; i++)
		verdict |= rows->list[i].m.report && rows->list[i].m.relevance >= rows->best - 0.05f;
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_jhit *h = &rows->list[i];

		if (verdict && !h->m.report && h->m.class == LS_JCLASS_PASS && h->m.strength < 3)
			continue;
		if (h->m.relevance < relevant || h->m.class == LS_JCLASS_NONE || h->m.relevance < least ||
			((score_of(h) <
				  score_of(best) -
					  (h->m.strength == 1 && h->m.class == LS_JCLASS_FAIL ? 0.15f : 0.25f) ||
			  (h->m.relevance < best->m.relevance - 0.12f && h->m.class == LS_JCLASS_SKIP)) &&
			 !(item->first && h->m.class == LS_JCLASS_FAIL && h->m.strength > 1)))
			continue;
		/* of counts on the way to the whole the last one says how it ended */
		if (((item->all && !h->m.fraction) || item->first) && h->m.class == LS_JCLASS_FAIL)
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
	if (last == NULL)
		last = best;
	if (last->m.class == LS_JCLASS_SKIP)
		for (size_t i = 0; i < rows->n; i++)
		{
			const ls_jhit *h = &rows->list[i];

			/* done once, a repetition was skipped */
			if (h->m.class == LS_JCLASS_PASS && h->m.strength >= 2 && h->m.action &&
				h->m.relevance > last->m.relevance + 0.05f && h->row < last->row)
			{
				last = h;
				break;
			}
		}
	status = status_of(last->m.class);
	if (LS_JRULE(SURE) && status == LS_FINDING_PASSED && last->m.strength == 1 &&
		last->m.relevance < SURE && !item->presence)
		return ls_jdecide(LS_FINDING_NOT_FOUND, "rows name it but tell no outcome", 0.45);
	d = ls_jdecide_row(status, last->row, ls_jwhy(status), confidence_in(status, &last->m));
	d.relevance = last->m.relevance;
	return d;
}


/* The first (or last) of the best rows that tell the event happened. */
static bool
event_row(const ls_jhits *rows, bool want_last, uint32_t *row)
{
	float best = 0;
	bool found = false;

	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_jhit *h = &rows->list[i];

		if (h->m.class == LS_JCLASS_FAIL || h->m.class == LS_JCLASS_SKIP)
			continue;
		if (score_of(h) > best)
			best = score_of(h);
	}
	for (size_t i = 0; i < rows->n; i++)
	{
		const ls_jhit *h = &rows->list[i];

		if (h->m.class == LS_JCLASS_FAIL || h->m.class == LS_JCLASS_SKIP ||
			score_of(h) < best - 0.1f || h->m.relevance < LS_JRELEVANT)
			continue;
		*row = h->row;
		found = true;
		if (!want_last)
			break;
	}
	return found;
}

static bool
decide_order(ls_jctx *ctx, const ls_jitem *item, const ls_jhits *rows, ls_jdecision *d)
{
	ls_jhits other;
	uint32_t a, b;
	bool inherit = item->other->n_idents == 0 && item->n_idents > 0;

	if (!ls_jcollect(ctx, item->other, CANDIDATES, 0.5f, &other))
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
		*d = ls_jdecide_row(LS_FINDING_PASSED, a, "comes in the right order", 0.9);
	else
		*d = ls_jdecide_row(LS_FINDING_FAILED, a, "comes in the wrong order", 0.9);
	return true;
}

/* "... without a retry": the rows of the same thing must not show it. */
static bool
decide_without(ls_jctx *ctx, const ls_jitem *item, const ls_jhits *main_rows, ls_jdecision *d)
{
	ls_jitem *part = item->without;
	ls_jhits rows;
	ls_jdecision extra;

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
		scoped->n_required = item->n_required;
		part = scoped;
	}
	if (!ls_jcollect(ctx, part, ctx->n_rows, 0.5f, &rows))
		return false;
	if (!ls_jdecide_absence(ctx, part, &rows, &extra))
		return false;
	if (extra.status == LS_FINDING_FAILED)
		*d = extra;
	else if (d->status == LS_FINDING_NOT_FOUND && main_rows->n > 0)
		*d = ls_jdecide_row(LS_FINDING_PASSED, main_rows->list[0].row,
							"is about it, and no row shows what must not occur", 0.82);
	return true;
}

/* The value behind a key that ties rows together: request_id=9, "traceId":"ab"; empty: none. */
static ls_str
correlation_of(ls_str row)
{
	static const char *const keys[] = {"request_id",     "requestid",    "req_id",
									   "trace_id",       "traceid",      "txid",
									   "correlation_id", "correlationid"};

	row.len = row.len < CORRELATION ? row.len : CORRELATION;
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
	{
		size_t len = strlen(keys[k]);

		for (size_t i = 0; i + len + 2 < row.len; i++)
		{
			size_t from = i + len, to;

			if ((row.data[i] | 0x20) != keys[k][0] ||
				!ls_str_eq_nocase(ls_str_make(row.data + i, len), ls_str_make(keys[k], len)))
				continue;
			while (from < row.len && strchr("\":= ", row.data[from]) != NULL)
				from++;
			for (to = from; to < row.len && strchr("\", })]", row.data[to]) == NULL;)
				to++;
			return ls_str_make(row.data + from, to - from < 64 ? to - from : 64);
		}
	}
	return ls_str_make(row.data, 0);
}

/* The word that ties rows together: "#5", "[mirror-a]", "saga=77"; empty when there is none. */
static ls_str
thread_of(ls_str row)
{
	ls_str id = correlation_of(row);
	size_t n = 0;
	bool sign;

	if (id.len > 0)
		return id;
	sign = row.len > 0 && (row.data[0] == '#' || row.data[0] == '[');

	while (n < row.len && row.data[n] != ' ')
	{
		sign |= row.data[n] == '=';
		n++;
	}
	return ls_str_make(row.data, sign && n >= 2 && n < 40 && n < row.len ? n : 0);
}

/*
 * Rows name the item but tell no outcome: a later row of the same thread may, or the output
 * behind a command line.  Looks at the next few rows only.
 */
static bool
decide_thread(ls_jctx *ctx, const ls_jhits *rows, ls_jdecision *d)
{
	const ls_jhit *best = NULL;
	const ls_jrow *row;
	ls_str thread;
	bool command;

	for (size_t i = 0; i < rows->n; i++)
		if (best == NULL || rows->list[i].m.relevance > best->m.relevance)
			best = &rows->list[i];
	if (!LS_JRULE(THREAD) || best == NULL || best->m.relevance < 0.7f)
		return true;
	row = ls_jrow_get(ctx, best->row);
	if (row == NULL)
		return false;
	command = row->command;
	thread = thread_of(ctx->rows[best->row]);
	if (thread.len == 0 && !command)
		return true;
	for (uint32_t r = best->row + 1; r < ctx->n_rows && r < best->row + 8; r++)
	{
		const ls_jcue *cue = NULL;

		if (!command && !ls_str_eq(thread_of(ctx->rows[r]), thread))
			continue;
		row = ls_jrow_get(ctx, r);
		if (row == NULL)
			return false;
		if (command && row->command)
			return true; /* what follows is the next command's */
		for (int k = 0; k < row->n_cues && !row->hostile; k++)
			if (row->cues[k].class != LS_JCLASS_CLEAN && row->cues[k].strength >= 2 &&
				(cue == NULL || row->cues[k].strength > cue->strength))
				cue = &row->cues[k];
		if (cue != NULL)
		{
			ls_finding_status status = status_of((ls_jclass) cue->class);

			*d = ls_jdecide_row(status, r, ls_jwhy(status), 0.82);
			return true;
		}
	}
	return true;
}

static bool
everything(ls_jctx *ctx, ls_jhits *out)
{
	out->list = ls_new_array(ctx->arena, ls_jhit, ctx->n_rows + 1);
	out->n = 0;
	if (out->list == NULL)
		return false;
	for (size_t n = ls_jroom(ctx, ctx->n_rows); out->n < n; out->n++)
	{
		ls_jspend(ctx, ctx->match_cost * ctx->effort);
		out->list[out->n].row = (uint32_t) out->n;
		out->list[out->n].m.relevance = 0.6f;
	}
	out->best = out->n > 0 ? 0.6f : 0;
	return true;
}

static int
count_terms(const ls_jitem *item)
{
	return item == NULL ? 0 : item->n_terms + count_terms(item->other) + count_terms(item->without);
}

bool
ls_jdecide_item(ls_jctx *ctx, const ls_jitem *item, ls_jdecision *d)
{
	bool many = item->absent || item->cond.op != LS_JOP_NONE || item->all;
	bool decided;
	ls_jhits rows;

	if (item->n_members > 0)
		return ls_jdecide_list(ctx, item, d);
	ctx->effort = 1 + (size_t) count_terms(item) / 8;
	ctx->values = item->cond.op != LS_JOP_NONE || ctx->defs.limit != NULL;
	if (!ls_jdecide_name(ctx, item, d, &decided) || decided)
		return decided;
	if (!ls_jcollect(ctx, item, many ? ctx->n_rows : CANDIDATES, item->absent ? 0.3f : 0.4f, &rows))
		return false;
	if (item->cond.op != LS_JOP_NONE && rows.n == 0 && !item->has_name && item->n_idents == 0 &&
		!everything(ctx, &rows))
		return false;
	if (item->cond.op != LS_JOP_NONE)
		*d = ls_jdecide_threshold(ctx, item, &rows);
	else if (item->absent)
	{
		if (!ls_jdecide_absence(ctx, item, &rows, d))
			return false;
	}
	else
	{
		*d = ls_jdecide_plain(item, &rows);
		if (d->status == LS_FINDING_NOT_FOUND && !item->negative && !decide_thread(ctx, &rows, d))
			return false;
		if (d->status == LS_FINDING_NOT_FOUND && !ls_jdecide_start(ctx, item, &rows, d))
			return false;
	}
	/* "the run ended without errors": its subject is the log */
	if (item->without != NULL && item->without->errors && d->status == LS_FINDING_NOT_FOUND &&
		!item->has_name && item->n_idents == 0)
	{
		ls_jdecision extra;

		if (!ls_jsurvey(ctx, ctx->n_rows))
			return false;
		extra = ls_jdecide_row(LS_FINDING_FAILED, (uint32_t) ctx->first_fail,
							   "shows what must not occur", 0.82);
		if (ctx->first_fail >= 0)
			*d = extra;
	}
	if (item->all && item->n_idents > 0 && d->status == LS_FINDING_PASSED && d->has_row &&
		!ls_jdecide_every(ctx, item, d))
		return false;
	if (!ls_jcriteria_apply(ctx, item, &rows, d))
		return false;
	if (item->order != LS_JORDER_NONE && d->status == LS_FINDING_PASSED &&
		!decide_order(ctx, item, &rows, d))
		return false;
	if (item->without != NULL &&
		(d->status == LS_FINDING_PASSED ||
		 (d->status == LS_FINDING_NOT_FOUND && rows.best >= LS_JRELEVANT)) &&
		!decide_without(ctx, item, &rows, d))
		return false;
	if (d->status == LS_FINDING_NOT_FOUND && rows.chosen && rows.best < LS_JRELEVANT)
		d->why = "only text that a client may have chosen speaks of it";
	return true;
}
