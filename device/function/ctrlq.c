// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The control queue of a function: commands of virtio-net, and those of RoCE.
 *
 * Theory of operation
 *
 * A command is looked up in a table by class and number.  Its row names the
 * feature that must have been negotiated and the lengths that a request may have.
 * Only then is the request copied out of guest memory, once.  Commands of class
 * RoCE all have one row and go to the RDMA side, which has a table of its own and
 * does the copying.
 *
 * How much is done in a round is bounded, by bytes, and by the time that others have
 * waited: the rest waits in the queue.
 * The RDMA side may stop in the middle of a long command, which goes on in the
 * next round.
 *
 * The doorbell is needed only while the loop sleeps.
 */

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "function/ctrlq.h"
#include "function/eth.h"
#include "function/function_priv.h"

/* The most that is done in a round: commands, and bytes of them. */
#define CTRLQ_BURST		16
#define CTRLQ_BURST_BYTES	(64u << 10)

/* Finding a piece takes about as long as copying this many bytes. */
#define CTRLQ_PIECE_BYTES	64

/* The longest request besides RoCE: a table of some 10900 MAC addresses. */
#define CTRLQ_REQ_MAX		(64u << 10)

/**
 * struct ctrlq_command - a control command being carried out
 * @hdr:	class and command
 * @req:	copy of the request, unless its row says raw
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
	if ((ctrl->req[0] & 1) || !pin_mac_ok(&fn->config.pin, ctrl->req))
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

static uint8_t ctrlq_pairs(struct function *fn, struct ctrlq_command *ctrl)
{
	uint16_t pairs;

	memcpy(&pairs, ctrl->req, sizeof(pairs));
	return mq_set_pairs(&fn->mq, le16toh(pairs)) ? VIRTIO_NET_ERR : VIRTIO_NET_OK;
}

static uint8_t ctrlq_rss(struct function *fn, struct ctrlq_command *ctrl)
{
	return mq_set_rss(&fn->mq, ctrl->req, ctrl->len) ? VIRTIO_NET_ERR : VIRTIO_NET_OK;
}

static uint8_t ctrlq_hash(struct function *fn, struct ctrlq_command *ctrl)
{
	return mq_set_hash(&fn->mq, ctrl->req, ctrl->len) ? VIRTIO_NET_ERR : VIRTIO_NET_OK;
}

static uint8_t ctrlq_roce(struct function *fn, struct ctrlq_command *ctrl)
{
	const struct virtq_elem *elem = &fn->ctrlq.elem;
	const struct rnic_request req = {
		.iov = elem->iov,
		.iov_n = elem->out_n,
		.off = sizeof(ctrl->hdr),
		.len = ctrl->len,
	};

	/* The driver hears in this way that it has to reset the function. */
	if (fn->lost)
		return VIRTIO_NET_ERR;
	if (fn->keep)
		fn->keep->rdma = true;
	return rnic_command(fn->rnic, ctrl->hdr.cmd, &req, ctrl->rsp,
			    ctrl->rsp_size, &ctrl->rsp_len);
}

/**
 * struct ctrlq_row - a control command, or a run of them
 * @class:	its class
 * @first:	first command of the run
 * @last:	last one
 * @feature:	feature that must have been negotiated
 * @min:	bytes of a request, at least
 * @max:	bytes of a request, at most
 * @raw:	@fn copies the request itself
 * @fn:		carries it out and returns the ack
 */
struct ctrlq_row {
	uint8_t class;
	uint8_t first;
	uint8_t last;
	uint8_t feature;
	size_t min;
	size_t max;
	bool raw;
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
		.max = CTRLQ_REQ_MAX,
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
		.class = VIRTIO_NET_CTRL_MQ,
		.first = VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET,
		.last = VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET,
		.feature = VIRTIO_NET_F_MQ,
		.min = sizeof(uint16_t),
		.max = sizeof(uint16_t),
		.fn = ctrlq_pairs,
	}, {
		.class = VIRTIO_NET_CTRL_MQ,
		.first = VIRTIO_NET_CTRL_MQ_RSS_CONFIG,
		.last = VIRTIO_NET_CTRL_MQ_RSS_CONFIG,
		.feature = VIRTIO_NET_F_RSS,
		.max = MQ_REQ_MAX,
		.fn = ctrlq_rss,
	}, {
		.class = VIRTIO_NET_CTRL_MQ,
		.first = VIRTIO_NET_CTRL_MQ_HASH_CONFIG,
		.last = VIRTIO_NET_CTRL_MQ_HASH_CONFIG,
		.feature = VIRTIO_NET_F_HASH_REPORT,
		.max = MQ_REQ_MAX,
		.fn = ctrlq_hash,
	}, {
		.class = VIRTIO_NET_CTRL_ROCE,
		.first = 0,
		.last = UINT8_MAX,
		.feature = VIRTIO_NET_F_ROCE,
		.max = SIZE_MAX,
		.raw = true,
		.fn = ctrlq_roce,
	},
};

static const struct ctrlq_row *ctrlq_find(const struct function *fn,
					  const struct ctrlq_command *ctrl)
{
	const struct ctrlq_row *row;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ctrlq_table); i++) {
		row = &ctrlq_table[i];
		if (row->class == ctrl->hdr.class &&
		    row->first <= ctrl->hdr.cmd && ctrl->hdr.cmd <= row->last &&
		    function_has(fn, row->feature) &&
		    row->min <= ctrl->len && ctrl->len <= row->max)
			return row;
	}
	return NULL;
}

static uint8_t ctrlq_run_copy(struct function *fn, struct ctrlq_command *ctrl,
			      const struct ctrlq_row *row)
{
	const struct virtq_elem *elem = &fn->ctrlq.elem;
	uint8_t ack, *req = malloc(ctrl->len ? ctrl->len : 1);

	if (!req)
		return VIRTIO_NET_ERR;
	iov_to_buf(elem->iov, elem->out_n, sizeof(ctrl->hdr), req, ctrl->len);
	ctrl->req = req;
	ack = row->fn(fn, ctrl);
	function_keep(fn);
	free(req);
	return ack;
}

/* Begins with a command; returns the ack, or RNIC_COMMAND_MORE. */
static uint8_t ctrlq_run(struct function *fn, struct ctrlq_command *ctrl)
{
	const struct virtq_elem *elem = &fn->ctrlq.elem;
	const struct ctrlq_row *row;

	if (elem->out_len < sizeof(ctrl->hdr))
		return VIRTIO_NET_ERR;
	iov_to_buf(elem->iov, elem->out_n, 0, &ctrl->hdr, sizeof(ctrl->hdr));
	ctrl->len = elem->out_len - sizeof(ctrl->hdr);
	row = ctrlq_find(fn, ctrl);
	if (!row)
		return VIRTIO_NET_ERR;
	return row->raw ? row->fn(fn, ctrl) : ctrlq_run_copy(fn, ctrl, row);
}

/*
 * Begins with the command in @elem, or goes on with it.  If that ends it, it is
 * answered: ack, response.  False if it goes on.
 */
static bool ctrlq_step(struct function *fn)
{
	const struct virtq_elem *elem = &fn->ctrlq.elem;
	const struct iovec *in = &elem->iov[elem->out_n];
	struct ctrlq_command ctrl = { 0 };
	uint8_t ack;

	/*
	 * Without room for an ack, the guest would not learn the result of the command.
	 */
	if (!elem->in_len) {
		virtq_push(fn->vq[FUNCTION_CTRL], elem->head, 0);
		return true;
	}
	ctrl.rsp_size = elem->in_len - sizeof(ack);
	if (ctrl.rsp_size > sizeof(ctrl.rsp))
		ctrl.rsp_size = sizeof(ctrl.rsp);

	ack = fn->ctrlq.busy ?
	      rnic_command_more(fn->rnic, ctrl.rsp, &ctrl.rsp_len) :
	      ctrlq_run(fn, &ctrl);
	fn->ctrlq.busy = ack == RNIC_COMMAND_MORE;
	if (fn->ctrlq.busy)
		return false;
	iov_from_buf(in, elem->in_n, 0, &ack, sizeof(ack));
	iov_from_buf(in, elem->in_n, sizeof(ack), ctrl.rsp, ctrl.rsp_len);
	virtq_push(fn->vq[FUNCTION_CTRL], elem->head, sizeof(ack) + ctrl.rsp_len);
	return true;
}

bool ctrlq_poll(struct function *fn)
{
	struct virtq *vq = fn->vq[FUNCTION_CTRL];
	struct virtq_elem *elem = &fn->ctrlq.elem;
	unsigned int n = 0;
	size_t bytes = 0;

	while (vq && n < CTRLQ_BURST && bytes < CTRLQ_BURST_BYTES &&
	       !(n && loop_turn_is_over(fn->loop))) {
		if (!fn->ctrlq.busy && virtq_pop(vq, elem) <= 0)
			break;
		n++;
		bytes += elem->out_len +
			 (elem->out_n + elem->in_n) * CTRLQ_PIECE_BYTES;
		if (!ctrlq_step(fn))
			break;
	}
	if (!n)
		return false;
	virtq_notify(vq);
	return true;
}

void ctrlq_restart(struct function *fn)
{
	if (!fn->ctrlq.busy)
		return;
	fn->ctrlq.busy = false;
	rnic_command_abort(fn->rnic);
	virtq_unpop(fn->vq[FUNCTION_CTRL]);
}
