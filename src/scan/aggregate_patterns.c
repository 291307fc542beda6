/*-------------------------------------------------------------------------
 *
 * aggregate_patterns.c
 *	  Aggregate `patterns`: the templates of texts inside parts, for each group.
 *
 * Parts store texts as templates: texts that are equal except for numbers and ids share one.
 * The miner takes all of these for variables.  So the rows of a stored template are counted, and
 * the texts of only a few of them are made and read; all others have the same token sequence.
 * Rows with an entry of a dictionary are counted in the same way.  Only texts that resemble no
 * others are read one by one.
 *
 * What is counted goes into a digest (src/pattern), whose memory is bounded.  It is mined at the
 * end, when the groups of all parts are known.
 *
 *-------------------------------------------------------------------------
 */
#include "src/scan/aggregate_internal.h"

#include "utils/memutils.h"

/* The digest may take this share of the memory; mining takes some times as much. */
#define DIGEST_SHARE 8

/* Fewer texts are mined if memory does not suffice, but not fewer than these. */
#define LEAST_TEXTS 16

#define MOST_RARE 50

#define NONE UINT16_MAX

/* Rows of a block with one group and one class. */
typedef struct tally
{
	uint32 group;
	uint32 class;
	uint32 rows;
	uint16 head; /* places of the first ones in the list of rows, linked by `next` */
	uint16 tail;
	ls_time first;
	ls_time last;
} tally;

#define LS_TABLE_NAME tally_number
#define LS_TABLE_SLOT uint16_t /* 1 + tally */
#define LS_TABLE_FIXED (2 * LS_PART_BLOCK_ROWS)
#define LS_TABLE_DECLARE
#include "src/base/hash_table.h"

typedef struct ls_tallies
{
	uint32 n;
	tally items[LS_PART_BLOCK_ROWS];
	uint16 next[LS_PART_BLOCK_ROWS];
	tally_number_table numbers;
	uint16 by_class[LS_PART_BLOCK_ROWS]; /* 1 + tally, if there is one group */
} ls_tallies;

#define LS_TABLE_NAME tally_number
#define LS_TABLE_SLOT uint16_t
#define LS_TABLE_KEY tally
#define LS_TABLE_HASH(t, key) ls_hash_keyed64((uint64) (key).group << 32 | (key).class)
#define LS_TABLE_EQUAL(t, slot, key) \
	same_tally(&ls_container(const ls_tallies, numbers, t)->items[*(slot) -1], &(key))
#define LS_TABLE_IS_FREE(slot) (*(slot) == 0)
#define LS_TABLE_FIXED (2 * LS_PART_BLOCK_ROWS)
#define LS_TABLE_DEFINE

static inline bool
same_tally(const tally *a, const tally *b)
{
	return a->group == b->group && a->class == b->class;
}

#include "src/base/hash_table.h"

/* Texts that are expected while those before them are added; half as many are expected soon. */
#define AHEAD 16

/* A text that waits, and the rows whose first one it is; NULL: no others. */
typedef struct waiting_text
{
	ls_pattern_text text;
	const tally *rows;
} waiting_text;

/* Where the texts of a block are. */
typedef struct texts
{
	ls_scan *scan;
	ls_scan_field *field;
	const ls_group_rows *rows;
	const uint32_t *ranks;       /* NULL: values of any kind, one by one */
	ls_text_templates templates; /* if n is not 0 */
	const ls_vector *vector;     /* if n is 0 */
	ls_buf json;
	waiting_text ahead[AHEAD];
	uint32_t n_ahead; /* all that came; the last ones wait */
} texts;

int
ls_patterns_options(ls_aggregate *m, const char *text)
{
	ls_pattern_options *o = &m->options;
	int at = 0;

	if (sscanf(text, "%d %d %d %lf %n", &o->max_templates, &o->max_samples, &o->rare_threshold,
			   &o->sim_threshold, &at) != 4 ||
		o->max_templates < 0 || o->max_samples < 0 || o->max_samples > LS_PATTERN_MAX_SAMPLES ||
		o->rare_threshold < 0 || o->rare_threshold > MOST_RARE)
		return 0;
	return at;
}

static ls_pattern_digest *
digest_of(ls_aggregate *m)
{
	if (m->digest == NULL)
		m->digest = checked(
			ls_pattern_digest_make(m->arena, &m->options, ls_scan_memory_limit() / DIGEST_SHARE));
	return m->digest;
}

typedef bool (*add_function)(ls_pattern_digest *, const ls_pattern_text *);

static void
add_text(ls_aggregate *m, const ls_pattern_text *text, add_function add)
{
	ls_pattern_digest *digest = digest_of(m);
	uint64 before = ls_pattern_digest_left_out(digest);

	CHECK_FOR_INTERRUPTS();
	if (!add(digest, text))
		ls_group_out_of_memory();
	m->others += ls_pattern_digest_left_out(digest) - before;
}

void
ls_patterns_add_text(ls_aggregate *m, const ls_pattern_text *text)
{
	add_text(m, text, text->same ? ls_pattern_digest_add_same : ls_pattern_digest_add);
}

/* ---- texts ---- */

static void
find_texts(texts *t, ls_aggregate *m, ls_scan *scan, const ls_group_rows *rows)
{
	const ls_scan_field *field = &m->field;

	memset(t, 0, offsetof(texts, ahead));
	t->n_ahead = 0;
	t->scan = scan;
	t->field = &m->field;
	t->rows = rows;
	ls_buf_init(&t->json, scan->arena);
	if (field->source != LS_SOURCE_COLUMNS || field->n_columns != 1 || field->columns->nested > 0 ||
		field->columns->kind != LS_KIND_STRING)
		return;
	t->ranks = ls_part_ranks(scan->part, rows->block, field->columns->column);
	if (t->ranks == NULL ||
		!ls_part_text_templates(scan->part, rows->block, field->columns->column, &t->templates))
		ls_scan_fail(scan);
	if (t->templates.n > 0)
		return;
	t->vector = ls_part_vector(scan->part, rows->block, field->columns->column);
	if (t->vector == NULL)
		ls_scan_fail(scan);
}

/* The class of the i-th row: rows of one class have equal token sequences.  False: it has none. */
static inline bool
class_of(const texts *t, uint32 i, uint32 *class)
{
	uint32 v;

	if (t->ranks == NULL)
		return false;
	v = t->ranks[t->rows->rows[i]];
	if (v == UINT32_MAX)
		return false;
	if (t->templates.n > 0)
	{
		*class = t->templates.numbers[v];
		return !t->templates.whole[*class];
	}
	if (v >= t->vector->count)
		ls_scan_fail(t->scan);
	*class = t->vector->form == LS_VECTOR_DICTIONARY ? t->vector->codes[v] : 0;
	return t->vector->form != LS_VECTOR_TEXT;
}

/* The text of the i-th row; false: it has none.  A value that is no text is its JSON. */
static bool
text_of(texts *t, uint32 i, ls_str *text)
{
	uint32 row = t->rows->rows[i];
	ls_scan_value value;

	if (t->ranks != NULL)
	{
		uint32 v = t->ranks[row];

		if (v == UINT32_MAX)
			return false;
		if (t->templates.n == 0)
			*text = ls_vector_text(t->vector, v);
		else if (!ls_part_template_text(t->scan->part, &t->templates, v, text))
			ls_scan_fail(t->scan);
		return true;
	}
	if (!ls_scan_field_typed(t->scan, t->field, t->rows->block, row, &value))
		return false;
	*text = value.text;
	if (value.kind == LS_KIND_STRING)
		return true;
	t->json.len = 0;
	ls_scan_value_json(&t->json, value.kind, value.text, value.integer);
	if (t->json.failed)
		ls_group_out_of_memory();
	*text = ls_str_make(t->json.data, t->json.len);
	return true;
}

/* ---- rows ---- */

static void
add_row(ls_aggregate *m, texts *t, uint32 i, ls_time time, bool alike)
{
	ls_pattern_text text = {.rows = 1, .first = time, .last = time, .group = t->rows->groups[i]};

	if (text_of(t, i, &text.text))
		add_text(m, &text, alike ? ls_pattern_digest_add_alike : ls_pattern_digest_add);
}

/* How many rows of a tally may be shown. */
static uint32
examples_of(const ls_aggregate *m, const texts *t)
{
	/* Entries of a dictionary are equal. */
	return t->templates.n == 0 ? 1 : (uint32) Max(1, m->options.max_samples);
}

/* Adds the text that waits longest, and the rows that are like it. */
static void
add_waiting(ls_aggregate *m, texts *t, const waiting_text *w, const ls_time *times)
{
	ls_pattern_text others = w->text;
	uint16 place;

	add_text(m, &w->text, ls_pattern_digest_add);
	others.rows = w->rows == NULL ? 0 : w->rows->rows - w->text.rows;
	if (others.rows == 0)
		return;
	if (!ls_pattern_digest_keeps_alike(m->digest))
	{
		add_text(m, &others, ls_pattern_digest_add_alike);
		return;
	}
	place = w->rows->head;
	for (; others.rows > 0; others.rows--)
	{
		place = m->tallies->next[place];
		add_row(m, t, place, times[t->rows->rows[place]], true);
	}
}

/* Adds a text, which stays where it is until the block is left, after those that wait. */
static void
expect_text(ls_aggregate *m, texts *t, const ls_pattern_text *text, const tally *rows,
			const ls_time *times)
{
	waiting_text *w = &t->ahead[t->n_ahead % AHEAD];

	if (t->n_ahead >= AHEAD)
		add_waiting(m, t, w, times);
	*w = (waiting_text){*text, rows};
	ls_pattern_digest_expect(digest_of(m), &w->text);
	if (t->n_ahead++ >= AHEAD / 2)
		ls_pattern_digest_expect_soon(m->digest, &t->ahead[(t->n_ahead + AHEAD / 2) % AHEAD].text);
}

static void
add_all_waiting(ls_aggregate *m, texts *t, const ls_time *times)
{
	for (uint32 i = t->n_ahead > AHEAD ? t->n_ahead - AHEAD : 0; i < t->n_ahead; i++)
		add_waiting(m, t, &t->ahead[i % AHEAD], times);
	t->n_ahead = 0;
}

/* A text of a template of whole texts. */
static void
add_whole(ls_aggregate *m, texts *t, uint32 i, const ls_time *times)
{
	ls_time time = times[t->rows->rows[i]];
	ls_pattern_text text = {.rows = 1, .first = time, .last = time, .group = t->rows->groups[i]};

	if (text_of(t, i, &text.text))
		expect_text(m, t, &text, NULL, times);
}

static bool
is_one_group(const ls_group_rows *rows)
{
	uint32 differs = 0;

	for (uint32 i = 0; i < rows->n; i++)
		differs |= rows->groups[i] ^ rows->groups[0];
	return differs == 0;
}

/* Counts a row of a tally; *slot is 0 if it is the first one.  The places of the first `kept` ones are kept. */
static inline void
tally_row(ls_tallies *all, uint16 *slot, uint32 group, uint32 class, ls_time time, uint16 place,
		  uint32 kept)
{
	tally *t;

	if (*slot == 0)
	{
		all->next[place] = NONE;
		all->items[all->n] = (tally){group, class, 1, place, place, time, time};
		*slot = (uint16_t) ++all->n;
		return;
	}
	t = &all->items[*slot - 1];
	if (t->rows++ < kept)
	{
		all->next[place] = NONE;
		all->next[t->tail] = place;
		t->tail = place;
	}
	t->first = Min(t->first, time);
	t->last = Max(t->last, time);
}

/* Adds the rows of a tally: a few texts stand for all of them. */
static void
add_tally(ls_aggregate *m, texts *t, const tally *rows, const ls_time *times)
{
	uint32 examples = examples_of(m, t);
	ls_pattern_text text = {.first = rows->first, .last = rows->last, .group = rows->group};

	if (t->templates.n > 0 && rows->rows <= Max(examples, (uint32) m->options.rare_threshold))
	{
		for (uint16 place = rows->head; place != NONE; place = m->tallies->next[place])
			add_row(m, t, place, times[t->rows->rows[place]], place != rows->head);
		return;
	}
	text.rows = rows->rows - (examples - 1);
	if (text_of(t, rows->head, &text.text))
		expect_text(m, t, &text, rows, times);
}

/* Counts the rows of a block by template, if all are of one group. */
static void
tally_templates(ls_aggregate *m, texts *t, uint32 kept, const ls_time *times)
{
	const ls_group_rows *rows = t->rows;
	const ls_text_templates *templates = &t->templates;
	ls_tallies *all = m->tallies;

	memset(all->by_class, 0, templates->n * sizeof(all->by_class[0]));
	for (uint32 i = 0; i < rows->n; i++)
	{
		uint32 row = rows->rows[i];
		uint32 v = t->ranks[row];
		uint32 class;

		if (v == UINT32_MAX)
			continue;
		class = templates->numbers[v];
		if (templates->whole[class])
			add_whole(m, t, i, times);
		else
			tally_row(all, &all->by_class[class], rows->groups[0], class, times[row], (uint16) i,
					  kept);
	}
}

void
ls_patterns_add(ls_aggregate *m, ls_scan *scan, const ls_group_rows *rows)
{
	const ls_time *times = ls_part_timestamps(scan->part, rows->block);
	ls_tallies *all = m->tallies;
	bool direct;
	uint32 kept;
	texts t;

	if (times == NULL)
		ls_scan_fail(scan);
	if (all == NULL)
		all = m->tallies = checked(ls_new(m->arena, ls_tallies));
	all->n = 0;
	find_texts(&t, m, scan, rows);
	kept = Max(examples_of(m, &t), (uint32) m->options.rare_threshold);
	direct = t.templates.n > 0 && is_one_group(rows);
	if (!direct)
		tally_number_clear(&all->numbers);
	if (direct)
		tally_templates(m, &t, kept, times);
	for (uint32 i = 0; !direct && i < rows->n; i++)
	{
		ls_time time = times[rows->rows[i]];
		tally row = {.group = rows->groups[i]};
		bool found;

		if (class_of(&t, i, &row.class))
			tally_row(all, tally_number_insert(&all->numbers, row, &found), row.group, row.class,
					  time, (uint16) i, kept);
		else if (t.templates.n > 0)
			add_whole(m, &t, i, times);
		else
			add_row(m, &t, i, time, false);
	}
	for (uint32 i = 0; i < all->n; i++)
		add_tally(m, &t, &all->items[i], times);
	add_all_waiting(m, &t, times);
}

/* ---- the result ---- */

void
ls_patterns_finish(ls_aggregate *m)
{
	if (m->digest != NULL)
		m->texts = checked((void *) ls_pattern_digest_texts(m->digest, &m->n_texts));
	if (ls_scan_current != NULL)
		ls_scan_current->unmined += m->others;
}

/* The texts of a group, which are side by side. */
static size_t
find_group(const ls_aggregate *m, uint32 group, const ls_pattern_text **first)
{
	size_t low = 0;
	size_t high = m->n_texts;
	size_t n = 0;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (m->texts[middle].group < group)
			low = middle + 1;
		else
			high = middle;
	}
	*first = m->texts + low;
	while (low + n < m->n_texts && m->texts[low + n].group == group)
		n++;
	return n;
}

/* Mines n texts, or as many as fit into memory: then *n is less. */
static ls_pattern_set *
mine(const ls_aggregate *m, ls_arena *arena, const ls_pattern_text *texts, size_t *n)
{
	for (;;)
	{
		ls_pattern_set *set;

		CHECK_FOR_INTERRUPTS();
		set = ls_pattern_mine_texts(arena, texts, *n, &m->options);
		if (set != NULL)
			return set;
		if (*n <= LEAST_TEXTS)
			ls_group_out_of_memory();
		*n /= 2;
		ls_arena_reset(arena);
	}
}

static void
append_pattern(ls_buf *buf, const ls_pattern *p, ls_time first, ls_time last, uint64 rows)
{
	char iso[LS_TIME_ISO_LENGTH + 1];

	ls_buf_char(buf, '[');
	ls_json_quote(buf, p->template);
	ls_buf_printf(buf, ",\"%016llx\",%u", (unsigned long long) p->id, p->count);
	ls_time_format_iso(first, iso);
	ls_buf_printf(buf, ",\"%s\"", iso);
	ls_time_format_iso(last, iso);
	ls_buf_printf(buf, ",\"%s\",[", iso);
	for (uint32 i = 0; i < p->nsamples; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		ls_json_quote(buf, p->samples[i]);
	}
	ls_buf_printf(buf, "]," UINT64_FORMAT "]", rows);
}

bool
ls_patterns_result(ls_aggregate *m, uint32 group, ls_buf *buf)
{
	const ls_pattern_text *texts;
	size_t all = m->texts == NULL ? 0 : find_group(m, group, &texts);
	size_t n = all;
	uint64 rows = 0;
	ls_pattern_set *set;
	ls_arena *arena;
	ls_time *first;
	ls_time *last;

	if (all == 0)
		return false;
	arena = ls_context_arena(CurrentMemoryContext, ls_scan_memory_limit() / 2);
	set = mine(m, arena, texts, &n);
	first = checked(ls_arena_alloc(arena, (set->unique + 1) * sizeof(ls_time)));
	last = checked(ls_arena_alloc(arena, (set->unique + 1) * sizeof(ls_time)));
	for (size_t i = 0; i < set->unique; i++)
	{
		first[i] = PG_INT64_MAX;
		last[i] = PG_INT64_MIN;
	}
	for (size_t i = 0; i < all; i++)
	{
		uint32 p;

		if (i >= n)
		{
			if (ls_scan_current != NULL)
				ls_scan_current->unmined += texts[i].rows;
			continue;
		}
		p = set->pattern_of_row[i];
		first[p] = Min(first[p], texts[i].first);
		last[p] = Max(last[p], texts[i].last);
		rows += texts[i].rows;
	}
	ls_buf_char(buf, '[');
	for (size_t i = 0; i < set->shown; i++)
	{
		if (i > 0)
			ls_buf_char(buf, ',');
		append_pattern(buf, &set->patterns[i], first[i], last[i], rows);
	}
	ls_buf_char(buf, ']');
	ls_arena_destroy(arena);
	return true;
}
