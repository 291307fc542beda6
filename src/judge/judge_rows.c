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

#define NEAR_REQUEST 12 /* atoms of the program's between a word of a request and its status */

static inline bool
is(const ls_judge_text *t, int i, const char *word)
{
	return ls_judge_is(ls_judge_atom_text(t, i), word);
}

long
ls_judge_plain_number(const ls_judge_text *t, int i)
{
	ls_str digits = ls_judge_atom_text(t, i);
	long v = 0;

	if (digits.len == 0 || digits.len > 9 || t->atoms[i].kind != LS_ATOM_NUMBER)
		return -1;
	for (size_t k = 0; k < digits.len; k++)
	{
		if (digits.data[k] == '.')
			return -1;
		v = v * 10 + (digits.data[k] - '0');
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
false_value(const ls_judge_ctx *ctx, const ls_judge_text *t, int i)
{
	if (ls_judge_plain_number(t, i) == 0)
		return i + 1 >= t->n || t->atoms[i].sep == LS_SEP_EQUAL ||
			   (t->atoms[i + 1].sep != LS_SEP_DOT && t->atoms[i + 1].sep != LS_SEP_SPACE);
	return ls_judge_in(ctx, t, i, LS_SET_FALSE) &&
		   (i + 1 >= t->n || t->atoms[i + 1].sep >= LS_SEP_EQUAL ||
			t->atoms[i].sep == LS_SEP_EQUAL);
}

/* A number that counts the word after it (0 errors), not a name (job 0 failed). */
static long
count_before(const ls_judge_ctx *ctx, const ls_judge_text *t, int i)
{
	long v = ls_judge_plain_number(t, i - 1);
	const ls_judge_word *w;

	if (v < 0 || t->atoms[i].sep != LS_SEP_SPACE || t->atoms[i - 1].sep == LS_SEP_TIGHT ||
		(t->atoms[i - 1].sep == LS_SEP_EQUAL && t->text.data[t->atoms[i - 1].off - 1] != '"') ||
		t->atoms[i - 1].sep == LS_SEP_COLON)
		return -1;
	if (i < 2 || t->atoms[i - 1].sep != LS_SEP_SPACE || t->atoms[i - 2].kind != LS_ATOM_WORD)
		return v;
	w = ls_judge_word_of(ctx, t, i - 2);
	return w->pol == LS_POL_NONE || w->pol == LS_POL_WEAK ? -1 : v;
}

bool
ls_judge_row_negated(const ls_judge_ctx *ctx, const ls_judge_text *t, int i)
{
	long after = ls_judge_plain_number(t, i + 1);

	if (i + 1 < t->n && (t->atoms[i + 1].flags & LS_ATOM_EMPTY) &&
		t->atoms[i + 1].sep >= LS_SEP_EQUAL)
		return true;
	if (has_value(t, i) && false_value(ctx, t, i + 1))
		return true;
	/* "pending 0" */
	if (after == 0 && t->atoms[i + 1].sep == LS_SEP_SPACE &&
		ls_judge_word_of(ctx, t, i)->pol != LS_POL_KEY &&
		ls_judge_word_of(ctx, t, i)->concept != LS_CONCEPT_STOP &&
		(i + 2 >= t->n || t->atoms[i + 2].sep == LS_SEP_COMMA))
		return true;
	/* the first attempt repeats nothing */
	if (after == 1 && (is(t, i, "attempt") || is(t, i, "try")))
		return true;
	/* "0 failed", "0 errors" but not "0 ... 3 errors" */
	if (count_before(ctx, t, i) == 0)
		return true;
	for (int k = i - 1; k >= 0 && k >= i - 4 && t->atoms[k + 1].sep < LS_SEP_EQUAL; k--)
	{
		ls_judge_polarity pol = (ls_judge_polarity) ls_judge_word_of(ctx, t, k)->pol;

		if (pol == LS_POL_NOT)
			return true;
		if (pol == LS_POL_POS || pol == LS_POL_NEG)
			break; /* another statement between the negator and this word ends its reach */
	}
	return false;
}

static void
cue(ls_judge_row *row, int atom, ls_judge_class class, int strength, int concept, int flags)
{
	if (row->n_cues >= LS_JUDGE_ROW_CUES || (row->text.atoms[atom].client != LS_CLIENT_NONE &&
											 (class == LS_CLASS_PASS || class == LS_CLASS_CLEAN)))
		return;
	row->cues[row->n_cues++] = (ls_judge_cue){(uint16_t) atom, (uint8_t) class, (uint8_t) strength,
											  (uint8_t) concept, (uint8_t) flags};
}

bool
ls_judge_row_fails(const ls_judge_row *row)
{
	for (int k = 0; k < row->n_cues; k++)
		if (row->cues[k].class == LS_CLASS_FAIL)
			return true;
	return false;
}

/* A status code of HTTP at atom `i`, if it can be one; 0: it cannot. */
static int
status_number(const ls_judge_text *t, int i)
{
	long v = ls_judge_plain_number(t, i);

	return v >= 100 && v <= 599 && t->atoms[i].len == 3 && !(t->atoms[i].flags & LS_ATOM_TIME) &&
				   t->atoms[i].client == LS_CLIENT_NONE
			   ? (int) v
			   : 0;
}

/* HTTP status: a field of that name, or a number in a row of a request. */
static int
http_status(const ls_judge_ctx *ctx, const ls_judge_text *t, int i, bool near_request)
{
	ls_judge_sep sep = (ls_judge_sep) t->atoms[i].sep;
	int status = status_number(t, i);

	if (status == 443 /* a port */)
		return 0;
	if (ls_judge_in(ctx, t, i - 1, LS_SET_STATUS))
		return status;
	return near_request && (sep == LS_SEP_SPACE || sep == LS_SEP_OTHER || sep == LS_SEP_COLON) &&
				   (i + 1 >= t->n || t->atoms[i + 1].sep != LS_SEP_NONE)
			   ? status
			   : 0;
}

/*
 * The status code of a row; one in plain words too, "answered with a 503 after 2 s", which is no
 * sign of success or failure by itself: "returned 412" may be a count.
 */
int
ls_judge_row_status(const ls_judge_ctx *ctx, const ls_judge_row *row)
{
	const ls_judge_text *t = &row->text;

	for (int i = 1; i < t->n && row->http == 0; i++)
	{
		int verb = i - 1, status = status_number(t, i);
		ls_judge_polarity after = (ls_judge_polarity) ls_judge_word_of(ctx, t, i + 1)->pol;

		while (verb > 0 && verb > i - 3 && ls_judge_word_of(ctx, t, verb)->pol == LS_POL_STOP &&
			   !ls_judge_in(ctx, t, verb, LS_SET_REPLY))
			verb--;
		if (status != 0 && t->atoms[i].sep == LS_SEP_SPACE &&
			ls_judge_in(ctx, t, verb, LS_SET_REPLY) &&
			(i + 1 >= t->n || t->atoms[i + 1].sep == LS_SEP_COMMA ||
			 t->atoms[i + 1].sep == LS_SEP_OTHER || after == LS_POL_STOP || after == LS_POL_NOT))
			return status;
	}
	return row->http;
}

/* Words that only mean something together. */
static bool
phrase(const ls_judge_ctx *ctx, ls_judge_row *row, int i)
{
	const ls_judge_text *t = &row->text;
	const ls_judge_word *next = ls_judge_word_of(ctx, t, i + 1);
	bool not_ = is(t, i, "not"), no = is(t, i, "no");

	if (i + 1 >= t->n || t->atoms[i + 1].sep == LS_SEP_COMMA || t->atoms[i + 1].sep == LS_SEP_EQUAL)
		return false;
	if (not_ && is(t, i + 1, "ok"))
		cue(row, i, LS_CLASS_FAIL, 3, LS_CONCEPT_RESULT, LS_CUE_VERDICT);
	/* "not run", "no backup needed", "nothing to" */
	else if ((not_ && (next->concept == LS_CONCEPT_EXECUTE || next->concept == LS_CONCEPT_VERIFY ||
					   ls_judge_in(ctx, t, i + 1, LS_SET_UNDONE))) ||
			 (no && ls_judge_in(ctx, t, i + 2, LS_SET_UNNEEDED)) ||
			 (is(t, i, "nothing") && is(t, i + 1, "to")))
		cue(row, i, LS_CLASS_SKIP, 2, LS_CONCEPT_SKIP, 0);
	else if (no && ls_judge_in(ctx, t, i + 1, LS_SET_LACK)) /* "no such file" */
		cue(row, i, LS_CLASS_FAIL, 2, LS_CONCEPT_ERROR, 0);
	else if (ls_judge_is_one_of(ls_judge_atom_text(t, i), "could can does did do") &&
			 is(t, i + 1, "not"))
		cue(row, i + 1, LS_CLASS_FAIL, 2, ls_judge_word_of(ctx, t, i + 2)->concept, 0);
	else
		return false;
	return true;
}

/* "exit code 1", "rc=0", "exit 2" */
static bool
exit_code(const ls_judge_ctx *ctx, ls_judge_row *row, int i)
{
	const ls_judge_text *t = &row->text;
	long v = -1;
	int k = i;

	if (!ls_judge_in(ctx, t, i, LS_SET_EXIT) && !(is(t, i, "return") && is(t, i + 1, "code")))
		return false;
	do
		v = ls_judge_plain_number(t, ++k);
	while (v < 0 && k < i + 4 && (is(t, k, "code") || is(t, k, "status") || is(t, k, "with")));
	if (v >= 0)
		cue(row, k, v == 0 ? LS_CLASS_PASS : LS_CLASS_FAIL, 2, LS_CONCEPT_RESULT, LS_CUE_VERDICT);
	return v >= 0;
}

static void
word_cue(const ls_judge_ctx *ctx, ls_judge_row *row, int i)
{
	const ls_judge_text *t = &row->text;
	const ls_judge_atom *a = &t->atoms[i];
	const ls_judge_word *w = ls_judge_word_of(ctx, t, i);
	bool negated = ls_judge_row_negated(ctx, t, i), value = has_value(t, i);
	long before = count_before(ctx, t, i), after = value ? ls_judge_plain_number(t, i + 1) : -1;
	bool counted = (before >= 0 && !value) || after >= 0;
	bool verdict =
		(a->flags & LS_ATOM_UPPER) && (w->concept == LS_CONCEPT_RESULT || w->pol == LS_POL_SKIP);
	int strength = verdict ? 3 : w->strength;
	int flags = verdict || a->kind == LS_ATOM_SYMBOL ? LS_CUE_VERDICT : 0;

	/* "from RED to GREEN": what it was */
	if (is(t, i - 1, "from") && is(t, i + 1, "to"))
		return;
	switch (w->pol)
	{
		case LS_POL_POS:
			if ((counted && (before == 0 || after == 0)) ||
				(value && (is(t, i + 1, "null") || is(t, i + 1, "none"))))
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
				cue(row, i, LS_CLASS_FAIL, strength, w->concept, flags);
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
	ls_judge_class class = LS_CLASS_PASS;

	if (!is(t, 0, "testcase") || t->text.data[0] != '<')
		return false;
	for (int i = t->n - 1; i > 0; i--)
		if (t->text.data[t->atoms[i].off - 1] == '<')
			class = is(t, i, "failure") || is(t, i, "error") ? LS_CLASS_FAIL
					: is(t, i, "skipped")                    ? LS_CLASS_SKIP
															 : class;
	cue(row, 0, class, 3, class == LS_CLASS_SKIP ? LS_CONCEPT_SKIP : LS_CONCEPT_RESULT,
		LS_CUE_VERDICT);
	return true;
}

void
ls_judge_row_analyse(ls_judge_ctx *ctx, ls_judge_row *row)
{
	const ls_judge_text *t = &row->text;
	int equals = 0, own = NEAR_REQUEST, request = 0;
	size_t first = 0;

	row->n_cues = 0;
	row->http = 0;
	for (int i = 0; i < t->n; i++)
		equals += t->atoms[i].sep == LS_SEP_EQUAL;
	while (first < t->text.len && t->text.data[first] == ' ')
		first++;
	row->fields = equals >= 3 || (first < t->text.len && t->text.data[first] == '{');
	if (LS_JUDGE_RULE(JUNIT) && junit(row))
		return;
	/* Mocha and Jest mark what passed; "1) ..." is a failure there */
	if (LS_JUDGE_RULE(REPORT) && ctx->report && ls_judge_plain_number(t, 0) >= 0 &&
		t->atoms[0].off == first && t->text.len > first + t->atoms[0].len + 1 &&
		memcmp(t->text.data + first + t->atoms[0].len, ") ", 2) == 0)
		cue(row, 0, LS_CLASS_FAIL, 3, LS_CONCEPT_RESULT, LS_CUE_VERDICT);
	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];
		ls_judge_polarity pol = (ls_judge_polarity) ls_judge_word_of(ctx, t, i)->pol;

		if (ls_judge_in(ctx, t, i, LS_SET_REQUEST))
			request = own;
		own += a->client == LS_CLIENT_NONE;
		if (a->client != LS_CLIENT_NONE && a->client != LS_CLIENT_FREE)
			continue;
		if (phrase(ctx, row, i))
			i++;
		else if (LS_JUDGE_RULE(EXIT) && exit_code(ctx, row, i))
			continue;
		else if (row->http == 0 &&
				 (row->http =
					  http_status(ctx, t, i, request > 0 && own - request <= NEAR_REQUEST)) != 0)
		{
			int concept = row->http == 401 || row->http == 403 ? LS_CONCEPT_DENY : LS_CONCEPT_ERROR;

			if (row->http >= 400)
				cue(row, i, LS_CLASS_FAIL, 3, concept, LS_CUE_HTTP | LS_CUE_VERDICT);
			else if (row->http >= 200)
				cue(row, i, LS_CLASS_PASS, 3, LS_CONCEPT_RESULT, LS_CUE_HTTP | LS_CUE_VERDICT);
		}
		else if (!a->unreal && (pol == LS_POL_POS || pol == LS_POL_NEG || pol == LS_POL_SKIP ||
								pol == LS_POL_STATE))
			word_cue(ctx, row, i);
	}
}
