/*-------------------------------------------------------------------------
 *
 * metrics.c
 *	  Counters and figures in shared memory: where they are, and the walk over them.
 *
 * A gauge is a double, kept so that a cell of zeros is one that is not set.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/metrics.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/builtins.h"

/* Workers with a block of their own; more of them count in that of sessions. */
#define BLOCKS 256

/* Series of all families, those of a histogram by bucket: what a scrape may have at most. */
#define MOST_SERIES 2000

#define ROUND_TO_LINE(n) TYPEALIGN(PG_CACHE_LINE_SIZE / sizeof(uint64), n)
#define BLOCK_CELLS ((int) ROUND_TO_LINE(LS_METRIC_SINGLE))

typedef struct block
{
	pg_atomic_uint64 cells[BLOCK_CELLS];
	pg_atomic_uint32 taken; /* a worker counts here */
	pg_atomic_uint32 used;  /* one has */
} block;

typedef struct shared_metrics
{
	block sessions;
	pg_atomic_uint64 single[LS_METRIC_CELLS - LS_METRIC_SINGLE];
	block blocks[BLOCKS];
} shared_metrics;

static shared_metrics *shared = NULL;

/* Without shared memory, counts go nowhere. */
static pg_atomic_uint64 nowhere[LS_METRIC_CELLS];

pg_atomic_uint64 *ls_metric_cells = nowhere;
bool ls_metric_alone = false;

/* ---- the families ---- */

const ls_metric_family ls_metric_families[] = {
#define LS_METRIC(id, family, type, unit, per, labels, help)   \
	{"logsvc_" family,   LS_METRIC_##type, unit,          per, \
	 LS_LABELS_##labels, LS_M_##id,        LS_N_##labels, help},
#define LS_METRICS_SINGLE
#include "src/server/metrics.def"
#undef LS_METRIC
#undef LS_METRICS_SINGLE
};
const int ls_n_metric_families = lengthof(ls_metric_families);

/* A histogram of n series has n times its buckets, a sum and a count. */
#define SERIES_OF_COUNTER 1
#define SERIES_OF_GAUGE 1
#define SERIES_OF_HISTOGRAM (LS_HISTOGRAM_BUCKETS + 2)
enum
{
	ALL_SERIES = 0
#define LS_METRIC(id, family, type, unit, per, labels, help) +SERIES_OF_##type *LS_N_##labels
#define LS_METRICS_SINGLE
#include "src/server/metrics.def"
#undef LS_METRIC
#undef LS_METRICS_SINGLE
};
StaticAssertDecl(ALL_SERIES <= MOST_SERIES, "a scrape has a bounded size");

/* ---- labels ---- */

static const char *const doors[LS_N_DOOR] = {"json",          "batch",  "otlp",   "loki",
											 "elasticsearch", "splunk", "syslog", "sql"};
static const char *const rejections[LS_N_REJECTION] = {"VALIDATION_ERROR", "EVENT_TOO_LARGE",
													   "INDEX_NOT_FOUND", "other"};
static const char *const searches[LS_N_SEARCH] = {"ok",   "timeout", "memory",
												  "scan", "refused", "error"};
static const char *const providers[LS_N_PROVIDER] = {"builtin", "anthropic", "bedrock", "openai"};
static const char *const outcomes[3] = {"ok", "refused", "failed"};
static const char *const directions[LS_N_DIRECTION] = {"in", "out"};
static const char *const ticks[LS_N_TICK] = {"ok", "put_off", "failed"};
static const char *const notifications[2] = {"mail", "webhook"};
static const char *const sendings[3] = {"sent", "retry", "failed"};
static const char *const pools[LS_N_POOL] = {"acceptor", "executor", "evaluator"};
static const char *const dead_letters[LS_N_DEAD_LETTER] = {"dead", "replaying"};
static const char *const rule_states[LS_N_RULE_STATE] = {"ok", "firing", "noData", "error"};

const char *const *ls_metric_worker_names = NULL;

/* "15.20", without what a distribution adds. */
static const char *
server_version(void)
{
	static char version[32];

	strlcpy(version, PG_VERSION, Min(sizeof(version), strcspn(PG_VERSION, " ") + 1));
	return version;
}

static void
put_label(ls_metric_sample *s, const char *name, const char *value)
{
	s->labels[s->n_labels++] = (ls_exposition_label){name, value};
}

/* The label of an error; false: another family has errors of its status. */
static bool
label_error(ls_metric_sample *s, ls_error_id id, bool limits)
{
	const ls_error_info *info = &ls_error_table[id];
	int status = info->status;
	bool is_limit = status == 429;
	bool is_auth = status == 401 || status == 403;
	bool wanted = limits                                   ? is_limit
				  : s->family->first == LS_M_AUTH_FAILURES ? is_auth
														   : !is_limit && !is_auth;

	if (!wanted || ls_error_of_code(info->code) != id)
		return false;
	put_label(s, limits ? "limit" : "code", info->code);
	return true;
}

/* Sets the labels of series i; false: there is no such series. */
static bool
label(ls_metric_sample *s, int i)
{
	s->n_labels = 0;
	switch (s->family->labels)
	{
		case LS_LABELS_NONE:
			break;
		case LS_LABELS_DOOR:
			put_label(s, "door", doors[i]);
			break;
		case LS_LABELS_REJECTION:
			put_label(s, "code", rejections[i]);
			break;
		case LS_LABELS_ERROR_CODE:
			return label_error(s, (ls_error_id) i, false);
		case LS_LABELS_ERROR_LIMIT:
			return label_error(s, (ls_error_id) i, true);
		case LS_LABELS_SEARCH:
			put_label(s, "outcome", searches[i]);
			break;
		case LS_LABELS_PROVIDER:
			put_label(s, "provider", providers[i]);
			break;
		case LS_LABELS_EVALUATION:
			put_label(s, "provider", providers[i / 3]);
			put_label(s, "outcome", outcomes[i % 3]);
			break;
		case LS_LABELS_DIRECTION:
			put_label(s, "direction", directions[i]);
			break;
		case LS_LABELS_TICK:
			put_label(s, "outcome", ticks[i]);
			break;
		case LS_LABELS_NOTIFICATION:
			put_label(s, "kind", notifications[i / 3]);
			put_label(s, "outcome", sendings[i % 3]);
			break;
		case LS_LABELS_BUILD:
			put_label(s, "version", LOGSVC_VERSION);
			put_label(s, "postgres", server_version());
			break;
		case LS_LABELS_WORKER:
			put_label(s, "worker", ls_metric_worker_names[i]);
			break;
		case LS_LABELS_CLASS:
			put_label(s, "class", ls_route_classes[i]);
			break;
		case LS_LABELS_CLASS_STATUS:
			put_label(s, "class", ls_route_classes[i / LS_STATUSES]);
			put_label(s, "code", ls_status_names[i % LS_STATUSES]);
			break;
		case LS_LABELS_POOL:
			put_label(s, "pool", pools[i]);
			break;
		case LS_LABELS_DEAD_LETTER:
			put_label(s, "status", dead_letters[i]);
			break;
		case LS_LABELS_RULE_STATE:
			put_label(s, "state", rule_states[i]);
			break;
	}
	return true;
}

/* ---- memory ---- */

static void
init_block(block *b)
{
	for (int i = 0; i < BLOCK_CELLS; i++)
		pg_atomic_init_u64(&b->cells[i], 0);
	pg_atomic_init_u32(&b->taken, 0);
	pg_atomic_init_u32(&b->used, 0);
}

static void
init_shared(void)
{
	init_block(&shared->sessions);
	for (int i = 0; i < LS_METRIC_CELLS - LS_METRIC_SINGLE; i++)
		pg_atomic_init_u64(&shared->single[i], 0);
	for (int i = 0; i < BLOCKS; i++)
		init_block(&shared->blocks[i]);
	ls_metric_set(LS_M_BUILD_INFO, 1);
	ls_metric_set(LS_M_START_TIME, (double) ls_now() / LS_USECS_PER_SEC);
	/* Processes are forked from the one that runs this. */
	ls_metric_cells = shared->sessions.cells;
}

static const ls_shmem_item item = {"logsvc metrics", sizeof(shared_metrics), (void **) &shared,
								   init_shared};

void
ls_metrics_register(void)
{
	ls_shmem_add(&item);
}

static void
give_block(int code, Datum arg)
{
	block *b = (block *) DatumGetPointer(arg);

	ls_metric_cells = shared->sessions.cells;
	ls_metric_alone = false;
	pg_write_barrier();
	pg_atomic_write_u32(&b->taken, 0);
}

void
ls_metrics_take_block(void)
{
	for (int i = 0; i < BLOCKS; i++)
	{
		block *b = &shared->blocks[i];
		uint32 free = 0;

		if (!pg_atomic_compare_exchange_u32(&b->taken, &free, 1))
			continue;
		pg_atomic_write_u32(&b->used, 1);
		before_shmem_exit(give_block, PointerGetDatum(b));
		ls_metric_cells = b->cells;
		ls_metric_alone = true;
		return;
	}
}

/* ---- cells ---- */

uint64
ls_metric_count(int cell)
{
	uint64 n;

	if (shared == NULL)
		return 0;
	if (cell >= LS_METRIC_SINGLE)
		return pg_atomic_read_u64(ls_metric_single(cell));
	n = pg_atomic_read_u64(&shared->sessions.cells[cell]);
	for (int i = 0; i < BLOCKS; i++)
	{
		if (pg_atomic_read_u32(&shared->blocks[i].used) != 0)
			n += pg_atomic_read_u64(&shared->blocks[i].cells[cell]);
	}
	return n;
}

pg_atomic_uint64 *
ls_metric_single(int cell)
{
	Assert(cell >= LS_METRIC_SINGLE && cell < LS_METRIC_CELLS);
	return shared == NULL ? &nowhere[cell] : &shared->single[cell - LS_METRIC_SINGLE];
}

void
ls_metric_store(int cell, uint64 n)
{
	pg_atomic_write_u64(ls_metric_single(cell), n);
}

void
ls_metric_add_single(int cell, uint64 n)
{
	pg_atomic_uint64 *c = ls_metric_single(cell);

	pg_atomic_write_u64(c, pg_atomic_read_u64(c) + n);
}

/* A number that is none, so that all zeros are not a value. */
#define UNSET UINT64CONST(0x7ff8000000000001)

void
ls_metric_set(int cell, double value)
{
	uint64 bits;

	memcpy(&bits, &value, sizeof(bits));
	pg_atomic_write_u64(ls_metric_single(cell), bits ^ UNSET);
}

void
ls_metric_unset(int cell)
{
	pg_atomic_write_u64(ls_metric_single(cell), 0);
}

bool
ls_metric_get(int cell, double *value)
{
	uint64 bits = pg_atomic_read_u64(ls_metric_single(cell));

	if (bits == 0)
		return false;
	bits ^= UNSET;
	memcpy(value, &bits, sizeof(bits));
	return true;
}

void
ls_metric_count_error(ls_error_id id)
{
	ls_error_id first = ls_error_of_code(ls_error_table[id].code);
	int status = ls_error_table[first].status;

	ls_metric_add((status == 401 || status == 403 ? LS_M_AUTH_FAILURES
				   : status == 429                ? LS_M_RATE_LIMITED
												  : LS_M_ERRORS) +
					  first,
				  1);
}

int
ls_metric_find(const char *name, const char *value)
{
	for (int f = 0; f < ls_n_metric_families; f++)
	{
		const ls_metric_family *family = &ls_metric_families[f];
		ls_metric_sample s = {.family = family};

		if (family->first < LS_METRIC_SINGLE || family->type == LS_METRIC_HISTOGRAM ||
			strcmp(family->name, name) != 0)
			continue;
		for (int i = 0; i < family->n; i++)
		{
			if (label(&s, i) && strcmp(s.n_labels == 0 ? "" : s.labels[0].value, value) == 0)
				return family->first + i;
		}
	}
	return -1;
}

/* ---- the walk ---- */

typedef void (*taker)(void *context, const ls_metric_family *family,
					  const ls_metric_sample *sample);

static void
put_count(ls_metric_sample *s, uint64 n, int64 per)
{
	if (per == 1)
		snprintf(s->number, sizeof(s->number), UINT64_FORMAT, n);
	else
		snprintf(s->number, sizeof(s->number), UINT64_FORMAT ".%06d", n / (uint64) per,
				 (int) (n % (uint64) per));
}

static void
walk_histogram(ls_metric_sample *s, int first, bool always, taker take, void *context)
{
	uint64 counts[LS_HISTOGRAM_BUCKETS];
	uint64 n = 0;
	uint64 sum = ls_metric_count(first + LS_HISTOGRAM_SUM);
	int n_labels = s->n_labels;

	for (int b = 0; b < LS_HISTOGRAM_BUCKETS; b++)
		counts[b] = n += ls_metric_count(first + b);
	if (n == 0 && !always)
		return;
	s->suffix = "_bucket";
	for (int b = 0; b < LS_HISTOGRAM_BUCKETS; b++)
	{
		s->n_labels = n_labels;
		put_label(s, "le", ls_histogram_names[b]);
		put_count(s, counts[b], 1);
		take(context, s->family, s);
	}
	s->n_labels = n_labels;
	s->suffix = "_count";
	put_count(s, n, 1);
	take(context, s->family, s);
	s->suffix = "_sum";
	put_count(s, sum, s->family->per);
	take(context, s->family, s);
}

/* Whole numbers as such; the rest with what figures of this kind need. */
static void
put_value(ls_metric_sample *s, double value)
{
	bool whole = fabs(value) < 1e15 && value == rint(value);

	snprintf(s->number, sizeof(s->number), whole ? "%.0f" : "%.6f", value);
}

static void
walk_gauge(ls_metric_sample *s, int cell, taker take, void *context)
{
	double value;

	if (!ls_metric_get(cell, &value))
		return;
	s->suffix = "";
	put_value(s, value);
	take(context, s->family, s);
}

/* A few series are shown before they have counted anything: then rates begin at the first count. */
#define FEW_SERIES 16

void
ls_metrics_walk(taker take, void *context)
{
	for (int f = 0; f < ls_n_metric_families; f++)
	{
		const ls_metric_family *family = &ls_metric_families[f];
		ls_metric_sample s = {.family = family};
		bool always = family->n <= FEW_SERIES;

		take(context, family, NULL);
		for (int i = 0; i < family->n; i++)
		{
			if (!label(&s, i))
				continue;
			if (family->type == LS_METRIC_HISTOGRAM)
				walk_histogram(&s, family->first + i * LS_HISTOGRAM_CELLS, family->n == 1, take,
							   context);
			else if (family->type == LS_METRIC_GAUGE)
				walk_gauge(&s, family->first + i, take, context);
			else
			{
				uint64 n = ls_metric_count(family->first + i);

				s.suffix = "_total";
				put_count(&s, n, family->per);
				if (n > 0 || always)
					take(context, family, &s);
			}
		}
	}
}
