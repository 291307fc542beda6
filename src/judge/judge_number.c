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

/* Adds what a group of three digits after a comma says: 120,000.  Returns the last atom of the number. */
static int
read_groups(const ls_judge_text *t, int i, double *value)
{
	for (; i + 1 < t->n && *value >= 1 && *value < 1e12; i++)
	{
		const ls_judge_atom *a = &t->atoms[i];
		long low = ls_judge_plain_number(t, i + 1);

		if (a->len > 3 || a[1].off != (uint32_t) a->off + a->len + 1 ||
			t->text.data[a[1].off - 1] != ',' || a[1].len != 3 || low < 0)
			break;
		*value = *value * 1000 + (double) low;
	}
	return i;
}

bool
ls_judge_number_value(const ls_judge_text *t, int i, double *value, ls_judge_dim *dim)
{
	const ls_judge_atom *a = &t->atoms[i];
	double factor, more;
	ls_judge_dim unit;
	size_t end;

	if (a->kind != LS_ATOM_NUMBER || (a->flags & LS_ATOM_TIME) || a->len > 18 ||
		!parse_decimal(ls_judge_atom_text(t, i), value))
		return false;
	*dim = LS_DIM_NONE;
	i = read_groups(t, i, value);
	end = (size_t) t->atoms[i].off + t->atoms[i].len;
	if (end < t->text.len && t->text.data[end] == '%')
		*dim = LS_DIM_PERCENT;
	else if (i + 1 < t->n &&
			 (t->atoms[i + 1].sep == LS_SEP_NONE || t->atoms[i + 1].sep == LS_SEP_SPACE) &&
			 ls_judge_number_unit(ls_judge_atom_text(t, i + 1), &factor, dim))
	{
		*value *= factor;
		/* 41m10s */
		for (i += 2;
			 *dim == LS_DIM_TIME && i + 1 < t->n && t->atoms[i].sep == LS_SEP_NONE &&
			 t->atoms[i].kind == LS_ATOM_NUMBER && parse_decimal(ls_judge_atom_text(t, i), &more) &&
			 ls_judge_number_unit(ls_judge_atom_text(t, i + 1), &factor, &unit);
			 i += 2)
			*value += more * factor;
	}
	/* duration_ms=120, "elapsedSeconds":4 */
	else if (a > t->atoms && a[-1].len > 1 &&
			 (a->sep == LS_SEP_EQUAL || a->sep == LS_SEP_COLON || a->sep == LS_SEP_OTHER) &&
			 ls_judge_number_unit(ls_judge_atom_text(t, (int) (a - t->atoms) - 1), &factor, dim))
		*value *= factor;
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
	ls_judge_concept concept = (ls_judge_concept) ctx->words.table[a->word].concept;

	for (int k = 0; k < item->n_terms; k++)
	{
		const ls_judge_term *term = &item->terms[k];

		if (term->stem == a->stem || (term->joined && term->joined == a->stem) ||
			(a->joined && a->joined == term->stem))
			return term->scope ? 0.5f : term->ident >= 0 ? 1 : 3;
		if (term->concept != LS_CONCEPT_NONE && term->concept == concept)
			return term->scope ? 0.3f : 2;
	}
	return 0;
}

/* "unit":"ms" beside the value of a metric */
static bool
row_unit(const ls_judge_text *t, double *factor, ls_judge_dim *dim)
{
	for (int i = 0; i + 1 < t->n; i++)
		if (t->atoms[i + 1].sep == LS_SEP_EQUAL &&
			ls_judge_is_one_of(ls_judge_atom_text(t, i), "unit units"))
			return ls_judge_number_unit(ls_judge_atom_text(t, i + 1), factor, dim);
	return false;
}

/* May the number at `i` be the item's value?  It gets the value and its kind. */
static bool
may_be_value(const ls_judge_item *item, const ls_judge_row *row, int i, double *value,
			 ls_judge_dim dim)
{
	const ls_judge_text *t = &row->text;
	const ls_judge_atom *a = &t->atoms[i];
	ls_judge_dim wanted = item->cond.dim;

	if (wanted != dim &&
		!(dim == LS_DIM_NONE && (wanted == LS_DIM_PERCENT || wanted == LS_DIM_BYTES ||
								 (wanted == LS_DIM_TIME && a->sep == LS_SEP_EQUAL))))
		return false;
	/* a ratio: 0.93 is 93% */
	if (wanted == LS_DIM_PERCENT && dim == LS_DIM_NONE && *value <= 1 && *value >= 0 &&
		item->cond.value > 1 && memchr(t->text.data + a->off, '.', a->len) != NULL)
		*value *= 100;
	/* A number that names something is no value. */
	for (int k = 0; k < item->n_terms; k++)
		if (item->terms[k].ident >= 0 && item->terms[k].stem == a->stem)
			return false;
	/* a batch of 100 is one batch */
	return !(dim == LS_DIM_NONE && ls_judge_is(ls_judge_atom_text(t, i - 1), "of")) &&
		   !(row->http != 0 && *value == row->http) && a->sep != LS_SEP_TIGHT &&
		   a->sep != LS_SEP_DOT;
}

/* How much the key or the words before the number at `i` are the item's. */
static float
score_before(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_text *t, int i)
{
	bool keyed = t->atoms[i].sep == LS_SEP_EQUAL || t->atoms[i].sep == LS_SEP_COLON;
	float score = 0.5f;

	for (int k = i - 1; k >= 0 && k >= i - (keyed ? 4 : 5); k--)
	{
		float hit = word_hit(ctx, item, &t->atoms[k]);

		if (!keyed && hit > 0)
			return score + hit * (1.0f - 0.15f * (float) (i - 1 - k));
		score += 2 * hit;
		/* a measurement, or the limit that it is compared with */
		if (keyed && k == i - 1 && hit == 0)
			score += ls_judge_in(ctx, t, k, LS_SET_MEASURED) ? 1.4f
					 : ls_judge_in(ctx, t, k, LS_SET_LIMIT)  ? -1.5f
															 : 0;
		if (keyed ? t->atoms[k].sep > LS_SEP_DOT : t->atoms[k].kind == LS_ATOM_NUMBER)
			break;
	}
	return score;
}

/* ... or the noun after it: 3 errors. */
static float
score_after(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_text *t, int i)
{
	for (int k = i + 1; k < t->n && k < i + 3; k++)
	{
		size_t end = t->atoms[k].off + t->atoms[k].len;
		float hit = word_hit(ctx, item, &t->atoms[k]);

		if (t->atoms[k].sep != LS_SEP_SPACE)
			continue;
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
	bool keyed = t->atoms[i].sep == LS_SEP_EQUAL;
	ls_str before = ls_judge_atom_text(t, i - 1);
	float score = item->cond.dim != LS_DIM_NONE && dim == item->cond.dim ? 1 : 0;

	if (keyed && ls_judge_is_one_of(before, "count total n num"))
		score += 1.4f;
	if (ls_judge_word_of(ctx, t, i - 1)->concept == LS_CONCEPT_LATENCY ||
		(keyed && ls_judge_is(before, "time")))
		score += 1.5f;
	return score;
}

static bool
find_value(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_row *row, bool same,
		   double *value)
{
	const ls_judge_text *t = &row->text;
	float best = item->cond.dim == LS_DIM_NONE ? 1.6f : 1.0f; /* what a value must have */
	double factor = 1;
	ls_judge_dim unit;
	bool has_unit = row->fields && row_unit(t, &factor, &unit), found = false;

	for (int i = 0; i < t->n; i++)
	{
		double v;
		ls_judge_dim dim;
		float score;

		if (t->atoms[i].kind != LS_ATOM_NUMBER || t->atoms[i].client != LS_CLIENT_NONE ||
			!ls_judge_number_value(t, i, &v, &dim))
			continue;
		if (has_unit && dim == LS_DIM_NONE && t->atoms[i].sep == LS_SEP_EQUAL)
		{
			v *= factor;
			dim = unit;
		}
		if ((item->cond.dim == dim) != same || !may_be_value(item, row, i, &v, dim))
			continue;
		score = score_before(ctx, item, t, i) + score_after(ctx, item, t, i) +
				score_kind(ctx, item, t, i, dim);
		if (found ? score > best : score >= best)
		{
			found = true;
			best = score;
			*value = v;
		}
	}
	return found;
}

bool
ls_judge_number_find(const ls_judge_ctx *ctx, const ls_judge_item *item, const ls_judge_row *row,
					 double *value)
{
	return find_value(ctx, item, row, true, value) || find_value(ctx, item, row, false, value);
}

int
ls_judge_number_fraction(const ls_judge_text *t, int i, long *part, long *whole)
{
	const ls_judge_atom *a = &t->atoms[i];
	int to = i + 1;

	*part = ls_judge_plain_number(t, i);
	if (*part < 0 || to >= t->n || a->client != LS_CLIENT_NONE || a->sep == LS_SEP_DOT ||
		a->sep == LS_SEP_SLASH || a->sep == LS_SEP_TIGHT || a->sep == LS_SEP_NONE)
		return 0;
	if (a[1].kind == LS_ATOM_SYMBOL || ls_judge_is(ls_judge_atom_text(t, to), "out"))
		to++; /* 2 / 3 */
	if (ls_judge_is(ls_judge_atom_text(t, to), "of"))
		to += 1 + ls_judge_is(ls_judge_atom_text(t, to + 1), "the");
	*whole = ls_judge_plain_number(t, to);
	if (*whole < 0 || (to == i + 1 && a[1].sep != LS_SEP_SLASH))
		return 0;
	/* no date, path or version */
	return to + 1 >= t->n || t->atoms[to + 1].sep >= LS_SEP_SPACE ? to + 1 - i : 0;
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
