// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames that wait to be written to an interface, many of them in one go.
 *
 * Theory of operation
 *
 * A frame joins the message before it if it is the next RoCE packet of the same
 * connection: a plain frame, without a VLAN tag, IPv4 or IPv6 without options, UDP
 * to port 4791 without a checksum, all headers equal but for lengths, and with the
 * identification that the kernel gives to the next segment of an IPv4 packet.  (Our
 * own packets have the PSN there.  The ICRC covers it.)  The payload is as long as
 * that of the frame before, or shorter, and then it is the last one of its message.
 *
 * The kernel computes a UDP checksum for each segment, where there was none.  The
 * ICRC does not cover it.  A packet that has a checksum of its own is left alone,
 * as a wrong one would become right.  A packet with a wrong checksum of IPv4 is left alone
 * as well.
 *
 * A frame may lie in the memory of a guest, who can change it at any time.  Only
 * the copy is looked at, and it is what is written.
 */

#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>

#include "ether/frame.h"
#include "ether/offload.h"
#include "packet/roce.h"
#include "packet/roce_ext.h"
#include "uplink/batch.h"
#include "virtio/mem.h"

/* The limit of a frame's length, which its caller looks at. */
_Static_assert(BATCH_HDR_LEN + OFFLOAD_FRAME_MAX <= BATCH_SIZE, "a frame finds room");

#define BATCH_UDP_SIZE	sizeof(struct udphdr)

static bool head_is_ipv4(const uint8_t *head)
{
	return get_be16(head + 2 * ETH_ALEN) == ETHERTYPE_IP;
}

/* Bytes in front of the UDP payload, if @head is that of a frame with IP and UDP; or 0. */
static size_t head_size(const uint8_t *head)
{
	switch (get_be16(head + 2 * ETH_ALEN)) {
	case ETHERTYPE_IP:
		return ETH_HLEN + sizeof(struct iphdr) + BATCH_UDP_SIZE;
	case ETHERTYPE_IPV6:
		return ETH_HLEN + sizeof(struct ip6_hdr) + BATCH_UDP_SIZE;
	}
	return 0;
}

/* Is @head, with @size bytes, that of a RoCE packet that fills a frame of @len bytes? */
static bool head_is_roce(const uint8_t *head, size_t size, size_t len)
{
	const uint8_t *udp = head + size - BATCH_UDP_SIZE;
	const uint8_t *l3 = head + ETH_HLEN;
	struct iphdr ip;

	if (get_be16(udp + offsetof(struct udphdr, uh_dport)) != ROCE_UDP_PORT ||
	    get_be16(udp + offsetof(struct udphdr, uh_sum)) ||
	    get_be16(udp + offsetof(struct udphdr, uh_ulen)) !=
	    len - size + BATCH_UDP_SIZE)
		return false;
	if (!head_is_ipv4(head))
		return l3[0] >> 4 == 6 &&
		       l3[offsetof(struct ip6_hdr, ip6_nxt)] == IPPROTO_UDP &&
		       get_be16(l3 + offsetof(struct ip6_hdr, ip6_plen)) ==
		       len - size + BATCH_UDP_SIZE;
	memcpy(&ip, l3, sizeof(ip));
	return ip.version == 4 && ip.ihl == sizeof(ip) / 4 && ip.protocol == IPPROTO_UDP &&
	       !(be16toh(ip.frag_off) & ~IP_DF) && be16toh(ip.tot_len) == len - ETH_HLEN &&
	       ipv4_sum(&ip) == 0xffff;
}

/* Zeroes what the packets of one message may differ in. */
static void head_equalize(uint8_t *head, size_t size)
{
	uint8_t *udp = head + size - BATCH_UDP_SIZE;
	uint8_t *l3 = head + ETH_HLEN;

	put_be16(udp + offsetof(struct udphdr, uh_ulen), 0);
	if (!head_is_ipv4(head)) {
		put_be16(l3 + offsetof(struct ip6_hdr, ip6_plen), 0);
		return;
	}
	put_be16(l3 + offsetof(struct iphdr, tot_len), 0);
	put_be16(l3 + offsetof(struct iphdr, id), 0);
	put_be16(l3 + offsetof(struct iphdr, check), 0);
}

static uint16_t head_id(const uint8_t *head)
{
	return head_is_ipv4(head) ? get_be16(head + ETH_HLEN + offsetof(struct iphdr, id)) : 0;
}

/* Is @next the head of the packet that follows segment @i of a message with head @first? */
static bool head_follows(const uint8_t *first, const uint8_t *next, size_t size,
			 unsigned int i)
{
	uint8_t a[BATCH_HEAD_MAX], b[BATCH_HEAD_MAX];

	if (head_is_ipv4(first) && head_id(next) != (uint16_t)(head_id(first) + i + 1))
		return false;
	memcpy(a, first, size);
	memcpy(b, next, size);
	head_equalize(a, size);
	head_equalize(b, size);
	return !memcmp(a, b, size);
}

static bool frame_is_plain(const struct frame *frame)
{
	return !frame->hdr.flags && !frame->hdr.gso_type;
}

static uint8_t *msg_head(struct batch *batch, const struct batch_msg *msg)
{
	return batch->data + msg->off + BATCH_HDR_LEN;
}

/* Adds a frame to the last message; false if it is not the next packet of that one. */
static bool batch_join(struct batch *batch, const struct frame *frame)
{
	struct batch_msg *msg = &batch->msg[batch->n - 1];
	uint8_t head[BATCH_HEAD_MAX];
	size_t size = msg->head, payload;

	if (!msg->open || msg->segments == BATCH_SEGMENTS || !frame_is_plain(frame) ||
	    frame->len <= size || frame->len - size > msg->gso_size ||
	    msg->len - BATCH_HDR_LEN - ETH_HLEN + msg->gso_size > BATCH_IP_MAX)
		return false;
	payload = frame->len - size;
	if (payload > BATCH_SIZE - batch->len ||
	    iov_to_buf(frame->iov, frame->iov_n, frame->off, head, size) < size ||
	    head_size(head) != size || !head_is_roce(head, size, frame->len) ||
	    !head_follows(msg_head(batch, msg), head, size, msg->segments - 1))
		return false;
	if (iov_to_buf(frame->iov, frame->iov_n, frame->off + size,
		       batch->data + batch->len, payload) < payload)
		return false;
	batch->len += payload;
	msg->len += payload;
	msg->segments++;
	msg->open = payload == msg->gso_size;
	return true;
}

/* May others join the message that @frame begins?  It is in the batch already. */
static void batch_open(struct batch *batch, struct batch_msg *msg, const struct frame *frame)
{
	const uint8_t *head = msg_head(batch, msg);
	size_t size;

	if (batch->plain || !frame_is_plain(frame) || frame->len < ETH_HLEN)
		return;
	size = head_size(head);
	if (!size || frame->len <= size || !head_is_roce(head, size, frame->len))
		return;
	msg->head = size;
	msg->gso_size = frame->len - size;
	msg->open = true;
}

bool batch_add(struct batch *batch, const struct frame *frame)
{
	const size_t start = (batch->len + 7) & ~(size_t)7;
	struct batch_msg *msg;

	if (batch->n && batch_join(batch, frame))
		return true;
	if (batch->n == BATCH_MSGS || start + BATCH_HDR_LEN + frame->len > BATCH_SIZE)
		return false;
	msg = &batch->msg[batch->n];
	*msg = (struct batch_msg){
		.off = start,
		.len = BATCH_HDR_LEN + frame->len,
		.segments = 1,
	};
	memcpy(batch->data + start, &frame->hdr, BATCH_HDR_LEN);
	if (iov_to_buf(frame->iov, frame->iov_n, frame->off, msg_head(batch, msg),
		       frame->len) < frame->len)
		memset(msg_head(batch, msg), 0, frame->len);
	batch->n++;
	batch->len = start + msg->len;
	batch_open(batch, msg, frame);
	return true;
}

/* Writes lengths and checksum of a head for @payload bytes behind it. */
static void head_lengths(uint8_t *head, size_t size, size_t payload)
{
	uint8_t *udp = head + size - BATCH_UDP_SIZE;
	uint8_t *l3 = head + ETH_HLEN;
	const size_t len = BATCH_UDP_SIZE + payload;
	struct iphdr ip;

	put_be16(udp + offsetof(struct udphdr, uh_ulen), len);
	if (!head_is_ipv4(head)) {
		put_be16(l3 + offsetof(struct ip6_hdr, ip6_plen), len);
		return;
	}
	memcpy(&ip, l3, sizeof(ip));
	ip.tot_len = htobe16(sizeof(ip) + len);
	ip.check = 0;
	ip.check = ~ipv4_sum(&ip);
	memcpy(l3, &ip, sizeof(ip));
}

/* Sum of the pseudo header, which is where the kernel's own sum begins. */
static uint16_t head_pseudo_sum(const uint8_t *head, size_t size, size_t payload)
{
	const size_t addrs = head_is_ipv4(head) ? 2 * sizeof(struct in_addr) :
						  2 * sizeof(struct in6_addr);
	const uint8_t *p = head + size - BATCH_UDP_SIZE - addrs;

	return sum_fold(htobe16(BATCH_UDP_SIZE + payload) + (uint64_t)htobe16(IPPROTO_UDP) +
			sum_bytes(p, addrs));
}

static void msg_close(struct batch *batch, const struct batch_msg *msg)
{
	const size_t size = msg->head, payload = msg->len - BATCH_HDR_LEN - size;
	const uint16_t udp = size - BATCH_UDP_SIZE;
	const struct virtio_net_hdr hdr = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
		.hdr_len = htole16(size),
		.gso_size = htole16(msg->gso_size),
		.csum_start = htole16(udp),
		.csum_offset = htole16(offsetof(struct udphdr, uh_sum)),
	};
	uint8_t *head = msg_head(batch, msg);
	uint16_t sum;

	memcpy(batch->data + msg->off, &hdr, sizeof(hdr));
	head_lengths(head, size, payload);
	sum = head_pseudo_sum(head, size, payload);
	memcpy(head + udp + offsetof(struct udphdr, uh_sum), &sum, sizeof(sum));
}

void batch_close(struct batch *batch)
{
	unsigned int i;

	for (i = 0; i < batch->n; i++)
		if (batch->msg[i].segments > 1)
			msg_close(batch, &batch->msg[i]);
}

size_t batch_segment(const struct batch *batch, const struct batch_msg *msg, unsigned int i,
		     uint8_t *out)
{
	const size_t size = msg->head, off = (size_t)i * msg->gso_size;
	const size_t left = msg->len - BATCH_HDR_LEN - size - off;
	const size_t payload = left < msg->gso_size ? left : msg->gso_size;
	const uint8_t *in = batch->data + msg->off + BATCH_HDR_LEN;
	uint8_t *head = out + BATCH_HDR_LEN;

	memset(out, 0, BATCH_HDR_LEN);
	memcpy(head, in, size);
	memcpy(head + size, in + size + off, payload);
	if (head_is_ipv4(head))
		put_be16(head + ETH_HLEN + offsetof(struct iphdr, id), head_id(in) + i);
	head_lengths(head, size, payload);
	memset(head + size - BATCH_UDP_SIZE + offsetof(struct udphdr, uh_sum), 0,
	       sizeof(uint16_t));
	return BATCH_HDR_LEN + size + payload;
}
