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

/* What one call of nic_poll() does at most: for a QP, and for all of them. */
#define NIC_QP_MSGS	16
#define NIC_QP_BYTES	(256 * 1024)
#define NIC_MSGS	256
#define NIC_BYTES	(1024 * 1024)

/* A QP that had nothing to do for so long is looked at no more. */
#define NIC_IDLE_NS	(1000 * 1000)

static const struct guest_mem nic_no_mem;

/* ------------------------------------------------------------------------- */
/* Life cycle                                                                */
/* ------------------------------------------------------------------------- */

static bool nic_limits_ok(const struct nic_limits *limits)
{
	return limits->qps >= 2 &&
	       limits->qps <= VIRTIO_NET_ROCE_MAX_OBJECTS &&
	       limits->cqs >= 1 &&
	       limits->cqs <= VIRTIO_NET_ROCE_MAX_OBJECTS &&
	       limits->queue_size >= 1 &&
	       limits->queue_size <= VIRTQ_SIZE_MAX &&
	       limits->cqe >= limits->queue_size;
}

static int nic_alloc_numbers(struct nic *nic)
{
	nic->cq = calloc(nic->limits.cqs, sizeof(*nic->cq));
	nic->cq_vq = calloc(nic->limits.cqs, sizeof(*nic->cq_vq));
	nic->qp = calloc(nic->limits.qps, sizeof(*nic->qp));
	nic->sq_vq = calloc(nic->limits.qps, sizeof(*nic->sq_vq));
	nic->rq_vq = calloc(nic->limits.qps, sizeof(*nic->rq_vq));
	return nic->cq && nic->cq_vq && nic->qp && nic->sq_vq && nic->rq_vq ?
	       0 : -ENOMEM;
}

static void nic_free_numbers(struct nic *nic)
{
	free(nic->rq_vq);
	free(nic->sq_vq);
	free(nic->qp);
	free(nic->cq_vq);
	free(nic->cq);
}

struct nic *nic_new(struct loop *loop, struct fabric *fabric,
		    const struct nic_limits *limits, const char *name)
{
	struct nic *nic;
	int ret = -EINVAL;

	if (!nic_limits_ok(limits))
		goto err;
	ret = -ENOMEM;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		goto err;
	nic->loop = loop;
	nic->fabric = fabric;
	nic->limits = *limits;
	nic->mem = &nic_no_mem;
	nic->qpn_next = VIRTIO_NET_ROCE_QPN_GSI + 1;
	TAILQ_INIT(&nic->active);
	snprintf(nic->name, sizeof(nic->name), "%s", name);

	ret = nic_alloc_numbers(nic);
	if (ret)
		goto err_numbers;
	ret = wire_init(nic);
	if (ret)
		goto err_numbers;
	ret = obj_table_init(&nic->pds, limits->pds);
	if (ret)
		goto err_wire;
	ret = obj_table_init(&nic->mrs, limits->mrs);
	if (ret)
		goto err_pds;
	ret = obj_table_init(&nic->ahs, limits->ahs);
	if (ret)
		goto err_mrs;
	return nic;

err_mrs:
	obj_table_fini(&nic->mrs);
err_pds:
	obj_table_fini(&nic->pds);
err_wire:
	wire_fini(nic);
err_numbers:
	nic_free_numbers(nic);
	free(nic);
err:
	errno = -ret;
	return NULL;
}

void nic_reset(struct nic *nic)
{
	qp_free_all(nic);
	cq_free_all(nic);
	mr_free_all(nic);
	pd_ah_free_all(nic);
	gid_del_all(nic);
	wire_reset(nic);
	nic->qpn_next = VIRTIO_NET_ROCE_QPN_GSI + 1;
}

void nic_free(struct nic *nic)
{
	nic_reset(nic);
	obj_table_fini(&nic->ahs);
	obj_table_fini(&nic->mrs);
	obj_table_fini(&nic->pds);
	wire_fini(nic);
	nic_free_numbers(nic);
	free(nic);
}

const uint64_t *nic_counters(const struct nic *nic)
{
	return nic->counter;
}

/* ------------------------------------------------------------------------- */
/* Queues and memory                                                         */
/* ------------------------------------------------------------------------- */

/*
 * A queue that stops, as all do while the guest is paused, leaves its QP where
 * it is.  The QP stands still until the queue is back.
 */
static void nic_resume(struct nic *nic, uint32_t qpn)
{
	struct qp *qp = nic_qp(nic, qpn);

	if (qp && qp_usable(qp))
		qp_activate(qp);
}

static void nic_resume_all(struct nic *nic)
{
	uint32_t i;

	for (i = 0; i < nic->limits.qps; i++)
		nic_resume(nic, i);
}

/*
 * Nor do QPs do anything in a guest without any memory: a front-end may take it
 * away before it stops the queues.
 */
void nic_mem_changed(struct nic *nic, const struct guest_mem *mem)
{
	nic->mem = mem;
	mr_translate_all(nic);
	if (mem->n)
		nic_resume_all(nic);
}

void nic_cq_start(struct nic *nic, uint32_t cqn, struct virtq *vq)
{
	if (cqn >= nic->limits.cqs)
		return;
	nic->cq_vq[cqn] = vq;
	if (nic->cq[cqn])
		nic_resume_all(nic);
}

void nic_cq_stop(struct nic *nic, uint32_t cqn)
{
	if (cqn < nic->limits.cqs)
		nic->cq_vq[cqn] = NULL;
}

void nic_sq_start(struct nic *nic, uint32_t qpn, struct virtq *vq)
{
	if (qpn >= nic->limits.qps)
		return;
	nic->sq_vq[qpn] = vq;
	nic_resume(nic, qpn);
}

void nic_sq_stop(struct nic *nic, uint32_t qpn)
{
	if (qpn < nic->limits.qps)
		nic->sq_vq[qpn] = NULL;
}

void nic_rq_start(struct nic *nic, uint32_t qpn, struct virtq *vq)
{
	if (qpn >= nic->limits.qps)
		return;
	nic->rq_vq[qpn] = vq;
	nic_resume(nic, qpn);
}

void nic_rq_stop(struct nic *nic, uint32_t qpn)
{
	if (qpn < nic->limits.qps)
		nic->rq_vq[qpn] = NULL;
}

void nic_sq_kick(struct nic *nic, uint32_t qpn)
{
	struct qp *qp = nic_qp(nic, qpn);

	if (qp)
		qp_activate(qp);
}

void nic_rq_kick(struct nic *nic, uint32_t qpn)
{
	nic_sq_kick(nic, qpn);
}

/* ------------------------------------------------------------------------- */
/* Packets                                                                   */
/* ------------------------------------------------------------------------- */

/* Is it from the peer of a connected QP, and for the address that it uses? */
static bool qp_expects(const struct qp *qp, const struct pkt *pkt)
{
	return pkt->vlan == qp->attr.vlan &&
	       gid_equal(pkt->dgid, qp->attr.sgid) &&
	       gid_equal(pkt->sgid, qp->attr.av.grh.dgid) &&
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
		req_rx(qp, op, pkt);
	else
		resp_rx(qp, op, pkt);
	return true;
}

/* Each QP has its own cursor; false if the packet is for none of them. */
static bool group_rx(struct nic *nic, const struct mcast_group *group,
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
		taken |= qp_rx(nic_qp(nic, group->qpn[i]), op, &copy);
	}
	return taken;
}

unsigned int nic_deliver(struct nic *nic, const struct pkt *pkt)
{
	const struct mcast_group *group = mcast_find(nic, pkt->dest_qpn,
						     pkt->dgid);
	const struct pkt_op *op = pkt_op(pkt->opcode);
	struct qp *qp = nic_qp(nic, pkt->dest_qpn);
	bool taken = false;

	if (op && group)
		taken = group_rx(nic, group, op, pkt);
	else if (op && qp)
		taken = qp_rx(qp, op, pkt);

	if (taken) {
		nic_count(nic, VIRTIO_RDMA_CNT_RCVD_PKTS);
		nic->counter[VIRTIO_RDMA_CNT_RCVD_BYTES] += pkt->len;
		if (pkt->ecn)
			nic_count(nic, VIRTIO_RDMA_CNT_RCVD_ECN);
	} else {
		nic_count(nic, VIRTIO_RDMA_CNT_RCVD_DROPPED);
	}
	return group ? group->n : 1;
}

/* ------------------------------------------------------------------------- */
/* Work                                                                      */
/* ------------------------------------------------------------------------- */

static bool nic_poll_qp(struct qp *qp, struct budget *all, uint64_t now)
{
	struct budget budget = {
		.msgs = NIC_QP_MSGS,
		.bytes = NIC_QP_BYTES,
	};

	if (qp_poll(qp, &budget)) {
		qp->busy_at = now;
		all->msgs -= NIC_QP_MSGS - budget.msgs;
		all->bytes -= NIC_QP_BYTES - budget.bytes;
		return true;
	}
	if (now - qp->busy_at > NIC_IDLE_NS && !qp_want_kicks(qp))
		qp_deactivate(qp);
	return false;
}

bool nic_poll(struct nic *nic)
{
	struct budget all = { .msgs = NIC_MSGS, .bytes = NIC_BYTES };
	struct qp *qp, *last;
	uint64_t now = loop_now(nic->loop);
	bool worked = wire_poll(nic);

	last = TAILQ_LAST(&nic->active, qp_list);
	if (!last)
		return worked;
	/* One round; who is reached goes to the end of the line. */
	do {
		qp = TAILQ_FIRST(&nic->active);
		TAILQ_REMOVE(&nic->active, qp, entry);
		TAILQ_INSERT_TAIL(&nic->active, qp, entry);
		worked |= nic_poll_qp(qp, &all, now);
	} while (qp != last && budget_left(&all));
	return worked;
}

bool nic_sleep(struct nic *nic)
{
	struct qp *qp;
	bool more = nic->wire.n;

	TAILQ_FOREACH(qp, &nic->active, entry)
		more |= qp_want_kicks(qp);
	return more;
}

void nic_wake(struct nic *nic)
{
	struct qp *qp;

	TAILQ_FOREACH(qp, &nic->active, entry)
		qp_drop_kicks(qp);
}
