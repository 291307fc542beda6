/*-------------------------------------------------------------------------
 *
 * workspace.h
 *	  What workers run for resources of the workspace, and what its files share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_WORKSPACE_H
#define LS_WORKSPACE_H

#include "src/server/server.h"

/*
 * Computes the service or KPI that is due first, with all that need the same search, in
 * transactions of its own; for a worker that is connected as logsvc_reader.  Returns the ms until
 * it should be called again; 0: something else may be due already.  Raises no error.
 */
extern long ls_health_step(void);

/*
 * Runs work(context), which must not leave an SPI connection open, in a subtransaction that may take so
 * many milliseconds.  False when it was late, and then caught->sqlstate is ERRCODE_QUERY_CANCELED, or
 * raised another error; what it did is rolled back.  With caught NULL other errors are raised, and so are
 * cancellations by others in any case.  Slices are not nested.
 */
extern bool ls_run_slice(void (*work)(void *context), void *context, int ms, ls_caught *caught);

#endif /* LS_WORKSPACE_H */
