/*-------------------------------------------------------------------------
 *
 * near_value.c
 *	  A warning where a search has found nothing and no event of the range has a value: another value of
 *	  the field is spelt like it (service=chekout, method=get), it is an element of lists (tags=new), or
 *	  these are the values that there are.
 *
 * Each value is counted first, so that searches which rightly find nothing cost little.  Where the range
 * has many parts, only a search for nothing else is explained: what it has not found need not be counted.
 * A sample of the values is enough: a field may have as many of them as there are events.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

/* Each is two searches. */
#define MOST_VALUES 4
#define MOST_KNOWN 200
#define MOST_DIGITS 3 /* web-1 may be misspelt */
#define MOST_NAMED 5
#define SAMPLE 4096 /* see ls_scan_session: some 10 ms */
#define SAMPLE_OF_FEW_PARTS 16384

typedef struct known_values
{
	ls_arena *arena;
	ls_str items[MOST_KNOWN]; /* texts */
	uint32 n;
	bool lists;   /* there are lists of texts or numbers */
	ls_buf named; /* the most frequent ones, as the language takes them */
	int n_named;
} known_values;

/* Texts that say more than the answer could need. */
#define MOST_NAMED_BYTES 60

static void
name_value(known_values *known, const char *json, ls_str text)
{
	if (known->n_named == MOST_NAMED || text.len > MOST_NAMED_BYTES)
		return;
	if (known->n_named++ > 0)
		ls_buf_lit(&known->named, ", ");
	if (json[0] != '"')
		ls_buf_str(&known->named, ls_str_of_cstring(json));
	else if (ls_query_is_plain_word(text))
		ls_buf_str(&known->named, text);
	else
		ls_query_write_text(&known->named, text);
}

/* Takes a row of `top`: the value as JSON. */
static bool
take_value(void *context, const ls_position *position, char **texts)
{
	known_values *known = context;
	ls_json_value value;
	ls_json j;

	if (texts[0] == NULL || texts[0][0] == '{' || known->n == MOST_KNOWN)
		return true;
	if (texts[0][0] == '[')
	{
		known->lists = known->lists || strchr("]{[", texts[0][1]) == NULL;
		return true;
	}
	ls_json_init(&j, ls_arena_strdup(known->arena, ls_str_of_cstring(texts[0])), known->arena, 1);
	if (!ls_json_read(&j, &value))
		return true;
	if (texts[0][0] == '"')
		known->items[known->n++] = value.text;
	name_value(known, texts[0], value.text);
	return true;
}

char *
ls_search_name_values(const ls_search *search, const ls_query_filter *within, const char *text,
					  const char *field)
{
	known_values *known = palloc0(sizeof(known_values));
	ls_search sampled = *search;

	known->arena = search->arena;
	ls_buf_init(&known->named, search->arena);
	sampled.sample = SAMPLE_OF_FEW_PARTS;
	(void) ls_search_ask_within(&sampled, within,
								psprintf("%s | top %d %s", text, MOST_NAMED, field), MOST_NAMED,
								take_value, known);
	if (known->n_named == 0 || known->named.failed)
		return NULL;
	return psprintf("%.*s%s", (int) known->named.len, known->named.data,
					known->n_named == MOST_NAMED ? ", ..." : "");
}

/* Fields whose values are not worth naming: each event, or a few, have one of their own. */
static bool
is_id(const ls_query_field *field)
{
	return field->builtin == LS_QUERY_ID || field->builtin == LS_QUERY_TRACE_ID ||
		   field->builtin == LS_QUERY_SPAN_ID;
}

bool
ls_search_explains_value(const ls_search *search, const ls_query_field *field,
						 const ls_query_value *value)
{
	int digits = 0;

	if (value->wildcard || value->text.len == 0)
		return false;
	if (is_id(field))
		digits = -(int) value->text.len;
	/* An id is not misspelt, and its field has so many values that to look at them takes long. */
	for (size_t i = 0; i < value->text.len; i++)
		digits += value->text.data[i] >= '0' && value->text.data[i] <= '9';
	if (digits > MOST_DIGITS)
		return false;
	return !ls_search_is_noted(search, value->span);
}

/* What finds the value among elements of a list. */
static void
append_element(StringInfo out, const ls_query_value *value)
{
	/* As it stands in JSON, between quotes of ours. */
	if (value->kind == LS_QUERY_NUMBER)
		appendStringInfo(out, " MATCHES \"[[,]%.*s[],]\"", (int) value->text.len, value->text.data);
	else
		appendStringInfo(out, " CONTAINS \"\\\"%.*s\\\"\"", (int) value->text.len,
						 value->text.data);
}

/*
 * tags=new where values of tags are lists: none is equal to one of its elements.  `name` is a field of the head.  In a
 * list of values there is nothing that could be replaced: `span` is empty.
 */
static bool
note_element(ls_search *search, ls_query_span span, const char *name, const ls_query_value *value)
{
	StringInfoData meant;

	if (memchr(value->text.data, '"', value->text.len) != NULL ||
		memchr(value->text.data, '\\', value->text.len) != NULL)
		return false;
	initStringInfo(&meant);
	appendStringInfoString(&meant, name);
	append_element(&meant, value);
	if (span.end > span.start)
		ls_search_suggest(
			search, "ELEMENT_OF_LIST", value->span, span, meant.data,
			psprintf("values of %s are lists; those with this element are found by %s", name,
					 meant.data));
	else
		ls_query_warn(search->query, search->arena, "ELEMENT_OF_LIST", value->span,
					  "values of %s are lists; those with this element are found by %s", name,
					  meant.data);
	return true;
}

/* What another value that is spelt like it would be; false: there is none. */
static bool
note_near(ls_search *search, const ls_query_field *field, const ls_query_value *value,
		  const known_values *known)
{
	int closest = ls_closest(value->text, known->items, known->n);
	ls_buf meant;

	if (closest < 0)
		return false;
	ls_buf_init(&meant, search->arena);
	if (value->kind == LS_QUERY_WORD && ls_query_is_plain_word(known->items[closest]))
		ls_buf_str(&meant, known->items[closest]);
	else
		ls_query_write_text(&meant, known->items[closest]);
	if (meant.failed)
		return false;
	ls_search_suggest(
		search, "UNKNOWN_VALUE", value->span, value->span, pnstrdup(meant.data, meant.len),
		psprintf("no event has %s %.*s: did you mean %.*s?", ls_cstring_of_str(field->name),
				 (int) ls_utf8_prefix_chars(value->text.data, value->text.len, 60),
				 value->text.data, (int) meant.len, meant.data));
	return true;
}

/* known NULL: without the values that there are. */
static void
warn_missing(ls_search *search, const ls_query_field *field, const ls_query_value *value,
			 const known_values *known)
{
	bool some = known != NULL && known->n_named > 0;

	ls_query_warn(search->query, search->arena, "UNKNOWN_VALUE", value->span,
				  "no event of the time range has %s %.*s%s%.*s%s", ls_cstring_of_str(field->name),
				  (int) ls_utf8_prefix_chars(value->text.data, value->text.len, 60),
				  value->text.data, some ? "; values there are: " : "",
				  some ? (int) known->named.len : 0, some ? known->named.data : "",
				  some && known->n_named == MOST_NAMED ? ", ..." : "");
}

/*
 * `span`: the comparison; of a list of values, or in a stage, only the value is replaced.  `few`: the
 * range has few parts; else it is known that no event has the value.
 */
static void
note_value(ls_search *search, const ls_query_field *field, const ls_query_value *value,
		   ls_query_span span, bool few)
{
	known_values *known = palloc0(sizeof(known_values));
	ls_search sampled = *search;
	bool spelt = value->kind != LS_QUERY_NUMBER && value->text.len >= 3 &&
				 field->builtin != LS_QUERY_LEVEL && !is_id(field);
	char *name = ls_search_head_field(search, field);
	ls_buf text;
	char *count;

	if (name == NULL)
		return;
	ls_buf_init(&text, search->arena);
	if (value->kind == LS_QUERY_NUMBER)
		ls_buf_str(&text, value->text);
	else
		ls_query_write_text(&text, value->text);
	if (text.failed)
		return;
	count = few ? ls_search_count(
					  search, psprintf("%s=%.*s | stats count", name, (int) text.len, text.data))
				: "0";
	if (count == NULL || strcmp(count, "0") != 0)
		return;
	known->arena = search->arena;
	ls_buf_init(&known->named, search->arena);
	sampled.sample = few ? SAMPLE_OF_FEW_PARTS : SAMPLE;
	if (!is_id(field))
		(void) ls_search_ask(
			&sampled,
			few ? psprintf("%s=* | eval value = %s | top %d value", name, name, MOST_KNOWN)
				: psprintf("| top %d %s", MOST_KNOWN, name),
			MOST_KNOWN, take_value, known);
	if (known->lists && field->builtin == LS_QUERY_NOT_BUILTIN &&
		note_element(search, span, name, value))
		return;
	if (spelt && note_near(search, field, value, known))
		return;
	/* Without any value, the field is unknown, which another warning says. */
	if ((known->n_named > 0 && !known->named.failed) || is_id(field))
		warn_missing(search, field, value, known);
}

/* May the value of the field be one that no event has? */
static bool
has_values(const ls_query_field *field)
{
	return field->builtin == LS_QUERY_SERVICE || field->builtin == LS_QUERY_SOURCE ||
		   field->builtin == LS_QUERY_LEVEL || is_id(field) ||
		   (field->builtin == LS_QUERY_NOT_BUILTIN && field->n_parts > 0);
}

/* A count of 0 is what one hopes for of a level or a status, but not of a service. */
static bool
is_name(const ls_query_field *field)
{
	return field->builtin == LS_QUERY_SERVICE || field->builtin == LS_QUERY_SOURCE;
}

static void
note(ls_search *search, const ls_query_filter *filter, bool table, int *left)
{
	bool all = filter->kind == LS_QUERY_FILTER_AND || filter->kind == LS_QUERY_FILTER_OR;
	const ls_query_field *field = filter->field;

	for (uint32 i = 0; i < filter->n_children && all; i++)
		note(search, filter->children[i], table, left);
	if (filter->negated || field == NULL ||
		!(filter->kind == LS_QUERY_FILTER_IN ||
		  (filter->kind == LS_QUERY_FILTER_COMPARE && filter->op == LS_QUERY_OP_EQ)) ||
		!has_values(field) || (table && !is_name(field)))
		return;
	for (uint32 i = 0; i < filter->values.n; i++)
	{
		if (*left == 0)
			return;
		if (!ls_search_explains_value(search, field, filter->values.items[i]))
			continue;
		(*left)--;
		note_value(search, field, filter->values.items[i],
				   filter->kind == LS_QUERY_FILTER_COMPARE ? filter->span : (ls_query_span){0, 0},
				   true);
	}
}

/* ---- where service = "chekout" ---- */

#define MOST_FIELDS 16

typedef struct readings
{
	const ls_query_field *fields[MOST_FIELDS]; /* of events */
	int n;
	bool table;
} readings;

static void
take_reading(void *context, ls_query_field *field, const ls_query_field *before, bool right)
{
	readings *r = context;

	if (has_values(field) && (!r->table || is_name(field)) && r->n < MOST_FIELDS)
		r->fields[r->n++] = field;
}

static bool
is_reading(const readings *r, const ls_query_expr *expr)
{
	for (int i = 0; i < r->n; i++)
		if (expr->kind == LS_QUERY_EXPR_FIELD && expr->field == r->fields[i])
			return true;
	return false;
}

static void
note_expression(ls_search *search, const readings *r, const ls_query_expr *expr, int *left)
{
	bool equal = (expr->kind == LS_QUERY_EXPR_COMPARE && expr->op == LS_QUERY_OP_EQ) ||
				 (expr->kind == LS_QUERY_EXPR_IN && !expr->negated);

	if (expr->kind == LS_QUERY_EXPR_AND || expr->kind == LS_QUERY_EXPR_OR)
		for (uint32 i = 0; i < expr->n_args; i++)
			note_expression(search, r, expr->args[i], left);
	if (!equal || !is_reading(r, expr->args[0]))
		return;
	for (uint32 i = 1; i<expr->n_args && * left> 0; i++)
	{
		const ls_query_expr *arg = expr->args[i];
		ls_query_value value = {.kind = arg->kind == LS_QUERY_EXPR_NUMBER ? LS_QUERY_NUMBER
																		  : LS_QUERY_STRING,
								.text = arg->text,
								.span = arg->span};

		if ((arg->kind != LS_QUERY_EXPR_STRING && arg->kind != LS_QUERY_EXPR_NUMBER) ||
			!ls_search_explains_value(search, expr->args[0]->field, &value))
			continue;
		(*left)--;
		note_value(search, expr->args[0]->field, &value,
				   expr->kind == LS_QUERY_EXPR_COMPARE ? expr->span : (ls_query_span){0, 0}, true);
	}
}

/*
 * A search for one value and nothing else, of which nothing has been said: it has found no event, so none
 * has the value.  Of a field like an id no other values are named.
 */
static void
note_only(ls_search *search)
{
	const ls_query *query = search->query;
	const ls_query_filter *filter = query->filter;
	const ls_query_value *value;

	if (filter == NULL || query->stages.n > 0 || query->warnings.n > 0 ||
		filter->kind != LS_QUERY_FILTER_COMPARE || filter->op != LS_QUERY_OP_EQ ||
		filter->negated || filter->field == NULL || !has_values(filter->field))
		return;
	value = filter->values.items[0];
	if (!value->wildcard && value->text.len > 0)
		warn_missing(search, filter->field, value, NULL);
}

/* Where the range has many parts: the head is one comparison, and nothing else excludes events. */
static void
note_alone(ls_search *search)
{
	const ls_query *query = search->query;
	const ls_query_filter *filter = query->filter;

	if (filter == NULL || query->stages.n > 0 || filter->kind != LS_QUERY_FILTER_COMPARE ||
		filter->op != LS_QUERY_OP_EQ || filter->negated || filter->field == NULL ||
		filter->field->builtin == LS_QUERY_NOT_BUILTIN || !has_values(filter->field) ||
		!ls_search_explains_value(search, filter->field, filter->values.items[0]))
		return;
	note_value(search, filter->field, filter->values.items[0], filter->span, false);
}

void
ls_search_note_near_values(ls_search *search, bool table)
{
	int left = MOST_VALUES;

	const ls_query *query = search->query;
	bool conditions = false;
	readings r = {.n = 0, .table = table};
	ls_field_names names;

	for (uint32 i = 0; i < query->stages.n; i++)
		conditions = conditions || query->stages.items[i]->kind == LS_QUERY_WHERE;
	if ((query->filter == NULL && !conditions) || search->n_indexes == 0 ||
		search->from >= search->to)
		return;
	names = ls_search_field_names(search, LS_MOST_LOOKED_AT + 1);
	if (!names.complete)
	{
		if (!table)
			note_alone(search);
		return;
	}
	if (query->filter != NULL)
		note(search, query->filter, table, &left);
	/* Where there are no events, it is no matter of the value. */
	if (!table && (names.n > 0 || names.builtins != 0))
		note_only(search);
	if (!conditions)
		return;
	ls_query_each_reading(query, take_reading, &r);
	for (uint32 i = 0; i < query->stages.n; i++)
		if (query->stages.items[i]->kind == LS_QUERY_WHERE)
			note_expression(search, &r, query->stages.items[i]->condition, &left);
}

void
ls_search_note_parameter(ls_search *search, ls_query_builtin builtin, ls_str text)
{
	ls_query_field *field = palloc0(sizeof(ls_query_field));
	ls_query_value value = {.kind = LS_QUERY_STRING, .text = text};

	field->builtin = builtin;
	field->name = ls_str_of_cstring(ls_query_builtin_name(builtin));
	if (text.len > 0 && search->n_indexes > 0 && search->from < search->to &&
		ls_search_explains_value(search, field, &value) &&
		ls_search_field_names(search, LS_MOST_LOOKED_AT + 1).complete)
		note_value(search, field, &value, value.span, true);
}
