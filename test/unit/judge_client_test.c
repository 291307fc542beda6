/*
 * judge_client_test.c: text that a client chose is no evidence for the built-in evaluator.
 *
 * Each attack is judged twice.  Alone it must not pass: the verdict abstains, or fails where the
 * row tells a failure itself.  Beside a row of the failure, before and after it, it must fail.
 * The honest rows below them look alike and must be judged as before.
 */
#include <time.h>

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
#define DEPLOYED "The deploy finished", "deploy failed: exit code 1"
#define MIGRATED "The migration completed", "migration failed: lock timeout"
#define NO_ERRORS "No errors occurred and the migration completed", "migration failed: lock timeout"

static const attack attacks[] = {
	/* signs before a user's name, in a path, in a quotation; a dotted name in a sentence */
	{DEPLOYED, "10.0.0.1 - -the deploy finished [12/Mar/2024:10:00:00 +0000] \"GET /a HTTP/1.1\" "
			   "200 5 \"-\" \"curl/8\""},
	{DEPLOYED, "10.0.0.1 - {}-deploy-finished [12/Mar/2024:10:00:00 +0000] \"GET /a HTTP/1.1\" "
			   "200 5 \"-\" \"curl/8\""},
	{DEPLOYED, "10.0.0.1 - <the-deploy-finished [12/Mar/2024:10:00:00 +0000] \"GET /a HTTP/1.1\" "
			   "200 5 \"-\" \"curl/8\""},
	{DEPLOYED, "10.0.0.1 - (the deploy finished [12/Mar/2024:10:00:00 +0000] \"GET /a HTTP/1.1\" "
			   "200 5 \"-\" \"curl/8\""},
	{DEPLOYED, "10.0.0.1 - [the deploy finished [12/Mar/2024:10:00:00 +0000] \"GET /a HTTP/1.1\" "
			   "200 5 \"-\" \"curl/8\""},
	{DEPLOYED, "10.0.0.1 - \"GET /a b\" the deploy finished [12/Mar/2024:10:00:00 +0000] \"GET /a "
			   "HTTP/1.1\" 200 5 \"-\" \"curl/8\""},
	{DEPLOYED, "10.0.0.1 - x \"GET /a b\" [1] the deploy finished [12/Mar/2024:10:00:00 +0000] "
			   "\"GET /a HTTP/1.1\" 200 5 \"-\" \"curl/8\""},
	{DEPLOYED, "GET /deploy%20finished 200 3.1 ms - 12"},
	{DEPLOYED, "GET /deploy 200 3.1 ms - 12"},
	{DEPLOYED, "{\"level\":\"info\",\"msg\":\"GET /deploy%20finished\",\"status\":200}"},
	{"test_login passed", "FAILED test_login", "GET /test_login%20PASSED 200 3.1 ms - 12"},
	{DEPLOYED, "{'event': 'rename', 'new': 'x} deploy finished {'}"},
	{"nginx.service is running", "nginx.service: Failed with result 'exit-code'",
	 "{\"msg\":\"signup\",\"name\":\"nginx.service running\"}"},
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
	/* a value without quotes, up to the next key */
	{DEPLOYED, "level=info msg=signup name=the deploy finished"},
	{DEPLOYED, "level=info name=the deploy finished user_id=7"},
	{MIGRATED, "user=migration completed successfully level=info"},
	{DEPLOYED, "ts=1 level=info event=rename old=a new=the deploy finished"},
	{MIGRATED, "event=profile_saved display=the migration completed plan=free status=ok"},
	{BACKUP, "company=Backup completed Ltd country=DE result=ok"},
	{TESTS, "level=info city=all tests passed ok=true"},
	{PAYMENT, "forum=payment succeeded subscribers=4"},
	{MIGRATION, "level=info event=order.created address=migration 42 was applied zip=1 status=ok"},
	{DEPLOYED, "project=the deploy finished ok owner=7"},
	{DEPLOYED, "msg=login device=the deploy finished os=linux"},
	{DEPLOYED, "msg=login device=x msg=the deploy finished level=info"},
	{NO_ERRORS, "level=info name=no errors and the migration completed plan=free"},
	/* a quoted value of any key */
	{DEPLOYED, "level=info msg=\"profile saved\" motto=\"the deploy finished\""},
	{BACKUP, "event=upload original=\"backup completed\" status=200"},
	{MIGRATED, "level=info action=rename target=\"migration completed\" result=success"},
	{DEPLOYED, "level=warn msg=\"refused\" reason=\"the deploy finished\""},
	{MIGRATED, "event=ticket description=\"the migration completed\" status=open"},
	{TESTS, "event=feedback rating=5 content=\"all tests passed\" result=ok"},
	{DEPLOYED, "http.request.header.x_note=\"the deploy finished\" http.status_code=200"},
	{PAYMENT, "enduser.id=\"payment succeeded\" http.status_code=200"},
	{DEPLOYED, "event=vote option='the deploy finished' result=ok"},
	/* names of OpenTelemetry */
	{DEPLOYED, "{\"http.method\":\"GET\",\"user_agent.original\":\"the deploy "
			   "finished\",\"http.status_code\":200}"},
	{MIGRATED, "{\"name\":\"GET /\",\"attributes\":{\"http.user_agent\":\"migration "
			   "completed\",\"http.route\":\"/\"}}"},
	{BACKUP, "{\"url.query\":\"q=backup completed\",\"http.response.status_code\":200}"},
	{DEPLOYED, "{\"http.request.header.x-note\":[\"the deploy "
			   "finished\"],\"http.response.status_code\":200}"},
	{PAYMENT, "{\"attributes\":{\"enduser.id\":\"payment "
			  "succeeded\",\"enduser.scope\":\"all\"},\"status\":{\"code\":\"OK\"}}"},
	{DEPLOYED, "{\"body\":\"request\",\"attributes\":[{\"key\":\"http.request.header.x-title\","
			   "\"value\":{\"stringValue\":\"the deploy finished\"}}]}"},
	{MIGRATED,
	 "{\"body\":\"sent\",\"attributes\":{\"messaging.destination.name\":\"migration completed\"}}"},
	{DEPLOYED, "{\"attributes\":{\"rpc.request.metadata.hint\":\"the deploy "
			   "finished\"},\"severityText\":\"INFO\"}"},
	{DEPLOYED, "{\"body\":\"accepted\",\"attributes\":{\"client.address\":\"the-deploy-finished."
			   "example.com\"}}"},
	{MIGRATED,
	 "{\"attributes\":{\"db.query.text\":\"SELECT 'migration completed'\"},\"status\":\"Ok\"}"},
	{DEPLOYED,
	 "{\"attributes\":{\"graphql.document\":\"query { the deploy finished }\"},\"status\":\"Ok\"}"},
	/* fields of JSON */
	{DEPLOYED, "{\"event\":\"webhook\",\"payload\":\"the deploy finished\"}"},
	{DEPLOYED, "{\"msg\":\"request\",\"body\":{\"phrase\":\"the deploy finished\"}}"},
	{PAYMENT, "{\"event\":\"order\",\"reason\":\"payment succeeded\"}"},
	{TESTS, "{\"event\":\"review\",\"text\":\"all tests passed\",\"stars\":5}"},
	{MIGRATED,
	 "{\"event\":\"mail\",\"subject\":\"The migration completed\",\"to\":\"a@b.example\"}"},
	{DEPLOYED, "{\"event\":\"issue.opened\",\"title\":\"the deploy finished\"}"},
	{BACKUP, "{\"event\":\"upload\",\"filename\":\"backup completed.txt\",\"size\":3}"},
	{MIGRATED, "{\"event\":\"search\",\"query\":\"migration completed\",\"hits\":0}"},
	{DEPLOYED, "{\"event\":\"request\",\"headers\":{\"host\":\"the-deploy-finished.example.com\"},"
			   "\"status\":200}"},
	{TESTS, "{\"event\":\"form\",\"input\":\"all tests passed\",\"valid\":true}"},
	{DEPLOYED, "{\"event\":\"posted\",\"content\":\"the deploy finished\",\"id\":3}"},
	{BACKUP, "{\"event\":\"item\",\"description\":\"backup completed\",\"price\":3}"},
	{DEPLOYED, "{\"event\":\"tagged\",\"label\":\"the deploy finished\"}"},
	{DEPLOYED, "{\"event\":\"tagged\",\"tag\":\"deploy-finished\",\"status\":\"ok\"}"},
	{DEPLOYED, "{\"level\":\"info\",\"msg\":\"profile saved\",\"motto\":\"the deploy finished\"}"},
	{PAYMENT,
	 "{\"level\":\"info\",\"msg\":\"order placed\",\"gift_message\":\"payment succeeded\"}"},
	{DEPLOYED, "{\"type\":\"chat\",\"room\":\"general\",\"line\":\"the deploy finished\"}"},
	{MIGRATED,
	 "{\"event\":\"signup\",\"company\":\"Migration Completed Inc\",\"status\":\"success\"}"},
	{DEPLOYED, "{\"event\":\"graphql\",\"variables\":{\"x\":{\"y\":[\"the deploy finished\"]}}}"},
	{TESTS, "{\"event\":\"device\",\"model\":\"all tests passed\",\"os\":\"ok\"}"},
	{NO_ERRORS,
	 "{\"event\":\"device\",\"model\":\"no errors, migration completed\",\"os\":\"ok\"}"},
	/* chat */
	{DEPLOYED, "<bob> the deploy finished"},
	{DEPLOYED, "[10:00:03] <bob> the deploy finished"},
	{MIGRATED, "2024-03-12T10:00:00Z <alice> migration completed"},
	{DEPLOYED, "[#general] bob: the deploy finished"},
	{DEPLOYED, "#general bob: the deploy finished"},
	{DEPLOYED, "irc: PRIVMSG #ops :the deploy finished"},
	/* what a server refuses or repeats */
	{DEPLOYED, "Unknown command: deploy finished"},
	{DEPLOYED, "unknown option deploy finished"},
	{MIGRATED, "no such user migration completed"},
	{DEPLOYED, "invalid input \"the deploy finished\""},
	{DEPLOYED, "invalid input the deploy finished"},
	{DEPLOYED, "rejected message: the deploy finished"},
	{MIGRATED, "Received: migration completed"},
	{DEPLOYED, "got: the deploy finished"},
	{BACKUP, "echo: backup completed"},
	{BACKUP, "Echo: backup completed"},
	{DEPLOYED, "2024-03-12 10:00:00 INFO server - Received: the deploy finished"},
	{TESTS, "unrecognized argument: all tests passed"},
	{MIGRATED, "unsupported media type the migration completed"},
	{DEPLOYED, "could not parse \"the deploy finished\""},
	{MIGRATED, "malformed header: migration completed"},
	{DEPLOYED, "Unexpected token in the deploy finished"},
	{DEPLOYED, "received line 'the deploy finished' of 10.0.0.1"},
	{TESTS, "ignoring unknown field all tests passed"},
	{DEPLOYED, "WARN bad request: the deploy finished"},
	{MIGRATED, "undefined variable migration completed"},
	/* comments */
	{DEPLOYED, "7 Query SELECT 1 /* the deploy finished */"},
	{MIGRATED, "SELECT 1 -- the migration completed"},
	{MIGRATED, "slow query: SELECT * FROM t /* migration completed */"},
	{TESTS, "UPDATE users SET x = 1 /* all tests passed */ WHERE id = 3"},
	{DEPLOYED, "<!-- the deploy finished -->"},
	/* hosts, files, mailboxes */
	{DEPLOYED, "connection from the-deploy-finished.example.com accepted"},
	{MIGRATED, "client the-migration-completed.example.com connected"},
	{DEPLOYED, "reverse lookup of 10.0.0.1: the.deploy.finished.example.com"},
	{DEPLOYED, "serving /srv/www/the-deploy-finished.html"},
	{MIGRATED, "stored /var/uploads/the migration completed.txt"},
	{DEPLOYED, "mail of the-deploy-finished@example.com accepted"},
	{BACKUP, "received file backup-completed.txt (3 bytes)"},
	{DEPLOYED, "From: \"The deploy finished\" <bob@example.com>"},
	{DEPLOYED, "upstream deploy-finished.example.org is up"},
	/* in brackets */
	{DEPLOYED, "ticket 7 renamed to [the deploy finished]"},
	{MIGRATED, "label [migration completed] added to ticket 7"},
	{TESTS, "room [all tests passed] created"},
	/* more of all kinds */
	{DEPLOYED, "level=info evt=vote choice=x the deploy finished lang=en"},
	{DEPLOYED, "{\"kind\":\"survey\",\"answers\":[\"the deploy finished\",\"yes\"]}"},
	{MIGRATED, "{\"msg\":\"webhook received\",\"payload\":\"{\\\"message\\\":\\\"migration "
			   "completed\\\"}\"}"},
	{MIGRATED, "{\"http.request.body\":\"migration completed\"}"},
	{MIGRATED, "{\"http.request.body.content\":\"migration completed\",\"http.status_code\":200}"},
	{DEPLOYED, "{\"messaging.message.body\":\"the deploy finished\"}"},
	{DEPLOYED, "{\"messaging.message.conversation_id\":\"the deploy finished\"}"},
	{DEPLOYED, "{\"url.full\":\"https://example.com/the-deploy-finished\"}"},
	{DEPLOYED, "{\"server.address\":\"the-deploy-finished.example.com\"}"},
	{DEPLOYED, "Unrecognised request the deploy finished"},
	{DEPLOYED, "recv: the deploy finished"},
	{DEPLOYED, "Unknown option: --the-deploy-finished"},
	{DEPLOYED, "select * from t where a = 'the deploy finished'"},
	{DEPLOYED, "select 1 -- the deploy finished"},
	{DEPLOYED, "TLS handshake with the-deploy-finished.example.com succeeded"},
	{DEPLOYED, "resolved the-deploy-finished.example.com to 10.0.0.1"},
	{DEPLOYED, "RCPT TO:<the-deploy-finished@example.com> ok"},
	{DEPLOYED, "uploaded the-deploy-finished.pdf"},
	{DEPLOYED, "form field name: the deploy finished"},
	{DEPLOYED, "title: the deploy finished"},
	{DEPLOYED, "note: the deploy finished"},
	{DEPLOYED, "name: the deploy finished"},
	{DEPLOYED, "reason: the deploy finished"},
	{DEPLOYED, "text: the deploy finished"},
	{DEPLOYED, "payload: the deploy finished"},
	{DEPLOYED, "body: the deploy finished"},
	{DEPLOYED, "host: the-deploy-finished.example.com"},
	{DEPLOYED, "Host: the deploy finished"},
	{DEPLOYED, "level=info q='deploy finished"},
	/* an action by its name, names of programs, a body that is logged as it came */
	{MIGRATED, "{\"event\":\"webhook\",\"payload\":{\"status\":\"migration completed\"}}"},
	{MIGRATED, "{\"event\":\"webhook\",\"body\":{\"migration\":\"completed\"}}"},
	{"api was deployed", "api was not deployed: image not found",
	 "{\"event\":\"rename\",\"motto\":\"deploy api\"}"},
	{"api was deployed", "api was not deployed: image not found",
	 "{\"event\":\"rename\",\"motto\":\"api deploy\"}"},
	{"api was deployed", "api was not deployed: image not found",
	 "event=rename motto=\"deploy api\" status=ok"},
	{"The image was built", "image build failed",
	 "{\"event\":\"rename\",\"motto\":\"image build\"}"},
	{"The image was built", "image build failed",
	 "{\"event\":\"rename\",\"motto\":\"build image\",\"status\":\"ok\"}"},
	{"The server started", "server failed to start",
	 "{\"event\":\"rename\",\"motto\":\"server start\"}"},
	{"The server started", "server failed to start",
	 "{\"event\":\"rename\",\"motto\":\"server startup\",\"status\":\"ok\"}"},
	{"The mail was sent", "mail bounced: no such mailbox",
	 "{\"event\":\"rename\",\"motto\":\"mail send\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"a\\\"b\":\"the deploy finished\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"a\":\"x\\\\\",\"motto\":\"the deploy finished\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"motto\":\"x\\\",\\\"msg\\\":\\\"the deploy finished\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"motto\":\"x\\\\\\\",\\\\\\\"msg\\\\\\\":\\\\\\\"the deploy "
			   "finished\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"motto\":\"status=finished the deploy\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"motto\":\"msg=the deploy finished\"}"},
	{DEPLOYED, "level=info motto=\"msg=\\\"the deploy finished\\\"\""},
	{DEPLOYED, "level=info motto=\"x\\\" msg=\\\"the deploy finished\""},
	{DEPLOYED, "level=info motto=\"status: the deploy finished\""},
	{DEPLOYED, "{\"event\":\"rename\",\"motto\":\"{\\\"msg\\\":\\\"the deploy finished\\\"}\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"motto\":\"{\\\"status\\\":\\\"the deploy finished\\\"}\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"motto\":\"deploy: done\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"motto\":\"DeployFinished\"}"},
	{DEPLOYED, "{\"event\":\"rename\",\"motto\":\"deployFinished\"}"},
	{DEPLOYED, "event=rename motto=DeployFinished status=ok"},
	{DEPLOYED, "motto=DEPLOY_FINISHED"},
	{"p95 latency is under 200 ms", "p95 latency: 900 ms",
	 "{\"event\":\"rename\",\"motto\":\"p95=10ms\"}"},
	{DEPLOYED, "unknown user \"x\" and the deploy finished"},
	/* signs that begin or end nothing */
	{DEPLOYED, "event=rename alias=the deploy finished\" plan=free"},
	{DEPLOYED, "event=rename alias=the {deploy finished plan=free status=ok"},
	{DEPLOYED, "event=rename alias=the deploy finished\xc2\xab plan=free"},
	{DEPLOYED, "event=rename alias==the deploy finished plan=free"},
	{DEPLOYED, "user \xe2\x80\x9cit\xe2\x80\x99s me, the deploy finished\xe2\x80\x9d joined"},
	{DEPLOYED, "event=rename alias=(the deploy finished) plan=free"},
	{DEPLOYED, "event=rename alias='no e\xe2\x80\x9crrors: the deploy finished plan=free"},
	{DEPLOYED, "{\"event\":\"rename\",\"labels\":{\"the deploy finished\":true}}"},
	{DEPLOYED, "[info] <bob> the deploy finished"},
	/* numbers */
	{"p95 latency is under 200 ms", "p95 latency: 900 ms",
	 "{\"event\":\"rename\",\"alias\":\"p95 latency 10 ms\"}"},
	{"3 of 3 replicas are ready", "1 of 3 replicas are ready",
	 "display=3 of 3 replicas are ready plan=free"},
	{"The health check of checkout returned 200", "health check of checkout returned 503",
	 "{\"event\":\"rename\",\"alias\":\"health check of checkout returned 200\"}"},
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
	/* what programs tell of themselves */
	{"job=nightly-backup status=ok", "The nightly-backup job succeeded", LS_FINDING_PASSED},
	{"{\"job\":\"nightly-backup\",\"status\":\"completed\"}", "nightly-backup completed",
	 LS_FINDING_PASSED},
	{"step=migrate state=done", "The migrate step is done", LS_FINDING_PASSED},
	{"service=api state=ready", "api is ready", LS_FINDING_PASSED},
	{"{\"service\":\"api\",\"health\":\"UP\"}", "api is up", LS_FINDING_PASSED},
	{"deploy=api result=success", "The deploy of api succeeded", LS_FINDING_PASSED},
	{"pod=migrate-1 phase=Succeeded", "migrate-1 succeeded", LS_FINDING_PASSED},
	{"pod=migrate-1 reason=Completed", "migrate-1 completed", LS_FINDING_PASSED},
	{"service=api ready=true", "api is ready", LS_FINDING_PASSED},
	{"{\"db\":\"UP\",\"mail\":\"UP\"}", "mail is up", LS_FINDING_PASSED},
	{"name=nightly-backup status=ok", "nightly-backup succeeded", LS_FINDING_PASSED},
	{"task=\"apply migration 42\" status=ok", "The task apply migration 42 succeeded",
	 LS_FINDING_PASSED},
	{"migration: completed", "The migration completed", LS_FINDING_PASSED},
	{"backup: finished in 3 s", "The backup finished", LS_FINDING_PASSED},
	{"deployer: the deploy finished", "The deploy finished", LS_FINDING_PASSED},
	{"level=info msg=deploy finished", "The deploy finished", LS_FINDING_PASSED},
	{"level=info msg=migration 42 applied duration=3s", "The migration 42 was applied",
	 LS_FINDING_PASSED},
	{"time=10:00:01 level=info msg=\"backup completed\" size=\"48 GB\"", "The backup completed",
	 LS_FINDING_PASSED},
	{"{\"level\":\"info\",\"event\":\"deploy finished\",\"service\":\"api\"}",
	 "The deploy finished", LS_FINDING_PASSED},
	{"{\"event\":\"deploy_finished\",\"service\":\"api\"}", "The deploy finished",
	 LS_FINDING_PASSED},
	{"{\"event\":\"backup.completed\",\"id\":7}", "The backup completed", LS_FINDING_PASSED},
	{"event=backup.completed id=7", "The backup completed", LS_FINDING_PASSED},
	{"{\"message\":\"migration completed\",\"logger\":\"db\"}", "The migration completed",
	 LS_FINDING_PASSED},
	{"{\"log\":\"all tests passed\\n\",\"stream\":\"stdout\"}", "All tests passed",
	 LS_FINDING_PASSED},
	{"{\"textPayload\":\"migration completed\",\"severity\":\"INFO\"}", "The migration completed",
	 LS_FINDING_PASSED},
	{"{\"short_message\":\"the deploy finished\",\"level\":6}", "The deploy finished",
	 LS_FINDING_PASSED},
	{"{\"MESSAGE\":\"backup completed\",\"_SYSTEMD_UNIT\":\"backup.service\"}",
	 "The backup completed", LS_FINDING_PASSED},
	{"{\"jsonPayload\":{\"message\":\"migration completed\"}}", "The migration completed",
	 LS_FINDING_PASSED},
	{"{\"body\":{\"stringValue\":\"the deploy finished\"}}", "The deploy finished",
	 LS_FINDING_PASSED},
	{"{\"level\":\"INFO\",\"fields\":{\"message\":\"the deploy "
	 "finished\"},\"target\":\"deployer\"}",
	 "The deploy finished", LS_FINDING_PASSED},
	{"[deploy] finished", "The deploy finished", LS_FINDING_PASSED},
	{"[  OK  ] Started backup.service", "backup.service has started", LS_FINDING_PASSED},
	{"INFO [main] Deployer - the deploy finished", "The deploy finished", LS_FINDING_PASSED},
	{"<info>  [1700000000.1] the deploy finished", "The deploy finished", LS_FINDING_PASSED},
	{"<134>Mar 12 10:00:00 h deployer: the deploy finished", "The deploy finished",
	 LS_FINDING_PASSED},
	{"<0.123.0> the deploy finished", "The deploy finished", LS_FINDING_PASSED},
	{"Received 3 files, import completed", "The import completed", LS_FINDING_PASSED},
	{"db-1.example.com is ready", "db-1.example.com is ready", LS_FINDING_PASSED},
	{"mail to bob@x.example was delivered", "The mail to bob@x.example was delivered",
	 LS_FINDING_PASSED},
	{"deploy of api -- finished", "The deploy of api finished", LS_FINDING_PASSED},
	{"--- PASS: TestDeployFinishes (0.01s)", "TestDeployFinishes", LS_FINDING_PASSED},
	{"test \"the deploy finished\" ... ok", "the deploy finished", LS_FINDING_PASSED},
	{"{\"test\":\"the deploy finished\",\"status\":\"passed\"}", "the deploy finished",
	 LS_FINDING_PASSED},
	{"step \"migrate the database\" completed", "The step migrate the database completed",
	 LS_FINDING_PASSED},
	{"the deploy finished (3 of 3 pods ready)", "The deploy finished", LS_FINDING_PASSED},
	{"rollout done [3/3 pods ready]", "The rollout is done", LS_FINDING_PASSED},
	{"the migration \"20240101_users\" completed", "The migration 20240101_users completed",
	 LS_FINDING_PASSED},
	{"{\"metric\":\"p95 latency\",\"value\":\"12 ms\"}", "p95 latency is under 200 ms",
	 LS_FINDING_PASSED},
	{"cleaned up unused files; the backup completed", "The backup completed", LS_FINDING_PASSED},
	{"order 1001 shipped from warehouse.example.com", "Order 1001 was shipped", LS_FINDING_PASSED},
	{"pushed image reg.example.com/team/api:1.2", "The image was pushed", LS_FINDING_PASSED},
	{"{\"job\":\"backup\",\"state\":\"SUCCESS\"}", "backup succeeded", LS_FINDING_PASSED},
	{"{\"job\":\"backup\",\"state\":\"SUCCESS\",\"exit_code\":0}", "backup succeeded",
	 LS_FINDING_PASSED},
	{"{\"event\":\"deploy finished\",\"id\":7}", "The deploy finished", LS_FINDING_PASSED},
	{"saved /var/backups/db.sql, backup completed", "The backup completed", LS_FINDING_PASSED},
	{"{\"task\":\"migration 42\",\"result\":\"success\"}", "migration 42 succeeded",
	 LS_FINDING_PASSED},
	{"task=migration-42 result=success", "migration-42 succeeded", LS_FINDING_PASSED},
	{"name: nightly-backup, status: ok", "nightly-backup succeeded", LS_FINDING_PASSED},
	{"pod migrate-1 phase: Succeeded, reason: Completed", "migrate-1 succeeded", LS_FINDING_PASSED},
	{"host: db-1 status: healthy", "db-1 is healthy", LS_FINDING_PASSED},
	{"user=alice logged in", "alice has logged in", LS_FINDING_PASSED},
	{"user=bob logged in from 10.0.0.1", "bob has logged in", LS_FINDING_PASSED},
	{"job=resize-1 attempt=2 ok", "resize-1 is ok", LS_FINDING_PASSED},
	{"order=501 shipped", "Order 501 was shipped", LS_FINDING_PASSED},
	{"service=api deploy finished took=3s", "The deploy finished", LS_FINDING_PASSED},
	{"thread=main the deploy finished", "The deploy finished", LS_FINDING_PASSED},
	{"device=d-17 rebooted", "d-17 was rebooted", LS_FINDING_PASSED},
	{"[2024-03-12 10:00:00] the deploy finished", "The deploy finished", LS_FINDING_PASSED},
	{"[INFO] [deployer] the deploy finished", "The deploy finished", LS_FINDING_PASSED},
	{"level=info msg=\"deploy finished\" reason=\"all checks passed\"", "The deploy finished",
	 LS_FINDING_PASSED},
	{"{\"msg\":\"deploy finished\",\"reason\":\"all checks passed\"}", "The deploy finished",
	 LS_FINDING_PASSED},
	{"received 3 unknown records; the import completed", "The import completed", LS_FINDING_PASSED},
	{"no invalid rows, import completed", "The import completed", LS_FINDING_PASSED},
	{"Body of request stored, deploy finished", "The deploy finished", LS_FINDING_PASSED},
	{"select finished: the export completed", "The export completed", LS_FINDING_PASSED},
	{"{\"service\":\"api\",\"image\":\"deploy api\",\"result\":\"success\"}", "api was deployed",
	 LS_FINDING_PASSED},
	{"{\"workflow\":\"deploy api\",\"status\":\"success\"}", "The deploy api workflow succeeded",
	 LS_FINDING_PASSED},
	{"{\"stepName\":\"build image\",\"status\":\"ok\"}", "build image succeeded",
	 LS_FINDING_PASSED},
	{"workflow=\"deploy api\" status=success", "deploy api succeeded", LS_FINDING_PASSED},
	{"{\"level\":\"info\",\"msg\":\"done\",\"task\":\"apply migration\"}",
	 "apply migration is done", LS_FINDING_PASSED},
	{"{\"level\":\"info\",\"msg\":\"deploy finished\",\"workflow\":\"deploy api\"}",
	 "The deploy finished", LS_FINDING_PASSED},
	{"{\"level\":\"info\",\"msg\":\"request done\",\"latency\":\"120 ms\"}",
	 "latency is under 200 ms", LS_FINDING_PASSED},
	{"{\"level\":\"info\",\"msg\":\"p95 latency 120 ms\"}", "p95 latency is under 200 ms",
	 LS_FINDING_PASSED},
	{"{\"pipeline\":\"build and test\",\"result\":\"SUCCESS\"}", "build and test succeeded",
	 LS_FINDING_PASSED},
};

static ls_str
str(const char *s)
{
	return ls_str_make(s, strlen(s));
}

static ls_judge_finding
finding_of(const ls_str *rows, size_t n_rows, const char *description)
{
	ls_expected_item item = {LS_STR("x"), ls_str_make(description, strlen(description))};
	ls_judge_finding *f;
	ls_str summary;
	size_t n;

	if (!ls_judge(arena, rows, n_rows, LS_STR("Judge the item."), &item, 1, false, &f, &n,
				  &summary))
		return (ls_judge_finding){0};
	return f[0];
}

static ls_finding_status
judge(const ls_str *rows, size_t n_rows, const char *description)
{
	return finding_of(rows, n_rows, description).status;
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

/* The explanation says why nothing was found; a row that is about something else is another reason. */
static void
test_reason(void)
{
	static const char why[] = "only text that a client may have chosen speaks of it";
	static const char *const rows[] = {
		"10.0.0.1 - - \"GET / HTTP/1.1\" 200 7 \"-\" \"the deploy finished\"",
		"{\"event\":\"posted\",\"content\":\"the deploy finished\"}",
		"event=signup name=the deploy finished plan=free",
		"unknown option deploy finished",
		"<bob> the deploy finished",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
	{
		ls_str row = str(rows[i]);
		ls_judge_finding f = finding_of(&row, 1, "The deploy finished");

		ok(f.status == LS_FINDING_NOT_FOUND &&
			   strstr(ls_arena_strdup(arena, f.explanation).data, why) != NULL,
		   "the reason is said");
	}
	ok(strstr(
		   ls_arena_strdup(
			   arena, finding_of(&(ls_str){"cache warm", 10}, 1, "The deploy finished").explanation)
			   .data,
		   why) == NULL,
	   "and not of any row");
}

/* Thousands of rows of a client do not crowd out the one that tells the failure. */
static void
test_flood(const char *row)
{
	enum
	{
		n = 6000
	};
	ls_str *rows = ls_new_array(arena, ls_str, n);

	for (int i = 0; i < n; i++)
		rows[i] = str(row);
	rows[7] = str("migration 42 failed");
	ok(judge(rows, n, "The migration 42 was applied") == LS_FINDING_FAILED,
	   "a flood hides no failure");
}

/* CPU time of judging 100 rows that begin with `head` and repeat `unit`, the least of three. */
static double
time_of(const char *head, const char *unit, const char *item)
{
	enum
	{
		n = 100
	};
	static char text[2000];
	static ls_str rows[n];
	size_t begin = strlen(head);
	double best = 0;

	memcpy(text, head, begin);
	for (size_t i = begin; i < sizeof(text); i++)
		text[i] = unit[(i - begin) % strlen(unit)];
	for (int i = 0; i < n; i++)
		rows[i] = ls_str_make(text, sizeof(text));
	for (int k = 0; k < 3; k++)
	{
		clock_t start = clock(), took;

		judge(rows, n, item);
		took = clock() - start;
		best = k == 0 || (double) took < best ? (double) took : best;
	}
	return best;
}

/* What stands in a row is looked at once, and not once for each of its words. */
static void
test_work(void)
{
	static const struct
	{
		const char *head, *unit, *item;
	} rows[] = {
		/* keys in values of keys */
		{"", "a=", "The deploy finished"},
		{"", "a=b,", "The deploy finished"},
		{"", "msg=", "The deploy finished"},
		{"", "a=the,", "The deploy finished"},
		{"", "[a ", "The deploy finished"},
		{"", "#a", "The deploy finished"},
		{"", "x.", "The deploy finished"},
		{"", "name: ", "The deploy finished"},
		/* labels and sentences without an end */
		{"", "name:x ", "The deploy finished"},
		{"", "host:y ", "The deploy finished"},
		{"", "to a: ", "No errors in a"},
		/* numbers in groups of three digits */
		{"a ", "111,", "At most 3 a"},
	};
	double plain = time_of("", "a=b ", "The deploy finished");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
	{
		double factor = time_of(rows[i].head, rows[i].unit, rows[i].item) / plain;

		if (!ok(factor < 5, rows[i].unit))
			printf("#   takes %.1f times as long as other rows\n", factor);
	}
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
	test_work();
	test_reason();
	test_flood("10.0.0.1 - - \"GET /s?q=the+migration+42+was+applied HTTP/1.1\" 200 7");
	test_flood("{\"event\":\"rename\",\"alias\":\"the migration 42 was applied\"}");
	test_flood("level=info alias=the migration 42 was applied plan=free");
	ls_arena_destroy(arena);
	return done_testing();
}
