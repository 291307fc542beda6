/*-------------------------------------------------------------------------
 *
 * protocol.c
 *	  What the protocols share (pure).
 *
 * A provider's reply is read tolerantly where it does not matter (unknown members, other types
 * of what is only shown) and refused where it does: a verdict is taken from one place or from
 * none.
 *
 *-------------------------------------------------------------------------
 */
#include "src/model/protocol_internal.h"

/* A longer reply is not shown again in a repair call. */
#define MAX_SHOWN ((size_t) 256 << 10)

/* ---- settings ---- */

bool
ls_protocol_plain(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
	{
		if (s.data[i] <= ' ' || s.data[i] > '~')
			return false;
	}
	return s.len > 0;
}

bool
ls_protocol_url_parse(ls_str text, ls_protocol_url *url)
{
	static const ls_str schemes[] = {{"https://", 8}, {"http://", 7}};
	size_t start = 0;
	size_t host_end;
	size_t name_end;
	size_t path_end;

	for (size_t i = 0; i < 2 && start == 0; i++)
	{
		if (text.len > schemes[i].len && memcmp(text.data, schemes[i].data, schemes[i].len) == 0)
			start = schemes[i].len;
	}
	if (start == 0 || !ls_protocol_plain(text) || memchr(text.data, '#', text.len) != NULL)
		return false;
	host_end = start;
	while (host_end < text.len && text.data[host_end] != '/' && text.data[host_end] != '?')
	{
		if (text.data[host_end] == '@')
			return false;
		host_end++;
	}
	name_end = start;
	while (name_end < host_end && (text.data[name_end] != ':' || text.data[start] == '['))
		name_end++;
	path_end = host_end;
	while (path_end < text.len && text.data[path_end] != '?')
		path_end++;
	url->query = path_end < text.len
					 ? ls_str_make(text.data + path_end + 1, text.len - path_end - 1)
					 : LS_STR("");
	while (path_end > host_end && text.data[path_end - 1] == '/')
		path_end--;
	url->base = ls_str_make(text.data, path_end);
	url->host = ls_str_make(text.data + start, host_end - start);
	url->name = ls_str_make(text.data + start, name_end - start);
	url->path = ls_str_make(text.data + host_end, path_end - host_end);
	return name_end > start;
}

bool
ls_protocol_below(ls_str name, const char *domain)
{
	ls_str d = ls_str_make(domain, strlen(domain));

	return name.len >= d.len &&
		   ls_str_eq_nocase(ls_str_make(name.data + name.len - d.len, d.len), d) &&
		   (name.len == d.len || name.data[name.len - d.len - 1] == '.');
}

/* The number at *pos when one or two digits stand there by themselves; -1 otherwise. */
static int
short_number(ls_str s, size_t *pos)
{
	size_t end = *pos;
	int number = 0;

	while (end < s.len && s.data[end] >= '0' && s.data[end] <= '9' && end - *pos < 3)
		number = number * 10 + (s.data[end++] - '0');
	if (end == *pos || end - *pos > 2 ||
		(end < s.len && ((s.data[end] >= 'a' && s.data[end] <= 'z') ||
						 (s.data[end] >= 'A' && s.data[end] <= 'Z'))))
		return -1;
	*pos = end;
	return number;
}

int
ls_protocol_claude(ls_str model)
{
	static const ls_str claude = {"claude", 6};
	size_t pos = 0;

	while (pos + claude.len <= model.len && memcmp(model.data + pos, claude.data, claude.len) != 0)
		pos++;
	if (pos + claude.len > model.len)
		return 0;
	for (pos += claude.len; pos < model.len; pos++)
	{
		int major;
		int minor;

		if (model.data[pos] != '-')
			continue;
		pos++;
		major = short_number(model, &pos);
		if (major < 0)
		{
			pos--;
			continue;
		}
		if (pos < model.len && (model.data[pos] == '-' || model.data[pos] == '.'))
		{
			pos++;
			minor = short_number(model, &pos);
			return major * 100 + (minor < 0 ? 0 : minor);
		}
		return major * 100;
	}
	return 9900;
}

int
ls_protocol_claude_output(int version, int wanted)
{
	int most = 64000;

	if (version >= 500)
		return wanted + LS_PROTOCOL_THINKING_TOKENS;
	if (version == 0)
		return wanted;
	if (version < 305)
		most = 4096;
	else if (version < 307)
		most = 8192;
	else if (version == 400 || version == 401)
		most = 32000;
	return wanted < most ? wanted : most;
}

/* ---- the repair call ---- */

static bool
blank(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
	{
		if (s.data[i] != ' ' && (s.data[i] < '\t' || s.data[i] > '\r'))
			return false;
	}
	return true;
}

bool
ls_protocol_has_reply(const ls_protocol_repair *repair)
{
	return repair->text.len > 0 && repair->reply.len <= MAX_SHOWN && !blank(repair->reply);
}

ls_json_node *
ls_protocol_shown_object(const ls_protocol_repair *repair, ls_arena *arena)
{
	const ls_json_node *object = ls_document_read(repair->reply, LS_PROTOCOL_MAX_DEPTH, arena);

	return ls_node_is(object, LS_JSON_OBJECT) ? (ls_json_node *) object : NULL;
}

ls_json_node *
ls_protocol_user(const ls_evaluation_prompt *prompt, const ls_protocol_repair *repair,
				 ls_arena *arena)
{
	ls_buf both;

	if (repair->text.len == 0 || ls_protocol_has_reply(repair))
		return ls_document_make(arena, "s%", LS_NODE_STR(prompt->user));
	ls_buf_init(&both, arena);
	ls_buf_str(&both, prompt->user);
	ls_buf_char(&both, '\n');
	ls_buf_str(&both, repair->text);
	return both.failed ? NULL : ls_document_make(arena, "s%", both.data, both.len);
}

ls_json_node *
ls_protocol_message(ls_arena *arena, const char *role, ls_json_node *content)
{
	return ls_document_make(arena, "{s:s, s:o}", "role", role, "content", content);
}

bool
ls_protocol_write_body(ls_arena *arena, const ls_json_node *body, ls_str *out)
{
	ls_buf buf;

	ls_buf_init(&buf, arena);
	ls_document_write(&buf, body);
	*out = ls_str_make(buf.data, buf.len);
	return !buf.failed && !ls_arena_failed(arena);
}

/* ---- replies ---- */

int64_t
ls_protocol_count(const ls_json_node *usage, const char *name)
{
	int64_t count;

	return ls_node_integer(ls_node_member(usage, name), &count) && count >= 0 &&
				   count <= LS_PROTOCOL_MAX_TOKENS
			   ? count
			   : 0;
}

bool
ls_protocol_member_is(const ls_json_node *object, const char *name, const char *const *texts)
{
	ls_str text = ls_node_member_string(object, name);

	for (; *texts != NULL; texts++)
	{
		if (ls_str_eq(text, ls_str_make(*texts, strlen(*texts))))
			return true;
	}
	return false;
}

void
ls_protocol_tool_call(ls_protocol_reading *in, const ls_json_node *call)
{
	if (ls_str_eq(ls_node_member_string(call, "name"), LS_STR(LS_PROTOCOL_TOOL)))
	{
		in->tool = ls_node_member(call, "input");
		in->tools++;
	}
}

static ls_protocol_outcome
conclude(ls_protocol_reading *in, ls_arena *arena, ls_protocol_reply *out)
{
	ls_str text;

	if (in->tools == 1)
	{
		in->text.len = 0;
		if (in->tool != NULL)
			ls_document_write(&in->text, in->tool);
	}
	text = ls_str_make(in->text.data, in->text.len);
	if (in->text.failed || ls_arena_failed(arena))
		return LS_PROTOCOL_OUT_OF_MEMORY;
	out->tokens_in = in->tokens_in;
	out->tokens_out = in->tokens_out;
	out->model = in->model;
	out->region = in->region;
	/* Two verdicts are none: picking one would be guessing. */
	if (in->refused || in->tools > 1 || (!in->cut && blank(text)))
		return LS_PROTOCOL_INVALID;
	if (text.data != NULL)
		out->text = text;
	out->complete = !in->cut;
	return LS_PROTOCOL_OK;
}

ls_protocol_outcome
ls_protocol_read(int status, ls_str body, ls_arena *arena,
				 void (*read)(ls_protocol_reading *in, const ls_json_node *reply),
				 ls_protocol_reply *out)
{
	ls_protocol_reading in = {.model = LS_STR(""), .region = LS_STR("")};
	const ls_json_node *reply;

	memset(out, 0, sizeof(*out));
	out->text = out->model = out->region = LS_STR("");
	if (status == 408 || status == 429 || status >= 500)
		return LS_PROTOCOL_OVERLOADED;
	if (status < 200 || status > 299)
		return LS_PROTOCOL_UNREACHABLE;
	if (body.len > LS_PROTOCOL_MAX_REPLY)
		return LS_PROTOCOL_INVALID;
	reply = ls_document_read(body, LS_PROTOCOL_MAX_DEPTH, arena);
	if (ls_arena_failed(arena))
		return LS_PROTOCOL_OUT_OF_MEMORY;
	if (!ls_node_is(reply, LS_JSON_OBJECT))
		return LS_PROTOCOL_INVALID;
	ls_buf_init(&in.text, arena);
	read(&in, reply);
	return conclude(&in, arena, out);
}
