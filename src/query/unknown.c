/*-------------------------------------------------------------------------
 *
 * unknown.c
 *	  Warnings about attributes that no event has.
 *
 * Which attributes there are is known from the headers of parts, so this is
 * looked at only where it can tell something: when a query is validated, and
 * when a search found nothing or made a table.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"

/* Parts of the range; with more of them nothing is said. */
#define MOST_PARTS 200

/* In so few of them most names are found. */
#define FIRST_PARTS 4
#define MOST_NAMES 64

/* A field that the query reads before a stage makes it. */
typedef struct reading
{
	const ls_query_field *field;
	const ls_query_field *before; /* of a subtraction: the name before the minus */
	bool right;                   /* of a comparison */
} reading;

typedef struct collector
{
	reading items[MOST_NAMES];
	int n;
	ls_str made[MOST_NAMES]; /* by stages */
	int n_made;
} collector;

static bool
is_made(const collector *c, const ls_query_field *field)
{
	for (int i = 0; i < c->n_made; i++)
	{
		/* What is inside of a field that was made is made, too. */
		if (ls_str_eq(c->made[i], field->name) || ls_str_eq(c->made[i], field->parts[0]))
			return true;
	}
	return false;
}

static void
add(collector *c, const ls_query_field *field, const ls_query_field *before, bool right)
{
	if (field == NULL || field->builtin != LS_QUERY_NOT_BUILTIN || field->n_parts == 0 ||
		c->n == MOST_NAMES || is_made(c, field))
		return;
	for (int i = 0; i < c->n; i++)
	{
		if (ls_query_field_eq(c->items[i].field, field) && before == NULL)
			return;
	}
	c->items[c->n++] = (reading){field, before, right};
}

static void
make(collector *c, ls_str name)
{
	if (c->n_made < MOST_NAMES)
		c->made[c->n_made++] = name;
}

static void
add_fields(collector *c, const ls_query_fields *fields)
{
	for (uint32 i = 0; i < fields->n; i++)
		add(c, fields->items[i], NULL, false);
}

static void
add_filter(collector *c, const ls_query_filter *filter)
{
	add(c, filter->field, NULL, false);
	for (uint32 i = 0; i < filter->n_children; i++)
		add_filter(c, filter->children[i]);
}

static void
add_expression(collector *c, const ls_query_expr *expr, const ls_query_field *before, bool right)
{
	add(c, expr->field, before, right);
	for (uint32 i = 0; i < expr->n_args; i++)
	{
		const ls_query_expr *left = i > 0 ? expr->args[i - 1] : NULL;
		bool joined = expr->kind == LS_QUERY_EXPR_SUBTRACT && left != NULL &&
					  left->kind == LS_QUERY_EXPR_FIELD &&
					  left->span.end + 1 == expr->args[i]->span.start;

		add_expression(c, expr->args[i], joined ? left->field : NULL,
					   expr->kind == LS_QUERY_EXPR_COMPARE && i > 0);
	}
}

/* What a stage reads, then what it makes; false when a table begins there. */
static bool
add_stage(collector *c, const ls_query_stage *stage)
{
	if (stage->condition != NULL)
		add_expression(c, stage->condition, NULL, false);
	if (stage->kind != LS_QUERY_FIELDS || !stage->exclude)
		add_fields(c, &stage->fields);
	add_fields(c, &stage->by);
	add(c, stage->field, NULL, false);
	for (uint32 i = 0; i < stage->keys.n; i++)
		add(c, stage->keys.items[i]->field, NULL, false);
	for (uint32 i = 0; i < stage->aggregates.n; i++)
	{
		if (stage->aggregates.items[i]->arg != NULL)
			add_expression(c, stage->aggregates.items[i]->arg, NULL, false);
	}
	for (uint32 i = 0; i < stage->assigns.n; i++)
	{
		const ls_query_assign *assign = stage->assigns.items[i];

		add(c, assign->from, NULL, false);
		if (assign->value != NULL)
			add_expression(c, assign->value, NULL, false);
		make(c, assign->to->name);
	}
	for (uint32 i = 0; i < stage->n_groups; i++)
		make(c, stage->groups[i]->name);
	switch (stage->kind)
	{
		case LS_QUERY_STATS:
		case LS_QUERY_TOP:
		case LS_QUERY_RARE:
		case LS_QUERY_TIMECHART:
			return false;
		case LS_QUERY_PATTERNS:
			make(c, LS_STR("template"));
			return stage->label;
		default:
			return true;
	}
}

/* An attribute that is spelt like the name, else a field that every event can have; or empty. */
static ls_str
closest_name(ls_str name, const ls_field_names *names)
{
	ls_str builtins[LS_QUERY_TEMPLATE_ID + 1] = {{NULL, 0}};
	int closest = ls_query_closest(name, names->items, (uint32) names->n);

	if (closest >= 0)
		return names->items[closest];
	/* attributes.level is not spelt wrong, and ip is not id. */
	if (name.len <= 3 || ls_query_builtin_find(name) != LS_QUERY_NOT_BUILTIN)
		return LS_STR("");
	for (int i = LS_QUERY_EVENT; i <= LS_QUERY_TEMPLATE_ID; i++)
		builtins[i] = ls_str_of_cstring(ls_query_builtin_name((ls_query_builtin) i));
	closest = ls_query_closest(name, builtins, lengthof(builtins));
	return closest >= 0 ? builtins[closest] : LS_STR("");
}

static void
warn_unknown(ls_search *s, const reading *r, const ls_field_names *names)
{
	ls_str name = r->field->name;
	int shown = (int) ls_utf8_prefix_chars(name.data, name.len, 60);
	ls_str closest = closest_name(name, names);

	if (closest.len > 0)
		ls_query_warn(s->query, s->arena, "UNKNOWN_FIELD", r->field->span,
					  "no event has the field %.*s: did you mean %.*s?", shown, name.data,
					  (int) closest.len, closest.data);
	else if (r->right)
		ls_query_warn(s->query, s->arena, "UNKNOWN_FIELD", r->field->span,
					  "no event has the field %.*s: to compare with the text write \"%.*s\"", shown,
					  name.data, shown, name.data);
	else
		ls_query_warn(s->query, s->arena, "UNKNOWN_FIELD", r->field->span,
					  "no event has the field %.*s", shown, name.data);
}

static bool
all_known(const collector *c, const ls_field_names *names)
{
	for (int i = 0; i < c->n; i++)
	{
		if (c->items[i].before != NULL || !ls_field_names_have_path(names, c->items[i].field))
			return false;
	}
	return true;
}

void
ls_search_warn_unknown(ls_search *s)
{
	collector *c = palloc0(sizeof(collector));
	ls_field_names names;

	if (s->query->filter != NULL)
		add_filter(c, s->query->filter);
	for (uint32 i = 0; i < s->query->stages.n; i++)
	{
		if (!add_stage(c, s->query->stages.items[i]))
			break;
	}
	if (c->n == 0 || s->n_indexes == 0 || s->from >= s->to)
		return;
	names = ls_search_field_names(s, FIRST_PARTS);
	if (names.n > 0 && all_known(c, &names))
		return;
	names = ls_search_field_names(s, MOST_PARTS + 1);
	/* Where there are no events there is no wrong name. */
	for (int i = 0; i < c->n && names.complete && names.n > 0; i++)
	{
		const reading *r = &c->items[i];

		if (r->before != NULL)
		{
			ls_str joined = ls_str_of_cstring(psprintf("%s-%s", ls_cstring_of_str(r->before->name),
													   ls_cstring_of_str(r->field->name)));

			if (ls_field_names_have(&names, joined))
			{
				ls_query_warn(s->query, s->arena, "MINUS_IN_NAME", r->field->span,
							  "this is a subtraction: the field is written `%.*s`",
							  (int) ls_utf8_prefix_chars(joined.data, joined.len, 60), joined.data);
				continue;
			}
		}
		if (!ls_field_names_have_path(&names, r->field))
			warn_unknown(s, r, &names);
	}
}
