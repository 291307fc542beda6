/*-------------------------------------------------------------------------
 *
 * openapi.c
 *	  Prints the API description, as the gateway makes it.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>

#include "src/gateway/gateway.h"

int
main(void)
{
	ls_arena *arena = ls_arena_create(NULL, LS_OPENAPI_MEMORY);
	ls_str text = arena != NULL ? ls_openapi(arena) : LS_STR("");

	fwrite(text.data, 1, text.len, stdout);
	ls_arena_destroy(arena);
	return text.len == 0;
}
