// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The offload of a target of NVMe over Fabrics: direct verbs.
 *
 * All of it is control path: each verb is a method of uverbs in the driver's namespace.
 *
 * A controller fails once.  The kernel adds one to the context's eventfd, which is a
 * semaphore, and who takes it off asks the controllers whose event it is.  A controller is
 * removed when its event, if it was handed out, is acknowledged, as libibverbs has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ccan/array_size.h>
#include <infiniband/cmd_ioctl.h>
#include <util/util.h>

#include "virtio_roce.h"
#include "virtio_rocedv.h"

#define PAGE_SHIFT	12

/**
 * struct virtio_rocedv_nvme_ctrl - a controller
 * @next: of the context, protected by its nvmf_mutex, like the following
 * @srq: its SRQ
 * @handle: of uverbs
 * @told: its event was handed out
 * @acked: and acknowledged
 */
struct virtio_rocedv_nvme_ctrl {
	struct virtio_rocedv_nvme_ctrl *next;
	struct virtio_roce_srq *srq;
	uint32_t handle;
	bool told;
	bool acked;
};

/* Context of a device of ours that has the offload, or NULL with errno. */
static struct virtio_roce_context *nvmf_context(struct ibv_context *context)
{
	if (virtio_rocedv_is_supported(context->device) &&
	    to_vctx(context)->device_caps & VIRTIO_IB_DEVICE_NVMF)
		return to_vctx(context);
	errno = EOPNOTSUPP;
	return NULL;
}

/* ----- what the device can do ----- */

static int query_caps(struct ibv_context *context, struct virtio_rocedv_nvmf_caps *caps)
{
	struct virtio_roce_nvmf_caps resp = {};
	DECLARE_COMMAND_BUFFER(cmd, VIRTIO_ROCE_OBJECT_NVMF,
			       VIRTIO_ROCE_METHOD_NVMF_QUERY, 1);
	int err;

	fill_attr_out_ptr(cmd, VIRTIO_ROCE_ATTR_NVMF_QUERY_RESP, &resp);
	err = execute_ioctl(context, cmd);
	if (err)
		return err;
	*caps = (struct virtio_rocedv_nvmf_caps) {
		.offload_type = resp.offload,
		.max_backend_ctrls_total = resp.max_ctrls,
		.max_srq_backend_ctrls = resp.max_srq_ctrls,
		.max_srq_namespaces = resp.max_srq_namespaces,
		.min_staging_buf_size = resp.min_staging_size,
		.max_io_sz = resp.max_io_size,
		.max_nvme_queue_depth = resp.max_queue_depth,
		.min_nvme_queue_depth = resp.min_queue_depth,
		.max_ioccsz = resp.max_capsule,
		.min_ioccsz = resp.min_capsule,
		.max_icdoff = resp.max_data_offset,
		.max_qp_commands = resp.max_qp_commands,
		.backends = resp.backends,
		.flags = resp.flags,
		.lba_data_sizes = resp.lba_sizes,
	};
	return 0;
}

/* A program that is older or newer has another size of a structure. */
static void copy_out(void *to, uint32_t room, const void *from, size_t size)
{
	memset(to, 0, room);
	memcpy(to, from, room < size ? room : size);
}

int virtio_rocedv_query_device(struct ibv_context *context,
			       struct virtio_rocedv_device_attr *attr, uint32_t inlen)
{
	struct virtio_rocedv_device_attr all = {};
	int err;

	if (inlen < sizeof(attr->comp_mask))
		return EINVAL;
	if (!virtio_rocedv_is_supported(context->device))
		return EOPNOTSUPP;
	if (nvmf_context(context)) {
		err = query_caps(context, &all.nvmf_caps);
		if (err)
			return err;
		all.comp_mask |= VIRTIO_ROCEDV_DEVICE_ATTR_NVMF;
	}
	copy_out(attr, inlen, &all, sizeof(all));
	return 0;
}

/* A name as the kernel takes it. */
static int put_name(uint8_t to[VIRTIO_RDMA_NAMESPACE_NAME], const char *name)
{
	const size_t len = name ? strlen(name) : 0;

	if (!len || len >= VIRTIO_RDMA_NAMESPACE_NAME)
		return EINVAL;
	memset(to, 0, VIRTIO_RDMA_NAMESPACE_NAME);
	memcpy(to, name, len);
	return 0;
}

int virtio_rocedv_query_namespace(struct ibv_context *context, const char *name,
				  struct virtio_rocedv_namespace *ns, uint32_t inlen)
{
	struct virtio_roce_nvmf_namespace resp = {};
	struct virtio_rocedv_namespace all = {};
	uint8_t text[VIRTIO_RDMA_NAMESPACE_NAME];
	DECLARE_COMMAND_BUFFER(cmd, VIRTIO_ROCE_OBJECT_NVMF,
			       VIRTIO_ROCE_METHOD_NVMF_NAMESPACE, 2);
	int err;

	if (!nvmf_context(context))
		return EOPNOTSUPP;
	err = put_name(text, name);
	if (err)
		return err;
	fill_attr_in(cmd, VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_NAME, text, sizeof(text));
	fill_attr_out_ptr(cmd, VIRTIO_ROCE_ATTR_NVMF_NAMESPACE_RESP, &resp);
	err = execute_ioctl(context, cmd);
	if (err)
		return err;
	all.size = resp.size;
	all.lba_data_size = resp.lba_size;
	all.flags = resp.flags;
	copy_out(ns, inlen, &all, sizeof(all));
	return 0;
}

/* ----- SRQs ----- */

static int srq_set_nvmf(struct ibv_srq *srq, const struct virtio_rocedv_nvmf_attrs *attrs)
{
	const struct virtio_roce_set_srq_nvmf req = {
		.ops = attrs->offload_ops,
		.max_namespaces = attrs->max_namespaces,
		.max_io_size = attrs->max_io_sz,
		.capsule = attrs->ioccsz,
		.data_offset = attrs->icdoff,
		.queue_depth = attrs->nvme_queue_depth,
		.page_shift = PAGE_SHIFT + attrs->nvme_log_page_sz,
		.staging_addr = attrs->staging_buf.offset,
		.staging_length = attrs->staging_buf.len,
	};
	DECLARE_COMMAND_BUFFER(cmd, VIRTIO_ROCE_OBJECT_NVMF,
			       VIRTIO_ROCE_METHOD_NVMF_SET_SRQ, 3);

	if (!attrs->staging_buf.mr)
		return EINVAL;
	fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_SRQ, srq->handle);
	fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_STAGING,
			 attrs->staging_buf.mr->handle);
	fill_attr_in_ptr(cmd, VIRTIO_ROCE_ATTR_NVMF_SET_SRQ_REQ, &req);
	return execute_ioctl(srq->context, cmd);
}

struct ibv_srq *virtio_rocedv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr,
					 const struct virtio_rocedv_srq_init_attr *dv_attr,
					 uint32_t inlen)
{
	struct ibv_srq *srq;
	int err;

	if (!nvmf_context(pd->context))
		return NULL;
	if (inlen < sizeof(*dv_attr) ||
	    dv_attr->comp_mask != VIRTIO_ROCEDV_SRQ_INIT_ATTR_NVMF) {
		errno = EINVAL;
		return NULL;
	}
	srq = ibv_create_srq(pd, attr);
	if (!srq)
		return NULL;
	err = srq_set_nvmf(srq, &dv_attr->nvmf_attr);
	if (!err)
		return srq;
	ibv_destroy_srq(srq);
	errno = err;
	return NULL;
}

/* ----- controllers ----- */

static int ctrl_req(const struct virtio_rocedv_nvme_ctrl_attrs *attrs,
		    struct virtio_roce_create_nvme_ctrl *req)
{
	const struct virtio_rocedv_mr_sg *part[] = {
		&attrs->sq_buf, &attrs->cq_buf, &attrs->sqdb, &attrs->cqdb,
	};
	unsigned int i;

	if (attrs->comp_mask & ~(uint32_t)(VIRTIO_ROCEDV_NVME_CTRL_NAMESPACE |
					   VIRTIO_ROCEDV_NVME_CTRL_FLAGS))
		return EINVAL;
	req->timeout_ms = attrs->cmd_timeout_ms;
	if (attrs->comp_mask & VIRTIO_ROCEDV_NVME_CTRL_FLAGS)
		req->flags = attrs->flags;
	if (attrs->comp_mask & VIRTIO_ROCEDV_NVME_CTRL_NAMESPACE) {
		req->backend = VIRTIO_RDMA_NVME_NAMESPACE;
		return put_name(req->name, attrs->host_namespace);
	}
	req->backend = VIRTIO_RDMA_NVME_QUEUES;
	req->sq_initial = attrs->sqdb_ini;
	req->cq_initial = attrs->cqdb_ini;
	for (i = 0; i < ARRAY_SIZE(part); i++) {
		if (!part[i]->mr)
			return EINVAL;
		req->region[i].addr = part[i]->offset;
		/* The length of a doorbell need not be given. */
		req->region[i].length = i < 2 ? part[i]->len : sizeof(uint32_t);
	}
	return 0;
}

static int ctrl_cmd_create(struct virtio_rocedv_nvme_ctrl *ctrl, int eventfd,
			   const struct virtio_rocedv_nvme_ctrl_attrs *attrs)
{
	struct virtio_roce_create_nvme_ctrl req = {};
	struct ib_uverbs_attr *handle;
	const int32_t fd = eventfd;
	DECLARE_COMMAND_BUFFER(cmd, VIRTIO_ROCE_OBJECT_NVME_CTRL,
			       VIRTIO_ROCE_METHOD_NVME_CTRL_CREATE, 8);
	int err;

	err = ctrl_req(attrs, &req);
	if (err)
		return err;
	handle = fill_attr_out_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_HANDLE);
	fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SRQ,
			 ctrl->srq->vsrq.srq.handle);
	fill_attr_in_ptr(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_REQ, &req);
	fill_attr_in(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_EVENTFD, &fd, sizeof(fd));
	if (req.backend == VIRTIO_RDMA_NVME_QUEUES) {
		fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQ,
				 attrs->sq_buf.mr->handle);
		fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQ,
				 attrs->cq_buf.mr->handle);
		fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_SQDB,
				 attrs->sqdb.mr->handle);
		fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_CQDB,
				 attrs->cqdb.mr->handle);
	}
	err = execute_ioctl(ctrl->srq->vsrq.srq.context, cmd);
	if (!err)
		ctrl->handle = read_attr_obj(VIRTIO_ROCE_ATTR_NVME_CTRL_CREATE_HANDLE, handle);
	return err;
}

/* An SRQ that has controllers is not destroyed. */
static void srq_use(struct virtio_roce_srq *srq, int change)
{
	struct virtio_roce_context *ctx = to_vctx(srq->vsrq.srq.context);

	pthread_mutex_lock(&ctx->qp_mutex);
	srq->users += change;
	pthread_mutex_unlock(&ctx->qp_mutex);
}

static void ctrl_link(struct virtio_roce_context *ctx, struct virtio_rocedv_nvme_ctrl *ctrl)
{
	pthread_mutex_lock(&ctx->nvmf_mutex);
	ctrl->next = ctx->nvme_ctrls;
	ctx->nvme_ctrls = ctrl;
	pthread_mutex_unlock(&ctx->nvmf_mutex);
}

struct virtio_rocedv_nvme_ctrl *
virtio_rocedv_srq_create_nvme_ctrl(struct ibv_srq *srq,
				   const struct virtio_rocedv_nvme_ctrl_attrs *nvme_attrs)
{
	struct virtio_roce_context *ctx = nvmf_context(srq->context);
	struct virtio_rocedv_nvme_ctrl *ctrl;
	int fd, err;

	if (!ctx)
		return NULL;
	fd = virtio_rocedv_async_fd(srq->context);
	ctrl = fd < 0 ? NULL : calloc(1, sizeof(*ctrl));
	if (!ctrl)
		return NULL;
	ctrl->srq = to_vsrq(srq);
	srq_use(ctrl->srq, 1);
	err = ctrl_cmd_create(ctrl, fd, nvme_attrs);
	if (err) {
		srq_use(ctrl->srq, -1);
		free(ctrl);
		errno = err;
		return NULL;
	}
	ctrl_link(ctx, ctrl);
	return ctrl;
}

/* Context: nvmf_mutex held. */
static struct virtio_rocedv_nvme_ctrl **ctrl_find(struct virtio_roce_context *ctx,
						  const struct virtio_rocedv_nvme_ctrl *ctrl)
{
	struct virtio_rocedv_nvme_ctrl **at;

	for (at = &ctx->nvme_ctrls; *at; at = &(*at)->next)
		if (*at == ctrl)
			return at;
	return NULL;
}

static int ctrl_cmd_destroy(const struct virtio_rocedv_nvme_ctrl *ctrl)
{
	DECLARE_COMMAND_BUFFER(cmd, VIRTIO_ROCE_OBJECT_NVME_CTRL,
			       VIRTIO_ROCE_METHOD_NVME_CTRL_DESTROY, 1);

	fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_DESTROY_HANDLE, ctrl->handle);
	return execute_ioctl(ctrl->srq->vsrq.srq.context, cmd);
}

int virtio_rocedv_srq_remove_nvme_ctrl(struct ibv_srq *srq,
				       struct virtio_rocedv_nvme_ctrl *nvme_ctrl)
{
	struct virtio_roce_context *ctx = nvmf_context(srq->context);
	struct virtio_rocedv_nvme_ctrl **at;
	int err;

	if (!ctx)
		return EOPNOTSUPP;
	pthread_mutex_lock(&ctx->nvmf_mutex);
	at = ctrl_find(ctx, nvme_ctrl);
	err = at && nvme_ctrl->srq == to_vsrq(srq) ? ctrl_cmd_destroy(nvme_ctrl) : ENOENT;
	if (!err) {
		while (nvme_ctrl->told && !nvme_ctrl->acked)
			pthread_cond_wait(&ctx->nvmf_cond, &ctx->nvmf_mutex);
		at = ctrl_find(ctx, nvme_ctrl);
		if (at)
			*at = nvme_ctrl->next;
	}
	pthread_mutex_unlock(&ctx->nvmf_mutex);
	if (err)
		return err;
	srq_use(nvme_ctrl->srq, -1);
	free(nvme_ctrl);
	return 0;
}

int virtio_rocedv_map_nvmf_nsid(struct virtio_rocedv_nvme_ctrl *nvme_ctrl, uint32_t fe_nsid,
				uint16_t lba_data_size, uint32_t nvme_nsid)
{
	const struct virtio_roce_map_nsid req = {
		.nsid = fe_nsid,
		.ctrl_nsid = nvme_nsid,
		.lba_size = lba_data_size,
	};
	DECLARE_COMMAND_BUFFER(cmd, VIRTIO_ROCE_OBJECT_NVME_CTRL,
			       VIRTIO_ROCE_METHOD_NVME_CTRL_MAP, 2);

	fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_HANDLE, nvme_ctrl->handle);
	fill_attr_in_ptr(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_MAP_REQ, &req);
	return execute_ioctl(nvme_ctrl->srq->vsrq.srq.context, cmd);
}

int virtio_rocedv_unmap_nvmf_nsid(struct virtio_rocedv_nvme_ctrl *nvme_ctrl, uint32_t fe_nsid)
{
	DECLARE_COMMAND_BUFFER(cmd, VIRTIO_ROCE_OBJECT_NVME_CTRL,
			       VIRTIO_ROCE_METHOD_NVME_CTRL_UNMAP, 2);

	fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_HANDLE, nvme_ctrl->handle);
	fill_attr_in(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_UNMAP_NSID, &fe_nsid, sizeof(fe_nsid));
	return execute_ioctl(nvme_ctrl->srq->vsrq.srq.context, cmd);
}

/* ----- QPs ----- */

int virtio_rocedv_qp_set_nvmf_sq(struct ibv_qp *qp, unsigned int flags, uint16_t sq_size,
				 uint16_t sq_head)
{
	const struct virtio_roce_set_qp_nvmf req = {
		.flags = flags,
		.sq_size = sq_size,
		.sq_head = sq_head,
	};
	DECLARE_COMMAND_BUFFER(cmd, VIRTIO_ROCE_OBJECT_NVMF,
			       VIRTIO_ROCE_METHOD_NVMF_SET_QP, 2);

	if (!nvmf_context(qp->context))
		return EOPNOTSUPP;
	fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVMF_SET_QP_QP, qp->handle);
	fill_attr_in(cmd, VIRTIO_ROCE_ATTR_NVMF_SET_QP_REQ, &req, sizeof(req));
	return execute_ioctl(qp->context, cmd);
}

int virtio_rocedv_qp_set_nvmf(struct ibv_qp *qp, unsigned int flags)
{
	return virtio_rocedv_qp_set_nvmf_sq(qp, flags, 0, 0);
}

/* ----- events ----- */

int virtio_rocedv_async_fd(struct ibv_context *context)
{
	struct virtio_roce_context *ctx = nvmf_context(context);
	int fd;

	if (!ctx)
		return -1;
	pthread_mutex_lock(&ctx->nvmf_mutex);
	if (ctx->nvmf_eventfd < 0)
		ctx->nvmf_eventfd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	fd = ctx->nvmf_eventfd;
	pthread_mutex_unlock(&ctx->nvmf_mutex);
	return fd;
}

static uint32_t ctrl_state(const struct virtio_rocedv_nvme_ctrl *ctrl)
{
	uint32_t state = VIRTIO_ROCE_NVME_WORKS;
	DECLARE_COMMAND_BUFFER(cmd, VIRTIO_ROCE_OBJECT_NVME_CTRL,
			       VIRTIO_ROCE_METHOD_NVME_CTRL_STATE, 2);

	fill_attr_in_obj(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_HANDLE, ctrl->handle);
	fill_attr_out(cmd, VIRTIO_ROCE_ATTR_NVME_CTRL_STATE_RESP, &state, sizeof(state));
	return execute_ioctl(ctrl->srq->vsrq.srq.context, cmd) ? VIRTIO_ROCE_NVME_WORKS : state;
}

/* Is there a controller that has failed and was not told of? */
static bool event_find(struct virtio_roce_context *ctx, struct virtio_rocedv_async_event *event)
{
	struct virtio_rocedv_nvme_ctrl *ctrl;
	uint32_t state = VIRTIO_ROCE_NVME_WORKS;

	pthread_mutex_lock(&ctx->nvmf_mutex);
	for (ctrl = ctx->nvme_ctrls; ctrl; ctrl = ctrl->next) {
		if (ctrl->told)
			continue;
		state = ctrl_state(ctrl);
		if (state == VIRTIO_ROCE_NVME_WORKS)
			continue;
		ctrl->told = true;
		event->element.nvme_ctrl = ctrl;
		event->event_type = state == VIRTIO_ROCE_NVME_TIMEOUT ?
				    VIRTIO_ROCEDV_EVENT_NVME_TIMEOUT :
				    VIRTIO_ROCEDV_EVENT_NVME_PCI_ERR;
		break;
	}
	pthread_mutex_unlock(&ctx->nvmf_mutex);
	return ctrl;
}

int virtio_rocedv_get_async_event(struct ibv_context *context,
				  struct virtio_rocedv_async_event *event)
{
	const int fd = virtio_rocedv_async_fd(context);
	uint64_t one;

	if (fd < 0)
		return -1;
	/* A controller may have been removed before its event was asked for. */
	do {
		if (read(fd, &one, sizeof(one)) != sizeof(one))
			return -1;
	} while (!event_find(to_vctx(context), event));
	return 0;
}

void virtio_rocedv_ack_async_event(struct virtio_rocedv_async_event *event)
{
	struct virtio_rocedv_nvme_ctrl *ctrl = event->element.nvme_ctrl;
	struct virtio_roce_context *ctx = to_vctx(ctrl->srq->vsrq.srq.context);

	pthread_mutex_lock(&ctx->nvmf_mutex);
	ctrl->acked = true;
	pthread_cond_broadcast(&ctx->nvmf_cond);
	pthread_mutex_unlock(&ctx->nvmf_mutex);
}

/** virtio_roce_nvmf_init() - a context begins */
void virtio_roce_nvmf_init(struct virtio_roce_context *ctx)
{
	pthread_mutex_init(&ctx->nvmf_mutex, NULL);
	pthread_cond_init(&ctx->nvmf_cond, NULL);
	ctx->nvmf_eventfd = -1;
}

/** virtio_roce_nvmf_exit() - it ends; the kernel ends what it has of controllers */
void virtio_roce_nvmf_exit(struct virtio_roce_context *ctx)
{
	struct virtio_rocedv_nvme_ctrl *ctrl;

	while ((ctrl = ctx->nvme_ctrls)) {
		ctx->nvme_ctrls = ctrl->next;
		free(ctrl);
	}
	if (ctx->nvmf_eventfd >= 0)
		close(ctx->nvmf_eventfd);
	pthread_cond_destroy(&ctx->nvmf_cond);
	pthread_mutex_destroy(&ctx->nvmf_mutex);
}
