/*-------------------------------------------------------------------------
 *
 * part_counts.c
 *	  Time counts: rows of each level by time interval, in the header (pure).
 *
 * Dashboards ask for histograms all the time.  So the header of a part counts its
 * rows by intervals that begin at whole seconds, minutes or hours of UTC; the
 * shortest unit is used that does not give too many intervals.  A bucket that
 * begins and ends at interval boundaries then needs no rows.
 *
 *-------------------------------------------------------------------------
 */
#include "src/part/part_impl.h"

/* The rows of smaller parts can be counted as fast as a header is read. */
#define MIN_ROWS 4096

/* Seconds; each divides the next one. */
static const uint64_t units[] = {1, 10, 60, 300, 900, 3600};

#define UNITS (sizeof(units) / sizeof(units[0]))
#define MAX_UNIT 86400 /* that a reader takes */

/* The number of the interval of `unit` microseconds that contains a time. */
static int64_t
interval_of(ls_time time, int64_t unit)
{
	return time / unit - (time % unit < 0);
}

/* The number of intervals that the part covers. */
static uint64_t
intervals(const ls_part_stats *stats, int64_t unit)
{
	return (uint64_t) interval_of(stats->max_time, unit) -
		   (uint64_t) interval_of(stats->min_time, unit) + 1;
}

/* ---- writing ---- */

/* Rows are sorted by level; those without a level come first. */
static void
write_level(ls_part_writer *w, uint32_t first, uint32_t rows, int64_t unit, uint64_t n)
{
	uint32_t counts[LS_PART_MAX_INTERVALS] = {0};
	int64_t first_interval = interval_of(w->d.stats.min_time, unit);
	int64_t interval = first_interval;

	for (uint32_t i = first; i < first + rows; i++)
	{
		ls_time time = w->b->timestamps[w->rows[i]];

		/* Mostly the interval of the previous row. */
		if ((uint64_t) time - (uint64_t) interval * (uint64_t) unit >= (uint64_t) unit)
			interval = interval_of(time, unit);
		counts[interval - first_interval]++;
	}
	for (uint64_t i = 0; i < n; i++)
		ls_buf_varint(&w->counts, counts[i]);
}

bool
ls_part_write_counts(ls_part_writer *w)
{
	const ls_part_stats *stats = &w->d.stats;
	uint32_t next = stats->level_rows[LS_LEVEL_NONE];
	size_t u = 0;
	int64_t unit;
	uint64_t n;

	while (u < UNITS &&
		   intervals(stats, (int64_t) units[u] * LS_USECS_PER_SEC) > LS_PART_MAX_INTERVALS)
		u++;
	if (stats->rows < MIN_ROWS || u == UNITS)
		return true;
	unit = (int64_t) units[u] * LS_USECS_PER_SEC;
	n = intervals(stats, unit);
	ls_buf_varint(&w->counts, units[u]);
	for (int level = 0; level < LS_LEVELS; level++)
	{
		uint32_t rows = stats->level_rows[level];
		uint32_t first = next;

		if (level == LS_LEVEL_NONE)
			first = 0;
		else
			next += rows;
		if (rows > 0)
			write_level(w, first, rows, unit, n);
	}
	w->d.counts = ls_str_make(w->counts.data, w->counts.len);
	return !w->counts.failed;
}

/* ---- reading ---- */

/* Reads the rows of a level in each interval; false: the sum is not the level's rows. */
static bool
read_level(ls_reader *r, uint32_t rows, uint32_t n, uint32_t *counts)
{
	uint32_t left = rows;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t count = ls_read_varint(r);

		if (r->failed || count > left)
			return false;
		counts[i] = (uint32_t) count;
		left -= (uint32_t) count;
	}
	return left == 0;
}

bool
ls_part_time_counts(ls_part *part, ls_part_counts *counts)
{
	static const char wrong[] = "time counts of the header are wrong";
	const ls_part_directory *d = &part->directory;
	ls_reader r;
	uint32_t at_first = 0;
	uint32_t at_last = 0;
	uint64_t seconds;
	int64_t unit;
	int64_t first;
	uint64_t n;

	memset(counts, 0, sizeof(*counts));
	if (d->counts.data == NULL)
		return true;
	r = ls_reader_make(d->counts.data, d->counts.len);
	seconds = ls_read_varint(&r);
	if (r.failed || d->stats.rows == 0 || seconds == 0 || seconds > MAX_UNIT)
		return ls_part_fail(part, wrong);
	unit = (int64_t) seconds * LS_USECS_PER_SEC;
	first = interval_of(d->stats.min_time, unit);
	n = intervals(&d->stats, unit);
	if (n > LS_PART_MAX_INTERVALS)
		return ls_part_fail(part, wrong);
	for (int level = 0; level < LS_LEVELS; level++)
	{
		uint32_t *rows = counts->rows[level];

		if (d->stats.level_rows[level] > 0 &&
			!read_level(&r, d->stats.level_rows[level], (uint32_t) n, rows))
			return ls_part_fail(part, wrong);
		at_first += rows[0];
		at_last += rows[n - 1];
	}
	/* The first and the last row of the part lie in the first and the last interval. */
	if (r.pos != r.end || at_first == 0 || at_last == 0)
		return ls_part_fail(part, wrong);
	for (uint32_t i = 0; i < n; i++)
	{
		counts->min[i] = i == 0 ? d->stats.min_time : (first + i) * unit;
		counts->max[i] = i + 1 == n ? d->stats.max_time : (first + i + 1) * unit - 1;
	}
	counts->n = (uint32_t) n;
	return true;
}
