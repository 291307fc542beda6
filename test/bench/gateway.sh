#!/bin/sh
# gateway.sh: what the gateway alone costs, answered by the host program after its hook.
#
#	test/bench/gateway.sh [SECONDS [PORT]]		prints rows "metric value unit"
set -eu

seconds=${1:-5}
port=${2:-18099}
host=build/unit/gateway_host
script=$(mktemp)
output=$(mktemp)
trap 'kill "$pid" 2>/dev/null || true; rm -f "$script" "$output"' EXIT

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

$host port="$port" later=1 > /dev/null &
pid=$!
sleep 0.5

# utime + stime of the host, in clock ticks
ticks() { awk '{print $14 + $15}' "/proc/$pid/stat"; }

before=$(ticks)
wrk -t1 -c64 -d"${seconds}s" -s "$script" "http://127.0.0.1:$port/api/v1/logs" > "$output"
after=$(ticks)
grep '^gateway_' "$output"
awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" \
	'/^total /{printf "gateway_cpu_per_request %.2f us\n", t / hz / $2 * 1e6}' "$output"
