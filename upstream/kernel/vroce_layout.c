// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of the wire format: the length of each structure, and where fields are that
 * follow padding or a union.  No code comes of it.
 */
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/virtio_net_roce.h>

#define SIZE(type, size)	static_assert(sizeof(struct type) == (size))
#define AT(type, member, offset) \
	static_assert(offsetof(struct type, member) == (offset))

