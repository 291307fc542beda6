/*
 * address_fuzz.c: addresses, networks and X-Forwarded-For on any bytes.
 *
 * The input is a remote address, a list of trusted networks and a header, by
 * lines.  An address that was read must survive being written, and whoever is
 * taken for the client must be the remote address or stand in the header.
 */
#include <stdlib.h>

#include "src/base/pure.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

static ls_str
line(ls_str *text)
{
	const char *stop = text->len > 0 ? memchr(text->data, '\n', text->len) : NULL;
	ls_str result =
		ls_str_make(text->data, stop == NULL ? text->len : (size_t) (stop - text->data));

	*text = stop == NULL ? LS_STR("") : ls_str_make(stop + 1, text->len - result.len - 1);
	return result;
}

static void
check_round_trip(const ls_address *address)
{
	char text[LS_ADDRESS_LENGTH];
	ls_address again;

	ls_address_format(address, text);
	CHECK(ls_address_parse(ls_str_make(text, strlen(text)), &again));
	CHECK(memcmp(address, &again, sizeof(again)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exact size, so that the sanitizer sees a read past the end. */
	char *copy = malloc(size + (size == 0));
	ls_str text;
	ls_str remote;
	ls_str trusted;
	ls_address address;
	ls_address client;

	memcpy(copy, data, size);
	text = ls_str_make(copy, size);
	remote = line(&text);
	trusted = line(&text);
	(void) ls_networks_valid(trusted);
	if (ls_address_parse(remote, &address))
	{
		check_round_trip(&address);
		CHECK(ls_client_address(remote, text, trusted, &client));
		check_round_trip(&client);
		/* Another than the remote one only behind a trusted proxy. */
		CHECK(memcmp(&client, &address, sizeof(client)) == 0 ||
			  ls_networks_contain(trusted, &address));
		CHECK(!ls_networks_contain(LS_STR(""), &address));
		CHECK(ls_networks_contain(LS_STR("::/0"), &address));
	}
	else
		CHECK(!ls_client_address(remote, text, trusted, &client));
	free(copy);
	return 0;
}
