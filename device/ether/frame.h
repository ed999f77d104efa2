/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An Ethernet frame on its way from a sender to its receivers.
 */
#ifndef DEVICE_FRAME_H
#define DEVICE_FRAME_H

#include <net/ethernet.h>
#include <stddef.h>
#include <sys/uio.h>

#include <linux/virtio_net.h>

/**
 * struct frame - an Ethernet frame on its way
 * @iov:	pieces that it lies in, the sender's
 * @iov_n:	number of them
 * @off:	where in them it begins
 * @len:	its bytes, ETH_HLEN at least
 * @wire_len:	bytes of the longest frame that it is after segmentation
 * @hdr:	what is left to be done to it: checksum, segmentation
 * @eth:	copy of its header, the one to decide by
 * @vlan:	VLAN that its tag names, or -1 without a tag
 * @origin:	RDMA side of the guest that sent it, for that of the receiver; NULL
 *		from an uplink
 */
struct frame {
	const struct iovec *iov;
	unsigned int iov_n;
	size_t off;
	size_t len;
	size_t wire_len;
	struct virtio_net_hdr hdr;
	struct ether_header eth;
	int vlan;
	const void *origin;
};

/**
 * frame_init() - look at a frame that is to be sent
 * @frame:	filled in, with a @hdr of zeroes and no @origin
 * @iov:	pieces that the frame ends with
 * @iov_n:	number of them
 * @off:	bytes of them before the frame
 * @len:	its bytes
 *
 * Return: 0, or -EINVAL if it is shorter than an Ethernet header or than @len.
 */
int frame_init(struct frame *frame, const struct iovec *iov,
	       unsigned int iov_n, size_t off, size_t len);

#endif /* DEVICE_FRAME_H */
