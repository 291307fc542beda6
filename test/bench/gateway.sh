#!/bin/sh
# gateway.sh: what the gateway alone costs, answered by the host program after its hook.
#
#	test/bench/gateway.sh [SECONDS [PORT]]		prints rows "metric value unit"
#
# plain, then over TLS.  GATEWAY_HOST: another host program, to compare with.  CONSOLE: a folder
# with the files of the web console (build/console), which the host then serves, too.
# COUNTING=0: without the figures of docs/metrics.md.
# INSTRUCTIONS=1: instead, how many instructions a request takes, counted by valgrind: the same
# beside any other work.
set -eu

seconds=${1:-5}
port=${2:-18099}
host=${GATEWAY_HOST:-build/unit/gateway_host}
script=$(mktemp)
output=$(mktemp)
keys=$(mktemp -d)
pid=
trap 'kill $pid 2>/dev/null || true; rm -rf "$script" "$output" "$keys"' EXIT

cat > "$script" <<'LUA'
wrk.method = "POST"
wrk.body = '{"event":"' .. string.rep("x", 188) .. '"}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer ing_live_0123456789abcdef0123456789abcdef"
done = function(summary, latency)
	io.write(string.format("gateway_requests %.0f per_second\n",
		summary.requests / summary.duration * 1e6))
	io.write(string.format("gateway_latency_p50 %.3f ms\n", latency:percentile(50) / 1000))
	io.write(string.format("gateway_latency_p99 %.3f ms\n", latency:percentile(99) / 1000))
	local e = summary.errors
	io.write(string.format("gateway_errors %d requests\n",
		e.connect + e.read + e.write + e.status + e.timeout))
	io.write(string.format("total %d\n", summary.requests))
end
LUA

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
	-keyout "$keys/key.pem" -out "$keys/cert.pem" 2> /dev/null

# utime + stime of the host, in clock ticks
ticks() { awk '{print $14 + $15}' "/proc/$pid/stat"; }

# measure NAME SCHEME SETTING...
measure()
{
	name=$1 scheme=$2
	shift 2
	$host port="$port" later=1 ${CONSOLE:+console="$CONSOLE"} ${COUNTING:+counting="$COUNTING"} "$@" > /dev/null &
	pid=$!
	sleep 0.5
	before=$(ticks)
	wrk -t1 -c64 -d"${seconds}s" -s "$script" "$scheme://127.0.0.1:$port/api/v1/logs" > "$output"
	after=$(ticks)
	kill "$pid"
	wait "$pid" 2> /dev/null || true
	sed -n "s/^gateway_/${name}_/p" "$output"
	awk -v name="$name" -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" \
		'/^total /{printf "%s_cpu_per_request %.2f us\n", name, t / hz / $2 * 1e6}' "$output"
}

# instructions REQUESTS: of the host, from its start to its end
instructions()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null $host port="$port" later=1 \
		${CONSOLE:+console="$CONSOLE"} ${COUNTING:+counting="$COUNTING"} > /dev/null 2> "$output" &
	pid=$!
	until curl -s -o /dev/null "http://127.0.0.1:$port/healthz"; do sleep 0.2; done
	curl -s -X POST -H 'Content-Type: application/json' \
		-H 'Authorization: Bearer ing_live_0123456789abcdef0123456789abcdef' \
		-d "{\"event\":\"$(printf '%0188d' 0)\"}" "http://127.0.0.1:$port/api/v1/logs?n=[1-$1]" > "$script"
	kill "$pid"
	wait "$pid" 2> /dev/null || true
	awk '/Collected/{print $NF}' "$output"
}

if [ -n "${INSTRUCTIONS:-}" ]; then
	few=$(instructions 1000)
	many=$(instructions 5000)
	echo "gateway_instructions_per_request $(((many - few) / 4000)) instructions"
	exit
fi

measure gateway http
measure gateway_tls https tls_certificate="$keys/cert.pem" tls_key="$keys/key.pem"
