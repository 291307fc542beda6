/*-------------------------------------------------------------------------
 *
 * names.c
 *	  Names of operators, stages, aggregates and of the options of stages (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"
#include "src/query/parser.h"

/* ---- operators ---- */

/* In the order of operator_tokens. */
static const ls_str operator_names[] = {
	LS_STR("AND"), LS_STR("OR"), LS_STR("NOT"), LS_STR("IN"), LS_STR("CONTAINS"), LS_STR("MATCHES"),
};

static const int operator_tokens[] = {
	TOK_AND, TOK_OR, TOK_NOT, TOK_IN, TOK_CONTAINS, TOK_MATCHES,
};

#define N_OPERATORS (sizeof(operator_names) / sizeof(operator_names[0]))

const ls_str *
ls_query_operator_names(uint32_t *n)
{
	*n = N_OPERATORS;
	return operator_names;
}

int
ls_query_find_operator(ls_str word)
{
	for (size_t i = 0; i < N_OPERATORS; i++)
		if (ls_str_eq(word, operator_names[i]))
			return operator_tokens[i];
	return 0;
}

/* ---- stages ---- */

/* In the order of ls_query_stage_kind. */
static const char *const stage_names[] = {
	"where",    "dedup",      "stats",  "timechart", "top",      "rare",  "sort", "head",
	"fields",   "rename",     "eval",   "rex",       "patterns", "table", "tail", "bin",
	"fillnull", "eventstats", "lookup", "json",      "logfmt",   "kv",
};

static const int stage_tokens[] = {
	TOK_WHERE,    TOK_DEDUP, TOK_STATS,  TOK_TIMECHART, TOK_TOP,      TOK_RARE,
	TOK_SORT,     TOK_HEAD,  TOK_FIELDS, TOK_RENAME,    TOK_EVAL,     TOK_REX,
	TOK_PATTERNS, TOK_TABLE, TOK_TAIL,   TOK_BIN,       TOK_FILLNULL, TOK_EVENTSTATS,
	TOK_LOOKUP,   TOK_JSON,  TOK_LOGFMT, TOK_KV,
};

/* Other names of stages. */
static const struct
{
	ls_str name;
	ls_query_stage_kind kind;
} stage_aliases[] = {
	{LS_STR("bucket"), LS_QUERY_BIN_STAGE},
	{LS_STR("spath"), LS_QUERY_JSON},
	{LS_STR("extract"), LS_QUERY_KV},
};

#define N_STAGES ((int) (sizeof(stage_tokens) / sizeof(stage_tokens[0])))

const char *
ls_query_stage_name(ls_query_stage_kind kind)
{
	return stage_names[kind];
}

int
ls_query_find_stage(ls_str word, int *token)
{
	for (int i = 0; i < N_STAGES; i++)
	{
		if (ls_str_eq(word, ls_str_make(stage_names[i], strlen(stage_names[i]))))
		{
			*token = stage_tokens[i];
			return i;
		}
	}
	for (size_t i = 0; i < sizeof(stage_aliases) / sizeof(stage_aliases[0]); i++)
	{
		if (ls_str_eq(word, stage_aliases[i].name))
		{
			*token = stage_tokens[stage_aliases[i].kind];
			return (int) stage_aliases[i].kind;
		}
	}
	return -1;
}

int
ls_query_stage_of_token(int token)
{
	for (int i = 0; i < N_STAGES; i++)
		if (token == stage_tokens[i])
			return i;
	return -1;
}

/* ---- aggregates ---- */

/* In the order of their kinds; the last one represents all percentiles. */
static const ls_str aggregate_names[] = {
	LS_STR("count"), LS_STR("dc"),    LS_STR("sum"),  LS_STR("avg"),    LS_STR("min"),
	LS_STR("max"),   LS_STR("first"), LS_STR("last"), LS_STR("values"), LS_STR("p95"),
};

const ls_str *
ls_query_aggregate_names(uint32_t *n)
{
	*n = sizeof(aggregate_names) / sizeof(aggregate_names[0]);
	return aggregate_names;
}

/* What others call the same. */
static const struct
{
	ls_str word;
	ls_query_aggregate_kind kind;
} aggregate_aliases[] = {
	{LS_STR("distinct_count"), LS_QUERY_DC}, {LS_STR("dcount"), LS_QUERY_DC},
	{LS_STR("estdc"), LS_QUERY_DC},          {LS_STR("mean"), LS_QUERY_AVG},
	{LS_STR("average"), LS_QUERY_AVG},
};

/*
 * The percentage of p95, perc95 or percentile95, with one or two digits; -1 for any
 * other name.
 */
static int
percentile(ls_str word)
{
	static const ls_str prefixes[] = {LS_STR("percentile"), LS_STR("perc"), LS_STR("p")};
	int percent = 0;
	size_t prefix = 0;

	while (word.len <= prefixes[prefix].len ||
		   memcmp(word.data, prefixes[prefix].data, prefixes[prefix].len) != 0)
	{
		if (++prefix == sizeof(prefixes) / sizeof(prefixes[0]))
			return -1;
	}
	word = ls_str_make(word.data + prefixes[prefix].len - 1, word.len - prefixes[prefix].len + 1);
	if (word.len > 3)
		return -1;
	for (size_t i = 1; i < word.len; i++)
	{
		if (word.data[i] < '0' || word.data[i] > '9')
			return -1;
		percent = percent * 10 + (word.data[i] - '0');
	}
	return percent;
}

int
ls_query_find_aggregate(ls_str word, int *percent)
{
	uint32_t n;
	const ls_str *names = ls_query_aggregate_names(&n);

	*percent = percentile(word);
	if (*percent >= 0)
		return LS_QUERY_PERCENTILE;
	*percent = 0;
	for (int i = LS_QUERY_COUNT; i < LS_QUERY_PERCENTILE; i++)
		if (ls_str_eq(word, names[i]))
			return i;
	for (size_t i = 0; i < sizeof(aggregate_aliases) / sizeof(aggregate_aliases[0]); i++)
		if (ls_str_eq(word, aggregate_aliases[i].word))
			return (int) aggregate_aliases[i].kind;
	return -1;
}

bool
ls_query_is_aggregate(ls_str name)
{
	int percent;

	return ls_query_find_aggregate(name, &percent) >= 0;
}

/* ---- options ---- */

static const ls_str dedup_options[] = {LS_STR("keepempty")};
static const ls_str timechart_options[] = {LS_STR("span"), LS_STR("limit")};
static const ls_str top_options[] = {LS_STR("limit")};
static const ls_str bin_options[] = {LS_STR("span")};
static const ls_str fillnull_options[] = {LS_STR("value")};
static const ls_str json_options[] = {LS_STR("field"), LS_STR("input"), LS_STR("path"),
									  LS_STR("output")};
static const ls_str logfmt_options[] = {LS_STR("field")};
static const ls_str kv_options[] = {LS_STR("field"), LS_STR("pairdelim"), LS_STR("kvdelim")};
static const ls_str rex_options[] = {LS_STR("field")};
static const ls_str patterns_options[] = {
	LS_STR("max"), LS_STR("samples"), LS_STR("sim"), LS_STR("rare"), LS_STR("mode"),
};

const ls_str *
ls_query_option_names(ls_query_stage_kind kind, uint32_t *n)
{
	switch (kind)
	{
		case LS_QUERY_DEDUP:
			*n = 1;
			return dedup_options;
		case LS_QUERY_TIMECHART:
			*n = 2;
			return timechart_options;
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
			*n = 1;
			return top_options;
		case LS_QUERY_BIN_STAGE:
			*n = 1;
			return bin_options;
		case LS_QUERY_FILLNULL:
			*n = 1;
			return fillnull_options;
		case LS_QUERY_JSON:
			*n = 4;
			return json_options;
		case LS_QUERY_LOGFMT:
			*n = 1;
			return logfmt_options;
		case LS_QUERY_KV:
			*n = 3;
			return kv_options;
		case LS_QUERY_REX:
			*n = 1;
			return rex_options;
		case LS_QUERY_PATTERNS:
			*n = 5;
			return patterns_options;
		case LS_QUERY_WHERE:
		case LS_QUERY_STATS:
		case LS_QUERY_SORT:
		case LS_QUERY_HEAD:
		case LS_QUERY_FIELDS:
		case LS_QUERY_RENAME:
		case LS_QUERY_EVAL:
		case LS_QUERY_TABLE:
		case LS_QUERY_TAIL:
		case LS_QUERY_EVENTSTATS:
		case LS_QUERY_LOOKUP:
			break;
	}
	*n = 0;
	return NULL;
}
