/*-------------------------------------------------------------------------
 *
 * metrics_answer.h
 *	  GET /metrics, and the figures that are looked up for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_METRICS_ANSWER_H
#define LS_METRICS_ANSWER_H

#include "src/gateway/gateway.h"
#include "src/server/metrics.h"

/* Gateway: reads the token of logsvc.metrics_token_file; at the start and after each reload. */
extern void ls_metrics_read_token(void);

/* Gateway: may the sender read the figures?  False: *answer is the refusal. */
extern bool ls_metrics_may_read(const ls_request *request, ls_metrics_answer *answer);

/* Gateway: the figures as text, in the form that the request asks for. */
extern void ls_metrics_write(const ls_request *request, ls_metrics_answer *answer);

/* Scheduler: looks up the figures of the database, in a transaction of its own. */
extern void ls_metrics_look_up(void);

#endif /* LS_METRICS_ANSWER_H */
