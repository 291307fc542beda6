/*-------------------------------------------------------------------------
 *
 * http_syntax.c
 *	  The rules of request headers and of chunked bodies (pure).
 *
 * Refused: control characters, bare LF, folded lines, white space before the
 * colon, more than one Host or Content-Length (equal ones too), Content-Length
 * together with Transfer-Encoding, any coding but exactly "chunked".  RFC 9112
 * allows or demands each of these refusals.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/http_syntax.h"

static void
refuse(ls_http_check *check, int status, const char *problem)
{
	if (check->status == 0)
	{
		check->status = status;
		check->problem = problem;
	}
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_token_char(unsigned char c)
{
	if (is_digit((char) c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return true;
	return c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool
is_token(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
	{
		if (!is_token_char((unsigned char) s.data[i]))
			return false;
	}
	return s.len > 0;
}

static bool
is_visible(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
	{
		if ((unsigned char) s.data[i] <= ' ' || (unsigned char) s.data[i] >= 0x7f)
			return false;
	}
	return s.len > 0;
}

/* Digits only; saturates, because "too large" is an answer of its own. */
static bool
parse_length(ls_str s, uint64_t *length)
{
	uint64_t value = 0;

	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++)
	{
		if (!is_digit(s.data[i]))
			return false;
		if (value > (UINT64_MAX - 9) / 10)
			value = UINT64_MAX;
		else
			value = value * 10 + (uint64_t) (s.data[i] - '0');
	}
	*length = value;
	return true;
}

void
ls_http_check_field(ls_http_check *check, ls_str name, ls_str value)
{
	if (check->status != 0)
		return;
	if (!is_token(name))
	{
		refuse(check, 400, "Malformed header name");
		return;
	}
	for (size_t i = 0; i < value.len; i++)
	{
		unsigned char c = (unsigned char) value.data[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
		{
			refuse(check, 400, "Control character in a header");
			return;
		}
	}

	/* Few names matter; the length tells most others apart. */
	switch (name.len)
	{
		case 4:
			if (ls_str_eq_nocase(name, LS_STR("Host")))
			{
				if (check->hosts++ > 0)
					refuse(check, 400, "More than one Host header");
			}
			break;
		case 6:
			if (ls_str_eq_nocase(name, LS_STR("Expect")) &&
				ls_str_eq_nocase(ls_str_trim(value), LS_STR("100-continue")))
				check->expect_continue = true;
			break;
		case 14:
			if (ls_str_eq_nocase(name, LS_STR("Content-Length")))
			{
				if (check->lengths++ > 0)
					refuse(check, 400, "More than one Content-Length header");
				else if (!parse_length(ls_str_trim(value), &check->content_length))
					refuse(check, 400, "Content-Length is not a number");
			}
			break;
		case 17:
			if (ls_str_eq_nocase(name, LS_STR("Transfer-Encoding")))
			{
				/* Not trimmed: a blank after it is legal, but not everybody takes it for chunked. */
				if (check->codings++ > 0 || !ls_str_eq_nocase(value, LS_STR("chunked")))
					refuse(check, 400, "Unsupported Transfer-Encoding");
				check->chunked = true;
			}
			break;
		default:
			break;
	}
}

bool
ls_http_check_end(ls_http_check *check)
{
	if (check->lengths > 0 && check->codings > 0)
		refuse(check, 400, "Content-Length together with Transfer-Encoding");
	if (check->codings > 0 && check->minor == 0)
		refuse(check, 400, "Transfer-Encoding in HTTP/1.0");
	if (check->hosts == 0 && check->minor > 0)
		refuse(check, 400, "Missing Host header");
	/* Such a client would take the interim answer for the answer. */
	if (check->minor == 0)
		check->expect_continue = false;
	return check->status == 0;
}

/* "METHOD target HTTP/1.x" with single spaces. */
static void
scan_request_line(ls_http_check *check, ls_str line)
{
	const char *space = memchr(line.data, ' ', line.len);
	ls_str method;
	ls_str target;
	ls_str version;

	if (space == NULL)
	{
		refuse(check, 400, "Malformed request line");
		return;
	}
	method = ls_str_make(line.data, (size_t) (space - line.data));
	line.len -= method.len + 1;
	line.data = space + 1;
	space = memchr(line.data, ' ', line.len);
	if (space == NULL || !is_token(method))
	{
		refuse(check, 400, "Malformed request line");
		return;
	}
	target = ls_str_make(line.data, (size_t) (space - line.data));
	version = ls_str_make(space + 1, line.len - target.len - 1);
	if (!ls_http_target_valid(target))
		refuse(check, 400, "Malformed request target");
	else if (version.len != 8 || memcmp(version.data, "HTTP/", 5) != 0 ||
			 !is_digit(version.data[5]) || version.data[6] != '.' || !is_digit(version.data[7]))
		refuse(check, 400, "Malformed request line");
	else if (version.data[5] != '1')
		refuse(check, 505, "HTTP version not supported");
	else
		check->minor = version.data[7] - '0';
}

static void
scan_line(ls_http_scan *scan, ls_str line)
{
	const char *colon;

	if (!scan->request_line)
	{
		scan->request_line = true;
		scan_request_line(&scan->check, line);
		return;
	}
	if (line.data[0] == ' ' || line.data[0] == '\t')
	{
		refuse(&scan->check, 400, "Folded header line");
		return;
	}
	colon = memchr(line.data, ':', line.len);
	if (colon == NULL)
	{
		refuse(&scan->check, 400, "Malformed header line");
		return;
	}
	{
		size_t name = (size_t) (colon - line.data);
		ls_str value = ls_str_make(colon + 1, line.len - name - 1);

		while (value.len > 0 && (value.data[0] == ' ' || value.data[0] == '\t'))
		{
			value.data++;
			value.len--;
		}
		ls_http_check_field(&scan->check, ls_str_make(line.data, name), value);
	}
}

ls_http_verdict
ls_http_scan_header(ls_http_scan *scan, const char *data, size_t len)
{
	while (scan->offset < len)
	{
		const char *start = data + scan->offset;
		const char *end = memchr(start, '\n', len - scan->offset);
		size_t line;

		if (end == NULL)
		{
			/* Something that will never be HTTP need not wait for its line end. */
			if (!scan->request_line && !is_token_char((unsigned char) start[0]) && start[0] != '\r')
			{
				refuse(&scan->check, 400, "Malformed request line");
				return LS_HTTP_BAD;
			}
			return LS_HTTP_MORE;
		}
		if (end == start || end[-1] != '\r')
		{
			refuse(&scan->check, 400, "Line does not end with CR LF");
			return LS_HTTP_BAD;
		}
		line = (size_t) (end - start) - 1;
		scan->offset += line + 2;
		if (line > 0)
			scan_line(scan, ls_str_make(start, line));
		else if (scan->request_line)
			return ls_http_check_end(&scan->check) ? LS_HTTP_DONE : LS_HTTP_BAD;
		/* else: empty lines before the request line are to be ignored */
		if (scan->check.status != 0)
			return LS_HTTP_BAD;
	}
	return LS_HTTP_MORE;
}

bool
ls_http_next_line(ls_str header, size_t *at, ls_str *name, ls_str *value)
{
	const char *start;
	const char *end;
	const char *colon;
	bool first = *at == 0;

	/* Empty lines before the request line do not count. */
	while (first && *at + 1 < header.len && header.data[*at] == '\r')
		*at += 2;
	start = header.data + *at;
	end = *at < header.len ? memchr(start, '\r', header.len - *at) : NULL;
	if (end == NULL || end == start)
		return false;
	*at += (size_t) (end - start) + 2;
	*name = LS_STR("");
	*value = ls_str_make(start, (size_t) (end - start));
	if (first)
		return true;
	colon = memchr(start, ':', value->len);
	if (colon == NULL)
		return false;
	*name = ls_str_make(start, (size_t) (colon - start));
	*value = ls_str_trim(ls_str_make(colon + 1, (size_t) (end - colon) - 1));
	return true;
}

void
ls_http_request_line(ls_str line, ls_str *method, ls_str *target)
{
	const char *space = memchr(line.data, ' ', line.len);

	*method = *target = LS_STR("");
	if (space == NULL)
		return;
	*method = ls_str_make(line.data, (size_t) (space - line.data));
	*target = ls_str_make(space + 1, line.len - method->len - 1);
	space = memchr(target->data, ' ', target->len);
	if (space != NULL)
		target->len = (size_t) (space - target->data);
}

enum
{
	CHUNK_SIZE,
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	TRAILER_BEGIN, /* of a line after the last chunk */
	TRAILER_LINE,
	TRAILER_LF,
	CHUNKS_LF, /* of the empty line at the end */
	CHUNKS_END
};

static ls_http_verdict
bad_chunk(ls_http_chunks *chunks, const char *problem)
{
	chunks->problem = problem;
	return LS_HTTP_BAD;
}

static bool
is_text(char c)
{
	return ((unsigned char) c >= ' ' && c != 0x7f) || c == '\t';
}

/* A byte of the line before a chunk; what is wrong with it, or NULL. */
static const char *
read_size_byte(ls_http_chunks *chunks, char c)
{
	int digit = ls_hex_digit(c);

	switch (chunks->state)
	{
		case CHUNK_SIZE:
			if (digit >= 0 && chunks->digits < 16 && chunks->left >> 56 == 0)
			{
				chunks->left = chunks->left << 4 | (unsigned) digit;
				chunks->digits++;
			}
			else if (chunks->digits > 0 && c == '\r')
				chunks->state = CHUNK_SIZE_LF;
			else if (chunks->digits > 0 && c == ';')
			{
				chunks->line = 0;
				chunks->state = CHUNK_EXTENSION;
			}
			else
				return "Malformed size of a chunk";
			break;
		case CHUNK_EXTENSION:
			if (c == '\r')
				chunks->state = CHUNK_SIZE_LF;
			else if (!is_text(c) || ++chunks->line > LS_HTTP_EXTENSION_LIMIT)
				return "Malformed extension of a chunk";
			break;
		default:
			if (c != '\n')
				return "Size of a chunk does not end with CR LF";
			chunks->line = 0;
			chunks->state = chunks->left > 0 ? CHUNK_DATA : TRAILER_BEGIN;
			break;
	}
	return NULL;
}

/* A byte of the two after a chunk. */
static const char *
read_end_byte(ls_http_chunks *chunks, char c)
{
	bool first = chunks->state == CHUNK_DATA_CR;

	if (c != (first ? '\r' : '\n'))
		return "Chunk does not end with CR LF";
	if (!first)
		chunks->digits = 0;
	chunks->state = first ? CHUNK_DATA_LF : CHUNK_SIZE;
	return NULL;
}

/* A byte of the trailer, from its first line to the empty one. */
static const char *
read_trailer_byte(ls_http_chunks *chunks, char c)
{
	switch (chunks->state)
	{
		case TRAILER_BEGIN:
			if (c == '\r')
			{
				chunks->state = CHUNKS_LF;
				break;
			}
			if (!is_token_char((unsigned char) c))
				return "Malformed trailer";
			chunks->trailer_name = true;
			chunks->state = TRAILER_LINE;
			/* FALLTHROUGH */
		case TRAILER_LINE:
			if (++chunks->line > LS_HTTP_TRAILER_LIMIT)
				return "The trailer is too large";
			if (chunks->trailer_name)
			{
				if (c == ':')
					chunks->trailer_name = false;
				else if (!is_token_char((unsigned char) c))
					return "Malformed trailer";
			}
			else if (c == '\r')
				chunks->state = TRAILER_LF;
			else if (!is_text(c))
				return "Malformed trailer";
			break;
		default:
			if (c != '\n')
				return "Trailer does not end with CR LF";
			chunks->state = chunks->state == CHUNKS_LF ? CHUNKS_END : TRAILER_BEGIN;
			break;
	}
	return NULL;
}

/* The next byte that is not of a chunk itself. */
static const char *
read_framing_byte(ls_http_chunks *chunks, char c)
{
	switch (chunks->state)
	{
		case CHUNK_SIZE:
		case CHUNK_EXTENSION:
		case CHUNK_SIZE_LF:
			return read_size_byte(chunks, c);
		case CHUNK_DATA_CR:
		case CHUNK_DATA_LF:
			return read_end_byte(chunks, c);
		case TRAILER_BEGIN:
		case TRAILER_LINE:
		case TRAILER_LF:
		case CHUNKS_LF:
			return read_trailer_byte(chunks, c);
		default:
			return "Bytes after the last chunk";
	}
}

ls_http_verdict
ls_http_read_chunks(ls_http_chunks *chunks, const char *data, size_t len, size_t *used,
					ls_str *piece)
{
	size_t i = 0;

	*piece = LS_STR("");
	*used = len;
	while (i < len)
	{
		const char *problem;

		if (chunks->state == CHUNK_DATA)
		{
			size_t n = chunks->left < len - i ? (size_t) chunks->left : len - i;

			*piece = ls_str_make(data + i, n);
			*used = i + n;
			chunks->left -= n;
			if (chunks->left == 0)
				chunks->state = CHUNK_DATA_CR;
			return LS_HTTP_MORE;
		}
		problem = read_framing_byte(chunks, data[i++]);
		if (problem != NULL)
			return bad_chunk(chunks, problem);
		if (chunks->state == CHUNKS_END)
		{
			*used = i;
			return LS_HTTP_DONE;
		}
	}
	return LS_HTTP_MORE;
}

bool
ls_http_target_valid(ls_str target)
{
	return is_visible(target);
}

bool
ls_http_request_id_valid(ls_str id)
{
	return id.len <= LS_REQUEST_ID_MAX && is_visible(id);
}

bool
ls_http_split_target(ls_str target, ls_str *path, ls_str *query)
{
	const char *mark;
	size_t scheme = 0;

	if (target.len >= 7 && ls_str_eq_nocase(ls_str_make(target.data, 7), LS_STR("http://")))
		scheme = 7;
	else if (target.len >= 8 && ls_str_eq_nocase(ls_str_make(target.data, 8), LS_STR("https://")))
		scheme = 8;
	if (scheme > 0)
	{
		target.data += scheme;
		target.len -= scheme;
		while (target.len > 0 && target.data[0] != '/' && target.data[0] != '?')
		{
			target.data++;
			target.len--;
		}
	}
	mark = target.len > 0 ? memchr(target.data, '?', target.len) : NULL;
	*path = target;
	*query = LS_STR("");
	if (mark != NULL)
	{
		path->len = (size_t) (mark - target.data);
		*query = ls_str_make(mark + 1, target.len - path->len - 1);
	}
	if (scheme > 0 && path->len == 0)
		*path = LS_STR("/");
	return path->len > 0 && (path->data[0] == '/' || ls_str_eq(target, LS_STR("*")));
}

bool
ls_http_decode_segment(ls_str segment, char *out, size_t *out_len)
{
	size_t n = 0;

	for (size_t i = 0; i < segment.len; i++)
	{
		char c = segment.data[i];

		if (c == '%')
		{
			int high = segment.len - i > 2 ? ls_hex_digit(segment.data[i + 1]) : -1;
			int low = segment.len - i > 2 ? ls_hex_digit(segment.data[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			c = (char) (high * 16 + low);
			i += 2;
		}
		if ((unsigned char) c < ' ' || c == 0x7f)
			return false;
		out[n++] = c;
	}
	*out_len = n;
	return true;
}

void
ls_http_make_request_id(uint64_t ms, uint64_t random_a, uint64_t random_b, char *out)
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

	for (int i = 9; i >= 0; i--, ms >>= 5)
		out[i] = digits[ms & 31];
	for (int i = 10; i < 18; i++, random_a >>= 5)
		out[i] = digits[random_a & 31];
	for (int i = 18; i < LS_REQUEST_ID_LENGTH; i++, random_b >>= 5)
		out[i] = digits[random_b & 31];
}

const char *
ls_http_status_text(int status)
{
	static const struct
	{
		int status;
		const char *text;
	} texts[] = {
		{200, "OK"},
		{201, "Created"},
		{202, "Accepted"},
		{204, "No Content"},
		{302, "Found"},
		{304, "Not Modified"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{408, "Request Timeout"},
		{409, "Conflict"},
		{410, "Gone"},
		{412, "Precondition Failed"},
		{413, "Payload Too Large"},
		{415, "Unsupported Media Type"},
		{422, "Unprocessable Entity"},
		{426, "Upgrade Required"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
	{
		if (texts[i].status == status)
			return texts[i].text;
	}
	return "Unknown";
}
