// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The control queue of a function: commands of virtio-net, and those of RoCE.
 *
 * Theory of operation
 *
 * A command is copied out of guest memory once.  Then it is looked up in a table
 * by class and number.  Its row names the feature that must have been negotiated
 * and the lengths that a request may have.  Commands of class RoCE all have one
 * row and go to the RDMA side, which has a table of its own.
 *
 * The doorbell is needed only while the loop sleeps.
 */

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "function/ctrlq.h"
#include "function/eth.h"
#include "function/function_priv.h"

#define CTRLQ_BURST		16

/* REG_USER_MR of 16 GiB has 32 MiB of addresses. */
#define CTRLQ_REQ_MAX		(64u << 20)

/**
 * struct ctrlq_command - a control command being carried out
 * @hdr:	class and command
 * @req:	copy of the request
 * @len:	its bytes
 * @rsp_size:	room for a response
 * @rsp_len:	bytes of it
 * @rsp:	response
 */
struct ctrlq_command {
	struct virtio_net_ctrl_hdr hdr;
	const uint8_t *req;
	size_t len;
	size_t rsp_size;
	size_t rsp_len;
	uint8_t rsp[RNIC_RSP_MAX] __attribute__((aligned(8)));
};

static uint8_t ctrlq_rx_mode(struct function *fn, struct ctrlq_command *ctrl)
{
	filter_set_mode(&fn->filter, ctrl->hdr.cmd, ctrl->req[0]);
	return VIRTIO_NET_OK;
}

static uint8_t ctrlq_mac_table(struct function *fn, struct ctrlq_command *ctrl)
{
	return filter_set_macs(&fn->filter, ctrl->req, ctrl->len) ?
	       VIRTIO_NET_ERR : VIRTIO_NET_OK;
}

static uint8_t ctrlq_mac_addr(struct function *fn, struct ctrlq_command *ctrl)
{
	if (ctrl->req[0] & 1)
		return VIRTIO_NET_ERR;
	memcpy(fn->filter.mac, ctrl->req, ETH_ALEN);
	return VIRTIO_NET_OK;
}

static uint8_t ctrlq_vlan(struct function *fn, struct ctrlq_command *ctrl)
{
	uint16_t vid;

	memcpy(&vid, ctrl->req, sizeof(vid));
	return filter_set_vlan(&fn->filter, le16toh(vid),
			       ctrl->hdr.cmd == VIRTIO_NET_CTRL_VLAN_ADD) ?
	       VIRTIO_NET_ERR : VIRTIO_NET_OK;
}

static uint8_t ctrlq_guest_offloads(struct function *fn, struct ctrlq_command *ctrl)
{
	uint64_t offloads;

	memcpy(&offloads, ctrl->req, sizeof(offloads));
	offloads = le64toh(offloads);
	return eth_set_guest_offloads(fn, offloads) ? VIRTIO_NET_ERR :
						      VIRTIO_NET_OK;
}

static uint8_t ctrlq_roce(struct function *fn, struct ctrlq_command *ctrl)
{
	return rnic_command(fn->rnic, ctrl->hdr.cmd, ctrl->req, ctrl->len,
			    ctrl->rsp, ctrl->rsp_size, &ctrl->rsp_len);
}

/**
 * struct ctrlq_row - a control command, or a run of them
 * @class:	its class
 * @first:	first command of the run
 * @last:	last one
 * @feature:	feature that must have been negotiated
 * @min:	bytes of a request, at least
 * @max:	bytes of a request, at most
 * @fn:		carries it out and returns the ack
 */
struct ctrlq_row {
	uint8_t class;
	uint8_t first;
	uint8_t last;
	uint8_t feature;
	size_t min;
	size_t max;
	uint8_t (*fn)(struct function *fn, struct ctrlq_command *ctrl);
};

static const struct ctrlq_row ctrlq_table[] = {
	{
		.class = VIRTIO_NET_CTRL_RX,
		.first = VIRTIO_NET_CTRL_RX_PROMISC,
		.last = VIRTIO_NET_CTRL_RX_ALLMULTI,
		.feature = VIRTIO_NET_F_CTRL_RX,
		.min = 1,
		.max = 1,
		.fn = ctrlq_rx_mode,
	}, {
		.class = VIRTIO_NET_CTRL_RX,
		.first = VIRTIO_NET_CTRL_RX_ALLUNI,
		.last = VIRTIO_NET_CTRL_RX_NOBCAST,
		.feature = VIRTIO_NET_F_CTRL_RX_EXTRA,
		.min = 1,
		.max = 1,
		.fn = ctrlq_rx_mode,
	}, {
		.class = VIRTIO_NET_CTRL_MAC,
		.first = VIRTIO_NET_CTRL_MAC_TABLE_SET,
		.last = VIRTIO_NET_CTRL_MAC_TABLE_SET,
		.feature = VIRTIO_NET_F_CTRL_RX,
		.max = SIZE_MAX,
		.fn = ctrlq_mac_table,
	}, {
		.class = VIRTIO_NET_CTRL_MAC,
		.first = VIRTIO_NET_CTRL_MAC_ADDR_SET,
		.last = VIRTIO_NET_CTRL_MAC_ADDR_SET,
		.feature = VIRTIO_NET_F_CTRL_MAC_ADDR,
		.min = ETH_ALEN,
		.max = ETH_ALEN,
		.fn = ctrlq_mac_addr,
	}, {
		.class = VIRTIO_NET_CTRL_VLAN,
		.first = VIRTIO_NET_CTRL_VLAN_ADD,
		.last = VIRTIO_NET_CTRL_VLAN_DEL,
		.feature = VIRTIO_NET_F_CTRL_VLAN,
		.min = sizeof(uint16_t),
		.max = sizeof(uint16_t),
		.fn = ctrlq_vlan,
	}, {
		.class = VIRTIO_NET_CTRL_GUEST_OFFLOADS,
		.first = VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET,
		.last = VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET,
		.feature = VIRTIO_NET_F_CTRL_GUEST_OFFLOADS,
		.min = sizeof(uint64_t),
		.max = sizeof(uint64_t),
		.fn = ctrlq_guest_offloads,
	}, {
		.class = VIRTIO_NET_CTRL_ROCE,
		.first = 0,
		.last = UINT8_MAX,
		.feature = VIRTIO_NET_F_ROCE,
		.max = SIZE_MAX,
		.fn = ctrlq_roce,
	},
};

static uint8_t ctrlq_dispatch(struct function *fn, struct ctrlq_command *ctrl)
{
	const struct ctrlq_row *row;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ctrlq_table); i++) {
		row = &ctrlq_table[i];
		if (row->class == ctrl->hdr.class &&
		    row->first <= ctrl->hdr.cmd && ctrl->hdr.cmd <= row->last &&
		    function_has(fn, row->feature) &&
		    row->min <= ctrl->len && ctrl->len <= row->max)
			return row->fn(fn, ctrl);
	}
	return VIRTIO_NET_ERR;
}

/* Carries out the command in @out; returns the ack. */
static uint8_t ctrlq_run(struct function *fn, struct ctrlq_command *ctrl)
{
	const struct virtq_elem *elem = &fn->out;
	uint8_t ack, *req;

	if (elem->out_len < sizeof(ctrl->hdr) ||
	    elem->out_len - sizeof(ctrl->hdr) > CTRLQ_REQ_MAX)
		return VIRTIO_NET_ERR;
	ctrl->len = elem->out_len - sizeof(ctrl->hdr);
	req = malloc(ctrl->len ? ctrl->len : 1);
	if (!req)
		return VIRTIO_NET_ERR;

	iov_to_buf(elem->iov, elem->out_n, 0, &ctrl->hdr, sizeof(ctrl->hdr));
	iov_to_buf(elem->iov, elem->out_n, sizeof(ctrl->hdr), req, ctrl->len);
	ctrl->req = req;
	ack = ctrlq_dispatch(fn, ctrl);
	free(req);
	return ack;
}

/* Answers the command in @out: ack, response.  Returns the bytes written. */
static uint32_t ctrlq_answer(struct function *fn)
{
	const struct virtq_elem *elem = &fn->out;
	const struct iovec *in = &elem->iov[elem->out_n];
	struct ctrlq_command ctrl = { 0 };
	uint8_t ack;

	if (!elem->in_len)
		return 0;
	ctrl.rsp_size = elem->in_len - sizeof(ack);
	if (ctrl.rsp_size > sizeof(ctrl.rsp))
		ctrl.rsp_size = sizeof(ctrl.rsp);

	ack = ctrlq_run(fn, &ctrl);
	iov_from_buf(in, elem->in_n, 0, &ack, sizeof(ack));
	iov_from_buf(in, elem->in_n, sizeof(ack), ctrl.rsp, ctrl.rsp_len);
	return sizeof(ack) + ctrl.rsp_len;
}

bool ctrlq_poll(struct function *fn)
{
	struct virtq *vq = fn->vq[FUNCTION_CTRL];
	unsigned int n = 0;
	uint32_t len;

	while (vq && n < CTRLQ_BURST && virtq_pop(vq, &fn->out) > 0) {
		len = ctrlq_answer(fn);
		virtq_push(vq, fn->out.head, len);
		n++;
	}
	if (!n)
		return false;
	virtq_notify(vq);
	return true;
}
