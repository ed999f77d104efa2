/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One guest's RDMA function, as the parts of the engine see it.
 *
 * Theory of operation
 * ===================
 *
 * rnic.c is the function: queues come and go, rnic_poll() does the work that is
 * due.  command.c decodes control commands by a table and calls what the object
 * files offer: ah.c (protection domains, address handles), mr.c, cq.c, qp.c,
 * qp_state.c (MODIFY_QP) and mcast.c.  wqe.c copies work requests out of their slots.
 *
 * A QP has a requester (requester.c: RC and UC; ud.c: UD and GSI) that turns its send
 * queue into packets, and a responder (responder.c) that carries out what arrives.
 * They exchange nothing but packets (pkt.h) that fabric.c delivers.  A peer is
 * named by GID and QPN, looked up for each packet and never kept by pointer, so
 * that any object can go at any time.
 *
 * A packet between two NICs of this process carries its payload by reference
 * and is delivered at once, in a nested call:
 *
 *	requester_run(A) -> responder_rx(B) -> requester_rx(A)
 *
 * Neither responder_rx() nor requester_rx() sends a request and requester_rx() sends nothing at
 * all, so that this is as deep as it gets.  Nor does ud_rx() send anything, so that
 * a datagram to a group may be delivered in memory to any number of QPs of the
 * sender's NIC, itself included.  (What a network has marked is answered
 * by a CNP, but such a network is no nested call.)  Whoever sends a packet has
 * brought his state up to date before and looks at it anew after, for the answer
 * may have changed it.
 *
 * All other packets leave by the Ethernet port (eth_port.c, roce.c), and what comes
 * by that waits for rnic_poll(), so that nothing is nested there.
 *
 * Context: all of the engine runs in the event loop's thread.
 */
#ifndef DEVICE_RNIC_PRIV_H
#define DEVICE_RNIC_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/log.h"
#include "rdma/fabric.h"
#include "uapi/virtio_net_roce.h"
#include "rdma/object/mcast.h"
#include "rdma/rnic.h"
#include "rdma/object/obj.h"
#include "rdma/eth_port.h"

struct cq;
struct qp;

#define RNIC_GIDS		128
#define RNIC_MAX_SGE		32
#define RNIC_MAX_RD_ATOMIC	128
#define RNIC_MAX_MSG		(1u << 31)
#define RNIC_UD_MTU		4096
#define RNIC_ACK_DELAY		15

/* Bounds the memory for extents of memory regions to 96 MiB for each guest. */
#define RNIC_MR_EXTENTS_MAX	(1u << 22)
#define RNIC_MR_PAGES_MAX	(1u << 22)

/* Completions held; bounds the memory for them to 80 MiB for each guest. */
#define RNIC_HELD_MAX		(1u << 20)

#define RNIC_PAGE_SIZE		4096u

/* A page list is copied to the stack: one page of it, for 2 MiB. */
#define RNIC_FAST_REG_PAGES	512u

TAILQ_HEAD(qp_list, qp);

/**
 * struct rnic - the RDMA side of one guest's function
 * @loop:	event loop, for timers
 * @fabric:	fabric that it belongs to
 * @limits:	what the operator configured
 * @name:	for messages
 * @log:	keeps them few
 * @mem:	memory map of the guest
 * @pds:	&struct pd by handle
 * @mrs:	&struct mr by key
 * @ahs:	&struct ah by handle
 * @cq:		CQs by number
 * @qp:		QPs by number
 * @cq_vq:	virtqueues that are started, by number of the CQ
 * @sq_vq:	the same of send queues, by number of the QP
 * @rq_vq:	the same of receive queues, by number of the QP
 * @qpn_next:	where the search for a free QPN begins
 * @mr_extents:	extents of all memory regions together
 * @held:	completions that all CQs together hold without a slot
 * @gid:	GID table
 * @mcast:	multicast groups
 * @counter:	by &enum virtio_rdma_counter
 * @why:	for rnic_why()
 * @port:	packets from and to the Ethernet port
 * @active:	QPs that rnic_poll() looks at
 * @elem:	buffer taken from a virtqueue last; nobody keeps it for longer
 *		than he needs to copy it
 */
struct rnic {
	struct loop *loop;
	struct fabric *fabric;
	struct rnic_limits limits;
	char name[64];
	struct log_limit log;
	const struct guest_mem *mem;

	struct obj_table pds;
	struct obj_table mrs;
	struct obj_table ahs;
	struct cq **cq;
	struct qp **qp;
	struct virtq **cq_vq;
	struct virtq **sq_vq;
	struct virtq **rq_vq;
	uint32_t qpn_next;
	uint32_t mr_extents;
	uint32_t held;
	struct gid gid[RNIC_GIDS];
	struct mcast mcast;
	uint64_t counter[VIRTIO_RDMA_CNT_NUM];

	char why[96];
	struct eth_port port;
	struct qp_list active;
	struct virtq_elem elem;
};

/**
 * rnic_qp() - QP by number
 * @rnic:	NIC
 * @qpn:	number, from anywhere
 *
 * Return: the QP or NULL.
 */
static inline struct qp *rnic_qp(const struct rnic *rnic, uint32_t qpn)
{
	return qpn < rnic->limits.qps ? rnic->qp[qpn] : NULL;
}

/** rnic_cq() - CQ by number, or NULL */
static inline struct cq *rnic_cq(const struct rnic *rnic, uint32_t cqn)
{
	return cqn < rnic->limits.cqs ? rnic->cq[cqn] : NULL;
}

/** rnic_access_flags() - &enum virtio_ib_access_flags that it knows */
static inline uint32_t rnic_access_flags(const struct rnic *rnic)
{
	return VIRTIO_IB_ACCESS_LOCAL_WRITE | VIRTIO_IB_ACCESS_REMOTE_WRITE |
	       VIRTIO_IB_ACCESS_REMOTE_READ |
	       (rnic->limits.rfc ? 0 : VIRTIO_IB_ACCESS_FLUSH_GLOBAL |
				       VIRTIO_IB_ACCESS_FLUSH_PERSISTENT);
}

/** rnic_count() - one more of what is counted */
static inline void rnic_count(struct rnic *rnic, enum virtio_rdma_counter counter)
{
	rnic->counter[counter]++;
}

/** rnic_count_sent() - a packet with @len bytes of payload was sent */
static inline void rnic_count_sent(struct rnic *rnic, uint32_t len)
{
	rnic->counter[VIRTIO_RDMA_CNT_SENT_PKTS]++;
	rnic->counter[VIRTIO_RDMA_CNT_SENT_BYTES] += len;
}

/**
 * rnic_why() - why a command fails, for reasons that name a number
 * @rnic:	NIC
 * @fmt:	as for printf()
 *
 * Return: the text, good until the next call.
 */
const char *rnic_why(struct rnic *rnic, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A guest's mistake: one line, and not too many of them. */
#define rnic_warn(rnic, fmt, ...)						\
	do {								\
		if (log_limit_ok(&(rnic)->log))				\
			log_warn("%s: " fmt, (rnic)->name, ##__VA_ARGS__); \
	} while (0)

#endif /* DEVICE_RNIC_PRIV_H */
