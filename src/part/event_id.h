/*-------------------------------------------------------------------------
 *
 * event_id.h
 *	  The text form of event ids (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_EVENT_ID_H
#define LS_EVENT_ID_H

#include "src/base/pure.h"

/* "evt_" and 26 digits of Crockford's base 32, without the NUL. */
#define LS_EVENT_ID_LENGTH 30

/* Writes the id of event (batch, place), and a NUL. */
extern void ls_event_id_format(uint64_t batch, uint32_t place, char out[LS_EVENT_ID_LENGTH + 1]);

/* Parses an id; lower case is accepted.  False: the text is not an event id. */
extern bool ls_event_id_parse(ls_str text, uint64_t *batch, uint32_t *place);

#endif /* LS_EVENT_ID_H */
