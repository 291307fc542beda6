#!/bin/bash
# make doctor: the rows of logsvc.doctor(), as lines; status 1 if one is an error.
#
# Environment: DB, what psql calls a connection string, for operators; empty: the cluster of make
# quickstart that ran last, on its own port if it is running, else on PG_PORT.  PG_CONFIG.
set -euo pipefail

superuser=$(id -un)
[ "$(id -u)" -ne 0 ] || superuser=postgres
root=$(cd "$(dirname "$0")/.." && pwd)
pid_file=$(cat "$root/build/quickstart" 2> /dev/null || echo "$root/.quickstart")/cluster/postmaster.pid
if [ -r "$pid_file" ]; then
	PG_PORT=$(sed -n 4p "$pid_file")
fi
db=${DB:-host=127.0.0.1 port=$PG_PORT user=$superuser dbname=logsvc}
lines=$("$("$PG_CONFIG" --bindir)/psql" -X -q -At -v ON_ERROR_STOP=1 -d "$db" <<'SQL'
SELECT format('%-8s%-22s%s', d.state, d."check", d.found || CASE d.change WHEN '' THEN '' ELSE E'\n' || repeat(' ', 30) || '-> ' || d.change END)
FROM logsvc.doctor() d ORDER BY array_position('{error,warning,ok}'::text[], d.state), d."check"
SQL
) || {
	status=$?
	echo "make doctor could not ask DB='$db'. On Debian user postgres of the server is user postgres of the" \
		"operating system: sudo -u postgres make doctor DB='dbname=logs'" >&2
	exit "$status"
}
printf '%s\n' "$lines"
! grep -q '^error ' <<< "$lines"
