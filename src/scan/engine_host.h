/*-------------------------------------------------------------------------
 *
 * engine_host.h
 *	  What programs of src/engine need from the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_ENGINE_HOST_H
#define LS_ENGINE_HOST_H

#include "src/engine/engine.h"
#include "src/scan/scan.h"

/* Sets all but `context` and `load`; an empty zone is UTC. */
extern void ls_engine_host_init(ls_engine_host *host, ls_str zone, ls_time now);

/* Raises the error of the last batch. */
LS_NORETURN extern void ls_engine_raise(const ls_engine *engine);

#endif /* LS_ENGINE_HOST_H */
