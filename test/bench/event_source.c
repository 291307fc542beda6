/*
 * event_source.c: log events for benchmarks, the same on every machine.
 *
 *	event_source batches EVENTS START SPAN CLIENT CLIENTS
 *	event_source copy EVENTS START SPAN COUNT
 *	event_source request_id NUMBER
 *
 * Sixteen programs write lines of the shapes below; whatever is a digit in a
 * shape is drawn anew for each line.  Event i of EVENTS happens at START + SPAN
 * * i / EVENTS (microseconds since 1970), give or take a second, and depends
 * on i and EVENTS alone.  "batches" prints JSON arrays of BATCH events, each
 * behind a line with its length: those whose number is CLIENT modulo CLIENTS.
 * "copy" prints the first COUNT for COPY of (ts, level, source, event, attributes).
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH 2500

typedef struct shape
{
	int weight;
	const char *level;
	const char *text; /* a digit is redrawn; after a backslash it stays; {a|b} is a choice */
} shape;

typedef struct source
{
	const char *name;
	int weight;
	const char *services[3];
	shape shapes[14];
} source;

static const source sources[] = {
	{"hdfs-datanode",
	 14,
	 {"storage", "storage-archive", "backup"},
	 {{30, "info",
	   "Receiving block blk_-1608999687919862906 src: /10.250.19.102:54106 dest: "
	   "/10.250.19.102:50010"},
	  {30, "info",
	   "PacketResponder \\1 for block blk_-6670958622368987959 terminating, received 67108864 "
	   "bytes from /10.250.17.87"},
	  {18, "info",
	   "BLOCK* NameSystem.addStoredBlock: blockMap updated: 10.251.73.220:50010 is added to "
	   "blk_7128370237687728475 size 67108864"},
	  {12, "debug", "Verification succeeded for blk_-4794867979917102672"},
	  {6, "info",
	   "Deleting block blk_1781953582842324563 file /mnt/hadoop/dfs/data/current/subdir24"},
	  {3, "warn", "Got exception while serving blk_-2918118818249673980 to /10.251.90.64:"},
	  {1, "error",
	   "writeBlock blk_3955 received exception java.io.IOException: Could not read "
	   "from stream, transfer to 10.250.6.223:50010 failed"}}},
	{"yarn-appmaster",
	 8,
	 {"batch", "reports", "etl"},
	 {{24, "info",
	   "attempt_1445144423722_0020_m_000004_0 TaskAttempt Transitioned from {NEW to "
	   "UNASSIGNED|ASSIGNED to RUNNING|RUNNING to SUCCESS_CONTAINER_CLEANUP}"},
	  {22, "info", "Progress of TaskAttempt attempt_1445144423722_0020_m_000007_0 is : 0.27765483"},
	  {18, "info",
	   "Recalculating schedule, headroom=<memory:1024, vCores:-27> PendingReds:1 ScheduledMaps:10 "
	   "AssignedMaps:3 CompletedMaps:17"},
	  {10, "debug", "Assigned container container_1445144423722_0020_01_000014 to the map attempt"},
	  {8, "warn",
	   "Address change detected. Old: msra-sa-41/10.190.173.170:9000 New: msra-sa-41:9000"},
	  {6, "warn",
	   "Failed to renew lease for [DFSClient_NONMAPREDUCE_1537864556_1] for 452 seconds. Will "
	   "retry shortly ..."},
	  {4, "error",
	   "ERROR IN CONTACTING RM: application_1445144423722_0020 at "
	   "10.190.173.170:8030, attempt 7"}}},
	{"spark-executor",
	 10,
	 {"etl", "ml-training", "reports"},
	 {{26, "info", "Finished task 35.0 in stage 27.0 (TID 1397). 2364 bytes result sent to driver"},
	  {24, "info", "Running task 41.0 in stage 28.0 (TID 1443)"},
	  {18, "info",
	   "Block broadcast_41_piece0 stored as bytes in memory (estimated size 5.2 KB, free 317.4 "
	   "MB)"},
	  {16, "info", "Input split: hdfs://10.10.34.11:9000/pjhe/logs/2kSOSP.log:29168+7292"},
	  {10, "debug",
	   "Getting 128 non-empty blocks out of 240 blocks, started 7 remote fetches in 14 ms"},
	  {2, "warn",
	   "Lost task 12.3 in stage 27.0 (TID 1411, mesos-slave-17): ExecutorLostFailure "
	   "(executor 6 exited unrelated to the running tasks)"},
	  {1, "error", "Task 12 in stage 27.0 failed 4 times; aborting job 31"}}},
	{"bluegene",
	 7,
	 {"hpc", "hpc-io", "hpc-login"},
	 {{30, "info", "instruction cache parity error corrected at R02-M1-N0-C:J12-U11, count 4417"},
	  {22, "info", "generating core.2275"},
	  {16, "info", "CE sym 14, at 0x0b85eee0, mask 0x05 on rank 2817"},
	  {10, "warn",
	   "ddr: excessive soft failures, consider replacing the card R17-M0-N8 after 512 events"},
	  {6, "error", "data TLB error interrupt at 0x004ed5d8, iar 00105768 dear 01234512"},
	  {4, "fatal",
	   "ciod: failed to read message prefix on control stream (CioStream socket to "
	   "172.16.96.116:33569)"}}},
	{"zookeeper",
	 6,
	 {"coordination", "coordination-eu", "coordination-us"},
	 {{26, "info", "Received connection request /10.10.34.11:45307"},
	  {20, "info", "Accepted socket connection from /10.10.34.19:60707"},
	  {18, "info",
	   "Established session 0x14f05578bd8001\\a with negotiated timeout 10000 for client "
	   "/10.10.34.18:54462"},
	  {18, "warn", "Connection broken for id 188978561024, my id = 1, error ="},
	  {10, "warn", "Send worker leaving thread SendWorker:188978561024"},
	  {6, "info", "Expiring session 0x34ed93485090001, timeout of 10000ms exceeded"},
	  {2, "error",
	   "Unexpected exception causing shutdown while sock still open, peer 2 epoch 37"}}},
	{"openstack-nova",
	 8,
	 {"compute", "compute-api", "scheduler"},
	 {{34, "info",
	   "10.11.10.1 \"{GET|POST} /v2/54fadb412c4e40cdbaed9335e4c35a9e/servers/detail HTTP/\\1.\\1\" "
	   "status: 200 len: 1893 time: 0.2477829"},
	  {22, "info",
	   "[instance: b9000564-fe1a-409b-b8cc-1e88b294cd1d] VM {Started|Paused|Resumed|Stopped} "
	   "(Lifecycle Event)"},
	  {14, "info",
	   "[instance: 9e9ff4a9-7d7d-4d13-9e82-1b19e91c1d42] Took 20.58 seconds to spawn the instance "
	   "on the hypervisor."},
	  {14, "debug",
	   "Active base files: /var/lib/nova/instances/_base/a489c868f0c37da93b76227c91bb03908ac0e742"},
	  {4, "warn",
	   "While synchronizing instance power states, found 3 instances in the database and "
	   "1 instances on the hypervisor."},
	  {1, "error",
	   "[instance: 0a1b2c3d-7d7d-4d13-9e82-1b19e91c1d42] Instance failed to spawn: "
	   "timeout of 300 s waiting for vif plugging"}}},
	{"sshd",
	 7,
	 {"bastion", "bastion-eu", "jump"},
	 {{26, "info",
	   "Failed password for {root|admin|oracle|invalid user support|invalid user "
	   "test|invalid user pi} from 183.62.140.253 port 60094 ssh2"},
	  {16, "info",
	   "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= "
	   "rhost=183.62.140.253 user={root|git|www}"},
	  {16, "info", "Received disconnect from 112.95.230.3: 11: Bye Bye [preauth]"},
	  {14, "info", "Connection closed by 212.47.254.145 [preauth]"},
	  {10, "warn",
	   "reverse mapping checking getaddrinfo for ns.marryaldkfaczcz.com "
	   "[173.234.31.186] failed - POSSIBLE BREAK-IN ATTEMPT!"},
	  {6, "info", "Accepted password for {fztu|curi|hxu} from 119.137.62.142 port 49116 ssh2"},
	  {2, "error",
	   "error: Received disconnect from 103.99.0.122: 14: No more user authentication "
	   "methods available."}}},
	{"apache",
	 9,
	 {"web", "web-static", "cms"},
	 {{46, "info",
	   "10.42.113.7 - - \"GET /{products|cart|search|account|static/js}/48213?page=7 "
	   "HTTP/\\1.\\1\" 200 48120 \"-\" \"Mozilla/\\5.\\0 (X11; Linux x\\8\\6_\\6\\4)\" 0.113"},
	  {20, "info", "jk2_init() Found child 6725 in scoreboard slot 10"},
	  {16, "info", "workerEnv.init() ok /etc/httpd/conf/workers2.properties"},
	  {8, "warn", "[client 222.166.160.184] Directory index forbidden by rule: /var/www/html/"},
	  {5, "error", "mod_jk child workerEnv in error state 6"},
	  {2, "error", "[client 218.75.106.250] File does not exist: /var/www/html/scripts"}}},
	{"proxifier",
	 5,
	 {"desktop", "desktop-eu", "vpn"},
	 {{40, "info",
	   "proxy.cse.cuhk.edu.hk:5070 close, 3637 bytes (3.55 KB) sent, 1432 bytes (1.39 KB) "
	   "received, lifetime 00:41"},
	  {36, "info", "open through proxy proxy.cse.cuhk.edu.hk:5070 HTTPS {qq|chrome|git|skype}.exe"},
	  {20, "debug", "chrome.exe *64 - resolved {www|mail|api|cdn}.google.com in 14 ms"},
	  {3, "error",
	   "{play|ssl|plus}.google.com:443 error : Could not connect through proxy "
	   "10.20.7.9:5070 - Proxy server cannot establish a connection with the target, "
	   "status code 403"}}},
	{"android-system",
	 7,
	 {"mobile", "mobile-beta", "kiosk"},
	 {{22, "debug",
	   "acquire lock=233570404, flags=0x1, tag=\"View Lock\", name=com.android.systemui, ws=null, "
	   "uid=10037, pid=2227"},
	  {20, "debug",
	   "ready=true,policy=3,wakefulness=1,wksummary=0x23,uasummary=0x1,bootcompleted=true"},
	  {16, "info", "HBM brightnessIn =38, brightnessOut =38, lux 1317"},
	  {14, "info",
	   "Skipping AppWindowToken{df0798e token=Token{78af589 "
	   "ActivityRecord{3b04890 u0 com.tencent.qt.qtl/com.tencent.video.player}}}"},
	  {12, "debug", "setSystemUiVisibility vis=40000500 mask=ffffffff oldVal=508 diff=40000008"},
	  {4, "warn",
	   "getRunningAppProcesses: caller 10111 does not hold REAL_GET_TASKS; limiting output"},
	  {1, "error",
	   "ANR in com.android.phone, load 13.4, 41% user, process 2227 failed to respond"}}},
	{"healthapp",
	 5,
	 {"fitness", "fitness-sync", "mobile"},
	 {{30, "info", "calculateCaloriesWithCache totalCalories=126775"},
	  {28, "info", "getTodayTotalDetailSteps = 1514038440000##6993##548365##8661##12266##27164404"},
	  {22, "info", "onExtend:1514038530000 14 0 4"},
	  {16, "debug", "flush sensor data: 3579 samples in 12 ms"},
	  {2, "warn", "REPORT : 7007 5002 150089 240 mismatch of step count"},
	  {1, "error", "upStepRecord failed, code 1004, retry 3 in 30 s"}}},
	{"windows-cbs",
	 5,
	 {"desktop", "update", "imaging"},
	 {{40, "info", "Session: 30546174_227504306 initialized by client WindowsUpdateAgent."},
	  {28, "info",
	   "Read out cached package applicability for package: "
	   "Package_for_KB2928120~31bf3856ad364e35~amd64~~6.1.1.2, ApplicableState: 112, "
	   "CurrentState:112"},
	  {22, "info", "Loaded Servicing Stack v6.1.7601.23505 with Core: cbscore.dll"},
	  {8, "debug", "SQM: Requesting upload of all unsent reports, 17 queued"},
	  {3, "warn",
	   "SQM: Failed to start upload with file pattern, flags: 0x2 "
	   "[HRESULT = 0x80004005 - E_FAIL]"},
	  {1, "error",
	   "Failed to internally open package. [HRESULT = 0x800f0805 - "
	   "CBS_E_INVALID_PACKAGE]"}}},
	{"postgresql",
	 5,
	 {"orders-db", "users-db", "reporting-db"},
	 {{30, "info",
	   "duration: 124.117 ms  execute S_14: SELECT o.id, o.total FROM orders o WHERE "
	   "o.customer_id = $\\1 ORDER BY o.created_at DESC LIMIT 50"},
	  {24, "debug", "connection authorized: user=app database=orders application_name=api-17"},
	  {18, "info",
	   "checkpoint complete: wrote 4711 buffers (2.9%); write=269.713 s, sync=0.024 s, "
	   "total=269.781 s; distance=48213 kB"},
	  {14, "info",
	   "automatic vacuum of table \"orders.public.cart_item\": index scans: 1, pages: 3114 remain, "
	   "tuples: 48120 removed"},
	  {4, "warn", "checkpoints are occurring too frequently (19 seconds apart)"},
	  {2, "error",
	   "duplicate key value violates unique constraint \"cart_item_pkey\", key (48213)"},
	  {1, "fatal", "could not connect to the primary 10.8.4.17 port 5432: no route to host"}}},
	{"payments-api",
	 5,
	 {"payments", "payments-eu", "refunds"},
	 {{30, "info",
	   "charge ch_48213977 of 129.90 EUR authorised by {adyen|stripe|worldline} in 412 ms, order "
	   "7730418"},
	  {24, "info",
	   "POST /v1/charges 201 in 436 ms, customer 1183204, idempotency key "
	   "4f0c8812-77aa-4d13-9e82-1b19e91c1d42"},
	  {18, "debug", "token 51077 refreshed, expires in 3600 s"},
	  {8, "warn", "gateway {adyen|stripe|worldline} answered in 2714 ms, above 2000 ms"},
	  {4, "error", "charge ch_48213977 declined: insufficient_funds, customer 1183204"},
	  {1, "error", "upstream 10.17.4.90:8443: Connection refused, attempt 3 of 5, order 7730418"}}},
	{"kubelet",
	 5,
	 {"platform", "platform-eu", "ingress"},
	 {{28, "info",
	   "Started container {api|worker|sidecar|migrate} in pod shop-7d9f8b6c5d-x2k4q, image id "
	   "sha256:4f0c8812"},
	  {26, "info", "Pulled image registry.example.com/shop/api:1.48.2 in 2.714s, 48213977 bytes"},
	  {20, "debug",
	   "operation verified: MountVolume succeeded for volume pvc-4f0c8812-77aa-4d13-9e82"},
	  {10, "warn",
	   "Readiness probe failed: Get \"http://10.244.3.17:8080/healthz\": context deadline "
	   "exceeded after 1000 ms"},
	  {5, "warn", "Back-off 40s restarting container worker in pod shop-7d9f8b6c5d-x2k4q"},
	  {2, "error", "Error syncing pod shop-7d9f8b6c5d-x2k4q, skipping: CrashLoopBackOff, 5m0s"}}},
	{"thunderbird-syslog",
	 4,
	 {"hpc", "mail", "hpc-login"},
	 {{30, "info", "session opened for user root by (uid=0), seq 48213"},
	  {26, "info", "(root) CMD (run-parts /etc/cron.hourly), pid 11763"},
	  {20, "info", "data_thread() got not answer from any [Thunderbird_A1] datasource, 17 tries"},
	  {16, "info", "DHCPDISCOVER from 00:11:43:e3:ba:c3 via eth1: network A_net: no free leases"},
	  {4, "warn", "Kernel detected 1 corrected memory errors on node an4822, row 3 channel 1"},
	  {1, "error", "/dev/sda, SMART Failure: prefailure attribute 5 below threshold 36, disk 7"}}},
};

#define N_SOURCES ((int) (sizeof(sources) / sizeof(sources[0])))

static uint64_t state;

static uint64_t
draw(void)
{
	uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

static void
start_event(uint64_t number)
{
	state = number * UINT64_C(0xD1342543DE82EF95) + 1;
	state = draw();
}

static void
hexadecimal(char *to, int n)
{
	for (int i = 0; i < n; i += 16)
	{
		uint64_t bits = draw();

		for (int k = i; k < i + 16 && k < n; k++, bits >>= 4)
			to[k] = "0123456789abcdef"[bits & 15];
	}
	to[n] = '\0';
}

/* A line of a shape; a number keeps its length. */
static char *
line(char *to, const char *p)
{
	uint64_t bits = 0;
	int left = 0;

	for (; *p != '\0'; p++)
	{
		if (*p == '\\')
			*to++ = *++p;
		else if (*p >= '0' && *p <= '9')
		{
			if (left-- == 0)
			{
				bits = draw();
				left = 15;
			}
			*to++ = (char) ('0' + bits % 10);
			bits /= 10;
		}
		else if (*p == '{' && strchr(p, '|') != NULL && strchr(p, '|') < strchr(p, '}'))
		{
			const char *end = strchr(p, '}');
			const char *choice = p + 1;
			int n = 1;

			for (const char *s = p; s < end; s++)
				n += *s == '|';
			for (int skip = (int) (draw() % (uint64_t) n); skip > 0; choice++)
				skip -= *choice == '|';
			while (*choice != '|' && *choice != '}')
				*to++ = *choice++;
			p = end;
		}
		else
			*to++ = *p;
	}
	*to = '\0';
	return to;
}

typedef struct event
{
	char time[40];
	const source *source;
	const char *level;
	const char *service;
	char host[32];
	char request_id[33];
	char text[600];
} event;

static void
make_event(event *e, uint64_t i, uint64_t events, int64_t start, int64_t span)
{
	static int total;
	int64_t us = start + (int64_t) ((double) span * (double) i / (double) events);
	time_t seconds;
	struct tm tm;
	int pick;
	int shapes = 0;
	const shape *s;

	if (total == 0)
	{
		for (int k = 0; k < N_SOURCES; k++)
			total += sources[k].weight;
	}
	start_event(i);
	hexadecimal(e->request_id, 32);
	us += (int64_t) (draw() % 1000000);
	seconds = (time_t) (us / 1000000);
	gmtime_r(&seconds, &tm);
	snprintf(e->time + strftime(e->time, 24, "%Y-%m-%dT%H:%M:%S", &tm), 12, ".%06dZ",
			 (int) (us % 1000000));
	pick = (int) (draw() % (uint64_t) total);
	for (e->source = sources; pick >= e->source->weight; e->source++)
		pick -= e->source->weight;
	for (s = e->source->shapes; s->text != NULL; s++)
		shapes += s->weight;
	pick = (int) (draw() % (uint64_t) shapes);
	for (s = e->source->shapes; pick >= s->weight; s++)
		pick -= s->weight;
	e->level = s->level;
	e->service = e->source->services[draw() % 3];
	snprintf(e->host, sizeof(e->host), "%.12s-%02d", e->source->name, (int) (draw() % 20));
	line(e->text, s->text);
}

static char *
quoted(char *to, const char *text)
{
	for (; *text != '\0'; text++)
	{
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	return to;
}

static void
batches(uint64_t events, int64_t start, int64_t span, uint64_t client, uint64_t clients)
{
	static char buffer[BATCH * 1600];
	event e;

	for (uint64_t first = client * BATCH; first < events; first += clients * BATCH)
	{
		char *p = buffer;

		for (uint64_t i = first; i < first + BATCH && i < events; i++)
		{
			make_event(&e, i, events, start, span);
			p += sprintf(p,
						 "%c{\"timestamp\":\"%s\",\"level\":\"%s\",\"source\":\"%s\",\"event\":\"",
						 i == first ? '[' : ',', e.time, e.level, e.source->name);
			p = quoted(p, e.text);
			p += sprintf(
				p, "\",\"attributes\":{\"host\":\"%s\",\"service\":\"%s\",\"request_id\":\"%s\"}}",
				e.host, e.service, e.request_id);
		}
		*p++ = ']';
		printf("%zu\n", (size_t) (p - buffer));
		fwrite(buffer, 1, (size_t) (p - buffer), stdout);
	}
}

/* Texts have no tabs and no backslashes, so they are as COPY wants them. */
static void
copy(uint64_t events, int64_t start, int64_t span, uint64_t upto)
{
	event e;

	for (uint64_t i = 0; i < upto; i++)
	{
		make_event(&e, i, events, start, span);
		printf("%s\t%s\t%s\t%s\t{\"host\": \"%s\", \"service\": \"%s\", \"request_id\": \"%s\"}\n",
			   e.time, e.level, e.source->name, e.text, e.host, e.service, e.request_id);
	}
}

int
main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int64_t start = argc > 3 ? strtoll(argv[3], NULL, 10) : 0;
	int64_t span = argc > 4 ? strtoll(argv[4], NULL, 10) : 0;

	if (argc == 7 && strcmp(argv[1], "batches") == 0)
		batches(n, start, span, strtoull(argv[5], NULL, 10), strtoull(argv[6], NULL, 10));
	else if (argc == 6 && strcmp(argv[1], "copy") == 0)
		copy(n, start, span, strtoull(argv[5], NULL, 10));
	else if (argc == 3 && strcmp(argv[1], "request_id") == 0)
	{
		event e;

		make_event(&e, n, n + 1, 0, 1);
		printf("%s\n", e.request_id);
	}
	else
		return 2;
	return fflush(stdout) == 0 ? 0 : 1;
}
