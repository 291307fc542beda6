/*-------------------------------------------------------------------------
 *
 * judge_work.c
 *	  What an item may cost, for the built-in evaluator (pure).
 *
 * Every look at a row is paid from the budget of the call, which the items share.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define ITEM_WORK ((size_t) 4 << 20) /* some 60 ms */
#define FEWEST 20                    /* rows */

/*
 * How many rows may be looked at: what is left of the call's budget is shared by the items, so
 * that the largest request ends in bounded time.  A row costs its bytes to be compared, and ten
 * times as much when it has to be read again, which an item may do with it several times.  A few
 * rows are looked at whatever is left.
 */
size_t
ls_judge_room(const ls_judge_ctx *ctx, size_t limit)
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
ls_judge_spend(ls_judge_ctx *ctx, size_t cost)
{
	ctx->spent += cost;
	ctx->work -= ctx->work < cost ? ctx->work : cost;
}
