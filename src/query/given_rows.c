/*-------------------------------------------------------------------------
 *
 * given_rows.c
 *	  Rows that come with the search: it reads them instead of stored events.
 *
 * They become a part of the queue's format, by the decoder and the builder of ingest, so
 * that everything after that is the code that searches stored events.  Nothing is stored, and
 * no event of the organization is read.
 *
 * The rows are written as JSON text here and not by the server's function, because a number of
 * ten bytes of jsonb can have 130,000 digits.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "src/decode/decode.h"

/* For the text, the decoded events and the part. */
#define GIVEN_MEMORY ((size_t) 256 * 1024 * 1024)

/* Rows without a time are so old: before `now`, where a range often ends. */
#define DEFAULT_AGE 1000

/* The number of the batch in their ids. */
#define GIVEN_BATCH 1

#define MOST_DETAILS 20

typedef struct giving
{
	ls_search *search;
	ls_arena *arena;
	ls_buf json;
	ls_str indexes[LS_GIVEN_INDEXES];
	int n_indexes;
	ls_builder_sink builders;
} giving;

/* ---- the rows as text ---- */

static void
check_size(const ls_buf *json, size_t more)
{
	if (json->failed || json->len + more > LS_GIVEN_BYTES)
		ls_search_invalid("rows", "must not be larger than 10 MB");
}

/* A time such as -5m as an ISO time; any other text as it is. */
static ls_str
absolute_time(giving *g, ls_str text)
{
	ls_query_time parsed;
	ls_time time;
	char iso[LS_TIME_ISO_LENGTH + 1];
	int micros;

	if (text.len == 0 || strchr("+-nN", text.data[0]) == NULL ||
		!ls_query_time_parse(text, &parsed) ||
		!ls_query_time_resolve(&parsed, g->search->now, &g->search->zone, &time))
		return text;
	/* With microseconds, so that the order of rows stays as it was given. */
	ls_time_format_iso(time, iso);
	micros = (int) ((time % LS_USECS_PER_SEC + LS_USECS_PER_SEC) % LS_USECS_PER_SEC);
	return ls_str_of_cstring(psprintf("%.19s.%06dZ", iso, micros));
}

static void
append_scalar(giving *g, const JsonbValue *v, bool time)
{
	ls_buf *json = &g->json;
	ls_str text;

	switch (v->type)
	{
		case jbvString:
			text = ls_str_make(v->val.string.val, (size_t) v->val.string.len);
			check_size(json, text.len);
			ls_json_quote(json, time ? absolute_time(g, text) : text);
			break;
		case jbvNumeric:
		{
			char *digits =
				DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(v->val.numeric)));

			ls_buf_str(json, ls_str_of_cstring(digits));
			pfree(digits);
			break;
		}
		case jbvBool:
			ls_buf_str(json, v->val.boolean ? LS_STR("true") : LS_STR("false"));
			break;
		default:
			ls_buf_lit(json, "null");
			break;
	}
}

/* Writes the array, with times of rows made absolute. */
static void
write_rows(giving *g, Jsonb *rows)
{
	JsonbIterator *it = JsonbIteratorInit(&rows->root);
	ls_buf *json = &g->json;
	JsonbIteratorToken token;
	bool first = true; /* of its container */
	bool time = false; /* the value is the time of a row */
	int depth = 0;
	JsonbValue v;

	while ((token = JsonbIteratorNext(&it, &v, false)) != WJB_DONE)
	{
		check_size(json, 0);
		if (token == WJB_END_ARRAY || token == WJB_END_OBJECT)
		{
			ls_buf_char(json, token == WJB_END_ARRAY ? ']' : '}');
			first = false;
			depth--;
			continue;
		}
		if (!first)
			ls_buf_char(json, ',');
		switch (token)
		{
			case WJB_BEGIN_ARRAY:
			case WJB_BEGIN_OBJECT:
				ls_buf_char(json, token == WJB_BEGIN_ARRAY ? '[' : '{');
				first = true;
				depth++;
				break;
			case WJB_KEY:
			{
				ls_str key = ls_str_make(v.val.string.val, (size_t) v.val.string.len);

				check_size(json, key.len);
				ls_json_quote(json, key);
				ls_buf_char(json, ':');
				time = depth == 2 && ls_str_eq(key, LS_STR("timestamp"));
				first = true;
				break;
			}
			default:
				append_scalar(g, &v, time && token == WJB_VALUE);
				time = false;
				first = false;
				break;
		}
		CHECK_FOR_INTERRUPTS();
	}
	check_size(json, 0);
}

/* ---- the text as a part ---- */

static bool
is_index_name(ls_str name)
{
	size_t begin = name.len > 0 && name.data[0] == '_';

	if (name.len <= begin || name.len > 64 + begin || name.data[begin] < 'a' ||
		name.data[begin] > 'z')
		return false;
	for (size_t i = begin; i < name.len; i++)
	{
		if (strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", name.data[i]) == NULL)
			return false;
	}
	return true;
}

/* Notes the index of a row.  It need not be one of the organization. */
static bool
note_index(void *context, ls_str name, ls_time *oldest)
{
	giving *g = context;

	*oldest = INT64_MIN;
	for (int i = 0; i < g->n_indexes; i++)
	{
		if (ls_str_eq(g->indexes[i], name))
			return true;
	}
	if (!is_index_name(name) || g->n_indexes == LS_GIVEN_INDEXES)
		return false;
	g->indexes[g->n_indexes++] = ls_arena_strdup(g->arena, name);
	return true;
}

static bool
parses_json(void *context, ls_str name)
{
	const giving *g = context;

	return ls_index_parses_json(&g->search->principal->organization, name);
}

static void
append_problem(ls_buf *details, const ls_decode_error *error, char *path, size_t size,
			   const char **message)
{
	snprintf(path, size, "rows[%u]%s%.*s", error->index, error->path.len > 0 ? "." : "",
			 (int) Min(error->path.len, 100), error->path.data);
	*message = ls_cstring_of_str(error->message);
	if (strcmp(error->code, "INDEX_NOT_FOUND") == 0)
		*message = "expected the name of an index, of at most 100 in all rows";
	ls_buf_str(details, details->len == 0 ? LS_STR("[{\"path\":") : LS_STR(",{\"path\":"));
	ls_json_quote(details, ls_str_of_cstring(path));
	ls_buf_lit(details, ",\"code\":\"invalid\",\"message\":");
	ls_json_quote(details, ls_str_of_cstring(*message));
	ls_buf_char(details, '}');
}

/* Rows are fixtures: one that ingest would reject is an error. */
static void
refuse(giving *g, const ls_decode_result *result)
{
	const char *first = NULL;
	char first_path[160] = "rows";
	char path[160];
	ls_buf details;

	if (result->failure == LS_DECODE_INVALID)
		ls_search_invalid("rows", ls_cstring_of_str(result->message));
	if (result->failure != LS_DECODE_OK)
		ls_search_invalid("rows", "must have at most 64 MB of text and 4,096 different attributes");
	ls_buf_init(&details, g->arena);
	for (uint32 i = 0; i < Min(result->n_errors, MOST_DETAILS); i++)
	{
		const char *message;

		append_problem(&details, &result->errors[i], i == 0 ? first_path : path, sizeof(path),
					   &message);
		first = i == 0 ? message : first;
	}
	ls_buf_lit(&details, "]");
	ls_buf_char(&details, '\0');
	ereport(ERROR, errcode(ls_errcode(LS_ERROR_VALIDATION)),
			errmsg("%s: %s", first_path, first == NULL ? "cannot be read" : first),
			errdetail_internal("%s", details.failed ? "[]" : details.data));
}

static void
decode(giving *g, ls_part_builder *builder)
{
	ls_decode_options options = {.limits = LS_DECODE_LIMITS};
	ls_decode_result *result = ls_new(g->arena, ls_decode_result);

	if (result == NULL || builder == NULL)
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	options.now = Max(g->search->now - DEFAULT_AGE, LS_FIRST_EVENT_TIME);
	options.limits.future_us = LS_LAST_EVENT_TIME - options.now;
	options.known_index = note_index;
	options.parses_json = parses_json;
	options.index_context = g;
	options.sink = ls_builder_sink_make(&g->builders, builder, NULL, NULL);
	options.arena = g->arena;
	options.scratch = ls_context_arena(CurrentMemoryContext, GIVEN_MEMORY);
	if (!ls_decode_batch(&options, ls_str_make(g->json.data, g->json.len), result) ||
		result->rejected > 0)
		refuse(g, result);
	ls_arena_destroy(options.scratch);
}

void
ls_search_give(ls_search *search, Jsonb *rows)
{
	ls_given_part *part = palloc0(sizeof(ls_given_part));
	giving *g = palloc0(sizeof(giving));
	ls_part_builder *builder;
	ls_part_stats stats;
	ls_buf header;
	ls_buf body;

	search->principal = ls_principal_current();
	search->given = part;
	if (search->now == 0)
		search->now = ls_now();
	if (!JB_ROOT_IS_ARRAY(rows) || JB_ROOT_IS_SCALAR(rows))
		ls_search_invalid("rows", "must be an array of events");
	if (JB_ROOT_COUNT(rows) > LS_GIVEN_ROWS)
		ls_search_invalid("rows", "must not have more than 10,000 rows");
	if (JB_ROOT_COUNT(rows) == 0)
		return;
	ls_search_zone(search);
	g->search = search;
	g->arena = ls_context_arena(CurrentMemoryContext, GIVEN_MEMORY);
	ls_buf_init(&g->json, g->arena);
	write_rows(g, rows);
	builder = ls_part_builder_create(g->arena);
	decode(g, builder);

	ls_part_builder_stamp(builder, 0, search->now, GIVEN_BATCH);
	ls_buf_init(&header, g->arena);
	ls_buf_init(&body, g->arena);
	if (!ls_part_builder_finish(builder, LS_CODEC_FAST, false, &header, &body, &stats))
		ls_raise(LS_ERROR_QUERY_MEMORY_LIMIT);
	part->header = ls_str_make(header.data, header.len);
	part->body = ls_str_make(body.data, body.len);
	part->rows = stats.rows;
	part->min_time = stats.min_time;
	part->max_time = stats.max_time;
	search->given_indexes = g->indexes;
	search->n_given_indexes = g->n_indexes;
}
