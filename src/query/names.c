/*-------------------------------------------------------------------------
 *
 * names.c
 *	  Names of the aggregates, and of the options of each stage (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"

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
