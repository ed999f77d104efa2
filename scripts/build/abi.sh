#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-abi.sh
#
# Builds the guests' virtio_roce.ko and the provider for an ABI that has grown, as
# tests/abi/enlarge.sed does it, unless the cache has them, and prints the directory that
# holds them.

. "$(dirname "$0")/../lib.sh"

header=uapi/virtio_roce-abi.h
version=$(cat "$("$top/scripts/images/trees.sh" kernel)/version")
tree=$("$top/scripts/images/trees.sh" build)
# The provider is compiled against this copy of rdma-core, and linked with it.
copy=$build/rdma-core
cd "$top"

make_abi()
{
	local version=$1 tree=$2 out=$3 src=$build/abi.src

	step "module and provider with an enlarged ABI"
	"$top/scripts/build/provider.sh"
	rm -rf "$src"
	mkdir -p "$src"
	cp -r --parents Kbuild drivers include uapi provider "$src"
	sed -i -f tests/abi/enlarge.sed "$src/$header"
	if [ "$(grep -c 'enlarged\[' "$src/$header")" -lt 7 ] ||
			! grep -q '1ULL << 63' "$src/$header"; then
		echo "tests/abi/enlarge.sed does not fit to $header"
		return 1
	fi
	"$top/scripts/images/in-tree" "$tree" make -s -C "/lib/modules/$version/build" M="$src" \
		-j"$(nproc)" modules
	find "$src" -name virtio_roce.ko -exec strip --strip-debug -o "$out/virtio_roce.ko" {} \;

	"$top/scripts/images/in-tree" "$tree" sh -ec '
		src=$1 copy=$2 to=$3
		gcc -shared -fPIC -O2 -std=gnu11 -D_GNU_SOURCE -DNDEBUG $4 \
			-I"$src/uapi" -I"$copy/build/include" -o "$to" "$src"/provider/*.c \
			"$copy"/build/lib/libibverbs.so.1 "$copy"/build/util/librdma_util_pic.a
	' sh "$src" "$copy" "$out/virtio_roce.so" "$(provider_flags "$copy")"
	rm -rf "$src"
}

mapfile -d '' sources < <(find Kbuild drivers include uapi provider -type f -print0 | sort -z)
# It was a directory once.
[ -L "$build/abi" ] || rm -rf "$build/abi"
cached abi "${sources[*]}" "${sources[@]}" tests/abi/enlarge.sed -- make_abi "$version" "$tree"
echo "$entry"
