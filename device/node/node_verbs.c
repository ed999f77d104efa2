// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Verbs of a node: the driver's side of a NIC, in the daemon itself.
 *
 * Theory of operation
 *
 * A node is to its NIC what a guest is: it carries out the same control commands, and has
 * direct rings and a doorbell page in memory that the NIC reaches by a map.  So nothing in
 * the engine knows of nodes.  The loop's thread runs both sides, which is why a command is
 * carried out to its end at once, and why there are neither events nor waiting.
 *
 * One CQ takes the completions of all queues.  It holds as many as all of them can leave,
 * so that it never overruns.  A QP is destroyed when all its requests are complete, so that
 * no completion in the CQ is of a QP that is gone.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <linux/virtio_net.h>

#include "base/util.h"
#include "node/node_verbs.h"

#define SHIFT_2M	21
#define STRIDE		(1u << VIRTIO_RDMA_MIN_STRIDE_SHIFT)

#define QP_PAGES	((NODE_SEND_MAX + NODE_RECV_MAX) * STRIDE / NODE_MEM_PAGE)

/* All that the queues can leave, and the GSI. */
#define CQE_LEAST	(NODE_QPS * (NODE_SEND_MAX + NODE_RECV_MAX) + 2 * NODE_GSI_DEPTH)
#define CQE		(1u << 18)
#define CQ_PAGES	(CQE * sizeof(struct virtio_rdma_cqe) / NODE_MEM_PAGE)

_Static_assert(CQ_PAGES * NODE_MEM_PAGE <= NODE_MEM_FIXED, "the CQ is too large");
_Static_assert(CQE >= CQE_LEAST && CQE <= RNIC_DIRECT_CQE_MAX, "the CQ could overrun");
_Static_assert(VIRTIO_RDMA_QP_DIRECT_OFFSET % sizeof(__le64) == 0 &&
	       sizeof(struct virtio_rdma_qp_direct) % sizeof(__le64) == 0,
	       "there is padding in a request");
_Static_assert(NODE_QPS <= VIRTIO_RDMA_DOORBELL_BITS, "one page has no bit for each QP");

/* 0.64 ms: a peer that is faster than receive requests are posted again waits so long. */
#define RNR_TIMER	12

struct rnic_limits node_limits(void)
{
	return (struct rnic_limits) {
		.qps = 2,
		.cqs = 1,
		.queue_size = NODE_GSI_DEPTH,
		.cqe = NODE_GSI_DEPTH,
		.mrs = 4,
		.pds = 1,
		.ahs = NODE_GSI_DEPTH,
		.event_vqs = 1,
		.doorbell_vqs = 1,
		.direct_qps = NODE_QPNS - 2,
		.direct_cqs = 1,
	};
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

bool node_command(struct node_verbs *verbs, uint8_t command, const void *req, size_t len,
		  void *rsp, size_t rsp_len)
{
	struct iovec iov = { .iov_base = (void *)(len ? req : verbs), .iov_len = len };
	const struct rnic_request request = { .iov = &iov, .iov_n = 1, .len = len };
	uint64_t answer[RNIC_RSP_MAX / sizeof(uint64_t)];
	size_t got = 0;
	uint8_t ack;

	ack = rnic_command(verbs->rnic, command, &request, answer, sizeof(answer), &got);
	while (ack == RNIC_COMMAND_MORE)
		ack = rnic_command_more(verbs->rnic, answer, &got);
	if (ack != VIRTIO_NET_OK || got < rsp_len)
		return false;
	if (rsp_len)
		memcpy(rsp, answer, rsp_len);
	return true;
}

bool node_add_gid(struct node_verbs *verbs, uint16_t index, const uint8_t *gid)
{
	struct virtio_rdma_cmd_add_gid req = { .index = htole16(index) };

	memcpy(req.gid, gid, sizeof(req.gid));
	return node_command(verbs, VIRTIO_NET_CTRL_ROCE_ADD_GID, &req, sizeof(req), NULL, 0);
}

/* Addresses of the pages of a ring, behind the fixed part of a request. */
static void put_pages(const struct node_mem *mem, __le64 *to, const void *ring, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		to[i] = htole64(node_mem_addr(mem, ring) + (uint64_t)i * NODE_MEM_PAGE);
}

/* ------------------------------------------------------------------------- */
/* What all QPs share                                                        */
/* ------------------------------------------------------------------------- */

static bool open_pd(struct node_verbs *verbs)
{
	struct virtio_rdma_ack_create_pd ack;

	if (!node_command(verbs, VIRTIO_NET_CTRL_ROCE_CREATE_PD, NULL, 0, &ack, sizeof(ack)))
		return false;
	verbs->pdn = le32toh(ack.pdn);
	return true;
}

/* A piece of memory, in pages of 2 MiB. */
static bool open_mr(struct node_verbs *verbs, uint64_t addr, size_t size, uint32_t *lkey)
{
	const uint32_t n = size >> SHIFT_2M;
	struct {
		struct virtio_rdma_cmd_reg_user_mr fixed;
		__le64 pages[NODE_MEM_MAX >> SHIFT_2M];
	} req = {
		.fixed = {
			.pdn = htole32(verbs->pdn),
			.access_flags = htole32(VIRTIO_IB_ACCESS_LOCAL_WRITE),
			.virt_addr = htole64(addr),
			.length = htole64(size),
			.npages = htole32(n),
			.page_shift = SHIFT_2M,
		},
	};
	struct virtio_rdma_ack_mr ack;
	uint32_t i;

	for (i = 0; i < n; i++)
		req.pages[i] = htole64(addr + ((uint64_t)i << SHIFT_2M));
	if (!node_command(verbs, VIRTIO_NET_CTRL_ROCE_REG_USER_MR, &req,
			  sizeof(req.fixed) + n * sizeof(__le64), &ack, sizeof(ack)))
		return false;
	*lkey = le32toh(ack.lkey);
	return true;
}

static bool open_cq(struct node_verbs *verbs)
{
	const struct node_mem *mem = verbs->mem;
	struct {
		struct virtio_rdma_cmd_create_cq_long fixed;
		__le64 pages[CQ_PAGES];
	} req = {
		.fixed = {
			.cqe = htole32(CQE),
			.flags = VIRTIO_RDMA_CQ_CONTROL | VIRTIO_RDMA_CQ_DIRECT,
			.cqe_shift = __builtin_ctz(sizeof(struct virtio_rdma_cqe)),
			.npages = htole32(CQ_PAGES),
		},
	};
	struct virtio_rdma_ack_create_cq ack;

	verbs->cq = (struct virtio_rdma_cqe *)mem->host;
	verbs->cq_control = node_mem_get(verbs->mem, NODE_MEM_PAGE);
	if (!verbs->cq_control)
		return false;
	req.fixed.control = htole64(node_mem_addr(mem, verbs->cq_control));
	put_pages(mem, req.pages, verbs->cq, CQ_PAGES);
	if (!node_command(verbs, VIRTIO_NET_CTRL_ROCE_CREATE_CQ, &req, sizeof(req), &ack,
			  sizeof(ack)))
		return false;
	verbs->cqn = le32toh(ack.cqn);
	return true;
}

static bool open_doorbell(struct node_verbs *verbs)
{
	struct virtio_rdma_cmd_alloc_doorbell req = {};
	struct virtio_rdma_ack_alloc_doorbell ack;

	verbs->page = node_mem_get(verbs->mem, sizeof(*verbs->page));
	if (!verbs->page)
		return false;
	req.page = htole64(node_mem_addr(verbs->mem, verbs->page));
	if (!node_command(verbs, VIRTIO_NET_CTRL_ROCE_ALLOC_DOORBELL, &req, sizeof(req), &ack,
			  sizeof(ack)))
		return false;
	verbs->doorbell = le32toh(ack.doorbell);
	return true;
}

int node_verbs_open(struct node_verbs *verbs, struct rnic *rnic, struct node_mem *mem)
{
	*verbs = (struct node_verbs) { .rnic = rnic, .mem = mem };
	if (!open_pd(verbs) ||
	    !open_mr(verbs, NODE_MEM_BASE, mem->size, &verbs->lkey) ||
	    (mem->shared && !open_mr(verbs, NODE_MEM_SHARED_BASE, mem->shared_size,
				     &verbs->shared_lkey)) ||
	    !open_cq(verbs) || !open_doorbell(verbs))
		return -ENOMEM;
	return 0;
}

/* ------------------------------------------------------------------------- */
/* QPs                                                                       */
/* ------------------------------------------------------------------------- */

/* A power of two, of whole pages. */
static uint32_t ring_depth(uint32_t n)
{
	uint32_t depth = NODE_MEM_PAGE / STRIDE;

	while (depth < n)
		depth *= 2;
	return depth;
}

static bool take_bit(struct node_verbs *verbs, uint32_t *bit)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(verbs->bits); i++) {
		if (verbs->bits[i] == UINT64_MAX)
			continue;
		*bit = i * 64 + __builtin_ctzll(~verbs->bits[i]);
		verbs->bits[i] |= BIT(*bit % 64);
		return true;
	}
	return false;
}

static void give_bit(struct node_verbs *verbs, uint32_t bit)
{
	verbs->bits[bit / 64] &= ~BIT(bit % 64);
}

static bool create_qp(struct node_qp *qp)
{
	const struct node_verbs *verbs = qp->verbs;
	const uint32_t sends = qp->send_depth * STRIDE / NODE_MEM_PAGE;
	const uint32_t recvs = qp->recv_depth * STRIDE / NODE_MEM_PAGE;
	const struct virtio_rdma_cmd_create_qp req = {
		.pdn = htole32(verbs->pdn),
		.qp_type = VIRTIO_IB_QPT_RC,
		.send_cqn = htole32(verbs->cqn),
		.recv_cqn = htole32(verbs->cqn),
		.cap = {
			.max_send_wr = htole32(qp->send_depth),
			.max_recv_wr = htole32(qp->recv_depth),
			.max_send_sge = htole32(1),
			.max_recv_sge = htole32(1),
			.max_inline_data = htole32(NODE_INLINE_MAX),
		},
	};
	struct {
		uint8_t fixed[VIRTIO_RDMA_QP_DIRECT_OFFSET];
		struct virtio_rdma_qp_direct direct;
		__le64 pages[QP_PAGES];
	} text = {
		.direct = {
			.form = VIRTIO_RDMA_QP_FORM_DIRECT,
			.send_shift = VIRTIO_RDMA_MIN_STRIDE_SHIFT,
			.recv_shift = VIRTIO_RDMA_MIN_STRIDE_SHIFT,
			.send_depth = htole32(qp->send_depth),
			.recv_depth = htole32(qp->recv_depth),
			.doorbell = htole32(verbs->doorbell),
			.bit = htole32(qp->bit),
			.send_pages = htole32(sends),
			.recv_pages = htole32(recvs),
			.control = htole64(node_mem_addr(verbs->mem, qp->control)),
		},
	};
	struct virtio_rdma_ack_create_qp ack;

	memcpy(text.fixed, &req, sizeof(text.fixed));
	/* The rings lie behind each other. */
	put_pages(verbs->mem, text.pages, qp->send, sends + recvs);
	if (!node_command(qp->verbs, VIRTIO_NET_CTRL_ROCE_CREATE_QP, &text,
			  sizeof(text) - sizeof(text.pages) +
			  (sends + recvs) * sizeof(__le64), &ack, sizeof(ack)))
		return false;
	qp->qpn = le32toh(ack.qpn);
	qp->verbs->qp[qp->qpn] = qp;
	return true;
}

bool node_qp_open(struct node_qp *qp, struct node_verbs *verbs, uint32_t send, uint32_t recv)
{
	*qp = (struct node_qp) {
		.done = qp->done,
		.arg = qp->arg,
		.verbs = verbs,
		.send_depth = ring_depth(send),
		.recv_depth = ring_depth(recv),
	};
	if (send > NODE_SEND_MAX || recv > NODE_RECV_MAX || !take_bit(verbs, &qp->bit))
		return false;
	qp->control = node_mem_get(verbs->mem, NODE_MEM_PAGE +
				   (qp->send_depth + qp->recv_depth) * STRIDE);
	if (!qp->control)
		goto err_bit;
	memset(qp->control, 0, sizeof(*qp->control));
	qp->send = (struct virtio_rdma_swqe *)((uint8_t *)qp->control + NODE_MEM_PAGE);
	qp->recv = (uint8_t *)&qp->send[qp->send_depth];
	if (!create_qp(qp))
		goto err_mem;
	return true;

err_mem:
	node_mem_put(verbs->mem, qp->control);
err_bit:
	give_bit(verbs, qp->bit);
	return false;
}

static bool modify(struct node_qp *qp, struct virtio_rdma_cmd_modify_qp *req, uint8_t state,
		   uint32_t attrs)
{
	req->qpn = htole32(qp->qpn);
	req->qp_state = state;
	req->attr_mask = htole32(VIRTIO_IB_QP_STATE | attrs);
	return node_command(qp->verbs, VIRTIO_NET_CTRL_ROCE_MODIFY_QP, req, sizeof(*req),
			    NULL, 0);
}

/* No peer has any right: data moves by requests of the node alone. */
bool node_qp_listen(struct node_qp *qp)
{
	struct virtio_rdma_cmd_modify_qp req = {};

	return modify(qp, &req, VIRTIO_IB_QPS_INIT, VIRTIO_IB_QP_ACCESS_FLAGS);
}

bool node_qp_connect(struct node_qp *qp, const struct node_path *path)
{
	struct virtio_rdma_cmd_modify_qp req = {
		.path_mtu = path->mtu,
		.max_rd_atomic = path->reads,
		.min_rnr_timer = RNR_TIMER,
		.timeout = path->timeout,
		.retry_cnt = path->retries,
		.rnr_retry = path->rnr_retries,
		.rq_psn = htole32(path->rq_psn),
		.sq_psn = htole32(path->sq_psn),
		.dest_qp_num = htole32(path->qpn),
		.ah_attr = {
			.grh = {
				.sgid_index = path->sgid_index,
				.hop_limit = NODE_HOPS,
			},
		},
	};

	memcpy(req.ah_attr.grh.dgid, path->dgid, GID_SIZE);
	memcpy(req.ah_attr.dmac, path->dmac, sizeof(path->dmac));
	return modify(qp, &req, VIRTIO_IB_QPS_RTR,
		      VIRTIO_IB_QP_AV | VIRTIO_IB_QP_PATH_MTU | VIRTIO_IB_QP_DEST_QPN |
		      VIRTIO_IB_QP_RQ_PSN | VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC |
		      VIRTIO_IB_QP_MIN_RNR_TIMER) &&
	       modify(qp, &req, VIRTIO_IB_QPS_RTS,
		      VIRTIO_IB_QP_SQ_PSN | VIRTIO_IB_QP_TIMEOUT | VIRTIO_IB_QP_RETRY_CNT |
		      VIRTIO_IB_QP_RNR_RETRY | VIRTIO_IB_QP_MAX_QP_RD_ATOMIC);
}

void node_qp_fail(struct node_qp *qp)
{
	struct virtio_rdma_cmd_modify_qp req = {};

	modify(qp, &req, VIRTIO_IB_QPS_ERR, 0);
}

bool node_qp_idle(const struct node_qp *qp)
{
	return qp->sent == qp->sent_done && qp->recvs == qp->recvs_done;
}

void node_qp_close(struct node_qp *qp)
{
	const struct virtio_rdma_cmd_destroy_qp req = { .qpn = htole32(qp->qpn) };

	node_command(qp->verbs, VIRTIO_NET_CTRL_ROCE_DESTROY_QP, &req, sizeof(req), NULL, 0);
	node_mem_put(qp->verbs->mem, qp->control);
	give_bit(qp->verbs, qp->bit);
	qp->verbs->qp[qp->qpn] = NULL;
	qp->qpn = 0;
}

/* ------------------------------------------------------------------------- */
/* Requests and completions                                                  */
/* ------------------------------------------------------------------------- */

/* As a driver does it: the bit, its word, and the doorbell if it is asked for. */
static void announce(const struct node_qp *qp)
{
	struct virtio_rdma_doorbell_page *page = qp->verbs->page;
	const uint32_t word = qp->bit / 64;
	const uint64_t bit = htole64(BIT(qp->bit % 64));

	if (page->pending[word] & bit)
		return;
	page->pending[word] |= bit;
	page->words[word / 64] |= htole64(BIT(word % 64));
	if (page->ring_me) {
		page->ring_me = 0;
		rnic_queue_kick(qp->verbs->rnic, RNIC_DOORBELL, 0);
	}
}

static struct virtio_rdma_sge sge(const struct node_verbs *verbs, const void *data,
				  uint32_t len)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(node_mem_addr(verbs->mem, data)),
		.length = htole32(len),
		.lkey = htole32(node_mem_is_shared(verbs->mem, data) ? verbs->shared_lkey :
								       verbs->lkey),
	};
}

static struct virtio_rdma_swqe *put_send(struct node_qp *qp, const struct virtio_rdma_swqe *wqe,
					 const void *data, uint32_t len)
{
	struct virtio_rdma_swqe *slot = &qp->send[qp->sent++ & (qp->send_depth - 1)];

	*slot = *wqe;
	if (data) {
		slot->num_sge = htole16(1);
		slot->sg_list[0] = sge(qp->verbs, data, len);
	}
	return slot;
}

uint32_t node_qp_post(struct node_qp *qp, const struct virtio_rdma_swqe *wqe,
		      const void *data, uint32_t len)
{
	struct virtio_rdma_swqe *slot = put_send(qp, wqe, data, len);

	slot->send_flags |= VIRTIO_IB_SEND_SIGNALED;
	qp->control->send_producer = htole32(qp->sent);
	announce(qp);
	return qp->sent - 1;
}

/* The device sees it together with the one that follows. */
uint32_t node_qp_post_quiet(struct node_qp *qp, const struct virtio_rdma_swqe *wqe,
			    const void *data, uint32_t len)
{
	put_send(qp, wqe, data, len);
	return qp->sent - 1;
}

uint32_t node_qp_recv(struct node_qp *qp, void *data, uint32_t len)
{
	const uint32_t index = qp->recvs++;
	struct virtio_rdma_rwqe *slot =
		(void *)(qp->recv + (index & (qp->recv_depth - 1)) * STRIDE);

	*slot = (struct virtio_rdma_rwqe) { .num_sge = htole32(1) };
	slot->sg_list[0] = sge(qp->verbs, data, len);
	qp->control->recv_producer = htole32(qp->recvs);
	if (qp->control->recv_wanted)
		announce(qp);
	return index;
}

static const struct virtio_rdma_cqe *next_cqe(const struct node_verbs *verbs)
{
	const struct virtio_rdma_cqe *cqe = &verbs->cq[verbs->consumer & (CQE - 1)];
	const uint8_t phase = verbs->consumer & CQE ? 0 : VIRTIO_RDMA_CQE_PHASE;

	return (cqe->phase & VIRTIO_RDMA_CQE_PHASE) == phase ? cqe : NULL;
}

bool node_pending(const struct node_verbs *verbs)
{
	return next_cqe(verbs);
}

static void tell(struct node_verbs *verbs, const struct virtio_rdma_cqe *cqe)
{
	const uint32_t qpn = le32toh(cqe->qp_num);
	struct node_qp *qp = qpn < NODE_QPNS ? verbs->qp[qpn] : NULL;

	if (qpn == VIRTIO_NET_ROCE_QPN_GSI && verbs->gsi_done)
		verbs->gsi_done(verbs->gsi, cqe);
	if (!qp)
		return;
	if (cqe->opcode & VIRTIO_RDMA_CQE_RECV)
		qp->recvs_done++;
	else
		/* Those before it are complete as well. */
		qp->sent_done = le32toh(cqe->wqe) + 1;
	qp->done(qp->arg, cqe);
}

bool node_poll_cq(struct node_verbs *verbs, unsigned int max)
{
	const struct virtio_rdma_cqe *next;
	struct virtio_rdma_cqe cqe;
	unsigned int n;

	for (n = 0; n < max; n++) {
		next = next_cqe(verbs);
		if (!next)
			break;
		cqe = *next;
		verbs->consumer++;
		verbs->cq_control->consumer = htole32(verbs->consumer);
		tell(verbs, &cqe);
	}
	return n;
}
