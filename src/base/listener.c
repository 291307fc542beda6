/*-------------------------------------------------------------------------
 *
 * listener.c
 *	  The entries of logsvc.syslog_listeners (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/listener.h"

#define MAX_NAME 64

static ls_str
take_until(ls_str *rest, char stop)
{
	const char *at = rest->len > 0 ? memchr(rest->data, stop, rest->len) : NULL;
	size_t len = at != NULL ? (size_t) (at - rest->data) : rest->len;
	ls_str taken = ls_str_make(rest->data, len);

	len += at != NULL;
	*rest = ls_str_make(rest->data + len, rest->len - len);
	return taken;
}

static bool
is_name(ls_str name)
{
	for (size_t i = 0; i < name.len; i++)
	{
		char c = name.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			  c == '-' || c == '_' || c == '.'))
			return false;
	}
	return name.len > 0 && name.len <= MAX_NAME;
}

static bool
read_kind(ls_str text, ls_listener_kind *kind)
{
	static const char *const names[] = {"tcp", "tls", "udp", "gelf"};

	for (int i = 0; i < 4; i++)
	{
		if (ls_str_eq(text, ls_str_make(names[i], strlen(names[i]))))
		{
			*kind = (ls_listener_kind) i;
			return true;
		}
	}
	return false;
}

static bool
read_port(ls_str text, int *port)
{
	*port = 0;
	for (size_t i = 0; i < text.len; i++)
	{
		if (text.data[i] < '0' || text.data[i] > '9' || *port > 65535)
			return false;
		*port = *port * 10 + (text.data[i] - '0');
	}
	return *port > 0 && *port <= 65535;
}

/* "5514", "10.0.0.5:5514", "[::1]:5514", "*:5514" */
static bool
read_place(ls_str text, ls_listener_entry *entry)
{
	size_t colon = text.len;

	entry->address = LS_STR("");
	while (colon > 0 && text.data[colon - 1] != ':')
		colon--;
	if (colon > 0)
	{
		entry->address = ls_str_make(text.data, colon - 1);
		if (entry->address.len > 2 && entry->address.data[0] == '[' &&
			entry->address.data[entry->address.len - 1] == ']')
			entry->address = ls_str_make(entry->address.data + 1, entry->address.len - 2);
		else if (entry->address.len == 0 ||
				 memchr(entry->address.data, ':', entry->address.len) != NULL)
			return false;
		for (size_t i = 0; i < entry->address.len; i++)
		{
			char c = entry->address.data[i];

			if (c <= ' ' || c >= 0x7f || c == '[' || c == ']')
				return false;
		}
		if (entry->address.len > 255)
			return false;
	}
	return read_port(ls_str_make(text.data + colon, text.len - colon), &entry->port);
}

bool
ls_listener_next(ls_str *list, ls_listener_entry *entry, const char **error)
{
	ls_str text = LS_STR("");
	ls_str kind, place;
	bool has_index;

	*error = NULL;
	while (list->len > 0 && text.len == 0)
		text = ls_str_trim(take_until(list, ','));
	if (text.len == 0)
		return false;
	entry->name = ls_str_trim(take_until(&text, '='));
	place = entry->name;
	kind = take_until(&place, ':');
	has_index = text.len > 0 && memchr(text.data, '/', text.len) != NULL;
	text = ls_str_trim(text);
	entry->organization = take_until(&text, '/');
	entry->index = text;
	if (!read_kind(kind, &entry->kind))
		*error = "An entry begins with tcp:, tls:, udp: or gelf:.";
	else if (!read_place(place, entry))
		*error = "After tcp:, tls:, udp: or gelf: comes a port, or an address and a port as in "
				 "10.0.0.5:5514 or [::1]:5514.";
	else if (!is_name(entry->organization))
		*error = "After the port comes = and the organization's slug or id.";
	else if (has_index && (!is_name(entry->index) || entry->index.data[0] == '_'))
		*error = "After the organization may come / and the name of an index.";
	return *error == NULL;
}
