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
static bool
is_signed(const ls_request *request, ls_arena *arena)
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

bool
ls_http_by_link(const ls_request *request, ls_arena *arena, ls_request *by_link)
{
	ls_buf query;

	if (!is_signed(request, arena))
		return false;
	/* A route without a path has no part of it either. */
	ls_buf_init(&query, arena);
	ls_buf_lit(&query, "id=");
	ls_buf_url(&query, request->parameter, false);
	ls_buf_char(&query, '&');
	ls_buf_str(&query, request->query);
	if (query.failed)
		return false;
	*by_link = *request;
	by_link->route = LS_ROUTE_EXPORT_LINK;
	by_link->query = ls_str_make(query.data, query.len);
	return true;
}
