/* syslog.h: what the decoders of messages of listeners share (pure). */
#ifndef LS_SYSLOG_H
#define LS_SYSLOG_H

#include "src/decode/json_event.h"
#include "src/gateway/framing.h"

/*
 * Reads one message into the builder, whose event has begun; returns false when the
 * result's failure is no longer OK.  `text` is valid UTF-8 and not empty.
 */
typedef bool (*ls_line_decoder)(ls_json_reader *reader, ls_str text);

/* Decodes a body of messages; the decoder's events get the sender's address as attribute `peer`. */
extern bool ls_decode_lines(const ls_decode_options *options, ls_str body, ls_decode_result *result,
							ls_line_decoder decode);

/*
 * A time that is too far ahead to be stored is not: the event then has that of its arrival,
 * and `text` as attribute `timestamp`.
 */
extern void ls_syslog_set_time(ls_event_builder *builder, ls_time time, ls_str text);

#endif /* LS_SYSLOG_H */
