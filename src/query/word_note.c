/*-------------------------------------------------------------------------
 *
 * word_note.c
 *	  A warning where a search has found nothing and a word of it is the value of a field: `checkout refused`,
 *	  where checkout is a service.
 *
 * Words are looked for in the text of events.  Where others look into all fields, people type a service or a host
 * as a word.  If no field has it either, the word may be a part of one: exception, of NullPointerException.
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/query.h"
#include "src/query/translate.h"

/* Each is a search. */
#define MOST_WORDS 3
#define MOST_TERMS 5
#define MOST_FIELDS 40
#define MAX_DEPTH 64

typedef struct found_value
{
	ls_arena *arena;
	ls_str word;
	ls_str field; /* empty: not found */
} found_value;

/* The member of an object with that text. */
static bool
find_member(ls_json *j, ls_str word, ls_str *name, ls_arena *arena)
{
	ls_json_value value;
	ls_json_type type;
	ls_str key;
	ls_str raw;

	while (ls_json_member(j, &key))
	{
		if (!ls_json_peek(j, &type))
			return false;
		if (type == LS_JSON_OBJECT && ls_str_eq(key, LS_STR("attributes")))
		{
			if (!ls_json_read(j, &value) || find_member(j, word, name, arena))
				return name->len > 0;
			continue;
		}
		if (type != LS_JSON_STRING)
		{
			if (!ls_json_skip(j, &raw))
				return false;
			continue;
		}
		if (!ls_json_read(j, &value))
			return false;
		if (ls_str_eq_nocase(value.text, word) && !ls_str_eq(key, LS_STR("event")))
		{
			*name = ls_arena_strdup(arena, key);
			return name->len > 0;
		}
	}
	return false;
}

static bool
take_event(void *context, const ls_position *position, char **texts)
{
	found_value *found = context;
	ls_json_value value;
	ls_json j;

	if (texts[0] == NULL)
		return true;
	ls_json_init(&j, ls_arena_strdup(found->arena, ls_str_of_cstring(texts[0])), found->arena,
				 MAX_DEPTH);
	if (ls_json_read(&j, &value) && value.type == LS_JSON_OBJECT)
		(void) find_member(&j, found->word, &found->field, found->arena);
	return true;
}

/* Which field of events has the word as its value? */
static ls_str
find_field(ls_search *search, ls_str word, const ls_field_names *names)
{
	found_value found = {.arena = search->arena, .word = word, .field = LS_STR("")};
	StringInfoData text;
	ls_buf quoted;
	int n = 0;

	ls_buf_init(&quoted, search->arena);
	ls_query_write_text(&quoted, word);
	if (quoted.failed)
		return LS_STR("");
	initStringInfo(&text);
	appendStringInfo(&text, "(service=%.*s OR source=%.*s", (int) quoted.len, quoted.data,
					 (int) quoted.len, quoted.data);
	for (int i = 0; i < names->n && n < MOST_FIELDS; i++)
		if (ls_query_is_plain_word(names->items[i]) && names->items[i].len <= 64)
		{
			appendStringInfo(&text, " OR attributes.%.*s=%.*s", (int) names->items[i].len,
							 names->items[i].data, (int) quoted.len, quoted.data);
			n++;
		}
	appendStringInfoString(&text, ") | head 1");
	(void) ls_search_ask(search, text.data, 1, take_event, &found);
	return found.field;
}

/* True: it has a warning. */
static bool
note(ls_search *search, const ls_query_filter *term, const ls_field_names *names)
{
	const ls_query_value *value = term->values.items[0]; /* of a text */
	ls_str field;
	ls_buf meant;

	if (value->kind == LS_QUERY_NUMBER || value->wildcard || value->text.len < 2 ||
		value->text.len > 200)
		return false;
	field = find_field(search, value->text, names);
	if (field.len == 0)
		return false;
	ls_buf_init(&meant, search->arena);
	if (!ls_query_write_head_field(&meant, field))
		return false;
	ls_buf_char(&meant, '=');
	if (ls_query_is_plain_word(value->text))
		ls_buf_str(&meant, value->text);
	else
		ls_query_write_text(&meant, value->text);
	if (meant.failed)
		return false;
	ls_search_suggest(search, "FIELD_IN_TEXT", value->span, value->span,
					  pnstrdup(meant.data, meant.len),
					  psprintf("words are looked for in the text of events; the field has this "
							   "value: write %.*s",
							   (int) meant.len, meant.data));
	return true;
}

/*
 * Only letters: of numbers and addresses, parts are rarely meant.  Texts in Chinese or Japanese have no
 * blanks, so what is a word to their readers is a part of one.
 */
static bool
is_of_letters(ls_str word)
{
	for (size_t i = 0; i < word.len; i++)
	{
		unsigned char c = (unsigned char) word.data[i];

		if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && c != '_' && c < 0x80)
			return false;
	}
	return word.len > 2;
}

/* What is left to be said of a word that no event has: exceptions are *exception*. */
static void
note_whole_word(ls_search *search, const ls_query_value *value)
{
	int len = (int) value->text.len;

	if (!is_of_letters(value->text) || len > 60)
	{
		ls_query_warn(search->query, search->arena, "WHOLE_WORD", value->span,
					  "no event of the time range has the word %.*s",
					  (int) ls_utf8_prefix_chars(value->text.data, value->text.len, 60),
					  value->text.data);
		return;
	}
	if (len > 4 && value->text.data[len - 1] == 's')
		len--;
	ls_search_suggest(
		search, "WHOLE_WORD", value->span, value->span, psprintf("*%.*s*", len, value->text.data),
		psprintf("no event of the time range has the word %s; *%.*s* also finds parts "
				 "of words",
				 ls_cstring_of_str(value->text), len, value->text.data));
}

/*
 * Words beside other terms: the first that such an event has as a part of a longer one.  Escapes of
 * colours make such words of others: ESC [1m and queue are 1mqueue.
 */
static void
note_parts_of_words(ls_search *search, ls_query_filter *const *terms, uint32 n)
{
	const ls_query *query = search->query;
	ls_query_span filter = query->filter->span;
	int left = MOST_WORDS;

	for (uint32 i = 0; i < n && left > 0; i++)
	{
		const char *text = query->text.data;
		const ls_query_value *value;
		char *part;
		bool found;

		if (terms[i]->kind != LS_QUERY_FILTER_TEXT)
			continue;
		value = terms[i]->values.items[0];
		if (value->wildcard || !is_of_letters(value->text) || value->text.len > 60)
			continue;
		left--;
		part = psprintf("*%s*", ls_cstring_of_str(value->text));
		if (!ls_search_any(search,
						   psprintf("%.*s%s%.*s", (int) (value->span.start - filter.start),
									text + filter.start, part, (int) (filter.end - value->span.end),
									text + value->span.end),
						   &found) ||
			!found)
			continue;
		ls_search_suggest(search, "WHOLE_WORD", value->span, value->span, part,
						  psprintf("no such event has the word %s; %s also finds parts of words",
								   ls_cstring_of_str(value->text), part));
		return;
	}
}

/* The first word that no event has; or that none has all of them, or one of them as a part of a word. */
static void
note_whole_words(ls_search *search, ls_query_filter *const *terms, uint32 n)
{
	const ls_query *query = search->query;
	bool only_words = true;
	StringInfoData any;

	if (n > MOST_TERMS || query->warnings.n > 0)
		return;
	initStringInfo(&any);
	for (uint32 i = 0; i < n; i++)
	{
		const ls_query_value *value;
		const char *written;
		bool found = false;
		int len;

		if (terms[i]->kind != LS_QUERY_FILTER_TEXT)
		{
			only_words = false;
			continue;
		}
		value = terms[i]->values.items[0];
		if (value->wildcard)
			return;
		written = query->text.data + value->span.start;
		len = (int) (value->span.end - value->span.start);
		if (n > 1)
			(void) ls_search_any(search, psprintf("%.*s", len, written), &found);
		if (!found)
		{
			note_whole_word(search, value);
			return;
		}
		appendStringInfo(&any, "%s%.*s", i > 0 ? " OR " : "(", len, written);
	}
	if (!only_words)
	{
		note_parts_of_words(search, terms, n);
		return;
	}
	appendStringInfoChar(&any, ')');
	ls_search_suggest(
		search, "WHOLE_WORD", terms[0]->span,
		(ls_query_span){terms[0]->span.start, terms[n - 1]->span.end}, any.data,
		psprintf("no event has all of these words; %s finds those with one of them", any.data));
}

void
ls_search_note_words(ls_search *search)
{
	ls_query_filter *filter = search->query->filter;
	ls_query_filter **terms = &filter;
	uint32 n = 1;
	ls_field_names names;
	int left = MOST_WORDS;

	if (filter == NULL || search->n_indexes == 0 || search->from >= search->to ||
		ls_query_has_suggestion(&search->query->warnings, search->query->warnings.n))
		return;
	if (filter->kind == LS_QUERY_FILTER_AND)
	{
		terms = filter->children;
		n = filter->n_children;
	}
	names = ls_search_field_names(search, LS_MOST_LOOKED_AT + 1);
	if (!names.complete || (names.n == 0 && names.builtins == 0))
		return;
	for (uint32 i = 0; i < n && left > 0; i++)
		if (terms[i]->kind == LS_QUERY_FILTER_TEXT)
		{
			left--;
			if (note(search, terms[i], &names))
				return;
		}
	note_whole_words(search, terms, n);
}
