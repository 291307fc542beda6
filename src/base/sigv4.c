/*-------------------------------------------------------------------------
 *
 * sigv4.c
 *	  AWS Signature Version 4 (pure).
 *
 * Of our own, because libcurl before 8.9 signs the ':' of model ids wrongly.  The steps are
 * those of the AWS documentation: canonical request, string to sign, signing key, signature.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/sigv4.h"

#define HEX_LENGTH (2 * LS_SHA256_LENGTH)
#define DATE_LENGTH 8

void
ls_sigv4_time(ls_time now, char *out)
{
	char iso[LS_TIME_ISO_LENGTH + 1];
	char *p = out;

	ls_time_format_iso(now, iso);
	for (int i = 0; i < 19; i++)
	{
		if (iso[i] != '-' && iso[i] != ':')
			*p++ = iso[i];
	}
	*p++ = 'Z';
	*p = '\0';
}

/* ---- the path and the query ---- */

/* Without empty segments, "." and ".." (RFC 3986, section 6), then encoded. */
static void
canonical_path(ls_buf *buf, ls_str path, ls_arena *arena)
{
	ls_buf plain;
	size_t start = 0;

	ls_buf_init(&plain, arena);
	while (start < path.len)
	{
		size_t end = start;
		ls_str segment;

		while (end < path.len && path.data[end] != '/')
			end++;
		segment = ls_str_make(path.data + start, end - start);
		if (ls_str_eq(segment, LS_STR("..")))
		{
			while (plain.len > 0 && plain.data[--plain.len] != '/')
				;
		}
		else if (segment.len > 0 && !ls_str_eq(segment, LS_STR(".")))
		{
			ls_buf_char(&plain, '/');
			ls_buf_str(&plain, segment);
		}
		start = end + 1;
	}
	if (plain.len == 0 || (path.data[path.len - 1] == '/' && plain.data[plain.len - 1] != '/'))
		ls_buf_char(&plain, '/');
	buf->failed |= plain.failed;
	ls_buf_url(buf, ls_str_make(plain.data, plain.len), true);
}

/* What is percent-encoded already must not be encoded twice here, unlike in the path. */
static ls_str
encode_parameter(ls_str s, ls_arena *arena)
{
	ls_buf plain;
	ls_buf encoded;

	ls_buf_init(&plain, arena);
	ls_buf_init(&encoded, arena);
	for (size_t i = 0; i < s.len; i++)
	{
		if (s.data[i] == '%' && i + 2 < s.len && ls_hex_digit(s.data[i + 1]) >= 0 &&
			ls_hex_digit(s.data[i + 2]) >= 0)
		{
			ls_buf_char(&plain,
						(char) (ls_hex_digit(s.data[i + 1]) << 4 | ls_hex_digit(s.data[i + 2])));
			i += 2;
		}
		else
			ls_buf_char(&plain, s.data[i]);
	}
	ls_buf_url(&encoded, ls_str_make(plain.data, plain.len), false);
	return ls_str_make(encoded.data, encoded.len);
}

/* Few elements, so a plain insertion sort by name, then value; stable. */
static void
insert_sorted(ls_header *sorted, size_t count, ls_header item, bool by_value)
{
	while (count > 0)
	{
		int order = ls_str_cmp(sorted[count - 1].name, item.name);

		if (order == 0 && by_value)
			order = ls_str_cmp(sorted[count - 1].value, item.value);
		if (order <= 0)
			break;
		sorted[count] = sorted[count - 1];
		count--;
	}
	sorted[count] = item;
}

static bool
canonical_query(ls_buf *buf, ls_str query, ls_arena *arena)
{
	ls_header sorted[LS_SIGV4_MAX_HEADERS];
	size_t count = 0;
	size_t start = 0;

	while (start < query.len)
	{
		size_t end = start;
		size_t equals = query.len;
		ls_header parameter;

		for (; end < query.len && query.data[end] != '&'; end++)
		{
			if (query.data[end] == '=' && equals == query.len)
				equals = end;
		}
		if (end > start)
		{
			size_t name_end = equals < end ? equals : end;
			size_t value_start = equals < end ? equals + 1 : end;

			if (count == LS_SIGV4_MAX_HEADERS)
				return false;
			parameter.name =
				encode_parameter(ls_str_make(query.data + start, name_end - start), arena);
			parameter.value =
				encode_parameter(ls_str_make(query.data + value_start, end - value_start), arena);
			insert_sorted(sorted, count++, parameter, true);
		}
		start = end + 1;
	}
	for (size_t i = 0; i < count; i++)
	{
		if (i > 0)
			ls_buf_char(buf, '&');
		ls_buf_str(buf, sorted[i].name);
		ls_buf_char(buf, '=');
		ls_buf_str(buf, sorted[i].value);
	}
	return true;
}

/* ---- the headers ---- */

/* Without white space at its ends, every run of it inside as one space. */
static void
canonical_value(ls_buf *buf, ls_str value)
{
	bool space = false;
	bool first = true;

	for (size_t i = 0; i < value.len; i++)
	{
		char c = value.data[i];

		if (c == ' ' || (c >= '\t' && c <= '\r'))
		{
			space = true;
			continue;
		}
		if (space && !first)
			ls_buf_char(buf, ' ');
		ls_buf_char(buf, c);
		space = first = false;
	}
}

static ls_str
lower_case(ls_str name, ls_arena *arena)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	for (size_t i = 0; i < name.len; i++)
	{
		char c = name.data[i];

		ls_buf_char(&buf, c >= 'A' && c <= 'Z' ? (char) (c + 'a' - 'A') : c);
	}
	return ls_str_make(buf.data, buf.len);
}

/* Appends the headers and gives their names, with ';' between them. */
static bool
canonical_headers(ls_buf *buf, ls_buf *names, const ls_sigv4_request *request, ls_arena *arena)
{
	ls_header sorted[LS_SIGV4_MAX_HEADERS];

	if (request->header_count > LS_SIGV4_MAX_HEADERS)
		return false;
	for (size_t i = 0; i < request->header_count; i++)
	{
		ls_header header = {lower_case(request->headers[i].name, arena), request->headers[i].value};

		insert_sorted(sorted, i, header, false);
	}
	for (size_t i = 0; i < request->header_count; i++)
	{
		bool again = i > 0 && ls_str_eq(sorted[i].name, sorted[i - 1].name);

		if (again)
			ls_buf_char(buf, ',');
		else
		{
			if (i > 0)
			{
				ls_buf_char(buf, '\n');
				ls_buf_char(names, ';');
			}
			ls_buf_str(buf, sorted[i].name);
			ls_buf_char(buf, ':');
			ls_buf_str(names, sorted[i].name);
		}
		canonical_value(buf, sorted[i].value);
	}
	ls_buf_lit(buf, "\n\n");
	ls_buf_append(buf, names->data, names->len);
	buf->failed |= names->failed;
	return true;
}

/* ---- the signature ---- */

static void
hash(ls_buf *buf, const void *data, size_t len)
{
	uint8_t digest[LS_SHA256_LENGTH];
	char hex[HEX_LENGTH + 1];

	ls_sha256(data, len, digest);
	ls_hex(digest, sizeof(digest), hex);
	ls_buf_append(buf, hex, HEX_LENGTH);
}

static bool
sign(const ls_sigv4_request *request, const char *date, ls_str text, ls_arena *arena,
	 char signature[HEX_LENGTH + 1])
{
	const ls_str steps[] = {
		{date, DATE_LENGTH}, request->region, request->service, LS_STR("aws4_request"), text};
	uint8_t key[LS_SHA256_LENGTH];
	ls_buf first;

	ls_buf_init(&first, arena);
	ls_buf_lit(&first, "AWS4");
	ls_buf_str(&first, request->secret);
	if (first.failed)
		return false;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
	{
		uint8_t next[LS_SHA256_LENGTH];

		if (!ls_hmac_sha256(i == 0 ? (const void *) first.data : key, i == 0 ? first.len : 32,
							steps[i].data, steps[i].len, next))
			return false;
		memcpy(key, next, sizeof(key));
	}
	ls_hex(key, sizeof(key), signature);
	return true;
}

bool
ls_sigv4_sign(const ls_sigv4_request *request, ls_arena *arena, ls_sigv4_signature *out)
{
	char date[LS_SIGV4_TIME_LENGTH + 1];
	char signature[HEX_LENGTH + 1];
	ls_buf canonical, names, scope, text, value;

	ls_buf_init(&canonical, arena);
	ls_buf_init(&names, arena);
	ls_buf_init(&scope, arena);
	ls_buf_init(&text, arena);
	ls_buf_init(&value, arena);
	ls_sigv4_time(request->now, date);

	ls_buf_str(&canonical, request->method);
	ls_buf_char(&canonical, '\n');
	if (request->plain_path)
		ls_buf_str(&canonical, request->path);
	else
		canonical_path(&canonical, request->path, arena);
	ls_buf_char(&canonical, '\n');
	if (!canonical_query(&canonical, request->query, arena))
		return false;
	ls_buf_char(&canonical, '\n');
	if (!canonical_headers(&canonical, &names, request, arena))
		return false;
	ls_buf_char(&canonical, '\n');
	if (request->body_sha256.len > 0)
		ls_buf_str(&canonical, request->body_sha256);
	else
		hash(&canonical, request->body.data, request->body.len);

	ls_buf_append(&scope, date, DATE_LENGTH);
	ls_buf_char(&scope, '/');
	ls_buf_str(&scope, request->region);
	ls_buf_char(&scope, '/');
	ls_buf_str(&scope, request->service);
	ls_buf_lit(&scope, "/aws4_request");
	if (canonical.failed || scope.failed)
		return false;

	ls_buf_lit(&text, "AWS4-HMAC-SHA256\n");
	ls_buf_append(&text, date, LS_SIGV4_TIME_LENGTH);
	ls_buf_char(&text, '\n');
	ls_buf_append(&text, scope.data, scope.len);
	ls_buf_char(&text, '\n');
	hash(&text, canonical.data, canonical.len);
	if (text.failed || !sign(request, date, ls_str_make(text.data, text.len), arena, signature))
		return false;

	ls_buf_lit(&value, "AWS4-HMAC-SHA256 Credential=");
	ls_buf_str(&value, request->key);
	ls_buf_char(&value, '/');
	ls_buf_append(&value, scope.data, scope.len);
	ls_buf_lit(&value, ", SignedHeaders=");
	ls_buf_append(&value, names.data, names.len);
	ls_buf_lit(&value, ", Signature=");
	ls_buf_append(&value, signature, HEX_LENGTH);
	out->canonical = ls_str_make(canonical.data, canonical.len);
	out->to_sign = ls_str_make(text.data, text.len);
	out->authorization = ls_str_make(value.data, value.len);
	/* lower_case and encode_parameter have no buffer that is looked at afterwards */
	return !value.failed && !ls_arena_failed(arena);
}
