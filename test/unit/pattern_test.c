/* pattern_test.c: the template miner: lines, options, order, hostile rows, accuracy. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "test/unit/log_cost.h"
#include "test/unit/log_grammar.h"
#include "test/unit/log_kinds.h"
#include "test/unit/tap.h"
#include "src/pattern/pattern.h"

static ls_arena *arena;

#define MAX_ROWS 64

/* All lines of the set, one after the other with a line break. */
static ls_str
lines_of(const ls_pattern_set *set)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	for (size_t i = 0; i < set->shown; i++)
	{
		ls_pattern_line(&buf, &set->patterns[i]);
		ls_buf_char(&buf, '\n');
	}
	return ls_str_make(buf.data, buf.len);
}

static ls_pattern_set *
mine(const char *const *rows, const ls_pattern_options *options)
{
	ls_str *strings = ls_new_array(arena, ls_str, MAX_ROWS);
	size_t n = 0;

	while (rows[n] != NULL)
	{
		strings[n] = ls_str_make(rows[n], strlen(rows[n]));
		n++;
	}
	return ls_pattern_mine(arena, strings, n, options);
}

#define ROWS(...)         \
	(const char *const[]) \
	{                     \
		__VA_ARGS__, NULL \
	}

static void
check(const char *const *rows, ls_pattern_options options, const char *expected, const char *name)
{
	is_str(lines_of(mine(rows, &options)), expected, name);
}

static bool
contains(ls_str s, const char *part)
{
	return memmem(s.data, s.len, part, strlen(part)) != NULL;
}

static void
test_lines(void)
{
	ls_pattern_options o = LS_PATTERN_DEFAULTS;
	ls_pattern_options none = o;
	ls_pattern_options one = o;
	ls_pattern_options rare0 = o;
	ls_pattern_options rare3 = o;

	none.max_samples = 0;
	one.max_samples = 1;
	rare0.rare_threshold = 0;
	rare0.max_samples = 0;
	rare3.rare_threshold = 3;

	check(ROWS("hello world"), o, "[1x] hello world\n", "a one-off row is verbatim");
	check(ROWS("port 1", "port 1"), o, "[2x] port <NUM>  e.g. port 1\n",
		  "equal rows are one sample");
	check(ROWS("port 1", "port 2", "port 3"), none, "[3x] port <NUM>\n", "no samples");
	is_int(mine(ROWS("port 1", "port 2", "port 3"), &one)->patterns[0].nsamples, 1, "one sample");
	is_int(mine(ROWS("port 1", "port 2", "port 3"), &o)->patterns[0].nsamples, 2, "two samples");
	ok(contains(lines_of(mine(ROWS("port 1", "port 2"), &o)), "  e.g. port ") &&
		   contains(lines_of(mine(ROWS("port 1", "port 2"), &o)), " | port "),
	   "samples are joined by a bar");
	check(ROWS("port 1"), rare0, "[1x] port <NUM>\n", "threshold 0: no row is verbatim");
	check(ROWS("port 1", "port 1", "port 2", "disk full"), rare3,
		  "[2x] port 1\n[1x] disk full\n[1x] port 2\n", "threshold 3: distinct rows with counts");
	is_int(
		(long long) mine(ROWS("port 1", "port 1", "port 2", "disk full"), &rare3)->rare_line_count,
		4, "rare rows are counted as rows");
	check(ROWS("b", "a", "a", "b", "c", "c", "c"), none, "[3x] c\n[2x] a\n[2x] b\n",
		  "by count, then by template");
	check(ROWS(""), o, "[1x] \n", "an empty row");
	check(ROWS("", "", "   "), none, "[3x] \n", "blank rows are one pattern");
}

static void
test_placeholders(void)
{
	ls_pattern_options o = LS_PATTERN_DEFAULTS;

	o.max_samples = 0;
	check(ROWS("from 10.0.0.1:80 in 5ms", "from 10.0.0.2:81 in 7ms"), o,
		  "[2x] from <IP>:<NUM> in <NUM>ms\n", "address, port, duration");
	check(ROWS("took 5ms", "took 7s"), o, "[2x] took <*>\n", "two units are no number");
	check(ROWS("from fe80::1", "from 2001:db8::7"), o, "[2x] from <IP>\n", "IPv6");
	check(ROWS("via 00:1a:2b:3c:4d:5e", "via aa:bb:cc:dd:ee:ff"), o, "[2x] via <*>\n", "MAC");
	check(ROWS("a::b called", "a::b called"), o, "[2x] a::b called\n", "C++ name is no address");
	check(ROWS("id 550e8400-e29b-41d4-a716-446655440000", "id 0x7ffe12ab"), o, "[2x] id <*>\n",
		  "UUID and hex");
	check(ROWS("id deadbeef", "id cafebabe"), o, "[2x] id <*>\n", "hex without digits");
	check(ROWS("open /var/log/a.log now", "open /etc/passwd now"), o, "[2x] open <*> now\n",
		  "paths");
	check(ROWS("GET /a/b?x=1&y=2 ok", "GET /a/c ok"), o, "[2x] GET <*> ok\n", "a query");
	check(ROWS("user=bob id=1", "user=bob id=2"), o, "[2x] user=bob id=<NUM>\n",
		  "key=value keeps its key");
	check(ROWS("v=[1]", "v=[2]"), o, "[2x] v=[<NUM>]\n", "brackets stay");
	check(ROWS("n -5 x", "n 7 x"), o, "[2x] n <NUM> x\n", "signs");
	check(ROWS("ids 1,2,3 done", "ids 4 done"), o, "[2x] ids <*> done\n",
		  "lists of different length");
	check(ROWS("at Mon Jun 06 12:01:02 2005 x", "at Tue Jul 07 13:01:02 2006 x"), o,
		  "[2x] at <*> x\n", "a time in words");
	check(ROWS("door opened", "door closed", "door opened", "door closed"), o,
		  "[2x] door closed\n[2x] door opened\n", "few words are constants");
	check(ROWS("service alpha has started", "service beta has started", "service gamma has started",
			   "service delta has started", "service omega has started"),
		  o, "[5x] service <*> has started\n", "many words are a variable");
	check(ROWS("alpha has been started", "beta has been started", "gamma has been started",
			   "delta has been started", "omega has been started"),
		  o, "[5x] <*> has been started\n", "a variable first word");
	check(ROWS("2026-01-01 10:00:00 INFO job done", "2026-01-01 10:00:01 INFO job done",
			   "2026-01-01 10:00:02 ERROR job done", "2026-01-01 10:00:03 ERROR job done"),
		  o, "[2x] <*> ERROR job done\n[2x] <*> INFO job done\n", "levels never merge");
	check(ROWS("{\"level\":\"info\",\"msg\":\"got 5 items\",\"user\":\"ann\"}",
			   "{\"level\":\"info\",\"msg\":\"got 6 items\",\"user\":\"bob\"}"),
		  o, "[2x] {\"level\":\"info\",\"msg\":\"got <NUM> items\",\"user\":\"<*>\"}\n",
		  "JSON: keys constant, values vary, message is text");
	check(ROWS("{\"level\":\"info\",\"msg\":\"x\"}", "{\"level\":\"error\",\"msg\":\"x\"}",
			   "{\"level\":\"info\",\"msg\":\"y\"}"),
		  o,
		  "[1x] {\"level\":\"error\",\"msg\":\"x\"}\n[1x] {\"level\":\"info\",\"msg\":\"x\"}\n"
		  "[1x] {\"level\":\"info\",\"msg\":\"y\"}\n",
		  "JSON: levels and messages part");
	check(ROWS("{\"msg\":\"no\",\"error\":\"disk full\"}", "{\"msg\":\"no\",\"error\":\"gone\"}",
			   "{\"error\":\"disk full\"}", "{\"error\":\"gone\"}"),
		  o,
		  "[2x] {\"msg\":\"no\",\"error\":\"<*>\"}\n[1x] {\"error\":\"disk full\"}\n"
		  "[1x] {\"error\":\"gone\"}\n",
		  "JSON: an error is the message only where there is no other");
	check(
		ROWS(
			"1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 5 \"-\" \"curl/7\"",
			"1.2.3.5 - bob [10/Oct/2000:13:55:37 -0700] \"GET /a HTTP/1.0\" 200 6 \"-\" \"My UA\""),
		o, "[2x] <IP> - <*> [<*>] \"GET <*> <*>\" <NUM> <NUM> \"-\" \"<*>\"\n",
		"access log: user, path and agent vary");
	check(ROWS("host 'a' up", "host 'b' up"), o, "[2x] host '<*>' up\n", "a quoted word");
	check(ROWS("{\"a\":[1,2],\"b\":{\"c\":true}}", "{\"a\":[],\"b\":{\"c\":false}}"), o,
		  "[2x] {\"a\":[<*>],\"b\":{\"c\":<*>}}\n", "JSON: lists and objects");
	check(ROWS("open C:\\Users\\ann\\a.txt now", "open D:/data/b.txt now"), o,
		  "[2x] open <*> now\n", "drives");
	check(ROWS("pods=[\"a-1\",\"b-2\"] gone", "pods=[\"c-3\"] gone"), o, "[2x] pods=[<*>] gone\n",
		  "lists of quoted words");
	check(ROWS("link 1.2.3.4:80->5.6.7.8:90 up", "link 1.2.3.4:81->5.6.7.8:91 up"), o,
		  "[2x] link <IP>:<NUM>-><IP>:<NUM> up\n", "arrows");
	check(ROWS("flags set: ro,noexec", "flags set: rw"), o, "[2x] flags set: <*>\n",
		  "a list of words is one value");
	check(ROWS("task moved from NEW to RUNNING", "task moved from RUNNING to DONE"), o,
		  "[2x] task moved from <*> to <*>\n", "states");
	check(ROWS("Error: no\n    at f (a.js:1:2)\n    at g (b.js:3:4)",
			   "Error: no\n    at async x.y (index 5)"),
		  o, "[2x] Error: no\\n    at <*>\n", "stacks of different depth");
	check(ROWS("order 1 not paid: card declined", "order 2 not paid: limit",
			   "order 3 not paid: account closed by owner", "order 4 not paid: no such card",
			   "order 5 not paid: gateway timeout"),
		  o, "[5x] order <*> not paid: <*>\n", "a value of some words");
	check(ROWS("{\"level\":\"info\",\"msg\":\"order placed\",\"id\":1}",
			   "{\"level\":\"info\",\"msg\":\"order placed\",\"id\":2}",
			   "{\"level\":\"info\",\"msg\":\"order placed\",\"id\":3,\"trace\":\"t4\"}"),
		  o, "[3x] {\"level\":\"info\",\"msg\":\"order placed\",\"id\":<*>}\n",
		  "JSON: optional members");
	check(ROWS("[05.29 10:00:01] a.exe - done", "[05.29 10:00:02] a.exe *64 - done",
			   "[05.29 10:00:03] b.exe - done", "[05.29 10:00:04] my tool - done"),
		  o, "[4x] [<*>] <*> done\n", "programs of one or two words");
	check(ROWS("größe 5 für köln", "größe 6 für köln"), o, "[2x] größe <NUM> für köln\n", "UTF-8");
}

/* Families of forms that share 0 to 9 of 10 words: each threshold joins those that share enough. */
static void
test_whole_range(void)
{
	static const size_t expected[] = {1, 32, 54, 76, 98, 120};
	ls_str rows[240];
	size_t n = 0;

	for (int share = 0; share < 10; share++)
		for (int form = 0; form < 12; form++)
		{
			ls_buf row;

			ls_buf_init(&row, arena);
			for (int w = 0; w < 10; w++)
				if (w < share)
					ls_buf_printf(&row, "fam%cword%c ", 'a' + share, 'a' + w);
				else
					ls_buf_printf(&row, "uniq%c%c%c ", 'a' + share, 'a' + form, 'a' + w);
			rows[n] = rows[n + 1] = ls_str_make(row.data, row.len - 1);
			n += 2;
		}
	for (int k = 0; k <= 5; k++)
	{
		ls_pattern_options o = LS_PATTERN_DEFAULTS;
		const ls_pattern_set *set;

		o.sim_threshold = k / 5.0;
		set = ls_pattern_mine(arena, rows, n, &o);
		is_int(set ? (long long) set->unique : -1, (long long) expected[k],
			   "simThreshold joins what shares that many words");
	}
}

static void
test_similarity(void)
{
	const char *const *rows =
		ROWS("alpha beta gamma one", "alpha beta gamma two", "alpha beta gamma three",
			 "alpha beta gamma four", "alpha beta gamma five", "alpha beta delta six",
			 "epsilon zeta eta theta");
	size_t last = 0;

	for (double th = 0; th <= 1; th += 0.1)
	{
		ls_pattern_options o = LS_PATTERN_DEFAULTS;
		ls_pattern_set *set;

		o.sim_threshold = th;
		o.rare_threshold = 0;
		set = mine(rows, &o);
		if (set->unique < last)
			break;
		last = set->unique;
	}
	is_int((long long) last, 7, "a higher threshold never merges more; 1 merges nothing");
	test_whole_range();
}

static void
test_cap(void)
{
	ls_pattern_options o = LS_PATTERN_DEFAULTS;
	ls_pattern_set *set;

	o.max_templates = 2;
	set = mine(ROWS("alpha", "alpha", "alpha", "beta", "beta", "gamma"), &o);
	is_int((long long) set->unique, 3, "unique counts before the cap");
	is_int((long long) set->shown, 2, "shown is capped");
	is_int((long long) set->rare_line_count, 1, "rare rows count before the cap");
	is_int(set->pattern_of_row[5], 2, "a row that is not shown has its pattern");
	set = ls_pattern_mine(arena, NULL, 0, NULL);
	ok(set != NULL && set->unique == 0 && set->shown == 0, "no rows, no patterns");
}

static void
test_escape(void)
{
	ls_buf buf;
	ls_pattern_options o = LS_PATTERN_DEFAULTS;

	ls_buf_init(&buf, arena);
	ls_pattern_escape(&buf, LS_STR("a\nb\rc\td\x01"
								   "e\x7f"
								   "f\\n\xc3\xa9\xc2\x85\xe2\x80\xa8g"));
	is_str(ls_str_make(buf.data, buf.len), "a\\nb\\rc\\td\\x01e\\x7ff\\n\xc3\xa9\\u0085\\u2028g",
		   "control characters are escaped");
	check(ROWS("x\n[99x] forged"), o, "[1x] x\\n[99x] forged\n", "a verbatim row is one line");
	check(ROWS("x 1\n[99x] f", "x 2\n[99x] f"), o,
		  "[2x] x <NUM>\\n[<NUM>x] f  e.g. x 2\\n[99x] f | x 1\\n[99x] f\n",
		  "template and samples are one line");
}

static size_t
count_sum(const ls_pattern_set *set)
{
	size_t sum = 0;

	for (size_t i = 0; i < set->unique; i++)
		sum += set->patterns[i].count;
	return sum;
}

/* Everything that must hold for every result. */
static bool
consistent(const ls_pattern_set *set, size_t n)
{
	uint32_t *count = ls_new_array(arena, uint32_t, set->unique + 1);
	size_t rare = 0;

	for (size_t i = 0; i < n; i++)
	{
		if (set->pattern_of_row[i] >= set->unique)
			return false;
		count[set->pattern_of_row[i]]++;
	}
	for (size_t i = 0; i < set->unique; i++)
	{
		const ls_pattern *p = &set->patterns[i];

		if (count[i] != p->count || (i > 0 && p[-1].count < p->count))
			return false;
		if (!ls_utf8_valid(p->template.data, p->template.len))
			return false;
		rare += p->is_rare ? p->count : 0;
	}
	return rare == set->rare_line_count;
}

/* Adds rows to a digest, from `first` on each `step`-th one; their times are their numbers. */
static bool
digest_rows(ls_pattern_digest *digest, const ls_str *rows, size_t n, size_t first, size_t step)
{
	bool added = true;

	for (size_t i = first; i < n; i += step)
		added = ls_pattern_digest_add(digest, &(ls_pattern_text){.text = rows[i],
																 .rows = 1,
																 .first = (ls_time) i,
																 .last = (ls_time) i}) &&
				added;
	return added;
}

/* The lines of the texts of a digest; *total: the rows that they stand for. */
static ls_str
digest_lines(ls_pattern_digest *digest, const ls_pattern_options *o, uint64_t *total)
{
	size_t n;
	const ls_pattern_text *texts = ls_pattern_digest_texts(digest, &n);
	ls_str *rows = ls_new_array(arena, ls_str, n + 1);
	uint32_t *counts = ls_new_array(arena, uint32_t, n + 1);

	*total = 0;
	for (size_t i = 0; i < n; i++)
	{
		rows[i] = texts[i].text;
		counts[i] = (uint32_t) texts[i].rows;
		*total += texts[i].rows;
	}
	/* What the digest knows of its texts saves work, and changes nothing. */
	if (!ls_str_eq(lines_of(ls_pattern_mine_texts(arena, texts, n, o)),
				   lines_of(ls_pattern_mine_counted(arena, rows, counts, n, o))))
		return LS_STR("the lines of the texts differ");
	return lines_of(ls_pattern_mine_texts(arena, texts, n, o));
}

/* A few texts that stand for rows give the patterns of the rows. */
static void
test_digest(void)
{
	size_t n = 10000;
	log_rows rows = log_rows_make(arena, log_own_kinds, LOG_OWN_KINDS, n, 13);
	ls_pattern_options o = LS_PATTERN_DEFAULTS;
	ls_pattern_digest *a;
	ls_pattern_digest *b;
	const ls_pattern_text *texts;
	ls_time first = (ls_time) n;
	ls_time last = 0;
	uint64_t total;
	size_t n_texts;
	ls_str lines;
	uint32_t counts[] = {3, 1, 2};
	ls_str few[] = {LS_STR("port 1"), LS_STR("hello world"), LS_STR("port 22")};

	is_str(lines_of(ls_pattern_mine_counted(arena, few, counts, 3, &o)),
		   "[5x] port <NUM>  e.g. port 1 | port 22\n[1x] hello world\n", "rows with counts");
	o.rare_threshold = 3;
	is_str(lines_of(ls_pattern_mine_counted(arena, few, counts, 2, &o)),
		   "[3x] port 1\n[1x] hello world\n", "a row that counts three times is rare, too");
	for (o.rare_threshold = 0; o.rare_threshold <= 4; o.rare_threshold += 2)
	{
		lines = lines_of(ls_pattern_mine(arena, rows.rows, n, &o));
		a = ls_pattern_digest_make(arena, &o, (size_t) 1 << 30);
		b = ls_pattern_digest_make(arena, &o, (size_t) 1 << 30);
		log_rows_shuffle(&rows, (uint64_t) o.rare_threshold + 3);
		ok(digest_rows(a, rows.rows, n, 0, 2) && digest_rows(b, rows.rows, n, 1, 2),
		   "digests of two halves");
		texts = ls_pattern_digest_texts(b, &n_texts);
		for (size_t i = 0; i < n_texts; i++)
			(void) (texts[i].same ? ls_pattern_digest_add_same(a, &texts[i])
								  : ls_pattern_digest_add(a, &texts[i]));
		ok(ls_str_eq(digest_lines(a, &o, &total), lines) && total == n,
		   "... added up give the lines of all rows");
		texts = ls_pattern_digest_texts(a, &n_texts);
		ok(n_texts < n * 3 / 4, "... from fewer texts");
		for (size_t i = 0; i < n_texts; i++)
		{
			first = texts[i].first < first ? texts[i].first : first;
			last = texts[i].last > last ? texts[i].last : last;
		}
		ok(first == 0 && last == (ls_time) n - 1, "... with the times of all rows");
	}
	a = ls_pattern_digest_make(arena, &o, 20000);
	(void) digest_rows(a, rows.rows, n, 0, 1);
	(void) digest_lines(a, &o, &total);
	ok(ls_pattern_digest_left_out(a) > 0 && total + ls_pattern_digest_left_out(a) == n,
	   "rows for which there is no room are counted as left out");
	b = ls_pattern_digest_make(arena, &o, 0);
	(void) digest_rows(b, rows.rows, 10, 0, 1);
	ok(ls_pattern_digest_size(b) == 0 && ls_pattern_digest_left_out(b) == 10, "... also all");
	a = ls_pattern_digest_make(arena, &o, (size_t) 1 << 20);
	for (uint32_t group = 3; group > 0; group--)
		(void) ls_pattern_digest_add(a,
									 &(ls_pattern_text){few[0], 10 * group, 5, 6, .group = group});
	(void) ls_pattern_digest_add(a, &(ls_pattern_text){few[2], UINT32_MAX, 5, 6, .group = 2});
	texts = ls_pattern_digest_texts(a, &n_texts);
	ok(n_texts == 3 && texts[0].group == 1 && texts[2].group == 3 && texts[2].rows == 30,
	   "groups are apart");
	ok(ls_pattern_digest_left_out(a) == UINT32_MAX, "more rows than 32 bits can count");
	a = ls_pattern_digest_make(arena, &o, (size_t) 1 << 20);
	(void) ls_pattern_digest_add(a, &(ls_pattern_text){few[0], 7, 5, 6});
	(void) ls_pattern_digest_add_alike(a, &(ls_pattern_text){few[2], 4, 3, 9});
	(void) ls_pattern_digest_texts(a, &n_texts);
	ok(ls_pattern_digest_size(a) == 1 && n_texts <= 2,
	   "a text that is like the last one is in its entry");
	a = ls_pattern_digest_make(arena, &o, 0);
	(void) ls_pattern_digest_add(a, &(ls_pattern_text){few[0], 7, 5, 6});
	(void) ls_pattern_digest_add_alike(a, &(ls_pattern_text){few[2], 4, 3, 9});
	ok(ls_pattern_digest_left_out(a) == 11, "... and is left out with it");
	ok(!ls_pattern_digest_keeps_alike(a), "... so no text is needed");

	/* Texts that only came along give way to those that were read, in any order. */
	o.rare_threshold = 1;
	o.max_samples = 2;
	a = ls_pattern_digest_make(arena, &o, (size_t) 1 << 20);
	(void) ls_pattern_digest_add(a, &(ls_pattern_text){few[0], 7, 5, 6});
	(void) ls_pattern_digest_add_alike(a, &(ls_pattern_text){few[2], 4, 3, 9});
	ok(ls_pattern_digest_keeps_alike(a), "a text that came along is kept if others are few");
	(void) ls_pattern_digest_add(a, &(ls_pattern_text){LS_STR("port 333"), 1, 5, 6});
	ok(!ls_pattern_digest_keeps_alike(a), "... and not if there are enough that were read");
	(void) ls_pattern_digest_add_alike(a, &(ls_pattern_text){LS_STR("port 0"), 2, 1, 2});
	is_str(digest_lines(a, &o, &total), "[14x] port <NUM>  e.g. port 1 | port 333\n",
		   "... which the samples are");
	b = ls_pattern_digest_make(arena, &o, (size_t) 1 << 20);
	(void) ls_pattern_digest_add(b, &(ls_pattern_text){LS_STR("port 333"), 1, 5, 6});
	(void) ls_pattern_digest_add_alike(b, &(ls_pattern_text){LS_STR("port 0"), 2, 1, 2});
	(void) ls_pattern_digest_add_alike(b, &(ls_pattern_text){few[2], 4, 3, 9});
	(void) ls_pattern_digest_add_alike(b, &(ls_pattern_text){few[0], 6, 5, 6});
	(void) ls_pattern_digest_add(b, &(ls_pattern_text){few[0], 1, 5, 6});
	ok(ls_str_eq(digest_lines(b, &o, &total), digest_lines(a, &o, &total)),
	   "... in another order of the texts, too");
	texts = ls_pattern_digest_texts(b, &n_texts);
	for (size_t i = 0; i < n_texts; i++)
	{
		first = texts[i].first < first ? texts[i].first : first;
		total -= texts[i].rows;
	}
	ok(n_texts == 2 && total == 0 && texts[0].first == 1, "... with the rows and times of all");

	/* Patterns that are not shown need no text. */
	for (o.max_templates = 1; o.max_templates < 40; o.max_templates += 6)
	{
		a = ls_pattern_digest_make(arena, &o, (size_t) 1 << 30);
		(void) digest_rows(a, rows.rows, n, 0, 1);
		ok(ls_str_eq(digest_lines(a, &o, &total),
					 lines_of(ls_pattern_mine(arena, rows.rows, n, &o))),
		   "the first patterns are those of all rows");
	}
}

/* A copy of the row in which each digit is another one. */
static ls_str
other_digits(ls_str row, uint32_t by)
{
	char *copy = ls_arena_alloc(arena, row.len + 1);

	for (size_t i = 0; i < row.len; i++)
	{
		char c = row.data[i];

		copy[i] = (char) (c >= '0' && c <= '9' ? '0' + (c - '0' + by) % 10 : c);
	}
	return ls_str_make(copy, row.len);
}

/* Texts that differ in digits only are recognized without being read, where digits do not matter. */
static void
test_digits(void)
{
	static const char *const few[] = {"{\"level\": 30, \"msg\": \"a pump was started\"}",
									  "{\"level\": 30, \"msg\": \"a pump was started\", \"n\": 1}",
									  "{\"pump1\": \"on\", \"msg\": \"all is well today\"}",
									  "level=3 pump2=on msg=\"all is well today\"",
									  "at 12:30:45 from 10.20.30.40",
									  "a1b2c3d4-0001 in 12ms, 7 KB, fe80::1 and 1234567890123456",
									  "at 1.2.3.4"};
	size_t n_few = sizeof(few) / sizeof(few[0]);
	size_t n = 1500;
	log_rows rows = log_rows_make(arena, log_own_kinds, LOG_OWN_KINDS, n, 17);
	ls_pattern_options o = LS_PATTERN_DEFAULTS;
	ls_str *all = ls_new_array(arena, ls_str, 3 * (n + n_few));
	size_t n_all = 0;
	ls_pattern_digest *digest;
	uint64_t total;

	for (size_t i = 0; i < n + n_few; i++)
	{
		ls_str row = i < n ? rows.rows[i] : ls_str_make(few[i - n], strlen(few[i - n]));

		for (uint32_t by = 0; by < 9; by += 4)
			all[n_all++] = other_digits(row, by);
	}
	for (o.rare_threshold = 0; o.rare_threshold <= 3; o.rare_threshold += 3)
	{
		digest = ls_pattern_digest_make(arena, &o, (size_t) 1 << 30);
		ok(digest_rows(digest, all, n_all, 0, 1), "rows with other digits");
		ok(ls_str_eq(digest_lines(digest, &o, &total),
					 lines_of(ls_pattern_mine(arena, all, n_all, &o))) &&
			   total == n_all,
		   "... have the lines of all rows");
	}
}

/* The labelled sets: grouped right, the same lines in any order. */
static void
test_accuracy(void)
{
	for (size_t kind = 0; kind <= LOG_OWN_KINDS; kind++)
	{
		bool mixed = kind == LOG_OWN_KINDS;
		size_t n = mixed ? 10000 : 2000;
		log_rows rows = log_rows_make(arena, mixed ? log_own_kinds : &log_own_kinds[kind],
									  mixed ? LOG_OWN_KINDS : 1, n, 7);
		ls_pattern_options o = LS_PATTERN_DEFAULTS;
		ls_pattern_set *set;
		log_score score;
		ls_str lines;
		bool same = true;
		double least;
		char name[100];

		o.rare_threshold = 0;
		set = ls_pattern_mine(arena, rows.rows, n, &o);
		score = log_grouping(arena, &rows, set->pattern_of_row, set->unique);
		least = score.ga;
		snprintf(name, sizeof(name), "%s: GA %.3f, mixed %.3f",
				 mixed ? "mixed" : log_own_kinds[kind], score.ga, score.mixed);
		ok(score.ga >= 0.97 && score.mixed <= 0.03, name);
		ok(count_sum(set) == n && consistent(set, n), "counts and rows agree");
		lines = lines_of(set);
		for (uint64_t seed = 1; seed <= (mixed ? 2 : 5); seed++)
		{
			log_rows_shuffle(&rows, seed);
			set = ls_pattern_mine(arena, rows.rows, n, &o);
			same = same && ls_str_eq(lines, lines_of(set));
			score = log_grouping(arena, &rows, set->pattern_of_row, set->unique);
			least = score.ga < least ? score.ga : least;
		}
		ok(same && least >= 0.97, "the same lines in any order of rows");
		if (getenv("VERBOSE") != NULL)
			printf("%.*s", (int) lines.len, lines.data);
	}
}

/* What is not looked at for each kind must still be no worse than this as a whole. */
static void
test_other_kinds(void)
{
	double ga = 0;
	double mixed = 0;
	char name[100];

	for (size_t kind = 0; kind < LOG_OTHER_KINDS; kind++)
	{
		log_rows rows = log_rows_make(arena, &log_other_kinds[kind], 1, 1000, 11);
		ls_pattern_options o = LS_PATTERN_DEFAULTS;
		ls_pattern_set *set;
		log_score score;

		o.rare_threshold = 0;
		set = ls_pattern_mine(arena, rows.rows, rows.n, &o);
		score = log_grouping(arena, &rows, set->pattern_of_row, set->unique);
		ga += score.ga / LOG_OTHER_KINDS;
		mixed += score.mixed / LOG_OTHER_KINDS;
	}
	snprintf(name, sizeof(name), "other kinds of logs: GA %.3f, mixed %.3f", ga, mixed);
	ok(ga >= 0.82 && mixed <= 0.03, name);
}

/*
 * Time against a pass that only splits and hashes the same rows; sanitizers
 * slow both, so the bound is generous.  Memory has none in its way.
 */
static void
test_cost(void)
{
	for (int kind = 0; kind < LOG_HOSTILE_KINDS; kind++)
	{
		log_rows rows = log_hostile_rows(arena, kind, 3000);
		log_cost cost = log_mining_cost(&rows, 1);
		char name[100];

		snprintf(name, sizeof(name), "%s: %.1f MB", log_hostile_names[kind],
				 (double) cost.memory / 1e6);
		ok(cost.memory < 40000000, name);
		if (kind == LOG_UNIQUE_SHORT)
		{
			snprintf(name, sizeof(name), "... %.1f times the pass that splits and hashes",
					 cost.mining / cost.baseline);
			ok(cost.mining < 30 * cost.baseline, name);
		}
	}
}

static bool
has_id(const ls_pattern_set *set, uint64_t id)
{
	for (size_t i = 0; i < set->unique; i++)
	{
		if (set->patterns[i].id == id)
			return true;
	}
	return false;
}

static void
test_ids(void)
{
	char id[32];
	ls_pattern_set *lonely;
	ls_pattern_set *crowd;
	ls_pattern_options o = LS_PATTERN_DEFAULTS;
	ls_pattern_set *a = mine(ROWS("port 1 open", "port 2 open"), &o);
	ls_pattern_set *b = mine(ROWS("port 3 open", "port 4 open", "other", "port 5 open"), &o);
	ls_pattern_set *c = mine(ROWS("port 6 open"), &o);

	ok(a->patterns[0].id == b->patterns[0].id, "the same template has the same id elsewhere");
	ok(a->patterns[0].id == c->patterns[0].id, "also where it is rare");
	ok(b->patterns[0].id != b->patterns[1].id, "other templates have other ids");
	/* ids may be stored: a change of this one breaks what was stored */
	snprintf(
		id, sizeof(id), "%016llx",
		(unsigned long long) mine(ROWS("port 7 administratively-shutdown"), &o)->patterns[0].id);
	is_str(ls_str_make(id, 16), "f0800b6f2d3eab80", "an id is the same on every machine");
	lonely = mine(ROWS("whatever nobody else wrote 1", "port 1 open", "port 2 open"), &o);
	crowd = mine(ROWS("whatever nobody else wrote 2", "whatever somebody else wrote 3",
					  "whatever nobody ever wrote 4"),
				 &o);
	ok(has_id(crowd, lonely->patterns[1].id) || has_id(crowd, lonely->patterns[0].id),
	   "an id does not depend on whether other rows are alike");
}

static void
test_hostile(void)
{
	size_t n = 2000;
	ls_str *rows = ls_new_array(arena, ls_str, n);
	ls_arena *small = ls_arena_create(NULL, 100000);
	log_random r = {5};
	ls_pattern_set *set;
	char *deep = ls_arena_alloc(arena, 100000);
	char *spaces = ls_arena_alloc(arena, 100000);

	for (size_t i = 0; i < n; i++)
	{
		ls_buf buf;

		ls_buf_init(&buf, arena);
		for (uint32_t k = 0, len = log_next(&r, 60); k < len; k++)
			ls_buf_char(&buf, " :=,()[]{}\"'\\/.-_<>@#ab0\n|"[log_next(&r, 26)]);
		rows[i] = ls_str_make(buf.data, buf.len);
	}
	set = ls_pattern_mine(arena, rows, n, NULL);
	ok(consistent(set, n), "punctuation");

	memset(deep, '[', 100000);
	memset(spaces, ' ', 100000);
	rows[0] = ls_str_make(deep, 100000);
	rows[1] = ls_str_make(spaces, 100000);
	memset(deep + 50000, '{', 50000);
	rows[2] = ls_str_make(deep + 50000, 50000);
	rows[3] =
		LS_STR("{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}}}");
	rows[4] = LS_STR("{\"a\":\"\\");
	rows[5] = LS_STR("{\"a\":\"b\\\"}");
	rows[6] = LS_STR("a=\"");
	rows[7] = ls_str_make(NULL, 0);
	rows[8] = LS_STR("::");
	rows[9] = LS_STR("a:b:c:d:e:f:1:2:3:4:5:6:7:8:9");
	set = ls_pattern_mine(arena, rows, 10, NULL);
	ok(consistent(set, 10), "long, deep and broken rows");

	ok(ls_pattern_mine(small, rows, n, NULL) == NULL, "an arena's limit gives no result");
	ls_arena_destroy(small);
}

/* Memory that ends with a certain call. */
static void *
few_alloc(void *context, size_t size)
{
	int *left = context;

	return (*left)-- > 0 ? malloc(size) : NULL;
}

static void
few_free(void *context, void *chunk)
{
	(void) context;
	free(chunk);
}

/* Wherever memory ends: no result, and nothing that the sanitizers mind. */
static void
test_memory(void)
{
	static const char *const words[] = {"api",         "[17]",   "level=warn", "12:30:01",
										"10.0.0.7:80", "(main)", "\"a b\""};
	enum
	{
		ROWS = 600,
		WORDS = sizeof(words) / sizeof(words[0])
	};
	ls_str rows[ROWS];
	ls_pattern_set *set = NULL;
	int without = 0;

	/* Each row has a shape of its own: what is allocated for each of them is large. */
	for (int i = 0; i < ROWS; i++)
	{
		ls_buf buf;

		ls_buf_init(&buf, arena);
		ls_buf_printf(&buf, "2024-05-01 10:00:%02d ", i % 60);
		for (int n = i + WORDS; n > 0; n /= WORDS)
			ls_buf_printf(&buf, "%s ", words[n % WORDS]);
		rows[i] = ls_str_make(buf.data, buf.len);
	}
	for (int calls = 1; set == NULL && calls < 1000; calls++)
	{
		int left = calls;
		ls_arena_source source = {few_alloc, few_free, &left};
		ls_arena *little = ls_arena_create(&source, 0);

		set = ls_pattern_mine(little, rows, ROWS, NULL);
		without += set == NULL;
		ls_arena_destroy(little);
	}
	ok(set != NULL && without > 10, "an end of memory at any place gives no result");
	printf("# memory ended at %d places\n", without);
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	test_lines();
	test_placeholders();
	test_similarity();
	test_cap();
	test_escape();
	test_ids();
	test_hostile();
	test_memory();
	test_digest();
	test_digits();
	test_accuracy();
	test_other_kinds();
	test_cost();
	ls_arena_destroy(arena);
	return done_testing();
}
