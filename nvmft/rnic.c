// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What all connections share: the RDMA device, its memory regions, the receive buffers.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "rnic.h"

static int rnic_failed(const struct rnic *rnic, const char *what)
{
	const int err = errno ? -errno : -EIO;

	log_error("%s: %s: %s", ibv_get_device_name(rnic->context->device), what, strerror(-err));
	return err;
}

static int rnic_open_bufs(struct rnic *rnic, unsigned int recvs)
{
	const int max = rnic->attr.max_srq_wr;

	rnic->recvs = recvs < (unsigned int)max ? recvs : (unsigned int)max;
	if (max <= 0)
		rnic->recvs = 0;
	if (!rnic->recvs) {
		errno = EOPNOTSUPP;
		return rnic_failed(rnic, "shared receive queues");
	}
	rnic->owner = calloc(rnic->recvs, sizeof(*rnic->owner));
	rnic->buf = aligned_alloc(4096, (rnic->recvs * (size_t)RNIC_CAPSULE + 4095) & ~4095UL);
	if (!rnic->owner || !rnic->buf)
		return rnic_failed(rnic, "receive buffers");
	rnic->buf_mr = ibv_reg_mr(rnic->pd, rnic->buf, rnic->recvs * (size_t)RNIC_CAPSULE,
				  IBV_ACCESS_LOCAL_WRITE);
	return rnic->buf_mr ? 0 : rnic_failed(rnic, "memory of receive buffers");
}

int rnic_open(struct rnic *rnic, struct ibv_context *context, struct staging *staging,
	      unsigned int recvs)
{
	rnic->context = context;
	errno = ibv_query_device(context, &rnic->attr);
	if (errno)
		return rnic_failed(rnic, "attributes");
	rnic->pd = ibv_alloc_pd(context);
	if (!rnic->pd)
		return rnic_failed(rnic, "protection domain");
	rnic->staging = staging;
	rnic->staging_mr = ibv_reg_mr(rnic->pd, staging_base(staging), staging_size(staging),
				      IBV_ACCESS_LOCAL_WRITE);
	if (!rnic->staging_mr)
		return rnic_failed(rnic, "staging memory");
	rnic->channel = ibv_create_comp_channel(context);
	if (!rnic->channel || fcntl(rnic->channel->fd, F_SETFL, O_NONBLOCK))
		return rnic_failed(rnic, "completion events");
	return rnic_open_bufs(rnic, recvs);
}

int rnic_recv(struct rnic *rnic, unsigned int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)rnic_buf(rnic, i),
		.length = NVMF_CAPSULE_MAX,
		.lkey = rnic->buf_mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
	};

	rnic->owner[i] = NULL;
	return -ibv_post_srq_recv(rnic->srq, &wr, &bad);
}

int rnic_start(struct rnic *rnic)
{
	unsigned int i;

	for (i = 0; i < rnic->recvs; i++) {
		errno = -rnic_recv(rnic, i);
		if (errno)
			return rnic_failed(rnic, "receive buffers");
	}
	return 0;
}

void rnic_recv_all_of(struct rnic *rnic, const void *owner)
{
	unsigned int i;

	for (i = 0; i < rnic->recvs; i++)
		if (rnic->owner[i] == owner)
			rnic_recv(rnic, i);
}

void rnic_close(struct rnic *rnic)
{
	if (rnic->channel)
		ibv_destroy_comp_channel(rnic->channel);
	if (rnic->buf_mr)
		ibv_dereg_mr(rnic->buf_mr);
	if (rnic->staging_mr)
		ibv_dereg_mr(rnic->staging_mr);
	if (rnic->pd)
		ibv_dealloc_pd(rnic->pd);
	free(rnic->buf);
	free(rnic->owner);
}
