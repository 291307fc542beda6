/*-------------------------------------------------------------------------
 *
 * judge_stem.c
 *	  Words to stems, for the built-in evaluator (pure).
 *
 * "started", "starting" and "starts" are one word for the evaluator.  Words are compared by the
 * hash of their stem only.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

static bool
has_vowel(const char *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memchr("aeiouy", w[i], 6) != NULL)
			return true;
	return false;
}

static inline bool
ends(const char *w, size_t n, const char *suffix, size_t len)
{
	return n >= len && memcmp(w + n - len, suffix, len) == 0;
}

/* Forms of verbs that no suffix tells: each form and its base, by turns. */
static size_t
irregular(char *w, size_t n)
{
	static const char *const forms[] = {
		"ran",         "run",        "began",     "begin",    "begun",    "begin",     "taken",
		"take",        "overridden", "override",  "overrode", "override", "held",      "hold",
		"kept",        "keep",       "chosen",    "choose",   "chose",    "choose",    "frozen",
		"freeze",      "froze",      "freeze",    "hidden",   "hide",     "rewritten", "rewrite",
		"overwritten", "overwrite",  "paid",      "pay",      "sold",     "sell",      "bought",
		"buy",         "caught",     "catch",     "brought",  "bring",    "fell",      "fall",
		"fallen",      "fall",       "rose",      "rise",     "risen",    "rise",      "grew",
		"grow",        "grown",      "grow",      "given",    "give",     "thrown",    "throw",
		"threw",       "throw",      "rebuilt",   "rebuild",  "reran",    "rerun",     "resent",
		"resend",      "stolen",     "steal",     "woke",     "wake",     "woken",     "wake",
		"won",         "win",        "withdrawn", "withdraw", "came",     "come",      "became",
		"become",      "blew",       "blow"};

	if (n < 3 || n > 11)
		return n;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i += 2)
		if (forms[i][0] == w[0] && strlen(forms[i]) == n && memcmp(forms[i], w, n) == 0)
		{
			n = strlen(forms[i + 1]);
			memcpy(w, forms[i + 1], n);
			return n;
		}
	return n;
}

/*
 * A light stemmer for English: enough to bring together start/starts/started/starting and
 * connect/connection, cautious enough to leave names alone.
 */
size_t
ls_judge_stem_word(char *w, size_t n)
{
	if (n == 4 && (memcmp(w, "note", 4) == 0 || memcmp(w, "done", 4) == 0))
		return n; /* not the stems of not and don't */
	n = irregular(w, n);
	if (n < 3 || ls_judge_is_digit(w[n - 1]))
		return n;
	if (n > 4 && (ends(w, n, "ies", 3) || ends(w, n, "ied", 3)))
		n -= 2; /* retries, retried: retri */
	else if (n > 3 && w[n - 1] == 's' && w[n - 2] != 's' && w[n - 2] != 'u' && w[n - 2] != 'i')
	{
		n--;
		if (n > 4 && (ends(w, n, "sse", 3) || ends(w, n, "she", 3) || ends(w, n, "che", 3) ||
					  ends(w, n, "xe", 2)))
			n--;
	}
	if (n > 6 && ends(w, n, "fully", 5))
		n -= 2;
	else if (n > 5 && ends(w, n, "ly", 2))
		n -= 2;
	if (n > 4 && ends(w, n, "ing", 3) && has_vowel(w, n - 3))
	{
		n -= 3;
		if (n > 7 && ends(w, n, "er", 2))
			n -= 2; /* registering, as register below */
	}
	else if (n > 4 && ends(w, n, "ed", 2) && w[n - 3] != 'e' && has_vowel(w, n - 2))
	{
		n -= 2;
		if (n > 7 && ends(w, n, "er", 2))
			n -= 2;
	}
	else if (n > 6 && ends(w, n, "ion", 3))
		n -= 3;
	else if (n > 8 && ends(w, n, "ment", 4))
		n -= 4;
	else if (n > 7 && (ends(w, n, "er", 2) || ends(w, n, "or", 2)))
		n -= 2; /* collector */
	/* stopped, running */
	if (n > 3 && w[n - 1] == w[n - 2] && w[n - 1] != 'l' && w[n - 1] != 's' && w[n - 1] != 'e' &&
		w[n - 1] != 'o')
		n--;
	if (n > 3 && w[n - 1] == 'e')
		n--;
	if (n > 2 && w[n - 1] == 'y')
		w[n - 1] = 'i';
	return n;
}

uint64_t
ls_judge_hash_word(const char *w, size_t n)
{
	uint64_t h = n * UINT64_C(0x9E3779B97F4A7C15);
	uint64_t block;

	for (; n >= 8; w += 8, n -= 8)
	{
		memcpy(&block, w, 8);
		h = (h ^ block) * UINT64_C(0xFF51AFD7ED558CCD);
		h ^= h >> 32;
	}
	block = 0;
	memcpy(&block, w, n);
	h = (h ^ block) * UINT64_C(0xFF51AFD7ED558CCD);
	h ^= h >> 29;
	h *= UINT64_C(0xC4CEB9FE1A85EC53);
	h ^= h >> 32;
	return h ? h : 1;
}

uint64_t
ls_judge_stem(const char *word, size_t len)
{
	char buf[LS_STEM_MAX];

	if (len > sizeof(buf))
		return ls_judge_hash_word(word, len);
	memcpy(buf, word, len);
	return ls_judge_hash_word(buf, ls_judge_stem_word(buf, len));
}
