#!/bin/sh
# unpack-syslog-ng.sh DIRECTORY: Debian's syslog-ng in a directory.  It cannot be
# installed next to rsyslog, and the tests run both.
set -eu

rm -rf "$1"
mkdir -p "$1/debs/partial"
cd "$1"
# Only downloads: what apt would remove to install it stays.
download() {
	apt-get install -y -q --no-install-recommends --download-only -o Debug::NoLocking=1 \
		-o "Dir::Cache::archives=$PWD/debs" syslog-ng-core syslog-ng-mod-http > download.log 2>&1
}
if ! download; then
	# The lists of packages may be old.
	run=
	[ "$(id -u)" -eq 0 ] || run=sudo
	$run apt-get update -qq
	download || {
		cat download.log >&2
		exit 1
	}
fi
for deb in debs/*.deb; do
	dpkg -x "$deb" .
	basename "$deb"
done > versions
# Programs and libraries will do.
rm -rf debs etc var usr/share usr/lib/systemd usr/lib/tmpfiles.d
