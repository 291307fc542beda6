/*-------------------------------------------------------------------------
 *
 * routes.c
 *	  The route table and the search in it (pure).
 *
 * The table is walked from end to end: a few hundred paths differ early, so a
 * walk costs less than a microsecond and needs no structure that could
 * disagree with routes.def.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/gateway.h"

#include <stdio.h>

/* The test of this file brings its own table. */
#ifndef LS_ROUTES_DEF
#define LS_ROUTES_DEF "src/gateway/routes.def"
#endif

const ls_route ls_routes[] = {
#define LS_ROUTE(name, method, path, credentials, permission, scope, rate_class, pool, handler, \
				 success, summary)                                                              \
	{#name,      method, path,    credentials, permission, scope,                               \
	 rate_class, pool,   handler, success,     summary},
#include LS_ROUTES_DEF
#undef LS_ROUTE
};

const uint32_t ls_n_routes = sizeof(ls_routes) / sizeof(ls_routes[0]);

typedef enum match
{
	MATCH_NONE,
	MATCH_PARAMETER,
	MATCH_LITERAL
} match;

/* Does `path` fit the template?  {x} takes one segment that is not empty. */
static match
match_path(const char *template, ls_str path, ls_str *parameter)
{
	size_t i = 0;
	match result = MATCH_LITERAL;

	while (*template != '\0')
	{
		if (*template == '{')
		{
			size_t start = i;

			while (i < path.len && path.data[i] != '/')
				i++;
			if (i == start)
				return MATCH_NONE;
			*parameter = ls_str_make(path.data + start, i - start);
			result = MATCH_PARAMETER;
			while (*template != '\0' && *template != '}')
				template ++;
			if (*template == '}')
				template ++;
		}
		else if (i < path.len && path.data[i] == *template)
		{
			template ++;
			i++;
		}
		else
			return MATCH_NONE;
	}
	return i == path.len ? result : MATCH_NONE;
}

static bool
method_is(ls_str method, const char *name)
{
	return ls_str_eq(method, ls_str_make(name, strlen(name)));
}

static void
add_method(char *allow, size_t allow_size, const char *method)
{
	size_t used = strlen(allow);
	size_t len = strlen(method);
	const char *at = allow;

	/* Several routes may share a path and a method only by mistake; say it once. */
	while ((at = strstr(at, method)) != NULL)
	{
		if ((at == allow || at[-1] == ' ') && (at[len] == '\0' || at[len] == ','))
			return;
		at += len;
	}
	if (used + len + 3 < allow_size)
		snprintf(allow + used, allow_size - used, "%s%s", used > 0 ? ", " : "", method);
}

static int
find_exactly(ls_str method, ls_str path, ls_str *parameter, char *allow, size_t allow_size)
{
	int by_parameter = -1;
	ls_str by_parameter_value = LS_STR("");
	bool path_exists = false;

	*parameter = LS_STR("");
	if (allow_size > 0)
		allow[0] = '\0';
	if (path.len == 0 || path.data[0] != '/')
		return -1;

	/* HEAD is GET without the body. */
	if (ls_str_eq(method, LS_STR("HEAD")))
		method = LS_STR("GET");
	for (uint32_t i = 0; i < ls_n_routes; i++)
	{
		ls_str value = LS_STR("");
		match m = match_path(ls_routes[i].path, path, &value);

		if (m == MATCH_NONE)
			continue;
		if (method_is(method, ls_routes[i].method))
		{
			if (m == MATCH_LITERAL)
				return (int) i;
			if (by_parameter < 0)
			{
				by_parameter = (int) i;
				by_parameter_value = value;
			}
		}
		path_exists = true;
	}
	if (by_parameter >= 0)
	{
		*parameter = by_parameter_value;
		return by_parameter;
	}
	if (!path_exists)
		return -1;

	for (uint32_t i = 0; i < ls_n_routes && allow_size > 0; i++)
	{
		ls_str value;

		if (match_path(ls_routes[i].path, path, &value) == MATCH_NONE)
			continue;
		add_method(allow, allow_size, ls_routes[i].method);
		if (strcmp(ls_routes[i].method, "GET") == 0)
			add_method(allow, allow_size, "HEAD");
	}
	if (allow_size > 0)
		add_method(allow, allow_size, "OPTIONS");
	return -2;
}

int
ls_route_find(ls_str method, ls_str path, ls_str *parameter, char *allow, size_t allow_size)
{
	int route = find_exactly(method, path, parameter, allow, allow_size);

	/* People and programs that join paths leave a slash at the end. */
	if (route == -1 && path.len > 1 && path.data[path.len - 1] == '/')
		route = find_exactly(method, ls_str_make(path.data, path.len - 1), parameter, allow,
							 allow_size);
	return route;
}

size_t
ls_route_body_limit(const ls_route *route, size_t most)
{
	/* Where there is no credential to check nobody needs more. */
	size_t limit = route->credentials[0] == '\0'     ? LS_UNCHECKED_BODY_LIMIT
				   : route->pool == LS_POOL_EXECUTOR ? LS_EXECUTOR_BODY_LIMIT
													 : most;

	return limit < most ? limit : most;
}
