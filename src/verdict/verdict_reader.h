/*-------------------------------------------------------------------------
 *
 * verdict_reader.h
 *	  Reading one finding of a model's reply; for verdict*.c only (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_VERDICT_READER_H
#define LS_VERDICT_READER_H

#include "src/verdict/request_reader.h"

#define LS_VERDICT_PATH 64 /* verdict[<20 digits>].explanation and a NUL */

/* Limits per finding, as in the output schema; more quotes or references are skipped. */
#define LS_VERDICT_MAX_QUOTES 10
#define LS_VERDICT_MAX_REFS 200

typedef struct ls_verdict_reading
{
	ls_reading in;
	const ls_evaluation_request *request;
	const ls_evaluation_view *view;
	ls_verdict *verdict;
	size_t searched; /* bytes of rows looked through for quotes */

	/* The citations of the finding being read. */
	ls_str quotes[LS_VERDICT_MAX_QUOTES];
	size_t quote_index[LS_VERDICT_MAX_QUOTES]; /* in the reply's list */
	size_t quote_count;
	size_t refs[LS_VERDICT_MAX_REFS];
	size_t ref_count;
} ls_verdict_reading;

/*
 * Reads finding number `index`; problems go to the list.  False when it is not an object.
 * `by_item`: id and status are required.  *has_id: it has an id, which is a string.
 */
extern bool ls_verdict_read_finding(ls_verdict_reading *in, size_t index, bool by_item,
									ls_finding *finding, bool *has_id);

/* Skips a null; in a reply, null is the same as a missing member.  False: it is not null. */
extern bool ls_verdict_null(ls_reading *in);

#endif /* LS_VERDICT_READER_H */
