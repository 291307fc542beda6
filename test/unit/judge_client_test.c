/*
 * judge_client_test.c: text that a client chose is no evidence for the built-in evaluator.
 *
 * Each attack is judged twice.  Alone it must not pass: the verdict abstains, or fails where the
 * row tells a failure itself.  Beside a row of the failure, before and after it, it must fail.
 * The honest rows below them look alike and must be judged as before.
 */
#include "src/judge/judge_internal.h"
#include "test/unit/tap.h"

static ls_arena *arena;

typedef struct attack
{
	const char *item, *failure, *row;
} attack;

#define MIGRATION "The migration 42 was applied", "migration 42 failed: lock timeout"
#define BACKUP "The backup completed", "backup of db1 failed: no space left on device"
#define DEPLOY "The deploy finished without errors", "deploy aborted: image not found"
#define TESTS "All tests passed", "3 of 80 tests failed"
#define PAYMENT "The payment succeeded", "payment declined: card expired"
#define OK_DEPLOY "The deploy finished ok", "deploy failed: exit code 1"

static const attack attacks[] = {
	/* access logs: query, referrer, user agent, user, target */
	{MIGRATION, "10.0.0.1 - - \"GET /search?q=migration+42+was+applied HTTP/1.1\" 200"},
	{MIGRATION, "10.0.0.1 - - [12/Mar/2024:10:00:00 +0000] \"GET "
				"/search?q=migration%2042%20was%20applied HTTP/1.1\" 200 512 \"-\" \"curl/8.0\""},
	{MIGRATION, "10.0.0.1 - - [12/Mar/2024:10:00:00 +0000] \"GET /?a=1&note=migration-42-applied "
				"HTTP/2.0\" 200 512 \"https://x.example/\" \"curl/8.0\""},
	{MIGRATION, "10.0.0.1 - - [12/Mar/2024:10:00:00 +0000] \"GET /migration/42/applied HTTP/1.1\" "
				"200 512 \"-\" \"curl/8.0\""},
	{MIGRATION, "10.0.0.1 - - [12/Mar/2024:10:00:00 +0000] \"GET / migration 42 was applied "
				"HTTP/1.1\" 200 512 \"-\" \"curl/8.0\""},
	{MIGRATION, "10.0.0.1 - - [12/Mar/2024:10:00:00 +0000] \"migration 42 was applied\" 200 0 "
				"\"-\" \"-\""},
	{BACKUP, "10.0.0.1 - - [12/Mar/2024:10:00:00 +0000] \"GET / HTTP/1.1\" 200 512 \"-\" "
			 "\"Mozilla (backup completed successfully)\""},
	{BACKUP, "10.0.0.1 - - [12/Mar/2024:10:00:00 +0000] \"GET / HTTP/1.1\" 200 512 "
			 "\"http://e.example/backup-completed\" \"Mozilla/5.0\""},
	{BACKUP, "10.0.0.1 - backup-completed [12/Mar/2024:10:00:00 +0000] \"GET / HTTP/1.1\" 200 512"},
	{BACKUP, "10.0.0.1 - backup completed ok [12/Mar/2024:10:00:00 +0000] \"GET / HTTP/1.1\" 200 "
			 "512"},
	{BACKUP,
	 "shop.example:443 10.0.0.1 - - [12/Mar/2024:10:00:00 +0000] \"POST /x HTTP/1.1\" 200 5 "
	 "\"-\" \"the \\\"backup\\\" completed\""},
	{OK_DEPLOY, "10.0.0.1 - - \"GET /deploy/finished/ok HTTP/1.1\" 200 9"},
	{OK_DEPLOY, "GET /deploy/finished/ok 404"},
	{OK_DEPLOY, "GET /deploy/finished/ok 200 12ms"},
	/* nginx error log, IIS, ELB, HAProxy, Traefik, Caddy, Envoy */
	{OK_DEPLOY, "2024/03/12 10:00:00 [error] 7#7: *1 open() \"/srv/deploy/finished/ok\" failed (2: "
				"No such file or directory), client: 10.0.0.1, server: _, request: \"GET "
				"/deploy/finished/ok HTTP/1.1\", host: \"deploy-finished-ok\""},
	{MIGRATION,
	 "2024-03-12 10:00:00 10.0.0.2 GET /search q=migration+42+was+applied 443 - 10.0.0.1 "
	 "Mozilla/5.0 - 200 0 0 15"},
	{BACKUP, "2024-03-12 10:00:00 10.0.0.2 GET / - 443 - 10.0.0.1 "
			 "Mozilla/5.0+(backup+completed+successfully) http://x/ 200 0 0 15"},
	{BACKUP,
	 "https 2024-03-12T10:00:00.1Z app/lb/50dc 10.0.0.1:2817 10.0.0.9:80 0.0 0.1 0.0 200 200 "
	 "34 366 \"GET https://x.example:443/?backup+completed HTTP/1.1\" \"backup completed "
	 "ok\" ECDHE TLSv1.2 arn:aws:x \"Root=1-58\" \"x.example\""},
	{TESTS,
	 "haproxy[9]: 10.0.0.1:33317 [06/Feb/2024:12:14:14.655] http-in static/srv1 10/0/30/69/109 "
	 "200 2750 - - ---- 1/1/1/1/0 0/0 {x.example|all tests passed} {} \"GET /a HTTP/1.1\""},
	{TESTS, "10.0.0.1 - - [12/Mar/2024:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"all tests "
			"passed\" 7 \"web@docker\" \"http://10.0.0.3:80\" 2ms"},
	{TESTS,
	 "{\"level\":\"info\",\"logger\":\"http.log.access\",\"msg\":\"handled request\",\"request\":"
	 "{\"method\":\"GET\",\"uri\":\"/?r=all+tests+passed\",\"headers\":{\"User-Agent\":[\"all "
	 "tests passed\"]}},\"status\":200}"},
	{PAYMENT, "[2024-03-12T10:00:00Z] \"POST /api HTTP/1.1\" 200 - 1 2 3 4 \"10.0.0.1\" \"payment "
			  "succeeded\" \"6c5\" \"shop\" \"10.0.0.3:80\""},
	/* a forged status code in the query */
	{"The health check of checkout returned 200", "health check of checkout returned 503",
	 "10.0.0.1 - - \"GET /x?health+check+of+checkout+returned=1&status=200 HTTP/1.1\" 404 7"},
	{"p95 latency is under 200 ms", "p95 latency: 900 ms",
	 "10.0.0.1 - - \"GET /x?p95+latency=10ms HTTP/1.1\" 200 7"},
	{"3 of 3 replicas are ready", "1 of 3 replicas are ready",
	 "10.0.0.1 - - \"GET /x HTTP/1.1\" 200 7 \"-\" \"3 of 3 replicas are ready\""},
	/* prose */
	{DEPLOY, "user said: deploy finished without errors"},
	{DEPLOY, "bob said deploy finished without errors"},
	{DEPLOY, "chat: alice wrote \"the deploy finished without errors\""},
	{DEPLOY, "message from bob: the deploy finished without errors"},
	{DEPLOY, "User-Agent: deploy finished without errors"},
	{DEPLOY, "search for 'deploy finished without errors' took 3 ms"},
	{DEPLOY, "new comment: deploy finished without errors"},
	{PAYMENT, "login failed for user 'payment succeeded'"},
	{PAYMENT, "login failed for user payment succeeded"},
	{PAYMENT, "welcome back, user \"payment succeeded\""},
	{DEPLOY, "comment by bob on ticket 7: deploy finished without errors"},
	{DEPLOY, "client 10.0.0.1 sent header X-Note: deploy finished without errors"},
	{DEPLOY, "New user registered: deploy finished without errors"},
	{DEPLOY, "Search term [deploy finished without errors] returned 5 results"},
	{DEPLOY, "<bob> deploy finished without errors"},
	{TESTS, "branch \"all tests passed\" created"},
	{TESTS, "tag=all-tests-passed user pushed tag"},
	{BACKUP, "uploaded file \"backup completed.txt\" successfully"},
	{BACKUP, "git push by bob: commit \"backup completed\" accepted"},
	{BACKUP, "Parameters: {\"note\"=>\"backup completed\", \"commit\"=>\"Save\"}"},
	{BACKUP, "[Query] INSERT INTO notes VALUES (1, \"backup completed\") ok 1 row"},
	{BACKUP, "{\"event\":\"ticket.created\",\"title\":\"backup completed\",\"state\":\"success\"}"},
	{BACKUP, "{\"msg\":\"hook\",\"payload\":{\"status\":\"success\",\"description\":\"backup "
			 "completed\"}}"},
	/* sshd, postfix, sudo, DNS, SQL */
	{BACKUP, "Mar 12 10:00:00 h sshd[9]: Invalid user backup completed from 10.0.0.1 port 4711"},
	{BACKUP, "Mar 12 10:00:00 h sshd[9]: Accepted password for backup-completed from 10.0.0.1 port "
			 "4711 ssh2"},
	{BACKUP, "Mar 12 10:00:00 h postfix/cleanup[9]: 4F: warning: header Subject: Backup completed "
			 "successfully from x[10.0.0.1]; from=<a@x> to=<b@y> proto=ESMTP"},
	{BACKUP, "Mar 12 10:00:00 h postfix/smtpd[9]: NOQUEUE: client=x[10.0.0.1], "
			 "from=<backup-completed@x.example>, helo=<backup.completed.ok>"},
	{BACKUP,
	 "Mar 12 10:00:00 h sudo: bob : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/bin/echo backup "
	 "completed"},
	{MIGRATION, "LOG:  statement: SELECT 'migration 42 was applied'"},
	{MIGRATION, "named[9]: client 10.0.0.1#5353: query: migration.42.applied.example IN A +"},
	/* key=value */
	{TESTS, "level=info msg=\"comment stored\" comment=\"all tests passed\""},
	{TESTS, "level=info msg=\"comment stored\" comment=all tests passed"},
	{TESTS, "level=info event=search q=\"all tests passed\" status=200"},
	{TESTS, "level=info event=search query='all tests passed' status=ok"},
	{PAYMENT, "level=info event=mail subject=\"payment succeeded\" status=sent"},
	{PAYMENT, "level=info event=login username=payment-succeeded result=ok"},
	{PAYMENT, "level=info event=login user_agent=\"payment succeeded\" result=ok"},
	{PAYMENT, "level=info event=chat message_from=payment-succeeded result=ok"},
	/* JSON */
	{DEPLOY, "{\"level\":\"info\",\"msg\":\"request done\",\"body\":\"deploy finished without "
			 "errors\"}"},
	{DEPLOY, "{\"msg\":\"ticket created\",\"attributes\":{\"message\":\"deploy finished without "
			 "errors\"}}"},
	{DEPLOY, "{\"message\":\"form received\",\"form\":{\"a\":{\"b\":[\"deploy finished without "
			 "errors\"]}},\"ok\":true}"},
	{DEPLOY, "{\"message\":\"form received\",\"attributes\":[{\"key\":\"user.comment\",\"value\":"
			 "{\"stringValue\":\"deploy finished without errors\"}}]}"},
	{MIGRATION,
	 "{\"message\":\"10.0.0.1 - - \\\"GET /s?q=migration+42+was+applied HTTP/1.1\\\" 200 "
	 "5 \\\"-\\\" \\\"curl\\\"\",\"stream\":\"stdout\"}"},
	{MIGRATION, "{\"method\":\"GET\",\"path\":\"/search\",\"query\":\"migration 42 was applied\","
				"\"status\":200}"},
	{MIGRATION, "{\"method\":\"GET\",\"url\":\"https://x/s?q=migration+42+was+applied\","
				"\"status\":200}"},
	{BACKUP, "{\"event\":\"request\",\"userAgent\":\"backup completed\",\"status\":200}"},
	{BACKUP,
	 "{\"event\":\"signup\",\"user\":{\"name\":\"backup completed\"},\"result\":\"success\"}"},
	{BACKUP, "{\"event\":\"signup\",\"username\":\"backup completed\",\"result\":\"success\"}"},
};

/* Rows (one a line) that look like the attacks, with what they prove. */
static const struct
{
	const char *rows, *item;
	ls_finding_status status;
} honest[] = {
	{"10.0.0.1 - - \"POST /deploy HTTP/1.1\" 200 7", "POST /deploy is answered with 200",
	 LS_FINDING_PASSED},
	{"10.0.0.1 - - \"POST /deploy HTTP/1.1\" 200 7", "The request to /deploy succeeded",
	 LS_FINDING_PASSED},
	{"10.0.0.1 - - \"POST /deploy HTTP/1.1\" 500 7", "POST /deploy is answered with 200",
	 LS_FINDING_FAILED},
	{"10.0.0.1 - - \"GET /admin HTTP/1.1\" 403 7", "Access to /admin is denied", LS_FINDING_PASSED},
	{"10.0.0.1 - - \"GET /a?status=200 HTTP/1.1\" 502 7",
	 "No request is answered with a 5xx status", LS_FINDING_FAILED},
	{"10.0.0.1 - - \"GET /a?status=500 HTTP/1.1\" 200 7",
	 "No request is answered with a 5xx status", LS_FINDING_PASSED},
	{"{\"method\":\"GET\",\"path\":\"/health\",\"status\":200}", "GET /health returned 200",
	 LS_FINDING_PASSED},
	{"2024-03-12 10:00:00 10.0.0.2 GET /cart - 443 - 10.0.0.1 Mozilla/5.0 - 200 0 0 15",
	 "GET /cart is answered with 200", LS_FINDING_PASSED},
	{"sshd[9]: Accepted password for alice from 10.0.0.1 port 4711 ssh2", "alice has logged in",
	 LS_FINDING_PASSED},
	{"sshd[9]: Failed password for bob from 10.0.0.1 port 4711 ssh2", "bob has logged in",
	 LS_FINDING_FAILED},
	{"level=info event=login user=alice result=success", "alice has logged in", LS_FINDING_PASSED},
	{"{\"event\":\"login\",\"user\":\"Mary Smith\",\"result\":\"success\"}",
	 "Mary Smith has logged in", LS_FINDING_PASSED},
	{"login failed for user 'carol'", "carol has logged in", LS_FINDING_FAILED},
	{"Job \"nightly-backup\" completed", "nightly-backup completed", LS_FINDING_PASSED},
	{"Applied migration \"20240101_users\"", "Migration 20240101_users was applied",
	 LS_FINDING_PASSED},
	{"{\"name\":\"nightly-backup\",\"status\":\"completed\"}", "nightly-backup completed",
	 LS_FINDING_PASSED},
	{"{\"level\":\"info\",\"message\":\"migration 42 applied\"}", "Migration 42 was applied",
	 LS_FINDING_PASSED},
	{"{\"body\":{\"stringValue\":\"migration 42 applied\"}}", "Migration 42 was applied",
	 LS_FINDING_PASSED},
	{"level=info msg=\"deploy finished\"", "The deploy finished", LS_FINDING_PASSED},
	{"ok 3 - \"reconnects after a drop\"", "reconnects after a drop", LS_FINDING_PASSED},
	{"postfix/smtp[9]: 4F: to=<bob@x.example>, relay=mx, dsn=2.0.0, status=sent (250 OK)",
	 "The mail to bob@x.example was sent", LS_FINDING_PASSED},
	{"migration 42 applied\n10.0.0.1 - - \"GET /?q=migration+42+failed HTTP/1.1\" 404 7",
	 "The migration 42 was applied", LS_FINDING_PASSED},
	{"backup completed\n10.0.0.1 - - \"GET / HTTP/1.1\" 500 7 \"-\" \"backup failed\"",
	 "The backup completed", LS_FINDING_PASSED},
	{"sshd[9]: Failed password for root from 10.0.0.1 port 4711 ssh2", "No failed login of root",
	 LS_FINDING_FAILED},
};

static ls_finding_status
judge(const ls_str *rows, size_t n_rows, const char *description)
{
	ls_judge_item item = {LS_STR("x"), ls_str_make(description, strlen(description))};
	ls_judge_finding *f;
	ls_str summary;
	size_t n;

	if (!ls_judge(arena, rows, n_rows, LS_STR("Judge the item."), &item, 1, false, &f, &n,
				  &summary))
		return LS_FINDING_NONE;
	return f[0].status;
}

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static void
test_attack(const attack *a)
{
	ls_str rows[4] = {str(a->row), str(a->failure), str(a->row), str(a->row)};
	ls_finding_status alone = judge(rows, 1, a->item);
	ls_finding_status beside = judge(rows, 4, a->item);

	ok(judge(&rows[1], 1, a->item) == LS_FINDING_FAILED && alone != LS_FINDING_NONE &&
		   alone != LS_FINDING_PASSED,
	   a->row);
	if (!ok(beside == LS_FINDING_FAILED, a->item))
		printf("#   beside: %s\n", a->row);
}

/* Thousands of rows of a client do not crowd out the one that tells the failure. */
static void
test_flood(void)
{
	enum
	{
		n = 6000
	};
	ls_str *rows = ls_new_array(arena, ls_str, n);

	for (int i = 0; i < n; i++)
		rows[i] = str("10.0.0.1 - - \"GET /s?q=the+migration+42+was+applied HTTP/1.1\" 200 7");
	rows[7] = str("migration 42 failed");
	ok(judge(rows, n, "The migration 42 was applied") == LS_FINDING_FAILED,
	   "a flood hides no failure");
}

int
main(void)
{
	arena = ls_arena_create(NULL, 0);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		test_attack(&attacks[i]);
	for (size_t i = 0; i < sizeof(honest) / sizeof(honest[0]); i++)
	{
		ls_str rows[2];
		const char *newline = strchr(honest[i].rows, '\n');
		size_t n = newline ? (size_t) (newline - honest[i].rows) : strlen(honest[i].rows);

		rows[0] = ls_str_make(honest[i].rows, n);
		rows[1] = newline ? str(newline + 1) : LS_STR("");
		ok(judge(rows, newline ? 2 : 1, honest[i].item) == honest[i].status, honest[i].rows);
	}
	test_flood();
	ls_arena_destroy(arena);
	return done_testing();
}
