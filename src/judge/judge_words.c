/*-------------------------------------------------------------------------
 *
 * judge_words.c
 *	  The word list of the built-in evaluator (pure).
 *
 * Which words of logs mean the same (a concept), which tell an outcome by themselves (a
 * polarity and its strength), and which say nothing.  One table, so that the evaluator's
 * knowledge of English is in one place and can be read as a list.  Words are compared by stem; no
 * two words of the table have the same.  A verb with a particle is written as one word
 * ("rollback").  The names of one database product are a group of their own.
 *
 *-------------------------------------------------------------------------
 */
#include "src/judge/judge_internal.h"

/* A group of words that mean the same to the evaluator. */
#define W(concept, pol, strength, words)                    \
	{                                                       \
		words, LS_CONCEPT_##concept, LS_POL_##pol, strength \
	}

/* clang-format off */
static const ls_judge_word table[] = {
	{NULL, 0, 0, 0}, /* entry 0 means none */
	W(RESULT, POS, 3, "pass xpass \342\234\223 \342\234\224 \342\234\205 \342\210\232"),
	W(RESULT, POS, 2, "success succeed successful ok okay noerror erfolgreich erfolg bestanden "
	  "r\303\251ussi succ\303\250s exitoso exitosa \303\251xito riuscito sucesso geslaagd "
	  "\346\210\220\345\212\237 \321\203\321\201\320\277\320\265\321\210\320\275\320\276 "
	  "riuscita"),
	W(RESULT, POS, 1, "green good work"),
	W(RESULT, NEG, 2, "fail failure unsuccessful broken wrong unmet ko fehlgeschlagen "
	  "gescheitert fehlschlag falsch \303\251chou\303\251 \303\251chec fallido fallida "
	  "fall\303\263 fallito falhou falha mislukt \345\244\261\346\225\227 "
	  "\345\244\261\350\264\245 fallita"),
	W(RESULT, NEG, 3, "xfail \342\234\225 \342\234\227 \342\234\230 \342\235\214 \342\234\226 "
	  "givup gavup nok"),
	W(RESULT, NEG, 1, "red bad"),
	W(COMPLETE, POS, 2, "complete finish done conclude abgeschlossen beendet fertig "
	  "termin\303\251 completado completada terminado termin\303\263 completato conclu\303\255do "
	  "\345\256\214\344\272\206 \345\256\214\346\210\220 completata voltooid"),
	W(COMPLETE, NEG, 2, "incomplete unfinished partial partially_done"),
	W(COMPLETE, POS, 1, "met achieve finalize"),
	W(ERROR, NEG, 2, "error err exception fault fatal critical crit emerg severe traceback "
	  "stacktrace corrupt mismatch violation breach overflow overload missing insufficient "
	  "exhaust imagepullbackoff errimagepull compromise infect virus erroneous faulty enoent "
	  "enospc eaddrinuse enotfound nxdomain servfail runout fehler fehlerhaft fehlt erreur fout "
	  "\343\202\250\343\203\251\343\203\274 \351\224\231\350\257\257 "
	  "\320\276\321\210\320\270\320\261\320\272\320\260"),
	W(ERROR, NEG, 1, "conflict undefined unexpected unresolved stale starve ausnahme"),
	W(CRASH, NEG, 2, "panic crash segfault sigsegv coredump cordump dumpcore crashloop "
	  "crashloopbackoff die died dead killed segmentation sigabrt sigbus abgest\303\274rzt absturz"),
	/* None of these is the end of the process. */
	W(HANG, NEG, 2, "hang stuck hung deadlock stall freeze"),
	W(ABORT, NEG, 2, "abort interrupt abandon abgebrochen abbruch"),
	W(NONE, NONE, 0, "core duplicate flag free unknown quorum outbound"),
	W(NONE, NEG, 2, "exceed cannot unable couldn"),
	W(NONE, NEG, 1, "leak"),
	W(NONE, PART, 0, "progress still waiting"),
	W(NONE, ACT, 0, "schedule change prepare settle archive register export copy compress "
	  "encrypt rotate renew capture refund charge commit merge drain evict reset clear override"),
	W(NONE, NOT, 0, "no not never without none neither nor zero nothing nobody didn doesn isn "
	  "wasn don hasn aren weren nicht kein keinen ohne niemals aucun sans sin ning\303\272n"),
	W(NONE, ALL, 0, "all every each both always whole entire"),
	W(NONE, ANY, 0, "any some"),
	W(NONE, KEY, 0, "status result outcome state res verdict decision conclusion action event rc "
	  "code statuscode"),
	W(NONE, STOP, 0, "a an the of to in on at is are was were be been and or that this these "
	  "those it its for from with by as has have had do does did will would should must can "
	  "could may might there which who what when where whether if than into out over back get "
	  "got go goe come end eventually finally last least most only one own correctly properly "
	  "actually visible see seen observe occur happen present appear show ensure confirm need "
	  "after before during while then per more less under below above within stay remain keep i "
	  "s t takeplace expect again longer so but about respond answer return reply instead his "
	  "her their our they them he she we you overall anywhere yet already also ever fully just "
	  "even went late until because via against through between exactly prove indicate exist "
	  "become turn cause two three four five six produce emit ist wurde wurden hat sich konnte "
	  "werden wird der das den dem und mit von eine einen"),
	W(NONE, WEAK, 0, "test case suite job stage step task service user pod container instance "
	  "request message log row system package module operation host node server application app "
	  "file item entry record value time total version account data component info debug level "
	  "msg port traffic number id name resource unit build_step previous ms day pipeline spec "
	  "old require necessary endpoint procedure activity behavior behaviour phase output page "
	  "url call query machine address amount count size limit rate program script function "
	  "method object field column point response command part current first second minute hour "
	  "group thread mode type line report benutzer datei dienst internal"),
	W(NONE, WEAK, 1, "device table client order payment packet worker customer tenant batch"),
	W(MEMORY, NEG, 2, "oom oomkilled"),
	W(MEMORY, NONE, 0, "memory mem"),
	W(STOP, NEG, 2, "halt notready nodenotready down offline godown goedown outage"),
	W(STOP, ACT, 0, "stop shutdown terminate exit quit gestoppt angehalten"),
	W(STOP, NEG, 1, "inactive"),
	W(RETRY, NEG, 1, "backoff"),
	W(RETRY, ACT, 0, "retry"),
	W(RETRY, WEAK, 0, "attempt tries"),
	W(TIMEOUT, NEG, 2, "timeout timout overdue etimedout zeit\303\274berschreitung"),
	W(TIMEOUT, NEG, 1, "deadline"),
	W(UNHEALTHY, NEG, 2, "unavailable unstable degrade unresponsive"),
	W(UNHEALTHY, NEG, 3, "unhealthy"),
	W(DISCONNECT, NEG, 2, "unreachable disconnect inaccessible econnrefused econnreset epipe "
	  "ehostunreach getrennt unerreichbar"),
	W(SEND, NEG, 2, "undelivered bounce"),
	W(SEND, ACT, 0, "send dispatch wentout goout transfer gesendet versendet sent deliver "
	  "zugestellt delivery"),
	W(DETECT, ACT, 0, "alarm detect alert identify notice spot found find"),
	W(LOSS, NONE, 0, "vanish"),
	W(LOSS, NEG, 2, "lost lose"),
	W(WARNING, NONE, 1, "warn warnung"),
	W(DENY, NEG, 2, "throttle nack dhcpnak deny block reject refuse decline drop forbid "
	  "forbidden unauthorized unauthorised unauthenticated disallow prohibit stopped_attack "
	  "refusal denial eacces eperm abgelehnt verweigert blockiert refus\303\251 rechazado "
	  "rechazada denegado rifiutata"),
	W(DENY, NEG, 1, "quarantine"),
	W(DENY, ACT, 0, "revoke blacklist"),
	W(ALLOW, POS, 2, "dhcpack allow accept grant permit approve zugelassen erlaubt genehmigt "
	  "akzeptiert"),
	W(ALLOW, ACT, 0, "authorize authorise approval whitelist"),
	W(LOGIN, ACT, 0, "login logon signin signon authenticate auth anmeldung angemeldet anmelden"),
	W(LOGIN, WEAK, 0, "session"),
	W(LOGIN, NONE, 0, "password publickei"),
	W(LOGOUT, ACT, 0, "logout logoff signout abgemeldet abmeldung"),
	W(START, ACT, 0, "start startup launch boot bootup initialize initialise init gestartet "
	  "d\303\251marr\303\251 iniciado"),
	W(START, PART, 0, "begin"),
	W(START, STATE, 1, "up listen active comup camup bringup serving"),
	W(START, STATE, 2, "ready online alive bereit"),
	W(START, STATE, 0, "readiness run"),
	W(CONNECT, STATE, 1, "reach reachable contact erreichbar"),
	W(CONNECT, ACT, 0, "connect verbindung connexion verbunden"),
	W(CONNECT, POS, 2, "reconnect"),
	W(CONNECT, STATE, 2, "establish"),
	W(RESTART, ACT, 0, "restart reboot respawn"),
	W(CONFIG, ACT, 0, "reload configure reconfigure"),
	W(CONFIG, WEAK, 0, "configuration config"),
	W(HEALTHY, POS, 2, "healthy"),
	W(HEALTHY, WEAK, 0, "health"),
	W(HEALTHY, STATE, 1, "available stable verf\303\274gbar"),
	W(HEALTHY, POS, 1, "unaffected"),
	W(OPEN, STATE, 0, "open"),
	W(CLOSE, ACT, 0, "close"),
	W(ENABLE, STATE, 1, "enable aktiviert"),
	W(DISABLE, SKIP, 2, "disable deaktiviert d\303\251sactiv\303\251 desactivado"),
	W(DISABLE, SKIP, 1, "deactivate"),
	W(DISABLE, STOP, 0, "off"),
	W(ACQUIRE, ACT, 0, "acquire obtain reserve reservation"),
	W(RELEASE, ACT, 0, "release"),
	W(JOIN, ACT, 0, "join member"),
	W(LEAVE, ACT, 0, "leave left"),
	W(VALID, POS, 1, "valid consistent compliant clean g\303\274ltig"),
	W(VALID, POS, 2, "intact"),
	W(INVALID, NEG, 2, "invalid inconsistent unclean incorrect malformed untrust ung\303\274ltig"),
	W(EXPIRE, NEG, 1, "expire"),
	W(MOUNT, ACT, 0, "mount unmount"),
	W(PROMOTE, ACT, 0, "promote elect"),
	W(SCALE, ACT, 0, "scale rescale resize"),
	W(DEPLOY, ACT, 0, "deploy rollout rollforward wentlive golive"),
	W(UPDATE, ACT, 0, "update upgrade aktualisiert"),
	W(UPDATE, NONE, 0, "patch"),
	W(INSTALL, ACT, 0, "install installation installiert"),
	W(CREATE, ACT, 0, "create add made make provision generate useradd groupadd erstellt "
	  "angelegt erzeugt generiert generada generado"),
	W(CREATE, WEAK, 0, "new"),
	W(CREATE, NONE, 0, "post"),
	W(DELETE, ACT, 0, "delete del remove removal destroy destruction purge uninstall userdel "
	  "groupdel decommission undeployed gel\303\266scht"),
	W(APPLY, ACT, 0, "apply migrate"),
	W(EXECUTE, ACT, 0, "execute perform carriout process"),
	W(VERIFY, ACT, 0, "inspect verify validate verification check"),
	W(VERIFY, NONE, 0, "val"),
	W(BACKUP, ACT, 0, "backup dump gesichert"),
	W(BACKUP, NONE, 0, "snapshot"),
	W(RESTORE, POS, 2, "restore recover wiederhergestellt"),
	W(RESTORE, ACT, 0, "recovery"),
	W(RESTORE, POS, 1, "resume"),
	W(PUBLISH, ACT, 0, "publish push upload"),
	W(FETCH, ACT, 0, "download pull fetch retrieve"),
	W(SYNC, ACT, 0, "sync synchronize synchronise synchronisation synchronization replicate"),
	W(BUILD, ACT, 0, "build built compile"),
	W(LOAD, ACT, 0, "load import ingest"),
	W(WRITE, ACT, 0, "write written wrote save persist flush gespeichert geschrieben "
	  "enregistr\303\251 guardado store"),
	W(ROLLBACK, ACT, 0, "rollback rolledback revert"),
	W(LATENCY, NONE, 0, "latency duration elapsed delay runtime rtt"),
	W(LATENCY, STOP, 0, "took take"),
	W(USAGE, NONE, 0, "usage use utilization utilisation used"),
	W(SKIP, SKIP, 2, "skip ignore bypass omit postpone dryrun drirun noop masked exempt exclude "
	  "optout unneeded turnoff switchoff deselect notrun \303\274bersprungen ausgelassen "
	  "ignoriert ignor\303\251 omitido omitida saltato ignorado "
	  "\343\202\271\343\202\255\343\203\203\343\203\227 \350\267\263\350\277\207 "
	  "\320\277\321\200\320\276\320\277\321\203\321\211\320\265\320\275\320\276 saltata "
	  "overgeslagen"),
	W(SKIP, SKIP, 1, "defer cancel cancelled pause suppress suspend pend maintenance discard "
	  "cancellation inhibit unchanged uptodate todo na verschoben"),
	W(SKIP, SKIP, 3, "\342\227\213 xskip"),
	W(SKIP, NONE, 0, "optional"),
	W(SKIP, ACT, 0, "silence"),
	W(ACK, POS, 2, "ack acknowledge"),
	W(LOCK, ACT, 0, "lock lockout"),
	W(UNLOCK, ACT, 0, "unlock"),
	W(MAXIMUM, NONE, 0, "longest max maximum highest largest slowest peak worst"),
	W(AVERAGE, NONE, 0, "average avg mean"),
	W(ACCURACY, NONE, 0, "accuracy acc"),
	W(DATABASE, WEAK, 0, "database db"),
	W(DATABASE, NONE, 0, "postgresql postgres"),
	W(DATABASE, NONE, 0, "mysql mysqld"),
	W(DATABASE, NONE, 0, "mariadb mariadbd"),
	W(CERTIFICATE, NONE, 0, "certificate cert"),
	W(TEMPERATURE, NONE, 0, "temperature temp"),
	W(ENVIRONMENT, WEAK, 0, "environment env"),
	W(PRODUCTION, NONE, 0, "production prod"),
	W(REPOSITORY, NONE, 0, "repository repo"),
	W(PASSWORD, NONE, 0, "pwd"),
	W(DEPTH, NONE, 0, "depth deep deeper"),
	W(RESOLVE, ACT, 0, "resolve mitigate repair fix"),
	W(MONDAY, NONE, 0, "monday mon"),
	W(TUESDAY, NONE, 0, "tuesday tue"),
	W(WEDNESDAY, NONE, 0, "wednesday wed"),
	W(THURSDAY, NONE, 0, "thursday thu"),
	W(FRIDAY, NONE, 0, "friday fri"),
	W(SATURDAY, NONE, 0, "saturday sat"),
	W(SUNDAY, NONE, 0, "sunday sun"),
	W(FIRE, ACT, 0, "fire trigger"),
	W(READONLY, NEG, 1, "readonli"),
	W(LEADER, NONE, 0, "leader primary master"),
	W(REPLICA, NONE, 0, "replica standby follower secondary slave"),
};
/* clang-format on */

#undef W

/* clang-format off */
static const char *const sets[] = {
#define S(name, words) words,
	LS_JUDGE_SETS(S)
#undef S
};
/* clang-format on */

/* Where the hash is in a table, or would be. */
static uint32_t
slot_of(const uint64_t *hashes, uint64_t hash)
{
	uint32_t slot = (uint32_t) hash & (LS_WORDS_HASH - 1);

	while (hashes[slot] != 0 && hashes[slot] != hash)
		slot = (slot + 1) & (LS_WORDS_HASH - 1);
	return slot;
}

/* The number of a combination of sets. */
static uint8_t
combination(ls_judge_words *words, uint64_t mask)
{
	int k = 0;

	while (k < words->n_masks && words->masks[k] != mask)
		k++;
	words->masks[k] = mask;
	words->n_masks += k == words->n_masks;
	return (uint8_t) k;
}

void
ls_judge_words_init(ls_judge_words *words)
{
	memset(words, 0, sizeof(*words));
	words->table = table;
	words->n = (int) (sizeof(table) / sizeof(table[0]));
	words->n_masks = 1; /* in no set */
	for (int i = 1; i < words->n; i++)
		for (const char *word = table[i].words; *word != '\0';)
		{
			size_t len = strcspn(word, " ");
			uint64_t stem = ls_judge_stem(word, len);
			uint32_t slot = slot_of(words->hash, stem);

			words->hash[slot] = stem;
			words->index[slot] = (uint16_t) i;
			word += len + (word[len] == ' ');
		}
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		for (const char *word = sets[i]; *word != '\0';)
		{
			size_t len = strcspn(word, " ");
			uint64_t hash = ls_judge_hash_word(word, len);
			uint32_t slot = slot_of(words->set_hash, hash);

			words->set_hash[slot] = hash;
			words->sets[slot] =
				combination(words, words->masks[words->sets[slot]] | UINT64_C(1) << i);
			word += len + (word[len] == ' ');
		}
}

uint16_t
ls_judge_words_find(const ls_judge_words *words, uint64_t stem)
{
	return words->index[slot_of(words->hash, stem)]; /* 0 where there is none */
}

uint8_t
ls_judge_words_sets(const ls_judge_words *words, uint64_t hash)
{
	return words->sets[slot_of(words->set_hash, hash)];
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
