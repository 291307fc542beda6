/* browser_test.c: cookies and origins. */
#include "src/identity/browser.h"
#include "test/unit/tap.h"

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static void
cookie(const char *header, const char *expected)
{
	ls_str value = LS_STR("");
	bool found = ls_cookie_find(str(header), LS_STR("sid"), &value);
	char name[200];

	snprintf(name, sizeof(name), "cookie: %s", header);
	ok(found == (expected != NULL) && (!found || ls_str_eq(value, str(expected))), name);
}

static void
origin(const char *text, const char *urls, bool expected)
{
	char name[200];

	snprintf(name, sizeof(name), "origin %s is %sin: %s", text, expected ? "" : "not ", urls);
	ok(ls_origin_in_list(str(text), str(urls)) == expected, name);
}

static void
url(const char *text, const char *urls, bool expected)
{
	char name[200];

	snprintf(name, sizeof(name), "URL %s is %sof: %s", text, expected ? "" : "not ", urls);
	ok(ls_url_in_list(str(text), str(urls)) == expected, name);
}

static void
callable(const char *text, bool expected, bool expected_local)
{
	bool local = false;
	char name[200];

	snprintf(name, sizeof(name), "%s may %sbe called", text, expected ? "" : "not ");
	ok(ls_url_callable(str(text), &local) == expected && (!expected || local == expected_local),
	   name);
}

int
main(void)
{
	url("https://a.example/path?x#y", "https://a.example", true);
	url("https://a.example:443", "https://a.example/app", true);
	url("https://a.example.evil.example/", "https://a.example", false);
	url("https://a.example@evil.example/", "https://a.example", false);
	url("https://evil.example/\\@a.example/", "https://evil.example", false);
	url("https://a.example\\.evil.example/", "https://a.example", false);
	url("https://a.example/\r\nX: y", "https://a.example", false);
	url("https://a.example/ x", "https://a.example", false);
	url("//a.example/", "https://a.example", false);
	url("/path", "https://a.example", false);
	url("http://a.example/", "https://a.example", false);
	url("", "https://a.example", false);
	url("javascript://a.example/%0aalert(1)", "https://a.example", false);

	callable("https://id.example/path", true, false);
	callable("http://id.example/", false, false);
	callable("http://127.0.0.1:8080/x", true, true);
	callable("http://localhost/", true, true);
	callable("http://[::1]:1/", true, true);
	callable("https://localhost/", true, true);
	callable("http://127.0.0.1.evil.example/", false, false);
	callable("http://127.0.0.1@evil.example/", false, false);
	callable("ftp://localhost:21/", false, false);
	callable("https:id.example", false, false);
	callable("", false, false);

	cookie("", NULL);
	cookie("sid=abc", "abc");
	cookie("a=b; sid=abc; c=d", "abc");
	cookie("a=b;sid=abc;c=d", "abc");
	cookie(" sid = abc ", "abc");
	cookie("sid=\"abc\"", "abc");
	cookie("sid=a=b", "a=b");
	cookie("xsid=abc; sidx=abc; SID=abc", NULL);
	cookie("sid=", NULL);
	cookie("sid", NULL);
	cookie("sid=\"\"", NULL);
	cookie("sid=a b", NULL);
	cookie("sid=a\x01", NULL);
	cookie("sid=\xc3\xa4", NULL);
	cookie("sid=one; sid=one", "one");
	cookie("sid=one; sid=two", NULL);
	cookie(";;; ; sid=abc;;", "abc");
	cookie("a=\"x; sid=abc\"", NULL);

	origin("https://logs.example.org", "https://logs.example.org", true);
	origin("https://logs.example.org", "https://logs.example.org/", true);
	origin("https://logs.example.org", "https://logs.example.org/path?x#y", true);
	origin("HTTPS://Logs.Example.ORG", "https://logs.example.org", true);
	origin("https://logs.example.org:443", "https://logs.example.org", true);
	origin("http://logs.example.org:80", "http://logs.example.org", true);
	origin("http://localhost:8080", "https://a.example, http://localhost:8080 ,b", true);
	origin("http://[::1]:8080", "http://[::1]:8080", true);
	origin("http://[::1]", "http://[::1]:80", true);
	origin("http://logs.example.org", "https://logs.example.org", false);
	origin("https://logs.example.org:8443", "https://logs.example.org", false);
	origin("https://logs.example.org.evil.test", "https://logs.example.org", false);
	origin("https://evil.test/https://logs.example.org", "https://logs.example.org", false);
	origin("https://logs.example.org@evil.test", "https://logs.example.org", false);
	origin("https://logs.example.org/", "https://logs.example.org", false);
	origin("https://example.org", "https://logs.example.org", false);
	origin("null", "null", false);
	origin("", "", false);
	origin("", "https://logs.example.org", false);
	origin("https://logs.example.org", "", false);
	origin("https://", "https://", false);
	origin("ftp://x", "ftp://x", false);
	origin("logs.example.org", "https://logs.example.org", false);
	return done_testing();
}
