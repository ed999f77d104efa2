// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The offload: what the program tells the device by direct verbs.
 *
 * The SRQ of all connections stands for the subsystem.  Each namespace has a controller of
 * its own, so that one that fails takes no other with it.  For a namespace of the host that
 * is the device itself; for a file or memory it is one of software, in ctrl.c.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/util.h"
#include "offload.h"
#include "rnic.h"

#define OFFLOAD_PAGE		4096
/* Staging memory: for so many of the largest commands. */
#define OFFLOAD_COMMANDS	16
/* The number that a namespace has at its controller. */
#define OFFLOAD_CTRL_NSID	1
/* Entries of the queues of a controller, if the device can. */
#define OFFLOAD_DEPTH		64

static int offload_failed(const char *what, int err)
{
	log_error("offload: %s: %s", what, strerror(err));
	return err ? -err : -EIO;
}

/* ----- namespaces of the host ----- */

/* The device takes reads, writes and flushes; all else comes here. */
static void offload_submit(void *arg __always_unused, struct ns_io *io)
{
	io->done(io, -EOPNOTSUPP);
}

int offload_namespace(struct ibv_context *context, const struct space *space, unsigned int nsid,
		      struct ns *ns)
{
	struct virtio_rocedv_namespace host = { 0 };
	int err;

	err = virtio_rocedv_query_namespace(context, space->name, &host, sizeof(host));
	if (err)
		return offload_failed(space->name, err);
	memset(ns, 0, sizeof(*ns));
	snprintf(ns->name, sizeof(ns->name), "%u", nsid);
	ns->size = host.size;
	ns->block = host.lba_data_size;
	ns->ro = space->ro || host.flags & VIRTIO_ROCEDV_NAMESPACE_RO;
	ns->cache = host.flags & VIRTIO_ROCEDV_NAMESPACE_CACHE;
	ns->submit = offload_submit;
	return 0;
}

/* ----- the SRQ ----- */

static int offload_caps(struct offload *offload)
{
	struct virtio_rocedv_device_attr attr = { 0 };
	int err = virtio_rocedv_query_device(offload->context, &attr, sizeof(attr));

	if (!err && !(attr.comp_mask & VIRTIO_ROCEDV_DEVICE_ATTR_NVMF))
		err = EOPNOTSUPP;
	offload->caps = attr.nvmf_caps;
	return err ? offload_failed("the device", err) : 0;
}

static int offload_memory(struct offload *offload, struct rnic *rnic)
{
	const struct virtio_rocedv_nvmf_caps *caps = &offload->caps;
	const uint64_t least = caps->min_staging_buf_size;

	offload->size = (uint64_t)OFFLOAD_COMMANDS * caps->max_io_sz + OFFLOAD_PAGE;
	if (offload->size < least)
		offload->size = (least + OFFLOAD_PAGE - 1) & ~(uint64_t)(OFFLOAD_PAGE - 1);
	offload->buf = aligned_alloc(OFFLOAD_PAGE, offload->size);
	if (!offload->buf)
		return offload_failed("memory", ENOMEM);
	offload->mr = ibv_reg_mr(rnic->pd, offload->buf, offload->size, IBV_ACCESS_LOCAL_WRITE);
	return offload->mr ? 0 : offload_failed("memory", errno);
}

static uint32_t offload_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* All limits of the device are powers of two. */
static uint16_t offload_depth(const struct virtio_rocedv_nvmf_caps *caps)
{
	const uint16_t most = offload_least(OFFLOAD_DEPTH, caps->max_nvme_queue_depth);

	return most < caps->min_nvme_queue_depth ? caps->min_nvme_queue_depth : most;
}

static int offload_srq(struct offload *offload, struct rnic *rnic)
{
	const struct virtio_rocedv_nvmf_caps *caps = &offload->caps;
	struct virtio_rocedv_srq_init_attr dv = {
		.comp_mask = VIRTIO_ROCEDV_SRQ_INIT_ATTR_NVMF,
		.nvmf_attr = {
			.offload_ops = VIRTIO_ROCEDV_NVMF_OPS_READ_WRITE_FLUSH,
			.max_namespaces = offload_least(NVMF_NAMESPACES_MAX,
							caps->max_srq_namespaces),
			.ioccsz = NVMF_CAPSULE_MAX / 16,
			.max_io_sz = offload_least(NVMF_DATA_MAX, caps->max_io_sz),
			.nvme_queue_depth = offload_depth(caps),
			.staging_buf = {
				.mr = offload->mr,
				.addr = offload->buf,
				.len = offload->size,
			},
		},
	};
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = rnic->recvs, .max_sge = 1 },
	};

	rnic->srq = virtio_rocedv_create_srq(rnic->pd, &attr, &dv, sizeof(dv));
	if (!rnic->srq)
		return offload_failed("shared receive queue", errno);
	offload->srq = rnic->srq;
	return 0;
}

/* ----- controllers ----- */

/* What is behind the controller of a namespace; @attrs says where. */
static int offload_backend(struct offload *offload, const struct space *space, struct ns *ns,
			   struct virtio_rocedv_nvme_ctrl_attrs *attrs)
{
	const struct ctrl_staging staging = { .buf = offload->buf, .size = offload->size };
	struct ctrl *soft;

	if (space->kind == SPACE_HOST) {
		attrs->comp_mask = VIRTIO_ROCEDV_NVME_CTRL_NAMESPACE;
		attrs->host_namespace = space->name;
		return 0;
	}
	if (!(offload->caps.backends & VIRTIO_ROCEDV_NVME_QUEUES))
		return offload_failed(space->name, EOPNOTSUPP);
	soft = ctrl_new(offload->srq->pd, ns, staging, offload_depth(&offload->caps));
	if (!soft)
		return offload_failed(space->name, errno);
	offload->soft[offload->ctrls] = soft;
	*attrs = ctrl_attrs(soft);
	return 0;
}

static int offload_ctrl(struct offload *offload, const struct space *space, struct ns *ns)
{
	struct virtio_rocedv_nvme_ctrl_attrs attrs = { 0 };
	const unsigned int i = offload->ctrls;
	int err;

	err = offload_backend(offload, space, ns, &attrs);
	if (err)
		return err;
	offload->ctrl[i] = virtio_rocedv_srq_create_nvme_ctrl(offload->srq, &attrs);
	if (!offload->ctrl[i])
		return offload_failed(space->name, errno);
	offload->ctrls++;
	err = virtio_rocedv_map_nvmf_nsid(offload->ctrl[i], i + 1, ns->block,
					  OFFLOAD_CTRL_NSID);
	if (err)
		return offload_failed(space->name, err);
	offload->mapped[i] = true;
	return 0;
}

static void offload_unmap(struct offload *offload, unsigned int i)
{
	if (offload->mapped[i])
		virtio_rocedv_unmap_nvmf_nsid(offload->ctrl[i], i + 1);
	offload->mapped[i] = false;
}

/* The RFC has a controller that failed removed, with its namespaces. */
static void offload_event(void *arg, uint32_t events __always_unused)
{
	struct virtio_rocedv_async_event event;
	struct offload *offload = arg;
	unsigned int i;

	if (virtio_rocedv_get_async_event(offload->context, &event))
		return;
	for (i = 0; i < offload->ctrls && offload->ctrl[i] != event.element.nvme_ctrl; i++)
		;
	virtio_rocedv_ack_async_event(&event);
	if (i == offload->ctrls)
		return;
	log_error("offload: namespace %u: its controller has failed", i + 1);
	offload_unmap(offload, i);
	if (!virtio_rocedv_srq_remove_nvme_ctrl(offload->srq, offload->ctrl[i]))
		offload->ctrl[i] = NULL;
	offload->failed++;
}

static int offload_events(struct offload *offload)
{
	int err;

	offload->events.fd = virtio_rocedv_async_fd(offload->context);
	if (offload->events.fd < 0 || fcntl(offload->events.fd, F_SETFL, O_NONBLOCK))
		return offload_failed("events", errno);
	offload->events.fn = offload_event;
	offload->events.arg = offload;
	err = loop_fd_add(offload->loop, &offload->events, EPOLLIN);
	return err ? offload_failed("events", -err) : 0;
}

int offload_open(struct offload *offload, struct rnic *rnic, const struct options *options,
		 struct ns *const *ns)
{
	int err;

	offload->context = rnic->context;
	err = offload_caps(offload);
	if (!err)
		err = offload_memory(offload, rnic);
	if (!err)
		err = offload_srq(offload, rnic);
	if (!err)
		err = offload_events(offload);
	while (!err && offload->ctrls < options->spaces)
		err = offload_ctrl(offload, &options->space[offload->ctrls],
				   ns[offload->ctrls]);
	return err;
}

uint64_t offload_commands(const struct offload *offload)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < NVMF_NAMESPACES_MAX; i++)
		n += offload->soft[i] ? ctrl_commands(offload->soft[i]) : 0;
	return n;
}

int offload_qp(struct ibv_qp *qp, uint16_t size, uint16_t head)
{
	int err = virtio_rocedv_qp_set_nvmf_sq(qp, VIRTIO_ROCEDV_QP_NVMF_ATTR_FLAG_ENABLE, size,
					       head);

	return err ? offload_failed("queue", err) : 0;
}

void offload_stop(struct offload *offload)
{
	unsigned int i;

	while (offload->ctrls) {
		offload->ctrls--;
		if (!offload->ctrl[offload->ctrls])
			continue;
		offload_unmap(offload, offload->ctrls);
		virtio_rocedv_srq_remove_nvme_ctrl(offload->srq, offload->ctrl[offload->ctrls]);
	}
	for (i = 0; i < NVMF_NAMESPACES_MAX; i++)
		if (offload->soft[i])
			ctrl_free(offload->soft[i]);
	if (offload->events.arg)
		loop_fd_del(offload->loop, &offload->events);
}

void offload_close(struct offload *offload)
{
	if (offload->mr)
		ibv_dereg_mr(offload->mr);
	free(offload->buf);
}
