/*
 * event_words.h: what the grammar of event_source.c is made of.
 */
#ifndef EVENT_WORDS_H
#define EVENT_WORDS_H

static const char *const nouns[] = {
	"account",    "agent",      "archive",    "backend",   "backup",     "batch",     "block",
	"bucket",     "buffer",     "cache",      "channel",   "checkpoint", "chunk",     "client",
	"cluster",    "column",     "config",     "container", "cursor",     "daemon",    "device",
	"digest",     "disk",       "endpoint",   "entry",     "event",      "executor",  "feed",
	"fetch",      "file",       "filter",     "flag",      "frame",      "gateway",   "group",
	"handle",     "header",     "image",      "index",     "instance",   "interface", "invoice",
	"job",        "journal",    "key",        "lease",     "ledger",     "link",      "listener",
	"lock",       "log",        "manifest",   "mapping",   "member",     "memory",    "message",
	"metric",     "migration",  "module",     "mount",     "network",    "node",      "object",
	"order",      "package",    "packet",     "page",      "partition",  "patch",     "payment",
	"peer",       "pipeline",   "policy",     "pool",      "port",       "probe",     "process",
	"profile",    "project",    "quota",      "queue",     "range",      "record",    "region",
	"replica",    "report",     "request",    "response",  "route",      "row",       "rule",
	"schedule",   "schema",     "segment",    "sensor",    "session",    "shard",     "signal",
	"slot",       "snapshot",   "socket",     "split",     "stage",      "storage",   "stream",
	"subnet",     "table",      "task",       "tenant",    "thread",     "ticket",    "timer",
	"token",      "topic",      "trace",      "transfer",  "tree",       "unit",      "upload",
	"user",       "vault",      "volume",     "watcher",   "window",     "worker",    "zone",
	"connection", "credential", "certificate"};

/* Those that take -ed and -ing as they are. */
static const char *const verbs[] = {
	"accept",  "add",     "append",  "attach",  "await",  "check",   "clean",
	"collect", "compact", "connect", "convert", "detach", "discard", "drain",
	"evict",   "expand",  "export",  "fetch",   "finish", "flush",   "forward",
	"index",   "inspect", "install", "load",    "lock",   "mount",   "open",
	"patch",   "poll",    "push",    "read",    "reject", "reload",  "renew",
	"repair",  "report",  "return",  "restart", "select", "send",    "sort",
	"start",   "suspend", "unlock",  "upload",  "visit",  "warm",    "watch"};

static const char *const adjectives[] = {
	"active",  "cold",   "corrupt", "current",  "default",  "empty",   "expired", "external",
	"final",   "free",   "idle",    "initial",  "internal", "invalid", "late",    "local",
	"missing", "new",    "old",     "orphaned", "partial",  "pending", "primary", "remote",
	"root",    "shared", "slow",    "stale",    "standby",  "total",   "unknown", "unused"};

static const char *const states[] = {
	"ready",   "running", "stopped", "degraded", "draining", "waiting",  "closed",  "open",
	"up",      "down",    "leading", "syncing",  "paused",   "complete", "aborted", "enabled",
	"healthy", "locked",  "true",    "false",    "none",     "ok",       "busy",    "unavailable"};

static const char *const reasons[] = {
	"timed out",           "permission denied",     "no space left",
	"broken pipe",         "checksum mismatch",     "not found",
	"already exists",      "version conflict",      "reset by peer",
	"unexpected end",      "authentication failed", "quota exceeded",
	"invalid argument",    "too many open files",   "host unreachable",
	"deadline exceeded",   "no such device",        "operation interrupted",
	"certificate expired", "not authenticated"};

static const char *const roles[] = {"Manager",  "Tracker", "Handler", "Service", "Monitor",
									"Registry", "Reader",  "Writer",  "Client",  "Server",
									"Factory",  "Planner", "Worker",  "Context", "Adapter",
									"Resolver", "Impl",    "Backend", "Loop",    "Store"};

static const char *const users[] = {
	"ann",   "ben",  "carla", "dmitri", "emeka",   "fatima", "goran", "hana",
	"ivo",   "jun",  "kofi",  "lena",   "mona",    "nils",   "olga",  "pedro",
	"qadir", "rosa", "sven",  "tomas",  "uma",     "vera",   "wim",   "xenia",
	"yusuf", "zoe",  "build", "deploy", "monitor", "nobody", "admin", "root"};

static const char *const endings[] = {"log", "tmp", "dat", "idx", "conf", "so", "gz", "xml"};

/*
 * Clauses.  <n> <N> noun, <v> verb (<v>ed, <v>ing), <a> adjective, <s> state, <r> reason,
 * <C> class, <m> method, <k> key: each template has its own.  Drawn for each line:
 * <#> number, <i> longer number, <x> hexadecimal, <X> 16 digits of it, <b> block, <I>
 * address, <A> with port, <U> UUID, <f> path, <t> duration, <z> size, <u> user, <o>
 * host, <p> decimal, <j> version, <T> time.
 */
static const char *const clauses[] = {"<N> <n> <v>ed",
									  "<v>ed <a> <n>",
									  "<n> <#> is <s>",
									  "<N> <i> <v>ed from <A>",
									  "<v>ing <n> <b> to <A>",
									  "<n> <x> of <a> <n> <v>ed in <t>",
									  "<C>: <n>=<#> <k>=<s>",
									  "<m>() <v>ed <#> <n> entries",
									  "<a> <n> at <f>",
									  "<C>.<m> <n> <i>, <k> <#>",
									  "<N> of <n> <i> is now <s>",
									  "<v>ed <z> bytes for <n> <i>",
									  "<N> <v>ing <a> <n> (<p>%)",
									  "<k>=<#>, <k>=<#>, <k>=<s>",
									  "<k>=<x> <k>=<I> <k>=<u>",
									  "user <u> <v>ed <n> <f>",
									  "<C>@<x> <s>",
									  "<n> <v>er <o> <s>",
									  "<a> <n> <v>ed by <u> on <o>",
									  "no <a> <n> for <n> <i>",
									  "<N> <U> <v>ed",
									  "[<n>: <U>] <a> <n> <s>",
									  "<v>ed <#> of <#> <n> entries",
									  "took <t> to <v> <n>",
									  "<n> <v>er is <s>, <a> <n> <#>",
									  "\"<v> <f>\" status: <#> len: <z>",
									  "<m>: <k> <#> <k> <#> <k> <#>",
									  "<C> <v>ing: <k>(<#>)",
									  "<n>-<#> <v>ed",
									  "<N> version <j> <s>",
									  "<v>ing <a> <n> of the <n>",
									  "<N> connection from <A> <v>ed",
									  "<k>: <p> <k>: <p>",
									  "<n> <v> request <i> from <o>",
									  "<C>$<N><n> <v>ed <k> = <#>",
									  "<N> <n> has been <v>ed since <T>",
									  "<k>=\"<N> <n>\", <k>=<n>.<n>.<v>, <k>=null",
									  "<n>/<n>/<#>: <a>",
									  "next <n> <v> in <t>",
									  "<N> <s>",
									  "<#> <n>s",
									  "total <k>=<i>",
									  "<v> <n> <X>",
									  "<C>{<x> <n>=<C>{<x> <k>=<s>}}"};

/* Of what went wrong: before a clause. */
static const char *const failures[] = {"failed to <v> <n>: <r>",         "<N> failed, <r>",
									   "could not <v> <n> <i>: <r>",     "<C>Exception: <r>",
									   "error <#> while <v>ing <a> <n>", "<r>, retry <#> in <t>"};

/* What searches look for: whose it is, and how many of 65,536 lines of that kind have it. */
static const struct landmark
{
	const char *kind;
	int often;
	const char *level;
	const char *text;
} landmarks[] = {
	{"edge-httpd", 150, "error", "<n> <o> unavailable: connection refused by <A>, attempt <#>"},
	{"authd", 7000, "info", "login of <u> failed, peer <I> port <i> ssh2"},
	{"authd", 3000, "info", "login of <u> accepted, peer <I> port <i> ssh2"},
	{"authd", 1600, "warn", "authentication of <u> from <I> failed <#> times"},
	{"quorum", 1300, "info", "reconnecting to <o>, connected before at <T>"},
};

/*
 * Beginnings of lines: <T> and a number is a form of the time, <L> <l> level, <P> process,
 * <g> <h> <w> numbers of few values, <e> 8 hexadecimal digits, <Y> 16 that change
 * with the hour.
 */
static const char *const heads[] = {
	"<T1> <P> <P> <l> <C>: ",
	"[<T5>] [<L>] ",
	"<T3> <T6> c<g>s<h>b<h>.<n> <T7> c<g>s<h>b<h>.<n> <C> <L> 0x<e> ",
	"<T8> <P> <L> <n>.<C>: ",
	"<P> <n><g> <n>.<v> <n>_<v> <T3> ",
	"<T2> <n><g> <n>(<v>)[<P>]: ",
	"<n>-<v>.log.<T9> <T4> <P> <L> <n>.<n>_<v>.<n> [<U> <Y><Y> <Y><Y>] ",
	"<T10> <L> <n>.<C>: ",
	"<T4>, <L>        <n>    ",
	"<T11> <L> [<n>-<w>/<A>:<C>:<g>] ",
};

#endif /* EVENT_WORDS_H */
