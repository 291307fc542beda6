/*
 * json_schema_fuzz.c: any document, and any merge patch after a line end, against each schema of
 * the API.  What passes, passes again unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "src/base/json_schema.h"
#include "src/gateway/gateway.h"

#define CHECK(condition) \
	if (!(condition))    \
	abort()

static ls_str
written(const ls_json_node *node, ls_arena *arena)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_document_write(&buf, node);
	CHECK(!buf.failed);
	return ls_str_make(buf.data, buf.len);
}

static void
try_schema(const ls_json_node *schemas, const char *name, const ls_json_node *document,
		   ls_arena *arena)
{
	ls_schema_check check = {.schemas = schemas, .arena = arena};
	const ls_json_node *once = ls_schema_apply(&check, name, document);
	const ls_json_node *twice;

	CHECK(once != NULL || check.n_problems > 0);
	if (once == NULL)
		return;
	twice = ls_schema_apply(&check, name, once);
	CHECK(twice != NULL);
	CHECK(ls_str_eq(written(once, arena), written(twice, arena)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static ls_arena *kept = NULL;
	static ls_arena *arena = NULL;
	static const ls_json_node *schemas;
	ls_str text = ls_str_make((const char *) data, size);
	const char *line_end = memchr(data, '\n', size);
	const ls_json_node *document;
	const ls_json_node *patch;
	const ls_json_node *schema;
	void *at = NULL;
	ls_str name;

	if (kept == NULL)
	{
		kept = ls_arena_create(NULL, 0);
		arena = ls_arena_create(NULL, 256 << 20);
		schemas = ls_api_schemas(kept);
		CHECK(schemas != NULL);
	}
	if (line_end != NULL)
		text.len = (size_t) (line_end - text.data);
	document = ls_document_read(text, 24, arena);
	if (document != NULL && line_end != NULL)
	{
		patch = ls_document_read(ls_str_make(line_end + 1, size - text.len - 1), 24, arena);
		if (patch != NULL)
			document = ls_document_merge(document, patch, arena);
	}
	while (document != NULL && (at = ls_node_next(schemas, at, &name, &schema)) != NULL)
		try_schema(schemas, name.data, document, arena);
	CHECK(!ls_arena_failed(arena));
	ls_arena_reset(arena);
	return 0;
}
