/*
 * syslog_fuzz.c: any bytes as a stream of a listener, and its messages as syslog or GELF; any text
 * as the setting.
 *
 * The first byte chooses the decoder and, through small limits, makes cuts and rejections likely;
 * the second one says in what pieces the stream comes.
 */
#include "src/base/listener.h"
#include "src/gateway/framing.h"
#include "test/fuzz/decode_fuzz.h"

static ls_peer
check_peer(void *context, ls_str address)
{
	return address.len % 3 == 0   ? LS_PEER_ALLOWED
		   : address.len % 3 == 1 ? LS_PEER_REFUSED
								  : LS_PEER_UNKNOWN;
}

/* Takes a stream apart, as the gateway does, into a body with room for `most` bytes. */
static size_t
scan(ls_str stream, char separator, size_t piece, char *body, size_t most)
{
	static char kept[LS_LINE_LIMIT + 16];
	ls_line_scan state = {0};
	size_t len = 0;
	size_t from = 0;
	size_t out = 0;
	bool last;

	do
	{
		size_t n = stream.len - from < piece ? stream.len - from : piece;
		size_t at = 0;

		last = from == stream.len;
		n = n < sizeof(kept) - len ? n : sizeof(kept) - len;
		require(n > 0 || last);
		if (n > 0)
			memcpy(kept + len, stream.data + from, n);
		len += n;
		from += n;
		while (true)
		{
			ls_line line = {.peer = ls_str_make("abc", from % 4)};
			size_t used = 0;
			ls_line_result result = ls_line_next(&state, separator, kept + at, len - at, last,
												 &line.text, &line.cut, &used);

			require(at + used <= len);
			at += used;
			if (result == LS_LINE_BAD)
				return out;
			if (result == LS_LINE_MORE)
				break;
			require(used > 0 && line.text.len <= LS_LINE_LIMIT);
			require(out + LS_LINE_HEAD + line.peer.len + line.text.len <= most);
			ls_line_write(body + out, &line);
			out += LS_LINE_HEAD + line.peer.len + line.text.len;
		}
		memmove(kept, kept + at, len - at);
		len -= at;
	} while (!last);
	require(len == 0);
	return out;
}

static void
check_setting(ls_str list)
{
	ls_listener_entry e;
	const char *error;
	size_t left = list.len;

	while (ls_listener_next(&list, &e, &error))
	{
		require(list.len < left && e.port > 0 && e.port <= 65535 && e.organization.len > 0);
		left = list.len;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static decoding d;
	size_t most = 16 * size + 64;
	char *body;
	bool good;

	if (size < 2 || !begin_decoding(&d, data, size, 4 * (most + 100000)))
		return 0;
	d.body = ls_str_make(d.body.data + 1, d.body.len - 1);
	check_setting(d.body);
	body = malloc(most);
	d.options.check_peer = check_peer;
	if (d.how & 2)
	{
		/* Bytes that the gateway did not write. */
		memcpy(body, d.body.data, d.body.len);
		d.body = ls_str_make(body, d.body.len);
	}
	else
		d.body = ls_str_make(
			body, scan(d.body, d.how & 1 ? '\0' : '\n', (size_t) data[1] + 1, body, most));
	good = (d.how & 1 ? ls_decode_gelf : ls_decode_syslog)(&d.options, d.body, &d.result);
	check_result(&d, good);
	free(body);
	return end_decoding(&d);
}
