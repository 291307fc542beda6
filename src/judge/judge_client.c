/*-------------------------------------------------------------------------
 *
 * judge_client.c
 *	  Which text of a row a client chose, for the built-in evaluator (pure).
 *
 * A server logs what it did, and beside it what strangers sent: request lines, user agents, user
 * names, comments, search terms.  Whoever sends "migration 42 was applied" as a search term must
 * not thereby prove a migration.  So the atoms of such text carry a level (ls_judge_client): the
 * higher, the less they say.  How rows are judged by it is in judge_match.c.
 *
 * Three shapes are known: prose with quoted strings and keys, access logs of web servers, and
 * JSON.  What is cut off or nested too deeply counts as the client's, never as the server's.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define MAX_DEPTH 24  /* of JSON objects and arrays */
#define MAX_ESCAPES 3 /* of quotations in quotations */
#define NEAR 64       /* bytes before a quotation that may name it */
#define NAME 256      /* bytes of a user's name in prose */

typedef struct marking
{
	const ls_judge_ctx *ctx;
	ls_judge_text *t;
	const char *s;
	bool statement;   /* of SQL: its literals are values */
	bool has_message; /* JSON: a key msg or message */
	bool has_event;   /* ... or event */
	bool told;        /* key=value: there has been a msg or message */
	size_t field;     /* key=value: the last one begins here, */
	size_t field_to;  /* in text up to here, */
	size_t next;      /* and the next here; */
	size_t examined;  /* values up to here have been looked at */
	size_t unclosed;  /* no apostrophe after this place */
	size_t open_to;   /* and before this one ends a quotation */
	size_t user_of;   /* access log: where the text begins whose user has been marked, plus one */
} marking;

typedef struct client_key
{
	const char *name;
	ls_judge_client level;
} client_key;

/* Keys and nouns of what clients send; sorted by their first letter. */
static const client_key keys[] = {
	{"account", LS_CLIENT_USER},   {"acct", LS_CLIENT_USER},        {"agent", LS_CLIENT_TEXT},
	{"answer", LS_CLIENT_TEXT},    {"attachment", LS_CLIENT_QUOTE}, {"author", LS_CLIENT_USER},
	{"bio", LS_CLIENT_TEXT},       {"branch", LS_CLIENT_QUOTE},     {"caption", LS_CLIENT_TEXT},
	{"channel", LS_CLIENT_QUOTE},  {"chat", LS_CLIENT_TEXT},        {"command", LS_CLIENT_QUOTE},
	{"comment", LS_CLIENT_TEXT},   {"comments", LS_CLIENT_TEXT},    {"cookie", LS_CLIENT_TEXT},
	{"cookies", LS_CLIENT_TEXT},   {"email", LS_CLIENT_USER},       {"feedback", LS_CLIENT_TEXT},
	{"file", LS_CLIENT_QUOTE},     {"filename", LS_CLIENT_QUOTE},   {"form", LS_CLIENT_TEXT},
	{"from", LS_CLIENT_USER},      {"headers", LS_CLIENT_TEXT},     {"helo", LS_CLIENT_TEXT},
	{"input", LS_CLIENT_TEXT},     {"keyword", LS_CLIENT_TEXT},     {"keywords", LS_CLIENT_TEXT},
	{"label", LS_CLIENT_QUOTE},    {"logname", LS_CLIENT_USER},     {"name", LS_CLIENT_QUOTE},
	{"nick", LS_CLIENT_USER},      {"nickname", LS_CLIENT_USER},    {"note", LS_CLIENT_TEXT},
	{"notes", LS_CLIENT_TEXT},     {"parameters", LS_CLIENT_USER},  {"params", LS_CLIENT_USER},
	{"path", LS_CLIENT_PATH},      {"payload", LS_CLIENT_TEXT},     {"prompt", LS_CLIENT_TEXT},
	{"q", LS_CLIENT_TEXT},         {"query", LS_CLIENT_TEXT},       {"querystring", LS_CLIENT_TEXT},
	{"question", LS_CLIENT_TEXT},  {"recipient", LS_CLIENT_USER},   {"ref", LS_CLIENT_QUOTE},
	{"referer", LS_CLIENT_TEXT},   {"referrer", LS_CLIENT_TEXT},    {"remark", LS_CLIENT_TEXT},
	{"review", LS_CLIENT_TEXT},    {"room", LS_CLIENT_QUOTE},       {"ruser", LS_CLIENT_USER},
	{"search", LS_CLIENT_TEXT},    {"sender", LS_CLIENT_USER},      {"sni", LS_CLIENT_TEXT},
	{"statement", LS_CLIENT_TEXT}, {"subject", LS_CLIENT_TEXT},     {"tag", LS_CLIENT_QUOTE},
	{"tags", LS_CLIENT_QUOTE},     {"term", LS_CLIENT_TEXT},        {"terms", LS_CLIENT_TEXT},
	{"text", LS_CLIENT_TEXT},      {"title", LS_CLIENT_QUOTE},      {"to", LS_CLIENT_USER},
	{"topic", LS_CLIENT_QUOTE},    {"tweet", LS_CLIENT_TEXT},       {"ua", LS_CLIENT_TEXT},
	{"uri", LS_CLIENT_PATH},       {"url", LS_CLIENT_PATH},         {"user", LS_CLIENT_USER},
	{"useragent", LS_CLIENT_TEXT}, {"username", LS_CLIENT_USER},    {"usr", LS_CLIENT_USER},
	{"utterance", LS_CLIENT_TEXT},
};

static ls_judge_client
level_of_word(ls_str word)
{
	char first;

	if (word.len == 0 || word.len > 12)
		return LS_CLIENT_NONE;
	first = (char) (word.data[0] | 0x20);
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]) && keys[k].name[0] <= first; k++)
		if (keys[k].name[0] == first && ls_judge_is(word, keys[k].name))
			return keys[k].level;
	return LS_CLIENT_NONE;
}

static ls_judge_client
level_of_key(const char *s, size_t begin, size_t end)
{
	ls_str word = ls_judge_key_word(s, begin, end);
	ls_judge_client level = level_of_word(word);

	/* jsonPayload is the log's own */
	if (ls_judge_is(word, "payload") && word.data > s + begin + 3 &&
		(memcmp(word.data - 4, "json", 4) == 0 || memcmp(word.data - 4, "text", 4) == 0))
		return LS_CLIENT_NONE;
	/* user_name, user.id */
	if ((level == LS_CLIENT_QUOTE || ls_judge_is(word, "id")) && word.data > s + begin + 3 &&
		ls_judge_is(ls_judge_key_word(s, begin, (size_t) (word.data - s)), "user"))
		level = LS_CLIENT_USER;
	return level;
}

static void
mark(marking *m, size_t from, size_t to, ls_judge_client level)
{
	ls_judge_client_set(m->t, from, to, level);
}

/* A target or URL: its path names what was asked for, its query says nothing. */
static void
mark_target(marking *m, size_t from, size_t to)
{
	size_t path = from;

	while (path < to && strchr("?;# ", m->s[path]) == NULL)
		path++;
	mark(m, from, path, LS_CLIENT_PATH);
	mark(m, path, to, LS_CLIENT_TEXT);
}

/*
 * A user's name of one or two words names somebody.  More words, or one that tells an outcome,
 * are a sentence that somebody registered as a name.
 */
static void
mark_user(marking *m, size_t from, size_t to)
{
	const ls_judge_text *t = m->t;
	int words = 0, first = ls_judge_atom_at(t, from);
	bool tells = false;

	for (int i = first; i < t->n && t->atoms[i].off < to; i++)
	{
		ls_judge_polarity pol = (ls_judge_polarity) m->ctx->words.table[t->atoms[i].word].pol;

		words += i == first || (t->atoms[i].sep >= LS_SEP_SPACE && t->atoms[i].sep != LS_SEP_EQUAL);
		tells |= pol != LS_POL_NONE && pol != LS_POL_WEAK;
		tells |= t->atoms[i].kind != LS_ATOM_WORD;
	}
	mark(m, from, to, words > 2 || (words == 2 && tells) ? LS_CLIENT_TEXT : LS_CLIENT_USER);
}

/* Does the text tell an outcome: "backup completed"? */
static bool
tells_outcome(const marking *m, size_t from, size_t to)
{
	const ls_judge_text *t = m->t;

	for (int i = ls_judge_atom_at(t, from); i < t->n && t->atoms[i].off < to; i++)
	{
		ls_judge_polarity pol = (ls_judge_polarity) m->ctx->words.table[t->atoms[i].word].pol;

		if (pol == LS_POL_POS || pol == LS_POL_NEG)
			return true;
	}
	return false;
}

static void
mark_value(marking *m, size_t from, size_t to, ls_judge_client level)
{
	if (level == LS_CLIENT_PATH)
		mark_target(m, from, to);
	else if (level == LS_CLIENT_USER)
		mark_user(m, from, to);
	else
		mark(m, from, to, level);
}

/* Length of a method's name at `i`, 0: none. */
static size_t
method_at(const char *s, size_t i, size_t to)
{
	static const char *const methods[] = {"GET",   "POST",     "PUT",     "DELETE",
										  "HEAD",  "PATCH",    "OPTIONS", "CONNECT",
										  "TRACE", "PROPFIND", "MKCOL"};

	for (size_t k = 0; k < sizeof(methods) / sizeof(methods[0]); k++)
	{
		size_t len = strlen(methods[k]);

		if (to - i > len && memcmp(s + i, methods[k], len) == 0 && s[i + len] == ' ')
			return len;
	}
	return 0;
}

/* Does a quotation mark of this depth of escaping stand at `i`? */
static bool
quote_at(const char *s, size_t from, size_t i, int escapes)
{
	size_t n = 0;

	if (s[i] != '"')
		return false;
	while (i > from && s[i - 1] == '\\')
	{
		i--;
		n++;
	}
	return n == ((size_t) 1 << escapes) - 1;
}

/*
 * A quotation begins at `i`: where its text is and where it ends; false when none begins.  One
 * that does not end goes on to `to`.
 */
static bool
quotation(marking *m, size_t from, size_t i, size_t to, int escapes, size_t *begin, size_t *end)
{
	static const char *const pairs[][2] = {{"\xe2\x80\x9c", "\xe2\x80\x9d"},
										   {"\xe2\x80\x9e", "\xe2\x80\x9c"},
										   {"\xe2\x80\x98", "\xe2\x80\x99"},
										   {"\xc2\xab", "\xc2\xbb"}};
	const char *s = m->s;

	if (quote_at(s, from, i, escapes))
	{
		*begin = *end = i + 1;
		while (*end < to && !quote_at(s, from, *end, escapes))
			++*end;
		return true;
	}
	if (s[i] == '\'' && (i == from || strchr(" =(:[,\"", s[i - 1]) != NULL))
	{
		for (size_t k = to == m->open_to && i >= m->unclosed ? to : i + 1; k < to; k++)
			if (s[k] == '\'' &&
				(k + 1 == to || !((s[k + 1] | 0x20) >= 'a' && (s[k + 1] | 0x20) <= 'z')))
			{
				*begin = i + 1;
				*end = k;
				return true;
			}
		m->open_to = to;
		m->unclosed = i;
		return false;
	}
	for (size_t k = 0; (unsigned char) s[i] >= 0xc2 && k < sizeof(pairs) / sizeof(pairs[0]); k++)
	{
		size_t open = strlen(pairs[k][0]), close = strlen(pairs[k][1]);

		if (to - i < open || memcmp(s + i, pairs[k][0], open) != 0)
			continue;
		*begin = i + open;
		for (*end = *begin; *end < to; ++*end)
			if (to - *end >= close && memcmp(s + *end, pairs[k][1], close) == 0)
				break;
		return true;
	}
	return false;
}

/*
 * The request line of an access log, quoted at [begin, end): the line, the user before it,
 * captured headers before it and all that is quoted after it are the client's.  Returns where
 * that ends.
 */
static size_t
mark_access_line(marking *m, size_t from, size_t begin, size_t end, size_t to)
{
	const char *s = m->s;
	size_t method = method_at(s, begin, end), last = to;
	const char *quote = end + 1 < to ? memchr(s + end + 1, '"', to - end - 1) : NULL;
	const char *bracket = memchr(s + from, '[', begin - from);
	const char *brace = memchr(s + from, '{', begin - from);

	mark(m, begin, begin + method, LS_CLIENT_PATH);
	if (method > 0)
		mark_target(m, begin + method + 1, end);
	else
		mark(m, begin, end, LS_CLIENT_TEXT);
	if (brace != NULL)
		mark(m, (size_t) (brace - s), begin, LS_CLIENT_TEXT);
	/* 10.0.0.1 - alice [12/Mar/2024:10:00:00 +0000] */
	if (bracket != NULL && m->user_of != from + 1)
	{
		size_t user = ls_judge_find(s, from, (size_t) (bracket - s), " - ");

		mark_user(m, user + 3, (size_t) (bracket - s));
		m->user_of = from + 1; /* the first bracket is the same for later lines */
	}
	if (quote == NULL)
		return end;
	while (s[last - 1] != '"')
		last--;
	mark(m, (size_t) (quote - s), last, LS_CLIENT_TEXT);
	return last - 1;
}

/* Where the key before the sign at `end` begins. */
static size_t
key_begin(const char *s, size_t from, size_t end)
{
	while (end > from && strchr("\"'=: >", s[end - 1]) != NULL)
		end--;
	for (size_t i = end; i > from && end - i < NEAR; i--)
		if (strchr(" \t\"'=,;|&?{([<", s[i - 1]) != NULL)
			return i;
	return end - from < NEAR ? from : end - NEAR;
}

/* Does the row tell an event or a message of its own? */
static bool
is_beside(const marking *m)
{
	return m->has_message || m->has_event;
}

/*
 * A title, a tag or a file's name that tells an outcome is a sentence, too.  A name that does may
 * be a test's, unless the row is about something that happened to what is so named.
 */
static ls_judge_client
level_of_value(const marking *m, const char *s, size_t begin, size_t key, size_t from, size_t to)
{
	ls_judge_client level = level_of_key(s, begin, key);

	if (level == LS_CLIENT_QUOTE && !ls_judge_is(ls_judge_key_word(s, begin, key), "name") &&
		tells_outcome(m, from, to))
		return LS_CLIENT_TEXT;
	if (level == LS_CLIENT_QUOTE && is_beside(m) &&
		ls_judge_value_level(m->ctx, m->t, from, to, false) == LS_CLIENT_FREE)
		return LS_CLIENT_FREE;
	if (level == LS_CLIENT_NONE && !ls_judge_key_tells(s, key_begin(s, begin, key), key))
		return ls_judge_value_level(m->ctx, m->t, from, to, is_beside(m));
	return level;
}

/* What has a name that may sound like an outcome. */
static bool
is_name_of_check(ls_str word)
{
	static const char *const words[] = {"test",  "case", "spec",    "scenario", "check", "step",
										"stage", "job",  "task",    "it",       "rule",  "alert",
										"suite", "ok",   "example", "feature"};

	return LS_JUDGE_IS_IN(word, words);
}

/* What a quotation is by the key or the words before it. */
static ls_judge_client
level_of_quotation(const marking *m, size_t from, size_t open, size_t end, size_t to)
{
	const char *s = m->s;
	size_t i = open;
	ls_judge_client level;

	while (i > from && (s[i - 1] == '\\' || s[i - 1] == ' ' || s[i - 1] == '['))
		i--;
	/* a column, a key, klog's message, the whole text */
	if (i == from || s[i - 1] == ',' || s[i - 1] == ']' ||
		(end + 1 < to && (s[end + 1] == ',' || s[end + 1] == ':')))
	{
		if (i > from && (s[i - 1] == '=' || s[i - 1] == ':' || s[i - 1] == '>'))
			return level_of_value(m, s, from, i, open, end);
		if (m->statement)
			return LS_CLIENT_TEXT;
		return LS_CLIENT_NONE;
	}
	if (s[i - 1] == '=' || s[i - 1] == ':' || s[i - 1] == '>')
		return level_of_value(m, s, from, i, open, end);
	if (m->statement)
		return LS_CLIENT_TEXT;
	/* said "...", user "...", search for "..." */
	for (int words = 0; words < 2; words++)
	{
		ls_str word = ls_judge_key_word(s, from, i);

		if (ls_judge_is(word, "said") || ls_judge_is(word, "wrote") || ls_judge_is(word, "says") ||
			ls_judge_is(word, "message") || ls_judge_is(word, "posted"))
			return LS_CLIENT_TEXT;
		level = level_of_word(word);
		if (level >= LS_CLIENT_USER && !ls_judge_is(word, "from") && !ls_judge_is(word, "to"))
			return level;
		if (!ls_judge_is(word, "for") && !ls_judge_is(word, "about") && !ls_judge_is(word, "by"))
			break;
		i = (size_t) (word.data - s);
		while (i > from && s[i - 1] == ' ')
			i--;
	}
	/* test "handles a failed handshake" ...; else a sentence that somebody wrote */
	return is_name_of_check(ls_judge_key_word(s, from, i)) || s[i - 1] == '-' ||
				   !tells_outcome(m, open, end)
			   ? LS_CLIENT_QUOTE
			   : LS_CLIENT_TEXT;
}

/* Where the unquoted text after "key=" ends: before the next "key=", or at `to`. */
static size_t
field_end(const char *s, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
	{
		size_t k = i + 1;

		if (s[i] != ' ')
			continue;
		while (k < to && (((s[k] | 0x20) >= 'a' && (s[k] | 0x20) <= 'z') || s[k] == '_' ||
						  s[k] == '.' || (s[k] & 0x80) || (s[k] >= '0' && s[k] <= '9')))
			k++;
		if (k > i + 1 && k < to && s[k] == '=')
			return i;
	}
	return to;
}

static size_t
token_end(const char *s, size_t from, size_t to, const char *stops)
{
	while (from < to && strchr(stops, s[from]) == NULL)
		from++;
	return from;
}

/* An unquoted value of a key, at `at`, its sign = or : or a blank; returns its end. */
static size_t
mark_unquoted(marking *m, size_t at, size_t to, char sign, ls_judge_client level)
{
	static const char opens[] = "<([{", closes[] = ">)]}";
	const char *s = m->s;
	const char *open;
	size_t end;

	while (at < to && s[at] == ' ')
		at++;
	if (at == to || s[at] == '"' || s[at] == '\'' || s[at] == '\\')
		return at; /* a quotation */
	if ((open = strchr(opens, s[at])) != NULL && level != LS_CLIENT_TEXT)
	{
		const char *close = memchr(s + at, closes[open - opens], to - at);

		end = close ? (size_t) (close - s) : to;
	}
	else if (level == LS_CLIENT_TEXT)
		end = sign == '=' ? field_end(s, at, to) : to;
	else if (sign == ':')
		end = token_end(s, at, to, ",;)]");
	else
		end = token_end(s, at, to, " ,;)]");
	mark_value(m, at, end, level);
	return end;
}

static bool
is_atom(const marking *m, int i, const char *word)
{
	return ls_judge_is(ls_judge_atom_text(m->t, i), word);
}

static bool
is_label_at(const marking *m, int i)
{
	size_t end = i < m->t->n ? m->t->atoms[i].off + (size_t) m->t->atoms[i].len : 0;

	return end > 0 && end < m->t->text.len && m->s[end] == ':';
}

/* "Invalid user X from", "Accepted password for X from", "user X", "bob said X" */
static void
mark_words(marking *m, int i, size_t to)
{
	const ls_judge_text *t = m->t;
	const char *s = m->s;
	size_t at = t->atoms[i].off + t->atoms[i].len + 1, end;

	switch (strchr("fsuw", s[t->atoms[i].off] | 0x20) != NULL ? t->atoms[i].len : 0)
	{
		case 3: /* for */
			if (!is_atom(m, i, "for") ||
				!(is_atom(m, i - 1, "password") || is_atom(m, i - 1, "publickey") ||
				  is_atom(m, i - 1, "pam")))
				return;
			if (is_atom(m, i + 1, "invalid") || is_atom(m, i + 1, "user"))
				return;
			break;
		case 4: /* said, says, user */
			if (is_atom(m, i, "said") || is_atom(m, i, "says"))
			{
				mark(m, at, to, LS_CLIENT_TEXT);
				return;
			}
			if (!is_atom(m, i, "user") || is_label_at(m, i + 1) || is_atom(m, i + 1, "said") ||
				is_atom(m, i + 1, "says") || is_atom(m, i + 1, "wrote"))
				return;
			break;
		case 5:
			if (is_atom(m, i, "wrote"))
				mark(m, at, to, LS_CLIENT_TEXT);
			return;
		default:
			return;
	}
	if (to > at + NAME)
		to = at + NAME;
	end = ls_judge_find(s, at, to, " from ");
	if (end < to && (is_atom(m, i, "for") || is_atom(m, i - 1, "invalid") ||
					 is_atom(m, i - 1, "illegal") || is_atom(m, i - 1, "for")))
		mark_user(m, at, end);
	else
		mark_unquoted(m, at, to, ' ', LS_CLIENT_USER);
}

/* "message from bob: ...", "comment by bob on ticket 7: ...", "user registered: ..." */
static bool
introduces(const marking *m, int i)
{
	static const char *const words[] = {"message", "comment", "mail", "reply", "note",
										"review",  "post",    "chat", "text",  "commit"};
	bool by = false;

	for (int k = i; k >= 0 && k >= i - 6; k--)
	{
		by |= is_atom(m, k, "from") || is_atom(m, k, "by") || is_atom(m, k, "commit");
		if (by && LS_JUDGE_IS_IN(ls_judge_atom_text(m->t, k), words))
			return true;
	}
	return is_atom(m, i, "said") || is_atom(m, i, "says") || is_atom(m, i, "wrote") ||
		   is_atom(m, i, "privmsg");
}

/* "X-Note: ...": a header, of two capitalized words or more */
static bool
is_header(const marking *m, int i)
{
	const ls_judge_atom *a = &m->t->atoms[i];

	return i > 0 && (a->flags & LS_ATOM_CAPITAL) && a->sep == LS_SEP_TIGHT &&
		   m->s[a->off - 1] == '-' && m->s[a[-1].off] >= 'A' && m->s[a[-1].off] <= 'Z';
}

/* "comment: ..." in prose; most keys are names of components too: "search: index rebuilt" */
static bool
is_label(const marking *m, int i)
{
	static const char *const labels[] = {
		"agent",     "comment", "comments",  "cookie",   "feedback", "input",
		"prompt",    "query",   "recipient", "referer",  "referrer", "sender",
		"statement", "subject", "user",      "username", "usr"};

	return LS_JUDGE_IS_IN(ls_judge_atom_text(m->t, i), labels);
}

/* An infrastructure's keys: one word is their value, and a message may follow it. */
static bool
is_place(ls_str word)
{
	static const char *const words[] = {
		"app", "image", "caller", "cluster", "component", "container", "env",    "host",
		"id",  "level", "logger", "lvl",     "module",    "namespace", "node",   "pid",
		"pod", "proc",  "region", "role",    "service",   "severity",  "shard",  "source",
		"svc", "t",     "thread", "time",    "ts",        "version",   "worker", "zone"};

	return LS_JUDGE_IS_IN(word, words);
}

/* field_end, which is the same for all keys up to the next one after a blank. */
static size_t
next_field(marking *m, size_t end, size_t to)
{
	if (to != m->field_to || end < m->field || end >= m->next)
	{
		m->field = end;
		m->field_to = to;
		m->next = field_end(m->s, end, to);
	}
	return m->next;
}

/*
 * A value of several words without quotes: "name=the deploy finished plan=free".  It goes on to
 * the next key.  At the end of a row what follows one word may be the program's message, unless
 * the key is one for names or the word is none that a value could be.
 */
static void
mark_field(marking *m, int i, size_t key, size_t to, ls_judge_client level)
{
	const char *s = m->s;
	size_t end = (size_t) m->t->atoms[i].off + m->t->atoms[i].len, stop;
	ls_str word = ls_judge_key_word(s, key, end);
	bool message =
		key + word.len == end && (ls_judge_is(word, "msg") || ls_judge_is(word, "message"));

	ls_judge_polarity pol;
	bool one; /* one word is the value */

	/* a second message is a value's */
	if (message && m->told)
		mark(m, end, next_field(m, end, to), LS_CLIENT_TEXT);
	m->told |= message;
	if (end + 1 >= to || strchr("\"\\{[( =", s[end + 1]) != NULL ||
		(s[end + 1] == '\'' && memchr(s + end + 2, '\'', to - end - 2) != NULL) ||
		i + 1 >= m->t->n || is_place(word) || ls_judge_key_tells(s, key, end))
		return;
	stop = next_field(m, end, to);
	pol = (ls_judge_polarity) m->ctx->words.table[m->t->atoms[i + 1].word].pol;
	one = stop == to && (level == LS_CLIENT_NONE || level == LS_CLIENT_USER) &&
		  pol != LS_POL_STOP && pol != LS_POL_ALL && pol != LS_POL_NOT;
	/* a=b=c: what is in a value has been looked at with it, so that all keys cost one look */
	if (m->examined >= (one ? end : stop))
		return;
	if (one)
		stop = token_end(s, end, to, " ");
	m->examined = stop;
	mark(m, end + 1, stop, ls_judge_value_level(m->ctx, m->t, end + 1, stop, is_beside(m)));
}

/* The words of an atom-wise look at prose: keys without quotes, methods, speech. */
static void
mark_atom(marking *m, int i, size_t to)
{
	const ls_judge_atom *a = &m->t->atoms[i];
	const char *s = m->s;
	size_t end = (size_t) a->off + a->len, method;
	ls_judge_client level;

	if (end >= to)
		return;
	if (a->kind != LS_ATOM_WORD)
	{
		if (s[end] == ':' && introduces(m, i))
			mark(m, end, to, LS_CLIENT_TEXT);
		return;
	}
	if (s[end] == '=' || (s[end] == ':' && end + 1 < to && s[end + 1] == ' '))
	{
		size_t key = a->off;

		while (key > 0 && s[key - 1] != ' ' && s[key - 1] != '"' && a->off - key < 40)
			key--;
		/* sudo: what was to be run */
		if (s[end] == '=' && is_atom(m, i, "command"))
		{
			mark(m, end, field_end(s, end, to), LS_CLIENT_USER);
			return;
		}
		level = level_of_key(s, key, end);
		if (s[end] == ':' && !is_label(m, i))
			level = LS_CLIENT_NONE;
		if (level == LS_CLIENT_NONE && s[end] == ':' && (introduces(m, i) || is_header(m, i)))
			level = LS_CLIENT_TEXT;
		if (level == LS_CLIENT_NONE && s[end] == ':' && is_atom(m, i - 1, "user"))
			level = LS_CLIENT_USER;
		if (level == LS_CLIENT_QUOTE && tells_outcome(m, end, token_end(s, end, to, " ")))
			level = LS_CLIENT_TEXT;
		if (s[end] == '=')
			mark_field(m, i, key, to, level);
		if (level != LS_CLIENT_NONE)
			mark_unquoted(m, end + 1, to, s[end], level);
		return;
	}
	if (s[end] != ' ')
		return;
	m->statement |=
		(a->flags & LS_ATOM_UPPER) && (is_atom(m, i, "insert") || is_atom(m, i, "select") ||
									   is_atom(m, i, "values") || is_atom(m, i, "where"));
	/* search term [...] */
	if (end + 1 < to && s[end + 1] == '[' &&
		level_of_word(ls_judge_atom_text(m->t, i)) == LS_CLIENT_TEXT)
	{
		mark(m, end, token_end(s, end, to, "]"), LS_CLIENT_TEXT);
		return;
	}
	if ((a->flags & LS_ATOM_UPPER) && (method = method_at(s, a->off, to)) == a->len)
	{
		size_t at = end;

		while (at < to && s[at] == ' ')
			at++;
		if (at < to && (s[at] == '/' || memcmp(s + at, "http", to - at < 4 ? to - at : 4) == 0))
		{
			size_t stop = token_end(s, at, to, " \"'");

			mark(m, a->off, end, LS_CLIENT_PATH);
			mark_target(m, at, stop);
			/* IIS: date, time, address, method, path, query, port, user, address, user agent */
			if (a->off > 20 && s[4] == '-' && s[7] == '-' && s[a->off - 2] >= '0' &&
				s[a->off - 2] <= '9')
				for (int k = m->t->n - 1; k > i && m->t->atoms[k].off > stop; k--)
					if (m->t->atoms[k].kind != LS_ATOM_NUMBER || m->t->atoms[k].sep < LS_SEP_SPACE)
					{
						mark(m, stop, m->t->atoms[k].off + 1, LS_CLIENT_TEXT);
						break;
					}
		}
		return;
	}
	mark_words(m, i, to);
}

static size_t mark_json(marking *m, size_t from, size_t to, int escapes);

/* Signs between words that may begin a client's text; bytes beyond ASCII are quotation marks. */
static const bool signs[256] = {
	['"'] = true, ['\''] = true, ['?'] = true, ['{'] = true, [0xc2] = true, [0xe2] = true,
};

/* Text of a log, or of one of its fields. */
static void
mark_prose(marking *m, size_t from, size_t to, int escapes)
{
	const char *s = m->s;
	int i = ls_judge_atom_at(m->t, from);
	size_t at = from;

	while (at < to)
	{
		size_t gap = i < m->t->n && m->t->atoms[i].off < to ? m->t->atoms[i].off : to;

		for (; at < gap; at++)
		{
			size_t begin, end;
			ls_judge_client level;

			if (!signs[(unsigned char) s[at]])
				continue;
			if (s[at] == '?' && at > from && s[at - 1] != ' ' && at + 1 < to && s[at + 1] != ' ')
			{
				size_t stop = token_end(s, at, to, " \"'<>");

				if (memchr(s + at, '=', stop - at) != NULL)
					mark(m, at, stop, LS_CLIENT_TEXT);
				at = stop - 1;
				continue;
			}
			if (s[at] == '{' && at + 1 < to && (s[at + 1] == '"' || s[at + 1] == '\\'))
			{
				at = mark_json(m, at, to, escapes);
				gap = at;
				break;
			}
			if (!quotation(m, from, at, to, escapes, &begin, &end))
				continue;
			if (method_at(s, begin, end) > 0 ||
				(at > from + 1 && memcmp(s + at - 2, "] ", 2) == 0 && end + 2 < to &&
				 s[end + 2] >= '1' && s[end + 2] <= '5'))
			{
				at = mark_access_line(m, from, begin, end - (escapes && s[end - 1] == '\\'), to);
				continue;
			}
			level = level_of_quotation(m, from, at, end, to);
			if (level != LS_CLIENT_NONE || escapes == MAX_ESCAPES)
				mark_value(m, begin, end, level ? level : LS_CLIENT_TEXT);
			else
				mark_prose(m, begin, end, escapes + 1);
			at = end;
		}
		while (i < m->t->n && (size_t) m->t->atoms[i].off + m->t->atoms[i].len <= at)
			i++;
		if (i >= m->t->n || m->t->atoms[i].off >= to)
		{
			if (gap >= to)
				break;
			continue;
		}
		if (m->t->atoms[i].off > at)
			continue;
		if (m->t->atoms[i].client == LS_CLIENT_NONE)
			mark_atom(m, i, to);
		at = (size_t) m->t->atoms[i].off + m->t->atoms[i].len;
		i++;
	}
	ls_judge_free_mark(m->ctx, m->t, from, to);
}

typedef struct json_level
{
	ls_judge_client level;   /* of all that it holds */
	ls_judge_client pending; /* {"key": "comment", "value": ...}: of the value */
	bool object;
	bool server;        /* an error or a record: its message is the log's */
	bool tells;         /* its key is one under which programs tell what happened */
	bool pending_tells; /* {"key": "status", "value": ...} */
} json_level;

static bool
is_value_key(ls_str key)
{
	return ls_judge_is(key, "value") || ls_judge_is(key, "v");
}

/* Is it the log's own message?  The outermost is; a second one is not. */
static bool
is_own_message(const marking *m, const json_level *holder, int depth, ls_str key)
{
	if (ls_judge_is(key, "message") || ls_judge_is(key, "msg"))
		return depth == 1 || !m->has_message || holder->server;
	return !m->has_message && (!m->has_event || holder->server);
}

/* Keys of a log's own text, and of a client's where the row has its own beside it. */
static bool
is_message_key(ls_str key, int depth)
{
	static const char *const keys_[] = {"body", "content", "description", "message", "msg"};

	return LS_JUDGE_IS_IN(key, keys_) || (depth == 1 && ls_judge_is(key, "text"));
}

/* Do programs tell under this key what happened? */
static bool
member_tells(const marking *m, const json_level *holder, int depth, ls_str key)
{
	if (!holder->object || ls_judge_is(key, "stringValue") || ls_judge_is(key, "string_value"))
		return holder->tells;
	if (is_value_key(key))
		return holder->pending_tells;
	return (is_message_key(key, depth) && is_own_message(m, holder, depth, key)) ||
		   ls_judge_key_tells(key.data, 0, key.len);
}

/* The level of a value by its key and what holds it. */
static ls_judge_client
level_of_member(const marking *m, const json_level *holder, int depth, ls_str key)
{
	ls_judge_client level = level_of_key(key.data, 0, key.len);

	if (is_value_key(key))
		level = holder->pending;
	if (is_message_key(key, depth))
		level = is_own_message(m, holder, depth, key) ? LS_CLIENT_NONE : LS_CLIENT_TEXT;
	return level > holder->level ? level : holder->level;
}

static bool
is_server_record(ls_str key)
{
	static const char *const names[] = {"error",  "err",    "exception", "log",    "event",
										"record", "result", "response",  "fields", "jsonPayload"};

	return LS_JUDGE_IS_IN(key, names);
}

/* A brace or a bracket begins what is the value of `key`, or an element. */
static void
open_level(const marking *m, const json_level *holder, json_level *level, int depth, ls_str key,
		   bool object)
{
	level->level = depth == 0 ? LS_CLIENT_NONE : level_of_member(m, holder, depth, key);
	level->pending = LS_CLIENT_NONE;
	level->tells = depth > 0 && member_tells(m, holder, depth, key);
	level->pending_tells = false;
	level->object = object;
	/* the elements of an array are values of the same key */
	level->server = object ? is_server_record(key) : holder->server;
}

/* The string at [from, to) is a value. */
static void
mark_string(marking *m, json_level *holder, int depth, ls_str key, size_t from, size_t to,
			int escapes)
{
	ls_judge_client level = holder->object ? level_of_member(m, holder, depth, key) : holder->level;

	if (level == LS_CLIENT_QUOTE && holder->object)
		level = level_of_value(m, key.data, 0, key.len, from, to);
	if (ls_judge_is(key, "key") || ls_judge_is(key, "k"))
	{
		holder->pending = level_of_key(m->s, from, to);
		holder->pending_tells = ls_judge_key_tells(m->s, from, to);
	}
	if (level == LS_CLIENT_NONE && escapes < MAX_ESCAPES)
	{
		mark_prose(m, from, to, escapes + 1);
		if (!member_tells(m, holder, depth, key))
			mark(m, from, to, ls_judge_value_level(m->ctx, m->t, from, to, is_beside(m)));
	}
	else
		mark_value(m, from, to, level == LS_CLIENT_NONE ? LS_CLIENT_TEXT : level);
}

/* Marks a JSON object from its brace on; returns where it ends.  It need not be well formed. */
static size_t
mark_json(marking *m, size_t from, size_t to, int escapes)
{
	const char *s = m->s;
	json_level stack[MAX_DEPTH + 1] = {{LS_CLIENT_NONE}};
	ls_str key = LS_STR("");
	bool is_value = false;
	int depth = 0;

	for (size_t at = from; at < to; at++)
	{
		json_level *holder = &stack[depth];

		if (s[at] == '{' || s[at] == '[')
		{
			if (depth == MAX_DEPTH)
			{
				mark(m, at, to, LS_CLIENT_TEXT);
				return to;
			}
			open_level(m, holder, &stack[depth + 1], depth, key, s[at] == '{');
			depth++;
			is_value = s[at] == '[';
		}
		else if (s[at] == '}' || s[at] == ']')
		{
			if (--depth <= 0)
				return at + 1;
		}
		else if (s[at] == ',')
			is_value = !holder->object;
		else if (s[at] == ':' || s[at] == '=') /* Ruby writes => */
			is_value = true;
		else if (s[at] == '"')
		{
			size_t begin = at + 1;

			for (at = begin; at < to && !quote_at(s, from, at, escapes);)
				at++;
			if (is_value)
			{
				mark_string(m, holder, depth, key, begin, at, escapes);
				continue;
			}
			key = ls_str_make(s + begin, at - begin);
			while (key.len > 0 && key.data[key.len - 1] == '\\')
				key.len--;
		}
	}
	return to;
}

void
ls_judge_client_mark(const ls_judge_ctx *ctx, ls_judge_text *t)
{
	marking m = {.ctx = ctx, .t = t, .s = t->text.data};
	size_t len = t->text.len;

	if (t->n == 0 || !LS_JUDGE_RULE(CLIENT))
		return;
	/* what stands after the last atom closes nothing that matters */
	if (len > (size_t) t->atoms[t->n - 1].off + t->atoms[t->n - 1].len + NEAR)
		len = (size_t) t->atoms[t->n - 1].off + t->atoms[t->n - 1].len + NEAR;
	for (int i = 0; i < t->n; i++)
	{
		ls_str word = ls_str_make(m.s + t->atoms[i].off, t->atoms[i].len);
		size_t end = (size_t) t->atoms[i].off + word.len;

		if (end >= len || (m.s[end] != '"' && m.s[end] != '\\' && m.s[end] != '='))
			continue;
		m.has_message |=
			m.s[end] != '=' && (ls_judge_is(word, "msg") || ls_judge_is(word, "message"));
		m.has_event |= ls_judge_is(word, "event") || (m.s[end] == '=' && ls_judge_is(word, "msg"));
	}
	mark_prose(&m, 0, len, 0);
}
