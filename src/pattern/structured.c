/*-------------------------------------------------------------------------
 *
 * structured.c
 *	  Tokens of rows that say themselves what is constant: JSON and logfmt.
 *
 * Member names are constant, values vary.  Two members are special: the
 * message is text like any row (a reason or error is the message where there
 * is no other), and the level must never be joined with another level.  A short value without digits is kept as a VALUE, so that it
 * can be shown when all rows of the pattern agree on it.
 *
 * This is a walker of its own rather than ls_json: it allocates nothing, and
 * it reads JSON only well enough to find the tokens.  A row that it cannot
 * read is scanned as text.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/internal.h"

/* Objects nested deeper than this count as one value. */
#define MAX_DEPTH 8

typedef enum member_role
{
	ROLE_VALUE,
	ROLE_MESSAGE,
	ROLE_REASON, /* message where there is no other */
	ROLE_LEVEL
} member_role;

typedef struct known_name
{
	const char *name;
	uint8_t len;
	uint8_t role;
} known_name;

#define NAME(literal, role)                \
	{                                      \
		literal, sizeof(literal) - 1, role \
	}

/* What a member is, by the names that loggers use, in any case. */
static member_role
role_of(const char *p, size_t len)
{
	static const known_name names[] = {
		NAME("msg", ROLE_MESSAGE),         NAME("message", ROLE_MESSAGE),
		NAME("event", ROLE_MESSAGE),       NAME("log", ROLE_MESSAGE),
		NAME("text", ROLE_MESSAGE),        NAME("error", ROLE_REASON),
		NAME("err", ROLE_REASON),          NAME("reason", ROLE_REASON),
		NAME("action", ROLE_REASON),       NAME("body", ROLE_MESSAGE),
		NAME("title", ROLE_REASON),        NAME("short_message", ROLE_MESSAGE),
		NAME("description", ROLE_REASON),  NAME("@m", ROLE_MESSAGE),
		NAME("@mt", ROLE_MESSAGE),         NAME("level", ROLE_LEVEL),
		NAME("severity", ROLE_LEVEL),      NAME("lvl", ROLE_LEVEL),
		NAME("log.level", ROLE_LEVEL),     NAME("loglevel", ROLE_LEVEL),
		NAME("levelname", ROLE_LEVEL),     NAME("log_level", ROLE_LEVEL),
		NAME("severity_text", ROLE_LEVEL), NAME("severitytext", ROLE_LEVEL),
		NAME("priority", ROLE_LEVEL),      NAME("@l", ROLE_LEVEL)};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (names[i].len == len && (names[i].name[0] | 0x20) == (*p | 0x20) &&
			ls_str_eq_nocase(ls_str_make(p, len), ls_str_make(names[i].name, len)))
			return (member_role) names[i].role;
	}
	return ROLE_VALUE;
}

static inline const char *
skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* Behind the closing quote of the string that opens at p, or NULL. */
static const char *
string_end(const char *p, const char *end)
{
	for (p++; p < end; p++)
	{
		if (*p == '\\')
			p++;
		else if (*p == '"')
			return p + 1;
	}
	return NULL;
}

/* Behind the container that opens at p, or NULL; nesting is only counted. */
static const char *
container_end(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end)
	{
		if (*p == '"')
		{
			p = string_end(p, end);
			if (p == NULL)
				return NULL;
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if (*p == '}' || *p == ']')
		{
			if (--depth == 0)
				return p + 1;
		}
		p++;
	}
	return NULL;
}

static void
symbol(token_list *list, const char *row, const char *start, const char *end)
{
	ls_add_token(list, row, start, end,
				 CODE(TOKEN_SYMBOL, ls_hash_text(start, (size_t) (end - start))), false);
}

/* Is a member in this role text?  Notes what was met. */
static bool
is_text(token_list *list, member_role role)
{
	list->message |= role == ROLE_MESSAGE;
	list->reason |= role == ROLE_REASON;
	return role == ROLE_MESSAGE || (role == ROLE_REASON && !list->no_reason);
}

/* The text between the quotes at p and end - 1, in the given role. */
static void
string_tokens(token_list *list, const char *row, const char *p, const char *end, member_role role)
{
	if (is_text(list, role))
	{
		symbol(list, row, p, p + 1);
		ls_scan_text(list, row, p + 1, end - 1);
		symbol(list, row, end - 1, end);
	}
	else if (role == ROLE_LEVEL)
		ls_add_token(list, row, p, end, CODE(TOKEN_LEVEL, ls_hash_text(p, (size_t) (end - p))),
					 false);
	else
	{
		/* The quotes belong to the token and are kept in the template. */
		if (ls_add_token(list, row, p, end, ls_classify_value(p + 1, end - 1), false))
			list->t[list->n - 1].lead = 1;
	}
}

static const char *object_tokens(token_list *list, const char *row, const char *p, const char *end,
								 int depth);

/* The value at p: behind it, or NULL. */
static const char *
value_tokens(token_list *list, const char *row, const char *p, const char *end, member_role role,
			 int depth)
{
	const char *stop;

	if (p >= end)
		return NULL;
	if (*p == '"')
	{
		stop = string_end(p, end);
		if (stop != NULL)
			string_tokens(list, row, p, stop, role);
		return stop;
	}
	if (*p == '{' && depth < MAX_DEPTH)
		return object_tokens(list, row, p, end, depth + 1);
	if (*p == '{' || *p == '[')
	{
		/* Lists differ in length and content: the whole content is one value. */
		stop = container_end(p, end);
		if (stop == NULL)
			return NULL;
		symbol(list, row, p, p + 1);
		ls_add_token(list, row, p + 1, stop - 1, CODE(TOKEN_VARIABLE, CLASS_ANY), false);
		symbol(list, row, stop - 1, stop);
		return stop;
	}
	stop = p;
	while (stop < end && *stop != ',' && *stop != '}' && *stop != ']' && (uint8_t) *stop > ' ')
		stop++;
	if (stop == p)
		return NULL;
	if (role == ROLE_LEVEL)
		ls_add_token(list, row, p, stop, CODE(TOKEN_LEVEL, ls_hash_text(p, (size_t) (stop - p))),
					 false);
	else
		ls_add_token(list, row, p, stop, ls_classify_value(p, stop), false);
	return stop;
}

/* The object at p: behind it, or NULL. */
static const char *
object_tokens(token_list *list, const char *row, const char *p, const char *end, int depth)
{
	symbol(list, row, p, p + 1);
	p = skip_space(p + 1, end);
	if (p < end && *p == '}')
	{
		symbol(list, row, p, p + 1);
		return p + 1;
	}
	while (p < end)
	{
		const char *name = p;
		const char *name_end;

		if (*p != '"')
			return NULL;
		p = string_end(p, end);
		if (p == NULL)
			return NULL;
		name_end = p;
		p = skip_space(p, end);
		if (p >= end || *p != ':')
			return NULL;
		symbol(list, row, name, name_end);
		p = value_tokens(list, row, skip_space(p + 1, end), end,
						 role_of(name + 1, (size_t) (name_end - name) - 2), depth);
		if (p == NULL)
			return NULL;
		p = skip_space(p, end);
		if (p < end && *p == '}')
		{
			symbol(list, row, p, p + 1);
			return p + 1;
		}
		if (p >= end || *p != ',')
			return NULL;
		p = skip_space(p + 1, end);
	}
	return NULL;
}

/* Starts (again) to read a row; in the second round a reason is a value. */
static void
restart(token_list *list, bool no_reason)
{
	list->n = 0;
	list->request = false;
	list->message = false;
	list->reason = false;
	list->no_reason = no_reason;
}

bool
ls_scan_json(token_list *list, const char *row, const char *end)
{
	const char *p;

	restart(list, false);
	p = object_tokens(list, row, skip_space(row, end), end, 0);
	if (p != NULL && list->message && list->reason)
	{
		restart(list, true);
		p = object_tokens(list, row, skip_space(row, end), end, 0);
	}
	if (p != NULL && skip_space(p, end) == end)
	{
		list->structured = true;
		return true;
	}
	restart(list, false);
	return false;
}

/* ---- logfmt: name=value name="a value" ... with a message among them ---- */

static const char *
name_end(const char *p, const char *end)
{
	while (p < end &&
		   ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
			*p == '_' || *p == '.' || *p == '-' || *p == '@'))
		p++;
	return p;
}

static const char *
bare_end(const char *p, const char *end)
{
	while (p < end && (uint8_t) *p > ' ')
		p++;
	return p;
}

static bool
pairs_tokens(token_list *list, const char *row, const char *end)
{
	const char *p = skip_space(row, end);
	int pairs = 0;

	if (name_end(p, end) == end || *name_end(p, end) != '=')
		return false;
	while (p < end)
	{
		const char *name = p;
		member_role role;

		p = name_end(p, end);
		if (p == name || p >= end || *p != '=')
			break;
		role = role_of(name, (size_t) (p - name));
		pairs++;
		ls_add_token(list, row, name, p,
					 CODE(TOKEN_SYMBOL, ls_hash_text(name, (size_t) (p - name))), true);
		symbol(list, row, p, p + 1);
		name = ++p;
		if (p < end && *p == '"')
		{
			p = string_end(p, end);
			if (p == NULL)
				break;
			string_tokens(list, row, name, p, role);
		}
		else
		{
			p = bare_end(p, end);
			if (is_text(list, role))
				ls_scan_text(list, row, name, p);
			else if (role == ROLE_LEVEL)
				ls_add_token(list, row, name, p,
							 CODE(TOKEN_LEVEL, ls_hash_text(name, (size_t) (p - name))), false);
			else
				ls_add_token(list, row, name, p, ls_classify_value(name, p), false);
		}
		name = p;
		p = skip_space(p, end);
		if (p == name && p < end)
			break;
		if (p == end)
			return pairs >= 3 && (list->message || list->reason);
	}
	return false;
}

bool
ls_scan_logfmt(token_list *list, const char *row, const char *end)
{
	bool done;

	restart(list, false);
	done = pairs_tokens(list, row, end);
	if (done && list->message && list->reason)
	{
		restart(list, true);
		done = pairs_tokens(list, row, end);
	}
	if (done)
		list->structured = true;
	else
		restart(list, false);
	return done;
}
