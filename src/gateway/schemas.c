/*-------------------------------------------------------------------------
 *
 * schemas.c
 *	  The schemas of the API's documents, as data (pure).
 *
 * Each file of schemas/ is a JSON object.  Most have schemas by name, which the API description
 * shows, and against which the documents that clients write are checked (base/json_schema.h).  The
 * others are for the description alone (openapi.c).
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/gateway.h"

#define JSON_FILE(path, name)                   \
	__asm__(".pushsection .rodata\n"            \
			".hidden ls_schemas_" #name "\n"    \
			".globl ls_schemas_" #name "\n"     \
			"ls_schemas_" #name ":\n"           \
			".incbin \"" path #name ".json\"\n" \
			".byte 0\n"                         \
			".popsection\n");                   \
	extern const char ls_schemas_##name[] __attribute__((visibility("hidden")))
#define FILE_OF_SCHEMAS(name) JSON_FILE("src/gateway/schemas/", name)

FILE_OF_SCHEMAS(alert_rule);
FILE_OF_SCHEMAS(channel);
FILE_OF_SCHEMAS(dashboard);
FILE_OF_SCHEMAS(kpi);
FILE_OF_SCHEMAS(pipeline);
FILE_OF_SCHEMAS(saved_query);
FILE_OF_SCHEMAS(scheduled_export);
FILE_OF_SCHEMAS(service);

/* For the description. */
FILE_OF_SCHEMAS(answers);
FILE_OF_SCHEMAS(management_answers);
FILE_OF_SCHEMAS(components);
FILE_OF_SCHEMAS(operations);
FILE_OF_SCHEMAS(parameters);
JSON_FILE("src/gateway/", signatures);

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

bool
ls_api_describe(ls_arena *arena, ls_api_description *d)
{
	const struct
	{
		const char *text;
		const ls_json_node **into;
	} parts[] = {
		{ls_schemas_answers, &d->answers},       {ls_schemas_management_answers, &d->management},
		{ls_schemas_components, &d->components}, {ls_schemas_operations, &d->operations},
		{ls_schemas_parameters, &d->parameters}, {ls_schemas_signatures, &d->signatures}};

	d->checked = ls_api_schemas(arena);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
	{
		*parts[i].into =
			ls_document_read(ls_str_make(parts[i].text, strlen(parts[i].text)), MAX_DEPTH, arena);
		if (*parts[i].into == NULL)
			return false;
	}
	return d->checked != NULL;
}
