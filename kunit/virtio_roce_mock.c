// SPDX-License-Identifier: GPL-2.0
/*
 * A RoCE function without hardware, for tests of the RDMA driver.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/mm_types.h>
#include <linux/netdevice.h>
#include <linux/rwsem.h>
#include <linux/rtnetlink.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_verbs.h>

#include "virtio_roce-abi.h"
#include "virtio_roce_mock.h"

static struct mock *to_mock(struct virtio_net_roce_aux *aux)
{
	return container_of(aux, struct mock, aux);
}

/* Records only the first violation.  Context: lock held. */
void mock_violation(struct mock *mock, const char *what, u32 number)
{
	if (!mock->violation[0])
		snprintf(mock->violation, sizeof(mock->violation), "%s (%u)",
			 what, number);
}

/* ----- commands, by a script ----- */

static int mock_read_script(struct mock *mock, struct virtio_net_roce_cmd *cmd)
{
	const struct mock_answer *answer = &mock->script[mock->script_pos];

	if (mock->script_pos == mock->script_len) {
		mock_violation(mock, "command behind the end of the script",
			       cmd->command);
		return -EIO;
	}
	mock->script_pos++;
	if (answer->command != cmd->command) {
		mock_violation(mock, "not the command of the script",
			       cmd->command);
		return -EIO;
	}
	if (answer->ret)
		return answer->ret;
	/* As in the lower module: what the device did not write is zero. */
	memset(cmd->rsp, 0, cmd->rsp_len);
	memcpy(cmd->rsp, answer->rsp, min(answer->rsp_len, cmd->rsp_len));
	return 0;
}

/* ----- commands, as a device ----- */

static bool mock_is_zero(const struct virtio_net_roce_vq *vq)
{
	return !memchr_inv(vq->vring.desc, 0,
			   vq->vring.num * sizeof(struct vring_desc)) &&
	       !memchr_inv(vq->vring.avail, 0, vq->avail_len) &&
	       !memchr_inv(vq->vring.used, 0, vq->used_len);
}

int mock_pd_use(struct mock *mock, u32 pdn, int change)
{
	if (pdn >= MOCK_PDS || mock->pd_refs[pdn] < 0)
		return -EREMOTEIO;
	mock->pd_refs[pdn] += change;
	return 0;
}

bool mock_cq_exists(struct mock *mock, u32 cqn)
{
	return cqn < MOCK_ALL_CQS && mock->cqs[cqn].exists;
}

bool mock_qp_exists(struct mock *mock, u32 qpn)
{
	return qpn < MOCK_ALL_QPS && mock->qps[qpn].exists;
}

static int mock_create_cq(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_create_cq *req = r;
	struct virtio_rdma_ack_create_cq *ack = rsp;
	u32 cqn = 0;

	while (mock_cq_exists(mock, cqn))
		cqn++;
	if (mock->next_cqn >= 0)
		cqn = mock->next_cqn;
	mock->next_cqn = -1;
	ack->cqn = cpu_to_le32(cqn);
	if (cqn >= MOCK_CQS)
		return 0;
	if (mock->cqs[cqn].exists)
		return 0;
	if (!mock_is_zero(&mock->cq_vqs[cqn].pub))
		mock_violation(mock, "rings of a CQ are not zero", cqn);
	mock->cqs[cqn].exists = true;
	mock->cqs[cqn].cqe = le32_to_cpu(req->cqe);
	mock->cq_vqs[cqn].used = 0;
	return 0;
}

static int mock_destroy_cq(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_cq *req = r;
	u32 cqn = le32_to_cpu(req->cqn);

	if (!mock_cq_exists(mock, cqn)) {
		if (cqn < MOCK_CQS)
			mock_violation(mock, "no such CQ to destroy", cqn);
		return -EREMOTEIO;
	}
	if (mock->cqs[cqn].refs) {
		mock_violation(mock, "CQ of a QP destroyed", cqn);
		return -EREMOTEIO;
	}
	if (mock->cqs[cqn].notify)
		mock_violation(mock, "CQ destroyed while enabled", cqn);
	mock->cqs[cqn].exists = false;
	mock->cqs[cqn].armed = 0;
	return 0;
}

static int mock_create_pd(struct mock *mock, const void *r, void *rsp)
{
	struct virtio_rdma_ack_create_pd *ack = rsp;
	u32 pdn;

	for (pdn = 0; pdn < MOCK_PDS; pdn++) {
		if (mock->pd_refs[pdn] >= 0)
			continue;
		mock->pd_refs[pdn] = 0;
		ack->pdn = cpu_to_le32(pdn);
		return 0;
	}
	return -EREMOTEIO;
}

static int mock_destroy_pd(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_pd *req = r;
	u32 pdn = le32_to_cpu(req->pdn);

	if (mock_pd_use(mock, pdn, 0)) {
		mock_violation(mock, "no such PD to destroy", pdn);
		return -EREMOTEIO;
	}
	if (mock->pd_refs[pdn]) {
		mock_violation(mock, "PD in use destroyed", pdn);
		return -EREMOTEIO;
	}
	mock->pd_refs[pdn] = -1;
	return 0;
}

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

static int mock_get_dma_mr(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_get_dma_mr *req = r;
	struct mock_mr mr = {
		.pdn = le32_to_cpu(req->pdn),
		.access = le32_to_cpu(req->access_flags),
		.length = U64_MAX,
	};

	return mock_new_mr(mock, &mr, rsp);
}

static int mock_alloc_mr(struct mock *mock, const void *r, void *rsp)
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

static int mock_reg_user_mr(struct mock *mock, const void *r,
			    const struct kvec *pages, void *rsp)
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
static int mock_rereg_mr(struct mock *mock, const struct virtio_net_roce_cmd *cmd)
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

static int mock_alloc_mw(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_alloc_mw *req = r;
	struct mock_mr mr = {
		.pdn = le32_to_cpu(req->pdn),
		.window = le32_to_cpu(req->type),
	};

	return mock_new_mr(mock, &mr, rsp);
}

static int mock_dereg_mr(struct mock *mock, const void *r, void *rsp)
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

static u32 mock_pick_qpn(struct mock *mock, u8 type)
{
	u32 qpn = 2;

	if (mock->next_qpn >= 0)
		qpn = mock->next_qpn;
	else if (type == VIRTIO_IB_QPT_GSI)
		qpn = VIRTIO_NET_ROCE_QPN_GSI;
	else
		while (mock_qp_exists(mock, qpn))
			qpn++;
	mock->next_qpn = -1;
	return qpn;
}

static int mock_create_qp(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_create_qp *req = r;
	struct virtio_rdma_ack_create_qp *ack = rsp;
	struct mock_qp qp = {
		.exists = true,
		.type = req->qp_type,
		.state = VIRTIO_IB_QPS_RESET,
		.pdn = le32_to_cpu(req->pdn),
		.scqn = le32_to_cpu(req->send_cqn),
		.rcqn = le32_to_cpu(req->recv_cqn),
	};
	u32 qpn = mock_pick_qpn(mock, req->qp_type);

	ack->qpn = cpu_to_le32(qpn);
	/* A broken device answers this without creating anything. */
	if (qpn >= MOCK_QPS || mock->qps[qpn].exists)
		return 0;
	if (!mock_cq_exists(mock, qp.scqn) || !mock_cq_exists(mock, qp.rcqn) ||
	    mock_pd_use(mock, qp.pdn, 1))
		return -EREMOTEIO;
	mock->cqs[qp.scqn].refs++;
	mock->cqs[qp.rcqn].refs++;
	if (!mock_is_zero(&mock->sq_vqs[qpn].pub) ||
	    !mock_is_zero(&mock->rq_vqs[qpn].pub))
		mock_violation(mock, "rings of a QP are not zero", qpn);
	mock->qps[qpn] = qp;
	mock->sq_vqs[qpn].used = 0;
	mock->rq_vqs[qpn].used = 0;
	return 0;
}

static void mock_use_all(struct mock_vq *vq)
{
	vq->pub.vring.used->idx = vq->pub.vring.avail->idx;
}

static int mock_modify_qp(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_modify_qp *req = r;
	u32 qpn = le32_to_cpu(req->qpn);

	if (!mock_qp_exists(mock, qpn)) {
		mock_violation(mock, "no such QP to modify", qpn);
		return -EREMOTEIO;
	}
	if (!(le32_to_cpu(req->attr_mask) & VIRTIO_IB_QP_STATE))
		return 0;
	mock->qps[qpn].state = req->qp_state;
	if (req->qp_state == VIRTIO_IB_QPS_ERR && mock->flush &&
	    qpn < MOCK_QPS) {
		mock_use_all(&mock->sq_vqs[qpn]);
		mock_use_all(&mock->rq_vqs[qpn]);
	}
	return 0;
}

static int mock_query_qp(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_query_qp *req = r;
	struct virtio_rdma_ack_query_qp *ack = rsp;
	u32 qpn = le32_to_cpu(req->qpn);

	if (!mock_qp_exists(mock, qpn))
		return -EREMOTEIO;
	ack->qp_state = mock->qps[qpn].state;
	return 0;
}

static int mock_destroy_qp(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_qp *req = r;
	u32 qpn = le32_to_cpu(req->qpn);
	struct mock_qp *qp;

	if (!mock_qp_exists(mock, qpn)) {
		if (qpn < MOCK_QPS)
			mock_violation(mock, "no such QP to destroy", qpn);
		return -EREMOTEIO;
	}
	qp = &mock->qps[qpn];
	if (qp->type == VIRTIO_IB_QPT_XRC_TGT)
		return mock_tgt_gone(mock, qp);
	mock->cqs[qp->scqn].refs--;
	mock->cqs[qp->rcqn].refs--;
	if (mock_qp_srq(mock, qp))
		mock_qp_srq(mock, qp)->refs--;
	qp->exists = false;
	return mock_pd_use(mock, qp->pdn, -1);
}

static int mock_create_ah(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_create_ah *req = r;
	struct virtio_rdma_ack_create_ah *ack = rsp;
	u32 ah;

	for (ah = 0; ah < MOCK_AHS; ah++) {
		if (mock->ah_pdn[ah] >= 0)
			continue;
		if (mock_pd_use(mock, le32_to_cpu(req->pdn), 1))
			return -EREMOTEIO;
		mock->ah_pdn[ah] = le32_to_cpu(req->pdn);
		ack->ah = cpu_to_le32(ah);
		return 0;
	}
	return -EREMOTEIO;
}

static int mock_destroy_ah(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_ah *req = r;
	u32 ah = le32_to_cpu(req->ah), pdn = le32_to_cpu(req->pdn);

	if (ah >= MOCK_AHS || mock->ah_pdn[ah] != (int)pdn) {
		mock_violation(mock, "no such AH to destroy", ah);
		return -EREMOTEIO;
	}
	mock->ah_pdn[ah] = -1;
	return mock_pd_use(mock, pdn, -1);
}

static int mock_add_gid(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_add_gid *req = r;
	u16 index = le16_to_cpu(req->index);

	if (index >= MOCK_GIDS)
		return -EREMOTEIO;
	memcpy(mock->gids[index], req->gid, sizeof(req->gid));
	return 0;
}

static int mock_del_gid(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_del_gid *req = r;
	u16 index = le16_to_cpu(req->index);

	if (index >= MOCK_GIDS)
		return -EREMOTEIO;
	memset(mock->gids[index], 0, sizeof(mock->gids[index]));
	return 0;
}

static int mock_req_notify(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_req_notify *req = r;
	u32 cqn = le32_to_cpu(req->cqn);

	if (!mock_cq_exists(mock, cqn)) {
		mock_violation(mock, "no such CQ to notify", cqn);
		return -EREMOTEIO;
	}
	if (!mock->cqs[cqn].arm_first)
		mock_violation(mock, "REQ_NOTIFY_CQ before cq_arm", cqn);
	mock->cqs[cqn].arm_first = false;
	mock->cqs[cqn].armed |= le32_to_cpu(req->flags);
	return 0;
}

static int mock_query_counters(struct mock *mock, const void *cmd, void *rsp)
{
	memcpy(rsp, &mock->counters, sizeof(mock->counters));
	return 0;
}

/* Only counts; tests find the group in the request. */
static int mock_mcast(struct mock *mock, const void *r, int change)
{
	const struct virtio_rdma_cmd_mcast *req = r;
	u32 qpn = le32_to_cpu(req->qpn);

	if (!mock_qp_exists(mock, qpn) ||
	    mock->qps[qpn].type != VIRTIO_IB_QPT_UD) {
		mock_violation(mock, "no such UD QP to attach or detach", qpn);
		return -EREMOTEIO;
	}
	if (!mock->qps[qpn].groups && change < 0)
		return -EREMOTEIO;
	mock->qps[qpn].groups += change;
	return 0;
}

static int mock_attach_mcast(struct mock *mock, const void *r, void *rsp)
{
	return mock_mcast(mock, r, 1);
}

static int mock_detach_mcast(struct mock *mock, const void *r, void *rsp)
{
	return mock_mcast(mock, r, -1);
}

/**
 * struct mock_handler - how a command is carried out
 * @req_len: bytes of its request, without the pages of a memory region
 * @rsp_len: bytes of its response
 * @run: carries it out; the response is zeroed and long enough
 */
struct mock_handler {
	size_t req_len;
	size_t rsp_len;
	int (*run)(struct mock *mock, const void *req, void *rsp);
};

#define MOCK_CMD(name)	sizeof(struct virtio_rdma_cmd_ ## name)
#define MOCK_ACK(name)	sizeof(struct virtio_rdma_ack_ ## name)

static const struct mock_handler mock_handlers[VIRTIO_NET_CTRL_ROCE_NUM] = {
	[VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE] = {
		0, MOCK_ACK(query_device), NULL },
	[VIRTIO_NET_CTRL_ROCE_QUERY_PORT] = {
		0, MOCK_ACK(query_port), NULL },
	[VIRTIO_NET_CTRL_ROCE_CREATE_CQ] = {
		MOCK_CMD(create_cq), MOCK_ACK(create_cq), mock_create_cq },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_CQ] = {
		MOCK_CMD(destroy_cq), 0, mock_destroy_cq },
	[VIRTIO_NET_CTRL_ROCE_CREATE_PD] = {
		0, MOCK_ACK(create_pd), mock_create_pd },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_PD] = {
		MOCK_CMD(destroy_pd), 0, mock_destroy_pd },
	[VIRTIO_NET_CTRL_ROCE_GET_DMA_MR] = {
		MOCK_CMD(get_dma_mr), MOCK_ACK(mr), mock_get_dma_mr },
	[VIRTIO_NET_CTRL_ROCE_REG_USER_MR] = {
		MOCK_CMD(reg_user_mr), MOCK_ACK(mr), NULL },
	[VIRTIO_NET_CTRL_ROCE_DEREG_MR] = {
		MOCK_CMD(dereg_mr), 0, mock_dereg_mr },
	[VIRTIO_NET_CTRL_ROCE_CREATE_QP] = {
		MOCK_CMD(create_qp), MOCK_ACK(create_qp), mock_create_qp },
	[VIRTIO_NET_CTRL_ROCE_MODIFY_QP] = {
		MOCK_CMD(modify_qp), 0, mock_modify_qp },
	[VIRTIO_NET_CTRL_ROCE_QUERY_QP] = {
		MOCK_CMD(query_qp), MOCK_ACK(query_qp), mock_query_qp },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_QP] = {
		MOCK_CMD(destroy_qp), 0, mock_destroy_qp },
	[VIRTIO_NET_CTRL_ROCE_CREATE_AH] = {
		MOCK_CMD(create_ah), MOCK_ACK(create_ah), mock_create_ah },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_AH] = {
		MOCK_CMD(destroy_ah), 0, mock_destroy_ah },
	[VIRTIO_NET_CTRL_ROCE_ADD_GID] = {
		MOCK_CMD(add_gid), 0, mock_add_gid },
	[VIRTIO_NET_CTRL_ROCE_DEL_GID] = {
		MOCK_CMD(del_gid), 0, mock_del_gid },
	[VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ] = {
		MOCK_CMD(req_notify), 0, mock_req_notify },
	[VIRTIO_NET_CTRL_ROCE_ALLOC_MR] = {
		MOCK_CMD(alloc_mr), MOCK_ACK(mr), mock_alloc_mr },
	[VIRTIO_NET_CTRL_ROCE_QUERY_COUNTERS] = {
		0, MOCK_ACK(query_counters), mock_query_counters },
	[VIRTIO_NET_CTRL_ROCE_ATTACH_MCAST] = {
		MOCK_CMD(mcast), 0, mock_attach_mcast },
	[VIRTIO_NET_CTRL_ROCE_DETACH_MCAST] = {
		MOCK_CMD(mcast), 0, mock_detach_mcast },
	[VIRTIO_NET_CTRL_ROCE_ALLOC_DOORBELL] = {
		MOCK_CMD(alloc_doorbell), MOCK_ACK(alloc_doorbell),
		mock_alloc_doorbell },
	[VIRTIO_NET_CTRL_ROCE_FREE_DOORBELL] = {
		MOCK_CMD(free_doorbell), 0, mock_free_doorbell },
	[VIRTIO_NET_CTRL_ROCE_CREATE_SRQ] = {
		MOCK_CMD(create_srq), MOCK_ACK(create_srq), NULL },
	[VIRTIO_NET_CTRL_ROCE_MODIFY_SRQ] = {
		MOCK_CMD(modify_srq), 0, mock_modify_srq },
	[VIRTIO_NET_CTRL_ROCE_QUERY_SRQ] = {
		MOCK_CMD(query_srq), MOCK_ACK(query_srq), mock_query_srq },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_SRQ] = {
		MOCK_CMD(destroy_srq), 0, mock_destroy_srq },
	[VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ] = {
		MOCK_CMD(resize_srq), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_CREATE_XRCD] = {
		0, MOCK_ACK(create_xrcd), mock_create_xrcd },
	[VIRTIO_NET_CTRL_ROCE_DESTROY_XRCD] = {
		MOCK_CMD(destroy_xrcd), 0, mock_destroy_xrcd },
	[VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ] = {
		MOCK_CMD(create_xrc_srq), MOCK_ACK(create_srq), NULL },
	[VIRTIO_NET_CTRL_ROCE_REREG_MR] = {
		MOCK_CMD(rereg_mr), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG] = {
		MOCK_CMD(rereg_mr_long), 0, NULL },
	[VIRTIO_NET_CTRL_ROCE_ALLOC_MW] = {
		MOCK_CMD(alloc_mw), MOCK_ACK(mr), mock_alloc_mw },
};

static int mock_act(struct mock *mock, struct virtio_net_roce_cmd *cmd)
{
	const struct mock_handler *handler = &mock_handlers[cmd->command];

	if (cmd->req[0].iov_len == sizeof(struct virtio_rdma_cmd_create_cq_long) &&
	    cmd->command == VIRTIO_NET_CTRL_ROCE_CREATE_CQ)
		return mock->fail[cmd->command] ?:
		       mock_direct_create_cq(mock, cmd->req, cmd->rsp);
	if (cmd->req[0].iov_len == VIRTIO_RDMA_QP_DIRECT_OFFSET +
				   sizeof(struct virtio_rdma_qp_direct) &&
	    cmd->command == VIRTIO_NET_CTRL_ROCE_CREATE_QP)
		return mock->fail[cmd->command] ?:
		       mock_direct_create_qp(mock, cmd->req, cmd->rsp);
	if (cmd->command == VIRTIO_NET_CTRL_ROCE_RESIZE_CQ)
		return mock->fail[cmd->command] ?:
		       mock_direct_resize_cq(mock, cmd->req, cmd->rsp);
	if (cmd->req[0].iov_len != handler->req_len ||
	    cmd->rsp_len != handler->rsp_len) {
		mock_violation(mock, "command of another length", cmd->command);
		return -EREMOTEIO;
	}
	if (mock->fail[cmd->command])
		return mock->fail[cmd->command];
	if (cmd->rsp_len)
		memset(cmd->rsp, 0, cmd->rsp_len);

	switch (cmd->command) {
	case VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE:
		memcpy(cmd->rsp, &mock->query_device, cmd->rsp_len);
		return 0;
	case VIRTIO_NET_CTRL_ROCE_QUERY_PORT:
		memcpy(cmd->rsp, &mock->query_port, cmd->rsp_len);
		return 0;
	case VIRTIO_NET_CTRL_ROCE_CREATE_SRQ:
		return mock_create_srq(mock, cmd->req, cmd->rsp);
	case VIRTIO_NET_CTRL_ROCE_CREATE_XRC_SRQ:
		return mock_create_xrc_srq(mock, cmd->req, cmd->rsp);
	case VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ:
		return mock_resize_srq(mock, cmd->req);
	case VIRTIO_NET_CTRL_ROCE_REG_USER_MR:
		return mock_reg_user_mr(mock, cmd->req[0].iov_base,
					&cmd->req[1], cmd->rsp);
	case VIRTIO_NET_CTRL_ROCE_REREG_MR:
	case VIRTIO_NET_CTRL_ROCE_REREG_MR_LONG:
		return mock_rereg_mr(mock, cmd);
	default:
		return handler->run(mock, cmd->req[0].iov_base, cmd->rsp);
	}
}

static void mock_record(struct mock *mock, const struct virtio_net_roce_cmd *cmd,
			int ret)
{
	struct mock_call *call = &mock->calls[mock->ncalls++ % MOCK_CALLS];
	size_t len = 0, n;
	int i;

	call->command = cmd->command;
	call->atomic = cmd->atomic;
	call->ret = ret;
	call->rsp_len = cmd->rsp_len;
	call->req_len = cmd->req[0].iov_len + cmd->req[1].iov_len;
	for (i = 0; i < ARRAY_SIZE(cmd->req) && len < MOCK_REQ_MAX; i++) {
		n = min(cmd->req[i].iov_len, MOCK_REQ_MAX - len);
		if (n)
			memcpy(call->req + len, cmd->req[i].iov_base, n);
		len += n;
	}
}

/* ----- operations ----- */

static void mock_hold(struct mock *mock, bool *hold)
{
	if (!*hold)
		return;
	*hold = false;
	complete(&mock->held);
	if (!wait_for_completion_timeout(&mock->release, 5 * HZ))
		mock_violation(mock, "one command waits for another", 0);
}

static int mock_exec(struct virtio_net_roce_aux *aux,
		     struct virtio_net_roce_cmd *cmd)
{
	struct mock *mock = to_mock(aux);
	unsigned long flags;
	int ret;

	if (cmd->command >= VIRTIO_NET_CTRL_ROCE_NUM)
		return -EIO;
	if (!cmd->atomic) {
		might_sleep();
		spin_lock_irqsave(&mock->lock, flags);
		mock->most = max(mock->most, ++mock->running);
		spin_unlock_irqrestore(&mock->lock, flags);
		if (mock->slow)
			msleep(mock->slow);
		mock_hold(mock, &mock->hold[cmd->command]);
	}
	spin_lock_irqsave(&mock->lock, flags);
	/* Page faults of the process would wait for the device. */
	if (current->mm && rwsem_is_locked(&current->mm->mmap_lock))
		mock_violation(mock, "command while the memory map is locked",
			       cmd->command);
	if (cmd->req[0].iov_len + cmd->req[1].iov_len > aux->max_req)
		ret = -E2BIG;
	else
		ret = mock->script ? mock_read_script(mock, cmd) : mock_act(mock, cmd);
	mock_record(mock, cmd, ret);
	mock->running -= !cmd->atomic;
	mock->settled[cmd->command] = cmd->settle;
	mock->was_slow[cmd->command] = cmd->slow;
	spin_unlock_irqrestore(&mock->lock, flags);
	if (!cmd->atomic)
		mock_hold(mock, &mock->hold_answer[cmd->command]);
	return ret;
}

static struct virtio_net_roce_vq *mock_cq_vq(struct virtio_net_roce_aux *aux,
					     u32 cqn)
{
	return cqn < aux->max_cqs ? &to_mock(aux)->cq_vqs[cqn].pub : NULL;
}

static struct virtio_net_roce_vq *mock_sq_vq(struct virtio_net_roce_aux *aux,
					     u32 qpn)
{
	return qpn < aux->max_qps ? &to_mock(aux)->sq_vqs[qpn].pub : NULL;
}

static struct virtio_net_roce_vq *mock_rq_vq(struct virtio_net_roce_aux *aux,
					     u32 qpn)
{
	return qpn < aux->max_qps ? &to_mock(aux)->rq_vqs[qpn].pub : NULL;
}

static void mock_kick(struct virtio_net_roce_aux *aux,
		      struct virtio_net_roce_vq *vq)
{
	container_of(vq, struct mock_vq, pub)->kicks++;
}

static int mock_cq_enable(struct virtio_net_roce_aux *aux, u32 cqn, bool kernel,
			  void (*notify)(void *data), void *data)
{
	struct mock *mock = to_mock(aux);

	might_sleep();
	spin_lock_irq(&mock->lock);
	mock->cqs[cqn].kernel = kernel;
	mock->cqs[cqn].notify = notify;
	mock->cqs[cqn].data = data;
	spin_unlock_irq(&mock->lock);
	return 0;
}

static void mock_cq_arm(struct virtio_net_roce_aux *aux, u32 cqn)
{
	struct mock *mock = to_mock(aux);
	unsigned long flags;

	spin_lock_irqsave(&mock->lock, flags);
	mock->cqs[cqn].arm_first = true;
	spin_unlock_irqrestore(&mock->lock, flags);
}

/* Nobody waits, and so nobody hears what the device says. */
static int mock_cq_request(struct virtio_net_roce_aux *aux, u32 cqn,
			   bool solicited_only)
{
	struct virtio_rdma_cmd_req_notify req = {
		.cqn = cpu_to_le32(cqn),
		.flags = cpu_to_le32(solicited_only ?
				     VIRTIO_IB_NOTIFY_SOLICITED :
				     VIRTIO_IB_NOTIFY_NEXT_COMPLETION),
	};
	struct virtio_net_roce_cmd cmd = {
		.command = VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ,
		.atomic = true,
		.req = { { .iov_base = &req, .iov_len = sizeof(req) } },
	};
	struct mock *mock = to_mock(aux);

	if (!mock->cqs[cqn].kernel)
		mock_violation(mock, "cq_request of a process's CQ", cqn);
	mock_cq_arm(aux, cqn);
	return mock_exec(aux, &cmd) == -EIO ? -EIO : 0;
}

static void mock_cq_disable(struct virtio_net_roce_aux *aux, u32 cqn)
{
	mock_cq_enable(aux, cqn, false, NULL, NULL);
}

static void mock_listen(struct virtio_net_roce_aux *aux,
			void (*event)(struct virtio_net_roce_aux *aux,
				      enum virtio_net_roce_event event))
{
	to_mock(aux)->event = event;
}

/* The device is reset at once. */
static void mock_give_up(struct virtio_net_roce_aux *aux)
{
	struct mock *mock = to_mock(aux);
	unsigned int i;

	mock->given_up++;
	for (i = 0; i < VIRTIO_NET_CTRL_ROCE_NUM; i++)
		mock->fail[i] = -ENODEV;
	if (mock->event)
		mock->event(aux, VIRTIO_NET_ROCE_QUIESCED);
}

static int mock_quiesce(struct virtio_net_roce_aux *aux)
{
	might_sleep();
	mock_give_up(aux);
	return to_mock(aux)->never_quiet ? -EBUSY : 0;
}

static struct virtio_net_roce_vq *
mock_get_doorbell_vq(struct virtio_net_roce_aux *aux, u32 d)
{
	return d < aux->num_doorbells ? &to_mock(aux)->doorbell_vq.pub : NULL;
}

static void mock_events(struct virtio_net_roce_aux *aux,
			void (*notify)(struct virtio_net_roce_aux *aux,
				       u16 type, u32 number))
{
	WRITE_ONCE(to_mock(aux)->notify, notify);
	synchronize_rcu();
}

/* Events are reported with interrupts off. */
static void mock_synchronize(struct virtio_net_roce_aux *aux)
{
	synchronize_rcu();
}

static const struct virtio_net_roce_ops mock_ops = {
	.doorbell_vq = mock_get_doorbell_vq,
	.events = mock_events,
	.synchronize = mock_synchronize,
	.exec = mock_exec,
	.cq_vq = mock_cq_vq,
	.sq_vq = mock_sq_vq,
	.rq_vq = mock_rq_vq,
	.kick = mock_kick,
	.cq_enable = mock_cq_enable,
	.cq_arm = mock_cq_arm,
	.cq_request = mock_cq_request,
	.cq_disable = mock_cq_disable,
	.listen = mock_listen,
	.give_up = mock_give_up,
	.quiesce = mock_quiesce,
};

/* ----- making one ----- */

static struct mock *mock_new(struct kunit *test)
{
	struct mock *mock = kunit_kzalloc(test, sizeof(*mock), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mock);
	mock->test = test;
	spin_lock_init(&mock->lock);
	init_completion(&mock->held);
	init_completion(&mock->release);
	mock->aux.ops = &mock_ops;
	mock->aux.adev.dev.init_name = "mock";
	mock->aux.max_qps = MOCK_QPS;
	mock->aux.max_cqs = MOCK_CQS;
	mock->aux.num_vectors = 1;
	mock->aux.max_req = U32_MAX;
	mock->next_cqn = -1;
	mock->next_qpn = -1;
	memset(mock->pd_refs, 0xff, sizeof(mock->pd_refs));
	memset(mock->xrcd_refs, 0xff, sizeof(mock->xrcd_refs));
	memset(mock->ah_pdn, 0xff, sizeof(mock->ah_pdn));
	return mock;
}

/**
 * mock_scripted() - a function that answers commands by a script
 * @test: test
 * @script: answers
 * @len: how many
 *
 * It has commands and nothing else.
 *
 * Return: function, never NULL.
 */
struct mock *mock_scripted(struct kunit *test, const struct mock_answer *script,
			   size_t len)
{
	struct mock *mock = mock_new(test);

	mock->script = script;
	mock->script_len = len;
	return mock;
}

struct mock_pages {
	void *addr;
	size_t len;
};

static void mock_free_pages(void *data)
{
	struct mock_pages *pages = data;

	free_pages_exact(pages->addr, pages->len);
}

static void *mock_pages(struct kunit *test, size_t len)
{
	struct mock_pages *pages;

	pages = kunit_kzalloc(test, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	pages->len = len;
	pages->addr = alloc_pages_exact(len, GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, pages->addr);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mock_free_pages,
							   pages));
	return pages->addr;
}

void mock_vq_init(struct mock *mock, struct mock_vq *vq, u16 index)
{
	u32 num = mock->num;
	size_t desc_len = num * sizeof(struct vring_desc);
	struct virtio_net_roce_vq *pub = &vq->pub;

	pub->index = index;
	pub->avail_len = PAGE_ALIGN(struct_size_t(struct vring_avail, ring,
						  num + 1));
	pub->used_len = PAGE_ALIGN(struct_size_t(struct vring_used, ring, num) +
				   sizeof(u16));
	pub->vring.num = num;
	pub->vring.desc = mock_pages(mock->test, PAGE_ALIGN(desc_len));
	pub->vring.avail = mock_pages(mock->test, pub->avail_len);
	pub->vring.used = mock_pages(mock->test, pub->used_len);
	pub->avail_phys = virt_to_phys(pub->vring.avail);
	pub->used_phys = virt_to_phys(pub->vring.used);
	/* Any memory will do: nothing reads it. */
	pub->doorbell_phys = virt_to_phys(mock_pages(mock->test, PAGE_SIZE));
	pub->doorbell_pos = 64;
}

static netdev_tx_t mock_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops mock_netdev_ops = {
	.ndo_start_xmit = mock_xmit,
};

static int mock_get_link(struct net_device *netdev,
			 struct ethtool_link_ksettings *settings)
{
	struct mock **mock = netdev_priv(netdev);

	if (!(*mock)->speed)
		return -EOPNOTSUPP;
	settings->base.speed = (*mock)->speed;
	return 0;
}

static const struct ethtool_ops mock_ethtool_ops = {
	.get_link_ksettings = mock_get_link,
};

static void mock_netdev_del(void *netdev)
{
	unregister_netdev(netdev);
	free_netdev(netdev);
}

static void mock_netdev_init(struct mock *mock)
{
	static const u8 mac[ETH_ALEN] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };
	struct kunit *test = mock->test;
	struct net_device *netdev = alloc_etherdev(sizeof(mock));

	KUNIT_ASSERT_NOT_NULL(test, netdev);
	*(struct mock **)netdev_priv(netdev) = mock;
	mock->speed = SPEED_10000;
	netdev->netdev_ops = &mock_netdev_ops;
	netdev->ethtool_ops = &mock_ethtool_ops;
	eth_hw_addr_set(netdev, mac);
	netdev->max_mtu = ETH_MAX_MTU;
	if (register_netdev(netdev)) {
		free_netdev(netdev);
		KUNIT_FAIL_AND_ABORT(test, "no network interface");
	}
	mock->aux.netdev = netdev;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mock_netdev_del,
							   netdev));
}

static void mock_pdev_del(void *pdev)
{
	platform_device_unregister(pdev);
}

/**
 * mock_device() - a function that acts as a device
 * @test: test
 * @num: size of its virtqueues
 *
 * The driver does not see it before mock_publish().
 *
 * Return: function, never NULL.
 */
struct mock *mock_device(struct kunit *test, u32 num)
{
	struct mock *mock = mock_new(test);
	u16 index = 3;
	int i;

	mock->num = num;
	mock->pdev = platform_device_register_simple("virtio_roce_mock",
						     PLATFORM_DEVID_AUTO,
						     NULL, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mock->pdev);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mock_pdev_del,
							   mock->pdev));
	KUNIT_ASSERT_EQ(test, 0,
			dma_coerce_mask_and_coherent(&mock->pdev->dev,
						     DMA_BIT_MASK(64)));
	mock->aux.dma_dev = &mock->pdev->dev;
	mock_netdev_init(mock);

	for (i = 0; i < MOCK_CQS; i++)
		mock_vq_init(mock, &mock->cq_vqs[i], index++);
	for (i = 0; i < MOCK_QPS; i++) {
		mock_vq_init(mock, &mock->sq_vqs[i], index++);
		mock_vq_init(mock, &mock->rq_vqs[i], index++);
	}

	mock->query_device = (struct virtio_rdma_ack_query_device) {
		.device_cap_flags = cpu_to_le64(VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN),
		.max_mr_size = cpu_to_le64(1ULL << 40),
		.page_size_cap = cpu_to_le64(4096),
		.hw_ver = cpu_to_le32(0x10002),
		.max_qp_wr = cpu_to_le32(num),
		.max_send_sge = cpu_to_le32(4),
		.max_recv_sge = cpu_to_le32(3),
		.max_sge_rd = cpu_to_le32(2),
		.max_cqe = cpu_to_le32(num),
		.max_mr = cpu_to_le32(MOCK_MRS),
		.max_pd = cpu_to_le32(MOCK_PDS),
		.max_qp_rd_atom = cpu_to_le32(16),
		.max_qp_init_rd_atom = cpu_to_le32(8),
		.max_ah = cpu_to_le32(MOCK_AHS),
		.local_ca_ack_delay = 15,
	};
	mock->query_port = (struct virtio_rdma_ack_query_port) {
		.gid_tbl_len = cpu_to_le32(MOCK_GIDS),
		.max_msg_sz = cpu_to_le32(1U << 31),
	};
	return mock;
}

static void mock_aux_release(struct device *dev)
{
	/* It is memory of the test. */
}

static void mock_withdraw_action(void *data)
{
	mock_withdraw(data);
}

/**
 * mock_publish() - let the driver see a function, and wait until it has
 * @mock: function
 */
void mock_publish(struct mock *mock)
{
	static atomic_t ids = ATOMIC_INIT(1000);
	struct auxiliary_device *adev = &mock->aux.adev;
	struct kunit *test = mock->test;

	memset(adev, 0, sizeof(*adev));
	adev->name = VIRTIO_NET_ROCE_AUX_NAME;
	adev->id = atomic_inc_return(&ids);
	adev->dev.parent = &mock->pdev->dev;
	adev->dev.release = mock_aux_release;
	KUNIT_ASSERT_EQ(test, 0, auxiliary_device_init(adev));
	if (__auxiliary_device_add(adev, VIRTIO_NET_ROCE_AUX_MODULE)) {
		auxiliary_device_uninit(adev);
		KUNIT_FAIL_AND_ABORT(test, "no auxiliary device");
	}
	mock->published = true;
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, mock_withdraw_action,
						  mock));
}

/**
 * mock_withdraw() - take a function away from the driver
 * @mock: function
 */
void mock_withdraw(struct mock *mock)
{
	if (!mock->published)
		return;
	mock->published = false;
	auxiliary_device_delete(&mock->aux.adev);
	auxiliary_device_uninit(&mock->aux.adev);
}

/**
 * mock_link() - the Ethernet interface comes up or goes down
 * @mock: function
 * @up: which
 */
void mock_link(struct mock *mock, bool up)
{
	rtnl_lock();
	if (up)
		KUNIT_EXPECT_EQ(mock->test, 0, dev_open(mock->aux.netdev, NULL));
	else
		dev_close(mock->aux.netdev);
	rtnl_unlock();
}

static void mock_put_ibdev(void *ibdev)
{
	ib_device_put(ibdev);
}

/**
 * mock_ibdev() - the RDMA device over a function
 * @mock: function
 *
 * Return: device, to which the caller has a reference, or NULL.
 */
struct ib_device *mock_ibdev(struct mock *mock)
{
	return ib_device_get_by_netdev(mock->aux.netdev,
				       (enum rdma_driver_id)VIRTIO_ROCE_DRIVER_ID);
}

/**
 * mock_start() - publish a function
 * @mock: function
 *
 * The reference to the RDMA device is dropped at the end of the test, before the
 * function is withdrawn.
 *
 * Return: the RDMA device over it, never NULL.
 */
struct ib_device *mock_start(struct mock *mock)
{
	struct kunit *test = mock->test;
	struct ib_device *ibdev;

	mock_publish(mock);
	ibdev = mock_ibdev(mock);
	KUNIT_ASSERT_NOT_NULL(test, ibdev);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mock_put_ibdev,
							   ibdev));
	return ibdev;
}

/**
 * mock_stop() - undo mock_start() before the end of the test
 * @mock: function
 * @ibdev: the RDMA device over it
 */
void mock_stop(struct mock *mock, struct ib_device *ibdev)
{
	kunit_release_action(mock->test, mock_put_ibdev, ibdev);
	mock_withdraw(mock);
}

/* ----- looking at it ----- */

/**
 * mock_count() - how often a command was sent
 * @mock: function
 * @command: command
 *
 * Return: number.
 */
unsigned int mock_count(struct mock *mock, u8 command)
{
	unsigned int i, n = 0;
	unsigned long flags;

	spin_lock_irqsave(&mock->lock, flags);
	for (i = 0; i < min(mock->ncalls, MOCK_CALLS); i++)
		n += mock->calls[i].command == command;
	if (mock->ncalls > MOCK_CALLS)
		mock_violation(mock, "more commands than the test thought of",
			       mock->ncalls);
	spin_unlock_irqrestore(&mock->lock, flags);
	return n;
}

/**
 * mock_last() - last time that a command was sent
 * @mock: function
 * @command: command
 *
 * Return: call, never NULL.
 */
const struct mock_call *mock_last(struct mock *mock, u8 command)
{
	unsigned int i;

	KUNIT_ASSERT_LE(mock->test, mock->ncalls, MOCK_CALLS);
	for (i = mock->ncalls; i--;)
		if (mock->calls[i].command == command)
			return &mock->calls[i];
	KUNIT_FAIL_AND_ABORT(mock->test, "command %u was never sent", command);
	return NULL;
}

/**
 * mock_objects() - number of objects that the driver has not destroyed
 * @mock: function
 *
 * Return: number of objects of all kinds.
 */
unsigned int mock_objects(struct mock *mock)
{
	unsigned int i, n = 0;

	spin_lock_irq(&mock->lock);
	for (i = 0; i < MOCK_PDS; i++)
		n += mock->pd_refs[i] >= 0;
	for (i = 0; i < MOCK_ALL_CQS; i++)
		n += mock->cqs[i].exists;
	for (i = 0; i < MOCK_ALL_QPS; i++)
		n += mock->qps[i].exists;
	for (i = 0; i < MOCK_SRQS; i++)
		n += mock->srqs[i].exists;
	for (i = 0; i < MOCK_XRCDS; i++)
		n += mock->xrcd_refs[i] >= 0;
	for (i = 0; i < MOCK_MRS; i++)
		n += mock->mrs[i].exists;
	for (i = 0; i < MOCK_AHS; i++)
		n += mock->ah_pdn[i] >= 0;
	spin_unlock_irq(&mock->lock);
	return n;
}

/**
 * mock_expect_clean() - the driver broke no rule and left nothing behind
 * @mock: function
 *
 * Work that frees what was mapped may still be running; this waits for it.
 * Context: may sleep.
 */
void mock_expect_clean(struct mock *mock)
{
	unsigned int i;

	for (i = 0; i < 250 && mock_objects(mock); i++)
		msleep(20);
	KUNIT_EXPECT_STREQ(mock->test, mock->violation, "");
	KUNIT_EXPECT_EQ(mock->test, mock_objects(mock), 0);
}

/**
 * mock_complete() - the device adds a completion, and interrupts if it is armed
 * @mock: function
 * @cqn: CQ
 * @req: completion
 */
void mock_complete(struct mock *mock, u32 cqn,
		   const struct virtio_rdma_cq_req *req)
{
	struct mock_vq *vq = &mock->cq_vqs[cqn];
	struct vring *vring = &vq->pub.vring;
	struct mock_cq *cq = &mock->cqs[cqn];
	u16 pos = vq->used & (vring->num - 1);
	struct vring_used_elem *elem = &vring->used->ring[pos];
	unsigned long flags;
	u32 armed, len;
	void *slot;

	slot = mock_take(mock, vq, vq->used, &len);
	KUNIT_ASSERT_EQ(mock->test, len, sizeof(*req));
	memcpy(slot, req, sizeof(*req));
	elem->id = __cpu_to_virtio32(true,
				     __virtio16_to_cpu(true,
						       vring->avail->ring[pos]));
	elem->len = __cpu_to_virtio32(true, len);
	vq->used++;
	/* Orders completion and entry before the index. */
	smp_store_release(&vring->used->idx, __cpu_to_virtio16(true, vq->used));

	/*
	 * The driver, on another processor, arms and then looks at the index.  It may arm
	 * again as soon as it is told, so the CQ is disarmed before that.
	 */
	smp_mb();
	armed = xchg(&cq->armed, 0);
	/* Interrupt handlers have interrupts off. */
	local_irq_save(flags);
	if (armed && cq->notify)
		cq->notify(cq->data);
	local_irq_restore(flags);
}

/**
 * mock_avail_idx() - available index of a virtqueue
 * @vq: virtqueue
 *
 * Return: index.
 */
u16 mock_avail_idx(const struct mock_vq *vq)
{
	return __virtio16_to_cpu(true, vq->pub.vring.avail->idx);
}

/**
 * mock_take() - look at what the driver made available
 * @mock: function
 * @vq: virtqueue
 * @pos: position in its available ring
 * @len: length of the buffer
 *
 * Return: the buffer, by its device address.
 */
void *mock_take(struct mock *mock, struct mock_vq *vq, u16 pos, u32 *len)
{
	struct vring *vring = &vq->pub.vring;
	struct kunit *test = mock->test;
	u16 left, id;

	left = mock_avail_idx(vq) - pos;
	KUNIT_ASSERT_GT(test, left, 0);
	KUNIT_ASSERT_LE(test, left, vring->num);
	id = __virtio16_to_cpu(true, vring->avail->ring[pos & (vring->num - 1)]);
	KUNIT_ASSERT_LT(test, id, vring->num);
	*len = __virtio32_to_cpu(true, vring->desc[id].len);
	KUNIT_ASSERT_GT(test, *len, 0);
	return phys_to_virt(__virtio64_to_cpu(true, vring->desc[id].addr));
}
