#!/bin/bash
# Run once by the entrypoint of the official image, on an empty data directory:
# the extension in the database POSTGRES_DB, and, when LOGSVC_ORGANIZATION and
# LOGSVC_OWNER (an address) are set, a first organization. Its keys go to a file
# on the volume that only the server's user can read, never to the log.
set -euo pipefail

database=${POSTGRES_DB:-${POSTGRES_USER:-postgres}}
sql() { psql -X -q -v ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --no-password --dbname "$database" "$@"; }

sql -v database="$database" <<< "ALTER SYSTEM SET logsvc.database = :'database'"
# That the setting waits for the restart, which follows, is no news.
sql <<< 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS logsvc'

[ -n "${LOGSVC_ORGANIZATION:-}" ] || exit 0
: "${LOGSVC_OWNER:?LOGSVC_ORGANIZATION is set, so LOGSVC_OWNER must be: the e-mail address of its owner}"
file=$PGDATA/logsvc-first-keys
(umask 077 && sql -At -v name="$LOGSVC_ORGANIZATION" -v owner="$LOGSVC_OWNER" > "$file") <<'SQL'
SELECT logsvc.create_organization(:'name', 'pro', owner => :'owner') ->> 'slug' AS slug \gset
SELECT 'LOGSVC_INGEST_KEY=' || (logsvc.create_api_key(:'slug', 'first ingest key', 'ingest-only') ->> 'key');
SELECT 'LOGSVC_READ_KEY=' || (logsvc.create_api_key(:'slug', 'first read key', 'read-only') ->> 'key');
SQL
if [ -n "${LOGSVC_OWNER_PASSWORD_FILE:-}" ]; then
	# By psql, since others can see the arguments of a program.
	sql -v owner="$LOGSVC_OWNER" <<'SQL'
\set password `cat "$LOGSVC_OWNER_PASSWORD_FILE"`
SELECT logsvc.set_password(:'owner', :'password') \g /dev/null
SQL
fi
echo "logsvc: organization $LOGSVC_ORGANIZATION; its keys are in $file"
