#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-modules.sh [--lint] KERNEL [MAKE-ARGUMENT...]
#
# Builds the kernel modules and prints the directory that holds them,
# build/modules/VERSION.  KERNEL is one of
#   guest    the kernel of the guests
#   plain    the KUnit kernel; with it come the KUnit suites
#   debug    the debug KUnit kernel, likewise
#   oldest   Debian 12's, with this machine's headers and compiler
#   newest   that of Debian 13's backports
# With --lint it is compiled in a place of its own.

. "$(dirname "$0")/../lib.sh"

place=modules
if [ "${1-}" = --lint ]; then
	place=lint
	shift
fi
in_tree=("$top/scripts/images/in-tree" build)
# Debian's headers take the first, others the second.
ccache=(DEBIAN_KERNEL_USE_CCACHE=1)
case ${1-} in
guest)
	version=$(cat "$("$top/scripts/images/trees.sh" kernel)/version")
	kernel=/lib/modules/$version/build
	;;
plain|debug)
	kernel=$("$top/scripts/images/kunit-kernel.sh" "$1")/tree
	# The kernel stays in the cache when the compiler gets an update.  Debian's headers do not
	# warn of that, either; lint counts warnings.
	ccache=("CC=ccache gcc" DEBIAN_KERNEL_NO_CC_VERSION_CHECK=y)
	version=$(cat "$kernel/include/config/kernel.release")
	;;
oldest)
	version=$(dpkg-query -W -f '${Depends}' linux-headers-amd64 |
		sed 's/^linux-headers-\([^ ]*\).*/\1/')
	kernel=/usr/src/linux-headers-$version
	in_tree=()
	ccache=()
	;;
newest)
	tree=$("$top/scripts/images/trees.sh" newest)
	version=$(ls "$tree/lib/modules")
	kernel=/lib/modules/$version/build
	in_tree=("$top/scripts/images/in-tree" "$tree")
	;;
*)
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
shift

dir=$build/$place/$version
exclusive "$place"
step "kernel modules for $version"
# The warnings of W=1 are asked for everywhere, so that ccache knows what lint compiles.
set -- W=1 "$@"
# Kbuild writes beside the sources, so it gets a copy of them.  The files that it
# wrote before stay, to be built upon: only a source that changed gets a new time.
mkdir -p "$dir"
filters=()
for made in '*.o' '*.ko' '*.mod' '*.mod.c' '.*.cmd' '*.a' modules.order Module.symvers; do
	filters+=("--filter=protect $made")
done
cd "$top"
rsync -rlpcR --delete "${filters[@]}" Kbuild drivers include uapi kunit "$dir"
if [ ${#in_tree[@]} -eq 0 ]; then
	make -s -C "$kernel" M="$dir" -j"$(nproc)" "$@" modules >&2
else
	# In the same place for each clone: the compiler's arguments name it, and ccache
	# compares them.
	# shellcheck disable=SC2016
	"${in_tree[@]}" sh -ec 'mkdir /modules; mount --bind "$1" /modules; export CCACHE_DIR=$2
		shift 2; exec "$@"' sh "$dir" "$cache/ccache" make -s -C "$kernel" M=/modules \
		-j"$(nproc)" "${ccache[@]}" "$@" modules >&2
fi
echo "$dir"
