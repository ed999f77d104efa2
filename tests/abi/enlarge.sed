# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Makes of virtio_roce-abi.h what it may be one day: each structure is longer by a member,
# and there is one more feature.
/^struct virtio_roce_\(alloc_ucontext\|create_cq\|create_qp\|create_srq\|modify_srq\|resize_cq\).*{$/,/^};$/ s/^};$/\t__aligned_u64 enlarged[2];\n};/
/^struct virtio_roce_create_ah.*{$/,/^};$/ s/^};$/\t__u32 enlarged[2];\n};/
s/^#define VIRTIO_ROCE_FEATURES\>/#define VIRTIO_ROCE_FEATURES (VIRTIO_ROCE_OURS | (1ULL << 63))\n#define VIRTIO_ROCE_OURS/
