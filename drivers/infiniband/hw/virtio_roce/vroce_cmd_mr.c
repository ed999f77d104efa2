// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of memory regions and memory windows.  The rules at the top of vroce_cmd.c apply.
 */
#include "virtio_net_roce.h"
#include "virtio_roce_compat.h"

#include "vroce_cmd.h"
#include "vroce_cmd_mr.h"
#include "vroce_wire.h"

static void vroce_mr_keys_from_wire(const struct virtio_rdma_ack_mr *rsp,
				    struct vroce_mr_keys *keys)
{
	keys->mrn = le32_to_cpu(rsp->mrn);
	keys->lkey = le32_to_cpu(rsp->lkey);
	keys->rkey = le32_to_cpu(rsp->rkey);
}

/**
 * vroce_cmd_get_dma_mr() - make the memory region that covers all memory
 * @aux: device
 * @pdn: protection domain
 * @access: IB_ACCESS_* bits
 * @keys: its handle and keys
 */
int vroce_cmd_get_dma_mr(struct virtio_net_roce_aux *aux, u32 pdn, int access,
			 struct vroce_mr_keys *keys)
{
	struct virtio_rdma_cmd_get_dma_mr req = {
		.pdn = cpu_to_le32(pdn),
		.access_flags = cpu_to_le32(vroce_access_to_wire(access)),
	};
	struct virtio_rdma_ack_mr rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_GET_DMA_MR,
			     &req, sizeof(req), &rsp, sizeof(rsp));
	if (!err)
		vroce_mr_keys_from_wire(&rsp, keys);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_get_dma_mr);

/* A list that is not in the command is one that the device is long at. */
static int vroce_cmd_exec_mr(struct virtio_net_roce_aux *aux, u8 command,
			     void *req, size_t req_len,
			     const struct vroce_reg_user_mr_params *params,
			     void *rsp, size_t rsp_len)
{
	u32 n = params->indirect ? DIV_ROUND_UP(params->npages,
						VIRTIO_RDMA_MR_LIST_PAGE) :
				   params->npages;
	struct virtio_net_roce_cmd cmd = {
		.command = command,
		.settle = true,
		.slow = params->indirect,
		.req = {
			{ .iov_base = req, .iov_len = req_len },
			{ .iov_base = (void *)params->pages,
			  .iov_len = array_size(n, sizeof(*params->pages)) },
		},
		.rsp = rsp,
		.rsp_len = rsp_len,
	};

	return vroce_cmd_run(aux, &cmd);
}

/**
 * vroce_cmd_reg_user_mr() - make a memory region of pages
 * @aux: device
 * @params: parameters
 * @keys: its handle and keys
 */
int vroce_cmd_reg_user_mr(struct virtio_net_roce_aux *aux,
			  const struct vroce_reg_user_mr_params *params,
			  struct vroce_mr_keys *keys)
{
	struct virtio_rdma_cmd_reg_user_mr req = {
		.pdn = cpu_to_le32(params->pdn),
		.access_flags = cpu_to_le32(vroce_access_to_wire(params->access)),
		.virt_addr = cpu_to_le64(params->virt_addr),
		.length = cpu_to_le64(params->length),
		.npages = cpu_to_le32(params->npages),
		.page_shift = params->page_shift,
		.levels = params->indirect,
	};
	struct virtio_rdma_ack_mr rsp = {};
	int err;

	err = vroce_cmd_exec_mr(aux, VIRTIO_NET_CTRL_ROCE_REG_USER_MR,
				&req, sizeof(req), params, &rsp, sizeof(rsp));
	if (!err)
		vroce_mr_keys_from_wire(&rsp, keys);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_reg_user_mr);

static int vroce_cmd_rereg_mr_long(struct virtio_net_roce_aux *aux, u32 mrn,
				   const struct vroce_reg_user_mr_params *params)
{
	struct virtio_rdma_cmd_rereg_mr_long req = {
		.pdn = cpu_to_le32(params->pdn),
		.access_flags = cpu_to_le32(vroce_access_to_wire(params->access)),
		.virt_addr = cpu_to_le64(params->virt_addr),
		.length = cpu_to_le64(params->length),
		.npages = cpu_to_le32(params->npages),
		.mrn = cpu_to_le32(mrn),
		.page_shift = params->page_shift,
		.levels = params->indirect,
	};

	return vroce_cmd_exec_mr(aux, VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG,
				 &req, sizeof(req), params, NULL, 0);
}

/**
 * vroce_cmd_rereg_mr() - change a memory region
 * @aux: device
 * @mrn: its handle
 * @params: parameters; without pages it keeps those that it has, and @virt_addr and
 *	@length do not matter
 */
int vroce_cmd_rereg_mr(struct virtio_net_roce_aux *aux, u32 mrn,
		       const struct vroce_reg_user_mr_params *params)
{
	struct virtio_rdma_cmd_rereg_mr req = {
		.pdn = cpu_to_le32(params->pdn),
		.access_flags = cpu_to_le32(vroce_access_to_wire(params->access)),
		.virt_addr = cpu_to_le64(params->virt_addr),
		.length = cpu_to_le64(params->length),
		.npages = cpu_to_le32(params->npages),
		.mrn = cpu_to_le32(mrn),
	};

	if (params->page_shift || params->indirect)
		return vroce_cmd_rereg_mr_long(aux, mrn, params);
	return vroce_cmd_exec_mr(aux, VIRTIO_NET_CTRL_ROCE_REREG_MR,
				 &req, sizeof(req), params, NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_rereg_mr);

/**
 * vroce_cmd_alloc_mr() - make a memory region for registrations by work request
 * @aux: device
 * @pdn: protection domain
 * @max_pages: number of pages that it can have
 * @keys: its handle and keys
 */
int vroce_cmd_alloc_mr(struct virtio_net_roce_aux *aux, u32 pdn, u32 max_pages,
		       struct vroce_mr_keys *keys)
{
	struct virtio_rdma_cmd_alloc_mr req = {
		.pdn = cpu_to_le32(pdn),
		.max_pages = cpu_to_le32(max_pages),
	};
	struct virtio_rdma_ack_mr rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_ALLOC_MR,
			     &req, sizeof(req), &rsp, sizeof(rsp));
	if (!err)
		vroce_mr_keys_from_wire(&rsp, keys);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_alloc_mr);

/**
 * vroce_cmd_alloc_mw() - make a memory window
 * @aux: device
 * @pdn: protection domain
 * @type: IB_MW_TYPE_1 or IB_MW_TYPE_2
 * @keys: its handle and keys
 */
int vroce_cmd_alloc_mw(struct virtio_net_roce_aux *aux, u32 pdn,
		       enum ib_mw_type type, struct vroce_mr_keys *keys)
{
	struct virtio_rdma_cmd_alloc_mw req = {
		.pdn = cpu_to_le32(pdn),
		.type = cpu_to_le32(type == IB_MW_TYPE_2 ? VIRTIO_IB_MW_TYPE_2 :
							   VIRTIO_IB_MW_TYPE_1),
	};
	struct virtio_rdma_ack_mr rsp = {};
	int err;

	err = vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_ALLOC_MW,
			     &req, sizeof(req), &rsp, sizeof(rsp));
	if (!err)
		vroce_mr_keys_from_wire(&rsp, keys);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_alloc_mw);

/**
 * vroce_cmd_dereg_mr() - destroy a memory region or a memory window
 * @aux: device
 * @mrn: its handle
 */
int vroce_cmd_dereg_mr(struct virtio_net_roce_aux *aux, u32 mrn)
{
	struct virtio_rdma_cmd_dereg_mr req = { .mrn = cpu_to_le32(mrn) };

	return vroce_cmd_exec(aux, VIRTIO_NET_CTRL_ROCE_DEREG_MR,
			      &req, sizeof(req), NULL, 0);
}
EXPORT_SYMBOL_IF_KUNIT(vroce_cmd_dereg_mr);

/**
 * vroce_cmd_dereg_bound_mr() - destroy a memory region unless windows are bound to it
 * @aux: device
 * @mrn: its handle
 *
 * Return: -EBUSY if the device refused.
 */
int vroce_cmd_dereg_bound_mr(struct virtio_net_roce_aux *aux, u32 mrn)
{
	struct virtio_rdma_cmd_dereg_mr req = { .mrn = cpu_to_le32(mrn) };
	struct virtio_net_roce_cmd cmd = {
		.command = VIRTIO_NET_CTRL_ROCE_DEREG_MR,
		.req = { { .iov_base = &req, .iov_len = sizeof(req) } },
	};

	return vroce_cmd_run_destroy(aux, &cmd, -EBUSY);
}
