#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# upstream-guest.sh
#
# Makes what a guest of the lab needs to run the patches of "make upstream", and prints
# four paths, a line each: the newest kernel that backports have, the guests' disk, an
# initramfs, and an archive with modules and our provider for the guest's root directory.
#
# The modules that the patches change or add are built from the patched source against the
# kernel's headers: virtio_net with its part for RoCE, and the RDMA driver.  They have the
# RFC's feature bit, command class and place in the configuration space, and the driver's
# number out of tree, because these are what daemon and provider have.

. "$(dirname "$0")/../lib.sh"

# Reach the disk and the share, and what the patched modules and the tests need.
boot_modules="virtio_blk ext4 crc32c_generic 9p 9pnet_virtio"
other_modules="virtio_net ib_uverbs rdma_ucm ib_umad"

# The kernel whose headers the tree has.
make_kernel_newest()
{
	local tree=$1 version=$2 out=$3

	step "kernel $version"
	# shellcheck disable=SC2016
	"$top/scripts/images/in-tree" "$tree" sh -ec '
		apt-get update -q -o "Acquire::Check-Valid-Until=$3"
		cd /tmp
		# The image itself may be in packages that this one depends on.
		apt-get download $(apt-cache depends "linux-image-$1" |
			sed -n "s/^ *Depends: \(linux-.*-$1\)$/\1/p") "linux-image-$1"
		for package in *.deb; do
			dpkg-deb -x "$package" "$2"
		done
		[ -d "$2/lib/modules" ] || ln -s usr/lib "$2/lib"
	' sh "$version" "$out" "$check_valid"
	"$top/scripts/images/in-tree" build depmod -b "$out" "$version"
}

# The files of modules and of all that they need, in the order of loading.
files_of()
{
	"$top/scripts/images/in-tree" build sh -c 'd=$1 v=$2; shift 2
		for module; do
			modprobe -d "$d" -S "$v" --show-depends "$module" 2> /dev/null
		done' sh "$image" "$version" "$@" | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# A module as the kernel loads it, from whatever it is compressed by.
unpack()
{
	case $1 in
	*.xz)	xz -dc "$1" ;;
	*.zst)	zstd -qdc "$1" ;;
	*)	cat "$1" ;;
	esac > "$2"
}

# Into a place whose objects stay: only a source that changed gets a new time.
build_modules()
{
	local new=$out/new patch

	rm -rf "$new"
	mkdir -p "$new/drivers/net" "$1"
	cp "$linux/drivers/net/virtio_net.c" "$new/drivers/net"
	for patch in "$build"/upstream-rfc/linux/*.patch; do
		# All but what is about the kernel's own makefiles and headers.
		(cd "$new" && GIT_CEILING_DIRECTORIES=$out git apply --allow-empty \
			--include='drivers/net/virtio_net*' \
			--include='drivers/infiniband/hw/virtio_roce/*' \
			--include='include/linux/*' --include='include/uapi/*/virtio*' "$patch")
	done
	echo 'obj-m += drivers/net/ drivers/infiniband/hw/virtio_roce/' > "$new/Kbuild"
	echo 'obj-m := virtio_net.o virtio_net_roce.o' > "$new/drivers/net/Makefile"
	rsync -rc "$new/" "$1"
	"$top/scripts/images/in-tree" "$newest" make -s -C "/lib/modules/$version/build" M="$1" \
		-j"$(nproc)" CONFIG_INFINIBAND_VIRTIO_ROCE=m KCFLAGS="-I$1/include \
		-I$1/include/uapi -DCONFIG_VIRTIO_NET_ROCE=1 \
		-DRDMA_DRIVER_VIRTIO_ROCE=$number" modules >&2
}

check_valid=true
eval "$(apt-config shell check_valid Acquire::Check-Valid-Until)"
linux=$("$top/scripts/images/trees.sh" upstream)/usr/src/linux
rdma_core=$(compgen -G "$("$top/scripts/images/trees.sh" rdma-core)/rdma-core_65*")
newest=$("$top/scripts/images/trees.sh" newest)
version=$(ls "$newest/lib/modules")
number=$(sed -n 's/^#define VIRTIO_ROCE_DRIVER_ID\t*//p' "$top/uapi/virtio_roce-abi.h")
cached kernel-newest "$version" -- make_kernel_newest "$newest" "$version"
image=$entry

exclusive upstream-guest
out=$build/upstream-guest
mkdir -p "$out"
step "modules of the patches for $version"
"$top/upstream/generate.py" --rfc-numbers "$linux" "$rdma_core" \
	"$build/upstream-rfc" > /dev/null
build_modules "$out/source"

step "initramfs and modules for a guest"
rm -rf "$out/root" "$out/boot"
mkdir -p "$out/boot" "$out/root/lib/modules/$version"
members=()
# shellcheck disable=SC2086
while read -r file; do
	name=$(basename "$file" | sed 's/\.ko.*/.ko/')
	unpack "$file" "$out/boot/$name"
	members+=("modules/$name=$out/boot/$name")
	echo "$name"
done < <(files_of $boot_modules) > "$out/order"
/usr/bin/python3 "$top/scripts/images/initrd.py" "$out/initrd" \
	"modules/order=$out/order" "${members[@]}" \
	"init=$top/scripts/images/guest/init" "lab/start=$top/scripts/images/guest/start" \
	"lab/thaw=$top/scripts/images/guest/thaw" "lab/agent.py=$top/scripts/images/guest/agent.py"

modules=$out/root/lib/modules/$version
# shellcheck disable=SC2086
while read -r file; do
	unpack "$file" "$modules/$(basename "$file" | sed 's/\.ko.*/.ko/')"
done < <(files_of $other_modules)
find "$out/source" -name '*.ko' -exec cp -t "$modules" {} +
strip --strip-debug "$modules"/*.ko
cp "$image/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} "$modules"
"$top/scripts/images/in-tree" build depmod -b "$out/root" "$version"
mkdir -p "$out/root/usr/lib/x86_64-linux-gnu/libibverbs" "$out/root/etc/libibverbs.d"
cp "$build"/provider/*.so "$out/root/usr/lib/x86_64-linux-gnu/libibverbs"
cp "$build"/provider/*.driver "$out/root/etc/libibverbs.d"
ln -s libibverbs/"$(basename "$build"/provider/*.so)" \
	"$out/root/usr/lib/x86_64-linux-gnu/libvirtio_roce.so.1"
tar -C "$out/root" -cf "$out/install.tar" .

find "$image/" -name 'vmlinuz*' -type f -print -quit
"$top/scripts/images/guest-image.sh" guest guest | sed -n 2p
echo "$out/initrd"
echo "$out/install.tar"
