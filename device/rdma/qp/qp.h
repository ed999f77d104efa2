/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs: the object, the table of a NIC, the list of those with work.
 */
#ifndef DEVICE_RDMA_QP_QP_H
#define DEVICE_RDMA_QP_QP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "packet/roce_head.h"
#include "rdma/object/ah.h"
#include "rdma/object/cq.h"
#include "rdma/object/doorbell.h"
#include "rdma/object/fabric.h"
#include "rdma/object/gid_table.h"
#include "rdma/object/mcast.h"
#include "rdma/object/mr.h"
#include "rdma/object/rule.h"
#include "rdma/object/xrcd.h"
#include "rdma/qp/flow.h"
#include "rdma/qp/qp_sides.h"
#include "rdma/qp/wq.h"

struct qp_offload;
struct rss;
struct wq_tables;

TAILQ_HEAD(qp_list, qp);

/* Bytes of the largest frame of any port: header, VLAN tag, payload. */
#define RAW_FRAME_MAX	(14u + 4 + 65535)

/* So many busy QPs of a NIC may copy more in one go than many may. */
#define QP_FEW		2

/**
 * struct qp_table - the QPs of a NIC
 * @ctx:	the NIC's context
 * @end:	the NIC as the fabric sees it: packets leave by it
 * @pds:	its protection domains
 * @mrs:	its memory regions
 * @ahs:	its address handles
 * @cqs:	its CQs
 * @srqs:	its SRQs
 * @xrcds:	its XRC domains
 * @events:	its event virtqueues
 * @doorbells:	its doorbell pages
 * @gids:	its GID table
 * @mcast:	its multicast groups
 * @rules:	its flow rules
 * @tables:	its indirection tables
 * @qp:		QPs by number, those with virtqueues first
 * @size:	numbers that there is room for in @qp
 * @sq_vq:	send virtqueues that are started, by number of the QP
 * @rq_vq:	the same of receive virtqueues
 * @next:	where the search for a free number begins
 * @next_direct: the same for a direct QP
 * @serial:	&qp.serial of the newest QP
 * @resume:	QPs from here on are still to be resumed
 * @resume_serial: &qp.serial of the newest of them; others have not stood still
 * @active:	QPs that rnic_poll() looks at
 * @active_n:	number of them
 * @frame:	room for a frame that is sent, or NULL while there was no RAW_PACKET QP
 * @hold:	packets of the port are looked at: ACKs may wait until that ends
 * @held:	QPs with such an ACK; empty at any other time
 */
struct qp_table {
	struct rnic_ctx *ctx;
	struct fabric_end *end;
	struct pd_table *pds;
	struct mr_table *mrs;
	struct ah_table *ahs;
	struct cq_table *cqs;
	struct srq_table *srqs;
	struct xrcd_table *xrcds;
	struct event_table *events;
	struct doorbell_table *doorbells;
	struct gid_table *gids;
	struct mcast *mcast;
	struct rule_table *rules;
	struct wq_tables *tables;
	struct qp **qp;
	uint32_t size;
	struct virtq **sq_vq;
	struct virtq **rq_vq;
	uint32_t next;
	uint32_t next_direct;
	uint64_t serial;
	uint32_t resume;
	uint64_t resume_serial;
	struct qp_list active;
	uint32_t active_n;
	uint8_t *frame;
	bool hold;
	SLIST_HEAD(, qp) held;
};

/**
 * struct qp_attr - what MODIFY_QP sets
 * @path_mtu:	&enum virtio_ib_mtu
 * @max_rd_atomic: RDMA READs outstanding as requester
 * @max_dest_rd_atomic: RDMA READs served at a time as responder
 * @min_rnr_timer: code of the delay that an RNR NAK asks for
 * @timeout:	ACK timeout, 4.096 µs * 2^n, 0 = for ever
 * @retry_cnt:	retries
 * @rnr_retry:	RNR retries, 7 = without end
 * @rate_limit: kbit/s, 0 = none
 * @max_burst:	bytes that may leave at once under it, 0 = the device's choice
 * @qkey:	Q_Key
 * @dest_qpn:	QPN of the peer
 * @access:	what the peer may do, &enum virtio_ib_access_flags
 * @ah_attr:	address vector of the peer, as given
 * @av:		what it says for the headers of packets
 * @sgid:	source GID, as it was when @av was set: the connection outlives
 *		a move of the GID to another index, as when the guest changes
 *		the MAC address of its interface
 * @vlan:	VLAN of that
 */
struct qp_attr {
	uint8_t path_mtu;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint32_t rate_limit;
	uint32_t max_burst;
	uint32_t qkey;
	uint32_t dest_qpn;
	uint32_t access;
	struct virtio_rdma_ah_attr ah_attr;
	struct pkt_av av;
	uint8_t sgid[GID_SIZE];
	uint16_t vlan;
};

/* Types of events that QPs have. */
#define QP_EVENTS	(VIRTIO_RDMA_EVENT_SQ_DRAINED - VIRTIO_RDMA_EVENT_QP_FATAL + 1)

/**
 * struct qp - queue pair
 * @table:	that it is in
 * @ctx:	the NIC's context
 * @end:	the NIC as the fabric sees it
 * @mrs:	its memory regions
 * @qpn:	its number
 * @serial:	a number that no other QP has had or gets; not 0
 * @type:	&enum virtio_ib_qp_type
 * @service:	&enum pkt_service
 * @state:	&enum virtio_ib_qp_state
 * @sig_all:	each send request leaves a completion
 * @rules:	flow rules that give it frames
 * @fast_reg:	send requests may register and invalidate memory regions
 * @strip:	RAW_PACKET: tags go from frames to completions
 * @rss:	of an RX_HASH QP: how it spreads frames, else NULL
 * @tables:	of a work queue: entries of indirection tables that name it
 * @pd:		protection domain; an XRC_TGT or RX_HASH QP has neither this nor CQs
 * @send_cq:	where send requests complete; of a work queue @recv_cq
 * @recv_cq:	where receive requests complete; of an XRC_INI QP @send_cq
 * @send_user:	makes it a user of @send_cq
 * @recv_user:	the same of @recv_cq
 * @xrcd:	XRC domain of an XRC_TGT QP, or NULL
 * @xrcd_user:	makes it a user of @xrcd
 * @sq:		its send queue
 * @rq:		its receive queue
 * @pages:	direct: memory of both queues
 * @block:	direct: control block
 * @doorbell:	direct: doorbell page, or NULL
 * @bit:	its bit there
 * @event:	from %VIRTIO_RDMA_EVENT_QP_FATAL on: what happens to it
 * @last_wqe:	event, with an SRQ: it is in ERR, and has no receive request any more
 * @no_wqe:	that was reported since it went to ERR
 * @cap:	capabilities, as given
 * @max_send_sge: elements of a send request
 * @max_recv_sge: elements of a receive request
 * @attr:	what MODIFY_QP has set
 * @mtu:	path MTU, bytes
 * @req:	sending half
 * @resp:	receiving half
 * @flow:	how much it may send, and when
 * @head:	cache: headers of its packets, made anew after MODIFY_QP
 * @route:	where the peer is, as of @epoch
 * @epoch:	of the fabric; 0: there was no look-up yet
 * @peer:	the other end, if rdma/qp/fused.c serves the connection, as of @peer_stamp
 * @peer_stamp:	fabric_stamp() of when that was looked up; 0: never
 * @send_place:	memory that a send request named last
 * @recv_place:	memory that a receive request named last
 * @remote_place: memory that the peer named last
 * @counter:	as &rnic_ctx.counter, of this QP alone
 * @moved:	it goes on elsewhere than it was, or after that: see qp_moved_all()
 * @acks_held:	ACKs that wait, as one, while the port's packets are looked at; else 0
 * @held:	of the list of those with such an ACK
 * @offload:	takes messages and posts requests, or NULL (rdma/qp/offload.h)
 * @cut:	it had an offload with work, was loaded, and is to go to ERR
 * @active:	on the list of those that rnic_poll() looks at
 * @busy_at:	when it had work last
 * @entry:	of that list
 */
struct qp {
	struct qp_table *table;
	struct rnic_ctx *ctx;
	struct fabric_end *end;
	struct mr_table *mrs;
	uint32_t qpn;
	uint64_t serial;
	uint8_t type;
	uint8_t service;
	uint8_t state;
	bool sig_all;
	bool fast_reg;
	bool strip;
	struct rule_owner rules;
	struct rss *rss;
	uint32_t tables;
	struct pd *pd;
	struct cq *send_cq;
	struct cq *recv_cq;
	struct cq_user send_user;
	struct cq_user recv_user;
	struct xrcd *xrcd;
	struct xrcd_user xrcd_user;
	struct wq sq;
	struct wq rq;
	struct pages pages;
	struct block block;
	struct doorbell *doorbell;
	uint32_t bit;
	struct event_mark event[QP_EVENTS];
	struct event_mark last_wqe;
	bool no_wqe;
	struct virtio_rdma_qp_cap cap;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	struct qp_attr attr;
	uint32_t mtu;
	struct requester req;
	struct responder resp;
	struct flow flow;
	struct roce_head head;
	struct route route;
	uint64_t epoch;
	struct qp *peer;
	uint64_t peer_stamp;
	struct mr_place send_place;
	struct mr_place recv_place;
	struct mr_place remote_place;
	uint64_t counter[VIRTIO_RDMA_CNT_NUM];
	bool moved;
	uint32_t acks_held;
	SLIST_ENTRY(qp) held;
	struct qp_offload *offload;
	bool cut;
	bool active;
	uint64_t busy_at;
	TAILQ_ENTRY(qp) entry;
};

/** qp_table_init() - make an empty table, all before @qp filled in; 0 or -ENOMEM */
int qp_table_init(struct qp_table *qps);

/** qp_table_fini() - free a table without QPs, even if qp_table_init() failed */
void qp_table_fini(struct qp_table *qps);

/** qp_get() - QP by number from anywhere, or NULL */
static inline struct qp *qp_get(const struct qp_table *qps, uint32_t qpn)
{
	return qpn < qps->size ? qps->qp[qpn] : NULL;
}

/** qp_recv_pd() - protection domain of the keys in its receive requests */
static inline const struct pd *qp_recv_pd(const struct qp *qp)
{
	return qp->rq.srq ? qp->rq.srq->pd : qp->pd;
}

/** qp_is_reliable() - is what it sends, or receives, acknowledged? */
static inline bool qp_is_reliable(const struct qp *qp)
{
	return qp->service == PKT_RC || qp->service == PKT_XRC;
}

/** qp_connects() - is it of a type that has a peer? */
static inline bool qp_connects(const struct qp *qp)
{
	return qp->service != PKT_UD && qp->service != PKT_FRAME;
}

/** qp_sends() - may a connected QP send, or go on with what was begun? */
static inline bool qp_sends(const struct qp *qp)
{
	return qp->state == VIRTIO_IB_QPS_RTS || qp->state == VIRTIO_IB_QPS_SQD;
}

/** qp_receives() - is it in a state in which it takes packets from its peer? */
static inline bool qp_receives(const struct qp *qp)
{
	switch (qp->state) {
	case VIRTIO_IB_QPS_RTR:
	case VIRTIO_IB_QPS_RTS:
	case VIRTIO_IB_QPS_SQD:
	case VIRTIO_IB_QPS_SQE:
		return true;
	}
	return false;
}

/** qp_count() - one more of what is counted, for the QP and for its NIC */
static inline void qp_count(struct qp *qp, enum virtio_rdma_counter counter)
{
	qp->counter[counter]++;
	rnic_count(qp->ctx, counter);
}

/** qp_count_sent() - it sends a packet, which the transport counts for the NIC */
static inline void qp_count_sent(struct qp *qp, uint32_t len)
{
	qp->counter[VIRTIO_RDMA_CNT_SENT_PKTS]++;
	qp->counter[VIRTIO_RDMA_CNT_SENT_BYTES] += len;
}

/** qp_count_received() - it has taken a packet, which is counted for the NIC, too */
static inline void qp_count_received(struct qp *qp, uint32_t len)
{
	qp->counter[VIRTIO_RDMA_CNT_RCVD_PKTS]++;
	qp->counter[VIRTIO_RDMA_CNT_RCVD_BYTES] += len;
}

/** qp_usable() - are its queues and memory there?  If not, it stands still */
static inline bool qp_usable(const struct qp *qp)
{
	return qp->ctx->mem->n && wq_ready(&qp->sq) && wq_ready(&qp->rq) &&
	       (!qp->send_cq || (cq_usable(qp->send_cq) && cq_usable(qp->recv_cq)));
}

/** qp_is_alone() - is one QP of a NIC busy, and hardly any other guest? */
static inline bool qp_is_alone(const struct qp_table *qps)
{
	return qps->active_n <= 1 && loop_awake(qps->ctx->loop) <= RNIC_GUESTS_FEW;
}

/** qp_activate() - have rnic_poll() look at it */
void qp_activate(struct qp *qp);

/**
 * qp_look() - have rnic_poll() look at it once
 * @qp:		QP of which somebody says that it has work
 *
 * If it has none, it does not stay on the list.
 */
void qp_look(struct qp *qp);

/** qp_deactivate() - have rnic_poll() not look at it any more */
void qp_deactivate(struct qp *qp);

/** qp_report() - report an event of a QP, if there are event virtqueues */
void qp_report(struct qp *qp, enum virtio_rdma_event_type type);

/** qp_drop_events() - nothing more is heard of it, or of its last connection */
void qp_drop_events(struct qp *qp);

/** qp_resume() - what it stood still for may be there again */
void qp_resume(struct qp *qp);

/** qp_table_grow() - make room for number @qpn; false if there is no memory */
bool qp_table_grow(struct qp_table *qps, uint32_t qpn);

/** qp_resume_all() - the same for all QPs of a NIC, bit by bit by qp_resume_some() */
static inline void qp_resume_all(struct qp_table *qps)
{
	rnic_call(qps->ctx);
	qps->resume = 0;
	qps->resume_serial = qps->serial;
}

/**
 * qp_moved_all() - what its QPs and their peers have sent meanwhile did not arrive
 * @qps:	QPs of a NIC that comes from another host, or that was to go to one
 *
 * When a QP has its queues, it sends what is not acknowledged, and tells its peer to do so.
 */
void qp_moved_all(struct qp_table *qps);

/** qp_resume_some() - go on with that; false if there is nothing to do */
bool qp_resume_some(struct qp_table *qps);

/**
 * qp_set_queue() - a virtqueue of a QP may be used
 * @qps:	QPs of the NIC
 * @vqs:	@sq_vq or @rq_vq of @qps
 * @qpn:	number of the QP, from anywhere
 * @vq:		virtqueue, or NULL if it may not be used any more
 */
void qp_set_queue(struct qp_table *qps, struct virtq **vqs, uint32_t qpn,
		  struct virtq *vq);

#endif /* DEVICE_RDMA_QP_QP_H */
