#!/bin/sh
# unpack-promtool.sh DIRECTORY: promtool of Debian's prometheus in a directory.  The package would
# start a service; newer suites have promtool in its own.
set -eu

rm -rf "$1"
mkdir -p "$1"
cd "$1"
package() {
	apt-cache --names-only search '^promtool$' | sed 's/ .*//' | grep . || echo prometheus
}
if ! apt-get download -q "$(package)" > download.log 2>&1; then
	# The lists of packages may be old.
	run=
	[ "$(id -u)" -eq 0 ] || run=sudo
	$run apt-get update -qq
	apt-get download -q "$(package)" > download.log 2>&1 || {
		cat download.log >&2
		exit 1
	}
fi
dpkg-deb --fsys-tarfile ./*_*.deb | tar -x ./usr/bin/promtool
mv usr/bin/promtool .
rm -rf usr ./*.deb
