/*-------------------------------------------------------------------------
 *
 * mail_message.c
 *	  A mail as text: headers, encoded words, quoted-printable (pure).
 *
 * Whatever the subject or a name holds, it cannot end a header: what is not
 * plain ASCII travels in encoded words (RFC 2047), which have no line breaks
 * but our own.
 *
 *-------------------------------------------------------------------------
 */
#include "src/notify/mail_message.h"

#define LINE_LIMIT 76         /* of quoted-printable */
#define ENCODED_WORD_BYTES 42 /* UTF-8 in one encoded word: 56 characters of base64 */

static bool
is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

/* May this stand as an address in a header? */
static bool
is_address(ls_str s)
{
	const char *at = s.len == 0 ? NULL : memchr(s.data, '@', s.len);

	if (at == NULL || at == s.data || at == s.data + s.len - 1 || s.len > 254)
		return false;
	for (size_t i = 0; i < s.len; i++)
	{
		if (!is_printable(s.data[i]) || strchr(" <>()[],;:\\\"", s.data[i]) != NULL)
			return false;
	}
	return memchr(at + 1, '@', s.len - (size_t) (at + 1 - s.data)) == NULL;
}

bool
ls_mail_sender(ls_str setting, ls_str *name, ls_str *address)
{
	const char *open;

	setting = ls_str_trim(setting);
	*name = ls_str_make("", 0);
	*address = setting;
	open = setting.len == 0 ? NULL : memchr(setting.data, '<', setting.len);
	if (open != NULL && setting.data[setting.len - 1] == '>')
	{
		*name = ls_str_trim(ls_str_make(setting.data, (size_t) (open - setting.data)));
		*address = ls_str_make(open + 1, (size_t) (setting.data + setting.len - open) - 2);
		if (name->len >= 2 && name->data[0] == '"' && name->data[name->len - 1] == '"')
			*name = ls_str_make(name->data + 1, name->len - 2);
	}
	return is_address(*address) && ls_utf8_valid(name->data, name->len);
}

/* ---- headers ---- */

/*
 * A text of a header: as it is when it is short and plain, else in encoded words of whole
 * characters, one a line.  special: what has a meaning there.
 */
static void
write_text(ls_buf *buf, ls_str s, size_t column, const char *special)
{
	bool plain = column + s.len <= 78;

	for (size_t i = 0; plain && i < s.len; i++)
		plain = is_printable(s.data[i]) && strchr(special, s.data[i]) == NULL;
	if (plain)
	{
		ls_buf_str(buf, s);
		return;
	}
	while (s.len > 0)
	{
		char word[ENCODED_WORD_BYTES];
		size_t len = ls_utf8_prefix_bytes(s.data, s.len, ENCODED_WORD_BYTES);

		for (size_t i = 0; i < len; i++)
			word[i] = (unsigned char) s.data[i] < ' ' || s.data[i] == 0x7f ? ' ' : s.data[i];
		ls_buf_lit(buf, "=?utf-8?B?");
		ls_base64(buf, word, len);
		ls_buf_lit(buf, "?=");
		s = ls_str_make(s.data + len, s.len - len);
		if (s.len > 0)
			ls_buf_lit(buf, "\r\n ");
	}
}

static void
write_address(ls_buf *buf, const char *header, ls_str name, ls_str address)
{
	ls_buf_append(buf, header, strlen(header));
	ls_buf_lit(buf, ": ");
	if (name.len > 0)
	{
		write_text(buf, name, strlen(header) + 2, "\"\\()<>@,;:[].=?_");
		ls_buf_lit(buf, "\r\n ");
	}
	ls_buf_char(buf, '<');
	ls_buf_str(buf, address);
	ls_buf_lit(buf, ">\r\n");
}

static void
write_date(ls_buf *buf, ls_time time)
{
	static const char *const days[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
	static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
										 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	char iso[LS_TIME_ISO_LENGTH + 1];
	int64_t day = time / LS_USECS_PER_DAY - (time % LS_USECS_PER_DAY < 0);
	int month;

	/* 2026-01-02T03:04:05... */
	ls_time_format_iso(time, iso);
	month = (iso[5] - '0') * 10 + iso[6] - '0';
	ls_buf_printf(buf, "Date: %s, %.2s %s %.4s %.8s +0000\r\n", days[(day % 7 + 7) % 7], iso + 8,
				  months[month - 1], iso, iso + 11);
}

/* ---- bodies ---- */

static void
quoted_printable(ls_buf *buf, ls_str s)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t column = 0;

	for (size_t i = 0; i < s.len; i++)
	{
		unsigned char c = (unsigned char) s.data[i];
		bool last = i + 1 == s.len || s.data[i + 1] == '\n' ||
					(s.data[i + 1] == '\r' && i + 2 < s.len && s.data[i + 2] == '\n');
		bool plain;

		if (c == '\r' && i + 1 < s.len && s.data[i + 1] == '\n')
			continue;
		if (c == '\n')
		{
			ls_buf_lit(buf, "\r\n");
			column = 0;
			continue;
		}
		if (c < ' ' || c == 0x7f)
			c = ' ';
		plain = is_printable((char) c) && c != '=' && !(c == ' ' && last);
		/* A soft line break leaves room for itself, and never cuts an escape. */
		if (column + (plain ? 1 : 3) > LINE_LIMIT - 1)
		{
			ls_buf_lit(buf, "=\r\n");
			column = 0;
		}
		if (plain)
			ls_buf_char(buf, (char) c);
		else
		{
			ls_buf_char(buf, '=');
			ls_buf_char(buf, digits[c >> 4]);
			ls_buf_char(buf, digits[c & 15]);
		}
		column += plain ? 1 : 3;
	}
	if (column > 0)
		ls_buf_lit(buf, "\r\n");
}

static void
write_part(ls_buf *buf, ls_str id, const char *type, ls_str content)
{
	/* "=_" is nothing that quoted-printable can hold. */
	ls_buf_printf(buf, "--=_%.*s\r\nContent-Type: %s; charset=utf-8\r\n", (int) id.len, id.data,
				  type);
	ls_buf_lit(buf, "Content-Transfer-Encoding: quoted-printable\r\n\r\n");
	quoted_printable(buf, content);
	ls_buf_lit(buf, "\r\n");
}

bool
ls_mail_write(ls_buf *buf, const ls_mail_message *mail)
{
	const char *domain;
	ls_str host;

	if (!is_address(mail->from) || !is_address(mail->to) || mail->id.len == 0 || mail->id.len > 64)
		return false;
	for (size_t i = 0; i < mail->id.len; i++)
	{
		if (memchr("0123456789abcdef", mail->id.data[i], 16) == NULL)
			return false;
	}
	domain = (const char *) memchr(mail->from.data, '@', mail->from.len) + 1;
	host = ls_str_make(domain, (size_t) (mail->from.data + mail->from.len - domain));

	write_date(buf, mail->date);
	write_address(buf, "From", mail->from_name, mail->from);
	write_address(buf, "To", ls_str_make("", 0), mail->to);
	ls_buf_printf(buf, "Message-ID: <%.*s@%.*s>\r\n", (int) mail->id.len, mail->id.data,
				  (int) host.len, host.data);
	ls_buf_lit(buf, "Subject: ");
	write_text(buf, mail->subject, strlen("Subject: "), "=");
	ls_buf_lit(buf, "\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n");
	ls_buf_printf(buf, "Content-Type: multipart/alternative;\r\n boundary=\"=_%.*s\"\r\n\r\n",
				  (int) mail->id.len, mail->id.data);
	write_part(buf, mail->id, "text/plain", mail->text);
	write_part(buf, mail->id, "text/html", mail->html);
	ls_buf_printf(buf, "--=_%.*s--\r\n", (int) mail->id.len, mail->id.data);
	return !buf->failed;
}
