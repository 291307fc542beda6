/*-------------------------------------------------------------------------
 *
 * program.c
 *	  Reads a program from bytes, which anyone may have made (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/engine/engine_internal.h"

#include <math.h>

#include "src/engine/text.h"

typedef struct reading
{
	ls_arena *arena;
	ls_reader r;
	ls_engine_program *program;
	uint32_t nodes;
	const char *error;
} reading;

/* How many arguments the functions take. */
static const struct
{
	uint8_t least;
	uint8_t most; /* 0: any number */
} arguments[LS_CALLS] = {
	[LS_CALL_LOWER] = {1, 1},    [LS_CALL_UPPER] = {1, 1},    [LS_CALL_TRIM] = {1, 1},
	[LS_CALL_LEN] = {1, 1},      [LS_CALL_SUBSTR] = {2, 3},   [LS_CALL_REPLACE] = {3, 3},
	[LS_CALL_CONCAT] = {1, 0},   [LS_CALL_COALESCE] = {1, 0}, [LS_CALL_IF] = {2, 3},
	[LS_CALL_CASE] = {2, 0},     [LS_CALL_ROUND] = {1, 2},    [LS_CALL_FLOOR] = {1, 1},
	[LS_CALL_CEIL] = {1, 1},     [LS_CALL_ABS] = {1, 1},      [LS_CALL_TONUMBER] = {1, 1},
	[LS_CALL_TOSTRING] = {1, 1}, [LS_CALL_NOW] = {0, 0},      [LS_CALL_LIKE] = {2, 2},
	[LS_CALL_SPLIT] = {2, 2},    [LS_CALL_MVCOUNT] = {1, 1},  [LS_CALL_MVINDEX] = {2, 3},
	[LS_CALL_MVJOIN] = {2, 2},   [LS_CALL_STRFTIME] = {2, 2}, [LS_CALL_STRPTIME] = {2, 2},
	[LS_CALL_BIN] = {2, 2},
};

static ls_engine_node *
refuse(reading *in, const char *error)
{
	if (in->error == NULL)
		in->error = error;
	return NULL;
}

/* A constant as a column of one cell. */
static bool
set_literal(reading *in, ls_engine_node *node, ls_scalar value)
{
	if (!ls_values_make(in->arena, 1, &node->literal))
		return false;
	node->literal.constant = true;
	ls_values_put(&node->literal, 0, &value);
	return true;
}

/* Of a leaf: its value, or where it is. */
static bool
read_leaf(reading *in, ls_engine_node *node)
{
	ls_engine_program *program = in->program;
	ls_scalar value = {.kind = LS_SCALAR_NULL};
	uint64_t number;
	double d;

	switch (node->op)
	{
		case LS_OP_FIELD:
		case LS_OP_VALUE:
			number = ls_read_varint(&in->r);
			if (number >= (node->op == LS_OP_FIELD ? program->n_fields : program->n_values))
				return refuse(in, "names what it does not have") != NULL;
			node->number = (uint32_t) number;
			node->depends = UINT64_C(1) << (number & 63);
			if (node->op == LS_OP_VALUE)
			{
				node->depends = program->values[number]->depends;
				node->depth = program->values[number]->depth;
				node->named = true;
			}
			return true;
		case LS_OP_FALSE:
		case LS_OP_TRUE:
			value = ls_scalar_boolean(node->op == LS_OP_TRUE);
			break;
		case LS_OP_INTEGER:
			value = ls_scalar_integer(ls_read_zigzag(&in->r));
			break;
		case LS_OP_DOUBLE:
			number = ls_read_u64(&in->r);
			memcpy(&d, &number, sizeof(d));
			if (!isfinite(d))
				return refuse(in, "has a number that is not finite") != NULL;
			value = ls_scalar_double(d);
			break;
		case LS_OP_TEXT:
			value.kind = LS_SCALAR_STRING;
			value.text = ls_arena_strdup(in->arena, ls_read_lstr(&in->r));
			if (value.text.data == NULL)
				return false;
			if (!ls_utf8_valid(value.text.data, value.text.len) ||
				value.text.len > LS_ENGINE_MAX_TEXT)
				return refuse(in, "has a text that is none") != NULL;
			break;
		default:
			break;
	}
	return set_literal(in, node, value);
}

/* Reads what an operator has before its arguments. */
static bool
read_operator(reading *in, ls_engine_node *node)
{
	uint64_t n = 2;
	uint8_t byte;

	switch (node->op)
	{
		case LS_OP_NEGATE:
		case LS_OP_NOT:
			n = 1;
			break;
		case LS_OP_COMPARE:
			byte = ls_read_u8(&in->r);
			node->texts = (byte & LS_COMPARE_TEXTS) != 0;
			node->times = (byte & LS_COMPARE_TIMES) != 0;
			byte &= (uint8_t) ~(LS_COMPARE_TEXTS | LS_COMPARE_TIMES);
			if (byte > LS_COMPARE_GE)
				return refuse(in, "has an unknown comparison") != NULL;
			node->compare = (ls_engine_compare) byte;
			break;
		case LS_OP_IS_NULL:
			node->negated = ls_read_u8(&in->r) != 0;
			n = 1;
			break;
		case LS_OP_CONTAINS:
		case LS_OP_MATCHES:
			node->negated = ls_read_u8(&in->r) != 0;
			break;
		case LS_OP_IN:
			node->negated = ls_read_u8(&in->r) != 0;
			n = ls_read_varint(&in->r);
			if (n > (uint64_t) (in->r.end - in->r.pos))
				return refuse(in, "is cut off") != NULL;
			node->item_texts = ls_new_array(in->arena, bool, n + 1);
			if (node->item_texts == NULL)
				return false;
			for (uint64_t i = 0; i < n; i++)
				node->item_texts[i] = ls_read_u8(&in->r) != 0;
			n++;
			break;
		case LS_OP_AND:
		case LS_OP_OR:
			n = ls_read_varint(&in->r);
			break;
		case LS_OP_CALL:
			byte = ls_read_u8(&in->r);
			if (byte >= LS_CALLS)
				return refuse(in, "has an unknown function") != NULL;
			node->function = (ls_engine_function) byte;
			n = ls_read_varint(&in->r);
			if (n < arguments[byte].least ||
				(arguments[byte].most > 0 && n > arguments[byte].most) ||
				(byte == LS_CALL_NOW && n > 0))
				return refuse(in, "has a function with other arguments") != NULL;
			break;
		default: /* of two arguments */
			break;
	}
	/* Each argument takes a byte. */
	if (in->r.failed || n > (uint64_t) (in->r.end - in->r.pos))
		return refuse(in, "is cut off") != NULL;
	node->n_args = (uint32_t) n;
	node->args = ls_new_array(in->arena, ls_engine_node *, n + 1);
	return node->args != NULL;
}

/* len() of a field becomes a field of its own, which may be read without the texts. */
static void
read_as_length(ls_engine_program *program, ls_engine_node *node)
{
	uint32_t of = node->args[0]->number;
	uint32_t i = 0;

	while (i < program->n_lengths && program->lengths[i] != of)
		i++;
	if (program->n_fields + i >= LS_ENGINE_MAX_FIELDS)
		return;
	program->lengths[i] = of;
	program->n_lengths = i < program->n_lengths ? program->n_lengths : i + 1;
	node->op = LS_OP_FIELD;
	node->n_args = 0;
	node->number = program->n_fields + i;
	node->depends = UINT64_C(1) << node->number;
}

/* Constants that are prepared once, and those that must have a certain form. */
static bool
prepare(reading *in, ls_engine_node *node)
{
	const ls_engine_node *second = node->n_args == 2 ? node->args[1] : NULL;
	bool timed = node->op == LS_OP_CALL &&
				 (node->function == LS_CALL_STRFTIME || node->function == LS_CALL_STRPTIME);
	const char *error = NULL;
	ls_str text;

	if (second == NULL || second->op != LS_OP_TEXT)
		return !timed || refuse(in, "has a format that is no text") != NULL;
	text = second->literal.texts[0];
	if (timed && ls_time_format_error(text, node->function == LS_CALL_STRPTIME) != NULL)
		return refuse(in, "has a format of times that is none") != NULL;
	if (node->op == LS_OP_MATCHES)
	{
		node->regex = ls_regex_compile(in->arena, text, false, &error);
		if (node->regex == NULL)
			return refuse(in, error) != NULL;
	}
	if (node->op == LS_OP_CONTAINS)
		node->has_needle = ls_needle_make(in->arena, text, &node->needle);
	return node->op != LS_OP_CONTAINS || node->has_needle;
}

/* NULL: *error is set, or memory is short. */
static ls_engine_node *
read_expression(reading *in, int depth)
{
	ls_engine_node *node = ls_new(in->arena, ls_engine_node);
	uint8_t op = ls_read_u8(&in->r);

	if (node == NULL)
		return NULL;
	if (in->r.failed)
		return refuse(in, "is cut off");
	if (op >= LS_OPS)
		return refuse(in, "has an unknown operator");
	if (depth > LS_ENGINE_MAX_DEPTH || ++in->nodes > LS_ENGINE_MAX_NODES)
		return refuse(in, "is too complex");
	node->op = (ls_engine_op) op;
	if (op <= LS_OP_TEXT)
		return read_leaf(in, node) && !in->r.failed ? node : refuse(in, "is cut off");
	if (!read_operator(in, node))
		return NULL;
	for (uint32_t i = 0; i < node->n_args; i++)
	{
		node->args[i] = read_expression(in, depth + 1);
		if (node->args[i] == NULL)
			return NULL;
		node->depends |= node->args[i]->depends;
		node->named = node->named || node->args[i]->named;
		if (node->args[i]->depth >= node->depth)
			node->depth = node->args[i]->depth + 1;
	}
	if (node->depth > LS_ENGINE_MAX_CHAIN)
		return refuse(in, "is too complex");
	if (node->op == LS_OP_CALL && node->function == LS_CALL_LEN &&
		node->args[0]->op == LS_OP_FIELD && node->args[0]->number < in->program->n_fields)
		read_as_length(in->program, node);
	return prepare(in, node) ? node : NULL;
}

static bool
read_step(reading *in, ls_engine_instruction *step)
{
	uint8_t kind = ls_read_u8(&in->r);

	if (kind > LS_STEP_WHERE)
		return refuse(in, "has an unknown step") != NULL;
	step->step = (ls_engine_step) kind;
	step->expression = read_expression(in, 1);
	if (step->expression == NULL)
		return false;
	if (step->step == LS_STEP_VALUE)
	{
		step->value = in->program->n_values;
		in->program->values[in->program->n_values++] = step->expression;
	}
	return true;
}

static bool
read_head(reading *in)
{
	ls_engine_program *program = in->program;
	uint64_t n;

	if (ls_read_u8(&in->r) != LS_ENGINE_VERSION)
		return refuse(in, "has another version") != NULL;
	program->zone = ls_arena_strdup(in->arena, ls_read_lstr(&in->r));
	n = ls_read_varint(&in->r);
	if (n > LS_ENGINE_MAX_FIELDS)
		return refuse(in, "reads too many fields") != NULL;
	for (; program->n_fields < n; program->n_fields++)
		program->fields[program->n_fields] = ls_arena_strdup(in->arena, ls_read_lstr(&in->r));
	n = ls_read_varint(&in->r);
	if (n > LS_ENGINE_MAX_STEPS)
		return refuse(in, "has too many steps") != NULL;
	program->n_steps = (uint32_t) n;
	program->steps = ls_new_array(in->arena, ls_engine_instruction, n + 1);
	program->values = ls_new_array(in->arena, ls_engine_node *, n + 1);
	if (memchr(program->zone.data == NULL ? "" : program->zone.data, '\0', program->zone.len) !=
		NULL)
		return refuse(in, "has a time zone that is none") != NULL;
	return program->values != NULL && !ls_arena_failed(in->arena);
}

ls_engine_program *
ls_engine_read(ls_arena *arena, ls_str bytes, const char **error)
{
	reading in = {.arena = arena, .r = ls_reader_make(bytes.data, bytes.len)};
	bool read;

	in.program = ls_new(arena, ls_engine_program);
	read = in.program != NULL && read_head(&in);
	for (uint32_t i = 0; read && i < in.program->n_steps; i++)
		read = read_step(&in, &in.program->steps[i]);
	if (read && in.error == NULL && (in.r.failed || in.r.pos != in.r.end))
		in.error = "is cut off, or too long";
	if (read && in.error == NULL && !ls_arena_failed(arena))
		return in.program;
	*error = in.error == NULL || ls_arena_failed(arena) ? "takes too much memory" : in.error;
	return NULL;
}

uint32_t
ls_engine_fields(const ls_engine_program *program)
{
	return program->n_fields;
}

ls_str
ls_engine_field(const ls_engine_program *program, uint32_t field)
{
	return program->fields[field];
}

uint32_t
ls_engine_values(const ls_engine_program *program)
{
	return program->n_values;
}

ls_str
ls_engine_zone(const ls_engine_program *program)
{
	return program->zone;
}
