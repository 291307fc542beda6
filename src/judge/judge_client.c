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

static bool
is_atom(const marking *m, int i, const char *word)
{
	return ls_judge_is(ls_judge_atom_text(m->t, i), word);
}

#define IS_ANY(m, i, words) LS_JUDGE_IS_IN(ls_judge_atom_text((m)->t, i), words)

/* Keys and nouns of what clients send. */
static bool
is_clients_word(ls_str word)
{
	static const char *const words[] = {"command", "comment", "comments", "cookie",
										"form",    "headers", "params",   "payload",
										"q",       "query",   "referer",  "subject"};

	return LS_JUDGE_IS_IN(word, words);
}

static ls_judge_client
level_of_key(const char *s, size_t begin, size_t end)
{
	return is_clients_word(ls_judge_key_word(s, begin, end)) &&
				   !ls_judge_key_tells(s, begin, end) /* jsonPayload */
			   ? LS_CLIENT_TEXT
			   : LS_CLIENT_NONE;
}

static void
mark(marking *m, size_t from, size_t to, ls_judge_client level)
{
	ls_judge_client_set(m->t, from, to, level);
}

static size_t
token_end(const char *s, size_t from, size_t to, const char *stops)
{
	while (from < to && strchr(stops, s[from]) == NULL)
		from++;
	return from;
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

	*begin = i + 1;
	if (quote_at(s, from, i, escapes))
	{
		for (*end = *begin; *end < to && !quote_at(s, from, *end, escapes);)
			++*end;
		return true;
	}
	if (s[i] == '\'' && (i == from || strchr(" =(:[,\"", s[i - 1]) != NULL))
	{
		for (size_t k = to == m->open_to && i >= m->unclosed ? to : i + 1; k < to; k++)
			if (s[k] == '\'' && (k + 1 == to || !ls_judge_is_letter(s[k + 1])))
			{
				*end = k;
				return true;
			}
		m->open_to = to;
		m->unclosed = i;
		return false;
	}
	for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++)
	{
		size_t open = strlen(pairs[k][0]);

		if (to - i < open || memcmp(s + i, pairs[k][0], open) != 0)
			continue;
		*begin = i + open;
		*end = ls_judge_find(s, *begin, to, pairs[k][1]);
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
		size_t stop = (size_t) (bracket - s), user = ls_judge_find(s, from, stop, " - ") + 3;

		/* more than a word is a sentence that somebody registered as a name */
		mark(m, user, stop,
			 token_end(s, user, stop, " ") + 1 < stop ? LS_CLIENT_TEXT : LS_CLIENT_USER);
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

/* The level of a value by its key. */
static ls_judge_client
level_of_value(const marking *m, size_t begin, size_t key, size_t from, size_t to)
{
	if (level_of_key(m->s, begin, key) != LS_CLIENT_NONE)
		return LS_CLIENT_TEXT;
	return ls_judge_key_tells(m->s, key_begin(m->s, begin, key), key)
			   ? LS_CLIENT_NONE
			   : ls_judge_value_level(m->ctx, m->t, from, to, is_beside(m));
}

/* What a quotation is by the key or the words before it. */
static ls_judge_client
level_of_quotation(const marking *m, size_t from, size_t open, size_t end, size_t to)
{
	/* what has a name that may sound like an outcome */
	static const char *const checks[] = {"test",  "case", "spec",    "scenario", "check", "step",
										 "stage", "job",  "task",    "it",       "rule",  "alert",
										 "suite", "ok",   "example", "feature"};
	const char *s = m->s;
	size_t i = open;

	while (i > from && strchr("\\ [", s[i - 1]) != NULL)
		i--;
	if (i > from && strchr("=:>", s[i - 1]) != NULL)
		return level_of_value(m, from, i, open, end);
	if (m->statement)
		return LS_CLIENT_TEXT;
	/* a column, a key, klog's message, the whole text */
	if (i == from || s[i - 1] == ',' || s[i - 1] == ']' ||
		(end + 1 < to && (s[end + 1] == ',' || s[end + 1] == ':')))
		return LS_CLIENT_NONE;
	/* test "handles a failed handshake" ...; else a sentence that somebody wrote */
	return LS_JUDGE_IS_IN(ls_judge_key_word(s, from, i), checks) || s[i - 1] == '-' ||
				   ls_judge_value_level(m->ctx, m->t, open, end, false) != LS_CLIENT_FREE
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
		while (k < to && (ls_judge_is_letter(s[k]) || ls_judge_is_digit(s[k]) || s[k] == '_' ||
						  s[k] == '.' || (s[k] & 0x80)))
			k++;
		if (k > i + 1 && k < to && s[k] == '=')
			return i;
	}
	return to;
}

/* "Invalid user X", "Accepted password for X", "user X", "bob said X" */
static void
mark_words(marking *m, int i, size_t to)
{
	static const char *const speech[] = {"said", "says", "wrote"};
	static const char *const logins[] = {"password", "publickey", "pam"};
	size_t at = m->t->atoms[i].off + m->t->atoms[i].len + 1;
	size_t end = token_end(m->s, at, to, " ,;)]:");
	bool label = end < to && m->s[end] == ':'; /* "user created: ..." */

	if (IS_ANY(m, i, speech))
		mark(m, at, to, LS_CLIENT_TEXT);
	else if (is_atom(m, i, "user")
				 ? !label && !IS_ANY(m, i + 1, speech)
				 : is_atom(m, i, "for") && IS_ANY(m, i - 1, logins) &&
					   !is_atom(m, i + 1, "invalid") && !is_atom(m, i + 1, "user"))
		mark(m, at, end, LS_CLIENT_USER);
}

/* "message from bob: ...", "comment by bob on ticket 7: ...", "user registered: ...", "X-Note: ..." */
static bool
introduces(const marking *m, int i)
{
	static const char *const words[] = {"message", "comment", "mail", "reply", "note",
										"review",  "post",    "chat", "text",  "commit"};
	const ls_judge_atom *a = &m->t->atoms[i];
	bool by = false;

	for (int k = i; k >= 0 && k >= i - 6; k--)
	{
		by |= is_atom(m, k, "from") || is_atom(m, k, "by") || is_atom(m, k, "commit");
		if (by && IS_ANY(m, k, words))
			return true;
	}
	return is_atom(m, i - 1, "user") || is_atom(m, i, "said") || is_atom(m, i, "privmsg") ||
		   (i > 0 && (a->flags & LS_ATOM_CAPITAL) && m->s[a->off - 1] == '-' &&
			m->s[a[-1].off] >= 'A' && m->s[a[-1].off] <= 'Z');
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

/* Prose word by word: keys without quotes, labels, speech. */
static void
mark_atom(marking *m, int i, size_t to)
{
	static const char *const verbs[] = {"insert", "select", "values", "where"};
	const ls_judge_atom *a = &m->t->atoms[i];
	const char *s = m->s;
	size_t end = (size_t) a->off + a->len, key = a->off;
	ls_judge_client level;

	if (end >= to)
		return;
	if (s[end] == ' ')
	{
		m->statement |= (a->flags & LS_ATOM_UPPER) && IS_ANY(m, i, verbs);
		mark_words(m, i, to);
	}
	if (s[end] != '=' && !(s[end] == ':' && end + 1 < to && s[end + 1] == ' '))
		return;
	while (key > 0 && s[key - 1] != ' ' && s[key - 1] != '"' && a->off - key < 40)
		key--;
	level = level_of_key(s, key, end);
	if (s[end] == ':' && introduces(m, i))
		level = LS_CLIENT_TEXT;
	if (s[end] == '=')
		mark_field(m, i, key, to, level);
	for (end++; end < to && s[end] == ' ';)
		end++;
	if (level != LS_CLIENT_NONE && end < to && strchr("\"'\\", s[end]) == NULL)
		mark(m, end, s[a->off + a->len] == '=' ? field_end(s, end, to) : to, level);
}

static size_t mark_json(marking *m, size_t from, size_t to, int escapes);

/* Signs between words that may begin a client's text; bytes beyond ASCII are quotation marks. */
static const bool signs[256] = {
	['"'] = true, ['\''] = true, ['{'] = true, [0xc2] = true, [0xe2] = true,
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
				mark(m, begin, end, level ? level : LS_CLIENT_TEXT);
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

typedef struct json_level /* an object or an array */
{
	ls_judge_client level; /* of all that it holds */
	bool object;
	bool record; /* an error or a record: its message is the log's */
	bool tells;  /* its key is one under which programs tell what happened */
} json_level;

/* What a value is by its key and by what holds it; an element of an array has the array's key. */
static json_level
member_of(const marking *m, const json_level *holder, int depth, ls_str key)
{
	/* keys of a log's own text, and of a client's where the row has its own beside it */
	static const char *const messages[] = {"message", "msg", "body", "content", "description"};
	static const char *const records[] = {"error",  "err",    "exception", "log",    "event",
										  "record", "result", "response",  "fields", "jsonPayload"};
	json_level value = *holder;
	bool first = !m->has_message || holder->record, own = false;

	if (!holder->object || ls_judge_is(key, "stringValue") || ls_judge_is(key, "string_value"))
		return value;
	value.level = level_of_key(key.data, 0, key.len);
	if (LS_JUDGE_IS_IN(key, messages) || (depth == 1 && ls_judge_is(key, "text")))
	{
		own = ls_judge_is(key, "message") || ls_judge_is(key, "msg")
				  ? depth == 1 || first
				  : !m->has_message && (!m->has_event || holder->record);
		value.level = own ? LS_CLIENT_NONE : LS_CLIENT_TEXT;
	}
	value.level = value.level > holder->level ? value.level : holder->level;
	value.record = LS_JUDGE_IS_IN(key, records);
	value.tells = own || ls_judge_key_tells(key.data, 0, key.len);
	return value;
}

/* The string at [from, to) is a value. */
static void
mark_string(marking *m, const json_level *value, size_t from, size_t to, int escapes)
{
	if (value->level != LS_CLIENT_NONE || escapes == MAX_ESCAPES)
	{
		mark(m, from, to, value->level ? value->level : LS_CLIENT_TEXT);
		return;
	}
	mark_prose(m, from, to, escapes + 1);
	if (!value->tells)
		mark(m, from, to, ls_judge_value_level(m->ctx, m->t, from, to, is_beside(m)));
}

/* Marks a JSON object from its brace on; returns where it ends.  It need not be well formed. */
static size_t
mark_json(marking *m, size_t from, size_t to, int escapes)
{
	const char *s = m->s;
	json_level stack[MAX_DEPTH + 1] = {{LS_CLIENT_NONE}}, value;
	ls_str key = LS_STR("");
	bool is_value = false;
	int depth = 0;

	for (size_t at = from; at < to; at++)
	{
		json_level *holder = &stack[depth];

		switch (s[at])
		{
			case '{':
			case '[':
				if (depth == MAX_DEPTH)
				{
					mark(m, at, to, LS_CLIENT_TEXT);
					return to;
				}
				holder[1] = member_of(m, holder, depth++, key);
				holder[1].object = s[at] == '{';
				is_value = s[at] == '[';
				break;
			case '}':
			case ']':
				if (--depth <= 0)
					return at + 1;
				break;
			case ',':
				is_value = !holder->object;
				break;
			case ':':
			case '=': /* Ruby writes => */
				is_value = true;
				break;
			case '"':
			{
				size_t begin = ++at;

				while (at < to && !quote_at(s, from, at, escapes))
					at++;
				if (is_value)
				{
					value = member_of(m, holder, depth, key);
					mark_string(m, &value, begin, at, escapes);
					break;
				}
				key = ls_str_make(s + begin, at - begin);
				while (key.len > 0 && key.data[key.len - 1] == '\\')
					key.len--;
				break;
			}
			default:
				break;
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
