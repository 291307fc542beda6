/*-------------------------------------------------------------------------
 *
 * schemas.c
 *	  The schemas of the API's documents, as data (pure).
 *
 * Each file of schemas/ is a JSON object of schemas by name.  The API description shows them,
 * and what clients write is checked against them (base/json_schema.h).
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/gateway.h"

#define FILE_OF_SCHEMAS(name)                                  \
	__asm__(".pushsection .rodata\n"                           \
			".hidden ls_schemas_" #name "\n"                   \
			".globl ls_schemas_" #name "\n"                    \
			"ls_schemas_" #name ":\n"                          \
			".incbin \"src/gateway/schemas/" #name ".json\"\n" \
			".byte 0\n"                                        \
			".popsection\n");                                  \
	extern const char ls_schemas_##name[] __attribute__((visibility("hidden")))

FILE_OF_SCHEMAS(alert_rule);
FILE_OF_SCHEMAS(channel);
FILE_OF_SCHEMAS(dashboard);
FILE_OF_SCHEMAS(kpi);
FILE_OF_SCHEMAS(pipeline);
FILE_OF_SCHEMAS(saved_query);
FILE_OF_SCHEMAS(scheduled_export);
FILE_OF_SCHEMAS(service);

static const char *const files[] = {
	ls_schemas_alert_rule, ls_schemas_channel,     ls_schemas_dashboard,        ls_schemas_kpi,
	ls_schemas_pipeline,   ls_schemas_saved_query, ls_schemas_scheduled_export, ls_schemas_service};

/* Their nesting; of documents that clients write as well. */
#define MAX_DEPTH 32

const ls_json_node *
ls_api_schemas(ls_arena *arena)
{
	ls_json_node *all = ls_document_make(arena, "{}");

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && all != NULL; i++)
	{
		const ls_json_node *some =
			ls_document_read(ls_str_make(files[i], strlen(files[i])), MAX_DEPTH, arena);
		const ls_json_node *schema;
		void *at = NULL;
		ls_str name;

		if (some == NULL)
			return NULL;
		while ((at = ls_node_next(some, at, &name, &schema)) != NULL)
			ls_document_set(arena, all, name.data, (ls_json_node *) schema);
	}
	return all;
}
