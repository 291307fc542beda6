/*-------------------------------------------------------------------------
 *
 * http_choice.c
 *	  What a client asks to get of an answer (pure).
 *
 * These headers only choose between answers that are all right, so what is
 * malformed in them is left out and not refused.
 *
 *-------------------------------------------------------------------------
 */
#include "src/gateway/http_choice.h"

#include <stdio.h>

#define Q_ONE 1000

/* The part of *rest before the separator, trimmed; *rest is what follows. */
static ls_str
next_part(ls_str *rest, char separator)
{
	const char *end = rest->len == 0 ? NULL : memchr(rest->data, separator, rest->len);
	ls_str part = ls_str_make(rest->data, end == NULL ? rest->len : (size_t) (end - rest->data));

	*rest = end == NULL ? LS_STR("") : ls_str_make(end + 1, rest->len - part.len - 1);
	return ls_str_trim(part);
}

/* 0.5 is 500; what is no weight is 1. */
static int
weight_of(ls_str text)
{
	int weight;
	int digit = 100;

	if (text.len == 0 || text.len > 5 || (text.data[0] != '0' && text.data[0] != '1') ||
		(text.len > 1 && text.data[1] != '.'))
		return Q_ONE;
	weight = (text.data[0] - '0') * Q_ONE;
	for (size_t i = 2; i < text.len; i++, digit /= 10)
	{
		if (text.data[i] < '0' || text.data[i] > '9')
			return Q_ONE;
		weight += (text.data[i] - '0') * digit;
	}
	return weight > Q_ONE ? Q_ONE : weight;
}

/* One element of a list: its name, and the weight among its parameters. */
static ls_str
next_element(ls_str *rest, int *weight)
{
	ls_str element = next_part(rest, ',');
	ls_str name = next_part(&element, ';');

	*weight = Q_ONE;
	while (element.len > 0)
	{
		ls_str parameter = next_part(&element, ';');

		if (parameter.len > 2 && (parameter.data[0] | 0x20) == 'q' && parameter.data[1] == '=')
			*weight = weight_of(ls_str_make(parameter.data + 2, parameter.len - 2));
	}
	return name;
}

/* How exactly a range names a type: 3 for itself, 2 for text/(any), 1 for any; 0: not at all. */
static int
names_type(ls_str range, const char *type)
{
	const char *slash = strchr(type, '/');
	size_t len = slash == NULL ? 0 : (size_t) (slash - type) + 1;

	if (ls_str_eq_nocase(range, ls_str_make(type, strlen(type))))
		return 3;
	if (ls_str_eq(range, LS_STR("*/*")) || ls_str_eq(range, LS_STR("*")))
		return 1;
	return range.len == len + 1 && range.data[len] == '*' &&
				   ls_str_eq_nocase(ls_str_make(range.data, len), ls_str_make(type, len))
			   ? 2
			   : 0;
}

int
ls_http_choose_type(ls_str accept, const char *const *offers, int n)
{
	int best = 0;
	int best_weight = 0;
	int best_exact = 0;
	int best_place = 0;

	for (int i = 0; i < n; i++)
	{
		ls_str rest = accept;
		int exact = 0;
		int weight = 0;
		int place = 0;

		/* The range that names a type most exactly says its weight. */
		for (int at = 0; rest.len > 0; at++)
		{
			int q;
			ls_str range = next_element(&rest, &q);
			int how = names_type(range, offers[i]);

			if (how > exact)
			{
				exact = how;
				weight = q;
				place = at;
			}
		}
		if (weight > best_weight ||
			(weight > 0 && weight == best_weight &&
			 (exact > best_exact || (exact == best_exact && place < best_place))))
		{
			best = i;
			best_weight = weight;
			best_exact = exact;
			best_place = place;
		}
	}
	return best;
}

int
ls_http_coding_weight(ls_str accept_encoding, ls_str coding)
{
	bool plain = ls_str_eq_nocase(coding, LS_STR("identity"));
	bool gzip = ls_str_eq_nocase(coding, LS_STR("gzip"));
	int named = -1;
	int any = -1;

	while (accept_encoding.len > 0)
	{
		int weight;
		ls_str name = next_element(&accept_encoding, &weight);

		if (ls_str_eq_nocase(name, coding) || (gzip && ls_str_eq_nocase(name, LS_STR("x-gzip"))))
			named = weight;
		else if (ls_str_eq(name, LS_STR("*")))
			any = weight;
	}
	if (named >= 0)
		return named;
	if (plain)
		return any == 0 ? 0 : -1;
	return any > 0 ? any : 0;
}

ls_http_coding
ls_http_choose_coding(ls_str accept_encoding)
{
	int gzip = ls_http_coding_weight(accept_encoding, LS_STR("gzip"));
	int plain = ls_http_coding_weight(accept_encoding, LS_STR("identity"));

	if (gzip == 0 || plain > gzip)
		return LS_HTTP_PLAIN;
	return plain == 0 ? LS_HTTP_GZIP_ONLY : LS_HTTP_GZIP;
}

void
ls_http_make_tag(ls_str body, char tag[LS_HTTP_TAG_SIZE])
{
	uint8_t hash[LS_SHA256_LENGTH];
	char digits[33];

	ls_sha256(body.data, body.len, hash);
	ls_hex(hash, 16, digits);
	snprintf(tag, LS_HTTP_TAG_SIZE, "W/\"%s\"", digits);
}

/* A tag without the mark of a weak one, which does not count in comparisons. */
static ls_str
opaque_tag(ls_str tag)
{
	return tag.len > 2 && tag.data[0] == 'W' && tag.data[1] == '/'
			   ? ls_str_make(tag.data + 2, tag.len - 2)
			   : tag;
}

bool
ls_http_tag_matches(ls_str if_none_match, const char *tag)
{
	ls_str wanted = opaque_tag(ls_str_make(tag, strlen(tag)));

	while (if_none_match.len > 0)
	{
		ls_str named = next_part(&if_none_match, ',');

		if (ls_str_eq(named, LS_STR("*")) || ls_str_eq(opaque_tag(named), wanted))
			return true;
	}
	return false;
}
