/* log_kinds.h: the labelled sets under test/data/pattern. */
#ifndef LOG_KINDS_H
#define LOG_KINDS_H

#include <stddef.h>

/* Each must be grouped with a GA of at least .97. */
static const char *const log_own_kinds[] = {"json", "logfmt",   "nginx", "kubernetes",
											"java", "postgres", "utf8"};
#define LOG_OWN_KINDS (sizeof(log_own_kinds) / sizeof(log_own_kinds[0]))

/* Imitations of what else is around: measured, without a floor for each. */
static const char *const log_other_kinds[] = {
	"brokers", "cloud",   "cluster", "control", "databases",   "hadoop", "journal",
	"laptop",  "openssh", "proxies", "scripts", "proxyclient", "steps",  "winevents"};
#define LOG_OTHER_KINDS (sizeof(log_other_kinds) / sizeof(log_other_kinds[0]))

/* Kinds that no rule of the miner was made for: made after the rules. */
static const char *const log_fresh_kinds[] = {"mail", "builds", "network", "games"};
#define LOG_FRESH_KINDS (sizeof(log_fresh_kinds) / sizeof(log_fresh_kinds[0]))

#endif
