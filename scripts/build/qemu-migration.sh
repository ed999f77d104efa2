#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# qemu-migration.sh
#
# Builds QEMU with the patches of upstream/qemu, which let it move a guest, unless the cache
# has it, and prints the directory that holds it: qemu-system-x86_64, the libraries that it
# needs.  Firmware is that of Debian's QEMU.  It takes half an hour, and a minute or two if only
# the patches changed.  LAB_JOBS says how many compilers run at a time.

. "$(dirname "$0")/../lib.sh"

source=$("$top/scripts/images/trees.sh" qemu-source)
tree=$("$top/scripts/images/trees.sh" qemu-build)
patches=("$top"/upstream/qemu/*.patch)

# The parts that the tests' guests use: TCG, vhost-user, sockets, and nothing of a desktop.
# Q35 of this version does not link without CXL, which needs PXB and its memory device.
devices="PCI_DEVICES=n TEST_DEVICES=n Q35=y CXL=y CXL_MEM_DEVICE=y PXB=y PCIE_PORT=y VIRTIO_PCI=y
	VIRTIO_BLK=y VIRTIO_NET=y VIRTIO_SERIAL=y VIRTIO_9P=y VHOST_USER_TEST=y"

make_qemu()
{
	local source=$1 tree=$2 devices=$3 dir=$4 patch

	step "QEMU with migration of the device"
	cp -a "$source" "$dir/source"
	for patch in "${patches[@]}"; do
		patch -s -d "$dir/source" -p1 < "$patch"
	done
	# shellcheck disable=SC2086
	printf 'CONFIG_%s\n' $devices > "$dir/source/configs/devices/x86_64-softmmu/lab.mak"
	# shellcheck disable=SC2016
	"$top/scripts/images/in-tree" "$tree" nice -n 19 sh -ec '
		mkdir "$1/build"
		cd "$1/build"
		export CCACHE_DIR="${1%/*}/ccache" CCACHE_BASEDIR="$1"
		../source/configure --target-list=x86_64-softmmu --cc="ccache gcc" \
			--without-default-features \
			--without-default-devices --with-devices-x86_64=lab \
			--enable-system --enable-tcg --enable-vhost-user --enable-fdt=system \
			--enable-attr --enable-virtfs --disable-debug-info \
			--disable-docs --disable-download --disable-install-blobs
		ninja -j"$2" qemu-system-x86_64
		mkdir "$1/lib"
		cp qemu-system-x86_64 "$1"
		ldd qemu-system-x86_64 | sed -n "s/.*=> \\(\\/[^ ]*\\).*/\\1/p" |
			xargs cp -Lt "$1/lib" /lib64/ld-linux-x86-64.so.2
	' sh "$dir" "${LAB_JOBS-$(nproc)}"
	rm -rf "$dir/source" "$dir/build"
}

cached qemu-migration "${patches[@]}" -- make_qemu "$source" "$tree" "$devices"
echo "$entry"
