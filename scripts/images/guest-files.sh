#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# guest-files.sh [guest|debug]
#
# Packs what a guest gets from us, the modules and the provider, into an archive
# for its root directory, and prints the archive's path.  The module index is in
# it: made here in a second, it would take a guest without KVM ten.  With the debug
# kernel come that one's own modules, which are not on the disk.  Sections that
# only debuggers and depmod read stay here: a guest on the debug kernel would take half a minute to
# unpack it.

. "$(dirname "$0")/../lib.sh"

own=
if [ "${1-guest}" = debug ]; then
	kernel=$("$top/scripts/images/kunit-kernel.sh" debug)
	version=$(cat "$kernel/tree/include/config/kernel.release")
	own=$kernel/modules/lib/modules/$version
else
	version=$(cat "$("$top/scripts/images/trees.sh" kernel)/version")
fi
archive=$build/guest-files-$version.tar
exclusive guest-files
if [ ! -e "$archive" ] || [ "$0" -nt "$archive" ] ||
   [ -n "$(find "$build/modules/$version" "$build/provider" -newer "$archive" \
	\( -name '*.ko' -o -name '*.so' -o -name '*.driver' \))" ]; then
	step "packing what the guests get"
	stripped=$build/stripped/$version
	rm -rf "$stripped"
	mkdir -p "$stripped"
	find "$build/modules/$version" -name "*.ko" ! -name "*_kunit.ko" -exec cp -t "$stripped" {} +
	strip --strip-debug "$stripped"/*.ko
	"$top/scripts/images/in-tree" guest sh -ec '
		build=$1 version=$2 archive=$3 own=$4 stripped=$5
		modules=lib/modules/$version
		cd /
		[ -z "$own" ] || cp -r "$own" lib/modules
		mkdir -p "$modules/extra"
		cp -t "$modules/extra" "$stripped"/*.ko
		depmod "$version"
		cp "$build"/provider/*.so usr/lib/x86_64-linux-gnu/libibverbs/
		cp "$build"/provider/*.driver etc/libibverbs.d/
		# The same file: a program that is linked with it has one provider.
		ln -s libibverbs/"$(basename "$build"/provider/*.so)" \
			usr/lib/x86_64-linux-gnu/libvirtio_roce.so.1
		packed=$modules
		[ -n "$own" ] || packed="$modules/extra $(echo "$modules"/modules.*)"
		tar -cf "$archive.new" --exclude="$modules/build" \
			--exclude="$modules/modules.alias" --exclude="$modules/modules.dep" \
			--exclude="$modules/modules.symbols" $packed \
			usr/lib/x86_64-linux-gnu/libibverbs/libvirtio_roce-* \
			usr/lib/x86_64-linux-gnu/libvirtio_roce.so.1 \
			etc/libibverbs.d/virtio_roce.driver
		mv "$archive.new" "$archive"
	' sh "$build" "$version" "$archive" "$own" "$stripped"
fi
echo "$archive"
