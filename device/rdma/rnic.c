// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One guest's RDMA function: life cycle, queues, the work loop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "rdma/rnic_priv.h"
#include "rdma/object/ah.h"
#include "rdma/object/cq.h"
#include "rdma/object/mr.h"
#include "rdma/qp/qp.h"
#include "rdma/object/sg.h"

/* What one call of rnic_poll() does at most: for a QP, and for all of them. */
#define RNIC_QP_MSGS	16
#define RNIC_QP_BYTES	(256 * 1024)
#define RNIC_MSGS	256
#define RNIC_BYTES	(1024 * 1024)

/* A QP that had nothing to do for so long is looked at no more. */
#define RNIC_IDLE_NS	(1000 * 1000)

/* ------------------------------------------------------------------------- */
/* Life cycle                                                                */
/* ------------------------------------------------------------------------- */

static bool rnic_limits_ok(const struct rnic_limits *limits)
{
	return limits->qps >= 2 &&
	       limits->qps <= VIRTIO_NET_ROCE_MAX_OBJECTS &&
	       limits->cqs >= 1 &&
	       limits->cqs <= VIRTIO_NET_ROCE_MAX_OBJECTS &&
	       limits->queue_size >= 1 &&
	       limits->queue_size <= VIRTQ_SIZE_MAX &&
	       limits->cqe >= limits->queue_size;
}

static int rnic_alloc_numbers(struct rnic *rnic)
{
	rnic->cq = calloc(rnic->limits.cqs, sizeof(*rnic->cq));
	rnic->cq_vq = calloc(rnic->limits.cqs, sizeof(*rnic->cq_vq));
	rnic->qp = calloc(rnic->limits.qps, sizeof(*rnic->qp));
	rnic->sq_vq = calloc(rnic->limits.qps, sizeof(*rnic->sq_vq));
	rnic->rq_vq = calloc(rnic->limits.qps, sizeof(*rnic->rq_vq));
	return rnic->cq && rnic->cq_vq && rnic->qp && rnic->sq_vq && rnic->rq_vq ?
	       0 : -ENOMEM;
}

static void rnic_free_numbers(struct rnic *rnic)
{
	free(rnic->rq_vq);
	free(rnic->sq_vq);
	free(rnic->qp);
	free(rnic->cq_vq);
	free(rnic->cq);
}

struct rnic *rnic_new(struct loop *loop, struct fabric *fabric,
		      const struct rnic_limits *limits, const char *name)
{
	struct rnic *rnic;
	int ret = -EINVAL;

	if (!rnic_limits_ok(limits))
		goto err;
	ret = -ENOMEM;
	rnic = calloc(1, sizeof(*rnic));
	if (!rnic)
		goto err;
	rnic->loop = loop;
	rnic->fabric = fabric;
	rnic->limits = *limits;
	rnic->mem = &guest_mem_none;
	rnic->qpn_next = VIRTIO_NET_ROCE_QPN_GSI + 1;
	TAILQ_INIT(&rnic->active);
	snprintf(rnic->name, sizeof(rnic->name), "%s", name);

	ret = rnic_alloc_numbers(rnic);
	if (ret)
		goto err_numbers;
	ret = eth_port_init(rnic);
	if (ret)
		goto err_numbers;
	ret = obj_table_init(&rnic->pds, limits->pds);
	if (ret)
		goto err_wire;
	ret = obj_table_init(&rnic->mrs, limits->mrs);
	if (ret)
		goto err_pds;
	ret = obj_table_init(&rnic->ahs, limits->ahs);
	if (ret)
		goto err_mrs;
	return rnic;

err_mrs:
	obj_table_fini(&rnic->mrs);
err_pds:
	obj_table_fini(&rnic->pds);
err_wire:
	eth_port_fini(rnic);
err_numbers:
	rnic_free_numbers(rnic);
	free(rnic);
err:
	errno = -ret;
	return NULL;
}

void rnic_reset(struct rnic *rnic)
{
	qp_free_all(rnic);
	cq_free_all(rnic);
	mr_free_all(rnic);
	pd_ah_free_all(rnic);
	gid_del_all(rnic);
	eth_port_reset(rnic);
	rnic->qpn_next = VIRTIO_NET_ROCE_QPN_GSI + 1;
}

void rnic_free(struct rnic *rnic)
{
	rnic_reset(rnic);
	obj_table_fini(&rnic->ahs);
	obj_table_fini(&rnic->mrs);
	obj_table_fini(&rnic->pds);
	eth_port_fini(rnic);
	rnic_free_numbers(rnic);
	free(rnic);
}

const uint64_t *rnic_counters(const struct rnic *rnic)
{
	return rnic->counter;
}

/* ------------------------------------------------------------------------- */
/* Queues and memory                                                         */
/* ------------------------------------------------------------------------- */

/*
 * A queue that stops, as all do while the guest is paused, leaves its QP where
 * it is.  The QP stands still until the queue is back.
 */
static void rnic_resume(struct rnic *rnic, uint32_t qpn)
{
	struct qp *qp = rnic_qp(rnic, qpn);

	if (qp && qp_usable(qp))
		qp_activate(qp);
}

static void rnic_resume_all(struct rnic *rnic)
{
	uint32_t i;

	for (i = 0; i < rnic->limits.qps; i++)
		rnic_resume(rnic, i);
}

/*
 * Nor do QPs do anything in a guest without any memory: a front-end may take it
 * away before it stops the queues.
 */
void rnic_mem_changed(struct rnic *rnic, const struct guest_mem *mem)
{
	rnic->mem = mem;
	mr_translate_all(rnic);
	if (mem->n)
		rnic_resume_all(rnic);
}

/* Where the virtqueue of a number is kept; NULL if the number is too large. */
static struct virtq **rnic_queue(const struct rnic *rnic, enum rnic_queue kind,
				 uint32_t number)
{
	struct virtq **queue = kind == RNIC_CQ ? rnic->cq_vq :
			       kind == RNIC_SQ ? rnic->sq_vq : rnic->rq_vq;
	uint32_t max = kind == RNIC_CQ ? rnic->limits.cqs : rnic->limits.qps;

	return number < max ? &queue[number] : NULL;
}

void rnic_queue_start(struct rnic *rnic, enum rnic_queue kind, uint32_t number,
		      struct virtq *vq)
{
	struct virtq **queue = rnic_queue(rnic, kind, number);

	if (!queue)
		return;
	*queue = vq;
	if (kind != RNIC_CQ)
		rnic_resume(rnic, number);
	else if (rnic->cq[number])
		rnic_resume_all(rnic);
}

void rnic_queue_stop(struct rnic *rnic, enum rnic_queue kind, uint32_t number)
{
	struct virtq **queue = rnic_queue(rnic, kind, number);

	if (queue)
		*queue = NULL;
}

/* A completion queue has nothing to be rung for: the loop polls its QPs. */
void rnic_queue_kick(struct rnic *rnic, enum rnic_queue kind, uint32_t number)
{
	struct qp *qp = kind == RNIC_CQ ? NULL : rnic_qp(rnic, number);

	if (qp)
		qp_activate(qp);
}

/* ------------------------------------------------------------------------- */
/* Packets                                                                   */
/* ------------------------------------------------------------------------- */

/* Is it from the peer of a connected QP, and for the address that it uses? */
static bool qp_expects(const struct qp *qp, const struct pkt *pkt)
{
	return pkt->vlan == qp->attr.vlan &&
	       gid_equal(pkt->dgid, qp->attr.sgid) &&
	       gid_equal(pkt->sgid, qp->attr.ah_attr.grh.dgid) &&
	       (pkt->src_qpn == qp->attr.dest_qpn ||
		pkt->src_qpn == PKT_QPN_UNKNOWN);
}

/* False if the packet is none for this QP. */
static bool qp_rx(struct qp *qp, const struct pkt_op *op,
		  const struct pkt *pkt)
{
	if (op->kind != PKT_KIND_CNP && PKT_SERVICE(pkt->opcode) != qp->service)
		return false;
	if (!qp_receives(qp) || !qp_usable(qp))
		return false;
	if (PKT_SERVICE(pkt->opcode) == PKT_UD)
		return ud_rx(qp, op, pkt);
	if (qp->service == PKT_UD || !qp_expects(qp, pkt))
		return false;
	if (pkt->ecn)
		flow_ecn_rx(qp);
	if (op->kind == PKT_KIND_CNP)
		qp_cnp_rx(qp);
	else if (op->response)
		requester_rx(qp, op, pkt);
	else
		responder_rx(qp, op, pkt);
	return true;
}

/* Each QP has its own cursor; false if the packet is for none of them. */
static bool group_rx(struct rnic *rnic, const struct mcast_group *group,
		     const struct pkt_op *op, const struct pkt *pkt)
{
	struct pkt copy = *pkt;
	bool taken = false;
	struct sg sg;
	uint32_t i;

	for (i = 0; i < group->n; i++) {
		if (pkt->len) {
			sg = *pkt->payload;
			copy.payload = &sg;
		}
		taken |= qp_rx(rnic_qp(rnic, group->qpn[i]), op, &copy);
	}
	return taken;
}

unsigned int rnic_deliver(struct rnic *rnic, const struct pkt *pkt)
{
	const struct mcast_group *group = mcast_find(rnic, pkt->dest_qpn,
						     pkt->dgid);
	const struct pkt_op *op = pkt_op(pkt->opcode);
	struct qp *qp = rnic_qp(rnic, pkt->dest_qpn);
	bool taken = false;

	if (op && group)
		taken = group_rx(rnic, group, op, pkt);
	else if (op && qp)
		taken = qp_rx(qp, op, pkt);

	if (taken) {
		rnic_count(rnic, VIRTIO_RDMA_CNT_RCVD_PKTS);
		rnic->counter[VIRTIO_RDMA_CNT_RCVD_BYTES] += pkt->len;
		if (pkt->ecn)
			rnic_count(rnic, VIRTIO_RDMA_CNT_RCVD_ECN);
	} else {
		rnic_count(rnic, VIRTIO_RDMA_CNT_RCVD_DROPPED);
	}
	return group ? group->n : 1;
}

/* ------------------------------------------------------------------------- */
/* Work                                                                      */
/* ------------------------------------------------------------------------- */

static bool rnic_poll_qp(struct qp *qp, struct budget *all, uint64_t now)
{
	struct budget budget = {
		.msgs = RNIC_QP_MSGS,
		.bytes = RNIC_QP_BYTES,
	};

	if (qp_poll(qp, &budget)) {
		qp->busy_at = now;
		all->msgs -= RNIC_QP_MSGS - budget.msgs;
		all->bytes -= RNIC_QP_BYTES - budget.bytes;
		return true;
	}
	if (now - qp->busy_at > RNIC_IDLE_NS && !qp_doorbells_on(qp))
		qp_deactivate(qp);
	return false;
}

bool rnic_poll(struct rnic *rnic)
{
	struct budget all = { .msgs = RNIC_MSGS, .bytes = RNIC_BYTES };
	struct qp *qp, *last;
	uint64_t now = loop_now(rnic->loop);
	bool worked = eth_port_poll(rnic);

	last = TAILQ_LAST(&rnic->active, qp_list);
	if (!last)
		return worked;
	/* One round; who is reached goes to the end of the line. */
	do {
		qp = TAILQ_FIRST(&rnic->active);
		TAILQ_REMOVE(&rnic->active, qp, entry);
		TAILQ_INSERT_TAIL(&rnic->active, qp, entry);
		worked |= rnic_poll_qp(qp, &all, now);
	} while (qp != last && budget_left(&all));
	return worked;
}

bool rnic_sleep(struct rnic *rnic)
{
	struct qp *qp;
	bool more = rnic->port.n;

	TAILQ_FOREACH(qp, &rnic->active, entry)
		more |= qp_doorbells_on(qp);
	return more;
}

void rnic_wake(struct rnic *rnic)
{
	struct qp *qp;

	TAILQ_FOREACH(qp, &rnic->active, entry)
		qp_doorbells_off(qp);
}
