/*-------------------------------------------------------------------------
 *
 * framing.c
 *	  Messages in a stream of bytes, and in the body of a request (pure).
 *
 * Syslog has two framings for TCP, and senders do not say which they use: with
 * octet counting a message begins with its length, a blank and "<", otherwise it
 * ends with a newline.  So each message is looked at for itself.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/framing.h"

/* Digits of a length. */
#define MAX_DIGITS 10

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Passes over what is left of a message that was taken; returns how much that was. */
static size_t
pass_over(ls_line_scan *scan, char separator, const char *data, size_t len)
{
	size_t used = scan->skip < len ? scan->skip : len;
	const char *end;

	scan->skip -= used;
	if (!scan->skip_line || used == len)
		return used;
	end = memchr(data + used, separator, len - used);
	if (end == NULL)
		return len;
	scan->skip_line = false;
	return (size_t) (end - data) + 1;
}

/*
 * Is there a length?  DONE: of *header bytes with the blank, MORE: perhaps, when more is
 * there, BAD: no.
 */
static ls_line_result
read_count(const char *data, size_t len, size_t *header, size_t *count)
{
	size_t n = 0;

	*count = 0;
	if (len > 0 && data[0] == '0')
		return LS_LINE_BAD;
	while (n < len && n < MAX_DIGITS && is_digit(data[n]))
		*count = *count * 10 + (size_t) (data[n++] - '0');
	if (n == 0)
		return LS_LINE_BAD;
	if (n == len || (data[n] == ' ' && n + 1 == len))
		return LS_LINE_MORE;
	*header = n + 1;
	return data[n] == ' ' && data[n + 1] == '<' ? LS_LINE_DONE : LS_LINE_BAD;
}

static void
take(const char *data, size_t len, size_t whole, ls_str *message, bool *cut)
{
	*message = ls_str_make(data, len < LS_LINE_LIMIT ? len : LS_LINE_LIMIT);
	*cut = message->len < whole;
}

static ls_line_result
take_counted(ls_line_scan *scan, const char *data, size_t len, size_t count, bool last,
			 ls_str *message, bool *cut, size_t *used)
{
	if (count > LS_LINE_COUNT_LIMIT)
		return LS_LINE_BAD;
	if (len < count && len < LS_LINE_LIMIT && !last)
		return LS_LINE_MORE;
	take(data, len < count ? len : count, count, message, cut);
	*used += message->len;
	scan->skip = count - message->len;
	return LS_LINE_DONE;
}

ls_line_result
ls_line_next(ls_line_scan *scan, char separator, const char *data, size_t len, bool last,
			 ls_str *message, bool *cut, size_t *used)
{
	size_t at = pass_over(scan, separator, data, len);
	ls_line_result counted = LS_LINE_BAD;
	size_t header = 0;
	size_t count = 0;
	const char *end;

	/* Blank lines, and newlines after messages whose length was said. */
	while (at < len && (data[at] == separator || data[at] == '\n' || data[at] == '\r'))
		at++;
	*used = at;
	if (at == len)
		return LS_LINE_MORE;
	data += at;
	len -= at;
	if (separator == '\n')
		counted = read_count(data, len, &header, &count);
	if (counted == LS_LINE_MORE && !last)
		return LS_LINE_MORE;
	if (counted == LS_LINE_DONE)
	{
		*used += header;
		counted = take_counted(scan, data + header, len - header, count, last, message, cut, used);
		if (counted == LS_LINE_MORE)
			*used = at;
		return counted;
	}
	end = memchr(data, separator, len);
	if (end == NULL && len < LS_LINE_LIMIT && !last)
		return LS_LINE_MORE;
	if (end != NULL)
		len = (size_t) (end - data);
	take(data, len, len, message, cut);
	*used += message->len;
	if (end != NULL && !*cut)
		*used += 1;
	else if (*cut || !last)
	{
		*cut = true;
		scan->skip_line = true;
	}
	while (message->len > 0 && message->data[message->len - 1] == '\r')
		message->len--;
	return LS_LINE_DONE;
}

/* ---- bodies ---- */

void
ls_line_write(char *to, const ls_line *line)
{
	uint32_t len = (uint32_t) line->text.len;

	to[0] = (char) line->cut;
	to[1] = (char) line->peer.len;
	memcpy(to + 2, &len, sizeof(len));
	if (line->peer.len > 0)
		memcpy(to + LS_LINE_HEAD, line->peer.data, line->peer.len);
	if (len > 0)
		memcpy(to + LS_LINE_HEAD + line->peer.len, line->text.data, len);
}

bool
ls_line_read(ls_str *body, ls_line *line)
{
	uint32_t len;
	size_t peer;

	if (body->len < LS_LINE_HEAD)
		return false;
	memcpy(&len, body->data + 2, sizeof(len));
	peer = (unsigned char) body->data[1];
	if (body->len - LS_LINE_HEAD < peer || body->len - LS_LINE_HEAD - peer < len)
		return false;
	line->cut = body->data[0] != 0;
	line->peer = ls_str_make(body->data + LS_LINE_HEAD, peer);
	line->text = ls_str_make(body->data + LS_LINE_HEAD + peer, len);
	*body =
		ls_str_make(body->data + LS_LINE_HEAD + peer + len, body->len - LS_LINE_HEAD - peer - len);
	return true;
}
