// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One guest's RDMA function: composition, delivery, polling.
 *
 * From the frames that come to the port the NIC takes RoCE packets for a QP of
 * its own: UDP to port 4791, to the function's MAC address, to a GID that the
 * guest has given to the NIC, in that GID's VLAN.  Nobody else can want those.
 * With all other frames the guest may do what it likes, such as running Soft-RoCE
 * at the same addresses.  A datagram to a group goes to both.  The NIC looks at
 * frames before Ethernet's filter does, so that it is enough for a QP to be
 * attached to a group.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rdma/nvmf/rings.h"
#include "rdma/qp/qp_life.h"
#include "rdma/qp/qp_run.h"
#include "rdma/qp/responder.h"
#include "rdma/rnic_priv.h"
#include "rdma/steer.h"

/* The work of one call of rnic_poll(), at most: for one of many QPs, and for all of them. */
#define RNIC_QP_MSGS	16
#define RNIC_QP_BYTES	(64 * 1024)
#define RNIC_MSGS	256
#define RNIC_BYTES	(256 * 1024)

/* The same while there is hardly anybody who waits for its end. */
#define RNIC_BYTES_ALONE (1024 * 1024)

/*
 * And pieces of slots, of the NIC's own and of its peers'.  A slot of a driver of ours
 * has one piece.
 */
#define RNIC_QP_PIECES	512
#define RNIC_PIECES	2048

/* The most frames of the port that one call handles; a frame for n QPs counts as n. */
#define RNIC_PORT_BURST	256

/* Of QPs that may have none, so many are looked at. */
#define RNIC_LOOKS	1024

/* The NIC that an end of the fabric belongs to. */
static struct rnic *rnic_of(struct fabric_end *end)
{
	return (struct rnic *)((char *)end - offsetof(struct rnic, end));
}

/* ------------------------------------------------------------------------- */
/* Packets                                                                   */
/* ------------------------------------------------------------------------- */

/* To all that is not in the fabric: as frames, by the NIC's port. */
static void transport_wire_send(struct fabric_end *from,
				struct fabric_end *to __always_unused,
				const struct pkt *pkt)
{
	eth_port_send(&rnic_of(from)->port, pkt);
}

static const struct transport transport_wire = {
	.name = "wire",
	.seg_max = 0,
	.send = transport_wire_send,
};

static bool rnic_receive(struct qp *qp, const struct pkt_op *op,
			 const struct pkt *pkt)
{
	if (!qp_receive(qp, op, pkt))
		return false;
	qp_count_received(qp, pkt->len);
	return true;
}

/* Each QP has its own cursor; false if the packet is for none of them. */
static bool rnic_deliver_group(struct rnic *rnic,
			       const struct mcast_group *group,
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
		taken |= rnic_receive(qp_get(&rnic->qps, group->qpn[i]), op,
				      &copy);
	}
	return taken;
}

/* As @deliver of &struct fabric_end. */
static unsigned int rnic_deliver(struct rnic *rnic, const struct pkt *pkt)
{
	const struct mcast_group *group = mcast_find(&rnic->mcast,
						     pkt->dest_qpn, pkt->dgid);
	const struct pkt_op *op = pkt_op(pkt->opcode);
	struct qp *qp = rnic->ctx.clearing ? NULL : qp_get(&rnic->qps, pkt->dest_qpn);
	bool taken = false;

	if (op && group)
		taken = rnic_deliver_group(rnic, group, op, pkt);
	else if (op && qp)
		taken = rnic_receive(qp, op, pkt);

	if (taken) {
		rnic_count_received(&rnic->ctx, pkt->len);
		if (pkt->ecn)
			rnic_count(&rnic->ctx, VIRTIO_RDMA_CNT_RCVD_ECN);
	} else {
		rnic_count(&rnic->ctx, VIRTIO_RDMA_CNT_RCVD_DROPPED);
	}
	return group ? group->n : 1;
}

static unsigned int rnic_deliver_end(struct fabric_end *end,
				     const struct pkt *pkt)
{
	rnic_call(end->ctx);
	return rnic_deliver(rnic_of(end), pkt);
}

static bool rnic_has_mac(const struct fabric_end *end, const uint8_t *mac)
{
	return eth_port_leads_to(&rnic_of((struct fabric_end *)end)->port, mac);
}

/* Without a port there is nothing that a packet could be too long for. */
static uint32_t rnic_mtu(const struct fabric_end *end)
{
	const struct eth_port *port = &rnic_of((struct fabric_end *)end)->port;

	return port->eth ? port->eth->mtu(port->arg) : UINT32_MAX;
}

/* The guest's own rules see the frame, too; the network gets it in any case. */
static uint64_t rnic_send_frame(struct fabric_end *end, void *frame, size_t len)
{
	const struct iovec iov = { .iov_base = frame, .iov_len = len };
	struct rnic *rnic = rnic_of(end);
	struct rule_hits hits;
	uint64_t work;

	if (!eth_port_send_frame(&rnic->port, frame, len, &work) ||
	    !rnic_steer(rnic, RULE_FOR_OWN, &iov, 1, 0, len, &hits))
		return work;
	rnic_give(rnic, &hits, &iov, 0, len);
	return work + hits.n * len;
}

static void rnic_forget(struct fabric_end *end, const struct fabric_end *gone)
{
	eth_port_forget(&rnic_of(end)->port, gone);
}

void rnic_set_eth(struct rnic *rnic, const struct rnic_eth *eth, void *arg)
{
	eth_port_attach(&rnic->port, eth, arg);
}

void rnic_set_nvmf(struct rnic *rnic, const struct nvmf_host *host)
{
	if (!host)
		subsys_table_reset(&rnic->subs);
	rnic->subs.host = rnic_has_direct(&rnic->ctx) ? host : NULL;
}

const uint8_t *rnic_gid(const struct rnic *rnic, uint32_t index, uint16_t *vlan)
{
	const struct gid *gid = gid_get(&rnic->gids, index);

	if (!gid)
		return NULL;
	*vlan = gid->vlan;
	return gid->raw;
}

void rnic_set_gid_policy(struct rnic *rnic,
			 bool (*may)(const void *arg, const uint8_t *gid),
			 const void *arg)
{
	rnic->gids.may = may;
	rnic->gids.arg = arg;
}

void rnic_set_away(struct rnic *rnic, bool away)
{
	if (rnic->gids.away && !away)
		qp_moved_all(&rnic->qps);
	gid_table_set_away(&rnic->gids, away);
}

void rnic_set_poller(struct rnic *rnic, struct loop_poller *poller)
{
	rnic->ctx.poller = poller;
}

void rnic_set_packets(struct rnic *rnic, bool packets)
{
	fabric_set_packets(&rnic->end, packets);
}

static bool rnic_has_gid(struct rnic *rnic, const struct roce_peek *peek)
{
	struct eth_port_known *known = &rnic->port.known;
	const uint64_t epoch = fabric_epoch(rnic->end.fabric);

	if (known->epoch == epoch && known->vlan == peek->vlan &&
	    gid_equal(known->gid, peek->dgid))
		return true;
	if (!fabric_has(&rnic->end, peek->dgid, peek->vlan))
		return false;
	memcpy(known->gid, peek->dgid, GID_SIZE);
	known->vlan = peek->vlan;
	known->epoch = epoch;
	return true;
}

static bool rnic_wants(struct rnic *rnic, const struct roce_peek *peek)
{
	const struct qp *qp = qp_get(&rnic->qps, peek->dest_qpn);

	return qp && qp->service != PKT_FRAME && qp->state != VIRTIO_IB_QPS_RESET &&
	       eth_port_is_mine(&rnic->port, peek->dmac) &&
	       rnic_has_gid(rnic, peek);
}

/* A group has no VLAN of its own: those where the NIC has an address will do. */
static bool rnic_wants_group(const struct rnic *rnic,
			     const struct roce_peek *peek)
{
	return rnic->port.eth && peek->dmac[0] & 1 &&
	       mcast_find(&rnic->mcast, peek->dest_qpn, peek->dgid) &&
	       gid_has_vlan(&rnic->gids, peek->vlan);
}

bool rnic_frame(struct rnic *rnic, const struct rnic *from,
		const struct iovec *iov, unsigned int iov_n, size_t off,
		size_t len)
{
	uint8_t head[ROCE_PEEK_SIZE];
	struct roce_peek peek;
	bool mine;

	if (!roce_peek(&peek, head, iov_to_buf(iov, iov_n, off, head,
					       len < sizeof(head) ?
					       len : sizeof(head))))
		return false;
	mine = rnic_wants(rnic, &peek);
	if (mine || rnic_wants_group(rnic, &peek))
		eth_port_keep(&rnic->port, from ? &from->end : NULL, iov, iov_n,
			      off, len);
	return mine;
}

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
	       limits->cqe >= limits->queue_size &&
	       limits->event_vqs <= RNIC_EVENT_VQS_MAX &&
	       limits->doorbell_vqs <= RNIC_DOORBELL_VQS_MAX &&
	       limits->direct_qps <= VIRTIO_NET_ROCE_MAX_OBJECTS - limits->qps &&
	       limits->direct_cqs <= VIRTIO_NET_ROCE_MAX_OBJECTS - limits->cqs &&
	       !(limits->rfc && (limits->event_vqs || limits->doorbell_vqs));
}

/* Tables that were not initialised are empty, because calloc() zeroed them. */
static void rnic_fini(struct rnic *rnic)
{
	eth_port_fini(&rnic->port);
	subsys_table_fini(&rnic->subs);
	qp_table_fini(&rnic->qps);
	doorbell_table_fini(&rnic->doorbells);
	srq_table_fini(&rnic->srqs);
	xrcd_table_fini(&rnic->xrcds);
	cq_table_fini(&rnic->cqs);
	ah_table_fini(&rnic->ahs);
	mr_table_fini(&rnic->mrs);
	pd_table_fini(&rnic->pds);
	rule_table_fini(&rnic->rules);
	wq_tables_fini(&rnic->tables);
	chore_debt_put(rnic->ctx.debt);
	free(rnic);
}

/* As @look of the doorbell pages. */
static void rnic_look(void *arg, uint32_t qpn)
{
	const struct rnic *rnic = arg;

	qp_look(qp_get(&rnic->qps, qpn));
}

static int rnic_init(struct rnic *rnic)
{
	struct rnic_ctx *ctx = &rnic->ctx;
	int ret;

	gid_table_init(&rnic->gids, &rnic->end);
	event_table_init(&rnic->events, ctx);
	rule_table_init(&rnic->rules, ctx);
	wq_tables_init(&rnic->tables, &rnic->qps);
	rnic->qps = (struct qp_table) {
		.ctx = ctx,
		.end = &rnic->end,
		.pds = &rnic->pds,
		.mrs = &rnic->mrs,
		.ahs = &rnic->ahs,
		.cqs = &rnic->cqs,
		.srqs = &rnic->srqs,
		.xrcds = &rnic->xrcds,
		.events = &rnic->events,
		.doorbells = &rnic->doorbells,
		.gids = &rnic->gids,
		.mcast = &rnic->mcast,
		.rules = &rnic->rules,
		.tables = &rnic->tables,
	};
	rnic->srqs = (struct srq_table) {
		.ctx = ctx,
		.pds = &rnic->pds,
		.cqs = &rnic->cqs,
		.xrcds = &rnic->xrcds,
		.events = &rnic->events,
	};
	rnic->subs = (struct subsys_table) { .ctx = ctx, .qps = &rnic->qps };
	ctx->debt = chore_debt_new();
	ret = ctx->debt ? pd_table_init(&rnic->pds, ctx) : -ENOMEM;
	if (!ret)
		ret = mr_table_init(&rnic->mrs, ctx, &rnic->pds);
	if (!ret)
		ret = ah_table_init(&rnic->ahs, ctx, &rnic->pds);
	if (!ret)
		ret = cq_table_init(&rnic->cqs, ctx, &rnic->events);
	if (!ret)
		ret = xrcd_table_init(&rnic->xrcds, ctx);
	if (!ret)
		ret = srq_table_init(&rnic->srqs);
	if (!ret)
		ret = doorbell_table_init(&rnic->doorbells, ctx, rnic_look, rnic);
	if (!ret)
		ret = qp_table_init(&rnic->qps);
	if (!ret)
		ret = subsys_table_init(&rnic->subs);
	if (!ret)
		ret = eth_port_init(&rnic->port, ctx);
	return ret;
}

struct rnic *rnic_new(struct loop *loop, struct fabric *fabric,
		      const struct rnic_limits *limits, const char *name)
{
	struct rnic *rnic;
	int ret;

	if (!rnic_limits_ok(limits)) {
		errno = EINVAL;
		return NULL;
	}
	rnic = calloc(1, sizeof(*rnic));
	if (!rnic)
		return NULL;
	rnic->ctx.loop = loop;
	rnic->ctx.limits = *limits;
	rnic->ctx.mem = &guest_mem_none;
	rnic->ctx.clock_zero = clock_ns();
	rnic->mem = &guest_mem_none;
	snprintf(rnic->ctx.name, sizeof(rnic->ctx.name), "%s", name);
	rnic->end = (struct fabric_end) {
		.fabric = fabric,
		.ctx = &rnic->ctx,
		.qps = &rnic->qps,
		.beyond = &transport_wire,
		.deliver = rnic_deliver_end,
		.has_mac = rnic_has_mac,
		.mtu = rnic_mtu,
		.send_frame = rnic_send_frame,
		.forget = rnic_forget,
	};
	ret = rnic_init(rnic);
	if (ret) {
		rnic_fini(rnic);
		errno = -ret;
		return NULL;
	}
	fabric_join(&rnic->end);
	return rnic;
}

/* ------------------------------------------------------------------------- */
/* Reset                                                                     */
/* ------------------------------------------------------------------------- */

static void rnic_set_mem(struct rnic *rnic, const struct guest_mem *mem)
{
	rnic->ctx.mem = mem;
	rnic->ctx.mem_epoch++;
	mr_mem_changed(&rnic->mrs);
	doorbell_mem_changed(&rnic->doorbells);
	if (mem->n)
		qp_resume_all(&rnic->qps);
}

/* Objects go before those that they refer to. */
static bool rnic_clear_stage(struct rnic *rnic)
{
	switch (rnic->stage) {
	case 0:
		return rule_table_reset(&rnic->rules, &rnic->portion);
	case 1:
		return qp_table_reset(&rnic->qps, &rnic->portion);
	case 2:
		return wq_tables_reset(&rnic->tables, &rnic->portion);
	case 3:
		return doorbell_table_reset(&rnic->doorbells, &rnic->portion);
	case 4:
		return srq_table_reset(&rnic->srqs, &rnic->portion);
	case 5:
		return xrcd_table_reset(&rnic->xrcds, &rnic->portion);
	case 6:
		return cq_table_reset(&rnic->cqs, &rnic->portion);
	case 7:
		return mr_table_reset(&rnic->mrs, &rnic->portion);
	case 8:
		return ah_table_reset(&rnic->ahs, &rnic->portion);
	case 9:
		return pd_table_reset(&rnic->pds, &rnic->portion);
	default:
		/* A NIC that goes on does that by a timer. */
		return !rnic->gone || cq_free_some(&rnic->cqs);
	}
}

#define RNIC_CLEAR_STAGES	11

void rnic_clear_some(struct rnic *rnic)
{
	if (!rnic->ctx.clearing)
		return;
	rnic->portion.left = PORTION;
	while (rnic->stage < RNIC_CLEAR_STAGES && rnic_clear_stage(rnic)) {
		rnic->stage++;
		rnic->portion.at = 0;
	}
	if (rnic->stage < RNIC_CLEAR_STAGES)
		return;
	rnic->ctx.clearing = false;
	rnic_set_mem(rnic, rnic->mem);
}

/* It may have been cleared meanwhile, by a command that waited for that. */
static bool rnic_clear_step(struct chore *chore)
{
	struct rnic *rnic = (struct rnic *)((char *)chore - offsetof(struct rnic, chore));

	rnic_clear_some(rnic);
	if (rnic->ctx.clearing)
		return true;
	rnic->chore.step = NULL;
	if (rnic->gone)
		rnic_fini(rnic);
	return false;
}

/*
 * To free 16384 QPs, and all that they use, takes many milliseconds.  So a reset only takes
 * all of it out of reach: without memory, no object does anything; without GIDs, nothing
 * reaches one; the rest is a chore.  The guest's next command waits until it is done.
 */
void rnic_reset(struct rnic *rnic)
{
	rnic_command_abort(rnic);
	subsys_table_reset(&rnic->subs);
	gid_table_reset(&rnic->gids);
	eth_port_reset(&rnic->port);
	rnic->mcast.n = 0;
	rnic->ctx.clearing = true;
	rnic_set_mem(rnic, &guest_mem_none);
	rnic->stage = 0;
	rnic->portion.at = 0;
	if (rnic->chore.step)
		return;
	rnic->chore.step = rnic_clear_step;
	chore_add(rnic->ctx.loop, &rnic->chore);
}

void rnic_free(struct rnic *rnic)
{
	rnic->ctx.poller = NULL;
	rnic_reset(rnic);
	fabric_leave(&rnic->end);
	eth_port_attach(&rnic->port, NULL, NULL);
	rnic->mem = &guest_mem_none;
	rnic->gone = true;
}

uint64_t rnic_fused(const struct rnic *rnic)
{
	return rnic->ctx.fused;
}

const uint64_t *rnic_counters(const struct rnic *rnic)
{
	return rnic->ctx.counter;
}

/* ------------------------------------------------------------------------- */
/* Queues and memory                                                         */
/* ------------------------------------------------------------------------- */

/*
 * QPs do nothing in a guest without any memory: a front-end may take it away
 * before it stops the queues.
 */
void rnic_mem_changed(struct rnic *rnic, const struct guest_mem *mem)
{
	rnic->mem = mem;
	if (!rnic->ctx.clearing)
		rnic_set_mem(rnic, mem);
}

/* The virtqueue of a number may be used, or with NULL not any more. */
static void rnic_set_queue(struct rnic *rnic, enum rnic_queue kind,
			   uint32_t number, struct virtq *vq)
{
	switch (kind) {
	case RNIC_CQ:
		cq_set_queue(&rnic->cqs, number, vq);
		break;
	case RNIC_SQ:
		qp_set_queue(&rnic->qps, rnic->qps.sq_vq, number, vq);
		break;
	case RNIC_RQ:
		qp_set_queue(&rnic->qps, rnic->qps.rq_vq, number, vq);
		break;
	case RNIC_EVENT:
		event_set_queue(&rnic->events, number, vq);
		break;
	default:
		break;
	}
}

void rnic_queue_start(struct rnic *rnic, enum rnic_queue kind, uint32_t number,
		      struct virtq *vq)
{
	rnic_set_queue(rnic, kind, number, vq);
	/* QPs that complete to a CQ may have stood still. */
	if (kind == RNIC_CQ)
		qp_resume_all(&rnic->qps);
}

void rnic_queue_stop(struct rnic *rnic, enum rnic_queue kind, uint32_t number)
{
	rnic_set_queue(rnic, kind, number, NULL);
}

/* A completion queue has no use for a doorbell: the loop polls its QPs. */
void rnic_queue_kick(struct rnic *rnic, enum rnic_queue kind, uint32_t number)
{
	struct qp *qp = kind == RNIC_SQ || kind == RNIC_RQ ?
			qp_get(&rnic->qps, number) : NULL;

	if (rnic->ctx.clearing)
		return;
	if (qp)
		qp_activate(qp);
	if (kind == RNIC_EVENT)
		event_kick(&rnic->events, number);
	if (kind == RNIC_DOORBELL)
		doorbell_kick(&rnic->doorbells, number);
}

/* ------------------------------------------------------------------------- */
/* Work                                                                      */
/* ------------------------------------------------------------------------- */

/* How long a QP without work is looked at. */
static uint64_t rnic_linger(const struct qp *qp)
{
	return qp->doorbell && qp->table->active_n > RNIC_LINGER_QPS ? 0 : RNIC_IDLE_NS;
}

/* One busy QP or two share what is there for all: long messages need fewer rounds. */
static int64_t rnic_qp_bytes(const struct qp_table *qps)
{
	if (qps->active_n > QP_FEW)
		return RNIC_QP_BYTES;
	if (qps->active_n > 1)
		return RNIC_BYTES / 2;
	return qp_is_alone(qps) ? RNIC_BYTES_ALONE : RNIC_BYTES;
}

static bool rnic_poll_qp(struct qp *qp, struct budget *all, uint64_t now)
{
	const int64_t bytes = rnic_qp_bytes(qp->table);
	struct budget budget = {
		.msgs = RNIC_QP_MSGS,
		.bytes = bytes,
		.work = virtq_work() + RNIC_QP_PIECES,
	};

	if (qp_poll(qp, &budget)) {
		qp->busy_at = now;
		all->msgs -= RNIC_QP_MSGS - budget.msgs;
		all->bytes -= bytes - budget.bytes;
		return true;
	}
	if (now - qp->busy_at > rnic_linger(qp) && !qp_doorbells_on(qp))
		qp_deactivate(qp);
	return false;
}

/* Look at frames received, though not at all of many; true if there were any. */
static bool rnic_poll_port(struct rnic *rnic)
{
	const uint64_t end = virtq_work() + RNIC_PIECES;
	const struct pkt *pkt;
	unsigned int done = 0;
	struct roce_rx rx;
	struct sg payload;

	if (!rnic->port.n)
		return false;
	responder_hold(&rnic->qps);
	while (done < RNIC_PORT_BURST && virtq_work() < end && rnic->port.n) {
		pkt = eth_port_next(&rnic->port, &rx, &payload);
		done += pkt ? rnic_deliver(rnic, pkt) : 1;
		eth_port_done(&rnic->port);
	}
	responder_release(&rnic->qps);
	return done;
}

static bool rnic_work(struct rnic *rnic)
{
	struct budget all = {
		.msgs = RNIC_MSGS,
		.work = virtq_work() + RNIC_PIECES,
	};
	struct qp *qp, *last;
	uint64_t now = loop_now(rnic->ctx.loop);
	unsigned int looks = RNIC_LOOKS;
	bool worked;

	worked = rnic_poll_port(rnic);
	worked |= doorbell_poll(&rnic->doorbells);
	worked |= qp_resume_some(&rnic->qps);
	if (rnic->subs.rings)
		worked |= rings_poll(&rnic->subs);
	last = TAILQ_LAST(&rnic->qps.active, qp_list);
	if (!last)
		return worked;
	all.bytes = qp_is_alone(&rnic->qps) ? RNIC_BYTES_ALONE : RNIC_BYTES;
	/* One round; a QP that was polled goes to the end of the list. */
	do {
		qp = TAILQ_FIRST(&rnic->qps.active);
		TAILQ_REMOVE(&rnic->qps.active, qp, entry);
		TAILQ_INSERT_TAIL(&rnic->qps.active, qp, entry);
		worked |= rnic_poll_qp(qp, &all, now);
	} while (qp != last && budget_left(&all) && --looks);
	/* There are others to be looked at: nobody may sleep before that. */
	return worked || qp != last;
}

bool rnic_poll(struct rnic *rnic)
{
	bool worked;

	if (rnic->ctx.clearing)
		return false;
	worked = rnic_work(rnic);
	rnic_flush(rnic);
	return worked;
}

void rnic_flush(struct rnic *rnic)
{
	cq_look_late(&rnic->cqs);
}

bool rnic_sleep(struct rnic *rnic)
{
	struct qp *qp;
	bool more = rnic->port.n;

	if (rnic->ctx.clearing)
		return false;
	TAILQ_FOREACH(qp, &rnic->qps.active, entry)
		more |= qp_doorbells_on(qp);
	more |= doorbell_sleep(&rnic->doorbells);
	return more;
}

/* Nothing tells of completions in the memory of an NVMe device. */
bool rnic_may_sleep(const struct rnic *rnic)
{
	return !rnic->subs.rings && rnic->qps.active_n <= RNIC_SLEEP_MAX &&
	       rnic->doorbells.warm_n <= RNIC_SLEEP_MAX;
}

void rnic_wake(struct rnic *rnic)
{
	struct qp *qp;

	if (rnic->ctx.clearing)
		return;
	TAILQ_FOREACH(qp, &rnic->qps.active, entry)
		qp_doorbells_off(qp);
	doorbell_wake(&rnic->doorbells);
}
