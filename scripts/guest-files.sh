#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# guest-files.sh
#
# Packs what a guest gets from us, the modules and the provider, into an archive
# for its root directory, and prints the archive's path.  The module index is in
# it: made here in a second, it would take a guest without KVM ten.

. "$(dirname "$0")/lib.sh"

version=$(cat "$("$top/scripts/trees.sh" kernel)/version")
archive=$build/guest-files-$version.tar
exclusive guest-files
if [ ! -e "$archive" ] || [ "$0" -nt "$archive" ] ||
   [ -n "$(find "$build/modules/$version" "$build/provider" -newer "$archive" \
	\( -name '*.ko' -o -name '*.so' -o -name '*.driver' \))" ]; then
	step "packing what the guests get"
	"$top/scripts/in-tree" guest sh -ec '
		build=$1 version=$2 archive=$3
		modules=lib/modules/$version
		cd /
		mkdir -p "$modules/extra"
		find "$build/modules/$version" -name "*.ko" -exec cp -t "$modules/extra" {} +
		depmod "$version"
		cp "$build"/provider/*.so usr/lib/x86_64-linux-gnu/libibverbs/
		cp "$build"/provider/*.driver etc/libibverbs.d/
		tar -cf "$archive.new" "$modules/extra" "$modules"/modules.* \
			usr/lib/x86_64-linux-gnu/libibverbs/libvirtio_roce-* \
			etc/libibverbs.d/virtio_roce.driver
		mv "$archive.new" "$archive"
	' sh "$build" "$version" "$archive"
fi
echo "$archive"
