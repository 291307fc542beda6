#!/bin/sh
# deps.sh [LIST]: installs the Debian packages of docker/packages.txt, or of
# another list there, that are missing; does nothing when all are there.
set -eu

here=$(dirname "$0")
if [ -n "${PG_CONFIG:-}" ] && command -v "$PG_CONFIG" > /dev/null 2>&1; then
	version=$("$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
else
	version=$(apt-cache depends postgresql 2> /dev/null | sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p')
fi
version=${version:-15}
clang=$(apt-cache depends clang 2> /dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
clang=${clang:-14}

missing=
for package in $(sed "s/#.*//; s/PG/$version/; s/CLANG/$clang/" "$here/${1:-packages.txt}"); do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
	[ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

run=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo > /dev/null || {
		echo "these packages are missing and neither root nor sudo is here:$missing" >&2
		exit 1
	}
	run=sudo
fi
echo "installing:$missing"
$run apt-get update -qq
# npm is some 400 small packages: with a sync for each they take twice as long.
fast=${1:+-o Dpkg::Options::=--force-unsafe-io}
$run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $fast $missing \
	> /dev/null
