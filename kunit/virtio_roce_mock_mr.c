// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions and windows of the function without hardware; see virtio_roce_mock.h.
 */
#include <linux/io.h>

#include "virtio_roce_mock.h"

/* Keys follow from the handle, so that tests know them. */
static int mock_new_mr(struct mock *mock, const struct mock_mr *mr,
		       struct virtio_rdma_ack_mr *ack)
{
	u32 mrn;

	for (mrn = 0; mrn < MOCK_MRS; mrn++) {
		if (mock->mrs[mrn].exists)
			continue;
		if (mock_pd_use(mock, mr->pdn, 1))
			return -EREMOTEIO;
		mock->mrs[mrn] = *mr;
		mock->mrs[mrn].exists = true;
		ack->mrn = cpu_to_le32(mrn);
		ack->lkey = cpu_to_le32(0x1000 + mrn);
		ack->rkey = cpu_to_le32(0x2000 + mrn);
		return 0;
	}
	return -EREMOTEIO;
}

int mock_get_dma_mr(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_get_dma_mr *req = r;
	struct mock_mr mr = {
		.pdn = le32_to_cpu(req->pdn),
		.access = le32_to_cpu(req->access_flags),
		.length = U64_MAX,
	};

	return mock_new_mr(mock, &mr, rsp);
}

int mock_alloc_mr(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_alloc_mr *req = r;
	struct mock_mr mr = {
		.pdn = le32_to_cpu(req->pdn),
		.npages = le32_to_cpu(req->max_pages),
	};

	return mock_new_mr(mock, &mr, rsp);
}

/**
 * struct mock_list - the list of pages of a request
 * @npages: number of pages
 * @page_shift: as on the wire
 * @levels: likewise
 * @addrs: addresses in the request
 */
struct mock_list {
	u32 npages;
	u8 page_shift;
	u8 levels;
	const struct kvec *addrs;
};

static u64 mock_list_page(const struct mock_list *list, u32 i)
{
	const __le64 *page = list->addrs->iov_base;

	if (list->levels) {
		page = phys_to_virt(le64_to_cpu(page[i / VIRTIO_RDMA_MR_LIST_PAGE]));
		i %= VIRTIO_RDMA_MR_LIST_PAGE;
	}
	return le64_to_cpu(page[i]);
}

static int mock_list_check(struct mock *mock, const struct mock_list *list)
{
	u64 caps = le64_to_cpu(mock->query_device.device_cap_flags);
	u32 n = list->levels ? DIV_ROUND_UP(list->npages, VIRTIO_RDMA_MR_LIST_PAGE) :
			       list->npages;

	if (list->addrs->iov_len == n * sizeof(__le64) && list->levels <= 1 &&
	    (!list->levels || caps & VIRTIO_IB_DEVICE_MR_INDIRECT) &&
	    (!list->page_shift || caps & VIRTIO_IB_DEVICE_MR_PAGE_SHIFT))
		return 0;
	mock_violation(mock, "list of pages of another length or form", list->npages);
	return -EREMOTEIO;
}

/* The rest of the pages that a list lies in must not be memory of somebody else. */
static void mock_list_tail(struct mock *mock, const struct mock_list *list)
{
	u32 n = list->npages % VIRTIO_RDMA_MR_LIST_PAGE;
	const __le64 *where = list->addrs->iov_base;
	const __le64 *last;

	if (!list->levels || !n)
		return;
	last = phys_to_virt(le64_to_cpu(where[list->npages / VIRTIO_RDMA_MR_LIST_PAGE]));
	if (memchr_inv(last + n, 0, (VIRTIO_RDMA_MR_LIST_PAGE - n) * sizeof(*last)))
		mock_violation(mock, "memory of others behind a list of pages",
			       list->npages);
}

static void mock_set_pages(struct mock *mock, struct mock_mr *mr,
			   const struct mock_list *list)
{
	u32 i;

	mock_list_tail(mock, list);
	mr->npages = list->npages;
	mr->page_shift = list->page_shift;
	mr->levels = list->levels;
	mr->first_page = mock_list_page(list, 0);
	mr->last_page = mock_list_page(list, list->npages - 1);
	mr->sum = 0;
	for (i = 0; i < list->npages; i++)
		mr->sum += mock_list_page(list, i);
}

int mock_reg_user_mr(struct mock *mock, const void *r, const struct kvec *pages, void *rsp)
{
	const struct virtio_rdma_cmd_reg_user_mr *req = r;
	const struct mock_list list = {
		.npages = le32_to_cpu(req->npages),
		.page_shift = req->page_shift,
		.levels = req->levels,
		.addrs = pages,
	};
	struct mock_mr mr = {
		.pdn = le32_to_cpu(req->pdn),
		.access = le32_to_cpu(req->access_flags),
		.virt_addr = le64_to_cpu(req->virt_addr),
		.length = le64_to_cpu(req->length),
	};

	if (!list.npages || mock_list_check(mock, &list))
		return -EREMOTEIO;
	mock_set_pages(mock, &mr, &list);
	return mock_new_mr(mock, &mr, rsp);
}

/* A changed region is told as if it were registered. */
int mock_rereg_mr(struct mock *mock, const struct virtio_net_roce_cmd *cmd)
{
	const struct virtio_rdma_cmd_rereg_mr *req = cmd->req[0].iov_base;
	/* Begins in the same way. */
	const struct virtio_rdma_cmd_rereg_mr_long *more = cmd->req[0].iov_base;
	const bool is_long = cmd->command == VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG;
	const struct mock_list list = {
		.npages = le32_to_cpu(req->npages),
		.page_shift = is_long ? more->page_shift : 0,
		.levels = is_long ? more->levels : 0,
		.addrs = &cmd->req[1],
	};
	u32 mrn = le32_to_cpu(req->mrn);
	struct mock_mr *mr;

	if (mrn >= MOCK_MRS || !mock->mrs[mrn].exists) {
		mock_violation(mock, "no such MR to change", mrn);
		return -EREMOTEIO;
	}
	mr = &mock->mrs[mrn];
	if (mock_list_check(mock, &list) || mock_pd_use(mock, le32_to_cpu(req->pdn), 1))
		return -EREMOTEIO;
	mock_pd_use(mock, mr->pdn, -1);
	mr->pdn = le32_to_cpu(req->pdn);
	mr->access = le32_to_cpu(req->access_flags);
	mr->changed_pages = list.npages;
	if (!list.npages)
		return 0;
	mr->virt_addr = le64_to_cpu(req->virt_addr);
	mr->length = le64_to_cpu(req->length);
	mock_set_pages(mock, mr, &list);
	return 0;
}

int mock_alloc_mw(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_alloc_mw *req = r;
	struct mock_mr mr = {
		.pdn = le32_to_cpu(req->pdn),
		.window = le32_to_cpu(req->type),
	};

	return mock_new_mr(mock, &mr, rsp);
}

int mock_dereg_mr(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_dereg_mr *req = r;
	u32 mrn = le32_to_cpu(req->mrn);

	if (mrn >= MOCK_MRS || !mock->mrs[mrn].exists) {
		mock_violation(mock, "no such MR to deregister", mrn);
		return -EREMOTEIO;
	}
	mock->mrs[mrn].exists = false;
	return mock_pd_use(mock, mock->mrs[mrn].pdn, -1);
}
