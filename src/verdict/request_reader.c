/*-------------------------------------------------------------------------
 *
 * request_reader.c
 *	  Readers of a request's typed values, unknown fields, expected items and compression
 *	  options (pure).
 *
 * evaluation_request.c reads the body as a whole, this file its inner objects.
 *
 *-------------------------------------------------------------------------
 */
#include "src/verdict/request_reader.h"

#include <math.h>
#include <stdlib.h>

#define PATH_SIZE 64 /* expectedItems[<20 digits>].description and a NUL */
#define MAX_IGNORED_NAME 64

const char *
ls_reading_type(ls_json_type type)
{
	static const char *const names[] = {"null",     "a boolean", "a boolean", "a number",
										"a string", "an object", "an array"};

	return names[type];
}

bool
ls_reading_blank(ls_str s)
{
	const char *p = s.data;
	const char *end = s.data + s.len;

	while (p < end)
	{
		uint32_t c = ls_utf8_next(&p, end);

		if (!((c >= 0x09 && c <= 0x0D) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
			  (c >= 0x2000 && c <= 0x200B) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
			  c == 0x205F || c == 0x3000 || c == 0xFEFF))
			return false;
	}
	return true;
}

bool
ls_reading_number(ls_str text, double *value)
{
	char digits[128];

	if (text.len == 0 || text.len >= sizeof(digits))
		return false;
	memcpy(digits, text.data, text.len);
	digits[text.len] = '\0';
	*value = strtod(digits, NULL);
	return isfinite(*value);
}

/* Reads the type of what comes next; on an error the parser has it. */
static bool
next_type(ls_reading *in, ls_json_type *type)
{
	ls_json_value value;

	if (ls_json_peek(&in->json, type))
		return true;
	ls_json_read(&in->json, &value);
	return false;
}

static void
wrong_type(ls_reading *in, const char *path, const char *expected, ls_json_type type)
{
	ls_str raw;

	if (ls_json_skip(&in->json, &raw))
		ls_validation_add(in->errors, path, "invalid_type", "%s must be %s, not %s.", path,
						  expected, ls_reading_type(type));
}

bool
ls_reading_open(ls_reading *in, ls_json_type type, const char *path, const char *expected)
{
	ls_json_type found;
	ls_json_value value;

	if (!next_type(in, &found))
		return false;
	if (found != type)
	{
		wrong_type(in, path, expected, found);
		return false;
	}
	return ls_json_read(&in->json, &value);
}

bool
ls_reading_text(ls_reading *in, const char *path, size_t min, size_t max, ls_str *text)
{
	ls_json_type type;
	ls_json_value value;
	size_t length;

	if (!next_type(in, &type))
		return false;
	if (type != LS_JSON_STRING)
	{
		wrong_type(in, path, "a string", type);
		return false;
	}
	if (!ls_json_read(&in->json, &value))
		return false;
	length = ls_utf8_length(value.text.data, value.text.len);
	if (length > max)
	{
		ls_validation_add(in->errors, path, "too_long",
						  "%s must have at most %zu characters, not %zu.", path, max, length);
		return false;
	}
	if (length < min)
	{
		ls_validation_add(in->errors, path, "too_short", "%s must not be empty.", path);
		return false;
	}
	*text = value.text;
	return true;
}

void
ls_reading_bool(ls_reading *in, const char *path, bool *result)
{
	ls_json_type type;
	ls_json_value value;

	if (!next_type(in, &type))
		return;
	if (type != LS_JSON_TRUE && type != LS_JSON_FALSE)
		wrong_type(in, path, "true or false", type);
	else if (ls_json_read(&in->json, &value))
		*result = value.type == LS_JSON_TRUE;
}

/* ---- unknown fields ---- */

void
ls_reading_ignored(ls_reading *in, const char *parent, ls_str name)
{
	ls_evaluation_request *r = in->request;
	ls_str raw;
	ls_buf clean;

	if (!ls_json_skip(&in->json, &raw))
		return;
	ls_buf_init(&clean, in->arena);
	ls_buf_append(&clean, parent, strlen(parent));
	if (*parent != '\0')
		ls_buf_char(&clean, '.');
	for (size_t i = 0; i < name.len && i < MAX_IGNORED_NAME; i++)
	{
		char c = name.data[i];
		bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		/* A name that is returned in a header must not be able to inject a header. */
		ls_buf_char(&clean, word || (c != '\0' && strchr("_-.$@", c) != NULL) ? c : '?');
	}
	if (clean.failed)
		return;
	for (size_t i = 0; i < r->ignored_count; i++)
	{
		if (ls_str_eq(r->ignored[i], ls_str_make(clean.data, clean.len)))
			return;
	}
	if (r->ignored_count == LS_READING_MAX_IGNORED)
		r->ignored_more = true;
	else
		in->ignored[r->ignored_count++] = ls_str_make(clean.data, clean.len);
}

void
ls_evaluation_ignored_header(ls_buf *buf, const ls_evaluation_request *request)
{
	for (size_t i = 0; i < request->ignored_count; i++)
	{
		if (i > 0)
			ls_buf_lit(buf, ", ");
		ls_buf_str(buf, request->ignored[i]);
	}
	if (request->ignored_more)
		ls_buf_lit(buf, ", ...");
}

/* ---- expectedItems ---- */

/* One entry; true when it is a whole item. */
static bool
read_item(ls_reading *in, size_t index, ls_expected_item *item)
{
	char path[PATH_SIZE];
	char id_path[PATH_SIZE];
	char description_path[PATH_SIZE];
	bool has_id = false;
	bool has_description = false;
	bool good_id = false;
	bool good_description = false;
	ls_str key;

	snprintf(path, sizeof(path), "expectedItems[%zu]", index);
	snprintf(id_path, sizeof(id_path), "expectedItems[%zu].id", index);
	snprintf(description_path, sizeof(description_path), "expectedItems[%zu].description", index);
	if (!ls_reading_open(in, LS_JSON_OBJECT, path, "an object with id and description"))
		return false;
	while (ls_json_member(&in->json, &key))
	{
		if (ls_str_eq(key, LS_STR("id")))
		{
			if (has_id)
				ls_validation_forget(in->errors, id_path);
			has_id = true;
			good_id = ls_reading_text(in, id_path, 1, LS_EVALUATION_MAX_ID_CHARS, &item->id);
		}
		else if (ls_str_eq(key, LS_STR("description")))
		{
			if (has_description)
				ls_validation_forget(in->errors, description_path);
			has_description = true;
			good_description = ls_reading_text(
				in, description_path, 1, LS_EVALUATION_MAX_DESCRIPTION_CHARS, &item->description);
		}
		else
			ls_reading_ignored(in, "expectedItems[]", key);
	}
	if (in->json.error != NULL)
		return false;
	if (!has_id)
		ls_validation_add(in->errors, id_path, "required", "%s is required.", id_path);
	if (!has_description)
		ls_validation_add(in->errors, description_path, "required", "%s is required.",
						  description_path);
	return good_id && good_description;
}

/* Adds an item unless it exists already; a contradiction is a problem (decision 14). */
static void
add_item(ls_reading *in, ls_expected_item *items, size_t *count, size_t index,
		 ls_expected_item item)
{
	char path[PATH_SIZE];

	for (size_t i = 0; i < *count; i++)
	{
		if (!ls_str_eq(items[i].id, item.id))
			continue;
		if (!ls_str_eq(items[i].description, item.description))
		{
			snprintf(path, sizeof(path), "expectedItems[%zu].id", index);
			ls_validation_add(in->errors, path, "duplicate_id",
							  "%s was used before with another description.", path);
		}
		return;
	}
	items[(*count)++] = item;
}

void
ls_reading_items(ls_reading *in, ls_evaluation_request *request)
{
	ls_expected_item *items = NULL;
	size_t count = 0;
	size_t n = 0;

	request->items = NULL;
	request->item_count = 0;
	if (!ls_reading_open(in, LS_JSON_ARRAY, "expectedItems", "an array"))
		return;
	while (ls_json_element(&in->json))
	{
		ls_expected_item item = {LS_STR(""), LS_STR("")};
		ls_str raw;

		n++;
		if (n > LS_EVALUATION_MAX_ITEMS)
		{
			if (!ls_json_skip(&in->json, &raw))
				return;
			continue;
		}
		if (items == NULL)
			items = ls_new_array(in->arena, ls_expected_item, LS_EVALUATION_MAX_ITEMS);
		if (items == NULL)
			return; /* the arena's mark says why */
		if (read_item(in, n - 1, &item))
			add_item(in, items, &count, n - 1, item);
	}
	if (n > LS_EVALUATION_MAX_ITEMS)
		ls_validation_add(in->errors, "expectedItems", "too_many",
						  "expectedItems must have at most %d entries, not %zu.",
						  LS_EVALUATION_MAX_ITEMS, n);
	request->items = items;
	request->item_count = count;
}

/* ---- compressionOptions ---- */

static void
read_option(ls_reading *in, const char *path, double min, double max, bool whole, double *result)
{
	ls_json_type type;
	ls_json_value value;
	double number = 0;

	if (!next_type(in, &type))
		return;
	if (type != LS_JSON_NUMBER)
	{
		wrong_type(in, path, "a number", type);
		return;
	}
	if (!ls_json_read(&in->json, &value))
		return;
	if (!ls_reading_number(value.text, &number) || number < min || number > max)
		ls_validation_add(in->errors, path, "out_of_range", "%s must be between %g and %g.", path,
						  min, max);
	else if (whole && number != floor(number))
		ls_validation_add(in->errors, path, "not_integer", "%s must be a whole number.", path);
	else
		*result = number;
}

void
ls_reading_options(ls_reading *in, ls_evaluation_request *request)
{
	static const struct
	{
		const char *path; /* the name begins after the dot */
		double min;
		double max;
		bool whole;
	} options[] = {{"compressionOptions.maxTemplates", 1, 500, true},
				   {"compressionOptions.maxSamples", 0, 5, true},
				   {"compressionOptions.rareThreshold", 0, 50, true},
				   {"compressionOptions.simThreshold", 0, 1, false}};
	const ls_pattern_options defaults = LS_PATTERN_DEFAULTS;
	double values[4] = {defaults.max_templates, defaults.max_samples, defaults.rare_threshold,
						defaults.sim_threshold};
	const size_t skip = sizeof("compressionOptions.") - 1;
	unsigned seen = 0;
	ls_str key;

	request->options = defaults;
	if (!ls_reading_open(in, LS_JSON_OBJECT, "compressionOptions", "an object"))
		return;
	while (ls_json_member(&in->json, &key))
	{
		size_t i = 0;

		while (i < 4 &&
			   !ls_str_eq(key, ls_str_make(options[i].path + skip, strlen(options[i].path + skip))))
			i++;
		if (i == 4)
		{
			ls_reading_ignored(in, "compressionOptions", key);
			continue;
		}
		if (seen & 1u << i)
			ls_validation_forget(in->errors, options[i].path);
		seen |= 1u << i;
		read_option(in, options[i].path, options[i].min, options[i].max, options[i].whole,
					&values[i]);
	}
	request->options.max_templates = (int) values[0];
	request->options.max_samples = (int) values[1];
	request->options.rare_threshold = (int) values[2];
	request->options.sim_threshold = values[3];
}
