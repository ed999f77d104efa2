#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# guest-image.sh [guest|debug] [guest|apps]
#
# Makes what a guest boots, with Debian's kernel or the debug kernel, unless the
# cache has it, and prints three paths, a line each: the kernel, the disk, which
# guests must open read-only or as a snapshot, and the initramfs.  The disk is
# that of the usual guest, or the one with applications (scripts/images/trees.sh).

. "$(dirname "$0")/../lib.sh"

make_disk()
{
	local tree=$1 version=$2 out=$3

	step "guest disk"
	cp "$tree/boot/vmlinuz-$version" "$out/vmlinuz"
	truncate -s 3G "$out/disk.img"
	# No journal: what a guest writes is thrown away with it.
	mke2fs -q -t ext4 -O ^has_journal -L guest -d "$tree" "$out/disk.img"
}

# The modules that reach the disk, those that init wants besides, and all that
# they depend on, in the order of loading.
# The debug kernel has all of them built in.
make_initrd()
{
	local variant=$1 tree=$2 version=$3 out=$4 file name
	local -a members=()

	step "guest initramfs ($variant)"
	touch "$out/list"
	[ "$variant" = debug ] ||
		"$top/scripts/images/in-tree" "$tree" modprobe -S "$version" -a --show-depends \
			virtio_pci virtio_blk ext4 crc32c_generic 9p 9pnet_virtio virtio_console |
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }' > "$out/list"
	while read -r file; do
		name=$(basename "${file%.xz}")
		xz -dc "$tree$file" > "$out/$name"
		members+=("modules/$name=$out/$name")
		echo "$name"
	done < "$out/list" > "$out/order"
	/usr/bin/python3 "$top/scripts/images/initrd.py" "$out/initrd" \
		"modules/order=$out/order" "${members[@]}" \
		"init=$top/scripts/images/guest/init" "lab/start=$top/scripts/images/guest/start" \
		"lab/thaw=$top/scripts/images/guest/thaw" "lab/agent.py=$top/scripts/images/guest/agent.py"
	rm -f "$out"/*.ko "$out/list" "$out/order"
}

variant=${1-guest}
contents=${2-guest}
tree=$("$top/scripts/images/trees.sh" guest)
version=$(cat "$("$top/scripts/images/trees.sh" kernel)/version")
if [ "$contents" = guest ]; then
	cached guest-disk -- make_disk "$tree" "$version"
else
	cached "$contents-disk" -- make_disk "$("$top/scripts/images/trees.sh" "$contents")" "$version"
fi
if [ "$variant" = debug ]; then
	echo "$("$top/scripts/images/kunit-kernel.sh" debug)/bzImage"
else
	echo "$entry/vmlinuz"
fi
echo "$entry/disk.img"
initrd=guest-initrd
[ "$variant" = guest ] || initrd=$initrd-$variant
cached "$initrd" "$top/scripts/images/initrd.py" "$top"/scripts/images/guest/* /bin/busybox -- \
	make_initrd "$variant" "$tree" "$version"
echo "$entry/initrd"
