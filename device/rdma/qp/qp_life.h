/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The life of queue pairs: creation, reset, destruction.
 */
#ifndef DEVICE_RDMA_QP_QP_LIFE_H
#define DEVICE_RDMA_QP_QP_LIFE_H

#include "rdma/qp/qp.h"

/**
 * struct qp_ring - what a direct QP is created of
 * @direct:	how it is laid out, which qp_check_direct() finds good
 * @pages:	pages of its queues; taken over, and zeroes then, if that succeeds
 */
struct qp_ring {
	const struct virtio_rdma_qp_direct *direct;
	struct pages *pages;
};

/**
 * qp_create() - make a QP
 * @qps:	QPs of the NIC
 * @req:	request
 * @ring:	of a direct QP: form and memory, else NULL
 * @qpn:	set to its number
 *
 * Return: NULL, or why it failed.
 */
const char *qp_create(struct qp_table *qps,
		      const struct virtio_rdma_cmd_create_qp *req,
		      const struct qp_ring *ring, uint32_t *qpn);

/**
 * struct qp_names - what a QP that is loaded was made of
 * @req:	type, flags, capabilities; no handles
 * @pdn:	protection domain
 * @send_cqn:	where send requests complete
 * @recv_cqn:	where receive requests complete
 * @srq:	its SRQ, or 0
 * @xrcd:	of an XRC_TGT QP: XRC domain
 * @doorbell:	of a direct QP with queues: doorbell page
 * @bit:	and its bit there
 * @held:	the bit is held
 * @send_failed: as @failed of its use of the CQ
 * @recv_failed: likewise
 */
struct qp_names {
	struct virtio_rdma_cmd_create_qp req;
	uint32_t pdn;
	uint32_t send_cqn;
	uint32_t recv_cqn;
	uint32_t srq;
	uint32_t xrcd;
	uint32_t doorbell;
	uint32_t bit;
	bool held;
	bool send_failed;
	bool recv_failed;
};

/**
 * qp_revive() - make a QP that is loaded
 * @qps:	QPs of the NIC
 * @qpn:	its number
 * @names:	what it is made of, not checked yet
 * @why:	set to why it failed
 *
 * It is entered, in RESET, and has no queues yet.
 *
 * Return: the QP, or NULL.
 */
struct qp *qp_revive(struct qp_table *qps, uint32_t qpn, const struct qp_names *names,
		     const char **why);

/** qp_check_direct() - may qp_create() do with @direct for a type? NULL, or why not */
const char *qp_check_direct(const struct qp_table *qps, uint8_t type,
			    const struct virtio_rdma_qp_direct *direct);

/**
 * qp_destroy() - destroy a QP, whatever it is doing
 * @qps:	QPs of the NIC
 * @qpn:	number
 * @more:	set; if true, it has many flow rules, of which some are gone: call again
 *
 * Return: NULL, or why not.
 */
const char *qp_destroy(struct qp_table *qps, uint32_t qpn, bool *more);

/** qp_table_reset() - destroy QPs of a NIC; true if none is left */
bool qp_table_reset(struct qp_table *qps, struct portion *portion);

/**
 * qp_reset() - go to RESET
 * @qp:		QP
 *
 * Drops what is under way.  Slots of its queues are given back used, without
 * completions, so that the driver's count of free ones is right again.
 */
void qp_reset(struct qp *qp);

/** qp_create_rx_hash() - make an RX_HASH QP; NULL, or why not */
const char *qp_create_rx_hash(struct qp_table *qps,
			      const struct virtio_rdma_cmd_create_rx_hash_qp *req,
			      uint32_t *qpn);

/** qp_takes_rules() - is it of a type that flow rules give frames to? */
static inline bool qp_takes_rules(const struct qp *qp)
{
	return qp->type == VIRTIO_IB_QPT_RAW_PACKET || qp->type == VIRTIO_IB_QPT_RX_HASH;
}

/** qp_create_flow() - make a flow rule, for a QP that takes them; NULL, or why not */
const char *qp_create_flow(struct qp_table *qps,
			   const struct virtio_rdma_cmd_create_flow_long *req,
			   uint32_t *flow);

/** qp_attach_mcast() - a UD QP wants the datagrams of a group; NULL, or why not */
const char *qp_attach_mcast(struct qp_table *qps, uint32_t qpn,
			    const uint8_t *gid);

#endif /* DEVICE_RDMA_QP_QP_LIFE_H */
