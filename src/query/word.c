/*-------------------------------------------------------------------------
 *
 * word.c
 *	  What a word of a query can be: a number, a name, a text to search (pure).
 *
 *-------------------------------------------------------------------------
 */
#include "src/query/language_internal.h"

bool
ls_query_is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool
ls_query_has_token(ls_str s)
{
	for (size_t i = 0; i < s.len; i++)
	{
		unsigned char c = (unsigned char) s.data[i];

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			c == '_' || c >= 0x80)
			return true;
	}
	return false;
}

bool
ls_query_is_number(ls_str word)
{
	size_t n = word.len > 0 && word.data[0] == '-' ? 1 : 0;
	size_t first = n;
	bool dot = false;

	for (; n < word.len; n++)
	{
		if (word.data[n] == '.' && !dot && n > first && n + 1 < word.len)
			dot = true;
		else if (word.data[n] < '0' || word.data[n] > '9')
			return false;
	}
	return n > first;
}

bool
ls_query_is_plain_word(ls_str word)
{
	if (word.len == 0 || !ls_query_is_name_char(word.data[0]) || ls_query_find_operator(word) != 0)
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (!ls_query_is_name_char(word.data[i]) &&
			(i + 1 == word.len || (word.data[i] != '-' && word.data[i] != '.')))
			return false;
	return true;
}
