/*
 * part_bench.c: speed and size of the part format.
 *
 * Prints rows `metric value unit`; times are CPU seconds per million events.
 * The events are those of a small fleet: 16 sources with their own message
 * templates, 20 hosts, a request id of 32 hexadecimal digits that no other
 * event has, a duration; about 335 bytes each as JSON.
 *
 * usage: part_bench [events, 1000000 if not given]
 */
#include <stdio.h>
#include <stdlib.h>

#include "src/part/part.h"
#include "test/bench/bench.h"

#define BATCH 1000

static uint64_t random_state = 88172645463325252;

static uint32_t
draw(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t) ((random_state >> 32) * n >> 32);
}

/* # is a number of some digits, @ an address, % eight hexadecimal digits. */
static const char *const templates[] = {
	"Accepted password for user# from @ port #: session opened",
	"Failed password for invalid user admin# from @ port # ssh2",
	"Received block blk_-# of size # from /@:#",
	"PacketResponder # for block blk_# terminating",
	"BLOCK* NameSystem.addStoredBlock: blockMap updated: @:# is added to blk_# size #",
	"Verification succeeded for blk_-#",
	"GET /v2/%/servers/detail HTTP/1.1 status: 200 len: # time: 0.#",
	"[instance: %] VM Started (Lifecycle Event) after # seconds",
	"[instance: %] Took #.# seconds to build instance",
	"Creating image cache entry for base file % (# bytes)",
	"Connection refused by @:# while connecting to upstream, attempt #",
	"upstream timed out (110: Connection timed out) while reading header from @:#",
	"jk2_init() Found child # in scoreboard slot #",
	"workerEnv.init() ok /etc/httpd/conf/workers#.properties",
	"order # of customer # confirmed, # items, total #.# EUR",
	"payment # for order # authorised by gateway in # ms",
	"cache miss for key product:# (shard #), loaded in # ms",
	"job # finished: # rows read, # rows written, # skipped",
	"slow query (# ms): SELECT * FROM orders WHERE customer_id = # ORDER BY created_at",
	"checkpoint complete: wrote # buffers (#.#%); # WAL file(s) added, # removed",
	"automatic vacuum of table \"shop.public.orders\": index scans: #, pages: # removed",
	"Lost task #.# in stage #.# (TID #, host #): fetch failed",
	"Found block rdd_#_# locally, # bytes in memory, free #",
	"session % of user # expired after # minutes of inactivity",
	"sent mail # to customer # through relay @ in # ms, queue length #",
	"rate limit of tenant # exceeded: # requests in # s, retry after #",
	"kernel: [#.#] eth#: link up, # Mbps, full-duplex, flow control off",
	"pod shop-#-% scheduled on node #, cpu #m, memory #Mi",
	"Liveness probe failed: HTTP probe failed with statuscode: 503 after # ms",
	"consumer group billing-# rebalanced: # partitions, # members, lag #",
	"GC pause (young) #M->#M(#M) in #.# ms, # regions to survivors",
	"TLS handshake with @:# completed in # ms, cipher TLS_AES_256_GCM_SHA384",
	"uploaded object exports/#/%.csv.gz (# bytes) to bucket reports-#",
	"webhook delivery # to endpoint # failed with status 500, attempt # of 5",
	"feature flag checkout-v# evaluated to true for # of # users",
	"index build of collection products took # ms, # documents, # segments",
	"replication lag of standby @ is # bytes (# ms), slot shop_#",
	"deadlock detected: process # waits for ShareLock on transaction #",
	"config reloaded: # settings changed, # listeners kept, revision %",
	"health check of backend # passed after # failures, weight set to #",
};

#define TEMPLATES (sizeof(templates) / sizeof(templates[0]))

typedef struct source_text
{
	ls_event event;
	ls_attribute attributes[4];
	char text[256];
	char request_id[33];
	char host[32];
} source_text;

static size_t
write_message(char *to, const char *template)
{
	char *start = to;

	for (; *template != '\0'; template ++)
	{
		if (*template == '#')
		{
			static const uint32_t sizes[] = {10, 100, 1000, 10000, 65536, 1000000, 10000000};

			to += sprintf(to, "%u", draw(sizes[draw(7)]));
		}
		else if (*template == '@')
			to += sprintf(to, "10.%u.%u.%u", draw(4), draw(16), draw(256));
		else if (*template == '%' && template[1] != ')')
			to += sprintf(to, "%08x", (unsigned) (random_state >> 7));
		else
			*to++ = *template;
	}
	*to = '\0';
	return (size_t) (to - start);
}

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static void
make_event(source_text *e, uint32_t i, uint64_t *json)
{
	static const char *const sources[] = {
		"auth", "hdfs",  "nova",   "nginx",   "httpd",   "orders", "billing", "jobs",
		"db",   "spark", "mailer", "gateway", "kubelet", "kafka",  "search",  "audit"};
	static const char *const levels[] = {"info",  "info",  "info", "info", "info",
										 "debug", "debug", "warn", "warn", "error"};
	uint32_t source = draw(16);
	size_t len;

	memset(&e->event, 0, sizeof(e->event));
	e->event.timestamp = INT64_C(1790000000000000) + (int64_t) i * 86400 + draw(86400);
	e->event.timestamp -= e->event.timestamp % 1000;
	e->event.place = i % BATCH;
	len = write_message(e->text, templates[(source * 5 + draw(5)) % TEMPLATES]);
	/* Some lines carry context, as real ones do. */
	len += (size_t) sprintf(e->text + len, " [thread-%u] (trace sampled=%s)", draw(64),
							draw(10) == 0 ? "true" : "false");
	snprintf(e->host, sizeof(e->host), "ip-10-0-%u.internal", draw(20));
	for (int k = 0; k < 32; k++)
		e->request_id[k] = "0123456789abcdef"[draw(16)];
	e->request_id[32] = '\0';

	e->event.has = 1u << LS_FIELD_EVENT | 1u << LS_FIELD_LEVEL | 1u << LS_FIELD_SOURCE |
				   1u << LS_FIELD_SERVICE | 1u << LS_FIELD_INDEX;
	e->event.field[LS_FIELD_EVENT] = ls_str_make(e->text, len);
	e->event.field[LS_FIELD_LEVEL] = str(levels[draw(10)]);
	e->event.field[LS_FIELD_SOURCE] = str(sources[source]);
	e->event.field[LS_FIELD_SERVICE] = LS_STR("web-shop");
	e->event.field[LS_FIELD_INDEX] = LS_STR("main");
	e->attributes[0] = (ls_attribute){LS_STR("host"), LS_KIND_STRING, str(e->host), 0};
	e->attributes[1] = (ls_attribute){LS_STR("request_id"), LS_KIND_STRING, str(e->request_id), 0};
	e->attributes[2] = (ls_attribute){LS_STR("duration_ms"), LS_KIND_INTEGER, {"", 0}, draw(5000)};
	e->attributes[3] = (ls_attribute){LS_STR("region"), LS_KIND_STRING, LS_STR("eu-central-1"), 0};
	e->event.attributes = e->attributes;
	e->event.n_attributes = 4;

	*json += len + e->event.field[LS_FIELD_LEVEL].len + e->event.field[LS_FIELD_SOURCE].len +
			 strlen(e->host) + 32 + 4 + 8 + 4 + 12 +
			 strlen("{\"timestamp\":\"2026-09-21T14:13:20.123Z\",\"level\":\"\",\"source\":\"\","
					"\"service\":\"\",\"index\":\"\",\"event\":\"\",\"attributes\":{\"host\":\"\","
					"\"request_id\":\"\",\"duration_ms\":,\"region\":\"\"}}");
}

typedef struct parts
{
	ls_str *headers;
	ls_str *bodies;
	uint32_t n;
	uint64_t header_bytes;
	uint64_t body_bytes;
	uint64_t json_bytes;
	double seconds;
} parts;

static ls_arena *kept;

static void
keep(parts *p, const ls_buf *header, const ls_buf *body)
{
	p->headers[p->n] = ls_arena_strdup(kept, ls_str_make(header->data, header->len));
	p->bodies[p->n++] = ls_arena_strdup(kept, ls_str_make(body->data, body->len));
	p->header_bytes += header->len;
	p->body_bytes += body->len;
}

static void
init_parts(parts *p, size_t most)
{
	memset(p, 0, sizeof(*p));
	p->headers = ls_new_array(kept, ls_str, most);
	p->bodies = ls_new_array(kept, ls_str, most);
}

static void
finish(ls_part_builder *b, ls_part_codec codec, parts *to, ls_buf *header, ls_buf *body)
{
	header->len = body->len = 0;
	check(ls_part_builder_finish(b, codec, codec != LS_CODEC_FAST, header, body, NULL), "finish");
	keep(to, header, body);
	ls_part_builder_reset(b);
}

/*
 * Adds n events to parts of `rows` rows.  Events are made a batch at a time,
 * as a decoder would have them in its cache, outside the time measured; with
 * codec -1 nothing is written.
 */
static parts
build(uint32_t n, uint32_t rows, int codec)
{
	static source_text events[BATCH];
	ls_arena *arena = ls_arena_create(NULL, 0);
	ls_part_builder *b = ls_part_builder_create(arena);
	ls_buf header;
	ls_buf body;
	parts to;

	init_parts(&to, n / rows + 1);
	ls_buf_init(&header, arena);
	ls_buf_init(&body, arena);
	random_state = 88172645463325252;
	for (uint32_t i = 0; i < n; i += BATCH)
	{
		uint32_t first = ls_part_builder_rows(b);
		double start;

		for (uint32_t k = 0; k < BATCH; k++)
			make_event(&events[k], i + k, &to.json_bytes);
		start = cpu_seconds();
		for (uint32_t k = 0; k < BATCH; k++)
		{
			check(ls_part_builder_add(b, &events[k].event), "add");
			if (ls_part_builder_rows(b) == rows || (k + 1 == BATCH && i + BATCH >= n))
			{
				ls_part_builder_stamp(b, first, events[k].event.timestamp + 300000,
									  i / BATCH + 1000);
				first = 0;
				if (codec < 0)
					ls_part_builder_reset(b);
				else
					finish(b, (ls_part_codec) codec, &to, &header, &body);
			}
		}
		ls_part_builder_stamp(b, first, events[BATCH - 1].event.timestamp + 300000,
							  i / BATCH + 1000);
		to.seconds += cpu_seconds() - start;
	}
	ls_arena_destroy(arena);
	return to;
}

/* Merges parts into as few as can be. */
static parts
merge(const parts *from, ls_part_codec codec)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	ls_arena *part_arena = ls_arena_create(NULL, 0);
	ls_part_builder *b = ls_part_builder_create(arena);
	ls_buf header;
	ls_buf body;
	parts to;
	double start = cpu_seconds();

	init_parts(&to, from->n + 1);
	ls_buf_init(&header, arena);
	ls_buf_init(&body, arena);
	for (uint32_t i = 0; i < from->n; i++)
	{
		const char *error;
		uint32_t done = 0;
		ls_part *part;

		ls_arena_reset(part_arena);
		part = ls_part_open(part_arena, from->headers[i], fetch_body, &from->bodies[i], &error);
		check(part != NULL, "open");
		while (!ls_part_append(part, b, &done))
		{
			check(ls_part_error(part) == NULL, "append");
			finish(b, codec, &to, &header, &body);
		}
	}
	if (ls_part_builder_rows(b) > 0)
		finish(b, codec, &to, &header, &body);
	to.seconds = cpu_seconds() - start;
	ls_arena_destroy(arena);
	ls_arena_destroy(part_arena);
	return to;
}

/* Decodes one column, or every one of every row; gives CPU seconds. */
static double
scan(const parts *p, bool rows, uint64_t *sum)
{
	ls_arena *arena = ls_arena_create(NULL, 0);
	ls_arena *row_arena = ls_arena_create(NULL, 0);
	double start = cpu_seconds();

	for (uint32_t i = 0; i < p->n; i++)
	{
		const char *error;
		uint32_t column;
		ls_part *part;

		ls_arena_reset(arena);
		part = ls_part_open(arena, p->headers[i], fetch_body, &p->bodies[i], &error);
		check(part != NULL && ls_part_find(part, LS_FIELD_EVENT, LS_STR(""), &column, 1) == 1,
			  "open");
		for (uint32_t block = 0; block < ls_part_blocks(part); block++)
		{
			if (rows)
			{
				for (uint32_t row = 0; row < ls_part_block_rows(part, block); row++)
				{
					ls_event e;

					ls_arena_reset(row_arena);
					check(ls_part_row(part, block, row, row_arena, &e), "row");
					*sum += e.field[LS_FIELD_EVENT].len + e.n_attributes;
				}
			}
			else
			{
				const ls_vector *v = ls_part_vector(part, block, column);

				check(v != NULL, "vector");
				*sum += v->count;
			}
			ls_part_release_block(part);
		}
	}
	ls_arena_destroy(arena);
	ls_arena_destroy(row_arena);
	return cpu_seconds() - start;
}

static void
report(const char *name, const parts *p, uint32_t n)
{
	printf("part_%s_cpu %.3f s/million\n", name, p->seconds * 1e6 / n);
	printf("part_%s_size %.1f bytes/event\n", name, (double) (p->header_bytes + p->body_bytes) / n);
	printf("part_%s_header %.0f bytes/part\n", name, (double) p->header_bytes / p->n);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t) atoi(argv[1]) / BATCH * BATCH : 1000000;
	uint32_t few = n < 20 * BATCH ? n : 20 * BATCH;
	uint64_t sum = 0;
	parts fast;
	parts fresh;
	parts merged;
	parts p;

	kept = ls_arena_create(NULL, 0);
	check(n > 0, "fewer events than a batch: it");

	p = build(n, LS_PART_MAX_ROWS, -1);
	printf("part_event_json %.1f bytes/event\n", (double) p.json_bytes / n);
	printf("part_add_cpu %.3f s/million\n", p.seconds * 1e6 / n);
	p = build(few, 1, LS_CODEC_FAST);
	report("fast_1", &p, few);
	p = merge(&p, LS_CODEC_FRESH);
	report("merge_fast_1_to_fresh", &p, few);
	fast = build(n, BATCH, LS_CODEC_FAST);
	report("fast_1000", &fast, n);
	p = build(n, LS_PART_MAX_ROWS, LS_CODEC_FAST);
	report("fast_65536", &p, n);
	p = build(n, LS_PART_MAX_ROWS, LS_CODEC_FRESH);
	report("fresh", &p, n);
	fresh = merge(&fast, LS_CODEC_FRESH);
	report("merge_fast_to_fresh", &fresh, n);
	merged = merge(&fresh, LS_CODEC_MERGED);
	report("merge_fresh_to_merged", &merged, n);

	printf("part_scan_event_fast_cpu %.3f s/million\n", scan(&fast, false, &sum) * 1e6 / n);
	printf("part_scan_event_fresh_cpu %.3f s/million\n", scan(&fresh, false, &sum) * 1e6 / n);
	printf("part_scan_event_merged_cpu %.3f s/million\n", scan(&merged, false, &sum) * 1e6 / n);
	printf("part_scan_rows_merged_cpu %.3f s/million\n", scan(&merged, true, &sum) * 1e6 / n);
	check(sum > 3 * (uint64_t) n, "scan");
	return 0;
}
