/* mail_test.c: mails as text: headers that nothing breaks out of, quoted-printable. */
#include "test/unit/tap.h"

#include <stdlib.h>

#include "src/notify/mail_message.h"

static ls_arena *arena;

static ls_str
s(const char *text)
{
	return ls_str_make(text, strlen(text));
}

static const char *
write_mail(const char *name, const char *from, const char *to, const char *subject,
		   const char *text)
{
	ls_mail_message mail = {.id = LS_STR("0123456789abcdef"), .from_name = s(name), .from = s(from),
		.to = s(to), .subject = s(subject), .text = s(text), .html = LS_STR("<p>x</p>\n"),
		.date = INT64_C(1767323045) * LS_USECS_PER_SEC};
	ls_buf buf;

	ls_buf_init(&buf, arena);
	if (!ls_mail_write(&buf, &mail))
		return NULL;
	ls_buf_char(&buf, '\0');
	return buf.data;
}

static void
has(const char *mail, const char *part, const char *name)
{
	ok(mail != NULL && strstr(mail, part) != NULL, name);
}

static void
check_sender(const char *setting, const char *name, const char *address)
{
	ls_str got_name;
	ls_str got_address;
	bool good = ls_mail_sender(s(setting), &got_name, &got_address);

	ok(address == NULL ? !good
					   : good && ls_str_eq(got_name, s(name)) && ls_str_eq(got_address, s(address)),
	   setting);
}

/* Every line ends with CRLF, is short and ASCII; no header but those that belong. */
static bool
well_formed(const char *mail)
{
	const char *line = mail;
	int headers = 0;
	bool in_header = true;

	while (mail != NULL && *line != '\0')
	{
		const char *end = strstr(line, "\r\n");

		if (end == NULL || end - line > 78)
			return false;
		for (const char *c = line; c < end; c++)
		{
			if (*c < ' ' || *c > '~')
				return false;
		}
		if (end == line)
			in_header = false;
		else if (in_header && *line != ' ')
			headers++;
		line = end + 2;
	}
	return mail != NULL && headers == 8;
}

int
main(void)
{
	const char *mail;
	char text[2000];

	arena = ls_arena_create(NULL, (size_t) 64 << 20);

	check_sender("a@b.test", "", "a@b.test");
	check_sender(" Logs <a@b.test> ", "Logs", "a@b.test");
	check_sender("\"Logs, Inc\" <a@b.test>", "Logs, Inc", "a@b.test");
	check_sender("<a@b.test>", "", "a@b.test");
	check_sender("", NULL, NULL);
	check_sender("Logs", NULL, NULL);
	check_sender("Logs <>", NULL, NULL);
	check_sender("<", NULL, NULL);
	check_sender(">", NULL, NULL);
	check_sender("a@b.test>", NULL, NULL);
	check_sender("a@b@c", NULL, NULL);
	check_sender("Logs <a@b.test\r\nBcc: c@d.test>", NULL, NULL);

	mail = write_mail("", "logs@b.test", "ann@c.test", "Hello", "One line.\n");
	ok(well_formed(mail), "a mail");
	has(mail, "Date: Fri, 02 Jan 2026 03:04:05 +0000\r\n", "date");
	has(mail,
		"From: <logs@b.test>\r\nTo: <ann@c.test>\r\nMessage-ID: <0123456789abcdef@b.test>\r\n",
		"addresses");
	has(mail, "Subject: Hello\r\n", "a plain subject");
	has(mail, "\r\n\r\nOne line.\r\n\r\n--=_0123456789abcdef\r\nContent-Type: text/html",
		"the text");
	has(mail, "<p>x</p>\r\n\r\n--=_0123456789abcdef--\r\n", "the HTML and the end");

	mail =
		write_mail("L\xc3\xb6gs", "logs@b.test", "ann@c.test", "a\r\nBcc: eve@d.test\r\n\r\nx", "");
	ok(well_formed(mail), "line breaks in a subject");
	has(mail, "From: =?utf-8?B?TMO2Z3M=?=\r\n <logs@b.test>\r\n", "a name that is not ASCII");
	mail = write_mail("x", "logs@b.test", "ann@c.test", "=?utf-8?B?TMO2Z3M=?=", "");
	ok(well_formed(mail) && strstr(mail, "Subject: =?utf-8?B?PT91dGY") != NULL,
	   "a subject that is an encoded word");
	memset(text, 'x', 500);
	strcpy(text + 500, "\xc3\xa4");
	mail = write_mail("x", "logs@b.test", "ann@c.test", text, text);
	ok(well_formed(mail), "a long subject and a long line");
	has(mail, "x=\r\n", "a soft line break");
	has(mail, "=C3=A4", "an escape");
	mail = write_mail("x", "logs@b.test", "ann@c.test", "x",
					  ".\n--=_0123456789abcdef--\na \t\nb= \r\nc\rd\x01");
	ok(well_formed(mail), "a text that wants to end the mail");
	has(mail, "\r\n.\r\n--=3D_0123456789abcdef--\r\na =20\r\nb=3D=20\r\nc d=20\r\n",
		"and how it is written");

	/* Lines of every length around the limit, of every kind of character. */
	for (int n = 60; n < 90; n++)
	{
		memset(text, n % 2 ? 'x' : '=', (size_t) n);
		text[n] = '\0';
		if (!well_formed(write_mail("x", "a@b.test", "c@d.test", text, text)))
			ok(false, text);
	}

	ok(write_mail("x", "a@b.test\r\n", "c@d.test", "x", "x") == NULL, "a line break in the sender");
	ok(write_mail("x", "a@b.test", "c@d.test>\r\nBcc: <e@f.test", "x", "x") == NULL,
	   "in the recipient");
	ok(write_mail("x", "a@b.test", "", "x", "x") == NULL, "no recipient");

	ls_arena_destroy(arena);
	return done_testing();
}
