#!/bin/bash
# make stop: stops the cluster of make quickstart.
#
# Environment: DATA, where make quickstart put it; empty: where it did so last.
# PG_CONFIG.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
given=${DATA:-}
if [ -z "$given" ]; then
	DATA=$(cat "$root/build/quickstart" 2> /dev/null || echo "$root/.quickstart")
fi
cluster=$DATA/cluster
bindir=$("$PG_CONFIG" --bindir)
as_owner=()
if [ ! -e "$cluster/PG_VERSION" ]; then
	echo "there is no cluster in $DATA; if make quickstart had a DATA=..., say the same to make stop" >&2
	[ -z "$given" ]
	exit
fi
if [ ! -e "$cluster/postmaster.pid" ]; then
	echo "the cluster in $DATA is not running"
	exit 0
fi
if [ "$(id -u)" -eq 0 ]; then
	as_owner=(setpriv --reuid=postgres --regid=postgres --clear-groups
		--inh-caps=+dac_read_search --ambient-caps=+dac_read_search)
	"${as_owner[@]}" true 2> /dev/null ||
		as_owner=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
"${as_owner[@]}" "$bindir/pg_ctl" -D "$cluster" -m fast -w stop
