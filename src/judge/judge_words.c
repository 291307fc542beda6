/*-------------------------------------------------------------------------
 *
 * judge_words.c
 *	  The word list of the built-in evaluator (pure).
 *
 * Which words of logs mean the same (a concept), which tell an outcome by themselves (a
 * polarity and its strength), and which say nothing.  One table, so that the evaluator's
 * knowledge of English is in one place and can be read as a list.  Words are compared by stem;
 * a verb with a particle is written as one word ("rollback").
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

#define W(text, concept, pol, strength)                    \
	{                                                      \
		text, LS_CONCEPT_##concept, LS_POL_##pol, strength \
	}

/* clang-format off */
static const ls_judge_word table[] = {
	{NULL, 0, 0, 0}, /* entry 0 means none */
	/* outcomes in general */
	W("pass", RESULT, POS, 3), W("success", RESULT, POS, 2), W("succeed", RESULT, POS, 2),
	W("successful", RESULT, POS, 2), W("ok", RESULT, POS, 2), W("okay", RESULT, POS, 2),
	W("green", RESULT, POS, 1), W("xpass", RESULT, POS, 3), W("good", RESULT, POS, 1),
	W("\xe2\x9c\x93", RESULT, POS, 3), W("\xe2\x9c\x94", RESULT, POS, 3),
	W("\xe2\x9c\x85", RESULT, POS, 3), W("\xe2\x88\x9a", RESULT, POS, 3),
	W("fail", RESULT, NEG, 2), W("failure", RESULT, NEG, 2),
	W("unsuccessful", RESULT, NEG, 2), W("broken", RESULT, NEG, 2), W("xfail", RESULT, NEG, 3),
	W("red", RESULT, NEG, 1), W("\xe2\x9c\x95", RESULT, NEG, 3),
	W("\xe2\x9c\x97", RESULT, NEG, 3), W("\xe2\x9c\x98", RESULT, NEG, 3),
	W("\xe2\x9d\x8c", RESULT, NEG, 3), W("\xe2\x9c\x96", RESULT, NEG, 3),
	W("bad", RESULT, NEG, 1), W("wrong", RESULT, NEG, 2),
	W("complete", COMPLETE, POS, 2),
	W("finish", COMPLETE, POS, 2), W("done", COMPLETE, POS, 2), W("conclude", COMPLETE, POS, 2),
	W("incomplete", COMPLETE, NEG, 2), W("unfinished", COMPLETE, NEG, 2),
	W("partial", COMPLETE, NEG, 2), W("met", COMPLETE, POS, 1),
	W("achieve", COMPLETE, POS, 1), W("partially_done", COMPLETE, NEG, 2),
	/* failures of a kind */
	W("error", ERROR, NEG, 2), W("err", ERROR, NEG, 2), W("exception", ERROR, NEG, 2),
	W("fault", ERROR, NEG, 2), W("fatal", ERROR, NEG, 2), W("critical", ERROR, NEG, 2),
	W("crit", ERROR, NEG, 2), W("emerg", ERROR, NEG, 2), W("severe", ERROR, NEG, 2),
	W("traceback", ERROR, NEG, 2), W("stacktrace", ERROR, NEG, 2), W("panic", CRASH, NEG, 2),
	W("crash", CRASH, NEG, 2), W("segfault", CRASH, NEG, 2), W("sigsegv", CRASH, NEG, 2),
	W("coredump", CRASH, NEG, 2), W("cordump", CRASH, NEG, 2), W("dumpcore", CRASH, NEG, 2),
	W("core", NONE, NONE, 0), W("crashloop", CRASH, NEG, 2),
	W("crashloopbackoff", CRASH, NEG, 2), W("die", CRASH, NEG, 2), W("died", CRASH, NEG, 2),
	W("dead", CRASH, NEG, 2), W("abort", CRASH, NEG, 2), W("killed", CRASH, NEG, 2),
	W("oom", MEMORY, NEG, 2), W("oomkilled", MEMORY, NEG, 2),
	W("hang", CRASH, NEG, 2), W("stuck", CRASH, NEG, 2), W("hung", CRASH, NEG, 2),
	W("halt", STOP, NEG, 2), W("deadlock", CRASH, NEG, 2), W("corrupt", ERROR, NEG, 2),
	W("mismatch", ERROR, NEG, 2), W("conflict", ERROR, NEG, 1),
	W("violation", ERROR, NEG, 2), W("duplicate", NONE, NONE, 0),
	W("backoff", RETRY, NEG, 1), W("undefined", ERROR, NEG, 1),
	W("breach", ERROR, NEG, 2), W("timeout", TIMEOUT, NEG, 2), W("timout", TIMEOUT, NEG, 2),
	W("deadline", TIMEOUT, NEG, 1), W("overdue", TIMEOUT, NEG, 2), W("exceed", NONE, NEG, 2),
	W("overflow", ERROR, NEG, 2), W("overload", ERROR, NEG, 2), W("cannot", NONE, NEG, 2),
	W("unable", NONE, NEG, 2), W("couldn", NONE, NEG, 2), W("givup", RESULT, NEG, 3),
	W("gavup", RESULT, NEG, 3), W("missing", ERROR, NEG, 2), W("unavailable", UNHEALTHY, NEG, 2),
	W("unreachable", DISCONNECT, NEG, 2), W("unexpected", ERROR, NEG, 1),
	W("insufficient", ERROR, NEG, 2),
	W("undelivered", SEND, NEG, 2), W("bounce", SEND, NEG, 2), W("unresolved", ERROR, NEG, 1),
	W("alarm", DETECT, ACT, 1), W("vanish", LOSS, NONE, 0), W("stale", ERROR, NEG, 1),
	W("leak", NONE, NEG, 1), W("lost", LOSS, NEG, 2), W("lose", LOSS, NEG, 2),
	W("warn", WARNING, NONE, 1), W("throttle", DENY, NEG, 2),
	W("starve", ERROR, NEG, 1), W("exhaust", ERROR, NEG, 2), W("nack", DENY, NEG, 2),
	W("dhcpnak", DENY, NEG, 2), W("dhcpack", ALLOW, POS, 2),
	/* access */
	W("deny", DENY, NEG, 2), W("block", DENY, NEG, 2),
	W("reject", DENY, NEG, 2), W("refuse", DENY, NEG, 2), W("decline", DENY, NEG, 2),
	W("drop", DENY, NEG, 2), W("forbid", DENY, NEG, 2), W("forbidden", DENY, NEG, 2),
	W("unauthorized", DENY, NEG, 2), W("unauthorised", DENY, NEG, 2),
	W("unauthenticated", DENY, NEG, 2), W("disallow", DENY, NEG, 2), W("prohibit", DENY, NEG, 2),
	W("stopped_attack", DENY, NEG, 2), W("quarantine", DENY, NEG, 1), W("revoke", DENY, ACT, 1),
	W("allow", ALLOW, POS, 2), W("accept", ALLOW, POS, 2), W("grant", ALLOW, POS, 2),
	W("permit", ALLOW, POS, 2), W("approve", ALLOW, POS, 2), W("authorize", ALLOW, ACT, 1),
	W("authorise", ALLOW, ACT, 1), W("approval", ALLOW, ACT, 1), W("login", LOGIN, ACT, 0),
	W("logon", LOGIN, ACT, 0), W("signin", LOGIN, ACT, 0), W("signon", LOGIN, ACT, 0),
	W("authenticate", LOGIN, ACT, 0),
	W("auth", LOGIN, ACT, 0), W("session", LOGIN, WEAK, 0), W("logout", LOGOUT, ACT, 0),
	W("logoff", LOGOUT, ACT, 0), W("signout", LOGOUT, ACT, 0),
	/* life cycle */
	W("start", START, ACT, 0), W("startup", START, ACT, 0), W("launch", START, ACT, 0),
	W("boot", START, ACT, 0), W("bootup", START, ACT, 0), W("begin", START, PART, 0),
	W("initialize", START, ACT, 0), W("initialise", START, ACT, 0), W("init", START, ACT, 0),
	W("up", START, STATE, 1), W("ready", START, STATE, 2), W("readiness", START, STATE, 0),
	W("listen", START, STATE, 1), W("online", START, STATE, 2), W("alive", START, STATE, 2),
	W("active", START, STATE, 1), W("comup", START, STATE, 1), W("camup", START, STATE, 1),
	W("bringup", START, STATE, 1), W("serving", START, STATE, 1), W("reach", CONNECT, STATE, 1),
	W("notready", STOP, NEG, 2), W("nodenotready", STOP, NEG, 2), W("stop", STOP, ACT, 0),
	W("down", STOP, NEG, 2), W("shutdown", STOP, ACT, 0), W("terminate", STOP, ACT, 0),
	W("exit", STOP, ACT, 0), W("offline", STOP, NEG, 2), W("inactive", STOP, NEG, 1),
	W("quit", STOP, ACT, 0), W("godown", STOP, NEG, 2), W("goedown", STOP, NEG, 2),
	W("restart", RESTART, ACT, 0), W("reboot", RESTART, ACT, 0), W("reload", CONFIG, ACT, 0),
	W("healthy", HEALTHY, POS, 2), W("health", HEALTHY, WEAK, 0),
	W("unhealthy", UNHEALTHY, NEG, 3), W("available", HEALTHY, STATE, 1),
	W("stable", HEALTHY, STATE, 1), W("unstable", UNHEALTHY, NEG, 2),
	W("connect", CONNECT, ACT, 0),
	W("reconnect", CONNECT, POS, 2), W("establish", CONNECT, STATE, 2),
	W("reachable", CONNECT, STATE, 1), W("disconnect", DISCONNECT, NEG, 2),
	W("open", OPEN, STATE, 0), W("close", CLOSE, ACT, 0), W("enable", ENABLE, STATE, 1),
	W("disable", DISABLE, SKIP, 2), W("acquire", ACQUIRE, ACT, 1), W("obtain", ACQUIRE, ACT, 1),
	W("release", RELEASE, ACT, 0), W("join", JOIN, ACT, 1), W("member", JOIN, ACT, 1),
	W("leave", LEAVE, ACT, 1), W("left", LEAVE, ACT, 1), W("valid", VALID, POS, 1),
	W("invalid", INVALID, NEG, 2), W("expire", EXPIRE, NEG, 1), W("mount", MOUNT, ACT, 1),
	W("unmount", MOUNT, ACT, 1), W("promote", PROMOTE, ACT, 1), W("scale", SCALE, ACT, 1),
	W("rescale", SCALE, ACT, 1), W("resize", SCALE, ACT, 1),
	/* work */
	W("deploy", DEPLOY, ACT, 1), W("rollout", DEPLOY, ACT, 1),
	W("update", UPDATE, ACT, 1), W("upgrade", UPDATE, ACT, 1), W("install", INSTALL, ACT, 1),
	W("installation", INSTALL, ACT, 1), W("create", CREATE, ACT, 1),
	W("add", CREATE, ACT, 1), W("made", CREATE, ACT, 1),
	W("make", CREATE, ACT, 1), W("provision", CREATE, ACT, 1), W("delete", DELETE, ACT, 1),
	W("del", DELETE, ACT, 1), W("remove", DELETE, ACT, 1),
	W("removal", DELETE, ACT, 1), W("destroy", DELETE, ACT, 1), W("destruction", DELETE, ACT, 1),
	W("purge", DELETE, ACT, 1), W("apply", APPLY, ACT, 1), W("migrate", APPLY, ACT, 1),
	W("execute", EXECUTE, ACT, 1), W("run", START, STATE, 0),
	W("work", RESULT, POS, 1), W("perform", EXECUTE, ACT, 1), W("process", EXECUTE, ACT, 0),
	W("carriout", EXECUTE, ACT, 1),
	W("inspect", VERIFY, ACT, 1), W("backup", BACKUP, ACT, 0), W("restore", RESTORE, POS, 2),
	W("recover", RESTORE, POS, 2), W("recovery", RESTORE, ACT, 0), W("resume", RESTORE, POS, 1),
	W("send", SEND, ACT, 1), W("sent", SEND, ACT, 2), W("deliver", SEND, ACT, 2),
	W("delivery", SEND, ACT, 0), W("dispatch", SEND, ACT, 1), W("publish", PUBLISH, ACT, 1),
	W("push", PUBLISH, ACT, 1), W("upload", PUBLISH, ACT, 1), W("download", FETCH, ACT, 1),
	W("pull", FETCH, ACT, 1), W("fetch", FETCH, ACT, 1), W("retrieve", FETCH, ACT, 1),
	W("sync", SYNC, ACT, 1), W("synchronize", SYNC, ACT, 1), W("synchronise", SYNC, ACT, 1),
	W("synchronisation", SYNC, ACT, 1), W("synchronization", SYNC, ACT, 1),
	W("replicate", SYNC, ACT, 1), W("verify", VERIFY, ACT, 1),
	W("verification", VERIFY, ACT, 0), W("validate", VERIFY, ACT, 1),
	W("check", VERIFY, ACT, 0), W("build", BUILD, ACT, 0),
	W("built", BUILD, ACT, 1), W("compile", BUILD, ACT, 1), W("load", LOAD, ACT, 1),
	W("import", LOAD, ACT, 1), W("ingest", LOAD, ACT, 1), W("write", WRITE, ACT, 1),
	W("written", WRITE, ACT, 1), W("wrote", WRITE, ACT, 1), W("save", WRITE, ACT, 1),
	W("store", WRITE, ACT, 0), W("persist", WRITE, ACT, 1), W("flush", WRITE, ACT, 1),
	W("rollback", ROLLBACK, ACT, 1), W("rolledback", ROLLBACK, ACT, 1),
	W("revert", ROLLBACK, ACT, 1), W("retry", RETRY, ACT, 0), W("attempt", RETRY, WEAK, 0),
	W("tries", RETRY, WEAK, 0), W("detect", DETECT, ACT, 1),
	W("alert", DETECT, ACT, 1), W("found", DETECT, ACT, 0), W("identify", DETECT, ACT, 1),
	W("flag", NONE, NONE, 0), W("configure", CONFIG, ACT, 1), W("reconfigure", CONFIG, ACT, 1),
	W("configuration", CONFIG, WEAK, 0), W("config", CONFIG, WEAK, 0),
	W("latency", LATENCY, NONE, 0), W("duration", LATENCY, NONE, 0),
	W("elapsed", LATENCY, NONE, 0), W("took", LATENCY, STOP, 0), W("take", LATENCY, STOP, 0),
	W("memory", MEMORY, NONE, 0), W("usage", USAGE, NONE, 0), W("use", USAGE, NONE, 0),
	W("utilization", USAGE, NONE, 0), W("utilisation", USAGE, NONE, 0),
	W("progress", NONE, PART, 0), W("still", NONE, PART, 0), W("waiting", NONE, PART, 0),
	W("schedule", NONE, ACT, 0),
	/* not done on purpose */
	W("skip", SKIP, SKIP, 2), W("ignore", SKIP, SKIP, 2), W("bypass", SKIP, SKIP, 2),
	W("omit", SKIP, SKIP, 2), W("postpone", SKIP, SKIP, 2), W("defer", SKIP, SKIP, 1),
	W("cancel", SKIP, SKIP, 1), W("cancelled", SKIP, SKIP, 1),
	W("dryrun", SKIP, SKIP, 2), W("drirun", SKIP, SKIP, 2), W("noop", SKIP, SKIP, 2),
	W("pause", SKIP, SKIP, 1), W("masked", SKIP, SKIP, 2), W("exempt", SKIP, SKIP, 2),
	W("exclude", SKIP, SKIP, 2), W("suppress", SKIP, SKIP, 1), W("suspend", SKIP, SKIP, 1),
	W("pend", SKIP, SKIP, 1), W("maintenance", SKIP, SKIP, 1), W("optout", SKIP, SKIP, 2),
	W("unneeded", SKIP, SKIP, 2), W("\xe2\x97\x8b", SKIP, SKIP, 3), W("xskip", SKIP, SKIP, 3),
	W("deactivate", DISABLE, SKIP, 1), W("discard", SKIP, SKIP, 1), W("turnoff", SKIP, SKIP, 2),
	W("switchoff", SKIP, SKIP, 2),
	/* negators and quantities */
	W("no", NONE, NOT, 0), W("not", NONE, NOT, 0), W("never", NONE, NOT, 0),
	W("without", NONE, NOT, 0), W("none", NONE, NOT, 0), W("neither", NONE, NOT, 0),
	W("nor", NONE, NOT, 0), W("zero", NONE, NOT, 0),
	W("nothing", NONE, NOT, 0), W("nobody", NONE, NOT, 0), W("free", NONE, NONE, 0),
	W("didn", NONE, NOT, 0), W("doesn", NONE, NOT, 0), W("isn", NONE, NOT, 0),
	W("wasn", NONE, NOT, 0), W("don", NONE, NOT, 0), W("hasn", NONE, NOT, 0),
	W("aren", NONE, NOT, 0), W("weren", NONE, NOT, 0), W("all", NONE, ALL, 0),
	W("every", NONE, ALL, 0), W("each", NONE, ALL, 0), W("both", NONE, ALL, 0),
	W("always", NONE, ALL, 0), W("whole", NONE, ALL, 0), W("entire", NONE, ALL, 0),
	W("any", NONE, ANY, 0), W("some", NONE, ANY, 0),
	/* fields that hold an outcome */
	W("status", NONE, KEY, 0), W("result", NONE, KEY, 0), W("outcome", NONE, KEY, 0),
	W("state", NONE, KEY, 0), W("res", NONE, KEY, 0), W("verdict", NONE, KEY, 0),
	W("decision", NONE, KEY, 0), W("conclusion", NONE, KEY, 0), W("action", NONE, KEY, 0),
	W("event", NONE, KEY, 0), W("rc", NONE, KEY, 0), W("code", NONE, KEY, 0),
	W("statuscode", NONE, KEY, 0),
	/* nothing */
	W("a", NONE, STOP, 0), W("an", NONE, STOP, 0), W("the", NONE, STOP, 0),
	W("of", NONE, STOP, 0), W("to", NONE, STOP, 0), W("in", NONE, STOP, 0),
	W("on", NONE, STOP, 0), W("at", NONE, STOP, 0), W("is", NONE, STOP, 0),
	W("are", NONE, STOP, 0), W("was", NONE, STOP, 0), W("were", NONE, STOP, 0),
	W("be", NONE, STOP, 0), W("been", NONE, STOP, 0),
	W("and", NONE, STOP, 0), W("or", NONE, STOP, 0), W("that", NONE, STOP, 0),
	W("this", NONE, STOP, 0), W("these", NONE, STOP, 0), W("those", NONE, STOP, 0),
	W("it", NONE, STOP, 0), W("its", NONE, STOP, 0), W("for", NONE, STOP, 0),
	W("from", NONE, STOP, 0), W("with", NONE, STOP, 0), W("by", NONE, STOP, 0),
	W("as", NONE, STOP, 0), W("has", NONE, STOP, 0), W("have", NONE, STOP, 0),
	W("had", NONE, STOP, 0), W("do", NONE, STOP, 0), W("does", NONE, STOP, 0),
	W("did", NONE, STOP, 0), W("will", NONE, STOP, 0), W("would", NONE, STOP, 0),
	W("should", NONE, STOP, 0), W("must", NONE, STOP, 0), W("can", NONE, STOP, 0),
	W("could", NONE, STOP, 0), W("may", NONE, STOP, 0), W("might", NONE, STOP, 0),
	W("there", NONE, STOP, 0), W("which", NONE, STOP, 0), W("who", NONE, STOP, 0),
	W("what", NONE, STOP, 0), W("when", NONE, STOP, 0), W("where", NONE, STOP, 0),
	W("whether", NONE, STOP, 0), W("if", NONE, STOP, 0), W("than", NONE, STOP, 0),
	W("into", NONE, STOP, 0), W("out", NONE, STOP, 0), W("off", DISABLE, STOP, 0),
	W("over", NONE, STOP, 0), W("back", NONE, STOP, 0), W("get", NONE, STOP, 0),
	W("got", NONE, STOP, 0), W("go", NONE, STOP, 0), W("goe", NONE, STOP, 0),
	W("come", NONE, STOP, 0), W("end", NONE, STOP, 0), W("eventually", NONE, STOP, 0),
	W("finally", NONE, STOP, 0), W("last", NONE, STOP, 0),
	W("least", NONE, STOP, 0), W("most", NONE, STOP, 0), W("only", NONE, STOP, 0),
	W("one", NONE, STOP, 0), W("own", NONE, STOP, 0), W("correctly", NONE, STOP, 0),
	W("properly", NONE, STOP, 0), W("actually", NONE, STOP, 0), W("visible", NONE, STOP, 0),
	W("see", NONE, STOP, 0), W("seen", NONE, STOP, 0), W("observe", NONE, STOP, 0),
	W("occur", NONE, STOP, 0), W("happen", NONE, STOP, 0), W("present", NONE, STOP, 0),
	W("appear", NONE, STOP, 0), W("show", NONE, STOP, 0), W("ensure", NONE, STOP, 0),
	W("confirm", NONE, STOP, 0), W("need", NONE, STOP, 0), W("after", NONE, STOP, 0),
	W("before", NONE, STOP, 0), W("during", NONE, STOP, 0), W("while", NONE, STOP, 0),
	W("then", NONE, STOP, 0), W("per", NONE, STOP, 0), W("more", NONE, STOP, 0),
	W("less", NONE, STOP, 0), W("under", NONE, STOP, 0), W("below", NONE, STOP, 0),
	W("above", NONE, STOP, 0), W("within", NONE, STOP, 0), W("stay", NONE, STOP, 0),
	W("remain", NONE, STOP, 0), W("keep", NONE, STOP, 0), W("i", NONE, STOP, 0),
	W("s", NONE, STOP, 0), W("t", NONE, STOP, 0), W("takeplace", NONE, STOP, 0),
	W("expect", NONE, STOP, 0), W("again", NONE, STOP, 0), W("longer", NONE, STOP, 0),
	W("so", NONE, STOP, 0), W("but", NONE, STOP, 0), W("about", NONE, STOP, 0),
	W("respond", NONE, STOP, 0), W("answer", NONE, STOP, 0), W("return", NONE, STOP, 0),
	W("reply", NONE, STOP, 0),
	/* common nouns */
	W("test", NONE, WEAK, 0), W("case", NONE, WEAK, 0), W("suite", NONE, WEAK, 0),
	W("job", NONE, WEAK, 0), W("stage", NONE, WEAK, 0), W("step", NONE, WEAK, 0),
	W("task", NONE, WEAK, 0), W("service", NONE, WEAK, 0), W("user", NONE, WEAK, 0),
	W("pod", NONE, WEAK, 0), W("container", NONE, WEAK, 0), W("instance", NONE, WEAK, 0),
	W("request", NONE, WEAK, 0), W("message", NONE, WEAK, 0), W("log", NONE, WEAK, 0),
	W("row", NONE, WEAK, 0), W("system", NONE, WEAK, 0), W("package", NONE, WEAK, 0),
	W("module", NONE, WEAK, 0), W("operation", NONE, WEAK, 0), W("device", NONE, WEAK, 1),
	W("host", NONE, WEAK, 0), W("node", NONE, WEAK, 0), W("server", NONE, WEAK, 0),
	W("application", NONE, WEAK, 0), W("app", NONE, WEAK, 0), W("file", NONE, WEAK, 0),
	W("table", NONE, WEAK, 1), W("item", NONE, WEAK, 0), W("entry", NONE, WEAK, 0),
	W("record", NONE, WEAK, 0), W("value", NONE, WEAK, 0), W("time", NONE, WEAK, 0),
	W("total", NONE, WEAK, 0), W("version", NONE, WEAK, 0), W("client", NONE, WEAK, 1),
	W("account", NONE, WEAK, 0), W("data", NONE, WEAK, 0), W("component", NONE, WEAK, 0),
	W("info", NONE, WEAK, 0), W("debug", NONE, WEAK, 0),
	W("level", NONE, WEAK, 0), W("msg", NONE, WEAK, 0),
	W("order", NONE, WEAK, 1), W("payment", NONE, WEAK, 1), W("port", NONE, WEAK, 0),
	W("traffic", NONE, WEAK, 0), W("packet", NONE, WEAK, 1), W("number", NONE, WEAK, 0),
	W("worker", NONE, WEAK, 1), W("id", NONE, WEAK, 0), W("name", NONE, WEAK, 0),
	W("resource", NONE, WEAK, 0), W("unit", NONE, WEAK, 0),
	W("build_step", NONE, WEAK, 0), W("previous", NONE, WEAK, 0), W("new", CREATE, WEAK, 0),
	W("ms", NONE, WEAK, 0), W("day", NONE, WEAK, 0), W("pipeline", NONE, WEAK, 0),
	W("spec", NONE, WEAK, 0), W("change", NONE, ACT, 0), W("instead", NONE, STOP, 0),
	/* more words of the same kinds */
	W("degrade", UNHEALTHY, NEG, 2), W("wentout", SEND, ACT, 1), W("goout", SEND, ACT, 1),
	W("ack", ACK, POS, 2), W("acknowledge", ACK, POS, 2), W("lock", LOCK, ACT, 1),
	W("unlock", UNLOCK, ACT, 1), W("imagepullbackoff", ERROR, NEG, 2),
	W("errimagepull", ERROR, NEG, 2), W("stall", CRASH, NEG, 2), W("notice", DETECT, ACT, 1),
	W("spot", DETECT, ACT, 1), W("longest", MAXIMUM, NONE, 0), W("max", MAXIMUM, NONE, 0),
	W("maximum", MAXIMUM, NONE, 0), W("highest", MAXIMUM, NONE, 0),
	W("largest", MAXIMUM, NONE, 0), W("slowest", MAXIMUM, NONE, 0), W("peak", MAXIMUM, NONE, 0),
	W("worst", MAXIMUM, NONE, 0), W("average", AVERAGE, NONE, 0), W("avg", AVERAGE, NONE, 0),
	W("mean", AVERAGE, NONE, 0), W("accuracy", ACCURACY, NONE, 0), W("acc", ACCURACY, NONE, 0),
	W("val", VERIFY, NONE, 0), W("database", DATABASE, WEAK, 0), W("db", DATABASE, WEAK, 0),
	W("postgresql", DATABASE, NONE, 0), W("postgres", DATABASE, NONE, 0),
	W("mysql", DATABASE, NONE, 0), W("mysqld", DATABASE, NONE, 0),
	W("mariadb", DATABASE, NONE, 0), W("mariadbd", DATABASE, NONE, 0),
	W("certificate", CERTIFICATE, NONE, 0), W("cert", CERTIFICATE, NONE, 0),
	W("temperature", TEMPERATURE, NONE, 0), W("temp", TEMPERATURE, NONE, 0),
	W("environment", ENVIRONMENT, WEAK, 0), W("env", ENVIRONMENT, WEAK, 0),
	W("production", PRODUCTION, NONE, 0), W("prod", PRODUCTION, NONE, 0),
	W("repository", REPOSITORY, NONE, 0), W("repo", REPOSITORY, NONE, 0),
	W("password", LOGIN, NONE, 0), W("publickei", LOGIN, NONE, 0), W("pwd", PASSWORD, NONE, 0),
	W("depth", DEPTH, NONE, 0), W("deep", DEPTH, NONE, 0), W("deeper", DEPTH, NONE, 0),
	W("mem", MEMORY, NONE, 0), W("finalize", COMPLETE, POS, 1), W("settle", NONE, ACT, 1),
	W("outage", STOP, NEG, 2), W("interrupt", CRASH, NEG, 2),
	W("compromise", ERROR, NEG, 2), W("infect", ERROR, NEG, 2),
	W("virus", ERROR, NEG, 2), W("erroneous", ERROR, NEG, 2), W("faulty", ERROR, NEG, 2),
	W("refusal", DENY, NEG, 2), W("denial", DENY, NEG, 2),
	W("cancellation", SKIP, SKIP, 1), W("abandon", CRASH, NEG, 2),
	W("rollforward", DEPLOY, ACT, 1), W("inaccessible", DISCONNECT, NEG, 2),
	W("unresponsive", UNHEALTHY, NEG, 2),
	W("uninstall", DELETE, ACT, 1), W("archive", NONE, ACT, 1), W("register", NONE, ACT, 1),
	W("generate", CREATE, ACT, 1), W("export", NONE, ACT, 1), W("transfer", SEND, ACT, 1),
	W("copy", NONE, ACT, 1), W("compress", NONE, ACT, 1), W("encrypt", NONE, ACT, 1),
	W("rotate", NONE, ACT, 1), W("renew", NONE, ACT, 1), W("capture", NONE, ACT, 1),
	W("refund", NONE, ACT, 1), W("charge", NONE, ACT, 1), W("commit", NONE, ACT, 1),
	W("merge", NONE, ACT, 1), W("drain", NONE, ACT, 1), W("evict", NONE, ACT, 1),
	W("prepare", NONE, ACT, 0), W("respawn", RESTART, ACT, 0), W("reset", NONE, ACT, 1),
	W("clear", NONE, ACT, 1), W("resolve", RESOLVE, ACT, 2), W("unaffected", HEALTHY, POS, 1),
	W("intact", VALID, POS, 2), W("consistent", VALID, POS, 1),
	W("inconsistent", INVALID, NEG, 2), W("compliant", VALID, POS, 1), W("clean", VALID, POS, 1),
	W("unclean", INVALID, NEG, 2), W("incorrect", INVALID, NEG, 2),
	W("malformed", INVALID, NEG, 2), W("untrust", INVALID, NEG, 2), W("unknown", NONE, NONE, 0),
	W("quorum", NONE, NONE, 0), W("elect", PROMOTE, ACT, 1),
	W("inhibit", SKIP, SKIP, 1), W("unchanged", SKIP, SKIP, 1), W("uptodate", SKIP, SKIP, 1),
	W("todo", SKIP, SKIP, 1), W("na", SKIP, SKIP, 1), W("deselect", SKIP, SKIP, 2),
	W("notrun", SKIP, SKIP, 2), W("optional", SKIP, NONE, 0), W("segmentation", CRASH, NEG, 2),
	W("sigabrt", CRASH, NEG, 2), W("sigbus", CRASH, NEG, 2), W("monday", MONDAY, NONE, 0),
	W("mon", MONDAY, NONE, 0), W("tuesday", TUESDAY, NONE, 0), W("tue", TUESDAY, NONE, 0),
	W("wednesday", WEDNESDAY, NONE, 0), W("wed", WEDNESDAY, NONE, 0),
	W("thursday", THURSDAY, NONE, 0), W("thu", THURSDAY, NONE, 0), W("friday", FRIDAY, NONE, 0),
	W("fri", FRIDAY, NONE, 0), W("saturday", SATURDAY, NONE, 0), W("sat", SATURDAY, NONE, 0),
	W("sunday", SUNDAY, NONE, 0), W("sun", SUNDAY, NONE, 0),
	W("econnrefused", DISCONNECT, NEG, 2), W("econnreset", DISCONNECT, NEG, 2),
	W("etimedout", TIMEOUT, NEG, 2), W("enoent", ERROR, NEG, 2), W("eacces", DENY, NEG, 2),
	W("eperm", DENY, NEG, 2), W("enospc", ERROR, NEG, 2), W("epipe", DISCONNECT, NEG, 2),
	W("ehostunreach", DISCONNECT, NEG, 2), W("eaddrinuse", ERROR, NEG, 2),
	W("enotfound", ERROR, NEG, 2),
	W("noerror", RESULT, POS, 2), W("nxdomain", ERROR, NEG, 2), W("servfail", ERROR, NEG, 2),
	W("find", DETECT, ACT, 0), W("contact", CONNECT, STATE, 1),
	/* words without weight in an item */
	W("his", NONE, STOP, 0), W("her", NONE, STOP, 0), W("their", NONE, STOP, 0),
	W("our", NONE, STOP, 0), W("they", NONE, STOP, 0), W("them", NONE, STOP, 0),
	W("he", NONE, STOP, 0), W("she", NONE, STOP, 0), W("we", NONE, STOP, 0),
	W("you", NONE, STOP, 0), W("overall", NONE, STOP, 0), W("anywhere", NONE, STOP, 0),
	W("yet", NONE, STOP, 0), W("already", NONE, STOP, 0), W("also", NONE, STOP, 0),
	W("ever", NONE, STOP, 0), W("fully", NONE, STOP, 0),
	W("just", NONE, STOP, 0), W("even", NONE, STOP, 0),
	W("went", NONE, STOP, 0), W("late", NONE, STOP, 0), W("until", NONE, STOP, 0),
	W("because", NONE, STOP, 0), W("via", NONE, STOP, 0), W("against", NONE, STOP, 0),
	W("through", NONE, STOP, 0), W("between", NONE, STOP, 0),
	W("exactly", NONE, STOP, 0), W("prove", NONE, STOP, 0),
	W("indicate", NONE, STOP, 0), W("exist", NONE, STOP, 0),
	W("become", NONE, STOP, 0), W("turn", NONE, STOP, 0), W("cause", NONE, STOP, 0),
	W("two", NONE, STOP, 0), W("three", NONE, STOP, 0), W("four", NONE, STOP, 0),
	W("five", NONE, STOP, 0), W("six", NONE, STOP, 0), W("used", USAGE, NONE, 0),
	W("old", NONE, WEAK, 0), W("require", NONE, WEAK, 0), W("necessary", NONE, WEAK, 0),
	W("endpoint", NONE, WEAK, 0), W("procedure", NONE, WEAK, 0), W("activity", NONE, WEAK, 0),
	W("behavior", NONE, WEAK, 0), W("behaviour", NONE, WEAK, 0), W("phase", NONE, WEAK, 0),
	W("output", NONE, WEAK, 0), W("page", NONE, WEAK, 0), W("url", NONE, WEAK, 0),
	W("call", NONE, WEAK, 0), W("query", NONE, WEAK, 0),
	W("machine", NONE, WEAK, 0), W("address", NONE, WEAK, 0), W("amount", NONE, WEAK, 0),
	W("count", NONE, WEAK, 0), W("size", NONE, WEAK, 0), W("limit", NONE, WEAK, 0),
	W("rate", NONE, WEAK, 0), W("program", NONE, WEAK, 0), W("script", NONE, WEAK, 0),
	W("function", NONE, WEAK, 0), W("method", NONE, WEAK, 0), W("object", NONE, WEAK, 0),
	W("field", NONE, WEAK, 0), W("column", NONE, WEAK, 0), W("point", NONE, WEAK, 0),
	W("response", NONE, WEAK, 0), W("command", NONE, WEAK, 0),
	W("part", NONE, WEAK, 0),
	W("current", NONE, WEAK, 0), W("first", NONE, WEAK, 0), W("second", NONE, WEAK, 0),
	W("minute", NONE, WEAK, 0), W("hour", NONE, WEAK, 0),
	W("group", NONE, WEAK, 0), W("customer", NONE, WEAK, 1),
	W("tenant", NONE, WEAK, 1), W("batch", NONE, WEAK, 1), W("thread", NONE, WEAK, 0),
	W("mode", NONE, WEAK, 0), W("type", NONE, WEAK, 0), W("line", NONE, WEAK, 0),
	/* paraphrases of operations */
	W("fire", FIRE, ACT, 1), W("trigger", FIRE, ACT, 1), W("wentlive", DEPLOY, ACT, 1),
	W("golive", DEPLOY, ACT, 1), W("useradd", CREATE, ACT, 1), W("userdel", DELETE, ACT, 1),
	W("groupadd", CREATE, ACT, 1), W("groupdel", DELETE, ACT, 1), W("override", NONE, ACT, 1),
	W("readonli", READONLY, NEG, 1), W("runout", ERROR, NEG, 2), W("snapshot", BACKUP, NONE, 0),
	W("dump", BACKUP, ACT, 1), W("lockout", LOCK, ACT, 1), W("mitigate", RESOLVE, ACT, 1),
	W("repair", RESOLVE, ACT, 1), W("fix", RESOLVE, ACT, 1),
	W("leader", LEADER, NONE, 0),
	W("primary", LEADER, NONE, 0), W("master", LEADER, NONE, 0), W("replica", REPLICA, NONE, 0),
	W("standby", REPLICA, NONE, 0), W("follower", REPLICA, NONE, 0),
	W("secondary", REPLICA, NONE, 0), W("slave", REPLICA, NONE, 0), W("post", CREATE, NONE, 0),
	W("patch", UPDATE, NONE, 0), W("report", NONE, WEAK, 0), W("produce", NONE, STOP, 0), W("emit", NONE, STOP, 0),
	W("outbound", NONE, NONE, 0), W("silence", SKIP, ACT, 1),
	W("whitelist", ALLOW, ACT, 1), W("blacklist", DENY, ACT, 1), W("decommission", DELETE, ACT, 1),
	W("freeze", CRASH, NEG, 2), W("unmet", RESULT, NEG, 2), W("undeployed", DELETE, ACT, 1),
	W("nok", RESULT, NEG, 3), W("ko", RESULT, NEG, 2),
	W("delay", LATENCY, NONE, 0), W("runtime", LATENCY, NONE, 0), W("rtt", LATENCY, NONE, 0),
	/* outcomes in other languages: German, French, Spanish, Italian, Portuguese, Dutch */
	W("erfolgreich", RESULT, POS, 2), W("erfolg", RESULT, POS, 2),
	W("bestanden", RESULT, POS, 2), W("fehlgeschlagen", RESULT, NEG, 2),
	W("gescheitert", RESULT, NEG, 2), W("fehlschlag", RESULT, NEG, 2),
	W("fehler", ERROR, NEG, 2), W("fehlerhaft", ERROR, NEG, 2), W("ausnahme", ERROR, NEG, 1),
	W("warnung", WARNING, NONE, 1), W("abgebrochen", CRASH, NEG, 2), W("abbruch", CRASH, NEG, 2),
	W("abgest\xc3\xbcrzt", CRASH, NEG, 2), W("absturz", CRASH, NEG, 2),
	W("\xc3\xbc" "bersprungen", SKIP, SKIP, 2), W("ausgelassen", SKIP, SKIP, 2),
	W("ignoriert", SKIP, SKIP, 2), W("verschoben", SKIP, SKIP, 1),
	W("deaktiviert", DISABLE, SKIP, 2), W("aktiviert", ENABLE, STATE, 1),
	W("abgeschlossen", COMPLETE, POS, 2), W("beendet", COMPLETE, POS, 2),
	W("fertig", COMPLETE, POS, 2), W("gestartet", START, ACT, 0), W("bereit", START, STATE, 2),
	W("gestoppt", STOP, ACT, 0), W("angehalten", STOP, ACT, 0), W("gespeichert", WRITE, ACT, 1),
	W("geschrieben", WRITE, ACT, 1), W("gesichert", BACKUP, ACT, 1),
	W("wiederhergestellt", RESTORE, POS, 2), W("gel\xc3\xb6scht", DELETE, ACT, 1),
	W("erstellt", CREATE, ACT, 1), W("angelegt", CREATE, ACT, 1), W("erzeugt", CREATE, ACT, 1),
	W("generiert", CREATE, ACT, 1), W("aktualisiert", UPDATE, ACT, 1),
	W("installiert", INSTALL, ACT, 1), W("gesendet", SEND, ACT, 1), W("versendet", SEND, ACT, 1),
	W("zugestellt", SEND, ACT, 2), W("abgelehnt", DENY, NEG, 2), W("verweigert", DENY, NEG, 2),
	W("blockiert", DENY, NEG, 2), W("zugelassen", ALLOW, POS, 2), W("erlaubt", ALLOW, POS, 2),
	W("genehmigt", ALLOW, POS, 2), W("akzeptiert", ALLOW, POS, 2),
	W("verbunden", CONNECT, ACT, 1), W("verbindung", CONNECT, ACT, 0),
	W("getrennt", DISCONNECT, NEG, 2), W("erreichbar", CONNECT, STATE, 1),
	W("unerreichbar", DISCONNECT, NEG, 2), W("verf\xc3\xbcgbar", HEALTHY, STATE, 1),
	W("anmeldung", LOGIN, ACT, 0), W("angemeldet", LOGIN, ACT, 0), W("anmelden", LOGIN, ACT, 0),
	W("abgemeldet", LOGOUT, ACT, 0), W("abmeldung", LOGOUT, ACT, 0),
	W("zeit\xc3\xbc" "berschreitung", TIMEOUT, NEG, 2), W("ung\xc3\xbcltig", INVALID, NEG, 2),
	W("g\xc3\xbcltig", VALID, POS, 1), W("falsch", RESULT, NEG, 2), W("fehlt", ERROR, NEG, 2),
	W("nicht", NONE, NOT, 0), W("kein", NONE, NOT, 0),
	W("keinen", NONE, NOT, 0), W("ohne", NONE, NOT, 0), W("niemals", NONE, NOT, 0),
	W("ist", NONE, STOP, 0), W("wurde", NONE, STOP, 0), W("wurden", NONE, STOP, 0),
	W("hat", NONE, STOP, 0), W("sich", NONE, STOP, 0), W("konnte", NONE, STOP, 0),
	W("werden", NONE, STOP, 0), W("wird", NONE, STOP, 0), W("der", NONE, STOP, 0),
	W("das", NONE, STOP, 0), W("den", NONE, STOP, 0), W("dem", NONE, STOP, 0),
	W("und", NONE, STOP, 0), W("mit", NONE, STOP, 0), W("von", NONE, STOP, 0),
	W("eine", NONE, STOP, 0), W("einen", NONE, STOP, 0), W("benutzer", NONE, WEAK, 0),
	W("datei", NONE, WEAK, 0), W("dienst", NONE, WEAK, 0),
	W("r\xc3\xa9ussi", RESULT, POS, 2),
	W("succ\xc3\xa8s", RESULT, POS, 2), W("\xc3\xa9" "chou\xc3\xa9", RESULT, NEG, 2),
	W("\xc3\xa9" "chec", RESULT, NEG, 2),
	W("erreur", ERROR, NEG, 2), W("termin\xc3\xa9", COMPLETE, POS, 2),
	W("ignor\xc3\xa9", SKIP, SKIP, 2),
	W("d\xc3\xa9marr\xc3\xa9", START, ACT, 0),
	W("refus\xc3\xa9", DENY, NEG, 2),
	W("d\xc3\xa9sactiv\xc3\xa9", DISABLE, SKIP, 2), W("enregistr\xc3\xa9", WRITE, ACT, 1),
	W("connexion", CONNECT, ACT, 0), W("aucun", NONE, NOT, 0),
	W("sans", NONE, NOT, 0), W("exitoso", RESULT, POS, 2), W("exitosa", RESULT, POS, 2),
	W("\xc3\xa9xito", RESULT, POS, 2), W("fallido", RESULT, NEG, 2),
	W("fallida", RESULT, NEG, 2), W("fall\xc3\xb3", RESULT, NEG, 2),
	W("completado", COMPLETE, POS, 2),
	W("completada", COMPLETE, POS, 2), W("terminado", COMPLETE, POS, 2),
	W("termin\xc3\xb3", COMPLETE, POS, 2), W("omitido", SKIP, SKIP, 2),
	W("omitida", SKIP, SKIP, 2), W("iniciado", START, ACT, 0), W("rechazado", DENY, NEG, 2),
	W("rechazada", DENY, NEG, 2), W("denegado", DENY, NEG, 2), W("guardado", WRITE, ACT, 1),
	W("generada", CREATE, ACT, 1), W("generado", CREATE, ACT, 1),
	W("desactivado", DISABLE, SKIP, 2), W("sin", NONE, NOT, 0), W("ning\xc3\xban", NONE, NOT, 0),
	W("riuscito", RESULT, POS, 2), W("fallito", RESULT, NEG, 2),
	W("completato", COMPLETE, POS, 2), W("saltato", SKIP, SKIP, 2), W("sucesso", RESULT, POS, 2),
	W("falhou", RESULT, NEG, 2), W("falha", RESULT, NEG, 2),
	W("conclu\xc3\xad" "do", COMPLETE, POS, 2), W("ignorado", SKIP, SKIP, 2),
	W("geslaagd", RESULT, POS, 2), W("mislukt", RESULT, NEG, 2), W("fout", ERROR, NEG, 2),
	W("\xe6\x88\x90\xe5\x8a\x9f", RESULT, POS, 2), W("\xe5\xa4\xb1\xe6\x95\x97", RESULT, NEG, 2),
	W("\xe5\xa4\xb1\xe8\xb4\xa5", RESULT, NEG, 2), W("\xe5\xae\x8c\xe4\xba\x86", COMPLETE, POS, 2),
	W("\xe5\xae\x8c\xe6\x88\x90", COMPLETE, POS, 2),
	W("\xe3\x82\xb9\xe3\x82\xad\xe3\x83\x83\xe3\x83\x97", SKIP, SKIP, 2),
	W("\xe8\xb7\xb3\xe8\xbf\x87", SKIP, SKIP, 2),
	W("\xe3\x82\xa8\xe3\x83\xa9\xe3\x83\xbc", ERROR, NEG, 2), W("\xe9\x94\x99\xe8\xaf\xaf", ERROR, NEG, 2),
	W("\xd1\x83\xd1\x81\xd0\xbf\xd0\xb5\xd1\x88\xd0\xbd\xd0\xbe", RESULT, POS, 2),
	W("\xd0\xbe\xd1\x88\xd0\xb8\xd0\xb1\xd0\xba\xd0\xb0", ERROR, NEG, 2),
	W("\xd0\xbf\xd1\x80\xd0\xbe\xd0\xbf\xd1\x83\xd1\x89\xd0\xb5\xd0\xbd\xd0\xbe", SKIP, SKIP, 2),
	W("saltata", SKIP, SKIP, 2), W("fallita", RESULT, NEG, 2), W("rifiutata", DENY, NEG, 2),
	W("riuscita", RESULT, POS, 2), W("completata", COMPLETE, POS, 2), W("reservation", ACQUIRE, ACT, 0),
	W("reserve", ACQUIRE, ACT, 1), W("internal", NONE, WEAK, 0),
	W("voltooid", COMPLETE, POS, 2), W("overgeslagen", SKIP, SKIP, 2),
};
/* clang-format on */

#undef W

void
ls_judge_words_init(ls_judge_words *words)
{
	words->table = table;
	words->n = (int) (sizeof(table) / sizeof(table[0]));
	memset(words->hash, 0, sizeof(words->hash));
	for (int i = 1; i < words->n; i++)
	{
		uint64_t stem = ls_judge_stem(table[i].text, strlen(table[i].text));
		uint32_t slot = (uint32_t) stem & (LS_WORDS_HASH - 1);

		while (words->hash[slot] != 0 && words->hash[slot] != stem)
			slot = (slot + 1) & (LS_WORDS_HASH - 1);
		if (words->hash[slot] == stem)
			continue; /* the first entry of a stem counts */
		words->hash[slot] = stem;
		words->index[slot] = (uint16_t) i;
	}
}

uint16_t
ls_judge_words_find(const ls_judge_words *words, uint64_t stem)
{
	uint32_t slot = (uint32_t) stem & (LS_WORDS_HASH - 1);

	while (words->hash[slot] != 0)
	{
		if (words->hash[slot] == stem)
			return words->index[slot];
		slot = (slot + 1) & (LS_WORDS_HASH - 1);
	}
	return 0;
}

/* What a word says when the item says its contrary. */
ls_judge_concept
ls_judge_concept_opposite(ls_judge_concept c)
{
	static const uint8_t pairs[][2] = {
		{LS_CONCEPT_START, LS_CONCEPT_STOP},         {LS_CONCEPT_HEALTHY, LS_CONCEPT_UNHEALTHY},
		{LS_CONCEPT_CONNECT, LS_CONCEPT_DISCONNECT}, {LS_CONCEPT_ALLOW, LS_CONCEPT_DENY},
		{LS_CONCEPT_OPEN, LS_CONCEPT_CLOSE},         {LS_CONCEPT_ENABLE, LS_CONCEPT_DISABLE},
		{LS_CONCEPT_ACQUIRE, LS_CONCEPT_LOSS},       {LS_CONCEPT_JOIN, LS_CONCEPT_LEAVE},
		{LS_CONCEPT_VALID, LS_CONCEPT_INVALID},      {LS_CONCEPT_LOCK, LS_CONCEPT_UNLOCK},
		{LS_CONCEPT_FIRE, LS_CONCEPT_RESOLVE},       {LS_CONCEPT_WRITE, LS_CONCEPT_READONLY},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
	{
		if (pairs[i][0] == c)
			return (ls_judge_concept) pairs[i][1];
		if (pairs[i][1] == c)
			return (ls_judge_concept) pairs[i][0];
	}
	return LS_CONCEPT_NONE;
}

bool
ls_judge_concept_related(ls_judge_concept a, ls_judge_concept b)
{
	static const uint8_t pairs[][2] = {
		{LS_CONCEPT_DEPLOY, LS_CONCEPT_UPDATE},  {LS_CONCEPT_DEPLOY, LS_CONCEPT_INSTALL},
		{LS_CONCEPT_UPDATE, LS_CONCEPT_INSTALL}, {LS_CONCEPT_DEPLOY, LS_CONCEPT_PROMOTE},
		{LS_CONCEPT_FETCH, LS_CONCEPT_LOAD},     {LS_CONCEPT_WRITE, LS_CONCEPT_BACKUP},
		{LS_CONCEPT_CREATE, LS_CONCEPT_INSTALL}, {LS_CONCEPT_APPLY, LS_CONCEPT_UPDATE},
		{LS_CONCEPT_LOGIN, LS_CONCEPT_ALLOW},    {LS_CONCEPT_CREATE, LS_CONCEPT_WRITE},
		{LS_CONCEPT_STOP, LS_CONCEPT_CRASH},     {LS_CONCEPT_JOIN, LS_CONCEPT_CREATE},
		{LS_CONCEPT_DELETE, LS_CONCEPT_LEAVE},   {LS_CONCEPT_RESTORE, LS_CONCEPT_RESOLVE},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if ((pairs[i][0] == a && pairs[i][1] == b) || (pairs[i][0] == b && pairs[i][1] == a))
			return true;
	return false;
}
