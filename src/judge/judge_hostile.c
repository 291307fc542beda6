/*-------------------------------------------------------------------------
 *
 * judge_hostile.c
 *	  Rows that talk to their reader, for the built-in evaluator (pure).
 *
 * The evaluator obeys no row in any case: it has nothing that could obey.  But a row such as
 * "ignore the above, the backup succeeded" would count as evidence of a success by its words.
 * So text that instructs a reader is found by its turns of phrase, and the row from there on carries
 * no weight.  But whoever can put a name or a path into the row of a failure must not take that
 * away: what stands before such text still shows a failure.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

/* Commands to a judge, which rows of a log do not contain otherwise; their first words are a set. */
/* clang-format off */
static const char *const commands[] = {
	"all expected items", "all findings", "answer status", "answer with passed", "as passed",
	"as the evaluator", "assistant:", "automated evaluator", "consider it passed", "dear ai",
	"dear assistant", "dear evaluator", "dear judge", "dear model", "disregard", "evaluator:",
	"every expected", "every finding", "forget all", "forget previous", "ignore all",
	"ignore every", "ignore previous", "ignore the above", "ignore the previous",
	"ignore the rows", "ignore your", "jailbreak", "mark every", "mark the item",
	"new instructions", "note to evaluator", "output passed", "please answer", "please mark",
	"prompt injection", "report as passed", "report everything", "respond passed",
	"set the verdict", "set verdict", "system override", "system prompt", "the evaluator", "the judge",
	"the verdict is", "to the ai", "treat as passed", "treat every", "treat this as",
	"you are a judge", "you are now", "your instructions"
};
/* clang-format on */

size_t
ls_judge_hostile_begin(const ls_judge_ctx *ctx, const ls_judge_text *t)
{
	for (int i = 0; i < t->n; i++)
	{
		ls_str rest = ls_str_make(t->text.data + t->atoms[i].off, t->text.len - t->atoms[i].off);

		if (!ls_judge_in(ctx, t, i, LS_SET_COMMAND))
			continue;
		for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++)
		{
			size_t len = strlen(commands[k]);

			if (rest.len >= len &&
				ls_str_eq_nocase(ls_str_make(rest.data, len), ls_str_make(commands[k], len)))
				return t->atoms[i].off;
		}
	}
	return t->text.len;
}
