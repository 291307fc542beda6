/*-------------------------------------------------------------------------
 *
 * breach_common.c
 *	  Is a password a common one with decoration? (pure)
 *
 * What is tried first is not the list of breached passwords but that list with
 * capitals, years, digits and signs, for that is how people meet rules about
 * classes.  So the password is reduced to what was common before: lower case,
 * without digits and signs around, with letters for the usual signs.
 *
 * Two of such words joined, "Sunshinedragon1", are two places in lists and no
 * more: what is around them must be worth the rest.  Three words are enough.
 *
 * Two lists are looked at.  Words that lead all published lists (stems) are
 * refused with any decoration.  The 100,000 most used passwords are refused
 * unless what is around them is worth something by itself.  Those are a sorted
 * array of truncated hashes, in the read-only data of the library: made by
 * common_passwords.pl, 620 kB that all processes share.
 *
 *-------------------------------------------------------------------------
 */
#include "src/identity/breach.h"

#include <string.h>

/* Of the SHA-256 of each; of 103,344 and a random one, two agree in 4e-10 of cases. */
#define HASH_BYTES 6
#define LONGEST 40 /* of what is in the list */

/*
 * What must be around a listed password, in tenths of a bit: some seven random
 * digits.  With the 17 bits of its place in the list and some for capitals,
 * that is 2^43 passwords to try at a tenth of a second each.
 */
#define ENOUGH 240
/* What a place in a list is worth by itself: among 100 stems, among 100,000 entries. */
#define STEM_WORTH 70
#define ENTRY_WORTH 170
#define SHORTEST_WORD 5 /* of two that are joined: shorter ones are parts of any word */

/*
 * Entries of the list may themselves be two words: a password of this length can be three, which
 * are enough.  Two stems are two words whatever their length.
 */
#define MAY_BE_THREE_WORDS 16

#define MOST_TRIED 256 /* with four look-ups each: wrong in less than 1e-6 of passwords */

__asm__(".pushsection .rodata\n"
		".globl ls_common_passwords\n"
		".hidden ls_common_passwords\n"
		".globl ls_common_passwords_end\n"
		".hidden ls_common_passwords_end\n"
		"ls_common_passwords:\n"
		".incbin \"src/identity/common_passwords.bin\"\n"
		"ls_common_passwords_end:\n"
		".byte 0\n"
		".popsection\n");
extern const uint8_t ls_common_passwords[] __attribute__((visibility("hidden")));
extern const uint8_t ls_common_passwords_end[] __attribute__((visibility("hidden")));

/* ---- the words that lead ---- */

static const char *const stems[] = {"password",
									"passwort",
									"passwd",
									"passw",
									"pass",
									"welcome",
									"willkommen",
									"qwerty",
									"qwertyuiop",
									"qwertyui",
									"qwertz",
									"azerty",
									"asdfgh",
									"asdfghjkl",
									"asdf",
									"zxcvbn",
									"zxcvbnm",
									"qazwsx",
									"qazwsxedc",
									"letmein",
									"admin",
									"administrator",
									"adminadmin",
									"root",
									"changeme",
									"changeit",
									"change",
									"secret",
									"default",
									"guest",
									"user",
									"test",
									"testing",
									"tester",
									"temp",
									"login",
									"master",
									"monkey",
									"dragon",
									"iloveyou",
									"loveyou",
									"love",
									"sunshine",
									"princess",
									"football",
									"baseball",
									"basketball",
									"superman",
									"batman",
									"starwars",
									"pokemon",
									"trustno",
									"whatever",
									"freedom",
									"shadow",
									"michael",
									"jessica",
									"ashley",
									"charlie",
									"jordan",
									"hunter",
									"computer",
									"internet",
									"samsung",
									"google",
									"facebook",
									"microsoft",
									"windows",
									"linux",
									"oracle",
									"postgres",
									"postgresql",
									"mysql",
									"database",
									"server",
									"system",
									"company",
									"office",
									"january",
									"february",
									"march",
									"april",
									"may",
									"june",
									"july",
									"august",
									"september",
									"october",
									"november",
									"december",
									"spring",
									"summer",
									"autumn",
									"fall",
									"winter",
									"sommer",
									"monday",
									"tuesday",
									"wednesday",
									"thursday",
									"friday",
									"saturday",
									"sunday",
									"hello",
									"helloworld",
									"abc",
									"abcd",
									"abcdef",
									"abcdefg",
									"abcdefgh",
									"abcdefghijkl",
									"aa",
									"aaa",
									"a",
									"logsvc",
									"logging",
									"mypassword",
									"thepassword",
									"newpassword",
									"yourpassword",
									"passwordpassword"};

/* The letter that a sign stands for in passwords; 0 for none. */
static char
letter_of(char c)
{
	if (c >= 'a' && c <= 'z')
		return c;
	if (c >= 'A' && c <= 'Z')
		return (char) (c - 'A' + 'a');
	switch (c)
	{
		case '0':
			return 'o';
		case '1':
		case '!':
			return 'i';
		case '3':
			return 'e';
		case '4':
		case '@':
			return 'a';
		case '5':
		case '$':
			return 's';
		case '7':
			return 't';
		default:
			return 0;
	}
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char) c >= 0x80;
}

/* Is `word` one of the stems, or one of them some times over? */
static bool
is_stem(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++)
	{
		size_t stem = strlen(stems[i]);
		size_t at = 0;

		if (len % stem != 0)
			continue;
		while (at < len && memcmp(word + at, stems[i], stem) == 0)
			at += stem;
		if (at == len)
			return true;
	}
	return false;
}

static bool
is_decorated_stem(ls_str password)
{
	char word[128];
	size_t from = 0;
	size_t to = password.len;

	/*
	 * What is around the first and the last letter is decoration; but in
	 * "Passw0rd" and "P@55w0rd" a digit between letters is a letter, and in
	 * "$ecret2024" the sign before them is: with and without it.
	 */
	while (to > 0 && !is_letter(password.data[to - 1]))
		to--;
	while (from < to && !is_letter(password.data[from]))
		from++;
	if (to == 0)
		return true; /* no letter at all */
	for (size_t start = from;; start--)
	{
		size_t len = to - start;
		bool words = len <= sizeof(word);

		for (size_t i = 0; words && i < len; i++)
		{
			word[i] = letter_of(password.data[start + i]);
			words = word[i] != 0;
		}
		if (words && is_stem(word, len))
			return true;
		if (start == 0 || start + 2 == from)
			return false;
	}
}

/* ---- the list ---- */

static bool
in_list(const char *word, size_t len)
{
	size_t low = 0;
	size_t high = (size_t) (ls_common_passwords_end - ls_common_passwords) / HASH_BYTES;
	uint8_t hash[LS_SHA256_LENGTH];

	ls_sha256(word, len, hash);
	while (low < high)
	{
		size_t middle = low + (high - low) / 2;
		int order = memcmp(hash, ls_common_passwords + middle * HASH_BYTES, HASH_BYTES);

		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* In the list, or one of the list some times over? */
static bool
is_listed(const char *word, size_t len)
{
	size_t unit = 1;

	if (in_list(word, len))
		return true;
	while (unit < len && (len % unit != 0 || memcmp(word, word + unit, len - unit) != 0))
		unit++;
	return unit < len && in_list(word, unit);
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* How many characters from `at` on are one over and over, or digits that count up or down. */
static size_t
run_at(ls_str s, size_t at)
{
	size_t run = 1;
	int step;

	if (at + 1 == s.len)
		return 1;
	step = s.data[at + 1] - s.data[at];
	if (step != 0 && !(is_digit(s.data[at]) && is_digit(s.data[at + 1])))
		return 1;
	/* After 9 comes 0, in both directions. */
	if (step == 9 || step == -9)
		step = step < 0 ? 1 : -1;
	if (step < -1 || step > 1)
		return 1;
	while (at + run < s.len)
	{
		char last = s.data[at + run - 1];
		char next = s.data[at + run];

		if (step == 0 ? next != last : !is_digit(next) || (next - last - step + 20) % 10 != 0)
			break;
		run++;
	}
	return run;
}

/* What decoration is worth, in tenths of a bit: how it is usually chosen, not what it could be. */
static int
worth(ls_str s)
{
	int bits = 0;

	for (size_t at = 0; at < s.len && bits < ENOUGH;)
	{
		const char *c = s.data + at;
		size_t run = run_at(s, at);
		int one = is_digit(*c) ? 33 : 40;

		if (s.len - at >= 4 && ((c[0] == '1' && c[1] == '9') || (c[0] == '2' && c[1] == '0')) &&
			is_digit(c[2]) && is_digit(c[3]) && run < 3)
		{
			bits += 70; /* a year */
			at += 4;
		}
		else if (run >= 3 || (run == 2 && c[0] == c[1]))
		{
			bits += one + 15;
			at += run;
		}
		else
		{
			bits += one;
			at++;
		}
	}
	return bits;
}

/* The letters that signs stand for; 1 and ! are i or l. */
static bool
without_signs(const char *word, size_t len, char one, char *to)
{
	bool any = false;

	for (size_t i = 0; i < len; i++)
	{
		char letter = word[i] == '1' || word[i] == '!' ? one
					  : word[i] == '9'                 ? 'g'
					  : word[i] == '8'                 ? 'b'
					  : word[i] == '+'                 ? 't'
													   : letter_of(word[i]);

		to[i] = letter == 0 ? word[i] : letter;
		any = any || to[i] != word[i];
	}
	return any;
}

/* Is a part of the password with all its letters listed, and the rest worth little? */
static bool
is_decorated_entry(ls_str password)
{
	size_t from = 0;
	size_t to = password.len;
	int tried = 0;

	while (to > 0 && !is_letter(password.data[to - 1]))
		to--;
	while (from < to && !is_letter(password.data[from]))
		from++;
	for (size_t start = from + 1; start-- > 0;)
	{
		int before = worth(ls_str_make(password.data, start));

		if (to - start > LONGEST)
			return false;
		for (size_t end = to; end <= password.len && end - start <= LONGEST; end++)
		{
			size_t len = end - start;
			char word[LONGEST];
			char plain[LONGEST];

			if (before + worth(ls_str_make(password.data + end, password.len - end)) >= ENOUGH)
				continue;
			if (++tried > MOST_TRIED)
				return false;
			for (size_t i = 0; i < len; i++)
			{
				char c = password.data[start + i];

				word[i] = c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
			}
			if (is_listed(word, len))
				return true;
			if (without_signs(word, len, 'i', plain) && is_listed(plain, len))
				return true;
			if (memchr(word, '1', len) == NULL && memchr(word, '!', len) == NULL)
				continue;
			if (without_signs(word, len, 'l', plain) && is_listed(plain, len))
				return true;
		}
	}
	return false;
}

/* What a word is worth, in tenths of a bit; 0 when it is no common one. */
static int
word_worth(const char *word, size_t len, bool stems_only)
{
	if (len < SHORTEST_WORD)
		return 0;
	if (is_stem(word, len))
		return STEM_WORTH;
	return !stems_only && in_list(word, len) ? ENTRY_WORTH : 0;
}

/* Are two common words, joined or with one sign between, and the rest worth little? */
static bool
is_two_words(ls_str password)
{
	size_t from = 0;
	size_t to = password.len;
	bool stems_only = password.len >= MAY_BE_THREE_WORDS;
	int around;

	while (to > 0 && !is_letter(password.data[to - 1]))
		to--;
	while (from < to && !is_letter(password.data[from]))
		from++;
	if (to - from > 2 * LONGEST)
		return false;
	around = worth(ls_str_make(password.data, from)) +
			 worth(ls_str_make(password.data + to, password.len - to));
	/* As it is, and with letters for signs, of which 1 and ! are two. */
	for (int variant = 0; variant < 3; variant++)
	{
		char word[2 * LONGEST];
		size_t len = to - from;

		for (size_t i = 0; i < len; i++)
		{
			char c = password.data[from + i];

			word[i] = c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
		}
		if (variant > 0 && !without_signs(word, len, variant == 1 ? 'i' : 'l', word))
			break;
		for (size_t end = SHORTEST_WORD; end + SHORTEST_WORD <= len; end++)
		{
			int first = word_worth(word, end, stems_only);
			int second;

			if (first == 0)
				continue;
			second = word_worth(word + end, len - end, stems_only);
			if (second > 0 && first + second + around < ENTRY_WORTH + ENOUGH)
				return true;
			if (is_letter(word[end]))
				continue;
			second = word_worth(word + end + 1, len - end - 1, stems_only);
			if (second > 0 &&
				first + second + around + worth(ls_str_make(word + end, 1)) < ENTRY_WORTH + ENOUGH)
				return true;
		}
	}
	return false;
}

bool
ls_breach_is_common(ls_str password)
{
	return is_decorated_stem(password) || is_decorated_entry(password) || is_two_words(password);
}
