/*-------------------------------------------------------------------------
 *
 * scan_line.c
 *	  Splits the text of a row into tokens and finds the variable ones.
 *
 * One pass over the bytes with a class table, no regular expressions: the
 * classes of all bytes of a word are OR-ed while it is read, and this mask
 * alone decides for most words (letters only: constant; a digit: variable).
 * The other words, with slashes, dots or @ or only hex letters, are read a second
 * time.
 *
 * Bytes from 0x80 are letters, so that a character is never cut.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/characters.h"

uint64_t
ls_hash_text(const char *data, size_t len)
{
	return len == 0 ? 0 : hash_word(data, len);
}

/* Two dots in a row, or NULL. */
static const char *
find_dots(const char *p, const char *end)
{
	for (; p + 1 < end; p++)
	{
		if (p[0] == '.' && p[1] == '.')
			return p;
	}
	return NULL;
}

/* The rest of a URL after its path: ?query and #fragment. */
static inline const char *
url_end(const char *p, const char *end)
{
	while (p < end && (CLASS(p) & C_SPACE) == 0 && *p != '"' && *p != '\'' && *p != ')' &&
		   *p != '>' && *p != ']' && *p != '}')
		p++;
	return p;
}

/* Units apart from their number: 5.2 KB, 12 ms, 3 seconds. */
static bool
is_unit(const char *p, size_t len)
{
	static const char *const names[] = {"sec",    "secs",    "second", "seconds", "min", "mins",
										"minute", "minutes", "hour",   "hours",   "day", "days"};

	if (len <= 3 && p[len - 1] == 'B')
		return len == 1 || (memchr("kKMGTP", p[0], 6) != NULL && (len == 2 || p[1] == 'i'));
	if (len == 2)
		return p[1] == 's' && memchr("mun", p[0], 3) != NULL;
	if (len < 3 || len > 7)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (names[i][0] == p[0] && strlen(names[i]) == len && memcmp(names[i], p, len) == 0)
			return true;
	}
	return false;
}

/* The name after `for user` and its like is variable even if it is root. */
static bool
is_user_name(const token_list *list, const char *p, size_t len)
{
	uint64_t last;
	uint64_t before;

	if (list->n < 2)
		return false;
	last = list->t[list->n - 1].code;
	if (last == CODE(TOKEN_WORD, hash_word("user", 4)))
	{
		before = list->t[list->n - 2].code;
		return before == CODE(TOKEN_WORD, hash_word("for", 3)) ||
			   before == CODE(TOKEN_WORD, hash_word("by", 2)) ||
			   before == CODE(TOKEN_WORD, hash_word("invalid", 7));
	}
	if (last == CODE(TOKEN_WORD, hash_word("for", 3)))
	{
		before = list->t[list->n - 2].code;
		return (before == CODE(TOKEN_WORD, hash_word("password", 8)) ||
				before == CODE(TOKEN_WORD, hash_word("publickey", 9))) &&
			   !(len == 4 && memcmp(p, "user", 4) == 0) &&
			   !(len == 7 && memcmp(p, "invalid", 7) == 0);
	}
	return false;
}

/* The quote that closes the one at p, or NULL when it is not near. */
static const char *
closing_quote(const char *p, const char *end)
{
	const char *stop = end - p > 512 ? p + 512 : end;
	const char *first = memchr(p + 1, *p, (size_t) (stop - p - 1));

	if (first == NULL || first[-1] != '\\')
		return first;
	for (const char *c = p + 1; c < stop; c++)
	{
		if (*c == '\\')
			c++;
		else if (*c == *p)
			return c;
	}
	return NULL;
}

static bool
is_symbol(const token_list *list, uint32_t from_end, char symbol)
{
	return list->n >= from_end &&
		   list->t[list->n - from_end].code == CODE(TOKEN_SYMBOL, (uint8_t) symbol);
}

/*
 * A quoted text that is a value as a whole: its end, or NULL.
 *	name="a value", name:"a value", "name": "a value";
 *	what follows the request in an access log (referrer, user agent);
 *	a single word after a word (user "bob", host 'web').
 */
static const char *
quoted_value(const token_list *list, const char *row, const char *p, const char *end, bool spaced)
{
	const token *last;
	const char *stop;
	bool single = true;

	if (list->n == 0)
		return NULL;
	last = &list->t[list->n - 1];
	if (is_symbol(list, 1, '=') ||
		(*p == '"' && is_symbol(list, 1, ':') && (!spaced || is_symbol(list, 2, '"'))))
		return closing_quote(p, end);
	/* an element of a list: ["a", "b"] */
	if (is_symbol(list, 1, '[') || is_symbol(list, 1, '(') || is_symbol(list, 1, ','))
	{
		stop = closing_quote(p, end);
		if (stop != NULL && stop + 1 < end && (stop[1] == ',' || stop[1] == ']' || stop[1] == ')'))
			return stop;
	}
	if (!spaced)
		return NULL;
	if (list->request && *p == '"')
		return closing_quote(p, end);
	if (CODE_KIND(last->code) != TOKEN_WORD || row + last->start + last->len >= p)
		return NULL;
	stop = closing_quote(p, end);
	if (stop == NULL || stop - p < 2 || (*p == '\'' && stop - p > 64))
		return NULL;
	/* 'it isn't' is no value: what is in single quotes must be a word */
	for (const char *c = p + 1; c < stop; c++)
		single = single && ((CLASS(c) & C_WORD) != 0 || (*p == '"' && (CLASS(c) & C_SPACE) == 0));
	return single ? stop : NULL;
}

/* What begins with punctuation at p and is one value: its end, or NULL. */
static const char *
punctuation_value(const token_list *list, const char *row, const char *p, const char *end,
				  bool spaced, uint64_t *code, uint8_t *lead)
{
	const char *stop;
	bool mac;

	*code = CODE(TOKEN_VARIABLE, CLASS_ANY);
	if (p + 1 == end)
		return NULL;
	switch (*p)
	{
		case ':':
			stop = p[1] == ':' ? ls_colon_address(p, end, &mac) : NULL;
			*code = CODE(TOKEN_VARIABLE, CLASS_ADDRESS);
			return stop != NULL && stop > p + 2 ? stop : NULL;
		case '<':
		case '>':
			/* <1 sec, >500: a bound is a number as well */
			if (!spaced || !is_digit(p[1]))
				return NULL;
			stop = p + 1;
			while (stop < end && (CLASS(stop) & C_WORD) != 0)
				stop++;
			return stop < end && *stop == '>' ? NULL : stop;
		case '"':
		case '\'':
			stop = quoted_value(list, row, p, end, spaced);
			if (stop == NULL)
				return NULL;
			*code = ls_classify_value(p + 1, stop);
			*lead = 1;
			return stop + 1;
		default:
			return NULL;
	}
}

/* Words with a dot that say where in the source: Order.java:55, at Main.run(...) */
static bool
is_source_place(const token_list *list, const char *end_of_word, const char *end)
{
	if (end - end_of_word < 2)
		return false;
	if (*end_of_word == ':')
		return is_digit(end_of_word[1]);
	return *end_of_word == '(' && list->n > 0 &&
		   list->t[list->n - 1].code == CODE(TOKEN_WORD, hash_word("at", 2));
}

/* Address, identity, user: the last two are names or a dash in access logs. */
static bool
is_access_log_name(const token_list *list)
{
	uint64_t dash = CODE(TOKEN_VALUE, hash_word("-", 1));

	return list->n == 2 && list->t[1].code == dash &&
		   CODE_KIND(list->t[0].code) == TOKEN_VARIABLE &&
		   CLASS_OF(list->t[0].code) == CLASS_ADDRESS;
}

/* The code of a word of none but symbols. */
static uint64_t
symbol_code(const token_list *list, const char *p, const char *word_end, const char *end,
			bool spaced)
{
	if (word_end - p == 1 && spaced && (word_end == end || (CLASS(word_end) & C_SPACE) != 0))
	{
		/* GET / HTTP/1.1 */
		if (*p == '/')
			return CODE(TOKEN_VARIABLE, CLASS_ANY);
		if (*p == '-' && ((list->n == 1 && CODE_KIND(list->t[0].code) == TOKEN_VARIABLE &&
						   CLASS_OF(list->t[0].code) == CLASS_ADDRESS) ||
						  is_access_log_name(list)))
			return CODE(TOKEN_VALUE, hash_word(p, 1));
	}
	/* "/" */
	if (word_end - p == 1 && *p == '/' && !spaced && list->n > 0 && word_end < end &&
		*word_end == '"' && is_symbol(list, 1, '"'))
		return CODE(TOKEN_VARIABLE, CLASS_ANY);
	return CODE(TOKEN_SYMBOL, hash_word(p, (size_t) (word_end - p)));
}

/*
 * The end of a list of words without spaces that begins with the word [p,
 * word_end), as dev,prod,eu; NULL when it is none.  A row that begins so is
 * rather one of comma-separated values.
 */
static const char *
word_list_end(const token_list *list, const char *p, const char *word_end, const char *end)
{
	const char *c;

	if (list->n == 0 || word_end - p > 32)
		return NULL;
	for (c = word_end; c < end && *c == ',';)
	{
		const char *word = ++c;

		while (c < end && (CLASS(c) & C_WORD) != 0)
			c++;
		if (c == word || c - word > 32)
			return NULL;
	}
	return c == end || (CLASS(c) & C_SPACE) != 0 || *c == ']' || *c == ')' || *c == '"' ? c : NULL;
}

/* States in capitals: from NEW to RUNNING. */
static bool
is_state(const token_list *list, const char *p, size_t len)
{
	uint64_t from = CODE(TOKEN_WORD, hash_word("from", 4));
	uint64_t last;

	if (list->n == 0 || len < 2 || *p < 'A' || *p > 'Z')
		return false;
	last = list->t[list->n - 1].code;
	if (last != from && (last != CODE(TOKEN_WORD, hash_word("to", 2)) || list->n < 3 ||
						 list->t[list->n - 3].code != from))
		return false;
	for (size_t i = 0; i < len; i++)
	{
		if ((p[i] < 'A' || p[i] > 'Z') && p[i] != '_')
			return false;
	}
	return true;
}

/* The code of a word of letters. */
static inline uint64_t
word_code(const token_list *list, const char *p, const char *word_end, const char *end)
{
	size_t len = (size_t) (word_end - p);
	token_kind kind = TOKEN_WORD;

	if (len == 3 && ls_is_calendar_word(p, end))
		return CODE(TOKEN_VARIABLE, CLASS_ANY);
	if (list->n > 0 && (list->t[list->n - 1].code == CODE(TOKEN_VARIABLE, CLASS_NUMBER) ||
						list->t[list->n - 1].code == CODE(TOKEN_VARIABLE, CLASS_ANY)))
		kind = is_unit(p, len) ? TOKEN_VALUE : TOKEN_WORD;
	else if (is_user_name(list, p, len) || is_access_log_name(list) || is_state(list, p, len))
		kind = TOKEN_VALUE;
	return CODE(kind, hash_word(p, len));
}

static inline const char *
line_end(const char *p, const char *end)
{
	const char *stop = memchr(p, '\n', (size_t) (end - p));

	return stop == NULL ? end : stop;
}

/*
 * A line of a stack trace is one variable after its first word:
 *	at Class.method(File.java:1), from file:1:in `method', File "file", line 1
 * with the line of source that follows it, and "... 5 more" as one more frame.
 * `line` is the start of its line.  NULL when there is none; otherwise its end,
 * and `word` is the length of its first word.
 */
static const char *
frame_end(const token_list *list, const char *line, const char *p, const char *end, size_t *word)
{
	const char *stop;
	const char *next;

	if (end - p < 6)
		return NULL;
	if (memcmp(p, "at ", 3) == 0)
	{
		stop = line_end(p, end);
		*word = 2;
		return p > line || stop[-1] == ')' ? stop : NULL;
	}
	if (p == line)
		return NULL;
	if (memcmp(p, "... ", 4) == 0 && is_digit(p[4]) && list->n > 0)
	{
		*word = 3;
		return line_end(p, end);
	}
	if (memcmp(p, "from ", 5) == 0)
	{
		stop = line_end(p, end);
		*word = 4;
		return memchr(p, ':', (size_t) (stop - p)) != NULL ? stop : NULL;
	}
	if (memcmp(p, "File \"", 6) != 0)
		return NULL;
	stop = line_end(p, end);
	*word = 4;
	/* the source is indented deeper */
	next = stop;
	while (next < end && (CLASS(next) & C_SPACE) != 0)
		next++;
	return next - stop > p - line + 1 && next < end ? line_end(next, end) : stop;
}

/*
 * The parts of ls_scan_text are compiled into it: their variables have to stay in registers.  Not so that
 * of stack traces, which is rare.
 */
#define PART static inline __attribute__((always_inline))

/* The token at *pos, which is no word.  False: there is no room for it. */
PART bool
add_symbol(token_list *list, const char *row, const char **pos, const char *end, bool *spaced)
{
	const char *start = *pos;
	const char *p = start + 1;
	uint64_t code;
	uint8_t lead = 0;

	if (*start == ':' || *start == '<' || *start == '>' || *start == '"' || *start == '\'')
	{
		const char *stop = punctuation_value(list, row, start, end, *spaced, &code, &lead);

		if (stop != NULL)
		{
			*pos = stop;
			if (!add_token(list, row, start, stop, code, *spaced))
				return false;
			list->t[list->n - 1].lead = lead;
			*spaced = false;
			return true;
		}
	}
	if (!add_token(list, row, start, p, CODE(TOKEN_SYMBOL, (uint8_t) *start), *spaced))
		return false;
	*pos = p;
	if (*start == '(' && end - p >= 14 &&
		(memcmp(p, "Native Method)", 14) == 0 ||
		 (end - p >= 15 && memcmp(p, "Unknown Source)", 15) == 0)))
	{
		/* a stack frame without a line */
		*pos = memchr(p, ')', (size_t) (end - p));
		code = CODE(TOKEN_VALUE, hash_word(p, (size_t) (*pos - p)));
		return add_token(list, row, p, *pos, code, false);
	}
	*spaced = false;
	return true;
}

/* The first word of a line of a stack trace, of so many bytes, and the rest of it, which ends at `stop`. */
static __attribute__((noinline)) bool
add_frame(token_list *list, const char *row, const char *p, size_t word, const char *stop,
		  bool spaced)
{
	uint64_t code =
		*p == '.' ? CODE(TOKEN_WORD, hash_word("at", 2)) : CODE(TOKEN_WORD, hash_word(p, word));

	return add_token(list, row, p, p + word, code, spaced) &&
		   add_token(list, row, p + word + 1, stop, CODE(TOKEN_VARIABLE, CLASS_ANY), true);
}

/* The end of a word with dots: rows of dots fill tables, they part words. */
PART const char *
dotted_end(const char *start, const char *p, const char *end, unsigned *mask)
{
	const char *dot;

	if (*start == '.' && start + 1 < p && start[1] == '.')
	{
		p = start + 1;
		while (p < end && *p == '.')
			p++;
		*mask = C_WORD | C_DOT;
	}
	else if ((dot = find_dots(start, p)) != NULL)
	{
		p = dot;
		*mask = C_WORD;
		for (const char *c = start; c < p; c++)
			*mask |= CLASS(c);
	}
	else if (p[-1] == '.' && p - start > 1)
		p--;
	return p;
}

/* The end of a value that goes on after the word: a path, an address, a list of words.  NULL: none. */
PART const char *
joined_end(const token_list *list, const char *start, const char *p, const char *end, unsigned mask,
		   bool spaced, uint64_t *code)
{
	*code = CODE(TOKEN_VARIABLE, CLASS_ANY);
	if (p + 1 < end && *p == ':' && p - start == 1 && is_alpha(*start) &&
		(p[1] == '\\' || (p[1] == '/' && p + 2 < end && p[2] != '/')))
	{
		/* a drive: C:\Users */
		while (p < end && ((CLASS(p) & C_WORD) != 0 || p == start + 1))
			p++;
		return p;
	}
	if (p < end && *p == ':' && p - start <= 4 &&
		(mask & ~(unsigned) (C_WORD | C_DIGIT | C_HEX)) == 0)
	{
		bool mac;
		const char *stop = ls_colon_address(start, end, &mac);

		if (stop != NULL)
		{
			if (!mac)
				*code = CODE(TOKEN_VARIABLE, CLASS_ADDRESS);
			return stop;
		}
	}
	if (p + 1 < end && *p == ',' && (mask & (C_LETTER | C_HEX)) != 0 && spaced &&
		(CLASS(p + 1) & C_WORD) != 0)
		return word_list_end(list, start, p, end);
	return NULL;
}

/* The code of a word that ends at *pos; a URL goes on with its parameters. */
PART uint64_t
code_of_word(token_list *list, const char *start, const char **pos, const char *end, unsigned mask,
			 bool spaced, uint8_t *lead)
{
	const char *p = *pos;

	if ((mask & C_DIGIT) != 0)
	{
		uint64_t code = ls_classify_digits(start, p, lead);

		if ((mask & C_SLASH) != 0 && p - start > 5 && memcmp(start, "HTTP/", 5) == 0)
			list->request = true;
		if ((mask & C_SLASH) != 0 && p < end && *p == '?')
			*pos = url_end(p, end);
		return code;
	}
	if ((mask & C_LETTER) != 0 && (mask & (C_SLASH | C_DOT | C_AT)) == 0)
		return word_code(list, start, p, end);
	if (ls_is_variable_word(start, p, mask))
	{
		if ((mask & C_SLASH) != 0 && p < end && *p == '?')
			*pos = url_end(p, end);
		/* names of hosts and components are shown where all rows agree */
		return (mask & (C_SLASH | C_AT)) == 0 && (mask & C_LETTER) != 0 && p - start <= 64
				   ? CODE(TOKEN_VALUE, hash_word(start, (size_t) (p - start)))
				   : CODE(TOKEN_VARIABLE, CLASS_ANY);
	}
	if ((mask & (C_LETTER | C_HEX)) != 0)
		return (mask & C_DOT) != 0 && is_source_place(list, p, end)
				   ? CODE(TOKEN_VALUE, hash_word(start, (size_t) (p - start)))
				   : word_code(list, start, p, end);
	if ((mask & C_SLASH) != 0 && p < end && *p == '?')
	{
		*pos = url_end(p, end);
		return CODE(TOKEN_VARIABLE, CLASS_ANY);
	}
	return symbol_code(list, start, p, end, spaced);
}

void
ls_scan_text(token_list *list, const char *row, const char *pos, const char *end)
{
	const char *p = pos;
	const char *line = pos; /* NULL after the first token of a line */
	bool spaced = true;

	while (p < end)
	{
		const char *start = p;
		const char *stop;
		unsigned mask = CLASS(p);
		uint64_t code;
		uint8_t lead = 0;

		if ((mask & C_WORD) == 0)
		{
			if ((mask & C_SPACE) != 0)
			{
				spaced = true;
				if (*p++ == '\n')
					line = p;
				continue;
			}
			line = NULL;
			if (!add_symbol(list, row, &p, end, &spaced))
				return;
			continue;
		}
		if (line != NULL)
		{
			size_t word = 0;

			stop = frame_end(list, line, p, end, &word);
			line = NULL;
			if (stop != NULL)
			{
				if (!add_frame(list, row, p, word, stop, spaced))
					return;
				p = stop;
				continue;
			}
		}

		p++;
		while (p < end)
		{
			unsigned c = CLASS(p);

			if ((c & C_WORD) == 0)
				break;
			mask |= c;
			p++;
		}
		if ((mask & C_DOT) != 0)
			p = dotted_end(start, p, end, &mask);
		stop = NULL;
		if (p < end && (CLASS(p) & C_SPACE) == 0)
		{
			if (*p == '>' && p[-1] == '-' && p - start > 1)
				p--; /* a:1->b:2 */
			stop = joined_end(list, start, p, end, mask, spaced, &code);
		}
		if (stop != NULL)
			p = stop;
		else
			code = code_of_word(list, start, &p, end, mask, spaced, &lead);
		if (!add_token(list, row, start, p, code, spaced))
			return;
		list->t[list->n - 1].lead = lead;
		spaced = false;
	}
}
