#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-provider.sh [--test|--sparse]
#
# Builds the rdma-core provider into build/provider, inside a copy of the
# rdma-core source that the guests' packages were built from; our folder is
# linked there under providers/.  With --test it builds the unit tests and runs them,
# those with threads also under ThreadSanitizer.  With --sparse it fails if sparse
# reports anything about the provider.

. "$(dirname "$0")/lib.sh"

# Makes the copy under another name first, so that a copy that exists is complete.
make_source()
{
	local from=$1 to=$2

	step "provider: copy of the rdma-core source"
	rm -rf "$to" "$to.new"
	cp -r "$from" "$to.new"
	ln -s "$top/provider" "$to.new/providers/virtio_roce"
	sed -i 's,^add_subdirectory(providers/vmw_pvrdma),add_subdirectory(providers/virtio_roce)\n&,' \
		"$to.new/CMakeLists.txt"
	# Which tree it came from.
	echo "$from" > "$to.new/.from"
	mv "$to.new" "$to"
}

tree=$("$top/scripts/trees.sh" build)
source=$(echo "$tree"/usr/src/rdma-core-*)
copy=$build/rdma-core
exclusive provider
[ "$(cat "$copy/.from" 2>/dev/null)" = "$source" ] || make_source "$source" "$copy"

step "provider"
"$top/scripts/in-tree" "$tree" sh -ec '
	copy=$1
	# CMake prints much about the rest of rdma-core.
	[ -e "$copy/build/build.ninja" ] ||
		cmake -S "$copy" -B "$copy/build" -G Ninja -DNO_MAN_PAGES=1 \
			-DNO_PYVERBS=1 -DCMAKE_BUILD_TYPE=RelWithDebInfo > "$copy/log" 2>&1 ||
		{ cat "$copy/log"; exit 1; }
	target=$(ninja -C "$copy/build" -t targets all |
		sed -n "s,^\(lib/libvirtio_roce-rdmav[0-9]*\.so\):.*,\1,p")
	ninja --quiet -C "$copy/build" "$target"
' sh "$copy" >&2

if [ "${1-}" = --sparse ]; then
	step "provider: sparse"
	# rdma-core has an endian.h that tells sparse which value has which byte order.
	exec "$top/scripts/in-tree" "$tree" sh -ec '
		rc=0
		for source in "$2"/provider/*.c; do
			sparse -Wsparse-error -std=gnu11 -I"$1/buildlib/sparse-include" \
				-I"$1/build/include" -I"$2/uapi" "$source" || rc=$?
		done
		exit $rc
	' sh "$copy" "$top"
fi

mkdir -p "$build/provider"
# With their times, by which scripts/guest-files.sh sees what is new.
cp -p "$copy"/build/lib/libvirtio_roce-rdmav*.so \
	"$copy/build/providers/virtio_roce/virtio_roce.driver" "$build/provider"

if [ "${1-}" = --test ]; then
	step "provider: unit tests"
	"$top/scripts/in-tree" "$tree" sh -ec '
		ninja --quiet -C "$1/build" virtio_roce_test virtio_roce_tsan_test >&2
		rc=0
		"$1/build/bin/virtio_roce_test" || rc=$?
		# Those with threads, under ThreadSanitizer.
		"$1/build/bin/virtio_roce_tsan_test" "*_from_threads" || rc=$?
		exit $rc
	' sh "$copy"
fi
