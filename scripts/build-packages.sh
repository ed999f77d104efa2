#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-packages.sh [RELEASE]
#
# Makes the Debian packages, for Debian 13, and has lintian look at them.  They are in
# build/packages/ then, or in build/packages-RELEASE/ those for another release of Debian
# (scripts/trees.sh).  The sources are those that git knows, as they are now.  There is no
# provider for a release of whose rdma-core there are no sources.

. "$(dirname "$0")/lib.sh"

name=packages${1:+-$1}
tree=$("$top/scripts/trees.sh" "$name")
out=$build/$name
exclusive "$name"

rdma_core=
profiles=
if [ $# -gt 0 ]; then
	wanted=$("$top/scripts/in-tree" "$tree" dpkg-query -W -f '${Version}' libibverbs1)
	rdma_core=$(compgen -G "$("$top/scripts/trees.sh" rdma-core)/rdma-core_${wanted%-*}") ||
		profiles=pkg.virtio-net-roce.noprovider
fi

sources=$out/virtio-net-roce
version=$(cat "$top/VERSION")
# What is in them depends on the release: provider and daemon on its libraries.
release=+$(. "$tree/etc/os-release" && echo "${VERSION_ID:+deb}${VERSION_ID:-$VERSION_CODENAME}")
key=$out/.made-of
made_of=$(
	cd "$top"
	echo "$tree $rdma_core"
	git ls-files -z --cached --others --exclude-standard -- VERSION Makefile Kbuild \
		dkms.conf.in drivers include uapi provider device Documentation/*.8 LICENSES \
		CHANGELOG.rst packaging ':!device/tests' scripts/build-packages.sh scripts/provider-in-rdma-core |
		sort -z | xargs -0 sha256sum
)
if [ "$made_of" = "$(cat "$key" 2> /dev/null)" ]; then
	echo "The packages in $out are up to date." >&2
	exit 0
fi

step "Debian packages${1:+ ($1)}: a copy of the sources"
rm -rf "$out"
mkdir -p "$sources"
sed -n 's/^[0-9a-f]\{64\}  //p' <<< "$made_of" | tar -C "$top" -c -T - | tar -x -C "$sources"
mv "$sources/packaging/debian" "$sources/debian"
sed -i "1s/($version)/($version$release)/" "$sources/debian/changelog"
grep -q "^virtio-net-roce ($version$release)" "$sources/debian/changelog" || {
	echo "packaging/debian/changelog does not begin with $version" >&2
	exit 1
}

step "Debian packages${1:+ ($1)}"
# shellcheck disable=SC2016
"$top/scripts/in-tree" "$tree" sh -ec '
	cd "$1"
	export DEB_BUILD_OPTIONS=noautodbgsym DEB_BUILD_PROFILES="$2" ${3:+RDMA_CORE="$3"}
	dpkg-buildpackage -b -us -uc -j2
' sh "$sources" "$profiles" "$rdma_core" > "$build/$name.log" 2>&1 || {
	tail -n 40 "$build/$name.log" >&2
	exit 1
}

step "lintian"
# shellcheck disable=SC2016
"$top/scripts/in-tree" "$tree" sh -c 'cd "$1" && lintian --allow-root --fail-on error,warning *.changes' \
	sh "$out" >&2
rm -rf "$sources"
echo "$made_of" > "$key"
ls "$out"/*.deb >&2
