/* listener.h: the entries of logsvc.syslog_listeners (pure). */
#ifndef LS_LISTENER_H
#define LS_LISTENER_H

#include "src/base/pure.h"

/* Entries of a list. */
#define LS_LISTENERS 16

typedef enum ls_listener_kind
{
	LS_LISTENER_TCP,
	LS_LISTENER_TLS,
	LS_LISTENER_UDP,
	LS_LISTENER_GELF /* TCP; not syslog, but GELF */
} ls_listener_kind;

/* tcp:[ADDRESS:]PORT=ORGANIZATION[/INDEX] */
typedef struct ls_listener_entry
{
	ls_listener_kind kind;
	ls_str name;    /* the entry up to its equals sign */
	ls_str address; /* "*": all; empty: those of HTTP */
	int port;
	ls_str organization; /* slug or id */
	ls_str index;        /* empty: main */
} ls_listener_entry;

/*
 * Takes the next entry off a comma-separated list; texts are views into it.  False at the
 * end, then *error is NULL, or says what is wrong with the entry.
 */
extern bool ls_listener_next(ls_str *list, ls_listener_entry *entry, const char **error);

#endif
