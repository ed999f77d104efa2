/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs of a node: the driver's side of a NIC, in the daemon itself.
 */
#ifndef DEVICE_NODE_VERBS_H
#define DEVICE_NODE_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/node_mem.h"
#include "rdma/rnic.h"
#include "uapi/virtio_net_roce.h"

/* QPs of a node, a multiple of 64. */
#define NODE_QPS		256u

/* Requests of a send and of a receive queue, at most. */
#define NODE_SEND_MAX		512u
#define NODE_RECV_MAX		256u

/* Bytes that a send request can have in itself. */
#define NODE_INLINE_MAX		32u

/* Hop limit of all that is sent. */
#define NODE_HOPS		64

/* Datagrams of the GSI: so many are sent at a time, and as many may come in a burst. */
#define NODE_GSI_DEPTH		64u
/* Bytes of a slot: a network header, and a datagram of 256 bytes. */
#define NODE_GSI_SLOT		512u

/* Numbers of QPs: SMI and GSI, and direct ones, twice as many as there are at a time. */
#define NODE_QPNS		(2 + 2 * NODE_QPS)

struct node_qp;

/**
 * struct node_verbs - what all QPs of a node share
 * @rnic:	NIC
 * @mem:	memory
 * @pdn:	protection domain
 * @lkey:	region of all @mem, which no peer may access; its addresses are the device's
 * @shared_lkey: likewise of the memory of others
 * @cqn:	CQ of all queues
 * @cq:		its ring
 * @cq_control:	its control block
 * @consumer:	completions taken
 * @doorbell:	handle of the doorbell page
 * @page:	the page
 * @bits:	of it that are in use
 * @qp:		QPs by number
 * @gsi_done:	a request of the GSI is complete, or NULL
 * @gsi:	for @gsi_done
 */
struct node_verbs {
	struct rnic *rnic;
	struct node_mem *mem;
	uint32_t pdn;
	uint32_t lkey;
	uint32_t shared_lkey;
	uint32_t cqn;
	struct virtio_rdma_cqe *cq;
	struct virtio_rdma_cq_control *cq_control;
	uint32_t consumer;
	uint32_t doorbell;
	struct virtio_rdma_doorbell_page *page;
	uint64_t bits[NODE_QPS / 64];
	struct node_qp *qp[NODE_QPNS];
	void (*gsi_done)(void *gsi, const struct virtio_rdma_cqe *cqe);
	void *gsi;
};

/**
 * struct node_qp - an RC QP
 * @done:	a request of it is complete; the QP is not closed then
 * @arg:	for @done
 * @verbs:	of the node
 * @qpn:	its number, or 0 if there is none
 * @bit:	of the doorbell page
 * @send_depth:	requests that the send queue holds, a power of two
 * @recv_depth:	likewise
 * @control:	control block, and behind it the rings
 * @send:	send ring
 * @recv:	receive ring
 * @sent:	send requests posted
 * @sent_done:	those of them that are complete
 * @recvs:	receive requests posted
 * @recvs_done:	those of them that are complete
 */
struct node_qp {
	void (*done)(void *arg, const struct virtio_rdma_cqe *cqe);
	void *arg;
	struct node_verbs *verbs;
	uint32_t qpn;
	uint32_t bit;
	uint32_t send_depth;
	uint32_t recv_depth;
	struct virtio_rdma_qp_control *control;
	struct virtio_rdma_swqe *send;
	uint8_t *recv;
	uint32_t sent;
	uint32_t sent_done;
	uint32_t recvs;
	uint32_t recvs_done;
};

/**
 * struct node_path - what a connection of a QP is like
 * @dgid:	GID of the peer
 * @dmac:	MAC address that leads there
 * @sgid_index:	GID of the node's
 * @qpn:	QPN of the peer
 * @rq_psn:	first PSN of the peer
 * @sq_psn:	first PSN of the node
 * @mtu:	&enum virtio_ib_mtu
 * @reads:	READs that the peer serves at a time
 * @timeout:	ACK timeout, 4.096 us * 2^n
 * @retries:	retries before the QP fails
 * @rnr_retries: RNR retries before it does; 7 is without end
 */
struct node_path {
	uint8_t dgid[GID_SIZE];
	uint8_t dmac[6];
	uint8_t sgid_index;
	uint32_t qpn;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint8_t mtu;
	uint8_t reads;
	uint8_t timeout;
	uint8_t retries;
	uint8_t rnr_retries;
};

/* Bytes of a node's memory, and those that the CQ takes of them. */
#define NODE_MEM_SIZE		((size_t)384 << 20)
#define NODE_MEM_FIXED		((size_t)8 << 20)

/** node_limits() - limits of the NIC of a node */
struct rnic_limits node_limits(void);

/**
 * node_verbs_open() - PD, memory region, CQ, doorbell page
 * @verbs:	filled in
 * @rnic:	NIC of node_limits(), which has @mem as its memory
 * @mem:	memory, whose first NODE_MEM_FIXED bytes are in no block
 *
 * Return: 0 or -ENOMEM.  They go with the NIC.
 */
int node_verbs_open(struct node_verbs *verbs, struct rnic *rnic, struct node_mem *mem);

/**
 * node_command() - carry out a control command
 * @verbs:	with a NIC
 * @command:	&enum virtio_net_ctrl_roce_cmd
 * @req:	request
 * @len:	its bytes
 * @rsp:	response, of @rsp_len bytes
 * @rsp_len:	its bytes, or 0
 *
 * Return: true if it succeeded.
 */
bool node_command(struct node_verbs *verbs, uint8_t command, const void *req, size_t len,
		  void *rsp, size_t rsp_len);

/** node_add_gid() - enter an address into the GID table; false if that fails */
bool node_add_gid(struct node_verbs *verbs, uint16_t index, const uint8_t *gid);

/**
 * node_qp_open() - make a QP, in RESET
 * @qp:		with @done and @arg filled in
 * @verbs:	of the node
 * @send:	requests that its send queue is to hold, NODE_SEND_MAX at most
 * @recv:	requests that its receive queue is to hold, NODE_RECV_MAX at most
 *
 * Return: false if it cannot be made; then it needs no node_qp_close().
 */
bool node_qp_open(struct node_qp *qp, struct node_verbs *verbs, uint32_t send,
		  uint32_t recv);

/** node_qp_listen() - take it to INIT, for receive requests to be posted */
bool node_qp_listen(struct node_qp *qp);

/** node_qp_connect() - from there to RTS */
bool node_qp_connect(struct node_qp *qp, const struct node_path *path);

/** node_qp_fail() - take it to ERR: all its requests complete */
void node_qp_fail(struct node_qp *qp);

/** node_qp_idle() - are all its requests complete? */
bool node_qp_idle(const struct node_qp *qp);

/** node_qp_close() - destroy a QP whose requests are complete */
void node_qp_close(struct node_qp *qp);

/** node_qp_room() - send requests that can be posted now */
static inline uint32_t node_qp_room(const struct node_qp *qp)
{
	return qp->send_depth - (qp->sent - qp->sent_done);
}

/**
 * node_qp_post() - post a send request, which leaves a completion
 * @qp:		QP with room for it
 * @wqe:	the request without elements, or with inline data
 * @data:	in memory that the NIC reaches, or NULL
 * @len:	its bytes
 *
 * Return: its index, as &virtio_rdma_cqe.wqe will have it.
 */
uint32_t node_qp_post(struct node_qp *qp, const struct virtio_rdma_swqe *wqe,
		      const void *data, uint32_t len);

/**
 * node_qp_post_quiet() - as node_qp_post(), but it leaves no completion if it succeeds
 * @qp:		QP with room for two
 * @wqe:	as of node_qp_post()
 * @data:	likewise
 * @len:	likewise
 *
 * Another request has to follow it at once by node_qp_post(): its completion is that of both.
 *
 * Return: as node_qp_post().
 */
uint32_t node_qp_post_quiet(struct node_qp *qp, const struct virtio_rdma_swqe *wqe,
			    const void *data, uint32_t len);

/** node_qp_recv() - post a receive request for @len bytes at @data; returns its index */
uint32_t node_qp_recv(struct node_qp *qp, void *data, uint32_t len);

/** node_pending() - is there a completion? */
bool node_pending(const struct node_verbs *verbs);

/** node_poll_cq() - take @max completions at most, and tell whose they are; true if any */
bool node_poll_cq(struct node_verbs *verbs, unsigned int max);

#endif /* DEVICE_NODE_VERBS_H */
