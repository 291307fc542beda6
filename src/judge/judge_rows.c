/*-------------------------------------------------------------------------
 *
 * judge_rows.c
 *	  What a row says about an outcome, for the built-in evaluator (pure).
 *
 * A row becomes a list of cues: words, fields and codes that tell success, failure or skipping,
 * each with its place and strength.  Which of them concern an item is decided later
 * (judge_match.c): a word that the item itself uses is no outcome.  Negation is resolved here:
 * "no errors", "errors=0" and "throttled=false" are the contrary of their word.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#include <stdlib.h>

static inline const ls_judge_word *
word_of(const ls_judge_ctx *ctx, const ls_judge_text *t, int i)
{
	return &ctx->words.table[t->atoms[i].word];
}

static inline __attribute__((always_inline)) bool
atom_is(const ls_judge_text *t, int i, const char *word)
{
	return ls_judge_is(ls_judge_atom_text(t, i), word);
}

#define IS_ANY(t, i, words) LS_JUDGE_IS_IN(ls_judge_atom_text(t, i), words)

/* A whole number atom, not dotted; -1 when it is none. */
static long
plain_number(const ls_judge_text *t, int i)
{
	long v = 0;

	if (i < 0 || i >= t->n || t->atoms[i].kind != LS_ATOM_NUMBER || t->atoms[i].len > 9)
		return -1;
	for (int k = 0; k < t->atoms[i].len; k++)
	{
		char c = t->text.data[t->atoms[i].off + k];

		if (!ls_judge_is_digit(c))
			return -1;
		v = v * 10 + (c - '0');
	}
	return v;
}

/* Is there a value after this key?  "errors=0", "failed: 0", "ok":false */
static bool
has_value(const ls_judge_text *t, int i)
{
	return i + 1 < t->n && !(t->atoms[i + 1].flags & LS_ATOM_EMPTY) &&
		   (t->atoms[i + 1].sep == LS_SEP_EQUAL || t->atoms[i + 1].sep == LS_SEP_COLON ||
			(t->text.data[t->atoms[i].off + t->atoms[i].len] == ':' &&
			 t->atoms[i + 1].sep == LS_SEP_OTHER));
}

static bool
false_value(const ls_judge_text *t, int i)
{
	static const char *const words[] = {"false", "no", "none", "null", "nil", "off", "never", "n"};

	if (plain_number(t, i) == 0)
		return i + 1 >= t->n || t->atoms[i].sep == LS_SEP_EQUAL ||
			   (t->atoms[i + 1].sep != LS_SEP_DOT && t->atoms[i + 1].sep != LS_SEP_SPACE);
	return IS_ANY(t, i, words) && (i + 1 >= t->n || t->atoms[i + 1].sep >= LS_SEP_EQUAL ||
								   t->atoms[i].sep == LS_SEP_EQUAL);
}

/* A number that counts the word after it (0 errors), not a name (job 0 failed). */
static long
count_before(const ls_judge_ctx *ctx, const ls_judge_text *t, int i)
{
	long v = plain_number(t, i - 1);
	const ls_judge_word *w;

	if (v < 0 || t->atoms[i].sep != LS_SEP_SPACE || t->atoms[i - 1].sep == LS_SEP_TIGHT ||
		(t->atoms[i - 1].sep == LS_SEP_EQUAL && t->text.data[t->atoms[i - 1].off - 1] != '"') ||
		t->atoms[i - 1].sep == LS_SEP_COLON)
		return -1;
	if (i < 2 || t->atoms[i - 1].sep != LS_SEP_SPACE || t->atoms[i - 2].kind != LS_ATOM_WORD)
		return v;
	w = word_of(ctx, t, i - 2);
	return w->pol == LS_POL_NONE || w->pol == LS_POL_WEAK ? -1 : v;
}

bool
ls_judge_row_negated(const ls_judge_ctx *ctx, const ls_judge_text *t, int i)
{
	if (i + 1 < t->n && (t->atoms[i + 1].flags & LS_ATOM_EMPTY) &&
		t->atoms[i + 1].sep >= LS_SEP_EQUAL)
		return true;
	if (has_value(t, i) && false_value(t, i + 1))
		return true;
	/* "pending 0" */
	if (plain_number(t, i + 1) == 0 && t->atoms[i + 1].sep == LS_SEP_SPACE &&
		word_of(ctx, t, i)->pol != LS_POL_KEY && word_of(ctx, t, i)->concept != LS_CONCEPT_STOP &&
		(i + 2 >= t->n || t->atoms[i + 2].sep == LS_SEP_COMMA))
		return true;
	/* the first attempt repeats nothing */
	if (plain_number(t, i + 1) == 1 && (atom_is(t, i, "attempt") || atom_is(t, i, "try")))
		return true;
	/* "0 failed", "0 errors" but not "0 ... 3 errors" */
	if (i > 0 && count_before(ctx, t, i) == 0)
		return true;
	for (int k = i - 1, steps = 0; k >= 0 && steps < 4; k--, steps++)
	{
		const ls_judge_word *w = word_of(ctx, t, k);

		if (t->atoms[k + 1].sep == LS_SEP_COMMA || t->atoms[k + 1].sep == LS_SEP_EQUAL)
			break;
		if (w->pol == LS_POL_NOT)
			return true;
		/* Another statement between the negator and this word ends its reach. */
		if (t->atoms[k].kind == LS_ATOM_NUMBER || w->pol == LS_POL_POS || w->pol == LS_POL_NEG)
			break;
	}
	return false;
}

static void
cue(ls_judge_row *row, int atom, ls_judge_class class, int strength, int concept, int flags)
{
	ls_judge_cue *c;

	if (row->n_cues >= LS_JUDGE_ROW_CUES || (row->text.atoms[atom].client != LS_CLIENT_NONE &&
											 (class == LS_CLASS_PASS || class == LS_CLASS_CLEAN)))
		return;
	c = &row->cues[row->n_cues++];
	c->atom = (uint16_t) atom;
	c->class = (uint8_t) class;
	c->strength = (uint8_t) strength;
	c->concept = (uint8_t) concept;
	c->flags = (uint8_t) flags;
}

/* Does the word stand where a log has its level? */
static bool
is_level(const ls_judge_ctx *ctx, const ls_judge_text *t, int i)
{
	static const char *const levels[] = {"error",  "fatal", "err",   "crit",    "critical", "emerg",
										 "severe", "alert", "panic", "warning", "warn"};
	const ls_judge_atom *a = &t->atoms[i];

	if (!IS_ANY(t, i, levels))
		return false;
	if (a->sep == LS_SEP_EQUAL)
		return ls_judge_is_one_of(ls_judge_atom_text(t, i - 1), "level severity lvl loglevel");
	if ((a->flags & LS_ATOM_UPPER) && i < 14)
		return true;
	return (a->flags & LS_ATOM_PAREN) && i < 14; /* [error] */
}

/* Where the last word of a request stands: how many of the program's own atoms are up to it. */
typedef struct request_word
{
	int next; /* atoms before this one have been looked at, */
	int own;  /* of which so many are the program's, */
	int last; /* and so many of them up to the word; -12: none */
} request_word;

/* Stands a word of a request before atom `i`, at most 12 of the program's atoms away? */
static bool
follows_request(const ls_judge_text *t, int i, request_word *w)
{
	for (; w->next < i; w->next++)
	{
		int k = w->next;

		w->own += t->atoms[k].client == LS_CLIENT_NONE;
		if (ls_judge_is_one_of(ls_judge_atom_text(t, k), "http https get post put delete"))
			w->last = w->own;
	}
	return w->own - w->last < 12;
}

/* HTTP status: a field of that name, an access log, or a number beside an address. */
static int
http_status(const ls_judge_text *t, int i, request_word *request)
{
	long v = plain_number(t, i);
	const char *s = t->text.data;
	size_t off;

	if (v < 100 || v > 599 || v == 443 /* a port */ || t->atoms[i].len != 3 ||
		(t->atoms[i].flags & LS_ATOM_TIME))
		return 0;
	if ((t->atoms[i].sep == LS_SEP_EQUAL || t->atoms[i].sep == LS_SEP_COLON ||
		 t->atoms[i].sep == LS_SEP_SPACE) &&
		ls_judge_is_one_of(ls_judge_atom_text(t, i - 1), "status statuscode code http sc"))
		return (int) v;
	off = t->atoms[i].off;
	if (off >= 2 && s[off - 1] == ' ' && s[off - 2] == '"')
		return (int) v; /* "GET / HTTP/1.1" 200 */
	if ((t->atoms[i].sep == LS_SEP_SPACE || t->atoms[i].sep == LS_SEP_OTHER ||
		 t->atoms[i].sep == LS_SEP_COLON) &&
		follows_request(t, i, request))
		return i + 1 < t->n && t->atoms[i + 1].sep == LS_SEP_NONE ? 0 : (int) v;
	return 0;
}

/*
 * The status code of a row; one in plain words too, "answered with a 503 after 2 s", which is no
 * sign of success or failure by itself: "returned 412" may be a count.
 */
int
ls_judge_row_status(const ls_judge_row *row)
{
	const ls_judge_text *t = &row->text;

	if (row->http != 0 || !LS_JUDGE_RULE(STATUS))
		return row->http;
	for (int i = 1; i < t->n; i++)
	{
		long v = plain_number(t, i);
		int verb = i - 1;

		if (v < 100 || v > 599 || t->atoms[i].len != 3 || t->atoms[i].sep != LS_SEP_SPACE ||
			t->atoms[i].client != LS_CLIENT_NONE)
			continue;
		for (int k = 0; k < 2 && ls_judge_is_one_of(ls_judge_atom_text(t, verb), "with a an by");
			 k++)
			verb--;
		if (!ls_judge_is_one_of(ls_judge_atom_text(t, verb), LS_REPLIES))
			continue;
		if (i + 1 >= t->n || t->atoms[i + 1].sep == LS_SEP_COMMA ||
			t->atoms[i + 1].sep == LS_SEP_OTHER ||
			ls_judge_is_one_of(ls_judge_atom_text(t, i + 1),
							   "in after for from on at to with and but then again not instead "
							   "when while until"))
			return (int) v;
	}
	return 0;
}

/* "not run", "not found", "not ok" */
static bool
not_phrase(const ls_judge_ctx *ctx, ls_judge_row *row, int i)
{
	static const char *const undone[] = {"run",        "needed",    "required",
										 "applicable", "executed",  "selected",
										 "configured", "attempted", "enabled"};
	const ls_judge_text *t = &row->text;
	const ls_judge_word *next = word_of(ctx, t, i + 1);

	if (atom_is(t, i + 1, "ok"))
		cue(row, i, LS_CLASS_FAIL, 3, LS_CONCEPT_RESULT, LS_CUE_VERDICT);
	else if (next->concept == LS_CONCEPT_EXECUTE || next->concept == LS_CONCEPT_VERIFY ||
			 IS_ANY(t, i + 1, undone))
		cue(row, i, LS_CLASS_SKIP, 2, LS_CONCEPT_SKIP, 0);
	else
		return false;
	return true;
}

/* "no such file", "no backup needed" */
static bool
no_phrase(ls_judge_row *row, int i)
{
	static const char *const unneeded[] = {"necessary", "needed", "required", "pending"};
	static const char *const lacks[] = {"such", "space", "route", "response", "free"};
	const ls_judge_text *t = &row->text;

	if (i + 2 < t->n && IS_ANY(t, i + 2, unneeded))
		cue(row, i, LS_CLASS_SKIP, 2, LS_CONCEPT_SKIP, 0);
	else if (IS_ANY(t, i + 1, lacks))
		cue(row, i, LS_CLASS_FAIL, 2, LS_CONCEPT_ERROR, 0);
	else
		return false;
	return true;
}

/* Words that only mean something together. */
static bool
phrases(const ls_judge_ctx *ctx, ls_judge_row *row, int i)
{
	static const char *const spent[] = {"sync",  "memory", "space", "disk",
										"range", "stock",  "date",  "bounds"};
	static const char *const helpers[] = {"could", "can", "does", "did", "do"};
	const ls_judge_text *t = &row->text;

	if (i + 1 >= t->n || t->atoms[i + 1].sep == LS_SEP_COMMA || t->atoms[i + 1].sep == LS_SEP_EQUAL)
		return false;
	if (atom_is(t, i, "not"))
		return not_phrase(ctx, row, i);
	if (atom_is(t, i, "no"))
		return no_phrase(row, i);
	if (atom_is(t, i, "out") && atom_is(t, i + 1, "of") && i + 2 < t->n && IS_ANY(t, i + 2, spent))
		cue(row, i + 2, LS_CLASS_FAIL, 3, LS_CONCEPT_ERROR, LS_CUE_VERDICT);
	else if (atom_is(t, i, "nothing") && atom_is(t, i + 1, "to"))
		cue(row, i, LS_CLASS_SKIP, 2, LS_CONCEPT_SKIP, 0);
	else if (IS_ANY(t, i, helpers) && atom_is(t, i + 1, "not"))
		cue(row, i + 1, LS_CLASS_FAIL, 2, i + 2 < t->n ? word_of(ctx, t, i + 2)->concept : 0, 0);
	else
		return false;
	return true;
}

/* "exit code 1", "rc=0", "exit 2" */
static bool
exit_code(ls_judge_row *row, int i)
{
	static const char *const names[] = {"exit", "exited", "rc", "exitcode", "returncode"};
	const ls_judge_text *t = &row->text;

	if (!IS_ANY(t, i, names) && !(atom_is(t, i, "return") && atom_is(t, i + 1, "code")))
		return false;
	for (int k = i + 1; k < t->n && k <= i + 4; k++)
	{
		long v = plain_number(t, k);

		if (v >= 0)
		{
			cue(row, k, v == 0 ? LS_CLASS_PASS : LS_CLASS_FAIL, 2, LS_CONCEPT_RESULT,
				LS_CUE_VERDICT);
			return true;
		}
		if (!atom_is(t, k, "code") && !atom_is(t, k, "status") && !atom_is(t, k, "with"))
			break;
	}
	return false;
}

static inline bool
tells_outcome(const ls_judge_word *w)
{
	return w->pol == LS_POL_POS || w->pol == LS_POL_NEG || w->pol == LS_POL_SKIP ||
		   w->pol == LS_POL_STATE;
}

static void
word_cue(const ls_judge_ctx *ctx, ls_judge_row *row, int i)
{
	const ls_judge_text *t = &row->text;
	const ls_judge_atom *a = &t->atoms[i];
	const ls_judge_word *w = word_of(ctx, t, i);
	bool negated = ls_judge_row_negated(ctx, t, i);
	long before = i > 0 ? count_before(ctx, t, i) : -1;
	long after = has_value(t, i) ? plain_number(t, i + 1) : -1;
	bool counted = (before >= 0 && !has_value(t, i)) || after >= 0;
	int strength = w->strength;
	int flags = 0;

	if ((a->flags & LS_ATOM_UPPER) && (w->concept == LS_CONCEPT_RESULT || w->pol == LS_POL_SKIP))
	{
		strength = 3;
		flags |= LS_CUE_VERDICT;
	}
	else if (a->kind == LS_ATOM_SYMBOL)
		flags |= LS_CUE_VERDICT;
	for (int k = i - 1; k >= 0 && k >= i - 4; k--)
		if (atom_is(t, k, "after") || atom_is(t, k, "despite") || atom_is(t, k, "previously"))
			flags |= LS_CUE_PAST;

	/* "from RED to GREEN": what it was */
	if (atom_is(t, i - 1, "from") && atom_is(t, i + 1, "to"))
		return;
	if (is_level(ctx, t, i))
	{
		if (w->pol == LS_POL_NEG)
			cue(row, i, LS_CLASS_FAIL, 1, LS_CONCEPT_ERROR, LS_CUE_LEVEL);
		return;
	}
	switch (w->pol)
	{
		case LS_POL_POS:
			if ((counted && (before == 0 || after == 0)) ||
				(has_value(t, i) && (atom_is(t, i + 1, "null") || atom_is(t, i + 1, "none"))))
				break;
			if (negated)
				cue(row, i, LS_CLASS_FAIL, 2, w->concept, flags);
			else
				cue(row, i, LS_CLASS_PASS, strength, w->concept, flags);
			break;
		case LS_POL_NEG:
			if (negated)
				cue(row, i, LS_CLASS_CLEAN, 1, w->concept, flags);
			else
				cue(row, i, LS_CLASS_FAIL, flags & LS_CUE_PAST ? 1 : strength, w->concept, flags);
			break;
		case LS_POL_SKIP:
			if (!negated && !counted)
				cue(row, i, LS_CLASS_SKIP, strength, w->concept, flags);
			break;
		case LS_POL_STATE:
			if (negated && w->concept == LS_CONCEPT_ENABLE)
				cue(row, i, LS_CLASS_SKIP, 2, LS_CONCEPT_DISABLE, flags);
			else if (negated && w->strength > 0)
				cue(row, i, LS_CLASS_FAIL, 2, w->concept, flags);
			else if (w->strength > 1)
				cue(row, i, LS_CLASS_PASS, w->strength, w->concept, flags);
			break;
		default:
			break;
	}
}

/* JUnit: a test case passed unless it holds a failure, an error or a skip. */
static bool
junit(ls_judge_row *row)
{
	const ls_judge_text *t = &row->text;
	const char *s = t->text.data;
	size_t n = t->text.len;

	if (t->n < 2 || !atom_is(t, 0, "testcase") || s[0] != '<')
		return false;
	for (int i = 1; i < t->n; i++)
	{
		size_t off = t->atoms[i].off;

		if (off == 0 || s[off - 1] != '<')
			continue;
		if (atom_is(t, i, "failure") || atom_is(t, i, "error"))
		{
			cue(row, i, LS_CLASS_FAIL, 3, LS_CONCEPT_RESULT, LS_CUE_VERDICT);
			return true;
		}
		if (atom_is(t, i, "skipped"))
		{
			cue(row, i, LS_CLASS_SKIP, 3, LS_CONCEPT_SKIP, LS_CUE_VERDICT);
			return true;
		}
	}
	if (n > 2 && (memcmp(s + n - 2, "/>", 2) == 0 || s[n - 1] == '>'))
		cue(row, 0, LS_CLASS_PASS, 3, LS_CONCEPT_RESULT, LS_CUE_VERDICT);
	return true;
}

/* "Tests run: 8, Failures: 2, Errors: 0, Skipped: 1": one verdict for all of them */
static bool
summary(ls_judge_row *row, int i)
{
	const ls_judge_text *t = &row->text;
	long total, bad = 0, skipped = 0;
	int last = i + 2;

	if (!atom_is(t, i, "tests") || !atom_is(t, i + 1, "run"))
		return false;
	total = plain_number(t, i + 2);
	if (total < 0)
		return false;
	for (int k = i + 3; k + 1 < t->n && k < i + 12; k++)
	{
		long v = plain_number(t, k + 1);

		if (v < 0)
			continue;
		if (atom_is(t, k, "failures") || atom_is(t, k, "errors") || atom_is(t, k, "failed"))
			bad += v;
		else if (atom_is(t, k, "skipped"))
			skipped += v;
		else
			break;
		last = k + 1;
	}
	if (last == i + 2)
		return false;
	cue(row, last,
		bad > 0            ? LS_CLASS_FAIL
		: skipped >= total ? LS_CLASS_SKIP
						   : LS_CLASS_PASS,
		3, LS_CONCEPT_RESULT, LS_CUE_VERDICT);
	return true;
}

/* Mocha and Jest mark what passed; "1)" is a failure there and "-" is pending. */
static void
report_cue(ls_judge_row *row, size_t first)
{
	const char *s = row->text.text.data;
	size_t n = row->text.text.len;
	size_t i = first;

	while (i < n && ls_judge_is_digit(s[i]))
		i++;
	if (i > first && i + 1 < n && s[i] == ')' && s[i + 1] == ' ')
		cue(row, 0, LS_CLASS_FAIL, 3, LS_CONCEPT_RESULT, LS_CUE_VERDICT);
	else if (first + 1 < n && s[first] == '-' && s[first + 1] == ' ')
		cue(row, 0, LS_CLASS_SKIP, 3, LS_CONCEPT_SKIP, LS_CUE_VERDICT);
}

void
ls_judge_row_analyse(ls_judge_ctx *ctx, ls_judge_row *row)
{
	const ls_judge_text *t = &row->text;
	int equals = 0, tests = 0;
	size_t first = 0;
	request_word request = {0, 0, -12};

	row->n_cues = 0;
	row->http = 0;
	for (int i = 0; i < t->n; i++)
		equals += t->atoms[i].sep == LS_SEP_EQUAL;
	while (first < t->text.len && t->text.data[first] == ' ')
		first++;
	row->fields = equals >= 3 || (first < t->text.len && t->text.data[first] == '{');
	if (LS_JUDGE_RULE(JUNIT) && junit(row))
		return;

	if (LS_JUDGE_RULE(REPORT) && ctx->report && t->n > 0)
		report_cue(row, first);

	/* TAP and its kin: the verdict is the first word. */
	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];

		if (a->client != LS_CLIENT_NONE && a->client != LS_CLIENT_FREE)
			continue;
		if (phrases(ctx, row, i))
		{
			i++;
			continue;
		}
		if (LS_JUDGE_RULE(EXIT) && exit_code(row, i))
			continue;
		if (LS_JUDGE_RULE(SUMMARY) && summary(row, i))
			tests = i + 12;
		if (a->kind == LS_ATOM_NUMBER && a->client == LS_CLIENT_NONE && row->http == 0 &&
			(row->http = http_status(t, i, &request)) != 0)
		{
			int concept = row->http == 401 || row->http == 403 ? LS_CONCEPT_DENY : LS_CONCEPT_ERROR;

			if (row->http >= 400)
				cue(row, i, LS_CLASS_FAIL, 3, concept, LS_CUE_HTTP | LS_CUE_VERDICT);
			else if (row->http >= 200)
				cue(row, i, LS_CLASS_PASS, 3, LS_CONCEPT_RESULT, LS_CUE_HTTP | LS_CUE_VERDICT);
			continue;
		}
		if (tells_outcome(word_of(ctx, t, i)) && !a->unreal && !(i < tests && has_value(t, i)))
			word_cue(ctx, row, i);
	}
}
