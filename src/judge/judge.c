/*-------------------------------------------------------------------------
 *
 * judge.c
 *	  The built-in evaluator: its entry point and its explanations (pure).
 *
 * Items are understood, rows indexed, each item decided (judge_decide.c), and each decision written
 * as a finding that cites the row it rests on.  No row, no guess: not_found.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define MAX_ITEMS 200
#define MAX_ROWS 10000
#define WORK ((size_t) 32 << 20) /* see ls_judge_room */
#define NUMBER_COST 20           /* of a number that may be the value of an item */
#define READINGS 3               /* that an item needs of a row that is not kept */

ls_str
ls_judge_quote(ls_str row)
{
	size_t start = 0, len;

	while (start < row.len && (unsigned char) row.data[start] <= ' ')
		start++;
	row = ls_str_make(row.data + start, row.len - start);
	for (len = 0; len < row.len && len < 180 * 4; len++)
		if ((unsigned char) row.data[len] < 0x20)
			break;
	len = ls_utf8_prefix_chars(row.data, len, 180);
	while (len > 0 && row.data[len - 1] == ' ')
		len--;
	return ls_str_make(row.data, len);
}

static void
explain(ls_judge_ctx *ctx, const ls_judge_decision *d, ls_judge_finding *f)
{
	ls_buf buf;

	ls_buf_init(&buf, ctx->arena);
	f->status = d->status;
	f->confidence = d->confidence;
	f->has_row = d->has_row;
	if (d->has_row)
	{
		f->row = d->row + 1;
		f->quote = ls_judge_quote(ctx->rows[d->row]);
		ls_buf_printf(&buf, "row %u: \"%.*s\" %s", (unsigned) f->row, (int) f->quote.len,
					  f->quote.data, d->why);
		if (d->note.len > 0)
			ls_buf_printf(&buf, " (%.*s)", (int) d->note.len, d->note.data);
		ls_buf_char(&buf, '.');
	}
	else if (ctx->n_rows == 1)
		ls_buf_printf(&buf, "The only row does not decide this: %s.", d->why);
	else
		ls_buf_printf(&buf, "None of the %zu rows decides this: %s.", ctx->n_rows, d->why);
	if (!buf.failed)
		f->explanation = ls_str_make(buf.data, ls_utf8_prefix_chars(buf.data, buf.len, 300));
}

/* Sentences that tell the evaluator how to work and ask for nothing. */
static bool
is_framing(ls_str s)
{
	static const char *const openings[] = {"you are",   "use only",     "do not ",   "don't ",
										   "text in",   "answer ",      "ignore ",   "return ",
										   "be strict", "the rows are", "these are", "conclude ",
										   "judge by",  "judge only",   "base your", "please "};

	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++)
	{
		size_t n = strlen(openings[i]);

		if (s.len >= n && ls_str_eq_nocase(ls_str_make(s.data, n), ls_str_make(openings[i], n)))
			return true;
	}
	return false;
}

/* Length of the sign or word that ends a part here: . ? ! ; line break, ", and whether". */
static size_t
part_end(ls_str s, size_t i)
{
	static const ls_str whether = {"and whether ", 12};

	if (s.data[i] == '\n' || s.data[i] == '?' || s.data[i] == ';')
		return 1;
	if ((s.data[i] == '.' || s.data[i] == '!') &&
		(i + 1 == s.len || s.data[i + 1] == ' ' || s.data[i + 1] == '\n'))
		return 1;
	if (i > 0 && s.data[i - 1] == ' ' && s.len - i > whether.len &&
		ls_str_eq_nocase(ls_str_make(s.data + i, whether.len), whether))
		return whether.len;
	return 0;
}

/*
 * The conclusions that criteria ask for: sentences, questions, lines of a list; `all`: also those
 * that ask for nothing.  `left` gets how many there are beyond MAX_ITEMS.
 */
static size_t
split_criteria(ls_str criteria, ls_str *parts, bool all, size_t *left)
{
	size_t n = 0, start = 0;

	for (size_t i = 0; i <= criteria.len; i++)
	{
		size_t end = i == criteria.len ? 1 : part_end(criteria, i);
		size_t from = start, to = i;
		int words = 0;

		if (end == 0)
			continue;
		start = i + end;
		i = start - 1;
		while (from < to && strchr(" \t\r-*0123456789.)", criteria.data[from]) != NULL)
			from++;
		while (to > from && strchr(" \r,", criteria.data[to - 1]) != NULL)
			to--;
		for (size_t k = from; k < to; k++)
			words += criteria.data[k] == ' ';
		if (to - from >= 3 && (words > 0 || to - from > 6) &&
			(all || !is_framing(ls_str_make(criteria.data + from, to - from))))
		{
			if (n < MAX_ITEMS)
				parts[n++] = ls_str_make(criteria.data + from, to - from);
			else
				++*left;
		}
	}
	return n;
}

struct ls_judge_job
{
	ls_judge_ctx ctx;
	const ls_expected_item *items;
	bool own_ids;
	ls_judge_item *parsed[MAX_ITEMS];
	size_t n;    /* items */
	size_t left; /* that are too many, and not judged */
	size_t row;  /* read so far */
	size_t item; /* decided so far */
	bool weighed;
	bool surveys; /* some item speaks of the log as a whole */
	ls_judge_finding *out;
	ls_str summary;
};

static void
summarize(ls_judge_job *job)
{
	size_t counts[LS_FINDING_SKIPPED + 1] = {0};
	ls_buf buf;

	for (size_t i = 0; i < job->n; i++)
		counts[job->out[i].status]++;
	ls_buf_init(&buf, job->ctx.arena);
	ls_buf_printf(&buf,
				  "%zu passed, %zu failed, %zu not found, %zu skipped in %zu row%s, "
				  "by the built-in evaluator.",
				  counts[LS_FINDING_PASSED], counts[LS_FINDING_FAILED],
				  counts[LS_FINDING_NOT_FOUND], counts[LS_FINDING_SKIPPED], job->ctx.n_rows,
				  job->ctx.n_rows == 1 ? "" : "s");
	if (job->left > 0)
		ls_buf_printf(&buf, " %zu conclusions beyond the first %d were not judged.", job->left,
					  MAX_ITEMS);
	job->summary = ls_str_make(buf.data, buf.failed ? 0 : buf.len);
}

ls_judge_job *
ls_judge_begin(ls_arena *arena, const ls_str *rows, size_t n_rows, ls_str criteria,
			   const ls_expected_item *items, size_t n_items, bool generic)
{
	ls_judge_job *job = ls_new(arena, ls_judge_job);
	ls_judge_ctx *ctx = job ? &job->ctx : NULL;
	ls_str parts[MAX_ITEMS];
	size_t n_parts, left = 0;

	if (job == NULL || (ctx->memo = ls_new_array(arena, ls_judge_memo, LS_MEMO)) == NULL)
		return NULL;
	ctx->arena = arena;
	ctx->rows = rows;
	ctx->n_rows = n_rows > MAX_ROWS ? MAX_ROWS : n_rows;
	ls_judge_words_init(&ctx->words);
	ctx->particle = ls_judge_words_find(&ctx->words, ls_judge_stem("the", 3));
	job->items = items;
	job->own_ids = generic || n_items == 0;
	job->n = n_items > MAX_ITEMS ? MAX_ITEMS : n_items;
	job->left = n_items - job->n;
	n_parts = split_criteria(criteria, parts, n_items > 0, &left);
	if (n_items > 0)
	{
		ctx->n_context = ls_judge_text_scan(ctx, criteria, ctx->atoms, LS_JUDGE_ROW_ATOMS);
		for (int i = 0; i < ctx->n_context; i++)
			ctx->context[i] = ctx->atoms[i].stem;
		for (size_t i = 0; i < n_parts && LS_JUDGE_RULE(CRITERIA); i++)
			ls_judge_criteria_read(ctx, parts[i]);
		for (size_t i = 0; i < job->n; i++)
			parts[i] = items[i].description;
	}
	else
	{
		job->left = left;
		job->n = n_parts;
		if (n_parts == 0)
			parts[job->n++] = criteria;
	}
	job->out = ls_new_array(arena, ls_judge_finding, job->n);
	for (size_t i = 0; i < job->n; i++)
		if ((job->parsed[i] = ls_judge_item_parse(ctx, parts[i])) == NULL)
			return NULL;
	return ls_judge_index_begin(ctx) && !ls_arena_failed(arena) ? job : NULL;
}

static void
take(size_t *work, size_t cost)
{
	*work -= *work < cost ? *work : cost;
}

/* Once all rows are known: what they cost, what the words of the items weigh. */
static void
weigh(ls_judge_job *job)
{
	ls_judge_ctx *ctx = &job->ctx;
	size_t n = ctx->n_rows > 0 ? ctx->n_rows : 1;

	ctx->work = WORK;
	for (size_t r = 0; r < ctx->n_rows; r++)
	{
		ctx->match_cost += ctx->rows[r].len / 4;
		ctx->row_cost += ctx->rows[r].len / 4 * (ctx->cache[r].text.atoms ? 1 : READINGS * 10);
	}
	ctx->match_cost = ctx->match_cost / n + 8;
	ctx->row_cost = ctx->row_cost / n + 8;
	ctx->value_cost = ctx->numbers * NUMBER_COST / n + 8;
	ls_judge_items_count_words(ctx, job->parsed, job->n);
	for (ls_judge_item *item = ctx->items; item != NULL; item = item->next)
	{
		ls_judge_item_reweigh(ctx, item);
		job->surveys |= ls_judge_item_surveys(item);
	}
	job->weighed = true;
}

static void
decide_next(ls_judge_job *job)
{
	ls_judge_ctx *ctx = &job->ctx;
	size_t i = job->item++;
	ls_judge_decision d;
	ls_buf id;

	ctx->items_left = job->n - i;
	ctx->item_begin = ctx->spent;
	d = ls_judge_decide_item(ctx, job->parsed[i]);
	explain(ctx, &d, &job->out[i]);
	ls_buf_init(&id, ctx->arena);
	ls_buf_printf(&id, "f%zu", i + 1);
	job->out[i].id = job->own_ids ? ls_str_make(id.data, id.len) : job->items[i].id;
}

ls_judge_state
ls_judge_step(ls_judge_job *job, size_t work)
{
	ls_judge_ctx *ctx = &job->ctx;

	while (work > 0 && !ls_arena_failed(ctx->arena))
	{
		size_t before = ctx->spent;

		if (job->row < ctx->n_rows)
		{
			/* a byte costs more than one unit */
			take(&work, ctx->rows[job->row].len * 4 / 3 + 16);
			ls_judge_index_row(ctx, (uint32_t) job->row++);
			continue;
		}
		if (!job->weighed)
			weigh(job);
		if (job->surveys && ctx->surveyed < ctx->n_rows)
		{
			ls_judge_survey(ctx, ctx->surveyed + 1);
			take(&work, ctx->spent - before + 16);
			continue;
		}
		if (job->item == job->n)
		{
			summarize(job);
			break;
		}
		decide_next(job);
		take(&work, ctx->spent - before + ctx->n_rows / 4 + 64);
	}
	return ls_arena_failed(ctx->arena) ? LS_JUDGE_FAILED
		   : job->summary.len > 0      ? LS_JUDGE_DONE
									   : LS_JUDGE_MORE;
}

void
ls_judge_result(const ls_judge_job *job, ls_judge_finding **findings, size_t *n_findings,
				ls_str *summary)
{
	*findings = job->out;
	*n_findings = job->n;
	*summary = job->summary;
}

bool
ls_judge(ls_arena *arena, const ls_str *rows, size_t n_rows, ls_str criteria,
		 const ls_expected_item *items, size_t n_items, bool generic, ls_judge_finding **findings,
		 size_t *n_findings, ls_str *summary)
{
	ls_judge_job *job = ls_judge_begin(arena, rows, n_rows, criteria, items, n_items, generic);
	ls_judge_state state = job ? LS_JUDGE_MORE : LS_JUDGE_FAILED;

	while (state == LS_JUDGE_MORE)
		state = ls_judge_step(job, LS_JUDGE_SLICE);
	if (state == LS_JUDGE_DONE)
		ls_judge_result(job, findings, n_findings, summary);
	return state == LS_JUDGE_DONE;
}
