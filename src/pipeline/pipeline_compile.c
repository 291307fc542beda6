/*-------------------------------------------------------------------------
 *
 * pipeline_compile.c
 *	  From the definition of an organization's pipelines to a program (pure).
 *
 * The schema of the API has checked types and lengths before; what only a compiler finds (patterns,
 * names that cannot be changed) is said here, with its path.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pipeline/pipeline_internal.h"

#include "src/base/json_document.h"

#define MAX_DEPTH 16

typedef struct compiler
{
	ls_arena *arena;
	ls_program *program;
	const char *error;
	const char *path;
	uint32_t pipeline;
	uint32_t at; /* the processor */
} compiler;

/* Says what is wrong; false. */
static bool
wrong(compiler *c, const char *member, const char *error)
{
	ls_buf path;

	if (c->error != NULL)
		return false;
	ls_buf_init(&path, c->arena);
	if (c->at == UINT32_MAX)
		ls_buf_printf(&path, "%s", member);
	else
		ls_buf_printf(&path, "processors[%u]%s%s", c->at, member[0] != '\0' ? "." : "", member);
	ls_buf_char(&path, '\0');
	c->path = path.failed ? member : path.data;
	c->error = error;
	return false;
}

static bool
out_of_memory(compiler *c)
{
	return wrong(c, "", "out of memory");
}

static bool
is_true(const ls_json_node *node)
{
	return ls_node_is(node, LS_JSON_TRUE);
}

static bool
read_hex(ls_str hex, ls_arena *arena, ls_str *bytes)
{
	char *out = ls_arena_alloc(arena, hex.len / 2 + 1);

	if (out == NULL || hex.len % 2 != 0)
		return false;
	for (size_t i = 0; i < hex.len / 2; i++)
	{
		int high = ls_hex_digit(hex.data[2 * i]);
		int low = ls_hex_digit(hex.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (char) (high << 4 | low);
	}
	*bytes = ls_str_make(out, hex.len / 2);
	return true;
}

/* A filter; *filter NULL: there is none. */
static bool
read_filter(compiler *c, const ls_json_node *object, const char *member, ls_event_filter **filter)
{
	ls_str hex = ls_node_member_string(object, member);
	ls_filter *read = NULL;
	const char *error;
	ls_str bytes;

	*filter = NULL;
	if (hex.len == 0)
		return true;
	if (!read_hex(hex, c->arena, &bytes) || !ls_filter_deserialize(c->arena, bytes, &read))
		return wrong(c, member, "not a filter");
	if (read == NULL)
		return true;
	*filter = ls_event_filter_make(c->arena, read, &c->program->regexes, &error);
	return *filter != NULL || wrong(c, member, error != NULL ? error : "out of memory");
}

/* The name in a member; `changes`: the field is set. */
static bool
read_name(compiler *c, const ls_json_node *object, const char *member, const char *otherwise,
		  bool changes, event_name *name)
{
	ls_str text = ls_node_member_string(object, member);

	if (text.len == 0)
		text = ls_str_make(otherwise, strlen(otherwise));
	if (!ls_event_name_make(c->arena, text, name))
		return out_of_memory(c);
	if (changes && name->kind == NAME_FIELD && name->field == LS_FIELD_INDEX)
		return wrong(c, member, "cannot be changed; a processor of type route does that");
	if (changes && name->kind == NAME_ATTRIBUTE && name->key.len > 0 && name->key.data[0] == '_')
		return wrong(c, member, "names that begin with _ are the service's own");
	return name->kind != NAME_ALL ||
		   wrong(c, member, "* means all fields, which only a mask can take");
}

/* ---- patterns ---- */

static ls_str
custom_pattern(void *context, ls_str name)
{
	void *at = NULL;
	const ls_json_node *value;
	ls_str key;

	while ((at = ls_node_next(context, at, &key, &value)) != NULL)
	{
		if (ls_str_eq(key, name))
			return ls_node_string(value);
	}
	return LS_STR("");
}

static bool
add_capture(compiler *c, processor *p, uint32_t number, ls_str field, char type)
{
	capture *added = &p->captures[p->n_captures++];

	added->number = number;
	added->type = type;
	if (!ls_event_name_make(c->arena, field, &added->name))
		return out_of_memory(c);
	if (added->name.kind == NAME_ALL ||
		(added->name.kind == NAME_FIELD && added->name.field == LS_FIELD_INDEX) ||
		(added->name.kind == NAME_ATTRIBUTE && added->name.key.len > 0 &&
		 added->name.key.data[0] == '_'))
		return wrong(c, "pattern", "a group has a name that cannot be set");
	/* The time of a line that cannot be read is still worth something. */
	return true;
}

static bool
read_pattern(compiler *c, processor *p, const ls_json_node *node, bool grok)
{
	ls_str pattern = ls_node_member_string(node, "pattern");
	ls_grok_field *fields = NULL;
	const char *error = NULL;
	uint32_t n_fields = 0;
	uint32_t number;
	const char *name;

	if (grok)
	{
		fields = ls_new_array(c->arena, ls_grok_field, LS_GROK_MAX_FIELDS);
		if (fields == NULL)
			return out_of_memory(c);
		if (!ls_grok_expand(pattern, custom_pattern,
							(void *) ls_node_member(node, "customPatterns"), c->arena, &pattern,
							fields, &n_fields, &error))
			return wrong(c, "pattern", error);
	}
	p->regex = ls_regex_compile_kept(c->arena, pattern, &c->program->regexes, &error);
	if (p->regex == NULL)
		return wrong(c, "pattern", error);
	p->captures = ls_new_array(c->arena, capture, LS_GROK_MAX_FIELDS);
	if (p->captures == NULL)
		return out_of_memory(c);
	for (uint32_t i = 0; ls_regex_named(p->regex, i, &number, &name); i++)
	{
		ls_str field = ls_str_make(name, strlen(name));
		char type = 's';

		for (uint32_t f = 0; f < n_fields; f++)
		{
			if (strcmp(fields[f].group, name) == 0)
			{
				field = fields[f].name;
				type = fields[f].type;
			}
		}
		if (p->n_captures >= LS_GROK_MAX_FIELDS)
			return wrong(c, "pattern", "has too many groups");
		if (!add_capture(c, p, number, field, type))
			return false;
	}
	return p->type == PROCESSOR_MASK || p->n_captures > 0 ||
		   wrong(c, "pattern",
				 grok ? "names no field: %{PATTERN:field}" : "has no named group: (?<field>...)");
}

/* ---- set ---- */

static bool
read_template(compiler *c, processor *p, ls_str text)
{
	size_t begin = 0;

	p->parts = ls_new_array(c->arena, template_part, 2 * 64 + 1);
	if (p->parts == NULL)
		return out_of_memory(c);
	for (size_t i = 0; i + 1 < text.len; i++)
	{
		const char *close;

		if (text.data[i] != '$' || text.data[i + 1] != '{')
			continue;
		close = memchr(text.data + i, '}', text.len - i);
		if (close == NULL)
			return wrong(c, "value", "has ${ without a }");
		if (p->n_parts >= 2 * 64)
			return wrong(c, "value", "names more than 64 fields");
		p->parts[p->n_parts++].text = ls_str_make(text.data + begin, i - begin);
		p->parts[p->n_parts].is_field = true;
		if (!ls_event_name_make(
				c->arena, ls_str_make(text.data + i + 2, (size_t) (close - text.data) - i - 2),
				&p->parts[p->n_parts++].name))
			return out_of_memory(c);
		begin = (size_t) (close - text.data) + 1;
		i = begin - 1;
	}
	p->parts[p->n_parts++].text = ls_str_make(text.data + begin, text.len - begin);
	p->is_template = p->n_parts > 1;
	return true;
}

static bool
read_value(compiler *c, processor *p, const ls_json_node *node)
{
	double number;
	ls_buf buf;

	p->value.kind = LS_KIND_NULL;
	if (ls_node_is(node, LS_JSON_STRING))
	{
		p->value = (event_value){LS_KIND_STRING, ls_node_string(node), 0};
		return read_template(c, p, p->value.text);
	}
	if (is_true(node) || ls_node_is(node, LS_JSON_FALSE))
		p->value = (event_value){LS_KIND_BOOLEAN, LS_STR(""), is_true(node)};
	else if (ls_node_integer(node, &p->value.integer))
		p->value.kind = LS_KIND_INTEGER;
	else if (ls_node_number(node, &number))
	{
		ls_buf_init(&buf, c->arena);
		ls_document_write(&buf, node);
		if (buf.failed)
			return out_of_memory(c);
		p->value = (event_value){LS_KIND_NUMBER, ls_str_make(buf.data, buf.len), 0};
	}
	return true;
}

/* ---- mask ---- */

static bool
read_mask(compiler *c, processor *p, const ls_json_node *node)
{
	ls_str preset = ls_node_member_string(node, "preset");
	ls_str field = ls_node_member_string(node, "field");

	if (!ls_event_name_make(c->arena, field, &p->name))
		return out_of_memory(c);
	if (p->name.kind == NAME_TIMESTAMP ||
		(p->name.kind == NAME_FIELD && p->name.field == LS_FIELD_INDEX))
		return wrong(c, "field", "cannot be masked");
	p->replacement = LS_STR("***");
	if (ls_node_is(ls_node_member(node, "replacement"), LS_JSON_STRING))
		p->replacement = ls_node_member_string(node, "replacement");
	p->hash = is_true(ls_node_member(node, "hash"));
	if (preset.len > 0)
	{
		if (ls_node_member_string(node, "pattern").len > 0)
			return wrong(c, "preset", "cannot be given with a pattern");
		p->finder = ls_mask_preset(preset);
		return p->finder != NULL || wrong(c, "preset", "is not a preset");
	}
	if (ls_node_member_string(node, "pattern").len == 0)
		return wrong(c, "pattern", "is required, or a preset");
	return read_pattern(c, p, node, false);
}

/* ---- processors ---- */

static const struct
{
	const char *name;
	processor_type type;
} types[] = {{"parse_json", PROCESSOR_PARSE_JSON},
			 {"parse_regex", PROCESSOR_PARSE_REGEX},
			 {"parse_grok", PROCESSOR_PARSE_REGEX},
			 {"parse_kv", PROCESSOR_PARSE_KV},
			 {"set", PROCESSOR_SET},
			 {"remove", PROCESSOR_REMOVE},
			 {"rename", PROCESSOR_RENAME},
			 {"copy", PROCESSOR_COPY},
			 {"convert", PROCESSOR_CONVERT},
			 {"mask", PROCESSOR_MASK},
			 {"drop_if", PROCESSOR_DROP_IF},
			 {"sample", PROCESSOR_SAMPLE},
			 {"route", PROCESSOR_ROUTE},
			 {"limit", PROCESSOR_LIMIT}};

static bool
read_names(compiler *c, processor *p, const ls_json_node *list)
{
	size_t n = ls_node_count(list);

	p->names = ls_new_array(c->arena, event_name, n + 1);
	if (p->names == NULL)
		return out_of_memory(c);
	for (size_t i = 0; i < n; i++)
	{
		event_name *name = &p->names[p->n_names++];

		if (!ls_event_name_make(c->arena, ls_node_string(ls_node_element(list, i)), name))
			return out_of_memory(c);
		if (name->kind == NAME_ALL || name->kind == NAME_TIMESTAMP ||
			(name->kind == NAME_FIELD &&
			 (name->field == LS_FIELD_EVENT || name->field == LS_FIELD_INDEX)))
			return wrong(c, "fields", "event, timestamp and index cannot be removed");
	}
	return true;
}

static bool
read_move(compiler *c, processor *p, const ls_json_node *node)
{
	if (!read_name(c, node, "from", "", false, &p->name) ||
		!read_name(c, node, "to", "", true, &p->to))
		return false;
	return p->type == PROCESSOR_COPY || p->name.kind == NAME_ATTRIBUTE ||
		   (p->name.kind == NAME_FIELD && p->name.field != LS_FIELD_EVENT &&
			p->name.field != LS_FIELD_INDEX) ||
		   wrong(c, "from", "event, timestamp and index cannot be renamed; copy them");
}

static bool
read_key(compiler *c, processor *p, const ls_json_node *node)
{
	p->has_key = ls_node_member_string(node, "key").len > 0;
	return !p->has_key || read_name(c, node, "key", "", false, &p->name);
}

static bool
read_sample(compiler *c, processor *p, const ls_json_node *node)
{
	double rate = 1;

	(void) ls_node_number(ls_node_member(node, "rate"), &rate);
	p->keep_all = rate >= 1;
	p->keep_below = rate <= 0 || rate >= 1 ? 0 : (uint64_t) (rate * 18446744073709551616.0);
	return read_key(c, p, node);
}

static bool
read_limit(compiler *c, processor *p, const ls_json_node *node)
{
	ls_str id = c->program->pipelines[c->pipeline].id;
	int64_t most = 0;

	(void) ls_node_integer(ls_node_member(node, "perMinute"), &most);
	p->per_minute = most < 0 ? 0 : most > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t) most;
	p->limiter = ls_hash64(id.data, id.len, c->at + 1);
	return read_key(c, p, node);
}

static bool
read_separators(compiler *c, processor *p, const ls_json_node *node)
{
	ls_str pair = ls_node_member_string(node, "pairSeparator");
	ls_str key = ls_node_member_string(node, "keySeparator");

	p->pair_separator = pair.len > 0 ? pair : LS_STR(" ");
	p->key_separator = key.len > 0 ? key : LS_STR("=");
	p->prefix = ls_node_member_string(node, "prefix");
	if (p->prefix.len > 0 && p->prefix.data[0] == '_')
		return wrong(c, "prefix", "names that begin with _ are the service's own");
	if (ls_str_eq(p->pair_separator, p->key_separator))
		return wrong(c, "keySeparator", "must differ from pairSeparator");
	return read_name(c, node, "field", "event", false, &p->name);
}

static bool
read_convert(compiler *c, processor *p, const ls_json_node *node)
{
	static const char *const names[] = {"number", "string", "boolean", "timestamp"};
	ls_str to = ls_node_member_string(node, "to");

	p->format = ls_node_member_string(node, "format");
	for (size_t i = 0; i < 4; i++)
	{
		if (ls_str_eq(to, ls_str_make(names[i], strlen(names[i]))))
		{
			p->convert = (convert_to) i;
			return read_name(c, node, "field", "", true, &p->name);
		}
	}
	return wrong(c, "to", "is not a type");
}

static bool
read_parse_json(compiler *c, processor *p, const ls_json_node *node)
{
	ls_str target = ls_node_member_string(node, "target");

	p->overwrite = is_true(ls_node_member(node, "overwrite"));
	p->into_attributes = target.len == 0 || ls_str_eq(target, LS_STR("attributes"));
	return read_name(c, node, "field", "event", false, &p->name) &&
		   (p->into_attributes || read_name(c, node, "target", "", true, &p->to));
}

static bool
read_processor(compiler *c, processor *p, const ls_json_node *node)
{
	ls_str type = ls_node_member_string(node, "type");
	ls_str failure = ls_node_member_string(node, "onFailure");
	size_t i = 0;

	while (i < sizeof(types) / sizeof(types[0]) &&
		   !ls_str_eq(type, ls_str_make(types[i].name, strlen(types[i].name))))
		i++;
	if (i == sizeof(types) / sizeof(types[0]))
		return wrong(c, "type", "is not a processor");
	p->type = types[i].type;
	p->type_name = ls_str_make(types[i].name, strlen(types[i].name));
	p->on_failure = ls_str_eq(failure, LS_STR("keep"))   ? ON_FAILURE_KEEP
					: ls_str_eq(failure, LS_STR("drop")) ? ON_FAILURE_DROP
														 : ON_FAILURE_TAG;
	if (!read_filter(c, node, "if", &p->condition))
		return false;
	switch (p->type)
	{
		case PROCESSOR_PARSE_JSON:
			return read_parse_json(c, p, node);
		case PROCESSOR_PARSE_REGEX:
			return read_name(c, node, "field", "event", false, &p->name) &&
				   read_pattern(c, p, node, ls_str_eq(type, LS_STR("parse_grok")));
		case PROCESSOR_PARSE_KV:
			return read_separators(c, p, node);
		case PROCESSOR_SET:
			return read_name(c, node, "field", "", true, &p->name) &&
				   read_value(c, p, ls_node_member(node, "value"));
		case PROCESSOR_REMOVE:
			return read_names(c, p, ls_node_member(node, "fields"));
		case PROCESSOR_RENAME:
		case PROCESSOR_COPY:
			return read_move(c, p, node);
		case PROCESSOR_CONVERT:
			return read_convert(c, p, node);
		case PROCESSOR_MASK:
			return read_mask(c, p, node);
		case PROCESSOR_DROP_IF:
			return read_filter(c, node, "filter", &p->filter) &&
				   (p->filter != NULL || wrong(c, "filter", "is required"));
		case PROCESSOR_SAMPLE:
			return read_sample(c, p, node);
		case PROCESSOR_ROUTE:
			p->index = ls_node_member_string(node, "index");
			return p->index.len > 0 && p->index.data[0] != '_'
					   ? true
					   : wrong(c, "index", "names that begin with _ are the service's own");
		case PROCESSOR_LIMIT:
			return read_limit(c, p, node);
	}
	return false;
}

static bool
read_pipeline(compiler *c, pipeline *made, const ls_json_node *node)
{
	const ls_json_node *list = ls_node_member(node, "processors");
	size_t n = ls_node_count(list);
	int64_t version = 0;

	c->at = UINT32_MAX;
	made->id = ls_node_member_string(node, "id");
	made->name = ls_node_member_string(node, "name");
	(void) ls_node_integer(ls_node_member(node, "version"), &version);
	made->version = (uint32_t) version;
	made->goes_on = is_true(ls_node_member(node, "continue"));
	if (!read_filter(c, node, "match", &made->match))
		return false;
	if (n > LS_PIPELINE_MAX_PROCESSORS)
		return wrong(c, "processors", "has more than 50 processors");
	made->processors = ls_new_array(c->arena, processor, n + 1);
	if (made->processors == NULL)
		return out_of_memory(c);
	for (c->at = 0; c->at < n; c->at++)
	{
		if (!read_processor(c, &made->processors[made->n_processors++],
							ls_node_element(list, c->at)))
			return false;
	}
	return true;
}

static bool
read_program(compiler *c, ls_str definition)
{
	const ls_json_node *root = ls_document_read(definition, MAX_DEPTH, c->arena);
	const ls_json_node *list = ls_node_member(root, "pipelines");
	size_t n = ls_node_count(list);
	ls_str key;

	c->at = UINT32_MAX;
	if (!ls_node_is(list, LS_JSON_ARRAY))
		return wrong(c, "", "not a definition of pipelines");
	key = ls_node_member_string(root, "key");
	c->program->has_key = key.len > 0;
	if (c->program->has_key)
	{
		if (!read_hex(key, c->arena, &key) || key.len != LS_SHA256_LENGTH)
			return wrong(c, "", "not a key");
		memcpy(c->program->key, key.data, LS_SHA256_LENGTH);
	}
	if (n > LS_PIPELINE_MAX)
		n = LS_PIPELINE_MAX;
	c->program->pipelines = ls_new_array(c->arena, pipeline, n + 1);
	if (c->program->pipelines == NULL)
		return out_of_memory(c);
	for (c->pipeline = 0; c->pipeline < n; c->pipeline++)
	{
		c->program->n_pipelines++;
		if (!read_pipeline(c, &c->program->pipelines[c->pipeline],
						   ls_node_element(list, c->pipeline)))
			return false;
	}
	return true;
}

ls_program *
ls_program_compile(ls_str definition, ls_arena *arena, const char **error, const char **path)
{
	compiler c = {.arena = arena};

	*path = "";
	*error = "out of memory";
	c.program = ls_new(arena, ls_program);
	if (c.program == NULL)
		return NULL;
	c.program->arena = arena;
	if (read_program(&c, definition) && !ls_arena_failed(arena))
	{
		*error = NULL;
		return c.program;
	}
	ls_program_free(c.program);
	if (c.error != NULL)
	{
		*error = c.error;
		*path = c.path;
	}
	return NULL;
}

void
ls_program_free(ls_program *program)
{
	ls_regex_set_free(&program->regexes);
}

bool
ls_program_failed(const ls_program *program)
{
	return ls_arena_failed(program->arena);
}

uint32_t
ls_program_pipelines(const ls_program *program)
{
	return program->n_pipelines;
}

ls_str
ls_program_pipeline_id(const ls_program *program, uint32_t n)
{
	return program->pipelines[n].id;
}

uint32_t
ls_program_pipeline_version(const ls_program *program, uint32_t n)
{
	return program->pipelines[n].version;
}

ls_str
ls_program_processor_type(const ls_program *program, uint32_t n, int processor)
{
	return program->pipelines[n].processors[processor].type_name;
}

ls_pipeline_counts *
ls_program_counts(ls_program *program, uint32_t n, int processor)
{
	pipeline *p;

	if (n >= program->n_pipelines)
		return NULL;
	p = &program->pipelines[n];
	if (processor < 0)
		return &p->counts;
	return (uint32_t) processor < p->n_processors ? &p->processors[processor].counts : NULL;
}
