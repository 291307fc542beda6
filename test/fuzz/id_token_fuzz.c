/*
 * id_token_fuzz.c: any bytes as what identity providers send: an ID token and a
 * key set, one line each, or one of their JSON answers.  Nothing is signed here,
 * so no token is ever good; what is decoded is encoded to the same text.
 */
#include <stdlib.h>
#include <string.h>

#include "src/identity/id_token.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static ls_arena *arena = NULL;
	ls_id_expected expected = {LS_STR("https://id.example"), LS_STR("me"), LS_STR("N"), 1700000000};
	/* A copy of exact size, so that the sanitizer sees a read past the end. */
	char *bytes = malloc(size + (size == 0));
	ls_str text = ls_str_make(bytes, size);
	ls_str keys = LS_STR("{\"keys\":[]}");
	ls_str token = text;
	ls_str out;
	ls_id_discovery discovery;
	ls_id_person person = {{0}};
	const char *why = NULL;
	char *newline;

	if (arena == NULL)
		arena = ls_arena_create(NULL, 16 * 1024 * 1024);
	memcpy(bytes, data, size);
	newline = size == 0 ? NULL : memchr(bytes, '\n', size);
	if (newline != NULL)
	{
		token = ls_str_make(bytes, (size_t) (newline - bytes));
		keys = ls_str_make(newline + 1, size - token.len - 1);
	}
	CHECK(ls_id_token_check(token, keys, &expected, arena, &person, &why) != LS_ID_GOOD &&
		  why != NULL);
	if (ls_base64url_decode(token, arena, &out))
	{
		ls_buf again;

		ls_buf_init(&again, arena);
		ls_base64url(&again, out.data, out.len);
		CHECK(ls_str_eq(ls_str_make(again.data, again.len), token));
	}
	(void) ls_id_read_discovery(text, arena, &discovery);
	(void) ls_id_read_token(text, arena, &out, &out);
	(void) ls_id_read_userinfo(text, arena, &person);
	(void) ls_id_read_user(text, arena, &person);
	if (ls_id_read_addresses(text, arena, &person) && person.email_verified)
		CHECK(person.email.len > 0);
	ls_arena_reset(arena);
	free(bytes);
	return 0;
}
