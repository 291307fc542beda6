/*-------------------------------------------------------------------------
 *
 * structured.c
 *	  Tokens of a row: JSON and logfmt by their structure, other rows as text.
 *
 * JSON and logfmt show what is constant: names of members are, and values vary.
 * Two members are special: the message is text like any row (a reason or error is
 * the message if there is no other), and different levels must never be joined.  A
 * short value without digits is kept as a VALUE, so that it can be shown if all
 * rows of the pattern agree on it.
 *
 * It does not use ls_json: this walker allocates nothing, and reads JSON only well
 * enough to find the tokens.  A row that it cannot read is scanned as text.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/characters.h"

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
	const char *name; /* NULL ends a list */
	member_role role;
} known_name;

/* What a member is, by the names that loggers use, in any case. */
static inline member_role
role_of(const char *p, size_t len)
{
#define LONGEST_NAME 13
	/* by their length */
	static const known_name names[LONGEST_NAME + 1][6] = {
		[2] = {{"@m", ROLE_MESSAGE}, {"@l", ROLE_LEVEL}},
		[3] = {{"msg", ROLE_MESSAGE},
			   {"log", ROLE_MESSAGE},
			   {"@mt", ROLE_MESSAGE},
			   {"err", ROLE_REASON},
			   {"lvl", ROLE_LEVEL}},
		[4] = {{"text", ROLE_MESSAGE}, {"body", ROLE_MESSAGE}},
		[5] = {{"event", ROLE_MESSAGE},
			   {"error", ROLE_REASON},
			   {"title", ROLE_REASON},
			   {"level", ROLE_LEVEL}},
		[6] = {{"reason", ROLE_REASON}, {"action", ROLE_REASON}},
		[7] = {{"message", ROLE_MESSAGE}},
		[8] = {{"severity", ROLE_LEVEL}, {"loglevel", ROLE_LEVEL}, {"priority", ROLE_LEVEL}},
		[9] = {{"log.level", ROLE_LEVEL}, {"levelname", ROLE_LEVEL}, {"log_level", ROLE_LEVEL}},
		[11] = {{"description", ROLE_REASON}},
		[12] = {{"severitytext", ROLE_LEVEL}},
		[13] = {{"short_message", ROLE_MESSAGE}, {"severity_text", ROLE_LEVEL}}};

	if (len > LONGEST_NAME)
		return ROLE_VALUE;
	for (const known_name *known = names[len]; known->name != NULL; known++)
	{
		if ((known->name[0] | 0x20) == (*p | 0x20) &&
			ls_str_eq_nocase(ls_str_make(p, len), ls_str_make(known->name, len)))
			return known->role;
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

/* The position after the closing quote of the string that opens at p, or NULL. */
static const char *
string_end(const char *p, const char *end)
{
	const char *first = memchr(p + 1, '"', (size_t) (end - p - 1));

	if (first == NULL)
		return NULL;
	if (first[-1] != '\\')
		return first + 1;
	for (p++; p < end; p++)
	{
		if (*p == '\\')
			p++;
		else if (*p == '"')
			return p + 1;
	}
	return NULL;
}

/* The position after the container that opens at p, or NULL; nesting is only counted. */
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
	add_token(list, row, start, end, CODE(TOKEN_SYMBOL, hash_word(start, (size_t) (end - start))),
			  false);
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
		add_token(list, row, p, end, CODE(TOKEN_LEVEL, ls_hash_text(p, (size_t) (end - p))), false);
	else
	{
		/* The quotes belong to the token and are kept in the template. */
		if (add_token(list, row, p, end, ls_classify_value(p + 1, end - 1), false))
			list->t[list->n - 1].lead = 1;
	}
}

static const char *object_tokens(token_list *list, const char *row, const char *p, const char *end,
								 int depth);

/* Reads the value at p; the position after it, or NULL. */
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
		add_token(list, row, p + 1, stop - 1, CODE(TOKEN_VARIABLE, CLASS_ANY), false);
		symbol(list, row, stop - 1, stop);
		return stop;
	}
	stop = p;
	while (stop < end && *stop != ',' && *stop != '}' && *stop != ']' && (uint8_t) *stop > ' ')
		stop++;
	if (stop == p)
		return NULL;
	if (role == ROLE_LEVEL)
		add_token(list, row, p, stop, CODE(TOKEN_LEVEL, ls_hash_text(p, (size_t) (stop - p))),
				  false);
	else
		add_token(list, row, p, stop, ls_classify_value(p, stop), false);
	return stop;
}

/* Reads the object at p; the position after it, or NULL. */
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
	start_tokens(list, true);
	list->message = false;
	list->reason = false;
	list->no_reason = no_reason;
}

static bool
scan_json(token_list *list, const char *row, const char *end)
{
	const char *p;

	restart(list, false);
	p = object_tokens(list, row, skip_space(row, end), end, 0);
	if (p != NULL && list->message && list->reason)
	{
		restart(list, true);
		p = object_tokens(list, row, skip_space(row, end), end, 0);
	}
	return p != NULL && skip_space(p, end) == end;
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
		add_token(list, row, name, p, CODE(TOKEN_SYMBOL, ls_hash_text(name, (size_t) (p - name))),
				  true);
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
				add_token(list, row, name, p,
						  CODE(TOKEN_LEVEL, ls_hash_text(name, (size_t) (p - name))), false);
			else
				add_token(list, row, name, p, ls_classify_value(name, p), false);
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

static bool
scan_logfmt(token_list *list, const char *row, const char *end)
{
	bool done;

	restart(list, false);
	done = pairs_tokens(list, row, end);
	if (done && list->message && list->reason)
	{
		restart(list, true);
		done = pairs_tokens(list, row, end);
	}
	return done;
}

void
ls_scan_row(token_list *list, ls_str row)
{
	const char *end =
		row.len == 0 ? row.data : row.data + (row.len > MAX_ROW_BYTES ? MAX_ROW_BYTES : row.len);
	const char *p = row.data;

	while (p < end && (CLASS(p) & C_SPACE) != 0)
		p++;
	if (p < end && *p == '{' && scan_json(list, row.data, end))
		return;
	if (p < end && (CLASS(p) & (C_LETTER | C_HEX)) != 0 && scan_logfmt(list, row.data, end))
		return;
	start_tokens(list, false);
	ls_scan_text(list, row.data, row.data, end);
}
