/*-------------------------------------------------------------------------
 *
 * judge_number.c
 *	  Numbers, units and thresholds for the built-in evaluator (pure).
 *
 * An item such as "latency stays under 200 ms" needs the one number of a row that it means.
 * Only numbers of the same kind (time, bytes, percent, plain) compete; the one that stands
 * after a word of the item wins.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

bool
ls_judge_number_unit(ls_str word, double *factor, ls_judge_dim *dim)
{
	static const struct
	{
		const char *names; /* which blanks separate */
		double factor;
		ls_judge_dim dim;
	} units[] = {
		{"ms msec millis millisecond milliseconds", 0.001, LS_DIM_TIME},
		{"us usec microseconds", 1e-6, LS_DIM_TIME},
		{"ns", 1e-9, LS_DIM_TIME},
		{"s sec secs second seconds", 1, LS_DIM_TIME},
		{"min mins minute minutes", 60, LS_DIM_TIME},
		{"h hr hour hours", 3600, LS_DIM_TIME},
		{"d day days", 86400, LS_DIM_TIME},
		{"week weeks", 604800, LS_DIM_TIME},
		{"b byte bytes", 1, LS_DIM_BYTES},
		{"k kb", 1e3, LS_DIM_BYTES},
		{"kib", 1024, LS_DIM_BYTES},
		{"mb", 1e6, LS_DIM_BYTES},
		{"mib", 1048576, LS_DIM_BYTES},
		{"g gb", 1e9, LS_DIM_BYTES},
		{"gib", 1073741824, LS_DIM_BYTES},
		{"tb", 1e12, LS_DIM_BYTES},
		{"tib", 1099511627776.0, LS_DIM_BYTES},
		{"percent pct", 1, LS_DIM_PERCENT},
		{"c celsius degrees", 1, LS_DIM_DEGREE},
	};
	bool minutes = word.len == 1 && word.data[0] == 'm'; /* 3M is no time */

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (minutes ? units[i].factor == 60 : ls_judge_is_one_of(word, units[i].names))
		{
			*factor = units[i].factor;
			*dim = units[i].dim;
			return true;
		}
	return false;
}

static bool
parse_decimal(ls_str s, double *value)
{
	double v = 0, scale = 0;

	for (size_t i = 0; i < s.len; i++)
	{
		if (s.data[i] == '.')
		{
			if (scale != 0)
				return false; /* an address or a version */
			scale = 1;
			continue;
		}
		v = v * 10 + (s.data[i] - '0');
		scale *= 10;
	}
	*value = scale > 1 ? v / scale : v;
	return true;
}

bool
ls_judge_number_value(const ls_judge_text *t, int i, double *value, ls_judge_dim *dim)
{
	const ls_judge_atom *a = &t->atoms[i];
	size_t end = (size_t) a->off + a->len;
	double factor;
	ls_judge_dim unit;

	if (a->kind != LS_ATOM_NUMBER || (a->flags & LS_ATOM_TIME) || a->len > 18 ||
		!parse_decimal(ls_judge_atom_text(t, i), value))
		return false;
	/* 120,000 */
	while (i + 1 < t->n && t->text.data[end] == ',' && t->atoms[i + 1].off == end + 1 &&
		   t->atoms[i + 1].kind == LS_ATOM_NUMBER && t->atoms[i + 1].len == 3 && a->len <= 3 &&
		   *value >= 1 && *value < 1e12)
	{
		double low;

		if (!parse_decimal(ls_judge_atom_text(t, i + 1), &low))
			break;
		*value = *value * 1000 + low;
		i++;
		end = (size_t) t->atoms[i].off + t->atoms[i].len;
	}
	*dim = LS_DIM_NONE;
	if (a->off > 0 && t->text.data[a->off - 1] == '-' &&
		(a->off < 2 || t->text.data[a->off - 2] == ' ' || t->text.data[a->off - 2] == '='))
		*value = -*value;
	if (end < t->text.len && t->text.data[end] == '%')
	{
		*dim = LS_DIM_PERCENT;
		return true;
	}
	if (i + 1 < t->n &&
		(t->atoms[i + 1].sep == LS_SEP_NONE || t->atoms[i + 1].sep == LS_SEP_SPACE) &&
		ls_judge_number_unit(ls_judge_atom_text(t, i + 1), &factor, &unit))
	{
		*value *= factor;
		*dim = unit;
		/* 41m10s */
		for (int k = i + 2; k + 1 < t->n && t->atoms[k].sep == LS_SEP_NONE && unit == LS_DIM_TIME;
			 k += 2)
		{
			double more;

			if (t->atoms[k].kind != LS_ATOM_NUMBER ||
				!parse_decimal(ls_judge_atom_text(t, k), &more) ||
				!ls_judge_number_unit(ls_judge_atom_text(t, k + 1), &factor, &unit))
				break;
			*value += more * factor;
		}
		return true;
	}
	/* duration_ms=120, "elapsedSeconds":4 */
	if (i > 0 && (a->sep == LS_SEP_EQUAL || a->sep == LS_SEP_COLON || a->sep == LS_SEP_OTHER))
	{
		ls_str key = ls_judge_atom_text(t, i - 1);

		if (key.len > 1 && ls_judge_number_unit(key, &factor, &unit))
		{
			*value *= factor;
			*dim = unit;
		}
	}
	return true;
}

bool
ls_judge_number_holds(const ls_judge_cond *cond, double v)
{
	switch (cond->op)
	{
		case LS_OP_LT:
			return v < cond->value;
		case LS_OP_LE:
			return v <= cond->value;
		case LS_OP_GT:
			return v > cond->value;
		case LS_OP_GE:
			return v >= cond->value;
		case LS_OP_EQ:
			return v == cond->value;
		default:
			return true;
	}
}

/* How much a word of the row is a word of the item: names more than concepts. */
static float
word_hit(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_atom *a)
{
	const ls_judge_word *w = &ctx->words.table[a->word];

	for (int k = 0; k < item->n_terms; k++)
	{
		const ls_judge_term *term = &item->terms[k];

		if (term->stem == a->stem || (term->joined && term->joined == a->stem) ||
			(a->joined && a->joined == term->stem))
			return term->scope ? 0.5f : term->ident >= 0 ? 1 : 3;
		if (term->concept != LS_CONCEPT_NONE && term->concept == w->concept)
			return term->scope ? 0.3f : 2;
	}
	return 0;
}

/* "unit":"ms" beside the value of a metric */
static bool
row_unit(const ls_judge_text *t, double *factor, ls_judge_dim *dim)
{
	for (int i = 0; i < t->n; i++)
	{
		size_t end = t->atoms[i].off + t->atoms[i].len, stop;

		if (t->atoms[i].len < 4 || t->atoms[i].len > 5 ||
			!(ls_judge_is(ls_judge_atom_text(t, i), "unit") ||
			  ls_judge_is(ls_judge_atom_text(t, i), "units")))
			continue;
		while (end < t->text.len && strchr("\":= ", t->text.data[end]) != NULL)
			end++;
		stop = end;
		while (stop < t->text.len && ls_judge_is_letter(t->text.data[stop]))
			stop++;
		return ls_judge_number_unit(ls_str_make(t->text.data + end, stop - end), factor, dim);
	}
	return false;
}

/* What a key says about its number: a measurement, or the limit that it is compared with. */
static float
key_kind(ls_str key)
{
	static const char *const measured[] = {"actual", "value",    "current", "measured",
										   "result", "observed", "val",     "reading"};
	static const char *const limits[] = {"target", "limit",     "threshold", "expected", "budget",
										 "goal",   "objective", "quota",     "allowed"};

	if (LS_JUDGE_IS_IN(key, measured))
		return 1.4f;
	if (LS_JUDGE_IS_IN(key, limits))
		return -1.5f;
	return 0;
}

/* May the number at `i` be the item's value?  It gets the value and its kind. */
static bool
may_be_value(const ls_judge_item *item, const ls_judge_row *row, int i, double *value,
			 ls_judge_dim *dim)
{
	const ls_judge_text *t = &row->text;
	const ls_judge_atom *a = &t->atoms[i];
	ls_judge_dim wanted = item->cond.dim;
	bool own = false;

	if (wanted != *dim && !(wanted == LS_DIM_PERCENT && *dim == LS_DIM_NONE) &&
		!(wanted == LS_DIM_BYTES && *dim == LS_DIM_NONE) &&
		!(wanted == LS_DIM_TIME && *dim == LS_DIM_NONE && a->sep == LS_SEP_EQUAL))
		return false;
	/* a ratio: 0.93 is 93% */
	if (wanted == LS_DIM_PERCENT && *dim == LS_DIM_NONE && *value <= 1 && *value >= 0 &&
		item->cond.value > 1 && memchr(t->text.data + a->off, '.', a->len) != NULL)
		*value *= 100;
	/* A number that names something is no value. */
	for (int k = 0; k < item->n_terms; k++)
		own |= item->terms[k].ident >= 0 && item->terms[k].stem == a->stem;
	/* a batch of 100 is one batch */
	own |= *dim == LS_DIM_NONE && i > 0 && ls_judge_is(ls_judge_atom_text(t, i - 1), "of");
	return !(own || (row->http != 0 && *value == row->http) || a->sep == LS_SEP_TIGHT ||
			 a->sep == LS_SEP_DOT);
}

/* How much the key or the words before the number at `i` are the item's. */
static float
score_before(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_text *t, int i)
{
	const ls_judge_atom *a = &t->atoms[i];
	float score = 0.5f;

	if (a->sep == LS_SEP_EQUAL || a->sep == LS_SEP_COLON)
	{
		for (int k = i - 1, steps = 0; k >= 0 && steps < 4; k--, steps++)
		{
			float hit = word_hit(ctx, item, &t->atoms[k]);

			score += 2 * hit;
			if (steps == 0 && hit == 0)
				score += key_kind(ls_judge_atom_text(t, k));
			if (t->atoms[k].sep > LS_SEP_DOT)
				break;
		}
		return score;
	}
	for (int k = i - 1, steps = 0; k >= 0 && steps < 5; k--, steps++)
	{
		float hit = word_hit(ctx, item, &t->atoms[k]);

		if (hit > 0)
			return score + hit * (1.0f - 0.15f * (float) steps);
		if (t->atoms[k].kind == LS_ATOM_NUMBER)
			break;
	}
	return score;
}

/* ... or the noun after it: 3 errors. */
static float
score_after(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_text *t, int i)
{
	for (int k = i + 1; k < t->n && k < i + 3; k++)
		if (t->atoms[k].sep == LS_SEP_SPACE || t->atoms[k].sep == LS_SEP_NONE)
		{
			float hit = word_hit(ctx, item, &t->atoms[k]);
			size_t end = t->atoms[k].off + t->atoms[k].len;

			/* "87.4% Branches: 71.2%": the key of the next number */
			if (end < t->text.len && (t->text.data[end] == ':' || t->text.data[end] == '='))
				break;
			if (hit > 0)
				return hit * 1.2f;
		}
	return 0;
}

/* "count=41", "took 3 s": what the word before the number says about its kind. */
static float
score_kind(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_text *t, int i,
		   ls_judge_dim dim)
{
	const ls_judge_atom *a = &t->atoms[i];
	ls_str before = i > 0 ? ls_judge_atom_text(t, i - 1) : LS_STR("");
	float score = 0;

	if (dim == LS_DIM_NONE && a->sep == LS_SEP_EQUAL &&
		(ls_judge_is(before, "count") || ls_judge_is(before, "total") || ls_judge_is(before, "n") ||
		 ls_judge_is(before, "num")))
		score += ls_judge_is(before, "total") ? 1.2f : 1.4f;
	if (item->cond.dim == LS_DIM_TIME && i > 0 &&
		(ctx->words.table[t->atoms[i - 1].word].concept == LS_CONCEPT_LATENCY ||
		 ls_judge_is(before, "in") || ls_judge_is(before, "after") ||
		 ls_judge_is(before, "total") || (ls_judge_is(before, "time") && a->sep == LS_SEP_EQUAL)))
		score += 1.5f;
	if (item->cond.dim != LS_DIM_NONE && dim == item->cond.dim)
		score += 1;
	return score;
}

static bool
find_value(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_row *row, bool same,
		   double *value)
{
	const ls_judge_text *t = &row->text;
	float best = 0;
	double factor = 1;
	ls_judge_dim unit;
	bool has_unit = row->fields && row_unit(t, &factor, &unit);

	for (int i = 0; i < t->n; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];
		double v;
		ls_judge_dim dim;
		float score;

		if (a->kind != LS_ATOM_NUMBER || a->client != LS_CLIENT_NONE ||
			!ls_judge_number_value(t, i, &v, &dim))
			continue;
		if (has_unit && dim == LS_DIM_NONE && a->sep == LS_SEP_EQUAL)
		{
			v *= factor;
			dim = unit;
		}
		if ((item->cond.dim == dim) != same || !may_be_value(item, row, i, &v, &dim))
			continue;
		score = score_before(ctx, item, t, i) + score_after(ctx, item, t, i) +
				score_kind(ctx, item, t, i, dim);
		if (score > best && score >= (item->cond.dim == LS_DIM_NONE ? 1.6f : 1.0f))
		{
			best = score;
			*value = v;
		}
	}
	return best > 0;
}

bool
ls_judge_number_find(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_row *row,
					 double *value)
{
	return find_value(ctx, item, row, true, value) || find_value(ctx, item, row, false, value);
}

/* Digits from *at on, at most six; moves *at after them. */
static bool
read_count(ls_str text, size_t *at, uint32_t *value)
{
	size_t i = *at;

	*value = 0;
	while (i < text.len && ls_judge_is_digit(text.data[i]) && i - *at < 7)
		*value = *value * 10 + (uint32_t) (text.data[i++] - '0');
	if (i == *at || i - *at > 6)
		return false;
	*at = i;
	return true;
}

/* Is the byte part of a word, a path, a date or a version? */
static bool
joins_number(ls_str text, size_t i)
{
	char c = text.data[i];

	if (ls_judge_is_digit(c) || ls_judge_is_letter(c) || c == '/' || c == '-' || c == '_' ||
		(c & 0x80))
		return true;
	/* the end of a sentence is none of it */
	return c == '.' && i + 1 < text.len && ls_judge_is_digit(text.data[i + 1]);
}

bool
ls_judge_number_fraction(ls_str text, size_t *at, size_t *from, uint32_t *part, uint32_t *whole)
{
	static const char *const between[] = {"/", " / ", " of ", " of the ", " out of "};

	while (*at < text.len)
	{
		size_t i = (*at)++;

		*from = i;
		if (!ls_judge_is_digit(text.data[i]))
			continue;
		if ((i > 0 && (joins_number(text, i - 1) || text.data[i - 1] == '.')) ||
			!read_count(text, &i, part))
			continue;
		for (size_t k = 0; k < sizeof(between) / sizeof(between[0]); k++)
		{
			size_t len = strlen(between[k]);
			size_t stop = i + len;

			if (text.len - i <= len || memcmp(text.data + i, between[k], len) != 0 ||
				!read_count(text, &stop, whole) || (stop < text.len && joins_number(text, stop)))
				continue;
			*at = stop;
			return true;
		}
	}
	return false;
}

/* The number of two digits, -1: none. */
static int
two_digits(const char *s)
{
	return ls_judge_is_digit(s[0]) && ls_judge_is_digit(s[1]) ? (s[0] - '0') * 10 + s[1] - '0' : -1;
}

bool
ls_judge_row_clock(const ls_judge_row *row, double *seconds)
{
	const char *s = row->text.text.data;
	size_t n = row->text.text.len < 64 ? row->text.text.len : 64;

	/* t=8: seconds since some start */
	if (n > 2 && s[0] == 't' && s[1] == '=' && row->text.n > 1 &&
		row->text.atoms[1].kind == LS_ATOM_NUMBER && row->text.atoms[1].off == 2)
		return parse_decimal(ls_judge_atom_text(&row->text, 1), seconds);

	for (size_t i = 0; i + 8 <= n; i++)
	{
		int hours = two_digits(s + i), minutes = two_digits(s + i + 3);
		int rest = two_digits(s + i + 6);

		if (s[i + 2] != ':' || s[i + 5] != ':' || hours < 0 || minutes < 0 || rest < 0 ||
			(i > 0 && ls_judge_is_digit(s[i - 1])))
			continue;
		*seconds = hours * 3600.0 + minutes * 60.0 + rest;
		return true;
	}
	return false;
}
