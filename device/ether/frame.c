// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An Ethernet frame on its way from a sender to its receivers.
 */

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ether/frame.h"
#include "virtio/mem.h"

#define VLAN_VID_MASK		0x0fff

int frame_init(struct frame *frame, const struct iovec *iov,
	       unsigned int iov_n, size_t off, size_t len)
{
	struct {
		struct ether_header eth;
		uint16_t tci;
	} __attribute__((packed)) head;
	size_t n = len < sizeof(head) ? len : sizeof(head);

	if (len < ETH_HLEN || iov_to_buf(iov, iov_n, off, &head, n) < n)
		return -EINVAL;

	memset(frame, 0, sizeof(*frame));
	frame->iov = iov;
	frame->iov_n = iov_n;
	frame->off = off;
	frame->len = len;
	frame->wire_len = len;
	frame->eth = head.eth;
	frame->vlan = -1;
	if (n == sizeof(head) && head.eth.ether_type == htobe16(ETHERTYPE_VLAN))
		frame->vlan = be16toh(head.tci) & VLAN_VID_MASK;
	return 0;
}
