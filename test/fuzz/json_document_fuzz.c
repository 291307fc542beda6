/*
 * json_document_fuzz.c: any bytes as a document: what jansson takes, the pull parser takes too, and
 * what is written is taken by both.  It takes no memory but what was set aside for it.
 */
#include <stdlib.h>
#include <string.h>

#include "src/base/json_document.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

static bool
is_json(ls_str text, ls_arena *arena)
{
	ls_json json;
	ls_str raw;

	ls_json_init(&json, text, arena, 60);
	return ls_json_skip(&json, &raw) && ls_json_end(&json);
}

/* As json_document.h says. */
static size_t
bound(ls_str text)
{
	size_t values = 1;
	bool quoted = false;

	for (size_t i = 0; i < text.len; i++)
	{
		if (text.data[i] == '"')
			quoted = !quoted;
		else if (quoted)
			i += text.data[i] == '\\';
		else
			values += strchr("{[,", text.data[i]) != NULL;
	}
	return 1024 + values * 512 + text.len * 6;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static ls_arena *arena = NULL;
	/* A copy of exact size, so that the sanitizer sees a read past the end. */
	char *bytes = malloc(size + (size == 0));
	ls_str text = ls_str_make(bytes, size);
	const ls_json_node *node;
	ls_buf buf;

	if (arena == NULL)
		arena = ls_arena_create(NULL, 64 << 20);
	memcpy(bytes, data, size);
	node = ls_document_read(text, 60, arena);
	CHECK(ls_arena_used(arena) <= bound(text) + 15);
	if (node != NULL)
	{
		CHECK(is_json(text, arena));
		ls_buf_init(&buf, arena);
		ls_document_write(&buf, node);
		CHECK(!buf.failed && is_json(ls_str_make(buf.data, buf.len), arena));
	}
	CHECK(!ls_arena_failed(arena));
	ls_arena_reset(arena);
	free(bytes);
	return 0;
}
