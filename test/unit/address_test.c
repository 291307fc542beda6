/* address_test.c: addresses, networks, and the client behind proxies. */
#include "test/unit/tap.h"

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static void
check_parse(const char *text, const char *expected)
{
	ls_address address;
	char out[LS_ADDRESS_LENGTH] = "";

	if (ls_address_parse(str(text), &address))
		ls_address_format(&address, out);
	if (!ok(strcmp(out, expected) == 0, text))
		printf("#   got \"%s\", expected \"%s\"\n", out, expected);
}

static void
check_network(const char *list, const char *text, bool expected)
{
	ls_address address;

	ok(ls_address_parse(str(text), &address) &&
		   ls_networks_contain(str(list), &address) == expected,
	   list);
}

static void
check_client(const char *remote, const char *forwarded, const char *trusted, const char *expected)
{
	ls_address address;
	char out[LS_ADDRESS_LENGTH] = "";

	if (ls_client_address(str(remote), str(forwarded), str(trusted), &address))
		ls_address_format(&address, out);
	if (!ok(strcmp(out, expected) == 0, forwarded))
		printf("#   got \"%s\", expected \"%s\"\n", out, expected);
}

static bool
same_key(const char *a, const char *b)
{
	ls_address address;
	uint8_t key_a[16];
	uint8_t key_b[16];

	(void) ls_address_parse(str(a), &address);
	ls_address_rate_key(&address, key_a);
	(void) ls_address_parse(str(b), &address);
	ls_address_rate_key(&address, key_b);
	return memcmp(key_a, key_b, 16) == 0;
}

int
main(void)
{
	check_parse("192.0.2.1", "192.0.2.1");
	check_parse(" 192.0.2.1:443 ", "192.0.2.1");
	check_parse("::ffff:192.0.2.1", "192.0.2.1");
	check_parse("2001:DB8::1", "2001:db8::1");
	check_parse("[2001:db8::1]:443", "2001:db8::1");
	check_parse("\"[2001:db8::1]\"", "2001:db8::1");
	check_parse("fe80::1%eth0", "fe80::1");
	check_parse("", "");
	check_parse("unknown", "");
	check_parse("[::1", "");
	check_parse("192.0.2.256", "");
	check_parse("1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.21.22", "");

	check_network("10.0.0.0/8", "10.255.1.2", true);
	check_network("10.0.0.0/8", "11.0.0.1", false);
	check_network("192.0.2.7, 10.0.0.0/9", "10.128.0.0", false);
	check_network("192.0.2.7, 10.0.0.0/9", "192.0.2.7", true);
	check_network("0.0.0.0/0", "203.0.113.9", true);
	check_network("0.0.0.0/0", "2001:db8::1", false);
	check_network("::/0", "203.0.113.9", true);
	check_network("2001:db8::/33", "2001:db8:8000::1", false);
	check_network("2001:db8::/33", "2001:db8:7fff::1", true);
	check_network("", "127.0.0.1", false);
	ok(ls_networks_valid(str("")), "no network");
	ok(ls_networks_valid(str("10.0.0.0/8, ::1,")), "two");
	ok(!ls_networks_valid(str("10.0.0.0/33")), "too many bits");
	ok(!ls_networks_valid(str("10.0.0.0/-1")), "too few");
	ok(!ls_networks_valid(str("10.0.0.0/x")), "not a number");
	ok(!ls_networks_valid(str("proxy.example.org")), "a name");

	check_client("203.0.113.9", "198.51.100.1", "", "203.0.113.9");
	check_client("10.0.0.1", "198.51.100.1", "10.0.0.0/8", "198.51.100.1");
	check_client("10.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.2", "10.0.0.0/8", "198.51.100.1");
	check_client("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.0/8", "10.0.0.3");
	check_client("10.0.0.1", "6.6.6.6, garbage", "10.0.0.0/8", "10.0.0.1");
	check_client("10.0.0.1", "6.6.6.6, ", "10.0.0.0/8", "10.0.0.1");
	check_client("10.0.0.1", "", "10.0.0.0/8", "10.0.0.1");
	check_client("", "198.51.100.1", "10.0.0.0/8", "");
	check_client("::1", "2001:db8::5", "::1/128", "2001:db8::5");

	ok(same_key("2001:db8::1", "2001:db8::ffff:1"), "one /64 is one client");
	ok(!same_key("2001:db8::1", "2001:db8:0:1::1"), "another /64 is another");
	ok(!same_key("192.0.2.1", "192.0.2.2"), "every IPv4 address is one");
	return done_testing();
}
