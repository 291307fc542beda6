/*-------------------------------------------------------------------------
 *
 * run.c
 *	  One evaluation from request body to answer.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/evaluation.h"

#include "utils/uuid.h"

/* Output tokens that a reservation covers: an estimate for each finding. */
#define TOKENS_PER_FINDING 120

static void
finish(ls_evaluation *evaluation)
{
	evaluation->finished = true;
	if (evaluation->done != NULL)
		evaluation->done(evaluation);
}

/* Ends with an error; `details` is a JSON list or NULL. */
static void
fail(ls_evaluation *evaluation, ls_error_id error, const char *message, const char *details)
{
	ls_buf body;

	ls_buf_init(&body, evaluation->arena);
	ls_error_body(&body, error, message, details);
	evaluation->failed = true;
	evaluation->error = error;
	evaluation->body = ls_str_make(body.data, body.len);
	finish(evaluation);
}

static void
fail_memory(ls_evaluation *evaluation)
{
	/* The arena is spent: a constant body. */
	evaluation->failed = true;
	evaluation->error = LS_ERROR_SERVICE_UNAVAILABLE;
	evaluation->body = LS_STR("{\"error\":\"the evaluation needs too much memory\","
							  "\"code\":\"SERVICE_UNAVAILABLE\"}");
	finish(evaluation);
}

static void
fail_region(ls_evaluation *evaluation, const char *reason)
{
	char details[160];

	snprintf(
		details, sizeof(details),
		"[{\"path\":\"\",\"code\":\"%s\",\"message\":\"no model in an EU region could answer\"}]",
		reason);
	fail(evaluation, LS_ERROR_AI_PROVIDER_NOT_EU, NULL, details);
}

bool
ls_evaluation_prepare(ls_evaluation *evaluation, ls_str body, bool allow_query)
{
	ls_validation_errors *errors = ls_new(evaluation->arena, ls_validation_errors);
	ls_buf details;

	evaluation->provider = ls_provider_current();
	evaluation->region = ls_str_of_cstring(ls_model_region);
	if (errors == NULL)
	{
		fail_memory(evaluation);
		return false;
	}
	ls_validation_init(errors, evaluation->arena);
	if (ls_evaluation_request_parse(body, evaluation->arena, allow_query, &evaluation->request,
									errors))
		return true;
	if (errors->out_of_memory)
	{
		fail_memory(evaluation);
		return false;
	}
	ls_buf_init(&details, evaluation->arena);
	ls_validation_json(&details, errors);
	ls_buf_char(&details, '\0');
	fail(evaluation, LS_ERROR_VALIDATION, NULL, details.failed ? NULL : details.data);
	return false;
}

/* ---- statements, in a transaction of their own or in the caller's ---- */

typedef struct step
{
	ls_evaluation *evaluation;
	ls_credit_grant grant;
	int64 micro_credits;
} step;

static bool
run_step(void (*work)(void *), step *s, bool in_transaction)
{
	ls_caught caught;

	if (in_transaction)
	{
		work(s);
		return true;
	}
	if (ls_transaction(work, s, &caught))
		return true;
	ereport(LOG, errcode(caught.sqlstate),
			errmsg("logsvc could not account for an evaluation: %s", caught.format));
	return false;
}

static void
begin(void *context)
{
	step *s = context;
	ls_evaluation *e = s->evaluation;
	bool free = e->provider->free || e->request->preview;
	int64 findings = e->request->item_count > 0 ? (int64) e->request->item_count : 10;

	ls_credits_begin(&e->organization, e->request->model, e->region,
					 e->view->overhead_tokens + e->view->line_tokens, findings * TOKENS_PER_FINDING,
					 free, e->arena, &s->grant);
}

static void
settle(void *context)
{
	step *s = context;
	ls_evaluation *e = s->evaluation;

	s->micro_credits = ls_credits_settle(&e->organization, e->reservation, s->micro_credits,
										 e->reply.model, e->reply.tokens_in, e->reply.tokens_out);
}

static void
release(void *context)
{
	step *s = context;

	ls_credits_release(&s->evaluation->organization, s->evaluation->reservation);
}

static void
give_back(ls_evaluation *evaluation)
{
	step s = {.evaluation = evaluation};

	if (evaluation->reservation != 0)
		run_step(release, &s, evaluation->in_transaction);
	evaluation->reservation = 0;
}

/* ---- the steps ---- */

static void
answer_preview(ls_evaluation *evaluation)
{
	ls_buf body;

	ls_buf_init(&body, evaluation->arena);
	ls_evaluation_preview_json(&body, evaluation->view, &evaluation->price);
	if (body.failed)
	{
		fail_memory(evaluation);
		return;
	}
	evaluation->body = ls_str_make(body.data, body.len);
	finish(evaluation);
}

/* specification 2.6: its own body, not the standard envelope. */
static void
fail_exhausted(ls_evaluation *evaluation, const ls_credit_grant *grant)
{
	char resets_at[LS_TIME_ISO_LENGTH + 1];
	ls_buf body;

	ls_time_format_iso(grant->resets_at, resets_at);
	ls_buf_init(&body, evaluation->arena);
	ls_buf_lit(&body, "{\"error\":");
	ls_json_quote(&body, ls_str_of_cstring(ls_error_table[LS_ERROR_AI_CREDITS_EXHAUSTED].message));
	ls_buf_lit(&body, ",\"code\":\"AI_CREDITS_EXHAUSTED\",\"remaining\":");
	ls_credit_format(&body, grant->remaining);
	ls_buf_lit(&body, ",\"limit\":");
	ls_credit_format(&body, grant->credit_limit);
	ls_buf_printf(&body, ",\"resetsAt\":\"%s\"}", resets_at);
	evaluation->failed = true;
	evaluation->error = LS_ERROR_AI_CREDITS_EXHAUSTED;
	evaluation->body = ls_str_make(body.data, body.len);
	finish(evaluation);
}

static bool
make_prompt(ls_evaluation *evaluation)
{
	uint8 random[LS_DELIMITER_LENGTH / 2];
	char *delimiter = ls_arena_alloc(evaluation->arena, LS_DELIMITER_LENGTH + 1);

	if (delimiter == NULL)
		return false;
	ls_random_bytes(random, sizeof(random));
	ls_hex(random, sizeof(random), delimiter);
	return ls_evaluation_prompt_make(evaluation->request, evaluation->view,
									 ls_str_make(delimiter, LS_DELIMITER_LENGTH), evaluation->arena,
									 &evaluation->prompt);
}

/* A search found no rows: there is nothing to judge, so nobody is asked and nothing is paid. */
static void
answer_nothing_found(ls_evaluation *evaluation)
{
	static const ls_expected_item criteria = {{"f1", 2}, {"", 0}};
	bool by_item = ls_evaluation_by_item(evaluation->request);
	const ls_expected_item *items = by_item ? evaluation->request->items : &criteria;
	size_t n = by_item ? evaluation->request->item_count : 1;
	ls_reply reply = {.outcome = LS_REPLY_OK, .complete = true, .model = evaluation->price.model};
	ls_buf text;

	ls_buf_init(&text, evaluation->arena);
	ls_buf_lit(&text, "{\"verdict\":[");
	for (size_t i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_char(&text, ',');
		ls_buf_lit(&text, "{\"id\":");
		ls_json_quote(&text, items[i].id);
		ls_buf_lit(&text,
				   ",\"status\":\"not_found\",\"explanation\":\"The search found no rows.\"}");
	}
	ls_buf_lit(&text, "]}");
	reply.text = ls_str_make(text.data, text.len);
	if (text.failed)
	{
		give_back(evaluation);
		fail_memory(evaluation);
		return;
	}
	ls_evaluation_replied(evaluation, &reply);
}

void
ls_evaluation_start(ls_evaluation *evaluation, bool in_transaction)
{
	step s = {.evaluation = evaluation};

	evaluation->in_transaction = in_transaction;
	evaluation->view = ls_evaluation_view_make(evaluation->request, evaluation->arena);
	if (evaluation->view == NULL)
	{
		fail_memory(evaluation);
		return;
	}
	if (!run_step(begin, &s, in_transaction))
	{
		fail(evaluation, LS_ERROR_INTERNAL, NULL, NULL);
		return;
	}
	evaluation->price = s.grant.price;
	evaluation->reservation = s.grant.reservation;
	if (evaluation->request->preview)
	{
		answer_preview(evaluation);
		return;
	}
	if (!s.grant.credits_left)
	{
		fail_exhausted(evaluation, &s.grant);
		return;
	}
	if (!s.grant.region_allowed)
	{
		fail_region(evaluation, "region");
		return;
	}
	if (evaluation->request->row_count == 0)
	{
		answer_nothing_found(evaluation);
		return;
	}
	if (!make_prompt(evaluation))
	{
		give_back(evaluation);
		fail_memory(evaluation);
		return;
	}
	evaluation->provider->start(evaluation, ls_str_make("", 0));
}

static void
answer_verdict(ls_evaluation *evaluation, const ls_verdict *verdict)
{
	const ls_reply *reply = &evaluation->reply;
	step s = {.evaluation = evaluation};
	ls_evaluation_run run = {.model = reply->model,
							 .provider = ls_str_of_cstring(evaluation->provider->name),
							 .region = evaluation->region,
							 .tokens_in = reply->tokens_in,
							 .tokens_out = reply->tokens_out};
	ls_buf body;

	if (!evaluation->provider->free)
		s.micro_credits = ls_credit_cost(reply->tokens_in, evaluation->price.input_rate) +
						  ls_credit_cost(reply->tokens_out, evaluation->price.output_rate);
	if (!run_step(settle, &s, evaluation->in_transaction))
	{
		fail(evaluation, LS_ERROR_INTERNAL, NULL, NULL);
		return;
	}
	evaluation->reservation = 0;
	run.micro_credits = s.micro_credits;
	ls_buf_init(&body, evaluation->arena);
	ls_evaluation_response_json(&body, verdict, evaluation->view, &run);
	if (body.failed)
	{
		fail_memory(evaluation);
		return;
	}
	evaluation->body = ls_str_make(body.data, body.len);
	finish(evaluation);
}

void
ls_evaluation_replied(ls_evaluation *evaluation, const ls_reply *reply)
{
	ls_validation_errors *problems;
	ls_verdict *verdict;
	bool repair;

	evaluation->reply = *reply;
	if (reply->outcome == LS_REPLY_UNAVAILABLE)
	{
		give_back(evaluation);
		fail_region(evaluation, reply->reason);
		return;
	}
	problems = ls_new(evaluation->arena, ls_validation_errors);
	if (problems == NULL)
	{
		give_back(evaluation);
		fail_memory(evaluation);
		return;
	}
	ls_validation_init(problems, evaluation->arena);
	if (ls_verdict_parse(reply->text, reply->complete, evaluation->request, evaluation->view,
						 evaluation->arena, &verdict, problems, &repair))
	{
		answer_verdict(evaluation, verdict);
		return;
	}
	if (repair && !evaluation->repaired)
	{
		evaluation->repaired = true;
		evaluation->provider->start(evaluation,
									ls_evaluation_repair_text(evaluation->arena, problems));
		return;
	}
	give_back(evaluation);
	fail(evaluation, LS_ERROR_EVALUATION_SCHEMA, NULL, NULL);
}

void
ls_evaluation_cancel(ls_evaluation *evaluation)
{
	if (evaluation->finished)
		return;
	evaluation->provider->cancel(evaluation);
	give_back(evaluation);
	evaluation->finished = true;
}
