/*
 * syslog_test.c: listeners: the setting, messages in a stream of bytes, syslog and GELF messages to
 * events.
 */
#include "src/base/listener.h"
#include "src/gateway/framing.h"
#include "test/unit/decoded.h"

static ls_time now = NOW;

static bool
record(void *context, const ls_event *e)
{
	(void) context;
	if (seen.len > 0)
		ls_buf_lit(&seen, " | ");
	show_event(e);
	return true;
}

static ls_str
text(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_peer
check_peer(void *context, ls_str address)
{
	++*(int *) context;
	return ls_str_eq(address, LS_STR("10.0.0.9"))  ? LS_PEER_REFUSED
		   : ls_str_eq(address, LS_STR("unknown")) ? LS_PEER_UNKNOWN
												   : LS_PEER_ALLOWED;
}

static int checks;

static bool
run(decoder decode, ls_str body)
{
	ls_decode_options options = {.limits = LS_DECODE_LIMITS,
								 .now = now,
								 .check_peer = check_peer,
								 .peer_context = &checks,
								 .sink = {record, forget, NULL},
								 .arena = arena,
								 .scratch = scratch};

	seen.len = 0;
	checks = 0;
	memset(&result, 0xEE, sizeof(result)); /* the decoder must set all it says */
	return decode(&options, body, &result);
}

static void
add(ls_buf *body, const char *peer, ls_str message, bool cut)
{
	ls_line line = {text(peer), message, cut};
	size_t size = LS_LINE_HEAD + line.peer.len + message.len;

	if (ls_buf_reserve(body, size))
		ls_line_write(body->data + body->len, &line);
	body->len += size;
}

static ls_str
body_of(const char *peer, ls_str message)
{
	ls_buf body;

	ls_buf_init(&body, arena);
	add(&body, peer, message, false);
	return ls_str_make(body.data, body.len);
}

/* ---- the setting ---- */

static void
entry(const char *list, const char *expected)
{
	ls_str rest = text(list);
	ls_listener_entry e;
	const char *error;
	ls_buf got;

	ls_buf_init(&got, arena);
	while (ls_listener_next(&rest, &e, &error))
		ls_buf_printf(&got, "%s%d %.*s %.*s %d %.*s %.*s", got.len > 0 ? " | " : "", (int) e.kind,
					  (int) e.name.len, e.name.data, (int) e.address.len, e.address.data, e.port,
					  (int) e.organization.len, e.organization.data, (int) e.index.len,
					  e.index.data);
	if (error != NULL)
		ls_buf_printf(&got, "%s! %s", got.len > 0 ? " | " : "", error);
	is_str(ls_str_make(got.data, got.len), expected, list);
}

#define KIND "! An entry begins with tcp:, tls:, udp: or gelf:."
#define PLACE                                                                         \
	"! After tcp:, tls:, udp: or gelf: comes a port, or an address and a port as in " \
	"10.0.0.5:5514 or [::1]:5514."
#define ORGANIZATION "! After the port comes = and the organization's slug or id."
#define INDEX "! After the organization may come / and the name of an index."

static void
test_setting(void)
{
	entry("", "");
	entry(" , ", "");
	entry("tcp:5514=acme", "0 tcp:5514  5514 acme ");
	entry("tcp:5514=acme/web, udp:127.0.0.1:514=org_1 ,tls:[::1]:6514=acme,gelf:*:12201=b/m",
		  "0 tcp:5514  5514 acme web | 2 udp:127.0.0.1:514 127.0.0.1 514 org_1  | "
		  "1 tls:[::1]:6514 ::1 6514 acme  | 3 gelf:*:12201 * 12201 b m");
	entry("tcp:1=a,http:2=b", "0 tcp:1  1 a  | " KIND);
	entry("5514=acme", KIND);
	entry("acme", KIND);
	entry("tcp:=acme", PLACE);
	entry("tcp:0=acme", PLACE);
	entry("tcp:65536=acme", PLACE);
	entry("tcp:99999999999999999999=acme", PLACE);
	entry("tcp:-1=acme", PLACE);
	entry("tcp::5514=acme", PLACE);
	entry("tcp:::1:5514=acme", PLACE);
	entry("tcp:a b:5514=acme", PLACE);
	entry("tcp:5514", ORGANIZATION);
	entry("tcp:5514=", ORGANIZATION);
	entry("tcp:5514=a b", ORGANIZATION);
	entry("tcp:5514=a/", INDEX);
	entry("tcp:5514=a/_audit", INDEX);
	entry("tcp:5514=a/b/c", INDEX);
}

/* ---- messages in a stream ---- */

/* The messages of a stream that comes in pieces of `size` bytes, as the gateway reads it. */
static ls_str
scan(ls_str stream, char separator, size_t size)
{
	static char kept[LS_LINE_LIMIT + 16];
	ls_line_scan state = {0};
	size_t len = 0;
	size_t from = 0;
	ls_buf got;

	ls_buf_init(&got, arena);
	while (true)
	{
		bool last = from == stream.len;
		size_t n = stream.len - from < size ? stream.len - from : size;
		size_t at = 0;

		if (n > sizeof(kept) - len)
			n = sizeof(kept) - len;
		if (n == 0 && !last)
		{
			ls_buf_lit(&got, "STUCK");
			break;
		}
		if (n > 0)
			memcpy(kept + len, stream.data + from, n);
		len += n;
		from += n;
		while (true)
		{
			ls_str message;
			bool cut;
			size_t used = 0;
			ls_line_result r =
				ls_line_next(&state, separator, kept + at, len - at, last, &message, &cut, &used);

			at += used;
			if (r == LS_LINE_BAD)
			{
				ls_buf_lit(&got, "BAD");
				return ls_str_make(got.data, got.len);
			}
			if (r == LS_LINE_MORE)
				break;
			if (message.len > 100)
				ls_buf_printf(&got, "[%zu%s]", message.len, cut ? "..." : "");
			else
				ls_buf_printf(&got, "[%.*s%s]", (int) message.len, message.data, cut ? "..." : "");
		}
		memmove(kept, kept + at, len - at);
		len -= at;
		if (last)
			break;
	}
	return ls_str_make(got.data, got.len);
}

/* However it is cut into pieces, the messages are the same. */
static void
stream(ls_str bytes, char separator, const char *expected, const char *name)
{
	is_str(scan(bytes, separator, bytes.len + 1), expected, name);
	is_str(scan(bytes, separator, 1), expected, "... byte by byte");
	is_str(scan(bytes, separator, 7), expected, "... in pieces");
}

static ls_str
long_message(const char *before, size_t n, const char *after)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_buf_append(&buf, before, strlen(before));
	for (size_t i = 0; i < n; i++)
		ls_buf_char(&buf, 'x');
	ls_buf_append(&buf, after, strlen(after));
	return ls_str_make(buf.data, buf.len);
}

static void
test_framing(void)
{
	char cut[64];
	char head[32];

	stream(LS_STR(""), '\n', "", "nothing");
	stream(LS_STR("a\nb\r\n\n\nc"), '\n', "[a][b][c]", "lines, the last one without an end");
	stream(LS_STR("5 <1>ab6 <1>c\nd\n3 <1>"), '\n', "[<1>ab][<1>c\nd][<1>]",
		   "lengths, with a newline inside and after");
	stream(LS_STR("5 <1>ab<2>line\n5 <1>cd"), '\n', "[<1>ab][<2>line][<1>cd]", "both in turn");
	stream(LS_STR("404 not found\n2026-01-01 x\n12\n0 <1>\n"), '\n',
		   "[404 not found][2026-01-01 x][12][0 <1>]", "numbers that are no lengths");
	stream(LS_STR("12345678901234 <1>x\n"), '\n', "[12345678901234 <1>x]", "too many digits");
	stream(LS_STR("20 <1>half"), '\n', "[<1>half...]", "the end before the length");
	stream(LS_STR("12"), '\n', "[12]", "the end after digits");
	stream(LS_STR("1048577 <1>x"), '\n', "BAD", "a length of more than 1 MB");
	stream(LS_STR("9999999999 <1>x"), '\n', "BAD", "a length of 9 GB");
	stream(LS_STR("{\"a\":\n1}\0\0\n{}\0{"), '\0', "[{\"a\":\n1}][{}][{]", "NUL as separator");

	snprintf(cut, sizeof(cut), "[%zu...][b]", LS_LINE_LIMIT);
	stream(long_message("", 100000, "\nb\n"), '\n', cut, "a line that is too long");
	stream(long_message("", LS_LINE_LIMIT + 1, "\nb\n"), '\n', cut, "... by one");
	snprintf(head, sizeof(head), "%d <", 100000);
	stream(long_message(head, 99999, "<b\n"), '\n', "[32752...][<b]",
		   "a message of known length that is too long");
	snprintf(cut, sizeof(cut), "[%zu][b]", LS_LINE_LIMIT - 1);
	stream(long_message("", LS_LINE_LIMIT - 1, "\nb\n"), '\n', cut, "one that just fits");
	snprintf(cut, sizeof(cut), "[%zu...]", LS_LINE_LIMIT);
	stream(long_message("", 3000000, ""), '\n', cut, "a line without an end");
}

/* ---- syslog ---- */

static void
syslog(const char *message, const char *expected)
{
	ok(run(ls_decode_syslog, body_of("10.0.0.1", text(message))) && result.accepted == 1, message);
	is_str(ls_str_make(seen.data, seen.len), expected, "as an event");
}

static void
test_5424(void)
{
	/* The examples of the RFC. */
	syslog("<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \xEF\xBB\xBF'su root' "
		   "failed for lonvick on /dev/pts/8",
		   "2003-10-11T22:14:15.003Z event='su root' failed for lonvick on /dev/pts/8 level=fatal "
		   "source=mymachine.example.com service=su .facility=s:auth .msgid=s:ID47 "
		   ".peer=s:10.0.0.1");
	syslog("<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - %% It's time to make "
		   "the do-nuts.",
		   "2003-08-24T12:14:15.000Z event=%% It's time to make the do-nuts. level=info "
		   "source=192.0.2.1 service=myproc .facility=s:local4 .procid=i:8710 .peer=s:10.0.0.1");
	syslog("<165>1 2003-10-11T22:14:15.003Z h evntslog - ID47 [exampleSDID@32473 iut=\"3\" "
		   "eventSource=\"Application\" eventID=\"1011\"][examplePriority@32473 class=\"high\"]",
		   "2003-10-11T22:14:15.003Z event=<165>1 2003-10-11T22:14:15.003Z h evntslog - ID47 "
		   "[exampleSDID@32473 iut=\"3\" eventSource=\"Application\" eventID=\"1011\"]"
		   "[examplePriority@32473 class=\"high\"] level=info source=h service=evntslog "
		   ".facility=s:local4 .msgid=s:ID47 .exampleSDID@32473.iut=s:3 "
		   ".exampleSDID@32473.eventSource=s:Application .exampleSDID@32473.eventID=s:1011 "
		   ".examplePriority@32473.class=s:high .peer=s:10.0.0.1");
	syslog("<11>1 - - - - - - x", "event=x level=error source=10.0.0.1 .facility=s:user "
								  ".peer=s:10.0.0.1");
	syslog("<11>1 - h a - - -   x", "event= x level=error source=h service=a .facility=s:user "
									".peer=s:10.0.0.1");
	syslog("<11>1 - h a - - [x] y", "event=y level=error source=h service=a .facility=s:user "
									".peer=s:10.0.0.1");
	syslog("<11>1 - h a - - [x k=\"a \\\" \\\\ \\] \\n\"] y",
		   "event=y level=error source=h service=a .facility=s:user .x.k=s:a \" \\ ] \\n "
		   ".peer=s:10.0.0.1");
	syslog("<11>1 9999-01-01T00:00:00Z h a - - - future",
		   "event=future level=error source=h service=a .facility=s:user "
		   ".timestamp=s:9999-01-01T00:00:00Z .peer=s:10.0.0.1");
	/* syslog-ng counts a newline at the end of each message. */
	syslog("<11>1 - h a - - - lines\nand one\r\n",
		   "event=lines\nand one level=error source=h service=a .facility=s:user .peer=s:10.0.0.1");
	/* Structured data that is none belongs to the text. */
	syslog("<11>1 - h a - - [x k=\"1\" y",
		   "event=[x k=\"1\" y level=error source=h service=a .facility=s:user .x.k=s:1 "
		   ".peer=s:10.0.0.1");
	syslog("<11>1 - h a - - [] y", "event=[] y level=error source=h service=a .facility=s:user "
								   ".peer=s:10.0.0.1");
	syslog("<11>1 - h a - - [\"x\"] y",
		   "event=[\"x\"] y level=error source=h service=a .facility=s:user .peer=s:10.0.0.1");
	syslog("<11>1 - h", "event=<11>1 - h level=error source=h .facility=s:user .peer=s:10.0.0.1");
	syslog("<11>1 ", "event=<11>1  level=error source=10.0.0.1 .facility=s:user .peer=s:10.0.0.1");
}

static void
test_3164(void)
{
	/* 2026-01-01 00:00:00 UTC is now. */
	syslog("<34>Dec 31 23:59:58 mymachine su[7]: 'su root' failed",
		   "2025-12-31T23:59:58.000Z event='su root' failed level=fatal source=mymachine "
		   "service=su .facility=s:auth .procid=i:7 .peer=s:10.0.0.1");
	syslog("<13>Jan  1 00:00:00 h a: x", "event=x level=info source=h service=a .facility=s:user "
										 ".peer=s:10.0.0.1");
	syslog("<13>Dec 31 23:59:58 app[7]: no host",
		   "2025-12-31T23:59:58.000Z event=no host level=info source=10.0.0.1 service=app "
		   ".facility=s:user .procid=i:7 .peer=s:10.0.0.1");
	syslog("<13>Dec 31 23:59:58 h app[7] no colon",
		   "2025-12-31T23:59:58.000Z event=no colon level=info source=h service=app "
		   ".facility=s:user .procid=i:7 .peer=s:10.0.0.1");
	syslog("<13>Dec 31 23:59:58 h no tag",
		   "2025-12-31T23:59:58.000Z event=no tag level=info source=h .facility=s:user "
		   ".peer=s:10.0.0.1");
	/* Of a sender in another zone: just now. */
	syslog("<13>Jan  1 01:59:59 h a: two hours ahead",
		   "2025-12-31T23:59:59.000Z event=two hours ahead level=info source=h service=a "
		   ".facility=s:user .peer=s:10.0.0.1");
	syslog("<13>Dec 31 18:29:59 h a: five and a half behind",
		   "2025-12-31T23:59:59.000Z event=five and a half behind level=info source=h service=a "
		   ".facility=s:user .peer=s:10.0.0.1");
	/* Late: UTC, and never ahead of now. */
	syslog("<13>Dec 31 23:57:00 h a: late", "2025-12-31T23:57:00.000Z event=late level=info "
											"source=h service=a .facility=s:user .peer=s:10.0.0.1");
	syslog("<13>Dec 25 11:07:30 h a: a week",
		   "2025-12-25T11:07:30.000Z event=a week level=info source=h service=a .facility=s:user "
		   ".peer=s:10.0.0.1");
	syslog("<13>Jan  1 01:07:30 h a: ahead", "event=ahead level=info source=h service=a "
											 ".facility=s:user .peer=s:10.0.0.1");
	syslog("<13>Feb 29 00:00:00 h a: no such day", "event=Feb 29 00:00:00 h a: no such day "
												   "level=info source=10.0.0.1 .facility=s:user "
												   ".peer=s:10.0.0.1");
	/* rsyslog's form with a whole time. */
	syslog("<13>2025-12-31T23:00:00.125+01:00 h a[x]: y",
		   "2025-12-31T22:00:00.125Z event=y level=info source=h service=a .facility=s:user "
		   ".procid=s:x .peer=s:10.0.0.1");
	syslog("<189>7: *Mar  1 18:46:11: %SYS-5-CONFIG_I: by console",
		   "event=7: *Mar  1 18:46:11: %SYS-5-CONFIG_I: by console level=info source=10.0.0.1 "
		   ".facility=s:local7 .peer=s:10.0.0.1");
	syslog("no priority", "event=no priority source=10.0.0.1 .peer=s:10.0.0.1");
	syslog("<192>x", "event=<192>x source=10.0.0.1 .peer=s:10.0.0.1");
	syslog("<>x", "event=<>x source=10.0.0.1 .peer=s:10.0.0.1");
	syslog("<1", "event=<1 source=10.0.0.1 .peer=s:10.0.0.1");
	syslog("<7>", "event=<7> level=debug source=10.0.0.1 .facility=s:kern .peer=s:10.0.0.1");
	syslog("<13>Dec 31 23:59:58 h a:", "2025-12-31T23:59:58.000Z event=<13>Dec 31 23:59:58 h a: "
									   "level=info source=h service=a .facility=s:user "
									   ".peer=s:10.0.0.1");
}

static void
test_lines(void)
{
	ls_buf body;

	ls_buf_init(&body, arena);
	add(&body, "10.0.0.1", LS_STR("a\xff\0b"), false);
	add(&body, "10.0.0.1", LS_STR(""), false);
	add(&body, "10.0.0.9", LS_STR("refused"), false);
	add(&body, "::1", LS_STR("half of it"), true);
	add(&body, "", LS_STR("nobody's"), false);
	ok(run(ls_decode_syslog, ls_str_make(body.data, body.len)) && result.accepted == 3 &&
		   result.rejected == 1,
	   "several messages");
	is_str(ls_str_make(seen.data, seen.len),
		   "event=a\xef\xbf\xbd\xef\xbf\xbd"
		   "b source=10.0.0.1 .peer=s:10.0.0.1 | "
		   "event=half of it source=::1 cut=event .peer=s:::1 | event=nobody's",
		   "with their senders");
	is_str(result.errors[0].message,
		   "the IP allow-list of the organization has not the sender's address", "why not");
	is_int(checks, 4, "an address that comes again is not looked up again");
	body.len -= 3;
	ok(!run(ls_decode_syslog, ls_str_make(body.data, body.len)) &&
		   result.failure == LS_DECODE_INVALID && seen.len == 0,
	   "a body that is cut off");
	ok(!run(ls_decode_syslog, body_of("unknown", LS_STR("x"))) && result.failure == LS_DECODE_FULL,
	   "an allow-list that cannot be looked up: later");
	ok(run(ls_decode_syslog, LS_STR("\0\2\1\0\0\0a\0x")) && result.accepted == 1,
	   "an address that is no text");
	is_str(ls_str_make(seen.data, seen.len), "event=x source=a\xef\xbf\xbd .peer=s:a\xef\xbf\xbd",
		   "is made one");
	ok(run(ls_decode_syslog, LS_STR("")) && result.accepted == 0, "nothing");
}

/* ---- GELF ---- */

static void
gelf(const char *message, const char *expected)
{
	ok(run(ls_decode_gelf, body_of("10.0.0.1", text(message))) && result.accepted == 1, message);
	is_str(ls_str_make(seen.data, seen.len), expected, "as an event");
}

static void
test_gelf(void)
{
	/* As Docker's driver sends a line. */
	gelf("{\"version\":\"1.1\",\"host\":\"node1\",\"short_message\":\"GET /\",\"timestamp\":"
		 "1767225500.25,\"level\":3,\"_container_id\":\"c\",\"_tag\":\"t\",\"_n\":7}",
		 "2025-12-31T23:58:20.250Z event=GET / level=error source=node1 .container_id=s:c .tag=s:t "
		 ".n=i:7 .peer=s:10.0.0.1");
	gelf("{\"short_message\":\"x\",\"full_message\":\"x\\ny\",\"_a\":1,\"a\":2,\"_\":3,"
		 "\"timestamp\":99999999999}",
		 "event=x source=10.0.0.1 .full_message=s:x\ny ._a=i:1 .a=i:2 ._=i:3 "
		 ".timestamp=s:99999999999 .peer=s:10.0.0.1");
	gelf("{\"version\":\"1.1\",\"_o\":{\"b\": 1},\"level\":\"warning\"}",
		 "event={\"version\":\"1.1\",\"_o\":{\"b\": 1},\"level\":\"warning\"} level=warn "
		 "source=10.0.0.1 .o=j:{\"b\":1} .peer=s:10.0.0.1");
	for (int i = 0; i < 4; i++)
	{
		static const char *const broken[] = {"[]", "{", "{} x", "GET / HTTP/1.1"};

		ok(run(ls_decode_gelf, body_of("10.0.0.1", text(broken[i]))) && result.rejected == 1,
		   broken[i]);
		is_str(result.errors[0].message, "expected a GELF message, a JSON object", "is refused");
	}
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	scratch = ls_arena_create(NULL, 32 * 1024 * 1024);
	ls_buf_init(&seen, arena);
	test_setting();
	test_framing();
	test_5424();
	test_3164();
	test_lines();
	test_gelf();
	ls_arena_destroy(scratch);
	ls_arena_destroy(arena);
	return done_testing();
}
