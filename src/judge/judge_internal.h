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
#define LS_JRULES(R)                                                     \
	R(ADVICE, "advice and announcements are no evidence")                \
	R(HOSTILE, "text that instructs the reader is no evidence")          \
	R(CLIENT, "text that a client chose is no evidence")                 \
	R(FREE, "free text of any origin is no evidence of a success")       \
	R(NAME, "the verdict beside a test's whole name")                    \
	R(EVERY, "another value of the same field fails an item with every") \
	R(LIST, "a list of names is an item for each")                       \
	R(CRITERIA, "definitions of the criteria")                           \
	R(START, "a start that is announced by name and reported without")   \
	R(THREAD, "a later row of the same request or command")              \
	R(PARTIAL, "identifiers in different rows")                          \
	R(FRACTION, "counts of parts: 2/3")                                  \
	R(STATUS, "status codes in plain words")                             \
	R(JUNIT, "JUnit's test cases")                                       \
	R(SUMMARY, "summaries of Maven")                                     \
	R(EXPECTATION, "a number beside the one that was expected")          \
	R(REPORT, "reports with check marks")                                \
	R(EXIT, "exit codes")                                                \
	R(KEY_DENIES, "a key of the item that says no")                      \
	R(OTHER_VALUE, "another value of the field of the item's verb")      \
	R(FORBIDDEN, "an absence that a row without the subject decides")    \
	R(TROUBLED, "an absence is open where rows about it fail")           \
	R(YET, "what is queued, scheduled, started has not come yet")        \
	R(PLACE, "another place or object than the item's")                  \
	R(SURE, "a weak hint must name most of the item")

typedef enum ls_jrule
{
#define R(id, text) LS_JRULE_##id,
	LS_JRULES(R)
#undef R
		LS_JRULE_COUNT
} ls_jrule;

#ifdef LS_JUDGE_ABLATION
extern int ls_jrule_off;
#define LS_JRULE(id) (ls_jrule_off != LS_JRULE_##id)
#else
#define LS_JRULE(id) true
#endif

/* ---- atoms ---- */

typedef enum ls_jsep /* what stands before an atom */
{
	LS_JSEP_START,
	LS_JSEP_NONE,  /* camelCase, number and unit */
	LS_JSEP_TIGHT, /* one - or _ */
	LS_JSEP_DOT,
	LS_JSEP_SLASH,
	LS_JSEP_COLON,
	LS_JSEP_AT, /* other single signs inside a word: @ # + ~ */
	LS_JSEP_SPACE,
	LS_JSEP_EQUAL, /* = or a JSON colon: key before, value behind */
	LS_JSEP_COMMA, /* , ; | ( and sentence ends: a new clause */
	LS_JSEP_OTHER
} ls_jsep;

typedef enum ls_jkind
{
	LS_JKIND_WORD,
	LS_JKIND_NUMBER, /* digits, also dotted (1.5, 10.0.0.1) */
	LS_JKIND_MIXED,  /* letters and digits: app10, 9a1 */
	LS_JKIND_SYMBOL  /* a check mark, a slash that stands alone */
} ls_jkind;

#define LS_JATOM_UPPER 0x01   /* ALL CAPS, two letters or more */
#define LS_JATOM_CAPITAL 0x02 /* begins with a capital */
#define LS_JATOM_ING 0x04     /* ends in -ing */
#define LS_JATOM_ED 0x08      /* ends in -ed */
#define LS_JATOM_S 0x10       /* ends in -s */
#define LS_JATOM_TIME 0x20    /* part of a date or of a clock time */
#define LS_JATOM_PAREN 0x40   /* an opening bracket stands before it */
#define LS_JATOM_EMPTY 0x80   /* an empty value ("") follows */

/*
 * Text that a client chose or may have chosen.  None of it tells a success or an action.  A row
 * is about an item only by what is not the client's, with the exceptions named here.
 */
typedef enum ls_jclient
{
	LS_JCLIENT_NONE,
	LS_JCLIENT_QUOTE, /* quoted in prose, or a name: names an item like other text */
	LS_JCLIENT_PATH,  /* of a request: names an item that speaks of requests */
	LS_JCLIENT_USER,  /* who: names an item of which the row names more */
	LS_JCLIENT_FREE,  /* free text of any origin: shows failures, names nothing by itself */
	LS_JCLIENT_TEXT   /* only shows what must be absent */
} ls_jclient;

typedef struct ls_jatom
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
	uint8_t client; /* ls_jclient */
} ls_jatom;

struct ls_jwords;

/* Words that were met before, by their bytes: logs repeat theirs. */
#define LS_JMEMO 1024
typedef struct ls_jmemo
{
	uint64_t head, tail; /* the first and the last bytes */
	uint64_t stem;
	uint16_t word;
	uint8_t len, flags; /* len 0: empty */
} ls_jmemo;

typedef struct ls_jscan
{
	ls_str text;
	const struct ls_jwords *words;
	ls_jmemo *memo;
	size_t pos;
	ls_jatom queue[8]; /* atoms of a run that was split */
	int queued, taken;
} ls_jscan;

extern bool ls_jscan_next(ls_jscan *scan, ls_jatom *atom);

/* Gives `a` the hash of itself with the short word `b` behind it. */
extern void ls_jatom_join(ls_str text, ls_jatom *a, const ls_jatom *b);

/* Hash of a lower-case word's stem, as atoms carry it. */
extern uint64_t ls_jstem(const char *word, size_t len);

typedef struct ls_jtext
{
	ls_str text;
	ls_jatom *atoms;
	int n;
} ls_jtext;

/* ---- words ---- */

typedef enum ls_jconcept
{
	LS_JC_NONE,
	LS_JC_RESULT,
	LS_JC_COMPLETE,
	LS_JC_START,
	LS_JC_STOP,
	LS_JC_HEALTHY,
	LS_JC_UNHEALTHY,
	LS_JC_CONNECT,
	LS_JC_DISCONNECT,
	LS_JC_LOGIN,
	LS_JC_LOGOUT,
	LS_JC_ALLOW,
	LS_JC_DENY,
	LS_JC_DEPLOY,
	LS_JC_UPDATE,
	LS_JC_INSTALL,
	LS_JC_CREATE,
	LS_JC_DELETE,
	LS_JC_APPLY,
	LS_JC_EXECUTE,
	LS_JC_BACKUP,
	LS_JC_RESTORE,
	LS_JC_SEND,
	LS_JC_PUBLISH,
	LS_JC_FETCH,
	LS_JC_SYNC,
	LS_JC_VERIFY,
	LS_JC_BUILD,
	LS_JC_LOAD,
	LS_JC_WRITE,
	LS_JC_ROLLBACK,
	LS_JC_RETRY,
	LS_JC_DETECT,
	LS_JC_TIMEOUT,
	LS_JC_CRASH,
	LS_JC_ERROR,
	LS_JC_WARNING,
	LS_JC_SKIP,
	LS_JC_OPEN,
	LS_JC_CLOSE,
	LS_JC_ENABLE,
	LS_JC_DISABLE,
	LS_JC_ACQUIRE,
	LS_JC_RELEASE,
	LS_JC_JOIN,
	LS_JC_LEAVE,
	LS_JC_VALID,
	LS_JC_INVALID,
	LS_JC_LATENCY,
	LS_JC_MEMORY,
	LS_JC_USAGE,
	LS_JC_CONFIG,
	LS_JC_RESTART,
	LS_JC_MOUNT,
	LS_JC_SCALE,
	LS_JC_LOSS,
	LS_JC_EXPIRE,
	LS_JC_PROMOTE,
	LS_JC_ACK,
	LS_JC_LOCK,
	LS_JC_UNLOCK,
	LS_JC_MAXIMUM,
	LS_JC_AVERAGE,
	LS_JC_ACCURACY,
	LS_JC_DATABASE,
	LS_JC_CERTIFICATE,
	LS_JC_TEMPERATURE,
	LS_JC_ENVIRONMENT,
	LS_JC_PRODUCTION,
	LS_JC_REPOSITORY,
	LS_JC_PASSWORD,
	LS_JC_DEPTH,
	LS_JC_MONDAY,
	LS_JC_TUESDAY,
	LS_JC_WEDNESDAY,
	LS_JC_THURSDAY,
	LS_JC_FRIDAY,
	LS_JC_SATURDAY,
	LS_JC_SUNDAY,
	LS_JC_FIRE,
	LS_JC_RESOLVE,
	LS_JC_READONLY,
	LS_JC_LEADER,
	LS_JC_REPLICA,
	LS_JC_COUNT
} ls_jconcept;

typedef enum ls_jpol
{
	LS_JP_NONE,
	LS_JP_POS, /* success by itself: passed, ok */
	LS_JP_NEG, /* failure by itself */
	LS_JP_SKIP,
	LS_JP_ACT,   /* an action: success when the item names it */
	LS_JP_STATE, /* like ACT, but its -ing form is an arrival too */
	LS_JP_PART,  /* an action that is only under way */
	LS_JP_STOP,  /* no meaning: articles, auxiliaries */
	LS_JP_WEAK,  /* common nouns of logs */
	LS_JP_NOT,   /* negators */
	LS_JP_ALL,
	LS_JP_ANY,
	LS_JP_KEY /* a field that holds an outcome */
} ls_jpol;

typedef struct ls_jword
{
	const char *text;
	uint8_t concept;
	uint8_t pol;
	uint8_t strength;
} ls_jword;

#define LS_JWORDS_HASH 4096

typedef struct ls_jwords
{
	const ls_jword *table;
	int n;
	uint64_t hash[LS_JWORDS_HASH];
	uint16_t index[LS_JWORDS_HASH];
} ls_jwords;

extern void ls_jwords_init(ls_jwords *words);
extern uint16_t ls_jwords_find(const ls_jwords *words, uint64_t stem);
extern ls_jconcept ls_jconcept_opposite(ls_jconcept c);
/* Do people name the one action by words of the other? */
extern bool ls_jconcept_related(ls_jconcept a, ls_jconcept b);

/* ---- rows ---- */

typedef enum ls_jclass
{
	LS_JCLASS_NONE,
	LS_JCLASS_PASS,
	LS_JCLASS_FAIL,
	LS_JCLASS_SKIP,
	LS_JCLASS_CLEAN /* an explicit "no errors" */
} ls_jclass;

#define LS_JCUE_LEVEL 0x01   /* only the log level says so */
#define LS_JCUE_COUNT 0x02   /* a counted summary: 3 failed */
#define LS_JCUE_VERDICT 0x04 /* a test report or an outcome field */
#define LS_JCUE_PAST 0x08    /* "after 5 failures" */
#define LS_JCUE_HTTP 0x10

typedef struct ls_jcue
{
	uint16_t atom;
	uint8_t class;
	uint8_t strength; /* 1 hint, 2 statement, 3 outcome field or report */
	uint8_t concept;
	uint8_t flags;
} ls_jcue;

#define LS_JROW_ATOMS 512
#define LS_JROW_CUES 24

typedef struct ls_jrow
{
	ls_jtext text;
	ls_jcue *cues;
	int n_cues;
	int http;    /* status code, 0: none */
	bool fields; /* JSON or key=value: clauses mean nothing */
	bool analysed;
	uint64_t filter[4]; /* which stems and concepts it may hold */
	bool command;       /* a command line: what shall be done */
	bool hostile;       /* holds text that instructs the reader: no evidence */
} ls_jrow;

/* ---- items ---- */

#define LS_JITEM_TERMS 48
#define LS_JITEM_IDENTS 12
#define LS_JITEM_WORDS 24
#define LS_JITEM_MEMBERS 6
#define LS_JIDENT_ATOMS 16

typedef enum ls_jrole
{
	LS_JROLE_SUBJECT,
	LS_JROLE_ACTION,
	LS_JROLE_OUTCOME
} ls_jrole;

typedef struct ls_jterm
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
	bool forbidden;                /* what must be absent */
	bool place;                    /* where it must be absent: "in the worker" */
	bool joins;                    /* the next term is the second half of `joined` */
	uint8_t related[4], n_related; /* concepts that may stand for its own */
	bool past;                     /* ends in -ed */
	bool object;                   /* stands behind a preposition or a common noun: "for search" */
	bool scope;                    /* says where a threshold holds: "on all partitions" */
	bool unheld;                   /* no row holds it in any form */
	bool noun;                     /* an action word that another verb of the item speaks about */
	bool verb;                     /* has a verb's ending */
	uint64_t key;                  /* the field whose value it is in some row, 0: none */
	int32_t stem_list, joined_list, concept_list; /* postings, -1: none */
} ls_jterm;

typedef struct ls_jident
{
	uint64_t atoms[LS_JIDENT_ATOMS];
	uint64_t whole; /* hash when written as one word */
	uint8_t n;
	bool pair; /* noun and number: the number alone may do */
	bool path;
	bool mailbox;   /* alice@example.org */
	uint16_t at;    /* where in the description */
	bool predicate; /* "every node runs 5.1": what is said of them, not which they are */
	bool dotted;    /* a host's or a domain's name */
	bool forbidden; /* it must be absent */
} ls_jident;

typedef enum ls_jop
{
	LS_JOP_NONE,
	LS_JOP_LT,
	LS_JOP_LE,
	LS_JOP_GT,
	LS_JOP_GE,
	LS_JOP_EQ
} ls_jop;

typedef enum ls_jdim
{
	LS_JDIM_NONE,
	LS_JDIM_TIME,
	LS_JDIM_BYTES,
	LS_JDIM_PERCENT,
	LS_JDIM_DEGREE
} ls_jdim;

typedef struct ls_jcond
{
	ls_jop op;
	double value; /* in seconds, bytes, percent */
	ls_jdim dim;
	bool count; /* a plain count of something */
} ls_jcond;

typedef enum ls_jorder
{
	LS_JORDER_NONE,
	LS_JORDER_BEFORE,
	LS_JORDER_AFTER
} ls_jorder;

typedef struct ls_jitem
{
	ls_jterm terms[LS_JITEM_TERMS];
	int n_terms;
	ls_jident idents[LS_JITEM_IDENTS];
	int n_idents;
	int n_required; /* identifiers that a row must hold */
	ls_jcond cond;
	bool absent;   /* the forbidden terms must not occur */
	bool errors;   /* ... and they mean errors in general */
	bool negative; /* the item names a bad outcome and expects it */
	bool wants_skip;
	bool all, any, at_end, first, presence;
	bool has_action, has_outcome, has_name;
	bool has_topic;          /* beside its identifiers, a name and an action that some rows hold */
	float total;             /* weight of the terms that count */
	uint32_t whole;          /* "3 of 3", "all 3": how many there are; 0: not said */
	bool request;            /* the item speaks of a request: its path names it */
	uint64_t method;         /* GET, POST ...: rows of another one are about something else */
	bool http_words;         /* "server error": only where rows have status codes */
	int http_low, http_high; /* the item speaks of a status class; 0: no */
	ls_jorder order;
	struct ls_jitem *other;         /* the second part of an order */
	uint64_t words[LS_JITEM_WORDS]; /* stems of the whole description; none when it is longer */
	int n_words;
	struct ls_jitem *members[LS_JITEM_MEMBERS]; /* of a list of names, each its own item */
	int n_members;
	struct ls_jitem *without; /* a condition of absence beside the main clause */
} ls_jitem;

/* ---- context of one call ---- */

/* A sorted list of phrases: where those of a letter are, and which letters come second. */
typedef struct ls_jphrases
{
	const char *const *list;
	uint8_t begin[32], end[32];
	uint32_t second[32];
} ls_jphrases;

typedef struct ls_jlist
{
	uint32_t *rows; /* with flags; see judge_index.c */
	bool held;      /* some row holds the word outside of a client's text */
	uint32_t n, capacity;
} ls_jlist;

/* What the criteria define. */
typedef struct ls_jdefs
{
	bool warning_fails;
	bool inverted;             /* an item passes when what it names is refused */
	bool limit_fails;          /* beyond it fails; else within it passes */
	ls_finding_status skipped; /* what skipped counts as, 0: skipped */
	ls_jitem *limit;           /* a threshold for all items, or NULL */
} ls_jdefs;

typedef struct ls_jctx
{
	ls_arena *arena;
	const ls_str *rows;
	size_t n_rows;
	ls_jwords words;
	ls_jphrases hostile;
	ls_jmemo *memo;
	uint16_t particle; /* the entry of a word without meaning */
	ls_jrow *cache;    /* for each row; atoms NULL when they are not kept */
	size_t kept_atoms;
	ls_jrow spare; /* a row that is not kept, until the next is asked for */
	uint32_t spare_row;
	ls_jatom atoms[LS_JROW_ATOMS];
	size_t items_left;
	size_t match_cost;  /* of comparing an average row with an item of a few words */
	size_t effort;      /* how many times as much the present item costs */
	size_t row_cost;    /* of all that an item may do with it; see ls_jroom */
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
	int32_t concept_list[LS_JC_COUNT];
	ls_jlist *lists;
	int32_t n_lists;
	size_t postings;
	float *score;
	uint32_t *candidates;
	bool report;       /* rows are a report with check marks (Mocha, Jest) */
	uint64_t *context; /* stems of the criteria's words */
	int n_context;
	ls_jdefs defs;
} ls_jctx;

/* The first atoms of a text with their words; returns how many. */
extern int ls_jtext_scan(const ls_jctx *ctx, ls_str text, ls_jatom *atoms, int max_atoms);
/* Finds the cues of a row whose atoms are known; cues has room for LS_JROW_CUES. */
extern void ls_jrow_analyse(ls_jctx *ctx, ls_jrow *row);
extern const ls_jrow *ls_jrow_get(ls_jctx *ctx, uint32_t row);
/* The HTTP status code that a row tells, also in plain words; 0: none. */
extern int ls_jrow_status(const ls_jrow *row);
extern void ls_jhostile_init(ls_jphrases *phrases);
extern bool ls_jrow_hostile(const ls_jphrases *commands, ls_str text, size_t *start, size_t *end,
							bool *quoted);
/* judge_client.c: gives the atoms of a row their level of ls_jclient. */
extern void ls_jclient_mark(const ls_jctx *ctx, ls_jtext *text);
/* judge_free.c: where a text begins in s[from, to); `to`: nowhere. */
extern size_t ls_jfind(const char *s, size_t from, size_t to, const char *what);
/* The last word of a key, "agent" of user_agent, cs(User-Agent), userAgent. */
extern ls_str ls_jkey_word(const char *s, size_t begin, size_t end);
/* Is it a key under which programs tell what happened: status, eventName, log.message? */
extern bool ls_jkey_tells(const char *s, size_t begin, size_t end);
/*
 * The level of a value of another key.  `beside`: the row tells an event or a message of its own, so
 * that its outcome is not that of what the value names.
 */
extern ls_jclient ls_jvalue_level(const ls_jctx *ctx, const ls_jtext *text, size_t from, size_t to,
								  bool beside);
/* Marks free text in prose. */
extern void ls_jfree_mark(const ls_jctx *ctx, ls_jtext *text, size_t from, size_t to);
/* The first atom that ends after `at`; raises the level of those in [from, to). */
extern int ls_jatom_at(const ls_jtext *text, size_t at);
extern void ls_jclient_set(ls_jtext *text, size_t from, size_t to, ls_jclient level);
/* Takes advice out of a row and marks what it only announces. */
extern void ls_jadvice_mark(const ls_jctx *ctx, ls_jrow *row);

/*
 * Collects the words of the items; then reads the rows, each once and in order.  After that,
 * candidates are in ctx->candidates, at most `limit`, in row order.
 */
extern bool ls_jindex_begin(ls_jctx *ctx, ls_jitem **items, size_t n_items);
extern bool ls_jindex_row(ls_jctx *ctx, uint32_t row);
/* Does any row hold this word of an item? */
extern bool ls_jindex_holds(const ls_jctx *ctx, uint64_t stem);
/* Does an identifier that the item requires stand in no row at all? */
extern bool ls_jindex_lacks(const ls_jctx *ctx, const ls_jitem *item);
extern size_t ls_jindex_candidates(ls_jctx *ctx, const ls_jitem *item, size_t limit);

/* Looks for a word in the filter: false when the row does not hold it. */
static inline bool
ls_jrow_may_hold(const ls_jrow *row, uint64_t hash)
{
	return (row->filter[hash >> 62] >> (hash >> 56 & 63)) & 1;
}

static inline uint64_t
ls_jconcept_hash(int concept)
{
	return (uint64_t) (concept + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Understands a description; NULL when out of memory. */
extern ls_jitem *ls_jitem_parse(ls_jctx *ctx, ls_str description);

typedef struct ls_jmatch
{
	float relevance; /* 0..1: how much of the item the row names */
	bool idents;     /* every identifier matched */
	bool exact_pair;
	bool names;      /* every identifier that is no number matched */
	bool some_ident; /* at least one identifier matched */
	bool named;      /* a name of the item matched */
	bool report;     /* a test report's verdict: ok, PASS, a check mark */
	bool tight;      /* a word matched only as a part of a longer name */
	bool action;     /* an action of the item, in an arrived form */
	bool action_any; /* ... in any form */
	bool forbidden;  /* a forbidden term, affirmed */
	bool denied;     /* a forbidden term, denied: "no leaks" */
	bool fraction;   /* "2/3": a part of the item's whole */
	bool chosen;     /* only text that a client may have chosen names the item */
	ls_jclass class;
	uint8_t strength;
	uint16_t anchor; /* an atom that matched */
} ls_jmatch;

/* One item against one row, while it is matched. */
typedef struct ls_jmatching
{
	const ls_jctx *ctx;
	const ls_jitem *item;
	const ls_jrow *row;
	uint8_t masked[LS_JROW_ATOMS]; /* atoms that are the item's own words */
	uint8_t clauses[64];           /* clauses that hold a matched word */
	bool negative_hit;             /* the bad outcome that the item names is there */
	bool reversed;                 /* undone later, which is no failure of the event */
	bool near, key;                /* of the action at hand: see locate_action */
	bool near_action;              /* the action stands in the subject's clause */
	bool mismatch;                 /* a field has another value than the item's */
	bool opposed;                  /* the contrary of its action */
	bool denied;                   /* a noun of the item is: "no result" */
	bool exact_action;
	bool exact_action_past; /* ... in its past form */
	bool held;              /* a word of the item's subject stands in the row, no identifier */
	bool keyed;             /* the item's words end in a key that has a value */
	bool named;             /* a name of the item stands in the row */
	bool free, chosen;      /* a word of the item stands in free text, in any text of a client */
	uint16_t action_clause;
	int opposed_atom;
} ls_jmatching;

/* Does a name of the item stand in the key of value `i`, or in the key that it is? */
extern bool ls_jkeyed(const ls_jmatching *m, int i);
/* judge_outcome.c: what the row says; a count of parts; what leaves the item open. */
extern void ls_jclassify(ls_jmatching *m, ls_jmatch *out);
extern void ls_jweigh_fraction(const ls_jitem *item, const ls_jrow *row, ls_jmatch *out);
extern bool ls_jdoubtful(const ls_jmatching *m, const ls_jmatch *out, bool place, bool topic);

extern void ls_jmatch_row(const ls_jctx *ctx, const ls_jitem *item, const ls_jrow *row,
						  ls_jmatch *match);

/* Does the row hold the identifier? */
extern bool ls_jmatch_ident(const ls_jctx *ctx, const ls_jident *id, const ls_jrow *row);

/* Is atom `i` negated or zero ("no errors", "errors=0", "throttled=false")? */
extern bool ls_jrow_negated(const ls_jctx *ctx, const ls_jtext *text, int i);

/* Value of a number atom with its unit; false when it is none or of no use. */
extern bool ls_jnumber_value(const ls_jtext *text, int i, double *value, ls_jdim *dim);
extern bool ls_jnumber_unit(ls_str word, double *factor, ls_jdim *dim);
extern bool ls_jnumber_holds(const ls_jcond *cond, double value);
/* The value in the row that the item's condition is about. */
extern bool ls_jnumber_find(const ls_jctx *ctx, const ls_jitem *item, const ls_jrow *row,
							double *value);
/*
 * The next fraction in the text from *at on: 2/3, 2 of 3, 2 out of 3.  Dates, paths and versions
 * are none.  It begins at *from; *at moves behind it.
 */
extern bool ls_jnumber_fraction(ls_str text, size_t *at, size_t *from, uint32_t *part,
								uint32_t *whole);
/* Clock time at the row's beginning, in seconds of the day or of an epoch. */
extern bool ls_jrow_clock(const ls_jrow *row, double *seconds);

/* ---- decisions ---- */

#define LS_JRELEVANT 0.55f /* how much of an item a row must name */

typedef struct ls_jhit
{
	uint32_t row;
	ls_jmatch m;
} ls_jhit;

typedef struct ls_jhits
{
	ls_jhit *list;
	size_t n;
	float best;
	bool chosen; /* in some row only text that a client may have chosen names the item */
} ls_jhits;

typedef struct ls_jdecision
{
	ls_finding_status status;
	uint32_t row;
	bool has_row;
	double confidence;
	const char *why;
	float relevance; /* of the row */
	ls_str note;     /* a measured value */
} ls_jdecision;

extern ls_jdecision ls_jdecide(ls_finding_status status, const char *why, double confidence);
extern ls_jdecision ls_jdecide_row(ls_finding_status status, uint32_t row, const char *why,
								   double confidence);
extern const char *ls_jwhy(ls_finding_status status);

/* How many rows may be looked at for the item at hand; one look is paid with ls_jspend. */
extern size_t ls_jroom(const ls_jctx *ctx, size_t limit);
extern void ls_jspend(ls_jctx *ctx, size_t cost);

/* Rows that match the item, in order.  False when out of memory, here and below. */
extern bool ls_jcollect(ls_jctx *ctx, const ls_jitem *item, size_t limit, float threshold,
						ls_jhits *out);
extern ls_jdecision ls_jdecide_plain(const ls_jitem *item, const ls_jhits *rows);
extern bool ls_jdecide_absence(ls_jctx *ctx, const ls_jitem *item, const ls_jhits *rows,
							   ls_jdecision *d);
/* Looks at rows up to `end` for what conditions on the whole log ask; does the item ask that? */
extern bool ls_jsurvey(ls_jctx *ctx, size_t end);
extern bool ls_jitem_surveys(const ls_jitem *item);
extern ls_jdecision ls_jdecide_threshold(ls_jctx *ctx, const ls_jitem *item, const ls_jhits *rows);
/* Reads the definitions of the criteria; applies them to a decision. */
extern void ls_jcriteria_read(ls_jctx *ctx, ls_str criteria);
extern bool ls_jcriteria_apply(ls_jctx *ctx, const ls_jitem *item, const ls_jhits *rows,
							   ls_jdecision *d);
/* judge_list.c: names of tests, lists of names, "every" with a value. */
extern bool ls_jdecide_name(ls_jctx *ctx, const ls_jitem *item, ls_jdecision *d, bool *decided);
extern bool ls_jdecide_list(ls_jctx *ctx, const ls_jitem *item, ls_jdecision *d);
extern bool ls_jdecide_every(ls_jctx *ctx, const ls_jitem *item, ls_jdecision *d);
/* An item that asks for a start: the row behind its announcement that tells how it ended. */
extern bool ls_jdecide_start(ls_jctx *ctx, const ls_jitem *item, const ls_jhits *rows,
							 ls_jdecision *d);
extern bool ls_jdecide_item(ls_jctx *ctx, const ls_jitem *item, ls_jdecision *d);

/* Gives the words of an item their final weight, now that the rows' words are known. */
extern void ls_jitem_reweigh(ls_jctx *ctx, ls_jitem **items, size_t n_items, ls_jitem *item);

#endif /* LS_JUDGE_INTERNAL_H */
