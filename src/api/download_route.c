/*-------------------------------------------------------------------------
 *
 * download_route.c
 *	  Files of exports: a link that is signed needs no credential.
 *
 *-------------------------------------------------------------------------
 */
#include "src/api/http.h"

#include "src/base/parameter.h"

/*
 * Browsers send the cookie of a session with a link from a mail, but not the organization, so what
 * is signed counts alone.
 */
bool
ls_http_is_signed(const ls_request *request, ls_arena *arena)
{
	ls_str query = request->query;
	ls_str name;
	ls_str value;
	bool bad;

	while (request->route == LS_ROUTE_EXPORT_DOWNLOAD &&
		   ls_parameter_next(&query, arena, &name, &value, &bad))
	{
		if (ls_str_eq(name, LS_STR("signature")))
			return true;
	}
	return false;
}
