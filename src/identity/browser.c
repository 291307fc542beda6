/*-------------------------------------------------------------------------
 *
 * browser.c
 *	  What browsers send with a session: cookies and origins (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/identity/browser.h"

#include <string.h>

/* Cuts the part before the next separator off *rest; false at the end. */
static bool
next_part(ls_str *rest, char separator, ls_str *part)
{
	const char *end;

	if (rest->data == NULL)
		return false;
	end = rest->len == 0 ? NULL : memchr(rest->data, separator, rest->len);
	if (end == NULL)
	{
		*part = ls_str_trim(*rest);
		*rest = ls_str_make(NULL, 0);
	}
	else
	{
		size_t len = (size_t) (end - rest->data);

		*part = ls_str_trim(ls_str_make(rest->data, len));
		*rest = ls_str_make(end + 1, rest->len - len - 1);
	}
	return true;
}

/* Cuts what is before the separator off, or returns false and leaves it. */
static bool
cut(ls_str *s, char separator, ls_str *before)
{
	const char *at = s->len == 0 ? NULL : memchr(s->data, separator, s->len);

	if (at == NULL)
		return false;
	*before = ls_str_make(s->data, (size_t) (at - s->data));
	*s = ls_str_make(at + 1, s->len - before->len - 1);
	return true;
}

static bool
printable(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
	{
		unsigned char c = (unsigned char) s.data[i];

		if (c <= ' ' || c >= 0x7f || c == '"' || c == ',' || c == ';' || c == '\\')
			return false;
	}
	return s.len > 0;
}

bool
ls_cookie_find(ls_str header, ls_str name, ls_str *value)
{
	ls_str pair;
	bool found = false;

	while (next_part(&header, ';', &pair))
	{
		ls_str key;
		ls_str content = pair;

		if (!cut(&content, '=', &key) || !ls_str_eq(ls_str_trim(key), name))
			continue;
		content = ls_str_trim(content);
		if (content.len >= 2 && content.data[0] == '"' && content.data[content.len - 1] == '"')
			content = ls_str_make(content.data + 1, content.len - 2);
		if (!printable(content) || (found && !ls_str_eq(content, *value)))
			return false;
		*value = content;
		found = true;
	}
	return found;
}

/* ---- origins ---- */

typedef struct origin
{
	ls_str scheme;
	ls_str host;
	ls_str port;
} origin;

/* scheme://host[:port], for URLs with anything after it. */
static bool
parse_origin(ls_str s, bool url, origin *out)
{
	size_t end = 0;
	size_t colon = 0;

	if (!cut(&s, ':', &out->scheme) || s.len < 3 || s.data[0] != '/' || s.data[1] != '/')
		return false;
	s = ls_str_make(s.data + 2, s.len - 2);
	while (end < s.len && s.data[end] != '/' && s.data[end] != '?' && s.data[end] != '#')
		end++;
	if (end < s.len && !url)
		return false;
	s.len = end;
	if (!printable(s) || memchr(s.data, '@', s.len) != NULL)
		return false;

	/* The port is after the last colon, but not inside of [::1]. */
	for (colon = s.len; colon > 0 && s.data[colon - 1] != ':' && s.data[colon - 1] != ']'; colon--)
		;
	if (colon > 0 && s.data[colon - 1] == ':')
	{
		out->host = ls_str_make(s.data, colon - 1);
		out->port = ls_str_make(s.data + colon, s.len - colon);
	}
	else
	{
		out->host = s;
		out->port = ls_str_make(NULL, 0);
	}
	if (out->host.len == 0)
		return false;
	if (out->port.len == 0)
	{
		if (ls_str_eq_nocase(out->scheme, LS_STR("http")))
			out->port = LS_STR("80");
		else if (ls_str_eq_nocase(out->scheme, LS_STR("https")))
			out->port = LS_STR("443");
		else
			return false;
	}
	return true;
}

static bool
in_list(ls_str text, bool is_url, ls_str urls)
{
	origin asked;
	origin allowed;
	ls_str url;

	if (!parse_origin(text, is_url, &asked))
		return false;
	while (next_part(&urls, ',', &url))
	{
		if (parse_origin(url, true, &allowed) && ls_str_eq_nocase(asked.scheme, allowed.scheme) &&
			ls_str_eq_nocase(asked.host, allowed.host) && ls_str_eq(asked.port, allowed.port))
			return true;
	}
	return false;
}

bool
ls_origin_in_list(ls_str origin, ls_str urls)
{
	return in_list(origin, false, urls);
}

/* Nothing that one reader takes for the end of a host and another one does not. */
static bool
plain_url(ls_str url)
{
	for (size_t i = 0; i < url.len; i++)
	{
		unsigned char c = (unsigned char) url.data[i];

		if (c <= ' ' || c >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>')
			return false;
	}
	return true;
}

bool
ls_url_in_list(ls_str url, ls_str urls)
{
	return plain_url(url) && in_list(url, true, urls);
}

bool
ls_url_callable(ls_str url, bool *local)
{
	origin o;

	if (!plain_url(url) || !parse_origin(url, true, &o))
		return false;
	*local = ls_str_eq_nocase(o.host, LS_STR("localhost")) || ls_str_eq(o.host, LS_STR("[::1]")) ||
			 ls_str_eq(o.host, LS_STR("127.0.0.1"));
	return ls_str_eq_nocase(o.scheme, LS_STR("https")) ||
		   (ls_str_eq_nocase(o.scheme, LS_STR("http")) && *local);
}
