// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Descriptors of control commands.
 *
 * Header, request, ack and response are structures of the RFC and of the virtio
 * standard.  A device that takes them one by one expects each in a descriptor of its
 * own, of exactly its size and aligned.  Empty descriptors are refused by virtq.c.
 */
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/virtio_net.h>
#include <net/ethernet.h>

#include "base/util.h"
#include "tests/strict/strict.h"

void strict_fail(const struct strict *s, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "strict: %s%s%s\n", s ? s->name : "", s ? ": " : "", text);
	fflush(stderr);
	_exit(STRICT_STATUS);
}

void strict_zero(const struct strict *s, const void *p, size_t len, const char *what)
{
	const uint8_t *byte = p;
	size_t i;

	for (i = 0; i < len; i++)
		if (byte[i])
			strict_fail(s, "%s is not zero", what);
}

/**
 * struct shape - parts of a RoCE command
 * @name:	its name
 * @req:	bytes of the request
 * @rsp:	bytes of the response
 * @more:	more may follow the request's
 */
struct shape {
	const char *name;
	size_t req;
	size_t rsp;
	bool more;
};

#define CMD(name)	sizeof(struct virtio_rdma_cmd_ ## name)
#define ACK(name)	sizeof(struct virtio_rdma_ack_ ## name)
#define SHAPE(name, req, rsp, more)	\
	[VIRTIO_NET_CTRL_ROCE_ ## name] = { #name, req, rsp, more }

static const struct shape shapes[] = {
	SHAPE(QUERY_DEVICE, 0, ACK(query_device), false),
	SHAPE(QUERY_PORT, 0, ACK(query_port), false),
	SHAPE(CREATE_CQ, CMD(create_cq), ACK(create_cq), false),
	SHAPE(DESTROY_CQ, CMD(destroy_cq), 0, false),
	SHAPE(CREATE_PD, 0, ACK(create_pd), false),
	SHAPE(DESTROY_PD, CMD(destroy_pd), 0, false),
	SHAPE(GET_DMA_MR, CMD(get_dma_mr), ACK(mr), false),
	SHAPE(REG_USER_MR, CMD(reg_user_mr), ACK(mr), true),
	SHAPE(DEREG_MR, CMD(dereg_mr), 0, false),
	SHAPE(CREATE_QP, CMD(create_qp), ACK(create_qp), false),
	SHAPE(MODIFY_QP, CMD(modify_qp), 0, false),
	SHAPE(QUERY_QP, CMD(query_qp), ACK(query_qp), false),
	SHAPE(DESTROY_QP, CMD(destroy_qp), 0, false),
	SHAPE(CREATE_AH, CMD(create_ah), ACK(create_ah), false),
	SHAPE(DESTROY_AH, CMD(destroy_ah), 0, false),
	SHAPE(ADD_GID, CMD(add_gid), 0, false),
	SHAPE(DEL_GID, CMD(del_gid), 0, false),
	SHAPE(REQ_NOTIFY_CQ, CMD(req_notify), 0, false),
};

const char *strict_name(uint8_t command)
{
	return command < ARRAY_SIZE(shapes) ? shapes[command].name : "?";
}

/**
 * struct eth_shape - an Ethernet command that the device offers, or a run of them
 * @class:	its class
 * @last:	last command of the run, which begins with 0
 * @len:	bytes of the request, 0 for VIRTIO_NET_CTRL_MAC_TABLE_SET
 */
struct eth_shape {
	uint8_t class;
	uint8_t last;
	size_t len;
};

static const struct eth_shape eth_shapes[] = {
	{ VIRTIO_NET_CTRL_RX, VIRTIO_NET_CTRL_RX_NOBCAST, 1 },
	{ VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET, 0 },
	{ VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_ADDR_SET, ETH_ALEN },
	{ VIRTIO_NET_CTRL_VLAN, VIRTIO_NET_CTRL_VLAN_DEL, sizeof(uint16_t) },
	{ VIRTIO_NET_CTRL_GUEST_OFFLOADS, VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET,
	  sizeof(uint64_t) },
};

/* One table of addresses; returns the bytes that it has. */
static size_t mac_table(const struct iovec *iov, size_t off)
{
	uint32_t entries;

	if (iov->iov_len - off < sizeof(entries))
		strict_fail(NULL, "MAC_TABLE_SET: no number of entries");
	memcpy(&entries, (const uint8_t *)iov->iov_base + off, sizeof(entries));
	entries = le32toh(entries);
	if (entries > (iov->iov_len - off - sizeof(entries)) / ETH_ALEN)
		strict_fail(NULL, "MAC_TABLE_SET: fewer addresses than entries");
	return sizeof(entries) + (size_t)entries * ETH_ALEN;
}

/*
 * The standard has two structures there; it leaves open whether they are one request
 * or two.
 */
static void frame_mac_table(const struct iovec *out, unsigned int n)
{
	size_t len;

	if (n != 1 && n != 2)
		strict_fail(NULL, "MAC_TABLE_SET: a request of %u descriptors", n);
	len = mac_table(&out[0], 0);
	if (n == 1)
		len += mac_table(&out[0], len);
	if (len != out[0].iov_len)
		strict_fail(NULL, "MAC_TABLE_SET: a table with a rest behind it");
	if (n == 2 && mac_table(&out[1], 0) != out[1].iov_len)
		strict_fail(NULL, "MAC_TABLE_SET: a table with a rest behind it");
}

static void frame_eth(const struct virtio_net_ctrl_hdr *hdr,
		      const struct virtq_elem *elem)
{
	const struct iovec *out = &elem->iov[1];
	unsigned int i, n = elem->out_n - 1;

	for (i = 0; i < ARRAY_SIZE(eth_shapes); i++)
		if (eth_shapes[i].class == hdr->class &&
		    hdr->cmd <= eth_shapes[i].last)
			break;
	if (i == ARRAY_SIZE(eth_shapes))
		strict_fail(NULL, "command %u of class %u was not offered", hdr->cmd,
			    hdr->class);
	if (elem->in_n != 1)
		strict_fail(NULL, "command %u of class %u: more than an ack to write",
			    hdr->cmd, hdr->class);
	if (!eth_shapes[i].len)
		frame_mac_table(out, n);
	else if (n != 1 || out->iov_len != eth_shapes[i].len)
		strict_fail(NULL, "command %u of class %u: a request of %u descriptors, %zu bytes",
			    hdr->cmd, hdr->class, n, elem->out_len - sizeof(*hdr));
}

static void frame_part(const char *name, const char *part, const struct iovec *iov,
		       unsigned int n, size_t len, bool more)
{
	if (n != !!len)
		strict_fail(NULL, "%s: %u descriptors for the %s", name, n, part);
	if (n && (iov->iov_len < len || (!more && iov->iov_len > len)))
		strict_fail(NULL, "%s: %zu bytes for the %s, which has %zu", name,
			    iov->iov_len, part, len);
}

static void frame_roce(const struct virtio_net_ctrl_hdr *hdr,
		       const struct virtq_elem *elem)
{
	const struct shape *shape;

	if (hdr->cmd >= ARRAY_SIZE(shapes))
		strict_fail(NULL, "RoCE command %u, which the RFC has not", hdr->cmd);
	shape = &shapes[hdr->cmd];
	frame_part(shape->name, "request", &elem->iov[1], elem->out_n - 1, shape->req,
		   shape->more);
	frame_part(shape->name, "response", &elem->iov[elem->out_n + 1],
		   elem->in_n - 1, shape->rsp, false);
}

void strict_frame(const struct virtq_elem *elem)
{
	struct virtio_net_ctrl_hdr hdr;
	unsigned int i;

	if (!elem->out_n || elem->iov[0].iov_len != sizeof(hdr))
		strict_fail(NULL, "the header is not a descriptor of its own");
	if (!elem->in_n || elem->iov[elem->out_n].iov_len != sizeof(virtio_net_ctrl_ack))
		strict_fail(NULL, "the ack is not a descriptor of its own");
	for (i = 0; i < elem->out_n + elem->in_n; i++)
		if ((uintptr_t)elem->iov[i].iov_base % STRICT_ALIGN)
			strict_fail(NULL, "descriptor %u of a command is not aligned", i);
	memcpy(&hdr, elem->iov[0].iov_base, sizeof(hdr));
	if (hdr.class == VIRTIO_NET_CTRL_ROCE)
		frame_roce(&hdr, elem);
	else
		frame_eth(&hdr, elem);
}
