#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-abi.sh
#
# Builds the guests' virtio_roce.ko and the provider for an ABI that has grown, as
# tests/abi/enlarge.sed does it, and prints the directory that holds them, build/abi.

. "$(dirname "$0")/lib.sh"

dir=$build/abi
src=$dir/src
header=uapi/virtio_roce-abi.h
version=$(cat "$("$top/scripts/trees.sh" kernel)/version")
tree=$("$top/scripts/trees.sh" build)
# The provider is compiled against this copy of rdma-core, and linked with it.
"$top/scripts/build-provider.sh"
copy=$build/rdma-core
exclusive abi

step "module and provider with an enlarged ABI"
mkdir -p "$src"
cd "$top"
filters=(--filter="protect $header")
for made in '*.o' '*.ko' '*.mod' '*.mod.c' '.*.cmd' '*.a' modules.order Module.symvers; do
	filters+=("--filter=protect $made")
done
rsync -rlptR --delete --exclude="/$header" "${filters[@]}" Kbuild drivers include uapi provider \
	"$src"
# Only a header that is new gets a new time.
sed -f tests/abi/enlarge.sed "$header" > "$dir/header"
if [ "$(grep -c 'enlarged\[' "$dir/header")" -lt 5 ] || ! grep -q '1ULL << 63' "$dir/header"; then
	echo "tests/abi/enlarge.sed does not fit to $header" >&2
	exit 1
fi
cmp -s "$dir/header" "$src/$header" || cp "$dir/header" "$src/$header"
"$top/scripts/in-tree" build make -s -C "/lib/modules/$version/build" M="$src" \
	-j"$(nproc)" modules >&2
find "$src" -name virtio_roce.ko -exec cp -p -t "$dir" {} +

"$top/scripts/in-tree" "$tree" sh -ec '
	src=$1 copy=$2 to=$3
	gcc -shared -fPIC -O2 -std=gnu11 -D_GNU_SOURCE -DNDEBUG \
		-I"$src/uapi" -I"$copy/build/include" -o "$to" "$src"/provider/*.c \
		"$copy"/build/lib/libibverbs.so.1 "$copy"/build/util/librdma_util_pic.a
' sh "$src" "$copy" "$dir/virtio_roce.so"
echo "$dir"
