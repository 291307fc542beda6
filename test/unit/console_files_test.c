/* console_files_test.c: the list of the console's files, paths, variants. */
#include "test/unit/tap.h"

#include "src/gateway/console_files.h"

#define SUM "0123456789abcdef0123456789abcdef"
#define PAGE "/\tindex.html\ttext/html\t" SUM "\tindex"
#define SCRIPT "/assets/main.A1.js\tassets/main.A1.js\ttext/javascript\t" SUM "\timmutable"

static ls_arena *arena;

/* The message about a list, with its line; "" when there is nothing to say. */
static void
check_list(const char *list, const char *expected)
{
	const char *error;
	char got[200] = "";
	int line;

	ls_arena_reset(arena);
	if (ls_console_read(arena, ls_str_make(list, strlen(list)), &error, &line) == NULL)
		snprintf(got, sizeof(got), "%d: %s", line, error);
	is_str(ls_str_make(got, strlen(got)), expected, expected[0] == '\0' ? "a good list" : expected);
}

static void
check_script(const char *path, const char *file, const char *expected)
{
	char list[1000];

	snprintf(list, sizeof(list), PAGE "\n%s\t%s\ttext/javascript\t" SUM "\timmutable\n", path,
			 file);
	check_list(list, expected);
}

static void
test_list(void)
{
#define BAD_PATH "2: its path is not of its class: / is index, what is below /assets/ is immutable"
#define BAD_FILE "2: its file is no name below the folder"
#define BAD_VARIANTS "1: its variants are not gz and br, each once"
	static char long_name[LS_CONSOLE_NAME + 2];
	static const char nul[] = PAGE "\n/assets/a\0b\tassets/a\ttext/css\t" SUM "\timmutable";
	const char *error;
	int line;

	check_list(PAGE, "");
	check_list(PAGE "\n", "");
	check_list(PAGE "\tgz\tbr\n" SCRIPT "\tbr\n", "");
	check_list("", "1: there is no file of class index");
	check_list(SCRIPT "\n", "2: there is no file of class index");
	check_list(PAGE "\n\n" SCRIPT, "2: it has less than five fields");
	check_list(PAGE "\n" SCRIPT "\n" SCRIPT, "3: its path is there twice");
	check_list(PAGE "\n" PAGE, "2: its path is there twice");
	check_list(PAGE "\tgz\tgz", BAD_VARIANTS);
	check_list(PAGE "\tzst", BAD_VARIANTS);
	check_list(PAGE "\t", BAD_VARIANTS);
	check_list("/\tindex.html\ttext/html\t" SUM, "1: it has less than five fields");
	check_list("/\tindex.html\ttext/html\t" SUM "\tcached",
			   "1: its class is neither immutable nor index");
	check_list("/\tindex.html\ttext/html\t" SUM "\timmutable",
			   "1: its path is not of its class: / is index, what is below /assets/ is immutable");
	check_list("/\tindex.html\t\t" SUM "\tindex", "1: its content type is none");
	check_list("/\tindex.html\ttext/html\r\t" SUM "\tindex", "1: its content type is none");
	check_list("/\tindex.html\ttext/html\tabc\tindex",
			   "1: its checksum is not 32 hexadecimal digits");
	check_list("/\tindex.html\ttext/html\t0123456789ABCDEF0123456789abcdef\tindex",
			   "1: its checksum is not 32 hexadecimal digits");

	check_script("/assets/a/b-c_d.e.js", "x/y.js", "");
	check_script("/api/v1", "a", BAD_PATH);
	check_script("/assets", "a", BAD_PATH);
	check_script("/assets/", "a", BAD_PATH);
	check_script("/assets/../api", "a", BAD_PATH);
	check_script("/assets//a", "a", BAD_PATH);
	check_script("/assets/a%2f", "a", BAD_PATH);
	check_script("/assets/a b", "a", BAD_PATH);
	check_script("assets/a", "a", BAD_PATH);
	check_script("/assets/a", "", BAD_FILE);
	check_script("/assets/a", "/etc/passwd", BAD_FILE);
	check_script("/assets/a", "..", BAD_FILE);
	check_script("/assets/a", "../a", BAD_FILE);
	check_script("/assets/a", "a/../../b", BAD_FILE);
	check_script("/assets/a", "a/./b", BAD_FILE);
	check_script("/assets/a", "a//b", BAD_FILE);
	check_script("/assets/a", "a/", BAD_FILE);
	check_script("/assets/a", ".hidden", BAD_FILE);
	check_script("/assets/a", "a\\b", BAD_FILE);
	check_script("/assets/a", "a\rb", BAD_FILE);
	check_script("/assets/a", "\xc3\xa4", BAD_FILE);
	memset(long_name, 'a', LS_CONSOLE_NAME + 1);
	check_script("/assets/a", long_name, BAD_FILE);
	long_name[LS_CONSOLE_NAME] = '\0';
	check_script("/assets/a", long_name, "");

	ls_arena_reset(arena);
	ok(ls_console_read(arena, ls_str_make(nul, sizeof(nul) - 1), &error, &line) == NULL &&
		   line == 2,
	   "NUL in a path");
}

static void
test_many(void)
{
	ls_buf list;
	const char *error;
	int line;

	for (int n = LS_CONSOLE_FILES; n <= LS_CONSOLE_FILES + 1; n++)
	{
		ls_console *console;

		ls_arena_reset(arena);
		ls_buf_init(&list, arena);
		ls_buf_lit(&list, PAGE "\n");
		for (int i = 1; i < n; i++)
			ls_buf_printf(&list, "/assets/%d\ta\ttext/css\t" SUM "\timmutable\n", i);
		console = ls_console_read(arena, ls_str_make(list.data, list.len), &error, &line);
		if (n > LS_CONSOLE_FILES)
			ok(console == NULL && line == n, "one file too many");
		else
			ok(console != NULL && ls_console_find(console, LS_STR("/assets/999")) != NULL &&
				   ls_console_file_at(console, 999) != NULL &&
				   ls_console_file_at(console, 1000) == NULL,
			   "as many files as there may be");
	}
}

static void
test_find(void)
{
	static const char *const missing[] = {"",
										  "/assets/",
										  "/assets/main.A1.js/",
										  "/assets/main.A1.js.br",
										  "/assets/MAIN.A1.js",
										  "/assets/main%2eA1.js",
										  "//assets/main.A1.js",
										  "/assets/../assets/main.A1.js",
										  "/assets/main.A1.js?",
										  "/index.html",
										  "assets/main.A1.js"};
	const char *list = PAGE "\n" SCRIPT "\tbr";
	const char *error;
	int line;
	ls_console *console;

	ls_arena_reset(arena);
	console = ls_console_read(arena, ls_str_make(list, strlen(list)), &error, &line);
	ok(ls_console_find(console, LS_STR("/assets/main.A1.js")) == ls_console_file_at(console, 1),
	   "a script");
	ok(ls_console_page(console) == ls_console_file_at(console, 0), "the page");
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		ok(ls_console_find(console, ls_str_make(missing[i], strlen(missing[i]))) == NULL,
		   missing[i]);
	ok(ls_console_find(console, ls_str_make("/assets/main.A1.js", 19)) == NULL, "with a NUL");
}

static void
test_content(void)
{
	/* printf 'abc' | sha256sum */
	const char *list = "/\tindex.html\ttext/html\tba7816bf8f01cfea414140de5dae2223\tindex\tgz";
	const char *error;
	int line;
	ls_console_file *page;

	ls_arena_reset(arena);
	page = ls_console_file_at(
		ls_console_read(arena, ls_str_make(list, strlen(list)), &error, &line), 0);
	ok(!ls_console_set(page, LS_VARIANT_PLAIN, LS_STR("abd")), "another content");
	ok(ls_console_set(page, LS_VARIANT_PLAIN, LS_STR("abc")), "the content of the list");
	ok(ls_console_set(page, LS_VARIANT_GZIP, LS_STR("abd")), "a variant");
	is_str(ls_str_make(page->tag[LS_VARIANT_PLAIN], strlen(page->tag[LS_VARIANT_PLAIN])),
		   "\"ba7816bf8f01cfea414140de5dae2223\"", "a strong tag");
	ok(strcmp(page->tag[LS_VARIANT_PLAIN], page->tag[LS_VARIANT_GZIP]) != 0,
	   "each variant has its own");
}

static void
test_screens(void)
{
	static const char *const screens[] = {"/",
										  "/sign-in",
										  "/sign-in/",
										  "/sign-up",
										  "/verify-email",
										  "/forgot-password",
										  "/reset-password",
										  "/invitations/accept",
										  "/o/acme",
										  "/o/acme/search",
										  "/o/acme/a.b",
										  "/d/abc",
										  "/evaluate",
										  "/welcome"};
	static const char *const others[] = {
		"",           "//",          "/o",       "/o/",          "/d",         "/d/",
		"/api",       "/api/v1/x",   "/v1/logs", "/v1/x",        "/scim/v2",   "/mcp",
		"/sign-in/x", "/sign-inx",   "/Sign-In", "/invitations", "/assets/x",  "/sign%2din",
		"/o\\acme",   "/index.html", "/status",  "/loki/o/",     "/etc/passwd"};

	for (size_t i = 0; i < sizeof(screens) / sizeof(screens[0]); i++)
		ok(ls_console_is_screen(ls_str_make(screens[i], strlen(screens[i]))), screens[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ok(!ls_console_is_screen(ls_str_make(others[i], strlen(others[i]))), others[i]);
}

static void
check_variant(const char *accept, ls_variant of_both, ls_variant of_gzip)
{
	ls_console_file file = {.has = {true, true, true}};
	ls_str header = ls_str_make(accept, strlen(accept));

	is_int(ls_console_choose(&file, header), of_both, accept);
	file.has[LS_VARIANT_BROTLI] = false;
	is_int(ls_console_choose(&file, header), of_gzip, accept);
	file.has[LS_VARIANT_GZIP] = false;
	is_int(ls_console_choose(&file, header), LS_VARIANT_PLAIN, accept);
}

static void
test_choice(void)
{
	check_variant("", LS_VARIANT_PLAIN, LS_VARIANT_PLAIN);
	check_variant("gzip, deflate, br, zstd", LS_VARIANT_BROTLI, LS_VARIANT_GZIP);
	check_variant("gzip", LS_VARIANT_GZIP, LS_VARIANT_GZIP);
	check_variant("GZIP;q=0.5,BR;q=0.4", LS_VARIANT_GZIP, LS_VARIANT_GZIP);
	check_variant("gzip;q=0, br", LS_VARIANT_BROTLI, LS_VARIANT_PLAIN);
	check_variant("br;q=0, gzip", LS_VARIANT_GZIP, LS_VARIANT_GZIP);
	check_variant("br;q=0, gzip;q=0", LS_VARIANT_PLAIN, LS_VARIANT_PLAIN);
	check_variant("*", LS_VARIANT_BROTLI, LS_VARIANT_GZIP);
	check_variant("*;q=0", LS_VARIANT_PLAIN, LS_VARIANT_PLAIN);
	check_variant("br;q=0, *", LS_VARIANT_GZIP, LS_VARIANT_GZIP);
	check_variant("identity, br;q=0.9", LS_VARIANT_PLAIN, LS_VARIANT_PLAIN);
	check_variant("identity;q=0.5, br;q=0.5", LS_VARIANT_BROTLI, LS_VARIANT_PLAIN);
	check_variant("identity;q=0, gzip;q=0.1", LS_VARIANT_GZIP, LS_VARIANT_GZIP);
	check_variant("identity;q=0", LS_VARIANT_PLAIN, LS_VARIANT_PLAIN);
	check_variant("deflate, brx, xbr", LS_VARIANT_PLAIN, LS_VARIANT_PLAIN);
	check_variant(",;q=,br;q=x;q=1,", LS_VARIANT_BROTLI, LS_VARIANT_PLAIN);
}

int
main(void)
{
	ls_make_secret();
	arena = ls_arena_create(NULL, LS_CONSOLE_LIMIT);
	test_list();
	test_many();
	test_find();
	test_content();
	test_screens();
	test_choice();
	ls_arena_destroy(arena);
	return done_testing();
}
