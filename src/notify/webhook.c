/*-------------------------------------------------------------------------
 *
 * webhook.c
 *	  Webhooks: which URLs and addresses may be called, the signature, what is
 *	  kept of an answer (pure).
 *
 * A URL is checked when somebody names it, so that the mistake is said at once.  What protects
 * the machines beside this one is ls_webhook_may_connect, which is asked about each address at
 * the time of connecting: what a name means can change in between.
 *
 *-------------------------------------------------------------------------
 */
#include "src/notify/webhook.h"

#include <inttypes.h>

#define HOST_LENGTH 253

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- the URL ---- */

static bool
take(ls_str *rest, const char *prefix)
{
	size_t len = strlen(prefix);

	if (rest->len < len ||
		!ls_str_eq_nocase(ls_str_make(rest->data, len), ls_str_make(prefix, len)))
		return false;
	*rest = ls_str_make(rest->data + len, rest->len - len);
	return true;
}

static ls_str
take_until(ls_str *rest, const char *stops)
{
	size_t len = 0;
	ls_str taken;

	while (len < rest->len && strchr(stops, rest->data[len]) == NULL)
		len++;
	taken = ls_str_make(rest->data, len);
	*rest = ls_str_make(rest->data + len, rest->len - len);
	return taken;
}

/* [2001:db8::1]: nothing but the address, so no zone. */
static bool
read_bracketed(ls_str *authority, ls_webhook_url *out)
{
	ls_str inside;

	*authority = ls_str_make(authority->data + 1, authority->len - 1);
	inside = take_until(authority, "]");
	if (!take(authority, "]"))
		return false;
	for (size_t i = 0; i < inside.len; i++)
	{
		if (strchr("0123456789abcdefABCDEF:.", inside.data[i]) == NULL)
			return false;
	}
	out->host = inside;
	out->is_address = true;
	return memchr(inside.data, ':', inside.len) != NULL && ls_address_parse(inside, &out->address);
}

/*
 * A name of letters, digits and hyphens.  Resolvers take 127.1, 0x7f000001 and 2130706433 for
 * addresses: names whose last label has no letter, or begins with 0x, are refused, unless all is
 * an address in its usual form.
 */
static bool
read_name(ls_str host, ls_webhook_url *out)
{
	size_t label = 0;
	bool has_letter = false;

	if (host.len > 0 && host.data[host.len - 1] == '.')
		host.len--;
	if (host.len == 0 || host.len > HOST_LENGTH)
		return false;
	out->host = host;
	for (size_t i = 0; i < host.len; i++)
	{
		char c = host.data[i];

		if (c == '.')
		{
			if (i == label)
				return false;
			label = i + 1;
			has_letter = false;
		}
		else if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_')
			return false;
		has_letter = has_letter || is_letter(c);
	}
	if (label == host.len)
		return false;
	if (has_letter)
		return !(host.len - label >= 2 && host.data[label] == '0' &&
				 (host.data[label + 1] == 'x' || host.data[label + 1] == 'X'));
	out->is_address = true;
	for (size_t i = 0; i < host.len; i++)
	{
		if (!is_digit(host.data[i]) && host.data[i] != '.')
			return false;
	}
	return ls_address_parse(host, &out->address);
}

static bool
read_port(ls_str text, uint32_t *port)
{
	*port = 0;
	for (size_t i = 0; i < text.len; i++)
	{
		if (!is_digit(text.data[i]) || *port > 65535)
			return false;
		*port = *port * 10 + (uint32_t) (text.data[i] - '0');
	}
	return *port >= 1 && *port <= 65535;
}

const char *
ls_webhook_url_read(ls_str url, ls_webhook_url *out)
{
	ls_str rest = url;
	ls_str authority;

	memset(out, 0, sizeof(*out));
	if (url.len > LS_WEBHOOK_URL_LENGTH)
		return "must have at most 2000 characters";
	for (size_t i = 0; i < url.len; i++)
	{
		if (url.data[i] <= ' ' || url.data[i] > '~' || strchr("\"<>\\^`{|}", url.data[i]) != NULL)
			return "must be a URL, with other characters than those of URLs percent-encoded";
	}
	if (take(&rest, "https://"))
		out->secure = true;
	else if (!take(&rest, "http://"))
		return "must begin with https://";
	authority = take_until(&rest, "/?#");
	if (memchr(rest.data, '#', rest.len) != NULL)
		return "must have no fragment (#...)";
	if (authority.len == 0)
		return "must name a host";
	if (memchr(authority.data, '@', authority.len) != NULL)
		return "must have no user name or password";
	out->port = out->secure ? 443 : 80;
	if (authority.data[0] == '[')
	{
		if (!read_bracketed(&authority, out))
			return "must name a host, or an address in its usual form";
	}
	else if (!read_name(take_until(&authority, ":"), out))
		return "must name a host, or an address in its usual form";
	if (authority.len == 0)
		return NULL;
	return take(&authority, ":") && read_port(authority, &out->port)
			   ? NULL
			   : "must have a port from 1 to 65535, or none";
}

bool
ls_webhook_may_connect(const ls_address *address, bool secure, ls_str networks)
{
	return ls_networks_contain(networks, address) || (secure && ls_address_is_public(address));
}

const char *
ls_webhook_url_check(ls_str url, ls_str networks)
{
	ls_webhook_url parts;
	const char *wrong = ls_webhook_url_read(url, &parts);

	if (wrong != NULL)
		return wrong;
	if (parts.is_address && !ls_networks_contain(networks, &parts.address) &&
		!ls_address_is_public(&parts.address))
		return "must not be a private, local or reserved address; the operator can open networks "
			   "with logsvc.webhook_networks";
	if (!parts.secure && (ls_str_trim(networks).len == 0 ||
						  (parts.is_address && !ls_networks_contain(networks, &parts.address))))
		return "must begin with https://; http:// is for networks of logsvc.webhook_networks only";
	return NULL;
}

const char *
ls_webhook_refusal(const ls_webhook_url *url)
{
	if (url->secure)
		return url->is_address
				   ? "forbidden: the address is private, local or reserved"
				   : "unreachable: the host has no address, or a private, local or reserved one";
	return url->is_address ? "forbidden: http:// is for networks of logsvc.webhook_networks only"
						   : "unreachable: the host has no address in a network of "
							 "logsvc.webhook_networks, and "
							 "http:// is for those only";
}

/* ---- the request and its answer ---- */

bool
ls_webhook_sign(ls_buf *out, ls_str secret, int64_t seconds, ls_str body)
{
	ls_buf signed_text;
	uint8_t hmac[LS_SHA256_LENGTH];
	char hex[2 * LS_SHA256_LENGTH + 1];

	ls_buf_init(&signed_text, out->arena);
	ls_buf_printf(&signed_text, "%" PRId64 ".", seconds);
	ls_buf_str(&signed_text, body);
	if (signed_text.failed ||
		!ls_hmac_sha256(secret.data, secret.len, signed_text.data, signed_text.len, hmac))
		return false;
	ls_hex(hmac, sizeof(hmac), hex);
	ls_buf_printf(out, "t=%" PRId64 ",v1=%s", seconds, hex);
	return !out->failed;
}

/* Bytes of the character at `at`, 0 when there is none. */
static size_t
character_length(const char *at, size_t left)
{
	for (size_t n = 1; n <= 4 && n <= left; n++)
	{
		if (ls_utf8_valid(at, n))
			return n;
	}
	return 0;
}

void
ls_webhook_excerpt(ls_buf *out, ls_str answer)
{
	size_t i = 0;

	while (i < answer.len && i < LS_WEBHOOK_EXCERPT)
	{
		size_t n = character_length(answer.data + i, answer.len - i);
		unsigned char c = (unsigned char) answer.data[i];

		/* Not half a character at the end. */
		if (i + n > LS_WEBHOOK_EXCERPT)
			return;
		if (n == 0)
			ls_buf_char(out, '?');
		else if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
			ls_buf_char(out, ' ');
		else
			ls_buf_append(out, answer.data + i, n);
		i += n > 0 ? n : 1;
	}
}
