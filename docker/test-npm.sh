#!/bin/sh
# test-npm.sh DIRECTORY [SOURCE]: puts what the package-lock.json of SOURCE (test/npm)
# names, and no other version, into DIRECTORY.  Brings Debian's Node when there is none that will do.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)

has_node() {
	command -v npm > /dev/null 2>&1 &&
		node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2> /dev/null
}

has_node || "$root/docker/deps.sh" test-packages.txt
has_node || {
	echo "Node 18 or newer and npm are needed for the tests with programs from npm" >&2
	exit 1
}
mkdir -p "$1"
cp "$root/${2:-test/npm}"/* "$1"
cd "$1"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error > npm.log 2>&1 || {
	cat npm.log >&2
	exit 1
}
