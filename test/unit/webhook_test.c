/* webhook_test.c: URLs and addresses that webhooks may call, signatures, answers. */
#include "test/unit/tap.h"

#include <stdlib.h>

#include "src/notify/webhook.h"

static ls_arena *arena;

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

/* wrong: how the message begins, NULL for a URL that is right. */
static void
check_url(const char *url, const char *networks, const char *wrong)
{
	const char *got = ls_webhook_url_check(str(url), str(networks));
	bool passed = wrong == NULL ? got == NULL
								: got != NULL && strncmp(got, wrong, strlen(wrong)) == 0;

	if (!ok(passed, url))
		printf("#   got \"%s\"\n", got == NULL ? "(right)" : got);
}

static void
check_parts(const char *url, const char *host, uint32_t port)
{
	ls_webhook_url parts;

	ok(ls_webhook_url_read(str(url), &parts) == NULL, url);
	is_str(parts.host, host, "its host");
	is_int(parts.port, port, "its port");
}

static void
check_connect(const char *text, bool secure, const char *networks, bool expected)
{
	ls_address address;

	ok(ls_address_parse(str(text), &address) &&
		   ls_webhook_may_connect(&address, secure, str(networks)) == expected,
	   text);
}

static void
check_excerpt(const char *answer, size_t len, const char *expected, const char *name)
{
	ls_buf out;

	ls_buf_init(&out, arena);
	ls_webhook_excerpt(&out, ls_str_make(answer, len));
	is_str(ls_str_make(out.data, out.len), expected, name);
}

static void
check_urls(void)
{
	static const char *const host = "must name a host";
	static const char *const private = "must not be a private";
	char *long_url = malloc(2100);

	check_parts("https://hooks.acme.example/a?b=c", "hooks.acme.example", 443);
	check_parts("HTTP://A.example:8080", "A.example", 8080);
	check_parts("https://[2001:4860::8888]:1/", "2001:4860::8888", 1);
	check_parts("https://8.8.8.8?x", "8.8.8.8", 443);
	check_parts("https://a.example.:443/", "a.example", 443);
	check_url("https://hooks.acme.example/%20x?y=@", "", NULL);
	check_url("https://x-1.acme.example", "", NULL);
	check_url("https://7.acme.example", "", NULL);

	check_url("", "", "must begin with https://");
	check_url("ftp://a.example/", "", "must begin with https://");
	check_url("//a.example/", "", "must begin with https://");
	check_url("https:/a.example", "", "must begin with https://");
	check_url("https://", "", host);
	check_url("https:///x", "", host);
	check_url("https://:443/", "", host);
	check_url("https://a..example/", "", host);
	check_url("https://.a.example/", "", host);
	check_url("https://a%2eexample/", "", host);
	check_url("https://user@a.example/", "", "must have no user name");
	check_url("https://user:word@a.example/", "", "must have no user name");
	check_url("https://a.example#f", "", "must have no fragment");
	check_url("https://a.example/ x", "", "must be a URL");
	check_url("https://a.example/\r\nX-Evil: 1", "", "must be a URL");
	check_url("https://a.example\\@b.example/", "", "must be a URL");
	check_url("https://b\xc3\xbc" "cher.example/", "", "must be a URL");
	check_url("https://a.example:0/", "", "must have a port");
	check_url("https://a.example:65536/", "", "must have a port");
	check_url("https://a.example:99999999999999999999/", "", "must have a port");
	check_url("https://a.example:/", "", "must have a port");
	check_url("https://a.example:+1/", "", "must have a port");
	check_url("https://[::1]x/", "", "must have a port");
	check_url("https://[fe80::1%25eth0]/", "", host);
	check_url("https://[8.8.8.8]/", "", host);
	check_url("https://[::1/", "", host);
	memset(long_url, 'a', 2099);
	memcpy(long_url, "https://a.example/", 18);
	long_url[2001] = '\0';
	check_url(long_url, "", "must have at most");
	long_url[2000] = '\0';
	check_url(long_url, "", NULL);
	free(long_url);

	/* What resolvers take for addresses too. */
	check_url("https://2130706433/", "", host);
	check_url("https://127.1/", "", host);
	check_url("https://0x7f.1/", "", host);
	check_url("https://0x7f000001/", "", host);
	check_url("https://0177.0.0.1/", "", host);
	check_url("https://1.2.3.4.5/", "", host);
	check_url("https://a.1/", "", host);

	check_url("https://127.0.0.1/", "", private);
	check_url("https://127.0.0.1./", "", private);
	check_url("https://169.254.169.254/latest/meta-data/", "", private);
	check_url("https://[::1]:80/", "", private);
	check_url("https://[::ffff:10.0.0.1]/", "", private);
	check_url("https://[64:ff9b::a00:1]/", "", private);
	check_url("https://[2002:a00:1::]/", "", private);

	check_url("http://a.example/", "", "must begin with https://; http://");
	check_url("http://8.8.8.8/", "127.0.0.0/8", "must begin with https://; http://");
	check_url("http://127.0.0.1:8000/", "127.0.0.0/8", NULL);
	check_url("http://a.internal/", "10.0.0.0/8", NULL);
	check_url("https://10.1.2.3/", "127.0.0.0/8, 10.0.0.0/8", NULL);
	check_url("https://192.168.0.1/", "127.0.0.0/8, 10.0.0.0/8", private);
}

static void
check_addresses(void)
{
	static const char *const hidden[] = {
		"0.0.0.0", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1",
		"192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
		"239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "100::1", "2001::1",
		"2001:1ff::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "4000::1",
		"5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "febf::1", "fec0::1", "ff02::1"};
	static const char *const public[] = {"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0",
		"100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
		"169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "223.255.255.255", "2001:200::1", "2001:4860:4860::8888",
		"2606:4700::1111", "2a00::1", "64:ff9b::808:808"};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		check_connect(hidden[i], true, "", false);
	for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++)
	{
		check_connect(public[i], true, "", true);
		check_connect(public[i], false, "", false);
	}
	check_connect("127.0.0.1", true, "127.0.0.0/8", true);
	check_connect("127.0.0.1", false, "127.0.0.0/8", true);
	check_connect("::ffff:127.0.0.1", false, "127.0.0.0/8", true);
	check_connect("64:ff9b::7f00:1", false, "127.0.0.0/8", false);
	check_connect("128.0.0.1", false, "127.0.0.0/8", false);
	check_connect("fd00::1", true, "127.0.0.0/8, fd00::/8", true);
}

int
main(void)
{
	char answer[1100];
	ls_buf out;

	arena = ls_arena_create(NULL, 1 << 20);
	check_urls();
	check_addresses();

	/* openssl dgst -sha256 -hmac whsec_0123456789 of "1700000000.{\"a\": 1}" */
	ls_buf_init(&out, arena);
	ok(ls_webhook_sign(&out, str("whsec_0123456789"), 1700000000, str("{\"a\": 1}")), "it signs");
	is_str(ls_str_make(out.data, out.len),
		   "t=1700000000,v1=892e29bd2e5ba319fdc94c86b2167543426003c1790eb1c932339254b60ff87e",
		   "what openssl signs");

	check_excerpt("ok", 2, "ok", "an answer");
	check_excerpt("", 0, "", "none");
	check_excerpt("a\0b\x1b[1m\x7f\n\t", 10, "a b [1m \n\t", "control characters");
	check_excerpt("\xc3\xa4\xff\xc3(\xe2\x82", 7, "\xc3\xa4?\?(?\?", "what is no UTF-8");
	memset(answer, 'x', sizeof(answer));
	memcpy(answer + 1023, "\xe2\x82\xac", 3);
	ls_buf_init(&out, arena);
	ls_webhook_excerpt(&out, ls_str_make(answer, sizeof(answer)));
	is_int((long long) out.len, 1023, "no half of a character at the end");
	memset(answer, 0xff, sizeof(answer));
	ls_buf_init(&out, arena);
	ls_webhook_excerpt(&out, ls_str_make(answer, sizeof(answer)));
	is_int((long long) out.len, 1024, "a kilobyte at most");

	ls_arena_destroy(arena);
	return done_testing();
}
