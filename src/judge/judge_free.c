/*-------------------------------------------------------------------------
 *
 * judge_free.c
 *	  Which text of a row its program did not write, for the built-in evaluator (pure).
 *
 * A program writes the words between values and the names of keys; what stands in a value may
 * come from anywhere.  So a value of several words, or a name put together of words, that says
 * that something happened is free text (LS_CLIENT_FREE), whatever its key, unless the key is one
 * under which programs tell what happened.  The same holds for what a server refuses or repeats,
 * for comments, for a line of chat, for text in brackets, and for a host, a file or a mailbox
 * whose name sounds like news.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define KEY 64  /* bytes of a key that are looked at */
#define NICK 64 /* bytes of the name of a person or of a channel */

size_t
ls_judge_find(const char *s, size_t from, size_t to, const char *what)
{
	size_t len = strlen(what);

	for (size_t i = from; i + len <= to; i++)
		if (memcmp(s + i, what, len) == 0)
			return i;
	return to;
}

ls_str
ls_judge_key_word(const char *s, size_t begin, size_t end)
{
	size_t from;

	if (end > begin + KEY)
		begin = end - KEY;
	while (end > begin && !ls_judge_is_letter(s[end - 1]))
		end--;
	for (from = end; from > begin && ls_judge_is_letter(s[from - 1]);)
	{
		from--;
		if (s[from] < 'a' && from > begin && s[from - 1] >= 'a' && s[from - 1] <= 'z')
			break;
	}
	return ls_str_make(s + from, end - from);
}

int
ls_judge_atom_at(const ls_judge_text *t, size_t at)
{
	int low = 0, high = t->n;

	while (low < high)
	{
		int middle = (low + high) / 2;

		if (t->atoms[middle].off + t->atoms[middle].len <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void
ls_judge_client_set(ls_judge_text *t, size_t from, size_t to, ls_judge_client level)
{
	for (int i = ls_judge_atom_at(t, from); i < t->n && t->atoms[i].off < to; i++)
		if (t->atoms[i].client < level)
			t->atoms[i].client = (uint8_t) level;
}

/* Does atom `i` say that something is so or has happened: an outcome, a participle, "was built"? */
static bool
claims(const ls_judge_ctx *ctx, const ls_judge_text *t, int i)
{
	static const char *const auxiliaries[] = {"is",   "are", "was", "were", "be",
											  "been", "has", "had", "have", "got"};
	const ls_judge_word *w = &ctx->words.table[t->atoms[i].word];

	if (t->atoms[i].kind == LS_ATOM_NUMBER)
		return false;
	return w->pol == LS_POL_POS || w->pol == LS_POL_NEG || w->pol == LS_POL_SKIP ||
		   (w->pol == LS_POL_STATE && w->strength > 0) || (t->atoms[i].flags & LS_ATOM_ED) ||
		   (i > 0 && LS_JUDGE_IS_IN(ls_judge_atom_text(t, i - 1), auxiliaries));
}

/*
 * Does the text say something that could be taken for news: a claim, or words with a number?  A
 * failure needs no proof, so it is no claim.
 */
static bool
tells(const ls_judge_ctx *ctx, const ls_judge_text *t, size_t from, size_t to)
{
	int words = 0;

	for (int i = ls_judge_atom_at(t, from); i < t->n && t->atoms[i].off < to; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];

		if (a->kind != LS_ATOM_NUMBER)
		{
			if (ctx->words.table[a->word].pol != LS_POL_NEG && claims(ctx, t, i))
				return true;
			words += a->len > 2;
		}
		else if ((a->sep == LS_SEP_SPACE && words > 1) || (a->sep == LS_SEP_EQUAL && words > 0))
			return true;
	}
	return false;
}

/* Marks free text, when it tells anything. */
static void
mark_free(const ls_judge_ctx *ctx, ls_judge_text *t, size_t from, size_t to)
{
	if (tells(ctx, t, from, to))
		ls_judge_client_set(t, from, to, LS_CLIENT_FREE);
}

bool
ls_judge_key_tells(const char *s, size_t begin, size_t end)
{
	static const char *const keys[] = {
		"action", "alert", "case",   "check",  "code",      "conclusion", "condition", "decision",
		"event",  "exit",  "health", "job",    "kind",      "log",        "message",   "msg",
		"op",     "phase", "result", "output", "operation", "outcome",    "rule",      "scenario",
		"spec",   "stage", "state",  "status", "stderr",    "stdout",     "step",      "suite",
		"task",   "test",  "type",   "verdict"};
	/* of a longer key these say less than the word before them: event_name, gift_message */
	static const char *const heads[] = {"code", "kind", "message", "msg",
										"name", "text", "type",    "value"};
	static const char *const rests[] = {"err", "error", "full", "rendered", "short", "string"};
	ls_str word = ls_judge_key_word(s, begin, end), before;

	if (ls_judge_is(ls_str_make(s + begin, end - begin), "textPayload") ||
		ls_judge_is(ls_str_make(s + begin, end - begin), "jsonPayload"))
		return true;
	if (!LS_JUDGE_IS_IN(word, heads))
		return LS_JUDGE_IS_IN(word, keys);
	before = ls_judge_key_word(s, begin, (size_t) (word.data - s));
	return before.len == 0 ? LS_JUDGE_IS_IN(word, keys)
						   : LS_JUDGE_IS_IN(before, keys) || LS_JUDGE_IS_IN(before, rests);
}

/* Does the text name an action: "deploy api"? */
static bool
names_action(const ls_judge_ctx *ctx, const ls_judge_text *t, size_t from, size_t to)
{
	for (int i = ls_judge_atom_at(t, from); i < t->n && t->atoms[i].off < to; i++)
	{
		ls_judge_polarity pol = (ls_judge_polarity) ctx->words.table[t->atoms[i].word].pol;

		if (pol == LS_POL_ACT || pol == LS_POL_STATE || pol == LS_POL_PART)
			return true;
	}
	return false;
}

ls_judge_client
ls_judge_value_level(const ls_judge_ctx *ctx, const ls_judge_text *t, size_t from, size_t to,
					 bool beside)
{
	int first = ls_judge_atom_at(t, from);

	/* one word is a word of a program's */
	if (!LS_JUDGE_RULE(FREE) || first + 1 >= t->n || t->atoms[first + 1].off >= to)
		return LS_CLIENT_NONE;
	if (tells(ctx, t, from, to))
		return LS_CLIENT_FREE;
	if (!names_action(ctx, t, from, to))
		return LS_CLIENT_NONE;
	return beside ? LS_CLIENT_FREE : LS_CLIENT_QUOTE;
}

/* "<bob> ", and no level */
static bool
is_nick(const char *s, size_t at, size_t to)
{
	static const char *const levels[] = {"trace",   "debug", "info",  "notice", "warn",
										 "warning", "err",   "error", "crit",   "critical",
										 "alert",   "emerg", "fatal"};
	size_t end = at + 1;

	if (at + 1 >= to || !ls_judge_is_letter(s[at + 1]))
		return false;
	to = to - at > NICK ? at + NICK : to;
	while (end < to && strchr(" <>=/\"'", s[end]) == NULL)
		end++;
	return end + 1 < to && s[end] == '>' && s[end + 1] == ' ' &&
		   !LS_JUDGE_IS_IN(ls_str_make(s + at + 1, end - at - 1), levels);
}

/* "#general bob: ", "[#general] bob: " */
static bool
is_channel(const char *s, size_t at, size_t to)
{
	size_t end = at + 1;

	if (at + 1 >= to || !ls_judge_is_letter(s[at + 1]))
		return false;
	to = to - at > NICK ? at + NICK : to;
	while (end < to && s[end] != ' ')
		end++;
	for (end++; end < to && s[end] != ' '; end++)
		if (s[end] == ':' || s[end] == '>')
			return true;
	return false;
}

/* Where "[two words" ends, or `at`. */
static size_t
bracket_end(const char *s, size_t at, size_t to)
{
	size_t end = at + 1, word;

	while (end < to && s[end] == ' ')
		end++;
	for (word = end; end < to && strchr(" []", s[end]) == NULL;)
		end++;
	if (end == word || end + 1 >= to || s[end] != ' ' || strchr(" []", s[end + 1]) != NULL)
		return at;
	return ls_judge_find(s, end, to, "]");
}

/* The end of free text that a sign at `at` begins, or `at`.  `first`: what stands before says little. */
static size_t
span_at(const char *s, size_t at, size_t to, bool first, bool statement)
{
	switch (s[at])
	{
		case '[':
			return bracket_end(s, at, to);
		case '/':
			if (at + 2 < to && s[at + 1] == '*' && s[at + 2] != '/')
				return ls_judge_find(s, at, to, "*/");
			return at;
		case '-':
			return statement && at + 2 < to && s[at + 1] == '-' && s[at + 2] == ' ' ? to : at;
		case '<':
			if (at + 4 < to && memcmp(s + at, "<!--", 4) == 0)
				return ls_judge_find(s, at, to, "-->");
			return first && is_nick(s, at, to) ? to : at;
		case '#':
			return first && is_channel(s, at, to) ? to : at;
		default:
			return at;
	}
}

/*
 * A host, a file, a URL or a mailbox.  In "deploy.finished" the last part may be what happened; in
 * "deploy-finished.example.org" and "finished.txt" it is not.
 */
static bool
is_name(const ls_judge_ctx *ctx, const ls_judge_text *t, int i, int end)
{
	size_t off = t->atoms[i].off;
	int slashes = off > 0 && t->text.data[off - 1] == '/' ? 2 : 0;
	bool claimed = false, dotted = false, mailbox = false;

	for (int k = i; k < end; k++)
	{
		const ls_judge_atom *a = &t->atoms[k];

		slashes += k > i && a->sep == LS_SEP_SLASH;
		mailbox |= k > i && strchr("@+", t->text.data[a->off - 1]) != NULL;
		if (claims(ctx, t, k))
			claimed = true, dotted = false;
		else
			dotted |= claimed && a->sep == LS_SEP_DOT && a->kind == LS_ATOM_WORD && a->len > 1;
	}
	return claimed && (dotted || mailbox || slashes > 1);
}

/* Does atom `i` refuse what follows, or repeat it: "unknown option ...", "echo: ..."? */
static bool
is_others(const ls_judge_ctx *ctx, const ls_judge_text *t, int i, bool label)
{
	static const char *const refusals[] = {"unknown",      "invalid",     "unrecognized",
										   "unrecognised", "unsupported", "unexpected",
										   "malformed",    "illegal",     "undefined"};
	static const char *const repeats[] = {"received", "got", "echo", "recv", "typed", "entered"};
	static const char *const rejects[] = {"rejected", "refused",   "ignored",  "ignoring",
										  "bad",      "rejecting", "discarded"};
	ls_str word = ls_judge_atom_text(t, i);

	if (LS_JUDGE_IS_IN(word, refusals)) /* "no invalid rows", "3 unknown records" are counted */
		return i == 0 || (t->atoms[i - 1].kind != LS_ATOM_NUMBER &&
						  ctx->words.table[t->atoms[i - 1].word].pol != LS_POL_NOT);
	for (int k = i - 1; label && k >= 0 && k > i - 3; k--)
		if (LS_JUDGE_IS_IN(ls_judge_atom_text(t, k), rejects))
			return true;
	return ls_judge_is(word, "privmsg") || (label && LS_JUDGE_IS_IN(word, repeats));
}

/* The end of what follows "name:" and its kin: before the next label or key; `at`: no such label. */
static size_t
label_end(const ls_judge_text *t, int i, size_t at, size_t to)
{
	static const char *const labels[] = {"body",  "content", "description", "filename", "host",
										 "label", "name",    "note",        "payload",  "reason",
										 "tag",   "text",    "title"};

	if (!LS_JUDGE_IS_IN(ls_judge_atom_text(t, i), labels))
		return at;
	for (i++; i < t->n && t->atoms[i].off < to; i++)
	{
		size_t end = (size_t) t->atoms[i].off + t->atoms[i].len;

		if (end + 1 < to && (t->text.data[end] == '=' ||
							 (t->text.data[end] == ':' && t->text.data[end + 1] == ' ')))
			return t->atoms[i].off;
	}
	return to;
}

void
ls_judge_free_mark(const ls_judge_ctx *ctx, ls_judge_text *t, size_t from, size_t to)
{
	static const char *const verbs[] = {"insert", "update", "delete", "where", "from"};
	const char *s = t->text.data;
	bool quoted = false, statement = false, label;
	int words = 0;
	size_t at = from, labelled = from; /* what labels before this name has been looked at */

	if (!LS_JUDGE_RULE(FREE))
		return;
	for (int i = ls_judge_atom_at(t, from), end; i < t->n && t->atoms[i].off < to; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];
		size_t stop = (size_t) a->off + a->len;

		for (; at < a->off; at++)
		{
			if (s[at] == '"')
				quoted = !quoted;
			else if (!quoted)
			{
				size_t span = span_at(s, at, to, words < 2, statement);

				if (s[at] == '{' && at + 1 < to && (s[at + 1] == '"' || s[at + 1] == '\\'))
					return; /* JSON */
				if (span > at)
				{
					mark_free(ctx, t, at, span);
					at = span - 1;
				}
			}
		}
		at = at > stop ? at : stop;
		if (quoted || a->kind == LS_ATOM_NUMBER)
			continue; /* what is quoted has been looked at by itself */
		words += a->kind == LS_ATOM_WORD && a->len > 1;
		statement |=
			ls_judge_is(ls_judge_atom_text(t, i), "select") ||
			((a->flags & LS_ATOM_UPPER) && LS_JUDGE_IS_IN(ls_judge_atom_text(t, i), verbs));
		if ((a->sep >= LS_SEP_SPACE || a->sep == LS_SEP_START) && a->client == LS_CLIENT_NONE)
		{
			for (end = i + 1;
				 end < t->n && t->atoms[end].off < to && t->atoms[end].sep < LS_SEP_SPACE;)
				end++;
			if (end > i + 1 && is_name(ctx, t, i, end))
				ls_judge_client_set(t, a->off, t->atoms[end - 1].off + 1, LS_CLIENT_FREE);
		}
		label = stop < to && s[stop] == ':';
		if (stop < to && is_others(ctx, t, i, label))
		{
			mark_free(ctx, t, stop, to);
			return;
		}
		/* what tells news after a label within the text tells it after the outer label too */
		if (label && a->off >= labelled)
		{
			labelled = label_end(t, i, stop, to);
			mark_free(ctx, t, stop, labelled);
		}
	}
}
