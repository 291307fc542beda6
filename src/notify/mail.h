/*-------------------------------------------------------------------------
 *
 * mail.h
 *	  The outbox, as the notifier sees it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LS_MAIL_H
#define LS_MAIL_H

#include "src/server/server.h"
#include "src/server/curl.h"

/* ---- smtp.c ---- */

/*
 * Reads the mail server from the settings; texts live in the arena.  Returns NULL, or what is
 * wrong with the settings, for the log.
 */
typedef struct ls_smtp
{
	ls_str url;
	ls_str from_name;
	ls_str from;
	ls_str user;
	ls_str password;
	ls_curl_starttls starttls;
} ls_smtp;

extern bool ls_smtp_configured(void);
extern const char *ls_smtp_settings(ls_arena *arena, ls_smtp *smtp);

/* Is it pointless to try again, because the server has refused this mail? */
extern bool ls_smtp_is_permanent(const ls_curl_reply *reply);

/* ---- outbox.c ---- */

typedef struct ls_outbox_mail
{
	pg_uuid_t id;
	ls_str recipient;
	ls_str subject;
	ls_str text;
	ls_str html;
	ls_time created_at;
} ls_outbox_mail;

/* Each runs a transaction of its own; false: it failed, see *caught. */

/* At the start of the only notifier: mails that a previous one was sending wait again. */
extern bool ls_outbox_recover(ls_caught *caught);

/*
 * Marks up to `most` due mails as being sent; their texts are palloc'd in `memory`.  *next: when
 * the next one is due, 0: never.
 */
extern bool ls_outbox_take(int most, MemoryContext memory, ls_outbox_mail *mails, int *count,
						   ls_time *next, ls_caught *caught);

typedef enum ls_outbox_outcome
{
	LS_OUTBOX_SENT,
	LS_OUTBOX_REFUSED,
	LS_OUTBOX_RETRY
} ls_outbox_outcome;

/* Records the result for a mail; *failed: it will not be tried again. */
extern bool ls_outbox_finish(const pg_uuid_t *id, ls_outbox_outcome outcome, const char *reason,
							 bool *failed, ls_caught *caught);

#endif /* LS_MAIL_H */
