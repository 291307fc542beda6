/*-------------------------------------------------------------------------
 *
 * provider.h
 *	  The settings of a remote model provider.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PROVIDER_H
#define LS_PROVIDER_H

#include "src/evaluation/evaluation.h"
#include "src/model/protocol.h"

typedef struct ls_provider_problem
{
	const char *what; /* for the log: no value of a setting */
	const char *hint;
	bool region; /* it has no place in the European Union */
	bool told;   /* the client may know: a setting that is missing, nothing about files */
} ls_provider_problem;

/*
 * Checks the endpoint and reads the keys of the provider with this name, as they are now; memory
 * comes from `arena`.  False: they cannot be used, and *problem says why.  The caller sets model
 * and tokens.
 */
extern bool ls_provider_settings(const char *provider, const ls_model_place *place, ls_arena *arena,
								 ls_protocol_settings *settings, ls_provider_problem *problem);

#endif /* LS_PROVIDER_H */
