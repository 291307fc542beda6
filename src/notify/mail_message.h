/*-------------------------------------------------------------------------
 *
 * mail_message.h
 *	  A mail as text (pure).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_MAIL_MESSAGE_H
#define LS_MAIL_MESSAGE_H

#include "src/base/pure.h"

typedef struct ls_mail_message
{
	ls_str id;        /* hexadecimal digits: Message-ID and boundary are made of it */
	ls_str from_name; /* may be empty */
	ls_str from;      /* addresses, already checked */
	ls_str to;
	ls_str subject;
	ls_str text;
	ls_str html;
	ls_time date;
} ls_mail_message;

/*
 * Parses "address" or "Name <address>", as in logsvc.smtp_from.  False if it has
 * no address that is safe in a header and in MAIL FROM.
 */
extern bool ls_mail_sender(ls_str setting, ls_str *name, ls_str *address);

/*
 * Appends the message: RFC 5322 headers and multipart/alternative, ASCII only,
 * lines that end with CRLF and have at most 78 characters, or the length of an
 * address.  False if an address or the id has a character that would break out of
 * its header.  Texts must be valid UTF-8 with lines that end with LF or CRLF; other
 * control characters become blanks.
 */
extern bool ls_mail_write(ls_buf *buf, const ls_mail_message *mail);

#endif /* LS_MAIL_MESSAGE_H */
