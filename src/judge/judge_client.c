/*-------------------------------------------------------------------------
 *
 * judge_client.c
 *	  Which text of a row its program did not write, for the built-in evaluator (pure).
 *
 * A program writes the words between values and the names of keys; what stands in a value may come
 * from anyone.  Whoever sends "migration 42 was applied" as a search term must not thereby prove a
 * migration.  So such text carries a level (ls_judge_client): the higher, the less it says.  How
 * rows are judged by it is in judge_match.c.
 *
 * One walk over the row: signs between its atoms begin and end spans, such as a quotation, an
 * object of JSON, the value of key=, or all that follows "unknown option".  When a span ends, its
 * key and its words tell its level.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem; PostgreSQL's flags set it too */
#endif
#include "src/judge/judge_internal.h"

#define MAX_SPANS 24 /* in each other; what is nested more deeply is the client's */
#define NEAR 64      /* bytes after the last atom in which a span may end */
#define KEY_ATOMS 12 /* of a key that are looked at */

typedef enum span_kind
{
	SPAN_TEXT,    /* the row */
	SPAN_OBJECT,  /* of JSON */
	SPAN_LIST,    /* ... */
	SPAN_QUOTE,   /* "..." */
	SPAN_SINGLE,  /* '...' and typographic quotation marks */
	SPAN_BRACKET, /* [...] and {...} in prose */
	SPAN_VALUE,   /* key=..., up to the next key */
	SPAN_LABEL,   /* name: ..., up to the next label or key */
	SPAN_REST     /* up to the end of the text around it */
} span_kind;

typedef struct span
{
	span_kind kind;
	int escapes; /* backslashes before its quotation mark */
	int from;    /* its first atom */
	int key;     /* the last atom of its key, -1: none */
	size_t at;   /* the place of its sign */
	bool record; /* an error or a record: its message is the log's */
	ls_judge_client level;
} span;

typedef struct walk
{
	const ls_judge_ctx *ctx;
	ls_judge_text *t;
	const char *s;
	size_t len;
	span stack[MAX_SPANS + 1];
	int depth;
	int key;          /* of the value that may begin here, -1: none */
	int words;        /* so far */
	bool has_message; /* JSON: a key msg or message */
	bool has_event;   /* ... or event */
	bool told;        /* there has been a msg or message */
	bool access;      /* a request line was quoted: later quotations are the client's */
	int looked;       /* atoms before it that were looked at for these two: */
	int user;         /* the first one of an access log's user, -1: none */
	int time;         /* the first one of its time */
	bool statement;   /* of SQL */
} walk;

static inline bool
in(const walk *w, int i, ls_judge_set set)
{
	return ls_judge_in(w->ctx, w->t, i, set);
}

static inline bool
is(const walk *w, int i, const char *word)
{
	return ls_judge_is(ls_judge_atom_text(w->t, i), word);
}

static inline const ls_judge_word *
word_of(const walk *w, int i)
{
	return ls_judge_word_of(w->ctx, w->t, i);
}

static inline size_t
end_of(const walk *w, int i)
{
	return i < 0 ? 0 : (size_t) w->t->atoms[i].off + w->t->atoms[i].len;
}

/* Is the atom joined to the one before: user_agent, url.query, userAgent? */
static inline bool
is_joined(const walk *w, int i)
{
	return i > 0 && w->t->atoms[i].sep >= LS_SEP_NONE && w->t->atoms[i].sep < LS_SEP_SPACE;
}

/* Stands a blank between atoms of [from, to)? */
static bool
has_blank(const walk *w, int from, int to)
{
	size_t begin = w->t->atoms[from].off;

	return memchr(w->s + begin, ' ', end_of(w, to - 1) - begin) != NULL;
}

static void
mark(walk *w, int from, int to, ls_judge_client level)
{
	for (int i = from; i < to; i++)
		if (w->t->atoms[i].client < level)
			w->t->atoms[i].client = (uint8_t) level;
}

/* Does atom `i` say that something is so or has happened: an outcome, a participle, "was built"? */
static bool
claims(const walk *w, int i)
{
	const ls_judge_word *word = word_of(w, i);

	if (w->t->atoms[i].kind == LS_ATOM_NUMBER)
		return false;
	return word->pol == LS_POL_POS || word->pol == LS_POL_NEG || word->pol == LS_POL_SKIP ||
		   (word->pol == LS_POL_STATE && word->strength > 0) ||
		   (w->t->atoms[i].flags & LS_ATOM_ED) || in(w, i - 1, LS_SET_AUXILIARY);
}

/*
 * Do the words say something that could be taken for news: a claim, or words with a number?  A
 * failure needs no proof, so it is no claim.
 */
static bool
tells_news(const walk *w, int from, int to)
{
	int words = 0;

	for (int i = from; i < to; i++)
	{
		const ls_judge_atom *a = &w->t->atoms[i];

		if (a->kind != LS_ATOM_NUMBER)
		{
			if (word_of(w, i)->pol != LS_POL_NEG && claims(w, i))
				return true;
			words += a->len > 2;
		}
		else if ((a->sep == LS_SEP_SPACE && words > 1) || (a->sep == LS_SEP_EQUAL && words > 0))
			return true;
	}
	return false;
}

static void
mark_free(walk *w, int from, int to)
{
	if (tells_news(w, from, to))
		mark(w, from, to, LS_CLIENT_FREE);
}

/* Do the words name an action: "deploy api"? */
static bool
names_action(const walk *w, int from, int to)
{
	for (int i = from; i < to; i++)
		if (word_of(w, i)->pol == LS_POL_ACT || word_of(w, i)->pol == LS_POL_STATE ||
			word_of(w, i)->pol == LS_POL_PART)
			return true;
	return false;
}

/*
 * The level of a value whose key does not tell what happened.  `beside`: the row has an event or a
 * message of its own, so that its outcome is not that of what the value names.
 */
static ls_judge_client
level_of_words(const walk *w, int from, int to, bool beside)
{
	if (to - from < 2)
		return LS_CLIENT_NONE; /* one word is a word of a program's */
	if (tells_news(w, from, to))
		return LS_CLIENT_FREE;
	if (!names_action(w, from, to))
		return LS_CLIENT_NONE;
	return beside ? LS_CLIENT_FREE : LS_CLIENT_QUOTE;
}

/* Does a program tell under this key what happened: status, eventName, log.message? */
static bool
key_tells(const walk *w, int key)
{
	if (is(w, key, "payload")) /* Google's */
		return is_joined(w, key) && (is(w, key - 1, "json") || is(w, key - 1, "text"));
	if (!in(w, key, LS_SET_KEY_HEAD) || !is_joined(w, key))
		return in(w, key, LS_SET_TELLS);
	return in(w, key - 1, LS_SET_TELLS) || in(w, key - 1, LS_SET_KEY_REST);
}

/* Where the key that ends with this atom begins. */
static int
key_begin(const walk *w, int key)
{
	int i = key;

	while (is_joined(w, i) && key - i < KEY_ATOMS)
		i--;
	return i;
}

/* Is the row's message, or what stands for it, the value of this key of the innermost object? */
static bool
is_message(walk *w, int key)
{
	const span *holder = &w->stack[w->depth];
	int objects = 0;
	bool first = !w->told;

	for (int k = 1; k <= w->depth; k++)
		objects += w->stack[k].kind == SPAN_OBJECT;
	w->told |= in(w, key, LS_SET_MESSAGE);
	if (holder->record)
		return true;
	return first && (in(w, key, LS_SET_MESSAGE) ? objects <= 1
												: objects == 1 && !w->has_message && !w->has_event);
}

/* The level of atoms that are the value of a key. */
static ls_judge_client
level_of_value(walk *w, int key, int from, int to)
{
	bool whole = !is_joined(w, key);

	/* OpenTelemetry's {"body":{"stringValue":...}} */
	if (is(w, key, "value") && is_joined(w, key) && is(w, key - 1, "string"))
		return w->stack[w->depth].key >= 0 && is(w, w->stack[w->depth].key, "body") &&
					   !w->has_message
				   ? LS_CLIENT_NONE
				   : level_of_words(w, from, to, true);
	if (whole && (in(w, key, LS_SET_MESSAGE) || in(w, key, LS_SET_BODY)))
		return is_message(w, key) ? LS_CLIENT_NONE : LS_CLIENT_FREE;
	if (key_tells(w, key))
		return LS_CLIENT_NONE;
	if (in(w, key, LS_SET_CLIENT))
		return LS_CLIENT_TEXT;
	return level_of_words(w, from, to, w->has_message || w->has_event);
}

/* The level of a quotation in prose. */
static ls_judge_client
level_of_quotation(const walk *w, const span *q, int to, size_t end)
{
	if (w->access || w->statement)
		return LS_CLIENT_TEXT;
	/* klog's message, a column, the whole text */
	if (q->at == 0 || w->s[q->at - 1] == ',' || (q->at > 1 && w->s[q->at - 2] == ']') ||
		(end + 1 < w->len && (w->s[end + 1] == ',' || w->s[end + 1] == ':')))
		return LS_CLIENT_NONE;
	/* test "handles a failed handshake" ...; else a sentence that somebody wrote */
	return in(w, q->from - 1, LS_SET_CHECK) || (q->at > 1 && w->s[q->at - 2] == '-') ||
				   level_of_words(w, q->from, to, false) != LS_CLIENT_FREE
			   ? LS_CLIENT_QUOTE
			   : LS_CLIENT_TEXT;
}

/*
 * A request line is quoted: its path names what was asked for, the rest of it says nothing, and
 * neither does the user before it: 10.0.0.1 - alice [12/Mar/2024:10:00:00 +0000] "GET ...
 */
static void
mark_request(walk *w, const span *q, int to)
{
	int path = q->from;

	if (in(w, q->from, LS_SET_METHOD))
		for (path++; path < to && strchr(path == q->from + 1 ? "?;#" : "?;# ",
										 w->s[w->t->atoms[path].off - 1]) == NULL;)
			path++;
	mark(w, q->from, path, LS_CLIENT_PATH);
	mark(w, path, to, LS_CLIENT_TEXT);
	/* The time has the last bracket, and the user begins after the first lone dash, whatever is in it. */
	for (; w->looked < q->from; w->looked++)
	{
		size_t gap = end_of(w, w->looked - 1);
		size_t len = w->t->atoms[w->looked].off - gap;

		if (memchr(w->s + gap, '[', len) != NULL)
			w->time = w->looked;
		if (w->user < 0 && memmem(w->s + gap, len, " - ", 3) != NULL)
			w->user = w->looked;
	}
	/* more than a word is a sentence that somebody registered as a name */
	if (w->user >= 0 && w->user < w->time)
		mark(w, w->user, w->time, has_blank(w, w->user, w->time) ? LS_CLIENT_TEXT : LS_CLIENT_PATH);
	w->access = true;
}

/* A method in a quotation, or what stands where an access log has its request. */
static bool
is_request(const walk *w, const span *q, int to, size_t end)
{
	if (q->from >= to)
		return false;
	if (in(w, q->from, LS_SET_METHOD) && (w->t->atoms[q->from].flags & LS_ATOM_UPPER) &&
		has_blank(w, q->from, to))
		return true;
	return q->at > 1 && memcmp(w->s + q->at - 2, "] ", 2) == 0 && end + 2 < w->len &&
		   w->s[end + 2] >= '1' && w->s[end + 2] <= '5';
}

static void
finish_quotation(walk *w, const span *q, int to, size_t end)
{
	span_kind holder = w->stack[w->depth].kind;
	bool json = holder == SPAN_OBJECT || holder == SPAN_LIST;
	size_t next = end + 1;

	while (next < w->len && w->s[next] == ' ')
		next++;
	if (holder == SPAN_OBJECT && next < w->len && (w->s[next] == ':' || w->s[next] == '='))
	{
		/* a program's key has no blanks */
		if (q->from < to && has_blank(w, q->from, to))
			mark_free(w, q->from, to);
		return;
	}
	if (!json && is_request(w, q, to, end))
		mark_request(w, q, to);
	else
		mark(w, q->from, to,
			 q->key >= 0 ? level_of_value(w, q->key, q->from, to)
			 : json      ? level_of_words(w, q->from, to, true)
						 : level_of_quotation(w, q, to, end));
}

/*
 * A value without quotes: "name=the deploy finished plan=free".  At the end of a row what follows
 * one word may be the program's message, unless the word is none that a value could be.
 */
static void
finish_value(walk *w, const span *v, int to, bool last)
{
	ls_judge_polarity pol;
	int stop = v->from + 1;

	if (v->from >= to || in(w, v->key, LS_SET_PLACE))
		return;
	pol = (ls_judge_polarity) word_of(w, v->from)->pol;
	while (stop < to && !has_blank(w, stop - 1, stop + 1))
		stop++;
	if (last && pol != LS_POL_STOP && pol != LS_POL_ALL && pol != LS_POL_NOT &&
		!in(w, v->key, LS_SET_CLIENT))
		to = stop;
	mark(w, v->from, to, level_of_value(w, v->key, v->from, to));
}

/* Ends the innermost span before atom `to`; `last`: with the text around it. */
static void
finish(walk *w, int to, size_t end, bool last)
{
	const span p = w->stack[w->depth--];

	switch (p.kind)
	{
		case SPAN_OBJECT:
		case SPAN_LIST:
			/* the payload of a request that is logged as an object */
			if (p.key >= 0 && ((in(w, p.key, LS_SET_CLIENT) && !key_tells(w, p.key)) ||
							   ((w->has_message || w->has_event) && !is_joined(w, p.key) &&
								in(w, p.key, LS_SET_BODY))))
				mark(w, p.from, to, LS_CLIENT_TEXT);
			break;
		case SPAN_QUOTE:
		case SPAN_SINGLE:
			finish_quotation(w, &p, to, end);
			break;
		case SPAN_VALUE:
			finish_value(w, &p, to, last);
			break;
		case SPAN_BRACKET:
			if (to > p.from && has_blank(w, p.from, to))
				mark_free(w, p.from, to);
			break;
		case SPAN_REST:
			if (p.level == LS_CLIENT_TEXT)
				mark(w, p.from, to, LS_CLIENT_TEXT);
			else
				mark_free(w, p.from, to);
			break;
		default:
			mark_free(w, p.from, to);
			break;
	}
}

/* Ends all spans from number `k` on; what holds one that has not ended is no value of one word. */
static void
finish_from(walk *w, int k, int to, size_t end)
{
	for (bool last = true; w->depth >= k; last = false)
		finish(w, to, end, last);
}

static span *
begin(walk *w, span_kind kind, int from, size_t at)
{
	const span *holder = &w->stack[w->depth];
	span *p;

	if (w->depth == MAX_SPANS)
	{
		if (from < w->t->n && w->t->atoms[from].client != LS_CLIENT_TEXT)
			mark(w, from, w->t->n, LS_CLIENT_TEXT);
		return NULL;
	}
	p = &w->stack[++w->depth];
	*p = (span){.kind = kind, .from = from, .at = at, .key = w->key};
	if (holder->kind == SPAN_LIST && w->key < 0)
	{
		p->key = holder->key;
		p->record = holder->record;
	}
	else
		p->record = w->key >= 0 && (in(w, w->key, LS_SET_RECORD) || is(w, w->key, "payload"));
	w->key = -1;
	return p;
}

/* All from atom `from` on to the end of the text around it is of this level. */
static void
begin_rest(walk *w, int from, ls_judge_client level)
{
	span *p;

	while ((p = &w->stack[w->depth])->kind == SPAN_VALUE || p->kind == SPAN_LABEL ||
		   p->kind == SPAN_BRACKET)
		finish(w, from, end_of(w, from - 1), false);
	if (from >= w->t->n || (p->kind == SPAN_REST && p->level >= level))
		return;
	w->key = -1;
	if ((p = begin(w, SPAN_REST, from, end_of(w, from - 1))) != NULL)
		p->level = level;
}

static bool
stands(const walk *w, size_t at, const char *what)
{
	size_t len = strlen(what);

	return w->len - at >= len && memcmp(w->s + at, what, len) == 0;
}

/* The innermost span of this kind that no quotation hides, 0: none. */
static int
find_span(const walk *w, span_kind kind, char open)
{
	for (int k = w->depth; k > 0; k--)
	{
		if (w->stack[k].kind == kind && (open == 0 || w->s[w->stack[k].at] == open))
			return k;
		if (w->stack[k].kind == SPAN_QUOTE || w->stack[k].kind == SPAN_SINGLE)
			break;
	}
	return 0;
}

/* A double quotation mark before atom `i`: it ends the quotation of its depth of escaping, or begins one. */
static void
quotation_mark(walk *w, int i, size_t at)
{
	int escapes = 0;
	span *q;

	while (at > (size_t) escapes && w->s[at - (size_t) escapes - 1] == '\\')
		escapes++;
	if (escapes % 2 == 0)
		escapes = 0; /* an escaped backslash */
	for (int k = w->depth; k > 0; k--)
		if (w->stack[k].kind == SPAN_QUOTE && w->stack[k].escapes == escapes)
		{
			finish_from(w, k, i, at);
			return;
		}
	/* after a word it ends nothing that has begun */
	if (i > 0 && at == end_of(w, i - 1))
		return;
	if ((q = begin(w, SPAN_QUOTE, i, at - (size_t) escapes)) != NULL)
		q->escapes = escapes;
}

/* An apostrophe, or a quotation mark beyond ASCII. */
static void
single_mark(walk *w, int i, size_t at)
{
	static const char *const pairs[][2] = {{"'", "'"},
										   {"\xe2\x80\x9c", "\xe2\x80\x9d"},
										   {"\xe2\x80\x9e", "\xe2\x80\x9c"},
										   {"\xe2\x80\x98", "\xe2\x80\x99"},
										   {"\xc2\xab", "\xc2\xbb"}};
	int open = find_span(w, SPAN_SINGLE, 0);

	for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++)
	{
		size_t next = at + strlen(pairs[k][1]);

		if (open > 0 && stands(w, w->stack[open].at, pairs[k][0]) && stands(w, at, pairs[k][1]) &&
			!(next < w->len && ls_judge_is_letter(w->s[next])))
		{
			finish_from(w, open, i, at);
			return;
		}
	}
	if (i > 0 && at == end_of(w, i - 1))
		return; /* after a word none begins */
	for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++)
		if (stands(w, at, pairs[k][0]) &&
			(k > 0 || at == 0 || strchr(" =(:[,\"", w->s[at - 1]) != NULL))
			begin(w, SPAN_SINGLE, i, at);
}

static void
bracket(walk *w, int i, size_t at)
{
	span_kind holder = w->stack[w->depth].kind;
	char c = w->s[at], next = at + 1 < w->len ? w->s[at + 1] : 0;
	bool json = holder == SPAN_OBJECT || holder == SPAN_LIST;
	int k;

	if (c == '{' || c == '[')
	{
		if (json || (c == '{' && (next == '"' || next == '\\')))
			begin(w, c == '{' ? SPAN_OBJECT : SPAN_LIST, i, at);
		else
			begin(w, SPAN_BRACKET, i, at);
		return;
	}
	k = find_span(w, c == '}' ? SPAN_OBJECT : SPAN_LIST, 0);
	if (k == 0)
		k = find_span(w, SPAN_BRACKET, c == '}' ? '{' : '[');
	if (k > 0)
		finish_from(w, k, i, at);
}

/* "message from bob: ...", "comment by bob on ticket 7: ...", "user registered: ...", "X-Note: ..." */
static bool
introduces(const walk *w, int i)
{
	const ls_judge_atom *a = &w->t->atoms[i];
	bool by = false;

	for (int k = i; k >= 0 && k >= i - 6; k--)
	{
		by |= is(w, k, "from") || is(w, k, "by") || is(w, k, "commit");
		if (by && in(w, k, LS_SET_WRITING))
			return true;
	}
	return is(w, i - 1, "user") || in(w, i, LS_SET_SPEECH) ||
		   (i > 0 && (a->flags & LS_ATOM_CAPITAL) && w->s[a->off - 1] == '-' &&
			(a[-1].flags & LS_ATOM_CAPITAL));
}

/* A label ("name: ") ends with atom `i`. */
static void
label(walk *w, int i)
{
	if (w->stack[w->depth].kind == SPAN_LABEL)
		finish(w, key_begin(w, i), end_of(w, i), false);
	if (introduces(w, i) || in(w, i, LS_SET_CLIENT))
		begin_rest(w, i + 1, LS_CLIENT_TEXT);
	else if (in(w, i, LS_SET_REPEAT) || in(w, i - 1, LS_SET_REJECT))
		begin_rest(w, i + 1, LS_CLIENT_FREE);
	else if (in(w, i, LS_SET_LABEL))
		begin(w, SPAN_LABEL, i + 1, end_of(w, i));
}

/* A sign that ends a key, or a label, before atom `i`. */
static void
key_sign(walk *w, int i, size_t at)
{
	span_kind top = w->stack[w->depth].kind;
	char next = at + 1 < w->len ? w->s[at + 1] : ' ';

	w->key = i - 1;
	if (top == SPAN_OBJECT || top == SPAN_LIST || at != end_of(w, i - 1) || i == 0)
		return;
	if (w->s[at] == ':')
	{
		if (next == ' ')
			label(w, i - 1);
		return;
	}
	if (top == SPAN_VALUE || top == SPAN_LABEL)
		finish(w, key_begin(w, i - 1), at, false);
	if (strchr("\"{[ '", next) != NULL || stands(w, at + 1, "\\\""))
		return;
	w->key = i - 1;
	begin(w, SPAN_VALUE, i, at);
}

/* "<bob> ", and no level; "#general bob: " */
static bool
is_chat(const walk *w, int i, size_t at)
{
	size_t end = at + 1, to = w->len - at > NEAR ? at + NEAR : w->len;

	if (w->words > 1 || i > 12 || i >= w->t->n || w->t->atoms[i].off != end ||
		!ls_judge_is_letter(w->s[end]))
		return false;
	while (end < to && strchr(w->s[at] == '#' ? " " : " <>=/\"'", w->s[end]) == NULL)
		end++;
	if (w->s[at] == '<')
		return end + 1 < to && w->s[end] == '>' && w->s[end + 1] == ' ' &&
			   !(in(w, i, LS_SET_LEVEL) && end_of(w, i) == end);
	for (end++; end < to && w->s[end] != ' '; end++)
		if (w->s[end] == ':' || w->s[end] == '>')
			return true;
	return false;
}

/* The sign at `at`, before atom `i`. */
static void
sign(walk *w, int i, size_t at)
{
	switch ((unsigned char) w->s[at])
	{
		case '"':
			quotation_mark(w, i, at);
			break;
		case '\'':
		case 0xc2:
		case 0xe2:
			single_mark(w, i, at);
			break;
		case '{':
		case '[':
		case '}':
		case ']':
			bracket(w, i, at);
			break;
		case ',':
			w->key = -1;
			break;
		case '=':
		case ':':
			key_sign(w, i, at);
			break;
		case '<':
		case '#':
			if (stands(w, at, "<!--") || is_chat(w, i, at))
				begin_rest(w, i, LS_CLIENT_FREE);
			break;
		case '/':
		case '-':
			if (stands(w, at, "/*") || (w->statement && stands(w, at, "-- ")))
				begin_rest(w, i, LS_CLIENT_FREE);
			break;
		default:
			break;
	}
}

/*
 * A host, a file, a URL or a mailbox of atoms [i, end) that reports something.  In "deploy.finished"
 * the last part may be what happened; in "deploy-finished.example.org" and "finished.txt" it is not.
 */
static bool
is_name(const walk *w, int i, int end)
{
	bool path = w->t->atoms[i].off > 0 && w->s[w->t->atoms[i].off - 1] == '/';
	bool claimed = false, dotted = false, mailbox = false;

	for (int k = i; k < end; k++)
	{
		const ls_judge_atom *a = &w->t->atoms[k];

		mailbox |= k > i && strchr("@+", w->s[a->off - 1]) != NULL;
		if (claims(w, k))
			claimed = true, dotted = false;
		else
			dotted |= claimed && a->sep == LS_SEP_DOT && a->kind == LS_ATOM_WORD && a->len > 1;
	}
	return claimed && (dotted || mailbox || path);
}

/* Is the atom part of a name that began before: by its sign, or as %20 of a path? */
static bool
goes_on(const walk *w, int i)
{
	return is_joined(w, i) || (i > 0 && w->s[w->t->atoms[i].off - 1] == '%' &&
							   end_of(w, i - 1) + 1 == w->t->atoms[i].off);
}

/* "GET /deploy%20finished 200" without quotes: a path, and what is after its question mark. */
static void
mark_plain_request(walk *w, int i)
{
	int path = i + 1;
	int to;

	while (path < w->t->n && !has_blank(w, path - 1 > i ? path - 1 : path, path + 1) &&
		   strchr("?;#", w->s[w->t->atoms[path].off - 1]) == NULL)
		path++;
	for (to = path; to < w->t->n && !has_blank(w, to - 1, to + 1);)
		to++;
	mark(w, i, path, LS_CLIENT_PATH);
	mark(w, path, to, LS_CLIENT_TEXT);
}

/* Atom `i` of prose: a name, what a server refuses, "user X", "password for X", "bob said X". */
static void
word(walk *w, int i)
{
	const ls_judge_atom *a = &w->t->atoms[i];
	size_t end = end_of(w, i);
	int to = i + 1;

	w->words += a->kind == LS_ATOM_WORD && a->len > 1;
	w->statement |= (a->flags & LS_ATOM_UPPER ? in(w, i, LS_SET_STATEMENT) : is(w, i, "select"));
	while (!goes_on(w, i) && to < w->t->n && goes_on(w, to))
		to++;
	if (a->kind != LS_ATOM_NUMBER && to > i + 1 && is_name(w, i, to))
		mark(w, i, to, LS_CLIENT_FREE);
	if ((a->flags & LS_ATOM_UPPER) && in(w, i, LS_SET_METHOD) && end + 1 < w->len &&
		memcmp(w->s + end, " /", 2) == 0)
		mark_plain_request(w, i);
	if (in(w, i, LS_SET_REFUSAL)) /* "no invalid rows", "3 unknown records" are counted */
	{
		if (i == 0 || (a[-1].kind != LS_ATOM_NUMBER && word_of(w, i - 1)->pol != LS_POL_NOT))
			begin_rest(w, i + 1, LS_CLIENT_FREE);
	}
	else if (end >= w->len || w->s[end] != ' ')
		return;
	else if (in(w, i, LS_SET_SPEECH))
		begin_rest(w, i + 1, LS_CLIENT_TEXT);
	else if (is(w, i, "user") ? !in(w, i + 1, LS_SET_SPEECH)
							  : is(w, i, "for") && in(w, i - 1, LS_SET_LOGIN) &&
									!is(w, i + 1, "invalid") && !is(w, i + 1, "user"))
	{
		for (to = i + 2; to < w->t->n && is_joined(w, to);)
			to++;
		if (i + 1 < w->t->n)
			mark(w, i + 1, to, LS_CLIENT_PATH);
	}
}

void
ls_judge_client_mark(const ls_judge_ctx *ctx, ls_judge_text *t)
{
	walk w = {.ctx = ctx, .t = t, .s = t->text.data, .len = t->text.len, .key = -1, .user = -1};

	if (t->n == 0 || !LS_JUDGE_RULE(CLIENT))
		return;
	/* what stands after the last atom closes nothing that matters */
	if (w.len > end_of(&w, t->n - 1) + NEAR)
		w.len = end_of(&w, t->n - 1) + NEAR;
	for (int i = 0; i < t->n; i++)
	{
		size_t end = end_of(&w, i);
		bool message = in(&w, i, LS_SET_MESSAGE);

		if (end >= w.len || strchr("\"\\=", w.s[end]) == NULL)
			continue;
		w.has_message |= message && w.s[end] != '=';
		w.has_event |= is(&w, i, "event") || (is(&w, i, "msg") && w.s[end] == '=');
	}
	for (int i = 0; i <= t->n; i++)
	{
		size_t to = i < t->n ? t->atoms[i].off : w.len;

		for (size_t at = end_of(&w, i - 1); at < to; at++)
			sign(&w, i, at);
		if (i < t->n)
			word(&w, i);
	}
	finish_from(&w, 1, t->n, w.len);
}
