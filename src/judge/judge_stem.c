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

/* Forms of verbs that no suffix tells: each form and its base, by turns. */
static size_t
irregular(char *w, size_t n)
{
	static const char *const verbs[] = {
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
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i += 2)
		if (verbs[i][0] == w[0] && strlen(verbs[i]) == n && memcmp(verbs[i], w, n) == 0)
		{
			n = strlen(verbs[i + 1]);
			memcpy(w, verbs[i + 1], n);
			return n;
		}
	return n;
}

typedef struct suffix
{
	const char *text;
	uint8_t longer; /* than this must the word be */
	uint8_t cut;    /* letters */
} suffix;

/* Of each list the first suffix that the word has is cut. */
static const suffix plurals[] = {{"ies", 4, 2},  {"ied", 4, 2}, {"sses", 5, 2}, {"shes", 5, 2},
								 {"ches", 5, 2}, {"xes", 5, 2}, {"ss", 0, 0},   {"us", 0, 0},
								 {"is", 0, 0},   {"s", 3, 1},   {NULL, 0, 0}};
static const suffix adverbs[] = {{"fully", 6, 2}, {"ly", 5, 2}, {NULL, 0, 0}};
static const suffix forms[] = {{"ering", 10, 5}, {"ing", 4, 3}, {"ered", 9, 4}, {"eed", 0, 0},
							   {"ed", 4, 2},     {"ion", 6, 3}, {"ment", 8, 4}, {"er", 7, 2},
							   {"or", 7, 2},     {NULL, 0, 0}};

static size_t
without_suffix(const char *w, size_t n, const suffix *list)
{
	for (; list->text != NULL; list++)
	{
		size_t len = strlen(list->text);

		if (n > list->longer && n > len && memcmp(w + n - len, list->text, len) == 0)
			return n - list->cut;
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
	n = without_suffix(w, n, plurals);
	n = without_suffix(w, n, adverbs);
	n = without_suffix(w, n, forms);
	/* stopped, running */
	if (n > 3 && w[n - 1] == w[n - 2] && strchr("lseo", w[n - 1]) == NULL)
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
