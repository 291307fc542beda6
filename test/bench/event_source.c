/*
 * event_source.c: log events for benchmarks, the same on every machine.
 *
 * Programs write lines from some thousands of templates, which a grammar
 * (event_words.h) makes from the seed.  What varies from line to line is shaped
 * like real logs: few templates make most of the lines, values come from small
 * or large sets, stay the same for the lines of one session, count up, or are
 * new each time, and programs differ much in all that.  `make bench
 * B=likeness` compares the result with a folder of real logs.
 *
 * An event depends on its number and time only, so that several processes can
 * each make a share of them.
 */
#include "event_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event_words.h"

#define COUNT(array) ((uint32_t) (sizeof(array) / sizeof((array)[0])))
#define MAX_OPS 48
#define PICKS 65536
#define LEXICON 48

/*
 * How programs differ.  `rare` of a thousand lines are of any of the templates that
 * are not `common`; of these, the r-th is written as often as 1 / (r + flat)^steep.
 * There are `clauses` in ten lines, and of a hundred variables so many that come
 * from a small set of values, from a large one, change with
 * the session, count up; the others are new each time.
 */
typedef struct program_kind
{
	const char *name;
	const char *services[3];
	uint16_t weight;
	uint16_t head;
	uint16_t templates;
	uint16_t common;
	uint16_t rare;
	float steep;
	float flat;
	uint16_t clauses;
	uint8_t small;
	uint8_t large;
	uint8_t session;
	uint8_t counter;
	char form;   /* s: stack traces, j: JSON bodies, now and then */
	bool blocks; /* its ids have 19 digits */
} program_kind;

/* clang-format off */
static const program_kind kinds[] = {
	{"window-manager", {"mobile", "kiosk", "desktop"},
		6, 0, 600, 70, 88, 1.0f, 2, 16, 80, 5, 14, 1, 's', false},
	{"edge-httpd", {"web", "web-static", "cms"},
		9, 1, 40, 6, 1, 1.0f, 0, 10, 76, 12, 10, 1, 0, false},
	{"torus-kernel", {"hpc", "hpc-io", "hpc-login"},
		6, 2, 500, 60, 84, 1.3f, 0, 9, 20, 10, 6, 2, 0, false},
	{"block-store", {"storage", "archive", "backup"},
		9, 3, 40, 8, 2, 0.5f, 2, 16, 8, 30, 4, 0, 's', true},
	{"rack-monitor", {"hpc", "facility", "hpc-io"},
		4, 4, 150, 30, 14, 1.2f, 1, 5, 75, 10, 12, 3, 0, false},
	{"authd", {"bastion", "jump", "bastion-eu"},
		6, 5, 900, 20, 88, 1.5f, 0, 11, 84, 3, 12, 1, 0, false},
	{"compute-api", {"compute", "scheduler", "images"},
		7, 6, 100, 34, 8, 1.7f, 0, 16, 45, 10, 42, 1, 'j', false},
	{"batch-executor", {"etl", "ml-training", "reports"},
		8, 7, 160, 14, 16, 1.0f, 2, 8, 60, 10, 5, 24, 's', false},
	{"package-service", {"desktop", "update", "imaging"},
		5, 8, 240, 14, 26, 1.5f, 1, 17, 82, 4, 13, 1, 0, false},
	{"quorum", {"coordination", "locks", "discovery"},
		6, 9, 300, 20, 44, 1.2f, 2, 10, 74, 10, 14, 2, 's', false},
};
/* clang-format on */

/* Each kind is that of three programs; their templates differ. */
static const char *const sites[] = {"", "-eu", "-us"};

#define PROGRAMS (COUNT(kinds) * COUNT(sites))

enum
{
	OP_LITERAL,
	OP_NUMBER,
	OP_HEX,
	OP_BLOCK,
	OP_ADDRESS,
	OP_PORT,
	OP_UUID,
	OP_PATH,
	OP_DURATION,
	OP_USER,
	OP_HOST,
	OP_DECIMAL,
	OP_VERSION,
	OP_TIME,
	OP_LEVEL
};

enum
{
	FROM_NEW,
	FROM_SMALL,
	FROM_LARGE,
	FROM_SESSION,
	FROM_COUNTER,
	FROM_HOUR
};

typedef struct op
{
	uint8_t what;
	uint8_t from;
	uint8_t digits;
	uint8_t values;  /* of a small set; lines of a session, as a power of 2 */
	uint32_t length; /* of a literal */
	const char *text;
	uint64_t salt;
} op;

typedef struct template
{
	const char *level;
	uint32_t n;
	uint32_t head; /* how many of the ops are the beginning */
	char form;
	op *ops;
}
template;

/* The words of a program. */
typedef struct lexicon
{
	char nouns[LEXICON][24];
	char verbs[LEXICON / 4][24];
	const char *adjectives[LEXICON / 6];
	const char *states[LEXICON / 8];
	const char *reasons[LEXICON / 8];
	const char *roles[LEXICON / 8];
} lexicon;

typedef struct program
{
	const program_kind *kind;
	char name[32];
	uint64_t seed;
	uint32_t n;
	template *templates;
	uint16_t *picks;
} program;

static program programs[PROGRAMS];
static uint8_t program_picks[4096];
static uint32_t program_share[PROGRAMS]; /* of 65,536 events */
static uint64_t state;

static uint64_t
mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

static uint64_t
draw(void)
{
	return mix(state += UINT64_C(0x9E3779B97F4A7C15));
}

static uint32_t
below(uint32_t n)
{
	return (uint32_t) ((draw() >> 32) * n >> 32);
}

/* ---- templates ---- */

typedef struct draft
{
	program *program;
	const lexicon *words;
	op ops[MAX_OPS];
	uint32_t n;
	char text[4096]; /* a literal that is being made */
	uint32_t length;
} draft;

static void
end_literal(draft *d)
{
	char *text;

	if (d->length == 0)
		return;
	text = malloc(d->length);
	memcpy(text, d->text, d->length);
	d->ops[d->n++] = (op){OP_LITERAL, 0, 0, 0, d->length, text, 0};
	d->length = 0;
}

static void
say(draft *d, const char *text)
{
	while (*text != '\0' && d->length < sizeof(d->text))
		d->text[d->length++] = *text++;
}

/* Programs that are next to each other have different words, most of the time. */
static const char *
own(const char *const *list, uint32_t n, uint32_t program)
{
	if (below(200) == 0)
		return list[below(n)];
	return list[(below(n / COUNT(kinds) + (n < COUNT(kinds))) * COUNT(kinds) + program) % n];
}

/* A program has its own words: some of the lists, many made of two. */
static void
make_lexicon(lexicon *l, uint32_t program)
{
	static const char *const prefixes[] = {"", "", "re", "pre", "un"};

	for (uint32_t i = 0; i < LEXICON; i++)
	{
		const char *a = nouns[below(COUNT(nouns))];
		const char *b = own(nouns, COUNT(nouns), program);

		snprintf(l->nouns[i], sizeof(l->nouns[i]), "%.*s%.*s", i % 3 == 0 ? 0 : 2 + (int) i % 4, a,
				 i % 3 == 1 ? 4 : 12, b);
	}
	for (uint32_t i = 0; i < COUNT(l->verbs); i++)
	{
		const char *prefix = prefixes[below(COUNT(prefixes))];

		snprintf(l->verbs[i], sizeof(l->verbs[i]), "%s%s", prefix,
				 own(verbs, COUNT(verbs), program));
	}
	for (uint32_t i = 0; i < COUNT(l->adjectives); i++)
		l->adjectives[i] = own(adjectives, COUNT(adjectives), program);
	for (uint32_t i = 0; i < COUNT(l->states); i++)
		l->states[i] = own(states, COUNT(states), program);
	for (uint32_t i = 0; i < COUNT(l->reasons); i++)
		l->reasons[i] = own(reasons, COUNT(reasons), program);
	for (uint32_t i = 0; i < COUNT(l->roles); i++)
		l->roles[i] = own(roles, COUNT(roles), program);
}

/* One of n, the first ones more often. */
static uint32_t
uneven(uint32_t n)
{
	uint32_t i = below(n);

	return below(2) > 0 ? i * below(n) / n : i;
}

#define WORD(d, list) ((d)->words->list[uneven(COUNT((d)->words->list))])

static void
capital(draft *d, const char *text)
{
	uint32_t at = d->length;

	say(d, text);
	if (at < d->length)
		d->text[at] = (char) (d->text[at] - 'a' + 'A');
}

static void
variable(draft *d, uint8_t what, uint8_t digits)
{
	const program_kind *k = d->program->kind;
	uint32_t percent = below(100);
	op o = {what, FROM_NEW, digits, 0, 0, NULL, draw()};

	if (percent < k->small)
	{
		o.from = FROM_SMALL;
		o.values = (uint8_t) (1 + below(2) * below(12));
	}
	else if ((percent -= k->small) < k->large)
	{
		/* The same set for all such variables of the program. */
		o.from = FROM_LARGE;
		o.salt = d->program->seed + what;
		o.values = 200;
	}
	else if ((percent -= k->large) < k->session)
	{
		o.from = FROM_SESSION;
		o.salt = d->program->seed + what + below(2);
		o.values = (uint8_t) (3 + below(3));
	}
	else if (percent - k->session < k->counter)
		o.from = FROM_COUNTER;
	end_literal(d);
	d->ops[d->n++] = o;
}

static void
fixed(draft *d, uint8_t what, uint8_t digits, uint8_t from, uint8_t values)
{
	end_literal(d);
	d->ops[d->n++] = (op){what, from, digits, values, 0, NULL, d->program->seed + what};
}

static void
expand(draft *d, const char *p)
{
	for (; *p != '\0' && d->n + 4 < MAX_OPS; p++)
	{
		char what;

		if (*p != '<' || p[1] == '\0')
		{
			if (d->length < sizeof(d->text))
				d->text[d->length++] = *p;
			continue;
		}
		what = *++p;
		switch (what)
		{
			case 'n':
				say(d, WORD(d, nouns));
				break;
			case 'N':
				capital(d, WORD(d, nouns));
				break;
			case 'v':
				say(d, WORD(d, verbs));
				break;
			case 'a':
				say(d, WORD(d, adjectives));
				break;
			case 's':
				say(d, WORD(d, states));
				break;
			case 'r':
				say(d, WORD(d, reasons));
				break;
			case 'C':
				capital(d, WORD(d, nouns));
				if (below(3) == 0)
					capital(d, WORD(d, nouns));
				say(d, WORD(d, roles));
				break;
			case 'm':
				say(d, WORD(d, verbs));
				capital(d, WORD(d, nouns));
				break;
			case 'k':
				say(d, WORD(d, nouns));
				if (below(2) == 0)
				{
					say(d, "_");
					say(d, WORD(d, adjectives));
				}
				break;
			case '#':
				variable(d, OP_NUMBER, (uint8_t) (1 + below(4)));
				break;
			case 'i':
				if (d->program->kind->blocks)
					variable(d, OP_BLOCK, 0);
				else
					variable(d, OP_NUMBER, (uint8_t) (4 + below(6)));
				break;
			case 'z':
				variable(d, OP_NUMBER, (uint8_t) (2 + below(7)));
				break;
			case 'x':
				variable(d, OP_HEX, 8);
				break;
			case 'X':
				variable(d, OP_HEX, 16);
				break;
			case 'b':
				variable(d, OP_BLOCK, 0);
				break;
			case 'I':
				variable(d, OP_ADDRESS, 0);
				break;
			case 'A':
				variable(d, OP_ADDRESS, 0);
				say(d, ":");
				variable(d, OP_PORT, 0);
				break;
			case 'U':
				variable(d, OP_UUID, 0);
				break;
			case 'f':
				say(d, "/");
				say(d, WORD(d, nouns));
				variable(d, OP_PATH, 0);
				break;
			case 't':
				variable(d, OP_DURATION, 0);
				break;
			case 'u':
				variable(d, OP_USER, 0);
				break;
			case 'o':
				variable(d, OP_HOST, 0);
				break;
			case 'p':
				variable(d, OP_DECIMAL, 0);
				break;
			case 'j':
				variable(d, OP_VERSION, 0);
				break;
			case 'T':
			{
				uint8_t form = 0;

				while (p[1] >= '0' && p[1] <= '9')
					form = (uint8_t) (10 * form + (*++p - '0'));
				fixed(d, OP_TIME, form, FROM_NEW, 0);
				break;
			}
			case 'L':
			case 'l':
				fixed(d, OP_LEVEL, what == 'l', FROM_NEW, 0);
				break;
			case 'P':
				fixed(d, OP_NUMBER, 5, FROM_SESSION, 4);
				break;
			case 'g':
				fixed(d, OP_NUMBER, 2, FROM_SESSION, 2);
				break;
			case 'h':
				fixed(d, OP_NUMBER, 1, FROM_SESSION, 2);
				break;
			case 'w':
				fixed(d, OP_NUMBER, 12, FROM_SMALL, 4);
				break;
			case 'e':
				fixed(d, OP_HEX, 8, FROM_NEW, 0);
				break;
			case 'Y':
				fixed(d, OP_HEX, 16, FROM_HOUR, 0);
				break;
		}
		p++; /* > */
	}
}

/* A long text of one template: what of it varies is a fraction. */
static void
long_text(draft *d, char form)
{
	int n = 4 + (int) below(form == 's' ? 28 : 12);

	if (form == 's')
		expand(d, ": <n>.<n>.<C>Exception: <r>");
	else
		expand(d, "{\"<k>\": \"<U>\", \"trace_id\": \"<X><X>\"");
	for (int i = 0; i < n && d->n + 8 < MAX_OPS; i++)
	{
		if (form == 'j')
		{
			static const char *const members[] = {
				", \"<k>\": <#>", ", \"<k>\": \"<s>\"",
				", \"<k>\": {\"<n>\": \"<f>\", \"<k>\": [<#>, <#>]}", ", \"<k>\": \"<a> <n>\"",
				", \"<k>\": <p>"};

			expand(d, members[below(COUNT(members))]);
		}
		else
		{
			char line[8];

			if (i % 9 == 8)
				expand(d, "\nCaused by: <n>.<C>Exception: <a> <n>");
			expand(d, "\n\tat org.<n>.<n>.<C>.<m>(<C>.java:");
			snprintf(line, sizeof(line), "%u)", 20 + below(900));
			say(d, line);
		}
	}
	if (form == 'j')
		say(d, "}");
}

static void
make_template(program *p, const lexicon *words, template *t, uint32_t number)
{
	static draft d;
	const program_kind *k = p->kind;
	uint32_t odds = below(100);
	const struct landmark *landmark = number < COUNT(landmarks) ? &landmarks[number] : NULL;
	uint32_t number_of_kind = (uint32_t) (k - kinds);
	uint32_t n = k->clauses / 10 + (below(10) < k->clauses % 10u);

	n += n == 0;
	d.program = p;
	d.words = words;
	d.n = d.length = 0;
	t->level = odds < 89 ? "info" : odds < 92 ? "debug" : odds < 95 ? "warn" : "error";
	if (landmark != NULL)
		t->level = landmark->level;
	else if (number < COUNT(landmarks) + 4)
		t->level = "info"; /* what is written most */
	else if (odds == 99)
		t->level = "fatal";
	expand(&d, heads[k->head]);
	end_literal(&d);
	t->head = d.n;
	if (landmark != NULL)
		expand(&d, landmark->text);
	else
	{
		bool bad = *t->level == 'e' || *t->level == 'f' || (*t->level == 'w' && below(2) == 0);

		if (k->form != 0 && (k->form == 'j' ? number % 4 == 3 : bad && below(3) == 0))
			t->form = k->form;
		if (bad)
			expand(&d, own(failures, COUNT(failures), number_of_kind));
		while (below(9) == 0)
			n++;
		for (uint32_t i = 0; i < n; i++)
		{
			static const char *const joints[] = {", ", "; ", " ", ": ", " - "};

			if (i > 0 || bad)
				say(&d, joints[below(COUNT(joints))]);
			expand(&d, own(clauses, COUNT(clauses), number_of_kind));
		}
		if (t->form != 0)
			long_text(&d, t->form);
	}
	end_literal(&d);
	t->n = d.n;
	t->ops = malloc(d.n * sizeof(op));
	memcpy(t->ops, d.ops, d.n * sizeof(op));
}

static double
power(double base, double exponent)
{
	/* pow() of two machines may differ in the last digit, and templates with it. */
	double log = 0, result = 1, term = 1, x;
	int twos = 0;

	for (; base >= 2; base /= 2)
		twos++;
	x = (base - 1) / (base + 1);
	for (int i = 1; i < 60; i += 2, term *= x * x)
		log += 2 * x * term / i;
	x = exponent * (log + twos * 0.6931471805599453) / 64;
	term = 1;
	for (int i = 1; i < 20; i++)
		result += term *= x / i;
	for (int i = 0; i < 6; i++)
		result *= result;
	return result;
}

static void
make_program(program *p, uint32_t number, uint64_t seed)
{
	const program_kind *k = &kinds[number % COUNT(kinds)];
	lexicon words;
	double sum = 0, until = 0;
	uint32_t at = 0, rest;

	snprintf(p->name, sizeof(p->name), "%s%s", k->name, sites[number / COUNT(kinds)]);
	p->kind = k;
	p->seed = mix((seed + 1) * 1000 + number + 1);
	p->n = k->templates + COUNT(landmarks);
	p->templates = calloc(p->n, sizeof(template));
	p->picks = malloc(PICKS * sizeof(uint16_t));
	state = p->seed;
	make_lexicon(&words, number);
	for (uint32_t t = 0; t < p->n; t++)
		make_template(p, &words, &p->templates[t], t);
	for (uint32_t t = 0; t < COUNT(landmarks); t++)
	{
		for (int i = 0; i < landmarks[t].often && strcmp(landmarks[t].kind, k->name) == 0; i++)
			p->picks[at++] = (uint16_t) t;
	}
	/* Of the others, some are common, and the rest shares a few percent of the lines. */
	rest = (PICKS - at) / 1000 * k->rare;
	for (uint32_t t = 0; t < rest; t++)
		p->picks[at++] = (uint16_t) (COUNT(landmarks) + k->common + t % (k->templates - k->common));
	rest = PICKS - at;
	for (uint32_t r = 1; r <= k->common; r++)
		sum += power(r + k->flat, -k->steep);
	for (uint32_t r = 1; at < PICKS; r++)
	{
		uint32_t end;

		until += power(r + k->flat, -k->steep);
		end = r == k->common ? PICKS : PICKS - rest + (uint32_t) (rest * (until / sum) + 0.5);
		while (at < end)
			p->picks[at++] = (uint16_t) (COUNT(landmarks) + r - 1);
	}
}

extern void
source_init(uint64_t seed)
{
	uint32_t sum = 0, until = 0, at = 0;

	for (uint32_t i = 0; i < PROGRAMS; i++)
	{
		make_program(&programs[i], i, seed);
		sum += programs[i].kind->weight;
	}
	for (uint32_t i = 0; i < PROGRAMS; i++)
	{
		until += programs[i].kind->weight;
		program_share[i] = programs[i].kind->weight * 65536u / sum;
		while (at < until * COUNT(program_picks) / sum)
			program_picks[at++] = (uint8_t) i;
	}
}

extern int
source_programs(void)
{
	return PROGRAMS;
}

extern const char *
source_program(int program, int *templates)
{
	*templates = (int) programs[program].n;
	return programs[program].name;
}

/* ---- lines ---- */

static char *
number_text(char *to, uint64_t v, int digits)
{
	char reversed[20];
	int n = 0;

	do
		reversed[n++] = (char) ('0' + v % 10);
	while ((v /= 10) > 0);
	for (; digits > n; digits--)
		*to++ = '0';
	while (n > 0)
		*to++ = reversed[--n];
	return to;
}

static char *
hex_text(char *to, uint64_t v, int digits)
{
	for (; digits > 0; digits--, v >>= 4)
		*to++ = "0123456789abcdef"[v & 15];
	return to;
}

static char *
plain(char *to, const char *text)
{
	size_t n = strlen(text);

	memcpy(to, text, n);
	return to + n;
}

/* Forms of the time; the parts of the date are those of the last call when it is the same. */
static char *
time_text(char *to, int64_t time, int form)
{
	static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
										 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static struct tm tm;
	static int64_t day = -1;
	int64_t s = time / 1000000;
	int us = (int) (time % 1000000);
	int clock = (int) (s % 86400);
	int part[6];
	const char *p;
	static const char *const forms[] = {
		"Y-M-DTh:m:s", "M-D h:m:s.t",   "b e h:m:s", "E",       "Y-M-D h:m:s.t", "a b D h:m:s Y",
		"Y.M.D",       "Y-M-D-h.m.s.u", "yMD hms",   "Y-M-D_h", "y/M/D h:m:s",   "Y-M-D h:m:s,t"};

	if (s / 86400 != day)
	{
		time_t at = (time_t) s;

		gmtime_r(&at, &tm);
		day = s / 86400;
	}
	part[0] = tm.tm_year + 1900;
	part[1] = tm.tm_mon + 1;
	part[2] = tm.tm_mday;
	for (p = forms[form]; *p != '\0'; p++)
	{
		switch (*p)
		{
			case 'Y':
				to = number_text(to, (uint64_t) part[0], 4);
				break;
			case 'y':
				to = number_text(to, (uint64_t) part[0] % 100, 2);
				break;
			case 'M':
				to = number_text(to, (uint64_t) part[1], 2);
				break;
			case 'D':
			case 'e':
				to = number_text(to, (uint64_t) part[2], 2);
				break;
			case 'h':
				to = number_text(to, (uint64_t) clock / 3600, 2);
				break;
			case 'm':
				to = number_text(to, (uint64_t) clock / 60 % 60, 2);
				break;
			case 's':
				to = number_text(to, (uint64_t) clock % 60, 2);
				break;
			case 't':
				to = number_text(to, (uint64_t) us / 1000, 3);
				break;
			case 'u':
				to = number_text(to, (uint64_t) us, 6);
				break;
			case 'E':
				to = number_text(to, (uint64_t) s, 0);
				break;
			case 'a':
				to = plain(to, days[tm.tm_wday]);
				break;
			case 'b':
				to = plain(to, months[tm.tm_mon]);
				break;
			default:
				*to++ = *p;
		}
	}
	return to;
}

/* The value of a variable: `line` is about the number of the line within its program. */
static inline uint64_t
value(const op *o, uint64_t line)
{
	uint64_t v;

	switch (o->from)
	{
		case FROM_SMALL:
		case FROM_LARGE:
			/* Few of them are frequent. */
			v = draw();
			v = (v >> 32) * (v & 0xffffffff) >> 32;
			return mix(o->salt + (v * o->values >> 32));
		case FROM_SESSION:
			/* Some sessions at a time. */
			v = draw();
			return mix(o->salt + (line >> o->values) * 4 + (v & 7 ? 0 : v >> 62));
		case FROM_COUNTER:
			return (o->salt >> 40) + line * (1 + (o->salt & 3));
		case FROM_HOUR:
			return mix(o->salt + (line >> 10));
		default:
			return draw();
	}
}

static char *
op_text(char *to, const op *o, uint64_t v, int64_t time, const char *level)
{
	static const uint64_t powers[] = {1,       10,       100,       1000,       10000,      100000,
									  1000000, 10000000, 100000000, 1000000000, 10000000000};

	switch (o->what)
	{
		case OP_NUMBER:
			if (o->digits > 10)
				return number_text(to, v % o->digits, 0);
			return number_text(to, v % powers[o->digits], 0);
		case OP_HEX:
			return hex_text(to, v, o->digits);
		case OP_BLOCK:
			if (v & 1)
				*to++ = '-';
			return number_text(to, v >> 1, 0);
		case OP_ADDRESS:
			to = plain(to, "10.");
			to = number_text(to, 20 + v % 3, 0);
			*to++ = '.';
			to = number_text(to, v >> 8 & 31, 0);
			*to++ = '.';
			return number_text(to, 1 + (v >> 16) % 254, 0);
		case OP_PORT:
			return number_text(to, 1024 + v % 64000, 0);
		case OP_UUID:
			to = hex_text(to, v, 8);
			*to++ = '-';
			v = mix(v);
			to = hex_text(to, v, 4);
			to = plain(to, "-4");
			to = hex_text(to, v >> 16, 3);
			to = plain(to, "-a");
			to = hex_text(to, v >> 28, 3);
			*to++ = '-';
			return hex_text(to, mix(v), 12);
		case OP_PATH:
			*to++ = '/';
			to = plain(to, nouns[v % COUNT(nouns)]);
			*to++ = '/';
			to = plain(to, adjectives[(v >> 8) % COUNT(adjectives)]);
			*to++ = '_';
			to = number_text(to, (v >> 16) % 1000, 0);
			*to++ = '.';
			return plain(to, endings[v >> 32 & 7]);
		case OP_DURATION:
			to = number_text(to, v >> 8 & (v & 3 ? 255 : 8191), 0);
			return plain(to, " ms");
		case OP_USER:
			return plain(to, users[v % COUNT(users)]);
		case OP_HOST:
			to = plain(to, nouns[v % 7]);
			*to++ = '-';
			return number_text(to, v >> 8 & 63, 2);
		case OP_DECIMAL:
			to = number_text(to, v % 100, 0);
			*to++ = '.';
			return number_text(to, (v >> 8) % 1000, 3);
		case OP_VERSION:
			to = number_text(to, v & 7, 0);
			*to++ = '.';
			to = number_text(to, v >> 8 & 15, 0);
			*to++ = '.';
			return number_text(to, v >> 16 & 31, 0);
		case OP_TIME:
			return time_text(to, time, o->digits);
		case OP_LEVEL:
			if (o->digits == 1)
				*to++ = (char) (*level - 'a' + 'A');
			else
			{
				for (; *level != '\0'; level++)
					*to++ = (char) (*level - 'a' + 'A');
			}
			return to;
	}
	return to;
}

extern void
source_make(source_event *e, uint64_t number, int64_t time, int which, bool long_texts)
{
	const program *p;
	const template *t;
	uint64_t line;
	uint64_t bits;
	char *to = e->text;

	state = mix(number * UINT64_C(0xD1342543DE82EF95) + 1);
	hex_text(e->request_id, draw(), 16);
	hex_text(e->request_id + 16, draw(), 16)[0] = '\0';
	bits = draw();
	e->program = which >= 0 ? which : program_picks[bits & 4095];
	p = &programs[e->program];
	line = which >= 0 ? number : number * program_share[e->program] >> 16;
	/* Half of the lines are of the template that the program writes just then. */
	if (bits >> 12 & 1)
		e->template = p->picks[mix(p->seed + (line >> 2)) % PICKS];
	else
		e->template = p->picks[bits >> 16 & (PICKS - 1)];
	t = &p->templates[e->template];
	if (t->form != 0 && !long_texts)
		t = &p->templates[COUNT(landmarks) + (bits >> 32) % 3];
	e->level = t->level;
	e->source = p->name;
	e->service = p->kind->services[(bits >> 40) % 3];
	e->time = time;
	number_text(plain(e->host, "host-"), ((uint64_t) e->program * 11 + (bits >> 44) % 20) % 320,
				3)[0] = '\0';
	e->head = 0;
	for (uint32_t i = 0; i < t->n; i++)
	{
		const op *o = &t->ops[i];

		if (i == t->head)
			e->head = (size_t) (to - e->text);
		if (o->what == OP_LITERAL)
		{
			memcpy(to, o->text, o->length);
			to += o->length;
		}
		else
			to = op_text(to, o, o->what >= OP_TIME ? 0 : value(o, line), time, e->level);
	}
	e->length = (size_t) (to - e->text);
}
