/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The QPs of a NIC as an operator sees them.
 */
#ifndef DEVICE_RDMA_VIEW_H
#define DEVICE_RDMA_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/rnic.h"

/**
 * enum qp_wait - what a QP with unfinished requests waits for
 * @QP_WAIT_NONE: nothing: it has none, or goes on by itself
 * @QP_WAIT_GUEST: its guest: a queue or its memory is not there, as while it is paused
 * @QP_WAIT_POLL: its program: a CQ has no room for more completions
 * @QP_WAIT_RECEIVE: the peer's program: that has posted no receive request
 * @QP_WAIT_AGAIN: the peer's answer to what got lost and was sent again
 * @QP_WAIT_ANSWER: the peer's answer
 * @QP_WAITS: number of them
 */
enum qp_wait {
	QP_WAIT_NONE,
	QP_WAIT_GUEST,
	QP_WAIT_POLL,
	QP_WAIT_RECEIVE,
	QP_WAIT_AGAIN,
	QP_WAIT_ANSWER,
	QP_WAITS
};

/**
 * struct qp_view - a QP
 * @qpn:	its number
 * @type:	its type, in words, as all that follows
 * @state:	its state
 * @waits:	what it waits for, "-" for nothing
 * @peer:	name of the guest that its peer is in, "-" if that is none of this daemon's
 * @peer_gid:	GID of its peer, %GID_SIZE bytes, or NULL if it has none
 * @peer_qpn:	number of its peer
 * @requests:	send requests that were taken and are not completed
 * @counter:	%VIRTIO_RDMA_CNT_NUM values by &enum virtio_rdma_counter
 */
struct qp_view {
	uint32_t qpn;
	const char *type;
	const char *state;
	const char *waits;
	const char *peer;
	const uint8_t *peer_gid;
	uint32_t peer_qpn;
	uint32_t requests;
	const uint64_t *counter;
};

/**
 * rnic_view_next() - the next QP of a NIC
 * @rnic:	NIC
 * @qpn:	smallest number that it may have
 * @view:	filled in; good until anything else is done with the NIC
 *
 * Return: false if there is none.
 */
bool rnic_view_next(const struct rnic *rnic, uint32_t qpn, struct qp_view *view);

/** rnic_path_mtu() - the largest path MTU of its connections; 0 if there is none */
uint32_t rnic_path_mtu(const struct rnic *rnic);

#endif /* DEVICE_RDMA_VIEW_H */
