/*-------------------------------------------------------------------------
 *
 * protocol_find.c
 *	  The protocols by name.
 *
 *-------------------------------------------------------------------------
 */
#include "src/model/protocol.h"

#include <string.h>

const ls_protocol *
ls_protocol_find(const char *name)
{
	static const ls_protocol *const all[] = {&ls_protocol_anthropic, &ls_protocol_bedrock,
											 &ls_protocol_openai};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
	{
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	}
	return NULL;
}
