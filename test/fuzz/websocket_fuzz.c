/*
 * websocket_fuzz.c: frames of WebSockets on any bytes.
 *
 * Besides memory errors it looks for disagreement: however the bytes are cut by reads, the same
 * events must come of them; and what the server writes must have a length that can be read.
 */
#include <stdlib.h>

#include "src/gateway/websocket.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

/* A hash of all events, reading at most `step` bytes at a time. */
static uint64_t
events(const uint8_t *data, size_t size, size_t step, size_t *end)
{
	ls_websocket_reader r = {0};
	uint64_t hash = 0;
	size_t at = 0;

	while (at < size)
	{
		unsigned code = 0;
		size_t n = size - at < step ? size - at : step;
		size_t used = 0;
		ls_websocket_event event = ls_websocket_read(&r, data + at, n, &used, &code);

		CHECK(used > 0 && used <= n);
		CHECK(event != LS_WEBSOCKET_MORE || used == n);
		CHECK(r.control_len <= LS_WEBSOCKET_CONTROL && r.message_len <= LS_WEBSOCKET_MESSAGE);
		at += used;
		if (event == LS_WEBSOCKET_MORE)
			continue;
		hash = ls_hash64(&event, sizeof(event), hash);
		if (event == LS_WEBSOCKET_CLOSED || event == LS_WEBSOCKET_BAD)
		{
			uint8_t payload[LS_WEBSOCKET_CONTROL];

			CHECK(code >= 1000 && code <= 4999);
			CHECK(ls_websocket_close(code, ls_str_make((const char *) data, size), payload) <=
				  LS_WEBSOCKET_CONTROL);
			hash = ls_hash64(&code, sizeof(code), hash);
			break;
		}
		hash = event == LS_WEBSOCKET_MESSAGED ? ls_hash64(r.message, r.message_len, hash)
											  : ls_hash64(r.control, r.control_len, hash);
	}
	*end = at;
	return hash;
}

/* Lines "Name: value" as a handshake. */
static void
handshake(const char *text, size_t size)
{
	ls_websocket_offer offer = {0};
	const char *problem;
	size_t at = 0;

	while (at < size)
	{
		const char *line = text + at;
		const char *newline = memchr(line, '\n', size - at);
		size_t len = newline == NULL ? size - at : (size_t) (newline - line);
		const char *colon = memchr(line, ':', len);

		if (colon != NULL)
			ls_websocket_field(
				&offer, ls_str_make(line, (size_t) (colon - line)),
				ls_str_trim(ls_str_make(colon + 1, len - (size_t) (colon - line) - 1)));
		at += len + 1;
	}
	if (ls_websocket_judge(&offer, &problem) == 0)
	{
		char accept[LS_WEBSOCKET_ACCEPT_LENGTH];

		ls_websocket_accept(offer.key, accept);
		CHECK(accept[LS_WEBSOCKET_ACCEPT_LENGTH - 1] == '=' && problem == NULL);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exact size, so that the sanitizer sees a read past the end. */
	uint8_t *copy = malloc(size + (size == 0));
	size_t step = size > 0 ? data[size - 1] % 7u + 1 : 1;
	size_t whole_end;
	size_t parts_end;

	memcpy(copy, data, size);
	CHECK(events(copy, size, size + 1, &whole_end) == events(copy, size, step, &parts_end));
	CHECK(whole_end == parts_end);
	handshake((const char *) copy, size);
	free(copy);
	return 0;
}
