/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What all connections share: the RDMA device, its memory regions, the receive buffers.
 */
#ifndef NVMFT_RNIC_H
#define NVMFT_RNIC_H

#include <infiniband/verbs.h>

#include "options.h"
#include "storage/staging.h"

/* Bytes of a receive buffer. */
#define RNIC_CAPSULE	((NVMF_CAPSULE_MAX + 63u) & ~63u)

/**
 * struct rnic - the RDMA device
 * @context:	it; NULL before the first address is bound
 * @attr:	what it can do
 * @pd:		protection domain of all
 * @staging:	staging memory
 * @staging_mr:	its region
 * @channel:	completion events
 * @srq:	shared receive queue
 * @recvs:	receive buffers
 * @buf:	them
 * @buf_mr:	their region
 * @owner:	connection that has a buffer, or NULL while it is posted
 */
struct rnic {
	struct ibv_context *context;
	struct ibv_device_attr attr;
	struct ibv_pd *pd;
	struct staging *staging;
	struct ibv_mr *staging_mr;
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
	unsigned int recvs;
	uint8_t *buf;
	struct ibv_mr *buf_mr;
	const void **owner;
};

/**
 * rnic_open() - make what all connections share
 * @rnic:	result, zeroes at first
 * @context:	the device
 * @staging:	staging memory
 * @recvs:	receive buffers
 *
 * Return: 0 or -errno, with a message printed.
 */
int rnic_open(struct rnic *rnic, struct ibv_context *context, struct staging *staging,
	      unsigned int recvs);

/** rnic_start() - @srq is there: post all receive buffers; 0 or -errno */
int rnic_start(struct rnic *rnic);

/** rnic_recv() - post a receive buffer */
int rnic_recv(struct rnic *rnic, unsigned int i);

/** rnic_recv_all_of() - post all buffers that a connection has, which has ended */
void rnic_recv_all_of(struct rnic *rnic, const void *owner);

/** rnic_close() - undo rnic_open(), whatever of it was done; the SRQ is destroyed already */
void rnic_close(struct rnic *rnic);

/** rnic_buf() - a receive buffer */
static inline void *rnic_buf(const struct rnic *rnic, unsigned int i)
{
	return rnic->buf + (size_t)i * RNIC_CAPSULE;
}

#endif /* NVMFT_RNIC_H */
