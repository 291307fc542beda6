/*-------------------------------------------------------------------------
 *
 * scan_program.h
 *	  The state of a scan's program: scan_program.c runs it, program_values.c has what it makes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_SCAN_PROGRAM_H
#define LS_SCAN_PROGRAM_H

#include "src/scan/engine_host.h"
#include "src/scan/part_scan.h"

struct ls_scan_program
{
	ls_engine_program *program;
	ls_engine *engine;
	ls_engine_host host;
	ls_arena *batch;
	ls_scan *scan;
	ls_scan_field *fields; /* that it reads */
	bool *wanted;          /* by value: something outside reads it */
	uint32 block;
	uint16 cells[LS_PART_BLOCK_ROWS]; /* by row of the block */
};

#endif /* LS_SCAN_PROGRAM_H */
