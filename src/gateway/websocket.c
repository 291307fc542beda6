/*-------------------------------------------------------------------------
 *
 * websocket.c
 *	  Handshake and frames of a WebSocket, RFC 6455 (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/websocket.h"

/* ---- the handshake ---- */

/* Is the token in a list that has commas between its elements? */
static bool
lists(ls_str value, ls_str token)
{
	while (value.len > 0)
	{
		const char *comma = memchr(value.data, ',', value.len);
		size_t len = comma == NULL ? value.len : (size_t) (comma - value.data);

		if (ls_str_eq_nocase(ls_str_trim(ls_str_make(value.data, len)), token))
			return true;
		value = comma == NULL ? LS_STR("") : ls_str_make(comma + 1, value.len - len - 1);
	}
	return false;
}

void
ls_websocket_field(ls_websocket_offer *offer, ls_str name, ls_str value)
{
	if (ls_str_eq_nocase(name, LS_STR("Upgrade")))
		offer->upgrade = offer->upgrade || lists(value, LS_STR("websocket"));
	else if (ls_str_eq_nocase(name, LS_STR("Connection")))
		offer->connection = offer->connection || lists(value, LS_STR("upgrade"));
	else if (ls_str_eq_nocase(name, LS_STR("Sec-WebSocket-Version")))
	{
		offer->versions++;
		offer->version = ls_str_eq(value, LS_STR("13"));
	}
	else if (ls_str_eq_nocase(name, LS_STR("Sec-WebSocket-Key")))
	{
		offer->keys++;
		offer->key = value;
	}
}

int
ls_websocket_judge(const ls_websocket_offer *offer, const char **problem)
{
	uint8_t nonce[16];
	size_t len;

	*problem = NULL;
	if (!offer->connection)
		*problem = "Upgrade: websocket without Connection: Upgrade";
	else if (offer->versions != 1 || !offer->version)
	{
		*problem = "Sec-WebSocket-Version must be 13";
		return 426;
	}
	else if (offer->keys != 1 || offer->key.len != 24 ||
			 !ls_base64_decode(offer->key, nonce, sizeof(nonce), &len) || len != sizeof(nonce))
		*problem = "Sec-WebSocket-Key must be 16 bytes in base64";
	return *problem != NULL ? 400 : 0;
}

void
ls_websocket_accept(ls_str key, char out[LS_WEBSOCKET_ACCEPT_LENGTH])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[24 + sizeof(guid)];
	uint8_t hash[LS_SHA1_LENGTH + 1];
	size_t len = key.len < 24 ? key.len : 24;

	memcpy(text, key.data, len);
	memcpy(text + len, guid, sizeof(guid) - 1);
	ls_sha1(text, len + sizeof(guid) - 1, hash);
	hash[LS_SHA1_LENGTH] = 0;
	for (int i = 0; i < LS_WEBSOCKET_ACCEPT_LENGTH / 4; i++)
	{
		const uint8_t *p = hash + i * 3;

		out[i * 4] = digits[p[0] >> 2];
		out[i * 4 + 1] = digits[(p[0] & 3) << 4 | p[1] >> 4];
		out[i * 4 + 2] = digits[(p[1] & 15) << 2 | p[2] >> 6];
		out[i * 4 + 3] = digits[p[2] & 63];
	}
	out[LS_WEBSOCKET_ACCEPT_LENGTH - 1] = '=';
}

/* ---- frames of clients ---- */

static bool
is_control(unsigned opcode)
{
	return opcode >= LS_WEBSOCKET_CLOSE;
}

/* Are the first two bytes of a frame such that the rest may be read?  0, or the code to close with. */
static unsigned
judge_head(const ls_websocket_reader *r)
{
	unsigned opcode = r->head[0] & 15;
	bool last = (r->head[0] & 0x80) != 0;

	if ((r->head[0] & 0x70) != 0) /* of extensions */
		return LS_WEBSOCKET_PROTOCOL;
	if ((r->head[1] & 0x80) == 0) /* clients mask */
		return LS_WEBSOCKET_PROTOCOL;
	if (is_control(opcode))
		return opcode > LS_WEBSOCKET_PONG || !last || (r->head[1] & 0x7f) > LS_WEBSOCKET_CONTROL
				   ? LS_WEBSOCKET_PROTOCOL
				   : 0;
	return opcode > LS_WEBSOCKET_BINARY ||
				   (opcode == LS_WEBSOCKET_CONTINUATION) != (r->message_opcode != 0)
			   ? LS_WEBSOCKET_PROTOCOL
			   : 0;
}

/* Bytes between the first two and the mask. */
static unsigned
length_size(const ls_websocket_reader *r)
{
	unsigned len = r->head[1] & 0x7f;

	return len == 126 ? 2 : len == 127 ? 8 : 0;
}

/* The head is complete.  0, or the code to close with. */
static unsigned
begin_payload(ls_websocket_reader *r)
{
	unsigned size = length_size(r);
	unsigned opcode = r->head[0] & 15;
	uint64_t len = size == 0 ? r->head[1] & 0x7fu : 0;

	for (unsigned i = 0; i < size; i++)
		len = len << 8 | r->head[2 + i];
	/* The shortest form must be used, and the highest bit is none of the length. */
	if ((size == 2 && len < 126) || (size == 8 && (len <= UINT16_MAX || len >> 63 != 0)))
		return LS_WEBSOCKET_PROTOCOL;
	if (!is_control(opcode) && len > LS_WEBSOCKET_MESSAGE - r->message_len)
		return LS_WEBSOCKET_TOO_BIG;
	memcpy(r->mask, r->head + 2 + size, sizeof(r->mask));
	if (is_control(opcode))
		r->control_len = 0;
	else if (opcode != LS_WEBSOCKET_CONTINUATION)
		r->message_opcode = (uint8_t) opcode;
	r->left = len;
	r->at = 0;
	r->in_payload = true;
	return 0;
}

static size_t
take_payload(ls_websocket_reader *r, const uint8_t *data, size_t len)
{
	bool control = is_control(r->head[0] & 15);
	uint8_t *to = control ? r->control + r->control_len : r->message + r->message_len;
	size_t n = r->left < len ? (size_t) r->left : len;

	for (size_t i = 0; i < n; i++)
		to[i] = data[i] ^ r->mask[r->at++ & 3];
	r->left -= n;
	if (control)
		r->control_len += n;
	else
		r->message_len += n;
	return n;
}

/* Those that a client may send (RFC 6455, 7.4, and the registry of IANA). */
static bool
is_code(unsigned code)
{
	return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
		   (code >= 3000 && code <= 4999);
}

static ls_websocket_event
closed(const ls_websocket_reader *r, unsigned *code)
{
	*code = LS_WEBSOCKET_NO_CODE;
	if (r->control_len == 0)
		return LS_WEBSOCKET_CLOSED;
	*code = r->control_len == 1 ? 0 : (unsigned) r->control[0] << 8 | r->control[1];
	if (is_code(*code))
	{
		if (ls_utf8_valid((const char *) r->control + 2, r->control_len - 2))
			return LS_WEBSOCKET_CLOSED;
		*code = LS_WEBSOCKET_NOT_UTF8;
	}
	else
		*code = LS_WEBSOCKET_PROTOCOL;
	return LS_WEBSOCKET_BAD;
}

static ls_websocket_event
end_frame(ls_websocket_reader *r, unsigned *code)
{
	unsigned opcode = r->head[0] & 15;
	bool last = (r->head[0] & 0x80) != 0;
	bool text = r->message_opcode == LS_WEBSOCKET_TEXT;

	r->in_payload = false;
	r->head_len = 0;
	if (opcode == LS_WEBSOCKET_CLOSE)
		return closed(r, code);
	if (opcode == LS_WEBSOCKET_PING)
		return LS_WEBSOCKET_PINGED;
	if (opcode == LS_WEBSOCKET_PONG)
		return LS_WEBSOCKET_PONGED;
	if (!last)
		return LS_WEBSOCKET_MORE;
	r->complete = true;
	if (text && !ls_utf8_valid((const char *) r->message, r->message_len))
	{
		*code = LS_WEBSOCKET_NOT_UTF8;
		return LS_WEBSOCKET_BAD;
	}
	return LS_WEBSOCKET_MESSAGED;
}

/* The message before has been seen. */
static void
begin_frame(ls_websocket_reader *r)
{
	if (!r->complete)
		return;
	r->complete = false;
	r->message_opcode = 0;
	r->message_len = 0;
}

ls_websocket_event
ls_websocket_read(ls_websocket_reader *r, const void *data, size_t len, size_t *used,
				  unsigned *code)
{
	const uint8_t *p = data;
	size_t at = 0;

	while (at < len)
	{
		ls_websocket_event event;

		begin_frame(r);
		if (r->in_payload)
			at += take_payload(r, p + at, len - at);
		else
		{
			r->head[r->head_len++] = p[at++];
			*code = r->head_len == 2 ? judge_head(r) : 0;
			if (*code == 0 && r->head_len >= 2 && r->head_len == 2 + length_size(r) + 4)
				*code = begin_payload(r);
			if (*code != 0)
			{
				*used = at;
				return LS_WEBSOCKET_BAD;
			}
		}
		if (!r->in_payload || r->left > 0)
			continue;
		event = end_frame(r, code);
		if (event != LS_WEBSOCKET_MORE)
		{
			*used = at;
			return event;
		}
	}
	*used = at;
	return LS_WEBSOCKET_MORE;
}

/* ---- frames of the server ---- */

size_t
ls_websocket_head(ls_websocket_opcode opcode, bool last, size_t len, uint8_t out[LS_WEBSOCKET_HEAD])
{
	unsigned size = len < 126 ? 0 : len <= UINT16_MAX ? 2 : 8;

	out[0] = (uint8_t) ((last ? 0x80 : 0) | opcode);
	out[1] = (uint8_t) (size == 0 ? len : size == 2 ? 126 : 127);
	for (unsigned i = 0; i < size; i++)
		out[2 + i] = (uint8_t) ((uint64_t) len >> 8 * (size - 1 - i));
	return 2 + size;
}

size_t
ls_websocket_close(unsigned code, ls_str reason, uint8_t out[LS_WEBSOCKET_CONTROL])
{
	size_t len = reason.len;

	if (code == LS_WEBSOCKET_NO_CODE)
		return 0;
	/* Not in the middle of a character. */
	if (len > LS_WEBSOCKET_CONTROL - 2)
	{
		len = LS_WEBSOCKET_CONTROL - 2;
		while (len > 0 && ((uint8_t) reason.data[len] & 0xc0) == 0x80)
			len--;
	}
	if (len > 0 && !ls_utf8_valid(reason.data, len))
		len = 0;
	out[0] = (uint8_t) (code >> 8);
	out[1] = (uint8_t) code;
	if (len > 0)
		memcpy(out + 2, reason.data, len);
	return 2 + len;
}
