#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# qemu-migration.sh
#
# Builds QEMU with the patches of upstream/qemu, which let it move a guest, unless the cache
# has it, and prints the directory that holds it: qemu-system-x86_64, the libraries that it
# needs, and pc-bios.  It takes half an hour.  LAB_JOBS says how many compilers run at a time.

. "$(dirname "$0")/../lib.sh"

source=$("$top/scripts/images/trees.sh" qemu-source)
tree=$("$top/scripts/images/trees.sh" qemu-build)
patches=("$top"/upstream/qemu/*.patch)

# The parts that the tests' guests use: TCG, vhost-user, sockets, and nothing of a desktop.
make_qemu()
{
	local source=$1 tree=$2 dir=$3 patch

	step "QEMU with migration of the device"
	cp -a "$source" "$dir/source"
	for patch in "${patches[@]}"; do
		patch -s -d "$dir/source" -p1 < "$patch"
	done
	# shellcheck disable=SC2016
	"$top/scripts/images/in-tree" "$tree" nice -n 19 sh -ec '
		mkdir "$1/build"
		cd "$1/build"
		../source/configure --target-list=x86_64-softmmu --without-default-features \
			--enable-system --enable-tcg --enable-vhost-user --enable-fdt=system \
			--disable-docs --disable-download --disable-install-blobs
		ninja -j"$2" qemu-system-x86_64
		mkdir "$1/lib"
		cp qemu-system-x86_64 "$1"
		ldd qemu-system-x86_64 | sed -n "s/.*=> \\(\\/[^ ]*\\).*/\\1/p" |
			xargs cp -Lt "$1/lib" /lib64/ld-linux-x86-64.so.2
	' sh "$dir" "${LAB_JOBS-$(nproc)}"
	cp -a "$dir/source/pc-bios" "$dir/pc-bios"
	rm -rf "$dir/source" "$dir/build"
}

cached qemu-migration "${patches[@]}" -- make_qemu "$source" "$tree"
echo "$entry"
