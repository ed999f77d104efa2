// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checksum and segmentation that a sender has left undone.
 *
 * Theory of operation
 *
 * struct virtio_net_hdr says where a checksum is missing, and into segments of
 * what size a TCP packet longer than the MTU is to be cut.  It comes from a guest
 * or a tap, so nothing in it is used before it was compared with the frame.  The
 * headers are parsed here, and their length is the one that the parser found.
 */

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "ether/frame.h"
#include "ether/offload.h"
#include "packet/inet.h"
#include "packet/tso.h"
#include "virtio/mem.h"

static uint8_t gso_type(const struct virtio_net_hdr *hdr)
{
	return hdr->gso_type & ~VIRTIO_NET_HDR_GSO_ECN;
}

/* ------------------------------------------------------------------------- */
/* Checksum                                                                  */
/* ------------------------------------------------------------------------- */

/* The checksum for a sum.  Where 0 would mean no checksum, its other form is used. */
static uint16_t sum_csum(uint64_t sum)
{
	const uint16_t fold = sum_fold(sum);

	return fold == 0xffff ? fold : ~fold;
}

static void csum_put(uint8_t *p, uint64_t sum)
{
	const uint16_t csum = sum_csum(sum);

	memcpy(p, &csum, sizeof(csum));
}

/* ------------------------------------------------------------------------- */
/* What is to be done                                                        */
/* ------------------------------------------------------------------------- */

static bool layout_ip(struct tso_layout *at, const uint8_t *head, size_t n,
		      size_t l4)
{
	const uint8_t *ip = head + at->ip;

	if (at->v6)
		return l4 >= at->ip + IPV6_HLEN && ip[0] >> 4 == 6 &&
		       (l4 > at->ip + IPV6_HLEN ||
			ip[IPV6_NEXT] == IPPROTO_TCP);
	return n >= at->ip + IPV4_HLEN && ip[0] >> 4 == 4 &&
	       (ip[0] & 15) * 4 >= IPV4_HLEN &&
	       l4 == at->ip + (ip[0] & 15) * 4 &&
	       ip[IPV4_PROTOCOL] == IPPROTO_TCP &&
	       !(get_be16(ip + IPV4_FRAGMENT) & IPV4_IS_FRAGMENT);
}

/* Finds the headers of a packet that is to be segmented in its first @n bytes. */
static int layout_parse(struct tso_layout *at, const struct virtio_net_hdr *hdr,
			const uint8_t *head, size_t n)
{
	const size_t l4 = le16toh(hdr->csum_start);
	const uint16_t type = gso_type(hdr) == VIRTIO_NET_HDR_GSO_TCPV6 ?
			      ETHERTYPE_IPV6 : ETHERTYPE_IP;
	size_t doff;

	at->v6 = type == ETHERTYPE_IPV6;
	at->ip = ETH_HLEN;
	if (n < ETH_HLEN + OFFLOAD_TAG_LEN)
		return -EINVAL;
	if (get_be16(head + ETH_HLEN - 2) == ETHERTYPE_VLAN)
		at->ip += OFFLOAD_TAG_LEN;
	if (get_be16(head + at->ip - 2) != type || l4 <= at->ip ||
	    n < l4 + TCP_HLEN || !layout_ip(at, head, n, l4))
		return -EINVAL;
	doff = (head[l4 + TCP_DOFF] >> 4) * 4;
	if (doff < TCP_HLEN || n < l4 + doff)
		return -EINVAL;
	at->l4 = l4;
	at->len = l4 + doff;
	return 0;
}

static int gso_init(struct frame *frame)
{
	struct virtio_net_hdr *hdr = &frame->hdr;
	uint8_t head[OFFLOAD_HEAD_MAX];
	struct tso_layout at;
	size_t n;

	if (!(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || !hdr->gso_size ||
	    le16toh(hdr->csum_offset) != TCP_CSUM ||
	    frame->len > OFFLOAD_FRAME_MAX)
		return -EINVAL;
	n = iov_to_buf(frame->iov, frame->iov_n, frame->off, head,
		       frame->len < sizeof(head) ? frame->len : sizeof(head));
	if (layout_parse(&at, hdr, head, n) || at.len >= frame->len ||
	    frame->len - at.len > (size_t)le16toh(hdr->gso_size) * OFFLOAD_SEGMENTS_MAX)
		return -EINVAL;
	hdr->hdr_len = htole16(at.len);
	frame->wire_len = at.len + le16toh(hdr->gso_size);
	if (frame->wire_len > frame->len)
		frame->wire_len = frame->len;
	return 0;
}

int offload_init(struct frame *frame, const struct virtio_net_hdr *hdr)
{
	size_t start = le16toh(hdr->csum_start);

	frame->hdr = (struct virtio_net_hdr){
		.flags = hdr->flags & (VIRTIO_NET_HDR_F_NEEDS_CSUM |
				       VIRTIO_NET_HDR_F_DATA_VALID),
	};
	if (hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		if (start < ETH_HLEN || start + le16toh(hdr->csum_offset) +
					sizeof(uint16_t) > frame->len)
			return -EINVAL;
		frame->hdr.csum_start = hdr->csum_start;
		frame->hdr.csum_offset = hdr->csum_offset;
	}
	switch (gso_type(hdr)) {
	case VIRTIO_NET_HDR_GSO_NONE:
		return hdr->gso_type ? -EINVAL : 0;
	case VIRTIO_NET_HDR_GSO_TCPV4:
	case VIRTIO_NET_HDR_GSO_TCPV6:
		frame->hdr.gso_type = hdr->gso_type;
		frame->hdr.gso_size = hdr->gso_size;
		return gso_init(frame);
	default:
		return -EINVAL;
	}
}

size_t offload_segments(const struct frame *frame)
{
	const size_t size = le16toh(frame->hdr.gso_size);

	return frame->hdr.gso_type ?
	       (frame->len - le16toh(frame->hdr.hdr_len) + size - 1) / size : 1;
}

unsigned int offload_needs(const struct frame *frame)
{
	unsigned int needs = 0;

	if (frame->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		needs |= OFFLOAD_CSUM;
	if (gso_type(&frame->hdr) == VIRTIO_NET_HDR_GSO_TCPV4)
		needs |= OFFLOAD_TSO4;
	if (gso_type(&frame->hdr) == VIRTIO_NET_HDR_GSO_TCPV6)
		needs |= OFFLOAD_TSO6;
	if (frame->hdr.gso_type & VIRTIO_NET_HDR_GSO_ECN)
		needs |= OFFLOAD_ECN;
	return needs;
}

/* ------------------------------------------------------------------------- */
/* Doing it                                                                  */
/* ------------------------------------------------------------------------- */

static void finish_csum(struct offload *offload, const struct frame *frame)
{
	const size_t start = le16toh(frame->hdr.csum_start);
	uint8_t *data = offload->data;

	csum_put(data + start + le16toh(frame->hdr.csum_offset),
		 sum_bytes(data + start, frame->len - start));
}

/* Sum of the pseudo header of a segment of @l4_len bytes of TCP. */
static uint64_t pseudo_sum(const uint8_t *head, const struct tso_layout *at,
			   size_t l4_len)
{
	const uint8_t *ip = head + at->ip;
	uint64_t sum = htobe32(l4_len) + (uint64_t)htobe32(IPPROTO_TCP);

	return sum + (at->v6 ? sum_bytes(ip + IPV6_ADDRS, 32) :
			       sum_bytes(ip + IPV4_ADDRS, 8));
}

/* Makes the headers of segment @i, which carries @len bytes from @off on. */
static void segment_head(struct offload *offload, const struct tso_layout *at,
			 unsigned int i, size_t off, size_t len, bool last)
{
	uint8_t *head = offload->head, *ip = head + at->ip;
	uint64_t sum;

	memcpy(head, offload->data, at->len);
	tso_number(head, at, i, off, len, last);
	if (!at->v6) {
		put_be16(ip + IPV4_CSUM, 0);
		csum_put(ip + IPV4_CSUM, sum_bytes(ip, at->l4 - at->ip));
	}
	put_be16(head + at->l4 + TCP_CSUM, 0);
	sum = pseudo_sum(head, at, at->len - at->l4 + len);
	sum += sum_bytes(head + at->l4, at->len - at->l4);
	sum += sum_bytes(offload->data + at->len + off, len);
	csum_put(head + at->l4 + TCP_CSUM, sum);
}

int offload_finish(struct offload *offload, const struct frame *frame,
		   void (*emit)(void *arg, const struct frame *frame),
		   void *arg)
{
	const size_t size = le16toh(frame->hdr.gso_size);
	struct iovec iov[2] = { { offload->data, frame->len } };
	struct frame out = *frame;
	struct tso_layout at;
	size_t off, len;
	unsigned int i;

	if (frame->len > sizeof(offload->data) ||
	    iov_to_buf(frame->iov, frame->iov_n, frame->off, offload->data,
		       frame->len) < frame->len)
		return -EINVAL;
	memset(&out.hdr, 0, sizeof(out.hdr));
	out.iov = iov;
	out.iov_n = 1;
	out.off = 0;
	if (!frame->hdr.gso_type) {
		if (frame->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
			finish_csum(offload, frame);
		emit(arg, &out);
		return 0;
	}

	len = frame->len < OFFLOAD_HEAD_MAX ? frame->len : OFFLOAD_HEAD_MAX;
	if (layout_parse(&at, &frame->hdr, offload->data, len))
		return -EINVAL;
	out.iov_n = 2;
	for (i = 0, off = 0; at.len + off < frame->len; i++, off += len) {
		len = frame->len - at.len - off;
		if (len > size)
			len = size;
		segment_head(offload, &at, i, off, len,
			     at.len + off + len == frame->len);
		iov[0] = (struct iovec){ offload->head, at.len };
		iov[1] = (struct iovec){ offload->data + at.len + off, len };
		out.len = at.len + len;
		out.wire_len = out.len;
		emit(arg, &out);
	}
	return 0;
}
