#!/bin/bash
# make stop: stops the cluster of make quickstart.
set -euo pipefail
bindir=$("$PG_CONFIG" --bindir)
cluster=$DATA/cluster
as_owner=()
[ -e "$cluster/postmaster.pid" ] || { echo "it is not running"; exit 0; }
if [ "$(id -u)" -eq 0 ]; then
	as_owner=(setpriv --reuid=postgres --regid=postgres --clear-groups
		--inh-caps=+dac_read_search --ambient-caps=+dac_read_search)
	"${as_owner[@]}" true 2> /dev/null ||
		as_owner=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
"${as_owner[@]}" "$bindir/pg_ctl" -D "$cluster" -m fast -w stop
