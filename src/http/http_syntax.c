/*-------------------------------------------------------------------------
 *
 * http_syntax.c
 *	  The rules of request headers (pure).
 *
 * Refused: control characters, bare LF, folded lines, white space before the
 * colon, more than one Host or Content-Length (equal ones too), Content-Length
 * together with Transfer-Encoding, any coding but exactly "chunked".  RFC 9112
 * allows or demands each of these refusals.
 *
 *-------------------------------------------------------------------------
 */
#include "src/http/http_syntax.h"

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
		if (s.data[i] <= ' ' || s.data[i] == 0x7f)
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
				/* MHD compares without trimming: a trailing blank is not "chunked". */
				if (check->codings++ > 0 ||
					!ls_str_eq_nocase(ls_str_make(value.data, value.len), LS_STR("chunked")))
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
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{408, "Request Timeout"},
		{413, "Payload Too Large"},
		{415, "Unsupported Media Type"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
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
