#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-nvmft.sh
#
# Builds virtio-roce-nvmft, the target of NVMe over Fabrics for guests, into build/nvmft,
# against the copy of rdma-core in which the provider is built.

. "$(dirname "$0")/../lib.sh"

"$top/scripts/build/provider.sh"
exclusive nvmft
step "virtio-roce-nvmft"
# shellcheck disable=SC2016
"$top/scripts/images/in-tree" "$("$top/scripts/images/trees.sh" build)" sh -ec '
	ninja --quiet -C "$1" lib/librdmacm.so
	make -s -C "$2/nvmft" O="$3" RDMA_CORE="$1"
' sh "$build/rdma-core/build" "$top" "$build/nvmft" >&2
