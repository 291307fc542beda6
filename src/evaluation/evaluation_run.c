/*-------------------------------------------------------------------------
 *
 * evaluation_run.c
 *	  One evaluation from request body to answer.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/evaluation.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/uuid.h"

#include "src/model/protocol.h"
#include "src/server/metrics.h"

#define BUILTIN_EXHAUSTED                                                                    \
	"the organization's AI credits of this month are used up; the built-in evaluator takes " \
	"none, but answers only while some are left"
#define BUILTIN_EXHAUSTED_HINT \
	"With logsvc.builtin_needs_credits = off the built-in evaluator answers without credits."

#define REGION_HINT                                                                  \
	"postgresql.conf: logsvc.model_region = 'eu' if this server is in the European " \
	"Union; it and logsvc.model_endpoint_region must be regions of table "           \
	"logsvc_internal.eu_region."
#define UNKNOWN_HINT                                                              \
	"Set logsvc.model_endpoint_region to the region that the endpoint is in, if " \
	"it is in the European Union."

static void replied(ls_evaluation *evaluation, const ls_reply *reply);

/* The figures of one that was begun; a preview is none. */
static void
measure(const ls_evaluation *e)
{
	static const ls_provider *const providers[LS_N_PROVIDER] = {
		&ls_provider_builtin, &ls_provider_anthropic, &ls_provider_bedrock, &ls_provider_openai};
	ls_metric_outcome outcome = !e->failed                              ? LS_OUTCOME_OK
								: ls_error_table[e->error].status < 500 ? LS_OUTCOME_REFUSED
																		: LS_OUTCOME_FAILED;
	ls_time begun = e->deadline - LS_EVALUATION_CALL_SECONDS * LS_USECS_PER_SEC;

	if (e->deadline == 0 || e->request->preview)
		return;
	for (int i = 0; i < LS_N_PROVIDER; i++)
	{
		if (e->provider != providers[i])
			continue;
		ls_metric_add(LS_M_EVALUATIONS + 3 * i + (int) outcome, 1);
		ls_metric_observe(LS_M_EVALUATION_TIME + i * LS_HISTOGRAM_CELLS, ls_now() - begun);
	}
	if (e->failed || e->provider->builtin)
		return;
	ls_metric_add(LS_M_EVALUATION_TOKENS, (uint64) Max(e->tokens_in, 0));
	ls_metric_add(LS_M_EVALUATION_TOKENS + 1, (uint64) Max(e->tokens_out, 0));
}

static void
finish(ls_evaluation *evaluation)
{
	evaluation->finished = true;
	measure(evaluation);
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

/* `message` is ours: it has nothing to be quoted; NULL for what needs no more words. */
static void
fail_region(ls_evaluation *evaluation, const char *reason, const char *message)
{
	char details[192];

	snprintf(details, sizeof(details), "[{\"path\":\"\",\"code\":\"%s\",\"message\":\"%s\"}]",
			 reason, message != NULL ? message : "no model in an EU region could answer");
	fail(evaluation, LS_ERROR_AI_PROVIDER_NOT_EU, NULL, details);
}

bool
ls_evaluation_parse(ls_evaluation *evaluation, ls_str body, bool allow_query)
{
	ls_validation_errors *errors = ls_new(evaluation->arena, ls_validation_errors);
	ls_buf details;

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
	ls_str region;
	bool region_allowed;
} step;

typedef enum step_result
{
	STEP_DONE,
	STEP_FAILED,
	STEP_LOCKED,   /* another process has the lock of the organization's credits */
	STEP_READ_ONLY /* default_transaction_read_only is on */
} step_result;

static step_result
run_step(void (*work)(void *), step *s)
{
	ls_caught caught;

	if (s->evaluation->in_transaction)
	{
		work(s);
		return STEP_DONE;
	}
	if (ls_transaction(work, s, &caught))
		return STEP_DONE;
	if (caught.sqlstate == ERRCODE_LOCK_NOT_AVAILABLE)
		return STEP_LOCKED;
	if (caught.sqlstate == ERRCODE_READ_ONLY_SQL_TRANSACTION)
		return STEP_READ_ONLY;
	ereport(LOG, errcode(caught.sqlstate),
			errmsg("logsvc could not account for an evaluation: %s", caught.format));
	return STEP_FAILED;
}

static void
prepare_transaction(const ls_evaluation *evaluation, bool settles)
{
	if (!evaluation->in_transaction)
		ls_credits_transaction(settles);
}

/* Comes back to `resume` unless the time of the evaluation is over. */
static bool
wait_for_lock(ls_evaluation *evaluation, void (*resume)(ls_evaluation *))
{
	if (ls_now() >= evaluation->deadline)
		return false;
	evaluation->resume = resume;
	return true;
}

/* The most that a model may write, its thinking included: what a call can cost is reserved. */
static int64
reserved_output(const ls_evaluation *evaluation)
{
	return ls_evaluation_output_tokens(evaluation->request) + LS_PROTOCOL_THINKING_TOKENS;
}

static void
begin(void *context)
{
	step *s = context;
	ls_evaluation *e = s->evaluation;

	prepare_transaction(e, false);
	ls_credits_begin(&e->payer, e->request->model, e->place.region, e->provider->name,
					 e->view->overhead_tokens + e->view->line_tokens, reserved_output(e),
					 e->provider->builtin || e->request->preview, e->arena, &s->grant);
}

static void
settle(void *context)
{
	step *s = context;
	ls_evaluation *e = s->evaluation;

	prepare_transaction(e, true);
	s->micro_credits = ls_credits_settle(&e->payer, e->reservation, s->micro_credits,
										 e->reply.model, e->tokens_in, e->tokens_out);
}

static void
check_region(void *context)
{
	step *s = context;

	s->region_allowed = ls_credits_region_allowed(s->region);
}

static void
release(void *context)
{
	step *s = context;

	/* Not released in time, it lapses. */
	prepare_transaction(s->evaluation, false);
	ls_credits_release(&s->evaluation->payer.organization, s->evaluation->reservation);
}

/* ---- a session's steps, run by an evaluator ---- */

/* Asks until nobody else holds the organization's credits, or the time is over. */
static step_result
ask_broker(ls_evaluation *evaluation, ls_broker_step *step)
{
	step->payer = evaluation->payer;
	step->reservation = evaluation->reservation;
	step->arena = evaluation->arena;
	while (true)
	{
		ls_broker_ask(step, true);
		if (step->outcome == LS_BROKER_DONE)
			return STEP_DONE;
		if (step->outcome == LS_BROKER_FAILED)
			return STEP_FAILED;
		if (step->outcome == LS_BROKER_READ_ONLY)
			return STEP_READ_ONLY;
		if (ls_now() >= evaluation->deadline)
			return STEP_LOCKED;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(20000);
	}
}

static step_result
run_begin(step *s)
{
	ls_evaluation *e = s->evaluation;
	ls_broker_step step = {.kind = LS_BROKER_RESERVE,
						   .model = e->request->model,
						   .region = e->place.region,
						   .provider = e->provider->name,
						   .tokens_in = e->view->overhead_tokens + e->view->line_tokens,
						   .tokens_out = reserved_output(e)};
	step_result result;

	e->brokered =
		e->in_transaction && !e->provider->builtin && !e->request->preview && ls_broker_open();
	if (!e->brokered)
		return run_step(begin, s);
	result = ask_broker(e, &step);
	s->grant = step.grant;
	if (result != STEP_FAILED)
		return result;
	/* Perhaps an organization that this transaction has made: only it can see that. */
	e->brokered = false;
	return run_step(begin, s);
}

static step_result
run_settle(step *s)
{
	ls_evaluation *e = s->evaluation;
	ls_broker_step step = {.kind = LS_BROKER_SETTLE,
						   .model = e->reply.model,
						   .micro_credits = s->micro_credits,
						   .tokens_in = e->tokens_in,
						   .tokens_out = e->tokens_out};
	step_result result;

	if (!e->brokered)
		return run_step(settle, s);
	result = ask_broker(e, &step);
	s->micro_credits = step.micro_credits;
	return result;
}

void
ls_evaluation_abandon(ls_evaluation *evaluation)
{
	ls_broker_step step = {.kind = LS_BROKER_RELEASE,
						   .payer = evaluation->payer,
						   .model = LS_STR(""),
						   .region = LS_STR(""),
						   .provider = "",
						   .reservation = evaluation->reservation};

	/* Without a broker it goes with the transaction. */
	if (evaluation->brokered && evaluation->reservation != 0)
		ls_broker_ask(&step, false);
	evaluation->reservation = 0;
}

static void
give_back(ls_evaluation *evaluation)
{
	step s = {.evaluation = evaluation};

	if (evaluation->brokered)
		ls_evaluation_abandon(evaluation);
	else if (evaluation->reservation != 0)
		run_step(release, &s);
	evaluation->reservation = 0;
}

/* 503 because of the place: the credits go back, the log says once why. */
static void
refuse_region(ls_evaluation *evaluation, const char *what, const char *hint)
{
	evaluation->hint = hint;
	if (!evaluation->in_transaction)
		ls_provider_complain(what, hint);
	give_back(evaluation);
	fail_region(evaluation, "region", what);
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

/* Whose credits are used up, in words. */
static const char *
exhausted_message(const ls_evaluation *evaluation, const ls_credit_grant *grant)
{
	if (strcmp(grant->exhausted, "member") == 0)
		return "the AI credits that this member may use this month are used up (aiCreditLimit of "
			   "the "
			   "member)";
	if (strcmp(grant->exhausted, "token") == 0)
		return "the AI credits that this token may use this month are used up (aiCreditLimit of "
			   "the "
			   "token)";
	return evaluation->provider->builtin ? BUILTIN_EXHAUSTED
										 : ls_error_table[LS_ERROR_AI_CREDITS_EXHAUSTED].message;
}

/* Its own body, not the standard envelope. */
static void
fail_exhausted(ls_evaluation *evaluation, const ls_credit_grant *grant)
{
	char resets_at[LS_TIME_ISO_LENGTH + 1];
	ls_buf body;

	ls_time_format_iso(grant->resets_at, resets_at);
	ls_buf_init(&body, evaluation->arena);
	ls_buf_lit(&body, "{\"error\":");
	ls_json_quote(&body, ls_str_of_cstring(exhausted_message(evaluation, grant)));
	if (evaluation->provider->builtin)
		evaluation->hint = BUILTIN_EXHAUSTED_HINT;
	ls_buf_lit(&body, ",\"code\":\"AI_CREDITS_EXHAUSTED\"");
	if (strcmp(grant->exhausted, "organization") != 0)
		ls_buf_printf(&body, ",\"limitOf\":\"%s\"", grant->exhausted);
	ls_buf_lit(&body, ",\"remaining\":");
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
	ls_reply reply = {.outcome = LS_REPLY_OK,
					  .complete = true,
					  .model = evaluation->price.model,
					  .nobody_asked = true};
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
	replied(evaluation, &reply);
}

/*
 * A model may think for a minute: keeps what is needed then and lets go of the body and of what
 * parsing and mining took.
 */
static bool
detach(ls_evaluation *evaluation)
{
	ls_arena *old = evaluation->arena;
	ls_arena *arena = ls_context_arena(evaluation->memory, LS_EVALUATION_ARENA_LIMIT);

	evaluation->arena = arena;
	evaluation->place.endpoint = ls_arena_strdup(arena, evaluation->place.endpoint);
	evaluation->place.region = ls_arena_strdup(arena, evaluation->place.region);
	evaluation->place.known = ls_arena_strdup(arena, evaluation->place.known);
	if (!ls_evaluation_detach(evaluation->request, evaluation->view, arena, &evaluation->request,
							  &evaluation->view) ||
		ls_arena_failed(arena))
		return false;
	ls_arena_destroy(old);
	return true;
}

/* Is that a region in which evaluations may run?  What cannot be looked up is none. */
static bool
region_allowed(ls_evaluation *evaluation, ls_str region)
{
	step s = {.evaluation = evaluation, .region = region};

	return run_step(check_region, &s) == STEP_DONE && s.region_allowed;
}

/* May rows go where the settings send them?  `granted`: the region itself may be used. */
static bool
place_allowed(ls_evaluation *evaluation, bool granted)
{
	const ls_model_place *place = &evaluation->place;

	return granted && (place->known.len == 0 || ls_str_eq(place->known, place->region) ||
					   region_allowed(evaluation, place->known));
}

/* Which setting keeps rows from going there. */
static const char *
unusable_place(const ls_model_place *place, bool granted)
{
	if (place->region.len == 0)
		return "logsvc.model_region is not set";
	/* Without the one, the other stands for it. */
	if (granted || !ls_is_set(ls_model_region))
		return "logsvc.model_endpoint_region names no region of the European Union";
	return "logsvc.model_region names no region of the European Union";
}

static void
reserve(ls_evaluation *evaluation)
{
	step s = {.evaluation = evaluation};

	switch (run_begin(&s))
	{
		case STEP_DONE:
			break;
		case STEP_LOCKED:
			if (evaluation->in_transaction || !wait_for_lock(evaluation, reserve))
				fail_region(evaluation, "overloaded", NULL);
			return;
		case STEP_FAILED:
			fail(evaluation, LS_ERROR_INTERNAL, NULL, NULL);
			return;
		case STEP_READ_ONLY:
			fail(evaluation, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
			return;
	}
	evaluation->price = s.grant.price;
	evaluation->provider_model = s.grant.provider_model;
	evaluation->reservation = s.grant.reservation;
	if (evaluation->request->preview)
	{
		answer_preview(evaluation);
		return;
	}
	if (!s.grant.credits_left && (!evaluation->provider->builtin || ls_builtin_needs_credits))
	{
		fail_exhausted(evaluation, &s.grant);
		return;
	}
	if (!place_allowed(evaluation, s.grant.region_allowed))
	{
		refuse_region(evaluation, unusable_place(&evaluation->place, s.grant.region_allowed),
					  REGION_HINT);
		return;
	}
	if (evaluation->view->total_rows == 0)
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

void
ls_evaluation_start(ls_evaluation *evaluation, bool in_transaction)
{
	evaluation->replied = replied;
	evaluation->provider = ls_provider_current();
	evaluation->place = ls_provider_place(evaluation->provider, evaluation->arena);
	evaluation->in_transaction = in_transaction;
	evaluation->deadline = ls_now() + LS_EVALUATION_CALL_SECONDS * LS_USECS_PER_SEC;
	if (!evaluation->request->preview && RecoveryInProgress())
	{
		fail(evaluation, LS_ERROR_STANDBY, NULL, NULL);
		return;
	}
	evaluation->view = ls_evaluation_view_make(evaluation->request, evaluation->arena);
	if (evaluation->view == NULL ||
		(!evaluation->provider->builtin && !evaluation->request->preview && !detach(evaluation)))
	{
		fail_memory(evaluation);
		return;
	}
	reserve(evaluation);
}

void
ls_evaluation_resume(ls_evaluation *evaluation)
{
	void (*resume)(ls_evaluation *) = evaluation->resume;

	evaluation->resume = NULL;
	resume(evaluation);
}

/* Where the reply comes from; empty: nobody can tell. */
static ls_str
ran_in(const ls_evaluation *evaluation)
{
	const ls_reply *reply = &evaluation->reply;

	if (reply->region.len > 0)
		return reply->region;
	return reply->nobody_asked ? evaluation->place.region : evaluation->place.known;
}

static void
answer_verdict(ls_evaluation *evaluation)
{
	const ls_reply *reply = &evaluation->reply;
	step s = {.evaluation = evaluation};
	ls_evaluation_run run = {.model = reply->model,
							 .provider = ls_str_of_cstring(evaluation->provider->name),
							 .region = ran_in(evaluation),
							 .tokens_in = evaluation->tokens_in,
							 .tokens_out = evaluation->tokens_out};
	ls_buf body;

	if (!evaluation->provider->builtin)
		s.micro_credits = ls_credit_cost(evaluation->tokens_in, evaluation->price.input_rate) +
						  ls_credit_cost(evaluation->tokens_out, evaluation->price.output_rate);
	switch (run_settle(&s))
	{
		case STEP_DONE:
			break;
		case STEP_LOCKED:
			if (!evaluation->in_transaction && wait_for_lock(evaluation, answer_verdict))
				return;
			give_back(evaluation);
			fail_region(evaluation, "overloaded", NULL);
			return;
		case STEP_FAILED:
			give_back(evaluation);
			fail(evaluation, LS_ERROR_INTERNAL, NULL, NULL);
			return;
		case STEP_READ_ONLY:
			give_back(evaluation);
			fail(evaluation, LS_ERROR_SERVICE_UNAVAILABLE, NULL, NULL);
			return;
	}
	evaluation->reservation = 0;
	run.micro_credits = s.micro_credits;
	ls_metric_add(LS_M_CREDITS, (uint64) Max(s.micro_credits, 0));
	ls_buf_init(&body, evaluation->arena);
	ls_evaluation_response_json(&body, evaluation->verdict, evaluation->view, &run);
	if (body.failed)
	{
		fail_memory(evaluation);
		return;
	}
	evaluation->body = ls_str_make(body.data, body.len);
	finish(evaluation);
}

/*
 * What a provider tells counts, whatever was declared; one that tells nothing is believed only
 * where its endpoint is known to be.
 */
static bool
region_holds(ls_evaluation *evaluation)
{
	ls_str region = ran_in(evaluation);

	if (region.len == 0)
	{
		refuse_region(evaluation, "the model provider does not tell in which region it runs",
					  UNKNOWN_HINT);
		return false;
	}
	if (evaluation->reply.region.len == 0 || region_allowed(evaluation, region))
		return true;
	refuse_region(evaluation, "the model ran outside of the European Union", REGION_HINT);
	return false;
}

static void
replied(ls_evaluation *evaluation, const ls_reply *reply)
{
	ls_validation_errors *problems;
	bool repair;

	evaluation->reply = *reply;
	if (reply->outcome == LS_REPLY_UNAVAILABLE)
	{
		evaluation->hint = reply->hint;
		give_back(evaluation);
		fail_region(evaluation, reply->reason, reply->message);
		return;
	}
	if (!region_holds(evaluation))
		return;
	/* A repair call is not charged (decision 36). */
	if (!evaluation->repaired || evaluation->tokens_in + evaluation->tokens_out == 0)
	{
		evaluation->tokens_in = reply->tokens_in;
		evaluation->tokens_out = reply->tokens_out;
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
						 evaluation->arena, &evaluation->verdict, problems, &repair))
	{
		answer_verdict(evaluation);
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
