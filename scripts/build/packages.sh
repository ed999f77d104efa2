#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-packages.sh [RELEASE]
#
# Makes the Debian packages, for Debian 13, and has lintian look at them.  They are in
# build/packages/ then (a link into the cache), or in build/packages-RELEASE/ those for
# another release of Debian (scripts/images/trees.sh).  The sources are those that git knows, as
# they are now.  For a release of whose rdma-core there are no sources, the rdma-core of
# Debian 13 is built, too, into build/packages-RELEASE/rdma-core/, and the provider is
# for that one.

. "$(dirname "$0")/../lib.sh"

name=packages${1:+-$1}
tree=$("$top/scripts/images/trees.sh" "$name")

# build_rdma_core TREE SOURCE VERSION: rdma-core's own packaging is for older releases, too.
build_rdma_core()
{
	local tree=$1 source=$2 version=$3 out=$4

	step "Debian packages of rdma-core ($version)"
	cp -r "$source" "$out/source"
	# shellcheck disable=SC2016
	"$top/scripts/images/in-tree" "$tree" sh -ec '
		cd "$1"
		sed -i "1s/([^)]*)/($2)/" debian/changelog
		export DEB_BUILD_OPTIONS=noautodbgsym
		# Not all that it asks for: manual pages are in the sources already.
		dpkg-buildpackage -d -b -us -uc -j2
	' sh "$out/source" "$version"
	rm -rf "$out/source"
}

rdma_core=
backport=
if [ $# -gt 0 ]; then
	sources=$("$top/scripts/images/trees.sh" rdma-core)
	wanted=$("$top/scripts/images/in-tree" "$tree" dpkg-query -W -f '${Version}' libibverbs1)
	rdma_core=$(compgen -G "$sources/rdma-core_${wanted%-*}") || {
		guest=$(echo "$("$top/scripts/images/trees.sh" build)"/usr/src/rdma-core-*)
		rdma_core=$sources/rdma-core_${guest##*-}
		cached "rdma-core-$1" -- build_rdma_core "$tree" "$rdma_core" "${guest##*-}-1~$1"
		backport=$entry
	}
fi

version=$(cat "$top/VERSION")
# Their contents depend on the release: provider and daemon on its libraries.
release=+$(. "$tree/etc/os-release" && echo "${VERSION_ID:+deb}${VERSION_ID:-$VERSION_CODENAME}")
sums=$(
	cd "$top"
	git ls-files -z --cached --others --exclude-standard -- VERSION Makefile Kbuild \
		dkms.conf.in drivers include uapi provider device nvmft Documentation/*.[18] LICENSES \
		CHANGELOG.rst packaging ':!packaging/rpm' ':!device/tests' \
		scripts/build/packages.sh scripts/build/provider-in-rdma-core |
		sort -z | xargs -0 sha256sum
)

build_them()
{
	local tree=$1 full=$2 backport=$3 rdma_core=$4 out=$5
	local sources=$out/virtio-net-roce

	step "Debian packages ($full)"
	mkdir "$sources"
	sed -n 's/^[0-9a-f]\{64\}  //p' <<< "$sums" | tar -C "$top" -c -T - | tar -x -C "$sources"
	mv "$sources/packaging/debian" "$sources/debian"
	sed -i "1s/(${full%+*})/($full)/" "$sources/debian/changelog"
	grep -q "^virtio-net-roce ($full)" "$sources/debian/changelog" || {
		echo "packaging/debian/changelog does not begin with ${full%+*}" >&2
		return 1
	}
	# shellcheck disable=SC2016
	"$top/scripts/images/in-tree" "$tree" sh -ec '
		cd "$1"
		export DEB_BUILD_OPTIONS=noautodbgsym ${2:+RDMA_CORE="$2"}
		dpkg-buildpackage -b -us -uc -j2
	' sh "$sources" "$rdma_core"

	step "lintian"
	# shellcheck disable=SC2016
	"$top/scripts/images/in-tree" "$tree" sh -c 'cd "$1" &&
		lintian --allow-root --fail-on error,warning *.changes' sh "$out"
	rm -rf "$sources"
	if [ -n "$backport" ]; then
		mkdir "$out/rdma-core"
		cp "$backport"/*.deb "$out/rdma-core"
	fi
}

cached "$name" "$sums" -- build_them "$tree" "$version$release" "$backport" "$rdma_core"
ls "$build/$name"/*.deb >&2
