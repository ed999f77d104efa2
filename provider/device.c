// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device, context, memory regions and address handles: the kernel does all the work for
 * these.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <ccan/minmax.h>
#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <util/util.h>

#include "cmd.h"
#include "compat.h"
#include "virtio_roce.h"
#include "virtio_rocedv.h"

static int virtio_roce_query_device(struct ibv_context *context,
				    const struct ibv_query_device_ex_input *input,
				    struct ibv_device_attr_ex *attr,
				    size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t fw_ver;
	int err;

	err = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (err)
		return err;

	fw_ver = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(fw_ver >> 32) & 0xffff,
		 (unsigned int)(fw_ver >> 16) & 0xffff,
		 (unsigned int)fw_ver & 0xffff);
	if (attr_size >= offsetof(struct ibv_device_attr_ex, rss_caps) +
			 sizeof(attr->rss_caps))
		virtio_roce_query_rss(to_vctx(context), &attr->rss_caps);
	if (attr_size >= offsetofend(struct ibv_device_attr_ex, tso_caps) &&
	    to_vctx(context)->device_caps & VIRTIO_IB_DEVICE_RAW_TSO) {
		attr->tso_caps.max_tso = VIRTIO_RDMA_TSO_MAX;
		attr->tso_caps.supported_qpts = 1U << IBV_QPT_RAW_PACKET;
	}
	/* Any rate of any QP that sends; programs look here before they ask for one. */
	if (attr_size >= offsetofend(struct ibv_device_attr_ex, packet_pacing_caps)) {
		attr->packet_pacing_caps.qp_rate_limit_min = 1;
		attr->packet_pacing_caps.qp_rate_limit_max = UINT32_MAX;
		attr->packet_pacing_caps.supported_qpts =
			1U << IBV_QPT_RC | 1U << IBV_QPT_UC | 1U << IBV_QPT_UD |
			1U << IBV_QPT_RAW_PACKET | 1U << IBV_QPT_XRC_SEND;
	}
	return 0;
}

/*
 * The clock of completions, in ns.  As other providers have it, all of it is in tv_nsec; where
 * that has not 64 bits, there is no room for it.
 */
static int virtio_roce_query_rt_values(struct ibv_context *context,
				       struct ibv_values_ex *values)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE, VIRTIO_ROCE_METHOD_QUERY_CLOCK, 1);
	__u64 now = 0;
	int err;

	if (values->comp_mask & ~IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (!(values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
		return 0;
	if (!(to_vctx(context)->device_caps & VIRTIO_IB_DEVICE_CQ_TIMESTAMP) ||
	    sizeof(values->raw_clock.tv_nsec) < sizeof(now))
		return EOPNOTSUPP;
	fill_attr_out_ptr(cmd, VIRTIO_ROCE_ATTR_QUERY_CLOCK_TIME, &now);
	err = execute_ioctl(context, cmd);
	if (err)
		return err;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = now;
	return 0;
}

static int virtio_roce_query_port(struct ibv_context *context, uint8_t port,
				  struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

/**
 * virtio_roce_ask_mtu() - learn how long a datagram can be
 * @ctx: device
 *
 * The MTU of the port can change at any time, and nobody tells.
 *
 * Returns the number of bytes, which is also remembered; no limit if the kernel does not
 * answer.
 */
uint32_t virtio_roce_ask_mtu(struct virtio_roce_context *ctx)
{
	struct ibv_port_attr attr = {};
	uint32_t max;

	if (virtio_roce_query_port(&ctx->vctx.context, 1, &attr) ||
	    attr.active_mtu < IBV_MTU_256 || attr.active_mtu > IBV_MTU_4096)
		return UINT32_MAX;
	max = 128U << attr.active_mtu;
	__atomic_store_n(&ctx->max_datagram, max, __ATOMIC_RELAXED);
	return max;
}

static struct ibv_mr *virtio_roce_reg_mr(struct ibv_pd *pd, void *addr,
					 size_t length, uint64_t hca_va,
					 int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	if (ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &cmd,
			   sizeof(cmd), &resp, sizeof(resp))) {
		free(vmr);
		return NULL;
	}

	return &vmr->ibv_mr;
}

static struct ibv_mr *virtio_roce_reg_dmabuf_mr(struct ibv_pd *pd,
						uint64_t offset, size_t length,
						uint64_t iova, int fd, int access)
{
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	if (compat_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr)) {
		free(vmr);
		return NULL;
	}

	return &vmr->ibv_mr;
}

/* The region keeps its keys, and stays as it was if this fails. */
static int virtio_roce_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
				void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr, access,
				pd, &cmd, sizeof(cmd), &resp, sizeof(resp));
}

static int virtio_roce_dereg_mr(struct verbs_mr *vmr)
{
	int err;

	err = ibv_cmd_dereg_mr(vmr);
	if (err)
		return err;

	free(vmr);
	return 0;
}

static struct ibv_mr *virtio_roce_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	if (ibv_cmd_query_mr(pd, vmr, handle)) {
		free(vmr);
		return NULL;
	}

	return &vmr->ibv_mr;
}

static void virtio_roce_unimport_mr(struct ibv_mr *mr)
{
	free(verbs_get_mr(mr));
}

static struct ibv_ah *virtio_roce_create_ah(struct ibv_pd *pd,
					    struct ibv_ah_attr *attr)
{
	struct uvirtio_roce_create_ah_resp resp = {};
	struct virtio_roce_ah *ah;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;

	if (ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv_resp,
			      sizeof(resp))) {
		free(ah);
		return NULL;
	}

	ah->num = resp.drv_payload.ah;
	return &ah->ah;
}

static int virtio_roce_destroy_ah(struct ibv_ah *ibah)
{
	int err;

	err = ibv_cmd_destroy_ah(ibah);
	if (err)
		return err;

	free(to_vah(ibah));
	return 0;
}

static void virtio_roce_free_context(struct ibv_context *context)
{
	struct virtio_roce_context *ctx = to_vctx(context);

	virtio_roce_nvmf_exit(ctx);
	virtio_roce_doorbell_free(ctx);
	pthread_mutex_destroy(&ctx->qp_mutex);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static const struct verbs_context_ops virtio_roce_context_ops = {
	.alloc_mw = virtio_roce_alloc_mw,
	.alloc_parent_domain = virtio_roce_alloc_parent_domain,
	.alloc_pd = virtio_roce_alloc_pd,
	.alloc_td = virtio_roce_alloc_td,
	.attach_counters_point_flow = virtio_roce_attach_counters_point_flow,
	.attach_mcast = virtio_roce_attach_mcast,
	.bind_mw = virtio_roce_bind_mw,
	.close_xrcd = virtio_roce_close_xrcd,
	.cq_event = virtio_roce_cq_event,
	.create_ah = virtio_roce_create_ah,
	.create_counters = virtio_roce_create_counters,
	.create_cq = virtio_roce_create_cq,
	.create_cq_ex = virtio_roce_create_cq_ex,
	.create_flow = virtio_roce_create_flow,
	.create_qp = virtio_roce_create_qp,
	.create_qp_ex = virtio_roce_create_qp_ex,
	.create_rwq_ind_table = virtio_roce_create_rwq_ind_table,
	.create_srq = virtio_roce_create_srq,
	.create_srq_ex = virtio_roce_create_srq_ex,
	.create_wq = virtio_roce_create_wq,
	.dealloc_mw = virtio_roce_dealloc_mw,
	.dealloc_pd = virtio_roce_dealloc_pd,
	.dealloc_td = virtio_roce_dealloc_td,
	.dereg_mr = virtio_roce_dereg_mr,
	.destroy_ah = virtio_roce_destroy_ah,
	.destroy_counters = virtio_roce_destroy_counters,
	.destroy_cq = virtio_roce_destroy_cq,
	.destroy_flow = virtio_roce_destroy_flow,
	.destroy_qp = virtio_roce_destroy_qp,
	.destroy_rwq_ind_table = virtio_roce_destroy_rwq_ind_table,
	.destroy_srq = virtio_roce_destroy_srq,
	.destroy_wq = virtio_roce_destroy_wq,
	.detach_mcast = virtio_roce_detach_mcast,
	.free_context = virtio_roce_free_context,
	.get_srq_num = virtio_roce_get_srq_num,
	.import_mr = virtio_roce_import_mr,
	.import_pd = virtio_roce_import_pd,
	.modify_cq = virtio_roce_modify_cq,
	.modify_qp = virtio_roce_modify_qp,
	.modify_qp_rate_limit = virtio_roce_modify_qp_rate_limit,
	.modify_srq = virtio_roce_modify_srq,
	.modify_wq = virtio_roce_modify_wq,
	.open_qp = virtio_roce_open_qp,
	.open_xrcd = virtio_roce_open_xrcd,
	.poll_cq = virtio_roce_poll_cq,
	.post_recv = virtio_roce_post_recv,
	.post_send = virtio_roce_post_send,
	.post_srq_recv = virtio_roce_post_srq_recv,
	.query_device_ex = virtio_roce_query_device,
	.query_port = virtio_roce_query_port,
	.query_qp = virtio_roce_query_qp,
	.query_qp_data_in_order = virtio_roce_query_qp_data_in_order,
	.query_rt_values = virtio_roce_query_rt_values,
	.query_srq = virtio_roce_query_srq,
	.read_counters = virtio_roce_read_counters,
	.reg_dmabuf_mr = virtio_roce_reg_dmabuf_mr,
	.reg_mr = virtio_roce_reg_mr,
	.req_notify_cq = virtio_roce_req_notify_cq,
	.rereg_mr = virtio_roce_rereg_mr,
	.resize_cq = virtio_roce_resize_cq,
	.unimport_mr = virtio_roce_unimport_mr,
	.unimport_pd = virtio_roce_unimport_pd,
};

static struct virtio_roce_context *context_alloc(struct ibv_device *ibdev, int cmd_fd)
{
	struct virtio_roce_context *ctx;

	return verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, vctx,
					    VIRTIO_ROCE_DRIVER_ID);
}

static struct verbs_context *
context_start(struct virtio_roce_context *ctx,
	      const struct virtio_roce_alloc_ucontext_resp *resp)
{
	pthread_mutex_init(&ctx->qp_mutex, NULL);
	virtio_roce_nvmf_init(ctx);
	ctx->max_inline_data = min_t(uint32_t, resp->max_inline_data,
				     VIRTIO_RDMA_INLINE_SIZE);
	ctx->features = resp->features;
	ctx->device_caps = resp->device_caps;
	verbs_set_ops(&ctx->vctx, &virtio_roce_context_ops);
	return &ctx->vctx;
}

static void context_forget(struct virtio_roce_context *ctx)
{
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static struct verbs_context *virtio_roce_alloc_context(struct ibv_device *ibdev,
						       int cmd_fd,
						       void *private_data)
{
	struct uvirtio_roce_get_context_resp resp = {};
	struct uvirtio_roce_get_context cmd = {
		.drv_payload.features = VIRTIO_ROCE_FEATURES,
	};
	struct virtio_roce_context *ctx = context_alloc(ibdev, cmd_fd);

	if (!ctx)
		return NULL;

	if (compat_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd),
			       &resp.ibv_resp, sizeof(resp))) {
		context_forget(ctx);
		return NULL;
	}
	return context_start(ctx, &resp.drv_payload);
}

/* The context of another process, or of this one, by its file. */
static struct verbs_context *virtio_roce_import_context(struct ibv_device *ibdev,
							int cmd_fd)
{
	struct virtio_roce_alloc_ucontext_resp resp = {};
	struct virtio_roce_context *ctx = context_alloc(ibdev, cmd_fd);
	DECLARE_COMMAND_BUFFER_LINK(cmd, UVERBS_OBJECT_DEVICE,
				    UVERBS_METHOD_QUERY_CONTEXT, 1, NULL);

	if (!ctx)
		return NULL;

	fill_attr_out_ptr(cmd, VIRTIO_ROCE_ATTR_QUERY_CONTEXT_RESP, &resp);
	if (ibv_cmd_query_context(&ctx->vctx.context, cmd)) {
		context_forget(ctx);
		return NULL;
	}
	/* The process that opened it may know more than this provider. */
	if (resp.features & ~(uint64_t)VIRTIO_ROCE_FEATURES) {
		context_forget(ctx);
		errno = EOPNOTSUPP;
		return NULL;
	}
	return context_start(ctx, &resp);
}

static struct verbs_device *
virtio_roce_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void virtio_roce_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

static const struct verbs_match_ent virtio_roce_match_table[] = {
	VERBS_DRIVER_ID(VIRTIO_ROCE_DRIVER_ID),
	{},
};

static const struct verbs_device_ops virtio_roce_device_ops = {
	.name = "virtio_roce",
	.match_min_abi_version = VIRTIO_ROCE_ABI_VERSION,
	.match_max_abi_version = VIRTIO_ROCE_ABI_VERSION,
	.match_table = virtio_roce_match_table,
	.alloc_device = virtio_roce_alloc_device,
	.uninit_device = virtio_roce_uninit_device,
	.alloc_context = virtio_roce_alloc_context,
	.import_context = virtio_roce_import_context,
};

bool virtio_rocedv_is_supported(struct ibv_device *device)
{
	return verbs_get_device(device)->ops == &virtio_roce_device_ops;
}

PROVIDER_DRIVER(virtio_roce, virtio_roce_device_ops);
