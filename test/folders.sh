# Folders of Debian suites, made by debootstrap, for scripts that build or install
# in them.  Sourced; a script calls folders_ready first, then prepare.
# shellcheck shell=bash

# Where they are kept; removing one there gets newer packages.
cache=${LOGSVC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/logsvc}
PATH=$PATH:/usr/sbin:/sbin
status=0 mirror=

# Says why something was not tried; the script ends with 77 then.
skip() {
	echo "PostgreSQL ${pg:-of other suites} not tried: $*"
	status=77
}

# The mirror that this machine's apt uses.
find_mirror() {
	# shellcheck disable=SC1091,SC2016
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2> /dev/null |
		awk -v suite="$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" \
			'$1 == "Debian" && $2 == suite { sub("/$", "", $3); print $3; exit }'
}

make_folder() {
	local root=$1 suite=$2
	local script=/usr/share/debootstrap/scripts/$suite

	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
	rm -rf "$root.new"
	timeout 60 /usr/lib/apt/apt-helper -o APT::Sandbox::User=root -o Acquire::Retries=0 \
		-o Acquire::http::Timeout=15 download-file "$mirror/dists/$suite/Release" "$root.release" &&
		rm "$root.release" &&
		timeout 1200 debootstrap --variant=minbase --include=ca-certificates "$suite" "$root.new" \
			"$mirror" "$script" || return 1
	# Neither a server nor syncs nor manuals.
	printf '#!/bin/sh\nexit 101\n' > "$root.new/usr/sbin/policy-rc.d"
	chmod 755 "$root.new/usr/sbin/policy-rc.d"
	mkdir -p "$root.new/etc/postgresql-common"
	echo 'create_main_cluster = false' > "$root.new/etc/postgresql-common/createcluster.conf"
	# A mirror may lag behind, or this clock be ahead.
	echo 'Acquire::Check-Valid-Until "false";' > "$root.new/etc/apt/apt.conf.d/logsvc"
	printf '%s\n' force-unsafe-io 'path-exclude=/usr/share/man/*' 'path-exclude=/usr/share/doc/*' \
		> "$root.new/etc/dpkg/dpkg.cfg.d/logsvc"
	mv "$root.new" "$root"
}

# Runs a command in a folder.
inside() {
	test/inside "$@"
}

# Authorities that this machine trusts beside Debian's, a proxy's for example.
trust() {
	local root=$1 own=/usr/local/share/ca-certificates

	ls "$own"/*.crt > /dev/null 2>&1 || return 0
	diff -rq "$own" "$root$own" > /dev/null 2>&1 && return
	mkdir -p "$root$own" && cp -L "$own"/*.crt "$root$own" && test/inside "$root" update-ca-certificates > /dev/null
}

# prepare ROOT SUITE PACKAGES [SECONDS]: a folder of the suite with these packages, made
# when it is not there.
prepare() {
	local root=$1 suite=$2 packages="$3"

	[ -d "$root" ] || make_folder "$root" "$suite" || return 1
	trust "$root" || return 1
	[ "$(cat "$root/packages" 2> /dev/null)" = "$packages" ] && return
	# shellcheck disable=SC2086
	timeout "${4:-1200}" test/inside "$root" sh -c "dpkg --configure -a && apt-get update -qq &&
		apt-get install -y -qq --no-install-recommends $packages && apt-get clean" &&
		echo "$packages" > "$root/packages"
}

# What docker/packages.txt says that one needs to build for a version of the server.
build_packages() {
	local packages

	packages=$(sed -n '/^# to build$/,/^$/p' docker/packages.txt | sed "s/#.*//; s/PG/$1/")
	echo "ccache ${packages//$'\n'/ }"
}

# What tests of whole servers run with.
test_packages() {
	sed -n '/^# to test$/,$p' docker/packages.txt | grep -E '^(lib.*-perl|openssl|perl|jq)$' | tr '\n' ' '
}

# A copy of a tree, FROM TO, without what was built in it.
copy_tree() {
	rm -rf "$2" && mkdir -p "$2" &&
		tar -c -C "$1" --exclude=./.git --exclude=./build --exclude=./.quickstart --exclude='*.[od]' --exclude='*.so' \
			--exclude=./src/query/parser.[ch] --exclude=./src/query/lexer.c --exclude='./sql/logsvc--*' --exclude=./sql/api/help_texts.sql . |
		tar -x -C "$2"
}

# Ends the script where no folder can be made.
folders_ready() {
	[ "$(id -u)" -eq 0 ] || { skip "only root can make folders of other suites" && exit $status; }
	command -v debootstrap > /dev/null || { skip "debootstrap is not installed" && exit $status; }
	unshare --mount --pid --fork true 2> /dev/null || { skip "no name spaces can be made here" && exit $status; }
	eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
	export http_proxy="${http_proxy:-}"
	[ -n "$http_proxy" ] || unset http_proxy
	mirror=$(find_mirror)
	if [ -z "$mirror" ]; then
		apt-get update -qq > /dev/null 2>&1
		mirror=$(find_mirror)
	fi
	mkdir -p "$cache" || exit 1
}
