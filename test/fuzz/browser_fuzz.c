/*
 * browser_fuzz.c: any bytes as Cookie and Origin headers.  A value that is found
 * is a printable part of the header; an origin is never on an empty list.
 */
#include <stdlib.h>
#include <string.h>

#include "src/identity/browser.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exact size, so that the sanitizer sees a read past the end. */
	char *text = malloc(size + (size == 0));
	char *newline;
	ls_str value;

	memcpy(text, data, size);
	if (ls_cookie_find(ls_str_make(text, size), LS_STR("sid"), &value))
	{
		CHECK(value.len > 0 && value.data >= text && value.data + value.len <= text + size);
		for (size_t i = 0; i < value.len; i++)
			CHECK(value.data[i] > ' ' && value.data[i] < 0x7f && value.data[i] != ';');
	}
	newline = size == 0 ? NULL : memchr(text, '\n', size);
	if (newline != NULL)
	{
		ls_str origin = ls_str_make(text, (size_t) (newline - text));
		ls_str list = ls_str_make(newline + 1, size - origin.len - 1);

		CHECK(!ls_origin_in_list(origin, LS_STR("")));
		if (ls_origin_in_list(origin, list))
		{
			CHECK(memchr(origin.data, '@', origin.len) == NULL);
			CHECK(ls_origin_in_list(origin, origin));
		}
		if (ls_url_in_list(origin, list))
		{
			bool local;

			CHECK(memchr(origin.data, '\\', origin.len) == NULL);
			CHECK(ls_url_in_list(origin, origin));
			(void) ls_url_callable(origin, &local);
		}
	}
	free(text);
	return 0;
}
