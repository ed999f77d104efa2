// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QP 1 of a node: datagrams of management.
 *
 * It has virtqueues, as the protocol has it for this QP, in the node's memory.  Descriptor
 * i is always slot i.  Requests complete in order, to the CQ of all QPs, so that the index
 * in a completion tells the slot and the used rings need no look.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "node/node_gsi.h"
#include "packet/inet.h"

#define GSI_QKEY	0x80010000u
#define GRH_SIZE	40u

/* Of the bytes of the network header: see enum virtio_ib_wc_flags. */
#define GRH_IPV4	20u

/* A virtqueue of NODE_GSI_DEPTH entries, in a page. */
#define AVAIL_AT	1024u
#define USED_AT		2048u

#define SQ_STRIDE	640u
#define RQ_STRIDE	64u

_Static_assert(NODE_GSI_DEPTH * sizeof(struct vring_desc) <= AVAIL_AT &&
	       6 + 2 * NODE_GSI_DEPTH <= USED_AT - AVAIL_AT &&
	       6 + 8 * NODE_GSI_DEPTH <= NODE_MEM_PAGE - USED_AT,
	       "a virtqueue is larger than a page");
_Static_assert(sizeof(struct virtio_rdma_sq_req) <= SQ_STRIDE &&
	       sizeof(struct virtio_rdma_rq_req) + sizeof(struct virtio_rdma_sge) <= RQ_STRIDE &&
	       sizeof(((struct virtio_rdma_sq_req *)0)->inline_data) >= NODE_MAD_SIZE &&
	       GRH_SIZE + NODE_MAD_SIZE <= NODE_GSI_SLOT,
	       "a slot is too small");

static void no_call(struct virtq *vq __always_unused)
{
}

/* Rings in page @at; slots are requests that the device reads. */
static void queue_start(struct node_gsi *gsi, struct node_gsi_queue *queue, uint8_t *page,
			enum rnic_queue kind)
{
	struct vring_desc *desc = (struct vring_desc *)page;
	const struct node_mem *mem = gsi->verbs->mem;
	unsigned int i;

	memset(page, 0, NODE_MEM_PAGE);
	for (i = 0; i < NODE_GSI_DEPTH; i++)
		desc[i] = (struct vring_desc) {
			.addr = htole64(node_mem_addr(mem, queue->slots) + i * queue->stride),
			.len = htole32(queue->stride),
		};
	queue->vq = (struct virtq) { .mem = &mem->map, .call = no_call };
	virtq_start(&queue->vq, NODE_GSI_DEPTH, 0, desc, page + AVAIL_AT, page + USED_AT);
	rnic_queue_start(gsi->verbs->rnic, kind, VIRTIO_NET_ROCE_QPN_GSI, &queue->vq);
}

/* The slot of the next request, which queue_post() posts. */
static void *queue_slot(const struct node_gsi_queue *queue)
{
	return queue->slots + queue->posted % NODE_GSI_DEPTH * queue->stride;
}

static void queue_post(struct node_gsi *gsi, struct node_gsi_queue *queue,
		       enum rnic_queue kind)
{
	const uint16_t i = queue->posted % NODE_GSI_DEPTH;

	queue->vq.avail->ring[i] = htole16(i);
	queue->vq.avail->idx = htole16(++queue->posted);
	rnic_queue_kick(gsi->verbs->rnic, kind, VIRTIO_NET_ROCE_QPN_GSI);
}

static void post_recv(struct node_gsi *gsi)
{
	const unsigned int i = gsi->rq.posted % NODE_GSI_DEPTH;
	struct virtio_rdma_rq_req *req = queue_slot(&gsi->rq);

	*req = (struct virtio_rdma_rq_req) { .num_sge = htole32(1) };
	req->sg_list[0] = (struct virtio_rdma_sge) {
		.addr = htole64(node_mem_addr(gsi->verbs->mem, gsi->data + i * NODE_GSI_SLOT)),
		.length = htole32(NODE_GSI_SLOT),
		.lkey = htole32(gsi->verbs->lkey),
	};
	queue_post(gsi, &gsi->rq, RNIC_RQ);
}

/* ------------------------------------------------------------------------- */
/* Sending                                                                   */
/* ------------------------------------------------------------------------- */

static bool create_ah(struct node_gsi *gsi, const struct node_path *path, uint32_t *ah)
{
	struct virtio_rdma_cmd_create_ah req = {
		.pdn = htole32(gsi->verbs->pdn),
		.ah_attr = {
			.grh = {
				.sgid_index = path->sgid_index,
				.hop_limit = NODE_HOPS,
			},
		},
	};
	struct virtio_rdma_ack_create_ah ack;

	memcpy(req.ah_attr.grh.dgid, path->dgid, GID_SIZE);
	memcpy(req.ah_attr.dmac, path->dmac, sizeof(path->dmac));
	if (!node_command(gsi->verbs, VIRTIO_NET_CTRL_ROCE_CREATE_AH, &req, sizeof(req), &ack,
			  sizeof(ack)))
		return false;
	*ah = le32toh(ack.ah);
	return true;
}

static void destroy_ah(struct node_gsi *gsi, uint32_t ah)
{
	const struct virtio_rdma_cmd_destroy_ah req = {
		.pdn = htole32(gsi->verbs->pdn),
		.ah = htole32(ah),
	};

	node_command(gsi->verbs, VIRTIO_NET_CTRL_ROCE_DESTROY_AH, &req, sizeof(req), NULL, 0);
}

void node_gsi_send(struct node_gsi *gsi, const struct node_path *path, const void *mad)
{
	struct virtio_rdma_sq_req *req = queue_slot(&gsi->sq);
	uint32_t *ah = &gsi->ah[gsi->sq.posted % NODE_GSI_DEPTH];

	if ((uint16_t)(gsi->sq.posted - gsi->sq.done) == NODE_GSI_DEPTH ||
	    !create_ah(gsi, path, ah))
		return;
	*req = (struct virtio_rdma_sq_req) {
		.opcode = VIRTIO_IB_WR_SEND,
		.send_flags = VIRTIO_IB_SEND_SIGNALED | VIRTIO_IB_SEND_INLINE,
		.ud = {
			.remote_qpn = htole32(path->qpn),
			.remote_qkey = htole32(GSI_QKEY),
			.ah = htole32(*ah),
		},
		.inline_len = htole16(NODE_MAD_SIZE),
	};
	memcpy(req->inline_data, mad, NODE_MAD_SIZE);
	queue_post(gsi, &gsi->sq, RNIC_SQ);
}

/* ------------------------------------------------------------------------- */
/* Receiving                                                                 */
/* ------------------------------------------------------------------------- */

static void receive(struct node_gsi *gsi, const struct virtio_rdma_cqe *cqe,
		    const uint8_t *data)
{
	struct node_mad mad = {
		.data = data + GRH_SIZE,
		.qpn = le32toh(cqe->src_qp),
	};

	if (le32toh(cqe->byte_len) != GRH_SIZE + NODE_MAD_SIZE)
		return;
	if (le16toh(cqe->wc_flags) & VIRTIO_IB_WC_IPV4) {
		gid_from_ipv4(mad.from, data + GRH_IPV4 + IPV4_ADDRS);
		gid_from_ipv4(mad.to, data + GRH_IPV4 + IPV4_ADDRS + 4);
	} else {
		memcpy(mad.from, data + IPV6_ADDRS, GID_SIZE);
		memcpy(mad.to, data + IPV6_ADDRS + GID_SIZE, GID_SIZE);
	}
	gsi->received(gsi->arg, &mad);
}

/* A QP of datagrams fails by its own requests only, which are right. */
static void gsi_done(void *arg, const struct virtio_rdma_cqe *cqe)
{
	const unsigned int i = le32toh(cqe->wqe) % NODE_GSI_DEPTH;
	struct node_gsi *gsi = arg;

	if (!(cqe->opcode & VIRTIO_RDMA_CQE_RECV)) {
		gsi->sq.done++;
		destroy_ah(gsi, gsi->ah[i]);
		return;
	}
	if (cqe->status)
		return;
	receive(gsi, cqe, gsi->data + i * NODE_GSI_SLOT);
	post_recv(gsi);
}

/* ------------------------------------------------------------------------- */

static bool create_gsi(struct node_gsi *gsi)
{
	const struct virtio_rdma_cmd_create_qp req = {
		.pdn = htole32(gsi->verbs->pdn),
		.qp_type = VIRTIO_IB_QPT_GSI,
		.send_cqn = htole32(gsi->verbs->cqn),
		.recv_cqn = htole32(gsi->verbs->cqn),
		.cap = {
			.max_send_wr = htole32(NODE_GSI_DEPTH),
			.max_recv_wr = htole32(NODE_GSI_DEPTH),
			.max_send_sge = htole32(1),
			.max_recv_sge = htole32(1),
			.max_inline_data = htole32(NODE_MAD_SIZE),
		},
	};
	struct virtio_rdma_ack_create_qp ack;

	return node_command(gsi->verbs, VIRTIO_NET_CTRL_ROCE_CREATE_QP, &req, sizeof(req),
			    &ack, sizeof(ack));
}

static bool ready_gsi(struct node_gsi *gsi)
{
	static const uint32_t attrs[] = {
		[VIRTIO_IB_QPS_INIT] = VIRTIO_IB_QP_QKEY,
		[VIRTIO_IB_QPS_RTS] = VIRTIO_IB_QP_SQ_PSN,
	};
	struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(VIRTIO_NET_ROCE_QPN_GSI),
		.qkey = htole32(GSI_QKEY),
	};
	unsigned int state;

	for (state = VIRTIO_IB_QPS_INIT; state <= VIRTIO_IB_QPS_RTS; state++) {
		req.qp_state = state;
		req.attr_mask = htole32(VIRTIO_IB_QP_STATE | attrs[state]);
		if (!node_command(gsi->verbs, VIRTIO_NET_CTRL_ROCE_MODIFY_QP, &req,
				  sizeof(req), NULL, 0))
			return false;
	}
	return true;
}

int node_gsi_open(struct node_gsi *gsi, struct node_verbs *verbs)
{
	unsigned int i;

	gsi->verbs = verbs;
	gsi->sq.stride = SQ_STRIDE;
	gsi->rq.stride = RQ_STRIDE;
	gsi->block = node_mem_get(verbs->mem, 2 * NODE_MEM_PAGE + NODE_GSI_DEPTH *
				  (SQ_STRIDE + RQ_STRIDE + NODE_GSI_SLOT));
	if (!gsi->block)
		return -ENOMEM;
	gsi->sq.slots = gsi->block + 2 * NODE_MEM_PAGE;
	gsi->rq.slots = gsi->sq.slots + NODE_GSI_DEPTH * SQ_STRIDE;
	gsi->data = gsi->rq.slots + NODE_GSI_DEPTH * RQ_STRIDE;
	queue_start(gsi, &gsi->sq, gsi->block, RNIC_SQ);
	queue_start(gsi, &gsi->rq, gsi->block + NODE_MEM_PAGE, RNIC_RQ);
	verbs->gsi_done = gsi_done;
	verbs->gsi = gsi;
	if (!create_gsi(gsi))
		return -ENOMEM;
	for (i = 0; i < NODE_GSI_DEPTH; i++)
		post_recv(gsi);
	return ready_gsi(gsi) ? 0 : -ENOMEM;
}

void node_gsi_close(struct node_gsi *gsi)
{
	rnic_queue_stop(gsi->verbs->rnic, RNIC_SQ, VIRTIO_NET_ROCE_QPN_GSI);
	rnic_queue_stop(gsi->verbs->rnic, RNIC_RQ, VIRTIO_NET_ROCE_QPN_GSI);
}
