/*-------------------------------------------------------------------------
 *
 * judge_internal.h
 *	  What the files of the built-in evaluator share (pure).  Nobody else includes it.
 *
 * Text becomes atoms (judge_text.c), atoms get a meaning from a fixed word list
 * (judge_words.c), a row becomes cues of an outcome (judge_rows.c), an item becomes terms,
 * identifiers and conditions (judge_item.c), and a match of the two (judge_match.c) or a
 * comparison of numbers (judge_number.c) is weighed into a finding (judge.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_JUDGE_INTERNAL_H
#define LS_JUDGE_INTERNAL_H

#include "src/judge/judge.h"

/*
 * Rules that test/bench/judge_ablation.c switches off one at a time; in the library all of them
 * are on, and the switch is no code.
 */
#define LS_JUDGE_RULES(R)                                                      \
	R(ADVICE, "advice and announcements are not evidence")                     \
	R(HOSTILE, "text that instructs the reader is not evidence")               \
	R(CLIENT, "text of a client, or free text, is not evidence of a success")  \
	R(NAME, "a verdict next to the full name of a test")                       \
	R(CRITERIA, "definitions in the criteria")                                 \
	R(FRACTION, "partial counts: 2/3")                                         \
	R(JUNIT, "JUnit's test cases")                                             \
	R(REPORT, "reports with check marks")                                      \
	R(EXIT, "exit codes")                                                      \
	R(OTHER_VALUE, "another value of the field of the item's verb")            \
	R(FORBIDDEN, "an absence decided by a row that does not name the subject") \
	R(TROUBLED, "an absence stays open if rows about it fail")                 \
	R(YET, "what is queued, scheduled or started has not happened yet")        \
	R(PLACE, "a different place or object than the item's")                    \
	R(SURE, "a weak hint must name most of the item")

typedef enum ls_judge_rule
{
#define R(id, text) LS_JUDGE_RULE_##id,
	LS_JUDGE_RULES(R)
#undef R
		LS_JUDGE_RULE_COUNT
} ls_judge_rule;

#ifdef LS_JUDGE_ABLATION
extern int ls_judge_rule_off;
#define LS_JUDGE_RULE(id) (ls_judge_rule_off != LS_JUDGE_RULE_##id)
#else
#define LS_JUDGE_RULE(id) true
#endif

/* ---- atoms ---- */

typedef enum ls_judge_sep /* what stands before an atom */
{
	LS_SEP_START,
	LS_SEP_NONE,  /* camelCase, number and unit */
	LS_SEP_TIGHT, /* one - or _ */
	LS_SEP_DOT,
	LS_SEP_SLASH,
	LS_SEP_COLON,
	LS_SEP_AT, /* other single signs inside a word: @ # + ~ */
	LS_SEP_SPACE,
	LS_SEP_EQUAL, /* = or a JSON colon: key before, value after */
	LS_SEP_COMMA, /* , ; | ( and sentence ends: a new clause */
	LS_SEP_OTHER
} ls_judge_sep;

typedef enum ls_judge_kind
{
	LS_ATOM_WORD,
	LS_ATOM_NUMBER, /* digits, also dotted (1.5, 10.0.0.1) */
	LS_ATOM_MIXED,  /* letters and digits: app10, 9a1 */
	LS_ATOM_SYMBOL  /* a check mark, a slash that stands alone */
} ls_judge_kind;

#define LS_ATOM_UPPER 0x01   /* ALL CAPS, two letters or more */
#define LS_ATOM_CAPITAL 0x02 /* begins with a capital */
#define LS_ATOM_ING 0x04     /* ends in -ing */
#define LS_ATOM_ED 0x08      /* ends in -ed */
#define LS_ATOM_TIME 0x20    /* part of a date or of a clock time */
#define LS_ATOM_EMPTY 0x80   /* an empty value ("") follows */

/*
 * Text that a client chose or may have chosen.  None of it tells a success or an action.  A row
 * is about an item only by what is not the client's, with the exceptions named here.
 */
typedef enum ls_judge_client
{
	LS_CLIENT_NONE,
	LS_CLIENT_QUOTE, /* quoted in prose, or a name: names an item like other text */
	LS_CLIENT_PATH,  /* of a request, or who sent it: names an item that asks for a status code */
	LS_CLIENT_FREE,  /* free text of any origin: shows failures, names nothing by itself */
	LS_CLIENT_TEXT   /* only shows what must be absent */
} ls_judge_client;

typedef struct ls_judge_atom
{
	uint64_t stem;   /* hash of the folded stem */
	uint64_t joined; /* of a compound or of verb and particle; 0: none */
	uint32_t off;
	uint16_t len;
	uint16_t clause;
	uint16_t word; /* entry of the word list, 0: none */
	uint8_t kind;
	uint8_t sep;
	uint8_t flags;
	uint8_t unreal; /* an action that is only wanted, planned or tried */
	uint8_t client; /* ls_judge_client */
	uint8_t sets;   /* of words, that it is in: see ls_judge_in */
} ls_judge_atom;

struct ls_judge_words;

/* Words that were met before, by the hash of their bytes: logs repeat theirs. */
#define LS_MEMO 1024
typedef struct ls_judge_memo
{
	uint64_t key; /* 0: empty */
	ls_judge_atom atom;
} ls_judge_memo;

/* Hash of a lower-case word's stem, as atoms carry it; the stem of one, in place: its length. */
#define LS_STEM_MAX 48 /* longer words are hashed without stemming */
extern uint64_t ls_judge_stem(const char *word, size_t len);
extern size_t ls_judge_stem_word(char *word, size_t len);
extern uint64_t ls_judge_hash_word(const char *word, size_t len);

typedef struct ls_judge_text
{
	ls_str text;
	ls_judge_atom *atoms;
	int n;
} ls_judge_text;

/* Atom `i` as it stands in the text; empty when there is none. */
static inline ls_str
ls_judge_atom_text(const ls_judge_text *t, int i)
{
	return i >= 0 && i < t->n ? ls_str_make(t->text.data + t->atoms[i].off, t->atoms[i].len)
							  : LS_STR("");
}

static inline bool
ls_judge_is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static inline bool
ls_judge_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Is the word this one, which is lower case?  Inline: the length of a literal is known, and the
 * first letter tells most words apart.
 */
static inline __attribute__((always_inline)) bool
ls_judge_is(ls_str word, const char *lower)
{
	return word.len > 0 && (word.data[0] | 0x20) == lower[0] &&
		   ls_str_eq_nocase(word, ls_str_make(lower, strlen(lower)));
}

/* Is it one of the words, which blanks separate? */
static inline bool
ls_judge_is_one_of(ls_str word, const char *words)
{
	for (size_t len; *words != '\0'; words += len + (words[len] == ' '))
	{
		len = strcspn(words, " ");
		if (len == word.len && ls_str_eq_nocase(word, ls_str_make(words, len)))
			return true;
	}
	return false;
}

/* ---- words ---- */

/* clang-format off */
typedef enum ls_judge_concept
{
	LS_CONCEPT_NONE, LS_CONCEPT_RESULT, LS_CONCEPT_COMPLETE,
	/* these take time: their beginning does not tell that they end well */
	LS_CONCEPT_START, LS_CONCEPT_CREATE, LS_CONCEPT_DEPLOY, LS_CONCEPT_APPLY, LS_CONCEPT_BUILD,
	LS_CONCEPT_UPDATE, LS_CONCEPT_INSTALL, LS_CONCEPT_RESTORE, LS_CONCEPT_EXECUTE,
	LS_CONCEPT_VERIFY, LS_CONCEPT_CONNECT, LS_CONCEPT_BACKUP, LS_CONCEPT_FETCH, LS_CONCEPT_LOAD,
	/* removals and ends */
	LS_CONCEPT_STOP, LS_CONCEPT_DELETE, LS_CONCEPT_LEAVE, LS_CONCEPT_DISABLE, LS_CONCEPT_CLOSE,
	LS_CONCEPT_RELEASE, LS_CONCEPT_ROLLBACK, LS_CONCEPT_RETRY, LS_CONCEPT_LOGOUT,
	/* other ones */
	LS_CONCEPT_HEALTHY, LS_CONCEPT_UNHEALTHY, LS_CONCEPT_DISCONNECT, LS_CONCEPT_LOGIN,
	LS_CONCEPT_ALLOW, LS_CONCEPT_DENY, LS_CONCEPT_SEND, LS_CONCEPT_PUBLISH, LS_CONCEPT_SYNC,
	LS_CONCEPT_WRITE, LS_CONCEPT_DETECT, LS_CONCEPT_TIMEOUT, LS_CONCEPT_CRASH, LS_CONCEPT_HANG,
	LS_CONCEPT_ABORT, LS_CONCEPT_ERROR,
	LS_CONCEPT_WARNING, LS_CONCEPT_SKIP, LS_CONCEPT_OPEN, LS_CONCEPT_ENABLE, LS_CONCEPT_ACQUIRE,
	LS_CONCEPT_JOIN, LS_CONCEPT_VALID, LS_CONCEPT_INVALID, LS_CONCEPT_LATENCY, LS_CONCEPT_MEMORY,
	LS_CONCEPT_USAGE, LS_CONCEPT_CONFIG, LS_CONCEPT_RESTART, LS_CONCEPT_MOUNT, LS_CONCEPT_SCALE,
	LS_CONCEPT_LOSS, LS_CONCEPT_EXPIRE, LS_CONCEPT_PROMOTE, LS_CONCEPT_ACK, LS_CONCEPT_LOCK,
	LS_CONCEPT_UNLOCK, LS_CONCEPT_MAXIMUM, LS_CONCEPT_AVERAGE, LS_CONCEPT_ACCURACY,
	LS_CONCEPT_DATABASE, LS_CONCEPT_CERTIFICATE, LS_CONCEPT_TEMPERATURE, LS_CONCEPT_ENVIRONMENT,
	LS_CONCEPT_PRODUCTION, LS_CONCEPT_REPOSITORY, LS_CONCEPT_PASSWORD, LS_CONCEPT_DEPTH,
	LS_CONCEPT_MONDAY, LS_CONCEPT_TUESDAY, LS_CONCEPT_WEDNESDAY, LS_CONCEPT_THURSDAY,
	LS_CONCEPT_FRIDAY, LS_CONCEPT_SATURDAY, LS_CONCEPT_SUNDAY, LS_CONCEPT_FIRE, LS_CONCEPT_RESOLVE,
	LS_CONCEPT_READONLY, LS_CONCEPT_LEADER, LS_CONCEPT_REPLICA, LS_CONCEPT_COUNT
} ls_judge_concept;
/* clang-format on */

typedef enum ls_judge_polarity
{
	LS_POL_NONE,
	LS_POL_POS, /* success by itself: passed, ok */
	LS_POL_NEG, /* failure by itself */
	LS_POL_SKIP,
	LS_POL_ACT,   /* an action: success when the item names it */
	LS_POL_STATE, /* like ACT, but its -ing form is an arrival too */
	LS_POL_PART,  /* an action that is only under way */
	LS_POL_STOP,  /* no meaning: articles, auxiliaries */
	LS_POL_WEAK,  /* common nouns of logs */
	LS_POL_NOT,   /* negators */
	LS_POL_ALL,
	LS_POL_ANY,
	LS_POL_KEY /* a field that holds an outcome */
} ls_judge_polarity;

typedef struct ls_judge_word /* a group of them */
{
	const char *words; /* which blanks separate */
	uint8_t concept;
	uint8_t pol;
	uint8_t strength;
} ls_judge_word;

/* Sets of words that the rules look for, as they stand in a text. */
/* clang-format off */
#define LS_JUDGE_SETS(S) \
	/* what clients send, and keys under which programs tell what happened */ \
	S(CLIENT, "command comment comments cookie form headers params payload q query referer " \
		"subject") \
	S(TELLS, "action alert case check code conclusion condition decision event exit health job " \
		"kind log message msg op operation outcome output phase result rule scenario spec " \
		"stage state status stderr stdout step suite task test type verdict") \
	/* of a longer key these say less than the word before them: event_name, gift_message */ \
	S(KEY_HEAD, "code kind message msg name text type value") \
	S(KEY_REST, "err error full rendered short string") \
	S(MESSAGE, "message msg") \
	S(BODY, "body content description text") \
	S(RECORD, "error err exception log event record result response fields") \
	/* what has a name that may sound like an outcome */ \
	S(CHECK, "test case spec scenario check step stage job task it rule alert suite ok example " \
		"feature") \
	/* of an infrastructure: one word is their value, and a message may follow it */ \
	S(PLACE, "app image caller cluster component container env host id level logger lvl module " \
		"namespace node pid pod proc region role service severity shard source svc t thread " \
		"time ts version worker zone") \
	S(LABEL, "body content description filename host label name note payload reason tag text " \
		"title") \
	S(SPEECH, "said says wrote privmsg") \
	S(WRITING, "message comment mail reply note review post chat text commit") \
	S(LOGIN, "password publickey pam") \
	S(METHOD, "get post put delete head patch options connect trace propfind mkcol") \
	S(REFUSAL, "unknown invalid unrecognized unrecognised unsupported unexpected malformed " \
		"illegal undefined") \
	S(REJECT, "rejected refused ignored ignoring bad rejecting discarded") \
	S(REPEAT, "received got echo recv typed entered") \
	S(LEVEL, "trace debug info notice warn warning err error crit critical alert emerg fatal " \
		"severe panic") \
	/* of advice, plans and tries */ \
	S(ADVICE, "run use try see check ensure consider") \
	S(MEANS, "run use add set execute type call") \
	S(HELPER, "may can should must need have might could want") \
	S(HINT, "hint tip suggestion suggestions recommendation usage advice help steps") \
	S(MODAL, "will would should must may might shall could") \
	S(AIM, "trying try tries tried attempt attempts attempting attempted about going want " \
		"wants need needs needed plan planned planning") \
	/* of outcomes, beside words of the list above */ \
	S(UNDONE, "run needed required applicable executed selected configured attempted enabled") \
	S(UNNEEDED, "necessary needed required pending") \
	S(LACK, "such space route response free") \
	S(FALSE, "false no none null nil off never n") \
	S(EXIT, "exit exited rc exitcode returncode") \
	S(REQUEST, "http https get post put delete") \
	S(STATUS, "status statuscode code http sc") \
	S(REPLY, "answered answers responded responds replied replies returned returns got gave") \
	/* of numbers */ \
	S(MEASURED, "actual value current measured result observed val reading") \
	S(LIMIT, "target limit threshold expected budget goal objective quota allowed") \
	/* of values */ \
	S(EVENT_KEY, "event type action op operation method name msg message kind cmd command " \
		"reason step stage note detail") \
	S(OPEN, "pending running queued open new unknown null none retry waiting started created " \
		"progress") \
	S(YES, "true yes y on enabled") \
	/* has yet to come */ \
	S(YET, "initiated required needed queued pending scheduled waiting requested progress " \
		"awaiting postponed planned enqueued yet waits ongoing") \
	/* that begin an instruction to the reader */ \
	S(COMMAND, "all answer as assistant automated consider dear disregard evaluator every " \
		"forget ignore jailbreak mark new note output please prompt report respond set system " \
		"the to treat you your") \
	S(STATEMENT, "insert select values update delete where from") \
	S(AUXILIARY, "is are was were be been has had have got")
/* clang-format on */

typedef enum ls_judge_set
{
#define S(name, words) LS_SET_##name,
	LS_JUDGE_SETS(S)
#undef S
} ls_judge_set;

#define LS_WORDS_HASH 4096

typedef struct ls_judge_words
{
	const ls_judge_word *table;
	int n;
	uint64_t hash[LS_WORDS_HASH]; /* of stems */
	uint16_t index[LS_WORDS_HASH];
	uint64_t set_hash[LS_WORDS_HASH]; /* of words in sets */
	uint8_t sets[LS_WORDS_HASH];      /* which masks */
	uint64_t masks[256];
	int n_masks;
} ls_judge_words;

extern void ls_judge_words_init(ls_judge_words *words);
extern uint16_t ls_judge_words_find(const ls_judge_words *words, uint64_t stem);
extern uint8_t ls_judge_words_sets(const ls_judge_words *words, uint64_t hash);
extern ls_judge_concept ls_judge_concept_opposite(ls_judge_concept c);

/* ---- rows ---- */

typedef enum ls_judge_class
{
	LS_CLASS_NONE,
	LS_CLASS_PASS,
	LS_CLASS_FAIL,
	LS_CLASS_SKIP,
	LS_CLASS_CLEAN /* an explicit "no errors" */
} ls_judge_class;

#define LS_CUE_VERDICT 0x04 /* a test report or an outcome field */
#define LS_CUE_HTTP 0x10

typedef struct ls_judge_cue
{
	uint16_t atom;
	uint8_t class;
	uint8_t strength; /* 1 hint, 2 statement, 3 outcome field or report */
	uint8_t concept;
	uint8_t flags;
} ls_judge_cue;

#define LS_JUDGE_ROW_ATOMS 512
#define LS_JUDGE_ROW_CUES 24

typedef struct ls_judge_row
{
	ls_judge_text text;
	ls_judge_cue *cues;
	int n_cues;
	int http;    /* status code, 0: none */
	bool fields; /* JSON or key=value: clauses mean nothing */
	bool analysed;
	uint64_t filter[4]; /* which stems and concepts it may hold */
	bool command;       /* a command line: what shall be done */
} ls_judge_row;

/* ---- items ---- */

#define LS_ITEM_TERMS 48
#define LS_ITEM_IDENTS 12
#define LS_IDENT_ATOMS 16

typedef enum ls_judge_role
{
	LS_TERM_SUBJECT,
	LS_TERM_ACTION,
	LS_TERM_OUTCOME
} ls_judge_role;

typedef struct ls_judge_term
{
	uint64_t stem, joined;
	float weight;
	uint16_t word;
	uint8_t concept;
	uint8_t pol;
	uint8_t role;
	uint8_t kind;
	int8_t ident; /* the identifier that it belongs to, or -1 */
	bool ing;
	bool forbidden; /* what must be absent */
	bool place;     /* where it must be absent: "in the worker" */
	bool past;      /* ends in -ed */
	bool object;    /* stands after a preposition or a common noun: "for search" */
	bool scope;     /* says where a threshold holds: "on all partitions" */
	bool unheld;    /* no row holds it in any form */
	bool noun;      /* an action word that another verb of the item speaks about */
	uint64_t key;   /* the field whose value it is in some row, 0: none */
	int32_t stem_list, joined_list, concept_list; /* postings, -1: none */
} ls_judge_term;

typedef struct ls_judge_ident
{
	uint64_t atoms[LS_IDENT_ATOMS];
	uint64_t whole; /* hash when written as one word */
	uint8_t n;
	bool pair; /* noun and number: the number alone may do */
	bool path;
	bool mailbox;   /* alice@example.org */
	bool dotted;    /* a host's or a domain's name */
	bool forbidden; /* it must be absent */
} ls_judge_ident;

typedef enum ls_judge_op
{
	LS_OP_NONE,
	LS_OP_LT,
	LS_OP_LE,
	LS_OP_GT,
	LS_OP_GE,
	LS_OP_EQ
} ls_judge_op;

typedef enum ls_judge_dim
{
	LS_DIM_NONE,
	LS_DIM_TIME,
	LS_DIM_BYTES,
	LS_DIM_PERCENT,
	LS_DIM_DEGREE
} ls_judge_dim;

typedef struct ls_judge_cond
{
	ls_judge_op op;
	double value;     /* in seconds, bytes, percent */
	ls_judge_dim dim; /* NONE: a plain count of something */
} ls_judge_cond;

typedef struct ls_judge_item
{
	ls_judge_term terms[LS_ITEM_TERMS];
	int n_terms;
	ls_judge_ident idents[LS_ITEM_IDENTS];
	int n_idents;
	int n_required; /* identifiers that a row must hold */
	/* "every node is on version 5": the number's atoms, and the noun before it, 0: none */
	uint64_t value[LS_IDENT_ATOMS];
	int n_value;
	uint64_t value_noun;
	ls_judge_cond cond;
	bool absent;   /* the forbidden terms must not occur */
	bool errors;   /* ... and they mean errors in general */
	bool negative; /* the item names a bad outcome and expects it */
	bool wants_skip;
	bool all, any, at_end, first;
	bool has_action, has_outcome, has_name;
	float total;                      /* weight of the terms that count */
	long whole;                       /* "3 of 3", "all 3": how many there are; 0: not said */
	int http_low, http_high;          /* the item speaks of a status class; 0: no */
	struct ls_judge_item *other;      /* the second part of an order, or NULL */
	bool after;                       /* the first part comes after it */
	ls_str name;                      /* the whole description, which may be a name */
	struct ls_judge_item *members[2]; /* an absence and a statement, each its own item */
	struct ls_judge_item *without;    /* a condition of absence beside the main clause */
	struct ls_judge_item *next;       /* of all items and their parts */
} ls_judge_item;

/* ---- context of one call ---- */

typedef struct ls_judge_list
{
	uint32_t *rows; /* with flags; see judge_index.c */
	bool held;      /* some row holds the word outside of a client's text */
	uint32_t n, capacity;
	uint32_t items; /* that have the word among their terms; counted up to 2 */
	uint32_t last;  /* number of the last one of them, from 1 on */
} ls_judge_list;

/* What the criteria define. */
typedef struct ls_judge_defs
{
	bool warning_fails;
	bool inverted;             /* an item passes when what it names is refused */
	bool limit_fails;          /* beyond it fails; else within it passes */
	ls_finding_status skipped; /* what skipped counts as, 0: skipped */
	ls_judge_item *limit;      /* a threshold for all items, or NULL */
} ls_judge_defs;

typedef struct ls_judge_ctx
{
	ls_arena *arena;
	const ls_str *rows;
	size_t n_rows;
	ls_judge_words words;
	ls_judge_memo *memo;
	uint16_t particle;    /* the entry of a word without meaning */
	ls_judge_item *items; /* all, with their parts */
	ls_judge_row *cache;  /* for each row; atoms NULL when they are not kept */
	size_t kept_atoms;
	ls_judge_row spare; /* a row that is not kept, until the next is asked for */
	uint32_t spare_row;
	ls_judge_cue spare_cues[LS_JUDGE_ROW_CUES];
	ls_judge_atom atoms[LS_JUDGE_ROW_ATOMS];
	size_t items_left;
	size_t match_cost;  /* of comparing an average row with an item of a few words */
	size_t effort;      /* how many times as much the present item costs */
	size_t row_cost;    /* of all that an item may do with it; see ls_judge_room */
	size_t numbers;     /* in all rows */
	size_t value_cost;  /* of looking for a value in an average row */
	bool values;        /* the present item does */
	size_t work;        /* what looking closely may still cost */
	size_t spent;       /* what it has cost, also beyond that */
	size_t item_begin;  /* spent when the present item began */
	uint16_t *http;     /* status code of each row, as far as surveyed */
	uint32_t surveyed;  /* rows of http that are known */
	int64_t first_fail; /* first row with a sign of failure, -1: none */
	/* index: wanted stems and concepts, with the rows that hold them */
	uint64_t *vocab_hash;
	int32_t *vocab_list;
	uint32_t vocab_size;
	int32_t concept_list[LS_CONCEPT_COUNT];
	ls_judge_list *lists;
	int32_t n_lists;
	size_t postings;
	float *score;
	uint32_t *candidates;
	bool report;                          /* rows are a report with check marks (Mocha, Jest) */
	uint64_t context[LS_JUDGE_ROW_ATOMS]; /* stems of the criteria's words */
	int n_context;
	ls_judge_defs defs;
} ls_judge_ctx;

/* Is atom `i` in the set of words?  No, where there is no such atom. */
static inline bool
ls_judge_in(const ls_judge_ctx *ctx, const ls_judge_text *t, int i, ls_judge_set set)
{
	return i >= 0 && i < t->n && (ctx->words.masks[t->atoms[i].sets] >> set & 1) != 0;
}

/* The entry of the word list for atom `i`; that of no word, where there is no such atom. */
static inline const ls_judge_word *
ls_judge_word_of(const ls_judge_ctx *ctx, const ls_judge_text *t, int i)
{
	return &ctx->words.table[i >= 0 && i < t->n ? t->atoms[i].word : 0];
}

/* The first atoms of a text with their words; returns how many. */
extern int ls_judge_text_scan(const ls_judge_ctx *ctx, ls_str text, ls_judge_atom *atoms,
							  int max_atoms);
/* Finds the cues of a row whose atoms are known; cues has room for LS_JUDGE_ROW_CUES. */
extern void ls_judge_row_analyse(ls_judge_ctx *ctx, ls_judge_row *row);
extern const ls_judge_row *ls_judge_row_get(ls_judge_ctx *ctx, uint32_t row);
/* The HTTP status code that a row tells, also in plain words; 0: none. */
extern int ls_judge_row_status(const ls_judge_ctx *ctx, const ls_judge_row *row);
/* Does it tell a failure? */
extern bool ls_judge_row_fails(const ls_judge_row *row);
/* A whole number that stands alone, not dotted; -1 when atom `i` is none. */
extern long ls_judge_plain_number(const ls_judge_text *t, int i);
/* Where text that instructs its reader begins; the text's length: nowhere. */
extern size_t ls_judge_hostile_begin(const ls_judge_ctx *ctx, const ls_judge_text *text);
/* judge_client.c: gives the atoms of a row their level of ls_judge_client. */
extern void ls_judge_client_mark(const ls_judge_ctx *ctx, ls_judge_text *text);
/* Takes advice out of a row and marks what it only announces. */
extern void ls_judge_advice_mark(const ls_judge_ctx *ctx, ls_judge_row *row);

/*
 * Collects the words of the items; then reads the rows, each once and in order.  After that,
 * candidates are in ctx->candidates, at most `limit`, in row order.
 */
extern bool ls_judge_index_begin(ls_judge_ctx *ctx);
extern void ls_judge_index_row(ls_judge_ctx *ctx, uint32_t row);
extern size_t ls_judge_index_candidates(ls_judge_ctx *ctx, const ls_judge_item *item, size_t limit);

/* Looks for a word in the filter: false when the row does not hold it. */
static inline bool
ls_judge_row_may_hold(const ls_judge_row *row, uint64_t hash)
{
	return (row->filter[hash >> 62] >> (hash >> 56 & 63)) & 1;
}

static inline uint64_t
ls_judge_concept_hash(int concept)
{
	return (uint64_t) (concept + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Understands a description; NULL when out of memory. */
extern ls_judge_item *ls_judge_item_parse(ls_judge_ctx *ctx, ls_str description);

typedef struct ls_judge_match
{
	float relevance; /* 0..1: how much of the item the row names */
	bool idents;     /* every identifier matched */
	bool report;     /* a test report's verdict: ok, PASS, a check mark */
	bool action;     /* an action of the item, in an arrived form */
	bool action_any; /* ... in any form */
	bool forbidden;  /* a forbidden term, affirmed */
	bool denied;     /* a forbidden term, denied: "no leaks" */
	bool fraction;   /* "2/3": a part of the item's whole */
	bool chosen;     /* only text that a client may have chosen names the item */
	ls_judge_class class;
	uint8_t strength;
} ls_judge_match;

/* One item against one row, while it is matched. */
typedef struct ls_judge_matching
{
	const ls_judge_ctx *ctx;
	const ls_judge_item *item;
	const ls_judge_row *row;
	uint8_t masked[LS_JUDGE_ROW_ATOMS]; /* atoms that are the item's own words */
	uint8_t clauses[64];                /* clauses that hold a matched word */
	float sum, own; /* weight of the item's words; of it, what no client chose */
	bool hit[LS_ITEM_IDENTS], exact[LS_ITEM_IDENTS], program[LS_ITEM_IDENTS];
	bool inexact;           /* of a noun with a number only the number is there */
	bool mailbox;           /* a mailbox is named */
	bool negative_hit;      /* the bad outcome that the item names is there */
	bool reversed;          /* undone later, which is no failure of the event */
	bool near_action;       /* the action stands in the subject's clause */
	bool mismatch;          /* a field has another value than the item's */
	bool opposed;           /* the contrary of its action */
	bool denied;            /* a noun of the item is: "no result" */
	bool exact_action;      /* the action in the item's own word */
	bool exact_action_past; /* ... in its past form */
	bool held;              /* a word of the item's subject stands in the row, no identifier */
	bool topic, place;      /* one that other rows hold is missing; an object: "to production" */
	bool free, chosen;      /* a word of the item stands in free text, in any text of a client */
} ls_judge_matching;

/* judge_outcome.c: what the row says; a count of parts; what leaves the item open. */
extern void ls_judge_classify(ls_judge_matching *m, ls_judge_match *out);
extern void ls_judge_weigh_fraction(const ls_judge_item *item, const ls_judge_row *row,
									ls_judge_match *out);
extern bool ls_judge_doubtful(const ls_judge_matching *m, const ls_judge_match *out);

extern void ls_judge_match_row(const ls_judge_ctx *ctx, const ls_judge_item *item,
							   const ls_judge_row *row, ls_judge_match *match);

/* Is atom `i` negated or zero ("no errors", "errors=0", "throttled=false")? */
extern bool ls_judge_row_negated(const ls_judge_ctx *ctx, const ls_judge_text *text, int i);

/* Value of a number atom with its unit; false when it is none or of no use. */
extern bool ls_judge_number_value(const ls_judge_text *text, int i, double *value,
								  ls_judge_dim *dim);
extern bool ls_judge_number_unit(ls_str word, double *factor, ls_judge_dim *dim);
extern bool ls_judge_number_holds(const ls_judge_cond *cond, double value);
/* The value in the row that the item's condition is about. */
extern bool ls_judge_number_find(const ls_judge_ctx *ctx, const ls_judge_item *item,
								 const ls_judge_row *row, double *value);
/* How many atoms a fraction has that begins at atom `i`: 2/3, 2 of 3, 2 out of 3; 0: none begins. */
extern int ls_judge_number_fraction(const ls_judge_text *text, int i, long *part, long *whole);
/* Clock time at the row's beginning, in seconds of the day or of an epoch. */
extern bool ls_judge_row_clock(const ls_judge_row *row, double *seconds);

/* ---- decisions ---- */

#define LS_RELEVANT 0.55f /* how much of an item a row must name */

typedef struct ls_judge_hit
{
	uint32_t row;
	ls_judge_match m;
} ls_judge_hit;

typedef struct ls_judge_hits
{
	ls_judge_hit *list;
	size_t n;
	float best;
	bool chosen; /* in some row only text that a client may have chosen names the item */
} ls_judge_hits;

typedef struct ls_judge_decision
{
	ls_finding_status status;
	uint32_t row;
	bool has_row;
	double confidence;
	const char *why;
	ls_str note; /* a measured value */
} ls_judge_decision;

extern ls_judge_decision ls_judge_decide(ls_finding_status status, const char *why,
										 double confidence);
extern ls_judge_decision ls_judge_decide_row(ls_finding_status status, uint32_t row,
											 const char *why, double confidence);
/* What a row of this class, which must not be NONE, decides. */
extern ls_judge_decision ls_judge_decide_class(ls_judge_class class, uint32_t row,
											   double confidence);
/* How well a row names the item, and how plainly it tells an outcome. */
extern float ls_judge_score(const ls_judge_hit *hit);

/* How many rows may be looked at for the item at hand; one look is paid with ls_judge_spend. */
extern size_t ls_judge_room(const ls_judge_ctx *ctx, size_t limit);

/* Takes work from what is left. */
static inline void
ls_judge_spend(ls_judge_ctx *ctx, size_t cost)
{
	ctx->spent += cost;
	ctx->work -= ctx->work < cost ? ctx->work : cost;
}

/*
 * Rows that match the item, in order.  Memory that is short, here and below, is told by the arena
 * (ls_arena_failed); the decision is then of no use.
 */
extern ls_judge_hits ls_judge_collect(ls_judge_ctx *ctx, const ls_judge_item *item, size_t limit,
									  float threshold);
extern ls_judge_decision ls_judge_decide_plain(const ls_judge_item *item,
											   const ls_judge_hits *rows);
extern ls_judge_decision ls_judge_decide_absence(ls_judge_ctx *ctx, const ls_judge_item *item,
												 const ls_judge_hits *rows);
/* Looks at rows up to `end` for what conditions on the whole log ask; does the item ask that? */
extern void ls_judge_survey(ls_judge_ctx *ctx, size_t end);
extern bool ls_judge_item_surveys(const ls_judge_item *item);
extern ls_judge_decision ls_judge_decide_threshold(ls_judge_ctx *ctx, const ls_judge_item *item,
												   const ls_judge_hits *rows);
/* Reads what a sentence of the criteria defines; applies that to a decision. */
extern void ls_judge_criteria_read(ls_judge_ctx *ctx, ls_str sentence);
extern void ls_judge_criteria_apply(ls_judge_ctx *ctx, const ls_judge_item *item,
									const ls_judge_hits *rows, ls_judge_decision *d);
extern ls_judge_decision ls_judge_decide_item(ls_judge_ctx *ctx, const ls_judge_item *item);

/* Gives the words of an item their final weight, now that the rows' words are known. */
extern void ls_judge_item_reweigh(ls_judge_ctx *ctx, ls_judge_item *item);

/* Before that: which words several items of the request have. */
extern void ls_judge_items_count_words(ls_judge_ctx *ctx, ls_judge_item **items, size_t n_items);

#endif /* LS_JUDGE_INTERNAL_H */
