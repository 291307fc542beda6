/* websocket_test.c: the handshake and the frames of WebSockets. */
#include "test/unit/tap.h"

#include "src/gateway/websocket.h"

/* ---- the handshake ---- */

/* Header fields as name, value, ..., NULL. */
static int
judge(const char *const *fields)
{
	ls_websocket_offer offer = {0};
	const char *problem;
	int status;

	for (int i = 0; fields[i] != NULL; i += 2)
		ls_websocket_field(&offer, ls_str_make(fields[i], strlen(fields[i])),
						   ls_str_make(fields[i + 1], strlen(fields[i + 1])));
	status = ls_websocket_judge(&offer, &problem);
	ok((status != 0) == (problem != NULL), "a refusal says why");
	return offer.upgrade ? status : -1;
}

#define JUDGE(...) judge((const char *const[]){__VA_ARGS__, NULL})
#define KEY "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="
#define VERSION "Sec-WebSocket-Version", "13"
#define UPGRADE "Upgrade", "websocket", "Connection", "Upgrade"

static void
test_handshake(void)
{
	char accept[LS_WEBSOCKET_ACCEPT_LENGTH];

	/* RFC 6455, 1.3 */
	ls_websocket_accept(LS_STR("dGhlIHNhbXBsZSBub25jZQ=="), accept);
	is_str(ls_str_make(accept, sizeof(accept)), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "the accepted key");
	is_int(JUDGE(UPGRADE, VERSION, KEY), 0, "a handshake");
	is_int(JUDGE("upgrade", "h2c, WebSocket", "CONNECTION", "keep-alive , UPGRADE", VERSION, KEY),
		   0, "... in lists, in other case");
	is_int(JUDGE("Connection", "keep-alive", UPGRADE, VERSION, KEY), 0, "... in two lines");
	is_int(JUDGE("Connection", "Upgrade", VERSION, KEY), -1, "no upgrade");
	is_int(JUDGE("Upgrade", "websockets", "Connection", "Upgrade", VERSION, KEY), -1, "to another");
	is_int(JUDGE("Upgrade", "websocket", VERSION, KEY), 400, "not for this connection");
	is_int(JUDGE("Upgrade", "websocket", "Connection", "upgrades", VERSION, KEY), 400, "nearly");
	is_int(JUDGE(UPGRADE, KEY), 426, "no version");
	is_int(JUDGE(UPGRADE, KEY, "Sec-WebSocket-Version", "8"), 426, "another version");
	is_int(JUDGE(UPGRADE, KEY, "Sec-WebSocket-Version", "13, 8"), 426, "two of them");
	is_int(JUDGE(UPGRADE, KEY, VERSION, VERSION), 426, "the same twice");
	is_int(JUDGE(UPGRADE, VERSION), 400, "no key");
	is_int(JUDGE(UPGRADE, VERSION, KEY, KEY), 400, "two keys");
	is_int(JUDGE(UPGRADE, VERSION, "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ"), 400,
		   "no padding");
	is_int(JUDGE(UPGRADE, VERSION, "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZSEh"), 400,
		   "18 bytes");
	is_int(JUDGE(UPGRADE, VERSION, "Sec-WebSocket-Key", "!!!!!!!!!!!!!!!!!!!!!!=="), 400,
		   "no base64");
	is_int(JUDGE(UPGRADE, VERSION, "Sec-WebSocket-Key", ""), 400, "an empty key");
}

/* ---- frames ---- */

/* What frames come to: "ping:TEXT", "message:TEXT", "close:CODE", "bad:CODE", separated by spaces. */
static const char *
events(const void *data, size_t len, size_t step)
{
	static char text[4096];
	static ls_websocket_reader r;
	size_t at = 0;
	size_t out = 0;

	memset(&r, 0, sizeof(r));
	text[0] = '\0';
	while (at < len)
	{
		unsigned code = 0;
		size_t used = 0;
		size_t n = len - at < step ? len - at : step;
		ls_websocket_event event = ls_websocket_read(&r, (const char *) data + at, n, &used, &code);
		const char *space = out > 0 ? " " : "";

		at += used;
		if (event == LS_WEBSOCKET_CLOSED || event == LS_WEBSOCKET_BAD)
		{
			snprintf(text + out, sizeof(text) - out, "%s%s:%u", space,
					 event == LS_WEBSOCKET_BAD ? "bad" : "close", code);
			break;
		}
		if (event == LS_WEBSOCKET_MORE)
			continue;
		out += (size_t) snprintf(
			text + out, sizeof(text) - out, "%s%s:%.*s", space,
			event == LS_WEBSOCKET_PINGED   ? "ping"
			: event == LS_WEBSOCKET_PONGED ? "pong"
										   : "message",
			(int) (event == LS_WEBSOCKET_MESSAGED ? r.message_len : r.control_len),
			(const char *) (event == LS_WEBSOCKET_MESSAGED ? r.message : r.control));
	}
	return text;
}

static void
check_events(const void *data, size_t len, const char *expected, const char *name)
{
	bool same = true;

	for (size_t step = 1; step < 12; step++)
		same = same && strcmp(events(data, len, step), expected) == 0;
	if (!ok(same && strcmp(events(data, len, len), expected) == 0, name))
		printf("#   got %s\n#   expected %s\n", events(data, len, len), expected);
}

#define CHECK(bytes, expected, name) check_events("" bytes, sizeof(bytes) - 1, expected, name)

/* A frame of a client, masked; returns its length. */
static size_t
frame(uint8_t *out, uint8_t first, const void *payload, size_t len)
{
	static const uint8_t mask[4] = {0x12, 0xfe, 0x00, 0x81};
	size_t n = ls_websocket_head((ls_websocket_opcode) (first & 15), (first & 0x80) != 0, len, out);

	out[0] = first;
	out[1] |= 0x80;
	memcpy(out + n, mask, 4);
	n += 4;
	for (size_t i = 0; i < len; i++)
		out[n + i] = ((const uint8_t *) payload)[i] ^ mask[i & 3];
	return n + len;
}

static void
test_frames(void)
{
	uint8_t data[8192];
	uint8_t payload[2048];
	size_t len;

	/* RFC 6455, 5.7 */
	CHECK("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "message:Hello", "a masked text");
	CHECK("\x89\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "ping:Hello", "a ping");
	CHECK("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "pong:Hello", "a pong");
	CHECK("\x89\x80\x01\x02\x03\x04\x89\x80\x01\x02\x03\x04", "ping: ping:", "two empty ones");
	CHECK("\x88\x80\x01\x02\x03\x04", "close:1005", "a close without a code");
	CHECK("\x88\x82\x00\x00\x00\x00\x03\xe8", "close:1000", "... with one");
	CHECK("\x88\x81\x00\x00\x00\x00\x03", "bad:1002", "... with half of one");
	CHECK("\x88\x82\x00\x00\x00\x00\x03\xed", "bad:1002", "1005 is never sent");
	CHECK("\x88\x82\x00\x00\x00\x00\x03\xe7", "bad:1002", "nor 999");
	CHECK("\x88\x82\x00\x00\x00\x00\x0f\xa0", "close:4000", "codes of applications");
	CHECK("\x88\x83\x00\x00\x00\x00\x03\xe8\xff", "bad:1007", "a reason that is not UTF-8");
	CHECK("\x81\x05Hello", "bad:1002", "a frame that is not masked");
	CHECK("\xc1\x80\x00\x00\x00\x00", "bad:1002", "a reserved bit");
	CHECK("\x83\x80\x00\x00\x00\x00", "bad:1002", "a reserved opcode");
	CHECK("\x8b\x80\x00\x00\x00\x00", "bad:1002", "... of control");
	CHECK("\x09\x80\x00\x00\x00\x00", "bad:1002", "a ping in pieces");
	CHECK("\x89\xfe\x00\x7e\x00\x00\x00\x00", "bad:1002", "a long ping");
	CHECK("\x80\x80\x00\x00\x00\x00", "bad:1002", "a continuation of nothing");
	CHECK("\x01\x80\x00\x00\x00\x00\x81\x80\x00\x00\x00\x00", "bad:1002",
		  "a message inside another");
	CHECK("\x81\xfe\x00\x05\x00\x00\x00\x00Hello", "bad:1002",
		  "a length that is longer than needed");
	CHECK("\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "bad:1002",
		  "a negative length");
	CHECK("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", "bad:1009", "a huge length");
	CHECK("\x81\x82\x00\x00\x00\x00\xc3\x28", "bad:1007", "a text that is not UTF-8");
	CHECK("\x82\x82\x00\x00\x00\x00\xc3\x28", "message:\xc3\x28", "bytes need not be");

	len = frame(data, 0x01, "Hel", 3);
	len += frame(data + len, 0x89, "p", 1);
	len += frame(data + len, 0x00, "", 0);
	len += frame(data + len, 0x80, "lo", 2);
	len += frame(data + len, 0x81, "next", 4);
	check_events(data, len, "ping:p message:Hello message:next",
				 "a message in pieces, a ping between");
	len = frame(data, 0x01, "\xe2\x82", 2);
	len += frame(data + len, 0x80, "\xac", 1);
	check_events(data, len, "message:\xe2\x82\xac", "a character in two pieces");

	memset(payload, 'x', sizeof(payload));
	len = frame(data, 0x02, payload, LS_WEBSOCKET_MESSAGE);
	len += frame(data + len, 0x00, payload, 1);
	check_events(data, len, "bad:1009", "a message that grows too large");
	len = frame(data, 0x82, payload, LS_WEBSOCKET_MESSAGE + 1);
	check_events(data, len, "bad:1009", "one that is");
	len = frame(data, 0x82, payload, LS_WEBSOCKET_MESSAGE);
	is_int((long long) strlen(events(data, len, 100)), 8 + LS_WEBSOCKET_MESSAGE, "the largest");
	len = frame(data, 0x89, payload, LS_WEBSOCKET_CONTROL);
	is_int((long long) strlen(events(data, len, 100)), 5 + LS_WEBSOCKET_CONTROL,
		   "the largest ping");
}

static void
test_own_frames(void)
{
	uint8_t out[LS_WEBSOCKET_CONTROL];
	char reason[200];

	is_int((long long) ls_websocket_head(LS_WEBSOCKET_TEXT, true, 125, out), 2, "a short frame");
	ok(memcmp(out, "\x81\x7d", 2) == 0, "its head");
	is_int((long long) ls_websocket_head(LS_WEBSOCKET_CONTINUATION, false, 126, out), 4,
		   "a longer one");
	ok(memcmp(out, "\x00\x7e\x00\x7e", 4) == 0, "its head");
	is_int((long long) ls_websocket_head(LS_WEBSOCKET_TEXT, false, 65535, out), 4, "its end");
	is_int((long long) ls_websocket_head(LS_WEBSOCKET_TEXT, false, 65536, out), 10, "a long one");
	ok(memcmp(out, "\x01\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10) == 0, "its head");
	is_int((long long) ls_websocket_close(LS_WEBSOCKET_NO_CODE, LS_STR("x"), out), 0,
		   "a close of 1005");
	is_int((long long) ls_websocket_close(1001, LS_STR("stop"), out), 6, "one with a reason");
	ok(memcmp(out, "\x03\xe9stop", 6) == 0, "code and reason");
	memset(reason, 'x', sizeof(reason));
	memcpy(reason + 122, "\xe2\x82\xac", 3);
	is_int((long long) ls_websocket_close(1001, ls_str_make(reason, sizeof(reason)), out), 124,
		   "a long reason is cut before a character");
	is_int((long long) ls_websocket_close(1001, LS_STR("\xff"), out), 2,
		   "one that is none is left out");
}

int
main(void)
{
	test_handshake();
	test_frames();
	test_own_frames();
	return done_testing();
}
