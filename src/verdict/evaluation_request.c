/*-------------------------------------------------------------------------
 *
 * evaluation_request.c
 *	  From the body of POST run-adhoc to a checked request (pure).
 *
 * It makes one pass with the pull parser, because rows must keep the order of their members and
 * the spelling of numbers (decision 25), and because a body may have 10 MB.  String rows stay views
 * into the body.  Object rows are written compactly into one scratch buffer, and only their first
 * 2,000 code points are kept.
 *
 * Each reader skips its value, whatever it is, so a wrong field does not hide the problems of the
 * next ones.
 *
 *-------------------------------------------------------------------------
 */
#include "src/verdict/request_reader.h"

/* The members of a body; each is a bit of reader.seen. */
typedef enum field
{
	FIELD_ROWS,
	FIELD_LOG,
	FIELD_CRITERIA,
	FIELD_ITEMS,
	FIELD_MODE,
	FIELD_MODEL,
	FIELD_COMPRESS,
	FIELD_OPTIONS,
	FIELD_PREVIEW,
	FIELD_QUERY,
	FIELD_CITATIONS
} field;

static const char *const field_names[] = {
	"rows",    "log",   "criteria",       "expectedItems",
	"mode",    "model", "logCompression", "compressionOptions",
	"preview", "query", "citations"};

#define FIELDS (sizeof(field_names) / sizeof(field_names[0]))

typedef struct body
{
	ls_reading in;
	ls_evaluation_request *request;
	bool allow_query;
	uint32_t seen;
	ls_str *rows;
	size_t rows_capacity;
	ls_str log; /* data is NULL: absent */
} body;

/* ---- rows and log ---- */

/* Cuts a row to its limit; true when it was longer. */
static bool
cut_row(ls_str *row)
{
	size_t keep;

	if (row->len <= LS_EVALUATION_MAX_ROW_CHARS)
		return false;
	keep = ls_utf8_prefix_chars(row->data, row->len, LS_EVALUATION_MAX_ROW_CHARS);
	if (keep == row->len)
		return false;
	row->len = keep;
	return true;
}

/* The next value as a row: a string as it is, anything else as compact JSON. */
static bool
read_row(ls_reading *in, ls_str *row)
{
	ls_json_type type;
	ls_json_value value;

	if (ls_json_peek(&in->json, &type) && type == LS_JSON_STRING)
	{
		if (!ls_json_read(&in->json, &value))
			return false;
		*row = value.text;
		return true;
	}
	in->scratch.len = 0;
	if (!ls_json_compact(&in->json, &in->scratch))
		return false;
	*row = ls_str_make(in->scratch.data, in->scratch.len);
	if (row->len > LS_EVALUATION_MAX_ROW_CHARS * 4)
	{
		/* Keep one code point more than the limit, so that cut_row sees that it was cut. */
		row->len = ls_utf8_prefix_chars(row->data, row->len, LS_EVALUATION_MAX_ROW_CHARS + 1);
	}
	*row = ls_arena_strdup(in->arena, *row);
	return row->data != NULL;
}

static bool
append_row(body *b, ls_str row)
{
	ls_evaluation_request *r = b->request;

	if (r->row_count == b->rows_capacity)
	{
		size_t wanted = b->rows_capacity == 0 ? 64 : b->rows_capacity * 2;
		ls_str *grown = ls_arena_grow(b->in.arena, b->rows, b->rows_capacity * sizeof(ls_str),
									  wanted * sizeof(ls_str));

		if (grown == NULL)
			return false;
		b->rows = grown;
		b->rows_capacity = wanted;
	}
	if (cut_row(&row))
		r->cut_rows++;
	b->rows[r->row_count++] = row;
	r->rows = b->rows;
	return true;
}

static void
read_rows(body *b)
{
	ls_reading *in = &b->in;
	ls_json_value value;
	size_t n = 0;

	b->request->row_count = 0;
	b->request->cut_rows = 0;
	if (!ls_reading_open(in, LS_JSON_ARRAY, "rows", "an array of strings and objects"))
		return;
	while (ls_json_element(&in->json))
	{
		ls_json_type type;
		ls_str row;
		char path[32];

		n++;
		if (n > LS_EVALUATION_MAX_ROWS)
		{
			/* Already refused: only skip the value. */
			if (!ls_json_skip(&in->json, &row))
				return;
			continue;
		}
		if (!ls_json_peek(&in->json, &type))
		{
			ls_json_read(&in->json, &value); /* for its error */
			return;
		}
		if (type == LS_JSON_STRING || type == LS_JSON_OBJECT)
		{
			if (!read_row(in, &row) || !append_row(b, row))
				return;
			continue;
		}
		if (!ls_json_skip(&in->json, &row))
			return;
		snprintf(path, sizeof(path), "rows[%zu]", n - 1);
		ls_validation_add(in->errors, path, "invalid_type",
						  "A row must be a string or an object, not %s.", ls_reading_type(type));
	}
	if (in->json.error != NULL)
		return;
	if (n == 0)
		ls_validation_add(in->errors, "rows", "too_few", "rows must have at least 1 entry.");
	else if (n > LS_EVALUATION_MAX_ROWS)
		ls_validation_add(in->errors, "rows", "too_many",
						  "rows must have at most %d entries, not %zu.", LS_EVALUATION_MAX_ROWS, n);
}

/* Any value; null means that there is none (decision 2). */
static void
read_log(body *b)
{
	ls_json_type type;
	ls_json_value value;

	b->log = ls_str_make(NULL, 0);
	if (ls_json_peek(&b->in.json, &type) && type == LS_JSON_NULL)
		ls_json_read(&b->in.json, &value);
	else
		read_row(&b->in, &b->log);
}

/* ---- the other fields ---- */

static void
read_criteria(body *b)
{
	b->request->criteria = LS_STR("");
	ls_reading_text(&b->in, "criteria", 0, LS_EVALUATION_MAX_CRITERIA_CHARS, &b->request->criteria);
}

static void
read_mode(body *b)
{
	ls_str text;

	b->request->mode = LS_EVALUATION_TEST_CLASSIFICATION;
	if (!ls_reading_text(&b->in, "mode", 0, SIZE_MAX, &text))
		return;
	if (ls_str_eq(text, LS_STR("generic_verdict")))
		b->request->mode = LS_EVALUATION_GENERIC_VERDICT;
	else if (!ls_str_eq(text, LS_STR("test_classification")))
		ls_validation_add(b->in.errors, "mode", "invalid_value",
						  "mode must be test_classification or generic_verdict.");
}

/* Any string is accepted, and null is the default (decision 8). */
static void
read_model(body *b)
{
	ls_json_type type;
	ls_json_value value;

	b->request->model = LS_STR("");
	if (ls_json_peek(&b->in.json, &type) && type == LS_JSON_NULL)
		ls_json_read(&b->in.json, &value);
	else
		ls_reading_text(&b->in, "model", 0, SIZE_MAX, &b->request->model);
}

static void
read_query(body *b)
{
	b->request->has_query = true;
	if (ls_reading_text(&b->in, "query", 0, SIZE_MAX, &b->request->query) &&
		ls_reading_blank(b->request->query))
		ls_validation_add(b->in.errors, "query", "blank", "query must not be blank.");
}

/* ---- the whole ---- */

static void
read_field(body *b, ls_str key)
{
	ls_evaluation_request *r = b->request;
	size_t f = 0;

	while (f < FIELDS && !ls_str_eq(key, ls_str_make(field_names[f], strlen(field_names[f]))))
		f++;
	if (f == FIELDS || (f == FIELD_QUERY && !b->allow_query))
	{
		ls_reading_ignored(&b->in, "", key);
		return;
	}
	if (b->seen & 1u << f)
		ls_validation_forget(b->in.errors, field_names[f]);
	b->seen |= 1u << f;
	switch ((field) f)
	{
		case FIELD_ROWS:
			read_rows(b);
			break;
		case FIELD_LOG:
			read_log(b);
			break;
		case FIELD_CRITERIA:
			read_criteria(b);
			break;
		case FIELD_ITEMS:
			ls_reading_items(&b->in, r);
			break;
		case FIELD_MODE:
			read_mode(b);
			break;
		case FIELD_MODEL:
			read_model(b);
			break;
		case FIELD_COMPRESS:
			r->compress = true;
			ls_reading_bool(&b->in, "logCompression", &r->compress);
			break;
		case FIELD_OPTIONS:
			ls_reading_options(&b->in, r);
			break;
		case FIELD_PREVIEW:
			r->preview = false;
			ls_reading_bool(&b->in, "preview", &r->preview);
			break;
		case FIELD_QUERY:
			read_query(b);
			break;
		case FIELD_CITATIONS:
			r->citations = false;
			ls_reading_bool(&b->in, "citations", &r->citations);
			break;
	}
}

/* The rules that need more than one field. */
static void
check_whole(body *b)
{
	ls_evaluation_request *r = b->request;
	ls_validation_errors *errors = b->in.errors;
	bool has_rows = b->seen & 1u << FIELD_ROWS;
	bool has_log = b->log.data != NULL;

	if (has_log)
	{
		if (r->row_count >= LS_EVALUATION_MAX_ROWS)
			ls_validation_add(errors, "log", "too_many",
							  "rows and log together must be at most %d entries.",
							  LS_EVALUATION_MAX_ROWS);
		else
			append_row(b, b->log); /* a failure is seen by the arena's mark */
	}
	if (r->has_query && (has_rows || has_log))
		ls_validation_add(errors, "query", "conflict",
						  "query cannot be combined with rows or log.");
	else if (!r->has_query && !has_rows && !has_log)
		ls_validation_add(errors, "rows", "required", "One of rows, log and query is required.");

	if (!r->preview && !(b->seen & 1u << FIELD_CRITERIA))
		ls_validation_add(errors, "criteria", "required",
						  "criteria is required unless preview is true.");
	else if (!r->preview && ls_reading_blank(r->criteria))
	{
		bool wrong_already = false;

		for (size_t i = 0; i < errors->count; i++)
			wrong_already |= ls_str_eq(errors->items[i].path, LS_STR("criteria"));
		if (!wrong_already)
			ls_validation_add(errors, "criteria", "blank",
							  "criteria must not be blank unless preview is true.");
	}
}

/* A body that is not JSON has only this problem. */
static void
only_syntax(ls_validation_errors *errors, const char *what, size_t offset)
{
	ls_validation_init(errors, errors->arena);
	ls_validation_add(errors, "", "invalid_json", "The body is not valid JSON: %s (byte %zu).",
					  what, offset);
}

bool
ls_evaluation_request_parse(ls_str json, ls_arena *arena, bool allow_query,
							ls_evaluation_request **out, ls_validation_errors *errors)
{
	ls_evaluation_request *r = ls_new(arena, ls_evaluation_request);
	ls_str *ignored = ls_new_array(arena, ls_str, LS_READING_MAX_IGNORED);
	body b = {0};
	ls_json_value value;
	ls_json_type type;
	ls_str key;
	size_t bom = json.len >= 3 && memcmp(json.data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

	if (r == NULL || ignored == NULL)
	{
		errors->out_of_memory = true;
		return false;
	}
	r->criteria = r->query = r->model = LS_STR("");
	r->compress = true;
	r->options = LS_PATTERN_DEFAULTS;
	r->ignored = ignored;
	b.in.arena = arena;
	b.in.errors = errors;
	b.in.request = r;
	b.in.ignored = ignored;
	ls_buf_init(&b.in.scratch, arena);
	b.request = r;
	b.allow_query = allow_query;

	ls_json_init(&b.in.json, bom == 0 ? json : ls_str_make(json.data + bom, json.len - bom), arena,
				 LS_EVALUATION_MAX_DEPTH);
	if (ls_json_peek(&b.in.json, &type) && type != LS_JSON_OBJECT)
	{
		ls_str raw;

		if (ls_json_skip(&b.in.json, &raw) && ls_json_end(&b.in.json))
		{
			ls_validation_add(errors, "", "invalid_type", "The body must be an object, not %s.",
							  ls_reading_type(type));
			return false;
		}
	}
	else if (ls_json_read(&b.in.json, &value))
	{
		while (ls_json_member(&b.in.json, &key))
			read_field(&b, key);
	}

	if (b.in.json.error == NULL && ls_json_end(&b.in.json))
		check_whole(&b);
	if (ls_arena_failed(arena) || errors->out_of_memory)
	{
		errors->out_of_memory = true;
		return false;
	}
	if (b.in.json.error != NULL)
		only_syntax(errors, b.in.json.error, bom + b.in.json.error_offset);
	else if (!ls_json_end(&b.in.json))
		only_syntax(errors, "there is text after its end",
					bom + (size_t) (b.in.json.pos - b.in.json.start));
	else
	{
		/* A misspelt name is the usual reason why a required one is missing. */
		*out = r;
		if (errors->count == 0 && errors->dropped > 0)
			ls_validation_add(errors, "", "too_many", "The body has too many problems to list.");
	}
	return errors->count == 0;
}

bool
ls_evaluation_set_rows(ls_evaluation_request *request, ls_arena *arena, const ls_str *rows,
					   size_t row_count)
{
	size_t n = row_count < LS_EVALUATION_MAX_ROWS ? row_count : LS_EVALUATION_MAX_ROWS;
	ls_str *kept = ls_new_array(arena, ls_str, n > 0 ? n : 1);

	if (kept == NULL)
		return false;
	request->cut_rows = 0;
	for (size_t i = 0; i < n; i++)
	{
		kept[i] = rows[i];
		if (cut_row(&kept[i]))
			request->cut_rows++;
	}
	request->rows = kept;
	request->row_count = n;
	return true;
}
