/*-------------------------------------------------------------------------
 *
 * pipelines.h
 *	  What the files about pipelines share.
 *
 *	pipelines.c				programs of organizations, on the way of their events
 *	pipeline_function.c		checking and trying them, and their counts, in SQL
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_INGEST_PIPELINES_H
#define LS_INGEST_PIPELINES_H

#include "src/ingest/ingest.h"
#include "src/pipeline/pipeline.h"

/* A program that is freed with its context.  NULL: *error says why, *path where. */
extern ls_program *ls_pipelines_compile(ls_str definition, MemoryContext context,
										const char **error, const char **path);

/* The counts of a pipeline since *since; false: there are none. */
extern bool ls_pipelines_counted(const pg_uuid_t *organization, ls_str id,
								 ls_pipeline_counts *total,
								 ls_pipeline_counts processors[LS_PIPELINE_MAX_PROCESSORS],
								 uint32 *n, ls_time *since);

#endif /* LS_INGEST_PIPELINES_H */
