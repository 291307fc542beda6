/*-------------------------------------------------------------------------
 *
 * part_values.c
 *	  The values of a column while a part is being built (pure).
 *
 * The texts of a column are back to back in one buffer.  A column begins as a
 * dictionary, because then a repeated value costs a lookup instead of a copy.  If
 * most values turn out to be different, it changes to plain texts.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

/* With this many different texts in a column, most must not be different. */
#define DICTIONARY_TRIAL 64

uint32_t
ls_builder_grow(ls_arena *arena, void *array, uint32_t capacity, uint64_t need, size_t element,
				uint32_t least)
{
	uint64_t wanted = capacity < least ? least : capacity;
	void *block;

	while (wanted < need)
		wanted *= 2;
	/* memcpy, because `array` points to a pointer of some other type than void. */
	memcpy(&block, array, sizeof(block));
	block = ls_arena_grow(arena, block, (size_t) capacity * element, (size_t) wanted * element);
	if (block == NULL)
		return 0;
	memcpy(array, &block, sizeof(block));
	return (uint32_t) wanted;
}

/* ---- texts ---- */

bool
ls_texts_reserve(ls_arena *arena, ls_texts *t, uint32_t texts, size_t bytes)
{
	uint32_t capacity = t->capacity;

	if ((uint64_t) t->count + texts + 1 > capacity)
	{
		if (!LS_GROW(arena, t->offsets, capacity, (uint64_t) t->count + texts + 1, 16))
			return false;
		t->capacity = capacity;
		if (t->count == 0)
			t->offsets[0] = 0;
	}
	if (t->data == NULL || t->offsets[t->count] + bytes > t->data_capacity)
	{
		size_t wanted = t->data_capacity < 256 ? 256 : t->data_capacity;
		char *grown;

		while (wanted < t->offsets[t->count] + bytes)
			wanted *= 2;
		grown = ls_arena_grow(arena, t->data, t->data_capacity, wanted);
		if (grown == NULL)
			return false;
		t->data = grown;
		t->data_capacity = wanted;
	}
	return true;
}

/* ---- dictionaries ---- */

/* Codes become texts: the column has too many different ones. */
static bool
dictionary_give_up(ls_part_builder *b, ls_builder_column *c)
{
	ls_texts values = {.codes = c->texts.codes};
	size_t bytes = 0;

	for (uint32_t v = 0; v < c->count; v++)
		bytes += c->texts.offsets[c->codes[v] + 1] - c->texts.offsets[c->codes[v]];
	if (!ls_texts_reserve(b->arena, &values, c->count + 1, bytes))
		return false;
	for (uint32_t v = 0; v < c->count; v++)
	{
		if (!ls_texts_add(b->arena, &values, ls_texts_get(&c->texts, c->codes[v])))
			return false;
	}
	c->texts = values;
	c->dictionary = false;
	return true;
}

bool
ls_builder_add_code(ls_part_builder *b, ls_builder_column *c, uint16_t code)
{
	if (!LS_GROW(b->arena, c->codes, c->codes_capacity, c->count + 1, 16))
		return false;
	c->codes[c->count++] = code;
	b->raw_bytes += c->texts.offsets[code + 1] - c->texts.offsets[code];
	b->values++;
	return true;
}

static inline bool
same_text(const ls_texts *t, uint32_t i, ls_str text)
{
	uint32_t start = t->offsets[i];

	return t->offsets[i + 1] - start == text.len &&
		   memcmp(t->data + start, text.data, text.len) == 0;
}

static bool
add_to_dictionary(ls_part_builder *b, ls_builder_column *c, ls_str text)
{
	ls_hashed_str key;
	ls_text_slot *slot;
	uint32_t code;
	bool found;

	/* Many columns have the same value again and again. */
	if (c->count > 0 && text.len > 0 && same_text(&c->texts, c->codes[c->count - 1], text))
		return ls_builder_add_code(b, c, c->codes[c->count - 1]);

	key = ls_hash_str(text);
	slot = ls_text_code_insert(&c->texts.codes, key, &found);
	if (slot == NULL)
		return false;
	if (found)
		return ls_builder_add_code(b, c, (uint16_t) (slot->number - 1));

	code = c->texts.count;
	if (code >= LS_PART_MAX_DICTIONARY ||
		(code >= DICTIONARY_TRIAL && code > c->count - c->count / 4))
		return dictionary_give_up(b, c) && ls_builder_add_text(b, c, text);
	if (!ls_texts_add(b->arena, &c->texts, text))
	{
		ls_text_code_delete(&c->texts.codes, slot);
		return false;
	}
	*slot = (ls_text_slot){LS_TEXT_TAG(key.hash), (uint16_t) (code + 1)};
	return ls_builder_add_code(b, c, (uint16_t) code);
}

bool
ls_builder_add_text(ls_part_builder *b, ls_builder_column *c, ls_str text)
{
	if (c->dictionary)
		return add_to_dictionary(b, c, text);
	if (!ls_texts_add(b->arena, &c->texts, text))
		return false;
	c->count++;
	b->values++;
	b->raw_bytes += text.len;
	return true;
}

bool
ls_builder_add_texts(ls_part_builder *b, ls_builder_column *c, const uint32_t *offsets,
					 const char *data, uint32_t n)
{
	uint32_t i = 0;
	uint32_t bytes;
	ls_texts *t = &c->texts;

	for (; i < n && c->dictionary; i++)
	{
		if (!add_to_dictionary(b, c, ls_str_make(data + offsets[i], offsets[i + 1] - offsets[i])))
		{
			ls_builder_pop(b, c, i);
			return false;
		}
	}
	bytes = offsets[n] - offsets[i];
	if (!ls_texts_reserve(b->arena, t, n - i, bytes))
	{
		ls_builder_pop(b, c, i);
		return false;
	}
	if (bytes > 0)
		memcpy(t->data + t->offsets[t->count], data + offsets[i], bytes);
	for (uint32_t k = i; k < n; k++, t->count++)
		t->offsets[t->count + 1] = t->offsets[t->count] + offsets[k + 1] - offsets[k];
	c->count += n - i;
	b->values += n - i;
	b->raw_bytes += bytes;
	return true;
}

bool
ls_builder_add_integers(ls_part_builder *b, ls_builder_column *c, const int64_t *integers,
						uint32_t n)
{
	if (!LS_GROW(b->arena, c->integers, c->integers_capacity, (uint64_t) c->count + n, 16))
		return false;
	if (n == 1)
		c->integers[c->count] = integers[0];
	else
		memcpy(c->integers + c->count, integers, n * sizeof(int64_t));
	c->count += n;
	b->values += n;
	return true;
}

void
ls_builder_pop(ls_part_builder *b, ls_builder_column *c, uint32_t n)
{
	if (LS_KIND_IS_TEXT(c->column.kind))
	{
		for (uint32_t v = c->count - n; v < c->count; v++)
		{
			uint32_t i = c->dictionary ? c->codes[v] : v;

			b->raw_bytes -= c->texts.offsets[i + 1] - c->texts.offsets[i];
		}
		if (!c->dictionary)
			c->texts.count -= n;
	}
	c->count -= n;
	b->values -= n;
}
