/*-------------------------------------------------------------------------
 *
 * notifier.c
 *	  The loop of the notifier: sends the mails of the outbox, webhooks, and files to object stores.
 *
 * It is woken when a transaction with a mail or a webhook commits, and by time.  Up to
 * IN_FLIGHT mails are sent at once, and beside them LS_WEBHOOKS_IN_FLIGHT webhooks; no transaction
 * is open meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "src/workers/workers.h"

#include "storage/pmsignal.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "src/server/curl.h"
#include "src/server/metrics.h"
#include "src/notify/deliveries.h"
#include "src/notify/mail.h"
#include "src/notify/mail_message.h"
#include "src/notify/uploads.h"

#define IN_FLIGHT 8
#define CONNECT_TIMEOUT 10000 /* ms */
#define SEND_TIMEOUT 60000
#define LONGEST_WAIT 60000 /* should a wake-up ever get lost */
#define RETRY_WAIT 1000    /* after a transaction that failed */

/*
 * After a mail that the server did not take in time: libcurl has held up the whole process
 * meanwhile, so webhooks have their turn before the next mail does.
 */
#define PAUSE_AFTER_TIMEOUT (60 * LS_USECS_PER_SEC)
#define MESSAGE_MEMORY ((size_t) 16 * 1024 * 1024)

typedef struct sending
{
	bool used;
	bool ended; /* the outcome is still to be written down */
	pg_uuid_t id;
	ls_outbox_outcome outcome;
	char reason[160];
} sending;

static sending in_flight[IN_FLIGHT];
static ls_time no_mail_before = 0;

/* What the log was told; the same is said once, until it is over. */
static char said[256];

/* Digits do not count: "after 1 ms" is what "after 0 ms" was. */
static bool
is_same(const char *a, const char *b)
{
	while (*a != '\0' && *b != '\0')
	{
		if (isdigit((unsigned char) *a) && isdigit((unsigned char) *b))
		{
			a += strspn(a, "0123456789");
			b += strspn(b, "0123456789");
		}
		else if (*a++ != *b++)
			return false;
	}
	return *a == *b;
}

static void
complain(const char *what)
{
	if (is_same(said, what))
		return;
	strlcpy(said, what, sizeof(said));
	ereport(LOG, errmsg("logsvc cannot send mail: %s", what),
			errdetail("Mails stay in the outbox; see view logsvc.outbox."));
}

static void
mail_ended(void *context, const ls_curl_reply *reply)
{
	sending *s = context;

	s->ended = true;
	s->reason[0] = '\0';
	if (reply->outcome == LS_CURL_OK)
	{
		s->outcome = LS_OUTBOX_SENT;
		said[0] = '\0';
		return;
	}
	if (reply->outcome == LS_CURL_TIMEOUT)
		no_mail_before = ls_now() + PAUSE_AFTER_TIMEOUT;
	s->outcome = ls_smtp_is_permanent(reply) ? LS_OUTBOX_REFUSED : LS_OUTBOX_RETRY;
	snprintf(s->reason, sizeof(s->reason), "%s: %s", ls_curl_outcome_name(reply->outcome),
			 reply->reason);
	if (s->outcome == LS_OUTBOX_RETRY)
		complain(s->reason);
}

static sending *
free_place(void)
{
	for (int i = 0; i < IN_FLIGHT; i++)
	{
		if (!in_flight[i].used)
			return &in_flight[i];
	}
	return NULL;
}

static void
start_mail(const ls_smtp *smtp, const ls_outbox_mail *mail, ls_arena *arena)
{
	sending *s = free_place();
	char id[2 * UUID_LEN + 1];
	ls_mail_message message = {.from_name = smtp->from_name,
							   .from = smtp->from,
							   .to = mail->recipient,
							   .subject = mail->subject,
							   .text = mail->text,
							   .html = mail->html,
							   .date = mail->created_at};
	ls_curl_request request = {.protocols = LS_CURL_SMTP | LS_CURL_SMTPS,
							   .url = smtp->url,
							   .connect_timeout = CONNECT_TIMEOUT,
							   .timeout = SEND_TIMEOUT,
							   .reply_limit = 0,
							   .mail_from = smtp->from,
							   .recipients = &mail->recipient,
							   .recipient_count = 1,
							   .username = smtp->user,
							   .password = smtp->password,
							   .starttls = smtp->starttls};
	ls_buf body;

	s->used = true;
	s->ended = false;
	s->id = mail->id;
	ls_hex(&mail->id, UUID_LEN, id);
	message.id = ls_str_make(id, 2 * UUID_LEN);
	ls_buf_init(&body, arena);
	if (!ls_mail_write(&body, &message))
	{
		s->ended = true;
		s->outcome = LS_OUTBOX_REFUSED;
		strlcpy(s->reason, "invalid: the mail cannot be written", sizeof(s->reason));
		return;
	}
	request.body = ls_str_make(body.data, body.len);
	ls_curl_start(ls_curl_client(), &request, mail_ended, s);
	LS_STOP_POINT("notifier_sending");
}

/* Sends what is due, as far as there is room.  Returns ms until there is more, -1 for never. */
static long
send_due(void)
{
	MemoryContext memory;
	ls_arena *arena;
	ls_outbox_mail mails[IN_FLIGHT];
	ls_smtp smtp;
	ls_caught caught;
	const char *problem;
	ls_time next = 0;
	int room = 0;
	int count = 0;
	bool taken = true;

	for (int i = 0; i < IN_FLIGHT; i++)
		room += !in_flight[i].used;
	if (room == 0 || !ls_smtp_configured())
		return -1;
	if (ls_now() < no_mail_before)
		return (long) ((no_mail_before - ls_now()) / 1000) + 1;
	memory = AllocSetContextCreate(TopMemoryContext, "logsvc mails", ALLOCSET_DEFAULT_SIZES);
	arena = ls_context_arena(memory, MESSAGE_MEMORY);
	problem = ls_smtp_settings(arena, &smtp);
	if (problem != NULL)
		complain(problem);
	else
	{
		taken = ls_outbox_take(room, memory, mails, &count, &next, &caught);
		if (!taken)
			complain(caught.format);
		for (int i = 0; i < count; i++)
			start_mail(&smtp, &mails[i], arena);
	}
	MemoryContextDelete(memory);
	if (!taken)
		return RETRY_WAIT;
	return next == 0 ? -1 : (long) (Max(next - ls_now(), 0) / 1000) + 1;
}

/* Writes down what has become of mails; false when that failed and must be done again. */
static bool
finish_ended(void)
{
	ls_caught caught;

	for (int i = 0; i < IN_FLIGHT; i++)
	{
		sending *s = &in_flight[i];
		bool failed;

		if (!s->used || !s->ended)
			continue;
		LS_STOP_POINT("notifier_ended");
		if (!ls_outbox_finish(&s->id, s->outcome, s->reason, &failed, &caught))
		{
			complain(caught.format);
			return false;
		}
		s->used = false;
		ls_metric_add(LS_M_NOTIFICATIONS + (s->outcome == LS_OUTBOX_SENT ? 0 : failed ? 2 : 1), 1);
		if (failed)
			ereport(LOG, errmsg("logsvc gave up a mail: %s", s->reason),
					errdetail("See view logsvc.outbox."));
	}
	return true;
}

/* told: what the log was told of the same before. */
static void
complain_of(const char *what, const ls_caught *caught, char told[256])
{
	if (is_same(told, caught->format))
		return;
	strlcpy(told, caught->format, 256);
	ereport(LOG, errmsg("logsvc cannot send %s: %s", what, caught->format));
}

/* Writes down and sends webhooks.  Returns ms until there is more, -1 for never. */
static long
send_webhooks(ls_curl *client)
{
	static char told[256];
	ls_caught caught;
	long timeout;

	if (ls_webhooks_finish(&caught) && (timeout = ls_webhooks_start_due(client, &caught)) != -2)
		return timeout;
	complain_of("webhooks", &caught, told);
	return RETRY_WAIT;
}

/* Goes on with files on their way to object stores.  Returns ms until there is more, -1 for never. */
static long
send_uploads(ls_curl *client)
{
	static char told[256];
	ls_caught caught;
	long timeout = ls_uploads_go_on(client, &caught);

	if (timeout != -2)
		return timeout;
	complain_of("files of exports", &caught, told);
	return RETRY_WAIT;
}

static long
sooner(long a, long b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

void
ls_notifier_loop(ls_slot *slot)
{
	ls_curl *client = ls_curl_client();
	ls_caught caught;

	while (!ls_outbox_recover(&caught) || !ls_deliveries_recover(&caught) ||
		   !ls_uploads_recover(&caught))
	{
		complain(caught.format);
		if (!ls_worker_wait(RETRY_WAIT))
			return;
	}
	for (;;)
	{
		long timeout = RETRY_WAIT;

		ls_curl_step(client);
		/* A mail that was cut off because of it has not failed. */
		if (!ls_worker_interrupts() || !PostmasterIsAlive())
			return;
		if (finish_ended())
			timeout = send_due();
		timeout = sooner(timeout, send_webhooks(client));
		timeout = sooner(timeout, send_uploads(client));
		/* Not if something was committed while it wrote down what became of other things. */
		ls_curl_wait(client,
					 ls_worker_sleep(timeout < 0 ? LONGEST_WAIT : Min(timeout, LONGEST_WAIT)));
	}
}
