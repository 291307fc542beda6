/*-------------------------------------------------------------------------
 *
 * provider_find.c
 *	  Which model provider the settings name, and where they send its calls.
 *
 *-------------------------------------------------------------------------
 */
#include "src/evaluation/evaluation.h"

const ls_provider *
ls_provider_current(void)
{
	switch ((ls_model_provider_kind) ls_model_provider)
	{
		case LS_MODEL_BUILTIN:
			break;
		case LS_MODEL_ANTHROPIC:
			return &ls_provider_anthropic;
		case LS_MODEL_BEDROCK:
			return &ls_provider_bedrock;
		case LS_MODEL_OPENAI:
			return &ls_provider_openai;
	}
	return &ls_provider_builtin;
}

ls_model_place
ls_provider_place(const ls_provider *provider, ls_arena *arena)
{
	ls_str declared = ls_str_of_cstring(ls_model_endpoint_region);
	ls_model_place place = {.endpoint = ls_str_of_cstring(ls_model_endpoint),
							.region = ls_str_of_cstring(ls_model_region)};

	while (place.endpoint.len > 0 && place.endpoint.data[place.endpoint.len - 1] == '/')
		place.endpoint.len--;
	if (provider->builtin || (place.endpoint.len == 0 && provider == &ls_provider_bedrock))
		place.known = place.region; /* this server; or the endpoint's name is made from it */
	else if (declared.len > 0)
	{
		place.known = declared;
		if (place.region.len == 0)
			place.region = declared;
	}
	place.endpoint = ls_arena_strdup(arena, place.endpoint);
	place.region = ls_arena_strdup(arena, place.region);
	place.known = ls_arena_strdup(arena, place.known);
	return place;
}
