/*-------------------------------------------------------------------------
 *
 * render.h
 *	  What the files that make the result share.
 *
 * A draft is a group with what its rows have in common.  It becomes one pattern or,
 * if it is rare, one pattern for each of its distinct rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_PATTERN_RENDER_H
#define LS_PATTERN_RENDER_H

#include "src/pattern/pattern_internal.h"

/* A pattern while it is being made. */
typedef struct draft
{
	uint32_t group;     /* NONE: its only signature is lonely */
	uint32_t signature; /* the one whose tokens the template follows */
	uint32_t count;
	uint32_t nsamples;
	bool varying;     /* signatures differ in length */
	uint8_t *differs; /* per token of the signature: do not show its text or class */
	uint64_t id;
	uint64_t sample_hash[LS_PATTERN_MAX_SAMPLES];
	uint32_t sample_row[LS_PATTERN_MAX_SAMPLES];
} draft;

/* template.c: the text of a template, and its id. */
extern bool ls_render_template(miner *m, const draft *d, token_list *list, ls_str *out);
extern uint64_t ls_pattern_id(const miner *m, const draft *d);

/* line.c: the row for display; *out is the row itself if nothing must be escaped. */
extern bool ls_display_row(ls_arena *arena, ls_str row, ls_str *out);

#endif
