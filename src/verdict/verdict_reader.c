/*-------------------------------------------------------------------------
 *
 * verdict_reader.c
 *	  Reading one finding of a model's reply (pure).
 *
 * Types are checked strictly (decision 20).  null counts as absent, because a provider's forced
 * structure often requires every member.  A member that occurs twice is refused, because choosing
 * one would be guessing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif

#include "src/verdict/verdict_reader.h"

#define MAX_SEARCHED ((size_t) 512 << 20) /* bytes of rows, for all quotes of a reply */

typedef enum member
{
	MEMBER_ID,
	MEMBER_STATUS,
	MEMBER_EXPLANATION,
	MEMBER_CONFIDENCE,
	MEMBER_ENTITY,
	MEMBER_SCORE,
	MEMBER_TAGS,
	MEMBER_QUOTES,
	MEMBER_ROW_REFS
} member;

static const char *const member_names[] = {"id",    "status", "explanation", "confidence", "entity",
										   "score", "tags",   "quotes",      "rowRefs"};

#define MEMBERS (sizeof(member_names) / sizeof(member_names[0]))

static const ls_str status_names[] = {
	[LS_FINDING_NONE] = {"", 0},           [LS_FINDING_PASSED] = {"passed", 6},
	[LS_FINDING_FAILED] = {"failed", 6},   [LS_FINDING_NOT_FOUND] = {"not_found", 9},
	[LS_FINDING_SKIPPED] = {"skipped", 7},
};

ls_str
ls_finding_status_name(ls_finding_status status)
{
	return status_names[status];
}

ls_finding_status
ls_finding_status_parse(ls_str name)
{
	for (int s = LS_FINDING_PASSED; s <= LS_FINDING_SKIPPED; s++)
	{
		if (ls_str_eq(name, status_names[s]))
			return (ls_finding_status) s;
	}
	return LS_FINDING_NONE;
}

bool
ls_verdict_null(ls_reading *in)
{
	ls_json_type type;
	ls_json_value value;

	return ls_json_peek(&in->json, &type) && type == LS_JSON_NULL &&
		   ls_json_read(&in->json, &value);
}

/* A finite number, kept as written so that it reads the same in the answer. */
static void
read_number(ls_reading *in, const char *path, double min, double max, ls_str *text)
{
	ls_json_type type;
	ls_json_value value;
	double number = 0;

	if (!ls_json_peek(&in->json, &type) || type == LS_JSON_NUMBER)
	{
		if (!ls_json_read(&in->json, &value))
			return;
		if (ls_reading_number(value.text, &number) && number >= min && number <= max)
			*text = value.text;
		else
			ls_validation_add(in->errors, path, "out_of_range",
							  "%s must be a number between %g and %g.", path, min, max);
		return;
	}
	if (ls_json_skip(&in->json, &value.text))
		ls_validation_add(in->errors, path, "invalid_type", "%s must be a number, not %s.", path,
						  ls_reading_type(type));
}

static void
read_status(ls_reading *in, const char *path, ls_finding *finding)
{
	ls_str text;

	if (!ls_reading_text(in, path, 0, SIZE_MAX, &text))
		return;
	finding->status = ls_finding_status_parse(text);
	if (finding->status == LS_FINDING_NONE)
		ls_validation_add(in->errors, path, "invalid_value",
						  "%s must be passed, failed, not_found or skipped.", path);
}

static void
read_entity(ls_reading *in, const char *path, ls_finding *finding)
{
	char inner[LS_VERDICT_PATH + 32];
	ls_str type = LS_STR("");
	ls_str key_text = LS_STR("");
	bool has_type = false;
	bool has_key = false;
	ls_str key;
	ls_str raw;

	if (!ls_reading_open(in, LS_JSON_OBJECT, path, "an object with type and key"))
		return;
	while (ls_json_member(&in->json, &key))
	{
		bool is_type = ls_str_eq(key, LS_STR("type"));

		if (!is_type && !ls_str_eq(key, LS_STR("key")))
		{
			ls_json_skip(&in->json, &raw);
			continue;
		}
		snprintf(inner, sizeof(inner), "%s.%s", path, is_type ? "type" : "key");
		if (is_type ? has_type : has_key)
			ls_validation_add(in->errors, inner, "duplicate_member", "%s comes twice.", inner);
		ls_reading_text(in, inner, 0, SIZE_MAX, is_type ? &type : &key_text);
		*(is_type ? &has_type : &has_key) = true;
	}
	if (in->json.error != NULL)
		return;
	if (!has_type || !has_key)
		ls_validation_add(in->errors, path, "required", "%s must have type and key.", path);

	/* An entity without a name does not count. */
	if (!ls_reading_blank(type) && !ls_reading_blank(key_text))
	{
		finding->entity_type = type;
		finding->entity_key = key_text;
	}
}

/*
 * Reads an array of strings: calls `take` with each string that is not blank, and its index.
 */
static void
read_strings(ls_verdict_reading *reading, const char *path, ls_finding *finding,
			 void (*take)(ls_verdict_reading *reading, ls_finding *finding, ls_str text,
						  size_t index, size_t *capacity))
{
	ls_reading *in = &reading->in;
	char inner[LS_VERDICT_PATH + 32];
	size_t capacity = 0;
	ls_str text;

	if (!ls_reading_open(in, LS_JSON_ARRAY, path, "an array of strings"))
		return;
	for (size_t i = 0; ls_json_element(&in->json); i++)
	{
		snprintf(inner, sizeof(inner), "%s[%zu]", path, i);
		if (ls_reading_text(in, inner, 0, SIZE_MAX, &text) && !ls_reading_blank(text))
			take(reading, finding, text, i, &capacity);
		else if (in->json.error != NULL)
			return;
	}
}

static void
take_tag(ls_verdict_reading *reading, ls_finding *finding, ls_str text, size_t index,
		 size_t *capacity)
{
	if (finding->tag_count == *capacity)
	{
		size_t wanted = *capacity == 0 ? 8 : *capacity * 2;
		ls_str *grown = ls_arena_grow(reading->in.arena, (void *) finding->tags,
									  *capacity * sizeof(ls_str), wanted * sizeof(ls_str));

		if (grown == NULL)
			return; /* the arena's mark says so */
		finding->tags = grown;
		*capacity = wanted;
	}
	((ls_str *) finding->tags)[finding->tag_count++] = text;
}

/* ---- citations ---- */

static void
take_quote(ls_verdict_reading *reading, ls_finding *finding, ls_str text, size_t index,
		   size_t *capacity)
{
	if (reading->quote_count == LS_VERDICT_MAX_QUOTES)
		return;
	reading->quote_index[reading->quote_count] = index;
	reading->quotes[reading->quote_count++] = text;
}

/* Numbers of rows, 1 is the first of the request. */
static void
read_refs(ls_verdict_reading *reading, const char *path)
{
	const ls_evaluation_view *view = reading->view;
	size_t rows = view->compressed ? view->total_rows : view->input_row_count;
	char inner[LS_VERDICT_PATH + 32];
	ls_reading *in = &reading->in;

	if (!ls_reading_open(in, LS_JSON_ARRAY, path, "an array of numbers of rows"))
		return;
	for (size_t i = 0; ls_json_element(&in->json); i++)
	{
		ls_json_type type;
		ls_json_value value;
		double number = 0;

		snprintf(inner, sizeof(inner), "%s[%zu]", path, i);
		if (ls_json_peek(&in->json, &type) && type != LS_JSON_NUMBER)
		{
			if (!ls_json_skip(&in->json, &value.text))
				return;
			ls_validation_add(in->errors, inner, "invalid_type", "%s must be a number, not %s.",
							  inner, ls_reading_type(type));
			continue;
		}
		if (!ls_json_read(&in->json, &value))
			return;
		if (!ls_reading_number(value.text, &number) || number < 1 || number > (double) rows ||
			number != (double) (size_t) number)
			ls_validation_add(in->errors, inner, "out_of_range",
							  "%s must be the number of a row, 1 to %zu.", inner, rows);
		else if (reading->ref_count < LS_VERDICT_MAX_REFS)
			reading->refs[reading->ref_count++] = (size_t) number;
	}
}

/*
 * Does the row contain the quote literally?  A model sees control characters of a row as escapes,
 * and may quote these.  The number of bytes searched for one reply is bounded.
 */
static bool
row_holds(ls_verdict_reading *reading, size_t row, ls_str quote)
{
	ls_str text = reading->request->rows[row - 1];
	ls_buf escaped;

	if (reading->searched > MAX_SEARCHED)
		return false;
	reading->searched += text.len + quote.len;
	if (memmem(text.data, text.len, quote.data, quote.len) != NULL)
		return true;
	if (memchr(quote.data, '\\', quote.len) == NULL)
		return false;
	ls_buf_init(&escaped, reading->in.arena);
	ls_pattern_escape(&escaped, text);
	return !escaped.failed && memmem(escaped.data, escaped.len, quote.data, quote.len) != NULL;
}

/* The row with the quote, among those named, or among all rows if none is named; 0: none. */
static size_t
find_row(ls_verdict_reading *reading, ls_str quote)
{
	size_t rows = reading->view->input_row_count;

	for (size_t i = 0; i < reading->ref_count; i++)
	{
		if (reading->refs[i] <= reading->request->row_count &&
			row_holds(reading, reading->refs[i], quote))
			return reading->refs[i];
	}
	if (reading->ref_count > 0)
		return 0;
	for (size_t row = 1; row <= rows && row <= reading->request->row_count; row++)
	{
		if (row_holds(reading, row, quote))
			return row;
	}
	return 0;
}

/*
 * Keeps the quotes that are in the rows (decision 43).  A passed or failed with a quote that is
 * not in the rows, or without quotes, is a claim without proof and is refused.
 */
static void
check_citations(ls_verdict_reading *reading, size_t index, ls_finding *finding)
{
	bool decided = finding->status == LS_FINDING_PASSED || finding->status == LS_FINDING_FAILED;
	char path[LS_VERDICT_PATH + 32];

	if (reading->quote_count > 0)
		finding->citations = ls_new_array(reading->in.arena, ls_citation, reading->quote_count);
	for (size_t i = 0; i < reading->quote_count && finding->citations != NULL; i++)
	{
		size_t row = find_row(reading, reading->quotes[i]);

		if (row > 0)
		{
			((ls_citation *) finding->citations)[finding->citation_count++] =
				(ls_citation){reading->quotes[i], row};
			continue;
		}
		reading->verdict->unproven++;
		if (!decided)
			continue;
		snprintf(path, sizeof(path), "verdict[%zu].quotes[%zu]", index, reading->quote_index[i]);
		ls_validation_add(reading->in.errors, path, "not_in_rows",
						  "%s is not, word for word, part of %s.", path,
						  reading->ref_count > 0 ? "a row that rowRefs names" : "any row");
	}
	if (decided && reading->quote_count == 0)
	{
		snprintf(path, sizeof(path), "verdict[%zu].quotes", index);
		ls_validation_add(reading->in.errors, path, "required",
						  "%s must quote the rows that the status rests on.", path);
	}
}

static void
read_member(ls_verdict_reading *reading, member m, const char *path, ls_finding *finding,
			bool *has_id)
{
	ls_reading *in = &reading->in;
	ls_str raw;

	switch (m)
	{
		case MEMBER_ID:
			*has_id = ls_reading_text(in, path, 0, SIZE_MAX, &finding->id);
			break;
		case MEMBER_STATUS:
			read_status(in, path, finding);
			break;
		case MEMBER_EXPLANATION:
			if (ls_reading_text(in, path, 0, SIZE_MAX, &finding->explanation) &&
				ls_reading_blank(finding->explanation))
				ls_validation_add(in->errors, path, "blank", "%s must not be empty.", path);
			break;
		case MEMBER_CONFIDENCE:
			read_number(in, path, 0, 1, &finding->confidence);
			break;
		case MEMBER_ENTITY:
			read_entity(in, path, finding);
			break;
		case MEMBER_SCORE:
			read_number(in, path, -1e300, 1e300, &finding->score);
			break;
		case MEMBER_TAGS:
			finding->has_tags = true;
			read_strings(reading, path, finding, take_tag);
			break;
		case MEMBER_QUOTES:
			if (reading->request->citations)
				read_strings(reading, path, finding, take_quote);
			else
				ls_json_skip(&in->json, &raw);
			break;
		case MEMBER_ROW_REFS:
			if (reading->request->citations)
				read_refs(reading, path);
			else
				ls_json_skip(&in->json, &raw);
			break;
	}
}

bool
ls_verdict_read_finding(ls_verdict_reading *reading, size_t index, bool by_item,
						ls_finding *finding, bool *has_id)
{
	ls_reading *in = &reading->in;
	char path[LS_VERDICT_PATH];
	unsigned seen = 0;  /* members that came */
	unsigned given = 0; /* and were not null */
	ls_str key;
	ls_str raw;

	*has_id = false;
	reading->quote_count = reading->ref_count = 0;
	snprintf(path, sizeof(path), "verdict[%zu]", index);
	if (!ls_reading_open(in, LS_JSON_OBJECT, path, "an object"))
		return false;
	while (ls_json_member(&in->json, &key))
	{
		size_t m = 0;

		while (m < MEMBERS &&
			   !ls_str_eq(key, ls_str_make(member_names[m], strlen(member_names[m]))))
			m++;
		if (m == MEMBERS)
		{
			ls_json_skip(&in->json, &raw);
			continue;
		}
		snprintf(path, sizeof(path), "verdict[%zu].%s", index, member_names[m]);
		if (seen & 1u << m)
		{
			ls_validation_add(in->errors, path, "duplicate_member", "%s comes twice.", path);
			ls_json_skip(&in->json, &raw);
			continue;
		}
		seen |= 1u << m;
		if (ls_verdict_null(in))
			continue;
		given |= 1u << m;
		read_member(reading, (member) m, path, finding, has_id);
	}
	if (in->json.error != NULL)
		return false;
	for (size_t m = MEMBER_ID; m <= MEMBER_EXPLANATION; m++)
	{
		if ((given & 1u << m) || (m != MEMBER_EXPLANATION && !by_item))
			continue;
		snprintf(path, sizeof(path), "verdict[%zu].%s", index, member_names[m]);
		ls_validation_add(in->errors, path, "required", "%s is required.", path);
	}
	if (reading->request->citations)
		check_citations(reading, index, finding);
	return true;
}
