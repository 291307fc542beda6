/*
 * log_rows.h: makes log rows of known templates, for tests and benchmarks.
 *
 * A kind of log is a list of templates; {x} in a template is a varying part.
 * The label of a row is the index of its template, so that grouping can be
 * checked.  The same seed gives the same rows.
 *
 *	{t} ISO time    {T} syslog time  {g} access log time  {k} klog time
 *	{i} IPv4        {j} IPv6         {n} number           {x} hex id
 *	{u} UUID        {p} path         {w} name of a person {h} host
 *	{d} duration    {l} list of numbers                   {c} a city, UTF-8
 *	{f} stack frames, one to six     {q} a path with a query, or /
 *	{a} user agent   {r} referrer    {m} a name or -   {e} an error
 */
#ifndef LOG_ROWS_H
#define LOG_ROWS_H

#include "src/base/pure.h"

typedef struct log_rows
{
	ls_str *rows;
	int *labels;
	size_t n;
	size_t bytes;
} log_rows;

enum log_kind
{
	LOG_JSON,
	LOG_LOGFMT,
	LOG_NGINX,
	LOG_KUBERNETES,
	LOG_JAVA,
	LOG_POSTGRES,
	LOG_UTF8,
	LOG_SYSLOG,
	LOG_KINDS,
	LOG_MIXED = LOG_KINDS
};

static const char *const log_kind_names[] = {"JSON lines", "logfmt", "nginx access",
											 "Kubernetes", "Java",   "PostgreSQL",
											 "UTF-8",      "syslog", "mixed"};

#define LOG_MAX_TEMPLATES 16

static const char *const log_templates[LOG_KINDS][LOG_MAX_TEMPLATES] = {
	[LOG_JSON] =
		{"{\"time\":\"{t}\",\"level\":\"info\",\"msg\":\"request completed\",\"path\":\"{q}\","
		 "\"status\":{n},\"duration_ms\":{n},\"request_id\":\"{u}\"}",
		 "{\"time\":\"{t}\",\"level\":\"info\",\"msg\":\"user {w} signed in from {i}\","
		 "\"session\":\"{x}\"}",
		 "{\"time\":\"{t}\",\"level\":\"warn\",\"msg\":\"slow query\",\"table\":\"orders\","
		 "\"duration_ms\":{n}}",
		 "{\"time\":\"{t}\",\"level\":\"error\",\"msg\":\"payment {u} declined by gateway\","
		 "\"customer\":{\"id\":{n},\"name\":\"{w}\"}}",
		 "{\"time\":\"{t}\",\"level\":\"error\",\"msg\":\"connection to {i}:{n} refused\","
		 "\"attempt\":{n}}",
		 "{\"time\":\"{t}\",\"level\":\"debug\",\"msg\":\"cache miss\",\"keys\":[{l}]}",
		 "{\"time\":\"{t}\",\"level\":\"debug\",\"msg\":\"cache hit\",\"keys\":[{l}]}",
		 "{\"time\":\"{t}\",\"level\":\"info\",\"msg\":\"job finished\",\"worker\":\"{h}\","
		 "\"took\":\"{d}\"}",
		 "{\"time\":\"{t}\",\"level\":\"error\",\"msg\":\"job finished\",\"worker\":\"{h}\","
		 "\"took\":\"{d}\"}",
		 "{\"time\":\"{t}\",\"level\":\"info\",\"event\":\"order.created\",\"order\":{n}}",
		 "{\"time\":\"{t}\",\"level\":\"info\",\"event\":\"order.cancelled\",\"order\":{n}}",
		 "{\"time\":\"{t}\",\"level\":\"error\",\"msg\":\"mail not sent\",\"error\":\"{e}\"}"},
	[LOG_LOGFMT] =
		{"ts={t} level=info msg=\"request handled\" method=GET path={q} status={n} took={d}",
		 "ts={t} level=info msg=\"user {w} created\" id={n}",
		 "ts={t} level=warn msg=\"retrying upload\" file={p} attempt={n}",
		 "ts={t} level=error msg=\"upload failed\" file={p} err=\"{e}\"",
		 "ts={t} level=debug msg=\"lease renewed\" holder={h} ttl={d}",
		 "ts={t} level=debug msg=\"lease lost\" holder={h} ttl={d}",
		 "ts={t} level=info msg=\"compaction done\" shards={l} took={d}",
		 "ts={t} level=info msg=shutdown signal=terminated"},
	[LOG_NGINX] = {"{i} - {m} [{g}] \"GET {q} HTTP/1.1\" {n} {n} \"{r}\" \"{a}\"",
				   "{i} - {m} [{g}] \"POST {q} HTTP/1.1\" {n} {n} \"{r}\" \"{a}\"",
				   "{i} - {m} [{g}] \"DELETE {q} HTTP/1.1\" {n} {n} \"-\" \"{a}\"",
				   "{i} - - [{g}] \"HEAD {q} HTTP/1.1\" {n} {n} \"-\" \"kube-probe/1.{n}\"",
				   "{i} - - [{g}] \"OPTIONS {q} HTTP/2.0\" {n} {n} \"{r}\" \"{a}\""},
	[LOG_KUBERNETES] =
		{"I{k} {n} kubelet.go:{n}] \"SyncLoop ADD\" source=\"api\" pods=[\"default/{h}\"]",
		 "I{k} {n} kubelet.go:{n}] \"SyncLoop DELETE\" source=\"api\" pods=[\"default/{h}\"]",
		 "E{k} {n} pod_workers.go:{n}] \"Error syncing pod, skipping\" pod=\"default/{h}\" "
		 "podUID={u}",
		 "W{k} {n} reflector.go:{n}] watch of *v1.ConfigMap ended with: too old resource version: "
		 "{n} ({n})",
		 "I{k} {n} controller.go:{n}] successfully reconciled {h} in {d}",
		 "I{k} {n} scheduler.go:{n}] Successfully bound pod {h} to node {h}",
		 "E{k} {n} leaderelection.go:{n}] error retrieving resource lock {h}: context deadline "
		 "exceeded",
		 "I{k} {n} trace.go:{n}] Trace[{n}]: \"List\" url:{p},client:{i} (total time: {d}):"},
	[LOG_JAVA] =
		{"{t} INFO  [http-nio-8080-exec-{n}] c.e.shop.OrderController : Created order {n} for {w}",
		 "{t} INFO  [http-nio-8080-exec-{n}] c.e.shop.OrderController : Deleted order {n}",
		 "{t} WARN  [scheduling-{n}] c.e.shop.StockJob : Stock of article {n} is low: {n} left",
		 "{t} ERROR [http-nio-8080-exec-{n}] c.e.shop.PaymentService : Payment {u} failed",
		 "{t} ERROR [http-nio-8080-exec-{n}] c.e.shop.PaymentService : Payment {u} timed out after "
		 "{d}",
		 "java.lang.IllegalStateException: Connection pool {n} exhausted\n{f}",
		 "java.io.IOException: Broken pipe\n{f}",
		 "Caused by: java.net.SocketTimeoutException: Read timed out after {n} ms",
		 "\tat com.example.shop.Order{n}.save(Order.java:{n})", "\t... {n} more"},
	[LOG_POSTGRES] =
		{"{t} UTC [{n}] app@shop LOG:  duration: {n}.{n} ms  statement: SELECT name FROM customer "
		 "WHERE id = {n}",
		 "{t} UTC [{n}] app@shop LOG:  duration: {n}.{n} ms  statement: UPDATE stock SET count = "
		 "count - {n} WHERE id = {n}",
		 "{t} UTC [{n}] app@shop ERROR:  duplicate key value violates unique constraint "
		 "\"orders_pkey\"",
		 "{t} UTC [{n}] app@shop DETAIL:  Key (id)=({n}) already exists.",
		 "{t} UTC [{n}] app@shop FATAL:  password authentication failed for user \"{w}\"",
		 "{t} UTC [{n}] app@shop LOG:  connection received: host={i} port={n}",
		 "{t} UTC [{n}] app@shop LOG:  checkpoint complete: wrote {n} buffers ({n}.{n}%); "
		 "write={n}.{n} s, sync={n}.{n} s",
		 "{t} UTC [{n}] app@shop ERROR:  deadlock detected",
		 "{t} UTC [{n}] app@shop ERROR:  relation \"{m}\" does not exist at character {n}",
		 "{t} UTC [{n}] app@shop DETAIL:  Process {n} waits for ShareLock on transaction {n}; "
		 "blocked by process {n}."},
	[LOG_UTF8] = {"{t} Benutzer {c} hat sich angemeldet (Größe {n})",
				  "{t} Übertragung nach {c} abgebrochen: Zeitüberschreitung nach {d}",
				  "{t} 用户 {n} 登录成功 来自 {i}", "{t} 用户 {n} 登录失败 来自 {i}",
				  "{t} Соединение с {i} закрыто через {d}",
				  "{t} Соединение с {i} открыто через {d}", "{t} ✅ déploiement de {c} terminé"},
	[LOG_SYSLOG] = {
		"{T} {h} sshd[{n}]: Failed password for invalid user {w} from {i} port {n} ssh2",
		"{T} {h} sshd[{n}]: Accepted publickey for {w} from {i} port {n} ssh2: RSA SHA256:{x}",
		"{T} {h} sshd[{n}]: Connection closed by {j} port {n} [preauth]",
		"{T} {h} CRON[{n}]: pam_unix(cron:session): session opened for user {w} by (uid=0)",
		"{T} {h} CRON[{n}]: pam_unix(cron:session): session closed for user {w}",
		"{T} {h} kernel: [{n}.{n}] eth0: link is down",
		"{T} {h} kernel: [{n}.{n}] eth0: link is up at {n} Mbps",
		"{T} {h} systemd[1]: Started Session {n} of user {w}.",
		"{T} {h} dhclient[{n}]: DHCPREQUEST for {i} on eth0 to {i} port 67",
		"{T} {h} dhclient[{n}]: DHCPACK of {i} from {i}"}};

typedef struct log_random
{
	uint64_t state;
} log_random;

static inline uint32_t
log_next(log_random *r, uint32_t below)
{
	r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) ((r->state >> 33) % below);
}

static inline void
log_hex(ls_buf *buf, log_random *r, int digits)
{
	while (digits-- > 0)
		ls_buf_char(buf, "0123456789abcdef"[log_next(r, 16)]);
}

static inline void
log_path(ls_buf *buf, log_random *r)
{
	static const char *const parts[] = {"api", "users", "v2", "orders", "static", "img", "data"};

	for (uint32_t i = 0, n = 2 + log_next(r, 3); i < n; i++)
		ls_buf_printf(buf, "/%s", parts[log_next(r, 7)]);
	ls_buf_printf(buf, "/%u", log_next(r, 100000));
}

static inline void
log_part(ls_buf *buf, log_random *r, char kind)
{
	static const char *const names[] = {
		"alice", "bob",   "carol",  "dave",    "erin",  "frank", "grace",  "heidi", "ivan",
		"judy",  "karl",  "laura",  "mallory", "nina",  "oscar", "peggy",  "quinn", "ruth",
		"sybil", "trent", "ursula", "victor",  "wendy", "xaver", "yvonne", "zoe"};
	static const char *const cities[] = {"Köln",  "Zürich", "Tromsø", "東京",   "Москва",
										 "Århus", "Łódź",   "Malmö",  "Genève", "Αθήνα"};
	static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
										 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	static const char *const classes[] = {"Pool", "Order", "Stock", "HttpClient", "Main"};
	static const char *const agents[] = {
		"curl/7.%u", "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/%u.0",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/%u Safari/537.36",
		"Googlebot (+http://example.com/bot.html) v%u"};
	static const char *const units[] = {"ms", "s", "us", "m"};

	switch (kind)
	{
		case 't':
			ls_buf_printf(buf, "2026-%02u-%02uT%02u:%02u:%02u.%03uZ", 1 + log_next(r, 12),
						  1 + log_next(r, 28), log_next(r, 24), log_next(r, 60), log_next(r, 60),
						  log_next(r, 1000));
			break;
		case 'T':
			ls_buf_printf(buf, "%s %2u %02u:%02u:%02u", months[log_next(r, 12)],
						  1 + log_next(r, 28), log_next(r, 24), log_next(r, 60), log_next(r, 60));
			break;
		case 'g':
			ls_buf_printf(buf, "%02u/%s/2026:%02u:%02u:%02u +0000", 1 + log_next(r, 28),
						  months[log_next(r, 12)], log_next(r, 24), log_next(r, 60),
						  log_next(r, 60));
			break;
		case 'k':
			ls_buf_printf(buf, "%02u%02u %02u:%02u:%02u.%06u", 1 + log_next(r, 12),
						  1 + log_next(r, 28), log_next(r, 24), log_next(r, 60), log_next(r, 60),
						  log_next(r, 1000000));
			break;
		case 'i':
			ls_buf_printf(buf, "%u.%u.%u.%u", 1 + log_next(r, 223), log_next(r, 256),
						  log_next(r, 256), log_next(r, 256));
			break;
		case 'j':
			ls_buf_printf(buf, "2001:db8:%x::%x", 1 + log_next(r, 65535), 1 + log_next(r, 65535));
			break;
		case 'n':
			ls_buf_printf(buf, "%u", log_next(r, log_next(r, 2) ? 1000 : 1000000));
			break;
		case 'x':
			log_hex(buf, r, 16);
			break;
		case 'u':
			for (int i = 0; i < 5; i++)
			{
				static const int digits[] = {8, 4, 4, 4, 12};

				if (i > 0)
					ls_buf_char(buf, '-');
				log_hex(buf, r, digits[i]);
			}
			break;
		case 'p':
			log_path(buf, r);
			break;
		case 'q':
			if (log_next(r, 9) == 0)
			{
				ls_buf_char(buf, '/');
				break;
			}
			log_path(buf, r);
			if (log_next(r, 2) == 0)
				ls_buf_printf(buf, "?page=%u&sort=name", log_next(r, 50));
			break;
		case 'w':
			ls_buf_printf(buf, "%s", names[log_next(r, 26)]);
			break;
		case 'c':
			ls_buf_printf(buf, "%s", cities[log_next(r, 10)]);
			break;
		case 'h':
			ls_buf_printf(buf, "node-%u", log_next(r, 40));
			break;
		case 'd':
			ls_buf_printf(buf, "%u%s", 1 + log_next(r, 900), units[log_next(r, 4)]);
			break;
		case 'l':
			for (uint32_t i = 0, n = 1 + log_next(r, 5); i < n; i++)
				ls_buf_printf(buf, "%s%u", i > 0 ? "," : "", log_next(r, 1000));
			break;
		case 'f':
			for (uint32_t i = 0, n = 1 + log_next(r, 6); i < n; i++)
			{
				uint32_t c = log_next(r, 5);

				ls_buf_printf(buf, "%s\tat com.example.shop.internal.%s.run(", i > 0 ? "\n" : "",
							  classes[c]);
				if (log_next(r, 5) == 0)
					ls_buf_lit(buf, "Native Method)");
				else
					ls_buf_printf(buf, "%s.java:%u)", classes[c], 1 + log_next(r, 900));
			}
			break;
		case 'e':
			if (log_next(r, 2) == 0)
				ls_buf_lit(buf, "no space left on device");
			else
				ls_buf_printf(buf, "dial tcp 10.0.0.%u:443: i/o timeout", log_next(r, 255));
			break;
		case 'a':
			ls_buf_printf(buf, agents[log_next(r, 4)], 1 + log_next(r, 99));
			break;
		case 'r':
			if (log_next(r, 2) == 0)
				ls_buf_lit(buf, "-");
			else
				ls_buf_printf(buf, "https://shop.example/%s?ref=mail", names[log_next(r, 26)]);
			break;
		case 'm':
			ls_buf_printf(buf, "%s", log_next(r, 3) == 0 ? names[log_next(r, 3)] : "-");
			break;
	}
}

static inline void
log_fill(ls_buf *buf, log_random *r, const char *template)
{
	for (const char *p = template; *p != '\0'; p++)
	{
		if (p[0] == '{' && p[1] >= 'a' - 32 && p[1] <= 'z' && p[2] == '}')
		{
			log_part(buf, r, p[1]);
			p += 2;
		}
		else
			ls_buf_char(buf, *p);
	}
}

/* Makes n rows; templates at the front of a list are more frequent. */
static inline log_rows
log_rows_make(ls_arena *arena, int kind, size_t n, uint64_t seed)
{
	log_rows out = {.n = n};
	log_random r = {seed * 2654435761u + 1};

	out.rows = ls_new_array(arena, ls_str, n + 1);
	out.labels = ls_new_array(arena, int, n + 1);
	for (size_t i = 0; i < n; i++)
	{
		int k = kind == LOG_MIXED ? (int) log_next(&r, LOG_KINDS) : kind;
		uint32_t count = 0;
		uint32_t t;
		ls_buf buf;

		while (count < LOG_MAX_TEMPLATES && log_templates[k][count] != NULL)
			count++;
		t = log_next(&r, count);
		if (log_next(&r, 3) > 0)
			t = log_next(&r, t + 1);
		ls_buf_init(&buf, arena);
		log_fill(&buf, &r, log_templates[k][t]);
		out.rows[i] = ls_str_make(buf.data, buf.len);
		out.labels[i] = k * LOG_MAX_TEMPLATES + (int) t;
		out.bytes += buf.len;
	}
	return out;
}

/* The same rows in another order. */
static inline void
log_rows_shuffle(log_rows *rows, uint64_t seed)
{
	log_random r = {seed + 99};

	for (size_t i = rows->n; i > 1; i--)
	{
		size_t j = log_next(&r, (uint32_t) i);
		ls_str row = rows->rows[i - 1];
		int label = rows->labels[i - 1];

		rows->rows[i - 1] = rows->rows[j];
		rows->labels[i - 1] = rows->labels[j];
		rows->rows[j] = row;
		rows->labels[j] = label;
	}
}

/*
 * Grouping accuracy: the share of rows whose group has exactly the rows of one
 * template.
 */
static inline double
log_grouping_accuracy(ls_arena *arena, const log_rows *rows, const uint32_t *group, size_t ngroups)
{
	size_t labels = LOG_KINDS * LOG_MAX_TEMPLATES;
	size_t *of_label = ls_new_array(arena, size_t, labels);
	size_t *of_group = ls_new_array(arena, size_t, ngroups);
	int *label_of_group = ls_new_array(arena, int, ngroups);
	size_t right = 0;

	for (size_t i = 0; i < rows->n; i++)
	{
		of_label[rows->labels[i]]++;
		if (of_group[group[i]]++ == 0)
			label_of_group[group[i]] = rows->labels[i];
		else if (label_of_group[group[i]] != rows->labels[i])
			label_of_group[group[i]] = -1;
	}
	for (size_t g = 0; g < ngroups; g++)
	{
		if (of_group[g] > 0 && label_of_group[g] >= 0 && of_label[label_of_group[g]] == of_group[g])
			right += of_group[g];
	}
	return rows->n == 0 ? 1 : (double) right / (double) rows->n;
}

#endif
