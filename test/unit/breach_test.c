/* breach_test.c: the built-in list, sorted files, answers of a range service. */
#include <stdlib.h>

#include "src/access/breach.h"
#include "test/unit/tap.h"

typedef struct memory_file
{
	char *data;
	size_t size;
	int reads;
	bool fails;
} memory_file;

static int64_t
read_memory(void *context, uint64_t offset, char *buffer, size_t size)
{
	memory_file *f = context;

	f->reads++;
	if (f->fails || offset > f->size)
		return -1;
	if (size > f->size - offset)
		size = f->size - offset;
	memcpy(buffer, f->data + offset, size);
	return (int64_t) size;
}

static ls_breach_result
search(memory_file *f, const char *hash)
{
	f->reads = 0;
	return ls_breach_search(read_memory, f, f->size, hash);
}

static ls_breach_result
search_text(const char *text, const char *hash)
{
	memory_file f = {.data = (char *) text, .size = strlen(text)};

	return search(&f, hash);
}

static void
hash_of(char hash[41], unsigned long n)
{
	/* Spread over the whole range, in order. */
	snprintf(hash, 41, "%08lX%032lX", n * 40000, n);
}

static void
test_common(void)
{
	static const char *const common[] = {
		"Password1234", "password", "P@ssw0rd2024!", "Welcome12345", "Qwertyuiop123",
		"!!Admin2025!!", "Passwordpassword1", "PASSWORDPASSWORD", "$ecret123456", "Summer2024!!!",
		"Abcdefghijkl1", "aaaaaaaaaaA1", "123456789012", "ILoveYou1234!"};
	static const char *const rare[] = {
		"Correct-Horse-9-Battery", "Tr0ub4dor&3xyz", "password of my mother 7",
		"Mypasswordisrare1", "x7Kq0vPz2mLw", "Gr\xc3\xbc\xc3\x9f" "e aus Wien 3", "Passwording12"};

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		ok(ls_breach_is_common(ls_str_make(common[i], strlen(common[i]))), common[i]);
	for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++)
		ok(!ls_breach_is_common(ls_str_make(rare[i], strlen(rare[i]))), rare[i]);
	ok(ls_breach_is_common(LS_STR("")), "nothing is nothing");
}

static void
test_search(const char *end)
{
	enum
	{
		LINES = 5000
	};
	memory_file f = {malloc(LINES * 64)};
	char hash[41];
	int wrong = 0;
	int most = 0;

	for (unsigned long i = 0; i < LINES; i++)
	{
		hash_of(hash, 2 * i + 1);
		f.size += (size_t) sprintf(f.data + f.size, "%s:%lu%s", hash, i * i + 1, end);
	}
	for (unsigned long i = 0; i <= 2 * LINES; i++)
	{
		hash_of(hash, i);
		if (search(&f, hash) != (i % 2 ? LS_BREACH_FOUND : LS_BREACH_ABSENT))
			wrong++;
		most = f.reads > most ? f.reads : most;
	}
	is_int(wrong, 0, "each line is found, and nothing between");
	ok(most <= 16, "a search reads as often as a binary search does");

	/* Without the last line end. */
	f.size -= strlen(end);
	hash_of(hash, 2 * LINES - 1);
	is_int(search(&f, hash), LS_BREACH_FOUND, "the last line needs no end");
	f.fails = true;
	is_int(search(&f, hash), LS_BREACH_UNREADABLE, "an error of the disk");
	free(f.data);
}

int
main(void)
{
	static const char a[] = "0000000000000000000000000000000000000AAA";
	static const char b[] = "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";

	test_common();
	test_search("\n");
	test_search("\r\n");
	is_int(search_text("", a), LS_BREACH_ABSENT, "an empty file");
	is_int(search_text("0000000000000000000000000000000000000aaa\n", a), LS_BREACH_FOUND,
		   "no count, small letters");
	is_int(search_text("0000000000000000000000000000000000000AAA:0\n", a), LS_BREACH_ABSENT,
		   "count 0 is padding");
	is_int(search_text("0000000000000000000000000000000000000AAA:7", b), LS_BREACH_ABSENT,
		   "behind the last");
	is_int(search_text("no hash", a), LS_BREACH_UNREADABLE, "not a list");
	is_int(search_text("0000000000000000000000000000000000000AAA;7\n", a), LS_BREACH_UNREADABLE,
		   "another separator");
	is_int(search_text("0000000000000000000000000000000000000AAA:7x\n", a), LS_BREACH_UNREADABLE,
		   "a count that is none");
	{
		memory_file f = {calloc(100000, 1), 100000};

		is_int(search(&f, a), LS_BREACH_UNREADABLE, "zeros without a line");
		ok(f.reads <= 80, "and soon seen");
		memset(f.data, '\n', f.size);
		is_int(search(&f, a), LS_BREACH_UNREADABLE, "empty lines");
		free(f.data);
	}

	is_int(ls_breach_in_range(LS_STR("00000000000000000000000000000000AAA:3\r\n"
									 "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF:0\r\n"
									 "0000000000000000000000000000000000B:1"),
							  "0000000000000000000000000000000000B"),
		   LS_BREACH_FOUND, "in a range, the last line");
	is_int(ls_breach_in_range(LS_STR("FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF:0\r\n"), b),
		   LS_BREACH_ABSENT, "padding of a range");
	is_int(ls_breach_in_range(LS_STR(""), b), LS_BREACH_ABSENT, "an empty range");
	is_int(ls_breach_in_range(LS_STR("<html>\n"), b), LS_BREACH_UNREADABLE, "not a range");
	return done_testing();
}
