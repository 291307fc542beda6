/*-------------------------------------------------------------------------
 *
 * address.c
 *	  Network addresses: reading, networks, and the client behind proxies
 *	  (pure).
 *
 * IPv4 is kept as IPv6-mapped, so that there is one kind of address.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/pure.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#define MAPPED 96 /* bits before the IPv4 address in a mapped one */

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool
is_mapped(const ls_address *address)
{
	return memcmp(address->bytes, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

static ls_str
trim(ls_str s)
{
	while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t' || s.data[0] == '"'))
		s = ls_str_make(s.data + 1, s.len - 1);
	while (s.len > 0 &&
		   (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t' || s.data[s.len - 1] == '"'))
		s.len--;
	return s;
}

bool
ls_address_parse(ls_str s, ls_address *out)
{
	char text[INET6_ADDRSTRLEN + 1];
	const char *stop;

	s = trim(s);
	if (s.len > 0 && s.data[0] == '[')
	{
		/* [address] or [address]:port */
		stop = memchr(s.data, ']', s.len);
		if (stop == NULL)
			return false;
		s = ls_str_make(s.data + 1, (size_t) (stop - s.data) - 1);
	}
	else if (s.len > 0 && (stop = memchr(s.data, ':', s.len)) != NULL &&
			 memchr(s.data, '.', (size_t) (stop - s.data)) != NULL)
		s.len = (size_t) (stop - s.data); /* IPv4:port */
	if (s.len > 0 && (stop = memchr(s.data, '%', s.len)) != NULL)
		s.len = (size_t) (stop - s.data); /* the zone of a link-local address */
	if (s.len == 0 || s.len >= sizeof(text))
		return false;
	memcpy(text, s.data, s.len);
	text[s.len] = '\0';

	memcpy(out->bytes, mapped_prefix, sizeof(mapped_prefix));
	if (strlen(text) != s.len)
		return false;
	return inet_pton(AF_INET, text, out->bytes + sizeof(mapped_prefix)) == 1 ||
		   inet_pton(AF_INET6, text, out->bytes) == 1;
}

void
ls_address_format(const ls_address *address, char out[LS_ADDRESS_LENGTH])
{
	const char *text =
		is_mapped(address)
			? inet_ntop(AF_INET, address->bytes + sizeof(mapped_prefix), out, LS_ADDRESS_LENGTH)
			: inet_ntop(AF_INET6, address->bytes, out, LS_ADDRESS_LENGTH);

	if (text == NULL)
		out[0] = '\0';
}

void
ls_address_rate_key(const ls_address *address, uint8_t key[16])
{
	memcpy(key, address->bytes, 16);
	if (!is_mapped(address))
		memset(key + 8, 0, 8);
}

/* Takes the next member off a list with commas. */
static bool
next_member(ls_str *list, ls_str *member)
{
	const char *comma;

	do
	{
		if (list->len == 0)
			return false;
		comma = memchr(list->data, ',', list->len);
		*member =
			ls_str_make(list->data, comma == NULL ? list->len : (size_t) (comma - list->data));
		*list = comma == NULL ? LS_STR("") : ls_str_make(comma + 1, list->len - member->len - 1);
		*member = trim(*member);
	} while (member->len == 0);
	return true;
}

/* "address" or "address/bits" */
static bool
parse_network(ls_str text, ls_address *network, int *bits)
{
	const char *slash = memchr(text.data, '/', text.len);
	ls_str number;
	int64_t n;

	*bits = 128;
	if (slash == NULL)
		return ls_address_parse(text, network);
	number = ls_str_make(slash + 1, text.len - (size_t) (slash - text.data) - 1);
	if (!ls_address_parse(ls_str_make(text.data, (size_t) (slash - text.data)), network) ||
		!ls_json_canonical_int(number, &n) || n < 0)
		return false;
	if (memchr(text.data, ':', (size_t) (slash - text.data)) == NULL)
		n += MAPPED;
	*bits = n > 128 ? 0 : (int) n;
	return n <= 128;
}

bool
ls_networks_valid(ls_str list)
{
	ls_str member;
	ls_address network;
	int bits;

	while (next_member(&list, &member))
	{
		if (!parse_network(member, &network, &bits))
			return false;
	}
	return true;
}

bool
ls_network_contains(const ls_address *network, int bits, const ls_address *address)
{
	int whole = bits / 8;
	int rest = bits % 8;

	return memcmp(network->bytes, address->bytes, (size_t) whole) == 0 &&
		   (rest == 0 || (network->bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0);
}

bool
ls_networks_contain(ls_str list, const ls_address *address)
{
	ls_str member;
	ls_address network;
	int bits;

	while (next_member(&list, &member))
	{
		if (parse_network(member, &network, &bits) && ls_network_contains(&network, bits, address))
			return true;
	}
	return false;
}

/*
 * What is no public address: of IANA's registries of special-purpose addresses, all that is not
 * "globally reachable", and what is only a cover for another address.
 */
bool
ls_address_is_public(const ls_address *address)
{
	static const char *const special_v4 =
		"0.0.0.0/8,10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12,192.0.0.0/24,"
		"192.0.2.0/24,192.88.99.0/24,192.168.0.0/16,198.18.0.0/15,198.51.100.0/24,203.0.113.0/24,"
		"224.0.0.0/4,240.0.0.0/4";
	/* IETF protocols with Teredo, documentation, 6to4. */
	static const char *const special_v6 = "2001::/23,2001:db8::/32,2002::/16,3fff::/20";
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
	ls_address v4;

	if (is_mapped(address))
		return !ls_networks_contain(ls_str_make(special_v4, strlen(special_v4)), address);
	/* A translator sends it on to the IPv4 address in it. */
	if (memcmp(address->bytes, nat64, sizeof(nat64)) == 0)
	{
		memcpy(v4.bytes, mapped_prefix, sizeof(mapped_prefix));
		memcpy(v4.bytes + 12, address->bytes + 12, 4);
		return ls_address_is_public(&v4);
	}
	/* 2000::/3 has all that is given out. */
	return address->bytes[0] >> 5 == 1 &&
		   !ls_networks_contain(ls_str_make(special_v6, strlen(special_v6)), address);
}

bool
ls_client_address(ls_str remote, ls_str forwarded_for, ls_str trusted, ls_address *out)
{
	if (!ls_address_parse(remote, out))
		return false;

	/* From the right: each proxy adds whom it has seen; we believe our own only. */
	while (forwarded_for.len > 0 && ls_networks_contain(trusted, out))
	{
		size_t start = forwarded_for.len;
		ls_address next;

		while (start > 0 && forwarded_for.data[start - 1] != ',')
			start--;
		if (!ls_address_parse(ls_str_make(forwarded_for.data + start, forwarded_for.len - start),
							  &next))
			break;
		*out = next;
		forwarded_for.len = start > 0 ? start - 1 : 0;
	}
	return true;
}
