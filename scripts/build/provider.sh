#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# [RDMA_CORE=VERSION] build-provider.sh [--test|--sparse|--versions]
#
# Builds the rdma-core provider into build/provider, inside a copy of the
# rdma-core source that the guests' packages were built from; our folder is
# linked there under providers/.  With --test it builds the unit tests and runs them,
# those with threads also under ThreadSanitizer.  With --sparse it fails if sparse
# reports anything about the provider.
#
# With RDMA_CORE it takes that version of rdma-core, which has to be one of
# "scripts/images/trees.sh rdma-core", and builds into build/provider-VERSION.  With --versions
# it builds and tests the provider with each of those but the guests', and builds it with
# the guests' without FLUSH, which came with 45; the compiler is that of Debian 13 for all.

. "$(dirname "$0")/../lib.sh"

if [ "${1-}" = --versions ]; then
	passed=0
	failed=0
	# try VERSION ARGUMENT...
	try()
	{
		local version=$1

		shift
		if RDMA_CORE=$version "$0" "$@"; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			echo "FAIL rdma-core $version"
		fi
	}
	tree=$("$top/scripts/images/trees.sh" build)
	guest=$(echo "$tree"/usr/src/rdma-core-*)
	guest=${guest##*-}
	for source in "$("$top/scripts/images/trees.sh" rdma-core)"/rdma-core_*; do
		# That one is built and tested anyway.
		[ "${source##*_}" = "$guest" ] || try "${source##*_}" --test
	done
	WITHOUT_FLUSH=1 try "$guest"
	record provider-versions "$passed" "$failed"
	exit
fi

tree=$("$top/scripts/images/trees.sh" build)
out=$build/provider
options=
if [ -n "${RDMA_CORE-}" ]; then
	sources=$("$top/scripts/images/trees.sh" rdma-core)
	source=$(compgen -G "$sources/rdma-core_$RDMA_CORE*" | tail -n 1) || {
		echo "no rdma-core $RDMA_CORE, but:" "$(cd "$sources" && echo rdma-core_*)" >&2
		exit 1
	}
	copy=$build/rdma-core-${source##*_}
	out=$build/provider-${source##*_}
	if [ -n "${WITHOUT_FLUSH-}" ]; then
		copy=$copy-without-flush
		out=$out-without-flush
		options=-DHAVE_IBV_WR_FLUSH=0
	fi
else
	source=$(echo "$tree"/usr/src/rdma-core-*)
	copy=$build/rdma-core
fi
exclusive "${out##*/}"
step "provider${RDMA_CORE:+ (rdma-core ${copy##*rdma-core-})}"
# shellcheck disable=SC2086
"$top/scripts/images/in-tree" "$tree" "$top/scripts/build/provider-in-rdma-core" "$source" \
	"$copy" $options >&2

if [ "${1-}" = --sparse ]; then
	step "provider: sparse"
	# rdma-core has an endian.h that tells sparse which value has which byte order.
	exec "$top/scripts/images/in-tree" "$tree" sh -ec '
		rc=0
		for source in "$2"/provider/*.c; do
			sparse -Wsparse-error -std=gnu11 $3 -I"$1/buildlib/sparse-include" \
				-I"$1/build/include" -I"$2/uapi" "$source" || rc=$?
		done
		exit $rc
	' sh "$copy" "$top" "$(provider_flags "$copy")"
fi

mkdir -p "$out"
# With their times, by which scripts/images/guest-files.sh sees what is new.
cp -p "$copy"/build/lib/libvirtio_roce-rdmav*.so \
	"$copy/build/providers/virtio_roce/virtio_roce.driver" "$out"

if [ "${1-}" = --count ]; then
	# shellcheck disable=SC2016
	exec "$top/scripts/images/in-tree" "$tree" sh -ec '
		ninja --quiet -C "$1/build" virtio_roce_count >&2
		"$1/build/bin/virtio_roce_count"
	' sh "$copy"
fi

if [ "${1-}" = --count-others ]; then
	# shellcheck disable=SC2016
	exec "$top/scripts/images/in-tree" "$tree" sh -ec '
		ninja --quiet -C "$1/build" virtio_roce_count_efa virtio_roce_count_mlx5 >&2
		echo "{ \"efa\":"
		"$1/build/bin/virtio_roce_count_efa"
		echo ", \"mlx5\":"
		"$1/build/bin/virtio_roce_count_mlx5"
		echo "}"
	' sh "$copy"
fi

if [ "${1-}" = --test ]; then
	step "provider: unit tests"
	"$top/scripts/images/in-tree" "$tree" sh -ec '
		ninja --quiet -C "$1/build" virtio_roce_test virtio_roce_tsan_test >&2
		rc=0
		"$1/build/bin/virtio_roce_test" || rc=$?
		# Those with threads, under ThreadSanitizer.
		"$1/build/bin/virtio_roce_tsan_test" "*_from_threads" || rc=$?
		exit $rc
	' sh "$copy"
fi
