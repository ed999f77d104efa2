#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-packages.sh [RELEASE]
#
# Makes the Debian packages, for Debian 13, and has lintian look at them.  They are in
# build/packages/ then (a link into the cache), or in build/packages-RELEASE/ those for
# another release of Debian (scripts/trees.sh).  The sources are those that git knows, as they are now.  There is no
# provider for a release of whose rdma-core there are no sources.

. "$(dirname "$0")/lib.sh"

name=packages${1:+-$1}
tree=$("$top/scripts/trees.sh" "$name")

rdma_core=
profiles=
if [ $# -gt 0 ]; then
	wanted=$("$top/scripts/in-tree" "$tree" dpkg-query -W -f '${Version}' libibverbs1)
	rdma_core=$(compgen -G "$("$top/scripts/trees.sh" rdma-core)/rdma-core_${wanted%-*}") ||
		profiles=pkg.virtio-net-roce.noprovider
fi

version=$(cat "$top/VERSION")
# What is in them depends on the release: provider and daemon on its libraries.
release=+$(. "$tree/etc/os-release" && echo "${VERSION_ID:+deb}${VERSION_ID:-$VERSION_CODENAME}")
sums=$(
	cd "$top"
	git ls-files -z --cached --others --exclude-standard -- VERSION Makefile Kbuild \
		dkms.conf.in drivers include uapi provider device Documentation/*.8 LICENSES \
		CHANGELOG.rst packaging ':!packaging/rpm' ':!device/tests' \
		scripts/build-packages.sh scripts/provider-in-rdma-core |
		sort -z | xargs -0 sha256sum
)

build_them()
{
	local tree=$1 full=$2 profiles=$3 rdma_core=$4 out=$5
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
	"$top/scripts/in-tree" "$tree" sh -ec '
		cd "$1"
		export DEB_BUILD_OPTIONS=noautodbgsym DEB_BUILD_PROFILES="$2" ${3:+RDMA_CORE="$3"}
		dpkg-buildpackage -b -us -uc -j2
	' sh "$sources" "$profiles" "$rdma_core"

	step "lintian"
	# shellcheck disable=SC2016
	"$top/scripts/in-tree" "$tree" sh -c 'cd "$1" &&
		lintian --allow-root --fail-on error,warning *.changes' sh "$out"
	rm -rf "$sources"
}

cached "$name" "$sums" -- build_them "$tree" "$version$release" "$profiles" "$rdma_core"
ls "$build/$name"/*.deb >&2
