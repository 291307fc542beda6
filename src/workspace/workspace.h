/*-------------------------------------------------------------------------
 *
 * workspace.h
 *	  What workers run for resources of the workspace.
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

#endif /* LS_WORKSPACE_H */
