/*-------------------------------------------------------------------------
 *
 * other_names.c
 *	  What other languages have, and what to write for it here (pure).
 *
 * What this language leaves to SQL is named with the function or view that does it.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"

#define ROWS "FROM logsvc.events('...')"
#define RUNNING                                                                             \
	"values of the rows before are window functions of SQL: SELECT sum(...) OVER (ORDER BY" \
	" \"timestamp\") " ROWS
#define TOGETHER \
	"write both in one search, (a OR b), or in SQL: SELECT * " ROWS " UNION ALL SELECT * " ROWS
#define JOINED                                                            \
	"rows of a table are joined by lookup, others in SQL: SELECT * " ROWS \
	" a JOIN logsvc.events('...') b ON a.trace_id ="                      \
	" b.trace_id"
#define ONLY_SQL "is a function of SQL: SELECT ... " ROWS

typedef struct other_name
{
	ls_str word;
	const char *hint;
} other_name;

static const other_name stages[] = {
	{LS_STR("project"), "did you mean fields?"},
	{LS_STR("select"), "did you mean fields?"},
	{LS_STR("filter"), "did you mean where?"},
	{LS_STR("having"), "did you mean where?"},
	{LS_STR("search"), "did you mean where?"},
	{LS_STR("summarize"), "did you mean stats?"},
	{LS_STR("group"), "did you mean stats ... by?"},
	{LS_STR("count"), "did you mean stats count?"},
	{LS_STR("limit"), "did you mean head?"},
	{LS_STR("take"), "did you mean head?"},
	{LS_STR("order"), "did you mean sort?"},
	{LS_STR("extend"), "did you mean eval?"},
	{LS_STR("parse"), "did you mean rex?"},
	{LS_STR("uniq"), "did you mean dedup?"},
	{LS_STR("unique"), "did you mean dedup?"},
	{LS_STR("drop"), "write fields - a, b for all fields but these"},
	{LS_STR("remove"), "write fields - a, b for all fields but these"},
	{LS_STR("keep"), "did you mean fields?"},
	{LS_STR("columns"), "did you mean fields?"},
	{LS_STR("display"), "did you mean fields?"},
	{LS_STR("first"), "did you mean head?"},
	{LS_STR("grep"), "write where event CONTAINS \"...\""},
	{LS_STR("awk"), "write rex or kv for fields of the text, then table"},
	{LS_STR("wc"), "did you mean stats count?"},
	{LS_STR("let"), "did you mean eval?"},
	{LS_STR("fieldsummary"), "GET /api/v1/search/fields lists fields and their values"},
	{LS_STR("metadata"), "write stats count, max(timestamp) by host"},
	{LS_STR("metasearch"), "write stats count by source"},
	{LS_STR("eventcount"), "write stats count"},
	{LS_STR("timeslice"), "write timechart span=5m count"},
	{LS_STR("make"), "write timechart span=1h count"},
	{LS_STR("timewrap"), "write two searches, one with earliest=-2d@d latest=-1d@d"},
	{LS_STR("logreduce"), "did you mean patterns?"},
	{LS_STR("anomalies"), "did you mean rare, or patterns?"},
	{LS_STR("outlier"), "write eventstats avg(a) as mean, then where a > 3 * mean"},
	{LS_STR("mv"),
	 "elements become rows in SQL: " ROWS " e, jsonb_array_elements(e.attributes -> 'list')"},
	{LS_STR("savedsearch"),
	 "saved queries are run in the console, or read by GET /api/v1/saved-queries"},
	{LS_STR("loadjob"),
	 "saved queries are run in the console, or read by GET /api/v1/saved-queries"},
	{LS_STR("if"), "write eval a = if(condition, 1, 0)"},
	{LS_STR("help"), "SELECT logsvc.help() in SQL lists topics; docs/language.md has the stages"},
	{LS_STR("save"), "queries are saved by POST /api/v1/saved-queries"},
	{LS_STR("export"), "rows as a file: GET /api/v1/search/export"},
	{LS_STR("distinct"), "did you mean dedup?"},
	{LS_STR("cluster"), "did you mean patterns?"},
	{LS_STR("reduce"), "did you mean patterns?"},
	{LS_STR("chart"), "write stats ... by a, b, or timechart for a chart over time"},
	{LS_STR("render"), "write timechart for a chart over time"},
	{LS_STR("xyseries"), "write stats ... by a, b: each row is a point"},
	{LS_STR("tstats"), "write stats: it reads only the columns that it names"},
	{LS_STR("regex"), "write where field MATCHES \"...\""},
	{LS_STR("replace"), "write eval a = replace(a, \"old\", \"new\")"},
	{LS_STR("convert"), "write eval with tonumber(), round() or strftime()"},
	{LS_STR("makemv"), "write eval a = split(a, \",\")"},
	{LS_STR("nomv"), "write eval a = mvjoin(a, \",\")"},
	{LS_STR("mvcombine"), "write stats values(a) by b"},
	{LS_STR("mvexpand"),
	 "elements become rows in SQL: " ROWS " e, jsonb_array_elements(e.attributes -> 'list')"},
	{LS_STR("rangemap"), "write eval range = case(a < 10, \"low\", true(), \"high\")"},
	{LS_STR("addtotals"), "write eval total = a + b, or eventstats sum(a) as total"},
	{LS_STR("addcoltotals"), "write eventstats sum(a) as total"},
	{LS_STR("reverse"), "write sort timestamp, or sort with the other direction"},
	{LS_STR("transaction"),
	 "write stats min(timestamp), max(timestamp), count, values(event) by id; pauses are found in"
	 " SQL: lag(\"timestamp\") OVER (PARTITION BY ... ORDER BY \"timestamp\") " ROWS},
	{LS_STR("streamstats"), RUNNING},
	{LS_STR("accum"), RUNNING},
	{LS_STR("delta"), RUNNING},
	{LS_STR("autoregress"), RUNNING},
	{LS_STR("trendline"), RUNNING},
	{LS_STR("join"), JOINED},
	{LS_STR("selfjoin"), JOINED},
	{LS_STR("append"), TOGETHER},
	{LS_STR("appendcols"), TOGETHER},
	{LS_STR("appendpipe"), TOGETHER},
	{LS_STR("multisearch"), TOGETHER},
	{LS_STR("union"), TOGETHER},
	{LS_STR("set"), "UNION, INTERSECT and EXCEPT are written in SQL, over SELECT ... " ROWS},
	{LS_STR("map"),
	 "a search for each row is a join in SQL: FROM my_rows r JOIN logsvc.logs l ON l.trace_id ="
	 " r.trace_id"},
	{LS_STR("inputlookup"), "GET /api/v1/lookups/NAME shows a table; in a search it is lookup"},
	{LS_STR("outputlookup"), "PUT /api/v1/lookups/NAME stores a table; in a search it is lookup"},
	{LS_STR("foreach"), "write eval for each field"},
	{LS_STR("makeresults"), "rows of constants are written in SQL: SELECT ... " ROWS},
	{LS_STR("collect"), "results are stored in SQL: INSERT INTO ... SELECT ... " ROWS},
	{LS_STR("outputcsv"),
	 "write the results to a file in psql: \\copy (SELECT ... " ROWS ") TO ..."},
	{LS_STR("delete"), "events are deleted by logsvc.delete_logs(...) in SQL, not by a search"},
	{LS_STR("predict"), "forecasts are made outside: timechart gives the series"},
	{LS_STR("geostats"), "places of addresses are joined in SQL: SELECT ... " ROWS},
	{LS_STR("iplocation"), "places of addresses are joined in SQL: SELECT ... " ROWS},
	{LS_STR("=="), "did you mean =?"},
	{LS_STR("<>"), "did you mean !=?"},
	{LS_STR("!"), "did you mean NOT?"},
	{LS_STR("&&"), "did you mean AND?"},
	{LS_STR("||"), "did you mean OR? Texts are joined by concat(a, b)"},
};

static const other_name functions[] = {
	{LS_STR("length"), "did you mean len?"},
	{LS_STR("strlen"), "did you mean len?"},
	{LS_STR("strcat"), "did you mean concat?"},
	{LS_STR("tolower"), "did you mean lower?"},
	{LS_STR("toupper"), "did you mean upper?"},
	{LS_STR("substring"), "did you mean substr?"},
	{LS_STR("ltrim"), "did you mean trim?"},
	{LS_STR("rtrim"), "did you mean trim?"},
	{LS_STR("iff"), "did you mean if?"},
	{LS_STR("iif"), "did you mean if?"},
	{LS_STR("ceiling"), "did you mean ceil?"},
	{LS_STR("toint"), "did you mean tonumber?"},
	{LS_STR("tolong"), "did you mean tonumber?"},
	{LS_STR("todouble"), "did you mean tonumber?"},
	{LS_STR("time"), "did you mean now?"},
	{LS_STR("ago"), "write now() - 3600 for an hour ago, or earliest=-1h in the head"},
	{LS_STR("relative_time"), "write now() - 3600 for an hour ago, or earliest=-1h in the head"},
	{LS_STR("isnum"), "write tonumber(a) != null"},
	{LS_STR("isint"), "write tonumber(a) = floor(a)"},
	{LS_STR("isempty"), "write isnull(a) OR a = \"\""},
	{LS_STR("isnotempty"), "write a != \"\""},
	{LS_STR("ifnull"), "did you mean coalesce?"},
	{LS_STR("nvl"), "did you mean coalesce?"},
	{LS_STR("ispresent"), "did you mean isnotnull?"},
	{LS_STR("exists"), "did you mean isnotnull?"},
	{LS_STR("isblank"), "write isnull(a) OR a = \"\""},
	{LS_STR("contains"), "write a CONTAINS \"...\""},
	{LS_STR("strcontains"), "write a CONTAINS \"...\""},
	{LS_STR("startswith"), "write like(a, \"...%\")"},
	{LS_STR("endswith"), "write like(a, \"%...\")"},
	{LS_STR("nullif"), "write if(a = b, null, a)"},
	{LS_STR("searchmatch"), "write event CONTAINS \"...\", or like(event, \"%...%\")"},
	{LS_STR("cidrmatch"), "write match(ip, \"^10[.]\"), or ip::inet << '10.0.0.0/8' in SQL"},
	{LS_STR("json_extract"), "write the stage spath path=a.b output=x"},
	{LS_STR("parse_json"), "write the stage json"},
	{LS_STR("printf"), "write concat() and round()"},
	{LS_STR("mvappend"), "write concat(a, \",\", b), and split() for a list"},
	{LS_STR("md5"), "md5 " ONLY_SQL},
	{LS_STR("sha1"), "a hash " ONLY_SQL},
	{LS_STR("sha256"), "sha256 " ONLY_SQL},
	{LS_STR("urldecode"), "urldecode " ONLY_SQL},
	{LS_STR("pow"), "power " ONLY_SQL},
	{LS_STR("sqrt"), "sqrt " ONLY_SQL},
	{LS_STR("log"), "log " ONLY_SQL},
	{LS_STR("ln"), "ln " ONLY_SQL},
	{LS_STR("exp"), "exp " ONLY_SQL},
	{LS_STR("eval"), "to count rows with a condition write sum(if(condition, 1, 0))"},
	{LS_STR("random"), "random " ONLY_SQL},
};

static const char *
find(const other_name *names, size_t n, ls_str word)
{
	for (size_t i = 0; i < n; i++)
	{
		if (ls_str_eq(word, names[i].word))
			return names[i].hint;
	}
	return NULL;
}

const char *
ls_query_other_stage(ls_str word)
{
	return find(stages, sizeof(stages) / sizeof(stages[0]), word);
}

const char *
ls_query_other_function(ls_str word)
{
	return find(functions, sizeof(functions) / sizeof(functions[0]), word);
}
