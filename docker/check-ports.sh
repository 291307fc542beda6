#!/bin/bash
# Fails when another program has one of the ports that make quickstart wants.
#
# Environment: DATA, HTTP_PORT, PG_PORT.  Run before anything is built or
# started.  Ports of the cluster in DATA count as free: it is about to be
# started again.
set -euo pipefail

cluster=$DATA/cluster
ours=" "
if pid=$(head -n 1 "$cluster/postmaster.pid" 2> /dev/null) && [ -d "/proc/$pid" ]; then
	ours=" $(sed -n 's/^\(logsvc\.\)\{0,1\}port = \([0-9]*\)$/\2/p' "$cluster/logsvc.conf" | tr '\n' ' ') "
fi

# Prints nothing if a port of 127.0.0.1 can be listened on, else why not.
try_port() {
	perl -MIO::Socket::INET -e '
		IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $ARGV[0], Listen => 1, ReuseAddr => 1)
			or print $! || $@' "$1"
}

status=0
check() {
	local name=$1 port=$2 other reason

	if ! [[ $port =~ ^[0-9]{1,5}$ ]] || [ "$port" -lt 1 ] || [ "$port" -gt 65535 ]; then
		echo "$name=$port is not a port: give a number from 1 to 65535" >&2
		status=1
		return
	fi
	[[ $ours != *" $port "* ]] || return 0
	reason=$(try_port "$port")
	[ -n "$reason" ] || return 0
	for ((other = port + 1; other <= 65535; other++)); do
		[ -z "$(try_port "$other")" ] && [ "$other" != "$HTTP_PORT" ] && [ "$other" != "$PG_PORT" ] && break
	done
	echo "port $port of 127.0.0.1 cannot be used ($reason); add $name=$other to make quickstart" >&2
	status=1
}

check HTTP_PORT "$HTTP_PORT"
check PG_PORT "$PG_PORT"
if [ "$HTTP_PORT" = "$PG_PORT" ]; then
	echo "HTTP_PORT and PG_PORT are the same, $PG_PORT: choose two" >&2
	status=1
fi
exit "$status"
