/*-------------------------------------------------------------------------
 *
 * object_store.c
 *	  Requests to object stores that speak the protocol of S3, and what their answers say (pure).
 *
 * The answers are XML of a fixed form.  Three elements of them are needed, so they are looked for
 * by their tags; what does not look as expected is a failure.
 *
 *-------------------------------------------------------------------------
 */
#include "src/notify/object_store.h"

#include <ctype.h>

#include "src/base/sigv4.h"
#include "src/notify/webhook.h"

#define CODE_LENGTH 64

/* ---- requests ---- */

/* host[:port] as libcurl sends it, with the bucket in front if it has to be there. */
static void
write_host(ls_buf *out, const ls_object *object, const ls_webhook_url *endpoint)
{
	bool bracketed = memchr(endpoint->host.data, ':', endpoint->host.len) != NULL;

	if (object->virtual_host)
	{
		ls_buf_str(out, object->bucket);
		ls_buf_char(out, '.');
	}
	if (bracketed)
		ls_buf_char(out, '[');
	ls_buf_str(out, endpoint->host);
	if (bracketed)
		ls_buf_char(out, ']');
	if (endpoint->port != (endpoint->secure ? 443 : 80))
		ls_buf_printf(out, ":%u", endpoint->port);
}

static void
write_path(ls_buf *out, const ls_object *object, bool of_bucket)
{
	ls_buf_char(out, '/');
	if (!object->virtual_host)
		ls_buf_url(out, object->bucket, false);
	if (of_bucket)
		return;
	if (!object->virtual_host)
		ls_buf_char(out, '/');
	ls_buf_url(out, object->key, true);
}

static ls_str
copy(ls_arena *arena, const char *data, size_t len)
{
	return ls_arena_strdup(arena, ls_str_make(data, len));
}

const char *
ls_object_request_write(const ls_object *object, const ls_object_call *call, ls_arena *arena,
						ls_object_request *out)
{
	static const char *const no_memory = "the request is too large";
	uint8_t digest[LS_SHA256_LENGTH];
	char hex[2 * LS_SHA256_LENGTH + 1];
	char date[LS_SIGV4_TIME_LENGTH + 1];
	ls_sigv4_request request = {.method = call->method,
								.query = call->query,
								.headers = out->headers,
								.plain_path = true,
								.key = object->access_key,
								.secret = object->secret,
								.region = object->region,
								.service = LS_STR("s3"),
								.now = call->now};
	ls_sigv4_signature signature;
	ls_webhook_url endpoint;
	ls_buf host, path, url;
	size_t n = 0;

	memset(out, 0, sizeof(*out));
	if (ls_webhook_url_read(object->endpoint, &endpoint) != NULL)
		return "the endpoint is not a URL";
	if (object->virtual_host && endpoint.is_address)
		return "a bucket cannot be in front of an address: use addressing path";
	out->secure = endpoint.secure;
	ls_buf_init(&host, arena);
	ls_buf_init(&path, arena);
	ls_buf_init(&url, arena);
	write_host(&host, object, &endpoint);
	write_path(&path, object, call->of_bucket);
	if (host.failed || path.failed)
		return no_memory;
	ls_buf_append(&url, out->secure ? "https://" : "http://", out->secure ? 8 : 7);
	ls_buf_append(&url, host.data, host.len);
	ls_buf_append(&url, path.data, path.len);
	if (call->query.len > 0)
	{
		ls_buf_char(&url, '?');
		ls_buf_str(&url, call->query);
	}
	ls_sha256(call->body.data, call->body.len, digest);
	ls_hex(digest, sizeof(digest), hex);
	ls_sigv4_time(call->now, date);

	out->headers[n++] = (ls_header){LS_STR("Host"), ls_str_make(host.data, host.len)};
	out->headers[n++] =
		(ls_header){LS_STR("x-amz-content-sha256"), copy(arena, hex, 2 * LS_SHA256_LENGTH)};
	out->headers[n++] = (ls_header){LS_STR("x-amz-date"), copy(arena, date, LS_SIGV4_TIME_LENGTH)};
	if (call->content_type.len > 0)
		out->headers[n++] = (ls_header){LS_STR("Content-Type"), call->content_type};
	request.path = ls_str_make(path.data, path.len);
	request.body_sha256 = out->headers[1].value;
	request.header_count = n;
	if (url.failed || ls_arena_failed(arena) || !ls_sigv4_sign(&request, arena, &signature))
		return no_memory;
	out->headers[n++] = (ls_header){LS_STR("Authorization"), signature.authorization};
	/* libcurl says the length of a body only when there is one; S3 wants it all the same. */
	if (call->body.len == 0 && !ls_str_eq(call->method, LS_STR("GET")))
		out->headers[n++] = (ls_header){LS_STR("Content-Length"), LS_STR("0")};
	/* libcurl's own would not be that of S3. */
	if (call->body.len > 0 && call->content_type.len == 0)
		out->headers[n++] = (ls_header){LS_STR("Content-Type"), LS_STR("application/octet-stream")};
	out->header_count = n;
	out->url = ls_str_make(url.data, url.len);
	return NULL;
}

/* ---- answers ---- */

static bool
starts_with(ls_str text, size_t at, const char *word)
{
	size_t len = strlen(word);

	return len <= text.len - at && memcmp(text.data + at, word, len) == 0;
}

/* Is there "<name>", or "</name>", at this place? */
static bool
is_tag(ls_str text, size_t at, const char *opening, const char *name)
{
	size_t length = strlen(opening) + strlen(name) + 1;

	return at <= text.len && length <= text.len - at && starts_with(text, at, opening) &&
		   starts_with(text, at + strlen(opening), name) && text.data[at + length - 1] == '>';
}

ls_str
ls_object_element(ls_str xml, const char *name, size_t *from)
{
	size_t start = *from;
	size_t end;

	while (start < xml.len && !is_tag(xml, start, "<", name))
		start++;
	if (start < xml.len)
		start += strlen(name) + 2;
	end = start;
	while (end < xml.len && !is_tag(xml, end, "</", name))
		end++;
	*from = end;
	return end < xml.len ? ls_str_make(xml.data + start, end - start) : LS_STR("");
}

bool
ls_object_token_valid(ls_str token)
{
	if (token.len == 0 || token.len > LS_OBJECT_TOKEN)
		return false;
	for (size_t i = 0; i < token.len; i++)
	{
		if (token.data[i] <= ' ' || token.data[i] > '~' || strchr("<>&", token.data[i]) != NULL)
			return false;
	}
	return true;
}

ls_str
ls_object_unfinished(ls_str xml, ls_str key)
{
	size_t at = 0;

	for (;;)
	{
		ls_str upload = ls_object_element(xml, "Upload", &at);
		size_t inside = 0;
		ls_str id;

		if (upload.len == 0)
			return LS_STR("");
		if (!ls_str_eq(ls_object_element(upload, "Key", &inside), key))
			continue;
		inside = 0;
		id = ls_object_element(upload, "UploadId", &inside);
		if (ls_object_token_valid(id))
			return id;
	}
}

bool
ls_object_failed(int status, ls_str body)
{
	size_t at = 0;

	return status < 200 || status >= 300 || ls_object_element(body, "Error", &at).len > 0;
}

ls_str
ls_object_error_code(ls_str body)
{
	size_t at = 0;
	ls_str code = ls_object_element(body, "Code", &at);

	for (size_t i = 0; i < code.len; i++)
	{
		if (!isalnum((unsigned char) code.data[i]) || i == CODE_LENGTH)
			return LS_STR("");
	}
	return code;
}

void
ls_object_explain(ls_buf *out, int status, ls_str body)
{
	static const struct
	{
		const char *code;
		const char *words;
	} known[] = {
		{"SignatureDoesNotMatch", "the secret access key is wrong, or the region"},
		{"InvalidAccessKeyId", "the store does not know this access key id"},
		{"AccessDenied", "the access key may not write this object (s3:PutObject)"},
		{"NoSuchBucket", "there is no such bucket"},
		{"InvalidBucketName", "there can be no such bucket"},
		{"AuthorizationHeaderMalformed", "the bucket is in another region"},
		{"IllegalLocationConstraintException", "the bucket is in another region"},
		{"PermanentRedirect", "the bucket is at another endpoint or in another region"},
		{"TemporaryRedirect", "the bucket is at another endpoint for now"},
		{"RequestTimeTooSkewed", "the clocks of the store and of this server differ"},
		{"NoSuchUpload", "the store has forgotten the upload"},
		{"EntityTooLarge", "the file is larger than the store takes"},
		{"QuotaExceeded", "the store has no more room for this account"},
		{"SlowDown", "the store asks for fewer requests"},
		{"ServiceUnavailable", "the store is overloaded"},
		{"InternalError", "the store has failed"},
		{"RequestTimeout", "the store has waited too long for the file"},
	};
	ls_str code = ls_object_error_code(body);
	const char *words = NULL;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
	{
		if (ls_str_eq(code, ls_str_make(known[i].code, strlen(known[i].code))))
			words = known[i].words;
	}
	if (words == NULL && status >= 300 && status < 400)
		words = "a redirect is not followed: name the endpoint of the bucket's region";
	else if (words == NULL && status == 403)
		words = "the store refuses the access key";
	else if (words == NULL && status == 404)
		words = "there is no such bucket, or the endpoint is not that of an object store";
	else if (words == NULL && status >= 500)
		words = "the store has failed";
	ls_buf_printf(out, "the object store answered %d", status);
	if (code.len > 0)
	{
		ls_buf_char(out, ' ');
		ls_buf_str(out, code);
	}
	if (words != NULL)
		ls_buf_printf(out, ": %s", words);
}
