/*-------------------------------------------------------------------------
 *
 * verdict.c
 *	  From a model's reply to a verdict that may be passed on, or to the problems with it
 *	  (pure).
 *
 * A model is as untrusted as a client, and a CI gate may depend on its words.  So nothing is
 * guessed.  A reply that contradicts itself or has the wrong structure is refused (the caller
 * asks once more, then gives up).  Only problems that cannot change a status are corrected here:
 * texts that are too long, findings for unknown ids, and items missing from an otherwise complete
 * reply.
 *
 *-------------------------------------------------------------------------
 */
#include "src/verdict/verdict_reader.h"

#define FILLED_EXPLANATION "The reply held no finding for this item, so it counts as not found."

/* The reply without white space and one ``` fence around it. */
static ls_str
unfence(ls_str s)
{
	const char *p = s.data;
	const char *end = s.len == 0 ? p : p + s.len;

	while (p < end && strchr(" \t\r\n", *p) != NULL && *p != '\0')
		p++;
	while (end > p && strchr(" \t\r\n", end[-1]) != NULL && end[-1] != '\0')
		end--;
	if (end - p >= 6 && memcmp(p, "```", 3) == 0 && memcmp(end - 3, "```", 3) == 0)
	{
		const char *line_end = memchr(p, '\n', (size_t) (end - 3 - p));

		if (line_end != NULL)
			return ls_str_make(line_end + 1, (size_t) (end - 3 - line_end - 1));
	}
	return ls_str_make(p, (size_t) (end - p));
}

/* At most `max` code points, the last one an ellipsis when something was cut (decision 19). */
static ls_str
clip(ls_arena *arena, ls_str s, size_t max)
{
	static const char ellipsis[] = "\xE2\x80\xA6";
	size_t keep;
	char *clipped;

	if (s.len <= max || ls_utf8_prefix_chars(s.data, s.len, max) == s.len)
		return s;
	keep = ls_utf8_prefix_chars(s.data, s.len, max - 1);
	clipped = ls_arena_alloc(arena, keep + sizeof(ellipsis) - 1);
	if (clipped == NULL)
		return LS_STR("");
	memcpy(clipped, s.data, keep);
	memcpy(clipped + keep, ellipsis, sizeof(ellipsis) - 1);
	return ls_str_make(clipped, keep + sizeof(ellipsis) - 1);
}

/* The number of the item with this id; item_count if the request does not have it. */
static size_t
find_item(const ls_evaluation_request *request, ls_str id)
{
	size_t i = 0;

	while (i < request->item_count && !ls_str_eq(request->items[i].id, id))
		i++;
	return i;
}

/* ---- one finding per item: decisions 15-18, 21 ---- */

static void
place_finding(ls_verdict_reading *in, ls_finding *placed, const ls_finding *found, size_t index)
{
	size_t item = find_item(in->request, found->id);
	char path[LS_VERDICT_PATH];

	if (item == in->request->item_count)
	{
		/* It is for an unknown id, so its other problems do not matter. */
		snprintf(path, sizeof(path), "verdict[%zu]", index);
		ls_validation_forget(in->in.errors, path);
		in->verdict->invented++;
		return;
	}
	if (placed[item].id.data == NULL)
		placed[item] = *found;
	else if (placed[item].status != found->status)
	{
		snprintf(path, sizeof(path), "verdict[%zu].status", index);
		ls_validation_add(in->in.errors, path, "contradiction",
						  "The same id has another status earlier in the verdict.");
	}
}

static void
fill_omitted(ls_verdict_reading *in, ls_finding *placed)
{
	for (size_t i = 0; i < in->request->item_count; i++)
	{
		if (placed[i].id.data == NULL)
		{
			placed[i].status = LS_FINDING_NOT_FOUND;
			placed[i].explanation = LS_STR(FILLED_EXPLANATION);
			in->verdict->filled++;
		}
		placed[i].id = in->request->items[i].id;
	}
}

/* ---- the reply ---- */

static void
read_findings(ls_verdict_reading *in)
{
	bool by_item = ls_evaluation_by_item(in->request);
	size_t room = by_item ? in->request->item_count : LS_EVALUATION_MAX_FINDINGS;
	ls_finding *findings;
	size_t n = 0;
	ls_str raw;

	if (!ls_reading_open(&in->in, LS_JSON_ARRAY, "verdict", "an array of findings"))
		return;
	findings = ls_new_array(in->in.arena, ls_finding, room);
	if (findings == NULL)
		return;
	for (; ls_json_element(&in->in.json); n++)
	{
		ls_finding found = {0};
		bool has_id;

		if (n >= LS_EVALUATION_MAX_FINDINGS)
		{
			if (!ls_json_skip(&in->in.json, &raw))
				return;
			continue;
		}
		if (!ls_verdict_read_finding(in, n, by_item, &found, &has_id))
		{
			if (in->in.json.error != NULL)
				return;
			continue;
		}
		if (by_item && has_id)
			place_finding(in, findings, &found, n);
		else if (!by_item)
		{
			ls_buf id;

			ls_buf_init(&id, in->in.arena);
			ls_buf_printf(&id, "f%zu", n + 1);
			found.id = ls_str_make(id.data, id.failed ? 0 : id.len);
			findings[n] = found;
		}
	}
	if (in->in.json.error != NULL)
		return;
	if (n > LS_EVALUATION_MAX_FINDINGS)
		ls_validation_add(in->in.errors, "verdict", "too_many",
						  "verdict must have at most %d findings, not %zu.",
						  LS_EVALUATION_MAX_FINDINGS, n);
	if (by_item)
		fill_omitted(in, findings);
	for (size_t i = 0; i < room; i++)
		findings[i].explanation =
			clip(in->in.arena, findings[i].explanation, LS_EVALUATION_MAX_EXPLANATION_CHARS);
	in->verdict->findings = findings;
	in->verdict->finding_count = by_item ? room : n;
}

static void
read_summary(ls_verdict_reading *in)
{
	ls_str text = LS_STR("");

	if (ls_verdict_null(&in->in) || !ls_reading_text(&in->in, "summary", 0, SIZE_MAX, &text) ||
		ls_reading_blank(text))
		return;
	in->verdict->summary = clip(in->in.arena, text, LS_EVALUATION_MAX_SUMMARY_CHARS);
}

static void
read_reply(ls_verdict_reading *in)
{
	bool has_verdict = false;
	bool has_summary = false;
	ls_json_type type;
	ls_json_value value;
	ls_str key;
	ls_str raw;

	if (!ls_json_peek(&in->in.json, &type) || type == LS_JSON_OBJECT)
		ls_json_read(&in->in.json, &value);
	else
	{
		if (ls_json_skip(&in->in.json, &raw))
			ls_validation_add(in->in.errors, "", "invalid_type",
							  "The reply must be an object, not %s.", ls_reading_type(type));
		return;
	}
	while (ls_json_member(&in->in.json, &key))
	{
		if (ls_str_eq(key, LS_STR("verdict")))
		{
			if (has_verdict)
			{
				ls_validation_add(in->in.errors, "verdict", "duplicate_member",
								  "verdict comes twice.");
				ls_json_skip(&in->in.json, &raw);
			}
			else
				read_findings(in);
			has_verdict = true;
		}
		else if (ls_str_eq(key, LS_STR("summary")) && !has_summary)
		{
			read_summary(in);
			has_summary = true;
		}
		else
			ls_json_skip(&in->in.json, &raw);
	}
	if (in->in.json.error == NULL && !has_verdict)
		ls_validation_add(in->in.errors, "verdict", "required", "verdict is required.");
}

bool
ls_verdict_parse(ls_str reply, bool complete, const ls_evaluation_request *request,
				 const ls_evaluation_view *view, ls_arena *arena, ls_verdict **out,
				 ls_validation_errors *problems, bool *repair)
{
	ls_verdict_reading in = {0};

	*repair = true;
	in.verdict = ls_new(arena, ls_verdict);
	if (in.verdict != NULL)
	{
		in.request = request;
		in.view = view;
		in.in.arena = arena;
		in.in.errors = problems;
		in.verdict->citations = request->citations;
		in.verdict->summary = LS_STR("");
		ls_json_init(&in.in.json, unfence(reply), arena, LS_EVALUATION_MAX_DEPTH);
		read_reply(&in);
	}
	if (ls_arena_failed(arena) || problems->out_of_memory)
	{
		problems->out_of_memory = true;
		*repair = false;
		return false;
	}
	if (in.in.json.error != NULL || !ls_json_end(&in.in.json))
	{
		ls_validation_init(problems, arena);
		ls_validation_add(problems, "", "invalid_json", "The reply is not valid JSON: %s.",
						  in.in.json.error != NULL ? in.in.json.error
												   : "there is text after its end");
	}
	else if (problems->count == 0 && problems->dropped > 0)
		ls_validation_add(problems, "", "too_many", "The reply has too many problems to list.");
	if (!complete)
		ls_validation_add(problems, "", "incomplete", "The reply was cut off before its end.");
	if (problems->count > 0)
		return false;
	*out = in.verdict;
	return true;
}
