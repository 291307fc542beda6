/*-------------------------------------------------------------------------
 *
 * bulk_decode.c
 *	  Bodies of Elasticsearch's bulk API, and single documents, to builders
 *	  (pure).
 *
 * Lines in pairs: what to do, and the document.  A document is an event of
 * another program (json_event.h): whatever it holds is kept.
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/parameter.h"
#include "src/decode/json_event.h"

/* Digits that make what stands at the end of a name a date, or a part of one. */
#define DATE_DIGITS 4

/* An item of the answer without its texts: what is longest is that of a refused one. */
#define ANSWER_ITEM 128

typedef struct bulk_reader
{
	ls_json_reader json;
	const char *pos;
	const char *end;
	uint64_t line; /* number of the last one read, from 1 */
	uint32_t room; /* of result->items */
	size_t answer; /* bytes, at most */

	/* Why the last action is refused, and what of it; NULL: it is not. */
	const char *problem;
	const char *problem_path;

	/* Where the index that was named last leads; most actions name the same. */
	ls_str named;
	ls_str leads;
} bulk_reader;

static bool
fail(bulk_reader *b, const char *problem)
{
	ls_event_builder *builder = &b->json.builder;
	ls_buf buf;

	ls_buf_init(&buf, builder->options->arena);
	ls_buf_printf(&buf, "line %llu: %s", (unsigned long long) b->line, problem);
	return ls_event_builder_fail(
		builder, LS_DECODE_INVALID, "",
		buf.failed ? LS_STR("malformed action") : ls_str_make(buf.data, buf.len), 0);
}

static bool
out_of_memory(bulk_reader *b)
{
	return ls_event_builder_fail(&b->json.builder, LS_DECODE_MEMORY, "", LS_STR("out of memory"),
								 0);
}

static bool
next_line(bulk_reader *b, ls_str *line)
{
	const char *newline;

	if (b->pos >= b->end)
		return false;
	newline = memchr(b->pos, '\n', (size_t) (b->end - b->pos));
	if (newline == NULL)
		newline = b->end;
	*line = ls_str_make(b->pos, (size_t) (newline - b->pos));
	b->pos = newline + (newline < b->end);
	b->line++;
	return true;
}

/* ---- actions ---- */

static ls_bulk_item *
add_item(bulk_reader *b)
{
	ls_decode_result *result = b->json.builder.result;
	ls_bulk_item *item;

	if (result->n_items >= b->room)
	{
		uint32_t room = b->room == 0 ? 64 : b->room * 2;
		ls_bulk_item *items =
			ls_arena_grow(b->json.builder.options->arena, result->items,
						  b->room * sizeof(ls_bulk_item), room * sizeof(ls_bulk_item));

		if (items == NULL)
			return NULL;
		result->items = items;
		b->room = room;
	}
	item = &result->items[result->n_items++];
	*item = (ls_bulk_item){.index = LS_STR(""), .id = LS_STR(""), .reason = LS_STR("")};
	return item;
}

/* A text of an action, to be kept; the one before when it is the same. */
static bool
keep_text(bulk_reader *b, ls_str *kept, ls_str text, ls_str before)
{
	*kept =
		ls_str_eq(text, before) ? before : ls_arena_strdup(b->json.builder.options->arena, text);
	return kept->data != NULL || text.len == 0 || out_of_memory(b);
}

static bool
read_action_members(bulk_reader *b, ls_json *j, ls_bulk_item *item)
{
	const ls_decode_result *result = b->json.builder.result;
	ls_str before = result->n_items > 1 ? item[-1].index : LS_STR("");
	ls_str key, raw, text;
	ls_json_value value;
	ls_json_type type;

	while (ls_json_member(j, &key))
	{
		ls_str *field = ls_str_eq(key, LS_STR("_index")) ? &item->index
						: ls_str_eq(key, LS_STR("_id"))  ? &item->id
														 : NULL;

		if (!ls_json_peek(j, &type))
			return false;
		if (field == NULL || (type != LS_JSON_STRING && type != LS_JSON_NUMBER))
		{
			if (!ls_json_skip(j, &raw))
				return false;
			continue;
		}
		if (!ls_json_read(j, &value) ||
			!keep_text(b, &text, value.text, field == &item->index ? before : LS_STR("")))
			return false;
		if (field->len == 0)
			*field = text;
		else if (!ls_str_eq(*field, text))
		{
			b->problem = "there twice, and they differ";
			b->problem_path = field == &item->index ? "_index" : "_id";
		}
	}
	return j->error == NULL;
}

/* An ls_bulk_action; -1: none. */
static int
action_of(ls_str key)
{
	static const char *const names[] = {"index", "create", "update", "delete"};

	for (int i = 0; i < 4; i++)
	{
		if (ls_str_eq(key, ls_str_make(names[i], strlen(names[i]))))
			return i;
	}
	return -1;
}

/* {"index": {"_index": "web", "_id": "1"}} */
static bool
read_action(bulk_reader *b, ls_str line, ls_bulk_item **out)
{
	ls_event_builder *builder = &b->json.builder;
	ls_bulk_item *item = add_item(b);
	ls_json_value value;
	ls_json j;
	ls_str key, raw;
	int action;
	bool good;

	if (item == NULL)
		return out_of_memory(b);
	b->problem = NULL;
	ls_event_builder_begin(builder);
	ls_json_init(&j, line, builder->options->scratch, 8);
	if (!ls_json_read(&j, &value) || value.type != LS_JSON_OBJECT || !ls_json_member(&j, &key))
		return ls_arena_failed(builder->options->scratch) ? out_of_memory(b)
														  : fail(b, "expected an action");
	action = action_of(key);
	if (action < 0)
		return fail(b, "expected index, create, update or delete");
	item->action = (ls_bulk_action) action;
	good = ls_json_read(&j, &value) && value.type == LS_JSON_OBJECT &&
		   read_action_members(b, &j, item);
	/* winston's transport counts its attempts here. */
	while (good && ls_json_member(&j, &key))
	{
		if (action_of(key) >= 0)
		{
			b->problem = "there are two actions in one line";
			b->problem_path = "";
		}
		good = ls_json_skip(&j, &raw);
	}
	if (!good || j.error != NULL || !ls_json_end(&j))
	{
		if (builder->result->failure != LS_DECODE_OK)
			return false;
		return ls_arena_failed(builder->options->scratch) ? out_of_memory(b)
														  : fail(b, "malformed action");
	}
	if (item->index.len == 0)
		item->index = builder->options->target;
	*out = item;
	return true;
}

/* ---- where an event goes ---- */

/* The name without the date at its end: "web" of "web-2026.01.31". */
static ls_str
without_date(ls_str name)
{
	size_t digits = 0;
	size_t len = name.len;

	for (; len > 0; len--)
	{
		char c = name.data[len - 1];

		if (c >= '0' && c <= '9')
			digits++;
		else if (c != '.' && c != '-' && c != '_')
			break;
	}
	return ls_str_make(name.data, digits >= DATE_DIGITS ? len : 0);
}

/* The index of ours that a name leads to; empty: none. */
static ls_str
lead(const ls_decode_options *options, ls_str name)
{
	ls_str base;
	ls_time oldest;

	if (options->known_index == NULL || options->known_index(options->index_context, name, &oldest))
		return name;
	base = without_date(name);
	if (base.len > 0 && options->known_index(options->index_context, base, &oldest))
		return base;
	return LS_STR("");
}

static void
place(bulk_reader *b, const ls_bulk_item *item)
{
	ls_event_builder *builder = &b->json.builder;

	if (item->id.len > 0)
		ls_event_builder_attribute(builder, LS_STR("_id"), LS_KIND_STRING, item->id, 0);
	if (item->index.len == 0)
		return;
	if (item->index.data[0] == '_')
	{
		ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", "_index",
								"names that begin with _ are the service's own");
		return;
	}
	if (b->named.data == NULL || !ls_str_eq(b->named, item->index))
	{
		b->named = item->index;
		b->leads = lead(builder->options, item->index);
	}
	ls_event_builder_field(builder, LS_FIELD_INDEX, b->leads);
	if (!ls_str_eq(b->leads, item->index))
		ls_event_builder_attribute(builder, LS_STR("_index"), LS_KIND_STRING, item->index, 0);
}

/* ---- documents ---- */

/* The action is refused, whatever its document. */
static bool
refuse(bulk_reader *b, size_t bytes, const char *path, const char *message)
{
	ls_event_builder *builder = &b->json.builder;

	ls_event_builder_begin(builder);
	ls_event_builder_reject(builder, 400, "VALIDATION_ERROR", path, message);
	return ls_event_builder_commit(builder,
								   bytes > builder->options->limits.event_bytes ? 0 : bytes);
}

static bool
read_document(bulk_reader *b, const ls_bulk_item *item, ls_str line)
{
	ls_json_reader *reader = &b->json;
	ls_event_builder *builder = &reader->builder;
	ls_json_type type;

	ls_json_init(&reader->json, line, builder->options->scratch, LS_JSON_EVENT_DEPTH);
	if (!ls_json_peek(&reader->json, &type) || type != LS_JSON_OBJECT)
		return refuse(b, line.len, "", "expected a document, an object");
	if (ls_json_read_event(reader) && ls_json_end(&reader->json))
	{
		place(b, item);
		return ls_json_commit_event(reader);
	}
	return builder->result->failure == LS_DECODE_OK && ls_json_reject_line(reader, line, b->line);
}

/* The bytes that a text takes as a string of JSON, at most. */
static size_t
quoted_bytes(ls_str text)
{
	size_t bytes = 2;

	for (size_t i = 0; i < text.len; i++)
	{
		unsigned char c = (unsigned char) text.data[i];

		/* Of a byte that is none of UTF-8 becomes U+FFFD. */
		bytes += c < ' ' || c == 0x7f ? 6 : c == '"' || c == '\\' ? 2 : c < 0x80 ? 1 : 3;
	}
	return bytes;
}

static bool
count_answer(bulk_reader *b, const ls_bulk_item *item)
{
	b->answer += ANSWER_ITEM + quoted_bytes(item->index) + quoted_bytes(item->id) +
				 quoted_bytes(item->reason);
	return b->answer <= LS_BULK_ANSWER_LIMIT ||
		   ls_event_builder_fail(&b->json.builder, LS_DECODE_LARGE, "",
								 LS_STR("too many actions for one answer; send fewer at a time"),
								 0);
}

/* What became of the action, for the answer. */
static bool
note(bulk_reader *b, ls_bulk_item *item)
{
	const ls_decode_error *error = &b->json.builder.error;
	const ls_decode_options *options = b->json.builder.options;
	ls_buf reason;

	if (item->index.len == 0)
		item->index = options->index.len > 0 ? options->index : LS_STR("main");
	if (error->code == NULL)
	{
		/* What a pipeline has masked must not stand in an answer that is kept. */
		if (options->sink.fate != NULL && *options->sink.fate != LS_FATE_KEPT)
		{
			item->id = LS_STR("");
			item->index = options->index.len > 0 ? options->index : LS_STR("main");
		}
		return count_answer(b, item);
	}
	/* Nor what a pipeline would have masked. */
	if (options->sink.changes)
	{
		item->id = LS_STR("");
		item->index = options->index.len > 0 ? options->index : LS_STR("main");
	}
	item->code = error->code;
	item->status = (uint16_t) error->status;
	item->reason = error->message;
	if (error->path.len > 0)
	{
		ls_buf_init(&reason, options->arena);
		ls_buf_str(&reason, error->path);
		ls_buf_lit(&reason, ": ");
		ls_buf_str(&reason, error->message);
		item->reason = ls_str_make(reason.data, reason.len);
		if (reason.failed)
			return out_of_memory(b);
	}
	return count_answer(b, item);
}

bool
ls_decode_bulk(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	bulk_reader b = {.named = LS_STR(""), .leads = LS_STR("")};
	ls_bulk_item *item = NULL;
	ls_str line;

	if (!ls_json_reader_init(&b.json, options, body, result))
		return false;
	b.json.documents = true;
	b.pos = b.json.json.pos;
	b.end = body.data + body.len;
	while (next_line(&b, &line))
	{
		bool good;

		if (ls_json_blank(line))
			continue;
		if (!read_action(&b, line, &item))
			return false;
		if (item->action != LS_BULK_DELETE && !next_line(&b, &line))
			return fail(&b, "the document of the last action is missing");
		if (item->action == LS_BULK_DELETE || item->action == LS_BULK_UPDATE)
			good = refuse(&b, line.len, "", "events do not change: expected index or create");
		else if (b.problem != NULL)
			good = refuse(&b, line.len, b.problem_path, b.problem);
		else
			good = read_document(&b, item, line);
		if (!good || !note(&b, item))
			return false;
	}
	return result->n_items > 0 || fail(&b, "expected at least one action");
}

/* ---- single documents ---- */

/* Index and id of "/web/_doc/7", perhaps below /elasticsearch, decoded; the id may be empty. */
static bool
read_path(const ls_decode_options *options, ls_bulk_item *item)
{
	static const char prefix[] = "/elasticsearch/";
	ls_str rest = options->path;
	ls_str segments[3] = {LS_STR(""), LS_STR(""), LS_STR("")};
	size_t n = 0;

	if (rest.len >= sizeof(prefix) && memcmp(rest.data, prefix, sizeof(prefix) - 1) == 0 &&
		rest.data[sizeof(prefix) - 1] != '_')
		rest = ls_str_make(rest.data + sizeof(prefix) - 2, rest.len - (sizeof(prefix) - 2));
	while (rest.len > 0 && n < 3)
	{
		const char *slash = memchr(rest.data + 1, '/', rest.len - 1);
		size_t len = slash != NULL ? (size_t) (slash - rest.data) : rest.len;

		segments[n++] = ls_str_make(rest.data + 1, len - 1);
		rest = ls_str_make(rest.data + len, rest.len - len);
	}
	return ls_percent_decode(segments[0], false, options->arena, &item->index) &&
		   ls_percent_decode(segments[2], false, options->arena, &item->id);
}

bool
ls_decode_document(const ls_decode_options *options, ls_str body, ls_decode_result *result)
{
	bulk_reader b = {.named = LS_STR(""), .leads = LS_STR("")};
	ls_event_builder *builder = &b.json.builder;
	ls_json *j = &b.json.json;
	ls_bulk_item *item;
	ls_json_type type;
	ls_buf text;

	if (!ls_json_reader_init(&b.json, options, body, result))
		return false;
	b.json.documents = true;
	item = add_item(&b);
	if (item == NULL)
		return out_of_memory(&b);
	if (!read_path(options, item))
		return ls_event_builder_fail(builder, LS_DECODE_INVALID, "",
									 LS_STR("malformed escape in the path"), 0);
	if (ls_json_peek(j, &type) && type != LS_JSON_OBJECT)
		return ls_event_builder_fail(builder, LS_DECODE_INVALID, "",
									 LS_STR("expected a document, an object"), 0);
	if (ls_json_read_event(&b.json) && ls_json_end(j))
	{
		place(&b, item);
		return ls_json_commit_event(&b.json) && note(&b, item);
	}
	if (result->failure != LS_DECODE_OK)
		return false;
	if (ls_arena_failed(options->scratch))
		return out_of_memory(&b);
	ls_buf_init(&text, options->arena);
	ls_buf_printf(&text, "invalid JSON at byte %zu: %s",
				  j->error != NULL ? j->error_offset : (size_t) (j->pos - j->start),
				  j->error != NULL ? j->error : "expected nothing more");
	return ls_event_builder_fail(builder, LS_DECODE_INVALID, "",
								 text.failed ? LS_STR("invalid JSON")
											 : ls_str_make(text.data, text.len),
								 j->error != NULL ? j->error_offset : (size_t) (j->pos - j->start));
}
