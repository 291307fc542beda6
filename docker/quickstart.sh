#!/bin/bash
# make quickstart: a running service in a private cluster, with real logs in it.
#
# Environment: DATA, HTTP_PORT, PG_PORT, PG_CONFIG.  Run by make after the
# extension was built and installed.  Idempotent: a second run starts what is
# not running and makes what is missing.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bindir=$("$PG_CONFIG" --bindir)
mkdir -p "$DATA" "$here/../build"
DATA=$(cd "$DATA" && pwd)
echo "$DATA" > "$here/../build/quickstart" # for make stop
cluster=$DATA/cluster

# PostgreSQL does not run as root: then the cluster is postgres's.  The
# capability lets it pass through directories of root that lead to DATA.
as_owner=()
superuser=$(id -un)
if [ "$(id -u)" -eq 0 ]; then
	superuser=postgres
	as_owner=(setpriv --reuid=postgres --regid=postgres --clear-groups
		--inh-caps=+dac_read_search --ambient-caps=+dac_read_search)
	if ! "${as_owner[@]}" true 2> /dev/null; then
		as_owner=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	fi
	chown postgres "$DATA"
	# By writing: access(2), which test asks, does not count capabilities.
	if ! "${as_owner[@]}" touch "$DATA/.writable" 2> /dev/null; then
		echo "user postgres cannot write to $DATA; choose another place: make quickstart DATA=..." >&2
		exit 1
	fi
fi

# Bold, but not in a file or a pipe.
if [ -t 1 ]; then
	say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
else
	say() { printf '\n%s\n' "$*"; }
fi
psql_db() { "$bindir/psql" -X -q -h 127.0.0.1 -p "$PG_PORT" -U "$superuser" -d logsvc -v ON_ERROR_STOP=1 "$@"; }

# ---- the cluster ----

if [ ! -e "$cluster/PG_VERSION" ]; then
	say "Making a cluster in $cluster"
	"${as_owner[@]}" "$bindir/initdb" -D "$cluster" -U "$superuser" --auth=trust --encoding=UTF8 \
		--locale=C.UTF-8 --no-instructions > /dev/null
fi
"${as_owner[@]}" tee "$cluster/logsvc.conf" > /dev/null <<CONF
# Written by make quickstart.
listen_addresses = '127.0.0.1'
port = $PG_PORT
unix_socket_directories = ''
shared_preload_libraries = 'logsvc'
max_worker_processes = 32
max_locks_per_transaction = 256
logsvc.database = 'logsvc'
logsvc.listen_addresses = '127.0.0.1'
logsvc.port = $HTTP_PORT
# Where evaluations run: the built-in evaluator runs in this server, so this
# says where the server is.
logsvc.model_region = 'eu'
# One person tries it: a limit of 10 searches a minute would only be in the way.
logsvc.limits = 'generous'
# So that alert rules may call receivers on this machine.
logsvc.webhook_networks = '127.0.0.0/8'
logging_collector = on
log_directory = '$DATA/log'
log_filename = 'postgresql.log'
log_file_mode = 0644
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
log_connections = on
CONF
grep -q "^include 'logsvc.conf'" "$cluster/postgresql.conf" ||
	"${as_owner[@]}" sh -c "echo \"include 'logsvc.conf'\" >> '$cluster/postgresql.conf'"

if "${as_owner[@]}" "$bindir/pg_ctl" -D "$cluster" status > /dev/null 2>&1; then
	"${as_owner[@]}" "$bindir/pg_ctl" -D "$cluster" -m fast -w stop > /dev/null
fi
say "Starting PostgreSQL on port $PG_PORT and logsvc on port $HTTP_PORT"
if ! "${as_owner[@]}" "$bindir/pg_ctl" -D "$cluster" -w -t 30 -l "$DATA/start.log" start > /dev/null; then
	cat "$DATA/start.log" "$DATA/log/postgresql.log" 2> /dev/null | tail -20 >&2
	exit 1
fi
"$bindir/psql" -X -q -h 127.0.0.1 -p "$PG_PORT" -U "$superuser" -d postgres -Atc \
	"SELECT 1 FROM pg_database WHERE datname = 'logsvc'" | grep -q 1 ||
	"$bindir/createdb" -h 127.0.0.1 -p "$PG_PORT" -U "$superuser" logsvc
psql_db -c "SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS logsvc"
psql_db -f "$here/tenant-rights.sql"

url=http://127.0.0.1:$HTTP_PORT
for attempt in $(seq 150); do
	curl -fsS -o /dev/null "$url/readyz" 2> /dev/null && break
	if [ "$attempt" -eq 150 ]; then
		echo "the service did not become ready; the end of its log:" >&2
		tail -20 "$DATA/log/postgresql.log" >&2
		exit 1
	fi
	sleep 0.1
done

# ---- an organization, a user, credentials ----

if ! grep -q '^LOGSVC_PAT=pat_' "$DATA/env" 2> /dev/null; then
	say "Making organization quickstart with a user, a token and keys"
	(umask 077 && psql_db -At > "$DATA/credentials") <<'SQL'
SELECT logsvc.create_user('owner@example.com', 'Quickstart owner') IS NULL
 WHERE NOT EXISTS (SELECT FROM logsvc_internal.user_account WHERE email = 'owner@example.com') \g /dev/null
SELECT logsvc.create_organization('quickstart', 'enterprise', owner => 'owner@example.com') IS NULL
 WHERE NOT EXISTS (SELECT FROM logsvc_internal.organization WHERE slug = 'quickstart') \g /dev/null
SELECT 'LOGSVC_PAT=' || (logsvc.create_token('quickstart', 'owner@example.com', 'quickstart',
  ARRAY['evaluations:run', 'logs:read', 'logs:write', 'logs:export', 'dashboards:read',
        'dashboards:write', 'alerts:read', 'alerts:write', 'pipelines:read', 'pipelines:write',
        'members:read', 'members:write', 'keys:write', 'org:write', 'audit:read']) ->> 'token');
SELECT 'LOGSVC_INGEST_KEY=' || (logsvc.create_api_key('quickstart', 'quickstart ingest', 'ingest-only') ->> 'key');
SELECT 'LOGSVC_READ_KEY=' || (logsvc.create_api_key('quickstart', 'quickstart read', 'read-only') ->> 'key');
SELECT 'LOGSVC_FULL_KEY=' || (logsvc.create_api_key('quickstart', 'quickstart full', 'full-access') ->> 'key');
SQL
	mv "$DATA/credentials" "$DATA/env"
fi
# Who signs in to the console.
if ! grep -q '^LOGSVC_PASSWORD=' "$DATA/env"; then
	# The end is what a password must have, and chance may not give.
	LOGSVC_PASSWORD=$(head -c 18 /dev/urandom | base64 | tr '+/' '-_')-A1a
	psql_db <<< "SELECT logsvc.set_password('owner@example.com', '$LOGSVC_PASSWORD') \\g /dev/null"
	printf '%s\n' LOGSVC_EMAIL=owner@example.com "LOGSVC_PASSWORD=$LOGSVC_PASSWORD" >> "$DATA/env"
fi
sed -i '/^LOGSVC_URL=\|^LOGSVC_ORG=\|^PG[A-Z]*=\|^export /d' "$DATA/env"
cat >> "$DATA/env" <<ENV
LOGSVC_URL=$url
LOGSVC_ORG=quickstart
PGHOST=127.0.0.1
PGPORT=$PG_PORT
PGDATABASE=logsvc
PGUSER=$superuser
export LOGSVC_URL LOGSVC_ORG LOGSVC_PAT LOGSVC_INGEST_KEY LOGSVC_READ_KEY LOGSVC_FULL_KEY
export LOGSVC_EMAIL LOGSVC_PASSWORD
export PGHOST PGPORT PGDATABASE PGUSER
ENV
chmod 600 "$DATA/env"
. "$DATA/env"

# ---- real logs, a search, a preview, an evaluation ----

# Prints a curl line as a user would type it, runs it, shows the answer.
show() {
	local lines=$1 shown
	shift
	shown=$(printf ' %s' "$@")
	printf '$%s\n' "$shown"
	eval "$shown" > "$DATA/answer.json"
	fold -s -w 110 "$DATA/answer.json" > "$DATA/answer.txt"
	head -n "$lines" "$DATA/answer.txt"
	# An answer has no end of line; a piece of one has.
	if [ "$(grep -c '' "$DATA/answer.txt")" -gt "$lines" ]; then
		echo "..."
	else
		echo
	fi
}

send() {
	local source=$1 file=$2 lines
	[ -r "$file" ] || return 0
	perl "$here/logs-to-ndjson.pl" "$source" "$file" > "$DATA/$source.ndjson"
	lines=$(wc -l < "$DATA/$source.ndjson")
	[ "$lines" -gt 0 ] || return 0
	post "$source"
	echo "sent $lines events of $file"
}

# Sends the events of a file of lines in pieces.
post() {
	split -C 4m "$DATA/$1.ndjson" "$DATA/$1.ndjson."
	for piece in "$DATA/$1".ndjson.*; do
		curl -fsS -o /dev/null -X POST "$url/api/v1/logs/batch" \
			-H "Authorization: Bearer $LOGSVC_INGEST_KEY" \
			-H 'Content-Type: application/x-ndjson' --data-binary "@$piece"
		rm "$piece"
	done
}

cd "$DATA"
if [ ! -e "$DATA/sent" ]; then
	say "Sending logs that programs wrote on this machine"
	send postgresql "$DATA/log/postgresql.log"
	send dpkg /var/log/dpkg.log
	send apt /var/log/apt/history.log
	touch "$DATA/sent"
fi

say "One event"
show 4 curl -sS -X POST '$LOGSVC_URL/api/v1/logs' -H '"Authorization: Bearer $LOGSVC_INGEST_KEY"' \
	-d "'{\"event\": \"hello from quickstart\", \"level\": \"info\", \"attributes\": {\"user\": \"you\"}}'"

say "A search: what did the server log, newest first?"
show 12 curl -sS -G '$LOGSVC_URL/api/v1/search' -H '"Authorization: Bearer $LOGSVC_READ_KEY"' \
	--data-urlencode "'q=source=postgresql | head 3'"

say "Counts by source and level"
show 6 curl -sS -G '$LOGSVC_URL/api/v1/search' -H '"Authorization: Bearer $LOGSVC_READ_KEY"' \
	--data-urlencode "'q=earliest=-10y | stats count by source, level | sort -count'"

# The request of an evaluation: the first rows of the server's log.
perl -MJSON::PP -e '
	open my $in, "<:encoding(UTF-8)", $ARGV[0] or die; my @rows = <$in>; chomp @rows;
	splice @rows, 400;
	print JSON::PP->new->utf8->canonical->encode({ rows => \@rows,
		criteria => "Did the database server start and accept connections?",
		expectedItems => [
			{ id => "listening", description => "The server is listening on port $ARGV[1]" },
			{ id => "ready", description => "The server is ready to accept connections" },
			{ id => "crash", description => "The server crashed" } ] })' \
	"$DATA/log/postgresql.log" "$PG_PORT" > "$DATA/evaluation.json"
perl -MJSON::PP -0777 -ne '
	my $r = decode_json($_); $r->{preview} = JSON::PP::true; delete $r->{criteria};
	print JSON::PP->new->utf8->canonical->encode($r)' "$DATA/evaluation.json" > "$DATA/preview.json"

say "A preview: the patterns in the server's log"
show 24 curl -sS -X POST '$LOGSVC_URL/api/v1/evaluations/run-adhoc' \
	-H '"Authorization: Bearer $LOGSVC_PAT"' -H "'Content-Type: application/json'" \
	-d @preview.json

say "An evaluation: did the server start and accept connections?"
show 24 curl -sS -X POST '$LOGSVC_URL/api/v1/evaluations/run-adhoc' \
	-H '"Authorization: Bearer $LOGSVC_PAT"' -H "'Content-Type: application/json'" \
	-d @evaluation.json

# ---- a mask, an alert that reaches a receiver, a dashboard ----

# The value of a member of the last answer, such as data.id.
member() {
	perl -MJSON::PP -e '
		local $/; my $v = decode_json(<STDIN>); $v = $v->{$_} // "" foreach split /\./, $ARGV[0];
		print $v' "$1" < "$DATA/answer.json" 2> /dev/null || true
}

if [ ! -e "$DATA/workspace" ]; then
	say "A pipeline: what it masks is never stored"
	show 3 curl -sS '$LOGSVC_URL/api/v1/pipelines' -H '"Authorization: Bearer $LOGSVC_PAT"' \
		-H "'Content-Type: application/json'" \
		-d "'{\"name\": \"no personal data\", \"match\": \"service=checkout\", \"processors\": [{\"type\": \"mask\", \"field\": \"*\", \"preset\": \"email\"}, {\"type\": \"mask\", \"field\": \"*\", \"preset\": \"creditcard\"}]}'"

	rm -f "$DATA/receiver.port" "$DATA/webhook.json"
	perl "$here/webhook-receiver.pl" "$DATA/receiver.port" "$DATA/webhook.json" &
	receiver=$!
	for attempt in $(seq 50); do [ -e "$DATA/receiver.port" ] && break; sleep 0.1; done
	say "An alert rule: it looks every 10 seconds, and tells a receiver on this machine"
	show 3 curl -sS '$LOGSVC_URL/api/v1/alert-rules' -H '"Authorization: Bearer $LOGSVC_PAT"' \
		-H "'Content-Type: application/json'" \
		-d "'{\"name\": \"refused payments\", \"query\": \"service=checkout level=error\", \"schedule\": {\"everySeconds\": 10, \"lookback\": \"5m\"}, \"condition\": {\"kind\": \"count\", \"op\": \">\", \"threshold\": 0}, \"notify\": [{\"kind\": \"webhook\", \"target\": \"http://127.0.0.1:$(cat "$DATA/receiver.port")/\"}]}'"
	rule=$(member data.id)

	say "An error with an address and a card number"
	show 3 curl -sS '$LOGSVC_URL/api/v1/logs' -H '"Authorization: Bearer $LOGSVC_INGEST_KEY"' \
		-d "'{\"event\": \"payment of ann@example.org with 4111 1111 1111 1111 refused\", \"level\": \"error\", \"service\": \"checkout\"}'"
	show 4 curl -sS -G '$LOGSVC_URL/api/v1/search' -H '"Authorization: Bearer $LOGSVC_READ_KEY"' \
		--data-urlencode "'q=service=checkout'"

	say "What the receiver got"
	for attempt in $(seq 400); do [ -e "$DATA/webhook.json" ] && break; sleep 0.1; done
	if [ -e "$DATA/webhook.json" ]; then
		head -c 1500 "$DATA/webhook.json" | fold -s -w 110
		echo
	else
		echo "nothing within 40 seconds; see $url/api/v1/alert-rules/$rule/deliveries"
	fi
	kill "$receiver" 2> /dev/null || true
	# There is no receiver any more: the rule goes on, and tells nobody.
	curl -sS -o /dev/null -X PATCH "$url/api/v1/alert-rules/$rule" -H "Authorization: Bearer $LOGSVC_PAT" \
		-H 'Content-Type: application/json' -d '{"notify": []}'

	say "A dashboard, made for the fields that the events have"
	show 3 curl -sS '$LOGSVC_URL/api/v1/dashboards/from-template' -H '"Authorization: Bearer $LOGSVC_PAT"' \
		-H "'Content-Type: application/json'" -d "'{\"template\": \"index\", \"index\": \"main\"}'"
	dashboard=$(member data.id)
	show 6 curl -sS "'$url/api/v1/dashboards/$dashboard/data'" -H '"Authorization: Bearer $LOGSVC_PAT"' \
		-H "'Content-Type: application/json'" -d "'{}'"
	touch "$DATA/workspace"
fi

# ---- an invented shop, so that every screen has something to show ----

if [ ! -e "$DATA/shop" ]; then
	say "Events of an invented shop, its people, dashboards, services, exports"
	psql_db -f "$here/sample/before.sql"
	perl "$here/sample/events.pl" > "$DATA/shop.ndjson"
	post shop
	for n in $(seq 12); do
		printf '{"event": "row %s of supplier-prices.csv: price is missing", "level": "warn", "service": "imports", "index": "imports", "attributes": {"file": "supplier-prices.csv", "row": %s}}\n' "$n" "$n"
	done > "$DATA/imports.ndjson"
	post imports
	psql_db -f "$here/sample/after.sql"
	# Rules are evaluated every 10 seconds; parts are written every second.
	for attempt in $(seq 300); do
		[ "$(psql_db -At -f "$here/sample/ready.sql")" = t ] && break
		sleep 0.1
	done
	psql_db -f "$here/sample/incidents.sql"
	touch "$DATA/shop"
fi

# What make stop must be told: the cluster, when it is not in the usual place.  What starts it again
# must be told the ports too, or it would get others.
stop_options=
[ "$DATA" = "$(dirname "$here")/.quickstart" ] || stop_options=" DATA=$DATA"
start_options=$stop_options
[ "$HTTP_PORT" = 8080 ] || start_options+=" HTTP_PORT=$HTTP_PORT"
[ "$PG_PORT" = 54320 ] || start_options+=" PG_PORT=$PG_PORT"
say "logsvc is running at $url"
echo "The console: open $url/ and sign in as $LOGSVC_EMAIL with the password $LOGSVC_PASSWORD"
echo "The variables of the lines above are in $DATA/env; try them: cd $DATA && . ./env"
echo "Then psql works too: psql -c \"SELECT logsvc.help()\"; how to send your own logs: docs/sending-logs.md"
echo "The shop is invented, and so are its faults: SELECT * FROM logsvc.doctor() warns of its 12 dead letters, and of what a trial lacks, such as mail and backups"
echo "Searches have generous limits here; elsewhere an organization may run 10 a minute (logsvc.limits)"
echo "Stop it with: make -C $(dirname "$here") stop$stop_options"
echo "Start it again, with all that is in it: make -C $(dirname "$here") quickstart$start_options"
