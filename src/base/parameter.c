/*-------------------------------------------------------------------------
 *
 * parameter.c
 *	  Query strings (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/base/parameter.h"

bool
ls_percent_decode(ls_str text, bool form, ls_arena *arena, ls_str *out)
{
	char *to = ls_arena_alloc(arena, text.len + 1);
	size_t n = 0;

	if (to == NULL)
		return false;
	for (size_t i = 0; i < text.len; i++)
	{
		char c = text.data[i];

		if (c == '+' && form)
			c = ' ';
		else if (c == '%')
		{
			int high = i + 2 <= text.len - 1 ? ls_hex_digit(text.data[i + 1]) : -1;
			int low = i + 2 <= text.len - 1 ? ls_hex_digit(text.data[i + 2]) : -1;

			if (high < 0 || low < 0 || (high == 0 && low == 0))
				return false;
			c = (char) (high << 4 | low);
			i += 2;
		}
		else if (c == '\0')
			return false;
		to[n++] = c;
	}
	to[n] = '\0';
	*out = ls_str_make(to, n);
	return ls_utf8_valid(to, n);
}

bool
ls_parameter_next(ls_str *query, ls_arena *arena, ls_str *name, ls_str *value, bool *bad)
{
	ls_str pair;
	ls_str raw_name;
	ls_str raw_value;
	const char *stop;

	while (query->len > 0 && query->data[0] == '&')
		*query = ls_str_make(query->data + 1, query->len - 1);
	if (query->len == 0)
		return false;

	stop = memchr(query->data, '&', query->len);
	pair = ls_str_make(query->data, stop == NULL ? query->len : (size_t) (stop - query->data));
	*query = ls_str_make(query->data + pair.len, query->len - pair.len);

	stop = memchr(pair.data, '=', pair.len);
	raw_name = ls_str_make(pair.data, stop == NULL ? pair.len : (size_t) (stop - pair.data));
	raw_value =
		stop == NULL ? ls_str_make("", 0) : ls_str_make(stop + 1, pair.len - raw_name.len - 1);
	*bad = !ls_percent_decode(raw_name, true, arena, name) ||
		   !ls_percent_decode(raw_value, true, arena, value);
	return true;
}
