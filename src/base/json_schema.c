/*-------------------------------------------------------------------------
 *
 * json_schema.c
 *	  Documents that clients write, checked against a JSON Schema (pure).
 *
 * The depth of recursion is that of the schema: a member without a schema is
 * a problem, or is taken as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/json_schema.h"

#include <inttypes.h>

#define REFERENCE "#/components/schemas/"
#define NOT_KNOWN "this member is not known here"

/* Names of members that an error can have. */
#define MOST_NAMES 64

typedef struct place
{
	ls_schema_check *check;
	ls_buf path; /* of the value that is looked at */
} place;

static ls_json_node *check_value(place *p, const ls_json_node *schema, const ls_json_node *value);

/* ---- problems ---- */

static void
report(place *p, const char *code, ls_str message)
{
	ls_buf *out = &p->check->problems;

	if (p->check->n_problems++ >= LS_SCHEMA_MAX_PROBLEMS)
		return;
	if (out->len > 0)
		ls_buf_char(out, ',');
	ls_buf_lit(out, "{\"path\":");
	ls_json_quote(out, p->path.len > 0 ? ls_str_make(p->path.data, p->path.len) : LS_STR(""));
	ls_buf_printf(out, ",\"code\":\"%s\",\"message\":", code);
	ls_json_quote(out, message);
	ls_buf_char(out, '}');
}

static void
report_limit(place *p, const char *what, int64_t limit, const char *unit)
{
	ls_buf message;

	ls_buf_init(&message, p->check->arena);
	ls_buf_printf(&message, "must %s %" PRId64 "%s", what, limit, unit);
	if (!message.failed)
		report(p, "invalid", ls_str_make(message.data, message.len));
}

/* ---- the place ---- */

static size_t
enter_member(place *p, ls_str name)
{
	size_t before = p->path.len;

	if (before > 0)
		ls_buf_char(&p->path, '.');
	ls_buf_str(&p->path, name);
	return before;
}

static size_t
enter_element(place *p, size_t i)
{
	size_t before = p->path.len;

	ls_buf_printf(&p->path, "[%zu]", i);
	return before;
}

static void
leave(place *p, size_t before)
{
	p->path.len = before;
}

/* ---- keywords ---- */

static bool
limit_of(const ls_json_node *schema, const char *keyword, int64_t *limit)
{
	return ls_node_integer(ls_node_member(schema, keyword), limit);
}

static bool
is_true(const ls_json_node *schema, const char *keyword)
{
	return ls_node_is(ls_node_member(schema, keyword), LS_JSON_TRUE);
}

static bool
has_type(const ls_json_node *value, ls_str type)
{
	int64_t integer;

	if (ls_str_eq(type, LS_STR("string")))
		return ls_node_is(value, LS_JSON_STRING);
	if (ls_str_eq(type, LS_STR("integer")))
		return ls_node_integer(value, &integer);
	if (ls_str_eq(type, LS_STR("number")))
		return ls_node_is(value, LS_JSON_NUMBER);
	if (ls_str_eq(type, LS_STR("boolean")))
		return ls_node_is(value, LS_JSON_TRUE) || ls_node_is(value, LS_JSON_FALSE);
	if (ls_str_eq(type, LS_STR("object")))
		return ls_node_is(value, LS_JSON_OBJECT);
	if (ls_str_eq(type, LS_STR("array")))
		return ls_node_is(value, LS_JSON_ARRAY);
	return ls_str_eq(type, LS_STR("null")) && ls_node_is(value, LS_JSON_NULL);
}

/* Does the value have one of the types of the schema?  One without types has all. */
static bool
fits_type(const ls_json_node *schema, const ls_json_node *value)
{
	const ls_json_node *type = ls_node_member(schema, "type");

	if (type == NULL)
		return true;
	if (ls_node_is(type, LS_JSON_STRING))
		return has_type(value, ls_node_string(type));
	for (size_t i = 0; i < ls_node_count(type); i++)
	{
		if (has_type(value, ls_node_string(ls_node_element(type, i))))
			return true;
	}
	return false;
}

static const ls_json_node *
dereference(const ls_schema_check *check, const ls_json_node *schema)
{
	ls_str reference = ls_node_member_string(schema, "$ref");
	size_t prefix = sizeof(REFERENCE) - 1;

	/* What ls_node_string returns ends with NUL. */
	return reference.len > prefix ? ls_node_member(check->schemas, reference.data + prefix)
								  : schema;
}

/* Appends "must be a string" or "must be "a", "b" or null". */
static void
describe_choices(ls_buf *out, const ls_json_node *choices)
{
	size_t n = ls_node_count(choices);

	for (size_t i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_str(out, i + 1 < n ? LS_STR(", ") : LS_STR(" or "));
		ls_document_write(out, ls_node_element(choices, i));
	}
}

static void
report_type(place *p, const ls_json_node *schema)
{
	const ls_json_node *type = ls_node_member(schema, "type");
	ls_buf message;
	size_t n = ls_node_count(type);

	ls_buf_init(&message, p->check->arena);
	ls_buf_lit(&message, "must be of type ");
	if (n == 0)
		ls_buf_str(&message, ls_node_string(type));
	for (size_t i = 0; i < n; i++)
	{
		if (i > 0)
			ls_buf_str(&message, i + 1 < n ? LS_STR(", ") : LS_STR(" or "));
		ls_buf_str(&message, ls_node_string(ls_node_element(type, i)));
	}
	if (!message.failed)
		report(p, "invalid", ls_str_make(message.data, message.len));
}

static bool
are_same(const ls_json_node *a, const ls_json_node *b)
{
	int64_t x;
	int64_t y;

	if (ls_node_is(a, LS_JSON_STRING))
		return ls_node_is(b, LS_JSON_STRING) && ls_str_eq(ls_node_string(a), ls_node_string(b));
	if (ls_node_integer(a, &x))
		return ls_node_integer(b, &y) && x == y;
	return (ls_node_is(a, LS_JSON_NULL) && ls_node_is(b, LS_JSON_NULL)) ||
		   (ls_node_is(a, LS_JSON_TRUE) && ls_node_is(b, LS_JSON_TRUE)) ||
		   (ls_node_is(a, LS_JSON_FALSE) && ls_node_is(b, LS_JSON_FALSE));
}

static bool
is_choice(const ls_json_node *choices, const ls_json_node *value)
{
	for (size_t i = 0; i < ls_node_count(choices); i++)
	{
		if (are_same(ls_node_element(choices, i), value))
			return true;
	}
	return false;
}

/* ---- values ---- */

static void
check_choice(place *p, const ls_json_node *schema, const ls_json_node *value)
{
	const ls_json_node *choices = ls_node_member(schema, "enum");
	const ls_json_node *constant = ls_node_member(schema, "const");
	ls_buf message;

	if ((choices == NULL || is_choice(choices, value)) &&
		(constant == NULL || are_same(constant, value)))
		return;
	ls_buf_init(&message, p->check->arena);
	ls_buf_lit(&message, "must be ");
	if (choices != NULL)
		describe_choices(&message, choices);
	else
		ls_document_write(&message, constant);
	if (!message.failed)
		report(p, "invalid", ls_str_make(message.data, message.len));
}

static void
check_string(place *p, const ls_json_node *schema, ls_str text)
{
	const ls_schema_check *check = p->check;
	ls_str format = ls_node_member_string(schema, "format");
	int64_t length = (int64_t) ls_utf8_length(text.data, text.len);
	int64_t limit;
	const char *wrong;

	if (limit_of(schema, "minLength", &limit) && length < limit)
	{
		if (limit == 1)
			report(p, "invalid", LS_STR("must not be empty"));
		else
			report_limit(p, "have at least", limit, " characters");
	}
	else if (limit_of(schema, "maxLength", &limit) && length > limit)
		report_limit(p, "have at most", limit, " characters");
	else if (format.len > 0 && check->format != NULL &&
			 (wrong = check->format(check->context, format, text, check->arena)) != NULL)
		report(p, "invalid", ls_str_make(wrong, strlen(wrong)));
}

static void
check_number(place *p, const ls_json_node *schema, const ls_json_node *value)
{
	double number;
	double limit;
	ls_buf message;

	if (!ls_node_number(value, &number))
		return;
	ls_buf_init(&message, p->check->arena);
	if (ls_node_number(ls_node_member(schema, "minimum"), &limit) && number < limit)
		ls_buf_printf(&message, "must be at least %.15g", limit);
	else if (ls_node_number(ls_node_member(schema, "maximum"), &limit) && number > limit)
		ls_buf_printf(&message, "must be at most %.15g", limit);
	if (message.len > 0 && !message.failed)
		report(p, "invalid", ls_str_make(message.data, message.len));
}

static ls_json_node *
check_array(place *p, const ls_json_node *schema, const ls_json_node *value)
{
	const ls_json_node *items = ls_node_member(schema, "items");
	ls_json_node *list = ls_document_make(p->check->arena, "[]");
	size_t n = ls_node_count(value);
	int64_t limit;

	if (limit_of(schema, "minItems", &limit) && (int64_t) n < limit)
		report_limit(p, "have at least", limit, limit == 1 ? " element" : " elements");
	if (limit_of(schema, "maxItems", &limit) && (int64_t) n > limit)
	{
		report_limit(p, "have at most", limit, limit == 1 ? " element" : " elements");
		return NULL;
	}
	for (size_t i = 0; i < n && list != NULL; i++)
	{
		const ls_json_node *element = ls_node_element(value, i);
		size_t before = enter_element(p, i);
		ls_json_node *checked =
			items != NULL ? check_value(p, items, element) : (ls_json_node *) element;

		leave(p, before);
		if (checked != NULL)
			ls_document_append(p->check->arena, list, checked);
	}
	return list;
}

/* The schema of a member; *taken: it is there, and is taken as it is when the schema is NULL. */
static const ls_json_node *
find_property(const ls_json_node *schema, ls_str name, bool *taken)
{
	const ls_json_node *found = ls_node_member(ls_node_member(schema, "properties"), name.data);
	const ls_json_node *others = ls_node_member(schema, "additionalProperties");

	*taken = true;
	if (found != NULL)
		return found;
	if (ls_node_is(others, LS_JSON_OBJECT))
		return others;
	*taken = others == NULL || ls_node_is(others, LS_JSON_TRUE);
	return NULL;
}

/* A member that the schema does not have: with the nearest that it has, or all of them. */
static void
report_unknown(place *p, const ls_json_node *schema, ls_str name)
{
	const ls_json_node *property;
	ls_str names[MOST_NAMES];
	ls_str property_name;
	ls_buf message;
	void *at = NULL;
	uint32_t n = 0;
	int closest;

	while (n < MOST_NAMES && (at = ls_node_next(ls_node_member(schema, "properties"), at,
												&property_name, &property)) != NULL)
		if (!is_true(property, "readOnly"))
			names[n++] = property_name;
	closest = ls_closest(name, names, n);
	ls_buf_init(&message, p->check->arena);
	ls_buf_lit(&message, NOT_KNOWN);
	if (closest >= 0)
		ls_buf_printf(&message, ": did you mean %.*s?", (int) names[closest].len,
					  names[closest].data);
	else
		for (uint32_t i = 0; i < n; i++)
			ls_buf_printf(&message, "%s%.*s", i == 0 ? ": it has " : ", ", (int) names[i].len,
						  names[i].data);
	if (!message.failed)
		report(p, "unknown", ls_str_make(message.data, message.len));
}

static void
add_defaults(place *p, const ls_json_node *schema, ls_json_node *object)
{
	const ls_json_node *property;
	void *at = NULL;
	ls_str name;

	while ((at = ls_node_next(ls_node_member(schema, "properties"), at, &name, &property)) != NULL)
	{
		const ls_json_node *value = ls_node_member(property, "default");

		if (value != NULL && ls_node_member(object, name.data) == NULL)
			ls_document_set(p->check->arena, object, name.data, (ls_json_node *) value);
	}
}

static void
check_required(place *p, const ls_json_node *schema, const ls_json_node *value)
{
	const ls_json_node *required = ls_node_member(schema, "required");

	for (size_t i = 0; i < ls_node_count(required); i++)
	{
		ls_str name = ls_node_string(ls_node_element(required, i));
		size_t before;

		if (ls_node_member(value, name.data) != NULL)
			continue;
		before = enter_member(p, name);
		report(p, "required", LS_STR("is required"));
		leave(p, before);
	}
}

static ls_json_node *
check_object(place *p, const ls_json_node *schema, const ls_json_node *value)
{
	ls_json_node *object = ls_document_make(p->check->arena, "{}");
	const ls_json_node *member;
	int64_t n = 0;
	int64_t limit;
	void *at = NULL;
	ls_str name;

	while (object != NULL && (at = ls_node_next(value, at, &name, &member)) != NULL)
	{
		bool taken;
		const ls_json_node *property = find_property(schema, name, &taken);
		size_t before;
		ls_json_node *checked = NULL;

		n++;
		if (is_true(property, "readOnly"))
			continue;
		before = enter_member(p, name);
		if (!taken)
			report_unknown(p, schema, name);
		else
			checked = property != NULL ? check_value(p, property, member) : (ls_json_node *) member;
		leave(p, before);
		if (checked != NULL)
			ls_document_set(p->check->arena, object, name.data, checked);
	}
	if (limit_of(schema, "minProperties", &limit) && n < limit)
		report_limit(p, "have at least", limit, limit == 1 ? " member" : " members");
	if (limit_of(schema, "maxProperties", &limit) && n > limit)
		report_limit(p, "have at most", limit, limit == 1 ? " member" : " members");
	check_required(p, schema, value);
	if (object != NULL)
		add_defaults(p, schema, object);
	return object;
}

/* Of several schemas that whose discriminating member has the value's constant, or whose type fits. */
static const ls_json_node *
find_alternative(place *p, const ls_json_node *schema, const ls_json_node *value)
{
	const ls_json_node *all = ls_node_member(schema, "oneOf");
	ls_str by = ls_node_member_string(ls_node_member(schema, "discriminator"), "propertyName");
	const ls_json_node *chosen = by.len > 0 ? ls_node_member(value, by.data) : NULL;
	ls_json_node *choices;
	ls_buf message;
	size_t before;

	choices = ls_document_make(p->check->arena, "[]");
	for (size_t i = 0; i < ls_node_count(all) && choices != NULL; i++)
	{
		const ls_json_node *one = dereference(p->check, ls_node_element(all, i));
		const ls_json_node *constant =
			by.len > 0 ? ls_node_member(ls_node_member(ls_node_member(one, "properties"), by.data),
										"const")
					   : NULL;

		if (!fits_type(one, value))
			continue;
		if (constant == NULL || (chosen != NULL && are_same(constant, chosen)))
			return one;
		ls_document_append(p->check->arena, choices, (ls_json_node *) constant);
	}
	if (choices == NULL)
		return NULL;
	ls_buf_init(&message, p->check->arena);
	before = p->path.len;
	if (ls_node_count(choices) == 0)
		ls_buf_lit(&message, "has a type that is not possible here");
	else
	{
		enter_member(p, by);
		ls_buf_lit(&message, "must be ");
		describe_choices(&message, choices);
	}
	if (!message.failed)
		report(p, chosen == NULL && ls_node_count(choices) > 0 ? "required" : "invalid",
			   ls_str_make(message.data, message.len));
	leave(p, before);
	return NULL;
}

/* The value as it is to be kept; NULL when there is a problem. */
static ls_json_node *
check_value(place *p, const ls_json_node *schema, const ls_json_node *value)
{
	schema = dereference(p->check, schema);
	if (ls_node_member(schema, "oneOf") != NULL)
	{
		schema = find_alternative(p, schema, value);
		if (schema == NULL)
			return NULL;
	}
	if (!fits_type(schema, value))
	{
		report_type(p, schema);
		return NULL;
	}
	if (ls_node_is(value, LS_JSON_OBJECT))
		return check_object(p, schema, value);
	if (ls_node_is(value, LS_JSON_ARRAY))
		return check_array(p, schema, value);
	check_choice(p, schema, value);
	if (ls_node_is(value, LS_JSON_STRING))
		check_string(p, schema, ls_node_string(value));
	else
		check_number(p, schema, value);
	return (ls_json_node *) value;
}

static void
begin(place *p, ls_schema_check *check)
{
	*p = (place){.check = check};
	ls_buf_init(&check->problems, check->arena);
	check->n_problems = 0;
	ls_buf_init(&p->path, check->arena);
}

bool
ls_schema_check_names(ls_schema_check *check, const char *name, const ls_json_node *object)
{
	const ls_json_node *schema = ls_node_member(check->schemas, name);
	const ls_json_node *member;
	place p;
	void *at = NULL;
	ls_str member_name;

	begin(&p, check);
	while ((at = ls_node_next(object, at, &member_name, &member)) != NULL)
	{
		bool taken;
		size_t before;

		(void) find_property(schema, member_name, &taken);
		if (taken)
			continue;
		before = enter_member(&p, member_name);
		report_unknown(&p, schema, member_name);
		leave(&p, before);
	}
	return check->n_problems == 0;
}

ls_json_node *
ls_schema_apply(ls_schema_check *check, const char *name, const ls_json_node *document)
{
	const ls_json_node *schema = ls_node_member(check->schemas, name);
	place p;
	ls_json_node *checked;

	begin(&p, check);
	if (schema == NULL)
		return NULL;
	checked = check_value(&p, schema, document);
	return check->n_problems == 0 && !ls_arena_failed(check->arena) ? checked : NULL;
}

const ls_json_node *
ls_document_merge(const ls_json_node *document, const ls_json_node *patch, ls_arena *arena)
{
	ls_json_node *merged;
	const ls_json_node *value;
	void *at = NULL;
	ls_str name;

	if (!ls_node_is(patch, LS_JSON_OBJECT))
		return patch;
	merged = ls_document_make(arena, "{}");
	while (merged != NULL && (at = ls_node_next(document, at, &name, &value)) != NULL)
	{
		if (ls_node_member(patch, name.data) == NULL)
			ls_document_set(arena, merged, name.data, (ls_json_node *) value);
	}
	at = NULL;
	while (merged != NULL && (at = ls_node_next(patch, at, &name, &value)) != NULL)
	{
		if (!ls_node_is(value, LS_JSON_NULL))
			ls_document_set(arena, merged, name.data,
							(ls_json_node *) ls_document_merge(ls_node_member(document, name.data),
															   value, arena));
	}
	return merged;
}
