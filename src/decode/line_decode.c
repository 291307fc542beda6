/*-------------------------------------------------------------------------
 *
 * line_decode.c
 *	  Messages of listeners to builders: what syslog and GELF have in common
 *	  (pure).
 *
 * Nobody reads an answer, so a message is refused only when nothing else can be
 * done: what is malformed is stored as it came.
 *
 *-------------------------------------------------------------------------
 */
#include "src/decode/syslog.h"

/* Longest address of a sender, as text. */
#define MAX_PEER 64

typedef struct peer_state
{
	char text[MAX_PEER]; /* the last one that was looked up */
	size_t len;
	ls_peer allowed;
} peer_state;

/* Most messages of a body come from a few senders. */
static ls_peer
check_peer(const ls_decode_options *options, peer_state *state, ls_str peer)
{
	if (options->check_peer == NULL)
		return LS_PEER_ALLOWED;
	if (ls_str_eq(peer, ls_str_make(state->text, state->len)))
		return state->allowed;
	if (peer.len > MAX_PEER)
		return LS_PEER_REFUSED;
	state->allowed = options->check_peer(options->peer_context, peer);
	if (peer.len > 0)
		memcpy(state->text, peer.data, peer.len);
	state->len = peer.len;
	return state->allowed;
}

void
ls_syslog_set_time(ls_event_builder *builder, ls_time time, ls_str text)
{
	if (time <= builder->options->now + builder->options->limits.future_us)
		builder->event.timestamp = time;
	else
		ls_event_builder_attribute(builder, LS_STR("timestamp"), LS_KIND_STRING, text, 0);
}

/* False when failure is no longer OK. */
static bool
decode_line(ls_json_reader *reader, const ls_line *line, ls_peer allowed, ls_line_decoder decode)
{
	ls_event_builder *builder = &reader->builder;
	ls_str peer;
	ls_str text;

	ls_event_builder_begin(builder);
	peer = ls_event_builder_text(builder->options->scratch, line->peer);
	text = ls_event_builder_text(builder->options->scratch, line->text);
	if (allowed == LS_PEER_REFUSED)
		ls_event_builder_reject(
			builder, 403, "IP_NOT_ALLOWED", "",
			"the IP allow-list of the organization has not the sender's address");
	else if (text.len > 0)
	{
		if (!decode(reader, text))
			return false;
		if ((builder->event.has & 1u << LS_FIELD_EVENT) == 0)
			ls_event_builder_field(builder, LS_FIELD_EVENT, text);
		if (peer.len > 0)
		{
			if ((builder->event.has & 1u << LS_FIELD_SOURCE) == 0)
				ls_event_builder_field(builder, LS_FIELD_SOURCE, peer);
			ls_event_builder_attribute(builder, LS_STR("peer"), LS_KIND_STRING, peer, 0);
		}
		if (line->cut)
		{
			if (builder->truncated.len > 0)
				ls_buf_char(&builder->truncated, ',');
			ls_buf_lit(&builder->truncated, "event");
		}
	}
	return ls_event_builder_commit(builder, line->text.len);
}

bool
ls_decode_lines(const ls_decode_options *options, ls_str body, ls_decode_result *result,
				ls_line_decoder decode)
{
	ls_json_reader reader;
	peer_state peers = {.allowed = LS_PEER_REFUSED};
	ls_line line;

	if (!ls_json_reader_init(&reader, options, LS_STR(""), result))
		return false;
	while (ls_line_read(&body, &line))
	{
		ls_peer allowed;

		if (line.text.len == 0)
			continue;
		allowed = check_peer(options, &peers, line.peer);
		if (allowed == LS_PEER_UNKNOWN)
			return ls_event_builder_fail(&reader.builder, LS_DECODE_FULL, "",
										 LS_STR("the IP allow-list could not be looked up"), 0);
		if (!decode_line(&reader, &line, allowed, decode))
			return false;
	}
	return body.len == 0 || ls_event_builder_fail(&reader.builder, LS_DECODE_INVALID, "",
												  LS_STR("a message is cut off"), 0);
}
