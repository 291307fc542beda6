/*-------------------------------------------------------------------------
 *
 * smtp.c
 *	  The mail server: settings, and what its answers mean.
 *
 *-------------------------------------------------------------------------
 */
#include "src/notify/mail.h"

#include "src/notify/mail_message.h"

bool
ls_smtp_configured(void)
{
	return ls_is_set(ls_smtp_url);
}

static bool
is_loopback(const char *url)
{
	const char *host = strstr(url, "://");
	size_t len;

	host = host == NULL ? url : host + 3;
	if (host[0] == '[')
		return strncmp(host, "[::1]", 5) == 0;
	len = strcspn(host, ":/");
	return (len == 9 && pg_strncasecmp(host, "localhost", 9) == 0) ||
		   (len >= 7 && strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == len);
}

/* A line, whatever ends the file. */
static ls_str
first_line(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
	{
		if (s.data[i] == '\n' || s.data[i] == '\r')
			return ls_str_make(s.data, i);
	}
	return s;
}

const char *
ls_smtp_settings(ls_arena *arena, ls_smtp *smtp)
{
	bool tls = pg_strncasecmp(ls_smtp_url, "smtps://", 8) == 0;
	bool loopback = is_loopback(ls_smtp_url);
	ls_str content;

	memset(smtp, 0, sizeof(*smtp));
	if (!tls && pg_strncasecmp(ls_smtp_url, "smtp://", 7) != 0)
		return "logsvc.smtp_url must begin with smtp:// or smtps://";
	smtp->url = ls_arena_strdup(arena, ls_str_of_cstring(ls_smtp_url));
	if (!ls_is_set(ls_smtp_from))
		return "logsvc.smtp_from is not set";
	if (!ls_mail_sender(ls_arena_strdup(arena, ls_str_of_cstring(ls_smtp_from)), &smtp->from_name,
						&smtp->from))
		return "logsvc.smtp_from holds no address; expected address or Name <address>";

	smtp->starttls = LS_CURL_STARTTLS_REQUIRED;
	if (ls_smtp_tls == LS_SMTP_TLS_NEVER)
		smtp->starttls = LS_CURL_STARTTLS_NEVER;
	else if (ls_smtp_tls == LS_SMTP_TLS_AUTO && loopback)
		smtp->starttls = LS_CURL_STARTTLS_OFFERED;
	if (!ls_is_set(ls_smtp_user))
		return ls_is_set(ls_smtp_password_file)
				   ? "logsvc.smtp_password_file is set and logsvc.smtp_user is not"
				   : NULL;

	if (!tls && !loopback && smtp->starttls != LS_CURL_STARTTLS_REQUIRED)
		return "a password is sent over TLS only; set logsvc.smtp_tls to required";
	if (!ls_is_set(ls_smtp_password_file))
		return "logsvc.smtp_user is set and logsvc.smtp_password_file is not";
	smtp->user = ls_arena_strdup(arena, ls_str_of_cstring(ls_smtp_user));
	switch (ls_read_secret_file(ls_smtp_password_file, arena, &content))
	{
		case LS_SECRET_FILE_MISSING:
			return "the file of logsvc.smtp_password_file cannot be opened";
		case LS_SECRET_FILE_EXPOSED:
			return "the file of logsvc.smtp_password_file can be read by others; give it mode 0600";
		case LS_SECRET_FILE_UNREADABLE:
			return "the file of logsvc.smtp_password_file cannot be read, or is too large";
		case LS_SECRET_FILE_OK:
			break;
	}
	smtp->password = first_line(content);
	return smtp->password.len > 0 ? NULL : "the file of logsvc.smtp_password_file is empty";
}

bool
ls_smtp_is_permanent(const ls_curl_reply *reply)
{
	/* Not what is wrong with us or our settings: 530 to 538 are about the login and TLS. */
	return reply->outcome == LS_CURL_REFUSED && reply->status >= 500 &&
		   !(reply->status >= 530 && reply->status <= 538);
}
