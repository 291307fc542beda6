/*-------------------------------------------------------------------------
 *
 * evaluation.h
 *	  Running evaluations: the PostgreSQL side.
 *
 * The pure core (evaluation_core.h) decides everything that a rule decides;
 * here are the steps around it that need a clock, a database or a provider.
 *
 * An evaluation is a state machine that never waits:
 *
 *		parse		and check the body
 *		begin		a short transaction: model, region, credits, reservation; a
 *					preview ends here
 *		call		a provider; no transaction is open while it thinks
 *		conclude	check the reply (one repair call if need be)
 *		settle		a short transaction: debit, ledger
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_EVALUATION_H
#define LS_EVALUATION_H

#include "src/server/server.h"
#include "src/verdict/evaluation_core.h"

/* Longest life of a call, repair included (decision 40), and of a reservation. */
#define LS_EVALUATION_CALL_SECONDS 55
#define LS_EVALUATION_RESERVATION_SECONDS 120

/* ---- providers (provider.c) ---- */

typedef enum ls_reply_outcome
{
	LS_REPLY_OK,
	LS_REPLY_UNAVAILABLE /* 503; `reason` is timeout, unreachable, overloaded, region */
} ls_reply_outcome;

typedef struct ls_reply
{
	ls_reply_outcome outcome;
	const char *reason;
	const char *message; /* UNAVAILABLE: why, for clients, without values of settings; or NULL */
	ls_str text;         /* the verdict as JSON */
	bool complete;       /* false: cut off by a token limit */
	int64_t tokens_in;
	int64_t tokens_out;
	ls_str model;      /* that answered, as the response shows it */
	ls_str region;     /* where it ran, when the provider told; else empty */
	const char *hint;  /* UNAVAILABLE by the settings: what to set, for SQL callers; or NULL */
	bool nobody_asked; /* there was nothing to judge, so it ran nowhere */
} ls_reply;

/*
 * The destination of an evaluation, from the settings when it began.  A reload while a model
 * thinks must not send its rows to another endpoint, for which other declarations hold.
 */
typedef struct ls_model_place
{
	ls_str endpoint; /* base URL without a trailing slash; empty: the provider's own */
	ls_str region;   /* where evaluations are to run; the response shows it */
	/*
	 * The region of the endpoint, as far as it is known before a reply: declared by the operator,
	 * or part of the endpoint's name (bedrock).  Empty: only a reply can prove it.
	 */
	ls_str known;
} ls_model_place;

struct ls_evaluation;

typedef struct ls_provider
{
	const char *name;
	bool builtin; /* judges the rows itself and costs no credits */

	/*
	 * Starts a call for evaluation->prompt or, if `repair` is not empty, the repair
	 * call after evaluation->reply.  The provider calls evaluation->replied, now or
	 * from ls_curl_step of the process's client; the built-in one from
	 * ls_provider_builtin_step.
	 */
	void (*start)(struct ls_evaluation *evaluation, ls_str repair);

	/* The caller is gone: ends the call without a reply.  Runs no SQL. */
	void (*cancel)(struct ls_evaluation *evaluation);
} ls_provider;

/* The provider that the settings name. */
extern const ls_provider *ls_provider_current(void);

/* The destination of its calls, from the settings; texts are copied into `arena`. */
extern ls_model_place ls_provider_place(const ls_provider *provider, ls_arena *arena);

/*
 * Checks the settings of this provider and reads its keys, without a call.  NULL, or what is wrong
 * (no value of a setting); *hint says what to change.
 */
extern const char *ls_provider_check(ls_arena *arena, const char **hint);

/*
 * Continues the work of the built-in evaluator for some 15 ms (60 at most).  True: there is more
 * to do.
 */
extern bool ls_provider_builtin_step(void);

extern const ls_provider ls_provider_builtin;
extern const ls_provider ls_provider_anthropic;
extern const ls_provider ls_provider_bedrock;
extern const ls_provider ls_provider_openai;

/*
 * Logs once why evaluations are refused, without keys and content; `hint` may be NULL.
 * ls_provider_well: a call succeeded, so the next failure is logged again.
 */
extern void ls_provider_complain(const char *what, const char *hint);
extern void ls_provider_well(void);

/* ---- one evaluation (evaluation_run.c) ---- */

/* Whose credits a call takes, and within whose caps; zeros: no user, no token. */
typedef struct ls_credit_payer
{
	pg_uuid_t organization;
	pg_uuid_t user;
	pg_uuid_t token;
} ls_credit_payer;

/* The payer of what a principal has evaluated. */
struct ls_principal;
extern ls_credit_payer ls_credit_payer_of(const struct ls_principal *principal);

typedef struct ls_evaluation
{
	MemoryContext memory; /* outlives it; its arenas are made in it */
	ls_arena *arena;      /* replaced by a smaller one before a model is called */
	ls_credit_payer payer;
	const ls_provider *provider;
	ls_model_place place;

	ls_evaluation_request *request;
	ls_evaluation_view *view;
	ls_evaluation_prompt prompt;
	ls_model_price price;
	ls_str provider_model; /* what the provider calls price.model */
	ls_time deadline;      /* of all calls together */
	int64 reservation;     /* 0: none */
	bool in_transaction;   /* a session waits for it */
	bool brokered;         /* whose credits an evaluator keeps (credit_broker.c) */
	bool repaired;         /* the one repair call has been made */
	int64 tokens_in;       /* of the call that is charged: the first */
	int64 tokens_out;
	ls_reply reply;
	ls_verdict *verdict;
	struct ls_transfer *transfer; /* the call in flight */

	/* Set: another process holds the lock of the organization's credits; call ls_evaluation_resume. */
	void (*resume)(struct ls_evaluation *evaluation);

	/* What comes out. */
	bool finished;
	ls_error_id error; /* when failed */
	bool failed;
	ls_str body;      /* JSON: the object under `data`, or the whole error body */
	const char *hint; /* for SQL callers, or NULL */

	/* For providers: the reply has come. */
	void (*replied)(struct ls_evaluation *evaluation, const ls_reply *reply);

	/* Called once, when finished. */
	void (*done)(struct ls_evaluation *evaluation);
	void *context;
} ls_evaluation;

/*
 * Parses a body into evaluation->request.  False: the evaluation is finished, with an error.
 * With allow_query, request->has_query says whether rows must come from a search
 * (ls_evaluation_set_rows) before ls_evaluation_start.  Needs only the arena.
 */
extern bool ls_evaluation_parse(ls_evaluation *evaluation, ls_str body, bool allow_query);

/*
 * Runs until a provider has the call or the evaluation is finished.  With
 * `in_transaction` (SQL callers), its statements join the caller's transaction,
 * except those for the credits of a call, which an evaluator runs if there is one.
 * Otherwise each statement is a transaction of its own.
 */
extern void ls_evaluation_start(ls_evaluation *evaluation, bool in_transaction);

/* Tries again the step that another process's lock prevented. */
extern void ls_evaluation_resume(ls_evaluation *evaluation);

/* In a session, during an error: gives the reservation back without waiting. */
extern void ls_evaluation_abandon(ls_evaluation *evaluation);

/* Ends it without an answer and gives its reservation back. */
extern void ls_evaluation_cancel(ls_evaluation *evaluation);

/* ---- credits.c ---- */

typedef struct ls_credit_grant
{
	ls_model_price price;
	bool region_allowed;
	bool credits_left;
	int64 reservation;
	int64 credit_limit; /* micro-credits, of what is exhausted or of the organization */
	int64 remaining;
	char exhausted[16]; /* organization, member or token; "" with credits_left */
	ls_time resets_at;
	ls_str provider_model;
} ls_credit_grant;

/* In a transaction with SPI: begin_evaluation, settle_evaluation, release. */
extern void ls_credits_begin(const ls_credit_payer *payer, ls_str model, ls_str region,
							 const char *provider, int64 tokens_in, int64 tokens_out, bool free,
							 ls_arena *arena, ls_credit_grant *grant);
extern int64 ls_credits_settle(const ls_credit_payer *payer, int64 reservation, int64 micro_credits,
							   ls_str model, int64 tokens_in, int64 tokens_out);
extern void ls_credits_release(const pg_uuid_t *organization, int64 reservation);

/*
 * Call it at the start of a transaction of an evaluator: it waits only briefly for another
 * process's lock on credits, and for the disk only when it settles.
 */
extern void ls_credits_transaction(bool settles);

/* Is it a region of table eu_region? */
extern bool ls_credits_region_allowed(ls_str region);

/* ---- credit_broker.c: credits of SQL callers, kept by an evaluator ---- */

typedef enum ls_broker_kind
{
	LS_BROKER_RESERVE,
	LS_BROKER_SETTLE,
	LS_BROKER_RELEASE
} ls_broker_kind;

typedef enum ls_broker_outcome
{
	LS_BROKER_DONE,
	LS_BROKER_FAILED,
	LS_BROKER_LOCKED,   /* by another process; ask again */
	LS_BROKER_READ_ONLY /* default_transaction_read_only is on */
} ls_broker_outcome;

typedef struct ls_broker_step
{
	ls_broker_kind kind;
	ls_credit_payer payer;
	ls_str model;
	ls_str region;        /* RESERVE */
	const char *provider; /* RESERVE */
	int64 tokens_in;
	int64 tokens_out;
	int64 reservation;   /* SETTLE, RELEASE */
	int64 micro_credits; /* SETTLE: what it cost; then what was debited */
	ls_arena *arena;     /* for the texts of the grant */
	ls_credit_grant grant;
	ls_broker_outcome outcome;
} ls_broker_step;

extern void ls_evaluation_register(void); /* in _PG_init */

/* In a session: is there an evaluator that keeps the credits of this database? */
extern bool ls_broker_open(void);

/* Makes an evaluator run the step; `wait`: waits until it has. */
extern void ls_broker_ask(ls_broker_step *step, bool wait);

/* In an evaluator: runs the steps that sessions have requested. */
extern void ls_broker_serve(void);

#endif /* LS_EVALUATION_H */
