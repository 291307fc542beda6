/* object_store_test.c: requests to object stores and what their answers mean. */
#include "test/unit/tap.h"

#include "src/notify/object_store.h"

static ls_arena *arena;

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_str
header(const ls_object_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++)
	{
		if (ls_str_eq(request->headers[i].name, str(name)))
			return request->headers[i].value;
	}
	return LS_STR("(none)");
}

static void
check_url(const char *endpoint, bool virtual_host, const char *url, const char *host)
{
	ls_object object = {.endpoint = str(endpoint),
						.region = LS_STR("eu-central-1"),
						.bucket = LS_STR("logs"),
						.key = LS_STR("a/year=2026/b.csv"),
						.virtual_host = virtual_host,
						.access_key = LS_STR("AKIA"),
						.secret = LS_STR("secret")};
	ls_object_call call = {.method = LS_STR("PUT"), .query = LS_STR("partNumber=1&uploadId=x")};
	ls_object_request request;

	ok(ls_object_request_write(&object, &call, arena, &request) == NULL, endpoint);
	is_str(request.url, url, "the URL");
	is_str(header(&request, "Host"), host, "the host");
}

static void
check_requests(void)
{
	ls_object object = {.endpoint = LS_STR("https://10.0.0.1"),
						.bucket = LS_STR("logs"),
						.key = LS_STR("k"),
						.virtual_host = true};
	ls_object_call call = {.method = LS_STR("GET"), .of_bucket = true};
	ls_object_request request;
	ls_arena *tiny = ls_arena_create(NULL, 200);
	ls_str authorization;

#define QUERY "?partNumber=1&uploadId=x"
	check_url("https://s3.example", false, "https://s3.example/logs/a/year%3D2026/b.csv" QUERY,
			  "s3.example");
	check_url("https://s3.example:443/", false, "https://s3.example/logs/a/year%3D2026/b.csv" QUERY,
			  "s3.example");
	check_url("http://s3.example:9000", false,
			  "http://s3.example:9000/logs/a/year%3D2026/b.csv" QUERY, "s3.example:9000");
	check_url("https://s3.example", true, "https://logs.s3.example/a/year%3D2026/b.csv" QUERY,
			  "logs.s3.example");
	check_url("https://[2001:db8::1]:9000", false,
			  "https://[2001:db8::1]:9000/logs/a/year%3D2026/b.csv" QUERY, "[2001:db8::1]:9000");

	ok(ls_object_request_write(&object, &call, arena, &request) != NULL,
	   "no bucket in front of an address");
	object.virtual_host = false;
	ok(ls_object_request_write(&object, &call, arena, &request) == NULL, "of a bucket");
	is_str(request.url, "https://10.0.0.1/logs", "its URL");
	is_str(header(&request, "Content-Length"), "(none)", "GET has no length");
	call.method = LS_STR("POST");
	ls_object_request_write(&object, &call, arena, &request);
	is_str(header(&request, "Content-Length"), "0", "POST has");
	is_str(header(&request, "x-amz-content-sha256"),
		   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		   "the hash of nothing");
	authorization = header(&request, "Authorization");
	call.body = LS_STR("x");
	ls_object_request_write(&object, &call, arena, &request);
	is_str(header(&request, "Content-Type"), "application/octet-stream", "a body has a type");
	ok(!ls_str_eq(header(&request, "Authorization"), authorization), "the body is signed");
	object.endpoint = LS_STR("ftp://x");
	ok(ls_object_request_write(&object, &call, arena, &request) != NULL, "no URL");
	object.endpoint = LS_STR("https://s3.example");
	ok(ls_object_request_write(&object, &call, tiny, &request) != NULL, "no memory");
	ls_arena_destroy(tiny);
}

static void
check_answers(void)
{
	const ls_str list =
		LS_STR("<?xml version=\"1.0\"?><R xmlns=\"x\"><UploadIdMarker></UploadIdMarker>"
			   "<Upload><Key>a/b</Key><UploadId>other</UploadId></Upload>"
			   "<Upload><UploadId>bad id</UploadId><Key>a</Key></Upload>"
			   "<Upload><UploadId>mine</UploadId><Key>a</Key></Upload></R>");
	size_t at = 0;
	char long_token[LS_OBJECT_TOKEN + 2];

	is_str(ls_object_unfinished(list, LS_STR("a")), "mine", "the upload of a key");
	is_str(ls_object_unfinished(list, LS_STR("a/b")), "other", "of another");
	is_str(ls_object_unfinished(list, LS_STR("b")), "", "of none");
	is_str(ls_object_unfinished(LS_STR("<Upload><Key>a</Key><UploadId>x"), LS_STR("a")), "",
		   "a list that is cut off");
	is_str(ls_object_element(list, "UploadId", &at), "other", "an element");
	is_str(ls_object_element(list, "UploadId", &at), "bad id", "the next one");
	at = 0;
	is_str(ls_object_element(LS_STR("<Upload"), "Upload", &at), "", "half a tag");
	at = 0;
	is_str(ls_object_element(LS_STR(""), "Upload", &at), "", "nothing");

	ok(ls_object_token_valid(LS_STR("\"0123-2\"")), "an entity tag");
	ok(!ls_object_token_valid(LS_STR("")), "no token");
	ok(!ls_object_token_valid(LS_STR("a<b")), "XML");
	ok(!ls_object_token_valid(LS_STR("a\rb")), "a control character");
	memset(long_token, 'x', sizeof(long_token));
	ok(ls_object_token_valid(ls_str_make(long_token, LS_OBJECT_TOKEN)), "a long one");
	ok(!ls_object_token_valid(ls_str_make(long_token, LS_OBJECT_TOKEN + 1)), "too long");

	ok(!ls_object_failed(200, LS_STR("<CompleteMultipartUploadResult/>")), "200");
	ok(ls_object_failed(200, LS_STR("\n<Error><Code>InternalError</Code></Error>")),
	   "200 with an error");
	ok(ls_object_failed(307, LS_STR("")), "307");
}

static void
check_words(int status, const char *body, const char *expected)
{
	ls_buf out;

	ls_buf_init(&out, arena);
	ls_object_explain(&out, status, str(body));
	is_str(ls_str_make(out.data, out.len), expected, expected);
}

int
main(void)
{
	arena = ls_arena_create(NULL, 1 << 20);
	check_requests();
	check_answers();
	check_words(403, "<Error><Code>SignatureDoesNotMatch</Code><Message>m</Message></Error>",
				"the object store answered 403 SignatureDoesNotMatch: the secret access key is "
				"wrong, or the region");
	check_words(403, "", "the object store answered 403: the store refuses the access key");
	check_words(404, "<Error><Code>No such</Code></Error>",
				"the object store answered 404: there is no such bucket, or the endpoint is not "
				"that of an object store");
	check_words(400, "<Error><Code>Odd</Code></Error>", "the object store answered 400 Odd");
	check_words(500, "oops", "the object store answered 500: the store has failed");
	check_words(302, "",
				"the object store answered 302: a redirect is not followed: name the endpoint of "
				"the bucket's region");
	ls_arena_destroy(arena);
	return done_testing();
}
