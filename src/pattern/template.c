/*-------------------------------------------------------------------------
 *
 * template.c
 *	  The text of a template, and its id.
 *
 * The template of a pattern follows the tokens of its most frequent signature.  It
 * must be true for all rows of the pattern.  A placeholder names a class (<IP>,
 * <NUM>) only if all signatures of the pattern have this class at this place,
 * otherwise it is <*>.  A constant of the header is shown only if all signatures
 * agree on it.  If signatures differ in length, a run of variables is one <*>.
 *
 *-------------------------------------------------------------------------
 */
#include "src/pattern/render.h"

/* One token of the template: its text, or the placeholder for it. */
typedef enum piece_kind
{
	PIECE_TEXT,
	PIECE_SEPARATOR, /* text that may be inside a run of placeholders */
	PIECE_ANY,
	PIECE_NUMBER,
	PIECE_ADDRESS
} piece_kind;

static void
append_placeholder(ls_buf *buf, piece_kind kind)
{
	if (kind == PIECE_ANY)
		ls_buf_lit(buf, "<*>");
	else if (kind == PIECE_NUMBER)
		ls_buf_lit(buf, "<NUM>");
	else
		ls_buf_lit(buf, "<IP>");
}

static piece_kind
piece_of(const miner *m, const draft *d, const token_list *list, const uint32_t *map, uint32_t i)
{
	const signature *s = &m->signatures[d->signature];
	uint64_t code = list->t[i].code;
	bool body = i >= s->body;
	bool differs = d->differs[i] || (body && d->varying);

	/* Optional and repeated parts: only where the rows have them alike. */
	if (body && d->varying && (map[i - s->body] & MAP_DROPPED) != 0)
		return PIECE_ANY;
	switch (CODE_KIND(code))
	{
		case TOKEN_WORD:
			if (body)
				differs = d->group != NONE &&
						  m->groups[d->group].codes[MAP_PLACE(map[i - s->body])] == CODE_VARIABLE;
			return differs ? PIECE_ANY : PIECE_TEXT;
		case TOKEN_VALUE:
			return differs ? PIECE_ANY : PIECE_TEXT;
		case TOKEN_VARIABLE:
			if (differs || CLASS_OF(code) == CLASS_ANY || CLASS_OF(code) == CLASS_TAIL)
				return PIECE_ANY;
			return CLASS_OF(code) == CLASS_NUMBER ? PIECE_NUMBER : PIECE_ADDRESS;
		default:
			if (d->differs[i] && !body)
				return PIECE_ANY;
			return code == CODE(TOKEN_SYMBOL, ':') || code == CODE(TOKEN_SYMBOL, ',') ||
						   code == CODE(TOKEN_SYMBOL, '=')
					   ? PIECE_SEPARATOR
					   : PIECE_TEXT;
	}
}

static void
append_piece(ls_buf *buf, const char *row, const token *t, piece_kind kind)
{
	const char *start = row + t->start;
	const char *end = start + t->len;

	if (kind <= PIECE_SEPARATOR)
	{
		ls_pattern_escape(buf, ls_str_make(start, t->len));
		return;
	}
	/* A JSON string keeps its quotes, /1.2.3.4 its slash. */
	if (t->lead > 0 && (*start == '"' || *start == '\''))
	{
		ls_buf_char(buf, *start);
		append_placeholder(buf, kind);
		ls_buf_char(buf, *start);
		return;
	}
	if (t->lead > 0 && kind == PIECE_ADDRESS)
		ls_pattern_escape(buf, ls_str_make(start, t->lead));
	append_placeholder(buf, kind);
	if (kind == PIECE_NUMBER)
	{
		const char *unit = end;

		while (unit > start && ((unit[-1] | 0x20) < '0' || (unit[-1] | 0x20) > '9') &&
			   unit[-1] != '.')
			unit--;
		ls_buf_append(buf, unit, (size_t) (end - unit));
	}
}

bool
ls_render_template(miner *m, const draft *d, token_list *list, ls_str *out)
{
	const signature *s = &m->signatures[d->signature];
	ls_str text = m->rows[s->row];
	const char *row = text.data;
	uint64_t canonical[MAX_TOKENS];
	uint32_t map[MAX_TOKENS];
	piece_kind kinds[MAX_TOKENS];
	ls_buf buf;
	uint32_t previous_end = 0;

	ls_buf_init(&buf, m->arena);
	ls_scan_row(list, text);
	ls_canonical_codes(s->codes + s->body, s->ntokens - s->body, canonical, map);
	for (uint32_t i = 0; i < list->n; i++)
		kinds[i] = piece_of(m, d, list, map, i);

	for (uint32_t i = 0; i < list->n; i++)
	{
		uint32_t last = i;
		uint32_t placeholders = 0;

		/* Three placeholders or more in a row, as in a time, are one. */
		if (kinds[i] > PIECE_SEPARATOR && !(list->structured && list->t[i].lead > 0))
		{
			for (uint32_t k = i; k < list->n && kinds[k] != PIECE_TEXT && k - last <= 2 &&
								 (i >= s->body) == (k >= s->body);
				 k++)
			{
				if (kinds[k] > PIECE_SEPARATOR)
				{
					placeholders++;
					last = k;
				}
			}
		}
		if (i > 0)
			ls_pattern_escape(&buf,
							  ls_str_make(row + previous_end, list->t[i].start - previous_end));
		if (placeholders >= 3 || (placeholders == 2 && d->varying))
		{
			ls_buf_lit(&buf, "<*>");
			i = last;
		}
		else
			append_piece(&buf, row, &list->t[i], kinds[i]);
		previous_end = list->t[i].start + list->t[i].len;
	}
	if (list->n > 0 && CLASS_OF(list->t[list->n - 1].code) != CLASS_TAIL &&
		text.len > MAX_ROW_BYTES)
		ls_buf_lit(&buf, "<*>");
	*out = ls_str_make(buf.data == NULL ? "" : buf.data, buf.len);
	return !buf.failed;
}

/* The id is a hash of keys and canonical body: the same in other requests. */
uint64_t
ls_pattern_id(const miner *m, const draft *d)
{
	return d->group == NONE ? m->signatures[d->signature].id : m->groups[d->group].id;
}
