/* breach_test.c: the built-in lists, sorted files, answers of a range service. */
#include <inttypes.h>
#include <stdlib.h>

#include "src/identity/breach.h"
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
hash_of(char hash[41], uint32_t n)
{
	/* Spread over the whole range, in order. */
	snprintf(hash, 41, "%08" PRIX32 "%032" PRIX32, n * 40000, n);
}

static void
test_common(void)
{
	static const char *const common[] = {
		"Password1234", "password", "P@ssw0rd2024!", "Welcome12345", "Qwertyuiop123",
		"!!Admin2025!!", "Passwordpassword1", "PASSWORDPASSWORD", "$ecret123456", "Summer2024!!!",
		"Abcdefghijkl1", "aaaaaaaaaaA1", "123456789012", "ILoveYou1234!",
		/* Among the 100,000, and little around it. */
		"Liverpool1892", "Liverpool1892!", "1892Liverpool", "#Liverpool#1892",
		"LiVeRpOoL1234567890", "L1verp00l1892", "!!Chelsea1905", "Manchester2024!",
		"Butterfly12345", "Butterfly!!!!!!!1", "Elephant7412!", "Trustno1!!2024", "Qwerty123456!",
		"1q2w3e4r5t6Y!", "Chelsea19051905", "Snowball99999999", "5unfl0wer2021!", "Mustan92024!!",
		"LiverpoolLiverpool1", "Butterfly987654321", "Marseille13-06",
		/* Two of them. */
		"sunshinedragon", "Passwordfootball1", "SunshineDragon12", "Sunshine-Dragon-1",
		"Sunsh1neDrag0n!", "Monkeykitten1", "TigerDragon12", "Monkey_Shadow2024"};
	static const char *const rare[] = {
		"Correct-Horse-9-Battery", "Tr0ub4dor&3xyz", "password of my mother 7", "Mypasswordisrare1",
		"x7Kq0vPz2mLw", "Liverpool 1892 was a year", "Blue-kettle-and-7-spoons",
		"Number-0-of-many-words", "A-new-word-for-8-days", "In-no-list-of-2-words",
		"My dog eats 3 shoes", "Somebody-elses-1-word", "Liverpool58213974", "Butterfly#Kitchen42",
		"umbrella-Giraffe-6", "Kj8391047265", "Vivid-Otter-Plans-42-Trips", "gT7#pQ2!vX9z",
		"Xq83hf0Kd92m", "Haus am See 4711 Blick",
		("Gr\xc3\xbc\xc3\x9f"
		 "e aus Wien 3"),
		"Passwording12",
		/* Two with something between or around; three. */
		"Correct-horse-7", "ButterflyElephant1", "Sunshine7Dragon-otter", "DragonTeapotSunshine1",
		"Monkeydragonshadow1", "Correcthorsebatterystaple1"};

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		ok(ls_breach_is_common(ls_str_make(common[i], strlen(common[i]))), common[i]);
	for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++)
		ok(!ls_breach_is_common(ls_str_make(rare[i], strlen(rare[i]))), rare[i]);
	ok(ls_breach_is_common(LS_STR("")), "nothing is nothing");
}

/* Random passwords and phrases are none of the common ones. */
static void
test_false_positives(void)
{
	static const char *const words[] = {"apple", "blue",   "kettle", "river", "spoon", "train",
										"house", "green",  "lamp",   "stone", "cloud", "paper",
										"mouse", "garden", "bridge", "winter"};
	static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	uint64_t state = 1;
	int random_found = 0;
	int phrases_found = 0;
	int joined_found = 0;

	for (int n = 0; n < 20000; n++)
	{
		char password[128];
		size_t len = 0;

		for (; len < 12; len++)
		{
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			password[len] = signs[state >> 58];
		}
		random_found += ls_breach_is_common(ls_str_make(password, len));
		len = 0;
		for (int word = 0; word < 4; word++)
		{
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			len += (size_t) snprintf(password + len, sizeof(password) - len, "%s-",
									 words[state >> 60]);
		}
		len += (size_t) snprintf(password + len, sizeof(password) - len, "7");
		password[0] = (char) (password[0] - 'a' + 'A');
		phrases_found += ls_breach_is_common(ls_str_make(password, len));
	}
	/* Three words with nothing between, of 16 characters or more. */
	for (int n = 0; n < 16 * 16 * 16; n++)
	{
		char password[128];
		size_t len = (size_t) snprintf(password, sizeof(password), "%s%s%s7", words[n % 16],
									   words[n / 16 % 16], words[n / 256]);

		password[0] = (char) (password[0] - 'a' + 'A');
		if (len >= 16 && (n % 16 != n / 16 % 16 || n % 16 != n / 256))
			joined_found += ls_breach_is_common(ls_str_make(password, len));
	}
	is_int(joined_found, 0, "no three words that are joined");
	is_int(random_found, 0, "no random password is common");
	is_int(phrases_found, 0, "no phrase of four words is common");
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

	for (uint32_t i = 0; i < LINES; i++)
	{
		hash_of(hash, 2 * i + 1);
		f.size += (size_t) sprintf(f.data + f.size, "%s:%" PRIu32 "%s", hash, i * i + 1, end);
	}
	for (uint32_t i = 0; i <= 2 * LINES; i++)
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
	test_false_positives();
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
